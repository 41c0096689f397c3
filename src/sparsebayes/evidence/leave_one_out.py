"""The loss of each sample under the mode without it, from one fit."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from sparsebayes import link
from sparsebayes._typing import AnyArray, Vector
from sparsebayes.curvature import CholeskyCurvature
from sparsebayes.map_solvers import MapResult
from sparsebayes.map_solvers.newton_cg import solve_hessian
from sparsebayes.objective import Objective

# The distance of the two bounds on the degrees of freedom, over the upper one. Their middle is nearer to the
# truth than that, and a step of V by half a decade moves it by a third.
PROBE_TOL = 0.3
# One probe is off by some 1.4 over the root of what it estimates, which is a part of the number of samples:
# fewer samples are probed several times.
SAMPLES_PROBED = 2000
MAX_PROBES = 50
# Logarithms of the variances among which the common one is sought.
WIDEST = 100.0


def leave_one_out_losses(objective: Objective, mode: MapResult) -> Vector:
    """Losses at margins from which what a sample says about itself has been taken away.

    A sample with residual r pulls its own margin by r v, where v is the variance of that margin under the
    posterior of all others; a weight of 2 is two samples, one of which is left out.
    """
    margins, sign = np.asarray(mode.margins), np.asarray(objective.sign)
    _, residual = link.loss_and_residual(margins, sign)
    variance: Vector | float
    if isinstance(mode.curvature, CholeskyCurvature):
        variance = exact_variance(objective, margins, mode.curvature)
    else:
        variance = common_variance(objective, margins, degrees_of_freedom(objective, mode))
    return link.loss_and_residual(margins + residual * variance, sign)[0]


def exact_variance(objective: Objective, margins: Vector, curvature: CholeskyCurvature) -> Vector:
    """v / (1 - beta v) with v = x^T Sigma x, which removes one unit of the sample from Sigma."""
    variance = np.empty_like(margins)
    for rows, block in objective.design.row_blocks():
        variance[rows] = curvature.variance(block)
    remaining = np.maximum(1.0 - link.curvature(margins) * variance, np.finfo(float).eps)
    return np.asarray(variance / remaining)


def common_variance(objective: Objective, margins: Vector, n_determined: float) -> float:
    """The one v for all samples that gives the model so many degrees of freedom.

    Their number is the sum of beta v / (1 + beta v) over samples. In proportion to the prior variances of
    the margins, v would be too small for short rows: losses came out too low for wide priors.
    """
    beta = link.curvature(margins)
    weight = np.ones_like(beta) if objective.weight is None else np.asarray(objective.weight)

    def excess(log_v: float) -> float:
        leverage = beta * np.exp(log_v)
        return float(weight @ (leverage / (1.0 + leverage))) - n_determined

    if excess(-WIDEST) >= 0.0:
        return 0.0
    if excess(WIDEST) <= 0.0:
        return float(np.exp(WIDEST))
    return float(np.exp(brentq(excess, -WIDEST, WIDEST, xtol=1e-6)))


def degrees_of_freedom(objective: Objective, mode: MapResult) -> float:
    """tr(Sigma G) with G = X^T diag(beta) X, estimated by probes: a random sign for every column.

    Signs belong to columns, not to samples, so that a weight of 2 and a repeated row have the same ones;
    and they are fixed, so that models are compared with the same.
    """
    proper = objective.alpha > 0.0
    columns = objective.design.columns
    n_samples = len(mode.margins) if objective.weight is None else float(objective.weight.sum())
    n_probes = int(np.ceil(min(SAMPLES_PROBED / n_samples, MAX_PROBES)))
    estimates = []
    for bits in random_bits(int(columns.max(initial=0)) + 1, n_probes):
        signs = 2.0 * np.unpackbits(bits)[columns] - 1.0
        estimates.append(probed_trace(objective, mode, np.where(proper, signs, 0.0)))
    return max(float(np.mean(estimates)), 0.0) + float(np.count_nonzero(~proper))


@lru_cache(maxsize=1)
def random_bits(n_columns: int, n_probes: int) -> list[AnyArray]:
    """A bit a column for each probe, packed; kept, because every rung of a scale asks for the same ones."""
    rng = np.random.default_rng(0)
    return [np.packbits(rng.integers(0, 2, size=n_columns).astype(bool)) for _ in range(n_probes)]


def probed_trace(objective: Objective, mode: MapResult, signs: Vector) -> float:
    """s^T A^1/2 p = t^T G t - (G t)^T p with t = A^-1/2 s and H p = G t: its mean over signs s is the trace.

    While p is approached by conjugate gradients, the former comes from below and the latter from above.
    """
    root = np.sqrt(objective.alpha)
    probe = np.divide(signs, root, out=np.zeros_like(root), where=signs != 0.0)
    beta, margins = objective.beta(mode.margins), objective.design.matvec(probe)
    right, whole = objective.design.rmatvec(beta * margins), float(beta @ np.square(margins))

    def bounds(p: Vector) -> tuple[float, float]:
        return float((signs * root) @ p), whole - float(right @ p)

    def enough(p: Vector, residual: Vector) -> bool:
        low, high = bounds(p)
        return high - low <= PROBE_TOL * high

    diagonal = 1.0 / mode.curvature.inverse_diagonal()
    return 0.5 * sum(bounds(solve_hessian(objective, mode.margins, diagonal, right, enough)))
