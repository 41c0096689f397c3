"""Early stopping by cross-validation and the path, against fits that are made one by one."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from sparsebayes import (
    RVMClassifier,
    RVMClassifierCV,
    SBELMClassifier,
    SBELMClassifierCV,
    SBLClassifier,
    SBLClassifierCV,
    sbl_path,
)
from sparsebayes.estimators.cv import _chosen
from tests.problems import classification

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PAIRS = [
    (SBLClassifierCV, SBLClassifier, {}),
    (RVMClassifierCV, RVMClassifier, {}),
    (SBELMClassifierCV, SBELMClassifier, {"n_hidden": 30, "random_state": 0}),
]


def problem(n_classes):
    return classification(n=150, m=6, n_classes=n_classes, seed=n_classes)


@pytest.mark.parametrize(("searched", "plain", "parameters"), PAIRS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_equals_a_grid_search_over_max_iter(searched, plain, parameters, n_classes, scoring):
    """One fit a fold says what a fit a fold and iteration says."""
    X, y = problem(n_classes)
    parameters = {**parameters, "solver": "newton"}
    cv = StratifiedKFold(3)
    ours = searched(max_iter=6, cv=cv, scoring=scoring, **parameters).fit(X, y)
    grid = {"max_iter": range(1, 7)}
    theirs = GridSearchCV(plain(**parameters), grid, scoring=scoring, cv=cv).fit(X, y)
    for name in ("split0_test_score", "split2_test_score", "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-7)
    np.testing.assert_array_equal(ours.cv_results_["param_max_iter"], theirs.cv_results_["param_max_iter"])
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert set(ours.cv_results_) - {"mean_n_relevant"} <= set(theirs.cv_results_)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    refitted = plain(**parameters, max_iter=ours.best_iteration_).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, refitted.coef_)
    assert ours.cv_results_["mean_test_score"][ours.best_index_] == ours.cv_results_["mean_test_score"].max()


@pytest.mark.parametrize(("searched", "plain", "parameters"), PAIRS)
@pytest.mark.parametrize("solver", ["auto", "dqn"])
def test_refit_ends_at_the_chosen_iteration(searched, plain, parameters, solver):
    X, y = problem(2)
    with np.errstate(all="raise"):
        clf = searched(solver=solver, cv=3, rule="1se", **parameters).fit(X, y)
    path = sbl_path(X, y, X, y, estimator=plain(solver=solver, **parameters))
    point = min(clf.best_iteration_, len(path.coef)) - 1
    assert clf.n_relevant_[0] == path.n_relevant[point]
    kept = path.coef[point].toarray()[0]
    kept = kept[kept != 0.0]
    # The model taken is solved to map_tol, a point of the path to less.
    np.testing.assert_allclose(clf.sparse_coef_.data, kept, rtol=1e-4)
    if clf.best_iteration_ < len(path.coef):
        assert "was chosen for it" in clf.status_[0]


def test_one_fit_a_fold():
    X, y = problem(2)
    fits = []

    class Counting(SBLClassifierCV):
        class _plain(SBLClassifier):
            def fit(self, *arguments, **named):
                fits.append(self.max_iter)
                return super().fit(*arguments, **named)

    Counting(solver="newton", cv=4, max_iter=20).fit(X, y)
    assert fits == [20] * 4


def test_rule_of_one_standard_error():
    scores = np.array([[0.80, 0.90, 0.88, 0.86], [0.80, 0.80, 0.86, 0.70], [0.80, 1.00, 0.90, 0.90]])
    results = {
        "mean_test_score": scores.mean(axis=0),
        "mean_n_relevant": np.array([9.0, 7.0, 5.0, 1.0]),
        **{f"split{k}_test_score": row for k, row in enumerate(scores)},
    }
    # Best: 0.9 with a standard error of 0.1 / sqrt(3) = 0.058; 0.88 is within it, 0.82 is not.
    assert _chosen(results, 3, "best") == 1
    assert _chosen(results, 3, "1se") == 2


def test_ties_go_to_the_sparsest():
    results = {
        "mean_test_score": np.array([0.9, 0.9, 0.9, 0.8]),
        "mean_n_relevant": np.array([5.0, 3.0, 3.0, 1.0]),
    }
    assert _chosen(results, 1, "best") == 2


def test_parallel_folds_weights_and_scorers():
    X, y = problem(2)
    weight = np.arange(len(y)) % 3 + 1.0
    cv = StratifiedKFold(3)
    parameters = {"solver": "newton", "max_iter": 4, "cv": cv}
    one = SBLClassifierCV(**parameters).fit(X, y, weight)
    two = SBLClassifierCV(**parameters, n_jobs=2).fit(X, y, weight)
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    train, test = next(cv.split(X, y))
    fold = SBLClassifier("newton", max_iter=4).fit(X[train], y[train], weight[train])
    score = accuracy_score(y[test], fold.predict(X[test]), sample_weight=weight[test])
    assert one.cv_results_["split0_test_score"][3] == pytest.approx(score)
    own = SBLClassifierCV(**parameters, scoring=lambda clf, X, y: -float(clf.n_relevant_.sum())).fit(
        X, y, weight
    )
    assert own.best_score_ == -own.cv_results_["mean_n_relevant"].min()
    scorer = make_scorer(log_loss, greater_is_better=False, response_method="predict_proba")
    named = SBLClassifierCV(**parameters, scoring="neg_log_loss").fit(X, y, weight)
    made = SBLClassifierCV(**parameters, scoring=scorer).fit(X, y, weight)
    np.testing.assert_array_equal(made.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])


def test_parameters_are_those_of_both():
    clf = SBLClassifierCV("dqn", cv=3, rule="1se", max_iter=7)
    assert clone(clf).get_params() == clf.get_params()
    assert set(clf.get_params()) == set(SBLClassifier().get_params()) | {"cv", "scoring", "rule"}
    assert (clf.solver, clf.cv, clf.rule, clf.max_iter) == ("dqn", 3, "1se", 7)
    assert repr(clf) == "SBLClassifierCV(cv=3, max_iter=7, rule='1se', solver='dqn')"
    assert str(signature(SBLClassifierCV)).endswith("cv=5, scoring=None, rule='best')")
    with pytest.raises(TypeError, match="tolerance"):
        SBLClassifierCV(tolerance=1)


def test_precomputed_kernel_and_sparse_rows():
    X, y = make_moons(90, noise=0.2, random_state=0)
    parameters = {"cv": 3, "solver": "newton", "max_iter": 5}
    rows = RVMClassifierCV(gamma=1.0, **parameters).fit(X, y)
    gram = RVMClassifierCV("precomputed", **parameters).fit(rbf_kernel(X, X, gamma=1.0), y)
    np.testing.assert_allclose(gram.cv_results_["mean_test_score"], rows.cv_results_["mean_test_score"])
    sparse = SBLClassifierCV(**parameters).fit(sp.coo_matrix(X), y)
    dense = SBLClassifierCV(**parameters).fit(X, y)
    np.testing.assert_allclose(sparse.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    "estimator",
    [
        SBLClassifier("newton"),
        RVMClassifier(solver="newton"),
        SBELMClassifier(30, solver="newton", random_state=0),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_path_is_what_shorter_fits_give(estimator, n_classes):
    X, y = problem(n_classes)
    X, X_val, y, y_val = X[:100], X[100:], y[:100], y[100:]
    path = sbl_path(X, y, X_val, y_val, estimator=estimator.set_params(max_iter=5))
    np.testing.assert_array_equal(path.iteration, range(1, 6))
    for k in range(5):
        fitted = clone(estimator).set_params(max_iter=k + 1).fit(X, y)
        assert path.accuracy[k] == fitted.score(X_val, y_val)
        assert path.log_loss[k] == pytest.approx(log_loss(y_val, fitted.predict_proba(X_val)))
        assert path.n_relevant[k] == len(np.unique(fitted.sparse_coef_.indices))
        np.testing.assert_allclose(path.intercept[k], fitted.intercept_)
        coef = path.coef[k]
        assert coef.shape == (n_classes if n_classes > 2 else 1, path.n_candidates)
        np.testing.assert_array_equal(np.diff(coef.indptr), fitted.n_relevant_)
        np.testing.assert_allclose(coef.data[np.abs(coef.data) > 0], fitted.sparse_coef_.data)
    assert (np.diff(path.seconds) > 0).all()
    assert path.n_candidates == {SBLClassifier: 6, RVMClassifier: 100, SBELMClassifier: 30}[type(estimator)]


def test_path_of_dqn_is_the_default():
    X, y = problem(2)
    path = sbl_path(X, y, X, y)
    assert path.estimator.solver == "dqn"
    assert path.n_relevant[-1] == path.estimator.n_relevant_[0]


def test_path_refuses_other_columns():
    X, y = problem(2)
    with pytest.raises(ValueError, match="have 5 columns, but the training data have 6"):
        sbl_path(X, y, X[:, :5], y)


def test_path_refuses_what_it_cannot_follow():
    X, y = problem(2)
    with pytest.raises(TypeError, match="classifier of sparsebayes"):
        sbl_path(X, y, X, y, estimator=LogisticRegression())
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        sbl_path(X, y, X, y[:-1])


def test_path_takes_lists_names_and_strings():
    X, y = problem(2)
    labels = np.array(["no", "yes"])[y]
    path = sbl_path(X.tolist(), labels.tolist(), X.tolist(), labels)
    assert path.accuracy[-1] == path.estimator.score(X, labels)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert sbl_path(frame, labels, frame, labels).estimator.feature_names_in_.tolist() == list("abcdef")


@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_search_with_scores_it_cannot_use():
    X, y = problem(2)
    order = np.argsort(y, kind="stable")
    folds = [(np.arange(150), order[:10]), (np.arange(150), np.arange(50))]  # the first tests one class alone
    with pytest.raises(ValueError, match=r"not defined on the test rows of folds \[0\]"):
        SBLClassifierCV(cv=folds, scoring="roc_auc", max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="gives no fold"):
        SBLClassifierCV(cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="for all 50 rows held out, not for some"):
        SBLClassifierCV(cv=3, scoring=lambda clf, X, y: clf.score(X[:5], y[:5])).fit(X, y)


def test_search_with_a_metric_that_takes_no_weights():
    X, y = problem(2)
    scorer = make_scorer(lambda truth, predicted: float(np.mean(truth == predicted)))
    clf = SBLClassifierCV(cv=3, scoring=scorer, max_iter=3).fit(X, y, np.ones(150))
    assert clf.best_score_ > 0.7


def test_search_where_a_fold_lacks_a_weighted_class():
    X, y = problem(3)
    rows = np.arange(150)
    folds = [(rows[y != 2], rows[y == 1]), (rows, rows[:50])]
    clf = SBLClassifierCV(cv=folds, class_weight={0: 1.0, 1: 1.0, 2: 5.0}, max_iter=3).fit(X, y)
    assert clf.classes_.tolist() == [0, 1, 2]
