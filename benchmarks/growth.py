"""Time per outer iteration and peak memory of dqn, against the nonzeros and against the features.

Three families of generated sparse matrices, all like text: some features in many rows, most in few.

rows
    More samples of the same kind: 1e5 features, 100 nonzeros a row, ever more rows.
    This is growth in nnz alone, the number M of features standing still.
width
    The same 1e7 nonzeros spread over ever more features, down to one nonzero each.
    This is growth in M alone.
features
    More features of the same kind: 20 000 rows, 10 nonzeros a feature, ever more features.
    Both grow.

On the way up all of them take the step from cache to memory, which costs one thread a factor of 1.4
between 36 MB and 120 MB on the machine this was written on. From 2^24 nonzeros on a fit uses all cores;
before it did, the slope against rows was 1.07 and against features 1.10 (2026-11-15). Beside ours stands the
slope of scipy's CSR products in the same run.

Run ``python -m benchmarks.growth [--quick]``.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.common import (
    RESULTS,
    Figure,
    fresh_process,
    interleaved_minima,
    judge,
    peak_rss,
    save,
    say,
    thresholds,
)
from sparsebayes import SBLClassifier

OUTER_ITERATIONS = 2
STEPS = 20  # the paper allows 100
ROUNDS = 3
ROUND_SECONDS = 1.0  # for a size, at least
QUICK_NONZEROS = 1_000_000
CHUNK = 1 << 22  # entries generated at a time


@dataclass(frozen=True, slots=True)
class Size:
    n_rows: int
    n_features: int
    per_row: int

    @property
    def nonzeros(self) -> int:
        return self.n_rows * self.per_row


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    variable: str  # the field of a Point that grows
    label: str
    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Point:
    nonzeros: int
    n_rows: int
    n_features: int
    n_active: list[int]  # after each outer iteration
    phases: list[dict[str, float]]  # seconds of each outer iteration, of the fit quickest in it
    peak_bytes: int
    fits: int
    csr_seconds: float  # scipy's X w and X^T r on the CSR as given: what the machine makes of this size

    @property
    def seconds(self) -> float:
        """Of an outer iteration, on average over them."""
        return sum(total(phases) for phases in self.phases) / len(self.phases)


FAMILIES = (
    Family(
        "rows",
        "nonzeros",
        "nonzeros (100 000 features)",
        tuple(Size(n, 100_000, 100) for n in (1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    ),
    Family(
        "width",
        "n_features",
        "features M (1e7 nonzeros in all, 100 000 rows)",
        tuple(Size(100_000, m, 100) for m in (10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)),
    ),
    Family(
        "features",
        "n_features",
        "features M (10 nonzeros each, 20 000 rows)",
        tuple(
            Size(20_000, m, m // 2_000) for m in (10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
        ),
    ),
)
QUANTITIES = {"seconds": "time per outer iteration", "peak_bytes": "peak memory"}
REFERENCE = {"csr_seconds": "scipy's CSR products"}  # for comparison: it has no limit and is not drawn


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1e6 nonzeros, no limits, nothing saved")
    quick = parser.parse_args().quick
    families = [family for family in FAMILIES if not quick or family.sizes[0].nonzeros <= QUICK_NONZEROS]
    points = {family.name: measured(family, quick) for family in families}
    limit = None if quick else thresholds("growth")["slope"]
    slopes = {
        (family.name, quantity): top_slope(points[family.name], family.variable, quantity)
        for family in families
        for quantity in QUANTITIES | REFERENCE
    }
    figures = [
        Figure(
            f"slope of {label}, more {family.name}",
            slopes[family.name, quantity],
            limit if quantity in QUANTITIES else None,
        )
        for family in families
        for quantity, label in (QUANTITIES | REFERENCE).items()
    ]
    if not quick:
        details = {
            "families": {family.name: family.label for family in FAMILIES},
            "outer_iterations": OUTER_ITERATIONS,
            "steps_per_outer_iteration": STEPS,
            "points": {
                name: [asdict(point) | {"seconds": point.seconds} for point in row]
                for name, row in points.items()
            },
        }
        say(f"written: {save('growth', figures, details).name}")
        plot(points, slopes)
    return judge(figures)


def measured(family: Family, quick: bool) -> list[Point]:
    """All sizes, each in a process of its own that keeps its data; timed in rounds, so that a busy
    spell of the machine hits all sizes alike.
    """
    sizes = [size for size in family.sizes if not quick or size.nonzeros <= QUICK_NONZEROS]
    with ExitStack() as stack:
        workers = [stack.enter_context(fresh_process()) for _ in sizes]
        points = [worker.submit(prepare, size).result() for worker, size in zip(workers, sizes, strict=True)]
        say(f"more {family.name}: data made and memory measured, nnz up to {points[-1].nonzeros:.3g}")
        for k in range(ROUNDS):
            points = [
                worker.submit(time_again, point).result()
                for worker, point in zip(workers, points, strict=True)
            ]
            slope = top_slope(points, family.variable, "seconds")
            say(f"more {family.name}: round {k + 1} of {ROUNDS}, slope of time so far {slope:.3f}")
    for point in points:
        say(
            f"  nnz {point.nonzeros:.3g}, M {point.n_features:.3g}: {point.seconds:.4g} s an iteration, "
            f"{point.seconds / point.nonzeros * 1e9:.3g} ns a nonzero, {point.peak_bytes / 2**20:.4g} MiB"
        )
    return points


_kept: dict[str, Any] = {}  # a worker's data, from one round to the next


def prepare(size: Size) -> Point:
    """Make the worker's data; the peak memory of a first fit."""
    fit(*problem(Size(100, 100, 10)))  # imports and thread pools are the process's, not the fit's
    X, y = problem(size)
    _kept.update(X=X, y=y)
    history, peak = peak_rss(lambda: fit(X, y))
    return Point(
        nonzeros=int(X.nnz),
        n_rows=X.shape[0],
        n_features=X.shape[1],
        n_active=[record["n_active"] for record in history],
        phases=[record["seconds"] for record in history],
        peak_bytes=peak,
        fits=1,
        csr_seconds=csr_products(X),
    )


def time_again(point: Point) -> Point:
    """The point with the times of this round's fits, where they are less."""
    phases, fits = point.phases, point.fits
    start = time.perf_counter()
    while fits == point.fits or time.perf_counter() - start < ROUND_SECONDS:
        again = [record["seconds"] for record in fit(_kept["X"], _kept["y"])]
        phases = [min(pair, key=total) for pair in zip(phases, again, strict=True)]
        fits += 1
    csr_seconds = min(point.csr_seconds, csr_products(_kept["X"]))
    return replace(point, phases=phases, fits=fits, csr_seconds=csr_seconds)


def csr_products(X: Any) -> float:
    w, r = np.ones(X.shape[1]), np.ones(X.shape[0])
    return interleaved_minima({"products": lambda: (X @ w, X.T @ r)}, repeats=3)["products"]


def total(seconds: dict[str, float]) -> float:
    return sum(seconds.values())


def fit(X: Any, y: Any) -> list[Any]:
    """The records of a fit that makes the same number of steps at every size."""
    classifier = SBLClassifier(
        solver="dqn", max_iter=OUTER_ITERATIONS, tol=0.0, map_max_iter=STEPS, map_tol=1e-300
    )
    # One thread: a BLAS thread that waits for a core taken by others would be timed as growth.
    with warnings.catch_warnings(), threadpool_limits(1, "blas"):
        # A fit cut short says so, and is meant to be.
        warnings.simplefilter("ignore", ConvergenceWarning)
        history = classifier.fit(X, y).history_[0]
    steps = [record["map_steps"] for record in history]
    if steps != [STEPS] * OUTER_ITERATIONS:
        raise RuntimeError(f"A fit made {steps} steps where the comparison needs {STEPS} in each iteration.")
    return history


def problem(size: Size) -> tuple[Any, Any]:
    """A CSR matrix of about the given size, and labels that depend on it.

    Each row holds a few features dealt out in turn, so that none is empty, and others drawn with
    probability proportional to 1 / (rank + M / 1000); the shape of that law is the same at every M.
    """
    random = np.random.default_rng(0)
    n_rows, n_features = size.n_rows, size.n_features
    data = np.empty(size.nonzeros)
    indices = np.empty(size.nonzeros, dtype=np.int32)
    indptr = np.zeros(n_rows + 1, dtype=np.int32)
    dealt = min(math.ceil(n_features / n_rows), size.per_row)
    deck = random.permutation(n_features).astype(np.int32)
    height = max(CHUNK // size.per_row, 1)
    end = 0
    for start in range(0, n_rows, height):
        rows = min(height, n_rows - start)
        turn = (np.arange(start * dealt, (start + rows) * dealt) % n_features).reshape(rows, dealt)
        drawn = _heavy_tailed(random, n_features, (rows, size.per_row - dealt))
        entries = np.sort(np.hstack([deck[turn], drawn]), axis=1)
        distinct = np.ones(entries.shape, dtype=bool)
        np.not_equal(entries[:, 1:], entries[:, :-1], out=distinct[:, 1:])
        np.cumsum(distinct.sum(axis=1), out=indptr[start + 1 : start + rows + 1])
        indptr[start + 1 : start + rows + 1] += end
        begin, end = end, int(indptr[start + rows])
        indices[begin:end] = entries[distinct]
        data[begin:end] = random.uniform(0.5, 1.5, end - begin) / math.sqrt(size.per_row)
    X = sp.csr_matrix((data[:end], indices[:end], indptr), shape=(n_rows, n_features))
    margins = X @ random.standard_normal(n_features)
    return X, (margins > np.median(margins)).astype(float)


def _heavy_tailed(random: np.random.Generator, n_features: int, shape: tuple[int, int]) -> Any:
    """Ranks below ``n_features``, by inverting the distribution function of 1 / (rank + shift)."""
    shift = n_features / 1_000
    ranks = random.random(shape)
    ranks *= math.log((n_features + shift) / shift)
    np.exp(ranks, out=ranks)
    ranks -= 1.0
    ranks *= shift
    return np.minimum(ranks, n_features - 1).astype(np.int32)


def top_slope(points: list[Point], variable: str, quantity: str) -> float:
    """Least-squares slope of log quantity on log variable over the last two decades."""
    x = np.log10([getattr(point, variable) for point in points])
    y = np.log10([getattr(point, quantity) for point in points])
    # Sizes come out a little below round numbers, by the entries drawn twice.
    top = x >= x[-1] - 2.05
    return float(np.polyfit(x[top], y[top], 1)[0])


def plot(points: dict[str, list[Point]], slopes: dict[tuple[str, str], float]) -> None:
    """Write ``results/growth.svg``: a panel a family, time on the left axis and memory on the right."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(16, 4.4), layout="constrained")
    styles = {"seconds": ("C0", "o", 1.0, "s"), "peak_bytes": ("C1", "s", 2.0**-20, "MiB")}
    for family, panel in zip(FAMILIES, panels, strict=True):
        lines = []
        for (quantity, label), axis in zip(QUANTITIES.items(), (panel, panel.twinx()), strict=True):
            colour, marker, factor, unit = styles[quantity]
            lines += axis.loglog(
                [getattr(point, family.variable) for point in points[family.name]],
                [getattr(point, quantity) * factor for point in points[family.name]],
                color=colour,
                marker=marker,
                label=f"{label}: slope {slopes[family.name, quantity]:.2f}",
            )
            axis.set_ylabel(f"{label} ({unit})", color=colour)
            axis.tick_params(axis="y", which="both", colors=colour)
        panel.set_xlabel(family.label)
        panel.set_title(f"More {family.name}")
        panel.grid(alpha=0.3)
        panel.legend(handles=lines, loc="upper left", title="over the top two decades")
    figure.savefig(RESULTS / "growth.svg", metadata={"Date": None})
    pyplot.close(figure)
    say("written: growth.svg")


if __name__ == "__main__":
    sys.exit(main())
