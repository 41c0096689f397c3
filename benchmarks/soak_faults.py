"""Faults at random moments, in processes of their own: what is left of the files, and how soon a fit is back.

Run ``python -m benchmarks.soak_faults [--times 50]``. Kills within a fit are those of ``soak_checkpoints``,
kills of workers those of ``soak_workers``. The tests take the same faults at three moments each.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import Figure, judge, read, save, say
from sparsebayes import (
    CheckpointError,
    FrozenModel,
    ModelFileError,
    RVMClassifier,
    SBELMClassifier,
    SBLClassifier,
    load_model,
    save_model,
)
from sparsebayes.basis import IdentityBasis
from sparsebayes.io import BlockStore, StoreError

MODULE = "benchmarks.soak_faults"
SMALL_DISK = 1 << 20
PAGE = 4096
NOBODY = 65534


class Wrong(Exception):
    """What must not come of a fault."""


# What is written


def model(number: int) -> FrozenModel:
    """Some 100 kB, all of it told by its number."""
    weights = np.random.default_rng(number).normal(size=5000)
    return FrozenModel(
        classes=np.arange(2),
        n_features=5000,
        basis=IdentityBasis(5000),
        weights=weights,
        columns=np.arange(5000),
        starts=np.array([0, 5000]),
        intercepts=np.array([float(number)]),
        scheme="ovo",
    )


def is_model(path: Path, numbers: tuple[int, ...]) -> bool:
    found = load_model(path)
    return any(np.array_equal(found.weights, model(number).weights) for number in numbers)


def rows(n: int = 60, m: int = 30) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.0).astype(int)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Processes that do something until they are killed, or in a place of their own


def child(name: str, *arguments: Any, prefix: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[str]:
    command = [*prefix, sys.executable, "-m", MODULE, "--child", name, *map(str, arguments)]
    folder = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, **options
    )


def told(process: subprocess.Popen[str]) -> Any:
    """What a child that ends by itself has to say."""
    output, _ = process.communicate()
    if process.returncode:
        raise Wrong(f"{process.args} ended with {process.returncode}")
    return json.loads(output.splitlines()[-1])


def writes_models(place: str) -> None:
    models = [model(1), model(2)]
    print("ready", flush=True)
    while True:
        for each in models:
            save_model(each, Path(place) / "model.sbm")


def writes_stores(place: str) -> None:
    X, y = rows(40)
    print("ready", flush=True)
    while True:
        BlockStore.open(Path(place) / "store").append(X, y)


def killed_while_writing(rng: random.Random, times: int) -> dict[str, Any]:
    """SIGKILL while a model is replaced, or a store grows."""
    for number in range(times):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            save_model(model(1), place / "model.sbm")
            X, y = rows(40)
            BlockStore.write(place / "store", X, y)
            name = ("writes_models", "writes_stores")[number % 2]
            with child(name, folder) as process:
                if process.stdout is None or process.stdout.readline() != "ready\n":
                    raise Wrong(f"{name} does not begin")
                time.sleep(rng.uniform(0.0, 0.05))
                process.kill()
            if not is_model(place / "model.sbm", (1, 2)):
                raise Wrong("neither the old model nor the new one")
            store = BlockStore.open(place / "store")
            store.verify()
            if store.shape[0] % 40:
                raise Wrong("half of what was appended")
            # What was left behind is in nobody's way.
            save_model(model(2), place / "model.sbm")
            if not is_model(place / "model.sbm", (2,)) or store.append(X, y).shape[0] != store.shape[0] + 40:
                raise Wrong("no write after a kill")
    return {"times": times}


def small_disk() -> tuple[str, ...] | None:
    """A command's prefix: its temporary folder, the first argument, is a disk of a megabyte; None where the
    system does not let us.
    """
    mount = f'mount -t tmpfs -o size={SMALL_DISK} tmpfs "$0" && exec "$@"'
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried = subprocess.run(["unshare", "-rm", "sh", "-c", mount, folder, "true"], capture_output=True)
        except OSError:
            return None
    return ("unshare", "-rm", "sh", "-c", mount) if tried.returncode == 0 else None


def full_disk(rng: random.Random, times: int) -> dict[str, Any]:
    """A disk of a megabyte with a few pages left when a model, a checkpoint or a store is written."""
    prefix = small_disk()
    if prefix is None:
        raise Wrong("this system does not let us mount a small disk")
    with tempfile.TemporaryDirectory() as folder:
        return told(child("fills", folder, rng.random(), times, prefix=(*prefix, folder)))


def fills(folder: str, seed: str, times: str) -> None:
    warnings.simplefilter("ignore")
    rng, place = random.Random(seed), Path(folder)
    refused = 0
    for number in range(int(times)):
        refused += _fill(("model", "checkpoint", "store")[number % 3], rng, place)
        for path in sorted(place.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    print(json.dumps({"times": int(times), "refused": refused}))


def _fill(what: str, rng: random.Random, place: Path) -> bool:
    target, ballast = place / "kept", place / "ballast"
    target.mkdir()
    _begin(what, target)
    before = contents(target)
    disk = os.statvfs(place)
    ballast.write_bytes(bytes(max(disk.f_bavail * disk.f_frsize - PAGE * rng.randrange(30), 0)))
    try:
        _write(what, target)
        refused = False
    except OSError as error:
        refused = True
        if error.errno != errno.ENOSPC:
            raise
    ballast.unlink()
    # A checkpoint moves on, and drops older states as it does; what counts is that a fit goes on from it.
    if refused and what != "checkpoint" and contents(target) != before:
        raise Wrong(f"a {what} was changed by a write that failed")
    _check(what, target, refused)
    return refused


def _begin(what: str, target: Path) -> None:
    """What is there before the fault."""
    X, y = rows()
    if what == "model":
        save_model(model(1), target / "model.sbm")
    elif what == "checkpoint":
        with suppress(Stop):
            SBLClassifier(max_iter=50, checkpoint=target, callbacks=[_stop]).fit(X, y)
    else:
        BlockStore.write(target / "store", X, y)


class Stop(Exception):
    """A fit that did not come to its end."""


def _nothing(progress: Any) -> None:
    """In place of the callback that stopped: a checkpoint knows whether there was one."""


def _stop(progress: Any) -> None:
    if progress.iteration == 4:
        raise Stop


def _write(what: str, target: Path) -> None:
    X, y = rows()
    if what == "model":
        save_model(model(2), target / "model.sbm")
    elif what == "checkpoint":
        SBLClassifier(max_iter=50, checkpoint=target, resume=True, callbacks=[_nothing]).fit(X, y)
    else:
        BlockStore.open(target / "store").append(np.tile(X, (20, 1)), np.tile(y, 20), None)


def _check(what: str, target: Path, refused: bool) -> None:
    X, y = rows()
    if what == "model":
        if not is_model(target / "model.sbm", (1,) if refused else (2,)):
            raise Wrong("another model")
    elif what == "checkpoint":
        plain = SBLClassifier(max_iter=50).fit(X, y)
        again = SBLClassifier(max_iter=50, checkpoint=target, resume=True, callbacks=[_nothing]).fit(X, y)
        if not np.array_equal(again.coef_, plain.coef_):
            raise Wrong("another model than that of a fit without a fault")
    else:
        store = BlockStore.open(target / "store")
        store.verify()
        if store.shape[0] != (60 if refused else 60 * 21):
            raise Wrong("half of what was appended")


def no_permission(rng: random.Random, times: int) -> dict[str, Any]:
    """A folder that belongs to somebody else."""
    return told(child("locked_out", times))


def locked_out(times: str) -> None:
    warnings.simplefilter("ignore")
    for number in range(int(times)):
        what = ("model", "checkpoint", "store")[number % 3]
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "kept"
            target.mkdir()
            _begin(what, target)
            before = contents(target)
            for path in (Path(folder), target, *(each for each in target.rglob("*") if each.is_dir())):
                path.chmod(0o555)
            if os.getuid() == 0:
                os.seteuid(NOBODY)
            try:
                _write(what, target)
            except PermissionError:
                pass
            else:
                raise Wrong(f"a {what} was written without permission")
            finally:
                if os.getuid() == 0:
                    os.seteuid(0)
                for path in (Path(folder), target, *(each for each in target.rglob("*") if each.is_dir())):
                    path.chmod(0o755)
            if contents(target) != before:
                raise Wrong(f"a {what} was changed without permission")
    print(json.dumps({"times": int(times)}))


# Damage


def damaged(rng: random.Random, times: int) -> dict[str, Any]:
    """Bits flipped, ends cut off, junk appended, pages zeroed, in files of every kind."""
    warnings.simplefilter("ignore")
    X, y = rows()
    kinds: dict[str, Callable[[Path], Any]] = {
        "linear": lambda place: save_model(SBLClassifier().fit(X, y), place / "m"),
        "kernel": lambda place: save_model(
            RVMClassifier(gamma="median").fit(sp.csr_array(X), y), place / "m"
        ),
        "hidden": lambda place: save_model(SBELMClassifier(50, random_state=0).fit(X, y), place / "m"),
        "store": lambda place: BlockStore.write(place / "s", X, y, None, 20),
        "checkpoint": lambda place: SBLClassifier("dqn", max_iter=6, checkpoint=place / "c").fit(X, y),
    }
    silent = 0
    for kind, make in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            for _ in range(times):
                path = rng.choice([each for each in files if each.stat().st_size])
                whole = path.read_bytes()
                path.write_bytes(_damage(whole, rng))
                silent += not _noticed(kind, Path(folder), X, y)
                path.write_bytes(whole)
    if silent:
        raise Wrong(f"{silent} damaged files were taken for whole")
    return {"times": times * len(kinds), "taken for whole": silent}


def _damage(whole: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(whole))
    how = rng.choice(["flip", "cut", "junk", "zeros"])
    if how == "flip":
        return whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :]
    if how == "cut":
        return whole[:place]
    if how == "junk":
        return whole + rng.randbytes(rng.randrange(1, 100))
    zeroed = whole[:place] + bytes(min(PAGE, len(whole) - place)) + whole[place + PAGE :]
    return zeroed if zeroed != whole else whole[:-1]


def _noticed(kind: str, folder: Path, X: Any, y: Any) -> bool:
    """An error, or, where there is an older state to go on from, the same model."""
    try:
        if kind == "store":
            BlockStore.open(folder / "s").verify()
        elif kind == "checkpoint":
            clf = SBLClassifier("dqn", max_iter=6, checkpoint=folder / "c", resume=True)
            state = contents(folder)
            found = hashlib.sha256(clf.fit(X, y).coef_.tobytes()).digest()
            for path, data in state.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
            return (
                found == hashlib.sha256(SBLClassifier("dqn", max_iter=6).fit(X, y).coef_.tobytes()).digest()
            )
        else:
            load_model(folder / "m")
    except (ModelFileError, StoreError, CheckpointError):
        return True
    return False


# Ctrl-C


def interrupted(rng: random.Random, times: int) -> dict[str, Any]:
    """Ctrl-C at any moment of the first seconds of a fit on news20.binary, checkpoints on."""
    found = told(child("is_interrupted", rng.random(), times))
    if found["processor seconds until back"] >= 1.0:
        raise Wrong(f"back after {found['processor seconds until back']} s")
    return found


def is_interrupted(seed: str, times: str) -> None:
    print(json.dumps(interruptions(*read("news20.binary"), seed, int(times), within=8.0)))


def interruptions(X: Any, y: Any, seed: Any, times: int, within: float) -> dict[str, Any]:
    """A thread sends this process the signal of Ctrl-C, at a moment ``within`` so many seconds of a fit."""
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    waits: list[tuple[float, float]] = [(0.0, 0.0)]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            clf = SBLClassifier(("auto", "dqn")[number % 2], checkpoint=folder)
            sent: list[tuple[float, float]] = []

            def send(sent: list[tuple[float, float]] = sent) -> None:
                sent.append((time.process_time(), time.perf_counter()))
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(rng.uniform(0.0, within), send)
            try:
                timer.start()
                clf.fit(X, y)
                timer.cancel()
            except KeyboardInterrupt:
                now = time.process_time(), time.perf_counter()
                waits.append((now[0] - sent[0][0], now[1] - sent[0][1]))
                if [name for name in vars(clf) if name.endswith("_")]:
                    raise Wrong("half fitted") from None
    busy, clock = (max(each) for each in zip(*waits, strict=True))
    return {
        "times": times,
        "fits interrupted": len(waits) - 1,
        "processor seconds until back": busy,
        "seconds until back": clock,
    }


CHILDREN: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (writes_models, writes_stores, fills, locked_out, is_interrupted)
}
FAULTS: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {
    "killed while writing": killed_while_writing,
    "disk full": full_disk,
    "no permission": no_permission,
    "damaged files": damaged,
    "Ctrl-C": interrupted,
}


def judged(details: dict[str, Any], times: int) -> list[Figure]:
    ctrl_c = details["Ctrl-C"]
    return [
        *(Figure(name, each["times"], times, "at least") for name, each in details.items()),
        Figure("what must not come of them", sum("wrong" in each for each in details.values()), 0),
        Figure("Ctrl-C: processor seconds until back", ctrl_c.get("processor seconds until back", 99.0), 1.0),
        # Only reported: others may hold the cores.
        Figure("Ctrl-C: seconds until back, by the clock", ctrl_c.get("seconds until back", 99.0)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="of each fault")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        CHILDREN[arguments.child[0]](*arguments.child[1:])
        return 0
    rng = random.Random(arguments.seed)
    details: dict[str, Any] = {}
    for name, fault in FAULTS.items():
        try:
            details[name] = fault(rng, arguments.times)
        except Wrong as error:
            details[name] = {"times": 0, "wrong": str(error)}
        say(f"{name}: {details[name]}")
    figures = judged(details, arguments.times)
    say(f"written: {save('soak_faults', figures, {'seed': arguments.seed, 'faults': details}).name}")
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
