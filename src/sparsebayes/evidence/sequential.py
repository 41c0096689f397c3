"""Sequential sparse Bayesian learning: the model is built up, a few basis functions at a time.

Tipping & Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian models". With the Hessian's
weights held fixed, the log evidence as a function of one precision alpha_i is a constant plus::

    l(alpha_i) = 1/2 [log alpha_i - log(alpha_i + s_i) + q_i^2 / (alpha_i + s_i)],     l(inf) = 0

where s_i, the sparsity factor, is what column i has left beside the others, and q_i, the quality factor, is
how far it lies along what they leave unexplained. It is largest at alpha_i = s_i^2 / (q_i^2 - s_i) where
q_i^2 > s_i, and at infinity, which is to leave the column out, otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sparsebayes import ard, link
from sparsebayes._typing import AnyArray, IntVector, Mask, Matrix, RowValues, Vector
from sparsebayes.checkpoint import NO_KEEPER, Keeper
from sparsebayes.curvature import CholeskyCurvature, cholesky
from sparsebayes.design import Design, Meter, Metered
from sparsebayes.evidence.candidates import centred_energy
from sparsebayes.evidence.fit import Fit, FitStatus, Record, State
from sparsebayes.evidence.recording import Stopwatch, make_record
from sparsebayes.evidence.resuming import Iteration, iterations, kept_iteration
from sparsebayes.map_solvers import MapResult, MapSolver
from sparsebayes.objective import Objective

# Of a column of unit variance: at this precision one standard deviation of it alone turns the odds by
# exp(3), some twenty times. Data that can be separated without an error would take it to zero: a vector or
# two that are sure of everything, where a few more would be right more often, and less sure.
MIN_ALPHA = 0.1
# Entries of the columns that are scored at a time: 16 MB. With fewer columns the best of them is worse.
POOL_ENTRIES = 1 << 21
MIN_POOL = 100
# Columns are added one by one at first; later so many at once, as a share of the model, each with the gain
# that the ones before it leave, as long as that is at least so much of the first one's.
ADDED_SHARE = 0.2
LEAST_GAIN_SHARE = 0.3
SHORTLIST = 5
# At most so many of the weakest go at a time: each one that goes is support for those like it.
DELETED_SHARE = 0.1
# Steps for which a deleted column may not return, and steps without a better model after which the search
# ends. Gains are predicted at fixed Hessian weights; what is added for one may go once they are updated.
TABU = 20
PATIENCE = 15
# What the evidence must rise by in that many steps, and as a share of the rise before them.
LEAST_RISE = 0.5
LEAST_SHARE = 0.005
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Factors:
    """Sparsity and quality of some columns, and the least precision of each."""

    s: Vector
    q: Vector
    least: Vector | float = MIN_ALPHA

    @property
    def best_alpha(self) -> Vector:
        """Where the evidence is largest; infinite where it wants no such column."""
        surplus = np.square(self.q) - self.s
        with np.errstate(divide="ignore", over="ignore"):
            alpha = np.square(self.s) / surplus
        return np.where(surplus > 0.0, np.maximum(alpha, self.least), np.inf)

    def contribution(self, alpha: Vector) -> Vector:
        """l(alpha): by how much the log evidence is larger than without the column."""
        with np.errstate(invalid="ignore"):
            logarithm = np.log1p(self.s / alpha)
            return 0.5 * np.where(alpha < np.inf, np.square(self.q) / (alpha + self.s) - logarithm, 0.0)

    def given(self, column: int, covariance: Vector) -> Factors:
        """The factors once ``column`` is in the model at its best alpha; ``covariance`` is what each column
        shares with it beside the model.
        """
        share = covariance / (self.best_alpha[column] + self.s[column])
        s = np.maximum(self.s - share * covariance, SMALLEST)
        return Factors(s, self.q - share * self.q[column], self.least)


def active_factors(
    w: Vector, alpha: Vector, inverse_diagonal: Vector, least: Vector | float = MIN_ALPHA
) -> Factors:
    """Of the columns of the model: as if each were the one to be added to the others."""
    return Factors(np.maximum(1.0 / inverse_diagonal - alpha, SMALLEST), w / inverse_diagonal, least)


def log_evidence(mode: MapResult, alpha: Vector) -> float:
    """Laplace's approximation, but for a constant where a prior is flat."""
    assert isinstance(mode.curvature, CholeskyCurvature)
    logarithms = float(np.log(alpha[alpha > 0.0]).sum())
    return 0.5 * (logarithms - mode.curvature.log_determinant()) - mode.value


@dataclass(frozen=True, slots=True)
class Model:
    """Which columns are in, and their precisions and weights in the design's order."""

    active: Mask
    alpha: Vector
    w: Vector

    @property
    def size(self) -> int:
        """Columns with a proper prior."""
        return int(np.count_nonzero(self.alpha))

    def without(self, dropped: Mask) -> Model:
        active = self.active.copy()
        active[np.flatnonzero(active)[dropped]] = False
        return Model(active, self.alpha[~dropped], self.w[~dropped])

    def having(self, columns: IntVector, alpha: Vector) -> Model:
        """With more columns, at these precisions and weights of zero."""
        everything = np.full(len(self.active), np.inf), np.zeros(len(self.active))
        for values, known in zip(everything, (self.alpha, self.w), strict=True):
            values[self.active] = known
        everything[0][columns] = alpha
        active = self.active.copy()
        active[columns] = True
        return Model(active, everything[0][active], everything[1][active])

    def kept(self, name: str) -> dict[str, AnyArray]:
        """As a keeper has it, under this name."""
        arrays = {"active": np.flatnonzero(self.active), "alpha": self.alpha, "w": self.w}
        return {f"{name}.{what}": array for what, array in arrays.items()}

    @classmethod
    def recalled(cls, iteration: Iteration, name: str, n_columns: int) -> Model:
        active = np.zeros(n_columns, dtype=bool)
        active[iteration[f"{name}.active"]] = True
        return cls(active, iteration[f"{name}.alpha"], iteration[f"{name}.w"])


@dataclass(slots=True)
class Ascent:
    """How far the evidence has risen, less the price of the columns."""

    score: float = -np.inf  # of the best model
    first: float = -np.inf
    mark: float = -np.inf  # the last rise worth mentioning, and when that was
    best_at: int = 0
    closing: bool = False  # no column is added any more

    def reach(self, score: float, iteration: int) -> bool:
        """Whether this is the best so far."""
        if iteration == 1:
            self.first = score
        if iteration == 1 or score > self.mark + max(LEAST_RISE, LEAST_SHARE * (self.mark - self.first)):
            self.mark, self.best_at = score, iteration
        if score > self.score:
            self.score = score
            return True
        return False


@dataclass(frozen=True, slots=True)
class SequentialLoop:
    """Starts with the intercept alone, or where an earlier fit ended, and changes the model step by step.

    ``price``, for so many rows, is the log evidence that a column must bring; the model that is returned has
    the largest evidence less its price.
    """

    map_solver: MapSolver
    price: Callable[[float], float] = lambda n_rows: 0.0
    tol: float = 1e-3
    max_iter: int = 100
    take_last: bool = False  # model, instead of the one with the largest evidence

    def run(
        self,
        design: Design,
        labels: RowValues,
        alpha: Vector,
        w: Vector,
        weight: RowValues | None = None,
        callback: Callable[[State], bool] = lambda state: False,
        keeper: Keeper = NO_KEEPER,
    ) -> Fit:
        """From ``w`` and ``alpha`` where there are weights, otherwise from the columns with a flat prior; or
        from where ``keeper`` knows that it stood.
        """
        meter = Meter()
        design = Metered(design, meter)
        model = best = _start(alpha, w)
        # Sparse columns are not centred, and of unit mean square instead.
        least = MIN_ALPHA * centred_energy(design, weight, bool((alpha == 0.0).any()))[0]
        # Of any model: at no weights, precisions do not matter.
        gradient_at_zero = Objective(design, labels, np.zeros_like(w), weight).gradient_at_zero()
        search, rise = Search(design, least), Ascent()
        price = self.price(float(len(labels) if weight is None else weight.sum()))
        history: list[Record] = []
        status: FitStatus | None = None
        for past in iterations(keeper.past()):
            history.append(past.record)
            status = past.status
            if past.has("model.w"):
                shown, model, best = (
                    Model.recalled(past, name, len(w)) for name in ("shown", "model", "best")
                )
                search.recall(past)
                rise = Ascent(**past.step.facts["rise"])
                callback(State(shown.w, shown.alpha, design.columns[shown.active], past.record))
        for iteration in range(len(history) + 1, self.max_iter + 1) if status is None else ():
            watch = Stopwatch(meter)
            # 1. the posterior of the weights
            columns = _taken(design, model.active)
            objective = Objective(columns, labels, model.alpha, weight, gradient_at_zero[model.active])
            mode = self.map_solver.solve(objective, model.w)
            model = shown = Model(model.active, model.alpha, mode.w)
            evidence = log_evidence(mode, model.alpha)
            reached = evidence - price * model.size
            if rise.reach(reached, iteration):
                best = model
            watch.lap("map")
            # 2. delete what is not worth its price, or else give every column its best precision
            changed, n_deleted, change = revised(model, mode, price, least[model.active])
            watch.lap("update")
            # 3. add what is, until that leads nowhere
            search.forbid(model.active & ~changed.active, iteration)
            settled = n_deleted == 0 and change < self.tol
            n_added = 0
            if not rise.closing and n_deleted == 0 and (settled or not search.exhausted):
                found, precisions = search.best(objective, mode, changed, iteration)
                changed, n_added = changed.having(found, precisions), len(found)
            watch.lap("add")
            record = make_record(
                iteration,
                self.map_solver,
                mode,
                watch,
                n_active=len(mode.w),
                log_alpha_change=change,
                evidence=evidence,
                criterion=-reached,
            )
            history.append(record)
            # 4. stop test
            if callback(State(model.w, model.alpha, columns.columns, record)):
                status = FitStatus.CALLBACK
            elif settled and n_added == 0:
                status = FitStatus.NO_BETTER if rise.closing else FitStatus.CONVERGED
            elif iteration - rise.best_at >= 2 * PATIENCE:
                # Precisions may drift for ever, at no gain, where data can be separated without an error.
                status = FitStatus.NO_BETTER
            elif iteration < self.max_iter:
                model = changed
                if not rise.closing and iteration - rise.best_at >= PATIENCE:
                    # The best model so far is only brought to its own best precisions.
                    rise.closing, model = True, best
            models = {**shown.kept("shown"), **model.kept("model"), **best.kept("best")}
            latest = {**models, **search.kept_arrays()}
            keeper.save(
                kept_iteration(record, status, latest=latest, rise=asdict(rise), search=search.kept())
            )
            if status is not None:
                break
        status = status or FitStatus.MAX_ITER
        if self.take_last:
            best = model
        if not best.size and status not in (FitStatus.MAX_ITER, FitStatus.CALLBACK):
            status = FitStatus.ALL_PRUNED
        return Fit(best.w, best.alpha, _taken(design, best.active), history, len(history), status)


def revised(model: Model, mode: MapResult, price: float, least: Vector) -> tuple[Model, int, float]:
    """The model after deletion or re-estimation, how many are gone, and the largest change of log alpha."""
    proper = model.alpha > 0.0
    inverse_diagonal = mode.curvature.inverse_diagonal()
    factors = active_factors(mode.w, model.alpha, inverse_diagonal, least)
    best_alpha = factors.best_alpha
    # Half the price: a column that has just been worth it is not to go at the first change of the weights.
    worth = np.where(proper, factors.contribution(best_alpha) - 0.5 * price, np.inf)
    worth[proper & np.isinf(best_alpha)] = -np.inf
    # Of several that the evidence does not want the one goes that it wants least, not the first of the rows'.
    support = ard.support(mode.w, model.alpha, inverse_diagonal)
    weakest = np.lexsort((support, worth))[: int(np.ceil(DELETED_SHARE * model.size))]
    dropped = np.zeros(len(proper), dtype=bool)
    dropped[weakest[worth[weakest] < 0.0]] = True
    if dropped.any():
        return model.without(dropped), int(np.count_nonzero(dropped)), 0.0
    alpha = np.where(proper, best_alpha, 0.0)
    return Model(model.active, alpha, model.w), 0, ard.largest_log_change(model.alpha, alpha)


def _taken(design: Design, active: Mask) -> Design:
    # Where all columns are in, as in a fit that goes on from vectors chosen before, they are not copied.
    return design if active.all() else design.take(active)


def _start(alpha: Vector, w: Vector) -> Model:
    active = np.ones(len(w), dtype=bool) if w[alpha > 0.0].any() else alpha == 0.0
    return Model(active, alpha[active], w[active])


class Search:
    """Looks for columns to add, a pool of them after the other until one is found.

    Candidates are scored with the curvature of the Jaakkola-Jordan bound. That of the loss vanishes at rows
    which the model is sure of, wrongly too: a narrow column on such a row would seem to cost nothing.
    """

    def __init__(self, design: Design, least: Vector) -> None:
        n_rows, n_columns = design.shape
        self._design = design
        self._least = least  # precision of each column
        self._forbidden_until = np.zeros(n_columns, dtype=np.intp)
        self._n_pools = max(-(-n_columns // max(POOL_ENTRIES // max(n_rows, 1), MIN_POOL)), 1)
        self._next = 0
        self.exhausted = False
        """The last search found nothing."""

    def forbid(self, columns: Mask, iteration: int) -> None:
        self._forbidden_until[columns] = iteration + TABU

    def kept(self) -> dict[str, Any]:
        return {"next": self._next, "exhausted": self.exhausted}

    def kept_arrays(self) -> dict[str, AnyArray]:
        forbidden = np.flatnonzero(self._forbidden_until)
        return {"forbidden": forbidden, "forbidden_until": self._forbidden_until[forbidden]}

    def recall(self, past: Iteration) -> None:
        facts = past.step.facts["search"]
        self._next, self.exhausted = facts["next"], facts["exhausted"]
        self._forbidden_until[:] = 0
        self._forbidden_until[past["forbidden"]] = past["forbidden_until"]

    def best(
        self, objective: Objective, mode: MapResult, model: Model, iteration: int
    ) -> tuple[IntVector, Vector]:
        """Positions and precisions of the columns to add; none where none would raise the evidence.

        The price is not asked for here: gains are predicted with a curvature that is too large, and whether
        the model is worth more with a column is seen once it is in.
        """
        eligible = ~model.active & (self._forbidden_until <= iteration)
        self.exhausted = False
        if eligible.any():
            scorer = Scorer(objective, mode, 1 + int(ADDED_SHARE * model.size))
            for pool in self._pools(eligible):
                design = _taken(self._design, pool)
                found, alpha = scorer.choose(design, self._least[pool], eligible[pool])
                if len(found):
                    return np.flatnonzero(pool)[found], alpha
        self.exhausted = True
        return np.empty(0, dtype=np.intp), np.empty(0)

    def _pools(self, eligible: Mask) -> Iterator[Mask]:
        """Every so-manieth column, so that each pool is a cross-section; the next one first.

        What is not eligible is scored with the others: to leave it out would take a copy of them.
        """
        for _ in range(self._n_pools):
            pool = np.zeros_like(eligible)
            pool[self._next :: self._n_pools] = True
            self._next = (self._next + 1) % self._n_pools
            if eligible[pool].any():
                yield pool


class Scorer:
    """The factors of columns outside a model, at fixed Hessian weights."""

    def __init__(self, objective: Objective, mode: MapResult, n_wanted: int) -> None:
        margins = np.asarray(mode.margins)
        self.beta = link.bound_curvature(margins)
        if objective.weight is not None:
            self.beta *= np.asarray(objective.weight)
        hessian = objective.design.gram(self.beta)
        np.einsum("ii->i", hessian)[:] += objective.alpha
        self._curvature = CholeskyCurvature(cholesky(hessian))
        residual = np.asarray(objective.residual(mode.margins))
        # One pass for both products.
        self._right = np.empty((len(residual), 1 + objective.design.shape[1]))
        self._right[:, 0] = -residual
        for rows, block in objective.design.row_blocks():
            np.multiply(self.beta[rows, None], block, out=self._right[rows, 1:])
        self._n_wanted = n_wanted

    def factors(self, pool: Design, least_alpha: Vector | float = MIN_ALPHA) -> tuple[Factors, Matrix]:
        """And the columns' products with those of the model, whitened: the squares are what they share."""
        products = pool.rmatmat(self._right)
        shared = self._curvature.whitened(np.asfortranarray(products[:, 1:].T))
        energy = pool.sq_rmatvec(self.beta)
        # Rounding may leave a column that the model spans with a little of either sign.
        s = np.maximum(energy - np.square(shared).sum(axis=0), 1e-10 * energy + SMALLEST)
        return Factors(s, products[:, 0], least_alpha), shared

    def choose(self, pool: Design, least_alpha: Vector, eligible: Mask) -> tuple[IntVector, Vector]:
        """The best column, then the best beside it, and so on: positions and precisions."""
        factors, shared = self.factors(pool, least_alpha)
        gain = np.where(eligible, factors.contribution(factors.best_alpha), -np.inf)
        least = max(LEAST_GAIN_SHARE * float(gain.max()), SMALLEST)
        short = np.argsort(-gain, kind="stable")[: SHORTLIST * self._n_wanted]
        short = np.sort(short[gain[short] >= least])
        if not len(short):
            return short, np.empty(0)
        keep = np.zeros(len(gain), dtype=bool)
        keep[short] = True
        covariance = pool.take(keep).gram(self.beta) - shared[:, short].T @ shared[:, short]
        chosen: list[int] = []
        precisions: list[float] = []
        factors, gain = Factors(factors.s[short], factors.q[short], least_alpha[short]), gain[short]
        while len(chosen) < self._n_wanted:
            best = int(gain.argmax())
            if gain[best] < least:
                break
            chosen.append(best)
            precisions.append(float(factors.best_alpha[best]))
            factors = factors.given(best, covariance[:, best])
            gain = factors.contribution(factors.best_alpha)
            gain[chosen] = -np.inf
        return short[chosen], np.array(precisions)
