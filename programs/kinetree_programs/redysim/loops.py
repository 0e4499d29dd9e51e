"""The joints that close the loops of a folder, found from its geometry and checked against its ``jacobian.m``.

ReDySim represents loops by a matrix J with J v = 0.  A pin that keeps point a of link A on point b of link B
requires (J_B(b) - J_A(a)) v = 0 for all v that J allows: linear equations for a and b, whatever combinations of
constraints the rows of J are.  The pins that are found must have the same row space as J in random closed states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.spatial.arrays import Array

from ..matlab.folder import numbers
from ..matlab.values import MatlabError
from .folder import FORWARD, RedysimFolder

GROUND = -1
SAMPLES, CHECKS = 24, 20
"""Number of states from which pins are found, and of closed states in which they are checked."""

EXACT = 1e-9
"""Tolerance of row spaces and equations."""

NEARLY = 0.05
"""Largest gap in the folder's own initial state, relative to the links: ReDySim's files have four digits.

If a gap is larger, the table lacks the positions of ground pivots, which ReDySim's equations do not need.
"""

MOST_LINKS = 40


@dataclass(frozen=True)
class Pin:
    """A joint that closes a loop: its two links (from 0; the ground is -1), and its place on each."""

    first: int
    second: int
    on_first: Array
    on_second: Array


@dataclass(frozen=True)
class FoundLoops:
    """The loops of a system, as far as they could be found.

    Attributes
    ----------
    pins : sequence of Pin
        Empty if ``jacobian.m`` itself has to be used.
    axis : ndarray or None
        Axis of all hinges, if they are parallel.
    words : str
        How they were found, or why not.
    difference : float
        Largest difference of row spaces on random closed states.
    """

    pins: Sequence[Pin]
    axis: Array | None
    words: str
    difference: float = np.nan
    pivots: Mapping[int, Array] = field(default_factory=dict)
    """For links on the ground, the displacement of their joints from the positions in the table."""
    start_gap: float = 0.0
    """How far loops are open in the folder's own initial state, in meters."""


class Geometry:
    """Poses of the links of a folder, with a floating base held at the origin."""

    def __init__(self, folder: RedysimFolder) -> None:
        given, n = folder.inputs, folder.count
        self.count = n
        self.parents = [int(x) - 1 for x in given.vector("bt", n, True)]
        self.alpha, self.a, self.b = (given.vector(name, n, True) for name in ("alp", "a", "b"))
        self.slides = given.vector("r", n, True) == 0 if "r" in given else np.zeros(n, dtype=bool)
        self.theta = given.vector("th", n, True) if "th" in given and given.values["th"].size >= n else np.zeros(n)
        self.first = 1 if folder.is_floating else 0
        self.size = max(1e-9, float(np.abs(np.concatenate([self.a, self.b])).max()))
        self.pivots: dict[int, Array] = {}

    @property
    def joints(self) -> int:
        """Number of joints with a coordinate."""
        return self.count - self.first

    def support(self, link: int) -> list[int]:
        """Return a link and those that carry it, without base and ground."""
        found = []
        while link >= self.first:
            found.append(link)
            link = self.parents[link]
        return found

    def root(self, link: int) -> int:
        """Return the link on the ground that carries another."""
        return self.support(link)[-1] if link >= self.first else GROUND

    def poses(self, q: Array) -> tuple[Array, Array]:
        """Return rotations and origins of all links (modified Denavit-Hartenberg); the last ones are the ground's."""
        turns, origins = np.zeros((self.count + 1, 3, 3)), np.zeros((self.count + 1, 3))
        turns[GROUND] = np.eye(3)
        for i in range(self.count):
            if i < self.first:
                turns[i] = np.eye(3)
                continue
            angle = self.theta[i] if self.slides[i] else q[i - self.first]
            way = q[i - self.first] if self.slides[i] else self.b[i]
            ca, sa, c, s = np.cos(self.alpha[i]), np.sin(self.alpha[i]), np.cos(angle), np.sin(angle)
            own = np.array([[c, -s, 0.0], [ca * s, ca * c, -sa], [sa * s, sa * c, ca]])
            shift = np.array([self.a[i], -way * sa, way * ca])
            parent = self.parents[i]
            turns[i] = turns[parent] @ own
            origins[i] = origins[parent] + turns[parent] @ shift + self.pivots.get(i, 0.0)
        return turns, origins

    def columns(self, poses: tuple[Array, Array], link: int, point: Array) -> Array:
        """Return the Jacobian (3, joints) of a point that is fixed on a link, given in the world's frame."""
        turns, origins = poses
        found = np.zeros((3, self.joints))
        for k in self.support(link):
            axis = turns[k][:, 2]
            found[:, k - self.first] = axis if self.slides[k] else np.cross(axis, point - origins[k])
        return found

    def gap(self, q: Array, pins: Sequence[Pin]) -> Array:
        """Return the gaps of pins."""
        turns, origins = self.poses(q)
        return np.concatenate(
            [
                origins[p.second] + turns[p.second] @ p.on_second - origins[p.first] - turns[p.first] @ p.on_first
                for p in pins
            ]
        )

    def rows(self, q: Array, pins: Sequence[Pin]) -> Array:
        """Return the rows that pins impose on velocities."""
        poses = self.poses(q)
        turns, origins = poses
        return np.concatenate(
            [
                self.columns(poses, p.second, origins[p.second] + turns[p.second] @ p.on_second)
                - self.columns(poses, p.first, origins[p.first] + turns[p.first] @ p.on_first)
                for p in pins
            ]
        )

    def axis(self) -> Array | None:
        """Return the axis of all hinges, if they are parallel and all slides are perpendicular to it."""
        turns, _ = self.poses(np.zeros(self.joints))
        hinges = [turns[k][:, 2] for k in range(self.first, self.count) if not self.slides[k]]
        slides = [turns[k][:, 2] for k in range(self.first, self.count) if self.slides[k]]
        if not hinges or any(np.linalg.norm(np.cross(h, hinges[0])) > EXACT for h in hinges):
            return None
        return hinges[0] if all(abs(float(s @ hinges[0])) < EXACT for s in slides) else None

    def closed(self, q: Array, pins: Sequence[Pin]) -> Array | None:
        """Return a configuration near a given one at which all pins are closed."""
        for _ in range(50):
            gap = self.gap(q, pins)
            if np.abs(gap).max() < 1e-14 * self.size * 10:
                return q
            q = q - np.linalg.lstsq(self.rows(q, pins), gap, rcond=1e-10)[0]
        return q if np.abs(self.gap(q, pins)).max() < 1e-12 * self.size else None


# ---------------------------------------------------------------- what the folder says

Constraint = Callable[[Array], Array]
"""Returns J of all joints at a configuration."""


def jacobian_of(folder: RedysimFolder) -> Constraint | None:
    """Return ``jacobian.m`` as a function of the joints, without the columns of a floating base."""
    code, n = folder.code, folder.count
    if not code.has("jacobian"):
        return None

    def rows(q: Array) -> Array:
        if folder.is_floating:
            th = [0.0, *q.tolist()]
            (found,) = code.call("jacobian", [[0.0] * 6, [0.0] * 6, th, [0.0] * n], 1)
            return np.asarray(found.numbers().data, dtype=float)[:, 6:]
        (found,) = code.call("jacobian", [q.tolist(), [0.0] * n], 1)
        return np.asarray(found.numbers().data, dtype=float)

    return rows


def states_of_motion(folder: RedysimFolder, count: int) -> list[tuple[Array, Array]]:
    """Return closed configurations and J along the motion of ``trajectory.m``, from ``inv_kine.m``."""
    code = folder.code
    if folder.is_floating or not (
        code.has("inv_kine") and code.has("trajectory") and len(code.outputs_of("inv_kine")) > 3
    ):
        return []
    period, dof = folder.period or 1.0, folder.inputs.number_of("dof") or float(folder.count)
    found = []
    for t in np.linspace(0.0, 0.93 * period, count):
        motion = code.call("trajectory", [float(t), dof, period][: len(code.inputs_of("trajectory"))], 3)
        q, _, _, j = code.call("inv_kine", motion, 4)
        found.append((np.array(numbers(q), dtype=float), np.asarray(j.numbers().data, dtype=float)))
    return found


def loops_of(folder: RedysimFolder) -> FoundLoops:
    """Return the joints that close the loops of a system, or why they are uncertain; computed once."""
    if "loops" not in folder.kept:
        folder.kept["loops"] = _sought(folder)
    found: FoundLoops = folder.kept["loops"]
    return found


def _sought(folder: RedysimFolder) -> FoundLoops:
    if folder.count > MOST_LINKS:
        return FoundLoops((), None, f"loops with more than {MOST_LINKS} links are not searched for")
    geometry = Geometry(folder)
    try:
        return _found(folder, geometry)
    except (KinetreeError, MatlabError, np.linalg.LinAlgError) as problem:
        return FoundLoops((), None, f"neither jacobian.m nor inv_kine.m can be run: {problem}")


def _found(folder: RedysimFolder, geometry: Geometry) -> FoundLoops:
    dice = np.random.default_rng(0)
    samples = [] if folder.analysis == FORWARD else states_of_motion(folder, SAMPLES)
    jacobian = None if samples else jacobian_of(folder)
    if jacobian is not None:
        state = folder.initials().state
        start = geometry.theta if state is None else state[6 if folder.is_floating else 0 :][: geometry.joints]
        if len(start) != geometry.joints:
            return FoundLoops((), None, "initials.m has no state in which loops are nearly closed")
        samples = [(q, jacobian(q)) for q in dice.uniform(-3.0, 3.0, (SAMPLES, geometry.joints))]
    elif samples:
        start = samples[0][0]
    else:
        return FoundLoops((), None, "there is neither a jacobian.m nor an inv_kine.m that returns J")
    if any(j.ndim != 2 or j.shape[1] != geometry.joints for _, j in samples):
        return FoundLoops((), None, f"J has {samples[0][1].shape[1]} columns, but there are {geometry.joints} joints")
    pins = _pins(geometry, samples, start)
    if not pins:
        return FoundLoops((), None, "no joint closes the loops that J describes")
    difference = _difference(geometry, pins, jacobian, samples, start, dice)
    if not difference < EXACT:
        return FoundLoops((), None, f"joints that nearly fit differ from J by {difference:.1e}")
    source = "jacobian.m" if jacobian is not None else "J of inv_kine.m"
    words = f"found from the geometry; on closed states their rows are those of {source} to {difference:.0e}"
    gap = float(np.abs(geometry.gap(start, pins)).max())
    return FoundLoops(pins, geometry.axis(), words, difference, dict(geometry.pivots), gap)


def _pins(geometry: Geometry, samples: Sequence[tuple[Array, Array]], start: Array) -> list[Pin]:
    """Return pins whose rows span J, with ground pivots moved to where they close; none if part of J is left."""
    allowed = [(geometry.poses(q), _null_space(j)) for q, j in samples]
    wanted = max(int(np.linalg.matrix_rank(j, tol=1e-9 * max(1.0, np.abs(j).max()))) for _, j in samples)
    bodies = [GROUND, *range(geometry.count)] if not geometry.first else list(range(geometry.count))
    found = [_pin(geometry, allowed, first, second, start) for first, second in combinations(bodies, 2)]
    gaps = [(float(np.abs(geometry.gap(start, [pin])).max()), pin) for pin in found if pin is not None]
    gaps.sort(key=lambda one: max(NEARLY * geometry.size, one[0]))  # closed ones first
    chosen: list[Pin] = []
    probe = max(samples, key=lambda s: np.linalg.matrix_rank(s[1]))[0]
    rank = 0
    for _, pin in gaps:
        together = int(np.linalg.matrix_rank(geometry.rows(probe, [*chosen, pin]), tol=1e-8 * geometry.size))
        if together > rank and _pivots(geometry, [*chosen, pin], start) is not None:
            chosen, rank = [*chosen, pin], together
        if rank == wanted:
            geometry.pivots = _pivots(geometry, chosen, start) or {}
            return chosen
    return []


def _pivots(geometry: Geometry, pins: Sequence[Pin], start: Array) -> dict[int, Array] | None:
    """Return how far to move links on the ground so that pins close in a state; None if that is impossible."""
    gap = geometry.gap(start, pins).reshape(-1, 3)
    if np.abs(gap).max() <= NEARLY * geometry.size:
        return {}
    roots = sorted({geometry.root(link) for pin in pins for link in (pin.first, pin.second)})
    moved = [root for root in roots if root not in (GROUND, min(r for r in roots if r != GROUND))]
    if geometry.first or not moved:
        return None
    matrix = np.zeros((len(pins), len(moved)))
    for k, pin in enumerate(pins):
        for link, sign in ((pin.first, -1.0), (pin.second, 1.0)):
            if geometry.root(link) in moved:
                matrix[k, moved.index(geometry.root(link))] += sign
    shifts = np.linalg.lstsq(matrix, -gap, rcond=None)[0]
    if np.abs(matrix @ shifts + gap).max() > NEARLY * geometry.size:
        return None
    return {root: shift for root, shift in zip(moved, shifts, strict=True) if np.abs(shift).max() > 0.0}


def _null_space(j: Array) -> Array:
    _, sizes, vt = np.linalg.svd(j)
    rank = int((sizes > 1e-9 * max(1.0, sizes.max(initial=0.0))).sum())
    return vt[rank:].T


def _pin(
    geometry: Geometry, allowed: Sequence[tuple[tuple[Array, Array], Array]], first: int, second: int, start: Array
) -> Pin | None:
    """Return the pin between two links that J implies, if there is one."""
    blocks, sides = [], []
    for (turns, origins), null in allowed:
        for velocity in null.T:
            here, there = (_twist(geometry, (turns, origins), link, velocity) for link in (first, second))
            blocks.append(np.hstack([-_cross(here[0]) @ turns[first], _cross(there[0]) @ turns[second]]))
            sides.append(here[1] - there[1])
    matrix, side = np.vstack(blocks), np.concatenate(sides)
    u, sizes, vt = np.linalg.svd(matrix, full_matrices=False)
    seen = sizes > 1e-8 * max(1e-12, sizes.max(initial=0.0))
    known = vt[seen].T @ ((u.T @ side)[seen] / sizes[seen]) if seen.any() else np.zeros(6)
    if np.abs(matrix @ known - side).max(initial=0.0) > EXACT * max(geometry.size, np.abs(side).max(initial=0.0)):
        return None
    turns, origins = geometry.poses(start)
    gap = origins[second] + turns[second] @ known[3:] - origins[first] - turns[first] @ known[:3]
    free = np.linalg.svd(np.vstack([vt[seen], np.zeros((6, 6))]))[2][int(seen.sum()) :].T
    if np.abs(gap).max() > NEARLY * geometry.size:  # directions that the rows leave open may still close it
        by = np.hstack([-turns[first], turns[second]]) @ free
        known = known - free @ np.linalg.lstsq(by, gap, rcond=1e-9)[0]
    known = np.where(np.abs(known) < 1e-12 * geometry.size, 0.0, known)
    pin = Pin(first, second, known[:3], known[3:])
    poses, _ = allowed[0]
    rows = geometry.columns(poses, second, poses[1][second] + poses[0][second] @ known[3:])
    rows = rows - geometry.columns(poses, first, poses[1][first] + poses[0][first] @ known[:3])
    return pin if np.abs(rows).max() > 1e-6 * geometry.size else None  # otherwise it is a joint of the tree itself


def _twist(geometry: Geometry, poses: tuple[Array, Array], link: int, velocity: Array) -> tuple[Array, Array]:
    """Return the angular velocity of a link and the velocity of its origin."""
    turns, origins = poses
    spin = np.zeros(3)
    for k in geometry.support(link):
        if not geometry.slides[k]:
            spin = spin + turns[k][:, 2] * velocity[k - geometry.first]
    return spin, geometry.columns(poses, link, origins[link]) @ velocity


def _cross(w: Array) -> Array:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def _difference(
    geometry: Geometry, pins: Sequence[Pin], jacobian: Constraint | None, samples: Sequence[tuple[Array, Array]],
    start: Array, dice: np.random.Generator,
) -> float:  # fmt: skip
    """Return how far the row spaces of pins and J differ, in random closed states."""
    worst, seen = 0.0, 0
    for k in range(5 * CHECKS):
        if jacobian is None:
            if k == len(samples):
                break
            q, wanted = samples[k]
        else:
            near = geometry.closed(start + (dice.uniform(-0.6, 0.6, len(start)) if k else 0.0), pins)
            if near is None:
                continue
            q, wanted = near, jacobian(near)
        own, other = (_projector(j) for j in (geometry.rows(q, pins), wanted))
        worst, seen = max(worst, float(np.abs(own - other).max())), seen + 1
        if seen == CHECKS:
            break
    return worst if seen else np.inf


def _projector(j: Array) -> Array:
    _, sizes, vt = np.linalg.svd(j)
    rank = int((sizes > 1e-7 * sizes.max(initial=0.0)).sum())
    return vt[:rank].T @ vt[:rank]
