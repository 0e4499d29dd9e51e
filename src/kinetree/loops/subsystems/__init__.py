"""Inverse dynamics of closed chains subsystem by subsystem: small systems of equations, one after the other."""

from .branches import Subsystem, subsystems
from .order import SolutionOrder, SolutionStep
from .recursion import SolutionPlan, SubsystemSolution, solve

__all__ = ["SolutionOrder", "SolutionPlan", "SolutionStep", "Subsystem", "SubsystemSolution", "solve", "subsystems"]
