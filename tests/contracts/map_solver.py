"""What every MAP solver must do: subclass and give ``solver``."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sparsebayes.map_solvers import MapStatus
from sparsebayes.objective import Objective
from tests.problems import CountingDesign, logistic


class MapSolverContract:
    """``solver`` runs to a tight tolerance; ``tolerance`` is on the weights."""

    solver = None
    tolerance = 1e-8

    @pytest.mark.parametrize("sparse", [False, True])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_equals_scikit_learn_at_fixed_alpha(self, weighted, sparse, seed):
        # A precision alpha_k on w_k is a precision of 1 on the column divided by sqrt(alpha_k).
        problem = logistic(n=120, m=8, seed=seed, weighted=weighted)
        rescaled = problem.X / np.sqrt(problem.alpha)
        reference = LogisticRegression(
            C=1.0, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
        ).fit(rescaled, problem.labels, sample_weight=problem.weight)
        desired = reference.coef_[0] / np.sqrt(problem.alpha)
        objective = problem.objective(sparse)
        result = self.solver.solve(objective, np.zeros(8))
        assert result.status is MapStatus.CONVERGED
        order = objective.design.columns
        np.testing.assert_allclose(result.w, desired[order], rtol=self.tolerance, atol=self.tolerance)

    def test_result_is_consistent(self):
        objective = logistic(n=120, m=8, weighted=True).objective()
        result = self.solver.solve(objective, np.zeros(8))
        point = objective.at(result.w)
        np.testing.assert_allclose(result.margins, point.margins, rtol=1e-9, atol=1e-9)
        assert result.value == pytest.approx(point.value, rel=1e-12)
        gradient_norm = np.linalg.norm(objective.grad(point))
        assert result.gradient_norm == pytest.approx(gradient_norm, rel=1e-3, abs=1e-9)

    def test_start_is_left_alone_and_does_not_matter(self):
        objective = logistic(n=120, m=8).objective()
        start = np.full(8, 0.5)
        result = self.solver.solve(objective, start)
        np.testing.assert_array_equal(start, 0.5)
        reference = self.solver.solve(objective, np.zeros(8))
        np.testing.assert_allclose(result.w, reference.w, rtol=1e-4, atol=1e-5)

    def test_starting_at_the_solution_takes_no_step(self):
        objective = logistic(n=120, m=8).objective()
        solution = self.solver.solve(objective, np.zeros(8))
        again = self.solver.solve(objective, solution.w)
        assert again.n_steps == 0
        assert again.status is MapStatus.CONVERGED

    def test_one_product_each_way_per_step(self):
        problem = logistic(n=120, m=8)
        plain = problem.objective()
        design = CountingDesign(plain.design)
        result = self.solver.solve(Objective(design, problem.labels, plain.alpha), np.zeros(8))
        self.check_counts(design.counts, result.n_steps)

    def check_counts(self, counts, n_steps):
        assert counts["matvec"] == n_steps
        assert counts["rmatvec"] == n_steps + 1
