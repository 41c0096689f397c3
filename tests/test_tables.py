"""Tables of several formats against the arrays they were written from, and what a bad one is told."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from sparsebayes.io import BlockStore, Columns, TableError, read_table

pandas = pytest.importorskip("pandas")
X = np.array([[1.5, 0.0, -2.0], [0.25, 1e300, 3.0], [0.0, 7.0, 1e-300], [4.0, 0.0, 0.0]])
Y = np.array(["no", "yes", "yes", "no"])
NAMES = ["a", "b b", 'ü,"quoted"']


def as_csv(folder, delimiter=",", name="rows.csv"):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow([*NAMES, "label"])
    writer.writerows([*map(repr, row), label] for row, label in zip(X.tolist(), Y, strict=True))
    path = folder / name
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def as_parquet(folder):
    pytest.importorskip("pyarrow")
    path = folder / "rows.parquet"
    pandas.DataFrame(X, columns=NAMES).assign(label=Y).to_parquet(path)
    return path


def as_npz(folder):
    np.savez(folder / "rows.npz", X=X, y=Y, feature_names=np.array(NAMES))
    return folder / "rows.npz"


@pytest.mark.parametrize("write", [as_csv, as_parquet, as_npz])
def test_named_columns(tmp_path, write):
    table = read_table(write(tmp_path))
    assert np.array_equal(table.X, X)
    assert table.y.tolist() == Y.tolist()
    assert table.feature_names == NAMES
    assert table.sample_weight is None


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_byte_order_mark(tmp_path, delimiter):
    path = as_csv(tmp_path, delimiter)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    table = read_table(path)
    assert np.array_equal(table.X, X)
    assert table.feature_names == NAMES


@pytest.mark.parametrize(
    ("ending", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_compressed(tmp_path, ending, compress):
    plain = as_csv(tmp_path)
    packed = tmp_path / f"rows.csv{ending}"
    packed.write_bytes(compress(plain.read_bytes()))
    assert np.array_equal(read_table(packed).X, X)


def test_svmlight_by_any_other_name(tmp_path):
    for name in ("rows.svm", "rows", "madelon.t"):
        dump_svmlight_file(X, [1, 2, 2, 1], str(tmp_path / name), zero_based=False)
        table = read_table(tmp_path / name)
        assert np.array_equal(table.X.toarray(), X)
        assert table.y.tolist() == [1, 2, 2, 1]
        assert table.y.dtype == np.int64


def test_svmlight_base_and_width(tmp_path):
    dump_svmlight_file(X[:, :2], [0, 1, 1, 0], str(tmp_path / "rows.svm"), zero_based=True)
    table = read_table(tmp_path / "rows.svm", index_base=0, n_features=5)
    assert np.array_equal(table.X.toarray()[:, :2], X[:, :2])
    assert table.X.shape == (4, 5)


def test_sparse_npz_and_weights(tmp_path):
    matrix = sp.csr_matrix(X)
    np.savez(
        tmp_path / "rows.npz",
        data=matrix.data,
        indices=matrix.indices,
        indptr=matrix.indptr,
        shape=matrix.shape,
        y=Y,
        sample_weight=np.arange(4.0),
    )
    table = read_table(tmp_path / "rows.npz")
    assert np.array_equal(table.X.toarray(), X)
    assert table.sample_weight.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_store(tmp_path):
    BlockStore.write(tmp_path / "store", sp.csr_matrix(X), Y, block_rows=3)
    table = read_table(tmp_path / "store")
    assert np.array_equal(table.X.to_csr().toarray(), X)
    assert table.y.tolist() == Y.tolist()


def test_columns_are_chosen_by_name(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,x,w,kind,z\n7,1,0.5,u,2\n8,3,1.5,v,4\n")
    table = read_table(path, columns=Columns(label="kind", weight="w", ignore=["id"]))
    assert table.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert table.y.tolist() == ["u", "v"]
    assert table.sample_weight.tolist() == [0.5, 1.5]
    turned = read_table(path, columns=Columns(features=["z", "x"]), labelled=False)
    assert turned.X.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert turned.y is None


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["1", "2"], [1, 2]),
        (["-1", "+1"], [-1, 1]),
        (["1.0", "2.0"], [1, 2]),
        (["0.5", "2"], [0.5, 2.0]),
        (["1", "x"], ["1", "x"]),
        (["True", "False"], ["True", "False"]),
        (["9" * 30, "1"], [1e30, 1.0]),
    ],
)
def test_labels_of_text(cells, labels):
    rows = "".join(f"1,{cell}\n" for cell in cells)
    assert read_table(io.BytesIO(f"a,label\n{rows}".encode()), "csv").y.tolist() == labels


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ":1: a line with the names of the columns is missing"),
        ("a,label\n", "no rows below"),
        ("1,2\n3,4\n", ":1: numbers only"),
        ("a,b\n1,2\n", ":1: which column is the label? There are 'a', 'b'"),
        ("a,a,label\n1,2,3\n", ":1: two columns are named 'a'"),
        ("label\n1\n", ":1: no column is left"),
        ("label\n\n", ":1: no column is left"),
        ("a,y,class\n1,2,3\n", ":1: which column is the label? There are 'class', 'y'"),
        ("a,label\n1,x\n1,2,3\n", ":3: 3 cells, where the header has 2"),
        ("a,label\n1,x\n,y\n", ":3: column 'a': a value is missing"),
        ("a,label\n1,x\nnan,y\n", ":3: column 'a': not a finite number: 'nan'"),
        ("a,label\n1,x\n1e400,y\n", ":3: column 'a': not a finite number: '1e400'"),
        ("a,label\n1_000,x\n", ":2: column 'a': not a finite number: '1_000'"),
        ("a,label\n٣,x\n", ":2: column 'a': not a finite number: '٣'"),
        ("a,label\n0x10,x\n", ":2: column 'a': not a finite number: '0x10'"),
        ("a,label\n\n1,x\n\n1,\n", ":5: column 'label': the label is missing"),
        ('a,label\n1,"x\n', ":2: unexpected end of data"),
    ],
)
def test_bad_csv_is_told_with_its_line(text, complaint):
    with pytest.raises(TableError) as caught:
        read_table(io.BytesIO(text.encode()), "csv")
    assert complaint in str(caught.value)


def test_bad_files_of_other_formats(tmp_path):
    (tmp_path / "not.npz").write_bytes(b"PK no")
    (tmp_path / "latin.csv").write_bytes("ü,label\n1,2\n".encode("latin-1"))
    np.savez(tmp_path / "objects.npz", X=np.array([[None]]), y=Y)
    np.savez(tmp_path / "unlabelled.npz", X=X)
    np.savez(tmp_path / "other.npz", Z=X)
    for name, complaint in {
        "not.npz": "cannot be read as .npz",
        "objects.npz": "cannot be read as .npz",
        "unlabelled.npz": "there is no array y",
        "other.npz": "no array X",
        "latin.csv": "not UTF-8",
    }.items():
        with pytest.raises(TableError, match=complaint):
            read_table(tmp_path / name)
    assert read_table(tmp_path / "unlabelled.npz", labelled=False).y is None


@pytest.mark.parametrize("name", ["rows.npz.gz", "rows.parquet.xz"])
def test_only_text_may_be_compressed(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(as_npz(tmp_path).read_bytes()))
    with pytest.raises(
        TableError, match=rf"{name}: (npz|parquet) is not read compressed .*: expand it first"
    ):
        read_table(tmp_path / name)


def test_bad_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "not.parquet").write_bytes(b"PAR1 no")
    frame = pandas.DataFrame({"a": [1.0, None], "s": ["x", "y"], "label": ["u", None]})
    frame.to_parquet(tmp_path / "gaps.parquet")
    for name, columns, complaint in [
        ("not.parquet", Columns(), "cannot be read as Parquet"),
        ("gaps.parquet", Columns(features=["a"]), "row 1, column 'a': no finite number"),
        ("gaps.parquet", Columns(features=["s"]), "column 's' holds .*string, not numbers"),
    ]:
        with pytest.raises(TableError, match=complaint):
            read_table(tmp_path / name, columns=columns)
    frame.assign(a=1.0).to_parquet(tmp_path / "label.parquet")
    with pytest.raises(TableError, match="a label is missing"):
        read_table(tmp_path / "label.parquet", columns=Columns(features=["a"]))


def test_parquet_as_a_stream_in_several_files_and_without_rows(tmp_path):
    pytest.importorskip("pyarrow")
    path = as_parquet(tmp_path)
    with open(path, "rb") as stream:
        assert np.array_equal(read_table(stream, "parquet").X, X)
    (tmp_path / "parts").mkdir()
    frame = pandas.read_parquet(path)
    for number, part in enumerate((frame[:3], frame[3:])):
        part.to_parquet(tmp_path / "parts" / f"{number}.parquet")
    table = read_table(tmp_path / "parts", "parquet")
    assert np.array_equal(table.X, X)
    assert table.y.tolist() == Y.tolist()
    frame[:0].to_parquet(path)
    assert read_table(path).X.shape == (0, 3)


def test_parquet_of_many_types(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {
            "i": np.array([1, -2], dtype=np.int8),
            "f": np.array([0.5, 2.0], dtype=np.float32),
            "b": [True, False],
            "w": [1, 2],
            "label": pandas.Categorical(["u", "v"]),
        }
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    table = read_table(tmp_path / "rows.parquet", columns=Columns(weight="w"))
    assert table.X.tolist() == [[1.0, 0.5, 1.0], [-2.0, 2.0, 0.0]]
    assert table.y.tolist() == ["u", "v"]
    assert table.sample_weight.tolist() == [1.0, 2.0]
    frame.assign(b=pandas.array([True, None], dtype="boolean")).to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(TableError, match="row 1, column 'b': no finite number"):
        read_table(tmp_path / "gap.parquet")


@given(st.binary(max_size=300))
def test_random_bytes_give_a_table_or_an_error(data):
    try:
        table = read_table(io.BytesIO(b"a,label\n" + data), "csv")
    except TableError:
        return
    assert np.isfinite(table.X).all()
    assert len(table.y) == len(table.X) > 0


def test_an_empty_line_of_one_column_is_an_empty_cell():
    with pytest.raises(TableError, match=":3: column 'a': a value is missing"):
        read_table(io.BytesIO(b"a\n1\n\n-3\n"), "csv", labelled=False)


def test_a_csc_matrix_in_npz(tmp_path):
    square = sp.random(12, 12, 0.3, random_state=0, format="csc")
    sp.save_npz(tmp_path / "csc.npz", square)
    assert np.array_equal(read_table(tmp_path / "csc.npz", labelled=False).X.toarray(), square.toarray())
    sp.save_npz(tmp_path / "dia.npz", sp.eye(4, format="csr"))
    arrays = dict(np.load(tmp_path / "dia.npz"))
    np.savez(tmp_path / "dia.npz", **{**arrays, "format": np.array("dia")})
    with pytest.raises(TableError, match="format 'dia'"):
        read_table(tmp_path / "dia.npz", labelled=False)
    np.savez(tmp_path / "out.npz", **{**arrays, "indices": arrays["indices"] + 9})
    with pytest.raises(TableError, match="no CSR matrix"):
        read_table(tmp_path / "out.npz", labelled=False)


def test_a_line_without_end(tmp_path):
    with gzip.open(tmp_path / "rows.csv.gz", "wb") as file:
        for _ in range(20):
            file.write(b"1" * (1 << 20))
    with pytest.raises(TableError, match=":1: a line has more than 16777216 characters"):
        read_table(tmp_path / "rows.csv.gz")


def test_dates_are_no_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"t": pandas.to_datetime(["2020-01-01", "2021-01-01"]), "label": [0, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="column 't' holds timestamp"):
        read_table(tmp_path / "t.parquet")
