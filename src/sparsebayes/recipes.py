"""Solver names and what each one means: the one table of strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from sparsebayes._typing import Vector
from sparsebayes.design import Design, HoldLimit, ScaleName
from sparsebayes.evidence import EliminationLoop, Fit, JointLoop, SequentialLoop, State
from sparsebayes.map_solvers import DQNSolver, MapSolver, NewtonCGSolver, NewtonSolver

InterceptPrior = Literal["ard", "flat"]
BasisName = Literal["features", "kernel", "hidden"]

# Up to here the exact posterior costs no more than the data: a few hundred columns, 1 MB of Hessian.
EXACT_BELOW = 400
# Enough to rank weights by; only the model that is kept is solved to map_tol.
PATH_TOL = 1e-3
# Rows up to which a column of the sequential solver is free; from there on its price grows like Schwarz's.
FREE_UP_TO = 1000.0


class OuterLoop(Protocol):
    def run(
        self,
        design: Design,
        labels: Vector,
        alpha: Vector,
        w: Vector,
        weight: Vector | None,
        callback: Callable[[State], bool],
    ) -> Fit: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """An estimator's parameters, each one resolved."""

    solver: str
    basis: BasisName
    tol: float
    max_iter: int
    stop_at_max_iter: bool
    """It is where to stop, not a limit: a path ends there and its last point is the model."""
    init_alpha: float
    alpha_max: float
    gamma_floor: float
    map_tol: float
    map_max_iter: int
    fit_intercept: bool
    intercept_prior: InterceptPrior
    scale: ScaleName
    hold_limit: HoldLimit | None
    """Up to where a matrix of basis functions is held in memory; None where it is the user's own."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What ``solver=name`` stands for; a parameter left at "auto" takes its value from here."""

    outer_loop: Callable[[Settings], OuterLoop]
    map_tol: float
    init_alpha: float
    intercept_prior: InterceptPrior
    scale: Callable[[float, int], ScaleName]
    """From the numbers of rows and columns."""
    scale_if_none: ScaleName
    """How columns are scaled for arithmetic where the user asks for no scaling of the prior."""
    centre: bool
    """Columns of dense data are centred where the intercept is flat: the same model, better conditioned."""
    label: str
    """What the solver did, in ``status_``."""
    map_limit_is_normal: bool
    """The inner loop is meant to be cut off by map_max_iter; no reason to warn."""


def algorithm_2(map_solver: Callable[[float, int], MapSolver]) -> Callable[[Settings], OuterLoop]:
    def make(settings: Settings) -> OuterLoop:
        solver = map_solver(settings.map_tol, settings.map_max_iter)
        return JointLoop(
            lambda n_active, finish: solver,
            settings.tol,
            settings.max_iter,
            settings.alpha_max,
            settings.gamma_floor,
        )

    return make


def elimination(settings: Settings) -> OuterLoop:
    def map_solver(n_active: int, finish: bool) -> MapSolver:
        return exact_once_small(n_active, settings, settings.map_tol if finish else PATH_TOL)

    per_column = settings.scale == "columns"
    return EliminationLoop(
        map_solver, per_column, settings.tol, settings.max_iter, take_last=settings.stop_at_max_iter
    )


def sequential(settings: Settings) -> OuterLoop:
    solver = NewtonSolver(settings.map_tol, settings.map_max_iter)
    return SequentialLoop(solver, price_of_a_column, settings.tol, settings.max_iter)


def price_of_a_column(n_rows: float) -> float:
    """1/2 log(n / 1000). The evidence of many rows is large enough for columns of nothing but chance."""
    return 0.5 * max(float(np.log(n_rows / FREE_UP_TO)), 0.0)


def exact_once_small(n_active: int, settings: Settings, tol: float) -> MapSolver:
    """The diagonal of the Hessian, to ``tol`` at best; the full inverse once few weights are left."""
    if n_active <= EXACT_BELOW:
        return NewtonSolver(settings.map_tol, settings.map_max_iter)
    return NewtonCGSolver(max(settings.map_tol, tol), settings.map_max_iter)


def as_given(n_rows: float, n_columns: int) -> ScaleName:
    return "none"


def unit_columns(n_rows: float, n_columns: int) -> ScaleName:
    return "columns"


def free_of_units(n_rows: float, n_columns: int) -> ScaleName:
    return "columns" if n_columns <= n_rows else "common"


def recipe(solver: str, basis: BasisName) -> Recipe:
    """The entry of the table; "auto" depends on what the columns are."""
    return AUTO_FOR_KERNELS if solver == "auto" and basis == "kernel" else RECIPES[solver]


RECIPES: dict[str, Recipe] = {
    # The paper to the letter: Algorithms 1 and 2 with its constants.
    "dqn": Recipe(
        outer_loop=algorithm_2(DQNSolver),
        map_tol=1e-1,
        init_alpha=1e-5,
        intercept_prior="ard",
        scale=as_given,
        scale_if_none="none",
        centre=False,
        label="dqn",
        map_limit_is_normal=True,
    ),
    # Classical SBL: Algorithm 2 with the full inverse of eq. 7.
    "newton": Recipe(
        outer_loop=algorithm_2(NewtonSolver),
        map_tol=1e-8,
        init_alpha=1e-5,
        intercept_prior="ard",
        scale=as_given,
        scale_if_none="none",
        centre=False,
        label="newton",
        map_limit_is_normal=False,
    ),
    # Ours: one learned scale, the Hessian diagonal until few weights are left, then the full inverse.
    # A common factor of X is absorbed by that scale, and init_alpha only marks a prior as proper.
    "auto": Recipe(
        outer_loop=elimination,
        map_tol=1e-8,
        init_alpha=1.0,
        intercept_prior="flat",
        scale=free_of_units,
        scale_if_none="common",
        centre=True,
        label="auto (elimination)",
        map_limit_is_normal=False,
    ),
    # Tipping & Faul's: from nothing, the exact posterior of the few columns that are in.
    "sequential": Recipe(
        outer_loop=sequential,
        map_tol=1e-6,
        init_alpha=1.0,
        intercept_prior="flat",
        scale=unit_columns,
        scale_if_none="common",
        centre=True,
        label="sequential",
        map_limit_is_normal=False,
    ),
}

# "auto" where columns are kernels at the rows: there are as many as rows, and neighbours are nearly alike. To
# build a model of a few from nothing is quicker than to prune that many, and needs no square matrix.
AUTO_FOR_KERNELS = replace(RECIPES["sequential"], label="auto (sequential)")
