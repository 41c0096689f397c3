"""``sparsebayes export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparsebayes import FrozenModel, export_c, export_onnx
from sparsebayes.cli.data import Source, in_memory, json_option, model_argument, model_of, reading_options
from sparsebayes.cli.screen import say, say_json, size_of, warnings_as_lines
from sparsebayes.export.c import c_name

EXAMPLES = """\b
Examples:
  sparsebayes export model.sbm --to c -o model.c --dtype float --names
  sparsebayes export model.sbm --to c -o model.h --quantise int8 --rows rows.csv
  sparsebayes export model.sbm --to onnx -o model.onnx"""


@click.command(help="A model as C or ONNX.", epilog=EXAMPLES)
@model_argument
@click.option("--to", "target", required=True, type=click.Choice(["c", "onnx"]))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    help="The file; .c for source and header, .h for one file.",
)
@click.option(
    "--dtype",
    type=click.Choice(["float", "double"]),
    help="Type of the arithmetic; double for C, float for ONNX.",
)
@click.option("--name", help="c: what names begin with; the file's own if not given.")
@click.option("--names", is_flag=True, help="c: also tables of the names of classes and features.")
@click.option(
    "--quantise", type=click.Choice(["int8", "int16"]), help="c: whole numbers for weights; needs --rows."
)
@click.option(
    "--rows", type=click.Path(), metavar="DATA", help="c: typical rows, on which --quantise is judged."
)
@reading_options
@json_option
def command(model: str, target: str, output: str, as_json: bool, rows: str | None, **given: Any) -> None:
    source = None if rows is None else Source.of(given, rows)
    _refuse_wrong_use(target, output, rows, given)
    frozen = model_of(model)
    with warnings_as_lines():
        made = _as_c(frozen, output, source, given) if target == "c" else _as_onnx(frozen, output, given)
    if as_json:
        say_json(made)
    else:
        _tell(made)


def _refuse_wrong_use(target: str, output: str, rows: str | None, given: dict[str, Any]) -> None:
    if target == "onnx":
        for name in ("name", "names", "quantise"):
            if given[name]:
                raise click.UsageError(f"--{name} is for C")
        if rows is not None:
            raise click.UsageError("--rows is for C")
        return
    if (given["quantise"] is None) != (rows is None):
        raise click.UsageError("--quantise and --rows go together: what rounding costs is seen on rows")
    try:
        c_name(Path(output), given["name"])
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from None


def _as_c(model: FrozenModel, output: str, source: Source | None, given: dict[str, Any]) -> dict[str, Any]:
    X: Any = None if source is None else in_memory(source.read(labelled=False, model=model).X)
    export = export_c(
        model,
        output,
        dtype=given["dtype"] or "double",
        name=given["name"],
        names=given["names"],
        quantise=given["quantise"],
        X=X,
    )
    agreement = export.agreement
    return {
        "files": [str(path) for path in export.paths],
        "table_bytes": export.table_bytes,
        "same_labels": None if agreement is None else float(agreement.same_labels),
    }


def _as_onnx(model: FrozenModel, output: str, given: dict[str, Any]) -> dict[str, Any]:
    export_onnx(model, output, dtype=given["dtype"] or "float")
    return {"files": [output], "bytes": Path(output).stat().st_size}


def _tell(made: dict[str, Any]) -> None:
    say(f"wrote {' and '.join(made['files'])}")
    if "table_bytes" in made:
        say(f"constants of the model: {size_of(made['table_bytes'])}")
    if made.get("same_labels") is not None:
        say(f"same labels as the exact model: {made['same_labels']:.2%} of the rows given")
