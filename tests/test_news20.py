"""The paper's largest text set at full size: accuracy and memory of DQN-SBL."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# In a process of its own, so that the peak is that of the fit: Linux keeps a high-water mark of the
# resident memory and lets a process reset it.
SCRIPT = """
import json, re, warnings
from pathlib import Path
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
import os
import sparsebayes

warnings.simplefilter("ignore", ConvergenceWarning)

def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

X, y = load_svmlight_file(Path(os.environ["SPARSEBAYES_DATA"]) / "news20.binary.svm.bz2")
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
sparsebayes.SBLClassifier("dqn", max_iter=1).fit(X[:50], y[:50])  # loads what a first fit loads
before = kilobytes("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
clf = sparsebayes.SBLClassifier("dqn", max_iter=1, warm_start=True)
accuracies = [clf.fit(X, y).score(X_test, y_test) for _ in range(2)]
bytes_above = 1024 * (kilobytes("VmHWM") - before)
csr = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
print(json.dumps({"accuracies": accuracies, "ratio": bytes_above / csr, "kept": int(clf.n_relevant_[0])}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory through Linux's /proc")
def test_dqn_on_news20(data_set):
    assert data_set is not None  # skips where there is no data
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True, env=os.environ
    )
    result = json.loads(run.stdout)
    assert min(result["accuracies"]) >= 0.96
    assert result["ratio"] <= 4.0
    assert result["kept"] < 1_000_000
