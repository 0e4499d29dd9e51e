"""Inverse kinematics at a distance from obstacles and from the robot itself.

A configuration that reaches its goals is pushed, along the directions that keep frames at their goals, until all shapes
are as far apart as wanted; frames are then brought back to their goals, and so on.  Where that comes to no end, other
starts give other branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import ModelError, UnreachableError
from ..robot.robot import Robot
from ..spatial.arrays import Array

PUSHES = 12
"""How often a configuration is pushed away from obstacles before another start is tried."""

NEIGHBORHOOD = 0.05
"""Pairs nearer than this (m), beyond what is wanted, are kept from coming nearer."""

FARTHER = 1e-4
"""What a push aims at beyond the wanted distance, relative to it, so that it ends."""

LONGEST_PUSH = 0.3
"""The longest push, in radians or meters of a freedom."""

LEAST_DAMPING = 1e-6

Solve = Callable[[Array, Array], tuple[Array, Array]]
"""Maps the lanes and their guesses to configurations and whether they reach their goals."""


def cleared(
    robot: Robot, solve: Solve, q: Array, reached: Array, frames: Sequence[tuple[str, slice]], moving: Array,
    clearance: float, starts: Callable[[], Array],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Return configurations with shapes apart, whether goals and distance are reached, and the smallest distances.

    Parameters
    ----------
    robot : Robot
    solve : callable
        Inverse kinematics of some lanes from guesses.
    q : ndarray (count, nq)
        Solutions that may come too near.
    reached : ndarray of bool (count,)
    frames : sequence of (str, slice)
        Frames with the rows of their Jacobian that are held.
    moving : ndarray of bool (nv,)
        Freedoms that may move.
    clearance : float
    starts : callable
        Returns further starts, (n, nq).
    """
    if not robot.model.touching_pairs:
        raise ModelError(
            f"robot {robot.name!r} keeps no distance: none of its {len(robot.model.shapes)} shapes may touch another"
        )
    q, reached = q.copy(), reached.copy()
    least = _least(robot, q)
    for start in (None, *starts()):
        lanes = np.flatnonzero(~(reached & (least >= clearance)) & np.isfinite(q).all(axis=-1))
        if not lanes.size:
            break
        trial, done = q[lanes], reached[lanes]
        if start is not None:
            trial, done = solve(lanes, np.where(np.isfinite(trial), start, trial))
        for _ in range(PUSHES):
            near = _least(robot, trial)
            better = (done & (near >= clearance)) | (done & (~reached[lanes] | (near > least[lanes])))
            q[lanes[better]], least[lanes[better]], reached[lanes[better]] = trial[better], near[better], True
            left = np.flatnonzero(~(done & (near >= clearance)))
            if not left.size:
                break
            lanes = lanes[left]
            guess = np.stack([_pushed(robot, x, frames, moving, clearance) for x in trial[left]])
            trial, done = solve(lanes, guess)
    return q, reached & (least >= clearance), least


def _least(robot: Robot, q: Array) -> Array:
    """Return the smallest distance of each lane; NaN where a configuration is NaN."""
    return np.asarray(robot.clearance(q).distances).min(axis=-1)


def _pushed(robot: Robot, q: Array, frames: Sequence[tuple[str, slice]], moving: Array, clearance: float) -> Array:
    """Return a configuration with pairs that are too near moved apart, and frames held to first order."""
    found = robot.clearance(q)
    short = clearance * (1.0 + FARTHER) + FARTHER * NEIGHBORHOOD - found.distances
    near = np.flatnonzero(short > -NEIGHBORHOOD)
    held = [robot.jacobian(q, frame, axes="aligned")[rows][:, moving] for frame, rows in frames]
    slopes = found.gradients[near][:, moving]
    free = np.eye(int(moving.sum()))
    for rows in held:
        _, size, turns = np.linalg.svd(rows @ free)
        own = turns[: len(size)][size > 1e-9]
        free = free - free @ own.T @ own
    along = slopes @ free
    wanted = np.maximum(short[near], 0.0)
    step = free @ along.T @ np.linalg.solve(along @ along.T + LEAST_DAMPING * np.eye(len(near)), wanted)
    step *= min(1.0, LONGEST_PUSH / max(float(np.abs(step).max(initial=0.0)), 1e-300))
    whole = np.zeros(robot.nv)
    whole[moving] = step
    moved = np.asarray(robot.integrate(q, whole))
    return np.asarray(np.clip(moved, robot.lower_limits, robot.upper_limits))


def refuse_near(robot: Robot, q: Array, clear: Array, reached: Array, clearance: float) -> None:
    """Raise an error that names the nearest pair of the first lane that comes too near."""
    missed = np.flatnonzero(reached & ~clear & np.isfinite(q).all(axis=-1))
    if missed.size:
        found = robot.clearance(q[missed[0]])
        first, second = found.pairs[found.nearest]
        lane = f" (batch index {missed[0]})" if len(q) > 1 else ""
        raise UnreachableError(
            f"no configuration was found that keeps {clearance:g} m{lane}: {first!r} and {second!r} are "
            f"{found.smallest:.3g} m apart at best; give another q_guess, more attempts, a smaller clearance, or "
            "must_reach=False and check .reached"
        )
