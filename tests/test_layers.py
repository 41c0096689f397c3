"""The order of the layers, and what importing the package loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import sparsebayes

ROOT = Path(sparsebayes.__file__).parent

# Top to bottom; a module imports only from lines above its own, or from its own.
LAYERS = [
    "_typing",
    "_checks",
    "io",
    "kernels",
    "link",
    "design",
    "objective curvature",
    "map_solvers",
    "ard",
    "checkpoint",
    "evidence posterior",
    "recipes",
    "basis",
    "multiclass",
    "frozen",
    "model_file",
    "export",
    "estimators",
    "display onnx_converters",
    "report",
    "cli",
    "__main__",
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}


def imports(path):
    """Names of the package's own layers that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("sparsebayes") for alias in node.names)
        assert not (isinstance(node, ast.ImportFrom) and node.level), "imports are absolute here"
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sparsebayes"):
            parts = node.module.split(".")
            names = [alias.name for alias in node.names if alias.name != "__version__"]
            yield from [parts[1]] if len(parts) > 1 else names


def test_imports_point_upward():
    files = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    assert len(files) > 20
    for path in files:
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for imported in imports(path):
            if layer == "cli" and imported in sparsebayes.__all__:
                continue  # the command line lives on public names
            if imported != layer:
                assert RANK[imported] < RANK[layer], f"{path.relative_to(ROOT)} imports {imported}"


def test_every_layer_is_in_the_list():
    found = {path.stem for path in ROOT.glob("*.py")} | {
        p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()
    }
    assert found - {"__init__"} == set(RANK)


def test_import_loads_nothing_but_numpy_scipy_and_scikit_learn():
    """Compared in fresh processes with what those three load themselves."""

    def loaded(statement):
        code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
        output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return set(output.stdout.split())

    theirs = "import numpy, scipy.sparse, scipy.linalg, scipy.special, sklearn.utils.multiclass, sklearn.base"
    extra = loaded("import sparsebayes") - loaded(theirs)
    assert {name for name in extra if name not in sys.stdlib_module_names} <= {"sparsebayes"}
