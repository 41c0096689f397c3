"""The precisions of the weights kept."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sparsebayes import multiclass
from sparsebayes.display.drawing import CANDIDATES, axes, pyplot
from sparsebayes.estimators._base import SparseBayesClassifier


@dataclass(eq=False, repr=False)
class AlphaSpectrumDisplay:
    """The precisions of the weights kept, from the least: how decided the pruning was.

    Parameters
    ----------
    alpha : ndarray of shape (n_kept,)
        Precisions, ascending.
    n_candidates : int
        Number of features (training rows, hidden nodes) there were to choose from.
    candidates : str, default="features"
        What those are.
    classes : str, default=None
        The binary problem, where there are several.

    Attributes
    ----------
    points_ : Line2D
        The precisions.
    ax_, figure_ : Axes, Figure
        Where they are.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifier
    >>> from sparsebayes.display import AlphaSpectrumDisplay
    >>> clf = SBLClassifier().fit(*load_breast_cancer(return_X_y=True))
    >>> display = AlphaSpectrumDisplay.from_estimator(clf)
    >>> display.ax_.get_title()
    '14 features kept, 16 of 30 pruned'
    >>> plt.close()
    """

    alpha: Any
    n_candidates: Any
    _: KW_ONLY
    candidates: Any = "features"
    classes: Any = None

    @classmethod
    def from_estimator(cls, clf, *, problem=0, ax=None):
        """Take the precisions from a fitted classifier, and draw.

        Parameters
        ----------
        clf : classifier of this package
            Fitted.
        problem : int, default=0
            Number of the binary problem: the row of ``clf.alpha_``.
        ax : Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : AlphaSpectrumDisplay
            As drawn.
        """
        if not isinstance(clf, SparseBayesClassifier):
            raise ValueError(f"{cls.__name__} needs a classifier of sparsebayes. Got {clf!r} instead.")
        alpha = clf.alpha_
        if not 0 <= problem < len(alpha):
            raise ValueError(f"The problem must be in the range [0, {len(alpha)}). Got {problem} instead.")
        kept = np.sort(alpha[problem][np.isfinite(alpha[problem])])
        return cls(
            kept,
            clf._basis_sizes[problem],
            candidates=CANDIDATES[clf._basis_name],
            classes=None if len(alpha) == 1 else _problem_name(clf, problem),
        ).plot(ax)

    def plot(self, ax=None):
        """Draw in the axes given, or in a new figure; returns self."""
        pyplot()
        from matplotlib.ticker import MaxNLocator

        self.figure_, self.ax_ = axes(ax)
        n_kept = len(self.alpha)
        (self.points_,) = self.ax_.plot(np.arange(1, n_kept + 1), self.alpha, "o", ms=5)
        self.ax_.set_yscale("log")
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set(xlabel=f"{self.candidates} kept, by their precision", ylabel="precision α")
        prefix = "" if self.classes is None else f"{self.classes}: "
        pruned = self.n_candidates - n_kept
        self.ax_.set_title(f"{prefix}{n_kept} {self.candidates} kept, {pruned} of {self.n_candidates} pruned")
        self.ax_.grid(alpha=0.3)
        return self


def _problem_name(clf, problem):
    n_classes = len(clf.classes_)
    pair = multiclass.decompose(np.arange(n_classes), n_classes, clf._scheme)[problem]
    positive = clf.classes_[pair.positive]
    if pair.negative is None:
        return f"{positive} vs the rest"
    return f"{clf.classes_[pair.negative]} vs {positive}"
