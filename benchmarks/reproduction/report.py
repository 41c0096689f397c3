"""The page as one HTML file: figures inside, tables that sort, light and dark; nothing is loaded."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt  # comes with rich

from benchmarks.reproduction.page import PAGE, page

STYLE = """
:root { color-scheme: light dark;
        --ink: #1c1e21; --paper: #fff; --line: #d5d8dc; --soft: #f3f4f6; --accent: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --paper: #15171a; --line: #3a3e44; --soft: #202327; --accent: #7db8f5; }
}
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; color: var(--ink); background: var(--paper);
       font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 0.6rem; }
a { color: var(--accent); }
code { background: var(--soft); padding: 0.1em 0.3em; border-radius: 3px; font-size: 0.9em; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.88rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem; vertical-align: top; }
th { background: var(--soft); position: sticky; top: 0; text-align: left; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
figure { margin: 1rem 0; padding: 0.5rem; overflow-x: auto; border-radius: 6px;
         background: #fff; color: #000; }
figure svg { max-width: 100%; height: auto; }
"""
SCRIPT = """
const number = text => parseFloat(text.replace("−", "-"));
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(each => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((one, other) => {
        const [a, b] = [one, other].map(row => row.cells[column].textContent.trim());
        const [x, y] = [number(a), number(b)];
        if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;  // words last
        const order = isNaN(x) ? a.localeCompare(b) : x - y;
        return descending ? -order : order;
      });
      body.append(...rows);
    });
  });
}
"""


def report(text: str | None = None, folder: Path = PAGE.parent) -> str:
    """HTML of the page; pictures are looked for relative to ``folder``."""
    body = MarkdownIt("commonmark").enable("table").render(page() if text is None else text)
    body = re.sub(
        r'<p><img src="([^"]+)" alt="([^"]*)" /></p>', lambda found: _figure(folder, *found.groups()), body
    )
    body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    title = re.search(r"<h1>(.*?)</h1>", body)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title.group(1) if title else 'Reproduction'}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _figure(folder: Path, source: str, title: str) -> str:
    """The picture itself; its names get a prefix, so that two pictures do not share any."""
    path = folder / source
    svg = path.read_text()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{path.stem}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{path.stem}-", svg)
    return f'<figure role="img" aria-label="{title}">{svg}<figcaption>{title}</figcaption></figure>'
