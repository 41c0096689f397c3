"""
A fit on the workers of a cluster, watched
==========================================

Rows are on disk in blocks, two processes of a local Dask cluster load them, and a callback notes after each
outer iteration how many features are left, and when that was. The same fit is then made without the cluster.
"""

import tempfile
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster
from sklearn.exceptions import ConvergenceWarning

from sparsebayes import SBLClassifier
from sparsebayes.io import BlockStore

N_ROWS, N_FEATURES = 8000, 2000
warnings.simplefilter("ignore", ConvergenceWarning)  # twelve iterations are enough to be watched


def watched_fit(store, client=None):
    """The model, and of each outer iteration the seconds since the start and the features left."""
    seen = []
    start = time.perf_counter()

    def watch(progress):
        seen.append((time.perf_counter() - start, len(progress.features)))

    clf = SBLClassifier(max_iter=12, callbacks=[watch]).fit(store, client=client)
    return clf, np.array(seen)


def fits():
    rng = np.random.default_rng(0)
    X = sp.random(N_ROWS, N_FEATURES, density=0.01, format="csr", random_state=rng)
    weights = np.where(np.arange(N_FEATURES) < 50, rng.normal(scale=8.0, size=N_FEATURES), 0.0)
    y = (X @ weights + rng.logistic(size=N_ROWS) > 0).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        store = BlockStore.write(f"{folder}/store", X, y, block_rows=4000)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            there = watched_fit(store, client)
        return there, watched_fit(store)


# %%
# A third of the features goes at each step. The first point is late, because the width of the prior is
# learned before it. Both curves have the same heights, point by point, and the models are equal to the last
# bit. But for data of this size the cluster is a detour: sending tasks to and fro takes most of the time. It
# is for rows that do not fit into one machine.

if __name__ == "__main__":  # the workers import this file
    (there, seen_there), (here, seen_here) = fits()
    print("the same bits:", np.array_equal(there.coef_, here.coef_))

    fig, ax = plt.subplots()
    for name, seen, marker in [("two workers", seen_there, "o-"), ("this process", seen_here, "s-")]:
        ax.plot(seen[:, 0], seen[:, 1], marker, ms=4, label=f"{name}: {seen[-1, 0]:.1f} s")
    ax.set(xscale="log", yscale="log", xlim=(0.1, 30), ylim=(10, 3000))
    ax.set(xlabel="seconds since the fit began", ylabel="features left")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.legend(loc="lower left")
    plt.show()
