"""What an outer loop returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypedDict

from sparsebayes._typing import IntVector, Vector
from sparsebayes.design import Design


class FitStatus(Enum):
    """Why an outer loop stopped; the values are the messages."""

    CONVERGED = "converged: the largest change of log alpha fell below tol"
    PATH_DONE = "converged: the path was followed to its end and its best point taken"
    NO_BETTER = "converged: no better model was found for many steps"
    MAX_ITER = "not converged: max_iter outer iterations were made"
    CHOSEN = "stopped at the outer iteration that was chosen for it"
    ALL_PRUNED = "every feature was pruned"
    CALLBACK = "stopped by a callback"


class Record(TypedDict):
    """One outer iteration."""

    iteration: int
    map_solver: str
    n_active: int  # weights after pruning, the intercept among them
    objective: float  # L at the mode, before alpha is updated
    gradient_norm: float
    map_converged: bool
    log_alpha_change: float | None  # the largest, over the weights that are kept
    map_steps: int
    n_clamped: int  # weights where 1 - alpha B <= 0
    passes: dict[str, int]  # products with X, by verb
    seconds: dict[str, float]  # by phase: passes, map (passes apart), update, prune
    prior_variance: float | None  # V, that of a margin, where one scale is learned for all weights
    evidence: float | None  # its logarithm by Laplace's approximation, where the loop follows a path
    criterion: float | None  # what the point of a path is chosen by, the smaller the better


@dataclass(frozen=True, slots=True)
class State:
    """A read-only view of an outer loop between two iterations."""

    w: Vector
    alpha: Vector
    columns: IntVector
    record: Record


@dataclass(frozen=True, slots=True)
class Fit:
    w: Vector
    alpha: Vector
    design: Design  # of the columns that are left
    history: list[Record]
    n_iter: int  # records may be one more: elimination adds its final solve
    status: FitStatus

    @property
    def active(self) -> IntVector:
        """The caller's columns, the intercept being one past the last feature."""
        return self.design.columns
