"""kinetree's own format: YAML that can express every model.

A model that is written and read back is equal to the original to the last bit.  The format is described by
``kinetree.schema.json`` in this folder, and by example in the documentation.  Scalars follow YAML 1.2: ``1e-5`` is a
number, ``no`` is text, and quoted numbers are text.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from ...errors import UnknownNameError, UnsupportedError
from ..joint_fields import FIELDS, LIMITS, Mimic
from ..joints import KINDS, JointKind, Reversed, reverse
from ..linkages.drawing import GROUND, drawing_of
from ..mass import MassProperties
from ..pose import Pose, roll_pitch_yaw
from ..tree import BASE, Body, Frame, Joint, Load, Loop, Model
from . import yaml_dh, yaml_drives, yaml_linkage, yaml_shapes
from .source import FileBuilder, Options, Source
from .yaml_linkage import read_linkage
from .yaml_nodes import Items, Node, NodeReader, Scalar, Table, nodes

VERSION = 1
TOP_KEYS = (
    "kinetree", "name", "gravity", "base", "linkage", "table", "bodies", "joints", "frames", "loops", "cuts",
    "couplings", "tendons", "actuators", "configurations", "loads", "motion", "shapes", "excluded_contacts",
    "allowed_contacts",
)  # fmt: skip
SIDE_KEYS = ("kinetree", "loops", "cuts", "passive", "couplings")
MASS_KEYS = ("mass", "com", "inertia", "inertia_about", "inertia_axes")
BODY_KEYS = ("name", "parent", "joint", "placement", *MASS_KEYS)
POSE_KEYS = ("position", "rpy", "quaternion", "rotation")
JOINT_KEYS = ("name", "kind", "reversed", *FIELDS, "actuated", "mimic")
ENDS_KEYS = ("name", "parent", "child", "placement", "seat")
LOOP_KEYS = ("name", "kind", "reversed", "predecessor", "successor", "placement", "seat", *FIELDS, "actuated")
WITHOUT_WORD = ("custom", "reversed")
"""Kinds of joints that files cannot name: those made of a user's functions, and reversed ones."""
MIMIC_KEYS = ("leader", "ratio", "offset")
FRAME_KEYS = ("name", "body", "placement")


def schema() -> str:
    """Return the JSON schema of the format, as text."""
    return resources.files(__package__).joinpath("kinetree.schema.json").read_text(encoding="utf-8")


def read(source: Source, options: Options) -> Model:
    """Read a kinetree YAML file."""
    return _YamlReader(source).robot(source, options)


@dataclass(frozen=True)
class SideFile:
    """A file with loops for a robot that another file describes."""

    source: Source

    def __call__(self, builder: FileBuilder) -> None:
        """Add the loops to the robot."""
        _YamlReader(self.source).loops(builder)


# From nodes to a model


class _YamlReader(NodeReader):
    """Goes through the nodes of one file and passes them to the builder."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.file)
        root = nodes(source)
        if not isinstance(root, Table) or "kinetree" not in root.entries:
            raise self.error(f"this is not a kinetree robot: the file must begin with 'kinetree: {VERSION}'", root)
        version = self.number(root.entries["kinetree"], "the version of the format")
        if version != VERSION:
            raise self.error(
                f"the file is in version {version:g} of the format, but only version {VERSION} is understood",
                root.entries["kinetree"],
            )
        self.root = root
        self.top: dict[str, Node] = {}
        self.builder: FileBuilder

    def robot(self, source: Source, options: Options) -> Model:
        """Read a whole robot."""
        self.top = self.fields(self.root, "the robot", TOP_KEYS)
        name = self.text(self.top["name"], "name") if "name" in self.top else source.path.stem
        drawn = read_linkage(self, self.top["linkage"], name) if "linkage" in self.top else None
        usual = (0.0, 0.0, -9.81) if drawn is None else (*drawn.gravity, 0.0)
        gravity = self.numbers(self.top["gravity"], "gravity", 3) if "gravity" in self.top else usual
        self.builder = FileBuilder(source, name, options, gravity=gravity)
        self.read_base("base" if drawn is None else GROUND)
        bodies, table = self.listed("bodies"), None
        if drawn is not None:
            with self.builder.at(self.top["linkage"].line):
                drawn.fill(self.builder)
            if self.builder.cuts is None and options.rule is None:
                self.builder.cuts = drawn.cuts
        elif "table" in self.top:
            table = yaml_dh.read_table(self, self.top["table"], self.builder.base)
        elif not bodies and self.builder.is_massless:
            raise self.error(f"robot {self.builder.name!r} is empty: the file has no bodies", self.root)
        for node in bodies:
            self.read_body(node)
        for node in self.listed("joints"):
            self.read_joint(node)
        for node in self.listed("frames"):
            self.read_frame(node)
        self.read_loops()
        self.read_couplings()
        for node in self.listed("tendons"):
            yaml_drives.read_tendon(self, node)
        for node in self.listed("actuators"):
            yaml_drives.read_actuator(self, node)
        self.read_configurations()
        for node in self.listed("shapes"):
            yaml_shapes.read_shape(self, node)
        for node in self.listed("excluded_contacts"):
            yaml_shapes.read_pair(self, node, self.builder.exclude_contact, "an excluded contact")
        for node in self.listed("allowed_contacts"):
            yaml_shapes.read_pair(self, node, self.builder.allow_contact, "an allowed contact")
        graph = drawn is not None or "joints" in self.top
        floats = options.floating_base or (table is not None and table.floating_base)
        model = replace(self.builder.finish(floating_base=floats, graph=graph), drawing=drawn)
        if table is not None:
            model = replace(model, table=replace(table, floating_base=floats, made=model))
        model = replace(model, motion_of=self.read_motion_of()) if "motion" in self.top else model
        return replace(model, loads=self.read_loads(model)) if "loads" in self.top else model

    def read_motion_of(self) -> str:
        """Return the system whose motion the robot comes with."""
        fields = self.fields(self.top["motion"], "motion", ("kind", "of"), required=("kind", "of"))
        if self.text(fields["kind"], "kind of motion") != "gallery":
            raise self.error("a robot comes with a motion of the gallery; studies have others", fields["kind"])
        return self.text(fields["of"], "of")

    def loops(self, builder: FileBuilder) -> None:
        """Add the loops of a side file."""
        self.builder = builder
        self.top = self.fields(self.root, "a file with loops", SIDE_KEYS)
        if "loops" not in self.top and "couplings" not in self.top:
            raise self.error("a file with loops needs 'loops', or 'couplings' of joints", self.root)
        with builder.reading(self.file):
            for item in self.listed("passive"):
                with builder.at(item.line):
                    builder.make_passive(self.text(item, "name of a passive joint"))
            self.read_loops()
            self.read_couplings()

    def read_couplings(self) -> None:
        for node in self.listed("couplings"):
            yaml_drives.read_coupling(self, node)

    def read_configurations(self) -> None:
        node = self.top.get("configurations", Table(0, {}, {}))
        if not isinstance(node, Table):
            raise self.error("configurations must be a mapping from names to positions of joints", node)
        for name, positions in node.entries.items():
            with self.builder.at(node.lines[name]):
                known = self.fields(positions, f"configuration {name!r}", self.builder.joints_and_loops)
                found = {j: self.per_freedom(x, f"position of {j!r}", infinite=False) for j, x in known.items()}
                self.builder.configuration(name, {j: x for j, x in found.items() if x is not None})

    def read_loads(self, model: Model) -> tuple[Load, ...]:
        known = self.fields(self.top["loads"], "loads", list(model.frame_table))
        found = {body: self.numbers(node, f"the wrench on {body!r}", 6) for body, node in known.items()}
        return tuple(Load(body, tuple(six)) for body, six in found.items())

    def listed(self, key: str) -> list[Node]:
        return self.items(self.top[key], key) if key in self.top else []

    def read_base(self, usual: str) -> None:
        node = self.top.get("base")
        mass = None
        if node is None or isinstance(node, Scalar):
            name = usual if node is None else self.text(node, "base")
        else:
            fields = self.fields(node, "base", ("name", *MASS_KEYS), required=("name",))
            name = self.text(fields["name"], "name of the base")
            with self.builder.at(node.line):
                mass = self.mass_properties(fields)
        with self.builder.at(None if node is None else node.line):
            self.builder.add_body(name, mass)
        self.builder.hold(name)

    def read_body(self, node: Node) -> None:
        required = ["name", "parent", "joint"]
        fields = self.fields(node, "a body", BODY_KEYS, required[:1])
        joined = any(key in fields for key in ("parent", "joint", "placement"))
        if joined or "joints" not in self.top:
            self.fields(node, "a body", BODY_KEYS, required)
        name = self.text(fields["name"], "name of a body")
        if not joined:
            with self.builder.at(node.line):
                self.builder.add_body(name, self.mass_properties(fields))
            return
        parent = self.text(fields["parent"], f"parent of body {name!r}")
        joint_name, kind, data = self.joint(fields["joint"], name)
        with self.builder.at(node.line):
            self.builder.add_body(name, self.mass_properties(fields))
        with self.builder.at(fields["joint"].line):
            self.builder.add_joint(joint_name, parent, name, kind, self.placement(fields), **data)
            self.builder.doubt_limits(joint_name, kind, data)

    def read_joint(self, node: Node) -> None:
        """Read a joint between any two bodies."""
        kind, fields = self.kind(node, "a joint", "joint", (*ENDS_KEYS, *JOINT_KEYS), ENDS_KEYS[:3])
        name, parent, child = (self.text(fields[key], f"{key} of a joint") for key in ENDS_KEYS[:3])
        seat = self.pose(fields["seat"], POSE_KEYS) if "seat" in fields else None
        placement, data = self.placement(fields), self.joint_data(fields, name)
        with self.builder.at(node.line):
            self.builder.joint(name, parent, child, kind, placement, seat=seat, **data)

    def read_loops(self) -> None:
        for node in self.listed("loops"):
            self.read_loop(node)
        if "cuts" in self.top and self.builder.cuts is None and self.builder.options.rule is None:
            known = {name: name for name in self.builder.joints_and_loops}
            self.builder.cuts = [self.text(item, "name of a joint to cut") for item in self.listed("cuts")]
            for item, name in zip(self.listed("cuts"), self.builder.cuts, strict=True):
                if name not in known:
                    raise self.error(str(UnknownNameError("joint to cut", name, known)), item)

    def read_loop(self, node: Node) -> None:
        """Read a joint that closes a loop."""
        kind, fields = self.kind(node, "a loop", "loop", LOOP_KEYS, ("name", "predecessor", "successor"))
        name = self.text(fields["name"], "name of a loop")
        first, second = (self.text(fields[key], f"{key} of loop {name!r}") for key in ("predecessor", "successor"))
        seat = self.pose(fields["seat"], POSE_KEYS) if "seat" in fields else None
        placement, data = self.placement(fields), self.joint_data(fields, name)
        with self.builder.at(node.line):
            self.builder.loop(name, first, second, kind, placement=placement, seat=seat, **data)

    def read_frame(self, node: Node) -> None:
        fields = self.fields(node, "a frame", FRAME_KEYS, required=("name", "body"))
        name, body = self.text(fields["name"], "name of a frame"), self.text(fields["body"], "body of a frame")
        pose = self.placement(fields)
        with self.builder.at(node.line):
            self.builder.frame(name, body, pose=pose)

    def joint(self, node: Node, body: str) -> tuple[str, JointKind, dict[str, Any]]:
        if isinstance(node, Scalar):  # short for a mapping with only the kind
            node = Table(node.line, {"kind": node}, {"kind": node.line})
        kind, fields = self.kind(node, f"the joint of body {body!r}", "joint", JOINT_KEYS)
        name = self.text(fields["name"], "name of a joint") if "name" in fields else f"{body}_joint"
        return name, kind, self.joint_data(fields, name)

    def kind(
        self, node: Node, which: str, noun: str, keys: Sequence[str], required: Sequence[str] = ()
    ) -> tuple[JointKind, dict[str, Node]]:
        """Return the kind of a joint with its parameters, and all its fields."""
        if not isinstance(node, Table) or "kind" not in node.entries:
            raise self.error(f"{which} needs a kind, such as 'kind: revolute'", node)
        word = self.text(node.entries["kind"], "kind of a joint")
        if word not in KINDS or word in WITHOUT_WORD:
            known = [name for name in KINDS if name not in WITHOUT_WORD]
            raise self.error(f"{UnknownNameError('kind of joint', word, known)}", node.entries["kind"])
        parameters = {f.name: f for f in dataclasses.fields(KINDS[word])}  # type: ignore[arg-type]
        fields = self.fields(node, f"a {word} {noun}", (*keys, *parameters), required)
        with self.builder.at(node.line):
            arguments = {key: self.parameter(fields[key], key, f) for key, f in parameters.items() if key in fields}
            kind = KINDS[word](**arguments)
        backwards = "reversed" in fields and self.boolean(fields["reversed"], "reversed")
        return reverse(kind) if backwards else kind, fields

    def joint_data(self, fields: dict[str, Node], name: str) -> dict[str, Any]:
        data: dict[str, Any] = {
            key: self.per_freedom(fields[key], f"{key} of joint {name!r}", infinite=row.infinite, measured=True)
            for key, row in FIELDS.items()
            if key in fields
        }
        if "actuated" in fields:
            data["actuated"] = self.boolean(fields["actuated"], f"actuated of joint {name!r}")
        if "mimic" in fields:
            data["mimic"] = self.mimic(fields["mimic"], name)
        return data

    def parameter(self, node: Node, key: str, field: dataclasses.Field[Any]) -> Any:
        """Return a parameter of a joint: a number if its default is one, otherwise a word or three numbers."""
        if isinstance(field.default, float):
            return self.number(node, key, measured=key == "length")
        return self.text(node, key) if isinstance(node, Scalar) else self.numbers(node, key, 3)

    def mimic(self, node: Node, joint: str) -> Mimic:
        fields = self.fields(node, f"mimic of joint {joint!r}", MIMIC_KEYS, required=("leader",))
        return Mimic(
            self.text(fields["leader"], "leader"),
            self.number(fields["ratio"], "ratio") if "ratio" in fields else 1.0,
            self.number(fields["offset"], "offset") if "offset" in fields else 0.0,
        )

    def mass_properties(self, fields: dict[str, Node]) -> MassProperties:
        mass = self.number(fields["mass"], "mass", measured=True) if "mass" in fields else 0.0
        com = self.numbers(fields["com"], "com", 3, measured=True) if "com" in fields else (0.0, 0.0, 0.0)
        inertia = self.inertia(fields["inertia"]) if "inertia" in fields else (0.0, 0.0, 0.0)
        about = self.text(fields["inertia_about"], "inertia_about") if "inertia_about" in fields else "com"
        axes = self.pose(fields["inertia_axes"], POSE_KEYS[1:]) if "inertia_axes" in fields else None
        return MassProperties.of(mass, com, inertia, about=about, axes=axes)

    def inertia(self, node: Node) -> Any:
        items = self.items(node, "inertia")
        if items and isinstance(items[0], Items):
            return self.matrix(node, "inertia")
        if len(items) not in (3, 6):
            raise self.error("inertia is [xx, yy, zz], [xx, yy, zz, xy, xz, yz] or a 3x3 matrix", node)
        return [self.number(item, "inertia") for item in items]

    def placement(self, fields: dict[str, Node]) -> Pose:
        return self.pose(fields["placement"], POSE_KEYS) if "placement" in fields else Pose()

    def pose(self, node: Node, known: Sequence[str]) -> Pose:
        fields = self.fields(node, "a placement" if "position" in known else "inertia_axes", known)
        readers: dict[str, Callable[[Node], Any]] = {
            "position": lambda n: self.numbers(n, "position", 3, measured=True),
            "rpy": lambda n: self.numbers(n, "rpy", 3, measured=True),
            "quaternion": self.quaternion,
            "rotation": lambda n: self.matrix(n, "rotation"),
        }
        values = {key: readers[key](value) for key, value in fields.items()}
        with self.builder.at(node.line):
            return Pose.of(values.pop("position", (0.0, 0.0, 0.0)), **values)

    def quaternion(self, node: Node) -> list[float]:
        q = self.numbers(node, "quaternion", 4)
        if abs(math.hypot(*q) - 1.0) > 1e-6:
            raise self.error(f"the quaternion {q} has length {math.hypot(*q):.9g}, not 1", node)
        return q


# Writing


def write(model: Model) -> str:
    """Return the model as a YAML document that :func:`read` turns into an equal model.

    Raises
    ------
    UnsupportedError
        If a joint is made of a user's own functions.
    """
    first = [f"kinetree: {VERSION}", f"name: {quoted_word(model.name)}"]
    drawn = drawing_of(model)
    if drawn is not None:
        title = "# A planar linkage in kinetree's format, as it is drawn; see docs/file-formats.md"
        return "\n".join([title, *first, "linkage:", *_indented(yaml_linkage.written(drawn, exact_number))]) + "\n"
    lines = [
        "# A robot in kinetree's format: SI units, radians; see docs/file-formats.md",
        *first,
        f"gravity: {_list(model.gravity)}",
    ]
    names = {BASE: model.base.name} | {i: body.name for i, body in enumerate(model.bodies)}
    table, frames = yaml_dh.table_of(model) or (None, model.frames)
    if table is not None:
        lines += _base(model.bodies[model.roots[0]] if table.floating_base else model.base)
        lines += ["table:", *_indented(yaml_dh.written(table, exact_number, quoted_word))]
    else:
        lines += [yaml_dh.NO_TABLE] if model.table is not None else []
        lines += [*_base(model.base), "bodies:" if model.bodies else "bodies: []"]
        for joint, body in zip(model.joints, model.bodies, strict=True):
            lines += _item([f"name: {quoted_word(body.name)}", *_carried(joint, names), *_mass(body)])
    if frames:
        lines.append("frames:")
    for frame in frames:
        lines += _item(_frame(frame, names))
    if model.loops and table is None:
        lines.append("loops:")
        for loop in model.loops:
            lines += _item(_loop(loop, names))
    lines += yaml_drives.written(model, names)
    lines += ["shapes:"] if model.shapes else []
    for own in yaml_shapes.written(model, quoted_word, _list, exact_number, _placement):
        lines += _item(own)
    for key, pairs in (("excluded", model.contact_exclusions), ("allowed", model.contact_inclusions)):
        lines += [f"{key}_contacts:"] if pairs else []
        lines += [f"  - [{quoted_word(one)}, {quoted_word(two)}]" for one, two in pairs]
    if model.configurations:
        lines.append("configurations:")
    for found in model.configurations:
        lines += [f"  {_key(found.name, 2)}" if found.positions else f"  {_key(found.name, 2)} {{}}"]
        lines += [f"    {_key(joint, 4)} {_list(position)}" for joint, position in found.positions]
    lines += [f"motion: {{kind: gallery, of: {quoted_word(model.motion_of)}}}"] if model.motion_of else []
    lines += ["loads:"] if model.loads else []
    lines += [f"  {_key(load.body, 2)} {_list([float(x) for x in load.six])}" for load in model.loads]
    return "\n".join(lines) + "\n"


def _base(base: Body) -> list[str]:
    mass = _mass(base)
    if not mass:
        return [f"base: {quoted_word(base.name)}"]
    return ["base:", *_indented([f"name: {quoted_word(base.name)}", *mass])]


def _carried(joint: Joint, names: dict[int, str]) -> list[str]:
    return [
        f"parent: {quoted_word(names[joint.parent])}",
        "joint:",
        *_indented(_joint(joint)),
        *_placement(joint.placement),
    ]


def _joint(joint: Joint) -> list[str]:
    lines = [f"name: {quoted_word(joint.name)}", *_kind(joint.kind, joint.name), *_per_freedoms(joint, FIELDS)]
    if joint.actuated != joint.kind.usually_driven:
        lines.append(f"actuated: {str(joint.actuated).lower()}")
    if joint.mimic:
        leader, ratio, offset = quoted_word(joint.mimic.leader), joint.mimic.ratio, joint.mimic.offset
        lines.append(f"mimic: {{leader: {leader}, ratio: {exact_number(ratio)}, offset: {exact_number(offset)}}}")
    return lines


def _loop(loop: Loop, names: dict[int, str]) -> list[str]:
    return [
        f"name: {quoted_word(loop.name)}",
        *_kind(loop.kind, loop.name),
        f"predecessor: {quoted_word(names[loop.predecessor])}",
        f"successor: {quoted_word(names[loop.successor])}",
        *_placement(loop.placement),
        *_placement(loop.seat, "seat"),
        *_per_freedoms(loop, LIMITS),
    ]


def _per_freedoms(joint: Joint | Loop, keys: Iterable[str]) -> list[str]:
    found = {key: getattr(joint, key) for key in keys}
    return [
        f"{key}: {exact_number(values[0]) if len(set(values)) == 1 else _list(values)}"
        for key, values in found.items()
        if not FIELDS[key].is_usual(joint.kind, values)
    ]


def _kind(kind: JointKind, joint: str) -> list[str]:
    backwards = isinstance(kind, Reversed)
    own = kind.kind if isinstance(kind, Reversed) else kind
    parameters = own.parameters()
    if KINDS.get(own.name) is not type(own) or any(map(callable, parameters.values())):
        raise UnsupportedError(
            f"joint {joint!r} is a {own.name} joint made of your own functions or classes, which no file can "
            "contain: keep the code that builds it"
        )
    lines = [f"kind: {quoted_word(own.name)}", *(f"{key}: {_parameter(value)}" for key, value in parameters.items())]
    return [*lines, "reversed: true"] if backwards else lines


def _parameter(value: Any) -> str:
    if isinstance(value, float):
        return exact_number(value)
    if isinstance(value, str):
        return quoted_word(value)
    axis = tuple(value)
    for letter, unit in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        if axis == unit:
            return letter
        if axis == tuple(-u for u in unit):
            return f"-{letter}"
    return _list(axis)


def _placement(pose: Pose, word: str = "placement") -> list[str]:
    parts = []
    if any(pose.translation):
        parts.append(f"position: {_list(pose.translation)}")
    if pose.nine != Pose().nine:
        parts.append(_rotation(pose))
    return [f"{word}:", *_indented(parts)] if parts else []


def _rotation(pose: Pose) -> str:
    """Return three angles if they give exactly this rotation, otherwise its nine numbers."""
    angles = roll_pitch_yaw(pose)
    if Pose.of(rpy=angles).nine == pose.nine:
        return f"rpy: {_list(angles)}"
    rows = ", ".join(_list(pose.nine[i : i + 3]) for i in (0, 3, 6))
    return f"rotation: [{rows}]"


def _mass(body: Body) -> list[str]:
    properties = body.mass_properties
    properties.require_writable(body.name)
    lines = []
    if properties.mass:
        lines.append(f"mass: {exact_number(properties.mass)}")
    if any(properties.com):
        lines.append(f"com: {_list(properties.com)}")
    if any(properties.inertia):
        inertia = properties.inertia if any(properties.inertia[3:]) else properties.inertia[:3]
        lines.append(f"inertia: {_list(inertia)}")
    return lines


def _frame(frame: Frame, names: dict[int, str]) -> list[str]:
    return [f"name: {quoted_word(frame.name)}", f"body: {quoted_word(names[frame.body])}", *_placement(frame.pose)]


def _item(lines: Sequence[str]) -> list[str]:
    """Return the lines of one item in a list of mappings."""
    return [f"  - {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(exact_number(x) for x in values)}]"


def exact_number(x: float) -> str:
    """Return the shortest text that both YAML 1.1 and 1.2 read as exactly this number."""
    if math.isinf(x):
        return "-.inf" if x < 0 else ".inf"
    text = repr(float(x)).removesuffix(".0")
    if "e" in text and "." not in text:  # YAML 1.1 needs a decimal point before the exponent
        text = text.replace("e", ".0e")
    return text


_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
_WORDS_OF_YAML = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def quoted_word(text: str) -> str:
    """Return text, quoted if some version of YAML would take it for something else."""
    if _SIMPLE.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return text
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _key(text: str, indent: int) -> str:
    """Return a name as a key with its colon; YAML needs a question mark before long keys."""
    word = quoted_word(text)
    return f"{word}:" if len(word) < yaml_drives.LONGEST_KEY else f"? {word}\n{' ' * indent}:"


def _escaped(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isprintable() or 0xD800 <= ord(c) < 0xE000:  # lone surrogates fail when they are encoded
        return c
    code = ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
