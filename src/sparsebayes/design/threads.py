"""A fixed number of threads over a list of blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

# Nonzeros of a matrix that no cache holds: 200 MB. From there on products wait for memory, and a second
# core has its own share of that; before, threads are left to the caller, who may have better use for them.
THREADS_PAY_FROM = 1 << 24


def automatic_count(n_entries: int) -> int:
    """As many threads as cores where they pay; OMP_NUM_THREADS is heeded, as BLAS does."""
    if n_entries < THREADS_PAY_FROM:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) else cores


class Threads:
    """``map`` over blocks, in order, with ``count`` threads (1: no thread is ever started).

    A pool is made for each call and is gone after it: its 0.1 ms are nothing beside a block's
    product, and no idle thread is left behind for a process that forks.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count

    def map(self, function: Callable[..., Any], *blocks: Iterable[Any]) -> list[Any]:
        columns = [list(each) for each in blocks]
        if self.count == 1 or len(columns[0]) <= 1:
            return [function(*each) for each in zip(*columns, strict=True)]
        # A thread that calls BLAS is not to start others.
        with (
            one_blas_thread(),
            ThreadPoolExecutor(min(self.count, len(columns[0]))) as pool,
        ):
            return list(pool.map(function, *columns))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Where matrices are small, and waking the other threads costs more than they save."""
    limited: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limited


@cache
def _thread_pools() -> Any:
    """The libraries with threads of their own; finding them takes longer than telling them."""
    from threadpoolctl import ThreadpoolController  # here: it comes with scikit-learn

    return ThreadpoolController()
