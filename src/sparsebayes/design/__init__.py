"""How X is touched: the only layer that knows how a matrix is stored."""

from sparsebayes.design.base import ColumnScale, Design, ScaleName, as_design, row_shares
from sparsebayes.design.intercept import WithIntercept
from sparsebayes.design.meter import Meter, Metered

__all__ = [
    "ColumnScale",
    "Design",
    "Meter",
    "Metered",
    "ScaleName",
    "WithIntercept",
    "as_design",
    "row_shares",
]
