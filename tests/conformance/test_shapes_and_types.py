"""Rows 13 to 32: shapes, types and storages of X."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import root
from scipy.special import expit

from tests.conformance.storages import bitwise, finite, refused, same, small, with_int64

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SECONDS = 60.0


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_row_13_no_rows_and_no_columns(estimator, make):
    refused(lambda: estimator().fit(make(np.empty((0, 3))), np.empty(0)), r"0 sample\(s\)")
    refused(lambda: estimator().fit(make(np.empty((4, 0))), [0, 1, 0, 1]), r"0 feature\(s\)")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_row_14_one_row(estimator, make):
    refused(lambda: estimator().fit(make([[1.0, 2.0]]), [1]), "class|1 sample")


def test_row_15_one_row_a_class(subject, stored):
    X = stored([[1.0, 0.0], [0.0, 2.0]])
    finite(subject().fit(X, [0, 1]), X)


def one_dimensional(x, t, alpha, intercept_alpha):
    """Weight and intercept at the mode, by a solver that knows nothing of ours."""

    def gradient(v):
        residual = expit(v[0] * x + v[1]) - t
        return [residual @ x + alpha * v[0], residual.sum() + intercept_alpha * v[1]]

    return root(gradient, [0.0, 0.0], tol=1e-14).x


def test_row_16_one_column(linear):
    rng = np.random.default_rng(1)
    X = rng.normal(0.3, 1.0, size=(80, 1))
    t = (2.0 * X[:, 0] + rng.logistic(size=80) > 0.0).astype(int)
    clf = linear.exact()
    if linear.name in ("newton", "dqn"):
        clf.set_params(max_iter=1)
    clf.fit(X, t)
    if linear.name == "LogisticRegression":
        precisions = 1.0 / clf.C, 0.0
    elif linear.name in ("newton", "dqn"):  # after one iteration the mode is that of the first precisions
        precisions = 1e-5, 1e-5
    elif linear.name in ("auto", "sequential"):
        precisions = clf.alpha_[0, 0], clf.intercept_alpha_[0]
    else:
        pytest.skip("its objective is another one")
    same([clf.coef_[0, 0], clf.intercept_[0]], one_dimensional(X[:, 0], t, *precisions), 1e-8)


WIDE = """
import json, signal, sys, time, warnings
import numpy as np, scipy.sparse as sp
from benchmarks.common import peak_rss
from tests.conformance.subjects import chosen
warnings.simplefilter("ignore")
X = sp.random(6, 10**6, 1e-3, "csr", random_state=0)

def outcome():
    try:
        return bool(np.isfinite(subject().fit(X, np.arange(6) % 2).predict_proba(X)).all())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def late(*_):
    raise TimeoutError("it takes longer than 10 s")

subject = next(subject for subject in chosen("subject") if subject.name == sys.argv[1])
signal.signal(signal.SIGALRM, late)
signal.alarm(10)
start = time.process_time()
fine, taken = peak_rss(outcome)
print(json.dumps([fine, time.process_time() - start, taken]))
"""


@cache
def told(code, *arguments):
    """Exit code, errors and printed lines of a process of its own: a signal would be the end of this one."""
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return run.returncode, run.stderr[-500:], [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_row_17_a_million_columns(subject):
    code, errors, lines = told(WIDE, subject.name)
    assert code == 0, f"exit code {code}: {errors}"
    [[fine, seconds, n_bytes]] = lines
    assert fine is True, fine
    assert seconds < 2.0
    assert n_bytes < 200e6


def test_row_18_lengths_differ(estimator, stored):
    X, y = small()
    refused(lambda: estimator().fit(stored(X), y[:-1]), "inconsistent numbers of samples")


def test_row_19_other_dimensions(estimator):
    X, y = small()
    refused(lambda: estimator().fit(X[:, 0], y), "Expected 2D array, got 1D array")
    refused(lambda: estimator().fit(X[None], y), "dim 3")


def test_row_20_another_number_of_columns(estimator, stored):
    X, y = small()
    clf = estimator().fit(stored(X), y)
    refused(lambda: clf.predict(stored(X[:, :4])), "4 features", "expecting 5 features")


def test_row_21_other_feature_names(estimator):
    X, y = small()
    clf = estimator().fit(pd.DataFrame(X, columns=list("abcde")), y)
    refused(
        lambda: clf.predict(pd.DataFrame(X, columns=list("abcdx"))), "feature names should match", "unseen"
    )


def test_row_22_complex(estimator):
    X, y = small()
    refused(lambda: estimator().fit(X + 1j, y), "Complex data not supported")
    refused(lambda: estimator().fit(sp.csr_array(X + 1j), y), "Complex data not supported")


def test_row_23_object(estimator):
    X, y = small()
    same(estimator().fit(X.astype(object), y).predict_proba(X), estimator().fit(X, y).predict_proba(X), 1e-12)
    words = X.astype(object)
    words[3, 1] = "spam"
    refused(lambda: estimator().fit(words, y), "spam")
    words[3, 1] = {}
    refused(lambda: estimator().fit(words, y), error=TypeError)


def memory_mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


TYPES = {
    "bool": lambda X, folder: X != 0.0,
    "int8": lambda X, folder: np.round(10 * X).astype(np.int8),
    "float16": lambda X, folder: X.astype(np.float16),
    "big-endian": lambda X, folder: X.astype(">f8"),
    "F-order": lambda X, folder: np.asfortranarray(X),
    "memmap": memory_mapped,
    "strided": lambda X, folder: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X, folder: X[::-1, ::-1][::-1, ::-1],
    "read-only": lambda X, folder: np.frombuffer(X.tobytes()).reshape(X.shape),
}


@pytest.mark.parametrize("kind", TYPES)
def test_row_24_types_and_layouts(subject, kind, tmp_path):
    X, y = small()
    X = TYPES[kind](X, tmp_path)
    before = X.copy()
    plain = np.array(X, dtype=np.float64, order="C")
    p = subject.exact().fit(X, y).predict_proba(X)
    bitwise(X, before)
    assert X.dtype == before.dtype
    tolerance = subject.tight.get("map_tol", 1e-10)  # sums are taken in another order
    same(p, subject.exact().fit(plain, y).predict_proba(plain), tolerance)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_row_25_float32(subject, make):
    X, y = small(100)
    X = X.astype(np.float32)
    clf = subject.exact().fit(make(X), y)
    p = clf.predict_proba(make(X))
    assert p.dtype == clf.intercept_.dtype == np.float32
    double = X.astype(np.float64)
    same(p, subject.exact().fit(make(double), y).predict_proba(make(double)), 1e-5)


def arrays(X):
    return [X.data.copy(), X.indices.copy(), X.indptr.copy()]


def as_canonical(subject, X, canonical, y, tolerance):
    before = arrays(X)
    p = subject.exact().fit(X, y).predict_proba(X)
    for now, then in zip(arrays(X), before, strict=True):
        bitwise(now, then)
        assert now.dtype == then.dtype
    same(p, subject.exact().fit(canonical, y).predict_proba(canonical), tolerance)


def test_row_26_int64_indices(subject):
    X, y = small()
    as_canonical(subject, with_int64(X), sp.csr_array(X), y, 0.0)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array], ids=["csr", "csc"])
def test_row_27_unsorted_indices(subject, make):
    X, y = small()
    unsorted = make(X)
    for k in range(len(unsorted.indptr) - 1):
        entries = slice(unsorted.indptr[k], unsorted.indptr[k + 1])
        unsorted.indices[entries] = unsorted.indices[entries][::-1]
        unsorted.data[entries] = unsorted.data[entries][::-1]
    unsorted.has_sorted_indices = False
    as_canonical(subject, unsorted, make(X), y, 1e-12)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array], ids=["csr", "csc"])
def test_row_28_duplicate_entries(subject, make):
    X, y = small()
    whole = make(X)
    halves = make(
        (np.repeat(whole.data, 2) / 2, np.repeat(whole.indices, 2), 2 * whole.indptr), shape=whole.shape
    )
    assert not halves.has_canonical_format
    as_canonical(subject, halves, whole, y, 1e-12)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array], ids=["csr", "csc"])
def test_row_29_explicit_zeros(subject, make):
    X, y = small()
    X[:, 4] = 0.0
    full = make(np.where(X == 0.0, 1.0, X))
    full.data[make(np.where(X == 0.0, 2.0, 1.0)).data == 2.0] = 0.0
    assert full.nnz == X.size
    as_canonical(subject, full, make(X), y, 1e-12)


BROKEN = """
import json, sys, warnings
import numpy as np, scipy.sparse as sp
from tests.conformance.subjects import chosen
warnings.simplefilter("ignore")
X, y = np.eye(4, 3) + 1.0, np.arange(4) % 2

def broken(make, part, change):
    whole = make(X)
    values = getattr(whole, part).copy()
    setattr(whole, part, np.asarray(change(values), dtype=np.int32))
    return whole

def at(place, value):
    return lambda values: np.where(np.arange(len(values)) == place % len(values), value, values)

if sys.argv[1] == "indptr":
    changes = [at(1, 10**6), at(1, 2**31 - 1), at(1, -5), at(0, 1), at(-1, 10**6), at(-1, 5), at(-1, 0)]
    changes += [lambda values: values[:-1], lambda values: np.append(values, values[-1])]
    overflowing = [0, 2**31 - 1, -(2**31), -1]  # differences of 32 bits: 2**31 - 1, 1, 2**31 - 1
    changes += [lambda values: [*overflowing, *values[4:]][: len(values)]]
    makes = (sp.csr_array, sp.csr_matrix, sp.csc_array)
    cases = [broken(make, "indptr", change) for make in makes for change in changes]
else:
    changes = [at(2, 7), at(2, 10**9), at(2, -1), at(2, -2**31)]
    cases = [broken(make, "indices", change) for make in (sp.csr_array, sp.csc_matrix) for change in changes]
    for value in (9, -1):
        coo = sp.coo_array(X)
        coo.coords = (coo.coords[0], at(1, value)(coo.coords[1]))
        cases.append(coo)
for subject in chosen("estimator"):
    clf = subject().fit(X, y)
    for number, case in enumerate(cases):
        for call in (lambda: subject().fit(case, y), lambda: clf.predict_proba(case)):
            try:
                call()
                sys.exit(f"{subject.name} accepts case {number}")
            except ValueError as error:
                assert str(error)
    print(json.dumps(subject.name), flush=True)
"""


def all_broken_are_refused(estimator, what):
    code, errors, refusing = told(BROKEN, what)
    assert estimator.name in refusing, f"exit code {code}: {errors}"


def test_row_30_broken_indptr(estimator):
    all_broken_are_refused(estimator, "indptr")


def test_row_31_index_out_of_range(estimator):
    all_broken_are_refused(estimator, "indices")


FORMATS = ["coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
def test_row_32_other_formats(estimator, format, kind):
    X, y = small()
    expected = estimator().fit(sp.csr_array(X), y).predict_proba(sp.csr_array(X))
    other = getattr(sp, f"{format}_{kind}")(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # dia, of many diagonals
        same(estimator().fit(other, y).predict_proba(other), expected, 1e-12)
