"""Columns of X as they are: features, or the columns of a precomputed kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsebayes._typing import IntVector


@dataclass(frozen=True, slots=True)
class IdentityBasis:
    n_columns: int  # of X
    columns: IntVector | None = None  # None: all of them

    @property
    def numbers(self) -> IntVector:
        return np.arange(self.n_columns) if self.columns is None else self.columns

    def transform(self, X: Any) -> Any:
        return X if self.columns is None else X[:, self.columns]

    def kept(self, active: IntVector) -> IdentityBasis:
        columns = active if self.columns is None else self.columns[active]
        return IdentityBasis(self.n_columns, columns)
