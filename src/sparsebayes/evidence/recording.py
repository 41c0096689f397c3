"""One outer iteration, counted and timed."""

from __future__ import annotations

import time

from sparsebayes.design import Meter
from sparsebayes.evidence.fit import Record
from sparsebayes.map_solvers import MapResult, MapSolver, MapStatus


class Stopwatch:
    """Seconds by phase, those spent in products with X set apart; and the products' counts."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._counts = meter.counts.copy()
        self._start = meter.seconds
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {"passes": 0.0}

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        passes = self._meter.seconds - self._start
        self.seconds[phase] = now - self._last - (passes - self.seconds["passes"])
        self.seconds["passes"] = passes
        self._last = now

    @property
    def counts(self) -> dict[str, int]:
        return dict(self._meter.counts - self._counts)


def make_record(
    iteration: int,
    solver: MapSolver,
    mode: MapResult,
    watch: Stopwatch,
    *,
    n_active: int,
    log_alpha_change: float | None = None,
    n_clamped: int = 0,
    prior_variance: float | None = None,
    evidence: float | None = None,
    criterion: float | None = None,
) -> Record:
    return Record(
        iteration=iteration,
        map_solver=type(solver).__name__,
        n_active=n_active,
        objective=mode.value,
        gradient_norm=mode.gradient_norm,
        map_converged=mode.status is MapStatus.CONVERGED,
        log_alpha_change=log_alpha_change,
        map_steps=mode.n_steps,
        n_clamped=n_clamped,
        passes=watch.counts,
        seconds=watch.seconds,
        prior_variance=prior_variance,
        evidence=evidence,
        criterion=criterion,
    )
