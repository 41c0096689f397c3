"""Many classes from two: one-vs-one with pairwise coupling, one-vs-rest.

Inside, classes are 0 .. K-1 and a binary problem has labels {0, 1}. Whatever the scheme, the
multiclass score is a log probability per class and its argmax is the prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from sparsebayes import link
from sparsebayes._typing import AnyArray, IntVector, Matrix, Vector

Scheme = Literal["ovo", "ovr"]

# Pair probabilities are kept this far from 0 and 1 (LIBSVM's bound), where coupling is singular.
MIN_PAIR_PROBABILITY = 1e-7
# Coupled probabilities below rounding of the linear system carry no information.
MIN_PROBABILITY = 1e-16
BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True, slots=True)
class BinaryProblem:
    """``rows`` of the data with ``labels`` in {0, 1}; ``negative`` is None for "the rest"."""

    negative: int | None
    positive: int
    rows: IntVector | slice
    labels: Vector


def decompose(codes: IntVector, n_classes: int, scheme: Scheme) -> list[BinaryProblem]:
    """The binary problems of class codes 0 .. K-1, pairs in the order (0, 1), (0, 2), ..."""
    everything = slice(None)
    if n_classes == 2:
        return [BinaryProblem(0, 1, everything, (codes == 1).astype(np.float64))]
    if scheme == "ovr":
        return [BinaryProblem(None, k, everything, (codes == k).astype(np.float64)) for k in range(n_classes)]
    problems = []
    for i, j in combinations(range(n_classes), 2):
        rows = np.flatnonzero((codes == i) | (codes == j))
        problems.append(BinaryProblem(i, j, rows, (codes[rows] == j).astype(np.float64)))
    return problems


def n_problems(n_classes: int, scheme: Scheme) -> int:
    """How many :func:`decompose` makes."""
    if n_classes == 2:
        return 1
    return n_classes if scheme == "ovr" else n_classes * (n_classes - 1) // 2


def log_probabilities(margins: Matrix, n_classes: int, scheme: Scheme) -> Matrix:
    """Log probability of each class, from the margins of the problems of :func:`decompose`."""
    if n_classes == 2:
        z = margins[:, 0]
        return -np.column_stack([link.log1pexp(z), link.log1pexp(-z)])
    if scheme == "ovr":
        scores = -link.log1pexp(-margins)
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))
    height = max(BLOCK_ENTRIES // (n_classes + 1) ** 2, 1)
    blocks = [margins[start : start + height] for start in range(0, len(margins), height)]
    coupled = [couple(pair_probabilities(block, n_classes)) for block in blocks]
    return np.log(np.concatenate(coupled)) if coupled else np.empty((0, n_classes))


def pair_probabilities(margins: Matrix, n_classes: int) -> npt.NDArray[np.float64]:
    """r[:, i, j] = P(i | i or j) for all samples; the diagonal is zero."""
    second = np.clip(link.sigmoid(margins), MIN_PAIR_PROBABILITY, 1.0 - MIN_PAIR_PROBABILITY)
    r = np.zeros((len(margins), n_classes, n_classes))
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, j, i] = second[:, column]
        r[:, i, j] = 1.0 - second[:, column]
    return r


def couple(r: npt.NDArray[np.float64]) -> Matrix:
    """Pairwise coupling by the second method of Wu, Lin & Weng (JMLR 5, 2004).

    For each sample, p minimises sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2 with sum p = 1: the linear
    system [Q 1; 1^T 0] [p; b] = [0; 1], Q_ii = sum_{s != i} r_si^2, Q_ij = -r_ji r_ij. Its
    solution is nonnegative without being asked to.
    """
    n, k, _ = r.shape
    system = np.ones((n, k + 1, k + 1))
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    system[:, range(k), range(k)] = np.square(r).sum(axis=1)
    system[:, k, k] = 0.0
    target = np.zeros((n, k + 1, 1))
    target[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, target)[:, :k, 0], MIN_PROBABILITY)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def probabilities(log_p: Matrix, dtype: npt.DTypeLike = np.float64) -> AnyArray:
    """exp, with rows that sum to 1 and whose argmax is that of the logarithms.

    Different logarithms can round to equal probabilities; the winner is then raised by one unit
    in the last place.
    """
    p = np.exp(log_p)
    p = (p / p.sum(axis=1, keepdims=True)).astype(dtype, copy=False)
    rows, winner = np.arange(len(p)), log_p.argmax(axis=1)
    tied = p.argmax(axis=1) != winner
    p[rows[tied], winner[tied]] = np.nextafter(p[tied].max(axis=1), p.dtype.type(2.0))
    return np.asarray(p)


@dataclass(frozen=True, slots=True)
class Scores:
    """What the margins of the problems of :func:`decompose` say of the classes, in ``dtype``."""

    margins: Matrix
    n_classes: int
    scheme: Scheme
    dtype: npt.DTypeLike

    def decision(self) -> AnyArray:
        """Margins for two classes, (n,), log probabilities for more, (n, K)."""
        scores = self.margins[:, 0] if self.n_classes == 2 else self._log_probabilities()
        return scores.astype(self.dtype, copy=False)

    def codes(self) -> IntVector:
        """The most probable class of each row."""
        scores = self.decision()
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def probabilities(self) -> AnyArray:
        return probabilities(self._log_probabilities(), self.dtype)

    def log_probabilities(self) -> AnyArray:
        """The logarithm of :meth:`probabilities`, but for the tail that a float cannot hold."""
        log_p = self._log_probabilities()
        p = probabilities(log_p, self.dtype)
        held = p >= np.finfo(p.dtype).tiny
        log_p = log_p.astype(self.dtype, copy=False)
        log_p[held] = np.log(p[held])
        return log_p

    def _log_probabilities(self) -> Matrix:
        return log_probabilities(self.margins, self.n_classes, self.scheme)
