"""A matplotlib figure as SVG inside a page, in the page's own colours and letters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

# What figures are drawn in, and what the page calls it: the same SVG is then right in light and in dark.
# The numbers mean nothing but must be different from each other.
INK, MUTED, GRID, SURFACE = "#010101", "#020202", "#030303", "#040404"
FIRST, SECOND, THIRD = "#050505", "#060606", "#070707"
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    SURFACE: "--surface",
    FIRST: "--first",
    SECOND: "--second",
    THIRD: "--third",
}
PIXELS = 72  # dots of an inch of SVG: a figure's sizes are then in pixels of the page


def require_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("A report needs matplotlib: pip install 'sparsebayes[report]'") from error


STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text, and takes the letters of the page
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.usetex": False,
    "font.family": "sans-serif",
    "font.size": 12.0,
    "axes.unicode_minus": True,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 12.0,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 11.5,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "path.simplify": True,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Whatever the user's own settings are, figures come out the same."""
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        # It measures text in a font that lacks some letters; the page's fonts have them.
        warnings.filterwarnings("ignore", message=".*Glyph .* missing from")
        warnings.filterwarnings("ignore", message=".*does not support .*natively")
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(STYLE)
        yield


def inline_svg(figure: Any, name: str) -> str:
    """The figure as an element of a page; ``name`` keeps its ids apart from those of other figures."""
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = name
    buffer = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>\s*", "", text, flags=re.DOTALL)  # it would be the whole page's
    text = _within_tags(text, name)
    return re.sub(r"\s*\n\s*", "\n", text)


def _within_tags(svg: str, name: str) -> str:
    """Changes to attributes alone: what stands between the tags is text of the user's."""
    return re.sub(r"<[^!?][^>]*>", lambda tag: _changed_tag(tag[0], name), svg)


def _changed_tag(tag: str, name: str) -> str:
    if tag.startswith("<svg"):
        box = re.search(r'viewBox="[^"]*"', tag)
        assert box is not None
        return f'<svg {box[0]} xmlns:xlink="http://www.w3.org/1999/xlink" aria-hidden="true">'
    tag = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', tag)
    tag = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", tag)
    tag = re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{name}-\1"', tag)
    tag = re.sub(r"font: (?:\w+ )*([\d.]+px) [^;\"]*", r"font-size: \1", tag)
    for colour, variable in VARIABLES.items():
        tag = tag.replace(colour, f"var({variable})")
    return tag
