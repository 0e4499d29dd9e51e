"""SDF, the format of Gazebo and Drake: a reader with loops, nested models and couplings, and a writer."""

from .reader import read
from .writer import write

__all__ = ["read", "write"]
