"""A layer of random nodes: the basis of the SBELM (eq. 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import scipy.special

from sparsebayes._typing import AnyArray, IntVector, Mask, Vector
from sparsebayes.basis.base import first_of_each
from sparsebayes.design import RowBlocks, row_shares
from sparsebayes.kernels import OUT_OF_RANGE, peak_of, sq_norms

ACTIVATIONS: dict[str, Callable[[AnyArray], AnyArray]] = {
    "sigmoid": scipy.special.expit,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
    "sine": np.sin,
}


@dataclass(frozen=True, slots=True)
class HiddenBasis:
    """phi_k(x) = f(<a_k, x> + b_k)."""

    activation: str
    weights: AnyArray  # a row a node
    biases: AnyArray
    numbers: IntVector
    n_drawn: int  # nodes there were at first
    features: IntVector | None = None  # the others have no weight; None: there are no others

    @classmethod
    def random(
        cls,
        activation: str,
        n_nodes: int,
        n_features: int,
        rng: np.random.RandomState,
        features: IntVector | None = None,
    ) -> Self:
        """Weights and biases uniform in [-1, 1]; a feature's weights are the same without the others."""
        weights = np.empty((n_nodes, n_features if features is None else len(features)))
        for row in weights:
            drawn = rng.uniform(-1.0, 1.0, size=n_features)
            row[:] = drawn if features is None else drawn[features]
        biases = rng.uniform(-1.0, 1.0, size=n_nodes)
        return cls(activation, weights, biases, np.arange(n_nodes), n_nodes, features)

    @classmethod
    def merged(cls, layers: Sequence[Self]) -> Self:
        """The nodes of several layers, each once."""
        first = first_of_each(layers)
        joined = cls(
            layers[0].activation,
            np.vstack([layer.weights for layer in layers]),
            np.concatenate([layer.biases for layer in layers]),
            np.concatenate([layer.numbers for layer in layers]),
            layers[0].n_drawn,
            layers[0].features,
        )
        return joined.kept(first)

    def scaled(self, factor: float) -> Self:
        return replace(self, weights=self.weights * factor, biases=self.biases * factor)

    def fitted_to(self, X: Any, weight: Vector) -> Self:
        """The layer for X less its mean and over its spread.

        <a, x> then has a variance of 1 over nodes and rows, b one of 1/3, whatever the units of X.
        """
        peak, mean, spread = _moments(X, row_shares(X.shape[0], weight))
        if self.features is not None:
            mean = mean[self.features]
        weights = self.weights * (np.sqrt(3.0 / spread) if spread > 0.0 else 1.0)
        biases = self.biases - weights @ mean
        weights /= peak
        return replace(self, weights=weights, biases=biases)

    @property
    def names(self) -> IntVector:
        return self.numbers

    def transform(self, X: Any) -> AnyArray:
        with np.errstate(over="ignore", invalid="ignore"):
            # In double precision: weights and biases of a layer that is fitted to the data may cancel.
            rows = X if self.features is None else X[:, self.features]
            sums = np.asarray(rows.astype(np.float64, copy=False) @ self.weights.T) + self.biases
            outputs = ACTIVATIONS[self.activation](sums).astype(X.dtype, copy=False)
            if not np.isfinite(outputs.sum()) and not np.isfinite(outputs).all():
                raise ValueError(OUT_OF_RANGE.format("Outputs of hidden nodes are"))
        return outputs

    def over(self, n_features: int) -> Self:
        """The same layer with a weight, be it zero, for every feature."""
        if self.features is None:
            return self
        weights = np.zeros((len(self.weights), n_features))
        weights[:, self.features] = self.weights
        return replace(self, weights=weights, features=None)

    def kept(self, active: IntVector) -> Self:
        weights, biases = self.weights[active], self.biases[active]
        return replace(self, weights=weights, biases=biases, numbers=self.numbers[active])


def filled_columns(X: Any) -> IntVector | None:
    """The columns of X that are not empty; None if that is all of them.

    Of the others nothing can be learned: a weight at random would be noise wherever they are not empty.
    """
    rows = X if isinstance(X, RowBlocks) else RowBlocks.whole(X)
    some = np.logical_or.reduce(list(rows.crew.each(_has_entries, rows.blocks)))
    return None if some.all() else np.flatnonzero(some)


def _has_entries(X: Any) -> Mask:
    if not sp.issparse(X):
        return np.asarray(X.any(axis=0))
    some = np.zeros(X.shape[1], dtype=bool)
    some[X.indices[X.data != 0]] = True
    return some


def _moments(X: Any, share: Vector) -> tuple[float, Vector, float]:
    """The largest entry of X; and of X over it, the mean and the mean square distance from that."""
    rows = X if isinstance(X, RowBlocks) else RowBlocks.whole(X)
    peak = max(rows.crew.each(peak_of, rows.blocks)) or 1.0
    peaks = [peak] * len(rows.blocks)
    mean = rows.crew.total(_mean, rows.blocks, rows.parts(share), peaks)
    spread = rows.crew.total(_spread, rows.blocks, rows.parts(share), peaks, [mean] * len(rows.blocks))
    return peak, mean, spread if rows.dense else max(spread - float(mean @ mean), 0.0)


def _mean(X: Any, share: Vector, peak: float) -> Vector:
    return np.asarray((X.astype(np.float64) * (1.0 / peak)).T @ share).ravel()


def _spread(X: Any, share: Vector, peak: float, mean: Vector) -> float:
    """Around the mean; of a sparse matrix, around zero."""
    scaled = X.astype(np.float64) * (1.0 / peak)
    return float(share @ sq_norms(scaled if sp.issparse(X) else scaled - mean))
