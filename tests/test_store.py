"""Block stores: rows come back as they were, or an error names the file; a crash leaves the old store."""

from __future__ import annotations

import ast
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sparsebayes
import sparsebayes.io.writer as writer_module
from sparsebayes.io import BlockStore, StoreError, SvmlightFormatError, convert_svmlight
from sparsebayes.io.manifest import END, MIDDLE, START, _checked_body

LABELS = {
    "int": np.array([3, -1, 3, 7, 7, 3, -1]),
    "float": np.array([0.5, -1.0, 0.5, 2.0, 2.0, 0.1, -1.0]),
    "str": np.array(["b", "ä", "b", "longer", "ä", "b", "b"]),
    "bool": np.array([True, False, False, True, True, True, False]),
}
X7 = np.arange(35.0).reshape(7, 5) % 4


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.store"


def contents(folder):
    return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


STORAGES = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
}


@given(st.data())
@settings(max_examples=40)
def test_what_is_written_comes_back(data):
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
    dense = data.draw(hnp.arrays(dtype, (rows, columns), elements=st.one_of(st.just(0.0), finite)))
    y = data.draw(st.sampled_from(list(LABELS.values())))[
        data.draw(hnp.arrays(int, rows, elements=st.integers(0, 6)))
    ]
    weight = data.draw(st.one_of(st.none(), hnp.arrays(float, rows, elements=st.floats(0, 1e9))))
    X = STORAGES[data.draw(st.sampled_from(list(STORAGES)))](dense)
    block_rows = data.draw(st.integers(1, 10))
    with tempfile.TemporaryDirectory() as folder:
        written = BlockStore.write(Path(folder) / "s", X, y, weight, block_rows=block_rows)
        store = BlockStore.open(str(Path(folder) / "s"))
        store.verify()
        assert store.shape == written.shape == dense.shape
        assert store.dtype == dtype
        assert store.storage == ("csr" if sp.issparse(X) else "dense")
        assert [len(block.y) for block in store] == [
            len(dense[i : i + block_rows]) for i in range(0, rows, block_rows)
        ]
        np.testing.assert_array_equal(store.to_csr().toarray(), dense)
        assert store.to_csr().dtype == dtype
        assert_same_labels(store.y, y)
        assert_same_labels(store.classes, np.unique(y))
        np.testing.assert_array_equal(store.column_counts, np.count_nonzero(dense, axis=0))
        assert store.nnz == np.count_nonzero(dense)
        assert (store.sample_weight is None) == (weight is None)
        if weight is not None:
            np.testing.assert_array_equal(store.sample_weight, weight)


def assert_same_labels(found, expected):
    assert found.dtype.kind == expected.dtype.kind
    np.testing.assert_array_equal(found, expected)


def is_mapped(array):
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return not array.flags.writeable
        array = array.base
    return False


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_blocks_are_views_of_files_that_numpy_reads(path, storage):
    store = BlockStore.write(path, STORAGES[storage](X7), LABELS["int"], np.ones(7), block_rows=3)
    block = store.block(1)
    arrays = [block.X] if storage == "dense" else [block.X.data, block.X.indices, block.X.indptr]
    assert all(map(is_mapped, [*arrays, block.sample_weight]))
    assert storage == "dense" or block.X.has_canonical_format
    np.testing.assert_array_equal(block.X @ np.ones(5), X7[3:6].sum(axis=1))
    for role, array in zip(("data", "indices", "indptr"), arrays, strict=False):
        np.testing.assert_array_equal(np.load(path / f"block-000001.{role}.npy"), array)
    with pytest.raises(IndexError, match="3 blocks"):
        store.block(3)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_blocks_do_not_depend_on_how_rows_arrive(tmp_path, storage, monkeypatch, rng):
    monkeypatch.setattr(writer_module, "BLOCK_ENTRIES", 12)
    X = STORAGES[storage]((rng.random((40, 6)) < 0.3) * rng.random((40, 6)))
    y = rng.integers(0, 4, 40)
    whole = BlockStore.write(tmp_path / "whole", X, y, block_rows=7)
    sizes = [len(block.y) for block in whole]
    assert len(set(sizes)) > 1 or storage == "dense"
    assert all(block.X.size <= 12 for block in whole)
    for step in (1, 3, 40):
        with BlockStore.create(tmp_path / str(step), block_rows=7) as writer:
            for start in range(0, 40, step):
                writer.append(X[start : start + step], y[start : start + step])
        assert contents(tmp_path / str(step)) == contents(tmp_path / "whole")


def test_a_buffer_may_be_used_again(path):
    buffer, labels, weight = np.empty((2, 3)), np.empty(2), np.empty(2)
    with BlockStore.create(path, block_rows=3) as writer:
        for number in range(5):
            for array in (buffer, labels, weight):
                array[:] = number
            writer.append(buffer, labels, weight)
    store = BlockStore.open(path)
    for array in (store.to_csr().toarray()[:, 2], store.y, store.sample_weight):
        np.testing.assert_array_equal(array, np.repeat(np.arange(5.0), 2))


def test_a_row_beyond_the_limit_is_a_block(path, monkeypatch):
    monkeypatch.setattr(writer_module, "BLOCK_ENTRIES", 3)
    store = BlockStore.write(path, sp.csr_matrix(np.ones((3, 5))), [0, 1, 0])
    assert store.n_blocks == 3
    np.testing.assert_array_equal(store.to_csr().toarray(), np.ones((3, 5)))


def test_sparse_input_is_made_canonical_in_a_copy(path):
    X = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    store = BlockStore.write(path, X, [1])
    np.testing.assert_array_equal(store.to_csr().toarray(), [[2.0, 0.0, 4.0]])
    np.testing.assert_array_equal(X.indices, [2, 0, 2])


def test_data_frames_give_their_names(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"one": [1, 2], "two": [0.5, 0.25]})
    assert BlockStore.write(path, frame, pandas.Series(["a", "b"])).feature_names == ["one", "two"]
    with pytest.raises(ValueError, match="1 feature names for 2 columns"):
        BlockStore.write(path.with_name("other"), frame, [0, 1], feature_names=["one"])
    assert [each.name for each in path.parent.iterdir()] == ["some.store"]


def test_append(path):
    store = BlockStore.write(path, sp.csr_matrix(X7[:3]), LABELS["str"][:3], block_rows=2)
    before = contents(path)
    longer = store.append(X7[3:], LABELS["str"][3:])
    longer.verify()
    np.testing.assert_array_equal(longer.to_csr().toarray(), X7)
    np.testing.assert_array_equal(longer.y, LABELS["str"])
    np.testing.assert_array_equal(longer.column_counts, np.count_nonzero(X7, axis=0))
    assert [len(block.y) for block in longer] == [2, 1, 2, 2]
    assert store.shape == (3, 5)
    np.testing.assert_array_equal(store.to_csr().toarray(), X7[:3])
    after = contents(path)
    assert all(after[name] == before[name] for name in before if name.startswith("block"))
    with pytest.raises(StoreError, match=r"columns-000000.numbers.npy: it is missing; was the store changed"):
        _ = store.column_counts
    assert store.append(X7[:1], ["new"]).shape == (8, 5)


WRONG = {
    "NaN": (lambda X, y: X.__setitem__((2, 1), np.nan), "row 6, column 1 holds nan"),
    "infinity": (lambda X, y: X.__setitem__((0, 4), -np.inf), "row 4, column 4 holds -inf"),
    "NaN as label": (lambda X, y: y.__setitem__(1, np.nan), "row 5 has the label nan"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_rows_at_fault_are_named_as_the_store_counts_them(path, name, storage):
    spoil, message = WRONG[name]
    X, y = X7[:3].copy() + 1.0, np.array([1.0, 2.0, 1.0])
    spoil(X, y)
    store = BlockStore.write(path, X7[:4], np.ones(4))
    before = contents(path)
    with pytest.raises(ValueError, match=message):
        store.append(STORAGES[storage](X), y)
    assert contents(path) == before


def test_what_cannot_be_stored_is_refused(path):
    ones = np.ones((2, 3))
    for X, y, weight, message in (
        (ones, [1], None, "X has 2 rows, y has 1"),
        (ones[0], [1], None, "two-dimensional"),
        (ones * 1j, [1, 2], None, "real numbers"),
        (ones, [[1], [2]], None, "one-dimensional"),
        (ones, [1, None], None, "row 1 has None"),
        (ones, ["a", 1.5], None, "row 1 has 1.5, row 0 has 'a'"),
        (ones, [Fraction(1), Fraction(2)], None, "all of one kind"),
        (np.array([["a"], ["b"]]), [1, 2], None, "real numbers"),
        (ones, np.array([1, 2], dtype=complex), None, "dtype complex128"),
        (ones, np.array([1, 2**63], dtype=np.uint64), None, "beyond"),
        (ones, [1, 2], [1.0], "2 entries"),
        (ones, [1, 2], [1.0, -1.0], "row 1 has -1.0"),
        (ones[:0], [], None, "a row at least"),
    ):
        with pytest.raises(ValueError, match=message):
            BlockStore.write(path, X, y, weight)
    for name, value in (("block_rows", 0), ("dtype", int), ("index_base", 3)):
        with pytest.raises(ValueError, match=f"The '{name}' parameter must be"):
            BlockStore.write(path, ones, [1, 2], **{name: value})
    with pytest.raises(ValueError, match=r"as float32.* row 0, column 1 holds inf"):
        BlockStore.write(path, [[1.0, 1e39]], [1], dtype=np.float32)
    with pytest.raises(ValueError, match="65536 distinct labels"):
        BlockStore.write(path, np.ones((65537, 1)), np.arange(65537))
    assert list(path.parent.iterdir()) == []
    store = BlockStore.write(path, ones, [1, 2])
    for X, y, weight, message in (
        (np.ones((1, 2)), [1], None, "X has 2 columns, the store has 3"),
        (ones, ["a", "b"], None, "of kind str, those before of int"),
        (ones, [1, 2], [1, 1], "Either all rows"),
    ):
        with pytest.raises(ValueError, match=message):
            store.append(X, y, weight)
    with pytest.raises(FileExistsError, match="There is something already"):
        BlockStore.write(path, ones, [1, 2])


# Damage


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "small.store"
    BlockStore.write(path, sp.csr_matrix(X7[:3, :3]), [0.5, 1.0, 0.5], [1.0, 2.0, 3.0], feature_names="abc")
    return path


def test_every_flipped_bit_of_the_manifest_is_noticed(small):
    good = (small / "manifest.json").read_bytes()
    assert json.loads(_checked_body(good)) == json.loads(good)["store"]
    unnoticed = []
    for position in range(8 * len(good)):
        bad = bytearray(good)
        bad[position // 8] ^= 1 << position % 8
        with suppress(ValueError):
            _checked_body(bytes(bad))
            unnoticed.append(position)
    assert not unnoticed


def test_flipped_bits_and_other_sizes_of_arrays_are_noticed(small, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(small, folder)
    names = [file.name for file in folder.glob("*.npy")]
    assert len(names) == 7
    store = BlockStore.open(folder)
    for name in names:
        good = (folder / name).read_bytes()
        for position in range(len(good)):
            bad = bytearray(good)
            bad[position] ^= 1 << position % 8
            (folder / name).write_bytes(bad)
            with pytest.raises(StoreError, match=f"{name}: it is damaged"):
                store.verify()
        for bad in (good[:-1], good + b"\0", b""):
            (folder / name).write_bytes(bad)
            with pytest.raises(
                StoreError, match=f"{name}: it should have {len(good)} bytes, but has {len(bad)}"
            ):
                BlockStore.open(folder)
        (folder / name).unlink()
        with pytest.raises(StoreError, match=f"{name}: it is missing"):
            BlockStore.open(folder)
        (folder / name).write_bytes(good)
    BlockStore.open(folder).verify()


def sealed(body):
    text = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    return START + hashlib.sha256(text).hexdigest().encode() + MIDDLE + text + END


def hostile_manifests(good):
    def changed(**fields):
        return {**good, **fields}

    def block(**fields):
        return changed(blocks=[{**good["blocks"][0], **fields}])

    digests = good["blocks"][0]["sha256"]
    return {
        "newer": changed(format=2),
        "no format": changed(format=None),
        "format true": changed(format=True),
        "another field": changed(more=1),
        "a field less": {name: value for name, value in good.items() if name != "nnz"},
        "not an object": [],
        "deep": b"[" * 100_000,
        "NaN": json.dumps(changed(rows=float("nan"))).encode(),
        "repeated name": json.dumps(good).encode()[:-1] + b',"rows":3}',
        "negative rows": changed(rows=-3),
        "rows as float": changed(rows=3.0),
        "huge rows": changed(rows=2**60),
        "other rows": changed(rows=4),
        "huge columns": changed(columns=2**31),
        "other nnz": changed(nnz=1),
        "object array": changed(dtype="|O"),
        "big-endian": changed(dtype=">f8"),
        "unhashable dtype": changed(dtype=["<f8"]),
        "unknown storage": changed(storage="zip"),
        "index base": changed(index_base=2),
        "weighted 1": changed(weighted=1),
        "path as generation": changed(generation="../../x"),
        "label kind": changed(label_kind="object"),
        "label of another kind": changed(labels=[0.5, "x"]),
        "label twice": changed(labels=[0.5, 0.5]),
        "list as label": changed(labels=[[0.5], 1.0]),
        "infinite label": json.dumps(changed(labels=[0.5, "?"])).replace('"?"', "1e999").encode(),
        "names": changed(feature_names=["a"]),
        "numbers as names": changed(feature_names=[1, 2, 3]),
        "no blocks": changed(blocks=[], rows=0, nnz=0),
        "blocks as text": changed(blocks="abc"),
        "block as list": changed(blocks=[[3, 4]]),
        "empty block": block(rows=0),
        "long block": changed(block_rows=2),
        "block of many entries": block(nnz=2**40),
        "block without files": block(sha256={}),
        "file by a path": block(sha256={**digests, "../data": digests["data"]}),
        "short digest": block(sha256={**digests, "data": "00"}),
        "used columns": changed(used_columns=4),
        "counts": changed(counts_sha256={"numbers": "x", "counts": "y"}),
    }


def test_hostile_manifests_are_refused(small, tmp_path):
    text = (small / "manifest.json").read_bytes()
    good = json.loads(text)["store"]
    assert sealed(good) == text
    folder = tmp_path / "copy"
    shutil.copytree(small, folder)
    for name, body in hostile_manifests(good).items():
        (folder / "manifest.json").write_bytes(sealed(body))
        with pytest.raises(StoreError, match=r"manifest\.json: "):
            pytest.fail(f"{name}: {BlockStore.open(folder)}")
    for junk in (b"", b"{}", text[:-1], text + b"\n", b"\x80\x04."):
        (folder / "manifest.json").write_bytes(junk)
        with pytest.raises(StoreError, match=r"manifest\.json: it is"):
            BlockStore.open(folder)
    with open(folder / "manifest.json", "wb") as sparse:
        sparse.truncate(2**33)
    with pytest.raises(StoreError, match="too large"):
        BlockStore.open(folder)
    (folder / "manifest.json").write_bytes(sealed({**good, "format": 2}))
    with pytest.raises(StoreError, match=r"format 2 > supported 1: a newer sparsebayes is needed"):
        BlockStore.open(folder)
    with pytest.raises(StoreError, match=r"it is not a block store"):
        BlockStore.open(tmp_path / "nothing")


HOSTILE_ARRAYS = {
    "indices": ("<i4", [0, 2**30, 1], "outside of the columns"),
    "negative index": ("<i4", [-1, 1, 2], "outside of the columns"),
    "order": ("<i4", [1, 0, 2], "do not ascend"),
    "indptr": ("<i4", [0, 2**31 - 1, 3], "rows are not in order"),
    "y": ("<i4", [0, 9], "unknown label"),
    "data": ("<f8", [1.0, np.nan, 1.0], "row 0, column 1 holds nan"),
    "weight": ("<f8", [1.0, -1.0], "a weight is negative"),
    "numbers": ("<i4", [0, 1, 2**30], "columns are not in order"),
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_arrays_that_point_outside_are_refused(name, path):
    """With checksums that are right: scipy would read or write beyond its memory."""
    X = sp.csr_matrix(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    BlockStore.write(path, X, [1, 2], [1.0, 1.0])
    dtype, values, message = HOSTILE_ARRAYS[name]
    role = {"negative index": "indices", "order": "indices"}.get(name, name)
    (file,) = path.glob(f"*.{role}.npy")
    content = file.read_bytes()[:128] + np.array(values, dtype=dtype).tobytes()
    assert len(content) == file.stat().st_size
    body = json.loads((path / "manifest.json").read_bytes())["store"]
    digests = body["counts_sha256"] if role == "numbers" else body["blocks"][0]["sha256"]
    digests[role] = hashlib.sha256(content).hexdigest()
    file.write_bytes(content)
    (path / "manifest.json").write_bytes(sealed(body))
    store = BlockStore.open(path)
    with pytest.raises(StoreError, match=message):
        store.verify()
    if name not in ("data", "weight", "numbers"):
        with pytest.raises(StoreError, match=message):
            store.block(0)


def test_the_reader_looks_nothing_up_by_name():
    forbidden = {
        "pickle",
        "marshal",
        "eval",
        "exec",
        "__import__",
        "importlib",
        "load",
        "literal_eval",
        "getattr",
    }
    for name in ("store", "manifest", "npy", "labels", "columns"):
        source = (Path(sparsebayes.__file__).parent / "io" / f"{name}.py").read_text()
        assert "pickle" not in source
        for node in ast.walk(ast.parse(source)):
            assert not {getattr(node, field, None) for field in ("id", "attr", "name", "module")} & forbidden


# Crashes


CRASHES = """
import os, signal, sys
import numpy as np
from sparsebayes.io import BlockStore
folder, what = sys.argv[1:]
def stepped(original, moment, left=[0]):
    def step(*arguments, **options):
        left[0] += 1
        if left[0] == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)
    return step
for moment in range(1, 99):
    path = f"{folder}/{moment}"
    if what == "append":
        BlockStore.write(path, np.zeros((2, 3)), [0, 1])
    child = os.fork()
    if child == 0:
        for name in ("fsync", "replace", "rename", "unlink"):
            setattr(os, name, stepped(getattr(os, name), moment))
        if what == "append":
            BlockStore.open(path).append(np.ones((4, 3)), [0, 1, 2, 3])
        else:
            BlockStore.write(path, np.ones((4, 3)), [0, 1, 2, 3], block_rows=3)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed")
@pytest.mark.parametrize("what", ["write", "append"])
def test_killed_at_any_step_leaves_the_old_store_or_the_new(tmp_path, what):
    subprocess.run([sys.executable, "-c", CRASHES, tmp_path, what], check=True)
    found = []
    for moment in range(1, 99):
        path = tmp_path / str(moment)
        if path.exists():
            store = BlockStore.open(path)
            store.verify()
            found.append(store.shape[0])
            if what == "append":  # what the crash has left is no hindrance
                assert store.append(np.ones((1, 3)), [5]).to_csr().sum() == 3 * (store.shape[0] - 2) + 3
        elif not any(tmp_path.glob(f".{moment}.*")):
            break
        else:
            found.append(0)
    assert len(found) >= 6
    assert found == sorted(found)
    assert set(found) == ({0, 4} if what == "write" else {2, 6})


@contextmanager
def full_at(monkeypatch, name, moment):
    """The system call ``name`` finds the disk full at its n-th use; tells whether it got there."""
    original, calls = getattr(os, name), []

    def full(*arguments):
        calls.append(name)
        if len(calls) == moment:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, full)
        with suppress(OSError):
            yield calls


@pytest.mark.parametrize("name", ["fsync", "replace", "rename"])
def test_a_full_disk_leaves_the_old_store_or_none(tmp_path, monkeypatch, name):
    for moment in range(1, 30):
        old, new = tmp_path / f"old {moment}", tmp_path / f"new {moment}"
        store = BlockStore.write(old, X7, LABELS["int"], block_rows=4)
        before = contents(old)
        with full_at(monkeypatch, name, moment) as appended:
            store.append(X7, LABELS["int"])
        with full_at(monkeypatch, name, moment) as written:
            BlockStore.write(new, X7, LABELS["int"], block_rows=4)
        BlockStore.open(old).verify()
        assert BlockStore.open(old).shape == (14, 5) or contents(old) == before
        if new.exists():
            BlockStore.open(new).verify()
        if max(len(appended), len(written)) < moment:
            break
    assert moment < 29
    assert (moment > 5) == (name == "fsync")
    assert all(not each.name.startswith(".") for each in tmp_path.iterdir())
    assert not (tmp_path / "new 1").exists() or name == "replace"


def test_one_writer_at_a_time(path):
    pytest.importorskip("fcntl")
    store = BlockStore.write(path, X7, LABELS["int"])
    with writer_module.locked(path), pytest.raises(StoreError, match="another process is appending"):
        store.append(X7, LABELS["int"])
    assert store.append(X7, LABELS["int"]).shape == (14, 5)


# Other sources


def test_svmlight_makes_the_same_store_however_it_is_read(tmp_path, rng, monkeypatch):
    import gzip

    import sparsebayes.io.text as text_module

    lines = [b"%d %d:%.3f" % (i % 3, 1 + i % 50, value) for i, value in enumerate(rng.random(400), start=1)]
    text = b"\n".join(lines)
    (tmp_path / "some.svm").write_bytes(text)
    (tmp_path / "some.svm.gz").write_bytes(gzip.compress(text))
    convert_svmlight(tmp_path / "some.svm", tmp_path / "one", block_rows=150, n_jobs=1)
    monkeypatch.setattr(text_module, "PART_BYTES", 100)
    convert_svmlight(tmp_path / "some.svm", tmp_path / "two", block_rows=150, n_jobs=2)
    store = convert_svmlight(tmp_path / "some.svm.gz", tmp_path / "three", block_rows=150, n_jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(tmp_path / "three")
    assert (store.shape, store.index_base, store.n_blocks) == ((400, 50), 1, 3)
    np.testing.assert_array_equal(store.classes, [0.0, 1.0, 2.0])
    wide = convert_svmlight(tmp_path / "some.svm", tmp_path / "wide", n_features=60, dtype=np.float32)
    assert (wide.shape, wide.dtype) == ((400, 60), np.float32)


def test_text_at_fault_leaves_nothing(tmp_path):
    (tmp_path / "some.svm").write_bytes(b"1 1:1\n" * 9 + b"1 1:x\n")
    with pytest.raises(SvmlightFormatError, match=r"some\.svm:10: "):
        convert_svmlight(tmp_path / "some.svm", tmp_path / "some.store")
    assert [each.name for each in tmp_path.iterdir()] == ["some.svm"]


@pytest.fixture
def table():
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table(
        {
            "a": pyarrow.array([1.5, 2.5, 0.0, 4.0]),
            "kind": pyarrow.array(["x", "y", "x", "z"]).dictionary_encode(),
            "b": pyarrow.array([1, 2, 3, 4], type=pyarrow.int16()),
            "w": pyarrow.array([1.0, 0.0, 2.0, 1.0]),
            "c": pyarrow.array([True, False, True, True]),
        }
    )


@pytest.mark.parametrize("source", ["table", "reader", "parquet", "arrow"])
def test_tables(table, tmp_path, source):
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=3)
    pyarrow.feather.write_feather(table, str(tmp_path / "t.arrow"), compression="uncompressed")
    sources = {
        "table": table,
        "reader": table.to_reader(max_chunksize=3),
        "parquet": tmp_path / "t.parquet",
        "arrow": str(tmp_path / "t.arrow"),
    }
    store = BlockStore.from_parquet(sources[source], tmp_path / "s", label="kind", weight="w", block_rows=2)
    assert store.feature_names == ["a", "b", "c"]
    assert (store.shape, store.n_blocks, store.storage) == ((4, 3), 2, "dense")
    np.testing.assert_array_equal(store.to_csr().toarray(), [[1.5, 1, 1], [2.5, 2, 0], [0, 3, 1], [4, 4, 1]])
    np.testing.assert_array_equal(store.y, ["x", "y", "x", "z"])
    np.testing.assert_array_equal(store.sample_weight, [1.0, 0.0, 2.0, 1.0])


def test_tables_at_fault(table, tmp_path):
    import pyarrow

    hole = table.append_column("d", pyarrow.array([1.0, 2.0, None, 4.0]))
    nan = table.append_column("d", pyarrow.array([1.0, 2.0, float("nan"), 4.0]))
    twice = table.append_column("a", pyarrow.array([1.0, 2.0, 3.0, 4.0]))
    for source, label, message in (
        (hole, "kind", "<table>: row 2, column 'd': no finite number"),
        (nan, "kind", "<table>: row 2, column 'd': no finite number"),
        (table, "a", "column 'kind' holds dictionary.*, not numbers"),
        (table, "none", "there is no column 'none' among 'a', 'kind'"),
        (twice, "kind", "two columns are named 'a'"),
        ({"a": [1]}, "a", "Got dict"),
    ):
        with pytest.raises(ValueError, match=message):
            BlockStore.from_parquet(source, tmp_path / "s", label=label, block_rows=2)
    assert list(tmp_path.iterdir()) == []
