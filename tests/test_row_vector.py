"""Vectors in parts: the same entries as arrays, and sums that depend on the parts alone."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebayes.design import Here, RowBlocks, RowVector, as_design, rowwise, rowwise_with_totals
from sparsebayes.objective import MOVES, Objective
from tests.models import rows

N_ROWS, BLOCK_ROWS = 23, 7


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def blocks(request):
    return RowBlocks.of_matrix(np.ones((N_ROWS, 2)), BLOCK_ROWS, Here(request.param))


@pytest.fixture
def pair(rng):
    return rng.standard_normal(N_ROWS), rng.standard_normal(N_ROWS)


def by_hand(parts):
    """Of four parts."""
    a, b, c, d = parts
    return (a + b) + (c + d)


def test_arithmetic_is_that_of_arrays(blocks, pair):
    a, b = pair
    A, B = (RowVector.of(blocks, values) for values in pair)
    for found, expected in (
        (A + B, a + b),
        (2.0 * A - 1.0, 2.0 * a - 1.0),
        (a * B, a * b),
        (np.exp(-np.abs(A)), np.exp(-np.abs(a))),
        (A / 3.0, a / 3.0),
    ):
        assert isinstance(found, RowVector)
        assert np.array_equal(np.asarray(found), expected)
    assert len(A) == N_ROWS
    assert A.shape == (N_ROWS,)
    with pytest.raises(TypeError):
        a += A  # an array takes no parts


def test_sums_are_added_up_in_a_tree_of_the_parts(blocks, pair):
    a, b = pair
    A, B = (RowVector.of(blocks, values) for values in pair)
    parts = [slice(start, start + BLOCK_ROWS) for start in range(0, N_ROWS, BLOCK_ROWS)]
    products = by_hand([a[part] @ b[part] for part in parts])
    assert A @ B == A @ b == a @ B == products
    assert A.sum() == by_hand([a[part].sum() for part in parts])


def test_arithmetic_fetches_nothing(blocks, pair, monkeypatch):
    A, B = (RowVector.of(blocks, values) for values in pair)
    monkeypatch.setattr(RowVector, "__array__", None)
    assert isinstance(np.exp(A * B - 2.0) / A, RowVector)
    assert isinstance(A @ B, float)


def test_functions_of_rows(blocks, pair):
    a, b = pair
    A, B = (RowVector.of(blocks, values) for values in pair)

    def both(x, y, factor, nothing):
        assert nothing is None
        return x + factor * y, x * y, np.array([x.sum(), 1.0])

    assert np.array_equal(np.asarray(rowwise(np.hypot, A, B)), np.hypot(a, b))
    assert np.array_equal(rowwise(np.hypot, a, b), np.hypot(a, b))
    for values in ((A, B), (A, b), (a, B)):
        moved, product, (total, n_parts) = rowwise_with_totals(both, 2, *values, 0.5, None)
        assert np.array_equal(np.asarray(moved), a + 0.5 * b)
        assert np.array_equal(np.asarray(product), a * b)
        assert total == A.sum()
        assert n_parts == len(blocks.blocks)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_on_parts_is_that_on_arrays(weighted):
    X, y = rows(60, 0, 2)
    weight = np.arange(60.0) if weighted else None
    alpha = np.linspace(0.1, 2.0, X.shape[1])
    whole = Objective(as_design(X)[0], y.astype(float), alpha, weight)
    blocks = RowBlocks.of_matrix(X, 25)
    own_weight = None if weight is None else RowVector.of(blocks, weight)
    parts = Objective(as_design(blocks)[0], RowVector.of(blocks, y.astype(float)), alpha, own_weight)
    w = np.linspace(-1.0, 1.0, X.shape[1])
    close = {"rtol": 1e-12, "atol": 1e-10}
    points = [each.at(w.copy()) for each in (whole, parts)]
    for _ in range(MOVES + 2):  # beyond the one where margins are made anew
        gradients = [each.grad(point) for each, point in zip((whole, parts), points, strict=True)]
        np.testing.assert_allclose(*gradients, **close)
        p = -gradients[0] / np.abs(gradients[0]).max()
        rays = [
            each.along(point, p, float(gradient @ p))
            for each, point, gradient in zip((whole, parts), points, gradients, strict=True)
        ]
        trials = [ray.at(0.01) for ray in rays]
        np.testing.assert_allclose(trials[0].value, trials[1].value, **close)
        np.testing.assert_allclose(trials[0].slope, trials[1].slope, **close)
        points = [ray.step(trial)[0] for ray, trial in zip(rays, trials, strict=True)]
    assert points[1].n_moves < MOVES <= points[0].n_moves
    np.testing.assert_allclose(*(np.asarray(point.margins) for point in points), **close)
    margins = [point.margins for point in points]
    for verb in ("hess_diag", "hess"):
        np.testing.assert_allclose(
            getattr(whole, verb)(margins[0]), getattr(parts, verb)(margins[1]), **close
        )
    np.testing.assert_allclose(whole.hess_vec(margins[0], p), parts.hess_vec(margins[1], p), **close)
