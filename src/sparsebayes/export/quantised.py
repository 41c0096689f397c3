"""Tables of a model as whole numbers of 8 or 16 bits, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, Vector
from sparsebayes.basis import Basis, HiddenBasis, KernelBasis
from sparsebayes.design import row_slices
from sparsebayes.frozen import FrozenModel

BITS = {"int8": 8, "int16": 16}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a quantised model compares with the model it was made of, on rows that the caller gave.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    same_labels : float
        Share of them with the same prediction.
    largest_difference : float
        Largest difference of a probability.
    mean_difference : float
        Mean difference of a probability.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import RVMClassifier, export_c
    >>> X, y = load_iris(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     export = export_c(RVMClassifier().fit(X, y), f"{folder}/iris.c", quantise="int8", X=X)
    >>> export.agreement.n_rows, export.agreement.same_labels > 0.95
    (150, True)
    """

    n_rows: int
    same_labels: float
    largest_difference: float
    mean_difference: float

    @classmethod
    def of(cls, exact: FrozenModel, rounded: FrozenModel, X: Any) -> Agreement:
        same = exact.predict(X) == rounded.predict(X)
        difference = np.abs(exact.predict_proba(X) - rounded.predict_proba(X))
        return cls(len(same), float(same.mean()), float(difference.max()), float(difference.mean()))


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers as C stores them: a value is an entry, or offset + step * entry * 2^shift."""

    entries: AnyArray
    values: AnyArray
    step: Vector | None = None  # of each row or column
    offset: Vector | None = None  # of each column
    shift: AnyArray | None = None  # of each entry

    @classmethod
    def exact(cls, values: AnyArray) -> Table:
        return cls(values, values)


def by_groups(
    values: AnyArray, group: AnyArray, n_groups: int, bits: int | None, shift: AnyArray | None = None
) -> Table:
    """Steps of their own for groups of values, zero being exact; group[i] is that of values[i]."""
    if bits is None:
        return Table.exact(values)
    shifted = values if shift is None else np.ldexp(values, -shift)
    largest = np.zeros(n_groups)
    np.maximum.at(largest, group, np.abs(shifted))
    limit = 2 ** (bits - 1) - 1
    step = np.where(largest > 0.0, largest, 1.0) / limit
    entries = np.rint(shifted / step[group]).astype(f"i{bits // 8}")
    rounded = entries * step[group]
    return Table(entries, rounded if shift is None else np.ldexp(rounded, shift), step, shift=shift)


def by_columns(values: AnyArray, bits: int | None) -> Table:
    """A matrix whose columns go from the least to the largest value in equal steps."""
    if bits is None or not values.size:
        return Table.exact(values)
    low, high = values.min(axis=0), values.max(axis=0)
    half = 2 ** (bits - 1)
    span = high - low
    step = np.where(span > 0.0, span, 1.0) / (2 * half - 1)
    offset = low + half * step
    entries = np.clip(np.rint((values - offset) / step), -half, half - 1).astype(f"i{bits // 8}")
    return Table(entries, offset + step * entries, step, offset)


@dataclass(frozen=True, slots=True)
class Tables:
    """The numbers that make a model large: weights, and the vectors or input weights of the basis."""

    weights: Table
    basis: Table | None
    model: FrozenModel  # that has these numbers

    @classmethod
    def exact(cls, model: FrozenModel) -> Tables:
        weights = Table.exact(model.weights.astype(np.float64))
        return cls(weights, _basis_table(model.basis, None), model)

    @classmethod
    def rounded(cls, model: FrozenModel, bits: int, X: Any) -> Tables:
        """In whole numbers of so many bits, rounded with an eye on typical rows.

        Steps are fine where a function varies much, and what rounding adds to a sum at the mean of the rows
        is taken off its intercept: features need not be of one size, nor about zero.
        """
        rows = model.rows(X)
        table = _basis_table(model.basis, bits)
        basis = _with_table(model.basis, table, rows)
        mean, spread = _moments(basis, rows)
        problem = np.repeat(np.arange(model.n_problems), np.diff(model.starts))
        exponents = _exponents(spread)
        shift = None if exponents is None else -exponents[model.columns]
        exact = model.weights.astype(np.float64)
        weights = by_groups(exact, problem, model.n_problems, bits, shift)
        lost = np.bincount(problem, (exact - weights.values) * mean[model.columns], model.n_problems)
        intercepts = model.intercepts.astype(np.float64) + lost
        rounded = replace(model, weights=weights.values, basis=basis, intercepts=intercepts)
        return cls(weights, table, rounded)


def _moments(basis: Basis, rows: Any) -> tuple[Vector, Vector]:
    """Mean and standard deviation of each function."""
    shape = (rows.shape[0], len(basis.numbers))
    total, squares = np.zeros(shape[1]), np.zeros(shape[1])
    for block in row_slices(shape):
        values = basis.transform(rows[block]).astype(np.float64, copy=False)
        dense = values.toarray() if sp.issparse(values) else values
        total += dense.sum(axis=0)
        squares += np.square(dense).sum(axis=0)
    mean = total / shape[0]
    return mean, np.sqrt(np.maximum(squares / shape[0] - np.square(mean), 0.0))


def _exponents(spread: Vector) -> AnyArray | None:
    """Powers of two near the spreads, over the largest; None where they hardly differ."""
    varies = spread > 0.0
    if not varies.any():
        return None
    exponents = np.zeros(len(spread), dtype=np.int64)
    exponents[varies] = np.rint(np.log2(spread[varies]))
    exponents[~varies] = exponents[varies].min()
    exponents -= exponents.max()
    return None if exponents.min() >= -1 else np.maximum(exponents, -127)


def _basis_table(basis: Basis, bits: int | None) -> Table | None:
    if isinstance(basis, HiddenBasis):
        values = basis.weights.astype(np.float64)
        group = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
        return by_groups(values, group, len(values), bits)
    if isinstance(basis, KernelBasis):
        if sp.issparse(basis.vectors):
            csr = canonical(basis.vectors)
            return by_groups(csr.data, csr.indices, csr.shape[1], bits)
        return by_columns(basis.vectors.astype(np.float64), bits)
    return None


def _with_table(basis: Basis, table: Table | None, rows: Any) -> Basis:
    if isinstance(basis, HiddenBasis) and table is not None:
        mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        return replace(
            basis, weights=table.values, biases=basis.biases + (basis.weights - table.values) @ mean
        )
    if isinstance(basis, KernelBasis) and table is not None:
        if not sp.issparse(basis.vectors):
            return replace(basis, vectors=table.values)
        csr = canonical(basis.vectors)
        return replace(basis, vectors=sp.csr_matrix((table.values, csr.indices, csr.indptr), shape=csr.shape))
    return basis


def canonical(vectors: Any) -> Any:
    """A copy in double precision, each row sorted and without repeats."""
    csr = sp.csr_matrix(vectors, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    return csr
