"""C: compiled without a warning, run under sanitisers, compared with Python."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, export_c, load_model, save_model
from sparsebayes.basis import ACTIVATIONS, IdentityBasis
from sparsebayes.export import ctext
from sparsebayes.kernels import NAMES
from tests.compiled import needs_gcc, outputs, run
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

pytestmark = needs_gcc


def assert_agree(model, X, folder, **options):
    """1e-12 in double precision; 1e-5 in single, for the row as a float holds it.

    Margins, which have no bound, relative to the largest.
    """
    double, single = outputs(model, X, folder, **options)
    for ours, given_rows, tolerance in [
        (double, X, 1e-12),
        (single, X.astype(np.float32).astype(float), 1e-5),
    ]:
        margins, p = model.margins(given_rows), model.predict_proba(given_rows)
        size = max(1.0, np.abs(margins).max())
        np.testing.assert_allclose(ours.margins, margins, rtol=0, atol=tolerance * size)
        np.testing.assert_allclose(ours.probabilities, p, rtol=0, atol=tolerance)
        clear = np.sort(p, axis=1)[:, -1] - np.sort(p, axis=1)[:, -2] > 2 * tolerance
        assert clear.mean() > 0.9  # a model without intercept is undecided at rows of zeros
        np.testing.assert_array_equal(model.classes[ours.codes[clear]], model.predict(given_rows[clear]))


@pytest.mark.parametrize(("kind", "solver", "n_classes", "storage"), CASES)
def test_agrees_with_python(kind, solver, n_classes, storage, tmp_path):
    assert_agree(fitted(kind, solver, n_classes, storage).freeze(), fresh(), tmp_path)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_ten_thousand_rows(kind, tmp_path):
    X = rows(10_000, 7)[0]
    assert_agree(fitted(kind, n_classes=4).freeze(), X, tmp_path)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("options", [{"proba": "moderated"}, {"multi_class": "ovr"}], ids=str)
def test_moderation_and_one_against_the_rest(kind, options, tmp_path):
    assert_agree(fitted(kind, n_classes=3, **options).freeze(), fresh(), tmp_path)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("kernel", NAMES)
def test_every_kernel(kernel, storage, tmp_path):
    assert_agree(fitted("kernel", storage=storage, kernel=kernel).freeze(), fresh(), tmp_path)


@pytest.mark.parametrize("degree", [0, 2.5, 1.0])
def test_degrees(degree, tmp_path):
    assert_agree(of_degree(degree), fresh(), tmp_path)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation, tmp_path):
    assert_agree(fitted("hidden", activation=activation).freeze(), fresh(), tmp_path)


def test_several_widths(tmp_path):
    assert_agree(fitted("kernel", n_classes=3, gamma="several").freeze(), fresh(), tmp_path)


@pytest.mark.parametrize("kernel", ["rbf", "cosine"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("quantise", [None, "int16"])
@pytest.mark.parametrize(
    "scales", [[0.5, 2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 0.25], [0.0] * 7 + [2.0], [0.0] * 8], ids=["6", "1", "0"]
)
def test_scales(kernel, storage, quantise, scales, tmp_path):
    """Features that do not count are left out; where none does, one stays, for arrays cannot be empty."""
    model = fitted("kernel", storage=storage, kernel=kernel).freeze()
    model = replace(model, basis=replace(model.basis, scales=np.array(scales)))
    if quantise is None:
        assert_agree(model, fresh(), tmp_path)
    else:
        assert_agree_quantised(model, quantise, tmp_path)
    n_used = max(np.count_nonzero(scales), 1)
    text = (tmp_path / "one.c").read_text()
    assert f"static const double one_scales[{n_used}]" in text
    if storage == "dense":
        assert f"one_vectors[{n_used * len(model.basis.names)}]" in text


@pytest.mark.parametrize("n_classes", [2, 3])
def test_learned_scales(n_classes, tmp_path):
    """From the fit through a file to C; the constants are those of the features that count."""
    X, y, new = among_noise(n_classes)
    names = [f"feature {j}" for j in range(108)]
    frame = pd.DataFrame(X, columns=names)
    clf = RVMClassifier(feature_scales="learned").fit(frame, y)
    save_model(clf, tmp_path / "model.sbm")
    model = load_model(tmp_path / "model.sbm")
    n_used, n_vectors = np.count_nonzero(clf.feature_scales_), len(clf.relevance_vectors_)
    assert 0 < n_used < 40
    assert_agree(model, new, tmp_path)
    text = (tmp_path / "one.c").read_text()
    assert f"static const double one_vectors[{n_vectors * n_used}]" in text
    header = (tmp_path / "one.h").read_text()
    assert re.findall(r"feature \d+", header) == [names[j] for j in np.flatnonzero(clf.feature_scales_)]


def test_models_without_functions(tmp_path):
    for k, kind in enumerate(ESTIMATORS):
        (tmp_path / kind).mkdir()
        empty = without_functions(fitted(kind, proba="moderated").freeze(), [0.5 + k])
        assert_agree(empty, fresh()[:20], tmp_path / kind)


def test_extreme_margins(tmp_path):
    """No overflow, and probabilities that sum to 1, far out on either side."""
    for scheme in ("ovo", "ovr"):
        model, X = extreme_margins(scheme)
        double, _ = outputs(model, X, tmp_path)
        np.testing.assert_allclose(double.probabilities, model.predict_proba(X), rtol=0, atol=1e-12)
        np.testing.assert_allclose(double.probabilities.sum(axis=1), 1.0, rtol=1e-15)


def assert_agree_quantised(model, quantise, folder):
    export = export_c(model, folder / "one.c", quantise=quantise, X=fresh())
    double, _ = outputs(model, fresh(), folder, quantise=quantise, X=fresh())
    p = model.predict_proba(fresh())
    difference = np.abs(double.probabilities - p)
    # What Python reported of the rounding is what C does.
    assert export.agreement.n_rows == len(p)
    assert export.agreement.largest_difference == pytest.approx(difference.max(), abs=1e-12)
    assert export.agreement.mean_difference == pytest.approx(difference.mean(), abs=1e-12)
    same = (model.classes[double.codes] == model.predict(fresh())).mean()
    assert export.agreement.same_labels == pytest.approx(same, abs=1e-12)
    return export


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(("storage", "proba"), [("dense", "mode"), ("sparse", "moderated")])
def test_quantised(kind, storage, proba, tmp_path):
    model = fitted(kind, n_classes=3, storage=storage, proba=proba).freeze()
    exact = export_c(model, tmp_path / "exact.c")
    short = assert_agree_quantised(model, "int16", tmp_path)
    shorter = assert_agree_quantised(model, "int8", tmp_path)
    assert exact.agreement is None
    assert shorter.table_bytes < short.table_bytes < exact.table_bytes
    assert 0.0 < short.agreement.largest_difference < 1e-3
    assert short.agreement.largest_difference < shorter.agreement.largest_difference < 0.2
    assert shorter.agreement.same_labels > 0.97


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_quantised_features_of_any_size_and_place(kind, tmp_path):
    """Units and origin of a feature cost nothing but for nodes, whose layer has one scale for all."""
    X, y = rows(200, 5)
    factor, shift = (
        np.array([1e-3, 1.0, 50.0, 1e4, 1.0, 1e-5, 1.0, 1.0]),
        np.array([0, 3, 200, 0, -9, 0, 1, 0]),
    )
    same = np.full(8, 3.0) if kind == "hidden" else factor
    clf = ESTIMATORS[kind](**({"gamma": 0.1} if kind == "kernel" else {}))
    Z = (X if kind == "kernel" else X * same) + shift * same
    model = clf.fit(Z, y).freeze()
    export = export_c(model, tmp_path / "one.c", quantise="int8", X=Z)
    assert export.agreement.same_labels > 0.97
    assert export.agreement.mean_difference < 0.02


@pytest.mark.parametrize("n_weights", [3, 8])
def test_quantised_tables_are_what_they_say(n_weights, tmp_path):
    """Margins from the numbers in the text: shifts belong to weights, or to functions if that is shorter."""
    X = fresh() * np.array([100.0, 1, 1, 1, 1, 1, 1, 100])
    features = np.array([0, 1, 7]) if n_weights == 3 else np.arange(8)
    model = replace(
        fitted("linear").freeze(),
        basis=IdentityBasis(8, features),
        weights=np.linspace(-1.0, 2.0, n_weights) / X.std(axis=0)[features],
        columns=np.arange(n_weights),
        starts=np.array([0, n_weights]),
        weights_std=None,
    )
    double, _ = outputs(model, X, tmp_path, quantise="int8", X=X)
    text = (tmp_path / "one.c").read_text()
    assert "static const int8_t one_weights" in text

    def array(name):
        body = re.search(rf"one_{name}\[\d+\] = {{(.*?)}};", text, re.DOTALL)[1]
        return np.array([float(entry) for entry in body.replace(",", " ").split()])

    assert len(array("shifts")) == n_weights
    weights = array("weights") * array("weight_steps")[0] * 2.0 ** array("shifts")
    margins = X[:, array("columns").astype(int)] @ weights + array("intercepts")[0]
    np.testing.assert_allclose(double.margins[:, 0], margins, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(margins, model.margins(X)[:, 0], rtol=0, atol=0.1)
    assert "Quantised. Against the exact model, on 1000 rows" in (tmp_path / "one.h").read_text()


@given(st.text())
def test_any_text_is_safe(text):
    escaped = ctext.comment(text)
    assert escaped.isascii()
    assert escaped.isprintable()
    assert not re.search(r"\*|\\|\?", escaped)
    literal = ctext.string(text[:500])
    assert re.fullmatch(r'"([^"\\?]|\\[0-7]{3})*"', literal)
    octal = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), literal[1:-1].encode())
    assert octal == text[:500].encode("utf-8", "surrogatepass")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back(value):
    assert float(ctext.number(value, "double")) == value
    with np.errstate(over="ignore"):
        short = np.float32(value)
    if np.isfinite(short):
        text = ctext.number(value, "float")
        assert text.endswith("f")
        assert np.float32(text[:-1]) == short
        assert "." in text or "e" in text  # 1f is not a number in C


def test_the_algorithm_is_fixed(tmp_path):
    """Another model of the same kind: other constants, the same code. No allocation, no other headers."""
    X, y = rows(120, 3)
    for k, model in enumerate((fitted("kernel", gamma=0.3), RVMClassifier(gamma=0.3).fit(X, y))):
        export_c(model, tmp_path / f"m{k}.c", name="m")
    texts = [(tmp_path / f"m{k}.c").read_text().split("m_sigmoid", 1)[1] for k in range(2)]
    assert re.sub(r"\d+", "N", texts[0]) == re.sub(r"\d+", "N", texts[1])
    for kind in ESTIMATORS:
        export_c(fitted(kind, n_classes=3), tmp_path / "m.c")
        text = (tmp_path / "m.c").read_text()
        assert set(re.findall(r"#include (\S+)", text)) == {'"m.h"', "<math.h>", "<stddef.h>", "<stdint.h>"}
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        called = set(re.findall(r"\b([a-z]\w*)\(", code))
        assert {name for name in called if not name.startswith("m_")} <= {"exp", "for", "if", "while"}
        export_c(fitted(kind, n_classes=3), tmp_path / "again.c", name="m")
        again = (tmp_path / "again.c").read_text().replace("again.h", "m.h")
        assert again == text


def test_the_program_in_the_docs(tmp_path):
    """Built and run as it is written there."""
    text = (Path(__file__).parent.parent / "docs" / "deployment.md").read_text()
    program, command = re.search(r"```c\n(.*?)```.*?```sh\n(gcc .*?)\n```", text, re.DOTALL).groups()
    clf = fitted("linear", n_classes=4)
    export_c(clf, tmp_path / "model.c", names=True)
    (tmp_path / "main.c").write_text(program)
    run(command.split(), cwd=tmp_path)
    typed = "\n".join(" ".join(map(repr, row)) for row in fresh()[:5].tolist())
    printed = run([tmp_path / "classify"], input=typed.encode()).decode().split()
    assert printed[::2] == [str(label) for label in clf.predict(fresh()[:5])]
    p = clf.predict_proba(fresh()[:5]).max(axis=1)
    np.testing.assert_allclose([float(each) for each in printed[1::2]], p, rtol=1e-12)


def test_arguments_are_checked(tmp_path):
    clf = fitted("linear")
    for options, message in [
        ({"dtype": "half"}, "dtype must be 'double' or 'float'. Got 'half'"),
        ({"quantise": "int4", "X": fresh()}, "quantise must be 'int8', 'int16' or None. Got 'int4'"),
        ({"quantise": "int8"}, "quantise='int8' needs typical rows X"),
        ({"name": "1st"}, "letter, then letters and digits. Got '1st'"),
        ({"name": "a; int b"}, "Got 'a; int b'"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            export_c(clf, tmp_path / "m.c", **options)
    for name in ("m.txt", 'm".c', "m\n.c", "größe.c", "m"):
        with pytest.raises(ValueError, match=r"plain file name with \.c or \.h"):
            export_c(clf, tmp_path / name)
    long = replace(clf.freeze(), classes=np.array(["a", "b" * 5000], dtype=object))
    with pytest.raises(ValueError, match="too long for a table in C"):
        export_c(long, tmp_path / "m.c", names=True)
    with pytest.raises(ValueError, match="too large for dtype='float'"):
        export_c(replace(clf.freeze(), intercepts=np.array([1e300])), tmp_path / "m.c", dtype="float")
    own = RVMClassifier(kernel=lambda A, B: A @ B.T).fit(*rows(50, 0))
    with pytest.raises(ValueError, match="cannot be frozen"):
        export_c(own, tmp_path / "m.c")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "clf", [SBLClassifier(), SBELMClassifier(20, random_state=0)], ids=["linear", "hidden"]
)
def test_labels_of_every_type_are_named(clf, tmp_path):
    X, y = rows(100, 0)
    for labels, expected in [
        (np.array([False, True]), ['"False"', '"True"']),
        (np.array([-1.0, 2.0]), ['"-1.0"', '"2.0"']),
        (np.array(["a", "b"]), ['"a"', '"b"']),
    ]:
        export_c(clf.fit(X, labels[y]), tmp_path / "m.c", names=True)
        text = (tmp_path / "m.c").read_text()
        assert re.search(r"class_names\[M_N_CLASSES\] = {\s*" + r",\s*".join(expected), text)
