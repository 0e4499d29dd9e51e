"""Numbers of a world that are drawn at every reset, and their distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import OptionError, ShapeError, UnknownNameError
from ...model.joint_fields import FIELDS, PER_FREEDOM
from ...model.substitution import OF_BODIES, OF_JOINTS
from ...robot.robot import Robot
from ...spatial.arrays import Array
from .draws import Distribution, Drawn, LogUniform, Normal, Uniform

DISTRIBUTIONS = (Uniform, LogUniform, Normal)
MOTOR_STRENGTH, DELAY, GROUND, BODIES, JOINTS, GRAVITY = (
    "motor_strength", "delay", "ground", "bodies", "joints", "gravity",
)  # fmt: skip
STATES = ("q", "v")
"""The parts of the initial state that can be drawn."""

OF_JOINTS_NOT_NEGATIVE = tuple(name for name in PER_FREEDOM if FIELDS[name].nonnegative)
NEVER_NEGATIVE = ("mass", "M", *OF_JOINTS_NOT_NEGATIVE, MOTOR_STRENGTH, DELAY)
OF_GROUNDS = ("friction", "stiffness", "damping", "dissipation", "sliding_damping")
"""Some numbers that laws of the ground have."""

INERTIA = "inertia"
LONGEST_DELAY = 10.0
"""Longest delay in seconds."""


def robot_numbers(robot: Robot, given: Mapping[str, Any]) -> tuple[list[Drawn], dict[str, Any]]:
    """Return which of a robot's own numbers are drawn, and the simulation parameters that make room for them.

    Parameters
    ----------
    given : mapping
        Distributions by the names of ``robot.parameters()``; under ``"bodies"`` and ``"joints"``, by name and property;
        and for ``"gravity"``.
    """
    drawn: list[Drawn] = []
    room: dict[str, Any] = {}
    for stream, (path, distribution) in enumerate(_each(given)):
        nominal = _nominal(robot, path)
        together = distribution.relative and path[-1] == INERTIA
        drawn.append(_checked(Drawn(".".join(path), distribution, nominal, stream, together)))
        place = room
        for step in path[:-1]:
            place = place.setdefault(step, {})
        scalar = path[-1] != GRAVITY and nominal.size == 1
        place[path[-1]] = nominal[0] if scalar else nominal
    return drawn, room


def _each(given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Distribution]]:
    for name, content in given.items():
        if name in (BODIES, JOINTS):
            for owner, properties in _mapping(content, name).items():
                for key, distribution in _mapping(properties, owner).items():
                    yield (name, owner, key), checked_distribution(distribution, f"{key} of {owner!r}")
        else:
            _refuse_nobodys(name)
            yield (name,), checked_distribution(content, name)


def _refuse_nobodys(name: str) -> None:
    """Refuse a property without an owner, and name those that have it."""
    owners = {BODIES: OF_BODIES, JOINTS: OF_JOINTS, GROUND: OF_GROUNDS}
    content = f'{{"{name}": ...}}'
    shown = [
        f'{{"{key}": {content if key == GROUND else f"{{name: {content}}}"}}}'
        for key, properties in owners.items() if name in properties
    ]  # fmt: skip
    if shown:
        raise OptionError(f"random {name}: say of what, as random={' or '.join(shown)}")


def _mapping(given: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise OptionError(f"random {name} must map names to distributions, not {given!r}")
    return given


def checked_distribution(given: Any, name: str) -> Distribution:
    """Return a distribution; refuse anything else."""
    if not isinstance(given, DISTRIBUTIONS):
        raise OptionError(f"random {name}: give a distribution, such as kinetree.Uniform(0.8, 1.2), not {given!r}")
    return given


def _nominal(robot: Robot, path: tuple[str, ...]) -> Array:
    """Return the model's value of a number."""
    if path[0] == GRAVITY:
        return np.array(robot.model.gravity, dtype=float)
    if path[0] == BODIES:
        _, owner, key = path
        if owner not in robot.model.body_index:
            raise UnknownNameError("body", owner, robot.body_names)
        if key not in OF_BODIES:
            raise UnknownNameError("property of a body", key, OF_BODIES)
        body = robot.model.bodies[robot.model.body_index[owner]]
        return np.atleast_1d(np.asarray(getattr(body.mass_properties, key), dtype=float)).ravel()
    if path[0] == JOINTS:
        _, owner, key = path
        joint = robot.joint(owner)
        if key not in OF_JOINTS:
            raise UnknownNameError("property of a joint", key, OF_JOINTS)
        if key not in PER_FREEDOM:
            raise OptionError(f"{key} of joint {owner!r} cannot be drawn: choose among {', '.join(PER_FREEDOM)}")
        return np.array(getattr(joint, key) or [0.0] * joint.nv, dtype=float)
    table = robot.parameters()
    if path[0] not in table.names:
        others = (BODIES, JOINTS, GRAVITY, MOTOR_STRENGTH, DELAY, GROUND, *STATES)
        raise UnknownNameError("parameter", path[0], [*table.names, *others])
    return np.array([table[path[0]]])


def checked_mapping(given: Any, name: str) -> dict[str, Any]:
    """Return the distributions by name; an empty mapping by default."""
    return {} if given is None else dict(_mapping(given, name))


def other_number(name: str, given: Any, nominal: Array, stream: int) -> Drawn:
    """Return which numbers of motors and ground are drawn."""
    return _checked(Drawn(name, checked_distribution(given, name), nominal, stream))


def _checked(drawn: Drawn) -> Drawn:
    """Refuse distributions of the wrong size, and those that give impossible numbers."""
    given, count = drawn.distribution, drawn.nominal.size
    alone = [given.of(np.array(u)) for u in (0.0, 1.0)]
    vector = drawn.name == GRAVITY or drawn.name.rpartition(".")[2] in ("com", INERTIA)
    if any(x.shape not in ((), (count,)) for x in alone) or (
        vector and not given.relative and alone[0].shape != (count,)
    ):
        raise ShapeError(
            f"random {drawn.name} has {count} numbers: give as many as bounds or means, such as "
            f"kinetree.Uniform({[0.0] * count}, {[1.0] * count}), or one with relative=True"
        )
    if drawn.name.rpartition(".")[2] == INERTIA and not given.relative:
        raise OptionError(f"random {drawn.name} can only be drawn with relative=True, to stay possible for a body")
    extremes = [np.broadcast_to(x, (count,)) for x in alone]
    low = np.minimum(*extremes) * (drawn.nominal if given.relative and not vector else 1.0)
    if drawn.name == DELAY and np.max(extremes) > LONGEST_DELAY:
        raise OptionError(f"a delay of {np.max(extremes):g} s is too long: {LONGEST_DELAY:g} s is the most")
    if drawn.name.rpartition(".")[2] == INERTIA and np.any(low <= 0.0):
        raise OptionError(f"random {drawn.name} may be multiplied by {low.min():g}: it must stay positive")
    if drawn.name.rpartition(".")[2] in NEVER_NEGATIVE and np.any(low < 0.0):
        raise OptionError(f"random {drawn.name} may become {low.min():g}: it must not be negative")
    return drawn


def merged(parameters: dict[str, Any], room: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with room for the numbers that are drawn; no number may be both given and drawn."""
    found = dict(parameters)
    for name, content in room.items():
        if isinstance(content, dict):
            found[name] = merged(dict(found.get(name, {})), content)
        elif name in found:
            raise OptionError(f"{name} is given both as a parameter and as random")
        else:
            found[name] = content
    return found
