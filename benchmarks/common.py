"""What the benchmarks share: data, clocks, memory, limits, results."""

from __future__ import annotations

import ctypes
import gc
import json
import multiprocessing
import os
import platform
import sys
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import scipy
import sklearn
from sklearn.model_selection import train_test_split

import sparsebayes
from sparsebayes.io import datasets

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"

Result = TypeVar("Result")


def read(name: str) -> tuple[Any, Any]:
    """X (CSR) and y of a data set that is at hand; none is downloaded."""
    try:
        data = datasets.load(name, download=False)
    except datasets.DatasetError as error:
        sys.exit(str(error))
    return data.X, data.y


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Training X, test X, training y, test y of a data set: 75/25, stratified, seed 0."""
    X, y = read(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    return X_train, X_test, y_train, y_test


def csr_bytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def say(line: str) -> None:
    """Progress, apart from the table on standard output."""
    print(line, file=sys.stderr, flush=True)


def interleaved_minima(actions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least seconds of each action, all taking turns so that a busy spell of the machine hits all alike."""
    for action in actions.values():
        action()  # warm-up, untimed
    least = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def fresh_process() -> ProcessPoolExecutor:
    """An interpreter of its own, with nothing left over in its memory."""
    return ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))


def in_fresh_process(function: Callable[..., Result], *arguments: Any) -> Result:
    with fresh_process() as worker:
        return worker.submit(function, *arguments).result()


def peak_rss(action: Callable[[], Result]) -> tuple[Result, int]:
    """The action's result, and the bytes its peak stood above what was resident before (Linux).

    Meant for a process that is fresh but for its data: see :func:`in_fresh_process`.
    """
    if not sys.platform.startswith("linux"):
        sys.exit("Peak memory is read from /proc, which only Linux has.")
    gc.collect()
    # Memory that was freed but kept by the allocator would be used again unseen.
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from the present
    before = _status_bytes("VmRSS")
    result = action()
    return result, _status_bytes("VmHWM") - before


def peak_bytes(process: int | str = "self") -> int:
    """The most that a process ever had in memory (Linux)."""
    return _status_bytes("VmHWM", process)


def children_peak_bytes() -> int:
    """The sum of the most that each child of this process had in memory so far."""
    lists = [task.read_text().split() for task in Path("/proc/self/task").glob("*/children")]
    return sum(peak_bytes(int(number)) for numbers in lists for number in numbers)


def _status_bytes(field: str, process: int | str = "self") -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/{process}/status has no {field}.")


def thresholds(benchmark: str) -> dict[str, float]:
    return tomllib.loads((FOLDER / "thresholds.toml").read_text())[benchmark]


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number beside its limit (None: reported only)."""

    name: str
    measured: float
    limit: float | None = None
    bound: Literal["at most", "at least"] = "at most"

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "-"
        within = self.measured <= self.limit if self.bound == "at most" else self.measured >= self.limit
        return "ok" if within else "MISS"


def judge(figures: list[Figure]) -> int:
    """Print the table; the exit code is 1 where a limit is missed."""
    width = max(len(figure.name) for figure in figures)
    print(f"{'':{width}}  {'measured':>9}  {'limit':>15}")
    for figure in figures:
        limit = "" if figure.limit is None else f"{figure.bound} {figure.limit:g}"
        print(f"{figure.name:{width}}  {figure.measured:9.4g}  {limit:>15}  {figure.verdict}")
    return int(any(figure.verdict == "MISS" for figure in figures))


def save(name: str, figures: list[Figure], details: dict[str, Any]) -> Path:
    """Write ``results/NAME.json``; a name may have a folder, "rivals/wide"."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "benchmark": name,
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"python -m benchmarks.{name.replace('/', '.')}",
        "machine": "Shared with other work: seconds are for orientation, only ratios and slopes count.",
        "cpu_count": os.cpu_count(),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "sparsebayes": sparsebayes.__version__,
        },
        "figures": [asdict(figure) | {"verdict": figure.verdict} for figure in figures],
        **details,
    }
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path
