"""Result files of the linear models, of cost and growth, and of the experiments beside the tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.reproduction import datasets
from benchmarks.reproduction.cells import Record, Store
from benchmarks.reproduction.judge import progress, summary
from benchmarks.reproduction.plan import Block, blocks, read
from benchmarks.rivals.records import Cells

# What the paper's formulas have for the number that is doubled: computation, storage.
PRINTED_EXPONENTS = {"RVM": (3, 2), "DQN-RVM": (1, 1), "SBELM": (3, 2), "DQN-SBELM": (1, 1)}
PRINTED_EXPONENTS |= {"SBL": (3, 2), "DQN-SBL": (1, 1)}
GROWS = {"RVM": "rows", "SBELM": "nodes", "SBL": "features"}
TRAINING_SHARE = 1.0 - datasets.TEST_SHARE
RIVAL_PATHS = {"LR-l1": "lr-l1", "SBL auto": "sbl"}


def _only(block: Block, store: Store) -> list[Record]:
    """The records of a block that came through."""
    records = store.records(block.data, block.model)
    found = (records.get(cell.key) for cell in block.cells())
    return [record for record in found if record is not None and record["status"] == "ok"]


def linear(store: Store) -> dict[str, Any]:
    """Table V(b)."""
    cells, missing = [], []
    for block in blocks(read("paper/table5b.yaml")):
        found = summary(block, store)
        name = {"dataset": block.data, "model": block.model}
        if found is None:
            done, wanted = progress(block, store)
            missing.append(
                name | {"protocol": block.protocol, "done": done, "of": wanted, "reason": "not run yet"}
            )
            continue
        records = _only(block, store)
        cells.append(
            name
            | {
                "accuracy_mean": round(found.accuracy_mean, 3),
                "accuracy_std": round(found.accuracy_std, 3),
                "kept_mean": round(found.kept_mean, 1),
                "log_loss_mean": found.log_loss_mean and round(found.log_loss_mean, 4),
                "seconds": round(found.seconds / len(records), 2),
                "splits": len(records),
                "accuracies": [record["acc"] for record in records],
                "stop": [record["stop"] for record in records if "stop" in record],
                "C": [record["C"] for record in records if "C" in record],
            }
        )
    return {"cells": cells, "missing": missing}


def paths(store: Store) -> dict[str, Any]:
    """Figure 5: the share of features dropped, and the accuracy, on the first split."""
    lines = []
    for block in blocks(read("paper/figure5.yaml")):
        for record in _only(block, store)[:1]:
            n_features = datasets.shape(block.data)[1]
            points = [[n, accuracy] for n, accuracy, _ in record["path"]]
            lines.append(
                {"dataset": block.data, "model": "DQN-SBL", "features": n_features, "points": points}
            )
            lines += _rival_paths(block.data, n_features)
    return {"paths": lines}


def _rival_paths(data: str, n_features: int) -> list[dict[str, Any]]:
    """Of benchmarks/rivals/wide, on the same split."""
    lines = []
    for name, rival in RIVAL_PATHS.items():
        record = Cells("wide").read(data, rival).get(0)
        if record is not None and record["status"] == "ok":
            points = sorted(([point["n"], point["acc"]] for point in record["points"]), reverse=True)
            lines.append({"dataset": data, "model": name, "features": n_features, "points": points})
    return lines


def cost(store: Store) -> dict[str, Any]:
    """Table V: DQN over the full inverse, in operations, memory and seconds."""
    found: dict[tuple[str, str], Record] = {}
    wanted = blocks(read("paper/table5.yaml"))
    for block in wanted:
        for record in _only(block, store)[:1]:
            found[block.data, block.model.removesuffix(" cost")] = record
    rows = []
    for data in dict.fromkeys(block.data for block in wanted):
        row: dict[str, Any] = {"dataset": data}
        for model in ("RVM", "SBELM"):
            dqn, full = found.get((data, f"DQN-{model}")), found.get((data, model))
            if dqn and full:
                row[model] = {
                    "flops": _ratio(dqn, full, "flops"),
                    "memory": _ratio(dqn, full, "bytes"),
                    "seconds": _ratio(dqn, full, "s"),
                    "dqn_flops": dqn["flops"],
                    "dqn_memory_mb": round(dqn["bytes"] / 1e6, 1),
                    "memory_mb": round(full["bytes"] / 1e6, 1),
                }
        rows.append(row)
    return {"rows": rows}


def _ratio(one: Record, other: Record, name: str) -> float | None:
    return float(f"{one[name] / other[name]:.3g}") if other[name] else None


def growth(store: Store) -> dict[str, Any]:
    """Table VI: slopes of logarithms over four doublings; of work, a product with X."""
    by_model: dict[str, list[tuple[float, Record]]] = {}
    for block in blocks(read("paper/table6.yaml")):
        model = block.model.removesuffix(" growth")
        for record in _only(block, store):
            by_model.setdefault(model, []).append((_size(model, block.data, record), record))
    rows = []
    for model, (computation, storage) in PRINTED_EXPONENTS.items():
        points = sorted(by_model.get(model, []), key=lambda each: each[0])
        if len(points) < 3:
            continue
        rows.append(
            {
                "model": model,
                "grows": GROWS[model.removeprefix("DQN-")],
                "printed": [computation, storage],
                "sizes": [size for size, _ in points],
                "flops": _slope([(size, record["flops"] / record["passes"]) for size, record in points]),
                "seconds": _slope([(size, record["s"] / record["passes"]) for size, record in points]),
                "memory": _slope([(size, record["bytes"]) for size, record in points]),
                "passes": [record["passes"] for _, record in points],
                "peak_mb": [round(record["bytes"] / 1e6, 2) for _, record in points],
            }
        )
    return {"rows": rows}


def _size(model: str, data: str, record: Record) -> float:
    n_rows, n_features, _ = datasets.shape(data)
    if "L" in record["point"]:
        return record["point"]["L"]
    return round(TRAINING_SHARE * n_rows) if "sigma" in record["point"] else n_features


def _slope(points: list[tuple[float, float]]) -> float:
    """Over the larger half, where what does not grow counts least."""
    logs = np.log(np.maximum(points[len(points) // 2 :], 1e-12))
    return round(float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]), 2)
