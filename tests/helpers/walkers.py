"""The walking machines of seed 000 (chapters 7, 9, 10) and of seed 003, with their desired motions.

x is forward, y left, z up.  Joint angles are those of 000 fig. B.5, with axes chosen so that the
printed angles are the coordinates: hips and ankles of planar legs turn about -y, knees about y.
What the sources do not say is chosen here and marked so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import kinetree as kt
from kinetree.simulation import control, legs, walking
from kinetree.simulation.ground import Ground, Spot, from_source, line, rectangle


@dataclass(frozen=True)
class Walker:
    """A machine, its walk, where it starts, and what keeps it on its way."""

    robot: kt.Robot
    walk: walking.Walk
    spots: Sequence[Spot]
    ground_set: str
    trunk_above_hip: float
    computed_torque_gains: tuple[float, float]
    feedforward_gains: tuple[float, float]
    planar_base: bool = False
    extras: dict[str, object] = field(default_factory=dict)

    @property
    def ground(self) -> Ground:
        """The firm ground of the sources."""
        return from_source(self.ground_set, self.spots, self.robot.mass)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity at the beginning of a step, on the desired motion."""
        (x, y, z), speed, _ = self.walk.trunk(self.trunk_above_hip)(0.0)
        angles, rates, _ = self.walk(0.0)
        if self.planar_base:  # angle, z, x
            return np.array([0.0, z, x, *angles]), np.array([0.0, speed[2], speed[0], *rates])
        return np.array([0.0, 0.0, 0.0, x, y, z, *angles]), np.array([0.0, 0.0, 0.0, *speed, *rates])

    def base_start(self) -> tuple[np.ndarray, np.ndarray]:
        """The part of :meth:`start` that has no motors."""
        q, v = self.start()
        n = 3 if self.planar_base else 6
        return q[:n], v[:n]

    def computed_torque(self, **options: object) -> control.ComputedTorque:
        """000 section 9.1.2 with the sources' gains."""
        kp, kd = self.computed_torque_gains
        return control.ComputedTorque(self.walk, kp, kd, senses=[self.ground], **options)

    def feedforward(self, kp: float | None = None, kd: float | None = None) -> control.Feedforward:
        """000 section 9.2 with the sources' gains, or others."""
        stiff, damped = self.feedforward_gains
        gains = (stiff if kp is None else kp, damped if kd is None else kd)
        return control.Feedforward(self.walk, *gains, senses=[self.ground], begin=self.base_start())


def _upright(mass: float, length: float) -> kt.MassProperties:
    """A slender rod that hangs down from its joint."""
    return kt.MassProperties.rod(mass, (0, 0, 0), (0, 0, -length))


def _flat_leg(builder: kt.Builder, side: str, hip: Sequence[float], links: float, mass: float, foot: bool) -> None:
    """Hinges at hip and knee, and at the ankle if there is a foot."""
    rod = _upright(mass, links)
    builder.body(
        f"{side}_thigh", "trunk", kt.Revolute("-y"), joint_name=f"{side}_hip", position=hip, mass_properties=rod
    )
    builder.body(
        f"{side}_shank", f"{side}_thigh", kt.Revolute("y"), joint_name=f"{side}_knee", position=(0, 0, -links),
        mass_properties=rod,
    )  # fmt: skip
    if foot:
        flat = kt.MassProperties.rod(0.2, (-0.075, 0, 0), (0.075, 0, 0))
        builder.body(
            f"{side}_foot", f"{side}_shank", kt.Revolute("-y"), joint_name=f"{side}_ankle", position=(0, 0, -links),
            mass_properties=flat,
        )  # fmt: skip
    else:
        builder.frame(f"{side}_tip", f"{side}_shank", (0, 0, -links))


def _free_base() -> kt.EulerFree:
    return kt.EulerFree("YXZ")  # 000 L2430


def planar_biped() -> Walker:
    """000 section 7.2.1, table 10.10: 12 degrees of freedom, legs in the plane of x and z."""
    builder = kt.Builder("planar-biped")
    # Table 10.10 with x down: (1/12) m (0.1^2, 0.5^2 + 0.1^2, 0.5^2); L3772 forgets the mass in the first
    inertia = (5 / 12 * 0.25, 5 / 12 * 0.25, 5 / 12 * 0.01)
    builder.body("trunk", "base", _free_base(), joint_name="base_joint", mass=5.0, inertia=inertia, actuated=False)
    for side in ("left", "right"):
        _flat_leg(builder, side, (0, 0, -0.25), 0.5, 1.0, foot=True)
    spots = [s for side in ("left", "right") for s in line(f"{side}_foot", 0.15)]
    walk = walking.biped(legs.PLANAR_BIPED, 0.5, 0.5)
    return Walker(builder.build(), walk, spots, "planar-biped", 0.25, (49.0, 14.0), (49.0, 7.0))


def unified_biped() -> Walker:
    """003: the same machine with a base that only moves in the plane, 9 degrees of freedom, and another gait."""
    builder = kt.Builder("unified-biped")
    builder.body(
        "trunk", "base", kt.Planar("y"), joint_name="base_joint", actuated=False,
        mass_properties=kt.MassProperties.rod(5.0, (0, 0, -0.25), (0, 0, 0.25)),
    )  # fmt: skip
    for side in ("left", "right"):
        _flat_leg(builder, side, (0, 0, -0.25), 0.5, 1.0, foot=True)
    spots = [s for side in ("left", "right") for s in line(f"{side}_foot", 0.15)]
    walk = walking.biped(legs.UNIFIED_BIPED, 0.5, 0.5)
    return Walker(builder.build(), walk, spots, "planar-biped", 0.25, (170.0, 30.0), (170.0, 30.0), planar_base=True)


def spatial_biped(foot_width: float = 0.08) -> Walker:
    """000 section 7.2.2: 18 degrees of freedom; hips are ball joints, ankles universal, knees hinges.

    The sources do not say how wide a foot is, nor what the trunk's inertia is: a cube of 0.1 m
    whose lower edges carry the hips.
    """
    builder = kt.Builder("spatial-biped")
    cube = kt.MassProperties.box(5.0, (0.1, 0.1, 0.1))
    builder.body("trunk", "base", _free_base(), joint_name="base_joint", mass_properties=cube, actuated=False)
    for side, y in (("left", 0.05), ("right", -0.05)):
        builder.body(
            f"{side}_thigh", "trunk", kt.EulerSpherical("ZXY"), joint_name=f"{side}_hip", position=(0, y, -0.05),
            mass_properties=_upright(1.0, 0.5),
        )  # fmt: skip
        builder.body(
            f"{side}_shank", f"{side}_thigh", kt.Revolute("y"), joint_name=f"{side}_knee", position=(0, 0, -0.5),
            mass_properties=_upright(1.0, 0.5),
        )  # fmt: skip
        builder.body(
            f"{side}_foot", f"{side}_shank", kt.Universal("YX"), joint_name=f"{side}_ankle", position=(0, 0, -0.5),
            mass_properties=kt.MassProperties.box(0.2, (0.15, foot_width, 0.0)),
        )  # fmt: skip
    spots = [s for side in ("left", "right") for s in rectangle(f"{side}_foot", 0.15, foot_width)]
    angles = ("zero", "-roll", "-hip", "knee", "-ankle", "roll")
    walk = walking.biped(legs.SPATIAL_BIPED, 0.5, 0.5, hip_width=0.1, coordinates=angles)
    return Walker(builder.build(), walk, spots, "spatial-biped", 0.05, (200.0, 40.0), (200.0, 40.0))


QUADRUPED_HIPS = ((0.5, 0.25), (0.5, -0.25), (-0.5, 0.25), (-0.5, -0.25))
"""At the ends of the trunk of 1 m; the notes' list from the authors' program has 0.25 and 0.5 the other way round."""


def quadruped(hips: Sequence[tuple[float, float]] = QUADRUPED_HIPS, foot_height: float = 0.09) -> Walker:
    """000 section 7.3: 18 degrees of freedom, universal hips, trotting. The trunk is taken for a flat box."""
    builder = kt.Builder("quadruped")
    length, width = 2 * abs(hips[0][0]), 2 * abs(hips[0][1])
    box = kt.MassProperties.box(4.0, (length, width, 0.1))
    builder.body("trunk", "base", _free_base(), joint_name="base_joint", mass_properties=box, actuated=False)
    names = ("front_left", "front_right", "rear_left", "rear_right")
    for name, hip in zip(names, hips, strict=True):
        rod = _upright(1.0, 0.3)
        builder.body(
            f"{name}_thigh", "trunk", kt.Universal("XY"), joint_name=f"{name}_hip", position=(*hip, 0),
            mass_properties=rod,
        )  # fmt: skip
        builder.body(
            f"{name}_shank", f"{name}_thigh", kt.Revolute("y"), joint_name=f"{name}_knee", position=(0, 0, -0.3),
            mass_properties=rod,
        )  # fmt: skip
        builder.frame(f"{name}_tip", f"{name}_shank", (0, 0, -0.3))
    gait = legs.Gait(1.0, -0.15, 0.5, 0.3, foot_height)
    walk = walking.trot(gait, 0.3, 0.3, hips, coordinates=("-roll", "-hip", "knee"))
    spots = [Spot(f"{name}_tip") for name in names]
    return Walker(builder.build(), walk, spots, "quadruped", 0.0, (49.0, 14.0), (49.0, 14.0))


HEXAPOD_HIPS = tuple((x, y) for x in (0.6, 0.0, -0.6) for y in (0.25, -0.25))
"""From the authors' program; front to rear, left before right."""


def hexapod(trunk_mass: float = 4.0) -> Walker:
    """000 section 7.4: 18 degrees of freedom, all hinges, tripod gait. The authors' stored run has a trunk of 2 kg."""
    builder = kt.Builder("hexapod")
    box = kt.MassProperties.box(trunk_mass, (1.0, 0.5, 0.1))
    builder.body("trunk", "base", _free_base(), joint_name="base_joint", mass_properties=box, actuated=False)
    names = [f"{place}_{side}" for place in ("front", "middle", "rear") for side in ("left", "right")]
    for name, hip in zip(names, HEXAPOD_HIPS, strict=True):
        _flat_leg(builder, name, (*hip, 0.0), 0.3, 1.0, foot=False)
    walk = walking.tripod(legs.HEXAPOD, 0.3, 0.3, HEXAPOD_HIPS, coordinates=("hip", "knee"))
    spots = [Spot(f"{name}_tip") for name in names]
    return Walker(builder.build(), walk, spots, "hexapod", 0.0, (49.0, 14.0), (49.0, 14.0))


WALKERS: dict[str, Callable[[], Walker]] = {
    "planar-biped": planar_biped,
    "spatial-biped": spatial_biped,
    "quadruped": quadruped,
    "hexapod": hexapod,
    "unified-biped": unified_biped,
}
"""All five, by name."""
