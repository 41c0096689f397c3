"""Rows in blocks: where they come from, and who works on them."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector
from sparsebayes.io import BlockStore


class Source(Protocol):
    """Where the rows of a block come from."""

    def load(self) -> Any:
        """A dense or a CSR matrix."""


@dataclass(frozen=True, slots=True)
class Held:
    """Rows in memory, or something else with a share for each block."""

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


class Crew(Protocol):
    """Who works on the blocks, and where.

    A task is done once for each block, on its share of each of ``parts``; shares that are blocks are loaded.
    """

    @property
    def nearby(self) -> bool:
        """Whether blocks are in this process, so that what a task takes and gives need not travel."""

    def each(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Iterator[Any]:
        """What the tasks give, in order."""

    def total(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Any:
        """The sum of :meth:`each`, added up as :func:`tree_sum` does."""

    def held(self, task: Callable[..., Any], *parts: Iterable[Any]) -> list[Block]:
        """:meth:`each` as blocks that stay where they were made."""

    def shared(self, value: Any) -> Any:
        """A value that is the same for all blocks, as a share of one of ``parts``."""

    def settled(self, blocks: list[Block]) -> list[Block]:
        """Blocks from somewhere else, as they are best kept for many products."""


@dataclass(frozen=True, slots=True)
class Here:
    """This process, with so many threads; a few blocks are in memory at a time."""

    nearby: ClassVar[bool] = True
    n_threads: int = 1

    def each(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Iterator[Any]:
        if self.n_threads == 1:
            for own in zip(*parts, strict=True):
                yield _done(task, *own)
            return
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(self.n_threads) as pool:
            for own in zip(*parts, strict=True):
                if len(waiting) > self.n_threads:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(_done, task, *own))
            while waiting:
                yield waiting.popleft().result()

    def total(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Any:
        return tree_sum(self.each(task, *parts), operator.iadd)  # what tasks give is in no other hands

    def held(self, task: Callable[..., Any], *parts: Iterable[Any]) -> list[Block]:
        return [Block(Held(result)) for result in self.each(task, *parts)]

    def shared(self, value: Any) -> Any:
        return value

    def settled(self, blocks: list[Block]) -> list[Block]:
        return blocks  # what is on disk may not fit into memory


def _done(task: Callable[..., Any], *own: Any) -> Any:
    return task(*(share.load() if isinstance(share, Block) else share for share in own))


def tree_sum(parts: Iterable[Any], add: Callable[[Any, Any], Any] = operator.add) -> Any:
    """Neighbours are added, then neighbours of sums, and so on: the order depends on their number alone."""
    sums: list[tuple[int, Any]] = []  # of 2^level parts each, level falling
    for part in parts:
        level = 0
        while sums and sums[-1][0] == level:
            part = add(sums.pop()[1], part)
            level += 1
        sums.append((level, part))
    total = sums.pop()[1]
    while sums:
        total = add(sums.pop()[1], total)
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
        feature_names: list[str] | None = None,
    ) -> None:
        self.blocks = list(blocks)
        self.ends = np.cumsum(np.asarray(heights, dtype=np.int64))
        self.n_columns = n_columns
        self.dtype = np.dtype(dtype)
        self.dense = dense
        self.crew = crew
        self.feature_names = feature_names

    @classmethod
    def whole(cls, X: Any) -> RowBlocks:
        """A matrix in memory as one block."""
        dense = not sp.issparse(X)
        return cls([Block(Held(X))], [X.shape[0]], X.shape[1], X.dtype, dense=dense, crew=Here())

    @classmethod
    def of_matrix(cls, X: Any, block_rows: int, crew: Crew | None = None) -> RowBlocks:
        """A matrix in memory, cut into blocks of so many rows."""
        crew = crew or Here()
        X = canonical(X)
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
        blocks,
        store.heights,
        store.shape[1],
        store.dtype,
        dense=store.storage == "dense",
        crew=crew,
        feature_names=store.feature_names,
    )


def itself(X: Any) -> Any:
    return X


def canonical(X: Any) -> Any:
    """An array as it is; a sparse matrix as CSR with sorted indices, each once."""
    if not sp.issparse(X):
        return X
    csr = sp.csr_matrix(X, copy=not (X.format == "csr" and X.has_canonical_format))
    csr.sum_duplicates()
    return csr
