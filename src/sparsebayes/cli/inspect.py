"""``sparsebayes inspect``."""

from __future__ import annotations

import os
from typing import Any

import click

from sparsebayes import FrozenModel
from sparsebayes.cli.data import json_option, model_argument, model_of
from sparsebayes.cli.describe import described, strongest, tell_strongest
from sparsebayes.cli.screen import say, say_json, size_of
from sparsebayes.report import visible

EXAMPLES = """\b
Examples:
  sparsebayes inspect model.sbm
  sparsebayes inspect model.sbm --top 1000 --json"""


@click.command(help="What is in a model file; nothing else is read.", epilog=EXAMPLES)
@model_argument
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="Weights to print.")
@json_option
def command(model: str, top: int, as_json: bool) -> None:
    frozen = model_of(model)
    if as_json:
        say_json(_facts(frozen, model, top))
    else:
        _tell(frozen, model, top)


def _facts(model: FrozenModel, path: str, top: int) -> dict[str, Any]:
    of = described(model)
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "schema_version": model.schema_version,
        "kind": of.kind,
        "classes": model.classes.tolist(),
        "scheme": model.scheme,
        "problems": model.n_problems,
        "features": model.n_features,
        "feature_names": model.feature_names is not None,
        "kept": of.n_functions,
        "candidates": of.n_candidates,
        "kept_are": of.function,
        "moderated": model.posteriors is not None,
        "strongest": strongest(model, top),
        "about": dict(model.about),
    }


def _tell(model: FrozenModel, path: str, top: int) -> None:
    of = described(model)
    say(f"{path}: {size_of(os.path.getsize(path))}, format {model.schema_version}")
    say(of.sentence())
    say("")
    say(f"classes   {len(of.classes)}: {', '.join(of.classes[:10])}{', ...' if len(of.classes) > 10 else ''}")
    if model.n_problems > 1:
        kinds = {"ovo": "a pair of classes each", "ovr": "a class against the rest each"}
        say(f"problems  {model.n_problems}, {kinds[model.scheme]}")
    say(f"expects   {model.n_features} features{'' if model.feature_names is None else ', by name'}")
    if model.posteriors is not None:
        say("proba     moderated by the posterior of the weights")
    say(f"made by   {visible(of.training.estimator)}")
    for status in of.training.status[:1]:
        say(f"status    {visible(status, 200)}")
    say("")
    tell_strongest(model, top)
