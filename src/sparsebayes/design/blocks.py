"""A design over rows in blocks, each of which is loaded for a product and let go after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, RowValues, Vector
from sparsebayes.design.dense import CONSTANT_COLUMN, row_slices
from sparsebayes.design.row_vector import RowVector
from sparsebayes.design.rows import RowBlocks

# Entries of kept columns that are held in memory once pruning has left so few: 400 MB in double precision.
HELD_ENTRIES = 1 << 25
# Bytes of a cache line: where arrays that BLAS works on begin.
ALIGNMENT = 64


class BlockDesign:
    """X as row blocks, a column of which is the block's at ``places`` over ``divisor``.

    A product loads every block once. Sums over rows are added up in a tree that depends on the blocks alone,
    so that blocks in memory, on disk and with workers give the same bits. Once few enough entries are left,
    they are held; that changes no bit either, for what is left out are zeros of a sum.
    """

    def __init__(
        self, rows: RowBlocks, columns: IntVector, places: IntVector, divisor: Vector, counts: Vector
    ) -> None:
        self._rows = rows
        self.columns = columns
        self._places = places
        self._divisor = divisor
        self._counts = counts  # entries of each column

    @classmethod
    def of(cls, rows: RowBlocks) -> BlockDesign:
        """All columns but the empty ones."""
        counts = rows.crew.total(_entries, rows.blocks)
        columns = np.flatnonzero(counts)
        return cls(rows, columns, columns, np.ones(len(columns)), counts[columns])

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows.shape[0], len(self.columns)

    @cached_property
    def _chosen(self) -> list[Any]:
        """For every block, where the columns are in it; None where they are all of it."""
        return self._same(None if len(self._places) == self._rows.n_columns else self._places)

    def _each(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Iterator[Any]:
        return self._rows.crew.each(task, self._rows.blocks, *parts)

    def _same(self, value: Any) -> list[Any]:
        return [self._rows.crew.shared(value)] * len(self._rows.blocks)

    @cached_property
    def _whole(self) -> bool:
        """Whether a product is with all columns of the blocks, those that are not wanted being left out once
        instead of in each block. Sparse sums are the same bits either way.
        """
        rows = self._rows
        return rows.crew.nearby and not rows.dense and len(self._places) > rows.n_columns // 2

    def matvec(self, w: Vector) -> RowValues:
        if not len(w):
            return np.zeros(self.shape[0])
        w = w / self._divisor
        places = self._chosen
        if self._whole:
            places, w = self._same(None), _everywhere(w, self._places, self._rows.n_columns)
        rows = self._rows
        parts = rows.crew.held(_product, rows.blocks, places, self._same(w))
        return RowVector(parts, rows.heights, rows.crew)

    def rmatvec(self, r: RowValues, out: Vector | None = None) -> Vector:
        out = np.empty(self.shape[1]) if out is None else out
        if len(out):
            np.divide(self._sums(_transposed_product, r), self._divisor, out=out)
        return out

    def sq_rmatvec(self, h: RowValues) -> Vector:
        if not self.shape[1]:
            return np.empty(0)
        return np.asarray(self._sums(_squared_product, h) / self._divisor / self._divisor)

    def _sums(self, task: Callable[..., Any], r: RowValues) -> Vector:
        """A sum over rows for each column."""
        places = self._same(None) if self._whole else self._chosen
        sums = np.asarray(self._total(task, places, r))
        return sums[self._places] if self._whole else sums

    def _total(self, task: Callable[..., Any], places: list[Any], r: RowValues) -> AnyArray:
        """The sum over blocks of task(block, places, its part of r). A RowVector's own sum comes along."""
        rows = self._rows
        if not isinstance(r, RowVector):
            return np.asarray(rows.crew.total(task, rows.blocks, places, rows.parts(r)))
        n_blocks = len(rows.blocks)
        found = rows.crew.total(_with_sum, rows.blocks, places, r.parts, [task] * n_blocks)
        r.known_sum = found.sum
        return np.asarray(found.product)

    def rmatmat(self, R: Matrix) -> Matrix:
        if not self.shape[1]:
            return np.empty((0, R.shape[1]))
        return np.asarray(self._total(_transposed_product, self._chosen, R) / self._divisor[:, None])

    def gram(self, h: RowValues) -> Matrix:
        if not self.shape[1]:
            return np.empty((0, 0))
        return np.asarray(self._total(_gram, self._chosen, h) / self._divisor / self._divisor[:, None])

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        start = 0
        for block in self._each(_columns_of, self._chosen):
            for rows in row_slices(block.shape):
                part = block[rows].toarray() if sp.issparse(block) else block[rows]
                yield slice(start + rows.start, start + rows.stop), part / self._divisor
            start += block.shape[0]

    def peak(self) -> Vector:
        peaks = np.zeros(self.shape[1])
        for part in self._each(_peaks, self._chosen):
            np.maximum(peaks, part, out=peaks)
        return peaks / self._divisor

    def varying(self) -> Mask:
        """Columns that are not constant."""
        varying = self._counts < self.shape[0]
        full = np.flatnonzero(~varying)
        if len(full):
            extremes = np.array(list(self._each(_extremes, self._same(self._places[full]))))
            varying[full] = extremes[:, 0].min(axis=0) < extremes[:, 1].max(axis=0)
        return np.asarray(varying)

    def shifted(self, exponent: AnyArray) -> BlockDesign:
        exponents = np.zeros(self._rows.n_columns, dtype=np.int32)
        exponents[self._places] = exponent
        rows = self._rows.then(Shift(exponents))
        return BlockDesign(rows, self.columns, self._places, self._divisor, self._counts)

    def centred(self, share: Vector) -> tuple[BlockDesign, Vector]:
        """Columns less their means, weighted by ``share``, and the means; constant ones are dropped.

        Sparse blocks stay as they are: their means are 0 here.
        """
        if not self._rows.dense:
            return self, np.zeros(self.shape[1])
        means = self.rmatvec(share)
        rounding = CONSTANT_COLUMN * float(np.finfo(self._rows.dtype).eps) * self.peak()
        everywhere = np.zeros(self._rows.n_columns)
        everywhere[self._places] = means
        rows = self._rows.then(Centre(everywhere))
        design = BlockDesign(rows, self.columns, self._places, self._divisor, self._counts)
        varying = design.peak() > rounding
        return (design if varying.all() else design.take(varying)), means[varying]

    def divided(self, divisor: Vector) -> BlockDesign:
        divisor = self._divisor * divisor
        return BlockDesign(self._rows, self.columns, self._places, divisor, self._counts)

    def take(self, keep: Mask) -> Self:
        columns, places, counts = self.columns[keep], self._places[keep], self._counts[keep]
        rows = self._rows
        if counts.sum() <= HELD_ENTRIES and len(places) < rows.n_columns // 2:
            held = rows.crew.held(_columns_of, rows.blocks, self._same(places))
            rows = rows.over(held, len(places))
            places = np.arange(len(places))
        return type(self)(rows, columns, places, self._divisor[keep], counts)

    def narrow(self, keep: Mask) -> Self:
        return self.take(keep)


@dataclass(frozen=True, slots=True)
class Shift:
    """Times 2^-exponent, column by column: exact."""

    exponent: AnyArray

    def __call__(self, X: Any) -> Any:
        if not sp.issparse(X):
            return np.ldexp(X, -self.exponent)
        return _with_data(X, np.ldexp(X.data, -self.exponent[X.indices]))


@dataclass(frozen=True, slots=True)
class Centre:
    """A dense block less the means of its columns."""

    means: Vector

    def __call__(self, X: Any) -> Any:
        return X - self.means


@dataclass(frozen=True, slots=True)
class Summed:
    """A block's product with a vector, and the sum of that vector."""

    product: AnyArray
    sum: float

    def __add__(self, other: Summed) -> Summed:
        return Summed(self.product + other.product, self.sum + other.sum)

    def __iadd__(self, other: Summed) -> Summed:
        return Summed(np.add(self.product, other.product, out=self.product), self.sum + other.sum)


# What is done to a block, wherever it is. ``places`` are the columns that are wanted; None: all.


def _entries(X: Any) -> Vector:
    if not sp.issparse(X):
        return np.asarray(np.count_nonzero(X, axis=0), dtype=np.float64)
    return np.asarray(np.bincount(X.indices, minlength=X.shape[1]), dtype=np.float64)


def _columns_of(X: Any, places: IntVector | None) -> Any:
    """In double precision; an array always in the same order and alignment, on which bits of BLAS depend."""
    if not sp.issparse(X):
        return _aligned(X if places is None else np.take(X, places, axis=1))
    if places is None:
        return X.astype(np.float64)
    rank = np.full(X.shape[1], -1, dtype=X.indices.dtype)
    rank[places] = np.arange(len(places))
    kept = rank[X.indices]
    entries = kept >= 0
    indptr = np.concatenate([[0], np.cumsum(entries)])[X.indptr].astype(X.indptr.dtype)
    data = X.data[entries].astype(np.float64)
    return sp.csr_array((data, kept[entries], indptr), shape=(X.shape[0], len(places)))


def _aligned(X: AnyArray) -> Matrix:
    if X.dtype == np.float64 and X.flags.c_contiguous and X.ctypes.data % ALIGNMENT == 0:
        return X
    room = np.empty(X.size * 8 + ALIGNMENT, dtype=np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    out: Matrix = room[start : start + X.size * 8].view(np.float64).reshape(X.shape)
    out[...] = X
    return out


def _product(X: Any, places: IntVector | None, w: Vector) -> Vector:
    if not sp.issparse(X):
        return np.asarray(_columns_of(X, places) @ w)
    return np.asarray(X @ (w if places is None else _everywhere(w, places, X.shape[1])))


def _everywhere(w: Vector, places: IntVector, n_columns: int) -> Vector:
    out = np.zeros(n_columns)
    out[places] = w
    return out


def _transposed_product(X: Any, places: IntVector | None, r: AnyArray) -> AnyArray:
    if not sp.issparse(X):
        return np.asarray(_columns_of(X, places).T @ r)
    product = np.asarray(X.T @ r)
    return product if places is None else product[places]


def _squared_product(X: Any, places: IntVector | None, h: Vector) -> Vector:
    if not sp.issparse(X):
        return np.asarray(np.square(_columns_of(X, places)).T @ h)
    return _transposed_product(_with_data(X, np.square(X.data, dtype=np.float64)), places, h)


def _with_sum(X: Any, places: IntVector | None, r: Vector, task: Callable[..., AnyArray]) -> Summed:
    return Summed(task(X, places, r), float(r.sum()))


def _gram(X: Any, places: IntVector | None, h: Vector) -> Matrix:
    columns = _columns_of(X, places)
    if not sp.issparse(columns):
        return np.asarray(columns.T @ (h[:, None] * columns))
    weighted = _with_data(columns, columns.data * np.repeat(h, np.diff(columns.indptr)))
    return np.asarray((columns.T @ weighted).toarray())


def _peaks(X: Any, places: IntVector | None) -> Vector:
    if not sp.issparse(X):
        return np.asarray(np.abs(_columns_of(X, places)).max(axis=0, initial=0.0), dtype=np.float64)
    peaks = np.zeros(X.shape[1])
    np.maximum.at(peaks, X.indices, np.abs(X.data))
    return peaks if places is None else peaks[places]


def _extremes(X: Any, places: IntVector) -> Matrix:
    """The least and the largest entry of columns without a zero."""
    columns = X[:, places]
    columns = columns.toarray() if sp.issparse(columns) else columns
    return np.array([columns.min(axis=0), columns.max(axis=0)])


def _with_data(X: Any, data: AnyArray) -> Any:
    """The same pattern with other entries."""
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
