"""
The precisions of what is kept
==============================

A weight has a prior of its own width, and α is its precision: where it grows without bound the weight is zero
and its feature is dropped. The spectrum of what is left shows how decided that was. Sixty features are
generated, of which five matter, each half as much as the one before.
"""

import matplotlib.pyplot as plt
import numpy as np

from sparsebayes import SBLClassifier
from sparsebayes.display import AlphaSpectrumDisplay

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 60))
strengths = 4.0 * 0.5 ** np.arange(5)
y = (X[:, :5] @ strengths + rng.logistic(size=600) > 0).astype(int)


def spectrum(clf, title):
    display = AlphaSpectrumDisplay.from_estimator(clf)
    matters = np.argsort(clf.alpha_[0])[: clf.n_relevant_[0]] < 5
    places = np.flatnonzero(matters) + 1
    display.ax_.plot(places, display.alpha[matters], "o", ms=12, mfc="none", label="features that matter")
    display.ax_.set_title(f"{title}\n{display.ax_.get_title()}")
    display.ax_.set_ylim(0.03, 3000.0)
    display.ax_.legend(loc="upper left")


# %%
# Classical sparse Bayesian learning (``"newton"``) fits each precision to its one weight. The four features
# that matter most have the least precisions, and the fifth was dropped. But 19 that do not matter were kept,
# with precisions that go on rising without a gap: the spectrum alone does not say where to cut.
#
# ``"auto"`` learns one precision for all features, in units of their spread, and drops columns by what they
# are worth to the evidence. Its spectrum is flat, and says little of which features matter. It keeps the same
# four, and 17 others.

spectrum(SBLClassifier("newton", scale="columns", max_iter=1000).fit(X, y), 'SBLClassifier("newton")')
spectrum(SBLClassifier().fit(X, y), "SBLClassifier()")
plt.show()
