"""docs/reproduction.md, made of the result files and of the notes in benchmarks/paper/notes.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchmarks.common import FOLDER
from benchmarks.reproduction import page_other, page_small
from benchmarks.reproduction.claims import adult1, claims
from benchmarks.reproduction.results import PAPER, printed, result

PAGE = FOLDER.parent / "docs" / "reproduction.md"
NOTES = FOLDER / "paper" / "notes.yaml"
FILES = ("table1", "table2", "figures1to4", "experiments", "table5", "table5b", "table6", "figure5")
FIGURES = {
    "figure1": "Fig. 1: accuracy of RVMs against σ",
    "figure2": "Fig. 2: accuracy of SBELMs against L",
    "figure3": "Fig. 3: vectors that RVMs keep, against σ",
    "figure4": "Fig. 4: nodes that SBELMs keep, against L",
    "figure5": "Fig. 5: accuracy against the share of features dropped",
}


def page(folder: Path = PAPER, notes_file: Path = NOTES) -> str:
    results = {name: result(name, folder) for name in FILES}
    notes: dict[str, Any] = yaml.safe_load(notes_file.read_text())
    paper, table2 = printed(), results["table2"]
    sections = [
        (
            "# The paper's numbers beside ours",
            [notes["introduction"], "", *page_small.summary(paper, table2)],
        ),
        ("## How it was run", [notes["protocol"], ""]),
        ("## Table I: data", [*page_other.data_sets(results["table1"]), notes["data"], ""]),
        ("## Table II: accuracy", [notes["accuracy"], "", *page_small.accuracy(paper, table2)]),
        ("### Grids and failures", page_small.grids(table2)),
        ("### Deviations", _deviations(paper, table2, notes)),
        ("### What the Adult1 row means", [notes["adult1"], "", *adult1(table2)]),
        (
            "### Eq. 9 as printed",
            [notes["eq9"], "", *page_small.kernel_as_printed(table2, results["experiments"])],
        ),
        (
            "### How features were scaled",
            [notes["scaling"], "", *page_small.scalings(table2, results["experiments"])],
        ),
        (
            "### Other folds",
            [notes["folds"], "", *page_small.other_folds(paper, table2, results["experiments"])],
        ),
        (
            "## Table III: what is kept",
            [
                notes["sparsity"],
                "",
                *page_small.sparsity(paper, table2),
                *page_small.sizes_elsewhere(paper, table2, results["figures1to4"]),
            ],
        ),
        ("## Table IV: training time", [notes["times"], "", *page_small.times(paper, table2)]),
        ("## Beside them", [notes["others"], "", *page_small.others(paper, table2)]),
        ("## Table V: complexity", [notes["cost"], "", *page_other.cost(paper, results["table5"])]),
        (
            "## Table V(b): linear models",
            [
                notes["linear"],
                "",
                *page_other.linear(paper, results["table5b"]),
                *page_other.linear_verdict(paper, results["table5b"]),
            ],
        ),
        ("## Table VI: growth", [notes["growth"], "", *page_other.growth(results["table6"])]),
        ("## Figures", _figures(folder)),
        ("## What the paper says in words", claims(results)),
    ]
    lines = [line for title, body in sections if body for line in (title, "", *body)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _deviations(paper: dict[str, Any], table2: dict[str, Any], notes: dict[str, Any]) -> list[str]:
    """A note for each cell that falls short; without one it is open."""
    _, run, short = page_small.held(paper, table2)
    if not short:
        return [f"None of the {run} cells that were run is below the paper's spread.", ""]
    known = notes.get("deviations") or {}
    lines = []
    for data, model in short:
        text = known.get(data, {}).get(model, "Open: no experiment explains it yet.")
        lines.append(f"- **{model} on {data}.** {text}")
    return [*lines, ""]


def _figures(folder: Path) -> list[str]:
    lines = []
    for name, title in FIGURES.items():
        if (folder / f"{name}.svg").exists():
            lines += [f"![{title}](../benchmarks/results/paper/{name}.svg)", ""]
    return lines


def write_page() -> Path:
    PAGE.write_text(page())
    return PAGE
