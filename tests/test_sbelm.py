"""The random-layer classifier."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.datasets import make_moons

from sparsebayes import SBELMClassifier, SBLClassifier
from sparsebayes.basis import ACTIVATIONS, HiddenBasis
from tests.problems import classification

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SOLVERS = ["auto", "newton", "dqn"]


@pytest.fixture(scope="module")
def moons():
    return make_moons(160, noise=0.2, random_state=0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation, solver, moons):
    X, y = moons
    clf = SBELMClassifier(150, activation=activation, solver=solver, random_state=1).fit(X, y)
    assert clf.score(X, y) > 0.85
    assert 0 < clf.n_relevant_[0] < 150
    assert clf.hidden_weights_.shape == (clf.n_relevant_[0], 2)
    assert clf.hidden_biases_.shape == clf.hidden_nodes_.shape == (clf.n_relevant_[0],)


@pytest.mark.parametrize("solver", ["newton", "dqn"])
def test_is_the_linear_classifier_on_the_papers_layer(solver, moons):
    """Hidden outputs written out as in eq. 10, and given to SBLClassifier as features."""
    X, y = moons
    rng = np.random.RandomState(7)
    weights, biases = rng.uniform(-1, 1, size=(60, 2)), rng.uniform(-1, 1, size=60)
    hidden = expit(X @ weights.T + biases)
    linear = SBLClassifier(solver, max_iter=3).fit(hidden, y)
    clf = SBELMClassifier(60, solver=solver, max_iter=3, random_state=7).fit(X, y)
    kept = np.flatnonzero(linear.coef_[0])
    np.testing.assert_array_equal(clf.hidden_nodes_, kept)
    np.testing.assert_allclose(clf.hidden_weights_, weights[kept])
    np.testing.assert_allclose(clf.hidden_biases_, biases[kept])
    np.testing.assert_allclose(clf.coef_[0], linear.coef_[0, kept], rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_prediction_is_the_sum_over_kept_nodes(solver, moons):
    X, y = moons
    clf = SBELMClassifier(activation="tanh", solver=solver, random_state=0).fit(X, y)
    hidden = np.tanh(X @ clf.hidden_weights_.T + clf.hidden_biases_)
    np.testing.assert_allclose(clf.decision_function(X), hidden @ clf.coef_[0] + clf.intercept_, rtol=1e-9)


def test_scale_of_the_layer(moons):
    X, y = moons
    layer = HiddenBasis.random("sigmoid", 100, 2, np.random.RandomState(3))
    for solver, factor in (("newton", 1.0), ("dqn", 1.0), ("auto", 4.0), ("newton", 4.0)):
        scale = "auto" if factor == 1.0 else factor
        clf = SBELMClassifier(100, hidden_scale=scale, solver=solver, random_state=3).fit(X, y)
        np.testing.assert_allclose(clf.hidden_weights_, factor * layer.weights[clf.hidden_nodes_])
        np.testing.assert_allclose(clf.hidden_biases_, factor * layer.biases[clf.hidden_nodes_])


def test_auto_ignores_units_and_origin(moons):
    X, y = moons
    one = SBELMClassifier(random_state=0).fit(X, y)
    for moved in (1e5 * X, X + 10.0, X + 1e7):
        other = SBELMClassifier(random_state=0).fit(moved, y)
        np.testing.assert_array_equal(other.hidden_nodes_, one.hidden_nodes_)
        np.testing.assert_allclose(other.predict_proba(moved), one.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_sparse_rows_and_many_classes(solver, rng):
    X, y = classification(n=120, m=6, n_classes=3, seed=4)
    X[rng.random(X.shape) < 0.4] = 0.0
    for multi_class in ("ovo", "ovr"):
        clf = SBELMClassifier(40, solver=solver, multi_class=multi_class, random_state=0)
        dense = clf.fit(X, y).predict_proba(X)
        assert clf.coef_.shape == (3, len(clf.hidden_nodes_))
        np.testing.assert_array_equal(np.count_nonzero(clf.coef_, axis=1), clf.n_relevant_)
        sparse = clf.fit(sp.csc_array(X), y).predict_proba(sp.csr_array(X))
        np.testing.assert_allclose(sparse, dense, atol=1e-6)


def test_a_layer_too_large_to_hold(moons, monkeypatch):
    X, y = moons
    held = SBELMClassifier(50, random_state=0).fit(X, y)
    monkeypatch.setattr("sparsebayes.estimators.sbelm.MAX_HELD", 500)
    blocks = SBELMClassifier(50, random_state=0).fit(X, y)
    np.testing.assert_array_equal(blocks.hidden_nodes_, held.hidden_nodes_)
    np.testing.assert_allclose(blocks.predict_proba(X), held.predict_proba(X), atol=1e-7)


def test_seed(moons):
    X, y = moons
    one, same, other = (SBELMClassifier(random_state=seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))
    assert not np.array_equal(one.hidden_weights_, other.hidden_weights_)


def test_warm_start_keeps_the_layer(moons):
    X, y = moons
    clf = SBELMClassifier(solver="newton", max_iter=5, warm_start=True).fit(X, y)
    layer = clf.hidden_weights_
    clf.fit(X, y)
    assert {tuple(row) for row in clf.hidden_weights_} <= {tuple(row) for row in layer}


def test_outputs_out_of_range_are_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match="hidden nodes are out of the range"):
        SBELMClassifier(activation="sine", solver="newton", random_state=0).fit(
            np.hstack([X] * 20) * 5e307, y
        )
    assert SBELMClassifier(activation="sine", random_state=0).fit(X * 1e300, y).score(X * 1e300, y) > 0.9
