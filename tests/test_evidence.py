"""The outer loops against literal transcriptions and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from sparsebayes import link
from sparsebayes.design import WithIntercept, as_design
from sparsebayes.evidence import EliminationLoop, FitStatus, JointLoop, leave_one_out
from sparsebayes.evidence.candidates import LEAST_VARIANCE, Candidates, Data, centred_energy
from sparsebayes.evidence.copies import find_copies
from sparsebayes.evidence.elimination import least
from sparsebayes.evidence.leave_one_out import common_variance, degrees_of_freedom, leave_one_out_losses
from sparsebayes.evidence.scale import scale_by_losses
from sparsebayes.evidence.selection import LargestEvidence, LastOfAtLeast, Passed, PathPoint, ties
from sparsebayes.map_solvers import DQNSolver, NewtonCGSolver, NewtonSolver
from sparsebayes.objective import Objective
from tests.problems import CountingDesign, classification, logistic


def literal_sbl(X, t, iterations, alpha_max=1e6, c=1e-4):
    """Algorithm 2 with the exact inverse, from the paper's equations; L-BFGS-B finds the modes."""
    alpha, active = np.full(X.shape[1], 1e-5), np.arange(X.shape[1])
    w = np.zeros(X.shape[1])
    for _ in range(iterations):
        A = X[:, active]

        def loss(w, A=A, alpha=alpha):
            z = A @ w
            value = np.logaddexp(0, -(2 * t - 1) * z).sum() + 0.5 * alpha @ w**2
            return value, A.T @ (1 / (1 + np.exp(-z)) - t) + alpha * w

        w = minimize(loss, w, jac=True, method="L-BFGS-B").x
        for _ in range(3):  # polish
            y = 1 / (1 + np.exp(-(A @ w)))
            H = A.T @ np.diag(y * (1 - y)) @ A + np.diag(alpha)
            w = w - np.linalg.solve(H, loss(w)[1])
        y = 1 / (1 + np.exp(-(A @ w)))
        sigma = np.linalg.inv(A.T @ np.diag(y * (1 - y)) @ A + np.diag(alpha))
        gamma = 1 - alpha * np.diag(sigma)
        alpha = np.where(gamma > 0, gamma, c) / w**2
        keep = alpha <= alpha_max
        alpha, w, active = alpha[keep], w[keep], active[keep]
    return active, w, alpha


@pytest.mark.parametrize("iterations", [1, 5, 25])
def test_newton_loop_is_algorithm_2_with_the_exact_inverse(iterations):
    X, y = classification(n=100, m=8, seed=4)
    t = (y == 1).astype(float)
    active, w, alpha = literal_sbl(np.hstack([X, np.ones((100, 1))]), t, iterations)
    design = WithIntercept(as_design(X)[0], 8)
    loop = JointLoop(NewtonSolver(tol=1e-13), tol=0.0, max_iter=iterations)
    fit = loop.run(design, t, np.full(9, 1e-5), np.zeros(9))
    np.testing.assert_array_equal(fit.active, active)
    np.testing.assert_allclose(fit.w, w, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fit.alpha, alpha, rtol=1e-5)


def test_history_counts_what_the_design_saw_and_columns_are_really_dropped():
    X, y = classification(n=150, m=40, seed=1)
    design = CountingDesign(WithIntercept(as_design(X)[0], 40))
    loop = JointLoop(DQNSolver(), max_iter=30)
    fit = loop.run(design, y.astype(float), np.full(41, 1e-5), np.zeros(41))
    for verb in ("matvec", "rmatvec"):
        assert design.counts[verb] == sum(record["passes"].get(verb, 0) for record in fit.history)
    for record in fit.history:
        steps = record["map_steps"]
        started_at_zero = record["iteration"] == 1
        assert record["passes"].get("matvec", 0) == steps + (0 if started_at_zero else 1)
        assert record["passes"]["rmatvec"] == steps + 1
        assert "gram" not in record["passes"]
        assert set(record["seconds"]) == {"passes", "map", "update", "prune"}
    active = [record["n_active"] for record in fit.history]
    assert active == sorted(active, reverse=True)
    assert active[-1] == len(fit.w) == len(fit.active) < 41


def test_dqn_never_asks_for_a_matrix_of_curvature():
    class NoGram(CountingDesign):
        def __getattr__(self, verb):
            assert verb not in ("gram", "row_blocks")
            return super().__getattr__(verb)

    X, y = classification(n=150, m=40, seed=1)
    design = NoGram(as_design(X)[0])
    JointLoop(DQNSolver(), max_iter=5).run(design, y.astype(float), np.full(40, 1e-5), np.zeros(40))


def test_joint_loop_stops_for_each_of_its_reasons():
    X, y = classification(n=150, m=3, seed=2)
    design, labels = as_design(X)[0], y.astype(float)
    alpha, w = np.full(3, 1e-5), np.zeros(3)

    def run(callback=lambda state: False, **parameters):
        return JointLoop(NewtonSolver(), **parameters).run(design, labels, alpha, w, callback=callback)

    converged = run(tol=1e-2)
    assert converged.status is FitStatus.CONVERGED
    assert converged.history[-1]["log_alpha_change"] < 1e-2
    assert run(max_iter=2).status is FitStatus.MAX_ITER
    assert len(run(max_iter=2).history) == 2
    stopped = run(callback=lambda state: state.record["iteration"] == 3)
    assert stopped.status is FitStatus.CALLBACK
    assert len(stopped.history) == 3
    assert run(alpha_max=1e-9).status is FitStatus.ALL_PRUNED


def exact(n_active, finish):
    return NewtonSolver(tol=1e-12)


def diagonal(n_active, finish):
    return NewtonCGSolver(tol=1e-10)


def with_intercept(X):
    return WithIntercept(as_design(X)[0], X.shape[1])


def flat(n_columns):
    alpha = np.ones(n_columns)
    alpha[-1] = 0.0
    return alpha


@pytest.mark.parametrize("map_solver", [exact, diagonal])
def test_elimination_finds_the_informative_columns(map_solver):
    X, y = classification(n=600, m=30, n_informative=3, seed=7)
    fit = EliminationLoop(map_solver, exponent=1.0).run(
        with_intercept(X), y.astype(float), flat(31), np.zeros(31)
    )
    assert {0, 1, 2} <= set(fit.active.tolist())
    assert len(fit.active) <= 12
    assert fit.status is FitStatus.PATH_DONE


def test_elimination_ends_at_a_mode_of_its_own_prior():
    X, y = classification(n=200, m=10, seed=3)
    design, t = with_intercept(X), y.astype(float)
    fit = EliminationLoop(exact, exponent=1.0).run(design, t, flat(11), np.zeros(11))
    keep = np.isin(design.columns, fit.active)
    objective = Objective(design.take(keep), t, fit.alpha)
    assert np.abs(objective.grad(objective.at(fit.w))).max() < 1e-8
    assert fit.alpha[-1] == 0.0


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("map_solver", [exact, diagonal])
def test_what_the_prior_keeps_along_the_path(map_solver, exponent):
    """V where the posterior is exact, and otherwise c until V would be small."""
    X, y = classification(n=200, m=40, seed=3)
    X *= np.geomspace(0.5, 2.0, 40)
    spread = X.var(axis=0)
    factors, variances = [], []

    def watch(state):
        proper = state.alpha > 0.0
        energy = spread[state.columns[proper]]
        if proper.any():
            factor = state.alpha[proper] / energy**exponent
            np.testing.assert_allclose(factor, factor[0], rtol=1e-9)
            factors.append(factor[0])
            variances.append(np.sum(energy / state.alpha[proper]))
        return False

    EliminationLoop(map_solver, exponent).run(
        with_intercept(X), y.astype(float), flat(41), np.zeros(41), callback=watch
    )
    variances = np.array(variances)
    if map_solver is exact:
        np.testing.assert_allclose(variances, variances[0], rtol=1e-9)
        return
    kept = np.isclose(factors, factors[0], rtol=1e-9)
    least = min(LEAST_VARIANCE, variances[0])
    assert kept[: kept.sum()].all()
    assert np.all(variances[kept] >= least * (1 - 1e-9))
    np.testing.assert_allclose(variances[~kept], least, rtol=1e-9)


def test_the_scale_is_the_least_that_ties_with_the_best():
    """Against leaving samples out in truth: a scale of the ladder is not much worse than any other."""
    X, y = classification(n=80, m=10, seed=5)
    labels, design = y.astype(float), with_intercept(X)
    energy = np.append(X.var(axis=0), 0.0)
    gradient = Objective(design, labels, flat(11)).gradient_at_zero()
    candidates = Candidates(design, energy, 1.0, np.zeros(11), gradient, np.arange(11))
    _, scale, n_steps = scale_by_losses(
        Data(labels, None, exact),
        candidates,
        lambda solved: leave_one_out_losses(solved.objective, solved.mode),
        None,
        cautious=True,
    )
    assert n_steps > 0

    def true_losses(variance):
        alpha, losses = candidates.prior(variance), []
        for i in range(80):
            rest = np.arange(80) != i
            w = (
                NewtonSolver(tol=1e-10)
                .solve(Objective(with_intercept(X[rest]), labels[rest], alpha), np.zeros(11))
                .w
            )
            losses.append(np.logaddexp(0.0, -(2 * labels[i] - 1) * (X[i] @ w[:-1] + w[-1])))
        return np.array(losses)

    mine = true_losses(scale.variance)
    for factor in (0.01, 0.1, 10.0, 100.0):
        difference = mine - true_losses(scale.variance * factor)
        assert difference.sum() <= np.sqrt(80 * difference.var())


@pytest.mark.parametrize("map_solver", [exact, diagonal])
@pytest.mark.parametrize("size", [1, 7, 25, 30, 99])
def test_a_path_passes_through_the_size_asked_for(map_solver, size):
    X, y = classification(n=200, m=30, n_informative=3, seed=7)
    loop = EliminationLoop(map_solver, exponent=1.0, size=size)
    fit = loop.run(with_intercept(X), y.astype(float), flat(31), np.zeros(31))
    assert len(fit.w) - 1 == min(size, 30)
    assert fit.history[-2]["n_active"] == 1  # the path goes on to its end


@pytest.mark.parametrize("seed", range(5))
def test_elimination_on_noise_keeps_little_of_little_weight(seed):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(300, 20)), rng.integers(0, 2, size=300).astype(float)
    fit = EliminationLoop(exact, exponent=1.0).run(with_intercept(X), t, flat(21), np.zeros(21))
    assert len(fit.active) <= 11
    assert np.abs(X[:, fit.active[:-1]] @ fit.w[:-1]).mean() < 0.5


@pytest.mark.parametrize("n", [0, 1, 3, 7, 12])
def test_the_least_are_the_first_of_a_stable_sort(n):
    values = np.random.default_rng(n).integers(0, 4, 12).astype(float)
    values[[2, 5]] = np.inf
    expected = np.zeros(12, dtype=bool)
    expected[np.argsort(values, kind="stable")[:n]] = True
    np.testing.assert_array_equal(least(values, n), expected)


def test_elimination_without_columns_is_the_intercept():
    t = np.array([0.0, 0.0, 1.0])
    fit = EliminationLoop(exact, exponent=1.0).run(with_intercept(np.zeros((3, 2))), t, flat(1), np.zeros(1))
    assert fit.status is FitStatus.ALL_PRUNED
    assert fit.w[0] == pytest.approx(np.log(0.5))


def test_centred_energy_is_the_variance_and_spots_constant_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    X[:, 1] += 5.0
    X[:, 2] = 3.0
    weight = rng.random(50)
    energy, varying = centred_energy(with_intercept(X), weight, flat_intercept=True)
    mean = np.average(X, axis=0, weights=weight)
    desired = np.average((X - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(energy[:2], desired[:2], rtol=1e-10)
    np.testing.assert_array_equal(varying, [True, True, False, True, True])
    assert energy[2] == energy[4] == 0.0
    plain, _ = centred_energy(as_design(X)[0], weight, flat_intercept=False)
    np.testing.assert_allclose(plain, np.average(X**2, axis=0, weights=weight))


def test_leave_one_out_losses_equal_refits():
    problem = logistic(n=60, m=4, seed=9)
    problem.alpha[:] = 1.0
    objective = problem.objective()
    solver = NewtonSolver(tol=1e-12)
    approximate = leave_one_out_losses(objective, solver.solve(objective, np.zeros(4)))
    refitted = []
    for i in range(60):
        rest = np.arange(60) != i
        without = Objective(as_design(problem.X[rest])[0], problem.labels[rest], problem.alpha)
        w = solver.solve(without, np.zeros(4)).w
        refitted.append(link.log1pexp(-(2 * problem.labels[i] - 1) * (problem.X[i] @ w)))
    # One Newton step instead of a refit: good to a few percent of what leaving out changes.
    assert approximate.sum() == pytest.approx(np.sum(refitted), rel=5e-3)
    np.testing.assert_allclose(approximate, refitted, rtol=0.1, atol=5e-3)


@pytest.mark.parametrize("solver", [NewtonSolver(tol=1e-12), NewtonCGSolver(tol=1e-12)])
def test_leave_one_out_counts_a_weight_of_two_as_two_rows(solver):
    problem = logistic(n=40, m=4, seed=9)
    twice = np.repeat(np.arange(40), 2)
    weighted = Objective(as_design(problem.X)[0], problem.labels, problem.alpha, np.full(40, 2.0))
    repeated = Objective(as_design(problem.X[twice])[0], problem.labels[twice], problem.alpha)
    losses = leave_one_out_losses(weighted, solver.solve(weighted, np.zeros(4)))
    np.testing.assert_allclose(
        losses[twice], leave_one_out_losses(repeated, solver.solve(repeated, np.zeros(4))), rtol=1e-9
    )


def test_degrees_of_freedom_and_their_variance_against_full_matrices():
    problem = logistic(n=300, m=40, seed=9)
    problem.alpha[:] = np.geomspace(0.1, 30.0, 40)
    objective = problem.objective()
    mode = NewtonCGSolver(tol=1e-10).solve(objective, np.zeros(40))
    beta = objective.beta(mode.margins)
    G = problem.X.T @ np.diag(beta) @ problem.X
    dof = np.trace(np.linalg.solve(G + np.diag(problem.alpha), G))
    estimate = degrees_of_freedom(objective, mode)
    # Seven probes, each off by 1.4 / sqrt(30), and bounds that are 30% apart at most.
    assert estimate == pytest.approx(dof, rel=0.15)
    v = common_variance(objective, mode.margins, estimate)
    leverage = link.curvature(mode.margins) * v
    assert np.sum(leverage / (1.0 + leverage)) == pytest.approx(estimate, rel=1e-4)


@pytest.mark.parametrize(("total", "expected"), [(1e-6, 50), (40.0, 50), (400.0, 5), (1e6, 1)])
def test_the_number_of_probes_is_limited_whatever_the_unit_of_the_weights(total, expected, monkeypatch):
    problem = logistic(n=40, m=4, seed=9)
    objective = Objective(as_design(problem.X)[0], problem.labels, problem.alpha, np.full(40, total / 40))
    probes = []
    monkeypatch.setattr(leave_one_out, "probed_trace", lambda *arguments: probes.append(1) or 2.0)
    degrees_of_freedom(objective, NewtonCGSolver().solve(objective, np.zeros(4)))
    assert len(probes) == expected


def test_leave_one_out_by_probes_is_near_the_exact_one():
    problem = logistic(n=400, m=60, seed=2)
    problem.alpha[:] = 5.0
    objective = problem.objective()
    exact_losses = leave_one_out_losses(objective, NewtonSolver(tol=1e-10).solve(objective, np.zeros(60)))
    probed = leave_one_out_losses(objective, NewtonCGSolver(tol=1e-10).solve(objective, np.zeros(60)))
    # One variance for all samples, and a number of degrees of freedom that is known to some 15%.
    assert probed.sum() == pytest.approx(exact_losses.sum(), rel=0.05)


def test_what_ties_depends_on_the_error_of_the_difference():
    best = np.array([1.0, 1.0, 1.0, 1.0])
    certain = np.array([1.01, 1.01, 1.01, 1.011])  # worse by 0.041 with an error of about 0.001
    uncertain = np.array([1.1, 1.0, 1.0, 0.91])  # worse by 0.01 with an error of about 0.13
    np.testing.assert_array_equal(ties([certain, best, uncertain], None), [1, 2])


def test_evidence_is_laplace_s_where_the_hessian_is_diagonal():
    """On disjoint columns: -log of the integral over all weights, up to the Laplace approximation."""
    X = np.zeros((40, 2))
    X[np.arange(40), np.arange(40) % 2] = 1.0
    t = np.random.default_rng(0).integers(0, 2, size=40).astype(float)
    alpha = np.array([0.7, 3.0])
    objective = Objective(as_design(X)[0], t, alpha)
    mode = NewtonCGSolver(tol=1e-12).solve(objective, np.zeros(2))
    evidence = PathPoint(np.arange(2), 2, objective, mode).evidence
    grid = np.linspace(-8, 8, 40_001)
    log_integral = 0.0
    for k in range(2):
        rows = X[:, k] > 0
        log_posterior = -np.array([np.logaddexp(0, -(2 * t[rows] - 1) * w).sum() for w in grid])
        log_posterior += -0.5 * alpha[k] * grid**2 + 0.5 * np.log(alpha[k] / (2 * np.pi))
        log_integral += np.log(trapezoid(np.exp(log_posterior), grid))
    assert evidence == pytest.approx(log_integral, abs=0.05)
    exact_mode = NewtonSolver(tol=1e-12).solve(objective, np.zeros(2))
    exactly = PathPoint(np.arange(2), 2, objective, exact_mode).evidence
    assert exactly == pytest.approx(evidence, rel=1e-9)  # columns that do not overlap


def test_selections_choose_what_they_say():
    selection = LargestEvidence()
    for k, evidence in enumerate([-9.0, -5.0, -6.0]):
        assert selection.add(Passed(np.array([k]), np.ones(1), 5 - k, evidence, None)) == -evidence
    assert selection.choose()[0] == [1]
    smallest = LastOfAtLeast(3)
    for k in range(3):
        smallest.add(Passed(np.array([k]), np.ones(1), 5 - k, 0.0, None))
    assert smallest.choose()[0] == [2]


def test_a_path_can_be_ended_at_a_point_chosen_before():
    X, y = classification(n=150, m=20, seed=4)
    labels, alpha, w = y.astype(float), flat(21), np.zeros(21)
    seen = []

    def note(state):
        seen.append(state)
        return False

    EliminationLoop(exact, exponent=1.0).run(with_intercept(X), labels, alpha, w, callback=note)
    loop = EliminationLoop(exact, exponent=1.0, max_iter=5, take_last=True)
    fit = loop.run(with_intercept(X), labels, alpha, w)
    np.testing.assert_array_equal(np.sort(fit.active), np.sort(seen[4].columns))
    np.testing.assert_allclose(np.sort(fit.w), np.sort(seen[4].w), rtol=1e-6)


def with_copies(rng, n_rows=150, n_kinds=450, n_columns=900):
    """Sparse columns, each of some kind that may occur several times."""
    kinds = sp.random(n_rows, n_kinds, density=0.05, random_state=0, data_rvs=rng.standard_normal).tocsc()
    columns = np.concatenate([np.arange(n_kinds), rng.integers(0, n_kinds, n_columns - n_kinds)])
    return kinds[:, rng.permutation(columns)].tocsr()


def candidates_of(X, t):
    design = with_intercept(X)
    energy, varying = centred_energy(design, None, flat_intercept=True)
    assert varying.all()
    w, positions = np.zeros(len(energy)), np.arange(len(energy))
    gradient = Objective(design, t, w).gradient_at_zero()
    return Candidates(design, energy, 0.5, w, gradient, positions)


def test_the_mode_with_one_of_each_kind_is_that_of_all_columns(rng):
    """Against scikit-learn with all columns, each in the unit of its prior."""
    X = with_copies(rng)
    t = (X[:, :30] @ rng.standard_normal(30) + rng.logistic(size=150) > 0.0).astype(float)
    everything = candidates_of(X, t)
    data = Data(t, None, lambda n_active, stage: NewtonCGSolver(1e-10))
    copies = find_copies(everything)
    assert copies is not None
    columns = X.toarray()[:, everything.design.columns[:-1]]
    assert len(copies.distinct.w) == np.unique(columns, axis=1).shape[1] + 1
    solved = copies.solve(data, 5.0, "model")
    root = np.sqrt(everything.prior(5.0)[:-1])
    rival = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12).fit(columns / root, t)
    assert_allclose(solved.mode.w[:-1] * root, rival.coef_[0], atol=1e-7)
    assert_allclose(solved.mode.w[-1:], rival.intercept_, atol=1e-7)
    # What is said of that mode is what all columns would say.
    whole = data.solve(everything, 5.0, "model")
    assert_allclose(solved.mode.value, whole.mode.value, rtol=1e-10)
    assert_allclose(
        solved.mode.curvature.inverse_diagonal(), whole.mode.curvature.inverse_diagonal(), rtol=1e-6
    )
    assert_allclose(copies.distinct.spread, everything.spread, rtol=1e-12)


def test_a_few_copies_are_left_alone(rng):
    X = with_copies(rng, n_kinds=800)
    assert find_copies(candidates_of(X, rng.integers(0, 2, 150).astype(float))) is None


def test_columns_of_one_projection_are_not_yet_copies(rng, monkeypatch):
    """Here every second column has the projection of its neighbour, for rounding's sake."""
    X = with_copies(rng, n_kinds=900)
    everything = candidates_of(X, rng.integers(0, 2, 150).astype(float))
    true_product, n_calls = type(everything.design).rmatvec, iter(range(9))

    def rmatvec(design, r):
        product = true_product(design, r)
        return np.repeat(product[::2], 2)[: len(product)] if next(n_calls) == 0 else product

    monkeypatch.setattr(type(everything.design), "rmatvec", rmatvec)
    copies = find_copies(everything)
    assert copies is not None
    assert (copies.distinct.count == 1.0).all()
    assert np.array_equal(copies.group, np.arange(len(everything.w)))


@pytest.mark.parametrize("size", [None, 200])
def test_a_path_of_copies_is_the_path_without_looking_for_them(size, rng, monkeypatch):
    X = with_copies(rng, n_rows=300, n_kinds=500)
    t = (X[:, :20] @ (3.0 * rng.standard_normal(20)) + rng.logistic(size=300) > 0.0).astype(float)

    def fit():
        def tight(n_active, stage):
            return NewtonCGSolver(1e-10) if n_active > 100 else NewtonSolver(1e-10)

        loop = EliminationLoop(tight, 0.5, size=size)
        return loop.run(with_intercept(X), t, flat(901), np.zeros(901))

    found = fit()
    monkeypatch.setattr(EliminationLoop, "_copies", lambda *args: None)
    expected = fit()
    assert np.array_equal(found.active, expected.active)
    assert_allclose(found.w, expected.w, atol=1e-6)
    assert found.history[0]["prior_variance"] == pytest.approx(expected.history[0]["prior_variance"])
