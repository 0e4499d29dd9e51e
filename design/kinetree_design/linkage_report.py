"""A one-page report on a planar linkage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import explains_arguments
from kinetree.io.units import LENGTHS
from kinetree.model.describe import counted
from kinetree.model.linkages.drawing import drawing_of
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .circuits import Circuit, circuit, turn
from .planar_analysis import FourBarLoop, PlanarMechanism


@dataclass(frozen=True)
class LinkageReport:
    """Facts about a planar linkage, in SI; ``print`` shows them all, angles in degrees.

    Attributes
    ----------
    name : str
    links, joints, freedoms : int
    drive : str
        The driving joint.
    turns : bool
        Whether the drive can make full turns.
    span : (float, float)
        Range of a drive that cannot, in radians or meters from the drawing.
    four_bars : tuple of FourBarLoop
    transmission : dict from pin to (float, float)
        Least and largest transmission angle, in radians, of four-bars on the ground.
    swings : dict from joint on the ground to (float, float, float)
        Least and largest angle or position, and the ratio of the times of the slow and the fast stroke (NaN unless the
        joint moves forth and back once per turn).
    paths : dict from point to ndarray (2, 2)
        Least and largest x and y of its path.
    slides : tuple of str
        The swinging joints that are slides.
    directions : dict from line to (float, float)
        Least and largest direction of the lines of four-bars on the ground, such as ``"C B"``, from the x axis.
    units : str
        The unit of printed lengths: that of the drawing, or meters.
    """

    name: str
    links: int
    joints: int
    freedoms: int
    drive: str
    turns: bool
    span: tuple[float, float]
    four_bars: tuple[FourBarLoop, ...]
    transmission: dict[str, tuple[float, float]]
    swings: dict[str, tuple[float, float, float]]
    paths: dict[str, Array]
    slides: tuple[str, ...] = ()
    directions: dict[str, tuple[float, float]] = field(default_factory=dict)
    units: str = "m"

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.links} links with the ground, {counted(self.joints, 'joint', 'joints')}, "
            f"{counted(self.freedoms, 'freedom', 'freedoms')}",
            f"drive {self.drive}: "
            + ("turns all around" if self.turns else f"goes from {self._span(self.drive, *self.span)}, dead points"),
            *(f"four-bar of {', '.join(loop.joints)}: {loop}" for loop in self.four_bars),
        ]
        for pin, (low, high) in self.transmission.items():
            span, worst = self._span(pin, low, high), np.degrees(min(low, np.pi - high))
            lines.append(f"transmission angle at {pin}: {span}, at worst {worst:.4g} from dead center")
        for joint, (low, high, ratio) in self.swings.items():
            quick = f", quick-return ratio {ratio:.4g}" if np.isfinite(ratio) else ""
            origin = "" if joint in self.slides else " from the drawing"
            lines.append(f"{joint} swings from {self._span(joint, low, high)}{origin}{quick}")
        for line, ends in self.directions.items():
            said = " to ".join(f"{np.degrees(x).round(5) + 0.0:.4g}" for x in ends)
            lines.append(f"line {line} swings from {said} degrees from the x axis")
        for point, path in self.paths.items():
            (x, y), (right, up) = path / LENGTHS[self.units]
            unit = self.units
            lines.append(f"point {point}: x from {x:.5g} to {right:.5g} {unit}, y from {y:.5g} to {up:.5g} {unit}")
        return "\n".join(lines)

    def _span(self, joint: str, *ends: float) -> str:
        if joint in self.slides:
            return f"{' to '.join(f'{x / LENGTHS[self.units]:.5g}' for x in ends)} {self.units}"
        return f"{' to '.join(f'{np.degrees(x).round(5) + 0.0:.4g}' for x in ends)} degrees"


@explains_arguments
def report(robot: Robot, points: Sequence[str] | None = None, q: ArrayLike | None = None) -> LinkageReport:
    """Return a designer's report on a planar linkage with one freedom, to be printed.

    Parameters
    ----------
    robot : Robot
    points : sequence of str, optional
        Bodies or frames whose paths to report; all points of a drawing by default.
    q : array_like, shape (nq,), optional
        A closed configuration, which selects the circuit.

    Examples
    --------
    >>> import kinetree as kt
    >>> four_bar = kt.linkage(
    ...     {"O": (0, 0), "C": (100, 0), "A": (0, 30), "B": {"A": 90, "C": 70, "side": "above"}},
    ...     ["O A", "A B", "B C"], ground="O C", motor="O", units="mm")
    >>> print(kt.design.report(four_bar, points=[]))
    linkage: 4 links with the ground, 4 joints, 1 freedom
    drive O: turns all around
    four-bar of O, A, B, C: crank-rocker: ground 100 mm, O-A 30 mm, A-B 90 mm, B-C 70 mm
    transmission angle at B: 49.99 to 108 degrees, at worst 49.99 from dead center
    C swings from -13.04 to 38.73 degrees from the drawing, quick-return ratio 1.091
    line C B swings from 92.05 to 143.8 degrees from the x axis
    """
    planar, whole = PlanarMechanism(robot), circuit(robot, q)
    motion = turn(robot, q=q)
    drive = planar.robot.independent()[0]
    entry = list(robot.v_names).index(drive)
    angles = {pin: loop.transmission_angle(motion) for pin, loop in planar.driven_pins.items()}
    drawn = drawing_of(robot.model)
    names = (
        [p for p in (drawn.points if drawn else ()) if drawn and p not in drawn.ground] if points is None else points
    )
    places = {name: robot.point_position(motion, name) @ planar.plane.T for name in names}
    return LinkageReport(
        robot.name,
        len(planar.links),
        len(planar.joints),
        len(planar.robot.independent()),
        drive,
        bool(np.isclose(np.ptp(motion[:, entry]), 2 * np.pi)),
        (float(motion[:, entry].min()), float(motion[:, entry].max())),
        planar.four_bars,
        {pin: (float(x.min()), float(x.max())) for pin, x in angles.items()},
        {j.name: _swing(whole, j.name) for j in robot.model.joints if j.parent == -1 and j.name != drive},
        {name: np.array([x.min(axis=0), x.max(axis=0)]) for name, x in places.items()},
        tuple(joint.name for joint in planar.joints if joint.slides),
        _directions(planar, motion, drive),
        planar.length_unit,
    )


def _directions(planar: PlanarMechanism, motion: Array, drive: str) -> dict[str, tuple[float, float]]:
    """Return the least and largest direction of each line of a four-bar that is pinned to the ground and swings."""
    found, at = dict[str, tuple[float, float]](), planar.positions(motion)
    slides = {j.name for j in planar.joints if j.slides}
    grounded = [j.name for j in planar.joints if 0 in (j.first, j.second)]
    for loop in planar.four_bars:
        around = loop.joints
        for k, pin in enumerate(around):
            for other in (around[k - 1], around[(k + 1) % len(around)]):
                if pin == drive or slides & {pin, other} or pin not in grounded or other in grounded:
                    continue
                x, y = (at[other] - at[pin]).T
                angle = np.unwrap(np.arctan2(y, x))
                turned = 2.0 * np.pi * round(float(angle.mean()) / (2.0 * np.pi))
                if np.ptp(angle) < 2.0 * np.pi - 1e-6:
                    found[f"{pin} {other}"] = float(angle.min() - turned), float(angle.max() - turned)
    return found


def _swing(whole: Circuit, joint: str) -> tuple[float, float, float]:
    """Return the range in which a joint swings, and the ratio of the times of its two strokes."""
    ends, ratio = whole.swing(joint)
    at = (ends if np.isfinite(ratio) else whole.q)[:, list(whole.robot.v_names).index(joint)]
    return float(at.min()), float(at.max()), ratio
