"""A design over rows in blocks, each of which is loaded for a product and let go after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, Vector
from sparsebayes.design.dense import CONSTANT_COLUMN, row_slices
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

    def _total(self, task: Callable[..., Any], *rows: AnyArray) -> Any:
        """The sum over blocks of task(block, where the columns are, a block's part of ``rows``)."""
        parts = [self._rows.parts(each) for each in rows]
        return self._rows.crew.total(task, self._rows.blocks, self._chosen, *parts)

    def _same(self, value: Any) -> list[Any]:
        return [self._rows.crew.shared(value)] * len(self._rows.blocks)

    def matvec(self, w: Vector) -> Vector:
        if not len(w):
            return np.zeros(self.shape[0])
        products = self._each(_product, self._chosen, self._same(w / self._divisor))
        return np.concatenate(list(products))

    def rmatvec(self, r: Vector, out: Vector | None = None) -> Vector:
        out = np.empty(self.shape[1]) if out is None else out
        if len(out):
            np.divide(self._total(_transposed_product, r), self._divisor, out=out)
        return out

    def sq_rmatvec(self, h: Vector) -> Vector:
        if not self.shape[1]:
            return np.empty(0)
        return np.asarray(self._total(_squared_product, h) / self._divisor / self._divisor)

    def rmatmat(self, R: Matrix) -> Matrix:
        if not self.shape[1]:
            return np.empty((0, R.shape[1]))
        return np.asarray(self._total(_transposed_product, R) / self._divisor[:, None])

    def gram(self, h: Vector) -> Matrix:
        if not self.shape[1]:
            return np.empty((0, 0))
        return np.asarray(self._total(_gram, h) / self._divisor / self._divisor[:, None])

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
    if places is not None:
        everywhere = np.zeros(X.shape[1])
        everywhere[places] = w
        w = everywhere
    return np.asarray(X @ w)


def _transposed_product(X: Any, places: IntVector | None, r: AnyArray) -> AnyArray:
    if not sp.issparse(X):
        return np.asarray(_columns_of(X, places).T @ r)
    product = np.asarray(X.T @ r)
    return product if places is None else product[places]


def _squared_product(X: Any, places: IntVector | None, h: Vector) -> Vector:
    if not sp.issparse(X):
        return np.asarray(np.square(_columns_of(X, places)).T @ h)
    return _transposed_product(_with_data(X, np.square(X.data, dtype=np.float64)), places, h)


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


def _with_data(X: Any, data: AnyArray) -> Any:
    """The same pattern with other entries."""
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
