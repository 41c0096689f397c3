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
myst_enable_extensions = ["dollarmath"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_show_sourcelink = False
