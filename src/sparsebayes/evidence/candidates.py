"""The columns of a path: those still in play, their prior, and the mode of their posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from sparsebayes._typing import IntVector, Mask, RowValues, Vector
from sparsebayes.design import Design, Meter, row_shares
from sparsebayes.map_solvers import MapResult, MapSolver
from sparsebayes.objective import Objective

# V is kept from falling below this along the path.
LEAST_VARIANCE = 1.0
# Centred energy below this share of the plain one is rounding: the column is constant. Dense columns
# are centred before they come here, so that this is for sparse ones.
CONSTANT_COLUMN = 1e-12

# Products of copies differ by rounding, relative to their size.
COPY = 1e-12

Stage = Literal["scale", "path", "model"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """The columns still in play, their energies (0: no proper prior) and their present weights."""

    design: Design
    energy: Vector
    exponent: float  # d_k = e_k ** exponent
    w: Vector
    gradient_at_zero: Vector
    positions: IntVector  # among the columns that the path began with
    count: Vector | float = 1.0  # of the copies that each stands for

    @property
    def n_proper(self) -> int:
        return int(np.count_nonzero(self.energy))

    @property
    def shape(self) -> Vector:
        """The d_k."""
        return np.where(self.energy > 0.0, self.energy**self.exponent, 0.0)

    @property
    def spread(self) -> float:
        """The prior variance of a margin at c = 1."""
        proper = self.energy > 0.0
        count = self.count if isinstance(self.count, float) else self.count[proper]
        return float(np.sum(count * self.energy[proper] ** (1.0 - self.exponent)))

    def prior(self, variance: float) -> Vector:
        """The precisions that give a margin this prior variance."""
        return np.asarray(self.shape * (self.spread / variance) / self.count)

    def take(self, keep: Mask, *, owned: bool = False) -> Candidates:
        """The kept ones; with ``owned``, in the memory of these, which are not to be used any more."""
        design = self.design
        if not keep.all():
            design = design.narrow(keep) if owned else design.take(keep)
        return Candidates(
            design,
            self.energy[keep],
            self.exponent,
            self.w[keep],
            self.gradient_at_zero[keep],
            self.positions[keep],
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """What the prior keeps along the path: V, or c until V would be too small."""

    variance: float  # V of all candidates
    spread: float | None  # theirs, where c is kept

    def variance_of(self, candidates: Candidates) -> float:
        if self.spread is None or candidates.spread == self.spread:
            return self.variance
        at_same_c = self.variance * candidates.spread / self.spread
        return max(at_same_c, min(LEAST_VARIANCE, self.variance))


@dataclass(frozen=True, slots=True)
class Solved:
    """Candidates at the mode of their posterior."""

    candidates: Candidates
    objective: Objective
    solver: MapSolver
    mode: MapResult


@dataclass(frozen=True, slots=True)
class Data:
    """What all points of a path have in common."""

    labels: RowValues
    weight: RowValues | None
    map_solver: Callable[[int, Stage], MapSolver]
    meter: Meter = field(default_factory=Meter)

    @property
    def n_samples(self) -> float:
        return len(self.labels) if self.weight is None else float(self.weight.sum())

    @property
    def has_class_of_one(self) -> bool:
        """Whether a class is one row, which is not given twice by its weight either."""
        n_ones, n_rows = self.labels.sum(), len(self.labels)
        weight_of_ones = n_ones if self.weight is None else self.weight @ self.labels
        weights = (weight_of_ones, self.n_samples - weight_of_ones)
        counted = zip((n_ones, n_rows - n_ones), weights, strict=True)
        return any(rows == 1.0 and weight < 2.0 for rows, weight in counted)

    def objective(self, candidates: Candidates, variance: float) -> Objective:
        alpha = candidates.prior(variance)
        return Objective(candidates.design, self.labels, alpha, self.weight, candidates.gradient_at_zero)

    def solve(self, candidates: Candidates, variance: float, stage: Stage) -> Solved:
        objective = self.objective(candidates, variance)
        solver = self.map_solver(len(candidates.w), stage)
        mode = solver.solve(objective, candidates.w)
        return Solved(replace(candidates, w=mode.w), objective, solver, mode)


def repeated_columns(design: Design, flat_intercept: bool) -> Mask:
    """Columns that are copies of another one, up to a constant where a flat intercept takes that.

    Each copy but the first would only widen the prior of what they are together. Two random projections
    tell copies from others.
    """
    directions = np.random.default_rng(0).normal(size=(design.shape[0], 2))
    if flat_intercept:
        directions -= directions.mean(axis=0)
    projections = design.rmatmat(directions)
    length = np.linalg.norm(projections, axis=1)
    apart = np.linalg.norm(projections[:, None] - projections, axis=2)
    copies = apart <= COPY * np.minimum(length[:, None], length)
    # In the caller's order, so that the design's own does not matter.
    return np.asarray((copies & (design.columns[:, None] > design.columns)).any(axis=1))


def centred_energy(design: Design, weight: RowValues | None, flat_intercept: bool) -> tuple[Vector, Mask]:
    """Mean squares of the columns about their means, and which columns are worth a weight.

    With a flat intercept (the last column) a constant column has nothing to add; without one,
    energies are taken about zero.
    """
    share = row_shares(design.shape[0], weight)
    energy = design.sq_rmatvec(share)
    if not flat_intercept:
        return energy, energy > 0.0
    centred = energy - np.square(design.rmatvec(share))
    centred[centred <= CONSTANT_COLUMN * energy] = 0.0
    varying = centred > 0.0
    centred[-1], varying[-1] = 0.0, True
    return centred, varying
