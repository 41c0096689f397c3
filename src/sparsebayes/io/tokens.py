"""Svmlight text to arrays, many tokens at a time.

The positions of all bytes that are not digits tell the structure; the digits between two of them are read
eight at a time, as one 64-bit number. A decimal of mantissa m <= 2^53 and k <= 22 digits behind the point is
m / 10^k, where both are exact in double precision, and so the quotient is the nearest double (Clinger 1990).
Values that are written otherwise go through Python's float. Both ways give the bits of ``float(text)``.

What is accepted is what :func:`sparsebayes.io.lines.read_lines` accepts; in doubt it is asked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparsebayes._typing import AnyArray, IntVector, Mask, Vector
from sparsebayes.io.lines import NUMBER, Rows, Terms, read_lines

Words = npt.NDArray[np.uint64]

LINE_FEED, SPACE, PLUS, MINUS, POINT, COLON = b"\n +-.:"
# Digits are read up to 16 bytes back from where they end.
MARGIN = 16
ALL_BYTES = 2**64 - 1
# The last n of eight bytes, which are the highest of a little-endian word.
LAST_BYTES = np.array([ALL_BYTES - (1 << (64 - 8 * n)) + 1 for n in range(9)], dtype=np.uint64)
LAST_BYTES[0] = 0
POWERS = np.array([10**k for k in range(MARGIN + 1)], dtype=np.uint64)
EXACT_POWERS = POWERS.astype(np.float64)
MAX_MANTISSA = np.uint64(2**53)
# Besides digits, what a text of decimal numbers is made of.
IN_NUMBERS = np.isin(np.arange(256), list(b"+-.eE :\n"))
# (mask, multiplier, shift): digits to pairs, pairs to fours, fours to eight.
FOLDS = tuple(
    (np.uint64(mask), np.uint64(factor), np.uint64(shift))
    for mask, factor, shift in (
        (0x0F0F0F0F0F0F0F0F, 10 * 2**8 + 1, 8),
        (0x00FF00FF00FF00FF, 100 * 2**16 + 1, 16),
        (0x0000FFFF0000FFFF, 10000 * 2**32 + 1, 32),
    )
)


def parse(text: bytes, terms: Terms) -> Rows:
    """The rows of whole lines, or the first :class:`~sparsebayes.io.lines.Fault` in them."""
    first = text[: text.find(b"\n") + 1]
    # Looking for what is not plain takes half as long as parsing: it is done where the first line has it.
    rows = _parse_plain(text, terms) if first and first == _plain(first) else None
    if rows is None:
        rows = _parse_plain(_plain(text), terms)
    return read_lines(text, terms) if rows is None else rows


def _plain(text: bytes) -> bytes:
    """The same rows with one space between tokens, and nothing else besides them."""
    if not text.endswith(b"\n"):
        text += b"\n"
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    if b"\t" in text:
        text = text.replace(b"\t", b" ")
    if b"  " in text:
        text = re.sub(rb" {2,}", b" ", text)
    if b" \n" in text:
        text = text.replace(b" \n", b"\n")
    if b"\n " in text:
        text = text.replace(b"\n ", b"\n")
    text = text.removeprefix(b" ")
    if b"\n\n" in text:
        text = re.sub(rb"\n{2,}", b"\n", text)
    if b" qid:" in text:
        text = re.sub(rb"(?m)^([^ \n]+) qid:[0-9]+(?=[ \n])", rb"\1", text)
    return text.removeprefix(b"\n")


class _Text(NamedTuple):
    """Plain text with a margin before it."""

    content: bytes
    characters: npt.NDArray[np.uint8]
    # words[i] is the eight bytes from i on.
    words: Words
    # Where the bytes stand that are not digits, and what they are.
    marks: IntVector
    kinds: npt.NDArray[np.uint8]


class _Lines(NamedTuple):
    """Structure of a text; all but ``indptr`` are positions in ``marks``."""

    colons: IntVector
    value_ends: IntVector
    label_ends: IntVector
    line_ends: IntVector
    indptr: npt.NDArray[np.int64]


def _parse_plain(plain: bytes, terms: Terms) -> Rows | None:
    """The rows, or None where a line may be at fault or the text is not plain."""
    if not plain:
        return Rows(np.empty(0), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, terms.dtype))
    if not plain.endswith(b"\n"):
        return None
    text = _marked(plain)
    lines = _lines(text)
    if lines is None:
        return None
    labels = _labels(text, lines)
    columns = _columns(text, lines, terms)
    if labels is None or columns is None:
        return None
    data = _values(text, lines)
    if data is None:
        return None
    with np.errstate(over="ignore", under="ignore"):
        narrowed = data.astype(terms.dtype, copy=False)
    if narrowed.dtype != np.float64 and not np.isfinite(narrowed).all():
        return None
    return Rows(labels, lines.indptr, columns, narrowed)


def _marked(plain: bytes) -> _Text:
    content = b"0" * MARGIN + plain
    characters = np.frombuffer(content, dtype=np.uint8)
    words: Words = np.ndarray((len(content) - 7,), dtype="<u8", buffer=content, strides=(1,))
    marks = np.flatnonzero(characters - np.uint8(ord("0")) > 9)  # below "0" wraps around
    return _Text(content, characters, words, marks, characters[marks])


def _lines(text: _Text) -> _Lines | None:
    """None unless every line is a token without a colon, and after it tokens of digits, a colon and more."""
    colons = np.flatnonzero(text.kinds == COLON)
    blanks = np.flatnonzero(text.kinds <= SPACE)
    blank_kinds = text.kinds[blanks]
    spaces = np.flatnonzero(blank_kinds == SPACE)
    feeds = np.flatnonzero(blank_kinds == LINE_FEED)
    if len(spaces) + len(feeds) != len(blanks) or len(spaces) != len(colons):
        return None
    # As many colons as spaces, and each the next mark after another space: one a token.
    if not (text.kinds[colons - 1] == SPACE).all():
        return None
    firsts = np.concatenate([[0], feeds[:-1] + 1])
    indptr = np.concatenate([[0], feeds - np.arange(len(feeds))])
    return _Lines(colons, blanks[spaces + 1], blanks[firsts], blanks[feeds], indptr)


def _labels(text: _Text, lines: _Lines) -> Vector | None:
    starts = np.concatenate([[MARGIN], text.marks[lines.line_ends[:-1]] + 1])
    ends = text.marks[lines.label_ends]
    tokens = [text.content[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    # Labels are few, and written the same way each time.
    known = {token: float(token) for token in set(tokens) if NUMBER.fullmatch(token)}
    labels = np.array([known.get(token, np.inf) for token in tokens])
    return labels if np.isfinite(labels).all() else None


def _columns(text: _Text, lines: _Lines, terms: Terms) -> npt.NDArray[np.int32] | None:
    ends = text.marks[lines.colons]
    lengths = ends - text.marks[lines.colons - 1] - 1
    if not len(ends):
        return np.empty(0, dtype=np.int32)
    if lengths.min() < 1 or lengths.max() > MARGIN:
        return None
    indices = _digits(text.words, ends, lengths)
    if indices.min() < terms.index_base or indices.max() > terms.largest_index:
        return None
    columns = indices.astype(np.int64)
    columns -= terms.index_base
    return columns.astype(np.int32) if _ascend(columns, lines.indptr) else None


def _ascend(columns: npt.NDArray[np.int64], indptr: npt.NDArray[np.int64]) -> bool:
    """Whether the columns of each row do."""
    ascends = np.ones(len(columns) + 1, dtype=bool)
    ascends[1:-1] = columns[1:] > columns[:-1]
    ascends[indptr] = True
    return bool(ascends.all())


def _values(text: _Text, lines: _Lines) -> Vector | None:
    before, ends = lines.colons, text.marks[lines.value_ends]
    starts = text.marks[before] + 1
    first = text.kinds[before + 1]
    signed = ((first == MINUS) | (first == PLUS)) & (text.marks[before + 1] == starts)
    if signed.any():
        before, starts = before + signed, starts + signed
    # The next mark is a point, or ends the value.
    points = text.marks[before + 1]
    pointed = (lines.value_ends - before == 2) & (text.kinds[before + 1] == POINT)
    behind = np.where(pointed, ends - points - 1, 0)
    odd = ~pointed & (lines.value_ends - before != 1)
    values, inexact = _decimals(text.words, starts, points, ends, behind)
    np.negative(values, out=values, where=signed & (first == MINUS))
    return _mended(values, odd | inexact, text, lines)


def _decimals(
    words: Words, starts: IntVector, points: IntVector, ends: IntVector, behind: IntVector
) -> tuple[Vector, Mask]:
    """Values of digits around a point, and where that is not certain to be the nearest double."""
    ahead = points - starts
    mantissa = _digits(words, points, ahead)
    # Nineteen digits fit into 64 bits.
    digits = ahead + behind
    inexact = (ahead > MARGIN) | (behind > MARGIN) | (digits < 1) | ((digits > 19) & (mantissa > 0))
    mantissa *= POWERS.take(behind, mode="clip")
    mantissa += _digits(words, ends, behind)
    inexact |= mantissa > MAX_MANTISSA
    values = mantissa.astype(np.float64)
    values /= EXACT_POWERS.take(behind, mode="clip")
    return values, inexact


def _mended(values: Vector, odd: Mask, text: _Text, lines: _Lines) -> Vector | None:
    """The values with those at ``odd`` read by Python; None if one of them is not a finite number."""
    where = np.flatnonzero(odd)
    if not len(where):
        return values
    # float() takes more than decimals ("nan", "1_0"), but not of these characters.
    if not IN_NUMBERS[text.kinds].all():
        return None
    starts = (text.marks[lines.colons[where]] + 1).tolist()
    ends = text.marks[lines.value_ends[where]].tolist()
    content = text.content.decode("ascii")  # float() reads a str faster than bytes
    try:
        mended = [float(content[start:end]) for start, end in zip(starts, ends, strict=True)]
    except ValueError:
        return None
    values[where] = mended
    return values if np.isfinite(values[where]).all() else None


def _digits(words: Words, ends: IntVector, lengths: IntVector) -> Words:
    """The numbers that the digits before ``ends`` write; of more than 16 digits, the last 16."""
    numbers = _eight_digits(words, ends - 8, lengths)
    if (lengths > 8).any():
        numbers += _eight_digits(words, ends - 16, lengths - 8) * POWERS[8]
    return numbers


def _eight_digits(words: Words, starts: IntVector, lengths: IntVector) -> Words:
    """The numbers that the last ``lengths`` of eight digits write; none of them for a length below one."""
    numbers = words[starts]
    numbers &= LAST_BYTES.take(lengths, mode="clip")
    for mask, factor, shift in FOLDS:
        numbers &= mask
        numbers *= factor
        numbers >>= shift
    return numbers


def concatenated(parts: list[Rows], dtype: type[np.floating]) -> Rows:
    """The parts as one."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0, *(len(part.columns) for part in parts)])
    return Rows(
        _joined([part.labels for part in parts], np.float64),
        np.concatenate(
            [[0], *(part.indptr[1:] + start for part, start in zip(parts, offsets, strict=False))]
        ),
        _joined([part.columns for part in parts], np.int32),
        _joined([part.data for part in parts], dtype),
    )


def _joined(arrays: list[AnyArray], dtype: type[np.generic]) -> AnyArray:
    return np.concatenate([np.empty(0, dtype=dtype), *arrays])
