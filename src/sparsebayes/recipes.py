"""Solver names and what each one means: the one table of strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

import numpy as np

from sparsebayes._typing import RowValues, Vector
from sparsebayes.checkpoint import Keeper
from sparsebayes.design import Design, HoldLimit, ScaleName
from sparsebayes.evidence import EliminationLoop, Fit, JointLoop, SequentialLoop, Stage, State
from sparsebayes.map_solvers import DQNSolver, MapSolver, NewtonCGSolver, NewtonSolver

InterceptPrior = Literal["ard", "flat"]
BasisName = Literal["features", "kernel", "hidden"]
SelectName = Literal["evidence", "cv", "cv-1se"]

# Up to here the exact posterior costs no more than the data: a few hundred columns, 1 MB of Hessian.
EXACT_BELOW = 400
# Enough to rank weights and scales by, of 1e-1 to 1e-3; only the model that is kept is solved to map_tol.
PATH_TOL = 3e-2
# How far a column's energy counts in the prior of elimination, by how the columns are scaled: at 1 a column's
# unit does not matter. 0, 1/2 and 1 were compared on six wide sets: 1/2 was never far from the best.
ENERGY_EXPONENT: dict[ScaleName, float] = {"none": 0.0, "common": 0.5, "columns": 1.0}
# Where rows that are held out can tell, they do: 0 is better on two of the six, 1 on none.
OTHER_EXPONENTS = {0.5: (0.0,)}
# Rows up to which a column of the sequential solver is free.
FREE_UP_TO = 1000.0


class OuterLoop(Protocol):
    def run(
        self,
        design: Design,
        labels: RowValues,
        alpha: Vector,
        w: Vector,
        weight: RowValues | None,
        callback: Callable[[State], bool],
        keeper: Keeper,
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
    energy_exponent: float
    """Of the columns' energies in the prior of a path: at 1, their units do not matter."""
    select: SelectName
    """How a point of a path is chosen."""
    max_features: int | None
    """Where given, the size of that point instead."""
    prior_variance: float | None
    """Of a margin, where it is not to be learned."""
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
    follows_path: bool = False
    """From all weights down to none, one of the models on the way being chosen."""
    starts_empty: bool = False
    """What is not in the model has not been dropped from it."""
    map_limit_is_normal: bool = False
    """The inner loop is meant to be cut off by map_max_iter; no reason to warn."""


def algorithm_2(map_solver: Callable[[float, int], MapSolver]) -> Callable[[Settings], OuterLoop]:
    def make(settings: Settings) -> OuterLoop:
        solver = map_solver(settings.map_tol, settings.map_max_iter)
        return JointLoop(solver, settings.tol, settings.max_iter, settings.alpha_max, settings.gamma_floor)

    return make


def elimination(settings: Settings) -> OuterLoop:
    def map_solver(n_active: int, stage: Stage) -> MapSolver:
        tol = settings.map_tol if stage == "model" else PATH_TOL
        # Where the scale is sought, the last one's weights would often do by that tolerance.
        return exact_once_small(n_active, settings, tol, min_iter=int(stage == "scale"))

    return EliminationLoop(
        map_solver,
        settings.energy_exponent,
        settings.tol,
        settings.max_iter,
        take_last=settings.stop_at_max_iter,
        size=settings.max_features,
        variance=settings.prior_variance,
        has_intercept=settings.fit_intercept,
    )


def sequential(settings: Settings) -> OuterLoop:
    solver = NewtonSolver(settings.map_tol, settings.map_max_iter)
    return SequentialLoop(
        solver, price_of_a_column, settings.tol, settings.max_iter, settings.stop_at_max_iter
    )


def price_of_a_column(n_rows: float) -> float:
    """1/2 log(n / 1000), which grows as Schwarz's does.

    Of thousands of candidates the best raise the evidence of many rows by chance. Without a price, 20 000
    to 500 000 generated rows got two to three times the vectors and lost three to five points; below a
    few thousand rows it made no difference that could be told from chance.
    """
    return 0.5 * max(float(np.log(n_rows / FREE_UP_TO)), 0.0)


def exact_once_small(n_active: int, settings: Settings, tol: float, min_iter: int = 0) -> MapSolver:
    """The diagonal of the Hessian, to ``tol`` at best; the full inverse once few weights are left."""
    if n_active <= EXACT_BELOW:
        return NewtonSolver(settings.map_tol, settings.map_max_iter)
    return NewtonCGSolver(max(settings.map_tol, tol), settings.map_max_iter, min_iter)


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
        outer_loop=algorithm_2(partial(NewtonSolver, by_rows=True)),
        map_tol=1e-8,
        init_alpha=1e-5,
        intercept_prior="ard",
        scale=as_given,
        scale_if_none="none",
        centre=False,
        label="newton",
    ),
    # Ours: one learned scale, the Hessian diagonal until few weights are left, then the full inverse.
    # A common factor of X is absorbed by that scale, and init_alpha only marks a prior as proper.
    "elimination": Recipe(
        outer_loop=elimination,
        map_tol=1e-8,
        init_alpha=1.0,
        intercept_prior="flat",
        scale=free_of_units,
        scale_if_none="common",
        centre=True,
        label="elimination",
        follows_path=True,
    ),
    # Tipping & Faul's: from nothing, the exact posterior of the few columns that are in.
    "sequential": Recipe(
        outer_loop=sequential,
        # Where columns nearly separate the rows, precisions pass on a thousand times what the mode is off by.
        map_tol=1e-10,
        init_alpha=1.0,
        intercept_prior="flat",
        scale=unit_columns,
        scale_if_none="common",
        centre=True,
        label="sequential",
        starts_empty=True,
    ),
}
RECIPES["auto"] = replace(RECIPES["elimination"], label="auto (elimination)")

# "auto" where columns are kernels at the rows: there are as many as rows, and neighbours are nearly alike. To
# build a model of a few from nothing is quicker than to prune that many, and needs no square matrix.
AUTO_FOR_KERNELS = replace(RECIPES["sequential"], label="auto (sequential)")
