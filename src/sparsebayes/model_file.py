"""Model files: a :class:`FrozenModel` as header and arrays of a checked file, and back."""

from __future__ import annotations

import math
import os
from itertools import chain, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._checks import ascends
from sparsebayes._typing import AnyArray
from sparsebayes.basis import Basis, HiddenBasis, IdentityBasis, KernelBasis
from sparsebayes.frozen import MAX_LABEL_CHARACTERS, FrozenModel, as_frozen
from sparsebayes.io.checked import MAX_BYTES, ModelFileError, read_checked, write_checked
from sparsebayes.kernels import Kernel
from sparsebayes.posterior import Posterior


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that :func:`load_model` reads; an older file is replaced in one step.

    Parameters
    ----------
    model : fitted classifier of this package, or FrozenModel
        What to write.
    path : str or path-like
        Where; ``.sbm`` is the usual ending.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import SBLClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SBLClassifier().fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/iris.sbm")
    ...     model = load_model(f"{folder}/iris.sbm")
    >>> bool((model.predict(X) == clf.predict(X)).all())
    True
    """
    frozen = as_frozen(model)
    frozen.check()
    header, arrays = _packed(frozen)
    write_checked(path, FrozenModel.schema_version, header, arrays)


def load_model(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> FrozenModel:
    """Read a file of :func:`save_model`; nothing in it is executed.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=2**30
        A larger file is refused before it is read. In memory a model takes about twice its file, or, where
        names of features are most of it, up to ten times.

    Returns
    -------
    model : FrozenModel
        With ``predict``, ``predict_proba``, ``predict_log_proba``, ``decision_function`` and ``classes``.

    Raises
    ------
    ModelFileError
        If the file is damaged, cut off, of a newer format, or no model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import RVMClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(RVMClassifier().fit(X, y), f"{folder}/iris.sbm")
    ...     model = load_model(f"{folder}/iris.sbm")
    >>> model.predict(X[:3]).tolist()
    [0, 0, 0]
    """
    header, arrays = read_checked(path, FrozenModel.schema_version, max_bytes)
    try:
        model = _unpacked(_Fields(header), _Fields(arrays))
        model.check()
    except ValueError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    return model


def _packed(model: FrozenModel) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    described, functions = _packed_basis(model.basis)
    header: dict[str, Any] = {
        "n_features": model.n_features,
        "scheme": model.scheme,
        "link": model.link,
        "labels": {"U": "strings", "O": "string objects"}.get(model.classes.dtype.kind, "numbers"),
        "basis": described,
        "posteriors": None,
        "about": dict(model.about),
    }
    arrays: dict[str, AnyArray] = {
        "weights": model.weights,
        "columns": model.columns,
        "starts": model.starts,
        "intercepts": model.intercepts,
    }
    arrays |= (
        {"classes": model.classes}
        if header["labels"] == "numbers"
        else _packed_strings("classes", model.classes)
    )
    if model.weights_std is not None:
        arrays["weights_std"] = model.weights_std
    if model.feature_names is not None:
        arrays |= _packed_strings("feature_names", model.feature_names)
    arrays |= {f"basis.{name}": array for name, array in functions.items()}
    if model.posteriors is not None:
        header["posteriors"] = [[p.has_intercept, p.covariance.ndim == 1] for p in model.posteriors]
        arrays["posteriors.centre"] = np.concatenate([p.centre for p in model.posteriors])
        arrays["posteriors.unit"] = np.concatenate([p.unit for p in model.posteriors])
        arrays["posteriors.covariance"] = np.concatenate([p.covariance.ravel() for p in model.posteriors])
    return header, arrays


def _packed_strings(name: str, values: AnyArray) -> dict[str, AnyArray]:
    encoded = [value.encode("utf-8", "surrogatepass") for value in values.tolist()]
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {name: text, f"{name}.ends": np.cumsum([len(each) for each in encoded], dtype=np.int64)}


def _packed_basis(basis: Basis) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    if isinstance(basis, IdentityBasis):
        return {"kind": "features"}, {"features": basis.numbers}
    if isinstance(basis, HiddenBasis):
        described = {"kind": "hidden", "activation": basis.activation, "n_drawn": basis.n_drawn}
        return described, {"weights": basis.weights, "biases": basis.biases, "nodes": basis.numbers}
    assert isinstance(basis, KernelBasis)
    assert isinstance(basis.kernel, Kernel)
    kernel, vectors = basis.kernel, basis.vectors
    described = {
        "kind": "kernel",
        "kernel": kernel.name,
        "gamma": float(kernel.gamma),
        "degree": int(kernel.degree) if kernel.degree == int(kernel.degree) else float(kernel.degree),
        "coef0": float(kernel.coef0),
    }
    arrays: dict[str, AnyArray] = {"names": basis.names}
    if sp.issparse(vectors):
        csr = vectors.tocsr()
        arrays |= {"vectors.data": csr.data, "vectors.indices": csr.indices, "vectors.indptr": csr.indptr}
    else:
        arrays["vectors"] = vectors
    if basis.gammas is not None:
        arrays["gammas"] = basis.gammas
    if basis.scales is not None:
        arrays["scales"] = basis.scales
    return described, arrays


class _Fields:
    """A header or a set of arrays, of which each entry is taken once and none may be left over."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self._entries = dict(entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def take(self, name: str, *kinds: type) -> Any:
        if name not in self._entries:
            raise ModelFileError(f"{name!r} is missing.")
        value = self._entries.pop(name)
        if type(value) not in kinds:
            raise ModelFileError(f"{name!r} is a {type(value).__name__}.")
        return value

    def array(self, name: str) -> AnyArray:
        array: AnyArray = self.take(name, np.ndarray)
        return array

    def optional_array(self, name: str) -> AnyArray | None:
        return self.array(name) if name in self else None

    def close(self) -> None:
        if self._entries:
            raise ModelFileError(f"there is something unknown: {next(iter(self._entries))[:50]!r}.")


def _unpacked(header: _Fields, arrays: _Fields) -> FrozenModel:
    n_features = header.take("n_features", int)
    classes = _unpacked_labels(header, arrays)
    basis = _unpacked_basis(_Fields(header.take("basis", dict)), arrays, n_features)
    kinds = header.take("posteriors", list, type(None))
    starts = arrays.array("starts")
    names = _unpacked_strings("feature_names", arrays) if "feature_names" in arrays else None
    model = FrozenModel(
        classes=classes,
        n_features=n_features,
        basis=basis,
        weights=arrays.array("weights"),
        columns=arrays.array("columns"),
        starts=starts,
        intercepts=arrays.array("intercepts"),
        scheme=header.take("scheme", str),
        link=header.take("link", str),
        posteriors=None if kinds is None else _unpacked_posteriors(kinds, starts, arrays),
        weights_std=arrays.optional_array("weights_std"),
        feature_names=None if names is None else np.array(names, dtype=object),
        about=header.take("about", dict),
    )
    header.close()
    arrays.close()
    return model


def _unpacked_labels(header: _Fields, arrays: _Fields) -> AnyArray:
    kind = header.take("labels", str)
    if kind == "numbers":
        return arrays.array("classes")
    if kind not in ("strings", "string objects"):
        raise ModelFileError(f"its labels are {kind[:50]!r}.")
    strings = _unpacked_strings("classes", arrays)
    # An array of strings gives all of them the room of the longest.
    if kind == "strings" and len(strings) * max(map(len, strings), default=0) > MAX_LABEL_CHARACTERS:
        raise ModelFileError("its labels are too long.")
    return np.array(strings, dtype=np.str_ if kind == "strings" else object)


def _unpacked_strings(name: str, arrays: _Fields) -> list[str]:
    text, ends = arrays.array(name), arrays.array(f"{name}.ends")
    if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
        raise ModelFileError(f"the strings of {name!r} have the wrong type.")
    if not ascends(ends) or (ends[:1] < 0).any() or ends[-1:].sum() != len(text):
        raise ModelFileError(f"the strings of {name!r} do not fill their text.")
    encoded = text.tobytes()
    # By an iterator: a list of ends would take five times their room.
    pieces = (encoded[start:end] for start, end in pairwise(chain([0], ends)))
    return [piece.decode("utf-8", "surrogatepass") for piece in pieces]


def _unpacked_basis(fields: _Fields, arrays: _Fields, n_features: int) -> Basis:
    kind = fields.take("kind", str)
    basis: Basis
    if kind == "features":
        features = arrays.array("basis.features")
        basis = IdentityBasis(n_features, None if len(features) == n_features else features)
        if basis.columns is None and not np.array_equal(features, np.arange(n_features)):
            raise ModelFileError("features are not in order.")
    elif kind == "hidden":
        basis = HiddenBasis(
            fields.take("activation", str),
            arrays.array("basis.weights"),
            arrays.array("basis.biases"),
            arrays.array("basis.nodes"),
            fields.take("n_drawn", int),
        )
    elif kind == "kernel":
        kernel = Kernel(
            fields.take("kernel", str),
            fields.take("gamma", float),
            fields.take("degree", int, float),
            fields.take("coef0", float),
        )
        names = arrays.array("basis.names")
        vectors = _unpacked_vectors(arrays, (len(names), n_features))
        gammas, scales = (arrays.optional_array(f"basis.{name}") for name in ("gammas", "scales"))
        basis = KernelBasis(kernel, vectors, names, gammas, None, scales)
    else:
        raise ModelFileError(f"it has a basis of an unknown kind: {kind[:50]!r}.")
    fields.close()
    return basis


def _unpacked_vectors(arrays: _Fields, shape: tuple[int, int]) -> Any:
    if "basis.vectors" in arrays:
        return arrays.array("basis.vectors")
    data, indices, indptr = (arrays.array(f"basis.vectors.{name}") for name in ("data", "indices", "indptr"))
    if data.dtype.char not in "fd" or indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise ModelFileError("vectors have the wrong type.")
    return sp.csr_matrix((data, indices, indptr), shape=shape)


def _unpacked_posteriors(kinds: list[Any], starts: AnyArray, arrays: _Fields) -> tuple[Posterior, ...]:
    """``kinds`` says of each problem if the intercept is in its posterior, and if that is diagonal."""
    if any(type(kind) is not list or [type(each) for each in kind] != [bool, bool] for kind in kinds):
        raise ModelFileError("its posteriors are not described.")
    names = ("centre", "unit", "covariance")
    centre, unit, covariance = (arrays.array(f"posteriors.{name}") for name in names)
    if starts.ndim != 1 or len(starts) != len(kinds) + 1 or not kinds:
        raise ModelFileError("there is not one posterior for each problem.")
    counts: list[int] = np.diff(starts).tolist()
    sizes = [count + has_intercept for count, (has_intercept, _) in zip(counts, kinds, strict=True)]
    shapes = [(size,) if diagonal else (size, size) for size, (_, diagonal) in zip(sizes, kinds, strict=True)]
    lengths = [math.prod(shape) for shape in shapes]
    wanted = (sum(counts), sum(counts), sum(lengths))
    if min(counts) < 0 or wanted != (len(centre), len(unit), len(covariance)):
        raise ModelFileError("its posteriors do not fit its weights.")
    pieces = zip(_pieces(centre, counts), _pieces(unit, counts), _pieces(covariance, lengths), strict=True)
    return tuple(
        # A copy: what a product rounds may depend on where a matrix lies in memory.
        Posterior(c, u, v.reshape(shape).copy(), has_intercept)
        for (c, u, v), shape, (has_intercept, _) in zip(pieces, shapes, kinds, strict=True)
    )


def _pieces(values: AnyArray, lengths: list[int]) -> list[AnyArray]:
    return np.split(values, np.cumsum(lengths)[:-1])
