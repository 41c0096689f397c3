"""The posterior of the kept weights against its definition, and moderation against sampling."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.datasets import make_moons

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, posterior
from sparsebayes.posterior import moderated
from tests.problems import classification

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def literal_covariance(clf, X):
    """Eq. 7 in the user's units, from the fitted weights and precisions alone; the intercept is last."""
    kept = np.flatnonzero(clf.coef_[0])
    Phi = np.hstack([X[:, kept], np.ones((len(X), 1))])
    y = expit(Phi @ np.append(clf.coef_[0, kept], clf.intercept_))
    prior = np.append(clf.alpha_[0, kept], clf.intercept_alpha_)
    return kept, Phi, np.linalg.inv(Phi.T @ np.diag(y * (1 - y)) @ Phi + np.diag(prior))


@pytest.mark.parametrize(
    "parameters", [{}, {"solver": "newton", "intercept_prior": "flat"}, {"scale": "none"}]
)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_coef_std_is_eq_7(parameters, make):
    X, y = classification(n=200, m=8, seed=1)
    X = X * 10.0 ** np.arange(-4, 4) + 1.0
    clf = SBLClassifier(**parameters).fit(make(X), y)
    kept, _, covariance = literal_covariance(clf, X)
    np.testing.assert_allclose(clf.coef_std_[0, kept], np.sqrt(np.diag(covariance)[:-1]), rtol=1e-5)
    assert (clf.coef_std_[0, clf.coef_[0] == 0.0] == 0.0).all()


@pytest.mark.parametrize("solver", ["auto", "newton", "dqn"])
def test_moderation_is_the_mean_over_the_posterior(solver, rng):
    """Against 200 000 draws of the weights; MacKay's formula itself is good to about 0.01."""
    X, y = classification(n=60, m=5, seed=2)
    clf = SBLClassifier(solver, proba="moderated", intercept_prior="flat").fit(X, y)
    kept, Phi, covariance = literal_covariance(clf, X)
    mean = np.append(clf.coef_[0, kept], clf.intercept_)
    draws = rng.multivariate_normal(mean, covariance, size=200_000)
    sampled = expit(Phi[:20] @ draws.T).mean(axis=1)
    ours = clf.predict_proba(X[:20])[:, 1]
    np.testing.assert_allclose(ours, sampled, atol=0.015)
    at_mode = expit(Phi[:20] @ mean)
    assert np.abs(ours - sampled).max() < 0.5 * np.abs(at_mode - sampled).max()
    # and exactly MacKay's formula
    variance = np.einsum("ij,jk,ik->i", Phi[:20], covariance, Phi[:20])
    exact = expit((Phi[:20] @ mean) / np.sqrt(1.0 + np.pi * variance / 8.0))
    np.testing.assert_allclose(ours, exact, rtol=1e-6)


@pytest.mark.parametrize(
    "make", [RVMClassifier, lambda **p: SBELMClassifier(random_state=0, **p)], ids=["kernel", "hidden"]
)
def test_moderated_kernels_and_nodes(make):
    X, y = make_moons(120, noise=0.25, random_state=0)
    mode, clf = make().fit(X, y), make(proba="moderated").fit(X, y)
    np.testing.assert_array_equal(mode.coef_, clf.coef_)
    p, q = mode.predict_proba(X)[:, 1], clf.predict_proba(X)[:, 1]
    assert (np.abs(q - 0.5) < np.abs(p - 0.5)).all()
    np.testing.assert_array_equal(p > 0.5, q > 0.5)
    Phi = np.hstack([clf._basis.transform(X), np.ones((120, 1))])
    beta = p * (1.0 - p)
    prior = np.append(clf.alpha_[0], 0.0)
    covariance = np.linalg.inv(Phi.T @ np.diag(beta) @ Phi + np.diag(prior))
    variance = np.einsum("ij,jk,ik->i", Phi, covariance, Phi)
    np.testing.assert_allclose(
        q, expit(mode.decision_function(X) / np.sqrt(1 + np.pi * variance / 8)), rtol=1e-4
    )


def test_decision_function_is_monotone_with_the_probability():
    for n_classes in (2, 3):
        X, y = classification(n=150, m=4, n_classes=n_classes, seed=n_classes)
        clf = SBLClassifier(proba="moderated").fit(X, y)
        scores, p = clf.decision_function(X), clf.predict_proba(X)
        if n_classes == 2:
            np.testing.assert_allclose(p[:, 1], expit(scores), rtol=1e-12)
            np.testing.assert_array_equal(clf.predict(X), clf.classes_[(scores > 0).astype(int)])
        else:
            np.testing.assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1))
        np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), p, rtol=1e-12)


def test_many_weights_have_a_diagonal_posterior(monkeypatch):
    X, y = classification(n=100, m=6, seed=0)
    monkeypatch.setattr(posterior, "EXACT_UP_TO", 2)
    clf = SBLClassifier("newton", intercept_prior="flat", proba="moderated").fit(X, y)
    kept = np.flatnonzero(clf.coef_[0])
    assert len(kept) > 2
    p = expit(X @ clf.coef_[0] + clf.intercept_[0])
    diagonal = np.square(X[:, kept]).T @ (p * (1 - p)) + clf.alpha_[0, kept]
    np.testing.assert_allclose(clf.coef_std_[0, kept], diagonal**-0.5, rtol=1e-9)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_moderation_of_an_empty_model():
    X, y = np.zeros((30, 2)), np.arange(30) % 3 == 0
    clf = SBLClassifier(proba="moderated").fit(X, y)
    variance = 1.0 / (30 * (1 / 3) * (2 / 3))
    expected = expit(np.log(0.5) / np.sqrt(1 + np.pi * variance / 8))
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expected, rtol=1e-6)


def test_moderation_needs_a_fit_of_its_own():
    X, y = classification(n=50, m=3)
    clf = SBLClassifier().fit(X, y).set_params(proba="moderated")
    with pytest.raises(ValueError, match=r"fitted with proba='mode'.*fit it again"):
        clf.predict_proba(X)


def test_moderated_margins():
    np.testing.assert_allclose(moderated(np.array([2.0]), np.array([0.0])), [2.0])
    np.testing.assert_allclose(moderated(np.array([2.0]), np.array([8.0 / np.pi])), [2.0 / np.sqrt(2.0)])


@pytest.mark.parametrize("factor", [1e-155, 1e155, 1e300])
def test_extreme_units(factor):
    X, y = classification(n=60, m=3, seed=1)
    expected = SBLClassifier(proba="moderated").fit(X, y)
    clf = SBLClassifier(proba="moderated").fit(factor * X, y)
    np.testing.assert_allclose(clf.predict_proba(factor * X), expected.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(clf.coef_std_, expected.coef_std_ / factor, rtol=1e-9)
