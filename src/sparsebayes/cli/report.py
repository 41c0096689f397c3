"""``sparsebayes report``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from sparsebayes.cli.data import Source, model_argument, model_of, reading_options
from sparsebayes.cli.evaluate import labels_of
from sparsebayes.cli.screen import say, size_of, warnings_as_lines, working

EXAMPLES = """\b
Examples:
  sparsebayes report model.sbm -o report.html
  sparsebayes report model.sbm --data test.csv --train train.csv -o report.html"""


@click.command(help="A model as one HTML file, to look at, to print or to send.", epilog=EXAMPLES)
@model_argument
@click.option(
    "--data", "held_out", type=click.Path(), metavar="DATA", help="Labelled rows to judge the model by."
)
@click.option(
    "--train",
    type=click.Path(),
    metavar="DATA",
    help="Rows to fit logistic regression and an SVM to, for comparison.",
)
@click.option("-o", "--output", required=True, type=click.Path(), help="The file to write.")
@click.option("--title", help="The title of the page.")
@reading_options
def command(
    model: str, held_out: str | None, train: str | None, output: str, title: str | None, **given: Any
) -> None:
    from sparsebayes import make_report

    if train is not None and held_out is None:
        raise click.UsageError("--train needs --data, the rows to compare on")
    frozen = model_of(model)
    source = Source.of(given, "")

    def labelled(path: str | None) -> Any:
        if path is None:
            return None
        table = replace(source, path=path).read(model=frozen)
        return table.X, labels_of(frozen, table.y)

    with warnings_as_lines():
        judged, trained = labelled(held_out) or (), labelled(train)
        with working("drawing" if train is None else "fitting logistic regression and an SVM"):
            make_report(frozen, output, *judged, train=trained, rivals=train is not None, title=title)
    say(f"report in {output}, {size_of(os.path.getsize(output))}")
