"""The page's parts on the small sets: Tables II, III and IV, and the models beside them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from benchmarks.reproduction.datasets import AS_GIVEN, AS_ONE, OTHER_FOLDS, plain
from benchmarks.reproduction.markdown import duration, signed, spread, table
from benchmarks.reproduction.models import FLAT, FOUR, PRINTED

Results = dict[str, Any]
ADULT1 = "a1a"
LARGER_CLASS = 75.39
FAR = 3.0  # a size is far from another that is so many times larger
SIZES = (
    "Sizes more than three times apart. Where accuracy hardly differs along σ or L, which point is best is "
    "up to the folds, and its size with it:"
)
OTHERS = ("RVM auto", "SBELM auto", "SBL auto", "DQN-SBL", "SVC-RBF", "LR-l2", "LR-l1")


def cells_by_name(results: Results) -> dict[tuple[str, str, str], Results]:
    return {(each["dataset"], each["model"], each["protocol"]): each for each in results.get("cells", [])}


def holds(paper: Results, ours: Results) -> bool:
    """Within one of the paper's standard deviations of its mean, or above."""
    return ours["accuracy_mean"] >= paper["mean"] - paper["std"]


def held(printed: Results, table2: Results) -> tuple[int, int, list[tuple[str, str]]]:
    """Cells that hold, cells that were run, and those that fall short; Adult1 apart."""
    ours = cells_by_name(table2)
    judged = {
        (data, model): holds(paper, ours[data, model, "paper"])
        for data, row in printed["table2_accuracy"].items()
        for model, paper in row.items()
        if data != ADULT1 and (data, model, "paper") in ours
    }
    return sum(judged.values()), len(judged), [name for name, good in judged.items() if not good]


def summary(printed: Results, table2: Results) -> list[str]:
    good, run, short = held(printed, table2)
    wanted = len(FOUR) * (len(printed["table2_accuracy"]) - 1)
    lines = [
        f"Of the {wanted} cells of Table II other than Adult1, {run} have been run; {good} of them are "
        "within one of the paper's standard deviations of its mean, or above it."
    ]
    if short:
        lines.append(f"Below: {', '.join(f'{model} on {data}' for data, model in short)}.")
    missing = Counter(each["protocol"] for each in table2.get("missing", []))
    if missing:
        text = ", ".join(f"{count} by the protocol “{name}”" for name, count in sorted(missing.items()))
        lines.append(f"Rows that are not complete yet: {text}; they say so below.")
    return [" ".join(lines), ""]


def accuracy(printed: Results, table2: Results) -> list[str]:
    ours = cells_by_name(table2)
    missing = {(each["dataset"], each["model"], each["protocol"]): each for each in table2.get("missing", [])}
    rows = []
    for data, row in printed["table2_accuracy"].items():
        for model, paper in row.items():
            found = ours.get((data, model, "paper"))
            start = [data, model, spread(paper["mean"], paper["std"])]
            if found is None:
                rows.append([*start, _pending(missing.get((data, model, "paper"))), "", "", "", "", ""])
                continue
            difference = found["accuracy_mean"] - paper["mean"]
            rows.append(
                [
                    *start,
                    spread(found["accuracy_mean"], found["accuracy_std"]),
                    signed(difference),
                    _verdict(data, paper, found),
                    found["best"][0],
                    _protocol(ours, missing, data, model, "nested"),
                    _protocol(ours, missing, data, model + FLAT, "paper"),
                ]
            )
    head = [
        "data",
        "model",
        "paper",
        "ours",
        "difference",
        "within its spread?",
        "best",
        "nested",
        "flat intercept",
    ]
    return table(head, rows, right=2)


def _verdict(data: str, paper: Results, found: Results) -> str:
    if data == ADULT1:
        return (
            "above the larger class" if found["accuracy_mean"] > LARGER_CLASS + 1.0 else "one class: failure"
        )
    if not holds(paper, found):
        return "**below**"
    return "yes" if found["accuracy_mean"] <= paper["mean"] + paper["std"] else "above"


def _pending(entry: Results | None) -> str:
    if entry is None:
        return "–"
    return f"{entry['reason']} ({entry['done']} of {entry['of']} fits)"


def _protocol(ours: Results, missing: Results, data: str, model: str, protocol: str) -> str:
    found = ours.get((data, model, protocol))
    if found is not None:
        return spread(found["accuracy_mean"], found["accuracy_std"])
    return "pending" if (data, model, protocol) in missing else "–"


def grids(table2: Results) -> list[str]:
    """What was left out of a grid, and how long it would have taken."""
    lines = []
    for each in table2.get("cells", []):
        if "left_out" in each and each["model"] in FOUR:
            rest = each["left_out"]
            lines.append(
                f"- {each['dataset']}, {each['model']}: {each['grid']}. The other {rest['fits']} fits would "
                f"take about {duration(rest['seconds'])}."
            )
    failed = [each for each in table2.get("cells", []) if each["failed"]]
    lines += [
        f"- {each['dataset']}, {each['model']} ({each['protocol']}): {each['failed']} of {each['fits']} fits "
        "failed or met the time limit; the points they belong to cannot be chosen."
        for each in failed
    ]
    return [*lines, ""] if lines else []


def sparsity(printed: Results, table2: Results) -> list[str]:
    ours = cells_by_name(table2)
    rows = []
    for data, row in printed["table3_sparsity"].items():
        cells = [data]
        for model in FOUR:
            found = ours.get((data, model, "paper"))
            kept = "–" if found is None else f"{found['kept_mean']:.1f}"
            cells += [f"{row[model]['per_binary']:g}", kept]
        rows.append(cells)
    head = ["data", *(text for model in FOUR for text in (f"{model}, paper", "ours"))]
    return table(head, rows)


def sizes_elsewhere(printed: Results, table2: Results, figures: Results) -> list[str]:
    """Where a size is far from the paper's: the point of the curve that is nearest to it."""
    ours = cells_by_name(table2)
    lines = []
    for curve in figures.get("curves", []):
        data, model = curve["dataset"], curve["model"]
        found = ours.get((data, model, "paper"))
        paper = printed["table3_sparsity"][data][model]["per_binary"]
        if found is None or max(paper, found["kept_mean"]) < FAR * min(paper, found["kept_mean"]):
            continue
        near = min(curve["points"], key=lambda point: abs(math.log((point["kept"] + 0.1) / paper)))
        lines.append(
            f"- {model} on {data}: {paper:g} in the paper, {found['kept_mean']:.1f} here at "
            f"{found['best'][0]}. Nearest to it on our curve: {near['kept']:.1f} at {curve['variable']} = "
            f"{near['x']:g}, with {near['accuracy']:.2f}%."
        )
    return [SIZES, "", *lines, ""] if lines else []


def times(printed: Results, table2: Results) -> list[str]:
    """Ratios of the seconds of whole grids; both models of a pair had the same one."""
    ours = cells_by_name(table2)
    rows = []
    for data, row in printed["table4_training_seconds"].items():
        cells = [data]
        for model in ("RVM", "SBELM"):
            one, other = ours.get((data, f"DQN-{model}", "paper")), ours.get((data, model, "paper"))
            paper = row[f"DQN-{model}"] / row[model]
            cells += [f"{paper:.2f}", f"{one['seconds'] / other['seconds']:.2f}" if one and other else "–"]
            cells.append(
                f"{duration(one['seconds'])} / {duration(other['seconds'])}" if one and other else "–"
            )
        rows.append(cells)
    head = ["data", "DQN-RVM / RVM, paper", "ours", "seconds", "DQN-SBELM / SBELM, paper", "ours", "seconds"]
    return table(head, rows)


def others(printed: Results, table2: Results) -> list[str]:
    """By nested cross-validation, or else by the paper's protocol: accuracy, and size a binary problem."""
    ours = cells_by_name(table2)
    rows = []
    for data in printed["table2_accuracy"]:
        cells = [data]
        for model in OTHERS:
            nested, chosen = (ours.get((data, model, protocol)) for protocol in ("nested", "paper"))
            found, mark = (nested, "") if nested else (chosen, "\\*")
            text = f"{found['accuracy_mean']:.2f}{mark} ({found['kept_mean']:.1f})" if found else "–"
            cells.append(text)
        rows.append(cells)
    return table(["data", *OTHERS], rows)


def scalings(table2: Results, experiments: Results) -> list[str]:
    """Features scaled column by column, by one map, and as they are in the files."""
    found = cells_by_name(table2) | cells_by_name(experiments)
    names = [(plain(data), model) for data, model, _ in found if data.endswith((AS_ONE, AS_GIVEN))]
    rows = []
    for data, model in dict.fromkeys(names):
        row = [data, model]
        for variant in ("", AS_ONE, AS_GIVEN):
            each = found.get((data + variant, model, "paper"))
            row += (
                [spread(each["accuracy_mean"], each["accuracy_std"]), f"{each['kept_mean']:.1f}"]
                if each
                else ["–"] * 2
            )
        rows.append(row)
    if not rows:
        return ["Not run yet.", ""]
    head = ["data", "model", "column by column", "kept", "by one map", "kept", "as given", "kept"]
    return table(head, rows, right=2)


def other_folds(printed: Results, table2: Results, experiments: Results) -> list[str]:
    """The same grid on other folds: what the choice of folds is worth."""
    ours = cells_by_name(table2)
    elsewhere: dict[tuple[str, str], list[Results]] = {}
    for (data, model, _), each in cells_by_name(experiments).items():
        if OTHER_FOLDS in data:
            elsewhere.setdefault((plain(data), model), []).append(each)
    rows = []
    for (data, model), found in elsewhere.items():
        paper = printed["table2_accuracy"][data][model]
        each = [ours[data, model, "paper"], *found]
        accuracies = [one["accuracy_mean"] for one in each]
        within = sum(holds(paper, one) for one in each)
        rows.append(
            [
                data,
                model,
                spread(paper["mean"], paper["std"]),
                ", ".join(f"{accuracy:.2f}" for accuracy in accuracies),
                f"{sum(accuracies) / len(accuracies):.2f}",
                f"{within} of {len(each)}",
            ]
        )
    if not rows:
        return ["Not run yet.", ""]
    head = ["data", "model", "paper", "ours, the tables' folds first", "mean", "within its spread, or above"]
    return table(head, rows, right=2)


def kernel_as_printed(table2: Results, experiments: Results) -> list[str]:
    gaussian, printed = cells_by_name(table2), cells_by_name(experiments)
    rows = []
    for (data, model, _), found in printed.items():
        base = gaussian.get((data, model.removesuffix(PRINTED), "paper"))
        if model.endswith(PRINTED) and base:
            rows.append(
                [
                    data,
                    model.removesuffix(PRINTED),
                    spread(base["accuracy_mean"], base["accuracy_std"]),
                    f"{base['kept_mean']:.1f}",
                    spread(found["accuracy_mean"], found["accuracy_std"]),
                    f"{found['kept_mean']:.1f}",
                    signed(found["accuracy_mean"] - base["accuracy_mean"]),
                ]
            )
    if not rows:
        return ["Not run yet.", ""]
    return table(["data", "model", "Gaussian", "kept", "as printed", "kept", "difference"], rows, right=2)
