"""A pair of legs like Cassie's on stiff and on soft leaf springs: loops closed by rods, squats, falls (our own data).

A leg is attached to the pelvis and stays in its plane.  Hip and knee have motors; below the knee a leaf spring carries
the shin.  A rod from the thigh to a second leaf spring at the heel holds the tarsus parallel to the thigh, and a motor
on the tarsus turns the foot through a crank and another rod.  Both rods are cut at one end:
four points in all are held together, with one redundant constraint each, since a leg is planar.  Sizes and masses are
our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.control.pid import PD
from kinetree.model.joints import Revolute, Spherical
from kinetree.model.mass import MassProperties
from kinetree.motion.sines_and_formulas import Sine
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import FactFile
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

THIGH, SHIN, TARSUS, FOOT = 0.50, 0.50, 0.45, 0.16
"""Lengths in meters."""

HEEL, TOE_LEVER = 0.11, 0.05
"""Distance behind the joints at which the rods are attached."""

SPRINGS = {"shin_spring": (2300.0, 2.0), "heel_spring": (1500.0, 1.5)}
"""Leaf springs: stiffness in N m/rad, damping in N m s/rad."""

SIDES = {"left": 0.13, "right": -0.13}

CROUCH = (0.4, -0.7, 0.3)
"""Hip, knee and foot in the middle of a squat, rad."""

SWAY = (0.15, -0.3, 0.15)
"""Amplitudes of these angles."""

PERIOD = 1.0
"""Duration of a squat, in seconds."""

GAINS = (900.0, 25.0)
"""Gains of the servos, in N m/rad and N m s/rad."""

STEP = 1e-3
"""Time step of the simulation, in seconds; an explicit method would need a hundredth of it for springs and rods."""


FACTS = FactFile.beside(__file__)


def pair_of_legs(floating: bool, softer: float = 1.0) -> Robot:
    """Return the robot, on a stand or free, with leaf springs as they are or softer."""
    b = Builder("pair of legs")
    b.add_body("pelvis", MassProperties.box(12.0, (0.2, 0.3, 0.2)))
    for side, y in SIDES.items():
        _leg(b, side, y, softer)
    robot = b.build(floating_base=floating)
    return robot


def _leg(b: Builder, side: str, y: float, softer: float) -> None:
    hinge, down = Revolute("y"), (0.0, 0.0, -1.0)

    def rod(name: str, parent: str, at: tuple[float, float, float], length: float, mass: float, **joint: Any) -> None:
        end = tuple(length * x for x in joint.pop("along", down))
        properties = MassProperties.rod(mass, (0.0, 0.0, 0.0), end)
        whole, name_of_joint = (parent if parent == "pelvis" else f"{side}_{parent}"), joint.pop("called", name)
        b.add_body(f"{side}_{name}", properties)
        b.joint(f"{side}_{name_of_joint}", whole, f"{side}_{name}", hinge, at, **joint)

    def leaf(name: str) -> dict[str, Any]:
        stiffness, damping = SPRINGS[name]
        return {"called": name, "stiffness": stiffness / softer, "damping": damping, "actuated": False}

    back = (-1.0, 0.0, 0.0)
    rod("thigh", "pelvis", (0.0, y, 0.0), THIGH, 4.0, called="hip", rotor_inertia=0.3)
    rod("knee", "thigh", (0.0, 0.0, -THIGH), 0.06, 0.8, called="knee", rotor_inertia=0.3)
    rod("shin", "knee", (0.0, 0.0, -0.06), SHIN - 0.06, 0.6, **leaf("shin_spring"))
    rod("tarsus", "shin", (0.0, 0.0, 0.06 - SHIN), TARSUS, 0.8, called="ankle", actuated=False)
    rod("heel", "tarsus", (0.0, 0.0, 0.0), HEEL, 0.15, along=back, **leaf("heel_spring"))
    rod("achilles", "thigh", (-HEEL, 0.0, -THIGH), SHIN, 0.15, called="achilles", actuated=False)
    rod("crank", "tarsus", (0.0, 0.0, -0.1), TOE_LEVER, 0.1, along=back, called="toe_motor", rotor_inertia=0.02)
    rod("plantar", "crank", (-TOE_LEVER, 0.0, 0.0), TARSUS - 0.1, 0.1, called="plantar", actuated=False)
    rod("foot", "tarsus", (0.0, 0.0, -TARSUS), FOOT, 0.2, along=(1.0, 0.0, 0.0), called="toe", actuated=False)
    ends = {
        "achilles_end": ("achilles", "heel", (0.0, 0.0, -SHIN), (-HEEL, 0.0, 0.0)),
        "plantar_end": ("plantar", "foot", (0.0, 0.0, 0.1 - TARSUS), (-TOE_LEVER, 0.0, 0.0)),
    }
    for name, (one, other, place, seat) in ends.items():
        b.loop(f"{side}_{name}", f"{side}_{one}", f"{side}_{other}", Spherical(), placement=place, seat=seat)


def posture(robot: Robot, hip: float, knee: float, toe: float) -> Array:
    """Return the configuration with springs at rest: both linkages are parallelograms."""
    q = robot.neutral()
    for side in SIDES:
        places = {"hip": hip, "knee": knee, "ankle": -knee, "achilles": knee, "toe_motor": toe, "plantar": -toe,
                  "toe": toe}  # fmt: skip
        for name, value in places.items():
            q[robot.joint(f"{side}_{name}").q_slice] = value
    return q


def squat(quick: bool) -> Outcome:
    """Simulate squats on a stand, with steel leaf springs and with springs ten times as soft."""
    robot = pair_of_legs(False)
    time = 0.5 * PERIOD if quick else 2.0 * PERIOD
    record = _squatted(robot, time, STEP)
    fine = _squatted(robot, time, 0.25 * STEP)
    finest = _squatted(robot, time, 0.0625 * STEP)
    soft = _squatted(pair_of_legs(False, 10.0), time, STEP)
    errors = [float(np.abs(r.q - finest.q).max()) for r in (record, fine)]
    balances = [float(np.abs(r.energy.error).max()) for r in (record, fine)]
    bent, softly = (np.abs(r.q[:, _places(robot, "shin_spring")]).max() for r in (record, soft))
    motors = [k for name in ("hip", "knee", "toe_motor") for k in _places(robot, name)]
    found = robot.mobility(record.q[0])
    facts = FACTS(
        "cassie, squat", bodies_and_loops=(len(robot.model.bodies), len(robot.model.loops)),
        freedoms=int(found.freedoms), constraints=(robot.n_constraints, robot.coordinates.rank),
        gap=robot.closure_error(record.q), error_ratio=errors[1] / errors[0], balance_ratio=balances[1] / balances[0],
        torque=record.tau[:, motors], softness=softly / bent,
    )  # fmt: skip
    left = {name: _places(robot, name)[0] for name in ("hip", "knee", "toe_motor")}
    panels = [
        PlotPanel("motors [rad]", [Curve(name, record.q[:, k]) for name, k in left.items()]),
        PlotPanel("torque [N m]", [Curve(name, record.tau[:, k]) for name, k in left.items()]),
        PlotPanel("leaf springs [rad]", [Curve(name, record.q[:, _places(robot, name)[0]]) for name in SPRINGS]),
    ]
    remark = (
        f"Steps of {STEP:g} s, implicit in springs, damping and servos: the fastest of the light rods on their springs "
        "would let an explicit step of that length explode."
    )
    caption = "The left leg squats on a stand: motors, their torques, and the leaf springs."
    return Outcome(facts, {}, {"squat": record}, {"squat": Curves(record.time, panels, caption)}, [remark])


def fall(quick: bool) -> Outcome:
    """Simulate a fall with bent springs: only gravity acts, and the springs oscillate."""
    robot = pair_of_legs(True)
    q = posture(robot, *CROUCH)
    q[robot.joint("floating_base").q_slice] = (0, 0, 0, 1, 0, 0, 1.5)
    for side in SIDES:
        q[robot.joint(f"{side}_shin_spring").q_slice] = 0.08
    held = [f"{side}_{name}" for side in SIDES for name in ("hip", "knee", "toe_motor", *SPRINGS)]
    q = robot.close(q, fixed=held)
    record = simulate(
        robot, q, time=0.1 if quick else 0.5, friction=False, integrator="rk4", step=2e-4, samples=101, progress=False
    )
    t, high = record.time, robot.center_of_mass(record.q)
    thrown = high[0] - 0.5 * 9.81 * t[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
    facts = FACTS(
        "cassie, fall", freedoms=int(robot.mobility(q).freedoms), off_parabola=high - thrown,
        energy_error=record.energy.relative_error, gap=robot.closure_error(record.q),
        shin_springs=record.q[:, _places(robot, "shin_spring", of_q=True)],
        spin=robot.momentum(record.q, record.v)[:, :3],
    )  # fmt: skip
    panels = [
        PlotPanel("leaf springs [rad]",
                  [Curve(name, record.q[:, _places(robot, name, of_q=True)[0]]) for name in SPRINGS]),
        PlotPanel("energy error [J]", [Curve("of the sum", np.maximum(np.abs(record.energy.error), 1e-16))], log=True),
    ]  # fmt: skip
    caption = "Let go in the air with bent shin springs: springs, and what becomes of the energy."
    return Outcome(facts, {}, {"fall": record}, {"fall": Curves(record.time, panels, caption)},
                   ["No motor acts and nothing rubs (rk4, steps of 0.2 ms)."])  # fmt: skip


def _squatted(robot: Robot, time: float, step: float) -> Record:
    middle, sway = np.tile(CROUCH, len(SIDES)), np.tile(SWAY, len(SIDES))
    wanted = Sine(middle, sway, 1.0 / PERIOD, -0.5 * np.pi)  # it begins at rest
    settings: dict[str, Any] = {"integrator": "implicit_euler", "step": step, "samples": 51, "progress": False}
    begin = posture(robot, *np.subtract(CROUCH, SWAY))
    return simulate(robot, begin, time=time, controller=PD(wanted, *GAINS), **settings)


def _places(robot: Robot, name: str, of_q: bool = False) -> list[int]:
    """Return the indices of a joint of both legs in v, or in q."""
    joints = [robot.joint(f"{side}_{name}") for side in SIDES]
    return [(joint.q_slice if of_q else joint.v_slice).start for joint in joints]


STUDY = Study(
    "cassie",
    "a pair of legs with leaf springs and four loops, of Cassie's kind",
    "ours",
    {"squat": squat, "fall": fall},
    (
        "Thigh, shin and tarsus of 0.5, 0.5 and 0.45 m; both linkages are parallelograms, so that all positions with "
        "springs at rest are known. Leaf springs of 2300 and 1500 N m/rad, rotors of 0.3 kg m^2 at hip and knee.",
        "The drive train is Cassie's in kind; sizes, masses and springs are our own.",
    ),
)
