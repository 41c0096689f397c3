"""Rows 1 to 12: entries that are no numbers, labels of every sort."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier
from sparsebayes.design import RowBlocks
from sparsebayes.io import BlockStore
from tests.conformance.storages import bitwise, finite, refused, same, small

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def names_the_first(estimator, stored, value, word):
    X, y = small()
    clf = estimator()
    name = re.escape(type(clf).__name__)
    bad = X.copy()
    bad[7, 3] = bad[9, 0] = value
    words = (word, name, "row 7, column 3")
    refused(lambda: clf.fit(stored(bad), y), *words)
    clf.fit(stored(X), y)
    refused(lambda: clf.predict_proba(stored(bad)), *words)


def test_row_01_nan(estimator, stored):
    names_the_first(estimator, stored, np.nan, "NaN")


def test_row_02_infinity(estimator, stored):
    names_the_first(estimator, stored, np.inf, "infinity")


def test_row_03_minus_infinity(estimator, stored):
    names_the_first(estimator, stored, -np.inf, "infinity")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_row_04_nan_in_one_block_of_a_store(make, tmp_path):
    X, y = small()
    X[47, 2] = np.nan
    refused(lambda: BlockStore.write(tmp_path / "store", make(X), y, None, 20), "NaN", "row 47, column 2")
    assert not (tmp_path / "store").exists()


def test_row_05_nan_in_y(estimator, stored):
    X, y = small()
    y = y.astype(float)
    y[4] = np.nan
    refused(lambda: estimator().fit(stored(X), y), "y contains NaN")


@pytest.mark.parametrize("place", [0, 4])
@pytest.mark.parametrize("label", [str, int], ids=["str", "int"])
@pytest.mark.parametrize("missing", [None, np.nan], ids=["None", "nan"])
def test_row_05_none_in_y(estimator, missing, label, place):
    X, y = small()
    y = np.array([label(each) for each in y], dtype=object)
    y[place] = missing
    refused(lambda: estimator().fit(X, y))


def test_row_06_continuous_y(estimator, stored):
    X, y = small()
    refused(lambda: estimator().fit(stored(X), y + 0.25 * np.arange(60)), "Unknown label type")


@pytest.mark.parametrize("place", [0, 4])
def test_row_07_mixed_y(estimator, place):
    X, y = small()
    y = np.array([str(each) for each in y], dtype=object)
    y[place] = 1
    refused(lambda: estimator().fit(X, y), "mixed label types", error=TypeError)


LABELS = {
    "str": lambda y: np.array(["nay", "yes"])[y],
    "object": lambda y: np.array(["nay", "yes"], dtype=object)[y],
    "bool": lambda y: y == 1,
    "signs": lambda y: 2 * y - 1,
    "float": lambda y: y + 1.0,
    "category": lambda y: pd.Series(np.array(["nay", "yes"])[y]).astype("category"),
    "list": lambda y: y.tolist(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_row_08_labels_come_back(estimator, kind):
    X, y = small()
    labels = LABELS[kind](y)
    clf = estimator().fit(X, labels)
    predicted = clf.predict(X)
    assert set(predicted.tolist()) == set(np.asarray(labels).tolist())
    assert {type(each) for each in predicted.tolist()} == {type(each) for each in np.asarray(labels).tolist()}
    bitwise(clf.predict_proba(X), estimator().fit(X, y).predict_proba(X))


def test_row_09_one_class(estimator, stored):
    X, _ = small()
    refused(lambda: estimator().fit(stored(X), np.full(60, "spam")), "class", "spam")


def test_row_10_one_class_after_zero_weights(estimator, stored):
    X, y = small()
    refused(
        lambda: estimator().fit(stored(X), y, sample_weight=(y == 1).astype(float)),
        "after removing zero-weight samples",
        r"\[1\]",
    )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    "clf",
    [SBLClassifier(), RVMClassifier(random_state=0, gamma="median"), SBELMClassifier(30, random_state=0)],
    ids=["auto", "rvm", "sbelm"],
)
def test_row_11_a_class_absent_from_some_blocks(clf, make):
    X, y = small(90, n_classes=3)
    order = np.argsort(y)
    X, y = make(X[order]), y[order]
    whole = clf.fit(X, y).predict_proba(X)
    same(clf.fit(RowBlocks.of_matrix(X, 20), y).predict_proba(X), whole, 1e-8)


def test_row_12_two_dimensional_y(estimator):
    X, y = small()
    refused(lambda: estimator().fit(X, np.column_stack([y, y])))
    with pytest.warns(DataConversionWarning):
        clf = estimator().fit(X, y[:, None])
    bitwise(finite(clf, X), estimator().fit(X, y).predict_proba(X))
