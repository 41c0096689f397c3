"""The reference has every public name, and every public name an example."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PUBLIC = [
    "sparsebayes",
    "sparsebayes.display",
    "sparsebayes.export",
    "sparsebayes.io",
    "sparsebayes.io.datasets",
]
NAMES = [
    (module, name) for module in PUBLIC for name in import_module(module).__all__ if name != "__version__"
]
REFERENCE = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")


SECTIONS = re.findall(r"^```\{eval-rst\}\n(.*?)^```$", REFERENCE, re.MULTILINE | re.DOTALL)


def documented():
    """The objects that the reference describes: an object of two names is there under one of them."""
    for path in re.findall(r"^\.\. auto(?:class|function|exception):: (\S+)$", REFERENCE, re.MULTILINE):
        module, _, name = path.rpartition(".")
        yield getattr(import_module(module), name)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_is_in_the_reference_with_an_example(module, name):
    value = getattr(import_module(module), name)
    assert any(value is one for one in documented()), f"docs/api.md has no {module}.{name}"
    assert ">>>" in (value.__doc__ or ""), f"{module}.{name} has no example"


def test_the_reference_has_public_names_alone():
    public = [getattr(import_module(module), name) for module, name in NAMES]
    assert all(any(value is one for one in public) for value in documented())


@pytest.mark.parametrize("section", SECTIONS)
def test_the_list_above_a_section_has_what_is_in_it(section):
    described = re.findall(r"^\.\. auto(?:class|function|exception):: (\S+)$", section, re.MULTILINE)
    listed = re.findall(r"^   ~(sparsebayes\.\S+)$", section, re.MULTILINE)
    assert listed == (described if len(described) > 1 else [])


def test_the_version_is_in_the_reference():
    assert "`sparsebayes.__version__`" in REFERENCE
