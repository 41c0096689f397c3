"""The Gaussian process on labels, against scikit-learn's and finite differences, and the scales it finds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_limits

from sparsebayes import RVMClassifier, kernels
from sparsebayes.basis import DistinctRows
from sparsebayes.estimators._scales import (
    Sample,
    best_scaling,
    column_scales,
    evidence_gamma,
    learned_scales,
)
from sparsebayes.evidence.label_process import (
    LEAST_NOISE,
    RIDGE,
    LabelProcess,
    Labels,
    gaussian,
    one_width,
    width_of_each,
)


@pytest.fixture(autouse=True)
def one_thread():
    """As in the classifier: matrices are small."""
    with threadpool_limits(1, "blas"):
        yield


WIDTHS = np.log([0.5, 0.02, 2.0])
AMPLITUDE, NOISE = np.log(0.7), np.log(0.4)


def problem(rng, n=40, n_columns=1):
    X = rng.standard_normal((n, len(WIDTHS)))
    classes = (rng.uniform(size=(n, n_columns)) < 0.4) * 1.0
    return X, Labels(classes, np.ones(n))


def standardised(labels):
    signs = 2.0 * labels.positive - 1.0
    return (signs - signs.mean(axis=0)) / signs.std(axis=0)


def reference(X, amplitude=AMPLITUDE, noise=NOISE, widths=WIDTHS):
    kernel = ConstantKernel(np.exp(amplitude)) * RBF(np.exp(-0.5 * widths) / np.sqrt(2.0))
    return kernel + WhiteKernel(np.exp(noise) + RIDGE * np.exp(amplitude))


def test_cost_is_scikit_learns_evidence(rng):
    X, labels = problem(rng)
    model = GaussianProcessRegressor(reference(X), optimizer=None, alpha=1e-300).fit(X, standardised(labels))
    ours = LabelProcess(labels).cost(gaussian(X, X, WIDTHS), AMPLITUDE, NOISE)
    theirs = -model.log_marginal_likelihood_value_
    assert ours == pytest.approx(theirs - 0.5 * len(X) * np.log(2.0 * np.pi), rel=1e-9)


def test_columns_add_up(rng):
    X, labels = problem(rng, n_columns=3)
    K = gaussian(X, X, WIDTHS)
    single = [LabelProcess(Labels(labels.positive[:, [k]], labels.weight)) for k in range(3)]
    together = LabelProcess(labels).cost(K, AMPLITUDE, NOISE)
    assert together == pytest.approx(sum(process.cost(K, AMPLITUDE, NOISE) for process in single))


def test_rows_that_occur_more_than_once(rng):
    """Minus the logarithm of the density of all occurrences, up to the same constant at every noise."""
    X, _ = problem(rng, n=12)
    counts = rng.integers(1, 4, size=12)
    positive = np.minimum(rng.integers(0, 3, size=12), counts)
    process = LabelProcess(Labels(positive[:, None] * 1.0, counts * 1.0))
    signs = np.concatenate([[1.0] * p + [-1.0] * (c - p) for p, c in zip(positive, counts, strict=True)])
    targets = (signs - signs.mean()) / signs.std()
    repeated = np.repeat(X, counts, axis=0)
    same_row = (repeated[:, None] == repeated).all(axis=2)
    differences = []
    for noise in (0.3, 0.5, 2.0):
        covariance = np.exp(AMPLITUDE) * (gaussian(repeated, repeated, WIDTHS) + RIDGE * same_row)
        covariance += noise * np.eye(len(targets))
        exact = -multivariate_normal(np.zeros(len(targets)), covariance).logpdf(targets)
        differences.append(exact - process.cost(gaussian(X, X, WIDTHS), AMPLITUDE, np.log(noise)))
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)


def test_gradients_by_differences(rng):
    X, labels = problem(rng, n_columns=2)
    labels = Labels(labels.positive * 0.5, rng.uniform(0.5, 2.0, size=len(X)))
    process = LabelProcess(labels)
    exponents = kernels.sq_distances(X, X)

    def at(theta):
        return process.cost(gaussian(X, X, theta[:-2]), *theta[-2:])

    theta = np.array([*WIDTHS, AMPLITUDE, NOISE])
    K = gaussian(X, X, WIDTHS)
    _, in_K, *others = process.cost_and_gradient(K, AMPLITUDE, NOISE)
    changes = -np.square(X[:, None] - X) * np.exp(WIDTHS) * K[:, :, None]
    expected = approx_fprime(theta, at, 1e-6)
    for gradient in (
        [in_K.along(changes[:, :, f]) for f in range(len(WIDTHS))],
        [in_K.times(changes[:, :, f]).sum() for f in range(len(WIDTHS))],
    ):
        np.testing.assert_allclose([*gradient, *others], expected, rtol=1e-3, atol=1e-4)
    one = one_width(process, exponents)
    each = width_of_each(process, X, one)
    assert each.cost <= one.cost <= process.cost(np.exp(-exponents), np.log(0.5), np.log(0.5))
    # At the end of a search no step along a coordinate that is inside its bounds is worth much.
    end = np.array([*each.widths, each.amplitude, each.noise])
    inside = end > np.array([-20.0] * len(WIDTHS) + [-5.0, np.log(LEAST_NOISE) + 0.01])
    steps = [end + step * np.eye(len(end))[k] for k in np.flatnonzero(inside) for step in (-0.1, 0.1)]
    assert min(map(at, steps)) > each.cost - 0.1


def test_losses_are_those_of_scikit_learns_predictions(rng):
    X, labels = problem(rng)
    new = rng.standard_normal((7, len(WIDTHS)))
    model = GaussianProcessRegressor(reference(X), optimizer=None, alpha=1e-300).fit(X, standardised(labels))
    mean, deviation = model.predict(new, return_std=True)
    signs = 2.0 * labels.positive - 1.0
    z = (mean.ravel() * signs.std() + signs.mean()) / (deviation.ravel() * signs.std())
    truth = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.5])
    expected = -(truth * norm.logcdf(z) + (1.0 - truth) * norm.logcdf(-z))
    process = LabelProcess(labels)
    K, cross = gaussian(X, X, WIDTHS), gaussian(new, X, WIDTHS)
    ours = process.losses(K, cross, AMPLITUDE, NOISE, Labels(truth[:, None], np.ones(7)))
    np.testing.assert_allclose(ours, expected, rtol=1e-6)


def sample_of(X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return Sample.of(X, DistinctRows.of(X), y, weight, 10_000)


def test_samples_are_fair_at_every_length(rng):
    y = (rng.uniform(size=3000) < 0.02).astype(int) + 2 * (rng.uniform(size=3000) < 0.3)
    y = np.unique(y, return_inverse=True)[1]
    sample = sample_of(rng.standard_normal((3000, 2)), y)
    assert len(sample) == 3000
    shares = np.maximum(np.bincount(y) / 3000, 0.25 / (y.max() + 1))
    for n in (100, 400):
        counts = sample.part(slice(n)).labels.positive.sum(axis=0)
        np.testing.assert_allclose(counts, n * shares / shares.sum(), atol=2.0)


def in_four_of_many(rng, n=600, n_features=40):
    X = rng.standard_normal((n, n_features))
    score = 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.square(X[:, 3]) - 1.0
    return X, (score > 0.0).astype(int)


def test_the_features_that_matter_are_found(rng):
    X, y = in_four_of_many(rng)
    clf = RVMClassifier().fit(X[:400], y[:400])
    scales = clf.feature_scales_
    assert set(np.argsort(-scales)[:4]) == {0, 1, 2, 3}
    assert np.count_nonzero(scales) < 20
    plain = RVMClassifier(feature_scales="none").fit(X[:400], y[:400])
    assert clf.score(X[400:], y[400:]) > plain.score(X[400:], y[400:]) + 0.1
    assert np.all(plain.feature_scales_ == 1.0)
    # What is not used may be anything.
    changed = X.copy()
    changed[:, scales == 0.0] = 1e6
    np.testing.assert_array_equal(clf.predict_proba(changed), clf.predict_proba(X))
    # The model is what its attributes say.
    exponents = np.square((X[:, None] - clf.relevance_vectors_) * scales).sum(axis=2)
    margins = np.exp(-clf.gamma_ * exponents) @ clf.coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(clf.decision_function(X), margins, rtol=1e-6, atol=1e-8)


def test_storage_precision_and_units_of_scaled_features(rng):
    X, y = in_four_of_many(rng, n=300, n_features=12)
    X[np.abs(X) < 0.1] = 0.0
    expected = RVMClassifier(feature_scales="learned").fit(X, y).predict_proba(X)
    for other, tolerance in ((sp.csr_array(X), 1e-6), (1000.0 * X, 1e-6), (X.astype(np.float32), 1e-4)):
        clf = RVMClassifier(feature_scales="learned").fit(other, y)
        np.testing.assert_allclose(clf.predict_proba(other), expected, atol=tolerance)


def test_a_weight_is_a_repeated_row_for_scales(rng):
    X, y = in_four_of_many(rng, n=200, n_features=6)
    weight = rng.integers(1, 4, size=200)
    weighted = RVMClassifier().fit(X, y, weight)
    repeated = RVMClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.feature_scales_, repeated.feature_scales_)
    assert np.count_nonzero(weighted.feature_scales_ == 1.0) == 0


@pytest.mark.parametrize("least", [1e-9, 1e-3])
def test_rows_that_hardly_count_do_not_decide(least, rng):
    X, y = in_four_of_many(rng, n=700, n_features=8)
    weight = np.where(np.arange(700) < 300, least, 1.0)
    y[:300] = rng.integers(0, 2, size=300)
    clf = RVMClassifier().fit(X, y, weight)
    only = RVMClassifier().fit(X[300:], y[300:])
    assert set(np.argsort(-clf.feature_scales_)[:4]) == {0, 1, 2, 3}
    assert 0.7 < clf.feature_scales_[0] / only.feature_scales_[0] < 1.4


def test_weights_that_fall_off(rng):
    X, y = in_four_of_many(rng, n=1500, n_features=8)
    clf = RVMClassifier().fit(X[:1000], y[:1000], np.exp(-np.arange(1000) / 200.0))
    assert set(np.argsort(-clf.feature_scales_)[:4]) == {0, 1, 2, 3}
    assert clf.score(X[1000:], y[1000:]) > 0.75


def test_far_away(rng):
    """Products with the scales may be too large for a float, and so may distances."""
    X, y = in_four_of_many(rng, n=300, n_features=6)
    X[:, 0] *= 1e-12
    clf = RVMClassifier(feature_scales="learned").fit(X, y)
    far = np.zeros((2, 6))
    far[0, 0], far[1, 0] = 1e300, -1e300
    assert np.isfinite(clf.predict_proba(far)).all()
    assert np.isfinite(clf.predict_proba(sp.csr_array(far))).all()
    X[7, 1] = 1e160
    for make in (np.asarray, sp.csr_array):
        assert np.isfinite(RVMClassifier().fit(make(X), y).predict_proba(make(X))).all()


def test_scales_for_a_rare_class(rng):
    X = rng.standard_normal((4000, 10))
    y = (X[:, 0] * X[:, 1] > 1.5).astype(int)
    clf = RVMClassifier().fit(X[:1500], y[:1500])
    assert 0.02 < y.mean() < 0.06
    np.testing.assert_array_equal(np.flatnonzero(clf.feature_scales_), [0, 1])
    assert balanced_accuracy_score(y[1500:], clf.predict(X[1500:])) > 0.8


def test_weights_whose_product_is_no_float(rng):
    X, y = in_four_of_many(rng, n=200, n_features=4)
    weight = np.where(np.arange(200) < 50, 1e-200, 1.0)
    with pytest.warns(ConvergenceWarning, match="no feature"):  # one class is next to not there
        clf = RVMClassifier(class_weight={0: 1e-200, 1: 1.0}).fit(X, y, weight)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_noise_alone_is_left_as_it_is(rng):
    X, y = rng.standard_normal((300, 20)), rng.integers(0, 2, size=300)
    assert best_scaling(sample_of(X, y), 1.0 / 40.0).name == "none"
    plain, automatic = (RVMClassifier(feature_scales=name).fit(X, y) for name in ("none", "auto"))
    np.testing.assert_array_equal(automatic.predict_proba(X), plain.predict_proba(X))


def test_what_was_learned_for_the_comparison_is_learned_further_on_all_rows(rng):
    X, y = in_four_of_many(rng, n=700, n_features=12)
    sample, unit = sample_of(X, y), 1.0 / 24.0
    trial = best_scaling(sample, unit)
    assert trial.name == "learned"
    process, rows = LabelProcess(sample.labels), sample.X * np.sqrt(unit)

    def cost(widths):
        scaled = rows * trial.factors
        return process.cost(gaussian(scaled, scaled, widths.widths), widths.amplitude, widths.noise)

    further = trial.of_each(process, rows).widths
    assert further.cost == pytest.approx(cost(further))
    assert further.cost < cost(trial.widths) - 1.0
    assert set(np.argsort(-learned_scales(sample, unit, trial))[:4]) == {0, 1, 2, 3}


def test_features_in_different_units():
    """Wine's proline is in the hundreds, its hue around 1."""
    X, y = load_wine(return_X_y=True)
    plain, automatic = (
        cross_val_score(RVMClassifier(feature_scales=name), X, y, cv=5).mean() for name in ("none", "auto")
    )
    assert automatic > 0.92 > plain + 0.05


def test_columns(rng):
    X = rng.standard_normal((50, 3)) * [1.0, 1e-3, 0.0] + 5.0
    weight = rng.uniform(0.5, 2.0, size=50)
    spread = np.sqrt(np.cov(X.T, aweights=weight, ddof=0).diagonal())
    factors = column_scales(X, weight)
    np.testing.assert_allclose(factors[:2], 1.0 / spread[:2], rtol=1e-6)
    assert factors[2] == 0.0
    clf = RVMClassifier(feature_scales="columns").fit(X, rng.integers(0, 2, size=50), weight)
    np.testing.assert_allclose(clf.feature_scales_[:2] * spread[:2], clf.feature_scales_[0] * spread[0])


def test_nothing_to_learn_from():
    X, y = np.arange(4.0)[:, None] + 1.0, np.array([0, 1, 1, 0])
    alone = sample_of(X[:1], y[:1])
    assert evidence_gamma("rbf", alone, 0.3) == 0.3
    np.testing.assert_allclose(learned_scales(alone, 0.25), 0.5)
    assert best_scaling(sample_of(X, y), 1.0) is None


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential"])
def test_evidence_finds_the_width_of_what_it_is_given(kernel, rng):
    """Labels by the sign of a process with a known width."""
    X = rng.uniform(-1.0, 1.0, size=(500, 2))
    found = []
    for gamma in (2.0, 20.0):
        K = kernels.Kernel(kernel, gamma)(X, X)
        f = np.linalg.cholesky(K + 1e-8 * np.eye(len(X))) @ rng.standard_normal(len(X))
        found.append(evidence_gamma(kernel, sample_of(X, (f > 0.0).astype(int)), 1.0))
    assert 0.2 < found[0] / 2.0 < 5.0
    assert 0.2 < found[1] / 20.0 < 5.0
    assert found[1] > 3.0 * found[0]


def test_several_classes_share_their_scales():
    X, y = make_classification(
        400,
        30,
        n_informative=4,
        n_redundant=0,
        n_classes=3,
        n_clusters_per_class=1,
        shuffle=False,
        random_state=0,
    )
    clf = RVMClassifier().fit(X, y)
    assert set(np.argsort(-clf.feature_scales_)[:4]) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian", "feature_scales": "learned"}, "kernel='rbf' and up to 10000 features"),
        ({"kernel": lambda A, B: A @ B.T, "feature_scales": "columns"}, "for kernels by name"),
        ({"kernel": "precomputed", "feature_scales": "columns"}, "for kernels by name"),
        ({"feature_scales": "wide"}, "feature_scales"),
    ],
)
def test_scales_that_cannot_be(parameters, message, rng):
    X, y = in_four_of_many(rng, n=60, n_features=60)
    with pytest.raises(ValueError, match=message):
        RVMClassifier(**parameters).fit(X, y)
