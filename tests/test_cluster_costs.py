"""The cost model of a cluster: by hand, and the page that shows it."""

from __future__ import annotations

import json

import pytest

from benchmarks.cluster import PAGE, Costs, with_tables
from benchmarks.common import RESULTS


def test_a_step_by_hand():
    costs = Costs(entry=1e-9, task=1e-3, round=0.01, bandwidth=1e9)
    # 2e9 entries at 1e-9 by 4 cores, 5 tasks of 10 blocks, two rounds, 16 bytes of 1e6 weights three times
    assert costs.step(1e9, 1e6, 10, 4, 4) == pytest.approx(0.5 + 0.05 + 0.02 + 0.048)


def test_the_page_shows_the_committed_result():
    details = json.loads((RESULTS / "cluster.json").read_text())
    assert PAGE.read_text() == with_tables(PAGE.read_text(), details)
