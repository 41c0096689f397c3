"""The kernel classifier: a relevance vector machine."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from sparsebayes import kernels, multiclass
from sparsebayes.basis import MAX_HELD, DistinctRows, IdentityBasis, KernelBasis, candidate_rows
from sparsebayes.design import HoldLimit, RowBlocks, one_blas_thread
from sparsebayes.estimators._base import SparseBayesClassifier, blas_threads
from sparsebayes.estimators._kernel_choice import (
    FEATURE_SCALES,
    GAMMAS,
    WITH_GAMMA,
    KernelChoice,
    rows_for_median,
)
from sparsebayes.estimators._problem import Start, fit_problem
from sparsebayes.estimators._widths import Fits, Split
from sparsebayes.recipes import RECIPES, BasisName, recipe

# Beyond max_basis rows, so many of them.
DEFAULT_CANDIDATES = 1000
# Of the sequential solver: with more rows than this, vectors are chosen on so many of them.
CHOICE_ON_A_PART_BEYOND = 50_000
ROWS_OF_THE_PART = 30_000
LEAST_OF_A_CLASS = 1000


class RVMClassifier(SparseBayesClassifier):
    """Relevance vector machine: a kernel classifier with few vectors, probabilities, nothing to tune.

    Logistic regression on kernel functions placed at the training rows, K(x, x_i), in which every weight has
    a Gaussian prior whose precision is learned from the data. Most weights end at exactly zero; the rows of
    the others are the relevance vectors, usually a few dozen at most.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "exponential", "poly", "sigmoid", "linear", "cosine", "precomputed"} \
or callable, default="rbf"
        - "rbf": exp(-gamma ||a - b||²); "laplacian": exp(-gamma ||a - b||₁); "exponential":
          exp(-gamma ||a - b||), eq. 9 of the paper as printed.
        - "poly": (gamma <a, b> + coef0)^degree; "sigmoid": tanh(gamma <a, b> + coef0); "linear": <a, b>;
          "cosine": <a, b> / (||a|| ||b||).
        - "precomputed": X is the kernel matrix itself, rows against training rows.
        - A callable is given two matrices of rows and returns the matrix of kernel values.
    gamma : {"auto", "evidence", "median", "scale", "several"}, float or sequence of floats, default="auto"
        - "evidence": the width at which a Gaussian process on the labels of up to 300 rows has the largest
          evidence; for the kernels of distances, "rbf", "laplacian" and "exponential".
        - "median": 1 / median over pairs of training rows of the distance in the kernel's exponent (for "rbf"
          the squared one, as for kernels of inner products); "scale": 1 / (n_features * X.var()). Both count
          rows by their weights.
        - A sequence: every candidate row at each of these widths, in one basis; a row may then be kept at
          more than one. "several": 1, 4 and 16 times the median's gamma.
        - "auto": for the sequential solver and a kernel of distances, the gamma of "evidence" or a quarter of
          it, whichever gives the classifier the larger evidence, less 2 for each vector, on up to 6000 rows;
          and beside it 4 times that, and 16 times, as long as each is better, by more than two standard
          errors, on every third of those rows, held out (on fewer than about 1500 rows that is not tried).
          Otherwise "median".
    feature_scales : {"auto", "none", "columns", "learned"}, default="auto"
        What features are multiplied by before distances are taken.

        - "none": they count as they are. "columns": each is given unit variance.
        - "learned": each has a width of its own, by the evidence of the same process ("automatic relevance
          determination"); those that make less than a hundredth of the squared distances together are not
          used at all. For the kernel "rbf" and up to 10 000 features.
        - "auto": where ``gamma="auto"``, the solver is sequential and "learned" is possible, whichever is
          best on other rows than it was fitted to: "columns" where that lowers the process's loss by more
          than a twentieth, "learned" where that does, and by three standard errors.
          Otherwise, and on fewer than 60 distinct rows, "none".
    degree : float, default=3
        Of the kernel "poly".
    coef0 : float, default=1
        Of the kernels "poly" and "sigmoid".
    basis : "auto", "all" or int, default="auto"
        Which training rows are candidates for relevance vectors. "all": every distinct row, the paper's
        model. A number: so many rows of each binary problem, drawn by k-means++ from each class in
        proportion. "auto": all, or, where there are more than ``max_basis``, 1000 of them (``max_basis``, if
        that is less).
    max_basis : int, default=3000
        For more candidates than this, no kernel matrix of more than ``max_basis**2`` entries is held: its
        columns are computed in blocks, in the precision of X, whenever they are needed. With ``basis="all"``
        a pass then costs N² kernel values, but memory grows only with N. For fewer candidates the matrix is
        held up to half a gigabyte.
    solver : {"auto", "sequential", "elimination", "dqn", "newton"}, default="auto"
        - "auto" and "sequential": the model is built up from nothing. Vectors are added, re-estimated and
          deleted by their gain in evidence (Tipping & Faul), with the exact posterior (eq. 7) of the few that
          are in; kernel columns are centred and of unit variance. Beyond 50 000 rows, vectors are chosen on
          30 000 of them, and weights and precisions fitted on all.
        - "elimination": from all candidates down, as in :class:`~sparsebayes.SBLClassifier`. Where classes
          hardly overlap it is more accurate, with ten times the vectors.
        - "dqn": the paper's DQN-RVM to the letter, Algorithms 1 and 2 with eq. 14 and 15 and its constants.
        - "newton": the classical RVM, Algorithm 2 with the full inverse of eq. 7. N x N memory.
    tol : float, default=1e-3
        Stop when no log alpha changes by more (DELTA_LOGALPHA).
    max_iter : int, default=100
        Outer iterations (MaxIts).
    init_alpha : float or "auto", default="auto"
        Precision that the weights start from: 1e-5 for "dqn" and "newton"; "sequential" has no use for it.
    alpha_max : float, default=1e6
        Weights with a larger precision are pruned (ALPHA_MAX); by "dqn" and "newton" alone.
    gamma_floor : float, default=1e-4
        The constant c of eq. 15, in place of 1 - alpha B where that is not positive.
    map_tol : float or "auto", default="auto"
        Norm of the gradient at which the inner solver stops: for "dqn" as it is (epsilon, 1e-1), otherwise
        relative to the gradient at zero weights (1e-8 for "newton", 1e-10 for "sequential").
    map_max_iter : int, default=100
        Steps of the inner solver (MaxIts_qn).
    fit_intercept : bool, default=True
        Whether to have an intercept.
    intercept_prior : {"auto", "ard", "flat"}, default="auto"
        "ard": a precision of its own, prunable, as in the paper ("dqn" and "newton" unless told
        otherwise); "flat": no prior, never pruned ("sequential").
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one with pairwise coupling of the probabilities, or one-vs-rest.
    proba : {"mode", "moderated"}, default="mode"
        "mode": probabilities are the likelihood at the fitted weights. "moderated": they are averaged over
        the posterior of the weights (MacKay's approximation), hence nearer to 1/2 where the data say little.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced" makes them count alike.
    warm_start : bool, default=False
        Go on from the last fit: its relevance vectors, weights and precisions. No vector is added.
    checkpoint : str or path-like, default=None
        A folder in which the fit keeps its state after each outer iteration, for this fit alone; what
        another fit has left in it is replaced. None keeps nothing.
    resume : bool, default=False
        Go on from the state in ``checkpoint``, where there is one, to the model that the fit would have
        come to uninterrupted, bit for bit. A state of other data or parameters is refused.
    callbacks : list of callables, default=None
        Each is called once an outer iteration with a :class:`~sparsebayes.Progress`; one that
        returns True stops the fit.
    random_state : int, RandomState instance or None, default=None
        For the draw of candidates, of the rows that the median distance is taken over beyond 2000, and of
        those that vectors are chosen on beyond 50 000.
    n_jobs : int, default=None
        Binary problems fitted in parallel. With two classes, threads over blocks of a matrix that is not
        held; None is then all cores. The model is the same, bit for bit, for any number.
    verbose : int, default=0
        A line per outer iteration if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    relevance_vectors_ : {ndarray, csr_matrix} of shape (n_vectors, n_features)
        The training rows that are kept, of all binary problems. Not there for kernel="precomputed".
    relevance_ : ndarray of shape (n_vectors,)
        Their indices in the training data; with ``warm_start``, in those of the first fit.
    gamma_ : float or ndarray of shape (n_vectors,)
        The kernel's gamma, one for each vector where there are several widths; not there for kernels without
        one.
    feature_scales_ : ndarray of shape (n_features,)
        What features are multiplied by, zero where one is not used; ``relevance_vectors_`` are as they were
        given. Not there for kernel="precomputed".
    coef_ : ndarray of shape (n_problems, n_vectors)
        Weights, exactly zero where a problem does not use a vector. One row for two classes, otherwise one a
        pair in the order (0, 1), (0, 2), ..., (1, 2), ... (positive: the second of the pair) or one a class.
    sparse_coef_ : csr_matrix of shape (n_problems, n_vectors)
        The same as it is stored.
    coef_std_ : ndarray of shape (n_problems, n_vectors)
        Posterior standard deviations of the weights, zero where a vector is not used.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    alpha_ : ndarray of shape (n_problems, n_vectors)
        Precisions, infinite where a vector is not used.
    intercept_alpha_ : ndarray of shape (n_problems,)
        Precisions of the intercepts: 0 for a flat prior, infinite where pruned.
    n_relevant_ : ndarray of shape (n_problems,)
        Number of vectors kept.
    n_iter_ : ndarray of shape (n_problems,)
        Outer iterations made.
    history_ : list of list of dict
        For each problem, a record per outer iteration, as in :class:`~sparsebayes.SBLClassifier`.
    status_ : list of str
        For each problem, the solver taken and why it stopped.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had names that are strings.

    References
    ----------
    M. E. Tipping, "Sparse Bayesian Learning and the Relevance Vector Machine", JMLR 1 (2001).

    M. E. Tipping, A. C. Faul, "Fast Marginal Likelihood Maximisation for Sparse Bayesian Models",
    AISTATS 2003.

    J. Luo, C.-M. Wong, C.-M. Vong, "Complexity-Optimized Sparse Bayesian Learning for Scalable
    Classification Tasks", arXiv 2107.08195.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sparsebayes import RVMClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = RVMClassifier().fit(X, y)
    >>> clf.score(X, y) > 0.95, len(clf.relevance_vectors_) < 20
    (True, True)
    """

    _basis_name: ClassVar[BasisName] = "kernel"
    _fixed: ClassVar[tuple[str, ...]] = (
        "multi_class",
        "kernel",
        "gamma",
        "feature_scales",
        "degree",
        "coef0",
    )
    _parameter_constraints: ClassVar[dict] = {
        **SparseBayesClassifier._parameter_constraints,
        "kernel": [StrOptions({*kernels.NAMES, "precomputed"}), callable],
        "gamma": [StrOptions(GAMMAS), Interval(Real, 0, None, closed="neither"), "array-like"],
        "feature_scales": [StrOptions(FEATURE_SCALES)],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "basis": [StrOptions({"auto", "all"}), Interval(Integral, 1, None, closed="left")],
        "max_basis": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="auto",
        feature_scales="auto",
        degree=3,
        coef0=1,
        basis="auto",
        max_basis=3000,
        solver="auto",
        tol=1e-3,
        max_iter=100,
        init_alpha="auto",
        alpha_max=1e6,
        gamma_floor=1e-4,
        map_tol="auto",
        map_max_iter=100,
        fit_intercept=True,
        intercept_prior="auto",
        multi_class="ovo",
        proba="mode",
        class_weight=None,
        warm_start=False,
        checkpoint=None,
        resume=False,
        callbacks=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.feature_scales = feature_scales
        self.degree = degree
        self.coef0 = coef0
        self.basis = basis
        self.max_basis = max_basis
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.init_alpha = init_alpha
        self.alpha_max = alpha_max
        self.gamma_floor = gamma_floor
        self.map_tol = map_tol
        self.map_max_iter = map_max_iter
        self.fit_intercept = fit_intercept
        self.intercept_prior = intercept_prior
        self.multi_class = multi_class
        self.proba = proba
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.resume = resume
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @property
    def _hold_limit(self):
        return HoldLimit(self.max_basis, MAX_HELD)

    def _validated(self, X, y):
        X, y = super()._validated(X, y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "RVMClassifier(kernel='precomputed') must be fitted with the square matrix of the kernel "
                f"between all training rows. Got an X of shape {X.shape}."
            )
        if self.kernel == "precomputed" and sp.issparse(X):
            X = X.toarray()  # a kernel has no zeros to speak of, and solvers want to centre its columns
        return X, y

    def _bases(self, X, codes, weight, numbers, problems, kept):
        if isinstance(X, RowBlocks):
            return self._bases_of_a_part(X, codes, weight, numbers, kept)
        choice = self._kernel_choice
        rng = kept.rng()
        distinct = DistinctRows.of(X)
        if self.kernel == "precomputed":
            choice.scaling(X.shape[1])  # or complains
            candidates = self._candidates_of_each(problems, X, distinct, codes, weight, rng)
            return [IdentityBasis(X.shape[1], numbers[chosen]) for chosen in candidates]
        pairs = rows_for_median(distinct, weight, rng)

        def chosen_scales():
            with one_blas_thread():
                scales, gamma = choice.scales_and_gamma(X, distinct, codes, weight, pairs)
            return {"gamma": np.array([gamma])} | ({} if scales is None else {"scales": scales})

        chosen = kept.recall("scales", chosen_scales)
        scales, gamma = chosen.get("scales"), float(chosen["gamma"][0])
        seen = X if scales is None else kernels.scaled(X, scales)
        candidates = self._candidates_of_each(problems, seen, distinct, codes, weight, rng)

        def basis(chosen, gammas):
            if gammas is None:
                return KernelBasis(choice.kernel_with(gamma), X[chosen], numbers[chosen], scales=scales)
            kernel = choice.kernel_with(float(gammas[0]))
            n_rows = int(numbers[-1]) + 1
            return KernelBasis.of_widths(kernel, X[chosen], numbers[chosen], gammas, n_rows, scales)

        gammas = None
        if choice.has_gamma:
            fit = partial(self._quiet_fit, kept, len(problems), np.all(weight == 1.0))
            fits = Fits(fit, X, weight, problems, candidates, basis, Split.of(distinct))
            gammas = choice.gammas(gamma, fits)
            kept.solutions = fits.solutions(gammas)
        return [basis(chosen, gammas) for chosen in candidates]

    def _bases_of_a_part(self, X, codes, weight, numbers, kept):
        """Of rows that need not all fit into memory: candidates, widths and scales from some of them."""
        if self.kernel == "precomputed":
            raise ValueError("RVMClassifier(kernel='precomputed') needs the whole matrix in memory.")
        part = np.arange(len(codes))
        if len(part) > CHOICE_ON_A_PART_BEYOND:
            part = _part_of_each_class(codes, kept.rng(), CHOICE_ON_A_PART_BEYOND)
        codes, weight = codes[part], weight[part]
        problems = multiclass.decompose(codes, int(codes.max()) + 1, self.multi_class)
        return self._bases(X[part].gathered(), codes, weight, numbers[part], problems, kept)

    @property
    def _kernel_choice(self):
        return KernelChoice(
            self.kernel, self.gamma, self.feature_scales, self.degree, self.coef0, self._is_sequential
        )

    @property
    def _is_sequential(self):
        return recipe(self.solver, self._basis_name).outer_loop is RECIPES["sequential"].outer_loop

    def _candidates_of_each(self, problems, X, distinct, codes, weight, rng):
        return [self._candidates_of(problem, X, distinct, codes, weight, rng) for problem in problems]

    def _candidates_of(self, problem, X, distinct, codes, weight, rng):
        """Rows of X that are candidates in a binary problem."""
        if isinstance(problem.rows, slice):
            return self._candidates(X, distinct, codes, weight, rng)
        part = X[problem.rows]
        rows = (codes[problem.rows], weight[problem.rows])
        return problem.rows[self._candidates(part, DistinctRows.of(part), *rows, rng)]

    def _fit_problems(self, X, weight, classes, problems, bases, starts, kept):
        """Where there are very many rows, vectors are chosen on a part of them."""
        unseen = self.callbacks is None and not self.verbose and kept.folder is None
        if unseen and kept.solutions is not None:
            return kept.solutions
        if starts[0] is None and self._is_sequential:
            rng = kept.rng()
            for k, problem in enumerate(problems):
                if len(problem.labels) > CHOICE_ON_A_PART_BEYOND:
                    bases[k], starts[k] = self._chosen_on_a_part(X, weight, problem, bases[k], rng, kept)
        return super()._fit_problems(X, weight, classes, problems, bases, starts, kept)

    def _chosen_on_a_part(self, X, weight, problem, basis, rng, kept):
        part = _part_of_each_class(problem.labels, rng, ROWS_OF_THE_PART)
        rows = np.arange(X.shape[0])[problem.rows][part]
        X = X[rows].gathered() if isinstance(X, RowBlocks) else X[rows]
        weight = weight[rows]
        solution = self._quiet_fit(kept, 1, np.all(weight == 1.0), X, basis, problem.labels[part], weight)
        start = Start(
            np.arange(len(solution.columns)),
            solution.coef,
            solution.alpha,
            solution.intercept,
            solution.intercept_alpha,
        )
        return solution.basis, start

    def _quiet_fit(self, kept, n_problems, unweighted, X, basis, labels, weight):
        """A fit on the way to the model, or the model itself: no callback sees it."""
        settings = self._settings(weight.sum(), len(basis.numbers))
        weight = None if unweighted else weight
        keeper = kept.keeper_of_quiet_fit()
        with blas_threads(n_problems > 1, len(labels) * len(basis.numbers)):
            return fit_problem(
                X, basis, labels, weight, settings, None, None, lambda state, scale: False, keeper
            )

    def _candidates(self, X, distinct, codes, weight, rng):
        """Which rows of X are candidates, in ascending order."""
        limit = len(distinct.first)
        if self.basis == "auto" and limit > self.max_basis:
            limit = min(DEFAULT_CANDIDATES, self.max_basis)
        elif self.basis not in ("auto", "all"):
            limit = self.basis
        chosen = distinct.first
        if limit < len(chosen):
            classes, total = distinct.class_weights(codes, weight).argmax(axis=1), distinct.total(weight)
            chosen = chosen[candidate_rows(X[chosen], classes, total, limit, rng)]
        return np.sort(chosen)

    @property
    def _basis(self):
        if self._kernel is None:
            return IdentityBasis(self._training_shape[1], self.relevance_)
        vectors = (self._kernel, self.relevance_vectors_, self.relevance_)
        if self._numbers is None:
            return KernelBasis(*vectors, scales=self._scales)
        return KernelBasis(*vectors, np.asarray(self.gamma_), self._numbers, self._scales)

    def _keep_basis(self, bases):
        # Of an earlier fit with another kernel.
        for name in ("relevance_vectors_", "gamma_", "feature_scales_"):
            if hasattr(self, name):
                delattr(self, name)
        if isinstance(bases[0], IdentityBasis):
            self._kernel = None
            self.relevance_ = np.unique(np.concatenate([basis.numbers for basis in bases]))
            return self.relevance_
        merged = KernelBasis.merged(bases)
        self._kernel, self._scales = merged.kernel, merged.scales
        n_features = merged.vectors.shape[1]
        self.feature_scales_ = np.ones(n_features) if self._scales is None else self._scales.copy()
        self.relevance_, self.relevance_vectors_ = merged.names, merged.vectors
        self._numbers = merged.keys
        if isinstance(merged.kernel, kernels.Kernel) and merged.kernel.name in WITH_GAMMA:
            self.gamma_ = merged.kernel.gamma if merged.gammas is None else merged.gammas
        return merged.numbers

    @property
    def _bound_to_training(self):
        if self._kernel is not None:
            return None
        return (
            "RVMClassifier(kernel='precomputed') cannot be frozen: its columns are kernel values against the "
            "training data, which the model does not have. Fit with a kernel by name."
        )

    @property
    def _n_numbers(self):
        return self._training_shape[0]


def _part_of_each_class(labels, rng, n_rows):
    """Rows of a part, of each class in proportion; all of them where a class has few."""
    part = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        share = int(np.ceil(len(rows) * n_rows / len(labels)))
        part.append(rng.choice(rows, min(max(share, LEAST_OF_A_CLASS), len(rows)), replace=False))
    return np.sort(np.concatenate(part))
