"""Strong Wolfe line search on cached margins (Nocedal & Wright, algorithms 3.5 and 3.6).

O(N) a trial, no product with the matrix. It always returns a trial: the one that meets both
conditions, or else the lowest one seen, in the worst case the start itself with eta = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebayes.objective import Ray, Trial

SUFFICIENT_DECREASE = 1e-4  # c1 and c2 as Nocedal & Wright give them for quasi-Newton steps
CURVATURE = 0.9
EXPANSION = 2.0
MAX_TRIALS = 40


class SearchResult(NamedTuple):
    trial: Trial
    satisfied: bool  # both Wolfe conditions hold
    n_trials: int


def strong_wolfe(ray: Ray, first: float) -> SearchResult:
    """Search from ``eta = 0``, where the slope must be negative, with first trial ``first``."""
    start = ray.start
    # Near the optimum the decrease drowns in the rounding of the objective; there a value
    # within rounding of the start is no evidence against a step that flattens the slope.
    rounding = 4.0 * np.finfo(np.float64).eps * abs(start.value)
    low, high = start, None
    best = start
    eta = first
    for n_trials in range(1, MAX_TRIALS + 1):
        trial = ray.at(eta)
        if np.isfinite(trial.value) and trial.value < best.value:
            best = trial
        allowed = start.value + SUFFICIENT_DECREASE * eta * start.slope + rounding
        if not trial.value <= allowed or (low.eta > 0.0 and trial.value > low.value + rounding):
            high = trial
        elif abs(trial.slope) <= CURVATURE * abs(start.slope):
            return SearchResult(trial, True, n_trials)
        elif trial.slope > 0.0:
            high = trial
        else:
            low = trial
        eta = low.eta * EXPANSION or eta * EXPANSION
        if high is not None:
            if high.eta - low.eta <= np.finfo(np.float64).eps * high.eta:
                break
            eta = _interpolate(low, high)
    return SearchResult(best, False, n_trials)


def _interpolate(low: Trial, high: Trial) -> float:
    """Minimiser of the cubic through both ends, kept away from them; else the middle."""
    width = high.eta - low.eta
    middle = low.eta + 0.5 * width
    if not np.isfinite(high.value) or not np.isfinite(high.slope):
        return middle
    chord = 3.0 * (low.value - high.value) / width + low.slope + high.slope
    discriminant = chord * chord - low.slope * high.slope
    if not 0.0 <= discriminant < np.inf:
        return middle
    root = float(np.sqrt(discriminant))
    denominator = high.slope - low.slope + 2.0 * root
    if denominator == 0.0:
        return middle
    eta = high.eta - width * (high.slope + root - chord) / denominator
    return eta if low.eta + 0.1 * width <= eta <= high.eta - 0.1 * width else middle
