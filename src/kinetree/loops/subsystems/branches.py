"""The parts into which a spanning tree splits when its equations are solved one by one (Saha section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...model.tree import BASE, Loop, Model


@dataclass(frozen=True)
class Subsystem:
    """A part of the spanning tree whose equations are solved together.

    Attributes
    ----------
    name : str
        A Roman numeral, in the order of the joints.
    joints : tuple of str
    dofs : tuple of int
        Its indices in ``v``.
    """

    name: str
    joints: tuple[str, ...]
    dofs: tuple[int, ...]


def subsystems(model: Model) -> tuple[tuple[Subsystem, ...], tuple[int, ...]]:
    """Return the subsystems of a mechanism, and the degrees of freedom that are on no loop.

    Both ends of a loop are chains that start at the last body carrying both of them. Joints of one chain belong
    together.  Two chains of a loop belong together if the body they start at moves with one of them (the pantograph of
    a leg); they do not if it is the base, or a body that carries this part of the mechanism (the first body of a
    SR400). Joints that are only coupled with others stay separate.
    """
    group = _Groups(len(model.joints))
    sides = [_sides(model, loop) for loop in model.loops]
    for _, here, there in sides:
        group.unite(here)
        group.unite(there)
    merged = True
    while merged:
        merged = False
        for meeting, here, there in sides:
            if meeting == BASE or not (here and there):
                continue
            a, b, m = group.of(here[0]), group.of(there[0]), group.of(_owner(model, meeting))
            if a != b and m in (a, b):
                group.unite([here[0], there[0]])
                merged = True
    coupled = {_owner(model, model.joint_index[name]) for c in model.couplings for name, _, _ in c.terms()}
    looped = sorted({j for _, here, there in sides for j in (*here, *there)} | coupled)
    members: dict[int, list[int]] = {}
    for j in looped:
        members.setdefault(group.of(j), []).append(j)
    found: list[Subsystem] = []
    for joints in members.values():
        dofs = tuple(k for j in joints for k in _dofs(model, j))
        if dofs:
            found.append(Subsystem(_roman(len(found) + 1), tuple(model.joints[j].name for j in joints), dofs))
    taken = {k for s in found for k in s.dofs}
    return tuple(found), tuple(k for k in range(model.nv) if k not in taken)


def _sides(model: Model, loop: Loop) -> tuple[int, list[int], list[int]]:
    """Return the last body that carries both ends, and the joints from there to either end."""
    here, there = model.support(loop.predecessor), model.support(loop.successor)
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    meeting = here[common - 1] if common else BASE
    return meeting, [_owner(model, j) for j in here[common:]], [_owner(model, j) for j in there[common:]]


def _owner(model: Model, joint: int) -> int:
    """Return the joint whose coordinate moves this one: itself, or the one it mimics."""
    mimic = model.joints[joint].mimic
    return model.joint_index[mimic.leader] if mimic else joint


def _dofs(model: Model, joint: int) -> range:
    where = model.joints[joint].v_slice
    return range(where.start, where.stop)


class _Groups:
    """Sets that can only be merged."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def of(self, x: int) -> int:
        while self.parent[x] != x:
            x = self.parent[x]
        return x

    def unite(self, members: Sequence[int]) -> None:
        for x in members[1:]:
            a, b = self.of(members[0]), self.of(x)
            self.parent[max(a, b)] = min(a, b)


def _roman(number: int) -> str:
    signs = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
    text = ""
    for value, sign in signs:
        text += sign * (number // value)
        number %= value
    return text
