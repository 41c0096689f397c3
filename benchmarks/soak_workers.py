"""Fits on a cluster whose workers are killed by SIGKILL at random moments: is the model the same?

Run ``python -m benchmarks.soak_workers``. Each fit loses a worker in its course, which the cluster starts
again; the model is compared, bit for bit, with the one from the same store without a cluster.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import Figure, judge, save, say
from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier
from sparsebayes.io import BlockStore

N_WORKERS = 3
FITS: dict[str, Any] = {
    "dqn": SBLClassifier("dqn", max_iter=2, map_max_iter=10),
    "path": SBLClassifier(max_iter=4),
    "kernels": RVMClassifier(gamma="median", max_iter=4, random_state=0),
    "hidden nodes": SBELMClassifier(50, max_iter=4, random_state=0),
}


def main() -> int:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak_workers", description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it tells of every worker that dies
    rng = random.Random(arguments.seed)
    details = {}
    with (
        tempfile.TemporaryDirectory() as place,
        LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        stores = _stores(Path(place))
        for number, (name, classifier) in enumerate(FITS.items()):
            share = arguments.kills // len(FITS) + (number < arguments.kills % len(FITS))
            details[name] = soak(classifier, stores, client, share, rng)
            say(f"{name}: {details[name]}")
    figures = [
        Figure(
            "workers killed in a fit",
            sum(each["kills"] for each in details.values()),
            arguments.kills,
            "at least",
        ),
        Figure("models that are not the same bits", sum(each["different"] for each in details.values()), 0),
    ]
    more = {"seed": arguments.seed, "workers": N_WORKERS, "fits": details}
    say(f"written: {save('soak_workers', figures, more).name}")
    return judge(figures)


def _stores(folder: Path) -> list[BlockStore]:
    """Of two and of three classes, the latter with weights."""
    rng = np.random.default_rng(0)
    X = sp.random(4000, 300, 0.05, "csr", random_state=0)
    scores = X @ rng.normal(size=(300, 3)) + rng.normal(scale=0.1, size=(4000, 3))
    return [
        BlockStore.write(folder / "two", X, scores[:, 0] > 0.0, block_rows=800),
        BlockStore.write(folder / "three", X, scores.argmax(axis=1), rng.integers(1, 4, 4000), 800),
    ]


def soak(
    classifier: Any, stores: list[BlockStore], client: Any, n_kills: int, rng: random.Random
) -> dict[str, Any]:
    expected = [_bits(classifier.fit(store)) for store in stores]
    start = time.perf_counter()
    classifier.fit(stores[0], client=client)
    seconds = time.perf_counter() - start
    found = {"kills": 0, "fits": 0, "different": 0, "seconds_uninterrupted": seconds}
    while found["kills"] < n_kills:
        which = found["fits"] % len(stores)
        victim = rng.choice(list(client.run(os.getpid).values()))
        killed: list[int] = []
        killer = threading.Timer(rng.uniform(0.0, seconds), kill, (victim, killed))
        killer.start()
        bits = _bits(classifier.fit(stores[which], client=client))
        killer.cancel()
        killer.join()
        found["kills"] += len(killed)
        found["fits"] += 1
        found["different"] += bits != expected[which]
        client.wait_for_workers(N_WORKERS, timeout=120)
    return found


def kill(victim: int, killed: list[int]) -> None:
    os.kill(victim, signal.SIGKILL)
    killed.append(victim)


def _bits(classifier: Any) -> list[bytes]:
    arrays = (classifier.coef_, classifier.intercept_, classifier.alpha_)
    return [np.asarray(each).tobytes() for each in arrays]


if __name__ == "__main__":
    sys.exit(main())
