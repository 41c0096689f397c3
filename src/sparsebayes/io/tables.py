"""Rows with labels from files of several formats: what the command line reads."""

from __future__ import annotations

import csv
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from sparsebayes._checks import check_compressed
from sparsebayes._typing import AnyArray, Vector
from sparsebayes.io.store import BlockStore
from sparsebayes.io.svmlight import Progress, read_svmlight
from sparsebayes.io.text import MAX_LINE, SUFFIXES

if TYPE_CHECKING:
    from _csv import Reader as CsvReader  # mypy's name of it

FormatName = Literal["svmlight", "csv", "parquet", "npz", "store"]
ENDINGS: dict[str, FormatName] = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".npz": "npz",
}
LABEL_NAMES = ("label", "target", "class", "y")
DELIMITERS = ",;\t"
ROWS_AT_ONCE = 4096
# What float() takes besides these (underscores, digits of other scripts) is more likely a mistake.
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class TableError(ValueError):
    """A table cannot be read: ``file:line: reason``."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which of the named columns of a table are what.

    Attributes
    ----------
    label : str or None
        The labels; "label", "target", "class" or "y" if None.
    weight : str or None
        Weights of the rows.
    ignore : sequence of str
        Columns to leave out.
    features : sequence of str or None
        Features to take, in this order; all columns that are left if None.
    """

    label: str | None = None
    weight: str | None = None
    ignore: Sequence[str] = ()
    features: Sequence[str] | None = None

    def places(self, header: Sequence[str], where: str, labelled: bool) -> Places:
        """Their positions in a header."""
        seen: dict[str, int] = {}
        for place, name in enumerate(header):
            if seen.setdefault(name, place) != place:
                raise TableError(f"{where}: two columns are named {name!r}.")

        def place_of(name: str) -> int:
            if name not in seen:
                raise TableError(f"{where}: there is no column {name!r} among {_listed(header)}.")
            return seen[name]

        known = [name for name in LABEL_NAMES if name in seen and name not in self.ignore]
        label = self.label if self.label is not None else next(iter(known), None)
        if labelled and (label is None or (self.label is None and len(known) > 1)):
            raise TableError(f"{where}: which column is the label? There are {_listed(known or header)}.")
        weight = None if self.weight is None else place_of(self.weight)
        if self.features is not None:
            features = [place_of(name) for name in self.features]
        else:
            left_out = {label, self.weight, *self.ignore}
            features = [place for name, place in seen.items() if name not in left_out]
        if not features:
            raise TableError(f"{where}: no column is left for the features.")
        return Places(place_of(label) if labelled and label is not None else None, weight, features)


ALL_COLUMNS = Columns()


@dataclass(frozen=True, slots=True)
class Places:
    """Positions of :class:`Columns`."""

    label: int | None
    weight: int | None
    features: list[int]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and what is known of them.

    Attributes
    ----------
    X : ndarray, csr_matrix or BlockStore of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,) or None
        Labels.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    feature_names : list of str or None
        Names of the columns of X.
    """

    X: Any
    y: AnyArray | None = None
    sample_weight: Vector | None = None
    feature_names: list[str] | None = None


def read_table(
    source: str | os.PathLike[str] | BinaryIO,
    format: FormatName | None = None,
    *,
    columns: Columns = ALL_COLUMNS,
    labelled: bool = True,
    text_labels: bool = False,
    n_features: int | None = None,
    index_base: int = 1,
    progress: Progress | None = None,
) -> Table:
    """Read rows of features and, where they are wanted, labels.

    Parameters
    ----------
    source : str, path-like or binary file
        The file, or folder of a :class:`~sparsebayes.io.BlockStore`.
    format : {"svmlight", "csv", "parquet", "npz", "store"}, default=None
        Told by the ending of the name if None; a name without a known one is svmlight text.
    columns : Columns
        Which columns are what, where they have names.
    labelled : bool, default=True
        Whether labels are wanted; without them ``y`` is None.
    text_labels : bool, default=False
        Whether labels of a .csv stay the text they are.
    n_features, index_base
        For svmlight text, see :func:`~sparsebayes.io.read_svmlight`.
    progress : callable, default=None
        Called with the bytes read and, where it is known, their total.

    Returns
    -------
    table : Table
        Whole labels of text are integers, other numbers floats, the rest strings.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparsebayes.io import read_table
    >>> table = read_table(BytesIO(b"age,label\\n61,ill\\n25,well\\n"), "csv")
    >>> table.X.tolist(), table.y.tolist(), table.feature_names
    ([[61.0], [25.0]], ['ill', 'well'], ['age'])
    """
    taken = format_of(source) if format is None else format
    if taken == "svmlight":
        X, y = read_svmlight(source, n_features=n_features, index_base=index_base, progress=progress)
        return Table(X, _whole(y) if labelled else None)
    if taken == "csv":
        return _read_csv(source, columns, labelled, text_labels, progress)
    if taken == "parquet":
        return _read_parquet(source, columns, labelled)
    if taken == "npz":
        return _read_npz(source, columns, labelled)
    return _read_store(source, labelled)


def format_of(source: Any) -> FormatName:
    """By the name's ending, which that of a compression may follow."""
    path = Path(name_of(source))
    if not hasattr(source, "read") and path.is_dir():
        return "store"
    if path.suffix.lower() in SUFFIXES:
        path = path.with_suffix("")
    return ENDINGS.get(path.suffix.lower(), "svmlight")


def name_of(source: Any) -> str:
    """What errors call it."""
    return str(getattr(source, "name", "<stream>")) if hasattr(source, "read") else os.fspath(source)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown}, ... ({len(names)} in all)"


def _read_csv(
    source: Any, columns: Columns, labelled: bool, text_labels: bool, progress: Progress | None
) -> Table:
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
        return _whole(np.array([float(cell) for cell in cells]))
    return np.array(cells)


def _whole(y: AnyArray) -> AnyArray:
    """Integers where floats are."""
    exact = np.isfinite(y).all() and (np.abs(y) < 2.0**53).all() and (y == np.rint(y)).all()
    return y.astype(np.int64) if exact else y


def _read_parquet(source: Any, columns: Columns, labelled: bool) -> Table:
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'sparsebayes[parquet]'.") from None
    name = name_of(source)
    try:
        table = parquet.read_table(io.BytesIO(source.read()) if hasattr(source, "read") else source)
    except (ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's error, not the data's
        raise TableError(f"{name}: it cannot be read as Parquet: {error}") from None
    header = list(table.column_names)
    places = columns.places(header, name, labelled)

    def numbers(place: int) -> AnyArray:
        column = table.column(place)
        kind = column.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise TableError(f"{name}: column {header[place]!r} holds {kind}, not numbers.")
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise TableError(f"{name}: row {wrong[0]}, column {header[place]!r}: no finite number.")
        return values

    X = np.empty((table.num_rows, len(places.features)))
    for j, place in enumerate(places.features):
        X[:, j] = numbers(place)
    y = None
    if places.label is not None:
        column = table.column(places.label)
        if column.null_count:
            raise TableError(f"{name}: column {header[places.label]!r}: a label is missing.")
        y = np.array(column.to_pylist())
    weight = None if places.weight is None else numbers(places.weight)
    return Table(X, y, weight, [header[place] for place in places.features])


def _read_npz(source: Any, columns: Columns, labelled: bool) -> Table:
    name = name_of(source)
    try:
        with np.load(io.BytesIO(source.read()) if hasattr(source, "read") else source) as arrays:
            found = {key: arrays[key] for key in arrays.files}
    except (ValueError, EOFError, AttributeError, BadZipFile, zlib.error):
        raise TableError(f"{name}: it cannot be read as .npz with arrays of numbers and text.") from None
    if {"data", "indices", "indptr", "shape"} <= found.keys():
        X: Any = _sparse(found, name)
    elif "X" in found:
        X = found["X"]
    else:
        raise TableError(f"{name}: no array X, and none of a sparse matrix; it has {_listed(list(found))}.")
    if labelled and "y" not in found:
        raise TableError(f"{name}: there is no array y with the labels; it has {_listed(list(found))}.")
    names = found["feature_names"].astype(str).tolist() if "feature_names" in found else None
    if names is not None and columns.features is not None:
        X = X[:, columns.places(names, name, labelled=False).features]
        names = list(columns.features)
    return Table(X, found["y"] if labelled else None, found.get("sample_weight"), names)


def _sparse(found: dict[str, AnyArray], name: str) -> Any:
    """The matrix of arrays that ``scipy.sparse.save_npz`` wrote, or that are as its."""
    kind = found.get("format", np.array("csr")).item()
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind not in ("csr", "csc"):
        raise TableError(f"{name}: its matrix has the format {str(kind)[:20]!r}; csr and csc are read.")
    shape = tuple(int(n) for n in found["shape"])
    arrays = (found["data"], found["indices"], found["indptr"])
    try:
        matrix = sp.csr_matrix(arrays, shape=shape) if kind == "csr" else sp.csc_matrix(arrays, shape=shape)
        check_compressed(matrix)
    except (ValueError, TypeError) as error:
        raise TableError(f"{name}: its arrays are no {kind.upper()} matrix: {error}.") from None
    return matrix.tocsr()


def _read_store(source: Any, labelled: bool) -> Table:
    store = BlockStore.open(source)
    y = store.y
    y = _whole(y) if y.dtype.kind == "f" else y  # as those of text are
    return Table(store, y if labelled else None, store.sample_weight, store.feature_names)
