"""Backward elimination: one learned prior scale, the evidence deciding only what to drop.

Letting every alpha_k follow eq. 8 fits each precision to a single weight: small data sets are pruned too
far, and on wide ones a third of pure noise stays. Here all precisions share one factor, alpha_k = c d_k with
d_k a power of the centred energy e_k of column k; and a weight is dropped, never shrunk away:

1. learn c;
2. MAP; rank the weights by q^2/s; drop the least supported ones; repeat until none is left;
3. take one point of this path (``selection.py``), and solve it to full precision.

Where the posterior is exact all along, c is learned by eq. 8 for a shared precision; it is set anew at every
step so that the prior variance of a margin, V = sum_k e_k / alpha_k, stays; and the point is chosen by its
leave-one-out loss. Where the Hessian is taken as diagonal, eq. 8 would make the prior too narrow: c is
learned from the leave-one-out loss of the model with all weights, and stays until V would fall below a unit
of log odds; the point is chosen by its evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sparsebayes import ard
from sparsebayes._typing import IntVector, Mask, Vector
from sparsebayes.design import Design, Meter, Metered, row_shares
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.leave_one_out import leave_one_out_losses
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.evidence.selection import (
    LargestEvidence,
    LastOfAtLeast,
    LeastLeaveOneOut,
    PathPoint,
    Selection,
    ties,
    weighted_sum,
)
from sparsebayes.map_solvers import MapResult, MapSolver, admit
from sparsebayes.objective import Objective

# Of the weights, at each step: fewer where every step ranks them by the exact posterior (0.1 and 0.2 were
# compared there, on iris, wine, breast cancer and digits, and differed little), more while there are several
# for each sample (0.3 gave no better models there, and took longer).
DROPPED_SHARE = 0.3
DROPPED_SHARE_EXACT = 0.1
DROPPED_SHARE_WIDE = 0.5
WIDE = 2.0
# V of a prior as wide as the noise that it competes with: the variance of the standard logistic distribution.
NOISE_VARIANCE = np.pi**2 / 3.0
# By leave-one-out losses V is sought up and down from there in steps of this factor: finely enough for a loss
# that is flat about its minimum.
VARIANCE_STEP = np.sqrt(10.0)
MAX_RUNGS = 8
MAX_SCALE_ROUNDS = 30
# V is kept from falling below this along the path.
LEAST_VARIANCE = 1.0
# Centred energy below this share of the plain one is rounding: the column is constant. Dense columns
# are centred before they come here, so that this is for sparse ones.
CONSTANT_COLUMN = 1e-12


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
        return float(np.sum(self.energy[self.energy > 0.0] ** (1.0 - self.exponent)))

    def prior(self, variance: float) -> Vector:
        """The precisions that give a margin this prior variance."""
        return np.asarray(self.shape * (self.spread / variance))

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
        if self.spread is None:
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

    labels: Vector
    weight: Vector | None
    map_solver: Callable[[int, Stage], MapSolver]

    @property
    def n_samples(self) -> float:
        return len(self.labels) if self.weight is None else float(self.weight.sum())

    def solve(self, candidates: Candidates, variance: float, stage: Stage) -> Solved:
        alpha = candidates.prior(variance)
        objective = Objective(candidates.design, self.labels, alpha, self.weight, candidates.gradient_at_zero)
        solver = self.map_solver(len(alpha), stage)
        mode = solver.solve(objective, candidates.w)
        return Solved(replace(candidates, w=mode.w), objective, solver, mode)


@dataclass(frozen=True, slots=True)
class EliminationLoop:
    """``map_solver(n, stage)`` is for n active weights: to learn the scale, along the path, or for good."""

    map_solver: Callable[[int, Stage], MapSolver]
    exponent: float  # of the energies in the prior: at 1, a column's unit does not matter
    tol: float = 1e-3  # on the change of log c, where it is learned by eq. 8
    max_iter: int = 100  # points of the path
    take_last: bool = False  # of them, instead of choosing one
    size: int | None = None  # a number of features that the path passes through, and that of the model
    variance: float | None = None  # V of all columns, where it is known
    has_intercept: bool = True  # as the last column: no feature, and never dropped

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
        admit(self.map_solver(design.shape[1], "path"), design)
        meter = Meter()
        watch = Stopwatch(meter)
        data = Data(labels, weight, self.map_solver)
        flat_intercept = len(alpha) > 0 and alpha[-1] == 0.0
        everything = self._candidates(Metered(design, meter), data, w, flat_intercept)
        # 1. one scale for all
        everything, scale, scale_steps = self._learn_scale(data, everything)
        # 2. the path
        history: list[Record] = []
        selection: Selection | None = None
        status = FitStatus.MAX_ITER
        candidates, exact = everything, self._exact(everything)
        for iteration in range(1, self.max_iter + 1):
            solved = data.solve(candidates, scale.variance_of(candidates), "path")
            watch.lap("map")
            selection = selection or self._selection(exact)
            n_features = self._n_features(candidates)
            point = PathPoint(candidates.positions, n_features, solved.objective, solved.mode)
            evidence = point.evidence
            criterion = selection.add(point, evidence)
            keep = self._supported(solved, data.n_samples, fine=exact)
            watch.lap("update")
            record = _record(iteration, solved, watch, scale.variance_of(candidates), evidence, criterion)
            if iteration == 1:  # its passes and seconds include the learning of the scale
                record["map_steps"] += scale_steps
            history.append(record)
            candidates = solved.candidates
            state = State(candidates.w, solved.objective.alpha, candidates.design.columns, record)
            stop = callback(state)
            if not n_features:
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
        solved = data.solve(replace(chosen, w=w), scale.variance_of(chosen), "model")
        watch.lap("map")
        n_iter = len(history)
        history.append(_record(n_iter + 1, solved, watch, scale.variance_of(chosen)))
        if not self._n_features(chosen):
            status = FitStatus.ALL_PRUNED
        return Fit(solved.mode.w, solved.objective.alpha, chosen.design, history, n_iter, status)

    def _n_features(self, candidates: Candidates) -> int:
        return len(candidates.w) - int(self.has_intercept)

    def _exact(self, candidates: Candidates) -> bool:
        """Whether the posterior is exact all along the path from these."""
        return "gram" in self.map_solver(len(candidates.w), "path").needs

    def _learn_scale(self, data: Data, everything: Candidates) -> tuple[Candidates, Scale, int]:
        exact = self._exact(everything) or not everything.n_proper
        if self.variance is not None:
            return known_scale(data, everything, self.variance, exact)
        if exact:
            return scale_by_evidence(data, everything, self.tol)
        return scale_by_leave_one_out(data, everything)

    def _selection(self, exact: bool) -> Selection:
        if self.take_last:
            return LastOfAtLeast(0)
        if self.size is not None:
            return LastOfAtLeast(self.size)
        return LeastLeaveOneOut() if exact else LargestEvidence()

    def _candidates(self, design: Design, data: Data, w: Vector, flat_intercept: bool) -> Candidates:
        energy, varying = centred_energy(design, data.weight, flat_intercept)
        gradient = Objective(design, data.labels, np.zeros_like(w), data.weight).gradient_at_zero()
        positions = np.cumsum(varying) - 1  # among those that vary
        return Candidates(design, energy, self.exponent, w, gradient, positions).take(varying)

    def _supported(self, solved: Solved, n_samples: float, fine: bool) -> Mask:
        """All weights but the least supported share of the features, one at least."""
        mode, n_features = solved.mode, self._n_features(solved.candidates)
        support = ard.support(mode.w, solved.objective.alpha, mode.curvature.inverse_diagonal())
        share = DROPPED_SHARE_EXACT if fine else DROPPED_SHARE
        if self.has_intercept:
            support[-1] = np.inf
        if n_features > WIDE * n_samples:
            share = DROPPED_SHARE_WIDE
        n_dropped = int(np.ceil(share * n_features))
        if self.size is not None and n_features - n_dropped < self.size < n_features:
            n_dropped = n_features - self.size
        keep = np.ones(len(support), dtype=bool)
        keep[np.argsort(support, kind="stable")[:n_dropped]] = False
        return keep


def known_scale(
    data: Data, everything: Candidates, variance: float, exact: bool
) -> tuple[Candidates, Scale, int]:
    """The weights are approached over narrower or wider priors, as they are where the scale is sought."""
    if exact:
        return everything, Scale(variance, None), 0
    last = round(float(np.log(variance / NOISE_VARIANCE) / np.log(VARIANCE_STEP)))
    direction = 1 if last >= 0 else -1
    tried: dict[int, Candidates] = {}
    n_steps = 0
    for rung in range(0, last + direction, direction):
        start = _extrapolated(tried, rung, direction) or everything
        solved = data.solve(start, NOISE_VARIANCE * VARIANCE_STEP**rung, "scale")
        tried[rung] = solved.candidates
        n_steps += solved.mode.n_steps
    return tried[last], Scale(variance, everything.spread), n_steps


def scale_by_evidence(data: Data, everything: Candidates, tol: float) -> tuple[Candidates, Scale, int]:
    """Eq. 8 for a shared precision, from the exact posterior: the weights at it, V, and the steps made."""
    variance, n_steps = NOISE_VARIANCE, 0
    for _ in range(MAX_SCALE_ROUNDS if everything.n_proper else 0):
        solved = data.solve(everything, variance, "scale")
        everything = solved.candidates
        n_steps += solved.mode.n_steps
        ratio = ard.shared_scale(
            everything.w,
            solved.objective.alpha,
            solved.mode.curvature.inverse_diagonal(),
            reference=variance / NOISE_VARIANCE,
        )
        variance /= ratio
        if abs(float(np.log(ratio))) < tol:
            break
    return everything, Scale(variance, None), n_steps


def scale_by_leave_one_out(data: Data, everything: Candidates) -> tuple[Candidates, Scale, int]:
    """The least V whose leave-one-out loss ties with the best one's, the weights there, and the steps made.

    The least of them, because a model with fewer weights, chosen for how well they fit, overfits sooner.
    """
    tried: dict[int, Candidates] = {}
    losses: dict[int, Vector] = {}
    n_steps = 0
    best = rung = 0
    direction = 1
    while abs(rung) <= MAX_RUNGS:
        start = _extrapolated(tried, rung, direction) or everything
        solved = data.solve(start, NOISE_VARIANCE * VARIANCE_STEP**rung, "scale")
        n_steps += solved.mode.n_steps
        tried[rung] = solved.candidates
        losses[rung] = leave_one_out_losses(solved.objective, solved.mode)
        if weighted_sum(losses[rung], data.weight) <= weighted_sum(losses[best], data.weight):
            best = rung
        elif best == 0 and direction == 1:
            direction = -1
        else:
            break
        rung = best + direction
    rungs = sorted(tried)
    least = rungs[ties([losses[rung] for rung in rungs], data.weight)[0]]
    return tried[least], Scale(NOISE_VARIANCE * VARIANCE_STEP**least, everything.spread), n_steps


def _extrapolated(tried: dict[int, Candidates], rung: int, direction: int) -> Candidates | None:
    """Candidates with the weights that the two steps before, or the one, lead to expect."""
    before, second = tried.get(rung - direction), tried.get(rung - 2 * direction)
    if before is None or second is None:
        return before
    return replace(before, w=2.0 * before.w - second.w)


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


def _record(
    iteration: int,
    solved: Solved,
    watch: Stopwatch,
    prior_variance: float,
    evidence: float | None = None,
    criterion: float | None = None,
) -> Record:
    return make_record(
        iteration,
        solved.solver,
        solved.mode,
        watch,
        n_active=len(solved.mode.w),
        prior_variance=prior_variance,
        evidence=evidence,
        criterion=criterion,
    )
