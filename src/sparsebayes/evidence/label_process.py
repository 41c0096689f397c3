"""A Gaussian process on the labels: how fast they change with the features, learned by its evidence.

The labels of a few hundred rows are taken for numbers of unit variance, a smooth function plus noise::

    t ~ N(0, a K + diag(noise / weight)),     K_ij = exp(-sum_f e_f (x_if - x_jf)^2)

The evidence of that model is exact, and costs one Cholesky factorisation with its gradient in log e, log a
and log noise. It knows neither the logistic likelihood nor sparsity, and is not the classifier; it finds the
classifier's widths, one for all features or one for each, before there is any vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize
from scipy.special import log_ndtr

from sparsebayes._typing import IntVector, Matrix, Vector
from sparsebayes.kernels import decay, sq_distances

# Of the labels' variance, 1: what is at least noise. One label in twenty turned round is 0.19. With less,
# the process passes through every label of data that can be separated, and its widths are narrow for that.
LEAST_NOISE = 0.2
BOUNDS_OF_NOISE = (float(np.log(LEAST_NOISE)), 6.0)
BOUNDS_OF_AMPLITUDE = (-6.0, 6.0)
# Logarithms, in units of the inverse of the median of the exponents. A feature that does not matter has no
# best width: the evidence rises for ever, by nothing, as e falls.
BOUNDS_OF_WIDTH = (-25.0, 9.0)
# One width is sought from the best of these: the evidence of fine structure has more than one maximum.
STARTS = tuple(np.log(4.0) * np.arange(-1, 4))
START = float(np.log(0.5))  # of the logarithms of amplitude and noise
# Evaluations of the evidence, and the share of it that a step must bring: beyond, widths change, and no
# longer what they are worth.
EVALUATIONS_OF_ONE = 20
EVALUATIONS_OF_EACH = 40
LEAST_STEP = 1e-4
ROUGH_STEP = 1e-3  # where widths are compared and then found anew
FAR = 1e100  # of distances, the squares of which are to stay in range
# Of the amplitude, on the diagonal, against rounding; and what a row may count, for the same reason.
RIDGE = 1e-8
BOUNDS_OF_WEIGHT = (1e-8, 1e8)


@dataclass(frozen=True, slots=True)
class Labels:
    """Of distinct rows, each with one or more occurrences: a column for each class, or one for two."""

    positive: Matrix  # the weight of a row's occurrences in the class
    weight: Vector  # of all its occurrences

    def __post_init__(self) -> None:
        assert np.all(self.weight > 0.0)

    def take(self, rows: slice | IntVector) -> Labels:
        return Labels(self.positive[rows], self.weight[rows])

    @property
    def share(self) -> Vector:
        return np.asarray(self.positive.sum(axis=0) / self.weight.sum())


class LabelProcess:
    """The process at some rows, whose distances are not known to it.

    Labels are 1 and -1, less their mean, over their standard deviation. Columns in which there is one label
    only have nothing to say.
    """

    def __init__(self, labels: Labels) -> None:
        share = labels.share
        self._columns = np.flatnonzero((share > 0.0) & (share < 1.0))
        share = share[self._columns]
        self._mean = 2.0 * share - 1.0
        self._deviation = 2.0 * np.sqrt(share * (1.0 - share))
        self.weight = np.clip(labels.weight, *BOUNDS_OF_WEIGHT)
        signs = 2.0 * labels.positive[:, self._columns] / labels.weight[:, None] - 1.0
        self._targets = (signs - self._mean) / self._deviation
        # Occurrences of a row differ from their mean by noise alone.
        within = (1.0 - np.square(signs)) / np.square(self._deviation)
        self._squares_within = float((self.weight @ within).sum())
        self._n_more = len(self._columns) * float(self.weight.sum() - len(self.weight))

    @property
    def has_labels(self) -> bool:
        return len(self._columns) > 0

    def cost(self, K: Matrix, log_amplitude: float, log_noise: float) -> float:
        """The negative logarithm of the evidence, but for a constant."""
        return self._cost(self._factor(K, np.exp(log_amplitude), np.exp(log_noise)), np.exp(log_noise))[0]

    def cost_and_gradient(
        self, K: Matrix, log_amplitude: float, log_noise: float
    ) -> tuple[float, KernelGradient, float, float]:
        """Also its derivatives: in the entries of K, and in the logarithms of a and of the noise."""
        amplitude, noise = np.exp(log_amplitude), np.exp(log_noise)
        factor = self._factor(K, amplitude, noise)
        cost, solved = self._cost(factor, noise)
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        in_diagonal = 0.5 * (len(self._columns) * inverse.diagonal() - np.square(solved).sum(axis=1))
        in_noise = noise * float((in_diagonal / self.weight).sum())
        # The covariance is in proportion to a but for the noise: together they scale all of it.
        in_all = 0.5 * (len(self._columns) * len(K) - float((self._targets * solved).sum()))
        in_amplitude = in_all - in_noise
        in_noise += 0.5 * (self._n_more - self._squares_within / noise)
        return cost, KernelGradient(inverse, solved, amplitude), in_amplitude, in_noise

    def losses(
        self, K: Matrix, cross: Matrix, log_amplitude: float, log_noise: float, labels: Labels
    ) -> Vector:
        """Mean log losses at other rows, whose kernel with those of the process is ``cross``.

        The probability of a label is that of the process, noise included, being on its side of zero.
        """
        amplitude, noise = np.exp(log_amplitude), np.exp(log_noise)
        factor = self._factor(K, amplitude, noise)
        means = amplitude * cross @ cho_solve((factor, True), self._targets)
        whitened = solve_triangular(factor, amplitude * cross.T, lower=True)
        variances = amplitude + noise - np.square(whitened).sum(axis=0)
        scaled = (means + self._mean / self._deviation) / np.sqrt(np.maximum(variances, noise))[:, None]
        positive = labels.positive[:, self._columns] / labels.weight[:, None]
        return -np.asarray((positive * log_ndtr(scaled) + (1.0 - positive) * log_ndtr(-scaled)).sum(axis=1))

    def _factor(self, K: Matrix, amplitude: float, noise: float) -> Matrix:
        """Lower, with zeros above; K is symmetric, so that its order in memory does not matter."""
        covariance = amplitude * K
        np.einsum("ii->i", covariance)[:] += noise / self.weight + RIDGE * amplitude
        factor, failed = dpotrf(covariance.T, lower=1, overwrite_a=1)
        if failed:
            raise LinAlgError("The covariance of the labels is not positive definite.")
        return np.asarray(factor)

    def _cost(self, factor: Matrix, noise: float) -> tuple[float, Matrix]:
        solved = cho_solve((factor, True), self._targets, check_finite=False)
        log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
        value = float((self._targets * solved).sum()) + len(self._columns) * log_determinant
        value += self._n_more * float(np.log(noise)) + self._squares_within / noise
        return 0.5 * value, solved


@dataclass(frozen=True, slots=True)
class KernelGradient:
    """Derivatives of the cost in the entries of K, taken as free::

        G = a/2 (m C^-1 - C^-1 T T^T C^-1)

    where C is the covariance and T has the m columns of targets.
    """

    inverse: Matrix  # of C, its lower triangle; zeros above
    solved: Matrix  # C^-1 T
    amplitude: float

    def along(self, change: Matrix) -> float:
        """sum_ij G_ij D_ij for a symmetric matrix D with zeros on its diagonal."""
        trace = 2.0 * float(np.vdot(self.inverse.T, change))
        explained = float((self.solved * (change @ self.solved)).sum())
        return float(0.5 * self.amplitude * (self.solved.shape[1] * trace - explained))

    def times(self, factors: Matrix) -> Matrix:
        """G * F, entry by entry, for a symmetric F with zeros on its diagonal."""
        product = self.inverse + self.inverse.T  # but for its diagonal
        product *= self.solved.shape[1]
        product -= self.solved @ self.solved.T
        product *= factors
        product *= 0.5 * self.amplitude
        return product


@dataclass(frozen=True, slots=True)
class Widths:
    """Where the evidence is largest: logarithms of the width or widths, the amplitude and the noise."""

    widths: Vector
    amplitude: float
    noise: float
    cost: float

    def wider(self, log_factor: float) -> Widths:
        """For exponents that are larger by a factor."""
        return replace(self, widths=self.widths - log_factor)


def one_width(process: LabelProcess, exponents: Matrix, least_step: float = LEAST_STEP) -> Widths:
    """K = exp(-e exponents)."""
    exponents = np.minimum(exponents, FAR)

    def kernel(width: float) -> Matrix:
        return decay(-np.exp(width) * exponents)

    def cost(theta: Vector) -> tuple[float, Vector]:
        K = kernel(theta[0])
        value, in_K, *others = process.cost_and_gradient(K, *theta[1:])
        K *= exponents
        return value, np.array([-np.exp(theta[0]) * in_K.along(K), *others])

    first = min(STARTS, key=lambda width: process.cost(kernel(width), START, START))
    return _least(cost, np.array([first, START, START]), EVALUATIONS_OF_ONE, least_step)


def width_of_each(
    process: LabelProcess,
    Z: Matrix,
    start: Widths,
    n_evaluations: int = EVALUATIONS_OF_EACH,
    least_step: float = LEAST_STEP,
) -> Widths:
    """K = exp(-sum_f e_f (z_if - z_jf)^2), from one width or from a width each."""
    with np.errstate(over="ignore"):
        squares = np.minimum(np.square(Z), FAR)

    def cost(theta: Vector) -> tuple[float, Vector]:
        K = gaussian(Z, Z, theta[:-2])
        value, in_K, *others = process.cost_and_gradient(K, *theta[-2:])
        np.einsum("ii->i", K)[:] = 0.0  # a row is where it is
        products = in_K.times(K)
        differences = squares.T @ products.sum(axis=1) - np.einsum("if,if->f", Z, products @ Z)
        return value, np.concatenate([-2.0 * np.exp(theta[:-2]) * differences, others])

    widths = np.broadcast_to(start.widths, Z.shape[1])
    theta = np.concatenate([widths, [start.amplitude, start.noise]])
    return _least(cost, theta, n_evaluations, least_step)


def gaussian(A: Matrix, B: Matrix, widths: Vector) -> Matrix:
    """exp(-sum_f e_f (a_f - b_f)^2)."""
    factors = np.exp(0.5 * widths)
    return decay(-sq_distances(A * factors, B * factors))


def _least(
    cost: Callable[[Vector], tuple[float, Vector]], start: Vector, n_evaluations: int, least_step: float
) -> Widths:
    bounds = [*[BOUNDS_OF_WIDTH] * (len(start) - 2), BOUNDS_OF_AMPLITUDE, BOUNDS_OF_NOISE]
    options = {"maxfun": n_evaluations, "maxiter": n_evaluations, "ftol": least_step}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return Widths(found.x[:-2], float(found.x[-2]), float(found.x[-1]), float(found.fun))
