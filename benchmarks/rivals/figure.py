"""Accuracy against number of features: an SVG for every wide set, all models that have records in its axes.

Lines are means over seeds, at each C or, for paths of our own, interpolated at sizes that all seeds reach;
bands are one standard error.

Run ``python -m benchmarks.rivals.figure [--sets a,b]``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.common import say
from benchmarks.rivals.records import FOLDER, Record, finished, unfinished
from benchmarks.rivals.verdicts import Points, at_size
from benchmarks.rivals.wide import CELLS, SETS

# Label, colour (Okabe and Ito's, told apart by all eyes), marker.
STYLES = {
    "sbl": ("sparsebayes, path", "#0072B2", None),
    "sbl-cv": ("sparsebayes, five-fold choice", "#0072B2", "*"),
    "sbl-cv-1se": ("sparsebayes, one standard error", "#0072B2", "P"),
    "lr-l1": ("LR-l1 (liblinear)", "#D55E00", "o"),
    "lr-l1-cv": ("LR-l1, five-fold choice", "#D55E00", "*"),
    "lr-l2": ("LR-l2 (liblinear)", "#000000", "o"),
    "lr-l2-cv": ("LR-l2, five-fold choice", "#000000", "*"),
    "skglm": ("skglm, l1", "#E69F00", "s"),
    "celer": ("celer, l1, no intercept", "#CC79A7", "^"),
    "lightgbm": ("LightGBM", "#009E73", "D"),
}
N_SIZES = 60


def curve(points: Points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes, and mean and standard error of the accuracy there."""
    paths = list(points.values())
    if len({len(path) for path in paths}) == 1 and len(paths[0]) < N_SIZES // 4:
        sizes = np.mean([[point["n"] for point in path] for path in paths], axis=0)
        rows = np.array([[point["acc"] for point in path] for path in paths])
    else:
        least = max(min(point["n"] for point in path if point["n"] > 0) for path in paths)
        most = min(max(point["n"] for point in path) for path in paths)
        sizes = np.geomspace(least, most, N_SIZES)
        # The ends are sizes themselves; rounding must not put them outside.
        sizes[[0, -1]] = least, most
        rows = np.array([[at_size(path, size, "acc") for size in sizes] for path in paths])
    error = rows.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.zeros(rows.shape[1])
    return sizes, rows.mean(axis=0), error


def begun(records: dict[int, Record]) -> Points:
    return {seed: record["points"] for seed, record in records.items() if record["points"]}


def draw(data: str) -> Path | None:
    records = {model: CELLS.read(data, model) for model in STYLES}
    # A cell that was stopped is drawn as far as it came, unless others of its model were not.
    found = {model: finished(each) or begun(each) for model, each in records.items()}
    found = {model: points for model, points in found.items() if points}
    if not found:
        return None
    figure, axes = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
    floor, top = 100.0, 0.0
    for model, points in found.items():
        label, colour, marker = STYLES[model]
        sizes, mean, error = curve(points)
        seeds = f"{len(points)} split{'s' if len(points) > 1 else ''}"
        if stopped := unfinished(records[model]):
            seeds += f" ({stopped} unfinished)"
        alone = len(sizes) == 1
        axes.plot(
            sizes,
            mean,
            color=colour,
            marker=marker,
            markersize=11 if marker == "*" else 5,
            linestyle="none" if alone or model == "lr-l2" else "-",  # all of l2's have one size
            # Drawn beneath a choice, which lies on it.
            zorder=3 if alone else 2,
            label=f"{label}, {seeds}",
        )
        axes.fill_between(sizes, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
        floor, top = min(floor, float(np.median(mean))), max(top, float(mean.max()))
    # Models of a few features fall far below: the comparison is above them.
    axes.set_ylim(max(floor - 6.0, 0.0), min(top + 1.0, 100.2))
    axes.set(xscale="log", xlabel="features in the model", ylabel="accuracy on the test rows, %", title=data)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{data}.svg"
    # No date inside, so that the same records give the same file.
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.figure", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated")
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "sparsebayes"
    for data in parser.parse_args().sets.split(","):
        path = draw(data)
        say(f"written: {path.name}" if path else f"{data}: no records")


if __name__ == "__main__":
    main()
