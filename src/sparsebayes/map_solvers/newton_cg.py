"""Newton's method with conjugate gradients: O(nnz + M) work and memory, a diagonal posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebayes._typing import Vector
from sparsebayes.curvature import DiagonalCurvature
from sparsebayes.map_solvers.base import MapResult, MapStatus, norm, start
from sparsebayes.map_solvers.linesearch import strong_wolfe
from sparsebayes.objective import Objective, add_multiple, cache_blocks

MAX_CG_STEPS = 100


@dataclass(frozen=True, slots=True)
class NewtonCGSolver:
    """Truncated Newton steps, preconditioned by the exact diagonal of the Hessian.

    That diagonal, one pass more with the squared entries, is also the curvature: 1 / hess_diag is the
    diagonal of Sigma where columns do not overlap, and a lower bound of it everywhere.
    ``tol`` is relative to the gradient at w = 0, so that it means the same on any scale of X.
    """

    tol: float = 1e-4
    max_iter: int = 100
    min_iter: int = 0
    needs: frozenset[str] = frozenset({"sq_rmatvec"})

    def held(self, n_rows: int, n_columns: int) -> tuple[int, int]:
        return 0, 0

    def solve(self, objective: Objective, w0: Vector) -> MapResult:
        point, gradient, target = start(objective, w0, self.tol)
        gradient_norm = norm(gradient)
        status = MapStatus.MAX_ITER
        m = 0
        # Where the gradient vanishes at zero weights, there is nothing to do.
        least = self.min_iter if target > 0.0 else 0
        while (gradient_norm > target or m < least) and m < self.max_iter:
            forcing = min(0.5, float(np.sqrt(gradient_norm / (target / self.tol))))
            # No more than is asked for.
            tol = max(forcing * gradient_norm, 0.5 * min(target, gradient_norm))
            diagonal = objective.hess_diag(point.margins)
            p = solve_hessian(objective, point.margins, diagonal, -gradient, within(tol))
            ray = objective.along(point, p, float(gradient @ p))
            trial = strong_wolfe(ray, first=1.0).trial
            if trial.eta == 0.0:
                status = MapStatus.STALLED
                break
            point, gradient = ray.step(trial)
            gradient_norm = norm(gradient)
            m += 1
        if gradient_norm <= target:
            status = MapStatus.CONVERGED
        curvature = DiagonalCurvature(objective.hess_diag(point.margins))
        return MapResult(point.w, point.margins, point.value, gradient_norm, curvature, m, status)


def within(tol: float) -> Callable[[Vector, Vector], bool]:
    return lambda p, residual: norm(residual) <= tol


def solve_hessian(
    objective: Objective,
    margins: Vector,
    diagonal: Vector,
    right: Vector,
    enough: Callable[[Vector, Vector], bool],
) -> Vector:
    """H p = right by conjugate gradients, preconditioned by the ``diagonal`` of H, until p and its residual
    are good ``enough``.
    """
    p = np.zeros_like(right)
    residual = right.copy()
    z = residual / diagonal
    direction = z.copy()
    rho = float(residual @ z)
    product = np.empty_like(right)
    for _ in range(MAX_CG_STEPS):
        objective.hess_vec(margins, direction, product)
        curvature = float(direction @ product)
        if not rho > 0.0 or not curvature > 0.0:  # solved, to the last bit
            break
        step = rho / curvature
        before, rho = rho, 0.0
        for k in cache_blocks(len(p)):
            add_multiple(p[k], step, direction[k])
            add_multiple(residual[k], -step, product[k])
            np.divide(residual[k], diagonal[k], out=z[k])
            rho += float(residual[k] @ z[k])
        if enough(p, residual):
            break
        for k in cache_blocks(len(p)):
            direction[k] *= rho / before
            direction[k] += z[k]
    return p
