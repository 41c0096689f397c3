"""What a frozen model remembers of its fit: plain values, few enough to be carried in every file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sparsebayes._typing import AnyArray, IntVector
from sparsebayes.estimators._kept import OF_NO_EFFECT
from sparsebayes.estimators._problem import FoldScores
from sparsebayes.evidence import Record

# Of all that a fit adds to ``about``, as JSON.
MAX_BYTES = 1 << 15
MAX_POINTS = 120  # of a curve; more than a picture shows
MAX_PROBLEMS = 60  # whose curves are kept
MAX_LISTED = 1000  # classes or functions, of which a number each is kept
DIGITS = 5
BYTES_OF_A_POINT = 30  # at least, in all columns together


@dataclass(frozen=True, slots=True)
class Course:
    """What one binary problem went through."""

    history: Sequence[Record]
    n_relevant: int
    follows_path: bool
    has_intercept: bool
    folds: FoldScores | None
    taken_by_size: bool = False  # by the user, after the fit

    def thinned(self, n_points: int) -> dict[str, Any]:
        """Columns of at most so many entries each."""
        records = list(self.history)
        course: dict[str, Any] = {"history": _history(records, n_points)}
        if self.follows_path:
            # The last record is the model that was settled on; its iteration is no point of the path.
            course["path"] = self._path(records[:-1], n_points)
        if self.folds is not None:
            course["folds"] = _folds(self.folds, n_points)
        return course

    def _path(self, points: list[Record], n_points: int) -> dict[str, Any]:
        sizes = np.array([point["n_active"] - int(self.has_intercept) for point in points])
        taken = int(np.argmin(np.abs(sizes - self.n_relevant)))
        chosen_by = _chosen_by(points)
        by_loss = chosen_by == "leave-one-out loss"
        name: Literal["criterion", "evidence"] = "criterion" if by_loss else "evidence"
        shown = evenly(len(points), n_points, taken)
        return {
            "chosen_by": "size" if self.taken_by_size else chosen_by,
            "taken": int(np.searchsorted(shown, taken)),
            "n_relevant": sizes[shown].tolist(),
            name: [rounded(points[k][name]) for k in shown],
        }


def _history(records: list[Record], n_points: int) -> dict[str, Any]:
    """Not the seconds: the same fit is to give the same file."""
    shown = [records[k] for k in evenly(len(records), n_points)]
    return {
        "iteration": [record["iteration"] for record in shown],
        "n_active": [record["n_active"] for record in shown],
        "objective": [rounded(record["objective"]) for record in shown],
        "gradient_norm": [rounded(record["gradient_norm"], 3) for record in shown],
    }


def _chosen_by(points: list[Record]) -> str:
    if any(point["criterion"] is None for point in points):
        return "size"
    by_evidence = all(point["criterion"] == -(point["evidence"] or 0.0) for point in points)
    return "evidence" if by_evidence else "leave-one-out loss"


def _folds(scores: FoldScores, n_points: int) -> dict[str, Any]:
    shown = evenly(len(scores.n_relevant), n_points)
    return {
        "n_relevant": scores.n_relevant[shown].tolist(),
        "log_loss": [rounded(loss) for loss in scores.log_loss[shown]],
        "accuracy": [rounded(share) for share in scores.accuracy[shown]],
    }


def evenly(length: int, n_points: int, *among: int) -> IntVector:
    """At most so many positions of a sequence, both ends and those that must be ``among`` them."""
    if length <= n_points:
        return np.arange(length)
    spread = np.linspace(0, length - 1, max(n_points - len(among), 2)).round().astype(np.intp)
    return np.unique(np.concatenate([spread, np.array(among, dtype=np.intp)]))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """A number as JSON may have it: whole, or of few digits, or None where it is not finite."""
    if value is None or isinstance(value, int | np.integer):
        return value if value is None else int(value)
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def training(courses: Sequence[Course], max_bytes: int = MAX_BYTES) -> list[dict[str, Any]]:
    """The courses of all problems, or of some of them, with as many points as ``max_bytes`` allow."""
    problems = evenly(len(courses), MAX_PROBLEMS)
    n_points = min(MAX_POINTS, max_bytes // (BYTES_OF_A_POINT * len(problems)))
    while n_points >= 2:
        entries = [{"problem": int(k), **courses[k].thinned(n_points)} for k in problems]
        if len(json.dumps(entries)) <= max_bytes:
            return entries
        n_points = n_points * 3 // 4
    return []


def listed(values: AnyArray | None) -> list[Any] | None:
    """All of them, or None where they are too many."""
    return None if values is None or len(values) > MAX_LISTED else [rounded(value) for value in values]


def changed(parameters: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that matter and are not at their defaults, as far as they are plain values."""
    plain = {name: _plain(value) for name, value in parameters.items() if name not in OF_NO_EFFECT}
    return {name: value for name, value in plain.items() if value is not None and value != defaults.get(name)}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, str | bool | int) else None
