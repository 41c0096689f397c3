"""A point of a path chosen by cross-validation, for one binary problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sparsebayes import link
from sparsebayes._typing import IntVector, Vector
from sparsebayes.basis import Basis
from sparsebayes.checkpoint import NO_KEEPER, Keeper
from sparsebayes.design import ColumnScale, row_shares
from sparsebayes.estimators._problem import FoldScores, HeldOut, PathModel, Solution, Start, fit_problem
from sparsebayes.evidence import State
from sparsebayes.evidence.calibration import calibrated_losses, calibration_slope
from sparsebayes.evidence.selection import standard_error, weighted_sum
from sparsebayes.recipes import EXPONENTS_TO_COMPARE, Settings, recipe

N_FOLDS = 5
# Fewer samples are divided into folds several times.
SAMPLES_HELD_OUT = 500
MAX_DIVISIONS = 5


@dataclass(frozen=True, slots=True)
class Curve:
    """Models of some sizes, largest first, on samples that none of them was fitted to."""

    sizes: IntVector
    slopes: Vector
    losses: list[Vector]  # a loss a sample, after calibration
    correct: list[Vector]  # how often a sample is on the right side

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
    learned, curve = cross_validated(X, basis, labels, weight, settings, n_threads, keeper)
    settings = replace(
        settings,
        max_features=curve.chosen(weight, settings.select == "cv-1se"),
        energy_exponent=learned.energy_exponent,
        prior_variance=learned.prior_variance,
    )
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
) -> tuple[Settings, Curve]:
    """The path on the training rows of each fold, judged on its other rows; and the settings with the prior
    that the first fold preferred.
    """
    sign = 2.0 * labels - 1.0
    settings = replace(settings, stop_at_max_iter=True)  # the last point: no time is spent on choosing one
    divisions = list(_divisions(labels))
    sizes: IntVector | None = None
    held_out: list[Vector] = []
    for division, folds in enumerate(divisions):
        for fold, (train, test) in enumerate(folds):
            rows = HeldOut(X[test], basis, sign[test], None if weight is None else weight[test])

            def fit(
                settings: Settings, name: str, rows: HeldOut = rows, train: IntVector = train
            ) -> Solution:
                return fit_problem(
                    X[train],
                    basis,
                    labels[train],
                    None if weight is None else weight[train],
                    settings,
                    None,
                    n_threads,
                    lambda state, scale: False,
                    keeper.under(name),
                    rows,
                )

            if sizes is None:
                settings, path = _first(settings, fit, rows)
                sizes = np.array([len(model.columns) for model in path])
                held_out = [np.empty((len(divisions), len(labels))) for _ in sizes]
            else:
                path = fit(settings, f"fold-{division}-{fold}").path
            own = np.array([len(model.columns) for model in path])
            known = {k: rows.margins(path[k]) for k in {_nearest(own, size) for size in sizes}}
            for size, out in zip(sizes, held_out, strict=True):
                out[division, test] = known[_nearest(own, size)]
    assert sizes is not None
    weights = None if weight is None else np.tile(weight, len(divisions))
    signs = np.tile(sign, len(divisions))
    slopes = np.array([calibration_slope(each.ravel(), signs, weights) for each in held_out])
    losses = [
        link.loss_and_residual(slope * each.ravel(), signs)[0].reshape(each.shape).mean(axis=0)
        for slope, each in zip(slopes, held_out, strict=True)
    ]
    correct = [((each > 0.0) == (sign > 0.0)).mean(axis=0) for each in held_out]
    return settings, Curve(sizes, slopes, losses, correct)


def _divisions(labels: Vector) -> Iterator[list[tuple[IntVector, IntVector]]]:
    """Into folds, and of few samples several times: which of them are together decides there."""
    n_folds = int(min(N_FOLDS, labels.sum(), (1.0 - labels).sum()))
    if n_folds < 2:
        raise ValueError(
            "Cross-validation along the path needs two samples of each class at least. Use select='evidence'."
        )
    yield list(StratifiedKFold(n_folds).split(labels, labels))
    for seed in range(1, min(-(-SAMPLES_HELD_OUT // len(labels)), MAX_DIVISIONS)):
        yield list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels))


def _first(
    settings: Settings, fit: Callable[[Settings, str], Solution], rows: HeldOut
) -> tuple[Settings, list[PathModel]]:
    """The prior whose path has the least loss on the first rows held out, and that path. One number or two,
    which half of the time goes into; and slopes are for models of the same prior.
    """
    found = []
    for exponent in EXPONENTS_TO_COMPARE.get(settings.energy_exponent, (settings.energy_exponent,)):
        tried = replace(settings, energy_exponent=exponent)
        solution = fit(tried, f"first-{exponent:g}")
        losses = [
            weighted_sum(calibrated_losses(rows.margins(model), rows.sign, rows.weight), rows.weight)
            for model in solution.path
        ]
        variance = solution.history[0]["prior_variance"]
        found.append((min(losses), replace(tried, prior_variance=variance), solution.path))
    _, settings, path = min(found, key=lambda each: each[0])
    return settings, path


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


def _nearest(sizes: IntVector, size: int) -> int:
    return int(np.argmin(np.abs(np.log1p(sizes) - np.log1p(size))))
