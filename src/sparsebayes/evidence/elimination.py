"""Backward elimination: one learned prior scale, the evidence deciding only what to drop.

Letting every alpha_k follow eq. 8 fits each precision to a single weight, and prunes small data sets
too far. Here all precisions share one factor, alpha_k = c d_k, with d_k the centred energy
e_k of column k, or 1; and a weight is dropped, never shrunk away:

1. learn c from the data, by eq. 8 for a shared precision;
2. MAP; rank the weights by q^2/s; drop the least supported ones; set c so that the prior variance
   of a margin, V = sum_k e_k / alpha_k, is what it was; repeat until none is left;
3. take one point of this path, by leave-one-out loss where the posterior was exact all the way and by
   the evidence otherwise (``selection.py``), and solve it to full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebayes import ard
from sparsebayes._typing import IntVector, Mask, Vector
from sparsebayes.curvature import CholeskyCurvature
from sparsebayes.design import Design, Meter, Metered, row_shares
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.evidence.selection import LargestEvidence, LastPoint, LeaveOneOut, Selection
from sparsebayes.map_solvers import MapResult, MapSolver, admit
from sparsebayes.objective import Objective

# Of the weights, at each step: fewer where each step ranks them by the exact posterior. 0.1 and 0.2 were
# compared there, on the same four sets as in selection.py, and differed little.
DROPPED_SHARE = 0.3
DROPPED_SHARE_EXACT = 0.1
# The variance of the standard logistic distribution: a prior as wide as the noise it competes with.
REFERENCE_VARIANCE = np.pi**2 / 3.0
MAX_SCALE_ROUNDS = 30
# Centred energy below this share of the plain one is rounding: the column is constant. Dense columns
# are centred before they come here, so that this is for sparse ones.
CONSTANT_COLUMN = 1e-12


@dataclass(frozen=True, slots=True)
class Candidates:
    """The columns still in play, their energies (0: no proper prior) and their present weights."""

    design: Design
    energy: Vector
    per_column: bool  # d_k = e_k; otherwise d_k = 1
    w: Vector
    positions: IntVector  # among the columns that the path began with

    @property
    def n_proper(self) -> int:
        return int(np.count_nonzero(self.energy))

    def prior(self, variance: float) -> Vector:
        """The precisions that give a margin this prior variance."""
        proper = self.energy > 0.0
        shape = np.where(proper, self.energy if self.per_column else 1.0, 0.0)
        unscaled = float(np.sum(self.energy[proper] / shape[proper]))
        return np.asarray(shape * (unscaled / variance))

    def take(self, keep: Mask, *, owned: bool = False) -> Candidates:
        """The kept ones; with ``owned``, in the memory of these, which are not to be used any more."""
        design = self.design
        if not keep.all():
            design = design.narrow(keep) if owned else design.take(keep)
        return Candidates(design, self.energy[keep], self.per_column, self.w[keep], self.positions[keep])


@dataclass(frozen=True, slots=True)
class Solved:
    """Candidates at the mode of their posterior."""

    candidates: Candidates
    objective: Objective
    solver: MapSolver
    mode: MapResult

    @property
    def exact(self) -> bool:
        return isinstance(self.mode.curvature, CholeskyCurvature)


@dataclass(frozen=True, slots=True)
class Data:
    """What all points of a path have in common."""

    labels: Vector
    weight: Vector | None
    map_solver: Callable[[int, bool], MapSolver]

    def solve(self, candidates: Candidates, variance: float, finish: bool = False) -> Solved:
        alpha = candidates.prior(variance)
        objective = Objective(candidates.design, self.labels, alpha, self.weight)
        solver = self.map_solver(len(alpha), finish)
        mode = solver.solve(objective, candidates.w)
        return Solved(replace(candidates, w=mode.w), objective, solver, mode)


@dataclass(frozen=True, slots=True)
class EliminationLoop:
    """``map_solver(n, finish)`` is for n active weights, along the path or for good."""

    map_solver: Callable[[int, bool], MapSolver]
    per_column: bool
    tol: float = 1e-3  # on the change of log c
    max_iter: int = 100  # points of the path
    take_last: bool = False  # of them, instead of choosing one

    def run(
        self,
        design: Design,
        labels: Vector,
        alpha: Vector,
        w: Vector,
        weight: Vector | None = None,
        callback: Callable[[State], bool] = lambda state: False,
    ) -> Fit:
        """From ``w``; of ``alpha`` only whether the last one, the intercept's, is zero (flat) matters."""
        admit(self.map_solver(design.shape[1], False), design)
        meter = Meter()
        watch = Stopwatch(meter)
        data = Data(labels, weight, self.map_solver)
        flat_intercept = len(alpha) > 0 and alpha[-1] == 0.0
        everything = self._candidates(Metered(design, meter), w, weight, flat_intercept)
        # 1. one scale for all
        everything, variance, change, scale_steps = self._learn_scale(data, everything)
        # 2. the path
        history: list[Record] = []
        selection: Selection | None = None
        status = FitStatus.MAX_ITER
        candidates = everything
        for iteration in range(1, self.max_iter + 1):
            solved = data.solve(candidates, variance)
            watch.lap("map")
            selection = selection or self._selection(solved.exact)
            criterion = selection.add(candidates.positions, solved.objective, solved.mode)
            keep = supported(solved)
            watch.lap("update")
            record = _record(iteration, solved, watch, criterion)
            if iteration == 1:  # its passes and seconds include the learning of the scale
                record["map_steps"] += scale_steps
                record["log_alpha_change"] = change
            history.append(record)
            candidates = solved.candidates
            state = State(candidates.w, solved.objective.alpha, candidates.design.columns, record)
            stop = callback(state)
            if not candidates.n_proper or not keep.any():
                status = FitStatus.PATH_DONE
                break
            if stop:
                status = FitStatus.CALLBACK
                break
            watch = Stopwatch(meter)
            candidates = candidates.take(keep, owned=candidates.design is not everything.design)
            watch.lap("prune")
        assert selection is not None
        # 3. one point of it
        watch = Stopwatch(meter)
        positions, w = selection.choose()
        keep = np.zeros(len(everything.w), dtype=bool)
        keep[positions] = True
        chosen = everything.take(keep)
        watch.lap("prune")
        solved = data.solve(replace(chosen, w=w), variance, finish=True)
        watch.lap("map")
        n_iter = len(history)
        history.append(_record(n_iter + 1, solved, watch, None))
        if not chosen.n_proper:
            status = FitStatus.ALL_PRUNED
        alpha = solved.objective.alpha
        return Fit(solved.mode.w, alpha, chosen.design, history, n_iter, status)

    def _selection(self, exact: bool) -> Selection:
        if self.take_last:
            return LastPoint()
        return LeaveOneOut() if exact else LargestEvidence()

    def _candidates(
        self, design: Design, w: Vector, weight: Vector | None, flat_intercept: bool
    ) -> Candidates:
        energy, varying = centred_energy(design, weight, flat_intercept)
        positions = np.cumsum(varying) - 1  # among those that vary
        return Candidates(design, energy, self.per_column, w, positions).take(varying)

    def _learn_scale(self, data: Data, everything: Candidates) -> tuple[Candidates, float, float, int]:
        """Eq. 8 for a shared precision: the weights at it, the prior variance of a margin that it
        stands for, the last change of its logarithm, and the steps it took.
        """
        variance, change, n_steps = REFERENCE_VARIANCE, 0.0, 0
        for _ in range(MAX_SCALE_ROUNDS if everything.n_proper else 0):
            solved = data.solve(everything, variance)
            everything = solved.candidates
            n_steps += solved.mode.n_steps
            ratio = ard.shared_scale(
                everything.w,
                solved.objective.alpha,
                solved.mode.curvature.inverse_diagonal(),
                reference=variance / REFERENCE_VARIANCE,
            )
            variance /= ratio
            change = abs(float(np.log(ratio)))
            if change < self.tol:
                break
        return everything, variance, change, n_steps


def centred_energy(design: Design, weight: Vector | None, flat_intercept: bool) -> tuple[Vector, Mask]:
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


def supported(solved: Solved) -> Mask:
    """All weights but the least supported share of them, one at least; a flat one always stays."""
    mode = solved.mode
    support = ard.support(mode.w, solved.objective.alpha, mode.curvature.inverse_diagonal())
    share = DROPPED_SHARE_EXACT if solved.exact else DROPPED_SHARE
    n_dropped = int(np.ceil(share * solved.candidates.n_proper))
    keep = np.ones(len(support), dtype=bool)
    keep[np.argsort(support, kind="stable")[:n_dropped]] = False
    return keep


def _record(iteration: int, solved: Solved, watch: Stopwatch, criterion: float | None) -> Record:
    n_active = len(solved.mode.w)
    return make_record(iteration, solved.solver, solved.mode, watch, n_active=n_active, criterion=criterion)
