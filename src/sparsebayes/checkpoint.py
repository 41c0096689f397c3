"""The state of a fit to and from disk, so that one that was killed goes on where it was.

A folder belongs to one fit::

    fit.checkpoint             what the fit is of, the digest of its data and its parameters, and its run
    run-0123456789abcdef/      one attempt from the start; another one has another name
        KEY/000012.step        what outer iteration 12 of the loop called KEY added
        KEY/000012.state       where the loop stood after it; the older one of three is removed
        NAME.value             something that was computed once, before the loops

Files are written whole or not at all, and every byte of them is checked when they are read. An iteration
counts once its ``.step`` is there. If the newest iteration's files are damaged, the one before it is taken.
Iterations are not synced to the disk, which would take longer than all else: a process may be killed at any
moment, but a machine that loses its power may lose what the system has not written yet.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sparsebayes._typing import AnyArray, Mask
from sparsebayes.io.checked import FileKind, read_checked, write_checked

VERSION = 3
# Files are compared with their own size before memory is taken; this is no more than a sanity check.
MAX_BYTES = 1 << 44
GENERATIONS = 2
# Bytes of a matrix that are hashed at a time.
BLOCK_BYTES = 1 << 22
MANIFEST = "fit.checkpoint"
# Folders of this shape alone are removed: others in the folder are the user's.
RUN = re.compile(r"run-[0-9a-f]{16}")
STEP = re.compile(r"[0-9]{6,}")

Facts = dict[str, Any]
Arrays = Mapping[str, AnyArray]


class CheckpointError(ValueError):
    """A checkpoint is damaged, or of other data or parameters.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import CheckpointError, SBLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     clf = SBLClassifier(checkpoint=folder, resume=True).fit(X, y)
    ...     try:
    ...         clf.fit(X[:-1], y[:-1])
    ...     except CheckpointError as error:
    ...         print("other data" in str(error))
    True
    """


KIND = FileKind(b"\x89SBC\r\n\x1a\n", "checkpoint", CheckpointError)


@dataclass(frozen=True, slots=True)
class Step:
    """What one outer iteration leaves behind.

    ``facts`` (plain numbers and words) and ``lasting`` are kept as long as the fit lasts, ``latest`` for the
    newest iterations alone, unless the keeper keeps all; it is then empty in steps that are older.
    """

    facts: Facts
    lasting: Arrays = field(default_factory=dict)
    latest: Arrays = field(default_factory=dict)


class Keeper(Protocol):
    """Keeps the steps of one outer loop."""

    def past(self) -> Iterator[Step]:
        """The steps of the run that is continued, from the first on; none where there is none."""

    def save(self, step: Step) -> None:
        """Keep the step that follows those of the past and those saved."""

    def under(self, name: str) -> Keeper:
        """A keeper for a loop that is a part of this one's work."""


class NoKeeper:
    """Keeps nothing."""

    def past(self) -> Iterator[Step]:
        return iter(())

    def save(self, step: Step) -> None:
        pass

    def under(self, name: str) -> Keeper:
        return self


NO_KEEPER = NoKeeper()


class FolderKeeper:
    """Keeps steps in files of a folder."""

    def __init__(self, folder: Path, keep_all: bool) -> None:
        self._folder = folder
        self._keep_all = keep_all
        self._next = 1

    def under(self, name: str) -> FolderKeeper:
        return FolderKeeper(self._folder / name, self._keep_all)

    def past(self) -> Iterator[Step]:
        numbers = sorted(map(_number_of, self._folder.glob("*.step")))
        if not numbers:
            return
        last = self._newest(numbers)
        for number in range(1, last + 1):
            step = self._read(number, whole=self._keep_all or number == last)
            self._next = number + 1
            yield step

    def _newest(self, numbers: list[int]) -> int:
        """The newest iteration whose files are whole."""
        for number in reversed(numbers):
            try:
                self._read(number, whole=True)
            except CheckpointError:
                continue
            return number
        raise CheckpointError(
            f"The checkpoint in {self._folder} is damaged, older states too. Start anew with resume=False."
        )

    def _read(self, number: int, whole: bool) -> Step:
        header, lasting = _read(self._path(number, "step"))
        latest: Arrays = {}
        if whole and header["has_latest"]:
            latest = _read(self._path(number, "state"))[1]
        return Step(_decoded(header["facts"]), lasting, latest)

    def save(self, step: Step) -> None:
        number = self._next
        self._folder.mkdir(parents=True, exist_ok=True)
        if step.latest:
            _write(self._path(number, "state"), {}, step.latest, sync=False)
        header = {"facts": _encoded(step.facts), "has_latest": bool(step.latest)}
        _write(self._path(number, "step"), header, step.lasting, sync=False)
        if not self._keep_all:
            self._path(number - GENERATIONS, "state").unlink(missing_ok=True)
        self._next = number + 1

    def _path(self, number: int, suffix: str) -> Path:
        return self._folder / f"{number:06d}.{suffix}"


def _number_of(step: Path) -> int:
    if not STEP.fullmatch(step.stem):
        raise CheckpointError(
            f"{step}: it is not a step of this checkpoint. Remove it, or start anew with resume=False."
        )
    return int(step.stem)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of one run of a fit."""

    folder: Path
    keep_all: bool

    def keeper(self, key: str) -> FolderKeeper:
        return FolderKeeper(self.folder / key, self.keep_all)

    def recall(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """What ``make()`` gave when this was asked for first."""
        path = self.folder / f"{name}.value"
        if path.exists():
            return _read(path)[1]
        value = make()
        _write(path, {}, value)
        return value


def open_checkpoint(
    folder: str | os.PathLike[str], data: str, parameters: Facts, resume: bool, keep_all: bool = False
) -> Checkpoint:
    """The run to continue, or a new one in place of whatever the folder has.

    ``data`` is a digest. With ``keep_all`` every step stays whole, for those who want to see all of them.
    """
    folder = Path(folder)
    manifest = folder / MANIFEST
    parameters = _encoded(parameters)
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    run = _run_to_continue(manifest, data, parameters) if resume and manifest.exists() else None
    if run is None:
        run = f"run-{secrets.token_hex(8)}"
        _write(manifest, {"data": data, "parameters": parameters, "run": run}, {})
    with _explained(folder):
        for other in (path for path in folder.iterdir() if RUN.fullmatch(path.name) and path.is_dir()):
            if other.name != run:
                shutil.rmtree(other)
        (folder / run).mkdir(exist_ok=True)
        for stray in (folder / run).rglob(".*.tmp"):  # of a writer that was killed
            stray.unlink()
    return Checkpoint(folder / run, keep_all)


def _run_to_continue(manifest: Path, data: str, parameters: Facts) -> str:
    found, _ = _read(manifest)
    before = found["parameters"]
    names = [n for n in {**before, **parameters} if before.get(n) != parameters.get(n)]
    where = f"The checkpoint in {manifest.parent} is of a fit"
    remedy = "Give it another folder, or start anew with resume=False, which replaces it."
    if names:
        then, now = (", ".join(f"{n}={each.get(n)!r}" for n in names) for each in (before, parameters))
        raise CheckpointError(f"{where} with {then}; this one has {now}. {remedy}")
    if found["data"] != data:
        raise CheckpointError(
            f"{where} on other data: X, y, sample_weight, or where a warm start begins, differ. {remedy}"
        )
    return str(found["run"])


def digest(*parts: Any) -> str:
    """Of arrays, whatever their order in memory, and of what has a ``repr`` that says all of it."""
    words: list[str] = []
    blocks: list[AnyArray] = []
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype != object:
            words.append(f"{part.dtype.str}{part.shape}")
            n_rows = max(BLOCK_BYTES // max(part[:1].nbytes, 1), 1)
            blocks += [part[start : start + n_rows] for start in range(0, len(part), n_rows)]
        else:
            words.append(repr(part.tolist() if isinstance(part, np.ndarray) else part))
    with ThreadPoolExecutor() as pool:
        digests = list(pool.map(_block_digest, blocks))
    return hashlib.sha256(b"".join([*digests, repr(words).encode()])).hexdigest()


def _block_digest(block: AnyArray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data).digest()


def packed(mask: Mask) -> AnyArray:
    """A mask in an eighth of its bytes, as it is kept."""
    return np.packbits(mask)


def unpacked(bits: AnyArray, length: int) -> Mask:
    return np.unpackbits(bits, count=length).view(np.bool_)


def _write(path: Path, header: Facts, arrays: Arrays, sync: bool = True) -> None:
    with _explained(path):
        write_checked(path, VERSION, header, arrays, KIND, sync)


def _read(path: Path) -> tuple[Facts, dict[str, AnyArray]]:
    try:
        return read_checked(path, VERSION, MAX_BYTES, KIND)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: it is missing from the checkpoint.") from None


class _explained:
    """An error of the system's says that it was the checkpoint, and not the fit, that met it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, OSError):
            raise OSError(
                error.errno,
                f"The checkpoint could not be written ({error.strerror}); what it had before is intact",
                str(self._path),
            ) from error


def _encoded(value: Any) -> Any:
    """As JSON has it: numpy's numbers are plain ones, and infinities and NaN are words."""
    if isinstance(value, dict):
        return {name: _encoded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    if isinstance(value, dict):
        if set(value) == {"float"}:
            return float(value["float"])
        return {name: _decoded(each) for name, each in value.items()}
    return value
