"""C on a Cortex-M4, which qemu emulates: the right answers, in the flash that the docs say."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

from sparsebayes import RVMClassifier, SBELMClassifier, SBLClassifier, export_c
from sparsebayes.export.quantised import BITS, Tables
from tests.compiled import STRICT, Outputs, run

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "cortex_m4"
GCC, SIZE, NM = "arm-none-eabi-gcc", "arm-none-eabi-size", "arm-none-eabi-nm"
QEMU = "qemu-system-arm"
TARGET = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
SMALL = ["-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]


def missing():
    tools = [tool for tool in (GCC, QEMU) if shutil.which(tool) is None]
    if tools:
        return f"{' and '.join(tools)} are not installed"
    found = subprocess.run([GCC, *TARGET, "-print-file-name=libm.a"], capture_output=True, text=True)
    return None if "/" in found.stdout else "newlib is not installed"


pytestmark = pytest.mark.skipif(missing() is not None, reason=f"Cortex-M4: {missing()}")


def linear_of_25():
    X, y = standardised()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one iteration keeps all weights
        classifier = SBLClassifier("newton", alpha_max=1e300, max_iter=1).fit(X[:450, :25], y[:450])
    assert len(classifier.freeze().weights) == 25
    return classifier, X[450:500, :25]


def on_breast_cancer(classifier, *, as_given=False):
    X, y = load_breast_cancer(return_X_y=True) if as_given else standardised()
    return classifier.fit(X[:450], y[:450]), X[450:500]


def standardised():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@cache
def on_digits():
    X, y = load_digits(return_X_y=True)
    return SBLClassifier().fit(X[:1500], y[:1500]), X[1500:1550]


# Name in the docs -> a classifier and rows that it has not seen, and options of the export.
MODELS = {
    "linear, 25 weights": (linear_of_25, {}),
    "breast cancer, `SBLClassifier`": (lambda: on_breast_cancer(SBLClassifier(), as_given=True), {}),
    "breast cancer, `RVMClassifier`": (lambda: on_breast_cancer(RVMClassifier()), {}),
    "breast cancer, `SBELMClassifier`": (lambda: on_breast_cancer(SBELMClassifier(random_state=0)), {}),
    "digits, `SBLClassifier`, 45 pairs": (on_digits, {}),
    "digits, the same, `int8`": (on_digits, {"quantise": "int8"}),
}


def build(folder, program):
    """Bytes of flash, and of RAM without the stack."""
    sources = [EXAMPLE / "startup.c", EXAMPLE / f"{program}.c", folder / "model.c"]
    where = ["-nostartfiles", "-T", EXAMPLE / "link.ld", f"-I{folder}", "-o", folder / f"{program}.elf"]
    run([GCC, *STRICT, *TARGET, *SMALL, *where, *sources, "-lm"])
    text, data, bss = map(int, run([SIZE, folder / f"{program}.elf"]).split(b"\n")[1].split()[:3])
    return text + data, data + bss


def write_rows(folder, X, dtype):
    letter = "f" if dtype == "float" else ""
    lines = ["{" + ", ".join(f"{float(value)!r}{letter}" for value in row) + "}" for row in X]
    (folder / "rows.h").write_text(
        f"enum {{ N_ROWS = {len(X)} }};\n"
        "static const model_real rows[N_ROWS][MODEL_N_FEATURES] = {\n" + ",\n".join(lines) + "};\n"
    )


def emulated(folder, model, dtype):
    """What the emulated board printed, and the bytes of stack."""
    machine = ["-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"]
    command = [QEMU, *machine, "-semihosting-config", "enable=on,target=native", "-kernel"]
    done = subprocess.run([*command, folder / "check.elf"], capture_output=True, text=True, timeout=120)
    lines = (done.stdout + done.stderr).strip().split("\n")
    assert done.returncode == 0, lines
    *rows, stack = [line.split() for line in lines]
    assert stack[0] == "stack"
    integer, real = ("u8", "f8") if dtype == "double" else ("u4", "f4")
    bits = np.array([[int(word, 16) for word in row[1:]] for row in rows], dtype=integer)
    codes = np.array([[int(row[0], 16)] for row in rows])
    values = np.hstack([bits.view(real).astype(float), codes])
    return Outputs.of(values, model.n_problems, len(model.classes)), int(stack[1], 16)


@cache
def documented():
    """Model and type -> bytes of flash, RAM and stack in the table of the docs."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    cells = re.findall(r"^\| ([^|]+) \| `(double|float)` \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    return {(name, dtype): tuple(map(int, sizes)) for name, dtype, *sizes in cells}


@pytest.mark.parametrize("dtype", ["double", "float"])
@pytest.mark.parametrize("name", MODELS)
def test_answers_and_sizes(name, dtype, tmp_path):
    make, options = MODELS[name]
    classifier, X = make()
    X = X.astype(np.float32).astype(float) if dtype == "float" else X
    model = classifier.freeze()
    if options:
        model, options = Tables.rounded(model, BITS[options["quantise"]], X).model, {**options, "X": X}
    export_c(classifier, tmp_path / "model.c", dtype=dtype, **options)
    write_rows(tmp_path, X, dtype)
    build(tmp_path, "check")
    ours, stack = emulated(tmp_path, model, dtype)
    tolerance = 1e-12 if dtype == "double" else 1e-5
    np.testing.assert_allclose(ours.probabilities, model.predict_proba(X), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(model.classes[ours.codes], model.predict(X))

    flash, ram = build(tmp_path, "firmware")
    print(f"| {name} | `{dtype}` | {flash} | {ram} | {stack} |")
    # Compilers and libraries differ a little; a model that grew does not go unseen.
    assert documented()[name, dtype] == pytest.approx((flash, ram, stack), rel=0.15)


def test_a_linear_model_of_25_weights_takes_less_than_8_kB(tmp_path):
    """With start-up code, exp and all."""
    classifier, _ = linear_of_25()
    for dtype in ("double", "float"):
        export_c(classifier, tmp_path / "model.c", dtype=dtype)
        flash, _ = build(tmp_path, "firmware")
        assert re.search(rb" T expf?\n", run([NM, tmp_path / "firmware.elf"]))
        assert flash < 8000
