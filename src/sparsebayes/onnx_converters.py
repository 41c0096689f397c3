"""How skl2onnx converts the classifiers of this package, by themselves and in pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebayes import estimators
from sparsebayes._typing import AnyArray
from sparsebayes.export.onnx import label_table
from sparsebayes.frozen import as_frozen

CLASSIFIERS = (
    estimators.SBLClassifier,
    estimators.SBLClassifierCV,
    estimators.RVMClassifier,
    estimators.RVMClassifierCV,
    estimators.SBELMClassifier,
    estimators.SBELMClassifierCV,
)
# Of skl2onnx, the same for all classifiers: how probabilities and labels are given.
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [False, True],
    "output_class_labels": [False, True],
}


def register_onnx_converters() -> None:
    """Tell skl2onnx of the classifiers of this package: once in a process, before ``to_onnx``.

    Labels are then, as everywhere in skl2onnx, strings or int64.

    Examples
    --------
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sparsebayes import SBLClassifier, register_onnx_converters
    >>> register_onnx_converters()
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), SBLClassifier()).fit(X, y)
    >>> proto = to_onnx(pipeline, X[:1].astype("float32"), options={"zipmap": False})
    >>> [output.name for output in proto.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError(
            "register_onnx_converters needs the package skl2onnx: pip install 'sparsebayes[onnx]' skl2onnx."
        ) from None
    for classifier in CLASSIFIERS:
        alias = f"Sparsebayes{classifier.__name__}"
        update_registered_converter(classifier, alias, _set_types, _convert, options=OPTIONS)


def _labels(operator: Any) -> AnyArray:
    from skl2onnx.common.utils_classifier import get_label_classes

    labels = label_table(get_label_classes(operator.scope_inst, operator.raw_operator))
    if labels.dtype.kind == "O":
        return labels
    whole = labels.astype(np.int64)
    if labels.dtype.kind == "u" or (whole != labels).any():
        raise ValueError(
            "skl2onnx has labels that are strings or whole numbers of 64 bits. "
            f"Got {labels[:3].tolist()}: fit with other labels, or use export_onnx for the classifier alone."
        )
    return whole


def _set_types(operator: Any) -> None:
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    labels = _labels(operator)
    n_rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = (StringTensorType if labels.dtype.kind == "O" else Int64TensorType)([n_rows])
    real = DoubleTensorType if _has_doubles(operator) else FloatTensorType
    operator.outputs[1].type = real([n_rows, len(labels)])


def _has_doubles(operator: Any) -> bool:
    from skl2onnx.common.data_types import DoubleTensorType

    return any(isinstance(each.type, DoubleTensorType) for each in operator.inputs)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from sparsebayes.export.onnx_graph import OPSET, Graph, add_model

    if container.target_opset_any_domain("") < OPSET:
        raise ValueError(
            f"Models of sparsebayes need opset {OPSET}. Got target_opset={container.target_opset}."
        )
    graph = Graph(np.float64 if _has_doubles(operator) else np.float32, scope.get_unique_variable_name)
    columns = [graph.add("Cast", each.full_name, to=graph.real) for each in operator.inputs]
    x = columns[0] if len(columns) == 1 else graph.add("Concat", *columns, axis=1)
    results = add_model(graph, x, as_frozen(operator.raw_operator), _labels(operator))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.add(("", OPSET))
    for result, output in zip(results, operator.outputs, strict=True):
        container.add_node("Identity", result, output.full_name, name=scope.get_unique_operator_name("out"))
