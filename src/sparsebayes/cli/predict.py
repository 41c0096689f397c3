"""``sparsebayes predict``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from sparsebayes import FrozenModel
from sparsebayes.cli.data import DATA_HELP, Source, data_argument, model_argument, model_of, reading_options
from sparsebayes.cli.screen import warnings_as_lines

EXAMPLES = """\b
Examples:
  sparsebayes predict model.sbm rows.csv > labels.txt
  sparsebayes predict model.sbm rows.svm --proba --header -o probabilities.tsv
  cut -d, -f1-4 rows.csv | sparsebayes predict model.sbm - --format csv"""
ROWS_AT_ONCE = 10_000


@click.command(
    help="Labels or probabilities of rows, one line each. Labels in the data are not needed and not looked "
    f"at: of svmlight text they may be any number.\n\n{DATA_HELP}",
    epilog=EXAMPLES,
)
@model_argument
@data_argument
@click.option("--proba", is_flag=True, help="Probabilities of all classes, separated by tabs.")
@click.option("--header", is_flag=True, help="A first line that names the columns.")
@reading_options
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line, with label and probabilities.")
@click.option("-o", "--output", type=click.Path(), help="A file instead of standard output.")
def command(model: str, proba: bool, header: bool, as_json: bool, output: str | None, **given: Any) -> None:
    if header and as_json:
        raise click.UsageError("--header is for lines of text, not for --json")
    frozen = model_of(model)
    with warnings_as_lines():
        table = Source.of(given).read(labelled=False, model=frozen)
        lines = _lines(frozen, table.X, proba, header, as_json)
        if output in (None, "-"):
            sys.stdout.writelines(lines)
            return
    from sparsebayes.io.checked import replaced

    with replaced(output) as file:
        file.writelines(line.encode() for line in lines)


def _lines(model: FrozenModel, X: Any, proba: bool, header: bool, as_json: bool) -> Iterator[str]:
    classes = [_on_one_line(label) for label in model.classes.tolist()]
    if header:
        yield "\t".join(classes) + "\n" if proba else "label\n"
    for rows in _parts(X):
        scores = model.scores(model.rows(rows))
        codes, p = scores.codes().tolist(), scores.probabilities().tolist()
        for code, row in zip(codes, p, strict=True):
            if as_json:
                label = model.classes[code : code + 1].tolist()[0]
                probabilities = dict(zip(classes, row, strict=True))
                yield json.dumps({"label": label, "probabilities": probabilities}) + "\n"
            else:
                yield ("\t".join(map(repr, row)) if proba else classes[code]) + "\n"


def _parts(X: Any) -> Iterator[Any]:
    """Rows a few at a time; of a store, its blocks."""
    from sparsebayes.io import BlockStore

    if isinstance(X, BlockStore):
        yield from (block.X for block in X)
    else:
        yield from (X[start : start + ROWS_AT_ONCE] for start in range(0, X.shape[0], ROWS_AT_ONCE))


def _on_one_line(label: object) -> str:
    """A label with line ends or tabs in it must not look like two."""
    text = str(label)
    return text if text.isprintable() else text.encode("unicode_escape").decode()
