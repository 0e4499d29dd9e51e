"""A model with other scalars in place of some of its numbers: symbols, arrays over a batch, inputs of machine code.

All parameters that vary are handled here: inputs of compiled algorithms, batches of simulations, symbols of other
libraries.  The scalars are put into stand-ins for the model's masses and poses
(:mod:`kinetree.model.changes.over_any_scalar`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError, OptionError, refuse_unknown
from ..spatial import AxisRotation, Matrix3, MatrixRotation, RotationLike, Scalar, Transform, Vec3
from .actuators import Tendon, Waypoint
from .changes.over_any_scalar import ScalarMass, ScalarPose, ScalarTen
from .changes.values import generic, valued
from .joint_fields import OF_MOTOR, PER_FREEDOM
from .mass import GroupedMass, MassProperties
from .parameters import OF_BODIES as TEN
from .parameters import Parameter, attribute_of, mass_properties_to_table, rows
from .tree import Body, Frame, Joint, Loop, Model

Convert = Callable[[Any], Scalar]
Given = Mapping[str, Any]

TABLES = ("bodies", "joints", "frames", "loops", "tendons")
"""Mappings of names to mappings of properties, as in a robot's file."""

SIZES: dict[str, tuple[int, ...]] = {"com": (3,), "inertia": (3, 6), "position": (3,), "rpy": (3,), "seat": (3,)}
"""The number of scalars in a property; properties that are not listed have one, or one per degree of freedom."""

OF_BODIES = ("mass", "com", "inertia")
OF_JOINTS = ("position", "rpy", *PER_FREEDOM)
OF_FRAMES = ("position", "rpy")
OF_LOOPS = ("position", "rpy", "seat")
OF_TENDONS = ("stiffness", "rest")

POINTS_FOLLOW_FRAMES = (
    "points of tendons are not parameters: make a point a frame, frame('eye', ...), and name it, "
    "tendon(..., points=['eye', ...]); it then follows the frame's position, frames.eye.position"
)


@dataclass(frozen=True)
class Substitution:
    """Scalars that replace some numbers of a model; see :func:`substitution`."""

    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    joints: dict[str, dict[str, Any]] = field(default_factory=dict)
    frames: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Properties as in a robot's file."""
    gravity: tuple[Any, ...] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    """Rows of the table of parameters."""
    loops: dict[str, dict[str, Any]] = field(default_factory=dict)
    tendons: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Properties of loops and tendons."""
    symbols: dict[str, Any] = field(default_factory=dict)
    """Values for the symbols of a model."""

    @cached_property
    def scalars(self) -> list[Any]:
        """All substituted scalars that are not plain numbers, each once, in the order given."""
        found: dict[int, Any] = {}
        whole = {"": {"gravity": self.gravity or ()}}
        flat = {"": self.parameters}, {"": self.symbols}
        for table in (self.bodies, self.joints, self.frames, self.loops, self.tendons, whole, *flat):
            for given in table.values():
                for value in given.values():
                    for x in value if isinstance(value, tuple) else (value,):
                        if not isinstance(x, float):
                            found[id(x)] = x
        return list(found.values())

    def stand_in(self, model: Model) -> Model:
        """Return a model of numbers to check options against; inertias that are parameters are arbitrary."""
        some = MassProperties(1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
        model = generic(model)
        chosen = self._chosen(model)
        heavy = {p.body for p in chosen if p.symbol in TEN}
        felt = {p.body for p in chosen if p.symbol == "rotor_inertia"}
        bodies = (
            replace(b, mass_properties=some) if b.name in self.bodies or i in heavy else b
            for i, b in enumerate(model.bodies)
        )
        joints = (
            replace(j, rotor_inertia=(1.0,) * j.kind.nv, gear_ratio=(1.0,) * j.kind.nv)
            if "rotor_inertia" in self.joints.get(j.name, ()) or i in felt
            else j
            for i, j in enumerate(model.joints)
        )
        return replace(model, bodies=tuple(bodies), joints=tuple(joints))

    def tree(self, model: Model, convert: Convert, *, everything: bool = False) -> Model:
        """Return a model with substituted scalars, each converted by ``convert``; with ``everything``, all numbers are.

        Exact zeros stay zeros, so that they are skipped as in any model.
        """

        def converted(x: Any) -> Scalar:
            return x if _is_zero(x) else convert(x)

        if self.symbols:
            model = valued(model, {name: converted(x) for name, x in self.symbols.items()})
        gravity: Sequence[Any] = model.gravity
        if self.gravity is not None or everything:
            gravity = [converted(x) for x in self.gravity or model.gravity]
        own: dict[int, list[Parameter]] = {}
        for p in self._chosen(model):
            own.setdefault(p.body, []).append(p)
        return replace(
            model,
            bodies=tuple(self._body(b, own.get(i, ()), converted, everything) for i, b in enumerate(model.bodies)),
            joints=tuple(self._joint(j, own.get(i, ()), converted, everything) for i, j in enumerate(model.joints)),
            frames=tuple(self._frame(f, converted, everything) for f in model.frames),
            gravity=tuple(gravity),  # type: ignore[arg-type]
            loops=tuple(self._loop(x, converted, everything) for x in model.loops),
            tendons=tuple(self._tendon(t, model, converted) for t in model.tendons),
        )

    def _chosen(self, model: Model) -> list[Parameter]:
        """Return the rows of the table that are given."""
        return [p for p in rows(model) if p.name in self.parameters] if self.parameters else []

    def _body(self, body: Body, table: Sequence[Parameter], convert: Convert, everything: bool) -> Body:
        own, of_table = body.mass_properties, {p.symbol: self.parameters[p.name] for p in table if p.symbol in TEN}
        stand_in: Any
        if of_table:
            if body.name in self.bodies:
                raise ModelError(
                    f"body {body.name!r} is given both by parameters of the table ({next(iter(of_table))}) and by "
                    f"{next(iter(self.bodies[body.name]))}: choose one way"
                )
            ten = dict(zip(TEN, mass_properties_to_table(own).tolist(), strict=True)) | of_table
            stand_in = ScalarTen(tuple(convert(x) if s in of_table or everything else x for s, x in ten.items()))
        elif isinstance(own, (GroupedMass, ScalarTen)) and (body.name in self.bodies or everything):
            if body.name in self.bodies:
                what = "grouped parameters" if isinstance(own, GroupedMass) else "parameters with symbols"
                raise ModelError(
                    f"body {body.name!r} has {what}, which do not correspond to a mass, center and inertia: "
                    f"change them by the names of the table, such as {body.name + '.MX'!r}"
                )
            stand_in = ScalarTen(tuple(convert(x) for x in mass_properties_to_table(own).tolist()))
        elif body.name in self.bodies or everything:
            chosen = {"mass": own.mass, "com": own.com, "inertia": own.inertia, **self.bodies.get(body.name, {})}
            com, inertia = (tuple(convert(x) for x in chosen[k]) for k in ("com", "inertia"))
            stand_in = ScalarMass(convert(chosen["mass"]), com, inertia)
        else:
            return body
        return replace(body, mass_properties=stand_in)

    def _joint(self, joint: Joint, table: Sequence[Parameter], convert: Convert, everything: bool) -> Joint:
        given, n = self.joints.get(joint.name, {}), joint.kind.nv
        own: dict[str, list[Any]] = {
            key: list(given.get(key, getattr(joint, key)) or [0.0] * n)
            for key in PER_FREEDOM
            if (everything and getattr(joint, key)) or key in given
            or (key in OF_MOTOR and any(other in given for other in OF_MOTOR))
        }  # fmt: skip
        for p in table:
            if p.symbol in TEN:
                continue
            key = attribute_of(p.symbol)
            if key in given or (key == "rotor_inertia" and "gear_ratio" in given):
                raise ModelError(f"parameter {p.name!r} is given twice: in the table, and as {key} of the joint")
            own.setdefault(key, list(getattr(joint, key) or [0.0] * n))[p.freedom] = self.parameters[p.name]
            if key == "rotor_inertia":  # a row of the table: inertia as felt at the joint
                own.setdefault("gear_ratio", list(joint.gear_ratio or [1.0] * n))[p.freedom] = 1.0
        numbers: dict[str, Any] = {key: tuple(convert(x) for x in values) for key, values in own.items()}
        if "gear_ratio" in numbers:
            # the gear of a rotor without inertia stays a number, so that their product is an exact zero
            pairs = zip(numbers.get("rotor_inertia", joint.rotor_inertia), numbers["gear_ratio"], strict=True)
            numbers["gear_ratio"] = tuple(1.0 if _is_zero(x) else gear for x, gear in pairs)
        if everything:
            numbers["spring_rest"] = tuple(convert(x) for x in joint.spring_rest)
        return replace(joint, placement=_pose(joint.placement, given, convert, everything), **numbers)

    def _frame(self, frame: Frame, convert: Convert, everything: bool) -> Frame:
        return replace(frame, pose=_pose(frame.pose, self.frames.get(frame.name, {}), convert, everything))

    def _loop(self, loop: Loop, convert: Convert, everything: bool) -> Loop:
        given = self.loops.get(loop.name, {})
        seat = {"position": given["seat"]} if "seat" in given else {}
        return replace(
            loop,
            placement=_pose(loop.placement, given, convert, everything),
            seat=_pose(loop.seat, seat, convert, everything),
        )

    def _tendon(self, tendon: Tendon, model: Model, convert: Convert) -> Tendon:
        """Return a tendon with another spring, through points of frames at their new positions.

        If a tendon is slack between two lengths, its rest length is the longer one, unless that is infinite.
        """
        if self.frames:
            tendon = replace(tendon, points=tuple(self._waypoint(p, model, convert) for p in tendon.points))
        given = self.tendons.get(tendon.name)
        if given is None:
            return tendon
        end = convert(given["rest"]) if "rest" in given else tendon.rest_length
        stiffness = convert(given["stiffness"]) if "stiffness" in given else tendon.stiffness
        return replace(tendon, stiffness=stiffness, rest=tendon.rest_with(end))

    def _waypoint(self, point: Waypoint, model: Model, convert: Convert) -> Waypoint:
        if point.frame not in self.frames:
            return point
        pose = _pose(model.frame(point.frame).pose, self.frames[point.frame], convert, everything=False)
        return point._replace(position=tuple(pose.spatial().point(Vec3(*point.offset))))


def _pose(own: Any, given: Given, convert: Convert, everything: bool) -> Any:
    """Return a pose with its position or its angles replaced."""
    if not everything and "position" not in given and "rpy" not in given:
        return own
    placed = own.spatial()
    rotations = [_mapped(r, convert) for r in placed.rotations] if everything else placed.rotations
    if "rpy" in given:  # Rz(yaw) Ry(pitch) Rx(roll), as in files
        angles = [(axis, convert(given["rpy"][axis])) for axis in (2, 1, 0)]
        rotations = [AxisRotation.by_angle(k, x) for k, x in angles if not _is_zero(x)]
    position = given.get("position", tuple(placed.translation))
    return ScalarPose(Transform(rotations, Vec3.of([convert(x) for x in position])))


def _mapped(rotation: RotationLike, convert: Convert) -> RotationLike:
    """Return the same rotation with each of its numbers converted."""
    if isinstance(rotation, AxisRotation):
        return AxisRotation(rotation.axis, convert(rotation.c), convert(rotation.s))
    numbers = [[convert(x) for x in row] for row in rotation.matrix().to_rows()]
    return MatrixRotation(Matrix3(*(Vec3(*row) for row in numbers)))


def nested(model: Model, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return parameters with dotted names taken apart: ``bodies.palm.mass`` as ``{"bodies": {"palm": {"mass": ...}}}``.

    A name that is also a row of the table stays one.
    """
    dotted = [key for key in given if isinstance(key, str) and key.count(".") > 1 and key.partition(".")[0] in TABLES]
    table = {p.name for p in rows(model)} if dotted else set()
    dotted = [key for key in dotted if key not in table]
    found = {key: value for key, value in given.items() if key not in dotted}
    for key in dotted:
        word, _, rest = key.partition(".")
        owner, _, last = rest.rpartition(".")
        inner = found.get(word, {})
        properties = inner.get(owner, {}) if isinstance(inner, Mapping) else None
        if not isinstance(properties, Mapping) or last in properties:
            raise OptionError(f"parameters give {key!r} beside {word!r}: {inner!r}; give each number once")
        found[word] = {**inner, owner: {**properties, last: given[key]}}
    return found if dotted else given


def with_table(model: Model, name: str) -> str | None:
    """Return the name with its table of a property that is given without one; None if there is no such property."""
    owner, _, key = name.rpartition(".")
    owners: tuple[Sequence[Any], ...] = (model.bodies, model.joints, model.frames, model.loops, model.tendons)
    properties = (OF_BODIES, OF_JOINTS, OF_FRAMES, OF_LOOPS, OF_TENDONS)
    for table, known, among in zip(TABLES, properties, owners, strict=True):
        if key in known and any(owner == one.name for one in among):
            return f"{table}.{name}"
    return None


def substitution(
    model: Model, *, bodies: Mapping[str, Given] | None = None, joints: Mapping[str, Given] | None = None,
    frames: Mapping[str, Given] | None = None, gravity: Any = None, parameters: Given | None = None,
    loops: Mapping[str, Given] | None = None, tendons: Mapping[str, Given] | None = None, symbols: Given | None = None,
) -> Substitution:  # fmt: skip
    """Check scalars that replace numbers of a model: names must be known, and sizes must match.

    Raises
    ------
    UnknownNameError
        If there is no such body, joint, frame, property or parameter.
    ModelError
        If a property has the wrong number of numbers.
    """
    own = [f.name for f in model.frames]
    tables = {
        "body": _checked("body", bodies, [b.name for b in model.bodies], OF_BODIES, model.instead_of_body),
        "joint": _checked("joint", joints, [j.name for j in model.joints], OF_JOINTS),
        "frame": _checked("frame", frames, own, OF_FRAMES),
        "loop": _checked("loop", loops, [x.name for x in model.loops], OF_LOOPS),
        "tendon": _checked("tendon", tendons, [x.name for x in model.tendons], OF_TENDONS),
    }
    for tendon in model.tendons:
        if tendon.name in tables["tendon"] and not tendon.stiffness:
            raise ModelError(f"tendon {tendon.name!r} has no spring that could be a parameter: give it one first")
    for name, given in tables["joint"].items():
        sprung = [key for key in ("stiffness", "spring_rest") if key in given]
        if sprung and not model.joint(name).stiffness:
            raise ModelError(f"joint {name!r} has no spring whose {sprung[0]} could be a parameter: give it one first")
        if "spring_rest" in given and model.joint(name).kind.quaternion is not None:
            raise ModelError(
                f"the spring of joint {name!r} rests at an orientation, not a parameter: with_springs changes it"
            )
        if "stribeck" in given and not model.joint(name).stribeck:
            raise ModelError(f"joint {name!r} has no stribeck_speed with which its friction could fade: give it first")
        for key in PER_FREEDOM:
            if key in given:
                count = model.joint(name).kind.nv
                given[key] = _numbers(given[key], (count,), f"{key} of joint {name!r}")
    for given in tables["body"].values():
        if len(given.get("inertia", ())) == 3:
            given["inertia"] += (0.0, 0.0, 0.0)
    free_fall = None if gravity is None else _numbers(gravity, (3,), "gravity")
    known = {p.name for p in rows(model)} if parameters else set()
    for name in parameters or ():
        refuse_unknown("parameter", name, known)
    flat = {name: _number(x) for name, x in (parameters or {}).items()}
    for name in symbols or ():
        refuse_unknown("symbol", name, model.symbols)
    free = {name: _number(x) for name, x in (symbols or {}).items()}
    made = Substitution(
        tables["body"], tables["joint"], tables["frame"], free_fall, flat, tables["loop"], tables["tendon"], free
    )
    made.tree(model, lambda x: x)  # refuses parameters that are given twice
    return made


def _checked(
    what: str,
    given: Mapping[str, Given] | None,
    names: Sequence[str],
    properties: Sequence[str],
    instead: Callable[[object], str] = lambda _: "",
) -> dict[str, dict[str, Any]]:
    """Check that names and properties are known and sizes are right.

    instead: Returns what a name is that is unknown here.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, values in (given or {}).items():
        refuse_unknown(what, name, names, instead=instead(name))
        if not isinstance(values, Mapping):
            raise ModelError(f"parameters of {what} {name!r} must be a mapping such as {{{properties[0]!r}: ...}}")
        found[name] = {}
        for key, value in values.items():
            if what == "tendon" and key == "points":
                raise ModelError(f"tendon {name!r}: {POINTS_FOLLOW_FRAMES}")
            refuse_unknown(f"parameter of {what} {name!r}", key, properties)
            sizes, place = SIZES.get(key), f"{key} of {what} {name!r}"
            found[name][key] = _numbers(value, sizes, place) if sizes else _number(value)
    return found


def _numbers(value: Any, sizes: Sequence[int], what: str) -> tuple[Any, ...]:
    """Return scalars from any sequence: list, array, column of symbols; or from one scalar where one is needed."""
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
    """Return plain numbers as floats, everything else unchanged."""
    return float(x) if isinstance(x, (int, float, np.integer, np.floating)) else x


def _is_zero(x: Any) -> bool:
    return isinstance(x, float) and x == 0.0
