"""Sparse Bayesian classification: small, probabilistic models without hyperparameters."""

from sparsebayes.estimators import Progress, SBLClassifier

__version__ = "0.1.0"

__all__ = ["Progress", "SBLClassifier", "__version__"]
