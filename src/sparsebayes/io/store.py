"""Rows on disk in memory-mapped blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._checks import ascends, check_finite
from sparsebayes._typing import AnyArray, Vector
from sparsebayes.io import npy
from sparsebayes.io.columns import ColumnCounts, Counts
from sparsebayes.io.labels import LabelMap
from sparsebayes.io.lines import MAX_FEATURES
from sparsebayes.io.manifest import MAX_BLOCK_ENTRIES, Manifest, StoreError, naming, read_manifest
from sparsebayes.io.svmlight import checked_integer, checked_terms
from sparsebayes.io.text import PathLike
from sparsebayes.io.writer import BLOCK_ROWS, StoreWriter, appending, created, locked


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a store: X over memory-mapped files, labels, and sample weights if the store has them.

    Examples
    --------
    >>> import tempfile
    >>> from sparsebayes.io import BlockStore
    >>> store = BlockStore.write(tempfile.mkdtemp() + "/some.store", [[1.0, 2.0], [3.0, 4.0]], ["a", "b"])
    >>> block = store.block(0)
    >>> float(block.X.sum()), block.y.tolist(), block.sample_weight
    (10.0, ['a', 'b'], None)
    """

    X: Any
    y: AnyArray
    sample_weight: Vector | None


class BlockStore:
    """A directory of rows in blocks, which are memory-mapped when they are used.

    Sparse rows are stored as CSR and come back as ``scipy.sparse.csr_matrix``. Dense rows are stored dense, a
    two-dimensional array a block, which takes two thirds of the space and goes through BLAS. Stores are made
    by :meth:`write`, :meth:`create`, :meth:`from_parquet` and :func:`convert_svmlight`, each of which puts
    the whole store in its place in one step, and are opened by :meth:`open`.

    Attributes
    ----------
    path : pathlib.Path
    shape : tuple of int
    dtype : numpy.dtype
        float64 or float32.
    storage : {"csr", "dense"}
    nnz : int
        Stored entries; of dense rows, those that are not zero.
    n_blocks : int
    classes : ndarray
        The labels there are, sorted.
    index_base : int
        The index of the first column in the svmlight text that the rows are from; 0 for other sources.
    feature_names : list of str or None

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from sparsebayes.io import BlockStore
    >>> path = Path(tempfile.mkdtemp()) / "train.store"
    >>> store = BlockStore.write(path, np.eye(5), ["a", "b", "a", "b", "a"], block_rows=2)
    >>> store
    BlockStore(5 rows, 5 columns, 3 blocks, dense)
    >>> [len(block.y) for block in store]
    [2, 2, 1]
    >>> store.classes
    array(['a', 'b'], dtype='<U1')
    >>> store.append(np.ones((1, 5)), ["c"]).shape
    (6, 5)
    >>> BlockStore.open(path).verify()
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self._manifest = manifest
        self._labels = LabelMap(manifest.label_kind, manifest.labels)
        self._sound: set[int] = set()

    @classmethod
    def open(cls, path: PathLike) -> BlockStore:
        """The store at ``path``.

        The manifest and the sizes of all files are checked; their contents are by :meth:`verify`.
        """
        folder = Path(path)
        manifest = read_manifest(folder)
        for file in manifest.files():
            with naming(folder / file.name):
                found, expected = (folder / file.name).stat().st_size, npy.file_bytes(file.dtype, file.shape)
                if found != expected:
                    raise ValueError(f"it should have {expected} bytes, but has {found}")
        return cls(folder, manifest)

    @classmethod
    def write(
        cls,
        path: PathLike,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        block_rows: int = BLOCK_ROWS,
        *,
        dtype: Any = None,
        index_base: int = 0,
        feature_names: Sequence[str] | None = None,
    ) -> BlockStore:
        """Store rows that are in memory; the parameters are those of :meth:`create`."""
        settings = {"dtype": dtype, "index_base": index_base, "feature_names": feature_names}
        with cls.create(path, block_rows=block_rows, **settings) as writer:
            writer.append(X, y, sample_weight)
        return cls.open(path)

    @classmethod
    def create(
        cls,
        path: PathLike,
        *,
        block_rows: int = BLOCK_ROWS,
        dtype: Any = None,
        index_base: int = 0,
        n_features: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> AbstractContextManager[StoreWriter]:
        """A writer for a ``with`` statement, to build a store from parts.

        The store is there when the statement ends. If it ends by an error, nothing is left.

        Parameters
        ----------
        path : path
            Where nothing is yet.
        block_rows : int
            Rows of a block, at most.
        dtype : {numpy.float64, numpy.float32}, optional
            Without it, float32 if the first rows are, and float64 otherwise.
        index_base : {0, 1}
            Kept with the store.
        n_features : int, optional
            Without it, as many as the first rows have.
        feature_names : sequence of str, optional
            Without it, those of a data frame.
        """
        terms = checked_terms(index_base, n_features, np.float64 if dtype is None else dtype)
        return created(
            Path(path),
            block_rows=checked_integer("block_rows", block_rows, MAX_BLOCK_ENTRIES),
            dtype=None if dtype is None else np.dtype(terms.dtype).newbyteorder("<").str,
            index_base=terms.index_base,
            n_features=terms.n_features,
            names=None if feature_names is None else list(map(str, feature_names)),
        )

    def append(self, X: Any, y: Any, sample_weight: Any = None) -> BlockStore:
        """Add rows as new blocks, and return the store with them; this object stays at the rows it has.

        New files are written first and the manifest is replaced last, so that a crash leaves the old store.
        """
        with locked(self.path):
            current = BlockStore.open(self.path)
            with appending(self.path, current._manifest, current._counts()) as writer:
                writer.append(X, y, sample_weight)
        return BlockStore.open(self.path)

    @classmethod
    def from_parquet(
        cls,
        source: Any,
        store_path: PathLike,
        *,
        label: str,
        weight: str | None = None,
        block_rows: int = BLOCK_ROWS,
        dtype: Any = None,
    ) -> BlockStore:
        """Store a table of features, batch by batch; needs pyarrow.

        Parameters
        ----------
        source : path, pyarrow.Table or pyarrow.RecordBatchReader
            A Parquet file, an Arrow file (if it is named .arrow or .feather), or a table.
        store_path : path
        label : str
            The column of labels.
        weight : str, optional
            The column of sample weights. All others are features: numbers or bools without nulls.
        block_rows, dtype
            As for :meth:`create`; without dtype, values are float64.
        """
        from sparsebayes.io.arrow import batches  # pyarrow is loaded when it is used

        with cls.create(
            store_path, block_rows=block_rows, dtype=np.float64 if dtype is None else dtype
        ) as writer:
            for names, X, y, sample_weight in batches(source, label, weight, writer.block_rows):
                writer.names = names
                writer.append(X, y, sample_weight)
        return cls.open(store_path)

    @property
    def shape(self) -> tuple[int, int]:
        return self._manifest.rows, self._manifest.columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._manifest.dtype)

    @property
    def storage(self) -> str:
        return self._manifest.storage

    @property
    def nnz(self) -> int:
        return self._manifest.nnz

    @property
    def n_blocks(self) -> int:
        return len(self._manifest.blocks)

    @property
    def heights(self) -> list[int]:
        """Rows of each block."""
        return [entry.rows for entry in self._manifest.blocks]

    @property
    def index_base(self) -> int:
        return self._manifest.index_base

    @property
    def feature_names(self) -> list[str] | None:
        names = self._manifest.feature_names
        return None if names is None else list(names)

    @property
    def classes(self) -> AnyArray:
        return np.sort(self._labels.array())

    @property
    def column_counts(self) -> Counts:
        """How many stored entries each column has; of dense rows, how many that are not zero."""
        return self._counts().dense(self.shape[1])

    @property
    def y(self) -> AnyArray:
        """The labels of all rows."""
        return self._labels.decode(np.concatenate([self._codes(number) for number in range(self.n_blocks)]))

    @property
    def sample_weight(self) -> Vector | None:
        """The weights of all rows, or None."""
        if not self._manifest.weighted:
            return None
        return np.concatenate([self._map(number, "weight") for number in range(self.n_blocks)])

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"BlockStore({rows} rows, {columns} columns, {self.n_blocks} blocks, {self.storage})"

    def __len__(self) -> int:
        return self.n_blocks

    def __iter__(self) -> Iterator[Block]:
        return map(self.block, range(self.n_blocks))

    def block(self, number: int) -> Block:
        """A block; that its indices are inside X is checked when it is first used."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"The store has {self.n_blocks} blocks. Got number {number}.")
        weight = self._map(number, "weight") if self._manifest.weighted else None
        return Block(self.matrix(number), self._labels.decode(self._codes(number)), weight)

    def to_csr(self) -> sp.csr_matrix:
        """All rows in memory."""
        matrices = [sp.csr_matrix(self.matrix(number)) for number in range(self.n_blocks)]
        return sp.vstack(matrices, format="csr", dtype=self.dtype)

    def verify(self) -> None:
        """Read all files and compare their checksums; a :class:`StoreError` names the first that differs."""
        for file in self._manifest.files():
            path = self.path / file.name
            with naming(path):
                if npy.sha256(path) != file.sha256:
                    raise ValueError("it is damaged: its checksum does not match")
        for number in range(self.n_blocks):
            self._verify_numbers(number)
        self._counts()

    def _verify_numbers(self, number: int) -> None:
        block = self.block(number)
        with naming(self.path / self._manifest.block_files(number)["data"].name):
            check_finite(block.X, "BlockStore", sum(entry.rows for entry in self._manifest.blocks[:number]))
        if block.sample_weight is not None:
            with naming(self.path / self._manifest.block_files(number)["weight"].name):
                if not (np.isfinite(block.sample_weight) & (block.sample_weight >= 0.0)).all():
                    raise ValueError("a weight is negative or not finite")

    def _map(self, number: int, role: str) -> AnyArray:
        return self._manifest.block_files(number)[role].mapped(self.path)

    def _codes(self, number: int) -> AnyArray:
        codes = self._map(number, "y")
        if codes.min() < 0 or codes.max() >= len(self._labels.values):
            raise StoreError(
                f"{self.path / self._manifest.block_files(number)['y'].name}: it has an unknown label."
            )
        return codes

    def matrix(self, number: int) -> Any:
        """X of a block alone."""
        data = self._map(number, "data")
        if self.storage == "dense":
            return data
        indices, indptr = self._map(number, "indices"), self._map(number, "indptr")
        if number not in self._sound:  # once: scipy trusts these arrays
            with naming(self.path / self._manifest.block_files(number)["indices"].name):
                _check_indices(indices, indptr, self.shape[1])
            self._sound.add(number)
        matrix = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, self.shape[1]))
        matrix.has_canonical_format = True
        return matrix

    def _counts(self) -> ColumnCounts:
        files = self._manifest.counts_files()
        numbers, counts = (files[role].mapped(self.path) for role in ("numbers", "counts"))
        with naming(self.path / files["numbers"].name):
            if len(numbers) and not (
                numbers[0] >= 0 and numbers[-1] < self.shape[1] and ascends(numbers, strictly=True)
            ):
                raise ValueError("its columns are not in order")
        return ColumnCounts(numbers, counts)


def _check_indices(indices: AnyArray, indptr: AnyArray, width: int) -> None:
    if indptr[0] != 0 or indptr[-1] != len(indices) or not ascends(indptr):
        raise ValueError("its rows are not in order")
    if len(indices) and not 0 <= indices.min() <= indices.max() < min(width, MAX_FEATURES):
        raise ValueError("it has an index outside of the columns")
    in_order = np.ones(len(indices) + 1, dtype=bool)
    in_order[1:-1] = indices[1:] > indices[:-1]
    in_order[indptr] = True
    if not in_order.all():
        raise ValueError("the indices of a row do not ascend")
