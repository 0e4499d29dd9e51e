"""All configurations of a mechanism with one freedom, whichever joint drives it; dead points are ordinary points here.

The motion that the loops allow is followed from a closed configuration until it returns or reaches a limit.  Steps
adapt to its curvature; each is a prediction and a Newton correction perpendicular to it (pseudo-arclength
continuation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from kinetree.algorithms.loop_constraints import usual_size
from kinetree.errors import ClosureError, UnknownNameError, UnsupportedError, explains_arguments
from kinetree.model.joints import Continuous, Revolute
from kinetree.robot.mechanism import Mechanism
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .planar_analysis import Driven, of_one_freedom, output_rate

STEP, LEAST_STEP = 0.05, 1e-6
"""Longest and shortest step, in radians; along slides, as fractions of the mechanism's size."""

STRAIGHT = 0.1
"""A step is too long if the direction of motion turns by more than this, in radians."""

MOST_STEPS = 20_000


@dataclass(frozen=True)
class Circuit:
    """Configurations of a mechanism along its whole motion, starting from one of them.

    Attributes
    ----------
    robot : Mechanism
    q : ndarray, shape (n, nq)
    closes : bool
        Whether the motion returns to its start; the first configuration then follows the last.
    arc : ndarray, shape (n,)
        Arc length up to each configuration, in radians; along slides, in units of the mechanism's size.
    scale : ndarray, shape (nv,)
        The unit of ``arc`` for each freedom.
    """

    robot: Mechanism
    q: Array
    closes: bool
    arc: Array
    scale: Array

    def tangent(self, q: Array, before: Array | None = None) -> Array:
        """Return the unit direction that loops allow at a configuration, in units of the scale, (nv,)."""
        _, _, v = np.linalg.svd(self.robot.loop_jacobian(q) * self.scale)
        way = v[-1]
        return way if before is None or way @ before > 0.0 else -way

    def corrected(self, beside: Array, way: Array) -> Array | None:
        """Return the closed configuration near another, (nq,), perpendicular to the direction; None if Newton fails."""
        q = beside.copy()
        for _ in range(12):
            gap = self.robot.loop_gaps(q)
            if np.abs(gap).max(initial=0.0) < 1e-13 * max(1.0, usual_size(self.robot.model)):
                return q
            matrix = np.vstack([self.robot.loop_jacobian(q) * self.scale, way])
            aside = np.append(gap, way @ ((q - beside) / self.scale))
            move = np.linalg.lstsq(matrix, -aside, rcond=1e-12)[0]
            if np.linalg.norm(move) > 1.0 or not np.isfinite(move).all():
                return None
            q = q + move * self.scale
        return q if np.abs(self.robot.loop_gaps(q)).max() < 1e-10 else None

    def at(self, k: int, along: float) -> Array:
        """Return the configuration at a distance ``along`` from the k-th, (nq,)."""
        way = self.tangent(self.q[k], self._ways[k])
        found = self.corrected(self.q[k] + along * way * self.scale, way)
        if found is None:
            raise ClosureError("the mechanism cannot be followed here: its motion branches")
        return found

    @cached_property
    def _ways(self) -> Array:
        """The approximate direction from each configuration, in units of the scale."""
        there = np.roll(self.q, -1, axis=0)
        ways = self.wrapped(there - self.q) / self.scale
        if not self.closes:
            ways[-1] = ways[-2]
        return ways

    def wrapped(self, difference: Array) -> Array:
        """Return differences of configurations without whole turns, (..., nq)."""
        turn = np.array([isinstance(j.kind, (Revolute, Continuous)) for j in self.robot.model.joints])
        whole = np.where(turn, 2 * np.pi * np.round(difference / (2 * np.pi)), 0.0)
        return np.asarray(difference - whole)

    def turning_points(self, driven: Driven) -> Array:
        """Return the configurations at which a joint, or a point along a direction, reverses, (k, nq).

        They are the dead points of that joint if it drives, and the ends of its stroke if it is driven.
        """

        def rate(q: Array, way: Array) -> float:
            return float(output_rate(self.robot, q, way * self.scale, driven))

        rates = np.array([rate(q, self.tangent(q, way)) for q, way in zip(self.q, self._ways, strict=True)])
        signs = np.sign(np.where(np.abs(rates) < 1e-12 * np.abs(rates).max(initial=0.0), 0.0, rates))
        found = []
        for k in range(len(self.q) if self.closes else len(self.q) - 1):
            before = signs[k] or (signs[k - 1] if k or self.closes else 0.0)
            if before * signs[(k + 1) % len(signs)] < 0.0:
                length = float(np.linalg.norm(self._ways[k]))

                def there(s: float, k: int = k) -> float:
                    q = self.at(k, s)
                    return rate(q, self.tangent(q, self._ways[k]))

                found.append(self.at(k, brentq(there, 0.0, length, xtol=1e-13)) if signs[k] else self.q[k])
        return np.array(found).reshape(-1, self.robot.nq)

    def swing(self, driven: Driven) -> tuple[Array, float]:
        """Return where an output reverses, (k, nq), and the ratio of the times of its slow and its fast stroke.

        The ratio is NaN unless the output moves forth and back exactly once per turn of the drive.
        """
        ends = self.turning_points(driven)
        entry = list(self.robot.v_names).index(self.robot.independent()[0])
        turned = self.wrapped(np.roll(self.q, -1, axis=0) - self.q)[:, entry].sum()
        if len(ends) != 2 or not self.closes or abs(turned) < 1.0:
            return ends, float("nan")
        there = abs(float(ends[1, entry] - ends[0, entry])) % (2 * np.pi)
        back = 2 * np.pi - there
        return ends, max(there, back) / min(there, back)


@explains_arguments
def circuit(robot: Robot, q: ArrayLike | None = None) -> Circuit:
    """Return all configurations that a mechanism with one freedom passes through, starting from one of them.

    Parameters
    ----------
    robot : Robot
        A mechanism whose joints have one freedom each.
    q : array_like, shape (nq,), optional
        A closed configuration, which selects the circuit.  By default that of the drawing, or
        :meth:`kinetree.Mechanism.assembled`.
    """
    mechanism = of_one_freedom(robot)
    model = mechanism.model
    if any(joint.kind.nq != 1 for joint in model.joints):
        raise UnsupportedError(f"{model.name!r} has joints with several coordinates, which circuits do not support")
    neutral = mechanism.neutral()
    drawn = mechanism.closure_error(neutral).max(initial=0.0) < 1e-9
    begin = mechanism.check_closed((neutral if drawn else mechanism.assembled()) if q is None else q)
    units = np.array([unit == "rad" for unit in model.v_units])
    scale = np.where(units, 1.0, usual_size(model))
    empty = Circuit(mechanism, begin[None], False, np.zeros(1), scale)
    forward, closes = _traced(empty, begin, empty.tangent(begin))
    if not closes:
        backward, _ = _traced(empty, begin, -empty.tangent(begin))
        forward = [*backward[:0:-1], *forward]
    found = np.array(forward)
    steps = np.linalg.norm(empty.wrapped(np.diff(found, axis=0)) / scale, axis=1)
    return Circuit(mechanism, found, closes, np.concatenate([[0.0], np.cumsum(steps)]), scale)


def _traced(of: Circuit, begin: Array, way: Array) -> tuple[list[Array], bool]:
    """Return configurations starting from one, and whether the motion returns to it."""
    found, q, first, step = [begin], begin, way, STEP / 4
    while len(found) < MOST_STEPS:
        there = of.corrected(q + step * way * of.scale, way)
        if there is not None and not of.robot.within_limits(there):
            return found, False
        new = None if there is None else of.tangent(there, way)
        if new is None or way @ new < np.cos(STRAIGHT):
            step *= 0.5
            if step < LEAST_STEP:
                return found, False
            continue
        assert there is not None
        off = of.wrapped(there - begin) / of.scale
        if len(found) > 4 and np.linalg.norm(off) < 2.0 * step and off @ first > 0.0 and way @ first > 0.5:
            return found, True
        found.append(there)
        q, way, step = there, new, min(STEP, 1.5 * step)
    return found, False


@explains_arguments
def turn(robot: Robot, samples: int = 361, q: ArrayLike | None = None) -> Array:
    """Return configurations over a whole turn of the drive, or over its whole range if it cannot turn fully.

    Parameters
    ----------
    robot : Robot
        A mechanism of one freedom.
    samples : int
        Number of configurations, evenly spaced along the drive's coordinate.
    q : array_like, shape (nq,), optional
        Where to begin; this selects the branch.

    Returns
    -------
    ndarray, shape (samples, nq)
    """
    whole = circuit(robot, q)
    name = whole.robot.independent()[0]
    entry, begin = list(whole.robot.v_names).index(name), whole.q[0] if q is None else np.asarray(q, dtype=float)
    drive = np.cumsum([whole.q[0, entry], *whole.wrapped(np.diff(whole.q, axis=0))[:, entry]])
    back = whole.wrapped(whole.q[:1] - whole.q[-1:])[0, entry] if whole.closes else 0.0
    steps = np.append(np.diff(drive), back)
    start = int(np.argmin(np.linalg.norm(whole.wrapped(whole.q - begin), axis=1)))
    order, count = [start], len(drive)  # the branch ends where the drive reverses
    for way in (1, -1):
        at = start
        while len(order) < count and (whole.closes or 0 <= at + way < count):
            step = steps[at if way > 0 else at - 1]
            if step * steps[start] <= 0.0:
                break
            at = (at + way) % count
            order = [*order, at] if way > 0 else [at, *order]
    if whole.closes and (steps * steps[start] > 0.0).all():
        return np.asarray(whole.robot.follow({name: begin[entry] + np.linspace(0, 2 * np.pi, samples)}, begin))
    along = np.concatenate([whole.q[order[:1]], whole.wrapped(np.diff(whole.q[order], axis=0))]).cumsum(axis=0)
    along = along if along[0, entry] < along[-1, entry] else along[::-1]
    path = np.linspace(along[0, entry], along[-1, entry], samples)
    guess = np.stack([np.interp(path, along[:, entry], column) for column in along.T], axis=-1)
    return np.asarray(whole.robot.close(guess, fixed={name: path[:, None]}))


@explains_arguments
def dead_points(robot: Robot, drive: str | None = None, q: ArrayLike | None = None) -> Array:
    """Return the dead points of a drive, (k, nq): configurations in which everything else could move without it.

    Parameters
    ----------
    robot : Robot
        A mechanism of one freedom.
    drive : str, optional
        The driving joint; that of the motor by default.
    q : array_like, shape (nq,), optional
        A closed configuration, which selects the circuit.
    """
    name = of_one_freedom(robot).independent()[0] if drive is None else drive
    if name not in robot.joint_names:
        raise UnknownNameError("joint that could drive", name, robot.joint_names)
    return circuit(robot, q).turning_points(name)


@explains_arguments
def quick_return(robot: Robot, driven: Driven, q: ArrayLike | None = None) -> float:
    """Return the ratio of the times of an output's slow and fast strokes, at constant speed of the drive.

    Parameters
    ----------
    robot : Robot
        A mechanism whose drive turns.
    driven : str or pair of str and direction
        A joint, or a point and a direction, as in :func:`kinetree.design.mechanical_advantage`.
    q : array_like, shape (nq,), optional
    """
    whole = circuit(robot, q)
    _, ratio = whole.swing(driven)
    if np.isnan(ratio):
        drive = whole.robot.independent()[0]
        stuck = "" if whole.closes and not len(whole.turning_points(drive)) else f": {drive!r} cannot turn all around"
        raise UnsupportedError(f"{driven!r} does not go back and forth once per turn of the drive{stuck}")
    return ratio
