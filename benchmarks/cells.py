"""Six data sets of the paper's Table II with its four nonlinear models and its protocol.

Five-fold cross-validation over the paper's grid, the best mean validation accuracy reported: the same folds
choose and report, as in the paper, so that the number is optimistic. A cell holds where it lies within one of
the paper's standard deviations of its mean. RVM: kernel exp(-||a - b||^2 / sigma^2), sigma = 2^-5 ... 2^5.
SBELM: sigmoid, seeds 1 to 5. Features are scaled to [-1, 1] by LIBSVM's own files (colon-cancer: as LIBSVM
has it).

Run ``python -m benchmarks.cells [--sets iris.scale,wine.scale]`` with ``SPARSEBAYES_DATA`` set; 20 minutes on
two cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import Figure, judge, read, save, say, thresholds
from sparsebayes import RVMClassifier, SBELMClassifier

# arXiv 2107.08195, Table II: mean and standard deviation of the accuracy in percent.
PAPER = {
    "breast-cancer_scale": [(96.94, 1.47), (97.35, 1.26), (96.91, 1.35), (96.78, 0.97)],
    "diabetes_scale": [(75.91, 1.72), (78.13, 1.05), (76.31, 2.08), (78.26, 2.05)],
    "german.numer_scale": [(75.30, 3.47), (76.70, 3.44), (76.60, 3.45), (76.60, 3.93)],
    "colon-cancer": [(77.86, 8.40), (79.52, 8.52), (85.95, 10.66), (76.19, 11.45)],
    "iris.scale": [(95.33, 3.80), (96.67, 3.33), (97.33, 2.79), (97.33, 4.35)],
    "wine.scale": [(96.58, 2.51), (98.35, 2.58), (97.06, 5.09), (97.87, 2.94)],
}
MODELS = ["DQN-RVM", "RVM", "DQN-SBELM", "SBELM"]
SIGMAS = [2.0**k for k in range(-5, 6)]
SEEDS = range(1, 6)
FEW_FEATURES = 100


def grid(model: str, n_features: int) -> list[Any]:
    solver = "dqn" if model.startswith("DQN") else "newton"
    if model.endswith("RVM"):
        return [RVMClassifier(gamma=1.0 / sigma**2, solver=solver) for sigma in SIGMAS]
    sizes = (50, 100, 150, 200) if n_features < FEW_FEATURES else (100, 500, 900, 1300)
    return [SBELMClassifier(n, solver=solver, random_state=seed) for n in sizes for seed in SEEDS]


def name_of(classifier: Any) -> dict[str, float]:
    if isinstance(classifier, RVMClassifier):
        return {"sigma": classifier.gamma**-0.5}
    return {"n_hidden": classifier.n_hidden, "seed": classifier.random_state}


def fold(classifier: Any, X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """Accuracy, kept functions a binary problem, seconds; or the error that the fit ended with."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Neither method meets its own stop within the paper's 100 iterations as a rule.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            classifier.fit(X[train], y[train])
        except ValueError as error:
            return {"error": str(error)}
    seconds = time.perf_counter() - start
    kept = float(classifier.n_relevant_.mean())
    return {"accuracy": 100 * classifier.score(X[test], y[test]), "kept": kept, "seconds": seconds}


def cell(model: str, X: Any, y: Any) -> dict[str, Any]:
    """The best point of the grid, and how many of its fits failed."""
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    points = grid(model, X.shape[1])
    jobs = (delayed(fold)(point, X, y, *split) for point in points for split in splits)
    results = Parallel(n_jobs=-1)(jobs)
    best: dict[str, Any] = {"accuracy": -np.inf}
    failed = sum("error" in result for result in results)
    for k, point in enumerate(points):
        folds = results[5 * k : 5 * k + 5]
        if any("error" in result for result in folds):
            continue
        accuracies = [result["accuracy"] for result in folds]
        if np.mean(accuracies) > best["accuracy"]:
            best = {
                "accuracy": float(np.mean(accuracies)),
                "std": float(np.std(accuracies, ddof=1)),
                "kept": float(np.mean([result["kept"] for result in folds])),
                **name_of(point),
            }
    grid_seconds = sum(result.get("seconds", 0.0) for result in results)
    return best | {"failed_fits": failed, "fits": len(results), "grid_seconds": grid_seconds}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cells", description=__doc__)
    parser.add_argument(
        "--sets", default=",".join(PAPER), help="comma-separated; all are saved, a part is not"
    )
    sets = parser.parse_args().sets.split(",")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the fits run side by side
    cells = []
    for data in sets:
        X, y = read(data)
        X = X.toarray()
        for model, (mean, std) in zip(MODELS, PAPER[data], strict=True):
            ours = cell(model, X, y)
            holds = abs(ours["accuracy"] - mean) <= std
            cells.append(
                {"data": data, "model": model, "paper": mean, "paper_std": std, "holds": holds, **ours}
            )
            say(
                f"{data:20} {model:10} paper {mean:.2f} ± {std:.2f}  ours {ours['accuracy']:.2f} ± "
                f"{ours['std']:.2f}  kept {ours['kept']:.1f}  failed fits {ours['failed_fits']} of "
                f"{ours['fits']}{'' if holds else '  MISS'}"
            )
    held = sum(each["holds"] for each in cells)
    limit = thresholds("cells")["held"] if sets == list(PAPER) else None
    figures = [Figure(f"cells of {len(cells)} within one standard deviation", held, limit, "at least")]
    if sets == list(PAPER):
        say(f"written: {save('cells', figures, {'cells': cells}).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
