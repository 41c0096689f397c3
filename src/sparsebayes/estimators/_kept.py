"""What a fit keeps on disk while it runs, seen from an estimator."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from sparsebayes._typing import AnyArray
from sparsebayes.checkpoint import NO_KEEPER, Checkpoint, CheckpointError, Keeper, digest, open_checkpoint
from sparsebayes.design import RowBlocks

# Parameters that no model depends on; of a warm start, what it begins with counts.
OF_NO_EFFECT = {"callbacks", "checkpoint", "n_jobs", "resume", "verbose", "warm_start"}


class Kept:
    """The checkpoint of a fit, and what a fit without one has in its place."""

    def __init__(self, checkpoint: Checkpoint | None, random_state: Any) -> None:
        self._checkpoint = checkpoint
        self._random_state = random_state
        self._rng: Any = None
        self._quiet_fits = count(1)
        self.solutions: list[Any] | None = None
        """What the fit is to come to, where it was found on the way to the basis."""

    @classmethod
    def of(cls, estimator: Any, folder: Any, resume: bool, data: Iterable[Any], **chosen: Any) -> Kept:
        """For a fit of the estimator on ``data``, with what was ``chosen`` besides its parameters."""
        if folder is None:
            if resume:
                raise ValueError(
                    f"{type(estimator).__name__}(resume=True) goes on from a checkpoint: name its folder by "
                    "the 'checkpoint' parameter."
                )
            return cls(None, estimator.random_state)
        # Callbacks are shown all iterations, those before an interruption too, so that what they remember is
        # whole. A fit without any has not kept what they would be shown.
        some = estimator.callbacks is not None
        parameters = {**described(estimator.get_params(deep=False)), **chosen, "callbacks": some}
        checkpoint = open_checkpoint(folder, data_digest(data), parameters, resume, keep_all=some)
        return cls(checkpoint, estimator.random_state)

    @property
    def folder(self) -> Path | None:
        return None if self._checkpoint is None else self._checkpoint.folder

    def keeper(self, key: str) -> Keeper:
        return NO_KEEPER if self._checkpoint is None else self._checkpoint.keeper(key)

    def keeper_of_quiet_fit(self) -> Keeper:
        """For the next of the fits on the way to the model, which come in the same order every time."""
        return self.keeper(f"choice-{next(self._quiet_fits)}")

    def recall(self, name: str, make: Callable[[], Mapping[str, AnyArray]]) -> Mapping[str, AnyArray]:
        return make() if self._checkpoint is None else self._checkpoint.recall(name, make)

    def rng(self) -> Any:
        """As ``check_random_state`` gives it; when a fit goes on, as it was when that fit began."""
        if self._checkpoint is None or isinstance(self._random_state, Integral):
            return check_random_state(self._random_state)
        if self._rng is None:
            self._rng = check_random_state(self._random_state)
            began = _random_arrays(self._rng)
            recalled = self._checkpoint.recall("random", lambda: began)
            if recalled is not began:
                self._rng = _random_state(recalled)
        return self._rng


def described(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that matter, in a form that is the same in another process."""
    return {name: _described(each) for name, each in sorted(parameters.items()) if name not in OF_NO_EFFECT}


def _described(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float | np.generic):
        return value
    if isinstance(value, list | tuple):
        return [_described(each) for each in value]
    if isinstance(value, dict):
        return sorted([repr(key), _described(each)] for key, each in value.items())
    if isinstance(value, np.ndarray):
        return f"array {digest(value)}"
    kind = value if hasattr(value, "__qualname__") else type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return name  # its state is kept apart
    try:
        return f"{name} {digest(np.frombuffer(pickle.dumps(value), dtype=np.uint8))}"
    except Exception as error:  # whatever an object's own code raises
        raise CheckpointError(
            f"A checkpoint must know its fit's parameters again, but {value!r} cannot be pickled ({error}): "
            "give a function of a module instead."
        ) from None


def data_digest(data: Iterable[Any]) -> str:
    parts: list[Any] = []
    for each in data:
        if isinstance(each, RowBlocks):
            parts += [each.shape, *each.crew.each(_block_digest, each.blocks)]
        elif sp.issparse(each):
            parts += [each.format, each.shape, each.data, each.indices, each.indptr]
        else:
            parts.append(each)
    return digest(*parts)


def _block_digest(X: Any) -> str:
    return data_digest([X])


def arrays_of(estimator: Any) -> list[Any]:
    """All that a fit left behind in arrays: what a warm start begins with."""
    values = (value for _, value in sorted(vars(estimator).items()))
    return [value for value in values if isinstance(value, np.ndarray) or sp.issparse(value)]


@contextmanager
def whole_or_not_at_all(estimator: Any) -> Iterator[None]:
    """An estimator whose fit fails, or is interrupted, is as it was before."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _random_arrays(rng: Any) -> dict[str, AnyArray]:
    state = rng.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise CheckpointError(
            f"A checkpoint cannot store a random_state of {state['bit_generator']}: give an integer."
        )
    return {
        "key": state["state"]["key"].astype(np.uint32),
        "position": np.array([state["state"]["pos"], state["has_gauss"]], dtype=np.int64),
        "gauss": np.array([state["gauss"]], dtype=np.float64),
    }


def _random_state(arrays: Mapping[str, AnyArray]) -> Any:
    rng = np.random.RandomState()
    position, has_gauss = arrays["position"].tolist()
    rng.set_state(("MT19937", arrays["key"], position, has_gauss, float(arrays["gauss"][0])))
    return rng
