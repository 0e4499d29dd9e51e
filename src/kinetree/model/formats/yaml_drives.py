"""Couplings of joints, tendons and actuators in kinetree's YAML format."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Set
from typing import Any

from ..actuators import Actuator, JointCoupling, Tendon
from ..tree import Model

COUPLING_KEYS = ("name", "joints", "follows", "polynomial")
TENDON_KEYS = tuple(f.name for f in dataclasses.fields(Tendon) if f.name != "coefficients")
POINT_KEYS = ("body", "position")
ACTUATOR_KEYS = tuple(f.name for f in dataclasses.fields(Actuator))

LONGEST_KEY = 1000
"""The most letters of a key without a question mark; YAML readers expect its colon within 1024 characters."""


def read_coupling(reader: Any, node: Any) -> None:
    """Add a coupling of joints to the reader's builder."""
    fields = reader.fields(node, "a coupling", COUPLING_KEYS, required=("name", "joints"))
    name = reader.text(fields["name"], "name of a coupling")
    sums = {key: _sum(reader, fields[key], f"coupling {name!r}") for key in ("joints", "follows") if key in fields}
    polynomial = None
    if "polynomial" in fields:
        numbers = reader.items(fields["polynomial"], f"polynomial of coupling {name!r}")
        polynomial = [reader.number(x, f"a number of the polynomial of coupling {name!r}") for x in numbers]
    with reader.builder.at(node.line):
        reader.builder.coupling(name, sums["joints"], sums.get("follows"), polynomial)


def _sum(reader: Any, node: Any, whose: str) -> Any:
    """Return one joint, or several with coefficients."""
    if not hasattr(node, "entries"):
        return reader.text(node, f"a joint of {whose}")
    own = reader.fields(node, f"joints of {whose}", tuple(node.entries))
    return {joint: reader.number(x, f"coefficient of joint {joint!r}") for joint, x in own.items()}


def read_tendon(reader: Any, node: Any) -> None:
    """Add a tendon to the reader's builder."""
    fields = reader.fields(node, "a tendon", TENDON_KEYS, required=("name",))
    name = reader.text(fields["name"], "name of a tendon")
    data = {
        key: reader.number(fields[key], f"{key} of tendon {name!r}")
        for key in ("stiffness", "damping")
        if key in fields
    }
    if "rest" in fields:
        data["rest"] = reader.per_freedom(fields["rest"], f"rest of tendon {name!r}", infinite=True)
    joints = None
    if "joints" in fields:
        known = getattr(fields["joints"], "entries", {})
        own = reader.fields(fields["joints"], f"joints of tendon {name!r}", tuple(known))
        joints = {joint: reader.number(x, f"coefficient of joint {joint!r}") for joint, x in own.items()}
    points = (
        [_point(reader, item, name) for item in reader.items(fields["points"], "points")] if "points" in fields else []
    )
    with reader.builder.at(node.line):
        reader.builder.tendon(name, joints, points=points, **data)


def _point(reader: Any, node: Any, tendon: str) -> Any:
    if not hasattr(node, "entries"):
        return reader.text(node, f"a point of tendon {tendon!r}")
    fields = reader.fields(node, f"a point of tendon {tendon!r}", POINT_KEYS, required=("body",))
    place = reader.numbers(fields["position"], "position of a point", 3) if "position" in fields else [0.0, 0.0, 0.0]
    return reader.text(fields["body"], "body of a point"), place


def read_actuator(reader: Any, node: Any) -> None:
    """Add an actuator to the reader's builder."""
    fields = reader.fields(node, "an actuator", ACTUATOR_KEYS, required=("name",))
    data: dict[str, Any] = {
        key: reader.text(fields[key], f"{key} of an actuator") for key in fields if key in ACTUATOR_KEYS[:3]
    }
    for key in ACTUATOR_KEYS[3:]:
        if key in fields:
            what = f"{key} of actuator {data['name']!r}"
            data[key] = reader.per_freedom(fields[key], what, infinite=key.endswith("_range"))
    with reader.builder.at(node.line):
        reader.builder.actuator(data.pop("name"), **data)


# Writing: each on a separate line, in the form that YAML shares with JSON


def written(model: Model, names: Mapping[int, str]) -> list[str]:
    """Return the lines of all three sections; none for an empty section."""
    couplings, tendons, actuators = model.couplings, model.tendons, model.actuators
    lines = ["couplings:"] if couplings else []
    lines += [f"  - {_flow(_coupling(c))}" for c in couplings]
    lines += ["tendons:"] if tendons else []
    frames = {frame.name for frame in model.frames}
    lines += [f"  - {_flow(_tendon(t, names, frames))}" for t in tendons]
    lines += ["actuators:"] if actuators else []
    return lines + [f"  - {_flow(_actuator(a))}" for a in actuators]


def _coupling(coupling: JointCoupling) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": coupling.name,
        "joints": dict(zip(coupling.joints, coupling.coefficients, strict=True)),
    }
    if coupling.follows:
        found["follows"] = dict(zip(coupling.follows, coupling.follows_coefficients, strict=True))
    return found | {"polynomial": list(coupling.polynomial)}


def _tendon(tendon: Tendon, names: Mapping[int, str], frames: Set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": tendon.name}
    if tendon.joints:
        found["joints"] = dict(zip(tendon.joints, tendon.coefficients, strict=True))
    else:
        found["points"] = [
            {"body": p.frame, "position": list(p.offset)} if p.frame in frames
            else {"body": names[p.body], "position": list(p.position)}
            for p in tendon.points
        ]  # fmt: skip
    if tendon.stiffness:
        low, high = tendon.rest
        found |= {"stiffness": tendon.stiffness, "rest": low if low == high else [low, high]}
    return found | ({"damping": tendon.damping} if tendon.damping else {})


def _actuator(actuator: Actuator) -> dict[str, Any]:
    found: dict[str, Any] = {"name": actuator.name}
    found |= {"joint": actuator.joint} if actuator.joint else {"tendon": actuator.tendon}
    found |= {"gear": actuator.gear, "gain": list(actuator.gain), "bias": list(actuator.bias)}
    for key in ("control_range", "force_range"):
        bounds = getattr(actuator, key)
        if any(map(math.isfinite, bounds)):
            found[key] = list(bounds)
    return found


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} {_flow(x)}" for k, x in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ".inf" if value > 0 else "-.inf"
    return json.dumps(value, ensure_ascii=False)


def _key(word: str) -> str:
    known = (*COUPLING_KEYS, *TENDON_KEYS, *POINT_KEYS, *ACTUATOR_KEYS)
    quoted = word if word in known else json.dumps(word, ensure_ascii=False)
    return f"{quoted}:" if len(quoted) < LONGEST_KEY else f"? {quoted} :"
