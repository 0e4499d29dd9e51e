"""Identification: from measured motions to the parameters of a robot, and how sure they are."""

from .identified import Identified
from .identify import identify
from .measured import Measured

__all__ = ["Identified", "Measured", "identify"]
