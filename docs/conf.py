"""Sphinx configuration."""

import sparsebayes

project = "sparsebayes"
copyright = "2026, The sparsebayes developers"
release = version = sparsebayes.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_inherit_docstrings = True
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "sparsebayes"
html_sidebars = {"**": []}  # few pages: the bar on top names them all
html_show_sourcelink = False
