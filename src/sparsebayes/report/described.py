"""A model in words: what its functions and binary problems are called, and what it is in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsebayes._typing import IntVector, Matrix, Vector
from sparsebayes.basis import HiddenBasis, IdentityBasis, KernelBasis
from sparsebayes.frozen import FrozenModel
from sparsebayes.kernels import Kernel
from sparsebayes.report.text import count, listing, number, visible, whole
from sparsebayes.report.training import Training

WITHOUT_GAMMA = ("linear", "cosine")
NAMED_CLASSES = 6


@dataclass(frozen=True, slots=True)
class Described:
    """A frozen model, what it says of its fit, and the spread of its features where it is known."""

    model: FrozenModel
    training: Training
    spread: Vector | None  # of each function, what its weight is multiplied by to be compared with others

    @classmethod
    def of(cls, model: FrozenModel, rows: Any) -> Described:
        """``rows``: some of X, to take the features' spread from if the model does not know it."""
        training = Training.of(model)
        spread = training.spread if isinstance(model.basis, IdentityBasis) else None
        if spread is None and rows is not None and isinstance(model.basis, IdentityBasis):
            spread = _spread(model.basis.transform(model.rows(rows)))
        return cls(model, training, spread)

    @property
    def kind(self) -> str:
        basis = self.model.basis
        if isinstance(basis, KernelBasis):
            return "kernel classifier"
        return "random-layer classifier" if isinstance(basis, HiddenBasis) else "linear classifier"

    @property
    def function(self) -> str:
        """What a weight stands at."""
        basis = self.model.basis
        if isinstance(basis, KernelBasis):
            return "relevance vector"
        return "hidden node" if isinstance(basis, HiddenBasis) else "feature"

    @property
    def n_functions(self) -> int:
        return len(self.model.basis.numbers)

    @property
    def mean_size(self) -> float:
        """Weights of a binary problem."""
        return len(self.model.weights) / self.model.n_problems

    @property
    def n_candidates(self) -> int | None:
        """Features, training rows or nodes that there were to choose from, where that is known."""
        basis = self.model.basis
        if isinstance(basis, KernelBasis):
            return self.training.n_rows
        return basis.n_drawn if isinstance(basis, HiddenBasis) else self.model.n_features

    @property
    def classes(self) -> list[str]:
        return [visible(str(label)) for label in self.model.classes.tolist()]

    def function_names(self) -> list[str]:
        """As the user knows them: by the names of features, or the numbers of training rows or nodes."""
        model, basis = self.model, self.model.basis
        if isinstance(basis, IdentityBasis):
            if model.feature_names is not None:
                return [visible(model.feature_names[j]) for j in basis.numbers]
            return [f"feature {j + self.training.index_base}" for j in basis.numbers]
        if isinstance(basis, KernelBasis) and basis.gammas is not None:
            named = zip(basis.names, basis.gammas, strict=True)
            return [f"row {row} (γ {gamma:.2g})" for row, gamma in named]
        word = "row" if isinstance(basis, KernelBasis) else "node"
        return [f"{word} {number}" for number in basis.names]

    def problem_names(self) -> list[str]:
        """Of the binary problems; a positive weight speaks for the class named last, or for the one alone."""
        classes, scheme = self.classes, self.model.scheme
        if len(classes) > 2 and scheme == "ovr":
            return [f"{label} against the rest" for label in classes]
        return [f"{first} or {second}" for first, second in combinations(classes, 2)]

    def effects(self, k: int) -> tuple[Vector, Vector | None]:
        """Weights of a problem times the spread of their functions, and their posterior deviations."""
        entries = slice(int(self.model.starts[k]), int(self.model.starts[k + 1]))
        factor = np.ones(1) if self.spread is None else self.spread[self.model.columns[entries]]
        weights = self.model.weights[entries].astype(np.float64)
        std = self.model.weights_std
        return weights * factor, None if std is None else std[entries].astype(np.float64) * factor

    def effects_on_classes(self) -> Matrix:
        """How far each function, times its spread, speaks for each class: a mean over its problems."""
        n_classes = len(self.model.classes)
        total = np.zeros((self.n_functions, n_classes))
        one_against_one = n_classes == 2 or self.model.scheme == "ovo"
        pairs = list(combinations(range(n_classes), 2)) if one_against_one else None
        for k in range(self.model.n_problems):
            columns = self.model.problem(k)[0]
            effect = self.effects(k)[0]
            negative, positive = (None, k) if pairs is None else pairs[k]
            total[columns, positive] += effect
            if negative is not None:
                total[columns, negative] -= effect
        return total if pairs is None else total / (n_classes - 1)

    def order(self) -> IntVector:
        """Functions by how far they speak for any class, farthest first."""
        reach = np.abs(self.effects_on_classes()).max(axis=1, initial=0.0)
        return np.argsort(-reach, kind="stable")

    def _basis_words(self) -> str:
        basis = self.model.basis
        if isinstance(basis, HiddenBasis):
            return f" ({basis.activation} nodes)"
        if isinstance(basis, KernelBasis) and isinstance(basis.kernel, Kernel):
            name, gamma = basis.kernel.name, ""
            if basis.gammas is not None:
                gamma = f", {len(np.unique(basis.gammas))} widths"
            elif name not in WITHOUT_GAMMA:
                gamma = f", γ = {number(float(basis.kernel.gamma), 3)}"
            return f" ({name} kernel{gamma})"
        return ""

    def _kept_words(self) -> str:
        kept, candidates = self.n_functions, self.n_candidates
        if isinstance(self.model.basis, KernelBasis):
            of = "" if candidates is None else f" out of {count(candidates, 'training row')}"
            return f"{count(kept, 'relevance vector')}{of}"
        assert candidates is not None
        return f"{whole(kept)} of {count(candidates, self.function)}"

    def sentence(self) -> str:
        """What the model is."""
        n_classes = len(self.classes)
        named = self.classes if n_classes <= NAMED_CLASSES else []
        says = listing(named) if named else f"one of {count(n_classes, 'class', 'classes')}"
        if self.n_functions == 0:
            start = f"A {self.kind} that keeps no {self.function} and says the same of every row"
        else:
            start = f"A {self.kind}{self._basis_words()} with {self._kept_words()}"
        trained = self.training.n_rows
        is_kernel = isinstance(self.model.basis, KernelBasis)
        rows = "" if trained is None or is_kernel else f", trained on {count(trained, 'row')}"
        return f"{start}{rows}. For a row of {count(self.model.n_features, 'feature')} it says: {says}."

    def structure(self) -> str | None:
        """How classes come about, where there are more than two."""
        n_problems, n_classes = self.model.n_problems, len(self.classes)
        if n_classes == 2:
            return None
        sizes = np.diff(self.model.starts)
        each = f"{sizes.min()} to {sizes.max()}" if sizes.min() < sizes.max() else str(sizes.min())
        if self.model.scheme == "ovr":
            how = f"{n_problems} binary problems tell each class from the rest"
        else:
            how = f"{n_problems} binary problems tell each class from each other, and are coupled"
        return f"{how}; each has {each} weights, {whole(len(self.model.weights))} in all."


def _spread(columns: Any) -> Vector | None:
    """Root mean squares, about the mean where columns are dense; None where one is zero."""
    if not columns.shape[0]:
        return None
    if sp.issparse(columns):
        squares = np.asarray(columns.multiply(columns).mean(axis=0), dtype=np.float64).ravel()
        spread = np.sqrt(squares)
    else:
        spread = np.std(columns, axis=0, dtype=np.float64)
    return spread if len(spread) and bool((spread > 0.0).all()) else None
