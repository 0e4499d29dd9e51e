"""Motions of a mechanism's designs under given drives, and measures of them with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.driven_motion import Angle, Direction, JointWrench, Measure, MotionVector, PointMotion, ShakingWrench
from ..errors import UnknownNameError
from ..evaluation.law_kernels import SlopeProgram
from ..spatial.arrays import Array, as_array
from ..spatial.numbers import whole_number

if TYPE_CHECKING:
    from .varied_mechanism import VariedMechanism


@dataclass(frozen=True)
class MovedDesigns:
    """Motions of designs and the forces they take; NaN from the sample on that a design cannot follow.

    Attributes
    ----------
    q, v, a, tau : ndarray, shapes (..., T, nq), (..., T, nv)
        The batch of designs comes first, then the samples; forces are those of the independent freedoms.
    ends : ndarray of int, shape (...)
        How many samples each design follows; -1 if it cannot even reach the first one.
    of : VariedMechanism
        Computes further measures.
    given : dict of str to ndarray
        Inputs of each sample: drives, and the numbers of the model that vary.
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    ends: Array
    of: VariedMechanism = field(repr=False, compare=False)
    given: dict[str, Array] = field(repr=False, compare=False)
    points: dict[str, Array] = field(default_factory=dict)
    """Paths of the requested points in the world, (..., T, 3) each."""

    def with_points(self, points: Points) -> MovedDesigns:
        """Return the same motions with paths of points, by name; bodies and frames mean their origins."""
        names = [points] if isinstance(points, str) else points
        spots: Mapping[str, Spot] = names if isinstance(names, Mapping) else {name: name for name in names}
        pairs = {name: (spot, (0.0, 0.0, 0.0)) if isinstance(spot, str) else spot for name, spot in spots.items()}
        return replace(self, points={name: self.point(*pair).values for name, pair in pairs.items()})

    def of_samples(self, which: Array) -> MovedDesigns:
        """Return the same motions at some of their samples, in order."""
        q, v, a, tau = (x[..., which, :] for x in (self.q, self.v, self.a, self.tau))
        given = {name: x[..., which, :] for name, x in self.given.items()}
        points = {name: x[..., which, :] for name, x in self.points.items()}
        ends = np.where(self.ends < 0, -1, np.searchsorted(which, self.ends))
        return MovedDesigns(q, v, a, tau, ends, self.of, given, points)

    @property
    def closed(self) -> Array:
        """Which designs follow the whole motion, (...)."""
        return np.asarray(self.ends == self.q.shape[-2])

    @property
    def reasons(self) -> Array:
        """Why designs do not follow the whole motion, in words, (...); None if they do."""
        found = np.full(self.ends.shape, None, dtype=object)
        for lane in map(tuple, np.argwhere(~self.closed)):
            k = int(self.ends[lane])
            found[lane] = f"reaches a dead point, or the limit of what its sizes reach, before sample {k}"
            if k < 0:
                found[lane] = "cannot be led from the mechanism as drawn, at q_guess, to the first sample on its branch"
        return found

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the numbers that vary, such as ``loops.pin.position[0]``: the columns of derivatives."""
        return self.of.number_names

    def __str__(self) -> str:
        good = int(self.closed.sum())
        alone = "it follows" if good else "it cannot follow"
        whole = f"{good} of {self.closed.size} designs follow" if self.closed.ndim else alone
        return f"motion of {self.q.shape[-2]} samples: {whole} all of it; q {self.q.shape}, v, a and tau {self.v.shape}"

    # ---------------------------------------------------------------- measures

    def measure(self, *what: str | Measure) -> MeasuredMotion:
        """Return measures of the motion, with derivatives with respect to the varying numbers and the drives.

        Parameters
        ----------
        *what : str or measure
            ``"q"``, ``"v"``, ``"a"``, ``"tau"``, ``"motor_forces"`` (if the motors are not at the independent
            freedoms), or a measure of :mod:`kinetree.algorithms.driven_motion`: several are computed together, one
            after the other.

        Examples
        --------
        >>> import numpy as np, kinetree as kt
        >>> four_bar, crank = kt.load("four-bar"), np.linspace(0, 2 * np.pi, 50)[:, None]
        >>> pin = {"loops": {"crank_pin": {"position": [0.038, 0, 0]}}}
        >>> moved = four_bar.driven_motion(crank, 0 * crank + 1, 0 * crank, pin, q_guess=kt.gallery.start("four-bar"))
        >>> moved.point("coupler", (0.05, 0.02, 0)).jacobian().shape  # samples, x y z, coordinates of the pin
        (50, 3, 3)
        >>> torque = moved.measure("tau")
        >>> torque.gradient(torque.values).shape  # of the sum of half the squares of the torque over all samples
        (3,)
        """
        laws = tuple(MotionVector(one) if isinstance(one, str) else one for one in what)
        for law in laws:
            if isinstance(law, MotionVector) and law.name not in VECTORS:
                raise UnknownNameError("measure of a motion", law.name, VECTORS)
        return MeasuredMotion(self, laws)

    def point(self, frame: str, offset: Sequence[float] = (0.0, 0.0, 0.0), order: int = 0) -> MeasuredMotion:
        """Return the world position of a point of a body or frame; its velocity for order 1, acceleration for 2."""
        return self.measure(self._point(frame, offset, whole_number(order, "order", 0, 2)))

    def direction(self, frame: str, axis: Sequence[float] = (1.0, 0.0, 0.0)) -> MeasuredMotion:
        """Return the direction of an axis of a body or frame in the world, (..., T, 3)."""
        return self.measure(Direction(self._known(frame), _three(axis, "axis")))

    def angle(self, first: Spot, vertex: Spot, second: Spot) -> MeasuredMotion:
        """Return the angle at a point between two others, 0 to pi; with coupler and follower, the transmission angle.

        Each is a body or frame, meaning its origin, or a pair of a body or frame and a point in its coordinates.
        """
        spots = [(spot, (0.0, 0.0, 0.0)) if isinstance(spot, str) else spot for spot in (first, vertex, second)]
        return self.measure(Angle(*(self._point(*spot) for spot in spots)))

    def force_at(self, joint: str) -> MeasuredMotion:
        """Return moment and force of a joint, cut or uncut, on its second body, along world axes, (..., T, 6)."""
        model = self.of.model
        names = [*model.joint_index, *(loop.name for loop in model.loops)]
        if joint not in names:
            raise UnknownNameError("joint", joint, names)
        return self.measure(JointWrench(joint))

    def shaking(self, weight: bool = False) -> MeasuredMotion:
        """Return moment about the world's origin, and force, on the ground, (..., T, 6); optionally with the weight."""
        return self.measure(ShakingWrench(bool(weight)))

    def _point(self, frame: str, offset: Sequence[float], order: int = 0) -> PointMotion:
        return PointMotion(self._known(frame), _three(offset, "offset"), order)

    def _known(self, frame: str) -> str:
        return self.of.model.frame(frame).name


VECTORS = ("q", "v", "a", "tau", "motor_forces")
Spot = str | tuple[str, Sequence[float]]
Points = str | Sequence[str] | Mapping[str, Spot]


def _three(given: Sequence[float], name: str) -> tuple[float, float, float]:
    x, y, z = as_array(given, (3,), name).reshape(3).tolist()
    return x, y, z


@dataclass(frozen=True)
class MeasuredMotion:
    """A measure of a motion, (..., T, n), and its derivatives.  NaN where a design cannot follow.

    Attributes
    ----------
    of : MovedDesigns
    laws : tuple of measures
    """

    of: MovedDesigns
    laws: tuple[Measure, ...]

    @cached_property
    def values(self) -> Array:
        """The numbers themselves, (..., T, n)."""
        return np.where(self._followed[..., None], self.of.of.values(self.laws)(self._vectors), np.nan)

    def jacobian(self, *by: str, threads: int = 1) -> Array:
        """Return exact derivatives of each number, (..., T, n, p).

        Parameters
        ----------
        *by : {"parameters", "q", "v", "a"}
            What to differentiate with respect to: the varying numbers (default), or the drives: positions, rates and
            second rates of the independent freedoms.  Several are concatenated in order.
        threads : int
        """
        found = self._slopes(by).jacobian(self._vectors, threads)
        return np.where(self._followed[..., None, None], found, np.nan)

    def gradient(self, weights: ArrayLike, *by: str, threads: int = 1) -> Array:
        """Return exact gradients of weighted sums, with respect to the varying numbers, (..., p), over all samples.

        This costs a few times as much as the values, however many numbers vary.

        Parameters
        ----------
        weights : array_like, shape (..., T, n)
            Derivatives of an objective with respect to each of :attr:`values`; zeros leave out samples that are NaN.
        *by : {"parameters", "q", "v", "a"}
            As in :meth:`jacobian`; drives differ from sample to sample, so their derivatives are not summed, (..., T,
            p).
        threads : int
        """
        factors = np.broadcast_to(as_array(weights, self.values.shape[-1:], "weights"), self.values.shape)
        found = self._slopes(by).gradient(self._vectors, factors, threads)
        found = np.where(self._followed[..., None], found, np.nan)
        found = np.where((factors == 0.0).all(axis=-1, keepdims=True), 0.0, found)
        return found if set(by) - {"parameters"} else np.asarray(found.sum(axis=-2))

    @property
    def _followed(self) -> Array:
        """Which samples designs reach, (..., T)."""
        return np.asarray(np.isfinite(self.of.tau).all(axis=-1))

    @property
    def _vectors(self) -> dict[str, Array]:
        return {"q": self.of.q, **self.of.given}

    def _slopes(self, by: Sequence[str]) -> SlopeProgram:
        for name in by:
            if name not in DRIVES:
                raise UnknownNameError("what derivatives are taken by", name, DRIVES)
        return self.of.of.slopes(self.laws, tuple(DRIVES[name] for name in by or ("parameters",)))


DRIVES = {"parameters": "numbers", "q": "position", "v": "rate", "a": "second"}
"""What a motion can be differentiated with respect to, and the names of these in laws."""
