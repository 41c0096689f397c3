"""Input validation shared by the estimators, where scikit-learn's own says too little."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray, Vector


def check_structure(X: Any, estimator: str) -> None:
    """Refuse a sparse matrix whose index arrays point outside it.

    scipy's products trust these arrays, so a broken matrix would otherwise crash the process.
    """
    if hasattr(X, "n_blocks") and hasattr(X, "to_csr"):  # a BlockStore, which a later layer knows
        raise TypeError(
            f"{estimator} does not take a BlockStore here. Give it store.to_csr(): all rows in memory."
        )
    if not sp.issparse(X):
        return
    try:
        if X.format in ("csr", "csc", "bsr"):
            check_compressed(X)
        elif X.format == "coo":
            for indices, size in zip(X.coords, X.shape, strict=True):
                if len(indices) and not 0 <= indices.min() <= indices.max() < size:
                    raise ValueError("an index is out of range")
    except ValueError as error:
        raise ValueError(
            f"{estimator} got a sparse X that is not a valid {X.format.upper()} matrix: {error}."
        ) from error


def ascends(values: AnyArray, *, strictly: bool = False) -> bool:
    """By comparison: a difference of integers may overflow, and then hides a step back."""
    later, earlier = values[1:], values[:-1]
    return bool((later > earlier if strictly else later >= earlier).all())


def check_compressed(X: Any) -> None:
    """The index arrays of a CSR, CSC or BSR matrix; scipy's own check stops where the last start is 0."""
    if not ascends(X.indptr):
        raise ValueError("indptr does not ascend")
    X.check_format(full_check=True)


def check_finite(X: Any, estimator: str, first_row: int = 0) -> None:
    """Name the first entry of X, in row order, that is not finite; rows count from ``first_row``."""
    values = X.data if sp.issparse(X) else X
    # A sum over finite values may overflow, hence the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    if sp.issparse(X):
        entries = X.tocoo()
        wrong = np.flatnonzero(~np.isfinite(entries.data))
        first = wrong[np.lexsort((entries.col[wrong], entries.row[wrong]))[0]]
        row, column, value = entries.row[first], entries.col[first], entries.data[first]
    else:
        row, column = np.argwhere(bad)[0]
        value = X[row, column]
    name = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input X contains {name}: {estimator} does not accept missing or infinite values, and row "
        f"{first_row + row}, column {column} holds {value}. Impute or drop such entries first."
    )


def check_labels(y: Any, estimator: str) -> None:
    """Refuse labels that are missing, and text among numbers, of which numpy would make text."""
    if not isinstance(y, list | tuple) and str(getattr(y, "dtype", "")) != "object":
        return
    labels = list(y) if isinstance(y, list | tuple) else np.asarray(y).ravel().tolist()
    text: dict[bool, int] = {}  # where there is text, or something else, for the first time
    for row, label in enumerate(labels):
        if label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label):
            name = "None" if label is None else "NaN"
            raise ValueError(
                f"Input y contains {name}: {estimator} does not accept missing labels, and row {row} has "
                "none. Drop such rows first."
            )
        text.setdefault(isinstance(label, str), row)
    if len(text) == 2:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise TypeError(
            f"{estimator} got a y of mixed label types ({kinds}): row {text[True]} holds "
            f"{labels[text[True]]!r}, row {text[False]} {labels[text[False]]!r}. Make all of them text, or "
            "all of them numbers."
        )


def check_rows(X: Any, estimator: str) -> Any:
    """X as a float array or a CSR matrix, for use outside of an estimator's own methods."""
    check_structure(X, estimator)
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"{estimator} expects a two-dimensional X, a row a sample. Got an array of shape {X.shape}; "
            "for a single sample use X.reshape(1, -1)."
        )
    if 0 in X.shape:
        raise ValueError(f"{estimator} needs a sample and a feature at least. Got an X of shape {X.shape}.")
    if X.dtype not in (np.float64, np.float32):
        if X.dtype.kind not in "fiubO":
            raise ValueError(f"{estimator} expects an X of real numbers. Got dtype {X.dtype} instead.")
        X = X.astype(np.float64)
    check_finite(X, estimator)
    return X


def class_weights(class_weight: Any, classes: AnyArray, codes: AnyArray, weight: Vector) -> Vector:
    """The factor of each class; "balanced" counts samples by their weight."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):  # "balanced", by the parameter's constraint
        totals = np.bincount(codes, weights=weight, minlength=len(classes))
        return np.asarray(weight.sum() / (len(classes) * totals))
    known = set(classes.tolist())
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"The classes {unknown} of class_weight are not among those of y.")
    factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise ValueError(f"The values of class_weight must be positive and finite. Got {class_weight}.")
    return factors
