"""Text that a C compiler takes as it is meant: names, numbers, arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.resources import files

import numpy as np

from sparsebayes._typing import AnyArray

LINE = 100
# C99 promises no more for a string.
LONGEST_STRING = 4095
LONGEST_IN_COMMENT = 60
PLAIN = re.compile(r"[ !#-),-.0-9:;<=>@A-Z\[\]^_`a-z{|}~+/]")


def filled(template: str, values: dict[str, str]) -> str:
    """A template of this package with its @names@ replaced; one that is not given is a mistake."""
    text = files("sparsebayes.export").joinpath("templates", template).read_text(encoding="ascii")
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def comment(text: str) -> str:
    """Any text, so that it can neither end a comment nor mean anything in one."""
    short = text if len(text) <= LONGEST_IN_COMMENT else text[:LONGEST_IN_COMMENT] + "..."
    return "".join(char if PLAIN.fullmatch(char) else f"<U+{ord(char):04X}>" for char in short)


def string(text: str) -> str:
    """A literal of the text in UTF-8. Octal escapes, unlike hexadecimal ones, end after three digits."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > LONGEST_STRING:
        raise ValueError(f"A name of {len(encoded)} bytes is too long for a table in C: {text[:40]!r}...")
    plain = {ord(char) for char in map(chr, range(32, 127)) if PLAIN.fullmatch(char)}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in encoded) + '"'


def number(value: float, dtype: str) -> str:
    """The shortest decimal that is read back as the same bits."""
    if dtype == "float":
        return f"{np.float32(value)!s}f"
    return repr(float(value))


def index_type(largest: int) -> str:
    """The smallest unsigned type that holds it."""
    return next(f"uint{bits}_t" for bits in (8, 16, 32, 64) if largest < 1 << bits)


def table(declaration: str, entries: Iterable[str]) -> str:
    """A constant array; C has none without entries, so that an empty one holds a zero."""
    return f"{declaration} = {{\n" + "\n".join(_lines(entries)) + "\n};\n"


def _lines(entries: Iterable[str]) -> Iterator[str]:
    line = "   "
    empty = True
    for entry in entries:
        if len(line) + len(entry) + 2 > LINE and line != "   ":
            yield line
            line = "   "
        line += f" {entry},"
        empty = False
    yield "    0" if empty else line


def integers(values: AnyArray) -> list[str]:
    return [str(value) for value in np.ravel(values).tolist()]
