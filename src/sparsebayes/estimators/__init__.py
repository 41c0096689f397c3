"""scikit-learn estimators."""

from sparsebayes.estimators._problem import Progress
from sparsebayes.estimators.cv import RVMClassifierCV, SBELMClassifierCV, SBLClassifierCV
from sparsebayes.estimators.linear import SBLClassifier
from sparsebayes.estimators.path import sbl_path
from sparsebayes.estimators.rvm import RVMClassifier
from sparsebayes.estimators.sbelm import SBELMClassifier

__all__ = [
    "Progress",
    "RVMClassifier",
    "RVMClassifierCV",
    "SBELMClassifier",
    "SBELMClassifierCV",
    "SBLClassifier",
    "SBLClassifierCV",
    "sbl_path",
]
