"""The paper's largest text set at full size: accuracy and memory of DQN-SBL."""

from __future__ import annotations

import sys

import pytest

from benchmarks.common import in_fresh_process, thresholds
from benchmarks.passes import memory_and_accuracy


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory through Linux's /proc")
@pytest.mark.usefixtures("data_set")  # skips where there is no data
def test_dqn_on_news20():
    multiple_of_csr, accuracies = in_fresh_process(memory_and_accuracy)
    limits = thresholds("passes")
    assert len(accuracies) == 2
    assert min(accuracies) >= limits["accuracy"]
    assert multiple_of_csr <= limits["memory_multiple"]
