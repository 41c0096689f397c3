"""Rows in blocks: in memory, in a store, with workers of a cluster. The same blocks give the same bits."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, SBLClassifierCV, sbl_path
from sparsebayes.design import RowBlocks, RowVector, Workers, WorkersLostError
from sparsebayes.design import blocks as blocks_module
from sparsebayes.io import BlockStore
from sparsebayes.objective import Ray
from tests.models import rows, stored

CASES = [
    pytest.param(estimator, n_classes, storage, storage == "sparse", id=f"{name}-{n_classes}-{storage}")
    for name, estimator in {
        "auto": SBLClassifier(),
        "dqn": SBLClassifier("dqn", max_iter=4),
        "cv": SBLClassifier(select="cv"),
        "moderated": SBLClassifier("newton", proba="moderated", max_iter=10),
        "rvm": RVMClassifier(random_state=0, gamma="median"),
        "sbelm": SBELMClassifier(20, random_state=0),
    }.items()
    for n_classes in (2, 3)
    for storage in ("dense", "sparse")  # the latter with weights
]
N_ROWS, BLOCK_ROWS = 120, 25


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a model is enough, a good one is not needed
        yield


def data(n_classes, storage, weighted, seed=0):
    X, y = rows(N_ROWS, seed, n_classes)
    weight = np.random.default_rng(seed).integers(0, 4, N_ROWS).astype(float) if weighted else None
    return stored(X, storage), np.array(["a", "b", "c"])[y], weight


def bits(clf, X):
    """All that a model consists of."""
    return [clf.coef_, clf.intercept_, clf.alpha_, clf.predict_proba(X)]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("estimator", "n_classes", "storage", "weighted"), CASES)
def test_a_store_gives_the_bits_of_its_blocks_in_memory(
    tmp_path, monkeypatch, estimator, n_classes, storage, weighted
):
    X, y, weight = data(n_classes, storage, weighted)
    in_memory = bits(estimator.fit(RowBlocks.of_matrix(X, BLOCK_ROWS), y, weight), X)
    store = BlockStore.write(tmp_path / "store", X, y, weight, BLOCK_ROWS)
    assert store.n_blocks == 5
    assert same(bits(estimator.fit(store), X), in_memory)
    if getattr(estimator, "select", None) == "cv":
        return  # five folds more of the same
    with monkeypatch.context() as nothing_held:
        nothing_held.setattr(blocks_module, "HELD_ENTRIES", -1)
        assert same(bits(estimator.fit(store), X), in_memory)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_threads_change_no_bit(tmp_path, storage):
    X, y, weight = data(2, storage, True)
    store = BlockStore.write(tmp_path / "store", X, y, weight, BLOCK_ROWS)
    alone = bits(SBLClassifier(n_jobs=1).fit(store), X)
    assert same(bits(SBLClassifier(n_jobs=2).fit(store), X), alone)


@pytest.mark.parametrize(
    ("estimator", "n_classes", "storage", "weighted"), [c for c in CASES if "dqn" not in c.id]
)
def test_blocks_give_the_model_of_the_whole(estimator, n_classes, storage, weighted):
    X, y, weight = data(n_classes, storage, weighted)
    whole = estimator.fit(X, y, weight).predict_proba(X)
    in_blocks = estimator.fit(RowBlocks.of_matrix(X, BLOCK_ROWS), y, weight).predict_proba(X)
    np.testing.assert_allclose(in_blocks, whole, atol=1e-8)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_predictions_for_a_store(tmp_path, storage):
    X, y, _ = data(3, storage, False)
    store = BlockStore.write(tmp_path / "store", X, y, None, BLOCK_ROWS)
    clf = SBLClassifier().fit(X, y)
    parts = [clf.predict_proba(X[start : start + BLOCK_ROWS]) for start in range(0, N_ROWS, BLOCK_ROWS)]
    assert np.array_equal(clf.predict_proba(store), np.concatenate(parts))
    assert np.array_equal(clf.freeze().predict_proba(store), clf.predict_proba(store))
    assert clf.predict(store).tolist() == clf.predict(X).tolist()
    with pytest.raises(ValueError, match="7 features, but this model expects 8"):
        clf.predict(BlockStore.write(tmp_path / "narrow", X[:, :7], y))


@pytest.mark.parametrize(
    ("labels", "error", "complaint"),
    [
        (["a", 1], TypeError, r"SBLClassifier got a y of mixed label types \(int, str\)"),
        ([1, "a"], TypeError, r"SBLClassifier got a y of mixed label types \(int, str\)"),
        (["a", 0.5], TypeError, r"mixed label types \(float, str\)"),
        (["a", np.nan], ValueError, "Input y contains NaN"),
    ],
)
def test_bad_labels_beside_a_store_are_told_as_beside_an_array(tmp_path, labels, error, complaint):
    X, y, _ = data(2, "dense", False)
    store = BlockStore.write(tmp_path / "store", X, y)
    mixed = np.array(labels, dtype=object)[np.arange(len(y)) % 2]
    for given in (X, store):
        with pytest.raises(error, match=complaint):
            SBLClassifier().fit(given, mixed)


def test_names_and_labels_come_from_the_store(tmp_path):
    X, y, _ = data(2, "dense", False)
    names = [f"f{k}" for k in range(X.shape[1])]
    store = BlockStore.write(tmp_path / "store", X, y, feature_names=names)
    clf = SBLClassifier().fit(store)
    assert clf.feature_names_in_.tolist() == names
    assert clf.classes_.tolist() == ["a", "b"]
    other = SBLClassifier().fit(store, np.where(y == "a", 0, 1))
    assert other.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="120 rows, but 3 labels"):
        clf.fit(store, [1, 2, 1])


def test_what_needs_all_rows_in_memory_says_so(tmp_path):
    X, y, _ = data(2, "dense", False)
    store = BlockStore.write(tmp_path / "store", X, y, None, BLOCK_ROWS)
    for call in (SBLClassifierCV().fit, lambda store: sbl_path(store, y, X, y)):
        with pytest.raises(TypeError, match=r"does not take a BlockStore here\. Give it store\.to_csr\(\)"):
            call(store)


def test_extreme_units(tmp_path):
    X, y, _ = data(2, "sparse", False)
    plain = SBLClassifier().fit(RowBlocks.of_matrix(X, BLOCK_ROWS), y).predict_proba(X)
    for exponent in (900, -900):
        far = X * 2.0**exponent
        assert np.array_equal(
            SBLClassifier().fit(RowBlocks.of_matrix(far, BLOCK_ROWS), y).predict_proba(far), plain
        )


def test_a_precomputed_kernel_is_refused(tmp_path):
    store = BlockStore.write(tmp_path / "store", np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="needs the whole matrix in memory"):
        RVMClassifier(kernel="precomputed").fit(store)


# Workers.

distributed = pytest.importorskip("distributed")


@contextlib.contextmanager
def client_of(n_workers):
    """Of a cluster of its own: one that was scaled, or lost a worker, may wait for what never comes."""
    cluster = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    )
    with distributed.Client(cluster) as client:
        client.wait_for_workers(n_workers, timeout=120)
        yield client
    try:
        cluster.close()
    except KeyError:
        # LocalCluster keeps a list of its workers, and stumbles over one that the scheduler has given up.
        cluster.status = distributed.core.Status.closed


@pytest.fixture(scope="module")
def client():
    with client_of(2) as client:
        yield client


@pytest.fixture
def doomed_client():
    with client_of(2) as client:
        yield client


def worker_pids(client):
    return list(client.run(os.getpid).values())


SMALL = {"auto": SBLClassifier(), "dqn": SBLClassifier("dqn", max_iter=2, map_max_iter=5)}


@pytest.mark.parametrize(
    ("name", "n_classes", "n_workers"),
    [("dqn", 2, 1), ("dqn", 2, 3), ("dqn", 3, 2), ("auto", 2, 2), ("auto", 3, 1)],
)
def test_workers_give_the_bits_of_the_store(tmp_path, name, n_classes, n_workers):
    X, y, weight = data(n_classes, "sparse", n_classes == 2)
    X = X[:, :3] if name == "auto" else X  # a path of few points
    store = BlockStore.write(tmp_path / "store", X, y, weight, 40)
    here = bits(SMALL[name].fit(store), X)
    with client_of(n_workers) as client:
        assert same(bits(SMALL[name].fit(store, client=client), X), here)
        p = SMALL[name].predict_proba(store, client=client)
    assert np.array_equal(p, SMALL[name].predict_proba(store))


def test_blocks_of_the_user(client):
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    X, y, _ = data(2, "dense", False)
    here = bits(SMALL["dqn"].fit(RowBlocks.of_matrix(X, 40), y), X)
    whole = array.from_array(X, chunks=(40, -1))
    assert same(bits(SMALL["dqn"].fit(whole, array.from_array(y), client=client), X), here)
    parts = [dask.delayed(X[start : start + 40]) for start in (0, 40, 80)]
    assert same(bits(SMALL["dqn"].fit(parts, y, client=client), X), here)
    with pytest.raises(ValueError, match="one chunk"):
        SMALL["dqn"].fit(array.from_array(X, chunks=(40, 2)), y, client=client)


def test_blocks_of_the_user_in_any_format(client):
    dask = pytest.importorskip("dask")
    X, y, _ = data(2, "sparse", False)
    repeated = sp.csr_matrix((np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)
    here = bits(SMALL["dqn"].fit(RowBlocks.of_matrix(X, 40), y), X)
    for other in (X.tocsc(), X.tocoo(), repeated):
        parts = [
            dask.delayed(other.tocsr()[start : start + 40].asformat(other.format)) for start in (0, 40, 80)
        ]
        clf = SMALL["dqn"].fit(parts, y, client=client)
        assert same(bits(clf, X), here)
    assert np.array_equal(
        clf.predict_proba(parts, client=client), clf.predict_proba(RowBlocks.of_matrix(X, 40))
    )
    with pytest.raises(TypeError, match="a dask array or a list of delayed blocks"):
        clf.fit(X, y, client=client)


def test_a_step_takes_two_rounds_of_tasks_and_margins_stay_with_the_workers(client, monkeypatch):
    X, y, _ = data(2, "sparse", False)
    trials = []
    at = Ray.at
    monkeypatch.setattr(Ray, "at", lambda ray, eta: trials.append(eta) or at(ray, eta))
    monkeypatch.setattr(RowVector, "__array__", None)
    workers = Workers(client)
    blocks = RowBlocks.of_matrix(X, 40, workers)
    clf = SBLClassifier("dqn", max_iter=1, map_max_iter=10).fit(blocks, y)
    n_steps = clf.history_[0][0]["map_steps"]
    assert n_steps == 10 <= len(trials)
    # X p with the first trial, and X^T r. Every further trial brings three numbers of each block. Besides:
    # the columns of the blocks, the start, the posterior of the model.
    assert workers.n_rounds <= 2 * n_steps + (len(trials) - n_steps) + 7


class Meanwhile:
    """A callback that does something to the cluster after the first iteration."""

    def __init__(self, action):
        self.action = action

    def __call__(self, progress):
        if progress.iteration == 1:
            self.action()


@pytest.mark.parametrize("name", SMALL)
def test_a_worker_that_is_killed(tmp_path, doomed_client, name):
    X, y, _ = data(2, "sparse", False)
    store = BlockStore.write(tmp_path / "store", X, y, None, 40)
    here = bits(SMALL[name].fit(store), X)
    victim = worker_pids(doomed_client)[0]
    clf = SBLClassifier(**SMALL[name].get_params()).set_params(
        callbacks=[Meanwhile(lambda: os.kill(victim, signal.SIGKILL))]
    )
    assert same(bits(clf.fit(store, client=doomed_client), X), here)


def test_a_worker_that_is_stopped(tmp_path, doomed_client):
    X, y, _ = data(2, "sparse", False)
    store = BlockStore.write(tmp_path / "store", X, y, None, 40)
    here = bits(SMALL["dqn"].fit(store), X)
    victim = worker_pids(doomed_client)[0]
    clf = SBLClassifier(**SMALL["dqn"].get_params()).set_params(
        callbacks=[Meanwhile(lambda: os.kill(victim, signal.SIGSTOP))]
    )
    start = time.monotonic()
    try:
        assert same(bits(clf.fit(store, client=Workers(doomed_client, patience=3.0)), X), here)
    finally:
        os.kill(victim, signal.SIGKILL)
    assert time.monotonic() - start < 60.0


def test_no_worker_left(tmp_path, doomed_client):
    X, y, _ = data(2, "sparse", False)
    store = BlockStore.write(tmp_path / "store", X, y, None, 40)
    clf = SBLClassifier("dqn", max_iter=3, callbacks=[Meanwhile(lambda: doomed_client.cluster.scale(0))])
    start = time.monotonic()
    with pytest.raises(WorkersLostError, match="All workers of the cluster are gone"):
        clf.fit(store, client=Workers(doomed_client, patience=3.0))
    assert time.monotonic() - start < 60.0
    assert not hasattr(clf, "coef_")
