"""A design over a scipy sparse matrix: CSC blocks, columns sorted by frequency."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, Vector
from sparsebayes.design.dense import row_slices
from sparsebayes.design.threads import Threads

# Nonzeros of a column block: enough that a Python call per block costs nothing, few enough that
# widening or squaring one block at a time needs little memory. The cut depends on the matrix
# alone, never on the number of threads, so that sums come out in the same bits with any number.
BLOCK_NONZEROS = 1 << 20


class SparseDesign:
    """X in CSC, most frequent column first.

    The order matters for speed alone: neighbouring columns of equal length let the processor
    predict the inner loop (measured by ``benchmarks/passes``). A block is a run of columns,
    ``data``, ``indices`` and ``indptr`` of all blocks being views of the same three arrays.
    """

    def __init__(self, matrix: Any, columns: IntVector, threads: Threads) -> None:
        self._data: AnyArray = matrix.data
        self._indices: AnyArray = matrix.indices
        self._indptr: AnyArray = matrix.indptr
        self.shape: tuple[int, int] = matrix.shape
        self.columns = columns
        self._threads = threads

    @classmethod
    def from_matrix(cls, matrix: Any, threads: Threads) -> SparseDesign:
        """Any scipy format; the caller's arrays are left as they are."""
        canonical = _canonical(matrix)
        n_rows, n_columns = canonical.shape
        if canonical.format == "csr":
            counts = np.bincount(canonical.indices, minlength=n_columns)
        else:
            counts = np.diff(canonical.indptr)
        order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        if canonical.format == "csr":
            # Renumbering before the conversion costs one array of indices; after it, a copy.
            rank = np.zeros(n_columns, dtype=canonical.indices.dtype)
            rank[order] = np.arange(len(order))
            arrays = (canonical.data, rank[canonical.indices], canonical.indptr)
            sorted_columns = sp.csr_array(arrays, shape=(n_rows, len(order))).tocsc()
        else:
            sorted_columns = canonical[:, order]
        return cls(sorted_columns, order, threads)

    @cached_property
    def _runs(self) -> list[slice]:
        """Runs of columns holding about ``BLOCK_NONZEROS`` entries (or as many as rows) each."""
        n_rows, n_columns = self.shape
        target = max(BLOCK_NONZEROS, 8 * n_rows)
        total = int(self._indptr[-1])
        marks = np.arange(target, total, target)
        cuts = [0, *np.unique(np.searchsorted(self._indptr, marks)).tolist(), n_columns]
        return [slice(a, b) for a, b in pairwise(cuts) if a < b]

    @cached_property
    def _blocks(self) -> list[Any]:
        return [self._view(run, sp.csc_array) for run in self._runs]

    @cached_property
    def _transposed(self) -> list[Any]:
        return [self._view(run, sp.csr_array) for run in self._runs]

    def _view(self, run: slice, storage: Any) -> Any:
        """A run of columns as CSC, or its transpose as CSR: the same three arrays.

        They are set as attributes because scipy's constructors copy small views of large arrays.
        """
        indptr = self._indptr[run.start : run.stop + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        shape = (self.shape[0], run.stop - run.start)
        block = storage(shape if storage is sp.csc_array else shape[::-1], dtype=self._data.dtype)
        block.data = self._data[entries]
        block.indices = self._indices[entries]
        block.indptr = (indptr - indptr[0]).astype(self._indices.dtype, copy=False)
        return block

    def matvec(self, w: Vector) -> Vector:
        parts = self._threads.map(lambda run, block: block @ w[run], self._runs, self._blocks)
        out = np.zeros(self.shape[0])
        for part in parts:
            out += part
        return out

    def rmatvec(self, r: Vector, out: Vector | None = None) -> Vector:
        target = np.empty(self.shape[1]) if out is None else out

        def fill(run: slice, block: Any) -> None:
            target[run] = block @ r

        self._threads.map(fill, self._runs, self._transposed)
        return target

    def sq_rmatvec(self, h: Vector) -> Vector:
        out = np.empty(self.shape[1])

        def fill(run: slice, block: Any) -> None:
            squared = np.square(block.data, dtype=np.float64)
            out[run] = sp.csr_array((squared, block.indices, block.indptr), block.shape) @ h

        self._threads.map(fill, self._runs, self._transposed)
        return out

    def gram(self, h: Vector) -> Matrix:
        matrix = self._as_csr()
        weighted = matrix.multiply(h[:, None]).tocsr()
        return np.asarray((matrix.T @ weighted).toarray())

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        matrix = self._as_csr()
        for rows in row_slices(self.shape):
            yield rows, matrix[rows].toarray()

    def _as_csr(self) -> Any:
        arrays = (self._data.astype(np.float64, copy=False), self._indices, self._indptr)
        return sp.csc_array(arrays, shape=self.shape).tocsr()

    def peak(self) -> Vector:
        starts = self._indptr[:-1]
        return np.maximum.reduceat(np.abs(self._data), starts).astype(np.float64)

    def shifted(self, exponent: AnyArray) -> SparseDesign:
        return self._with_data(np.ldexp(self._data, -np.repeat(exponent, np.diff(self._indptr))))

    def divided(self, divisor: Vector) -> SparseDesign:
        per_entry = np.repeat(divisor.astype(self._data.dtype), np.diff(self._indptr))
        return self._with_data(np.divide(self._data, per_entry, out=per_entry))

    def _with_data(self, data: AnyArray) -> SparseDesign:
        whole = sp.csc_array((data, self._indices, self._indptr), shape=self.shape)
        return SparseDesign(whole, self.columns, self._threads)

    def take(self, keep: Mask) -> SparseDesign:
        counts = np.diff(self._indptr)
        entries = np.repeat(keep, counts)
        indptr = np.zeros(np.count_nonzero(keep) + 1, dtype=self._indptr.dtype)
        np.cumsum(counts[keep], out=indptr[1:])
        arrays = (self._data[entries], self._indices[entries], indptr)
        matrix = sp.csc_array(arrays, shape=(self.shape[0], len(indptr) - 1))
        return SparseDesign(matrix, self.columns[keep], self._threads)


def _canonical(matrix: Any) -> Any:
    """CSR or CSC with sorted, distinct, nonzero entries; a copy only where that takes one."""
    compressed = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
    array = sp.csr_array if compressed.format == "csr" else sp.csc_array
    compressed = array(compressed)
    if not compressed.has_canonical_format or not compressed.data.all():
        compressed = compressed.copy()
        compressed.sum_duplicates()
        compressed.eliminate_zeros()
    return compressed
