"""Identification: from measured motions to the parameters of a robot, and how sure they are."""

from .accumulation import Accumulator, accumulate_files
from .differentiation.differentiated import DifferentiatedMotion, differentiated
from .excitation import Excitation, exciting_motion, random_motion
from .identified import Identified
from .identify import identify
from .measured import Measured
from .payload import Payload, drive_gains, identify_payload
from .simulated.output_error import Refined, refine_by_output_error

__all__ = [
    "Accumulator",
    "DifferentiatedMotion",
    "Excitation",
    "Identified",
    "Measured",
    "Payload",
    "Refined",
    "accumulate_files",
    "differentiated",
    "drive_gains",
    "exciting_motion",
    "identify",
    "identify_payload",
    "random_motion",
    "refine_by_output_error",
]


def __dir__() -> list[str]:
    """Return what is meant for users."""
    return sorted(__all__)
