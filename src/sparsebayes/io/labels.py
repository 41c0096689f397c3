"""Labels of one kind as numbers 0, 1, 2 ... in the order in which they first appear."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from sparsebayes._typing import AnyArray

KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}
# A store is for classification: numbers that differ from row to row are hardly labels.
MAX_LABELS = 1 << 16
Codes = npt.NDArray[np.int32]


class LabelMap:
    """The label of each code. ``kind`` is None until there is a label."""

    def __init__(self, kind: str | None = None, values: Iterable[Any] = ()) -> None:
        self.kind = kind
        self.values = list(values)
        self._codes = {value: code for code, value in enumerate(self.values)}

    def encode(self, y: Any, first_row: int) -> Codes:
        """Codes of labels, new ones included; messages count rows from ``first_row``."""
        labels = _labels(y, first_row)
        kind = _kind(labels, first_row)
        if self.kind not in (None, kind):
            raise ValueError(
                f"The labels from row {first_row} on are of kind {kind}, those before of {self.kind}."
            )
        distinct, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        found = distinct[order].tolist()
        new = [value for value in found if value not in self._codes]
        if len(self.values) + len(new) > MAX_LABELS:
            raise ValueError(f"y has more than {MAX_LABELS} distinct labels; a store is for classification.")
        self.kind = kind
        for value in new:
            self._codes[value] = len(self.values)
            self.values.append(value)
        codes = np.empty(len(distinct), dtype=np.int32)
        codes[order] = [self._codes[value] for value in found]
        return np.asarray(codes[inverse.reshape(-1)])

    def decode(self, codes: Codes) -> AnyArray:
        return self.array()[codes]

    def array(self) -> AnyArray:
        """The labels in the order of their codes."""
        return np.array(self.values, dtype=KINDS[self.kind or "float"])


def _labels(y: Any, first_row: int) -> AnyArray:
    # numpy would make strings of a list of strings and numbers.
    labels = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y should be one-dimensional, a label a row. Got an array of shape {labels.shape}.")
    if labels.dtype.kind != "O":
        return labels
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    for kind in KINDS.values():
        if all(type(value) is kind for value in values):
            return np.array(values, dtype=None if values else float)
    wrong = (row for row, value in enumerate(values) if type(value) is not type(values[0]))
    row = next(wrong, 0)
    raise ValueError(
        "Labels may be bools, ints, floats or strings, all of one kind: "
        f"row {first_row + row} has {values[row]!r}, row {first_row} has {values[0]!r}."
    )


def _kind(labels: AnyArray, first_row: int) -> str:
    kind = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}.get(labels.dtype.kind)
    if kind is None:
        raise ValueError(f"Labels may be bools, ints, floats or strings. Got a y of dtype {labels.dtype}.")
    if kind == "float" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(
            f"Input y contains NaN or infinity: row {first_row + row} has the label {labels[row]}."
        )
    if labels.dtype == np.uint64 and len(labels) and labels.max() > np.uint64(2**63 - 1):
        raise ValueError("A label is beyond 2**63 - 1.")
    return kind


def whole(y: AnyArray) -> AnyArray:
    """Integers where floats are."""
    exact = np.isfinite(y).all() and (np.abs(y) < 2.0**53).all() and (y == np.rint(y)).all()
    return y.astype(np.int64) if exact else y


def valid_map(kind: Any, values: Any) -> bool:
    """Whether the two, from a file, are a map that could have been written."""
    if not (
        isinstance(kind, str) and kind in KINDS and isinstance(values, list) and len(values) <= MAX_LABELS
    ):
        return False
    if not all(type(value) is KINDS[kind] for value in values) or len(set(values)) != len(values):
        return False
    if kind == "int":
        return all(-(2**63) <= value < 2**63 for value in values)
    return kind != "float" or all(map(math.isfinite, values))
