"""How the rest of the package touches a matrix: through these few verbs and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, RowValues, Vector
from sparsebayes.design.blocks import BlockDesign
from sparsebayes.design.computed import ComputedDesign
from sparsebayes.design.dense import DenseDesign
from sparsebayes.design.rows import RowBlocks
from sparsebayes.design.sparse import SparseDesign
from sparsebayes.design.threads import Threads, automatic_count

ScaleName = Literal["none", "common", "columns"]

# Columns whose largest entry lies outside 2^-SAFE .. 2^SAFE are first moved there by an exact power
# of two, so that squares and their sums neither overflow nor vanish.
SAFE_EXPONENT = 400


class Design(Protocol):
    """An N x M matrix X seen through its products.

    A design has a column order of its own (sparse storage sorts by frequency);
    ``columns[k]`` is the column of the caller's matrix that stands at position ``k``.
    All vectors a solver exchanges with a design are float64 and in the design's order.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def columns(self) -> IntVector: ...

    def matvec(self, w: Vector) -> RowValues:
        """X w."""

    def rmatvec(self, r: RowValues, out: Vector | None = None) -> Vector:
        """X^T r, into ``out`` where given."""

    def sq_rmatvec(self, h: RowValues) -> Vector:
        """(X * X)^T h, the diagonal of X^T diag(h) X."""

    def rmatmat(self, R: Matrix) -> Matrix:
        """X^T R for an R of few columns."""

    def gram(self, h: RowValues) -> Matrix:
        """X^T diag(h) X for h >= 0, an M x M matrix: only for designs with few columns."""

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """X as dense blocks of rows, in order: only for designs with few columns."""

    def take(self, keep: Mask) -> Design:
        """The design of the kept columns; the others are really gone."""

    def narrow(self, keep: Mask) -> Design:
        """:meth:`take`, in the memory of this design, which is not to be used any more."""


class Storage(Design, Protocol):
    """A design that owns its entries and can therefore rescale them."""

    def peak(self) -> Vector:
        """Largest absolute entry of each column."""

    def shifted(self, exponent: AnyArray) -> Self:
        """X 2^-exponent, column by column: exact."""

    def divided(self, divisor: Vector) -> Self:
        """X / divisor, column by column."""


@dataclass(frozen=True, slots=True)
class ColumnScale:
    """A design's columns are (x - offset) / (divisor * 2**exponent), per column of the caller's x.

    Divisor and exponent are kept apart because their product may be out of range where the entries
    are not.
    """

    divisor: Vector
    exponent: AnyArray
    offset: Vector

    @classmethod
    def identity(cls, n_features: int) -> ColumnScale:
        one, zero = np.broadcast_to(1.0, n_features), np.broadcast_to(0.0, n_features)
        return cls(one, np.broadcast_to(np.int32(0), n_features), zero)

    def coefficients(self, w: Vector, columns: IntVector) -> Vector:
        """Weights of the design's columns, in the units of the caller's."""
        with np.errstate(over="ignore"):
            return np.asarray(np.ldexp(w / self.divisor[columns], -self.exponent[columns]))

    def weights(self, coefficients: Vector, columns: IntVector) -> Vector:
        """The inverse of :meth:`coefficients`."""
        return np.asarray(np.ldexp(coefficients, self.exponent[columns]) * self.divisor[columns])

    def precisions(self, alpha: Vector, columns: IntVector) -> Vector:
        """Precisions of the design's weights, in the units of the caller's columns."""
        with np.errstate(over="ignore"):
            squared = alpha * np.square(self.divisor[columns])
            precisions = np.ldexp(squared, 2 * self.exponent[columns])
        return np.asarray(np.minimum(precisions, np.finfo(np.float64).max))

    def scaled_precisions(self, alpha: Vector, columns: IntVector) -> Vector:
        """The inverse of :meth:`precisions`."""
        shifted = np.ldexp(alpha, -2 * self.exponent[columns])
        return np.asarray(shifted / np.square(self.divisor[columns]))

    def intercept_shift(self, coefficients: Vector, columns: IntVector) -> float:
        """What the offsets add to a margin, to be taken off the intercept."""
        with np.errstate(over="ignore", invalid="ignore"):  # coefficients out of range are refused by name
            return float(coefficients @ self.offset[columns])


def row_shares(n_rows: int, weight: Vector | None) -> Vector:
    """What each row counts in a mean over rows."""
    return np.full(n_rows, 1.0 / n_rows) if weight is None else weight / weight.sum()


def as_design(
    X: Any,
    *,
    scale: ScaleName = "none",
    centre: bool = False,
    weight: Vector | None = None,
    threads: int | None = 1,
    owned: bool = False,
    leave_out_constants: bool = False,
) -> tuple[Storage, ColumnScale]:
    """The design of an array, a scipy sparse matrix or row blocks, without empty columns; or a computed one.

    ``scale="columns"`` divides each column by its root mean square (weighted by ``weight``),
    ``"common"`` divides all of X by the root mean square length of a row. With ``centre``, X is
    centred first, and its constant columns are left out too; a sparse one stays as it is, and is worked
    on by so many ``threads``, or, if None, by as many as its size is worth. An ``owned`` array is scaled in
    place. ``leave_out_constants`` is for columns that an intercept makes superfluous.
    """
    storage: Storage
    if isinstance(X, ComputedDesign):
        storage = X
    else:
        held = _held(X, threads, owned)
        varying = held.varying() if leave_out_constants else np.array(True)
        storage = held if varying.all() else held.take(varying)
    n_rows, n_features = X.shape
    if scale == "none" or not storage.shape[1]:
        return storage, ColumnScale.identity(n_features)

    divisor, exponent = np.ones(n_features), np.zeros(n_features, dtype=np.int32)
    offset = np.zeros(n_features)
    peaks = np.frexp(storage.peak())[1]
    if scale == "common":
        peaks = np.full_like(peaks, peaks.max())
    if np.abs(peaks).max() > SAFE_EXPONENT:
        exponent[storage.columns] = peaks
        storage = storage.shifted(peaks)
    share = row_shares(n_rows, weight)
    if centre and not isinstance(storage, SparseDesign):
        storage, means = storage.centred(share)
        offset[storage.columns] = np.ldexp(means, exponent[storage.columns])
    mean_squares = storage.sq_rmatvec(share)
    if scale == "common":
        mean_squares = np.full_like(mean_squares, mean_squares.sum())
    # A column that is nonzero in rows of negligible weight alone has no scale to speak of.
    divisors = np.sqrt(np.where(mean_squares > 0.0, mean_squares, 1.0))
    divisor[storage.columns] = divisors
    return storage.divided(divisors), ColumnScale(divisor, exponent, offset)


def _held(X: Any, threads: int | None, owned: bool) -> BlockDesign | DenseDesign | SparseDesign:
    if isinstance(X, RowBlocks):
        return BlockDesign.of(X)
    if sp.issparse(X):
        return SparseDesign.from_matrix(X, Threads(automatic_count(X.nnz) if threads is None else threads))
    return DenseDesign.from_array(np.asarray(X), owned)
