"""Constructed problems, and designs that watch how they are used."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparsebayes.design import as_design
from sparsebayes.objective import Objective


@dataclass
class Problem:
    X: np.ndarray
    labels: np.ndarray
    alpha: np.ndarray
    weight: np.ndarray | None

    def objective(self, sparse=False):
        design, _ = as_design(sp.csr_array(self.X) if sparse else self.X)
        alpha = self.alpha[design.columns]
        return Objective(design, self.labels, alpha, self.weight)


def logistic(n=80, m=6, seed=0, weighted=False, density=1.0):
    """Labels drawn from a logistic model; every column nonzero, precisions over four decades."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * (rng.random((n, m)) < density)
    X[0] = 1.0
    margins = X @ rng.normal(size=m)
    labels = (rng.random(n) < 1.0 / (1.0 + np.exp(-margins))).astype(float)
    weight = rng.integers(1, 4, size=n).astype(float) if weighted else None
    return Problem(X, labels, 10.0 ** rng.uniform(-2, 2, size=m), weight)


def classification(n=200, m=10, n_classes=2, n_informative=3, seed=0):
    """A few informative columns, the others noise; classes overlap a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    scores = X[:, :n_informative] @ (3.0 * rng.normal(size=(n_informative, n_classes)))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, y


class CountingDesign:
    """A design that counts its products; independent of the package's own meter."""

    def __init__(self, inner, counts=None):
        self.inner = inner
        self.counts = Counter() if counts is None else counts

    shape = property(lambda self: self.inner.shape)
    columns = property(lambda self: self.inner.columns)

    def __getattr__(self, verb):
        product = getattr(self.inner, verb)

        def counted(*arguments):
            self.counts[verb] += 1
            return product(*arguments)

        return counted

    def take(self, keep):
        return type(self)(self.inner.take(keep), self.counts)

    def narrow(self, keep):
        return type(self)(self.inner.narrow(keep), self.counts)
