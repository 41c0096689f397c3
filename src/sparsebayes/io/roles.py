"""What a table is: its rows, and which of its columns are what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sparsebayes._typing import AnyArray, Vector

LABEL_NAMES = ("label", "target", "class", "y")


class TableError(ValueError):
    """A table cannot be read: ``file:line: reason``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparsebayes.io import TableError, read_table
    >>> try:
    ...     read_table(BytesIO(b"height,label\\n1.8,yes\\ntall,no\\n"), format="csv")
    ... except TableError as error:
    ...     print(error)
    <stream>:3: column 'height': not a finite number: 'tall'.
    """


@dataclass(frozen=True, slots=True)
class Columns:
    """Which of the named columns of a table are what.

    Attributes
    ----------
    label : str or None
        The labels; "label", "target", "class" or "y" if None.
    weight : str or None
        Weights of the rows.
    ignore : sequence of str
        Columns to leave out.
    features : sequence of str or None
        Features to take, in this order; all columns that are left if None.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparsebayes.io import Columns, read_table
    >>> text = BytesIO(b"id,height,seen,kind\\n7,1.8,2,tree\\n8,0.2,1,herb\\n")
    >>> table = read_table(text, format="csv", columns=Columns(label="kind", weight="seen", ignore=["id"]))
    >>> table.feature_names, table.y.tolist(), table.sample_weight.tolist()
    (['height'], ['tree', 'herb'], [2.0, 1.0])
    """

    label: str | None = None
    weight: str | None = None
    ignore: Sequence[str] = ()
    features: Sequence[str] | None = None

    def places(self, header: Sequence[str], where: str, labelled: bool) -> Places:
        """Their positions in a header."""
        seen: dict[str, int] = {}
        for place, name in enumerate(header):
            if seen.setdefault(name, place) != place:
                raise TableError(f"{where}: two columns are named {name!r}.")

        def place_of(name: str) -> int:
            if name not in seen:
                raise TableError(f"{where}: there is no column {name!r} among {listed(header)}.")
            return seen[name]

        known = [name for name in LABEL_NAMES if name in seen and name not in self.ignore]
        label = self.label if self.label is not None else next(iter(known), None)
        if labelled and (label is None or (self.label is None and len(known) > 1)):
            raise TableError(f"{where}: which column is the label? There are {listed(known or header)}.")
        weight = None if self.weight is None else place_of(self.weight)
        if self.features is not None:
            features = [place_of(name) for name in self.features]
        else:
            left_out = {label, self.weight, *self.ignore}
            features = [place for name, place in seen.items() if name not in left_out]
        if not features:
            raise TableError(f"{where}: no column is left for the features.")
        return Places(place_of(label) if labelled and label is not None else None, weight, features)


ALL_COLUMNS = Columns()


@dataclass(frozen=True, slots=True)
class Places:
    """Positions of :class:`Columns`."""

    label: int | None
    weight: int | None
    features: list[int]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and what is known of them.

    Attributes
    ----------
    X : ndarray, csr_matrix or BlockStore of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,) or None
        Labels.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    feature_names : list of str or None
        Names of the columns of X.

    Examples
    --------
    >>> from io import BytesIO
    >>> from sparsebayes.io import read_table
    >>> table = read_table(BytesIO(b"height,width,label\\n1.8,0.6,yes\\n0.2,0.1,no\\n"), format="csv")
    >>> table.X.shape, table.y.tolist(), table.feature_names
    ((2, 2), ['yes', 'no'], ['height', 'width'])
    """

    X: Any
    y: AnyArray | None = None
    sample_weight: Vector | None = None
    feature_names: list[str] | None = None


def name_of(source: Any) -> str:
    """What errors call it."""
    return str(getattr(source, "name", "<stream>")) if hasattr(source, "read") else os.fspath(source)


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown}, ... ({len(names)} in all)"
