"""The kernels against scikit-learn's, and the numbers taken from the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import pairwise

from sparsebayes import kernels
from sparsebayes.kernels import Kernel, UserKernel, weighted_median

GAMMA, DEGREE, COEF0 = 0.3, 2, 0.7
THEIRS = {
    "rbf": lambda A, B: pairwise.rbf_kernel(A, B, gamma=GAMMA),
    "laplacian": lambda A, B: pairwise.laplacian_kernel(A, B, gamma=GAMMA),
    # Eq. 9 as printed; scikit-learn has only the distance.
    "exponential": lambda A, B: np.exp(-GAMMA * pairwise.euclidean_distances(A, B)),
    "poly": lambda A, B: pairwise.polynomial_kernel(A, B, degree=DEGREE, gamma=GAMMA, coef0=COEF0),
    "sigmoid": lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=GAMMA, coef0=COEF0),
    "linear": lambda A, B: pairwise.linear_kernel(A, B),
    "cosine": lambda A, B: pairwise.cosine_similarity(A, B),
}


@pytest.fixture
def rows(rng):
    A, B = rng.normal(size=(20, 5)), rng.normal(size=(7, 5))
    A[rng.random(A.shape) < 0.4] = 0.0
    A[3] = 0.0  # a row without a length
    return A, B


def test_every_kernel_is_compared():
    assert set(THEIRS) == set(kernels.NAMES)


@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.parametrize("form", ["dense", "sparse", "sparse rows", "sparse vectors"])
def test_equals_scikit_learn(name, form, rows):
    A, B = rows
    ours = Kernel(name, GAMMA, DEGREE, COEF0)(
        sp.csr_array(A) if form in ("sparse", "sparse rows") else A,
        sp.csr_array(B) if form in ("sparse", "sparse vectors") else B,
    )
    assert isinstance(ours, np.ndarray)
    np.testing.assert_allclose(ours, THEIRS[name](A, B), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_single_precision_stays(name, make, rows):
    A, B = (make(matrix.astype(np.float32)) for matrix in rows)
    ours = Kernel(name, GAMMA, DEGREE, COEF0)(A, B)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, THEIRS[name](*rows), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", kernels.DISTANCES)
@pytest.mark.parametrize("gammas", [1.0, np.array([1.0, 4.0])])
def test_values_whose_products_would_be_subnormal_are_zero(name, gammas):
    smallest = np.finfo(np.float64).tiny
    last = 0.5 * -np.log(smallest)
    distances = np.array([0.0, 1.0, 0.999 * last, 1.001 * last, 600.0, 740.0, 1e5])
    A = np.sqrt(distances)[:, None] if name == "rbf" else distances[:, None]
    ours = Kernel(name, gammas)(A, np.zeros((2, 1)))
    exact = np.exp(-distances[:, None] * np.broadcast_to(gammas, 2))
    np.testing.assert_allclose(ours, np.where(exact**2 < smallest, 0.0, exact), rtol=1e-12)
    assert (ours[3:] == 0.0).all()
    assert (np.square(ours[ours > 0.0]) >= smallest).all()


@pytest.mark.parametrize("name", kernels.NAMES)
def test_no_vectors(name, rows):
    assert Kernel(name)(rows[0], rows[1][:0]).shape == (20, 0)


def test_rows_far_from_the_origin_keep_their_distances(rows):
    """||a||^2 + ||b||^2 - 2<a, b> would lose all digits here."""
    A, B = rows
    shifted = Kernel("rbf", GAMMA)(A + 1e8, B + 1e8)
    exact = np.square((A + 1e8)[:, None] - (B + 1e8)[None]).sum(axis=2)
    np.testing.assert_allclose(shifted, np.exp(-GAMMA * exact), rtol=1e-10)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "exponential", "cosine"])
@pytest.mark.parametrize("factor", [1e-150, 1e150, 1e300])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_huge_and_tiny_rows(name, factor, make, rows):
    """Squares leave the range of a float, distances need not: rows apart are apart, and none is NaN."""
    A, B = (make(factor * matrix) for matrix in rows)
    gamma = GAMMA / factor if name in ("laplacian", "exponential") else 1.0
    ours = Kernel(name, gamma)(A, B)
    if name == "rbf":
        np.testing.assert_array_equal(ours, 1.0 if factor < 1.0 else 0.0)
    else:
        np.testing.assert_allclose(ours, THEIRS[name](*rows), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", kernels.NAMES)
def test_duplicate_entries_of_a_sparse_matrix(name, rows):
    A, B = rows
    split = [sp.csr_array(M) for M in (A, B)]
    for matrix in split:  # each entry in two halves, side by side
        matrix.data = np.repeat(0.5 * matrix.data, 2)
        matrix.indices = np.repeat(matrix.indices, 2)
        matrix.indptr = 2 * matrix.indptr
    kernel = Kernel(name, GAMMA, DEGREE, COEF0)
    np.testing.assert_allclose(kernel(*split), kernel(A, B), rtol=1e-12, atol=1e-14)


def test_an_outlier_among_the_vectors(rows):
    """It drags the mean away from which distances are expanded."""
    A, B = rows[0], np.vstack([rows[1], np.full(5, 1e10)])
    exact = np.exp(-GAMMA * np.square(A[:, None] - B[None]).sum(axis=2))
    np.testing.assert_allclose(Kernel("rbf", GAMMA)(A, B), exact, rtol=1e-12, atol=1e-15)
    literal = np.exp(-GAMMA * np.sqrt(np.square(A[:, None] - B[None]).sum(axis=2)))
    np.testing.assert_allclose(Kernel("exponential", GAMMA)(A, B), literal, rtol=1e-12, atol=1e-15)


def test_a_row_is_at_no_distance_from_itself(rng):
    X = 1e3 + rng.normal(size=(200, 3))
    for name in ("rbf", "laplacian", "exponential"):
        for make in (np.asarray, sp.csr_array):
            np.testing.assert_array_equal(np.diagonal(Kernel(name, 1.0)(make(X), make(X))), 1.0)


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_values_out_of_range_are_refused(name, rows):
    with pytest.raises(ValueError, match=f"kernel '{name}' are out of the range"):
        Kernel(name)(1e200 * rows[0], 1e200 * rows[1])


def test_a_fractional_power_of_a_negative_number(rows):
    with pytest.raises(ValueError, match="raise coef0"):
        Kernel("poly", degree=2.5, coef0=0.0)(*rows)


def test_a_kernel_of_the_users_is_checked(rows):
    A, B = rows
    np.testing.assert_array_equal(UserKernel(lambda a, b: (a @ b.T).tolist())(A, B), A @ B.T)
    with pytest.raises(ValueError, match=r"real array of shape \(20, 7\).*Got shape \(7, 20\)"):
        UserKernel(lambda a, b: b @ a.T)(A, B)
    with pytest.raises(ValueError, match="NaN or infinity"):
        UserKernel(lambda a, b: np.full((20, 7), np.nan))(A, B)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=12),
)
def test_weighted_median_is_that_of_repeated_values(pairs):
    values, weight = np.array(pairs, dtype=float).T
    repeated = np.repeat(values, weight.astype(int))
    assert weighted_median(values, weight) == np.median(repeated)
    assert weighted_median(values, 0.3 * weight) == np.median(repeated)


def test_median_distance(rng):
    X, weight = rng.normal(size=(15, 3)), np.ones(15)
    theirs = {
        "rbf": pairwise.euclidean_distances(X, squared=True),
        "poly": pairwise.euclidean_distances(X, squared=True),
        "exponential": pairwise.euclidean_distances(X),
        "laplacian": pairwise.manhattan_distances(X),
    }
    for name, distances in theirs.items():
        median = np.median(distances[np.triu_indices(15, 1)])
        np.testing.assert_allclose(kernels.median_distance(name, X, weight), median, rtol=1e-12)
    assert kernels.median_distance("rbf", X[:1], weight[:1]) == 1.0
    assert kernels.median_distance("rbf", np.ones((4, 3)), weight[:4]) == 0.0


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_weighted_variance_is_that_of_repeated_rows(make, rng):
    X, weight = rng.normal(1.0, size=(15, 3)), rng.integers(1, 4, size=15)
    repeated = np.repeat(X, weight, axis=0)
    ours = kernels.weighted_variance(make(X), weight.astype(float))
    np.testing.assert_allclose(ours, repeated.var(), rtol=1e-12)


def test_a_huge_row_does_not_matter_to_the_others(rng):
    A = rng.standard_normal((20, 3))
    expected = kernels.sq_distances(A, A)
    A[7, 1] = 1e160
    found = kernels.sq_distances(A, A)
    others = np.delete(np.arange(20), 7)
    np.testing.assert_allclose(found[np.ix_(others, others)], expected[np.ix_(others, others)], atol=1e-12)
    assert np.isinf(found[7, others]).all()
    assert found[7, 7] == 0.0
