"""The logistic function and its derivatives against mpmath, from -800 to 800."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from sparsebayes import link

MARGINS = np.concatenate([np.linspace(-800, 800, 161), [-36.8, -1e-9, 0.0, 1e-9, 36.8, 709.9, -745.1]])
TINIEST = np.finfo(float).tiny  # below it a float has no relative precision


def exact(function):
    with mpmath.workdps(400):
        return np.array([float(function(mpmath.mpf(float(z)))) for z in MARGINS])


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=4e-16, atol=TINIEST)


def test_log1pexp():
    close(link.log1pexp(MARGINS), exact(lambda z: mpmath.log(1 + mpmath.exp(z))))


def test_sigmoid():
    close(link.sigmoid(MARGINS), exact(lambda z: 1 / (1 + mpmath.exp(-z))))


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_loss_and_residual(label):
    sign = np.full_like(MARGINS, 2 * label - 1)
    loss, residual = link.loss_and_residual(MARGINS, sign)
    close(loss, exact(lambda z: mpmath.log(1 + mpmath.exp(-(2 * label - 1) * z))))
    close(residual, exact(lambda z: 1 / (1 + mpmath.exp(-z)) - label))


def test_curvature():
    close(link.curvature(MARGINS), exact(lambda z: mpmath.exp(z) / (1 + mpmath.exp(z)) ** 2))
