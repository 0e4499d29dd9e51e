"""The reader of URDF.

It reads links with their inertials, joints of all six types with origin, axis, limits,
damping, friction and mimic, and collision shapes, which ground can be made of.  Visuals,
meshes, materials, transmissions, sensors, elements of Gazebo and other tools, safety
controllers and calibration do not change the motion and are not read.

URDF describes trees.  Joints that close loops are read from and written to an element of
kinetree's, which other readers skip:

    <kinetree:loop name="pin" type="revolute">
      <predecessor link="crank"><origin xyz="0.3 0 0"/></predecessor>
      <successor link="coupler"><origin xyz="1 0 0"/></successor>
      <axis xyz="0 0 1"/>
    </kinetree:loop>

Couplings of joints, y = p(x), are treated in the same way:

    <kinetree:coupling name="cam" polynomial="0.1 0.5 -0.2">
      <joint name="arm" coefficient="1"/>
      <follows name="drum" coefficient="1"/>
    </kinetree:coupling>
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import sys
from collections.abc import Iterable
from typing import Any

from ...errors import FileFormatError, UnknownNameError
from ..joint_fields import Mimic, words_of
from ..joints import KINDS, Continuous, Custom, Fixed, Free, JointKind, Planar, Prismatic, Reversed, Revolute
from ..mass import MassProperties
from ..pose import Pose
from ..shapes.contact_shape import ContactShape
from ..shapes.solid import Solid
from ..tree import Model
from . import xml
from .mesh_addresses import mesh_named
from .shape_words import PARTS, SURFACE, made
from .source import FileBuilder, Options, Source, listed
from .urdf_constraints import read_constraint, read_coupling, read_own_coupling
from .xml import Element

XACRO_HINT = "run 'xacro robot.urdf.xacro > robot.urdf' and load the result"

UNLIMITED = sys.float_info.max
"""URDF requires a number for every limit of a revolute or prismatic joint; this number means no limit."""

JOINT_TYPES: dict[str, type[JointKind]] = {
    "fixed": Fixed,
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "floating": Free,
    "planar": Planar,
}

LOOP = "kinetree:loop"
"""The element of a joint that closes a loop; its type is any joint, by its name in URDF or kinetree."""

COUPLING = "kinetree:coupling"
"""The element of a coupling of joints."""

ACTUATED = "kinetree:actuated"
"""kinetree's attribute of <joint>: "false" for a joint without a motor."""

OWN = "kinetree:"
"""Prefix of kinetree's own names."""

DYNAMICS = dict(sorted(words_of("urdf").items(), key=lambda x: x[1].of_motor))
"""Attributes of <dynamics>; those of the motor, on the joint side of the gear, come last."""

OF_OTHER_TOOLS = ("constraint", "coupling")
OTHERS_LOOP, INDEPENDENT = "loop", "independent"
"""URDF+ writes loops as kinetree does; its joints that are not independent have no motor."""

NAMESPACE = "urn:kinetree"

LOOP_TYPES = {name: kind for name, kind in KINDS.items() if kind not in (Custom, Reversed)} | JOINT_TYPES

# Elements that the reader uses; an unknown one with almost the same spelling is reported.
KNOWN_CHILDREN = {
    "robot": (
        "link", "joint", LOOP, COUPLING, OTHERS_LOOP, *OF_OTHER_TOOLS, "material", "transmission", "gazebo", "sensor",
    ),
    "predecessor": ("origin",),
    "successor": ("origin",),
    LOOP: ("predecessor", "successor", "axis", "limit"),
    OTHERS_LOOP: ("predecessor", "successor", "axis", "limit"),
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller"),
}  # fmt: skip

LIMIT_ATTRIBUTES = dict(sorted(words_of("urdf", limits=True).items(), key=lambda x: (x[1].per, x[0])))
"""Attributes of <limit>."""

# Attributes that the reader uses, by element; an unknown one that is almost so is reported, and so is one that keeps an
# element from saying anything. Others belong to other tools.
KNOWN_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "origin": ("xyz", "rpy", "quat_xyzw"), "mass": ("value",), "axis": ("xyz",), "parent": ("link",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), "child": ("link",), "limit": tuple(LIMIT_ATTRIBUTES),
    "dynamics": tuple(DYNAMICS), "mimic": ("joint", "multiplier", "offset"), "predecessor": ("link",),
    "successor": ("link",), "link": ("name",), "joint": ("name", "type", INDEPENDENT), "mesh": ("filename", "scale"),
    **{shape: tuple(parts) for shape, parts in PARTS.items()},
}  # fmt: skip
OPTIONAL = ("quat_xyzw", INDEPENDENT, *(word for word in DYNAMICS if word.startswith(OWN)))
"""Attributes that few files need: no other name is taken for one of them."""

# Elements whose content does not affect the motion and may be anything that other tools understand.
CLOSED = ("visual", "gazebo", "transmission", "sensor", "ros2_control")


def read(source: Source, options: Options) -> Model:
    """Read a URDF file."""
    return _UrdfReader(source, options).model()


def link_inertias(source: Source) -> dict[str, MassProperties]:
    """Return the mass properties of the links that have any, each in its link's frame."""
    reader = _UrdfReader(source, Options())
    found = {}
    for link in reader.root.all("link"):
        inertial = reader.only(link, "inertial")
        if inertial is not None:
            name = reader.text(link, "name")
            found[name] = reader.inertial(inertial, name)
    return found


class _UrdfReader:
    """Goes through the elements of one file and passes them to the builder."""

    def __init__(self, source: Source, options: Options) -> None:
        self.file = source.file
        self.root = xml.parse(source.data, source.file, CLOSED)
        if self.root.tag != "robot":
            raise self.error(f"the root element is <{self.root.tag}>, but a URDF file has <robot>", self.root)
        self.builder = FileBuilder(source, self.root.attributes.get("name") or source.path.stem, options)
        self.without_range: dict[str, int] = {}
        self.beyond_type: dict[str, int] = {}

    def model(self) -> Model:
        """Read every link and joint, then build."""
        self.check_children(self.root)
        links, joints = list(self.root.all("link")), list(self.root.all("joint"))
        if not links:
            raise self.error(f"robot {self.builder.name!r} is empty: the file has no <link>", self.root)
        for link in links:
            with self.builder.gathering():
                self.read_link(link)
        names = {joint.attributes.get("name", ""): joint.line for joint in joints}
        for joint in joints:
            with self.builder.gathering():
                self.read_joint(joint, names)
        self.builder.refuse_faults()
        self.doubt_ranges()
        for element in self.root.children:
            if element.tag in (LOOP, OTHERS_LOOP):
                self.read_loop(element)
            elif element.tag == "constraint":
                read_constraint(self, element)
            elif element.tag == COUPLING:
                read_own_coupling(self, element)
            elif element.tag == "coupling":
                read_coupling(self, element)
        return self.builder.finish(floating_base=self.builder.options.floating_base, inertias=True)

    # Elements

    def read_link(self, link: Element) -> None:
        name = self.text(link, "name")
        self.check_children(link)
        inertial = self.only(link, "inertial")
        with self.builder.at((inertial or link).line):
            self.builder.add_body(name, MassProperties() if inertial is None else self.inertial(inertial, name))
        for collision in link.all("collision"):
            self.read_collision(collision, name)

    def read_collision(self, element: Element, link: str) -> None:
        """Keep a collision shape; one that cannot be understood is left out, with a warning."""
        for shape in [x for geometry in element.all("geometry") for x in geometry.children][:1]:
            self.check_surroundings(element, shape)
            with self.builder.or_left_out(f"a collision shape of link {link!r}", shape.line):
                surface: dict[str, Any] = {}
                for key in SURFACE:
                    if f"{OWN}{key}" in element.attributes:
                        value = self.number(element, f"{OWN}{key}")
                        surface[key] = int(value) if key in ("group", "mask") else value
                name = element.attributes.get("name", "")
                solid = self.shape_of(shape)
                self.builder.add_shape(ContactShape(link, solid, self.origin(element), name, **surface))

    def check_surroundings(self, collision: Element, shape: Element) -> None:
        """Report misspelled attributes of a shape and of its origin."""
        for part in (*collision.all("origin"), shape):
            if part.tag in KNOWN_ATTRIBUTES:
                self.check_attributes(part)

    def shape_of(self, shape: Element) -> Solid:
        """Return a shape, which each kind describes by different attributes."""
        if shape.tag == "mesh":
            scale = self.vector(shape, "scale", 3) if "scale" in shape.attributes else (1.0, 1.0, 1.0)
            return mesh_named(self.text(shape, "filename"), self.builder.path, shape.line, scale)
        return made(shape.tag, lambda name, count: self.vector(shape, name, count))

    def inertial(self, element: Element, link: str) -> MassProperties:
        self.check_children(element)
        mass, inertia = self.only(element, "mass"), self.only(element, "inertia")
        for tag, part in (("mass", mass), ("inertia", inertia)):
            if part is None:
                raise self.error(f"the <inertial> of link {link!r} has no <{tag}>", element)
        assert mass is not None
        assert inertia is not None
        moments = [self.number(inertia, name) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
        origin = self.origin(element)
        axes = None if origin.nine == Pose().nine else origin
        return MassProperties.of(self.number(mass, "value"), origin.translation, moments, axes=axes)

    def read_joint(self, element: Element, all_joints: dict[str, int]) -> None:
        name = self.text(element, "name")
        kind_name = self.text(element, "type", f"joint {name!r}")
        if kind_name not in JOINT_TYPES:
            raise self.error(f"joint {name!r}: {UnknownNameError('joint type', kind_name, JOINT_TYPES)}", element)
        self.check_children(element)
        parent, child = self.end(element, "parent", name), self.end(element, "child", name)
        kind = self.kind(element, name, JOINT_TYPES[kind_name])
        data: dict[str, Any] = {}
        if not isinstance(kind, Fixed):  # some files give fixed joints limits or a mimic, which have no meaning
            data = {"actuated": self.actuated(element, kind), "mimic": self.mimic(element, name, all_joints)}
            self.read_limits(element, name, kind, data)
            self.read_friction(element, data)
        placement = self.origin(element)
        with self.builder.at(element.line):
            self.builder.add_joint(name, parent, child, kind, placement, **data)
            self.builder.doubt_limits(name, kind, data)

    def read_loop(self, element: Element) -> None:
        """Read a joint that closes a loop."""
        name = self.text(element, "name")
        word = self.text(element, "type", f"loop {name!r}")
        if word not in LOOP_TYPES:
            raise self.error(f"loop {name!r}: {UnknownNameError('joint type', word, LOOP_TYPES)}", element)
        self.check_children(element)
        kind = self.kind(element, name, LOOP_TYPES[word])
        (first, placement), (second, seat) = (self.side(element, r, name) for r in ("predecessor", "successor"))
        limit = self.only(element, "limit")
        limits = {
            row.name: self.limit(limit, attribute)
            for attribute, row in LIMIT_ATTRIBUTES.items()
            if limit is not None and attribute in limit.attributes
        }
        with self.builder.at(element.line):
            self.builder.loop(name, first, second, kind, placement=placement, seat=seat, **limits)

    def side(self, loop: Element, role: str, name: str) -> tuple[str, Pose]:
        """Return the link on one side of a loop joint, and the pose of the joint on it."""
        element = self.only(loop, role)
        if element is None:
            raise self.error(f"loop {name!r} has no <{role}>", loop)
        self.check_children(element)
        return self.text(element, "link", f"the <{role}> of loop {name!r}"), self.origin(element)

    def end(self, joint: Element, role: str, name: str) -> str:
        element = self.only(joint, role)
        if element is None:
            raise self.error(f"joint {name!r} has no <{role}>", joint)
        return self.text(element, "link", f"the <{role}> of joint {name!r}")

    def kind(self, joint: Element, name: str, cls: type[JointKind]) -> JointKind:
        """Return the kind of a joint with its axis and, for loops, other parameters, which are attributes."""
        parameters: dict[str, Any] = {}
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            if field.name in ("axis", "normal"):
                parameters[field.name] = self.axis(joint, name, cls.name)
            elif isinstance(field.default, float):
                parameters[field.name] = self.number(joint, field.name)
            elif field.name in joint.attributes:
                parameters[field.name] = self.text(joint, field.name)
        with self.builder.at(joint.line):
            return cls(**parameters)

    def axis(self, joint: Element, name: str, kind_name: str) -> list[float]:
        element = self.only(joint, "axis")
        if element is None:
            return [1.0, 0.0, 0.0]  # the default that URDF prescribes
        axis = self.vector(element, "xyz", 3)
        length = math.hypot(*axis)
        if length == 0.0:
            raise self.error(f"joint {name!r}: the axis has zero length, but a {kind_name} joint needs one", element)
        if abs(length - 1.0) > 1e-3:
            self.builder.oddity(f"joint {name!r}: the axis has length {length:.6g}, not 1; normalized", element.line)
        return axis

    def mimic(self, joint: Element, name: str, all_joints: dict[str, int]) -> Mimic | None:
        element = self.only(joint, "mimic")
        if element is None or self.builder.options.mimic == "independent":
            return None
        leader = self.text(element, "joint", f"the <mimic> of joint {name!r}")
        if leader not in all_joints:
            unknown = self.builder.unknown("joint", leader, all_joints)
            self.builder.oddity(f"joint {name!r} mimics {unknown} Treated as an independent joint", element.line)
            return None
        return Mimic(leader, self.number(element, "multiplier", 1.0), self.number(element, "offset", 0.0))

    def actuated(self, joint: Element, kind: JointKind) -> bool:
        """Return whether a motor drives the joint; all but floating joints are assumed to have one."""
        word = joint.attributes.get(ACTUATED, joint.attributes.get(INDEPENDENT, "").lower() or None)
        if word not in (None, "true", "false"):
            raise self.error(f'{ACTUATED} must be "true" or "false", not {word!r}', joint)
        return kind.usually_driven if word is None else word == "true"

    def read_friction(self, joint: Element, data: dict[str, Any]) -> None:
        dynamics = self.only(joint, "dynamics")
        if dynamics is None:
            return
        for word, row in DYNAMICS.items():
            said = word in dynamics.attributes or not word.startswith(OWN)
            if row.of in data if row.of else said:
                data[row.name] = self.number(dynamics, word, 0.0)

    def read_limits(self, joint: Element, name: str, kind: JointKind, data: dict[str, Any]) -> None:
        limit = self.only(joint, "limit")
        bounded = type(kind) in (Revolute, Prismatic)
        if limit is None:
            if bounded:
                self.builder.oddity(
                    f"joint {name!r} has no <limit>, which URDF needs: treated as unlimited", joint.line
                )
            return
        for attribute, row in LIMIT_ATTRIBUTES.items():
            if row.per == "q":
                continue
            if attribute in limit.attributes:
                data[row.name] = self.limit(limit, attribute)
            elif bounded:
                self.builder.oddity(
                    f"joint {name!r}: <limit> has no {attribute!r}, which URDF needs: treated as unlimited", limit.line
                )
        if bounded and "lower" not in limit.attributes and "upper" not in limit.attributes:
            self.without_range[name] = limit.line
        else:
            ends = self.limit(limit, "lower"), self.limit(limit, "upper")
            if bounded:
                data["lower"], data["upper"] = ends
                self.doubt_end(name, limit)
            elif any(x and math.isfinite(x) for x in ends):
                self.beyond_type[name] = limit.line

    def doubt_end(self, name: str, limit: Element) -> None:
        """Report a range of which only one end is given."""
        for has, lacks in (("lower", "upper"), ("upper", "lower")):
            if lacks not in limit.attributes and has in limit.attributes:
                self.builder.oddity(
                    f"joint {name!r}: <limit> has {has!r} but no {lacks!r}, which URDF then takes as 0", limit.line
                )

    def doubt_ranges(self) -> None:
        """Report, all at once, joints whose <limit> has no range, or a range that their type does not have."""
        for joints, message in (
            (self.without_range, "joints whose <limit> has neither 'lower' nor 'upper' are treated as unlimited: {}. A "
             "hinge without stops is of type continuous"),
            (self.beyond_type, "position limits of joints {} are not read: their types have none. A hinge with stops "
             "is of type revolute"),
        ):  # fmt: skip
            if joints:
                self.builder.oddity(message.format(listed(joints)), next(iter(joints.values())))
        self.builder.doubt_ranges()

    def origin(self, element: Element) -> Pose:
        return self.pose_of(self.only(element, "origin"))

    def pose_of(self, origin: Element | None) -> Pose:
        if origin is None:
            return Pose()
        position = self.vector(origin, "xyz", 3, (0.0, 0.0, 0.0))
        with self.builder.at(origin.line):
            if "quat_xyzw" in origin.attributes:
                if "rpy" in origin.attributes:
                    raise self.error("<origin> has both 'rpy' and 'quat_xyzw'", origin)
                return Pose.of(position, quaternion=self.quaternion(origin))
            rpy = self.vector(origin, "rpy", 3, (0.0, 0.0, 0.0))
            return Pose.of(position, rpy=rpy) if any(rpy) else Pose.of(position)

    def quaternion(self, origin: Element) -> list[float]:
        q = self.vector(origin, "quat_xyzw", 4)
        if abs(math.hypot(*q) - 1.0) > 1e-6:
            raise self.error(f"the quaternion {origin.attributes['quat_xyzw']!r} is not of unit length", origin)
        return q

    # Attributes

    def text(self, element: Element, attribute: str, what: str | None = None) -> str:
        value = element.attributes.get(attribute, "")
        if not value:
            raise self.error(f"{what or f'<{element.tag}>'} has no attribute {attribute!r}", element)
        self.check_expanded(element, value)
        return value

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        if default is not None and attribute not in element.attributes:
            return default
        return self.vector(element, attribute, 1)[0]

    def limit(self, element: Element, attribute: str) -> float:
        """Return a number that may also be infinite; 0 if it is missing."""
        text = element.attributes.get(attribute, "0").strip()
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return float(text)
        value = self.number(element, attribute, 0.0)
        return math.copysign(math.inf, value) if abs(value) == UNLIMITED else value

    def vector(
        self, element: Element, attribute: str, count: int, default: Iterable[float] | None = None
    ) -> list[float]:
        text = element.attributes.get(attribute)
        if text is None:
            if default is None:
                raise self.error(f"<{element.tag}> has no attribute {attribute!r}", element)
            return list(default)
        self.check_expanded(element, text)
        what = "a number" if count == 1 else f"{count} numbers"
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or "_" in text or not all(map(math.isfinite, values)):
            raise self.error(f'<{element.tag} {attribute}="{text}">: {what} expected', element)
        return values

    # Checks

    def error(self, message: str, element: Element) -> FileFormatError:
        return FileFormatError(message, self.file, element.line)

    def only(self, element: Element, tag: str) -> Element | None:
        """Return the only child with this tag."""
        return element.only(tag, self.file)

    def check_expanded(self, element: Element, text: str) -> None:
        if "${" in text or "$(" in text:
            raise self.error(f"{text!r} is unexpanded xacro: {XACRO_HINT}", element)

    def check_attributes(self, element: Element) -> None:
        """Report attributes that are likely misspellings, or stand where nothing is read."""
        known = KNOWN_ATTRIBUTES[element.tag]
        wanted = [name for name in known if name not in OPTIONAL or name in element.attributes]
        silent = bool(wanted) and not any(name in element.attributes for name in known)
        for name, meant in xml.misspelled(element, wanted).items():
            if name not in known and (meant or silent):
                hint = f"did you mean {meant!r}?" if meant else f"<{element.tag}> has {listed(wanted)}"
                self.builder.oddity(f"{name!r} in <{element.tag}> is unknown and not read; {hint}", element.line)

    def check_children(self, element: Element) -> None:
        """Refuse xacro; report likely misspellings. Other unknown elements belong to other tools."""
        if element.tag in KNOWN_ATTRIBUTES:
            self.check_attributes(element)
        known = KNOWN_CHILDREN[element.tag]
        for child in element.children:
            if child.tag in KNOWN_ATTRIBUTES and child.tag not in KNOWN_CHILDREN:
                self.check_attributes(child)
            if child.tag in known:
                continue
            if child.tag.startswith("xacro:"):
                raise self.error(f"<{child.tag}> is unexpanded xacro: {XACRO_HINT}", child)
            near = difflib.get_close_matches(child.tag, known, n=1, cutoff=0.75)
            if near:
                self.builder.oddity(
                    f"<{child.tag}> in <{element.tag}> is unknown and not read; did you mean <{near[0]}>?", child.line
                )
