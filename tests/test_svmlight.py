"""Svmlight text: what is read is what float() says, what is not in the format is refused with its line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import sparsebayes.io.svmlight as svmlight
import sparsebayes.io.text as text_module
from sparsebayes.io import SvmlightFormatError, convert_svmlight, read_svmlight
from sparsebayes.io.lines import Fault, Terms, read_lines
from sparsebayes.io.tokens import parse

DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\Z")


def reference(text, base=1, width=2**31 - 1, single=False):
    """Rows as (label, {index: value}), or the number of the first line that is at fault; written apart."""
    rows = []
    for number, line in enumerate(text.decode("latin-1").split("\n"), start=1):
        if line.endswith("\r"):
            line = line[:-1]
        words = line.split("#")[0].replace("\t", " ").split(" ")
        words = [word for word in words if word != ""]
        if not words:
            continue
        if len(words) > 1 and re.match(r"qid:[0-9]+\Z", words[1]):
            del words[1]
        row, last = {}, -1
        for place, word in enumerate(words):
            index, _, decimal = word.rpartition(":") if place else ("", "", word)
            if not DECIMAL.match(decimal) or not math.isfinite(float(decimal)):
                return number
            if place == 0:
                label = float(decimal)
                continue
            if not re.match(r"[0-9]+\Z", index) or len(index.lstrip("0")) > 12:
                return number
            column = int(index) - base
            if (
                not last < column < width
                or column < 0
                or (single and abs(float(decimal)) >= 3.4028235677973366e38)
            ):
                return number
            row[column], last = float(decimal), column
        rows.append((label, row))
    return rows


def as_rows(parsed):
    spans = zip(parsed.indptr[:-1].tolist(), parsed.indptr[1:].tolist(), strict=True)
    rows = [dict(zip(parsed.columns[a:b].tolist(), parsed.data[a:b].tolist(), strict=True)) for a, b in spans]
    return list(zip(parsed.labels.tolist(), rows, strict=True))


def outcome(parser, text, terms):
    try:
        return as_rows(parser(text, terms))
    except Fault as fault:
        return fault.line


def same(found, expected):
    """repr tells -0.0 from 0.0."""
    return repr(found) == repr(expected)


def numbers():
    exact = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    short = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-1000, max_value=1000).map(
        str
    )
    digits = st.text("0123456789", min_size=1, max_size=22)
    pointed = st.tuples(st.sampled_from(["", "-", "+"]), digits, st.sampled_from([".", ""]), digits).map(
        "".join
    )
    return st.one_of(
        exact, short, pointed, st.integers(-5, 5).map(str), st.sampled_from([".5", "5.", "1e5", "-0"])
    )


@st.composite
def valid_lines(draw):
    indices = sorted(draw(st.sets(st.one_of(st.integers(1, 30), st.integers(1, 2**31 - 1)), max_size=5)))
    space = draw(st.sampled_from([" ", " ", " ", "  ", "\t"]))
    tokens = [draw(numbers())]
    if draw(st.integers(0, 9)) == 0:
        tokens.append(f"qid:{draw(st.integers(0, 99))}")
    tokens += [f"{index}:{draw(numbers())}" for index in indices]
    end = draw(st.sampled_from(["", "", "", " ", "\r", " # c 1:2", "#", " #\r"]))
    return draw(st.sampled_from(["", "", "", " "])) + space.join(tokens) + end


def texts():
    lines = st.lists(st.one_of(valid_lines(), valid_lines(), st.sampled_from(["", " ", "# x"])), max_size=5)
    return st.tuples(lines.map("\n".join), st.sampled_from(["\n", ""])).map("".join).map(str.encode)


@given(texts())
def test_valid_text_is_read_as_the_reference_reads_it(text):
    expected = reference(text)
    huge = isinstance(expected, int)  # a value of repr or digits is finite: nothing else can be wrong
    assert not huge
    assert same(outcome(parse, text, Terms()), expected)
    assert same(outcome(read_lines, text, Terms()), expected)


PIECES = [
    b" ",
    b"\t",
    b"\n",
    b"\r",
    b"\0",
    b":",
    b".",
    b"-",
    b"+",
    b"e",
    b"E",
    b"#",
    b"1",
    b"0",
    b"_",
    b"nan",
    b"inf",
]
PIECES += [
    b"1e400",
    b"qid:1",
    b"\xef\xbb\xbf",
    b"\xff",
    b"99999999999",
    b"  ",
    b"\r\n",
    b",",
    b"\x0b",
    b"\x1c",
    b"2:",
]


@given(texts(), st.data())
def test_mutated_text_is_read_or_refused_where_the_reference_does(text, data):
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 3))
        text = text[:at] + data.draw(st.sampled_from([b"", *PIECES])) + text[at + gone :]
    base, width = data.draw(st.sampled_from([(1, 2**31 - 1), (0, 2**31 - 1), (1, 40)]))
    dtype = data.draw(st.sampled_from([np.float64, np.float64, np.float32]))
    expected = reference(text, base, width, dtype is np.float32)
    if dtype is np.float32 and not isinstance(expected, int):
        expected = [(label, {k: float(np.float32(v)) for k, v in row.items()}) for label, row in expected]
    terms = Terms(base, None if width > 2**30 else width, dtype)
    assert same(outcome(parse, text, terms), expected)
    assert same(outcome(read_lines, text, terms), expected)


@given(st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join)))
@example(b"1 1:2:3\n")
@example(b"1:2 3:4\n")
@example(b"1 1:2 :3\n")
@example(b"1 1:2 3\n1 4:5:6\n")
@example(b"1 0000000000000000000001:5\n")
@example(b"1 1:.\n")
def test_any_bytes_are_read_or_refused_where_the_reference_does(text):
    assert same(outcome(parse, text, Terms()), reference(text))


@given(st.lists(numbers(), min_size=1, max_size=30))
def test_values_have_the_bits_of_float(values):
    text = " ".join(["1", *(f"{i}:{value}" for i, value in enumerate(values, start=1))]) + "\n"
    assert same(parse(text.encode(), Terms()).data.tolist(), list(map(float, values)))


def test_many_decimals_have_the_bits_of_float(rng):
    """Around 2^53, at each number of digits, and at each place of the point."""
    values = []
    for digits in range(1, 25):
        for _ in range(200):
            mantissa = "".join(map(str, rng.integers(0, 10, digits)))
            place = int(rng.integers(0, digits + 1))
            values.append(f"{mantissa[:place]}.{mantissa[place:]}")
    for offset in range(-20, 21):
        mantissa = str(2**53 + offset)
        values += [f"{mantissa[:place]}.{mantissa[place:]}" for place in range(17)]
    text = " ".join(["1", *(f"{i}:{value}" for i, value in enumerate(values, start=1))]) + "\n"
    parsed = parse(text.encode(), Terms())
    np.testing.assert_array_equal(parsed.data, [float(value) for value in values])


@given(st.data())
def test_what_scikit_learn_dumps_is_read_as_it_reads_it(data):
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    cells = st.one_of(
        st.just(0.0), st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(-9, 9)
    )
    X = np.array(data.draw(st.lists(cells, min_size=rows * columns, max_size=rows * columns)), dtype=float)
    y = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=rows, max_size=rows)))
    base = data.draw(st.sampled_from([0, 1]))
    file = io.BytesIO()
    dump_svmlight_file(X.reshape(rows, columns), y, file, zero_based=base == 0)
    found, labels = read_svmlight(io.BytesIO(file.getvalue()), n_features=columns, index_base=base)
    theirs, their_labels = load_svmlight_file(
        io.BytesIO(file.getvalue()), n_features=columns, zero_based=base == 0
    )
    assert_same_matrix(found, theirs)
    np.testing.assert_array_equal(labels, their_labels)
    np.testing.assert_array_equal(labels, y)


def assert_same_matrix(found, expected):
    assert found.shape == expected.shape
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_rows_without_features_and_explicit_zeros():
    X, y = read_svmlight(io.BytesIO(b"1\n0 3:0\n"))
    assert X.shape == (2, 3)
    assert X.nnz == 1
    np.testing.assert_array_equal(y, [1.0, 0.0])
    assert read_svmlight(io.BytesIO(b"1\n-1\n"))[0].shape == (2, 0)


def test_parameters_are_checked():
    for name, value in (("index_base", 2), ("index_base", True), ("n_features", 0), ("n_features", 2**31)):
        with pytest.raises(ValueError, match=f"The '{name}' parameter must be"):
            read_svmlight(io.BytesIO(b"1 1:1"), **{name: value})
    for name, value in (("dtype", np.int64), ("n_jobs", 0), ("n_jobs", 1.5)):
        with pytest.raises(ValueError, match=f"The '{name}' parameter must be"):
            read_svmlight(io.BytesIO(b"1 1:1"), **{name: value})


def test_text_streams_are_refused():
    with pytest.raises(TypeError, match="binary mode"):
        read_svmlight(io.StringIO("1 1:1"))


def test_single_precision():
    X, _ = read_svmlight(io.BytesIO(b"1 1:0.1 2:1e-50"), dtype=np.float32)
    np.testing.assert_array_equal(X.data, np.array([0.1, 0.0], dtype=np.float32))
    with pytest.raises(SvmlightFormatError, match="<stream>:2: the value is too large for float32: '7:1e39'"):
        read_svmlight(io.BytesIO(b"1 1:0.1\n1 7:1e39\n"), dtype=np.float32)


COMPRESSORS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_files(suffix, tmp_path):
    text = b"".join(b"%d %d:0.5\n" % (i % 2, i) for i in range(1, 2000))
    path = tmp_path / f"some.svm{suffix}"
    compress = COMPRESSORS[suffix]
    path.write_bytes(compress(text) + compress(b"5 1:1\n"))  # two streams in a row are one text
    X, y = read_svmlight(path)
    assert (X.shape, y[-1]) == ((2000, 1999), 5.0)
    path.write_bytes(text)
    with pytest.raises(
        SvmlightFormatError, match=rf"some.svm{suffix}:1: the file is named {suffix}, but is not"
    ):
        read_svmlight(path)
    path.write_bytes(compress(text)[:-20])
    with pytest.raises(SvmlightFormatError, match=r":[0-9]+: the compressed data are damaged"):
        read_svmlight(path)
    plain = tmp_path / "plain.svm"
    plain.write_bytes(compress(text))
    for source in (plain, io.BytesIO(compress(text))):
        with pytest.raises(SvmlightFormatError, match=r":1: the text is compressed by"):
            read_svmlight(source)


@pytest.fixture
def small_parts(monkeypatch):
    """Parts and pieces so small that a short text has many of them."""
    monkeypatch.setattr(text_module, "PART_BYTES", 64)
    monkeypatch.setattr(svmlight, "PIECE_BYTES", 20)


def some_text(rng, rows=300):
    X = sp.random(rows, 40, density=0.2, format="csr", rng=rng)
    file = io.BytesIO()
    dump_svmlight_file(X, rng.integers(0, 3, rows), file, zero_based=False)
    return file.getvalue()


def test_parts_make_the_whole(small_parts, rng, tmp_path):
    text = some_text(rng)
    path, packed = tmp_path / "some.svm", tmp_path / "some.svm.gz"
    path.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    expected, labels = load_svmlight_file(str(path), zero_based=False)
    for source in (path, packed, io.BytesIO(text)):
        for n_jobs in (1, 3):
            if hasattr(source, "seek"):
                source.seek(0)
            X, y = read_svmlight(source, n_jobs=n_jobs)
            assert_same_matrix(X, expected)
            np.testing.assert_array_equal(y, labels)


def test_each_span_has_the_lines_that_begin_in_it(tmp_path):
    path = tmp_path / "some.svm"
    text = b"1 1:1\n\n2 2:22\n3\n4 4:4"
    path.write_bytes(text)
    for size in range(1, len(text) + 2):
        starts = range(0, len(text), size)
        spans = [text_module.Span(str(path), start, min(start + size, len(text))) for start in starts]
        assert b"".join(span.read() for span in spans) == text


def test_the_first_fault_is_found_in_any_part(small_parts, rng, tmp_path):
    lines = some_text(rng, 60).splitlines(keepends=True)
    path = tmp_path / "some.svm"
    for number in (1, 2, 30, 59, 60):
        broken = list(lines)
        broken[number - 1] = b"1 1:x\n"
        broken[-1] = b"1 1:y\n" if number < 60 else broken[-1]
        path.write_bytes(b"".join(broken))
        for n_jobs in (1, 2):
            with pytest.raises(SvmlightFormatError, match=rf"some\.svm:{number}: .*'1:x'"):
                read_svmlight(path, n_jobs=n_jobs)


def test_processes_give_what_threads_give(monkeypatch, small_parts, rng, tmp_path):
    path = tmp_path / "some.svm"
    path.write_bytes(some_text(rng))
    expected, labels = read_svmlight(path, n_jobs=1)
    monkeypatch.setattr(svmlight, "BYTES_FOR_PROCESSES", 0)
    X, y = read_svmlight(path, n_jobs=2)
    assert_same_matrix(X, expected)
    np.testing.assert_array_equal(y, labels)
    path.write_bytes(path.read_bytes() + b"1 1:z\n")
    with pytest.raises(SvmlightFormatError, match=r"some\.svm:301: .*'1:z'"):
        read_svmlight(path, n_jobs=2)


def test_processes_of_reading_leave_joblib_its_own(rng, tmp_path):
    path = tmp_path / "some.svm"
    path.write_bytes(some_text(rng))
    program = """
import sys
import joblib
import sparsebayes.io.svmlight as svmlight
svmlight.BYTES_FOR_PROCESSES = 0
svmlight.read_svmlight(sys.argv[1], n_jobs=2)
print(joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(k) for k in range(3)))
"""
    # In a process of its own: whichever of the two comes first there makes the executor that loky keeps.
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2]\n"), done.stderr


def test_progress_reaches_the_size(small_parts, rng, tmp_path):
    text = some_text(rng)
    (tmp_path / "some.svm").write_bytes(text)
    (tmp_path / "some.svm.xz").write_bytes(lzma.compress(text))
    for path in tmp_path.iterdir():
        calls = []
        read_svmlight(path, progress=lambda done, total: calls.append((done, total)), n_jobs=2)  # noqa: B023
        done = [each for each, _ in calls]
        assert done == sorted(done)
        assert {total for _, total in calls} == {os.path.getsize(path)} == {done[-1]}
    calls = []
    read_svmlight(io.BytesIO(text), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(text), None)


def test_standard_input_and_pipes(tmp_path):
    code = """
import sys
from sparsebayes.io import read_svmlight
print(read_svmlight(sys.stdin.buffer if sys.argv[1:] == ["-"] else sys.argv[1])[0].shape)
"""
    command = [sys.executable, "-c", code]
    assert (
        subprocess.run([*command, "/dev/stdin"], input=b"1 7:1\n", capture_output=True).stdout == b"(1, 7)\n"
    )
    run = subprocess.run([*command, "-"], input=b"1 7:1\n1 7\n", capture_output=True)
    assert "SvmlightFormatError: <stdin>:2: a feature has no colon: '7'" in run.stderr.decode()


def test_a_long_line_is_refused_after_an_earlier_fault(monkeypatch, small_parts, tmp_path):
    monkeypatch.setattr(text_module, "MAX_LINE", 100)
    monkeypatch.setattr(svmlight, "MAX_LINE", 100)
    path = tmp_path / "some.svm"
    features = b"".join(b" %d:1" % i for i in range(1, 40))
    for source in (lambda: path, lambda: io.BytesIO(path.read_bytes())):
        path.write_bytes(b"1 1:1\n1" + features + b"\n1 1:1\n")
        with pytest.raises(SvmlightFormatError, match=r":2: the line is longer than 100 bytes: '1 1:1"):
            read_svmlight(source(), n_jobs=1)
        path.write_bytes(b"1 1:x\n1" + features)
        with pytest.raises(SvmlightFormatError, match=r":1: the value is not"):
            read_svmlight(source(), n_jobs=2)


def test_data_sets_are_read_as_scikit_learn_reads_them(data_set, tmp_path):
    folder = Path(os.environ["SPARSEBAYES_DATA"])
    for name in ("a1a", "german.numer", "url_sample", "wine.scale"):
        path = folder / f"{name}.svm.bz2"
        expected, labels = load_svmlight_file(str(path), zero_based=False)
        X, y = read_svmlight(path)
        assert_same_matrix(X, expected)
        np.testing.assert_array_equal(y, labels)
        store = convert_svmlight(path, tmp_path / name, block_rows=1000)
        assert_same_matrix(store.to_csr(), expected)
        np.testing.assert_array_equal(store.y, labels)
