"""Fits that are killed, and go on: the same model, bit for bit, wherever that was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from sparsebayes import (
    CheckpointError,
    RVMClassifier,
    RVMClassifierCV,
    SBELMClassifier,
    SBELMClassifierCV,
    SBLClassifier,
    SBLClassifierCV,
    sbl_path,
)
from sparsebayes import checkpoint as layer
from sparsebayes.estimators import rvm
from sparsebayes.recipes import RECIPES
from tests.killing import Killed, content, data, dying_after, fingerprint, killed_again_and_again, wide

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ESTIMATORS = {
    "linear": SBLClassifier,
    "kernel": RVMClassifier,
    "hidden": lambda **parameters: SBELMClassifier(15, random_state=0, **parameters),
}
SEARCHES = {
    "linear": lambda **parameters: SBLClassifierCV(cv=2, **parameters),
    "kernel": lambda **parameters: RVMClassifierCV(cv=2, gamma="median", **parameters),
    "hidden": lambda **parameters: SBELMClassifierCV(15, random_state=0, cv=2, **parameters),
}


def agrees(make, arguments, folder, stride=1):
    whole = make().fit(*arguments)
    resumed, n_kills = killed_again_and_again(make, arguments, folder, stride)
    assert n_kills > 1
    assert fingerprint(resumed) == fingerprint(whole)
    return resumed


CASES = [
    (kind, solver, n_classes, storage)
    for kind in ESTIMATORS
    for solver in RECIPES
    for n_classes, storage in ((2, "dense"), (2, "sparse"), (3, "sparse"), (3, "dense"))
]


@pytest.mark.parametrize(("kind", "solver", "n_classes", "storage"), CASES)
def test_a_fit_that_is_killed_goes_on_to_the_same_bits(tmp_path, kind, solver, n_classes, storage):
    """Killed after every state of two classes; sparse rows have weights, zero among them."""
    arguments = data(n_classes, storage, weighted=storage == "sparse")

    def make(**parameters):
        return ESTIMATORS[kind](solver=solver, max_iter=6, **parameters)

    agrees(make, arguments, tmp_path / "c", stride=1 if n_classes == 2 else 7)


@pytest.mark.parametrize("select", ["evidence", "cv", "cv-1se"])
def test_a_wide_path_is_killed_while_its_scale_is_learned_and_in_every_fold(tmp_path, select):
    agrees(
        lambda **p: SBLClassifier(select=select, **p),
        wide(),
        tmp_path,
        stride=2 if select == "evidence" else 9,
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "dqn", "max_basis": 20, "basis": "all"},  # columns are computed in blocks, then held
        {"gamma": "several", "feature_scales": "columns"},
        {"feature_scales": "learned"},
        {"basis": 20, "random_state": 3, "gamma": "evidence"},
        {"proba": "moderated"},
        {"kernel": "precomputed"},
    ],
)
def test_kernels_of_all_sorts(tmp_path, parameters):
    X, y, _ = data()
    if parameters.get("kernel") == "precomputed":
        X = X @ X.T
    agrees(lambda **p: RVMClassifier(max_iter=8, **parameters, **p), (X, y), tmp_path)


def test_vectors_that_are_chosen_on_a_part_are_not_chosen_again(monkeypatch, tmp_path):
    monkeypatch.setattr(rvm, "CHOICE_ON_A_PART_BEYOND", 30)
    monkeypatch.setattr(rvm, "ROWS_OF_THE_PART", 20)

    def make(**parameters):
        return RVMClassifier(gamma="median", random_state=0, max_iter=8, **parameters)

    agrees(make, data(), tmp_path)


@pytest.mark.parametrize(
    ("kind", "solver"), [("linear", "auto"), ("linear", "dqn"), ("kernel", "auto"), ("hidden", "newton")]
)
def test_a_search_that_is_killed_goes_on(tmp_path, kind, solver):
    def make(**parameters):
        return SEARCHES[kind](solver=solver, max_iter=5, **parameters)

    agrees(make, data(3, weighted=True), tmp_path, stride=10)


def test_problems_in_processes(monkeypatch, tmp_path):
    X, y, _ = data(3)
    whole = SBLClassifier("newton", max_iter=5).fit(X, y)
    with monkeypatch.context() as patched:
        patched.setattr(layer.FolderKeeper, "save", dying_after(7))
        with pytest.raises(Killed):
            SBLClassifier("newton", max_iter=5, checkpoint=tmp_path).fit(X, y)
    clf = SBLClassifier("newton", max_iter=5, n_jobs=2, checkpoint=tmp_path, resume=True).fit(X, y)
    assert content(clf.coef_) == content(whole.coef_)


def no_state_is_made(monkeypatch):
    def refuse(self, step):
        raise AssertionError("an iteration was made again")

    monkeypatch.setattr(layer.FolderKeeper, "save", refuse)


@pytest.mark.parametrize(
    "make", [SBLClassifier, RVMClassifier, SBLClassifierCV, lambda **p: SBLClassifier(select="cv", **p)]
)
def test_a_finished_fit_is_not_made_again(monkeypatch, tmp_path, make):
    X, y, _ = data()
    first = make(checkpoint=tmp_path).fit(X, y)
    no_state_is_made(monkeypatch)
    assert fingerprint(make(checkpoint=tmp_path, resume=True).fit(X, y)) == fingerprint(first)


def test_without_resume_a_fit_begins_anew_and_replaces_what_was_there(tmp_path):
    X, y, _ = data()
    SBLClassifier("dqn", max_iter=3, checkpoint=tmp_path).fit(X, y)
    runs = set(tmp_path.glob("run-*"))
    other = SBLClassifier("newton", checkpoint=tmp_path).fit(X[:50], y[:50])
    assert len(set(tmp_path.glob("run-*")) - runs) == len(list(tmp_path.glob("run-*"))) == 1
    assert fingerprint(other) == fingerprint(SBLClassifier("newton").fit(X[:50], y[:50]))


def test_two_states_are_kept_unless_there_are_callbacks(tmp_path):
    X, y, _ = data()
    SBLClassifier("dqn", max_iter=6, checkpoint=tmp_path / "a").fit(X, y)
    SBLClassifier("dqn", max_iter=6, checkpoint=tmp_path / "b", callbacks=[]).fit(X, y)
    names = [sorted(path.name for path in (tmp_path / k).rglob("*.state")) for k in "ab"]
    assert names == [["000005.state", "000006.state"], [f"{k:06d}.state" for k in range(1, 7)]]


@pytest.mark.parametrize("solver", ["dqn", "auto", "sequential"])
def test_callbacks_are_shown_the_iterations_of_before(tmp_path, solver):
    X, y, _ = data()

    def stops_once_it_has_seen(n, seen):
        def callback(progress):
            seen.append((progress.iteration, content(progress.coef), content(progress.record)))
            if dying and len(seen) == dying:
                raise Killed
            return len(seen) == n

        return callback

    dying, whole = None, []
    reference = SBLClassifier(solver, callbacks=[stops_once_it_has_seen(5, whole)]).fit(X, y)
    for dying in (3, 4, None):
        seen = []
        clf = SBLClassifier(
            solver, callbacks=[stops_once_it_has_seen(5, seen)], checkpoint=tmp_path, resume=True
        )
        if dying:
            with pytest.raises(Killed):
                clf.fit(X, y)
    clf.fit(X, y)
    assert seen == whole
    assert clf.status_ == reference.status_
    assert content(clf.coef_) == content(reference.coef_)


def test_a_path_with_held_out_rows_goes_on(tmp_path):
    X, y, _ = data()
    whole = sbl_path(X[:40], y[:40], X[40:], y[40:], estimator=SBLClassifier())
    for _ in range(2):
        estimator = SBLClassifier(checkpoint=tmp_path, resume=True)
        again = sbl_path(X[:40], y[:40], X[40:], y[40:], estimator=estimator)
    assert content(again.log_loss) == content(whole.log_loss)
    assert content(again.coef) == content(whole.coef)


@pytest.mark.parametrize(
    "make",
    [lambda **p: SBELMClassifier(15, **p), lambda **p: RVMClassifier(basis=10, gamma="median", **p)],
)
@pytest.mark.parametrize("global_state", [True, False])
def test_what_was_drawn_is_drawn_again(monkeypatch, tmp_path, make, global_state):
    """A resumed fit has the layer of the one that was killed, whatever the random state is by then."""
    X, y, _ = data()

    def seeded(seed):
        if not global_state:
            return np.random.RandomState(seed)
        np.random.seed(seed)  # noqa: NPY002
        return None

    whole = make(random_state=seeded(7)).fit(X, y)
    with monkeypatch.context() as patched:
        patched.setattr(layer.FolderKeeper, "save", dying_after(1))
        with pytest.raises(Killed):
            make(random_state=seeded(7), checkpoint=tmp_path).fit(X, y)
    resumed = make(random_state=seeded(8), checkpoint=tmp_path, resume=True).fit(X, y)
    assert fingerprint(resumed) == fingerprint(whole)
    assert fingerprint(make(random_state=seeded(8)).fit(X, y)) != fingerprint(whole)


def test_a_generator_of_another_kind_is_refused(tmp_path):
    X, y, _ = data()
    strange = np.random.RandomState(np.random.PCG64(0))
    with pytest.raises(CheckpointError, match="PCG64: give an integer"):
        SBELMClassifier(15, random_state=strange, checkpoint=tmp_path).fit(X, y)


def test_other_data_and_parameters_are_refused(tmp_path):
    X, y, weight = data(weighted=True)
    SBLClassifier("dqn", max_iter=4, checkpoint=tmp_path).fit(X, y, weight)
    same = {"solver": "dqn", "max_iter": 4, "checkpoint": tmp_path, "resume": True}
    other = X.copy()
    other[np.flatnonzero(weight)[0], 0] = np.nextafter(other[np.flatnonzero(weight)[0], 0], 9.0)
    for arguments in [
        (other, y, weight),
        (X, 1 - y, weight),
        (X, y, 2 * weight),
        (X, y),
        (X[:, :7], y, weight),
    ]:
        with pytest.raises(CheckpointError, match=r"of a fit on other data.*resume=False"):
            SBLClassifier(**same).fit(*arguments)
    changes = [
        ({"max_iter": 5}, "with max_iter=4; this one has max_iter=5"),
        (
            {"solver": "newton", "scale": "columns"},
            "scale='auto', solver='dqn'; this one has scale='columns'",
        ),
        ({"callbacks": [lambda progress: None]}, "callbacks=False; this one has callbacks=True"),
    ]
    for change, message in changes:
        with pytest.raises(CheckpointError, match=message):
            SBLClassifier(**same | change).fit(X, y, weight)
    with pytest.raises(CheckpointError, match="class_weight"):
        SBLClassifier(**same, class_weight={0: 1, 1: 2}).fit(X, y, weight)
    of_no_effect = {"verbose": 0, "n_jobs": 2, "warm_start": True}
    SBLClassifier(**same, **of_no_effect).fit(X, y, weight)


def test_folds_that_are_not_the_same_are_refused(tmp_path):
    X, y, _ = data()
    SBLClassifierCV("newton", cv=ShuffleSplit(2, random_state=0), checkpoint=tmp_path).fit(X, y)
    with pytest.raises(CheckpointError, match="is of a fit with cv="):
        SBLClassifierCV("newton", cv=ShuffleSplit(2, random_state=1), checkpoint=tmp_path, resume=True).fit(
            X, y
        )


def test_a_warm_start_is_part_of_the_data(monkeypatch, tmp_path):
    X, y, _ = data()

    def warm():
        first = SBLClassifier("dqn", max_iter=3, warm_start=True).fit(X, y)
        return first.set_params(max_iter=6)

    whole = warm().fit(X, y)
    clf = warm().set_params(checkpoint=tmp_path, resume=True)
    before = fingerprint(clf)
    with monkeypatch.context() as patched:
        patched.setattr(layer.FolderKeeper, "save", dying_after(2))
        with pytest.raises(Killed):
            clf.fit(X, y)
    assert fingerprint(clf) == before
    assert fingerprint(clf.fit(X, y)) == fingerprint(whole)
    with pytest.raises(CheckpointError, match="where a warm start begins"):
        SBLClassifier("dqn", max_iter=6, warm_start=True, checkpoint=tmp_path, resume=True).fit(X, y)


def test_resume_needs_a_folder():
    with pytest.raises(ValueError, match="name its folder by the 'checkpoint' parameter"):
        SBLClassifier(resume=True).fit(*data()[:2])


def test_parameters_survive_clone_and_pickle(tmp_path):
    clf = SBLClassifier(checkpoint=tmp_path, resume=True)
    for copy in (clone(clf), pickle.loads(pickle.dumps(clf))):
        assert (copy.checkpoint, copy.resume) == (tmp_path, True)
    clf.fit(*data()[:2])
    assert content(pickle.loads(pickle.dumps(clf)).coef_) == content(clf.coef_)


def test_the_digest_sees_values_and_not_how_they_lie_in_memory(rng):
    X = rng.normal(size=(300, 7))
    assert (
        layer.digest(X) == layer.digest(np.asfortranarray(X)) == layer.digest(np.repeat(X, 2, axis=1)[:, ::2])
    )
    others = [X.T, X.astype(np.float32), X.reshape(-1), X[:, :6], -X]
    assert len({layer.digest(X), *map(layer.digest, others)}) == 6
    labels = np.array(["a", "b", None], dtype=object)
    assert layer.digest(labels) != layer.digest(labels[::-1])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.0, 5e-324, 0.1])
def test_facts_come_back_as_they_were(tmp_path, value):
    keeper = layer.FolderKeeper(tmp_path, keep_all=False)
    facts = {"a": [value, {"b": np.float64(value)}], "n": np.int64(3), "yes": np.True_, "none": None}
    keeper.save(layer.Step(facts, {"w": np.array([value])}))
    (step,) = layer.FolderKeeper(tmp_path, keep_all=False).past()
    assert repr(step.facts) == repr({"a": [value, {"b": float(value)}], "n": 3, "yes": True, "none": None})
    assert step.lasting["w"].tobytes() == np.array([value]).tobytes()


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    X, y, _ = data()
    clf = SBLClassifier("newton")
    before = fingerprint(clf.fit(X, y))

    def fail(progress):
        raise Killed

    clf.set_params(callbacks=[fail])
    with pytest.raises(Killed):
        clf.fit(X[:, :5], y)
    assert clf.n_features_in_ == 8
    assert fingerprint(clf) == before
