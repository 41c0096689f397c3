"""Pairwise coupling against its quadratic programme, and the consistency of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sparsebayes import multiclass


def random_pairs(rng, n, k):
    r = np.zeros((n, k, k))
    for i in range(k):
        for j in range(i + 1, k):
            r[:, i, j] = rng.uniform(0.01, 0.99, size=n)
            r[:, j, i] = 1.0 - r[:, i, j]
    return r


def programme(r):
    """min sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2 over the simplex, by a general solver."""
    k = len(r)

    def cost(p):
        terms = r.T * p[:, None] - r * p[None, :]
        return np.sum(terms[~np.eye(k, dtype=bool)] ** 2)

    simplex = {"type": "eq", "fun": lambda p: p.sum() - 1.0}
    options = {"ftol": 1e-15, "maxiter": 1000}
    start = np.full(k, 1.0 / k)
    return minimize(cost, start, method="SLSQP", bounds=[(0, 1)] * k, constraints=simplex, options=options).x


@pytest.mark.parametrize("k", [3, 4, 7])
def test_coupling_solves_the_quadratic_programme(k, rng):
    r = random_pairs(rng, 20, k)
    coupled = multiclass.couple(r)
    for pairs, p in zip(r, coupled, strict=True):
        np.testing.assert_allclose(p, programme(pairs), atol=2e-6)  # SLSQP's own precision
    assert (coupled > 0.0).all()
    np.testing.assert_allclose(coupled.sum(axis=1), 1.0, rtol=1e-14)


@given(seed=st.integers(0, 10_000), k=st.integers(3, 8))
def test_consistent_pairs_give_back_their_probabilities(seed, k):
    p = np.random.default_rng(seed).dirichlet(np.ones(k)) + 1e-3
    p /= p.sum()
    r = p[:, None] / (p[:, None] + p[None, :])
    np.fill_diagonal(r, 0.0)
    np.testing.assert_allclose(multiclass.couple(r[None])[0], p, rtol=1e-9)


def test_pair_probabilities_stand_where_decompose_puts_the_problems():
    codes = np.array([0, 1, 2, 3, 1])
    problems = multiclass.decompose(codes, 4, "ovo")
    margins = np.arange(6.0)[None]
    r = multiclass.pair_probabilities(margins, 4)[0]
    for column, problem in enumerate(problems):
        second = 1 / (1 + np.exp(-margins[0, column]))
        assert r[problem.positive, problem.negative] == pytest.approx(second)
        assert r[problem.negative, problem.positive] == pytest.approx(1 - second)
        np.testing.assert_array_equal(codes[problem.rows] == problem.positive, problem.labels == 1.0)


def test_one_vs_rest_normalises_the_sigmoids(rng):
    margins = rng.normal(size=(10, 4))
    p = multiclass.probabilities(multiclass.log_probabilities(margins, 4, "ovr"))
    sigmoids = 1 / (1 + np.exp(-margins))
    np.testing.assert_allclose(p, sigmoids / sigmoids.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize(("scheme", "n_problems"), [("ovo", 6), ("ovr", 4)])
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-8, 1.0, 30.0, 1e6]))
def test_scores_and_probabilities_agree_on_the_winner(scheme, n_problems, seed, scale):
    margins = scale * np.random.default_rng(seed).normal(size=(50, n_problems))
    log_p = multiclass.log_probabilities(margins, 4, scheme)
    p = multiclass.probabilities(log_p)
    assert np.isfinite(log_p).all()
    assert (p >= 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(p.argmax(axis=1), log_p.argmax(axis=1))


def test_blocks_of_samples_do_not_change_anything(monkeypatch, rng):
    margins = rng.normal(size=(100, 6))
    whole = multiclass.log_probabilities(margins, 4, "ovo")
    monkeypatch.setattr(multiclass, "BLOCK_ENTRIES", 25 * 7)
    np.testing.assert_array_equal(multiclass.log_probabilities(margins, 4, "ovo"), whole)


def test_two_classes_at_extreme_margins():
    margins = np.array([[-1e6], [-40.0], [0.0], [40.0], [1e6]])
    log_p = multiclass.log_probabilities(margins, 2, "ovo")
    p = multiclass.probabilities(log_p)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-15)
    assert p[1, 1] == pytest.approx(np.exp(-40.0), rel=1e-12)
