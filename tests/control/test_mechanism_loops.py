"""Model-based control of mechanisms with closed loops: linear errors, least forces, balance of power, refusals."""

import itertools
import pickle

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from helpers.loop_models import compiled_system
from helpers.mechanisms import CLOSING, closed_state, four_bar, spatial, two_loops
from kinetree import control as laws
from kinetree.control import mechanism_loops
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace
from kinetree.errors import OptionError, SimulationError, SingularError, UnknownNameError, UnsupportedError
from kinetree.loops.loops_class.assembling import Assembling
from kinetree.motion import trajectories

KP, KD = 60.0, 9.0
QUICK = {"samples": 9, "rtol": 1e-10, "atol": 1e-12, "progress": False}


def named(name):
    return kt.gallery.load(name), kt.gallery.start(name)


SYSTEMS = {
    "four-bar": lambda: named("four-bar"),
    "five-bar": lambda: named("five-bar"),
    "3-rrr": lambda: named("3-rrr"),
    "sr400": lambda: named("sr400"),
    "delta": lambda: named("delta"),
    "geared five-bar": lambda: assembled(models.geared_five_bar(), models.FIVE_BAR_START[[0, 1, 3]]),
    "cut at the ground": lambda: assembled(models.five_bar_cut_at_the_ground(), [2.0, -1.0, 2.0, 1.0]),
}


def assembled(robot, guess):
    return robot, robot.close(guess)


def places(robot, names=None):
    """Where the positions and the velocities of joints with one freedom each are in q and v."""
    joints = robot.model.driven_joints if names is None else [robot.model.joint(n) for n in names]
    return [j.q_slice.start for j in joints], [j.v_slice.start for j in joints]


def moved(robot, q, names, by):
    """The configuration in which some joints are elsewhere, the others where the loops put them."""
    there = {n: q[robot.model.joint(n).q_slice] + x for n, x in zip(names, by, strict=True)}
    return robot.close(q, fixed=there)


def swing(q, places, size=0.08):
    """A motion of each coordinate about where it is, all at different speeds."""
    count = len(places)
    return trajectories.Sine(q[places] - 0.0, size * np.ones(count), np.linspace(0.7, 1.1, count))


def linear_error(t, e, e_dot, kp=KP, kd=KD):
    """What e'' + kd e' + kp e = 0 makes of an error, underdamped."""
    w, t = np.sqrt(kp - 0.25 * kd * kd), np.asarray(t)[:, None]
    return np.exp(-0.5 * kd * t) * (e * np.cos(w * t) + (e_dot + 0.5 * kd * e) / w * np.sin(w * t))


# ------------------------------------------------------------------ the law at a state


@pytest.mark.parametrize("name", SYSTEMS)
def test_computed_torque_is_inverse_dynamics_of_the_completed_acceleration(name):
    robot, start = SYSTEMS[name]()
    rng = np.random.default_rng(3)
    where_q, where_v = places(robot)
    names = [j.name for j in robot.model.driven_joints]
    q = moved(robot, start, names, 0.05 * rng.standard_normal(len(names)))
    v = robot.velocities(q, rng.standard_normal(len(names)))
    goal = swing(start, where_q)
    p, p_dot, p_ddot = goal(0.4)
    alpha = p_ddot + KP * (p - q[where_q]) + KD * (p_dot - v[where_v])
    a = robot.accelerations(q, v, alpha)
    tau = laws.ComputedTorque(goal, KP, KD)(robot, 0.4, q, v)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a, method="f_matrix"), atol=1e-9 * abs(tau).max())
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau)[where_v], alpha, rtol=1e-7, atol=1e-7)
    assert np.all(tau[~robot.driven] == 0.0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_feedforward_is_inverse_dynamics_along_the_closed_motion(name):
    robot, start = SYSTEMS[name]()
    where_q, where_v = places(robot)
    names = [j.name for j in robot.model.driven_joints]
    goal = swing(start, where_q)
    q = moved(robot, start, names, np.full(len(names), -0.1))
    v = robot.velocities(q, np.full(len(names), 0.3))
    p, p_dot, p_ddot = goal(0.2)
    planned = moved(robot, start, names, p - start[where_q])
    rate = robot.velocities(planned, p_dot)
    expected = robot.inverse_dynamics(planned, rate, robot.accelerations(planned, rate, p_ddot))
    expected[where_v] += KP * (p - q[where_q]) + KD * (p_dot - v[where_v])
    tau = laws.Feedforward(goal, KP, KD)(robot, 0.2, q, v)
    np.testing.assert_allclose(tau, expected, rtol=1e-8, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_gravity_compensation_is_the_slope_of_the_potential_energy(name):
    """Along the closed motions V changes by the motors' forces, whatever the passive joints do."""
    robot, start = SYSTEMS[name]()
    names = [j.name for j in robot.model.driven_joints]
    tau = laws.GravityCompensation()(robot, 0.0, start, np.zeros(robot.nv))
    h = 1e-4
    for k, place in enumerate(places(robot)[1]):
        step = np.zeros(len(names))
        heights = []
        for size in (-2 * h, -h, h, 2 * h):
            step[k] = size
            heights.append(robot.potential_energy(moved(robot, start, names, step)))
        slope = (heights[0] - 8 * heights[1] + 8 * heights[2] - heights[3]) / (12 * h)
        np.testing.assert_allclose(tau[place], slope, rtol=1e-7, atol=1e-7 * (1.0 + abs(tau).max()))


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "3-rrr"])
def test_laws_are_the_same_as_machine_code_in_a_batch_and_one_by_one(name):
    robot, start = SYSTEMS[name]()
    tree, rng = robot.model, np.random.default_rng(0)
    names = [j.name for j in tree.driven_joints]
    q = np.stack([moved(robot, start, names, 0.05 * rng.standard_normal(len(names))) for _ in range(5)])
    v = robot.velocities(q, rng.standard_normal((5, len(names))))
    goal = swing(start, places(robot)[0])
    for law in (
        laws.ComputedTorque(goal, KP, KD),
        laws.Feedforward(goal, KP, KD),
        laws.GravityCompensation() + laws.FrictionCompensation(),
    ):
        whole = law(robot, 0.3, q, v)
        single = np.array([law(robot, 0.3, *state) for state in zip(q, v, strict=True)])

        def on_nodes(t, q, v, law=law):
            return law.law(tree, t[0], q, v, [])[0]

        kernel = Kernel("law", lambda f=on_nodes: trace(f, (1, tree.nq, tree.nv), lambda x: x), (1, tree.nq, tree.nv),
                        (tree.nv,))  # fmt: skip
        size = 1e-11 * abs(whole).max()
        np.testing.assert_allclose(whole, single, atol=size)
        np.testing.assert_allclose(kernel(np.array([0.3]), q, v), single, atol=size)


def test_lost_lanes_leave_the_others_alone():
    robot, start = named("five-bar")
    q = np.stack([start, np.full(4, np.nan), start])
    law = laws.ComputedTorque(trajectories.Constant(start[places(robot)[0]]), KP, KD)
    tau = law(robot, 0.0, q, np.zeros(4))
    assert np.isnan(tau[1, robot.driven]).all()
    np.testing.assert_allclose(tau[[0, 2]], np.tile(law(robot, 0.0, start, np.zeros(4)), (2, 1)), rtol=1e-12)


# ------------------------------------------------------------------ motions


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "3-rrr"])
@pytest.mark.parametrize("how", [{}, {"integrator": "dopri5", "step": 5e-4}])
def test_errors_die_out_as_prescribed(name, how):
    robot, start = SYSTEMS[name]()
    robot = robot.with_backend("compiled")
    where_q, where_v = places(robot)
    names = [j.name for j in robot.model.driven_joints]
    goal = swing(start, where_q)
    e = np.linspace(0.04, -0.06, len(names))
    q = moved(robot, start, names, -e)
    v = robot.velocities(q, np.full(len(names), 0.4))
    record = kt.simulate(
        robot, q, v, time=0.6, controller=laws.ComputedTorque(goal, KP, KD), **{**QUICK, **how}
    )  # fmt: skip
    expected = linear_error(record.time, e, goal(0.0)[1] - v[where_v])
    assert abs(expected[-1]).max() < 0.2 * abs(e).max()
    np.testing.assert_allclose(goal(record.time)[0] - record.q[:, where_q], expected, atol=1e-9)
    assert record.energy.relative_error < 1e-8
    assert robot.closure_error(record.q).max() < 1e-9


def test_what_the_motors_do_becomes_energy():
    """The work of the motor of a four-bar, from samples of its force by Simpson's rule, is what the links gain."""
    robot, start = named("four-bar")
    goal = trajectories.Cycloid(start[:1], start[:1] + 1.0, 0.5)
    record = kt.simulate(
        robot.with_backend("compiled"), start, time=0.5, controller=laws.ComputedTorque(goal, KP, KD),
        **(QUICK | {"samples": 401}),
    )  # fmt: skip
    power = (record.tau * record.v).sum(axis=-1)
    h = record.time[1] - record.time[0]
    work = h / 3.0 * (power[0] + power[-1] + 4.0 * power[1:-1:2].sum() + 2.0 * power[2:-1:2].sum())
    gained = robot.potential_energy(record.q[[0, -1]]) + robot.kinetic_energy(record.q[[0, -1]], record.v[[0, -1]])
    np.testing.assert_allclose(work, gained[1] - gained[0], atol=1e-8)
    assert abs(gained[1] - gained[0]) > 0.1
    assert np.all(record.tau[:, ~robot.driven] == 0.0)


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "3-rrr"])
def test_gravity_compensation_holds_what_would_fall(name):
    robot, start = SYSTEMS[name]()
    robot = robot.with_backend("compiled")
    held = kt.simulate(robot, start, time=0.3, controller=laws.GravityCompensation(), **QUICK)
    fallen = kt.simulate(robot, start, time=0.1, **QUICK)
    assert abs(fallen.q[-1] - start).max() > 1e-3
    np.testing.assert_allclose(held.q, np.tile(start, (9, 1)), atol=1e-9)


def test_feedforward_follows_open_loop_from_the_exact_start_and_its_servo_takes_errors_away():
    robot, start = named("3-rrr")
    robot = robot.with_backend("compiled")
    where_q, _ = places(robot)
    goal = swing(start, where_q)
    v = robot.velocities(start, goal(0.0)[1])
    replayed = kt.simulate(robot, start, v, time=0.3, controller=laws.Feedforward(goal, 0.0, 0.0), **QUICK)
    np.testing.assert_allclose(replayed.q[:, where_q], goal(replayed.time)[0], atol=1e-8)
    names = [j.name for j in robot.model.driven_joints]
    beside = moved(robot, start, names, [0.05, -0.05, 0.05])
    record = kt.simulate(
        robot, beside, time=2.0, controller=laws.Feedforward(goal, 1500.0, 150.0), **QUICK | {"rtol": 1e-7}
    )
    np.testing.assert_allclose(record.q[-1, where_q], goal(2.0)[0], atol=1e-5)


def test_friction_of_passive_joints_is_overcome_by_the_motors():
    b = kt.Builder("rubbing four-bar", gravity=(0, -9.81, 0))
    rod = kt.MassProperties.rod(1.0, (0, 0, 0), (0.4, 0, 0))
    b.body("crank", "base", kt.Revolute("z"), mass_properties=rod, damping=0.3)
    b.body("coupler", "crank", kt.Revolute("z"), position=(0.4, 0, 0), mass_properties=rod, actuated=False,
           damping=0.5, friction=0.4)  # fmt: skip
    b.body("rocker", "base", kt.Revolute("z"), position=(0.5, 0, 0), mass_properties=rod, actuated=False, friction=1.0)
    b.loop("pin", "coupler", "rocker", kt.Revolute("z"), placement=(0.4, 0, 0), seat=(0.4, 0, 0))
    robot = b.build().with_backend("compiled")
    start = robot.close([1.2, -0.9, 1.0])
    goal = swing(start, [0])
    law = laws.ComputedTorque(goal, KP, KD)
    expected = linear_error([0.0, 0.3], 0.0, goal(0.0)[1])
    for controller, exact in ((law + laws.FrictionCompensation(), True), (law, False)):
        record = kt.simulate(robot, start, time=0.3, controller=controller, **QUICK | {"samples": 2})
        error = goal(record.time)[0] - record.q[:, :1]
        assert (abs(error - expected).max() < 1e-9) == exact


def test_a_batch_of_gains_steps_in_machine_code():
    robot, start = named("five-bar")
    robot = robot.with_backend("compiled")
    goal = swing(start, places(robot)[0])
    kp = np.array([50.0, 60.0, 80.0])[:, None]
    controller = laws.ComputedTorque(goal, kp, KD)
    record = kt.simulate(robot, start, time=0.3, controller=controller, integrator="rk4", step=1e-3, samples=4)
    for k, stiffness in enumerate(kp[:, 0]):
        error = goal(record.time)[0] - record.q[:, k][:, places(robot)[0]]
        np.testing.assert_allclose(error, linear_error(record.time, 0.0, goal(0.0)[1], stiffness), atol=1e-9)


# ------------------------------------------------------------------ motors elsewhere, more of them, fewer of them


def test_coordinates_need_not_be_where_the_motors_are():
    """The rocker of a four-bar follows while the crank is driven."""
    robot = four_bar().with_backend("compiled")
    start = robot.close([0.4, 1.0, 4.3], fixed=["crank_joint"])
    goal = swing(start, [1], 0.05)
    names = ["rocker_joint"]
    e = np.array([0.02])
    q = moved(robot, start, names, -e)
    controller = laws.ComputedTorque(goal, KP, KD, coordinates=names)
    tau = controller(robot, 0.0, q, np.zeros(3))
    assert tau[0] != 0.0
    assert np.all(tau[1:] == 0.0)
    record = kt.simulate(robot, q, time=0.4, controller=controller, **QUICK)
    error = goal(record.time)[0] - record.q[:, [1]]
    np.testing.assert_allclose(error, linear_error(record.time, e, goal(0.0)[1]), atol=1e-9)
    stiff = laws.Feedforward(goal, 40.0, 2.0, coordinates=names)
    along = kt.simulate(robot, start, robot.with_independent(names).velocities(start, goal(0.0)[1]), time=0.2,
                        controller=stiff, **QUICK)  # fmt: skip
    np.testing.assert_allclose(along.q[:, 1:2], goal(along.time)[0], atol=1e-8)


def test_servo_forces_on_coordinates_do_the_same_work_through_the_motors():
    robot = four_bar()
    q = robot.close([0.4, 1.0, 4.3], fixed=["crank_joint"])
    goal = trajectories.Constant(q[1:2] + 0.01)
    law = [laws.Feedforward(goal, k, 0.0, coordinates=["rocker_joint"])(robot, 0.0, q, np.zeros(3)) for k in (0, 50)]
    v = robot.velocities(q, [1.0])
    np.testing.assert_allclose((law[1] - law[0]) @ v, 50 * 0.01 * v[1], rtol=1e-9)


def test_redundant_motors_share_the_forces():
    """As inverse dynamics does: the sum of the squares is the least of all that cause the motion."""
    robot = models.five_bar(redundant=True)
    start = robot.close(models.FIVE_BAR_START)
    names = ["a1_joint", "b1_joint"]
    goal = swing(start, places(robot, names)[0])
    controller = laws.ComputedTorque(goal, KP, KD, coordinates=names)
    v = robot.with_independent(names).velocities(start, [0.5, -0.3])
    own = robot.with_independent(names)
    p, p_dot, p_ddot = goal(0.1)
    a = own.accelerations(start, v, p_ddot + KP * (p - start[[0, 2]]) + KD * (p_dot - v[[0, 2]]))
    tau = controller(robot, 0.1, start, v)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(start, v, a), rtol=1e-9, atol=1e-9)
    assert np.count_nonzero(tau) == 3
    record = kt.simulate(robot.with_backend("compiled"), start, v, time=0.4, controller=controller, **QUICK)
    error = goal(record.time)[0] - record.q[:, [0, 2]]
    np.testing.assert_allclose(error, linear_error(record.time, 0.0, goal(0.0)[1] - v[[0, 2]]), atol=1e-9)
    weight = laws.GravityCompensation()(robot, 0.0, start, v)
    still = np.zeros(4)
    np.testing.assert_allclose(weight, robot.inverse_dynamics(start, still, still), atol=1e-10)


@pytest.mark.parametrize("seed", range(len(CLOSING)))
def test_spatial_loops_with_motors_everywhere(seed):
    """Ten to fourteen freedoms, fifteen motors, balls and universal joints; closed by every kind of joint."""
    robot = spatial(CLOSING[seed], seed)
    q, v = closed_state(robot, 1)
    still = np.zeros(robot.nv)
    weight = laws.GravityCompensation()(robot, 0.0, q, v)
    expected = robot.inverse_dynamics(q, still, still)
    np.testing.assert_allclose(weight, expected, atol=1e-11 * abs(expected).max())
    joints, freedoms = robot.model.joints, robot.coordinates.freedoms
    chosen = next(
        c for n in range(1, len(joints)) for c in itertools.combinations(joints, n)
        if sum(j.nv for j in c) == freedoms and able(robot, c)
    )  # fmt: skip
    alpha = np.random.default_rng(seed).standard_normal(freedoms)
    tau = np.array(
        mechanism_loops.forces_for(robot.model, robot.coordinates, list(q), list(v), chosen, list(alpha), None),
        dtype=float,
    )
    a = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(np.concatenate([a[j.v_slice] for j in chosen]), alpha, atol=1e-9)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a), atol=1e-10 * abs(tau).max())


def able(robot, joints):
    try:
        return bool(mechanism_loops.followed_joints(robot.model, [j.name for j in joints], robot.coordinates))
    except SingularError:
        return False


def test_fewer_motors_than_freedoms_follow_and_the_rest_gives_way():
    robot = two_loops(actuated=2)
    q = robot.close(robot.assembled())
    v = robot.velocities(q, [0.2, -0.4, 0.3])
    where_q, where_v = places(robot)
    goal = swing(q, where_q)
    p, p_dot, p_ddot = goal(0.1)
    tau = laws.ComputedTorque(goal, KP, KD)(robot, 0.1, q, v)
    assert np.all(tau[~robot.driven] == 0.0)
    wanted = p_ddot + KP * (p - q[where_q]) + KD * (p_dot - v[where_v])
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau)[where_v], wanted, rtol=1e-8, atol=1e-8)
    plate = laws.OperationalSpace("plate", trajectories.Constant([0.0] * 3), 1.0, 1.0)
    for law in (laws.GravityCompensation(), laws.Feedforward(goal, 1.0, 1.0), plate):
        with pytest.raises(UnsupportedError, match=r"fewer motors than freedoms|3 freedoms and 2 motors"):
            law(robot, 0.1, q, v)
    with pytest.raises(UnsupportedError, match=r"3 freedoms and 2 motors.*leave coordinates out"):
        laws.ComputedTorque(goal, 1.0, 1.0, coordinates=["plate_joint"])(robot, 0.1, q, v)


def floating_four_bar():
    b = kt.Builder("flying four-bar")
    b.body("trunk", "base", kt.Free(), mass=4.0, inertia=(0.2, 0.3, 0.25))
    rod = kt.MassProperties.rod(1.0, (0, 0, 0), (0.4, 0, 0))
    b.body("crank", "trunk", kt.Revolute("z"), mass_properties=rod)
    b.body("coupler", "crank", kt.Revolute("z"), position=(0.4, 0, 0), mass_properties=rod, actuated=False)
    b.body("rocker", "trunk", kt.Revolute("z"), position=(0.5, 0, 0), mass_properties=rod, actuated=False)
    b.loop("pin", "coupler", "rocker", kt.Revolute("z"), placement=(0.4, 0, 0), seat=(0.4, 0, 0))
    return b.build()


def test_a_floating_base_gives_way_to_a_loop_on_it():
    robot = floating_four_bar()
    guess = robot.neutral()
    guess[7:] = [1.2, -0.9, 1.0]
    start = robot.close(guess, fixed=["trunk_joint"])
    goal = swing(start, [7])
    law = laws.ComputedTorque(goal, KP, KD)
    tau = law(robot, 0.0, start, np.zeros(9))
    a = robot.forward_dynamics(start, np.zeros(9), tau)
    np.testing.assert_allclose(a[6], goal(0.0)[2] + KD * goal(0.0)[1], rtol=1e-9)
    assert np.count_nonzero(tau) == 1
    record = kt.simulate(robot.with_backend("compiled"), start, time=0.3, controller=law, **QUICK)
    error = goal(record.time)[0] - record.q[:, 7:8]
    np.testing.assert_allclose(error, linear_error(record.time, 0.0, goal(0.0)[1]), atol=1e-9)
    held = laws.GravityCompensation()(robot, 0.0, start, np.zeros(9))
    heights = [robot.potential_energy(robot.close(q, fixed=["trunk_joint", "crank_joint"]))
               for q in (start - 1e-5 * np.eye(10)[7], start + 1e-5 * np.eye(10)[7])]  # fmt: skip
    np.testing.assert_allclose(held[6], (heights[1] - heights[0]) / 2e-5, rtol=1e-6)


# ------------------------------------------------------------------ a frame in space


def test_the_platform_of_a_delta_robot_follows_a_path():
    robot, start = named("delta")
    here = robot.pose(start, "middle")[:3, 3]
    path = trajectories.Sine(here + np.array([0.01, -0.02, 0.01]), [0.03, 0.02, 0.04], [0.7, 1.0, 1.3])
    law = laws.OperationalSpace("middle", path, KP, KD)
    v = robot.velocities(start, [0.3, -0.2, 0.4])
    tau = law(robot, 0.2, start, v)
    assert np.all(tau[~robot.driven] == 0.0)
    x, x_dot, x_ddot = path(0.2)
    moved_at = robot.acceleration(start, v, robot.forward_dynamics(start, v, tau), "middle", axes="aligned")
    speed = robot.velocity(start, v, "middle", axes="aligned")[3:]
    np.testing.assert_allclose(moved_at[3:], x_ddot + KP * (x - here) + KD * (x_dot - speed), atol=1e-9)


@pytest.mark.parametrize("posture", [None, "start"])
def test_the_middle_of_a_platform_is_tracked_whatever_the_posture_does(posture):
    """Of a 3-RRR, whose third freedom, turning, a posture may draw at: unfelt, as the errors are the linear ones."""
    robot, start = named("3-rrr")
    frame = robot.model.frames[0].name
    v = robot.velocities(start, [0.2, -0.1, 0.3])
    here = robot.pose(start, frame)[:3, 3]
    path = trajectories.Constant(here + np.array([0.02, -0.01, 0.0]))
    own = {} if posture is None else {"posture": start + 0.1, "posture_kp": 30.0, "posture_kd": 4.0}
    law = laws.OperationalSpace(frame, path, KP, KD, damping=1e-6, **own)
    a = robot.forward_dynamics(start, v, law(robot, 0.0, start, v))
    speed = robot.velocity(start, v, frame, axes="aligned")[3:]
    found = robot.acceleration(start, v, a, frame, axes="aligned", classical=True)[3:]
    np.testing.assert_allclose(found[:2], (KP * (path(0.0)[0] - here) - KD * speed)[:2], atol=1e-7)


# ------------------------------------------------------------------ refusals


def refused(robot, q, **options):
    goal = trajectories.Constant(np.zeros(options.pop("n", 1)))
    laws.ComputedTorque(goal, 1.0, 1.0, **options)(robot, 0.0, q, np.zeros(robot.nv))


def test_what_cannot_be_is_refused_with_advice():
    robot, q = named("five-bar")
    redundant = models.five_bar(redundant=True)
    there = redundant.close(models.FIVE_BAR_START)
    with pytest.raises(UnsupportedError, match=r"2 freedoms and 3 motors.*coordinates=\['a1_joint', 'a2_joint'\]"):
        refused(redundant, there, n=3)
    with pytest.raises(OptionError, match=r"as many as its freedoms, not 1 \(arm_1_joint\)"):
        refused(robot, q, coordinates=["arm_1_joint"])
    with pytest.raises(OptionError, match=r"write \['arm_1_joint'\]"):
        refused(robot, q, coordinates="arm_1_joint")
    with pytest.raises(OptionError, match="twice"):
        refused(robot, q, coordinates=["arm_1_joint", "arm_1_joint"])
    with pytest.raises(UnknownNameError, match="arm_9"):
        refused(robot, q, coordinates=["arm_1_joint", "arm_9"])
    with pytest.raises(kt.ShapeError, match=r"moves 1 degrees of freedom.*2 driven ones"):
        refused(robot, q)
    with pytest.raises(OptionError, match="leave q0 and v0 out"):
        laws.Feedforward(trajectories.Constant([0.0, 0.0]), 1, 1, q0=[0], v0=[0])(robot, 0.0, q, np.zeros(4))
    arm = kt.gallery.load("kuka-kr5")
    with pytest.raises(OptionError, match="no closed loops"):
        refused(arm, arm.neutral(), coordinates=[arm.joint_names[0]])


def test_motors_on_joints_that_move_together_are_refused():
    """Two motors on one four-bar and none on another beside it."""
    b = kt.Builder("two four-bars")
    rod = kt.MassProperties.rod(1.0, (0, 0, 0), (0.4, 0, 0))
    for k in range(2):
        b.body(f"crank{k}", "base", kt.Revolute("z"), mass_properties=rod, actuated=k == 0)
        b.body(f"coupler{k}", f"crank{k}", kt.Revolute("z"), position=(0.4, 0, 0), mass_properties=rod, actuated=False)
        b.body(f"rocker{k}", "base", kt.Revolute("z"), position=(0.5, 0, 0), mass_properties=rod, actuated=k == 0)
        b.loop(f"pin{k}", f"coupler{k}", f"rocker{k}", kt.Revolute("z"), placement=(0.4, 0, 0), seat=(0.4, 0, 0))
    robot = b.build()
    q = robot.close([1.2, -0.9, 1.0] * 2)
    with pytest.raises(SingularError, match="crank0_joint, rocker0_joint of 'two four-bars' cannot move independently"):
        refused(robot, q, n=2)
    with pytest.raises(SingularError, match="do not control one of its motions"):
        refused(robot, q, n=2, coordinates=["crank0_joint", "crank1_joint"])
    with pytest.raises(SingularError, match="do not control one of its motions"):
        laws.GravityCompensation()(robot, 0.0, q, np.zeros(6))


def test_forces_are_nan_where_the_motors_have_no_hold():
    robot = models.five_bar()
    robot.mobility(robot.close(models.FIVE_BAR_START))
    folded = robot.close(models.five_bar_folded())
    law = laws.ComputedTorque(trajectories.Constant(folded[[0, 2]]), KP, KD)
    law(robot, 0.0, robot.close(models.FIVE_BAR_START), np.zeros(4))
    tau = law(robot, 0.0, folded, np.zeros(4))
    assert np.isnan(tau[robot.driven]).all()


def test_a_goal_out_of_reach_stops_feedforward_at_its_time():
    robot, start = named("five-bar")
    far = trajectories.Cycloid(start[places(robot)[0]], [np.pi, 0.0], 1.0)  # elbows 2.5 m apart, links of 1.1 and 1.2 m
    controller = laws.Feedforward(far, 2000.0, 200.0)
    with pytest.raises(SimulationError, match="controller returned nan") as caught:
        kt.simulate(robot.with_backend("compiled"), start, time=1.0, controller=controller, integrator="rk4", step=1e-3)
    first, second = far(caught.value.time)[0]
    elbows = 1.2 + 0.7 * np.exp(1j * second) - 0.6 * np.exp(1j * first)
    np.testing.assert_allclose(abs(elbows), 2.3, atol=0.01)  # there the links are stretched


def test_what_is_known_of_loops_is_handed_to_the_controller():
    robot, start = named("five-bar")
    law = laws.GravityCompensation()
    before = set(robot.model.__dict__)
    first = law(robot, 0.0, start, np.zeros(4))
    assert "known_loops" not in robot.model.__dict__
    assert law.loops is None
    assert before <= set(robot.model.__dict__)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(law(again, 0.0, start, np.zeros(4)), first)


def test_a_controller_and_its_parts_know_the_loops_of_their_robot():
    robot, _ = named("five-bar")
    gravity = laws.GravityCompensation()
    law = laws.Saturated(laws.PD(trajectories.Constant([0.0, 0.0]), KP, KD) + gravity, 10.0)
    bound = law.bound(robot)
    assert [part.loops for part in bound.controller.parts] == [None, robot.coordinates]
    assert gravity.loops is None
    assert gravity.bound(robot.tree) is gravity


def test_where_no_closed_configuration_is_found_one_must_be_shown(monkeypatch):
    q, robot = models.five_bar().close(models.FIVE_BAR_START), models.five_bar()

    monkeypatch.setattr(Assembling, "random", lambda self, *_: np.full((1, 4), np.nan))
    monkeypatch.setattr(Assembling, "starts", {"the neutral configuration": np.full(4, np.nan)})
    law = laws.ComputedTorque(trajectories.Constant(q[[0, 2]]), KP, KD)
    with pytest.raises(kt.ClosureError, match=r"controller needs to know .* name one near it.*Mechanism.*q_guess=q"):
        kt.simulate(robot, q, time=0.01, controller=law)
    shown = kt.Mechanism(robot.model, q_guess=q)
    assert shown.independent() == shown.with_gravity((0, 0, 0)).independent()
    record = kt.simulate(shown, q, time=0.01, controller=law, samples=2)
    np.testing.assert_allclose(record.q[-1], q, atol=1e-9)


LINK, APART = 0.2, 0.4


def parallelogram() -> kt.Robot:
    """Equal cranks: at an angle of zero all links lie on one line and it could fold the other way."""
    builder, hinge = kt.Builder("parallelogram", gravity=(0, -9.81, 0)), kt.Revolute("z")

    def rod(mass, length):
        return {"mass_properties": kt.MassProperties.rod(mass, (0, 0, 0), (length, 0, 0))}

    builder.body("crank", "base", hinge, **rod(1.0, LINK))
    builder.body("rocker", "base", hinge, position=(APART, 0, 0), actuated=False, **rod(1.0, LINK))
    builder.body("coupler", "rocker", hinge, position=(LINK, 0, 0), actuated=False, **rod(2.0, APART))
    builder.loop("pin", "crank", "coupler", hinge, placement=(LINK, 0, 0), seat=(APART, 0, 0))
    return builder.build().with_backend("compiled")


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
@pytest.mark.parametrize("output", [None, 3])
def test_a_controller_lost_in_a_singular_configuration_is_blamed_and_not_the_step(integrator, output):
    """The reason was looked for at the last sample, which may be long ago."""
    robot = parallelogram()
    law = laws.ComputedTorque(trajectories.Cycloid([0.5], [-0.5], 1.0), 100.0, 20.0)  # flat at half time
    with pytest.raises(kt.SimulationError, match="the controller returned nan for joint 'crank_joint'") as caught:
        kt.simulate(
            robot, [0.5, 0.5, np.pi - 0.5], time=1.0, integrator=integrator, step=1e-3, controller=law, samples=output
        )
    assert caught.value.time == pytest.approx(0.5, abs=1e-3)


def test_coordinates_that_are_no_list_are_refused():
    robot, q = compiled_system("five-bar")
    law = laws.ComputedTorque(trajectories.Constant(q[[0, 2]]), 1.0, 1.0, coordinates=5)
    with pytest.raises(kt.OptionError, match="coordinates is a list of names of joints, not 5"):
        law(robot, 0.0, q, np.zeros(4))
