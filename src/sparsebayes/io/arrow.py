"""Arrow tables and Parquet files as batches of rows; pyarrow is imported with this module."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparsebayes._typing import AnyArray

Batch = tuple[list[str], AnyArray, AnyArray, AnyArray | None]
# A batch is held as an Arrow table and as an array.
BATCH_ENTRIES = 1 << 22


def batches(source: Any, label: str, weight: str | None, block_rows: int) -> Iterator[Batch]:
    """Names of the features, and X, y and sample weights batch by batch."""
    first_row = 0
    schema, record_batches = _opened(source, block_rows)
    names = _features(schema, label, weight)
    for batch in record_batches:
        X = np.empty((batch.num_rows, len(names)))
        for number, name in enumerate(names):
            X[:, number] = _column(batch, name, first_row)
        sample_weight = None if weight is None else _column(batch, weight, first_row)
        yield names, X, _column(batch, label, first_row), sample_weight
        first_row += batch.num_rows


def _opened(source: Any, block_rows: int) -> tuple[Any, Iterator[Any]]:
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if os.path.splitext(path)[1].lower() in (".arrow", ".feather"):
            source = pa.ipc.open_file(pa.memory_map(path)).read_all()
        else:
            file = pq.ParquetFile(path)
            rows = _batch_rows(len(file.schema_arrow), block_rows)
            return file.schema_arrow, file.iter_batches(batch_size=rows)
    if isinstance(source, pa.Table):
        return source.schema, iter(
            source.to_batches(max_chunksize=_batch_rows(source.num_columns, block_rows))
        )
    if isinstance(source, pa.RecordBatchReader):
        return source.schema, iter(source)
    raise ValueError(
        f"A table is a path, a pyarrow.Table or a RecordBatchReader. Got {type(source).__name__}."
    )


def _batch_rows(columns: int, block_rows: int) -> int:
    return max(1, min(block_rows, BATCH_ENTRIES // max(columns, 1)))


def _features(schema: Any, label: str, weight: str | None) -> list[str]:
    if len(set(schema.names)) < len(schema.names):
        raise ValueError("Two columns of the table have the same name.")
    for name in (label, weight):
        if name is not None and name not in schema.names:
            raise ValueError(f"The table has no column {name!r}.")
    names = [name for name in schema.names if name not in (label, weight)]
    for name in names:
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"The column {name!r} of the table is of type {kind}, which is not a feature's.")
    return names


def _column(batch: Any, name: str, first_row: int) -> AnyArray:
    column = batch.column(batch.schema.get_field_index(name))
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"The table has no value in row {first_row + row}, column {name!r}.")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))
