"""Processes that do one cell after another, and are ended when one takes too long."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Outcome = dict[str, Any]


class Worker(Generic[Task]):
    """A process of its own, started when there is something to do, and anew after one was ended."""

    def __init__(self, work: Callable[[Task], Outcome]):
        self.work = work
        self.task: Task | None = None
        self.process: Any = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.work, other), daemon=True)
        self.process.start()
        other.close()
        self.pipe.recv()  # it is ready: importing does not count

    def give(self, task: Task, limit: float) -> None:
        if self.process is None:
            self._start()
        self.task, self.given, self.limit = task, time.monotonic(), limit
        self.pipe.send(task)

    @property
    def left(self) -> float:
        return self.given + self.limit - time.monotonic()

    def outcome(self) -> Outcome:
        """Of a worker that has answered, has died or has run out of time."""
        if not self.pipe.poll():
            self.end()
            return {"status": "limit", "limit": self.limit}
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.end()
            return {"status": "failed", "error": f"ended with exit code {code}"}

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def in_workers(
    work: Callable[[Task], Outcome], tasks: Iterable[Task], n_jobs: int, limit: Callable[[Task], float]
) -> Iterator[tuple[Task, Outcome]]:
    """Outcomes as they come. The limit of a task is in seconds."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before a child loads it
    queue = iter(tasks)
    workers = [Worker(work) for _ in range(n_jobs)]
    try:
        busy = [worker for worker in workers if _next(worker, queue, limit)]
        while busy:
            answered: list[Any] = wait(
                [worker.pipe for worker in busy], max(0.0, min(each.left for each in busy))
            )
            for worker in [each for each in busy if each.pipe in answered or each.left <= 0.0]:
                yield worker.task, worker.outcome()
                if not _next(worker, queue, limit):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.end()


def _next(worker: Worker[Task], queue: Iterator[Task], limit: Callable[[Task], float]) -> bool:
    task = next(queue, None)
    if task is not None:
        worker.give(task, limit(task))
    return task is not None


def _serve(work: Callable[[Task], Outcome], pipe: Connection) -> None:
    pipe.send("ready")
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            outcome = work(task)
        except Exception as error:
            traceback.print_exc()
            text = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            outcome = {"status": "failed", "error": text}
        with suppress(BrokenPipeError):  # whoever asked is gone
            pipe.send(outcome)
