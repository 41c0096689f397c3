"""Parquet files and Arrow tables: batches of rows, or all of them; pyarrow is imported with this module."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sparsebayes._typing import AnyArray, Vector
from sparsebayes.io.roles import Columns, Places, Table, TableError, name_of

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise ImportError("Parquet files need pyarrow: pip install 'sparsebayes[parquet]'.") from None

Batch = tuple[list[str], AnyArray, AnyArray, Vector | None]
# A batch is held as an Arrow table and as an array.
BATCH_ENTRIES = 1 << 22


def batches(source: Any, label: str, weight: str | None, block_rows: int) -> Iterator[Batch]:
    """Names of the features, and X, y and sample weights batch by batch."""
    rows = _Rows(source, Columns(label, weight), True, block_rows)
    for X, labels, sample_weight in rows:
        yield rows.feature_names, X, np.asarray(labels.to_numpy(zero_copy_only=False)), sample_weight


def read_parquet(source: Any, columns: Columns, labelled: bool) -> Table:
    """All rows of a file or a stream."""
    rows = _Rows(source, columns, labelled, BATCH_ENTRIES)
    parts, weights = [np.empty((0, len(rows.feature_names)))], [np.empty(0)]
    labels: list[Any] = []
    for X, label, weight in rows:
        parts.append(X)
        labels += label.to_pylist() if labelled else []
        weights += [] if weight is None else [weight]
    return Table(
        np.concatenate(parts),
        np.array(labels) if labelled else None,
        None if columns.weight is None else np.concatenate(weights),
        rows.feature_names,
    )


class _Rows:
    """The rows of a table in batches: features, labels as Arrow has them, weights."""

    def __init__(self, source: Any, columns: Columns, labelled: bool, most_rows: int) -> None:
        self.name = name_of(source) if _is_path(source) or hasattr(source, "read") else "<table>"
        with _explained(self.name):
            self.schema, self.batches = _opened(source, most_rows)
        self.places: Places = columns.places(self.schema.names, self.name, labelled)
        weights = [] if self.places.weight is None else [self.places.weight]
        for place in self.places.features + weights:
            kind = self.schema.field(place).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise TableError(f"{self.name}: column {self._column(place)} holds {kind}, not numbers.")

    @property
    def feature_names(self) -> list[str]:
        return [self.schema.names[place] for place in self.places.features]

    def _column(self, place: int) -> str:
        return repr(self.schema.names[place])

    def __iter__(self) -> Iterator[tuple[AnyArray, Any, Vector | None]]:
        first_row = 0
        with _explained(self.name):
            for batch in self.batches:
                X = np.empty((batch.num_rows, len(self.places.features)))
                for number, place in enumerate(self.places.features):
                    X[:, number] = self._numbers(batch, place, first_row)
                weight = self.places.weight
                sample_weight = None if weight is None else self._numbers(batch, weight, first_row)
                yield X, self._labels(batch, first_row), sample_weight
                first_row += batch.num_rows

    def _numbers(self, batch: Any, place: int, first_row: int) -> Vector:
        column = self._without_holes(batch, place, first_row, "no finite number")
        values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        self._refuse(~np.isfinite(values), place, first_row, "no finite number")
        return values

    def _labels(self, batch: Any, first_row: int) -> Any:
        if self.places.label is None:
            return None
        column = self._without_holes(batch, self.places.label, first_row, "a label is missing")
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def _without_holes(self, batch: Any, place: int, first_row: int, complaint: str) -> Any:
        column = batch.column(place)
        if column.null_count:
            self._refuse(column.is_null().to_numpy(zero_copy_only=False), place, first_row, complaint)
        return column

    def _refuse(self, wrong: AnyArray, place: int, first_row: int, complaint: str) -> None:
        if wrong.any():
            row = first_row + int(np.argmax(wrong))
            raise TableError(f"{self.name}: row {row}, column {self._column(place)}: {complaint}.")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """What Arrow finds wrong with a file is a :class:`TableError`."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's error, not the data's
        raise TableError(f"{name}: it cannot be read as Parquet: {error}") from None


def _opened(source: Any, most_rows: int) -> tuple[Any, Iterator[Any]]:
    if _is_path(source) and os.path.splitext(source)[1].lower() in (".arrow", ".feather"):
        source = pa.ipc.open_file(pa.memory_map(os.fspath(source))).read_all()
    elif _is_path(source) and os.path.isdir(source):
        source = pq.read_table(source)  # a table in several files
    elif _is_path(source) or hasattr(source, "read"):
        file = pq.ParquetFile(os.fspath(source) if _is_path(source) else io.BytesIO(source.read()))
        rows = _batch_rows(len(file.schema_arrow), most_rows)
        return file.schema_arrow, file.iter_batches(batch_size=rows)
    if isinstance(source, pa.Table):
        return source.schema, iter(
            source.to_batches(max_chunksize=_batch_rows(source.num_columns, most_rows))
        )
    if isinstance(source, pa.RecordBatchReader):
        return source.schema, iter(source)
    raise ValueError(
        f"A table is a path, a pyarrow.Table or a RecordBatchReader. Got {type(source).__name__}."
    )


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _batch_rows(columns: int, most_rows: int) -> int:
    return max(1, min(most_rows, BATCH_ENTRIES // max(columns, 1)))
