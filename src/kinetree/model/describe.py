"""A robot as text: its tree with joints, masses and limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import printable
from ..spatial.formula import ScalarFormula
from .actuators import Actuator, JointCoupling, Tendon
from .joint_fields import FIELDS
from .joints import JointKind, Reversed
from .tree import BASE, Joint, Model


def describe(tree: Model) -> str:
    """Return the tree as text, one body per line, indented under its parent."""
    before = "before the loops are closed " if tree.loops else "before couplings " if tree.couplings else ""
    lines = [
        f"{printable(tree.name)}: {counted(len(tree.bodies), 'body', 'bodies')}, "
        f"{counted(tree.nv, 'degree', 'degrees')} of freedom "
        f"{before}(nq = {tree.nq}, nv = {tree.nv})",
        f"moving mass {_number(sum(b.mass for b in tree.bodies))} kg, "
        f"gravity ({', '.join(_number(g) for g in tree.gravity)})",
        f"{printable(tree.base.name)} (fixed)",
    ]
    stack = [(i, "") for i in reversed(tree.roots)]
    last = set(tree.roots[-1:]) | {c[-1] for c in tree.children if c}
    while stack:
        i, indent = stack.pop()
        branch, below = ("`-- ", "    ") if i in last else ("|-- ", "|   ")
        lines.append(f"{indent}{branch}{_body(tree, i)}  {_number(tree.bodies[i].mass)} kg  {_joint(tree.joints[i])}")
        stack.extend((c, indent + below) for c in reversed(tree.children[i]))
    if tree.loops:
        lines.append(f"loops ({len(tree.loops)}, {_constraints(sum(loop.count for loop in tree.loops))}):")
    for loop in tree.loops:
        here, there = (_body(tree, i) for i in (loop.predecessor, loop.successor))
        lines.append(f"  {here} -- {there}  [{printable(loop.name)}: {_kind(loop.kind)}]  {_constraints(loop.count)}")
    lines += [f"couplings ({len(tree.couplings)}):"] if tree.couplings else []
    lines += [f"  {_coupling(coupling)}" for coupling in tree.couplings]
    lines += [f"tendons ({len(tree.tendons)}):"] if tree.tendons else []
    lines += [f"  {_tendon(tree, tendon)}" for tendon in tree.tendons]
    lines += [f"actuators ({len(tree.actuators)}):"] if tree.actuators else []
    lines += [f"  {_actuator(actuator)}" for actuator in tree.actuators]
    extra = [f for f in tree.frames if f.name not in tree.body_index]
    if extra:
        lines.append(f"frames ({len(extra)}):")
        carriers: dict[int, list[str]] = {}
        for f in extra:
            carriers.setdefault(f.body, []).append(f.name)
        for body, names in carriers.items():
            lines.append(f"  on {_body(tree, body)}: {printable(', '.join(names))}")
    return "\n".join(lines)


def _tendon(tree: Model, tendon: Tendon) -> str:
    terms = zip(tendon.coefficients, tendon.joints, strict=True)
    path = " + ".join(f"{_number(c)} {printable(name)}" for c, name in terms)
    path = path or "through " + ", ".join(_body(tree, p.body) for p in tendon.points)
    text = f"{printable(tendon.name)} = {path}" if tendon.joints else f"{printable(tendon.name)} {path}"
    for label, value, unit in (("stiffness", tendon.stiffness, "N/m"), ("damping", tendon.damping, "N s/m")):
        known = f" {unit}" if tendon.points else ""  # along joints, the tendon's length has the unit of their sum
        text += f"  {label} {_number(value)}{known}" if value else ""
    return text


def _coupling(coupling: JointCoupling) -> str:
    y = _terms(coupling.coefficients, [printable(j) for j in coupling.joints])
    x = _terms(coupling.follows_coefficients, [printable(j) for j in coupling.follows])
    powers = ["", "x", *(f"x^{k}" for k in range(2, len(coupling.polynomial)))]
    p = _terms(coupling.polynomial, powers[: len(coupling.polynomial)])
    return f"{printable(coupling.name)}: {y} = {p}" + (f", x = {x}" if x != "0" else "")


def _terms(coefficients: Sequence[float], words: Sequence[str]) -> str:
    """Return a sum as text, without terms whose coefficient is zero."""
    text = ""
    for c, word in zip(coefficients, words, strict=True):
        if c:
            size = _number(abs(c)) if abs(c) != 1.0 or not word else ""
            sign = (" - " if c < 0 else " + ") if text else "-" if c < 0 else ""
            text += sign + " ".join(filter(None, (size, word)))
    return text or "0"


def _actuator(actuator: Actuator) -> str:
    text = f"{printable(actuator.name)} on {printable(actuator.joint or actuator.tendon)}"
    shown = (
        ("gear", (actuator.gear,), (1.0,)),
        ("gain", actuator.gain, (1.0, 0.0, 0.0)),
        ("bias", actuator.bias, (0.0, 0.0, 0.0)),
    )
    for label, values, usual in shown:
        text += f"  {label} {_values(values)}" if tuple(values) != usual else ""
    return text


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: 1 body, 2 bodies."""
    return f"{number} {one if number == 1 else many}"


def _body(tree: Model, index: int) -> str:
    return printable(tree.base.name if index == BASE else tree.bodies[index].name)


def _joint(joint: Joint) -> str:
    parts = [f"[{printable(joint.name)}: {_kind(joint.kind)}"]
    if joint.mimic:
        m = joint.mimic
        parts.append(f"= {_number(m.ratio)} * {printable(m.leader)} + {_number(m.offset)}")
    elif joint.nq == 1:
        parts.append(f"q[{joint.q_slice.start}]")
    else:
        parts.append(f"q[{joint.q_slice.start}:{joint.q_slice.stop}] v[{joint.v_slice.start}:{joint.v_slice.stop}]")
    text = " ".join(parts) + "]"
    if any(math.isfinite(x) for x in (*joint.lower, *joint.upper)):
        text += "  range " + _range(joint.lower, joint.upper)
    for row in FIELDS.values():
        values = row.felt(joint)
        if row.label and any(isinstance(x, ScalarFormula) or (math.isfinite(x) and x != 0) for x in values):
            text += f"  {row.label} {_values(values)}"
    if not joint.actuated and not joint.mimic:
        text += "  passive"
    return text


def _kind(kind: JointKind) -> str:
    if isinstance(kind, Reversed):
        return f"reversed {_kind(kind.kind)}"
    parameters = [_value(v) for v in kind.parameters().values() if not callable(v)]
    return kind.name + (f"({', '.join(parameters)})" if parameters else "")


def _value(value: object) -> str:
    if isinstance(value, tuple) and all(isinstance(x, float) for x in value):
        for name, unit in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
            if value == unit:
                return name
            if value == tuple(-u for u in unit):
                return "-" + name
        return "(" + ", ".join(_number(x) for x in value) + ")"
    return _number(value) if isinstance(value, float) else str(value)


def _range(lower: Sequence[float], upper: Sequence[float]) -> str:
    return " ".join(f"[{_number(a)}, {_number(b)}]" for a, b in zip(lower, upper, strict=True))


def _values(values: Sequence[float]) -> str:
    if len(set(values)) == 1:
        return _number(values[0])
    return "(" + ", ".join(_number(x) for x in values) + ")"


def _number(x: float) -> str:
    return f"{x:.6g}"


def _constraints(count: int) -> str:
    return counted(count, "constraint", "constraints")
