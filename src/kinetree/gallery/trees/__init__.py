"""Systems without loops: arms, chains, walking machines, robots in space; one file per family.

Beside the systems themselves: :func:`chain`, as long as one likes, and :func:`walker`, a
walking machine with its walk, its ground and its controllers.
"""

from __future__ import annotations

from ..system import System
from . import arms, bipeds_in_support, chains, legged, space
from .chains import chain
from .walker import Walker, walker

__all__ = ["SYSTEMS", "Walker", "chain", "walker"]

SYSTEMS: tuple[System, ...] = (
    arms.GRIPPER,
    arms.KUKA,
    bipeds_in_support.BIPED_SPATIAL_FIXED,
    legged.BIPED_PLANAR,
    legged.BIPED_SPATIAL,
    legged.QUADRUPED,
    legged.HEXAPOD,
    arms.PUMA,
    arms.STANFORD_ARM,
    legged.BIPED_UNIFIED,
    chains.CHAIN,
    chains.SPATIAL_DOUBLE_PENDULUM,
    space.THREE_LINK,
    space.SEVEN_LINK,
    space.DUAL_ARM,
)
