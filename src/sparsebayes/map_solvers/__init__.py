"""argmin_w of the negative log posterior at fixed alpha."""

from sparsebayes.map_solvers.base import MapResult, MapSolver, MapStatus, admit
from sparsebayes.map_solvers.dqn import DQNSolver
from sparsebayes.map_solvers.newton import NewtonSolver
from sparsebayes.map_solvers.newton_cg import NewtonCGSolver

__all__ = ["DQNSolver", "MapResult", "MapSolver", "MapStatus", "NewtonCGSolver", "NewtonSolver", "admit"]
