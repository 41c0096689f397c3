"""scikit-learn's own checks with the scikit-learn that is installed, meant for the oldest that is supported.

Run ``python -m benchmarks.estimator_checks`` in an environment with that version; the newest is checked by
the tests of every change.
"""

from __future__ import annotations

import re
import subprocess
import sys

from benchmarks.common import FOLDER, Figure, judge, save

TESTS = "tests/test_estimator_checks.py"


def main() -> int:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", TESTS, "-q", "-p", "no:cacheprovider"],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
    )
    counted = re.findall(r"(\d+) (passed|failed|xfailed|skipped|error)", run.stdout.splitlines()[-1])
    found = {word: int(count) for count, word in counted}
    figures = [
        Figure("checks passed", found.get("passed", 0), 1, "at least"),
        Figure("checks failed", found.get("failed", 0) + found.get("error", 0), 0),
        Figure("in the ledger (dqn and weights, on dense and sparse data)", found.get("xfailed", 0)),
    ]
    save(
        "estimator_checks",
        figures,
        {"outcomes": found, "failures": re.findall(r"^FAILED (.*)$", run.stdout, re.M)},
    )
    return judge(figures)


if __name__ == "__main__":
    sys.exit(main())
