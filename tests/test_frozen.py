"""The frozen model: the same bits as its estimator, and nothing that it does not need."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from io import BytesIO

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from sparsebayes import (
    FrozenModel,
    RVMClassifier,
    SBELMClassifier,
    SBLClassifier,
    SBLClassifierCV,
    load_model,
    save_model,
)
from sparsebayes.basis import ACTIVATIONS, IdentityBasis, KernelBasis
from sparsebayes.kernels import NAMES, Kernel
from tests.models import CASES, ESTIMATORS, fitted, fresh, rows, stored
from tests.problems import classification

OUTPUTS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


def reloaded(model, folder):
    save_model(model, folder / "model.sbm")
    return load_model(folder / "model.sbm")


def assert_same_bits(estimator, X, folder):
    frozen = estimator.freeze()
    again = reloaded(estimator, folder)
    for output in OUTPUTS:
        expected = getattr(estimator, output)(X)
        for model in (frozen, again):
            found = getattr(model, output)(X)
            np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize(("kind", "solver", "n_classes", "storage"), CASES)
def test_estimator_frozen_model_and_file_give_the_same_bits(kind, solver, n_classes, storage, tmp_path):
    estimator = fitted(kind, solver, n_classes, storage)
    assert_same_bits(estimator, fresh(), tmp_path)
    assert_same_bits(estimator, sp.csr_matrix(fresh()), tmp_path)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("proba", ["mode", "moderated"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_precisions_and_schemes_give_the_same_bits(kind, proba, multi_class, dtype, storage, tmp_path):
    estimator = fitted(kind, "auto", 3, storage, dtype, proba=proba, multi_class=multi_class)
    for X in (
        fresh("float32"),
        fresh("float64"),
        sp.csc_array(fresh(dtype)),
        np.asfortranarray(fresh("float64")),
    ):
        assert_same_bits(estimator, X, tmp_path)
    assert estimator.freeze().predict_proba(fresh(dtype)).dtype == dtype


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_every_kernel_gives_the_same_bits(kernel, storage, tmp_path):
    estimator = fitted("kernel", storage=storage, kernel=kernel)
    assert_same_bits(estimator, stored(fresh(), storage), tmp_path)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_gives_the_same_bits(activation, tmp_path):
    assert_same_bits(fitted("hidden", activation=activation), fresh(), tmp_path)


def test_several_widths_give_the_same_bits(tmp_path):
    estimator = fitted("kernel", n_classes=3, gamma="several")
    assert isinstance(estimator.gamma_, np.ndarray)
    assert_same_bits(estimator, fresh(), tmp_path)


def test_a_searched_model_and_one_from_a_path(tmp_path):
    X, y = rows(120, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        searched = SBLClassifierCV(cv=2, max_iter=5).fit(X, y)
    assert_same_bits(searched, fresh(), tmp_path)
    small = fitted("linear").at(2)
    assert_same_bits(small, fresh(), tmp_path)
    assert small.freeze().weights_std is None


def test_margins_from_the_definition():
    """By loops over weights, which share nothing with the package."""
    model, X = fitted("linear", n_classes=3).freeze(), fresh()[:50]
    for k in range(3):
        positions, weights, intercept = model.problem(k)
        features = model.basis.numbers[positions]
        expected = [intercept + sum(w * x[j] for w, j in zip(weights, features, strict=True)) for x in X]
        np.testing.assert_allclose(model.margins(X)[:, k], expected, rtol=1e-12, atol=1e-12)
    model = fitted("kernel").freeze()
    vectors, gamma = model.basis.vectors, model.basis.kernel.gamma
    phi = np.exp(-gamma * np.square(X[:, None] - vectors[None]).sum(axis=2))
    expected = expit(phi @ model.problem(0)[1] + model.intercepts[0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-10)


def test_only_what_is_kept_is_there():
    X, y = classification(n=150, m=30, seed=2)
    estimator = SBLClassifier().fit(X, y)
    model = estimator.freeze()
    kept = np.flatnonzero(estimator.coef_[0])
    np.testing.assert_array_equal(model.basis.numbers, kept)
    assert len(model.weights) == len(model.weights_std) == len(kept) < 30
    junk = X.copy()
    junk[:, np.setdiff1d(np.arange(30), kept)] = 1e300
    np.testing.assert_array_equal(model.predict_proba(junk), model.predict_proba(X))


LABELS = {
    "str": np.array(["ham", "spam"]),
    "unicode": np.array(["grün", "\u4e2d\n*/"]),
    "object": np.array(["no", "yes"], dtype=object),
    "int": np.array([-3, 7]),
    "int8": np.array([-3, 7], dtype=np.int8),
    "uint64": np.array([1, 2**63 + 5], dtype=np.uint64),
    "float": np.array([1.0, 2.0]),
    "float32": np.array([-1.0, 1.0], dtype=np.float32),
    "bool": np.array([False, True]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_every_type_come_back(labels, tmp_path):
    X, y = rows(80, 0)
    estimator = SBLClassifier().fit(X, labels[y])
    model = reloaded(estimator, tmp_path)
    np.testing.assert_array_equal(model.predict(X), estimator.predict(X), strict=True)
    assert model.classes.tolist() == labels.tolist()
    assert [type(each) for each in model.classes.tolist()] == [type(each) for each in labels.tolist()]


@pytest.mark.parametrize("labels", [["b", 1], [1, 2], [None, "a"], [b"a", b"b"], [np.nan, 1.0]])
def test_other_labels_are_refused(labels, tmp_path):
    model = replace(fitted("linear").freeze(), classes=np.array(labels, dtype=object))
    with pytest.raises(ValueError, match=r"[Ll]abel"):
        save_model(model, tmp_path / "model.sbm")
    assert not list(tmp_path.iterdir())


def test_feature_names_are_kept_and_checked(tmp_path):
    X, y = rows(80, 0)
    frame = pd.DataFrame(X, columns=[f"größe {i}\n" for i in range(X.shape[1])])
    estimator = SBLClassifier().fit(frame, y)
    model = reloaded(estimator, tmp_path)
    assert list(model.feature_names) == list(frame.columns)
    np.testing.assert_array_equal(model.predict_proba(frame), estimator.predict_proba(frame))
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(frame))
    with pytest.raises(ValueError, match="column 0 is 'größe 7"):
        model.predict(frame[frame.columns[::-1]])


def test_inputs_are_checked():
    model = fitted("linear").freeze()
    X = fresh()[:5]
    for wrong, message in [
        (X[:, :3], "X has 3 features, but this model expects 8"),
        (X[0], "two-dimensional X"),
        (X[:0], "shape \\(0, 8\\)"),
        (X + 1j, "real numbers"),
        (np.where(X[2, 1] == X, np.nan, X), "contains NaN.*row"),
        (sp.csr_matrix(np.where(X[2, 1] == X, np.inf, X)), "contains infinity"),
        ([["a"] * 8], "real numbers|could not convert"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)
    broken = sp.csr_matrix(X)
    broken.indices[0] = 99
    with pytest.raises(ValueError, match="not a valid CSR"):
        model.predict(broken)
    whole = np.round(X * 3)
    for same in (
        whole.astype(int),
        whole.tolist(),
        whole.astype(">f8"),
        sp.coo_array(whole),
        whole.astype(object),
    ):
        np.testing.assert_allclose(model.predict_proba(same), model.predict_proba(whole), rtol=1e-12)


def test_what_cannot_be_frozen_still_predicts():
    X, y = rows(80, 0)
    own = RVMClassifier(kernel=lambda A, B: A @ B.T).fit(X, y)
    assert own.predict(X).shape == (80,)
    with pytest.raises(ValueError, match=r"function of the user's cannot be frozen.*rbf"):
        own.freeze()
    given_kernel = RVMClassifier(kernel="precomputed").fit(X @ X.T, y)
    assert given_kernel.predict(X @ X.T).shape == (80,)
    with pytest.raises(ValueError, match=r"precomputed.*cannot be frozen.*Fit with a kernel by name"):
        given_kernel.freeze()
    with pytest.raises(ValueError, match="not fitted"):
        SBLClassifier().freeze()
    with pytest.raises(TypeError, match="fitted classifier of sparsebayes"):
        save_model(X, "nowhere")


def test_scales_of_features_are_one_more_array(tmp_path):
    """K(s x, s v): the model of scaled data, told of the scales."""
    X, y = rows(100, 0)
    scales = np.array([0.5, 2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 0.25])
    scaled = RVMClassifier(gamma=0.3).fit(X * scales, y).freeze()
    part = scaled.basis
    vectors = np.divide(part.vectors, scales, out=np.full_like(part.vectors, 7.0), where=scales > 0)
    basis = KernelBasis(part.kernel, vectors, part.names, scales=scales)
    model = reloaded(replace(scaled, basis=basis), tmp_path)
    assert (model.basis.scales == scales).all()
    expected = scaled.predict_proba(fresh() * scales)
    np.testing.assert_allclose(model.predict_proba(fresh()), expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(sp.csr_matrix(fresh())), expected, rtol=1e-9)


def test_scikit_learn_is_not_needed(tmp_path):
    """In a process that cannot import it."""
    for kind in ESTIMATORS:
        save_model(fitted(kind, n_classes=4), tmp_path / f"{kind}.sbm")
        np.save(tmp_path / f"{kind}.npy", fitted(kind, n_classes=4).predict_proba(fresh()))
    np.save(tmp_path / "X.npy", fresh())
    code = f"""
import sys
for name in ("sklearn", "joblib", "threadpoolctl"):
    sys.modules[name] = None
import numpy as np, scipy.sparse as sp
from sparsebayes import load_model
X = np.load(r"{tmp_path}/X.npy")
for kind in {list(ESTIMATORS)}:
    model, expected = load_model(rf"{tmp_path}/{{kind}}.sbm"), np.load(rf"{tmp_path}/{{kind}}.npy")
    assert (model.predict_proba(X) == expected).all()
    assert np.allclose(model.predict_proba(sp.csr_matrix(X)), expected)
print("done")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "done\n", run.stderr


def test_pickle_and_joblib(tmp_path):
    for kind in ESTIMATORS:
        estimator = fitted(kind, proba="moderated")
        file = BytesIO()
        joblib.dump(estimator, file)
        file.seek(0)
        for again in (pickle.loads(pickle.dumps(estimator)), joblib.load(file)):
            np.testing.assert_array_equal(again.predict_proba(fresh()), estimator.predict_proba(fresh()))
        frozen = pickle.loads(pickle.dumps(estimator.freeze()))
        assert isinstance(frozen, FrozenModel)
        np.testing.assert_array_equal(frozen.predict_proba(fresh()), estimator.predict_proba(fresh()))


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("proba", ["mode", "moderated"])
def test_skops(kind, proba):
    skops_io = pytest.importorskip("skops.io", reason="skops is not installed")
    estimator = fitted(kind, proba=proba)
    data = skops_io.dumps(estimator)
    unknown = skops_io.get_untrusted_types(data=data)
    assert all(name.startswith(("sparsebayes.", "scipy.sparse.")) for name in unknown)
    again = skops_io.loads(data, trusted=unknown)
    np.testing.assert_array_equal(again.predict_proba(fresh()), estimator.predict_proba(fresh()))


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(
    st.lists(st.tuples(st.integers(0, 9), finite), max_size=8, unique_by=lambda pair: pair[0]),
    finite,
    st.lists(st.text(max_size=5), min_size=2, max_size=2, unique=True),
    st.lists(st.text(max_size=5), min_size=10, max_size=10),
)
def test_any_linear_model_comes_back(tmp_path_factory, weights, intercept, labels, names):
    weights = sorted(weights)
    model = FrozenModel(
        classes=np.array(labels, dtype=object),
        n_features=10,
        basis=IdentityBasis(10, np.array([j for j, _ in weights], dtype=np.intp)),
        weights=np.array([w for _, w in weights], dtype=np.float64),
        columns=np.arange(len(weights), dtype=np.int32),
        starts=np.array([0, len(weights)], dtype=np.int32),
        intercepts=np.array([intercept]),
        feature_names=np.array(names, dtype=object),
        about={"status": labels},
    )
    again = reloaded(model, tmp_path_factory.mktemp("any"))
    assert again.classes.tolist() == labels
    assert again.feature_names.tolist() == names
    assert again.about == {"status": labels}
    for name in ("weights", "columns", "starts", "intercepts"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), strict=True)
    np.testing.assert_array_equal(again.basis.numbers, model.basis.numbers)


def test_a_kernel_is_plain_numbers(tmp_path):
    kernel = Kernel("poly", 0.1 + 0.2, 2.5, -1e-300)
    part = replace(fitted("kernel", kernel="poly").freeze().basis, kernel=kernel)
    model = replace(fitted("kernel", kernel="poly").freeze(), basis=part)
    assert reloaded(model, tmp_path).basis.kernel == kernel


def test_moderation_is_part_of_the_model():
    X, y = rows(120, 0)
    plain, careful = (SBELMClassifier(20, proba=p, random_state=0).fit(X, y) for p in ("mode", "moderated"))
    p, q = (clf.freeze().predict_proba(X)[:, 1] for clf in (plain, careful))
    assert (np.abs(q - 0.5) <= np.abs(p - 0.5)).all()
    assert np.abs(q - p).max() > 1e-3
    assert plain.freeze().posteriors is None
