"""A design over rows in blocks, each of which is loaded for a product and let go after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, Vector
from sparsebayes.design.dense import CONSTANT_COLUMN, row_slices
from sparsebayes.io import BlockStore

# Entries of kept columns that are held in memory once pruning has left so few: 400 MB in double precision.
HELD_ENTRIES = 1 << 25
# Bytes of a cache line: where arrays that BLAS works on begin.
ALIGNMENT = 64


class Source(Protocol):
    """Where the rows of a block come from."""

    def load(self) -> Any:
        """A dense or a CSR matrix."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows in memory."""

    matrix: Any

    def load(self) -> Any:
        return self.matrix


@dataclass(frozen=True, slots=True)
class Stored:
    """Rows on disk: mapped into memory for a product, and not longer."""

    store: BlockStore
    number: int

    def load(self) -> Any:
        return self.store.matrix(self.number)


@dataclass(frozen=True, slots=True)
class Block:
    """Rows, and what is done to them whenever they are loaded."""

    source: Source
    steps: tuple[Callable[[Any], Any], ...] = ()

    def then(self, step: Callable[[Any], Any]) -> Block:
        return Block(self.source, (*self.steps, step))

    def load(self) -> Any:
        return prepared(self.source.load(), self.steps)


def prepared(matrix: Any, steps: Iterable[Callable[[Any], Any]]) -> Any:
    for step in steps:
        matrix = step(matrix)
    return matrix


@dataclass(frozen=True, slots=True)
class SomeRows:
    rows: IntVector

    def __call__(self, X: Any) -> Any:
        return X[self.rows]


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


class Crew(Protocol):
    """Who works on the blocks, and where."""

    def each(self, task: Callable[..., Any], blocks: Sequence[Block], *parts: Iterable[Any]) -> Iterator[Any]:
        """task(block's matrix, its part of each of ``parts``), in the order of the blocks."""

    def total(self, task: Callable[..., Any], blocks: Sequence[Block], *parts: Iterable[Any]) -> Any:
        """The sum of :meth:`each`, added up as :func:`tree_sum` does."""

    def held(self, task: Callable[..., Any], blocks: Sequence[Block], *parts: Iterable[Any]) -> list[Block]:
        """:meth:`each` as blocks that stay where they were made."""

    def shared(self, value: Any) -> Any:
        """A value that is the same for all blocks, as one of ``parts``."""

    def settled(self, blocks: list[Block]) -> list[Block]:
        """Blocks from somewhere else, as they are best kept for many products."""


@dataclass(frozen=True, slots=True)
class Here:
    """This process, with so many threads; a few blocks are in memory at a time."""

    n_threads: int = 1

    def each(self, task: Callable[..., Any], blocks: Sequence[Block], *parts: Iterable[Any]) -> Iterator[Any]:
        if self.n_threads == 1 or len(blocks) == 1:
            for block, *own in zip(blocks, *parts, strict=True):
                yield _done(task, block, *own)
            return
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(self.n_threads) as pool:
            for block, *own in zip(blocks, *parts, strict=True):
                if len(waiting) > self.n_threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(_done, task, block, *own))
            while waiting:
                yield waiting.popleft().result()

    def total(self, task: Callable[..., Any], blocks: Sequence[Block], *parts: Iterable[Any]) -> Any:
        return tree_sum(self.each(task, blocks, *parts))

    def held(self, task: Callable[..., Any], blocks: Sequence[Block], *parts: Iterable[Any]) -> list[Block]:
        return [Block(Held(matrix)) for matrix in self.each(task, blocks, *parts)]

    def shared(self, value: Any) -> Any:
        return value

    def settled(self, blocks: list[Block]) -> list[Block]:
        return blocks  # what is on disk may not fit into memory


def _done(task: Callable[..., Any], block: Block, *own: Any) -> Any:
    return task(block.load(), *own)


def tree_sum(parts: Iterable[Any]) -> Any:
    """Neighbours are added, then neighbours of sums, and so on: the order depends on their number alone."""
    sums: list[tuple[int, Any]] = []  # of 2^level parts each, level falling
    for part in parts:
        level = 0
        while sums and sums[-1][0] == level:
            part = sums.pop()[1] + part
            level += 1
        sums.append((level, part))
    total = sums.pop()[1]
    while sums:
        total = sums.pop()[1] + total
    return total


class RowBlocks:
    """A matrix in blocks of rows, as ``as_design`` takes it."""

    def __init__(
        self,
        blocks: Sequence[Block],
        heights: Sequence[int],
        n_columns: int,
        dtype: Any,
        *,
        dense: bool,
        crew: Crew,
    ) -> None:
        self.blocks = list(blocks)
        self.ends = np.cumsum(np.asarray(heights, dtype=np.int64))
        self.n_columns = n_columns
        self.dtype = np.dtype(dtype)
        self.dense = dense
        self.crew = crew

    @classmethod
    def of_matrix(cls, X: Any, block_rows: int, crew: Crew | None = None) -> RowBlocks:
        """A matrix in memory, cut into blocks of so many rows."""
        crew = crew or Here()
        parts = [X[start : start + block_rows] for start in range(0, X.shape[0], block_rows)]
        heights = [part.shape[0] for part in parts]
        blocks = crew.settled([Block(Held(part)) for part in parts])
        return cls(blocks, heights, X.shape[1], X.dtype, dense=not sp.issparse(X), crew=crew)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.ends[-1]), self.n_columns

    @property
    def heights(self) -> list[int]:
        return [int(height) for height in np.diff(self.ends, prepend=0)]

    def parts(self, rows: AnyArray) -> Iterator[AnyArray]:
        """An array with an entry a row, cut as the blocks are."""
        start = 0
        for end in self.ends.tolist():
            yield rows[start:end]
            start = end

    def then(self, step: Callable[[Any], Any]) -> RowBlocks:
        """The same rows, ``step`` being done to them whenever they are loaded."""
        return self.over([block.then(step) for block in self.blocks])

    def over(
        self, blocks: Sequence[Block], n_columns: int | None = None, dense: bool | None = None
    ) -> RowBlocks:
        """The same rows by other blocks."""
        return RowBlocks(
            blocks,
            self.heights,
            self.n_columns if n_columns is None else n_columns,
            self.dtype,
            dense=self.dense if dense is None else dense,
            crew=self.crew,
        )

    def __getitem__(self, rows: Any) -> RowBlocks:
        """Rows by an ascending array of numbers, or by a slice; blocks without any of them are left out."""
        if isinstance(rows, slice):
            rows = np.arange(self.shape[0])[rows]
        cuts = np.searchsorted(rows, self.ends)
        blocks, heights, begin, first = [], [], 0, 0
        for block, cut, end in zip(self.blocks, cuts.tolist(), self.ends.tolist(), strict=True):
            if cut > begin:
                whole = cut - begin == end - first
                blocks.append(block if whole else block.then(SomeRows(rows[begin:cut] - first)))
                heights.append(cut - begin)
            begin, first = cut, end
        return RowBlocks(blocks, heights, self.n_columns, self.dtype, dense=self.dense, crew=self.crew)

    def held(self) -> RowBlocks:
        """The same blocks, loaded for good."""
        return self.over(self.crew.held(itself, self.blocks))

    def gathered(self) -> Any:
        """All rows in memory."""
        parts = list(self.crew.each(itself, self.blocks))
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def rows_of(store: BlockStore, crew: Crew) -> RowBlocks:
    """The rows of a store."""
    blocks = crew.settled([Block(Stored(store, number)) for number in range(store.n_blocks)])
    return RowBlocks(
        blocks, store.heights, store.shape[1], store.dtype, dense=store.storage == "dense", crew=crew
    )


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


# What is done to a block, wherever it is. ``places`` are the columns that are wanted; None: all.


def itself(X: Any) -> Any:
    return X


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
