"""The rows of the conformance suite: how many our classifiers hold, and how many others do, in one run.

Run ``python -m benchmarks.conformance``: writes ``results/conformance.json`` and ``docs/reliability.md``;
with ``--page``, the page alone. Every party meets the tests of ``tests/conformance``, in a process that may
crash.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.common import FOLDER, RESULTS, Figure, judge, save, say
from benchmarks.reproduction.markdown import table
from tests.conformance.ledger import LEDGER, TERMS
from tests.conformance.rows import ROWS

PAGE = FOLDER.parent / "docs" / "reliability.md"
NOTES = FOLDER / "conformance_notes.md"
OURS = ("SBLClassifier", "RVMClassifier", "SBELMClassifier")
RIVALS = ("LogisticRegression", "SVC", "sklearn-rvm")
# The worst that came of a row's tests is what came of the row.
OUTCOMES = ("crash", "hang", "missed", "words", "ledger", "held")
SHOWN = {"held": "✓", "words": "words", "missed": "**no**", "crash": "**crash**", "hang": "**hang**"}
SHOWN |= {"ledger": "ledger", None: "–"}
# A test of a rival that takes longer is ended (tests/conformance/conftest.py).
SECONDS = 60.0


# As a plugin of pytest, in the process that sees crashes of the others


_begun: dict[str, float] = {}


def pytest_runtest_logstart(nodeid: str) -> None:
    _begun[nodeid] = time.monotonic()


def pytest_runtest_logreport(report: Any) -> None:
    path = os.environ.get("CONFORMANCE_OUTCOMES")
    if path is None or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.when == "call" or report.outcome != "passed":
        lasted = time.monotonic() - _begun.get(report.nodeid, time.monotonic())
        with open(path, "a") as file:
            file.write(json.dumps([report.nodeid, *outcome(report, lasted)]) + "\n")


def outcome(report: Any, lasted: float) -> tuple[str | None, str]:
    """What came of a test (None: not asked), and why."""
    text = str(report.longrepr or "")
    if report.outcome == "passed":
        return "held", ""
    if report.outcome == "skipped":
        return ("ledger", str(report.wasxfail)) if hasattr(report, "wasxfail") else (None, "")
    if "crashed while running" in text:
        return ("hang" if lasted >= SECONDS else "crash"), ""
    if re.search(r"exit code -\d+", text):
        return "crash", ""
    if "TimeoutExpired" in text:
        return "hang", ""
    reasons = re.findall(r"^E +(\S.*)$", text, re.MULTILINE)
    return ("words" if "OtherWords" in text else "missed"), (reasons[0][:160] if reasons else "")


def run(rival: str | None) -> list[list[Any]]:
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "outcomes"
        environment = os.environ | {"CONFORMANCE_OUTCOMES": str(found), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "tests/conformance", "-k", "row_", "-q", "-n", "1"]
        command += ["-p", "benchmarks.conformance", "-p", "no:cacheprovider", "--max-worker-restart", "500"]
        if rival:
            environment["CONFORMANCE_RIVAL"] = rival
            command += ["-o", "filterwarnings=default"]  # a warning of theirs is no miss
        subprocess.run(command, cwd=FOLDER.parent, env=environment, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in found.read_text().splitlines()]


def by_row(outcomes: list[list[Any]], rival: str | None) -> dict[str, dict[int, dict[str, str]]]:
    """Party -> row -> the worst that came of its tests."""
    from tests.conformance.subjects import ESTIMATOR_OF

    collected: dict[str, dict[int, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for test, came, why in outcomes:
        number = re.search(r"test_row_(\d+)_", test)
        if number is None or came is None:
            continue
        names = set(re.split(r"[\[\]-]", test)) & ESTIMATOR_OF.keys()
        parties = [rival] if rival else sorted({ESTIMATOR_OF[name] for name in names}) or OURS
        for party in parties:
            collected[party][int(number[1])].append((came, why))
    return {
        party: {
            row: dict(zip(("came", "why"), min(found, key=lambda each: OUTCOMES.index(each[0])), strict=True))
            for row, found in sorted(rows.items())
        }
        for party, rows in collected.items()
    }


def counts(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Rows held, and rows asked, of each party."""
    return {
        party: (sum(each["came"] == "held" for each in rows.values()), len(rows))
        for party, rows in found.items()
    }


def all_ours(found: dict[str, Any]) -> int:
    """Rows that hold for each of our classifiers that is asked."""
    return sum(
        all(found[party][str(row)]["came"] == "held" for party in OURS if str(row) in found[party])
        and any(str(row) in found[party] for party in OURS)
        for row in ROWS
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conformance", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page alone, from the results")
    arguments = parser.parse_args()
    status = 0
    if not arguments.page:
        found: dict[str, Any] = {}
        for party in (None, *RIVALS):
            found |= by_row(run(party), party)
            say(f"{party or 'ours'}: {counts(found)}")
        found = json.loads(json.dumps(found))
        figures = [Figure("rows that all of ours hold", all_ours(found), len(ROWS), "at least")]
        figures += [Figure(f"rows held by {party}", held) for party, (held, _) in counts(found).items()]
        versions = {name: version(name) for name in ("scikit-learn", "sklearn-rvm")}
        save("conformance", figures, {"rivals": versions, "rows": found})
        status = judge(figures)
    PAGE.write_text(page())
    say(f"written: {PAGE.name}")
    return status


# The page


def result(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def page() -> str:
    results = result("conformance")
    assert results is not None, "run python -m benchmarks.conformance"
    found = results["rows"]
    held = counts(found)
    lines = ["# Reliability", "", NOTES.read_text().strip(), ""]
    lines += ["## Rows held", ""]
    lines += [
        f"Of {len(ROWS)} rows, {all_ours(found)} hold for all of our classifiers that they ask. "
        f"({results['date']}, scikit-learn {results['rivals']['scikit-learn']}, sklearn-rvm "
        f"{results['rivals']['sklearn-rvm']}.)",
        "",
    ]
    parties = [*OURS, *RIVALS]
    lines += table(["", *parties], [["held of asked", *(f"{held[p][0]} of {held[p][1]}" for p in parties)]])
    lines += [
        "✓ held; *words*: the right error, which does not say what the row asks for; **no**: another result "
        "or error, or none; **crash**, **hang**: of the process; *ledger*: below; –: not asked.",
        "",
    ]
    lines += table(
        ["#", "row", *parties],
        (
            [str(row), text, *(SHOWN[found[p].get(str(row), {}).get("came")] for p in parties)]
            for row, text in ROWS.items()
        ),
        right=9,
    )
    lines += ["### What others do", "", *_misses(found)]
    lines += ["## Ledger", "", *_ledger()]
    lines += [*_faults()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _misses(found: dict[str, Any]) -> list[str]:
    lines = []
    for party in RIVALS:
        wrong = {row: each for row, each in found[party].items() if each["came"] not in ("held", "words")}
        words = [row for row, each in found[party].items() if each["came"] == "words"]
        lines += [f"**{party}** says less than the row asks in {', '.join(words) or 'no row'}; and:", ""]
        lines += [
            f"- {row}: {'' if each['came'] == 'missed' else each['came']} {_code(each['why'])}".rstrip()
            for row, each in wrong.items()
        ] or ["- nothing else."]
        lines.append("")
    return lines


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39)).strip()}`" if text.strip() else ""


def _ledger() -> list[str]:
    lines = [f"- Row {row}, `{name}`: {reason}" for (row, name), reason in sorted(LEDGER.items())]
    lines += [f"- Terms of `{name}`: {reason}" for name, reason in TERMS.items()]
    return [*lines, ""]


def _faults() -> list[str]:
    lines = ["## Faults and soaks", ""]
    for name in (
        "soak_checkpoints",
        "soak_faults",
        "soak_workers",
        "soak_process",
        "fuzz",
        "estimator_checks",
    ):
        soaked = result(name)
        if soaked is None:
            continue
        lines += [
            f"`{soaked['command']}`, {soaked['date']}, scikit-learn {soaked['versions']['scikit-learn']}:",
            "",
        ]
        lines += table(
            ["", "measured", "limit"],
            (
                [
                    each["name"],
                    f"{each['measured']:.6g}",
                    "" if each["limit"] is None else f"{each['bound']} {each['limit']:g}",
                ]
                for each in soaked["figures"]
            ),
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
