"""
What the vectors are: an RVM beside an SVC
==========================================

Both classifiers place Gaussian kernels at training rows and draw a boundary between two half moons. They
differ in which rows they keep: the support vectors of the SVC lie along the boundary, and there are many, for
the classes overlap; the relevance vectors of the RVM are few, and lie within the classes rather than between
them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from sparsebayes import RVMClassifier
from sparsebayes.display import DecisionRegionsDisplay

X, y = make_moons(300, noise=0.25, random_state=0)
X_new, y_new = make_moons(5000, noise=0.25, random_state=1)

rvm = RVMClassifier().fit(X, y)
svc = SVC().fit(X, y)
for clf, vectors in [(rvm, rvm.relevance_vectors_), (svc, svc.support_vectors_)]:
    accuracy = clf.score(X_new, y_new)
    print(f"{type(clf).__name__:13} {len(vectors):3d} vectors, {accuracy:.1%} of new rows right")

# %%
# The colour on the left is a probability, pale where the RVM is in doubt. An SVC has none, so that its side
# shows what it decides and no more.

regions = DecisionRegionsDisplay.from_estimator(rvm, X, y)
regions.ax_.set_title("RVMClassifier()", pad=24)

grid = np.stack(np.meshgrid(regions.xx0, regions.xx1), axis=-1)
decided = np.eye(2)[svc.predict(grid.reshape(-1, 2))].reshape(*grid.shape[:2], 2)
rival = DecisionRegionsDisplay(
    xx0=regions.xx0,
    xx1=regions.xx1,
    proba=decided,
    classes=svc.classes_,
    X=X,
    y=y,
    vectors=svc.support_vectors_,
).plot()
rival.ax_.set_title("SVC()", pad=24)
rival.colorbar_.remove()
rival.vectors_.set_label(f"{len(svc.support_)} support vectors")
legend = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3, "frameon": False}
rival.ax_.legend(fontsize="small", handletextpad=0.1, columnspacing=1.0, **legend)
plt.show()
