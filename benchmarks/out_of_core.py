"""Data of url_combined's size, from text to a store to a model, in memory that they would not fit into.

The rows are generated: 2 396 130 of 3 231 961 features with 277 million entries, each row's features drawn by
the popularity that they have in url_sample (those it never has share what its singletons let expect), all
values 1, labels by a sparse weight vector on popular features. 50 000 rows more are held out.

A product is compared with reading the blocks once in two ways: from the disk, which is where data larger than
memory come from, the system's cache being emptied of them before each; and from that cache.

Run ``python -m benchmarks.out_of_core [--rows N] [--folder DIR]`` with ``SPARSEBAYES_DATA`` set; all rows
need 10 GB of disk and the better part of an hour. A part of the rows is not saved.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import (
    Figure,
    children_peak_bytes,
    in_fresh_process,
    judge,
    peak_bytes,
    read,
    save,
    say,
    thresholds,
)
from sparsebayes import SBLClassifier
from sparsebayes.io import BlockStore, convert_svmlight

DATA = "url_sample"
N_ROWS, N_FEATURES, N_ENTRIES = 2_396_130, 3_231_961, 277_058_644
N_HELD_OUT = 50_000
N_TRUE = 300
ROWS_AT_ONCE = 20_000
REPEATS = 3
LARGEST_SHOWN = 200_000  # features of the path's points that are reported one by one


class Generator:
    """Rows whose features are as popular as those of url_sample."""

    def __init__(self, seed: int = 0) -> None:
        X, _ = read(DATA)
        counts = np.bincount(X.indices, minlength=N_FEATURES).astype(np.float64)
        # What is not in the sample has, by Good and Turing, the share of what is there once.
        unseen = counts == 0
        counts[unseen] = np.count_nonzero(counts == 1) / np.count_nonzero(unseen)
        self._edges = np.cumsum(counts) / counts.sum()
        self._rng = np.random.default_rng(seed)
        # Features of half the rows or of few decide nothing, or are not to be found.
        share = counts / X.shape[0]
        popular = np.flatnonzero((share > 0.002) & (share < 0.5))
        self.true = np.sort(self._rng.choice(popular, min(N_TRUE, len(popular)), replace=False))
        self.weights = np.zeros(N_FEATURES)
        self.weights[self.true] = self._rng.normal(0.0, 2.0, len(self.true))
        self._centre = float(share @ self.weights)

    def parts(self, n_rows: int, per_row: float) -> Iterator[tuple[Any, Any]]:
        """X and y, some rows at a time."""
        for start in range(0, n_rows, ROWS_AT_ONCE):
            height = min(ROWS_AT_ONCE, n_rows - start)
            lengths = self._rng.poisson(per_row, height)
            draws = self._rng.random(int(lengths.sum()))
            columns = np.minimum(np.searchsorted(self._edges, draws), N_FEATURES - 1)
            rows = np.repeat(np.arange(height), lengths)
            keys = np.unique(rows * np.int64(N_FEATURES) + columns)
            rows, columns = keys // N_FEATURES, (keys % N_FEATURES).astype(np.int32)
            indptr = np.searchsorted(rows, np.arange(height + 1)).astype(np.int32)
            ones = np.ones(len(columns), dtype=np.float32)
            X = sp.csr_matrix((ones, columns, indptr), shape=(height, N_FEATURES))
            margins = X @ self.weights - self._centre
            yield X, np.where(self._rng.random(height) < 1.0 / (1.0 + np.exp(-margins)), 1, -1)

    def draws_per_row(self) -> float:
        """So many that rows have the entries of url_combined's on average, repeated ones being one."""
        draws = per_row = N_ENTRIES / N_ROWS
        for _ in range(5):
            X, _ = next(self.parts(ROWS_AT_ONCE, draws))
            draws *= per_row / (X.nnz / ROWS_AT_ONCE)
        return draws


def write_text(path: Path, parts: Iterator[tuple[Any, Any]]) -> tuple[int, int]:
    """Rows and entries written."""
    tokens = [f"{column}:1" for column in range(1, N_FEATURES + 1)]
    n_rows = n_entries = 0
    with path.open("w") as file:
        for X, y in parts:
            columns, ends = X.indices.tolist(), X.indptr.tolist()
            for k, label in enumerate(y.tolist()):
                file.write(f"{label} ")
                file.write(" ".join([tokens[column] for column in columns[ends[k] : ends[k + 1]]]))
                file.write("\n")
            n_rows, n_entries = n_rows + len(y), n_entries + X.nnz
            if n_rows % (10 * ROWS_AT_ONCE) == 0:
                say(f"  {n_rows} rows written")
    return n_rows, n_entries


def generate(folder: str, n_rows: int) -> dict[str, Any]:
    generator = Generator()
    per_row = generator.draws_per_row()
    rows, entries = write_text(Path(folder) / "train.svm", generator.parts(n_rows, per_row))
    with BlockStore.create(Path(folder) / "test.store", dtype=np.float32) as writer:
        for X, y in generator.parts(N_HELD_OUT, per_row):
            writer.append(X, y)
    np.save(Path(folder) / "true.npy", generator.true)
    return {"rows": rows, "entries": entries, "text_bytes": (Path(folder) / "train.svm").stat().st_size}


def convert(folder: str) -> dict[str, Any]:
    start = time.perf_counter()
    text = Path(folder) / "train.svm"
    store = convert_svmlight(
        text, Path(folder) / "train.store", n_features=N_FEATURES, dtype=np.float32, n_jobs=2
    )
    seconds = time.perf_counter() - start
    peak = peak_bytes() + children_peak_bytes()  # so long a text is read by processes
    return {"seconds": seconds, "blocks": store.n_blocks, "peak_bytes": peak}


def read_all(store: BlockStore) -> None:
    """Bring every entry of the store into memory."""
    for number in range(store.n_blocks):
        X = store.matrix(number)
        for array in (X.data, X.indices, X.indptr):
            array.copy()


def drop_from_cache(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pass_seconds(folder: str) -> dict[str, float]:
    """Of reading all blocks and of the two products with X, all taking turns."""
    from sparsebayes.design import Here, as_design, rows_of

    path = Path(folder) / "train.store"
    store = BlockStore.open(path)
    design, _ = as_design(rows_of(store, Here(2)))
    w, r = np.ones(design.shape[1]), np.ones(design.shape[0])
    actions = {
        "reading": lambda: read_all(store),
        "matvec": lambda: design.matvec(w),
        "rmatvec": lambda: design.rmatvec(r),
    }
    least = {f"{name}, {place}": np.inf for name in actions for place in ("cache", "disk")}
    for _ in range(REPEATS):
        for name, action in actions.items():
            for place in ("disk", "cache"):
                if place == "disk":
                    drop_from_cache(path)
                start = time.perf_counter()
                action()
                least[f"{name}, {place}"] = min(least[f"{name}, {place}"], time.perf_counter() - start)
    return least


def fit(folder: str) -> dict[str, Any]:
    store, test = (BlockStore.open(Path(folder) / f"{name}.store") for name in ("train", "test"))
    start = time.perf_counter()
    clf = SBLClassifier(n_jobs=2, callbacks=[_progress]).fit(store)
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    true = np.load(Path(folder) / "true.npy")
    kept = clf.sparse_coef_.indices
    y = test.y
    sizes = [int(size) for size in clf.path_["n_relevant"] if 0 < size <= LARGEST_SHOWN]
    path = [_described(clf.at(n_features=size), true, test, y) for size in sizes]
    return {
        "seconds": seconds,
        "peak_bytes": peak,
        "status": clf.status_[0],
        "kept": len(kept),
        "true_found": len(np.intersect1d(kept, true)),
        "true": len(true),
        "path": path,
        "accuracy": float(np.mean(clf.predict(test) == y)),
        "majority": float(max(np.mean(y == label) for label in clf.classes_)),
        "passes": {
            verb: sum(record["passes"].get(verb, 0) for record in clf.history_[0])
            for verb in ("matvec", "rmatvec", "sq_rmatvec")
        },
    }


def _described(model: Any, true: Any, test: BlockStore, y: Any) -> dict[str, float]:
    """A point of the path."""
    kept = model.sparse_coef_.indices
    return {
        "kept": len(kept),
        "true_found": len(np.intersect1d(kept, true)),
        "accuracy": float(np.mean(model.predict(test) == y)),
    }


def _progress(progress: Any) -> None:
    record = progress.record
    seconds = sum(record["seconds"].values())
    say(f"  iteration {record['iteration']}: {record['n_active']} active, {seconds:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.out_of_core", description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--folder", help="where the data go, and stay; a temporary one if not given")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        return measure(arguments.folder, arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        return measure(folder, arguments.rows)


def measure(folder: str, n_rows: int) -> int:
    limits = thresholds("out_of_core")
    Path(folder).mkdir(parents=True, exist_ok=True)
    details: dict[str, Any] = {}
    stages = {"generate": generate, "convert": convert, "passes": pass_seconds, "fit": fit}
    for name, stage in stages.items():
        done = Path(folder) / f"{name}.json"
        if not done.exists():  # a folder that was given is gone on with
            say(name)
            found = in_fresh_process(stage, folder, *([n_rows] if name == "generate" else []))
            done.write_text(json.dumps(found))
        details[name] = json.loads(done.read_text())
        say(f"  {details[name]}")
    passes, fitted = details["passes"], details["fit"]
    figures = [
        Figure("peak RSS of convert, GB", details["convert"]["peak_bytes"] / 1e9, limits["gigabytes"]),
        Figure("peak RSS of the fit, GB", fitted["peak_bytes"] / 1e9, limits["gigabytes"]),
        *(
            Figure(
                f"{product} over reading the blocks once, from the {place}",
                passes[f"{verb}, {place}"] / passes[f"reading, {place}"],
                limits["pass_time"] if place == "disk" else None,
            )
            for place in ("disk", "cache")
            for product, verb in (("X w", "matvec"), ("X^T r", "rmatvec"))
        ),
        Figure("held-out accuracy", fitted["accuracy"]),
        Figure("the larger class's share", fitted["majority"]),
        Figure("true features found, share", fitted["true_found"] / fitted["true"]),
        Figure("features kept", fitted["kept"]),
        Figure(
            "true features found by the path's point of about as many, share",
            min(fitted["path"], key=lambda point: abs(point["kept"] - fitted["true"]))["true_found"]
            / fitted["true"],
        ),
    ]
    if n_rows == N_ROWS:
        say(f"written: {save('out_of_core', figures, details).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
