"""Several robots, things and terrain in one world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ..errors import ExplainsArguments, ModelError, OptionError
from ..model import configurations
from ..model.changes.joining import FLOATING, JoinedPart, joined
from ..model.joints import Free
from ..model.pose import Pose
from ..model.shapes.contact_shape import ContactShape
from ..model.shapes.solid import Solid
from ..model.shapes.thing import Thing
from ..model.tree import Configuration, Model
from ..spatial import Matrix3
from ..spatial.arrays import Array
from ..spatial.rotation import quaternion_of
from .load import as_robot
from .make import make
from .mechanism import Mechanism
from .robot import Robot

START = configurations.START


@dataclass(frozen=True)
class Placed(ExplainsArguments):
    """A robot at a place in a scene.

    Parameters
    ----------
    robot : Robot or path-like
        A robot, its file, or its name in the gallery.
    position : three floats
        Where its base stands; that of a robot whose base moves, where it starts.
    rpy, quaternion : sequence of floats, optional
        How it is turned.
    q : array_like, mapping or str, optional
        Its configuration at the start: all coordinates, those of some joints by name, or the name of a configuration in
        its file.  By default the one named ``start``, or as it is drawn.
    floating : bool
        Whether to put a robot with a fixed base on a free joint.

    Examples
    --------
    >>> import kinetree as kt
    >>> room = kt.scene(robots={"left": "two-link", "right": kt.Placed("two-link", (1.5, 0, 0), rpy=(0, 0, "180 deg"))})
    >>> room.joint_names
    ['left/joint_1', 'left/joint_2', 'right/joint_1', 'right/joint_2']
    """

    robot: Any
    position: Sequence[Any] = (0.0, 0.0, 0.0)
    rpy: Sequence[Any] | None = None
    quaternion: Sequence[float] | None = None
    q: Any = None
    floating: bool = False

    @property
    def pose(self) -> Pose:
        """Where it stands."""
        return Pose.of(self.position, rpy=self.rpy, quaternion=self.quaternion)


def scene(
    robots: Mapping[str, Any] | None = None, things: Mapping[str, Thing] | None = None, terrain: Any = (), *,
    name: str = "scene", gravity: Sequence[float] | None = None,
) -> Robot:  # fmt: skip
    """Put several robots, things and terrain into one world.

    The result is a robot like any other: a tree with free joints for what moves freely.  Names within a robot begin
    with its own, ``left/elbow``; a thing is a body and a joint of its name, whose coordinates are its pose in the
    world.  Where all start is the configuration ``start``, with which simulations begin.

    Parameters
    ----------
    robots : mapping of str to Robot, path-like or Placed
        Robots by name; files and robots without a place stand at the origin.
    things : mapping of str to Thing
    terrain : shape, or sequence of shapes
        Shapes of the ground, such as those of :mod:`kinetree.terrain`.
    name : str
    gravity : three floats, optional
        By default that of the robots.

    Returns
    -------
    Robot
        A :class:`kinetree.Mechanism` if any of the robots is one.

    Examples
    --------
    >>> import kinetree as kt
    >>> crate = kt.Thing(kt.shapes.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.1))
    >>> room = kt.scene(things={"crate": crate}, terrain=kt.terrain.floor(friction=0.5))
    >>> record = kt.simulate(room, time=0.1, ground=kt.forces.ShapeContact.of(room))
    >>> bool(abs(record.q[-1, 6] - 0.1) < 1e-3)
    True
    """
    placed = {key: x if isinstance(x, Placed) else Placed(x) for key, x in _named(robots, "robots").items()}
    things = _named(things, "things")
    for key, thing in things.items():
        if not isinstance(thing, Thing):
            raise OptionError(
                f"the thing {key!r} must be a kinetree.Thing, not {type(thing).__name__}: robots and their files "
                "belong to robots="
            )
        if key in placed:
            raise ModelError(f"a robot and a thing are named {key!r}")
    loaded = {key: as_robot(x.robot) for key, x in placed.items()}
    down = _common_gravity(loaded, gravity)
    parts, start, ground = list[JoinedPart](), dict[str, Any](), list(_shapes_of_terrain(terrain))
    for key, robot in loaded.items():
        parts.append(_part(key, robot, placed[key], start))
    for key, thing in things.items():
        if thing.fixed:
            ground += [replace(s, pose=thing.pose @ s.pose) for s in thing.shapes(key)]
            continue
        parts.append(JoinedPart(key, thing.model(key), own_name=True))
        start[key] = _coordinates(thing.pose)
    if not parts:
        raise ModelError("a scene needs a robot or a thing that moves")
    model = joined(name, parts, down, ground)
    model = replace(model, configurations=(*model.configurations, Configuration(START, tuple(start.items()))))
    return _made(model, list(loaded.values()), parts)


def _named(given: Mapping[str, Any] | None, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        example = "kinetree.Thing(...)" if what == "things" else "'arm.urdf'"
        raise OptionError(f"{what} have names: give a mapping such as {{'left': {example}}}, not {given!r}")
    for key in given:
        if not isinstance(key, str) or not key or "/" in key or key.strip() != key:
            raise ModelError(f"the name of one of the {what} must be a word without '/', not {key!r}")
    return dict(given)


def _shapes_of_terrain(terrain: Any) -> Iterable[ContactShape]:
    listed = [terrain] if isinstance(terrain, (Solid, ContactShape)) else terrain
    if not isinstance(listed, (list, tuple)):
        raise OptionError(f"terrain must be shapes, such as those of kinetree.terrain.stairs(...), not {terrain!r}")
    for k, shape in enumerate(listed):
        if isinstance(shape, Solid):
            yield ContactShape("world", shape, name=f"terrain_{k + 1}")
        elif isinstance(shape, ContactShape):
            yield shape if shape.name else replace(shape, name=f"terrain_{k + 1}")
        else:
            raise OptionError(f"terrain must be shapes, such as those of kinetree.terrain.stairs(...), not {shape!r}")


def _common_gravity(loaded: Mapping[str, Robot], given: Sequence[float] | None) -> tuple[float, ...]:
    if given is not None:
        return tuple(float(x) for x in given)
    first: tuple[str, tuple[float, ...]] | None = None
    for key, robot in loaded.items():
        own = tuple(float(x) for x in robot.gravity)
        if first is not None and own != first[1]:
            raise ModelError(
                f"gravity of {first[0]!r} is {list(first[1])} and that of {key!r} is {list(own)}: give gravity=..."
            )
        first = first or (key, own)
    return (0.0, 0.0, -9.81) if first is None else first[1]


def _part(key: str, robot: Robot, placed: Placed, start: dict[str, Any]) -> JoinedPart:
    """Return a robot as a part of the scene, and note where its joints start."""
    model, q = robot.model, _start_of(robot, placed.q, key)
    if placed.floating and any(model.joints[i].kind.nv == 6 for i in model.roots):
        raise OptionError(f"robot {key!r} floats already: leave floating=True out")
    free = [i for i in model.roots if type(model.joints[i].kind) is Free]
    moves = bool(free) and len(free) == len(model.roots) and not placed.floating
    for i, joint in enumerate(model.joints):
        own = q[joint.q_slice]
        if moves and i in free:
            seat = joint.placement
            drawn = Pose.of(own[4:], quaternion=own[:4])
            own = np.array(_coordinates(seat.inverse() @ placed.pose @ seat @ drawn))
        if joint.nq:
            start[f"{key}/{joint.name}"] = tuple(float(x) for x in own)
    if placed.floating:
        start[f"{key}/{FLOATING}"] = _coordinates(placed.pose)
    return JoinedPart(key, model, Pose() if moves else placed.pose, placed.floating)


def _start_of(robot: Robot, given: Any, key: str) -> Array:
    """Return the configuration with which a robot starts."""
    if isinstance(given, str):
        return robot.configuration(given)
    if given is not None and not isinstance(given, Mapping):
        found = np.asarray(robot.evaluator.states.configuration(given, f"q of {key!r}"))
        if found.ndim != 1:
            raise OptionError(f"q of {key!r} is one configuration, not a batch of shape {found.shape[:-1]}")
        return found
    drawn = configurations.start(robot.model)
    if robot.loops is not None and (START not in robot.configuration_names):
        drawn = robot.assembled()
    if not given:
        return drawn
    if robot.loops is not None:
        return robot.close(configurations.by_joint(robot.model, given, drawn, "q"), fixed=list(given))
    return configurations.by_joint(robot.model, given, drawn, "q")


def _coordinates(pose: Pose) -> tuple[float, ...]:
    """Return a pose as coordinates of a free joint."""
    turn = quaternion_of(Matrix3.of(pose.rotation.tolist()))
    return (*(float(x) for x in turn), *pose.translation)


def _made(model: Model, robots: Sequence[Robot], parts: Sequence[JoinedPart]) -> Robot:
    """Make the robot with the options that its parts agree on."""
    options: dict[str, Any] = {}
    for key in ("backend", "precision", "cpu"):
        chosen = {robot._options[key] for robot in robots}
        if len(chosen) > 1:
            raise OptionError(f"the robots of a scene must have the same {key}, not {', '.join(map(repr, chosen))}")
        if chosen:
            options[key] = chosen.pop()
    if not model.is_constrained:
        return make(model, **options)
    wanted = [robot._options.get("independent") for robot in robots]
    if any(wanted):
        options["independent"] = [
            part.called(name)
            for part, robot in zip_longest(parts, robots)
            for name in (part.model.v_names if robot is None or robot.loops is None else robot.independent())
        ]
    return Mechanism(model, q_guess=configurations.start(model), **options)
