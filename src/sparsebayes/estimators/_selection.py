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
from sparsebayes.estimators._problem import FoldScores, HeldOut, Solution, Start, fit_problem
from sparsebayes.evidence import State
from sparsebayes.evidence.calibration import calibrated_losses, calibration_slope
from sparsebayes.evidence.selection import standard_error, weighted_sum
from sparsebayes.recipes import OTHER_EXPONENTS, PATH_TOL, Settings, recipe

N_FOLDS = 5
# Samples held out that choose the prior.
SAMPLES_FOR_PRIOR = 1000
# Fewer samples are divided into folds several times.
SAMPLES_DIVIDED = 500
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
    folds = Folds(X, basis, labels, weight, n_threads, keeper)
    settings = with_prior(settings, folds)
    curve = folds.curve(settings)
    settings = replace(settings, max_features=curve.chosen(weight, settings.select == "cv-1se"))
    # Not from where an earlier fit ended: the folds were not.
    solution = fit_problem(X, basis, labels, weight, settings, None, n_threads, callback, keeper)
    return replace(calibrated(solution, curve), folds=curve.scores(weight))


def with_prior(settings: Settings, folds: Folds) -> Settings:
    """The exponent of the columns' energies and the scale that rows held out prefer: one or two numbers, for
    all folds, because half of the time goes into them and slopes are for models of the same prior.
    """
    judging = range(folds.enough(SAMPLES_FOR_PRIOR))

    def learned(settings: Settings) -> tuple[float, Settings]:
        tried = [folds.tried(fold, settings) for fold in judging]
        middle = sorted(each.variance for each in tried)[(len(tried) - 1) // 2]  # one of them, so known
        return sum(min(each.totals) for each in tried), replace(settings, prior_variance=middle)

    best = learned(settings)
    for exponent in OTHER_EXPONENTS.get(settings.energy_exponent, ()):
        # Not where the model of all columns is clearly worse at the scale that is known, which takes a third
        # of the time of a scale and a path.
        widest = replace(best[1], energy_exponent=exponent, max_iter=1, map_tol=PATH_TOL)
        if all(folds.tried(k, widest).may_be_better_than(folds.tried(k, best[1])) for k in judging):
            best = min(best, learned(replace(settings, energy_exponent=exponent)), key=lambda each: each[0])
    return best[1]


@dataclass(frozen=True, slots=True)
class Tried:
    """What each model of a path says of a fold's rows."""

    sign: Vector
    weight: Vector | None
    variance: float  # of the path's prior
    sizes: IntVector
    margins: list[Vector]

    @property
    def totals(self) -> list[float]:
        """Losses of these models, each calibrated."""
        return [weighted_sum(self._losses(each), self.weight) for each in self.margins]

    def may_be_better_than(self, other: Tried) -> bool:
        """Whether the loss of its largest model is less than the other's, within two standard errors."""
        difference = self._losses(self.margins[0]) - other._losses(other.margins[0])
        return weighted_sum(difference, self.weight) <= 2.0 * standard_error(difference, self.weight)

    def _losses(self, margins: Vector) -> Vector:
        return calibrated_losses(margins, self.sign, self.weight)

    def nearest(self, size: int) -> Vector:
        return self.margins[_nearest(self.sizes, size)]


class Folds:
    """Paths on the training rows of folds, judged on their other rows."""

    def __init__(
        self,
        X: Any,
        basis: Basis,
        labels: Vector,
        weight: Vector | None,
        n_threads: int | None,
        keeper: Keeper,
    ) -> None:
        self._X = X
        self._basis = basis
        self._labels = labels
        self._weight = weight
        self._n_threads = n_threads
        self._keeper = keeper
        self._n_folds = int(min(N_FOLDS, labels.sum(), (1.0 - labels).sum()))
        if self._n_folds < 2:
            raise ValueError(
                "Cross-validation along the path needs two samples of each class at least. "
                "Use select='evidence'."
            )
        self._splits = list(self._divided())
        self._known: dict[tuple[float | None, ...], Tried] = {}

    @property
    def _sign(self) -> Vector:
        return 2.0 * self._labels - 1.0

    def _divided(self) -> Iterator[tuple[IntVector, IntVector]]:
        """Into folds, and few samples several times: which of them are together decides there."""
        labels = self._labels
        yield from StratifiedKFold(self._n_folds).split(labels, labels)
        for seed in range(1, min(-(-SAMPLES_DIVIDED // len(labels)), MAX_DIVISIONS)):
            yield from StratifiedKFold(self._n_folds, shuffle=True, random_state=seed).split(labels, labels)

    def enough(self, n_samples: int) -> int:
        """Folds that hold out so many, or all of a division."""
        return min(-(-n_samples * self._n_folds // len(self._labels)), self._n_folds)

    def tried(self, fold: int, settings: Settings) -> Tried:
        """The path on all rows but those of a fold, its prior learned from them unless it is known."""
        exponent, variance = settings.energy_exponent, settings.prior_variance
        rest = (settings.max_iter, settings.map_tol)
        key = (fold, exponent, variance, *rest)
        if key in self._known:
            return self._known[key]
        train, test = self._splits[fold]
        weight = self._weight
        rows = HeldOut(self._X[test], self._basis, self._sign[test], None if weight is None else weight[test])
        solution = fit_problem(
            self._X[train],
            self._basis,
            self._labels[train],
            None if weight is None else weight[train],
            replace(settings, stop_at_max_iter=True),  # the last point: no time is spent on choosing one
            None,
            self._n_threads,
            lambda state, scale: False,
            self._keeper.under("-".join(("fold", *map(str, key)))),
            rows,
        )
        learned = solution.history[0]["prior_variance"]
        assert learned is not None
        sizes = np.array([len(model.columns) for model in solution.path])
        known = [rows.margins(model) for model in solution.path]
        tried = Tried(rows.sign, rows.weight, learned, sizes, known)
        self._known[key] = self._known[fold, exponent, learned, *rest] = tried
        return tried

    def curve(self, settings: Settings) -> Curve:
        """All folds at one prior, compared at the sizes of the largest path: a fold's training rows may lack
        columns.
        """
        paths = [self.tried(fold, settings) for fold in range(len(self._splits))]
        n_divisions = len(self._splits) // self._n_folds
        sizes = max((each.sizes for each in paths), key=lambda sizes: sizes[0])
        sign = np.tile(self._sign, n_divisions)
        # A sample counts once against the prior of the slope, however often it was held out.
        weight = np.tile(np.ones_like(self._sign) if self._weight is None else self._weight, n_divisions)
        slopes, losses, correct = [], [], []
        for size in sizes:
            margins = np.empty((n_divisions, len(self._labels)))
            for fold, (tried, (_, test)) in enumerate(zip(paths, self._splits, strict=True)):
                margins[fold // self._n_folds, test] = tried.nearest(size)
            slopes.append(calibration_slope(margins.ravel(), sign, weight / n_divisions))
            each = link.loss_and_residual(slopes[-1] * margins.ravel(), sign)[0]
            losses.append(each.reshape(margins.shape).mean(axis=0))
            correct.append(((margins > 0.0) == (self._labels > 0.0)).mean(axis=0))
        return Curve(sizes, np.array(slopes), losses, correct)


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
