"""Plots in scikit-learn's Display convention; matplotlib is imported when something is drawn."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.svm import l1_min_c
from sklearn.utils import Bunch, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sparsebayes import multiclass
from sparsebayes.estimators._base import SparseBayesClassifier
from sparsebayes.estimators.path import sbl_path

METRICS = {"accuracy": "accuracy", "log_loss": "log loss"}
CANDIDATES = {"features": "features", "kernel": "training rows", "hidden": "hidden nodes"}
TWO_COLOURS = ["#2166ac", "#b2182b"]  # the blue and the red of the colormap RdBu
# Of a region's colour where its class is certain: points of the full colour must stand out from it.
TINT = 0.6


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'sparsebayes[report]'") from error
    return plt


def _axes(ax):
    """A figure and axes in it: those given, or new ones."""
    if ax is None:
        return _pyplot().subplots(layout="constrained")
    return ax.figure, ax


def _probabilities(clf, X, display, name):
    check_is_fitted(clf)
    if not hasattr(clf, "predict_proba"):
        raise ValueError(f"{display.__name__} needs probabilities, but {name} has no predict_proba.")
    return clf.predict_proba(X)


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionRegionsDisplay:
    """What a classifier says about the plane of its two features.

    With two classes the colour is the probability of the second; with more it is that of the most probable
    class, the paler the less probable. :meth:`from_estimator` makes it.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n_grid,)
        The grid along the two features.
    proba : ndarray of shape (n_grid, n_grid, n_classes)
        Of the classes at ``(xx0[j], xx1[i])``, in ``proba[i, j]``.
    classes : ndarray of shape (n_classes,)
        Labels.
    X, y : ndarray of shape (n_samples, 2), ndarray of shape (n_samples,)
        Rows to draw, and their labels.
    vectors : ndarray of shape (n_vectors, 2), default=None
        Relevance vectors.
    feature_names : sequence of two str, default=("feature 0", "feature 1")
        Labels of the axes.

    Attributes
    ----------
    regions_ : QuadMesh
        The coloured grid.
    boundary_ : ContourSet or None
        Where two classes are equally probable; None with more, and where the grid has no such place.
    points_ : list of PathCollection
        The rows, a collection a class.
    vectors_ : PathCollection or None
        Circles around the relevance vectors; None for a classifier without them.
    colorbar_ : Colorbar or None
        With two classes.
    ax_, figure_ : Axes, Figure
        Where all this is.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import make_moons
    >>> from sparsebayes import RVMClassifier
    >>> from sparsebayes.display import DecisionRegionsDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = RVMClassifier().fit(X, y)
    >>> display = DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=50)
    >>> len(display.vectors_.get_offsets()) == len(clf.relevance_vectors_)
    True
    >>> plt.close()
    """

    xx0: Any
    xx1: Any
    proba: Any
    classes: Any
    X: Any
    y: Any
    vectors: Any = None
    feature_names: Any = ("feature 0", "feature 1")

    @classmethod
    def from_estimator(cls, clf, X, y, *, grid_resolution=200, eps=0.5, ax=None):
        """Ask the classifier about a grid around the rows of X, and draw.

        Parameters
        ----------
        clf : classifier
            Fitted to two features; any with ``predict_proba``.
        X, y : {array-like, sparse matrix, dataframe} of shape (n_samples, 2), array-like
            Rows to draw, usually those of training, and their labels.
        grid_resolution : int, default=200
            Points of the grid along each feature.
        eps : float, default=0.5
            How far the grid goes beyond the rows.
        ax : Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : DecisionRegionsDisplay
            As drawn.
        """
        rows, labels = _dense(check_array(X, accept_sparse=True)), column_or_1d(y)
        check_consistent_length(rows, labels)
        if rows.shape[1] != 2:
            raise ValueError(f"{cls.__name__} draws 2 features, but X has {rows.shape[1]}.")
        if grid_resolution < 2:
            raise ValueError(f"grid_resolution must be at least 2. Got {grid_resolution} instead.")
        xx0, xx1 = np.linspace(rows.min(axis=0) - eps, rows.max(axis=0) + eps, grid_resolution, axis=1)
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(xx0, xx1)])
        names = getattr(X, "columns", cls.feature_names)
        if hasattr(X, "columns"):  # a classifier that knows its features by name wants to see the names
            grid = type(X)(dict(zip(names, grid.T, strict=True)))
        proba = _probabilities(clf, grid, cls, type(clf).__name__)
        if not np.isin(labels, clf.classes_).all():
            raise ValueError(f"y has labels that are not among the classes {clf.classes_.tolist()} of clf.")
        vectors = getattr(clf, "relevance_vectors_", None)
        return cls(
            xx0=xx0,
            xx1=xx1,
            proba=proba.reshape(grid_resolution, grid_resolution, -1),
            classes=clf.classes_,
            X=rows,
            y=labels,
            vectors=None if vectors is None else _dense(vectors),
            feature_names=names,
        ).plot(ax)

    def plot(self, ax=None):
        """Draw in the axes given, or in a new figure; returns self."""
        self.figure_, self.ax_ = _axes(ax)
        colours = _class_colours(len(self.classes))
        self.boundary_ = self.colorbar_ = self.vectors_ = None
        if len(self.classes) == 2:
            self._draw_probability(colours)
        else:
            self.regions_ = self._mesh(_tinted(colours, self.proba))
        style = {"s": 20, "edgecolors": "white", "linewidths": 0.5}
        self.points_ = [
            self.ax_.scatter(*self.X[self.y == label].T, color=[colour], label=f"class {label}", **style)
            for label, colour in zip(self.classes, colours, strict=True)
        ]
        if self.vectors is not None:
            style = {"s": 90, "facecolors": "none", "edgecolors": "black", "linewidths": 1.5}
            label = f"{len(self.vectors)} relevance vectors"
            self.vectors_ = self.ax_.scatter(*self.vectors.T, label=label, **style)
        self.ax_.set(xlim=self.xx0[[0, -1]], ylim=self.xx1[[0, -1]])
        self.ax_.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        # Above the axes, since inside it would cover points.
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4, "frameon": False}
        self.ax_.legend(fontsize="small", handletextpad=0.1, columnspacing=1.0, **above)
        return self

    def _draw_probability(self, colours):
        from matplotlib.colors import LinearSegmentedColormap

        first, second = _tinted(colours, np.eye(2))
        diverging = LinearSegmentedColormap.from_list("classes", [first, (1.0, 1.0, 1.0), second])
        proba = self.proba[..., 1]
        self.regions_ = self._mesh(proba, cmap=diverging, vmin=0.0, vmax=1.0)
        self.colorbar_ = self.figure_.colorbar(
            self.regions_, ax=self.ax_, label=f"probability of class {self.classes[1]}"
        )
        if proba.min() < 0.5 < proba.max():
            self.boundary_ = self.ax_.contour(
                self.xx0, self.xx1, proba, levels=[0.5], colors="black", linewidths=1.0
            )

    def _mesh(self, values, **style):
        # As pixels also in a vector format, which would store a path for every cell.
        return self.ax_.pcolormesh(self.xx0, self.xx1, values, shading="nearest", rasterized=True, **style)


def _dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def _class_colours(n_classes):
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    if n_classes == 2:
        return np.array([to_rgb(colour) for colour in TWO_COLOURS])
    if n_classes <= 10:
        return colormaps["tab10"](np.arange(n_classes))[:, :3]
    return colormaps["turbo"](np.linspace(0.05, 0.95, n_classes))[:, :3]


def _tinted(colours, proba):
    """The colour of the winning class, white where it wins by nothing."""
    chance = 1.0 / len(colours)
    strength = TINT * (proba.max(axis=-1, keepdims=True) - chance) / (1.0 - chance)
    return 1.0 + strength * (colours[proba.argmax(axis=-1)] - 1.0)


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
        _pyplot()  # what is missing or misspelt is told before the fit
        _check_metric(metric)
        path = sbl_path(X, y, X_val, y_val, estimator=estimator)
        return cls(path, metric=metric, rivals=rivals).plot(ax)

    def plot(self, ax=None):
        """Draw in the axes given, or in a new figure; returns self."""
        _check_metric(self.metric)
        self.figure_, self.ax_ = _axes(ax)
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
        _pyplot()
        from matplotlib.ticker import MaxNLocator

        self.figure_, self.ax_ = _axes(ax)
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
            proba = _probabilities(clf, X, cls, name)
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
        self.figure_, self.ax_ = _axes(ax)
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
