"""Options that make an estimator, shared by the commands that fit one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sparsebayes.kernels import NAMES as KERNELS

KINDS = ("linear", "rvm", "sbelm")
SOLVERS = ("auto", "elimination", "sequential", "dqn", "newton")

OPTIONS = (
    click.option(
        "--estimator",
        "kind",
        type=click.Choice(KINDS),
        default="linear",
        show_default=True,
        help="A model of features, of kernels at rows, or of a random hidden layer.",
    ),
    click.option("--solver", type=click.Choice(SOLVERS), default="auto", show_default=True),
    click.option("--max-iter", type=click.IntRange(1), help="Outer iterations."),
    click.option(
        "--multi-class", type=click.Choice(["ovo", "ovr"]), help="Pairs of classes, or each against the rest."
    ),
    click.option("--proba", type=click.Choice(["mode", "moderated"]), help="How probabilities are made."),
    click.option("--balanced", is_flag=True, help="Classes count alike, however many rows they have."),
    click.option(
        "--select", type=click.Choice(["evidence", "cv", "cv-1se"]), help="linear: how the size is chosen."
    ),
    click.option("--max-features", type=click.IntRange(1), help="linear: the size of the model."),
    click.option("--kernel", type=click.Choice(KERNELS), help="rvm: the kernel."),
    click.option(
        "--gamma", metavar="NAME|NUMBER", help="rvm: its inverse squared width, or how it is found."
    ),
    click.option("--hidden", "n_hidden", type=click.IntRange(1), help="sbelm: hidden nodes."),
    click.option("--seed", "random_state", type=click.IntRange(0), default=0, show_default=True),
    click.option("--jobs", "n_jobs", type=int, help="Processes or threads; -1 for all cores."),
    click.option(
        "--checkpoint", type=click.Path(), metavar="FOLDER", help="Where a fit can go on after it is stopped."
    ),
    click.option("--resume", is_flag=True, help="Go on from the checkpoint."),
)
NAMES = (
    *("kind", "solver", "max_iter", "multi_class", "proba", "balanced", "select", "max_features", "kernel"),
    *("gamma", "n_hidden", "random_state", "n_jobs", "checkpoint", "resume"),
)
# Parameters that only one kind has.
OWN = {"select": "linear", "max_features": "linear", "kernel": "rvm", "gamma": "rvm", "n_hidden": "sbelm"}


def estimator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options, from which :func:`parameters_of` takes what was given."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def parameters_of(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator for :func:`made`, taken out of what a command was given."""
    parameters = {name: given.pop(name) for name in NAMES}
    _check(parameters)
    return parameters


def _check(parameters: dict[str, Any]) -> None:
    for name, kind in OWN.items():
        if parameters[name] is not None and parameters["kind"] != kind:
            option = "--hidden" if name == "n_hidden" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for --estimator {kind}, not {parameters['kind']}")
    if parameters["resume"] and parameters["checkpoint"] is None:
        raise click.UsageError("--resume needs --checkpoint, where the fit was")


def made(parameters: dict[str, Any], **more: Any) -> Any:
    """The estimator; options that were not given leave it its defaults."""
    from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier

    classes: dict[str, Any] = {"linear": SBLClassifier, "rvm": RVMClassifier, "sbelm": SBELMClassifier}
    own = dict(parameters)
    estimator = classes[own.pop("kind")]
    if own.pop("balanced"):
        own["class_weight"] = "balanced"
    if own["gamma"] is not None:
        own["gamma"] = _number_or_name(own["gamma"])
    given = {
        name: value for name, value in {**own, **more}.items() if value is not None and value is not False
    }
    return estimator(**given)


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
