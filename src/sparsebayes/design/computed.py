"""A design whose entries are computed when they are needed and never held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, Vector
from sparsebayes.design.dense import CONSTANT_COLUMN, DenseDesign
from sparsebayes.design.threads import Threads

# A block of this many rows and columns: 4 MB in double precision, so that it stays in cache
# from its computation to the product.
BLOCK_ROWS = 512
BLOCK_COLUMNS = 1024
# Rows are cut into so many bands at most, each the work of one thread; by the matrix alone, so that
# sums come out in the same bits with any number of threads.
MAX_BANDS = 16


@dataclass(frozen=True, slots=True)
class HoldLimit:
    """Which matrices are held in memory: those of up to ``columns`` columns, within ``entries`` entries.

    Any matrix that is no larger than a square one of ``columns`` is, too.
    """

    columns: int
    entries: int

    def allows(self, shape: tuple[int, int]) -> bool:
        n_entries = shape[0] * shape[1]
        return n_entries <= self.columns**2 or (shape[1] <= self.columns and n_entries <= self.entries)


class Source(Protocol):
    """Where a design's entries come from."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> Any:
        """The precision of its blocks."""

    def rows(self, rows: slice) -> AnyArray:
        """The entries of these rows."""

    def take(self, columns: IntVector) -> Source:
        """The source of these columns alone."""


class ComputedDesign:
    """X computed in blocks, N + M numbers in memory; arithmetic is in double precision.

    Columns are (x - offset) / divisor. Once :meth:`take` leaves so few that ``limit`` allows it, they are
    computed for good and held.
    """

    def __init__(
        self,
        source: Source,
        threads: Threads,
        limit: HoldLimit,
        columns: IntVector | None = None,
        offset: Vector | None = None,
        divisor: Vector | None = None,
    ) -> None:
        self._source = source
        self._threads = threads
        self._limit = limit
        self.columns = np.arange(source.shape[1]) if columns is None else columns
        self._offset = offset
        self._divisor = divisor

    @property
    def shape(self) -> tuple[int, int]:
        return self._source.shape

    def matvec(self, w: Vector) -> Vector:
        out = np.zeros(self.shape[0])

        def fill(band: slice) -> None:
            for rows, columns, block in self._blocks(band):
                out[rows] += block @ w[columns]

        self._threads.map(fill, self._bands)
        return out

    def rmatvec(self, r: Vector, out: Vector | None = None) -> Vector:
        total = self._sum(lambda block, rows: block.T @ r[rows], ())
        if out is None:
            return total
        out[:] = total
        return out

    def sq_rmatvec(self, h: Vector) -> Vector:
        return self._sum(lambda block, rows: np.square(block, out=block).T @ h[rows], ())

    def rmatmat(self, R: Matrix) -> Matrix:
        return self._sum(lambda block, rows: block.T @ R[rows], R.shape[1:])

    def _sum(self, product: Callable[[Matrix, slice], AnyArray], shape: tuple[int, ...]) -> AnyArray:
        """An array of this ``shape`` for each column: the sum of the bands' parts, in their order."""

        def part(band: slice) -> AnyArray:
            out = np.zeros((self.shape[1], *shape))
            for rows, columns, block in self._blocks(band):
                out[columns] += product(block, rows)
            return out

        total = np.zeros((self.shape[1], *shape))
        for each in self._threads.map(part, self._bands):
            total += each
        return total

    def gram(self, h: Vector) -> Matrix:
        out = np.zeros((self.shape[1], self.shape[1]))
        for rows, block in self.row_blocks():
            out += block.T @ (h[rows, None] * block)
        return out

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        for rows in _slices(slice(0, self.shape[0]), BLOCK_ROWS):
            yield rows, self._scaled(self._source.rows(rows), slice(None))

    def take(self, keep: Mask) -> ComputedDesign | DenseDesign:
        taken = ComputedDesign(
            self._source.take(np.flatnonzero(keep)),
            self._threads,
            self._limit,
            self.columns[keep],
            None if self._offset is None else self._offset[keep],
            None if self._divisor is None else self._divisor[keep],
        )
        return taken.held() if self._limit.allows(taken.shape) else taken

    def narrow(self, keep: Mask) -> ComputedDesign | DenseDesign:
        return self.take(keep)

    def held(self) -> DenseDesign:
        """The same design with its entries in memory, in the source's precision."""
        array = np.empty(self.shape, dtype=self._source.dtype)

        def fill(band: slice) -> None:
            for rows, columns, block in self._blocks(band):
                array[rows, columns] = block

        self._threads.map(fill, self._bands)
        return DenseDesign(array, self.columns)

    def peak(self) -> Vector:
        peaks = np.zeros(self.shape[1])

        def part(band: slice) -> Vector:
            out = np.zeros(self.shape[1])
            for _, columns, block in self._blocks(band):
                out[columns] = np.maximum(out[columns], np.abs(block, out=block).max(axis=0))
            return out

        for each in self._threads.map(part, self._bands):
            np.maximum(peaks, each, out=peaks)
        return peaks

    def centred(self, share: Vector) -> tuple[ComputedDesign | DenseDesign, Vector]:
        """Columns less their means, weighted by ``share``, and the means; constant ones are dropped."""
        means = self.rmatvec(share)
        design = self._with(offset=means)
        rounding = CONSTANT_COLUMN * float(np.finfo(self._source.dtype).eps) * self.peak()
        varying = design.peak() > rounding
        return (design if varying.all() else design.take(varying)), means[varying]

    def shifted(self, exponent: AnyArray) -> Self:
        return self.divided(np.ldexp(1.0, exponent))

    def divided(self, divisor: Vector) -> Self:
        return self._with(divisor=divisor if self._divisor is None else self._divisor * divisor)

    def _with(self, offset: Vector | None = None, divisor: Vector | None = None) -> Self:
        offset = self._offset if offset is None else offset
        divisor = self._divisor if divisor is None else divisor
        return type(self)(self._source, self._threads, self._limit, self.columns, offset, divisor)

    @cached_property
    def _parts(self) -> list[tuple[slice, Source]]:
        """The source, cut into blocks of columns."""
        cuts = _slices(slice(0, self.shape[1]), BLOCK_COLUMNS)
        return [(cut, self._source.take(np.arange(cut.start, cut.stop))) for cut in cuts]

    @cached_property
    def _bands(self) -> list[slice]:
        n_rows = self.shape[0]
        height = -(-n_rows // (MAX_BANDS * BLOCK_ROWS)) * BLOCK_ROWS
        return _slices(slice(0, n_rows), height)

    def _blocks(self, band: slice) -> Iterator[tuple[slice, slice, Matrix]]:
        for rows in _slices(band, BLOCK_ROWS):
            for columns, part in self._parts:
                yield rows, columns, self._scaled(part.rows(rows), columns)

    def _scaled(self, block: AnyArray, columns: slice) -> Matrix:
        block = block.astype(np.float64, copy=False)
        if self._offset is not None:
            block -= self._offset[columns]
        if self._divisor is not None:
            block /= self._divisor[columns]
        return block


def _slices(whole: slice, size: int) -> list[slice]:
    return [slice(a, min(a + size, whole.stop)) for a in range(whole.start, whole.stop, size)]
