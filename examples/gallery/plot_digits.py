"""
Ten digits, and the pixels that tell them apart
===============================================

Each picture has the weights of one digit against all others, pixel by pixel. Blue speaks for the digit, red
against it; a grey pixel was dropped, and is not looked at.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sparsebayes import SBLClassifier

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
clf = SBLClassifier(multi_class="ovr").fit(X, y)
print(f"{clf.score(X_test, y_test):.1%} of the digits held out are right")

# %%
# What a pixel contributes is its weight times how much it varies. Most of the pixels are grey: each digit
# keeps between a quarter and a half of them. The clearest picture is that of the 9: ink in the row below the
# middle speaks against it.

weights = np.ma.masked_equal(clf.coef_ * X.std(axis=0), 0.0).reshape(-1, 8, 8)
limit = np.quantile(np.abs(weights.compressed()), 0.98)
colours = plt.colormaps["RdBu"].with_extremes(bad="0.8")
fig, axes = plt.subplots(2, 5, figsize=(7, 3.4), layout="constrained")
for digit, ax in enumerate(axes.flat):
    ax.imshow(weights[digit], cmap=colours, vmin=-limit, vmax=limit)
    ax.set_title(f"{digit}: {clf.n_relevant_[digit]} pixels", fontsize="medium")
    ax.set(xticks=[], yticks=[])
plt.show()
