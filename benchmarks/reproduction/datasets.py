"""Data sets by the names of the paper's tables, and their folds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, train_test_split

from sparsebayes.io import datasets

N_FOLDS = 5
# After a name: the file's own values, or all of them by one map to [-1, 1], instead of column by column.
AS_GIVEN, AS_ONE = " as given", " scaled as one"
OTHER_FOLDS = " folds "  # after a name, before a number: the rows in another order, and so in other folds
GENERATED = "generated "  # before rows and features: "generated 300x20"
TEST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Data:
    X: Any
    y: np.ndarray
    digest: str  # of the values and the labels


@dataclass(frozen=True, slots=True)
class Split:
    """A fold "3", an inner fold "3.1" of its training rows, or a seed "s0" of a 75/25 split."""

    name: str

    @property
    def is_inner(self) -> bool:
        return "." in self.name

    @property
    def outer(self) -> str:
        return self.name.partition(".")[0]


def outer_folds() -> Iterator[Split]:
    return (Split(str(k)) for k in range(N_FOLDS))


def inner_folds() -> Iterator[Split]:
    return (Split(f"{k}.{j}") for k in range(N_FOLDS) for j in range(N_FOLDS))


@lru_cache(maxsize=1)
def load(name: str) -> Data:
    """Small sets of the paper scaled to [-1, 1] on all rows, as the paper says; others as they are."""
    if name.startswith(GENERATED):
        X, y = generated(*shape(name)[:2])
        return Data(X, y, _digest(X, y))
    name, _, order = name.partition(OTHER_FOLDS)
    file = plain(name)
    info = datasets.describe(file)
    if info.scaled_in_paper and file == name:
        data = datasets.load_paper(file, download=False)
    else:
        data = datasets.load(file, download=False)
    X = data.X.toarray() if sp.issparse(data.X) and info.scaled_in_paper else data.X
    if name.endswith(AS_ONE):
        X = 2.0 * (X - X.min()) / (X.max() - X.min()) - 1.0
    y = data.y
    if order:
        rows = np.random.default_rng(int(order)).permutation(len(y))
        X, y = X[rows], y[rows]
    return Data(X, y, _digest(X, y))


def plain(name: str) -> str:
    return name.partition(OTHER_FOLDS)[0].removesuffix(AS_GIVEN).removesuffix(AS_ONE)


def generated(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform in [-1, 1]; labels by a noisy function of four features."""
    random = np.random.default_rng(0)
    X = random.uniform(-1.0, 1.0, (n_rows, n_features))
    score = np.sin(4.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2] + X[:, 3]
    return X, (score + 0.5 * random.logistic(size=n_rows) > 0.0).astype(np.int64)


def shape(name: str) -> tuple[int, int, int]:
    """Rows, features, classes: without reading it."""
    if name.startswith(GENERATED):
        n_rows, _, n_features = name.removeprefix(GENERATED).partition("x")
        return int(n_rows), int(n_features), 2
    info = datasets.describe(plain(name))
    return info.n_rows, info.n_features, info.n_classes


def shape_here(name: str) -> tuple[int, int, int] | None:
    """Of the file that is found, which may be a rebuilt one; None where there is none."""
    info, path = datasets.describe(name), datasets.find(name)
    if path is None:
        return None
    rebuilt = info.n_rebuilt is not None and path.name != info.file
    return info.n_rows, info.n_rebuilt if rebuilt else info.n_features, info.n_classes


def rows(y: np.ndarray, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows."""
    if split.name.startswith("s"):
        train, test = train_test_split(
            np.arange(len(y)), test_size=TEST_SHARE, stratify=y, random_state=int(split.name[1:])
        )
        return train, test
    outer, _, inner = split.name.partition(".")
    train, test = _fold(y, int(outer))
    if not inner:
        return train, test
    part, held_out = _fold(y[train], int(inner))
    return train[part], train[held_out]


def _fold(y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return list(folds.split(np.zeros((len(y), 0)), y))[k]


def _digest(X: Any, y: np.ndarray) -> str:
    values = X.data if sp.issparse(X) else X
    # Rounded: a reader may differ in the last bit.
    content = np.ascontiguousarray(values, dtype=np.float32).tobytes() + np.asarray(y, dtype="<f4").tobytes()
    return hashlib.sha256(content).hexdigest()[:8]
