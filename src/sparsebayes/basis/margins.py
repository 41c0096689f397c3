"""Weighted sums of basis functions at the rows of X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, Vector
from sparsebayes.basis.base import Basis
from sparsebayes.basis.identity import IdentityBasis
from sparsebayes.design import RowBlocks, row_slices


def margins(basis: Basis, coef: AnyArray, intercept: float | Vector, X: Any) -> Vector:
    """The basis's functions at the rows of X, times ``coef``, a vector or a column a problem."""
    if isinstance(X, RowBlocks):
        arguments = [[X.crew.shared(each)] * len(X.blocks) for each in (basis, coef, intercept)]
        return np.concatenate(list(X.crew.each(_margins_of_block, X.blocks, *arguments)))
    coef = coef.astype(np.float64, copy=False)
    if isinstance(basis, IdentityBasis) and basis.columns is not None and coef.ndim == 1 and sp.issparse(X):
        # Zeros for the other columns: taking these out of rows takes several times as long as a product.
        everywhere = np.zeros(basis.n_columns)
        everywhere[basis.columns] = coef
        basis, coef = IdentityBasis(basis.n_columns), everywhere
    out = np.empty((X.shape[0], *coef.shape[1:]))
    for rows, values in evaluated(basis, X):
        out[rows] = values @ coef
    return out + intercept


def _margins_of_block(X: Any, basis: Basis, coef: AnyArray, intercept: float | Vector) -> Vector:
    return margins(basis, coef, intercept, X)


def evaluated(basis: Basis, X: Any) -> Iterator[tuple[slice, Any]]:
    """The basis's functions at the rows of X in double precision: in blocks, where they are computed."""
    given = isinstance(basis, IdentityBasis)
    for rows in [slice(None)] if given else row_slices((X.shape[0], len(basis.numbers))):
        yield rows, basis.transform(X[rows]).astype(np.float64, copy=False)
