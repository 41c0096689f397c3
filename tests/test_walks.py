"""Commands in the README and in the guide of the command line, run as they are written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def run(commands, folder):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    script = "set -euo pipefail\n" + commands
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc here")
def test_from_rows_to_a_device(tmp_path):
    pytest.importorskip("matplotlib")
    section = (ROOT / "README.md").read_text().split("## From rows to a device")[1].split("\n## ")[0]
    learn, device = blocks(section, "sh")
    learned = run(learn, tmp_path)
    assert "5-fold cross-validation: accuracy 0.97" in learned
    assert (tmp_path / "cancer.html").exists()
    assert run(device, tmp_path) == blocks(section, "text")[0]


def test_command_line_guide(tmp_path):
    for package in ("matplotlib", "onnx"):
        pytest.importorskip(package)
    parts = blocks((ROOT / "docs" / "command_line.md").read_text(), "sh")
    assert len(parts) == 6
    for part in parts:
        run(part, tmp_path)
    written = {
        "model.sbm",
        "small.sbm",
        "report.html",
        "path.svg",
        "labels.txt",
        "scores.json",
        "model.c",
        "small.h",
    }
    assert written <= {path.name for path in tmp_path.iterdir()}
    assert len((tmp_path / "probabilities.tsv").read_text().splitlines()) == 570


def test_the_guide_s_chapter_on_the_command_line(tmp_path):
    page = (ROOT / "docs" / "guide" / "command_line.md").read_text()
    (commands,) = blocks(page, "sh")
    assert run(commands, tmp_path).endswith(blocks(page, "text")[0])
