"""The page of reliability is what its results make, and the suite has every row."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import conformance
from tests.conformance.ledger import LEDGER
from tests.conformance.rows import ROWS
from tests.conformance.subjects import ESTIMATOR_OF

SUITE = Path(__file__).parent / "conformance"


def test_the_page_is_what_the_results_make():
    assert conformance.PAGE.read_text() == conformance.page(), "run python -m benchmarks.conformance --page"


def test_every_row_has_a_test_and_every_test_a_row():
    text = "".join(path.read_text() for path in SUITE.glob("test_*.py"))
    assert {int(number) for number in re.findall(r"def test_row_(\d\d)_", text)} == ROWS.keys()
    assert list(ROWS) == list(range(1, 67))


def test_the_ledger_is_short_and_names_rows_and_subjects():
    assert len(LEDGER) <= 6
    for (row, subject), reason in LEDGER.items():
        assert row in ROWS
        assert subject in ESTIMATOR_OF
        assert len(reason) > 20


def test_what_results_say_of_the_ledger_is_what_it_says():
    """A row that is in the ledger is not counted as held, and no other is kept from it."""
    results = conformance.result("conformance")
    listed = {(row, ESTIMATOR_OF[subject]) for row, subject in LEDGER}
    found = {
        (int(row), party)
        for party in conformance.OURS
        for row, each in results["rows"][party].items()
        if each["came"] != "held"
    }
    assert found == listed


def test_the_readme_says_what_the_results_say():
    rows = conformance.result("conformance")["rows"]
    held, asked = conformance.counts(rows)["LogisticRegression"]
    readme = (SUITE.parents[1] / "README.md").read_text()
    assert f"| {conformance.all_ours(rows)} of {len(ROWS)}, and {held} of {asked};" in readme
