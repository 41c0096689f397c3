"""How much each feature counts in the distances of a kernel, where the user does not say."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from sparsebayes import kernels
from sparsebayes._typing import IntVector, Mask, Matrix, Vector
from sparsebayes.basis import DistinctRows
from sparsebayes.estimators._widths import Losses
from sparsebayes.evidence.label_process import (
    EVALUATIONS_OF_EACH,
    LEAST_STEP,
    ROUGH_STEP,
    LabelProcess,
    Labels,
    Widths,
    gaussian,
    one_width,
    width_of_each,
)

# Rows of a process that widths are learned from, and other rows at which processes are compared, to see
# whether scales are worth having. With fewer rows to compare at, features stay as they are.
ROWS_TO_LEARN = 800
ROWS_FOR_ONE = 300  # a single width is known from fewer
ROWS_HELD_OUT = 2000
MIN_HELD_OUT = 30
# Where there are many widths for the rows, each step fits the labels of these rows better, and soon those of
# others less well: evaluations for each row that a feature has, and at least.
EVALUATIONS_A_ROW = 4
LEAST_EVALUATIONS = 8
# The sample is held as a dense matrix, and with a width for each feature every evaluation works through it
# once a row: with more features than 500, fewer rows have to do.
MAX_FEATURES = 10_000
MAX_WORK = 500 * ROWS_TO_LEARN**2
# By this share of the loss a scaling is to be better, for what is a little better for the process may be a
# little worse for the classifier; and by so many standard errors where it has a number for each feature.
WORTH_HAVING = 0.05
STANDARD_ERRORS = 3.0
# Features that make less than this of the squared distances together are not seen at all, nor are rows of
# less weight than this looked at.
NEGLIGIBLE = 0.01
# Classes rarer than this, relative to the mean class, are drawn as if they were not.
RARE = 0.25
# Logarithms of widths are rounded, lest an error in the last digit of a distance reach the model.
DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """Some distinct rows, in an order of which every beginning is a fair sample, and their labels.

    Weights are relative to that of the row which an average occurrence is of: where all are equal, each is 1.
    """

    X: Any
    labels: Labels

    @classmethod
    def of(cls, X: Any, distinct: DistinctRows, codes: IntVector, weight: Vector, n_rows: int) -> Sample:
        classes = distinct.class_weights(codes, weight)
        classes /= classes.max()
        total = classes.sum(axis=1)
        classes /= np.square(total).sum() / total.sum()
        rows = np.flatnonzero(classes.sum(axis=1) >= NEGLIGIBLE)
        rows = rows[_mixed(classes[rows].argmax(axis=1))][:n_rows]
        classes = classes[rows]
        labels = Labels(classes[:, 1:] if classes.shape[1] == 2 else classes, classes.sum(axis=1))
        return cls(X[distinct.first[rows]].astype(np.float64, copy=False), labels)

    def scaled(self, scales: Vector) -> Sample:
        return Sample(kernels.scaled(self.X, scales), self.labels)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def part(self, rows: slice | IntVector) -> Sample:
        return Sample(self.X[rows], self.labels.take(rows))


def _n_rows(n_features: int) -> int:
    """That widths of so many features are learned from."""
    return min(ROWS_TO_LEARN, math.isqrt(MAX_WORK // n_features))


def _mixed(classes: IntVector) -> IntVector:
    """All positions, so that every beginning has the classes in proportion, rare ones somewhat more."""
    counts = np.bincount(classes)
    share = np.maximum(counts / len(classes), RARE / np.count_nonzero(counts))
    order = np.random.RandomState(0).permutation(len(classes))
    due = np.empty(len(classes))
    for code in np.flatnonzero(counts):
        members = order[classes[order] == code]
        due[members] = (np.arange(len(members)) + 0.5) / share[code]
    return order[np.argsort(due[order], kind="stable")]


def evidence_gamma(kernel: str, sample: Sample, unit: float) -> float:
    """The gamma of a kernel of distances with the largest evidence; ``unit`` is its order of magnitude."""
    sample = sample.part(slice(ROWS_FOR_ONE))
    process = LabelProcess(sample.labels)
    if len(sample) < 2 or not process.has_labels:
        return unit
    exponents = kernels.DISTANCES[kernel](sample.X, sample.X) * unit
    return unit * float(np.exp(one_width(process, exponents).widths[0].round(DECIMALS)))


def column_scales(X: Any, weight: Vector) -> Vector:
    """1 over the standard deviation of each feature, 0 for one that is constant or has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaler = StandardScaler(with_mean=False).fit(X, sample_weight=weight / weight.max())
    varies = np.isfinite(scaler.var_) & (scaler.scale_ == np.sqrt(scaler.var_))
    return np.where(varies, 1.0 / scaler.scale_, 0.0)


@dataclass(frozen=True, slots=True)
class Trial:
    """A process whose features have been scaled in some way."""

    name: str
    factors: Vector
    widths: Widths

    def losses(self, process: LabelProcess, rows: Matrix, others: Matrix, labels: Labels) -> Losses:
        """At other rows."""
        rows, others = rows * self.factors, others * self.factors
        values = process.losses(
            gaussian(rows, rows, self.widths.widths),
            gaussian(others, rows, self.widths.widths),
            self.widths.amplitude,
            self.widths.noise,
            labels,
        )
        return Losses(values, labels.weight)

    def of_each(self, process: LabelProcess, rows: Matrix) -> Trial:
        """With a width for each feature, from those here on."""
        return replace(self, name="learned", widths=width_of_each(process, rows * self.factors, self.widths))

    def roughly_of_each(self, process: LabelProcess, rows: Matrix) -> Trial:
        """The same in fewer steps, to be compared with others."""
        n_rows, n_features = rows.shape
        n_evaluations = max(EVALUATIONS_A_ROW * n_rows // n_features, LEAST_EVALUATIONS)
        n_evaluations = min(n_evaluations, EVALUATIONS_OF_EACH)
        widths = width_of_each(process, rows * self.factors, self.widths, n_evaluations, ROUGH_STEP)
        return replace(self, name="learned", widths=widths)


def best_scaling(sample: Sample, unit: float) -> Trial | None:
    """Features as they are, of unit variance, or each with a width of its own, whichever is better at rows
    that were held out; None where there are too few of these.
    """
    n_rows = min(_n_rows(sample.X.shape[1]), len(sample) // 2)
    if n_rows < MIN_HELD_OUT:
        return None
    # Half of the first rows each, which may have all there are of a rare class; others go to the second.
    drawn = np.random.RandomState(1).permutation(2 * n_rows)
    others = np.arange(2 * n_rows, min(n_rows + ROWS_HELD_OUT, len(sample)))
    first, second = sample.part(drawn[:n_rows]), sample.part(np.concatenate([drawn[n_rows:], others]))
    process = LabelProcess(first.labels)
    if not process.has_labels:
        return None
    rows, held_out = (_near_the_origin(part.X, first.X, unit) for part in (first, second))
    tried = [
        (trial, trial.losses(process, rows, held_out, second.labels))
        for trial in _of_one_width(process, rows, ROUGH_STEP)
    ]
    best, losses = tried[0]
    if tried[-1][1].total < (1.0 - WORTH_HAVING) * losses.total:
        best, losses = tried[-1]
    # From the better one: where units differ much, hardly any step from features as they are leads downhill.
    learned = best.roughly_of_each(process, rows)
    of_learned = learned.losses(process, rows, held_out, second.labels)
    worth_having = of_learned.total < (1.0 - WORTH_HAVING) * losses.total
    return learned if worth_having and of_learned.better_than(losses, STANDARD_ERRORS) else best


def learned_scales(sample: Sample, unit: float, near: Trial | None = None) -> Vector:
    """For each feature the square root of its own gamma, zero where it does not matter; ``near`` is what
    fewer rows have found.
    """
    sample = sample.part(slice(_n_rows(sample.X.shape[1])))
    rows = _near_the_origin(sample.X, sample.X, unit)
    process = LabelProcess(sample.labels)
    if len(sample) < 2 or not process.has_labels:
        return np.full(rows.shape[1], np.sqrt(unit))
    if near is None:
        near = min(_of_one_width(process, rows), key=lambda trial: trial.widths.cost)
    return _scales_of(near.of_each(process, rows), rows, unit)


def _scales_of(learned: Trial, rows: Matrix, unit: float) -> Vector:
    factors = learned.factors * np.exp(0.5 * learned.widths.widths.round(DECIMALS))
    # Of pairs of rows. More than 1 is as good as 1, where the kernel has come to an end.
    squares = np.square(np.clip(np.diff(rows, axis=0) * factors, -1.0, 1.0))
    factors[_negligible(squares.mean(axis=0))] = 0.0
    return factors * float(np.sqrt(unit))


def _of_one_width(process: LabelProcess, rows: Matrix, least_step: float = LEAST_STEP) -> list[Trial]:
    """Features as they are, and of unit variance."""
    trials = []
    for name, factors in (("none", np.ones(rows.shape[1])), ("columns", column_scales(rows, process.weight))):
        scaled = rows * factors
        exponents = kernels.sq_distances(scaled, scaled)
        middle = kernels.median_of_pairs(exponents, process.weight)
        if middle > 0.0:
            widths = one_width(process, exponents / middle, least_step).wider(np.log(middle))
            trials.append(Trial(name, factors, widths))
    return trials


def _near_the_origin(X: Any, middle: Any, unit: float) -> Matrix:
    """Dense, in units in which squared distances are about 1."""
    X, middle = (part.toarray() if sp.issparse(part) else part for part in (X, middle))
    factor = np.sqrt(unit)
    return np.asarray(X * factor - np.median(middle * factor, axis=0))


def _negligible(shares: Vector) -> Mask:
    """The smallest, as long as they are next to nothing together."""
    order = np.argsort(shares, kind="stable")
    small = np.cumsum(shares[order]) <= NEGLIGIBLE * shares.sum()
    negligible = np.zeros(len(shares), dtype=bool)
    negligible[order[small]] = True
    return negligible
