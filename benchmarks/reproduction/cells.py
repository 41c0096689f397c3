"""A cell: one fit, on one split, at one point of a model's grid. Its records, in a file a set and model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS
from benchmarks.reproduction.datasets import Split
from benchmarks.rivals.records import versions

# Raised by hand when the numerics change: records of another recipe are not used.
RECIPE = 1
CELLS = RESULTS / "cells"

Record = dict[str, Any]
Key = tuple[tuple[tuple[str, float], ...], str]  # point and split


@dataclass(frozen=True, slots=True)
class Cell:
    data: str
    model: str
    point: tuple[tuple[str, float], ...]
    split: Split

    @classmethod
    def at(cls, data: str, model: str, point: dict[str, float], split: Split) -> Cell:
        return cls(data, model, tuple(sorted(point.items())), split)

    @property
    def key(self) -> Key:
        return self.point, self.split.name


class Store:
    """Append-only: the last line for a key counts, and a line that was cut short does not."""

    def __init__(self, folder: Path = CELLS, recipe: int = RECIPE):
        self.folder, self.recipe = folder, recipe
        self._known: dict[tuple[str, str], dict[Key, Record]] = {}
        self._said: set[Path] = set()

    def path(self, data: str, model: str) -> Path:
        return self.folder / f"{data}.{model}.jsonl".replace(" ", "_")

    def records(self, data: str, model: str) -> dict[Key, Record]:
        """By point and split; of this recipe, and of the data that the last line is of."""
        if (data, model) not in self._known:
            lines = [record for record in _lines(self.path(data, model)) if "run" not in record]
            lines = [record for record in lines if record["recipe"] == self.recipe]
            digest = lines[-1]["data"] if lines else None
            self._known[data, model] = {_key(each): each for each in lines if each["data"] == digest}
        return self._known[data, model]

    def record(self, cell: Cell) -> Record | None:
        return self.records(cell.data, cell.model).get(cell.key)

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        return [cell for cell in dict.fromkeys(cells) if self.record(cell) is None]

    def append(self, cell: Cell, outcome: Record, command: str = "") -> Record:
        """The outcome says of which data it is, except where there was none to say it."""
        known = self.records(cell.data, cell.model)
        digest = next(iter(known.values()))["data"] if known else None
        record: Record = {"recipe": self.recipe, "data": digest, "point": dict(cell.point)}
        record |= {"split": cell.split.name, **outcome}
        path = self.path(cell.data, cell.model)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _text(record)
        if path not in self._said:
            self._said.add(path)
            today = datetime.now(UTC).date().isoformat()
            text = _text({"run": {"date": today, "versions": versions(), "command": command}}) + text
            if path.exists() and not path.read_bytes().endswith(b"\n"):
                text = "\n" + text
        with path.open("a") as file:
            file.write(text)
        if record["data"] != digest:
            known.clear()
        known[cell.key] = record
        return record


def _lines(path: Path) -> list[Record]:
    if not path.exists():
        return []
    records = []
    for line in path.read_text().splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:  # the machine went down while it was written
            continue
    return records


def _key(record: Record) -> Key:
    return tuple(sorted(record["point"].items())), record["split"]


def _text(record: Record) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"
