"""Newton's method with the full Hessian: the classical MAP stage of SBL, RVM and SBELM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from sparsebayes._typing import Matrix, Vector
from sparsebayes.curvature import CholeskyCurvature
from sparsebayes.map_solvers.base import MapResult, MapStatus, norm, start
from sparsebayes.map_solvers.linesearch import strong_wolfe
from sparsebayes.objective import Objective

# Added to the diagonal, relative to its mean, when rounding leaves the Hessian indefinite.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


@dataclass(frozen=True, slots=True)
class NewtonSolver:
    """w <- w - eta H^-1 grad with H of eq. 7, factored by Cholesky; M x M memory, O(M^3) work.

    The curvature is that at the returned mode, not that of the last step. ``tol`` is relative to
    the gradient at w = 0, so that it means the same for any units of X and any weights.
    """

    tol: float = 1e-8
    max_iter: int = 100
    needs: frozenset[str] = frozenset({"gram"})
    max_columns: int | None = 20_000  # 3.2 GB a matrix

    def solve(self, objective: Objective, w0: Vector) -> MapResult:
        point, gradient, target = start(objective, w0, self.tol)
        try:
            upper = cholesky(objective.hess(point.margins))
        except ValueError:
            if not point.w.any():
                raise
            # Better than nothing, but so far out that every sample is saturated: begin with nothing.
            point, gradient, target = start(objective, np.zeros_like(w0), self.tol)
            upper = cholesky(objective.hess(point.margins))
        status = MapStatus.MAX_ITER
        m = 0
        while norm(gradient) > target and m < self.max_iter:
            p = -lapack.dpotrs(upper, gradient)[0]
            ray = objective.along(point, p, float(gradient @ p))
            trial = strong_wolfe(ray, first=1.0).trial
            if trial.eta == 0.0:
                status = MapStatus.STALLED
                break
            point, gradient = ray.step(trial)
            upper = cholesky(objective.hess(point.margins))
            m += 1
        gradient_norm = norm(gradient)
        if gradient_norm <= target:
            status = MapStatus.CONVERGED
        curvature = CholeskyCurvature(upper)
        return MapResult(point.w, point.margins, point.value, gradient_norm, curvature, m, status)


def cholesky(hessian: Matrix) -> Matrix:
    """The upper factor; a Hessian that is indefinite by rounding gets a little more diagonal."""
    n = len(hessian)
    mean = float(np.trace(hessian)) / max(n, 1)
    for jitter in JITTERS:
        raised = hessian.copy(order="F")
        raised[range(n), range(n)] += jitter * mean
        upper, failed = lapack.dpotrf(raised, overwrite_a=1)
        if not failed:
            return np.asarray(upper)
    raise ValueError(
        "The Hessian of the log posterior is not positive definite: columns of X are collinear "
        "or differ by many orders of magnitude. Standardise them, or drop all but one of those alike."
    )
