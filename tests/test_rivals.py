"""The judge of the rivals' benchmark, on records whose answer is known; its adapters on a small problem."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

from benchmarks.rivals import adapters
from benchmarks.rivals.records import Cells, finished, run, unfinished
from benchmarks.rivals.verdicts import Paired, against_l1, against_l2, at_size, worst_margin

# The fork of a test run has threads beside it, of which it uses none.
forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def points(*triples):
    return [{"n": n, "acc": acc, "ll": ll} for n, acc, ll in triples]


def test_interpolation_is_linear_in_the_logarithm_of_the_size():
    path = points((1000, 90.0, 0.1), (10, 80.0, 0.3), (0, 50.0, 0.7))
    assert at_size(path, 100, "acc") == pytest.approx(85.0)
    assert at_size(path, 1000, "ll") == pytest.approx(0.1)
    assert np.isnan(at_size(path, 1001, "acc"))
    assert np.isnan(at_size(path, 9, "acc"))


def test_differences_are_paired_by_seed_and_only_where_the_path_reaches():
    path = {0: points((100, 90.0, 0.2), (10, 90.0, 0.2)), 1: points((100, 80.0, 0.4), (10, 80.0, 0.4))}
    l1 = {
        0: points((5, 99.0, 0.0), (20, 89.0, 0.3)),
        1: points((50, 82.0, 0.3), (100, 78.0, 0.5)),
        2: points((50, 0.0, 9.0), (60, 0.0, 9.0)),
    }
    row = against_l1(path, l1)
    assert row["seeds"] == 2
    assert [size["seeds"] for size in row["sizes"]] == [1, 2]
    assert row["gain"].mean == pytest.approx(np.mean([1.0, 0.0]))
    assert row["gain"].error == pytest.approx(np.std([1.0, 0.0], ddof=1) / np.sqrt(2))
    assert row["pairs"][0].mean == pytest.approx(-2.0)


def test_a_dip_is_allowed_up_to_the_larger_of_its_limit_and_its_standard_error():
    assert worst_margin([Paired(-0.2, 0.1), Paired(1.0, 0.1)], 0.3) == pytest.approx(0.1)
    assert worst_margin([Paired(-0.5, 0.7), Paired(1.0, 0.1)], 0.3) == pytest.approx(0.2)
    assert worst_margin([Paired(-0.5, np.nan), Paired(np.nan, np.nan)], 0.3) == pytest.approx(-0.2)


def test_l2_is_taken_at_the_c_that_is_best_on_average():
    l2 = {0: points((50, 90.0, 0.2), (50, 80.0, 0.2)), 1: points((50, 70.0, 0.2), (50, 79.0, 0.2))}
    chosen = {seed: points((10, 85.0, 0.2)) for seed in (0, 1)}
    gain, size = against_l2(chosen, l2)
    assert gain.mean == pytest.approx(85.0 - 80.0)
    assert size == pytest.approx(0.2)


@forks
def test_cells_are_kept_whatever_came_of_them(tmp_path):
    cells = Cells("trial", tmp_path)

    def slow():
        yield {"n": 1}
        time.sleep(60)

    def broken():
        yield {"n": 1}
        raise ValueError("no such luck")

    run(cells, "set", "model", 0, lambda: iter([{"n": 1}, {"n": 2}]), limit=60)
    run(cells, "set", "model", 1, slow, limit=4)
    run(cells, "set", "model", 2, broken, limit=60)
    records = cells.read("set", "model")
    assert [records[seed]["status"] for seed in range(3)] == ["ok", "limit", "failed"]
    assert [len(records[seed]["points"]) for seed in range(3)] == [2, 1, 1]
    assert records[2]["error"] == "ValueError: no such luck"
    assert list(finished(records)) == [0]
    assert unfinished(records) == 2
    assert len(cells.path("set", "model").read_text().splitlines()) == 3
    # There already: neither run again nor replaced.
    assert run(cells, "set", "model", 0, broken, limit=60) == records[0]


@pytest.mark.parametrize("model", ["lr-l1", "lr-l2", "lr-l1-cv", "lr-l2-cv", "sbl", "sbl-cv"])
def test_adapters_agree_on_what_a_point_is(model):
    X, y = make_classification(200, 20, n_clusters_per_class=1, class_sep=2.0, random_state=0)
    found = list(adapters.MODELS[model].adapter(X[:150], y[:150], X[150:]))
    assert len(found) == 1 if model.endswith("-cv") else len(found) >= 6
    best = max(np.mean((point.probabilities > 0.5) == y[150:]) for point in found)
    assert best > 0.75
    assert all(0 <= point.n_features <= 20 and point.probabilities.shape == (50,) for point in found)
    assert sum(point.seconds for point in found) > 0.0
