"""Where the packages for ONNX are missing: examples that need them are skipped, and a module not imported."""

from __future__ import annotations

import doctest
from importlib.util import find_spec

import pytest

missing = [name for name in ("onnx", "onnxruntime", "skl2onnx") if find_spec(name) is None]
collect_ignore = ["src/sparsebayes/export/onnx_graph.py"] if "onnx" in missing else []


def pytest_collection_modifyitems(items):
    """From the first example of a text that mentions ONNX to its end, for later ones build on it."""
    for item in items if missing else []:
        if isinstance(item, pytest.DoctestItem):
            needed = False
            for example in item.dtest.examples:
                needed = needed or "onnx" in example.source
                example.options[doctest.SKIP] = needed or example.options.get(doctest.SKIP, False)
