"""Accuracy at equal size on wide sets: the path of solver="elimination" against l1, l2 and others.

75/25 stratified splits, five seeds, twenty for sets under 1000 rows; one on the three largest sets for skglm,
celer, LightGBM and for liblinear's C by folds, which have no part in the verdicts. LR-l1 and LR-l2 are
liblinear's at six C each, on the features as given. ``-cv`` models choose their C, or their point of the
path, by five folds.

Run ``python -m benchmarks.rivals.wide [--sets a,b] [--models a,b] [--seeds n] [--limit s] [--again]
[--judge-only]`` with ``SPARSEBAYES_DATA`` set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks.common import judge, read, save, say, thresholds
from benchmarks.rivals import adapters
from benchmarks.rivals.records import Cells, Record, rounded, run
from benchmarks.rivals.verdicts import summary, verdicts

# Seeds: at least five, twenty under 1000 rows.
SETS = {
    "news20.binary": 5,
    "sub_imdb_train": 5,
    "sub_reuters21578_corp": 5,
    "rcv1_vw_sample": 5,
    "url_sample": 5,
    "colon-cancer": 20,
}
CELLS = Cells("wide")
JUDGED = ("lr-l1", "lr-l2", "sbl", "sbl-cv")
ORIENTATION = ("lr-l1-cv", "lr-l2-cv", "skglm", "celer", "lightgbm")
COSTLY = ("news20.binary", "sub_imdb_train", "url_sample")


def n_seeds(data: str, model: str) -> int:
    return 1 if model in ORIENTATION and data in COSTLY else SETS[data]


def scored(model: str, split: list[Any]) -> Iterator[Record]:
    X_train, X_test, y_train, y_test = split
    for point in adapters.MODELS[model].adapter(X_train, y_train, X_test):
        p = point.probabilities
        yield {
            "n": point.n_features,
            "acc": round(100 * float(np.mean((p > 0.5) == y_test)), 3),
            "ll": rounded(log_loss(y_test, p)),
            "s": rounded(point.seconds),
            **point.notes,
        }


def run_set(data: str, models: list[str], seeds: int | None, limit: float, again: bool) -> None:
    X, labels = read(data)
    y = (labels == labels.max()).astype(int)
    warm = set()
    wanted = {model: seeds or n_seeds(data, model) for model in models}
    for seed in range(max(wanted.values())):
        missing = [
            model
            for model in models
            if seed < wanted[model] and (again or seed not in CELLS.read(data, model))
        ]
        if not missing:
            continue
        split = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
        for model in missing:
            known = adapters.MODELS[model]
            if known.compiles and model not in warm:
                known.warm_up(split[0], split[2])
                warm.add(model)
            run(
                CELLS,
                data,
                model,
                seed,
                lambda model=model, split=split: scored(model, split),
                limit=limit,
                packages=known.packages,
                again=again,
            )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.wide", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated")
    parser.add_argument(
        "--models", default=",".join((*JUDGED, *ORIENTATION)), help=f"of {', '.join(adapters.MODELS)}"
    )
    parser.add_argument("--seeds", type=int, help="so many for all models")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds a cell")
    parser.add_argument("--again", action="store_true", help="run cells that have a record too")
    parser.add_argument("--judge-only", action="store_true", help="run nothing")
    parser.add_argument("--path", default="sbl", help="the model whose path is judged")
    parser.add_argument("--chosen", default="sbl-cv", help="the model whose one point is judged")
    options = parser.parse_args()
    if not options.judge_only:
        for data in options.sets.split(","):
            say(f"== {data}")
            run_set(data, options.models.split(","), options.seeds, options.limit, options.again)
    figures, table = verdicts(CELLS, SETS, options.path, options.chosen, thresholds("rivals"))
    if (options.path, options.chosen) == ("sbl", "sbl-cv"):
        grids = {"l1_C": adapters.L1_C, "l2_C": adapters.L2_C}
        details = grids | {"against_l1": table, "models": summary(CELLS, SETS, list(adapters.MODELS))}
        say(f"written: {save('rivals/wide', figures, details).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
