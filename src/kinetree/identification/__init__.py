"""Identification: from measured motions to the parameters of a robot, and how sure they are."""

from .excitation import Excitation, exciting_motion, random_motion
from .identified import Identified
from .identify import identify
from .measured import Measured

__all__ = ["Excitation", "Identified", "Measured", "exciting_motion", "identify", "random_motion"]
