"""Kinematic modules: a tree as serial chains (Shah section 4.1).

Two rules make a partition valid: every module is a serial chain, and every module
starts at the last link of its parent module.  One link per module is always valid.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..errors import ModelError, UnknownNameError, refuse_unknown
from .tree import BASE, Model

ALIKE = ("numbers", "architecture")
"""Ways in which modules can be equal."""


@dataclass(frozen=True)
class Modules:
    """A valid partition of a tree into serial modules."""

    bodies: tuple[tuple[int, ...], ...]
    """Body indices of each module, from its root to its last link."""
    parents: tuple[int, ...]
    """Parent module of each, -1 for the base."""
    names: tuple[tuple[str, ...], ...]
    """Names of the bodies of each module."""

    def __len__(self) -> int:
        return len(self.bodies)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.names)

    def __str__(self) -> str:
        lines = []
        for i, (names, parent) in enumerate(zip(self.names, self.parents, strict=True)):
            on = "base" if parent == BASE else f"M{parent + 1}"
            lines.append(f"M{i + 1} on {on}: {' - '.join(names)}")
        return "\n".join(lines)


def partition(tree: Model, names: Sequence[Sequence[str]] | str | None = None) -> Modules:
    """Return checked modules, given by names of bodies; automatic by default; ``"links"`` gives one module per link."""
    if names is None or names == "auto":
        groups = automatic(tree)
    elif names == "links":
        groups = [[i] for i in range(len(tree.bodies))]
    elif isinstance(names, str):
        raise UnknownNameError("partition", names, ("auto", "links"))
    else:
        groups = [[_index(tree, name) for name in group] for group in names]
    return _checked(tree, groups)


def automatic(tree: Model) -> list[list[int]]:
    """Return the longest serial chains: a new module starts at the base and wherever the tree branches.

    A floating base is a separate module, like M_0 in the sources.
    """
    groups: list[list[int]] = []
    group_of: dict[int, int] = {}
    for i, parent in enumerate(tree.parents):
        continues = (
            parent != BASE and len(tree.children[parent]) == 1 and not (tree.is_floating and parent == tree.roots[0])
        )
        if continues:
            group_of[i] = group_of[parent]
            groups[group_of[i]].append(i)
        else:
            group_of[i] = len(groups)
            groups.append([i])
    return groups


def equal_groups(tree: Model, parts: Modules, by: str = "numbers") -> tuple[tuple[int, ...], ...]:
    """Return groups of two or more equal modules, as indices into ``parts``.

    With ``"architecture"``, modules are equal if they have the same kinds of joints in the same order, so that the same
    steps compute them; with ``"numbers"``, they must also have the same masses, rotors and springs, and the same
    placements of all joints except the first. Where a module is mounted and what it carries do not matter.
    """
    refuse_unknown("way to compare modules", by, ALIKE)
    groups: dict[Hashable, list[int]] = {}
    for m, chain in enumerate(parts.bodies):
        own = tuple(_own(tree, k, by == "numbers", first=k == chain[0]) for k in chain)
        groups.setdefault(own, []).append(m)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _own(tree: Model, k: int, numbers: bool, first: bool) -> Hashable:
    """Return the properties by which links are compared: the kind of joint and, if requested, the numbers."""
    link, joint = tree.links[k], tree.joints[k]
    if not numbers:
        return joint.kind, link.follows
    place = None if first else joint.placement
    followed = (link.ratio, link.offset) if link.follows else None
    return joint.kind, place, tree.bodies[k].mass_properties, joint.armature, link.stiffness, link.spring_rest, followed


def _index(tree: Model, name: str) -> int:
    index = tree.body_index.get(name) if isinstance(name, str) else None
    if index is None or index == BASE:
        raise UnknownNameError("moving body", name, [b.name for b in tree.bodies])
    return index


def _checked(tree: Model, groups: Sequence[Sequence[int]]) -> Modules:
    body_names = [b.name for b in tree.bodies]
    owner: dict[int, int] = {}
    for m, group in enumerate(groups):
        if not group:
            raise ModelError(f"module {m + 1} is empty")
        for i in group:
            if i in owner:
                raise ModelError(f"body {body_names[i]!r} is in modules {owner[i] + 1} and {m + 1}")
            owner[i] = m
        for a, b in pairwise(group):
            if tree.parents[b] != a:
                raise ModelError(
                    f"module {m + 1} is not a serial chain: {body_names[b]!r} is not carried by {body_names[a]!r}"
                )
    missing = [body_names[i] for i in range(len(body_names)) if i not in owner]
    if missing:
        raise ModelError(f"bodies {', '.join(repr(b) for b in missing[:6])} are in no module")
    parents = []
    for m, group in enumerate(groups):
        carrier = tree.parents[group[0]]
        if carrier == BASE:
            parents.append(BASE)
            continue
        p = owner[carrier]
        if groups[p][-1] != carrier:
            raise ModelError(
                f"module {m + 1} starts at {body_names[carrier]!r}, which is not the last link of module {p + 1}: "
                "split that module there"
            )
        if p >= m:
            raise ModelError(f"module {m + 1} comes before its parent, module {p + 1}: list parents first")
        parents.append(p)
    return Modules(
        tuple(tuple(g) for g in groups), tuple(parents), tuple(tuple(body_names[i] for i in g) for g in groups)
    )
