"""The page's parts on data, linear models, cost and growth: Tables I, V, V(b) and VI."""

from __future__ import annotations

from typing import Any

from benchmarks.reproduction.markdown import power, spread, table

Results = dict[str, Any]
STANDS_FOR = {
    "rcv1_vw_sample": "a part of RCV1",
    "sub_reuters21578_corp": "stands in for rcv1.binary.train",
    "url_sample": "a small part of url_combined",
    "sub_imdb_train": "stands in for real-sim",
    "news20.binary": "news20, rebuilt",
}
LINEAR = ("DQN-SBL early stop", "LR-l2 cv", "LR-l1 cv", "SBL auto cv")


def data_sets(table1: Results) -> list[str]:
    rows = []
    for row in table1.get("rows", []):
        printed, here = row["printed"], row["here"]
        ours = ["not to be had here", "", ""]
        if here:
            ours = [str(here["instances"]), str(here["features"]), str(here["classes"])]
        paper = [str(printed[name]) for name in ("instances", "features_printed", "classes")]
        rows.append([row["dataset"], printed["paper_name"], *paper, *ours])
    head = ["data", "paper's name", "instances, paper", "features", "classes"]
    head += ["instances, here", "features", "classes"]
    return table(head, rows, right=2)


def linear(printed: Results, table5b: Results) -> list[str]:
    ours = {(each["dataset"], each["model"]): each for each in table5b.get("cells", [])}
    rows = []
    for data in dict.fromkeys(name for name, _ in ours):
        paper = printed["table5b_linear_accuracy"].get(data, {})
        cells = [f"{data} ({STANDS_FOR[data]})"]
        cells += [f"{paper[name]:.2f}" if paper else "–" for name in ("DQN-SBL", "LR-l2")]
        for model in LINEAR:
            found = ours.get((data, model))
            cells.append(_linear_cell(found) if found else "pending")
        rows.append(cells)
    head = ["data", "DQN-SBL, paper", "LR-l2, paper", *(f"{model}, ours" for model in LINEAR)]
    return table(head, rows) if rows else ["Not run yet.", ""]


def _linear_cell(found: Results) -> str:
    accuracy = f"{found['accuracy_mean']:.2f}"
    if found["splits"] > 1:
        accuracy = spread(found["accuracy_mean"], found["accuracy_std"])
    stop = f", stop at {'/'.join(map(str, found['stop']))}" if found["stop"] else ""
    return f"{accuracy} ({found['kept_mean']:.0f} features{stop})"


def linear_verdict(printed: Results, table5b: Results) -> list[str]:
    """news20.binary against the paper's number and against our LR-l2."""
    ours = {(each["dataset"], each["model"]): each["accuracy_mean"] for each in table5b.get("cells", [])}
    dqn, lr = (ours.get(("news20.binary", model)) for model in LINEAR[:2])
    if dqn is None or lr is None:
        return ["news20.binary is not run yet.", ""]
    paper = printed["table5b_linear_accuracy"]["news20.binary"]["DQN-SBL"]
    return [
        f"On news20.binary DQN-SBL with the early stop has {dqn:.2f}%, {abs(dqn - paper):.2f} points from "
        f"the paper's {paper:.2f} and {abs(dqn - lr):.2f} from our LR-l2.",
        "",
    ]


def cost(printed: Results, table5: Results) -> list[str]:
    rows = []
    for row in table5.get("rows", []):
        paper = printed["table5_complexity_ratio"][row["dataset"]]
        cells = [row["dataset"]]
        for model in ("RVM", "SBELM"):
            found, name = row.get(model), model.lower()
            cells += [power(paper[f"{name}_compute"])]
            cells += [power(found["flops"]), power(found["seconds"])] if found else ["–", "–"]
            cells += [power(paper[f"{name}_storage"])]
            cells += [_memory(found)] if found else ["–"]
        rows.append(cells)
    head = ["data"]
    for model in ("RVM", "SBELM"):
        head += [f"{model}: formula for computation", "operations", "seconds"]
        head += ["formula for storage", "peak memory"]
    return table(head, rows)


def _memory(found: Results) -> str:
    ratio = "–" if found["memory"] is None else power(found["memory"])
    return f"{ratio} ({found['dqn_memory_mb']:g} / {found['memory_mb']:g} MB)"


def growth(table6: Results) -> list[str]:
    rows = [
        [
            row["model"],
            f"{row['grows']}, {min(row['sizes']):g} to {max(row['sizes']):g}",
            str(row["printed"][0]),
            f"{row['flops']:.2f}",
            f"{row['seconds']:.2f}",
            str(row["printed"][1]),
            f"{row['memory']:.2f}",
        ]
        for row in table6.get("rows", [])
    ]
    if not rows:
        return ["Not run yet.", ""]
    head = ["model", "what grows", "computation, paper", "operations", "seconds"]
    head += ["storage, paper", "peak memory"]
    return table(head, rows, right=2)
