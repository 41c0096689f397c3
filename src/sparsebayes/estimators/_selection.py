"""A point of a path chosen by cross-validation, for one binary problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sparsebayes import link
from sparsebayes._typing import IntVector, Mask, Vector
from sparsebayes.basis import Basis, margins
from sparsebayes.checkpoint import NO_KEEPER, Keeper
from sparsebayes.design import ColumnScale, row_shares
from sparsebayes.estimators._problem import FoldScores, PathModel, Solution, Start, fit_problem
from sparsebayes.evidence import State
from sparsebayes.evidence.calibration import calibration_slope
from sparsebayes.evidence.selection import standard_error, weighted_sum
from sparsebayes.recipes import Settings, recipe

N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Curve:
    """Models of some sizes, largest first, on samples that none of them was fitted to."""

    sizes: IntVector
    slopes: Vector
    losses: list[Vector]  # a loss a sample, after calibration
    correct: list[Mask]  # whether a sample is on the right side
    prior_variance: float | None  # of the margins of all of them

    def chosen(self, weight: Vector | None, within_error: bool) -> int:
        """The size with the least loss, or the least size within a standard error of it."""
        totals = [weighted_sum(each, weight) for each in self.losses]
        best = len(totals) - 1 - int(np.argmin(totals[::-1]))  # the smallest of those that are level
        if not within_error:
            return int(self.sizes[best])
        near = [
            size
            for size, each, total in zip(self.sizes, self.losses, totals, strict=True)
            if total - totals[best] <= standard_error(each - self.losses[best], weight)
        ]
        return int(min(near))

    def scores(self, weight: Vector | None) -> FoldScores:
        """Means over the samples."""
        shares = row_shares(len(self.losses[0]), weight)
        losses = np.array([shares @ each for each in self.losses])
        return FoldScores(self.sizes, losses, np.array([shares @ each for each in self.correct]))

    def slope_at(self, size: int) -> float:
        """Of the nearest size."""
        return float(self.slopes[_nearest(self.sizes, size)])


def fit_selected(
    X: Any,
    basis: Basis,
    labels: Vector,
    weight: Vector | None,
    settings: Settings,
    start: Start | None,
    n_threads: int | None,
    callback: Callable[[State, ColumnScale], bool],
    keeper: Keeper = NO_KEEPER,
) -> Solution:
    """:func:`fit_problem`, at the size that cross-validation prefers and calibrated by what it held out."""
    search = settings.select != "evidence" and settings.max_features is None and not settings.stop_at_max_iter
    if not search or not recipe(settings.solver, settings.basis).follows_path:
        return fit_problem(X, basis, labels, weight, settings, start, n_threads, callback, keeper)
    curve = cross_validated(X, basis, labels, weight, settings, n_threads, keeper)
    size = curve.chosen(weight, settings.select == "cv-1se")
    settings = replace(settings, max_features=size, prior_variance=curve.prior_variance)
    # Not from where an earlier fit ended: the folds were not.
    solution = fit_problem(X, basis, labels, weight, settings, None, n_threads, callback, keeper)
    return replace(calibrated(solution, curve), folds=curve.scores(weight))


def cross_validated(
    X: Any,
    basis: Basis,
    labels: Vector,
    weight: Vector | None,
    settings: Settings,
    n_threads: int | None,
    keeper: Keeper = NO_KEEPER,
) -> Curve:
    """The path on the training rows of each fold, judged on its other rows."""
    n_folds = int(min(N_FOLDS, labels.sum(), (1.0 - labels).sum()))
    if n_folds < 2:
        raise ValueError(
            "Cross-validation along the path needs two samples of each class at least. Use select='evidence'."
        )
    settings = replace(settings, stop_at_max_iter=True)  # the last point: no time is spent on choosing one
    sizes: IntVector | None = None
    held_out: list[Vector] = []
    for fold, (train, test) in enumerate(StratifiedKFold(n_folds).split(labels, labels)):
        solution = fit_problem(
            X[train],
            basis,
            labels[train],
            None if weight is None else weight[train],
            settings,
            None,
            n_threads,
            lambda state, scale: False,
            keeper.under(f"fold-{fold}"),
        )
        path = solution.path
        # One number, which half of the time goes into; and slopes are for models of the same scale.
        settings = replace(settings, prior_variance=solution.history[0]["prior_variance"])
        own = np.array([len(model.columns) for model in path])
        if sizes is None:
            sizes = own
            held_out = [np.empty(len(labels)) for _ in sizes]
        X_test = X[test]
        known = {k: _margins(path[k], basis, X_test) for k in {_nearest(own, size) for size in sizes}}
        for size, out in zip(sizes, held_out, strict=True):
            out[test] = known[_nearest(own, size)]
    assert sizes is not None
    sign = 2.0 * labels - 1.0
    slopes = np.array([calibration_slope(each, sign, weight) for each in held_out])
    losses = [
        link.loss_and_residual(slope * each, sign)[0] for slope, each in zip(slopes, held_out, strict=True)
    ]
    correct = [(each > 0.0) == (sign > 0.0) for each in held_out]
    return Curve(sizes, slopes, losses, correct, settings.prior_variance)


def calibrated(solution: Solution, curve: Curve) -> Solution:
    """Margins times the slope for the model's size, in the model and all along its path."""

    def scaled(model: Any) -> Any:
        slope = curve.slope_at(len(model.columns))
        with np.errstate(over="ignore"):  # of a column in tiny units
            alpha = np.minimum(model.alpha / slope**2, np.finfo(np.float64).max)
        return replace(
            model,
            coef=model.coef * model.coef.dtype.type(slope),
            alpha=alpha,
            intercept=model.intercept * slope,
            intercept_alpha=model.intercept_alpha / slope**2,
        )

    slope = curve.slope_at(len(solution.columns))
    posterior = replace(solution.posterior, covariance=solution.posterior.covariance * slope**2)
    path = [scaled(model) for model in solution.path]
    calibrated_solution: Solution = replace(scaled(solution), posterior=posterior, path=path)
    return calibrated_solution


def _margins(model: PathModel, basis: Basis, X: Any) -> Vector:
    return margins(basis.kept(model.columns), model.coef, model.intercept, X)


def _nearest(sizes: IntVector, size: int) -> int:
    return int(np.argmin(np.abs(np.log1p(sizes) - np.log1p(size))))
