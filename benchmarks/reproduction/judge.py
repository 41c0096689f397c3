"""From the records of a block to its numbers, by one protocol or the other; it knows no model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.reproduction.cells import Cell, Key, Record, Store
from benchmarks.reproduction.datasets import N_FOLDS
from benchmarks.reproduction.plan import Block

Point = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    accuracy_mean: float  # in percent, over the outer folds
    accuracy_std: float
    kept_mean: float
    log_loss_mean: float | None
    seconds: float  # of all fits that the protocol took
    points: list[Point]  # the best one, or that of each outer fold
    fits: int
    failed: int  # fits that ended with an error or at the time limit


def summary(block: Block, store: Store) -> Summary | None:
    """None where a cell has no record yet, or no point of the grid came through."""
    cells = list(block.cells())
    records = store.records(block.data, block.model)
    if any(cell.key not in records for cell in cells):
        return None
    points = list(dict.fromkeys(cell.point for cell in cells))
    if block.protocol == "nested" and len(points) > 1:
        chosen = [best(records, points, [f"{k}.{j}" for j in range(N_FOLDS)]) for k in range(N_FOLDS)]
        picked = [(point, str(k)) for k, point in enumerate(chosen)]
    else:
        splits = list(dict.fromkeys(cell.split.name for cell in cells))
        point = best(records, points, splits)
        chosen, picked = [point], [(point, split) for split in splits]
    if None in chosen:
        return None
    return _summary([records[key] for key in picked], chosen, [records[cell.key] for cell in cells])


def best(records: dict[Key, Record], points: Iterable[Point], splits: list[str]) -> Point | None:
    """The point of the best mean accuracy, of equals the sparsest; one with a failed fit cannot be it."""
    ranked = []
    for order, point in enumerate(points):
        folds = [records[point, split] for split in splits]
        if all(fold["status"] == "ok" for fold in folds):
            accuracy = round(float(np.mean([fold["acc"] for fold in folds])), 6)
            kept = float(np.mean([fold["kept"] for fold in folds]))
            ranked.append((-accuracy, kept, order, point))
    return min(ranked)[-1] if ranked else None


def _summary(picked: list[Record], points: list[Point], all_records: list[Record]) -> Summary | None:
    if any(record["status"] != "ok" for record in picked):
        return None
    accuracies = [record["acc"] for record in picked]
    losses = [record["ll"] for record in picked if record.get("ll") is not None]
    return Summary(
        float(np.mean(accuracies)),
        float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else 0.0,
        float(np.mean([record["kept"] for record in picked])),
        float(np.mean(losses)) if len(losses) == len(picked) else None,
        float(sum(record.get("s", 0.0) for record in all_records)),
        points,
        len(all_records),
        sum(record["status"] != "ok" for record in all_records),
    )


def curve(block: Block, store: Store, variable: str) -> list[dict[str, Any]]:
    """Accuracy, size and clamped share against a hyperparameter, over folds and what else is in the grid."""
    records = store.records(block.data, block.model)
    by_value: dict[float, list[Record]] = {}
    for cell in block.cells():
        record = records.get(cell.key)
        if record is not None and record["status"] == "ok" and not cell.split.is_inner:
            by_value.setdefault(dict(cell.point)[variable], []).append(record)
    return [
        {
            "x": value,
            "accuracy": round(float(np.mean([each["acc"] for each in found])), 3),
            "kept": round(float(np.mean([each["kept"] for each in found])), 2),
            "clamped": round(float(np.mean([each.get("clamped", 0.0) for each in found])), 4),
            "fits": len(found),
        }
        for value, found in sorted(by_value.items())
    ]


def spread(block: Block, store: Store, variable: str) -> float | None:
    """Standard deviation of the mean accuracy over one hyperparameter, averaged over the rest of the grid."""
    records = store.records(block.data, block.model)
    groups: dict[Point, dict[float, list[float]]] = {}
    for cell in block.cells():
        record = records.get(cell.key)
        if record is None or record["status"] != "ok" or cell.split.is_inner:
            continue
        rest = tuple(item for item in cell.point if item[0] != variable)
        groups.setdefault(rest, {}).setdefault(dict(cell.point)[variable], []).append(record["acc"])
    spreads = [
        float(np.std([np.mean(folds) for folds in group.values()], ddof=1))
        for group in groups.values()
        if len(group) > 1
    ]
    return round(float(np.mean(spreads)), 3) if spreads else None


def progress(block: Block, store: Store) -> tuple[int, int]:
    """Cells with a record, and all."""
    cells: list[Cell] = list(block.cells())
    records = store.records(block.data, block.model)
    return sum(cell.key in records for cell in cells), len(cells)
