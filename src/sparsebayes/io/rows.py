"""Rows on their way into a store: checked, and cut and joined in whichever storage they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._checks import check_finite, check_structure
from sparsebayes._typing import AnyArray, Vector
from sparsebayes.io.labels import Codes

WHO = "BlockStore"


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows as a store keeps them. Dense rows have two-dimensional data and no indices."""

    data: AnyArray
    indices: AnyArray | None
    indptr: AnyArray | None
    codes: Codes
    weight: Vector | None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def entries(self) -> int:
        return int(self.data.size)

    def fitting(self, start: int, entries: int) -> int:
        """How many rows from ``start`` on have no more entries than that."""
        if self.indptr is None:
            return entries // max(int(self.data.shape[1]), 1)
        return int(np.searchsorted(self.indptr, int(self.indptr[start]) + entries, side="right")) - 1 - start

    def cut(self, start: int, stop: int) -> StoredRows:
        weight = None if self.weight is None else self.weight[start:stop]
        if self.indptr is None or self.indices is None:
            return StoredRows(self.data[start:stop], None, None, self.codes[start:stop], weight)
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        indptr = self.indptr[start : stop + 1] - first
        return StoredRows(
            self.data[first:last], self.indices[first:last], indptr, self.codes[start:stop], weight
        )

    def copied(self) -> StoredRows:
        weight = None if self.weight is None else self.weight.copy()
        indices = None if self.indices is None else self.indices.copy()
        indptr = None if self.indptr is None else self.indptr.copy()
        return StoredRows(self.data.copy(), indices, indptr, self.codes.copy(), weight)


def joined(parts: Sequence[StoredRows]) -> StoredRows:
    """Parts of the same storage as one."""
    if len(parts) == 1:
        return parts[0]
    codes = np.concatenate([part.codes for part in parts])
    weights = [part.weight for part in parts if part.weight is not None]
    weight = np.concatenate(weights) if weights else None
    data = np.concatenate([part.data for part in parts])
    if parts[0].indices is None:
        return StoredRows(data, None, None, codes, weight)
    indices = np.concatenate([part.indices for part in parts if part.indices is not None])
    starts = np.cumsum([0, *(part.entries for part in parts)])
    indptrs = [
        part.indptr[1:] + start for part, start in zip(parts, starts, strict=False) if part.indptr is not None
    ]
    return StoredRows(data, indices, np.concatenate([[0], *indptrs]), codes, weight)


def feature_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns, if all are strings."""
    names = list(getattr(X, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def checked_matrix(X: Any, dtype: str | None, storage: str | None, first_row: int) -> Any:
    """X as a finite array, or as a CSR matrix in canonical form; what is given is left as it is."""
    check_structure(X, WHO)
    matrix: Any = sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(
            f"{WHO} expects a two-dimensional X, a row a sample. Got an array of shape {matrix.shape}."
        )
    if matrix.dtype.kind not in "fiubO":
        raise ValueError(f"{WHO} expects an X of real numbers. Got dtype {matrix.dtype} instead.")
    wanted = np.dtype(dtype or ("<f4" if matrix.dtype == np.float32 else "<f8"))
    check_finite_numbers(matrix, first_row)
    with np.errstate(over="ignore", under="ignore"):
        matrix = matrix.astype(wanted, copy=False)
    check_finite(matrix, f"{WHO} (as {wanted.name})", first_row)
    if sp.issparse(matrix):
        matrix = _canonical(matrix, X)
    if storage == "dense" and sp.issparse(matrix):
        return matrix.toarray()
    return sp.csr_matrix(matrix) if storage == "csr" and not sp.issparse(matrix) else matrix


def check_finite_numbers(matrix: Any, first_row: int) -> None:
    if matrix.dtype.kind == "f":
        check_finite(matrix, WHO, first_row)


def _canonical(matrix: Any, given: Any) -> Any:
    """Indices sorted and each once, in a copy if the arrays are the caller's."""
    if matrix.has_canonical_format:
        return matrix
    if np.shares_memory(matrix.indices, getattr(given, "indices", matrix.indices)):
        matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix


def checked_weight(sample_weight: Any, rows: int, first_row: int) -> Vector:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight should have {rows} entries. Got an array of shape {weight.shape}.")
    wrong = ~np.isfinite(weight) | (weight < 0.0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"sample_weight must be finite and at least 0: row {first_row + row} has {weight[row]}."
        )
    return weight


def stored(matrix: Any, codes: Codes, weight: Vector | None) -> StoredRows:
    if len(codes) != matrix.shape[0]:
        raise ValueError(f"X has {matrix.shape[0]} rows, y has {len(codes)} labels.")
    if sp.issparse(matrix):
        return StoredRows(matrix.data, matrix.indices, matrix.indptr, codes, weight)
    return StoredRows(matrix, None, None, codes, weight)
