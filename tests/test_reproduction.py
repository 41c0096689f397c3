"""The harness of the paper's tables, on records and data whose answer is known."""

from __future__ import annotations

import json
import os
import re
import time

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.reproduction import datasets, gate, results
from benchmarks.reproduction.cells import Cell, Store
from benchmarks.reproduction.command import main
from benchmarks.reproduction.datasets import Split
from benchmarks.reproduction.judge import best, spread, summary
from benchmarks.reproduction.measure import flops, measured
from benchmarks.reproduction.models import FOUR, LAMBDAS, MODELS
from benchmarks.reproduction.page import PAGE, page
from benchmarks.reproduction.page_small import held
from benchmarks.reproduction.plan import Block, blocks, read
from benchmarks.reproduction.report import report
from benchmarks.reproduction.run import run
from benchmarks.rivals.adapters import liblinear
from tests.browser import browser  # noqa: F401

DATA = "generated 150x6"
README = PAGE.parent.parent / "README.md"
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def ok(accuracy, kept=1.0, **more):
    return {"data": "d", "status": "ok", "acc": accuracy, "kept": kept, "s": 1.0, **more}


def filled(folder, block, outcome):
    """A store with a record for every cell of a block; the outcome is a function of point and split."""
    store = Store(folder)
    for cell in block.cells():
        store.append(cell, outcome(dict(cell.point), cell.split.name))
    return store


# Records


def test_records_are_found_again_by_point_and_split(tmp_path):
    cell = Cell.at("set", "RVM", {"sigma": 2.0}, Split("3.1"))
    Store(tmp_path).append(cell, ok(90.0), "the command")
    again = Store(tmp_path)
    assert again.record(cell)["acc"] == 90.0
    assert again.missing([cell, Cell.at("set", "RVM", {"sigma": 4.0}, Split("3.1"))]) == [
        Cell.at("set", "RVM", {"sigma": 4.0}, Split("3.1"))
    ]
    first = json.loads(again.path("set", "RVM").read_text().splitlines()[0])
    assert first["run"]["command"] == "the command"
    assert "numpy" in first["run"]["versions"]


def test_records_of_another_recipe_or_of_other_data_do_not_count(tmp_path):
    one, two = (Cell.at("set", "RVM", {}, Split(name)) for name in "01")
    Store(tmp_path, recipe=1).append(one, ok(90.0))
    assert Store(tmp_path, recipe=2).missing([one]) == [one]
    store = Store(tmp_path, recipe=1)
    store.append(two, ok(80.0) | {"data": "other"})
    assert store.missing([one, two]) == [one]
    assert Store(tmp_path, recipe=1).missing([one, two]) == [one]


def test_a_line_that_was_cut_short_is_run_again(tmp_path):
    cells = [Cell.at("set", "RVM", {}, Split(str(k))) for k in range(3)]
    store = Store(tmp_path)
    for cell in cells[:2]:
        store.append(cell, ok(90.0))
    path = store.path("set", "RVM")
    path.write_bytes(path.read_bytes()[:-20])
    store = Store(tmp_path)
    assert store.missing(cells) == cells[1:]
    store.append(cells[1], ok(70.0))
    assert Store(tmp_path).record(cells[1])["acc"] == 70.0


def work(cell):
    """Too long on fold 1, an error on fold 2, the end of the process on fold 3."""
    if cell.split.name == "1":
        time.sleep(60)
    if cell.split.name == "2":
        raise ValueError("no such luck")
    if cell.split.name == "3":
        os._exit(7)
    return ok(90.0, pid=os.getpid())


def test_cells_that_fail_or_exceed_their_time_have_a_record_and_are_not_run_again(tmp_path):
    block = Block(DATA, "DQN-SBL", "paper", limit=2.0)
    store = Store(tmp_path)
    assert run([block], store, work=work) == {"ok": 2, "limit": 1, "failed": 2}
    records = store.records(DATA, "DQN-SBL")
    by_fold = {split: record for (_, split), record in records.items()}
    assert by_fold["1"] == by_fold["1"] | {"status": "limit", "limit": 2.0}
    assert by_fold["2"]["error"] == "ValueError: no such luck"
    assert by_fold["3"]["error"] == "ended with exit code 7"
    assert by_fold["4"]["pid"] != by_fold["0"]["pid"]
    assert run([block], Store(tmp_path), work=work) == {}
    table = results.accuracy_table([block], Store(tmp_path))
    assert table["cells"] == []
    assert table["missing"][0]["reason"] == "no point of the grid came through on all folds"


# Folds and protocols


def test_inner_folds_part_the_training_rows_of_their_outer_fold():
    y = datasets.load(DATA).y
    for k, (train, test) in enumerate(FOLDS.split(y, y)):
        outer = datasets.rows(y, Split(str(k)))
        np.testing.assert_array_equal(outer[0], train)
        np.testing.assert_array_equal(outer[1], test)
        held_out = np.concatenate([datasets.rows(y, Split(f"{k}.{j}"))[1] for j in range(5)])
        np.testing.assert_array_equal(np.sort(held_out), train)


def test_nested_is_what_a_grid_search_within_each_fold_gives(tmp_path):
    block = Block(DATA, "LR-l2", "nested")
    store = filled(
        tmp_path, block, lambda point, split: measured(Cell.at(DATA, "LR-l2", point, Split(split)))
    )
    data = datasets.load(DATA)
    grid = {"estimator__C": [1.0 / value for value in LAMBDAS]}
    scores = []
    for train, test in FOLDS.split(data.X, data.y):
        search = GridSearchCV(OneVsRestClassifier(liblinear("l2", 1.0)), grid, cv=FOLDS)
        scores.append(search.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test]))
    found = summary(block, store)
    assert found.accuracy_mean == pytest.approx(100 * np.mean(scores), abs=1e-3)
    assert found.accuracy_std == pytest.approx(100 * np.std(scores, ddof=1), abs=1e-3)
    assert found.fits == len(LAMBDAS) * 30


def test_the_papers_protocol_chooses_and_reports_on_the_same_folds(tmp_path):
    block = Block(DATA, "RVM", "paper", {"sigma": [1.0, 2.0, 4.0]})
    accuracies = {1.0: [80, 80, 80, 80, 80], 2.0: [90, 92, 94, 96, 98], 4.0: [93, 93, 93, 93, 93]}
    store = filled(
        tmp_path, block, lambda point, split: ok(accuracies[point["sigma"]][int(split)], 10 * point["sigma"])
    )
    found = summary(block, store)
    assert (found.accuracy_mean, found.kept_mean) == (94.0, 20.0)
    assert found.accuracy_std == pytest.approx(np.sqrt(10.0))
    assert found.points == [(("sigma", 2.0),)]
    assert found.seconds == 15.0


def test_of_equals_the_sparsest_is_taken_and_none_with_a_failed_fit():
    points = [(("sigma", value),) for value in (1.0, 2.0, 4.0)]
    records = {(points[0], "0"): ok(90.0, 7.0), (points[1], "0"): ok(90.0, 5.0)}
    records[points[2], "0"] = {"status": "limit"}
    assert best(records, points, ["0"]) == points[1]
    assert best(records, points[2:], ["0"]) is None


def test_spread_over_seeds_is_that_of_means_over_folds(tmp_path):
    block = Block(DATA, "SBELM", "paper", {"L": [50], "seed": [1, 2]})
    store = filled(tmp_path, block, lambda point, split: ok(80.0 + 2.0 * point["seed"] + int(split)))
    assert spread(block, store, "seed") == pytest.approx(np.sqrt(2.0), abs=1e-3)


# Measurements


def test_a_cell_measures_what_scikit_learn_measures():
    cell = Cell.at(DATA, "DQN-RVM", {"sigma": 2.0}, Split("1"))
    outcome = measured(cell)
    data = datasets.load(DATA)
    train, test = list(FOLDS.split(data.X, data.y))[1]
    model = MODELS["DQN-RVM"].make({"sigma": 2.0}).fit(data.X[train], data.y[train])
    assert outcome["acc"] == pytest.approx(100 * model.score(data.X[test], data.y[test]), abs=1e-3)
    assert outcome["kept"] == model.n_relevant_[0]
    assert outcome["passes"] == sum(sum(record["passes"].values()) for record in model.history_[0])


def test_operations_are_counted_with_the_weights_that_were_there():
    history = [
        {"n_active": 10, "passes": {"matvec": 2, "rmatvec": 1}},
        {"n_active": 4, "passes": {"gram": 2}},
    ]
    products = 2 * 30 * 10 * 3
    factors = 2 * (30 * 10**2 + 10**3 / 3) + 2 * 10**3 / 3
    assert flops([history], [30]) == pytest.approx(products + factors)


# Plans, tables, page


def test_table_2_has_all_sets_with_the_papers_grids():
    found = {
        (each.data, each.model): each
        for each in blocks(read("paper/table2.yaml"))
        if each.protocol == "paper"
    }
    for data, row in results.printed()["table2_accuracy"].items():
        assert list(row) == list(FOUR)
        for model in FOUR:
            n_points = len(found[data, model].points())
            if datasets.shape(data)[0] <= 1000:
                assert n_points == (11 if model.endswith("RVM") else 20)
                assert (data, f"{model} flat") in found
            else:
                assert n_points >= (5 if model.endswith("RVM") else 8)
                assert found[data, model].why or not found[data, model].grid  # a whole grid needs no reason


def test_tables_are_made_of_what_is_complete_and_say_what_is_not(tmp_path):
    done = Block("iris", "RVM", "paper", {"sigma": [1.0, 2.0]}, why="two widths")
    store = filled(tmp_path, done, lambda point, split: ok(90.0 + point["sigma"], 3.0))
    table = results.accuracy_table([done, Block("iris", "RVM", "paper")], store)
    (cell,) = table["cells"]
    assert cell["accuracy_mean"] == 92.0
    assert cell["best"] == ["sigma = 2"]
    assert cell["grid"] == "sigma in {1, 2} (two widths)"
    assert cell["left_out"] == {"fits": 45, "seconds": 45}
    (missing,) = table["missing"]
    assert (missing["done"], missing["of"]) == (10, 55)


def test_cells_are_held_to_the_papers_mean_less_its_spread():
    paper = {
        "table2_accuracy": {"iris": {"RVM": {"mean": 90.0, "std": 2.0}, "SBELM": {"mean": 90.0, "std": 1.0}}}
    }
    cells = [
        {"dataset": "iris", "model": model, "protocol": "paper", "accuracy_mean": 88.5}
        for model in ("RVM", "SBELM")
    ]
    assert held(paper, {"cells": cells}) == (1, 2, [("iris", "SBELM")])


def test_result_files_keep_their_date_where_nothing_is_new(tmp_path):
    assert results.write("table", {"cells": [1]}, tmp_path)
    text = (tmp_path / "table.json").read_text()
    assert not results.write("table", {"cells": [1]}, tmp_path)
    assert (tmp_path / "table.json").read_text() == text
    assert results.write("table", {"cells": [2]}, tmp_path)
    assert {"command", "date", "versions", "recipe"} < results.result("table", tmp_path).keys()


def test_the_page_is_what_the_result_files_make():
    assert PAGE.read_text() == page(), "run python -m benchmarks page"


def test_the_readme_counts_the_cells_of_table_2_as_the_page_does():
    good, run, _ = held(results.printed(), results.result("table2"))
    (counts,) = re.findall(r"(\d+) of the (\d+) cells of Table II", README.read_text())
    assert counts == (str(good), str(run))


def test_the_report_stands_alone(tmp_path):
    svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><g id="a"/><use href="#a"/></svg>'
    for name in ("one", "two"):
        (tmp_path / f"{name}.svg").write_text(svg)
    text = "# Title\n\n| a | b |\n| --- | ---: |\n| x | **−1** |\n\n![One](one.svg)\n\n![Two](two.svg)\n"
    html = report(text, tmp_path)
    assert "<title>Title</title>" in html
    assert html.count("<table>") == html.count("</table>") == 1
    assert html.count("<svg") == 2
    for name in ("one", "two"):
        assert f'<g id="{name}-a"/><use href="#{name}-a"/>' in html
    assert "prefers-color-scheme: dark" in html
    loaded = re.findall(r'(?:src|href)="(?!#)|@import|url\((?!#)', html)
    assert loaded == []


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "reproduction.html"
    path.write_text(report())
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_is_sound_in_a_browser_and_asks_for_nothing(html, browser, width, dark):  # noqa: F811
    assert browser.open(html, width=width, dark=dark) == ([html.as_uri()], [])
    wider = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not browser.run(wider)
    assert browser.run("return document.querySelectorAll('figure svg').length") == 5
    small = "return [...document.querySelectorAll('figure svg')].filter(s => s.clientWidth < 300).length"
    assert browser.run(small) == 0
    ink, paper = browser.run(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert (brightness[0] > brightness[1] + 300) if dark else (brightness[1] > brightness[0] + 300)


def test_tables_of_the_report_sort(html, browser):  # noqa: F811
    browser.open(html)
    column = """
        const tables = [...document.querySelectorAll("table")];
        const table = tables.find(each => each.innerText.includes("within its spread?"));
        const names = [...table.tHead.rows[0].cells].map(each => each.innerText);
        const head = names.findIndex(each => each.startsWith(arguments[0]));
        table.tHead.rows[0].cells[head].querySelector("button").click();
        return [...table.tBodies[0].rows].map(row => row.cells[head].textContent.trim());
    """
    up, down = (browser.run(column, "difference") for _ in range(2))
    numbers = [float(each.replace("−", "-")) for each in up]
    assert len(numbers) == 52
    assert numbers == sorted(numbers)
    assert numbers == [float(each.replace("−", "-")) for each in reversed(down)]
    words = browser.run(column, "model")
    assert words == sorted(words)


def test_the_gate_misses_where_a_model_gets_worse():
    limits = {"accuracy_drop": 0.5, "kept_growth": 1.1, "kept_more": 0.0, "passes_growth": 1.1}
    old = {"iris, RVM": {"accuracy": 95.0, "kept": 10.0, "passes": 100.0, "failed": 0}}
    same = [figure.verdict for figure in gate.figures(old, old, limits)]
    assert set(same) == {"ok"}
    new = {"iris, RVM": {"accuracy": 94.0, "kept": 12.0, "passes": 120.0, "failed": 1}}
    assert [figure.verdict for figure in gate.figures(new, old, limits)] == ["MISS"] * 4 + ["ok"]
    assert gate.figures({}, old, limits)[-1].verdict == "MISS"
    assert gate.figures(new, {}, limits)[0].verdict == "MISS"


def test_the_baseline_is_the_worst_of_several_processors():
    first = {"accuracy": 91.0, "kept": 4.2, "passes": 70.0, "failed": 0}
    second = {"accuracy": 92.0, "kept": 2.4, "passes": 80.0, "failed": 1}
    assert gate.worst([first, second]) == {"accuracy": 91.0, "kept": 4.2, "passes": 80.0, "failed": 1}


def test_the_baseline_has_every_row_of_the_gate():
    rows = {f"{each.data}, {each.model}" for each in blocks(read("paper/table2.yaml"), quick=True)}
    assert results.result(gate.BASELINE)["rows"].keys() == rows


def test_a_plan_without_the_set_that_is_asked_for_says_so():
    with pytest.raises(SystemExit, match="The plan has no moons"):
        main(["status", "paper/table2.yaml", "--datasets", "moons"])
