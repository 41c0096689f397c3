"""The judge of the wide sets: it knows points of size, accuracy and log loss, and no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import Figure
from benchmarks.rivals.records import Cells, Record, finished, rounded, unfinished

Points = dict[int, list[Record]]  # by seed
FEW_POINTS = 6  # of a grid, each of which is shown


@dataclass(frozen=True, slots=True)
class Paired:
    """A difference over seeds, NaN where a seed has none."""

    mean: float
    error: float

    @classmethod
    def of(cls, differences: Any) -> Paired:
        known = np.asarray(differences, dtype=float)
        known = known[np.isfinite(known)]
        if not len(known):
            return cls(np.nan, np.nan)
        error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else np.nan
        return cls(float(known.mean()), float(error))


def at_size(path: list[Record], n_features: int, field: str) -> float:
    """Piecewise linear in the logarithm of the size; NaN outside the path's range, and at no feature."""
    sizes, first = np.unique([point["n"] for point in path if point["n"] > 0], return_index=True)
    if not len(sizes) or not sizes[0] <= n_features <= sizes[-1]:
        return np.nan
    values = np.array([point[field] for point in path if point["n"] > 0])[first]
    return float(np.interp(np.log(n_features), np.log(sizes), values))


def differences(path: Points, reference: Points, field: str) -> np.ndarray:
    """Path minus reference at the reference's sizes: a row a seed that both have, a column a point."""
    seeds = sorted(path.keys() & reference.keys())
    return np.array(
        [
            [at_size(path[seed], point["n"], field) - point[field] for point in reference[seed]]
            for seed in seeds
        ]
    )


def average_row(rows: np.ndarray) -> np.ndarray:
    """Of each row what is known of it."""
    known = np.isfinite(rows)
    sums, counts = np.where(known, rows, 0.0).sum(axis=1), known.sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(rows), np.nan), where=counts > 0)


def best_point(reference: Points, seeds: list[int]) -> int:
    """The column of the best mean accuracy on the test rows: a choice that favours the reference."""
    if len({tuple(point.get("C") for point in reference[seed]) for seed in seeds}) > 1:
        raise ValueError("The seeds' records are of different grids of C: run the model --again.")
    return int(np.mean([[point["acc"] for point in reference[seed]] for seed in seeds], axis=0).argmax())


def standard_error(name: str, difference: Paired) -> list[Figure]:
    """Nothing where there was one seed."""
    if np.isnan(difference.error):
        return []
    return [Figure(f"{name}: paired standard error of that", difference.error)]


def against_l1(path: Points, l1: Points) -> dict[str, Any]:
    gains, losses = differences(path, l1, "acc"), differences(path, l1, "ll")
    seeds = sorted(path.keys() & l1.keys())
    sizes = np.mean([[point["n"] for point in l1[seed]] for seed in seeds], axis=0)
    columns = [Paired.of(column) for column in gains.T]
    return {
        "seeds": len(seeds),
        "gain": Paired.of(average_row(gains)),
        "log_loss": Paired.of(average_row(losses)),
        "pairs": columns,
        "sizes": [
            {
                "n": round(float(size)),
                "seeds": int(np.isfinite(gain).sum()),
                "gain": rounded(pair.mean),
                "se": rounded(pair.error),
                "ll": rounded(Paired.of(loss).mean),
            }
            for size, gain, loss, pair in zip(sizes, gains.T, losses.T, columns, strict=True)
        ],
    }


def worst_margin(pairs: list[Paired], dip: float) -> float:
    """How far the worst size is inside what it may lie below; negative: too far below."""
    # One seed has no standard error: then the fixed allowance stands alone.
    margins = [pair.mean + max(dip, float(np.nan_to_num(pair.error))) for pair in pairs]
    return float(np.nanmin(margins))


def against_l2(chosen: Points, l2: Points) -> tuple[Paired, float]:
    """Accuracy minus l2's at its best C, and the size over its size."""
    seeds = sorted(chosen.keys() & l2.keys())
    best = best_point(l2, seeds)
    gain = Paired.of([chosen[seed][0]["acc"] - l2[seed][best]["acc"] for seed in seeds])
    size = np.mean([chosen[seed][0]["n"] / l2[seed][best]["n"] for seed in seeds])
    return gain, float(size)


def verdicts(
    cells: Cells, sets: dict[str, int], path_model: str, chosen_model: str, limits: dict[str, float]
) -> tuple[list[Figure], dict[str, Any]]:
    """Figures of all sets that have records, and the table behind them; sets with the seeds they should have.

    What is not there yet is a miss of its own, so that no part of the records passes for the whole.
    """
    table: dict[str, Any] = {}
    figures: list[Figure] = []
    failed = missing = 0
    for data, seeds in sets.items():
        ours, chosen = cells.read(data, path_model), cells.read(data, chosen_model)
        l1, l2 = finished(cells.read(data, "lr-l1")), finished(cells.read(data, "lr-l2"))
        failed += unfinished(ours) + unfinished(chosen)
        missing += max(0, seeds - len(finished(ours).keys() & l1.keys()))
        missing += max(0, seeds - len(finished(chosen).keys() & l2.keys()))
        if finished(ours).keys() & l1.keys():
            row = against_l1(finished(ours), l1)
            gain, loss = row.pop("gain"), row.pop("log_loss")
            margin = worst_margin(row.pop("pairs"), limits["l1_dip"])
            table[data] = row | {"gain": gain.mean, "se": rounded(gain.error), "log_loss": loss.mean}
            figures += [
                Figure(f"{data}: points above LR-l1 at its sizes", gain.mean),
                *standard_error(data, gain),
                Figure(f"{data}: worst size, points within the dip allowed", margin, 0.0, "at least"),
                Figure(f"{data}: log loss minus LR-l1's", loss.mean),
            ]
        if finished(chosen).keys() & l2.keys():
            gain, size = against_l2(finished(chosen), l2)
            figures += [
                Figure(f"{data}: five-fold point minus LR-l2", gain.mean, limits["l2_gain"], "at least"),
                Figure(f"{data}: its features over LR-l2's", size, limits["l2_size"]),
            ]
    if table:
        # Every set counts alike. A part of the sets has no verdict.
        whole = len(table) == len(sets)
        mean_gain = float(np.mean([row["gain"] for row in table.values()]))
        mean_loss = float(np.mean([row["log_loss"] for row in table.values()]))
        figures += [
            Figure(
                f"all {len(table)} sets: points above LR-l1 at its sizes",
                mean_gain,
                limits["l1_gain"] if whole else None,
                "at least",
            ),
            Figure(
                f"all {len(table)} sets: log loss minus LR-l1's",
                mean_loss,
                limits["l1_log_loss"] if whole else None,
            ),
        ]
    figures += [
        Figure("pairs of cells that are missing", missing, limits["unfinished"]),
        Figure("cells of ours that failed or met the limit", failed, limits["unfinished"]),
    ]
    return figures, table


def summary(cells: Cells, sets: dict[str, int], models: list[str]) -> dict[str, Any]:
    """Means over seeds at every C, for reading; of long paths the point best on the test rows alone."""
    rows: dict[str, Any] = {}
    for data in sets:
        for model in models:
            records = cells.read(data, model)
            done = finished(records)
            if not records:
                continue
            row: dict[str, Any] = {"seeds": len(done), "unfinished": unfinished(records)}
            lengths = {len(points) for points in done.values()}
            if len(lengths) == 1 and max(lengths) <= FEW_POINTS:
                for name in ("n", "acc", "ll", "s"):
                    values = np.array([[point[name] for point in points] for points in done.values()])
                    row[name] = [rounded(value) for value in values.mean(axis=0)]
            elif done:
                best = [max(points, key=lambda point: point["acc"]) for points in done.values()]
                row["best_on_test"] = {
                    name: rounded(np.mean([point[name] for point in best])) for name in ("n", "acc", "ll")
                }
            rows[f"{data} {model}"] = row
    return rows
