"""Sphinx configuration."""

import sys
from pathlib import Path

import sparsebayes

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_style, which Sphinx must know by name

project = "sparsebayes"
copyright = "2026, The sparsebayes developers"
release = version = sparsebayes.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_inherit_docstrings = True
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery_style.ReadingOrder",
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "abort_on_example_error": True,
    "capture_repr": (),
    "doc_module": ("sparsebayes",),
    "download_all_examples": False,
    "thumbnail_size": (560, 392),
    # Times differ from build to build.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "sparsebayes"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
