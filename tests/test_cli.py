"""The command line as a person uses it: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import sparsebayes
from sparsebayes import SBLClassifier, load_model
from sparsebayes.cli import main
from sparsebayes.cli.main import COMMANDS

CANCER = load_breast_cancer()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of breast cancer, and its rows as text."""
    here = tmp_path_factory.mktemp("cli")
    assert ends(0, "datasets", "example", "breast_cancer", "-o", here / "cancer.csv")
    assert ends(0, "train", here / "cancer.csv", "-m", here / "cancer.sbm", "-q")
    return here


def ends(code, *arguments):
    """Whether a command in this process ends with this code."""
    with pytest.raises(SystemExit) as leave:
        main([str(argument) for argument in arguments])
    assert leave.value.code == code
    return True


@pytest.fixture
def run(capsys):
    """Standard output of a command that must succeed."""

    def call(*arguments):
        ends(0, *arguments)
        return capsys.readouterr().out

    return call


@pytest.fixture
def complaint(capsys):
    """The one line on standard error of a command that must fail with this code."""

    def call(code, *arguments):
        ends(code, *arguments)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("sparsebayes: ")
        assert captured.err.count("\n") == 1
        return captured.err

    return call


def process(*arguments, **options):
    command = [sys.executable, "-m", "sparsebayes", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


def test_train_writes_what_python_fits(folder):
    model = load_model(folder / "cancer.sbm")
    clf = SBLClassifier().fit(CANCER.data, CANCER.target_names[CANCER.target])
    assert np.array_equal(model.predict_proba(CANCER.data), clf.predict_proba(CANCER.data))
    assert model.feature_names.tolist() == CANCER.feature_names.tolist()


def test_train_tells_what_it_learned(folder, run):
    output = run("train", folder / "cancer.csv", "-m", folder / "again.sbm", "--cv", 3, "--top", 3)
    assert "569 rows, 30 features, 2 classes: benign 357, malignant 212" in output
    assert re.search(r"linear classifier with \d+ of 30 features, trained on 569 rows", output)
    assert "positive ones speak for malignant" in output
    accuracy = float(re.search(r"3-fold cross-validation: accuracy (0\.\d+)", output)[1])
    assert 0.95 < accuracy < 0.99
    assert f"model in {folder / 'again.sbm'}" in output
    kept = CANCER.feature_names[SBLClassifier().fit(CANCER.data, CANCER.target).coef_[0] != 0]
    assert sum(name in output for name in kept) == 3


def test_train_as_json(folder, run):
    found = json.loads(run("train", folder / "cancer.csv", "-m", folder / "again.sbm", "--json"))
    assert found["rows"] == 569
    assert found["kept"] == np.count_nonzero(load_model(folder / "again.sbm").weights)
    assert found["bytes"] == os.path.getsize(folder / "again.sbm")


@pytest.mark.parametrize(
    ("options", "estimator"),
    [
        (["--estimator", "rvm", "--gamma", "0.5", "--proba", "moderated"], "RVMClassifier"),
        (["--estimator", "sbelm", "--hidden", "30", "--seed", "3"], "SBELMClassifier"),
        (["--solver", "newton", "--multi-class", "ovr", "--balanced"], "SBLClassifier"),
        (["--max-features", "1"], "SBLClassifier"),
    ],
)
def test_options_reach_the_estimator(tmp_path, run, options, estimator):
    run("datasets", "example", "iris", "-o", tmp_path / "iris.csv")
    run("train", tmp_path / "iris.csv", "-m", tmp_path / "iris.sbm", *options)
    X, y = load_iris(return_X_y=True)
    given = {
        "RVMClassifier": {"gamma": 0.5, "proba": "moderated", "random_state": 0},
        "SBELMClassifier": {"n_hidden": 30, "random_state": 3},
    }.get(estimator) or (
        {"max_features": 1}
        if "--max-features" in options
        else {"solver": "newton", "multi_class": "ovr", "class_weight": "balanced"}
    )
    expected = getattr(sparsebayes, estimator)(**given).fit(X, y).predict_proba(X)
    assert np.array_equal(load_model(tmp_path / "iris.sbm").predict_proba(X), expected)


def test_predict_one_line_a_row(folder, run):
    model = load_model(folder / "cancer.sbm")
    labels = run("predict", folder / "cancer.sbm", folder / "cancer.csv").splitlines()
    assert labels == model.predict(CANCER.data).tolist()
    lines = run("predict", folder / "cancer.sbm", folder / "cancer.csv", "--proba", "--header").splitlines()
    assert lines[0].split("\t") == ["benign", "malignant"]
    p = np.array([line.split("\t") for line in lines[1:]], dtype=float)
    assert np.array_equal(p, model.predict_proba(CANCER.data))
    objects = run("predict", folder / "cancer.sbm", folder / "cancer.csv", "--json").splitlines()
    first = json.loads(objects[0])
    assert first == {
        "label": labels[0],
        "probabilities": dict(zip(["benign", "malignant"], p[0], strict=True)),
    }


def test_predict_into_a_file_and_from_standard_input(folder, run):
    assert run("predict", folder / "cancer.sbm", folder / "cancer.csv", "-o", folder / "labels.txt") == ""
    piped = process(
        "predict", folder / "cancer.sbm", "-", "--format", "csv", input=(folder / "cancer.csv").read_bytes()
    )
    assert piped.stdout == (folder / "labels.txt").read_bytes()


def test_predict_finds_columns_by_name(folder, run, tmp_path):
    lines = (folder / "cancer.csv").read_text().splitlines()
    cells = [[*reversed(line.split(",")), "9"] for line in lines]
    cells[0][-1] = "id"
    turned = "\n".join(map(",".join, cells))
    (tmp_path / "turned.csv").write_text(turned + "\n")
    same = run("predict", folder / "cancer.sbm", folder / "cancer.csv", "--proba")
    assert run("predict", folder / "cancer.sbm", tmp_path / "turned.csv", "--proba") == same


def test_evaluate(folder, run):
    model = load_model(folder / "cancer.sbm")
    found = json.loads(run("evaluate", folder / "cancer.sbm", folder / "cancer.csv", "--json"))
    y, p = CANCER.target_names[CANCER.target], model.predict_proba(CANCER.data)
    assert found["accuracy"] == accuracy_score(y, model.predict(CANCER.data))
    assert found["log_loss"] == pytest.approx(log_loss(y, p, labels=["benign", "malignant"]))
    assert found["auc"] == pytest.approx(roc_auc_score(y == "malignant", p[:, 1]))
    assert np.trace(found["confusion"]) == round(found["accuracy"] * 569)
    assert f"accuracy  {found['accuracy']:.4f}" in run(
        "evaluate", folder / "cancer.sbm", folder / "cancer.csv"
    )


def test_inspect(folder, run):
    output = run("inspect", folder / "cancer.sbm")
    for expected in (
        "linear classifier",
        "of 30 features",
        "2: benign, malignant",
        "by name",
        "SBLClassifier",
    ):
        assert expected in output
    facts = json.loads(run("inspect", folder / "cancer.sbm", "--json", "--top", 100))
    model = load_model(folder / "cancer.sbm")
    assert sorted(each["weight"] for each in facts["strongest"]) == sorted(model.weights.tolist())
    assert facts["classes"] == ["benign", "malignant"]


def test_inspect_loads_no_scikit_learn(folder):
    code = (
        "import sys\nfrom sparsebayes.cli import main\n"
        f"try:\n    main(['inspect', {str(folder / 'cancer.sbm')!r}])\n"
        "except SystemExit as leave:\n    assert leave.code == 0\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'sklearn', 'matplotlib', 'pandas'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_path(folder, run, tmp_path):
    points = json.loads(run("path", folder / "cancer.csv", "--json"))["points"]
    assert points[0]["n_relevant"] == 30
    assert points[-1]["n_relevant"] == 0
    assert max(point["accuracy"] for point in points) > 0.95
    output = run(
        "path",
        folder / "cancer.csv",
        "--test",
        folder / "cancer.csv",
        "-o",
        tmp_path / "p.csv",
        "--plot",
        tmp_path / "p.svg",
    )
    assert "of 30 candidates" in output
    written = np.genfromtxt(tmp_path / "p.csv", delimiter=",", names=True)
    assert written["n_relevant"][0] == 30
    assert (tmp_path / "p.svg").read_text().rstrip().endswith("</svg>")


def test_export(folder, run, tmp_path):
    output = run(
        *("export", folder / "cancer.sbm", "--to", "c", "-o", tmp_path / "m.c", "--dtype", "float"),
        *("--quantise", "int8", "--rows", folder / "cancer.csv"),
    )
    assert "same labels" in output
    assert (tmp_path / "m.c").exists()
    assert "typedef float m_real;" in (tmp_path / "m.h").read_text()
    onnx = pytest.importorskip("onnx")
    run("export", folder / "cancer.sbm", "--to", "onnx", "-o", tmp_path / "m.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"))


def test_convert_then_train(folder, run, tmp_path):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "iris.svm"), zero_based=False)
    output = run("convert", tmp_path / "iris.svm", tmp_path / "store", "--block-rows", 40)
    assert "150 rows, 4 features" in output
    assert "4 blocks" in output
    run("train", tmp_path / "store", "-m", tmp_path / "stored.sbm")
    found = json.loads(run("evaluate", tmp_path / "stored.sbm", tmp_path / "store", "--json"))
    assert found["accuracy"] > 0.95
    run("convert", folder / "cancer.csv", tmp_path / "cancer")
    assert json.loads(run("evaluate", folder / "cancer.sbm", tmp_path / "cancer", "--json"))["rows"] == 569


def test_a_store_in_every_command_that_reads_rows(folder, run, tmp_path):
    rows, model, store = folder / "cancer.csv", folder / "cancer.sbm", tmp_path / "store"
    run("convert", rows, store, "--block-rows", 200)
    assert run("predict", model, store) == run("predict", model, rows)
    found = json.loads(run("train", store, "-m", tmp_path / "m.sbm", "--cv", 2, "--json"))
    assert found["cross_validation"]["accuracy"] > 0.9
    for test in ([], ["--test", store]):
        assert json.loads(run("path", store, *test, "--max-iter", 3, "--json"))["candidates"] == 30
    output = run("export", model, "--to", "c", "-o", tmp_path / "m.c", "--quantise", "int16", "--rows", store)
    assert "same labels" in output


def test_report(folder, run, tmp_path):
    pytest.importorskip("matplotlib")
    data = ["--data", folder / "cancer.csv", "--label", "label"]
    run("report", folder / "cancer.sbm", *data, "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "worst texture" in page


def test_datasets(run, monkeypatch, tmp_path):
    (tmp_path / "a1a.svm.bz2").touch()
    monkeypatch.setenv("SPARSEBAYES_DATA", str(tmp_path))
    listed = {each["name"]: each for each in json.loads(run("datasets", "--json"))}
    assert listed["a1a"]["place"] == str(tmp_path / "a1a.svm.bz2")
    assert re.search(r"a1a +1605 +123 +2 +here", run("datasets"))
    assert run("datasets", "fetch", "a1a").strip() == str(tmp_path / "a1a.svm.bz2")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run, shell):
    assert "_SPARSEBAYES_COMPLETE" in run("completion", shell)


def test_tab_after_a_letter():
    answer = process(
        "",
        env={
            **os.environ,
            "_SPARSEBAYES_COMPLETE": "bash_complete",
            "COMP_WORDS": "sparsebayes tr",
            "COMP_CWORD": "1",
        },
    )
    assert answer.stdout.decode().strip() == "plain,train"


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help(run, name):
    output = run(*([name] if name else []), "--help")
    assert "Example" in output
    assert name is None or f"sparsebayes {name}" in output


# How it ends.


def test_bad_data_ends_with_65(folder, complaint, tmp_path):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\nnan,y\n")
    (tmp_path / "one.csv").write_text("a,label\n1,x\n2,x\n")
    (tmp_path / "bad.sbm").write_bytes((folder / "cancer.sbm").read_bytes()[:-1])
    (tmp_path / "bad.svm").write_text("1 1:1\n2 x:1\n")
    out = tmp_path / "m.sbm"
    assert ":3: column 'a'" in complaint(65, "train", tmp_path / "bad.csv", "-m", out)
    assert "only one class: ['x']" in complaint(65, "train", tmp_path / "one.csv", "-m", out)
    assert "bad.svm:2: " in complaint(65, "train", tmp_path / "bad.svm", "-m", out)
    assert "bad.sbm: " in complaint(65, "inspect", tmp_path / "bad.sbm")
    assert "no column 'mean radius'" in complaint(65, "predict", folder / "cancer.sbm", tmp_path / "one.csv")
    assert "'x'" in complaint(65, "evaluate", folder / "cancer.sbm", _with_labels(folder, tmp_path, "x"))
    assert not out.exists()


def _with_labels(folder, tmp_path, label):
    text = (folder / "cancer.csv").read_text().replace("malignant", label)
    (tmp_path / "labels.csv").write_text(text)
    return tmp_path / "labels.csv"


def test_a_missing_file_ends_with_66(folder, complaint, tmp_path):
    assert "no.csv: " in complaint(66, "train", tmp_path / "no.csv", "-m", tmp_path / "m.sbm")
    assert "no.sbm: " in complaint(66, "inspect", tmp_path / "no.sbm")
    assert "no.csv: " in complaint(66, "predict", folder / "cancer.sbm", tmp_path / "no.csv")


def test_a_place_that_cannot_be_written_ends_with_74(folder, complaint, tmp_path):
    assert "no such folder" in complaint(74, "train", folder / "cancer.csv", "-m", tmp_path / "no" / "m.sbm")
    assert "no such folder" in complaint(
        74, "predict", folder / "cancer.sbm", folder / "cancer.csv", "-o", tmp_path / "no" / "x"
    )
    assert "folder" in complaint(74, "train", folder / "cancer.csv", "-m", tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_ends_with_74(folder):
    with open("/dev/full", "wb") as full:
        command = [
            sys.executable,
            "-m",
            "sparsebayes",
            "predict",
            folder / "cancer.sbm",
            folder / "cancer.csv",
        ]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 74
    assert b"No space left" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["trian"], "No such command 'trian'"),
        (["train"], "Missing argument 'DATA'"),
        (["train", "rows.csv"], "Missing option"),
        (["train", "rows.csv", "-m", "m.sbm", "--kernel", "rbf"], "--kernel is for --estimator rvm"),
        (["train", "rows.csv", "-m", "m.sbm", "--resume"], "--resume needs --checkpoint"),
    ],
)
def test_wrong_use_ends_with_2(complaint, arguments, hint):
    line = complaint(2, *arguments)
    assert hint in line
    assert "--help)" in line


def test_an_unknown_data_set_ends_with_2(complaint):
    line = complaint(2, "datasets", "fetch", "irs")
    assert "no data set 'irs'. Did you mean 'iris'" in line
    assert "a1a, a2a" in line


@pytest.mark.parametrize(
    ("output", "options", "hint"),
    [
        ("m.txt", [], "a plain file name with .c or .h. Got 'm.txt'"),
        ("m", [], "Got 'm'"),
        ("9.c", [], "Got '9': set name"),
        ("m.c", ["--name", "a-b"], "Got 'a-b': set name"),
    ],
)
def test_a_file_that_c_cannot_have_ends_with_2(folder, complaint, tmp_path, output, options, hint):
    arguments = ["export", folder / "cancer.sbm", "--to", "c", "-o", tmp_path / output, *options]
    assert hint in complaint(2, *arguments)
    assert not list(tmp_path.iterdir())


def test_a_wrong_parameter_ends_with_2(folder, complaint, tmp_path):
    line = complaint(
        2, "train", folder / "cancer.csv", "-m", tmp_path / "m.sbm", "--estimator", "rvm", "--gamma", "wide"
    )
    assert "'gamma' parameter of RVMClassifier" in line


def test_errors_of_ours_are_one_line_unless_asked(folder, complaint, monkeypatch):
    def broken(path):
        raise RuntimeError("not expected")

    monkeypatch.setattr("sparsebayes.cli.inspect.model_of", broken)
    assert "RuntimeError: not expected" in complaint(70, "inspect", folder / "cancer.sbm")
    with pytest.raises(RuntimeError):
        main(["--debug", "inspect", str(folder / "cancer.sbm")])


def test_warnings_are_lines(folder, capsys, tmp_path):
    ends(
        0, "train", folder / "cancer.csv", "-m", tmp_path / "m.sbm", "--solver", "dqn", "--max-iter", 1, "-q"
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sparsebayes: warning: SBLClassifier: dqn: not converged")
    assert captured.err.count("\n") == 1


def test_a_reader_that_has_seen_enough(folder):
    rows = folder / "many.csv"
    lines = (folder / "cancer.csv").read_text().splitlines(keepends=True)
    rows.write_text(lines[0] + "".join(lines[1:] * 40))
    command = f"{sys.executable} -m sparsebayes predict {folder / 'cancer.sbm'} {rows} --proba | head -1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert ended.stdout.count(b"\n") == 1
    assert ended.stderr == b""
    codes = f"{sys.executable} -m sparsebayes inspect {folder / 'cancer.sbm'} | true; echo ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", codes], capture_output=True, check=True).stdout in (b"141\n", b"0\n")


def _speaking(folder):
    """A call of every command that prints something; most of it by other means than its neighbour."""
    rows, model, out = folder / "cancer.csv", folder / "cancer.sbm", folder / "closed"
    return {
        "train": [rows, "-m", f"{out}.sbm"],
        "predict": [model, rows],
        "evaluate": [model, rows],
        "inspect": [model, "--json"],
        "path": [rows],
        "export": [model, "--to", "c", "-o", f"{out}.c"],
        "report": [model, "-o", f"{out}.html"],
        "convert": [rows, f"{out}.store"],
        "datasets": [],
        "completion": ["bash"],
        "--help": [],
        "--version": [],
    }


@pytest.mark.parametrize("command", [*COMMANDS, "--help", "--version"])
def test_a_closed_pipe_ends_every_command_with_141_and_no_word(folder, capsys, monkeypatch, command):
    if command == "report":
        pytest.importorskip("matplotlib")
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        ends(141, command, *_speaking(folder)[command])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("checkpoint", [False, True])
def test_ctrl_c(tmp_path, checkpoint):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 600))
    np.savez(tmp_path / "rows.npz", X=X, y=(X[:, :50].sum(axis=1) + rng.normal(size=3000) > 0).astype(int))
    options = ["--checkpoint", str(tmp_path / "state")] if checkpoint else []
    command = [
        sys.executable,
        "-m",
        "sparsebayes",
        "train",
        str(tmp_path / "rows.npz"),
        "-m",
        str(tmp_path / "m.sbm"),
    ]
    running = subprocess.Popen(
        [*command, "--solver", "newton", "--max-iter", "100000", *options], stderr=subprocess.PIPE
    )
    time.sleep(4.0)
    running.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, errors = running.communicate(timeout=30)
    assert running.returncode == 130
    assert time.monotonic() - start < 5.0
    assert errors.count(b"\n") == 1
    assert (b"--resume" in errors) == checkpoint
    assert not (tmp_path / "m.sbm").exists()


def test_features_of_text_are_called_as_in_the_text(run, tmp_path):
    X, y = load_iris(return_X_y=True)
    for base, zero_based in ((1, False), (0, True)):
        dump_svmlight_file(X[:, [3]], y, str(tmp_path / "rows.svm"), zero_based=zero_based)
        output = run("train", tmp_path / "rows.svm", "-m", tmp_path / "m.sbm", "--index-base", base)
        assert f"feature {base} " in output
        assert f"feature {base} " in run("inspect", tmp_path / "m.sbm")


# What a review found.


def test_a_default_training_is_reproducible(folder, run, tmp_path):
    for name in ("a.sbm", "b.sbm"):
        run(
            "train",
            folder / "cancer.csv",
            "-m",
            tmp_path / name,
            "--estimator",
            "sbelm",
            "--hidden",
            20,
            "-q",
        )
    assert (tmp_path / "a.sbm").read_bytes() == (tmp_path / "b.sbm").read_bytes()


def test_zero_is_a_value(folder, complaint, tmp_path):
    line = complaint(
        2, "train", folder / "cancer.csv", "-m", tmp_path / "m.sbm", "--estimator", "rvm", "--gamma", "0"
    )
    assert "gamma" in line


def test_a_store_keeps_the_index_base(run, tmp_path):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "zero.svm"), zero_based=True)
    X[:, 0] = 0.0
    dump_svmlight_file(X, y, str(tmp_path / "without.svm"), zero_based=True)
    run("convert", tmp_path / "zero.svm", tmp_path / "store", "--index-base", 0)
    run("train", tmp_path / "store", "-m", tmp_path / "m.sbm")
    labels = [int(line) for line in run("predict", tmp_path / "m.sbm", tmp_path / "without.svm").splitlines()]
    assert labels == load_model(tmp_path / "m.sbm").predict(X).astype(int).tolist()


def test_a_store_of_narrow_text(run, tmp_path):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "all.svm"), zero_based=False)
    dump_svmlight_file(X[:, :3], y, str(tmp_path / "narrow.svm"), zero_based=False)
    run("train", tmp_path / "all.svm", "-m", tmp_path / "m.sbm")
    run("convert", tmp_path / "narrow.svm", tmp_path / "store", "--n-features", 4)
    stored = run("predict", tmp_path / "m.sbm", tmp_path / "store")
    assert stored == run("predict", tmp_path / "m.sbm", tmp_path / "narrow.svm")


def test_columns_of_npz_by_name(folder, run, tmp_path):
    y = CANCER.target_names[CANCER.target]
    np.savez(tmp_path / "r.npz", X=CANCER.data[:, ::-1], y=y, feature_names=CANCER.feature_names[::-1])
    found = json.loads(run("evaluate", folder / "cancer.sbm", tmp_path / "r.npz", "--json"))
    assert found == json.loads(run("evaluate", folder / "cancer.sbm", folder / "cancer.csv", "--json"))


def test_markup_in_names_is_text(run, tmp_path):
    rows = "".join(f"{k},{'q[/red]' if k > 9 else '[bold]p'}\n" for k in range(20))
    (tmp_path / "rows.csv").write_text(f"[/x],label\n{rows}")
    output = run("train", tmp_path / "rows.csv", "-m", tmp_path / "m.sbm")
    assert "positive ones speak for q[/red]" in output
    assert "[/x]" in run("inspect", tmp_path / "m.sbm")


@pytest.mark.parametrize("options", [["--label", "a"], ["--weight", "a"], ["--ignore", "a"]])
def test_names_are_for_tables(tmp_path, complaint, options):
    (tmp_path / "rows.svm").write_text("1 1:1\n2 1:2\n")
    assert "is for tables with names" in complaint(
        2, "train", tmp_path / "rows.svm", "-m", tmp_path / "m.sbm", *options
    )


def test_two_columns_that_may_be_the_label(tmp_path, complaint, run):
    (tmp_path / "rows.csv").write_text(
        "a,label,target\n" + "".join(f"{k},{k > 9},{k > 9}\n" for k in range(20))
    )
    line = complaint(65, "train", tmp_path / "rows.csv", "-m", tmp_path / "m.sbm")
    assert "which column is the label? There are 'label', 'target'" in line
    run("train", tmp_path / "rows.csv", "-m", tmp_path / "m.sbm", "--ignore", "target")


def test_folds_are_checked_before_the_fit(tmp_path, complaint):
    (tmp_path / "rows.csv").write_text("a,label\n1,x\n2,x\n3,x\n4,y\n")
    line = complaint(65, "train", tmp_path / "rows.csv", "-m", tmp_path / "m.sbm", "--cv", 3)
    assert "--cv 3 needs 3 rows of each class; y has 1" in line
    assert not (tmp_path / "m.sbm").exists()


def test_labels_are_those_of_the_model_however_they_are_spelt(tmp_path, run):
    rows = [(k, ("01", "02", "x")[k // 10]) for k in range(30)]
    (tmp_path / "train.csv").write_text("a,label\n" + "".join(f"{a},{b}\n" for a, b in rows))
    (tmp_path / "test.csv").write_text("a,label\n" + "".join(f"{a},{b}\n" for a, b in rows[:20]))
    run("train", tmp_path / "train.csv", "-m", tmp_path / "m.sbm")
    assert json.loads(run("evaluate", tmp_path / "m.sbm", tmp_path / "test.csv", "--json"))["accuracy"] > 0.6


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_output_into_a_pipe(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    ends(0, "predict", folder / "cancer.sbm", folder / "cancer.csv", "-o", tmp_path / "pipe")
    assert reader.communicate(timeout=30)[0].count(b"\n") == 569
    assert not (tmp_path / "pipe").is_file()


def test_a_checkpoint_goes_on_where_nobody_looks(folder, run, tmp_path):
    pytest.importorskip("pty")
    import pty

    command = [sys.executable, "-m", "sparsebayes", "train", str(folder / "cancer.csv"), "-m"]
    parent, child = pty.openpty()
    subprocess.run(
        [*command, str(tmp_path / "a.sbm"), "--checkpoint", str(tmp_path / "state")], stderr=child, check=True
    )
    os.close(child)
    os.close(parent)
    options = ["--checkpoint", tmp_path / "state", "--resume"]
    run("train", folder / "cancer.csv", "-m", tmp_path / "b.sbm", *options)
    assert (tmp_path / "a.sbm").read_bytes() == (tmp_path / "b.sbm").read_bytes()
