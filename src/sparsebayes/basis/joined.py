"""Bases side by side, where one kind of function does not do for all binary problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector
from sparsebayes.basis.base import Basis


@dataclass(frozen=True, slots=True)
class JoinedBasis:
    """The functions of the first basis, then those of the second, ...

    Their numbers are positions, because those of the parts may coincide.
    """

    parts: tuple[Basis, ...]

    @property
    def numbers(self) -> IntVector:
        return np.arange(sum(len(part.numbers) for part in self.parts))

    @property
    def names(self) -> IntVector:
        return np.concatenate([part.names for part in self.parts])

    def transform(self, X: Any) -> AnyArray:
        values = [part.transform(X) for part in self.parts]
        return np.hstack([v.toarray() if sp.issparse(v) else v for v in values])

    def kept(self, active: IntVector) -> JoinedBasis:
        ends = np.cumsum([len(part.numbers) for part in self.parts])
        starts = ends - [len(part.numbers) for part in self.parts]
        return JoinedBasis(
            tuple(
                part.kept(active[(active >= start) & (active < end)] - start)
                for part, start, end in zip(self.parts, starts, ends, strict=True)
            )
        )
