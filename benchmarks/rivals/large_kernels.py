"""RVMClassifier() on generated rows by the hundred thousand: memory, growth, and SVC where SVC can follow.

The data are those of ``benchmarks.kernels``: 50 features, four of which carry a nonlinear function. 5000
other rows are for testing. SVC chooses C and gamma by three folds of 5000 of its 20 000 training rows.

Run ``python -m benchmarks.rivals.large_kernels [--sets generated-20000] [--models rvm,svc,lightgbm]
[--seeds n] [--again] [--judge-only]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.common import Figure, judge, peak_bytes, save, say, thresholds
from benchmarks.kernels import N_FEATURES, generated
from benchmarks.rivals import kernel_adapters
from benchmarks.rivals.records import Cells, Record, finished, rounded, run, unfinished
from benchmarks.rivals.verdicts import Paired, standard_error

CELLS = Cells("large_kernels")
ROWS = (20_000, 100_000, 500_000)
SVC_ROWS = 20_000
TEST_ROWS = 5000
SVC_GRID = ((0.3, 1.0, 3.0, 10.0, 30.0), (0.0625, 0.25, 1.0))
MODELS = {
    "rvm": kernel_adapters.rvm,
    "svc": kernel_adapters.svc(*SVC_GRID, 3, 5000),
    "lightgbm": kernel_adapters.lightgbm,
}


def scored(model: str, n_rows: int, seed: int) -> Iterator[Record]:
    """In a fork of a process without data; its memory is counted whole: interpreter, libraries, data, fit."""
    X, y = generated(n_rows, N_FEATURES, seed)
    X_test, y_test = generated(TEST_ROWS, N_FEATURES, 1000 + seed)
    point = MODELS[model](X, y, X_test)
    yield {
        "n": rounded(point.vectors),
        "acc": round(100 * float(np.mean(point.predictions == y_test)), 3),
        "s": rounded(point.seconds),
        "gb": rounded(peak_bytes() / 1e9),
        **dict(point.notes),
    }


def name_of(n_rows: int) -> str:
    return f"generated-{n_rows}"


def n_rows_of(name: str) -> int:
    return int(name.removeprefix("generated-"))


def points(model: str, n_rows: int) -> dict[int, Record]:
    return {seed: each[0] for seed, each in finished(CELLS.read(name_of(n_rows), model)).items()}


def verdicts(limits: dict[str, float]) -> tuple[list[Figure], dict[str, Any]]:
    ours = {n_rows: points("rvm", n_rows) for n_rows in ROWS}
    ours = {n_rows: each for n_rows, each in ours.items() if each}
    figures = []
    if len(ours) > 1:
        largest = max(ours)
        memory = max(point["gb"] for point in ours[largest].values())
        seconds = [min(point["s"] for point in each.values()) for each in ours.values()]
        slope = float(np.polyfit(np.log(list(ours)), np.log(seconds), 1)[0])
        whole = largest == max(ROWS)
        figures += [
            Figure(f"peak GB at {largest} rows", memory, limits["large_gigabytes"] if whole else None),
            Figure("slope of time against rows", slope, limits["large_slope"] if whole else None),
        ]
    svc = points("svc", SVC_ROWS)
    seeds = sorted(svc.keys() & ours.get(SVC_ROWS, {}).keys())
    if seeds:
        mine = ours[SVC_ROWS]
        gain = Paired.of([mine[seed]["acc"] - svc[seed]["acc"] for seed in seeds])
        ratio = float(np.mean([svc[seed]["n"] / mine[seed]["n"] for seed in seeds]))
        figures += [
            Figure(f"accuracy minus SVC's, {SVC_ROWS} rows", gain.mean, limits["large_svc_gain"], "at least"),
            *standard_error("SVC", gain),
            Figure("SVC's vectors over ours", ratio, limits["large_svc_size"], "at least"),
        ]
    failed = sum(unfinished(CELLS.read(name_of(n_rows), "rvm")) for n_rows in ROWS)
    missing = len(ROWS) - len(ours) + (not seeds)
    figures += [
        Figure("sizes, or SVC, that have no record", missing, limits["unfinished"]),
        Figure("cells of ours that failed or met the limit", failed, limits["unfinished"]),
    ]
    table = {f"{name_of(n)} {model}": list(points(model, n).values()) for n in ROWS for model in MODELS}
    return figures, {row: each for row, each in table.items() if each}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.large_kernels", description=__doc__)
    parser.add_argument("--sets", default=",".join(map(name_of, ROWS)), help="comma-separated")
    parser.add_argument("--models", default="rvm,svc", help=f"of {', '.join(MODELS)}; svc: 20 000 rows only")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds a cell")
    parser.add_argument("--again", action="store_true", help="run cells that have a record too")
    parser.add_argument("--judge-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    for n_rows in [] if options.judge_only else map(n_rows_of, options.sets.split(",")):
        for seed in range(options.seeds):
            for model in options.models.split(","):
                if model == "svc" and n_rows > SVC_ROWS:
                    continue
                run(
                    CELLS,
                    name_of(n_rows),
                    model,
                    seed,
                    lambda model=model, n_rows=n_rows, seed=seed: scored(model, n_rows, seed),
                    limit=options.limit,
                    packages=("lightgbm",) if model == "lightgbm" else (),
                    again=options.again,
                )
    figures, table = verdicts(thresholds("rivals"))
    say(f"written: {save('rivals/large_kernels', figures, {'svc_grid': SVC_GRID, 'cells': table}).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
