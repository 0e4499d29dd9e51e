"""A pose at rest: its energy, and the forces with which motors hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, StateError
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

NOTHING = 1e-9
"""Forces below this fraction of the largest one are rounding errors."""


def at_rest(robot: Robot, q: Array) -> dict[str, Any]:
    """Describe a pose at rest.

    Parameters
    ----------
    robot : Robot
        A robot that may compute in plain Python: there is only one pose, and compiling would take longer.
    q : ndarray (nq,)

    Returns
    -------
    dict
        ``energy``: the potential energy, None if it cannot be computed; ``holding``: name, force and unit for every
        freedom with a motor; ``note``: why motors alone do not hold the pose, empty if they do.
    """
    found: dict[str, Any] = {"energy": None, "holding": [], "note": ""}
    still = np.zeros(robot.nv)
    try:
        found["energy"] = _plain(robot.potential_energy(q))
        forces = robot.inverse_dynamics(q, still, still)
    except StateError:  # a mechanism with open loops, or values that are not numbers
        return found
    except KinetreeError as problem:
        return found | {"note": str(problem)}
    driven = np.zeros(robot.nv, dtype=bool)
    for joint in robot.model.joints:
        driven[joint.v_slice] = joint.actuated
    moving = [
        joint.name
        for joint in robot.model.joints
        if np.any(np.abs(forces[joint.v_slice][~driven[joint.v_slice]]) > NOTHING * np.abs(forces).max())
    ]
    found["holding"] = [[robot.v_names[k], _plain(forces[k]), robot.tau_units[k]] for k in range(robot.nv) if driven[k]]
    if moving:
        shown = ", ".join(moving[:4]) + (", ..." if len(moving) > 4 else "")
        found["note"] = f"It does not stay in this pose: nothing drives {shown}."
    return found


def _plain(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None
