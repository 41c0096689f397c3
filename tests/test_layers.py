"""The order of the layers, and what importing the package loads."""

from __future__ import annotations

import subprocess
import sys

import sparsebayes
from docs.layers import PACKAGE, PICTURE, RANK, graph, imports, layer_of, picture, reduced


def test_imports_point_upward():
    files = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]
    assert len(files) > 20
    for path in files:
        layer = layer_of(path)
        for imported in imports(path):
            if layer == "cli" and imported in sparsebayes.__all__:
                continue  # the command line lives on public names
            if imported != layer:
                assert RANK[imported] < RANK[layer], f"{path.relative_to(PACKAGE)} imports {imported}"


def test_every_layer_is_in_the_list():
    found = {path.stem for path in PACKAGE.glob("*.py")} | {
        p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()
    }
    assert found - {"__init__"} == set(RANK)


def test_the_picture_is_what_the_code_is():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python docs/layers.py draws it anew"


def test_an_import_that_follows_from_others_has_no_arrow():
    assert reduced({"_typing": set(), "_checks": {"_typing"}, "io": {"_checks", "_typing"}}) == {
        "_typing": set(),
        "_checks": {"_typing"},
        "io": {"_checks"},
    }
    assert "io" in graph()["cli"]  # by its own name
    assert {"estimators", "model_file"} <= graph()["cli"]  # by public names


def test_import_loads_nothing_but_numpy_scipy_and_scikit_learn():
    """Compared in fresh processes with what those three load themselves."""

    def loaded(statement):
        code = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
        output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return set(output.stdout.split())

    theirs = "import numpy, scipy.sparse, scipy.linalg, scipy.special, sklearn.utils.multiclass, sklearn.base"
    extra = loaded("import sparsebayes") - loaded(theirs)
    assert {name for name in extra if name not in sys.stdlib_module_names} <= {"sparsebayes"}
