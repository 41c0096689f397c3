"""What a step of ``dqn`` costs on a Dask cluster: a model of it, its constants, and whether it holds.

With E entries, M weights, B blocks and W workers of one thread, a step takes about

    2 E x / W  +  5 B t  +  2 r  +  16 M (log2 W + 1) / b     seconds

- x, an entry in a product: X p and X^T r, shared by the workers.
- t, a task: of every block there are five. X p, the trial, its three numbers, X^T r, and the addition of the
  latter to that of a neighbour.
- r, a round: two waits for results.
- b, bytes a second: p goes to a worker and from workers to others, whose number doubles each time; sums of
  X^T r go the opposite way.

The constants are measured one by one, then steps on 1 to 4 workers, which share this machine's cores.
Run ``python -m benchmarks.cluster [--quick]``; it also writes its tables into docs/scaling.md. Workers are
processes on this machine, so that b is memory.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import Figure, judge, save, say, thresholds
from sparsebayes import SBLClassifier
from sparsebayes.design import Here, Workers, as_design, rows_of
from sparsebayes.io import BlockStore

N_ROWS, N_FEATURES, PER_ROW, N_BLOCKS = 400_000, 20_000, 50, 16
N_WORKERS = (1, 2, 3, 4)
N_STEPS = 12
REPEATS = 3
# What is predicted: rows with entries enough to say something, features that are left after a few prunings.
LARGE = {"rows": 1e9, "per_row": 100, "weights": 1e6}
LARGE_WORKERS = (100, 300, 1000)
# Blocks as they are by default, and as many as a large cluster can keep its workers busy with.
ENTRIES_OF_A_BLOCK = 1 << 23
BLOCKS_OF_A_WORKER = 2
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
MARKS = ("<!-- tables of benchmarks.cluster -->", "<!-- end of tables -->")
# Bytes a second of a network that a cluster may have, 10 Gbit/s.
NETWORK = 1.25e9


@dataclass(frozen=True, slots=True)
class Costs:
    """In seconds: of an entry in a product, of a task, of a round; and bytes a second."""

    entry: float
    task: float
    round: float
    bandwidth: float

    def step(self, entries: float, weights: float, blocks: float, workers: float, at_once: float) -> float:
        """``at_once`` of the workers have a core."""
        return sum(self.parts(entries, weights, blocks, workers, at_once).values())

    def parts(
        self, entries: float, weights: float, blocks: float, workers: float, at_once: float
    ) -> dict[str, float]:
        return {
            "products": 2.0 * entries * self.entry / at_once,
            "tasks": 5.0 * blocks * self.task,
            "rounds": 2.0 * self.round,
            "moving": 16.0 * weights * (np.log2(workers) + 1.0) / self.bandwidth,
        }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows; nothing is saved")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        say("a store")
        store = make_store(Path(place) / "store", N_ROWS // 10 if quick else N_ROWS)
        say("constants")
        costs = measured_costs(store)
        say(f"  {costs}")
        cores = len(os.sched_getaffinity(0))
        seconds, predicted = {}, {}
        for n_workers in N_WORKERS:
            seconds[n_workers] = on_cluster(n_workers, lambda client: step_seconds(store, client))
            at_once = min(n_workers, cores)
            predicted[n_workers] = costs.step(store.nnz, N_FEATURES, N_BLOCKS, n_workers, at_once)
            say(f"  {n_workers} workers: {seconds[n_workers]:.3f} s a step, model {predicted[n_workers]:.3f}")
    ratios = {n: seconds[n] / predicted[n] for n in N_WORKERS}
    large = predictions(costs)
    limit = thresholds("cluster")["off_by"]
    figures = [
        Figure("seconds of a step over the model's, the largest", max(ratios.values()), limit),
        Figure("the model's over the seconds of a step, the largest", 1.0 / min(ratios.values()), limit),
        Figure("milliseconds of a round without work", 1e3 * costs.round),
        Figure("milliseconds of a task more in it", 1e3 * costs.task),
    ]
    details = {
        "rows": store.shape[0],
        "entries": store.nnz,
        "weights": N_FEATURES,
        "blocks": N_BLOCKS,
        "cores": cores,
        "costs": asdict(costs),
        "seconds": {str(n): value for n, value in seconds.items()},
        "predicted": {str(n): value for n, value in predicted.items()},
        "large": large,
    }
    if not quick:
        say(f"written: {save('cluster', figures, details).name}")
        PAGE.write_text(with_tables(PAGE.read_text(), details))
    return judge(figures)


def make_store(path: Path, n_rows: int) -> BlockStore:
    rng = np.random.default_rng(0)
    w = rng.normal(size=N_FEATURES)
    height = n_rows // N_BLOCKS
    with BlockStore.create(path, block_rows=height) as writer:
        for _ in range(N_BLOCKS):
            columns = np.sort(rng.integers(0, N_FEATURES, (height, PER_ROW)), axis=1).ravel()
            entries = rng.standard_normal(height * PER_ROW)
            indptr = np.arange(0, height * PER_ROW + 1, PER_ROW)
            X = sp.csr_matrix((entries, columns, indptr), shape=(height, N_FEATURES))
            X.sum_duplicates()
            writer.append(X, X @ w > 0.0)
    return BlockStore.open(path)


def on_cluster(n_workers: int, action: Callable[[Any], Any]) -> Any:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return action(client)


def measured_costs(store: BlockStore) -> Costs:
    design, _ = as_design(rows_of(store, Here()).held())
    w, r = np.ones(design.shape[1]), np.ones(design.shape[0])
    products = [least(lambda: design.matvec(w)), least(lambda: design.rmatvec(r))]
    round_, task, bandwidth = on_cluster(1, cluster_costs)
    return Costs(sum(products) / 2.0 / store.nnz, task, round_, bandwidth)


def cluster_costs(client: Any) -> tuple[float, float, float]:
    """Of a round without work, of a task more in it, and bytes a second to a worker and back."""
    workers = Workers(client)
    few, many = 1, 129
    times = {n: least(lambda n=n: list(workers.each(abs, [1] * n)), 10) for n in (few, many)}
    task = (times[many] - times[few]) / (many - few)
    array = np.ones(1 << 22)
    there_and_back = least(lambda: list(workers.each(np.negative, [array])))
    return times[few] - few * task, task, 2.0 * array.nbytes / there_and_back


def least(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    found = []
    for _ in range(repeats + 1):  # the first time does not count
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found[1:])


def step_seconds(store: BlockStore, client: Any) -> float:
    clf = SBLClassifier("dqn", max_iter=1, map_max_iter=N_STEPS, scale="none")
    found = []
    for _ in range(REPEATS):
        record = clf.fit(store, client=client).history_[0][0]
        found.append((record["seconds"]["passes"] + record["seconds"]["map"]) / record["map_steps"])
    return min(found)


def predictions(costs: Costs) -> list[dict[str, float]]:
    entries = LARGE["rows"] * LARGE["per_row"]
    there = Costs(costs.entry, costs.task, costs.round, min(costs.bandwidth, NETWORK))
    return [
        {
            "workers": workers,
            "blocks": blocks,
            **there.parts(entries, LARGE["weights"], blocks, workers, workers),
        }
        for workers in LARGE_WORKERS
        for blocks in (np.ceil(entries / ENTRIES_OF_A_BLOCK), BLOCKS_OF_A_WORKER * workers)
    ]


def with_tables(page: str, details: dict[str, Any]) -> str:
    """The page with the tables of a result between its marks."""
    before, _, after = page.partition(MARKS[0])
    _, _, after = after.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n\n{tables(details)}\n{MARKS[1]}{after}"


def tables(details: dict[str, Any]) -> str:
    costs = details["costs"]
    lines = [
        "| constant | measured |",
        "|---|---:|",
        f"| x, an entry in a product | {1e9 * costs['entry']:.1f} ns |",
        f"| t, a task | {1e3 * costs['task']:.2f} ms |",
        f"| r, a round without work | {1e3 * costs['round']:.1f} ms |",
        f"| b, to a worker and back, on one machine | {costs['bandwidth'] / 1e6:.0f} MB/s |",
        "",
        f"Steps on {details['rows']:,} rows of {details['entries']:,} entries, {details['blocks']} blocks "
        f"and {details['weights']:,} weights, by workers that share {details['cores']} cores:",
        "",
        "| workers | seconds a step | by the model |",
        "|---:|---:|---:|",
        *(
            f"| {workers} | {seconds:.2f} | {details['predicted'][workers]:.2f} |"
            for workers, seconds in details["seconds"].items()
        ),
        "",
        f"**A prediction, not a measurement**, for {LARGE['rows']:.0e} rows of {LARGE['per_row']} entries, "
        f"{LARGE['weights']:.0e} weights and a network of 10 Gbit/s, a core a worker:",
        "",
        "| workers | blocks | products | tasks | rounds | moving | seconds a step |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        *(_large_row(row) for row in details["large"]),
        "",
    ]
    return "\n".join(lines)


def _large_row(row: dict[str, float]) -> str:
    parts = [row[name] for name in ("products", "tasks", "rounds", "moving")]
    cells = [
        f"{row['workers']:.0f}",
        f"{row['blocks']:.0f}",
        *(f"{part:.2f}" for part in [*parts, sum(parts)]),
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
