"""How wide the kernels of a basis are to be, where the user does not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsebayes import link
from sparsebayes._typing import IntVector, Mask, Vector
from sparsebayes.basis import DistinctRows, KernelBasis, margins
from sparsebayes.estimators._problem import Solution
from sparsebayes.evidence.selection import standard_error
from sparsebayes.multiclass import BinaryProblem

# Multiples of a gamma. One of the first two is right on most data; narrower ones together with it are for
# fine structure, of which a few hundred rows may not show enough.
SINGLE = (0.25, 1.0)
SEVERAL = (1.0, 4.0, 16.0)
NARROWER = 4.0
# Rows that widths are compared on, and the share of them that is held out.
ROWS_FOR_WIDTHS = 6000
ONE_OF = 3
LARGEST_LOSS = 3.0
# Of fewer rows, a few decide, and what they save in loss does not pay for the vectors.
MIN_HELD_OUT = 500
# What a vector costs when evidences of models with different widths are compared: narrow kernels fit what
# they sit on.
PRICE_OF_A_VECTOR = 2.0


class Losses(NamedTuple):
    """Of rows that were held out, and what each counts."""

    values: Vector
    weight: Vector

    @property
    def total(self) -> float:
        return float(self.weight @ self.values)

    def better_than(self, other: Losses, by: float = 2.0) -> bool:
        """By more than so many standard errors of the difference."""
        error = standard_error(other.values - self.values, self.weight)
        return other.total - self.total > by * error


def by_validation(
    gamma: float, evidence: Callable[[Vector], float], losses: Callable[[Vector], Losses], n_held_out: int
) -> Vector:
    """The single width with the larger evidence, and narrower ones beside it as long as each makes the model
    clearly better on rows that were held out. Evidence does not see that kernels which are narrow enough fit
    any labels.
    """
    widths = max((gamma * np.array([factor]) for factor in SINGLE), key=evidence)
    if n_held_out < MIN_HELD_OUT:
        return widths
    known = losses(widths)
    while len(widths) < len(SEVERAL):
        more = np.append(widths, NARROWER * widths[-1])
        of_more = losses(more)
        if not of_more.better_than(known):
            break
        widths, known = more, of_more
    return widths


def penalised_evidence(solution: Solution) -> float:
    """What the sequential solver reached, less the price of the vectors that it took."""
    criteria = [record["criterion"] for record in solution.history if record["criterion"] is not None]
    return -min(criteria) - PRICE_OF_A_VECTOR * len(solution.columns)


class Split(NamedTuple):
    """Some of the rows of X; others are left out where there are many."""

    train: Mask
    test: Mask

    @classmethod
    def of(cls, distinct: DistinctRows) -> Split:
        """Every third distinct row is held out. Equal rows stay together: a weight is a repeated row."""
        stride = -(-len(distinct.first) // ROWS_FOR_WIDTHS)
        rank, left_out = np.divmod(distinct.inverse, stride)
        held_out = rank % ONE_OF == ONE_OF - 1
        return cls((left_out == 0) & ~held_out, (left_out == 0) & held_out)


def losses_of(solution: Solution, X: Any, labels: Vector) -> Vector:
    """Log losses, none above ``LARGEST_LOSS``: a handful of rows that a model is quite wrong about, as one
    that separates its training data will be, are not to outweigh thousands.
    """
    z = margins(solution.basis, solution.coef, solution.intercept, X)
    return np.minimum(link.loss_and_residual(z, 2.0 * labels - 1.0)[0], LARGEST_LOSS)


def both_classes(labels: Vector, part: Mask) -> bool:
    return bool(part.any()) and 0.0 < float(labels[part].mean()) < 1.0


class Fits:
    """Fits of all binary problems at some widths, for comparison.

    ``fit(X, basis, labels, weight)`` is one of them, ``basis(rows, gammas)`` that of some candidates.
    """

    def __init__(
        self,
        fit: Callable[..., Solution],
        X: Any,
        weight: Vector,
        problems: Sequence[BinaryProblem],
        candidates: Sequence[IntVector],
        basis: Callable[[IntVector, Vector], KernelBasis],
        split: Split,
    ) -> None:
        self._fit_one = fit
        self._X = X
        self._weight = weight
        self._problems = problems
        self._candidates = candidates
        self._basis = basis
        self._split = split
        self._solutions: dict[bytes, list[Solution]] = {}

    @property
    def n_held_out(self) -> int:
        return int(np.count_nonzero(self._split.test))

    def losses(self, gammas: Vector) -> Losses:
        """Of every third row, by models of the others."""
        values, weights = [], []
        for problem, rows, chosen in self._each():
            train, test = self._split.train[rows], self._split.test[rows]
            if not both_classes(problem.labels, train) or not test.any():
                continue
            solution = self._fit(problem, rows, train, chosen, gammas)
            values.append(losses_of(solution, self._X[rows[test]], problem.labels[test]))
            weights.append(self._weight[rows[test]])
        if not values:
            return Losses(np.zeros(1), np.ones(1))
        return Losses(np.concatenate(values), np.concatenate(weights))

    def evidence(self, gammas: Vector) -> float:
        """Of all problems together, on all rows or some thousands of them."""
        solutions = []
        looked_at = self._split.train | self._split.test
        for problem, rows, chosen in self._each():
            if both_classes(problem.labels, looked_at[rows]):
                solutions.append(self._fit(problem, rows, looked_at[rows], chosen, gammas))
        if looked_at.all():
            self._solutions[gammas.tobytes()] = solutions
        return sum(map(penalised_evidence, solutions))

    def solutions(self, gammas: Vector | None) -> list[Solution] | None:
        """The model of all rows at these widths, where their evidence was asked for."""
        return None if gammas is None else self._solutions.get(gammas.tobytes())

    def _each(self) -> Iterator[tuple[BinaryProblem, IntVector, IntVector]]:
        everything = np.arange(self._X.shape[0])
        for problem, chosen in zip(self._problems, self._candidates, strict=True):
            yield problem, everything[problem.rows], chosen

    def _fit(
        self, problem: BinaryProblem, rows: IntVector, part: Mask, chosen: IntVector, gammas: Vector
    ) -> Solution:
        within = chosen[np.isin(chosen, rows[part], assume_unique=True)]
        rows, labels = rows[part], problem.labels[part]
        return self._fit_one(self._X[rows], self._basis(within, gammas), labels, self._weight[rows])
