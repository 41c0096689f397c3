"""``sparsebayes evaluate``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sparsebayes import FrozenModel
from sparsebayes.cli.data import (
    DATA_HELP,
    Source,
    data_argument,
    json_option,
    model_argument,
    model_of,
    reading_options,
)
from sparsebayes.cli.screen import say, say_json, say_table, shown, warnings_as_lines

EXAMPLES = """\b
Examples:
  sparsebayes evaluate model.sbm test.csv
  sparsebayes evaluate model.sbm test.svm --json | jq .accuracy"""


@click.command(help=f"How well a model does on labelled rows.\n\n{DATA_HELP}", epilog=EXAMPLES)
@model_argument
@data_argument
@reading_options
@json_option
def command(model: str, as_json: bool, **given: Any) -> None:
    frozen = model_of(model)
    with warnings_as_lines():
        table = Source.of(given).read(model=frozen)
        found = _scores(frozen, table.X, codes_of(frozen, table.y), table.sample_weight)
    if as_json:
        say_json(found)
    else:
        _tell(found)


def codes_of(model: FrozenModel, y: Any) -> Any:
    """Positions of labels among the model's, which a file may spell in another type."""
    classes = model.classes
    if classes.dtype.kind in "UO":
        y = np.asarray(y).astype(str)
    elif np.asarray(y).dtype.kind in "UO":
        raise ValueError(
            f"The labels are text, as {shown(y[0])!r} is; those of the model are "
            f"{shown(classes.tolist()[:5])}."
        )
    order = np.argsort(classes)
    places = np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)
    codes = order[places]
    unknown = np.flatnonzero(classes[codes] != y)
    if len(unknown):
        raise ValueError(
            f"Row {unknown[0]} has the label {shown(y[unknown[0]])!r}; those of the model are "
            f"{shown(classes.tolist()[:5])}."
        )
    return codes


def _scores(model: FrozenModel, X: Any, codes: Any, weight: Any) -> dict[str, Any]:
    from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, roc_auc_score

    scores = model.scores(model.rows(X))
    p, predicted = scores.probabilities(), scores.codes()
    numbers = np.arange(len(model.classes))
    both = len(numbers) == 2 and len(np.unique(codes)) == 2
    return {
        "rows": len(codes),
        "accuracy": float(accuracy_score(codes, predicted, sample_weight=weight)),
        "log_loss": float(log_loss(codes, p, labels=numbers, sample_weight=weight)),
        "auc": float(roc_auc_score(codes, scores.decision(), sample_weight=weight)) if both else None,
        "classes": [str(label) for label in model.classes.tolist()],
        "confusion": confusion_matrix(codes, predicted, labels=numbers).tolist(),
    }


def _tell(found: dict[str, Any]) -> None:
    rows, accuracy = found["rows"], found["accuracy"]
    low, high = wilson(accuracy, rows)
    say(f"rows      {rows}")
    say(f"accuracy  {accuracy:.4f}  (95% interval {low:.4f} to {high:.4f})")
    say(f"log loss  {found['log_loss']:.4f}")
    if found["auc"] is not None:
        say(f"AUC       {found['auc']:.4f}")
    say("")
    say_table(
        "confusion: a row a true label, a column a predicted one",
        ["", *found["classes"]],
        [[label, *counts] for label, counts in zip(found["classes"], found["confusion"], strict=True)],
    )


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share of n, which stays within 0 and 1."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * ((share * (1 - share) + z * z / (4 * n)) / n) ** 0.5
    return max(centre - half, 0.0), min(centre + half, 1.0)
