"""Draws all figures, or those that are named: ``python -m docs.figures [idea] [choosing] [path] [sizes]``."""

from __future__ import annotations

import sys

from docs.figures import choosing, idea, path, sizes

FIGURES = {"idea": idea, "choosing": choosing, "path": path, "sizes": sizes}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        print(f"written: docs/figures/{FIGURES[name].draw().name}")
