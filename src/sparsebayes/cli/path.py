"""``sparsebayes path``."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import click
import numpy as np

from sparsebayes.cli.data import (
    DATA_HELP,
    Source,
    data_argument,
    in_memory,
    json_option,
    reading_options,
    weight_option,
)
from sparsebayes.cli.estimators import estimator_options, made, parameters_of
from sparsebayes.cli.screen import fit_bar, say, say_json, say_table, warnings_as_lines

EXAMPLES = """\b
Examples:
  sparsebayes path train.svm --test test.svm
  sparsebayes path rows.csv --holdout 0.3 -o path.csv --plot path.svg"""
COLUMNS = ("iteration", "n_relevant", "accuracy", "log_loss", "seconds")
MOST_LINES = 25


@click.command(
    help="Accuracy against size: the model after every outer iteration, judged on rows held out. One fit. "
    f"With the default solver it goes from all features down to none.\n\n{DATA_HELP}",
    epilog=EXAMPLES,
)
@data_argument
@estimator_options
@click.option("--test", type=click.Path(), metavar="DATA", help="Rows to judge by, read as DATA is.")
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.25,
    show_default=True,
    help="Without --test, the share of rows that is held out.",
)
@click.option("-o", "--output", type=click.Path(), help="All points as .csv.")
@click.option("--plot", type=click.Path(), help="A picture: .svg, .png or .pdf.")
@weight_option
@reading_options
@json_option
def command(
    test: str | None, holdout: float, output: str | None, plot: str | None, as_json: bool, **given: Any
) -> None:
    from sparsebayes import sbl_path

    source, parameters = Source.of(given), parameters_of(given)
    with warnings_as_lines():
        rows, judges = _parts(source, test, holdout, parameters["random_state"])
        with fit_bar() as callbacks:
            estimator = made(parameters, callbacks=callbacks)
            path = sbl_path(  # type: ignore[no-untyped-call]
                rows.X, rows.y, judges.X, judges.y, estimator=estimator, sample_weight=rows.sample_weight
            )
    points = [
        dict(zip(COLUMNS, row, strict=True)) for row in zip(*(path[c].tolist() for c in COLUMNS), strict=True)
    ]
    if output is not None:
        _write(points, output)
    if plot is not None:
        _draw(path, plot)
    if as_json:
        say_json({"candidates": path.n_candidates, "points": points})
    else:
        _tell(points, path)


def _parts(source: Source, test: str | None, holdout: float, seed: int) -> tuple[Any, Any]:
    """Rows to fit and rows to judge by."""
    table = source.read()
    table = replace(table, X=in_memory(table.X))  # a path is judged after every iteration
    if test is not None:
        n_features = table.X.shape[1]
        columns = table.feature_names
        judges = replace(source, path=test).read(n_features=n_features, features=columns)
        return table, replace(judges, X=in_memory(judges.X))
    from sklearn.model_selection import train_test_split

    numbers = np.arange(len(table.y))
    train, held_out = train_test_split(numbers, test_size=holdout, stratify=table.y, random_state=seed)

    def part(chosen: Any) -> Any:
        weight = None if table.sample_weight is None else table.sample_weight[chosen]
        return replace(table, X=table.X[chosen], y=table.y[chosen], sample_weight=weight)

    return part(train), part(held_out)


def _write(points: list[dict[str, Any]], output: str) -> None:
    from sparsebayes.io.checked import replaced

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(points)
    with replaced(output) as file:
        file.write(text.getvalue().encode())


def _draw(path: Any, plot: str) -> None:
    try:
        from sparsebayes.display import PathDisplay

        display = PathDisplay(path).plot()  # type: ignore[no-untyped-call]
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install 'sparsebayes[report]'.") from None
    display.figure_.savefig(plot, bbox_inches="tight")


def _tell(points: list[dict[str, Any]], path: Any) -> None:
    # The last of each size, evenly thinned: a path may have hundreds of points.
    sizes = {point["n_relevant"]: point for point in points}
    ordered = sorted(sizes.values(), key=lambda point: -point["n_relevant"])
    shown = np.unique(np.linspace(0, len(ordered) - 1, min(len(ordered), MOST_LINES)).astype(int))
    cells = [
        [ordered[k]["n_relevant"], f"{ordered[k]['accuracy']:.4f}", f"{ordered[k]['log_loss']:.4f}"]
        for k in shown
    ]
    say_table(f"of {path.n_candidates} candidates", ["kept", "accuracy", "log loss"], cells)
    say(f"a fit takes {int(path.estimator.n_relevant_.max())} of them")
