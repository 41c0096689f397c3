"""What the columns of a design are functions of: raw features, kernels, hidden nodes."""

from sparsebayes.basis.base import MAX_HELD, Basis, as_matrix
from sparsebayes.basis.hidden import ACTIVATIONS, HiddenBasis, filled_columns
from sparsebayes.basis.identity import IdentityBasis
from sparsebayes.basis.kernel import KernelBasis
from sparsebayes.basis.margins import evaluated, margins
from sparsebayes.basis.rows import DistinctRows, candidate_rows

__all__ = [
    "ACTIVATIONS",
    "MAX_HELD",
    "Basis",
    "DistinctRows",
    "HiddenBasis",
    "IdentityBasis",
    "KernelBasis",
    "as_matrix",
    "candidate_rows",
    "evaluated",
    "filled_columns",
    "margins",
]
