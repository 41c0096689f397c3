"""The one scale of all precisions: how it is learned before a path begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsebayes import ard
from sparsebayes._typing import RowValues, Vector
from sparsebayes.checkpoint import NO_KEEPER, Keeper, Step
from sparsebayes.design import Meter
from sparsebayes.evidence.candidates import Candidates, Data, Scale, Solved
from sparsebayes.evidence.selection import ties, weighted_sum

# V of a prior as wide as the noise that it competes with: the variance of the standard logistic distribution.
NOISE_VARIANCE = np.pi**2 / 3.0
# By leave-one-out losses V is sought up and down from there in steps of this factor: finely enough for a loss
# that is flat about its minimum.
VARIANCE_STEP = np.sqrt(10.0)
MAX_RUNGS = 8
# A rung must lower the loss of rows held out by this share, or it is the last one: a wider prior takes more
# steps to solve for.
LEAST_GAIN = 0.01
MAX_SCALE_ROUNDS = 30


class Once:
    """Solves one after the other, each made only where the keeper does not have it."""

    def __init__(self, keeper: Keeper, meter: Meter) -> None:
        self._keeper = keeper
        self._past = keeper.past()
        self._meter = meter
        self.n_steps = 0

    def step(self, make: Callable[[], Step]) -> Step:
        step = next(self._past, None)
        if step is None:
            before = self._meter.counts.copy()
            step = make()
            step.facts["passes"] = dict(self._meter.counts - before)
            self._keeper.save(step)
        else:
            self._meter.counts.update(step.facts["passes"])  # the record of iteration 1 has them
        self.n_steps += step.facts["n_steps"]
        return step


def known_scale(
    data: Data, everything: Candidates, variance: float, exact: bool, keeper: Keeper = NO_KEEPER
) -> tuple[Candidates, Scale, int]:
    """The weights are approached over narrower or wider priors, as they are where the scale is sought."""
    if exact:
        return everything, Scale(variance, None), 0
    last = round(float(np.log(variance / NOISE_VARIANCE) / np.log(VARIANCE_STEP)))
    direction = 1 if last >= 0 else -1
    tried: dict[int, Candidates] = {}
    once = Once(keeper, data.meter)
    for rung in range(0, last + direction, direction):
        start = _extrapolated(tried, rung, direction) or everything
        tried[rung] = replace(everything, w=once.step(_rung(data, start, rung)).lasting["w"])
    return tried[last], Scale(variance, everything.spread), once.n_steps


def scale_by_evidence(
    data: Data, everything: Candidates, tol: float, keeper: Keeper = NO_KEEPER
) -> tuple[Candidates, Scale, int]:
    """Eq. 8 for a shared precision, from the exact posterior: the weights at it, V, and the steps made."""
    variance, once = NOISE_VARIANCE, Once(keeper, data.meter)
    for _ in range(MAX_SCALE_ROUNDS if everything.n_proper else 0):
        step = once.step(_round(data, everything, variance))
        if "w" in step.latest:  # it is gone from older rounds, and not needed of them
            everything = replace(everything, w=step.latest["w"])
        ratio = step.facts["ratio"]
        variance /= ratio
        if abs(float(np.log(ratio))) < tol:
            break
    return everything, Scale(variance, None), once.n_steps


def scale_by_losses(
    data: Data,
    everything: Candidates,
    losses_of: Callable[[Solved], Vector],
    weight: RowValues | None,
    keeper: Keeper = NO_KEEPER,
    *,
    cautious: bool,
) -> tuple[Candidates, Scale, int]:
    """The V with the least loss, the weights there, and the steps made. ``losses_of`` has a loss a sample
    that was left out or held out, and ``weight`` is theirs. A cautious choice is the least V that ties with
    the best.
    """
    tried: dict[int, Candidates] = {}
    losses: dict[int, Vector] = {}
    once = Once(keeper, data.meter)
    best = rung = 0
    direction = 1
    while abs(rung) <= MAX_RUNGS:
        start = _extrapolated(tried, rung, direction) or everything
        step = once.step(_rung(data, start, rung, losses_of))
        tried[rung], losses[rung] = replace(everything, w=step.lasting["w"]), step.lasting["losses"]
        enough = 1.0 if cautious or rung == 0 else 1.0 - LEAST_GAIN
        if weighted_sum(losses[rung], weight) <= enough * weighted_sum(losses[best], weight):
            best = rung
        elif best == 0 and direction == 1:
            direction = -1
        else:
            break
        rung = best + direction
    if cautious:
        rungs = sorted(tried)
        best = rungs[ties([losses[rung] for rung in rungs], weight)[0]]
    return tried[best], Scale(NOISE_VARIANCE * VARIANCE_STEP**best, everything.spread), once.n_steps


def _rung(
    data: Data, start: Candidates, rung: int, losses_of: Callable[[Solved], Vector] | None = None
) -> Callable[[], Step]:
    def make() -> Step:
        solved = data.solve(start, NOISE_VARIANCE * VARIANCE_STEP**rung, "scale")
        arrays = {"w": solved.mode.w}
        if losses_of is not None:
            arrays["losses"] = losses_of(solved)
        return Step({"n_steps": solved.mode.n_steps}, arrays)

    return make


def _round(data: Data, everything: Candidates, variance: float) -> Callable[[], Step]:
    def make() -> Step:
        solved = data.solve(everything, variance, "scale")
        ratio = ard.shared_scale(
            solved.mode.w,
            solved.objective.alpha,
            solved.mode.curvature.inverse_diagonal(),
            reference=variance / NOISE_VARIANCE,
        )
        facts = {"n_steps": solved.mode.n_steps, "ratio": ratio}
        return Step(facts, latest={"w": solved.mode.w})

    return make


def _extrapolated(tried: dict[int, Candidates], rung: int, direction: int) -> Candidates | None:
    """Candidates with the weights that the two steps before, or the one, lead to expect."""
    before, second = tried.get(rung - direction), tried.get(rung - 2 * direction)
    if before is None or second is None:
        return before
    return replace(before, w=2.0 * before.w - second.w)
