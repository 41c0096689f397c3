"""Where the data sets are, and how long hypothesis may search."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_svmlight_file

settings.register_profile("ci", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", parent=settings.get_profile("ci"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_set():
    """Reads ``NAME.svm.bz2`` from the folder that SPARSEBAYES_DATA names."""
    folder = os.environ.get("SPARSEBAYES_DATA")
    if folder is None:
        pytest.skip("SPARSEBAYES_DATA is not set: the data sets of the paper are not at hand")
    return lambda name: load_svmlight_file(Path(folder) / f"{name}.svm.bz2")
