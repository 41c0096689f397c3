"""Fitted classifiers of every kind, and fresh rows, for tests of what becomes of a model after its fit."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier
from sparsebayes.recipes import RECIPES
from tests.problems import classification

ESTIMATORS = {
    "linear": SBLClassifier,
    "kernel": RVMClassifier,
    "hidden": lambda **parameters: SBELMClassifier(40, random_state=0, **parameters),
}
# Estimator, solver, classes, storage.
CASES = [
    (kind, solver, n_classes, storage)
    for kind in ESTIMATORS
    for solver in RECIPES
    for n_classes in (2, 4)
    for storage in ("dense", "sparse")
]
N_FEATURES = 8


def rows(n, seed, n_classes=2, dtype=np.float64):
    """Half of the entries are zero, so that sparse storage is worth something."""
    X, y = classification(n, N_FEATURES, n_classes, seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0.0
    return X.astype(dtype), y


def stored(X, storage):
    return sp.csr_matrix(X) if storage == "sparse" else X


@cache
def fitted(kind, solver="auto", n_classes=2, storage="dense", dtype="float64", **parameters):
    X, y = rows(120, 0, n_classes, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a model is enough, a good one is not needed
        return ESTIMATORS[kind](solver=solver, max_iter=20, **parameters).fit(stored(X, storage), y)


@cache
def fresh(dtype="float64"):
    return rows(1000, 1, dtype=dtype)[0]
