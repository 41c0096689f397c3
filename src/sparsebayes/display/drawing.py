"""What the pictures share: axes to draw in, words, probabilities."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

CANDIDATES = {"features": "features", "kernel": "training rows", "hidden": "hidden nodes"}


def pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'sparsebayes[report]'") from error
    return plt


def axes(ax):
    """A figure and axes in it: those given, or new ones."""
    if ax is None:
        return pyplot().subplots(layout="constrained")
    return ax.figure, ax


def probabilities_of(clf, X, display, name):
    check_is_fitted(clf)
    if not hasattr(clf, "predict_proba"):
        raise ValueError(f"{display.__name__} needs probabilities, but {name} has no predict_proba.")
    return clf.predict_proba(X)
