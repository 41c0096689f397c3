"""What the classifiers share in fitting: validation, multiclass, what is kept."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from sparsebayes import _checks, multiclass
from sparsebayes.basis import Basis
from sparsebayes.design import (
    Here,
    HoldLimit,
    RowBlocks,
    Workers,
    automatic_count,
    canonical,
    one_blas_thread,
    rows_of,
    rows_on,
)
from sparsebayes.estimators._kept import Kept, arrays_of, whole_or_not_at_all
from sparsebayes.estimators._predict import PredictingClassifier
from sparsebayes.estimators._problem import Progress, Solution, Start
from sparsebayes.estimators._selection import fit_selected
from sparsebayes.io import BlockStore
from sparsebayes.recipes import ENERGY_EXPONENT, RECIPES, BasisName, Settings, recipe

# Elements of a dense matrix that one core works through as fast as two.
SMALL_MATRIX = 1 << 20


class SparseBayesClassifier(PredictingClassifier):
    """A linear model in a basis, which the subclass chooses and stores."""

    _basis_name: ClassVar[BasisName] = "features"
    # Parameters that a warm start cannot change.
    _fixed: ClassVar[tuple[str, ...]] = ("multi_class",)

    _parameter_constraints: ClassVar[dict] = {
        "solver": [StrOptions(set(RECIPES))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "init_alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "alpha_max": [Interval(Real, 0, None, closed="neither")],
        "gamma_floor": [Interval(Real, 0, None, closed="neither")],
        "map_tol": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "map_max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_prior": [StrOptions({"auto", "ard", "flat"})],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "proba": [StrOptions({"mode", "moderated"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "checkpoint": [str, os.PathLike, None],
        "resume": ["boolean"],
        "callbacks": ["array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, *, client=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or BlockStore
            Features, dense or in any scipy.sparse format; or a :class:`~sparsebayes.io.BlockStore`, of whose
            blocks a few are in memory at a time.
        y : array-like of shape (n_samples,)
            Labels of two or more classes. Those of the store if None.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is a row given twice, a weight of 0 a row left out. Those of the store, if it has
            some, if None.
        client : distributed.Client, default=None
            A Dask cluster whose workers hold the blocks of the store; X may then also be a dask array, or a
            list of delayed blocks of rows. The model is the same, bit for bit, for any number of workers.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with whole_or_not_at_all(self):
            return self._fit(X, y, sample_weight, self.checkpoint, self.resume, client)

    def _fit(self, X, y, sample_weight, checkpoint, resume, client=None):
        _checks.check_labels(y, type(self).__name__)
        if client is not None or isinstance(X, BlockStore | RowBlocks):
            X, y, sample_weight = self._in_blocks(X, y, sample_weight, client)
        else:
            X, y = self._validated(X, y)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        with np.errstate(over="ignore"):
            if not np.isfinite(weight.sum()):
                raise ValueError("The sum of sample_weight is too large: divide it by a constant.")
        used = np.flatnonzero(weight > 0.0)
        everything = X
        if len(used) < len(weight):
            X, y, weight = X[used], y[used], weight[used]
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            after = "" if X is everything else " after removing zero-weight samples"
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes; the data contains only "
                f"one class{after}: {classes.tolist()}"
            )
        weight = weight * _checks.class_weights(self.class_weight, classes, codes, weight)[codes]
        weight = np.maximum(weight, np.finfo(np.float64).tiny)  # of two tiny numbers, the product may be zero

        problems = multiclass.decompose(codes, len(classes), self.multi_class)
        starts = self._starts(classes, X.shape[1], len(problems))
        if sp.issparse(X) and (len(problems) > 1 or self._basis_name != "features"):
            X = canonical(X)
        data = [X, classes, codes, weight, used, *([] if starts[0] is None else arrays_of(self))]
        kept = Kept.of(self, checkpoint, resume, data, stop_at=self._stop_at)
        if starts[0] is None:
            bases = self._bases(X, codes, weight, used, problems, kept)
        else:
            bases = [self._basis] * len(problems)
        solutions = self._fit_problems(X, weight, classes, problems, bases, starts, kept)
        self.classes_ = classes
        self._scheme = self.multi_class
        self._fixed_last = self._fixed_parameters()
        self._training_shape = everything.shape
        self._class_rows = np.bincount(codes)
        self._basis_sizes = [len(basis.numbers) for basis in bases]
        self._keep(solutions, X.dtype)
        self._warn(solutions)
        return self

    def _bases(self, X, codes, weight, numbers, problems, kept) -> list[Basis]:
        """The basis of each problem, over the rows of X, which the user knows by ``numbers``."""
        raise NotImplementedError

    @property
    def _basis(self) -> Basis:
        """The functions that the columns of ``sparse_coef_`` stand for."""
        raise NotImplementedError

    def _keep_basis(self, bases: list[Basis]):
        """Store what the problems kept, once; returns the numbers of ``sparse_coef_``'s columns."""
        raise NotImplementedError

    @property
    def _stop_at(self) -> int | None:
        """The outer iteration to end at, where it was chosen before."""
        return None

    @property
    def _n_numbers(self) -> int:
        """Features, training rows or hidden nodes that the last fit chose from, or some of them."""
        raise NotImplementedError

    @property
    def _hold_limit(self) -> HoldLimit | None:
        """Up to where a matrix of basis functions is held in memory; None for the user's own X."""
        return None

    def _validated(self, X, y):
        name = type(self).__name__
        _checks.check_structure(X, name)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
        _checks.check_finite(X, name)
        return X, y

    def _in_blocks(self, X, y, sample_weight, client):
        """Rows that need not all be in memory, labels and weights."""
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if isinstance(X, BlockStore):
            y = X.y if y is None else y
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
        rows = self._row_blocks(X, client)
        self.n_features_in_ = rows.shape[1]
        if rows.feature_names is not None:
            self.feature_names_in_ = np.asarray(rows.feature_names, dtype=object)
        name = type(self).__name__
        y = column_or_1d(y.compute() if hasattr(y, "compute") else y)
        assert_all_finite(y, input_name="y", estimator_name=name)
        _checks.check_labels(y, name)
        if len(y) != rows.shape[0]:
            raise ValueError(f"There are {rows.shape[0]} rows, but {len(y)} labels.")
        return rows, y, sample_weight

    def _row_blocks(self, X, client):
        if isinstance(X, RowBlocks):
            return X
        if client is not None:
            workers = client if isinstance(client, Workers) else Workers(client)
            return rows_of(X, workers) if isinstance(X, BlockStore) else rows_on(workers, X)
        n_threads = automatic_count(X.nnz) if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        return rows_of(X, Here(n_threads))

    def _settings(self, n_rows, n_columns):
        """The parameters for so many rows, a row of weight 2 counting as two, and columns."""
        taken = recipe(self.solver, self._basis_name)

        def own(value, default):
            return default if value == "auto" else value

        scale = own(getattr(self, "scale", "auto"), taken.scale(n_rows, n_columns))
        return Settings(
            solver=self.solver,
            basis=self._basis_name,
            tol=self.tol,
            max_iter=self.max_iter if self._stop_at is None else self._stop_at,
            stop_at_max_iter=self._stop_at is not None,
            init_alpha=own(self.init_alpha, taken.init_alpha),
            alpha_max=self.alpha_max,
            gamma_floor=self.gamma_floor,
            map_tol=own(self.map_tol, taken.map_tol),
            map_max_iter=self.map_max_iter,
            fit_intercept=self.fit_intercept,
            intercept_prior=own(self.intercept_prior, taken.intercept_prior),
            scale=taken.scale_if_none if scale == "none" else scale,
            energy_exponent=ENERGY_EXPONENT[scale],
            select=getattr(self, "select", "evidence"),
            max_features=getattr(self, "max_features", None) if self._stop_at is None else None,
            prior_variance=None,
            hold_limit=self._hold_limit,
        )

    def _fit_problems(self, X, weight, classes, problems, bases, starts, kept):
        """All binary problems: the pairs in parallel, or one problem with threads over blocks."""
        n_jobs = effective_n_jobs(self.n_jobs)
        n_threads = None if self.n_jobs is None and n_jobs == 1 else n_jobs
        unweighted = np.all(weight == 1.0)

        def job(number, problem, basis, start):
            part = X if isinstance(problem.rows, slice) else X[problem.rows]
            return delayed(fit_selected)(
                part,
                basis,
                problem.labels,
                None if unweighted else weight[problem.rows],
                self._settings(weight[problem.rows].sum(), len(basis.numbers)),
                start,
                n_threads if len(problems) == 1 else 1,
                self._watcher(number, classes, problem, basis),
                kept.keeper(f"problem-{number}"),
            )

        # Callbacks are the caller's objects: they must be called in the caller's process.
        shared = "sharedmem" if self.callbacks is not None else None
        jobs = (job(k, *each) for k, each in enumerate(zip(problems, bases, starts, strict=True)))
        largest = max(
            len(problem.labels) * len(basis.numbers) for problem, basis in zip(problems, bases, strict=True)
        )
        # Several problems take one thread each, wherever they are fitted, so that n_jobs changes no bit.
        sparse = not X.dense if isinstance(X, RowBlocks) else sp.issparse(X)
        alone = len(problems) > 1 or (sparse and self._basis_name == "features")
        with blas_threads(alone, largest):
            return Parallel(n_jobs=1 if len(problems) == 1 else n_jobs, require=shared)(jobs)

    def _watcher(self, number, classes, problem, basis):
        negative = None if problem.negative is None else classes[problem.negative]
        return _Watcher(
            type(self).__name__,
            number,
            (negative, classes[problem.positive]),
            basis,
            len(classes) > 2,
            self.verbose,
            [] if self.callbacks is None else list(self.callbacks),
        )

    def _starts(self, classes, n_features, n_problems) -> list[Start | None]:
        """Where the last fit ended, for ``warm_start``; None for a fresh start."""
        if not (self.warm_start and hasattr(self, "sparse_coef_")):
            return [None] * n_problems
        now = (classes.tolist(), n_features, self._fixed_parameters())
        last = (self.classes_.tolist(), self._training_shape[1], self._fixed_last)
        if now != last:
            raise ValueError(
                f"{type(self).__name__}(warm_start=True) goes on from its last fit, which had classes "
                "{}, {} features and {}; got {}, {} and {}.".format(*last, *now)
            )
        return [
            Start(
                coef.indices.astype(np.intp),
                coef.data.astype(np.float64),
                alpha.data.astype(np.float64),
                float(intercept),
                float(intercept_alpha),
            )
            for coef, alpha, intercept, intercept_alpha in zip(
                (self.sparse_coef_[[k]] for k in range(n_problems)),
                (self._sparse_alpha[[k]] for k in range(n_problems)),
                self.intercept_,
                self.intercept_alpha_,
                strict=True,
            )
        ]

    def _fixed_parameters(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fixed)

    def _keep(self, solutions: list[Solution], dtype) -> None:
        names = self._keep_basis([solution.basis for solution in solutions])

        def stacked(values):
            sizes = [len(solution.columns) for solution in solutions]
            indptr = np.concatenate([[0], np.cumsum(sizes)])
            numbers = np.concatenate([solution.basis.numbers for solution in solutions])
            indices = np.searchsorted(names, numbers)
            shape = (len(solutions), len(names))
            return sp.csr_matrix((np.concatenate(values), indices, indptr), shape=shape)

        self.sparse_coef_ = stacked([solution.coef.astype(dtype) for solution in solutions])
        self._sparse_alpha = stacked([solution.alpha for solution in solutions])
        self._sparse_std = stacked([solution.posterior.std.astype(dtype) for solution in solutions])
        # Units of features, where each has one of its own; those of other functions say nothing.
        of_features = self._basis_name == "features"
        self._units = stacked([s.posterior.unit for s in solutions]).data if of_features else None
        self._folds = [solution.folds for solution in solutions]
        self._follows_path = bool(solutions[0].path)
        self._taken_by_size = False
        self._has_intercept = self.fit_intercept
        self._posteriors = [s.posterior for s in solutions] if self.proba == "moderated" else None
        self.intercept_ = np.array([solution.intercept for solution in solutions], dtype=dtype)
        self.intercept_alpha_ = np.array([solution.intercept_alpha for solution in solutions])
        self.n_relevant_ = np.array([len(solution.columns) for solution in solutions])
        self.n_iter_ = np.array([solution.n_iter for solution in solutions])
        self.history_ = [solution.history for solution in solutions]
        self.status_ = [solution.status for solution in solutions]

    def _warn(self, solutions: list[Solution]) -> None:
        complaints = [s for s in solutions if s.complaint is not None]
        if complaints:
            which = "" if len(solutions) == 1 else f" ({len(complaints)} of {len(solutions)} problems)"
            warnings.warn(
                f"{type(self).__name__}{which}: {complaints[0].status}. {complaints[0].complaint}",
                ConvergenceWarning,
                stacklevel=5,
            )


def blas_threads(alone, n_entries):
    """One BLAS thread where waking the others costs more than they save.

    A sparse matrix leaves BLAS nothing but short vectors; a small one is done by one core sooner.
    """
    return one_blas_thread() if alone or n_entries < SMALL_MATRIX else nullcontext()


class _Watcher:
    """Prints progress and calls the user's callbacks, for one binary problem."""

    def __init__(self, name, number, labels, basis, many, verbose, callbacks):
        self.name = name
        self.number = number
        self.labels = labels
        self.basis = basis
        self.many = many
        self.verbose = verbose
        self.callbacks = callbacks
        self.seconds = 0.0

    def __call__(self, state, scale) -> bool:
        record = state.record
        self.seconds += sum(record["seconds"].values())
        if self.verbose:
            pair = f" {self.labels[0]} vs {self.labels[1]}" if self.many else ""
            print(
                f"[{self.name}{pair}] iteration {record['iteration']}: {record['n_active']} active, "
                f"objective {record['objective']:.6g}, {self.seconds:.1f} s",
                flush=True,
            )
        progress = Progress(state, scale, self.basis, self.number, self.labels)
        answers = [callback(progress) for callback in self.callbacks]
        return any(isinstance(answer, bool | np.bool_) and answer for answer in answers)
