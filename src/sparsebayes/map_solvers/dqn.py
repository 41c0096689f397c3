"""Algorithm 1: the diagonal quasi-Newton method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsebayes._typing import Vector
from sparsebayes.curvature import DiagonalCurvature
from sparsebayes.map_solvers.base import MapResult, MapStatus, safe_root
from sparsebayes.map_solvers.linesearch import strong_wolfe
from sparsebayes.objective import Objective, Trial, add_multiple, cache_blocks, weighted_square


@dataclass(frozen=True, slots=True)
class DQNSolver:
    """Algorithm 1 of the paper, numbered as in its box.

    B is a diagonal matrix that stands for the inverse Hessian; ``inverse_b`` is its elementwise
    inverse, on which eq. 14 is a sum. The stop is on the gradient of the penalised L.
    A step costs one product with X (X p, shared by all trials of the line search) and one with
    X^T; everything else is O(M + N).

    Step 4 divides p by its length. Here that is done to the step instead, eta / ||p|| for eta,
    which is the same and spares a sweep over all weights.
    """

    tol: float = 1e-1  # epsilon
    max_iter: int = 100  # MaxIts_qn
    needs: frozenset[str] = frozenset()

    def held(self, n_rows: int, n_columns: int) -> tuple[int, int]:
        return 0, 0

    def solve(self, objective: Objective, w0: Vector) -> MapResult:
        point = objective.at(w0.copy())
        gradient = objective.grad(point)
        status = MapStatus.MAX_ITER
        m, eta = 0, 1.0  # 1
        inverse_b = np.ones_like(w0)  # 2: B_0 = I
        p, next_gradient = np.empty_like(w0), np.empty_like(w0)
        descent = descend(cache_blocks(len(p)), objective.alpha, inverse_b, gradient, p)
        while descent.gradient_norm > self.tol and m < self.max_iter:
            ray = objective.along(point, p, descent.slope, descent.prior_curvature)
            trial = strong_wolfe(ray, first=eta / descent.length).trial  # 4, 5
            if trial.eta == 0.0:
                status = MapStatus.STALLED
                break
            eta = trial.eta * descent.length  # where the next search begins
            blocks = ray.sweep(trial, point.w, next_gradient)  # 6, 7, 8
            secant = Secant.between(descent, trial, gradient)
            descent = descend(  # 9, and 3 of the next
                blocks, objective.alpha, inverse_b, next_gradient, p, secant
            )
            point = trial.point  # its weights are the same array, moved by the sweep
            gradient, next_gradient = next_gradient, gradient
            m += 1  # 10
        if descent.gradient_norm <= self.tol:
            status = MapStatus.CONVERGED
        return MapResult(  # 12
            point.w,
            point.margins,
            point.value,
            descent.gradient_norm,
            DiagonalCurvature(inverse_b),
            m,
            status,
        )


class Descent(NamedTuple):
    """The scalars of a direction p = -B grad."""

    gradient_norm: float
    length: float  # of p
    slope: float  # grad . p
    prior_curvature: float  # sum alpha p^2


class Secant(NamedTuple):
    """Eq. 14 but for the gradient at the new point.

    With p = -before / h and delta = eta p: gamma . delta is eta times the change of slope, and
    (h delta)^2 / (delta . h delta) is before^2 / -slope. Both are known before any sum is made.
    """

    before: Vector
    gamma_delta: float
    minus_slope: float

    @classmethod
    def between(cls, descent: Descent, trial: Trial, before: Vector) -> Secant:
        return cls(before, trial.eta * (trial.slope - descent.slope), -descent.slope)

    @property
    def positive(self) -> bool:
        """The Wolfe conditions give this; a failed search or rounding may not."""
        return self.gamma_delta > 0.0 and self.minus_slope > 0.0


def descend(
    blocks: Iterable[slice],
    alpha: Vector,
    inverse_b: Vector,
    gradient: Vector,
    p: Vector,
    secant: Secant | None = None,
) -> Descent:
    """Step 3, p <- -B grad, block by block; before it step 9, where a secant is given.

    All that a step does with M-vectors happens in one sweep over ``blocks``: on millions of
    weights it is the memory traffic that costs.
    """
    squares = lengths = slope = prior_curvature = 0.0
    for k in blocks:
        if secant is not None and secant.positive:
            update_inverse_diagonal(inverse_b, gradient, secant, k)
        np.divide(gradient[k], inverse_b[k], out=p[k])
        np.negative(p[k], out=p[k])
        squares += float(gradient[k] @ gradient[k])
        lengths += float(p[k] @ p[k])
        slope += float(gradient[k] @ p[k])
        prior_curvature += weighted_square(alpha[k], p[k])
    gradient_norm, length = safe_root(squares, gradient), safe_root(lengths, p)
    return Descent(gradient_norm, length, slope, prior_curvature)


def update_inverse_diagonal(inverse_b: Vector, after: Vector, secant: Secant, k: slice) -> None:
    """Eq. 14 in place, for block ``k``: the diagonal of the BFGS formula (13) for diagonal H = 1/B::

        h <- h + gamma^2 / (gamma . delta) - (h delta)^2 / (delta . h delta)

    with gamma = after - before. It stays positive while gamma . delta > 0; an entry that
    rounding leaves without a sign keeps its old value.
    """
    h, before = inverse_b[k], secant.before[k]
    gained = after[k] - before
    gained *= gained
    lost = before * before
    add_multiple(h, 1.0 / secant.gamma_delta, gained)
    add_multiple(h, -1.0 / secant.minus_slope, lost)
    if h.min() <= 0.0:
        wrong = h <= 0.0
        h[wrong] += lost[wrong] / secant.minus_slope - gained[wrong] / secant.gamma_delta
