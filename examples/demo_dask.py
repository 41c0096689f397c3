"""Fits a store on the workers of a local Dask cluster, kills one of them on the way, and compares the models.

Run by ``make demo-dask``.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from sparsebayes import SBLClassifier
from sparsebayes.io import BlockStore

N_ROWS, N_FEATURES = 20_000, 5_000


def rows() -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random(N_ROWS, N_FEATURES, density=0.01, format="csr", random_state=rng)
    weights = np.where(np.arange(N_FEATURES) < 50, rng.normal(scale=8.0, size=N_FEATURES), 0.0)
    return X, np.where(X @ weights + rng.logistic(size=N_ROWS) > 0, "yes", "no")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = BlockStore.write(Path(folder) / "store", *rows(), block_rows=2_500)
        print(store)
        start = time.perf_counter()
        here = SBLClassifier().fit(store)
        print(f"this process: {here.n_relevant_[0]} features in {time.perf_counter() - start:.1f} s")
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            victim = next(iter(client.run(os.getpid).values()))

            def kill_one(progress: object) -> None:
                if progress.iteration == 3:  # type: ignore[attr-defined]
                    print(f"iteration 3: killing worker process {victim}")
                    os.kill(victim, signal.SIGKILL)

            start = time.perf_counter()
            there = SBLClassifier(callbacks=[kill_one], verbose=1).fit(store, client=client)
            print(f"two workers: {there.n_relevant_[0]} features in {time.perf_counter() - start:.1f} s")
        print("the same bits:", np.array_equal(here.coef_, there.coef_))


if __name__ == "__main__":
    main()
