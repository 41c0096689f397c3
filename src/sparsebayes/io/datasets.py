"""Data sets by name: from the folder ``SPARSEBAYES_DATA``, from the user's cache, or from LIBSVM's page.

A download is placed under its name when all of it has come and its content is what the catalogue says. Its
SHA-256 is stored beside it and checked whenever the set is asked for.

Labels are those of the files, as integers. Features are those of the files; :func:`scaled` and
:func:`scaled_whole` bring them to [-1, 1], and :func:`load_paper` does so where the paper did.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsebayes._typing import AnyArray
from sparsebayes.io.catalogue import BASE_URL, CATALOGUE, DatasetInfo
from sparsebayes.io.dataset_file import DatasetError, accept, check_digest, read
from sparsebayes.io.download import DownloadError, Progress
from sparsebayes.io.download import download as _download
from sparsebayes.io.scaling import scaled, scaled_whole

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "cache_folder",
    "describe",
    "fetch",
    "find",
    "load",
    "load_paper",
    "names",
    "scaled",
    "scaled_whole",
]

DATA_VARIABLE = "SPARSEBAYES_DATA"
CACHE_VARIABLE = "SPARSEBAYES_CACHE"
MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set in memory.

    Attributes
    ----------
    X : CSR matrix, or a dense array where features were scaled
    y : array of labels, integers where all of them are
    info : DatasetInfo
        Of what was read: for a rebuilt file it says so.

    Examples
    --------
    What :func:`load` returns is one; here it is made by hand, of other rows:

    >>> import numpy as np
    >>> from sparsebayes.io import datasets
    >>> data = datasets.Dataset(np.eye(2), np.array([0, 1]), datasets.DatasetInfo("mine", 2, 2, 2))
    >>> data.X.shape, data.info.name
    ((2, 2), 'mine')
    """

    X: Any
    y: AnyArray
    info: DatasetInfo


def names() -> list[str]:
    """All names, in the order of the catalogue.

    Examples
    --------
    >>> from sparsebayes.io import datasets
    >>> datasets.names()[:3]
    ['a1a', 'a2a', 'breast-cancer']
    """
    return list(CATALOGUE)


def describe(name: str) -> DatasetInfo:
    """What is known of a data set without reading it.

    Examples
    --------
    >>> from sparsebayes.io import datasets
    >>> info = datasets.describe("a1a")
    >>> info.n_rows, info.n_features, info.n_classes
    (1605, 123, 2)
    """
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"There is no data set {name!r}.{hint} All names: {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def cache_folder() -> Path:
    """Where downloads go: ``SPARSEBAYES_CACHE``, or a folder where the system keeps caches.

    Examples
    --------
    >>> import os
    >>> from unittest.mock import patch
    >>> from sparsebayes.io import datasets
    >>> with patch.dict(os.environ, SPARSEBAYES_CACHE="downloads"):
    ...     print(datasets.cache_folder())
    downloads
    """
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(xdg):  # a relative one is to be ignored, says its specification
        return Path(xdg) / "sparsebayes"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "sparsebayes" / "Cache"
    try:
        home = Path.home()
    except RuntimeError:
        raise DatasetError(f"There is no home folder for a cache: set {CACHE_VARIABLE}.") from None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "sparsebayes"


def find(name: str) -> Path | None:
    """The file of a data set, if it is in ``SPARSEBAYES_DATA`` or in the cache.

    Both may have it as ``NAME.svm.bz2`` or under the name that LIBSVM gives the file.

    Examples
    --------
    >>> import os
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> from sparsebayes.io import datasets
    >>> with TemporaryDirectory() as folder:
    ...     with patch.dict(os.environ, SPARSEBAYES_DATA=folder, SPARSEBAYES_CACHE=folder):
    ...         print(datasets.find("iris"))
    ...         Path(folder, "iris.svm.bz2").touch()
    ...         print(datasets.find("iris").name)
    None
    iris.svm.bz2
    """
    info = _stored(describe(name))
    for folder in _folders():
        for file in (f"{info.name}.svm.bz2", info.file):
            if (folder / file).is_file():
                return folder / file
    return None


def fetch(
    name: str,
    *,
    download: bool = True,
    progress: Progress | None = None,
    base_url: str = BASE_URL,
    timeout: float = 30.0,
    retries: int = 2,
    backoff: float = 1.0,
    max_bytes: int = MAX_BYTES,
) -> Path:
    """The file of a data set, which is downloaded if it is nowhere found.

    Parameters
    ----------
    name : str
    download : bool
        False: what is not at hand is a :class:`DatasetError`.
    progress : callable or None
        Called as ``progress(bytes_done, bytes_total)`` with each piece; the total is None where the server
        does not say. Another attempt begins at zero.
    base_url : str
        What stands before the set's ``address``; for mirrors of LIBSVM's page.
    timeout : float
        Seconds without a byte, or with fewer than 1000 bytes a second, after which an attempt ends.
    retries : int
        Further attempts where the server is busy or the connection breaks.
    backoff : float
        Seconds before the first of them; twice that before the next, and so on.
    max_bytes : int
        A longer file is refused.

    Returns
    -------
    Path

    Examples
    --------
    Without the network, a file that is there already:

    >>> import os
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> from sparsebayes.io import datasets
    >>> with TemporaryDirectory() as folder, patch.dict(os.environ, SPARSEBAYES_DATA=folder):
    ...     Path(folder, "iris.svm.bz2").touch()
    ...     print(datasets.fetch("iris", download=False).name)
    iris.svm.bz2
    """
    info = _stored(describe(name))
    path = find(name)
    if path is not None:
        check_digest(path, info)
        return path
    if not download or info.address is None:
        raise DatasetError(_absent(info))
    url = f"{base_url.rstrip('/')}/{info.address}"
    target = cache_folder() / info.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _download(
            url,
            target,
            lambda received, digest: accept(received, digest, info, target),
            progress=progress,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            max_bytes=max_bytes,
        )
    except (DownloadError, DatasetError) as error:
        raise DatasetError(f"Downloading {name!r} from {url}: {error}. {_remedy(info)}") from error
    except OSError as error:
        message = f"Storing {name!r} in {target.parent}: {error}. Set {CACHE_VARIABLE} to another folder."
        raise DatasetError(message) from error
    return target


def load(name: str, *, download: bool = True, dtype: type[np.floating[Any]] = np.float64) -> Dataset:
    """A data set with the features and labels of its file; see :func:`fetch` for where it comes from.

    Parameters
    ----------
    name : str
    download : bool
    dtype : numpy.float64 or numpy.float32

    Returns
    -------
    Dataset

    Examples
    --------
    From a folder of one's own, to which scikit-learn's rows are written first:

    >>> import bz2, os
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> from sklearn.datasets import dump_svmlight_file, load_iris
    >>> from sparsebayes.io import datasets
    >>> with TemporaryDirectory() as folder, patch.dict(os.environ, SPARSEBAYES_DATA=folder):
    ...     with bz2.open(f"{folder}/iris.svm.bz2", "wb") as file:
    ...         dump_svmlight_file(*load_iris(return_X_y=True), file, zero_based=False)
    ...     data = datasets.load("iris", download=False)
    >>> data.X.shape, data.info.n_classes
    ((150, 4), 3)
    """
    wanted = describe(name)
    X, y, info = read(fetch(name, download=download), _stored(wanted), dtype)
    if wanted.part_of is None:
        return Dataset(X, y, info)
    rows = np.isin(y, wanted.labels)
    return Dataset(X[rows], y[rows], wanted)


def load_paper(name: str, *, download: bool = True, dtype: type[np.floating[Any]] = np.float64) -> Dataset:
    """A set of Table I as the paper had it: small ones scaled to [-1, 1] on all rows, large ones as they are.

    To fit the scaling on training rows alone, take :func:`load` and :func:`scaled`.

    Examples
    --------
    >>> from sparsebayes.io import datasets
    >>> [datasets.describe(name).scaled_in_paper for name in ("iris", "news20.binary")]
    [True, False]
    >>> datasets.load_paper("url_sample")
    Traceback (most recent call last):
    ...
    ValueError: 'url_sample' is not a data set of the paper.
    """
    if describe(name).paper_name is None:
        raise ValueError(f"{name!r} is not a data set of the paper.")
    data = load(name, download=download, dtype=dtype)
    return replace(data, X=scaled_whole(data.X)) if data.info.scaled_in_paper else data


def _stored(info: DatasetInfo) -> DatasetInfo:
    """The set whose file this one is read from."""
    return info if info.part_of is None else CATALOGUE[info.part_of]


def _folders() -> Iterator[Path]:
    if folder := os.environ.get(DATA_VARIABLE):
        yield Path(folder)
    try:
        yield cache_folder()
    except DatasetError:
        return


def _absent(info: DatasetInfo) -> str:
    looked = " or ".join(map(str, _folders())) or "any folder"
    address = "LIBSVM's page does not have it." if info.url is None else f"It is to be had at {info.url}."
    return f"The data set {info.name!r} is not in {looked}. {address} {_remedy(info)}"


def _remedy(info: DatasetInfo) -> str:
    found = f"Set {DATA_VARIABLE} to a folder that has {info.name}.svm.bz2"
    return f"{found}, or put {info.file} into {_cache_text()}."


def _cache_text() -> str:
    try:
        return str(cache_folder())
    except DatasetError:
        return f"a folder that {CACHE_VARIABLE} names"
