"""What a joint has beside its geometry, checked: limits, friction, motor, spring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..spatial.numbers import real_number
from .joints import JointKind
from .pose import floats
from .tree import Mimic

PerFreedom = float | Sequence[float] | None

LARGEST = 1e100
"""Numbers of a robot beyond this are slips, and products of three of them no numbers at all."""


TWO_TURNS, LARGEST_DEGREES = 4.0 * math.pi, 720.0
"""An angle between these, in radians, is one in degrees as a rule: who writes 90 rad for where a hinge stops?"""


def like_degrees(angle: object) -> bool:
    """Say whether a number, meant as an angle in radians, is more likely one in degrees."""
    return isinstance(angle, (int, float)) and TWO_TURNS < abs(angle) <= LARGEST_DEGREES


def doubtful_limits(kind: JointKind, data: Mapping[str, Any]) -> str | None:
    """Say which limit of a joint is more likely in degrees, or return None; a huge one means that there is none."""
    sides = [data.get(key) for key in ("lower", "upper")]
    pairs = [side if isinstance(side, (list, tuple, np.ndarray)) else [side] * kind.nq for side in sides]
    for unit, *both in zip(kind.q_units, *pairs, strict=False):
        value = max((x for x in both if isinstance(x, (int, float)) and math.isfinite(x)), key=abs, default=0.0)
        if unit == "rad" and like_degrees(value):
            return (
                f"limit {value:g} rad is more than two turns; limits are in radians, {value:g} degrees are "
                f"{math.radians(value):.4g}"
            )
    return None


def per_freedom(
    value: PerFreedom, count: int, default: float, what: str, nonnegative: bool = False, finite: bool = False
) -> tuple[float, ...]:
    """Return one number per freedom, from one number or a sequence."""
    if value is None:
        return (default,) * count
    if isinstance(value, float):
        numbers = (value,) * count
    else:
        array = floats(value, what)
        if array.shape not in ((), (count,)):
            raise ModelError(f"{what} needs one number or {count}, got shape {array.shape}")
        numbers = tuple(float(x) for x in np.broadcast_to(array, (count,)))
    if any(map(math.isnan, numbers)):
        raise ModelError(f"{what} is not a number")
    if nonnegative and any(x < 0 for x in numbers):
        raise ModelError(f"{what} must not be negative, got {list(numbers)}")
    if finite and any(abs(x) > LARGEST for x in numbers):
        raise ModelError(f"{what} must be finite, and no more than {LARGEST:g}; got {list(numbers)}")
    return numbers


def spring_data(kind: JointKind, stiffness: PerFreedom, rest: PerFreedom, where: str) -> dict[str, Any]:
    """Return stiffness and rest position of a joint's spring, both empty where there is none."""
    stiff = per_freedom(stiffness, kind.nv, 0.0, where + "stiffness", True)
    if not all(map(math.isfinite, stiff)):
        raise ModelError(f"{where}stiffness must be finite; a joint that cannot move is kinetree.Fixed()")
    if not any(stiff):
        if rest is not None and stiffness is None:
            raise ModelError(f"{where}spring_rest says where a spring rests, but there is none: give its stiffness")
        return {"stiffness": (), "spring_rest": ()}
    resting = kind.neutral() if rest is None else per_freedom(rest, kind.nq, 0.0, where + "spring_rest")
    if not all(map(math.isfinite, resting)):
        raise ModelError(f"{where}spring_rest must be finite, got {list(resting)}")
    turn = kind.quaternion
    if turn is not None and abs(math.hypot(*resting[turn]) - 1.0) > 1e-9:
        raise ModelError(f"{where}spring_rest has a quaternion whose length is not one: {list(resting[turn])}")
    return {"stiffness": stiff, "spring_rest": resting}


def memory_data(
    kind: JointKind, travel: PerFreedom, time: PerFreedom, mimic: Mimic | None, where: str
) -> dict[str, Any]:
    """Return how a joint's friction builds up, Coulomb's over a way and viscous in time; empty where at once."""
    found = {
        name: _if_any(per_freedom(value, kind.nv, 0.0, where + name, True, True))
        for name, value in (("friction_travel", travel), ("damping_time", time))
    }
    for name, values in found.items():
        if mimic is not None and values:
            raise ModelError(f"{where}friction of a follower builds up at once: give {name} to its leader")
    return found


def stribeck_data(
    kind: JointKind, stribeck: PerFreedom, speed: PerFreedom, mimic: Mimic | None, where: str
) -> dict[str, Any]:
    """Return what friction a joint has more at low speed, and with which speed it fades; both empty for none."""
    found = _if_any(per_freedom(stribeck, kind.nv, 0.0, where + "stribeck", True, True))
    if not found:
        if speed is not None and stribeck is None:
            raise ModelError(f"{where}stribeck_speed says where friction fades, but there is none: give stribeck")
        return {"stribeck": (), "stribeck_speed": ()}
    if mimic is not None:
        raise ModelError(f"{where}a follower has no friction that fades with its speed: give stribeck to its leader")
    if speed is None:
        raise ModelError(f"{where}stribeck needs a stribeck_speed, with which it fades")
    speeds = per_freedom(speed, kind.nv, 0.0, where + "stribeck_speed", True, True)
    if not all(speeds):
        raise ModelError(f"{where}stribeck_speed must be above zero, got {list(speeds)}")
    return {"stribeck": found, "stribeck_speed": speeds}


def _if_any(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Return nothing where all are zero."""
    return numbers if any(numbers) else ()


def joint_data(
    kind: JointKind,
    where: str,
    *,
    lower: PerFreedom = None,
    upper: PerFreedom = None,
    velocity_limit: PerFreedom = None,
    effort_limit: PerFreedom = None,
    damping: PerFreedom = None,
    friction: PerFreedom = None,
    rotor_inertia: PerFreedom = None,
    gear_ratio: PerFreedom = None,
    friction_offset: PerFreedom = None,
    friction_travel: PerFreedom = None,
    damping_time: PerFreedom = None,
    stribeck: PerFreedom = None,
    stribeck_speed: PerFreedom = None,
    actuated: bool | None = None,
    mimic: Mimic | None = None,
    stiffness: PerFreedom = None,
    spring_rest: PerFreedom = None,
) -> dict[str, Any]:
    """Return everything a joint has beside its geometry, checked; see :meth:`kinetree.Builder.add_joint`."""
    nq, nv = kind.nq, kind.nv
    inf = math.inf
    data: dict[str, Any] = {
        "lower": per_freedom(lower, nq, -inf, where + "lower limit"),
        "upper": per_freedom(upper, nq, inf, where + "upper limit"),
        "velocity_limit": per_freedom(velocity_limit, nv, inf, where + "velocity limit", True),
        "effort_limit": per_freedom(effort_limit, nv, inf, where + "effort limit", True),
        "damping": per_freedom(damping, nv, 0.0, where + "damping", True, True),
        "friction": per_freedom(friction, nv, 0.0, where + "friction", True, True),
        "rotor_inertia": per_freedom(rotor_inertia, nv, 0.0, where + "rotor inertia", True, True),
        "gear_ratio": per_freedom(gear_ratio, nv, 1.0, where + "gear ratio", finite=True),
        "friction_offset": _if_any(per_freedom(friction_offset, nv, 0.0, where + "offset of friction", finite=True)),
        "actuated": kind.usually_driven if actuated is None else bool(actuated),
        "mimic": mimic,
    } | spring_data(kind, stiffness, spring_rest, where)
    data |= memory_data(kind, friction_travel, damping_time, mimic, where)
    data |= stribeck_data(kind, stribeck, stribeck_speed, mimic, where)
    if inf in data["lower"] or -inf in data["upper"]:
        raise ModelError(f"{where}no position is within limits {data['lower']} and {data['upper']}")
    if any(lo > up for lo, up in zip(data["lower"], data["upper"], strict=True)):
        raise ModelError(f"{where}lower limit {data['lower']} exceeds upper limit {data['upper']}")
    if mimic is not None and not isinstance(mimic, Mimic):
        raise ModelError(f"{where}mimic must be kinetree.Mimic(leader, ratio, offset), not {mimic!r}")
    if mimic:
        for what, number in (("ratio", mimic.ratio), ("offset", mimic.offset)):
            real_number(number, f"{where}the {what} of mimic", error=ModelError)
    if mimic and nv != 1:
        raise ModelError(f"{where}only joints with one degree of freedom can mimic another")
    return data
