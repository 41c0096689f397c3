"""Algorithm 2: all weights and all precisions in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsebayes import ard
from sparsebayes._typing import Vector
from sparsebayes.design import Design, Meter, Metered
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.map_solvers import MapSolver
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
        labels: Vector,
        alpha: Vector,
        w: Vector,
        weight: Vector | None = None,
        callback: Callable[[State], bool] = lambda state: False,
    ) -> Fit:
        """From ``w`` and ``alpha``; ``callback`` sees every iteration and stops the loop by True."""
        meter = Meter()
        design = Metered(design, meter)
        history: list[Record] = []
        status = FitStatus.MAX_ITER
        for iteration in range(1, self.max_iter + 1):
            watch = Stopwatch(meter)
            # 1. MAP stage
            mode = self.map_solver.solve(Objective(design, labels, alpha, weight), w)
            watch.lap("map")
            # 2. A-stage, eq. 8 and 15
            inverse_diagonal = mode.curvature.inverse_diagonal()
            updated = ard.update_alpha(mode.w, alpha, inverse_diagonal, self.gamma_floor)
            watch.lap("update")
            # 3. prune
            keep = ard.kept(updated.alpha, self.alpha_max)
            change = ard.largest_log_change(alpha[keep], updated.alpha[keep])
            alpha, w = updated.alpha[keep], mode.w[keep]
            if not keep.all():
                design = design.take(keep)
            watch.lap("prune")
            record = make_record(
                iteration,
                self.map_solver,
                mode,
                watch,
                n_active=len(w),
                log_alpha_change=change,
                n_clamped=updated.n_clamped,
            )
            history.append(record)
            stop = callback(State(w, alpha, design.columns, record))
            # 4. stop test
            if not (alpha > 0.0).any():
                status = FitStatus.ALL_PRUNED
            elif change < self.tol:
                status = FitStatus.CONVERGED
            elif stop:
                status = FitStatus.CALLBACK
            else:
                continue
            break
        return Fit(w, alpha, design.columns, history, status)
