"""Walking: the joint motions of machines whose legs take turns, step after step without end.

Every leg is in turn a supporting one (its foot stands, the hip travels over it) and a
swinging one (its foot travels, lifted).  The two groups of legs swap roles after every
step: left and right of a biped, diagonals of a trotting quadruped, tripods of a hexapod.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import OptionError, UnknownNameError, UnreachableError
from ...spatial.scalar import Scalar, where
from ...spatial.taylor import Jet, as_jet
from ..piecewise import since
from ..trajectory_interface import Motion, Trajectory
from .legs import Gait, LegAngles, leg_angles

if TYPE_CHECKING:
    from ...model.tree import Joint
    from ...robot.robot import Robot

MISPLACED = 0.05
"""A foot that misses its place by more than this fraction of the leg's length is misplaced."""


COORDINATES = ("hip", "knee", "ankle")
"""Coordinates of a leg that moves in its plane and has a foot."""


@dataclass(frozen=True)
class Leg:
    """The properties of a leg that a walk needs.

    Parameters
    ----------
    thigh, shank : float
        Lengths of the links.
    group : {0, 1}
        Legs of group 0 support the first step, those of group 1 swing.
    hip : tuple of two floats
        Forward and sideways (left is positive) position of the hip on the trunk.
    coordinates : sequence of str
        The leg's joint coordinates, in order: ``roll``, ``hip``, ``knee``, ``ankle`` of
        :class:`~kinetree.motion.walking.legs.LegAngles`, with a minus in front for a reversed axis,
        or ``zero``.
    """

    thigh: float
    shank: float
    group: int
    hip: tuple[float, float] = (0.0, 0.0)
    coordinates: Sequence[str] = COORDINATES

    def __post_init__(self) -> None:
        if len(self.hip) != 2:
            raise OptionError(f"a hip is two numbers, forward and to the left of the trunk's origin, not {self.hip!r}")
        for name in self.coordinates:
            if name.lstrip("-") not in (*LegAngles._fields, "zero"):
                raise UnknownNameError("angle of a leg", name, (*LegAngles._fields, "zero"))
        if self.group not in (0, 1):
            raise OptionError(f"a leg belongs to group 0 or 1, not {self.group!r}")

    def pick(self, angles: LegAngles) -> list[Scalar]:
        """Return the joint coordinates from the angles."""
        named = {**angles._asdict(), "zero": 0.0 * angles.knee}
        return [-named[name[1:]] if name.startswith("-") else named[name] for name in self.coordinates]


@dataclass(frozen=True, eq=False)
class Walk(Trajectory):
    """Joint angles of all legs, without end.

    Parameters
    ----------
    gait : Gait
    legs : sequence of Leg
        Legs in the order of the robot's joints.

    Examples
    --------
    >>> from kinetree import walking
    >>> walk = Walk(walking.PLANAR_BIPED, [Leg(0.5, 0.5, 0), Leg(0.5, 0.5, 1)])
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

    def check_axes(self, robot: Robot, joints: Sequence[str]) -> None:
        """Refuse a robot whose joints turn in the opposite direction."""
        self.check(robot, joints, lengths=False)

    def check(self, robot: Robot, joints: Sequence[str] | None = None, *, lengths: bool = True) -> None:
        """Refuse a robot whose feet would go elsewhere than this walk intends, for instance backward.

        For each leg from the hip to the ankle, the robot's own kinematics are compared with the walk's over two steps.

        Parameters
        ----------
        robot : Robot
            The robot, with x forward and z up.
        joints : sequence of str, optional
            Joints that follow the walk, in its order; those with motors by default.  They may have several freedoms
            each.
        lengths : bool
            Whether legs of other lengths or shapes are refused, too (default), or only reversed axes.
        """
        names = (
            [j.name for j in robot.model.joints if j.actuated and not j.mimic and j.nv] if joints is None else joints
        )
        places = [k for name in names for k in angles_of(robot, name)]
        if len(places) != self.n:
            share, rest = divmod(len(places), len(self.legs))
            fits = None if rest or not share else leg_coordinates(robot, places[:share])
            raise OptionError(
                f"the walk moves {self.n} coordinates ({len(self.legs)} legs, each "
                f"{', '.join(self.legs[0].coordinates)}), and {', '.join(names)} have {len(places)}"
                + (f": coordinates={fits!r} fits" if fits else "")
            )
        first = 0
        for k, leg in enumerate(self.legs):
            own = places[first : first + len(leg.coordinates)]
            first += len(own)
            if {"hip", "knee"} <= {name.lstrip("-") for name in leg.coordinates}:
                self._check_leg(robot, k, own, lengths)

    def _check_leg(self, robot: Robot, k: int, places: Sequence[int], lengths: bool) -> None:
        leg, times = self.legs[k], np.linspace(0.0, 2.0 * self.gait.period, 17)
        up = np.stack(
            np.broadcast_arrays(*(as_jet(c).value for c in self._ankle_to_hip(Jet(times, 1.0), leg))), axis=-1
        )
        meant = leg_angles(up[:, 0], up[:, 1], up[:, 2], leg.thigh, leg.shank)
        joints = [_joint_at(robot, place) for place in places]

        def off(coordinates: Sequence[str]) -> float:
            """Return how far the ankle, or the toe of a foot that should be level, is from its intended place.

            Without an ankle, the foot is the end of the shank, straight below the knee when all joints are at zero.
            """
            q = np.tile(robot.neutral(), (len(times), 1))
            q[:, places] = np.stack(np.broadcast_arrays(*replace(leg, coordinates=coordinates).pick(meant)), axis=-1)
            at = {name.lstrip("-"): joint for name, joint in zip(coordinates, joints, strict=True)}
            shin = robot.pose(q, at.get("ankle", at["knee"]))
            turned = shin[:, :3, :3] @ robot.pose(robot.neutral(), at.get("ankle", at["knee"]))[:3, :3].T
            foot, rise = shin[:, :3, 3], turned[:, 2, 0] * (leg.thigh + leg.shank)
            if "ankle" not in at:
                foot, rise = foot - leg.shank * turned[:, :, 2], 0.0 * rise
            way = foot - robot.pose(q, at["hip"])[:, :3, 3]
            return float(max(np.linalg.norm(way + up, axis=-1).max(), np.abs(rise).max()))

        allowed = MISPLACED * (leg.thigh + leg.shank)
        astray = off(leg.coordinates)
        if astray <= allowed:
            return
        fits = leg_coordinates(robot, places)
        where = (
            f"leg {k} of {robot.name!r} ({', '.join(dict.fromkeys(joints))}) would put its foot {astray:.3g} m from "
            "where it is meant"
        )
        if fits is not None and {"hip", "knee"} <= {name.lstrip("-") for name in fits} and off(fits) <= allowed:
            raise OptionError(
                f"{where}: its axes are not {', '.join(leg.coordinates)}, so that it would walk backwards or fall. "
                f"coordinates={fits!r} fits"
            )
        if lengths:
            raise OptionError(
                f"{where}: x must be forward and z up, thigh and shank {leg.thigh:g} and {leg.shank:g} m long and "
                "straight down where all joints are at zero"
            )

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
        """Return the intended path of the trunk in the world: its x, y and z over time."""
        return TrunkPath(self, above_hip)

    def base_start(self, robot: Robot, above_hip: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the initial position and velocity of the robot's base: upright above the hips, moving with them.

        Parameters
        ----------
        robot : Robot
            A robot whose first joint, the base, has no motor and coordinates in meters.
        above_hip : float
            Height of the base's origin above the hip, in meters.

        Returns
        -------
        base (nq,), base_velocity (nv,) : ndarray
            Arguments of :func:`kinetree.simulate_prescribed`.

        Examples
        --------
        >>> import kinetree as kt
        >>> walk = kt.walking.biped(kt.walking.PLANAR_BIPED, thigh=0.5, shank=0.5)
        >>> base, speed = walk.base_start(kt.load("biped-planar"), above_hip=0.25)
        >>> base.tolist()  # three angles, then x, y, z
        [0.0, 0.0, 0.0, -0.15, 0.0, 1.21]
        """
        base = robot.model.joints[0]
        if base.actuated:
            raise OptionError(f"joint {base.name!r} has a motor: robot {robot.name!r} has no base that moves freely")
        place, speed, _ = self.trunk(above_hip)(0.0)
        q, v = robot.neutral(), np.zeros(robot.nv)
        put_base(robot, base, q, v, np.asarray(place), np.asarray(speed))
        return q[base.q_slice], v[base.v_slice]

    def feet(self, t: float) -> np.ndarray:
        """Return the intended positions of the ankles in the world at a time, (legs, 3)."""
        trunk = np.asarray(self.trunk()(t)[0])
        rows = []
        for leg in self.legs:
            x, y, z = (float(as_jet(c).value) for c in self._ankle_to_hip(Jet(float(t), 1.0), leg))
            rows.append([trunk[0] + leg.hip[0] - x, trunk[1] + leg.hip[1] - y, trunk[2] - z])
        return np.array(rows)


def angles_of(robot: Robot, name: str) -> range:
    """Return the indices of a joint's coordinates, which must be angles."""
    joint = robot.joint(name)
    if joint.nq != joint.nv:
        raise OptionError(f"joint {name!r} has a quaternion, but a walk consists of angles: use kt.EulerSpherical(...)")
    return range(joint.q_slice.start, joint.q_slice.stop)


def _joint_at(robot: Robot, place: int) -> str:
    return next(j.name for j in robot.model.joints if j.q_slice.start <= place < j.q_slice.stop)


def leg_coordinates(robot: Robot, places: Sequence[int]) -> tuple[str, ...] | None:
    """Return the coordinates of a leg, from the axes of its joints when all are at zero.

    Axes along y are hip, knee and ankle, from the trunk down; those along x before the knee roll the leg, those after
    it the foot, in the opposite direction (Shah fig. B.5).

    Parameters
    ----------
    robot : Robot
        The robot, with x forward and z up.
    places : sequence of int
        Indices of the leg's coordinates in ``q``, from the trunk down.

    Returns
    -------
    tuple of str or None
        Coordinates for :class:`Leg`; None if axes are oblique, or more than three are along y.
    """
    ends = robot.joint(_joint_at(robot, places[-1]))
    moves = robot.jacobian(robot.neutral(), ends.name, axes="aligned")[:3]
    found: list[str] = []
    for place in places:
        joint = robot.joint(_joint_at(robot, place))
        axis = moves[:, joint.v_slice.start + place - joint.q_slice.start]
        along, bent = int(np.argmax(np.abs(axis))), [name.lstrip("-") for name in found]
        if np.abs(axis[along]) < 0.99:
            return None
        forward = axis[along] > 0
        if along == 2:
            found.append("zero")
        elif along == 0:
            found.append("roll" if forward == ("knee" in bent) else "-roll")
        else:
            name = next((some for some in ("hip", "knee", "ankle") if some not in bent), None)
            if name is None:
                return None
            found.append(name if forward == (name == "knee") else f"-{name}")
    return tuple(found)


def put_base(robot: Robot, base: Joint, q: np.ndarray, v: np.ndarray, place: np.ndarray, speed: np.ndarray) -> None:
    """Set the position and velocity of an upright robot's first body, by the coordinates of its joint in meters."""
    body = robot.model.bodies[0].name
    straight = [k for k in range(base.q_slice.start, base.q_slice.stop) if robot.q_units[k] == "m"]
    origin = robot.pose(q, body)[:3, 3]
    columns = []
    for k in straight:
        moved = q.copy()
        moved[k] += 1.0
        columns.append(robot.pose(moved, body)[:3, 3] - origin)
    if columns:
        q[straight] += np.linalg.lstsq(np.array(columns).T, place - origin, rcond=None)[0]
    moving = [k for k in range(base.v_slice.start, base.v_slice.stop) if robot.v_units[k] == "m"]
    jacobian = robot.jacobian(q, body, axes="aligned")[3:, moving]
    v[moving] = np.linalg.lstsq(jacobian, speed, rcond=None)[0]


def step_of(t: Jet, period: float) -> tuple[Scalar, Jet]:
    """Return whether group 0 supports the current step, and the time since it began.

    Both come from one number: at the change of legs, rounding may give the end of a step or the beginning of the next,
    where the legs are the same, but never the legs of one at the time of the other.
    """
    both = since(t, 2.0 * period)
    first = both < period
    return first, as_jet(where(first, both, both - period))


@dataclass(frozen=True, eq=False)
class TrunkPath(Trajectory):
    """x, y and z of a walking machine's trunk: in every step, a pendulum over the next foot.

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


def biped(
    gait: Gait, thigh: float, shank: float, *, hip_width: float = 0.0, coordinates: Sequence[str] = COORDINATES
) -> Walk:
    """Return a walk of two legs: hip, knee and ankle of the left leg, then of the right; the left one supports first.

    x is forward, z is up.  Signs are those of Shah fig. B.5: a positive ``hip`` swings the thigh forward, a positive
    ``knee`` bends the knee so that the shank swings back, a positive ``ankle`` lifts the toe.  So hips and ankles turn
    about **-y** and knees about **+y**.  For a robot whose hinges all turn about +y, give ``coordinates=("-hip",
    "knee", "-ankle")``; :meth:`Walk.check` checks whether a robot would put its feet in the intended places, and says
    which coordinates it needs otherwise.

    Parameters
    ----------
    gait : Gait
    thigh, shank : float
        Lengths, in meters.
    hip_width : float
        Distance between the hips.
    coordinates : sequence of str
        Joint coordinates of a leg, in order, as for :class:`Leg`.
    """
    return Walk(gait, [Leg(thigh, shank, k, (0.0, 0.5 * hip_width * (1 - 2 * k)), coordinates) for k in range(2)])


def trot(
    gait: Gait, thigh: float, shank: float, hips: Sequence[tuple[float, float]], *,
    coordinates: Sequence[str] = COORDINATES,
) -> Walk:  # fmt: skip
    """Return a walk of four legs, diagonal ones together: the first and the fourth support first (Shah section 7.3).

    Parameters
    ----------
    gait : Gait
    thigh, shank : float
        Lengths, in meters.
    hips : sequence of four pairs of floats
        Where the hips are on the trunk, forward and to the left, in the order of the robot's legs: front left, front
        right, rear left, rear right.
    coordinates : sequence of str
        Joint coordinates of a leg, in order, as for :class:`Leg`; :meth:`Walk.check` says what fits.

    Examples
    --------
    The machine of the book, whose hips turn about x, then y, and whose feet are points:

    >>> import kinetree as kt
    >>> hips = [(0.5, 0.25), (0.5, -0.25), (-0.5, 0.25), (-0.5, -0.25)]
    >>> walk = kt.walking.trot(kt.walking.QUADRUPED, 0.3, 0.3, hips, coordinates=("-roll", "-hip", "knee"))
    >>> walk.check(kt.load("quadruped"))
    """
    return _of_legs("quadruped", (0, 1, 1, 0), gait, thigh, shank, hips, coordinates)


def tripod(
    gait: Gait, thigh: float, shank: float, hips: Sequence[tuple[float, float]], *,
    coordinates: Sequence[str] = COORDINATES,
) -> Walk:  # fmt: skip
    """Return a walk of six legs, three together: the first, fourth and fifth support first (Shah section 7.4).

    Parameters
    ----------
    gait : Gait
    thigh, shank : float
        Lengths, in meters.
    hips : sequence of six pairs of floats
        Where the hips are on the trunk, forward and to the left, in the order of the robot's legs: left before right,
        front to rear.
    coordinates : sequence of str
        Joint coordinates of a leg, in order, as for :class:`Leg`; :meth:`Walk.check` says what fits.
    """
    return _of_legs("hexapod", (0, 1, 1, 0, 0, 1), gait, thigh, shank, hips, coordinates)


def _of_legs(
    what: str, groups: Sequence[int], gait: Gait, thigh: float, shank: float, hips: Sequence[tuple[float, float]],
    coordinates: Sequence[str],
) -> Walk:  # fmt: skip
    if len(hips) != len(groups):
        raise OptionError(f"a {what} has {len(groups)} hips, not {len(hips)}")
    return Walk(gait, [Leg(thigh, shank, g, h, coordinates) for g, h in zip(groups, hips, strict=True)])
