"""Where the data sets are, and how long hypothesis may search."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A shell starts what runs in the background with Ctrl-C ignored, and so would be the processes of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples at every run: a change is judged by what it changed. The long profile looks for others.
settings.register_profile(
    "ci", max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", parent=settings.get_profile("ci"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_set():
    """For tests that need the data sets of the paper; ``sparsebayes.io.datasets`` reads them."""
    if "SPARSEBAYES_DATA" not in os.environ:
        pytest.skip("SPARSEBAYES_DATA is not set: the data sets of the paper are not at hand")
