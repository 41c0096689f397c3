"""What the plots show, read back from what was drawn."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC, l1_min_c
from sklearn.utils import Bunch

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, sbl_path
from sparsebayes.display import (
    AlphaSpectrumDisplay,
    CalibrationComparisonDisplay,
    DecisionRegionsDisplay,
    PathDisplay,
    l1_path,
)
from tests.problems import classification

matplotlib.use("Agg")

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def title(display):
    return display.ax_.get_title()


def axis_labels(display):
    return display.ax_.get_xlabel(), display.ax_.get_ylabel()


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(150, noise=0.2, random_state=0)
    return X, y, RVMClassifier().fit(X, y)


@pytest.fixture(scope="module")
def split():
    X, y = classification(n=300, m=12, seed=5)
    return X[:200], y[:200], X[200:], y[200:]


# Decision regions


def test_regions_are_the_probabilities_on_the_grid(moons):
    X, y, clf = moons
    display = DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=21, eps=0.25)
    drawn = display.regions_.get_array()
    assert drawn.shape == (21, 21)
    for i, j in [(0, 0), (3, 17), (20, 5)]:
        place = [[np.linspace(*limits, 21)[k] for limits, k in zip(box(X, 0.25), (j, i), strict=True)]]
        assert drawn[i, j] == pytest.approx(clf.predict_proba(place)[0, 1], rel=1e-12)
    np.testing.assert_allclose(display.ax_.get_xlim(), box(X, 0.25)[0])
    np.testing.assert_allclose(display.ax_.get_ylim(), box(X, 0.25)[1])
    assert display.regions_.get_clim() == (0.0, 1.0)
    assert display.colorbar_.ax.get_ylabel() == "probability of class 1"


def box(X, eps):
    return np.column_stack([X.min(axis=0) - eps, X.max(axis=0) + eps])


def test_colours_go_from_the_first_class_s_over_white_to_the_second_s(moons):
    X, y, clf = moons
    display = DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=10)
    first, middle, second = display.regions_.cmap([0.0, 0.5, 1.0])[:, :3]
    np.testing.assert_allclose(middle, 1.0, atol=0.01)
    for end, points in zip((first, second), display.points_, strict=True):
        towards = (1.0 - end) / (1.0 - points.get_facecolor()[0, :3])
        assert np.ptp(towards) < 0.01
        assert 0.4 < towards.mean() < 0.8


def test_boundary_of_a_known_line():
    X, y = make_moons(50, random_state=0)
    clf = LogisticRegression(solver="liblinear").fit(X, y)
    clf.coef_, clf.intercept_ = np.array([[2.0, -3.0]]), np.array([0.5])
    display = DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=100)
    (path,) = display.boundary_.get_paths()
    np.testing.assert_allclose(path.vertices @ [2.0, -3.0], -0.5, atol=1e-3)
    lower_left = box(X, 0.5)[:, 0]
    assert display.regions_.get_array()[0, 0] == pytest.approx(expit(lower_left @ [2.0, -3.0] + 0.5))


def test_points_and_relevance_vectors(moons):
    X, y, clf = moons
    display = DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=10)
    for label, points in enumerate(display.points_):
        np.testing.assert_array_equal(points.get_offsets(), X[y == label])
    np.testing.assert_array_equal(display.vectors_.get_offsets(), clf.relevance_vectors_)
    assert len(display.vectors_.get_facecolor()) == 0  # circles, through which the points are seen
    assert legend(display) == ["class 0", "class 1", f"{clf.n_relevant_[0]} relevance vectors"]
    assert axis_labels(display) == ("feature 0", "feature 1")


def test_sparse_rows_and_vectors(moons):
    X, y, _ = moons
    clf = RVMClassifier().fit(sp.csr_matrix(X), y)
    assert sp.issparse(clf.relevance_vectors_)
    display = DecisionRegionsDisplay.from_estimator(clf, sp.csr_matrix(X), y, grid_resolution=10)
    np.testing.assert_array_equal(display.points_[1].get_offsets(), X[y == 1])
    np.testing.assert_array_equal(display.vectors_.get_offsets(), clf.relevance_vectors_.toarray())


@pytest.mark.parametrize(
    "clf", [SBLClassifier(), SBELMClassifier(random_state=0), GaussianNB()], ids=lambda c: type(c).__name__
)
def test_classifiers_without_relevance_vectors(clf, moons):
    X, y, _ = moons
    display = DecisionRegionsDisplay.from_estimator(clf.fit(X, y), X, y, grid_resolution=10)
    assert display.vectors_ is None
    assert legend(display) == ["class 0", "class 1"]
    corner = box(X, 0.5)[:, 1]
    assert display.regions_.get_array()[-1, -1] == pytest.approx(clf.predict_proba([corner])[0, 1])


@pytest.mark.parametrize("n_classes", [3, 12])
def test_many_classes_have_the_winner_s_colour_paled_by_its_probability(n_classes):
    X, y = make_blobs(240, centers=n_classes, random_state=0)
    labels = np.array([f"c{code:02}" for code in y])
    clf = KNeighborsClassifier(5).fit(X, labels)  # probabilities in fifths
    display = DecisionRegionsDisplay.from_estimator(clf, X, labels, grid_resolution=40)
    colours = np.array([points.get_facecolor()[0, :3] for points in display.points_])
    assert len(np.unique(colours, axis=0)) == n_classes
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(display.xx0, display.xx1)])
    proba = clf.predict_proba(grid)
    drawn = display.regions_.get_array().reshape(-1, 3)
    winner = np.searchsorted(clf.classes_, clf.predict(grid))
    strength = (1.0 - drawn).sum(axis=1) / (1.0 - colours[winner]).sum(axis=1)
    np.testing.assert_allclose(1.0 - drawn, strength[:, None] * (1.0 - colours[winner]), atol=1e-12)
    levels = [strength[np.isclose(proba.max(axis=1), fifth / 5)] for fifth in (3, 4, 5)]
    assert all(np.ptp(level) < 1e-9 for level in levels)
    assert 0.0 < levels[0][0] < levels[1][0] < levels[2][0] < 1.0
    assert display.boundary_ is None
    assert display.colorbar_ is None
    assert legend(display) == [f"class {label}" for label in clf.classes_]


def test_dataframe_names_the_axes(moons):
    X, y, _ = moons
    frame = pandas.DataFrame(X, columns=["length", "width"])
    clf = RVMClassifier().fit(frame, y)  # would warn of a grid without names
    display = DecisionRegionsDisplay.from_estimator(clf, frame, pandas.Series(y), grid_resolution=10)
    assert axis_labels(display) == ("length", "width")


def test_no_boundary_where_one_class_has_the_whole_grid(moons):
    X, y, _ = moons
    clf = LogisticRegression(solver="liblinear").fit(X, y)
    clf.intercept_ += 100.0
    assert DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=10).boundary_ is None


def test_regions_refuse(moons):
    X, y, clf = moons
    three = SBLClassifier().fit(np.column_stack([X, X[:, 0] ** 2]), y)
    with pytest.raises(ValueError, match="draws 2 features, but X has 3"):
        DecisionRegionsDisplay.from_estimator(three, np.column_stack([X, X[:, 0] ** 2]), y)
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        DecisionRegionsDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        DecisionRegionsDisplay.from_estimator(RVMClassifier(), X, y)
    with pytest.raises(ValueError, match=r"not among the classes \[0, 1\]"):
        DecisionRegionsDisplay.from_estimator(clf, X, y + 1)
    with pytest.raises(ValueError, match=r"at least 2\. Got 1"):
        DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=1)
    assert plt.get_fignums() == []


# The path


@pytest.mark.parametrize("metric", ["accuracy", "log_loss"])
def test_path_is_that_of_sbl_path(metric, split):
    display = PathDisplay.from_estimator(SBLClassifier(), *split, metric=metric)
    path = sbl_path(*split, estimator=SBLClassifier())
    kept = path.n_relevant > 0
    np.testing.assert_array_equal(display.line_.get_xdata()[kept], path.n_relevant[kept] / 12)
    assert np.isnan(display.line_.get_xdata()[~kept]).all()
    np.testing.assert_array_equal(display.line_.get_ydata(), path[metric])
    assert display.ax_.get_xscale() == "log"
    name = {"accuracy": "accuracy", "log_loss": "log loss"}[metric]
    assert axis_labels(display) == ("share of features kept", f"{name} on validation data")
    assert legend(display) == ["SBLClassifier (auto)"]
    assert display.rival_lines_ == {}


def test_empty_models_do_not_stretch_the_axes(split):
    path = sbl_path(*split, estimator=SBLClassifier())
    assert path.n_relevant[-1] == 0
    display = PathDisplay(path).plot()
    display.figure_.draw_without_rendering()
    assert display.ax_.get_ylim()[0] > path.accuracy[-1]
    assert display.ax_.get_xlim()[0] > 1 / 24


@quiet
def test_no_estimator_is_the_paper_s(split):
    display = PathDisplay.from_estimator(None, *split)
    assert legend(display) == ["SBLClassifier (dqn)"]


@pytest.mark.parametrize(
    ("estimator", "candidates"),
    [(RVMClassifier(), "training rows"), (SBELMClassifier(n_hidden=20, random_state=0), "hidden nodes")],
)
@quiet
def test_path_says_what_is_kept(estimator, candidates, split):
    display = PathDisplay.from_estimator(estimator, *split)
    assert axis_labels(display)[0] == f"share of {candidates} kept"
    assert np.nanmax(display.line_.get_xdata()) <= 1.0


def test_rivals_as_arrays_and_as_paths(split):
    path = sbl_path(*split, estimator=SBLClassifier())
    rivals = {
        "arrays": ([0.1, 0.5], [0.3, 0.2]),
        "l1": Bunch(share=np.array([0.25, 1.0]), accuracy=[0.7, 0.8], log_loss=[0.5, 0.4]),
        "itself": path,
    }
    display = PathDisplay(path, metric="log_loss", rivals=rivals).plot()
    drawn = {name: line.get_xydata().tolist() for name, line in display.rival_lines_.items()}
    assert drawn["arrays"] == [[0.1, 0.3], [0.5, 0.2]]
    assert drawn["l1"] == [[0.25, 0.5], [1.0, 0.4]]
    np.testing.assert_array_equal(drawn["itself"], display.line_.get_xydata())
    assert legend(display) == ["SBLClassifier (auto)", "arrays", "l1", "itself"]
    assert all(line.axes is display.ax_ for line in display.rival_lines_.values())


@pytest.mark.parametrize(
    ("shares", "ticks"),
    [
        ([0.04, 1.0], ["5%", "10%", "20%", "50%", "100%"]),
        ([1e-4, 1.0], ["0.01%", "0.1%", "1%", "10%", "100%"]),
    ],
)
def test_ticks_are_percentages(shares, ticks, split):
    path = sbl_path(*split, estimator=SBLClassifier())
    display = PathDisplay(path, rivals={"wide": (shares, [0.5, 0.5])}).plot()
    display.figure_.draw_without_rendering()
    low, high = display.ax_.get_xlim()
    within = [tick for tick in display.ax_.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert [tick.label1.get_text() for tick in within] == ticks
    assert not any(label.get_text() for label in display.ax_.get_xticklabels(minor=True))


def test_an_unknown_metric_is_refused_before_the_fit(split):
    def never(progress):
        raise AssertionError

    with pytest.raises(ValueError, match=r"one of \['accuracy', 'log_loss'\]. Got 'auc' instead"):
        PathDisplay.from_estimator(SBLClassifier(callbacks=[never]), *split, metric="auc")
    with pytest.raises(ValueError, match="Got 'auc' instead"):
        PathDisplay(None, metric="auc").plot()


# The L1 rival


def proximal_gradient(X, y, C, steps=3000):
    """argmin of C * loss + |w|_1, with a penalised column of ones at the end as in liblinear."""
    A = np.column_stack([X, np.ones(len(X))])
    rate = 4.0 / (C * np.linalg.norm(A, 2) ** 2)
    w = np.zeros(A.shape[1])
    for _ in range(steps):
        moved = w - rate * C * (A.T @ (expit(A @ w) - y))
        w = np.sign(moved) * np.maximum(np.abs(moved) - rate, 0.0)
    return w


@pytest.mark.parametrize("C", [0.02, 0.1, 1.0])
def test_l1_path_against_proximal_gradient(C, split):
    X, y, X_val, y_val = split
    w = proximal_gradient(X, y, C)
    proba = expit(X_val @ w[:-1] + w[-1])
    path = l1_path(*split, Cs=[C])
    assert path.share[0] == np.count_nonzero(w[:-1]) / 12
    assert path.log_loss[0] == pytest.approx(log_loss(y_val, proba), rel=1e-2)
    assert path.accuracy[0] == pytest.approx(accuracy_score(y_val, proba > 0.5), abs=0.011)


def test_l1_path_begins_where_the_first_feature_comes_in(split):
    path = l1_path(*split, Cs=5)
    assert path.C[0] > l1_min_c(*split[:2], loss="log")
    np.testing.assert_allclose(np.diff(np.log10(path.C)), 0.8)
    assert 0.0 < path.share[0] < 0.5
    assert path.share[-1] == 1.0
    assert {len(path[name]) for name in path} == {5}
    assert l1_path(*split, Cs=[0.9 * l1_min_c(*split[:2], loss="log")]).share == [0.0]


def test_l1_path_of_sparse_data_and_many_classes():
    X, y = classification(n=150, m=5, n_classes=3, seed=2)
    labels = np.array(["a", "b", "c"])[y]
    path = l1_path(sp.csr_matrix(X[:100]), labels[:100], sp.csr_matrix(X[100:]), labels[100:], Cs=[0.05, 1.0])
    assert 0.0 < path.share[0] < path.share[1] <= 1.0
    assert path.log_loss[1] < np.log(3)
    assert path.accuracy[1] > 0.6


@pytest.mark.parametrize(
    ("parameters", "penalty"),
    [
        ({"penalty": "l2"}, {"penalty": "l1"}),
        ({"penalty": "deprecated"}, {"l1_ratio": 1.0}),
        ({}, {"l1_ratio": 1.0}),
    ],
    ids=["scikit-learn 1.6", "1.8", "1.10"],
)
def test_the_penalty_has_the_name_that_scikit_learn_gives_it(parameters, penalty, monkeypatch):
    from sparsebayes.display import path

    monkeypatch.setattr(LogisticRegression, "get_params", lambda self: parameters)
    assert path._l1_penalty() == penalty


# The spectrum of precisions


@quiet
def test_spectrum_is_sorted_and_says_what_was_pruned(split):
    clf = SBLClassifier("newton").fit(*split[:2])
    display = AlphaSpectrumDisplay.from_estimator(clf)
    kept = clf.n_relevant_[0]
    assert 0 < kept < 12
    np.testing.assert_array_equal(display.points_.get_xdata(), np.arange(1, kept + 1))
    np.testing.assert_array_equal(display.points_.get_ydata(), sorted(clf.alpha_[0])[:kept])
    assert np.isfinite(display.points_.get_ydata()).all()
    assert display.ax_.get_yscale() == "log"
    assert title(display) == f"{kept} features kept, {12 - kept} of 12 pruned"
    assert axis_labels(display) == ("features kept, by their precision", "precision α")


def test_spectrum_counts_candidates_not_columns(moons):
    X, _, clf = moons
    display = AlphaSpectrumDisplay.from_estimator(clf)
    kept = len(clf.relevance_vectors_)
    assert title(display) == f"{kept} training rows kept, {len(X) - kept} of {len(X)} pruned"


@pytest.mark.parametrize(("scheme", "name"), [("ovo", "b vs c"), ("ovr", "c vs the rest")])
def test_spectrum_of_one_problem_of_several(scheme, name):
    X, y = classification(n=150, m=5, n_classes=3, seed=2)
    clf = SBLClassifier(multi_class=scheme).fit(X, np.array(["a", "b", "c"])[y])
    display = AlphaSpectrumDisplay.from_estimator(clf, problem=2)
    np.testing.assert_array_equal(
        display.points_.get_ydata(), np.sort(clf.alpha_[2][np.isfinite(clf.alpha_[2])])
    )
    assert title(display).startswith(f"{name}: {clf.n_relevant_[2]} features kept")
    for problem in (3, -1):
        with pytest.raises(ValueError, match=rf"range \[0, 3\). Got {problem} instead"):
            AlphaSpectrumDisplay.from_estimator(clf, problem=problem)


def test_spectrum_of_an_empty_model():
    display = AlphaSpectrumDisplay(np.empty(0), 7).plot()
    display.figure_.draw_without_rendering()
    assert title(display) == "0 features kept, 7 of 7 pruned"


def test_spectrum_refuses(moons):
    X, y, _ = moons
    with pytest.raises(ValueError, match=r"a classifier of sparsebayes. Got GaussianNB\(\) instead"):
        AlphaSpectrumDisplay.from_estimator(GaussianNB().fit(X, y))
    with pytest.raises(NotFittedError):
        AlphaSpectrumDisplay.from_estimator(SBLClassifier())


# Calibration


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_curves_and_losses(strategy, split):
    X, y, X_val, y_val = split
    labels = np.array(["no", "yes"])
    models = {"ours": SBLClassifier(), "theirs": LogisticRegression(solver="liblinear")}
    models = {name: clf.fit(X, labels[y]) for name, clf in models.items()}
    display = CalibrationComparisonDisplay.from_estimators(
        models, X_val, labels[y_val], n_bins=4, strategy=strategy
    )
    assert list(display.lines_) == ["ours", "theirs"]
    for name, clf in models.items():
        proba = clf.predict_proba(X_val)[:, 1]
        true, predicted = calibration_curve(y_val, proba, n_bins=4, strategy=strategy)
        np.testing.assert_array_equal(display.lines_[name].get_xydata(), np.column_stack([predicted, true]))
        assert f"{name} (log loss {log_loss(y_val, proba):.3f})" in legend(display)
    np.testing.assert_array_equal(display.diagonal_.get_xydata(), [[0, 0], [1, 1]])
    assert axis_labels(display) == ("mean predicted probability of class yes", "share of class yes")


def test_calibration_of_known_probabilities():
    """Half the rows get 0.2 and half 0.7; of each half, 0.4 and 0.6 are ones."""

    class Oracle(GaussianNB):
        def predict_proba(self, X):
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    X = np.repeat([[0.2], [0.7]], 10, axis=0)
    y = np.r_[np.arange(10) < 4, np.arange(10) < 6].astype(int)
    display = CalibrationComparisonDisplay.from_estimator(Oracle().fit(X, y), X, y, n_bins=2)
    np.testing.assert_allclose(display.lines_["Oracle"].get_xydata(), [[0.2, 0.4], [0.7, 0.6]])
    loss = -np.mean([0.4 * np.log(0.2) + 0.6 * np.log(0.8), 0.6 * np.log(0.7) + 0.4 * np.log(0.3)])
    assert legend(display) == ["perfect calibration", f"Oracle (log loss {loss:.3f})"]


def test_calibration_beside_rivals(moons):
    X, y, clf = moons
    rival = GaussianNB().fit(X, y)
    display = CalibrationComparisonDisplay.from_estimator(clf, X, y, rivals={"Bayes": rival}, n_bins=5)
    models = {"RVMClassifier": clf, "Bayes": rival}
    both = CalibrationComparisonDisplay.from_estimators(models, X, y, n_bins=5)
    assert legend(display) == legend(both)
    for name in models:
        np.testing.assert_array_equal(display.lines_[name].get_xydata(), both.lines_[name].get_xydata())


def test_calibration_refuses(moons):
    X, y, clf = moons
    compare = CalibrationComparisonDisplay.from_estimator
    with pytest.raises(ValueError, match="the margin has no predict_proba"):
        compare(clf, X, y, rivals={"the margin": LinearSVC().fit(X, y)})
    with pytest.raises(ValueError, match="needs 2 classes, but GaussianNB has 3"):
        compare(GaussianNB().fit(X, np.arange(150) % 3), X, y)
    with pytest.raises(ValueError, match="give the rival another one"):
        compare(clf, X, y, rivals={"RVMClassifier": clf})
    with pytest.raises(NotFittedError):
        compare(RVMClassifier(), X, y)
    with pytest.raises(ValueError, match="at least one classifier"):
        CalibrationComparisonDisplay.from_estimators({}, X, y)


# All of them


@pytest.fixture
def draw(moons, split):
    X, y, clf = moons
    linear = SBLClassifier(max_iter=2)
    return {
        "regions": lambda **ax: DecisionRegionsDisplay.from_estimator(clf, X, y, grid_resolution=5, **ax),
        "path": lambda **ax: PathDisplay.from_estimator(linear, *split, **ax),
        "alpha": lambda **ax: AlphaSpectrumDisplay.from_estimator(clf, **ax),
        "calibration": lambda **ax: CalibrationComparisonDisplay.from_estimator(clf, X, y, **ax),
    }


NAMES = pytest.mark.parametrize("name", ["regions", "path", "alpha", "calibration"])


@quiet
@NAMES
def test_draws_in_the_axes_given_or_in_a_new_figure(name, draw):
    figure, (_, right) = plt.subplots(1, 2)
    display = draw[name](ax=right)
    assert (display.ax_, display.figure_) == (right, figure)
    assert plt.get_fignums() == [figure.number]
    assert right.has_data()
    assert display.plot() is display
    assert display.figure_ is not figure
    assert display.ax_ in display.figure_.axes


@quiet
@NAMES
def test_says_how_to_get_matplotlib(name, draw, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install 'sparsebayes\[report\]'"):
        draw[name]()


def test_matplotlib_is_not_loaded_before_it_is_needed():
    code = "import sys, sparsebayes.display; print('matplotlib' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert output.stdout.strip() == "False"
