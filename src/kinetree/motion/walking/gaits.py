"""Walking: the joint motions of machines whose legs take turns, step after step without end.

Every leg is in turn a supporting one (its foot stands, the hip travels over it) and a
swinging one (its foot travels, lifted).  The two groups of legs swap roles after every
step: left and right of a biped, diagonals of a trotting quadruped, tripods of a hexapod.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import OptionError, UnknownNameError, UnreachableError
from ...spatial.scalar import Scalar, where
from ...spatial.taylor import Jet, as_jet
from ..piecewise import since
from ..trajectory import Motion, Trajectory
from .legs import Gait, LegAngles, leg_angles


@dataclass(frozen=True)
class Leg:
    """A leg as the walk needs to know it.

    Parameters
    ----------
    thigh, shank : float
        Lengths of the links.
    group : {0, 1}
        Legs of group 0 support the first step, those of group 1 swing.
    hip : tuple of two floats
        Forward and sideways (left is positive) position of the hip on the trunk.
    coordinates : sequence of str
        What the leg's joint coordinates are, in order: ``roll``, ``hip``, ``knee``, ``ankle`` of
        :class:`~kinetree.motion.walking.legs.LegAngles`, with a minus before it for an axis the other way
        round, or ``zero``.
    """

    thigh: float
    shank: float
    group: int
    hip: tuple[float, float] = (0.0, 0.0)
    coordinates: Sequence[str] = ("hip", "knee", "ankle")

    def __post_init__(self) -> None:
        for name in self.coordinates:
            if name.lstrip("-") not in (*LegAngles._fields, "zero"):
                raise UnknownNameError("angle of a leg", name, (*LegAngles._fields, "zero"))
        if self.group not in (0, 1):
            raise OptionError(f"a leg belongs to group 0 or 1, not {self.group!r}")

    def pick(self, angles: LegAngles) -> list[Scalar]:
        """Return the joint coordinates out of the angles."""
        named = {**angles._asdict(), "zero": 0.0 * angles.knee}
        return [-named[name[1:]] if name.startswith("-") else named[name] for name in self.coordinates]


@dataclass(frozen=True, eq=False)
class Walk(Trajectory):
    """Joint angles of all legs, for ever.

    Parameters
    ----------
    gait : Gait
    legs : sequence of Leg
        In the order of the robot's joints.

    Examples
    --------
    >>> from kinetree import legs
    >>> walk = Walk(legs.PLANAR_BIPED, [Leg(0.5, 0.5, 0), Leg(0.5, 0.5, 1)])
    >>> walk(0.0)[0].round(6)
    array([0.393689, 0.477384, 0.083695, 0.083695, 0.477384, 0.393689])
    """

    gait: Gait
    legs: Sequence[Leg]

    def __post_init__(self) -> None:
        object.__setattr__(self, "legs", tuple(self.legs))
        times = np.linspace(0.0, 2.0 * self.gait.period, 401)
        with np.errstate(all="ignore"):
            for k, leg in enumerate(self.legs):
                x, y, z = (np.asarray(as_jet(c).value) for c in self._ankle_to_hip(Jet(times, 1.0), leg))
                span = np.sqrt(x * x + y * y + z * z)
                if np.any(span >= leg.thigh + leg.shank):
                    late = int(np.argmax(span))
                    raise UnreachableError(
                        f"leg {k} is {leg.thigh + leg.shank:g} m long and would have to span {span[late]:.4g} m at "
                        f"t = {times[late]:g} s: walk lower or with shorter steps"
                    )

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return sum(len(leg.coordinates) for leg in self.legs)

    def position(self, t: Scalar) -> list[Scalar]:
        """Return the joint angles over any scalar."""
        angles: list[Scalar] = []
        for leg in self.legs:
            angles += leg.pick(leg_angles(*self._ankle_to_hip(as_jet(t), leg), leg.thigh, leg.shank))
        return angles

    def _ankle_to_hip(self, t: Jet, leg: Leg) -> tuple[Scalar, Scalar, Scalar]:
        """Return the vector from a leg's ankle to its hip."""
        gait = self.gait
        first, s = step_of(t, gait.period)
        forward, aside = gait.hip(s)
        foot, up = gait.swing(s)
        outward = math.copysign(1.0, leg.hip[1]) if gait.side else 0.0
        width = abs(leg.hip[1])
        standing = (forward, outward * (width - aside), gait.height + 0.0 * s)
        swinging = (forward - foot, outward * (aside + width - 2.0 * gait.side), gait.height - up)
        pairs = zip(standing, swinging, strict=True)
        return tuple(where(first, a, b) if leg.group == 0 else where(first, b, a) for a, b in pairs)  # type: ignore[return-value]

    def trunk(self, above_hip: float = 0.0) -> TrunkPath:
        """Return where the trunk is meant to be in the world: its x, y and z over time."""
        return TrunkPath(self, above_hip)

    def feet(self, t: float) -> np.ndarray:
        """Return where the ankles are meant to be in the world at a time: one row per leg."""
        trunk = np.asarray(self.trunk()(t)[0])
        rows = []
        for leg in self.legs:
            x, y, z = (float(as_jet(c).value) for c in self._ankle_to_hip(Jet(float(t), 1.0), leg))
            rows.append([trunk[0] + leg.hip[0] - x, trunk[1] + leg.hip[1] - y, trunk[2] - z])
        return np.array(rows)


def step_of(t: Jet, period: float) -> tuple[Scalar, Jet]:
    """Return whether it is a step in which group 0 supports, and the time since it began.

    Both out of one number: at the change of legs rounding may decide for the end of a step or for the beginning of the
    next, where the legs are the same, but never for the one's legs at the other's time.
    """
    both = since(t, 2.0 * period)
    first = both < period
    return first, as_jet(where(first, both, both - period))


@dataclass(frozen=True, eq=False)
class TrunkPath(Trajectory):
    """x, y and z of a walking machine's trunk: step after step the pendulum over the next foot.

    The first supporting foot is below (0, +-side, 0), ahead of the trunk by ``-start``.
    """

    walk: Walk
    above_hip: float = 0.0

    @property
    def n(self) -> int:
        """Three coordinates."""
        return 3

    def motion(self, t: Jet) -> Motion:
        """Return positions, velocities and accelerations over any scalar."""
        gait = self.walk.gait
        first, s = step_of(t, gait.period)
        steps = (t.value - s.value) / gait.period
        forward, aside = (as_jet(x) for x in gait.hip(s))
        y = as_jet(0.0 * t)
        if gait.side:
            outward = next(math.copysign(1.0, leg.hip[1]) for leg in self.walk.legs if leg.group == 0)
            over = (gait.side - aside) * outward
            y = as_jet(where(first, over, -over))
        x = forward + steps * gait.stride
        z = as_jet(0.0 * t + (gait.height + self.above_hip))
        q = [x, y, z]
        return [c.value for c in q], [c.first for c in q], [c.second for c in q]


def biped(gait: Gait, thigh: float, shank: float, **options: Any) -> Walk:
    """Left leg, then right leg; the left one supports first."""
    width = options.pop("hip_width", 0.0)
    return Walk(gait, [Leg(thigh, shank, k, (0.0, 0.5 * width * (1 - 2 * k)), **options) for k in range(2)])


def trot(gait: Gait, thigh: float, shank: float, hips: Sequence[tuple[float, float]], **options: Any) -> Walk:
    """Return four legs, diagonal ones together: the first and the fourth support first (000 section 7.3)."""
    if len(hips) != 4:
        raise OptionError(f"a quadruped has 4 hips, not {len(hips)}")
    return Walk(gait, [Leg(thigh, shank, g, h, **options) for g, h in zip((0, 1, 1, 0), hips, strict=True)])


def tripod(gait: Gait, thigh: float, shank: float, hips: Sequence[tuple[float, float]], **options: Any) -> Walk:
    """Return six legs, three together: the first, fourth and fifth support first (000 section 7.4)."""
    if len(hips) != 6:
        raise OptionError(f"a hexapod has 6 hips, not {len(hips)}")
    return Walk(gait, [Leg(thigh, shank, g, h, **options) for g, h in zip((0, 1, 1, 0, 0, 1), hips, strict=True)])
