"""The same rows in every storage, and what is asked of a fit."""

from __future__ import annotations

import re
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from tests.problems import classification


def with_int64(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


STORAGES = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr64": with_int64,
    "float32": lambda X: np.asarray(X, dtype=np.float32),
}


def small(n=60, m=5, n_classes=2, seed=3):
    """A few rows, half of whose entries are zero."""
    X, y = classification(n, m, n_classes, seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.4] = 0.0
    return X, y


class OtherWords(AssertionError):
    """It was refused by the right error, whose text says less than it should."""


def refused(call, *words, error=ValueError):
    try:
        call()
    except (ValueError, TypeError, error) as caught:
        kind, text = type(caught), str(caught)
    else:
        raise AssertionError("it was accepted")
    if not issubclass(kind, error):
        raise OtherWords(f"{kind.__name__}: {text}")
    for word in words:
        if not re.search(word, text, re.DOTALL):
            raise OtherWords(f"{word!r} is not in {text!r}")


def with_warning(fit, word, check):
    """Fit, check what came of it, and only then whether it was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = fit()
    check(clf)
    if not any(
        issubclass(each.category, ConvergenceWarning) and word in str(each.message) for each in caught
    ):
        raise OtherWords(f"no warning of {word!r}")


def finite(clf, X):
    """Fitted attributes and probabilities; returns the latter."""
    for name, value in vars(clf).items():
        if name.endswith("_") and not name.startswith("_"):
            values = value.data if sp.issparse(value) else value
            if isinstance(values, np.ndarray) and values.dtype.kind == "f" and name != "intercept_alpha_":
                assert np.isfinite(values).all(), name
    p = clf.predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-6)
    return p


def same(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def bitwise(found, expected):
    np.testing.assert_array_equal(found, expected)
