"""One binary problem, from a matrix and labels to coefficients in the caller's units."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sparsebayes import _checks
from sparsebayes._typing import IntVector, RowValues, Vector
from sparsebayes.basis import Basis, IdentityBasis, as_matrix, margins
from sparsebayes.checkpoint import NO_KEEPER, Keeper
from sparsebayes.design import ColumnScale, Design, RowBlocks, RowVector, WithIntercept, as_design
from sparsebayes.evidence import EliminationLoop, FitStatus, Judge, Record, State
from sparsebayes.evidence.calibration import calibrated_losses
from sparsebayes.posterior import Posterior, laplace
from sparsebayes.recipes import Recipe, Settings, recipe

# One column in so many: to sort fewer than that takes less time than to look at all.
SORTED_UP_TO = 30


@dataclass(frozen=True, slots=True)
class Start:
    """Where an earlier fit ended: the kept functions of the basis by position, in the caller's units."""

    columns: IntVector
    coef: Vector
    alpha: Vector
    intercept: float
    intercept_alpha: float


@dataclass(frozen=True, slots=True)
class PathModel(Start):
    """A model that a path passed through."""

    evidence: float


@dataclass(frozen=True, slots=True)
class FoldScores:
    """Models of some sizes, largest first, on the samples that their folds held out."""

    n_relevant: IntVector
    log_loss: Vector
    accuracy: Vector


@dataclass(frozen=True, slots=True)
class Solution(Start):
    """What a binary problem came to; ``complaint`` is what the user is to be warned of."""

    basis: Basis  # of the kept functions alone
    posterior: Posterior
    history: list[Record]
    n_iter: int
    status: str
    complaint: str | None
    path: list[PathModel]
    folds: FoldScores | None = None


class Progress:
    """What a callback is given after each outer iteration; nothing in it can be changed.

    Attributes
    ----------
    problem : int
        Number of the binary problem: its row in ``coef_``.
    classes : tuple
        Its two labels; the first is None in one-vs-rest.
    record : dict
        The iteration's entry in ``history_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifier
    >>> def show(progress):
    ...     if progress.iteration % 8 == 0:
    ...         print(progress.iteration, "iterations,", len(progress.features), "features")
    >>> clf = SBLClassifier(callbacks=[show]).fit(*load_breast_cancer(return_X_y=True))
    8 iterations, 12 features
    16 iterations, 3 features
    """

    def __init__(
        self, state: State, scale: ColumnScale, basis: Basis, problem: int, classes: tuple[Any, Any]
    ) -> None:
        self._state = state
        self._scale = scale
        self._basis = basis
        self.problem = problem
        self.classes = classes

    @property
    def record(self) -> Record:
        return deepcopy(self._state.record)

    @property
    def iteration(self) -> int:
        """Outer iterations made so far."""
        return self._state.record["iteration"]

    @cached_property
    def _start(self) -> Start:
        state = self._state
        start = _in_users_units(state.columns, state.w, state.alpha, self._scale)
        start.columns.flags.writeable = start.coef.flags.writeable = False
        return start

    @property
    def features(self) -> IntVector:
        """What is still in the model: indices of features, training rows or hidden nodes."""
        return self._basis.names[self._start.columns]

    @property
    def _numbers(self) -> IntVector:
        """One for each function: a training row at several widths is several."""
        return self._basis.numbers[self._start.columns]

    @property
    def coef(self) -> Vector:
        """Their coefficients."""
        return self._start.coef

    @property
    def intercept(self) -> float:
        return self._start.intercept

    def decision_function(self, X: Any) -> Vector:
        """Margins of this binary problem at the rows of X."""
        return self._margins(_checks.check_rows(X, type(self).__name__))

    def _margins(self, X: Any) -> Vector:
        return margins(self._basis.kept(self._start.columns), self.coef, self.intercept, X)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Rows that a model is judged on and not fitted to."""

    X: Any
    basis: Basis
    sign: Vector
    weight: Vector | None

    def margins(self, model: Start) -> Vector:
        return margins(self.basis.kept(model.columns), model.coef, model.intercept, self.X)

    def judge(self, scale: ColumnScale) -> Judge:
        """Of weights on a design with this scale. Margins are calibrated, as those of the model will be."""

        def losses(columns: IntVector, w: Vector) -> Vector:
            margins = self.margins(_in_users_units(columns, w, np.ones_like(w), scale))
            return calibrated_losses(margins, self.sign, self.weight)

        return Judge(losses, self.weight)


def fit_problem(
    X: Any,
    basis: Basis,
    labels: Vector,
    weight: Vector | None,
    settings: Settings,
    start: Start | None,
    n_threads: int | None,
    callback: Callable[[State, ColumnScale], bool],
    keeper: Keeper = NO_KEEPER,
    held_out: HeldOut | None = None,
) -> Solution:
    """Build the design, run the outer loop, translate back. A path's prior scale is learned from the rows
    that were held out, where there are any.
    """
    flat_intercept = settings.fit_intercept and settings.intercept_prior == "flat"
    taken = recipe(settings.solver, settings.basis)
    matrix = as_matrix(basis, X, settings.hold_limit, n_threads)
    dtype, n_functions = X.dtype, matrix.shape[1]
    design: Design
    design, scale = as_design(
        matrix,
        scale=settings.scale,
        centre=taken.centre and flat_intercept,
        weight=weight,
        threads=n_threads,
        owned=not isinstance(basis, IdentityBasis),
        # Where columns are not centred, which makes constants vanish, one would share the intercept's weight.
        leave_out_constants=settings.basis == "features" and settings.fit_intercept and not taken.centre,
    )
    del matrix
    if settings.fit_intercept:
        design = WithIntercept(design, n_functions)
    if start is None:
        alpha, w = np.full(design.shape[1], settings.init_alpha), np.zeros(design.shape[1])
        if flat_intercept:
            alpha[-1] = 0.0
    else:
        design, alpha, w = _continue(design, scale, start, settings)
    loop = taken.outer_loop(settings)
    if held_out is not None and isinstance(loop, EliminationLoop):
        loop = replace(loop, judge=held_out.judge(scale))
    own_labels: RowValues = labels
    own_weight: RowValues | None = weight
    if isinstance(X, RowBlocks):  # sent to the rows once
        own_labels = RowVector.of(X, labels)
        own_weight = None if weight is None else RowVector.of(X, weight)
    path: list[PathModel] = []

    def watch(state: State) -> bool:
        if taken.follows_path:
            path.append(_path_model(state, scale, dtype))
        return callback(state, scale)

    # The loop alone is to hold these, so that what it prunes is freed.
    owned: list[Any] = [w, alpha, design]
    del w, alpha, design
    # Solvers look at what came out, and step back from what is not finite.
    with np.errstate(over="ignore", invalid="ignore"):
        fit = loop.run(owned.pop(), own_labels, owned.pop(), owned.pop(), own_weight, watch, keeper)
        posterior = laplace(fit.design, fit.w, fit.alpha, own_labels, own_weight, scale)
    ended = _in_users_units(fit.active, fit.w, fit.alpha, scale)
    _refuse_overflow(ended, dtype)
    path = [_settled(model, ended) for model in path]
    intercept, intercept_alpha, status = ended.intercept, ended.intercept_alpha, fit.status
    if not len(ended.columns):
        if not (taken.starts_empty and status in (FitStatus.MAX_ITER, FitStatus.CALLBACK)):
            status = FitStatus.ALL_PRUNED
        if settings.fit_intercept:
            intercept, intercept_alpha = log_odds(labels, weight), 0.0
    elif status is FitStatus.MAX_ITER and settings.stop_at_max_iter:
        status = FitStatus.CHOSEN
    return Solution(
        ended.columns,
        ended.coef,
        ended.alpha,
        intercept,
        intercept_alpha,
        basis.kept(ended.columns),
        posterior,
        fit.history,
        fit.n_iter,
        f"{taken.label}: {status.value}",
        _complaint(status, fit.history[-1], taken),
        path,
    )


def log_odds(labels: Vector, weight: Vector | None) -> float:
    """The intercept of a model without features: its probability is the class's share."""
    weight = np.ones_like(labels) if weight is None else weight
    return float(np.log(weight @ labels) - np.log(weight @ (1.0 - labels)))


def _in_users_units(columns: IntVector, w: Vector, alpha: Vector, scale: ColumnScale) -> Start:
    """Features in ascending order; the intercept, one past the last of them, set apart."""
    n_features = len(scale.exponent)
    order = _ascending(columns, n_features + 1)
    order = order[columns[order] < n_features]
    kept = columns[order]
    last = columns == n_features
    coef = scale.coefficients(w[order], kept)
    return Start(
        kept,
        coef,
        scale.precisions(alpha[order], kept),
        float(w[last].sum()) - scale.intercept_shift(coef, kept),
        float(alpha[last][0]) if last.any() else np.inf,
    )


def _ascending(columns: IntVector, n_columns: int) -> IntVector:
    """Their argsort; where they are many, by writing each one's position to its place."""
    if SORTED_UP_TO * len(columns) < n_columns:
        return np.argsort(columns)
    places = np.full(n_columns, -1)
    places[columns] = np.arange(len(columns))
    return places[places >= 0]


def _path_model(state: State, scale: ColumnScale, dtype: Any) -> PathModel:
    """As small as it can be kept: a path has one for every size."""
    start = _in_users_units(state.columns, state.w, state.alpha, scale)
    evidence = state.record["evidence"]
    with np.errstate(over="ignore"):  # what matters is whether the model that is chosen overflows
        coef = start.coef.astype(dtype)
    return PathModel(
        start.columns.astype(np.int32) if len(scale.exponent) < np.iinfo(np.int32).max else start.columns,
        coef,
        start.alpha,
        start.intercept,
        start.intercept_alpha,
        np.nan if evidence is None else evidence,
    )


def _settled(model: PathModel, ended: Start) -> PathModel:
    """The model that was chosen as it ended, which is more precise than it was along the path."""
    same_intercept = np.isinf(model.intercept_alpha) == np.isinf(ended.intercept_alpha)
    if not same_intercept or not np.array_equal(model.columns, ended.columns):
        return model
    coef = ended.coef.astype(model.coef.dtype)
    return replace(model, coef=coef, alpha=ended.alpha, intercept=ended.intercept)


def _continue(
    design: Design, scale: ColumnScale, start: Start, settings: Settings
) -> tuple[Design, Vector, Vector]:
    """The state of an earlier fit: its columns alone, with their weights and precisions.

    The intercept's prior is that of the settings, which may have changed since.
    """
    n_features = len(scale.exponent)
    alpha, w = np.full(n_features + 1, np.inf), np.zeros(n_features + 1)
    alpha[start.columns] = scale.scaled_precisions(start.alpha, start.columns)
    w[start.columns] = scale.weights(start.coef, start.columns)
    if settings.fit_intercept:
        w[n_features] = start.intercept + scale.intercept_shift(start.coef, start.columns)
        if settings.intercept_prior == "flat":
            alpha[n_features] = 0.0
        else:
            alpha[n_features] = start.intercept_alpha or settings.init_alpha
    keep = np.isfinite(alpha[design.columns])
    design = design if keep.all() else design.take(keep)
    return design, alpha[design.columns], w[design.columns]


def _refuse_overflow(ended: Start, dtype: Any) -> None:
    # Written so that a NaN is wrong too.
    wrong = np.flatnonzero(~(np.abs(ended.coef) <= np.finfo(dtype).max))
    if len(wrong):
        raise ValueError(
            f"The coefficient of column {ended.columns[wrong[0]]} is too large for a float: the column's "
            "entries are tiny. Multiply it by a constant."
        )


def _complaint(status: FitStatus, last: Record, recipe: Recipe) -> str | None:
    if status is FitStatus.ALL_PRUNED:
        remedy = "" if recipe.centre else " If features differ in scale, try scale='columns'."
        return f"The model has no feature, and predicts the same for every sample.{remedy}"
    if status is FitStatus.MAX_ITER:
        return "Increase max_iter, or tol, if the model is not good enough."
    if not last["map_converged"] and not recipe.map_limit_is_normal:
        return (
            f"The inner solver stopped at a gradient norm of {last['gradient_norm']:.3g}. Increase "
            "map_max_iter or map_tol, or scale the features."
        )
    return None
