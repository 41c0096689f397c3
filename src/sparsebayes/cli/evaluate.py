"""``sparsebayes evaluate``."""

from __future__ import annotations

import math
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
from sparsebayes.cli.screen import say, say_json, say_table, warnings_as_lines
from sparsebayes.report import coded, evaluate

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
        found = _scores(frozen, table.X, labels_of(frozen, table.y))
    if as_json:
        say_json(found)
    else:
        _tell(found)


def labels_of(model: FrozenModel, y: Any) -> Any:
    """Labels as the model has them: what a file spells as a number may be text elsewhere."""
    return np.asarray(y).astype(str) if model.classes.dtype.kind in "UO" else y


def _scores(model: FrozenModel, X: Any, y: Any) -> dict[str, Any]:
    found = evaluate(model, X, coded(y, model.classes), model.classes)
    return {
        "rows": found.accuracy.n,
        "accuracy": found.accuracy.share,
        "accuracy_interval": list(found.accuracy.interval),
        "log_loss": found.log_loss,
        "auc": None if math.isnan(found.auc) else found.auc,
        "calibration_error": found.calibration.error,
        "classes": [str(label) for label in model.classes.tolist()],
        "confusion": found.confusion.tolist(),
    }


def _tell(found: dict[str, Any]) -> None:
    low, high = found["accuracy_interval"]
    say(f"rows      {found['rows']}")
    say(f"accuracy  {found['accuracy']:.4f}  (95% interval {low:.4f} to {high:.4f})")
    say(f"log loss  {found['log_loss']:.4f}")
    if found["auc"] is not None:
        say(f"AUC       {found['auc']:.4f}{'' if len(found['classes']) == 2 else '  (mean over classes)'}")
    say("")
    say_table(
        "confusion: a row a true label, a column a predicted one",
        ["label", *found["classes"]],
        [[label, *counts] for label, counts in zip(found["classes"], found["confusion"], strict=True)],
    )
