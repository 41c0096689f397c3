"""Automatic relevance determination: pure functions on arrays, one for each line of the A-stage.

``alpha_k = 0`` marks a flat prior, which is neither updated nor pruned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebayes._typing import Mask, Vector


class AlphaUpdate(NamedTuple):
    alpha: Vector
    n_clamped: int  # weights where 1 - alpha B <= 0


def update_alpha(w: Vector, alpha: Vector, inverse_diagonal: Vector, floor: float) -> AlphaUpdate:
    """Eq. 8, with eq. 15's constant ``floor`` where 1 - alpha B is not positive.

    A weight of exactly zero gets an infinite precision; none gets that of a flat prior.
    """
    determined = 1.0 - alpha * inverse_diagonal
    clamped = determined <= 0.0
    determined[clamped] = floor
    with np.errstate(divide="ignore", over="ignore"):
        updated = np.maximum(determined / np.square(w), np.finfo(np.float64).tiny)
    flat = alpha == 0.0
    updated[flat] = 0.0
    return AlphaUpdate(updated, int(np.count_nonzero(clamped & ~flat)))


def kept(alpha: Vector, alpha_max: float) -> Mask:
    """Step 3: the weights that are not pruned."""
    return np.asarray(alpha <= alpha_max)


def largest_log_change(before: Vector, after: Vector) -> float:
    """Step 4: the largest absolute difference between two successive log alpha."""
    moving = after > 0.0
    if not moving.any():
        return 0.0
    return float(np.abs(np.log(after[moving]) - np.log(before[moving])).max())


def shared_scale(w: Vector, alpha: Vector, inverse_diagonal: Vector, reference: float) -> float:
    """Eq. 8 for precisions that share one factor, alpha_k = c d_k: the new c over the old one.

    The number of well-determined weights, sum(1 - alpha Sigma_kk), over sum(alpha w^2). To both is
    added one weight as the scale ``reference`` (over the old c) would have it: data without a
    signal, and data without an error, then leave the scale finite.
    """
    proper = alpha > 0.0
    determined = float(np.maximum(1.0 - alpha * inverse_diagonal, 0.0)[proper].sum())
    return (determined + 1.0) / (float(alpha @ np.square(w)) + 1.0 / reference)


def support(w: Vector, alpha: Vector, inverse_diagonal: Vector) -> Vector:
    """q^2 / s of each weight: what the data say for it, in units of its own sampling noise.

    s = 1 / Sigma_kk - alpha_k and q = w_k / Sigma_kk are the sparsity and quality factors of
    Tipping & Faul; the evidence wants a finite alpha_k where q^2 > s. Infinite for a flat prior.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        s = np.maximum(1.0 / inverse_diagonal - alpha, 0.0)
        ratio = np.square(w / inverse_diagonal) / s
    ratio[np.isnan(ratio)] = 0.0
    ratio[alpha == 0.0] = np.inf
    return np.asarray(ratio)
