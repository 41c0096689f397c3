"""What an outer loop tells its keeper after an iteration, and how it goes on from what was kept.

Products are summed over blocks, and where columns are computed their entries come in blocks too. So that a
loop which goes on has the bits of one that never stopped, columns are dropped again in the order they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from sparsebayes._typing import AnyArray, Mask, Vector
from sparsebayes.checkpoint import Keeper, Step, packed, unpacked
from sparsebayes.design import Design
from sparsebayes.evidence.fit import FitStatus, Record, State


@dataclass(frozen=True, slots=True)
class Iteration:
    """An outer iteration as it is kept; ``status`` is why the loop stopped after it, if it did."""

    record: Record
    status: FitStatus | None
    step: Step

    @classmethod
    def of(cls, step: Step) -> Iteration:
        status = step.facts["status"]
        return cls(cast(Record, step.facts["record"]), None if status is None else FitStatus[status], step)

    def keep(self, length: int) -> Mask:
        """Which columns, of so many, it kept."""
        return unpacked(self.step.lasting["keep"], length)

    def has(self, name: str) -> bool:
        return name in self.step.latest or name in self.step.lasting

    def __getitem__(self, name: str) -> AnyArray:
        return self.step.latest[name] if name in self.step.latest else self.step.lasting[name]


def kept_iteration(
    record: Record,
    status: FitStatus | None,
    *,
    keep: Mask | None = None,
    lasting: dict[str, AnyArray] | None = None,
    latest: dict[str, AnyArray] | None = None,
    **facts: object,
) -> Step:
    arrays = dict(lasting or {}) if keep is None else {"keep": packed(keep), **(lasting or {})}
    name = None if status is None else status.name
    return Step({"record": dict(record), "status": name, **facts}, arrays, latest or {})


def iterations(steps: Iterator[Step]) -> Iterator[Iteration]:
    return map(Iteration.of, steps)


@dataclass(slots=True)
class Standing:
    """Where a loop that only ever prunes stands."""

    design: Design
    w: Vector
    alpha: Vector
    history: list[Record]
    status: FitStatus | None

    def left(self, max_iter: int) -> range:
        """Numbers of the iterations to come."""
        return range(len(self.history) + 1, max_iter + 1) if self.status is None else range(0)


def resumed(
    keeper: Keeper, design: Design, w: Vector, alpha: Vector, callback: Callable[[State], bool]
) -> Standing:
    """After the iterations that were kept, or at the start; ``callback`` sees those that are kept whole."""
    standing = Standing(design, w, alpha, [], None)
    for iteration in iterations(keeper.past()):
        keep = iteration.keep(standing.design.shape[1])
        if not keep.all():
            standing.design = standing.design.narrow(keep)
        standing.history.append(iteration.record)
        standing.status = iteration.status
        if iteration.has("w"):
            standing.w, standing.alpha = iteration["w"], iteration["alpha"]
            callback(State(standing.w, standing.alpha, standing.design.columns, iteration.record))
    return standing
