"""The paper's largest text set at full size: accuracy and memory of DQN-SBL, and Ctrl-C."""

from __future__ import annotations

import sys
import time
from functools import cache

import pytest

from benchmarks import common, soak_faults
from benchmarks.common import in_fresh_process, thresholds
from benchmarks.passes import memory_and_accuracy


def measured(seed):
    """In one process, because reading the set takes longer than all the rest."""
    common.read = cache(common.read)
    found = memory_and_accuracy()
    return found, soak_faults.interruptions(*common.read("news20.binary"), seed, 3, within=3.0)


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory through Linux's /proc")
@pytest.mark.usefixtures("data_set")  # skips where there is no data
def test_dqn_and_ctrl_c_on_news20():
    seed = time.time_ns()
    print(f"seed of the moments {seed}")
    (multiple_of_csr, accuracies), interrupted = in_fresh_process(measured, seed)
    limits = thresholds("passes")
    assert len(accuracies) == 2
    assert min(accuracies) >= limits["accuracy"]
    assert multiple_of_csr <= limits["memory_multiple"]
    # The second that is promised is held by the soak, by the clock, 50 times (0.23 s at most). Here another
    # process of the suite shares the caches: a slow machine took 1.08 s of processor time for it once.
    assert interrupted["fits interrupted"] > 0
    assert interrupted["processor seconds until back"] < 2.0
    assert interrupted["seconds until back"] < 5.0
