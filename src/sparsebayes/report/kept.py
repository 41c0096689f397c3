"""The section on what a model keeps: weights with their intervals, and the plane of two features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import IntVector
from sparsebayes.basis import IdentityBasis, KernelBasis
from sparsebayes.report import figures
from sparsebayes.report.described import Described
from sparsebayes.report.page import (
    Cell,
    Html,
    Text,
    Tinted,
    details,
    figure,
    paragraph,
    section,
    side_by_side,
    table,
)
from sparsebayes.report.text import count, fixed, number, signed, visible

MAX_BARS = 30
MAX_BARS_OF_MANY = 12
# So many binary problems have a chart each; more are summed up by class.
MAX_CHARTS = 6
MAX_CLASSES = 26
MAX_PROBLEMS_LISTED = 300
STRONGEST = 3
GRID_POINTS = 120
MAX_DRAWN_ROWS = 400
MAX_REGIONS = 4


def kept_section(described: Described, X: Any, truth: IntVector | None) -> Html:
    things = described.function + "s"
    parts: list[Text] = []
    if not described.n_functions:
        parts.append(f"The model keeps no {described.function}: its intercepts are all it has.")
        return section("kept", f"Kept {things}", [paragraph(part) for part in parts])
    parts.append(paragraph(_introduction(described)))
    n_problems = described.model.n_problems
    pictures = [_chart(described, k) for k in range(n_problems)] if n_problems <= MAX_CHARTS else []
    regions = _regions(described, X, truth)
    scales = _kernel_scales(described)
    pictures += [picture for picture in (regions, scales) if picture is not None]
    if len(described.model.classes) == 2 and described.n_functions <= MAX_BARS and len(pictures) == 1:
        parts.append(side_by_side([*pictures, _weights_table(described)]))
    else:
        if pictures:
            parts.append(side_by_side(pictures))
        if len(described.model.classes) == 2:
            parts.append(details("The weights as numbers", [_weights_table(described)]))
    if len(described.model.classes) > 2:
        parts += _by_class(described)
    return section("kept", f"Kept {things}", parts)


def _introduction(described: Described) -> str:
    model = described.model
    if isinstance(model.basis, IdentityBasis):
        what = (
            "Weights are shown times the spread of their features (standard deviation; of sparse rows, root "
            "mean square): what one spread more adds to the log odds."
            if described.spread is not None
            else "Weights are shown in the units of the features, whose spread is not known."
        )
    else:
        values = "the kernel at the vector" if isinstance(model.basis, KernelBasis) else "the node's output"
        what = f"A weight is what {values} is multiplied by in the log odds."
    if model.n_problems > MAX_CHARTS:
        return what
    if model.weights_std is None:
        return f"{what} Posterior deviations are not known: the model was taken from a path, or made without."
    return f"{what} Thin lines are two posterior standard deviations to either side."


def _sides(described: Described, k: int) -> tuple[str, str]:
    classes = described.classes
    if len(classes) > 2 and described.model.scheme == "ovr":
        return "the rest", classes[k]
    first, second = np.triu_indices(len(classes), 1)
    return classes[first[k]], classes[second[k]]


def _chart(described: Described, k: int) -> Html:
    columns = described.model.problem(k)[0]
    effects, std = described.effects(k)
    limit = MAX_BARS if described.model.n_problems == 1 else MAX_BARS_OF_MANY
    order = np.argsort(-np.abs(effects), kind="stable")[:limit]
    names = described.function_names()
    sides = _sides(described, k)
    if not len(order):
        return paragraph(f"{described.problem_names()[k]}: nothing is kept.", "note")
    svg = figures.bars(
        f"weights-{k}",
        [names[columns[j]] for j in order],
        effects[order],
        None if std is None else std[order],
        sides,
    )
    left = len(effects) - len(order)
    more = f" The {limit} largest of {len(effects)} are shown." if left else ""
    caption = f"To the right: for {sides[1]}; to the left: for {sides[0]}.{more}"
    strongest = ", ".join(f"{names[columns[j]]} {signed(float(effects[j]))}" for j in order[:STRONGEST])
    return figure(svg, f"Bar chart of weights, {described.problem_names()[k]}: {strongest}", caption)


def _weights_table(described: Described) -> Html:
    """Of the one problem of two classes, in the caller's units."""
    model = described.model
    columns, weights, intercept = model.problem(0)
    effects, _ = described.effects(0)
    order = np.argsort(-np.abs(effects), kind="stable")[:MAX_BARS]
    names = described.function_names()
    header = [described.function, "weight"]
    if model.weights_std is not None:
        header += ["± 2 sd"]
    if described.spread is not None:
        header += ["× spread"]
    rows: list[list[Cell]] = []
    for j in order:
        row: list[Cell] = [names[columns[j]], number(float(weights[j]))]
        if model.weights_std is not None:
            row.append(number(2.0 * float(model.weights_std[j]), 3))
        if described.spread is not None:
            row.append(signed(float(effects[j])))
        rows.append(row)
    last: list[Cell] = ["intercept", number(intercept), *[""] * (len(header) - 2)]
    rows.append(last)
    which = "Weights" if len(order) == len(weights) else f"The {len(order)} largest of {len(weights)} weights"
    units = " in the units of the features" if isinstance(model.basis, IdentityBasis) else ""
    return table(f"{which}{units}; positive ones speak for {described.classes[1]}", header, rows, "names")


def _by_class(described: Described) -> list[Html]:
    parts = []
    if len(described.classes) <= MAX_CLASSES:
        parts.append(_class_table(described))
    else:
        parts.append(_reach_chart(described))
    if described.model.n_problems <= MAX_PROBLEMS_LISTED:
        n = described.model.n_problems
        parts.append(details(f"The {count(n, 'binary problem')} one by one", [_problem_table(described)]))
    return parts


def _reach_chart(described: Described) -> Html:
    """Where classes are too many for a table."""
    names, order = described.function_names(), described.order()[:MAX_BARS]
    reach = np.abs(described.effects_on_classes()).max(axis=1)
    svg = figures.bars("reach", [names[j] for j in order], reach[order], None, None)
    caption = (
        f"How far each {described.function} speaks for or against a class: the mean of its weights in the "
        f"class's binary problems, of the class where that is largest."
    )
    return figure(svg, f"Bar chart: {names[order[0]]} speaks loudest", caption)


def _class_table(described: Described) -> Html:
    effects = described.effects_on_classes()
    order = described.order()[:MAX_BARS]
    names = described.function_names()
    largest = float(np.abs(effects).max()) or 1.0
    decimals = max(2 - int(np.floor(np.log10(largest))), 0)
    rows: list[list[Cell]] = [
        [names[j], *(Tinted(fixed(v, decimals) if v else "", v / largest) for v in effects[j].tolist())]
        for j in order
    ]
    which = f"The {len(order)} of {described.n_functions}" if len(order) < described.n_functions else "The"
    times = ", times its spread," if described.spread is not None else ""
    caption = (
        f"{which} {described.function}s that speak loudest. How far each{times} speaks for (blue) or against "
        "(orange) a class: the mean of its weights in the class's binary problems"
    )
    return table(caption, [described.function, *described.classes], rows, "heat names")


def _problem_table(described: Described) -> Html:
    names, titles = described.function_names(), described.problem_names()
    rows: list[list[Cell]] = []
    for k, title in enumerate(titles):
        columns, weights, intercept = described.model.problem(k)
        effects, _ = described.effects(k)
        order = np.argsort(-np.abs(effects), kind="stable")[:STRONGEST]
        strongest = ", ".join(f"{names[columns[j]]} {signed(float(effects[j]))}" for j in order)
        rows.append([title, strongest, str(len(weights)), number(intercept, 3)])
    header = ["problem", "strongest", "kept", "intercept"]
    return table("Positive weights speak for the class named last", header, rows, "names", words=2)


def _kernel_scales(described: Described) -> Html | None:
    """What features are multiplied by inside the kernel, where it has learned that."""
    basis, model = described.model.basis, described.model
    if not isinstance(basis, KernelBasis) or basis.scales is None or model.n_features < 2:
        return None
    used = np.flatnonzero(basis.scales)
    spread = np.ones(model.n_features)
    if not sp.issparse(basis.vectors) and len(basis.vectors) > 2:
        spread = np.std(basis.vectors.astype(np.float64), axis=0)
    values = basis.scales * spread
    order = used[np.argsort(-values[used], kind="stable")][:MAX_BARS]
    if not len(order):
        return None
    names = [str(j) if model.feature_names is None else model.feature_names[j] for j in order]
    labels = [f"feature {name}" if model.feature_names is None else visible(name) for name in names]
    svg = figures.bars("kernel-scales", labels, values[order], None, None)
    caption = (
        f"How far features count in the kernel: their learned scales times the spread of the vectors. "
        f"{len(used)} of {count(model.n_features, 'feature')} count."
    )
    return figure(svg, f"Bar chart of the scales of features, {labels[0]} first", caption)


def _regions(described: Described, X: Any, truth: IntVector | None) -> Html | None:
    model, basis = described.model, described.model.basis
    if model.n_features != 2 or len(model.classes) > MAX_REGIONS:
        return None
    vectors = _dense(basis.vectors) if isinstance(basis, KernelBasis) else None
    rows = None if X is None else _dense(model.rows(X))
    seen = [part for part in (vectors, rows) if part is not None and len(part)]
    if not seen:
        return None
    corners = np.vstack(seen)
    low, high = corners.min(axis=0), corners.max(axis=0)
    margin = np.where(high > low, 0.12 * (high - low), 1.0)
    axes = np.linspace(low - margin, high + margin, GRID_POINTS, axis=1)
    mesh = np.column_stack([part.ravel() for part in np.meshgrid(*axes)])
    proba = model.predict_proba(mesh).reshape(GRID_POINTS, GRID_POINTS, -1)
    points = None
    if rows is not None and truth is not None:
        points = (rows[:MAX_DRAWN_ROWS], truth[:MAX_DRAWN_ROWS])
    features = ["feature 0", "feature 1"] if model.feature_names is None else list(model.feature_names)
    svg = figures.regions(
        "regions", (axes[0], axes[1]), proba, points, vectors, (described.classes, features)
    )
    shown = "" if points is None else f" Dots: {count(len(points[0]), 'row')} of the data given."
    caption = (
        f"What the model says of the plane of its two features; the line is where two classes tie.{shown}"
    )
    return figure(svg, "Decision regions in the plane of the two features", caption)


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else np.asarray(X)
