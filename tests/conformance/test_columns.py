"""Rows 33 to 44: columns that say nothing, columns that say the same, units. They speak of linear models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from tests.conformance.storages import bitwise, finite, refused, same, small, with_warning

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MAKE = pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array], ids=["dense", "csr", "csc"])


@MAKE
def test_row_33_all_zero(linear, make):
    y = np.array([0, 0, 0, 1] * 5)  # enough for rivals that fold

    def check(clf):
        same(finite(clf, make(np.zeros((2, 3))))[:, 1], 0.25, 1e-9)
        same(clf.predict_proba(make(np.ones((2, 3))))[:, 1], 0.25, 1e-9)

    with_warning(lambda: linear().fit(make(np.zeros((20, 3))), y), "no feature", check)


@MAKE
def test_row_34_zero_rows(linear, make):
    if linear.name in ("SVC", "sklearn-rvm"):
        pytest.skip("its probability is not that of its intercept")
    X, y = small()
    X[:20] = 0.0
    clf = linear().fit(make(X), y)
    same(finite(clf, make(X))[:20, 1], expit(clf.intercept_[0]), 1e-12)


@MAKE
def test_row_35_constant_column(linear, make):
    X, y = small()
    expected = linear.exact().fit(make(X), y).predict_proba(make(X))
    for value in (1.0, -1e3):
        wider = make(np.insert(X, 2, value, axis=1))
        same(linear.exact().fit(wider, y).predict_proba(wider), expected, 1e-8)


@MAKE
def test_row_36_zero_column(linear, make):
    X, y = small()
    wider = np.insert(X, [0, 3], 0.0, axis=1)
    clf = linear().fit(make(wider), y)
    bitwise(clf.predict_proba(make(wider)), linear().fit(make(X), y).predict_proba(make(X)))


def settled(linear):
    """newton follows its precisions to where they end, which they do slowly: there copies are one column."""
    return {"tol": 1e-11, "max_iter": 20_000} if linear.name == "newton" else {}


@MAKE
def test_row_37_duplicate_column(linear, make):
    X, y = small(120)
    twice = np.insert(X, 5, X[:, 0], axis=1)
    p = linear.exact(**settled(linear)).fit(make(twice), y).predict_proba(make(twice))
    same(p, linear.exact(**settled(linear)).fit(make(X), y).predict_proba(make(X)), 1e-6)


@MAKE
def test_row_38_collinear_columns(linear, make):
    X, y = small()
    wider = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 0] - 2.0 * X[:, 2], 1e6 * X[:, 1]])
    clf = linear().fit(make(wider), y)
    finite(clf, make(wider))
    assert clf.score(make(wider), y) > linear().fit(make(X), y).score(make(X), y) - 0.05


@MAKE
def test_row_39_fifty_copies(linear, make):
    X, y = small()
    wider = np.column_stack([X, *[X[:, 0]] * 50])
    clf = linear().fit(make(wider), y)
    finite(clf, make(wider))
    assert clf.score(make(wider), y) > linear().fit(make(X), y).score(make(X), y) - 0.05


FREE_OF_UNITS = ("auto", "sequential", "LogisticRegression", "SVC", "sklearn-rvm")


@MAKE
@pytest.mark.parametrize("exponent", [-900, -30, 7, 900])
@pytest.mark.parametrize("shape", [(60, 5), (30, 50)], ids=["tall", "wide"])
def test_row_40_powers_of_two(linear, make, shape, exponent):
    X, y = small(*shape)
    moved = make(np.ldexp(X, exponent))
    clf = linear(max_iter=100 if linear.name in FREE_OF_UNITS else 5).fit(moved, y)
    p = finite(clf, moved)
    if linear.name in FREE_OF_UNITS:
        bitwise(p, linear(max_iter=100).fit(make(X), y).predict_proba(make(X)))


@MAKE
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_row_41_extreme_units(linear, make, factor):
    X, y = small()
    moved = make(factor * X)
    p = finite(linear(max_iter=100 if linear.name in FREE_OF_UNITS else 5).fit(moved, y), moved)
    if linear.name in FREE_OF_UNITS:
        same(p, linear(max_iter=100).fit(make(X), y).predict_proba(make(X)), 1e-10)


@MAKE
def test_row_42_columns_in_all_units(linear, make):
    X, y = small()
    factors = 10.0 ** np.array([-150.0, -20.0, 0.0, 30.0, 150.0])
    moved = make(X * factors)
    finite(linear().fit(moved, y), moved)
    if "scale" in linear().get_params():
        p = linear.exact(scale="columns").fit(moved, y).predict_proba(moved)
        same(p, linear.exact(scale="columns").fit(make(X), y).predict_proba(make(X)), 1e-8)
    else:  # no prior a column is theirs
        assert linear().fit(moved, y).score(moved, y) > 0.6


@MAKE
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_row_43_a_coefficient_that_overflows(linear, make, dtype):
    X, y = small()
    factor = 1e-310 if dtype == np.float64 else 1e-41
    tiny = np.array(X, dtype=dtype)
    tiny[:, 0] = (factor * X[:, 0]).astype(dtype)
    parameters = {"scale": "columns"} if "scale" in linear().get_params() else {}
    y = (X[:, 0] > 0.0).astype(int)
    refused(lambda: linear(**parameters).fit(make(tiny), y), "column 0", "too large")


@MAKE
def test_row_44_denormals(linear, make):
    X, y = small()
    X = np.round(4 * X)
    X[::3] = np.ldexp(X[::3], -18)
    tiny = np.ldexp(X, -1010)  # exact; a third of the rows is below the least normal number
    assert ((tiny != 0.0) & (np.abs(tiny) < np.finfo(np.float64).tiny)).any()
    scaled = {"scale": "columns"} if "scale" in linear().get_params() else {}
    p = finite(linear.exact(**scaled).fit(make(tiny), y), make(tiny))
    same(p, linear.exact(**scaled).fit(make(X), y).predict_proba(make(X)), 1e-8)
