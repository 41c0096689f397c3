"""Backward elimination: one learned prior scale, the evidence deciding only what to drop.

Letting every alpha_k follow eq. 8 fits each precision to a single weight, and prunes small data sets
too far. Here all precisions share one factor, alpha_k = c d_k, with d_k the centred energy
e_k of column k, or 1; and a weight is dropped, never shrunk away:

1. learn c from the data, by eq. 8 for a shared precision;
2. MAP; rank the weights by q^2/s; drop the least supported fifth; set c so that the prior variance
   of a margin, V = sum_k e_k / alpha_k, is what it was; repeat until none is left;
3. take the point of this path with the least leave-one-out loss where the posterior was exact all
   the way, with the largest evidence otherwise, and solve it to full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebayes import ard, link
from sparsebayes._typing import Mask, Vector
from sparsebayes.curvature import CholeskyCurvature
from sparsebayes.design import Design, Meter, Metered
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.map_solvers import MapResult, MapSolver
from sparsebayes.objective import Objective

DROPPED_SHARE = 0.2
# The variance of the standard logistic distribution: a prior as wide as the noise it competes with.
REFERENCE_VARIANCE = np.pi**2 / 3.0
MAX_SCALE_ROUNDS = 30
# Centred energy below this share of the plain one is rounding: the column is constant.
CONSTANT_COLUMN = 1e-12


@dataclass(frozen=True, slots=True)
class Candidates:
    """The columns still in play, their energies (0: no proper prior) and their present weights."""

    design: Design
    energy: Vector
    per_column: bool  # d_k = e_k; otherwise d_k = 1
    w: Vector

    @property
    def n_proper(self) -> int:
        return int(np.count_nonzero(self.energy))

    def prior(self, variance: float) -> Vector:
        """The precisions that give a margin this prior variance."""
        proper = self.energy > 0.0
        shape = np.where(proper, self.energy if self.per_column else 1.0, 0.0)
        unscaled = float(np.sum(self.energy[proper] / shape[proper]))
        return np.asarray(shape * (unscaled / variance))

    def take(self, keep: Mask) -> Candidates:
        return Candidates(self.design.take(keep), self.energy[keep], self.per_column, self.w[keep])


@dataclass(frozen=True, slots=True)
class Solved:
    """The mode of the candidates' posterior."""

    candidates: Candidates
    objective: Objective
    solver: MapSolver
    mode: MapResult


@dataclass(frozen=True, slots=True)
class EliminationLoop:
    """``map_solver(n, finish)`` is for n active weights, along the path or for good."""

    map_solver: Callable[[int, bool], MapSolver]
    per_column: bool
    tol: float = 1e-3  # on the change of log c
    max_iter: int = 100  # points of the path

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
        meter = Meter()
        watch = Stopwatch(meter)
        design = Metered(design, meter)
        flat_intercept = len(alpha) > 0 and alpha[-1] == 0.0
        energy, varying = centred_energy(design, weight, flat_intercept)
        candidates = Candidates(design, energy, self.per_column, w).take(varying)

        def solve(candidates: Candidates, variance: float, finish: bool = False) -> Solved:
            alpha = candidates.prior(variance)
            objective = Objective(candidates.design, labels, alpha, weight)
            solver = self.map_solver(len(alpha), finish)
            mode = solver.solve(objective, candidates.w)
            return Solved(replace(candidates, w=mode.w), objective, solver, mode)

        # 1. one scale for all
        variance = REFERENCE_VARIANCE
        for _ in range(MAX_SCALE_ROUNDS if candidates.n_proper else 0):
            solved = solve(candidates, variance)
            candidates = solved.candidates
            ratio = ard.shared_scale(
                candidates.w,
                solved.objective.alpha,
                solved.mode.curvature.inverse_diagonal(),
                reference=variance / REFERENCE_VARIANCE,
            )
            variance /= ratio
            if abs(np.log(ratio)) < self.tol:
                break

        # 2. the path
        history: list[Record] = []
        best, least = candidates, np.inf
        status = FitStatus.MAX_ITER
        choose = leave_one_out_loss
        for iteration in range(1, self.max_iter + 1):
            solved = solve(candidates, variance)
            candidates, alpha = solved.candidates, solved.objective.alpha
            watch.lap("map")
            if not isinstance(solved.mode.curvature, CholeskyCurvature):
                choose = minus_evidence
            criterion = choose(solved)
            if criterion < least:
                best, least = candidates, criterion
            keep = supported(solved)
            watch.lap("update")
            record = _record(iteration, solved, watch, criterion)
            history.append(record)
            stop = callback(State(candidates.w, alpha, candidates.design.columns, record))
            if not keep.any() or not candidates.n_proper:
                status = FitStatus.PATH_DONE
                break
            if stop:
                status = FitStatus.CALLBACK
                break
            watch = Stopwatch(meter)
            candidates = candidates.take(keep)
            watch.lap("prune")

        # 3. its best point
        watch = Stopwatch(meter)
        solved = solve(best, variance, finish=True)
        watch.lap("map")
        history.append(_record(len(history) + 1, solved, watch, least))
        if not best.n_proper:
            status = FitStatus.ALL_PRUNED
        alpha = solved.objective.alpha
        return Fit(solved.mode.w, alpha, best.design.columns, history, status)


def centred_energy(design: Design, weight: Vector | None, flat_intercept: bool) -> tuple[Vector, Mask]:
    """Mean squares of the columns about their means, and which columns are worth a weight.

    With a flat intercept (the last column) a constant column has nothing to add; without one,
    energies are taken about zero.
    """
    n_rows = design.shape[0]
    share = np.full(n_rows, 1.0 / n_rows) if weight is None else weight / weight.sum()
    energy = design.sq_rmatvec(share)
    if not flat_intercept:
        return energy, energy > 0.0
    centred = energy - np.square(design.rmatvec(share))
    centred[centred <= CONSTANT_COLUMN * energy] = 0.0
    varying = centred > 0.0
    centred[-1], varying[-1] = 0.0, True
    return centred, varying


def supported(solved: Solved) -> Mask:
    """All weights but the fifth (one at least) with the least support; a flat one always stays."""
    alpha = solved.objective.alpha
    support = ard.support(solved.mode.w, alpha, solved.mode.curvature.inverse_diagonal())
    n_dropped = int(np.ceil(DROPPED_SHARE * solved.candidates.n_proper))
    keep = np.ones(len(support), dtype=bool)
    keep[np.argsort(support, kind="stable")[:n_dropped]] = False
    return keep


def leave_one_out_loss(solved: Solved) -> float:
    """The loss of each sample under the mode without it, summed: one Newton step from the mode.

    Removing a unit of sample i moves its margin by r v / (1 - beta v), v = x^T Sigma x. A weight of
    2 is a sample given twice, each copy left out in turn.
    """
    objective, mode = solved.objective, solved.mode
    curvature = mode.curvature
    assert isinstance(curvature, CholeskyCurvature)
    variance = np.empty_like(mode.margins)
    for rows, block in objective.design.row_blocks():
        variance[rows] = curvature.variance(block)
    _, residual = link.loss_and_residual(mode.margins, objective.sign)
    remaining = np.maximum(1.0 - link.curvature(mode.margins) * variance, np.finfo(float).eps)
    return objective.loss(mode.margins + residual * variance / remaining)[0]


def minus_evidence(solved: Solved) -> float:
    """Minus the Laplace evidence with a diagonal Hessian, constants apart."""
    alpha = solved.objective.alpha
    proper = alpha > 0.0
    shrinkage = alpha[proper] * solved.mode.curvature.inverse_diagonal()[proper]
    return solved.mode.value - 0.5 * float(np.log(shrinkage).sum())


def _record(iteration: int, solved: Solved, watch: Stopwatch, criterion: float) -> Record:
    return make_record(
        iteration,
        solved.solver,
        solved.mode,
        watch,
        n_active=len(solved.mode.w),
        log_alpha_change=0.0,
        criterion=criterion,
    )
