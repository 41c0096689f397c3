"""The text of a C program for a model: tables of its numbers, and the templates that it needs."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import AnyArray
from sparsebayes.basis import Basis, HiddenBasis, IdentityBasis, KernelBasis
from sparsebayes.export.ctext import comment, filled, index_type, integers, number, string, table
from sparsebayes.export.quantised import Agreement, Table, Tables, canonical
from sparsebayes.export.used import used_features
from sparsebayes.kernels import Kernel, sq_norms
from sparsebayes.multiclass import MIN_PAIR_PROBABILITY, MIN_PROBABILITY

CType = Literal["double", "float"]
# Powers up to here are products; beyond, and between whole numbers, they are pow().
LARGEST_PRODUCT = 32
FORMULAS = {
    "rbf": ("exp(-gamma |x - v|^2)", "(a - b) * (a - b)", "@exp@(-@gamma@ * sum)"),
    "laplacian": ("exp(-gamma |x - v|_1)", "a < b ? b - a : a - b", "@exp@(-@gamma@ * sum)"),
    "exponential": ("exp(-gamma |x - v|)", "(a - b) * (a - b)", "@exp@(-@gamma@ * @sqrt@(sum))"),
    "linear": ("<x, v>", "a * b", "sum"),
    "cosine": ("<x, v> / (|x| |v|)", "a * b", "sum * @name@_inverse_norms[k] / norm"),
    "poly": ("(gamma <x, v> + coef0)^degree", "a * b", "@power@"),
    "sigmoid": ("tanh(gamma <x, v> + coef0)", "a * b", "@tanh@(@gamma@ * sum + @coef0@)"),
}
ACTIVATIONS = {
    "sigmoid": "@name@_sigmoid(sum)",
    "tanh": "@tanh@(sum)",
    "relu": "sum > 0 ? sum : 0",
    "sine": "@sin@(sum)",
}


class Source:
    """Puts the tables and the templates that a model needs together."""

    def __init__(self, tables: Tables, name: str, dtype: CType, single: bool) -> None:
        self.model = tables.model
        self.tables = tables
        self.dtype = dtype
        self.single = single
        self.constants: list[str] = []
        self.table_bytes = 0
        letter = "f" if dtype == "float" else ""
        self.words = {
            "name": name,
            "NAME": name.upper(),
            "real": dtype,
            "api": "static inline " if single else "",
            "static": "static inline " if single else "static ",
            **{function: function + letter for function in ("exp", "sqrt", "tanh", "sin", "pow", "ldexp")},
        }

    def files(self, header_name: str, names: bool, agreement: Agreement | None) -> dict[str, str]:
        """Suffix -> text."""
        code = self._code()
        tables, declarations = self._name_tables() if names else ("", "")
        includes = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n\n"
        body = "\n".join([*self.constants, *([tables] if tables else []), code])
        if self.single:
            header = self._header(includes, "", f"{body}\n", agreement)
            return {".h": header}
        header = self._header("", declarations, "", agreement)
        return {".c": f'#include "{header_name}"\n\n{includes}{body}', ".h": header}

    def _header(
        self, includes: str, declarations: str, implementation: str, agreement: Agreement | None
    ) -> str:
        model = self.model
        return self._filled(
            "header.h",
            title=comment(str(model.about.get("estimator", "A model"))),
            description=self._description(agreement),
            includes=includes,
            n_features=str(model.n_features),
            n_classes=str(len(model.classes)),
            n_problems=str(model.n_problems),
            margin_note="" if model.posteriors is None else " They are moderated.",
            declarations=declarations,
            implementation=implementation,
        )

    def _filled(self, template: str, **values: str) -> str:
        return filled(template, {**self.words, **values})

    def _expression(self, text: str, **values: str) -> str:
        return re.sub(r"@(\w+)@", lambda match: {**self.words, **values}[match[1]], text)

    def _number(self, value: float) -> str:
        with np.errstate(over="ignore"):
            if self.dtype == "float" and not np.isfinite(np.float32(value)):
                raise ValueError(f"{value} is too large for dtype='float': use 'double' or scale X.")
        return number(value, self.dtype)

    def _constant(self, name: str, ctype: str, entries: list[str], n_bytes: int) -> None:
        self.table_bytes += n_bytes
        declaration = f"static const {ctype} {self.words['name']}_{name}[{max(len(entries), 1)}]"
        self.constants.append(table(declaration, entries))

    def _reals(self, name: str, values: AnyArray) -> None:
        size = 8 if self.dtype == "double" else 4
        self._constant(name, self.dtype, [self._number(v) for v in np.ravel(values)], size * values.size)

    def _indices(self, name: str, values: AnyArray) -> None:
        ctype = index_type(int(values.max(initial=0)))
        self._constant(name, ctype, integers(values), int(ctype[4:-2]) // 8 * values.size)

    def _entries(self, name: str, values: Table) -> None:
        if values.step is None:
            self._reals(name, values.entries)
        else:
            ctype = f"{values.entries.dtype.name}_t"
            self._constant(name, ctype, integers(values.entries), values.entries.nbytes)

    def _entry(self, name: str, place: str, values: Table) -> str:
        """The expression for an entry, as a real number."""
        entry = f"{self.words['name']}_{name}[{place}]"
        return entry if values.step is None else f"({self.dtype}){entry}"

    def _code(self) -> str:
        """All functions, in order; the tables are added on the way."""
        model = self.model
        positions = model.columns
        if isinstance(model.basis, IdentityBasis):
            positions = model.basis.numbers[model.columns]
        functions = [self._filled("sigmoid.c")]
        if self.n_computed:
            functions += self._functions(model.basis)
        self._indices("starts", model.starts)
        self._indices("columns", positions)
        self._entries("weights", self.tables.weights)
        self._reals("intercepts", model.intercepts)
        if model.posteriors is not None:
            functions.append(self._variance())
        functions.append(self._margins(positions))
        functions.append(self._probabilities())
        return "\n".join(functions)

    def _margins(self, positions: AnyArray) -> str:
        name, weights = self.words["name"], self.tables.weights
        sum_of_all = "sum"
        if weights.step is not None:
            self._reals("weight_steps", weights.step)
            sum_of_all = f"{name}_weight_steps[k] * sum"
        margin = f"{name}_intercepts[k] + {sum_of_all}"
        if self.model.posteriors is not None:
            eighth_of_pi = self._number(np.pi / 8.0)
            margin = f"({margin}) / {self.words['sqrt']}(1 + {eighth_of_pi} * {name}_variance(k, f))"
        evaluate = f"    const {self.dtype} *f = x;\n"
        if self.n_computed:
            evaluate = f"    {self.dtype} f[{self.n_computed}];\n\n    {name}_functions(x, f);\n"
        term = f"{self._entry('weights', 'j', weights)} * f[{name}_columns[j]]"
        if weights.shift is not None:
            shifts, place = weights.shift, "j"
            if positions.max() < len(positions):  # a table by functions is shorter
                shifts, place = np.zeros(positions.max() + 1, dtype=int), f"{name}_columns[j]"
                shifts[positions] = weights.shift
            self._constant("shifts", "int8_t", integers(shifts), shifts.size)
            term = f"{self.words['ldexp']}({term}, {name}_shifts[{place}])"
        return self._filled("margins.c", evaluate=evaluate, term=term, margin=margin)

    def _probabilities(self) -> str:
        if len(self.model.classes) == 2:
            return self._filled("binary.c")
        if self.model.scheme == "ovr":
            return self._filled("ovr.c")
        least = {"least_pair": MIN_PAIR_PROBABILITY, "least": MIN_PROBABILITY}
        return self._filled("ovo.c", **{word: self._number(value) for word, value in least.items()})

    def _variance(self) -> str:
        posteriors = self.model.posteriors or ()
        packed = []
        for posterior in posteriors:
            unit = np.append(posterior.unit, np.ones(int(posterior.has_intercept)))
            if posterior.covariance.ndim == 1:
                packed.append(posterior.covariance * unit * unit)
            else:
                full = posterior.covariance * unit[:, None] * unit
                packed.append(full[np.tril_indices(len(full))])
        self._reals("centres", np.concatenate([posterior.centre for posterior in posteriors]))
        self._reals("covariances", np.concatenate(packed))
        self._indices("covariance_starts", np.cumsum([0, *map(len, packed)])[:-1])
        self._indices("has_intercept", np.array([int(p.has_intercept) for p in posteriors]))
        self._indices("is_diagonal", np.array([int(p.covariance.ndim == 1) for p in posteriors]))
        largest = max(len(posterior.centre) for posterior in posteriors) + 1
        return self._filled("variance.c", largest=str(largest))

    @property
    def n_computed(self) -> int:
        """Functions of a row that are not entries of it."""
        basis = self.model.basis
        return 0 if isinstance(basis, IdentityBasis) else len(basis.numbers)

    def _functions(self, basis: Basis) -> list[str]:
        """What evaluates the basis."""
        if isinstance(basis, HiddenBasis):
            return [self._hidden(basis)]
        assert isinstance(basis, KernelBasis)
        power = [self._filled("power.c")] if _is_product(basis) else []
        return [*power, self._kernel(basis)]

    def _hidden(self, basis: HiddenBasis) -> str:
        values, name = self.tables.basis, self.words["name"]
        assert values is not None
        n_nodes, n_features = basis.weights.shape
        self._entries("inputs", values)
        self._reals("biases", basis.biases)
        total = "sum"
        if values.step is not None:
            self._reals("input_steps", values.step)
            total = f"{name}_input_steps[k] * sum"
        return self._filled(
            "hidden.c",
            activation=basis.activation,
            n_functions=str(n_nodes),
            n_inputs=str(n_features),
            weight=self._entry("inputs", f"k * {n_features} + i", values),
            sum=f"{name}_biases[k] + {total}",
            finish=self._expression(ACTIVATIONS[basis.activation]),
        )

    def _kernel(self, basis: KernelBasis) -> str:
        assert isinstance(basis.kernel, Kernel)
        kernel, name = basis.kernel, self.words["name"]
        values = self.tables.basis
        assert values is not None
        used = used_features(self.model)
        place = "i"
        if basis.scales is not None:
            self._indices("used", used)
            self._reals("scales", basis.scales[used])
            place = f"{name}_used[i]"
        entry, vector = self._vectors(basis, values, used)
        scale = "" if basis.scales is None else f" * {name}_scales[i]"
        inputs = {"input": f"x[{place}]{scale}", "n_inputs": str(len(used))}
        gamma = self._number(float(kernel.gamma))
        if basis.gammas is not None:
            self._reals("gammas", basis.gammas)
            gamma = f"{name}_gammas[k]"
        before = ""
        power = ""
        if kernel.name == "cosine":
            before = self._filled("norm.c", **inputs)
            self._reals("inverse_norms", _inverse_norms(basis))
        if kernel.name == "poly":
            power = self._power(basis, kernel, gamma)
        formula, term, finish = FORMULAS[kernel.name]
        return self._filled(
            "kernel.c",
            formula=formula,
            n_functions=str(len(basis.numbers)),
            before=before,
            entry=entry,
            vector=vector + scale if basis.scales is not None else vector,
            term=term,
            finish=self._expression(finish, gamma=gamma, coef0=self._number(kernel.coef0), power=power),
            **inputs,
        )

    def _power(self, basis: KernelBasis, kernel: Kernel, gamma: str) -> str:
        base = f"{gamma} * sum + {self._number(kernel.coef0)}"
        if _is_product(basis):
            return f"{self.words['name']}_power({base}, {int(kernel.degree)})"
        return f"{self.words['pow']}({base}, {self._number(kernel.degree)})"

    def _vectors(self, basis: KernelBasis, values: Table, used: AnyArray) -> tuple[str, str]:
        """What stands before the loop over the entries of a vector, and the expression for one of them."""
        name = self.words["name"]
        if sp.issparse(basis.vectors):
            csr = canonical(basis.vectors)
            kept = np.isin(csr.indices, used)
            rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))[kept]
            starts = np.searchsorted(rows, np.arange(csr.shape[0] + 1))
            self._entries("vectors", Table(values.entries[kept], values.values[kept], values.step))
            self._indices("vector_indices", np.searchsorted(used, csr.indices[kept]))
            self._indices("vector_starts", starts)
            entry = f"        size_t j = {name}_vector_starts[k];\n"
            here = f"j < {name}_vector_starts[k + 1] && {name}_vector_indices[j] == i"
            value = self._entry("vectors", "j++", values)
            if values.step is not None:
                self._reals("vector_steps", values.step[used])
                value = f"{name}_vector_steps[i] * {value}"
            return entry, f"({here} ? {value} : 0)"
        self._entries("vectors", Table(values.entries[:, used], values.values[:, used], values.step))
        value = self._entry("vectors", f"k * {len(used)} + i", values)
        if values.step is not None and values.offset is not None:
            self._reals("vector_steps", values.step[used])
            self._reals("vector_offsets", values.offset[used])
            value = f"({name}_vector_offsets[i] + {name}_vector_steps[i] * {value})"
        return "", value

    def _description(self, agreement: Agreement | None) -> str:
        model = self.model
        lines = ["Classes:"]
        lines += [f"  {k}  {comment(str(label))}" for k, label in enumerate(model.classes.tolist())]
        if model.feature_names is not None:
            lines += ["", "Features:"]
            lines += [f"  {j}  {comment(model.feature_names[j])}" for j in used_features(model)]
        if agreement is not None:
            lines += [
                "",
                f"Quantised. Against the exact model, on {agreement.n_rows} rows: the same label for "
                f"{100 * agreement.same_labels:.2f}%,",
                f"probabilities differ by at most {agreement.largest_difference:.2g}.",
            ]
        return "\n".join(f" * {line}".rstrip() for line in [*lines, ""])

    def _name_tables(self) -> tuple[str, str]:
        """Definitions, and their declarations."""
        model, name, prefix = self.model, self.words["name"], self.words["NAME"]
        tables = {f"{name}_class_names[{prefix}_N_CLASSES]": [str(each) for each in model.classes.tolist()]}
        if model.feature_names is not None:
            tables[f"{name}_feature_names[{prefix}_N_FEATURES]"] = model.feature_names.tolist()
        static = "static " if self.single else ""
        definitions = [
            table(f"{static}const char *const {each}", map(string, names)) for each, names in tables.items()
        ]
        declarations = "".join(f"\nextern const char *const {each};" for each in tables)
        return "\n".join(definitions), f"{declarations}\n"


def _is_product(basis: KernelBasis) -> bool:
    """Whether its values are powers that a few multiplications compute."""
    kernel = basis.kernel
    if not isinstance(kernel, Kernel) or kernel.name != "poly":
        return False
    return kernel.degree == int(kernel.degree) and kernel.degree <= LARGEST_PRODUCT


def _inverse_norms(basis: KernelBasis) -> AnyArray:
    vectors = basis.vectors.astype(np.float64)
    if basis.scales is not None:
        vectors = canonical(vectors).multiply(basis.scales[None, :]).tocsr()
    norms = np.sqrt(sq_norms(vectors))
    return np.where(norms > 0.0, 1.0 / np.where(norms > 0.0, norms, 1.0), 1.0)
