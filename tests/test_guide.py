"""The guide, the method and the pages on extending: figures, texts and names are those of the code."""

from __future__ import annotations

import ast
import importlib
import math
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from sparsebayes.estimators import rvm
from sparsebayes.evidence import FitStatus
from sparsebayes.kernels import NAMES as NAMES_OF_KERNELS
from sparsebayes.map_solvers.base import MAX_HELD
from sparsebayes.recipes import AUTO_FOR_KERNELS, EXACT_BELOW, RECIPES
from tests.test_walks import ROOT

DOCS = ROOT / "docs"
GUIDE = DOCS / "guide"
NAMES = ("idea", "choosing", "path", "sizes")


def close(shown, made):
    """Equal but for what other versions of numpy and scipy make of a fit, whatever the nesting."""
    if isinstance(made, dict):
        return shown.keys() == made.keys() and all(close(shown[key], made[key]) for key in made)
    if isinstance(made, list):
        return len(shown) == len(made) and all(map(close, shown, made))
    return shown == made if isinstance(made, str) else bool(np.isclose(shown, made, rtol=0.02, atol=0.01))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_shows_what_its_script_makes(name):
    pytest.importorskip("matplotlib")
    module = importlib.import_module(f"docs.figures.{name}")
    drawing = importlib.import_module("docs.figures.drawing")
    shown = drawing.numbers_in(DOCS / "figures" / f"{name}.svg")
    assert close(shown, module.numbers()), f"run python -m docs.figures {name}"


def test_every_figure_has_a_script_and_a_page():
    assert {path.stem for path in (DOCS / "figures").glob("*.svg")} == set(NAMES)
    pages = "".join(path.read_text() for path in [ROOT / "README.md", *DOCS.rglob("*.md")])
    for name in NAMES:
        assert f"figures/{name}.svg" in pages


def test_every_chapter_is_in_the_list():
    listed = re.findall(r"^(\w+)$", (GUIDE / "index.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in GUIDE.glob("*.md") if path.stem != "index")


def test_every_python_block_is_an_example_that_runs():
    for page in [*GUIDE.glob("*.md"), *(DOCS / "extending").glob("*.md"), DOCS / "method.md"]:
        text = page.read_text()
        for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
            assert block.startswith(">>> "), page.name
        assert "+SKIP" not in text


def test_every_status_is_explained():
    page = (GUIDE / "reading.md").read_text()
    for status in FitStatus:
        assert f"\n| `{status.value}` |" in page
    for recipe in (*RECIPES.values(), AUTO_FOR_KERNELS):
        assert f"`{recipe.label}`" in page
    assert "taken from the path of a fit that ended so:" in page


def test_limits_are_those_of_the_code():
    page = (GUIDE / "choosing.md").read_text()

    def spaced(number):
        return f"{number:,}".replace(",", " ")

    for limit in (
        f"| features, `SBLClassifier` | {EXACT_BELOW} |",
        f'| features, `solver="newton"` | {spaced(math.isqrt(MAX_HELD))} columns; ',
        f"| rows, `RVMClassifier` | {rvm.RVMClassifier().max_basis} (`max_basis`) |",
        f"beyond, {rvm.DEFAULT_CANDIDATES} of each binary problem",
        f"| rows, `RVMClassifier` | {spaced(rvm.CHOICE_ON_A_PART_BEYOND)} |",
        f"vectors are chosen on {spaced(rvm.ROWS_OF_THE_PART)} rows",
    ):
        assert limit in page


def test_the_number_of_kernels():
    number = {7: "seven", 8: "eight", 9: "nine", 10: "ten"}[len(NAMES_OF_KERNELS)]
    assert f"{number} kernels" in (ROOT / "README.md").read_text()
    assert f"`kernel=` takes {number} names" in (GUIDE / "kernels.md").read_text()


def resolved(name):
    """The object of a dotted name: as much of it as can be imported, the rest by getattr."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize(
    "page", ["method.md", "notation.md", "extending/solver.md", "extending/kernel.md", "extending/storage.md"]
)
def test_every_name_of_the_package_resolves(page):
    names = set(re.findall(r"`(sparsebayes(?:\.\w+)+)(?:\(\))?`", (DOCS / page).read_text()))
    assert len(names) >= 3
    for name in names:
        resolved(name)


def test_every_path_in_the_pages_on_extending_exists():
    for page in (DOCS / "extending").glob("*.md"):
        for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.]+\.\w+)`", page.read_text()):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
@pytest.mark.parametrize("page", ["solver", "kernel", "storage"])
def test_diffs_in_the_pages_on_extending_apply(page, tmp_path):
    text = (DOCS / "extending" / f"{page}.md").read_text()
    diffs = re.findall(r"^```diff\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(diffs) == 2
    changed = [
        tmp_path / name for diff in diffs for name in re.findall(r"^\+\+\+ b/(.+)$", diff, re.MULTILINE)
    ]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path.relative_to(tmp_path), path)
    for diff in diffs:
        # Not as part of a repository that the folder may be in.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
        command = ["git", "apply", "-"]
        subprocess.run(command, input=diff, cwd=tmp_path, env=environment, text=True, check=True)
    for path in changed:
        assert path.read_text() != (ROOT / path.relative_to(tmp_path)).read_text()
        ast.parse(path.read_text())
