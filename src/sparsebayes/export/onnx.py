"""A model as an ONNX graph."""

from __future__ import annotations

import json
import os
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sparsebayes._typing import AnyArray
from sparsebayes.frozen import FrozenModel, as_frozen
from sparsebayes.io.checked import replaced

if TYPE_CHECKING:
    from onnx import ModelProto

DTYPES = {"float": np.float32, "double": np.float64}
# What came with the opset of the graph.
IR_VERSION = 8


def export_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, dtype: Literal["float", "double"] = "float"
) -> ModelProto:
    """A model as an ONNX graph, which runs in ONNX Runtime and elsewhere.

    Its input ``X`` has any number of rows and the features as columns; its outputs are ``label`` and
    ``probabilities``, a column a class. It needs opset 15. To convert pipelines, see
    :func:`~sparsebayes.register_onnx_converters`.

    Parameters
    ----------
    model : fitted classifier of this package, or FrozenModel
        What to export.
    path : str or path-like, default=None
        A file to write; an older one is replaced in one step.
    dtype : {"float", "double"}, default="float"
        Type of inputs, arithmetic and probabilities.

    Returns
    -------
    proto : onnx.ModelProto
        The graph. Names of features, as JSON, and the name of the estimator are in its metadata.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import SBLClassifier, export_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> proto = export_onnx(SBLClassifier().fit(X, y))
    >>> [output.name for output in proto.graph.output]
    ['label', 'probabilities']
    """
    try:
        from onnx import helper
    except ImportError:
        raise ImportError("export_onnx needs the package onnx: pip install 'sparsebayes[onnx]'.") from None
    from sparsebayes.export.onnx_graph import OPSET, Graph, add_model

    frozen = as_frozen(model)
    frozen.check()
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be 'float' or 'double'. Got {dtype!r} instead.")
    number = count()
    graph = Graph(DTYPES[dtype], lambda kind: f"{kind}_{next(number)}")
    labels = label_table(frozen.classes)
    outputs = add_model(graph, "X", frozen, labels)
    for name, output in zip(("label", "probabilities"), outputs, strict=True):
        graph.nodes.append(helper.make_node("Identity", [output], [name]))
    of_labels = helper.np_dtype_to_tensor_dtype(labels.dtype)
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            str(frozen.about.get("estimator", "model")),
            [helper.make_tensor_value_info("X", graph.real, ["N", frozen.n_features])],
            [
                helper.make_tensor_value_info("label", of_labels, ["N"]),
                helper.make_tensor_value_info("probabilities", graph.real, ["N", len(frozen.classes)]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="sparsebayes",
    )
    helper.set_model_props(proto, metadata(frozen))
    if path is not None:
        with replaced(path) as file:
            file.write(proto.SerializeToString())
    return proto


def label_table(classes: AnyArray) -> AnyArray:
    """Labels as ONNX has them: strings, int64 (uint64 where that is too short), double, bool."""
    if classes.dtype.kind in "UO":
        for label in classes.tolist():
            if any("\ud800" <= char <= "\udfff" for char in label):
                raise ValueError(f"Strings of ONNX cannot hold lone surrogates, as the label {label!r} does.")
        return classes.astype(object)
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    if classes.dtype.kind == "u" and int(classes.max()) > np.iinfo(np.int64).max:
        return classes.astype(np.uint64)
    return classes.astype(kinds[classes.dtype.kind])


def metadata(model: FrozenModel) -> dict[str, str]:
    found = {"estimator": str(model.about.get("estimator", "FrozenModel"))}
    if model.feature_names is not None:
        found["feature_names"] = json.dumps(model.feature_names.tolist())
    return found
