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
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri
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
        self._weight = np.clip(labels.weight, *BOUNDS_OF_WEIGHT)
        signs = 2.0 * labels.positive[:, self._columns] / labels.weight[:, None] - 1.0
        self._targets = (signs - self._mean) / self._deviation
        # Occurrences of a row differ from their mean by noise alone.
        within = (1.0 - np.square(signs)) / np.square(self._deviation)
        self._squares_within = float((self._weight @ within).sum())
        self._n_more = len(self._columns) * float(self._weight.sum() - len(self._weight))

    @property
    def has_labels(self) -> bool:
        return len(self._columns) > 0

    def cost(self, K: Matrix, log_amplitude: float, log_noise: float) -> float:
        """The negative logarithm of the evidence, but for a constant."""
        return self._cost(self._factor(K, np.exp(log_amplitude), np.exp(log_noise)), np.exp(log_noise))[0]

    def cost_and_gradient(
        self, K: Matrix, log_amplitude: float, log_noise: float
    ) -> tuple[float, Matrix, float, float]:
        """Also its derivatives in logarithms: of each entry of K, taken as free, of a, and of the noise."""
        amplitude, noise = np.exp(log_amplitude), np.exp(log_noise)
        factor = self._factor(K, amplitude, noise)
        cost, solved = self._cost(factor, noise)
        inverse, _ = dpotri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        in_K = 0.5 * (len(self._columns) * inverse - solved @ solved.T)  # of the covariance, so far
        diagonal = in_K.diagonal().copy()
        in_K *= K
        in_K *= amplitude
        in_amplitude = float(in_K.sum() + RIDGE * amplitude * diagonal.sum())
        in_noise = float(noise * (diagonal / self._weight).sum())
        in_noise += 0.5 * (self._n_more - self._squares_within / noise)
        return cost, in_K, in_amplitude, in_noise

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
        covariance = amplitude * K
        covariance[np.diag_indices_from(covariance)] += noise / self._weight + RIDGE * amplitude
        return np.asarray(cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)[0])

    def _cost(self, factor: Matrix, noise: float) -> tuple[float, Matrix]:
        solved = cho_solve((factor, True), self._targets, check_finite=False)
        log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
        value = float((self._targets * solved).sum()) + len(self._columns) * log_determinant
        value += self._n_more * float(np.log(noise)) + self._squares_within / noise
        return 0.5 * value, solved


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


def one_width(process: LabelProcess, exponents: Matrix) -> Widths:
    """K = exp(-e exponents)."""
    exponents = np.minimum(exponents, FAR)

    def kernel(width: float) -> Matrix:
        return decay(-np.exp(width) * exponents)

    def cost(theta: Vector) -> tuple[float, Vector]:
        value, in_K, *others = process.cost_and_gradient(kernel(theta[0]), *theta[1:])
        return value, np.array([-np.exp(theta[0]) * float((in_K * exponents).sum()), *others])

    first = min(STARTS, key=lambda width: process.cost(kernel(width), START, START))
    return _least(cost, np.array([first, START, START]), EVALUATIONS_OF_ONE)


def width_of_each(process: LabelProcess, Z: Matrix, start: Widths) -> Widths:
    """K = exp(-sum_f e_f (z_if - z_jf)^2), from one width or from a width each."""
    squares = np.square(Z)

    def cost(theta: Vector) -> tuple[float, Vector]:
        e = np.exp(theta[:-2])
        value, in_K, *others = process.cost_and_gradient(gaussian(Z, Z, theta[:-2]), *theta[-2:])
        in_K[np.diag_indices_from(in_K)] = 0.0  # a row is where it is
        differences = squares.T @ in_K.sum(axis=1) - np.einsum("if,if->f", Z, in_K @ Z)
        return value, np.concatenate([-2.0 * e * differences, others])

    widths = np.broadcast_to(start.widths, Z.shape[1])
    return _least(cost, np.concatenate([widths, [start.amplitude, start.noise]]), EVALUATIONS_OF_EACH)


def gaussian(A: Matrix, B: Matrix, widths: Vector) -> Matrix:
    """exp(-sum_f e_f (a_f - b_f)^2)."""
    factors = np.exp(0.5 * widths)
    return decay(-sq_distances(A * factors, B * factors))


def _least(cost: Callable[[Vector], tuple[float, Vector]], start: Vector, n_evaluations: int) -> Widths:
    bounds = [*[BOUNDS_OF_WIDTH] * (len(start) - 2), BOUNDS_OF_AMPLITUDE, BOUNDS_OF_NOISE]
    options = {"maxfun": n_evaluations, "maxiter": n_evaluations, "ftol": LEAST_STEP}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return Widths(found.x[:-2], float(found.x[-2]), float(found.x[-1]), float(found.fun))
