"""Links within a site that lead nowhere are found."""

from __future__ import annotations

import pytest

from docs.check_links import faults

GOOD = {
    "index.html": '<a href="part/page.html#here">there</a> <a href="#top">up</a> <h1 id="top">Title</h1>',
    "part/page.html": '<a href="../index.html">back</a> <p id="here"></p> <img src="../a%20picture.png">',
    "a picture.png": "",
    "_static/template.html": '<a href="{{ somewhere }}"></a>',
}


def site(folder, **changed):
    for name, text in {**GOOD, **changed}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_good_site_has_no_faults(tmp_path):
    assert faults(site(tmp_path)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<a href="nowhere.html">', "nowhere.html is not there"),
        ('<img src="nothing.png">', "nothing.png is not there"),
        ('<a href="../../other.html">', "../../other.html is not there"),
        ('<a href="part/page.html#gone">', "part/page.html#gone is an anchor that its page does not have"),
        ('<a href="#gone">', "#gone is an anchor that its page does not have"),
        ('<script src="https://example.org/x.js">', "https://example.org/x.js is loaded from elsewhere"),
        (
            '<link rel="stylesheet" href="//example.org/x.css">',
            "//example.org/x.css is loaded from elsewhere",
        ),
    ],
)
def test_a_fault_is_told_with_its_page(tmp_path, text, said):
    assert faults(site(tmp_path, **{"index.html": text})) == [f"index.html: {said}"]


def test_addresses_elsewhere_are_not_followed(tmp_path):
    text = '<a href="https://example.org/gone"> <a href="mailto:a@example.org"> <link rel="canonical" href="https://x.org">'
    assert faults(site(tmp_path, **{"index.html": text})) == []


def test_a_folder_without_pages_is_a_fault(tmp_path):
    assert "has no pages" in faults(tmp_path)[0]
