"""What a solver knows of the posterior's covariance at the mode."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from sparsebayes._typing import AnyArray, Matrix, Vector


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

    def solve(self, right: Vector) -> Vector:
        """Sigma times a vector."""
        return np.asarray(lapack.dpotrs(self._upper, right)[0])

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
        return _whitened(self._upper, columns)

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


class RowSpaceCurvature:
    """Sigma exactly, for many more columns than rows: factors of matrices that have the order of the rows.

    With W = X^T diag(beta)^1/2, an M x N matrix, the Hessian is A + W W^T. Let V be A^-1/2 W in the columns
    with a prior, F the rows of W for the columns without one, and C = I + V^T V. Then (Woodbury) ::

        (A + W W^T)^-1 = A^-1/2 (I - V C^-1 V^T) A^-1/2

    where all columns have a prior; F C^-1 F^T is the Schur complement of the columns that have none.
    """

    def __init__(self, weighted: Matrix, alpha: Vector) -> None:
        """``weighted`` is W, which is overwritten."""
        self._flat = np.flatnonzero(alpha == 0.0)
        self._proper = np.flatnonzero(alpha > 0.0)
        flat_rows = weighted[self._flat]
        self._root = np.sqrt(alpha[self._proper])
        self._scaled = weighted if not len(self._flat) else weighted[self._proper]
        self._scaled /= self._root[:, None]
        inner = self._scaled.T @ self._scaled
        np.einsum("ii->i", inner)[:] += 1.0
        self._inner = cholesky(inner)
        if len(self._flat):
            self._border = _whitened(self._inner, flat_rows.T)  # C^-1/2 F^T
            self._outer = cholesky(self._border.T @ self._border)

    def solve(self, right: Vector) -> Vector:
        """Sigma times a vector."""
        out = np.empty_like(right)
        scaled = right[self._proper] / self._root
        inside = _whitened(self._inner, self._scaled.T @ scaled)
        if len(self._flat):
            rest = right[self._flat] - self._border.T @ inside
            out[self._flat] = lapack.dpotrs(self._outer, rest)[0]
            inside = inside + self._border @ out[self._flat]
        back = lapack.dtrtrs(self._inner, inside)[0]
        out[self._proper] = (scaled - self._scaled @ back) / self._root
        return out

    def inverse_diagonal(self) -> Vector:
        out = np.empty(len(self._proper) + len(self._flat))
        inside = _whitened(self._inner, self._scaled.T)
        share = 1.0 - np.square(inside).sum(axis=0)
        if len(self._flat):
            out[self._flat] = CholeskyCurvature(self._outer).inverse_diagonal()
            share += np.square(_whitened(self._outer, self._border.T @ inside)).sum(axis=0)
        # Of a weight that the data determine well, all but nothing is left of 1: never less.
        out[self._proper] = np.maximum(share, np.finfo(np.float64).tiny) / np.square(self._root)
        return out


# Added to the diagonal, relative to its mean, when rounding leaves a matrix indefinite.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


def cholesky(hessian: Matrix) -> Matrix:
    """The upper factor; a Hessian that is indefinite by rounding gets a little more diagonal."""
    for jitter in JITTERS:
        raised = hessian.copy(order="F")
        if jitter:
            np.einsum("ii->i", raised)[:] += jitter * np.diagonal(hessian).mean()
        upper, failed = lapack.dpotrf(raised, overwrite_a=1)
        if not failed:
            return np.asarray(upper)
    raise ValueError(
        "The Hessian of the log posterior is not positive definite: columns of X are collinear "
        "or differ by many orders of magnitude. Standardise them, or drop all but one of those alike."
    )


def _whitened(upper: Matrix, columns: AnyArray) -> AnyArray:
    """U^-T c for each column c."""
    return np.asarray(lapack.dtrtrs(upper, columns, trans=1)[0]) if len(upper) else columns
