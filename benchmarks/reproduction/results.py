"""The result files of the paper's tables, made of the records: small, with versions, date and command."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from benchmarks.common import FOLDER, RESULTS
from benchmarks.reproduction import datasets, other_results
from benchmarks.reproduction.cells import RECIPE, Store
from benchmarks.reproduction.judge import Point, Summary, curve, progress, spread, summary
from benchmarks.reproduction.models import FOUR
from benchmarks.reproduction.plan import Block, blocks, read
from benchmarks.rivals.records import versions

PAPER = RESULTS / "paper"
PRINTED = FOLDER / "paper" / "printed.yaml"
RATIOS = ("rvm_compute", "rvm_storage", "sbelm_compute", "sbelm_storage")
LIBSVM_NAMES = {"rcv1.binary.train": "rcv1_train.binary"}
COMMAND = "python -m benchmarks tables"


def printed() -> dict[str, Any]:
    """What the paper prints, a table after the other, each by data set."""
    sets = yaml.safe_load(PRINTED.read_text())

    def table(name: str, columns: Sequence[str], entry: Callable[[Any, Any], Any]) -> dict[str, Any]:
        """One entry a model, or a column, of the sets that are in the table."""
        rows = {data: row for data, row in sets.items() if name in row}
        return {
            data: {column: entry(value, row) for column, value in zip(columns, row[name], strict=True)}
            for data, row in rows.items()
        }

    def itself(value: Any, row: Any) -> Any:
        return value

    return {
        "table1_datasets": table("data", ("paper_name", "instances", "features_printed", "classes"), itself),
        "table2_accuracy": table("accuracy", FOUR, lambda v, row: {"mean": v[0], "std": v[1]}),
        "table3_sparsity": table("kept", FOUR, lambda v, row: {"per_binary": v, "binaries": row["problems"]}),
        "table4_training_seconds": table("seconds", FOUR, itself),
        "table5_complexity_ratio": table("ratios", RATIOS, itself),
        "table5b_linear_accuracy": table("linear", ("DQN-SBL", "LR-l2"), itself),
    }


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
        **_left_out(block, found),
    }


def _left_out(block: Block, found: Summary) -> dict[str, Any]:
    """How many fits the whole grid has beyond this one, and their seconds at the mean of those made."""
    rest = len(replace(block, grid={}).points()) - len(block.points())
    if rest <= 0 or block.protocol != "paper":
        return {}
    fits = rest * datasets.N_FOLDS
    return {"left_out": {"fits": fits, "seconds": round(fits * found.seconds / found.fits)}}


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
        if block.protocol != "paper" or not {"sigma", "L"} & block.points()[0].keys():
            continue
        variable = "sigma" if "sigma" in block.points()[0] else "L"
        line = {"dataset": block.data, "model": block.model, "variable": variable}
        if variable == "L":
            line["spread_over_seeds"] = spread(block, store, "seed")
            line["spread_over_L"] = spread(block, store, "L")
        lines.append(line | {"points": curve(block, store, variable)})
    return {"curves": [line for line in lines if line["points"]]}


def _with_curves(found: list[Block], store: Store) -> dict[str, Any]:
    return accuracy_table(found, store) | curves(found, store)


def data_table() -> dict[str, Any]:
    """Table I: what is here against what is printed."""
    rows = []
    for name, paper in printed()["table1_datasets"].items():
        found = datasets.shape_here(LIBSVM_NAMES.get(name, name))
        here = dict(zip(("instances", "features", "classes"), found, strict=True)) if found else None
        rows.append({"dataset": name, "printed": paper, "here": here})
    return {"rows": rows}


def write_all(store: Store) -> list[str]:
    """Names of the files that say something new."""
    table2 = blocks(read("paper/table2.yaml"))
    files = {
        "table1": data_table(),
        "table2": accuracy_table(table2, store),
        "figures1to4": curves([block for block in table2 if block.model in FOUR], store),
        "experiments": _with_curves(blocks(read("paper/experiments.yaml")), store),
        "table5": other_results.cost(store),
        "table5b": other_results.linear(store),
        "table6": other_results.growth(store),
        "figure5": other_results.paths(store),
    }
    return [name for name, content in files.items() if write(name, content)]
