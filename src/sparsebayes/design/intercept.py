"""A column of ones, last, around any design."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsebayes._typing import IntVector, Mask, Matrix, RowValues, Vector
from sparsebayes.design.base import Design


class WithIntercept:
    """[X, 1]. The column of ones is called ``n_features``, one past the caller's last."""

    def __init__(self, inner: Design, n_features: int) -> None:
        self._inner = inner
        self._n_features = n_features

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, n_columns = self._inner.shape
        return n_rows, n_columns + 1

    @property
    def columns(self) -> IntVector:
        return np.append(self._inner.columns, self._n_features)

    def matvec(self, w: Vector) -> RowValues:
        return self._inner.matvec(w[:-1]) + w[-1]

    def rmatvec(self, r: RowValues, out: Vector | None = None) -> Vector:
        out = np.empty(self.shape[1]) if out is None else out
        self._inner.rmatvec(r, out[:-1])
        out[-1] = r.sum()
        return out

    def sq_rmatvec(self, h: RowValues) -> Vector:
        return np.append(self._inner.sq_rmatvec(h), h.sum())

    def rmatmat(self, R: Matrix) -> Matrix:
        return np.vstack([self._inner.rmatmat(R), R.sum(axis=0)])

    def gram(self, h: RowValues) -> Matrix:
        out = np.empty((self.shape[1], self.shape[1]))
        out[-1, :-1] = out[:-1, -1] = self._inner.rmatvec(h)  # before the sum of h, which comes along with it
        out[:-1, :-1] = self._inner.gram(h)
        out[-1, -1] = h.sum()
        return out

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        for rows, block in self._inner.row_blocks():
            yield rows, np.hstack([block, np.ones((len(block), 1))])

    def take(self, keep: Mask) -> Design:
        return self._around(self._inner.take(keep[:-1]), keep)

    def narrow(self, keep: Mask) -> Design:
        return self._around(self._inner.narrow(keep[:-1]), keep)

    def _around(self, inner: Design, keep: Mask) -> Design:
        return WithIntercept(inner, self._n_features) if keep[-1] else inner
