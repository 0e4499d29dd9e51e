"""The description of a system of the gallery besides its model: where it comes from, and how it moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, UnknownNameError
from ..model.tree import Joint, Model
from ..spatial import MatrixRotation, Vec3
from ..spatial.arrays import Array
from ..spatial.numbers import whole_number
from ..spatial.scalar import Scalar
from ..spatial.taylor import Jet, as_jet


class States(NamedTuple):
    """Positions, velocities and accelerations, times first."""

    q: Array
    v: Array
    a: Array


@dataclass(frozen=True)
class PrescribedMotion:
    """A prescribed motion of a system: the actuated joints are driven, all others follow.

    Called with times, a motion returns positions, velocities and accelerations of the driven
    joints; :meth:`states` returns those of all joints.  Both are derived from one closed-form expression of the
    assembled positions, so they are exact up to rounding.

    Attributes
    ----------
    joints : tuple of str
        The driven joints: independent coordinates of the mechanism.
    span : (float, float)
        First and last time, in seconds.
    what : str
        The motion in words.

    Examples
    --------
    >>> import kinetree as kt
    >>> motion = kt.gallery.motion("four-bar")
    >>> motion.span
    (0.0, 1.3333333333333333)
    >>> q, v, a = motion(0.5)
    >>> v
    array([4.71238898])
    """

    joints: tuple[str, ...]
    span: tuple[float, float]
    what: str
    model: Model = field(repr=False, compare=False)
    assembled: Callable[[Scalar], Sequence[Scalar]] = field(repr=False, compare=False)

    def __call__(self, times: ArrayLike) -> States:
        """Return positions, velocities and accelerations of the driven joints, one column each."""
        chosen = [self.model.joint(name) for name in self.joints]
        q, v, a = self.states(times)
        of_q = [k for joint in chosen for k in range(joint.q_slice.start, joint.q_slice.stop)]
        of_v = [k for joint in chosen for k in joint.freedoms]
        return States(q[..., of_q], v[..., of_v], a[..., of_v])

    def states(self, times: ArrayLike) -> States:
        """Return positions, velocities and accelerations of all joints, closed to rounding."""
        t = np.asarray(times, dtype=float)
        jets = [as_jet(x) for x in self.assembled(Jet(t, 1.0, 0.0))]
        parts = [_of_joint(joint, jets[joint.q_slice]) for joint in self.model.joints]
        q, v, a = ([x for part in parts for x in part[k]] for k in range(3))
        return States(*(np.stack([np.broadcast_to(x, t.shape) for x in columns], axis=-1) for columns in (q, v, a)))

    def grid(self, count: int) -> Array:
        """Return equally spaced times over the span, (n,), including both ends."""
        return np.linspace(*self.span, whole_number(count, "count", 1))


def _of_joint(joint: Joint, jets: Sequence[Jet]) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return coordinates, rates and accelerations of one joint."""
    values, first, second = ([getattr(x, part) for x in jets] for part in ("value", "first", "second"))
    if joint.kind.quaternion is None:
        return values, first, second
    # omega = 2 conj(q) q', and conj(q') q' has no vector part, so omega' = 2 conj(q) q''
    turn = values[:4]
    omega, alpha = _twice_turned_back(turn, first[:4]), _twice_turned_back(turn, second[:4])
    if len(values) == 4:
        return values, omega, alpha
    rotation = MatrixRotation.from_quaternion(*turn)  # a free body: its velocity in its own axes, v = R^T p'
    velocity = rotation.unapply(Vec3(*first[4:]))
    rate = rotation.unapply(Vec3(*second[4:])) - Vec3(*omega).cross(velocity)
    return values, [*omega, *velocity], [*alpha, *rate]


def _twice_turned_back(q: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
    """Return the vector part of 2 conj(q) r, for quaternions x, y, z, w."""
    x, y, z, w = q
    a, b, c, d = rate
    return [
        2.0 * (w * a - x * d - y * c + z * b),
        2.0 * (w * b - y * d - z * a + x * c),
        2.0 * (w * c - z * d - x * b + y * a),
    ]


@dataclass(frozen=True)
class About:
    """Where a system comes from, and what had to be assumed to make it run.

    Attributes
    ----------
    name, title : str
    source : str
        Source of its data.
    assumed : tuple of str
        What the source leaves open, what was assumed, and why.
    """

    name: str
    title: str
    source: str
    assumed: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title}", f"source: {self.source}"]
        return "\n".join([*lines, *(f"assumed: {line}" for line in self.assumed)])


@dataclass(frozen=True)
class GallerySystem:
    """An entry of the gallery."""

    about: About
    driven: tuple[str, ...]
    """Joints whose motion is prescribed."""
    span: tuple[float, float]
    """Times of the prescribed motion."""
    motion: str
    """The prescribed motion in words."""
    assembled: Callable[[Scalar], Sequence[Scalar]]
    """Returns all coordinates at a time, over any scalar, with closed loops."""
    starts: Mapping[str, Callable[[], Sequence[float]]] = field(default_factory=dict)
    """Other assembled configurations that the source starts from, by name."""
    ground: Callable[[], Any] | None = None
    """Makes the ground that a walking machine walks on."""
    stepping: Callable[..., GallerySystem] | None = None
    """Makes the same walking machine with other steps, from a robot and numbers of its gait by name."""

    def start(self, which: str) -> Array:
        """Return one of its assembled configurations."""
        if not isinstance(which, str):
            raise OptionError(f"a start is named by a text such as 'motion', not {which!r}")
        if which == "motion":
            return np.array([float(x) for x in self.assembled(self.span[0])])
        if which not in self.starts:
            raise UnknownNameError(f"start of {self.about.name!r}", which, ("motion", *self.starts))
        return np.array([float(x) for x in self.starts[which]()])
