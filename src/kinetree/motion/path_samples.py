"""Points along paths, and the coefficients of limits there.

Points are even between the kinks of a path, which are points themselves; there are two intervals at least between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import newton_euler
from ..errors import OptionError
from ..evaluation.chains import evaluate_into
from ..evaluation.law_kernels import LawProgram, can_compile
from ..model.tree import Model
from ..robot.robot import Robot
from ..spatial import Scalar, where
from ..spatial.arrays import Array
from .path_limits import PathLayout
from .splines import Piecewise
from .trajectory_interface import Trajectory

Scalars = Sequence[Scalar]

MOST_KNOTS = 4
"""All knots of a spline are points if there are this many times more points; otherwise only where it has kinks."""

SMALLEST = 40
"""Degrees of freedom up to which coefficients are one formula; for more they are differences of joint forces."""


class SplinePaths(NamedTuple):
    """Polynomials from knot to knot, with as many pieces each.

    Attributes
    ----------
    knots : ndarray (paths, pieces + 1)
    coefficients : ndarray (paths, pieces, degree + 1, n)
    """

    knots: Array
    coefficients: Array

    def at(self, which: slice) -> SplinePaths:
        """Return some of the paths."""
        return SplinePaths(self.knots[which], self.coefficients[which])


def through_points(points: Array) -> SplinePaths:
    """Return natural cubic splines through points (paths, points, n), over the lengths of the chords."""
    chord = np.diff(points, axis=1)
    length = np.sqrt((chord * chord).sum(axis=2))
    paths, pieces, n = chord.shape
    knots = np.concatenate([np.zeros((paths, 1)), np.cumsum(length, axis=1)], axis=1)
    h, slope = length[..., None], chord / length[..., None]
    bent = np.zeros((paths, pieces + 1, n))  # second derivatives at the knots, by the tridiagonal system
    if pieces > 1:
        diagonal, right = 2.0 * (h[:, :-1] + h[:, 1:]), 6.0 * np.diff(slope, axis=1)
        for k in range(1, pieces - 1):
            share = h[:, k] / diagonal[:, k - 1]
            diagonal[:, k] -= share * h[:, k]
            right[:, k] -= share * right[:, k - 1]
        for k in reversed(range(pieces - 1)):
            bent[:, k + 1] = (right[:, k] - h[:, k + 1] * bent[:, k + 2]) / diagonal[:, k]
    found = np.stack(
        [points[:, :-1], slope - h * (2.0 * bent[:, :-1] + bent[:, 1:]) / 6.0, 0.5 * bent[:, :-1],
         np.diff(bent, axis=1) / (6.0 * h)],
        axis=2,
    )  # fmt: skip
    return SplinePaths(knots, found)


def as_splines(paths: Sequence[Trajectory], intervals: int) -> SplinePaths | None:
    """Return paths as splines with as many pieces each, if that is what they are."""
    if not all(type(path) is Piecewise and not path.hold for path in paths):
        return None
    tables = [np.asarray(path.coefficients) for path in paths if isinstance(path, Piecewise)]
    if len({table.shape for table in tables}) > 1 or tables[0].shape[0] * MOST_KNOTS > intervals:
        return None
    return SplinePaths(
        np.stack([np.asarray(path.knots) for path in paths if isinstance(path, Piecewise)]), np.stack(tables)
    )


LEAST = 2
"""Intervals between kinks: each has a neighbor without one between."""


def shares(lengths: Array, intervals: int) -> Array:
    """Return how many intervals each part of a path has, at least two: in proportion to its length."""
    wanted = lengths * (intervals / lengths.sum(axis=-1, keepdims=True))
    found = np.maximum(np.floor(wanted), LEAST)
    for row, own in zip(found.reshape(-1, lengths.shape[-1]), wanted.reshape(-1, lengths.shape[-1]), strict=True):
        while (missing := intervals - int(row.sum())) != 0:
            best = np.argsort(row - own if missing > 0 else own - np.where(row > LEAST, row, np.inf), kind="stable")
            row[best[: abs(missing)]] += np.sign(missing)
            np.maximum(row, LEAST, out=row)
    return found.astype(int)


def _points(edges: Array, count: Array) -> tuple[Array, Array]:
    """Return even points between edges (parts + 1,), ``count`` intervals in each part, and the part of each."""
    part = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(part)) - np.repeat(np.cumsum(count) - count, count)
    return np.append(edges[part] + np.diff(edges)[part] * within / count[part], edges[-1]), part


@lru_cache(maxsize=32)
def _polynomials(degree: int, n: int, cpu: str) -> LawProgram:
    """Return the program that finds place, first and second derivative of a polynomial."""

    def law(c: Scalars, s: Scalars) -> list[Scalar]:
        found: list[Scalar] = []
        for order in range(3):
            for k in range(n):
                value: Scalar = 0.0
                for power in reversed(range(order, degree + 1)):
                    value = value * s[0] + float(np.prod(range(power - order + 1, power + 1))) * c[power * n + k]
                found.append(value)
        return found

    return LawProgram("points of splines", law, {"c": (degree + 1) * n, "s": 1}, True, cpu=cpu)


class Room(NamedTuple):
    """Memory for the numbers of some paths.

    Attributes
    ----------
    table : ndarray (paths, points, numbers)
        Coefficients of polynomials.
    states : ndarray (paths, points, 3 n)
        Places, first and second derivatives.
    limits : ndarray (paths, points, numbers)
        Coefficients of limits.
    """

    table: Array
    states: Array
    limits: Array


class PathPoints(NamedTuple):
    """Points of some paths, and one more at both ends whose numbers do not count.

    Attributes
    ----------
    s : ndarray (paths, points)
        Without these two.
    q : ndarray (paths, points + 2, nq)
    first, second : ndarray (paths, points + 2, n)
        Derivatives by s.
    """

    s: Array
    q: Array
    first: Array
    second: Array


def sampled_splines(splines: SplinePaths, intervals: int, room: Room, cpu: str, threads: int) -> PathPoints:
    """Return the points of splines, knots among them."""
    knots, table = splines
    paths, pieces, rows, n = table.shape
    count = shares(np.diff(knots, axis=1), intervals)
    made = [_points(own, each) for own, each in zip(knots, count, strict=True)]
    s = np.stack([x for x, _ in made])
    part = np.zeros((paths, intervals + 3), dtype=np.intp)
    part[:, 1:-2], part[:, -2:] = np.stack([x for _, x in made]), pieces - 1
    since = np.zeros((paths, intervals + 3, 1))
    since[:, 1:-1, 0] = s - np.take_along_axis(knots, part[:, 1:-1], axis=1)
    flat = part + pieces * np.arange(paths)[:, None]
    c, states = room.table[:paths], room.states[:paths]
    np.take(table.reshape(paths * pieces, rows * n), flat, axis=0, out=c, mode="clip")
    evaluate_into(_polynomials(rows - 1, n, cpu), {"c": c, "s": since}, states, threads)
    return PathPoints(s, states[..., :n], states[..., n : 2 * n], states[..., 2 * n :])


def sampled(paths: Sequence[Trajectory], intervals: int) -> PathPoints:
    """Return the points of any paths, kinks among them."""
    grids, states = [], []
    for path in paths:
        begin, end = path.start, path.end
        if not (np.isfinite(begin) and np.isfinite(end)):
            raise OptionError("a path must have a beginning and an end")
        edges = np.concatenate([[begin], path.kinks(begin, end), [end]])
        if LEAST * (len(edges) - 1) > intervals:
            raise OptionError(
                f"the path has {len(edges) - 2} kinks, and two intervals between each: give at least "
                f"points={LEAST * (len(edges) - 1) + 1}"
            )
        s, _ = _points(edges, shares(np.diff(edges), intervals))
        grids.append(s)
        states.append(path.states(np.concatenate([s[:1], s, s[-1:]])))
    return PathPoints(np.stack(grids), *(np.stack(part) for part in zip(*states, strict=True)))


class Which(NamedTuple):
    """The joints that are limited, by kind; -1 among those of power stands for the sum of all powers."""

    torque: tuple[int, ...]
    acceleration: tuple[int, ...]
    velocity: tuple[int, ...]
    power: tuple[int, ...]


def _coefficients(
    which: Which, viscous: bool, first: Scalars, second: Scalars, forces: tuple[Scalars, Scalars, Scalars],
    scales: dict[str, Scalars],
) -> list[Scalar]:  # fmt: skip
    """Return the coefficients of all limits at a point, in the order of :class:`~.path_limits.PathLayout`."""
    a, b, g = forces
    d = [c * v for c, v in zip(scales["damping"], first, strict=True)] if viscous else []
    found: list[Scalar] = []
    for each in (a, b, g, d) if viscous else (a, b, g):
        found += [each[k] * t for k, t in zip(which.torque, scales["torque"], strict=True)]
    for each in (first, second):
        found += [each[k] * t for k, t in zip(which.acceleration, scales["acceleration"], strict=True)]
    for k, t in zip(which.velocity, scales["velocity"], strict=True):
        rate = first[k] * t
        found.append(rate * rate)
    if which.power:
        rubbed = [x + where(v < 0.0, -c, c) for x, v, c in zip(g, first, scales["coulomb"], strict=True)]
        for each in (a, b, rubbed, d) if viscous else (a, b, rubbed):
            own = [x * v for x, v in zip(each, first, strict=True)]
            found += [(sum(own) if k < 0 else own[k]) * t for k, t in zip(which.power, scales["power"], strict=True)]
    return found


@lru_cache(maxsize=64)
def _program(which: Which, viscous: bool, n: int, cpu: str) -> LawProgram:
    """Return the program for coefficients from joint forces that are known."""

    def law(first: Scalars, second: Scalars, a: Scalars, b: Scalars, g: Scalars, **scales: Scalars) -> list[Scalar]:
        return _coefficients(which, viscous, first, second, (a, b, g), scales)

    lengths = dict.fromkeys(("first", "second", "a", "b", "g"), n) | _lengths(which, n)
    return LawProgram("limits along a path", law, lengths, True, cpu=cpu)


def _lengths(which: Which, n: int) -> dict[str, int]:
    sizes = {name: len(own) for name, own in which._asdict().items()}
    return sizes | {"damping": n, "coulomb": n}


@lru_cache(maxsize=16)
def _program_of_tree(tree: Model, which: Which, viscous: bool, cpu: str) -> LawProgram:
    """Return the program for coefficients of a tree, from its path."""

    def law(q: Scalars, first: Scalars, second: Scalars, offset: Scalars, **scales: Scalars) -> list[Scalar]:
        still, weightless = [0.0] * tree.nv, (0.0, 0.0, 0.0)
        of_u, _ = newton_euler.inverse_dynamics(tree, q, still, list(first), weightless, springs=False)
        of_x, _ = newton_euler.inverse_dynamics(tree, q, first, list(second), weightless, springs=False)
        rest, _ = newton_euler.inverse_dynamics(tree, q, still, None, tree.gravity)
        rest = [x + y for x, y in zip(rest, offset, strict=True)]
        return _coefficients(which, viscous, first, second, (of_u, of_x, rest), scales)

    lengths = {"q": tree.nq, "first": tree.nv, "second": tree.nv, "offset": tree.nv} | _lengths(which, tree.nv)
    return LawProgram(f"limits along a path of {tree.name!r}", law, lengths, True, cpu=cpu)


class PathCoefficients:
    """Coefficients of limits at points of paths.

    Parameters
    ----------
    robot : Robot or None
    limits : mapping of str to ndarray
        Largest magnitudes of each kind, infinite where there is none; the last power is that of all joints together.
    friction : bool
    cpu : str
    threads : int
    """

    def __init__(
        self, robot: Robot | None, limits: dict[str, Array], friction: bool, cpu: str, threads: int
    ) -> None:  # fmt: skip
        self.robot, self.cpu, self.threads = robot, cpu, threads
        n = len(limits["velocity"])
        some = {name: tuple(int(k) for k in np.flatnonzero(np.isfinite(x[:n]))) for name, x in limits.items()}
        if np.isfinite(limits["power"][n]):
            some["power"] += (-1,)
        self.which = Which(**some)
        nothing = np.zeros(n)
        self.damping = self.coulomb = self.offset = nothing
        self.has_forces = robot is not None and bool(some["torque"] or some["power"])
        self.dampers = friction and robot is not None and any(t.damping for t in robot.model.tendons)
        if friction and robot is not None and self.has_forces:
            damping, coulomb = (np.asarray(x, dtype=float) for x in robot.model.effective_friction)
            self.damping, self.coulomb = damping * np.ones(n), coulomb * np.ones(n)
            self.offset = np.asarray(robot.model.effective_offset, dtype=float) * np.ones(n)
        viscous = bool(self.damping.any() or self.dampers)
        counts = {name: len(own) for name, own in self.which._asdict().items()}
        self.layout = PathLayout(**counts, viscous=viscous, rubbing=bool(self.coulomb.any()))
        self.given = {name: 1.0 / limits[name][list(own)] for name, own in self.which._asdict().items() if own}
        self.given |= {"damping": self.damping, "coulomb": self.coulomb}
        self.torque = limits["torque"][list(self.which.torque)]

    @property
    def is_one_formula(self) -> bool:
        """Whether the robot is a tree small enough for coefficients in one formula."""
        robot = self.robot
        return (
            robot is not None and self.has_forces and can_compile(robot) and not robot.model.is_constrained
            and robot.nv <= SMALLEST and not self.dampers and not robot.model.tendons
        )  # fmt: skip

    def __call__(self, at: PathPoints, out: Array) -> None:
        """Write coefficients (paths, points, numbers) to an array."""
        robot, viscous = self.robot, self.layout.viscous
        given: dict[str, Any] = {"first": at.first, "second": at.second} | self.given
        if self.is_one_formula:
            assert robot is not None
            program = _program_of_tree(robot.model, self.which, viscous, self.cpu)
            evaluate_into(program, given | {"q": at.q, "offset": self.offset}, out, self.threads)
            return
        nothing = np.zeros_like(at.first)
        given |= {"a": nothing, "b": nothing, "g": nothing}
        if robot is not None and self.has_forces:
            q, first, second = (np.ascontiguousarray(x) for x in (at.q, at.first, at.second))
            rest = robot.inverse_dynamics(q, nothing, nothing, threads=self.threads)
            given["a"] = robot.inverse_dynamics(q, nothing, first, threads=self.threads) - rest
            given["b"] = robot.inverse_dynamics(q, first, second, threads=self.threads) - rest
            given["g"] = rest + self.offset
        if self.dampers:
            assert robot is not None
            with np.errstate(all="ignore"):  # their forces as dampers of the joints, at this q and direction
                lost = robot.friction_force(2.0 * at.first, q=at.q) - robot.friction_force(at.first, q=at.q)
                given["damping"] = np.where(at.first == 0.0, 0.0, lost / at.first)
        evaluate_into(_program(self.which, viscous, at.first.shape[-1], self.cpu), given, out, self.threads)

    def rubbing(self, first: Array) -> Array:
        """Return Coulomb friction on intervals, and how much of it may have either sign, each relative to the limits.

        Parameters
        ----------
        first : ndarray (paths, points, n)
        """
        paths, points = first.shape[:2]
        if not self.layout.rubbing:
            return np.zeros((paths, points - 1, 0))
        own = list(self.which.torque)
        ways = np.sign(first[..., own])
        begin, end = ways[:, :-1], ways[:, 1:]
        lost, steady = self.coulomb[own] / self.torque, begin * end > 0.0
        return np.concatenate([np.where(steady, lost * begin, 0.0), np.where(steady, 0.0, lost)], axis=-1)
