"""The three solvers against scikit-learn, their curvatures against mpmath and the literal formulas."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebayes.curvature import CholeskyCurvature
from sparsebayes.design import Meter, Metered, as_design
from sparsebayes.map_solvers import DQNSolver, MapStatus, NewtonCGSolver, NewtonSolver, admit
from sparsebayes.map_solvers.base import norm
from sparsebayes.map_solvers.dqn import Secant, update_inverse_diagonal
from sparsebayes.objective import Objective
from tests.contracts.map_solver import MapSolverContract
from tests.problems import logistic


class TestNewton(MapSolverContract):
    solver = NewtonSolver(tol=1e-13)

    def check_counts(self, counts, n_steps):
        super().check_counts(counts, n_steps)
        assert counts["gram"] == n_steps + 1


class TestNewtonCG(MapSolverContract):
    solver = NewtonCGSolver(tol=1e-12)

    def check_counts(self, counts, n_steps):
        # One more pair of products for each step of the conjugate gradients.
        assert counts["matvec"] > n_steps
        assert counts["rmatvec"] == counts["matvec"] + 1
        assert counts["sq_rmatvec"] == n_steps + 1


class TestDQN(MapSolverContract):
    solver = DQNSolver(tol=1e-6, max_iter=20_000)
    tolerance = 1e-5


def test_the_paper_s_limit_is_kept():
    objective = logistic(n=200, m=30).objective()
    result = DQNSolver(tol=1e-9, max_iter=5).solve(objective, np.zeros(30))
    assert result.n_steps == 5
    assert result.status is MapStatus.MAX_ITER


def bfgs(H, delta, gamma):
    """Eq. 13, literally."""
    return H + np.outer(gamma, gamma) / (gamma @ delta) - H @ np.outer(delta, delta) @ H / (delta @ H @ delta)


@given(seed=st.integers(0, 10_000), m=st.integers(1, 30), eta=st.floats(1e-3, 1e3))
def test_update_is_the_diagonal_of_the_literal_bfgs_formula(seed, m, eta):
    rng = np.random.default_rng(seed)
    h = 10.0 ** rng.uniform(-3, 3, size=m)
    before = rng.normal(size=m)
    p = -before / h
    # A gradient after the step whose change has a positive product with it.
    gamma = eta * p * 10.0 ** rng.uniform(-2, 2, size=m)
    after = before + gamma
    gamma = after - before  # as rounded
    updated = h.copy()
    secant = Secant(before, gamma @ (eta * p), -(before @ p))
    update_inverse_diagonal(updated, after, secant, slice(None))
    desired = np.diag(bfgs(np.diag(h), eta * p, gamma))
    # Rounding is relative to the terms, which may cancel.
    np.testing.assert_allclose(updated, desired, rtol=1e-12, atol=1e-13 * np.abs(h).max())
    assert (updated > 0.0).all()


def test_dqn_curvature_is_what_the_literal_recursion_gives():
    """Algorithm 1 run by hand with full matrices from the iterates it visits."""
    objective = logistic(n=60, m=5, seed=1).objective()
    solvers = [DQNSolver(tol=1e-12, max_iter=steps) for steps in range(8)]
    iterates = [solver.solve(objective, np.zeros(5)).w for solver in solvers]
    h = np.ones(5)
    gradients = [objective.grad(objective.at(w)) for w in iterates]
    for (w, g), (w_next, g_next) in zip(
        zip(iterates, gradients, strict=True), zip(iterates[1:], gradients[1:], strict=True), strict=False
    ):
        direction = w_next - w
        expected = -g / h
        # Step 3: each step is along -B grad.
        np.testing.assert_allclose(
            direction / np.linalg.norm(direction), expected / np.linalg.norm(expected), rtol=1e-6
        )
        h = np.diag(bfgs(np.diag(h), direction, g_next - g))
    result = DQNSolver(tol=1e-12, max_iter=7).solve(objective, np.zeros(5))
    np.testing.assert_allclose(result.curvature.inverse_diagonal(), 1.0 / h, rtol=1e-6)


def test_newton_posterior_diagonal_equals_mpmath():
    problem = logistic(n=40, m=7, seed=2, weighted=True)
    objective = problem.objective()
    result = NewtonSolver(tol=1e-13).solve(objective, np.zeros(7))
    with mpmath.workdps(50):
        X = mpmath.matrix(problem.X.tolist())
        w = mpmath.matrix(result.w.tolist())
        margins = X * w
        y = [1 / (1 + mpmath.exp(-z)) for z in margins]
        beta = mpmath.diag([s * p * (1 - p) for s, p in zip(problem.weight, y, strict=True)])
        sigma = (X.T * beta * X + mpmath.diag(problem.alpha.tolist())) ** -1
        exact = np.array([float(sigma[k, k]) for k in range(7)])
        rows = problem.X[:4]
        variances = [
            float((mpmath.matrix(row.tolist()).T * sigma * mpmath.matrix(row.tolist()))[0]) for row in rows
        ]
    np.testing.assert_allclose(result.curvature.inverse_diagonal(), exact, rtol=1e-8)
    np.testing.assert_allclose(result.curvature.variance(rows), variances, rtol=1e-10)


def disjoint():
    """Columns that never meet in a row: the Hessian is diagonal."""
    X = np.zeros((60, 4))
    X[np.arange(60), np.arange(60) % 4] = np.random.default_rng(0).normal(size=60)
    labels = np.random.default_rng(1).integers(0, 2, size=60).astype(float)
    return Objective(as_design(X)[0], labels, np.full(4, 0.5))


def test_exact_and_diagonal_curvature_coincide_on_disjoint_columns():
    objective = disjoint()
    exact = NewtonSolver(tol=1e-13).solve(objective, np.zeros(4))
    diagonal = NewtonCGSolver(tol=1e-13).solve(objective, np.zeros(4))
    np.testing.assert_allclose(
        diagonal.curvature.inverse_diagonal(), exact.curvature.inverse_diagonal(), rtol=1e-9
    )
    np.testing.assert_allclose(
        exact.curvature.inverse_diagonal(), 1.0 / objective.hess_diag(exact.margins), rtol=1e-12
    )


def test_the_diagonal_is_a_lower_bound_of_the_exact_one():
    objective = logistic(n=60, m=10, seed=5).objective()
    exact = NewtonSolver(tol=1e-12).solve(objective, np.zeros(10)).curvature.inverse_diagonal()
    diagonal = NewtonCGSolver(tol=1e-12).solve(objective, np.zeros(10)).curvature.inverse_diagonal()
    assert (diagonal <= exact * (1 + 1e-9)).all()


def test_separable_data_with_a_tiny_prior_stay_finite():
    X = np.linspace(-1, 1, 20)[:, None]
    labels = (X[:, 0] > 0).astype(float)
    for solver in (NewtonSolver(), NewtonCGSolver(), DQNSolver(tol=1e-4, max_iter=1000)):
        result = solver.solve(Objective(as_design(X)[0], labels, np.array([1e-8])), np.zeros(1))
        assert result.status is MapStatus.CONVERGED
        assert 0.0 < result.w[0] < 1e6


def test_admission_names_both_sides():
    class Poor:
        shape = (3, 3)

    with pytest.raises(ValueError, match="NewtonSolver needs gram, which Poor does not offer"):
        admit(NewtonSolver(), Poor())


def test_admission_refuses_what_does_not_fit_in_memory():
    class Wide:
        shape = (3, 1_000_000)
        gram = None

        rmatmat = None

    with pytest.raises(ValueError, match=r"1000000 x 1000000 \(8e\+03 GB\)"):
        admit(NewtonSolver(), Wide())
    admit(DQNSolver(), Wide())
    admit(NewtonSolver(by_rows=True), Wide())
    Wide.shape = (1000, 1_000_000)
    with pytest.raises(ValueError, match=r"1000000 x 1000 \(8 GB\)"):
        admit(NewtonSolver(by_rows=True), Wide())


@pytest.mark.parametrize("n_flat", [0, 1, 3])
def test_in_the_space_of_rows_newton_is_the_same(n_flat):
    rng = np.random.default_rng(n_flat)
    X, labels = rng.standard_normal((20, 90)), rng.permutation(np.arange(20) % 2).astype(float)
    alpha = 10.0 ** rng.uniform(-5, 3, 90)
    alpha[rng.permutation(90)[:n_flat]] = 0.0
    design, meter = as_design(X)[0], Meter()
    whole = NewtonSolver(1e-11).solve(Objective(design, labels, alpha), np.zeros(90))
    wide = NewtonSolver(1e-11, by_rows=True)
    by_rows = wide.solve(Objective(Metered(design, meter), labels, alpha), np.zeros(90))
    assert meter.counts["rmatmat"] == by_rows.n_steps + 1
    assert meter.counts["gram"] == 0
    np.testing.assert_allclose(by_rows.w, whole.w, rtol=1e-9, atol=1e-12)
    hessian = Objective(design, labels, alpha).hess(by_rows.margins)
    np.testing.assert_allclose(
        by_rows.curvature.inverse_diagonal(), np.diag(np.linalg.inv(hessian)), rtol=1e-9
    )
    right = rng.standard_normal(90)
    np.testing.assert_allclose(hessian @ by_rows.curvature.solve(right), right, rtol=1e-9, atol=1e-9)


def test_few_columns_are_not_taken_by_rows():
    X, labels = np.random.default_rng(0).standard_normal((20, 40)), np.arange(20) % 2.0
    objective = Objective(as_design(X)[0], labels, np.ones(40))
    assert isinstance(NewtonSolver(by_rows=True).solve(objective, np.zeros(40)).curvature, CholeskyCurvature)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_norm_at_any_scale(scale):
    assert norm(scale * np.array([3.0, 4.0])) == pytest.approx(5.0 * scale, rel=1e-15)
    assert norm(np.zeros(2)) == 0.0
