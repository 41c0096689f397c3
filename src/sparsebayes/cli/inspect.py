"""``sparsebayes inspect``."""

from __future__ import annotations

import os
from typing import Any

import click

from sparsebayes import FrozenModel
from sparsebayes.cli.data import json_option, model_argument, model_of
from sparsebayes.cli.describe import kept_of, kept_sentence, kind_of, strongest, tell_strongest
from sparsebayes.cli.screen import say, say_json, shown, size_of

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
    kept, candidates, what = kept_of(model)
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "schema_version": model.schema_version,
        "kind": kind_of(model),
        "classes": model.classes.tolist(),
        "scheme": model.scheme,
        "problems": model.n_problems,
        "features": model.n_features,
        "feature_names": model.feature_names is not None,
        "kept": kept,
        "candidates": candidates,
        "kept_are": what,
        "moderated": model.posteriors is not None,
        "strongest": strongest(model, top),
        "about": dict(model.about),
    }


def _tell(model: FrozenModel, path: str, top: int) -> None:
    classes = model.classes.tolist()
    some = ", ".join(map(shown, classes[:10])) + (", ..." if len(classes) > 10 else "")
    say(f"{path}: {size_of(os.path.getsize(path))}, format {model.schema_version}")
    say(f"model     {kind_of(model)}, {kept_sentence(model)}")
    say(f"classes   {len(classes)}: {some}")
    if model.n_problems > 1:
        kinds = {"ovo": "a pair of classes each", "ovr": "a class against the rest each"}
        say(f"problems  {model.n_problems}, {kinds[model.scheme]}")
    say(f"expects   {model.n_features} features{'' if model.feature_names is None else ', by name'}")
    if model.posteriors is not None:
        say("proba     moderated by the posterior of the weights")
    if "estimator" in model.about:
        say(f"made by   {shown(model.about['estimator'])}")
    status = model.about.get("status")
    if isinstance(status, list) and status:
        say(f"status    {shown(status[0])}")
    found = strongest(model, top)
    if found:
        say("")
        tell_strongest(found, len(classes))
