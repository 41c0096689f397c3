"""Columns of X as they are: features, or the columns of a precomputed kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import IntVector


@dataclass(frozen=True, slots=True)
class IdentityBasis:
    n_columns: int  # of X
    columns: IntVector | None = None  # None: all of them

    @property
    def numbers(self) -> IntVector:
        return np.arange(self.n_columns) if self.columns is None else self.columns

    @property
    def names(self) -> IntVector:
        return self.numbers

    def transform(self, X: Any) -> Any:
        if self.columns is None:
            return X
        # take keeps the order in memory, and with it the bits of products, that an array computed here has.
        return X[:, self.columns] if sp.issparse(X) else np.take(X, self.columns, axis=1)

    def kept(self, active: IntVector) -> IdentityBasis:
        columns = active if self.columns is None else self.columns[active]
        return IdentityBasis(self.n_columns, columns)
