"""A model as C99: no memory but the stack, no library but the C mathematics."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sparsebayes.export.csource import CType, Source
from sparsebayes.export.quantised import BITS, Agreement, Tables
from sparsebayes.frozen import as_frozen
from sparsebayes.io.checked import replaced


@dataclass(frozen=True, slots=True)
class CExport:
    """What :func:`export_c` wrote.

    Attributes
    ----------
    paths : tuple of Path
        The files.
    table_bytes : int
        Bytes of the constants, names apart: most of what the model takes of a program.
    agreement : Agreement or None
        For a quantised model, how it compares with the exact one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifier, export_c
    >>> clf = SBLClassifier().fit(*load_breast_cancer(return_X_y=True))
    >>> with TemporaryDirectory() as folder:
    ...     exports = [export_c(clf, f"{folder}/model.c", dtype=dtype) for dtype in ("double", "float")]
    >>> [export.table_bytes for export in exports], exports[0].agreement
    ([136, 76], None)
    """

    paths: tuple[Path, ...]
    table_bytes: int
    agreement: Agreement | None


def export_c(
    model: Any,
    path: str | os.PathLike[str],
    *,
    dtype: CType = "double",
    name: str | None = None,
    names: bool = False,
    quantise: Literal["int8", "int16"] | None = None,
    X: Any = None,
) -> CExport:
    """Write a model as C99 source.

    It defines ``NAME_margins``, ``NAME_predict_proba`` and ``NAME_predict`` for one row of features, takes no
    memory but the stack, and calls nothing but ``exp`` and, where a kernel or an activation needs it,
    ``sqrt``, ``tanh``, ``sin`` or ``pow``.

    Parameters
    ----------
    model : fitted classifier of this package, or FrozenModel
        What to export.
    path : str or path-like
        ``model.c`` for a source file, with ``model.h`` beside it; ``model.h`` for a single file.
    dtype : {"double", "float"}, default="double"
        Type of inputs, arithmetic and outputs.
    name : str, default=None
        What the C names begin with; that of the file if None.
    names : bool, default=False
        Whether to define ``NAME_class_names`` and, where they are known, ``NAME_feature_names``. In
        comments they are in any case.
    quantise : {"int8", "int16"}, default=None
        Type of weights, vectors and input weights of nodes, if they are to be rounded to whole numbers. Where
        features are of different sizes, ``ldexp`` is called too.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Typical rows, which rounding heeds, and on which the quantised model is compared with the exact one.
        Needed for ``quantise`` only.

    Returns
    -------
    export : CExport
        The files, their size as constants and, for a quantised model, how well it agrees.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from sparsebayes import SBLClassifier, export_c
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SBLClassifier().fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     export = export_c(clf, f"{folder}/iris.c", quantise="int16", X=X)
    >>> [path.name for path in export.paths], export.agreement.same_labels > 0.97
    (['iris.c', 'iris.h'], True)
    """
    frozen = as_frozen(model)
    frozen.check()
    target = Path(path)
    if dtype not in ("double", "float"):
        raise ValueError(f"dtype must be 'double' or 'float'. Got {dtype!r} instead.")
    if quantise is not None and quantise not in BITS:
        raise ValueError(f"quantise must be 'int8', 'int16' or None. Got {quantise!r} instead.")
    if quantise is not None and X is None:
        raise ValueError(f"quantise={quantise!r} needs typical rows X, to see what the rounding costs.")
    name = c_name(target, name)
    tables, agreement = Tables.exact(frozen), None
    if quantise is not None:
        tables = Tables.rounded(frozen, BITS[quantise], X)
        agreement = Agreement.of(frozen, tables.model, X)
    source = Source(tables, name, dtype, single=target.suffix == ".h")
    texts = source.files(target.with_suffix(".h").name, names, agreement)
    for suffix, text in texts.items():
        with replaced(target.with_suffix(suffix)) as file:
            file.write(text.encode("ascii"))
    return CExport(tuple(target.with_suffix(suffix) for suffix in texts), source.table_bytes, agreement)


def c_name(target: Path, name: str | None) -> str:
    """What C names begin with; a file or a name that cannot be is a ValueError."""
    if target.suffix not in (".c", ".h") or not re.fullmatch(r"[\w.+-]+", target.name, re.ASCII):
        raise ValueError(f"path must end in a plain file name with .c or .h. Got {target.name!r} instead.")
    name = target.stem if name is None else name
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(f"A name in C is a letter, then letters and digits. Got {name!r}: set name.")
    return name
