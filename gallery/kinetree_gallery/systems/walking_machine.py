"""A walking machine with its walk, its ground and its controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree import control as laws
from kinetree.contact.ground import Ground, Spot, from_source
from kinetree.errors import UnknownNameError
from kinetree.motion.walking import gaits
from kinetree.motion.walking.legs import Gait
from kinetree.robot.robot import Robot
from kinetree.spatial.scalar import Scalar
from kinetree.spatial.taylor import Jet, as_jet
from kinetree.studies.named_systems import load, part
from kinetree.studies.system import About, GallerySystem

Gains = tuple[float, float]

PLANNED_BASE = (0.0, 0.0, 0.0)
"""Angles of an upright trunk."""


@dataclass(frozen=True)
class Walker:
    """A walking machine of the sources.

    Attributes
    ----------
    name : str
        Name of the system in the gallery.
    walk : Walk
        The desired motion of the legs, step after step.
    spots : sequence of Spot
        Points at which the feet touch the ground.
    ground_set : str
        The ground's numbers, see :data:`kinetree.contact.ground.SOURCE_SETS`.
    trunk_above_hip : float
        Height of the trunk's frame above the hips.
    computed_torque_gains, feedforward_gains : (float, float)
        kp and kd of the sources.
    planar_base : bool
        Whether the trunk only moves in the plane of x and z: its coordinates are then angle, z, x.

    Examples
    --------
    >>> from kinetree_gallery.systems.walking_machine import walker
    >>> machine = walker("hexapod")
    >>> round(machine.walk.gait.speed, 3)
    0.8
    """

    name: str
    walk: gaits.Walk
    spots: Sequence[Spot]
    ground_set: str
    trunk_above_hip: float
    computed_torque_gains: Gains
    feedforward_gains: Gains
    planar_base: bool = False
    changed: Robot | None = None
    """The robot, if its numbers differ from the source's."""

    def __str__(self) -> str:
        """Return a line about its steps; the attributes have the rest."""
        gait = self.walk.gait
        changed = "" if self.changed is None else ", with a robot of its own"
        return (
            f"{self.name} walks steps of {gait.stride:g} m in {gait.period:g} s, feet lifted by {gait.foot_height:g} m"
            f"{changed}: trajectory, ground, start() and computed_torque() are what a simulation takes"
        )

    @cached_property
    def robot(self) -> Robot:
        """The machine."""
        return load(self.name) if self.changed is None else self.changed

    @property
    def trajectory(self) -> gaits.Walk:
        """The desired motion of the legs: the same as ``walk``."""
        return self.walk

    @cached_property
    def ground(self) -> Ground:
        """The firm ground of the sources."""
        return from_source(self.ground_set, self.spots, self.robot.mass)

    @property
    def base_freedoms(self) -> int:
        """The number of coordinates of the trunk, which precede those of the legs."""
        return 3 if self.planar_base else 6

    def planned(self, t: Scalar) -> list[Scalar]:
        """Return all desired coordinates: legs from the walk, the trunk upright on its path."""
        time = as_jet(t)
        x, y, z = (Jet(*parts) for parts in zip(*self.walk.trunk(self.trunk_above_hip).motion(time), strict=True))
        trunk = [0.0, z, x] if self.planar_base else [*PLANNED_BASE, x, y, z]
        q = [*trunk, *self.walk.position(time)]
        return q if isinstance(t, Jet) else [as_jet(c).value for c in q]

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position (nq,) and velocity (nv,) at the beginning of a step, on the desired motion."""
        q = [as_jet(x) for x in self.planned(Jet(0.0, 1.0, 0.0))]
        return np.array([float(x.value) for x in q]), np.array([float(x.first) for x in q])

    def base_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the part of :meth:`start` for the freedoms without motors, (n,) each."""
        q, v = self.start()
        return q[: self.base_freedoms], v[: self.base_freedoms]

    def computed_torque(self, **options: Any) -> laws.ComputedTorque:
        """Return the controller of Shah section 9.1.2 with the sources' gains."""
        kp, kd = self.computed_torque_gains
        return laws.ComputedTorque(self.walk, kp, kd, senses=[self.ground], **options)

    def feedforward(self, kp: float | None = None, kd: float | None = None) -> laws.Feedforward:
        """Return the controller of Shah section 9.2 with the sources' gains, or others."""
        stiff, damped = self.feedforward_gains
        gains = (stiff if kp is None else kp, damped if kd is None else kd)
        q0, v0 = self.base_start()
        return laws.Feedforward(self.walk, *gains, senses=[self.ground], q0=q0, v0=v0)


WALKERS = ("biped-planar", "biped-spatial", "quadruped", "hexapod", "biped-unified")
"""Systems of the gallery that walk."""


def walker(name: str) -> Walker:
    """Return a walking machine of the gallery with its walk, ground and controllers.

    Parameters
    ----------
    name : str
        One of :data:`WALKERS`.
    """
    if not isinstance(name, str) or name not in WALKERS:
        raise UnknownNameError("walking machine", name, WALKERS)
    made: Walker = part(name, "system").machine()
    return made


def walk(name: str, *, robot: Robot | None = None, **gait: float) -> Walker:
    """Return a walking machine with its motion, ground and start, perhaps with different steps.

    Parameters
    ----------
    name : str
        ``"biped-planar"``, ``"biped-spatial"``, ``"biped-unified"``, ``"quadruped"`` or ``"hexapod"``.
    robot : Robot, optional
        The machine with other masses; by default the source's.
    **gait : float
        Numbers that differ from the source: ``stride``, ``period``, ``height``, ``foot_height`` and other fields of
        :class:`kinetree.walking.Gait`; steps begin half a stride behind.

    Returns
    -------
    Walker
        The machine, with ``trajectory``, ``ground``, ``start()`` (positions and velocities), ``base_start()``,
        ``robot`` and ``computed_torque()``.

    Raises
    ------
    UnreachableError
        If the legs are too short for such steps.

    Examples
    --------
    >>> import kinetree as kt
    >>> machine = kt.gallery.walk("quadruped", stride=0.2)
    >>> q, v = machine.start()
    >>> record = kt.simulate(
    ...     machine.robot, q, v, time=0.05, controller=machine.computed_torque(), ground=machine.ground,
    ...     integrator="bdf", rtol=1e-6, atol=1e-8, samples=6)
    >>> record.status
    'complete'
    """
    machine = walker(name)
    known = [f.name for f in fields(Gait)]
    for word in gait:
        if word not in known:
            raise UnknownNameError("parameter of a gait", word, known)
    if "stride" in gait:
        gait.setdefault("start", -0.5 * gait["stride"])
    steps = replace(machine.walk, gait=replace(machine.walk.gait, **gait))
    if robot is not None:
        steps.check(robot)
    return replace(machine, walk=steps, changed=robot)


BOTH = ("left", "right")

GROUND = (
    "The ground's damping acts fully beyond a depth delta_max that the book never states (Shah appendix D.1.1): the "
    "smallest for which the ground would not pull up to the 'maximum velocity of the foot tip' of 4.5 m/s, which the "
    "book lists (section 10.3.1) without using it. It hardly matters. Forces are cut off at zero."
)

GAIT = (
    "Formulas B.9, B.10 and B.11 of Shah are misprinted: signs of the initial speeds, cos(2 pi t / T) for the foot's "
    "height, 2 a2 a3 in the law of cosines. As printed the hip would end 3.8 m behind and the foot would never land."
)


def walking_system(
    machine: Walker, legs: Sequence[str], joints: Sequence[str], title: str, source: str, *assumed: str
) -> GallerySystem:
    """Return the system of a walking machine whose legs all have joints of the same names."""
    gait = machine.walk.gait
    words = f"legs walk two steps of {gait.stride:g} m in {gait.period:g} s each, the trunk upright on its path"
    return GallerySystem(
        About(machine.name, title, source, (*assumed, GROUND, GAIT)),
        tuple(f"{leg}_{joint}" for leg in legs for joint in joints),
        (0.0, 2.0 * gait.period),
        words,
        machine.planned,
        ground=lambda: machine.ground,
        stepping=lambda robot, **numbers: walking_system(
            walk(machine.name, robot=robot, **numbers), legs, joints, title, source, *assumed
        ),
    )
