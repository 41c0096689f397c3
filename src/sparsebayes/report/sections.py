"""The sections on the fit and the model as C; and what stands above all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from sparsebayes.export import export_c
from sparsebayes.report import figures
from sparsebayes.report.described import Described
from sparsebayes.report.evaluation import Evaluation
from sparsebayes.report.judged import interval
from sparsebayes.report.page import (
    Cell,
    Html,
    Text,
    details,
    facts,
    figure,
    paragraph,
    section,
    side_by_side,
    table,
)
from sparsebayes.report.text import fixed, number, percent, visible, whole

MAX_QUANTISE_ROWS = 2000
MAX_CLASSES = 60
HISTORY = [
    ("n_active", "Active weights", False),
    ("objective", "Objective", True),
    ("gradient_norm", "Norm of the gradient", True),
]


@dataclass(frozen=True, slots=True)
class CSize:
    """Bytes of the constants of a C program; where it is not to be had, why."""

    name: str
    n_bytes: int | None
    same_labels: float | None = None
    largest_difference: float | None = None
    reason: str = ""


def c_sizes(described: Described, rows: Any) -> list[CSize]:
    """As the exporter makes them; whole numbers only where there are rows to round by."""
    kinds: list[tuple[str, dict[str, Any]]] = [("double", {}), ("float", {"dtype": "float"})]
    if rows is not None:
        few = rows[:MAX_QUANTISE_ROWS]
        whole_numbers = ("int16", "int8")
        kinds += [
            (f"{kind}, float", {"dtype": "float", "quantise": kind, "X": few}) for kind in whole_numbers
        ]
    with TemporaryDirectory() as folder:
        return [_c_size(described, name, f"{folder}/model.c", options) for name, options in kinds]


def _c_size(described: Described, name: str, path: str, options: dict[str, Any]) -> CSize:
    try:
        export = export_c(described.model, path, **options)
    except ValueError as error:  # a number that single precision cannot hold
        return CSize(name, None, reason=str(error))
    agreement = export.agreement
    if agreement is None:
        return CSize(name, export.table_bytes)
    return CSize(name, export.table_bytes, agreement.same_labels, agreement.largest_difference)


def lead(described: Described, found: Evaluation | None, sizes: Sequence[CSize]) -> list[Text]:
    parts: list[Text] = [paragraph(described.sentence(), "lead")]
    structure = described.structure()
    if structure is not None:
        parts.append(paragraph(structure))
    candidates = "" if described.n_candidates is None else f" of {whole(described.n_candidates)}"
    kept = described.function.capitalize() + "s kept"
    entries = [(kept, f"{whole(described.n_functions)}{candidates}", "")]
    if found is not None:
        entries.append(("Accuracy, held out", percent(found.accuracy.share), interval(found.accuracy)))
        entries.append(("Log loss, held out", fixed(found.log_loss), ""))
    if described.training.n_rows is not None:
        entries.append(("Training rows", whole(described.training.n_rows), ""))
    smallest = [size for size in sizes if size.name == "float" and size.n_bytes is not None]
    entries += [("As C", f"{whole(size.n_bytes or 0)} bytes", "constants, as float") for size in smallest]
    parts.append(facts(entries))
    return parts


def training_section(described: Described) -> Html | None:
    training = described.training
    parts: list[Text] = []
    if training.status:
        parts.append(paragraph(_status_words(training.status)))
    pictures = [
        (figures.history(f"history-{column}", training.courses, column, title, may_log=may_log), title)
        for column, title, may_log in HISTORY
    ]
    known = [figure(svg, f"{title} by iteration") for svg, title in pictures if svg is not None]
    if known:
        parts.append(side_by_side(known))
        parts.append(paragraph(_history_note(described), "note"))
    if training.class_rows is not None and len(training.class_rows) <= MAX_CLASSES:
        parts.append(_class_rows(described, training.class_rows))
    if training.parameters:
        rows: list[list[Cell]] = [
            [visible(str(name)), visible(str(value))] for name, value in training.parameters.items()
        ]
        parts.append(
            table("Parameters that are not at their defaults", ["parameter", "value"], rows, words=2)
        )
    if not parts:
        return None
    return section("training", "How it was fitted", parts)


def _status_words(status: Sequence[str]) -> str:
    """The statuses, each once, with how many problems ended so."""
    found = {text: status.count(text) for text in status}
    if len(status) == 1:
        return f"Solver {visible(status[0], 200)}."
    return " ".join(
        f"Solver {visible(text, 200)} ({n} of {len(status)} problems)." for text, n in found.items()
    )


def _history_note(described: Described) -> str:
    courses = described.training.courses
    notes = ["Active weights include the intercept."]
    if len(courses) > 1:
        which = "" if len(courses) == described.model.n_problems else f", {len(courses)} of them shown"
        notes.append(f"Each line is one of {described.model.n_problems} binary problems{which}.")
    if any(course.taken is not None for course in courses):
        notes.append("Orange: the model that the fit settled on.")
    return " ".join(notes)


def _class_rows(described: Described, class_rows: list[int]) -> Html:
    total = max(sum(class_rows), 1)
    rows: list[list[Cell]] = [
        [label, whole(n), percent(n / total)] for label, n in zip(described.classes, class_rows, strict=True)
    ]
    listing = table("Training rows by class", ["class", "rows", "share"], rows, "names")
    return listing if len(rows) <= 6 else details("Training rows by class", [listing])


def _agreement(size: CSize) -> list[str]:
    if size.same_labels is None:
        return ["–", "–"]
    return [percent(size.same_labels, 2), number(size.largest_difference, 2)]


def c_section(sizes: Sequence[CSize]) -> Html:
    text = (
        "Bytes of the constants that export_c writes: weights, indices, intercepts, vectors or nodes. "
        "They are most of what a model takes of a program; its code, a few hundred bytes to a few kilobytes, "
        "depends on the compiler."
    )
    quantised = [size for size in sizes if size.same_labels is not None]
    rows: list[list[Cell]] = [
        [
            size.name,
            "–" if size.n_bytes is None else whole(size.n_bytes),
            *_agreement(size)[: 2 * bool(quantised)],
        ]
        for size in sizes
    ]
    header = ["tables in", "bytes"]
    if quantised:
        header += ["same labels", "largest change of a probability"]
    parts: list[Text] = [paragraph(text), table("Size as C", header, rows)]
    if not quantised:
        parts.append(
            paragraph("Tables of whole numbers need rows to round by: give the report some.", "note")
        )
    parts += [paragraph(f"{size.name}: {visible(size.reason, 300)}", "note") for size in sizes if size.reason]
    return section("c", "As a C program", parts)
