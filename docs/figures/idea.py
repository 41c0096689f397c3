"""What sparse Bayesian learning does: weights of features, and a boundary that a few rows carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from docs.figures.drawing import BLUE, GREY, ORANGE, axes, rounded, save
from sparsebayes import RVMClassifier, SBLClassifier


def numbers() -> dict[str, Any]:
    """Weights on breast cancer, and the relevance vectors of two moons."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    dense, sparse = LogisticRegression().fit(X, y), SBLClassifier().fit(X, y)
    moons, _ = rows = make_moons(300, noise=0.2, random_state=0)
    rvm = RVMClassifier().fit(*rows)
    return {
        "dense": rounded(dense.coef_[0]),
        "sparse": rounded(sparse.coef_[0]),
        "std": rounded(sparse.coef_std_[0]),
        "vectors": [rounded(vector) for vector in rvm.relevance_vectors_],
        "rows": len(moons),
    }


def draw() -> Path:
    found = numbers()
    figure, (left, right) = axes(2, 9.0, 3.6)
    order = np.argsort(np.abs(found["dense"]))[::-1]
    places = np.arange(len(order))
    dense, sparse, std = (np.array(found[name])[order] for name in ("dense", "sparse", "std"))
    kept = sparse != 0.0
    left.axhline(0.0, color=GREY, linewidth=0.8)
    left.plot(places, dense, "o", color=ORANGE, markersize=4, label="logistic regression, l2: 30 weights")
    left.errorbar(
        places[kept],
        sparse[kept],
        2.0 * std[kept],
        fmt="s",
        color=BLUE,
        markersize=4,
        linewidth=1.0,
        label=f"SBLClassifier: {kept.sum()} weights, ±2 posterior standard deviations",
    )
    left.plot(places[~kept], sparse[~kept], "s", color=BLUE, markersize=4, fillstyle="none", label="dropped")
    left.set(xlabel="features of breast cancer (unit variance)", ylabel="weight", xticks=[])
    left.legend(fontsize=7, loc="lower right")

    X, y = make_moons(found["rows"], noise=0.2, random_state=0)
    rvm = RVMClassifier().fit(X, y)
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.meshgrid(np.linspace(low[0], high[0], 90), np.linspace(low[1], high[1], 70))
    p = rvm.predict_proba(np.column_stack([across.ravel(), up.ravel()]))[:, 1].reshape(across.shape)
    lines = right.contour(
        across, up, p, levels=[0.1, 0.5, 0.9], colors=[GREY, "black", GREY], linewidths=[0.8, 1.6, 0.8]
    )
    right.clabel(lines, fontsize=7)
    for label, colour in ((0, ORANGE), (1, BLUE)):
        right.plot(*X[y == label].T, ".", color=colour, markersize=4)
    right.plot(
        *np.array(found["vectors"]).T,
        "o",
        color="black",
        fillstyle="none",
        markersize=11,
        markeredgewidth=1.6,
        label=f"{len(found['vectors'])} relevance vectors of {found['rows']} rows",
    )
    right.set(xticks=[], yticks=[], xlabel="RVMClassifier: probabilities 0.1, 0.5 and 0.9")
    right.legend(fontsize=7, loc="upper right")
    return save(figure, "idea", found)
