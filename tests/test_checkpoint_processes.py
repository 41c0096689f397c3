"""Real processes and real signals: SIGKILL at random moments, Ctrl-C."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")

# A fit of some seconds, told to go on from its folder, and how the model that it comes to is written down.
CHILD = """
import sys, time, warnings
import numpy as np
import scipy.sparse as sp
from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, SBLClassifierCV, save_model
from tests.problems import classification

warnings.simplefilter("ignore")
folder, target, make = sys.argv[1:]

def wide():
    X = sp.random(500, 8000, 0.01, "csr", random_state=0)
    return X, np.asarray(X @ np.random.default_rng(1).normal(size=8000) > 0).astype(int)

def dense(n, n_classes):
    return classification(n, 30, n_classes, seed=0)

clf, (X, y) = eval(make)
clf.set_params(checkpoint=None if folder == "-" else folder, resume=folder != "-")
print("ready", flush=True)
try:
    clf.fit(X, y)
except KeyboardInterrupt:
    fitted = [name for name in vars(clf) if name.endswith("_")]
    print("interrupted", time.time(), fitted, flush=True)
    sys.exit(3)
save_model(clf, target)
"""
FITS = {
    "dqn": "SBLClassifier('dqn', max_iter=15), wide()",
    "path": "SBLClassifier(select='cv'), wide()",
    "kernels": "RVMClassifier(), dense(250, 3)",
    "processes": "SBELMClassifier(100, random_state=0, solver='newton', n_jobs=2), dense(400, 3)",
}
ROOT = Path(__file__).parents[1]


def start(fit, folder, target):
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(target), FITS[fit]],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,  # its workers die with it
    )
    assert process.stdout.readline() == "ready\n"
    return process


def finish(fit, folder, target):
    """The seconds that it took, its imports apart."""
    with start(fit, folder, target) as process:
        begin = time.perf_counter()
        assert process.wait() == 0
        return time.perf_counter() - begin


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of a fit's model, uninterrupted, and its seconds."""

    @cache
    def made(fit):
        target = tmp_path_factory.mktemp("whole") / fit
        seconds = finish(fit, "-", target)
        return target.read_bytes(), seconds

    return made


@pytest.mark.parametrize("fit", ["dqn", "path", "kernels"])
def test_killed_at_random_moments(tmp_path, whole, fit):
    expected, seconds = whole(fit)
    rng = random.Random(time.time_ns())
    for _ in range(3):
        with start(fit, tmp_path / "c", tmp_path / "resumed") as process:
            delay = rng.uniform(0.0, 0.5 * seconds)
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGKILL)
        print(f"killed after {delay:.3f} s of {seconds:.3f}")  # seen where the test fails
    finish(fit, tmp_path / "c", tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == expected


@pytest.mark.parametrize("fit", ["dqn", "processes"])
def test_ctrl_c(tmp_path, whole, fit):
    """Back within a second, nothing half fitted, and a checkpoint to go on from."""
    expected, _ = whole(fit)
    with start(fit, tmp_path / "c", tmp_path / "resumed") as process:
        while not list((tmp_path / "c").rglob("*.step")):
            time.sleep(0.01)
        signalled = time.time()
        process.send_signal(signal.SIGINT)
        word, when, fitted = process.stdout.readline().split(maxsplit=2)
        assert (word, fitted) == ("interrupted", "[]\n")
        assert float(when) - signalled < 1.0
        assert process.wait() == 3
    finish(fit, tmp_path / "c", tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == expected
