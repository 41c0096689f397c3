"""How many entries each column has, kept for the columns that have any.

A file may name column 2^31 and no other: what is held grows with the columns that occur.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sparsebayes._typing import AnyArray

Numbers = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


class ColumnCounts:
    """Sorted numbers of columns, and their counts."""

    def __init__(self, numbers: AnyArray | None = None, counts: AnyArray | None = None) -> None:
        self.numbers: Numbers = np.empty(0, np.int32) if numbers is None else np.array(numbers, np.int32)
        self.counts: Counts = np.empty(0, np.int64) if counts is None else np.array(counts, np.int64)

    def add_entries(self, columns: Numbers) -> None:
        """Count the column of each entry."""
        if not len(columns):
            return
        if int(columns.max()) < 4 * len(columns):  # else the array of counts would be the larger one
            counts = np.zeros(int(columns.max()) + 1, dtype=np.int64)
            np.add.at(counts, columns, 1)  # numpy.bincount would widen all columns first
            numbers = np.flatnonzero(counts)
            self.add(numbers.astype(np.int32), counts[numbers])
        else:
            self.add(*np.unique(columns, return_counts=True))

    def add(self, numbers: Numbers, counts: Counts) -> None:
        """Numbers in ascending order, each once."""
        places = np.searchsorted(self.numbers, numbers)
        known = places < len(self.numbers)
        known[known] = self.numbers[places[known]] == numbers[known]
        self.counts[places[known]] += counts[known]
        if not known.all():
            self.numbers = np.insert(self.numbers, places[~known], numbers[~known])
            self.counts = np.insert(self.counts, places[~known], counts[~known])

    def dense(self, width: int) -> Counts:
        counts = np.zeros(width, dtype=np.int64)
        counts[self.numbers] = self.counts
        return counts
