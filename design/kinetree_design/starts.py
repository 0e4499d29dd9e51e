"""Starts of searches for points: designs that move, and whose motion passes near the points in their order.

Each of many random designs is moved through a turn.  The points are assigned to samples of that motion in their order,
in several random ways; if the whole drawing may change, the design is also moved, turned and scaled to fit best.  The
best designs are the starts, with their configurations at the points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinetree.algorithms.driven_motion import PointMotion
from kinetree.model.linkages.drawing import GROUND
from kinetree.spatial.arrays import Array

from .goals import PathGoal

if TYPE_CHECKING:
    from .precision_points import PrecisionPoints

POOL, SAMPLES, TRIALS = 12, 36, 30
"""Designs per start, samples of their turn, and ways to assign points to them."""


def screened(points: PrecisionPoints, count: int, rng: np.random.Generator, as_drawn: bool) -> tuple[Array, Array]:
    """Return starts of a search, (count, n), and their configurations at the points, (count, N, nq)."""
    of, free = points.of, points.free
    pool = free.random(POOL * count, rng)
    if not as_drawn:
        pool[0] = rng.uniform(free.low, free.high)
    if len(of.entries) != 1:
        return pool[:count], beside(points, count, rng)
    reach = 2 * np.pi if of.drive_hinge else 1.5 * free.size
    drive = of.start[of.entries[0]] + reach * np.arange(SAMPLES)[:, None] / SAMPLES
    known = np.isfinite(points.timed)
    if known.any():
        drive = np.unique(np.append(drive, points.timed[known]))[:, None]
    moved = of.robot.driven_motion(
        drive, 0.0 * drive, 0.0 * drive, free.parameters(pool), q_guess=of.start, threads=of.threads
    )
    names = list(free.drawn.points) if free.drawn else []
    values = moved.measure("q", *points.laws, *(PointMotion(name) for name in names)).values
    nq, width = of.robot.nq, values.shape[-1] - 3 * len(names)
    usable = np.isfinite(values).all(axis=-1)
    at, cost, shift = _laid(
        points, np.where(np.isnan(values[..., :width]), 1e6, values[..., :width]), usable, drive[:, 0], rng
    )
    lanes = np.arange(len(pool))[:, None]
    q, u = values[lanes, at, :nq], pool.copy()
    if points.anchored:
        places = values[np.arange(len(pool)), at[:, 0], width:].reshape(len(pool), -1, 3)
        for k, name in enumerate(names):
            if free.drawn and free.drawn.body_of(name) != GROUND:
                _put(points, u, name, places[:, k, :2])
        q = q - q[:, :1] + of.start
    if shift is not None:
        _transform(points, u, shift)
    outside = np.maximum(np.maximum(free.low - u, u - free.high) / points.scale, 0.0).max(axis=-1)
    order = np.argsort(np.where(np.isfinite(cost), cost + outside, np.inf), kind="stable")[:count]
    if as_drawn and np.isfinite(cost[0]):
        order[-1] = 0
        if shift is not None:
            u[0], q[0] = pool[0], values[0, at[0], :nq] if not points.anchored else q[0]
    loose = order[~np.isfinite(cost[order])]
    u[loose], q[loose] = pool[loose], beside(points, len(loose), rng)
    any_branch = order[3::4]  # points may be met only by two assemblies
    q[any_branch] = _held(points, of.robot.random_configuration(rng, (len(any_branch), len(points.target))))
    return np.clip(u[order], free.low, free.high), q[order]


def beside(points: PrecisionPoints, count: int, rng: np.random.Generator) -> Array:
    """Return configurations near the drawing, (count, N, nq), with the drive advancing."""
    of, shape = points.of, (count, len(points.target), points.model.nv)
    q = of.robot.moved(np.broadcast_to(of.start, (*shape[:2], of.robot.nq)), 0.3 * rng.standard_normal(shape))
    if len(of.entries) == 1:
        q[..., of.entries[0]] += np.sort(rng.uniform(0.0, 2 * np.pi if of.drive_hinge else points.free.size, shape[:2]))
    return _held(points, q)


def _held(points: PrecisionPoints, q: Array) -> Array:
    """Set drives to their known positions, and the first configuration to the drawing."""
    known = np.isfinite(points.timed)
    q[:, known, points.of.entries[0]] = points.timed[known]
    if points.anchored:
        q[:, 0] = points.of.start
    return q


def _laid(
    points: PrecisionPoints, values: Array, usable: Array, drive: Array, rng: np.random.Generator
) -> tuple[Array, Array, Array | None]:
    """Return the sample for each point, (L, N), the quality of the fit, and the shift, turn and scaling for it."""
    lanes, samples = len(values), values.shape[1]
    first = _similar(points)
    best, chosen = np.full(lanes, np.inf), np.zeros((lanes, len(points.target)), dtype=int)
    row, shift = np.arange(lanes)[:, None], np.zeros((lanes, 2), dtype=complex) if first is not None else None
    ends = np.where(usable.all(axis=1), samples, np.maximum(usable.argmin(axis=1), 1))
    known = np.isfinite(points.timed)
    for _ in range(TRIALS):
        at = np.zeros_like(chosen)
        for k in range(len(points.goals)):
            own = np.flatnonzero(points.goal_of == k)
            at[:, own] = _in_order(len(own), samples, ends, points.goals[k].ordered, rng)
        at[:, known] = np.searchsorted(drive, points.timed[known])
        there = values[row, at]
        if first is not None and shift is not None:
            goal = points.target[:, 0] + 1j * points.target[:, 1]
            x = there[..., first] + 1j * there[..., first + 1]
            middle, aside = x.mean(axis=1), x - x.mean(axis=1, keepdims=True)
            turn = (np.conj(aside) @ (goal - goal.mean())) / np.maximum((np.abs(aside) ** 2).sum(axis=1), 1e-300)
            cost = (np.abs(turn[:, None] * aside - (goal - goal.mean())) ** 2).sum(axis=1) / points.free.size**2
        else:
            cost = (((there[..., points.used] - points.target) * points.factor) ** 2).sum(axis=(1, 2))
        cost = np.where(usable[row, at].all(axis=1), cost, np.inf)
        better = cost < best
        best[better], chosen[better] = cost[better], at[better]
        if shift is not None:
            shift[better] = np.stack([turn, goal.mean() - turn * middle], axis=-1)[better]
    return chosen, np.sqrt(best), shift


def _in_order(count: int, samples: int, ends: Array, ordered: bool, rng: np.random.Generator) -> Array:
    """Return samples for points, (L, count), along the motion in either direction, wrapping around a closed motion."""
    lanes = len(ends)
    parts = rng.dirichlet(np.ones(count), lanes)[:, : count - 1].reshape(lanes, -1)
    way = np.concatenate([np.zeros((lanes, 1)), np.cumsum(parts, axis=1)], axis=1)
    whole = ends == samples
    begin, span = rng.uniform(0.0, 1.0, (lanes, 1)), rng.uniform(0.3, 1.0, (lanes, 1))
    begin = np.where(whole[:, None], begin, begin * (1.0 - span))
    at = (begin + way * span) * ends[:, None]
    at = np.where(rng.random((lanes, 1)) < 0.5, at, (ends[:, None] - 1) - at)
    found = np.round(at).astype(int) % ends[:, None]
    return found if ordered else rng.permuted(found, axis=1)


def _similar(points: PrecisionPoints) -> int | None:
    """Return the index of the only path's x among the measurements if the whole drawing may be moved and scaled."""
    free = points.free
    if free.drawn is None or free.ties or len(points.goals) != 1 or type(points.goals[0]) is not PathGoal:
        return None
    if np.isfinite(points.timed).any() or free.drawn.sliders or not points.anchored:
        return None
    every = [f"{p}.{key}" for p, own in free.drawn.points.items() for key in own.keys]
    return points.of.robot.nq if all(name in free.names for name in every) else None


def _put(points: PrecisionPoints, u: Array, name: str, places: Array) -> None:
    """Draw a point elsewhere, in all designs."""
    drawn, names = points.free.drawn, points.free.names
    assert drawn is not None
    own = drawn.points[name]
    if not own.of:
        for axis, key in enumerate(own.keys):
            u[:, names.index(f"{name}.{key}")] = places[:, axis]


def _transform(points: PrecisionPoints, u: Array, shift: Array) -> None:
    """Move, turn and scale designs: x becomes shift[0] x + shift[1]."""
    drawn, names = points.free.drawn, points.free.names
    assert drawn is not None
    for name, own in drawn.points.items():
        one, two = (names.index(f"{name}.{key}") for key in own.keys)
        if own.of:
            u[:, one] *= np.abs(shift[:, 0])
            u[:, two] = u[:, two] * np.abs(shift[:, 0]) if len(own.of) == 2 else u[:, two] + np.angle(shift[:, 0])
        else:
            z = shift[:, 0] * (u[:, one] + 1j * u[:, two]) + shift[:, 1]
            u[:, one], u[:, two] = z.real, z.imag
