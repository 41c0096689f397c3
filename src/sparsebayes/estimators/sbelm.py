"""The random-layer classifier: a sparse Bayesian extreme learning machine."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from sparsebayes.basis import ACTIVATIONS, MAX_HELD, HiddenBasis, filled_columns
from sparsebayes.design import HoldLimit
from sparsebayes.estimators._base import SparseBayesClassifier
from sparsebayes.recipes import BasisName


class SBELMClassifier(SparseBayesClassifier):
    """Sparse Bayesian extreme learning machine: few random hidden nodes, probabilities, fast.

    Logistic regression on a layer of random nodes, f(<a, x> + b), in which every output weight has a Gaussian
    prior whose precision is learned from the data. Most nodes are dropped; only those kept are stored.

    Parameters
    ----------
    n_hidden : int, default=200
        Hidden nodes to choose from.
    activation : {"sigmoid", "tanh", "relu", "sine"}, default="sigmoid"
        The function f of a node.
    hidden_scale : float or "auto", default="auto"
        Hidden weights and biases are uniform in [-1, 1], times this factor. "auto": as they are for "dqn" and
        "newton", as in the paper, which expects features scaled to [-1, 1]; for the solver "auto" the layer
        sees X less its mean and over its spread, so that a common factor of X, or a shift, changes nothing.
    solver : {"auto", "sequential", "dqn", "newton"}, default="auto"
        - "auto": ours, as in :class:`~sparsebayes.SBLClassifier`: one learned prior scale, the nodes with the
          least evidence dropped step by step, and the point of this path with the least leave-one-out loss.
        - "sequential": built up from nothing; nodes are added, re-estimated and deleted by their gain in
          evidence (Tipping & Faul), with the exact posterior of the few that are in. For few columns.
        - "dqn": the paper's DQN-SBELM to the letter, Algorithms 1 and 2 with eq. 14 and 15 and its constants.
        - "newton": the classical SBELM, Algorithm 2 with the full inverse of eq. 7.
    tol : float, default=1e-3
        Stop when no log alpha changes by more (DELTA_LOGALPHA); in "auto", on the scale's.
    max_iter : int, default=100
        Outer iterations (MaxIts); in "auto", points of the path.
    init_alpha : float or "auto", default="auto"
        Precision that the weights start from: 1e-5 for "dqn" and "newton". The solver "auto" learns it.
    alpha_max : float, default=1e6
        Weights with a larger precision are pruned (ALPHA_MAX).
    gamma_floor : float, default=1e-4
        The constant c of eq. 15, in place of 1 - alpha B where that is not positive.
    map_tol : float or "auto", default="auto"
        Norm of the gradient at which the inner solver stops: for "dqn" as it is (epsilon, 1e-1), otherwise
        relative to the gradient at zero weights (1e-8).
    map_max_iter : int, default=100
        Steps of the inner solver (MaxIts_qn).
    fit_intercept : bool, default=True
        Whether to have an intercept.
    intercept_prior : {"auto", "ard", "flat"}, default="auto"
        "ard": a precision of its own, prunable, as in the paper ("dqn" and "newton" unless told
        otherwise); "flat": no prior, never pruned ("auto").
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one with pairwise coupling of the probabilities, or one-vs-rest.
    proba : {"mode", "moderated"}, default="mode"
        "mode": probabilities are the likelihood at the fitted weights. "moderated": they are averaged over
        the posterior of the weights (MacKay's approximation), hence nearer to 1/2 where the data say little.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced" makes them count alike.
    warm_start : bool, default=False
        Go on from the last fit: its hidden nodes, weights and precisions.
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
        For the hidden layer.
    n_jobs : int, default=None
        Binary problems fitted in parallel. With two classes, threads over blocks of a matrix too large to
        hold; None is then all cores. The model is the same, bit for bit, for any number.
    verbose : int, default=0
        A line per outer iteration if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    hidden_weights_ : ndarray of shape (n_nodes, n_features)
        Input weights of the nodes that are kept, of all binary problems; zero for features that were zero
        in every sample.
    hidden_biases_ : ndarray of shape (n_nodes,)
        Their biases.
    hidden_nodes_ : ndarray of shape (n_nodes,)
        Their indices in the layer drawn.
    coef_ : ndarray of shape (n_problems, n_nodes)
        Output weights, exactly zero where a problem does not use a node. One row for two classes, otherwise
        one a pair in the order (0, 1), (0, 2), ..., (1, 2), ... (positive: the second of the pair) or one a
        class.
    sparse_coef_ : csr_matrix of shape (n_problems, n_nodes)
        The same as it is stored.
    coef_std_ : ndarray of shape (n_problems, n_nodes)
        Posterior standard deviations of the weights, zero where a node is not used.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    alpha_ : ndarray of shape (n_problems, n_nodes)
        Precisions, infinite where a node is not used.
    intercept_alpha_ : ndarray of shape (n_problems,)
        Precisions of the intercepts: 0 for a flat prior, infinite where pruned.
    n_relevant_ : ndarray of shape (n_problems,)
        Number of nodes kept.
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
    J. Luo, C.-M. Vong, P.-K. Wong, "Sparse Bayesian Extreme Learning Machine for Multi-classification", IEEE
    Transactions on Neural Networks and Learning Systems 25 (2014).

    J. Luo, C.-M. Wong, C.-M. Vong, "Complexity-Optimized Sparse Bayesian Learning for Scalable
    Classification Tasks", arXiv 2107.08195.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import SBELMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SBELMClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95, len(clf.hidden_weights_) < 30
    (True, True)
    """

    _basis_name: ClassVar[BasisName] = "hidden"
    _fixed: ClassVar[tuple[str, ...]] = ("multi_class", "n_hidden", "activation", "hidden_scale")
    _parameter_constraints: ClassVar[dict] = {
        **SparseBayesClassifier._parameter_constraints,
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "hidden_scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_hidden=200,
        *,
        activation="sigmoid",
        hidden_scale="auto",
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
        self.n_hidden = n_hidden
        self.activation = activation
        self.hidden_scale = hidden_scale
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

    def _bases(self, X, codes, weight, numbers, problems, kept):
        layer = HiddenBasis.random(self.activation, self.n_hidden, X.shape[1], kept.rng(), filled_columns(X))
        if self.hidden_scale == "auto" and self.solver == "auto":
            layer = layer.fitted_to(X, weight)
        elif self.hidden_scale != "auto":
            layer = layer.scaled(self.hidden_scale)
        return [layer] * len(problems)

    @property
    def _basis(self):
        return HiddenBasis(
            self._activation, self.hidden_weights_, self.hidden_biases_, self.hidden_nodes_, self._n_drawn
        )

    def _keep_basis(self, bases):
        layer = HiddenBasis.merged(bases).over(self.n_features_in_)
        self._activation, self._n_drawn = layer.activation, layer.n_drawn
        self.hidden_nodes_ = layer.numbers
        self.hidden_weights_, self.hidden_biases_ = layer.weights, layer.biases
        return self.hidden_nodes_

    @property
    def _hold_limit(self):
        return HoldLimit(self.n_hidden, MAX_HELD)

    @property
    def _n_numbers(self):
        return self._n_drawn
