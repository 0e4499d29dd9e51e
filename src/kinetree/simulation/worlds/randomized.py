"""Which numbers of a world are drawn anew at every reset, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import OptionError, ShapeError, UnknownNameError
from ...model.substitution import OF_BODIES, OF_JOINTS, PER_FREEDOM
from ...robot.robot import Robot
from .draws import Distribution, LogUniform, Normal, Uniform, uniform

Array = np.ndarray

DISTRIBUTIONS = (Uniform, LogUniform, Normal)
MOTOR_STRENGTH, DELAY, GROUND, BODIES, JOINTS, GRAVITY = (
    "motor_strength", "delay", "ground", "bodies", "joints", "gravity",
)  # fmt: skip
NEVER_NEGATIVE = ("mass", "M", "damping", "friction", "rotor_inertia", MOTOR_STRENGTH, DELAY)


@dataclass(frozen=True)
class Drawn:
    """Numbers that one distribution is for."""

    name: str
    distribution: Distribution
    nominal: Array
    """What the model has, (n,)."""
    stream: int
    """Tells its random numbers from others."""

    def draw(self, seed: int, lanes: Array, episodes: Array) -> Array:
        """Return numbers for some worlds, (lanes, n)."""
        u = uniform(seed, lanes, episodes, self.stream, self.nominal.size)
        found = self.distribution.of(u)
        return self.nominal * found if self.distribution.relative else found


def robot_numbers(robot: Robot, given: Mapping[str, Any]) -> tuple[list[Drawn], dict[str, Any]]:
    """Return what is drawn of a robot's own numbers, and the parameters of a simulation that make room for them.

    Parameters
    ----------
    given : mapping
        Distributions by the names of ``robot.parameters()``, under ``"bodies"`` and ``"joints"`` by name and property,
        and of ``"gravity"``.
    """
    drawn: list[Drawn] = []
    room: dict[str, Any] = {}
    for stream, (path, distribution) in enumerate(_each(given)):
        nominal = _nominal(robot, path)
        drawn.append(_checked(Drawn(".".join(path), distribution, nominal, stream)))
        place = room
        for step in path[:-1]:
            place = place.setdefault(step, {})
        scalar = path[-1] != GRAVITY and nominal.size == 1
        place[path[-1]] = nominal[0] if scalar else nominal
    return drawn, room


def _each(given: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Distribution]]:
    for name, content in given.items():
        if name in (BODIES, JOINTS):
            for owner, properties in content.items():
                for key, distribution in properties.items():
                    yield (name, owner, key), _distribution(distribution, f"{key} of {owner!r}")
        else:
            yield (name,), _distribution(content, name)


def _distribution(given: Any, name: str) -> Distribution:
    if not isinstance(given, DISTRIBUTIONS):
        raise OptionError(f"random {name}: give a distribution, such as kinetree.Uniform(0.8, 1.2), not {given!r}")
    return given


def _nominal(robot: Robot, path: tuple[str, ...]) -> Array:
    """Return what the model has there."""
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
            raise OptionError(f"{key} of joint {owner!r} is drawn for no world: choose among {', '.join(PER_FREEDOM)}")
        return np.array(getattr(joint, key) or [0.0] * joint.nv, dtype=float)
    table = robot.parameters()
    if path[0] not in table.names:
        others = (BODIES, JOINTS, GRAVITY, MOTOR_STRENGTH, DELAY, GROUND)
        raise UnknownNameError("parameter", path[0], [*table.names, *others])
    return np.array([table[path[0]]])


def other_number(name: str, given: Any, nominal: Array, stream: int) -> Drawn:
    """Return what is drawn of the numbers of motors and ground."""
    return _checked(Drawn(name, _distribution(given, name), nominal, stream))


def _checked(drawn: Drawn) -> Drawn:
    """Refuse distributions of the wrong size, and those that give what cannot be."""
    extremes = [drawn.distribution.of(np.full(drawn.nominal.shape, u)) for u in (0.0, 1.0)]
    if any(x.shape != drawn.nominal.shape for x in extremes):
        raise ShapeError(f"random {drawn.name} has {drawn.nominal.size} numbers, its distribution has other shapes")
    low = np.minimum(*extremes) * (drawn.nominal if drawn.distribution.relative else 1.0)
    if drawn.name.rpartition(".")[2] in NEVER_NEGATIVE and np.any(low < 0.0):
        raise OptionError(f"random {drawn.name} may become {low.min():g}: it must not be negative")
    return drawn
