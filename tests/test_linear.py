"""SBLClassifier as a user meets it."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsebayes import Progress, SBLClassifier
from sparsebayes.design import as_design
from sparsebayes.design import sparse as sparse_module
from sparsebayes.recipes import RECIPES
from tests.problems import classification

SOLVERS = pytest.mark.parametrize("solver", RECIPES)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def binary():
    return classification(n=300, m=12, seed=5)


@quiet
@SOLVERS
def test_finds_the_informative_features(solver, binary):
    X, y = binary
    clf = SBLClassifier(solver).fit(X, y)
    assert {0, 1, 2} <= set(clf.sparse_coef_.indices.tolist())
    assert clf.n_relevant_[0] < 12
    assert clf.score(X, y) > 0.8


@quiet
@SOLVERS
def test_fitted_attributes(solver, binary):
    X, y = binary
    clf = SBLClassifier(solver, max_iter=20).fit(X, y)
    assert clf.coef_.shape == clf.alpha_.shape == (1, 12)
    assert clf.intercept_.shape == clf.n_relevant_.shape == clf.n_iter_.shape == (1,)
    assert clf.n_relevant_.dtype.kind == "i"
    assert clf.n_relevant_[0] == np.count_nonzero(clf.coef_)
    np.testing.assert_array_equal(np.isfinite(clf.alpha_), clf.coef_ != 0.0)
    assert len(clf.status_) == len(clf.history_) == 1
    assert clf.status_[0].startswith(f"{RECIPES[solver].label}: ")
    # The elimination path adds a record for the model it settles on.
    assert len(clf.history_[0]) == clf.n_iter_[0] + (solver in ("auto", "elimination"))
    assert clf.n_iter_[0] <= 20
    intercept = clf.intercept_[0] != 0.0
    assert clf.history_[0][-1]["n_active"] == clf.n_relevant_[0] + intercept


@quiet
@SOLVERS
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_many_classes(solver, multi_class):
    X, y = classification(n=300, m=6, n_classes=4, seed=2)
    labels = np.array(["d", "a", "c", "b"])[y]
    clf = SBLClassifier(solver, multi_class=multi_class, max_iter=20).fit(X, labels)
    n_problems = 6 if multi_class == "ovo" else 4
    assert clf.coef_.shape == (n_problems, 6)
    assert len(clf.status_) == len(clf.history_) == n_problems
    assert clf.decision_function(X).shape == clf.predict_proba(X).shape == (300, 4)
    predicted = clf.predict(X)
    np.testing.assert_array_equal(predicted, clf.classes_[clf.decision_function(X).argmax(axis=1)])
    np.testing.assert_array_equal(predicted, clf.classes_[clf.predict_proba(X).argmax(axis=1)])
    assert clf.score(X, labels) > 0.6


@quiet
def test_a_row_of_coef_is_the_pair_s_own_fit():
    X, y = classification(n=300, m=6, n_classes=3, seed=2)
    clf = SBLClassifier().fit(X, y)
    pair = np.isin(y, (0, 2))  # the second row
    alone = SBLClassifier().fit(X[pair], y[pair])
    np.testing.assert_array_equal(clf.coef_[1], alone.coef_[0])
    np.testing.assert_array_equal(clf.alpha_[1], alone.alpha_[0])


@quiet
@SOLVERS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_number_of_jobs_changes_no_bit(solver, n_classes, monkeypatch):
    X, y = classification(n=40, m=60, n_classes=n_classes, seed=2)
    if n_classes == 2:  # threads: blocks of few columns, so that there are several for them
        monkeypatch.setattr(sparse_module, "BLOCK_NONZEROS", 1)
        assert len(as_design(sp.csr_array(X))[0]._tiles[0].runs) > 3
    one = SBLClassifier(solver, max_iter=5).fit(sp.csr_array(X), y)
    two = SBLClassifier(solver, max_iter=5, n_jobs=2).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@quiet
@pytest.mark.parametrize("solver", ["newton", "auto"])
def test_sparse_equals_dense(solver, binary):
    X, y = binary
    X = X * (np.abs(X) > 0.5)
    dense = SBLClassifier(solver).fit(X, y)
    for make in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        clf = SBLClassifier(solver).fit(make(X), y)
        np.testing.assert_allclose(clf.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(clf.predict_proba(make(X)), dense.predict_proba(X), rtol=1e-7)


@quiet
def test_sparse_equals_dense_for_dqn_at_a_tight_tolerance(binary):
    X, y = binary
    # The mode is exact; the B that a second iteration would rest on depends on the path to it.
    tight = {"map_tol": 1e-8, "map_max_iter": 50_000, "max_iter": 1}
    dense = SBLClassifier("dqn", **tight).fit(X, y)
    sparse = SBLClassifier("dqn", **tight).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6, atol=1e-7)


@quiet
@pytest.mark.parametrize("solver", ["newton", "auto"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_float32_stays_float32_and_agrees(solver, make, binary):
    X, y = binary
    X = X.astype(np.float32)
    double = SBLClassifier(solver).fit(make(X.astype(np.float64)), y)
    single = SBLClassifier(solver).fit(make(X), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    p = single.predict_proba(make(X))
    assert p.dtype == single.decision_function(make(X)).dtype == np.float32
    np.testing.assert_allclose(p, double.predict_proba(X), atol=1e-5)


@quiet
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_noise", [3, 500])
def test_a_column_far_from_zero(make, n_noise):
    rng = np.random.default_rng(0)
    year = rng.integers(1990, 2024, size=300)
    y = (year + rng.normal(scale=3.0, size=300) > 2006).astype(int)
    X = np.column_stack([year, rng.normal(size=(300, n_noise))])
    clf = SBLClassifier().fit(make(X), y)
    assert clf.coef_[0, 0] > 0.0
    assert clf.score(make(X), y) > 0.85


@quiet
def test_dense_columns_may_vary_in_their_seventh_digit_only():
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + 300.0 * rng.normal(size=400)
    y = (seconds + 100.0 * rng.normal(size=400) > 1.7e9).astype(int)
    X = np.column_stack([seconds, rng.normal(size=(400, 3)), np.full(400, 0.1)])
    clf = SBLClassifier().fit(X, y)
    assert clf.score(X, y) > 0.85
    assert clf.coef_[0, 4] == 0.0
    shifted = SBLClassifier().fit(X - [1.7e9, 0.0, 0.0, 0.0, 0.0], y)
    np.testing.assert_allclose(clf.coef_, shifted.coef_, rtol=1e-6)
    progress = []
    SBLClassifier(callbacks=[progress.append], max_iter=1).fit(X, y)
    margins = X[:, progress[0].features] @ progress[0].coef + progress[0].intercept
    assert np.abs(margins).max() < 50.0  # in the caller's units, intercept and all


@quiet
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_float32_coefficients_that_overflow_are_refused(solver, binary):
    X, y = binary
    tiny = (X * 1e-41).astype(np.float32)
    with pytest.raises(ValueError, match="is too large for a float"):
        SBLClassifier(solver, scale="columns").fit(tiny, y)


@quiet
@SOLVERS
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_units_give_finite_models(solver, factor, binary):
    X, y = binary
    clf = SBLClassifier(solver, max_iter=5).fit(factor * X, y)
    assert np.isfinite(clf.coef_).all()
    assert np.isfinite(clf.predict_proba(factor * X)).all()


@quiet
@SOLVERS
def test_column_scale_makes_units_irrelevant(solver, binary):
    X, y = binary
    # A power of two first: there even dqn, path and all, must not notice.
    halved = SBLClassifier(solver, scale="columns").fit(X * 2.0 ** np.arange(12), y)
    np.testing.assert_array_equal(
        halved.coef_ * 2.0 ** np.arange(12), SBLClassifier(solver, scale="columns").fit(X, y).coef_
    )
    tight = {"map_tol": 1e-8, "map_max_iter": 50_000, "max_iter": 1} if solver == "dqn" else {}
    factors = np.ones(12)
    factors[[0, 5]] = 1000.0, 1e-6
    plain = SBLClassifier(solver, scale="columns", **tight).fit(X, y)
    scaled = SBLClassifier(solver, scale="columns", **tight).fit(X * factors, y)
    np.testing.assert_array_equal(plain.n_relevant_, scaled.n_relevant_)
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-5, atol=1e-9)
    kept = plain.coef_[0] != 0.0
    if solver != "dqn":  # its alpha rests on a B that depends on the path
        np.testing.assert_allclose((scaled.alpha_ / factors**2)[0, kept], plain.alpha_[0, kept], rtol=1e-4)
    np.testing.assert_allclose(scaled.predict_proba(X * factors), plain.predict_proba(X), rtol=1e-5)


@quiet
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("k", [-900, -30, 7, 900])
def test_auto_does_not_depend_on_a_common_factor(wide, k):
    X, y = classification(n=40, m=60 if wide else 10, seed=1)
    plain = SBLClassifier().fit(X, y)
    scaled = SBLClassifier().fit(np.ldexp(X, k), y)
    np.testing.assert_array_equal(scaled.predict_proba(np.ldexp(X, k)), plain.predict_proba(X))


def test_dqn_takes_the_features_as_given(binary):
    X, y = binary
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = SBLClassifier("dqn").fit(X, y)
        scaled = SBLClassifier("dqn").fit(1000.0 * X, y)
    assert not np.allclose(1000.0 * scaled.coef_, plain.coef_)


@quiet
@pytest.mark.parametrize("solver", ["dqn", "newton"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_warm_start_goes_on_where_the_fit_stopped(solver, make, binary):
    X, y = binary
    whole = SBLClassifier(solver, max_iter=6).fit(make(X), y)
    halves = SBLClassifier(solver, max_iter=3, warm_start=True).fit(make(X), y).fit(make(X), y)
    np.testing.assert_array_equal(halves.coef_, whole.coef_)
    np.testing.assert_array_equal(halves.alpha_, whole.alpha_)


@quiet
def test_warm_start_may_change_the_intercept_s_prior(binary):
    X, y = binary
    X, y = np.vstack([X, -X]), np.append(y, 1 - y)  # symmetric: the intercept is zero
    clf = SBLClassifier("newton", warm_start=True, max_iter=5).fit(X, y)
    assert clf.intercept_alpha_[0] == np.inf  # pruned
    clf.set_params(intercept_prior="flat").fit(X, y)
    assert clf.intercept_alpha_[0] == 0.0
    assert (clf.alpha_ > 0.0).all()
    clf.set_params(intercept_prior="ard").fit(X, y)
    assert clf.intercept_alpha_[0] > 0.0


@quiet
def test_warm_start_with_other_classes_is_refused(binary):
    X, y = binary
    clf = SBLClassifier("newton", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"goes on from its last fit, which had classes \[0, 1\]"):
        clf.fit(X, y + 1)
    with pytest.raises(ValueError, match=r"multi_class='ovo'; got .* multi_class='ovr'"):
        clf.set_params(multi_class="ovr").fit(X, y)


@quiet
def test_multi_class_of_the_fit_counts_not_that_of_the_prediction():
    X, y = classification(n=200, m=5, n_classes=4, seed=2)
    clf = SBLClassifier().fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.set_params(multi_class="ovr").predict_proba(X), p)


@quiet
@SOLVERS
def test_callbacks_watch_and_stop(solver, binary):
    X, y = binary
    seen = []

    def watch(progress):
        assert isinstance(progress, Progress)
        seen.append((progress.iteration, len(progress.features), progress.record["n_active"]))
        return np.bool_(progress.iteration == 2)

    clf = SBLClassifier(solver, callbacks=[watch]).fit(X, y)
    assert [iteration for iteration, _, _ in seen] == [1, 2]
    assert "stopped by a callback" in clf.status_[0]
    assert clf.n_iter_[0] == 2


@quiet
def test_the_last_progress_is_the_model(binary):
    X, y = binary
    last = []
    clf = SBLClassifier("newton", max_iter=5, callbacks=[last.append]).fit(1e3 * X, y)
    np.testing.assert_array_equal(last[-1].features, clf.sparse_coef_.indices)
    np.testing.assert_array_equal(last[-1].coef, clf.sparse_coef_.data)
    assert last[-1].intercept == clf.intercept_[0]
    assert last[-1].classes == (0, 1)
    assert len(last) == 5
    last[-1].record["passes"]["matvec"] = -1
    assert clf.history_[0][-1]["passes"]["matvec"] > 0
    with pytest.raises(ValueError, match="read-only"):
        last[-1].coef[0] = 0.0


@quiet
def test_callbacks_are_called_in_this_process_for_pairs_in_parallel():
    X, y = classification(n=120, m=4, n_classes=3, seed=2)
    pairs = set()
    SBLClassifier("newton", n_jobs=2, callbacks=[lambda progress: pairs.add(progress.classes)]).fit(X, y)
    assert pairs == {(0, 1), (0, 2), (1, 2)}


@quiet
def test_verbose_prints_a_line_per_iteration(binary, capsys):
    X, y = binary
    SBLClassifier("newton", max_iter=3, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("[SBLClassifier] iteration 1: ")
    assert "active, objective " in lines[0]
    assert lines[0].endswith(" s")


def test_not_converged_is_a_warning_with_a_remedy(binary):
    X, y = binary
    with pytest.warns(ConvergenceWarning, match=r"newton: not converged: max_iter .* Increase max_iter"):
        clf = SBLClassifier("newton", max_iter=1).fit(X, y)
    assert np.isfinite(clf.predict_proba(X)).all()


@SOLVERS
def test_features_that_say_nothing_leave_the_intercept(solver):
    y = np.array([0, 0, 0, 1])
    with pytest.warns(ConvergenceWarning, match="The model has no feature"):
        clf = SBLClassifier(solver).fit(np.zeros((4, 3)), y)
    np.testing.assert_allclose(clf.predict_proba(np.ones((2, 3)))[:, 1], 0.25, rtol=1e-9)
    assert clf.n_relevant_[0] == 0


@SOLVERS
def test_everything_pruned_without_an_intercept_is_even_odds(solver, capfd):
    with pytest.warns(ConvergenceWarning):
        clf = SBLClassifier(solver, fit_intercept=False).fit(np.zeros((4, 3)), [0, 0, 0, 1])
    np.testing.assert_array_equal(clf.predict_proba(np.ones((1, 3))), [[0.5, 0.5]])
    assert capfd.readouterr().err == ""  # LAPACK complains on its own if handed an empty matrix


@quiet
def test_intercept_priors(binary):
    X, y = binary
    ard = SBLClassifier("newton").fit(X, y)
    assert ard.intercept_alpha_[0] > 0.0
    flat = SBLClassifier("newton", intercept_prior="flat").fit(X, y)
    assert flat.intercept_alpha_[0] == 0.0
    assert SBLClassifier("newton", fit_intercept=False).fit(X, y).intercept_[0] == 0.0


def test_mean_probability_is_the_rate_with_a_flat_intercept(binary):
    X, y = binary
    rare = np.flatnonzero((y == 0) | (np.arange(300) % 10 == 0))
    clf = SBLClassifier().fit(X[rare], y[rare])
    assert clf.predict_proba(X[rare])[:, 1].mean() == pytest.approx(y[rare].mean(), abs=1e-9)


@quiet
def test_class_weight_balanced_counts_sample_weights(binary):
    X, y = binary
    weight = np.random.default_rng(0).integers(1, 4, size=300)
    rows = np.repeat(np.arange(300), weight)
    weighted = SBLClassifier(class_weight="balanced").fit(X, y, sample_weight=weight)
    repeated = SBLClassifier(class_weight="balanced").fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    by_hand = SBLClassifier(class_weight={0: 300 / (2 * (y == 0).sum()), 1: 300 / (2 * (y == 1).sum())})
    automatic = SBLClassifier(class_weight="balanced")
    np.testing.assert_allclose(by_hand.fit(X, y).coef_, automatic.fit(X, y).coef_, rtol=1e-10)


@pytest.mark.parametrize("factor", [np.nan, np.inf, 0.0, -1.0])
def test_class_weights_must_be_positive_and_finite(factor, binary):
    with pytest.raises(ValueError, match="class_weight must be positive and finite"):
        SBLClassifier(class_weight={0: factor}).fit(*binary)


@SOLVERS
@quiet
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_extreme_sample_weights_give_finite_models(solver, factor, binary):
    X, y = binary
    clf = SBLClassifier(solver, max_iter=5).fit(X, y, sample_weight=np.full(300, factor))
    assert np.isfinite(clf.coef_).all()
    assert np.isfinite(clf.predict_proba(X)).all()


def test_sample_weights_whose_sum_overflows_are_refused(binary):
    with pytest.raises(ValueError, match="sum of sample_weight is too large"):
        SBLClassifier().fit(*binary, sample_weight=np.full(300, 1e307))


def test_class_weight_for_an_unknown_class_is_refused(binary):
    with pytest.raises(ValueError, match=r"\[7\] of class_weight"):
        SBLClassifier(class_weight={7: 2.0}).fit(*binary)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"tol": -1},
            r"The 'tol' parameter of SBLClassifier must be a float in the range \[0.0, inf\). Got -1",
        ),
        ({"solver": "lbfgs"}, "The 'solver' parameter of SBLClassifier must be a str among"),
        ({"max_iter": 0}, "The 'max_iter' parameter"),
        ({"scale": "rows"}, "The 'scale' parameter"),
        ({"map_tol": 0.0}, "The 'map_tol' parameter"),
    ],
)
def test_parameters_are_refused_in_scikit_learn_s_words(parameters, message, binary):
    with pytest.raises(ValueError, match=message):
        SBLClassifier(**parameters).fit(*binary)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_first_bad_entry_is_named(make, value, name, binary):
    X, y = binary
    X = X.copy()
    X[7, 3] = X[9, 0] = value
    with pytest.raises(ValueError, match=f"Input X contains {name}.*row 7, column 3"):
        SBLClassifier().fit(make(X), y)


@pytest.mark.parametrize(
    ("indices", "indptr"),
    [([0, 99], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 5, 2]), ([0, 1], [1, 1, 2])],
)
def test_a_broken_sparse_matrix_is_refused_not_followed(indices, indptr):
    X = sp.csr_matrix((2, 3))
    X.data, X.indices, X.indptr = np.ones(2), np.array(indices, np.int32), np.array(indptr, np.int32)
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        SBLClassifier().fit(X, [0, 1])


def test_a_broken_coo_matrix_is_refused():
    X = sp.coo_array(np.eye(2, 3))
    X.coords = (X.coords[0], np.array([0, 7], dtype=X.coords[1].dtype))
    with pytest.raises(ValueError, match="not a valid COO matrix: an index is out of range"):
        SBLClassifier().fit(X, [0, 1])


def test_one_class_is_refused_by_name(binary):
    X, y = binary
    with pytest.raises(ValueError, match=r"only one class: \['spam'\]"):
        SBLClassifier().fit(X, np.full(300, "spam"))
    with pytest.raises(ValueError, match=r"after removing zero-weight samples: \[1\]"):
        SBLClassifier().fit(X, y, sample_weight=(y == 1).astype(float))


def test_newton_refuses_a_matrix_it_cannot_hold():
    X = sp.random(50, 100_000, density=0.02, random_state=0, format="csr")
    with pytest.raises(ValueError, match="Use solver='auto' or 'dqn'"):
        SBLClassifier("newton").fit(X, np.arange(50) % 2)


def test_predict_before_fit():
    for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(SBLClassifier(), method)(np.ones((1, 1)))


@quiet
def test_pickle_is_as_small_as_the_model():
    X = sp.random(60, 200_000, density=0.01, random_state=0, format="csr")
    y = (X[:, [0]].toarray()[:, 0] > 0).astype(int)
    y[:30] = np.arange(30) % 2
    clf = SBLClassifier("dqn", max_iter=10).fit(X, y)
    assert len(pickle.dumps(clf)) < 100_000
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@quiet
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_small_sets_against_cross_validated_logistic_regression(load):
    """5-fold accuracy: auto within 1.5 points, dqn and newton within 4, all with fewer weights."""
    X, y = load(return_X_y=True)

    def evaluate(estimator):
        scores = cross_validate(make_pipeline(StandardScaler(), estimator), X, y, cv=5, return_estimator=True)
        kept = [np.count_nonzero(pipeline[-1].coef_) for pipeline in scores["estimator"]]
        return 100 * scores["test_score"].mean(), np.mean(kept)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn announces changes of LogisticRegressionCV
        accuracy, n_weights = evaluate(LogisticRegressionCV(max_iter=2000))
    for solver, points in (("auto", 1.5), ("newton", 4.0), ("dqn", 4.0)):
        ours, kept = evaluate(SBLClassifier(solver))
        assert ours >= accuracy - points, solver
        assert kept < n_weights, solver
