"""One self-contained HTML file that says what a model is and how well it does."""

from sparsebayes.report.described import Described
from sparsebayes.report.evaluation import coded, evaluate
from sparsebayes.report.make import make_report
from sparsebayes.report.text import visible

__all__ = ["Described", "coded", "evaluate", "make_report", "visible"]
