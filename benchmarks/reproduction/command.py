"""The command line of the reproduction."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from benchmarks.common import say
from benchmarks.reproduction.cells import CELLS, Store
from benchmarks.reproduction.figures import draw_all
from benchmarks.reproduction.gate import gate
from benchmarks.reproduction.page import write_page
from benchmarks.reproduction.plan import Block, blocks, cheapest_first, read, seconds
from benchmarks.reproduction.report import report
from benchmarks.reproduction.results import write_all
from benchmarks.reproduction.run import run


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments)
    return options.do(options, f"python -m benchmarks {shlex.join(arguments)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, do, text in (
        ("run", _run, "run the cells of a plan that have no record"),
        ("status", _status, "say how many of its cells have one, and how long the others may take"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(do=do)
        command.add_argument("plans", nargs="+", help="files such as paper/table2.yaml")
        command.add_argument("--datasets", type=_names, help="comma-separated")
        command.add_argument("--models", type=_names, help="comma-separated")
        command.add_argument("--quick", action="store_true", help="the plan's quick part")
        if do is _run:
            command.add_argument("--n-jobs", type=int, default=1, help="processes")
            command.add_argument("--limit", type=float, help="seconds a cell, instead of the plan's")
    tables = commands.add_parser("tables", help="make the result files of the records")
    tables.set_defaults(do=_tables)
    page = commands.add_parser("page", help="make docs/reproduction.md of the result files, with its figures")
    page.set_defaults(do=_page)
    page.add_argument("--html", type=Path, help="write it to this file as well, as one that stands alone")
    gate_ = commands.add_parser("gate", help="run the quick part of Table II, and compare with the baseline")
    gate_.set_defaults(do=lambda options, command: gate(options.n_jobs, options.keep))
    gate_.add_argument("--n-jobs", type=int, default=os.cpu_count() or 1, help="processes")
    gate_.add_argument("--keep", action="store_true", help="what is measured becomes the baseline")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _blocks(options: argparse.Namespace) -> list[Block]:
    return [
        block
        for plan in options.plans
        for block in blocks(read(plan), options.datasets, options.models, options.quick)
    ]


def _run(options: argparse.Namespace, command: str) -> int:
    counts = run(_blocks(options), Store(CELLS), options.n_jobs, options.limit, command)
    say(", ".join(f"{status}: {count}" for status, count in sorted(counts.items())) or "nothing was missing")
    return 0


def _status(options: argparse.Namespace, command: str) -> int:
    store = Store(CELLS)
    found = _blocks(options)
    total = len({cell for block in found for cell in block.cells()})
    left = cheapest_first(found, store)
    missing = {cell for _, cells in left for cell in cells}
    for block, cells in left:
        minutes = sum(seconds(cell, store) for cell in cells) / 60
        print(f"{block.data:14} {block.model:16} {block.protocol:7} {len(cells):5} cells {minutes:8.1f} min")
    hours = sum(seconds(cell, store) for cell in missing) / 3600
    print(f"{total - len(missing)} of {total} cells have a record; the others may take {hours:.1f} h")
    return 0


def _tables(options: argparse.Namespace, command: str) -> int:
    say(f"written: {', '.join(write_all(Store(CELLS))) or 'nothing new'}")
    return 0


def _page(options: argparse.Namespace, command: str) -> int:
    draw_all()
    say(f"written: {write_page().name}")
    if options.html is not None:
        options.html.write_text(report())
        say(f"written: {options.html}")
    return 0
