"""Inverse kinematics at a distance from obstacles and from the robot itself.

A configuration that reaches its goals is pushed, along the directions that keep frames at their goals, until all shapes
are as far apart as wanted; frames are then brought back to their goals, and so on.  Where that comes to no end, other
starts give other branches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ModelError, UnreachableError
from ..robot.clearance import Clearance, chosen_pairs
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


@dataclass(frozen=True)
class KeptApart:
    """Pairs of shapes that keep a distance, and the joints that may move them apart.

    Attributes
    ----------
    robot : Robot
    pairs : tuple of pairs of str
        The shapes' names.
    changing : ndarray of bool (pairs,)
        Which distances the joints that move can change.
    freedoms : ndarray of bool (nv,)
        Freedoms that may move.
    coordinates : ndarray of bool (nq,)
        Their coordinates.
    distance : float
    """

    robot: Robot
    pairs: tuple[tuple[str, str], ...]
    changing: Array
    freedoms: Array
    coordinates: Array
    distance: float

    @classmethod
    def of(
        cls, robot: Robot, wanted: Sequence[Sequence[str]] | None, movers: frozenset[int], coordinates: Array,
        distance: float,
    ) -> KeptApart:  # fmt: skip
        """Return the wanted pairs, by default those that may touch and whose distance the movers can change."""
        model, name = robot.model, f"robot {robot.name!r}"
        chosen = chosen_pairs(model, wanted)
        if not chosen:
            raise ModelError(f"{name} keeps no distance: none of its {len(model.shapes)} shapes may touch another")

        def changes(pair: tuple[int, int]) -> bool:
            one, two = (set(model.support(model.frame(model.shapes[k].frame).body)) for k in pair)
            return any(k in movers for body in one ^ two for k in range(model.nv)[model.links[body].v_slice])

        changing = [changes(pair) for pair in chosen]
        if wanted is None:
            if not any(changing):
                raise ModelError(
                    f"{name} keeps no distance: the joints that move the frames change none of the distances of the "
                    f"{len(chosen)} pairs of shapes that may touch; give their bodies shapes, or leave out clearance="
                )
            chosen = tuple(pair for pair, counts in zip(chosen, changing, strict=True) if counts)
            changing = [True] * len(chosen)
        names = tuple((model.shapes[i].name, model.shapes[j].name) for i, j in chosen)
        freedoms = np.isin(np.arange(robot.nv), list(movers))
        return cls(robot, names, np.array(changing), freedoms, coordinates, distance)

    def measured(self, q: Array) -> Clearance:
        """Return the clearance of the pairs, and of those with the same names."""
        return self.robot.clearance(q, pairs=self.pairs)

    @cached_property
    def places(self) -> list[int]:
        """Where the pairs are among those measured: a body can have the name of a shape of another."""
        names = self.measured(self.robot.neutral()).pairs
        return [names.index(pair) for pair in self.pairs]

    def least(self, q: Array, which: Array | None = None) -> Array:
        """Return the smallest distance of each lane, by default of all pairs; NaN where a configuration is NaN."""
        found = self.measured(q).distances[..., self.places]
        found = found if which is None else found[..., which]
        return np.where(np.isfinite(q).all(axis=-1), found.min(axis=-1, initial=np.inf), np.nan)


def cleared(
    kept: KeptApart, solve: Solve, q: Array, reached: Array, frames: Sequence[tuple[str, slice]], starts: Array
) -> tuple[Array, Array, Array]:
    """Return configurations with shapes apart, whether goals and distance are reached, and the smallest distances.

    Parameters
    ----------
    kept : KeptApart
    solve : callable
        Inverse kinematics of some lanes from guesses.
    q : ndarray (count, nq)
        Solutions that may come too near.
    reached : ndarray of bool (count,)
    frames : sequence of (str, slice)
        Frames with the rows of their Jacobian that are held.
    starts : ndarray (n, nq)
        Further starts, of which only the coordinates that may move are taken.
    """
    q, reached, clearance = q.copy(), reached.copy(), kept.distance
    least = kept.least(q, kept.changing)
    for start in (None, *starts):
        lanes = np.flatnonzero(~(reached & (least >= clearance)) & np.isfinite(q).all(axis=-1))
        if not lanes.size:
            break
        trial, done = q[lanes], reached[lanes]
        if start is not None:
            trial, done = solve(lanes, np.where(kept.coordinates, start, trial))
        for _ in range(PUSHES):
            near = kept.least(trial, kept.changing)
            better = (done & (near >= clearance)) | (done & (~reached[lanes] | (near > least[lanes])))
            q[lanes[better]], least[lanes[better]], reached[lanes[better]] = trial[better], near[better], True
            left = np.flatnonzero(~(done & (near >= clearance)))
            if not left.size:
                break
            lanes = lanes[left]
            guess = np.stack([_pushed(kept, x, frames) for x in trial[left]])
            trial, done = solve(lanes, guess)
    least = kept.least(q)
    return q, reached & (least >= clearance), least


def _pushed(kept: KeptApart, q: Array, frames: Sequence[tuple[str, slice]]) -> Array:
    """Return a configuration with pairs that are too near moved apart, and frames held to first order."""
    robot, moving = kept.robot, kept.freedoms
    found, which = kept.measured(q), np.array(kept.places)[kept.changing]
    short = kept.distance * (1.0 + FARTHER) + FARTHER * NEIGHBORHOOD - found.distances[which]
    near = np.flatnonzero(short > -NEIGHBORHOOD)
    held = [robot.jacobian(q, frame, axes="aligned")[rows][:, moving] for frame, rows in frames]
    slopes = found.gradients[which][near][:, moving]
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
    return np.where(kept.coordinates, np.clip(moved, robot.lower_limits, robot.upper_limits), q)


def refuse_near(kept: KeptApart, q: Array, clear: Array, reached: Array) -> None:
    """Raise an error that names the nearest pair of the first lane that comes too near."""
    missed = np.flatnonzero(reached & ~clear & np.isfinite(q).all(axis=-1))
    if missed.size:
        distances = kept.measured(q[missed[0]]).distances[kept.places]
        fixed = np.where(kept.changing, np.inf, distances)  # the reason, whatever else is too near
        nearest = int((fixed if fixed.min() < kept.distance else distances).argmin())
        first, second = kept.pairs[nearest]
        lane = f" (batch index {missed[0]}; {missed.size} of {len(q)} come too near)" if len(q) > 1 else ""
        apart = f"{first!r} and {second!r} are {distances[nearest]:.3g} m apart"
        if not kept.changing[nearest]:
            raise UnreachableError(
                f"no configuration keeps {kept.distance:g} m{lane}: {apart}, and the joints that may move do not "
                "change that; leave this pair out of pairs=, or must_reach=False and check .reached"
            )
        raise UnreachableError(
            f"no configuration was found that keeps {kept.distance:g} m{lane}: {apart} at best; give another q_guess, "
            "more attempts, a smaller clearance, other pairs=, or must_reach=False and check .reached"
        )
