"""Columns that are copies of each other: the mode is sought with one of each.

Copies have the same energy, so the same prior. m of them, with a weight of w each, are one column with a
weight of m w and a precision of alpha / m: the margins are the same, and so is the penalty. Text has many of
them, words and phrases of one document, or of those that quote each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebayes._typing import IntVector, Vector
from sparsebayes.curvature import DiagonalCurvature
from sparsebayes.evidence.candidates import Candidates, Data, Solved, Stage

# Of the columns. With fewer copies, a matrix without them saves no more time than it takes to make.
LEAST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Copies:
    """Candidates, many of which are copies of others."""

    everything: Candidates
    distinct: Candidates
    group: IntVector  # the position of each column's own among the distinct ones

    def all_weights(self, w: Vector) -> Vector:
        """From those of the distinct columns: each copy has its share."""
        return np.asarray((w / self.distinct.count)[self.group])

    def solve(self, data: Data, variance: float, stage: Stage) -> Solved:
        """The mode of all columns; for solvers whose curvature is diagonal."""
        solved = data.solve(self.distinct, variance, stage)
        w, alpha = self.all_weights(solved.mode.w), self.everything.prior(variance)
        likelihood = 1.0 / solved.mode.curvature.inverse_diagonal() - solved.objective.alpha
        curvature = DiagonalCurvature(np.maximum(likelihood, 0.0)[self.group] + alpha)
        mode = replace(solved.mode, w=w, curvature=curvature)
        objective = data.objective(self.everything, variance)
        return Solved(replace(self.everything, w=w), objective, solved.solver, mode)


def find_copies(everything: Candidates) -> Copies | None:
    """None where there are few. Two random projections and the energy tell copies from others."""
    design, energy, w = everything.design, everything.energy, everything.w
    directions = np.random.default_rng(0).normal(size=(2, design.shape[0]))
    projection, other = (design.rmatvec(direction) for direction in directions)
    order = np.argsort(projection)
    starts = np.concatenate([[True], np.diff(projection[order]) != 0.0])
    if np.count_nonzero(starts) > (1.0 - LEAST_SHARE) * len(w):
        return None
    # The first of a group stands for it, in whatever order equal ones were sorted.
    firsts = np.minimum.reduceat(order, np.flatnonzero(starts))
    first = np.empty_like(order)
    first[order] = firsts[np.cumsum(starts) - 1]
    alike = (other == other[first]) & (energy == energy[first])
    first = np.where(alike, first, np.arange(len(w)))
    keep = first == np.arange(len(w))
    group = (np.cumsum(keep) - 1)[first]
    n_distinct = int(np.count_nonzero(keep))
    count = np.bincount(group, minlength=n_distinct).astype(np.float64)
    together = np.asarray(np.bincount(group, weights=w, minlength=n_distinct), dtype=np.float64)
    return Copies(everything, replace(everything.take(keep), w=together, count=count), group)
