"""What every design must do: subclass and give ``make`` and ``matrix``."""

from __future__ import annotations

import numpy as np


class DesignContract:
    """``make(X)`` builds the design of a dense array; products are compared with plain numpy."""

    tolerance = 1e-12

    def make(self, X):
        raise NotImplementedError

    def matrix(self, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 9)) * (rng.random((40, 9)) < 0.5)
        X[0] = 1.0
        X[:, 4] = 0.0  # empty: a design may leave it out
        return X

    def both(self):
        """The design, and the dense array in its order of columns."""
        X = self.matrix()
        design = self.make(X)
        padded = np.hstack([X, np.ones((len(X), 1))])
        return design, padded[:, design.columns]

    def close(self, actual, desired):
        assert actual.dtype == np.float64
        np.testing.assert_allclose(actual, desired, rtol=self.tolerance, atol=self.tolerance)

    def test_shape_and_columns(self):
        design, X = self.both()
        assert design.shape == X.shape
        assert len(set(design.columns.tolist())) == X.shape[1]
        assert 4 not in design.columns

    def test_matvec(self, rng):
        design, X = self.both()
        w = rng.normal(size=X.shape[1])
        self.close(design.matvec(w), X @ w)

    def test_rmatvec(self, rng):
        design, X = self.both()
        r = rng.normal(size=X.shape[0])
        self.close(design.rmatvec(r), X.T @ r)

    def test_rmatvec_into_a_given_array(self, rng):
        design, X = self.both()
        r = rng.normal(size=X.shape[0])
        out = np.full(X.shape[1], np.nan)
        assert design.rmatvec(r, out) is out
        self.close(out, X.T @ r)

    def test_sq_rmatvec(self, rng):
        design, X = self.both()
        h = rng.random(X.shape[0])
        self.close(design.sq_rmatvec(h), (X * X).T @ h)

    def test_rmatmat(self, rng):
        design, X = self.both()
        R = rng.normal(size=(X.shape[0], 3))
        self.close(design.rmatmat(R), X.T @ R)

    def test_gram(self, rng):
        design, X = self.both()
        h = rng.random(X.shape[0])
        self.close(design.gram(h), X.T @ np.diag(h) @ X)

    def test_row_blocks(self):
        design, X = self.both()
        rebuilt = np.full(X.shape, np.nan)
        for rows, block in design.row_blocks():
            rebuilt[rows] = block
        self.close(rebuilt, X)

    def test_take(self, rng):
        design, X = self.both()
        keep = rng.random(X.shape[1]) < 0.5
        taken = design.take(keep)
        np.testing.assert_array_equal(taken.columns, design.columns[keep])
        w = rng.normal(size=np.count_nonzero(keep))
        self.close(taken.matvec(w), X[:, keep] @ w)

    def test_narrow_is_take(self, rng):
        design, X = self.both()
        for share in (0.9, 0.2):
            keep = rng.random(X.shape[1]) < share
            keep[:2] = True, False
            design, X = design.narrow(keep), X[:, keep]
            w, r = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
            self.close(design.matvec(w), X @ w)
            self.close(design.rmatvec(r), X.T @ r)

    def test_take_nothing(self):
        design, X = self.both()
        empty = design.take(np.zeros(X.shape[1], dtype=bool))
        assert empty.shape == (X.shape[0], 0)
        self.close(empty.matvec(np.empty(0)), np.zeros(X.shape[0]))
        assert empty.rmatvec(np.ones(X.shape[0])).shape == (0,)
