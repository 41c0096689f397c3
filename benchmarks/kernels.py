"""The kernel classifier: its memory on many rows, and its speed against sklearn-rvm.

Run ``python -m benchmarks.kernels [--quick]``; three minutes on two cores. The quick run saves nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.common import Figure, in_fresh_process, judge, peak_bytes, save, say, thresholds
from sparsebayes import RVMClassifier

N_FEATURES = 50
# How much a larger basis costs and brings: rows, features, and candidates among the rows.
COMPARISON = (20_000, 10, (250, 1000, 4000))
MODELS = {
    "basis='all', dqn, 3 steps": {"solver": "dqn", "basis": "all", "max_iter": 1, "map_max_iter": 3},
    "RVMClassifier()": {},
}


def generated(n_rows: int, n_features: int, seed: int) -> tuple[Any, Any]:
    """Labels by a function of four features that no linear model can follow; the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    score = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * (np.square(X[:, 3]) - 1.0)
    return X, (score + 0.5 * rng.logistic(size=n_rows) > 0.0).astype(int)


def fit_on_many_rows(n_rows: int, n_features: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own, whose peak memory is counted whole: interpreter, libraries, data and fit."""
    X, y = generated(n_rows, n_features, seed=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # three steps are no fit, and it says so
        classifier = RVMClassifier(random_state=0, **parameters).fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "peak_bytes": peak_bytes(),
        "seconds": seconds,
        "vectors": int(classifier.n_relevant_[0]),
        "accuracy": classifier.score(*generated(5000, n_features, seed=1)),
        "status": classifier.status_[0],
    }


def against_sklearn_rvm(n_folds: int) -> dict[str, dict[str, float]]:
    """Seconds and log loss over folds of breast cancer, the two taking turns on each fold."""
    from sklearn_rvm import EMRVC

    X, y = load_breast_cancer(return_X_y=True)
    rivals = {"sparsebayes": RVMClassifier, "sklearn-rvm": EMRVC}
    rows: dict[str, list[list[float]]] = {name: [] for name in rivals}
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[:n_folds]
    RVMClassifier().fit(X[::5], y[::5])  # warm-up
    for train, test in splits:
        scaler = StandardScaler().fit(X[train])
        X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
        for name, make in rivals.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # sklearn-rvm's deprecations
                start = time.perf_counter()
                classifier = make().fit(X_train, y[train])
                seconds = time.perf_counter() - start
                p = classifier.predict_proba(X_test)
            loss, accuracy = log_loss(y[test], p), (p.argmax(axis=1) == y[test]).mean()
            rows[name].append([seconds, loss, accuracy, len(classifier.relevance_vectors_)])
    names = ("seconds", "log_loss", "accuracy", "vectors")
    return {
        name: dict(zip(names, np.mean(each, axis=0).tolist(), strict=True)) for name, each in rows.items()
    }


def bases() -> list[dict[str, Any]]:
    """Fits that differ in the number of candidates alone."""
    n_rows, n_features, sizes = COMPARISON
    records = []
    for basis in sizes:
        say(f"{basis} candidates among {n_rows} rows of {n_features} features")
        record = in_fresh_process(fit_on_many_rows, n_rows, n_features, {"basis": basis})
        records.append({"basis": basis, "rows": n_rows, "features": n_features, **record})
    return records


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows, one fold; nothing is saved")
    quick = parser.parse_args().quick
    limits = thresholds("kernels")
    n_rows = 10_000 if quick else 50_000
    say("breast cancer, against sklearn-rvm")
    breast_cancer = against_sklearn_rvm(1 if quick else 5)
    ours, theirs = breast_cancer["sparsebayes"], breast_cancer["sklearn-rvm"]
    figures = [
        Figure(
            "sklearn-rvm's seconds over ours",
            theirs["seconds"] / ours["seconds"],
            limits["speed"],
            "at least",
        ),
        Figure("our log loss over sklearn-rvm's", ours["log_loss"] / theirs["log_loss"], limits["log_loss"]),
    ]
    many_rows = {}
    for name, parameters in MODELS.items():
        say(f"{name} on {n_rows} rows, in a fresh process")
        many_rows[name] = in_fresh_process(fit_on_many_rows, n_rows, N_FEATURES, parameters)
        gigabytes = many_rows[name]["peak_bytes"] / 1e9
        figures.append(Figure(f"peak memory in GB, {name}", gigabytes, limits["gigabytes"]))
    if not quick:
        details = {"breast_cancer": breast_cancer, "rows": n_rows, "many_rows": many_rows, "bases": bases()}
        say(f"written: {save('kernels', figures, details).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
