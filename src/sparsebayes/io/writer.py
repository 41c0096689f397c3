"""Building a block store: rows come as they come, blocks are cut by the data alone."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sparsebayes._typing import AnyArray
from sparsebayes.io import npy
from sparsebayes.io.checked import sync_folder
from sparsebayes.io.columns import ColumnCounts
from sparsebayes.io.labels import LabelMap
from sparsebayes.io.manifest import (
    BlockEntry,
    Manifest,
    StoreError,
    block_name,
    counts_name,
    read_manifest,
    write_manifest,
)
from sparsebayes.io.rows import StoredRows, checked_matrix, checked_weight, feature_names, joined, stored

BLOCK_ROWS = 1 << 16
# A block ends before it has more, unless a single row does: 96 MiB as CSR in double precision.
BLOCK_ENTRIES = 1 << 23


class StoreWriter:
    """Takes rows and writes the blocks of a store; :meth:`BlockStore.create` makes one.

    Blocks have ``block_rows`` rows, or fewer where they would have more than 2^23 entries. They are the same
    however the rows are divided among calls of :meth:`append`.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from sparsebayes.io import BlockStore
    >>> path = Path(tempfile.mkdtemp()) / "train.store"
    >>> with BlockStore.create(path, block_rows=2) as writer:
    ...     for part in range(3):
    ...         writer.append(np.full((1, 4), part), ["yes" if part else "no"])
    >>> BlockStore.open(path)
    BlockStore(3 rows, 4 columns, 2 blocks, dense)
    """

    def __init__(
        self,
        folder: Path,
        *,
        block_rows: int = BLOCK_ROWS,
        dtype: str | None = None,
        index_base: int = 0,
        n_features: int | None = None,
        names: list[str] | None = None,
    ) -> None:
        self.folder = folder
        self.block_rows, self.index_base = block_rows, index_base
        self.dtype, self.width, self.names = dtype, n_features, names
        self.storage: str | None = None
        self.weighted: bool | None = None
        self.labels = LabelMap()
        self.counts = ColumnCounts()
        self.blocks: list[BlockEntry] = []
        self.rows = 0  # handed over, of which some are held
        self.generation = 0
        self._held: list[StoredRows] = []
        self._held_rows, self._held_entries = 0, 0
        # Blocks are written while the next one is being read; of a block, columns are counted and files are
        # written side by side.
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._parts = ThreadPoolExecutor(max_workers=3)
        self._writing: Future[None] | None = None
        self.written: list[Path] = []

    @classmethod
    def resumed(cls, folder: Path, manifest: Manifest, counts: ColumnCounts) -> StoreWriter:
        """One that goes on after the last block of a store."""
        writer = cls(
            folder,
            block_rows=manifest.block_rows,
            dtype=manifest.dtype,
            index_base=manifest.index_base,
            n_features=manifest.columns,
            names=manifest.feature_names,
        )
        writer.storage, writer.weighted = manifest.storage, manifest.weighted
        writer.labels = LabelMap(manifest.label_kind, manifest.labels)
        writer.counts, writer.blocks = counts, list(manifest.blocks)
        writer.rows, writer.generation = manifest.rows, manifest.generation + 1
        return writer

    def append(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Add rows, dense or sparse; the first ones decide how all are stored."""
        matrix = checked_matrix(X, self.dtype, self.storage, self.rows)
        if self.width is None:
            self.width, self.names = matrix.shape[1], self.names or feature_names(X)
        if matrix.shape[1] != self.width:
            raise ValueError(f"X has {matrix.shape[1]} columns, the store has {self.width}.")
        if self.weighted is not None and self.weighted != (sample_weight is not None):
            raise ValueError("Either all rows of a store have a sample weight, or none.")
        weight = None if sample_weight is None else checked_weight(sample_weight, matrix.shape[0], self.rows)
        # What is held would change if the caller's arrays did.
        self.take(stored(matrix, self.labels.encode(y, self.rows), weight), copy=True)

    def take(self, rows: StoredRows, copy: bool = False) -> None:
        """Add rows that are known to be in order."""
        if not len(rows):
            return
        self.storage = "dense" if rows.indices is None else "csr"
        self.weighted = rows.weight is not None
        self.dtype = self.dtype or rows.data.dtype.newbyteorder("<").str
        self.rows += len(rows)
        start = 0
        while start < len(rows):
            stop = start + self._room(rows, start)
            if stop > start:
                part = rows.cut(start, stop)
                self._held.append(part.copied() if copy else part)
                self._held_rows += len(part)
                self._held_entries += part.entries
            if stop < len(rows) or self._held_rows == self.block_rows:
                self._flush()
            start = stop

    def _room(self, rows: StoredRows, start: int) -> int:
        """How many of the rows from ``start`` on the present block still takes."""
        by_entries = rows.fitting(start, max(BLOCK_ENTRIES - self._held_entries, 0))
        least = 0 if self._held else 1
        return min(len(rows) - start, self.block_rows - self._held_rows, max(by_entries, least))

    def _flush(self) -> None:
        """Have the held rows written, once the block before them is."""
        self._wait()
        self._writing, self._held = self._thread.submit(self._write_block, self._held), []
        self._held_rows, self._held_entries = 0, 0

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _write_block(self, parts: list[StoredRows]) -> None:
        block = joined(parts)
        parts.clear()  # else they are in memory twice
        arrays: dict[str, tuple[AnyArray, str]] = {"data": (block.data, self.dtype or "<f8")}
        if block.indices is not None and block.indptr is not None:
            counted = self._parts.submit(self.counts.add_entries, block.indices.astype(np.int32, copy=False))
            nnz = block.entries
            arrays |= {"indices": (block.indices, "<i4"), "indptr": (block.indptr, "<i4")}
        else:
            used = np.count_nonzero(block.data, axis=0)
            counted = self._parts.submit(
                self.counts.add, np.flatnonzero(used).astype(np.int32), used[used > 0]
            )
            nnz = int(used.sum())
        arrays["y"] = (block.codes, "<i4")
        if block.weight is not None:
            arrays["weight"] = (block.weight, "<f8")
        number = len(self.blocks)
        names = [block_name(number, role) for role in arrays]
        digests = self._parts.map(self._write, names, *zip(*arrays.values(), strict=True))
        counted.result()
        self.blocks.append(BlockEntry(len(block), nnz, dict(zip(arrays, digests, strict=True))))

    def _write(self, name: str, array: AnyArray, dtype: str) -> str:
        self.written.append(self.folder / name)
        return npy.write(self.folder / name, array, dtype)

    def finish(self) -> None:
        """Write what is held, and the manifest last."""
        if self._held:
            self._flush()
        self._wait()
        if not self.blocks:
            raise ValueError("A block store needs a row at least.")
        numbers = self._write(counts_name(self.generation, "numbers"), self.counts.numbers, "<i4")
        counts = self._write(counts_name(self.generation, "counts"), self.counts.counts, "<i8")
        manifest = self._manifest({"numbers": numbers, "counts": counts})
        sync_folder(self.folder)
        write_manifest(self.folder, manifest)

    def close(self) -> None:
        """Leave no thread behind."""
        self._thread.shutdown()
        self._parts.shutdown()

    def _manifest(self, counts_sha256: dict[str, str]) -> Manifest:
        if self.names is not None and len(self.names) != self.columns:
            raise ValueError(f"There are {len(self.names)} feature names for {self.columns} columns.")
        return Manifest(
            storage=self.storage or "csr",
            dtype=self.dtype or "<f8",
            rows=self.rows,
            columns=self.columns,
            nnz=sum(block.nnz for block in self.blocks),
            index_base=self.index_base,
            block_rows=self.block_rows,
            weighted=bool(self.weighted),
            label_kind=self.labels.kind or "float",
            labels=self.labels.values,
            feature_names=self.names,
            generation=self.generation,
            used_columns=len(self.counts.numbers),
            counts_sha256=counts_sha256,
            blocks=self.blocks,
        )

    @property
    def columns(self) -> int:
        """As many as was said, or up to the last one that occurs."""
        if self.width is not None:
            return self.width
        return int(self.counts.numbers[-1]) + 1 if len(self.counts.numbers) else 0


@contextmanager
def created(path: Path, **settings: Any) -> Iterator[StoreWriter]:
    """A writer of a store that is at ``path`` when all of it is on the disk, and not before."""
    target = Path(os.path.realpath(path))
    if target.exists():
        raise FileExistsError(
            errno.EEXIST, "There is something already; remove it or append to it", str(path)
        )
    folder = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    folder.mkdir()
    try:
        with closing(StoreWriter(folder, **settings)) as writer:
            yield writer
            writer.finish()
        os.rename(folder, target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sync_folder(target.parent)


@contextmanager
def appending(folder: Path, manifest: Manifest, counts: ColumnCounts) -> Iterator[StoreWriter]:
    """A writer of further blocks, which belong to the store once its manifest is replaced."""
    writer = StoreWriter.resumed(folder, manifest, counts)
    try:
        with closing(writer):
            yield writer
            writer.finish()
    except BaseException:
        with suppress(OSError, StoreError):
            # What fails after the manifest is replaced must leave its files.
            if read_manifest(folder).generation < writer.generation:
                for path in writer.written:
                    path.unlink(missing_ok=True)
        raise
    for role in manifest.counts_sha256:
        with suppress(OSError):  # it is not needed any more, and does no harm
            (folder / counts_name(manifest.generation, role)).unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One writer at a time, where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StoreError(f"{folder}: another process is appending to it.") from None
    try:
        yield
    finally:
        os.close(descriptor)
