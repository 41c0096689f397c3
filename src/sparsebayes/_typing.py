"""Array aliases shared by all layers.

Solver vectors are float64 whatever the storage of the data: float32 matrices stay
float32 in memory, but every sum over them is taken in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
IntVector = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
# A vector with an entry a row: an array, or a ``design.RowVector`` where rows are in blocks.
RowValues = Any
