"""What checkpoints cost: fits of news20.binary with and without them, taking turns.

Run ``python -m benchmarks.checkpoints [--quick]`` with ``SPARSEBAYES_DATA`` set. The limit is on the share of
a fit's seconds that is spent in the checkpoint's own code: fits alone differ by more on a busy machine, in
the processor's time too, which is reported beside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import Figure, judge, load, save, say, thresholds
from sparsebayes import SBLClassifier, checkpoint
from sparsebayes.estimators import _kept

DATA = "news20.binary"
SOLVERS = ("auto", "dqn")
QUICK_ITERATIONS = 3


class Clock:
    """Seconds spent in some functions, which it takes the place of."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0

    def around(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return original(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - start
                self.calls += 1

        setattr(owner, name, timed)


def main() -> int:
    arguments = _arguments()
    quick, repeats = arguments.quick, 1 if arguments.quick else arguments.repeats
    limit = thresholds("checkpoints")["overhead"]
    say(f"loading {DATA}")
    X, _, y, _ = load(DATA)
    clock = Clock()
    clock.around(checkpoint.FolderKeeper, "save")
    clock.around(_kept, "open_checkpoint")
    clock.around(_kept, "data_digest")
    figures, details = [], {}
    for solver in SOLVERS:
        measured = measure(X, y, solver, clock, repeats, QUICK_ITERATIONS if quick else 100)
        details[solver] = measured
        figures += [
            Figure(f"{solver}: share of the fit spent on checkpoints", measured["share"], limit),
            Figure(f"{solver}: seconds with over seconds without, least", measured["ratio_of_seconds"]),
            Figure(f"{solver}: the same of the processor's time", measured["ratio_of_cpu_seconds"]),
        ]
    if not quick:
        say(f"written: {save('checkpoints', figures, {'data': DATA, 'fits': details}).name}")
    return judge(figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoints", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short fit each; nothing is saved")
    parser.add_argument("--repeats", type=int, default=3, help="fits with and without, of each solver")
    return parser.parse_args()


def measure(X: Any, y: Any, solver: str, clock: Clock, repeats: int, max_iter: int) -> dict[str, Any]:
    plain, kept, inside, sizes = [], [], [], []
    for _ in range(repeats):
        without, *seconds = fitted(X, y, solver, max_iter, None)
        plain.append(seconds)
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # /tmp may be in memory
            clock.seconds, clock.calls = 0.0, 0
            having, *seconds = fitted(X, y, solver, max_iter, folder)
            kept.append(seconds)
            inside.append(clock.seconds)
            sizes.append(sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()))
        assert np.array_equal(without.sparse_coef_.data, having.sparse_coef_.data)
        say(f"{solver}: {plain[-1]} s without, {kept[-1]} s with, {inside[-1]:.3f} s in checkpoints")
    walls, processors = (([each[k] for each in plain], [each[k] for each in kept]) for k in (0, 1))
    return {
        "seconds_without": walls[0],
        "seconds_with": walls[1],
        "cpu_seconds_without": processors[0],
        "cpu_seconds_with": processors[1],
        "seconds_in_checkpoints": inside,
        "share": median(part / whole for part, whole in zip(inside, walls[1], strict=True)),
        "ratio_of_seconds": min(walls[1]) / min(walls[0]),
        "ratio_of_cpu_seconds": min(processors[1]) / min(processors[0]),
        "outer_iterations": int(having.n_iter_[0]),
        "bytes_in_the_folder_after_the_fit": max(sizes),
    }


def fitted(
    X: Any, y: Any, solver: str, max_iter: int, folder: str | None
) -> tuple[SBLClassifier, float, float]:
    """The classifier, its seconds, and those of the processor."""
    start, cpu_start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        # A fit cut short says so, and is meant to be.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier = SBLClassifier(solver=solver, max_iter=max_iter, checkpoint=folder).fit(X, y)
    return classifier, time.perf_counter() - start, time.process_time() - cpu_start


if __name__ == "__main__":
    sys.exit(main())
