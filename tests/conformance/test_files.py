"""Rows 63 to 66: text, model files, and names that are meant to be more than names."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.exceptions import NotFittedError

from sparsebayes import ModelFileError, SBLClassifier, export_c, export_onnx, load_model, save_model
from sparsebayes.basis import IdentityBasis
from sparsebayes.cli import main
from sparsebayes.io import SvmlightFormatError, read_svmlight
from tests.compiled import STRICT
from tests.compiled import run as run_program
from tests.conformance.storages import refused
from tests.models import fitted


@pytest.fixture
def run(capsys):
    """Standard output of a command that must succeed."""

    def call(*arguments):
        with pytest.raises(SystemExit) as leave:
            main([str(argument) for argument in arguments])
        assert leave.value.code == 0
        return capsys.readouterr().out

    return call


REFUSED = {
    "negative index": (b"1 -1:2", "the index is not a whole number from 0 on: '-1:2'"),
    "index 0": (b"1 0:2", "the index is below 1 (pass index_base=0 if indices begin with 0): '0:2'"),
    "unsorted": (b"1 3:1 2:1", "an index does not ascend: '2:1'"),
    "duplicate": (b"1 3:1 3:1", "an index does not ascend: '3:1'"),
    "index 2^31": (b"1 2147483648:1", "the index is above 2147483647: '2147483648:1'"),
    "index 1e20": (b"1 100000000000000000000:1", "the index is above 2147483647: '100000000000000000000:1'"),
    "index as float": (b"1 1e2:1", "the index is not a whole number from 0 on: '1e2:1'"),
    "text as label": (b"spam 1:1", "the label is not a decimal number: 'spam'"),
    "missing label": (b"1:1 2:2", "the label is not a decimal number: '1:1'"),
    "two labels": (b"1,2 1:1", "the label is not a decimal number: '1,2'"),
    "nan as label": (b"nan 1:1", "the label is not a decimal number: 'nan'"),
    "inf as label": (b"-inf 1:1", "the label is not a decimal number: '-inf'"),
    "1e400 as label": (b"1e400 1:1", "the label is out of range: '1e400'"),
    "nan": (b"1 1:nan", "the value is not a decimal number: '1:nan'"),
    "inf": (b"1 1:inf", "the value is not a decimal number: '1:inf'"),
    "1e400": (b"1 1:1e400", "the value is out of range: '1:1e400'"),
    "1:": (b"1 1:", "the value is not a decimal number: '1:'"),
    "1: 2": (b"1 1: 2", "the value is not a decimal number: '1:'"),
    "1 :2": (b"1 1 :2", "a feature has no colon: '1'"),
    "1:2:3": (b"1 1:2:3", "the value is not a decimal number: '1:2:3'"),
    "1:1_000": (b"1 1:1_000", "the value is not a decimal number: '1:1_000'"),
    "hexadecimal": (b"1 1:0x10", "the value is not a decimal number: '1:0x10'"),
    "other digits": ("1 1:٣".encode(), "the value is not a decimal number: '1:\\u0663'"),
    "truncated line": (b"1 1:2 17", "a feature has no colon: '17'"),
    "NUL": (b"1 1:2\x00", "there is a NUL byte in the line: '1 1:2\\x00'"),
    "BOM": (b"\xef\xbb\xbf1 1:2", "the line begins with a byte order mark: '\\ufeff1 1:2'"),
    "CR": (b"1 1:2\r1 1:3", "there is a carriage return in the line: '1 1:2\\r1 1:3'"),
    "qid without number": (b"1 qid:x 1:2", "the index is not a whole number from 0 on: 'qid:x'"),
    "qid at the end": (b"1 1:2 qid:3", "the index is not a whole number from 0 on: 'qid:3'"),
    "a long token": (b"1 1:" + b"x" * 99, "the value is not a decimal number: '1:" + "x" * 38 + "'..."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_row_63_faults_have_file_line_and_token(name, tmp_path):
    line, message = REFUSED[name]
    path = tmp_path / "some.svm"
    for before, after in (
        (b"", b""),
        (b"# first\n\n-1 1:1\n", b"\n1 nonsense\n"),
        (b"-1 1:1\r\n" * 9, b"\r\n"),
    ):
        path.write_bytes(before + line + after)
        number = before.count(b"\n") + 1
        with pytest.raises(SvmlightFormatError) as caught:
            read_svmlight(path)
        assert str(caught.value) == f"{path}:{number}: {message}"


READ = {
    "comments": b"# all\n1 1:2 # 5:6\n-1 2:3#\n",
    "CRLF": b"1 1:2\r\n-1 2:3\r\n",
    "no last line feed": b"1 1:2\n-1 2:3",
    "qid": b"1 qid:7 1:2\n-1 qid:8 2:3\n",
    "tabs and spaces": b" 1\t1:2 \n\n-1   2:3\t\n \n",
    "signs and zeros": b"+1 0001:+2\n-1.0 00000000000000000002:3e0\n",
}


@pytest.mark.parametrize("name", READ)
def test_row_63_what_is_documented_is_read(name):
    X, y = read_svmlight(io.BytesIO(READ[name]))
    np.testing.assert_array_equal(X.toarray(), [[2.0, 0.0], [0.0, 3.0]])
    np.testing.assert_array_equal(y, [1.0, -1.0])


def test_row_63_empty_text(tmp_path):
    for text in (b"", b"\n\n", b"# nothing\n"):
        (tmp_path / "empty.svm").write_bytes(text)
        with pytest.raises(SvmlightFormatError, match=r"empty\.svm:1: there are no samples"):
            read_svmlight(tmp_path / "empty.svm")


def test_row_63_index_base_and_number_of_features_are_explicit():
    assert read_svmlight(io.BytesIO(b"1 0:5 3:1"), index_base=0)[0].shape == (1, 4)
    assert read_svmlight(io.BytesIO(b"1 4:1"), n_features=9)[0].shape == (1, 9)
    with pytest.raises(SvmlightFormatError, match="the index is above 3: '4:1'"):
        read_svmlight(io.BytesIO(b"1 4:1"), n_features=3)
    with pytest.raises(SvmlightFormatError, match="above 2147483646"):
        read_svmlight(io.BytesIO(b"1 2147483647:1"), index_base=0)


def test_row_63_the_base_is_kept_with_the_model(tmp_path, run):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "zero.svm"), zero_based=True)
    run("train", tmp_path / "zero.svm", "-m", tmp_path / "m.sbm", "--index-base", 0)
    labels = [int(line) for line in run("predict", tmp_path / "m.sbm", tmp_path / "zero.svm").splitlines()]
    assert labels == SBLClassifier().fit(X, y).predict(X).tolist()


PEAK = """
import pathlib, re, sys, tempfile
from sparsebayes.io import convert_svmlight, read_svmlight
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
before = peak()
for path in sys.argv[1:]:
    stored = lambda path, **jobs: convert_svmlight(path, tempfile.mkdtemp() + "/s", **jobs)
    for read in (read_svmlight, stored):
        try:
            read(path, n_jobs=1)  # all in this process
        except ValueError as error:
            print(type(error).__name__, error)
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_row_64_a_huge_line_and_bombs(tmp_path):
    long = tmp_path / "long.svm"
    with open(long, "wb") as file:
        file.write(b"1 1:1\n1 1:2 ")
        file.truncate(2**30)  # NULs that are not on the disk
    bombs = [tmp_path / name for name in ("zeros.svm.gz", "feeds.svm.gz", "rows.svm.bz2", "rows.svm.xz")]
    bombs[0].write_bytes(gzip.compress(bytes(2**24), 6))
    bombs[1].write_bytes(gzip.compress(b"\n" * 2**24, 6))
    bombs[2].write_bytes(bz2.compress(b"1 1:1\n" * 2**16) * 64)
    bombs[3].write_bytes(lzma.compress(b"1 1:1\n" * 2**22, preset=0))
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PEAK, long, *bombs], capture_output=True, text=True, check=True
    )
    *errors, growth = run.stdout.splitlines()
    limits = ["2: the line is longer than 16777216 bytes"] * 2
    limits += ["the compressed text expands more than 200 times"] * 8
    assert len(errors) == len(limits)
    for error, limit in zip(errors, limits, strict=True):
        assert limit in error, error
    print(f"grown by {growth} kB")
    assert int(growth) < 100_000


def test_row_63_an_index_near_the_limit_takes_no_memory(tmp_path):
    """Columns are many, what is held is not."""
    path = tmp_path / "wide.svm"
    path.write_bytes(b"1 5:1 2147483647:1\n-1 3:1\n")
    code = PEAK.replace("print(peak", "print(read_svmlight(path)[0].shape); print(peak")
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    shape, growth = run.stdout.splitlines()
    assert shape == "(2, 2147483647)"
    assert int(growth) < 50_000


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "predict_log_proba"])
def test_row_65_unfitted(estimator, method):
    clf = estimator()
    if not hasattr(type(clf), method):
        pytest.skip("it has no such method")
    refused(lambda: getattr(clf, method)(np.ones((1, 1))), type(clf).__name__, error=NotFittedError)


def test_row_65_newer_file_format(tmp_path):
    path = tmp_path / "model.sbm"
    save_model(fitted("linear"), path)
    supported = struct.unpack("<I", path.read_bytes()[8:12])[0]
    content = bytearray(path.read_bytes()[:-32])
    content[8:12] = struct.pack("<I", supported + 1)
    path.write_bytes(bytes(content) + hashlib.sha256(content).digest())
    words = f"format {supported + 1} > supported {supported}", re.escape(str(path)), "newer sparsebayes"
    refused(lambda: load_model(path), *words, error=ModelFileError)


HORRORS = [
    "quote \" and ' and \\",
    "end */ of /* comment",
    "??/ ??' ??( trigraph",
    "line\nbreak\r\ttab\\",
    "%s %n %d",
    "null\0byte",
    "grün 中文 \u202e bidi",
    "\ud800 surrogate",
    "7 after an escape: \x017",
    "*/ int main(void) { return 1; } /*",
    '"; system("true"); "',
    "x" * 300,
    "@name@ @real@",
]


@pytest.mark.parametrize("suffix", [".c", ".h"])
def test_row_66_names_in_c(suffix, tmp_path):
    model = replace(
        fitted("linear").freeze(),
        classes=np.array(HORRORS[:2], dtype=object),
        n_features=len(HORRORS),
        basis=IdentityBasis(len(HORRORS)),
        weights=np.ones(len(HORRORS)),
        columns=np.arange(len(HORRORS)),
        starts=np.array([0, len(HORRORS)]),
        weights_std=None,
        feature_names=np.array(HORRORS, dtype=object),
        about={"estimator": "*/ #error"},
    )
    export_c(model, tmp_path / f"m{suffix}", names=True)
    assert (tmp_path / "m.h").read_bytes().isascii()
    (tmp_path / "main.c").write_text(
        """
#include <stdio.h>
#include <string.h>
#include "m.h"
int main(void)
{
    static double x[M_N_FEATURES], p[M_N_CLASSES];
    int i;
    for (i = 0; i < M_N_CLASSES; i++)
        printf("%s", m_class_names[i]), fputc(1, stdout);
    for (i = 0; i < M_N_FEATURES; i++) {
        printf("%s", m_feature_names[i]);
        fputc(1, stdout);
    }
    m_predict_proba(x, p);
    m_margins(x, p);
    return m_predict(x) < 0;
}
"""
    )
    sources = [tmp_path / "main.c", *([tmp_path / "m.c"] if suffix == ".c" else [])]
    run_program(["gcc", *STRICT, "-o", tmp_path / "program", *sources, "-lm"])
    printed = run_program([tmp_path / "program"])
    expected = [name.encode("utf-8", "surrogatepass") for name in [*HORRORS[:2], *HORRORS]]
    # printf stops at a null byte, which the table nevertheless holds.
    assert printed == b"".join(name.partition(b"\0")[0] + b"\1" for name in expected)


def test_row_66_names_in_onnx(tmp_path):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    for first, second in zip(HORRORS[:-1:2], HORRORS[1::2], strict=True):
        model = replace(fitted("linear").freeze(), classes=np.array([first, second], dtype=object))
        path = tmp_path / "m.onnx"
        if "\ud800" in first + second:
            refused(lambda: export_onnx(model, path), "UTF-8|surrogate")  # noqa: B023
            continue
        export_onnx(model, path)
        onnx.checker.check_model(onnx.load(path))
        session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
        rows = np.random.default_rng(0).normal(size=(20, model.n_features)).astype(np.float32)
        labels = session.run(None, {session.get_inputs()[0].name: rows})[0]
        assert {str(each) for each in labels} <= {first, second}


def test_row_66_names_on_the_command_line(run, tmp_path):
    header = '"\x1b[31m[red]x\nb",label\n'
    labels = ["ja" if k > 10 else "\x1b]0;owned" for k in range(20)]
    rows = "".join(f"{k},{label}\n" for k, label in enumerate(labels))
    (tmp_path / "evil.csv").write_text(header + rows, newline="")
    output = run("train", tmp_path / "evil.csv", "-m", tmp_path / "m.sbm")
    output += run("inspect", tmp_path / "m.sbm") + run("evaluate", tmp_path / "m.sbm", tmp_path / "evil.csv")
    output += run("predict", tmp_path / "m.sbm", tmp_path / "evil.csv")
    assert "\x1b" not in output
    assert "\u241b[31m[red]x\u240ab" in output  # pictures of the control characters
