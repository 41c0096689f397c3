"""Kernel functions in plain numpy and scipy, the same for training and for prediction.

With a and b rows of two matrices (dense or scipy.sparse), gamma, degree and coef0 in scikit-learn's sense::

    rbf          exp(-gamma ||a - b||^2)          laplacian   exp(-gamma ||a - b||_1)
    exponential  exp(-gamma ||a - b||)            cosine      <a, b> / (||a|| ||b||)
    poly         (gamma <a, b> + coef0)^degree    linear      <a, b>
    sigmoid      tanh(gamma <a, b> + coef0)

"exponential" is the paper's eq. 9 as printed, gamma = 1/sigma^2; "rbf" is what its text calls it. The kernels
of distances are exactly 0 below 1.5e-154, the square root of the smallest normal number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from sparsebayes._typing import AnyArray, IntVector, Matrix, Vector

KernelFunction = Callable[[Any, Any], AnyArray]
"""Two matrices of rows -> the matrix of kernel values."""

# Entries whose squares leave the range of a float, with room for the number of features.
HUGE, TINY = 2.0**480, 2.0**-480
LARGEST = float(np.finfo(np.float64).max)
# Share of the squared lengths of two rows below which the square of their difference has lost half its
# digits; share of all pairs up to which those are mended one by one, so many at a time.
CANCELLED = 1e-7
FEW = 0.02
CHUNK = 4096
# Below it, products of kernel values are subnormal numbers, which are many times slower than others, and
# nothing beside the 1 that a row has with itself.
LEAST_EXPONENT = 0.5 * float(np.log(np.finfo(np.float64).tiny))
OUT_OF_RANGE = "{} out of the range of a float: multiply X by a constant, or scale its features."


def sq_distances(A: Any, B: Any) -> Matrix:
    """||a - b||^2 in double precision; infinite where it is out of range."""
    A, B = _double(A), _double(B)
    if 0.0 < max(peak_of(A), peak_of(B)) < TINY:
        factor = 2.0**500
        return sq_distances(A * factor, B * factor) / factor / factor
    with np.errstate(over="ignore", invalid="ignore"):
        squares = _expanded(A, B)
        # Rows whose squares overflow are taken one by one, so that they do not matter to the others.
        for i in _huge_rows(A):
            squares[i] = _from_a_huge_row(A[[i]], B)
        for j in _huge_rows(B):
            squares[:, j] = _from_a_huge_row(B[[j]], A)
    return squares


def _expanded(A: Any, B: Any) -> Matrix:
    """||a||^2 + ||b||^2 - 2<a, b>, and by differences where that cancels."""
    dense = not sp.issparse(A) and not sp.issparse(B)
    # Far from the origin it would cancel for all.
    centre = _centre(B) if dense and len(B) else 0.0
    centred_a, centred_b = (A - centre, B - centre) if dense else (A, B)
    squares = dot(centred_a, centred_b)
    squares *= -2.0
    norms = sq_norms(centred_a)[:, None] + sq_norms(centred_b)
    squares += norms
    norms *= CANCELLED
    near = squares < norms
    n_near = np.count_nonzero(near)
    if dense and n_near > FEW * squares.size:
        return np.asarray(cdist(A, B, "sqeuclidean"))
    if n_near:
        rows, columns = np.nonzero(near)
        for k in range(0, n_near, CHUNK):
            i, j = rows[k : k + CHUNK], columns[k : k + CHUNK]
            squares[i, j] = sq_norms(A[i] - B[j])
    return squares


def _centre(B: Matrix) -> Vector:
    """Of the rows that are not huge, if there are any."""
    huge = _huge_rows(B)
    rest = np.delete(B, huge, axis=0) if 0 < len(huge) < len(B) else B
    return np.asarray(rest.mean(axis=0))


def _huge_rows(A: Any) -> IntVector:
    return np.flatnonzero(row_peaks(A) > HUGE) if peak_of(A) > HUGE else np.arange(0)


def _from_a_huge_row(row: Any, others: Any) -> Vector:
    exponent = int(np.frexp(peak_of(row))[1])
    factor = float(np.ldexp(1.0, -exponent))
    return np.ldexp(_expanded(others * factor, row * factor)[:, 0], 2 * exponent)


def distances(A: Any, B: Any) -> Matrix:
    """||a - b||."""
    if 0.0 < max(peak_of(A), peak_of(B)) < TINY:
        factor = 2.0**500
        return distances(_double(A) * factor, _double(B) * factor) / factor
    squares = sq_distances(A, B)
    out = np.sqrt(squares, out=squares)
    # Rare: squares overflow where distances need not.
    for i, j in np.argwhere(np.isinf(out)):
        scaled = _double(A[[i]]) * 2.0**-600 - _double(B[[j]]) * 2.0**-600
        out[i, j] = np.sqrt(sq_norms(scaled)[0]) * 2.0**600
    return out


def manhattan_distances(A: Any, B: Any) -> Matrix:
    """||a - b||_1; of sparse rows, only the columns that b has are looked at one by one."""
    if not sp.issparse(A) and not sp.issparse(B):
        return np.asarray(cdist(A, B, "cityblock"))
    A, B = sp.csc_array(A, dtype=np.float64, copy=True), sp.csr_array(B, dtype=np.float64, copy=True)
    A.sum_duplicates()
    B.sum_duplicates()
    out = np.empty((A.shape[0], B.shape[0]))
    out[:] = np.asarray(abs(A).sum(axis=1)).reshape(-1, 1)
    for k in range(B.shape[0]):
        entries = slice(B.indptr[k], B.indptr[k + 1])
        theirs = A[:, B.indices[entries]].toarray()
        out[:, k] += np.abs(theirs - B.data[entries]).sum(axis=1) - np.abs(theirs).sum(axis=1)
    return np.maximum(out, 0.0)


def dot(A: Any, B: Any) -> Matrix:
    """<a, b>, dense."""
    product = A @ B.T
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def sq_norms(A: Any) -> Vector:
    squares = A.multiply(A).sum(axis=1) if sp.issparse(A) else np.einsum("ij,ij->i", A, A)
    return np.asarray(squares).ravel()


def peak_of(A: Any) -> float:
    """The largest absolute entry."""
    entries = A.data if sp.issparse(A) else A
    return float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))


def row_peaks(A: Any) -> Vector:
    """The largest absolute entry of each row; 0 where there are no columns."""
    if not A.shape[1]:
        return np.zeros(A.shape[0])
    if sp.issparse(A):
        return np.asarray(abs(sp.csr_matrix(A)).max(axis=1).toarray()).ravel()
    return np.asarray(np.abs(A).max(axis=1, initial=0.0))


def _double(A: Any) -> Any:
    return A.astype(np.float64, copy=False)


def decay(exponents: AnyArray) -> AnyArray:
    """exp(exponents), in their place; exactly 0 where the square of that is no normal number."""
    if exponents.min(initial=0.0) >= LEAST_EXPONENT:
        return np.exp(exponents, out=exponents)
    # The exponential is slow where it underflows: it is never asked to.
    enough = exponents >= LEAST_EXPONENT
    np.exp(np.maximum(exponents, LEAST_EXPONENT, out=exponents), out=exponents)
    return np.multiply(exponents, enough, out=exponents)


DISTANCES: dict[str, Callable[[Any, Any], Matrix]] = {
    "rbf": sq_distances,
    "laplacian": manhattan_distances,
    "exponential": distances,
}
NAMES = (*DISTANCES, "poly", "sigmoid", "linear", "cosine")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A named kernel with its numbers; an instance is called with two matrices of rows."""

    name: str
    gamma: float | Vector = 1.0  # a vector: one for each row of B
    degree: float = 3
    coef0: float = 1.0

    def __call__(self, A: Any, B: Any) -> AnyArray:
        """Computed in double precision up to the last step, which is in A's."""
        dtype = A.dtype
        if self.name in DISTANCES:
            exponents = DISTANCES[self.name](A, B)
            exponents *= np.negative(self.gamma)
            return decay(exponents.astype(dtype, copy=False))
        A, B = _double(A), _double(B)
        if self.name == "cosine":
            return dot(_normalised(A), _normalised(B)).astype(dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            values: AnyArray = self._of_products(dot(A, B)).astype(dtype, copy=False)
            if not np.isfinite(values.sum()) and not np.isfinite(values).all():
                raise ValueError(self._complaint())
        return values

    def _of_products(self, products: Matrix) -> Matrix:
        if self.name == "linear":
            return products
        products *= self.gamma
        products += self.coef0
        return np.asarray(products**self.degree) if self.name == "poly" else np.tanh(products, out=products)

    def _complaint(self) -> str:
        if self.name == "poly" and self.degree != int(self.degree):
            return f"The power {self.degree} of a negative number is not real: raise coef0 or round degree."
        return OUT_OF_RANGE.format(f"Values of the kernel {self.name!r} are")


def _normalised(A: Any) -> Any:
    """Rows of length 1; a row of zeros stays. First by their peaks, so that squares stay in range."""
    A = _over(A, row_peaks(A))
    return _over(A, np.sqrt(sq_norms(A)))


def _over(A: Any, divisor: Vector) -> Any:
    """Rows over a number each, over 1 where that is 0."""
    divisor = np.where(divisor > 0.0, divisor, 1.0)
    if sp.issparse(A):
        return sp.csr_array(A).multiply(1.0 / divisor[:, None]).tocsr()
    return A / divisor[:, None]


def median_distance(name: str, X: Any, weight: Vector) -> float:
    """Median over pairs of different rows of the distance that the kernel exponentiates.

    A pair counts the product of its rows' weights. Kernels of inner products take the squared
    Euclidean distance, which has the units of an inner product. 1 where there is no pair.
    """
    if len(weight) < 2:
        return 1.0
    return median_of_pairs(DISTANCES.get(name, sq_distances)(X, X), weight)


def median_of_pairs(values: Matrix, weight: Vector) -> float:
    """The same of a symmetric matrix that is known."""
    pairs = ~np.tri(len(weight), dtype=bool)
    if weight.min() == weight.max():
        return float(np.median(values[pairs], overwrite_input=True))
    weight = weight / weight.max()  # products of weights are to stay in range
    return weighted_median(values[pairs], np.outer(weight, weight)[pairs])


def weighted_median(values: Vector, weight: Vector) -> float:
    """A value with half of the weight on either side; between two such values, their mean."""
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weight[order])
    half = 0.5 * below[-1]
    # Sums of weights carry rounding, which must not decide between the middle of two values and one.
    slack = 1e-12 * below[-1]
    low = int(np.searchsorted(below, half - slack))
    high = min(int(np.searchsorted(below, half + slack, side="right")), len(values) - 1)
    return (float(values[low]) + float(values[high])) / 2.0


def weighted_variance(X: Any, weight: Vector) -> float:
    """Variance of all entries of X, each counting its row's weight (that of gamma="scale")."""
    total = float(weight.sum()) * int(X.shape[1])
    mean = float(np.asarray(X.T @ weight).sum()) / total
    if sp.issparse(X):
        return max(float(weight @ sq_norms(X)) / total - mean * mean, 0.0)
    return float(weight @ sq_norms(X - mean)) / total


def scaled(X: Any, scales: Vector) -> Any:
    """Features times a number each, in double precision; those with a scale of 0 are left out."""
    seen = np.flatnonzero(scales)
    with np.errstate(over="ignore"):
        product = X[:, seen] @ sp.diags_array(scales[seen]) if sp.issparse(X) else X[:, seen] * scales[seen]
    entries = product.data if sp.issparse(product) else product
    np.clip(entries, -LARGEST, LARGEST, out=entries)
    return product


@dataclass(frozen=True, slots=True)
class UserKernel:
    """A kernel that the user gave as a function; what it returns is checked."""

    function: KernelFunction

    def __call__(self, A: Any, B: Any) -> AnyArray:
        shape = (A.shape[0], B.shape[0])
        # A copy: the array may be the user's own. Without vectors the user's function is not asked.
        values = np.array(self.function(A, B)) if shape[1] else np.empty(shape)
        if values.shape != shape or values.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel must return a real array of shape {shape}: a row for each row of its first "
                f"argument, a column for each of its second. Got shape {values.shape}, dtype {values.dtype}."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel returned NaN or infinity.")
        return values.astype(np.result_type(values.dtype, np.float32), copy=False)
