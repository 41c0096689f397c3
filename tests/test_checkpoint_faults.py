"""Checkpoints that are damaged, and disks that are full."""

from __future__ import annotations

import builtins
import errno
import os
import shutil
from functools import partial

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from sparsebayes import CheckpointError, RVMClassifier, SBLClassifier, load_model
from sparsebayes.io import checked
from tests.killing import data, fingerprint, interrupted, resumed
from tests.problems import classification

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def damage(path, how):
    whole = path.read_bytes()
    if how == "cut":
        path.write_bytes(whole[:-7])
    elif how == "flipped":
        path.write_bytes(whole[:200] + bytes([whole[200] ^ 4]) + whole[201:])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["cut", "flipped", "empty", "gone"])
@pytest.mark.parametrize("suffix", ["state", "step"])
def test_where_the_newest_state_is_damaged_the_one_before_is_taken(tmp_path, how, suffix):
    whole = interrupted(tmp_path)
    damage(next(tmp_path.rglob(f"000004.{suffix}")), how)
    assert fingerprint(resumed(tmp_path)) == fingerprint(whole)


def test_where_no_state_is_whole_it_says_so(tmp_path):
    interrupted(tmp_path)
    for path in tmp_path.rglob("*.state"):
        damage(path, "flipped")
    with pytest.raises(CheckpointError, match=r"is damaged, older states too. Start anew with resume=False"):
        resumed(tmp_path)


def test_a_damaged_manifest_is_refused(tmp_path):
    interrupted(tmp_path)
    damage(tmp_path / "fit.checkpoint", "cut")
    with pytest.raises(CheckpointError, match="it should have"):
        resumed(tmp_path)


def test_stray_files_of_a_killed_writer_are_removed_unread(tmp_path):
    whole = interrupted(tmp_path)
    state = next(tmp_path.rglob("000004.state"))
    stray = state.with_name(".000005.state.0123456789abcdef.tmp")
    stray.write_bytes(state.read_bytes()[:100])
    shutil.copy(state, state.with_name("000005.state"))  # its .step was never written: it does not count
    assert fingerprint(resumed(tmp_path)) == fingerprint(whole)
    assert not stray.exists()


@pytest.mark.parametrize("name", ["notes.step", "4.step", "00000٤.step"])
def test_a_step_of_another_name_is_refused(tmp_path, name):
    interrupted(tmp_path)
    next(tmp_path.rglob("000004.step")).with_name(name).write_text("mine")
    with pytest.raises(CheckpointError, match=rf"{name}: it is not a step of this checkpoint\. Remove it"):
        resumed(tmp_path)


class FullDisk:
    """In place of ``open``: all files that are written share so many bytes."""

    def __init__(self, room):
        self.room = room

    def __call__(self, path, mode):
        file = builtins.open(path, mode)  # noqa: SIM115
        if mode == "xb":
            return SimpleFile(file, self)
        return file


class SimpleFile:
    def __init__(self, file, disk):
        self._file, self._disk = file, disk
        self.flush, self.fileno = file.flush, file.fileno

    def write(self, block):
        fits = bytes(block)[: self._disk.room]
        self._disk.room -= self._file.write(fits)
        if len(fits) < len(block):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()


@pytest.mark.parametrize("solver", ["dqn", "auto", "sequential"])
@pytest.mark.parametrize("room", [0, 30, 100, 300])
def test_a_full_disk_leaves_what_was_there(monkeypatch, tmp_path, solver, room):
    whole = interrupted(tmp_path, solver=solver)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with monkeypatch.context() as patched:
        patched.setattr(checked, "open", FullDisk(room), raising=False)
        with pytest.raises(OSError, match=r"The checkpoint could not be written .No space left") as caught:
            resumed(tmp_path, solver)
    assert caught.value.errno == errno.ENOSPC
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before
    assert not list(tmp_path.rglob(".*.tmp"))
    assert fingerprint(resumed(tmp_path, solver)) == fingerprint(whole)


def test_a_folder_that_cannot_be_written_is_known_before_the_fit(tmp_path):
    X, y, _ = data()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="The checkpoint could not be written"):
        SBLClassifier(checkpoint=tmp_path / "file").fit(X, y)
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("the superuser may write anywhere")
    clf = SBLClassifier(checkpoint=locked)
    with pytest.raises(PermissionError, match="The checkpoint could not be written"):
        clf.fit(X, y)
    with pytest.raises(NotFittedError):
        clf.predict(X)


def test_a_checkpoint_is_no_model_file(tmp_path):
    interrupted(tmp_path)
    with pytest.raises(ValueError, match="not a model file of sparsebayes"):
        load_model(next(tmp_path.rglob("000004.state")))


def test_folders_of_the_user_stay(tmp_path):
    mine = tmp_path / "run-2025-11" / "results"
    mine.mkdir(parents=True)
    (mine / "notes.txt").write_text("mine")
    (tmp_path / "run-notes.txt").write_text("mine too")
    X, y = classification(60, 4)
    for _ in range(2):
        SBLClassifier(checkpoint=tmp_path).fit(X, y)
    assert (mine / "notes.txt").read_text() == "mine"
    assert (tmp_path / "run-notes.txt").read_text() == "mine too"
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2


def test_another_function_is_another_fit(tmp_path):
    X, y = classification(60, 4)
    RVMClassifier(kernel=partial(rbf_kernel, gamma=0.1), checkpoint=tmp_path).fit(X, y)
    with pytest.raises(CheckpointError, match="kernel"):
        RVMClassifier(kernel=partial(rbf_kernel, gamma=5.0), checkpoint=tmp_path, resume=True).fit(X, y)
    with pytest.raises(CheckpointError, match="cannot be pickled"):
        RVMClassifier(kernel=lambda A, B: A @ B.T, checkpoint=tmp_path).fit(X, y)
