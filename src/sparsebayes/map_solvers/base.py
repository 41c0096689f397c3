"""What every solver of argmin_w L(w) at fixed alpha takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from sparsebayes._typing import RowValues, Vector
from sparsebayes.curvature import Curvature
from sparsebayes.design import Design
from sparsebayes.objective import Objective, Point

MAX_HELD = 20_000**2  # numbers in a solver's own matrix: 3.2 GB


class MapStatus(Enum):
    """Why a solver stopped; the values are the messages."""

    CONVERGED = "the gradient is within the tolerance"
    MAX_ITER = "the step limit was reached"
    STALLED = "no step lowered the objective any further"


@dataclass(frozen=True, slots=True)
class MapResult:
    w: Vector
    margins: RowValues
    value: float
    gradient_norm: float
    curvature: Curvature
    n_steps: int
    status: MapStatus


class MapSolver(Protocol):
    """``needs`` names the verbs of a design that the solver uses beyond matvec and rmatvec."""

    @property
    def needs(self) -> frozenset[str]: ...

    def held(self, n_rows: int, n_columns: int) -> tuple[int, int]:
        """The shape of the largest matrix that it makes of a design."""

    def solve(self, objective: Objective, w0: Vector) -> MapResult: ...


def admit(solver: MapSolver, design: Design) -> None:
    """Refuse, before the first iteration, a design that the solver cannot use."""
    name, storage = type(solver).__name__, type(design).__name__
    missing = sorted(verb for verb in solver.needs if not hasattr(design, verb))
    if missing:
        raise ValueError(f"{name} needs {', '.join(missing)}, which {storage} does not offer.")
    height, width = solver.held(*design.shape)
    if height * width > MAX_HELD:
        raise ValueError(
            f"{name} holds a matrix of {height} x {width} ({height * width * 8 / 1e9:.3g} GB) for this "
            f"many columns; it takes at most {MAX_HELD * 8 / 1e9:.2g} GB. Use solver='auto' or 'dqn'."
        )


def start(objective: Objective, w0: Vector, tol: float) -> tuple[Point, Vector, float]:
    """Where to begin, the gradient there, and the norm to reach: tol times that at w = 0.

    That is w0 only if it is better than nothing. A column that was dropped can leave the others so far
    out that all samples are saturated and the Hessian vanishes.
    """
    point, gradient = objective.at(np.zeros_like(w0)), objective.gradient_at_zero()
    target = tol * norm(gradient)
    if w0.any():
        warm = objective.at(w0)
        if warm.value < point.value:
            point, gradient = warm, objective.grad(warm)
    return point, gradient, target


def norm(vector: Vector) -> float:
    """Euclidean length, also where the squares of the entries are out of range."""
    with np.errstate(over="ignore"):
        return safe_root(float(vector @ vector), vector)


def safe_root(sum_of_squares: float, vector: Vector) -> float:
    """The root of a sum of squares, taken again on a scaled vector where that sum is no good."""
    if 1e-300 < sum_of_squares < np.inf:
        return float(np.sqrt(sum_of_squares))
    peak = float(np.abs(vector).max(initial=0.0))
    return peak * float(np.linalg.norm(vector / peak)) if 0.0 < peak < np.inf else peak
