"""Batches of simulations beside MuJoCo's steps, on one thread, with the same step and order of integration.

MuJoCo simulates one robot after the other in its own C loop (``mj_step`` with a number of
steps, so no Python in between); kinetree simulates a batch in vector code.

What differs in the contact models of the quadruped, plainly: MuJoCo detects collisions
between spheres and a plane and solves a convex problem for the forces in each step (soft
constraints, pyramidal friction), which stays stable with long steps and rigid ground.
kinetree evaluates a spring-damper law with smooth Coulomb friction at four named points,
without collision detection and without a solver; that is cheaper by nature, and limits the
step to what the springs allow (half a millisecond here is far within).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import mujoco
import numpy as np

import kinetree as kt
from kinetree import control as laws
from kinetree.contact.ground import Ground, HuntCrossley, PseudoCoulomb
from kinetree.motion import trajectories

from .asked import asked
from .robots import folder
from .timing import Table, alternate

BATCH = 256
STEPS = 1000
ARM, QUADRUPED = "panda_description/urdf/panda.urdf", "solo_description/robots/solo12.urdf"
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
STANDING = np.array([0.0, 0.8, -1.6] * 2 + [0.0, -0.8, 1.6] * 2)
RADIUS = 0.017

EULER, RK4 = mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_RK4


def load(path: str, **options: object) -> kt.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kt.load(folder() / path, **options).with_backend("compiled")


def bare_spec(path: str) -> mujoco.MjSpec:
    """MuJoCo's reading of a URDF without its meshes."""
    text = (folder() / path).read_text()
    for tag in ("visual", "collision"):
        text = re.sub(rf"<{tag}\b[^>]*/>|<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    return mujoco.MjSpec.from_string(text)


def with_servos(spec: mujoco.MjSpec, kp: float, kd: float) -> None:
    """Position servos, kp (target - q) - kd v, on all joints but a free one."""
    for joint in spec.joints:
        if joint.type != mujoco.mjtJoint.mjJNT_FREE:
            servo = spec.add_actuator(name=f"servo_{joint.name}", target=joint.name)
            servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
            servo.gainprm[0] = kp
            servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            servo.biasprm[1], servo.biasprm[2] = -kp, -kd


def arm_contest() -> Iterator[tuple[str, object, object, int, int]]:
    """A Panda under PD control, no contacts: the same motion in both."""
    kp, kd, step = 100.0, 10.0, 1e-3
    robot = load(ARM, mimic="independent")
    spec = bare_spec(ARM)
    with_servos(spec, kp, kd)
    model = spec.compile()
    model.opt.timestep = step
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    model.dof_damping[:], model.dof_frictionloss[:], model.jnt_actfrclimited[:] = 0.0, 0.0, False
    goal = np.array([0.3, -0.4, 0.2, -1.5, 0.1, 1.2, 0.5, 0.02, 0.02])[: robot.nv]
    order = [robot.joint(model.joint(i).name).q_slice.start for i in range(model.njnt)]
    q = robot.neutral() + np.random.default_rng(0).uniform(-0.3, 0.3, (BATCH, robot.nq))
    law = laws.PD(trajectories.Constant(goal), kp, kd)
    for label, own, theirs in (("semi_implicit_euler", "semi_implicit_euler", EULER), ("rk4", "rk4", RK4)):
        simulator = kt.Simulator(robot, controller=law, integrator=own, step=step, friction=False)
        data = mujoco.MjData(model)
        data.ctrl[:] = goal[order]

        def theirs_run(integrator: int = theirs, data: mujoco.MjData = data) -> np.ndarray:
            model.opt.integrator = integrator
            data.qpos[:], data.qvel[:], data.time = q[0][order], 0.0, 0.0
            mujoco.mj_step(model, data, STEPS)
            return data.qpos.copy()

        def ours(simulator: kt.Simulator = simulator) -> kt.Record:
            return simulator.run(q, time=STEPS * step, samples=2, progress=False)

        twice = simulator.run(q[:1], time=STEPS * step, samples=2)
        apart = np.abs(twice.q[-1, 0][order] - theirs_run()).max()
        assert apart < 1e-7, f"not the same motion: {apart}"
        yield f"Panda, PD, {label}", ours, theirs_run, BATCH * STEPS, STEPS


def quadruped_contest() -> Iterator[tuple[str, object, object, int, int]]:
    """Solo on its four feet, held by PD control, dropped by a centimeter."""
    kp, kd, step = 6.0, 0.15, 5e-4
    robot = load(QUADRUPED, floating_base=True)
    q0 = robot.neutral()
    q0[7:] = STANDING
    lowest = min(robot.pose(q0, foot)[2, 3] for foot in FEET)
    q0[6] = RADIUS + 0.01 - lowest
    rng = np.random.default_rng(0)
    q = np.repeat(q0[None], BATCH, axis=0)
    q[:, 7:] += rng.uniform(-0.05, 0.05, (BATCH, 12))

    spec = bare_spec(QUADRUPED)
    spec.bodies[1].add_freejoint(name="floating_base")
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    with_servos(spec, kp, kd)
    for foot in FEET:
        frame = robot.frame(foot)
        carrier = spec.body(robot.body_names[frame.body])
        carrier.add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0, 0], pos=list(frame.pose.position), mass=0.0,
            contype=0, conaffinity=1, friction=[0.7, 0.005, 0.0001],
        )  # fmt: skip
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = step, EULER
    data = mujoco.MjData(model)
    data.ctrl[:] = STANDING

    def theirs() -> None:
        mujoco.mj_resetData(model, data)
        data.ctrl[:] = STANDING
        data.qpos[:3], data.qpos[3:7], data.qpos[7:] = q0[4:7], (1, 0, 0, 0), STANDING
        mujoco.mj_step(model, data, STEPS)

    from kinetree.contact.surfaces import Spot

    spots = [Spot(foot, radius=RADIUS) for foot in FEET]
    ground = Ground(spots, HuntCrossley(3e3, 1.0, exponent=1), PseudoCoulomb(0.7, 50.0))
    law = laws.PD(trajectories.Constant(STANDING), kp, kd)
    simulator = kt.Simulator(
        robot, controller=law, ground=ground, integrator="semi_implicit_euler", step=step, friction=False
    )

    def ours() -> kt.Record:
        return simulator.run(q, time=STEPS * step, samples=2, progress=False)

    settled = simulator.run(q[:8], time=1.0, samples=2)
    height = settled.q[-1, :, 6]
    theirs()
    mujoco.mj_step(model, data, 1600)
    assert np.all(np.abs(height - data.qpos[2]) < 0.02), f"standing at {height} and {data.qpos[2]}"
    weight = settled.contact_forces[-1, :, :, 2].sum(axis=1)
    assert np.allclose(weight, 9.81 * robot.mass, rtol=0.05), weight
    yield "Solo, PD, four feet on the ground, Euler", ours, theirs, BATCH * STEPS, STEPS


def simulation(rounds: int) -> Iterator[Table]:
    """Steps per second."""
    table = Table(
        f"Simulation, batches of {BATCH}, one thread, ns per step of one robot",
        ("robot", "kinetree", "MuJoCo", "ratio", "wanted"),
    )
    for contests, wanted in ((arm_contest, asked("simulation")), (quadruped_contest, "10x")):
        for name, ours, theirs, our_steps, their_steps in contests():
            best = alternate({"ours": ours, "theirs": theirs}, rounds)
            a, b = 1e9 * best["ours"] / our_steps, 1e9 * best["theirs"] / their_steps
            table.add(name, a, b, f"{b / a:.0f}x", wanted)
    yield table
