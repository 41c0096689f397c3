"""The file of one data set: read, and held to what the catalogue and its digest say."""

from __future__ import annotations

import bz2
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from sparsebayes._typing import AnyArray
from sparsebayes.io.catalogue import DatasetInfo
from sparsebayes.io.checked import replaced
from sparsebayes.io.lines import Terms
from sparsebayes.io.svmlight import read_svmlight, rows_of
from sparsebayes.io.text import opened

DType = type[np.floating[Any]]


class DatasetError(OSError):
    """A data set is not to be had, or its file is not what it should be.

    Examples
    --------
    >>> import os
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> from sparsebayes.io import datasets
    >>> with TemporaryDirectory() as empty:
    ...     with patch.dict(os.environ, SPARSEBAYES_DATA=empty, SPARSEBAYES_CACHE=empty):
    ...         try:
    ...             datasets.load("iris", download=False)
    ...         except datasets.DatasetError as error:
    ...             print(str(error).partition(" is not in ")[0])
    The data set 'iris'
    """


def read(path: Path, info: DatasetInfo, dtype: DType) -> tuple[Any, AnyArray, DatasetInfo]:
    """X (CSR), y, and what was read: the set itself or its rebuilt file."""
    with _explained(path):
        X, y = read_svmlight(path, dtype=dtype)
        info = _matching(info, X.shape[0], X.shape[1], len(np.unique(y)))
    X.resize((X.shape[0], info.n_features))
    return X, y.astype(np.int64) if (y == np.rint(y)).all() else y, info


def check_digest(path: Path, info: DatasetInfo) -> None:
    """Against the digest that was stored beside the file, and the catalogue's if it is LIBSVM's file."""
    expected = {info.sha256} if info.sha256 is not None and path.name == info.file else set()
    if _digest_file(path).is_file():
        expected.add(_digest_file(path).read_text(errors="replace").partition(" ")[0])
    if not expected:
        return
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected != {found}:
        remedy = f"Delete it and {_digest_file(path).name}, and fetch it again."
        raise DatasetError(f"{path} is damaged: its SHA-256 is not the stored one. {remedy}")


def accept(received: Path, digest: str, info: DatasetInfo, target: Path) -> None:
    """Check a download, and store its digest beside the place where it is going to be."""
    if info.sha256 is not None and digest != info.sha256:
        raise DatasetError(f"its SHA-256 is {digest} and should be {info.sha256}")
    try:
        with _explained(received), _expanded(received, info) as stream:
            if _tallied(stream, info) is not info:
                raise ValueError("it is not the original")
    except DatasetError as error:
        raise DatasetError(f"it is not the data set ({error.__cause__})") from error
    # Before the file itself: should the process end here, a digest without its file does no harm.
    with replaced(_digest_file(target)) as file:
        file.write(f"{digest}  {info.file}\n".encode())


def _digest_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever is found wrong with a file is a :class:`DatasetError`."""
    try:
        yield
    except (OSError, EOFError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from error


def _expanded(received: Path, info: DatasetInfo) -> IO[bytes]:
    """The text of a download, which does not have its name yet."""
    return bz2.open(received) if info.file.endswith(".bz2") else open(received, "rb")


def _tallied(stream: IO[bytes], info: DatasetInfo) -> DatasetInfo:
    """All lines, a part at a time: the largest set is longer than most memories."""
    n_rows, n_columns = 0, 0
    labels: set[float] = set()
    with opened(stream) as source:
        for rows in rows_of(replace(source, name=info.file), Terms(), None, None):
            n_rows += len(rows.labels)
            n_columns = max(n_columns, int(rows.columns.max(initial=-1)) + 1)
            labels.update(np.unique(rows.labels).tolist())
            if n_rows > info.n_rows:
                raise ValueError(f"it has more than {info.n_rows} rows")
    return _matching(info, n_rows, n_columns, len(labels))


def _matching(info: DatasetInfo, n_rows: int, n_columns: int, n_classes: int) -> DatasetInfo:
    """The catalogue's entry, or that of its rebuilt file; anything else is an error."""
    if (n_rows, n_classes) != (info.n_rows, info.n_classes):
        expected = f"{info.n_rows} of {info.n_classes}"
        raise ValueError(f"it has {n_rows} rows of {n_classes} classes instead of {expected}")
    if n_columns > info.n_features:
        raise ValueError(f"it has {n_columns} features instead of {info.n_features}")
    return info.rebuilt() if n_columns == info.n_rebuilt else info
