"""Tables in text: a line with the names of the columns, then a row a line."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsebayes._typing import AnyArray
from sparsebayes.io.labels import whole
from sparsebayes.io.roles import Columns, Table, TableError, name_of
from sparsebayes.io.svmlight import Progress
from sparsebayes.io.text import MAX_LINE, SUFFIXES

if TYPE_CHECKING:
    from _csv import Reader as CsvReader  # mypy's name of it

DELIMITERS = ",;\t"
ROWS_AT_ONCE = 4096
# What float() takes besides these (underscores, digits of other scripts) is more likely a mistake.
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def read_csv(
    source: Any, columns: Columns, labelled: bool, text_labels: bool, progress: Progress | None
) -> Table:
    """The table of a text; with ``text_labels``, its labels as they are written."""
    name = name_of(source)
    with nullcontext(source) if hasattr(source, "read") else open(source, "rb") as file:
        suffix = Path(name).suffix.lower()
        binary, damage = SUFFIXES[suffix][2](file) if suffix in SUFFIXES else (file, EOFError)
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
        try:
            table = _parsed_csv(text, name, columns, labelled, _reporter(file, progress))
            return (
                table
                if text_labels or table.y is None
                else replace(table, y=labels_of_text(table.y.tolist()))
            )
        except UnicodeDecodeError as error:
            raise TableError(f"{name}: it is not UTF-8 text: {error.reason}.") from None
        except (EOFError, OSError, damage) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's error, not the data's
            raise TableError(f"{name}: the compressed data are damaged ({error}).") from None
        finally:
            text.detach()


def _reporter(file: Any, progress: Progress | None) -> Callable[[], object]:
    """Tells how far a file has been read, as far as that is known."""
    if progress is None or not file.seekable():
        return lambda: None
    size = os.fstat(file.fileno()).st_size if isinstance(file, io.BufferedReader) else None
    return lambda: progress(file.tell(), size)


def _parsed_csv(
    text: io.TextIOWrapper, name: str, columns: Columns, labelled: bool, report: Callable[[], object]
) -> Table:
    lines_of_text = _lines(text, name)
    first = next(lines_of_text, "")
    if not first.strip():
        raise TableError(f"{name}:1: a line with the names of the columns is missing.")
    reader = csv.reader(
        chain([first], lines_of_text), delimiter=max(DELIMITERS, key=first.count), strict=True
    )
    header = [cell.strip() for cell in _next_row(reader, name) or []]
    if all(NUMBER.fullmatch(cell) for cell in header):
        raise TableError(f"{name}:1: numbers only, where the names of the columns should be.")
    places = columns.places(header, f"{name}:1", labelled)
    blocks, labels, weights = [], [], []
    for lines, rows in _batches(reader, len(header), name):
        report()
        blocks.append(_numbers(rows, places.features, header, lines, name))
        if places.label is not None:
            labels += _label_cells(rows, places.label, header, lines, name)
        if places.weight is not None:
            weights.append(_numbers(rows, [places.weight], header, lines, name)[:, 0])
    if not blocks:
        raise TableError(f"{name}: there are no rows below the names of the columns.")
    return Table(
        np.concatenate(blocks),
        np.array(labels) if places.label is not None else None,
        np.concatenate(weights) if weights else None,
        [header[place] for place in places.features],
    )


def _lines(text: io.TextIOWrapper, name: str) -> Iterator[str]:
    """None of them longer than memory bears."""
    number = 0
    while line := text.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise TableError(f"{name}:{number}: a line has more than {MAX_LINE} characters.")
        yield line


def _next_row(reader: CsvReader, name: str) -> list[str] | None:
    """None at the end."""
    try:
        return next(reader, None)
    except csv.Error as error:
        raise TableError(f"{name}:{reader.line_num}: {error}.") from None


def _rows(reader: CsvReader, width: int, name: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, with their line numbers."""
    while (row := _next_row(reader, name)) is not None:
        row = row or ([""] if width == 1 else [])  # an empty line is an empty cell where there is one
        if len(row) not in (0, width):
            raise TableError(f"{name}:{reader.line_num}: {len(row)} cells, where the header has {width}.")
        if row:
            yield reader.line_num, row


def _batches(reader: CsvReader, width: int, name: str) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Line numbers and rows, a few thousand at a time."""
    rows = _rows(reader, width, name)
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        yield [line for line, _ in batch], [row for _, row in batch]


def _numbers(
    rows: list[list[str]], places: list[int], header: list[str], lines: list[int], name: str
) -> AnyArray:
    cells = [[row[place] for place in places] for row in rows]
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        values = np.full((1, 1), np.nan)
    strange = not np.isfinite(values).all() or any(
        "_" in cell or not cell.isascii() for r in cells for cell in r
    )
    if strange:
        for line, row in zip(lines, cells, strict=True):
            for place, cell in zip(places, row, strict=True):
                if not NUMBER.fullmatch(cell) or not np.isfinite(float(cell)):
                    what = "a value is missing" if not cell.strip() else f"not a finite number: {cell[:40]!r}"
                    raise TableError(f"{name}:{line}: column {header[place]!r}: {what}.")
    return values


def _label_cells(
    rows: list[list[str]], place: int, header: list[str], lines: list[int], name: str
) -> list[str]:
    cells = [row[place].strip() for row in rows]
    if "" in cells:
        raise TableError(f"{name}:{lines[cells.index('')]}: column {header[place]!r}: the label is missing.")
    return cells


def labels_of_text(cells: list[str]) -> AnyArray:
    """Integers if all are, else floats if all are, else strings."""
    if all(map(WHOLE.fullmatch, cells)):
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    if all(map(NUMBER.fullmatch, cells)):
        return whole(np.array([float(cell) for cell in cells]))
    return np.array(cells)
