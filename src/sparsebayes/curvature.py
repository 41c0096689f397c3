"""What a solver knows of the posterior's covariance at the mode."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from sparsebayes._typing import Matrix, Vector


class Curvature(Protocol):
    """The diagonal of Sigma (eq. 7), exact or approximate, in the order of the design's columns."""

    def inverse_diagonal(self) -> Vector: ...


class DiagonalCurvature:
    """Sigma approximated by the inverse of a diagonal: the paper's B, or 1 / hess_diag."""

    def __init__(self, hessian_diagonal: Vector) -> None:
        self._hessian_diagonal = hessian_diagonal

    def inverse_diagonal(self) -> Vector:
        return 1.0 / self._hessian_diagonal


class CholeskyCurvature:
    """Sigma exactly, from a Cholesky factor of the Hessian: H = U^T U."""

    def __init__(self, upper: Matrix) -> None:
        self._upper = upper

    def inverse_diagonal(self) -> Vector:
        # Sigma = U^-1 U^-T, so its diagonal is the row sums of the squared entries of U^-1.
        if not len(self._upper):
            return np.empty(0)
        inverse, _ = lapack.dtrtri(self._upper)
        return np.asarray(np.square(np.triu(inverse)).sum(axis=1))

    def log_determinant(self) -> float:
        """Of the Hessian."""
        return 2.0 * float(np.log(np.diagonal(self._upper)).sum())

    def whitened(self, columns: Matrix) -> Matrix:
        """U^-T c for each column c, so that squares of lengths are c^T Sigma c."""
        if not len(self._upper):
            return columns
        out, _ = lapack.dtrtrs(self._upper, columns, trans=1)
        return np.asarray(out)

    def covariance(self) -> Matrix:
        """Sigma itself."""
        if not len(self._upper):
            return np.empty((0, 0))
        upper_half, _ = lapack.dpotri(self._upper)
        return np.asarray(np.triu(upper_half) + np.triu(upper_half, 1).T)

    def variance(self, rows: Matrix) -> Vector:
        """x^T Sigma x for each row x: the posterior variance of its margin."""
        if not len(self._upper):
            return np.zeros(len(rows))
        return np.asarray(np.square(self.whitened(rows.T)).sum(axis=0))
