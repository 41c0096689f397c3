"""The linear classifier."""

from __future__ import annotations

from copy import copy
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sparsebayes.basis import IdentityBasis
from sparsebayes.estimators._base import SparseBayesClassifier
from sparsebayes.recipes import recipe


class SBLClassifier(SparseBayesClassifier):
    """Sparse Bayesian linear classifier: few weights, probabilities, nothing to tune.

    Logistic regression in which every weight has a Gaussian prior whose precision is learned from the
    data, so that most weights are exactly zero in the end.

    Parameters
    ----------
    solver : {"auto", "elimination", "sequential", "dqn", "newton"}, default="auto"
        - "auto": what suits features best, which is "elimination".
        - "elimination": ours. One prior scale for all weights, learned by eq. 8 of the paper for a shared
          precision, or where there are more than 400 columns from the leave-one-out loss, or from samples
          held out where ``select`` has any; then the weights with the least evidence (q²/s) are dropped
          step by step down to none, and one point of this path is taken (see ``select``); the others stay
          at hand (see :meth:`at`). The diagonal of the Hessian while more than 400 weights are left, the
          exact posterior (eq. 7) from then on.
        - "sequential": built up from nothing; weights are added, re-estimated and deleted by their gain in
          evidence (Tipping & Faul), with the exact posterior of the few that are in. For few columns.
        - "dqn": the paper's DQN-SBL to the letter, Algorithms 1 and 2 with eq. 14 and 15 and its constants.
          O(M) memory beyond the data at any number of features M.
        - "newton": classical SBL, Algorithm 2 with the full inverse of eq. 7. M x M memory, or M x N where
          there are more than twice as many columns as rows; 3.2 GB at most.
    tol : float, default=1e-3
        Stop when no log alpha changes by more (DELTA_LOGALPHA).
    max_iter : int, default=100
        Outer iterations (MaxIts); in "elimination", points of the path.
    select : {"evidence", "cv", "cv-1se"}, default="evidence"
        How a point of the path of "elimination" is chosen.

        - "evidence": without validation data, at the cost of one fit: the model with the largest evidence
          or, where there are at most 400 columns, the one with the least leave-one-out loss. On wide data it
          is sparse, and up to two or three points less accurate than what "cv" takes where very many
          features matter a little, as in text.
        - "cv": the model with the least log loss in 5-fold cross-validation. Samples held out, some 1000 of
          them, also choose the prior: its scale and, where there are more columns than samples, whether it
          depends on a column's standard deviation. That costs a path more a fold, and one or two before
          from 5000 samples on, three a fold at most below; fewer than 500 samples are divided into folds
          several times. Margins, also all along the path, are then multiplied by the slope that makes those
          of the samples held out the best log odds.
        - "cv-1se": the smallest model within a standard error of it.
    max_features : int, default=None
        The size of the model that is taken from the path of "elimination", for each binary problem; instead
        of choosing it by ``select``.
    init_alpha : float or "auto", default="auto"
        Precision that "dqn" and "newton" start from, 1e-5 if "auto". The others learn it.
    alpha_max : float, default=1e6
        Weights with a larger precision are pruned (ALPHA_MAX), by "dqn" and "newton".
    gamma_floor : float, default=1e-4
        The constant c of eq. 15, in place of 1 - alpha B where that is not positive.
    map_tol : float or "auto", default="auto"
        Norm of the gradient at which the inner solver stops: for "dqn" as it is (epsilon, 1e-1), otherwise
        relative to the gradient at zero weights (1e-8, 1e-10 for "sequential").
    map_max_iter : int, default=100
        Steps of the inner solver (MaxIts_qn).
    fit_intercept : bool, default=True
        Whether to have an intercept.
    intercept_prior : {"auto", "ard", "flat"}, default="auto"
        "ard": a precision of its own, prunable, as in the paper ("dqn" and "newton" unless told
        otherwise; "elimination" never prunes it); "flat": no prior, never pruned (the others).
    scale : {"auto", "columns", "none"}, default="auto"
        "columns" makes the prior proportional to each column's mean square (in "elimination": to its
        variance), so that multiplying a column by a constant changes nothing but its coefficient. "none"
        takes the features as given. "auto": "none" for "dqn" and "newton", "columns" for "sequential"; for
        "elimination", "columns" where there are no more columns than rows, and otherwise a prior
        proportional to each column's standard deviation (with ``select="cv"`` perhaps an equal one), which
        does not depend on a common factor of X.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one with pairwise coupling of the probabilities, or one-vs-rest.
    proba : {"mode", "moderated"}, default="mode"
        "mode": probabilities are the likelihood at the fitted weights. "moderated": they are averaged over
        the posterior of the weights (MacKay's approximation), hence nearer to 1/2 where the data say little.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced" makes them count alike.
    warm_start : bool, default=False
        Go on from the last fit: its kept features, weights and precisions. A fit of "dqn" or "newton" cut
        in two gives the same model as one of both lengths.
    checkpoint : str or path-like, default=None
        A folder in which the fit keeps its state after each outer iteration, for this fit alone; what
        another fit has left in it is replaced. None keeps nothing.
    resume : bool, default=False
        Go on from the state in ``checkpoint``, where there is one, to the model that the fit would have
        come to uninterrupted, bit for bit. A state of other data or parameters is refused.
    callbacks : list of callables, default=None
        Each is called once an outer iteration with a :class:`~sparsebayes.Progress`; one that
        returns True stops the fit. Folds of ``select`` are not shown to it.
    random_state : int, RandomState instance or None, default=None
        Not used: nothing in a linear fit is random. Kept for a common interface.
    n_jobs : int, default=None
        Binary problems fitted in parallel. With two classes, threads over blocks of a sparse matrix; None
        is then one thread, or all cores from 2^24 nonzeros on, where memory is what limits one. On sparse
        data the model is the same, bit for bit, for any number.
    verbose : int, default=0
        A line per outer iteration if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    coef_ : ndarray of shape (n_problems, n_features)
        Weights, exactly zero where pruned. One row for two classes, otherwise one a pair in the order
        (0, 1), (0, 2), ..., (1, 2), ... (positive: the second of the pair) or one a class.
    sparse_coef_ : csr_matrix of shape (n_problems, n_features)
        The same as it is stored.
    coef_std_ : ndarray of shape (n_problems, n_features)
        Posterior standard deviations of the weights, zero where pruned; above 1000 weights, from the
        Hessian's diagonal alone, hence too small where columns are correlated.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    alpha_ : ndarray of shape (n_problems, n_features)
        Precisions, infinite where pruned, in the units of the features given.
    intercept_alpha_ : ndarray of shape (n_problems,)
        Precisions of the intercepts: 0 for a flat prior, infinite where pruned.
    n_relevant_ : ndarray of shape (n_problems,)
        Number of features kept.
    n_iter_ : ndarray of shape (n_problems,)
        Outer iterations made; in "elimination", points of the path.
    path_ : dict, or list of dict
        The path of "elimination", for several binary problems a dict each. One entry a point in each of
        "n_relevant" (features), "coef" (a csr_matrix of one row), "intercept" and "evidence" (logarithm of
        the evidence by Laplace's approximation, the Hessian taken as diagonal). Not there for other solvers.
    history_ : list of list of dict
        For each problem, a record per outer iteration: active weights, objective, gradient norm, largest
        change of log alpha, inner steps, matrix passes, seconds by phase, number of weights with
        1 - alpha B <= 0; where they are known, the evidence and the prior variance of a margin.
        "elimination" adds one for the model it settles on.
    status_ : list of str
        For each problem, the solver taken and why it stopped.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had names that are strings.

    References
    ----------
    J. Luo, C.-M. Wong, C.-M. Vong, "Complexity-Optimized Sparse Bayesian Learning for Scalable
    Classification Tasks", arXiv 2107.08195.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SBLClassifier().fit(X, y)
    >>> int(clf.n_relevant_[0]) < X.shape[1]
    True
    >>> clf.predict_proba(X[:2]).shape
    (2, 2)

    A smaller model, without another fit:

    >>> small = clf.at(n_features=5)
    >>> int(small.n_relevant_[0]), small.score(X, y) > 0.9
    (5, True)
    """

    _parameter_constraints: ClassVar[dict] = {
        **SparseBayesClassifier._parameter_constraints,
        "scale": [StrOptions({"auto", "columns", "none"})],
        "select": [StrOptions({"evidence", "cv", "cv-1se"})],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        solver="auto",
        *,
        tol=1e-3,
        max_iter=100,
        select="evidence",
        max_features=None,
        init_alpha="auto",
        alpha_max=1e6,
        gamma_floor=1e-4,
        map_tol="auto",
        map_max_iter=100,
        fit_intercept=True,
        intercept_prior="auto",
        scale="auto",
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
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.select = select
        self.max_features = max_features
        self.init_alpha = init_alpha
        self.alpha_max = alpha_max
        self.gamma_floor = gamma_floor
        self.map_tol = map_tol
        self.map_max_iter = map_max_iter
        self.fit_intercept = fit_intercept
        self.intercept_prior = intercept_prior
        self.scale = scale
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

    def at(self, n_features):
        """The model of another size on the path that the fit has followed.

        Parameters
        ----------
        n_features : int
            The largest number of features that a binary problem may have.

        Returns
        -------
        classifier : SBLClassifier
            A fitted copy: for each binary problem the largest model on its path with at most so many
            features. It has no ``coef_std_`` and gives no moderated probabilities (its ``proba`` is "mode"),
            because the posterior is not kept along the path; for these, fit with ``max_features``. Models
            of more than 400 features are as precise as the path was followed: a fit at that size differs
            from them by a per cent or two in a margin.
        """
        check_is_fitted(self)
        if not isinstance(n_features, Integral) or n_features < 0:
            raise ValueError(f"n_features must be a non-negative integer. Got {n_features!r} instead.")
        if not hasattr(self, "path_"):
            raise ValueError(
                f"This {type(self).__name__} was fitted with solver={self.solver!r}, which follows no path. "
                "Use solver='auto' or 'elimination'."
            )
        paths: list[dict] = [self.path_] if isinstance(self.path_, dict) else self.path_
        smallest = max(int(path["n_relevant"][-1]) for path in paths)
        if n_features < smallest:
            raise ValueError(f"The path ends at {smallest} features. Got n_features={n_features}.")
        chosen = [int(np.argmax(path["n_relevant"] <= n_features)) for path in paths]
        taken = copy(self)
        taken.proba = "mode"
        points = list(zip(paths, chosen, strict=True))
        taken.sparse_coef_ = sp.vstack([path["coef"][k] for path, k in points], format="csr")
        taken._sparse_alpha = sp.vstack(
            [alpha[k] for alpha, k in zip(self._path_alpha, chosen, strict=True)], format="csr"
        )
        taken.intercept_ = np.array([path["intercept"][k] for path, k in points], dtype=self.intercept_.dtype)
        alphas = zip(self._path_intercept_alpha, chosen, strict=True)
        taken.intercept_alpha_ = np.array([alpha[k] for alpha, k in alphas])
        taken.n_relevant_ = np.array([path["n_relevant"][k] for path, k in points])
        taken.status_ = [f"taken from the path of a fit that ended so: {status}" for status in self.status_]
        taken._sparse_std = taken._units = taken._posteriors = None
        taken._taken_by_size = True
        return taken

    def _fit_problems(self, X, weight, classes, problems, bases, starts, kept):
        if not recipe(self.solver, self._basis_name).follows_path:
            for name, unset in (("select", "evidence"), ("max_features", None)):
                if getattr(self, name) != unset:
                    raise ValueError(
                        f"{type(self).__name__}({name}={getattr(self, name)!r}) needs a solver that follows "
                        f"a path: 'auto' or 'elimination'. Got solver={self.solver!r} instead."
                    )
        return super()._fit_problems(X, weight, classes, problems, bases, starts, kept)

    def _keep(self, solutions, dtype):
        super()._keep(solutions, dtype)
        if not solutions[0].path:
            for name in ("path_", "_path_alpha", "_path_intercept_alpha"):  # of an earlier fit
                self.__dict__.pop(name, None)
            return
        n_features = self.sparse_coef_.shape[1]
        self._path_alpha = [[_row(m, m.alpha, n_features) for m in s.path] for s in solutions]
        self._path_intercept_alpha = [[m.intercept_alpha for m in s.path] for s in solutions]
        paths: list[dict] = [
            {
                "n_relevant": np.array([len(model.columns) for model in solution.path]),
                "coef": [_row(model, model.coef, n_features) for model in solution.path],
                "intercept": np.array([model.intercept for model in solution.path], dtype=dtype),
                "evidence": np.array([model.evidence for model in solution.path]),
            }
            for solution in solutions
        ]
        self.path_ = paths[0] if len(paths) == 1 else paths

    def _bases(self, X, codes, weight, numbers, problems, kept):
        return [IdentityBasis(X.shape[1])] * len(problems)

    @property
    def _basis(self):
        return IdentityBasis(self.sparse_coef_.shape[1])

    def _keep_basis(self, bases):
        return np.arange(bases[0].n_columns)

    @property
    def _n_numbers(self):
        return self._training_shape[1]


def _row(model, values, n_features):
    """Of a matrix with a column a feature."""
    return sp.csr_matrix((values, model.columns, [0, len(model.columns)]), shape=(1, n_features))
