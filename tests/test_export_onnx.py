"""ONNX: checked, run in ONNX Runtime, compared with Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsebayes import (
    RVMClassifier,
    RVMClassifierCV,
    SBELMClassifier,
    SBELMClassifierCV,
    SBLClassifier,
    SBLClassifierCV,
    export_onnx,
    load_model,
    register_onnx_converters,
    save_model,
)
from sparsebayes.basis import ACTIVATIONS
from sparsebayes.kernels import NAMES
from tests.models import (
    CASES,
    ESTIMATORS,
    among_noise,
    extreme_margins,
    fitted,
    fresh,
    of_degree,
    rows,
    without_functions,
)

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

DTYPES = {"float": np.float32, "double": np.float64}
TOLERANCE = {"float": 1e-5, "double": 1e-12}


def session(proto):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def assert_agree(model, X, dtype=None):
    """For the rows as the graph's type holds them."""
    for each in DTYPES if dtype is None else [dtype]:
        proto = export_onnx(model, dtype=each)
        onnx.checker.check_model(proto, full_check=True)
        assert_same(session(proto), "X", model, X, each)


def assert_same(running, name, model, X, dtype):
    given = X.astype(DTYPES[dtype])
    labels, found = running.run(None, {name: given})
    expected = model.predict_proba(given.astype(np.float64))
    assert found.dtype == DTYPES[dtype]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype])
    best = np.sort(expected, axis=1)
    clear = best[:, -1] - best[:, -2] > 2 * TOLERANCE[dtype]
    assert clear.mean() > 0.9  # a model without intercept is undecided at rows of zeros
    np.testing.assert_array_equal(labels[clear], model.predict(given.astype(np.float64))[clear])


@pytest.mark.parametrize(("kind", "solver", "n_classes", "storage"), CASES)
def test_agrees_with_python(kind, solver, n_classes, storage):
    assert_agree(fitted(kind, solver, n_classes, storage).freeze(), fresh())


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{"proba": "moderated"}, {"multi_class": "ovr"}], ids=str)
def test_moderation_and_one_against_the_rest(kind, n_classes, options):
    assert_agree(fitted(kind, n_classes=n_classes, **options).freeze(), fresh())


@pytest.mark.parametrize("kernel", NAMES)
def test_every_kernel(kernel):
    """At rows of zeros, and at vectors, where distances are 0."""
    model = fitted("kernel", kernel=kernel).freeze()
    assert_agree(model, np.vstack([fresh(), model.basis.vectors, np.zeros((1, 8))]))


@pytest.mark.parametrize("degree", [0, 2.5, 1.0])
def test_degrees(degree):
    assert_agree(of_degree(degree), fresh())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation):
    assert_agree(fitted("hidden", activation=activation).freeze(), fresh())


def test_several_widths():
    model = fitted("kernel", n_classes=3, gamma="several").freeze()
    assert model.basis.gammas is not None
    assert_agree(model, fresh())


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "poly"])
@pytest.mark.parametrize("scales", [[0.5, 2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 0.25], [0.0] * 8], ids=["6", "0"])
def test_scales(kernel, scales):
    model = fitted("kernel", kernel=kernel).freeze()
    assert_agree(replace(model, basis=replace(model.basis, scales=np.array(scales))), fresh())


def test_learned_scales_from_a_file(tmp_path):
    X, y, new = among_noise(3)
    clf = RVMClassifier(feature_scales="learned").fit(X, y)
    save_model(clf, tmp_path / "model.sbm")
    model = load_model(tmp_path / "model.sbm")
    assert_agree(model, new)
    n_used, n_vectors = np.count_nonzero(clf.feature_scales_), len(clf.relevance_vectors_)
    assert 0 < n_used < 40
    assert (n_vectors, n_used) in [tuple(each.dims) for each in export_onnx(model).graph.initializer]


@pytest.mark.parametrize("proba", ["mode", "moderated"])
def test_many_classes(proba):
    """Ten classes, 45 pairs that contradict each other."""
    X, y = rows(300, 0, 10)
    model = SBLClassifier(proba=proba).fit(X, y).freeze()
    assert_agree(model, fresh() * 3)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_extreme_margins(scheme):
    """No overflow, and pairs in every order."""
    model, X = extreme_margins(scheme)
    for dtype in DTYPES:
        p = session(export_onnx(model, dtype=dtype)).run(["probabilities"], {"X": X.astype(DTYPES[dtype])})[0]
        np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("proba", ["mode", "moderated"])
def test_models_and_problems_without_functions(kind, proba):
    model = fitted(kind, n_classes=3, proba=proba).freeze()
    posteriors = model.posteriors
    if posteriors is not None:
        posteriors = tuple(
            replace(
                each, centre=np.empty(0), unit=np.empty(0), covariance=np.array([[4.0]]), has_intercept=True
            )
            for each in posteriors
        )
    empty = replace(without_functions(model, [0.5, -1.0, 2.0]), posteriors=posteriors)
    assert_agree(empty, fresh()[:20])
    n_first = int(model.starts[1])
    one_problem = replace(
        empty,
        basis=model.basis,
        weights=model.weights[:n_first],
        columns=model.columns[:n_first],
        starts=np.array([0, n_first, n_first, n_first]),
        posteriors=None if posteriors is None else (model.posteriors[0], *posteriors[1:]),
    )
    assert_agree(one_problem, fresh()[:20])


def test_a_diagonal_posterior():
    model = fitted("linear", n_classes=3, proba="moderated").freeze()
    posteriors = tuple(
        replace(each, covariance=np.diagonal(each.covariance).copy()) for each in model.posteriors
    )
    assert_agree(replace(model, posteriors=posteriors), fresh())


LABELS = [
    (np.array(["", "grün\n\0*/"]), "tensor(string)"),
    (np.array(["no", "yes"], dtype=object), "tensor(string)"),
    (np.array([-3, 7], dtype=np.int8), "tensor(int64)"),
    (np.array([1, 2**63 + 5], dtype=np.uint64), "tensor(uint64)"),
    (np.array([1, 5], dtype=np.uint64), "tensor(int64)"),
    (np.array([-0.5, 0.1], dtype=np.float32), "tensor(double)"),
    (np.array([False, True]), "tensor(bool)"),
]


@pytest.mark.parametrize(("labels", "of_onnx"), LABELS, ids=lambda each: str(each)[:20])
def test_labels_of_every_type(labels, of_onnx):
    model = replace(fitted("linear").freeze(), classes=labels)
    running = session(export_onnx(model))
    assert running.get_outputs()[0].type == of_onnx
    found = running.run(["label"], {"X": fresh("float32")})[0]
    assert len(set(found.tolist())) == 2
    assert found.tolist() == model.predict(fresh("float32")).tolist()


def test_any_number_of_rows():
    for kind in ESTIMATORS:
        model = fitted(kind, n_classes=4).freeze()
        running = session(export_onnx(model))
        whole = running.run(None, {"X": fresh("float32")})[1]
        assert running.get_inputs()[0].shape == ["N", 8]
        for n in (0, 1, 7):
            labels, p = running.run(None, {"X": fresh("float32")[:n]})
            assert labels.shape == (n,)
            np.testing.assert_allclose(p, whole[:n], rtol=0, atol=1e-6)
            assert p.shape == (n, 4)


def test_the_file_and_what_it_says(tmp_path):
    X, y = rows(80, 0)
    names = ["größe", '"\\', "\ud800", *"abcde"]
    # Of objects: Arrow, which pandas keeps strings in where it can, has no lone surrogates.
    clf = SBLClassifier().fit(pd.DataFrame(X, columns=pd.Index(names, dtype=object)), y)
    proto = export_onnx(clf, tmp_path / "model.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    again = onnx.load(tmp_path / "model.onnx")
    assert again == proto
    assert again.opset_import[0].version == 15
    said = {entry.key: entry.value for entry in again.metadata_props}
    assert json.loads(said.pop("feature_names")) == names
    assert said == {"estimator": "SBLClassifier"}
    assert "feature_names" not in {entry.key for entry in export_onnx(fitted("linear")).metadata_props}


def test_only_what_is_kept_is_there():
    """A row may hold anything, even NaN, where no weight looks."""
    X, y = rows(150, 2)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 40))])
    clf = SBLClassifier(max_features=3).fit(X, y)
    X[:, np.setdiff1d(np.arange(48), clf.freeze().basis.numbers)] = np.nan
    p = session(export_onnx(clf)).run(["probabilities"], {"X": X.astype(np.float32)})[0]
    assert np.isfinite(p).all()
    assert sum(np.prod(each.dims) for each in export_onnx(clf).graph.initializer) < 20


def test_arguments_are_checked(tmp_path):
    clf = fitted("linear")
    with pytest.raises(ValueError, match=r"dtype must be 'float' or 'double'\. Got 'half'"):
        export_onnx(clf, tmp_path / "m.onnx", dtype="half")
    with pytest.raises(ValueError, match="too large for dtype='float'"):
        export_onnx(replace(clf.freeze(), intercepts=np.array([1e300])), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="lone surrogates"):
        export_onnx(replace(clf.freeze(), classes=np.array(["a", "\ud800"])), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="cannot be frozen"):
        export_onnx(RVMClassifier(kernel=lambda A, B: A @ B.T).fit(*rows(50, 0)), tmp_path / "m.onnx")
    with pytest.raises(TypeError, match="fitted classifier of sparsebayes"):
        export_onnx(fresh(), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_what_to_install_is_said():
    code = """
import sys
sys.modules["onnx"] = sys.modules["skl2onnx"] = None
import sparsebayes
for call in (lambda: sparsebayes.export_onnx(None), sparsebayes.register_onnx_converters):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.findall(r"pip install.*", done.stdout) == [
        "pip install 'sparsebayes[onnx]'.",
        "pip install 'sparsebayes[onnx]' skl2onnx.",
    ]


CLASSIFIERS = (
    SBLClassifier(),
    RVMClassifier(),
    RVMClassifier(kernel="laplacian", proba="moderated"),
    SBELMClassifier(30, random_state=0),
    SBLClassifierCV(cv=2, max_iter=5),
    RVMClassifierCV(cv=2, max_iter=5, solver="newton"),
    SBELMClassifierCV(30, cv=2, max_iter=5, random_state=0),
)


@pytest.fixture(scope="module")
def to_onnx():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    register_onnx_converters()
    register_onnx_converters()
    return skl2onnx.to_onnx


def pipeline_of(clf, n_classes=3, labels=None):
    X, y = rows(120, 0, n_classes)
    y = y if labels is None else labels[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model is enough, a good one is not needed
        return make_pipeline(StandardScaler(), clf).fit(X * 5.0 + 3.0, y)


@pytest.mark.parametrize("clf", CLASSIFIERS, ids=lambda clf: type(clf).__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pipelines_agree_with_python(clf, dtype, to_onnx):
    pipeline = pipeline_of(clf)
    X = fresh() * 5.0 + 3.0
    proto = to_onnx(pipeline, X[:1].astype(DTYPES[dtype]), options={"zipmap": False})
    onnx.checker.check_model(proto, full_check=True)
    assert_same(session(proto), "X", pipeline, X, dtype)


@pytest.mark.parametrize("opset", [15, 18, 21])
def test_opsets(opset, to_onnx):
    pipeline = pipeline_of(RVMClassifier())
    proto = to_onnx(
        pipeline,
        fresh("float32")[:1],
        options={"zipmap": False},
        target_opset={"": opset, "ai.onnx.ml": 3},
    )
    assert proto.opset_import[0].version <= opset
    assert_same(session(proto), "X", pipeline, fresh(), "float")


def test_old_opsets_are_refused(to_onnx):
    with pytest.raises(ValueError, match="need opset 15"):
        to_onnx(pipeline_of(SBLClassifier()), fresh("float32")[:1], target_opset=13)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array(["a", "ü"]), {"a", "ü"}),
        (np.array([3, 5]), {3, 5}),
        (np.array([False, True]), {0, 1}),
        (np.array([1.0, 2.0]), {1, 2}),
    ],
    ids=["str", "int", "bool", "float"],
)
def test_labels_and_zipmap(labels, expected, to_onnx):
    pipeline = pipeline_of(SBLClassifier(), 2, labels)
    X = (fresh() * 5.0 + 3.0).astype(np.float32)
    found, p = session(to_onnx(pipeline, X[:1])).run(None, {"X": X})
    assert set(found.tolist()) == set(p[0]) == expected
    assert found.tolist() == pipeline.predict(X.astype(float)).tolist()
    np.testing.assert_allclose(
        [list(row.values()) for row in p], pipeline.predict_proba(X.astype(float)), rtol=0, atol=1e-5
    )


def test_labels_that_skl2onnx_does_not_have(to_onnx):
    pipeline = pipeline_of(SBLClassifier(), 2, np.array([1, 2**63 + 5], dtype=np.uint64))
    X = (fresh() * 5.0 + 3.0).astype(np.float32)
    with pytest.raises(ValueError, match=r"strings or whole numbers.*use export_onnx"):
        to_onnx(pipeline, X[:1], options={"zipmap": False})
    proto = to_onnx(pipeline, X[:1], options={"zipmap": False, "nocl": True})
    codes = session(proto).run(None, {"X": X})[0]
    np.testing.assert_array_equal(pipeline.classes_[codes], pipeline.predict(X.astype(float)))


def test_columns_of_a_frame_and_whole_numbers(to_onnx):
    X, y = rows(120, 0)
    frame = pd.DataFrame(np.round(X[:, :4] * 3), columns=list("abcd")).astype(np.int64)
    clf = SBLClassifier().fit(frame, y)
    running = session(to_onnx(clf, frame[:1], options={"zipmap": False}))
    p = running.run(None, {name: frame[[name]].to_numpy() for name in frame})[1]
    np.testing.assert_allclose(p, clf.predict_proba(frame), rtol=0, atol=1e-5)
    pipeline = make_pipeline(ColumnTransformer([("some", StandardScaler(), ["b", "c"])]), SBLClassifier())
    pipeline.fit(frame.astype(float), y)
    running = session(to_onnx(pipeline, frame[:1].astype(np.float32), options={"zipmap": False}))
    inputs = {name: frame[[name]].to_numpy(dtype=np.float32) for name in frame}
    used = {each.name for each in running.get_inputs()}
    p = running.run(None, {name: column for name, column in inputs.items() if name in used})[1]
    np.testing.assert_allclose(p, pipeline.predict_proba(frame.astype(float)), rtol=0, atol=1e-5)
