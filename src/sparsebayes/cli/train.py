"""``sparsebayes train``."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import click
import numpy as np

from sparsebayes import FrozenModel, save_model
from sparsebayes.cli.data import (
    DATA_HELP,
    Source,
    data_argument,
    in_memory,
    json_option,
    reading_options,
    weight_option,
)
from sparsebayes.cli.describe import described, strongest, tell_strongest
from sparsebayes.cli.ends import said_if_interrupted
from sparsebayes.cli.estimators import estimator_options, made, parameters_of
from sparsebayes.cli.screen import (
    fit_bar,
    say,
    say_json,
    size_of,
    steps_bar,
    warnings_as_lines,
    working,
)
from sparsebayes.report import visible

EXAMPLES = """\b
Examples:
  sparsebayes train rows.csv --label species --model model.sbm
  sparsebayes train news.svm.bz2 --model news.sbm --select cv
  sparsebayes train rows.csv --model model.sbm --estimator rvm --cv 5"""


@click.command(help=f"Fit a model to labelled rows and write it to a file.\n\n{DATA_HELP}", epilog=EXAMPLES)
@data_argument
@click.option("-m", "--model", "target", required=True, type=click.Path(), help="The file to write.")
@estimator_options
@click.option(
    "--n-features", type=click.IntRange(1), help="Features of svmlight text; the largest index if not given."
)
@click.option(
    "--cv",
    "folds",
    type=click.IntRange(2),
    metavar="K",
    help="Also tell the accuracy in K-fold cross-validation.",
)
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="Weights to print.")
@weight_option
@reading_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def command(
    target: str, n_features: int | None, folds: int | None, top: int, as_json: bool, quiet: bool, **given: Any
) -> None:
    source, parameters = Source.of(given), parameters_of(given)
    _refuse_unwritable(target)
    with warnings_as_lines():
        table = source.read(n_features=n_features)
        _refuse_few_rows(table.y, folds)
        note = "interrupted: no model was written."
        if parameters["checkpoint"] is not None:
            note = f"interrupted: the checkpoint is in {parameters['checkpoint']}; --resume goes on from it."
        start = time.perf_counter()
        # A checkpoint is of a fit with callbacks or without: as it may go on where nobody looks, it has none.
        seen = working("fitting", not quiet) if parameters["checkpoint"] is not None else fit_bar(not quiet)
        with said_if_interrupted(note), seen as callbacks:
            fitted = made(parameters, callbacks=callbacks).fit(table.X, table.y, table.sample_weight)
        seconds = time.perf_counter() - start
        model = _described(fitted.freeze(), table, source)
        save_model(model, target)
        with said_if_interrupted(
            f"interrupted: the model is in {target}, its cross-validation was not finished."
        ):
            scores = None if folds is None else _cross_validated(parameters, table, folds, not quiet)
    found = _findings(model, table, target, seconds, scores, top)
    if as_json:
        say_json(found)
    elif not quiet:
        _tell(found, model, top)


def _refuse_unwritable(target: str) -> None:
    """Before the work, not after it."""
    folder = os.path.dirname(os.path.abspath(target))
    if os.path.isdir(target):
        raise IsADirectoryError(None, "it is a folder", target)
    if not os.path.isdir(folder):
        raise NotADirectoryError(None, "there is no such folder", folder)
    if not os.access(folder, os.W_OK):
        raise PermissionError(None, "nothing can be written there", folder)


def _refuse_few_rows(y: Any, folds: int | None) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if folds is not None and counts.min() < folds:
        least = classes[counts.argmin()]
        raise ValueError(f"--cv {folds} needs {folds} rows of each class; {least!s} has {counts.min()}.")


def _described(model: FrozenModel, table: Any, source: Source) -> FrozenModel:
    """With what the rows had to tell, so that other rows are read alike."""
    names = None if table.feature_names is None else np.array(table.feature_names, dtype=object)
    base = source.base_of(table)
    about = dict(model.about) if base is None else {**model.about, "index_base": base}
    return replace(model, feature_names=names, about=about)


def _cross_validated(parameters: dict[str, Any], table: Any, folds: int, visible: bool) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, log_loss
    from sklearn.model_selection import StratifiedKFold

    X = in_memory(table.X)
    seed = parameters["random_state"] or 0
    splits = list(
        StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(table.y)), table.y)
    )
    accuracies, losses = [], []
    with steps_bar("cross-validation", folds, visible) as done:
        for train, test in splits:
            estimator = made({**parameters, "checkpoint": None, "resume": False})
            weight = None if table.sample_weight is None else table.sample_weight[train]
            estimator.fit(X[train], table.y[train], weight)
            held_out = None if table.sample_weight is None else table.sample_weight[test]
            y, p = table.y[test], estimator.predict_proba(X[test])
            accuracies.append(accuracy_score(y, estimator.predict(X[test]), sample_weight=held_out))
            losses.append(log_loss(y, p, labels=estimator.classes_, sample_weight=held_out))
            done()
    return {
        "folds": folds,
        "accuracy": float(np.mean(accuracies)),
        "accuracy_std": float(np.std(accuracies, ddof=1)),
        "log_loss": float(np.mean(losses)),
    }


def _findings(
    model: FrozenModel, table: Any, target: str, seconds: float, scores: dict[str, float] | None, top: int
) -> dict[str, Any]:
    of = described(model)
    classes, counts = np.unique(table.y, return_counts=True)
    return {
        "model": target,
        "bytes": os.path.getsize(target),
        "estimator": model.about["estimator"],
        "status": model.about["status"],
        "rows": len(table.y),
        "features": model.n_features,
        "classes": {str(label): int(count) for label, count in zip(classes.tolist(), counts, strict=True)},
        "kept": of.n_functions,
        "candidates": of.n_candidates,
        "kept_are": of.function,
        "strongest": strongest(model, top),
        "seconds": round(seconds, 3),
        "cross_validation": scores,
    }


def _tell(found: dict[str, Any], model: FrozenModel, top: int) -> None:
    classes = ", ".join(f"{visible(label)} {count}" for label, count in list(found["classes"].items())[:10])
    say(f"{found['rows']} rows, {found['features']} features, {len(found['classes'])} classes: {classes}")
    say(f"{described(model).sentence()} It took {found['seconds']:.1f} s.")
    for status in sorted(set(found["status"])):
        say(f"{found['status'].count(status)} x {status}" if len(found["status"]) > 1 else status)
    say("")
    tell_strongest(model, top)
    say("")
    if found["cross_validation"] is not None:
        scores = found["cross_validation"]
        say(
            f"{scores['folds']}-fold cross-validation: accuracy {scores['accuracy']:.4f} "
            f"(± {scores['accuracy_std']:.4f} between folds), log loss {scores['log_loss']:.4f}"
        )
    say(f"model in {found['model']}, {size_of(found['bytes'])}")
