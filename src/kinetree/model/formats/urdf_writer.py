"""The writer of URDF, with loops and couplings in kinetree's own elements.

Other tools skip kinetree's elements and read only the tree.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from ...errors import ModelWarning, UnsupportedError, warn
from ..actuators import JointCoupling
from ..joints import Compound, Continuous, Cylindrical, Revolute
from ..pose import Pose, roll_pitch_yaw
from ..shapes.contact_shape import ContactShape
from ..tree import BASE, Body, Frame, Joint, Loop, Model
from . import losses, xml
from .shape_words import PARTS, is_mesh_file, not_written, parts_of
from .urdf import (
    ACTUATED,
    COUPLING,
    DYNAMICS,
    JOINT_TYPES,
    LIMIT_ATTRIBUTES,
    LOOP,
    LOOP_TYPES,
    NAMESPACE,
    OWN,
    UNLIMITED,
)

OWN_ROWS = [row for word, row in DYNAMICS.items() if word.startswith(OWN) and not row.of]
"""Properties of joints that other programs do not read."""


def write(model: Model) -> str:
    """Return the model as a URDF document.

    Raises
    ------
    UnsupportedError
        If the dynamics would change: a joint that URDF does not have, rotor inertia,
        friction that differs between the freedoms of one joint, or non-standard gravity.
    """
    return _UrdfWriter(model).document()


class _UrdfWriter:
    """Writes one model; collects what is lost without changing the motion."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lost: list[str] = []
        self.lines: list[str] = []
        self.links = self._link_names()
        self.joint_names = {joint.name for joint in model.joints}
        self.shapes: dict[str, list[ContactShape]] = {}
        for shape in model.shapes:
            self.shapes.setdefault(self.links[model.frame(shape.frame).body], []).append(shape)

    def _link_names(self) -> dict[int, str]:
        """Return the name of the link that represents each body: a URDF link's frame is its joint's frame.

        If a body's own name belongs to a frame elsewhere on it, that frame becomes a welded link, and the moving link
        needs another name.
        """
        model = self.model
        displaced = {f.name for f in model.frames}
        taken = {model.base.name} | {b.name for b in model.bodies} | displaced
        names = {}
        for i, body in enumerate((model.base, *model.bodies), start=BASE):
            names[i] = body.name
            if body.name in displaced:
                names[i] = _fresh(f"{body.name}_at_joint", taken)
                taken.add(names[i])
        return names

    def document(self) -> str:
        model = self.model
        if model.gravity != (0.0, 0.0, -9.81):
            raise UnsupportedError(
                f"URDF cannot express that gravity is {model.gravity}: write .yaml, or write "
                "robot.with_gravity((0, 0, -9.81)) and give gravity= to kinetree.load"
            )
        self.lost += losses.of_drives(model, "URDF")
        ours = model.is_constrained or any(
            _says_actuated(joint) or any(any(row.felt(joint)) for row in OWN_ROWS) for joint in model.joints
        )
        ours = ours or any(shape.surface() for shape in model.shapes)
        self.lost += [f"that {one!r} and {two!r} do not touch" for one, two in model.contact_exclusions]
        own = f' xmlns:kinetree="{NAMESPACE}"' if ours else ""
        self.lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<robot name={xml.quoted(model.name)}{own}>"]
        self._link(self.links[BASE], model.base)
        for i, body in enumerate(model.bodies):
            self._link(self.links[i], body)
        for i, joint in enumerate(model.joints):
            self._joint(joint, self.links[i])
        self._frames()
        for loop in model.loops:
            self._loop(loop)
        for coupling in model.couplings:
            self._coupling(coupling)
        self.lines.append("</robot>")
        losses.warn_of(self.lost, "URDF has")
        warn_of_our_own(model.joints)
        return "\n".join(self.lines) + "\n"

    def _link(self, name: str, body: Body) -> None:
        properties = body.mass_properties
        properties.require_writable(body.name)
        shapes = [line for shape in self.shapes.get(name, ()) for line in self._collision(shape)]
        if properties.is_massless and not shapes:
            self.lines.append(f"  <link name={xml.quoted(name)}/>")
            return
        self.lines.append(f"  <link name={xml.quoted(name)}>")
        if not properties.is_massless:
            xx, yy, zz, xy, xz, yz = (repr(x) for x in properties.inertia)
            self.lines += [
                "    <inertial>",
                f'      <origin xyz="{_numbers(properties.com)}" rpy="0 0 0"/>',
                f'      <mass value="{properties.mass!r}"/>',
                f'      <inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/>',
                "    </inertial>",
            ]
        self.lines += [*shapes, "  </link>"]

    def _collision(self, shape: ContactShape) -> list[str]:
        """Return the lines of a collision shape, with kinetree's own attributes for its surface."""
        if is_mesh_file(shape.shape):
            mesh = shape.shape.parameters()
            inside = f'<mesh filename={xml.quoted(mesh["file"])} scale="{_numbers(mesh["scale"])}"/>'
        elif shape.kind in PARTS:
            words = "".join(f' {key}="{text}"' for key, text in parts_of(shape))
            inside = f"<{shape.kind}{words}/>"
        else:
            self.lost.append(not_written(shape))
            return []
        own = "".join(f' {OWN}{key}="{value!r}"' for key, value in shape.surface().items())
        pose = self.model.frame(shape.frame).pose @ shape.pose
        return [
            f"    <collision name={xml.quoted(shape.name)}{own}>",
            f"      {_origin(pose)}",
            f"      <geometry>{inside}</geometry>",
            "    </collision>",
        ]

    def _joint(self, joint: Joint, child: str) -> None:
        kind_name = _kind_name(joint)
        self.lost += losses.of_joint(joint, "urdf")
        actuated = f' {ACTUATED}="{str(joint.actuated).lower()}"' if _says_actuated(joint) else ""
        self.lines += [
            f'  <joint name={xml.quoted(joint.name)} type="{kind_name}"{actuated}>',
            f"    <parent link={xml.quoted(self.links[joint.parent])}/>",
            f"    <child link={xml.quoted(child)}/>",
            f"    {_origin(joint.placement)}",
        ]
        axis = getattr(joint.kind, "axis", getattr(joint.kind, "normal", None))
        if axis is not None:
            self.lines.append(f'    <axis xyz="{_numbers(axis)}"/>')
        self._limit(joint, kind_name)
        self._dynamics(joint)
        if joint.mimic:
            m = joint.mimic
            self.lines.append(
                f'    <mimic joint={xml.quoted(m.leader)} multiplier="{m.ratio!r}" offset="{m.offset!r}"/>'
            )
        self.lines.append("  </joint>")

    def _limit(self, joint: Joint, kind_name: str) -> None:
        limits = {word: (row.per, getattr(joint, row.name)) for word, row in LIMIT_ATTRIBUTES.items()}
        if kind_name in ("revolute", "prismatic"):
            values = {word: numbers[0] for word, (_, numbers) in limits.items()}
        else:
            if any(math.isfinite(x) for per, numbers in limits.values() if per == "q" for x in numbers):
                self.lost.append(f"position limits of joint {joint.name!r}")
            rates = {word: numbers for word, (per, numbers) in limits.items() if per == "v"}
            values = {word: numbers[0] for word, numbers in rates.items() if len(set(numbers)) == 1}
            if not any(math.isfinite(x) for numbers in rates.values() for x in numbers):
                return
            if len(values) < len(rates):
                self.lost.append(f"limits of joint {joint.name!r} that differ between its freedoms")
        text = " ".join(f'{key}="{_finite(value)!r}"' for key, value in values.items())
        self.lines.append(f"    <limit {text}/>")

    def _dynamics(self, joint: Joint) -> None:
        values = dynamics(joint)
        if any(values.values()):
            self.lines.append("    <dynamics " + " ".join(f'{k}="{v!r}"' for k, v in values.items()) + "/>")

    def _loop(self, loop: Loop) -> None:
        if LOOP_TYPES.get(loop.kind.name) is not type(loop.kind):
            raise UnsupportedError(f"no file can contain the {loop.kind.name} joint that loop {loop.name!r} is")
        parameters = loop.kind.parameters()
        axis = [parameters.pop(key) for key in ("axis", "normal") if key in parameters]
        more = "".join(f" {key}={xml.quoted(str(value))}" for key, value in parameters.items())
        self.lines.append(f'  <{LOOP} name={xml.quoted(loop.name)} type="{loop.kind.name}"{more}>')
        for role, body, pose in (
            ("predecessor", loop.predecessor, loop.placement),
            ("successor", loop.successor, loop.seat),
        ):
            self.lines.append(f"    <{role} link={xml.quoted(self.links[body])}>{_origin(pose)}</{role}>")
        self.lines += [f'    <axis xyz="{_numbers(direction)}"/>' for direction in axis]
        limits = {word: x for word, row in LIMIT_ATTRIBUTES.items() if (x := getattr(loop, row.name))}
        if any(len(set(values)) > 1 for values in limits.values()):
            self.lost.append(f"limits of loop {loop.name!r} that differ between its freedoms")
        elif limits:
            text = " ".join(f'{key}="{values[0]!r}"' for key, values in limits.items())
            self.lines.append(f"    <limit {text}/>")
        self.lines.append(f"  </{LOOP}>")

    def _coupling(self, coupling: JointCoupling) -> None:
        polynomial = _numbers(coupling.polynomial)
        self.lines.append(f'  <{COUPLING} name={xml.quoted(coupling.name)} polynomial="{polynomial}">')
        for name, factor, of_x in coupling.terms():
            tag = "follows" if of_x else "joint"
            self.lines.append(f'    <{tag} name={xml.quoted(name)} coefficient="{factor!r}"/>')
        self.lines.append(f"  </{COUPLING}>")

    def _frames(self) -> None:
        """Write frames as welded links.

        When a weld is read, its link and its joint both name a frame.  So two frames in the same place become one weld,
        and a single frame gives its name to both link and joint.
        """
        waiting = deque(self.model.frames)
        not_free = self.joint_names | set(self.links.values()) | {b.name for b in self.model.bodies}
        while waiting:
            frame = waiting.popleft()
            joint_name = frame.name
            if waiting and _same_place(frame, waiting[0]) and waiting[0].name not in not_free:
                joint_name = waiting.popleft().name
            joint_name = _fresh(joint_name, self.joint_names)
            self.joint_names.add(joint_name)
            self.lines += [
                f"  <link name={xml.quoted(frame.name)}/>",
                f'  <joint name={xml.quoted(joint_name)} type="fixed">',
                f"    <parent link={xml.quoted(self.links[frame.body])}/>",
                f"    <child link={xml.quoted(frame.name)}/>",
                f"    {_origin(frame.pose)}",
                "  </joint>",
            ]


def _says_actuated(joint: Joint) -> bool:
    """Return whether a joint has a motor, or lacks one, contrary to the default."""
    return joint.actuated != joint.kind.usually_driven and joint.mimic is None and joint.nv > 0


def dynamics(joint: Joint) -> dict[str, float]:
    """Return the numbers of the element <dynamics>; those without a word in URDF get attributes of kinetree.

    Raises
    ------
    UnsupportedError
        If the joint's freedoms have different numbers, or if it has several freedoms and an attribute of kinetree.
    """
    found: dict[str, float] = {}
    for word, row in DYNAMICS.items():
        numbers = row.felt(joint)
        if not word.startswith(OWN):
            if len(set(numbers)) > 1:
                differs = f"{row.name} that differs between the freedoms of joint {joint.name!r}"
                raise UnsupportedError(f"URDF cannot express {differs}: write .yaml")
            found[word] = numbers[0] if numbers else 0.0
        elif any(numbers) or (row.of and numbers):
            if joint.nq != 1:
                raise UnsupportedError(f"URDF cannot express the {row.noun} of joint {joint.name!r}: write .yaml")
            found[word] = numbers[0]
    return found


def warn_of_our_own(joints: Iterable[Joint]) -> None:
    """Warn of joints with properties that other programs will not read: springs, rotors."""
    joints = list(joints)
    for row in OWN_ROWS:
        names = [repr(joint.name) for joint in joints if any(row.felt(joint))]
        if names:
            whose = f"joint{'s' if len(names) > 1 else ''} {', '.join(names)}"
            message = f"{row.noun}s, of {whose}, are attributes that only kinetree reads: URDF has none"
            warn(message, ModelWarning)


def _kind_name(joint: Joint) -> str:
    kind = joint.kind
    if type(kind) in (Revolute, Continuous):  # they differ in their limits, not in their motion
        return "continuous" if math.isinf(joint.lower[0]) and math.isinf(joint.upper[0]) else "revolute"
    for name, cls in JOINT_TYPES.items():
        if type(kind) is cls:
            return name
    advice = "write .yaml"
    if isinstance(kind, (Compound, Cylindrical)):
        advice += ", or write robot.with_single_joints(), which has a chain of single joints instead"
    raise UnsupportedError(f"URDF has no {kind.name} joint like joint {joint.name!r}: {advice}")


def _same_place(a: Frame, b: Frame) -> bool:
    return a.body == b.body and a.pose == b.pose


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _finite(limit: float) -> float:
    return math.copysign(UNLIMITED, limit) if math.isinf(limit) else limit


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(x) for x in values)


def _origin(pose: Pose) -> str:
    return f'<origin xyz="{_numbers(pose.translation)}" rpy="{_numbers(roll_pitch_yaw(pose))}"/>'
