"""Tables of ours beside rivals for the README and the guide, made of the committed result files.

Run ``python -m benchmarks.rivals.tables``: it writes each table between its marks, wherever they stand. A test
holds the pages to it.
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
PAGES = ("README.md", "docs/guide/text.md", "docs/guide/when_not.md", "docs/guide/kernels.md")
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
    return "–" if point is None else f"{point['acc']:.1f} ({size(point['n'])})"


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
        "| data | `RVMClassifier()` | vectors | SVC, C and γ by grid | vectors | difference |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(result("small_kernels")["sets"], key=lambda row: row["svc"]["acc"] - row["rvm"]["acc"]):
        ours, svc = row["rvm"], row["svc"]
        name = row["data"].removesuffix("_scale").removesuffix(".scale")
        difference = f"{ours['acc'] - svc['acc']:+.1f}".replace("-", "−")
        lines.append(
            f"| {name} | {ours['acc']:.1f} | {ours['n']:.1f} | {svc['acc']:.1f} | {svc['n']:.0f} | {difference} |"
        )
    return lines


def packages() -> list[str]:
    """Two other packages of relevance vector machines."""
    means = result("rvm_packages")["means"]
    lines = ["| data | package | accuracy | log loss | vectors | seconds |", "|---|---|---:|---:|---:|---:|"]
    for name, each in means.items():
        data, _, package = name.rpartition(" ")
        shown = "`RVMClassifier()`" if package == "rvm" else package.replace("_", "-")
        seconds = f"{each['least_s']:.2g}" if each["least_s"] < 100 else f"{each['least_s']:.0f}"
        figures = f"{each['acc']:.1f} | {each['ll']:.3f} | {each['n']:.1f} | {seconds}"
        lines.append(f"| {data.replace('_', ' ')} | {shown} | {figures} |")
    return lines


def alternatives() -> list[str]:
    """For the README: where each rival is behind, and where it is ahead."""
    found, small = result("wide"), {row["data"]: row for row in result("small_kernels")["sets"]}
    gains = {each["name"]: each["measured"] for each in found["figures"]}
    l1_sizes = found["against_l1"]["news20.binary"]["sizes"]
    reuters = found["against_l1"]["sub_reuters21578_corp"]["sizes"]
    point = {
        (data, model): wide_point(data, model)
        for data in SETS
        for model in ("sbl-cv", "lr-l1-cv", "lr-l2", "lightgbm")
        if finished(CELLS.read(data, model))
    }

    def pair(data: str, rival: str) -> str:
        return f"{point[data, 'sbl-cv']['acc']:.1f}% against {point[data, rival]['acc']:.1f}%"

    def kernel(data: str) -> str:
        return f"{abs(small[data]['rvm']['acc'] - small[data]['svc']['acc']):.1f}"

    fewer = sorted(row["svc"]["n"] / row["rvm"]["n"] for row in small.values())
    means = result("rvm_packages")["means"]
    ratios = {
        name: means[f"{name} sklearn_rvm"]["least_s"] / means[f"{name} rvm"]["least_s"]
        for name in ("breast_cancer", "german.numer")
    }

    def package(data: str, other: str, field: str, digits: int) -> str:
        ours, theirs = means[f"{data} rvm"][field], means[f"{data} {other}"][field]
        return f"{ours:.{digits}f} against {theirs:.{digits}f}"

    large = result("large_kernels")["cells"]
    behind = [each for each in reuters if each["gain"] < 0.0]
    return [
        "| beside | we are ahead | we are behind |",
        "|---|---|---|",
        f"| LR-l1 (liblinear), C by folds | at equal size, by {gains['all 6 sets: points above LR-l1 at its sizes']:.1f} "
        f"points on average over six wide sets, by {l1_sizes[0]['gain']:.1f} with {l1_sizes[0]['n']} words of "
        f"news20.binary; one fit has all sizes | colon cancer, size by folds: {pair('colon-cancer', 'lr-l1-cv')}; "
        f"Reuters from {behind[0]['n']} features on: level, up to {max(-each['gain'] for each in behind):.2f} points "
        "below |",
        f"| LR-l2 (liblinear), best C | fewer features at about its accuracy: film reviews "
        f"{pair('sub_imdb_train', 'lr-l2')}, colon cancer {pair('colon-cancer', 'lr-l2')} | RCV1 "
        f"{pair('rcv1_vw_sample', 'lr-l2')}, URLs {pair('url_sample', 'lr-l2')}, Reuters "
        f"{pair('sub_reuters21578_corp', 'lr-l2')}; and l2 is quicker |",
        f"| SVC-RBF, C and γ by grid | {fewer[0]:.0f} to {fewer[-1]:.0f} times fewer vectors on the paper's 13 sets; "
        f"madelon by {kernel('madelon.t')} points, german by {kernel('german.numer_scale')}; probabilities | "
        f"colon cancer by {kernel('colon-cancer')} points, usps by {kernel('usps')}, satimage by "
        f"{kernel('satimage.scale')}, wine by {kernel('wine.scale')}; 20 000 generated rows × 50: "
        f"{large['generated-20000 rvm'][0]['acc']:.1f}% against {large['generated-20000 svc'][0]['acc']:.1f}% |",
        f"| sklearn-rvm | {ratios['breast_cancer']:.0f} and {ratios['german.numer']:.0f} times faster (breast cancer, "
        f"german); log loss {package('breast_cancer', 'sklearn_rvm', 'll', 2)}, "
        f"{package('german.numer', 'sklearn_rvm', 'll', 2)} | breast cancer, accuracy: "
        f"{package('breast_cancer', 'sklearn_rvm', 'acc', 1)} |",
        f"| fastrvm | log loss {package('breast_cancer', 'fastrvm', 'll', 2)}, "
        f"{package('german.numer', 'fastrvm', 'll', 2)}; vectors {package('german.numer', 'fastrvm', 'n', 0)} on german "
        f"| breast cancer, accuracy: {package('breast_cancer', 'fastrvm', 'acc', 1)}, and it is "
        f"{means['breast_cancer rvm']['least_s'] / means['breast_cancer fastrvm']['least_s']:.1f} times faster there |",
        f"| LightGBM | text and genes: Reuters {pair('sub_reuters21578_corp', 'lightgbm')}, film reviews "
        f"{pair('sub_imdb_train', 'lightgbm')}, colon cancer {pair('colon-cancer', 'lightgbm')} | tables with thresholds, "
        "interactions and missing values: not measured here, expect it ahead |",
    ]


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
