"""The cost model of a cluster by hand; figures on the page of large data are those of the result files."""

from __future__ import annotations

import json

import pytest

from benchmarks.cluster import PAGE, Costs, with_tables
from benchmarks.common import RESULTS


def test_a_step_by_hand():
    costs = Costs(entry=1e-9, task=1e-3, round=0.01, bandwidth=1e9)
    # 2e9 entries at 1e-9 by 4 cores, 5 tasks of 10 blocks, two rounds, 16 bytes of 1e6 weights three times
    assert costs.step(1e9, 1e6, 10, 4, 4) == pytest.approx(0.5 + 0.05 + 0.02 + 0.048)


def test_the_page_shows_the_cost_model_as_measured():
    details = json.loads((RESULTS / "cluster.json").read_text())
    assert PAGE.read_text() == with_tables(PAGE.read_text(), details)


def test_the_page_says_what_was_found_out_of_core():
    found = json.loads((RESULTS / "out_of_core.json").read_text())
    fit, passes = found["fit"], found["passes"]
    small = min(fit["path"], key=lambda point: abs(point["kept"] - fit["true"]))
    over = {
        place: sorted(
            passes[f"{verb}, {place}"] / passes[f"reading, {place}"] for verb in ("matvec", "rmatvec")
        )
        for place in ("disk", "cache")
    }
    page = " ".join(PAGE.read_text().split())
    for text in (
        f"a store in {found['convert']['peak_bytes'] / 1e9:.1f} GB of memory and a model in "
        f"{fit['peak_bytes'] / 1e9:.1f} GB",
        "takes {:.1f} to {:.1f} times as long".format(*over["disk"]),
        "({:.1f} to {:.1f} times reading them".format(*over["cache"]),
        f"finds {small['true_found']} of the {fit['true']} features with its model of {small['kept']}, at "
        f"{100 * small['accuracy']:.1f}%",
        f"({fit['kept']:,} features, {fit['true_found']} of the {fit['true']}, ".replace(",", " ", 1),
        f"{100 * fit['accuracy']:.1f}%): look",
    ):
        assert text in page
    peaks = [found[stage]["peak_bytes"] / 1e9 for stage in ("convert", "fit")]
    readme = (PAGE.parents[1] / "README.md").read_text()
    assert "two cores | {:.1f} GB and {:.1f} GB |".format(*peaks) in readme
