"""Steps too long for ground and stops, on which explicit steps would chatter forever: a warning before the run.

Friction that is viscous at rest, c_h N s/m on an effective mass m, multiplies sliding by 1 - h c_h / m in an explicit
step of h: beyond 2 it reverses at every step and never comes to rest.  A spring of stiffness k throws
off whatever meets it if h sqrt(k / m) is beyond 2.  Formulas of higher order have other limits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...algorithms.acting_element import ActingElement
from ...algorithms.compliant_directions import slopes_of, sum_of
from ...algorithms.kinematics import Twist, poses
from ...algorithms.tendons import Taut
from ...contact.ground import Ground, drag, slopes
from ...contact.joint_stops import JointStops
from ...contact.surfaces import touch
from ...errors import KinetreeWarning, Message, Setting, callers_level
from ...robot.robot import Robot
from ...spatial import ZERO_MOTION, Vec3
from ...spatial.arrays import Array, pack, split
from ..integrators.fixed_step_methods import IMPLICIT

LIMITS = {
    "euler": (2.0, 2.0), "semi_implicit_euler": (2.0, 2.0), IMPLICIT: (2.0, 2.0), "rk4": (2.78, 2.82),
    "dopri5": (3.3, 1.0),
}  # fmt: skip
"""Limits of step times damping over mass, and of step times the square root of stiffness over mass."""

BESIDE = 0.01
"""Spots no more than this (m) above the lowest one are assumed to stand on the ground together."""

STOP_DEPTH = 1e-3
"""How far beyond a limit (rad or m) the stiffness of a stop is evaluated."""

LARGEST = 300
"""The most freedoms for which effective masses are computed."""


class Stiff(NamedTuple):
    """Lines along which something stiff acts, and its stiffness."""

    name: str
    slopes: Array
    """Derivatives of the lines with respect to each freedom, (lines, nv)."""
    stiffness: Array
    damping: Array
    """Damping of each line, (lines,)."""
    number: str
    """The option of the law that should be smaller."""
    together: bool = True
    """Whether all lines act at once; else one of them at a time."""


def warn_of_long_steps(
    robot: Robot, elements: Sequence[ActingElement], q: Array, integrator: str, step: float | None, knows: bool
) -> bool:
    """Warn of a step that is too long for the ground or the stops that a robot starts near; return whether it is.

    If an implicit step does not include the elements, this applies to everything whose stiffness is known.

    Parameters
    ----------
    robot : Robot
    elements : sequence of force elements
    q : ndarray, shape (..., nq)
        The start; in a batch, the first state that is valid counts.
    integrator : str
    step : float or None
    knows : bool
        Whether an implicit step includes the forces that act here.
    """
    if step is None or integrator not in LIMITS or (integrator == IMPLICIT and knows) or robot.nv > LARGEST:
        return False
    start = next((x for x in q.reshape(-1, q.shape[-1]) if np.isfinite(x).all()), None)
    if start is None:
        return False
    with np.errstate(all="ignore"):
        found = [x for e in elements if (x := _stiff(robot, e, start, integrator == IMPLICIT)) is not None]
        mobility = _mobility(robot, start) if found else np.zeros((0, 0))
    damped, sprung = LIMITS[integrator]
    for one in found:
        by_damping = step * _largest(mobility, one, one.damping) / damped
        by_stiffness = step * math.sqrt(_largest(mobility, one, one.stiffness)) / sprung
        if max(by_damping, by_stiffness) > 1.0:
            _warn(one, integrator, step, by_damping, by_stiffness)
            return True
    return False


def _warn(one: Stiff, integrator: str, step: float, by_damping: float, by_stiffness: float) -> None:
    if by_damping > by_stiffness:
        times = by_damping
        fact = f"{one.number} of {one.name} is {times:.3g} times what it can take, so that it chatters and never rests"
        less = f"{one.number} {times:.3g} times smaller"
    else:
        times = by_stiffness
        fact = f"the stiffness of {one.name} is {times**2:.3g} times what it can take, so that it throws the robot off"
        less = f"a stiffness {times**2:.3g} times smaller"
    known = Message(Setting("integrator", IMPLICIT), ", which looks ahead, ") if integrator != IMPLICIT else ""
    warnings.warn(
        Message(
            f"a step of {step:g} s is too long for {integrator!r} here: {fact}. Take ", known, "",
            Setting("step", _rounded_down(step / times)), f" s or less, or {less}",
        ),
        KinetreeWarning,
        stacklevel=callers_level(),
    )  # fmt: skip


def _rounded_down(x: float) -> float:
    """Return a number rounded down to two digits."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{math.floor(x / unit) * unit:.1e}")


def _largest(mobility: Array, one: Stiff, factors: Array) -> float:
    """Return the largest ratio of stiffness, or damping, to the masses that they act on together."""
    scaled = np.sqrt(np.nan_to_num(factors))[:, None] * one.slopes
    whole = np.nan_to_num(scaled @ mobility @ scaled.T)
    return float(np.max(np.linalg.eigvalsh(whole) if one.together else np.diagonal(whole), initial=0.0))


def _mobility(robot: Robot, q: Array) -> Array:
    """Return the accelerations of freedoms per joint force, with loops kept closed, (nv, nv)."""
    basis = np.eye(robot.nv) if robot.loops is None else robot.basis(q)
    mass = basis.T @ robot.tree.mass_matrix(q) @ basis
    return basis @ np.linalg.pinv(mass, hermitian=True) @ basis.T


def _stiff(robot: Robot, element: ActingElement, q: Array, others: bool) -> Stiff | None:
    if isinstance(element, Ground):
        return _of_ground(robot, element, q)
    if isinstance(element, JointStops):
        return _of_stops(robot, element, q)
    return _of_others(robot, element, q) if others or element.STANDS_ON else None


def _of_others(robot: Robot, element: ActingElement, q: Array) -> Stiff | None:
    """Return other stiff elements, by their own impedance where the robot starts."""
    x, begin = split(q), max(0.0, element.span[0])
    stiffness, damping, along = sum_of(robot.model, [element.impedance(robot.model, begin, x, [0.0] * robot.nv)])
    single = [(Taut(0.0, {k: 1.0}), s, d) for k, (s, d) in enumerate(zip(stiffness, damping, strict=True))]
    felt = [(line, _most(s), _most(d)) for line, s, d in [*single, *along] if _most(s) > 0.0 or _most(d) > 0.0]
    if not felt:
        return None
    lines, stiff, damped = zip(*felt, strict=True)
    return Stiff(element.label, _rows(robot, x, lines), np.array(stiff), np.array(damped), "damping")


def _of_ground(robot: Robot, ground: Ground, q: Array) -> Stiff | None:
    """Return the stiffness of the ground below the spots that stand on it, each with its share of the weight."""
    tree, x = robot.model, split(q)
    posed, resting = poses(tree, x), [Twist(ZERO_MOTION, ZERO_MOTION)] * len(tree.bodies)
    gaps = [float(touch(tree, posed, resting, s, ground.surface, ground.on).gap) for s in ground.spots]
    near = [s for s, gap in zip(ground.spots, gaps, strict=True) if gap <= min(gaps) + BESIDE]
    if not near:
        return None
    load = robot.mass * math.hypot(*tree.gravity) / len(near)
    stiffness, damping = (_most(s) for s in slopes(ground.normal, _depth(ground.normal, load), 0.0))
    axes = Vec3(0.0, 0.0, 0.0), (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0))
    rubbing = [0.0, 0.0] if ground.friction is None else [_most(c) for c in drag(ground.friction, load, *axes)]
    lines = [line for line, _, _ in replace(ground, spots=near).impedance(tree, 0.0, x, [0.0] * tree.nv)[2]]
    each = 1 if ground.friction is None else 3
    frames = list(dict.fromkeys(s.frame for s in near))
    names = ", ".join(frames[:3]) + (", ..." if len(frames) > 3 else "")
    number = "sliding_damping" if max(rubbing) > damping else "damping"
    stiff, damped = (np.array(one[:each] * len(near)) for one in ([stiffness, 0.0, 0.0], [damping, *rubbing]))
    return Stiff(f"the ground below {names}", _rows(robot, x, lines), stiff, damped, number)


def _of_stops(robot: Robot, stops: JointStops, q: Array) -> Stiff | None:
    lines = [along for along, _ in stops.beyond(robot.model, split(q), [0.0] * robot.nv)]
    if not lines:
        return None
    stiffness, damping = (_most(s) for s in slopes(stops.law, STOP_DEPTH, 0.0))
    each = np.ones(len(lines))
    rows = _rows(robot, split(q), lines)
    return Stiff("the stops of joints", rows, stiffness * each, damping * each, "damping", together=False)


def _rows(robot: Robot, q: Sequence[Any], lines: Sequence[Any]) -> Array:
    """Return derivatives of lines with respect to each freedom, (lines, nv)."""
    found = slopes_of(robot.model, poses(robot.model, q), lines)
    return np.stack([pack([slope.get(k, 0.0) for k in range(robot.nv)], ()) for slope in found])


def _depth(law: Any, load: float) -> Any:
    """Return the depth at which a law carries a load at rest, by bisection; one depth for each entry of a batch."""
    low, high = np.zeros(np.shape(law.force(1.0, 0.0))), np.full(np.shape(law.force(1.0, 0.0)), 10.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        less = np.asarray(law.force(middle, 0.0)) < load
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return high


def _most(value: Any) -> float:
    return float(np.max(np.asarray(value, dtype=float), initial=0.0))
