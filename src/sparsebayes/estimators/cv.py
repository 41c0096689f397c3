"""Early stopping chosen by cross-validation, as in the paper's linear experiments."""

from __future__ import annotations

import warnings
from inspect import Signature, signature
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_sample_weight

from sparsebayes.estimators import _about
from sparsebayes.estimators._base import SparseBayesClassifier
from sparsebayes.estimators._kept import Kept, whole_or_not_at_all
from sparsebayes.estimators.linear import SBLClassifier
from sparsebayes.estimators.path import recorded_fit, replays
from sparsebayes.estimators.rvm import RVMClassifier
from sparsebayes.estimators.sbelm import SBELMClassifier

SEARCH_CONSTRAINTS = {
    "cv": ["cv_object"],
    "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    "rule": [StrOptions({"best", "1se"})],
}


class EarlyStoppingCV(SparseBayesClassifier):
    """The search; put before a classifier among the bases, whose parameters it passes on."""

    _plain: ClassVar[type[SparseBayesClassifier]]  # that classifier

    def __init_subclass__(cls):
        # One list of a classifier's parameters is enough: scikit-learn, help() and editors read this one.
        def __init__(self, *parameters, **named):
            EarlyStoppingCV.__init__(self, *parameters, **named)

        own = [p for p in signature(EarlyStoppingCV.__init__).parameters.values() if p.kind is p.KEYWORD_ONLY]
        joined = Signature([*signature(cls._plain.__init__).parameters.values(), *own])
        __init__.__signature__ = joined  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

    def __init__(self, *parameters, cv=5, scoring=None, rule="best", **named):
        super().__init__(*parameters, **named)
        self.cv = cv
        self.scoring = scoring
        self.rule = rule

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the iteration to stop at, then fit on all data up to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, dense or in any scipy.sparse format.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in fits and in scores.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with whole_or_not_at_all(self):
            folder = self._search(X, y, sample_weight)
            checkpoint = None if folder is None else folder / "fit"
            return self._fit(X, y, sample_weight, checkpoint, resume=checkpoint is not None)

    def _search(self, X, y, sample_weight):
        """Find the iteration; returns the folder of this search's checkpoint."""
        rows, labels = self._validated(X, y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
        parameters = {name: getattr(self, name) for name in self._plain._get_param_names()}
        plain = self._plain(**parameters | {"warm_start": False, "callbacks": None})
        if "select" in parameters:
            plain.set_params(select="evidence", max_features=None)  # every point of its path is looked at
        scorer = check_scoring(self, scoring="accuracy" if self.scoring is None else self.scoring)
        splits = list(check_cv(self.cv, labels, classifier=True).split(rows, labels))
        if not splits:
            raise ValueError(f"cv={self.cv!r} gives no fold.")
        if self.n_jobs not in (None, 1):
            plain.set_params(n_jobs=1)  # the folds share the cores
        folder = Kept.of(self, self.checkpoint, self.resume, [rows, labels, weight]).folder
        folds = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(_scores_along_path)(
                plain, rows, labels, weight, train, test, scorer, folder and folder / f"fold-{number}"
            )
            for number, (train, test) in enumerate(splits)
        )
        self.cv_results_ = _results(folds)
        self.best_index_ = _chosen(self.cv_results_, len(folds), self.rule)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_iteration_ = self.best_index_ + 1
        return folder

    def _about_selection(self):
        results = self.cv_results_
        shown = _about.evenly(len(results["mean_test_score"]), _about.MAX_POINTS, self.best_index_)
        names = {
            "iteration": "param_max_iter",
            "n_relevant": "mean_n_relevant",
            "score": "mean_test_score",
            "score_std": "std_test_score",
        }
        folds: dict = {name: [_about.rounded(results[key][k]) for k in shown] for name, key in names.items()}
        scoring = self.scoring if isinstance(self.scoring, str | None) else "a function of the user's"
        taken = int(np.searchsorted(shown, self.best_index_))
        folds |= {"scoring": scoring or "accuracy", "taken": taken}
        return {"cross_validation": folds}

    def _starts(self, classes, n_features, n_problems):
        return [None] * n_problems  # the chosen iteration is counted from a fresh start

    @property
    def _stop_at(self):
        return self.best_iteration_


def _scores_along_path(plain, X, y, weight, train, test, scorer, checkpoint):
    """For each outer iteration of one fit: score on the test rows, functions kept, seconds so far."""
    plain = clone(plain).set_params(checkpoint=checkpoint, resume=checkpoint is not None)
    X_train, y_train = _safe_split(plain, X, y, train)
    if isinstance(plain.class_weight, dict):  # a fold may lack a class
        present = set(np.unique(y_train).tolist())
        known = {label: factor for label, factor in plain.class_weight.items() if label in present}
        plain = clone(plain).set_params(class_weight=known)
    X_test, y_test = _safe_split(plain, X, y, test, train)
    with warnings.catch_warnings():
        # Where it stops is what is being chosen; a fold that prunes everything scores as it does.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted, recorder = recorded_fit(
            plain, X_train, y_train, None if weight is None else weight[train], X_test
        )
    # Most metrics of scikit-learn's take weights; a user's function may not.
    metric = getattr(scorer, "_score_func", None)
    weighted = weight is not None and metric is not None and "sample_weight" in signature(metric).parameters
    weights = {"sample_weight": weight[test]} if weighted else {}
    rows = []
    for iteration, replay in enumerate(replays(fitted, recorder), start=1):
        score = float(scorer(replay, recorder.X, y_test, **weights))
        seconds = sum(snapshot.seconds for snapshot in recorder.at(iteration))
        rows.append((score, float(replay.n_relevant_.mean()), seconds))
    return np.array(rows)


def _results(folds):
    """``cv_results_``: a fold that ended before the others stands where it ended."""
    n_iter = max(len(fold) for fold in folds)
    table = np.stack([fold[np.minimum(np.arange(n_iter), len(fold) - 1)] for fold in folds])
    scores, n_relevant, seconds = np.moveaxis(table, 2, 0)
    iterations = np.arange(1, n_iter + 1)
    mean = scores.mean(axis=0)
    undefined = np.flatnonzero(np.isnan(scores).any(axis=1))
    if len(undefined):
        raise ValueError(
            f"The score is not defined on the test rows of folds {undefined.tolist()}: change cv or scoring."
        )
    return {
        "mean_fit_time": seconds.mean(axis=0),
        "std_fit_time": seconds.std(axis=0),
        "param_max_iter": np.ma.array(iterations, mask=False),
        "params": [{"max_iter": int(iteration)} for iteration in iterations],
        **{f"split{k}_test_score": fold for k, fold in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        "mean_n_relevant": n_relevant.mean(axis=0),
    }


def _chosen(results, n_folds, rule):
    """The sparsest iteration with the best mean score, or within one standard error of it."""
    mean, kept = results["mean_test_score"], results["mean_n_relevant"]
    best = int(np.argmax(mean))
    slack = 0.0
    if rule == "1se" and n_folds > 1:
        scores = [results[f"split{k}_test_score"][best] for k in range(n_folds)]
        slack = float(np.std(scores, ddof=1) / np.sqrt(n_folds))
    within = np.flatnonzero(mean >= mean[best] - slack)
    return int(within[np.lexsort((-within, -mean[within], kept[within]))[0]])


class SBLClassifierCV(EarlyStoppingCV, SBLClassifier):
    """The linear classifier, stopped at the outer iteration that cross-validation prefers.

    Every outer iteration of the fit on a fold's training rows is scored on its test rows as it passes, so
    that the search costs a fit a fold; then the classifier is fitted on all data up to the chosen iteration.

    Parameters
    ----------
    cv : int, cross-validation generator or iterable, default=5
        Folds, as in scikit-learn.
    scoring : str, callable or None, default=None
        What to maximise: a name or a scorer of scikit-learn's; accuracy if None. A function of yours is given
        a classifier that predicts the fold's test rows and knows ``classes_`` and ``n_relevant_``, no more.
    rule : {"best", "1se"}, default="best"
        "best": the iteration with the best mean score. "1se": the one with the fewest features of
        those within a standard error of it.
    **parameters
        Those of :class:`~sparsebayes.SBLClassifier`. ``max_iter`` limits the search, ``callbacks`` see the
        last fit alone, ``warm_start`` has no effect, and ``n_jobs`` is for the folds.

    Attributes
    ----------
    best_iteration_ : int
        The outer iteration chosen.
    best_index_ : int
        Its index in ``cv_results_``.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        As in scikit-learn's searches, an entry an outer iteration: "param_max_iter", "params",
        "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score", "mean_fit_time" and
        "std_fit_time" (seconds up to that iteration), and "mean_n_relevant".

    Notes
    -----
    Attributes of the fit on all data are those of :class:`~sparsebayes.SBLClassifier`. Iterations are scored
    by the probabilities at the mode, whatever ``proba`` is.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SBLClassifierCV(solver="newton").fit(X, y)
    >>> bool(clf.best_iteration_ == clf.n_iter_.max()), clf.best_score_ > 0.9
    (True, True)
    """

    _plain: ClassVar[type[SparseBayesClassifier]] = SBLClassifier
    _parameter_constraints: ClassVar[dict] = {**SBLClassifier._parameter_constraints, **SEARCH_CONSTRAINTS}


class RVMClassifierCV(EarlyStoppingCV, RVMClassifier):
    """The kernel classifier, stopped at the outer iteration that cross-validation prefers.

    Every outer iteration of the fit on a fold's training rows is scored on its test rows as it passes, so
    that the search costs a fit a fold; then the classifier is fitted on all data up to the chosen iteration.

    Parameters
    ----------
    cv : int, cross-validation generator or iterable, default=5
        Folds, as in scikit-learn.
    scoring : str, callable or None, default=None
        What to maximise: a name or a scorer of scikit-learn's; accuracy if None. A function of yours is given
        a classifier that predicts the fold's test rows and knows ``classes_`` and ``n_relevant_``, no more.
    rule : {"best", "1se"}, default="best"
        "best": the iteration with the best mean score. "1se": the one with the fewest vectors of
        those within a standard error of it.
    **parameters
        Those of :class:`~sparsebayes.RVMClassifier`. ``max_iter`` limits the search, ``callbacks`` see the
        last fit alone, ``warm_start`` has no effect, and ``n_jobs`` is for the folds.

    Attributes
    ----------
    best_iteration_ : int
        The outer iteration chosen.
    best_index_ : int
        Its index in ``cv_results_``.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        As in scikit-learn's searches, an entry an outer iteration: "param_max_iter", "params",
        "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score", "mean_fit_time" and
        "std_fit_time" (seconds up to that iteration), and "mean_n_relevant".

    Notes
    -----
    Attributes of the fit on all data are those of :class:`~sparsebayes.RVMClassifier`. Iterations are scored
    by the probabilities at the mode, whatever ``proba`` is.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sparsebayes import RVMClassifierCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = RVMClassifierCV(solver="dqn").fit(X, y)
    >>> bool(clf.best_iteration_ == clf.n_iter_.max()), clf.best_score_ > 0.9
    (True, True)
    """

    _plain: ClassVar[type[SparseBayesClassifier]] = RVMClassifier
    _parameter_constraints: ClassVar[dict] = {**RVMClassifier._parameter_constraints, **SEARCH_CONSTRAINTS}


class SBELMClassifierCV(EarlyStoppingCV, SBELMClassifier):
    """The random-layer classifier, stopped at the outer iteration that cross-validation prefers.

    Every outer iteration of the fit on a fold's training rows is scored on its test rows as it passes, so
    that the search costs a fit a fold; then the classifier is fitted on all data up to the chosen iteration.

    Parameters
    ----------
    cv : int, cross-validation generator or iterable, default=5
        Folds, as in scikit-learn.
    scoring : str, callable or None, default=None
        What to maximise: a name or a scorer of scikit-learn's; accuracy if None. A function of yours is given
        a classifier that predicts the fold's test rows and knows ``classes_`` and ``n_relevant_``, no more.
    rule : {"best", "1se"}, default="best"
        "best": the iteration with the best mean score. "1se": the one with the fewest nodes of
        those within a standard error of it.
    **parameters
        Those of :class:`~sparsebayes.SBELMClassifier`. ``max_iter`` limits the search, ``callbacks`` see the
        last fit alone, ``warm_start`` has no effect, and ``n_jobs`` is for the folds.

    Attributes
    ----------
    best_iteration_ : int
        The outer iteration chosen.
    best_index_ : int
        Its index in ``cv_results_``.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        As in scikit-learn's searches, an entry an outer iteration: "param_max_iter", "params",
        "split0_test_score", ..., "mean_test_score", "std_test_score", "rank_test_score", "mean_fit_time" and
        "std_fit_time" (seconds up to that iteration), and "mean_n_relevant".

    Notes
    -----
    Attributes of the fit on all data are those of :class:`~sparsebayes.SBELMClassifier`. Iterations are
    scored by the probabilities at the mode, whatever ``proba`` is.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sparsebayes import SBELMClassifierCV
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = SBELMClassifierCV(random_state=0).fit(X, y)
    >>> bool(clf.best_iteration_ == clf.n_iter_.max()), clf.best_score_ > 0.9
    (True, True)
    """

    _plain: ClassVar[type[SparseBayesClassifier]] = SBELMClassifier
    _parameter_constraints: ClassVar[dict] = {**SBELMClassifier._parameter_constraints, **SEARCH_CONSTRAINTS}
