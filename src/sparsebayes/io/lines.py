"""The grammar of svmlight text, read one line at a time: the definition, and the one that finds faults.

A line is ``label [qid:number] index:value ...``, with spaces or tabs between, before and after. What follows
a ``#`` is a comment, and a line without anything else is passed over. Lines end with LF or CRLF, the last one
at the end of the file too. A label or value is a decimal number (``-1``, ``.5``, ``2e-3``) that is finite. An
index is digits, and those of a line ascend. ``qid:number`` is left out. Anything else is a fault.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sparsebayes._typing import AnyArray, Vector

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
DIGITS = re.compile(rb"[0-9]+")
# Columns are stored as int32, and so is their number.
MAX_FEATURES = 2**31 - 1
SHOWN = 40


class SvmlightFormatError(ValueError):
    """A text is not in svmlight format; the message is ``file:line: reason: token``.

    Examples
    --------
    >>> import io
    >>> from sparsebayes.io import SvmlightFormatError, read_svmlight
    >>> try:
    ...     read_svmlight(io.BytesIO(b"+1 1:0.5\\n-1 2:0,5\\n"))
    ... except SvmlightFormatError as error:
    ...     print(error)
    <stream>:2: the value is not a decimal number: '2:0,5'
    """


@dataclass(frozen=True, slots=True)
class Terms:
    """What is asked of a text: its first index, how many columns there may be, the type of values."""

    index_base: int = 1
    n_features: int | None = None
    dtype: type[np.floating] = np.float64

    @property
    def largest_index(self) -> int:
        return (MAX_FEATURES if self.n_features is None else self.n_features) - 1 + self.index_base


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a text: ``columns`` and ``data`` of row i from ``indptr[i]`` to ``indptr[i + 1]``."""

    labels: Vector
    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    data: AnyArray


class Fault(Exception):
    """The first thing in a text that the grammar does not allow; lines count from 1."""

    def __init__(self, line: int, reason: str, token: bytes = b"") -> None:
        super().__init__(line, reason, token)
        self.line, self.reason, self.token = line, reason, token

    def at(self, name: str, lines_before: int) -> SvmlightFormatError:
        shown = ascii(self.token[:SHOWN].decode("utf-8", "replace")) + (
            "..." if len(self.token) > SHOWN else ""
        )
        return SvmlightFormatError(f"{name}:{lines_before + self.line}: {self.reason}: {shown}")


def read_lines(text: bytes, terms: Terms) -> Rows:
    """The rows of ``text``, or the first :class:`Fault` in it."""
    labels: list[float] = []
    indptr, columns, data = [0], [], []
    for number, line in enumerate(text.split(b"\n"), start=1):
        tokens = _tokens(line, number)
        if not tokens:
            continue
        labels.append(_number(tokens[0], number, tokens[0], "label"))
        previous = -1
        for token in tokens[1 + _has_query(tokens) :]:
            index, value = _pair(token, number, terms)
            if index <= previous:
                raise Fault(number, "an index does not ascend", token)
            previous = index
            columns.append(index - terms.index_base)
            data.append(value)
        indptr.append(len(columns))
    return Rows(
        np.array(labels, dtype=np.float64),
        np.array(indptr, dtype=np.int64),
        np.array(columns, dtype=np.int32),
        np.array(data, dtype=terms.dtype),
    )


def _tokens(line: bytes, number: int) -> list[bytes]:
    line = line.removesuffix(b"\r").partition(b"#")[0]
    for character, name in ((b"\0", "NUL byte"), (b"\r", "carriage return")):
        if character in line:
            raise Fault(number, f"there is a {name} in the line", line)
    if line.startswith(b"\xef\xbb\xbf"):
        raise Fault(number, "the line begins with a byte order mark", line)
    return [token for token in re.split(rb"[ \t]+", line) if token]


def _has_query(tokens: list[bytes]) -> bool:
    return len(tokens) > 1 and tokens[1][:4] == b"qid:" and bool(DIGITS.fullmatch(tokens[1], 4))


def _pair(token: bytes, number: int, terms: Terms) -> tuple[int, float]:
    index, colon, value = token.partition(b":")
    if not colon:
        raise Fault(number, "a feature has no colon", token)
    return _index(index, number, token, terms), _value(value, number, token, terms)


def _index(text: bytes, number: int, token: bytes, terms: Terms) -> int:
    if not DIGITS.fullmatch(text):
        raise Fault(number, "the index is not a whole number from 0 on", token)
    digits = text.lstrip(b"0") or b"0"
    # int() of many digits takes long: their number is looked at first.
    if len(digits) > 10 or int(digits) > terms.largest_index:
        raise Fault(number, f"the index is above {terms.largest_index}", token)
    if int(digits) < terms.index_base:
        raise Fault(number, "the index is below 1 (pass index_base=0 if indices begin with 0)", token)
    return int(digits)


def _value(text: bytes, number: int, token: bytes, terms: Terms) -> float:
    value = _number(text, number, token, "value")
    if terms.dtype is np.float32 and math.isinf(_as_float32(value)):
        raise Fault(number, "the value is too large for float32", token)
    return value


def _as_float32(value: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(value))


def _number(text: bytes, number: int, token: bytes, role: str) -> float:
    if not NUMBER.fullmatch(text):
        raise Fault(number, f"the {role} is not a decimal number", token)
    value = float(text)
    if math.isinf(value):
        raise Fault(number, f"the {role} is out of range", token)
    return value
