"""Parallel robots of our own: a Stewart platform and a delta robot."""

from __future__ import annotations

import numpy as np

from ...model.tree import BASE
from ...robot.platform.platform import Platform
from ..along import NINE_POINTS
from ..loop_analyses import Prescribed, free_fall, inverse, point, replay, sizes
from ..study import Fact, Study


def _margin(along: Prescribed, frame: str, orientation: bool) -> float:
    """The smallest distance from a singularity along the motion, 0 at one and 1 far away."""
    platform = Platform(along.mechanism, frame, orientation=orientation)
    margins = platform.margins(along.states.q[:: max(1, len(along.states.q) // 40)])
    return float(min(np.min(values) for values in margins.values()))


def _stewart(along: Prescribed) -> list[Fact]:
    mechanism, t = along.mechanism, along.time
    wave, rise = np.sin(np.pi * t), 0.5 * (1.0 - np.cos(np.pi * t))
    wanted = np.stack([0.08 * wave, -0.05 * wave, 0.7 + 0.1 * rise], axis=-1)
    return [
        Fact("moving links, joints, loops", (13, 18, 5), sizes(mechanism)),
        Fact("freedoms of the tree and constraints: 21 and 15, none redundant", (21, 15),
             (mechanism.nv, mechanism.n_constraints)),
        Fact("the platform goes where it is sent; largest difference", 1e-12,
             float(np.abs(point(mechanism, along.states.q, "middle") - wanted).max()), "m", relation="<"),
        Fact("the six feet carry the weight and what accelerates it; largest difference", 1e-8,
             float(np.abs(_ground_force(along)).max()), "of the weight", relation="<"),
        Fact("no singularity on the way; smallest distance (0 is singular)", 0.01, _margin(along, "middle", True),
             relation=">"),
    ]  # fmt: skip


def _ground_force(along: Prescribed) -> np.ndarray:
    """Forces of the ground on the feet less weight and rate of momentum, which must vanish; in weights."""
    mechanism, motion = along.mechanism, along.motion
    h = 1e-3
    t = np.linspace(motion.span[0] + 4 * h, motion.span[1] - 4 * h, 21)
    q, v, _ = motion.states(t[:, None] + h * NINE_POINTS.offsets)
    momentum = mechanism.mass * mechanism.center_of_mass_velocity(q, v)
    rate = np.einsum("tki,k->ti", momentum, NINE_POINTS.weights) / h
    here = motion.states(t)
    forces = mechanism.constraint_forces(*here)
    total = np.zeros((len(t), 3))
    for k, joint in enumerate(mechanism.model.joints):
        if joint.parent == BASE:
            turned = mechanism.pose(here.q, mechanism.body_names[k])[:, :3, :3]
            total += np.einsum("tij,tj->ti", turned, forces.joint_wrenches[:, k, 3:])
    return np.asarray((total - rate) / mechanism.mass + np.array(mechanism.model.gravity)) / 9.81


def _delta(along: Prescribed) -> list[Fact]:
    mechanism, t = along.mechanism, along.time
    rise = 0.5 * (1.0 - np.cos(np.pi * t))
    wanted = np.stack([0.12 * np.cos(np.pi * t), 0.12 * np.sin(np.pi * t), -0.55 - 0.08 * rise], axis=-1)
    pose = mechanism.pose(along.states.q, "middle")
    return [
        Fact("moving links, joints, loops", (10, 15, 5), sizes(mechanism)),
        Fact("freedoms of the tree and constraints: 18 and 15, none redundant", (18, 15),
             (mechanism.nv, mechanism.n_constraints)),
        Fact("the platform goes where it is sent; largest difference", 1e-12,
             float(np.abs(pose[:, :3, 3] - wanted).max()), "m", relation="<"),
        Fact("and never turns; largest entry of its rotation less one", 1e-12,
             float(np.abs(pose[:, :3, :3] - np.eye(3)).max()), relation="<"),
        Fact("the three shoulders carry the weight and what accelerates it; largest difference", 1e-8,
             float(np.abs(_ground_force(along)).max()), "of the weight", relation="<"),
        Fact("no singularity on the way; smallest distance (0 is singular)", 0.01, _margin(along, "middle", False),
             relation=">"),
    ]  # fmt: skip


DOWN = "It has no stops: soon after 0.3 s the platform falls through the plane of its feet."
STRETCHED = "Soon after, arms and rods are stretched, and the loops come close to a singular position (at 0.54 s)."

STUDIES = (
    Study.of(
        "stewart-platform",
        {
            "inverse": inverse("stewart-platform", _stewart),
            "replay": replay("stewart-platform"),
            "free-fall": free_fall("stewart-platform", 0.3, until=DOWN),
        },
    ),
    Study.of(
        "delta",
        {
            "inverse": inverse("delta", _delta),
            "replay": replay("delta"),
            "free-fall": free_fall("delta", 0.2, until=STRETCHED),
        },
    ),
)
