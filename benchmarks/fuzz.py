"""Random text for the svmlight reader, random files with a valid checksum for the model loader.

Run ``python -m benchmarks.fuzz [--executions 500000]`` where atheris is installed: it looks for new ways
through the code, from the corpus in ``tests/corpus``. Without it (``--plain``, and in the tests) inputs of
the corpus are changed at random. An input that is neither read nor refused ends the run, and is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None
else:
    atheris.instrument_imports(include=["sparsebayes"]).__enter__()  # before anything imports the package

import numpy as np

from benchmarks.common import FOLDER, RESULTS, Figure, judge, save, say
from sparsebayes.io import SvmlightFormatError, read_svmlight
from sparsebayes.model_file import ModelFileError, load_model

CORPUS = FOLDER.parent / "tests" / "corpus"
TOKENS = [b" ", b"\n", b":", b"#", b"-", b"1:", b"qid:", b"e400", b"nan", b"\0", b"\r\n", b"2147483648"]
TOKENS += b'{ } [ ] " , null true -1 1e999 f8 weights arrays'.split()
_PLACE = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def svmlight(data: bytes) -> None:
    """Rows of finite numbers, or an error with a line."""
    try:
        X, y = read_svmlight(BytesIO(data), n_jobs=1)
    except SvmlightFormatError:
        return
    assert len(y) == X.shape[0] == len(X.indptr) - 1 > 0
    assert np.isfinite(X.data).all()
    assert np.isfinite(y).all()
    assert not len(X.indices) or 0 <= X.indices.min() <= X.indices.max() < X.shape[1]


def packed(header: bytes, body: bytes) -> bytes:
    """An input of :func:`model`."""
    return struct.pack("<H", len(header)) + header + body


def model(data: bytes) -> None:
    """A file of the header and arrays in ``data``, with the right checksum: refused, or it predicts."""
    length = min(struct.unpack("<H", data[:2].ljust(2, b"\0"))[0], max(len(data) - 2, 0))
    content = b"\x89SBM\r\n\x1a\n" + struct.pack("<IIQ", 1, length, 24 + len(data[2:]) + 32) + data[2:]
    path = Path(_PLACE.name) / "model.sbm"
    path.write_bytes(content + hashlib.sha256(content).digest())
    try:
        found = load_model(path)
    except ModelFileError:
        return
    if found.n_features <= 1000:
        with np.errstate(all="ignore"):
            try:
                labels = found.predict(np.ones((1, found.n_features)))
            except ValueError:  # values of a kernel may be out of range; memory may not
                return
        assert labels.shape == (1,)


TARGETS: dict[str, Callable[[bytes], None]] = {"svmlight": svmlight, "model": model}


def corpus(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def changed(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """A few changes at random places."""
    for _ in range(rng.randrange(1, 5)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([0, 1, 1, 2, 8, 64]))
        new = rng.choice(
            [
                b"",
                rng.randbytes(end - start),
                rng.choice(TOKENS),
                data[start:end] * 2,
                rng.choice(others)[start : start + 64],
            ]
        )
        data = data[:start] + new + data[end:]
    return data


def plain(name: str, executions: int, seed: int) -> None:
    rng, seeds = random.Random(seed), corpus(name)
    for data in seeds:
        TARGETS[name](data)
    for _ in range(executions):
        data = changed(rng.choice(seeds), seeds, rng)
        try:
            TARGETS[name](data)
        except BaseException:
            print(f"{name}: {data!r}")
            raise


def guided(name: str, executions: int, seed: int) -> None:
    """By atheris, which ends the process."""
    with tempfile.TemporaryDirectory() as found:
        options = [f"-runs={executions}", f"-seed={seed}", "-max_len=4096", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], *options, found, str(CORPUS / name)], TARGETS[name])
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--executions", type=int, default=500_000, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--one", choices=TARGETS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    by_atheris = atheris is not None and not arguments.plain
    if arguments.one:
        warnings.simplefilter("ignore")
        if by_atheris:
            guided(arguments.one, arguments.executions, arguments.seed)
        else:
            plain(arguments.one, arguments.executions, arguments.seed)
        return 0
    before = RESULTS / "fuzz.json"
    runs = json.loads(before.read_text())["targets"] if before.exists() else {}
    for name in arguments.targets:
        say(name)
        command = [sys.executable, "-m", "benchmarks.fuzz", "--one", name, *sys.argv[1:]]
        runs[name] = {
            "engine": "atheris" if by_atheris else "random changes of the corpus",
            "executions": arguments.executions,
            "seed": arguments.seed,
            "failed": int(subprocess.run(command).returncode != 0),
        }
        figures = [
            Figure("executions", sum(run["executions"] for run in runs.values()), 1_000_000, "at least"),
            Figure(
                "targets that crashed, hung or let something through",
                sum(r["failed"] for r in runs.values()),
                0,
            ),
        ]
        save("fuzz", figures, {"targets": runs})
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
