"""Fits that are killed between two states, in this process, and what there is to compare them by."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest
import scipy.sparse as sp

from sparsebayes import SBLClassifier
from sparsebayes import checkpoint as layer
from tests.models import rows, stored

CALLERS = {"checkpoint", "resume", "callbacks", "random_state"}


class Killed(BaseException):
    """Nothing in the package catches it, as nothing catches SIGKILL."""


def content(value):
    """All bits of a value, and nothing of where it lies in memory."""
    if sp.issparse(value):
        return [value.shape, content(value.data), content(value.indices), content(value.indptr)]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes()]
    if isinstance(value, Mapping):
        timed = ("seconds", "mean_fit_time", "std_fit_time")
        return {name: content(each) for name, each in value.items() if name not in timed}
    if isinstance(value, list | tuple):
        return [content(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: content(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return repr(value.item() if isinstance(value, np.generic) else value)


def fingerprint(clf):
    """Parameters, attributes and history, but for times."""
    return {name: content(value) for name, value in vars(clf).items() if name not in CALLERS}


def data(n_classes=2, storage="dense", weighted=False, n=60):
    X, y = rows(n, 0, n_classes)
    weight = np.random.default_rng(1).integers(0, 3, size=n).astype(float) if weighted else None
    return stored(X, storage), y, weight


def wide(n=50, m=900):
    """More columns than the exact posterior is for."""
    X = sp.random(n, m, 0.1, "csr", random_state=0)
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() > np.median(np.asarray(X[:, :20].sum(axis=1)))
    return X, y.astype(int), None


def dying_after(n_states):
    """In place of :meth:`FolderKeeper.save`: the process is as good as dead once so many states are kept."""
    save, saved = layer.FolderKeeper.save, []

    def save_and_die(self, step):
        save(self, step)
        saved.append(step)
        if len(saved) == n_states:
            raise Killed

    return save_and_die


def killed_again_and_again(make, arguments, folder, stride=1):
    """A fit that gets no further than ``stride`` states before it is killed; and how often it was."""
    for n_kills in range(10_000):
        with pytest.MonkeyPatch().context() as patched:
            patched.setattr(layer.FolderKeeper, "save", dying_after(stride))
            clf = make(checkpoint=folder, resume=True)
            try:
                return clf.fit(*arguments), n_kills
            except Killed:
                assert not [name for name in vars(clf) if name.endswith("_")]
    raise AssertionError("it does not get on")


def interrupted(folder, n_states=4, solver="dqn"):
    """Leave so many states of a fit in a folder; returns what the fit comes to."""
    with pytest.MonkeyPatch().context() as patched:
        patched.setattr(layer.FolderKeeper, "save", dying_after(n_states))
        with pytest.raises(Killed):
            SBLClassifier(solver, max_iter=8, checkpoint=folder).fit(*data()[:2])
    return SBLClassifier(solver, max_iter=8).fit(*data()[:2])


def resumed(folder, solver="dqn"):
    return SBLClassifier(solver, max_iter=8, checkpoint=folder, resume=True).fit(*data()[:2])
