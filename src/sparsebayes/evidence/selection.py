"""Which point of a path to take, without validation data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sparsebayes import link
from sparsebayes._typing import IntVector, Vector
from sparsebayes.curvature import CholeskyCurvature
from sparsebayes.map_solvers import MapResult
from sparsebayes.objective import Objective

# Losses that differ by less than this many standard errors of their difference are a tie. 0, 1/4, 1/2 and 1
# were compared on iris, wine, breast cancer and digits together: more is more accurate and less sparse.
TIE = 0.5
# Beyond this many rows a standard error is too small to matter, and losses are not kept.
MAX_ROWS_FOR_TIES = 1 << 17


class Selection(Protocol):
    """Is shown the points of a path, largest model first, and chooses one."""

    def add(self, positions: IntVector, objective: Objective, mode: MapResult) -> float:
        """Take note of a point; returns its criterion, the smaller the better."""

    def choose(self) -> tuple[IntVector, Vector]:
        """The positions and weights of the chosen point."""


@dataclass
class LeaveOneOut:
    """The largest model whose leave-one-out loss ties with the least.

    A small model's loss does not pay for its having been selected with the help of the very
    rows it is tested on, hence a tie goes to the larger one.
    """

    points: list[tuple[IntVector, Vector]] = field(default_factory=list)
    losses: list[Vector] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    weight: Vector | None = None

    def add(self, positions: IntVector, objective: Objective, mode: MapResult) -> float:
        losses = leave_one_out_losses(objective, mode)
        weight = np.ones_like(losses) if objective.weight is None else objective.weight
        self.weight = weight
        self.points.append((positions, mode.w))
        self.totals.append(float(weight @ losses))
        self.losses.append(losses if len(losses) <= MAX_ROWS_FOR_TIES else np.empty(0))
        return self.totals[-1]

    def choose(self) -> tuple[IntVector, Vector]:
        best = int(np.argmin(self.totals))
        for point, losses, total in zip(self.points, self.losses, self.totals, strict=True):
            error = self._standard_error(losses, self.losses[best])
            if total - self.totals[best] <= TIE * error:
                return point
        return self.points[best]

    def _standard_error(self, losses: Vector, others: Vector) -> float:
        """Of the difference of two weighted sums of losses; a weight of 2 is a row given twice."""
        if not len(losses) or self.weight is None:
            return 0.0
        difference = losses - others
        mean = (self.weight @ difference) / self.weight.sum()
        return float(np.sqrt(self.weight @ np.square(difference - mean)))


@dataclass
class LargestEvidence:
    """The model with the largest Laplace evidence, its Hessian taken as diagonal."""

    least: float = np.inf
    point: tuple[IntVector, Vector] | None = None

    def add(self, positions: IntVector, objective: Objective, mode: MapResult) -> float:
        # The diagonal even where the exact curvature is at hand: points are compared with each other.
        proper = objective.alpha > 0.0
        diagonal = objective.hess_diag(mode.margins)[proper]
        criterion = mode.value + 0.5 * float(np.log(diagonal / objective.alpha[proper]).sum())
        if self.point is None or criterion < self.least:
            self.least, self.point = criterion, (positions, mode.w)
        return criterion

    def choose(self) -> tuple[IntVector, Vector]:
        assert self.point is not None
        return self.point


@dataclass
class LastPoint:
    """The point that the path ends at, its number having been chosen before."""

    point: tuple[IntVector, Vector] | None = None

    def add(self, positions: IntVector, objective: Objective, mode: MapResult) -> float:
        self.point = positions, mode.w
        return mode.value

    def choose(self) -> tuple[IntVector, Vector]:
        assert self.point is not None
        return self.point


def leave_one_out_losses(objective: Objective, mode: MapResult) -> Vector:
    """The loss of each sample under the mode without it, by one Newton step from the mode.

    Removing one unit of sample i moves its margin by r v / (1 - beta v) with v = x^T Sigma x.
    """
    curvature = mode.curvature
    assert isinstance(curvature, CholeskyCurvature)
    variance = np.empty_like(mode.margins)
    for rows, block in objective.design.row_blocks():
        variance[rows] = curvature.variance(block)
    _, residual = link.loss_and_residual(mode.margins, objective.sign)
    remaining = np.maximum(1.0 - link.curvature(mode.margins) * variance, np.finfo(float).eps)
    moved = mode.margins + residual * variance / remaining
    return link.loss_and_residual(moved, objective.sign)[0]
