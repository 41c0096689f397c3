"""Fitted classifiers of every kind, and fresh rows, for tests of what becomes of a model after its fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sparsebayes import FrozenModel, RVMClassifier, SBELMClassifier, SBLClassifier
from sparsebayes.basis import IdentityBasis
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


def of_degree(degree):
    """A polynomial kernel; 2.5 is a power that only positive numbers have."""
    model = fitted("kernel", kernel="poly", degree=2, coef0=100.0, gamma=0.1).freeze()
    basis = replace(model.basis, kernel=replace(model.basis.kernel, degree=degree))
    return replace(model, basis=basis, weights=model.weights / 1000)


def without_functions(model, intercepts):
    return replace(
        model,
        basis=model.basis.kept(np.arange(0)),
        weights=np.empty(0),
        columns=np.empty(0, dtype=int),
        starts=np.zeros(len(intercepts) + 1, dtype=int),
        weights_std=None,
        intercepts=np.array(intercepts),
        posteriors=None,
    )


def extreme_margins(scheme):
    """Three classes whose margins are the row, and rows far out on either side, cycles among them."""
    model = FrozenModel(
        classes=np.arange(3),
        n_features=3,
        basis=IdentityBasis(3),
        weights=np.ones(3),
        columns=np.arange(3),
        starts=np.arange(4),
        intercepts=np.zeros(3),
        scheme=scheme,
    )
    grid = np.array([-1e6, -800.0, -40.0, -1.0, 0.0, 2.0, 30.0, 900.0])
    return model, np.stack(np.meshgrid(grid, grid, grid), axis=-1).reshape(-1, 3)


def among_noise(n_classes):
    """Training rows with a hundred columns of noise more, their labels, and fresh ones."""
    X, y = rows(150, 0, n_classes)
    noise = np.random.default_rng(5).normal(size=(1150, 100))
    return np.hstack([X, noise[:150]]), y, np.hstack([fresh(), noise[150:]])
