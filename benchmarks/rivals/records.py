"""One record a cell: a line of JSON, written as soon as the cell is done, whatever came of it."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import platform
import signal
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, peak_rss, say

FOLDER = RESULTS / "rivals"
CELLS = FOLDER / "cells"
PACKAGES = ("numpy", "scipy", "scikit-learn", "sparsebayes")

Record = dict[str, Any]


class Cells:
    """The records of one benchmark: a file for each set and model, a line for each seed."""

    def __init__(self, benchmark: str, folder: Path = CELLS):
        self.folder = folder / benchmark

    def path(self, data: str, model: str) -> Path:
        return self.folder / f"{data}.{model}.jsonl"

    def read(self, data: str, model: str) -> dict[int, Record]:
        """By seed."""
        path = self.path(data, model)
        lines = path.read_text().splitlines() if path.exists() else []
        return {record["seed"]: record for record in map(json.loads, lines)}

    def write(self, data: str, model: str, record: Record) -> None:
        records = self.read(data, model) | {record["seed"]: record}
        path = self.path(data, model)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(records[seed], separators=(",", ":")) for seed in sorted(records))
        path.write_text("".join(f"{line}\n" for line in lines))


def versions(*packages: str) -> str:
    names = (*PACKAGES, *packages)
    return " ".join([f"python {platform.python_version()}", *(f"{p} {metadata.version(p)}" for p in names)])


def run(
    cells: Cells,
    data: str,
    model: str,
    seed: int,
    work: Callable[[], Iterable[Record]],
    *,
    limit: float,
    packages: Iterable[str] = (),
    again: bool = False,
    options: str | None = None,
) -> Record:
    """The record of a cell: the one there is, or a new one from what ``work`` yields within the limit.

    The work runs in a fork, so that it can be ended, and so that its peak memory is its own. What it
    yielded before its end counts, even where the end is an error or the limit.
    """
    known = cells.read(data, model).get(seed)
    if known is not None and not again:
        return known
    options = f"--sets {data} --models {model}" if options is None else options
    start = time.perf_counter()
    points, ending = _in_fork(work, limit)
    record = {
        "seed": seed,
        "status": ending.pop("status"),
        "points": points,
        "s": rounded(time.perf_counter() - start),
        **ending,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": _installed(packages),
        "command": f"python -m benchmarks.rivals.{cells.folder.name} {options}".strip(),
    }
    cells.write(data, model, record)
    say(
        f"{data:22} {model:11} seed {seed:2}  {record['status']:6} {record['s']:8.1f} s  {len(points)} points"
    )
    return record


def finished(records: dict[int, Record]) -> dict[int, list[Record]]:
    """The points of the cells that came to their end, by seed."""
    return {seed: record["points"] for seed, record in records.items() if record["status"] == "ok"}


def unfinished(records: dict[int, Record]) -> int:
    return sum(record["status"] != "ok" for record in records.values())


def rounded(value: float) -> float | None:
    """Four digits, enough for any figure here; None where there is no number, which JSON has no word for."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _installed(packages: Iterable[str]) -> str:
    try:
        return versions(*packages)
    except metadata.PackageNotFoundError as error:
        return f"{versions()} (no {error.name})"


def _in_fork(work: Callable[[], Iterable[Record]], limit: float) -> tuple[list[Record], Record]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(work, sender))
    child.start()
    sender.close()
    points: list[Record] = []
    ending: Record = {"status": "limit", "limit": limit}
    deadline = time.perf_counter() + limit
    with suppress(EOFError):
        while receiver.poll(max(0.0, deadline - time.perf_counter())):
            kind, content = receiver.recv()
            if kind == "end":
                ending = content
                break
            points.append(content)
        else:
            os.killpg(child.pid, signal.SIGKILL)
    child.join()
    if child.exitcode and ending["status"] == "limit" and time.perf_counter() < deadline:
        ending = {"status": "failed", "error": f"ended with exit code {child.exitcode}"}
    return points, ending


def _child(work: Callable[[], Iterable[Record]], sender: Any) -> None:
    os.setsid()  # so that processes of its own end with it

    def send_all() -> float:
        start = time.process_time()
        for point in work():
            sender.send(("point", point))
        return time.process_time() - start

    try:
        cpu, peak = peak_rss(send_all)
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        sender.send(("end", {"status": "failed", "error": text}))
    else:
        sender.send(("end", {"status": "ok", "cpu_s": rounded(cpu), "rss_mb": round(peak / 1e6)}))
