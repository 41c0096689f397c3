"""From a YAML file to cells: which sets, which models, which part of a grid, which protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.common import FOLDER
from benchmarks.reproduction import datasets
from benchmarks.reproduction.cells import Cell, Store
from benchmarks.reproduction.datasets import Split
from benchmarks.reproduction.models import MODELS

INNER_SHARE = 0.6  # of an outer fit's seconds, with four fifths of the rows


@dataclass(frozen=True, slots=True)
class Block:
    """One set and one model by one protocol."""

    data: str
    model: str
    protocol: str  # "paper", "nested", or "seeds" for 75/25 splits
    grid: dict[str, Any] = field(default_factory=dict)
    seeds: int = 1
    limit: float | None = None  # seconds a cell
    why: str = ""  # of a grid that is not whole
    stage: int = 0  # earlier ones are run first

    def points(self) -> list[dict[str, float]]:
        return MODELS[self.model].points(datasets.shape(self.data)[1], self.grid)

    def splits(self) -> Iterable[Split]:
        if self.protocol == "seeds":
            return [Split(f"s{seed}") for seed in range(self.seeds)]
        if self.protocol == "nested" and len(self.points()) > 1:
            return [*datasets.outer_folds(), *datasets.inner_folds()]
        return list(datasets.outer_folds())

    def cells(self) -> Iterator[Cell]:
        return (
            Cell.at(self.data, self.model, point, split) for split in self.splits() for point in self.points()
        )


def read(path: str | Path) -> dict[str, Any]:
    """A file of benchmarks/paper by its name there, or any other by its path."""
    path = Path(path)
    if not path.exists():
        path = FOLDER / path
    return yaml.safe_load(path.read_text())


def blocks(
    plan: dict[str, Any],
    data: Collection[str] | None = None,
    models: Collection[str] | None = None,
    quick: bool = False,
) -> list[Block]:
    if "cells" in plan:  # those of another file
        plan = read(plan["cells"]) | {key: plan[key] for key in plan if key != "cells"}
    chosen = plan["quick"] if quick else plan["blocks"]
    found = [block for entry in chosen for block in _entry_blocks(entry)]
    unknown = {*(data or ()), *(models or ())} - {name for each in found for name in (each.data, each.model)}
    if unknown:
        raise SystemExit(f"The plan has no {', '.join(sorted(unknown))}.")
    return [
        each
        for each in found
        if (data is None or each.data in data) and (models is None or each.model in models)
    ]


def _entry_blocks(entry: dict[str, Any]) -> Iterator[Block]:
    options = {name: entry[name] for name in ("grid", "seeds", "limit", "why", "stage") if name in entry}
    for data in entry["datasets"]:
        for model in entry["models"]:
            for protocol in entry["protocols"]:
                yield Block(data, model, protocol, **options)


def seconds(cell: Cell, store: Store) -> float:
    """A guess, from other folds of the same point, other points, or the size of the data."""
    records = store.records(cell.data, cell.model)
    same = [record for (point, _), record in records.items() if point == cell.point]
    known = [_outer_seconds(record) for record in same or records.values() if "s" in record]
    if known:
        guess = float(np.mean(known))
    else:
        n_rows, n_features, n_classes = datasets.shape(cell.data)
        pairs = n_classes * (n_classes - 1) / 2
        cost = MODELS[cell.model].cost(int(0.8 * n_rows * 2 / n_classes), n_features, dict(cell.point))
        guess = 0.01 + pairs * cost
    return guess * (INNER_SHARE if cell.split.is_inner else 1.0)


def _outer_seconds(record: dict[str, Any]) -> float:
    return record["s"] / (INNER_SHARE if "." in record["split"] else 1.0)


def cheapest_first(found: list[Block], store: Store) -> list[tuple[Block, list[Cell]]]:
    """Blocks with what they miss, stage by stage."""
    missing = [(block, store.missing(block.cells())) for block in found]
    work = [(block, cells) for block, cells in missing if cells]
    return sorted(work, key=lambda each: (each[0].stage, sum(seconds(cell, store) for cell in each[1])))
