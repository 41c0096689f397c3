"""What must not depend on how a problem is put, on generated data, well- and ill-conditioned.

Others are where their layer is: svmlight text (``test_svmlight.py``), any number of workers
(``test_blocks.py``), probabilities of any margins (``test_multiclass.py``).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, load_model, save_model
from sparsebayes import checkpoint as checkpoint_layer
from sparsebayes.design import RowBlocks
from sparsebayes.io import BlockStore
from tests.conformance.storages import bitwise, same
from tests.killing import Killed, dying_after, fingerprint

# Where numbers are compared; "elimination" is what "auto" is on features.
EXACT = {
    "auto": SBLClassifier(),
    "newton": SBLClassifier("newton", max_iter=20),
    "sequential": SBLClassifier("sequential"),
    # The mode at a proper prior: its B, and so the next precisions, depend on the way to the mode.
    "dqn to the end": SBLClassifier(
        "dqn", max_iter=1, init_alpha=1.0, alpha_max=1e300, map_tol=1e-8, map_max_iter=2000
    ),
}
# Where bits are.
ANY = {
    **EXACT,
    "dqn": SBLClassifier("dqn", max_iter=3),
    "moderated": SBLClassifier("newton", max_iter=5, proba="moderated"),
    "rvm": RVMClassifier(gamma="median", random_state=0),
    "sbelm": SBELMClassifier(8, random_state=0),
}
MAKERS = [np.asarray, sp.csr_array]
of_any_kind = st.sampled_from(list(ANY))


# A model is enough, a good one is not needed.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@dataclass
class Problem:
    X: np.ndarray
    y: np.ndarray
    seed: int
    tolerance: float

    @property
    def rng(self):
        return np.random.default_rng(self.seed + 1)


@st.composite
def problems(draw, n_classes=2, least=12, may_be_ill=True):
    """Rows of a logistic model; ill-conditioned ones have columns that nearly agree, in units far apart."""
    seed, n, m = draw(st.integers(0, 2**32 - 1)), draw(st.integers(least, 25)), draw(st.integers(1, 5))
    ill = may_be_ill and draw(st.booleans())
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * (rng.random((n, m)) < draw(st.sampled_from([1.0, 0.6])))
    scores = X @ rng.normal(size=(m, n_classes)) * draw(st.sampled_from([0.5, 3.0]))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    if ill:
        X[:, -1] = X[:, 0] + 1e-3 * X[:, -1]
        X *= 10.0 ** rng.integers(-3, 4, size=m)
    # A condition of some 1e4 is what the rounding of the entries is multiplied by.
    return Problem(X, y, seed, 1e-5 if ill else 1e-7)


@st.composite
def exact(draw):
    """A solver and a problem; a diagonal cannot follow columns that nearly agree to the end."""
    name = draw(st.sampled_from(list(EXACT)))
    return draw(problems(may_be_ill=name != "dqn to the end")), name


def probabilities(clf, X, y, weight=None, at=None):
    return clone(clf).fit(X, y, weight).predict_proba(X if at is None else at)


@given(exact())
def test_rows_in_any_order(case):
    problem, name = case
    X, y = problem.X, problem.y
    order = problem.rng.permutation(len(y))
    expected = probabilities(EXACT[name], X, y)
    same(probabilities(EXACT[name], X[order], y[order], at=X), expected, problem.tolerance)


@given(exact())
def test_columns_in_any_order(case):
    problem, name = case
    X, y = problem.X, problem.y
    order = problem.rng.permutation(X.shape[1])
    same(probabilities(EXACT[name], X[:, order], y), probabilities(EXACT[name], X, y), problem.tolerance)


@given(problems(n_classes=3), of_any_kind)
def test_labels_of_other_names(problem, name):
    X, y = problem.X, problem.y
    bitwise(
        probabilities(ANY[name], X, np.array(["a", "b", "c"])[y]), probabilities(ANY[name], X, 10 * y - 5)
    )


@given(exact())
def test_labels_swapped_negate_the_margin(case):
    problem, name = case
    X, y = problem.X, problem.y
    one = clone(EXACT[name]).fit(X, y).decision_function(X)
    other = clone(EXACT[name]).fit(X, 1 - y).decision_function(X)
    same(np.tanh(-other / 2), np.tanh(one / 2), problem.tolerance)


@given(problems(), st.integers(-900, 900), st.sampled_from(["auto", "sequential"]))
def test_a_power_of_two_changes_no_bit(problem, exponent, name):
    X, y = problem.X, problem.y
    bitwise(probabilities(EXACT[name], np.ldexp(X, exponent), y), probabilities(EXACT[name], X, y))


@given(problems(), st.floats(-200, 200), st.sampled_from(["auto", "sequential"]))
def test_a_common_factor_changes_nothing(problem, logarithm, name):
    X, y = problem.X, problem.y
    factor = 10.0**logarithm
    same(probabilities(EXACT[name], factor * X, y), probabilities(EXACT[name], X, y), problem.tolerance)


@given(exact())
def test_units_of_columns_change_nothing_where_the_prior_is_theirs(case):
    problem, name = case
    X, y = problem.X, problem.y
    factors = 10.0 ** problem.rng.uniform(-50, 50, size=X.shape[1])
    clf = clone(EXACT[name]).set_params(scale="columns")
    same(probabilities(clf, X * factors, y), probabilities(clf, X, y), problem.tolerance)


@given(exact())
def test_rows_twice_are_a_weight_of_two(case):
    problem, name = case
    X, y = problem.X, problem.y
    twice = probabilities(EXACT[name], np.vstack([X, X]), np.append(y, y), at=X)
    same(twice, probabilities(EXACT[name], X, y, np.full(len(y), 2.0)), problem.tolerance)


@given(problems(), of_any_kind)
def test_a_weight_of_zero_is_a_row_left_out(problem, name):
    X, y = problem.X, problem.y
    weight = problem.rng.integers(0, 3, size=len(y)).astype(float)
    used = weight > 0.0
    assume(len(np.unique(y[used])) == 2)
    bitwise(
        probabilities(ANY[name], X, y, weight), probabilities(ANY[name], X[used], y[used], weight[used], at=X)
    )


@given(exact())
def test_sparse_is_dense(case):
    problem, name = case
    X, y = problem.X, problem.y
    same(probabilities(EXACT[name], sp.csr_array(X), y), probabilities(EXACT[name], X, y), problem.tolerance)


@given(problems(), of_any_kind)
def test_csr_is_csc(problem, name):
    X, y = problem.X, problem.y
    bitwise(probabilities(ANY[name], sp.csc_array(X), y), probabilities(ANY[name], sp.csr_array(X), y))


@given(exact(), st.integers(6, 20), st.sampled_from(MAKERS))
def test_blocks_are_the_whole(case, height, make):
    problem, name = case
    X, y = make(problem.X), problem.y
    blocks = probabilities(EXACT[name], RowBlocks.of_matrix(X, height), y, at=X)
    same(blocks, probabilities(EXACT[name], X, y), problem.tolerance)


@given(problems(), st.sampled_from(["dqn", "moderated"]), st.integers(8, 15), st.sampled_from(MAKERS))
def test_a_store_has_the_bits_of_its_blocks(tmp_path_factory, problem, name, height, make):
    X, y = make(problem.X), problem.y
    store = BlockStore.write(tmp_path_factory.mktemp("any") / "store", X, y, None, height)
    bitwise(
        probabilities(ANY[name], store, y, at=X),
        probabilities(ANY[name], RowBlocks.of_matrix(X, height), y, at=X),
    )


@given(problems(), of_any_kind)
def test_a_fit_again_is_the_same(problem, name):
    X, y = problem.X, problem.y
    clf = clone(ANY[name])
    first = fingerprint(clf.fit(X, y))
    other = problem.rng.permutation(y)
    clf.fit(X, other)
    assert fingerprint(clf.fit(X, y)) == first


@given(problems(n_classes=3), of_any_kind)
def test_saved_and_loaded_predicts_the_same_bits(tmp_path_factory, problem, name):
    clf = clone(ANY[name]).fit(problem.X, problem.y)
    path = tmp_path_factory.mktemp("any") / "model.sbm"
    save_model(clf, path)
    bitwise(load_model(path).predict_proba(problem.X), clf.predict_proba(problem.X))


@given(problems(n_classes=3), of_any_kind)
def test_a_subset_predicts_what_the_whole_does(problem, name):
    X, y = problem.X, problem.y
    clf = clone(ANY[name]).fit(X, y)
    rows = np.flatnonzero(problem.rng.random(len(y)) < 0.5)
    assume(len(rows))
    same(clf.predict_proba(X[rows]), clf.predict_proba(X)[rows], 1e-12)
    if isinstance(clf, SBLClassifier) and name != "moderated":
        sparse = sp.csr_array(X)
        bitwise(clf.predict_proba(sparse[rows]), clf.predict_proba(sparse)[rows])


@given(problems(), of_any_kind, st.integers(1, 8))
def test_resumed_at_any_iteration_is_the_same_fit(tmp_path_factory, problem, name, n_states):
    X, y = problem.X, problem.y
    folder = tmp_path_factory.mktemp("any")
    with pytest.MonkeyPatch().context() as patched:
        patched.setattr(checkpoint_layer.FolderKeeper, "save", dying_after(n_states))
        with suppress(Killed):
            clone(ANY[name]).set_params(checkpoint=folder).fit(X, y)
    resumed = clone(ANY[name]).set_params(checkpoint=folder, resume=True).fit(X, y)
    assert fingerprint(resumed) == fingerprint(clone(ANY[name]).fit(X, y))


@given(problems(), of_any_kind)
def test_probabilities_rise_with_the_margin(problem, name):
    clf = clone(ANY[name]).fit(problem.X, problem.y)
    margins, p = clf.decision_function(problem.X), clf.predict_proba(problem.X)
    same(p.sum(axis=1), 1.0, 1e-15)
    assert (np.diff(p[np.argsort(margins), 1]) >= 0.0).all()
