"""A frozen model as something that runs elsewhere."""

from sparsebayes.export.c import CExport, export_c
from sparsebayes.export.onnx import export_onnx
from sparsebayes.export.quantised import Agreement

__all__ = ["Agreement", "CExport", "export_c", "export_onnx"]
