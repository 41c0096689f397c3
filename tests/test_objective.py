"""The negative log posterior against the literal formula and its differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problems import logistic

CASES = pytest.mark.parametrize(
    ("weighted", "sparse"), [(False, False), (True, False), (False, True), (True, True)]
)


def literal_value(problem, w):
    """Eq. 1 with 2 and 4, negated; complex arithmetic passes through."""
    margins = problem.X @ w
    likelihoods = np.log(1 + np.exp(-(2 * problem.labels - 1) * margins))
    weight = 1.0 if problem.weight is None else problem.weight
    return np.sum(weight * likelihoods) + 0.5 * np.sum(problem.alpha * w**2)


def setting(weighted, sparse):
    problem = logistic(weighted=weighted, seed=3)
    objective = problem.objective(sparse)
    w = np.random.default_rng(4).normal(size=problem.X.shape[1])
    order = objective.design.columns
    return problem, objective, w, order


@CASES
def test_value(weighted, sparse):
    problem, objective, w, order = setting(weighted, sparse)
    assert objective.at(w[order]).value == pytest.approx(literal_value(problem, w), rel=1e-13)


@CASES
def test_gradient_by_complex_steps(weighted, sparse):
    problem, objective, w, order = setting(weighted, sparse)
    steps = [literal_value(problem, w + 1e-30j * unit).imag / 1e-30 for unit in np.eye(len(w))]
    gradient = objective.grad(objective.at(w[order]))
    np.testing.assert_allclose(gradient, np.array(steps)[order], rtol=1e-12)


@CASES
def test_hessian_by_differences_of_the_gradient(weighted, sparse):
    _, objective, w, order = setting(weighted, sparse)
    w = w[order]
    h = 1e-5
    differences = np.array(
        [
            (objective.grad(objective.at(w + h * unit)) - objective.grad(objective.at(w - h * unit)))
            / (2 * h)
            for unit in np.eye(len(w))
        ]
    )
    point = objective.at(w)
    np.testing.assert_allclose(objective.hess(point.margins), differences, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(objective.hess_diag(point.margins), np.diag(differences), rtol=1e-7)
    v = np.random.default_rng(5).normal(size=len(w))
    np.testing.assert_allclose(objective.hess_vec(point.margins, v), differences @ v, rtol=1e-6)


@CASES
def test_ray_is_the_objective_along_a_line(weighted, sparse):
    problem, objective, w, order = setting(weighted, sparse)
    p = np.random.default_rng(6).normal(size=len(w))
    point = objective.at(w[order])
    slope = float(objective.grad(point) @ p[order])
    ray = objective.along(point, p[order], slope)
    for eta in (0.0, 0.3, 2.0):
        trial = ray.at(eta)
        assert trial.value == pytest.approx(literal_value(problem, w + eta * p), rel=1e-12)
        derivative = literal_value(problem, w + (eta + 1e-30j) * p).imag / 1e-30
        assert trial.slope == pytest.approx(derivative, rel=1e-10)
        there, gradient = ray.step(trial)
        np.testing.assert_allclose(there.w, (w + eta * p)[order], rtol=1e-14)
        np.testing.assert_allclose(gradient, objective.grad(objective.at(there.w)), rtol=1e-10)
        assert there.value == pytest.approx(objective.at(there.w).value, rel=1e-13)
    np.testing.assert_array_equal(point.w, w[order])
