"""Thousands of fits, saves, loads and predictions in one process: do memory and open files stay level?

Run ``python -m benchmarks.soak_process [--times 2000]``.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

from benchmarks.common import Figure, judge, save, say
from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, load_model, save_model
from sparsebayes.io import BlockStore

CLASSIFIERS: list[Callable[[], Any]] = [
    SBLClassifier,
    lambda: SBLClassifier("dqn", max_iter=5),
    lambda: SBLClassifier("newton", max_iter=10),
    lambda: SBLClassifier("sequential", proba="moderated"),
    lambda: RVMClassifier(gamma="median", random_state=0),
    lambda: SBELMClassifier(30, random_state=0),
]


def resident() -> int:
    """Bytes in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def one_round(number: int, folder: Path) -> None:
    """A fit in some storage, with a checkpoint now and then; saved, loaded, asked."""
    X, y = make_classification(80, 8, n_informative=4, n_classes=2 + number % 2, random_state=number % 50)
    clf = CLASSIFIERS[number % len(CLASSIFIERS)]()
    if number % 7 == 0:
        clf.set_params(checkpoint=folder / "checkpoint")
    rows = sp.csr_array(X) if number % 3 == 0 else X
    if number % 11 == 0:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            clf.fit(BlockStore.write(Path(place) / "store", rows, y, None, 30))
    else:
        clf.fit(rows, y)
    save_model(clf, folder / "model.sbm")
    again = load_model(folder / "model.sbm")
    if not np.array_equal(again.predict_proba(rows), clf.predict_proba(rows)):
        raise RuntimeError(f"round {number}: another model came back")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak_process", description=__doc__)
    parser.add_argument("--times", type=int, default=2000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    marks: list[tuple[int, int, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.times):
            one_round(number, Path(folder))
            if (number + 1) % max(arguments.times // 20, 1) == 0:
                gc.collect()
                marks.append((number + 1, resident(), open_files()))
                say(f"{number + 1}: {resident() / 1e6:.1f} MB, {open_files()} files open")
    # From a quarter on: before that, allocators and caches are still filling.
    settled = marks[len(marks) // 4 :]
    figures = [
        Figure("fits, saves, loads and predictions", arguments.times, 2000, "at least"),
        Figure(
            "growth of memory in the last three quarters, MB", (settled[-1][1] - settled[0][1]) / 1e6, 5.0
        ),
        Figure("more files open at the end", settled[-1][2] - settled[0][2], 0),
    ]
    save("soak_process", figures, {"marks": [{"rounds": n, "bytes": b, "files": f} for n, b, f in marks]})
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
