"""The kernel models behind one call: training data and test rows in, one point out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.rivals.records import rounded
from sparsebayes import RVMClassifier

MEDIAN_ROWS = 1000
QUICK_SECONDS = 1.0
REPEATS = 3


@dataclass(frozen=True, slots=True)
class KernelPoint:
    vectors: float  # a binary problem, on average
    predictions: np.ndarray
    seconds: float
    probabilities: np.ndarray | None = None
    notes: tuple[tuple[str, Any], ...] = ()


KernelAdapter = Callable[[np.ndarray, np.ndarray, np.ndarray], KernelPoint]


def timed(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """A fitted model and its seconds: the least of three where a fit is quick, to leave out first calls."""
    least = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (FutureWarning, DeprecationWarning))  # of packages left behind
            model = make().fit(X, y)
        least = min(least, time.perf_counter() - start)
        if least > QUICK_SECONDS:
            break
    return model, least


def rvm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> KernelPoint:
    model, seconds = timed(lambda: RVMClassifier(random_state=0), X, y)
    probabilities = model.predict_proba(X_test)
    predictions = model.classes_[probabilities.argmax(axis=1)]
    return KernelPoint(float(np.mean(model.n_relevant_)), predictions, seconds, probabilities)


def fastrvm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> KernelPoint:
    from fastrvm import RVC

    model, seconds = timed(RVC, X, y)
    if not hasattr(model, "relevance_vectors_"):  # its fit returns all the same
        raise RuntimeError("fastrvm's backend failed.")
    probabilities = model.predict_proba(X_test)
    predictions = model.classes_[probabilities.argmax(axis=1)]
    return KernelPoint(float(np.mean(model.n_relevance_)), predictions, seconds, probabilities)


def sklearn_rvm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> KernelPoint:
    from sklearn_rvm import EMRVC

    model, seconds = timed(EMRVC, X, y)
    probabilities = model.predict_proba(X_test)
    predictions = np.unique(y)[probabilities.argmax(axis=1)]
    return KernelPoint(float(len(model.relevance_vectors_)), predictions, seconds, probabilities)


def median_gamma(X: np.ndarray) -> float:
    """One over the median squared distance of (at most 1000) rows."""
    rows = np.random.default_rng(0).permutation(len(X))[:MEDIAN_ROWS]
    return 1.0 / float(np.median(pdist(X[rows], "sqeuclidean")))


def svc(
    Cs: tuple[float, ...], factors: tuple[float, ...], folds: int, choose_on: int | None
) -> KernelAdapter:
    """C and gamma by the best accuracy over folds of the training rows, or of so many of them; then all rows.

    Gamma is in multiples of the median heuristic.
    """

    def fit(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> KernelPoint:
        start = time.perf_counter()
        gamma = median_gamma(X)
        grid = {"C": Cs, "gamma": [gamma * factor for factor in factors]}
        rows = np.random.default_rng(0).permutation(len(X))[:choose_on]
        splits = StratifiedKFold(folds, shuffle=True, random_state=0)
        search = GridSearchCV(SVC(cache_size=500), grid, cv=splits, refit=False).fit(X[rows], y[rows])
        grid_seconds = time.perf_counter() - start
        start = time.perf_counter()
        model = SVC(cache_size=500, **search.best_params_).fit(X, y)
        seconds = time.perf_counter() - start
        n_classes = len(model.classes_)
        # A row of the coefficients holds those of one of the other classes: all pairs together.
        vectors = np.count_nonzero(model.dual_coef_) / (n_classes * (n_classes - 1) / 2)
        notes = (
            ("C", search.best_params_["C"]),
            ("factor", rounded(search.best_params_["gamma"] / gamma)),
            ("grid_s", rounded(grid_seconds)),
        )
        return KernelPoint(float(vectors), model.predict(X_test), seconds, notes=notes)

    return fit


def lightgbm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> KernelPoint:
    """For orientation: its vectors are its leaves."""
    from lightgbm import LGBMClassifier

    model, seconds = timed(lambda: LGBMClassifier(n_jobs=1, random_state=0, verbose=-1), X, y)
    leaves = sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"])
    return KernelPoint(float(leaves), model.predict(X_test), seconds, model.predict_proba(X_test))
