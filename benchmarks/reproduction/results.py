"""The result files of the paper's tables, made of the records: small, with versions, date and command."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.common import FOLDER, RESULTS
from benchmarks.reproduction import datasets
from benchmarks.reproduction.cells import RECIPE, Store
from benchmarks.reproduction.judge import Point, Summary, curve, progress, spread, summary
from benchmarks.reproduction.models import FOUR
from benchmarks.reproduction.plan import Block, blocks, read
from benchmarks.rivals.records import versions

PAPER = RESULTS / "paper"
PRINTED = FOLDER / "paper" / "printed.json"
COMMAND = "python -m benchmarks tables"


def printed() -> dict[str, Any]:
    """The numbers of the paper, arXiv 2107.08195."""
    return json.loads(PRINTED.read_text())


def write(name: str, content: dict[str, Any], folder: Path = PAPER) -> bool:
    """Whether it says something new; if not, the file stays as it is, with its date."""
    path = folder / f"{name}.json"
    if path.exists():
        old = json.loads(path.read_text())
        if {key: old.get(key) for key in content} == json.loads(json.dumps(content)):
            return False
    head = {
        "command": COMMAND,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "recipe": RECIPE,
        "cpu_count": os.cpu_count(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(head | content, indent=1) + "\n")
    return True


def result(name: str, folder: Path = PAPER) -> dict[str, Any]:
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def cell_of(block: Block, found: Summary) -> dict[str, Any]:
    return {
        "dataset": block.data,
        "model": block.model,
        "accuracy_mean": round(found.accuracy_mean, 3),
        "accuracy_std": round(found.accuracy_std, 3),
        "kept_mean": round(found.kept_mean, 2),
        "log_loss_mean": None if found.log_loss_mean is None else round(found.log_loss_mean, 4),
        "seconds": round(found.seconds, 2),
        "grid": grid_text(block),
        "protocol": block.protocol,
        "best": [point_text(point) for point in found.points],
        "fits": found.fits,
        "failed": found.failed,
    }


def grid_text(block: Block) -> str:
    points = block.points()
    names = {name: sorted({point[name] for point in points}) for name in points[0]}
    text = ", ".join(f"{name} in {{{', '.join(map(short, values))}}}" for name, values in names.items())
    if not text:
        return "none"
    return f"{text} ({block.why})" if block.why else text


def point_text(point: Point) -> str:
    return ", ".join(f"{name} = {short(value)}" for name, value in point)


def short(value: float) -> str:
    return f"{value:g}" if value >= 0.1 or value == 0 else f"1/{1 / value:g}"


def accuracy_table(found: Iterable[Block], store: Store) -> dict[str, Any]:
    """What is complete, and what is not yet."""
    cells, missing = [], []
    for block in found:
        each = summary(block, store)
        if each is not None:
            cells.append(cell_of(block, each))
            continue
        done, wanted = progress(block, store)
        entry = {"dataset": block.data, "model": block.model, "protocol": block.protocol}
        reason = "not run yet" if done < wanted else "no point of the grid came through on all folds"
        missing.append(entry | {"done": done, "of": wanted, "reason": reason})
    return {"cells": cells, "missing": missing}


def curves(found: Iterable[Block], store: Store) -> dict[str, Any]:
    lines = []
    for block in found:
        if block.protocol != "paper" or block.model not in FOUR:
            continue
        variable = "sigma" if block.model.endswith("RVM") else "L"
        line = {"dataset": block.data, "model": block.model, "variable": variable}
        if variable == "L":
            line["spread_over_seeds"] = spread(block, store, "seed")
            line["spread_over_L"] = spread(block, store, "L")
        lines.append(line | {"points": curve(block, store, variable)})
    return {"curves": [line for line in lines if line["points"]]}


def data_table() -> dict[str, Any]:
    """Table I: what is here against what is printed."""
    rows = []
    for name, paper in printed()["table1_datasets"].items():
        row = {"dataset": name, "printed": paper}
        try:
            n_rows, n_features, n_classes = datasets.shape(name)
        except ValueError:
            rows.append(row | {"here": None})
            continue
        here = {"instances": n_rows, "features": n_features, "classes": n_classes}
        rows.append(row | {"here": here if datasets.at_hand(name) else None})
    return {"rows": rows}


def write_all(store: Store) -> list[str]:
    """Names of the files that say something new."""
    table2 = blocks(read("paper/table2.yaml"))
    files = {
        "table1": data_table(),
        "table2": accuracy_table(table2, store),
        "figures1to4": curves(table2, store),
    }
    return [name for name, content in files.items() if write(name, content)]
