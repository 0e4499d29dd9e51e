"""Identification: from measured motions to the parameters of a robot, and how sure they are."""

from .accumulation import Accumulator, accumulate_files
from .excitation import Excitation, exciting_motion, random_motion
from .identified import Identified
from .identify import identify
from .measured import Measured

__all__ = [
    "Accumulator",
    "Excitation",
    "Identified",
    "Measured",
    "accumulate_files",
    "exciting_motion",
    "identify",
    "random_motion",
]
