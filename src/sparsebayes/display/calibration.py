"""Whether probabilities are what happens."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss
from sklearn.utils import Bunch

from sparsebayes.display.drawing import axes, probabilities_of


@dataclass(eq=False, repr=False)
class CalibrationComparisonDisplay:
    """Reliability curves of several classifiers of two classes: are their probabilities what happens?

    Parameters
    ----------
    curves : dict of Bunch
        By name, each with ``prob_true``, ``prob_pred`` (of each bin) and ``log_loss``.
    label : object, default=1
        The class whose probability it is.

    Attributes
    ----------
    lines_ : dict of Line2D
        The curves, by name.
    diagonal_ : Line2D
        What happens as often as it is said to.
    ax_, figure_ : Axes, Figure
        Where all this is.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sparsebayes import RVMClassifier
    >>> from sparsebayes.display import CalibrationComparisonDisplay
    >>> X, y = make_moons(400, noise=0.3, random_state=0)
    >>> ours, theirs = RVMClassifier().fit(X[:200], y[:200]), GaussianNB().fit(X[:200], y[:200])
    >>> display = CalibrationComparisonDisplay.from_estimators(
    ...     {"RVM": ours, "naive Bayes": theirs}, X[200:], y[200:]
    ... )
    >>> display.curves["RVM"].log_loss < display.curves["naive Bayes"].log_loss
    True
    >>> plt.close()
    """

    curves: Any
    _: KW_ONLY
    label: Any = 1

    @classmethod
    def from_estimators(cls, estimators, X, y, *, n_bins=10, strategy="quantile", ax=None):
        """Compare fitted classifiers on data they were not fitted to, and draw.

        Parameters
        ----------
        estimators : dict of classifiers
            Fitted to the same two classes, with ``predict_proba``, by name.
        X, y : {array-like, sparse matrix} of shape (n_samples, n_features), array-like
            Data to judge them on, and their labels.
        n_bins : int, default=10
            Bins of the predicted probabilities.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of as many rows, or of the same width.
        ax : Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : CalibrationComparisonDisplay
            As drawn.
        """
        if not estimators:
            raise ValueError(f"{cls.__name__} needs at least one classifier.")
        curves = {}
        for name, clf in estimators.items():
            proba = probabilities_of(clf, X, cls, name)
            if len(clf.classes_) != 2:
                raise ValueError(f"{cls.__name__} needs 2 classes, but {name} has {len(clf.classes_)}.")
            label = clf.classes_[1]
            loss = log_loss(y, proba, labels=clf.classes_)
            true, predicted = calibration_curve(
                np.asarray(y) == label, proba[:, 1], n_bins=n_bins, strategy=strategy
            )
            curves[name] = Bunch(prob_true=true, prob_pred=predicted, log_loss=loss)
        return cls(curves, label=label).plot(ax)

    @classmethod
    def from_estimator(cls, clf, X, y, *, rivals=None, **options):
        """Compare a fitted classifier with its rivals, a dict; otherwise as :meth:`from_estimators`."""
        name, rivals = type(clf).__name__, rivals or {}
        if name in rivals:
            raise ValueError(f"{name} is the name of the classifier itself: give the rival another one.")
        return cls.from_estimators({name: clf, **rivals}, X, y, **options)

    def plot(self, ax=None):
        """Draw in the axes given, or in a new figure; returns self."""
        self.figure_, self.ax_ = axes(ax)
        (self.diagonal_,) = self.ax_.plot([0, 1], [0, 1], ":", color="0.4", label="perfect calibration")
        self.lines_ = {}
        for name, curve in self.curves.items():
            label = f"{name} (log loss {curve.log_loss:.3f})"
            (self.lines_[name],) = self.ax_.plot(curve.prob_pred, curve.prob_true, "o-", ms=4, label=label)
        self.ax_.set_xlabel(f"mean predicted probability of class {self.label}")
        self.ax_.set_ylabel(f"share of class {self.label}")
        self.ax_.set_aspect("equal")
        self.ax_.grid(alpha=0.3)
        self.ax_.legend(loc="upper left")
        return self
