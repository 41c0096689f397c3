"""From raw X to a matrix of basis functions, held or computed on the fly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from sparsebayes._typing import AnyArray, IntVector
from sparsebayes.design import (
    ComputedDesign,
    HoldLimit,
    RowBlocks,
    Threads,
    automatic_count,
    row_slices,
)

# Entries of a matrix with a bounded number of columns that is held in memory: half a gigabyte.
MAX_HELD = 1 << 26
# Entries of one that is computed in one go: 32 MB.
IN_ONE_GO = 1 << 22


class Basis(Protocol):
    """Functions of a row of X, one a column of the design."""

    @property
    def numbers(self) -> IntVector:
        """A number of its own for each function: the same in every basis that has it."""

    @property
    def names(self) -> IntVector:
        """What the user knows each function by: a feature, a training row, a hidden node."""

    def transform(self, X: Any) -> Any:
        """The functions' values at the rows of X, an array or a scipy.sparse matrix."""

    def kept(self, active: IntVector) -> Self:
        """These functions alone, by position; the others are really gone."""


def first_of_each(bases: Sequence[Basis]) -> IntVector:
    """Where each function occurs first in the bases put end to end, in the order of their numbers."""
    return np.unique(np.concatenate([basis.numbers for basis in bases]), return_index=True)[1]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A basis at the rows of X: the source of a computed design."""

    basis: Basis
    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], len(self.basis.numbers)

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    def rows(self, rows: slice) -> AnyArray:
        return np.asarray(self.basis.transform(self.X[rows]))

    def take(self, columns: IntVector) -> Evaluation:
        return Evaluation(self.basis.kept(columns), self.X)


def as_matrix(basis: Basis, X: Any, limit: HoldLimit | None, threads: int | None) -> Any:
    """What ``as_design`` takes: the basis at the rows of X.

    A matrix that ``limit`` does not allow is computed in blocks whenever it is needed, by so many
    ``threads``, or, if None, by as many as its size is worth.
    """
    if isinstance(X, RowBlocks):
        return _of_blocks(basis, X, limit)
    evaluation = Evaluation(basis, X)
    n_rows, n_functions = evaluation.shape
    if limit is None:
        return basis.transform(X)
    if limit.allows(evaluation.shape):
        return basis.transform(X) if n_rows * n_functions <= IN_ONE_GO else _in_blocks(evaluation)
    workers = Threads(automatic_count(n_rows * n_functions) if threads is None else threads)
    return ComputedDesign(evaluation, workers, limit)


@dataclass(frozen=True, slots=True)
class Values:
    """The basis at some rows, as what is done to a block of them."""

    basis: Basis

    def __call__(self, X: Any) -> AnyArray:
        return np.asarray(self.basis.transform(X))


def _of_blocks(basis: Basis, X: RowBlocks, limit: HoldLimit | None) -> RowBlocks:
    """The basis at row blocks; one of features is those blocks themselves."""
    if limit is None:
        return X
    n_functions = len(basis.numbers)
    values = X.over([block.then(Values(basis)) for block in X.blocks], n_functions, dense=True)
    return values.held() if limit.allows(values.shape) else values


def _in_blocks(evaluation: Evaluation) -> AnyArray:
    """All entries, a few rows at a time: what a kernel needs on the way is as large as its values."""
    array = np.empty(evaluation.shape, dtype=evaluation.dtype)
    for rows in row_slices(evaluation.shape):
        array[rows] = evaluation.rows(rows)
    return array
