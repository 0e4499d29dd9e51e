"""What a user holds: a robot, with or without closed loops."""

from .builder import Builder
from .make import make
from .mechanism import Mechanism
from .robot import Robot

__all__ = ["Builder", "Mechanism", "Robot", "make"]
