"""Designs that meet points: solves for their numbers and their configurations at all points together.

Loops need not be closed during the search, so no design stops it.  For each start, over designs u and configurations
q_i at the points, the sum of squares of

    gaps(u, q_i) = 0,    miss(u, q_i) = 0

is minimized by the Levenberg-Marquardt method, all starts in one batch; configurations are eliminated first, since each
occurs in its own equations only.  Two pins of a link must not coincide: designs degenerate in this way would meet any
points.  If the points cannot all be met, part of the misses would go into open loops: the best designs are then solved
once more with a much larger weight on the loops, and closed.  The designs found are driven from point to point, which
reveals branch, order and circuit defects.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from kinetree.algorithms import kinematics, loop_constraints
from kinetree.evaluation.law_kernels import LawProgram, SlopeProgram, can_compile
from kinetree.evaluation.parameters import put_in
from kinetree.spatial import Scalar
from kinetree.spatial.arrays import Array

from .goals import PointGoal
from .pin_distances import PinDistances
from .problem import DesignProblem

Scalars = list[Scalar]

SOLVED = 1e-9
"""Points that are missed by less than this fraction of the mechanism's size are met."""

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-14, 1e8
MOST_DESCENTS = 150
SMALL_STEP = 0.05
"""How far drives move at once between points, as a fraction of half a turn."""

STIFF = 1e3
"""Factor on the weight of open loops once it is known that points are missed."""
EASY = 25
"""Once an eighth of the starts has met all points, the others get at most this many steps."""
SLOW, PATIENCE = 0.05, 10
"""Lanes that improve by less than this fraction over so many steps are near a minimum, unless they are the best."""


@dataclass
class Met:
    """Designs and their configurations at the points.

    Attributes
    ----------
    u : ndarray, shape (L, n)
    q : ndarray, shape (L, N, nq)
    miss : ndarray, shape (L, N)
        Distance by which each point is missed, in meters.
    cost : ndarray, shape (L,)
        Root of the sum of squares of all equations, relative to the mechanism's size.
    """

    u: Array
    q: Array
    miss: Array
    cost: Array

    def __getitem__(self, which: Any) -> Met:
        return Met(self.u[which], self.q[which], self.miss[which], self.cost[which])

    @staticmethod
    def joined(parts: Sequence[Met]) -> Met:
        """Return all parts concatenated."""
        return Met(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("u", "q", "miss", "cost")))


class PrecisionPoints:
    """The equations of goals that ask for points.

    Parameters
    ----------
    of : DesignProblem
    goals : sequence of PointGoal
    pins : PinDistances
    """

    def __init__(self, of: DesignProblem, goals: Sequence[PointGoal], pins: PinDistances) -> None:
        self.of, self.goals, self.pins = of, list(goals), pins
        self.model, self.free, self.rows = of.model, of.free, of.robot.coordinates.rows
        wanted = [goal._wanted(of) for goal in goals]
        self.laws = [law for laws, _, _ in wanted for law in laws]
        self.counts = [len(target) for _, target, _ in wanted]
        size, nq = self.free.size, of.robot.nq
        widths = [target.shape[1] for _, target, _ in wanted]
        total, width = sum(self.counts), sum(widths)
        self.target, self.factor = np.zeros((total, nq + width)), np.zeros((total, nq + width))
        self.goal_of = np.repeat(np.arange(len(goals)), self.counts)
        at = 0
        self.timed = np.full(total, np.nan)
        for k, (_, target, factor) in enumerate(wanted):
            own = slice(nq + at, nq + at + widths[k])
            self.target[self.goal_of == k, own] = target
            self.factor[self.goal_of == k, own] = factor * np.sqrt(goals[k].weight) / size
            at += widths[k]
            drive = goals[k]._drive_at(of)
            if drive is not None:
                here = np.flatnonzero(self.goal_of == k)
                self.timed[here], entry = drive, of.entries[0]
                self.target[here, entry], self.factor[here, entry] = drive, 1.0
        self.used = [int(k) for k in np.flatnonzero((self.factor > 0.0).any(axis=0))]
        self.target, self.factor = self.target[:, self.used], self.factor[:, self.used]
        turns = np.array([unit == "rad" for unit in of.robot.constraint_units])[list(self.rows)]
        self.gap_factor = np.where(turns, 1.0, 1.0 / size)
        self.scale = np.array([size if unit == "m" else 1.0 for unit in self.free.units])
        other = [unit not in ("m", "rad") for unit in self.free.units]
        self.scale[other] = (self.free.high - self.free.low)[other]
        self.q_scale = np.array([size if unit == "m" else 1.0 for unit in self.model.v_units])

    # ---------------------------------------------------------------- equations

    def _law(self, q: Scalars, move: Scalars, numbers: Scalars) -> Scalars:
        tree = put_in(self.model, self.free.places, numbers)
        there = kinematics.integrate(tree, q, move)
        state: Any = SimpleNamespace(tree=tree, q=there, posed=kinematics.poses(tree, there))
        gaps = loop_constraints.gaps(tree, there)
        every = [*there, *(x for law in self.laws for x in law(state))]
        return [*(gaps[i] for i in self.rows), *(every[k] for k in self.used)]

    @cached_property
    def _programs(self) -> tuple[LawProgram, SlopeProgram]:
        evaluator = self.of.robot.evaluator
        made, cpu = can_compile(evaluator), evaluator.cpu
        lengths = {"q": self.model.nq, "move": self.model.nv, "numbers": len(self.free.fixed)}
        name = f"points of {self.model.name!r}"
        return (
            LawProgram(name, self._law, lengths, made, cpu=cpu),
            SlopeProgram(name, self._law, lengths, ("move", "numbers"), made, cpu),
        )

    def _given(self, u: Array, q: Array) -> dict[str, Array]:
        numbers = self.free.values(u)
        every = np.broadcast_to(numbers[:, None], (*q.shape[:2], numbers.shape[-1]))
        return {"q": q, "move": np.zeros((*q.shape[:2], self.model.nv)), "numbers": every}

    def equations(self, u: Array, q: Array) -> tuple[Array, Array]:
        """Return what must vanish: at the points, (L, N, m), and for pins that coincide, (L, d)."""
        found = self._programs[0](self._given(u, q))
        n = len(self.rows)
        found = np.concatenate(
            [found[..., :n] * self.gap_factor, (found[..., n:] - self.target) * self.factor], axis=-1
        )
        return found, self.pins.too_near(u)

    def slopes(self, u: Array, q: Array) -> tuple[Array, Array, Array]:
        """Return derivatives of the equations by configuration and by design, and those for pins by design."""
        chain, n, nv = self.free.slope(u) * self.scale, len(self.rows), self.model.nv
        found = self._programs[1].jacobian(self._given(u, q))
        found[..., :n, :] *= self.gap_factor[:, None]
        found[..., n:, :] *= self.factor[..., None]
        return found[..., :nv] * self.q_scale, found[..., nv:] @ chain[:, None], self.pins.slopes(u) * self.scale

    # ---------------------------------------------------------------- search

    @cached_property
    def anchored(self) -> bool:
        """Whether the drawing can show, and so does show, the mechanism at its first point, wherever that is."""
        drawn = self.free.drawn
        if drawn is None:
            return False
        if np.isfinite(self.timed[0]) and self.timed[0] != self.of.start[self.of.entries[0]]:
            return False
        moving = [p for p in drawn.points if drawn.body_of(p) != "ground"]
        loose = {"x", "y", "angle"}
        needed = [
            f"{p}.{key}" for p in moving for key in drawn.points[p].keys if key in loose and len(drawn.points[p].of) < 2
        ]
        return all(name in self.free.names for name in needed)

    def anywhere(self) -> PrecisionPoints:
        """Return the same points for mechanisms that are drawn at none of them."""
        other = PrecisionPoints(self.of, self.goals, self.pins)
        other.anchored, other._programs = False, self._programs
        return other

    def search(self, u: Array, q: Array, steps: int = MOST_DESCENTS) -> Met:
        """Return the designs and configurations that the search reaches from guesses."""
        u, q = u.copy(), q.copy()
        r, near = self.equations(u, q)
        cost = (r * r).sum(axis=(-1, -2)) + (near * near).sum(axis=-1)
        damping, known, waits = np.full(len(u), FIRST_DAMPING), cost.copy(), np.zeros(len(u), dtype=int)
        going = np.isfinite(cost)
        for step in range(steps):
            lanes = np.flatnonzero(going & (cost > 1e-28))
            if not len(lanes):
                break
            du, dq = self._step(u[lanes], q[lanes], r[lanes], near[lanes], damping[lanes])
            new_u = np.clip(u[lanes] + du, self.free.low, self.free.high)
            new_q = self.of.robot.moved(q[lanes], dq)
            new_r, new_near = self.equations(new_u, new_q)
            with np.errstate(invalid="ignore", over="ignore"):
                new = (new_r * new_r).sum(axis=(-1, -2)) + (new_near * new_near).sum(axis=-1)
                good = new < cost[lanes]
            better = lanes[good]
            u[better], q[better], r[better], near[better], cost[better] = (
                x[good] for x in (new_u, new_q, new_r, new_near, new)
            )
            damping[lanes] = np.clip(damping[lanes] * np.where(good, 0.2, 4.0), LEAST_DAMPING, None)
            waits[lanes] += 1
            patient = lanes[waits[lanes] >= PATIENCE]
            going[patient] = (cost[patient] < (1.0 - SLOW) * known[patient]) | (cost[patient] <= 2.0 * cost.min())
            known[patient], waits[patient] = cost[patient], 0
            going[lanes] &= damping[lanes] < MOST_DAMPING
            if step > EASY and (cost < SOLVED**2).sum() * 8 > len(u):
                break
        n = len(self.rows)
        return Met(u, q, self.misses(r[..., n:]), np.sqrt(cost))

    def misses(self, r: Array) -> Array:
        """Return how far points are missed, (..., N), in meters, from the residuals of the goals' equations."""
        return np.sqrt((r**2).sum(axis=-1)) * self.free.size / np.sqrt([self.goals[k].weight for k in self.goal_of])

    def closed(self, met: Met) -> Met:
        """Return designs that miss points, moved as close to them as closed loops and given drives allow."""
        missing = np.flatnonzero(met.cost >= SOLVED)
        if not len(missing):
            return met
        near, n = self._stiff.search(met.u[missing], met.q[missing]), len(self.rows)
        u, q = near.u, near.q
        known = np.isfinite(self.timed)
        q[:, known, self.of.entries[0]] = self.timed[known]
        for _ in range(8):
            by_q = self.slopes(u, q)[0][..., :n, :]
            by_q[:, known, :, self.of.independent[0]] = 0.0
            if self.anchored:
                by_q[:, 0] = 0.0
            move = np.linalg.pinv(by_q, rcond=1e-9) @ self.equations(u, q)[0][..., :n, None]
            q = self.of.robot.moved(q, -np.clip(move[..., 0], -0.1, 0.1) * self.q_scale)
        r, pins = self.equations(u, q)
        found = Met(*(x.copy() for x in (met.u, met.q, met.miss, met.cost)))
        cost = np.sqrt((r * r).sum(axis=(-1, -2)) + (pins * pins).sum(axis=-1))
        found.u[missing], found.q[missing], found.miss[missing], found.cost[missing] = (
            u,
            q,
            self.misses(r[..., n:]),
            cost,
        )
        return found

    @cached_property
    def _stiff(self) -> PrecisionPoints:
        """The same equations, in which open loops and deviations from given drives weigh much more than misses."""
        other = copy(self)
        other.gap_factor = STIFF * self.gap_factor
        other.factor = np.where(np.array(self.used) < self.of.robot.nq, STIFF, 1.0) * self.factor
        return other

    def _step(self, u: Array, q: Array, r: Array, near: Array, damping: Array) -> tuple[Array, Array]:
        """Return steps of designs and configurations; a number at a bound that it would cross stays."""
        by_q, by_u, of_pins = self.slopes(u, q)
        if self.anchored:
            by_q[:, 0] = 0.0
        turned = np.swapaxes(by_q, -1, -2)
        slope = (by_u * r[..., None]).sum(axis=(1, 2)) + (of_pins * near[..., None]).sum(axis=1)
        stays = ((u <= self.free.low) & (slope > 0.0)) | ((u >= self.free.high) & (slope < 0.0))
        by_u, of_pins = np.where(stays[:, None, None], 0.0, by_u), np.where(stays[:, None], 0.0, of_pins)
        own = turned @ by_q + damping[:, None, None, None] * np.eye(by_q.shape[-1])
        both = turned @ np.concatenate([by_u, r[..., None]], axis=-1)
        solved = np.linalg.solve(own, both)
        rest = r[..., None] - by_q @ solved[..., -1:]
        left = by_u - by_q @ solved[..., :-1]
        n = u.shape[-1]
        flat = by_u.reshape(len(u), -1, n)
        matrix = np.swapaxes(flat, -1, -2) @ left.reshape(len(u), -1, n) + np.swapaxes(of_pins, -1, -2) @ of_pins
        wanted = (
            np.swapaxes(flat, -1, -2) @ rest.reshape(len(u), -1, 1) + np.swapaxes(of_pins, -1, -2) @ near[..., None]
        )
        du = -np.linalg.solve(matrix + damping[:, None, None] * np.eye(n), wanted)[..., 0]
        dq = -(solved[..., -1] + (solved[..., :-1] @ du[:, None, :, None])[..., 0])
        return du * self.scale, dq * self.q_scale

    # ---------------------------------------------------------------- driven to the points

    def driven(self, u: Array, drives: Array) -> tuple[Array, Array, Array, Array]:
        """Return a design's misses at the points (N, m) on its branch, their derivatives (to u and drives), and q.

        NaN where the design cannot get there from where it is drawn.
        """
        given = np.atleast_2d(drives)
        way = np.abs(np.diff(given, axis=0, prepend=given[:1])) / self.of.half_turns
        at = np.cumsum(np.maximum(np.ceil(np.nan_to_num(way.max(axis=1)) / SMALL_STEP), 1.0).astype(int)) - 1
        every = np.arange(at[-1] + 1)
        path = np.stack([np.interp(every, at, x) for x in given.T], axis=1)  # short steps are all taken in one batch
        moved = self.of.robot.driven_motion(
            path, 0.0 * path, 0.0 * path, self.free.parameters(u), q_guess=self.of.start, threads=self.of.threads
        ).of_samples(at)
        measured = moved.measure("q", *self.laws)
        r = (measured.values[..., self.used] - self.target) * self.factor
        slopes = measured.jacobian("parameters", "q")[..., self.used, :] * self.factor[..., None]
        p = len(self.free.fixed)
        return r, slopes[..., :p] @ self.free.slope(u), slopes[..., p:], moved.q

    def met(self, u: Array, drives: Array) -> Met:
        """Return one design at the points that its drives, or the given ones, lead to."""
        drives = np.where(np.isfinite(self.timed)[:, None], self.timed[:, None], drives)
        r, *_, q = self.driven(u, drives)
        return Met(u, q, self.misses(r), np.asarray(np.sqrt((r * r).sum())))

    def unwrapped(self, drives: Array) -> Array:
        """Return the positions of the drives at the points, (N, n), without whole turns between them."""
        if len(self.of.entries) > 1:
            return self._straight(drives[None])[0]
        if not self.of.drive_hinge:
            return drives
        q = np.zeros((1, len(drives), self.of.robot.nq))
        q[0, :, self.of.entries[0]] = drives[:, 0]
        return self._drive_path(q)[0][0][:, None]

    def uneven(self, u: Array) -> Array:
        """Return the ratio of the longest to the shortest link, (L,)."""
        return self.pins.uneven(u)

    # ---------------------------------------------------------------- defects

    def defects(self, met: Met) -> list[str]:
        """Return what is wrong with designs between the points, in words; empty if nothing is."""
        gaps = np.abs(self.equations(met.u, met.q)[0][..., : len(self.rows)]).max(axis=-1, initial=0.0)
        found = np.array([f"cannot be assembled at point {k + 1}" for k in np.argmax(gaps, axis=1)], dtype=object)
        closes = ~(gaps >= SOLVED).any(axis=1)
        found[closes] = ""
        if len(self.target) < 2:
            return list(found)
        if len(self.of.entries) > 1:
            lanes = np.flatnonzero(closes)
            reached = self._reached(met[lanes], self._straight(met.q[lanes][..., self.of.entries]))
            found[lanes] = [
                "" if all(own) else f"comes to point {int(np.argmin(own)) + 1} only by a dead point, taken apart and "
                "assembled otherwise, or by a detour: drives that go straight from point to point do not lead there"
                for own in reached
            ]  # fmt: skip
            return list(found)
        path, order = self._drive_path(met.q)
        found[closes & ~order] = "meets the points in another order"
        lanes = np.flatnonzero(closes & order)
        if len(lanes):
            reached = self._reached(met[lanes], path[lanes, :, None])
            found[lanes] = [
                "" if all(own) else f"comes to point {int(np.argmin(own)) + 1} only by a dead point, or taken apart "
                "and assembled otherwise" for own in reached
            ]  # fmt: skip
        return list(found)

    def assemblies(self, met: Met) -> tuple[tuple[int, ...], ...]:
        """Return the indices of the points that one design meets in the same assembly, group by group."""
        left, found = list(range(len(met.q))), []
        while left:
            q = met.q[left]
            drive = q[:, self.of.entries]
            paths = self._straight(np.stack([np.broadcast_to(drive[0], drive.shape), drive], axis=1))
            both = Met(
                np.tile(met.u, (len(left), 1)), np.stack([np.broadcast_to(q[0], q.shape), q], 1), met.miss, met.cost
            )
            same = self._reached(both, paths)[:, 1]
            if self.of.drive_hinge:
                paths[:, 1] -= 2 * np.pi * np.sign(paths[:, 1] - paths[:, 0])
                same |= self._reached(both, paths)[:, 1]
            same[0] = True
            found.append(tuple(k for k, here in zip(left, same, strict=True) if here))
            left = [k for k, here in zip(left, same, strict=True) if not here]
        return tuple(found)

    def _straight(self, drives: Array) -> Array:
        """Return positions of drives, (L, N, d), without whole turns between each and the next."""
        steps = np.diff(drives, axis=1)
        turning = [self.model.v_units[k] == "rad" for k in self.of.independent]
        steps -= np.where(turning, 2 * np.pi * np.round(steps / (2 * np.pi)), 0.0)
        return np.concatenate([drives[:, :1], drives[:, :1] + np.cumsum(steps, axis=1)], axis=1)

    def _drive_path(self, q: Array) -> tuple[Array, Array]:
        """Return the drive at the points, (L, N), without whole turns between them, and whether it never reverses."""
        drive = q[:, :, self.of.entries[0]]
        if not self.of.drive_hinge:
            steps = np.diff(drive, axis=1)
            one_way = (steps >= -1e-12).all(axis=1) | (steps <= 1e-12).all(axis=1)
            return drive, np.asarray(one_way | (not self._ordered))
        ways = []
        for sign in (1.0, -1.0):
            steps = sign * np.diff(drive, axis=1) % (2 * np.pi)
            ways.append((sign * steps, steps.sum(axis=1) < 2 * np.pi + 1e-9))
        forth, good = ways[0]
        steps = np.where(good[:, None], forth, ways[1][0])
        if not self._ordered:
            steps = (np.diff(drive, axis=1) + np.pi) % (2 * np.pi) - np.pi
        path = np.concatenate([drive[:, :1], drive[:, :1] + np.cumsum(steps, axis=1)], axis=1)
        return path, np.asarray(good | ways[1][1] | (not self._ordered))

    @property
    def _ordered(self) -> bool:
        return all(goal.ordered for goal in self.goals)

    def _reached(self, met: Met, path: Array) -> Array:
        """Return which points designs reach from the first on the same branch, (L, N), with drives (L, N, d)."""
        given = path
        still = np.zeros_like(given)
        moved = self.of.robot.driven_motion(
            given, still, still, self.free.parameters(met.u), q_guess=met.q[:, 0], threads=self.of.threads
        )
        off = self.of.robot.difference(met.q, moved.q)
        turns = np.array([unit == "rad" for unit in self.model.v_units])
        off = np.where(turns, (off + np.pi) % (2 * np.pi) - np.pi, off / self.free.size)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(off).max(axis=-1) < 1e-5)
