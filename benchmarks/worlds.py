"""``World.step`` of thousands of quadrupeds beside the kernel's own speed and MuJoCo's rollout, on one thread.

Both get new targets for their servos every period of twenty steps.  MuJoCo's ``rollout`` steps one robot after the
other in C++, on the calling thread (``nthread=0``), for a part of the worlds: its time per robot does not hang on how
many there are.

What differs in the contact models, plainly: MuJoCo finds contacts between spheres and a plane and solves a convex
problem for their forces in every step (soft constraints, pyramidal friction), which stays stable with long steps and
stiff ground.  kinetree evaluates a spring-damper law with smooth Coulomb friction at four named spots, without a search
for contacts and without a solver: that is cheaper by nature, and limits the step to what the springs allow.  MuJoCo's
step is also implicit in the damping of joints; here joints have none.  Observation, reward and end are in kinetree's
time, and the states of all steps in MuJoCo's, which rollout always writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mujoco
import mujoco.rollout
import numpy as np

import kinetree as kt
from kinetree.contact.ground import Ground, HuntCrossley, PseudoCoulomb
from kinetree.contact.surfaces import Spot

from .asked import made_for
from .simulation import EULER, bare_spec, load, with_servos
from .timing import Table, alternate, repeated

BATCH, SUBSTEPS, STEP = 4096, 20, 5e-4
THEIRS = 128
"""Worlds that MuJoCo steps."""

LONG = 400
"""Substeps of a period so long that what a call costs does not count: the kernel's own speed."""


@dataclass(frozen=True)
class Quadruped:
    """What of a four-legged robot is no part of its file."""

    path: str
    feet: tuple[str, ...]
    standing: tuple[float, ...]
    radius: float
    kp: float
    kd: float
    stiffness: float


GO2 = Quadruped(
    "go2_description/urdf/go2.urdf", ("FL_foot", "FR_foot", "RL_foot", "RR_foot"), (0.0, 0.8, -1.6) * 4, 0.022,
    80.0, 2.0, 2e4,
)  # fmt: skip
SOLO = Quadruped(
    "solo_description/robots/solo12.urdf", ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    (0.0, 0.8, -1.6) * 2 + (0.0, -0.8, 1.6) * 2, 0.017, 6.0, 0.15, 3e3,
)  # fmt: skip


def standing(robot: kt.Robot, its: Quadruped) -> np.ndarray:
    """A configuration a centimeter above the ground."""
    q = robot.neutral()
    q[7:] = its.standing
    q[6] = its.radius + 0.01 - min(robot.pose(q, foot)[2, 3] for foot in its.feet)
    return q


def our_world(its: Quadruped, substeps: int = SUBSTEPS, batch: int = BATCH, **options: object) -> kt.World:
    """Thousands of them with their own masses and friction."""
    robot = load(its.path, floating_base=True)
    base = robot.body_names[0]
    spots = [Spot(foot, radius=its.radius) for foot in its.feet]
    ground = Ground(spots, HuntCrossley(its.stiffness, 1.0, exponent=1), PseudoCoulomb(0.7, 50.0))
    return kt.World(
        robot, batch=batch, action=kt.control.Commanded("position", kp=its.kp, kd=its.kd), ground=ground, step=STEP,
        substeps=substeps, friction=False, q0=standing(robot, its),
        random={
            "bodies": {base: {"mass": kt.Uniform(0.8, 1.2, relative=True)}},
            "ground": {"friction": kt.Uniform(0.5, 0.9)},
        },
        observe=lambda m: [*m.q[7:], *m.v, *m.axis(base), *m.action],
        reward=lambda m: m.velocity(base).x - 1e-3 * m.power, ended=lambda m: m.place(base).z < 0.1, **options,
    )  # fmt: skip


def their_rollout(its: Quadruped, targets: np.ndarray) -> tuple[Callable[[], np.ndarray], mujoco.MjModel]:
    """The same robot on MuJoCo's ground, twenty steps of some worlds at a time, each call where the last one ended."""
    robot = load(its.path, floating_base=True)
    spec = bare_spec(its.path)
    spec.bodies[1].add_freejoint(name="floating_base")
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    with_servos(spec, its.kp, its.kd)
    for foot in its.feet:
        frame = robot.frame(foot)
        spec.body(robot.body_names[frame.body]).add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[its.radius, 0, 0], pos=list(frame.pose.position), mass=0.0,
            contype=0, conaffinity=1, friction=[0.7, 0.005, 0.0001],
        )  # fmt: skip
    model = spec.compile()
    model.opt.timestep, model.opt.integrator = STEP, EULER
    model.dof_damping[:], model.dof_frictionloss[:], model.jnt_actfrclimited[:] = 0.0, 0.0, False
    data, q = mujoco.MjData(model), standing(robot, its)
    data.qpos[:3], data.qpos[3:7] = q[4:7], (1, 0, 0, 0)
    for k in range(1, model.njnt):
        joint = robot.joint(model.joint(k).name)
        data.qpos[model.jnt_qposadr[k]] = q[joint.q_slice.start]
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(size)
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, out = np.tile(state, (THEIRS, 1)), np.empty((THEIRS, SUBSTEPS, size))
    order = [robot.joint(model.joint(k).name).v_slice.start - 6 for k in range(1, model.njnt)]
    controls = np.repeat(targets[:THEIRS, None, order], SUBSTEPS, axis=1)
    sensed = np.empty((THEIRS, SUBSTEPS, model.nsensordata))
    pool = mujoco.rollout.Rollout(nthread=0)

    def call() -> np.ndarray:
        pool.rollout(model, data, states, controls, state=out, sensordata=sensed)
        states[:] = out[:, -1]
        return states

    return call, model


def worlds(rounds: int) -> Iterator[Table]:
    """Physics steps per second."""
    narrow = "8 doubles" not in made_for()
    table = Table(
        f"World.step, {BATCH} worlds with their own masses and friction, {SUBSTEPS} substeps, compliant ground, one "
        f"thread: million physics steps a second.\nKernel: {LONG} substeps a call. MuJoCo: rollout of {THEIRS} worlds. "
        "Contact models differ: see the head of benchmarks/worlds.py",
        ("robot", "step", "kernel", "share", "asked", "wanted", "single", "MuJoCo", "ratio"),
    )
    for name, its in (("Go2", GO2), ("Solo", SOLO)):
        world, alone, single = our_world(its), our_world(its, LONG), our_world(its, precision="single")
        rng = np.random.default_rng(0)
        targets = np.array(its.standing) + rng.uniform(-0.02, 0.02, (BATCH, len(its.standing)))
        theirs, model = their_rollout(its, targets)
        for _ in range(100):
            world.step(targets)
            states = theirs()
        ours, rests = world.q[:, 6], states[:, 3]  # behind the time
        assert np.abs(ours.mean() - rests.mean()) < 0.02, f"standing at {ours.mean()} and {rests.mean()}"
        weights = world.contact_forces[:, :, 2].sum(axis=1) / (9.81 * mujoco.mj_getTotalmass(model))
        assert np.all((weights > 0.7) & (weights < 1.3)), weights
        best = alternate(
            {
                "step": lambda: world.step(targets),
                "kernel": lambda: alone.step(targets),
                "single": lambda: single.step(targets),
                "MuJoCo": theirs,
            },
            rounds,
        )
        rate = {
            "step": BATCH * SUBSTEPS / best["step"], "kernel": BATCH * LONG / best["kernel"],
            "single": BATCH * SUBSTEPS / best["single"], "MuJoCo": THEIRS * SUBSTEPS / best["MuJoCo"],
        }  # fmt: skip
        millions = {key: value * 1e-6 for key, value in rate.items()}
        table.add(
            name, millions["step"], millions["kernel"], f"{rate['step'] / rate['kernel']:.0%}", "60%",
            "1" if narrow else "1.5", millions["single"], millions["MuJoCo"], f"{rate['step'] / rate['MuJoCo']:.0f}x",
        )  # fmt: skip
    yield table
    yield _derivatives(rounds)
    yield _environments(rounds)
    yield _call(rounds)


def _derivatives(rounds: int) -> Table:
    """Matrices of one period, and the gradient of twenty, as multiples of what these take without."""
    periods = 20
    table = Table(
        f"Derivatives of Go2's periods in steps, and the gradient of {periods} periods in rollouts",
        ("worlds, substeps", "step, us", "matrices", "asked", "gradient", "asked"),
    )
    for batch, substeps in ((1, SUBSTEPS), (50, 5), (64, 1), (64, SUBSTEPS), (256, 10)):
        world = our_world(GO2, substeps, batch=batch)
        rng = np.random.default_rng(0)
        targets = np.array(GO2.standing) + rng.uniform(-0.02, 0.02, (periods, batch, len(GO2.standing)))
        weights = np.ones(2 * world.robot.nv)
        for _ in range(600 // substeps // periods):
            world.rollout(targets)
        best = alternate(
            {
                "step": lambda: world.step(targets[0]),
                "matrices": lambda: world.step_with_derivatives(targets[0]),
                "rollout": lambda: [world.step(action) for action in targets],
                "gradient": lambda: world.rollout(targets).gradient(states=weights),
            },
            rounds,
        )
        matrices, gradient = best["matrices"] / best["step"], best["gradient"] / best["rollout"]
        table.add(f"{batch}, {substeps}", best["step"] * 1e6, f"{matrices:.1f}", "15", f"{gradient:.2f}", "4")
    return table


def _environments(rounds: int) -> Table:
    """Tasks of kt.gym, resets of those that end included, beside their worlds alone."""
    table = Table(
        f"kt.gym.make_vec(..., num_envs={BATCH}), one thread, what calls of step make in a second, and their share of "
        "World.step's speed",
        ("task", "thousand environment steps", "million physics steps", "share"),
    )
    for name in kt.gym.names():
        environments = kt.gym.make_vec(name, num_envs=BATCH)
        world = kt.gym.make_vec(name, num_envs=BATCH).world
        environments.reset(seed=0)
        actions = np.zeros(environments.action_space.shape, dtype=np.float32)
        commands = np.broadcast_to(environments.command(actions), actions.shape).copy()
        best = alternate({"ours": lambda: environments.step(actions), "alone": lambda: world.step(commands)}, rounds)
        rate = BATCH / best["ours"]
        table.add(name, rate * 1e-3, rate * world.substeps * 1e-6, f"{best['alone'] / best['ours']:.0%}")
    return table


def _call(rounds: int) -> Table:
    """What a call costs beside the physics: of a cart, which has next to none."""
    table = Table("World.step of one cart, microseconds, everything included", ("", "step", "asked"))
    cart = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0).build().with_backend("compiled")
    laws = {"observe": lambda m: [*m.q, *m.v], "reward": lambda m: -abs(m.q[0]), "ended": lambda m: abs(m.q[0]) > 1.0}
    late = {"random": {"delay": kt.Uniform(0.0, 0.01)}}
    pushed = {"pushes": kt.RandomPushes("cart", kt.Uniform(-1.0, 1.0))}
    for name, options in (
        ("no functions", {}), ("observation, reward, end", laws), ("and delays", laws | late),
        ("and pushes", laws | pushed),
    ):  # fmt: skip
        world, action = kt.World(cart, **options), np.zeros((1, 1))
        best = alternate({"step": repeated(lambda: world.step(action), 500)}, rounds)
        table.add(name, best["step"] / 500 * 1e6, "20")
    return table
