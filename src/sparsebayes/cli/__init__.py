"""The command line: each command parses, calls public names, and prints."""

from sparsebayes.cli.main import main

__all__ = ["main"]
