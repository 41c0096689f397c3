"""Rows that do not hold, for whom and why: the one list. ``docs/reliability.md`` shows it.

A test of such a row is expected to fail, and failing to fail is an error.
"""

from __future__ import annotations

LEDGER: dict[tuple[int, str], str] = {}

# Not misses: how a row is asked.
TERMS = {
    "auto": "Row 37 holds on up to 400 columns, where copies are found; beyond, a copy widens the prior of "
    "what it repeats (1e-3). Row 48 is asked where columns are many. Of 20 columns of noise in 200 rows "
    "`auto` keeps 10, `newton` and `sequential` 9, `dqn` 17, with little weight: the log loss of fresh rows "
    "is 0.73, 0.71, 0.72 and 0.75, where 0.69 is best.",
    "newton": "Row 37 is asked at `tol=1e-11`: the precisions of copies come to an end slowly. Row 46 is "
    "asked with a flat intercept on kernels: the paper's prunable one is zero while the two rows balance, "
    "goes, and takes the model with it; the fit says so.",
    "dqn": "With the paper's inner tolerance (0.1) `dqn` amplifies rounding: an ulp in X can flip a decision "
    "of its line search or of its pruning and move a probability by 0.1. Its numbers are compared at "
    "`map_tol=1e-8` and after one outer iteration; with the paper's constants only determinism and accuracy "
    "are.",
    "sbelm": "Row 46 of `dqn` and `newton` is asked at -10 and 10. At -1 and 1 the two values of a random "
    "node have more in common than they differ by, which the paper's prunable intercept would have to take "
    "away: `dqn` separates the rows for 1 of 20 seeds, `newton` for none (16 and 20 with a flat intercept, "
    "all 20 at -10 and 10). A fit that prunes every node says so. `auto` and `sequential` are asked at -1 "
    "and 1.",
}
