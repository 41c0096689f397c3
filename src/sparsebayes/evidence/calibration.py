"""What margins of samples held out say about a model: how far to trust it, and how good it is."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from sparsebayes import link
from sparsebayes._typing import Vector
from sparsebayes.evidence.selection import weighted_sum

# Logarithms of the slopes that are considered.
WIDEST = 5.0


def calibration_slope(margins: Vector, sign: Vector, weight: Vector | None) -> float:
    """The factor that makes margins of samples held out the best log odds.

    Its logarithm has a standard normal prior, which a few dozen samples outweigh, and which keeps the factor
    finite where fewer are all on the right side.
    """

    def loss(log_slope: float) -> float:
        losses = link.loss_and_residual(np.exp(log_slope) * margins, sign)[0]
        return weighted_sum(losses, weight) + 0.5 * log_slope**2

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))


def calibrated_losses(margins: Vector, sign: Vector, weight: Vector | None) -> Vector:
    """Of each sample, once its margin is multiplied by the slope of all."""
    slope = calibration_slope(margins, sign, weight)
    return link.loss_and_residual(slope * margins, sign)[0]
