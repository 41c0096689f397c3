"""Accuracy against size."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.svm import l1_min_c
from sklearn.utils import Bunch

from sparsebayes.display.drawing import CANDIDATES, axes, pyplot
from sparsebayes.estimators.path import sbl_path

METRICS = {"accuracy": "accuracy", "log_loss": "log loss"}


@dataclass(eq=False, repr=False)
class PathDisplay:
    """Accuracy or log loss on validation data against the share of features kept: Fig. 5 of the paper.

    Parameters
    ----------
    path : Bunch
        From :func:`~sparsebayes.sbl_path`.
    metric : {"accuracy", "log_loss"}, default="accuracy"
        What to draw.
    rivals : dict, default=None
        Other paths to draw beside it, by name: a pair of arrays (shares, values of the metric), or what
        :func:`l1_path` or :func:`~sparsebayes.sbl_path` returns.

    Attributes
    ----------
    line_ : Line2D
        The path, a point an outer iteration. An empty model has no place on the logarithmic axis.
    rival_lines_ : dict of Line2D
        The rivals, by name.
    ax_, figure_ : Axes, Figure
        Where all this is.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sparsebayes import SBLClassifier
    >>> from sparsebayes.display import PathDisplay
    >>> X, X_val, y, y_val = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> display = PathDisplay.from_estimator(SBLClassifier(), X, y, X_val, y_val)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('share of features kept', 'accuracy on validation data')
    >>> plt.close()
    """

    path: Any
    _: KW_ONLY
    metric: Any = "accuracy"
    rivals: Any = None

    @classmethod
    def from_estimator(cls, estimator, X, y, X_val, y_val, *, metric="accuracy", rivals=None, ax=None):
        """Fit a clone of the estimator by :func:`~sparsebayes.sbl_path`, and draw.

        Parameters
        ----------
        estimator : classifier of this package or None
            ``SBLClassifier("dqn")`` if None.
        X, y : {array-like, sparse matrix} of shape (n_samples, n_features), array-like
            Training data and their labels.
        X_val, y_val : {array-like, sparse matrix} of shape (n_validation, n_features), array-like
            Validation data and their labels.
        metric, rivals : {"accuracy", "log_loss"}, dict
            As above.
        ax : Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : PathDisplay
            As drawn.
        """
        pyplot()  # what is missing or misspelt is told before the fit
        _check_metric(metric)
        path = sbl_path(X, y, X_val, y_val, estimator=estimator)
        return cls(path, metric=metric, rivals=rivals).plot(ax)

    def plot(self, ax=None):
        """Draw in the axes given, or in a new figure; returns self."""
        _check_metric(self.metric)
        self.figure_, self.ax_ = axes(ax)
        fitted = self.path.estimator
        self.ax_.set_xscale("log")
        name = f"{type(fitted).__name__} ({fitted.solver})"
        (self.line_,) = self.ax_.plot(*_curve(self.path, self.metric), "o-", ms=4, zorder=3, label=name)
        self.rival_lines_ = {}
        for name, rival in (self.rivals or {}).items():
            (line,) = self.ax_.plot(*_curve(rival, self.metric), "s--", ms=3, lw=1.2, label=name)
            self.rival_lines_[name] = line
        _percent_ticks(self.ax_)
        self.ax_.set_xlabel(f"share of {CANDIDATES[fitted._basis_name]} kept")
        self.ax_.set_ylabel(f"{METRICS[self.metric]} on validation data")
        self.ax_.grid(alpha=0.3)
        self.ax_.legend()
        return self


def _check_metric(metric):
    if metric not in METRICS:
        raise ValueError(f"The metric of PathDisplay must be one of {list(METRICS)}. Got {metric!r} instead.")


def _curve(path, metric):
    """Shares and values of the metric; the line is broken where a model is empty."""
    if not isinstance(path, dict):
        share, values = path
    else:
        share = path["share"] if "share" in path else path["n_relevant"] / path["n_candidates"]
        values = path[metric]
    return np.where(np.asarray(share) > 0.0, share, np.nan), values


def _percent_ticks(ax):
    """Ticks of a logarithmic axis of shares; between the powers of ten where those are few."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 200.0 * low else (1.0,)))
    ax.xaxis.set_major_formatter(lambda share, _: f"{100.0 * share:.6g}%")
    ax.xaxis.set_minor_formatter(NullFormatter())


def l1_path(X, y, X_val, y_val, *, Cs=20, max_iter=1000):
    """The path of logistic regression with an L1 penalty: a rival for :class:`PathDisplay`.

    Parameters
    ----------
    X, y : {array-like, sparse matrix} of shape (n_samples, n_features), array-like
        Training data and their labels. The penalty sees the features in the units they have.
    X_val, y_val : {array-like, sparse matrix} of shape (n_validation, n_features), array-like
        Validation data and their labels.
    Cs : int or array-like, default=20
        Inverse strengths of the penalty; a number stands for so many over four decades, from the least with a
        feature in the model.
    max_iter : int, default=1000
        Iterations of a fit, by liblinear for two classes (which penalises the intercept too) and by saga for
        more.

    Returns
    -------
    path : Bunch
        With an entry a strength in each of ``C``, ``share`` (of features with a weight, in any class),
        ``accuracy`` and ``log_loss`` (on the validation data).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.preprocessing import scale
    >>> from sparsebayes.display import l1_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_val, y, y_val = train_test_split(scale(X), y, random_state=0)
    >>> path = l1_path(X, y, X_val, y_val, Cs=[0.01, 1.0])
    >>> bool(path.share[0] < 0.2 < path.share[1]), bool(path.log_loss[0] > path.log_loss[1])
    (True, True)
    """
    if np.ndim(Cs) == 0:
        Cs = l1_min_c(X, y, loss="log") * np.geomspace(1.0, 1e4, Cs + 1)[1:]
    solver = "liblinear" if len(np.unique(y)) == 2 else "saga"
    rows = []
    for C in Cs:
        clf = LogisticRegression(C=C, solver=solver, max_iter=max_iter, random_state=0, **_l1_penalty())
        proba = clf.fit(X, y).predict_proba(X_val)
        loss = log_loss(y_val, proba, labels=clf.classes_)
        rows.append((C, clf.coef_.any(axis=0).mean(), accuracy_score(y_val, clf.predict(X_val)), loss))
    return Bunch(**dict(zip(("C", "share", "accuracy", "log_loss"), np.array(rows).T, strict=True)))


def _l1_penalty():
    """scikit-learn 1.8 deprecates ``penalty``; before it, ``l1_ratio`` alone did nothing."""
    default = LogisticRegression().get_params().get("penalty")
    return {"penalty": "l1"} if default == "l2" else {"l1_ratio": 1.0}
