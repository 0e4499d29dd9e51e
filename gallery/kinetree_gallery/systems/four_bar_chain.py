"""Mechanisms of any size: a row of coupled four-bar cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.model.joints import Revolute
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.spatial.numbers import whole_number

MOST_CELLS = 10_000
"""The most cells of a chain."""

BAR = 1.0 / 12.0
"""Inertia of a slender bar of 1 m and 1 kg about its middle."""


def four_bar_chain(cells: int) -> Robot:
    """Make a row of four-bar cells, each sharing a rod with the next: one freedom, whatever the length.

    Rods stand upright on the ground 1 m apart, one more than there are cells; a coupler joins
    the top of each rod to that of the next.  All ``2 cells + 1`` bars are slender, 1 m long and
    of 1 kg; the plane is xy, gravity along -y.  At zero the rods are upright; a positive angle
    of a rod leans it to the left.  The first rod's joint, ``rod_0_joint``, has the motor.

    Parameters
    ----------
    cells : int
        At least one.

    Returns
    -------
    Mechanism

    Examples
    --------
    >>> import kinetree as kt
    >>> chain = kt.gallery.four_bar_chain(3)
    >>> chain.nv
    7
    """
    count = _checked(cells)
    builder = Builder(f"four-bar-chain-{count}", base="ground", gravity=(0.0, -9.81, 0.0))
    hinge = Revolute("z")
    for k in range(count + 1):
        builder.body(
            f"rod_{k}", "ground", hinge, position=(k, 0.0, 0.0), actuated=k == 0,
            mass=1.0, com=(0.0, 0.5, 0.0), inertia=(BAR, 0.0, BAR),
        )  # fmt: skip
    for k in range(count):
        builder.body(
            f"coupler_{k}", f"rod_{k}", hinge, position=(0.0, 1.0, 0.0), actuated=False,
            mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.0, BAR, BAR),
        )  # fmt: skip
        builder.loop(f"pin_{k}", f"rod_{k + 1}", f"coupler_{k}", hinge, placement=(0.0, 1.0, 0.0), seat=(1.0, 0.0, 0.0))
    return builder.build()


def four_bar_chain_leaning(cells: int, lean: ArrayLike) -> np.ndarray:
    """Return the chain's coordinates when all rods lean by an angle and all couplers are level.

    Parameters
    ----------
    cells : int
    lean : array_like, shape (...)
        Angles in radians, one per configuration.

    Returns
    -------
    ndarray (..., 2 cells + 1)
    """
    count = _checked(cells)
    angle = np.asarray(lean, dtype=float)[..., None]
    return np.concatenate([np.repeat(angle, count + 1, axis=-1), np.repeat(-angle, count, axis=-1)], axis=-1)


def _checked(cells: int) -> int:
    return whole_number(cells, "the number of cells", 1, MOST_CELLS)
