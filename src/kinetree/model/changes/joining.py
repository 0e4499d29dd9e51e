"""Several models in one: their trees side by side on one ground, with names that begin with that of the part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ModelError, ModelWarning, warn
from ..joint_fields import passive_data
from ..joints import Free
from ..pose import Pose
from ..tree import BASE, Body, Configuration, Frame, Joint, Model, lay_out

GROUND = "world"
"""The name of the ground that all parts share."""

FLOATING = "floating_base"
"""The name of a joint that lets a part float."""


@dataclass(frozen=True)
class JoinedPart:
    """A model, its name within the whole, and where its base stands.

    Parameters
    ----------
    name : str
        What the names of its joints, bodies and frames begin with: ``left/elbow``.
    model : Model
    pose : Pose
        Pose of its base in the world.
    floating : bool
        Whether its base moves freely, from that pose.
    own_name : bool
        Whether names stay as they are: for a model of one body that has the name of the part.
    """

    name: str
    model: Model
    pose: Pose = field(default_factory=Pose)
    floating: bool = False
    own_name: bool = False

    def called(self, name: str) -> str:
        """Return what a joint, body or frame is called in the whole."""
        return name if self.own_name else f"{self.name}/{name}"


def joined(name: str, parts: Sequence[JoinedPart], gravity: Sequence[float], shapes: Sequence[Any] = ()) -> Model:
    """Return one model of several.

    Parameters
    ----------
    name : str
    parts : sequence of JoinedPart
    gravity : three floats
    shapes : sequence of ContactShape
        Shapes of the ground.
    """
    whole = Model(name, (), (), Body(GROUND), gravity=(float(gravity[0]), float(gravity[1]), float(gravity[2])))
    for part in parts:
        whole = _with(whole, part)
    ground = tuple(replace(shape, frame=GROUND) for shape in shapes)
    whole = replace(whole, joints=lay_out(whole.joints), shapes=_each_plane_once((*ground, *whole.shapes), whole))
    _check_names(whole)
    return whole


def _with(whole: Model, part: JoinedPart) -> Model:
    """Return the model with one more part."""
    model, called, first = part.model, part.called, len(whole.joints)
    joints, bodies, base_frame = list[Joint](), list[Body](), Frame(called(model.base.name), BASE, part.pose)
    if part.floating:
        if not model.base.mass > 0.0:
            raise ModelError(
                f"{part.name!r} cannot float: its base {model.base.name!r} has no mass. Leave out floating=True, or "
                "give the base a mass"
            )
        kind = Free()
        joints.append(Joint(called(FLOATING), kind, BASE, Pose(), **passive_data(kind)))
        bodies.append(replace(model.base, name=called(model.base.name)))
    seat, offset = (first, Pose()) if part.floating else (BASE, part.pose)
    shift = first + len(joints)

    def placed(body: int, pose: Pose) -> tuple[int, Pose]:
        return (seat, offset @ pose) if body == BASE else (body + shift, pose)

    for joint in model.joints:
        carrier, placement = placed(joint.parent, joint.placement)
        mimic = replace(joint.mimic, leader=called(joint.mimic.leader)) if joint.mimic else None
        joints.append(replace(joint, name=called(joint.name), parent=carrier, placement=placement, mimic=mimic))
    bodies += [replace(body, name=called(body.name)) for body in model.bodies]
    frames = [Frame(called(f.name), *placed(f.body, f.pose)) for f in model.frames]
    if not part.floating and not part.own_name:
        frames.append(base_frame)
    loops = []
    for loop in model.loops:
        (one, placement), (two, seated) = placed(loop.predecessor, loop.placement), placed(loop.successor, loop.seat)
        loops.append(
            replace(loop, name=called(loop.name), predecessor=one, successor=two, placement=placement, seat=seated)
        )
    tendons = []
    for tendon in model.tendons:
        points = []
        for point in tendon.points:
            body, pose = placed(point.body, Pose.of(point.position))
            points.append(
                point._replace(body=body, position=pose.translation, frame=called(point.frame) if point.frame else "")
            )
        tendons.append(
            replace(
                tendon, name=called(tendon.name), joints=tuple(map(called, tendon.joints)), points=tuple(points)
            )
        )  # fmt: skip
    base = whole.base
    if not part.floating:
        base = Body(GROUND, base.mass_properties + model.base.mass_properties.moved(part.pose))
    return replace(
        whole,
        joints=(*whole.joints, *joints), bodies=(*whole.bodies, *bodies), base=base, frames=(*whole.frames, *frames),
        loops=(*whole.loops, *loops), tendons=(*whole.tendons, *tendons),
        actuators=(
            *whole.actuators,
            *(
                replace(a, name=called(a.name), joint=called(a.joint) if a.joint else "",
                        tendon=called(a.tendon) if a.tendon else "")
                for a in model.actuators
            ),
        ),
        couplings=(
            *whole.couplings,
            *(
                replace(
                    c, name=called(c.name), joints=tuple(map(called, c.joints)), follows=tuple(map(called, c.follows))
                )
                for c in model.couplings
            ),
        ),
        configurations=(
            *whole.configurations,
            *(
                Configuration(called(c.name), tuple((called(n), x) for n, x in c.positions))
                for c in model.configurations
            ),
        ),
        loads=(*whole.loads, *(replace(load, body=called(load.body)) for load in model.loads)),
        shapes=(
            *whole.shapes,
            *(replace(s, name=called(s.name), frame=called(s.frame)) for s in model.shapes),
        ),
        contact_exclusions=(*whole.contact_exclusions, *_pairs(part, model.contact_exclusions)),
        contact_inclusions=(*whole.contact_inclusions, *_pairs(part, model.contact_inclusions)),
    )  # fmt: skip


def _pairs(part: JoinedPart, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(part.called(one), part.called(two)) for one, two in pairs]


def _each_plane_once(shapes: Sequence[Any], whole: Model) -> tuple[Any, ...]:
    """Return the shapes without floors that lie where another one does: both would carry."""
    found: list[Any] = []
    seen: dict[tuple[float, ...], str] = {}
    for shape in shapes:
        frame = whole.frame(shape.frame)
        if shape.kind == "plane" and frame.body == BASE:
            pose = frame.pose @ shape.pose
            up = pose.rotation[:, 2]
            key = (*(round(float(x), 9) + 0.0 for x in up), round(float(up @ pose.position), 9) + 0.0)
            if key in seen:
                warn(
                    f"{whole.name!r}: the floors {seen[key]!r} and {shape.name!r} are the same plane, and both would "
                    f"carry: {shape.name!r} is left out",
                    ModelWarning,
                )
                continue
            seen[key] = shape.name
        found.append(shape)
    return tuple(found)


def _check_names(whole: Model) -> None:
    """Refuse names that occur twice."""
    for what, names in (
        ("joints", [j.name for j in whole.joints] + [loop.name for loop in whole.loops]),
        ("bodies", [whole.base.name, *(b.name for b in whole.bodies)]),
        ("frames", [f.name for f in whole.frames]),
        ("shapes", [s.name for s in whole.shapes]),
    ):
        twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if twice is not None:
            raise ModelError(f"two {what} of {whole.name!r} are named {twice!r}: give things and terrain other names")
