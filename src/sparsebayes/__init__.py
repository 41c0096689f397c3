"""Sparse Bayesian classification: small, probabilistic models without hyperparameters."""

from sparsebayes.estimators import (
    Progress,
    RVMClassifier,
    RVMClassifierCV,
    SBELMClassifier,
    SBELMClassifierCV,
    SBLClassifier,
    SBLClassifierCV,
    sbl_path,
)

__version__ = "0.1.0"

__all__ = [
    "Progress",
    "RVMClassifier",
    "RVMClassifierCV",
    "SBELMClassifier",
    "SBELMClassifierCV",
    "SBLClassifier",
    "SBLClassifierCV",
    "__version__",
    "sbl_path",
]
