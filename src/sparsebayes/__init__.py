"""Sparse Bayesian classification: small, probabilistic models without hyperparameters."""

from sparsebayes.estimators import Progress, RVMClassifier, SBELMClassifier, SBLClassifier

__version__ = "0.1.0"

__all__ = ["Progress", "RVMClassifier", "SBELMClassifier", "SBLClassifier", "__version__"]
