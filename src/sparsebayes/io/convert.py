"""Svmlight text to a block store, in memory that does not grow with the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sparsebayes.io.rows import StoredRows
from sparsebayes.io.store import BlockStore
from sparsebayes.io.svmlight import Progress, checked_terms, rows_of
from sparsebayes.io.text import PathLike, opened
from sparsebayes.io.writer import BLOCK_ROWS


def convert_svmlight(
    path: PathLike | BinaryIO,
    store_path: PathLike,
    *,
    block_rows: int = BLOCK_ROWS,
    n_features: int | None = None,
    index_base: int = 1,
    dtype: Any = np.float64,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> BlockStore:
    """Make a block store of a text in svmlight (LIBSVM) format.

    A few parts of 2 MiB of text and a few blocks are in memory at a time, whatever the size of the file. The
    store is the same with any ``n_jobs``, and of a compressed file the same as of the plain one.

    Parameters
    ----------
    path, n_features, index_base, dtype, n_jobs, progress
        As for :func:`read_svmlight`.
    store_path : path
        Where nothing is yet.
    block_rows : int
        Rows of a block, at most.

    Returns
    -------
    BlockStore
        Its labels are floats.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparsebayes.io import convert_svmlight
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "train.svm").write_text("+1 1:0.5 3:2\\n-1 2:1e-3\\n")
    >>> store = convert_svmlight(folder / "train.svm", folder / "train.store")
    >>> store.shape, store.nnz, store.index_base
    ((2, 3), 3, 1)
    >>> store.column_counts
    array([1, 1, 1])
    """
    terms = checked_terms(index_base, n_features, dtype)
    settings = {"index_base": index_base, "n_features": n_features, "dtype": dtype}
    with (
        opened(path) as source,
        BlockStore.create(Path(store_path), block_rows=block_rows, **settings) as writer,
    ):
        for rows in rows_of(source, terms, n_jobs, progress):
            codes = writer.labels.encode(rows.labels, writer.rows)
            writer.take(StoredRows(rows.data, rows.columns, rows.indptr, codes, None))
    return BlockStore.open(store_path)
