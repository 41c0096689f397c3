"""The linear classifier."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from sparsebayes.basis import IdentityBasis
from sparsebayes.estimators._base import SparseBayesClassifier


class SBLClassifier(SparseBayesClassifier):
    """Sparse Bayesian linear classifier: few weights, probabilities, nothing to tune.

    Logistic regression in which every weight has a Gaussian prior whose precision is learned from the
    data, so that most weights are exactly zero in the end.

    Parameters
    ----------
    solver : {"auto", "sequential", "dqn", "newton"}, default="auto"
        - "auto": ours. One prior scale for all weights, learned by eq. 8 of the paper for a shared precision;
          then the weights with the least evidence (q²/s) are dropped step by step, and one point of this
          path is taken, by its leave-one-out loss (on wide data by its evidence). The diagonal of the
          Hessian while more than 400 weights are left, the exact posterior (eq. 7) from then on.
        - "sequential": built up from nothing; weights are added, re-estimated and deleted by their gain in
          evidence (Tipping & Faul), with the exact posterior of the few that are in. For few columns.
        - "dqn": the paper's DQN-SBL to the letter, Algorithms 1 and 2 with eq. 14 and 15 and its constants.
          O(M) memory beyond the data at any number of features M.
        - "newton": classical SBL, Algorithm 2 with the full inverse of eq. 7. M x M memory.
    tol : float, default=1e-3
        Stop when no log alpha changes by more (DELTA_LOGALPHA); in "auto", on the scale's.
    max_iter : int, default=100
        Outer iterations (MaxIts); in "auto", points of the path.
    init_alpha : float or "auto", default="auto"
        Precision that "dqn" and "newton" start from, 1e-5 if "auto". The solver "auto" learns it.
    alpha_max : float, default=1e6
        Weights with a larger precision are pruned (ALPHA_MAX), by "dqn" and "newton".
    gamma_floor : float, default=1e-4
        The constant c of eq. 15, in place of 1 - alpha B where that is not positive.
    map_tol : float or "auto", default="auto"
        Norm of the gradient at which the inner solver stops: for "dqn" as it is (epsilon, 1e-1), for
        "newton" and "auto" relative to the gradient at zero weights (1e-8).
    map_max_iter : int, default=100
        Steps of the inner solver (MaxIts_qn).
    fit_intercept : bool, default=True
        Whether to have an intercept.
    intercept_prior : {"auto", "ard", "flat"}, default="auto"
        "ard": a precision of its own, prunable, as in the paper ("dqn" and "newton" unless told
        otherwise); "flat": no prior, never pruned ("auto").
    scale : {"auto", "columns", "none"}, default="auto"
        "columns" makes the prior proportional to each column's mean square (in the solver "auto": to its
        variance), so that multiplying a column by a constant changes nothing but its coefficient. "none"
        takes the features as given. "auto": "none" for "dqn" and "newton"; for the solver "auto", "columns"
        where there are no more columns than rows, and otherwise one prior for all columns, which does not
        depend on a common factor of X.
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
    callbacks : list of callables, default=None
        Each is called once an outer iteration with a :class:`~sparsebayes.Progress`; one that
        returns True stops the fit.
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
        Outer iterations made; in "auto", points of the path.
    history_ : list of list of dict
        For each problem, a record per outer iteration: active weights, objective, gradient norm, largest
        change of log alpha, inner steps, matrix passes, seconds by phase, number of weights with
        1 - alpha B <= 0. The solver "auto" adds one for the model it settles on.
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
    """

    _parameter_constraints: ClassVar[dict] = {
        **SparseBayesClassifier._parameter_constraints,
        "scale": [StrOptions({"auto", "columns", "none"})],
    }

    def __init__(
        self,
        solver="auto",
        *,
        tol=1e-3,
        max_iter=100,
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
        callbacks=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
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
        self.scale = scale
        self.multi_class = multi_class
        self.proba = proba
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _bases(self, X, codes, weight, numbers, problems):
        return [IdentityBasis(X.shape[1])] * len(problems)

    @property
    def _basis(self):
        return IdentityBasis(self.sparse_coef_.shape[1])

    def _keep_basis(self, bases):
        return np.arange(bases[0].n_columns)

    @property
    def _n_numbers(self):
        return self._training_shape[1]
