"""Identification: from measured motions to the parameters of a robot, and how sure they are."""

from .accumulation import Accumulator, accumulate_files

__all__ = ["Accumulator", "accumulate_files"]
