"""A design over a dense array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import blas

from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, Vector

# Elements of a row block that is squared, weighted or widened to double precision before a
# product: 4 MB, so that the temporary stays in cache and memory stays that of the data.
BLOCK_ELEMENTS = 1 << 19
# Deviations from the mean below so many units in the last place of the largest entry are rounding.
CONSTANT_COLUMN = 16.0


class DenseDesign:
    """X as a float64 or float32 array of either order; arithmetic is in double precision."""

    def __init__(self, array: AnyArray, columns: IntVector, owned: bool = False) -> None:
        self._array = array
        self.columns = columns
        self._owned = owned  # the array may be overwritten, together with this design

    @classmethod
    def from_array(cls, array: AnyArray, owned: bool = False) -> DenseDesign:
        """The array without its zero columns, laid out alike; not copied where there are none."""
        design = cls(array, np.arange(array.shape[1]), owned)
        filled = np.flatnonzero(design.peak() > 0.0)
        if len(filled) == array.shape[1]:
            return design
        by_rows = array.flags.c_contiguous
        kept = np.take(array, filled, axis=1) if by_rows else np.take(array.T, filled, axis=0).T
        return cls(kept, filled, owned=True)

    @property
    def shape(self) -> tuple[int, int]:
        return self._array.shape[0], self._array.shape[1]

    def matvec(self, w: Vector) -> Vector:
        if self._array.dtype == np.float64:
            return np.asarray(self._array @ w)
        out = np.empty(self.shape[0])
        for rows, block in self.row_blocks():
            out[rows] = block @ w
        return out

    def rmatvec(self, r: Vector, out: Vector | None = None) -> Vector:
        out = np.empty(self.shape[1]) if out is None else out
        if self._array.dtype == np.float64:
            return np.matmul(self._array.T, r, out=out)
        out[:] = 0.0
        for rows, block in self.row_blocks():
            out += block.T @ r[rows]
        return out

    def sq_rmatvec(self, h: Vector) -> Vector:
        out = np.zeros(self.shape[1])
        for rows, block in self.row_blocks():
            out += np.square(block).T @ h[rows]
        return out

    def rmatmat(self, R: Matrix) -> Matrix:
        out = np.zeros((self.shape[1], R.shape[1]))
        for rows, block in self.row_blocks():
            out += block.T @ R[rows]
        return out

    def gram(self, h: Vector) -> Matrix:
        # One triangle, which is half the work, and without a temporary of its size for every block.
        out = np.zeros((self.shape[1], self.shape[1]), order="F")
        for rows, block in self.row_blocks() if out.size else ():
            out = blas.dsyrk(1.0, (np.sqrt(h[rows, None]) * block).T, beta=1.0, c=out, overwrite_c=1)
        out += out.T
        np.einsum("ii->i", out)[:] *= 0.5
        return out

    def take(self, keep: Mask) -> DenseDesign:
        return DenseDesign(self._array[:, keep], self.columns[keep], owned=True)

    def narrow(self, keep: Mask) -> DenseDesign:
        return self.take(keep)  # the array may be the caller's

    def centred(self, share: Vector) -> tuple[DenseDesign, Vector]:
        """Columns less their means, weighted by ``share``, and the means; constant ones are dropped."""
        means = self.rmatvec(share)
        rounding = CONSTANT_COLUMN * float(np.finfo(self._array.dtype).eps) * self.peak()
        centred = self._array if self._owned else np.empty_like(self._array)
        np.subtract(self._array, means, out=centred, casting="same_kind")
        design = DenseDesign(centred, self.columns, owned=True)
        varying = design.peak() > rounding
        return (design if varying.all() else design.take(varying)), means[varying]

    def peak(self) -> Vector:
        high = self._array.max(axis=0, initial=0.0)
        low = self._array.min(axis=0, initial=0.0)
        return np.asarray(np.maximum(high, -low), dtype=np.float64)

    def varying(self) -> Mask:
        """Columns that are not constant."""
        return np.asarray(self._array.max(axis=0) > self._array.min(axis=0))

    def shifted(self, exponent: AnyArray) -> DenseDesign:
        return DenseDesign(np.ldexp(self._array, -exponent), self.columns, owned=True)

    def divided(self, divisor: Vector) -> DenseDesign:
        quotient = self._array if self._owned else np.empty_like(self._array)
        np.divide(self._array, divisor, out=quotient, casting="same_kind")
        return DenseDesign(quotient, self.columns, owned=True)

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        for rows in row_slices(self.shape):
            yield rows, self._array[rows].astype(np.float64, copy=False)


def row_slices(shape: tuple[int, int]) -> Iterator[slice]:
    """Slices of rows holding ``BLOCK_ELEMENTS`` elements each."""
    n_rows, n_columns = shape
    height = max(BLOCK_ELEMENTS // max(n_columns, 1), 1)
    for start in range(0, n_rows, height):
        yield slice(start, min(start + height, n_rows))
