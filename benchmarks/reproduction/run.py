"""Run what a plan misses, a record as soon as a cell is done, with progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.reproduction.cells import Cell, Record, Store
from benchmarks.reproduction.measure import measured
from benchmarks.reproduction.plan import Block, cheapest_first, seconds
from benchmarks.reproduction.workers import in_workers

LIMIT = 1800.0  # seconds a cell
EVERY = 50  # cells, where there is no terminal


def run(
    blocks: list[Block],
    store: Store,
    n_jobs: int = 1,
    limit: float | None = None,
    command: str = "",
    work: Callable[[Cell], Record] = measured,
) -> dict[str, int]:
    """How many cells were done, by how they ended."""
    todo = cheapest_first(blocks, store)
    limits = {cell: limit or block.limit or LIMIT for block, cells in todo for cell in cells}
    guesses = {cell: seconds(cell, store) for cell in limits}
    counts: dict[str, int] = {}
    with _progress() as progress:
        bar = progress.add_task("", total=sum(guesses.values()), done=0, cells=len(limits), failed=0)
        for cell, outcome in in_workers(work, limits, n_jobs, limits.__getitem__):
            store.append(cell, outcome, command)
            counts[outcome["status"]] = counts.get(outcome["status"], 0) + 1
            done = sum(counts.values())
            failed = done - counts.get("ok", 0)
            progress.update(bar, advance=guesses[cell], description=_name(cell), done=done, failed=failed)
            if progress.disable and done % EVERY == 0:
                print(f"{done} of {len(limits)} cells, {failed} failed; {_name(cell)}", file=sys.stderr)
    return counts


def _name(cell: Cell) -> str:
    point = " ".join(f"{name} {value:g}" for name, value in cell.point)
    return f"{cell.data} {cell.model} {point} fold {cell.split.name}"


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.fields[done]} of {task.fields[cells]} cells, {task.fields[failed]} failed"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left about"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
