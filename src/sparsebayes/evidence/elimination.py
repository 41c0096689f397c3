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
learned from the leave-one-out loss of the model with all weights, or from its loss on rows that were held
out, and stays until V would fall below a unit of log odds; the point is chosen by its evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebayes import ard
from sparsebayes._typing import IntVector, Mask, RowValues, Vector
from sparsebayes.checkpoint import NO_KEEPER, Keeper
from sparsebayes.design import Design, Meter, Metered
from sparsebayes.evidence.candidates import (
    Candidates,
    Data,
    Scale,
    Solved,
    Stage,
    centred_energy,
    repeated_columns,
)
from sparsebayes.evidence.copies import Copies, find_copies
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.leave_one_out import leave_one_out_losses
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.evidence.resuming import Iteration, iterations, kept_iteration
from sparsebayes.evidence.scale import known_scale, scale_by_evidence, scale_by_losses
from sparsebayes.evidence.selection import (
    LargestEvidence,
    LastOfAtLeast,
    LeastLeaveOneOut,
    Passed,
    PathPoint,
    Selection,
)
from sparsebayes.map_solvers import MapSolver, admit
from sparsebayes.objective import Objective

# Of the weights, at each step: fewer where every step ranks them by the exact posterior (0.1 and 0.2 were
# compared there, on iris, wine, breast cancer and digits, and differed little), more while there are several
# for each sample (0.3 gave no better models there, and took longer).
DROPPED_SHARE = 0.3
DROPPED_SHARE_EXACT = 0.1
DROPPED_SHARE_WIDE = 0.5
WIDE = 2.0


@dataclass(frozen=True, slots=True)
class Judge:
    """Rows that were held out."""

    losses: Callable[[IntVector, Vector], Vector]  # of columns and their weights: a loss a row
    weight: Vector | None


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
    judge: Judge | None = None  # of V, instead of the losses of samples left out
    has_intercept: bool = True  # as the last column: no feature, and never dropped

    def run(
        self,
        design: Design,
        labels: RowValues,
        alpha: Vector,
        w: Vector,
        weight: RowValues | None = None,
        callback: Callable[[State], bool] = lambda state: False,
        keeper: Keeper = NO_KEEPER,
    ) -> Fit:
        """From ``w``, or from where ``keeper`` knows that it stood. Of ``alpha`` only whether the last one,
        the intercept's, is zero (flat) matters.
        """
        admit(self.map_solver(design.shape[1], "path"), design)
        meter = Meter()
        watch = Stopwatch(meter)
        data = Data(labels, weight, self.map_solver, meter)
        flat_intercept = len(alpha) > 0 and alpha[-1] == 0.0
        everything = self._candidates(Metered(design, meter), data, w, flat_intercept)
        # 1. one scale for all
        everything, scale, scale_steps = self._learn_scale(data, everything, keeper.under("scale"))
        # 2. the path
        history: list[Record] = []
        status: FitStatus | None = None
        candidates, exact = everything, self._exact(everything)
        selection = self._selection(exact, data)
        for past in iterations(keeper.past()):
            candidates = replace(candidates, w=past["w"])
            selection.add(self._passed(candidates, past))
            history.append(past.record)
            callback(_state(candidates, candidates.prior(scale.variance_of(candidates)), past.record))
            status, watch = past.status, Stopwatch(meter)
            candidates = _narrowed(candidates, past.keep(len(candidates.w)), everything)
            watch.lap("prune")
        for iteration in range(len(history) + 1, self.max_iter + 1) if status is None else ():
            solved = data.solve(candidates, scale.variance_of(candidates), "path")
            watch.lap("map")
            n_features = self._n_features(candidates)
            point = PathPoint(candidates.positions, n_features, solved.objective, solved.mode)
            passed = point.passed(selection.needs_losses)
            criterion = selection.add(passed)
            keep = self._supported(solved, data.n_samples, fine=exact)
            watch.lap("update")
            variance = scale.variance_of(candidates)
            record = _record(iteration, solved, watch, variance, passed.evidence, criterion)
            if iteration == 1:  # its passes and seconds include the learning of the scale
                record["map_steps"] += scale_steps
            history.append(record)
            candidates = solved.candidates
            stop = callback(_state(candidates, solved.objective.alpha, record))
            if not n_features:
                status = FitStatus.PATH_DONE
            elif stop:
                status = FitStatus.CALLBACK
            keeper.save(kept_iteration(record, status, keep=keep, lasting=_kept(passed)))
            if status is not None:
                break
            watch = Stopwatch(meter)
            candidates = _narrowed(candidates, keep, everything)
            watch.lap("prune")
        status = status or FitStatus.MAX_ITER
        # 3. one point of it
        watch = Stopwatch(meter)
        positions, w = selection.choose()
        keep = np.zeros(len(everything.w), dtype=bool)
        keep[positions] = True
        chosen = everything.take(keep)
        watch.lap("prune")
        chosen = replace(chosen, w=w)
        copies = self._copies(chosen, data)
        if copies is None:
            solved = data.solve(chosen, scale.variance_of(chosen), "model")
        else:
            solved = copies.solve(data, scale.variance_of(chosen), "model")
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
        return self._exact_for(len(candidates.w))

    def _exact_for(self, n_columns: int) -> bool:
        return "gram" in self.map_solver(n_columns, "path").needs

    def _passed(self, candidates: Candidates, past: Iteration) -> Passed:
        """A point that was passed before, as its selection is shown it."""
        evidence, losses = past.record["evidence"], past["losses"] if past.has("losses") else None
        assert evidence is not None
        return Passed(candidates.positions, candidates.w, self._n_features(candidates), evidence, losses)

    def _copies(self, candidates: Candidates, data: Data) -> Copies | None:
        """Where there are many, and room for a matrix without them, as there may not be beside blocks."""
        if self._exact(candidates) or not isinstance(data.labels, np.ndarray):
            return None
        copies = find_copies(candidates)
        return None if copies is None or self._exact(copies.distinct) else copies

    def _learn_scale(
        self, data: Data, everything: Candidates, keeper: Keeper
    ) -> tuple[Candidates, Scale, int]:
        """The weights at it, in all columns; the scale; and the steps made."""
        copies, columns = self._copies(everything, data), everything.design.columns
        if copies is None:
            return self._scale_of(data, everything, keeper, columns, lambda w: w)
        distinct, scale, n_steps = self._scale_of(data, copies.distinct, keeper, columns, copies.all_weights)
        everything = replace(everything, w=copies.all_weights(distinct.w))
        return everything, replace(scale, spread=everything.spread), n_steps

    def _scale_of(
        self,
        data: Data,
        everything: Candidates,
        keeper: Keeper,
        columns: IntVector,
        all_weights: Callable[[Vector], Vector],
    ) -> tuple[Candidates, Scale, int]:
        exact = self._exact(everything) or not everything.n_proper
        if self.variance is not None:
            return known_scale(data, everything, self.variance, exact, keeper)
        if exact:
            return scale_by_evidence(data, everything, self.tol, keeper)
        if self.judge is None:
            # A model with fewer weights, chosen for how well they fit, overfits sooner than that of all.
            return scale_by_losses(data, everything, _left_out, data.weight, keeper, cautious=True)
        judge = self.judge

        def losses_of(solved: Solved) -> Vector:
            return judge.losses(columns, all_weights(solved.mode.w))

        return scale_by_losses(data, everything, losses_of, judge.weight, keeper, cautious=False)

    def _selection(self, exact: bool, data: Data) -> Selection:
        if self.take_last:
            return LastOfAtLeast(0)
        if self.size is not None:
            return LastOfAtLeast(self.size)
        # Without the one sample of a class, nothing would be left to learn it from.
        by_losses = exact and not data.has_class_of_one
        return LeastLeaveOneOut(data.weight) if by_losses else LargestEvidence()

    def _candidates(self, design: Design, data: Data, w: Vector, flat_intercept: bool) -> Candidates:
        energy, varying = centred_energy(design, data.weight, flat_intercept)
        gradient = Objective(design, data.labels, np.zeros_like(w), data.weight).gradient_at_zero()
        if self._exact_for(int(np.count_nonzero(varying))):
            varying &= ~repeated_columns(design, flat_intercept)
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
        return ~least(support, n_dropped)


def least(values: Vector, n: int) -> Mask:
    """The n least, of equal ones the first: without sorting, which would take longer than a pass."""
    if n == 0:
        return np.zeros(len(values), dtype=bool)
    bound = np.partition(values, n - 1)[n - 1]
    chosen = values < bound
    level = np.flatnonzero(values == bound)
    chosen[level[: n - np.count_nonzero(chosen)]] = True
    return np.asarray(chosen)


def _narrowed(candidates: Candidates, keep: Mask, everything: Candidates) -> Candidates:
    """All but the first time in the memory of ``candidates``: ``everything`` is needed again in the end."""
    return candidates.take(keep, owned=candidates.design is not everything.design)


def _left_out(solved: Solved) -> Vector:
    return leave_one_out_losses(solved.objective, solved.mode)


def _state(candidates: Candidates, alpha: Vector, record: Record) -> State:
    return State(candidates.w, alpha, candidates.design.columns, record)


def _kept(passed: Passed) -> dict[str, Vector]:
    losses = {} if passed.losses is None else {"losses": passed.losses}
    return {"w": passed.w, **losses}


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
