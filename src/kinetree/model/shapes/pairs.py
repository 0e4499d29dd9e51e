"""Which shapes of a robot may touch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import ModelError, UnknownNameError
from .contact_shape import ContactShape

if TYPE_CHECKING:
    from ..tree import Model

BASE = -1


def bodies_of_shapes(model: Model) -> list[int]:
    """Return the index of the body that carries each shape, -1 for the base."""
    return [model.frame(shape.frame).body for shape in model.shapes]


def neighbors(model: Model) -> set[tuple[int, int]]:
    """Return pairs of bodies that a joint connects, the lower index first; a joint of six freedoms connects nothing."""
    ends = [(j.parent, i) for i, j in enumerate(model.joints) if j.kind.nv < 6]
    ends += [(x.predecessor, x.successor) for x in model.loops if x.kind.nv < 6]
    return {(min(pair), max(pair)) for pair in ends}


def touching_pairs(model: Model) -> tuple[tuple[int, int], ...]:
    """Return the pairs of shapes that may touch, by their indices, the lower one first.

    Left out are shapes on one body, shapes on neighbors (bodies that a joint connects, unless one of the two shapes is
    ground), those whose groups and masks do not match, and pairs that are excluded by name.
    """
    shapes, bodies, close = model.shapes, bodies_of_shapes(model), neighbors(model)
    excluded = {x for pair in model.contact_exclusions for x in _named(model, *pair)}
    allowed = {x for pair in model.contact_inclusions for x in _named(model, *pair)}

    def may_touch(i: int, j: int) -> bool:
        a, b, ends = shapes[i], shapes[j], (min(bodies[i], bodies[j]), max(bodies[i], bodies[j]))
        if ends[0] == ends[1] or (a.shape.is_ground and b.shape.is_ground):
            return False
        if (i, j) in allowed:
            return True
        joined = ends in close and not (a.shape.is_ground or b.shape.is_ground)
        return bool(a.group & b.mask or b.group & a.mask) and not joined and (i, j) not in excluded

    return tuple((i, j) for i in range(len(shapes)) for j in range(i + 1, len(shapes)) if may_touch(i, j))


def _named(model: Model, first: str, second: str) -> list[tuple[int, int]]:
    one, two = (shapes_named(model.shapes, name) for name in (first, second))
    return [(min(i, j), max(i, j)) for i in one for j in two if i != j]


def shapes_named(shapes: Sequence[ContactShape], name: str) -> list[int]:
    """Return the indices of the shape with this name and of those on the body or frame with this name."""
    return [k for k, s in enumerate(shapes) if name in (s.name, s.frame)]


def check_pair(
    shapes: Sequence[ContactShape], pair: Sequence[str], frames: Collection[str] = (), what: str = "a pair of shapes"
) -> tuple[str, str]:
    """Return two names of shapes or of bodies, or raise an error that suggests the nearest; ``frames`` need no shapes.

    what: What the pair is, for messages.
    """
    if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        raise ModelError(f"{what} is two names of shapes or of bodies, not {pair!r}")
    for name in pair:
        if name not in frames and not shapes_named(shapes, name):
            known = [*(s.name for s in shapes), *(s.frame for s in shapes)]
            raise UnknownNameError(f"shape or body with a shape (of {what})", name, dict.fromkeys(known))
    return pair[0], pair[1]


def with_names(shapes: Sequence[ContactShape]) -> tuple[ContactShape, ...]:
    """Return shapes with unique names: those without one get that of their frame, numbered if it has several of them.

    Raises
    ------
    ModelError
        If two shapes have one name.
    """
    names = [shape.name for shape in shapes if shape.name]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise ModelError(f"two shapes are named {twice!r}")
    nameless = Counter(shape.frame for shape in shapes if not shape.name)
    used, found = set(names), []
    for shape in shapes:
        name, count = shape.name or shape.frame, 0
        while not shape.name and (name in used or (nameless[shape.frame] > 1 and not count)):
            count += 1
            name = f"{shape.frame}_{count}"
        used.add(name)
        found.append(shape if shape.name else replace(shape, name=name))
    return tuple(found)
