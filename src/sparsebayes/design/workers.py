"""Blocks of rows on the workers of a dask.distributed cluster."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes import _checks
from sparsebayes.design.rows import Block, RowBlocks, canonical, itself, prepared

# Seconds between two looks at a cluster that has not answered.
BETWEEN_LOOKS = 1.0


class WorkersLostError(RuntimeError):
    """A cluster has no worker left, does not answer, or gave a task up.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from distributed import Client
    >>> from sparsebayes import SBLClassifier, Workers, WorkersLostError
    >>> from sparsebayes.io import BlockStore
    >>> cluster = {"n_workers": 0, "processes": False, "dashboard_address": None}
    >>> with TemporaryDirectory() as folder, Client(**cluster) as client:
    ...     store = BlockStore.write(f"{folder}/store", [[0.0], [1.0]], ["no", "yes"])
    ...     try:
    ...         SBLClassifier().fit(store, client=Workers(client, patience=0.1))
    ...     except WorkersLostError as error:
    ...         print(str(error).partition(".")[0])
    All workers of the cluster are gone, for 0 seconds
    """


@dataclass(frozen=True, slots=True)
class Remote:
    """Rows in a worker's memory: the future knows how they were made, and is made again if they are lost."""

    future: Any

    def load(self) -> Any:
        return self.future.result()


class Workers:
    """The workers of a ``distributed.Client``.

    Nothing is scattered: a block is the result of a task that loads it, so that one lost with its worker is
    loaded again by another, and sums are added by tasks in the order of :func:`~sparsebayes.design.tree_sum`.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster.
    patience : float, default=30
        Seconds after which a worker that is silent is given up and its work done again by the others; and
        after which a cluster without workers is an error.

    Examples
    --------
    A cluster of one worker, which is a thread of this process:

    >>> from tempfile import TemporaryDirectory
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifier, Workers
    >>> from sparsebayes.io import BlockStore
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cluster = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    >>> with TemporaryDirectory() as folder, Client(**cluster) as client:
    ...     store = BlockStore.write(f"{folder}/store", X[:, :1], y, block_rows=300)
    ...     there = SBLClassifier().fit(store, client=Workers(client, patience=10.0))
    ...     here = SBLClassifier().fit(store)
    >>> bool((there.coef_ == here.coef_).all())
    True
    """

    nearby = False

    def __init__(self, client: Any, patience: float = 30.0) -> None:
        self.client = client
        self.patience = patience
        self.n_rounds = 0  # of tasks whose results were waited for, so far

    def each(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Iterator[Any]:
        yield from self._results(self._submitted(task, *parts))

    def total(self, task: Callable[..., Any], *parts: Iterable[Any]) -> Any:
        sums = self._submitted(task, *parts)
        while len(sums) > 1:
            pairs = self.client.map(operator.add, sums[:-1:2], sums[1::2], pure=False)
            sums = pairs + sums[len(sums) - len(sums) % 2 :]
        return self._results(sums)[0]

    def held(self, task: Callable[..., Any], *parts: Iterable[Any]) -> list[Block]:
        return [Block(Remote(future)) for future in self._submitted(task, *parts)]

    def shared(self, value: Any) -> Any:
        """Sent once; workers pass it on among themselves."""
        return None if value is None else self.client.submit(itself, value, pure=False)

    def settled(self, blocks: list[Block]) -> list[Block]:
        return self.held(itself, blocks)

    def _submitted(self, task: Callable[..., Any], *parts: Iterable[Any]) -> list[Any]:
        """Futures have to be arguments of their own for the scheduler to see them: blocks are taken apart."""
        are_blocks, flat = [], []
        for part in map(list, parts):
            are_blocks.append(isinstance(part[0], Block))
            if are_blocks[-1]:
                flat.append([b.source.future if isinstance(b.source, Remote) else b.source for b in part])
                flat.append([block.steps for block in part])
            else:
                flat.append(part)
        n_blocks = len(flat[0])
        futures: list[Any] = self.client.map(
            _done, [task] * n_blocks, [tuple(are_blocks)] * n_blocks, *flat, pure=False, retries=2
        )
        return futures

    def _results(self, futures: list[Any]) -> list[Any]:
        from distributed import KilledWorker, wait

        self.n_rounds += 1
        silent_since: float | None = None
        while True:
            try:
                wait(futures, timeout=BETWEEN_LOOKS)  # type: ignore[no-untyped-call]
                return list(self.client.gather(futures))
            except TimeoutError:
                silent_since = self._looked_after(silent_since)
            except KilledWorker as error:
                raise WorkersLostError(f"Workers die of a task, and no more are tried: {error}") from None

    def _looked_after(self, silent_since: float | None) -> float | None:
        """Gives up workers that are silent; since when there has been none, if so."""
        now = time.monotonic()
        try:
            left = self.client.run_on_scheduler(_without_silent_workers, patience=self.patience)
        except (OSError, TimeoutError, RuntimeError) as error:
            raise WorkersLostError(f"The scheduler of the cluster does not answer: {error}") from None
        if left:
            return None
        silent_since = now if silent_since is None else silent_since
        if now - silent_since > self.patience:
            raise WorkersLostError(
                f"All workers of the cluster are gone, for {self.patience:.0f} seconds. Start others and fit "
                "again; with checkpoint and resume=True the fit goes on from where it was."
            )
        return silent_since


def rows_on(workers: Workers, X: Any) -> RowBlocks:
    """A dask array, or a list of delayed blocks or futures, whose blocks are dense or CSR rows."""
    if hasattr(X, "to_delayed"):
        if X.ndim != 2 or X.numblocks[1] != 1:
            raise ValueError("A dask array must have all columns in one chunk: use X.rechunk({1: -1}).")
        X = X.to_delayed().ravel().tolist()
    if not isinstance(X, list | tuple):
        raise TypeError(
            "With client, X is a BlockStore, a dask array or a list of delayed blocks of rows. "
            f"Got a {type(X).__name__}."
        )
    futures = workers.client.compute(list(X))
    blocks = workers.settled([Block(Remote(future), (canonical,)) for future in futures])
    found = list(workers.each(_description, blocks, range(len(blocks))))
    heights, widths = [each.height for each in found], {each.n_columns for each in found}
    if len(widths) != 1:
        raise ValueError(f"Blocks must have the same columns. Got blocks of {sorted(widths)} columns.")
    list(workers.each(_check_finite, blocks, np.cumsum([0, *heights[:-1]]).tolist()))
    dense, dtype = not found[0].sparse, np.result_type(*(each.dtype for each in found), np.float32)
    return RowBlocks(blocks, heights, widths.pop(), dtype, dense=dense, crew=workers)


@dataclass(frozen=True, slots=True)
class _Description:
    height: int
    n_columns: int
    dtype: Any
    sparse: bool


def _description(X: Any, number: int) -> _Description:
    if not sp.issparse(X) and not isinstance(X, np.ndarray):
        raise ValueError(f"Block {number} is a {type(X).__name__}, not an array or a scipy.sparse matrix.")
    return _Description(X.shape[0], X.shape[1], X.dtype, bool(sp.issparse(X)))


def _check_finite(X: Any, first_row: int) -> None:
    _checks.check_finite(X, "A fit on workers", first_row)


def _done(task: Callable[..., Any], are_blocks: tuple[bool, ...], *flat: Any) -> Any:
    shares, own = iter(flat), []
    for is_block in are_blocks:
        share = next(shares)
        if is_block:
            share = prepared(share.load() if hasattr(share, "load") else share, next(shares))
        own.append(share)
    return task(*own)


async def _without_silent_workers(dask_scheduler: Any, patience: float) -> int:
    """Run on the scheduler: removes workers that it has not heard of for so long; how many are left."""
    now = time.time()
    workers = dask_scheduler.workers.items()
    silent = [address for address, worker in workers if now - worker.last_seen > patience]
    for address in silent:
        await dask_scheduler.remove_worker(address, stimulus_id=f"silent-{now}", close=False)
    return len(dask_scheduler.workers)
