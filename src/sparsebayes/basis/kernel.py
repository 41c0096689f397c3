"""A kernel at some rows of the training data: the basis of the RVM (eq. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector, Vector
from sparsebayes.basis.base import first_of_each
from sparsebayes.kernels import Kernel, KernelFunction, scaled


@dataclass(frozen=True, slots=True)
class KernelBasis:
    """phi_k(x) = K(x, v_k), or, where there are ``gammas``, K of the width gamma_k.

    With ``scales`` s, one a feature, K(s x, s v_k): a feature with a scale of 0 does not count.
    """

    kernel: KernelFunction
    vectors: Any  # an array or a CSR matrix
    names: IntVector  # the vectors' rows in the training data
    gammas: Vector | None = None  # None where all vectors have the kernel's own
    keys: IntVector | None = None  # what a vector at a width is known by; None: its name
    scales: Vector | None = None

    @classmethod
    def of_widths(
        cls,
        kernel: Kernel,
        vectors: Any,
        names: IntVector,
        gammas: Vector,
        n_rows: int,
        scales: Vector | None = None,
    ) -> KernelBasis:
        """Every vector at every width; of ``n_rows`` rows of training data."""
        if len(gammas) == 1:
            return cls(replace(kernel, gamma=float(gammas[0])), vectors, names, scales=scales)
        keys = np.concatenate([names + k * n_rows for k in range(len(gammas))])
        repeated = np.tile(names, len(gammas))
        order = np.tile(np.arange(len(names)), len(gammas))
        return cls(kernel, vectors[order], repeated, np.repeat(gammas, len(names)), keys, scales)

    @classmethod
    def merged(cls, bases: Sequence[Self]) -> Self:
        """The functions of several bases of the same scales, each once."""
        first = first_of_each(bases)
        stack = sp.vstack if sp.issparse(bases[0].vectors) else np.vstack
        vectors = stack([basis.vectors for basis in bases])
        names = np.concatenate([basis.names for basis in bases])
        gammas = keys = None
        if bases[0].gammas is not None:
            gammas = np.concatenate([basis.gammas for basis in bases if basis.gammas is not None])
            keys = np.concatenate([basis.numbers for basis in bases])
        return cls(bases[0].kernel, vectors, names, gammas, keys, bases[0].scales).kept(first)

    @property
    def numbers(self) -> IntVector:
        return self.names if self.keys is None else self.keys

    def transform(self, X: Any) -> AnyArray:
        kernel, vectors, dtype = self.kernel, self.vectors, X.dtype
        if self.gammas is not None:
            assert isinstance(kernel, Kernel)
            kernel = replace(kernel, gamma=self.gammas)
        if self.scales is None:
            return kernel(X, vectors)
        return kernel(scaled(X, self.scales), scaled(vectors, self.scales)).astype(dtype, copy=False)

    def kept(self, active: IntVector) -> Self:
        gammas = None if self.gammas is None else self.gammas[active]
        keys = None if self.keys is None else self.keys[active]
        return replace(self, vectors=self.vectors[active], names=self.names[active], gammas=gammas, keys=keys)
