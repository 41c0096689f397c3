"""From a model, and rows where there are some, to a page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparsebayes._typing import IntVector
from sparsebayes.frozen import FrozenModel, as_frozen
from sparsebayes.io import BlockStore
from sparsebayes.io.checked import replaced
from sparsebayes.report.described import NAMED_CLASSES, Described
from sparsebayes.report.evaluation import Evaluation, coded, evaluate
from sparsebayes.report.judged import judged_section, rivals_section
from sparsebayes.report.kept import kept_section
from sparsebayes.report.page import Html, Text, page
from sparsebayes.report.path import JudgedPath, path_section
from sparsebayes.report.rivals import fitted_rivals
from sparsebayes.report.sections import c_section, c_sizes, lead, training_section
from sparsebayes.report.svg import require_matplotlib
from sparsebayes.report.text import listing, visible

MAX_PATH_POINTS = 40


def make_report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    train: tuple[Any, Any] | None = None,
    rivals: bool = False,
    title: str | None = None,
    date: Any = None,
) -> Path:
    """Write a report of a model: one HTML file that needs nothing else, for screens, phones and paper.

    It says in a sentence what the model is, and shows the kept features (vectors, nodes) with their weights
    and posterior intervals, the course of the fit, the sizes along its path, and what it takes as C. With
    held-out rows it adds accuracy, log loss, the confusion matrix, ROC and calibration; with training rows,
    on request, how logistic regression and a support vector machine do.

    Parameters
    ----------
    model : fitted classifier of this package, or FrozenModel
        What to report on, for instance from :func:`load_model`. A classifier knows the other models on its
        path, which are then judged on the held-out rows too; a file knows what they were chosen by.
    path : str or path-like
        The file; an older one is replaced in one step.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows that the model was not fitted to.
    y : array-like of shape (n_samples,), default=None
        Their labels.
    train : tuple (X, y), default=None
        Training rows and their labels: for ``rivals``, and to round by for C.
    rivals : bool, default=False
        Whether to fit logistic regression and a support vector machine to the training rows, tuned by
        5-fold cross-validation, and to compare. Needs ``train``, X and y.
    title : str, default=None
        Heading of the page; made of the estimator's name and the classes if None.
    date : date or str, default=None
        Shown at the end of the page. Nothing is shown if None: the same input then gives the same bytes.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparsebayes import SBLClassifier, make_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SBLClassifier().fit(X[:400], y[:400])
    >>> with TemporaryDirectory() as folder:
    ...     path = make_report(clf, f"{folder}/report.html", X[400:], y[400:])
    ...     "Confusion matrix" in path.read_text(encoding="utf-8")
    True
    """
    require_matplotlib()
    frozen = as_frozen(model)
    frozen.check()
    held_out = _rows(frozen, X, y, "X and y")
    X_train, y_train = (None, None) if train is None else train
    training = _rows(frozen, X_train, y_train, "train")
    if rivals and (held_out is None or training is None):
        raise ValueError("Rivals need training rows to be fitted to, train, and held-out rows, X and y.")
    typical = training or held_out
    described = Described.of(frozen, None if typical is None else typical.X)
    above, sections = _content(model, described, held_out, training, rivals)
    text = page(_title(described) if title is None else title, above, sections, _footer(described, date))
    target = Path(path)
    with replaced(target) as file:
        file.write(text.encode("utf-8"))
    return target


@dataclass(frozen=True, slots=True)
class Rows:
    """Valid rows, and the codes of their labels."""

    X: Any
    codes: IntVector


def _rows(model: FrozenModel, X: Any, y: Any, what: str) -> Rows | None:
    if X is None and y is None:
        return None
    if X is None or y is None:
        raise ValueError(f"Rows and labels go together: {what} must both be given, or neither.")
    X = X.to_csr() if isinstance(X, BlockStore) else X
    rows, codes = model.rows(X), coded(y, model.classes)
    if rows.shape[0] != len(codes):
        raise ValueError(f"{what}: there are {rows.shape[0]} rows, but {len(codes)} labels.")
    if not len(codes):
        raise ValueError(f"{what}: there is no row.")
    return Rows(rows, codes)


def _content(
    model: Any, described: Described, held_out: Rows | None, training: Rows | None, rivals: bool
) -> tuple[list[Text], list[Html]]:
    """What stands above the sections, and the sections."""
    frozen = described.model
    typical = training or held_out
    sizes = c_sizes(described, None if typical is None else typical.X)
    found = None
    sections: list[Html | None] = []
    if held_out is None:
        sections.append(kept_section(described, None, None))
    else:
        found = evaluate(frozen, held_out.X, held_out.codes, frozen.classes)
        sections += [kept_section(described, held_out.X, held_out.codes), judged_section(described, found)]
        if rivals and training is not None:
            others = fitted_rivals(training.X, training.codes, held_out.X, held_out.codes, frozen.classes)
            sections.append(rivals_section(described, found, others, len(training.codes)))
    sections.append(path_section(described, _judged_path(model, described, held_out)))
    sections += [training_section(described), c_section(sizes)]
    return lead(described, found, sizes), [part for part in sections if part is not None]


def _judged_path(model: Any, described: Described, held_out: Rows | None) -> JudgedPath | None:
    """The models on a classifier's path on the held-out rows."""
    if held_out is None or not hasattr(model, "path_"):
        return None

    def judged(point: FrozenModel) -> Evaluation:
        return evaluate(point, held_out.X, held_out.codes, point.classes)

    paths = [model.path_] if isinstance(model.path_, dict) else model.path_
    limits = np.unique(np.concatenate([each["n_relevant"] for each in paths]))
    limits = limits[limits >= max(int(each["n_relevant"][-1]) for each in paths)]
    if len(limits) > MAX_PATH_POINTS:
        limits = np.unique(np.geomspace(max(limits[0], 1), limits[-1], MAX_PATH_POINTS).round().astype(int))
    found = {described.mean_size: judged(described.model)}
    for limit in limits.tolist():
        point = model.at(limit).freeze()
        found.setdefault(len(point.weights) / point.n_problems, judged(point))
    order = sorted(found)
    return JudgedPath(
        np.array(order),
        np.array([found[size].accuracy.share for size in order]),
        np.array([found[size].log_loss for size in order]),
        order.index(described.mean_size),
    )


def _title(described: Described) -> str:
    classes = described.classes
    says = listing(classes) if len(classes) <= NAMED_CLASSES else f"{len(classes)} classes"
    return f"{visible(described.training.estimator)}: {says}"


def _footer(described: Described, date: Any) -> str:
    version = described.training.version
    made = "" if version is None else f" The model was made by version {visible(version, 20)}."
    when = "" if date is None else f" {visible(str(date))}."
    return f"Made by sparsebayes.{made}{when} This page holds everything it shows and loads nothing."
