"""The section on the path of a fit: what fewer or more weights would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparsebayes._typing import Vector
from sparsebayes.report import figures
from sparsebayes.report.described import Described
from sparsebayes.report.page import Html, figure, paragraph, section, side_by_side
from sparsebayes.report.text import number, visible
from sparsebayes.report.training import Course


@dataclass(frozen=True, slots=True)
class JudgedPath:
    """Models of rising size, the mean of their binary problems, on held-out rows."""

    sizes: Vector
    accuracy: Vector
    log_loss: Vector
    taken: int  # which of them the model is


def path_section(described: Described, judged: JudgedPath | None) -> Html | None:
    size_label = f"{described.function}s kept"
    if described.model.n_problems > 1:
        size_label += " in a binary problem"
    pictures, said = _held_out_pictures(judged, size_label)
    folds, folds_words = _fold_pictures(described, size_label)
    criterion, criterion_words = _criterion_picture(described, size_label)
    pictures += folds + criterion
    said += folds_words + criterion_words
    if not pictures:
        return None
    return section("path", "Accuracy and sparsity", [paragraph(" ".join(said)), side_by_side(pictures)])


def _held_out_pictures(judged: JudgedPath | None, size_label: str) -> tuple[list[Html], list[str]]:
    if judged is None:
        return [], []
    pictures = []
    for name, word in (("accuracy", "Accuracy"), ("log_loss", "Log loss")):
        kind: Literal["shares", "losses"] = "shares" if name == "accuracy" else "losses"
        title, values = f"{word}, held-out rows", getattr(judged, name)
        curve = (judged.sizes, values, judged.taken)
        svg = figures.curve_by_size(f"path-{name}", [curve], (title, size_label, "this model"), kind)
        pictures.append(figure(svg, f"{title} against size; this model: {number(values[judged.taken])}"))
    return pictures, [
        "The models on the path of the fit were judged on the held-out rows, which did not choose among them."
    ]


def _fold_pictures(described: Described, size_label: str) -> tuple[list[Html], list[str]]:
    training = described.training
    pictures, said = [], []
    scores = training.cross_validation
    if scores:
        title = f"Cross-validated {visible(training.scoring, 20).replace('_', ' ')}"
        order = np.argsort(scores["n_relevant"], kind="stable")
        taken = None if training.cv_taken is None else int(np.flatnonzero(order == training.cv_taken)[0])
        kind: Literal["shares", "numbers"] = "shares" if "accuracy" in training.scoring else "numbers"
        curve = (scores["n_relevant"][order], scores["score"][order], taken)
        svg = figures.curve_by_size("cv", [curve], (title, size_label, "chosen"), kind)
        pictures.append(figure(svg, f"{title} against size"))
        said.append(
            "Cross-validation on the training rows chose the outer iteration at which the fit was stopped."
        )
    with_folds = [course for course in training.courses if course.folds]
    if with_folds:
        for name, title in (("accuracy", "Accuracy in folds"), ("log_loss", "Log loss in folds")):
            measured: Literal["shares", "losses"] = "shares" if name == "accuracy" else "losses"
            curves = [
                (course.folds["n_relevant"], course.folds[name], _taken_in_folds(described, course))
                for course in with_folds
            ]
            svg = figures.curve_by_size(f"folds-{name}", curves, (title, size_label, "chosen"), measured)
            pictures.append(figure(svg, f"{title} against size"))
        said.append("Cross-validation on the training rows chose the size of the model.")
    return pictures, said


def _taken_in_folds(described: Described, course: Course) -> int:
    size = int(np.diff(described.model.starts)[course.problem])
    return int(np.argmin(np.abs(course.folds["n_relevant"] - size)))


def _criterion_picture(described: Described, size_label: str) -> tuple[list[Html], list[str]]:
    """What the point of the path was chosen by; of many problems, above the least of each."""
    courses = [course for course in described.training.courses if course.path]
    if not courses:
        return [], []
    by_loss = "criterion" in courses[0].path
    name = "criterion" if by_loss else "evidence"
    title = "Leave-one-out loss" if by_loss else "Log evidence"
    curves = []
    for course in courses:
        values = course.path.get(name)
        if values is None or np.isnan(values).all():
            continue
        if len(courses) > 1:
            values = values - (np.nanmin(values) if by_loss else np.nanmax(values))
        curves.append((course.path["n_relevant"], values, course.taken))
    if not curves:
        return [], []
    over = "" if len(courses) == 1 else " over its least" if by_loss else " less its best"
    labels = (title + over, size_label, "this model" if len(courses) == 1 else "taken")
    kind: Literal["differences", "losses", "numbers"] = "losses" if by_loss else "numbers"
    svg = figures.curve_by_size("criterion", curves, labels, "differences" if len(courses) > 1 else kind)
    chosen = courses[0].chosen_by in ("leave-one-out loss", "evidence")
    what = "leave-one-out loss on the training rows" if by_loss else "evidence of the training rows"
    how = "the model was chosen by" if chosen else "along it, the page shows"
    said = f"The fit followed a path of models of falling size; {how} the {what}."
    if len(courses) > 1:
        n_problems = described.model.n_problems
        some = "" if len(courses) == n_problems else f", {len(courses)} of them shown"
        said += f" Each line is one of {n_problems} binary problems{some}; a dot is the size it took."
    return [figure(svg, f"{title} against size")], [said]
