"""Locking joints of a mechanism: bodies that no longer move relative to each other become one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from ...errors import ModelError, OptionError, UnsupportedError
from ...io.units import in_si
from ...spatial.arrays import as_array
from ..actuators import JointCoupling, Tendon
from ..pose import Pose
from ..tree import BASE, Body, Configuration, Frame, Joint, Loop, Model, lay_out

OPEN = 1e-6
"""How far loops between bodies that become one may be open, in meters and radians."""

Place = tuple[int, Pose]
"""A body of the new model, and the pose of a frame on it."""


def lock(model: Model, positions: Mapping[str, Any] | Iterable[str]) -> Model:
    """Return the mechanism with some joints locked.

    Bodies that no longer move relative to each other are merged into the one that carries them; their names, and those
    of their joints, become names of frames on it.  Springs and rotors of locked joints have no effect.

    positions: Joints that are given without a position are locked at zero.
    """
    held = _held(model, positions)
    place: dict[int, Place] = {BASE: (BASE, Pose())}
    joints: list[Joint] = []
    names: list[str] = []
    masses = []
    base, frames = model.base.mass_properties, list(model.frames)
    known = {frame.name for frame in frames}
    for i, (joint, body) in enumerate(zip(model.joints, model.bodies, strict=True)):
        carrier, offset = place[joint.parent]
        if joint.name not in held:
            place[i] = (len(joints), Pose())
            joints.append(replace(joint, parent=carrier, placement=offset @ joint.placement))
            names.append(body.name)
            masses.append(body.mass_properties)
            continue
        seat = offset @ joint.placement @ _pose(joint, held[joint.name])
        place[i] = (carrier, seat)
        welded = body.mass_properties.moved(seat)
        if carrier == BASE:
            base = base + welded
        else:
            masses[carrier] = masses[carrier] + welded
        frames += [Frame(name, i) for name in dict.fromkeys((body.name, joint.name)) if name not in known]
        known |= {body.name, joint.name}
    if not joints:
        raise ModelError(f"with {', '.join(held)} locked, nothing of {model.name!r} can move")
    return replace(
        model,
        joints=lay_out(joints),
        bodies=tuple(Body(*pair) for pair in zip(names, masses, strict=True)),
        base=Body(model.base.name, base),
        frames=tuple(Frame(f.name, place[f.body][0], place[f.body][1] @ f.pose) for f in frames),
        loops=tuple(_loops(model, place)),
        tendons=tuple(_tendon(t, held, place) for t in model.tendons if not set(t.joints) or set(t.joints) - set(held)),
        actuators=tuple(_actuators(model, held)),
        couplings=tuple(_couplings(model, held)),
        configurations=tuple(
            Configuration(c.name, tuple((n, x) for n, x in c.positions if n not in held)) for c in model.configurations
        ),
    )


def _held(model: Model, positions: Mapping[str, Any] | Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Return the coordinates of all locked joints, including followers."""
    if isinstance(positions, str):
        raise OptionError(f"locked maps joints to positions or lists joints; for a single one, write [{positions!r}]")
    given = positions if isinstance(positions, Mapping) else dict.fromkeys(positions)
    held: dict[str, tuple[float, ...]] = {}
    for name, value in given.items():
        joint = model.joint(name)
        if joint.mimic and joint.mimic.leader not in given:
            raise OptionError(f"joint {name!r} mimics {joint.mimic.leader!r} and cannot be locked: lock that one")
        if not joint.mimic:
            held[name] = tuple(joint.kind.neutral()) if value is None else _coordinates(joint, value)
    for joint in model.joints:
        if joint.mimic and joint.mimic.leader in held:
            place = tuple(joint.mimic.ratio * x + joint.mimic.offset for x in held[joint.mimic.leader])
            own = given.get(joint.name)
            if own is not None and not np.allclose(_coordinates(joint, own), place, rtol=0.0, atol=OPEN):
                raise OptionError(
                    f"joint {joint.name!r} cannot be locked at {own!r}: it mimics {joint.mimic.leader!r}, which puts "
                    f"it at {', '.join(f'{x:g}' for x in place)}"
                )
            held[joint.name] = place
    if not held:
        raise OptionError("no joint is locked: name some, such as locked={'wrist': 0.3}")
    return held


def _coordinates(joint: Joint, value: Any) -> tuple[float, ...]:
    what, count = f"the position of {joint.name!r}", joint.kind.nq  # a follower has no coordinates
    array = as_array(in_si(value, joint.kind.q_units[0] if count else "1", what), (), what)
    array = as_array(array[None] if count == 1 and array.ndim == 0 else array, (count,), what)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise OptionError(f"{what} must be {count} finite numbers, not {value!r}")
    turn = joint.kind.quaternion
    if turn is not None and abs(float(np.linalg.norm(array[turn])) - 1.0) > 1e-6:
        raise OptionError(f"{what} has a quaternion whose length is not one: {array[turn].tolist()}")
    return tuple(float(x) for x in array)


def _pose(joint: Joint, q: Sequence[float]) -> Pose:
    found = joint.kind.transform(list(q))
    rows = [[float(x) for x in row] for row in found.matrix().to_rows()]
    return Pose.of([float(x) for x in found.translation], rotation=rows)


def _loops(model: Model, place: Mapping[int, Place]) -> Iterable[Loop]:
    """Yield loops between the remaining bodies; those within one body must be closed, and are dropped."""
    for loop in model.loops:
        (first, here), (second, there) = place[loop.predecessor], place[loop.successor]
        placement, seat = here @ loop.placement, there @ loop.seat
        if first != second:
            yield replace(loop, predecessor=first, successor=second, placement=placement, seat=seat)
            continue
        gaps = [float(c.gap) for c in loop.kind.constraints((placement.inverse() @ seat).spatial())]
        widest = max(gaps, key=abs, default=0.0)
        if abs(widest) > OPEN or math.isnan(widest):
            raise ModelError(
                f"with these positions loop {loop.name!r} of {model.name!r} is open by {abs(widest):.3g} (m, rad), and "
                "no joint is left to close it: take positions of a closed configuration, see close()"
            )


def _tendon(tendon: Tendon, held: Mapping[str, tuple[float, ...]], place: Mapping[int, Place]) -> Tendon:
    """Return a tendon without locked joints, through points of the remaining bodies."""
    points = []
    for point in tendon.points:
        index, seat = place[point.body]
        x, y, z = (float(c) for c in (seat @ Pose.of(point.position)).translation)
        points.append(point._replace(body=index, position=(x, y, z)))
    terms = list(zip(tendon.joints, tendon.coefficients, strict=True))
    length = sum(c * held[name][0] for name, c in terms if name in held)
    left = [(name, c) for name, c in terms if name not in held]
    low, high = tendon.rest
    return replace(
        tendon, points=tuple(points), joints=tuple(n for n, _ in left), coefficients=tuple(c for _, c in left),
        rest=(low - length, high - length),
    )  # fmt: skip


def _actuators(model: Model, held: Mapping[str, Any]) -> Iterable[Any]:
    """Yield actuators that still drive something; the servo of a tendon needs its whole length."""
    for actuator in model.actuators:
        pulled = next((t for t in model.tendons if t.name == actuator.tendon), None)
        own = set() if pulled is None else set(pulled.joints)
        if own & set(held) and own - set(held) and (any(actuator.gain[1:]) or actuator.bias[1]):
            raise UnsupportedError(
                f"actuator {actuator.name!r} reads the length of tendon {actuator.tendon!r}, to which locked joints "
                "add a constant: lock all of that tendon's joints, or none"
            )
        gone = actuator.joint in held or (own and own <= set(held))
        if not gone:
            yield actuator


def _couplings(model: Model, held: Mapping[str, tuple[float, ...]]) -> Iterable[JointCoupling]:
    """Yield couplings of the remaining joints: y + y0 = p(x + x0)."""
    for coupling in model.couplings:
        fixed = {False: 0.0, True: 0.0}
        terms: dict[bool, list[tuple[str, float]]] = {False: [], True: []}
        for name, factor, of_x in coupling.terms():
            if name in held:
                fixed[of_x] += factor * held[name][0]
            else:
                terms[of_x].append((name, factor))
        p = Polynomial(coupling.polynomial)(Polynomial([fixed[True], 1.0])) - fixed[False]
        numbers = tuple(float(x) for x in (p.coef if terms[True] else [p.coef[0]]))
        if terms[False]:
            yield replace(
                coupling, joints=tuple(n for n, _ in terms[False]), coefficients=tuple(c for _, c in terms[False]),
                follows=tuple(n for n, _ in terms[True]), follows_coefficients=tuple(c for _, c in terms[True]),
                polynomial=numbers,
            )  # fmt: skip
        elif terms[True]:
            rest = ", ".join(name for name, _ in terms[True])
            raise UnsupportedError(
                f"coupling {coupling.name!r} holds {rest} when its other joints are locked: lock it too"
            )
        elif abs(numbers[0]) > OPEN:
            raise ModelError(
                f"with these positions coupling {coupling.name!r} of {model.name!r} is off by {abs(numbers[0]):.3g}"
            )
