"""What a classifier says about a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from sparsebayes.display.drawing import axes, probabilities_of

TWO_COLOURS = ["#2166ac", "#b2182b"]  # the blue and the red of the colormap RdBu
# Of a region's colour where its class is certain: points of the full colour must stand out from it.
TINT = 0.6


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
        proba = probabilities_of(clf, grid, cls, type(clf).__name__)
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
        self.figure_, self.ax_ = axes(ax)
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
