"""The same mechanism with other masses, joint placements, friction or gravity, under the names of robot files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ModelError
from ..actuators import Tendon, Waypoint
from ..joint_fields import FIELDS, OF_MOTOR, PER_FREEDOM
from ..mass import GroupedMass, MassProperties
from ..parameters import with_parameters
from ..pose import Pose
from ..substitution import TABLES, Given, substitution
from ..tree import Body, Frame, Joint, Loop, Model, check_gravity

WORDS = (*TABLES, "gravity")
"""Parts of a model that are changed by the names its file uses; all other names are rows of the parameter table."""


def with_numbers(model: Model, given: Mapping[str, Any], *, physical: bool = True) -> Model:
    """Return a model with other numbers, given as for ``parameters=`` of every algorithm.

    given: ``{"bodies": {"palm": {"mass": 0.8}}, "joints": {"elbow": {"position": (0.4, 0, 0)}}, "gravity": (0, 0,
        -1.6)}`` and names of the table, ``{"palm.M": 0.8}``. Everything else is unchanged. If the mass or the center of
        mass changes, the inertia about the center of mass is kept.
    physical: Whether to refuse bodies that are physically impossible.
    """
    words = {key: value for key, value in given.items() if key in WORDS}
    table = {key: value for key, value in given.items() if key not in WORDS}
    chosen = substitution(model, parameters=table, **words)
    if chosen.scalars:  # everything that is not a plain number
        raise ModelError(f"a robot needs one number for each parameter, not {chosen.scalars[0]!r}")
    frames = {f.name: replace(f, pose=_placed(f.pose, chosen.frames.get(f.name, {}))) for f in model.frames}
    changed = replace(
        model,
        bodies=tuple(_body(b, chosen.bodies.get(b.name), physical) for b in model.bodies),
        joints=tuple(_joint(j, chosen.joints.get(j.name)) for j in model.joints),
        frames=tuple(frames.values()),
        loops=tuple(_loop(x, chosen.loops.get(x.name)) for x in model.loops),
        tendons=tuple(_tendon(t, chosen.tendons.get(t.name, {}), frames) for t in model.tendons),
        gravity=model.gravity if chosen.gravity is None else check_gravity(chosen.gravity),
    )
    return with_parameters(changed, table, physical=physical) if table else changed


def _body(body: Body, given: Given | None, physical: bool) -> Body:
    if not given:
        return body
    own = body.mass_properties
    assert not isinstance(own, GroupedMass), "refused by substitution"
    numbers = {key: given.get(key, getattr(own, key)) for key in ("mass", "com", "inertia")}
    made = MassProperties.of(**numbers)
    problems = made.problems()
    if problems and physical:
        raise ModelError(f"body {body.name!r}: {problems[0]}")
    return replace(body, mass_properties=made)


def _joint(joint: Joint, given: Given | None) -> Joint:
    if not given:
        return joint
    numbers: dict[str, Any] = {
        key: _finite(given[key], f"{key} of joint {joint.name!r}") for key in PER_FREEDOM if key in given
    }
    for key, values in numbers.items():
        if FIELDS[key].nonnegative and min(values) < 0.0:
            raise ModelError(f"{key} of joint {joint.name!r} is {min(values):g}: it cannot be negative")
    if any(FIELDS[key].of_motor for key in numbers):
        numbers = {key: getattr(joint, key) or FIELDS[key].usual(joint.kind) for key in OF_MOTOR} | numbers
    return replace(joint, placement=_placed(joint.placement, given), **numbers)


def _loop(loop: Loop, given: Given | None) -> Loop:
    if not given:
        return loop
    seat = {"position": given["seat"]} if "seat" in given else {}
    return replace(loop, placement=_placed(loop.placement, given), seat=_placed(loop.seat, seat))


def _tendon(tendon: Tendon, given: Given, frames: Mapping[str, Frame]) -> Tendon:
    points = tuple(_waypoint(p, frames.get(p.frame)) for p in tendon.points)
    (stiffness, end) = _finite(
        (given.get("stiffness", tendon.stiffness), given.get("rest", tendon.rest_length)),
        f"spring of tendon {tendon.name!r}",
    )
    if stiffness < 0.0:
        raise ModelError(f"stiffness of tendon {tendon.name!r} is {stiffness:g}: it cannot be negative")
    return replace(tendon, points=points, stiffness=stiffness, rest=tendon.rest_with(end))


def _waypoint(point: Waypoint, frame: Frame | None) -> Waypoint:
    if frame is None:
        return point
    x, y, z = (frame.pose @ Pose.of(point.offset)).translation
    return point._replace(position=(x, y, z))


def _placed(own: Pose, given: Given) -> Pose:
    position = _finite(given.get("position", own.translation), "a position")
    if "rpy" in given:
        return Pose.of(position, rpy=_finite(given["rpy"], "rpy"))
    x, y, z = position
    return replace(own, translation=(x, y, z))


def _finite(values: Sequence[Any], what: str) -> tuple[float, ...]:
    if not all(np.isfinite(values)):
        raise ModelError(f"{what} must be finite numbers, not {values!r}")
    return tuple(float(x) for x in values)
