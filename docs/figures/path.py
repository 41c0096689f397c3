"""A path from all features down to one, and the points that the ways to choose take on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from docs.figures.drawing import BLUE, GREEN, ORANGE, axes, rounded, save
from sparsebayes import SBLClassifier, sbl_path

N_SPLITS = 5
CHOICES = {"evidence": (ORANGE, "o"), "cv": ("black", "D"), "cv-1se": (GREEN, "s")}


def numbers() -> dict[str, Any]:
    """Means over splits, on rows held out: at every size, and of what each way to choose takes."""
    paths, taken = [], {name: [] for name in CHOICES}
    for seed in range(N_SPLITS):
        X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=seed)
        path = sbl_path(X, y, X_test, y_test, estimator=SBLClassifier())
        paths.append((path.n_relevant, path.log_loss, path.accuracy))
        for name in CHOICES:
            clf = SBLClassifier(select=name).fit(X, y)
            scores = log_loss(y_test, clf.predict_proba(X_test)), clf.score(X_test, y_test)
            taken[name].append((clf.n_relevant_[0], *scores))
    n, losses, accuracies = np.mean(paths, axis=0)
    return {
        "n": [int(size) for size in n],
        "log loss": rounded(losses),
        "accuracy": rounded(accuracies),
        "taken": {name: rounded(np.mean(each, axis=0)) for name, each in taken.items()},
    }


def draw() -> Path:
    found = numbers()
    figure, panels = axes(2, 9.0, 3.2)
    sizes = np.array(found["n"])
    for k, (panel, name) in enumerate(zip(panels, ("log loss", "accuracy"), strict=True), start=1):
        values = np.array(found[name])[sizes > 0]
        panel.plot(sizes[sizes > 0], values, ".-", color=BLUE, label="models on the path")
        for choice, means in found["taken"].items():
            colour, marker = CHOICES[choice]
            style = {"color": colour, "markersize": 9, "fillstyle": "none"}
            panel.plot(means[0], means[k], marker, label=f'select="{choice}"', **style)
        panel.set(xscale="log", xlabel="features in the model", ylabel=f"{name}, mean of {N_SPLITS} splits")
        panel.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    return save(figure, "path", found)
