"""Plots in scikit-learn's Display convention; matplotlib is imported when something is drawn."""

from sparsebayes.display.calibration import CalibrationComparisonDisplay
from sparsebayes.display.path import PathDisplay, l1_path
from sparsebayes.display.regions import DecisionRegionsDisplay
from sparsebayes.display.spectrum import AlphaSpectrumDisplay

__all__ = [
    "AlphaSpectrumDisplay",
    "CalibrationComparisonDisplay",
    "DecisionRegionsDisplay",
    "PathDisplay",
    "l1_path",
]
