"""SBLClassifier as a user meets it."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsebayes import Progress, SBLClassifier
from sparsebayes.design import as_design
from sparsebayes.design import sparse as sparse_module
from sparsebayes.recipes import RECIPES
from tests.problems import classification

SOLVERS = pytest.mark.parametrize("solver", RECIPES)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def binary():
    return classification(n=300, m=12, seed=5)


@quiet
@SOLVERS
def test_finds_the_informative_features(solver, binary):
    X, y = binary
    clf = SBLClassifier(solver).fit(X, y)
    assert {0, 1, 2} <= set(clf.sparse_coef_.indices.tolist())
    assert clf.n_relevant_[0] < 12
    assert clf.score(X, y) > 0.8


@quiet
@SOLVERS
def test_fitted_attributes(solver, binary):
    X, y = binary
    clf = SBLClassifier(solver, max_iter=20).fit(X, y)
    assert clf.coef_.shape == clf.alpha_.shape == (1, 12)
    assert clf.intercept_.shape == clf.n_relevant_.shape == clf.n_iter_.shape == (1,)
    assert clf.n_relevant_.dtype.kind == "i"
    assert clf.n_relevant_[0] == np.count_nonzero(clf.coef_)
    np.testing.assert_array_equal(np.isfinite(clf.alpha_), clf.coef_ != 0.0)
    assert len(clf.status_) == len(clf.history_) == 1
    assert clf.status_[0].startswith(f"{RECIPES[solver].label}: ")
    # The elimination path adds a record for the model it settles on.
    assert len(clf.history_[0]) == clf.n_iter_[0] + (solver in ("auto", "elimination"))
    assert clf.n_iter_[0] <= 20
    intercept = clf.intercept_[0] != 0.0
    assert clf.history_[0][-1]["n_active"] == clf.n_relevant_[0] + intercept


@quiet
@SOLVERS
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes(solver, multi_class):
    X, y = classification(n=300, m=6, n_classes=4, seed=2)
    labels = np.array(["d", "a", "c", "b"])[y]
    clf = SBLClassifier(solver, multi_class=multi_class, max_iter=20).fit(X, labels)
    n_problems = 6 if multi_class == "ovo" else 4
    assert clf.coef_.shape == (n_problems, 6)
    assert len(clf.status_) == len(clf.history_) == n_problems
    assert clf.decision_function(X).shape == clf.predict_proba(X).shape == (300, 4)
    predicted = clf.predict(X)
    np.testing.assert_array_equal(predicted, clf.classes_[clf.decision_function(X).argmax(axis=1)])
    np.testing.assert_array_equal(predicted, clf.classes_[clf.predict_proba(X).argmax(axis=1)])
    assert clf.score(X, labels) > 0.6


@quiet
def test_a_row_of_coef_is_the_pair_s_own_fit():
    X, y = classification(n=300, m=6, n_classes=3, seed=2)
    clf = SBLClassifier().fit(X, y)
    pair = np.isin(y, (0, 2))  # the second row
    alone = SBLClassifier().fit(X[pair], y[pair])
    np.testing.assert_array_equal(clf.coef_[1], alone.coef_[0])
    np.testing.assert_array_equal(clf.alpha_[1], alone.alpha_[0])


@quiet
@SOLVERS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_number_of_jobs_changes_no_bit(solver, n_classes, monkeypatch):
    X, y = classification(n=40, m=60, n_classes=n_classes, seed=2)
    if n_classes == 2:  # threads: blocks of few columns, so that there are several for them
        monkeypatch.setattr(sparse_module, "BLOCK_NONZEROS", 1)
        assert len(as_design(sp.csr_array(X))[0]._tiles[0].runs) > 3
    one = SBLClassifier(solver, max_iter=5).fit(sp.csr_array(X), y)
    two = SBLClassifier(solver, max_iter=5, n_jobs=2).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@quiet
@pytest.mark.parametrize("solver", ["newton", "auto"])
def test_sparse_equals_dense(solver, binary):
    X, y = binary
    X = X * (np.abs(X) > 0.5)
    dense = SBLClassifier(solver).fit(X, y)
    for make in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        clf = SBLClassifier(solver).fit(make(X), y)
        np.testing.assert_allclose(clf.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(clf.predict_proba(make(X)), dense.predict_proba(X), rtol=1e-7)


@quiet
def test_sparse_equals_dense_for_dqn_at_a_tight_tolerance(binary):
    X, y = binary
    # The mode is exact; the B that a second iteration would rest on depends on the path to it.
    tight = {"map_tol": 1e-8, "map_max_iter": 50_000, "max_iter": 1}
    dense = SBLClassifier("dqn", **tight).fit(X, y)
    sparse = SBLClassifier("dqn", **tight).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6, atol=1e-7)


@quiet
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_noise", [3, 500])
def test_a_column_far_from_zero(make, n_noise):
    rng = np.random.default_rng(0)
    year = rng.integers(1990, 2024, size=300)
    y = (year + rng.normal(scale=3.0, size=300) > 2006).astype(int)
    X = np.column_stack([year, rng.normal(size=(300, n_noise))])
    clf = SBLClassifier().fit(make(X), y)
    assert clf.coef_[0, 0] > 0.0
    assert clf.score(make(X), y) > 0.85


@quiet
def test_dense_columns_may_vary_in_their_seventh_digit_only():
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + 300.0 * rng.normal(size=400)
    y = (seconds + 100.0 * rng.normal(size=400) > 1.7e9).astype(int)
    X = np.column_stack([seconds, rng.normal(size=(400, 3)), np.full(400, 0.1)])
    clf = SBLClassifier().fit(X, y)
    assert clf.score(X, y) > 0.85
    assert clf.coef_[0, 4] == 0.0
    shifted = SBLClassifier().fit(X - [1.7e9, 0.0, 0.0, 0.0, 0.0], y)
    np.testing.assert_allclose(clf.coef_, shifted.coef_, rtol=1e-6)
    progress = []
    SBLClassifier(callbacks=[progress.append], max_iter=1).fit(X, y)
    margins = X[:, progress[0].features] @ progress[0].coef + progress[0].intercept
    assert np.abs(margins).max() < 50.0  # in the caller's units, intercept and all


@quiet
@SOLVERS
def test_column_scale_makes_units_irrelevant(solver, binary):
    X, y = binary
    # A power of two first: there even dqn, path and all, must not notice.
    halved = SBLClassifier(solver, scale="columns").fit(X * 2.0 ** np.arange(12), y)
    np.testing.assert_array_equal(
        halved.coef_ * 2.0 ** np.arange(12), SBLClassifier(solver, scale="columns").fit(X, y).coef_
    )
    tight = {"map_tol": 1e-8, "map_max_iter": 50_000, "max_iter": 1} if solver == "dqn" else {}
    factors = np.ones(12)
    factors[[0, 5]] = 1000.0, 1e-6
    plain = SBLClassifier(solver, scale="columns", **tight).fit(X, y)
    scaled = SBLClassifier(solver, scale="columns", **tight).fit(X * factors, y)
    np.testing.assert_array_equal(plain.n_relevant_, scaled.n_relevant_)
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-5, atol=1e-9)
    kept = plain.coef_[0] != 0.0
    if solver != "dqn":  # its alpha rests on a B that depends on the path
        np.testing.assert_allclose((scaled.alpha_ / factors**2)[0, kept], plain.alpha_[0, kept], rtol=1e-4)
    np.testing.assert_allclose(scaled.predict_proba(X * factors), plain.predict_proba(X), rtol=1e-5)


def test_dqn_takes_the_features_as_given(binary):
    X, y = binary
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = SBLClassifier("dqn").fit(X, y)
        scaled = SBLClassifier("dqn").fit(1000.0 * X, y)
    assert not np.allclose(1000.0 * scaled.coef_, plain.coef_)


@quiet
@pytest.mark.parametrize("solver", ["dqn", "newton"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_warm_start_goes_on_where_the_fit_stopped(solver, make, binary):
    X, y = binary
    whole = SBLClassifier(solver, max_iter=6).fit(make(X), y)
    halves = SBLClassifier(solver, max_iter=3, warm_start=True).fit(make(X), y).fit(make(X), y)
    np.testing.assert_array_equal(halves.coef_, whole.coef_)
    np.testing.assert_array_equal(halves.alpha_, whole.alpha_)


@quiet
def test_warm_start_may_change_the_intercept_s_prior(binary):
    X, y = binary
    X, y = np.vstack([X, -X]), np.append(y, 1 - y)  # symmetric: the intercept is zero
    clf = SBLClassifier("newton", warm_start=True, max_iter=5).fit(X, y)
    assert clf.intercept_alpha_[0] == np.inf  # pruned
    clf.set_params(intercept_prior="flat").fit(X, y)
    assert clf.intercept_alpha_[0] == 0.0
    assert (clf.alpha_ > 0.0).all()
    clf.set_params(intercept_prior="ard").fit(X, y)
    assert clf.intercept_alpha_[0] > 0.0


@quiet
def test_warm_start_with_other_classes_is_refused(binary):
    X, y = binary
    clf = SBLClassifier("newton", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"goes on from its last fit, which had classes \[0, 1\]"):
        clf.fit(X, y + 1)
    with pytest.raises(ValueError, match=r"multi_class='ovo'; got .* multi_class='ovr'"):
        clf.set_params(multi_class="ovr").fit(X, y)


@quiet
def test_multi_class_of_the_fit_counts_not_that_of_the_prediction():
    X, y = classification(n=200, m=5, n_classes=4, seed=2)
    clf = SBLClassifier().fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.set_params(multi_class="ovr").predict_proba(X), p)


@quiet
@SOLVERS
def test_callbacks_watch_and_stop(solver, binary):
    X, y = binary
    seen = []

    def watch(progress):
        assert isinstance(progress, Progress)
        seen.append((progress.iteration, len(progress.features), progress.record["n_active"]))
        return np.bool_(progress.iteration == 2)

    clf = SBLClassifier(solver, callbacks=[watch]).fit(X, y)
    assert [iteration for iteration, _, _ in seen] == [1, 2]
    assert "stopped by a callback" in clf.status_[0]
    assert clf.n_iter_[0] == 2


@quiet
def test_the_last_progress_is_the_model(binary):
    X, y = binary
    last = []
    clf = SBLClassifier("newton", max_iter=5, callbacks=[last.append]).fit(1e3 * X, y)
    np.testing.assert_array_equal(last[-1].features, clf.sparse_coef_.indices)
    np.testing.assert_array_equal(last[-1].coef, clf.sparse_coef_.data)
    assert last[-1].intercept == clf.intercept_[0]
    assert last[-1].classes == (0, 1)
    assert len(last) == 5
    last[-1].record["passes"]["matvec"] = -1
    assert clf.history_[0][-1]["passes"]["matvec"] > 0
    with pytest.raises(ValueError, match="read-only"):
        last[-1].coef[0] = 0.0


@quiet
def test_callbacks_are_called_in_this_process_for_pairs_in_parallel():
    X, y = classification(n=120, m=4, n_classes=3, seed=2)
    pairs = set()
    SBLClassifier("newton", n_jobs=2, callbacks=[lambda progress: pairs.add(progress.classes)]).fit(X, y)
    assert pairs == {(0, 1), (0, 2), (1, 2)}


@quiet
def test_verbose_prints_a_line_per_iteration(binary, capsys):
    X, y = binary
    SBLClassifier("newton", max_iter=3, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("[SBLClassifier] iteration 1: ")
    assert "active, objective " in lines[0]
    assert lines[0].endswith(" s")


@SOLVERS
def test_everything_pruned_without_an_intercept_is_even_odds(solver, capfd):
    with pytest.warns(ConvergenceWarning):
        clf = SBLClassifier(solver, fit_intercept=False).fit(np.zeros((4, 3)), [0, 0, 0, 1])
    np.testing.assert_array_equal(clf.predict_proba(np.ones((1, 3))), [[0.5, 0.5]])
    assert capfd.readouterr().err == ""  # LAPACK complains on its own if handed an empty matrix


@quiet
def test_intercept_priors(binary):
    X, y = binary
    ard = SBLClassifier("newton").fit(X, y)
    assert ard.intercept_alpha_[0] > 0.0
    flat = SBLClassifier("newton", intercept_prior="flat").fit(X, y)
    assert flat.intercept_alpha_[0] == 0.0
    assert SBLClassifier("newton", fit_intercept=False).fit(X, y).intercept_[0] == 0.0


def test_mean_probability_is_the_rate_with_a_flat_intercept(binary):
    X, y = binary
    rare = np.flatnonzero((y == 0) | (np.arange(300) % 10 == 0))
    clf = SBLClassifier().fit(X[rare], y[rare])
    assert clf.predict_proba(X[rare])[:, 1].mean() == pytest.approx(y[rare].mean(), abs=1e-9)


@quiet
def test_class_weight_balanced_by_hand(binary):
    X, y = binary
    by_hand = SBLClassifier(class_weight={0: 300 / (2 * (y == 0).sum()), 1: 300 / (2 * (y == 1).sum())})
    automatic = SBLClassifier(class_weight="balanced")
    np.testing.assert_allclose(by_hand.fit(X, y).coef_, automatic.fit(X, y).coef_, rtol=1e-10)


@pytest.mark.parametrize("factor", [np.nan, np.inf, 0.0, -1.0])
def test_class_weights_must_be_positive_and_finite(factor, binary):
    with pytest.raises(ValueError, match="class_weight must be positive and finite"):
        SBLClassifier(class_weight={0: factor}).fit(*binary)


def test_sample_weights_whose_sum_overflows_are_refused(binary):
    with pytest.raises(ValueError, match="sum of sample_weight is too large"):
        SBLClassifier().fit(*binary, sample_weight=np.full(300, 1e307))


def test_class_weight_for_an_unknown_class_is_refused(binary):
    with pytest.raises(ValueError, match=r"\[7\] of class_weight"):
        SBLClassifier(class_weight={7: 2.0}).fit(*binary)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"tol": -1},
            r"The 'tol' parameter of SBLClassifier must be a float in the range \[0.0, inf\). Got -1",
        ),
        ({"solver": "lbfgs"}, "The 'solver' parameter of SBLClassifier must be a str among"),
        ({"max_iter": 0}, "The 'max_iter' parameter"),
        ({"scale": "rows"}, "The 'scale' parameter"),
        ({"map_tol": 0.0}, "The 'map_tol' parameter"),
    ],
)
def test_parameters_are_refused_in_scikit_learn_s_words(parameters, message, binary):
    with pytest.raises(ValueError, match=message):
        SBLClassifier(**parameters).fit(*binary)


def test_newton_refuses_a_matrix_it_cannot_hold():
    X = sp.eye_array(11_000, 21_000, format="csr") + sp.eye_array(11_000, 21_000, k=10_500, format="csr")
    with pytest.raises(ValueError, match="Use solver='auto' or 'dqn'"):
        SBLClassifier("newton").fit(X, np.arange(11_000) % 2)


@quiet
def test_pickle_is_as_small_as_the_model():
    X = sp.random(60, 200_000, density=0.01, random_state=0, format="csr")
    y = (X[:, [0]].toarray()[:, 0] > 0).astype(int)
    y[:30] = np.arange(30) % 2
    clf = SBLClassifier("dqn", max_iter=10).fit(X, y)
    assert len(pickle.dumps(clf)) < 100_000
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@quiet
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, partial(load_digits, n_class=6)])
def test_small_sets_against_cross_validated_logistic_regression(load):
    """5-fold accuracy: auto within 1.5 points, dqn and newton within 4, all with fewer weights.

    Six of the ten digits: all 45 pairs would take a minute more, and ``make demo`` has them.
    """
    X, y = load(return_X_y=True)

    def evaluate(estimator):
        scores = cross_validate(make_pipeline(StandardScaler(), estimator), X, y, cv=5, return_estimator=True)
        kept = [np.count_nonzero(pipeline[-1].coef_) for pipeline in scores["estimator"]]
        return 100 * scores["test_score"].mean(), np.mean(kept)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn announces changes of LogisticRegressionCV
        accuracy, n_weights = evaluate(LogisticRegressionCV(max_iter=2000))
    for solver, points in (("auto", 1.5), ("newton", 4.0), ("dqn", 4.0)):
        ours, kept = evaluate(SBLClassifier(solver))
        assert ours >= accuracy - points, solver
        assert kept < n_weights, solver
