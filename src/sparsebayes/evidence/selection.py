"""Which point of a path to take, without validation data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sparsebayes._typing import IntVector, RowValues, Vector
from sparsebayes.curvature import DiagonalCurvature
from sparsebayes.evidence.leave_one_out import leave_one_out_losses
from sparsebayes.map_solvers import MapResult
from sparsebayes.objective import Objective

# Losses that differ by less than this many standard errors of their difference are a tie. 0, 1/4, 1/2 and 1
# were compared on iris, wine, breast cancer and digits together: more is more accurate and less sparse.
TIE = 0.5


@dataclass(frozen=True, slots=True)
class PathPoint:
    """A model on the path: the positions of its columns, and the mode of its posterior."""

    positions: IntVector
    n_features: int
    objective: Objective
    mode: MapResult

    @property
    def evidence(self) -> float:
        """Laplace's logarithm of the evidence, the Hessian taken as diagonal.

        The diagonal even where the exact curvature is at hand: points are compared with each other.
        """
        alpha = self.objective.alpha
        proper = alpha > 0.0
        if isinstance(self.mode.curvature, DiagonalCurvature):
            diagonal = 1.0 / self.mode.curvature.inverse_diagonal()
        else:
            diagonal = self.objective.hess_diag(self.mode.margins)
        return -self.mode.value - 0.5 * float(np.log(diagonal[proper] / alpha[proper]).sum())

    def passed(self, with_losses: bool) -> Passed:
        losses = leave_one_out_losses(self.objective, self.mode) if with_losses else None
        return Passed(self.positions, self.mode.w, self.n_features, self.evidence, losses)


@dataclass(frozen=True, slots=True)
class Passed:
    """What a selection may want to know of a point that is passed."""

    positions: IntVector
    w: Vector
    n_features: int
    evidence: float
    losses: Vector | None  # of the samples left out, where it asks for them


class Selection(Protocol):
    """Is shown the points of a path, largest model first, and chooses one."""

    @property
    def needs_losses(self) -> bool: ...

    def add(self, passed: Passed) -> float | None:
        """Take note of a point; returns its criterion, the smaller the better, where it has one."""

    def choose(self) -> tuple[IntVector, Vector]:
        """The positions and weights of the chosen point."""


@dataclass
class LeastLeaveOneOut:
    """The largest model whose leave-one-out loss ties with the least.

    A small model's loss does not pay for its having been selected with the help of the very
    rows it is tested on, hence a tie goes to the larger one.
    """

    weight: RowValues | None
    points: list[tuple[IntVector, Vector]] = field(default_factory=list)
    losses: list[Vector] = field(default_factory=list)
    needs_losses: bool = True

    def add(self, passed: Passed) -> float:
        assert passed.losses is not None
        self.points.append((passed.positions, passed.w))
        self.losses.append(passed.losses)
        return weighted_sum(passed.losses, self.weight)

    def choose(self) -> tuple[IntVector, Vector]:
        return self.points[int(ties(self.losses, self.weight)[0])]


@dataclass
class LargestEvidence:
    """The model with the largest evidence.

    Where a few weights matter among many, it finds them. Where many matter a little, it takes fewer than
    would predict best: that the small models were selected is not paid for. A price for it, the logarithm of
    the number of models of a size, would leave next to nothing of a text.
    """

    largest: float = -np.inf
    point: tuple[IntVector, Vector] | None = None
    needs_losses: bool = False

    def add(self, passed: Passed) -> float:
        if self.point is None or passed.evidence > self.largest:
            self.largest, self.point = passed.evidence, (passed.positions, passed.w)
        return -passed.evidence

    def choose(self) -> tuple[IntVector, Vector]:
        assert self.point is not None
        return self.point


@dataclass
class LastOfAtLeast:
    """The smallest model with at least so many features; where there is none, the largest one."""

    n_features: int
    point: tuple[IntVector, Vector] | None = None
    needs_losses: bool = False

    def add(self, passed: Passed) -> None:
        if self.point is None or passed.n_features >= self.n_features:
            self.point = passed.positions, passed.w

    def choose(self) -> tuple[IntVector, Vector]:
        assert self.point is not None
        return self.point


def ties(losses: list[Vector], weight: RowValues | None) -> IntVector:
    """Which of several models' losses, one a sample, tie with the least in sum."""
    totals = [weighted_sum(each, weight) for each in losses]
    best = int(np.argmin(totals))
    tied = [
        total - totals[best] <= TIE * standard_error(each - losses[best], weight)
        for each, total in zip(losses, totals, strict=True)
    ]
    tied[best] = True  # whatever the rounding of its error
    return np.flatnonzero(tied)


def weighted_sum(losses: Vector, weight: RowValues | None) -> float:
    return float(losses.sum() if weight is None else np.asarray(weight) @ losses)


def standard_error(differences: Vector, weight: RowValues | None) -> float:
    """Of a weighted sum; a weight of 2 is a row given twice."""
    weight = np.ones_like(differences) if weight is None else np.asarray(weight)
    mean = (weight @ differences) / weight.sum()
    return float(np.sqrt(weight @ np.square(differences - mean)))
