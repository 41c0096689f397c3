"""Model files: what is damaged or hostile is refused, and costs nothing."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pickle
import resource
import signal
import struct
import subprocess
import sys
import zipfile
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import sparsebayes
from sparsebayes import ModelFileError, SBLClassifier, load_model, save_model
from sparsebayes.io import checked
from tests.models import ESTIMATORS, fitted, fresh
from tests.problems import classification

PACKAGE = Path(sparsebayes.__file__).parent


def saved(model, folder):
    path = folder / "model.sbm"
    save_model(model, path)
    return path.read_bytes()


def sealed(header, body, *, version=1, header_size=None, size=None):
    """A file with a valid checksum around anything, put together without the package's writer."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    total = 24 + len(text) + len(body) + 32 if size is None else size
    length = len(text) if header_size is None else header_size
    content = b"\x89SBM\r\n\x1a\n" + struct.pack("<IIQ", version, length, total) + text + body
    return content + hashlib.sha256(content).digest()


def opened(data):
    """Header and array bytes of a file, read without the package's reader."""
    length = struct.unpack("<I", data[12:16])[0]
    return json.loads(data[24 : 24 + length]), data[24 + length : -32]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model file of 2 kB: a linear model with 25 weights, names and labels."""
    X, y = classification(n=60, m=25, seed=0)
    estimator = SBLClassifier("newton", alpha_max=1e300, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = estimator.fit(X, np.array(["nay", "yes"])[y]).freeze()
    model = replace(model, feature_names=np.array([f"feature {i}" for i in range(25)], dtype=object))
    data = saved(model, tmp_path_factory.mktemp("small"))
    assert len(model.weights) == 25
    assert 1500 < len(data) < 2500
    return data


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_every_flipped_bit_is_noticed(small, tmp_path):
    path = tmp_path / "flipped.sbm"
    for position in range(len(small)):
        for bit in range(8):
            data = bytearray(small)
            data[position] ^= 1 << bit
            refused(path, data)


def test_every_truncation_and_junk_are_noticed(small, tmp_path):
    path = tmp_path / "cut.sbm"
    for length in range(len(small)):
        refused(path, small[:length])
    for junk in (b"\0", b"junk", small):
        refused(path, small + junk)
        refused(path, junk + small)


def test_the_layout_is_the_documented_one(small):
    assert small[:8] == b"\x89SBM\r\n\x1a\n"
    version, header_size, size = struct.unpack("<IIQ", small[8:24])
    assert (version, size) == (1, len(small))
    assert hashlib.sha256(small[:-32]).digest() == small[-32:]
    header, body = opened(small)
    assert header_size == len(small) - 32 - len(body) - 24
    offset = 0
    for name, code, shape in header["arrays"]:
        count = int(np.prod(shape))
        values = np.frombuffer(body, dtype=f"<{code}", count=count, offset=offset)
        offset += values.nbytes
        if name == "intercepts":
            assert np.isfinite(values).all()
    assert offset == len(body)


def test_messages(small, tmp_path):
    path = tmp_path / "wrong.sbm"
    assert "not a model file of sparsebayes" in refused(path, b"x" * 100)
    assert "not a model file" in refused(path, b"")
    assert "checksum" in refused(path, small[:100] + b"\1" + small[101:])
    assert f"should have {len(small)} bytes, but has {len(small) - 1}" in refused(path, small[:-1])
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "missing.sbm")
    path.write_bytes(small)
    with pytest.raises(ModelFileError, match="max_bytes is 1000"):
        load_model(path, max_bytes=1000)
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelFileError, match="not a regular file"):
            load_model(place)


class Bomb:
    """Leaves a trace if anything unpickles it."""

    def __reduce__(self):
        return (os.system, ("touch executed",))


def zipped(data):
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../model.npy", data)
    return file.getvalue()


def objects():
    file = BytesIO()
    np.save(file, np.array([Bomb()], dtype=object), allow_pickle=True)
    return file.getvalue()


def hostile_files(linear, kernel, moderated):
    """Name -> bytes; nearly all have a checksum that is right."""
    header, body = opened(linear)
    kernel_header, kernel_body = opened(kernel)
    careful_header, careful_body = opened(moderated)

    def changed(**fields):
        return sealed({**header, **fields}, body)

    def with_array(name, code=None, shape=None, new_name=None, of=(header, body)):
        head, content = of
        specs = [
            [new_name or n, code or c, s if shape is None else shape] if n == name else [n, c, s]
            for n, c, s in head["arrays"]
        ]
        return sealed({**head, "arrays": specs}, content)

    def with_values(name, *values, of=(header, body)):
        """The first entries of an array replaced."""
        head, content = of
        content, offset = bytearray(content), 0
        for n, c, s in head["arrays"]:
            if n == name:
                new = np.array(values, dtype=f"<{c}").tobytes()
                content[offset : offset + len(new)] = new
            offset += int(np.prod(s)) * np.dtype(c).itemsize
        return sealed(head, bytes(content))

    by_kernel, by_posterior = (kernel_header, kernel_body), (careful_header, careful_body)
    described = kernel_header["basis"]
    n_starts = next(shape[0] for name, _, shape in kernel_header["arrays"] if name == "basis.vectors.indptr")

    def with_kernel(**fields):
        return sealed({**kernel_header, "basis": {**described, **fields}}, kernel_body)

    many = 200_000
    wide_labels = {
        **header,
        "scheme": "ovr",
        "labels": "strings",
        "arrays": [["classes", "u1", [many]], ["classes.ends", "i8", [many]], ["intercepts", "f8", [many]]],
    }
    wide_body = b"x" * many + np.full(many, many).tobytes() + np.zeros(many).tobytes()
    return {
        "pickle": pickle.dumps(Bomb()),
        "pickle as header": sealed(pickle.dumps(Bomb()), b""),
        "pickle as body": sealed(header, pickle.dumps(Bomb()) + body),
        "object array": objects(),
        "zip": zipped(b"\0" * 10**7),
        "zip after the prefix": sealed(zipped(b"\0" * 10**7), b""),
        "header longer than the file": sealed(header, body, header_size=2**31),
        "header of 4 GB": sealed(header, body, header_size=2**32 - 1),
        "file of 2^63 bytes": sealed(header, body, size=2**63),
        "file of no bytes": sealed(header, body, size=0),
        "header of no bytes": sealed(b"", body),
        "version 0": sealed(header, body, version=0),
        "version 2^32 - 1": sealed(header, body, version=2**32 - 1),
        "deep lists": sealed(b"[" * 500_000, body),
        "deep objects": sealed(b'{"a":' * 150_000, body),
        "many lists": sealed(b"[" + b"[]," * 340_000 + b"[]]", body),
        "deep, closed": sealed(b'{"arrays":' + b"[" * 400_000 + b"]" * 400_000 + b"}", body),
        "a list as header": sealed(b"[]", body),
        "not UTF-8": sealed(b'{"a": "\xff\xfe"}', body),
        "NaN as a number": sealed(json.dumps({**header, "n_features": float("nan")}).encode(), body),
        "1e999 as a number": sealed(
            json.dumps(header).encode().replace(b'"about"', b'"x": 1e999, "about"'), body
        ),
        "a number of a million digits": sealed(b'{"n_features": ' + b"9" * 10**6 + b"}", body),
        "a key twice": sealed(json.dumps(header).encode().replace(b"{", b'{"scheme": "ovr", ', 1), body),
        "no arrays": sealed({k: v for k, v in header.items() if k != "arrays"}, body),
        "arrays that are no list": changed(arrays={"weights": 1}),
        "an array that is no list": changed(arrays=[1, 2, 3]),
        "shape that overflows": with_array("weights", shape=[2**32, 2**32]),
        "shape that overflows to the right size": with_array("weights", shape=[2**61 + 25]),
        "negative dimension": with_array("weights", shape=[-25]),
        "two negative dimensions": with_array("weights", shape=[-5, -5]),
        "empty but huge": with_array("weights", shape=[0, 2**60]),
        "float as dimension": with_array("weights", shape=[25.0]),
        "bool as dimension": with_array("weights", shape=[True]),
        "text as dimension": with_array("weights", shape=["25"]),
        "no dimension": with_array("weights", shape=[]),
        "many dimensions": with_array("weights", shape=[1] * 60 + [25]),
        "more bytes than there are": with_array("weights", shape=[10**12]),
        "objects as dtype": with_array("weights", code="O"),
        "O8 as dtype": with_array("weights", code="O8"),
        "record as dtype": with_array("weights", code="f8,O"),
        "dtype that is no text": with_array("weights", code=["f8"]),
        "integers as weights": with_array("weights", code="i8"),
        "unsigned as indices": with_array("columns", code="u4"),
        "floats as indices": with_array("columns", code="f4"),
        "name that is no text": with_array("weights", new_name=["weights"]),
        "an array twice": with_array("weights", new_name="intercepts"),
        "an unknown array": with_array("weights_std", new_name="../../etc/passwd"),
        "a missing array": with_array("weights", new_name="__class__"),
        "an unknown field": changed(__reduce__="os.system"),
        "a missing field": sealed({k: v for k, v in header.items() if k != "basis"}, body),
        "no basis": changed(basis={}),
        "basis that is text": changed(basis="sparsebayes.basis.IdentityBasis"),
        "a type as basis": changed(basis={"kind": "sparsebayes.basis.KernelBasis"}),
        "basis with more in it": changed(basis={"kind": "features", "class": "os.system"}),
        "several bases": changed(basis=[{"kind": "features"}]),
        "an unknown scheme": changed(scheme="exec"),
        "an unknown link": changed(link="probit"),
        "labels of an unknown kind": changed(labels="pickle"),
        "n_features as text": changed(n_features="25"),
        "n_features as bool": changed(n_features=True),
        "no features": changed(n_features=0),
        "fewer features than there are": changed(n_features=10),
        "2^60 features": changed(n_features=2**60),
        "about that is no object": changed(about=[1]),
        "posteriors that are not there": changed(posteriors=[[True, True]]),
        "posteriors of another number": sealed(
            {**careful_header, "posteriors": [[True, False]] * 1000}, careful_body
        ),
        "posteriors of another kind": sealed({**careful_header, "posteriors": [[True, True]]}, careful_body),
        "posteriors of none": sealed({**careful_header, "posteriors": []}, careful_body),
        "problems in two dimensions": with_array("starts", shape=[1, 2], of=by_posterior),
        "posteriors of no kind": sealed({**careful_header, "posteriors": [["full", 1]]}, careful_body),
        "posteriors of problems that go back": with_values("starts", 7, 0, of=by_posterior),
        "NaN as weight": with_values("weights", np.nan),
        "infinity as weight": with_values("weights", np.inf),
        "NaN as intercept": with_values("intercepts", np.nan),
        "index out of range": with_values("columns", 99),
        "negative index": with_values("columns", -1),
        "an index twice": with_values("columns", 0, 0),
        "starts that go back": with_values("starts", 5, 0),
        "starts beyond the end": with_values("starts", 0, 2**31 - 1),
        "a feature out of range": with_values("basis.features", 10**9),
        "a feature twice": with_values("basis.features", 1, 1),
        "label that ends before it starts": with_values("classes.ends", 5, 3),
        "label beyond the text": with_values("classes.ends", 0, 2**40),
        "labels that are equal": with_values("classes", *b"yesyes"),
        "labels that are not UTF-8": with_values("classes", 0xFF, 0xFE, 0xFD, 0xFC, 0xFB),
        "labels wider than memory": sealed(wide_labels, wide_body),
        "an unknown kernel": with_kernel(kernel="os.system"),
        "gamma of 0": with_kernel(gamma=0.0),
        "negative gamma": with_kernel(gamma=-1.0),
        "gamma as text": with_kernel(gamma="1.0"),
        "degree of -1": with_kernel(degree=-1),
        "NaN in a vector": with_values("basis.vectors.data", np.nan, of=by_kernel),
        "vector index out of range": with_values("basis.vectors.indices", 10**6, of=by_kernel),
        "negative vector index": with_values("basis.vectors.indices", -5, of=by_kernel),
        "vector starts that go back": with_values("basis.vectors.indptr", 0, 9, 3, of=by_kernel),
        "vector starts beyond the end": with_values("basis.vectors.indptr", 0, 2**30, of=by_kernel),
        "vector starts that return to 0": with_values(
            "basis.vectors.indptr", *range(n_starts - 1), 0, of=by_kernel
        ),
        "vector starts whose differences overflow": with_values(
            "basis.vectors.indptr", 0, 2**31 - 1, -(2**31), -1, of=by_kernel
        ),
        "vector starts as floats": with_array("basis.vectors.indptr", code="f4", of=by_kernel),
        "negative variance": with_values("posteriors.covariance", -1.0, of=by_posterior),
        "NaN as variance": with_values("posteriors.covariance", np.nan, of=by_posterior),
        "covariance of another shape": with_array("posteriors.covariance", shape=[1, 1], of=by_posterior),
        "infinite unit": with_values("posteriors.unit", np.inf, of=by_posterior),
    }


def test_hostile_files_are_refused_in_little_memory(small, tmp_path):
    """In a process of its own, whose memory grows by less than 64 MB over all of them."""
    hostile = hostile_files(
        small,
        saved(fitted("kernel", storage="sparse"), tmp_path),
        saved(fitted("linear", proba="moderated"), tmp_path),
    )
    assert len(hostile) >= 30
    folder = tmp_path / "hostile"
    folder.mkdir()
    for number, data in enumerate(hostile.values()):
        (folder / f"{number:03}.sbm").write_bytes(data)
    with open(folder / "999.sbm", "wb") as sparse:  # 8 GB that are not on the disk
        sparse.write(small[:16] + struct.pack("<Q", 2**33))
        sparse.truncate(2**33)
    code = """
import json, pathlib, re, sys
import sparsebayes
def peak():  # not ru_maxrss, which a process inherits from its parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
sparsebayes.load_model(sys.argv[2])
before, outcomes = peak(), []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.sbm")):
    try:
        sparsebayes.load_model(path)
        outcomes.append("loaded")
    except Exception as error:
        outcomes.append(type(error).__name__)
print(json.dumps([outcomes, peak() - before]))
"""
    good = tmp_path / "good.sbm"
    good.write_bytes(small)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, folder, good],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        # A limit besides the measure: the process would die before it took the machine with it.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32)),
    )
    assert run.returncode == 0, run.stderr
    outcomes, growth = json.loads(run.stdout)
    names = [*hostile, "a sparse file of 8 GB"]
    assert len(outcomes) == len(names)
    wrong = {
        name: outcome for name, outcome in zip(names, outcomes, strict=True) if outcome != "ModelFileError"
    }
    assert not wrong
    print(f"grown by {growth} kB")
    assert growth < 64 * 1024
    assert not (tmp_path / "executed").exists()


@given(st.data())
def test_any_header_is_read_or_refused(small, tmp_path_factory, data):
    """Fields of a valid file replaced by anything that JSON can say, under a valid checksum."""
    header, body = opened(small)
    values = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    place = data.draw(st.sampled_from([*header, *range(len(header["arrays"]))]))
    if isinstance(place, int):
        header["arrays"][place][data.draw(st.integers(0, 2))] = data.draw(values)
    else:
        header[place] = data.draw(values)
    path = tmp_path_factory.mktemp("any") / "model.sbm"
    path.write_bytes(sealed(header, body))
    try:
        model = load_model(path)
    except ModelFileError:
        return
    assert np.isfinite(model.predict_proba(np.ones((1, model.n_features)))).all()


@given(st.binary(max_size=400))
def test_any_bytes_are_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "model.sbm"
    refused(path, data)
    refused(path, sealed(data, b""))


@given(st.data())
def test_any_content_of_arrays_is_read_or_refused(tmp_path_factory, data):
    """Eight bytes of the arrays replaced under a valid checksum: a model that predicts, or an error."""
    folder = tmp_path_factory.mktemp("any")
    kind = data.draw(st.sampled_from([*ESTIMATORS, "sparse"]))
    model = fitted("kernel", storage="sparse") if kind == "sparse" else fitted(kind, proba="moderated")
    header, body = opened(saved(model, folder))
    start = data.draw(st.integers(0, len(body) - 8))
    body = body[:start] + data.draw(st.binary(min_size=8, max_size=8)) + body[start + 8 :]
    (folder / "changed.sbm").write_bytes(sealed(header, body))
    try:
        model = load_model(folder / "changed.sbm")
    except ModelFileError:
        return
    with np.errstate(all="ignore"), suppress(ValueError):  # numbers may be out of range, memory must not
        assert model.predict(sp.csr_matrix(fresh()[:3])).shape == (3,)


def test_the_reader_looks_nothing_up_by_name():
    forbidden = {
        *("pickle", "marshal", "shelve", "dill", "joblib", "importlib", "subprocess", "ctypes"),
        *("eval", "exec", "compile", "globals", "locals", "vars", "getattr", "setattr", "__import__"),
        *("load", "loadtxt", "genfromtxt", "fromfile", "memmap", "allow_pickle", "__reduce__", "sctypeDict"),
    }
    for path in (PACKAGE / "model_file.py", PACKAGE / "io" / "checked.py"):
        source = path.read_text()
        assert "pickle" not in source
        for node in ast.walk(ast.parse(source)):
            names = {getattr(node, field, None) for field in ("id", "attr", "name", "module", "arg")}
            assert not {name for name in names if isinstance(name, str)} & forbidden, path
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.dtype":
                assert "DTYPES[" in ast.unparse(node.args[0])  # a closed list, never what the file says


def test_an_unwritable_place_leaves_the_old_file(small, tmp_path, monkeypatch):
    path = tmp_path / "model.sbm"
    path.write_bytes(small)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checked.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_model(fitted("kernel"), path)
    assert [each.name for each in tmp_path.iterdir()] == ["model.sbm"]
    assert path.read_bytes() == small
    with pytest.raises(FileNotFoundError):
        save_model(fitted("kernel"), tmp_path / "no folder" / "model.sbm")


def test_a_full_disk_leaves_the_old_file(small, tmp_path):
    """A file that may not grow beyond 1 kB stands for the disk."""
    path = tmp_path / "model.sbm"
    path.write_bytes(small)
    code = """
import resource, signal, sys
from sparsebayes import load_model, save_model
model = load_model(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save_model(model, sys.argv[1])
except OSError:
    print("refused")
"""
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert run.stdout == "refused\n", run.stderr
    assert path.read_bytes() == small
    assert [each.name for each in tmp_path.iterdir()] == ["model.sbm"]


def test_killed_while_writing_leaves_the_old_file(small, tmp_path):
    """The writer kills itself at each step of a write; the file is the old one or the new one."""
    path = tmp_path / "model.sbm"
    code = """
import os, signal, sys
from dataclasses import replace
from sparsebayes import load_model, save_model
model = load_model(sys.argv[1])
left = int(sys.argv[2])
def step(name, original):
    def stepped(*arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)
    return stepped
for name in ("fsync", "replace"):
    setattr(os, name, step(name, getattr(os, name)))
save_model(replace(model, about={"written": "again"}), sys.argv[1])
"""
    found = set()
    for moment in (1, 2, 3, 4):
        path.write_bytes(small)
        run = subprocess.run([sys.executable, "-c", code, path, str(moment)], capture_output=True)
        killed = run.returncode == -signal.SIGKILL
        assert killed or run.returncode == 0
        found.add((killed, load_model(path).about.get("written")))
    assert found == {(True, None), (True, "again"), (False, "again")}


def test_a_link_stays_a_link(small, tmp_path):
    target, link = tmp_path / "target.sbm", tmp_path / "link.sbm"
    target.write_bytes(small)
    link.symlink_to(target)
    save_model(fitted("linear"), link)
    assert link.is_symlink()
    assert target.read_bytes() != small
    assert load_model(target).n_features == load_model(link).n_features


def test_what_cannot_be_written_is_refused(tmp_path):
    model = fitted("linear").freeze()
    for wrong, message in [
        (replace(model, weights=model.weights * np.nan), "weights are not all finite"),
        (replace(model, intercepts=np.zeros(2)), "intercepts have the shape"),
        (replace(model, about={"x": "y" * 2**20}), "shorten `about`"),
        (replace(model, about={"x": np.inf}), "not JSON compliant"),
        (replace(model, classes=np.array([0, 1], dtype="M8[s]")), "Labels of a frozen model"),
    ]:
        with pytest.raises(ValueError, match=message):
            save_model(wrong, tmp_path / "model.sbm")
    assert not list(tmp_path.iterdir())
