"""Pieces of a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> list[str]:
    """A pipe table; from the column ``right`` on numbers stand to the right."""
    marks = ["---" if k < right else "---:" for k in range(len(head))]
    return [_row(head), _row(marks), *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spread(mean: float, std: float) -> str:
    return f"{mean:.2f} ± {std:.2f}"


def signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def power(value: float) -> str:
    """1.9e-07 as the paper prints it."""
    return f"{value:.2E}" if value and (value < 0.01 or value >= 1000) else f"{value:.2f}"
