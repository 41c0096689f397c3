"""Logistic regression and a support vector machine on the same rows: what a model is compared with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, IntVector
from sparsebayes.report.evaluation import Evaluation, evaluate
from sparsebayes.report.text import count

STRENGTHS = [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]
COSTS = [0.1, 1.0, 10.0, 100.0]
WIDTHS = [0.1, 1.0, 10.0]  # times that of gamma="scale"
N_FOLDS = 5
# A support vector machine takes time that grows with the square of its rows.
MAX_ROWS_SVC = 4000


@dataclass(frozen=True, slots=True)
class Rival:
    name: str
    tuning: str
    n_stored: int  # numbers that a program would have to hold
    size: str
    evaluation: Evaluation


def fitted_rivals(X_train: Any, codes: IntVector, X: Any, truth: IntVector, classes: AnyArray) -> list[Rival]:
    """Both, tuned by cross-validation on the training rows and judged on the others."""
    n_folds = int(min(N_FOLDS, np.bincount(codes, minlength=len(classes)).min()))
    if n_folds < 2:
        raise ValueError("Rivals are tuned by cross-validation, which needs two training rows of each class.")
    with warnings.catch_warnings():
        from sklearn.exceptions import ConvergenceWarning

        warnings.simplefilter("ignore", ConvergenceWarning)  # of extreme strengths, which lose anyway
        return [
            _logistic(X_train, codes, X, truth, n_folds),
            _support_vectors(X_train, codes, X, truth, n_folds),
        ]


def _search(X: Any, classifier: Any, grid: dict[str, list[float]], scoring: str, n_folds: int) -> Any:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(with_mean=not sp.issparse(X)), classifier)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return GridSearchCV(pipeline, grid, scoring=scoring, cv=folds)


def _logistic(X_train: Any, codes: IntVector, X: Any, truth: IntVector, n_folds: int) -> Rival:
    from sklearn.linear_model import LogisticRegression

    grid = {"logisticregression__C": STRENGTHS}
    search = _search(X_train, LogisticRegression(max_iter=1000), grid, "neg_log_loss", n_folds)
    search.fit(X_train, codes)
    found = search.best_estimator_
    n_weights = int(np.count_nonzero(found[-1].coef_)) + found[-1].intercept_.size
    return Rival(
        "Logistic regression (L2)",
        f"C = {search.best_params_['logisticregression__C']:g} of {len(STRENGTHS)} by log loss in "
        f"{n_folds}-fold cross-validation, on standardised features",
        n_weights,
        count(n_weights, "weight"),
        evaluate(found, X, truth, found.classes_),
    )


def _support_vectors(X_train: Any, codes: IntVector, X: Any, truth: IntVector, n_folds: int) -> Rival:
    from sklearn.svm import SVC

    rows = np.arange(len(codes))
    if len(rows) > MAX_ROWS_SVC:
        rows = _stratified(codes, MAX_ROWS_SVC)
    part = X_train if len(rows) == len(codes) else X_train[rows]
    grid = {"svc__C": COSTS, "svc__gamma": [width / _variance_sum(part) for width in WIDTHS]}
    search = _search(part, SVC(), grid, "accuracy", n_folds)
    search.fit(part, codes[rows])
    found, best = search.best_estimator_, search.best_params_
    vectors = found[-1].support_vectors_
    n_entries = vectors.nnz if sp.issparse(vectors) else vectors.size
    on = "" if len(rows) == len(codes) else f", on {count(len(rows), 'row')} drawn from the training rows"
    return Rival(
        "Support vector machine (RBF)",
        f"C = {best['svc__C']:g} and gamma = {best['svc__gamma']:.3g} of {len(COSTS) * len(WIDTHS)} pairs by "
        f"accuracy in {n_folds}-fold cross-validation, on standardised features{on}",
        int(n_entries) + int(np.prod(found[-1].dual_coef_.shape)) + found[-1].intercept_.size,
        count(vectors.shape[0], "support vector"),
        evaluate(found, X, truth, found.classes_),
    )


def _variance_sum(X: Any) -> float:
    """What gamma="scale" divides by, for standardised features: how many of them vary."""
    if sp.issparse(X):
        return float(max(len(np.unique(X.tocsr().indices)), 1))
    return float(max(int(np.count_nonzero(np.ptp(X, axis=0))), 1))


def _stratified(codes: IntVector, n: int) -> IntVector:
    """About so many positions, two of each class at least, in proportion to the classes."""
    rng = np.random.default_rng(0)
    chosen = []
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        quota = min(max(round(n * len(members) / len(codes)), N_FOLDS), len(members))
        chosen.append(rng.choice(members, quota, replace=False))
    return np.sort(np.concatenate(chosen))
