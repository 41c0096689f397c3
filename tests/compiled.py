"""Models as C, compiled and run."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

from sparsebayes import export_c

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITISED = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

# Rows of doubles from standard input; margins, probabilities and class of each in both precisions.
DRIVER = """
#include <stdio.h>
#include "one.h"
#include "two.h"

int main(void)
{
    static double row[ONE_N_FEATURES];
    static float short_row[ONE_N_FEATURES];
    double z[ONE_N_PROBLEMS], p[ONE_N_CLASSES], label;
    float zf[TWO_N_PROBLEMS], pf[TWO_N_CLASSES];

    while (fread(row, sizeof row, 1, stdin) == 1) {
        size_t i;

        for (i = 0; i < ONE_N_FEATURES; i++)
            short_row[i] = (float)row[i];
        one_margins(row, z);
        one_predict_proba(row, p);
        label = one_predict(row);
        fwrite(z, sizeof z, 1, stdout);
        fwrite(p, sizeof p, 1, stdout);
        fwrite(&label, sizeof label, 1, stdout);
        two_margins(short_row, zf);
        two_predict_proba(short_row, pf);
        for (i = 0; i < TWO_N_PROBLEMS; i++)
            z[i] = zf[i];
        for (i = 0; i < TWO_N_CLASSES; i++)
            p[i] = pf[i];
        label = two_predict(short_row);
        fwrite(z, sizeof z, 1, stdout);
        fwrite(p, sizeof p, 1, stdout);
        fwrite(&label, sizeof label, 1, stdout);
    }
    return 0;
}
"""


@dataclass
class Outputs:
    margins: np.ndarray
    probabilities: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, rows, n_problems, n_classes):
        margins, probabilities, codes = np.split(rows, [n_problems, n_problems + n_classes], axis=1)
        return cls(margins, probabilities, codes[:, 0].astype(int))


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, **options)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return done.stdout


def outputs(model, data, folder, **options):
    """Of the model in double precision (a pair of files) and in single precision (one file)."""
    export_c(model, folder / "one.c", **options)
    export_c(model, folder / "two.h", dtype="float", **options)
    (folder / "main.c").write_text(DRIVER)
    sources = [folder / "main.c", folder / "one.c"]
    run(["gcc", *STRICT, *SANITISED, "-o", folder / "program", *sources, "-lm"])
    stdout = run([folder / "program"], input=np.ascontiguousarray(data, dtype=np.float64).tobytes())
    n_problems, n_classes = len(model.intercepts), len(model.classes)
    both = np.frombuffer(stdout).reshape(len(data), 2, -1)
    return tuple(Outputs.of(both[:, k], n_problems, n_classes) for k in range(2))
