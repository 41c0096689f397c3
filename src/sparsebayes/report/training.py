"""What a model says of its fit, in ``about``: a file may be anyone's, and nothing in it is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsebayes._typing import Vector
from sparsebayes.frozen import FrozenModel

MAX_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class Course:
    """One binary problem: columns by name, each as long as the others of its table."""

    problem: int
    history: dict[str, Vector]
    path: dict[str, Vector]
    folds: dict[str, Vector]
    taken: int | None  # the point of the path that is the model
    chosen_by: str | None


@dataclass(frozen=True, slots=True)
class Training:
    """How a model was fitted, as far as it says so."""

    estimator: str
    status: list[str] = field(default_factory=list)
    version: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    n_rows: int | None = None
    index_base: int = 0  # what the first feature is called, where features have no names
    class_rows: list[int] | None = None
    spread: Vector | None = None
    courses: list[Course] = field(default_factory=list)
    cross_validation: dict[str, Vector] = field(default_factory=dict)
    scoring: str = "accuracy"
    cv_taken: int | None = None

    @classmethod
    def of(cls, model: FrozenModel) -> Training:
        about = model.about
        folds = _mapping(about.get("cross_validation"))
        columns = _columns(folds, "n_relevant", "score")
        return cls(
            estimator=_text(about.get("estimator")) or "A model",
            status=[status for status in _list(about.get("status")) if isinstance(status, str)],
            version=_text(about.get("version")),
            parameters=dict(_mapping(about.get("parameters"))),
            n_rows=_index(about.get("rows"), 2**53),
            index_base=_index(about.get("index_base"), 2) or 0,
            class_rows=_whole_numbers(about.get("class_rows"), len(model.classes)),
            spread=_spread(about.get("spread"), len(model.basis.numbers)),
            courses=_courses(about.get("training"), model.n_problems),
            cross_validation=columns,
            scoring=_text(folds.get("scoring")) or "accuracy",
            cv_taken=_index(folds.get("taken"), _length(columns)),
        )


def _courses(value: Any, n_problems: int) -> list[Course]:
    courses = []
    for entry in map(_mapping, _list(value)):
        problem = _index(entry.get("problem"), n_problems)
        if problem is None:
            continue
        history, path = _mapping(entry.get("history")), _mapping(entry.get("path"))
        value_name = "criterion" if "criterion" in path else "evidence"
        path_columns = _columns(path, "n_relevant", value_name)
        courses.append(
            Course(
                problem,
                _columns(history, "iteration", "n_active", "objective", "gradient_norm"),
                path_columns,
                _columns(_mapping(entry.get("folds")), "n_relevant", "log_loss", "accuracy"),
                _index(path.get("taken"), _length(path_columns)),
                _text(path.get("chosen_by")),
            )
        )
    return courses


def _columns(table: Mapping[str, Any], *names: str) -> dict[str, Vector]:
    """These columns, NaN where they have no number; none at all unless all are there, of one length."""
    columns = {name: _list(table.get(name)) for name in names}
    if len({len(column) for column in columns.values()}) != 1:
        return {}
    if not 0 < len(columns[names[0]]) <= MAX_ENTRIES:
        return {}
    return {
        name: np.array([math.nan if (x := _number(entry)) is None else x for entry in column])
        for name, column in columns.items()
    }


def _length(columns: dict[str, Vector]) -> int:
    return len(next(iter(columns.values()))) if columns else 0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if is_number else None


def _index(value: Any, limit: int) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit else None


def _whole_numbers(value: Any, length: int) -> list[int] | None:
    numbers = [_index(entry, 2**53) for entry in _list(value)]
    known = [entry for entry in numbers if entry is not None]
    return known if len(known) == len(numbers) == length else None


def _spread(value: Any, length: int) -> Vector | None:
    spread = np.array([_number(entry) or 0.0 for entry in _list(value)])
    return spread if len(spread) == length and length and bool((spread > 0.0).all()) else None
