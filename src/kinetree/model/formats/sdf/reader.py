"""The reader of SDF, versions 1.4 to 1.11.

It reads models (also nested ones and included files) with links, inertials, frames and joints of all types, loops,
where a link is the child of two joints, and collision shapes, which ground can be made of.  Poses are those with all
joints at zero.  Visuals, sensors, plugins, lights and settings of physics engines do not change the motion and are not
read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import FileFormatError, Message, Setting, UnknownNameError
from ....io.paths import whole_content
from ...graph import Draft, span
from ...joint_fields import FIELDS, Mimic, words_of
from ...joints import Continuous, Fixed, Free, Helical, JointKind, Prismatic, Revolute, Spherical, Universal
from ...mass import MassProperties
from ...pose import Pose
from ...tree import Model
from .. import xml
from ..source import FileBuilder, Options, Source
from ..xml import Element
from .elements import CLOSED, Elements
from .frames import MODEL, WORLD, Frames, SdfFrame
from .shapes import read_shape

VERSIONS = tuple(f"1.{k}" for k in range(4, 13))

TYPES = (
    "revolute", "continuous", "prismatic", "universal", "ball", "screw", "revolute2", "fixed", "gearbox",
)  # fmt: skip

UNBOUNDED = 1e16
"""Limits of this size mean that there is no limit."""

PERPENDICULAR = 1e-9
"""Axes of a universal joint count as perpendicular if the cosine of the angle between them is below this."""

DEEPEST_INCLUDES = 16
"""The deepest nesting of included files and of models."""

MOST_INCLUDED, MOST_ELEMENTS = 2000, 200_000
"""The most models that are included, and the most elements in them: a few small files that include one another several
times could lead to millions."""


def read(source: Source, options: Options) -> Model:
    """Read an SDF file."""
    return _SdfReader(source, options).model()


@dataclass(frozen=True)
class _Instance:
    """A model of the file, or of an included one, with the prefix of its names."""

    element: Element
    prefix: str
    elements: Elements
    folder: Path
    version: tuple[int, int]
    static: bool
    depth: int


class _SdfReader:
    """Goes through the models of a file: first all frames, then links and joints."""

    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        self.root = _parsed(source.data, source.file)
        self.version = _version(self.root, source.file)
        self.elements = Elements(source.file, self.report)
        self.elements.check(self.root)
        self.pending: list[tuple[str, int | None]] = []
        self.builder: FileBuilder | None = None
        self.frames = Frames(source.file)
        self.instances: list[_Instance] = []
        self.unsettled: list[tuple[SdfFrame, str, str, Element, str]] = []
        self.gearboxes: list[tuple[Element, str, str, str, _Instance]] = []
        self.files: dict[Path, tuple[Element, tuple[int, int], int]] = {}  # model, version and number of elements
        self.included, self.elements_included = 0, 0

    def report(self, message: str, line: int | None) -> None:
        """Note something that cannot be represented."""
        if self.builder is None:
            self.pending.append((message, line))
        else:
            self.builder.oddity(message, line)

    def model(self) -> Model:
        """Read everything, choose cuts if there are loops, and build the model."""
        worlds = list(self.root.all("world"))
        if len(worlds) > 1:
            raise self.elements.error("the file has two worlds; keep only one of them", worlds[1])
        top = worlds[0] if worlds else self.root
        if worlds:
            self.elements.check(top)
        models = [e for e in top.children if e.tag in ("model", "include")]
        if not models:
            raise self.elements.error("the file has no <model>: the robot is empty", top)
        alone = len(models) == 1 and not list(top.all("joint"))
        name = models[0].attributes.get("name") if len(models) == 1 else top.attributes.get("name")
        builder = FileBuilder(
            self.source, name or self.source.path.stem, self.options, gravity=self._gravity(top)
        )  # fmt: skip
        self.builder = builder
        for message, line in self.pending:
            builder.oddity(message, line)
        builder.add_body(WORLD)
        builder.hold(WORLD)
        folder = self.source.path.parent
        for element in models:
            self._enter(element, "", alone, WORLD, self.elements, folder, self.version, False, 0)
        for element in top.all("frame"):
            self._frame(element, "", WORLD, self.elements)
        for place, base, scope, element, whose in self.unsettled:
            place.relative_to = self.frames.find(base, scope, element, whose)
        for instance in self.instances:
            self._read_links(instance)
        for instance in self.instances:
            if not instance.static:
                self._read_joints(instance.element, instance)
        if not alone:
            self._read_joints(top, _Instance(top, "", self.elements, folder, self.version, False, 0))
        builder.doubt_ranges()
        self._read_gearboxes()
        self._read_frames()
        self._stand(alone)
        self._choose_cuts()
        return builder.finish(floating_base=False, graph=True, inertias=True)

    def _gravity(self, top: Element) -> tuple[float, ...]:
        """Return the world's gravity; versions before 1.6 have it within <physics>."""
        for owner in (top, *top.all("physics")):
            child = self.elements.only(owner, "gravity") if owner.tag != "sdf" else None
            if child is not None:
                return tuple(self.elements.numbers(child, 3, infinite=False))
        return (0.0, 0.0, -9.81)

    # Models and their frames

    def _enter(
        self, element: Element, scope: str, bare: bool, parent: str, elements: Elements, folder: Path,
        version: tuple[int, int], static: bool, depth: int,
    ) -> None:  # fmt: skip
        """Declare the frames of a model and of those within it."""
        if depth > DEEPEST_INCLUDES:
            raise elements.error(
                f"models are nested, or include one another, more than {DEEPEST_INCLUDES} deep", element
            )
        placed: Element | None = elements.only(element, "pose")
        given, placement = element.attributes.get("name", ""), element.attributes.get("placement_frame", "")
        own_elements = elements
        if element.tag == "include":
            elements.check(element)
            merged = element.attributes.get("merge", "").lower() in ("true", "1")
            given, placement = elements.word(element, "name"), elements.word(element, "placement_frame")
            static = static or elements.truth(element, "static")
            included, elements, folder, version = self._included(element, elements, folder)
            bare = bare or merged
            placement = placement or included.attributes.get("placement_frame", "")
            if placed is None:
                placed, own_elements = elements.only(included, "pose"), elements
            element = included
        elements.check(element)
        name = given or elements.name(element)
        static = static or elements.truth(element, "static")
        prefix = scope if bare else f"{scope}{name}::"
        frame = f"{prefix}{MODEL}"
        if frame in self.frames.places:  # the model is merged into one that has its own frame
            frame = f"{prefix}__{name}{MODEL}"
        base = own_elements.relative_to(placed)
        place = SdfFrame(parent, own_elements.pose(placed), element, parent)
        if base:  # it may come later in the file
            self.unsettled.append((place, base, scope, placed or element, f"model {name!r}"))
        self.frames.add(frame, place)
        instance = _Instance(element, prefix, elements, folder, version, static, depth)
        self.instances.append(instance)
        if elements.truth(element, "enable_wind"):
            self.report(f"model {name!r}: <enable_wind> is not read", element.line)
        for child in element.children:
            if child.tag in ("model", "include"):
                self._enter(child, prefix, False, frame, elements, folder, version, static, depth + 1)
        own = [child for child in element.children if child.tag in ("link", "joint", "frame")]
        # names come before poses, which may be relative to any of them
        for child in own:
            if child.tag == "frame":
                self._frame(child, prefix, frame, elements)
            elif child.tag == "link":
                self._link_frame(child, prefix, frame, elements)
        for child in own:
            if child.tag == "joint":
                self._joint_frame(child, prefix, elements)
        self._settle(own, prefix, elements)
        if placement:
            place.placement_frame = self.frames.find(placement, prefix, element, f"model {name!r}: placement_frame")
        canonical = element.attributes.get("canonical_link", "")
        links = [child for child in own if child.tag == "link"]
        if canonical:
            place.attached_to = self.frames.find(canonical, prefix, element, f"model {name!r}: canonical_link")
        elif links:
            place.attached_to = prefix + elements.name(links[0])
        else:
            within = [n for n in self.frames.places if n.startswith(prefix) and n in self.frames.links]
            if not within:
                raise elements.error(f"model {name!r} has no <link>: it is empty", element)
            place.attached_to = within[0]

    def _link_frame(self, link: Element, prefix: str, frame: str, elements: Elements) -> None:
        pose = elements.only(link, "pose")
        place = SdfFrame(elements.relative_to(pose) or frame, elements.pose(pose), link, "")
        self.frames.add(prefix + elements.name(link), place, is_link=True)

    def _frame(self, element: Element, prefix: str, frame: str, elements: Elements) -> None:
        elements.check(element)
        pose, attached = elements.only(element, "pose"), element.attributes.get("attached_to", "").strip()
        place = SdfFrame(
            elements.relative_to(pose) or attached or frame, elements.pose(pose), element, attached or frame
        )
        self.frames.add(prefix + elements.name(element), place)

    def _joint_frame(self, joint: Element, prefix: str, elements: Elements) -> None:
        pose, child = elements.only(joint, "pose"), elements.word(joint, "child")
        if not child:
            raise elements.error(f"joint {joint.attributes.get('name', '')!r} has no <child>", joint)
        place = SdfFrame(elements.relative_to(pose) or child, elements.pose(pose), joint, child)
        self.frames.add(prefix + self._joint_name(joint, prefix, elements), place)

    def _joint_name(self, joint: Element, prefix: str, elements: Elements) -> str:
        """Return a joint's name; before 1.7 a link could have the same name."""
        name = elements.name(joint)
        place = self.frames.places.get(prefix + name)
        return f"{name}_joint" if place is not None and place.element is not joint else name

    def _settle(self, own: list[Element], prefix: str, elements: Elements) -> None:
        """Replace the names of frames that other frames are relative to with full names."""
        for child in own:
            name = self._joint_name(child, prefix, elements) if child.tag == "joint" else elements.name(child)
            place = self.frames.places[prefix + name]
            for key in ("relative_to", "attached_to"):
                word = getattr(place, key)
                if word and word not in (f"{prefix}{MODEL}", WORLD) and not word.endswith(MODEL):
                    found = self.frames.find(word, prefix, child, f"<{child.tag}> {name!r}, {key}")
                    setattr(place, key, found)

    def _included(
        self, element: Element, elements: Elements, folder: Path
    ) -> tuple[Element, Elements, Path, tuple[int, int]]:
        """Return the model of an included file, which is searched for in this file's folder and the two above it."""
        uri = elements.word(element, "uri")
        if not uri:
            raise elements.error("<include> has no <uri>", element)
        path = uri.split("://", 1)[1] if "://" in uri else uri
        if uri.startswith(("http://", "https://")) or Path(path).is_absolute():
            raise elements.error(f"{uri!r} is not in the folder of the file, and only such files are included", element)
        places = [base / path for base in (folder, folder.parent, folder.parent.parent)]
        for place in places:
            for file in (place / "model.sdf", place) if place.is_dir() else (place,):
                if file.is_file():
                    if file not in self.files:
                        self.files[file] = _one_model(file)
                    model, version, size = self.files[file]
                    self._count(size, element, elements)
                    return model, Elements(str(file), self.report), file.parent, version
        looked = ", ".join(str(p) for p in places)
        raise elements.error(f"the included {uri!r} was not found; looked for it at {looked}", element)

    def _count(self, size: int, element: Element, elements: Elements) -> None:
        """Count an included model, and refuse too many."""
        self.included, self.elements_included = self.included + 1, self.elements_included + size
        for count, most, what in (
            (self.included, MOST_INCLUDED, "models"), (self.elements_included, MOST_ELEMENTS, "elements"),
        ):  # fmt: skip
            if count > most:
                raise elements.error(
                    f"<include> brings more than {most} {what}: included files include others, several times each. "
                    "Include only what is needed",
                    element,
                )

    # Links

    def _read_links(self, instance: _Instance) -> None:
        builder = self._builder()
        for link in instance.element.all("link"):
            elements, name = instance.elements, instance.prefix + instance.elements.name(link)
            elements.check(link)
            with builder.reading(elements.file), builder.at(link.line):
                builder.add_body(name, self._inertial(link, name, elements))
                if instance.static:
                    builder.add_joint(f"{name}_in_world", WORLD, name, Fixed(), self.frames.pose(name))
            with builder.reading(elements.file):
                for collision in link.all("collision"):
                    read_shape(elements, collision, name, builder)
            for tag, usual in (("gravity", True), ("kinematic", False), ("enable_wind", False)):
                if elements.truth(link, tag, usual) != usual:
                    self.report(f"link {name!r}: <{tag}> is not read", link.line)
            decay = elements.only(link, "velocity_decay")
            if decay is not None and any(elements.number(decay, tag, 0.0) for tag in ("linear", "angular")):
                self.report(f"link {name!r}: <velocity_decay> is not read", decay.line)

    def _inertial(self, link: Element, name: str, elements: Elements) -> MassProperties:
        inertial = elements.only(link, "inertial")
        if inertial is None:
            self.report(
                f"link {name!r} has no <inertial>: taken as 1 kg with moments of 1 kg m², as SDF prescribes", link.line
            )
            return MassProperties.of(1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
        elements.check(inertial)
        if inertial.attributes.get("auto", "").lower() in ("true", "1"):
            self.report(
                f"link {name!r}: <inertial auto> is not computed from its collisions; the written values are used",
                inertial.line,
            )
        if elements.only(inertial, "fluid_added_mass") is not None:
            self.report(f"link {name!r}: <fluid_added_mass> is not read", inertial.line)
        inertia, pose = elements.only(inertial, "inertia"), elements.only(inertial, "pose")
        moments = [
            elements.number(inertia, tag, 1.0 if tag[1] == tag[2] else 0.0)
            for tag in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        ]
        if elements.relative_to(pose):
            self.report(f"link {name!r}: the frame of its inertial's <pose> is not read", inertial.line)
        origin = elements.pose(pose)
        axes = None if origin.nine == Pose().nine else origin
        return MassProperties.of(elements.number(inertial, "mass", 1.0), origin.translation, moments, axes=axes)

    # Joints

    def _read_joints(self, owner: Element, instance: _Instance) -> None:
        builder = self._builder()
        for joint in owner.all("joint"):
            elements = instance.elements
            if owner.tag == "world":
                self._joint_frame(joint, "", elements)
                self._settle([joint], "", elements)
            name = instance.prefix + self._joint_name(joint, instance.prefix, elements)
            with builder.reading(elements.file), builder.at(joint.line):
                self._read_joint(joint, name, instance)

    def _read_joint(self, joint: Element, name: str, instance: _Instance) -> None:
        elements = instance.elements
        elements.check(joint)
        word = joint.attributes.get("type", "")
        if word not in TYPES:
            raise elements.error(f"joint {name!r}: {UnknownNameError('joint type', word, TYPES)}", joint)
        parent, child = (self._end(joint, tag, name, instance) for tag in ("parent", "child"))
        if parent == child:
            raise elements.error(f"joint {name!r} joins link {child!r} to itself", joint)
        if word == "gearbox":
            self.gearboxes.append((joint, name, parent, child, instance))
            return
        placement, seat = self._sides(name, parent, child)
        axes = [self._axis(joint, tag, name, instance) for tag in ("axis", "axis2")]
        if word in ("fixed", "ball", "screw", "universal", "revolute2"):
            kind: JointKind | None = self._kind_without_axis(joint, word, name, elements)
        if word in ("universal", "revolute2"):
            self._add_two(joint, name, parent, child, placement, seat, axes, instance)
            return
        if word == "screw":
            kind = Helical(axes[0], self._pitch(joint, name, elements))
        elif word == "prismatic":
            kind = Prismatic(axes[0])
        elif word in ("revolute", "continuous"):
            kind = (Continuous if word == "continuous" else Revolute)(axes[0])
        assert kind is not None
        data = self._data(joint, "axis", name, kind, instance) if kind.nv == 1 else {}
        self._builder().joint(name, parent, child, kind, placement, seat=seat, **data)

    def _kind_without_axis(self, joint: Element, word: str, name: str, elements: Elements) -> JointKind | None:
        if word not in ("fixed", "ball"):
            return None
        axis = elements.only(joint, "axis")
        for tag in ("dynamics", "limit"):
            part = None if axis is None else elements.only(axis, tag)
            if part is not None and word == "ball":
                self.report(f"joint {name!r}: <{tag}> of a ball joint's <axis> is not read", part.line)
        return Fixed() if word == "fixed" else Spherical()

    def _end(self, joint: Element, tag: str, name: str, instance: _Instance) -> str:
        """Return the link at one end of a joint; the element may name a frame on it."""
        elements = instance.elements
        word = elements.word(joint, tag)
        if not word:
            raise elements.error(f"joint {name!r} has no <{tag}>", joint)
        found = self.frames.find(word, instance.prefix, joint, f"the <{tag}> of joint {name!r}")
        return self.frames.link_of(found)

    def _sides(self, name: str, parent: str, child: str) -> tuple[Pose, Pose]:
        """Return the poses of a joint on its parent and on its child, with all joints at zero."""
        return self.frames.between(parent, name) if parent != WORLD else self.frames.pose(name), (
            self.frames.between(child, name) if child != WORLD else self.frames.pose(name)
        )

    def _axis(self, joint: Element, tag: str, name: str, instance: _Instance) -> tuple[float, float, float]:
        """Return a joint's axis in the joint's own frame."""
        elements = instance.elements
        axis = elements.only(joint, tag)
        xyz = None if axis is None else elements.only(axis, "xyz")
        if axis is not None:
            elements.check(axis, "axis")
        given = (0.0, 0.0, 1.0) if xyz is None else tuple(elements.numbers(xyz, 3, infinite=False))
        if not any(given):
            raise elements.error(f"joint {name!r}: the axis has zero length", xyz or joint)
        largest = max(map(abs, given))
        if not 1e-9 < largest < 1e9:  # squares of such numbers may overflow
            given = tuple(c / largest for c in given)
        seen = self._axis_frame(axis, xyz, name, instance)
        turn = self.frames.between(name, seen).rotation if seen != name else np.eye(3)
        x, y, z = (float(c) for c in turn @ np.array(given))
        return x, y, z

    def _axis_frame(self, axis: Element | None, xyz: Element | None, name: str, instance: _Instance) -> str:
        """Return the frame of an axis: that of the joint or, before 1.5 or if the file says so, that of the model."""
        word = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
        if word:
            return self.frames.find(word, instance.prefix, xyz or instance.element, f"joint {name!r}, expressed_in")
        told = axis is not None and instance.elements.only(axis, "use_parent_model_frame") is not None
        by_model = instance.elements.truth(axis, "use_parent_model_frame") if told and axis is not None else (
            instance.version < (1, 5)
        )  # fmt: skip
        return f"{instance.prefix}{MODEL}" if by_model else name

    def _add_two(
        self, joint: Element, name: str, parent: str, child: str, placement: Pose, seat: Pose,
        axes: list[tuple[float, float, float]], instance: _Instance,
    ) -> None:  # fmt: skip
        """Add hinges about an axis on the parent and one on the child; a universal joint if these are perpendicular."""
        builder = self._builder()
        first, second = (np.array(axis) / np.linalg.norm(axis) for axis in axes)
        if abs(first @ second) < PERPENDICULAR:
            pins = Pose.of(rotation=np.column_stack([first, second, np.cross(first, second)]))
            both = [self._data(joint, tag, name, Revolute(), instance) for tag in ("axis", "axis2")]
            if any(own.pop("mimic", None) for own in both):
                self.report(f"joint {name!r}: <mimic> of a joint of two freedoms is not read", joint.line)
            usual: dict[str, Any] = {"actuated": True} | {key: row.default or 0.0 for key, row in FIELDS.items()}
            keys = dict.fromkeys([*both[0], *both[1]])
            data: dict[str, Any] = {key: [d.get(key, usual[key]) for d in both] for key in keys}
            driven = any(data.pop("actuated", [True]))
            if not any(data.get("stiffness", [])):
                data.pop("spring_rest", None)
            builder.joint(
                name, parent, child, Universal("XY"), placement @ pins, seat=seat @ pins, actuated=driven, **data
            )
            return
        between = f"{name}_between"
        builder.add_body(between)
        self.frames.links.add(between)
        own = self._data(joint, "axis", name, Revolute(), instance)
        builder.joint(f"{name}_1", parent, between, Revolute(axes[0]), placement, **own)
        own = self._data(joint, "axis2", name, Revolute(), instance)
        builder.joint(f"{name}_2", between, child, Revolute(axes[1]), Pose(), seat=seat, **own)

    def _pitch(self, joint: Element, name: str, elements: Elements) -> float:
        """Return the advance of a screw, meters per radian.

        ``screw_thread_pitch`` is in meters per turn, right-handed; the older ``thread_pitch`` in radians per meter,
        left-handed.
        """
        if elements.only(joint, "screw_thread_pitch") is not None:
            return elements.number(joint, "screw_thread_pitch", 1.0) / (2 * math.pi)
        old = elements.number(joint, "thread_pitch", 1.0)
        if old == 0.0:
            raise elements.error(f"joint {name!r}: <thread_pitch> is radians per meter and cannot be zero", joint)
        return -1.0 / old

    def _data(self, joint: Element, tag: str, name: str, kind: JointKind, instance: _Instance) -> dict[str, Any]:
        """Return limits, friction, the spring and the mimic relation of a joint."""
        elements = instance.elements
        axis = elements.only(joint, tag)
        if axis is None:
            return {}
        data: dict[str, Any] = {}
        limit, dynamics = elements.only(axis, "limit"), elements.only(axis, "dynamics")
        if limit is not None:
            elements.check(limit)
            lower, upper = elements.number(limit, "lower", -UNBOUNDED), elements.number(limit, "upper", UNBOUNDED)
            if not isinstance(kind, Continuous):
                data["lower"] = -math.inf if lower <= -UNBOUNDED else lower
                data["upper"] = math.inf if upper >= UNBOUNDED else upper
            elif any(x and abs(x) < UNBOUNDED for x in (lower, upper)):
                self.report(
                    f"joint {name!r}: position limits of a continuous joint are not read. A hinge with stops is of "
                    "type revolute",
                    limit.line,
                )
            for word, row in words_of("sdf", limits=True).items():
                value = elements.number(limit, word, -1.0) if row.per == "v" else -1.0
                if 0.0 <= value < UNBOUNDED:
                    data[row.name] = value
            if data.get("effort_limit") == 0.0:  # a motor without force is not a motor
                data["actuated"] = False
                del data["effort_limit"]
        if dynamics is not None:
            elements.check(dynamics)
            for word, row in words_of("sdf").items():
                if not row.of or row.of in data:
                    value = elements.number(dynamics, word, 0.0)
                    data |= {row.name: value} if value or not row.sparse else {}
        mimic = elements.only(axis, "mimic")
        if mimic is not None:
            data["mimic"] = self._mimic(mimic, name, instance)
        return data

    def _mimic(self, element: Element, name: str, instance: _Instance) -> Mimic:
        """Return position = multiplier (leader - reference) + offset."""
        elements = instance.elements
        leader = element.attributes.get("joint", "")
        if not leader:
            raise elements.error(f"joint {name!r}: <mimic> does not name a joint", element)
        if element.attributes.get("axis", "axis") != "axis":
            raise elements.error(
                f"joint {name!r} mimics the second axis of {leader!r}, which is not supported", element
            )
        multiplier = elements.number(element, "multiplier", 1.0)
        offset = elements.number(element, "offset", 0.0) - multiplier * elements.number(element, "reference", 0.0)
        return Mimic(instance.prefix + leader, multiplier, offset)

    # Gearboxes

    def _read_gearboxes(self) -> None:
        """Couple the angles of two links relative to a body: the child's is -ratio times the parent's."""
        builder = self._builder()
        for joint, name, parent, child, instance in self.gearboxes:
            elements = instance.elements
            word = elements.word(joint, "gearbox_reference_body")
            if not word:
                raise elements.error(f"gearbox {name!r} has no <gearbox_reference_body>", joint)
            found = self.frames.find(word, instance.prefix, joint, f"the reference body of gearbox {name!r}")
            body = self.frames.link_of(found)
            ratio = elements.number(joint, "gearbox_ratio", 1.0)
            terms: dict[str, float] = {}
            for tag, link, factor in (("axis", parent, ratio), ("axis2", child, 1.0)):
                turned = self._turn_about(
                    body, link, self.frames.pose(name).rotation @ self._axis(joint, tag, name, instance)
                )
                if turned is None:
                    self.report(
                        f"gearbox {name!r} is not read: no hinge about its <{tag}> joins {link!r} to the reference "
                        f"body {body!r}",
                        joint.line,
                    )
                    break
                terms[turned[0]] = terms.get(turned[0], 0.0) + factor * turned[1]
            else:
                with builder.reading(elements.file), builder.at(joint.line):
                    builder.coupling(name, terms)

    def _turn_about(self, body: str, link: str, axis: np.ndarray) -> tuple[str, float] | None:
        """Return the hinge between a body and a link, and its sign about an axis in the world."""
        for draft in self._builder().drafts:
            if {draft.parent, draft.child} == {body, link} and isinstance(draft.kind, (Revolute, Continuous)):
                own = self.frames.pose(draft.parent).rotation @ draft.placement.rotation @ np.array(draft.kind.axis)
                cosine = float(own @ axis / np.linalg.norm(axis))
                if abs(abs(cosine) - 1.0) < 1e-6:
                    return draft.name, math.copysign(1.0, cosine) * (1.0 if draft.parent == body else -1.0)
        return None

    # What it stands on

    def _read_frames(self) -> None:
        """Name the frames of the file that are on links."""
        builder = self._builder()
        for name, place in self.frames.places.items():
            if place.element.tag == "frame":
                link = self.frames.link_of(name)
                with builder.at(place.element.line):
                    pose = self.frames.pose(name) if link == WORLD else self.frames.between(link, name)
                    builder.frame(name, link, pose=pose)

    def _stand(self, alone: bool) -> None:
        """Connect bodies that have no connection to the world: fixed if it is the only model, otherwise free."""
        builder, floats = self._builder(), self.options.floating_base
        groups = _components(builder.drafts, builder.body_names)
        held = next(group for group in groups if WORLD in group)
        loose = [group for group in groups if group is not held]
        if floats and (not alone or not loose or len(held) > 1):
            raise builder.error(
                Message(Setting("floating_base", True), ", but the file itself defines what is fixed and what floats"),
                None,
            )
        start: dict[str, Any] = {}
        for group in loose:
            children = {draft.child for draft in builder.drafts}
            canonical = [self.frames.link_of(n) for n in self.frames.places if n.endswith(MODEL)]
            roots = [b for b in group if b not in children] or [b for b in canonical if b in group] or group
            root, pose = roots[0], self.frames.pose(roots[0])
            first = group is loose[0] and alone
            if first and not floats:
                builder.add_joint(f"{root}_in_world", WORLD, root, Fixed(), pose)
                continue
            name = "floating_base" if first else f"{root}_free"
            builder.add_joint(name, WORLD, root, Free(), actuated=False)
            start[name] = [*_quaternion(pose.rotation), *pose.translation]
        if any(x[:3] != [0.0, 0.0, 0.0] or any(x[4:]) for x in start.values()):
            builder.configuration("as_drawn", start)

    def _choose_cuts(self) -> None:
        """Cut loops at joints without friction or spring, as if none had a motor: SDF does not say which have one."""
        builder = self._builder()
        drafts = builder.drafts
        if len(drafts) < len(builder.body_names) or builder.cuts is not None or self.options.rule is not None:
            return
        unmotored = [replace(d, data=d.data | {"actuated": False}) for d in drafts]
        with builder.at(None):
            spanned = span(WORLD, builder.body_names, unmotored, None, None, builder.why_coupled())
        builder.cuts = [draft.name for draft in spanned.cuts]
        for name in builder.cuts:
            builder.make_passive(name)

    def _builder(self) -> FileBuilder:
        assert self.builder is not None
        return self.builder


def _one_model(file: Path) -> tuple[Element, tuple[int, int], int]:
    """Return the model of an included file, its version of SDF, and its number of elements."""
    root = _parsed(whole_content(file, "included file"), str(file))
    version, models = _version(root, str(file)), list(root.all("model"))
    if len(models) != 1:
        raise FileFormatError("an included file needs exactly one <model>", str(file), root.line)
    return models[0], version, sum(1 for _ in root.within())


def _parsed(data: bytes, file: str) -> Element:
    root = xml.parse(data, file, CLOSED, texts=True)
    if root.tag != "sdf":
        raise FileFormatError(f"the root element is <{root.tag}>, but an SDF file has <sdf>", file, root.line)
    return root


def _version(root: Element, file: str) -> tuple[int, int]:
    word = root.attributes.get("version", "")
    if word not in VERSIONS:
        raise FileFormatError(
            f"version {word!r} of SDF is not supported, only 1.4 to {VERSIONS[-1]}", file, root.line
        )  # fmt: skip
    major, minor = word.split(".")
    return int(major), int(minor)


def _components(drafts: list[Draft], bodies: list[str]) -> list[list[str]]:
    """Return groups of connected bodies, in the order of the file."""
    group = {body: body for body in bodies}

    def top(body: str) -> str:
        while group[body] != body:
            group[body] = group[group[body]]
            body = group[body]
        return body

    for draft in drafts:
        group[top(draft.child)] = top(draft.parent)
    found: dict[str, list[str]] = {}
    for body in bodies:
        found.setdefault(top(body), []).append(body)
    return list(found.values())


def _quaternion(rotation: np.ndarray) -> list[float]:
    """Return the quaternion x, y, z, w of a rotation matrix, by its largest component."""
    m = rotation
    squares = [m[0, 0], m[1, 1], m[2, 2], np.trace(m)]
    k = int(np.argmax(squares))
    if k == 3:
        q = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1.0 + np.trace(m)])
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        q = np.zeros(4)
        q[k], q[i], q[j] = 1.0 + m[k, k] - m[i, i] - m[j, j], m[i, k] + m[k, i], m[j, k] + m[k, j]
        q[3] = m[j, i] - m[i, j]
    q /= np.linalg.norm(q)
    return [float(x) + 0.0 for x in q]
