"""Bases, and which rows carry one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparsebayes.basis import (
    ACTIVATIONS,
    DistinctRows,
    HiddenBasis,
    IdentityBasis,
    KernelBasis,
    as_matrix,
    candidate_rows,
    filled_columns,
)
from sparsebayes.design import ComputedDesign, HoldLimit
from sparsebayes.kernels import Kernel

FORMULAS = {
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "tanh": lambda z: (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z)),
    "relu": lambda z: np.where(z > 0.0, z, 0.0),
    "sine": np.sin,
}


def test_every_activation_is_compared():
    assert set(FORMULAS) == set(ACTIVATIONS)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_hidden_nodes(activation, make, rng):
    X = rng.normal(size=(6, 4))
    layer = HiddenBasis.random(activation, 5, 4, np.random.RandomState(0))
    literal = [
        [FORMULAS[activation](a @ x + b) for a, b in zip(layer.weights, layer.biases, strict=True)] for x in X
    ]
    np.testing.assert_allclose(layer.transform(make(X)), literal, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_hidden_nodes_of_some_features(make, rng):
    X = rng.normal(size=(6, 7))
    X[:, [1, 4, 6]] = 0.0
    features = filled_columns(make(X))
    np.testing.assert_array_equal(features, [0, 2, 3, 5])
    whole = HiddenBasis.random("tanh", 5, 7, np.random.RandomState(0))
    some = HiddenBasis.random("tanh", 5, 7, np.random.RandomState(0), features)
    np.testing.assert_array_equal(some.weights, whole.weights[:, features])
    np.testing.assert_array_equal(some.biases, whole.biases)
    weight = rng.random(6)
    for theirs, ours in ((whole, some), (whole.fitted_to(make(X), weight), some.fitted_to(make(X), weight))):
        np.testing.assert_allclose(ours.transform(make(X)), theirs.transform(make(X)), rtol=1e-12)
        np.testing.assert_allclose(ours.over(7).transform(make(X)), theirs.transform(make(X)), rtol=1e-12)
    assert not some.over(7).weights[:, [1, 4, 6]].any()
    assert filled_columns(make(X[:, features])) is None


def test_an_explicit_zero_does_not_fill_a_column():
    X = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    np.testing.assert_array_equal(filled_columns(X), [1])


def test_hidden_weights_are_uniform():
    layer = HiddenBasis.random("sigmoid", 400, 50, np.random.RandomState(0))
    for values in (layer.weights, layer.biases):
        assert -1.0 <= values.min() < -0.98
        assert 0.98 < values.max() <= 1.0
        assert abs(values.mean()) < 0.1
    assert abs(layer.weights.var() - 1.0 / 3.0) < 0.01
    twice = layer.scaled(2.0)
    np.testing.assert_array_equal(twice.weights, 2.0 * layer.weights)
    np.testing.assert_array_equal(twice.biases, 2.0 * layer.biases)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_layer_fitted_to_the_data_ignores_its_units(make, rng):
    X, weight = rng.normal(3.0, [1.0, 5.0, 0.1], size=(50, 3)), rng.random(50)
    layer = HiddenBasis.random("tanh", 2000, 3, np.random.RandomState(0))
    outputs = layer.fitted_to(make(X), weight).transform(make(X))
    np.testing.assert_allclose(
        layer.fitted_to(make(X * 1e6), weight).transform(make(X * 1e6)), outputs, rtol=1e-9
    )
    np.testing.assert_allclose(layer.fitted_to(X + 7.0, weight).transform(X + 7.0), outputs, rtol=1e-9)
    before = np.arctanh(outputs) - layer.biases
    assert abs(np.average(np.square(before), axis=0, weights=weight).mean() - 1.0) < 0.05


def kernel_basis(X):
    return KernelBasis(Kernel("rbf", 0.5), X, np.arange(10, 10 + X.shape[0]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_kept_and_merged(make, rng):
    X = rng.normal(size=(6, 3))
    bases = {
        "kernel": kernel_basis(make(X)),
        "hidden": HiddenBasis.random("sine", 6, 3, np.random.RandomState(0)),
        "identity": IdentityBasis(3),
    }
    for name, basis in bases.items():
        whole = basis.transform(X)
        kept = basis.kept(np.array([0, 2]))
        np.testing.assert_allclose(kept.transform(X), whole[:, [0, 2]], rtol=1e-12)
        np.testing.assert_array_equal(kept.numbers, basis.numbers[[0, 2]])
        if name == "identity":
            continue
        merged = type(basis).merged([basis.kept(np.array([4, 5])), kept, basis.kept(np.array([2, 5]))])
        np.testing.assert_array_equal(merged.numbers, basis.numbers[[0, 2, 4, 5]])
        np.testing.assert_allclose(merged.transform(X), whole[:, [0, 2, 4, 5]], rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scales_of_features(make, dtype, rng):
    X, scales = rng.normal(size=(6, 3)).astype(dtype), np.array([0.5, 0.0, 3.0])
    basis = KernelBasis(Kernel("rbf", 0.5), make(X), np.arange(6), np.linspace(0.1, 1, 6), None, scales)
    Z = X.astype(float) * scales
    expected = np.exp(-np.linspace(0.1, 1, 6) * np.square(Z[:, None] - Z).sum(axis=2))
    assert basis.transform(make(X)).dtype == dtype
    np.testing.assert_allclose(
        basis.transform(make(X)), expected, rtol=1e-12 if dtype is np.float64 else 1e-6
    )
    active = np.array([1, 4])
    np.testing.assert_allclose(basis.kept(active).transform(make(X)), expected[:, active], rtol=1e-5)


def test_a_matrix_is_held_up_to_a_limit(rng):
    X = rng.normal(size=(20, 3))
    assert isinstance(as_matrix(kernel_basis(X), X, HoldLimit(20, 0), 1), np.ndarray)
    assert isinstance(as_matrix(kernel_basis(X), X, HoldLimit(19, 10**6), 1), ComputedDesign)
    few = kernel_basis(X).kept(np.arange(10))
    assert isinstance(as_matrix(few, X, HoldLimit(10, 200), 1), np.ndarray)
    assert isinstance(as_matrix(few, X, HoldLimit(10, 199), 1), ComputedDesign)
    assert as_matrix(IdentityBasis(3), X, None, 1) is X


@given(st.integers(0, 1000))
def test_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(12, 2)) * 1.0
    X[X == 0.0] *= rng.choice([-1.0, 1.0])  # -0.0 is 0.0
    weight = rng.integers(1, 4, size=12).astype(float)
    codes = rng.integers(0, 3, size=12)
    shuffled = rng.permutation(12)
    for make in (np.asarray, sp.csr_array):
        rows = DistinctRows.of(make(X))
        expected = {tuple(row) for row in X.tolist()}
        assert len(rows.first) == len(expected) == len({tuple(X[k]) for k in rows.first})
        np.testing.assert_array_equal(X[rows.first][rows.inverse], X)
        for k, first in enumerate(rows.first):
            same = (X[first] == X).all(axis=1)
            assert first == np.flatnonzero(same)[0]
            assert rows.total(weight)[k] == weight[same].sum()
            shares = np.bincount(codes[same], weights=weight[same], minlength=3)
            np.testing.assert_array_equal(rows.class_weights(codes, weight)[k], shares[: codes.max() + 1])
        again = DistinctRows.of(make(X[shuffled]))
        np.testing.assert_array_equal(X[shuffled][again.first], X[rows.first])


def test_candidates_cover_the_data_and_its_classes(rng):
    # Five clusters, the smallest of ten rows in a thousand: uniform draws would rarely meet it.
    sizes = [500, 300, 100, 90, 10]
    X = np.concatenate([rng.normal(10.0 * k, 0.1, size=(n, 2)) for k, n in enumerate(sizes)])
    codes = np.repeat([0, 1, 0, 1, 1], sizes)
    chosen = candidate_rows(X, codes, np.ones(1000), 20, np.random.RandomState(0))
    assert len(chosen) == len(set(chosen)) == 20
    assert set(np.round(X[chosen, 0] / 10.0)) == {0, 1, 2, 3, 4}
    assert np.count_nonzero(codes[chosen] == 0) == 12  # 600 of 1000 rows
    np.testing.assert_array_equal(
        chosen, candidate_rows(X, codes, np.ones(1000), 20, np.random.RandomState(0))
    )


def test_candidates_of_a_rare_class(rng):
    X, codes = rng.normal(size=(500, 2)), (np.arange(500) < 2).astype(int)
    chosen = candidate_rows(sp.csr_array(X), codes, np.ones(500), 10, np.random.RandomState(0))
    assert np.count_nonzero(codes[chosen] == 1) == 1
