"""Accuracy against size of the model, ours beside rivals, of the records under benchmarks/results/rivals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rivals.figure import curve
from benchmarks.rivals.records import FOLDER as RESULTS
from benchmarks.rivals.records import finished
from benchmarks.rivals.wide import CELLS
from docs.figures.drawing import BLUE, GREEN, GREY, ORANGE, axes, rounded, save

WIDE = "news20.binary"
# Sets of the paper in the right panel, and what they are called there.
KERNELS = {
    "usps": "digits (usps)",
    "satimage.scale": "satellite",
    "segment.scale": "segment",
    "a2a": "Adult",
    "diabetes_scale": "diabetes",
    "madelon.t": "madelon",
}


def numbers() -> dict[str, Any]:
    """Means over splits: of features on text, and of vectors on sets of the paper."""
    found: dict[str, Any] = {"wide": {}, "kernels": {}}
    for model in ("sbl", "lr-l1", "lr-l2"):
        sizes, mean, _ = curve(finished(CELLS.read(WIDE, model)))
        found["wide"][model] = {"n": rounded(sizes, 1), "acc": rounded(mean, 2)}
    small = json.loads((RESULTS / "small_kernels.json").read_text())["sets"]
    for row in small:
        if row["data"] in KERNELS:
            found["kernels"][row["data"]] = {
                model: rounded([row[model]["n"], row[model]["acc"]], 2) for model in ("rvm", "svc")
            }
    return found


def draw() -> Path:
    found = numbers()
    figure, (left, right) = axes(2, 9.0, 3.8)
    wide = found["wide"]
    best = int(np.argmax(wide["lr-l2"]["acc"]))
    l2 = {name: [values[best]] for name, values in wide["lr-l2"].items()}
    lines = (
        (wide["sbl"], BLUE, "-", "SBLClassifier: one fit, all sizes"),
        (wide["lr-l1"], ORANGE, "o--", "LR-l1: one fit a size"),
        (l2, GREY, "D", "LR-l2 at its best C"),
    )
    for points, colour, style, label in lines:
        left.plot(points["n"], points["acc"], style, color=colour, markersize=5, label=label)
    left.set(
        xscale="log",
        ylim=(82.0, 98.0),
        xlim=(60.0, 2e6),
        xlabel="features in the model",
        ylabel="accuracy on test rows, %",
        title="text: news20.binary, 1.36 million features",
    )
    left.legend(fontsize=8, loc="lower right")
    for k, (data, each) in enumerate(found["kernels"].items()):
        pairs = np.array([each["rvm"], each["svc"]])
        right.plot(*pairs.T, color=GREY, linewidth=0.8)
        right.plot(*pairs[0], "s", color=BLUE, label="RVMClassifier" if k == 0 else None)
        right.plot(*pairs[1], "o", color=GREEN, label="SVC, tuned by grid" if k == 0 else None)
        right.annotate(
            KERNELS[data], pairs[1], xytext=(6, -3), textcoords="offset points", fontsize=8, color="black"
        )
    right.set(
        xscale="log",
        xlim=(2.0, 4e3),
        xlabel="vectors in the model, a binary problem",
        title="kernels: six sets of the paper",
    )
    right.legend(fontsize=8, loc="lower left")
    for panel in (left, right):
        panel.title.set_fontsize(9)
        panel.grid(alpha=0.3)
    return save(figure, "sizes", found)
