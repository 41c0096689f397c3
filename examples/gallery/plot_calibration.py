"""
Probabilities with and without moderation
=========================================

A model that was fitted to few rows can be sure of itself by accident. ``proba="moderated"`` averages over the
posterior of the weights instead of taking the most probable ones. Here there are 100 rows of 50 features, of
which five matter; the predictions of forty such fits for the same 1000 new rows are put together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.utils import Bunch

from sparsebayes import RVMClassifier, SBLClassifier
from sparsebayes.display import CalibrationComparisonDisplay

rng = np.random.default_rng(0)


def rows(n):
    X = rng.standard_normal((n, 50))
    return X, (X[:, :5].sum(axis=1) + rng.logistic(size=n) > 0).astype(int)


X_new, y_new = rows(1000)
training_sets = [rows(100) for _ in range(40)]


def calibration(clf, title):
    """Of all fits together, with and without moderation."""
    predicted = {"mode": [], "moderated": []}
    for X, y in training_sets:
        clf.set_params(proba="moderated").fit(X, y)
        for proba, found in predicted.items():
            found.append(clf.set_params(proba=proba).predict_proba(X_new)[:, 1])
    labels = np.tile(y_new, len(training_sets))
    curves = {}
    for proba, found in predicted.items():
        p = np.concatenate(found)
        happened, said = calibration_curve(labels, p, n_bins=10)
        curves[f'proba="{proba}"'] = Bunch(prob_true=happened, prob_pred=said, log_loss=log_loss(labels, p))
    display = CalibrationComparisonDisplay(curves).plot()
    display.ax_.set_title(title)
    display.ax_.legend(loc="lower right", fontsize="small")


# %%
# Classical sparse Bayesian learning (``"newton"``) promises too much: where it says 97% on average, it is
# right in 84% of the cases. Moderation takes a part of that back and lowers the log loss, but does not reach
# the diagonal. The default is closer to the diagonal to begin with, and little is left to moderate.

calibration(SBLClassifier("newton", scale="columns", tol=0.1, max_iter=1000), 'SBLClassifier("newton")')
calibration(SBLClassifier(), "SBLClassifier()")
plt.show()

# %%
# It does not help everywhere. Here are RVMs of forty rows of two half moons, a point for each of sixty
# training sets, judged on the same new rows. Two thirds of them are above the line: they lose a little by
# moderation. The others gain, and those that were most wrong gain much, so that the mean is lower as well.

X_new, y_new = make_moons(1000, noise=0.35, random_state=0)
losses = {"mode": [], "moderated": []}
for seed in range(1, 61):
    rvm = RVMClassifier(proba="moderated").fit(*make_moons(40, noise=0.35, random_state=seed))
    for proba, found in losses.items():
        found.append(log_loss(y_new, rvm.set_params(proba=proba).predict_proba(X_new)))

lost = np.greater(losses["moderated"], losses["mode"])
limits = 0.95 * min(losses["mode"]), 1.05 * max(losses["mode"])
fig, ax = plt.subplots(figsize=(4.8, 4.8))
ax.plot(limits, limits, ":", color="0.4")
for which, name, marker in [(~lost, "gained", "o"), (lost, "lost", "s")]:
    points = np.array([losses["mode"], losses["moderated"]])[:, which]
    ax.plot(*points, marker, ms=5, label=f"{which.sum()} {name}")
ax.set(xlabel='log loss, proba="mode"', ylabel='log loss, proba="moderated"', xlim=limits, ylim=limits)
ax.set_title("RVMClassifier() of 40 rows")
ax.legend(loc="upper left")
print({proba: round(float(np.mean(found)), 3) for proba, found in losses.items()})
plt.show()
