"""Strong Wolfe conditions on problems of every scale, and a search that cannot succeed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsebayes.map_solvers.linesearch import CURVATURE, MAX_TRIALS, SUFFICIENT_DECREASE, strong_wolfe
from sparsebayes.objective import Trial
from tests.problems import logistic


class Curve:
    """A ray that is a plain function."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope
        self.start = self.at(0.0)

    def at(self, eta):
        return Trial(eta, self.value(eta), self.slope(eta), None)


@given(seed=st.integers(0, 10_000), first=st.floats(1e-6, 1e6), scale=st.floats(1e-3, 1e3))
def test_wolfe_conditions_hold_on_logistic_posteriors(seed, first, scale):
    problem = logistic(seed=seed)
    objective = problem.objective()
    point = objective.at(scale * np.random.default_rng(seed).normal(size=problem.X.shape[1]))
    gradient = objective.grad(point)
    ray = objective.along(point, -gradient, -float(gradient @ gradient))
    result = strong_wolfe(ray, first)
    assert result.satisfied
    start, trial = ray.start, result.trial
    slack = 1e-14 * abs(start.value)
    assert trial.value <= start.value + SUFFICIENT_DECREASE * trial.eta * start.slope + slack
    assert abs(trial.slope) <= CURVATURE * abs(start.slope)


def test_quadratic_is_solved_whatever_the_first_trial():
    for first in (1e-12, 1.0, 1e12):
        result = strong_wolfe(Curve(lambda x: (x - 3.0) ** 2, lambda x: 2 * (x - 3.0)), first)
        assert result.satisfied
        assert abs(result.trial.slope) <= 0.9 * 6.0


def test_a_rising_function_returns_the_start():
    # The slope lies: it says descent where every step climbs.
    result = strong_wolfe(Curve(lambda x: 1.0 + x, lambda x: -1.0), 1.0)
    assert not result.satisfied
    assert result.trial.eta == 0.0
    assert result.n_trials <= MAX_TRIALS


def test_values_that_are_not_numbers_are_stepped_back_from():
    def value(x):
        return (x - 1.0) ** 2 if x < 5.0 else np.nan

    result = strong_wolfe(Curve(value, lambda x: 2 * (x - 1.0) if x < 5.0 else np.nan), 1e6)
    assert result.satisfied
    assert result.trial.eta < 5.0


def test_an_unbounded_descent_returns_the_lowest_point_seen():
    result = strong_wolfe(Curve(lambda x: -x, lambda x: -1.0), 1.0)
    assert not result.satisfied
    assert result.trial.value == -(2.0 ** (MAX_TRIALS - 1))
