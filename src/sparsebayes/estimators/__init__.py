"""scikit-learn estimators."""

from sparsebayes.estimators._problem import Progress
from sparsebayes.estimators.linear import SBLClassifier

__all__ = ["Progress", "SBLClassifier"]
