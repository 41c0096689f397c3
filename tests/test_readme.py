"""What the README says is what the code and the result files say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

import pytest

import sparsebayes
from benchmarks.common import RESULTS
from benchmarks.rivals import tables
from tests.test_walks import ROOT, blocks

README = (ROOT / "README.md").read_text()
# Commands that are not run by a test of their own, and the line of the Makefile that runs them in .ci/run or
# on another machine.
LISTED = {
    "make demo": "$(BIN)/python examples/demo.py",
    "make test": "$(BIN)/python -m pytest",
    "pip install -e .": "pip install --quiet --disable-pip-version-check -e '.[$*]'",
    "pip install -e '.[test]'": "pip install --quiet --disable-pip-version-check -e '.[$*]'",
}
SVC = "mean accuracy minus SVC's, 13 sets"


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def figures(name):
    return {each["name"]: each["measured"] for each in result(name)["figures"]}


@pytest.mark.parametrize("name", tables.PAGES)
def test_tables_of_rivals_are_what_the_result_files_make(name):
    page = (ROOT / name).read_text()
    assert "<!-- rivals: " in page
    assert page == tables.filled(page), "run python -m benchmarks.rivals.tables"


def test_a_mark_without_its_end_is_refused():
    with pytest.raises(ValueError, match="has no end"):
        tables.filled("<!-- rivals: wide -->\n")


def test_measured_figures_are_those_of_the_result_files():
    passes, growth, timing = figures("passes"), figures("growth"), figures("rivals/timing")
    small, large = figures("rivals/small_kernels"), result("rivals/large_kernels")
    slopes = [value for name, value in growth.items() if "scipy" not in name]
    half_a_million = large["cells"]["generated-500000 rvm"]
    accuracy = [100 * passes[f"test accuracy after outer iteration {k}"] for k in (1, 2)]
    for text in (
        "| {:.2f}% and {:.2f}% (".format(*accuracy),
        "| {:.1f}; {:.2f}, with 2 threads {:.2f} |".format(
            passes["peak memory of a fit, training CSRs"],
            passes["Xw + X'r, seconds over scipy CSR's"],
            passes["the same with 2 threads"],
        ),
        f"| at most {max(slopes):.2f} |",
        f"| {timing['whole path over a liblinear-l1 fit']:.1f}; "
        f"{timing['five folds over those of liblinear-l1']:.2f} |",
        f"DQN-RVM on {small['sets of 13 at least as accurate as DQN-RVM']} of 13, with no more vectors on "
        f"{small['sets of 13 with at most its vectors']}; ",
        f"on average {-small[SVC]:.1f} points below a tuned SVC",
        f"| {max(each['s'] for each in half_a_million):.0f} s, "
        f"{max(each['gb'] for each in half_a_million):.1f} GB |",
    ):
        assert text in README


def test_figures_in_the_chapter_on_text():
    page = (ROOT / "docs" / "guide" / "text.md").read_text()
    points = {model: tables.wide_point("news20.binary", model) for model in ("sbl-cv", "lr-l2")}
    chosen = tables.wide_point("news20.binary", "sbl", chosen=True)
    found = result("rivals/wide")["against_l1"].values()
    gains = [each["gain"] for each in found]
    for text in (
        f"{tables.size(chosen['n'])} features and {chosen['acc']:.1f}% there",
        f"{tables.size(points['sbl-cv']['n'])} of them, and has {points['sbl-cv']['acc']:.1f}%",
        f"where l2 at its best C has {points['lr-l2']['acc']:.1f}%",
        f"takes {figures('rivals/timing')['whole path over a liblinear-l1 fit']:.1f} times as long",
        f"(by {min(gains):.2f} to {max(gains):.1f}",
    ):
        assert text in page
    assert tables.result("wide") == result("rivals/wide")


def test_draws_on_which_scales_were_found():
    cells = result("rivals/large_kernels")["cells"]
    ours = [each["acc"] for n in (20000, 100000, 500000) for each in cells[f"generated-{n} rvm"]]
    svc = [each["acc"] for each in cells["generated-20000 svc"]]
    kernels = " ".join((ROOT / "docs" / "guide" / "kernels.md").read_text().split())
    assert "on every one of five draws" in kernels
    assert len(ours) == 15
    assert min(ours) > max(svc)
    assert f"({min(ours):.1f}% to {max(ours):.1f}% of test rows" in kernels
    assert f"SVC with its grid has {min(svc):.1f}% to {max(svc):.1f}%" in kernels


def test_sentences_on_svc_and_other_packages():
    page = " ".join((ROOT / "docs" / "guide" / "when_not.md").read_text().split())
    sets = result("rivals/small_kernels")["sets"]
    ahead = sum(row["svc"]["acc"] - row["rvm"]["acc"] > 1.0 for row in sets)
    ratios = sorted(row["svc"]["n"] / row["rvm"]["n"] for row in sets)
    assert ahead == 3
    assert "ahead by more than a point on three of 13" in page
    assert f"keeps {ratios[0]:.0f} to {ratios[-1]:.0f} times the vectors" in page
    found = figures("rivals/rvm_packages")
    cancer, german = (
        {name: found[f"{data}, {name}: accuracy minus its"] for name in ("fastrvm", "sklearn_rvm")}
        for data in ("breast_cancer", "german.numer")
    )
    assert (
        f"is {-cancer['sklearn_rvm']:.1f} points behind sklearn-rvm on breast cancer and "
        f"{german['sklearn_rvm']:.1f} ahead on german; {-cancer['fastrvm']:.1f} behind fastrvm on breast "
        f"cancer and {german['fastrvm']:.1f} ahead on german"
    ) in page


def test_sets_on_which_trees_are_ahead_and_behind():
    page = (ROOT / "docs" / "guide" / "when_not.md").read_text()
    gains = {
        row["data"].removesuffix("_scale").split(".")[0]: row["lightgbm"]["acc"] - row["rvm"]["acc"]
        for row in result("rivals/small_kernels")["sets"]
    }
    ahead = sorted((name for name in gains if gains[name] > 1.0), key=gains.get, reverse=True)
    behind = sorted((name for name in gains if gains[name] < -1.0), key=gains.get, reverse=True)
    assert f"by {gains[ahead[-1]]:.1f} to {gains[ahead[0]]:.1f} points" in page
    assert f"on three of the 13 sets above ({', '.join(ahead)})" in page
    assert f"on two ({', '.join(behind)})" in page


def test_measured_times_and_sizes_in_the_guide():
    cluster, checkpoints = figures("cluster"), figures("checkpoints")
    store, reading = figures("out_of_core"), figures("reading")
    of_reading = reading["processor time of scikit-learn over ours: text to memory"]
    kernels = result("kernels")
    rows = [*kernels["bases"], kernels["many_rows"]["RVMClassifier()"]]
    rows.append(kernels["many_rows"]["basis='all', dqn, 3 steps"])
    share = "share of the fit spent on checkpoints"
    for page, text in (
        ("dask", f"some {cluster['milliseconds of a round without work']:.0f} ms each"),
        ("dask", f"a task costs {cluster['milliseconds of a task more in it']:.0f} ms"),
        ("checkpoints", f"take {checkpoints[f'auto: {share}']:.1%} of the time of a fit by"),
        ("checkpoints", f"and {checkpoints[f'dqn: {share}']:.1%} of one by"),
        ("larger_than_memory", f"in {store['peak RSS of convert, GB']:.1f} GB of memory"),
        ("larger_than_memory", f"a model in {store['peak RSS of the fit, GB']:.1f} GB"),
        *(
            (
                "kernels",
                f"| {row['seconds']:.0f} | {row['peak_bytes'] / 1e9:.2f} GB | {row['vectors']} | "
                f"{row['accuracy']:.1%} |",
            )
            for row in rows
        ),
    ):
        assert text in " ".join((ROOT / "docs" / "guide" / f"{page}.md").read_text().split())
    assert round(of_reading) == 3  # "in a third of the processor time"


def test_every_command_is_run_by_a_test_or_by_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    walk = README.split("## From rows to a device")[1].split("\n## ")[0]
    others = [each for each in blocks(README, "sh") if each not in blocks(walk, "sh")]
    commands = [line.split("#")[0].strip() for block in others for line in block.splitlines()]
    assert sorted(commands) == sorted(LISTED)
    for command in commands:
        assert LISTED[command] in makefile


# Of the packages that the tests bring, `make demo` installs none.
DEMO = """
import importlib.util, sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "pyarrow", "onnx", "distributed", "dask", "yaml"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
spec = importlib.util.spec_from_file_location("demo", sys.argv[1])
demo = importlib.util.module_from_spec(spec)
spec.loader.exec_module(demo)
demo.DATA = {name: demo.DATA[name] for name in ("iris", "wine")}
demo.main()
print(*demo.MODELS, sep=chr(10))
"""


def test_the_demo_runs(tmp_path):
    """All of it but the larger two of its sets, which take a minute, with what `make demo` installs."""
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-c", DEMO, str(ROOT / "examples" / "demo.py")]
    printed = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    for name in printed.splitlines()[-6:]:
        assert len(re.findall(rf"{re.escape(name)} +9\d\.\d\d", printed)) == 2
    assert "demo-report.html" in printed
    page = (tmp_path / "demo-report.html").read_text()
    assert "</html>" in page
    assert "worst radius" in page


def test_versions_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = [each.rpartition(" ")[2] for each in project["classifiers"] if ":: Python :: 3." in each]
    assert f"Python {pythons[0]} to {pythons[-1]}" in README
    for requirement in project["dependencies"]:
        name, version = requirement.split(">=")
        assert name in README
        assert name in ("click", "rich") or f"{name} ≥ {version}" in README
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {sparsebayes.__version__}\n" in citation
    assert "arXiv:2107.08195" in citation


# Those of the documentation are checked where it is built, by docs/check_links.py.
@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
        if not target.startswith(("http", "#", "mailto:")):
            path = (ROOT / target.partition("#")[0]).resolve()
            assert path.exists(), target
            assert path.is_relative_to(ROOT.resolve())
