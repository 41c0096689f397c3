"""Figures 1 to 5 as SVG, of the result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.reproduction.results import PAPER, result

FIRST_EIGHT = (
    "a1a",
    "colon-cancer",
    "breast-cancer",
    "diabetes",
    "german.numer",
    "a2a",
    "madelon.t",
    "usps.binary",
)
CURVES = {
    "figure1": ("RVM", "accuracy", "accuracy (%)"),
    "figure2": ("SBELM", "accuracy", "accuracy (%)"),
    "figure3": ("RVM", "kept", "vectors kept"),
    "figure4": ("SBELM", "kept", "nodes kept"),
}
COLOURS = {"DQN-SBL": "C0", "SBL auto": "C2", "LR-l1": "C1"}


def draw_all(folder: Path = PAPER) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "reproduction"
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text, which is smaller
    lines = result("figures1to4", folder).get("curves", [])
    for name, (family, quantity, label) in CURVES.items():
        _draw_curves(folder / f"{name}.svg", lines, family, quantity, label)
    _draw_paths(folder / "figure5.svg", result("figure5", folder).get("paths", []))


def _draw_curves(path: Path, lines: list[dict[str, Any]], family: str, quantity: str, label: str) -> None:
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 4, figsize=(13, 5.6), layout="constrained")
    for data, panel in zip(FIRST_EIGHT, panels.flat, strict=True):
        for model, colour, marker in ((f"DQN-{family}", "C0", "o"), (family, "C1", "s")):
            for line in lines:
                if (line["dataset"], line["model"]) == (data, model):
                    x, y = ([point[name] for point in line["points"]] for name in ("x", quantity))
                    panel.plot(x, y, color=colour, marker=marker, markersize=4, label=model)
        panel.set_title(data)
        panel.grid(alpha=0.3)
        if family == "RVM":
            panel.set_xscale("log", base=2)
        if panel.lines:
            panel.legend(fontsize="small")
    figure.supxlabel("σ" if family == "RVM" else "L")
    figure.supylabel(label)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _draw_paths(path: Path, lines: list[dict[str, Any]]) -> None:
    from matplotlib import pyplot

    sets = list(dict.fromkeys(line["dataset"] for line in lines))
    if not sets:
        return
    figure, panels = pyplot.subplots(
        1, len(sets), figsize=(3.4 * len(sets), 3.4), layout="constrained", squeeze=False
    )
    for data, panel in zip(sets, panels.flat, strict=True):
        for line in lines:
            if line["dataset"] == data:
                points = [(n, accuracy) for n, accuracy in line["points"] if n]
                left = [n / line["features"] for n, _ in points]
                panel.plot(
                    left,
                    [a for _, a in points],
                    color=COLOURS[line["model"]],
                    marker=".",
                    label=line["model"],
                )
        panel.set_xscale("log")
        panel.invert_xaxis()
        panel.set_title(data)
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    figure.supxlabel("share of the features that is left (the paper's ratio is one minus this)")
    figure.supylabel("accuracy (%)")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
