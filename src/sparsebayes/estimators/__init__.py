"""scikit-learn estimators."""

from sparsebayes.estimators._problem import Progress
from sparsebayes.estimators.linear import SBLClassifier
from sparsebayes.estimators.rvm import RVMClassifier
from sparsebayes.estimators.sbelm import SBELMClassifier

__all__ = ["Progress", "RVMClassifier", "SBELMClassifier", "SBLClassifier"]
