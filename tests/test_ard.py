"""Eq. 8 and 15 as printed, pruning, and the shared scale."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebayes import ard


def test_update_is_equation_8_and_15():
    w = np.array([0.5, -2.0, 0.1, 0.0])
    alpha = np.array([1.0, 0.2, 5.0, 1.0])
    sigma = np.array([0.25, 1.0, 0.3, 0.5])
    updated, n_clamped = ard.update_alpha(w, alpha, sigma, floor=1e-4)
    assert updated[0] == (1 - 1.0 * 0.25) / 0.5**2
    assert updated[1] == (1 - 0.2 * 1.0) / 2.0**2
    assert updated[2] == 1e-4 / 0.1**2  # 1 - 5 * 0.3 < 0
    assert updated[3] == np.inf
    assert n_clamped == 1


def test_a_flat_prior_stays_flat_and_is_never_clamped():
    updated, n_clamped = ard.update_alpha(np.array([3.0]), np.array([0.0]), np.array([0.1]), 1e-4)
    assert updated[0] == 0.0
    assert n_clamped == 0
    assert ard.kept(updated, 1e6).all()


def test_tiny_weights_overflow_to_infinity_without_a_warning():
    updated, _ = ard.update_alpha(np.array([1e-200]), np.array([1.0]), np.array([0.5]), 1e-4)
    assert updated[0] == np.inf
    huge, _ = ard.update_alpha(np.array([1e200]), np.array([1.0]), np.array([0.5]), 1e-4)
    assert huge[0] > 0.0  # zero would mean a flat prior


def test_pruning_is_strict():
    np.testing.assert_array_equal(
        ard.kept(np.array([1.0, 1e6, 1.1e6, np.inf]), 1e6), [True, True, False, False]
    )


def test_largest_log_change_ignores_flat_priors():
    before, after = np.array([1.0, 0.0, 2.0]), np.array([2.0, 0.0, 1.0])
    assert ard.largest_log_change(before, after) == pytest.approx(np.log(2.0))
    assert ard.largest_log_change(np.zeros(1), np.zeros(1)) == 0.0


def test_shared_scale_solves_its_own_equation():
    """At the returned scale, (gamma + 1) = c (sum d w^2 + 1 / c0) with c_old = 1."""
    w, alpha, sigma = np.array([1.0, 2.0, 9.0]), np.array([2.0, 1.0, 0.0]), np.array([0.1, 0.3, 1.0])
    gamma = (1 - 0.2) + (1 - 0.3)
    ratio = ard.shared_scale(w, alpha, sigma, reference=0.5)
    assert ratio == pytest.approx((gamma + 1) / (2.0 * 1.0 + 1.0 * 4.0 + 1 / 0.5))


@pytest.mark.parametrize(("w", "sigma"), [(0.0, 1.0), (0.0, 1e-9), (1e6, 1.0), (1e6, 1e-9)])
def test_shared_scale_is_positive_and_bounded_without_signal_and_without_error(w, sigma):
    ratio = ard.shared_scale(np.array([w]), np.array([1.0]), np.array([sigma]), reference=1.0)
    assert 0.0 < ratio <= 2.0


def test_support_is_that_of_the_marginal_likelihood():
    """q^2 > s is where the evidence of one weight has a maximum at a finite precision."""
    alpha, sigma = 0.7, 0.4
    s = 1 / sigma - alpha
    for w in (0.1, 0.3, 0.6, 1.5):
        q = w / sigma
        a = np.geomspace(1e-6, 1e9, 20_000)
        evidence = 0.5 * (np.log(a) - np.log(a + s) + q**2 / (a + s))
        finite = evidence.argmax() < len(a) - 1
        support = ard.support(np.array([w]), np.array([alpha]), np.array([sigma]))[0]
        assert support == pytest.approx(q**2 / s)
        assert (support > 1.0) == finite


def test_support_of_a_flat_prior_is_infinite_and_of_an_unmeasured_weight_zero():
    support = ard.support(np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([1.0, 0.5]))
    np.testing.assert_array_equal(support, [np.inf, 0.0])
