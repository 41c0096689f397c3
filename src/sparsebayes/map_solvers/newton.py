"""Newton's method with the full Hessian: the classical MAP stage of SBL, RVM and SBELM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebayes._typing import RowValues, Vector
from sparsebayes.curvature import CholeskyCurvature, RowSpaceCurvature, cholesky
from sparsebayes.map_solvers.base import MapResult, MapStatus, norm, start
from sparsebayes.map_solvers.linesearch import strong_wolfe
from sparsebayes.objective import Objective

# So many times more columns than rows are worth the detour over the rows.
WIDE = 2


@dataclass(frozen=True, slots=True)
class NewtonSolver:
    """w <- w - eta H^-1 grad with H of eq. 7, factored by Cholesky; M x M memory, O(M^3) work.

    With ``by_rows``, a design of more than twice as many columns as rows is solved in the space of its rows,
    to the same result: M x N memory, O(M N^2) work.

    The curvature is that at the returned mode, not that of the last step. ``tol`` is relative to
    the gradient at w = 0, so that it means the same for any units of X and any weights.
    """

    tol: float = 1e-8
    max_iter: int = 100
    by_rows: bool = False

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"gram", "rmatmat"} if self.by_rows else {"gram"})

    def held(self, n_rows: int, n_columns: int) -> tuple[int, int]:
        return n_columns, n_rows if self._goes_by_rows(n_rows, n_columns) else n_columns

    def solve(self, objective: Objective, w0: Vector) -> MapResult:
        point, gradient, target = start(objective, w0, self.tol)
        try:
            curvature = self._curvature(objective, point.margins)
        except ValueError:
            if not point.w.any():
                raise
            # Better than nothing, but so far out that every sample is saturated: begin with nothing.
            point, gradient, target = start(objective, np.zeros_like(w0), self.tol)
            curvature = self._curvature(objective, point.margins)
        status = MapStatus.MAX_ITER
        m = 0
        while norm(gradient) > target and m < self.max_iter:
            p = -curvature.solve(gradient)
            ray = objective.along(point, p, float(gradient @ p))
            trial = strong_wolfe(ray, first=1.0).trial
            if trial.eta == 0.0:
                status = MapStatus.STALLED
                break
            point, gradient = ray.step(trial)
            curvature = self._curvature(objective, point.margins)
            m += 1
        gradient_norm = norm(gradient)
        if gradient_norm <= target:
            status = MapStatus.CONVERGED
        return MapResult(point.w, point.margins, point.value, gradient_norm, curvature, m, status)

    def _goes_by_rows(self, n_rows: int, n_columns: int) -> bool:
        return self.by_rows and n_columns > WIDE * n_rows

    def _curvature(self, objective: Objective, margins: RowValues) -> CholeskyCurvature | RowSpaceCurvature:
        if not self._goes_by_rows(*objective.design.shape):
            return CholeskyCurvature(cholesky(objective.hess(margins)))
        root = np.diag(np.sqrt(np.asarray(objective.beta(margins))))
        return RowSpaceCurvature(objective.design.rmatmat(root), objective.alpha)
