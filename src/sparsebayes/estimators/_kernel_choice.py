"""Which kernel a classifier takes: the gamma and the scales of features that its parameters stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebayes import kernels
from sparsebayes._typing import IntVector, Vector
from sparsebayes.basis import DistinctRows
from sparsebayes.estimators._scales import (
    MAX_FEATURES,
    ROWS_HELD_OUT,
    ROWS_TO_LEARN,
    Sample,
    best_scaling,
    column_scales,
    evidence_gamma,
    learned_scales,
)
from sparsebayes.estimators._widths import SEVERAL, Fits, by_validation

# Rows whose distances the median is taken over; two million pairs of them fix it to a per mille.
ROWS_FOR_MEDIAN = 2000
WITH_GAMMA = set(kernels.NAMES) - {"linear", "cosine"}
GAMMAS = {"auto", "evidence", "median", "scale", "several"}
FEATURE_SCALES = {"auto", "none", "columns", "learned"}

Pairs = tuple[IntVector, Vector]
"""Rows whose distances the median is taken over, and their weights."""


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """The parameters of :class:`~sparsebayes.RVMClassifier` that speak of its kernel."""

    kernel: Any  # a name or a function
    gamma: Any
    feature_scales: str
    degree: float
    coef0: float
    is_sequential: bool  # the solver, which "auto" depends on

    @property
    def has_gamma(self) -> bool:
        return not callable(self.kernel) and self.kernel in WITH_GAMMA

    def kernel_with(self, gamma: float) -> kernels.Kernel | kernels.UserKernel:
        if callable(self.kernel):
            return kernels.UserKernel(self.kernel)
        return kernels.Kernel(self.kernel, gamma, self.degree, self.coef0)

    def scales_and_gamma(
        self, X: Any, distinct: DistinctRows, codes: IntVector, weight: Vector, pairs: Pairs
    ) -> tuple[Vector | None, float]:
        """What features are multiplied by, None where they are not; and the kernel's gamma, or the one that
        widths are multiples of, for features so scaled.
        """
        sample = Sample.of(X, distinct, codes, weight, ROWS_TO_LEARN + ROWS_HELD_OUT)
        taken = self.scaling(X.shape[1])
        unit = 1.0 if taken == "none" else self._median_gamma(X, pairs)
        trial = best_scaling(sample, unit) if taken == "auto" else None
        if taken == "auto":
            taken = "none" if trial is None else trial.name
        scales = None
        if taken == "learned":
            scales = learned_scales(sample, unit, trial)
            if self._meant in ("auto", "evidence"):
                return scales, 1.0  # the scales are the widths that evidence prefers
        elif taken == "columns":
            factor = np.sqrt(unit)
            scales = factor * column_scales(factor * X, weight)
        if scales is None or not scales.any():
            return None, self._one_gamma(X, weight, sample, pairs)
        return scales, self._one_gamma(kernels.scaled(X, scales), weight, sample.scaled(scales), pairs)

    def scaling(self, n_features: int) -> str:
        """Which of the scalings is meant, or a complaint where it cannot be."""
        taken = self.feature_scales
        may_learn = self.kernel == "rbf" and n_features <= MAX_FEATURES
        if taken == "learned" and not may_learn:
            raise ValueError(
                "RVMClassifier(feature_scales='learned') is for kernel='rbf' and up to "
                f"{MAX_FEATURES} features. Got kernel={self.kernel!r} and {n_features} features."
            )
        if taken == "columns" and (callable(self.kernel) or self.kernel == "precomputed"):
            raise ValueError(
                "RVMClassifier(feature_scales='columns') is for kernels by name, not for a function or a "
                "matrix of yours: scale the features that you give it."
            )
        if taken == "auto" and not (may_learn and self._meant == "auto"):
            return "none"
        return taken

    def gammas(self, gamma: float, fits: Fits) -> Vector:
        """The widths of the basis."""
        taken = self._meant
        if not isinstance(taken, str):
            return self._given()
        if taken == "auto":
            return by_validation(gamma, fits.evidence, fits.losses, fits.n_held_out)
        return gamma * np.array(SEVERAL if taken == "several" else (1.0,))

    @property
    def _meant(self) -> Any:
        """Which gamma is meant by "auto"."""
        if isinstance(self.gamma, str) and self.gamma == "auto":
            return "auto" if self.is_sequential and self.kernel in kernels.DISTANCES else "median"
        return self.gamma

    def _one_gamma(self, X: Any, weight: Vector, sample: Sample, pairs: Pairs) -> float:
        if not self.has_gamma:
            return 1.0
        taken = self._meant
        if not isinstance(taken, str):
            return float(self._given()[0])
        if taken == "scale":
            alone = len(sample) < 2
            return _inverse(1.0 if alone else X.shape[1] * kernels.weighted_variance(X, weight))
        gamma = self._median_gamma(X, pairs)
        if taken in ("median", "several"):
            return gamma
        if self.kernel not in kernels.DISTANCES:
            raise ValueError(
                "RVMClassifier(gamma='evidence') is for the kernels 'rbf', 'laplacian' and 'exponential'. "
                f"Got kernel={self.kernel!r}."
            )
        return evidence_gamma(self.kernel, sample, gamma)

    def _median_gamma(self, X: Any, pairs: Pairs) -> float:
        rows, total = pairs
        return _inverse(kernels.median_distance(self.kernel, X[rows], total))

    def _given(self) -> Vector:
        try:
            gammas = np.unique(np.asarray(self.gamma, dtype=np.float64))
        except (TypeError, ValueError):
            gammas = np.empty(0)
        if not len(gammas) or np.ndim(self.gamma) > 1 or not (np.isfinite(gammas) & (gammas > 0.0)).all():
            raise ValueError(
                "The 'gamma' parameter of RVMClassifier must be a name, a positive number or a sequence of "
                f"positive numbers. Got {self.gamma!r} instead."
            )
        return gammas


def rows_for_median(distinct: DistinctRows, weight: Vector, rng: np.random.RandomState) -> Pairs:
    rows, total = distinct.first, distinct.total(weight)
    if len(rows) > ROWS_FOR_MEDIAN:
        drawn = np.sort(rng.choice(len(rows), ROWS_FOR_MEDIAN, replace=False))
        rows, total = rows[drawn], total[drawn]
    return rows, total


def _inverse(distance: float) -> float:
    with np.errstate(over="ignore", divide="ignore"):
        gamma = float(1.0 / np.float64(distance))
    if not 0.0 < gamma < np.inf:
        raise ValueError(kernels.OUT_OF_RANGE.format("Distances between rows of X are"))
    return gamma
