"""What is measured of one fit."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from benchmarks.reproduction import datasets
from benchmarks.reproduction.cells import Cell, Record
from benchmarks.reproduction.models import MODELS, chosen, kept
from benchmarks.rivals.records import rounded
from sparsebayes import sbl_path


def measured(cell: Cell) -> Record:
    """The outcome of a cell: in a process that may be ended."""
    data = datasets.load(cell.data)
    train, test = datasets.rows(data.y, cell.split)
    model = MODELS[cell.model]
    parts = data.X[train], data.y[train], data.X[test], data.y[test]
    with warnings.catch_warnings():
        # Neither of the paper's methods meets its own stop within 100 iterations as a rule.
        warnings.simplefilter("ignore", ConvergenceWarning)
        outcome = WATCHES[model.watch](model.make(dict(cell.point)), *parts)
    return {"data": data.digest, "status": "ok", **outcome}


def _scores(classifier: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Record:
    start = time.process_time()  # of this process alone: the machine may be busy with others
    classifier.fit(X, y)
    seconds = time.process_time() - start
    return {
        "acc": round(100 * float(classifier.score(X_test, y_test)), 3),
        "kept": rounded(kept(classifier)),
        "s": rounded(seconds),
        **chosen(classifier),
        **_log_loss(classifier, X_test, y_test),
        **_counts(classifier),
    }


def _path(classifier: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Record:
    """After each outer iteration: features left, accuracy, log loss."""
    start = time.process_time()
    path = sbl_path(X, y, X_test, y_test, estimator=classifier)
    seconds = time.process_time() - start
    points = zip(path.n_relevant, 100 * path.accuracy, path.log_loss, strict=True)
    points = [[int(n), round(float(accuracy), 3), rounded(float(loss))] for n, accuracy, loss in points]
    return {"s": rounded(seconds), "path": points, **_counts(path.estimator)}


def _cost(classifier: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Record:
    """Multiplications and additions, by what the history counts, and the most bytes that arrays took."""
    clone(classifier).set_params(max_iter=1).fit(*_few(X, y))  # what is loaded once in a process
    tracemalloc.start()
    start = time.process_time()
    classifier.fit(X, y)
    seconds = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "s": rounded(seconds),
        "kept": rounded(kept(classifier)),
        "bytes": peak,
        "flops": rounded(flops(classifier.history_, _problem_rows(y))),
        **_counts(classifier),
    }


def _few(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    rows = np.concatenate([np.flatnonzero(y == label)[:5] for label in np.unique(y)])
    return X[rows], y[rows]


def _problem_rows(y: np.ndarray) -> list[int]:
    counts = np.unique(y, return_counts=True)[1]
    return [int(a + b) for a, b in combinations(counts, 2)]


def flops(histories: list[list[Any]], rows: list[int]) -> float:
    """Of products with X, of Gram matrices, and of Cholesky factors and their inverse; the rest is O(M)."""
    total = 0.0
    for history, n in zip(histories, rows, strict=True):
        for record, k in zip(history, _before(history), strict=True):
            passes = record["passes"]
            total += 2.0 * n * k * (passes.get("matvec", 0) + passes.get("rmatvec", 0))
            factors = passes.get("gram", 0)
            total += factors * (n * k**2 + k**3 / 3.0) + (factors > 0) * 2.0 * k**3 / 3.0
    return total


WATCHES = {"scores": _scores, "path": _path, "cost": _cost}


def _log_loss(classifier: Any, X: Any, y: np.ndarray) -> Record:
    if not hasattr(classifier, "predict_proba"):
        return {}
    return {"ll": rounded(log_loss(y, classifier.predict_proba(X), labels=classifier.classes_))}


def _counts(classifier: Any) -> Record:
    """Outer iterations, products with X, and the share of updates where 1 - alpha B <= 0, of all problems."""
    histories = getattr(classifier, "history_", None)
    if not histories:
        return {}
    steps = [record for history in histories for record in history]
    active = [weights for history in histories for weights in _before(history)]
    clamped = sum(record["n_clamped"] for record in steps)
    return {
        "iter": rounded(float(np.mean(classifier.n_iter_))),
        "passes": sum(sum(record["passes"].values()) for record in steps),
        **({"clamped": rounded(clamped / max(sum(active), 1))} if clamped else {}),
    }


def _before(history: list[Any]) -> list[int]:
    """Weights that each update was of: those left by the one before (the first: by itself)."""
    after = [record["n_active"] for record in history]
    return after[:1] + after[:-1]
