"""A model in words and numbers, as the report has them, for a terminal."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebayes import FrozenModel
from sparsebayes.cli.screen import number, say_table
from sparsebayes.report import Described


def described(model: FrozenModel) -> Described:
    return Described.of(model, None)


def strongest(model: FrozenModel, most: int) -> list[dict[str, Any]]:
    """The weights that move a margin farthest: times the spread of their functions, where that is known."""
    of = described(model)
    names, problems = of.function_names(), of.problem_names()
    rows = []
    for k, problem in enumerate(problems):
        functions, weights, _ = model.problem(k)
        effects, _ = of.effects(k)
        entries = slice(int(model.starts[k]), int(model.starts[k + 1]))
        std = [None] * len(weights) if model.weights_std is None else model.weights_std[entries].tolist()
        for j, weight, effect, deviation in zip(functions, weights, effects, std, strict=True):
            row = {"name": names[j], "problem": problem, "weight": float(weight), "std": deviation}
            rows.append({**row, "effect": float(effect) if of.spread is not None else None})
    reach = np.array([abs(row["weight"] if row["effect"] is None else row["effect"]) for row in rows])
    return [rows[k] for k in np.argsort(-reach, kind="stable")[:most].tolist()]


def tell_strongest(model: FrozenModel, most: int) -> None:
    """As a table; nothing where there are no weights."""
    rows = strongest(model, most)
    if not rows:
        return
    many, scaled = len(model.classes) > 2, rows[0]["effect"] is not None
    columns = [
        "of",
        *(["in"] if many else []),
        "weight",
        "± std",
        *(["times spread"] if scaled else []),
    ]
    cells = [
        [
            row["name"],
            *([row["problem"]] if many else []),
            number(row["weight"]),
            "" if row["std"] is None else number(row["std"]),
            *([number(row["effect"])] if scaled else []),
        ]
        for row in rows
    ]
    positive = "the class named last" if many else described(model).classes[1]
    say_table(f"strongest weights; positive ones speak for {positive}", columns, cells)
