"""The writer of SDF 1.11, for Gazebo and Drake.

Links are placed where their bodies are with all joints at zero, as SDF requires. So loops must be closed in that
configuration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ....errors import UnsupportedError
from ...actuators import JointCoupling
from ...graph import inverse
from ...joint_fields import words_of
from ...joints import Continuous, Fixed, Free, Helical, JointKind, Prismatic, Reversed, Revolute, Spherical, Universal
from ...joints.kind import AXES
from ...mass import MassProperties
from ...pose import Pose, roll_pitch_yaw
from ...tree import BASE, Joint, Loop, Model
from .. import losses, xml
from ..shape_words import not_written
from .frames import WORLD
from .shapes import written

VERSION = "1.11"

CLOSED = 1e-9
"""Loops that are open by more than this with all joints at zero, in meters or radians, cannot be written."""

USUAL_GRAVITY = (0.0, 0.0, -9.81)

LIMITS = dict(sorted(words_of("sdf", limits=True).items(), key=lambda x: (x[1].per, x[0])))
"""The elements of <limit>, in their order."""


def write(model: Model) -> str:
    """Return the model as an SDF document.

    Raises
    ------
    UnsupportedError
        If the dynamics would change: a joint that SDF does not have, rotor inertia, a coupling that is not a gear,
        loops that are open with all joints at zero.
    """
    return _SdfWriter(model).document()


class _SdfWriter:
    """Writes one model; collects what is lost without changing the motion."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lines: list[str] = []
        self.lost: list[str] = []
        # the pose of a link's frame on its body: a body's name may belong to a frame elsewhere on it
        names = {BASE: model.base.name} | {i: body.name for i, body in enumerate(model.bodies)}
        placed = {
            f.name: f.pose for f in model.frames if f.name in model.body_index and model.body_index[f.name] == f.body
        }
        self.on_body = {i: placed.get(name, Pose()) for i, name in names.items()}
        self.names = {i: WORLD if i == BASE and self._base_is_world() else name for i, name in names.items()}

        self.joints = self._joint_names()
        every = (*self.names.values(), *(f.name for f in model.frames), *self.joints)
        if any("::" in name for name in every):
            self.lost.append("'::' in names, which is written as '__'")

    def _joint_names(self) -> dict[str, str]:
        """Return the names of joints, loops and couplings; in SDF no link or frame may share a joint's name."""
        model = self.model
        taken = set(self.names.values()) | {f.name for f in model.frames} | {WORLD}
        found: dict[str, str] = {}
        named = [j.name for j in model.joints] + [x.name for x in model.loops] + [c.name for c in model.couplings]
        for name in named:
            free = name
            while free in taken:
                free += "_joint"
            taken.add(free)
            found[name] = free
            if free != name:
                self.lost.append(f"the name of joint {name!r}, which a link or frame also has: {free!r}")
        return found

    def _base_is_world(self) -> bool:
        return self.model.base.name == WORLD

    def document(self) -> str:
        model = self.model
        self.lost += losses.of_drives(model, "SDF")
        self.lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<sdf version="{VERSION}">']
        in_world = model.gravity != USUAL_GRAVITY
        if in_world:
            self.lines += [f"<world name={_quote(model.name)}>", f"  <gravity>{_numbers(model.gravity)}</gravity>"]
        self.lines.append(f"  <model name={_quote(model.name)}>")
        if not self._base_is_world():
            self._link(BASE, Pose(), "")
            self.lines.append(
                f"    <joint name={_quote(self._fresh(f'{model.base.name}_in_world'))} "
                f'type="fixed"><parent>{WORLD}</parent><child>{_text(model.base.name)}</child></joint>'
            )
        else:
            self.lost += ["the mass of the base, which is the world"] if model.base.mass else []
            self.lost += [not_written(s) for s in model.shapes if model.frame(s.frame).body == BASE]
        self.lost += [f"that {one!r} and {two!r} do not touch" for one, two in model.contact_exclusions]
        for i, joint in enumerate(model.joints):
            parent = self.on_body[joint.parent]
            pose = inverse(parent) @ joint.placement @ self.on_body[i]
            self._link(i, pose, "" if self.names[joint.parent] == WORLD else self.names[joint.parent])
        for i, joint in enumerate(model.joints):
            self._joint(joint, i)
        for loop in model.loops:
            self._loop(loop)
        for coupling in model.couplings:
            self._gearbox(coupling)
        self._frames()
        self.lines += ["  </model>", *(["</world>"] if in_world else []), "</sdf>"]
        losses.warn_of(self.lost, "SDF has")
        return "\n".join(self.lines) + "\n"

    def _fresh(self, name: str) -> str:
        while name in (*self.joints.values(), *self.names.values(), *(f.name for f in self.model.frames)):
            name += "_"
        return name

    # Links

    def _link(self, i: int, pose: Pose, relative_to: str) -> None:
        body = self.model.base if i == BASE else self.model.bodies[i]
        body.mass_properties.require_writable(body.name)
        base = f" relative_to={_quote(relative_to)}" if relative_to else ""
        self.lines += [f"    <link name={_quote(self.names[i])}>", f"      {_pose(pose, base)}"]
        self.lines += _inertial(body.mass_properties.moved(inverse(self.on_body[i])))
        for shape in self.model.shapes:
            frame = self.model.frame(shape.frame)
            if frame.body == i:
                place = _pose(inverse(self.on_body[i]) @ frame.pose @ shape.pose)
                self.lines += written(shape, place, _quote(shape.name), self.lost)
        self.lines.append("    </link>")

    def _frames(self) -> None:
        for frame in self.model.frames:
            if frame.name in self.model.body_index and frame.name in self.names.values():
                continue
            pose = inverse(self.on_body[frame.body]) @ frame.pose
            on = f" attached_to={_quote(self.names[frame.body])}" if self.names[frame.body] != WORLD else ""
            on = on or f' attached_to="{WORLD}"'
            self.lines.append(f"    <frame name={_quote(frame.name)}{on}>{_pose(pose)}</frame>")

    # Joints

    def _joint(self, joint: Joint, i: int) -> None:
        kind = joint.kind
        ends = self.names[joint.parent], self.names[i]
        if isinstance(kind, Free):
            if joint.parent != BASE or not joint.placement.is_identity:
                raise UnsupportedError(
                    f"SDF has no free joint between two links, like joint {joint.name!r}: write .yaml"
                )
            if not self._base_is_world() or len(self.model.roots) > 1:
                raise UnsupportedError(
                    f"an SDF model floats or is fixed in the world: joint {joint.name!r} cannot be next to others"
                )
            self.lost.append(f"joint {joint.name!r}, on which it floats: load the file with floating_base=True")
            return
        backwards = isinstance(kind, Reversed)
        if isinstance(kind, Reversed):
            kind, ends = kind.kind, (ends[1], ends[0])
        self._check_words(joint, kind)
        pose = inverse(self.on_body[i])
        relative = f" relative_to={_quote(self.names[i])}"
        if isinstance(kind, Continuous) and any(map(math.isfinite, (*joint.lower, *joint.upper))):
            kind = Revolute(kind.axis)  # SDF ignores limits of a continuous joint; the motion is the same
        self._open_joint(self.joints[joint.name], kind, ends, _pose(pose, relative))
        if kind.nv <= 2:
            if backwards and joint.mimic:
                raise UnsupportedError(f"joint {joint.name!r} mimics another and is reversed: write .yaml")
            for k, axis in enumerate(_axes(kind)):
                self._axis(joint, k, axis)
        self.lines.append("    </joint>")

    def _open_joint(self, name: str, kind: JointKind, ends: Sequence[str], pose: str) -> None:
        self.lines += [
            f'    <joint name={_quote(name)} type="{_type(name, kind)}">',
            f"      <parent>{_text(ends[0])}</parent><child>{_text(ends[1])}</child>",
            f"      {pose}",
        ]
        if isinstance(kind, Helical):
            self.lines.append(f"      <screw_thread_pitch>{kind.pitch * 2 * math.pi!r}</screw_thread_pitch>")

    def _check_words(self, joint: Joint, kind: JointKind) -> None:
        if any(joint.armature):
            raise UnsupportedError(f"SDF cannot express the rotor inertia of joint {joint.name!r}: write .yaml")
        if isinstance(kind, Spherical) and any((*joint.damping, *joint.friction, *joint.stiffness)):
            raise UnsupportedError(f"SDF cannot express friction or a spring in ball joint {joint.name!r}: write .yaml")
        self.lost += losses.of_joint(joint, "sdf")
        if isinstance(kind, Spherical) and any(map(math.isfinite, (*joint.lower, *joint.upper))):
            self.lost.append(f"limits of joint {joint.name!r}")
        passive = not joint.actuated and joint.kind.usually_driven
        if passive and (kind.nv > 2 or any(map(math.isfinite, joint.effort_limit))):
            self.lost.append(f"that joint {joint.name!r} has no motor")

    def _axis(self, joint: Joint, k: int, axis: Sequence[float]) -> None:
        tag = "axis2" if k else "axis"
        bounds = {word: getattr(joint, row.name)[k] for word, row in LIMITS.items()}
        if not joint.actuated and not math.isfinite(joint.effort_limit[k]):
            bounds["effort"] = 0.0  # a motor without force is not a motor
        limit = "".join(f"<{word}>{x!r}</{word}>" for word, x in bounds.items() if math.isfinite(x))
        acting = {word: getattr(joint, row.name)[k : k + 1] for word, row in words_of("sdf").items()}
        dynamics = "".join(f"<{word}>{x[0]!r}</{word}>" for word, x in acting.items() if any(x))
        self.lines.append(f"      <{tag}><xyz>{_numbers(axis)}</xyz>")
        self.lines += [f"        <limit>{limit}</limit>"] if limit else []
        self.lines += [f"        <dynamics>{dynamics}</dynamics>"] if dynamics else []
        if joint.mimic:
            m = joint.mimic
            self.lines.append(
                f"        <mimic joint={_quote(self.joints[m.leader])}><multiplier>{m.ratio!r}</multiplier>"
                f"<offset>{m.offset!r}</offset><reference>0.0</reference></mimic>"
            )
        self.lines.append(f"      </{tag}>")

    # Loops and couplings

    def _at_zero(self, body: int) -> Pose:
        pose = Pose()
        for i in self.model.support(body):
            pose = pose @ self.model.joints[i].placement
        return pose

    def _loop(self, loop: Loop) -> None:
        here = self._at_zero(loop.predecessor) @ loop.placement
        there = self._at_zero(loop.successor) @ loop.seat
        between = inverse(here) @ there
        gap = max((abs(float(c.gap)) for c in loop.kind.constraints(between.spatial())), default=0.0)
        if not gap <= CLOSED:
            raise UnsupportedError(
                f"loop {loop.name!r} is open by {gap:.3g} with all joints at zero, but SDF assumes that loops are "
                "closed as drawn: write .yaml"
            )
        seat = inverse(self.on_body[loop.successor]) @ loop.seat
        child = self.names[loop.successor]
        relative = f" relative_to={_quote(child)}" if child != WORLD else f' relative_to="{WORLD}"'
        self._open_joint(
            self.joints[loop.name], loop.kind, (self.names[loop.predecessor], child), _pose(seat, relative)
        )
        axes = list(_axes(loop.kind))
        if isinstance(loop.kind, Universal):  # the first pin is fixed to the predecessor
            axes[0] = tuple(float(x) for x in between.rotation.T @ np.array(axes[0]))
        for k, axis in enumerate(axes):
            tag = "axis2" if k else "axis"
            self.lines.append(f"      <{tag}><xyz>{_numbers(axis)}</xyz></{tag}>")
        if any(getattr(loop, row.name) for row in LIMITS.values()):
            self.lost.append(f"limits of loop {loop.name!r}")
        self.lines.append("    </joint>")

    def _gearbox(self, coupling: JointCoupling) -> None:
        """Write a gear between two hinges on one carrier: theta_2 = -ratio theta_1 relative to the carrier."""
        terms = [(self.model.joint(name), c) for name, c in zip(coupling.joints, coupling.coefficients, strict=True)]
        slope = coupling.polynomial[1] if len(coupling.polynomial) > 1 else 0.0
        terms += [
            (self.model.joint(name), -slope * c)
            for name, c in zip(coupling.follows, coupling.follows_coefficients, strict=True)
        ]
        linear = not any((coupling.polynomial[0], *coupling.polynomial[2:]))
        hinges = all(isinstance(j.kind, (Revolute, Continuous)) for j, _ in terms)
        if not (linear and hinges and len(terms) == 2 and terms[0][0].parent == terms[1][0].parent):
            raise UnsupportedError(
                f"SDF has gearboxes between two hinges on one link only, unlike coupling {coupling.name!r}: write .yaml"
            )
        (second, c2), (first, c1) = terms
        one, two = (self.model.joint_index[j.name] for j in (first, second))
        axis = self._seen(first, two), tuple(getattr(second.kind, "axis", ()))
        carrier = self.names[first.parent]
        self.lines += [
            f'    <joint name={_quote(self.joints[coupling.name])} type="gearbox">',
            f"      <parent>{_text(self.names[one])}</parent><child>{_text(self.names[two])}</child>",
            f"      {_pose(inverse(self.on_body[two]), f' relative_to={_quote(self.names[two])}')}",
            f"      <gearbox_ratio>{c1 / c2!r}</gearbox_ratio>",
            f"      <gearbox_reference_body>{_text(carrier)}</gearbox_reference_body>",
            f"      <axis><xyz>{_numbers(axis[0])}</xyz></axis><axis2><xyz>{_numbers(axis[1])}</xyz></axis2>",
            "    </joint>",
        ]

    def _seen(self, joint: Joint, body: int) -> tuple[float, ...]:
        """Return a hinge's axis in the frame of another body, with all joints at zero."""
        own = self._at_zero(self.model.joint_index[joint.name]).rotation @ np.array(getattr(joint.kind, "axis", ()))
        return tuple(float(x) for x in self._at_zero(body).rotation.T @ own)


def _type(name: str, kind: JointKind) -> str:
    words: dict[type[JointKind], str] = {
        Revolute: "revolute", Continuous: "continuous", Prismatic: "prismatic", Helical: "screw", Spherical: "ball",
        Universal: "universal", Fixed: "fixed",
    }  # fmt: skip
    if type(kind) not in words:
        raise UnsupportedError(
            f"SDF has no {kind.name} joint like joint {name!r}: write .yaml, or write robot.with_single_joints()"
        )
    return words[type(kind)]


def _axes(kind: JointKind) -> Iterable[tuple[float, ...]]:
    if isinstance(kind, Universal):
        return tuple(tuple(float(x) for x in AXES[letter.lower()]) for letter in kind.sequence)
    return (tuple(kind.axis),) if isinstance(kind, (Revolute, Continuous, Prismatic, Helical)) else ()


def _inertial(properties: MassProperties) -> list[str]:
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    moments = "".join(f"<{tag}>{x!r}</{tag}>" for tag, x in zip(names, properties.inertia, strict=True))
    return [
        "      <inertial>",
        f"        {_pose(Pose(translation=properties.com))}<mass>{properties.mass!r}</mass>",
        f"        <inertia>{moments}</inertia>",
        "      </inertial>",
    ]


def _pose(pose: Pose, attributes: str = "") -> str:
    return f"<pose{attributes}>{_numbers((*pose.translation, *roll_pitch_yaw(pose)))}</pose>"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)


def _quote(text: str) -> str:
    _text(text)
    return xml.quoted(text.replace("::", "__"))


def _text(text: str) -> str:
    if any(ord(c) < 32 for c in text) or text != text.strip():
        raise UnsupportedError(f"an SDF file cannot contain the name {text!r}")
    return text.replace("::", "__").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
