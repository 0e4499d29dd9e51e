"""External forces and moments: as users give them, and as one force per body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import kinematics
from ..errors import OptionError, ShapeError
from ..model.tree import BASE, Frame, Model
from ..spatial import Force, Scalar, Transform, Vec3
from ..spatial.arrays import Array, as_array, batch_shape


@dataclass(frozen=True, eq=False)
class Wrench:
    """An external force and moment that act on a body.

    Parameters
    ----------
    force, moment : array_like, shape (..., 3)
        Force and moment in newtons and newton meters.
    point : array_like, shape (..., 3)
        The point at which the force acts; by default the origin of the frame it is applied to.
    axes : {"body", "world"}
        The axes along which ``force`` and ``moment`` are given.
    point_axes : {"body", "world"}
        Whether ``point`` is fixed in the frame or given in world coordinates.

    Examples
    --------
    Ten newtons downward at a tool that extends 0.1 m:

    >>> push = Wrench(force=(0, 0, -10), point=(0, 0, 0.1), axes="world")
    """

    force: ArrayLike = (0.0, 0.0, 0.0)
    moment: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    axes: str = "body"
    point_axes: str = "body"

    def __post_init__(self) -> None:
        for name in ("axes", "point_axes"):
            if getattr(self, name) not in ("body", "world"):
                raise OptionError(f"{name} must be 'body' or 'world', not {getattr(self, name)!r}")
        for name in ("force", "moment", "point"):
            as_array(getattr(self, name), (3,), name, "x, y and z")

    @property
    def is_held_by_the_world(self) -> bool:
        """Whether the wrench, seen from its body, changes when the body moves."""
        return "world" in (self.axes, self.point_axes)


Wrenches = Mapping[str, Any] | ArrayLike | None


class Attachment(NamedTuple):
    """The form of a wrench without its numbers: where it acts, and along which axes."""

    frame: str | int
    """A frame by name, or a body by its index."""
    axes: str = ""
    """As in :class:`Wrench`; empty for six numbers, the moment and force at the frame's origin in its own axes."""
    point_axes: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the vectors it consists of."""
        return ("force", "moment", "point") if self.axes else ("wrench",)

    @property
    def size(self) -> int:
        """The number of its values."""
        return 9 if self.axes else 6


@dataclass(frozen=True)
class Given:
    """Wrenches as one array of numbers, (..., sum of the attachments' sizes)."""

    attachments: tuple[Attachment, ...] = ()
    numbers: Array | None = None


NOTHING = Given()


def each_body(model: Model) -> tuple[Attachment, ...]:
    """Return an attachment of six numbers for every body."""
    return _numbered(len(model.bodies))


@lru_cache(maxsize=64)
def _numbered(count: int) -> tuple[Attachment, ...]:
    return tuple(map(Attachment, range(count)))


def each_wrench(model: Model, wrenches: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return frames and the wrenches on them, one by one."""
    found: list[tuple[str, Any]] = []
    for name, given in wrenches.items():
        model.frame(name)
        several = isinstance(given, (list, tuple)) and any(isinstance(item, Wrench) for item in given)
        found += [(name, item) for item in given] if several else [(name, given)]
    return found


def gather(model: Model, wrenches: Any) -> Given:
    """Return checked wrenches, with their numbers in one array."""
    if wrenches is None:
        return NOTHING
    if not isinstance(wrenches, Mapping):
        return _gather_rows(model, wrenches)
    attachments: list[Attachment] = []
    parts: list[Array] = []
    for name, item in each_wrench(model, wrenches):
        if isinstance(item, Wrench):
            attachment = Attachment(name, item.axes, item.point_axes)
            parts += (as_array(getattr(item, part), (3,), f"{part} on {name!r}") for part in attachment.parts)
            attachments.append(attachment)
        else:
            attachments.append(Attachment(name))
            parts.append(as_array(item, (6,), f"the wrench on {name!r}", "moment, then force"))
    return Given(tuple(attachments), _joined(parts, attachments)) if parts else NOTHING


def _gather_rows(model: Model, wrenches: Any) -> Given:
    several = wrenches if isinstance(wrenches, (list, tuple)) else [wrenches]
    if any(isinstance(item, Wrench) for item in several):
        example = model.bodies[-1].name if model.bodies else "body"
        raise ShapeError(f"wrenches are given with the body or frame they act on: {{{example!r}: Wrench(...)}}")
    count = len(model.bodies)
    rows = as_array(wrenches, (count, 6), "wrenches", "one row per body; or give a mapping")
    return Given(each_body(model), rows.reshape(*rows.shape[:-2], 6 * count)) if count else NOTHING


def _joined(parts: Sequence[Array], attachments: Sequence[Attachment]) -> Array:
    """Return arrays one after the other along their last axis, batches broadcast."""
    if len(parts) == 1:
        return parts[0]
    if any(part.ndim > 1 for part in parts):
        names = [f"{what} of wrench {k}, on {a.frame!r}" for k, a in enumerate(attachments) for what in a.parts]
        batch = batch_shape(**{name: (part, 1) for name, part in zip(names, parts, strict=True)})
        parts = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
    return np.concatenate(parts, axis=-1)


def on_bodies(
    model: Model, attachments: Sequence[Attachment], numbers: Sequence[Scalar], pose: Callable[[str], Transform]
) -> list[Force | None]:
    """Return one force per body, in its own axes at its own origin; None if nothing acts on it.

    numbers: Numbers of all attachments, one after the other.
    pose: Pose of a frame in the world, by its name.
    """
    forces: list[Force | None] = [None] * len(model.bodies)
    first = 0
    for attachment in attachments:
        own = numbers[first : first + attachment.size]
        first += attachment.size
        frame = _frame(model, attachment.frame)
        if frame.body == BASE:
            continue  # the ground carries it
        force = frame.pose.spatial().force_to_parent(_at_origin(attachment, own, pose))
        present = forces[frame.body]
        forces[frame.body] = force if present is None else present + force
    return forces


def _frame(model: Model, name: str | int) -> Frame:
    return Frame(model.bodies[name].name, name) if isinstance(name, int) else model.frame(name)


def _at_origin(attachment: Attachment, numbers: Sequence[Scalar], pose: Callable[[str], Transform]) -> Force:
    """Return a wrench in a frame's own axes at its own origin."""
    if not attachment.axes:
        return Force.of(numbers)
    force, moment, point = (Vec3(*numbers[k : k + 3]) for k in (0, 3, 6))
    if attachment.axes == "world":
        world = pose(str(attachment.frame))
        force, moment = world.unrotate(force), world.unrotate(moment)
    if attachment.point_axes == "world":
        world = pose(str(attachment.frame))
        point = world.unrotate(point - world.translation)
    return Force(moment + point.cross(force), force)


def poses_at(model: Model, q: Sequence[Scalar]) -> Callable[[str], Transform]:
    """Return the poses of frames, computed when the first is requested."""
    posed = cache(lambda: kinematics.poses(model, q))
    return lambda name: kinematics.of_frame(model, name, posed())[2]
