"""The Gaussian posterior of the kept weights, and probabilities that take it into account."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebayes._typing import Matrix, RowValues, Vector
from sparsebayes.curvature import CholeskyCurvature, cholesky
from sparsebayes.design import ColumnScale, Design
from sparsebayes.objective import Objective

# Above this many weights the covariance is taken as diagonal: 8 MB a problem, if it is kept.
EXACT_UP_TO = 1000


@dataclass(frozen=True, slots=True)
class Posterior:
    """The covariance of the weights of a design with the kept columns, the intercept last where there is one.

    The margin of a row x has the variance of the combination ((x - centre) * unit, 1) of these weights; a
    coefficient is its weight times the unit.
    """

    centre: Vector
    unit: Vector
    covariance: Matrix | Vector  # a vector: the diagonal of a matrix taken as diagonal
    has_intercept: bool

    @property
    def std(self) -> Vector:
        """Standard deviations of the coefficients, the intercept apart."""
        diagonal = self.covariance if self.covariance.ndim == 1 else np.diagonal(self.covariance)
        return np.sqrt(diagonal[: len(self.centre)]) * self.unit

    def variance(self, rows: Matrix) -> Vector:
        """Of the margins of rows, given by their values in the kept columns."""
        combination = (rows - self.centre) * self.unit
        if self.has_intercept:
            combination = np.hstack([combination, np.ones((len(rows), 1))])
        if self.covariance.ndim == 1:
            return np.asarray(np.square(combination) @ self.covariance)
        return np.asarray(np.einsum("ij,ij->i", combination @ self.covariance, combination))


def laplace(
    design: Design, w: Vector, alpha: Vector, labels: RowValues, weight: RowValues | None, scale: ColumnScale
) -> Posterior:
    """Eq. 7 at ``w``: exact for few weights, by the Hessian's diagonal for many."""
    objective = Objective(design, labels, alpha, weight)
    margins = design.matvec(w)
    covariance: Matrix | Vector
    if len(w) <= EXACT_UP_TO:
        try:
            covariance = CholeskyCurvature(cholesky(objective.hess(margins))).covariance()
        except ValueError:  # indefinite by rounding: columns that differ by little else
            covariance = 1.0 / objective.hess_diag(margins)
    else:
        covariance = 1.0 / objective.hess_diag(margins)
    n_functions = len(scale.exponent)
    order = np.argsort(design.columns)  # the intercept, one past the last function, comes last
    columns = design.columns[order]
    has_intercept = bool(len(columns) and columns[-1] == n_functions)
    kept = columns[columns < n_functions]
    covariance = covariance[order] if covariance.ndim == 1 else covariance[np.ix_(order, order)]
    unit = scale.coefficients(np.ones(len(kept)), kept)
    return Posterior(scale.offset[kept], unit, covariance, has_intercept)


def moderated(margins: Vector, variance: Vector) -> Vector:
    """The margin whose probability is about the mean over the posterior (MacKay 1992).

    The integral of the sigmoid over N(z, s^2) is near sigmoid(z / sqrt(1 + pi s^2 / 8)).
    """
    return margins / np.sqrt(1.0 + (np.pi / 8.0) * variance)
