"""``sparsebayes convert``."""

from __future__ import annotations

from typing import Any

import click

from sparsebayes.cli.data import DATA_HELP, Source, data_argument, json_option, reading_options, weight_option
from sparsebayes.cli.screen import say, say_json, warnings_as_lines

EXAMPLES = """\b
Examples:
  sparsebayes convert rows.svm.gz store
  sparsebayes convert rows.parquet store --label target"""


@click.command(
    help="Rows as a store of blocks, which is read faster than text and need not fit into memory.\n\n"
    f"{DATA_HELP}",
    epilog=EXAMPLES,
)
@data_argument
@click.argument("store", type=click.Path())
@click.option(
    "--n-features", type=click.IntRange(1), help="Features of svmlight text; else the largest index."
)
@click.option("--block-rows", type=click.IntRange(1), help="Rows of a block.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float64", show_default=True)
@click.option("--jobs", "n_jobs", type=int, help="Processes that parse text; all cores if not given.")
@weight_option
@reading_options
@json_option
def command(
    store: str,
    block_rows: int | None,
    dtype: str,
    n_jobs: int | None,
    n_features: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    with warnings_as_lines():
        made = Source.of(given).stored(store, block_rows, dtype, n_jobs, n_features)
    found = {
        "store": store,
        "rows": made.shape[0],
        "features": made.shape[1],
        "entries": made.nnz,
        "blocks": made.n_blocks,
        "classes": [str(label) for label in made.classes],
    }
    if as_json:
        say_json(found)
    else:
        say(
            f"{found['rows']} rows, {found['features']} features, {found['entries']} entries "
            f"in {found['blocks']} blocks"
        )
        say(f"store in {store}")
