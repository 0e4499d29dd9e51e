"""Checks of parallel robots: distance from singularities, and balance of forces."""

from __future__ import annotations

import numpy as np

from kinetree.model.tree import BASE
from kinetree.robot.platform.platform import Platform

from .prescribed import NINE_POINTS, PrescribedMechanism


def smallest_margin(along: PrescribedMechanism, frame: str, orientation: bool) -> float:
    """Return the smallest distance from a singularity along the motion, 0 at one and 1 far away."""
    platform = Platform(along.mechanism, frame, orientation=orientation)
    margins = platform.margins(along.states.q[:: max(1, len(along.states.q) // 40)])
    return float(min(np.min(values) for values in margins.values()))


def unbalanced_force(along: PrescribedMechanism) -> np.ndarray:
    """Return the ground's forces minus weight and rate of momentum, which must vanish, relative to the weight."""
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
