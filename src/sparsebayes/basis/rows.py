"""Which rows of the training data carry a basis function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Matrix, Vector

# k-means++ looks at so many rows for each one it chooses; more make it slower and not better.
ROWS_PER_CANDIDATE = 50


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The different rows of a matrix, in an order that depends on nothing but what they hold."""

    first: IntVector  # where each of them occurs first
    inverse: IntVector  # for every row, which of them it is

    @classmethod
    def of(cls, X: Any) -> DistinctRows:
        keys = _sparse_keys(X) if sp.issparse(X) else _dense_keys(X)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        # In the order of their projections on a fixed direction: the same for any storage and units.
        direction = np.random.RandomState(0).uniform(size=X.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            order = np.argsort(np.asarray(X[first] @ direction), kind="stable")
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        return cls(first[order], position[inverse.ravel()])

    def total(self, weight: Vector) -> Vector:
        """The weight of each: the sum over its occurrences."""
        return np.bincount(self.inverse, weights=weight, minlength=len(self.first)).astype(np.float64)

    def class_weights(self, codes: IntVector, weight: Vector) -> Matrix:
        """The weight of each in every class."""
        n_classes = int(codes.max()) + 1
        size = len(self.first) * n_classes
        cells = np.bincount(self.inverse * n_classes + codes, weights=weight, minlength=size)
        return cells.astype(np.float64).reshape(-1, n_classes)


def _dense_keys(X: AnyArray) -> AnyArray:
    rows = np.ascontiguousarray(X) + 0.0  # -0.0 is 0.0
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def _sparse_keys(X: Any) -> AnyArray:
    csr = sp.csr_array(X, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    keys = np.empty(csr.shape[0], dtype=object)
    for i in range(csr.shape[0]):
        entries = slice(csr.indptr[i], csr.indptr[i + 1])
        keys[i] = csr.indices[entries].tobytes() + csr.data[entries].tobytes()
    return keys


def candidate_rows(
    X: Any, codes: IntVector, weight: Vector, n_candidates: int, rng: np.random.RandomState
) -> IntVector:
    """About ``n_candidates`` positions of rows that cover the data, each class in proportion to its rows.

    Chosen by k-means++ within each class: a row is drawn with a probability that grows with its squared
    distance from those drawn before.
    """
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        quota = max(round(n_candidates * len(members) / len(codes)), 1)
        if quota < len(members):
            members = _spread(X, members, weight, quota, rng)
        chosen.append(members)
    return np.sort(np.concatenate(chosen))


def _spread(X: Any, members: IntVector, weight: Vector, quota: int, rng: np.random.RandomState) -> IntVector:
    from sklearn.cluster import kmeans_plusplus  # here: a frozen model is to do without scikit-learn

    if len(members) > ROWS_PER_CANDIDATE * quota:
        members = np.sort(rng.choice(members, ROWS_PER_CANDIDATE * quota, replace=False))
    _, positions = kmeans_plusplus(X[members], quota, sample_weight=weight[members], random_state=rng)
    return np.asarray(members[np.unique(positions)])
