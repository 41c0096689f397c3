"""Rows that do not hold, for whom and why: the one list. ``docs/reliability.md`` shows it.

A test of such a row is expected to fail, and failing to fail is an error.
"""

from __future__ import annotations

LEDGER: dict[tuple[int, str], str] = {
    (46, "sbelm dqn"): "Of two rows eq. 15 prunes every node: to a diagonal, thirty nodes that say the same "
    "are each of no use. The fit says so: a model without features, with a warning. `auto`, `newton` and "
    "`sequential` separate the rows.",
}

# Not misses: how a row is asked.
TERMS = {
    "auto": "Row 37 holds on up to 400 columns, where copies are found; beyond, a copy widens the prior of "
    "what it repeats (1e-3). Row 48 is asked where columns are many. Of 20 columns of noise in 200 rows "
    "`auto` keeps 10, `newton` and `sequential` 9, `dqn` 17, with little weight: the log loss of fresh rows "
    "is 0.73, 0.71, 0.72 and 0.75, where 0.69 is best.",
    "newton": "Row 37 is asked at `tol=1e-11`: the precisions of copies come to an end slowly. Row 46 is "
    "asked with a flat intercept on kernels and nodes: the paper's prunable one is zero while the two rows "
    "balance, goes, and takes the model with it; the fit says so.",
    "dqn": "With the paper's inner tolerance (0.1) `dqn` amplifies rounding: an ulp in X can flip a decision "
    "of its line search or of its pruning and move a probability by 0.1. Its numbers are compared at "
    "`map_tol=1e-8` and after one outer iteration; with the paper's constants only determinism and accuracy "
    "are.",
}
