"""The negative log posterior of the weights at fixed alpha.

With margins ``z = X w``, labels ``t`` in {0, 1}, sample weights ``s`` and precisions ``alpha``::

    L(w)      = sum_i s_i l(z_i, t_i) + 1/2 sum_k alpha_k w_k^2     (eq. 1 with 2 and 4, negated)
    grad L    = X^T r + alpha * w,      r_i    = s_i (y_i - t_i)
    Hessian   = X^T diag(beta) X + A,   beta_i = s_i y_i (1 - y_i)  (the inverse of eq. 7)

A sum over samples, not a mean. ``alpha_k = 0`` is a flat prior. Margins travel with the weights, so
a trial along a direction costs O(N): the matrix is touched once for ``X p`` and once for each
new gradient. Where rows are in blocks, what has an entry a row stays with them, and a trial brings back
three numbers a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas

from sparsebayes import link
from sparsebayes._typing import Matrix, RowValues, Vector
from sparsebayes.design import Design, RowVector, rowwise, rowwise_with_totals

# Moves of a RowVector of margins after which they are made anew. A worker's part of them can be made again
# only while the scheduler knows all that went into it: a direction as long as the weights for every move.
MOVES = 8


@dataclass(frozen=True, slots=True)
class Point:
    """Weights with what the matrix said about them."""

    w: Vector
    margins: RowValues
    residual: RowValues
    loss: float
    penalty: float
    n_moves: int = 0  # since the margins were a product with X

    @property
    def value(self) -> float:
        return self.loss + self.penalty


@dataclass(frozen=True, slots=True)
class Trial:
    """One step length on a ray: value and slope of L there."""

    eta: float
    value: float
    slope: float
    point: Point  # its w is that of the ray's origin


class Ray:
    """L along ``w + eta p``; a trial costs O(N), the penalty being a parabola in eta."""

    def __init__(
        self, objective: Objective, origin: Point, p: Vector, slope: float, prior_curvature: float
    ) -> None:
        self._objective = objective
        self._origin = origin
        self._p = p
        self._change = objective.design.matvec(p)
        self._slope = slope
        self._prior_curvature = prior_curvature
        self.start = Trial(0.0, origin.value, slope, origin)

    def at(self, eta: float) -> Trial:
        origin, objective = self._origin, self._objective
        margins, residual, (loss, loss_slope, first_slope) = rowwise_with_totals(
            _moved, 2, origin.margins, self._change, eta, origin.residual, objective.sign, objective.weight
        )
        # The penalty's slope at 0 is sum alpha w p; the loss's part of the slope is known.
        prior_slope = self._slope - float(first_slope)
        slope = float(loss_slope) + prior_slope + eta * self._prior_curvature
        rise = eta * (prior_slope + 0.5 * eta * self._prior_curvature)
        n_moves = origin.n_moves + 1
        point = Point(origin.w, margins, residual, float(loss), origin.penalty + rise, n_moves)
        return Trial(eta, point.value, slope, point)

    def step(self, trial: Trial) -> tuple[Point, Vector]:
        """The point of a trial, its weights moved too, and the gradient there: one X^T r."""
        w, gradient = self._origin.w.copy(), np.empty_like(self._p)
        for _ in self.sweep(trial, w, gradient):
            pass
        return replace(trial.point, w=w), gradient

    def sweep(self, trial: Trial, w: Vector, gradient: Vector) -> Iterator[slice]:
        """:meth:`step` in place, ``w`` being the origin's weights, a block at a time.

        Yields each block when it is done, for a caller who has more to do with it while it is
        still in cache.
        """
        alpha, p = self._objective.alpha, self._p
        self._objective.design.rmatvec(trial.point.residual, gradient)
        for k in cache_blocks(len(w)):
            add_multiple(w[k], trial.eta, p[k])
            gradient[k] += alpha[k] * w[k]
            yield k


class Objective:
    """L at one alpha, for one design."""

    def __init__(
        self,
        design: Design,
        labels: RowValues,
        alpha: Vector,
        weight: RowValues | None = None,
        gradient_at_zero: Vector | None = None,
    ) -> None:
        """``gradient_at_zero`` spares a pass where it is known: no alpha comes into it."""
        self.design = design
        self._gradient_at_zero = gradient_at_zero
        self.sign = 2.0 * labels - 1.0
        self.alpha = alpha
        self.weight = weight

    def at(self, w: Vector) -> Point:
        """One product with X (none where w = 0)."""
        margins = self.design.matvec(w) if w.any() else rowwise(np.zeros_like, self.sign)
        residual, (loss,) = rowwise_with_totals(_judged, 1, margins, self.sign, self.weight)
        return Point(w, margins, residual, float(loss), 0.5 * weighted_square(self.alpha, w))

    def along(self, point: Point, p: Vector, slope: float, prior_curvature: float | None = None) -> Ray:
        """The ray from ``point`` in direction ``p``: one product with X.

        ``slope`` is grad L . p, ``prior_curvature`` is sum alpha p^2 where the caller knows it.
        """
        if prior_curvature is None:
            prior_curvature = weighted_square(self.alpha, p)
        if isinstance(point.margins, RowVector) and point.n_moves >= MOVES:
            margins = self.design.matvec(point.w)
            point = replace(point, margins=margins, residual=self.residual(margins), n_moves=0)
        return Ray(self, point, p, slope, prior_curvature)

    def grad(self, point: Point) -> Vector:
        """One product with X^T."""
        return self.design.rmatvec(point.residual) + self.alpha * point.w

    def gradient_at_zero(self) -> Vector:
        if self._gradient_at_zero is None:
            self._gradient_at_zero = self.grad(self.at(np.zeros(self.design.shape[1])))
        return self._gradient_at_zero

    def residual(self, margins: RowValues) -> RowValues:
        """r."""
        return rowwise(_residual, margins, self.sign, self.weight)

    def beta(self, margins: RowValues) -> RowValues:
        return rowwise(_beta, margins, self.weight)

    def hess_diag(self, margins: RowValues) -> Vector:
        return self.design.sq_rmatvec(self.beta(margins)) + self.alpha

    def hess_vec(self, margins: RowValues, v: Vector, out: Vector | None = None) -> Vector:
        product = rowwise(_curved, margins, self.weight, self.design.matvec(v))
        out = self.design.rmatvec(product, out)
        for k in cache_blocks(len(v)):
            out[k] += self.alpha[k] * v[k]
        return out

    def hess(self, margins: RowValues) -> Matrix:
        hessian = self.design.gram(self.beta(margins))
        np.einsum("ii->i", hessian)[:] += self.alpha
        return hessian


# What is done to rows, wherever they are.


def _judged(margins: Vector, sign: Vector, weight: Vector | None) -> tuple[Vector, Vector]:
    """r, and in an array the data's part of L."""
    losses, residual = link.loss_and_residual(margins, sign)
    if weight is None:
        return residual, np.array([losses.sum()])
    return residual * weight, np.array([losses @ weight])


def _residual(margins: Vector, sign: Vector, weight: Vector | None) -> Vector:
    return _judged(margins, sign, weight)[0]


def _moved(
    margins: Vector, change: Vector, eta: float, residual: Vector, sign: Vector, weight: Vector | None
) -> tuple[Vector, Vector, Vector]:
    """Margins and r at eta; the data's part of L there, of its slope there, and of its slope at 0."""
    margins = margins + eta * change
    after, loss = _judged(margins, sign, weight)
    return margins, after, np.array([loss[0], after @ change, residual @ change])


def _beta(margins: Vector, weight: Vector | None) -> Vector:
    beta = link.curvature(margins)
    return beta if weight is None else beta * weight


def _curved(margins: Vector, weight: Vector | None, product: Vector) -> Vector:
    return _beta(margins, weight) * product


def weighted_square(alpha: Vector, w: Vector) -> float:
    """sum alpha w^2."""
    return float((alpha * w) @ w)


def add_multiple(y: Vector, a: float, x: Vector) -> None:
    """y += a x in place; BLAS needs one sweep where numpy makes a temporary."""
    blas.daxpy(x, y, a=a)


def cache_blocks(n: int, size: int = 1 << 13) -> list[slice]:
    """Slices over n elements that keep a handful of arrays in cache.

    Elementwise work on millions of weights is bound by memory; done block by block, the
    temporaries of an expression never leave the cache.
    """
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
