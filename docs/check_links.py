"""Fails on links of a built site that lead nowhere in it: ``python docs/check_links.py docs/_build/html``.

Pages, files and anchors; addresses elsewhere are not asked. Nor may a page load anything from elsewhere: the
site is to be read without a network. Needs nothing but the standard library.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, as opposed to where a reader may go.
LOADED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("link", "href")}
NAMED = {"a": "href", **dict(LOADED)}
# Told to machines, not loaded.
RELATIONS = {"canonical", "search", "index", "next", "prev", "author", "license"}


@dataclass
class Page(HTMLParser):
    """The anchors and the links of one page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        target = values.get(NAMED.get(tag, ""))
        if target is None:
            return
        self.links.append(target)
        if (tag, NAMED[tag]) in LOADED and not RELATIONS & set(values.get("rel", "").split()):
            self.loads.append(target)


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def faults(site: Path) -> list[str]:
    """In words, with the page that each is on."""
    site = site.resolve()
    # Below _static the theme has templates, which are no pages.
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: read(path) for path in paths}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in sorted(set(page.links)):
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_relative_to(site) or not target.is_file():
                found.append(f"{where}: {link} is not there")
            elif (
                address.fragment
                and target in pages
                and unquote(address.fragment) not in pages[target].anchors
            ):
                found.append(f"{where}: {link} is an anchor that its page does not have")
        found += [f"{where}: {link} is loaded from elsewhere" for link in page.loads if urlsplit(link).netloc]
    return found if pages else [f"{site} has no pages"]


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(1 if lines else 0)
