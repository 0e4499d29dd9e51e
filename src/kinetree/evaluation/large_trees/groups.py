"""Bodies of a large tree that look alike, and so share the code of their steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...algorithms.path import Path
from ...engine.graph import Node
from ...errors import UnsupportedError
from ...model.joints import JointKind
from ...model.tree import BASE, Link, Model
from ...spatial import ZERO3, AxisRotation, MatrixRotation, RigidInertia, Transform, Vec3

MOST_LOOKS = 16
"""Up to this many kinds of links, each has separate code that exploits zeros."""


# ------------------------------------------------------------------ values made of scalars


def rebuild(value: Any, leaf: Callable[[Any], Any], expand_zero: bool = False) -> Any:
    """Return the same structure with every scalar replaced; integers, None and words are structure."""
    if isinstance(value, (float, Node)):
        return leaf(value)
    if value is ZERO3 and not expand_zero:
        return value
    if isinstance(value, tuple):
        parts = [rebuild(x, leaf, expand_zero) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [rebuild(x, leaf, expand_zero) for x in value]
    slots = getattr(type(value), "__slots__", None)
    if not slots or isinstance(value, str):
        return value
    new = object.__new__(type(value))
    for name in slots:
        setattr(new, name, rebuild(getattr(value, name), leaf, expand_zero))
    return new


def scalars(value: Any) -> list[Any]:
    """Return all scalars of a value in a fixed order, zero vectors included."""
    found: list[Any] = []
    rebuild(value, lambda x: found.append(x) or x, expand_zero=True)  # type: ignore[func-returns-value]
    return found


# ------------------------------------------------------------------ groups of bodies that look alike


@dataclass
class Group:
    """Bodies that share their steps."""

    bodies: list[int]
    is_root: bool
    has_children: bool
    adds_first: bool
    """Whether it is the first of its siblings to pass something to the parent, going inward."""
    varying: list[int] = field(default_factory=list)
    """The constants of a link that differ between the bodies."""


@lru_cache(maxsize=1 << 14)
def _constants(
    placement: Transform, inertia: RigidInertia, per_freedom: tuple[tuple[float, ...], ...], kind: JointKind
) -> tuple[float, ...]:
    """Return a link's numbers in a fixed order; cached, because every kernel of a tree needs them."""
    axis = [getattr(kind, name) for name in _axis_fields(kind)]
    return tuple(float(x) for x in scalars((placement.rotations, placement.translation, inertia, per_freedom, axis)))


@lru_cache(maxsize=1 << 14)
def _general(placement: Transform) -> Transform:
    """Return the same placement with all twelve numbers, without exploiting special values."""
    return Transform((MatrixRotation(placement.matrix()),), Vec3(*placement.translation))


def _axis_fields(kind: JointKind) -> tuple[str, ...]:
    """Return the names of a joint's numbers if they are an axis and possibly a pitch; otherwise nothing."""
    names: tuple[str, ...] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
    return names if names in (("axis",), ("axis", "pitch")) else ()


def _is_slanted(kind: JointKind) -> bool:
    """Return whether a joint has an axis that is not one of the coordinate axes."""
    return bool(_axis_fields(kind)) and sum(x != 0.0 for x in kind.axis) > 1  # type: ignore[attr-defined]


def kind_with(kind: JointKind, numbers: Sequence[Any]) -> JointKind:
    """Return the same joint with other numbers (unchecked, since they are not known yet)."""
    if not numbers:
        return kind
    other = copy(kind)
    object.__setattr__(other, "axis", tuple(numbers[:3]))
    if len(numbers) > 3:
        object.__setattr__(other, "pitch", numbers[3])
    return other


def _structure(rotation: Any) -> Any:
    return ("axis", rotation.axis) if isinstance(rotation, AxisRotation) else "matrix"


class GroupedTree:
    """The bodies of a model, or of a path of one, in groups that look alike.

    Bodies with different ``marks`` are treated differently.
    """

    has_followers = False

    def __init__(self, tree: Model | Path, marks: Sequence[Any] = ()) -> None:
        if tree.has_followers:
            raise UnsupportedError("joints that mimic others cannot be rolled into a loop")
        self.tree, self.marks = tree, marks
        self._plainly = True
        self.gravity, self.frame = tree.gravity, tree.frame
        self.nq, self.nv, self.bodies = tree.nq, tree.nv, tree.bodies
        self.tendons = getattr(tree, "tendons", ())  # on a path, nothing depends on the marks
        self.record_size: defaultdict[int, int] = defaultdict(int)
        """How many numbers are kept for a body of each group between passes."""

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All links that are visited; if hardly any are alike, only their common structure is kept."""
        links = self.tree.links
        if len({self._look(link) for link in links}) <= MOST_LOOKS:
            return links
        self._plainly = False
        return tuple(replace(link, placement=_general(link.placement)) for link in links)

    @cached_property
    def constants(self) -> list[tuple[float, ...]]:
        """Numbers of all links in a fixed order: placement, inertia, turn, rotor, spring, axis."""
        return [
            _constants(
                link.placement, link.inertia, ((link.turn,), link.armature, link.stiffness, link.spring_rest), link.kind
            )
            for link in self.links
        ]

    @property
    def groups(self) -> list[Group]:
        """The bodies, in groups that share the code of their steps."""
        return self._grouped[0]

    @property
    def group_of(self) -> list[int]:
        """The group of each body."""
        return self._grouped[1]

    @cached_property
    def _grouped(self) -> tuple[list[Group], list[int]]:
        tree = self.tree
        groups: list[Group] = []
        group_of: list[int] = []
        known: dict[Any, int] = {}
        for link in self.links:
            siblings = tree.roots if link.parent == BASE else tree.children[link.parent]
            key = (
                self.marks[link.index] if self.marks else None, self._look(link), link.parent == BASE,
                bool(tree.children[link.index]), link.index == siblings[-1],
            )  # fmt: skip
            if key not in known:
                known[key] = len(groups)
                groups.append(Group([], *key[2:]))
            groups[known[key]].bodies.append(link.index)
            group_of.append(known[key])
        for group in groups:
            numbers = np.array([self.constants[i] for i in group.bodies])
            group.varying = np.nonzero((numbers != numbers[0]).any(axis=0))[0].tolist()
        return groups, group_of

    def _look(self, link: Link) -> Any:
        """Return the properties that links must share to be treated alike.

        If joints are ``_plainly`` alike, shared numbers save operations.
        """
        with_axis = _is_slanted(link.kind) or (not self._plainly and _axis_fields(link.kind))
        return (
            type(link.kind) if with_axis else link.kind, tuple(_structure(r) for r in link.placement.rotations),
            link.placement.translation is ZERO3, tuple(x == 0.0 for x in link.armature) if self._plainly else None,
            tuple(x == 0.0 for x in link.stiffness),
        )  # fmt: skip
