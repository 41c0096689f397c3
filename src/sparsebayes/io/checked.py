r"""A file of named arrays and a JSON header, every byte of which is checked.

Layout, all numbers little-endian::

    8 bytes   magic  89 'S' 'B' 'M' 0D 0A 1A 0A, or another of a :class:`FileKind`
    u32       version of the format
    u32       bytes of the header
    u64       bytes of the file
    header    JSON in ASCII; its "arrays" is a list of [name, dtype, shape]
    arrays    raw, in the order of that list, without gaps
    32 bytes  SHA-256 of all bytes before it

The reader knows a closed list of number types, looks nothing else up by name, and compares every size with
that of the file before it allocates: what it needs is twice the file, and up to 30 MB for the header.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sparsebayes._typing import AnyArray

MAGIC = b"\x89SBM\r\n\x1a\n"
PREFIX = struct.Struct("<8sIIQ")
DIGEST_BYTES = hashlib.sha256().digest_size
# JSON takes up to 30 times its length in memory; names and numbers that may be many are in arrays.
MAX_HEADER = 1 << 20
MAX_BYTES = 1 << 30
MAX_DIMENSION = 1 << 53
DTYPES: dict[str, type[np.generic]] = {
    "f8": np.float64,
    "f4": np.float32,
    "f2": np.float16,
    "i8": np.int64,
    "i4": np.int32,
    "i2": np.int16,
    "i1": np.int8,
    "u8": np.uint64,
    "u4": np.uint32,
    "u2": np.uint16,
    "u1": np.uint8,
    "b1": np.bool_,
}


class ModelFileError(ValueError):
    """A model file is damaged, of a newer format, or not a model file at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sparsebayes import ModelFileError, load_model
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "notes.sbm").write_text("Not a model, but a few words about one.")
    ...     try:
    ...         load_model(Path(folder, "notes.sbm"))
    ...     except ModelFileError as error:
    ...         print(str(error).split("notes.sbm: ")[1])
    it is not a model file of sparsebayes.
    """


@dataclass(frozen=True, slots=True)
class FileKind:
    """What files of one purpose begin with, so that none is taken for another, and what they are called."""

    magic: bytes
    name: str
    error: type[ValueError]


MODEL_FILE = FileKind(MAGIC, "model file", ModelFileError)


def write_checked(
    path: str | os.PathLike[str],
    version: int,
    header: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    kind: FileKind = MODEL_FILE,
    sync: bool = True,
) -> None:
    """Replace the file at ``path`` in one step: it is there whole, or as it was before.

    Without ``sync`` that holds for whatever happens to the process, but not to the machine.
    """
    specs: list[list[Any]] = []
    blocks: list[memoryview] = []
    for name, array in arrays.items():
        code = f"{array.dtype.kind}{array.dtype.itemsize}"
        if code not in DTYPES:
            raise ValueError(f"An array of dtype {array.dtype} ({name}) cannot be stored.")
        specs.append([name, code, list(array.shape)])
        stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        blocks.append(stored.reshape(-1).view(np.uint8).data)  # not copied: arrays may be large
    text = json.dumps({**header, "arrays": specs}, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER:
        raise ValueError(f"The header has {len(text)} bytes, {MAX_HEADER} are allowed: shorten `about`.")
    size = PREFIX.size + len(text) + sum(map(len, blocks)) + DIGEST_BYTES
    digest = hashlib.sha256()
    with replaced(path, sync) as file:
        parts: list[bytes | memoryview] = [PREFIX.pack(kind.magic, version, len(text), size), text, *blocks]
        for block in parts:
            digest.update(block)
            file.write(block)
        file.write(digest.digest())


@contextmanager
def replaced(path: str | os.PathLike[str], sync: bool = True) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of ``path`` when all of it is on the disk, or, without
    ``sync``, with the system.
    """
    if _is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(target.parent)


def _is_special(path: str | os.PathLike[str]) -> bool:
    """A pipe or a device, whose place nothing can take."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_checked(
    path: str | os.PathLike[str], version: int, max_bytes: int = MAX_BYTES, kind: FileKind = MODEL_FILE
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Header and arrays; the kind's error for anything that :func:`write_checked` did not write."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened, which may wait for a pipe's other end
        raise kind.error(f"{os.fspath(path)}: it is not a regular file.")
    with open(path, "rb") as file:
        try:
            file_size = os.fstat(file.fileno()).st_size
            prefix = file.read(PREFIX.size)
            header_size = _header_size(prefix, version, file_size, max_bytes, kind)
            data = file.read(file_size - PREFIX.size)
            content = memoryview(data)[:-DIGEST_BYTES]
            digest = hashlib.sha256(prefix)
            digest.update(content)
            if digest.digest() != data[-DIGEST_BYTES:]:
                raise ModelFileError("it is damaged: its checksum does not match")
            header = _header(bytes(content[:header_size]))
            return header, _arrays(header.pop("arrays", None), content[header_size:])
        except ModelFileError as error:
            raise kind.error(f"{os.fspath(path)}: {error}.") from None


def _header_size(prefix: bytes, version: int, file_size: int, max_bytes: int, kind: FileKind) -> int:
    if prefix[: len(MAGIC)] != kind.magic[: len(prefix)] or not prefix:
        raise ModelFileError(f"it is not a {kind.name} of sparsebayes")
    if len(prefix) < PREFIX.size:
        raise ModelFileError(f"it is cut off after {len(prefix)} bytes")
    _, found, header_size, size = PREFIX.unpack(prefix)
    if found > version:
        raise ModelFileError(f"format {found} > supported {version}: a newer sparsebayes is needed")
    if found < 1:
        raise ModelFileError("format 0 does not exist")
    if size != file_size:
        raise ModelFileError(f"it should have {size} bytes, but has {file_size}")
    if size > max_bytes:
        raise ModelFileError(f"it has {size} bytes, and max_bytes is {max_bytes}")
    if header_size > MAX_HEADER or PREFIX.size + header_size + DIGEST_BYTES > size:
        raise ModelFileError(f"its header is said to have {header_size} bytes")
    return int(header_size)


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = parse_json(text)
    except ValueError as error:
        raise ModelFileError(f"its header is {error}") from None
    if not isinstance(header, dict):
        raise ModelFileError("its header is not an object")
    return header


def parse_json(text: bytes) -> Any:
    """JSON in ASCII without repeated names, NaN and infinity; a ValueError for anything else."""
    try:
        return json.loads(
            text.decode("ascii"),
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not valid: {error}") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not allowed")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is out of range")
    return value


def _arrays(specs: Any, content: memoryview) -> dict[str, AnyArray]:
    if not isinstance(specs, list) or not all(isinstance(spec, list) and len(spec) == 3 for spec in specs):
        raise ModelFileError("its list of arrays is not valid")
    sizes = [_array_bytes(*spec) for spec in specs]
    if sum(sizes) != len(content):
        raise ModelFileError(f"its arrays are said to have {sum(sizes)} bytes, but have {len(content)}")
    arrays: dict[str, AnyArray] = {}
    start = 0
    for (name, code, shape), size in zip(specs, sizes, strict=True):
        if name in arrays:
            raise ModelFileError(f"it has two arrays {name[:50]!r}")
        stored = np.frombuffer(content[start : start + size], dtype=np.dtype(DTYPES[code]).newbyteorder("<"))
        if code == "b1" and not (stored.view(np.uint8) <= 1).all():
            raise ModelFileError("a bool is neither true nor false")
        arrays[name] = stored.astype(DTYPES[code]).reshape(shape)  # astype: a copy, aligned
        start += size
    return arrays


def _array_bytes(name: Any, code: Any, shape: Any) -> int:
    if not isinstance(name, str) or not isinstance(code, str) or code not in DTYPES:
        raise ModelFileError("an array has no valid name or type")
    if not isinstance(shape, list) or len(shape) not in (1, 2):
        raise ModelFileError(f"the array {name[:50]!r} has no valid shape")
    if not all(type(length) is int and 0 <= length < MAX_DIMENSION for length in shape):
        raise ModelFileError(f"the array {name[:50]!r} has no valid shape")
    return math.prod(shape) * np.dtype(DTYPES[code]).itemsize
