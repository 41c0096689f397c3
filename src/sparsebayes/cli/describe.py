"""A model in words and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebayes import FrozenModel
from sparsebayes.basis import HiddenBasis, IdentityBasis, KernelBasis
from sparsebayes.cli.screen import number, say_table, shown


def kind_of(model: FrozenModel) -> str:
    basis = model.basis
    if isinstance(basis, KernelBasis):
        return f"kernel ({getattr(basis.kernel, 'name', 'own')})"
    return f"random layer ({basis.activation})" if isinstance(basis, HiddenBasis) else "linear"


def kept_of(model: FrozenModel) -> tuple[int, int | None, str]:
    """How many functions are kept, of how many if that is known, and what they are."""
    basis = model.basis
    kept = len(basis.numbers)
    if isinstance(basis, IdentityBasis):
        return kept, model.n_features, "features"
    if isinstance(basis, HiddenBasis):
        return kept, basis.n_drawn, "hidden nodes"
    rows = model.about.get("n_rows")
    return len(np.unique(basis.names)), rows if isinstance(rows, int) else None, "vectors"


def kept_sentence(model: FrozenModel) -> str:
    kept, candidates, what = kept_of(model)
    return f"{kept} {what}" if candidates is None else f"{kept} of {candidates} {what}"


def name_of(model: FrozenModel, position: int) -> str:
    """Of a function: the feature's name, else what it is and its number, as Python counts."""
    number = int(model.basis.names[position])
    if isinstance(model.basis, IdentityBasis):
        return f"feature {number}" if model.feature_names is None else str(model.feature_names[number])
    return f"row {number}" if isinstance(model.basis, KernelBasis) else f"node {number}"


def strongest(model: FrozenModel, most: int) -> list[dict[str, Any]]:
    """The weights that are surest to be there: the largest in multiples of their standard deviation.

    Unlike the weights themselves that does not depend on the units of the features. Where standard
    deviations are not known, the largest.
    """
    weights = model.weights.astype(np.float64)
    std = None if model.weights_std is None else model.weights_std.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rank = np.abs(weights) if std is None else np.nan_to_num(np.abs(weights) / std)
    problems = np.repeat(np.arange(model.n_problems), np.diff(model.starts))
    return [
        {
            "name": name_of(model, int(model.columns[k])),
            "problem": problem_name(model, int(problems[k])),
            "weight": float(weights[k]),
            "std": None if std is None else float(std[k]),
        }
        for k in np.argsort(-rank, kind="stable")[:most].tolist()
    ]


def problem_name(model: FrozenModel, k: int) -> str:
    """What a positive margin of the problem speaks for."""
    classes = model.classes.tolist()
    if len(classes) == 2:
        return str(classes[1])
    if model.scheme == "ovr":
        return f"{classes[k]} or not"
    first, second = np.triu_indices(len(classes), 1)
    return f"{classes[second[k]]}, not {classes[first[k]]}"


def tell_strongest(rows: list[dict[str, Any]], n_classes: int) -> None:
    """Weights as a table."""
    speaks = ["speaks for"] if n_classes > 2 else []
    cells = [
        [
            each["name"],
            *([each["problem"]] if speaks else []),
            number(each["weight"]),
            "" if each["std"] is None else number(each["std"]),
        ]
        for each in rows
    ]
    title = (
        "surest weights"
        if n_classes > 2
        else f"surest weights; positive ones speak for {shown(rows[0]['problem'])}"
    )
    say_table(title, ["of", *speaks, "weight", "± std"], cells)
