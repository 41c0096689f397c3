"""How X is touched: the only layer that knows how a matrix is stored."""

from sparsebayes.design.base import ColumnScale, Design, ScaleName, as_design, row_shares
from sparsebayes.design.computed import ComputedDesign, HoldLimit
from sparsebayes.design.dense import row_slices
from sparsebayes.design.intercept import WithIntercept
from sparsebayes.design.meter import Meter, Metered
from sparsebayes.design.row_vector import RowVector, rowwise, rowwise_with_totals
from sparsebayes.design.rows import Here, RowBlocks, canonical, rows_of
from sparsebayes.design.threads import Threads, automatic_count, one_blas_thread
from sparsebayes.design.workers import Workers, WorkersLostError, rows_on

__all__ = [
    "ColumnScale",
    "ComputedDesign",
    "Design",
    "Here",
    "HoldLimit",
    "Meter",
    "Metered",
    "RowBlocks",
    "RowVector",
    "ScaleName",
    "Threads",
    "WithIntercept",
    "Workers",
    "WorkersLostError",
    "as_design",
    "automatic_count",
    "canonical",
    "one_blas_thread",
    "row_shares",
    "row_slices",
    "rows_of",
    "rows_on",
    "rowwise",
    "rowwise_with_totals",
]
