"""What a fit went through: the model after every outer iteration, judged on rows held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss
from sklearn.utils import Bunch, check_consistent_length

from sparsebayes import _checks
from sparsebayes.estimators._base import SparseBayesClassifier
from sparsebayes.estimators.linear import SBLClassifier
from sparsebayes.multiclass import Scores


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A binary problem after an outer iteration."""

    features: np.ndarray
    coef: np.ndarray
    intercept: float
    margins: np.ndarray  # at the rows held out
    seconds: float  # since the fit began


class Recorder:
    """A callback that takes a snapshot of every iteration; the snapshots of problem k are ``problems[k]``."""

    def __init__(self, X, *, keep_coef=False):
        self.X = X
        self.keep_coef = keep_coef
        self.problems: dict[int, list[Snapshot]] = {}

    def __call__(self, progress):
        snapshots = self.problems.setdefault(progress.problem, [])
        before = snapshots[-1].seconds if snapshots else 0.0
        snapshots.append(
            Snapshot(
                progress._numbers,
                progress.coef if self.keep_coef else np.empty(0),
                progress.intercept,
                progress._margins(self.X),
                before + sum(progress.record["seconds"].values()),
            )
        )

    @property
    def n_iter(self) -> int:
        return max(len(snapshots) for snapshots in self.problems.values())

    def at(self, iteration: int) -> list[Snapshot]:
        """All problems after so many iterations; one that had ended before, as it ended."""
        problems = (self.problems[k] for k in sorted(self.problems))
        return [snapshots[min(iteration, len(snapshots)) - 1] for snapshots in problems]


class Replay(SparseBayesClassifier):
    """A classifier at the margins of snapshots: it answers for the rows held out and for no others."""

    def __init__(self, snapshots, classes, scheme, dtype):
        self.classes_ = classes
        self.n_relevant_ = np.array([len(snapshot.features) for snapshot in snapshots])
        self._scheme = scheme
        self._known = np.column_stack([snapshot.margins for snapshot in snapshots])
        self._dtype = dtype

    def _scores(self, X, client=None):
        if X.shape[0] != len(self._known):
            raise ValueError(
                f"Along a path predictions are known for all {len(self._known)} rows held out, not for some."
            )
        return Scores(self._known, len(self.classes_), self._scheme, self._dtype)


def recorded_fit(estimator, X, y, sample_weight, X_held_out, *, keep_coef=False):
    """A fitted clone of the estimator, and the recorder of its iterations."""
    name = type(estimator).__name__
    held_out, n_columns = _checks.check_rows(X_held_out, name), _checks.check_rows(X, name).shape[1]
    if held_out.shape[1] != n_columns:
        raise ValueError(
            f"The rows held out have {held_out.shape[1]} columns, but the training data have {n_columns}."
        )
    recorder = Recorder(held_out, keep_coef=keep_coef)
    fitted = clone(estimator).set_params(callbacks=[*(estimator.callbacks or []), recorder])
    return fitted.fit(X, y, sample_weight=sample_weight), recorder


def replays(fitted, recorder):
    """The classifier after each iteration, for the rows held out."""
    dtype = recorder.X.dtype
    for iteration in range(1, recorder.n_iter + 1):
        yield Replay(recorder.at(iteration), fitted.classes_, fitted._scheme, dtype)


def sbl_path(X, y, X_val, y_val, *, estimator=None, sample_weight=None):
    """The accuracy–sparsity path: the model after every outer iteration, judged on validation data.

    One fit; nothing is fitted again. :class:`~sparsebayes.display.PathDisplay` draws it: the paper's Fig. 5.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Their labels.
    X_val : {array-like, sparse matrix} of shape (n_validation, n_features)
        Validation data.
    y_val : array-like of shape (n_validation,)
        Their labels.
    estimator : classifier of this package, default=None
        What to fit; ``SBLClassifier("dqn")`` if None.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the training rows.

    Returns
    -------
    path : Bunch
        With an entry an outer iteration in each of

        - ``iteration``: its number, from 1;
        - ``n_relevant``: features (training rows, hidden nodes) in the model of all binary problems together;
        - ``coef``: csr_matrix of shape (n_problems, number of candidates), with kernels of several widths
          (n_problems, number of candidates times that of widths);
        - ``intercept``: an array, an intercept a binary problem;
        - ``accuracy``, ``log_loss``: on the validation data, with probabilities at the mode;
        - ``seconds``: since the fit began;

        and with ``n_candidates``, the number of features (training rows, hidden nodes) there are,
        and ``estimator``, the fitted classifier. With the solver "auto" of the linear and the random-layer
        classifier the path goes down to nothing, and the model that was settled on lies somewhere on it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sparsebayes import SBLClassifier, sbl_path
    >>> X, X_val, y, y_val = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> path = sbl_path(X, y, X_val, y_val, estimator=SBLClassifier())
    >>> bool(path.n_relevant[0] > path.n_relevant[-1]), path.coef[0].shape
    (True, (1, 30))
    """
    estimator = SBLClassifier("dqn") if estimator is None else estimator
    if not isinstance(estimator, SparseBayesClassifier):
        raise TypeError(f"sbl_path follows a classifier of sparsebayes. Got {estimator!r} instead.")
    check_consistent_length(X_val, y_val)
    fitted, recorder = recorded_fit(estimator, X, y, sample_weight, X_val, keep_coef=True)
    path = Bunch(
        iteration=np.arange(1, recorder.n_iter + 1),
        n_relevant=[],
        coef=[],
        intercept=[],
        accuracy=[],
        log_loss=[],
        seconds=[],
    )
    largest = max(int(s.features.max(initial=-1)) for each in recorder.problems.values() for s in each)
    n_columns = fitted._n_numbers * max(-(-(largest + 1) // fitted._n_numbers), 1)  # a block for each width
    for iteration, replay in enumerate(replays(fitted, recorder), start=1):
        problems = recorder.at(iteration)
        coef = _stacked(problems, n_columns)
        path.coef.append(coef)
        path.n_relevant.append(len(np.unique(coef.indices)))
        path.intercept.append(np.array([snapshot.intercept for snapshot in problems]))
        path.accuracy.append(accuracy_score(y_val, replay.predict(recorder.X)))
        path.log_loss.append(log_loss(y_val, replay.predict_proba(recorder.X), labels=fitted.classes_))
        path.seconds.append(sum(snapshot.seconds for snapshot in problems))
    for name in ("n_relevant", "accuracy", "log_loss", "seconds"):
        path[name] = np.array(path[name])
    path.n_candidates = fitted._n_numbers
    path.estimator = fitted
    return path


def _stacked(problems, n_candidates):
    rows = [np.full(len(snapshot.features), k) for k, snapshot in enumerate(problems)]
    columns = np.concatenate([snapshot.features for snapshot in problems])
    values = np.concatenate([snapshot.coef for snapshot in problems])
    shape = (len(problems), n_candidates)
    return sp.csr_matrix((values, (np.concatenate(rows), columns)), shape=shape)
