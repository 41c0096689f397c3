"""Each row over its subjects and storages; a rival that hangs is ended."""

from __future__ import annotations

import faulthandler
import re
import resource

import pytest

from tests.conformance.ledger import LEDGER
from tests.conformance.storages import STORAGES
from tests.conformance.subjects import FIXTURES, RIVAL, chosen

SECONDS = 60.0
if RIVAL is not None:  # a kernel matrix of all rows would take the machine with it
    resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))


def pytest_generate_tests(metafunc):
    for fixture in FIXTURES:
        if fixture in metafunc.fixturenames:
            subjects = chosen(fixture)
            metafunc.parametrize(fixture, subjects, ids=[subject.name for subject in subjects])
    if "stored" in metafunc.fixturenames:
        metafunc.parametrize("stored", STORAGES.values(), ids=STORAGES)


def pytest_collection_modifyitems(items):
    for item in items:
        found = re.match(r"test_row_(\d+)_", item.name)
        if found and hasattr(item, "callspec") and RIVAL is None:
            names = [item.callspec.params[name].name for name in FIXTURES if name in item.callspec.params]
            for name in names:
                reason = LEDGER.get((int(found[1]), name))
                if reason:
                    item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


@pytest.fixture(autouse=True)
def no_hang():
    """A rival that does not come back ends its process, which the runner notices."""
    if RIVAL is not None:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def only_what_rivals_can_do(request):
    if RIVAL is not None and not set(FIXTURES) & set(request.fixturenames):
        pytest.skip("speaks of files or parts of sparsebayes")
