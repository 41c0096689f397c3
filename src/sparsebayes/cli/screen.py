"""What people see: lines, tables and progress. Results go to standard output, the rest to standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from sparsebayes.report import visible

# A pipe has no width; tables then take what they need.
PIPE_WIDTH = 200
LONGEST_MESSAGE = 1000


def console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=not stream.isatty())


def say(line: str) -> None:
    console().print(Text(line))


def say_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=True, allow_nan=False))


def say_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """The first column to the left, as names are; the others, numbers, to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(Text(visible(name)), justify="left" if k == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell)) if cell != "" else "") for cell in row))
    console().print(table)


def number(value: float) -> str:
    return f"{value:.4g}"


def size_of(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000.0 or unit == "GB":
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000.0
    raise AssertionError


@contextmanager
def progress_of(*columns: ProgressColumn, visible: bool) -> Iterator[Progress]:
    """A bar on standard error, where a person looks at it; gone when it is done."""
    screen = console(stderr=True)
    bar = Progress(*columns, console=screen, transient=True, disable=not (visible and screen.is_terminal))
    with bar:
        yield bar


@contextmanager
def bytes_bar(what: str, visible: bool = True) -> Iterator[Callable[[int, int | None], None]]:
    """A bar of bytes done, as readers and downloads report them."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with progress_of(*columns, visible=visible) as bar:
        task = bar.add_task(Text(what).plain, total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield report


@contextmanager
def steps_bar(what: str, total: int, visible: bool = True) -> Iterator[Callable[[], None]]:
    """A bar of steps whose number is known."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with progress_of(*columns, visible=visible) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def fit_bar(visible: bool = True) -> Iterator[list[Callable[[Any], None]] | None]:
    """Callbacks of an estimator that show how its fit goes; None where nobody looks.

    How many iterations there will be nobody knows, hence no bar that fills.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with progress_of(*columns, visible=visible) as bar:
        if bar.disable:
            yield None
            return
        task = bar.add_task("fitting", total=None)

        def callback(progress: Any) -> None:
            record = progress.record
            problem = f"problem {progress.problem + 1}, " if progress.problem else ""
            bar.update(
                task,
                description=f"fitting: {problem}iteration {record['iteration']}, {record['n_active']} active",
            )

        yield [callback]


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life for work that does not say how far it is."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with progress_of(*columns, visible=True) as bar:
        bar.add_task(what, total=None)
        yield


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Warnings as one line each on standard error."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(
            f"sparsebayes: warning: {visible(' '.join(str(message).split()), LONGEST_MESSAGE)}",
            file=sys.stderr,
        )

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield
