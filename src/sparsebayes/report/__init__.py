"""One self-contained HTML file that says what a model is and how well it does."""

from sparsebayes.report.make import make_report

__all__ = ["make_report"]
