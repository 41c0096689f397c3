"""RVMClassifier() and SVC with its grid on the paper's 13 small sets, by nested five-fold cross-validation.

The outer folds report; RVMClassifier() has nothing to choose, SVC chooses C and gamma on five inner folds
(satimage, usps: smaller grids on three). Beside them stand LightGBM as it comes, which has no part in the
verdicts, and the paper's DQN-RVM, whose folds choose and report alike. Vectors are counted a binary problem.
Features are those of LIBSVM's scaled files where there are any.

Run ``python -m benchmarks.rivals.small_kernels [--sets a,b] [--models rvm,svc,lightgbm] [--seeds n] [--again]
[--judge-only]`` with ``SPARSEBAYES_DATA`` set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import Figure, judge, read, save, say, thresholds
from benchmarks.rivals import kernel_adapters
from benchmarks.rivals.records import Cells, Record, finished, rounded, run, unfinished

# arXiv 2107.08195, Tables II and III: DQN-RVM's accuracy in percent and its vectors a binary problem.
PAPER = {
    "a1a": (75.39, 4.0),
    "colon-cancer": (77.86, 6.6),
    "breast-cancer_scale": (96.94, 4.0),
    "diabetes_scale": (75.91, 125.0),
    "german.numer_scale": (75.30, 190.2),
    "a2a": (81.64, 383.0),
    "madelon.t": (65.33, 480.0),
    "usps.binary": (99.82, 8.4),
    "iris.scale": (95.33, 3.67),
    "wine.scale": (96.58, 3.67),
    "segment.scale": (94.55, 32.81),
    "satimage.scale": (89.49, 131.8),
    "usps": (95.39, 119.69),
}
CELLS = Cells("small_kernels")
MODELS = ("rvm", "svc", "lightgbm")
N_FOLDS = 5
# C, and gamma in multiples of the median heuristic; inner folds.
SVC_GRID = ((0.1, 1.0, 10.0, 100.0, 1000.0), (0.0625, 0.25, 1.0, 4.0, 16.0), N_FOLDS)
SMALLER_GRIDS = {
    "satimage.scale": ((1.0, 10.0, 100.0), (1.0, 4.0, 16.0), 3),
    "usps": ((10.0, 100.0), (1.0, 4.0), 3),
}


def load(data: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = read(data)
    return X.toarray(), y


def adapter(model: str, data: str) -> kernel_adapters.KernelAdapter:
    if model == "rvm":
        return kernel_adapters.rvm
    if model == "svc":
        return kernel_adapters.svc(*SMALLER_GRIDS.get(data, SVC_GRID), None)
    return getattr(kernel_adapters, model)


def folds(model: str, data: str, X: np.ndarray, y: np.ndarray, seed: int) -> Iterator[Record]:
    fit = adapter(model, data)
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y):
        point = fit(X[train], y[train], X[test])
        yield {
            "n": rounded(point.vectors),
            "acc": round(100 * float(np.mean(point.predictions == y[test])), 3),
            "s": rounded(point.seconds),
            **dict(point.notes),
        }


def means(records: dict[int, Record]) -> dict[str, float] | None:
    """Over folds and seeds."""
    points = [point for each in finished(records).values() for point in each]
    if not points:
        return None
    return {name: float(np.mean([point[name] for point in points])) for name in ("acc", "n", "s")}


def verdicts(limits: dict[str, float]) -> tuple[list[Figure], list[dict[str, Any]]]:
    rows = []
    for data, (accuracy, vectors) in PAPER.items():
        of_models = {model: means(CELLS.read(data, model)) for model in MODELS}
        rows.append({"data": data, "paper": accuracy, "paper_vectors": vectors, **of_models})
    complete = [row for row in rows if row["rvm"]]
    figures = []
    if complete:
        whole = len(complete) == len(PAPER)
        accurate = sum(row["rvm"]["acc"] >= row["paper"] for row in complete)
        small = sum(row["rvm"]["n"] <= row["paper_vectors"] for row in complete)
        minutes = sum(N_FOLDS * row["rvm"]["s"] for row in complete) / 60
        figures += [
            Figure(
                f"sets of {len(complete)} at least as accurate as DQN-RVM",
                accurate,
                limits["paper_accuracy"] if whole else None,
                "at least",
            ),
            Figure(
                f"sets of {len(complete)} with at most its vectors",
                small,
                limits["paper_size"] if whole else None,
                "at least",
            ),
            Figure("minutes for one seed", minutes, limits["small_minutes"] if whole else None),
        ]
    both = [row for row in complete if row["svc"]]
    if both:
        gain = float(np.mean([row["rvm"]["acc"] - row["svc"]["acc"] for row in both]))
        limit = limits["svc_gain"] if len(both) == len(PAPER) else None
        figures.append(Figure(f"mean accuracy minus SVC's, {len(both)} sets", gain, limit, "at least"))
    failed = sum(unfinished(CELLS.read(data, "rvm")) for data in PAPER)
    figures += [
        Figure("sets without both models", len(PAPER) - len(both), limits["unfinished"]),
        Figure("cells of ours that failed or met the limit", failed, limits["unfinished"]),
    ]
    return figures, rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.small_kernels", description=__doc__)
    parser.add_argument("--sets", default=",".join(PAPER), help="comma-separated")
    parser.add_argument("--models", default=",".join(MODELS), help="also fastrvm, sklearn_rvm")
    parser.add_argument("--seeds", type=int, default=1, help="shuffles of the outer folds")
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds a cell")
    parser.add_argument("--again", action="store_true", help="run cells that have a record too")
    parser.add_argument("--judge-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    for data in [] if options.judge_only else options.sets.split(","):
        X, y = load(data)
        for seed in range(options.seeds):
            for model in options.models.split(","):
                run(
                    CELLS,
                    data,
                    model,
                    seed,
                    lambda model=model, seed=seed, data=data, X=X, y=y: folds(model, data, X, y, seed),
                    limit=options.limit,
                    again=options.again,
                    packages=("lightgbm",) if model == "lightgbm" else (),
                )
    figures, rows = verdicts(thresholds("rivals"))
    details = {"svc_grid": SVC_GRID, "svc_smaller_grids": SMALLER_GRIDS, "sets": rows}
    say(f"written: {save('rivals/small_kernels', figures, details).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
