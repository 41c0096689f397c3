"""The pictures of a report. Each is as wide as a phone, so that letters are read there at their own size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from sparsebayes._typing import AnyArray, Matrix, Vector
from sparsebayes.report.evaluation import Calibration, Roc, wilson
from sparsebayes.report.svg import (
    FIRST,
    INK,
    MUTED,
    PIXELS,
    SECOND,
    SURFACE,
    THIRD,
    drawing,
    inline_svg,
)
from sparsebayes.report.text import visible
from sparsebayes.report.training import Course

WIDTH = 340
BAR_HEIGHT = 21
LONGEST_LABEL = 24
# From this many on, sizes are on a logarithmic axis.
WIDE_RANGE = 60
# From this ratio of the largest to the least on, losses and the like are too.
WIDE_SPAN = 10.0
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def drawn(name: str, draw: Callable[[Any], None], height: float, width: float = WIDTH) -> str:
    """The SVG of one pair of axes, which ``draw`` fills."""
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width / PIXELS, height / PIXELS), dpi=PIXELS, layout="constrained")
        draw(figure.add_subplot())
        return inline_svg(figure, name)


def bars(
    name: str, labels: Sequence[str], values: Vector, std: Vector | None, sides: tuple[str, str] | None
) -> str:
    """Horizontal bars, the first on top, with two standard deviations to either side."""

    def draw(ax: Any) -> None:
        y = np.arange(len(values))
        colours = [FIRST if value > 0.0 else SECOND for value in values]
        ax.barh(y, values, height=0.62, color=colours, alpha=0.85 if std is None else 0.6, lw=0)
        if std is not None:
            ax.errorbar(values, y, xerr=2.0 * std, fmt="none", ecolor=INK, elinewidth=1.3, capsize=2.5)
        ax.axvline(0.0, color=MUTED, lw=1.0)
        ax.set_yticks(y, [visible(label, LONGEST_LABEL) for label in labels])
        ax.tick_params(axis="y", length=0, labelcolor=INK)
        ax.set_ylim(len(values) - 0.4, -0.6)
        ax.grid(axis="y", visible=False)
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_locator(_few_ticks(5))
        if sides is not None:
            first, second = (visible(side, 18) for side in sides)
            label = f"← {first}\u2003\u2003{second} →"  # wide spaces: SVG joins others
            if len(label) <= LONGEST_LABEL + 4:
                ax.set_xlabel(label)
            else:  # the axes are too narrow for it
                ax.figure.supxlabel(label, fontsize="medium", color=MUTED)

    return drawn(name, draw, BAR_HEIGHT * len(values) + 58)


def history(name: str, courses: Sequence[Course], column: str, label: str, *, may_log: bool) -> str | None:
    """A column of the history against iterations, a line a binary problem; None where it has no number."""
    lines = [(course, course.history) for course in courses if course.history]
    known = np.concatenate([np.empty(0), *(table[column] for _, table in lines)])
    if not np.isfinite(known).any():
        return None
    log = may_log and _spans_decades(known[known > 0.0])

    def draw(ax: Any) -> None:
        many = len(lines) > 1
        for course, table in lines:
            values = _positive(table[column], log)
            on_path = course.taken is not None and len(values) > 1
            last = len(values) - 1 if on_path else len(values)
            style = {"marker": "o", "ms": 3.0} if last < 40 and not many else {}
            alpha, lw = (max(0.9 / np.sqrt(len(lines)), 0.15), 1.2) if many else (1.0, 1.8)
            ax.plot(table["iteration"][:last], values[:last], color=FIRST, alpha=alpha, lw=lw, **style)
            if on_path:  # the last record is the model that was taken, at an earlier point of the path
                near = int(np.argmin(np.abs(table["n_active"][:last] - table["n_active"][last])))
                _mark(ax, table["iteration"][near], values[last], small=many)
        if log:
            _log_axis(ax)
        else:
            ax.yaxis.set_major_locator(_few_ticks(5, integer=column == "n_active"))
        ax.xaxis.set_major_locator(_few_ticks(5, integer=True))
        ax.set_xlabel("iteration")
        ax.set_title(label)

    return drawn(name, draw, 230)


def curve_by_size(
    name: str,
    curves: Sequence[tuple[Vector, Vector, int | None]],
    labels: tuple[str, str, str],
    values_are: Literal["shares", "losses", "differences", "numbers"],
) -> str:
    """Values against the number of functions kept; a curve is sizes, values and which point was taken.

    ``labels``: of the title, of the sizes, and of the point taken. Models of no function at all are left out:
    they are so much worse that nothing else would be seen.
    """
    title, size_label, taken_label = labels

    def draw(ax: Any) -> None:
        many = len(curves) > 1
        known = np.concatenate([sizes[sizes > 0.0] for sizes, _, _ in curves])
        log = bool(known.max(initial=0.0) >= WIDE_RANGE) and _spans_decades(known)
        alpha, lw = (max(0.9 / np.sqrt(len(curves)), 0.15), 1.2) if many else (1.0, 1.8)
        for sizes, values, taken in curves:
            x = _positive(sizes, True)
            style = {} if many or len(x) > 60 else {"marker": "o", "ms": 3.0}
            ax.plot(x, values, color=FIRST, alpha=alpha, lw=lw, **style)
            if taken is not None:
                _mark(ax, x[taken], values[taken], small=many, label=taken_label)
        if log:
            ax.set_xscale("log")
            _log_ticks(ax.xaxis, ax.get_xlim())
        else:
            ax.xaxis.set_major_locator(_few_ticks(6, integer=True))
        _value_axis(ax, curves, values_are)
        ax.set_xlabel(size_label)
        ax.set_title(title)
        _legend_below(ax)

    return drawn(name, draw, 265)


def _value_axis(ax: Any, curves: Sequence[tuple[Vector, Vector, int | None]], values_are: str) -> None:
    known = np.concatenate([values[sizes > 0.0] for sizes, values, _ in curves])
    if values_are == "losses" and _spans_decades(known):
        _log_axis(ax)
        return
    if values_are == "differences" and len(known):  # the few that are far off would flatten the others
        far = float(np.quantile(np.abs(known), 0.8)) or 1.0
        ax.set_ylim((-0.05 * far, far) if known.max() > 0.0 else (-far, 0.05 * far))
    if values_are == "shares":
        ax.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:g}%")
    ax.yaxis.set_major_locator(_few_ticks(5))


def roc(name: str, curves: Sequence[Roc], labels: Sequence[str]) -> str:
    """One curve, or one a class: the worst then stands out."""

    def draw(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], ls=(0, (2, 3)), color=MUTED, lw=1.2)
        worst = min(range(len(curves)), key=lambda k: curves[k].auc)
        several = len(curves) > 1 and curves[worst].auc < 1.0
        for k, curve in enumerate(curves):
            if k != worst:
                ax.plot(*_steps(curve), color=FIRST, alpha=0.5, lw=1.2)
        note = f"{visible(labels[worst], 20)}, the least AUC" if several else None
        colour = SECOND if several else FIRST
        ax.plot(*_steps(curves[worst]), color=colour, lw=2.2, label=note)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.set_title("ROC")
        if note is not None:
            ax.legend(loc="lower right")

    return drawn(name, draw, 330)


def _steps(curve: Roc, most: int = 400) -> tuple[Vector, Vector]:
    """Corners alone, and not more than a picture can show."""
    false, true = curve.false, curve.true
    inner = np.flatnonzero((np.diff(false)[:-1] > 0.0) != (np.diff(false)[1:] > 0.0)) + 1
    kept = np.unique(np.concatenate([[0], inner, [len(false) - 1]]))
    if len(kept) > most:
        kept = kept[np.linspace(0, len(kept) - 1, most).round().astype(int)]
    return false[kept], true[kept]


def calibration(name: str, found: Calibration, said: str, happened: str) -> str:
    """What happened against what was said, with intervals of 95%, over the rows of each bin."""

    def draw(ax: Any) -> None:
        used = found.counts > 0
        share = found.happened[used]
        low, high = wilson(share * found.counts[used], found.counts[used])
        centres = (np.arange(len(found.counts)) + 0.5) / len(found.counts)
        most = max(int(found.counts.max()), 1)
        ax.bar(centres, 0.25 * found.counts / most, width=0.085, color=MUTED, alpha=0.25, lw=0)
        ax.plot([0, 1], [0, 1], ls=(0, (2, 3)), color=MUTED, lw=1.2)
        errors = np.abs(np.array([share - low, high - share]))
        ax.errorbar(found.said[used], share, errors, color=FIRST, fmt="none", elinewidth=1.2, alpha=0.7)
        sizes = 12.0 + 90.0 * np.sqrt(found.counts[used] / most)
        ax.scatter(found.said[used], share, sizes, color=FIRST, edgecolors=SURFACE, linewidths=0.8, zorder=3)
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        ax.set_xlabel(said)
        ax.set_ylabel(happened)
        ax.set_title("Calibration")

    return drawn(name, draw, 330)


def regions(
    name: str,
    axes: tuple[Vector, Vector],
    proba: Matrix,
    points: tuple[Matrix, AnyArray] | None,
    vectors: Matrix | None,
    names: tuple[Sequence[str], Sequence[str]],
) -> str:
    """The plane of two features, tinted by class: the stronger, the more certain."""
    classes, features = names
    colours = [SECOND, FIRST] if len(classes) == 2 else [FIRST, SECOND, THIRD, MUTED, INK]

    def draw(ax: Any) -> None:
        for k, label in enumerate(classes):
            others = np.delete(proba, k, axis=2).max(axis=2)
            lead = proba[:, :, k] - others
            for level in (0.0, 0.35, 0.7, 0.95):
                if lead.max() > level:
                    ax.contourf(*axes, lead, levels=[level, 2.0], colors=[colours[k]], alpha=0.14)
            if lead.max() > 0.0 > lead.min():
                ax.contour(*axes, lead, levels=[0.0], colors=[MUTED], linewidths=1.0)
            if points is not None:
                own = points[0][points[1] == k]
                ax.plot(*own.T, "o", ms=3.5, color=colours[k], mec=SURFACE, mew=0.5, label=visible(label, 18))
        if vectors is not None:
            label = "relevance vectors"
            ax.plot(*vectors.T, "o", ms=9, mfc="none", mec=INK, mew=1.6, label=label)
        ax.set_xlabel(visible(features[0], 40))
        ax.set_ylabel(visible(features[1], 40))
        ax.grid(visible=False)
        ax.set(xlim=axes[0][[0, -1]], ylim=axes[1][[0, -1]])
        _legend_below(ax)

    return drawn(name, draw, 350)


def accuracy_by_size(name: str, rows: Sequence[tuple[str, int, float, tuple[float, float]]]) -> str:
    """Accuracy with its interval against the numbers that a model stores; the first row is the model."""

    def draw(ax: Any) -> None:
        for k, (label, n_stored, share, (low, high)) in enumerate(rows):
            colour = (FIRST, SECOND, THIRD)[k % 3]
            errors = [[100.0 * (share - low)], [100.0 * (high - share)]]
            ax.errorbar(
                [max(n_stored, 1)],
                [100.0 * share],
                errors,
                fmt="osD"[k % 3],
                ms=8 if k == 0 else 6,
                color=colour,
                capsize=3,
                label=visible(label, 34),
            )
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ax.set_xlim(low / 2.0, high * 2.0)
        _log_ticks(ax.xaxis, ax.get_xlim())
        ax.yaxis.set_major_locator(_few_ticks(5))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}%")
        ax.set_xlabel("numbers to store")
        ax.set_title("Accuracy")
        _legend_below(ax, columns=1)

    return drawn(name, draw, 310)


def _mark(ax: Any, x: float, y: float, *, small: bool, label: str | None = None) -> None:
    known = label in ax.get_legend_handles_labels()[1]
    size, width = (4.0, 1.0) if small else (9.0, 2.0)
    ax.plot(
        [x],
        [y],
        "o",
        ms=size,
        mfc="none" if not small else SECOND,
        mec=SECOND,
        mew=width,
        zorder=5,
        label=None if known else label,
    )


def _legend_below(ax: Any, columns: int = 2) -> None:
    if ax.get_legend_handles_labels()[0]:
        ax.figure.legend(loc="outside lower center", ncols=columns, handletextpad=0.4, columnspacing=1.2)


def _positive(values: Vector, log: bool) -> Vector:
    return np.where(values > 0.0, values, np.nan) if log else values


def _few_ticks(n: int, *, integer: bool = False) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(n, integer=integer, min_n_ticks=1 if integer else 2)


def _spans_decades(values: Vector) -> bool:
    """Whether a logarithmic axis is worth its trouble."""
    known = values[np.isfinite(values)]
    return bool(len(known) and known.min() > 0.0 and known.max() > WIDE_SPAN * known.min())


def _log_axis(ax: Any) -> None:
    ax.set_yscale("log")
    _log_ticks(ax.yaxis, ax.get_ylim())


def power_of_ten(value: float) -> str:
    """10⁻⁵, without the help of TeX, which is switched off for the sake of names."""
    exponent = round(np.log10(value)) if value > 0.0 else 0
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def _log_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """1, 2, 5, 10 ... where decades are few; else powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = limits
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300.0 * low else (1.0,), numticks=7))
    plain = low > 1e-4 and high < 1e6
    axis.set_major_formatter(lambda v, _: f"{v:g}" if plain else power_of_ten(v))
    axis.set_minor_formatter(NullFormatter())
