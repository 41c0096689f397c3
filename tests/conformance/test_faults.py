"""Each fault at three random moments, by real processes and signals; ``make soak`` has fifty.

Ctrl-C in a fit of news20.binary is in ``test_news20.py``, kills within a fit in
``test_checkpoint_processes.py``, every flipped bit and hostile model files in ``test_model_file.py``, every
step of a store's writer in ``test_store.py``.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from benchmarks import soak_faults

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and permissions as POSIX has them")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fault", [name for name in soak_faults.FAULTS if name != "Ctrl-C"])
def test_leaves_what_was_there(fault):
    seed = time.time_ns()
    print(f"seed {seed}")  # seen where the test fails
    if fault == "disk full" and soak_faults.small_disk() is None:
        pytest.skip(
            "no small disk may be mounted here; writes that fail are injected where the writers are tested"
        )
    # Nine where each kind of file takes its turn.
    times = 9 if fault in ("disk full", "no permission") else 3
    assert soak_faults.FAULTS[fault](random.Random(seed), times)["times"] >= times
