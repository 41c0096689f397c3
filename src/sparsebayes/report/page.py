"""Pieces of a page. Text is escaped where it enters; only what was made here passes as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from sparsebayes.report.text import escaped


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Text = str | Html


def html(text: Text) -> Html:
    return text if isinstance(text, Html) else Html(escaped(text))


def joined(parts: Sequence[Text]) -> Html:
    return Html("\n".join(html(part) for part in parts))


def paragraph(text: Text, style: str = "") -> Html:
    attribute = f' class="{style}"' if style else ""
    return Html(f"<p{attribute}>{html(text)}</p>")


def section(identifier: str, heading: str, parts: Sequence[Text]) -> Html:
    body = joined(parts)
    return Html(
        f'<section id="{identifier}" aria-labelledby="{identifier}-heading">\n'
        f'<h2 id="{identifier}-heading">{html(heading)}</h2>\n{body}\n</section>'
    )


def subheading(text: str) -> Html:
    return Html(f"<h3>{html(text)}</h3>")


def figure(svg: str, label: str, caption: Text | None = None) -> Html:
    """``label`` says to those who do not see it what the picture shows."""
    below = "" if caption is None else f"\n<figcaption>{html(caption)}</figcaption>"
    return Html(f'<figure><div role="img" aria-label="{html(label)}">\n{svg}</div>{below}</figure>')


def side_by_side(parts: Sequence[Html]) -> Html:
    return Html(f'<div class="side-by-side">\n{joined(parts)}\n</div>')


def facts(entries: Sequence[tuple[str, str, str]]) -> Html:
    """Names, values, and what may be added to a value in small letters."""
    rows = []
    for name, value, note in entries:
        small = f"<small>{html(note)}</small>" if note else ""
        rows.append(f"<div><dt>{html(name)}</dt><dd>{html(value)}{small}</dd></div>")
    return Html('<dl class="facts">\n' + "\n".join(rows) + "\n</dl>")


def details(summary: str, parts: Sequence[Text]) -> Html:
    return Html(f"<details>\n<summary>{html(summary)}</summary>\n{joined(parts)}\n</details>")


@dataclass(frozen=True, slots=True)
class Tinted:
    """A cell whose ground says how large its number is: from -1, of the second colour, to 1, of the first."""

    text: str
    strength: float


Cell = Text | Tinted


def table(
    caption: Text, header: Sequence[Text], rows: Sequence[Sequence[Cell]], style: str = "", words: int = 1
) -> Html:
    """With a heading a row, in its first column; all but the first ``words`` columns are numbers."""
    attribute = f' class="{style}"' if style else ""
    head = "".join(f'<th scope="col"{_numeric(k, words)}>{html(name)}</th>' for k, name in enumerate(header))
    body = "\n".join(_row(row, words) for row in rows)
    return Html(
        f'<div class="scroll" tabindex="0"><table{attribute}>\n'
        f"<caption><span>{html(caption)}</span></caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def _row(row: Sequence[Cell], words: int) -> str:
    first, *others = row
    assert not isinstance(first, Tinted)
    cells = "".join(_cell(cell, k, words) for k, cell in enumerate(others, start=1))
    return f'<tr><th scope="row">{html(first)}</th>{cells}</tr>'


def _cell(cell: Cell, k: int, words: int) -> str:
    if isinstance(cell, Tinted):
        colour = "first" if cell.strength > 0.0 else "second"
        # Not the full colour: the number is to be read on it.
        alpha = min(abs(cell.strength), 1.0) * 0.55
        tint = f' style="background:rgb(var(--{colour}-rgb) / {alpha:.2f})"' if alpha >= 0.005 else ""
        zero = " zero" if cell.strength == 0.0 else ""
        return f'<td class="n{zero}"{tint}>{html(cell.text)}</td>'
    return f"<td{_numeric(k, words)}>{html(cell)}</td>"


def _numeric(k: int, words: int) -> str:
    return "" if k < words else ' class="n"'


def page(title: str, lead: Sequence[Text], sections: Sequence[Html], footer: Text) -> str:
    folder = files("sparsebayes.report").joinpath("templates")
    template = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html(title),
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        lead=joined(lead),
        sections=joined(sections),
        footer=html(footer),
    )
