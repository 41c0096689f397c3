"""Fits that are killed by SIGKILL at random moments until they are done: is the model the same, what is lost?

Run ``python -m benchmarks.soak_checkpoints``. Every fit goes on from its checkpoint until it ends,
then begins anew, until there have been so many kills.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

from benchmarks.common import Figure, judge, save, say
from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, SBLClassifierCV, save_model

MODULE = "benchmarks.soak_checkpoints"
ITERATION = re.compile(rb"iteration (\d+):")


def wide() -> tuple[Any, Any]:
    X = sp.random(500, 8000, 0.01, "csr", random_state=0)
    return X, (X @ np.random.default_rng(1).normal(size=8000) > 0).astype(int)


def dense(n_classes: int) -> tuple[Any, Any]:
    return make_classification(300, 30, n_informative=10, n_classes=n_classes, random_state=0)


FITS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "dqn": lambda: (SBLClassifier("dqn", max_iter=20), wide()),
    "path": lambda: (SBLClassifier(), wide()),
    "path by folds": lambda: (SBLClassifier(select="cv"), wide()),
    "kernels": lambda: (RVMClassifier(), dense(2)),
    "kernels, four classes": lambda: (RVMClassifier(gamma="median"), dense(4)),
    "hidden nodes": lambda: (SBELMClassifier(300, random_state=0, solver="newton"), dense(2)),
    "search": lambda: (SBLClassifierCV("newton", cv=3, max_iter=20), dense(2)),
}
# Where one loop's iterations are all that is printed, so that those made can be compared with those kept.
COUNTED = ("dqn", "path", "hidden nodes")


def main() -> int:
    arguments = _arguments()
    if arguments.fit:
        fit(*arguments.fit)
        return 0
    rng = random.Random(arguments.seed)
    details = {}
    for number, name in enumerate(FITS):
        share = arguments.kills // len(FITS) + (number < arguments.kills % len(FITS))
        details[name] = soak(name, share, rng)
        say(f"{name}: {details[name]}")
    lost = [each["most_iterations_lost"] for each in details.values() if "most_iterations_lost" in each]
    figures = [
        Figure(
            "processes killed", sum(each["kills"] for each in details.values()), arguments.kills, "at least"
        ),
        Figure(
            "models completed after kills", sum(each["models"] for each in details.values()), 1, "at least"
        ),
        Figure("of them, not the same bytes", sum(each["different"] for each in details.values()), 0),
        Figure("resumed fits that failed", sum(each["failed"] for each in details.values()), 0),
        Figure("most outer iterations lost by a kill", max(lost), 1),
    ]
    say(f"written: {save('soak_checkpoints', figures, {'seed': arguments.seed, 'fits': details}).name}")
    return judge(figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS, metavar=("NAME", "FOLDER", "TARGET"))
    return parser.parse_args()


def fit(name: str, folder: str, target: str) -> None:
    """What a process that is killed does."""
    warnings.simplefilter("ignore")
    classifier, (X, y) = FITS[name]()
    classifier.set_params(verbose=1)
    if folder != "-":
        classifier.set_params(checkpoint=folder, resume=True)
    print("ready", flush=True)
    save_model(classifier.fit(X, y), target)


def soak(name: str, n_kills: int, rng: random.Random) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        whole, target, folder = (Path(place) / each for each in ("whole", "model", "checkpoint"))
        seconds = _run(name, "-", whole, None)[1]
        found = {"kills": 0, "models": 0, "different": 0, "failed": 0, "seconds_uninterrupted": seconds}
        lost = []
        while found["kills"] < n_kills or not found["models"]:
            last = found["kills"] >= n_kills  # so that every fit ends with a model
            delay = None if last else rng.uniform(0.0, 0.5 * seconds)
            code, _, printed = _run(name, str(folder), target, delay)
            if code == -signal.SIGKILL:
                found["kills"] += 1
                lost.append(max(map(int, ITERATION.findall(printed)), default=0) - _kept(folder))
            elif code == 0:
                found["models"] += 1
                found["different"] += target.read_bytes() != whole.read_bytes()
                for path in sorted(folder.rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
            else:
                found["failed"] += 1
                say(printed.decode())
                break
    return found | ({"most_iterations_lost": max(lost)} if name in COUNTED else {})


def _kept(folder: Path) -> int:
    """Iterations of the first problem that the checkpoint has."""
    return max((int(path.stem) for path in folder.glob("run-*/problem-0/*.step")), default=0)


def _run(name: str, folder: str, target: Path, delay: float | None) -> tuple[int, float, bytes]:
    """Exit code, seconds since it was ready, and what it printed; killed after so many seconds."""
    command = [sys.executable, "-m", MODULE, "--fit", name, folder, str(target)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while process.poll() is None and not os.pread(output.fileno(), 1, 0):
            time.sleep(0.005)
        begin = time.perf_counter()
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        seconds = time.perf_counter() - begin
        output.seek(0)
        return process.returncode, seconds, output.read()


if __name__ == "__main__":
    sys.exit(main())
