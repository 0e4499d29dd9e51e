"""Identification: from measured motions to the parameters of a robot, and how sure they are."""

from .accumulation import Accumulator, accumulate_files
from .identified import Identified
from .identify import identify
from .measured import Measured

__all__ = ["Accumulator", "Identified", "Measured", "accumulate_files", "identify"]
