"""Rows 45 to 62: hard data, weights, and what becomes of the numerics."""

from __future__ import annotations

from contextlib import contextmanager, suppress

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, ard
from sparsebayes.curvature import cholesky
from sparsebayes.map_solvers import newton as newton_module
from sparsebayes.map_solvers.linesearch import SearchResult
from tests.conformance.storages import finite, refused, same, small, with_warning

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MAKE = pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])


class TooExtreme(Exception):
    """A clear refusal."""


@contextmanager
def about_weights():
    try:
        yield
    except ValueError as error:
        raise (TooExtreme if "weight" in str(error) else AssertionError)(str(error)) from error


def iterations(clf):
    return np.max(clf.n_iter_) if hasattr(clf, "n_iter_") else 0


@quiet
@MAKE
def test_row_45_separable(subject, make):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = rng.normal(size=(100, 4))
    X[:, 0] = (2 * y - 1) * (1.0 + rng.random(100))
    clf = subject(max_iter=100).fit(make(X), y)
    p = finite(clf, make(X))
    assert clf.score(make(X), y) >= 0.98
    assert ((p > 0.0) & (p < 1.0)).all()
    assert iterations(clf) <= 100


@quiet
@MAKE
def test_row_46_two_points(subject, make):
    distance, parameters = 1.0, {}
    if subject.name in ("sbelm dqn", "sbelm newton"):
        distance = 10.0  # see the ledger's terms
    if subject.name == "rvm newton":
        # The paper's prunable intercept is zero while the two kernels balance, and goes first. The one that
        # is left cannot separate the rows without it, and goes too.
        parameters["intercept_prior"] = "flat"
    X, y = make([[-distance], [distance]]), [0, 1]
    clf = subject(max_iter=100, **parameters).fit(X, y)
    p = finite(clf, X)
    assert clf.score(X, y) == 1.0
    assert ((p > 0.0) & (p < 1.0)).all()
    assert iterations(clf) <= 100


@MAKE
def test_row_47_contradictory_labels(subject, make):
    X, _ = small(40)
    X, y = make(np.vstack([X, X])), np.repeat([0, 1], 40)
    with_warning(lambda: subject().fit(X, y), "no feature", lambda clf: same(finite(clf, X), 0.5, 1e-9))


@quiet
def test_row_48_labels_of_noise(subject):
    """Of 300 columns in 60 rows; how many of a few columns stay is in the ledger's terms."""
    if subject.name in ("LogisticRegression", "SVC"):
        pytest.skip("it is not meant to be sparse")
    kept = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 300)), rng.integers(0, 2, 60)
        clf = subject().fit(X, y)
        finite(clf, X)
        kept.append(np.count_nonzero(clf.coef_) if hasattr(clf, "coef_") else len(clf.relevance_vectors_))
    assert np.mean(kept) <= 30


@quiet
def test_row_49_imbalance(subject):
    rng = np.random.default_rng(0)
    n = 100_001
    X, y = rng.normal(size=(n, 1)), np.zeros(n, dtype=int)
    y[0], X[0] = 1, 4.0
    parameters = {"basis": 30, "gamma": "median"} if subject.name.startswith("rvm") else {}
    if subject.name.endswith(("dqn", "newton")):
        # A prior on the intercept, however wide, moves the mean a little.
        parameters["intercept_prior"] = "flat"
    clf = subject.exact(**parameters).fit(X, y)
    p = finite(clf, X)[:, 1]
    assert clf.classes_.tolist() == [0, 1]
    same(p.mean(), y.mean(), 1e-6)
    assert p[0] >= p.mean() * (1.0 - 1e-9)


@quiet
@MAKE
def test_row_50_balanced_with_weights(subject, make):
    X, y = small(80)
    weight = np.random.default_rng(0).integers(1, 4, size=80)
    rows = np.repeat(np.arange(80), weight)
    weighted = subject.exact(class_weight="balanced").fit(make(X), y, sample_weight=weight)
    repeated = subject.exact(class_weight="balanced").fit(make(X[rows]), y[rows])
    same(weighted.predict_proba(make(X)), repeated.predict_proba(make(X)), 1e-7)


@pytest.mark.parametrize(
    "weight",
    [
        np.full(60, -1.0),
        np.where(np.arange(60) == 3, -1.0, 1.0),
        np.where(np.arange(60) == 3, np.nan, 1.0),
        np.where(np.arange(60) == 3, np.inf, 1.0),
        np.zeros(60),
        np.ones(59),
        np.ones((60, 2)),
    ],
    ids=["negative", "one negative", "nan", "inf", "all zero", "too few", "two-dimensional"],
)
def test_row_51_bad_weights(estimator, weight):
    X, y = small()
    refused(lambda: estimator().fit(X, y, sample_weight=weight), "sample_weight|[Ss]ample weights")


@quiet
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300, 1e307])
def test_row_52_extreme_weights(subject, factor):
    X, y = small()
    clf = subject()
    with suppress(TooExtreme), about_weights():
        finite(clf.fit(X, y, sample_weight=np.full(60, factor)), X)


@quiet
@MAKE
def test_row_53_infinite_alpha_is_exactly_zero(own_linear, make):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 12))
    y = (3.0 * X[:, 0] + rng.logistic(size=300) > 0.0).astype(int)
    clf = own_linear().fit(make(X), y)
    pruned = np.isinf(clf.alpha_[0])
    assert 0 < pruned.sum() < 12
    np.testing.assert_array_equal(clf.coef_[0, pruned], 0.0)
    assert (clf.coef_[0, ~pruned] != 0.0).all()
    assert clf.n_relevant_[0] == (~pruned).sum()


def test_row_54_negative_determination_is_clamped_and_counted():
    w, alpha, inverse = np.array([2.0, 1.0]), np.array([1.0, 3.0]), np.array([0.5, 1.0])
    updated = ard.update_alpha(w, alpha, inverse, floor=1e-4)
    np.testing.assert_allclose(updated.alpha, [0.5 / 4.0, 1e-4])
    assert updated.n_clamped == 1


@quiet
def test_row_54_clamps_are_in_the_history(own_linear):
    X, y = small(80, 12)
    # Another B than the paper's start would give: from alpha = 10 on, 1 - alpha B is often negative.
    clf = own_linear(init_alpha=10.0, max_iter=5).fit(X, y)
    clamped = sum(record["n_clamped"] for record in clf.history_[0])
    assert clamped > 0 if own_linear.name == "dqn" else clamped >= 0
    finite(clf, X)


def test_row_55_indefinite_hessian_gets_jitter_then_a_clear_error():
    assert np.isfinite(cholesky(np.ones((3, 3)))).all()
    refused(lambda: cholesky(-np.eye(2)), "not positive definite", "collinear", "Standardise")
    refused(lambda: cholesky(np.array([[1.0, 2.0], [2.0, 1.0]])), "not positive definite")


@pytest.mark.parametrize("after", [1, 2])
def test_row_56_failed_line_search(monkeypatch, after):
    """The search fails for good after some steps, as it would where nothing is lower any more."""
    found = []

    def failing(ray, first):
        found.append(None)
        if len(found) > after:
            return SearchResult(ray.start, False, 40)
        return original(ray, first)

    original = newton_module.strong_wolfe
    monkeypatch.setattr(newton_module, "strong_wolfe", failing)
    X, y = small()
    with pytest.warns(ConvergenceWarning, match=r"gradient norm of \d"):
        clf = SBLClassifier("newton", tol=1e3).fit(X, y)
    finite(clf, X)
    assert np.any(clf.coef_)


@MAKE
def test_row_57_one_iteration(subject, make):
    X, y = small()

    def check(clf):
        finite(clf, make(X))
        assert clf.predict(make(X)).shape == (60,)

    with_warning(lambda: subject(max_iter=1).fit(make(X), y), "", check)


def test_row_57_says_what_to_do(own):
    with pytest.warns(ConvergenceWarning, match="max_iter .*Increase max_iter"):
        own(max_iter=1).fit(*small())


@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
def test_row_58_extreme_logits(linear, n_classes):
    X, y = small(90, n_classes=n_classes)
    clf = linear().fit(X, y)
    far = X * (1e6 / np.abs(clf.decision_function(X)).max()) * 10.0
    p = clf.predict_proba(far)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert np.isfinite(clf.predict_log_proba(far)).all()
    if n_classes == 2:
        assert np.abs(clf.decision_function(far)).max() >= 1e6


def test_row_59_everything_pruned(own):
    X, y = np.ones((20, 2)), np.arange(20) % 4 == 0
    # Those that take a constant column for an intercept with a prior are made to drop it.
    parameters = {"alpha_max": 1e-300} if own.name.endswith(("dqn", "newton")) else {}
    with pytest.warns(ConvergenceWarning, match="no feature"):
        clf = own(**parameters).fit(X, y)
    assert clf.n_relevant_[0] == 0
    finite(clf, X)
    np.testing.assert_array_equal(clf.predict(X), False)


@pytest.mark.parametrize(
    ("estimator_class", "wrong"),
    [
        *((RVMClassifier, wrong) for wrong in ({"kernel": "gauss"}, {"gamma": -1.0}, {"gamma": 0.0})),
        *((RVMClassifier, wrong) for wrong in ({"gamma": "wide"}, {"basis": 0}, {"max_basis": 0})),
        *((SBELMClassifier, wrong) for wrong in ({"n_hidden": 0}, {"activation": "step"})),
        (SBELMClassifier, {"hidden_scale": 0.0}),
    ],
)
def test_row_60_bad_parameters_of_a_basis(estimator_class, wrong):
    words = f"'{next(iter(wrong))}' parameter of {estimator_class.__name__} must be"
    refused(lambda: estimator_class(**wrong).fit(*small()), words, error=InvalidParameterError)


@quiet
@pytest.mark.parametrize("solver", ["auto", "newton", "dqn", "sequential"], ids="rvm-by_{}".format)
def test_row_61_indefinite_kernel(solver):
    X, y = make_moons(160, noise=0.25, random_state=0)
    finite(RVMClassifier("sigmoid", gamma=5.0, coef0=-3.0, solver=solver).fit(X, y), X)
    negative = RVMClassifier("precomputed", solver=solver).fit(-(X @ X.T), y)
    finite(negative, -(X @ X.T))


@quiet
def test_row_62_ten_classes(subject):
    X, y = small(120, 4, n_classes=10)
    assert len(np.unique(y)) == 10
    X = sp.csr_array(X) if subject.name == "auto" else X
    clf = subject(max_iter=10).fit(X, y)
    p = finite(clf, X)
    assert p.shape == (120, 10)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))
