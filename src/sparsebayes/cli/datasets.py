"""``sparsebayes datasets``."""

from __future__ import annotations

import csv
import io
import sys
from typing import Any

import click

from sparsebayes.cli.data import json_option
from sparsebayes.cli.screen import bytes_bar, say, say_json, say_table

SHIPPED = ("breast_cancer", "digits", "iris", "wine")
EXAMPLES = """\b
Examples:
  sparsebayes datasets
  sparsebayes train "$(sparsebayes datasets fetch a1a)" --model a1a.sbm
  sparsebayes datasets example iris -o iris.csv"""


@click.group(
    help="Data sets by name: from SPARSEBAYES_DATA, the cache, or the LIBSVM data page. Without a command, "
    "the list.",
    epilog=EXAMPLES,
    invoke_without_command=True,
)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    if context.invoked_subcommand is not None:
        return
    from sparsebayes.io.datasets import describe, find, names

    rows = []
    for name in names():
        info, place = describe(name), find(name)
        rows.append(
            {
                "name": name,
                "rows": info.n_rows,
                "features": info.n_features,
                "classes": info.n_classes,
                "place": None if place is None else str(place),
                "url": info.url,
                "note": info.note,
            }
        )
    if as_json:
        say_json(rows)
        return
    cells = [
        [
            r["name"],
            r["rows"],
            r["features"],
            r["classes"],
            "here" if r["place"] else "to fetch" if r["url"] else "not here",
        ]
        for r in rows
    ]
    say_table("data sets", ["name", "rows", "features", "classes", "where"], cells)


@command.command(help="Fetch a data set, if it is not here yet, and print where it is.")
@click.argument("name")
@click.option("--no-download", is_flag=True, help="Only look in SPARSEBAYES_DATA and the cache.")
def fetch(name: str, no_download: bool) -> None:
    from sparsebayes.io.datasets import describe
    from sparsebayes.io.datasets import fetch as fetched

    try:
        describe(name)
    except ValueError as unknown:
        raise click.UsageError(str(unknown)) from None
    with bytes_bar(f"fetching {name}") as progress:
        place = fetched(name, download=not no_download, progress=progress)
    say(str(place))


@command.command(help="Write a small data set that ships with scikit-learn as .csv.")
@click.argument("name", type=click.Choice(SHIPPED))
@click.option("-o", "--output", type=click.Path(), help="A file instead of standard output.")
def example(name: str, output: str | None) -> None:
    from sklearn import datasets

    from sparsebayes.io.checked import replaced

    data: Any = getattr(datasets, f"load_{name}")()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.feature_names, "label"])
    labels = [data.target_names[code] for code in data.target]
    writer.writerows([*row, label] for row, label in zip(data.data.tolist(), labels, strict=True))
    if output is None:
        sys.stdout.write(text.getvalue())
        return
    with replaced(output) as file:
        file.write(text.getvalue().encode())
    say(f"{len(labels)} rows, {len(data.feature_names)} features in {output}")
