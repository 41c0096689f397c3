"""The outer loops: how alpha is learned."""

from sparsebayes.evidence.candidates import Stage
from sparsebayes.evidence.elimination import EliminationLoop, Judge
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.joint import JointLoop
from sparsebayes.evidence.sequential import SequentialLoop

__all__ = [
    "EliminationLoop",
    "Fit",
    "FitStatus",
    "JointLoop",
    "Judge",
    "Record",
    "SequentialLoop",
    "Stage",
    "State",
]
