"""Robots some of whose constants are other scalars: symbols, or numbers to differentiate by.

A model turns its masses and placements into spatial objects at one border, the methods
``spatial()`` of :class:`MassProperties` and :class:`Pose`.  Here are stand-ins for these
two that hold any scalar; a model with them in it is walked like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...errors import ModelError, UnknownNameError
from ...model.mass import MassProperties
from ...model.tree import Body, Frame, Joint, Model
from ...run.large_trees.groups import rebuild
from ...spatial import AxisRotation, RigidInertia, Scalar, Symmetric3, Transform, Vec3
from ..model_of import Modelled

Convert = Callable[[Any], Scalar]
Given = Mapping[str, Any]

SIZES: dict[str, tuple[int, ...]] = {"com": (3,), "inertia": (3, 6), "position": (3,), "rpy": (3,)}
"""How many numbers a parameter consists of; those not named here are one number, or one per degree of freedom."""

OF_BODIES = ("mass", "com", "inertia")
OF_JOINTS = ("position", "rpy", "rotor_inertia", "gear_ratio", "stiffness")
OF_FRAMES = ("position", "rpy")


@dataclass(frozen=True)
class ScalarMass:
    """Mass, center of mass and inertia about it (xx, yy, zz, xy, xz, yz), over any scalar."""

    mass: Scalar
    com: tuple[Scalar, ...]
    inertia: tuple[Scalar, ...]

    def spatial(self) -> RigidInertia:
        """Return the inertia as the algorithms use it: about the body's origin (000 L1310)."""
        c = Vec3.of(self.com)
        xx, yy, zz, xy, xz, yz = self.inertia
        lever = Symmetric3.diagonal(c.dot(c)) - Symmetric3.outer(c)
        return RigidInertia(self.mass, c * self.mass, Symmetric3(xx, xy, xz, yy, yz, zz) + lever * self.mass)


@dataclass(frozen=True)
class ScalarPose:
    """A pose over any scalar."""

    transform: Transform

    def spatial(self) -> Transform:
        """Return the pose as the algorithms use it."""
        return self.transform


class Computing(Modelled, Protocol):
    """A robot, as far as functions of other libraries know it."""

    @property
    def precision(self) -> str:
        """``"double"`` or ``"single"``."""


@dataclass(frozen=True)
class Parametric:
    """A robot, and the scalars that take the place of some of its numbers; see :func:`with_parameters`."""

    robot: Computing
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    joints: dict[str, dict[str, Any]] = field(default_factory=dict)
    frames: dict[str, dict[str, Any]] = field(default_factory=dict)
    gravity: tuple[Any, ...] | None = None

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.robot.model.name

    @cached_property
    def scalars(self) -> list[Any]:
        """Every parameter that is no plain number, once, in the order given."""
        found: dict[int, Any] = {}
        for table in (self.bodies, self.joints, self.frames, {"": {"gravity": self.gravity or ()}}):
            for given in table.values():
                for value in given.values():
                    for x in value if isinstance(value, tuple) else (value,):
                        if not isinstance(x, float):
                            found[id(x)] = x
        return list(found.values())

    @cached_property
    def stand_in(self) -> Model:
        """A model of numbers to check options against: parameters of inertia count as some inertia."""
        model = self.robot.model
        some = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
        bodies = (replace(b, mass_properties=some) if b.name in self.bodies else b for b in model.bodies)
        joints = (
            replace(j, rotor_inertia=(1.0,) * j.kind.nv) if "rotor_inertia" in self.joints.get(j.name, ()) else j
            for j in model.joints
        )
        return replace(model, bodies=tuple(bodies), joints=tuple(joints))

    def tree(self, convert: Convert, *, everything: bool = False) -> Model:
        """Return the model with the parameters in it, each given to ``convert``; with ``everything`` all numbers, too.

        Exact zeros stay what they are, so that they are skipped as in any model.
        """

        def converted(x: Any) -> Scalar:
            return x if _is_zero(x) else convert(x)

        model = self.robot.model
        gravity: Sequence[Any] = model.gravity
        if self.gravity is not None or everything:
            gravity = [converted(x) for x in self.gravity or model.gravity]
        return replace(
            model,
            bodies=tuple(self._body(b, converted, everything) for b in model.bodies),
            joints=tuple(self._joint(j, converted, everything) for j in model.joints),
            frames=tuple(self._frame(f, converted, everything) for f in model.frames),
            gravity=tuple(gravity),  # type: ignore[arg-type]
        )

    def _body(self, body: Body, convert: Convert, everything: bool) -> Body:
        if body.name not in self.bodies and not everything:
            return body
        own = body.mass_properties
        chosen = {"mass": own.mass, "com": own.com, "inertia": own.inertia, **self.bodies.get(body.name, {})}
        com, inertia = (tuple(convert(x) for x in chosen[k]) for k in ("com", "inertia"))
        stand_in: Any = ScalarMass(convert(chosen["mass"]), com, inertia)
        return replace(body, mass_properties=stand_in)

    def _joint(self, joint: Joint, convert: Convert, everything: bool) -> Joint:
        given = self.joints.get(joint.name, {})
        rotor: dict[str, Any] = {}
        if everything or "rotor_inertia" in given or "gear_ratio" in given:
            inertia, gear = (given.get(k, getattr(joint, k)) for k in ("rotor_inertia", "gear_ratio"))
            rotor["rotor_inertia"] = tuple(convert(x) for x in inertia)
            # the gear of a rotor without inertia stays a number, so that their product is an exact zero
            pairs = zip(rotor["rotor_inertia"], gear, strict=True)
            rotor["gear_ratio"] = tuple(1.0 if _is_zero(x) else convert(n) for x, n in pairs)
        spring: dict[str, Any] = {}
        if joint.stiffness and everything:
            spring["spring_rest"] = tuple(convert(x) for x in joint.spring_rest)
        if joint.stiffness and (everything or "stiffness" in given):
            spring["stiffness"] = tuple(convert(x) for x in given.get("stiffness", joint.stiffness))
        return replace(joint, placement=_pose(joint.placement, given, convert, everything), **rotor, **spring)

    def _frame(self, frame: Frame, convert: Convert, everything: bool) -> Frame:
        return replace(frame, pose=_pose(frame.pose, self.frames.get(frame.name, {}), convert, everything))


def _pose(own: Any, given: Given, convert: Convert, everything: bool) -> Any:
    """Return a pose with its position or its angles replaced."""
    if not everything and "position" not in given and "rpy" not in given:
        return own
    placed = own.spatial()
    rotations = rebuild(placed.rotations, convert) if everything else placed.rotations
    if "rpy" in given:  # Rz(yaw) Ry(pitch) Rx(roll), as in files
        angles = [(axis, convert(given["rpy"][axis])) for axis in (2, 1, 0)]
        rotations = [AxisRotation.by_angle(k, x) for k, x in angles if not _is_zero(x)]
    position = given.get("position", tuple(placed.translation))
    return ScalarPose(Transform(rotations, Vec3.of([convert(x) for x in position])))


def with_parameters(
    robot: Computing,
    *,
    bodies: Mapping[str, Given] | None = None,
    joints: Mapping[str, Given] | None = None,
    frames: Mapping[str, Given] | None = None,
    gravity: Any = None,
) -> Parametric:
    """Return a robot with other scalars in the place of some of its numbers.

    Parameters
    ----------
    robot : Robot
    bodies : mapping of body name to mapping
        ``mass``, ``com`` (3) and ``inertia`` about the center of mass: 3 (xx, yy, zz) or 6
        (xx, yy, zz, xy, xz, yz).  What is welded to a body is part of it.
    joints : mapping of joint name to mapping
        Where the joint sits on its parent: ``position`` (3) and ``rpy`` (3, as in URDF); and
        its motor: ``rotor_inertia`` and ``gear_ratio``; and ``stiffness``, where it has a spring.
    frames : mapping of frame name to mapping
        ``position`` and ``rpy`` of named frames.
    gravity : sequence of 3
        Acceleration of free fall.

    Returns
    -------
    Parametric
        For :func:`function`, :func:`expression` and :func:`equations`.

    Raises
    ------
    UnknownNameError
        If there is no such body, joint, frame or property.
    ModelError
        If a property has the wrong number of numbers.

    Examples
    --------
    ``with_parameters(arm, bodies={"upper": {"mass": m1}}, joints={"elbow": {"position": (l1, 0, 0)}})``
    """
    model = robot.model
    own = [f.name for f in model.frames]
    table = {
        "body": _checked("body", bodies, [b.name for b in model.bodies], OF_BODIES),
        "joint": _checked("joint", joints, [j.name for j in model.joints], OF_JOINTS),
        "frame": _checked("frame", frames, own, OF_FRAMES),
    }
    for name, given in table["joint"].items():
        if "stiffness" in given and not model.joint(name).stiffness:
            raise ModelError(f"joint {name!r} has no spring whose stiffness could be a parameter: give it one first")
        for key in ("rotor_inertia", "gear_ratio", "stiffness"):
            if key in given:
                count = model.joint(name).kind.nv
                given[key] = _numbers(given[key], (count,), f"{key} of joint {name!r}")
    for given in table["body"].values():
        if len(given.get("inertia", ())) == 3:
            given["inertia"] += (0.0, 0.0, 0.0)
    free_fall = None if gravity is None else _numbers(gravity, (3,), "gravity")
    return Parametric(robot, table["body"], table["joint"], table["frame"], free_fall)


def _checked(
    what: str, given: Mapping[str, Given] | None, names: Sequence[str], properties: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Check that names and properties are known and sizes are right."""
    found: dict[str, dict[str, Any]] = {}
    for name, values in (given or {}).items():
        if name not in names:
            raise UnknownNameError(what, name, names)
        if not isinstance(values, Mapping):
            raise ModelError(f"parameters of {what} {name!r} must be a mapping such as {{{properties[0]!r}: ...}}")
        found[name] = {}
        for key, value in values.items():
            if key not in properties:
                raise UnknownNameError(f"parameter of {what} {name!r}", key, properties)
            sizes, place = SIZES.get(key), f"{key} of {what} {name!r}"
            found[name][key] = _numbers(value, sizes, place) if sizes else _number(value)
    return found


def _numbers(value: Any, sizes: Sequence[int], what: str) -> tuple[Any, ...]:
    """Return scalars from any sequence: list, array, column of symbols; one scalar will do where one is wanted."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        count = math.prod(shape)
        alone = count == 1 and len(shape) != 1  # CasADi's scalars have shape (1, 1)
    else:
        alone = not isinstance(value, Sequence)
        count = 1 if alone else len(value)
    if count not in sizes:
        raise ModelError(f"{what} needs {' or '.join(map(str, sizes))} numbers, got {value!r}")
    return (_number(value),) if alone else tuple(_number(value[k]) for k in range(count))


def _number(x: Any) -> Any:
    """Return plain numbers as floats; everything else as it is."""
    return float(x) if isinstance(x, (int, float, np.integer, np.floating)) else x


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0
