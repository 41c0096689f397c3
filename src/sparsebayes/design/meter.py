"""Counts the products with X and the seconds they take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from sparsebayes._typing import IntVector, Mask, Matrix, RowValues, Vector
from sparsebayes.design.base import Design

Product = TypeVar("Product")


class Meter:
    """``counts`` of each verb since the start, and ``seconds`` spent in all of them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def run(self, verb: str, product: Callable[..., Product], *arguments: RowValues) -> Product:
        start = time.perf_counter()
        result = product(*arguments)
        self.seconds += time.perf_counter() - start
        self.counts[verb] += 1
        return result


class Metered:
    """A design whose products are reported to a meter."""

    def __init__(self, inner: Design, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter

    @property
    def shape(self) -> tuple[int, int]:
        return self._inner.shape

    @property
    def columns(self) -> IntVector:
        return self._inner.columns

    def matvec(self, w: Vector) -> RowValues:
        return self._meter.run("matvec", self._inner.matvec, w)

    def rmatvec(self, r: RowValues, out: Vector | None = None) -> Vector:
        return self._meter.run("rmatvec", self._inner.rmatvec, r, out)

    def sq_rmatvec(self, h: RowValues) -> Vector:
        return self._meter.run("sq_rmatvec", self._inner.sq_rmatvec, h)

    def rmatmat(self, R: Matrix) -> Matrix:
        return self._meter.run("rmatmat", self._inner.rmatmat, R)

    def gram(self, h: RowValues) -> Matrix:
        return self._meter.run("gram", self._inner.gram, h)

    def row_blocks(self) -> Iterator[tuple[slice, Matrix]]:
        self._meter.counts["row_blocks"] += 1
        return self._inner.row_blocks()

    def take(self, keep: Mask) -> Design:
        return Metered(self._inner.take(keep), self._meter)

    def narrow(self, keep: Mask) -> Design:
        return Metered(self._inner.narrow(keep), self._meter)
