"""RVMClassifier() against the RVM packages, each as it comes, on the same standardised splits.

75/25 stratified splits, twenty seeds under 1000 rows and five above; on every split the packages take turns,
and a fit under a second counts with the least of three. A package gets 300 seconds a fit; one that met them
on a set's first split is not asked again there.

Seconds compare within one run: after a change of ours, all three run ``--again``.

Run ``python -m benchmarks.rivals.rvm_packages [--sets a,b] [--models a,b] [--seeds n] [--again]
[--judge-only]`` with ``SPARSEBAYES_DATA`` set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.common import Figure, judge, read, save, say, thresholds
from benchmarks.rivals import kernel_adapters
from benchmarks.rivals.records import Cells, Record, finished, rounded, run, unfinished
from benchmarks.rivals.verdicts import Paired, standard_error

CELLS = Cells("rvm_packages")
SETS = ("breast_cancer", "german.numer", "make_classification")
MODELS = {
    "rvm": (kernel_adapters.rvm, ()),
    "fastrvm": (kernel_adapters.fastrvm, ("fastrvm",)),
    "sklearn_rvm": (kernel_adapters.sklearn_rvm, ("sklearn-rvm",)),
}
FEW_ROWS = 1000


def load(data: str) -> tuple[np.ndarray, np.ndarray]:
    if data == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    if data == "make_classification":
        return make_classification(2000, 50, n_informative=10, random_state=0)
    X, labels = read(data)
    return X.toarray(), (labels == labels.max()).astype(int)


def scored(model: str, X: np.ndarray, y: np.ndarray, seed: int) -> Iterator[Record]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    point = MODELS[model][0](scaler.transform(X_train), y_train, scaler.transform(X_test))
    yield {
        "n": rounded(point.vectors),
        "acc": round(100 * float(np.mean(point.predictions == y_test)), 3),
        "ll": rounded(log_loss(y_test, point.probabilities)),
        "s": rounded(point.seconds),
    }


def run_set(data: str, models: list[str], seeds: int | None, limit: float, again: bool) -> None:
    X, y = load(data)
    default = 20 if len(X) < FEW_ROWS else 5
    for seed in range(default if seeds is None else seeds):
        for model in models:
            first = CELLS.read(data, model).get(0)
            if seed and first and first["status"] == "limit":
                continue
            run(
                CELLS,
                data,
                model,
                seed,
                lambda model=model, seed=seed: scored(model, X, y, seed),
                limit=limit,
                packages=MODELS[model][1],
                again=again,
            )


def verdicts(limits: dict[str, float]) -> list[Figure]:
    figures, failed, missing = [], 0, 0
    for data in SETS:
        failed += unfinished(CELLS.read(data, "rvm"))
        ours = finished(CELLS.read(data, "rvm"))
        for model in ("fastrvm", "sklearn_rvm"):
            records = CELLS.read(data, model)
            theirs = finished(records)
            name = f"{data}, {model}"
            if unfinished(records):
                figures.append(Figure(f"{name}: cells that failed or met the limit", unfinished(records)))
            seeds = sorted(ours.keys() & theirs.keys())
            # A package that was given its chance and used up its time has its record.
            missing += not seeds and not unfinished(records)
            if not seeds:
                continue
            # All splits count, each with its least: fastrvm takes ten times as long on one as on another.
            seconds = [[each[seed][0]["s"] for seed in seeds] for each in (theirs, ours)]
            gain = Paired.of([ours[seed][0]["acc"] - theirs[seed][0]["acc"] for seed in seeds])
            loss = Paired.of([ours[seed][0]["ll"] - theirs[seed][0]["ll"] for seed in seeds])
            figures += [
                Figure(
                    f"{name}: its seconds over ours",
                    sum(seconds[0]) / sum(seconds[1]),
                    limits["rvm_speed"],
                    "at least",
                ),
                Figure(f"{name}: its quickest split over our quickest", min(seconds[0]) / min(seconds[1])),
                Figure(f"{name}: accuracy minus its", gain.mean, limits["rvm_gain"], "at least"),
                *standard_error(name, gain),
                Figure(f"{name}: log loss minus its", loss.mean, limits["rvm_log_loss"]),
                *standard_error(name, loss),
            ]
    figures += [
        Figure("sets and packages without a record beside ours", missing, limits["unfinished"]),
        Figure("cells of ours that failed or met the limit", failed, limits["unfinished"]),
    ]
    return figures


def table() -> dict[str, dict[str, float]]:
    rows = {}
    for data in SETS:
        for model in MODELS:
            points = [each[0] for each in finished(CELLS.read(data, model)).values()]
            if points:
                row = {
                    name: rounded(np.mean([point[name] for point in points]))
                    for name in ("n", "acc", "ll", "s")
                }
                rows[f"{data} {model}"] = row
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.rvm_packages", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated")
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated")
    parser.add_argument("--seeds", type=int, help="so many instead of 5 (20 under 1000 rows)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a cell")
    parser.add_argument("--again", action="store_true", help="run cells that have a record too")
    parser.add_argument("--judge-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    for data in [] if options.judge_only else options.sets.split(","):
        run_set(data, options.models.split(","), options.seeds, options.limit, options.again)
    figures = verdicts(thresholds("rivals"))
    details = {"limit_seconds": options.limit, "means": table()}
    say(f"written: {save('rivals/rvm_packages', figures, details).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
