"""Text from files, compressed files and streams, in parts of whole lines and bounded size."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from sparsebayes.io.lines import Fault

# A part is the work of one task; what it takes in memory is some ten times as much.
PART_BYTES = 1 << 21
MAX_LINE = 1 << 24
# svmlight text compresses 3 to 10 times; this is beyond what is not made of repeated lines.
MAX_EXPANSION = 200
FREE_EXPANSION = 1 << 21
PathLike = str | os.PathLike[str]


# Imported when they are used: a Python may be built without one of them.
def _gzip(file: Any) -> tuple[Any, type[Exception]]:
    import gzip
    import zlib

    return gzip.GzipFile(fileobj=file), zlib.error


def _bzip2(file: Any) -> tuple[Any, type[Exception]]:
    import bz2

    return bz2.BZ2File(file), EOFError


def _xz(file: Any) -> tuple[Any, type[Exception]]:
    import lzma

    return lzma.LZMAFile(file), lzma.LZMAError


# Name, first bytes, and what expands a file and raises an error of its own if it cannot.
SUFFIXES: dict[str, tuple[str, bytes, Callable[[Any], tuple[Any, type[Exception]]]]] = {
    ".gz": ("gzip", b"\x1f\x8b", _gzip),
    ".bz2": ("bzip2", b"BZh", _bzip2),
    ".xz": ("xz", b"\xfd7zXZ\0", _xz),
}


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a file that begin at ``start`` or later, and before ``stop``."""

    path: str
    start: int
    stop: int

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(max(self.start - 1, 0))
            text = file.read(self.stop - max(self.start - 1, 0))
            if self.start:
                text = text[text.find(b"\n") + 1 :] if b"\n" in text else b""
            if text and not text.endswith(b"\n"):
                text += file.readline(MAX_LINE + 1)
        return text


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines of a text, or what keeps them from being read; ``done`` bytes of the source are used up."""

    lines: Span | bytes | Fault
    done: int


@dataclass(frozen=True, slots=True)
class Source:
    """Where text comes from: its name in messages, its bytes if known, its parts in order."""

    name: str
    size: int | None
    parts: Iterator[Part]
    in_file: bool


@contextmanager
def opened(source: PathLike | IO[bytes]) -> Iterator[Source]:
    """The parts of a file or of a binary stream."""
    if not isinstance(source, str | os.PathLike):
        yield Source(_stream_name(source), None, _stream_parts(_Counted(source, None)), in_file=False)
        return
    path = os.fspath(source)
    status = os.stat(path)
    size = status.st_size if stat.S_ISREG(status.st_mode) else None
    suffix = os.path.splitext(path)[1].lower()
    if size is not None and suffix not in SUFFIXES:
        yield Source(path, size, _file_parts(path, size), in_file=True)
        return
    with open(path, "rb") as file:
        yield Source(path, size, _stream_parts(_Counted(file, suffix)), in_file=False)


def _stream_name(stream: IO[bytes]) -> str:
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "<stream>"


def _file_parts(path: str, size: int) -> Iterator[Part]:
    with open(path, "rb") as file:
        fault = _wrong_magic(file.read(8), None)
    if fault is not None:
        yield Part(fault, 0)
        return
    for start in range(0, size, PART_BYTES):
        stop = min(start + PART_BYTES, size)
        yield Part(Span(path, start, stop), stop)


class _Counted:
    """A stream that is expanded as its name says; counts the bytes that are read from below."""

    def __init__(self, file: IO[bytes], suffix: str | None) -> None:
        self.file, self.suffix = file, suffix if suffix in SUFFIXES else None
        self.used, self.given = 0, 0
        self.head = file.read(8)
        if not isinstance(self.head, bytes):
            raise TypeError("A stream of svmlight text must give bytes: open it in binary mode.")
        self.expanded: Any = None
        self.error: type[Exception] = EOFError
        if self.suffix is not None:
            self.expanded, self.error = SUFFIXES[self.suffix][2](self)

    def read(self, size: int = -1) -> bytes:
        """The bytes below."""
        block, self.head = self.head[:size], self.head[size:]
        block = block or self.file.read(size)
        self.used += len(block)
        return block

    def text(self, size: int) -> bytes:
        """The text, or a :class:`Fault` without its line."""
        if self.expanded is None:
            return self.read(size)
        try:
            block = bytes(self.expanded.read(size))
        except (EOFError, OSError, self.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's error, not the data's
            raise Fault(1, f"the compressed data are damaged ({error})") from None
        self.given += len(block)
        if self.given > max(FREE_EXPANSION, MAX_EXPANSION * self.used):
            raise Fault(1, f"the compressed text expands more than {MAX_EXPANSION} times")
        return block


def _wrong_magic(head: bytes, suffix: str | None) -> Fault | None:
    if suffix is not None:
        name, magic, _ = SUFFIXES[suffix]
        if not head.startswith(magic):
            return Fault(1, f"the file is named {suffix}, but is not compressed by {name}", head)
        return None
    for suffix, (name, magic, _) in SUFFIXES.items():
        if head.startswith(magic):
            return Fault(
                1, f"the text is compressed by {name}, which only a file named {suffix} may be", head
            )
    return None


def _stream_parts(source: _Counted) -> Iterator[Part]:
    fault = _wrong_magic(source.head, source.suffix)
    if fault is not None:
        yield Part(fault, 0)
        return
    held: list[bytes] = []
    try:
        while block := source.text(PART_BYTES):
            cut = block.rfind(b"\n") + 1
            if cut:
                yield Part(b"".join([*held, block[:cut]]), source.used)
                held = []
            held.append(block[cut:])
            if sum(map(len, held)) > MAX_LINE:
                break
    except Fault as found:
        yield Part(found, source.used)
        return
    if any(held):
        yield Part(b"".join(held), source.used)
