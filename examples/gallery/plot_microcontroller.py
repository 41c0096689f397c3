"""
The same model on a microcontroller
===================================

Models of breast cancer are exported as C, in double precision, in single precision, and with tables of 8
bits. A cross-compiler builds them for a Cortex-M4, and an emulator of the board runs them on rows that they
were not fitted to. Where the tools for that are missing this computer's own compiler takes their place, and
where there is none either, the sizes of the tables are all there is to show.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, export_c

BOARD = Path(sys.argv[0]).resolve().parent.parent / "cortex_m4"  # start-up code, linker script, programs
ARM = "arm-none-eabi-gcc"
TARGET = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-nostartfiles",
    f"-T{BOARD}/link.ld",
]
SMALL = ["-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
EMULATOR = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"]
SEMIHOSTING = ["-semihosting-config", "enable=on,target=native", "-kernel"]
HOST_PROGRAM = """
#include <stdio.h>
#include "model.h"
#include "rows.h"

int main(void)
{
    model_real p[MODEL_N_CLASSES];
    int row;

    for (row = 0; row < N_ROWS; row++) {
        model_predict_proba(rows[row], p);
        printf("%.17g\\n", (double)p[1]);
    }
    return 0;
}
"""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)


def has_board():
    """The cross-compiler with a C library for this processor, and the emulator."""
    if shutil.which(ARM) is None or shutil.which(EMULATOR[0]) is None:
        return False
    return "/" in run(ARM, *TARGET[:4], "-print-file-name=libm.a").stdout


PLACE = "Cortex-M4" if has_board() else "this computer" if shutil.which("gcc") else None
print("run on:", PLACE or "nothing: there is no C compiler here")


def build(folder, program):
    """An image for the board; returns its bytes of flash."""
    sources = [f"{BOARD}/startup.c", f"{BOARD}/{program}.c", f"{folder}/model.c", "-lm"]
    run(ARM, "-std=c99", *TARGET, *SMALL, f"-I{folder}", "-o", f"{folder}/{program}.elf", *sources)
    text, data = run("arm-none-eabi-size", f"{folder}/{program}.elf").stdout.splitlines()[1].split()[:2]
    return int(text) + int(data)


def probabilities(folder, X, dtype):
    """Of the second class, as the C program has them."""
    values = ",\n".join("{" + ", ".join(map(repr, map(float, row))) + "}" for row in X)
    table = f"static const model_real rows[N_ROWS][MODEL_N_FEATURES] = {{{values}}};"
    Path(folder, "rows.h").write_text(f"enum {{ N_ROWS = {len(X)} }};\n{table}\n")
    if PLACE == "Cortex-M4":
        build(folder, "check")
        done = run(*EMULATOR, *SEMIHOSTING, f"{folder}/check.elf")
        lines = re.findall(r"^(?:[0-9a-f]+ ){4}$", done.stdout + done.stderr, re.MULTILINE)
        bits = np.array(
            [int(line.split()[3], 16) for line in lines], dtype="u8" if dtype == "double" else "u4"
        )
        return bits.view("f8" if dtype == "double" else "f4").astype(float)
    Path(folder, "main.c").write_text(HOST_PROGRAM)
    run("gcc", "-std=c99", "-O2", "-o", f"{folder}/main", f"{folder}/main.c", f"{folder}/model.c", "-lm")
    return np.array(run(f"{folder}/main").stdout.split(), dtype=float)


# %%
# Each model is exported in three forms.

X, y = load_breast_cancer(return_X_y=True)
X = scale(X).astype(np.float32).astype(float)  # numbers that single precision has too
X, X_new, y, y_new = X[:450], X[450:], y[:450], y[450:]
FORMS = {
    "double": {"dtype": "double"},
    "float": {"dtype": "float"},
    "float, int8 tables": {"dtype": "float", "quantise": "int8", "X": X},
}
bytes_of, differences = {}, {}
for clf in (SBLClassifier(), RVMClassifier(), SBELMClassifier(random_state=0)):
    name, expected = type(clf).__name__, clf.fit(X, y).predict_proba(X_new)[:, 1]
    for form, options in FORMS.items():
        with tempfile.TemporaryDirectory() as folder:
            export = export_c(clf, f"{folder}/model.c", **options)
            bytes_of[name, form] = build(folder, "firmware") if PLACE == "Cortex-M4" else export.table_bytes
            if PLACE is not None:
                found = probabilities(folder, X_new, options["dtype"])
                differences[name, form] = np.abs(found - expected)
                print(f"{name:16}{form:20} largest difference {differences[name, form].max():.1e}")

# %%
# First the sizes: of the whole program where it was built for the board, else of the tables alone. Double
# precision is dear on the board, whose processor has no arithmetic for it. There, tables of 8 bits save
# 40% of the model of hidden nodes. The other two are so small that there is nothing to save.
#
# Then how far a probability is off, a point for each new row; what is exactly the same is at the left end.
# Single precision agrees to six decimals. Tables of 8 bits change the third one, and in the worst rows come
# near to a percent.

fig, ax = plt.subplots()
names = list(dict.fromkeys(name for name, _ in bytes_of))
for place, form in enumerate(FORMS):
    sizes = [bytes_of[name, form] for name in names]
    bars = ax.barh(np.arange(3) + 0.27 * (1 - place), sizes, 0.25, label=form)
    ax.bar_label(bars, padding=3, fontsize="small")
ax.set_yticks(range(3), [name.removesuffix("Classifier") for name in names])
ax.set_xlabel("bytes of flash, Cortex-M4" if PLACE == "Cortex-M4" else "bytes of tables")
ax.margins(x=0.12)
ax.legend(loc="lower right", fontsize="small")

fig, ax = plt.subplots()
for place, form in enumerate(FORMS):
    for row, name in enumerate(names):
        off = np.sort(differences.get((name, form), []))
        heights = row + 0.27 * (1 - place) + np.linspace(-0.1, 0.1, len(off))
        ax.plot(
            np.maximum(off, 1e-18), heights, ".", ms=4, color=f"C{place}", label=form if row == 0 else None
        )
ax.set_xscale("log")
ax.set_yticks(range(3), [name.removesuffix("Classifier") for name in names])
ax.set_xlabel(
    f"difference of a probability, {PLACE} and Python" if PLACE else "no C compiler here: nothing to compare"
)
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small")
plt.show()
