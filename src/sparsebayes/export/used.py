"""Which features a model looks at."""

from __future__ import annotations

import numpy as np

from sparsebayes._typing import AnyArray
from sparsebayes.basis import IdentityBasis, KernelBasis
from sparsebayes.frozen import FrozenModel


def used_features(model: FrozenModel) -> AnyArray:
    """Their columns. Of a kernel that looks at none it is the first one, so that no table is empty."""
    basis = model.basis
    if isinstance(basis, IdentityBasis):
        return basis.numbers
    if isinstance(basis, KernelBasis) and basis.scales is not None:
        return np.flatnonzero(basis.scales) if basis.scales.any() else np.arange(1)
    return np.arange(model.n_features)
