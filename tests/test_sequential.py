"""The sequential solver: its gains against the exact evidence, where it ends, and the widths of kernels."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, sbl_path
from sparsebayes.design import WithIntercept, as_design
from sparsebayes.estimators import rvm as rvm_module
from sparsebayes.estimators._widths import Losses, by_validation
from sparsebayes.evidence import FitStatus, SequentialLoop
from sparsebayes.evidence import sequential as module
from sparsebayes.evidence.sequential import Factors, Scorer, active_factors, log_evidence
from sparsebayes.map_solvers import NewtonSolver
from sparsebayes.objective import Objective
from tests.problems import classification, logistic

SOLVER = NewtonSolver(1e-12)


def gaussian_evidence(X, target, beta, alpha):
    """log N(target; 0, B^-1 + X A^-1 X^T), from its definition."""
    C = np.diag(1.0 / beta) + (X / alpha) @ X.T
    return -0.5 * (np.linalg.slogdet(C)[1] + target @ np.linalg.solve(C, target))


def laplace_evidence(X, labels, alpha, w):
    """From its definition, but for the constant of 2 pi."""
    z = X @ w
    y = 1.0 / (1.0 + np.exp(-z))
    likelihood = np.log(np.where(labels > 0.0, y, 1.0 - y)).sum()
    hessian = X.T @ np.diag(y * (1.0 - y)) @ X + np.diag(alpha)
    return likelihood - 0.5 * alpha @ w**2 + 0.5 * np.log(alpha).sum() - 0.5 * np.linalg.slogdet(hessian)[1]


@pytest.fixture
def solved():
    problem = logistic(n=60, m=5, seed=3)
    problem.alpha = np.array([0.5, 2.0, 0.1, 3.0, 1.0])
    objective = problem.objective()
    return problem, objective, SOLVER.solve(objective, np.zeros(5))


def working_response(problem, mode, beta):
    """The Gaussian problem whose posterior mean is the mode."""
    y = 1.0 / (1.0 + np.exp(-mode.margins))
    return mode.margins + (problem.labels - y) / beta


def test_log_evidence_is_laplace_s(solved):
    problem, _, mode = solved
    expected = laplace_evidence(problem.X, problem.labels, problem.alpha, mode.w)
    assert log_evidence(mode, problem.alpha) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("new_alpha", [0.01, 1.0, 50.0, np.inf])
@pytest.mark.parametrize("k", range(5))
def test_gain_of_a_new_precision_and_of_deleting(k, new_alpha, solved):
    problem, objective, mode = solved
    factors = active_factors(mode.w, problem.alpha, mode.curvature.inverse_diagonal())
    after = problem.alpha.copy()
    after[k] = new_alpha
    gain = factors.contribution(after)[k] - factors.contribution(problem.alpha)[k]
    beta = objective.beta(mode.margins)
    target = working_response(problem, mode, beta)
    exact = [gaussian_evidence(problem.X, target, beta, alpha) for alpha in (problem.alpha, after)]
    assert gain == pytest.approx(exact[1] - exact[0], rel=1e-8, abs=1e-10)


def test_gain_of_adding(solved, rng):
    problem, objective, mode = solved
    more = rng.normal(size=(60, 4))
    scorer = Scorer(objective, mode, n_wanted=1)
    factors, _ = scorer.factors(as_design(more)[0])
    target = working_response(problem, mode, scorer.beta)
    without = gaussian_evidence(problem.X, target, scorer.beta, problem.alpha)
    for k, alpha in enumerate([0.1, 1.0, 10.0, 100.0]):
        both = np.column_stack([problem.X, more[:, k]])
        exact = gaussian_evidence(both, target, scorer.beta, np.append(problem.alpha, alpha)) - without
        assert factors.contribution(np.full(4, alpha))[k] == pytest.approx(exact, rel=1e-8)


def test_gain_of_adding_a_second_one(solved, rng):
    problem, objective, mode = solved
    y = 1.0 / (1.0 + np.exp(-mode.margins))
    first = problem.labels - y + 0.3 * rng.normal(size=60)
    more = np.column_stack([first, first + 0.2 * rng.normal(size=60)])
    scorer = Scorer(objective, mode, n_wanted=1)
    pool = as_design(more)[0]
    factors, shared = scorer.factors(pool)
    covariance = pool.gram(scorer.beta) - shared.T @ shared
    later = factors.given(0, covariance[:, 0])
    target = working_response(problem, mode, scorer.beta)
    alpha = np.append(problem.alpha, [factors.best_alpha[0], 2.0])
    both = np.column_stack([problem.X, more])
    exact = gaussian_evidence(both, target, scorer.beta, alpha) - gaussian_evidence(
        both[:, :-1], target, scorer.beta, alpha[:-1]
    )
    assert later.contribution(np.array([1.0, 2.0]))[1] == pytest.approx(exact, rel=1e-8)


def test_only_what_is_eligible_is_chosen(solved, rng):
    problem, objective, mode = solved
    more = rng.normal(size=(60, 30))
    residual = problem.labels - 1.0 / (1.0 + np.exp(-mode.margins))
    more[:, :10] += 2.0 * residual[:, None]  # the best ones
    eligible = np.arange(30) % 10 >= 4
    scorer = Scorer(objective, mode, n_wanted=5)
    chosen, alpha = scorer.choose(as_design(more)[0], np.full(30, 0.1), eligible)
    alone, its_alpha = scorer.choose(as_design(more[:, eligible])[0], np.full(18, 0.1), np.full(18, True))
    assert len(chosen)
    np.testing.assert_array_equal(chosen, np.flatnonzero(eligible)[alone])
    np.testing.assert_allclose(alpha, its_alpha, rtol=1e-9)
    assert not len(scorer.choose(as_design(more)[0], np.full(30, 0.1), np.full(30, False))[0])


def test_best_alpha_is_best():
    factors = Factors(np.array([1.0, 2.0, 5.0]), np.array([3.0, 1.0, 2.5]))
    best = factors.best_alpha
    assert best[1] == np.inf
    grid = np.geomspace(1e-3, 1e3, 2001)
    for k in (0, 2):
        others = [factors.contribution(np.full(3, alpha))[k] for alpha in grid]
        assert factors.contribution(best)[k] >= max(others)


def run(X, labels, weight=None, **parameters):
    design, _ = as_design(X, scale="columns", centre=True, weight=weight)
    design = WithIntercept(design, X.shape[1])
    alpha = np.ones(design.shape[1])
    alpha[-1] = 0.0
    fit = SequentialLoop(SOLVER, tol=1e-6, max_iter=500, **parameters).run(
        design, labels, alpha, np.zeros(design.shape[1]), weight
    )
    return design, fit


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ends_at_a_fixed_point(seed, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 1000)
    X, labels = classification(n=150, m=20, seed=seed)
    design, fit = run(X, labels.astype(float))
    assert fit.status is FitStatus.CONVERGED
    objective = Objective(fit.design, labels.astype(float), fit.alpha)
    mode = SOLVER.solve(objective, fit.w)
    # Re-estimation would change nothing, nor is any column to go.
    factors = active_factors(mode.w, fit.alpha, mode.curvature.inverse_diagonal())
    proper = fit.alpha > 0.0
    assert 3 <= proper.sum() < 20
    np.testing.assert_allclose(factors.best_alpha[proper], fit.alpha[proper], rtol=1e-3)
    # No column outside has anything to add; those that were deleted last are outside for a while.
    outside = ~np.isin(design.columns, fit.design.columns)
    candidates, _ = Scorer(objective, mode, 1).factors(design.take(outside))
    assert candidates.contribution(candidates.best_alpha).max() < 0.5


def test_finds_the_columns_that_matter():
    X, labels = classification(n=400, m=30, seed=5)
    _, fit = run(X, labels.astype(float))
    assert {0, 1, 2} <= set(fit.active.tolist())
    assert len(fit.active) < 20
    _, dear = run(X, labels.astype(float), price=lambda n_rows: 5.0)
    assert {0, 1, 2, 30} == set(dear.active.tolist())
    _, too_dear = run(X, labels.astype(float), price=lambda n_rows: 1e4)
    assert too_dear.status is FitStatus.ALL_PRUNED


def test_a_weight_is_a_repeated_row(rng):
    X, labels = classification(n=120, m=12)
    weight = rng.integers(1, 4, size=120)
    _, weighted = run(X, labels.astype(float), weight.astype(float))
    repeated = np.repeat(np.arange(120), weight)
    _, rows = run(X[repeated], labels[repeated].astype(float))
    np.testing.assert_array_equal(weighted.active, rows.active)
    np.testing.assert_allclose(weighted.alpha, rows.alpha, rtol=1e-6)
    np.testing.assert_allclose(weighted.w, rows.w, rtol=1e-6)


def test_pools_end_where_a_search_through_all_does(monkeypatch):
    X, labels = classification(n=150, m=40)
    _, whole = run(X, labels.astype(float))
    monkeypatch.setattr(module, "POOL_ENTRIES", 1)
    monkeypatch.setattr(module, "MIN_POOL", 7)
    _, pools = run(X, labels.astype(float))
    assert pools.status in (FitStatus.CONVERGED, FitStatus.NO_BETTER)
    # Different roads, and the evidence has more than one peak.
    least = [min(record["criterion"] for record in fit.history) for fit in (whole, pools)]
    assert least[1] == pytest.approx(least[0], abs=2.0)


def test_data_without_a_column_or_a_signal():
    labels = np.array([0.0, 1.0] * 10)
    _, fit = run(np.ones((20, 3)), labels)
    assert fit.status is FitStatus.ALL_PRUNED
    assert fit.w == pytest.approx(0.0)


@pytest.fixture(scope="module")
def moons():
    return make_moons(200, noise=0.25, random_state=0)


def test_records_and_callbacks(moons):
    seen = []
    clf = RVMClassifier(gamma=1.0, solver="sequential", callbacks=[seen.append]).fit(*moons)
    assert len(seen) == clf.n_iter_[0] == len(clf.history_[0])
    assert clf.status_[0].startswith("sequential: converged")
    last = seen[-1]
    assert set(last.features) <= set(range(200))
    assert last.record["n_active"] == len(last.features) + 1
    assert last.record["passes"]["gram"] > 0
    stopped = RVMClassifier(gamma=1.0, callbacks=[lambda progress: progress.iteration == 3]).fit(*moons)
    assert stopped.n_iter_[0] == 3
    assert stopped.status_[0] == "auto (sequential): stopped by a callback"


def test_max_iter_is_honoured(moons):
    with pytest.warns(UserWarning, match="max_iter"):
        clf = RVMClassifier(gamma=1.0, max_iter=4).fit(*moons)
    assert clf.n_iter_[0] == 4


def test_goes_on_from_an_earlier_fit(moons):
    clf = RVMClassifier(gamma=1.0, warm_start=True).fit(*moons)
    before = clf.predict_proba(moons[0])
    clf.fit(*moons)
    assert clf.n_iter_[0] <= 5
    np.testing.assert_allclose(clf.predict_proba(moons[0]), before, atol=1e-2)


@pytest.mark.parametrize("gamma", ["auto", "several", "evidence", (0.5, 2.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_widths(gamma, dtype, moons):
    X, y = moons[0].astype(dtype), moons[1]
    clf = RVMClassifier(gamma=gamma).fit(X, y)
    assert clf.score(X, y) > 0.9
    assert clf.decision_function(X).dtype == dtype
    again = RVMClassifier(gamma=gamma).fit(X, y)
    np.testing.assert_array_equal(clf.decision_function(X), again.decision_function(X))
    np.testing.assert_array_equal(clf.relevance_vectors_, X[clf.relevance_])
    if np.ndim(clf.gamma_):
        assert clf.gamma_.shape == clf.relevance_.shape
        distances = ((X[:, None].astype(float) - clf.relevance_vectors_) ** 2).sum(axis=2)
        margins = np.exp(-clf.gamma_ * distances) @ clf.coef_[0] + clf.intercept_[0]
        tolerance = 1e-9 if dtype is np.float64 else 1e-3  # kernel values and coefficients are rounded
        np.testing.assert_allclose(
            margins, clf.decision_function(X), atol=tolerance * np.abs(clf.coef_).max()
        )


@pytest.mark.parametrize(("n_better", "expected"), [(0, [2]), (1, [2, 8]), (2, [2, 8, 32]), (9, [2, 8, 32])])
def test_narrower_widths_join_as_long_as_they_are_better_on_rows_held_out(n_better, expected, rng):
    noise, weight = rng.standard_normal(600), np.ones(600)

    def losses(gammas):
        """Each of the first narrower widths gains 0.1, ten standard errors; another one gains nothing."""
        return Losses(1.0 - 0.1 * min(len(gammas) - 1, n_better) + 0.01 * noise * len(gammas), weight)

    def evidence(gammas):
        return -abs(float(gammas[0]) - 2.0)

    assert by_validation(8.0, evidence, losses, 600).tolist() == expected
    assert by_validation(8.0, evidence, losses, 100).tolist() == [2]  # too few rows to tell


def test_one_width_in_a_sequence_is_that_number(moons):
    one, sequence = (RVMClassifier(gamma=gamma).fit(*moons) for gamma in (2.0, [2.0]))
    np.testing.assert_array_equal(one.decision_function(moons[0]), sequence.decision_function(moons[0]))
    assert sequence.gamma_ == 2.0


@pytest.mark.parametrize("gamma", [[], [1.0, -1.0], [[1.0, 2.0]], [np.nan]])
def test_widths_that_are_none(gamma, moons):
    with pytest.raises(ValueError, match="gamma"):
        RVMClassifier(gamma=gamma).fit(*moons)


@pytest.mark.parametrize("gamma", ["auto", "several", "evidence"])
def test_several_classes_and_sparse_rows(gamma):
    X, y = classification(n=150, m=4, n_classes=3)
    X[X < 0.0] = 0.0
    dense, sparse = (RVMClassifier(gamma=gamma).fit(x, y) for x in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(sp.csr_matrix(X)), atol=1e-5)
    assert dense.coef_.shape == (3, len(dense.relevance_))
    numbers = list(zip(dense.relevance_, np.broadcast_to(dense.gamma_, len(dense.relevance_)), strict=True))
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("gamma", ["auto", "evidence", "several"])
def test_units_do_not_matter(gamma, moons):
    X, y = moons
    small, large = (RVMClassifier(gamma=gamma).fit(factor * X, y) for factor in (1.0, 1000.0))
    np.testing.assert_allclose(small.predict_proba(X), large.predict_proba(1000.0 * X), atol=1e-6)


@pytest.mark.parametrize("gamma", ["auto", "evidence"])
def test_a_weight_is_a_repeated_row_for_the_choice_of_widths(gamma, moons, rng):
    X, y = moons
    weight = rng.integers(1, 3, size=len(y))
    weighted = RVMClassifier(gamma=gamma).fit(X, y, weight)
    repeated = RVMClassifier(gamma=gamma).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.gamma_, repeated.gamma_, rtol=1e-12)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_nothing_square_is_allocated(rng):
    n = 3000
    X = rng.normal(size=(n, 3))
    y = (np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n) > 0.0).astype(int)
    clf = RVMClassifier(gamma=0.5, basis="all", max_basis=200)
    tracemalloc.start()
    clf.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert clf.score(X, y) > 0.85
    assert peak < 8 * n * n / 2


def test_vectors_chosen_on_a_part_and_fitted_on_all(monkeypatch, rng):
    X = rng.normal(size=(900, 2))
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 + 0.2 * rng.normal(size=900) > 1.2).astype(int)
    monkeypatch.setattr(rvm_module, "CHOICE_ON_A_PART_BEYOND", 800)
    monkeypatch.setattr(rvm_module, "ROWS_OF_THE_PART", 300)
    clf = RVMClassifier(random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.9
    assert clf.n_iter_[0] < 40  # 31: with a bound on precisions a model has a few vectors more
    # The weights are those of all rows.
    K = np.exp(-np.asarray(clf.gamma_) * ((X[:, None] - clf.relevance_vectors_) ** 2).sum(axis=2))
    p = clf.predict_proba(X)[:, 1]
    np.testing.assert_allclose((y - p) @ K, clf.alpha_[0] * clf.coef_[0], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("make", [SBLClassifier, SBELMClassifier])
def test_other_bases(make):
    X, y = classification(n=300, m=8)
    clf = make(solver="sequential")
    if make is SBELMClassifier:
        clf.set_params(random_state=0)
    clf.fit(X, y)
    assert clf.score(X, y) > 0.85
    assert 0 < clf.n_relevant_[0] <= 60


def test_widths_that_cannot_be():
    X, y = classification(n=60, m=3)
    with pytest.raises(ValueError, match=r"gamma='evidence'.*'laplacian'.*Got kernel='poly'"):
        RVMClassifier("poly", gamma="evidence").fit(X, y)
    for gamma in (["a"], []):
        with pytest.raises(ValueError, match="must be a name, a positive number or a sequence"):
            RVMClassifier(gamma=gamma).fit(X, y)


def test_the_path_keeps_widths_apart():
    X, y = classification(n=120, m=3)
    path = sbl_path(X, y, X, y, estimator=RVMClassifier(gamma="several"))
    last = path.estimator.history_[0][-1]
    assert path.coef[-1].nnz == path.n_relevant[-1] == last["n_active"] - 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_that_is_cut_off_says_so():
    X, y = classification(n=120, m=3)
    assert "max_iter" in RVMClassifier(max_iter=1).fit(X, y).status_[0]


def test_a_part_has_the_rare_class(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), np.zeros(3000, dtype=int)
    y[:3] = 1
    X[:3] += 6.0
    monkeypatch.setattr(rvm_module, "CHOICE_ON_A_PART_BEYOND", 1000)
    monkeypatch.setattr(rvm_module, "ROWS_OF_THE_PART", 300)
    for seed in range(3):
        classifier = RVMClassifier(gamma="median", random_state=seed).fit(X, y)
        assert classifier.predict_proba(X[:3])[:, 1].min() > 0.5
