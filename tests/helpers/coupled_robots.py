"""Robots whose joints are coupled, with numbers drawn at random, and measurements of their motors."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from helpers.measured_motions import fourier
from kinetree.identification.closed_motion import follow

LINK = {"mass": 1.0, "com": (0.2, 0.01, 0.02), "inertia": (0.01, 0.02, 0.02), "damping": 0.1, "friction": 0.2}
SMALL = {"mass": 0.6, "com": (0.1, 0.02, 0.03), "inertia": (0.006, 0.007, 0.005)}


def gear(rng):
    """Two levers with a gear between them, a motor on each."""
    b = kt.Builder("gear")
    b.body("one", "base", kt.Revolute("y"), **LINK)
    b.body("two", "base", kt.Revolute("y"), position=(0.3, 0, 0), **LINK)
    b.coupling("gear", "two_joint", "one_joint", [0.1, _ratio(rng)])
    return b.build()


def mimic(rng):
    """An arm whose last joint follows its first."""
    b = kt.Builder("mimic")
    b.body("one", "base", kt.Revolute("y"), joint_name="lead", **LINK)
    b.body("two", "one", kt.Revolute("z"), position=(0.3, 0, 0), **LINK)
    b.body("three", "two", kt.Revolute("y"), position=(0.3, 0, 0), mimic=kt.Mimic("lead", _ratio(rng), 0.1), **SMALL)
    return b.build()


def wrist(rng):
    """A differential: two motors on the arm turn the hand by half their sum, and roll it by half their difference."""
    b = kt.Builder("wrist")
    b.body("arm", "base", kt.Revolute("y"), **LINK)
    b.body("pitch", "arm", kt.Revolute("y"), position=(0.3, 0, 0), actuated=False, **SMALL)
    b.body("roll", "pitch", kt.Revolute("x"), position=(0.1, 0, 0), actuated=False, **SMALL)
    for name, side in (("left", 1.0), ("right", -1.0)):
        b.body(name, "arm", kt.Revolute("y"), position=(0.1, 0.1 * side, 0), mass=0.2, inertia=(1e-3,) * 3,
               damping=0.05, friction=0.1)  # fmt: skip
    b.coupling("sum", {"left_joint": 1.0, "right_joint": 1.0, "pitch_joint": -2.0})
    b.coupling("difference", {"left_joint": 1.0, "right_joint": -1.0, "roll_joint": -2.0})
    return b.build()


def sums(rng):
    """Three motors, the last of which turns by a sum of what the others do: its offset is one of theirs."""
    b = kt.Builder("sums")
    for k, axis in enumerate("yzy"):
        b.body(f"l{k}", f"l{k - 1}" if k else "base", kt.Revolute(axis), position=(0.3 if k else 0, 0, 0), **LINK)
    b.coupling("sum", {"l2_joint": 1.0, "l0_joint": _ratio(rng), "l1_joint": -1.0})
    return b.build()


def parallelogram(rng):
    """Two cranks with motors and a rod between: the same friction twice."""
    height = float(rng.uniform(0.2, 0.4))
    b = kt.Builder("parallelogram")
    b.body("a", "base", kt.Revolute("y"), **LINK)
    b.body("c", "base", kt.Revolute("y"), position=(0.4, 0, 0), **LINK)
    b.body("b", "a", kt.Revolute("y"), position=(0, 0, height), actuated=False, **SMALL)
    b.loop("pin", "b", "c", kt.Revolute("y"), placement=(0.4, 0, 0), seat=(0, 0, height))
    return b.build()


def five_bar(rng):
    """Two cranks with motors, and two rods that meet."""
    b = kt.Builder("five-bar")
    far = float(rng.uniform(0.5, 0.7))
    for side, x in (("left", 0.0), ("right", 0.4)):
        b.body(f"{side} crank", "base", kt.Revolute("y"), position=(x, 0, 0), **LINK)
        b.body(f"{side} rod", f"{side} crank", kt.Revolute("y"), position=(0.0, 0, 0.3), actuated=False, **SMALL)
    b.loop("tip", "left rod", "right rod", kt.Revolute("y"), placement=(0, 0, far), seat=(0, 0, far))
    return b.build()


COUPLED = {make.__name__: make for make in (gear, mimic, wrist, sums, parallelogram, five_bar)}


def _ratio(rng):
    return float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0))


def driven(robot):
    """Return the freedoms that have a motor."""
    joints = [j for j in robot.model.joints if j.actuated and not j.mimic]
    return [k for j in joints for k in range(j.v_slice.start, j.v_slice.stop)]


def closed_motion(robot, rng, duration=20.0, rate=100.0, amplitude=0.5):
    """Return times, positions, velocities and accelerations of a motion that the couplings allow."""
    if not robot.closes_loops:
        return fourier(robot.nv, rng, duration, rate=rate, amplitude=amplitude)
    names = [robot.v_names[k] for k in robot.coordinates.independent]
    center = robot.assembled()[[robot.q_names.index(name) for name in names]]
    t, q, v, a = fourier(len(names), rng, duration, rate=rate, amplitude=amplitude, center=center)
    q = follow(robot, q, None)
    v = robot.velocities(q, v)
    return t, q, v, robot.accelerations(q, v, a)


def forces(robot, q, v, a):
    """Return the least forces of the motors that do this motion, friction included."""
    whole = (robot.tree if robot.closes_loops else robot).inverse_dynamics(q, v, a, friction=True)
    if not robot.closes_loops:
        return whole
    basis, motors = np.swapaxes(robot.basis(q), 1, 2), driven(robot)
    found = np.zeros_like(whole)
    found[:, motors] = (np.linalg.pinv(basis[..., motors]) @ (basis @ whole[..., None]))[..., 0]
    return found


def measured(robot, rng, noise=0.05, **motion):
    """Return what was measured of a motion; forces of motors with some noise."""
    t, q, v, a = closed_motion(robot, rng, **motion)
    tau, motors = forces(robot, q, v, a), driven(robot)
    tau[:, motors] += noise * rng.standard_normal((len(t), len(motors)))
    return kt.Measured(t, q, tau, v)
