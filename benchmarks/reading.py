"""Svmlight text to a block store and into memory, against scikit-learn's reader; memory as the text grows.

Run ``python -m benchmarks.reading [--quick]`` with ``SPARSEBAYES_DATA`` set; the text is news20.binary's.
"""

from __future__ import annotations

import argparse
import bz2
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sklearn.datasets import load_svmlight_file

import sparsebayes.io.svmlight as svmlight
from benchmarks.common import (
    Figure,
    children_peak_bytes,
    in_fresh_process,
    interleaved_minima,
    judge,
    peak_rss,
    save,
    say,
    thresholds,
)
from sparsebayes.io import BlockStore, convert_svmlight, datasets, read_svmlight

DATA = "news20.binary"
QUICK_BYTES = 20_000_000
REPEATS = 4
# Memory is compared between texts of several blocks: from four on, one is read while two are on their way to
# the disk, and no more.
TIMES = (4, 16)
JOBS = 2
ALWAYS, NEVER = 0, 1 << 62


def main() -> int:
    quick = _arguments().quick
    limits = thresholds("reading")
    # Of a short text syncing files takes most of the time.
    speed_limit = limits["quick_speed" if quick else "speed"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say(f"expanding {DATA}")
        one, *longer = texts(folder, quick)
        say("readers in turn")
        seconds = reading_seconds(one, folder)
        say("their processor time")
        processor = processor_seconds(one, folder)
        say("the same store of each; the same numbers")
        check(one, folder)
        if not quick:
            say("memory of a conversion, in fresh processes")
        memory = {
            name: [in_fresh_process(peak, text, limit) for text in longer]
            for name, limit in (("threads", NEVER), ("processes", ALWAYS))
        }
        size = one.stat().st_size
    ratios = {
        name: seconds["scikit-learn"] / value for name, value in seconds.items() if name != "scikit-learn"
    }
    figures = [
        Figure(
            "scikit-learn's seconds over ours: text to store, 2 threads",
            ratios["store, threads"],
            speed_limit,
            "at least",
        ),
        Figure("text to store, 2 processes", ratios["store, processes"]),
        Figure("text to store, 1 thread", ratios["store, 1 thread"]),
        Figure("text to memory, 2 threads", ratios["memory, threads"]),
        Figure("text to memory, 1 thread", ratios["memory, 1 thread"]),
        Figure(
            "processor time of scikit-learn over ours: text to store",
            processor["scikit-learn"] / processor["store"],
        ),
        Figure(
            "processor time of scikit-learn over ours: text to memory",
            processor["scikit-learn"] / processor["memory"],
        ),
        Figure("megabytes of text per second, scikit-learn", size / 1e6 / seconds["scikit-learn"]),
    ]
    if not quick:  # a short text is a single block, which grows with it
        for name, (few, many) in memory.items():
            figures += [
                Figure(f"peak memory in megabytes, {name}", sum(few) / 1e6),
                Figure(
                    f"peak at 4 times the text, over it: {name}",
                    sum(many) / sum(few),
                    limits["memory_growth"],
                ),
            ]
        details = {
            "text_bytes": size,
            "jobs": JOBS,
            "seconds": seconds,
            "processor_seconds": processor,
            "peak_bytes": memory,
            "peak_bytes_are": f"at {TIMES} times the text: of the process above its start, of its workers",
        }
        say(f"written: {save('reading', figures, details).name}")
    return judge(figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 MB of the text; nothing is saved")
    return parser.parse_args()


def texts(folder: Path, quick: bool) -> list[Path]:
    """The text once; and a few times and many times, but for a quick look."""
    source = datasets.find(DATA)
    if source is None:
        sys.exit(f"{DATA} is not here: SPARSEBAYES_DATA must name the folder that holds {DATA}.svm.bz2.")
    with bz2.open(source) as file:
        text = file.read(QUICK_BYTES if quick else -1)
    text = text[: text.rfind(b"\n") + 1]
    paths = []
    for times in (1,) if quick else (1, *TIMES):
        paths.append(folder / f"{times}.svm")
        with open(paths[-1], "wb") as file:
            for _ in range(times):
                file.write(text)
    return paths


def reading_seconds(path: Path, folder: Path) -> dict[str, float]:
    return interleaved_minima(
        {
            "scikit-learn": lambda: load_svmlight_file(str(path)),
            "store, threads": lambda: convert(path, folder, NEVER, JOBS),
            "store, processes": lambda: convert(path, folder, ALWAYS, JOBS),
            "store, 1 thread": lambda: convert(path, folder, NEVER, 1),
            "memory, 1 thread": lambda: read_svmlight(path, n_jobs=1),
            "memory, threads": lambda: read_svmlight(path, n_jobs=JOBS),
        },
        REPEATS,
    )


def processor_seconds(path: Path, folder: Path) -> dict[str, float]:
    """Least of three; two idle cores could do in half of it."""
    actions: dict[str, Callable[[], object]] = {
        "scikit-learn": lambda: load_svmlight_file(str(path)),
        "store": lambda: convert(path, folder, NEVER, JOBS),
        "memory": lambda: read_svmlight(path, n_jobs=JOBS),
    }
    least = dict.fromkeys(actions, float("inf"))
    for name, action in [*actions.items()] * 3:
        start = time.process_time()
        action()
        least[name] = min(least[name], time.process_time() - start)
    return least


def convert(path: Path, folder: Path, bytes_for_processes: int, jobs: int) -> BlockStore:
    svmlight.BYTES_FOR_PROCESSES = bytes_for_processes
    shutil.rmtree(folder / "store", ignore_errors=True)
    return convert_svmlight(path, folder / "store", n_jobs=jobs)


def check(path: Path, folder: Path) -> None:
    """All three give the same bits."""
    X, y = load_svmlight_file(str(path), zero_based=False)
    store = convert(path, folder, NEVER, JOBS)
    for found, labels in ((store.to_csr(), store.y), read_svmlight(path)):
        same = all((getattr(found, name) == getattr(X, name)).all() for name in ("data", "indices", "indptr"))
        if not same or not (labels == y).all():
            sys.exit("The readers disagree.")


def peak(path: Path, bytes_for_processes: int) -> tuple[int, int]:
    """Bytes that a conversion takes in this process, and that its workers took in all."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        # What is imported or started once is not the conversion's.
        (Path(name) / "tiny.svm").write_bytes(b"1 1:1\n")
        convert(Path(name) / "tiny.svm", Path(name), NEVER, JOBS)
        _, growth = peak_rss(lambda: convert(path, Path(name), bytes_for_processes, JOBS))
        return growth, children_peak_bytes()


if __name__ == "__main__":
    sys.exit(main())
