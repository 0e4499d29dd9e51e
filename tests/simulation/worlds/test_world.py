"""Worlds: steps by actions, resets, random numbers, sensors; the same bits for any batch."""

import copy
import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.worlds.draws import uniform

KP, KD = 60.0, 6.0


def pendulum():
    b = kt.Builder("double pendulum")
    b.body("upper", "base", kt.Revolute("y"), mass=1.2, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.004), joint_name="a")
    b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -0.6), mass=0.8, com=(0, 0, -0.25),
           inertia=(0.01, 0.01, 0.002), joint_name="b")  # fmt: skip
    return kt.Robot(b.build().model, backend="compiled")


def ball():
    return kt.Builder("ball").body("ball", "base", kt.Free(), mass=2.0, inertia=(0.01, 0.01, 0.01)).build()


@pytest.fixture(scope="module")
def randomized():
    """A world with everything that is drawn."""

    def make(batch, **options):
        return kt.World(
            pendulum(), batch=batch, substeps=4, step=2e-3, action=kt.control.Commanded("position", kp=KP, kd=KD),
            random={
                "bodies": {"lower": {"mass": kt.Uniform(0.5, 1.5, relative=True)}},
                "a.damping": kt.LogUniform(0.01, 0.1), "gravity": kt.Normal([0.0, 0.0, -9.81], 0.2),
                "motor_strength": kt.Uniform(0.8, 1.0), "delay": kt.Uniform(0.0, 0.02),
            },
            pushes=kt.RandomPushes("lower", kt.Uniform(-5.0, 5.0), every=0.05, lasting=0.01), seed=3,
            observe=lambda m: [*m.q, *m.v, m.place("lower").x], reward=lambda m: -m.power,
            ended=lambda m: abs(m.q[0]) > 2.0, **options,
        )  # fmt: skip

    return make


def run(world, count=12):
    """Return all states and rewards of some steps, with a reset of one world in between."""
    rng, found = np.random.default_rng(0), []
    for k in range(count):
        stepped = world.step(rng.uniform(-0.5, 0.5, 2))
        found.append(np.column_stack([world.q, world.v, stepped.reward, stepped.observation]))
        if k == 5:
            world.reset([1])
    return np.array(found)


def test_a_step_is_that_of_simulate():
    world = kt.World("kuka-kr5", batch=2, substeps=10, q0=np.full(6, 0.2))
    torque = np.array([10.0, -5.0, 3.0, 0.2, 0.1, 0.05])
    world.step(torque)
    law = kt.control.Law(lambda t, q, v: torque)
    record = kt.simulate(
        "kuka-kr5", np.full(6, 0.2), time=0.01, controller=law, integrator="semi_implicit_euler", step=1e-3, samples=2
    )
    assert np.abs(world.q - record.q[-1]).max() < 1e-15
    assert np.allclose(world.time, 0.01)


def test_worlds_have_the_same_bits_in_any_batch_and_with_any_threads(randomized):
    large = run(randomized(37))
    assert np.array_equal(large, run(randomized(37, threads=2)))
    assert np.array_equal(large[:, :3], run(randomized(3)))
    assert not np.array_equal(large[:, 0], large[:, 2])


def test_a_world_alone_has_the_bits_of_one_among_others(randomized):
    alone, among = randomized(1), randomized(9)  # code for one state, and for a vector of them
    for _ in range(4):
        assert np.array_equal(alone.step([0.3, -0.2]).observation, among.step([0.3, -0.2]).observation[:1])
        assert np.array_equal(alone.state, among.state[:1])
    alone.reset([0])
    among.reset([0])
    assert np.array_equal(alone.step([0.3, -0.2]).observation, among.step([0.3, -0.2]).observation[:1])


def test_a_seed_begins_anew(randomized):
    world = randomized(5)
    first = run(world)
    world.reset(seed=3)
    assert np.array_equal(first, run(world))
    world.reset(seed=4)
    assert not np.array_equal(first, run(world))


def test_draws_of_many_episodes_do_not_depend_on_the_batch(randomized):
    alone, beside = randomized(1), randomized(700)
    for episode in range(70):
        assert all(np.array_equal(x, beside.drawn[name][:1]) for name, x in alone.drawn.items()), episode
        alone.reset()
        beside.reset([0, 5] if episode % 3 else [0])


def test_a_reset_of_some_worlds_observes_these(randomized):
    world = randomized(12)
    for _ in range(3):
        world.step([0.1, 0.2])
    for chosen in ([7], [9, 2], range(1, 11), np.arange(12) == 4, np.zeros(12, dtype=bool)):
        seen = world.reset(np.asarray(chosen))
        assert np.array_equal(seen, world.observe()[np.asarray(chosen)])
    assert world.reset([3], observed=False) is None
    assert np.array_equal(world.reset(), world.observation)


def test_drawn_numbers_act_as_if_the_robot_had_them(randomized):
    world = kt.World(
        pendulum(), batch=3, substeps=50, random={"bodies": {"lower": {"mass": kt.Uniform(0.5, 1.5, relative=True)}}},
        q0=[0.5, 0.2], integrator="rk4",
    )  # fmt: skip
    masses = world.drawn["bodies.lower.mass"][:, 0]
    world.step([0.0, 0.0])
    assert len(set(masses)) == 3
    for k, mass in enumerate(masses):
        b = kt.Builder("double pendulum")
        b.body("upper", "base", kt.Revolute("y"), mass=1.2, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.004))
        b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -0.6), mass=mass, com=(0, 0, -0.25),
               inertia=(0.01, 0.01, 0.002))  # fmt: skip
        alone = kt.simulate(b.build(), [0.5, 0.2], time=0.05, integrator="rk4", step=1e-3, samples=2)
        assert np.allclose(world.q[k], alone.q[-1], atol=1e-13)


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.008, 0.013])
def test_an_action_arrives_after_its_delay(delay):
    cart = kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0).build()
    world = kt.World(
        cart,
        step=1e-3,
        substeps=8,
        action=kt.control.Commanded("torque", delay=delay),
        integrator="semi_implicit_euler",
    )
    for _ in range(2):  # the delay is the same in every episode
        for _ in range(3):
            world.step([4.0])
        assert np.isclose(world.v[0, 0], 2.0 * (0.024 - delay), atol=1e-12)
        world.reset()


@pytest.mark.parametrize("delay", [0.003, 0.013])
def test_a_servo_holds_where_it_is_until_the_first_action_arrives(delay):
    b = kt.Builder("arm", gravity=(0, 0, 0))
    b.body("trunk", "base", kt.Planar(), mass=2.0, inertia=(0.1, 0.1, 0.1), actuated=False)
    b.body("arm", "trunk", kt.Universal("XY"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    start = [0.1, 0.2, 0.3, 0.7, -0.4]
    world = kt.World(
        b.build(), batch=2, step=1e-3, substeps=8, action=kt.control.Commanded("position", kp=50.0, delay=delay),
        q0=start, random={"q": {"arm_joint": kt.Uniform(0.1, 0.2)}},
        observe=lambda m: [*m.action, *m.previous_action, *m.forces],
    )  # fmt: skip
    for _ in range(2):
        begin, seen = world.q[:, 3:].copy(), world.observe()
        assert np.array_equal(seen[:, :4], np.hstack([begin, begin]))
        assert not seen[:, 4:].any()  # no motor pulls
        for k in range(1, 4):
            seen = world.step([float(k), -float(k)]).observation
            assert np.array_equal(seen[:, :2], [[k, -k]] * 2)
            assert np.array_equal(seen[:, 2:4], [[k - 1, 1 - k]] * 2 if k > 1 else begin)
            assert np.array_equal(world.q[:, 3:], begin) == (delay >= world.period * k)
        world.reset()


def test_signals_of_actuators_do_what_they_do_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    text = """
    <mujoco><option timestep="0.001" integrator="RK4"/><worldbody><body name="upper" pos="0 0 1">
      <joint name="a" axis="0 1 0" damping="0.2"/><inertial pos="0 0 -0.2" mass="2" diaginertia="0.05 0.05 0.01"/>
      <body name="lower" pos="0 0 -0.5"><joint name="b" axis="0 1 0"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.005"/></body></body></worldbody>
    <actuator><motor name="motor" joint="a" gear="40" ctrlrange="-1 1" ctrllimited="true"/>
      <position name="servo" joint="b" kp="20" gear="2"/></actuator></mujoco>"""
    (tmp_path / "arm.xml").write_text(text)
    arm = kt.Robot(kt.load(tmp_path / "arm.xml").model, backend="compiled")
    world = kt.World(
        arm, batch=2, action="signal", integrator="rk4", step=1e-3, substeps=20, q0=[0.3, 0.5],
        observe=lambda m: [*m.action, *m.forces], random={"motor_strength": kt.Uniform(1.0, 1.0)},
    )  # fmt: skip
    assert world.action_names == ["motor", "servo"]
    assert np.allclose(world.observe(), [0.0, 1.0, 0.0, 0.0])  # the servo rests at twice the angle
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.3, 0.5
    for signals in ([0.4, 0.9], [-1.7, 0.3], [0.2, 1.4]):  # the second is out of range
        world.step(signals)
        data.ctrl[:] = signals
        mujoco.mj_step(model, data, 20)
    assert np.allclose(world.state, np.hstack([data.qpos, data.qvel]), atol=1e-9)
    with pytest.raises(kt.ModelError, match="no actuators that signals could drive"):
        kt.World(pendulum(), action="signal")
    with pytest.raises(kt.OptionError, match="take no kp"):
        kt.control.Commanded("signal", kp=3.0)


def test_the_coordinate_of_a_joint_with_two_of_them_is_refused():
    b = kt.Builder("arm").body("arm", "base", kt.Universal("XY"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    for wrong in (lambda m: m.position("arm_joint"), lambda m: m.speed("arm_joint")):
        with pytest.raises(kt.OptionError, match=r"has 2 numbers: use m.[qv]\[0:2\]"):
            kt.World(kt.Robot(b.build().model, backend="compiled"), reward=wrong)


def test_worlds_say_that_they_cannot_be_copied():
    world = kt.World(pendulum())
    for way in (copy.deepcopy, pickle.dumps):
        with pytest.raises(kt.UnsupportedError, match="make another one with the same arguments"):
            way(world)


def test_sensors_show_what_bodies_feel():
    arm = pendulum()
    at_rest = [kt.sensors.Accelerometer("lower"), kt.sensors.Gyroscope("lower"), kt.sensors.JointTorque("b")]
    world = kt.World(arm, batch=2, sensors=at_rest, q0=[0.3, -0.7], v0=[0.4, 1.1])
    shown = world.sense()
    assert np.allclose(shown["lower.turn_y"], 1.5)
    a = arm.forward_dynamics([0.3, -0.7], [0.4, 1.1], [0.0, 0.0])
    moving = arm.acceleration([0.3, -0.7], [0.4, 1.1], a, "lower", axes="aligned", classical=True)
    proper = moving[3:] + np.array([0.0, 0.0, 9.81])
    turned = arm.pose([0.3, -0.7], "lower")[:3, :3].T @ proper
    assert np.allclose([shown[f"lower.acceleration_{axis}"][0] for axis in "xyz"], turned)
    assert np.allclose(shown["b.torque"], 0.0)


def test_a_robot_without_motors_has_an_empty_action():
    """A ball that falls, bounces and rolls, as in a simulation; servos of no motors are still refused."""
    robot = kt.Builder("marble").body("marble", "base", kt.Free(), mass=1.0, inertia=(4e-3,) * 3).build()
    robot = robot.with_backend("compiled")
    law, friction = kt.ground.HuntCrossley(1e4, 0.5), kt.ground.PseudoCoulomb(0.5, 50.0)
    ground = kt.ground.Ground([kt.ground.Spot("marble", radius=0.1)], law, friction)
    start = [0, 0, 0, 1, 0, 0, 0.2], [0, 0, 0, 1.0, 0, 0]
    world = kt.World(
        robot, batch=2, ground=ground, q0=start[0], v0=start[1],
        observe=lambda m: [*m.q, *m.action, *m.previous_action], reward=lambda m: m.power,
    )  # fmt: skip
    assert (world.action_names, world.action_size, world.observation_size) == ([], 0, robot.nq)
    for k in range(300):
        stepped = world.step(*[(), ([],), (np.zeros((2, 0)),)][k % 3])
    record = kt.simulate(
        robot, *start, time=0.3, ground=ground, integrator="semi_implicit_euler", step=1e-3, samples=2
    )  # fmt: skip
    assert np.allclose(world.q, record.q[-1], atol=1e-12)
    assert np.allclose(stepped.observation, record.q[-1], atol=1e-12)
    assert not stepped.reward.any()
    assert world.step_with_derivatives([]).by_action.shape == (2, 12, 0)
    with pytest.raises(kt.ShapeError, match="the robot has no motors"):
        world.step([1.0])
    with pytest.raises(kt.OptionError, match="no joint of 'marble' has a motor"):
        kt.World(robot, action=kt.control.Commanded("position", kp=1.0, kd=1.0))


def test_a_hopper_rests_on_the_ground():
    b = kt.Builder("hopper")
    b.body("trunk", "base", kt.Prismatic("z"), mass=3.0, joint_name="rise", actuated=False)
    b.body("foot", "trunk", kt.Prismatic("z"), position=(0, 0, -0.5), mass=0.5, joint_name="leg")
    hopper = kt.Robot(b.build().model, backend="compiled")
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(1e5, 1.0))
    world = kt.World(
        hopper, batch=3, ground=ground, sensors=[kt.sensors.TouchSensor("foot")], step=2e-4, substeps=50,
        action=kt.control.Commanded("position", kp=2000.0, kd=150.0), q0=[0.5, 0.0],
        random={"ground": {"stiffness": kt.Uniform(0.5e5, 2e5)}},
    )  # fmt: skip
    for _ in range(150):
        world.step([0.0])
    weight = 3.5 * 9.81
    assert np.allclose(world.contact_forces[:, 0, 2], weight, rtol=1e-3)
    assert np.allclose(world.sense()["foot.touch_z"], weight, rtol=1e-3)
    assert len(set(world.drawn["ground.stiffness"][:, 0])) == 3


def test_what_is_no_number_ends_its_own_world_only():
    world = kt.World(pendulum(), batch=4, observe=lambda m: m.q)
    action = np.zeros((4, 2))
    action[2, 0] = np.nan
    stepped = world.step(action)
    assert stepped.lost.tolist() == stepped.ended.tolist() == [False, False, True, False]
    assert np.isfinite(world.q[[0, 1, 3]]).all()
    world.reset(stepped.lost)
    assert not world.step(np.zeros(2)).lost.any()
    assert np.allclose(world.time, [2e-3, 2e-3, 1e-3, 2e-3])
    assert world.episode.tolist() == [0, 0, 1, 0]


def test_loops_stay_closed(four_bar):
    q = four_bar.close([0.0, 1.0, 4.3], fixed=["crank_joint"])
    world = kt.World(four_bar, batch=3, q0=q, substeps=20, observe=lambda m: m.accelerations)
    for torque in (1.0, -0.5, 0.2):
        stepped = world.step([torque])
    assert np.abs(four_bar.loop_gaps(world.q)).max() < 1e-10
    assert np.abs(world.v).max() > 0.01
    tau = np.zeros(3)
    tau[four_bar.v_names.index("crank_joint")] = 0.2
    assert np.allclose(stepped.observation, four_bar.forward_dynamics(world.q, world.v, tau), atol=1e-8)


def test_single_precision_stays_near():
    double, single = (kt.World(pendulum(), batch=2, precision=p, substeps=20) for p in ("double", "single"))
    for world in (double, single):
        world.step([0.3, 0.1])
    assert single.q.dtype == np.float32
    assert np.allclose(single.q, double.q, atol=1e-6)


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (lambda w: w.step([1.0]), kt.ShapeError, "one number per motor"),
        (lambda w: w.step(np.zeros((3, 2))), kt.ShapeError, "for 3 worlds"),
        (lambda w: w.reset([True]), kt.ShapeError, "mask"),
        (lambda w: w.reset([5]), kt.ShapeError, "from 0 to 1"),
        (lambda w: w.reset(q=[np.nan, 0.0]), kt.StateError, "nan"),
        (lambda w: w.reset([0], seed=2), kt.OptionError, "all worlds"),
        (lambda w: setattr(w, "batch", 3), kt.ReadOnlyError, "set when it is made"),
        (lambda w: setattr(w, "q", np.zeros(2)), kt.ReadOnlyError, "reset"),
        (lambda w: w.observe(), kt.OptionError, "observes nothing"),
        (lambda w: w.reset(q=np.zeros((3, 2))), kt.ShapeError, "for each of 2 worlds"),
        (lambda w: w.sense(), kt.OptionError, "no sensors"),
    ],
)
def test_what_cannot_be_is_refused(act, error, said):
    world = kt.World(pendulum(), batch=2)
    with pytest.raises(error, match=said):
        act(world)


def test_random_starts_are_near_the_start_and_each_worlds_own():
    options = {"random": {"q": kt.Uniform([-0.1, 0.0], [0.1, 0.2]), "v": {"b": kt.Normal(1.0, 0.1)}}, "seed": 5}
    world = kt.World(pendulum(), batch=400, q0=[0.5, -1.0], **options)
    added = world.q - [0.5, -1.0]
    assert np.all((added >= [-0.1, 0.0]) & (added <= [0.1, 0.2]))
    assert np.ptp(added, axis=0).min() > 0.15
    assert not world.v[:, 0].any()
    assert abs(world.v[:, 1].mean() - 1.0) < 0.03
    first = world.q.copy()
    assert np.array_equal(kt.World(pendulum(), batch=3, q0=[0.5, -1.0], **options).q, first[:3])
    world.reset([7])
    assert np.flatnonzero((world.q != first).any(axis=1)).tolist() == [7]
    world.reset([7], q=[0.1, 0.2], v=[0.0, 0.3])
    assert np.array_equal(world.state[7], [0.1, 0.2, 0.0, 0.3])


def test_views_show_every_step_and_are_not_written_to(four_bar):
    world = kt.World(pendulum(), batch=4, q0=[0.4, 0.1])
    q, before = world.q, world.q.copy()
    world.step([0.3, 0.0])
    assert np.array_equal(q, world.q)
    assert not np.array_equal(q, before)
    with pytest.raises(ValueError, match="read-only"):
        world.q[0] = 0.0
    assert type(q + 1.0) is np.ndarray
    assert isinstance(float(q.sum()), float)
    closed = kt.World(four_bar, q0=four_bar.close([0.0, 1.0, 4.3], fixed=["crank_joint"]))
    assert closed.state.flags.c_contiguous


@pytest.mark.parametrize("library", ["jax.numpy", "torch"])
def test_other_libraries_read_the_same_memory(library):
    numpy_like = pytest.importorskip(library)
    world = kt.World(pendulum(), batch=4, precision="single", q0=[0.4, 0.1])
    theirs = numpy_like.from_dlpack(world.state)
    for _ in range(3):
        world.step([0.3, 0.0])
    assert np.array_equal(np.asarray(theirs), world.state)
    assert np.from_dlpack(theirs).__array_interface__["data"][0] == world.state.__array_interface__["data"][0]


def test_an_episode_ends_for_any_of_several_reasons():
    listed, joined = lambda m: [abs(m.q[0]) > 1.0, m.q[1] - 0.5], lambda m: (abs(m.q[0]) > 1.0) | (m.q[1] > 0.5)
    for law in (listed, joined):
        world = kt.World(pendulum(), batch=3, ended=law)
        world.reset(q=[[0.0, 0.0], [-1.1, 0.0], [0.0, 0.6]])
        assert world.step([0.0, 0.0]).ended.tolist() == [False, True, True]


def test_goals_are_drawn_for_an_episode_and_seen_by_functions():
    options = {"goal": {"target": kt.Uniform([0.0, 1.0], [1.0, 2.0]), "speed": 3.0}}
    options["observe"] = lambda m: [*m.goal["target"], m.goal["speed"][0] + m.q[0]]
    world = kt.World(pendulum(), batch=40, **options)
    seen = world.observe()
    assert np.array_equal(seen[:, :2], world.goal["target"])
    assert np.all((seen[:, 0] < 1.0) & (seen[:, 1] > 1.0))
    assert np.all(seen[:, 2] == 3.0)
    world.set_goal("speed", [5.0], [3])
    assert world.observe()[2:4, 2].tolist() == [3.0, 5.0]
    world.reset([3])
    assert world.observe([3])[0, 2] == 3.0
    assert not np.array_equal(world.goal["target"][3], seen[3, :2])
    part = kt.World(pendulum(), batch=2, first=30, **options)
    assert np.array_equal(part.observe(), seen[30:32])
    with pytest.raises(kt.UnknownNameError, match="no goal named 'place'"):
        world.set_goal("place", 1.0)
    with pytest.raises(kt.ShapeError, match="takes 2 numbers"):
        world.set_goal("target", [1.0, 2.0, 3.0])


def test_a_free_body_starts_turned_and_whole():
    b = kt.Builder("ball", gravity=(0, 0, 0)).body(
        "ball", "base", kt.Free(), mass=2.0, inertia=(0.01, 0.01, 0.01), joint_name="free"
    )
    b.body("arm", "ball", kt.Revolute("x"), mass=0.1, joint_name="arm")
    world = kt.World(b.build(), batch=5, random={"q": {"free": kt.Uniform(-1.0, 1.0)}})
    assert np.allclose(np.linalg.norm(world.q[:, :4], axis=1), 1.0)
    assert np.ptp(world.q[:, :7], axis=0).min() > 0.01
    assert not world.q[:, 7].any()


@pytest.fixture(scope="module")
def four_bar():
    return kt.Mechanism(kt.load("four-bar").model, backend="compiled")


def test_loops_start_closed_with_the_same_bits_in_any_batch(four_bar):
    start = four_bar.close([0.0, 1.0, 4.3], fixed=["crank_joint"]), np.zeros(3)
    options = {"start": start, "substeps": 10, "observe": lambda m: [*m.q, *m.v]}
    options["random"] = {"q": {"crank_joint": kt.Uniform(-0.5, 0.5)}, "v": kt.Normal(0.0, 1.0)}
    large, small = kt.World(four_bar, batch=7, **options), kt.World(four_bar, batch=2, **options)
    crank = four_bar.joint("crank_joint").q_slice
    assert np.abs(large.q[:, crank] - start[0][crank]).max() <= 0.5
    for _ in range(3):
        assert np.abs(four_bar.loop_gaps(large.q)).max() < 1e-10
        assert np.abs(np.einsum("bij,bj->bi", four_bar.loop_jacobian(large.q), large.v)).max() < 1e-9
        assert np.array_equal(large.state[:2], small.state)
        seen = large.step([0.3]).observation
        assert np.array_equal(seen[:2], small.step([0.3]).observation)
    assert np.array_equal(large.observe([4, 1]), seen[[4, 1]])


def test_a_world_whose_constraints_are_chosen_badly_leaves_the_others_their_bits(four_bar):
    q = four_bar.close([0.0, 1.0, 4.3], fixed=["crank_joint"])
    options = {"q0": q, "step": 1e-4, "substeps": 40, "parameters": {"crank.M": np.full(4, 2.0)}}
    world, alone = kt.World(four_bar, batch=4, **options), kt.World(four_bar, batch=4, **options)
    served = world._advance._run

    def badly_in_one(out):
        new = served(out)
        new[2, -1] = 0.0
        return new

    world._advance._run = badly_in_one
    for each in (world, alone):
        each.step([0.5])
    assert np.array_equal(world.q[[0, 1, 3]], alone.q[[0, 1, 3]])
    assert np.abs(world.q[2] - alone.q[2]).max() < 1e-12


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"integrator": "dop853"}, "fixed step"),
        ({"batch": 0}, "batch"),
        ({"step": 0.0}, "step"),
        ({"action": "force"}, "kind of command"),
        ({"random": {"bodies": {"lower": {"mass": 1.0}}}}, "give a distribution"),
        ({"random": {"bodies": {"lower": {"mass": kt.Uniform(-1.0, 1.0)}}}}, "must not be negative"),
        ({"random": {"bodies": {"leg": {"mass": kt.Uniform(0.5, 1.0)}}}}, "no body named 'leg'"),
        ({"random": {"ground": {"stiffness": kt.Uniform(1.0, 2.0)}}}, "number of the ground"),
        ({"random": {"gravity": kt.Uniform(9.8, 9.82)}}, "has 3 numbers"),
        (
            {"random": {"bodies": {"lower": {"inertia": kt.Uniform([0.1] * 6, [0.2] * 6)}}}},
            "only be drawn with relative=True",
        ),
        ({"random": {"bodies": {"lower": {"inertia": kt.Uniform(-0.5, 2.0, relative=True)}}}}, "stay positive"),
        ({"random": {"delay": kt.Uniform(0.0, 1e6)}}, "is the most"),
        ({"random": {"q": kt.Uniform(0.9, 1.1, relative=True)}}, "cannot be relative"),
        ({"random": {"v": kt.Uniform([0.0] * 3, [1.0] * 3)}}, "one per freedom"),
        ({"random": {"q": {"leg": kt.Uniform(0.0, 1.0)}}}, "leg"),
        ({"goal": {"target": kt.Uniform(0.9, 1.1, relative=True)}}, "relative to nothing"),
        ({"goal": {"target": [1.0]}, "reward": lambda m: m.goal["goal"][0]}, "no goal named 'goal'"),
        ({"ended": lambda m: m.q[0] > 1.0 or m.q[1] > 1.0}, "a list of conditions"),
        ({"reward": lambda m: m.q[0] > 1.0}, "a comparison is not a number"),
        ({"reward": lambda m: m.q[0] == 0.0}, "a comparison is not a number"),
        ({"reward": lambda m: kt.where(m.q[0] != 0.0, 1.0, 2.0)}, "equal cannot be a condition"),
        ({"ended": lambda m: m.q[0] == 0.0}, "equal cannot be a condition"),
        ({"ended": lambda m: (m.q[1] > 1.0) | (m.q[0] == 0.0)}, "equal cannot be a condition"),
        ({"observe": lambda m: [m.q[0], m.q[0] > 1.0]}, "a comparison is not a number"),
        ({"ended": lambda m: max(m.q[0], 1.0)}, "a list of conditions"),
        ({"goal": {"target": "far"}}, "a distribution or numbers"),
        ({"goal": {"target": [np.nan]}}, "finite"),
        ({"random": 5}, "must map names"),
        ({"random": {"ground": kt.Uniform(0, 1)}}, "must map names"),
        ({"action": "position"}, r"a servo needs gains: action=.*Commanded\('position', kp="),
        ({"pushes": kt.RandomPushes("lower", kt.Uniform(-5, 5), every=0.0)}, "every of the pushes"),
        ({"pushes": kt.RandomPushes("lower", 3.0)}, "pushes must be"),
        ({"reward": lambda m: [1.0, 2.0]}, "one number"),
        ({"reward": lambda m: None}, "returned None"),
        ({"start": np.zeros(2)}, "no argument 'start'"),
        ({"reward": lambda m: 1.0 if m.q[0] > 0 else 0.0}, "cannot be traced"),
        ({"observe": lambda m: [m.q, m.v]}, r"entry 0 of what it returned is .* unpack it, such as \[\*m.q, \*m.v\]"),
        ({"observe": lambda m: [m.time, m.center_of_mass]}, "entry 1 of what it returned is a Vec3"),
        ({"observe": lambda m: [m.q[0], None]}, "returned None, not a number, as entry 1"),
        ({"observe": lambda m: m.qvel}, "a moment has no 'qvel'; did you mean m.v?"),
        ({"num_envs": 4}, "did you mean 'batch'"),
        ({"observe": lambda m: [m.place("lower")[2]]}, r"a vector has \.x, \.y and \.z"),
        ({"observe": lambda m: [*m.contact_forces]}, "no ground to touch"),
        ({"goal": {"speed": 1.0}, "observe": lambda m: [m.goal["speed"]]}, r"take \[0\] of it"),
        ({"random": {"friction": kt.Uniform(0.4, 1.0)}}, '"joints": {name: {"friction": ...}}} or {"ground": {"fric'),
        ({"parameters": {"lower.M": 1.0}, "random": {"lower.M": kt.Uniform(0.5, 1.0)}}, "both"),
    ],
)
def test_worlds_that_cannot_be_are_refused(options, said):
    with pytest.raises(kt.KinetreeError, match=said):
        kt.World(pendulum(), **options)


def test_random_numbers_are_even_and_unrelated():
    u = uniform(7, np.arange(20_000), np.zeros(20_000, dtype=int), 0, 3)
    assert np.all((u > 0.0) & (u < 1.0))
    assert abs(u.mean() - 0.5) < 0.005
    assert np.abs(np.corrcoef(u.T) - np.eye(3)).max() < 0.03
    again = uniform(7, np.arange(20_000), np.ones(20_000, dtype=int), 0, 3)
    assert abs(np.corrcoef(u[:, 0], again[:, 0])[0, 1]) < 0.03
    normal = kt.Normal(1.0, 2.0).of(u)
    assert abs(normal.std() - 2.0) < 0.03


def test_moments_of_inertia_are_scaled_together():
    world = kt.World(
        pendulum(), batch=50, random={"bodies": {"lower": {"inertia": kt.Uniform(0.5, 2.0, relative=True)}}}
    )
    drawn = world.drawn["bodies.lower.inertia"]
    assert np.allclose(drawn / drawn[:, :1], drawn[0] / drawn[0, 0])
    assert drawn[:, 0].min() > 0.004
    assert np.ptp(drawn[:, 0]) > 0.005


def test_the_action_is_seen_as_it_was_given_however_late_it_acts():
    world = kt.World(
        pendulum(), step=1e-3, substeps=10, random={"delay": kt.Uniform(0.025, 0.025)}, observe=lambda m: m.action
    )
    seen = [world.step([float(k), -float(k)]).observation[0] for k in range(1, 5)]
    assert np.array_equal(seen, [[k, -k] for k in range(1, 5)])


def test_numbers_of_the_ground_are_not_those_of_other_forces():
    b = kt.Builder("hopper").body("trunk", "base", kt.Prismatic("z"), mass=3.0, joint_name="rise", actuated=False)
    b.body("foot", "trunk", kt.Prismatic("z"), position=(0, 0, -0.5), mass=0.5, joint_name="leg")
    law = kt.ground.HuntCrossley(1e5, 1.0)
    options = {"forces": [kt.forces.JointSpring("leg", stiffness=100.0, damping=1.0)], "batch": 3}
    two = [kt.ground.Ground(["foot"], law), kt.ground.Ground(["trunk"], law)]
    world = kt.World(b.build(), ground=two, random={"ground": {"stiffness": kt.Uniform(1e3, 1e4)}}, **options)
    assert list(world.drawn) == ["ground[0].stiffness", "ground[1].stiffness"]
    still = kt.World(b.build(), ground=two, **options)
    for each in (world, still):
        each.reset(q=[1.0, 0.1])
        each.step([0.0])
    assert np.array_equal(world.v, still.v)  # in the air
    with pytest.raises(kt.UnknownNameError, match="number of the ground"):
        kt.World(b.build(), ground=two, random={"ground": {"damping": kt.Uniform(0.0, 1.0)}}, **options)


def test_an_action_that_is_no_number_is_noticed_before_it_arrives():
    world = kt.World(pendulum(), batch=2, step=1e-3, substeps=10, action=kt.control.Commanded("torque", delay=0.025))
    assert world.step([[np.nan, 0.0], [0.0, 0.0]]).lost.tolist() == [True, False]
    world.reset([0])
    assert not world.step([0.0, 0.0]).lost.any()
