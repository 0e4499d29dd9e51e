"""Pick and place with the delta robot, and the motors and gears that its arms need (our own data).

The platform moves along an arch from the pick to the place position with a product, and back the same way without it.
For the torques, speeds and accelerations of the arms, a motor with a gear of ratio n needs

    torque of the motor = tau / n + J n a,    speed = n v,

where J is the inertia of the rotor and everything that turns with it.  The mean square of that torque over the cycle,
<tau^2>/n^2 + 2 J <tau a> + J^2 n^2 <a^2>, is least at n^4 = <tau^2> / (J^2 <a^2>): a small motor that must be geared
down may well need more torque for its own rotor than for the robot.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kinetree.robot.robot import Robot
from kinetree.spatial import Vec3
from kinetree.spatial.arrays import Array
from kinetree.spatial.scalar import Scalar, cos, sin
from kinetree.studies.fact_files import stated
from kinetree.studies.named_systems import load
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome
from kinetree.studies.system import PrescribedMotion

from ..motion_laws import cycloid
from .system import close

REACH, RISE, LEVEL, ONE_WAY = 0.30, 0.05, -0.62, 0.30
"""Distance from the pick to the place position, height of the arch, height of both positions, in meters; time in
seconds."""

PRODUCT = 0.25
"""Mass of the product in kg, a point mass at the platform's center."""

MIDDLE = (-0.06, -0.06)
"""The platform's middle in its own axes."""

ARMS = tuple(f"shoulder_{k}" for k in (1, 2, 3))

GEARS = (5.0, 8.0, 12.0, 16.0, 20.0, 25.0, 33.0, 40.0)


class CatalogMotor(NamedTuple):
    """A servo motor as a catalog describes it."""

    name: str
    rated: float
    """Continuous torque, N m."""
    peak: float
    """Peak torque, N m."""
    speed: float
    """Maximum speed, rad/s."""
    rotor: float
    """Inertia of rotor, brake and the gear's input, kg m^2."""


MOTORS = (
    CatalogMotor("100 W", 0.32, 0.95, 314.0, 8.0e-6),
    CatalogMotor("200 W", 0.64, 1.9, 314.0, 3.2e-5),
    CatalogMotor("400 W", 1.27, 3.8, 314.0, 5.4e-5),
    CatalogMotor("750 W", 2.4, 7.1, 314.0, 1.6e-4),
)

MARGIN = 1.2
"""Safety factor of the torque, for friction and unforeseen loads."""


def along_the_arch(t: Scalar) -> list[Scalar]:
    """Return all coordinates on the way there, at rest at both ends."""
    (turn,) = cycloid(t, ONE_WAY, [0.0], [math.pi])
    return close(Vec3(-0.5 * REACH * cos(turn), 0.0, LEVEL + RISE * sin(turn) * sin(turn)))


def with_product(robot: Robot) -> Robot:
    """Return the robot with a product in the platform's middle."""
    x, y = MIDDLE
    more = {"M": 1.0, "MX": x, "MY": y, "XX": y * y, "YY": x * x, "ZZ": x * x + y * y, "XY": -x * y}
    table = robot.parameters()
    held = robot.with_parameters({f"platform.{k}": table[f"platform.{k}"] + PRODUCT * u for k, u in more.items()})
    return held


class Cycle(NamedTuple):
    """A cycle there and back: times, and the motions and torques of the arms, one column each."""

    time: Array
    speed: Array
    acceleration: Array
    torque: Array


def one_cycle(samples: int) -> Cycle:
    """Return torques, speeds and accelerations of the arms over a whole cycle."""
    robot = load("delta")
    motion = PrescribedMotion(ARMS, (0.0, ONE_WAY), "over an arch", robot.model, along_the_arch)
    t = motion.grid(samples)
    q, v, a = motion.states(t)
    arms = [robot.joint(name).v_slice.start for name in ARMS]
    there = with_product(robot).inverse_dynamics(q, v, a)
    back = robot.inverse_dynamics(q, -v, a)[::-1]
    return Cycle(
        np.concatenate([t, ONE_WAY + t]),
        np.concatenate([v, -v[::-1]])[:, arms],
        np.concatenate([a, a[::-1]])[:, arms],
        np.concatenate([there, back])[:, arms],
    )


def behind_gear(cycle: Cycle, motor: CatalogMotor, ratio: float) -> Array:
    """Return the torque of the motors behind a gear."""
    return np.asarray(cycle.torque / ratio + motor.rotor * ratio * cycle.acceleration)


def rms(x: Array, time: Array) -> Array:
    """Return the root mean square of each column over the cycle."""
    return np.asarray(np.sqrt(np.trapezoid(x * x, time, axis=0) / (time[-1] - time[0])))


def best_ratio(cycle: Cycle, motor: CatalogMotor) -> float:
    """Return the ratio with which the motor of the most heavily loaded arm heats least."""
    tau, a = rms(cycle.torque, cycle.time), rms(cycle.acceleration, cycle.time)
    worst = int(np.argmax(tau))
    return float(np.sqrt(tau[worst] / (motor.rotor * a[worst])))


def suits(cycle: Cycle, motor: CatalogMotor, ratio: float) -> bool:
    """Return whether a motor with a gear is sufficient: thermally, in peak torque, and in speed."""
    torque = behind_gear(cycle, motor, ratio)
    return bool(
        MARGIN * rms(torque, cycle.time).max() <= motor.rated
        and MARGIN * np.abs(torque).max() <= motor.peak
        and ratio * np.abs(cycle.speed).max() <= motor.speed
    )


def pick_and_place(quick: bool) -> Outcome:
    """Size the motors of a pick-and-place cycle."""
    cycle = one_cycle(151 if quick else 601)
    power = cycle.torque * cycle.speed
    table: dict[str, list[Any]] = {
        key: [] for key in ("motor", "gear", "rms torque [N m]", "peak torque [N m]", "speed [rad/s]", "suits")
    }
    suited = []
    for motor in MOTORS:
        for ratio in GEARS:
            torque = behind_gear(cycle, motor, ratio)
            heat, peak, speed = (
                float(x.max()) for x in (rms(torque, cycle.time), np.abs(torque), ratio * np.abs(cycle.speed))
            )
            does = suits(cycle, motor, ratio)
            row = (motor.name, ratio, heat, peak, speed, "yes" if does else "no")
            for column, value in zip(table.values(), row, strict=True):
                column.append(value)
            if does:
                suited.append((motor, ratio, heat))
    smallest = suited[0][0]
    chosen = min((s for s in suited if s[0] is smallest), key=lambda s: s[2])
    work = float(np.trapezoid(power.sum(axis=1), cycle.time))
    ratios = np.linspace(2.0, 120.0, 2361)
    arm = int(np.argmax(rms(cycle.torque, cycle.time)))
    heats = [rms(behind_gear(cycle, smallest, n)[:, arm], cycle.time) for n in ratios]
    facts = stated(
        "delta", "pick-and-place", work=abs(work), power=power, rotor_error=_rotor_difference(chosen[0], chosen[1]),
        best_ratio=best_ratio(cycle, smallest), tried_ratio=float(ratios[int(np.argmin(heats))]), motor=smallest.name,
        gear=chosen[1], load=chosen[2] / smallest.rated,
    )  # fmt: skip
    names = [f"arm {k}" for k in (1, 2, 3)]

    def panel(label: str, columns: Array) -> PlotPanel:
        return PlotPanel(label, [Curve(name, x) for name, x in zip(names, columns.T, strict=True)])

    panels = [panel("speed [rad/s]", cycle.speed), panel("torque [N m]", cycle.torque), panel("power [W]", power),
              panel("motor torque [N m]", behind_gear(cycle, chosen[0], chosen[1]))]  # fmt: skip
    remarks = [
        f"The platform goes {REACH * 1e3:.0f} mm across an arch of {RISE * 1e3:.0f} mm in {ONE_WAY:g} s with "
        f"{PRODUCT:g} kg and back without: {60.0 / (2.0 * ONE_WAY):.0f} products a minute.",
        f"The {smallest.name} motor would heat least behind a gear of {best_ratio(cycle, smallest):.1f}, which is too "
        f"much for its speed; of the gears that there are, {chosen[1]:g} is the best that is not.",
        f"Torques have a margin of {MARGIN:g}; a motor of 100 W would do without.",
    ]
    caption = "Arms there (with the product) and back; below, their motors behind the gear that was chosen."
    return Outcome(facts, {"motors": table}, {}, {"cycle": Curves(cycle.time, panels, caption)}, remarks)


def _rotor_difference(motor: CatalogMotor, ratio: float) -> float:
    """Return the difference between torques of the model with rotors and those of the formula, at the arms."""
    robot = load("delta")
    geared = robot.with_parameters({f"{name}.rotor_inertia": motor.rotor * ratio**2 for name in ARMS})
    motion = PrescribedMotion(ARMS, (0.0, ONE_WAY), "over an arch", robot.model, along_the_arch)
    q, v, a = motion.states(motion.grid(21))
    arms = [robot.joint(name).v_slice.start for name in ARMS]
    more = geared.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)
    return float(np.abs(more[:, arms] - motor.rotor * ratio**2 * a[:, arms]).max())
