"""The sections on held-out rows: how a model does there, and how its rivals do."""

from __future__ import annotations

import numpy as np

from sparsebayes._typing import IntVector
from sparsebayes.report import figures
from sparsebayes.report.described import Described
from sparsebayes.report.evaluation import Accuracy, Evaluation
from sparsebayes.report.page import (
    Cell,
    Html,
    Tinted,
    details,
    figure,
    paragraph,
    section,
    side_by_side,
    table,
)
from sparsebayes.report.rivals import Rival
from sparsebayes.report.text import count, fixed, percent, visible, whole

MAX_CONFUSION = 15
MAX_CONFUSED = 20
MAX_CLASSES = 300


def interval(accuracy: Accuracy) -> str:
    low, high = accuracy.interval
    return f"{percent(low)} to {percent(high)}"


def judged_section(described: Described, found: Evaluation) -> Html:
    accuracy = found.accuracy
    counts = found.confusion.sum(axis=1)
    most = int(np.argmax(counts))
    text = (
        f"Of {count(accuracy.n, 'row')} given to this report, {whole(accuracy.correct)} are classified "
        f"correctly: {percent(accuracy.share)}, with a 95% interval from {interval(accuracy)}. Always saying "
        f"{described.classes[most]}, the most frequent class among them, would be right for "
        f"{percent(counts[most] / accuracy.n)}. "
        f"The log loss is {fixed(found.log_loss)}"
        f"{_auc_words(described, found)}. Whether the model was fitted to "
        "some of these rows, the report cannot know."
    )
    parts = [paragraph(text), _confusion(described, found)]
    n_classes = len(described.classes)
    if n_classes > 2 and n_classes <= MAX_CLASSES:
        by_class = _class_table(described, found)
        long = n_classes > MAX_CONFUSION
        parts.append(details(f"The {n_classes} classes one by one", [by_class]) if long else by_class)
    parts.append(side_by_side(_curves(described, found)))
    return section("judged", "On held-out rows", parts)


def _auc_words(described: Described, found: Evaluation) -> str:
    if not np.isfinite(found.auc):
        return ""
    if len(described.classes) == 2:
        return f", the area under the ROC curve (AUC) {fixed(found.auc)}"
    return f", the area under the ROC curve (AUC) {fixed(found.auc)} on average over classes"


def _curves(described: Described, found: Evaluation) -> list[Html]:
    classes = described.classes
    codes = [1] if len(classes) == 2 else list(range(len(classes)))
    curves = [(found.roc(code), classes[code]) for code in codes]
    defined = [(curve, label) for curve, label in curves if np.isfinite(curve.auc)]
    pictures = []
    if defined:
        svg = figures.roc("roc", [curve for curve, _ in defined], [label for _, label in defined])
        against = (
            f"Rows of {classes[1]} found, against rows of {classes[0]} taken for them."
            if len(classes) == 2
            else "Each class against the others, one curve a class."
        )
        pictures.append(figure(svg, f"ROC curve, AUC {fixed(found.auc)}", against))
    calibration = found.calibration
    if len(classes) == 2:
        short = visible(classes[1], 18)
        said, happened = f"probability of {short}", f"share of {short}"
    else:
        said, happened = "probability of the predicted class", "share that is right"
    svg = figures.calibration("calibration", calibration, said, happened)
    caption = (
        f"Expected calibration error {fixed(calibration.error)}, over {len(calibration.counts)} bins of "
        "equal width; grey: rows in each bin; lines: 95% intervals."
    )
    pictures.append(figure(svg, f"Calibration curve, {caption}", caption))
    return pictures


def _confusion(described: Described, found: Evaluation) -> Html:
    classes, confusion = described.classes, found.confusion
    if len(classes) > MAX_CONFUSION:
        return _most_confused(described, confusion)
    rows: list[list[Cell]] = []
    for code, label in enumerate(classes):
        total = max(int(confusion[code].sum()), 1)
        rows.append(
            [
                label,
                *(
                    Tinted(whole(int(n)), n / total if j == code else -np.sqrt(n / total))
                    for j, n in enumerate(confusion[code].tolist())
                ),
            ]
        )
    caption = "Confusion matrix: true classes down, predicted ones across; tinted by shares of the true class"
    return table(caption, ["true ↓ predicted →", *classes], rows, "heat")


def _most_confused(described: Described, confusion: IntVector) -> Html:
    off = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-off.ravel(), kind="stable")[:MAX_CONFUSED]
    rows: list[list[Cell]] = []
    for place in order:
        true, predicted = divmod(int(place), len(confusion))
        if off[true, predicted]:
            share = off[true, predicted] / confusion[true].sum()
            cells = (described.classes[predicted], whole(int(off[true, predicted])), percent(share))
            rows.append([described.classes[true], *cells])
    caption = f"The most frequent confusions, of {count(int(off.sum()), 'error')} in all"
    return table(caption, ["true class", "predicted", "rows", "of the class"], rows, "names", words=2)


def _class_table(described: Described, found: Evaluation) -> Html:
    confusion = found.confusion
    rows: list[list[Cell]] = []
    for code, label in enumerate(described.classes):
        hits, total, said = confusion[code, code], confusion[code].sum(), confusion[:, code].sum()
        rows.append(
            [
                label,
                whole(int(total)),
                percent(hits / total if total else None),
                percent(hits / said if said else None),
                fixed(found.roc(code).auc),
            ]
        )
    header = ["class", "rows", "recall", "precision", "AUC"]
    return table("By class; AUC is that of the class against all others", header, rows, "names")


def rivals_section(described: Described, found: Evaluation, rivals: list[Rival], n_train: int) -> Html:
    name = described.training.estimator
    n_stored = len(described.model.weights) + described.model.n_problems + _n_basis(described)
    size = count(described.n_functions, described.function)
    ours = Rival(name, "no parameter was searched for this report", n_stored, size, found)
    everyone = [ours, *rivals]
    text = (
        f"The rivals were tuned and fitted on the {count(n_train, 'training row')} given to this report, and "
        f"all are judged on the same {count(found.accuracy.n, 'held-out row')}."
    )
    rows: list[list[Cell]] = [
        [
            rival.name,
            percent(rival.evaluation.accuracy.share),
            interval(rival.evaluation.accuracy),
            fixed(rival.evaluation.log_loss),
            fixed(rival.evaluation.auc),
            rival.size,
            whole(rival.n_stored),
        ]
        for rival in everyone
    ]
    header = ["", "accuracy", "95% interval", "log loss", "AUC", "keeps", "numbers to store"]
    comparison = table("The model and its rivals on the held-out rows", header, rows, "names")
    drawn = [
        (rival.name, rival.n_stored, rival.evaluation.accuracy.share, rival.evaluation.accuracy.interval)
        for rival in everyone
    ]
    svg = figures.accuracy_by_size("rivals", drawn)
    label = "Accuracy against size: " + ", ".join(f"{row[0]} {percent(row[2])}" for row in drawn)
    tuning = [paragraph(f"{rival.name}: {rival.tuning}.", "note") for rival in rivals]
    caption = "Lines: 95% intervals. Indices, where a model needs them, are not counted."
    return section(
        "rivals", "Beside rivals", [paragraph(text), comparison, figure(svg, label, caption), *tuning]
    )


def _n_basis(described: Described) -> int:
    """Numbers in the vectors or nodes of the model."""
    basis = described.model.basis
    stored = getattr(basis, "vectors", getattr(basis, "weights", None))
    if stored is None:
        return 0
    return int(stored.nnz if hasattr(stored, "nnz") else stored.size) + len(getattr(basis, "biases", ()))
