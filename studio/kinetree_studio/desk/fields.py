"""What cards and handles of the studio ask for: fields of bodies, joints, loops and springs, and where these are."""

from __future__ import annotations

import dataclasses
import math
from contextlib import suppress
from typing import Any

from kinetree.errors import ModelError
from kinetree.model.dh.rows import DHRow
from kinetree.model.formats.yaml import WITHOUT_WORD
from kinetree.model.joint_fields import FIELDS, LIMITS
from kinetree.model.joints import KINDS
from kinetree.model.linkages.reading import OF_BARS
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.model.shapes import ContactShape
from kinetree.model.tree import Model

from ..view.motion import quaternions

SOLIDS: dict[str, dict[str, Any]] = {
    "sphere": {"radius": 0.05}, "capsule": {"radius": 0.03, "length": 0.2}, "box": {"size": [0.2, 0.1, 0.05]},
    "cylinder": {"radius": 0.05, "length": 0.2}, "ellipsoid": {"radii": [0.1, 0.05, 0.05]}, "plane": {},
    "height_field": {"size": [1.0, 1.0], "heights": [[0.0, 0.05], [0.05, 0.0]]},
    "convex_hull": {"vertices": [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]},
}  # fmt: skip
"""Kinds of shapes that a card offers, with the sizes that a new one has; those of the last two are changed as text."""

SURFACE = ("friction", "restitution")
OF_SURFACE = {
    "friction": "", "restitution": "", "torsional_friction": "m", "rolling_friction": "m", "margin": "m", "group": "",
    "mask": "",
}  # fmt: skip
"""Numbers of a shape's surface, with their units."""

AXES = ("x", "y", "z", "-x", "-y", "-z")


def _field(at: str, label: str, form: str = "number", units: tuple[str, str] = ("", ""), **more: Any) -> dict[str, Any]:
    return {"at": at.split("/"), "label": label, "form": form, "units": list(units), **more}


def _vector(at: str, label: str, unit: str, help: str = "", **more: Any) -> dict[str, Any]:
    return _field(at, label, "vector", (unit, unit), help=help, **more)


def _joint_numbers(names: tuple[str, ...], before: str = "") -> list[dict[str, Any]]:
    rows = [FIELDS[name] for name in names]
    return [
        _field(
            before + row.name, row.said or row.name.replace("_", " "), units=row.units, help=row.help,
            usual=None if row.default in (float("inf"), float("-inf")) else row.default,
            infinite=row.infinite, more=row.name not in ("lower", "upper", "damping", "stiffness", "spring_rest"),
        )
        for row in rows
    ]  # fmt: skip


PLACEMENT = [
    _vector("placement/position", "position", "m", "Where it is on its parent."),
    _vector("placement/rpy", "turned by", "rad", "Roll, pitch and yaw: about the fixed x, then y, then z."),
]  # fmt: skip
INERTIA = "About the center of mass: xx, yy, zz, and if need be xy, xz, yz."
MASS = [
    _field("mass", "mass", units=("kg", "kg")),
    _vector("com", "center of mass", "m", "In the frame of the body."),
    _field("inertia", "inertia", "list", ("kg m^2", "kg m^2"), help=INERTIA),
]  # fmt: skip
KIND = _field("kind", "kind", "kind")
MOTOR = _field("actuated", "driven by a motor", "flag")


def _under(before: str, fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**own, "at": [before, *own["at"]]} for own in fields]


def fields() -> dict[str, Any]:
    """Return the fields of every card, and the kinds of joints with their parameters, as plain values.

    A field has ``at`` (where its value is, from the item on), ``label``, ``form`` (number, vector, list, word, kind,
    flag, body, joint, tendon, solid, or ends), ``units`` of a hinge and of a slide, ``usual`` (its value if none is
    given) and ``help``.
    """
    usual = {f.name: f.default for f in dataclasses.fields(ContactShape)}
    joint = [KIND, MOTOR, *_joint_numbers(tuple(FIELDS))]
    placed = [*PLACEMENT, _vector("seat/position", "seat", "m", "Where it is on the body that it carries.")]
    return {
        "robot": [_field("name", "name", "word"), _vector("gravity", "gravity", "m/s²", "Acceleration of free fall.")],
        "bodies": [*MASS, *_under("joint", joint), *PLACEMENT],
        "joints": [_field("parent", "parent", "body"), _field("child", "child", "body"), *joint, *placed],
        "loops": [
            _field("predecessor", "from body", "body"), _field("successor", "to body", "body"), KIND,
            *placed, *_joint_numbers(LIMITS),
        ],
        "frames": [_field("body", "body", "body"), *PLACEMENT],
        "tendons": [
            _field("stiffness", "stiffness", units=("N/m", "N/m")), _field("rest", "length at rest", units=("m", "m")),
            _field("damping", "damping", units=("N s/m", "N s/m")), _field("points", "ends", "ends"),
        ],
        "bars": [
            _field("points", "points", "word"),
            *(_field(name, name, units=(unit if unit != "1" else "", "")) for name, unit in OF_BARS.items()),
        ],
        "springs": [
            _field("between", "between", "word"), _field("stiffness", "stiffness", units=("N/m", "N/m")),
            _field("rest", "length at rest", units=("m", "m")), _field("damping", "damping", units=("N s/m", "N s/m")),
        ],
        "actuators": [
            _field("joint", "joint", "joint"), _field("tendon", "or spring", "tendon"),
            _field("gear", "gear", usual=1.0),
            _field("gain", "gain", usual=1.0, help="Of the signal: one number, or three with length and rate."),
            _field("bias", "bias", usual=0.0, help="Three numbers: constant, of the length, of its rate."),
            _field("control_range", "signal from, to", infinite=True),
            _field("force_range", "force from, to", infinite=True),
        ],
        "shapes": [
            _field("body", "on", "body"), _field("kind", "kind", "solid"),
            _field("radius", "radius", units=("m", "m"), only=["sphere", "capsule", "cylinder"]),
            _field("length", "length", units=("m", "m"), only=["capsule", "cylinder"], help="Without the round ends."),
            _vector("size", "edges", "m", only=["box"]), _vector("radii", "radii", "m", only=["ellipsoid"]),
            _field("file", "mesh file", "word", only=["mesh"]), *PLACEMENT,
            *(
                _field(
                    name, name.replace("_", " "), units=(unit, unit), usual=usual[name], more=name not in SURFACE
                )
                for name, unit in OF_SURFACE.items()
            ),
        ],
        "solids": SOLIDS,
        "rows": [f.name for f in dataclasses.fields(DHRow)],
        "kinds": {name: _kind(kind) for name, kind in KINDS.items() if name not in WITHOUT_WORD},
        "axes": list(AXES),
    }  # fmt: skip


def _kind(kind: Any) -> dict[str, Any]:
    own = dataclasses.fields(kind)
    made = None
    with suppress(TypeError, ModelError):  # kinds whose parameters have no usual values
        made = kind()
    return {
        "slides": bool(made is not None and made.q_units and made.q_units[0] == "m"),
        "driven": made is not None and made.usually_driven,
        "parameters": [
            {"name": f.name, "usual": f.default if isinstance(f.default, str) or _is_finite(f.default) else None}
            for f in own
        ],
    }


def _is_finite(x: Any) -> bool:
    return isinstance(x, (int, float)) and math.isfinite(x)


def placed(model: Model) -> dict[str, dict[str, Any]]:
    """Return where bodies, joints, loops, frames and shapes are, for handles in the scene.

    Each has ``body``, the index of the one that it is on, ``on``, the pose of the frame of that body in which it is
    given, ``position`` and ``quaternion`` (w, x, y, z); a body also its index ``of`` and its ``com``.
    """

    def at(body: int, pose: Pose, on: Pose | None = None) -> dict[str, Any]:
        frame = Pose() if on is None else on
        return {
            "body": body, "on": [*frame.position.tolist(), *quaternions(frame.rotation).tolist()],
            "position": pose.position.tolist(), "quaternion": quaternions(pose.rotation).tolist(),
        }  # fmt: skip

    bodies, shapes = {}, {}
    for i, (body, joint) in enumerate(zip(model.bodies, model.joints, strict=True)):
        mass = body.mass_properties
        com = {"com": list(mass.com)} if isinstance(mass, MassProperties) and mass.mass > 0.0 else {}
        bodies[body.name] = at(joint.parent, joint.placement) | {"of": i} | com
    for shape in model.shapes:
        frame = model.frame_table[shape.frame]
        shapes[shape.name] = at(frame.body, shape.pose, frame.pose)
    return {
        "bodies": bodies, "shapes": shapes,
        "joints": {joint.name: at(joint.parent, joint.placement) for joint in model.joints},
        "loops": {loop.name: at(loop.predecessor, loop.placement) for loop in model.loops},
        "frames": {frame.name: at(frame.body, frame.pose) for frame in model.frames},
    }  # fmt: skip
