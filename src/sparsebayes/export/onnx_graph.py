"""A frozen model as nodes of an ONNX graph. This module needs the package ``onnx``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from onnx import NodeProto, TensorProto, helper, numpy_helper

from sparsebayes._typing import AnyArray
from sparsebayes.basis import HiddenBasis, IdentityBasis, KernelBasis
from sparsebayes.export.used import used_features
from sparsebayes.frozen import FrozenModel
from sparsebayes.kernels import DISTANCES, Kernel
from sparsebayes.multiclass import MIN_PAIR_PROBABILITY, MIN_PROBABILITY
from sparsebayes.posterior import Posterior

# The oldest that has all operators; they mean the same in later ones.
OPSET = 15
ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "sine": "Sin"}


class Graph:
    """Nodes and constants that compute in one floating type, under names that ``unique`` gives."""

    def __init__(self, dtype: Any, unique: Callable[[str], str]) -> None:
        self.dtype = np.dtype(dtype)
        self.unique = unique
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    @property
    def real(self) -> int:
        """ONNX's number of the floating type."""
        return int(helper.np_dtype_to_tensor_dtype(self.dtype))

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """A node; returns its output. What is not the name of a value is a constant."""
        output = self.unique(operator)
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, values: Any) -> str:
        """Floats become the graph's own type."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                typed = values.astype(self.dtype)
            if not np.isfinite(typed).all():
                raise ValueError("A number of the model is too large for dtype='float': use 'double'.")
            values = typed
        return self.table(values)

    def table(self, values: AnyArray) -> str:
        """A constant of the type that it has."""
        name = self.unique("constant")
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def scan(
        self,
        state: str,
        shape: tuple[int, ...],
        sequences: list[AnyArray],
        step: Callable[..., tuple[str, ...]],
    ) -> list[str]:
        """Goes through the sequences side by side, with a state that has a ``shape`` for each row.

        ``step(graph, state, *entries)`` returns the next state, and perhaps a number for each row. Returned
        are the last state and, if so, the matrix of these numbers, a row an entry.
        """
        # A body refers to nothing outside of it: skl2onnx sorts nodes by the inputs it sees.
        body = Graph(self.dtype, self.unique)
        entries = [self.unique("state"), *(self.unique("entry") for _ in sequences)]
        results = step(body, *entries)
        results = (body.add("Identity", results[0]), *results[1:])
        of_state: list[int | None] = [None, *shape]
        inputs = [helper.make_tensor_value_info(entries[0], self.real, of_state)]
        for name, each in zip(entries[1:], sequences, strict=True):
            of_each = self.real if each.dtype.kind == "f" else TensorProto.INT64
            inputs.append(helper.make_tensor_value_info(name, of_each, each.shape[1:]))
        returned = [helper.make_tensor_value_info(results[0], self.real, of_state)]
        returned += [helper.make_tensor_value_info(name, self.real, [None]) for name in results[1:]]
        graph = helper.make_graph(body.nodes, self.unique("step"), inputs, returned, body.constants)
        outputs = [self.unique("scanned") for _ in results]
        self.nodes.append(
            helper.make_node(
                "Scan",
                [state, *map(self.constant, sequences)],
                outputs,
                body=graph,
                num_scan_inputs=len(sequences),
            )
        )
        return outputs


def add_model(graph: Graph, x: str, model: FrozenModel, labels: AnyArray) -> tuple[str, str]:
    """Of rows ``x``: their labels, taken from those given in the order of the classes, and probabilities."""
    z = _margins(graph, x, model)
    n_classes = len(model.classes)
    if n_classes == 2:
        scores = graph.add("Concat", graph.add("Neg", z), z, axis=1)
        p = graph.add("Sigmoid", scores)
    elif model.scheme == "ovr":
        scores, p = z, graph.add("Softmax", _log_sigmoid(graph, z), axis=1)
    else:
        scores = p = _coupled(graph, z, n_classes)
    code = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return graph.add("Gather", graph.table(labels), code), p


def _margins(graph: Graph, x: str, model: FrozenModel) -> str:
    n_functions = len(model.basis.numbers)
    if not n_functions:
        constant = model.margins(np.zeros((1, model.n_features)))
        shape = graph.add("Concat", graph.add("Shape", x, end=1), np.array([model.n_problems]), axis=0)
        return graph.add("Expand", constant, shape)
    f = _functions(graph, x, model)
    coef = np.zeros((n_functions, model.n_problems))
    for k in range(model.n_problems):
        functions, weights, _ = model.problem(k)
        coef[functions, k] = weights
    z = graph.add("Add", graph.add("MatMul", f, coef), model.intercepts)
    if model.posteriors is None:
        return z
    variances = [_variance(graph, f, model, k, each) for k, each in enumerate(model.posteriors)]
    variance = graph.add("Concat", *variances, axis=1)
    square = graph.add("Add", graph.add("Mul", variance, np.pi / 8.0), 1.0)
    return graph.add("Div", z, graph.add("Sqrt", square))


def _variance(graph: Graph, f: str, model: FrozenModel, k: int, posterior: Posterior) -> str:
    """Of the margin of problem k, as a sum of squares, which rounding cannot make negative."""
    functions = model.problem(k)[0]
    centre, unit, size = posterior.centre, posterior.unit, len(functions)
    diagonal = posterior.covariance.ndim == 1
    root = np.sqrt(posterior.covariance) if diagonal else _root(posterior.covariance)
    if not size:  # the intercept alone; ONNX needs a function to know the number of rows
        functions, centre, unit, size = np.zeros(1, dtype=np.intp), np.zeros(1), np.zeros(1), 1
        root = np.concatenate([np.zeros((1, *root.shape[1:])), root])
    difference = graph.add("Sub", graph.add("Gather", f, functions, axis=1), centre)
    if diagonal:
        terms = graph.add("Mul", difference, root[:size] * unit)
        rest = np.square(root[size:]).sum()
        return graph.add("Add", _sum(graph, graph.add("Mul", terms, terms)), rest)
    terms = graph.add("MatMul", difference, root[:size] * unit[:, None])
    if posterior.has_intercept:
        terms = graph.add("Add", terms, root[size])
    return _sum(graph, graph.add("Mul", terms, terms))


def _root(covariance: AnyArray) -> AnyArray:
    """R with R R^T = covariance, where rounding may have left that a little indefinite."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _functions(graph: Graph, x: str, model: FrozenModel) -> str:
    """The values of the basis, a column a function."""
    basis = model.basis
    if isinstance(basis, IdentityBasis):
        return x if basis.columns is None else graph.add("Gather", x, basis.columns, axis=1)
    if isinstance(basis, HiddenBasis):
        sums = graph.add("Add", graph.add("MatMul", x, basis.weights.T), basis.biases)
        return graph.add(ACTIVATIONS[basis.activation], sums)
    assert isinstance(basis, KernelBasis)
    used = used_features(model)
    vectors = basis.vectors[:, used]
    vectors = (vectors.toarray() if sp.issparse(vectors) else vectors).astype(np.float64)
    if basis.scales is not None:
        x = graph.add("Mul", graph.add("Gather", x, used, axis=1), basis.scales[used])
        vectors *= basis.scales[used]
    return _kernel(graph, x, basis, vectors)


def _kernel(graph: Graph, x: str, basis: KernelBasis, vectors: AnyArray) -> str:
    kernel = basis.kernel
    assert isinstance(kernel, Kernel)
    gamma = np.asarray(kernel.gamma if basis.gammas is None else basis.gammas, dtype=np.float64)
    if kernel.name in DISTANCES:
        return graph.add("Exp", graph.add("Mul", _distances(graph, x, kernel.name, vectors), -gamma))
    if kernel.name == "cosine":
        norms = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
        products = graph.add("MatMul", x, (vectors / np.where(norms > 0.0, norms, 1.0)).T)
        norm = graph.add("Sqrt", _sum(graph, graph.add("Mul", x, x)))
        return graph.add("Div", products, graph.add("Max", norm, float(np.finfo(graph.dtype).tiny)))
    if kernel.name == "linear":
        return graph.add("MatMul", x, vectors.T)
    # Not as a node of its own, which ONNX Runtime would fuse with the product, and gamma round to a float.
    products = graph.add("MatMul", x, vectors.T * gamma)
    shifted = graph.add("Add", products, float(kernel.coef0))
    if kernel.name == "sigmoid":
        return graph.add("Tanh", shifted)
    return graph.add("Pow", shifted, float(kernel.degree))


def _distances(graph: Graph, x: str, name: str, vectors: AnyArray) -> str:
    """What the kernel exponentiates. By differences, which do not cancel in single precision, and a vector
    at a time, so that memory does not grow with their number times that of the features."""

    def step(body: Graph, rows: str, vector: str) -> tuple[str, str]:
        difference = body.add("Sub", rows, vector)
        terms = (
            body.add("Abs", difference) if name == "laplacian" else body.add("Mul", difference, difference)
        )
        return rows, body.add("ReduceSum", terms, np.array([1]), keepdims=0)

    # Scan itself could transpose, but then ONNX Runtime 1.31 ends the process where X has no rows.
    distances = graph.add("Transpose", graph.scan(x, vectors.shape[1:], [vectors], step)[1], perm=[1, 0])
    return graph.add("Sqrt", distances) if name == "exponential" else distances


def _sum(graph: Graph, terms: str) -> str:
    """Over columns, as a column."""
    return graph.add("ReduceSum", terms, np.array([1]), keepdims=1)


def _log_sigmoid(graph: Graph, z: str) -> str:
    decay = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    return graph.add("Sub", graph.add("Min", z, 0.0), graph.add("Log", graph.add("Add", decay, 1.0)))


def _coupled(graph: Graph, z: str, n_classes: int) -> str:
    """Pairwise coupling: the p of :func:`sparsebayes.multiclass.couple`, by a system that needs no pivots.

    Q p = -b 1 with sum(p) = 1 says that (Q + 1 1^T) p is a multiple of 1. That matrix is positive definite:
    where pairs agree with each other, Q has the null vector p, whose sum is not 0.
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    positions = np.zeros((n_classes, n_classes), dtype=np.int64)
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        positions[i, j], positions[j, i] = pair, n_pairs + pair
    one = np.eye(n_classes)
    both = graph.add("Sigmoid", graph.add("Concat", graph.add("Neg", z), z, axis=1))
    both = graph.add("Clip", both, MIN_PAIR_PROBABILITY, 1.0 - MIN_PAIR_PROBABILITY)
    r = graph.add("Mul", graph.add("Gather", both, positions, axis=1), 1.0 - one)
    products = graph.add("Mul", r, graph.add("Transpose", r, perm=[0, 2, 1]))
    diagonal = graph.add("Mul", _sum(graph, graph.add("Mul", r, r)), one)
    matrix = graph.add("Add", graph.add("Sub", 1.0, products), diagonal)
    system = graph.add("Pad", matrix, np.array([0, 0, 0, 0, 0, 1]), 1.0)

    def eliminate(body: Graph, rows: str, k: str, unit: str) -> tuple[str]:
        """Row k over its pivot, and as much of it off each other row as makes column k that of ``one``."""
        row = body.add("Gather", rows, k, axis=1)
        row = body.add("Div", row, body.add("Gather", row, k, axis=2))
        column = body.add("Sub", body.add("Gather", rows, k, axis=2), unit)
        return (body.add("Sub", rows, body.add("Mul", column, row)),)

    sequences = [np.arange(n_classes)[:, None], one[:, :, None]]
    solved = graph.scan(system, (n_classes, n_classes + 1), sequences, eliminate)[0]
    p = graph.add("Max", graph.add("Gather", solved, np.array(n_classes), axis=2), MIN_PROBABILITY)
    return graph.add("Div", p, _sum(graph, p))
