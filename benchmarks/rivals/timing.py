"""Time of the whole path on news20.binary against liblinear's l1 fits, all in one run.

Rounds in which all take turns, each in a fork of its own; the least of each counts. The reference is the
mean of two liblinear-l1 fits, at the two middle values of the grid of C. With five folds: our path chosen
by ``select="cv"`` against five folds of liblinear-l1 at six C and a refit, the work of LogisticRegressionCV;
this pair runs once.

Run ``python -m benchmarks.rivals.timing [--rounds n] [--skip-folds]`` with ``SPARSEBAYES_DATA`` set; nothing
is taken from an earlier run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.common import Figure, judge, load, save, say, thresholds
from benchmarks.rivals import adapters
from benchmarks.rivals.records import Cells, Record, rounded, run
from sparsebayes import SBLClassifier

CELLS = Cells("timing")
DATA = "news20.binary"
MIDDLE_C = adapters.L1_C[2:4]
LIMIT = 3600.0


def full_matrix_equivalents(model: Any, X: Any) -> float:
    """Products with X along the path, each counted by the share of X's entries that were left."""
    per_column = np.bincount(X.indices, minlength=X.shape[1])
    supports = [coef.indices for coef in model.path_["coef"]]
    # The model that is settled on has a record after those of the path.
    supports += [model.sparse_coef_.indices] * (len(model.history_[0]) - len(supports))
    return sum(
        sum(record["passes"].values()) * per_column[support].sum() / X.nnz
        for record, support in zip(model.history_[0], supports, strict=True)
    )


def whole_path(X: Any, y: np.ndarray, X_test: Any) -> Iterator[Record]:
    start = time.perf_counter()
    model = SBLClassifier(solver="elimination", select="evidence").fit(X, y)
    seconds = rounded(time.perf_counter() - start)
    yield {"n": int(model.n_relevant_[0]), "s": seconds, "passes": rounded(full_matrix_equivalents(model, X))}


def middle_l1(X: Any, y: np.ndarray, X_test: Any) -> Iterator[Record]:
    for point in adapters.along_c(adapters.liblinear_l1, MIDDLE_C)(X, y, X_test):
        yield {"n": point.n_features, "s": rounded(point.seconds), **point.notes}


def with_folds(model: str) -> Callable[..., Iterator[Record]]:
    def chosen(X: Any, y: np.ndarray, X_test: Any) -> Iterator[Record]:
        for point in adapters.MODELS[model].adapter(X, y, X_test):
            yield {"n": point.n_features, "s": rounded(point.seconds), **point.notes}

    return chosen


ACTIONS: dict[str, Callable[..., Iterator[Record]]] = {"sbl": whole_path, "lr-l1": middle_l1}
ONCE = {"sbl-cv": with_folds("sbl-cv"), "lr-l1-cv": with_folds("lr-l1-cv")}


def least(records: list[Record]) -> float:
    """Seconds of the quickest round that was finished; its points together."""
    return min(
        (sum(point["s"] for point in record["points"]) for record in records if record["status"] == "ok"),
        default=np.nan,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.timing", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-folds", action="store_true", help="without the pair that takes longest")
    options = parser.parse_args()
    X_train, X_test, labels, _ = load(DATA)
    y = (labels == labels.max()).astype(int)
    records: dict[str, list[Record]] = {}
    for number in range(options.rounds):
        actions = ACTIONS | (ONCE if number == 0 and not options.skip_folds else {})
        for name, action in actions.items():
            record = run(
                CELLS,
                DATA,
                name,
                number,
                lambda action=action: action(X_train, y, X_test),
                limit=LIMIT,
                again=True,
                options="",
            )
            records.setdefault(name, []).append(record)
    limits = thresholds("rivals")
    seconds = {name: least(each) for name, each in records.items()}
    l1_fit = seconds["lr-l1"] / len(MIDDLE_C)
    figures = [
        Figure("whole path over a liblinear-l1 fit", seconds["sbl"] / l1_fit, limits["path_time"]),
    ]
    done = [record["points"][0] for record in records["sbl"] if record["status"] == "ok"]
    if done:
        figures.append(Figure("matrix passes of the path", done[0]["passes"], limits["passes"]))
    if "sbl-cv" in seconds:
        ratio = seconds["sbl-cv"] / seconds["lr-l1-cv"]
        figures.append(Figure("five folds over those of liblinear-l1", ratio, limits["cv_time"]))
    details = {
        "C": MIDDLE_C,
        "least_seconds": seconds,
        "rss_mb": {name: max(each.get("rss_mb", 0) for each in group) for name, group in records.items()},
    }
    say(f"written: {save('rivals/timing', figures, details).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
