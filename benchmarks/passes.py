"""Products with X: their speed, their share of a fit, their number; and a fit's memory.

Run ``python -m benchmarks.passes [--quick]`` with ``SPARSEBAYES_DATA`` set; the data is news20.binary.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import (
    Figure,
    csr_bytes,
    in_fresh_process,
    interleaved_minima,
    judge,
    load,
    peak_rss,
    save,
    say,
    thresholds,
)
from sparsebayes import SBLClassifier
from sparsebayes.design import as_design

DATA = "news20.binary"
REPEATS = 15
QUICK_ITERATIONS = 3
MEMORY_ITERATIONS = 2


def main() -> int:
    quick = _arguments().quick
    limits = thresholds("passes")
    say(f"loading {DATA}")
    X, _, y, _ = load(DATA)

    say("products with X, against scipy's")
    seconds = product_seconds(X)
    say("a dqn fit" + (f" of {QUICK_ITERATIONS} outer iterations" if quick else ", whole (about a minute)"))
    history = fitted(X, y, QUICK_ITERATIONS if quick else 100).history_[0]
    by_phase = seconds_by_phase(history)
    wrong = wrong_counts(history, SBLClassifier().map_max_iter)
    say("memory and accuracy of a short fit, in a fresh process")
    multiple, accuracies = in_fresh_process(memory_and_accuracy)

    def share(phase: str) -> float:
        return by_phase[phase] / sum(by_phase.values())

    figures = [
        Figure(
            "Xw + X'r, seconds over scipy CSR's",
            _ratio(seconds, "1 thread", "scipy"),
            None if quick else limits["product_ratio"],
        ),
        Figure("the same with 2 threads", _ratio(seconds, "2 threads", "scipy")),
        Figure(
            "Xw + X'r, seconds over reading X twice",
            _ratio(seconds, "1 thread", "reading twice"),
            limits["reading_ratio"],
        ),
        Figure(
            "share of fit time in products",
            share("passes"),
            None if quick else limits["passes_share"],
            "at least",
        ),
        Figure("outer iterations with a wrong number of products", len(wrong), 0),
        Figure("peak memory of a fit, training CSRs", multiple, limits["memory_multiple"]),
        *(
            Figure(f"test accuracy after outer iteration {k}", accuracy, limits["accuracy"], "at least")
            for k, accuracy in enumerate(accuracies, start=1)
        ),
    ]
    for line in wrong:
        say(line)
    if not quick:
        details = {
            "data": {"name": DATA, "shape": X.shape, "nonzeros": int(X.nnz), "csr_bytes": csr_bytes(X)},
            "product_seconds": seconds,
            "fit_seconds_by_phase": by_phase,
            "outer_iterations": len(history),
        }
        say(f"written: {save('passes', figures, details).name}")
    return judge(figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.passes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fit of 3 outer iterations; nothing is saved")
    return parser.parse_args()


def product_seconds(X: Any) -> dict[str, float]:
    """Least seconds of X w followed by X^T r, by who makes them, and of reading X's arrays as often."""
    random = np.random.default_rng(0)
    w, r = random.standard_normal(X.shape[1]), random.standard_normal(X.shape[0])
    one, two = as_design(X)[0], as_design(X, threads=2)[0]
    w_one, w_two = w[one.columns], w[two.columns]
    np.testing.assert_allclose(one.matvec(w_one), X @ w, rtol=1e-9, atol=1e-9)
    return interleaved_minima(
        {
            "scipy": lambda: (X @ w, X.T @ r),
            "1 thread": lambda: (one.matvec(w_one), one.rmatvec(r)),
            "2 threads": lambda: (two.matvec(w_two), two.rmatvec(r)),
            "reading twice": lambda: [array.max() for array in 2 * (X.data, X.indices)],
        },
        REPEATS,
    )


def _ratio(seconds: dict[str, float], name: str, other: str) -> float:
    return seconds[name] / seconds[other]


def fitted(X: Any, y: Any, max_iter: int, **parameters: Any) -> SBLClassifier:
    with warnings.catch_warnings():
        # A fit cut short says so, and is meant to be.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SBLClassifier(solver="dqn", max_iter=max_iter, **parameters).fit(X, y)


def seconds_by_phase(history: list[Any]) -> dict[str, float]:
    phases = history[0]["seconds"]
    return {phase: sum(record["seconds"][phase] for record in history) for phase in phases}


def wrong_counts(history: list[Any], map_max_iter: int) -> list[str]:
    """The iterations that touched X more or less often than Algorithm 1 has to.

    A step takes one X p and one X^T r. Besides, the first gradient takes an X^T r, weights to start
    from other than zero an X w, and a line search that finds no step ends the loop having used its X p.
    """
    complaints = []
    for record in history:
        steps = record["map_steps"]
        stalled = not record["map_converged"] and steps < map_max_iter
        expected = {
            "matvec": steps + (record["iteration"] > 1) + stalled,
            "rmatvec": steps + 1,
        }
        if record["passes"] != {verb: count for verb, count in expected.items() if count}:
            complaints.append(
                f"iteration {record['iteration']}: products {record['passes']}, expected {expected}"
            )
    return complaints


def memory_and_accuracy() -> tuple[float, list[float]]:
    """Peak of a short fit in units of the training CSR; test accuracy after each of its iterations."""
    X, X_test, y, y_test = load(DATA)
    # What is imported, allocated or started once in a process is not the fit's.
    fitted(X[:50], y[:50], 1)
    classifier, peak = peak_rss(lambda: fitted(X, y, MEMORY_ITERATIONS))
    accuracies = [fitted(X, y, k).score(X_test, y_test) for k in range(1, MEMORY_ITERATIONS)]
    return peak / csr_bytes(X), [*accuracies, classifier.score(X_test, y_test)]


if __name__ == "__main__":
    sys.exit(main())
