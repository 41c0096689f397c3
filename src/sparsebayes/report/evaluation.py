"""How a classifier does on rows it was not fitted to, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebayes._typing import AnyArray, IntVector, Matrix, Vector

N_BINS = 10
# The normal quantile of a two-sided interval of 95%.
Z95 = 1.959963984540054


def coded(y: Any, classes: AnyArray) -> IntVector:
    """The position of each label among the classes; a ValueError for a label that is not there."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one label a row. Got an array of shape {labels.shape}.")
    codes = {label: code for code, label in enumerate(classes.tolist())}
    values = labels.tolist()
    unknown = [label for label in values if label not in codes]
    if unknown:
        raise ValueError(
            f"y has the label {unknown[0]!r}, which is not among the classes "
            f"{classes.tolist()[:10]!r} of the model."
        )
    return np.array([codes[label] for label in values], dtype=np.intp)


def wilson(successes: AnyArray, n: AnyArray) -> tuple[Vector, Vector]:
    """Wilson's interval of 95% for a share: good for shares near 0 and 1, and for few rows."""
    n = np.maximum(np.asarray(n, dtype=np.float64), 1e-300)
    share = np.asarray(successes) / n
    centre = (share + Z95**2 / (2.0 * n)) / (1.0 + Z95**2 / n)
    half = Z95 * np.sqrt(share * (1.0 - share) / n + Z95**2 / (4.0 * n**2)) / (1.0 + Z95**2 / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


@dataclass(frozen=True, slots=True)
class Accuracy:
    correct: int
    n: int

    @property
    def share(self) -> float:
        return self.correct / self.n

    @property
    def interval(self) -> tuple[float, float]:
        low, high = wilson(np.array(self.correct), np.array(self.n))
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Roc:
    """False and true positive rates from the strictest threshold on; ``auc`` is NaN without both kinds."""

    false: Vector
    true: Vector
    auc: float

    @classmethod
    def of(cls, positive: AnyArray, scores: Vector) -> Roc:
        n_positive, n_negative = int(positive.sum()), int((~positive).sum())
        if not n_positive or not n_negative:
            return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]), float("nan"))
        order = np.argsort(-scores, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # of equal scores
        hits = np.cumsum(positive[order])[ends]
        true = np.concatenate([[0.0], hits / n_positive])
        false = np.concatenate([[0.0], (ends + 1 - hits) / n_negative])
        area = float(np.sum(np.diff(false) * (true[1:] + true[:-1])) / 2.0)
        return cls(false, true, area)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Bins of equal width: what was said, what happened, and how often."""

    said: Vector
    happened: Vector
    counts: IntVector

    @classmethod
    def of(cls, probability: Vector, event: AnyArray) -> Calibration:
        which = np.minimum((probability * N_BINS).astype(np.intp), N_BINS - 1)
        counts = np.bincount(which, minlength=N_BINS)
        with np.errstate(invalid="ignore"):
            said = np.bincount(which, probability, N_BINS) / counts
            happened = np.bincount(which, event, N_BINS) / counts
        return cls(said, happened, counts)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of the two, over rows."""
        used = self.counts > 0
        distance = np.abs(self.said[used] - self.happened[used])
        return float(self.counts[used] @ distance / self.counts.sum())


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Predictions beside the truth: class codes of both, log probabilities, and scores for ranking."""

    truth: IntVector
    predicted: IntVector
    log_probabilities: Matrix | None  # None for a classifier that has none
    scores: Matrix  # a column a class, or one column for two classes
    n_classes: int

    @property
    def accuracy(self) -> Accuracy:
        return Accuracy(int((self.truth == self.predicted).sum()), len(self.truth))

    @property
    def log_loss(self) -> float | None:
        if self.log_probabilities is None:
            return None
        return float(-self.log_probabilities[np.arange(len(self.truth)), self.truth].mean())

    @property
    def confusion(self) -> IntVector:
        """A row a true class, a column a predicted one."""
        flat = np.bincount(self.truth * self.n_classes + self.predicted, minlength=self.n_classes**2)
        return flat.reshape(self.n_classes, self.n_classes)

    def roc(self, code: int) -> Roc:
        """Of a class against all others."""
        if self.n_classes == 2:
            margin = self.scores[:, 0]
            return Roc.of(self.truth == code, margin if code == 1 else -margin)
        return Roc.of(self.truth == code, self.scores[:, code])

    @property
    def auc(self) -> float:
        """Of two classes; of more, the mean over those classes for which it is defined."""
        if self.n_classes == 2:
            return self.roc(1).auc
        areas = np.array([self.roc(code).auc for code in range(self.n_classes)])
        defined = areas[~np.isnan(areas)]
        return float(defined.mean()) if len(defined) else float("nan")

    @property
    def calibration(self) -> Calibration:
        """Of two classes, the second's probability; of more, that of the predicted class."""
        assert self.log_probabilities is not None
        p = np.exp(self.log_probabilities)
        if self.n_classes == 2:
            return Calibration.of(p[:, 1], self.truth == 1)
        return Calibration.of(p[np.arange(len(p)), self.predicted], self.truth == self.predicted)


def evaluate(model: Any, X: Any, truth: IntVector, classes: AnyArray) -> Evaluation:
    """Of a FrozenModel, or of any classifier of scikit-learn's with the same classes."""
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    log_p = None
    if hasattr(model, "predict_log_proba"):
        log_p = np.asarray(model.predict_log_proba(X), dtype=np.float64)
    return Evaluation(
        truth,
        coded(model.predict(X), classes),
        log_p,
        scores[:, None] if scores.ndim == 1 else scores,
        len(classes),
    )
