"""Checks of the arguments of a computation: configurations, outputs, numbers of threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.algorithm import CONFIGURATIONS
from ..errors import OptionError, ShapeError, SingularityWarning, StateError, warn
from ..model.tree import Joint, Model
from ..spatial.arrays import Array, as_array, overlaps_itself

QUATERNION_TOLERANCE = 1e-6
"""How far a quaternion's length may be from one before it is refused."""

SINGULARITY_TOLERANCE = 1e-3
"""How close to gimbal lock (approximately in radians) an Euler-angle joint may come before a warning."""


class StateChecks:
    """Checks of the vectors that describe a state of a model.

    fine: ``fine(q)``, a quick check that returns True if configurations are certainly valid.
    """

    def __init__(self, model: Model, fine: Callable[[Array], bool] | None = None) -> None:
        self.model = model
        self._fine = fine

    def vector(self, name: str, value: Any, of_places: bool = False) -> Array:
        """Return a checked argument of an algorithm: a configuration, or a vector laid out like ``v``."""
        if name in CONFIGURATIONS:
            return self.configuration(value, name, of_places)
        return as_array(value, (self.model.nv,), name, f"{self.model.nv} = nv")

    def configuration(self, value: Any, name: str = "q", of_places: bool = False) -> Array:
        """Return a checked configuration: shape, quaternions and, unless ``of_places``, distance from gimbal lock."""
        nq = self.model.nq
        array = as_array(value, (nq,), name, f"{nq} = nq{self._without_followers}")
        if self._fine is None or not array.size or np.iscomplexobj(array) or not self._fine(array):
            self._check_quaternions(array, name)
            if not of_places:
                self._warn_of_gimbal_lock(array)
        return array

    def _check_quaternions(self, array: Array, name: str) -> None:
        for joint, where in self._quaternions:
            own = array[..., where]
            with np.errstate(over="ignore"):  # a length that overflows is also wrong; infinity itself is accepted
                off = np.where(np.isfinite(own).all(axis=-1), np.abs(np.linalg.norm(own, axis=-1) - 1.0), 0.0)
            worst = np.max(off, initial=0.0)
            if worst > QUATERNION_TOLERANCE:
                place = "" if array.ndim == 1 else f", batch index {_first(off > QUATERNION_TOLERANCE)}"
                raise StateError(
                    f"{name}: the quaternion of joint {joint!r} (x, y, z, w at {where.start}:{where.stop}{place}) "
                    f"has length off by {worst:.3g}; {_quaternion_advice(array, where)}"
                )

    def _warn_of_gimbal_lock(self, array: Array) -> None:
        for gimbal in self._gimbals:
            own = [array[..., k] for k in range(gimbal.q_slice.start, gimbal.q_slice.stop)]
            with np.errstate(all="ignore"):
                near = np.asarray(gimbal.kind.singularity(own)) < SINGULARITY_TOLERANCE
            if np.any(near):
                place = "" if array.ndim == 1 else f" (first at batch index {_first(near)})"
                warn(
                    f"joint {gimbal.name!r} is within {SINGULARITY_TOLERANCE:g} of gimbal lock{place}: accelerations "
                    "there are ill-conditioned; choose another Euler sequence or a quaternion joint",
                    SingularityWarning,
                )

    def normalized(self, q: ArrayLike) -> Array:
        """Return a copy of ``q`` with every quaternion scaled to unit length."""
        array = np.array(as_array(q, (self.model.nq,), "q"))
        if not self._quaternions:
            return array
        quaternions = array[..., self.quaternion_places]
        with np.errstate(all="ignore"):  # infinity becomes NaN without a warning
            length = np.sqrt((quaternions * quaternions).sum(axis=-1, keepdims=True))
            array[..., self.quaternion_places] = quaternions / length
        if not length.all():
            zero = np.moveaxis(length[..., 0] == 0, -1, 0)
            worst = int(np.argwhere(zero)[0][0])
            place = "" if array.ndim == 1 else f" (batch index {_first(zero[worst])})"
            name = self._quaternions[worst][0]
            raise StateError(f"the quaternion of joint {name!r} is zero{place} and cannot be normalized")
        return array

    @cached_property
    def quaternion_places(self) -> Array:
        """Indices in ``q`` of the four numbers of each quaternion, (quaternions, 4)."""
        places = [np.arange(where.start, where.stop) for _, where in self._quaternions]
        return np.array(places, dtype=int).reshape(-1, 4)

    @cached_property
    def _quaternions(self) -> list[tuple[str, slice]]:
        found = []
        for j in self.model.joints:
            where = j.kind.quaternion
            if where is not None:
                found.append((j.name, slice(j.q_slice.start + where.start, j.q_slice.start + where.stop)))
        return found

    @cached_property
    def _gimbals(self) -> list[Joint]:
        return [j for j in self.model.joints if not j.mimic and j.kind.singularity([0.3] * j.kind.nq) is not None]

    @cached_property
    def _without_followers(self) -> str:
        """A hint for messages about a wrong number of coordinates: files list followers next to their leaders."""
        followers = [j.name for j in self.model.joints if j.mimic]
        shown = ", ".join(followers[:4]) + (", ..." if len(followers) > 4 else "")
        return f"; joints that mimic others have no coordinate: {shown}" if followers else ""


def check_threads(threads: Any) -> None:
    """Refuse anything but a whole number of threads."""
    if not isinstance(threads, (int, np.integer)) or isinstance(threads, bool) or threads < 1:
        raise OptionError(f"threads must be a whole number from 1, not {threads!r}")


def check_out(out: Any, shape: tuple[int, ...]) -> None:
    """Refuse an output that a result of some shape cannot be written to."""
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.dtype.kind != "f":
        given = f"{out.dtype}" if isinstance(out, np.ndarray) else f"a {type(out).__name__}"
        raise ShapeError(f"out must be an array of floats, such as numpy.empty({shape}), not {given}")
    if out.shape != shape:
        raise ShapeError(f"out must have shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ShapeError("out is read-only")
    if overlaps_itself(out):
        raise ShapeError(f"entries of out share memory (strides {out.strides}): give a separate array, or out.copy()")


def _first(mask: Array) -> Any:
    index = np.argwhere(mask)[0]
    return int(index[0]) if index.size == 1 else tuple(int(i) for i in index)


def _quaternion_advice(q: Array, where: slice) -> str:
    later = q[..., where.start + 3 : where.stop + 3]
    if later.shape[-1] == 4 and np.all(np.abs(np.linalg.norm(later, axis=-1) - 1.0) < QUATERNION_TOLERANCE):
        return "a unit quaternion sits three places later: here the quaternion comes first, then the position"
    return "call robot.normalize(q) if that is meant (an integrator's inner stages drift off the unit sphere)"
