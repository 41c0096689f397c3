"""A design over a scipy sparse matrix: CSC blocks, columns sorted by frequency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, Vector
from sparsebayes.design.dense import row_slices
from sparsebayes.design.threads import Threads

# A product with CSC scatters into one number per row. Beyond this many rows they leave the cache,
# and rows are cut into tiles, unless columns would then have fewer entries in a tile than this.
TILE_ROWS = 1 << 16
MIN_ENTRIES_PER_COLUMN = 4
# Nonzeros of a block: enough that a Python call per block costs nothing, few enough that widening
# or squaring one block at a time needs little memory.
BLOCK_NONZEROS = 1 << 20
# Up to so many entries a tile is kept by rows too, once a Gram matrix has been asked of it: 48 MB.
KEPT_ENTRIES = 1 << 22


class SparseDesign:
    """X in CSC, most frequent column first, in tiles of rows and blocks of columns.

    The order of the columns matters for speed alone: neighbours of equal length let the processor
    predict the inner loop (measured by ``benchmarks/passes``). Tiles and blocks depend on the matrix
    alone, never on the number of threads, so that sums come out in the same bits with any number.
    """

    def __init__(self, tiles: list[_Tile], columns: IntVector, threads: Threads) -> None:
        self._tiles = tiles
        self.columns = columns
        self._threads = threads

    @classmethod
    def from_matrix(cls, matrix: Any, threads: Threads) -> SparseDesign:
        """Any scipy format; the caller's arrays are left as they are."""
        csr = _canonical(matrix)
        n_rows, n_columns = csr.shape
        counts = np.bincount(csr.indices, minlength=n_columns)
        order = _most_frequent_first(counts)
        rank = np.zeros(n_columns, dtype=csr.indices.dtype)
        rank[order] = np.arange(len(order))
        tiles = []
        for rows in _tile_rows(n_rows, len(order), csr.nnz):
            entries = slice(int(csr.indptr[rows.start]), int(csr.indptr[rows.stop]))
            indptr = csr.indptr[rows.start : rows.stop + 1] - csr.indptr[rows.start]
            # Renumbering before the conversion costs one array of indices; after it, a copy.
            arrays = (csr.data[entries], rank[csr.indices[entries]], indptr)
            tile = sp.csr_array(arrays, shape=(rows.stop - rows.start, len(order))).tocsc()
            tiles.append(_Tile(rows, tile.data, tile.indices, tile.indptr))
        return cls(tiles, order, threads)

    @property
    def shape(self) -> tuple[int, int]:
        return self._tiles[-1].rows.stop, len(self.columns)

    def matvec(self, w: Vector) -> Vector:
        tiles = [tile for tile in self._tiles for _ in tile.runs]
        runs = [run for tile in self._tiles for run in tile.runs]
        blocks = [block for tile in self._tiles for block in tile.blocks]
        parts = self._threads.map(lambda run, block: block @ w[run], runs, blocks)
        out = np.zeros(self.shape[0])
        for tile, part in zip(tiles, parts, strict=True):
            out[tile.rows] += part
        return out

    def rmatvec(self, r: Vector, out: Vector | None = None) -> Vector:
        return self._gather(r, lambda block: block, out)

    def sq_rmatvec(self, h: Vector) -> Vector:
        def squared(block: Any) -> Any:
            data = np.square(block.data, dtype=np.float64)
            return sp.csr_array((data, block.indices, block.indptr), block.shape)

        return self._gather(h, squared)

    def _gather(self, r: Vector, transform: Callable[[Any], Any], out: Vector | None = None) -> Vector:
        """transform(X)^T r; tiles one after the other, the blocks of a tile in threads."""
        target = np.empty(self.shape[1]) if out is None else out
        for tile in self._tiles:
            part = r[tile.rows]

            def fill(run: slice, block: Any, part: Vector = part, first: bool = tile.rows.start == 0) -> None:
                product = transform(block) @ part
                if first:
                    target[run] = product
                else:
                    target[run] += product

            self._threads.map(fill, tile.runs, tile.transposed)
        return target

    def rmatmat(self, R: Matrix) -> Matrix:
        out = np.zeros((self.shape[1], R.shape[1]))
        for tile in self._tiles:
            out += tile.as_csr().T @ R[tile.rows]
        return out

    def gram(self, h: Vector) -> Matrix:
        out = np.zeros((self.shape[1], self.shape[1]))
        for tile in self._tiles:
            rows = tile.rows_first if len(tile.data) <= KEPT_ENTRIES else tile.as_csr()
            per_entry = np.repeat(h[tile.rows], np.diff(rows.indptr))
            weighted = sp.csr_array((rows.data * per_entry, rows.indices, rows.indptr), shape=rows.shape)
            # The columns as rows, not rows.T: scipy would convert the other factor.
            columns = sp.csr_array((tile.data, tile.indices, tile.indptr), shape=rows.shape[::-1])
            out += (columns @ weighted).toarray()
        return out

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        for tile in self._tiles:
            matrix = tile.as_csr()
            for rows in row_slices(matrix.shape):
                start = tile.rows.start
                yield slice(start + rows.start, start + rows.stop), matrix[rows].toarray()

    def peak(self) -> Vector:
        peaks = np.zeros(self.shape[1])
        for tile in self._tiles:
            filled = np.diff(tile.indptr) > 0
            highest = np.maximum.reduceat(np.abs(tile.data), tile.indptr[:-1][filled])
            peaks[filled] = np.maximum(peaks[filled], highest)
        return peaks

    def varying(self) -> Mask:
        """Columns that are not constant."""
        varying = np.logical_or.reduce([np.diff(tile.indptr) < tile.shape[0] for tile in self._tiles])
        for k in np.flatnonzero(~varying):  # a few: columns without a zero
            parts = [tile.data[tile.indptr[k] : tile.indptr[k + 1]] for tile in self._tiles]
            varying[k] = any((part != parts[0][0]).any() for part in parts)
        return np.asarray(varying)

    def shifted(self, exponent: AnyArray) -> SparseDesign:
        return self._with_entries(lambda data, per_entry: np.ldexp(data, -per_entry), exponent)

    def divided(self, divisor: Vector) -> SparseDesign:
        def divide(data: AnyArray, per_entry: AnyArray) -> AnyArray:
            return np.divide(data, per_entry, out=per_entry).astype(data.dtype, copy=False)

        return self._with_entries(divide, divisor)

    def _with_entries(self, function: Callable[..., AnyArray], per_column: AnyArray) -> SparseDesign:
        """The same pattern with other entries: function(entry, what its column has)."""
        tiles = []
        for tile in self._tiles:
            data = function(tile.data, np.repeat(per_column, np.diff(tile.indptr)))
            tiles.append(_Tile(tile.rows, data, tile.indices, tile.indptr))
        return SparseDesign(tiles, self.columns, self._threads)

    def take(self, keep: Mask) -> SparseDesign:
        tiles = [tile.take(keep) for tile in self._tiles]
        return SparseDesign(tiles, self.columns[keep], self._threads)

    def narrow(self, keep: Mask) -> SparseDesign:
        tiles = [tile.narrow(keep) for tile in self._tiles]
        return SparseDesign(tiles, self.columns[keep], self._threads)


class _Tile:
    """Some rows of X in CSC; its blocks are views of the same three arrays."""

    def __init__(self, rows: slice, data: AnyArray, indices: AnyArray, indptr: AnyArray) -> None:
        self.rows = rows
        self.data = data
        self.indices = indices
        self.indptr = indptr

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.stop - self.rows.start, len(self.indptr) - 1

    @cached_property
    def runs(self) -> list[slice]:
        """Runs of columns holding about ``BLOCK_NONZEROS`` entries each (or some per row)."""
        n_rows, n_columns = self.shape
        target = max(BLOCK_NONZEROS, 8 * n_rows)
        marks = np.arange(target, int(self.indptr[-1]), target)
        cuts = [0, *np.unique(np.searchsorted(self.indptr, marks)).tolist(), n_columns]
        return [slice(a, b) for a, b in pairwise(cuts) if a < b]

    @cached_property
    def blocks(self) -> list[Any]:
        return [self._view(run, sp.csc_array) for run in self.runs]

    @cached_property
    def transposed(self) -> list[Any]:
        return [self._view(run, sp.csr_array) for run in self.runs]

    def _view(self, run: slice, storage: Any) -> Any:
        """A run of columns as CSC, or its transpose as CSR: the same three arrays.

        They are set as attributes because scipy's constructors copy small views of large arrays.
        """
        indptr = self.indptr[run.start : run.stop + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        shape = (self.shape[0], run.stop - run.start)
        block = storage(shape if storage is sp.csc_array else shape[::-1], dtype=self.data.dtype)
        block.data = self.data[entries]
        block.indices = self.indices[entries]
        block.indptr = (indptr - indptr[0]).astype(self.indices.dtype, copy=False)
        return block

    @cached_property
    def rows_first(self) -> Any:
        """:meth:`as_csr`, kept: at a few columns Newton's steps ask for it again and again."""
        return self.as_csr()

    def as_csr(self) -> Any:
        arrays = (self.data.astype(np.float64, copy=False), self.indices, self.indptr)
        return sp.csc_array(arrays, shape=self.shape).tocsr()

    def take(self, keep: Mask) -> _Tile:
        entries = np.repeat(keep, np.diff(self.indptr))
        return _Tile(self.rows, self.data[entries], self.indices[entries], self._kept_indptr(keep))

    def narrow(self, keep: Mask) -> _Tile:
        """Kept entries are moved to the front of the arrays, which are given up when half empty."""
        end = 0
        for run in self.runs:
            counts = np.diff(self.indptr[run.start : run.stop + 1])
            entries = np.flatnonzero(np.repeat(keep[run], counts))
            entries += self.indptr[run.start]
            begin, end = end, end + len(entries)
            self.data[begin:end] = self.data[entries]
            self.indices[begin:end] = self.indices[entries]
        data, indices = self.data[:end], self.indices[:end]
        if data.base is not None and 2 * end < data.base.size:
            data, indices = data.copy(), indices.copy()
        return _Tile(self.rows, data, indices, self._kept_indptr(keep))

    def _kept_indptr(self, keep: Mask) -> AnyArray:
        indptr = np.zeros(np.count_nonzero(keep) + 1, dtype=self.indptr.dtype)
        np.cumsum(np.diff(self.indptr)[keep], out=indptr[1:])
        return indptr


def _most_frequent_first(counts: IntVector) -> IntVector:
    """The columns that have an entry; of equal ones the first."""
    rarity = counts.max(initial=0) - counts
    # In the smallest type: up to 65535 numpy sorts by digits.
    order = np.argsort(rarity.astype(np.min_scalar_type(rarity.max(initial=0))), kind="stable")
    return np.asarray(order[: np.count_nonzero(counts)])


def _tile_rows(n_rows: int, n_columns: int, n_entries: int) -> list[slice]:
    most = max(n_entries // (MIN_ENTRIES_PER_COLUMN * max(n_columns, 1)), 1)
    count = min(-(-n_rows // TILE_ROWS), most)
    height = -(-n_rows // max(count, 1))
    return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def _canonical(matrix: Any) -> Any:
    """CSR with sorted, distinct, nonzero entries; a copy only where that takes one."""
    csr = sp.csr_array(matrix)
    if not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr
