"""Every storage against plain numpy, and the scaling of columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparsebayes.basis import KernelBasis, as_matrix
from sparsebayes.design import (
    ComputedDesign,
    Here,
    HoldLimit,
    Meter,
    Metered,
    RowBlocks,
    Threads,
    WithIntercept,
    as_design,
)
from sparsebayes.design import blocks as blocks_module
from sparsebayes.design import computed as computed_module
from sparsebayes.design import sparse as sparse_module
from sparsebayes.design.dense import DenseDesign
from sparsebayes.design.threads import THREADS_PAY_FROM, automatic_count
from sparsebayes.kernels import Kernel
from tests.contracts.design import DesignContract


class TestDense(DesignContract):
    def make(self, X):
        return as_design(X)[0]


class TestDenseFortranOrder(DesignContract):
    def make(self, X):
        return as_design(np.asfortranarray(X))[0]


class TestDenseFloat32(DesignContract):
    """Data in single precision, arithmetic in double: exact on data that both can hold."""

    def matrix(self, seed=0):
        return super().matrix(seed).astype(np.float32).astype(np.float64)

    def make(self, X):
        return as_design(X.astype(np.float32))[0]


class TestCSR(DesignContract):
    def make(self, X):
        return as_design(sp.csr_array(X))[0]


class TestCSC(DesignContract):
    def make(self, X):
        return as_design(sp.csc_matrix(X))[0]


class TestSparseFloat32(TestDenseFloat32):
    def make(self, X):
        return as_design(sp.csr_array(X.astype(np.float32)))[0]


class TestTiles(TestCSR):
    @pytest.fixture(autouse=True)
    def low_tiles(self, monkeypatch):
        monkeypatch.setattr(sparse_module, "TILE_ROWS", 7)

    def make(self, X):
        design = super().make(X)
        assert len(design._tiles) > 3
        return design


class TestRowBlocks(DesignContract):
    """Blocks of sparse rows, of which the columns that are kept are held at once."""

    crew = Here()

    def make(self, X):
        return as_design(RowBlocks.of_matrix(sp.csr_array(X), 7, self.crew))[0]


class TestRowBlocksInThreads(TestRowBlocks):
    crew = Here(2)


class TestRowBlocksLoadedEachTime(TestRowBlocks):
    @pytest.fixture(autouse=True)
    def nothing_held(self, monkeypatch):
        monkeypatch.setattr(blocks_module, "HELD_ENTRIES", -1)


class TestDenseRowBlocks(DesignContract):
    def make(self, X):
        return as_design(RowBlocks.of_matrix(X, 7))[0]


class TestRowBlocksFloat32(TestDenseFloat32):
    def make(self, X):
        return as_design(RowBlocks.of_matrix(sp.csr_array(X.astype(np.float32)), 7))[0]


class ArraySource:
    """An array that is handed out by rows, as a kernel would be computed."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def rows(self, rows):
        return self.array[rows].copy()

    def take(self, columns):
        return ArraySource(self.array[:, columns])


class TestComputed(DesignContract):
    """In blocks on the fly; columns of nothing but zeros are not known before they are computed."""

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(computed_module, "BLOCK_ROWS", 7)
        monkeypatch.setattr(computed_module, "BLOCK_COLUMNS", 4)
        monkeypatch.setattr(computed_module, "MAX_BANDS", 3)

    def matrix(self, seed=0):
        X = super().matrix(seed)
        X[:, 4] = 1.0
        return X

    def make(self, X):
        design = as_design(ComputedDesign(ArraySource(X), Threads(2), HoldLimit(0, 0)))[0]
        assert isinstance(design, ComputedDesign)
        assert len(design._bands) == 3
        assert len(design._parts) == 3
        return design

    def test_shape_and_columns(self):
        design, X = self.both()
        assert design.shape == X.shape
        np.testing.assert_array_equal(design.columns, np.arange(X.shape[1]))

    @pytest.mark.parametrize("limit", [HoldLimit(0, 0), HoldLimit(1000, 10**6)])
    @pytest.mark.parametrize("scale", ["columns", "common"])
    def test_scaled_and_centred_as_an_array_is(self, limit, scale, rng):
        X = self.matrix() + 3.0
        weight = rng.random(len(X))
        arguments = {"scale": scale, "centre": True, "weight": weight}
        held, expected = as_design(X, **arguments)
        design, actual = as_design(ComputedDesign(ArraySource(X), Threads(1), limit), **arguments)
        np.testing.assert_array_equal(design.columns, held.columns)  # without the constant one
        assert 4 not in design.columns
        for name in ("divisor", "exponent", "offset"):
            left, right = getattr(actual, name), getattr(expected, name)
            np.testing.assert_allclose(left[design.columns], right[design.columns], rtol=1e-12)
        w = rng.normal(size=design.shape[1])
        np.testing.assert_allclose(design.matvec(w), held.matvec(w), rtol=1e-12, atol=1e-12)

    def test_held_once_few_entries_are_left(self):
        X = self.matrix()
        design = ComputedDesign(ArraySource(X), Threads(1), HoldLimit(2, 2 * len(X)))
        keep = np.zeros(X.shape[1], dtype=bool)
        keep[[1, 6]] = True
        taken = design.take(keep)
        assert isinstance(taken, DenseDesign)
        np.testing.assert_array_equal(taken.columns, [1, 6])
        keep[2] = True
        assert isinstance(design.take(keep), ComputedDesign)

    def test_same_bits_with_any_number_of_threads(self, rng):
        X, r = rng.normal(size=(40, 9)), rng.normal(size=40)
        one, three = (ComputedDesign(ArraySource(X), Threads(n), HoldLimit(0, 0)).rmatvec(r) for n in (1, 3))
        np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-10)])
def test_kernel_in_blocks_equals_the_held_matrix(dtype, tolerance, rng):
    X = rng.normal(size=(1500, 6)).astype(dtype)
    basis = KernelBasis(Kernel("rbf", 0.2), X, np.arange(1500))
    held, blocks = as_design(basis.transform(X))[0], as_matrix(basis, X, HoldLimit(30, 1000), 2)
    assert isinstance(blocks, ComputedDesign)
    w, h = rng.normal(size=1500), rng.random(1500)
    for verb, vector in [("matvec", w), ("rmatvec", w), ("sq_rmatvec", h)]:
        expected = getattr(held, verb)(vector)
        error = np.abs(getattr(blocks, verb)(vector) - expected).max()
        assert error <= tolerance * np.abs(expected).max(), verb


class TestManyBlocksAndThreads(DesignContract):
    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(sparse_module, "BLOCK_NONZEROS", 1)

    def matrix(self, seed=0):
        # Rows count eightfold in a block's size, so a block of one column needs few of them.
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3, 200))
        X[:, 4] = 0.0
        return X

    def make(self, X):
        design = as_design(sp.csr_array(X), threads=3)[0]
        assert len(design._tiles[0].runs) > 10
        return design


class TestWithIntercept(DesignContract):
    def make(self, X):
        return WithIntercept(as_design(X)[0], X.shape[1])

    def test_can_be_dropped(self):
        design, X = self.both()
        keep = np.ones(X.shape[1], dtype=bool)
        keep[-1] = False
        np.testing.assert_array_equal(design.take(keep).columns, design.columns[:-1])


class TestMetered(DesignContract):
    def make(self, X):
        return Metered(as_design(X)[0], Meter())

    def test_counts_and_times(self):
        X = self.matrix()
        meter = Meter()
        design = Metered(as_design(X)[0], meter)
        design.matvec(np.ones(design.shape[1]))
        design.take(np.ones(design.shape[1], dtype=bool)).rmatvec(np.ones(len(X)))
        assert meter.counts == {"matvec": 1, "rmatvec": 1}
        assert meter.seconds > 0.0


def example():
    return sp.csr_array(sp.random(30, 12, density=0.4, random_state=1))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_any_format_gives_the_same_design(format, make, rng):
    X = example()
    reference, _ = as_design(X)
    design, _ = as_design(make(X).asformat(format))
    r = rng.normal(size=30)
    np.testing.assert_array_equal(design.columns, reference.columns)
    np.testing.assert_array_equal(design.rmatvec(r), reference.rmatvec(r))


def test_centring_is_undone_by_the_intercept_s_shift(rng):
    X = rng.normal(size=(30, 4))
    X[:, 1] += 3.0
    X[:, 2] -= 2e9
    X[:, 3] = 7.0
    weight = rng.random(30)
    design, scale = as_design(X, scale="columns", centre=True, weight=weight)
    np.testing.assert_array_equal(design.columns, [0, 1, 2])
    # The mean of the third is rounded to 2e-7; the rounded one is what is taken off and remembered.
    np.testing.assert_allclose(design.rmatvec(weight / weight.sum()), 0.0, atol=1e-6)
    np.testing.assert_allclose(design.sq_rmatvec(weight / weight.sum()), 1.0, rtol=1e-6)
    w = rng.normal(size=3)
    coef = scale.coefficients(w, design.columns)
    margins = X[:, :3] @ coef - scale.intercept_shift(coef, design.columns)
    np.testing.assert_allclose(margins, design.matvec(w), atol=1e-5)  # 2e9 times rounding


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_float32_columns_are_scaled_in_double_precision(make):
    X = example().toarray().astype(np.float32)
    design, scale = as_design(make(X), scale="columns")
    reference, _ = as_design(make(X.astype(np.float64)), scale="columns")
    np.testing.assert_array_equal(design.columns, reference.columns)
    desired = np.vstack([block for _, block in reference.row_blocks()]).astype(np.float32)
    np.testing.assert_array_equal(np.vstack([block for _, block in design.row_blocks()]), desired)
    assert scale.divisor.dtype == np.float64


def test_columns_come_by_frequency():
    X = example()
    design, _ = as_design(X)
    counts = np.bincount(X.indices, minlength=12)[design.columns]
    assert (np.diff(counts) <= 0).all()


def test_unsorted_duplicate_and_zero_entries_are_made_canonical_on_a_copy():
    X = sp.csr_matrix(
        (np.array([1.0, 2.0, 5.0, 0.0, 3.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 4, 5])), shape=(2, 3)
    )
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    design, _ = as_design(X)
    dense = np.array([[2.0, 0.0, 6.0], [0.0, 3.0, 0.0]])
    np.testing.assert_array_equal(design.matvec(np.ones(3)), dense.sum(axis=1))
    np.testing.assert_array_equal(design.rmatvec(np.ones(2)), dense.sum(axis=0)[design.columns])
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_64_bit_indices():
    X = example()
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    r = np.arange(30.0)
    np.testing.assert_array_equal(as_design(wide)[0].rmatvec(r), as_design(X)[0].rmatvec(r))


def test_blocks_are_views_not_copies(monkeypatch):
    monkeypatch.setattr(sparse_module, "BLOCK_NONZEROS", 1)
    design, _ = as_design(sp.random(2, 100, density=0.8, random_state=0))
    tile = design._tiles[0]
    assert len(tile.blocks) > 3
    for block in tile.blocks + tile.transposed:
        assert np.shares_memory(block.data, tile.data)
        assert np.shares_memory(block.indices, tile.indices)


def test_tiles_are_left_out_where_columns_are_too_short_for_them():
    """8 million rows in tiles, were it not for a million columns of one entry each."""
    assert len(sparse_module._tile_rows(8_000_000, 1_000_000, 1_000_000)) == 1
    assert len(sparse_module._tile_rows(8_000_000, 1_000_000, 40_000_000)) == 10
    assert len(sparse_module._tile_rows(8_000_000, 1_000, 400_000_000)) == 123
    assert len(sparse_module._tile_rows(60_000, 1_000, 400_000_000)) == 1


def test_column_scale_with_tiles(monkeypatch):
    X = example()
    whole = as_design(X, scale="columns")[0]
    monkeypatch.setattr(sparse_module, "TILE_ROWS", 7)
    tiled = as_design(X, scale="columns")[0]
    assert len(tiled._tiles) > 1
    r = np.linspace(-1, 1, 30)
    np.testing.assert_allclose(tiled.rmatvec(r), whole.rmatvec(r), rtol=1e-12)
    np.testing.assert_allclose(tiled.peak(), whole.peak(), rtol=1e-14)


def test_threads_are_taken_unasked_only_where_they_pay(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert automatic_count(THREADS_PAY_FROM - 1) == 1
    assert automatic_count(THREADS_PAY_FROM) == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert automatic_count(THREADS_PAY_FROM) == 3


def test_dense_input_is_not_copied():
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert np.shares_memory(as_design(X)[0]._array, X)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_column_scale(make, weighted, rng):
    X = example().toarray() * 10.0 ** rng.integers(-3, 4, size=12)
    weight = rng.random(30) if weighted else None
    design, scale = as_design(make(X), scale="columns", weight=weight)
    share = np.full(30, 1 / 30) if weight is None else weight / weight.sum()
    np.testing.assert_allclose(design.sq_rmatvec(share), 1.0, rtol=1e-12)
    w = rng.normal(size=12)
    coef = scale.coefficients(w, design.columns)
    np.testing.assert_allclose(design.matvec(w), X[:, design.columns] @ coef, rtol=1e-10)
    np.testing.assert_allclose(scale.weights(coef, design.columns), w, rtol=1e-14)
    alpha = rng.random(12)
    # alpha w^2 is the same number in both units.
    np.testing.assert_allclose(scale.precisions(alpha, design.columns) * coef**2, alpha * w**2, rtol=1e-12)
    np.testing.assert_allclose(
        scale.scaled_precisions(scale.precisions(alpha, design.columns), design.columns), alpha
    )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_common_scale_makes_rows_of_mean_square_length_one(make):
    design, _ = as_design(make(1e7 * example().toarray()), scale="common")
    assert design.sq_rmatvec(np.full(30, 1 / 30)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", ["columns", "common"])
@given(k=st.integers(-900, 900))
def test_scaled_designs_do_not_change_with_a_power_of_two(make, scale, k):
    X = example().toarray()
    r = np.linspace(-1, 1, 30)
    reference = as_design(make(X), scale=scale)[0].rmatvec(r)
    np.testing.assert_array_equal(as_design(make(np.ldexp(X, k)), scale=scale)[0].rmatvec(r), reference)


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        sp.csr_array,
        lambda X: RowBlocks.of_matrix(X, 7),
        lambda X: RowBlocks.of_matrix(sp.csr_array(X), 7),
    ],
    ids=["dense", "sparse", "dense blocks", "sparse blocks"],
)
def test_constant_columns_are_left_out(make, rng):
    X = rng.normal(size=(30, 6))
    X[:, 1], X[:, 4], X[:, 5] = 3.0, 0.0, -2.0
    X[-1, 5] = -2.0000000000000004
    design, scale = as_design(make(X), leave_out_constants=True)
    assert sorted(design.columns) == [0, 2, 3, 5]
    assert sorted(as_design(make(X))[0].columns) == [0, 1, 2, 3, 5]
    assert scale.divisor.shape == (6,)
