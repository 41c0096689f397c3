"""The models, each a few lines: its grid, and the classifier at a point of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks.rivals.adapters import L1_C, liblinear
from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, SBLClassifierCV

Point = Mapping[str, float]
Grid = dict[str, tuple[float, ...]]

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
SIGMAS = tuple(2.0**k for k in range(-5, 6))
SEEDS = (1, 2, 3, 4, 5)
FEW_FEATURES = 100
FEW_NODES, MANY_NODES = (50, 100, 150, 200), (100, 500, 900, 1300)
LAMBDAS = tuple(2.0**k for k in range(-5, 6, 2))
SVC_C = (1.0, 10.0, 100.0, 1000.0)
SVC_SIGMAS = tuple(2.0**k for k in range(-1, 6))


@dataclass(frozen=True, slots=True)
class Model:
    make: Callable[[Point], Any]
    grid: Callable[[int], Grid] = lambda n_features: {}
    cost: Callable[[int, int, Point], float] = lambda n, m, point: 1e-6 * n * m
    watch: str = "scores"  # what is measured: "scores", "path" or "cost"

    def points(self, n_features: int, narrowed: Mapping[str, Any] | None = None) -> list[dict[str, float]]:
        """The grid, with other values where some are named: ``{"sigma": [1, 2]}``."""
        grid = self.grid(n_features)
        for name, values in (narrowed or {}).items():
            if name in grid:
                grid[name] = tuple(values)
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _kernel(solver: str, kernel: str = "rbf", **parameters: Any) -> Model:
    """Gamma = 1 / sigma^2; for kernel="exponential" too, which is eq. 9 as printed."""

    def make(point: Point) -> RVMClassifier:
        gamma = point["sigma"] ** -2.0
        return RVMClassifier(
            kernel, gamma=gamma, feature_scales="none", basis="all", solver=solver, **parameters
        )

    return Model(make, lambda m: {"sigma": SIGMAS}, lambda n, m, point: 2e-6 * n**2.1)


def _layer(solver: str, **parameters: Any) -> Model:
    def make(point: Point) -> SBELMClassifier:
        return SBELMClassifier(
            int(point["L"]), hidden_scale=1.0, solver=solver, random_state=int(point["seed"]), **parameters
        )

    def grid(n_features: int) -> Grid:
        return {"L": FEW_NODES if n_features < FEW_FEATURES else MANY_NODES, "seed": SEEDS}

    return Model(make, grid, lambda n, m, point: 3e-6 * n * point["L"])


def _logistic(penalty: str, name: str, values: tuple[float, ...], to_C: Callable[[float], float]) -> Model:
    def make(point: Point) -> OneVsRestClassifier:
        return OneVsRestClassifier(liblinear(penalty, to_C(point[name])))

    return Model(make, lambda m: {name: values})


def _svc(point: Point) -> SVC:
    return SVC(C=point["C"], gamma=point["sigma"] ** -2.0, cache_size=500)


def _early_stop(point: Point) -> SBLClassifierCV:
    return SBLClassifierCV("dqn", cv=FOLDS)


def _searched(penalty: str, Cs: tuple[float, ...]) -> Model:
    """Logistic regression with its C by five folds."""
    return Model(
        lambda point: GridSearchCV(liblinear(penalty, 1.0), {"C": Cs}, cv=FOLDS),
        cost=lambda n, m, point: 30.0 * 1e-3 * n,
    )


FLAT = " flat"  # after a name: intercept_prior="flat"
PRINTED = " eq. 9"  # after a name: the kernel as printed
FOUR = ("DQN-RVM", "RVM", "DQN-SBELM", "SBELM")
MODELS: dict[str, Model] = {
    "DQN-RVM": _kernel("dqn"),
    "RVM": _kernel("newton"),
    "DQN-SBELM": _layer("dqn"),
    "SBELM": _layer("newton"),
    "DQN-RVM" + FLAT: _kernel("dqn", intercept_prior="flat"),
    "RVM" + FLAT: _kernel("newton", intercept_prior="flat"),
    "DQN-SBELM" + FLAT: _layer("dqn", intercept_prior="flat"),
    "SBELM" + FLAT: _layer("newton", intercept_prior="flat"),
    "DQN-RVM" + PRINTED: _kernel("dqn", "exponential"),
    "RVM" + PRINTED: _kernel("newton", "exponential"),
    "DQN-RVM c = 1": _kernel("dqn", gamma_floor=1.0),
    "DQN-SBL": Model(lambda point: SBLClassifier("dqn")),
    "SBL": Model(lambda point: SBLClassifier("newton")),
    "SBL auto": Model(lambda point: SBLClassifier()),
    "RVM auto": Model(
        lambda point: RVMClassifier(random_state=0), cost=lambda n, m, point: 1e-3 * n + 1e-5 * n * m
    ),
    "SBELM auto": Model(lambda point: SBELMClassifier(random_state=0), cost=lambda n, m, point: 1e-3 * n),
    "SVC-RBF": Model(
        _svc, lambda m: {"C": SVC_C, "sigma": SVC_SIGMAS}, lambda n, m, point: 2e-9 * n**2 * (m + 10)
    ),
    "1-NN": Model(lambda point: KNeighborsClassifier(1)),
    "LR-l2": _logistic("l2", "lambda", LAMBDAS, lambda value: 1.0 / value),
    "LR-l1": _logistic("l1", "C", L1_C, lambda value: value),
    # Linear models on wide sets, each with its own cross-validation.
    "DQN-SBL early stop": Model(_early_stop, cost=lambda n, m, point: 0.02 * n),
    "SBL auto cv": Model(lambda point: SBLClassifier(select="cv"), cost=lambda n, m, point: 0.003 * n),
    "LR-l2 cv": _searched("l2", tuple(1.0 / value for value in LAMBDAS)),
    "LR-l1 cv": _searched("l1", L1_C),
}

# The cost of a whole fit, and of its first two outer iterations, where little is pruned.
MODELS["DQN-SBL path"] = Model(
    lambda point: SBLClassifier("dqn"), cost=lambda n, m, point: 0.005 * n, watch="path"
)
for _name in FOUR:
    MODELS[_name + " cost"] = replace(MODELS[_name], watch="cost")
for _name, _parts in {
    "DQN-RVM": _kernel("dqn", max_iter=2),
    "RVM": _kernel("newton", max_iter=2),
    "DQN-SBELM": _layer("dqn", max_iter=2),
    "SBELM": _layer("newton", max_iter=2),
    "DQN-SBL": Model(lambda point: SBLClassifier("dqn", max_iter=2)),
    "SBL": Model(lambda point: SBLClassifier("newton", max_iter=2)),
}.items():
    MODELS[_name + " growth"] = replace(_parts, watch="cost")


def chosen(model: Any) -> dict[str, float]:
    """What a model with a search of its own has settled on."""
    if isinstance(model, GridSearchCV):
        return {"C": float(model.best_params_["C"])}
    if isinstance(model, SBLClassifierCV):
        return {"stop": int(model.best_iteration_)}
    return {}


def kept(model: Any) -> float:
    """Basis functions, nodes, features or vectors that are left, a binary problem."""
    if isinstance(model, GridSearchCV):
        return float((model.best_estimator_.coef_ != 0).sum())
    if isinstance(model, KNeighborsClassifier):
        return float(model.n_samples_fit_)
    if hasattr(model, "n_relevant_"):
        return float(model.n_relevant_.mean())
    if isinstance(model, SVC):
        pairs = len(model.classes_) * (len(model.classes_) - 1) / 2
        return float((model.dual_coef_ != 0).sum() / pairs)
    return sum(float((each.coef_ != 0).sum()) for each in model.estimators_) / len(model.estimators_)
