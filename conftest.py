"""Where an optional package is missing: examples that need it are skipped, and its module not imported."""

from __future__ import annotations

import doctest
from importlib.util import find_spec

import pytest

# Optional packages, and the word that tells examples which need them.
WORDS = {
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "skl2onnx": "onnx",
    "pyarrow": "pyarrow",
    "distributed": "distributed",
}
missing = [name for name in WORDS if find_spec(name) is None]
words = {WORDS[name] for name in missing}
modules = {"onnx": "src/sparsebayes/export/onnx_graph.py", "pyarrow": "src/sparsebayes/io/arrow.py"}
collect_ignore = [path for name, path in modules.items() if name in missing]


def pytest_collection_modifyitems(items):
    """From the first example of a text that mentions it to its end, for later ones build on it."""
    for item in items if missing else []:
        if isinstance(item, pytest.DoctestItem):
            needed = False
            for example in item.dtest.examples:
                needed = needed or any(word in example.source for word in words)
                example.options[doctest.SKIP] = needed or example.options.get(doctest.SKIP, False)
