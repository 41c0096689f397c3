"""Kernel functions in plain numpy and scipy, the same for training and for prediction.

With a and b rows of two matrices (dense or scipy.sparse), gamma, degree and coef0 in scikit-learn's sense::

    rbf          exp(-gamma ||a - b||^2)          laplacian   exp(-gamma ||a - b||_1)
    exponential  exp(-gamma ||a - b||)            cosine      <a, b> / (||a|| ||b||)
    poly         (gamma <a, b> + coef0)^degree    linear      <a, b>
    sigmoid      tanh(gamma <a, b> + coef0)

"exponential" is the paper's eq. 9 as printed, gamma = 1/sigma^2; "rbf" is what its text calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from sparsebayes._typing import AnyArray, Vector

KernelFunction = Callable[[Any, Any], AnyArray]
"""Two matrices of rows -> the matrix of kernel values."""

OUT_OF_RANGE = "{} out of the range of a float: multiply X by a constant, or scale its features."


def sq_distances(A: Any, B: Any) -> AnyArray:
    """||a - b||^2, in the precision of A; infinite where it is out of range."""
    A, B, exponent = tamed(A, B)
    if not sp.issparse(A) and not sp.issparse(B) and len(B):
        # Far from the origin ||a||^2 + ||b||^2 - 2<a, b> cancels; near it, it does not.
        centre = B.mean(axis=0)
        A, B = A - centre, B - centre
    products = dot(A, B)
    products *= -2.0
    products += sq_norms(A)[:, None].astype(products.dtype, copy=False)
    products += sq_norms(B)[None, :].astype(products.dtype, copy=False)
    np.maximum(products, 0.0, out=products)
    return _shifted(products, 2 * exponent)


def distances(A: Any, B: Any) -> AnyArray:
    """||a - b||."""
    A, B, exponent = tamed(A, B)
    squares = sq_distances(A, B)
    return _shifted(np.sqrt(squares, out=squares), exponent)


def manhattan_distances(A: Any, B: Any) -> AnyArray:
    """||a - b||_1; of sparse rows, only the columns that b has are looked at one by one."""
    A, B, exponent = tamed(A, B)
    if not sp.issparse(A) and not sp.issparse(B):
        return _shifted(np.asarray(cdist(A, B, "cityblock"), dtype=A.dtype), exponent)
    A, B = sp.csc_array(A), sp.csr_array(B)
    absolute = abs(A)
    out = np.empty((A.shape[0], B.shape[0]))
    out[:] = np.asarray(absolute.sum(axis=1)).reshape(-1, 1)
    for k in range(B.shape[0]):
        entries = slice(B.indptr[k], B.indptr[k + 1])
        theirs = A[:, B.indices[entries]].toarray()
        out[:, k] += np.abs(theirs - B.data[entries]).sum(axis=1) - np.abs(theirs).sum(axis=1)
    return _shifted(np.maximum(out, 0.0).astype(A.dtype, copy=False), exponent)


def dot(A: Any, B: Any) -> AnyArray:
    """<a, b>, dense."""
    product = A @ B.T
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def tamed(A: Any, B: Any) -> tuple[Any, Any, int]:
    """A 2^-k, B 2^-k and k, which is 0 unless squares of entries would leave the range of a float."""
    limit = np.finfo(A.dtype).max ** 0.4
    peak = max(peak_of(A), peak_of(B))
    if peak == 0.0 or 1.0 / limit < peak < limit:
        return A, B, 0
    exponent = min(max(int(np.frexp(peak)[1]), -1000), 1000)
    factor = float(np.ldexp(1.0, -exponent))
    return A * factor, B * factor, exponent


def peak_of(A: Any) -> float:
    entries = A.data if sp.issparse(A) else A
    return float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))


def _shifted(values: AnyArray, exponent: int) -> AnyArray:
    if exponent == 0:
        return values
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(values, exponent)


def sq_norms(A: Any) -> AnyArray:
    squares = A.multiply(A).sum(axis=1) if sp.issparse(A) else np.einsum("ij,ij->i", A, A)
    return np.asarray(squares).ravel()


DISTANCES: dict[str, Callable[[Any, Any], AnyArray]] = {
    "rbf": sq_distances,
    "laplacian": manhattan_distances,
    "exponential": distances,
}
NAMES = (*DISTANCES, "poly", "sigmoid", "linear", "cosine")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A named kernel with its numbers; an instance is called with two matrices of rows."""

    name: str
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1.0

    def __call__(self, A: Any, B: Any) -> AnyArray:
        if self.name in DISTANCES:
            exponents = DISTANCES[self.name](A, B)
            exponents *= -self.gamma
            return np.exp(exponents, out=exponents)
        A, B, exponent = tamed(A, B)
        products = dot(A, B)
        if self.name == "cosine":
            products /= _lengths(A, products.dtype)[:, None]
            products /= _lengths(B, products.dtype)[None, :]
            return products
        with np.errstate(over="ignore", invalid="ignore"):
            products = self._of_products(_shifted(products, 2 * exponent))
            if not np.isfinite(products.sum()) and not np.isfinite(products).all():
                raise ValueError(OUT_OF_RANGE.format(f"Values of the kernel {self.name!r} are"))
        return products

    def _of_products(self, products: AnyArray) -> AnyArray:
        if self.name == "linear":
            return products
        products *= self.gamma
        products += self.coef0
        return np.asarray(products**self.degree) if self.name == "poly" else np.tanh(products, out=products)


def _lengths(A: Any, dtype: Any) -> AnyArray:
    """Euclidean lengths of rows; 1 for a row of zeros, whose cosine is then 0."""
    lengths = np.sqrt(sq_norms(A)).astype(dtype, copy=False)
    lengths[lengths == 0.0] = 1.0
    return lengths


def median_distance(name: str, X: Any, weight: Vector) -> float:
    """Median over pairs of different rows of the distance that the kernel exponentiates.

    A pair counts the product of its rows' weights. Kernels of inner products take the squared
    Euclidean distance, which has the units of an inner product. 1 where there is no pair.
    """
    if len(weight) < 2:
        return 1.0
    values = DISTANCES.get(name, sq_distances)(X, X)
    first, second = np.triu_indices(len(weight), 1)
    return weighted_median(values[first, second].astype(np.float64), weight[first] * weight[second])


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


@dataclass(frozen=True, slots=True)
class UserKernel:
    """A kernel that the user gave as a function; what it returns is checked."""

    function: KernelFunction

    def __call__(self, A: Any, B: Any) -> AnyArray:
        shape = (A.shape[0], B.shape[0])
        values = np.asarray(self.function(A, B))
        if values.shape != shape or values.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel must return a real array of shape {shape}: a row for each row of its first "
                f"argument, a column for each of its second. Got shape {values.shape}, dtype {values.dtype}."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel returned NaN or infinity.")
        return values.astype(np.result_type(values.dtype, np.float32), copy=False)
