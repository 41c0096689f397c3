"""Features scaled linearly to [-1, 1], as LIBSVM's ``svm-scale`` does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray

# 2 GiB of float64. Sets beyond are text, which the paper leaves as it is.
MAX_CELLS = 1 << 28


def scaled(X_train: Any, *others: Any) -> tuple[AnyArray, ...]:
    """The training part and others, by the least and largest values that the training part has.

    Entries that a sparse matrix does not store are zeros and count as such: they too are mapped, so that what
    comes back is dense. A feature with one value in the training part becomes zero everywhere. (The
    ``MinMaxScaler((-1, 1))`` of scikit-learn makes it -1, and agrees in all else.) Values of others may lie
    beyond [-1, 1].

    Parameters
    ----------
    X_train : array or sparse matrix of shape (n_rows, n_features)
    *others : arrays or sparse matrices with the same features

    Returns
    -------
    tuple of arrays
        One for each argument; float32 where that was float32, else float64.

    Examples
    --------
    >>> from sparsebayes.io.datasets import scaled
    >>> train, test = scaled([[0.0, 5.0], [4.0, 5.0]], [[1.0, 7.0], [6.0, 5.0]])
    >>> train
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> test
    array([[-0.5,  0. ],
           [ 2. ,  0. ]])
    """
    parts = [_dense(X) for X in (X_train, *others)]
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(f"All parts must have the same features. Got {sorted(widths)} of them.")
    low, high = parts[0].min(axis=0), parts[0].max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        span = high - low
    if not np.isfinite(span).all():
        raise ValueError("X_train has values that are not finite, or too large to be scaled.")
    return tuple(_mapped(part, low, span) for part in parts)


def scaled_whole(X: Any) -> AnyArray:
    """The whole set by its own least and largest values, before it is split: what the paper did.

    Test rows then have a say in the scale of the training rows. Results that are not to be compared with the
    paper's are better had with :func:`scaled`.

    Examples
    --------
    >>> from sparsebayes.io.datasets import scaled_whole
    >>> scaled_whole([[0.0], [1.0], [4.0]])
    array([[-1. ],
           [-0.5],
           [ 1. ]])
    """
    return scaled(X)[0]


def _dense(X: Any) -> AnyArray:
    if sp.issparse(X):
        if X.shape[0] * X.shape[1] > MAX_CELLS:
            raise ValueError(
                f"Scaling to [-1, 1] makes a matrix dense, and this one is {X.shape[0]} x {X.shape[1]}. "
                "Sets of this kind are used as they are."
            )
        X = X.toarray()
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"Two dimensions are needed. Got {array.ndim} instead.")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def _mapped(X: AnyArray, low: AnyArray, span: AnyArray) -> AnyArray:
    constant = span == 0
    result = 2 * ((X - low) / np.where(constant, 1, span)) - 1
    result[:, constant] = 0
    return result.astype(X.dtype, copy=False)
