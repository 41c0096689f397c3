"""Rows with labels from files of several formats: what the command line reads."""

from __future__ import annotations

import io
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Literal
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from sparsebayes._checks import check_compressed
from sparsebayes._typing import AnyArray
from sparsebayes.io.csv_text import read_csv
from sparsebayes.io.labels import whole
from sparsebayes.io.roles import ALL_COLUMNS, Columns, Table, TableError, listed, name_of
from sparsebayes.io.store import BlockStore
from sparsebayes.io.svmlight import Progress, read_svmlight
from sparsebayes.io.text import SUFFIXES

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
        return Table(X, whole(y) if labelled else None)
    if taken == "csv":
        return read_csv(source, columns, labelled, text_labels, progress)
    if taken == "store":
        return _read_store(source, labelled)
    _refuse_compressed(name_of(source), taken)
    if taken == "parquet":
        from sparsebayes.io.arrow import read_parquet  # pyarrow is loaded when it is used

        return read_parquet(source, columns, labelled)
    return _read_npz(source, columns, labelled)


def _refuse_compressed(name: str, format: FormatName) -> None:
    suffix = Path(name).suffix.lower()
    if suffix in SUFFIXES:
        method = SUFFIXES[suffix][0]
        raise TableError(
            f"{name}: {format} is not read compressed by {method}, only text is: expand it first."
        )


def format_of(source: Any) -> FormatName:
    """By the name's ending, which that of a compression may follow."""
    path = Path(name_of(source))
    if not hasattr(source, "read") and path.is_dir():
        return "store"
    if path.suffix.lower() in SUFFIXES:
        path = path.with_suffix("")
    return ENDINGS.get(path.suffix.lower(), "svmlight")


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
        raise TableError(f"{name}: no array X, and none of a sparse matrix; it has {listed(list(found))}.")
    if labelled and "y" not in found:
        raise TableError(f"{name}: there is no array y with the labels; it has {listed(list(found))}.")
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
    y = whole(y) if y.dtype.kind == "f" else y  # as those of text are
    return Table(store, y if labelled else None, store.sample_weight, store.feature_names)
