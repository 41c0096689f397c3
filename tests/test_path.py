"""The path of elimination: what a fit keeps of it, other sizes without a fit, choosing by folds."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split

from sparsebayes import SBLClassifier, SBLClassifierCV
from sparsebayes.basis import IdentityBasis
from sparsebayes.checkpoint import NO_KEEPER
from sparsebayes.estimators import _selection
from sparsebayes.evidence.calibration import calibration_slope
from tests.problems import classification


@pytest.fixture(scope="module")
def wide():
    """1200 rows of 600 sparse columns, of which eight matter: more than the exact posterior is for."""
    rng = np.random.default_rng(0)
    noise = sp.random(1200, 592, density=0.05, random_state=0, data_rvs=rng.standard_normal)
    signal = rng.standard_normal((1200, 8))
    X = sp.hstack([signal, noise], format="csr")
    z = signal @ np.array([2.0, -2.0, 1.5, -1.5, 1.0, -1.0, 0.7, -0.7])
    y = np.where(z + rng.logistic(size=1200) > 0.0, "yes", "no")
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def fitted(wide):
    X, _, y, _ = wide
    return SBLClassifier().fit(X, y)


def test_the_path_has_a_model_for_every_point(fitted, wide):
    path = fitted.path_
    n_points = len(fitted.history_[0]) - 1
    assert set(path) == {"n_relevant", "coef", "intercept", "evidence"}
    assert {len(values) for values in path.values()} == {n_points}
    assert np.all(np.diff(path["n_relevant"]) < 0)
    assert path["n_relevant"][-1] == 0
    for n_relevant, coef, record in zip(
        path["n_relevant"], path["coef"], fitted.history_[0][:-1], strict=True
    ):
        assert coef.shape == (1, 600)
        assert coef.nnz == n_relevant == record["n_active"] - 1
    assert np.isfinite(path["evidence"]).all()
    assert np.array_equal(path["evidence"], [record["evidence"] for record in fitted.history_[0][:-1]])


def test_columns_only_ever_leave(fitted):
    columns = [set(coef.indices.tolist()) for coef in fitted.path_["coef"]]
    assert all(after < before for before, after in pairwise(columns))


def test_the_model_with_the_largest_evidence_is_taken(fitted):
    best = int(np.argmax(fitted.path_["evidence"]))
    assert fitted.n_relevant_[0] == fitted.path_["n_relevant"][best]
    assert set(range(6)) <= set(fitted.sparse_coef_.indices)
    assert fitted.n_relevant_[0] < 20


def test_at_its_own_size_it_is_the_same_model(fitted, wide):
    X_test = wide[1]
    same = fitted.at(int(fitted.n_relevant_[0]))
    np.testing.assert_array_equal(same.predict_proba(X_test), fitted.predict_proba(X_test))
    np.testing.assert_allclose(same.alpha_, fitted.alpha_)


@pytest.mark.parametrize("size", [0, 1, 5, 100, 10_000])
def test_at_another_size(fitted, wide, size):
    _, X_test, _, y_test = wide
    before = pickle.dumps(fitted)
    other = fitted.at(n_features=size)
    sizes = fitted.path_["n_relevant"]
    assert other.n_relevant_[0] == sizes[sizes <= size].max() == np.count_nonzero(other.coef_)
    assert other.predict_proba(X_test).shape == (len(y_test), 2)
    assert np.all(np.isfinite(other.alpha_) == (other.coef_ != 0.0))
    assert "path" in other.status_[0]
    assert pickle.dumps(fitted) == before
    again = pickle.loads(pickle.dumps(other))
    np.testing.assert_array_equal(again.predict(X_test), other.predict(X_test))
    if size >= 5:
        assert other.score(X_test, y_test) > 0.7


def test_what_at_cannot_give_says_why(fitted, wide):
    small = fitted.at(5)
    with pytest.raises(AttributeError, match="posteriors are not kept: for coef_std_, fit one of this size"):
        _ = small.coef_std_
    assert SBLClassifier(proba="moderated").fit(*classification(n=60, m=4)).at(2).proba == "mode"
    with pytest.raises(ValueError, match="taken from a path"):
        copy.copy(small).set_params(proba="moderated").predict(wide[1])
    with pytest.raises(ValueError, match=r"non-negative integer. Got 2.5"):
        fitted.at(2.5)
    X, y = classification(n=60, m=4)
    with pytest.raises(ValueError, match=r"solver='newton', which follows no path.*'elimination'"):
        SBLClassifier("newton").fit(X, y).at(2)


def test_another_solver_leaves_no_path_behind():
    X, y = classification(n=60, m=4)
    classifier = SBLClassifier().fit(X, y)
    assert hasattr(classifier, "path_")
    assert not hasattr(classifier.set_params(solver="newton").fit(X, y), "path_")


def test_max_features_is_the_size_of_each_problem(wide):
    X, X_test, y, y_test = wide
    for size in (3, 17, 450):
        classifier = SBLClassifier(max_features=size).fit(X, y)
        assert classifier.n_relevant_[0] == size
        assert classifier.score(X_test, y_test) > 0.7
        assert classifier.at(size).n_relevant_[0] == size
    assert SBLClassifier(max_features=10_000).fit(X, y).n_relevant_[0] == 600
    X, y = load_wine(return_X_y=True)
    classifier = SBLClassifier(max_features=4).fit(X, y)
    np.testing.assert_array_equal(classifier.n_relevant_, [4, 4, 4])
    assert isinstance(classifier.path_, list)
    assert len(classifier.path_) == 3
    np.testing.assert_array_equal(classifier.at(2).n_relevant_, [2, 2, 2])
    assert classifier.at(2).score(X, y) > 0.9


def test_a_size_or_a_choice_needs_a_path():
    X, y = classification(n=60, m=4)
    for parameters in ({"select": "cv"}, {"max_features": 3}):
        with pytest.raises(ValueError, match=r"needs a solver that follows a path.*Got solver='dqn'"):
            SBLClassifier("dqn", **parameters).fit(X, y)


def test_folds_choose_as_refits_would(wide):
    """Against fits of each fold at the size that was chosen, and at others."""
    X, X_test, y, y_test = wide
    classifier = SBLClassifier(select="cv").fit(X, y)
    chosen = int(classifier.n_relevant_[0])

    def loss(size):
        total = 0.0
        for train, test in StratifiedKFold(5).split(X, y):
            fold = SBLClassifier(max_features=size).fit(X[train], y[train])
            total += log_loss(y[test], fold.predict_proba(X[test]), normalize=False)
        return total

    assert loss(chosen) < min(loss(max(chosen // 4, 1)), loss(300))
    smaller = SBLClassifier(select="cv-1se").fit(X, y)
    assert smaller.n_relevant_[0] <= chosen
    assert smaller.score(X_test, y_test) > 0.75


def test_the_prior_of_folds_is_that_with_the_least_loss_on_them(monkeypatch):
    """Against scikit-learn's logistic regression at the same priors, on the rows of the fold that chooses."""
    monkeypatch.setattr(_selection, "SAMPLES_FOR_PRIOR", 1)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 450))
    y = X @ (0.1 * rng.normal(size=450)) + rng.logistic(size=1200) > 0.0
    chosen = SBLClassifier(select="cv", scale="none").fit(X, y).history_[0][0]["prior_variance"]
    train, test = next(StratifiedKFold(5).split(X, y))
    spread = X[train].var(axis=0).sum()

    def loss(variance):
        model = LogisticRegression(C=variance / spread, tol=1e-8, max_iter=1000).fit(X[train], y[train])
        z = model.decision_function(X[test]) * np.where(y[test], 1.0, -1.0)
        of_slope = minimize_scalar(lambda s: np.logaddexp(0.0, -np.exp(s) * z).sum() + 0.5 * s**2)
        return np.logaddexp(0.0, -np.exp(of_slope.x) * z).sum()

    losses = {rung: loss(chosen * 10.0 ** (rung / 2)) for rung in (-4, -1, 0, 1, 4)}
    # A gain of less than a percent is not worth a step, and the fold's own modes are not exact.
    assert losses[0] < min(losses[-1], losses[1]) / 0.985
    assert losses[0] < 0.97 * min(losses[-4], losses[4])


@pytest.mark.parametrize(("power", "preferred"), [(0.0, 0.0), (-0.5, 0.5)])
def test_folds_choose_how_far_energy_counts(power, preferred):
    """Weights that do not know of their column's energy, and weights that make up for it."""
    rng = np.random.default_rng(0)
    energy = 10.0 ** rng.uniform(-3.0, 0.0, size=700)
    X = rng.normal(size=(600, 700)) * np.sqrt(energy)
    z = X @ (rng.normal(size=700) * energy**power)
    y = (3.0 * z / z.std() + rng.logistic(size=600) > 0.0).astype(float)
    settings = SBLClassifier(select="cv")._settings(*X.shape)
    folds = _selection.Folds(X, IdentityBasis(700), y, None, None, NO_KEEPER)
    assert _selection.with_prior(settings, folds).energy_exponent == preferred


def test_few_samples_are_divided_several_times():
    X, y = classification(n=60, m=4)
    folds = _selection.Folds(X, IdentityBasis(4), (y == y[0]).astype(float), None, None, NO_KEEPER)
    held_out = np.sort(np.concatenate([test for _, test in folds._splits]))
    np.testing.assert_array_equal(held_out, np.repeat(np.arange(60), 5))
    assert len({tuple(test) for _, test in folds._splits}) == 25


def test_a_sample_that_is_held_out_several_times_counts_once_for_the_slope(monkeypatch):
    """Its prior is for samples: of folds that are all alike, five divisions say what one says."""
    X, y = classification(n=60, m=4)
    labels = (y == y[0]).astype(float)
    folds = _selection.Folds(X, IdentityBasis(4), labels, None, None, NO_KEEPER)
    margins = 2.0 * (2.0 * labels - 1.0)

    def tried(fold, settings):
        test = folds._splits[fold][1]
        return _selection.Tried(folds._sign[test], None, 1.0, np.array([4]), [margins[test]])

    monkeypatch.setattr(folds, "tried", tried)
    slope = folds.curve(None).slopes[0]
    assert slope == pytest.approx(calibration_slope(margins, folds._sign, None), rel=1e-3)


def test_columns_that_the_first_fold_does_not_see_may_stay():
    X, y = np.zeros((20, 3)), np.arange(20) % 2
    X[:4, 0] = 2.0 * y[:4] - 1.0  # the rows that the first fold holds out
    assert SBLClassifier(select="cv").fit(X, y).n_relevant_[0] == 1


def test_the_slope_is_common_to_the_model_and_its_size_on_the_path(wide):
    X, X_test, y, _ = wide
    calibrated = SBLClassifier(select="cv", proba="moderated").fit(X, y)
    plain = SBLClassifier(max_features=int(calibrated.n_relevant_[0]), proba="moderated").fit(X, y)
    slope = calibrated.sparse_coef_.data / plain.sparse_coef_.data
    np.testing.assert_allclose(slope, slope[0], rtol=1e-9)
    slope = slope[0]
    np.testing.assert_allclose(calibrated.intercept_, slope * plain.intercept_)
    np.testing.assert_allclose(calibrated.coef_std_, slope * plain.coef_std_)
    np.testing.assert_allclose(calibrated._sparse_alpha.data * slope**2, plain._sparse_alpha.data)
    same = calibrated.at(int(calibrated.n_relevant_[0])).set_params(proba="mode")
    np.testing.assert_allclose(
        same.decision_function(X_test), calibrated.set_params(proba="mode").decision_function(X_test)
    )


def test_the_slope_is_that_of_a_logistic_regression():
    rng = np.random.default_rng(1)
    z = rng.normal(size=4000) * 3.0
    sign = np.where(0.5 * z + rng.logistic(size=4000) > 0.0, 1.0, -1.0)
    assert calibration_slope(z, sign, None) == pytest.approx(0.5, abs=0.05)
    weight = rng.integers(1, 4, size=4000).astype(float)
    twice = np.repeat(np.arange(4000), weight.astype(int))
    assert calibration_slope(z, sign, weight) == pytest.approx(
        calibration_slope(z[twice], sign[twice], None), rel=1e-4
    )
    # Without an error, the prior keeps it finite.
    assert calibration_slope(np.array([1.0, -2.0]), np.array([1.0, -1.0]), None) < 5.0


def test_too_few_samples_for_folds():
    X, y = classification(n=40, m=3)
    few = np.concatenate([np.flatnonzero(y == 0)[:10], np.flatnonzero(y == 1)[:1]])
    with pytest.raises(ValueError, match=r"two samples of each class.*select='evidence'"):
        SBLClassifier(select="cv").fit(X[few], y[few])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float32_paths_stay_float32(wide, dtype):
    X, X_test, y, _ = wide
    classifier = SBLClassifier().fit(X.astype(dtype), y)
    assert {coef.dtype for coef in classifier.path_["coef"]} == {np.dtype(dtype)}
    assert classifier.at(5).predict_proba(X_test.astype(dtype)).dtype == dtype


def test_a_weight_of_two_is_a_repeated_row_all_along_the_path(wide):
    X, _, y, _ = wide
    X, y = X[:300], y[:300]
    weight = np.random.default_rng(3).integers(1, 3, size=300)
    twice = np.repeat(np.arange(300), weight)
    weighted = SBLClassifier().fit(X, y, sample_weight=weight)
    repeated = SBLClassifier().fit(X[twice], y[twice])
    assert weighted.n_relevant_[0] == repeated.n_relevant_[0]
    np.testing.assert_array_equal(weighted.path_["n_relevant"], repeated.path_["n_relevant"])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)


def test_a_common_factor_of_wide_data_changes_nothing(wide):
    X, X_test, y, _ = wide
    plain, scaled = SBLClassifier().fit(X, y), SBLClassifier().fit(X * 1000.0, y)
    np.testing.assert_allclose(scaled.predict_proba(X_test * 1000.0), plain.predict_proba(X_test), rtol=1e-6)


def test_the_early_stop_ignores_how_a_point_would_be_chosen(wide):
    X, X_test, y, y_test = wide
    classifier = SBLClassifierCV(select="cv").fit(X, y)
    assert classifier.n_relevant_[0] == classifier.path_["n_relevant"][classifier.best_index_]
    assert classifier.score(X_test, y_test) > 0.75


def test_a_size_below_the_end_of_the_path_is_refused(wide):
    X, _, y, _ = wide
    cut = SBLClassifier(callbacks=[lambda progress: progress.iteration == 3]).fit(X, y)
    with pytest.raises(ValueError, match=r"The path ends at 294 features. Got n_features=2"):
        cut.at(2)


def test_the_early_stop_ignores_a_size(wide):
    X, _, y, _ = wide
    classifier = SBLClassifierCV(max_features=40, cv=2).fit(X, y)
    assert classifier.n_relevant_[0] == classifier.path_["n_relevant"][classifier.best_index_]


def test_an_intercept_with_a_prior_is_no_feature(wide):
    X, _, y, _ = wide
    classifier = SBLClassifier(max_features=5, intercept_prior="ard").fit(X, y)
    assert classifier.n_relevant_[0] == 5
    other = classifier.at(20)
    assert 0.0 < other.intercept_alpha_[0] < np.inf
    assert np.all(np.diff(classifier.path_["n_relevant"]) < 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("select", ["evidence", "cv"])
def test_wide_data_that_say_nothing(select):
    """Each row with either label: the gradient vanishes at zero weights, exactly."""
    rows = np.random.default_rng(0).normal(size=(20, 600))
    X, y = np.repeat(rows, 2, axis=0), np.array([0, 1] * 20)
    p = SBLClassifier(select=select).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p, 0.5, atol=1e-6)


@pytest.mark.parametrize("n_copies", [450, 500])
def test_wide_data_of_one_column(n_copies):
    column = np.random.default_rng(0).normal(size=(30, 1))
    y = (column[:, 0] > 0.2).astype(int)
    assert (
        SBLClassifier()
        .fit(np.repeat(column, n_copies, axis=1), y)
        .score(np.repeat(column, n_copies, axis=1), y)
        > 0.9
    )


def test_a_warm_start_does_not_change_what_folds_choose(wide):
    X, X_test, y, _ = wide
    classifier = SBLClassifier(select="cv", warm_start=True).fit(X, y)
    once = classifier.predict_proba(X_test)
    np.testing.assert_array_equal(classifier.fit(X, y).predict_proba(X_test), once)


def test_a_column_in_tiny_units_is_calibrated_without_a_warning(rng):
    X = rng.standard_normal((80, 500))
    y = (X[:, :5].sum(axis=1) > 0.0).astype(int)
    X[:, 3] *= 1e200
    clf = SBLClassifier(select="cv").fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()
