"""What is measured of one fit."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss

from benchmarks.reproduction import datasets
from benchmarks.reproduction.cells import Cell, Record
from benchmarks.reproduction.models import MODELS, chosen, kept
from benchmarks.rivals.records import rounded


def measured(cell: Cell) -> Record:
    """The outcome of a cell: in a process that may be ended."""
    data = datasets.load(cell.data)
    train, test = datasets.rows(data.y, cell.split)
    classifier = MODELS[cell.model].make(dict(cell.point))
    start = time.process_time()  # of this process alone: the machine may be busy with others
    with warnings.catch_warnings():
        # Neither of the paper's methods meets its own stop within 100 iterations as a rule.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(data.X[train], data.y[train])
    seconds = time.process_time() - start
    return {
        "data": data.digest,
        "status": "ok",
        "acc": round(100 * float(classifier.score(data.X[test], data.y[test])), 3),
        "kept": rounded(kept(classifier)),
        "s": rounded(seconds),
        **chosen(classifier),
        **_log_loss(classifier, data.X[test], data.y[test]),
        **_counts(classifier),
    }


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
