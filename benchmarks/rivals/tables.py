"""Tables of ours beside rivals for the README and the guide, made of the committed result files.

Run ``python -m benchmarks.rivals.tables``: it writes each table between its marks. A test holds the pages to
it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, say
from benchmarks.rivals.records import finished
from benchmarks.rivals.verdicts import best_point
from benchmarks.rivals.wide import CELLS, SETS

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "docs/guide/text.md", "docs/guide/when_not.md")
WIDE_NAMES = {
    "news20.binary": "news20.binary, newsgroups",
    "sub_imdb_train": "film reviews",
    "sub_reuters21578_corp": "Reuters",
    "rcv1_vw_sample": "RCV1, a part",
    "url_sample": "URLs, a part",
    "colon-cancer": "colon cancer, genes",
}


def result(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / "rivals" / f"{name}.json").read_text())


def figure(name: str, which: str) -> float:
    (measured,) = (each["measured"] for each in result(name)["figures"] if each["name"] == which)
    return float(measured)


def wide_point(data: str, model: str, *, chosen: bool = False) -> dict[str, float] | None:
    """Mean size and accuracy over splits: at the best C of a grid, or of the point that was chosen."""
    points = finished(CELLS.read(data, model))
    if not points:
        return None
    single = chosen or all(len(each) == 1 for each in points.values())
    column = 0 if single else best_point(points, sorted(points))
    taken = [
        next(point for point in each if point.get("chosen")) if chosen else each[column]
        for each in points.values()
    ]
    return {field: float(np.mean([point[field] for point in taken])) for field in ("n", "acc", "ll")}


def size(n: float) -> str:
    """Two digits and a bit: 1.2 million, 39 000, 578."""
    if n >= 1e6:
        return f"{n / 1e6:.1f} million"
    return f"{round(n, -3):,.0f}".replace(",", " ") if n >= 1e4 else f"{n:.0f}"


def cell(point: dict[str, float] | None) -> str:
    """In one line, however narrow the column."""
    shown = "–" if point is None else f"{point['acc']:.1f} ({size(point['n'])})"
    return shown.replace(" ", "\N{NO-BREAK SPACE}")


def wide() -> list[str]:
    """Six wide sets; l1 and l2 at the C that is best on the test rows, which favours them."""
    lines = [
        '| data | ours, by evidence | ours, `select="cv"` | LR-l1 | LR-l2 | LightGBM |',
        "|---|---:|---:|---:|---:|---:|",
    ]
    for data in SETS:
        points = [
            wide_point(data, "sbl", chosen=True),
            *(wide_point(data, model) for model in ("sbl-cv", "lr-l1", "lr-l2", "lightgbm")),
        ]
        lines.append(f"| {WIDE_NAMES[data]} | " + " | ".join(map(cell, points)) + " |")
    return lines


def equal_size() -> list[str]:
    """news20.binary at the sizes of LR-l1."""
    found = result("wide")
    l1, sizes = found["models"]["news20.binary lr-l1"], found["against_l1"]["news20.binary"]["sizes"]
    lines = ["| features | LR-l1 | ours, at that size |", "|--:|--:|--:|"]
    for accuracy, each in zip(l1["acc"], sizes, strict=True):
        lines.append(f"| {each['n']} | {accuracy:.1f}% | {accuracy + each['gain']:.1f}% |")
    return lines


def kernels() -> list[str]:
    """The paper's 13 small sets."""
    lines = [
        "| data | `RVMClassifier()` | vectors | SVC, C and γ by grid | vectors | difference | LightGBM |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(result("small_kernels")["sets"], key=lambda row: row["svc"]["acc"] - row["rvm"]["acc"]):
        ours, svc = row["rvm"], row["svc"]
        name = row["data"].removesuffix("_scale").removesuffix(".scale")
        difference = f"{ours['acc'] - svc['acc']:+.1f}".replace("-", "−")
        both = f"{ours['acc']:.1f} | {ours['n']:.1f} | {svc['acc']:.1f} | {svc['n']:.0f}"
        lines.append(f"| {name} | {both} | {difference} | {row['lightgbm']['acc']:.1f} |")
    return lines


def packages() -> list[str]:
    """Two other packages of relevance vector machines."""
    means = result("rvm_packages")["means"]
    lines = ["| data | package | accuracy | log loss | vectors | seconds |", "|---|---|---:|---:|---:|---:|"]
    for name, each in means.items():
        data, _, package = name.rpartition(" ")
        shown = "`RVMClassifier()`" if package == "rvm" else package.replace("_", "-")
        seconds = f"{each['s']:.2g}" if each["s"] < 100 else f"{each['s']:.0f}"
        figures = f"{each['acc']:.1f} | {each['ll']:.3f} | {each['n']:.1f} | {seconds}"
        lines.append(f"| {data.replace('_', ' ')} | {shown} | {figures} |")
    return lines


def alternatives() -> list[str]:
    """For the README: where each rival is behind, and where it is ahead."""
    facts = {**_facts_of_wide_sets(), **_facts_of_kernels(), **_facts_of_packages()}
    rows = [[" ".join(each.split()).format(**facts) for each in row] for row in ALTERNATIVES]
    head = ["| beside | we are ahead | we are behind |", "|---|---|---|"]
    return [*head, *(f"| {' | '.join(row)} |" for row in rows)]


ALTERNATIVES = (
    (
        "LR-l1 (liblinear), C by folds",
        """at equal size, by {l1_gain} points on average over six wide sets, by {l1_first} with {l1_first_n}
        words of news20.binary; one fit has all sizes""",
        """colon cancer, size by folds: {colon_l1}; Reuters from {reuters_n} features on: level, up to
        {reuters_dip} points below""",
    ),
    (
        "LR-l2 (liblinear), best C",
        """with fewer features news20.binary {news_l2}, film reviews {reviews_l2}, URLs {urls_l2}, colon
        cancer {colon_l2}""",
        """RCV1 {rcv1_l2} and Reuters {reuters_l2}: level; with C by folds it takes {l2_seconds} of our
        seconds on Reuters and RCV1""",
    ),
    (
        "SVC-RBF, C and γ by grid",
        """{fewer} times fewer vectors on the paper's 13 sets; madelon by {madelon} points, german by
        {german}; 20 000 generated rows × 50, of which four features matter: {large}; probabilities""",
        """colon cancer by {colon_svc} points, satimage by {satimage}, usps by {usps}, a2a by {a2a}, wine by
        {wine}""",
    ),
    (
        "sklearn-rvm",
        """{rvm_times} times faster (breast cancer, german); log loss lower by {rvm_loss}; german by
        {rvm_german} points""",
        "breast cancer by {rvm_accuracy} points",
    ),
    (
        "fastrvm",
        """log loss lower by {fast_loss} (breast cancer, german); {fast_vectors} vectors on german, at about
        its accuracy""",
        "breast cancer by {fast_accuracy} points, and it is {fast_times} times faster there",
    ),
    (
        "LightGBM",
        """text: Reuters {reuters_trees}, film reviews {reviews_trees}; of the paper's 13 sets diabetes by
        {diabetes_trees} points, madelon by {madelon_trees}""",
        """colon cancer by {colon_trees} points, segment by {segment_trees}, satimage by {satimage_trees},
        usps by {usps_trees}; tables with missing values and categories: not
        measured here, expect it ahead""",
    ),
)


def _facts_of_wide_sets() -> dict[str, str]:
    found = result("wide")
    sizes = {data: found["against_l1"][data]["sizes"] for data in ("news20.binary", "sub_reuters21578_corp")}
    first = sizes["news20.binary"][0]
    behind = [each for each in sizes["sub_reuters21578_corp"] if each["gain"] < 0.0]

    def pair(data: str, rival: str) -> str:
        ours, theirs = wide_point(data, "sbl-cv"), wide_point(data, rival)
        assert ours is not None
        assert theirs is not None
        return f"{ours['acc']:.1f}% against {theirs['acc']:.1f}%"

    def seconds(data: str) -> float:
        l2, ours = (found["models"][f"{data} {model}"]["s"][0] for model in ("lr-l2-cv", "sbl-cv"))
        return l2 / ours

    return {
        "l2_seconds": f"{seconds('sub_reuters21578_corp'):.2f} and {seconds('rcv1_vw_sample'):.2f}",
        "l1_gain": f"{figure('wide', 'all 6 sets: points above LR-l1 at its sizes'):.1f}",
        "l1_first": f"{first['gain']:.1f}",
        "l1_first_n": str(first["n"]),
        "reuters_n": str(behind[0]["n"]),
        "reuters_dip": f"{-min(each['gain'] for each in behind):.2f}",
        "colon_l1": pair("colon-cancer", "lr-l1-cv"),
        "colon_l2": pair("colon-cancer", "lr-l2"),
        "news_l2": pair("news20.binary", "lr-l2"),
        "reviews_l2": pair("sub_imdb_train", "lr-l2"),
        "rcv1_l2": pair("rcv1_vw_sample", "lr-l2"),
        "urls_l2": pair("url_sample", "lr-l2"),
        "reuters_l2": pair("sub_reuters21578_corp", "lr-l2"),
        "reuters_trees": pair("sub_reuters21578_corp", "lightgbm"),
        "reviews_trees": pair("sub_imdb_train", "lightgbm"),
    }


def _facts_of_kernels() -> dict[str, str]:
    small = {row["data"]: row for row in result("small_kernels")["sets"]}
    fewer = sorted(row["svc"]["n"] / row["rvm"]["n"] for row in small.values())
    cells = result("large_kernels")["cells"]
    draws = [cells[f"generated-20000 {model}"] for model in ("rvm", "svc")]
    large = [float(np.mean([each["acc"] for each in found[: len(draws[1])]])) for found in draws]
    named = {
        "madelon": "madelon.t",
        "german": "german.numer_scale",
        "colon_svc": "colon-cancer",
        "usps": "usps",
        "satimage": "satimage.scale",
        "wine": "wine.scale",
        "a2a": "a2a",
    }
    differences = {
        name: small[data]["rvm"]["acc"] - small[data]["svc"]["acc"] for name, data in named.items()
    }
    behind_trees = {
        f"{name}_trees": small[data]["lightgbm"]["acc"] - small[data]["rvm"]["acc"]
        for name, data in {
            "diabetes": "diabetes_scale",
            "madelon": "madelon.t",
            "segment": "segment.scale",
            "colon": "colon-cancer",
            "satimage": "satimage.scale",
            "usps": "usps",
        }.items()
    }
    return {
        "fewer": f"{fewer[0]:.0f} to {fewer[-1]:.0f}",
        "large": "{:.1f}% against {:.1f}%".format(*large),
        **{name: f"{abs(difference):.1f}" for name, difference in (differences | behind_trees).items()},
    }


def _facts_of_packages() -> dict[str, str]:
    """Differences are of the splits that both have a record of."""
    means = result("rvm_packages")["means"]

    def of(data: str, package: str, what: str) -> float:
        return figure("rvm_packages", f"{data}, {package}: {what}")

    def losses(package: str) -> str:
        return " and ".join(f"{-of(data, package, 'log loss minus its'):.2f}" for data in (cancer, german))

    def accuracy(data: str, package: str) -> str:
        return f"{abs(of(data, package, 'accuracy minus its')):.1f}"

    cancer, german, over = "breast_cancer", "german.numer", "its seconds over ours"
    times = {data: of(data, "sklearn_rvm", over) for data in (cancer, german)}
    return {
        "rvm_times": f"{times[cancer]:.0f} and {times[german]:.0f}",
        "rvm_loss": losses("sklearn_rvm"),
        "rvm_accuracy": accuracy(cancer, "sklearn_rvm"),
        "rvm_german": accuracy(german, "sklearn_rvm"),
        "fast_loss": losses("fastrvm"),
        "fast_vectors": f"{means[f'{german} rvm']['n']:.0f} against {means[f'{german} fastrvm']['n']:.0f}",
        "fast_accuracy": accuracy(cancer, "fastrvm"),
        "fast_times": f"{1.0 / of(cancer, 'fastrvm', over):.1f}",
    }


TABLES: dict[str, Callable[[], list[str]]] = {
    "wide": wide,
    "equal size": equal_size,
    "kernels": kernels,
    "packages": packages,
    "alternatives": alternatives,
}


def filled(page: str) -> str:
    """The page, each table between its marks made anew."""
    for name in re.findall(r"<!-- rivals: ([a-z ]+) -->", page):
        first, last = f"<!-- rivals: {name} -->", f"<!-- end of rivals: {name} -->"
        before, _, rest = page.partition(first)
        _, mark, after = rest.partition(last)
        if not mark:
            raise ValueError(f"{first} has no end.")
        page = "\n".join([f"{before}{first}", "", *TABLES[name](), "", f"{last}{after}"])
    return page


def main() -> None:
    for name in PAGES:
        path = ROOT / name
        path.write_text(filled(path.read_text()))
        say(f"written: {name}")


if __name__ == "__main__":
    main()
