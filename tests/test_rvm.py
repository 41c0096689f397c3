"""The kernel classifier: against the literal equations, and as a user meets it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from sparsebayes import RVMClassifier, kernels
from tests.problems import classification

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SOLVERS = ["auto", "newton", "dqn"]


@pytest.fixture(scope="module")
def moons():
    return make_moons(160, noise=0.25, random_state=0)


def literal_rvm(Phi, t, n_iterations, alpha_0=1e-5, alpha_max=1e6, c=1e-4):
    """Eq. 1-8 and 15 with plain matrices: IRLS to the mode, Sigma by an inverse, no shortcut taken.

    Returns which columns are left, their weights and precisions.
    """
    left = np.arange(Phi.shape[1])
    alpha, w = np.full(len(left), alpha_0), np.zeros(len(left))

    def loss(w, P):
        z = P @ w
        return np.sum(np.logaddexp(0.0, z) - t * z) + 0.5 * np.sum(alpha * w * w)

    for _ in range(n_iterations):
        P = Phi[:, left]
        for _ in range(200):
            y = 1.0 / (1.0 + np.exp(-P @ w))
            gradient = P.T @ (y - t) + alpha * w
            hessian = P.T @ np.diag(y * (1.0 - y)) @ P + np.diag(alpha)
            step, eta = np.linalg.solve(hessian, gradient), 1.0
            while loss(w - eta * step, P) > loss(w, P) and eta > 1e-10:
                eta /= 2.0
            if eta <= 1e-10:
                break
            w = w - eta * step
        y = 1.0 / (1.0 + np.exp(-P @ w))
        sigma = np.linalg.inv(P.T @ np.diag(y * (1.0 - y)) @ P + np.diag(alpha))
        determined = 1.0 - alpha * np.diag(sigma)
        determined[determined <= 0.0] = c
        alpha = determined / np.square(w)
        keep = alpha <= alpha_max
        left, w, alpha = left[keep], w[keep], alpha[keep]
    return left, w, alpha


def test_newton_is_the_literal_rvm():
    X, y = make_moons(60, noise=0.3, random_state=1)
    clf = RVMClassifier(gamma=0.8, solver="newton", tol=0.0, max_iter=25, map_tol=1e-12).fit(X, y)
    Phi = np.hstack([rbf_kernel(X, X, gamma=0.8), np.ones((60, 1))])
    left, w, alpha = literal_rvm(Phi, y, 25)
    vectors = left < 60
    assert 2 < np.count_nonzero(vectors) < 20
    np.testing.assert_array_equal(clf.relevance_, left[vectors])
    np.testing.assert_allclose(clf.coef_[0], w[vectors], rtol=1e-6)
    np.testing.assert_allclose(clf.alpha_[0], alpha[vectors], rtol=1e-6)
    intercept = w[~vectors][0] if not vectors.all() else 0.0
    np.testing.assert_allclose(clf.intercept_, [intercept], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "newton"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_precomputed_equals_rows(solver, make, moons):
    X, y = moons
    rows = RVMClassifier(gamma=0.8, solver=solver).fit(X, y)
    gram = RVMClassifier("precomputed", solver=solver).fit(make(rbf_kernel(X, X, gamma=0.8)), y)
    np.testing.assert_array_equal(gram.relevance_, rows.relevance_)
    np.testing.assert_allclose(gram.coef_, rows.coef_, rtol=1e-7)
    new = X[::-1] + 0.01
    theirs = gram.predict_proba(make(rbf_kernel(new, X, gamma=0.8)))
    np.testing.assert_allclose(theirs, rows.predict_proba(new), rtol=0, atol=1e-10)
    assert not hasattr(gram, "relevance_vectors_")


def test_precomputed_dqn_equals_rows_given_the_same_bits(moons):
    """Its own kernel's values: one bit more or less may send dqn elsewhere (see the ledger)."""
    X, y = moons
    rows = RVMClassifier(gamma=0.8, solver="dqn").fit(X, y)
    gram = RVMClassifier("precomputed", solver="dqn").fit(kernels.Kernel("rbf", 0.8)(X, X), y)
    np.testing.assert_array_equal(gram.relevance_, rows.relevance_)
    np.testing.assert_allclose(gram.coef_, rows.coef_, rtol=1e-10)


def test_precomputed_in_cross_validation(moons):
    X, y = moons
    scores = cross_val_score(RVMClassifier("precomputed"), rbf_kernel(X, X, gamma=0.8), y, cv=4)
    np.testing.assert_allclose(scores, cross_val_score(RVMClassifier(gamma=0.8), X, y, cv=4))


def test_precomputed_many_classes_and_weights():
    X, y = classification(n=90, m=3, n_classes=3, seed=2)
    weight = np.arange(90) % 3.0
    gram = rbf_kernel(X, X, gamma=0.3)
    for multi_class in ("ovo", "ovr"):
        left = RVMClassifier(gamma=0.3, multi_class=multi_class).fit(X, y, weight)
        right = RVMClassifier("precomputed", multi_class=multi_class).fit(gram, y, weight)
        np.testing.assert_array_equal(left.relevance_, right.relevance_)
        np.testing.assert_allclose(left.predict_proba(X), right.predict_proba(gram), atol=1e-9)
        assert (weight[left.relevance_] > 0.0).all()


def test_precomputed_must_be_square(moons):
    with pytest.raises(ValueError, match=r"square matrix .* shape \(160, 2\)"):
        RVMClassifier("precomputed").fit(*moons)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-6)])
def test_blocks_on_the_fly_equal_the_held_matrix(solver, dtype, tolerance, moons):
    """Three outer iterations: the products are compared, not what pruning makes of rounding."""
    X, y = moons[0].astype(dtype), moons[1]
    fits = [
        RVMClassifier(solver=solver, basis="all", max_basis=limit, max_iter=3, map_max_iter=5).fit(X, y)
        for limit in (1000, 8)
    ]
    np.testing.assert_allclose(fits[1].predict_proba(X), fits[0].predict_proba(X), rtol=0, atol=tolerance)


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_a_whole_fit_on_the_fly(solver, moons):
    X, y = moons
    held, blocks = (RVMClassifier(solver=solver, basis="all", max_basis=n).fit(X, y) for n in (1000, 8))
    np.testing.assert_array_equal(blocks.relevance_, held.relevance_)
    np.testing.assert_allclose(blocks.predict_proba(X), held.predict_proba(X), rtol=0, atol=1e-7)


@pytest.mark.parametrize("kernel", [*kernels.NAMES, "callable"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_kernel_separates_what_it_can(kernel, solver, moons):
    """The moons, moved to where all features are positive, as chi2 wants them."""
    X, y = moons[0] - moons[0].min(axis=0), moons[1]
    clf = RVMClassifier(pairwise.chi2_kernel if kernel == "callable" else kernel, solver=solver).fit(X, y)
    curved = kernel not in ("linear", "cosine", "sigmoid", "poly")
    if (
        solver == "dqn"
    ):  # loses a few points; its columns must not be nearly collinear, as the others' are here
        assert not curved or clf.score(X, y) > 0.85
    else:
        # 0.92 with weights as large as the evidence likes, which fresh rows do not bear out.
        assert clf.score(X, y) > (0.9 if curved else 0.8)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert hasattr(clf, "gamma_") == (kernel not in ("linear", "cosine", "callable"))


@pytest.mark.parametrize("solver", ["auto", "newton"])
@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_sparse_rows(kernel, solver, rng):
    X, y = classification(n=80, m=4, seed=3)
    X[rng.random(X.shape) < 0.5] = 0.0
    dense, sparse = (RVMClassifier(kernel, solver=solver).fit(x, y) for x in (X, sp.csc_matrix(X)))
    assert sp.issparse(sparse.relevance_vectors_)
    np.testing.assert_array_equal(sparse.relevance_, dense.relevance_)
    np.testing.assert_allclose(sparse.predict_proba(sp.coo_matrix(X)), dense.predict_proba(X), atol=1e-7)


def test_gamma(moons):
    X, y = moons
    distances = pairwise.euclidean_distances(X, squared=True)[np.triu_indices(len(X), 1)]
    assert RVMClassifier(gamma="median").fit(X, y).gamma_ == pytest.approx(1.0 / np.median(distances))
    assert RVMClassifier(gamma="scale").fit(X, y).gamma_ == pytest.approx(1.0 / (2 * X.var()))
    assert RVMClassifier(gamma=0.3).fit(X, y).gamma_ == 0.3


@pytest.mark.parametrize("parameters", [{}, {"gamma": "scale"}, {"basis": 30}, {"solver": "newton"}])
def test_a_weight_is_a_repeated_row(parameters, rng):
    X, y = make_moons(70, noise=0.3, random_state=3)
    weight = rng.integers(0, 4, size=70)
    order = rng.permutation(weight.sum())
    repeated = np.repeat(np.arange(70), weight)[order]
    clf = RVMClassifier(random_state=0, **parameters)
    weighted = clf.fit(X, y, weight).predict_proba(X)
    vectors = np.sort(clf.relevance_vectors_, axis=0)
    np.testing.assert_allclose(clf.fit(X[repeated], y[repeated]).predict_proba(X), weighted, rtol=1e-6)
    np.testing.assert_array_equal(np.sort(clf.relevance_vectors_, axis=0), vectors)


@pytest.mark.parametrize("basis", ["all", 20])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_units_and_storage_change_nothing(kernel, basis, moons):
    X, y = moons
    clf = RVMClassifier(kernel, basis=basis, random_state=0)
    expected = clf.fit(X, y).predict_proba(X)
    for other in (3.0 * X, 1e-4 * X, sp.csr_array(X), X.astype(np.float32)):
        # Rounding of the rows, where there is any, goes through the whole fit.
        tolerance = 1e-3 if other.dtype == np.float32 else 1e-6
        np.testing.assert_allclose(clf.fit(other, y).predict_proba(other), expected, atol=tolerance)


@pytest.mark.parametrize("kernel", kernels.NAMES)
def test_a_batch_is_its_rows(kernel, moons):
    """A row far out must not matter to the others."""
    X, y = moons
    clf = RVMClassifier(kernel).fit(X, y)
    batch = np.vstack([X[:5], [[1e200, 0.0], [1e300, -1e300], [1e10, 1e-10]]])
    if kernel in ("linear", "poly"):
        batch = np.vstack([X[:5], [[1e9, 1e9]]])
    one_by_one = np.vstack([clf.predict_proba(row[None]) for row in batch])
    np.testing.assert_allclose(clf.predict_proba(batch), one_by_one, rtol=1e-9, atol=1e-12)


def test_an_outlier_does_not_blur_the_others(moons):
    X, y = moons
    clf = RVMClassifier().fit(np.vstack([X, [[1e12, 0.0]]]), np.append(y, 0))
    clean = RVMClassifier().fit(X, y)
    assert clf.score(X, y) > clean.score(X, y) - 0.02
    assert clf.gamma_ == pytest.approx(clean.gamma_, rel=0.1)


def test_a_callable_keeps_its_array(moons):
    X, y = moons
    gram = rbf_kernel(X)
    gram.flags.writeable = False
    before = gram.copy()

    def kernel(A, B):
        return gram if A.shape == B.shape == X.shape else rbf_kernel(A, B)

    clf = RVMClassifier(kernel).fit(X, y)
    np.testing.assert_array_equal(gram, before)
    np.testing.assert_allclose(clf.predict_proba(X), RVMClassifier(rbf_kernel).fit(X, y).predict_proba(X))


def test_a_callable_without_vectors():
    X, y = np.ones((20, 2)), np.arange(20) % 2
    clf = RVMClassifier(rbf_kernel).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), 0.5)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_extreme_weights_do_not_change_the_width(factor, moons):
    X, y = moons
    for name in ("median", "evidence"):
        clf = RVMClassifier(gamma=name, max_iter=1)
        gamma = clf.fit(X, y).gamma_
        assert clf.fit(X, y, np.full(160, factor)).gamma_ == pytest.approx(gamma)


def test_single_precision_far_from_the_origin(rng):
    """Two clusters at +-1000: squares of a million hide differences of one in single precision."""
    y = rng.integers(0, 2, size=120)
    side = 2000.0 * (np.arange(120) % 2)[:, None] - 1000.0
    X = (side + rng.normal(size=(120, 2)) + y[:, None]).astype(np.float32)
    wide = RVMClassifier(gamma=0.5).fit(X.astype(np.float64), y).predict_proba(X)
    np.testing.assert_allclose(RVMClassifier(gamma=0.5).fit(X, y).predict_proba(X), wide, atol=1e-3)


def test_only_what_is_kept_is_stored(moons):
    X, y = moons
    wide = np.hstack([X, np.zeros((160, 300))])
    clf = RVMClassifier().fit(wide, y)
    np.testing.assert_array_equal(clf.relevance_vectors_, wide[clf.relevance_])
    assert clf.coef_.shape == (1, len(clf.relevance_)) == (1, clf.n_relevant_[0])
    clf.history_ = []
    bound = 2 * clf.relevance_vectors_.nbytes + 4000
    assert len(pickle.dumps(clf)) < bound < wide.nbytes / 4
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(wide), clf.predict_proba(wide))


def test_prediction_is_the_sum_over_relevance_vectors(moons):
    X, y = moons
    clf = RVMClassifier(solver="newton").fit(X, y)
    z = rbf_kernel(X, clf.relevance_vectors_, gamma=clf.gamma_) @ clf.coef_[0] + clf.intercept_
    np.testing.assert_allclose(clf.decision_function(X), z, rtol=1e-10)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-z)), rtol=1e-10)


def test_many_classes_share_vectors():
    X, y = classification(n=150, m=3, n_classes=4, seed=5)
    for multi_class, n_problems in (("ovo", 6), ("ovr", 4)):
        clf = RVMClassifier(multi_class=multi_class, n_jobs=2).fit(X, y)
        assert clf.coef_.shape == (n_problems, len(clf.relevance_))
        np.testing.assert_array_equal(np.count_nonzero(clf.coef_, axis=1), clf.n_relevant_)
        np.testing.assert_array_equal(clf.relevance_vectors_, X[clf.relevance_])
        if multi_class == "ovo":  # a pair's vectors are its own rows
            assert set(y[clf.relevance_[clf.coef_[0] != 0.0]]) <= {0, 1}


def test_candidates(moons):
    X, y = moons
    few = RVMClassifier(basis=20, random_state=0)
    assert few.fit(X, y).history_[0][0]["n_active"] <= 21
    assert few.score(X, y) > 0.85
    np.testing.assert_array_equal(few.coef_, RVMClassifier(basis=20, random_state=0).fit(X, y).coef_)
    assert RVMClassifier(basis=1000).fit(X, y).history_[0][0]["n_active"] <= 161


def test_beyond_max_basis_candidates_are_the_default(moons, monkeypatch):
    from sparsebayes.estimators import rvm

    monkeypatch.setattr(rvm, "DEFAULT_CANDIDATES", 30)
    X, y = moons
    clf = RVMClassifier(max_basis=100, random_state=0).fit(X, y)
    assert clf._basis_sizes == [30]
    assert RVMClassifier(max_basis=20, random_state=0).fit(X, y)._basis_sizes == [20]
    assert RVMClassifier(max_basis=160).fit(X, y)._basis_sizes == [160]
    assert RVMClassifier(basis="all", max_basis=100).fit(X, y)._basis_sizes == [160]


def test_candidates_on_the_fly(moons, monkeypatch):
    X, y = moons
    held = RVMClassifier(basis=40, random_state=0).fit(X, y)
    monkeypatch.setattr("sparsebayes.estimators.rvm.MAX_HELD", 100)
    blocks = RVMClassifier(basis=40, max_basis=45, random_state=0).fit(X, y)
    np.testing.assert_array_equal(blocks.relevance_, held.relevance_)
    np.testing.assert_allclose(blocks.predict_proba(X), held.predict_proba(X), atol=1e-7)


def test_warm_start_goes_on(moons):
    X, y = moons
    whole = RVMClassifier(solver="newton", max_iter=12).fit(X, y)
    parts = RVMClassifier(solver="newton", max_iter=7, warm_start=True).fit(X, y)
    parts.set_params(max_iter=5).fit(X, y)
    np.testing.assert_array_equal(parts.relevance_, whole.relevance_)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-6)


def test_warm_start_refuses_another_kernel(moons):
    X, y = moons
    for change in ({"kernel": "linear"}, {"gamma": 5.0}):
        clf = RVMClassifier(warm_start=True).fit(X, y)
        with pytest.raises(ValueError, match=r"goes on from its last fit.*kernel='rbf', gamma='auto'"):
            clf.set_params(**change).fit(X, y)


def test_another_kernel_leaves_nothing_behind(moons):
    X, y = moons
    clf = RVMClassifier().fit(X, y)
    clf.set_params(kernel="precomputed").fit(rbf_kernel(X), y)
    assert not hasattr(clf, "relevance_vectors_")
    assert not hasattr(clf, "gamma_")


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_huge_and_tiny_rows(factor, moons):
    X, y = moons
    expected = RVMClassifier("exponential").fit(X, y).predict_proba(X)
    clf = RVMClassifier("exponential").fit(factor * X, y)
    np.testing.assert_allclose(clf.predict_proba(factor * X), expected, atol=1e-6)
    for gamma in ("median", "scale"):
        if factor in (1e-300, 1e300):  # squared distances are no floats
            with pytest.raises(ValueError, match="Distances between rows of X are out of the range"):
                RVMClassifier(gamma=gamma).fit(factor * X, y)
    assert np.isfinite(RVMClassifier(gamma=1.0).fit(X, y).predict_proba(factor * X)).all()


def test_progress_names_training_rows(moons):
    X, y = moons
    seen = []
    clf = RVMClassifier(callbacks=[seen.append], solver="newton").fit(X, y)
    np.testing.assert_array_equal(seen[-1].features, clf.relevance_)
    np.testing.assert_allclose(seen[-1].decision_function(X), clf.decision_function(X), rtol=1e-9)


def test_float32_stays(moons):
    X, y = moons
    narrow = RVMClassifier().fit(X.astype(np.float32), y)
    assert narrow.relevance_vectors_.dtype == narrow.coef_.dtype == np.float32
    assert narrow.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(narrow.predict_proba(X), RVMClassifier().fit(X, y).predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_that_was_found_with_its_width_is_the_one_that_is_fitted(n_classes, weighted, rng):
    """Where nobody looks on, the fit at the width that was chosen is not made again."""
    X = rng.standard_normal((150, 3))
    y = np.digitize(np.square(X[:, 0]) + X[:, 1], [1.0, 2.0][: n_classes - 1])
    weight = np.where(y == 0, 2.0, 1.0) if weighted else None  # 1 throughout in a pair
    seen = []
    unseen, watched = (
        RVMClassifier(callbacks=each, random_state=0).fit(X, y, weight) for each in (None, [seen.append])
    )
    assert len(seen) == watched.n_iter_.sum() == unseen.n_iter_.sum()
    np.testing.assert_array_equal(unseen.predict_proba(X), watched.predict_proba(X))
    np.testing.assert_array_equal(unseen.alpha_, watched.alpha_)
    assert unseen.status_ == watched.status_
