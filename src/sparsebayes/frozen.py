"""A fitted model as plain data: what estimators predict through, and what files and exports hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sparsebayes import _checks, kernels, multiclass
from sparsebayes._typing import AnyArray, IntVector, Matrix, Vector
from sparsebayes.basis import (
    ACTIVATIONS,
    Basis,
    HiddenBasis,
    IdentityBasis,
    KernelBasis,
    evaluated,
    margins,
)
from sparsebayes.design import Here, RowBlocks, rows_of
from sparsebayes.io import BlockStore
from sparsebayes.posterior import Posterior, moderated

MAX_LABEL_CHARACTERS = 1 << 22
POSITIVE = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True, slots=True, eq=False)
class FrozenModel:
    """A fitted classifier without its estimator: arrays, and how they predict.

    Made by ``freeze()`` of a fitted classifier or by :func:`~sparsebayes.load_model`. It predicts the same
    bits as the classifier, and does not need scikit-learn.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Labels: strings, integers, floats or bools.
    n_features : int
        Columns of the X that it predicts for.
    basis : Basis
        The functions of a row that have a weight in some binary problem: kept features, kernels at relevance
        vectors, or hidden nodes.
    weights : ndarray
        Weights of all binary problems, one problem after the other.
    columns : ndarray
        For each weight, the position of its function in ``basis``.
    starts : ndarray of shape (n_problems + 1,)
        Where the weights of each binary problem start.
    intercepts : ndarray of shape (n_problems,)
        Intercepts.
    scheme : {"ovo", "ovr"}
        How binary problems make classes, where there are more than two.
    link : {"logit"}
        What makes a probability of a margin.
    posteriors : tuple of Posterior, or None
        Covariances of the weights, where probabilities are moderated.
    weights_std : ndarray or None
        Posterior standard deviation of each weight, where it is known.
    feature_names : ndarray of shape (n_features,) or None
        Names of the columns of X.
    about : dict
        Where the model comes from, in plain values; not needed to predict.
    schema_version : int
        Version of all this, and of its file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import SBLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SBLClassifier().fit(X, y)
    >>> model = clf.freeze()
    >>> bool((model.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """

    classes: AnyArray
    n_features: int
    basis: Basis
    weights: AnyArray
    columns: npt.NDArray[np.integer[Any]]
    starts: npt.NDArray[np.integer[Any]]
    intercepts: AnyArray
    scheme: multiclass.Scheme = "ovo"
    link: Literal["logit"] = "logit"
    posteriors: tuple[Posterior, ...] | None = None
    weights_std: AnyArray | None = None
    feature_names: AnyArray | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    schema_version: ClassVar[int] = 1

    @property
    def n_problems(self) -> int:
        """Binary problems: one for two classes, a pair each or a class each for more."""
        return len(self.intercepts)

    def problem(self, k: int) -> tuple[IntVector, Vector, float]:
        """Functions, weights and intercept of a binary problem."""
        entries = slice(int(self.starts[k]), int(self.starts[k + 1]))
        weights = self.weights[entries].astype(np.float64)
        return self.columns[entries].astype(np.intp), weights, float(self.intercepts[k])

    def predict(self, X: Any) -> AnyArray:
        """The most probable label of each row of X: an array, a scipy.sparse matrix or a BlockStore."""
        return np.asarray(self.classes[self.scores(self.rows(X)).codes()])

    def predict_proba(self, X: Any) -> AnyArray:
        """Probability of each class, in the order of ``classes``."""
        return self.scores(self.rows(X)).probabilities()

    def predict_log_proba(self, X: Any) -> AnyArray:
        """Logarithm of the probability of each class, finite for any margin."""
        return self.scores(self.rows(X)).log_probabilities()

    def decision_function(self, X: Any) -> AnyArray:
        """Margins for two classes, log probabilities for more: their argmax is the prediction."""
        return self.scores(self.rows(X)).decision()

    def margins(self, X: Any) -> Matrix:
        """Margins of the binary problems, a column each; moderated where probabilities are."""
        return self.scores(self.rows(X)).margins

    def scores(self, X: Any) -> multiclass.Scores:
        """All that there is to predict for rows that are known to be valid."""
        if isinstance(X, RowBlocks):
            models = [X.crew.shared(self)] * len(X.blocks)
            z = np.concatenate(list(X.crew.each(_margins_of_block, X.blocks, models)))
        else:
            z = self._margins_of_rows(X)
        return multiclass.Scores(z, len(self.classes), self.scheme, X.dtype)

    def _margins_of_rows(self, X: Any) -> Matrix:
        return self._margins(X) if self.posteriors is None else self._moderated_margins(X, self.posteriors)

    def _margins(self, X: Any) -> Matrix:
        coef = np.zeros((self.n_problems, len(self.basis.numbers)))
        coef[np.repeat(np.arange(self.n_problems), np.diff(self.starts)), self.columns] = self.weights
        return margins(self.basis, coef.T, self.intercepts.astype(np.float64), X)

    def _moderated_margins(self, X: Any, posteriors: tuple[Posterior, ...]) -> Matrix:
        out = np.empty((X.shape[0], self.n_problems))
        for rows, values in evaluated(self.basis, X):
            for k, posterior in enumerate(posteriors):
                functions, weights, intercept = self.problem(k)
                columns = values[:, functions]
                columns = columns.toarray() if sp.issparse(columns) else columns
                out[rows, k] = moderated(columns @ weights + intercept, posterior.variance(columns))
        return out

    def rows(self, X: Any) -> Any:
        """X as an array, a CSR matrix or a store; a ValueError if it is not what this model predicts for."""
        in_blocks = isinstance(X, BlockStore | RowBlocks)
        names = X.feature_names if in_blocks else getattr(X, "columns", None)
        if names is not None and self.feature_names is not None and all(isinstance(n, str) for n in names):
            wrong = [i for i, (n, own) in enumerate(zip(names, self.feature_names, strict=False)) if n != own]
            if wrong:
                raise ValueError(
                    f"The columns of X must be those of the fit, in the same order: column {wrong[0]} is "
                    f"{names[wrong[0]]!r}, where the model has {self.feature_names[wrong[0]]!r}."
                )
        if isinstance(X, BlockStore):
            rows: Any = rows_of(X, Here())
        else:
            rows = X if isinstance(X, RowBlocks) else _checks.check_rows(X, type(self).__name__)
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X has {rows.shape[1]} features, but this model expects {self.n_features}.")
        return rows

    def check(self) -> None:
        """Raise a ValueError that says what is wrong, if this cannot be a model, or cannot be stored."""
        _check_labels(self.classes)
        _require(
            isinstance(self.n_features, int) and 0 < self.n_features < 2**53,
            f"n_features is {self.n_features!r}",
        )
        _require(self.scheme in ("ovo", "ovr"), f"the scheme is {self.scheme!r}")
        _require(self.link == "logit", f"the link is {self.link!r}")
        n_problems = multiclass.n_problems(len(self.classes), self.scheme)
        _check_numbers("intercepts", self.intercepts, (n_problems,))
        _check_basis(self.basis, self.n_features)
        _check_rows("weights", self.starts, self.columns, (n_problems, len(self.basis.numbers)))
        _check_numbers("weights", self.weights, self.columns.shape)
        if self.weights_std is not None:
            _check_numbers("weights_std", self.weights_std, self.columns.shape, least=0.0)
        if self.posteriors is not None:
            _require(len(self.posteriors) == n_problems, "there is not one posterior for each problem")
            for posterior, size in zip(self.posteriors, np.diff(self.starts).tolist(), strict=True):
                _check_posterior(posterior, size)
        if self.feature_names is not None:
            _require(len(self.feature_names) == self.n_features, "there is not one name for each feature")
            _require(
                all(isinstance(name, str) for name in self.feature_names), "feature names are no strings"
            )


def _margins_of_block(X: Any, model: FrozenModel) -> Matrix:
    return model._margins_of_rows(X.tocsr() if sp.issparse(X) else X)


def as_frozen(model: Any) -> FrozenModel:
    """The model itself, or that of a fitted classifier."""
    if isinstance(model, FrozenModel):
        return model
    if not hasattr(model, "freeze"):
        raise TypeError(
            f"Expected a fitted classifier of sparsebayes or a FrozenModel. Got {model!r} instead."
        )
    frozen: FrozenModel = model.freeze()
    return frozen


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"This is not a valid model: {otherwise}.")


def _check_labels(classes: AnyArray) -> None:
    _require(classes.ndim == 1 and len(classes) >= 2, "there are fewer than two classes")
    values = classes.tolist()
    kind = type(values[0])
    known = (str,) if classes.dtype == object else (str, bool, int, float)
    if kind not in known or any(type(value) is not kind for value in values):
        raise ValueError(
            "Labels of a frozen model are strings, integers, floats or bools, all of one kind. "
            f"Got {values[:3]!r} (dtype {classes.dtype})."
        )
    _require(all(value == value for value in values), "a label is NaN")
    characters = len(values) * max(len(value) for value in values) if kind is str else 0
    _require(characters <= MAX_LABEL_CHARACTERS, "labels are too long")
    _require(len(set(values)) == len(values), "two classes have the same label")


def _check_numbers(
    what: str, values: AnyArray, shape: tuple[int, ...], least: float = -np.inf, dtypes: str = "fd"
) -> None:
    _require(values.shape == shape, f"{what} have the shape {values.shape} instead of {shape}")
    _require(values.dtype.char in dtypes, f"{what} have the dtype {values.dtype}")
    _require(bool(np.isfinite(values).all()), f"{what} are not all finite")
    _require(bool((values >= least).all()), f"{what} are not all at least {least}")


def _check_indices(what: str, values: AnyArray, limit: int) -> None:
    _require(values.dtype.kind == "i" and values.ndim == 1, f"{what} are not integers in a row")
    in_range = not len(values) or (int(values.min()) >= 0 and int(values.max()) < limit)
    _require(in_range, f"{what} point out of range")


def _check_rows(what: str, starts: AnyArray, indices: AnyArray, shape: tuple[int, int]) -> None:
    """The index arrays of a sparse matrix of this shape, with indices that ascend in each row."""
    _check_indices(f"indices of {what}", indices, shape[1])
    _check_indices(f"row starts of {what}", starts, len(indices) + 1)
    right = len(starts) == shape[0] + 1 and starts[0] == 0 and starts[-1] == len(indices)
    _require(right and _checks.ascends(starts), f"row starts of {what} do not cover them")
    row_ends = np.zeros(max(len(indices) - 1, 0), dtype=bool)
    inner = starts[1:-1]
    row_ends[inner[(inner > 0) & (inner < len(indices))] - 1] = True
    _require(bool(((np.diff(indices) > 0) | row_ends).all()), f"indices of {what} do not ascend")


def _check_basis(basis: Basis, n_features: int) -> None:
    if isinstance(basis, IdentityBasis):
        _require(basis.n_columns == n_features, "features are counted differently")
        if basis.columns is not None:
            starts = np.array([0, len(basis.columns)])
            _check_rows("features", starts, basis.columns, (1, n_features))
    elif isinstance(basis, KernelBasis):
        _check_kernel_basis(basis, n_features)
    elif isinstance(basis, HiddenBasis):
        _require(basis.activation in ACTIVATIONS, f"the activation is {basis.activation!r}")
        _check_numbers("hidden weights", basis.weights, (len(basis.numbers), n_features))
        _check_numbers("hidden biases", basis.biases, (len(basis.numbers),))
        _check_indices("hidden nodes", basis.numbers, basis.n_drawn)
    else:
        _require(False, f"its basis is a {type(basis).__name__}")


def _check_kernel_basis(basis: KernelBasis, n_features: int) -> None:
    kernel = basis.kernel
    if not isinstance(kernel, kernels.Kernel):
        raise ValueError(
            "A model whose kernel is a function of the user's cannot be frozen: its code is not data. "
            f"Use a kernel by name: {', '.join(kernels.NAMES)}."
        )
    _require(kernel.name in kernels.NAMES, f"the kernel is {kernel.name!r}")
    n_vectors = len(basis.names)
    _check_numbers("gamma", np.asarray(kernel.gamma, dtype=np.float64), (), least=POSITIVE)
    _check_numbers("degree", np.asarray(kernel.degree, dtype=np.float64), (), least=0.0)
    _check_numbers("coef0", np.asarray(kernel.coef0, dtype=np.float64), ())
    if basis.gammas is not None:
        _check_numbers("gammas", basis.gammas, (n_vectors,), least=POSITIVE)
    if basis.scales is not None:
        _check_numbers("scales", basis.scales, (n_features,), least=0.0)
    _check_indices("names of vectors", basis.names, 2**53)
    if sp.issparse(basis.vectors):
        _require(basis.vectors.shape == (n_vectors, n_features), "vectors have another shape")
        _check_numbers("vectors", basis.vectors.data, basis.vectors.data.shape)
        _checks.check_compressed(basis.vectors)
    else:
        _check_numbers("vectors", basis.vectors, (n_vectors, n_features))


def _check_posterior(posterior: Posterior, size: int) -> None:
    _check_numbers("centres", posterior.centre, (size,))
    _check_numbers("units", posterior.unit, (size,))
    n_weights = size + posterior.has_intercept
    diagonal = posterior.covariance.ndim == 1
    _check_numbers("covariances", posterior.covariance, (n_weights,) if diagonal else (n_weights, n_weights))
    variances = posterior.covariance if diagonal else np.diagonal(posterior.covariance)
    _require(bool((variances >= 0.0).all()), "a variance is negative")
