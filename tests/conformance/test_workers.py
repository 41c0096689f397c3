"""Row 4 and the faults of a cluster: workers that restart, run out of memory, or are all gone."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import scipy.sparse as sp

from sparsebayes import SBLClassifier
from sparsebayes.design import Workers, WorkersLostError
from sparsebayes.io import BlockStore
from tests.conformance.storages import refused, small

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
MEGABYTES = 400


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        host="127.0.0.1",
        memory_limit=MEGABYTES * 10**6,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def store(tmp_path):
    X, y = small()
    return BlockStore.write(tmp_path / "store", sp.csr_array(X), y, None, 20)


def test_row_04_nan_in_the_block_of_a_worker(client):
    X, y = small()
    X[47, 2] = np.nan
    parts = [dask.delayed(sp.csr_array(X[start : start + 20])) for start in (0, 20, 40)]
    before = client.run(os.getpid)
    refused(lambda: SBLClassifier().fit(parts, y, client=client), "NaN", "row 47, column 2")
    assert client.run(os.getpid) == before


def swallow():
    """More than a worker may have: its nanny ends it, and starts another."""
    taken = []
    while True:
        taken.append(np.ones(MEGABYTES * 10**6 // 80))
        time.sleep(0.02)


@pytest.mark.parametrize("fault", ["out of memory", "restarted"])
def test_a_worker_that_comes_back(client, store, fault):
    here = SBLClassifier("dqn", max_iter=3, map_max_iter=5).fit(store)
    client.wait_for_workers(2, timeout=60)
    (address, pid), *_ = client.run(os.getpid).items()

    def meanwhile(progress):
        if progress.iteration == 1:
            if fault == "restarted":
                client.restart_workers([address], timeout=60)
            else:
                hog = client.submit(swallow, workers=[address], pure=False, retries=0)
                while pid in client.run(os.getpid, on_error="ignore").values():
                    time.sleep(0.05)
                hog.cancel()

    there = SBLClassifier("dqn", max_iter=3, map_max_iter=5, callbacks=[meanwhile]).fit(store, client=client)
    assert pid not in client.run(os.getpid).values()
    assert there.coef_.tobytes() == here.coef_.tobytes()
    assert there.alpha_.tobytes() == here.alpha_.tobytes()


def test_all_workers_are_lost_and_the_fit_goes_on_elsewhere(client, store, tmp_path):
    here = SBLClassifier("dqn", max_iter=4).fit(store)

    def meanwhile(progress):
        if progress.iteration == 2:
            client.cluster.scale(0)
            while client.scheduler_info()["workers"]:
                time.sleep(0.05)

    clf = SBLClassifier("dqn", max_iter=4, checkpoint=tmp_path / "c", callbacks=[meanwhile])
    start = time.monotonic()
    with pytest.raises(WorkersLostError):
        clf.fit(store, client=Workers(client, patience=6.0))
    assert time.monotonic() - start < 60.0
    assert len(list((tmp_path / "c").rglob("*.step"))) == 2
    clf.set_params(callbacks=[lambda progress: None], resume=True).fit(store)
    assert clf.coef_.tobytes() == here.coef_.tobytes()
