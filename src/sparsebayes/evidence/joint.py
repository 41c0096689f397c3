"""Algorithm 2: all weights and all precisions in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsebayes import ard
from sparsebayes._typing import RowValues, Vector
from sparsebayes.checkpoint import NO_KEEPER, Keeper
from sparsebayes.design import Design, Meter, Metered
from sparsebayes.evidence.fit import Fit, FitStatus, State
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.evidence.resuming import kept_iteration, resumed
from sparsebayes.map_solvers import MapSolver, admit
from sparsebayes.objective import Objective


@dataclass(frozen=True, slots=True)
class JointLoop:
    """Algorithm 2 of the paper, numbered as in its box; one step after the other, each on all weights."""

    map_solver: MapSolver
    tol: float = 1e-3  # DELTA_LOGALPHA
    max_iter: int = 100  # MaxIts
    alpha_max: float = 1e6  # ALPHA_MAX
    gamma_floor: float = 1e-4  # c

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
        """From ``w`` and ``alpha``, or from where ``keeper`` knows that it stood; ``callback`` sees every
        iteration and stops the loop by True.
        """
        admit(self.map_solver, design)
        meter = Meter()
        at = resumed(keeper, Metered(design, meter), w, alpha, callback)
        design, w, alpha, history, status = at.design, at.w, at.alpha, at.history, at.status
        left = at.left(self.max_iter)
        del at  # and the vectors of the start with it
        for iteration in left:
            watch = Stopwatch(meter)
            # 1. MAP stage
            mode = self.map_solver.solve(Objective(design, labels, alpha, weight), w)
            watch.lap("map")
            # 2. A-stage, eq. 8 and 15
            before = alpha
            inverse_diagonal = mode.curvature.inverse_diagonal()
            alpha, n_clamped = ard.update_alpha(mode.w, before, inverse_diagonal, self.gamma_floor)
            watch.lap("update")
            # 3. prune
            keep = ard.kept(alpha, self.alpha_max)
            w, alpha, before = mode.w[keep], alpha[keep], before[keep]
            change = ard.largest_log_change(before, alpha)
            if not keep.all():
                design = design.narrow(keep)
            watch.lap("prune")
            record = make_record(
                iteration,
                self.map_solver,
                mode,
                watch,
                n_active=len(w),
                log_alpha_change=change,
                n_clamped=n_clamped,
            )
            history.append(record)
            del mode, inverse_diagonal, before  # vectors of the length before pruning
            stop = callback(State(w, alpha, design.columns, record))
            # 4. stop test
            if not (alpha > 0.0).any():
                status = FitStatus.ALL_PRUNED
            elif change < self.tol:
                status = FitStatus.CONVERGED
            elif stop:
                status = FitStatus.CALLBACK
            keeper.save(kept_iteration(record, status, keep=keep, latest={"w": w, "alpha": alpha}))
            if status is not None:
                break
        return Fit(w, alpha, design, history, len(history), status or FitStatus.MAX_ITER)
