"""Vectors with an entry a row, in parts that stay where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from sparsebayes._typing import RowValues, Vector
from sparsebayes.design.rows import Block, Crew, RowBlocks, itself, tree_sum


class RowVector(NDArrayOperatorsMixin):
    """A part for each block of rows.

    Arithmetic is done part by part, where the parts are; products of two vectors and sums are numbers, added
    up as :func:`tree_sum` does. ``numpy.asarray`` fetches all parts.
    """

    ndim = 1
    dtype = np.dtype(np.float64)

    def __init__(
        self, parts: Sequence[Block], heights: Sequence[int], crew: Crew, known: Vector | None = None
    ) -> None:
        self.parts = list(parts)
        self.heights = list(heights)
        self.crew = crew
        self.known_sum: float | None = None
        self._known = known

    @classmethod
    def of(cls, rows: RowBlocks, values: Vector) -> RowVector:
        """An array, sent to where the rows are."""
        return cls(rows.crew.held(itself, rows.parts(values)), rows.heights, rows.crew, values)

    @property
    def shape(self) -> tuple[int]:
        return (sum(self.heights),)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Vector:
        values = self._known
        if values is None:
            values = np.concatenate(list(self.crew.each(itself, self.parts)))
        return values.copy() if copy else values

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc is np.matmul:
            return tree_sum(self.crew.each(ufunc, *_shares(self, inputs)))
        if all(value is self or np.ndim(value) == 0 for value in inputs):
            # No task of its own: whoever uses the parts does it on the way.
            step = WithNumbers(ufunc, tuple(None if value is self else value for value in inputs))
            known = None if self._known is None else step(self._known)
            return RowVector([part.then(step) for part in self.parts], self.heights, self.crew, known)
        return rowwise(ufunc, *inputs)

    def sum(self) -> float:
        if self.known_sum is None:
            self.known_sum = float(tree_sum(self.crew.each(np.sum, self.parts)))
        return self.known_sum


@dataclass(frozen=True, slots=True)
class WithNumbers:
    """A function of a vector, which is None among its arguments, and of numbers."""

    ufunc: Any
    arguments: tuple[Any, ...]

    def __call__(self, values: Vector) -> Vector:
        return np.asarray(self.ufunc(*(values if each is None else each for each in self.arguments)))


def rowwise(function: Callable[..., Any], *values: RowValues) -> RowValues:
    """function(*values) with an entry a row, of vectors with an entry a row and of numbers."""
    rows = _first(values)
    if rows is None:
        return function(*values)
    return RowVector(rows.crew.held(function, *_shares(rows, values)), rows.heights, rows.crew)


def rowwise_with_totals(
    function: Callable[..., tuple[Any, ...]], n_vectors: int, *values: RowValues
) -> tuple[Any, ...]:
    """The same of a function that gives so many vectors, and after them an array of sums over rows."""
    rows = _first(values)
    if rows is None:
        return function(*values)
    found = rows.crew.held(function, *_shares(rows, values))
    vectors = [[block.then(itemgetter(k)) for block in found] for k in range(n_vectors + 1)]
    totals = tree_sum(rows.crew.each(itself, vectors.pop()))
    return *(RowVector(parts, rows.heights, rows.crew) for parts in vectors), totals


def _first(values: Sequence[RowValues]) -> RowVector | None:
    return next((value for value in values if isinstance(value, RowVector)), None)


def _shares(rows: RowVector, values: Sequence[RowValues]) -> list[list[Any]]:
    return [_cut(value, rows.heights) for value in values]


def _cut(value: RowValues, heights: list[int]) -> list[Any]:
    if isinstance(value, RowVector):
        return value.parts
    if np.ndim(value) == 0:
        return [value] * len(heights)
    return np.split(value, np.cumsum(heights)[:-1])
