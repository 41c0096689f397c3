"""Sparse Bayesian classification: small, probabilistic models without hyperparameters."""

from typing import TYPE_CHECKING, Any

from sparsebayes.checkpoint import CheckpointError
from sparsebayes.design import Workers, WorkersLostError
from sparsebayes.export import export_c, export_onnx
from sparsebayes.frozen import FrozenModel
from sparsebayes.io import ModelFileError
from sparsebayes.model_file import load_model, save_model

if TYPE_CHECKING:
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
    from sparsebayes.onnx_converters import register_onnx_converters
    from sparsebayes.report import make_report

__version__ = "0.1.0"

__all__ = [
    "CheckpointError",
    "FrozenModel",
    "ModelFileError",
    "Progress",
    "RVMClassifier",
    "RVMClassifierCV",
    "SBELMClassifier",
    "SBELMClassifierCV",
    "SBLClassifier",
    "SBLClassifierCV",
    "Workers",
    "WorkersLostError",
    "__version__",
    "export_c",
    "export_onnx",
    "load_model",
    "make_report",
    "register_onnx_converters",
    "save_model",
    "sbl_path",
]


def __getattr__(name: str) -> Any:
    """The estimators when they are asked for: a model from a file does without scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "register_onnx_converters":
        from sparsebayes import onnx_converters

        return onnx_converters.register_onnx_converters
    if name == "make_report":
        from sparsebayes import report

        return report.make_report
    from sparsebayes import estimators

    return getattr(estimators, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
