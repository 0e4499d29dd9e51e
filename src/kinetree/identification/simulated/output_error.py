"""Refining a result by output error: simulations that start from measured states must follow the measured motion.

The data are cut into short windows, which are simulated side by side with the measured forces, by classical Runge-Kutta
steps.  The sensitivities of positions and velocities to the parameters are integrated along with them, by exact
derivatives of the accelerations, so that Gauss-Newton steps find the parameters with the least output error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import IdentificationError, OptionError, UnsupportedError
from ...model.parameters import OF_BODIES
from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..closed_motion import motions_of
from ..filtering import FilteredMotion
from ..identifiable import ParameterGroups, Structure
from ..measured import Data

if TYPE_CHECKING:
    from ...robot.robot import Robot
    from ..identified import Identified


@dataclass(frozen=True)
class Refined:
    """The result with the least output error.

    Attributes
    ----------
    robot : Robot
    names : tuple of str
        Combinations of parameters that were refined.
    values, deviations : ndarray
    errors : ndarray
        Root of the mean square of the difference between simulated and measured positions, per joint.
    errors_before : ndarray
        The same for the original robot.
    steps : int
        How many Gauss-Newton steps it took.
    """

    robot: Robot
    names: tuple[str, ...]
    values: Array
    deviations: Array
    errors: Array
    errors_before: Array
    steps: int


def refine_by_output_error(found: Identified, data: Data, *, window: float = 0.2, steps: int = 8) -> Refined:
    """Change the inertial parameters of a result to bring simulated positions as near as possible to measured ones.

    Parameters
    ----------
    found : Identified
        The starting point; its friction and rotors are kept.
    data : Measured, path, or several of them
    window : float
        Duration of each simulation, in seconds.
    steps : int
        Maximum number of Gauss-Newton steps.
    """
    robot = found.robot
    if robot.loops is not None or robot.nq != robot.nv or robot.is_floating:
        raise UnsupportedError(
            "output errors are computed for trees on a fixed base, of joints with one coordinate each"
        )
    if not 0.0 < window < np.inf or steps < 1:
        raise OptionError(f"window must be a time in seconds and steps a positive number, not {window!r} and {steps!r}")
    motions, _, _ = motions_of(robot, data, found.band, found.gains)
    cuts = _windows(robot, motions, window)
    names = tuple(n for n in found.solution if n in robot.parameters() and n.rpartition(".")[2] in OF_BODIES)
    groups = Structure(robot).groups(names)
    rest, slope = _simulated(robot, cuts, groups.independent)
    before = np.sqrt(np.mean(rest**2, axis=(0, 1)))
    noise, cost, done = before, np.inf, 0
    while done < steps:
        done += 1
        change, _ = _step(rest, slope, noise)
        length = 1.0
        while True:
            tried = _changed(robot, groups, length * change)
            new_rest, new_slope = _simulated(tried, cuts, groups.independent)
            value = float(np.sum((new_rest / noise) ** 2))
            if np.isfinite(value) and value <= float(np.sum((rest / noise) ** 2)):
                break
            length *= 0.5
            if length < 1e-6:
                tried, new_rest, new_slope, value = robot, rest, slope, float(np.sum((rest / noise) ** 2))
                break
        robot, rest, slope = tried, new_rest, new_slope
        if abs(cost - value) <= tuned.OUTPUT_SETTLED * value:
            break
        cost = value
    errors = np.sqrt(np.mean(rest**2, axis=(0, 1)))
    _, covariance = _step(rest, slope, errors)
    table = robot.parameters()
    values = groups.matrix @ np.array([table[name] for name in groups.parameters])
    return Refined(robot, groups.names, values, np.sqrt(np.diagonal(covariance)), errors, before, done)


@dataclass(frozen=True)
class _Windows:
    """Pieces of equal length, side by side: positions (windows, samples, nv), velocities at the start, forces."""

    q: Array
    v_start: Array
    tau: Array
    step: float


def _windows(robot: Robot, motions: Sequence[FilteredMotion], window: float) -> _Windows:
    step = float(motions[0].t[1] - motions[0].t[0])
    count = max(2, round(window / step)) + 1
    q, v, tau = [], [], []
    for m in motions:
        forces = m.tau - robot.friction_force(m.v)
        for first in range(0, len(m.t) - count + 1, count - 1):
            part = slice(first, first + count)
            q.append(m.q[part])
            v.append(m.v[first])
            tau.append(forces[part])
    if not q:
        raise IdentificationError(f"the data are shorter than a window of {window:g} s")
    return _Windows(np.stack(q), np.stack(v), np.stack(tau), step)


def _simulated(robot: Robot, cuts: _Windows, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Return measured minus simulated positions, and the slope of the latter, (windows, samples, nv[, p])."""
    windows, samples, n = cuts.q.shape
    q, v = cuts.q[:, 0], cuts.v_start
    by_q, by_v = np.zeros((2, windows, n, len(names)))
    positions, slopes = [q], [by_q]

    def rates(state: tuple[Array, ...], tau: Array) -> tuple[Array, ...]:
        q, v, sq, sv = state
        a = robot.forward_dynamics(q, v, tau)
        a_q, a_v, inverse = robot.forward_dynamics_derivatives(q, v, tau)
        a_p = -inverse @ robot.regressor(q, v, a, parameters=names)
        return v, a, sv, a_q @ sq + a_v @ sv + a_p

    def ahead(state: tuple[Array, ...], slope: tuple[Array, ...], by: float) -> tuple[Array, ...]:
        return tuple(x + by * d for x, d in zip(state, slope, strict=True))

    h = cuts.step
    for k in range(samples - 1):
        start = (q, v, by_q, by_v)
        forces = (cuts.tau[:, k], 0.5 * (cuts.tau[:, k] + cuts.tau[:, k + 1]), cuts.tau[:, k + 1])
        k1 = rates(start, forces[0])
        k2 = rates(ahead(start, k1, 0.5 * h), forces[1])
        k3 = rates(ahead(start, k2, 0.5 * h), forces[1])
        k4 = rates(ahead(start, k3, h), forces[2])
        q, v, by_q, by_v = (
            x + h / 6.0 * (a + 2.0 * b + 2.0 * c + d) for x, a, b, c, d in zip(start, k1, k2, k3, k4, strict=True)
        )
        positions.append(q)
        slopes.append(by_q)
    return cuts.q - np.stack(positions, axis=1), np.stack(slopes, axis=1)


def _step(rest: Array, slope: Array, noise: Array) -> tuple[Array, Array]:
    """Return the Gauss-Newton step and the covariance of the parameters."""
    weight = 1.0 / np.maximum(noise, 1e-300)
    tall = (slope * weight[:, None]).reshape(-1, slope.shape[-1])
    size = np.maximum(np.linalg.norm(tall, axis=0), 1e-300)
    u, s, vt = np.linalg.svd(tall / size, full_matrices=False)
    known = s > 1e-7 * s[0]
    back = (vt[known].T / s[known]) / size[:, None]
    return back @ (u[:, known].T @ (rest * weight).reshape(-1)), back @ back.T


def _changed(robot: Robot, groups: ParameterGroups, change: Array) -> Robot:
    """Return the robot with other values of the groups: all parameters change as little as possible."""
    table = robot.parameters()
    spread = np.linalg.lstsq(groups.matrix, change, rcond=None)[0]
    new = {name: table[name] + float(x) for name, x in zip(groups.parameters, spread, strict=True)}
    return robot.with_parameters(new, physical=False)
