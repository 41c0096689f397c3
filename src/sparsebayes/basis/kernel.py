"""A kernel at some rows of the training data: the basis of the RVM (eq. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector
from sparsebayes.basis.base import first_of_each
from sparsebayes.kernels import KernelFunction


@dataclass(frozen=True, slots=True)
class KernelBasis:
    """phi_k(x) = K(x, v_k)."""

    kernel: KernelFunction
    vectors: Any  # an array or a CSR matrix
    numbers: IntVector  # the vectors' rows in the training data

    @classmethod
    def merged(cls, bases: Sequence[Self]) -> Self:
        """The vectors of several bases, each once."""
        first = first_of_each(bases)
        stack = sp.vstack if sp.issparse(bases[0].vectors) else np.vstack
        vectors = stack([basis.vectors for basis in bases])
        numbers = np.concatenate([basis.numbers for basis in bases])
        return cls(bases[0].kernel, vectors, numbers).kept(first)

    def transform(self, X: Any) -> AnyArray:
        return self.kernel(X, self.vectors)

    def kept(self, active: IntVector) -> Self:
        return type(self)(self.kernel, self.vectors[active], self.numbers[active])
