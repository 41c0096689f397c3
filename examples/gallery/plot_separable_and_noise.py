"""
Where there is nothing to doubt, and nothing to learn
=====================================================

Two extremes. Where a line separates the classes, the likelihood alone has no maximum and weights grow without
end; a prior whose width is learned keeps them finite. Where labels have nothing to do with the features, the
best model is none at all, and the default does not find it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from sparsebayes import RVMClassifier, SBLClassifier

x = np.concatenate([np.linspace(-1.0, -0.2, 10), np.linspace(0.2, 1.0, 10)])
y = (x > 0).astype(int)

# %%
# On separable rows logistic regression without a penalty makes a step of it, as steep as its solver has
# patience for. Both of ours have a finite slope, so that the gap is in doubt; the linear model more than the
# RVM, whose probability also turns back where no training row is near, on the left.

at = np.linspace(-1.6, 1.6, 400)
models = {
    "logistic regression, no penalty": LogisticRegression(C=1e9, tol=1e-9, max_iter=1000),
    "SBLClassifier()": SBLClassifier(),
    "RVMClassifier()": RVMClassifier(),
}
fig, ax = plt.subplots()
for (name, clf), line in zip(models.items(), [":", "-", "--"], strict=True):
    p = clf.fit(x[:, None], y).predict_proba(at[:, None])[:, 1]
    ax.plot(at, p, line, lw=2, label=name)
ax.plot(x, y, "o", color="0.3", ms=4, label="training rows")
ax.set(xlabel="the one feature", ylabel="probability of class 1")
ax.legend(loc="center left", fontsize="small")
plt.show()

# %%
# Now 200 rows of 50 features, with labels that were drawn without looking at them, twenty times. By default a
# model keeps 11 to 19 features of pure noise, and on new rows its log loss is worse than that of a coin,
# which is 0.693. With ``select="cv-1se"``, the smallest model within a standard error of the best of five
# folds, no model keeps more than one. If there may be nothing to learn, that is what to ask for.

rng = np.random.default_rng(0)
kept = {"evidence": [], "cv-1se": []}
losses = {"evidence": [], "cv-1se": []}
warnings.simplefilter("ignore", ConvergenceWarning)  # an empty model says so, and is what is looked for here
for _ in range(20):
    X, X_new = rng.standard_normal((2, 200, 50))
    labels, labels_new = rng.integers(2, size=(2, 200))
    for select in kept:
        clf = SBLClassifier(select=select).fit(X, labels)
        kept[select].append(clf.n_relevant_[0])
        losses[select].append(log_loss(labels_new, clf.predict_proba(X_new)))

fig, ax = plt.subplots()
for (select, sizes), marker in zip(kept.items(), "os", strict=True):
    label = f'select="{select}", mean log loss {np.mean(losses[select]):.3f}'
    ax.plot(np.arange(1, 21), np.sort(sizes), marker, label=label)
ax.set(xlabel="data sets, by the number of features kept", ylabel="features kept of 50", ylim=(-2, 50))
ax.xaxis.set_major_locator(plt.MultipleLocator(5))
ax.legend(loc="upper left")
plt.show()
