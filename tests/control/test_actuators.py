"""Actuators and tendons: against MuJoCo, energy, closed forms, and differences."""

import math

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.table import FORWARD_METHODS

ARM = """
<mujoco>
  <option timestep="1e-5" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <site name="ground" pos="0.2 0.1 0.3"/>
    <body pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" damping="0.2"/>
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
      <site name="on_upper" pos="0.3 0 0.05"/>
      <body pos="0.4 0 0">
        <joint name="elbow" axis="0 1 0.2" armature="0.01"/>
        <inertial pos="0.15 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/>
        <site name="on_lower" pos="0.2 0.02 0"/>
        <body pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 0" damping="3"/>
          <inertial pos="0.05 0 0" mass="0.3" diaginertia="0.001 0.001 0.001"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum" stiffness="7" springlength="0.1" damping="0.6">
      <joint joint="shoulder" coef="0.5"/><joint joint="elbow" coef="-0.3"/>
    </fixed>
    <spatial name="line" stiffness="60" springlength="0.2 0.4" damping="2">
      <site site="ground"/><site site="on_upper"/><site site="on_lower"/>
    </spatial>
  </tendon>
  <actuator>
    <motor name="motor" joint="shoulder" gear="3" ctrlrange="-2 1.5"/>
    <position name="servo" joint="elbow" kp="20" kv="1.5" forcerange="-4 3"/>
    <velocity name="speed" joint="slide" kv="8" gear="-2"/>
    <general name="pull" tendon="sum" gear="1.3" gainprm="2 0.3 0.1" gaintype="affine" biastype="affine"
             biasprm="0.2 -5 -0.7"/>
    <motor name="cable" tendon="line" gear="0.5"/>
  </actuator>
</mujoco>
"""


@pytest.fixture
def arm(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    m = mujoco.MjModel.from_xml_path(str(path))
    return kt.load(path), mujoco, m, mujoco.MjData(m)


def test_forces_are_those_of_mujoco(arm):
    robot, mujoco, m, d = arm
    assert [a.name for a in robot.actuators] == ["motor", "servo", "speed", "pull", "cable"]
    rng = np.random.default_rng(41)
    for _ in range(20):
        d.qpos[:], d.qvel[:] = rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3)
        d.ctrl[:] = rng.uniform(-3, 3, 5)
        mujoco.mj_forward(m, d)
        tau = kt.control.Actuators(d.ctrl.copy())(robot, 0.0, d.qpos, d.qvel)
        assert np.allclose(tau, d.qfrc_actuator, rtol=1e-10, atol=1e-10)
        a = robot.forward_dynamics(d.qpos, d.qvel, tau, friction=True)
        assert np.allclose(a, d.qacc, rtol=1e-9, atol=1e-8)
        assert np.allclose(robot.inverse_dynamics(d.qpos, d.qvel, a, friction=True), tau, atol=1e-9)
        drag = -(d.qfrc_damper if hasattr(d, "qfrc_damper") else d.qfrc_passive)
        assert np.allclose(robot.friction_force(d.qvel, q=d.qpos), drag, atol=1e-10)


def test_tendons_whose_length_never_changes_pull_at_nothing(tmp_path):
    """MuJoCo takes them, and one of them refused the whole file; so do those that count a joint zero times."""
    mujoco = pytest.importorskip("mujoco")
    still = """<spatial name="stay" stiffness="50" springlength="0.01" damping="1"><site site="on_upper"/>
      <site site="upper_too"/></spatial><spatial name="wall"><site site="ground"/><site site="post"/></spatial>
      <fixed name="none"><joint joint="elbow" coef="0"/></fixed>
      <fixed name="half"><joint joint="elbow" coef="0"/><joint joint="slide" coef="2"/></fixed></tendon>"""
    text = ARM.replace("</tendon>", still).replace(
        '<site name="on_upper"', '<site name="upper_too" pos="0.1 0 0.1"/><site name="on_upper"'
    )
    text = text.replace("<worldbody>", '<worldbody><body name="pole"><site name="post" pos="0 0 2"/></body>')
    text = text.replace("</actuator>", '<motor name="idle" tendon="stay"/><motor name="air" tendon="none"/></actuator>')
    equality = '<equality><tendon name="hold" tendon1="half" active="{}"/></equality></mujoco>'
    (tmp_path / "arm.xml").write_text(text.replace("</mujoco>", equality.format("false")))
    with pytest.warns(kt.ModelWarning) as said:
        robot = kt.load(tmp_path / "arm.xml")
    assert str(said[0].message).count("its length never changes") == 2
    line = next(i for i, row in enumerate(text.splitlines(), 1) if 'name="stay"' in row)
    assert f"line {line}: tendon 'stay' goes through points of one rigid body" in str(said[0].message)
    assert [a.name for a in robot.actuators][5:] == ["idle", "air"]
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    d, rng = mujoco.MjData(m), np.random.default_rng(3)
    d.qpos[:], d.qvel[:], d.ctrl[:] = rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3), rng.uniform(-3, 3, 7)
    mujoco.mj_forward(m, d)
    tau = kt.control.Actuators(d.ctrl.copy())(robot, 0.0, d.qpos, d.qvel)
    assert np.allclose(robot.forward_dynamics(d.qpos, d.qvel, tau, friction=True), d.qacc, rtol=1e-9, atol=1e-8)
    with pytest.raises(kt.FileFormatError, match=f"line {line}: tendon 'stay'"):
        kt.load(tmp_path / "arm.xml", strict=True)
    (tmp_path / "held.xml").write_text(text.replace("</mujoco>", equality.format("true")))
    with pytest.warns(kt.ModelWarning):
        held = kt.load(tmp_path / "held.xml")
    assert held.model.couplings[0].joints == ("slide",)


def test_a_robot_whose_tendon_was_locked_is_kept(tmp_path):
    b = lever().tendon("cord", points=["base", ("arm", (1, 0, 0))], stiffness=3.0, rest=0.1)
    robot = b.body("tip", "arm", kt.Revolute("y"), mass=1.0, inertia=(1, 1, 1)).build()
    robot = robot.reduced(["arm_joint"])
    robot.save(tmp_path / "locked.yaml")
    with pytest.warns(kt.ModelWarning, match=r"line \d+: tendon 'cord'"):
        assert kt.load(tmp_path / "locked.yaml").forward_dynamics([0.3], [1.0], [2.0]) == pytest.approx(
            robot.forward_dynamics([0.3], [1.0], [2.0])
        )


def test_motion_is_that_of_mujoco(arm):
    robot, mujoco, m, d = arm
    signals = np.array([0.5, 0.4, -0.3, 0.2, -1.0])
    d.qpos[:], d.ctrl[:] = [0.2, -0.4, 0.05], signals
    times = np.array([0.02, 0.05])
    record = kt.simulate(
        robot, d.qpos.copy(), time=0.05, controller=kt.control.Actuators(signals), samples=times, works=True
    )  # fmt: skip
    theirs = []
    for t in times:
        while d.time < t - 1e-9:
            mujoco.mj_step(m, d)
        theirs.append(d.qpos.copy())
    assert np.allclose(record.q, theirs, atol=1e-7)
    assert record.energy.relative_error < 1e-6


def test_springs_along_tendons_have_an_energy(arm):
    robot = arm[0]
    rng = np.random.default_rng(42)
    q, v, a = rng.uniform(-1, 1, (3, 3))
    step = 1e-6 * np.eye(3)

    def slope(f):
        return np.stack([(f(q + e) - f(q - e)) / 2e-6 for e in step], axis=-1)

    assert np.allclose(robot.gravity_force(q), slope(robot.potential_energy), atol=1e-6)
    tau = robot.inverse_dynamics(q, v, a)
    for method in FORWARD_METHODS:
        assert np.allclose(robot.forward_dynamics(q, v, tau, method=method), a, atol=1e-8)
    by_q = robot.inverse_dynamics_derivatives(q, v, a)[0]
    assert np.allclose(by_q, slope(lambda x: robot.inverse_dynamics(x, v, a)), atol=1e-5)
    by_q = robot.forward_dynamics_derivatives(q, v, tau)[0]
    assert np.allclose(by_q, slope(lambda x: robot.forward_dynamics(x, v, tau)), rtol=1e-5, atol=1e-3)
    found_a, found_tau = robot.hybrid_dynamics(q, v, a={"elbow": a[1]}, tau={"shoulder": tau[0], "slide": tau[2]})
    assert np.allclose(found_a, a, atol=1e-8)
    assert np.allclose(found_tau, tau, atol=1e-8)


def test_files_keep_tendons_and_actuators(arm, tmp_path):
    robot = arm[0]
    robot.save(tmp_path / "arm.yaml")
    again = kt.load(tmp_path / "arm.yaml")
    assert again.model.actuators == robot.model.actuators
    assert again.model.tendons == robot.model.tendons


def test_a_description_names_them(arm):
    text = arm[0].describe()
    assert "sum = 0.5 shoulder + -0.3 elbow  stiffness 7  damping 0.6" in text
    assert "line through world, " in text
    assert "servo on elbow  gain (20, 0, 0)  bias (0, -20, -1.5)" in text


def lever(**data):
    b = kt.Builder("lever", gravity=(0, 0, 0))
    b.body("arm", "base", kt.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), **data)
    return b


def test_a_position_servo_swings_as_the_closed_form_says():
    b = lever().actuator("servo", "arm_joint", gain=35.0, bias=(0, -35.0, 0))
    robot = b.build()
    times = np.linspace(0, 1, 11)
    record = kt.simulate(robot, [0.0], time=1.0, controller=kt.control.Actuators([0.3]), samples=times)
    assert np.allclose(record.q[:, 0], 0.3 * (1 - np.cos(10.0 * times)), atol=1e-6)  # inertia 0.35


def test_signals_by_name_batch_and_trajectory():
    robot = lever().actuator("m", "arm_joint", control_range=(-1, 2)).actuator("n", "arm_joint", gear=3.0).build()
    force = lambda signals, t=0.0: kt.control.Actuators(signals)(robot, t, [0.0], [0.0])  # noqa: E731
    assert force({"n": 2.0}) == 6.0
    assert force([5.0, 0.0]) == 2.0
    assert force(1.0) == 4.0
    assert np.allclose(force([[1.0, 0.0], [0.0, 1.0]])[:, 0], [1.0, 3.0])
    goal = kt.trajectories.Cycloid([0.0, 0.0], [1.0, 1.0], 1.0).held()
    assert np.isclose(force(goal, 2.0), 4.0)
    with pytest.raises(kt.KinetreeError, match="no actuator named 'o'"):
        force({"o": 1.0})
    batch = kt.control.Actuators([[1.0, 0.0], [0.0, 1.0]])
    record = kt.simulate(robot, [0.0], time=0.2, controller=batch, integrator="rk4", step=1e-2)
    assert np.allclose(record.v[-1, :, 0], 0.2 * np.array([1.0, 3.0]) / 0.35, rtol=1e-6)


def test_large_trees_feel_springs_along_tendons():
    b = kt.Builder("chain")
    for k in range(115):
        b.body(f"b{k}", "base" if k == 0 else f"b{k - 1}", kt.Revolute("y"), position=(0, 0, -0.1), mass=0.1)
    b.tendon("rope", points=["base", "b114"], stiffness=10.0, rest=5.0)
    large = b.build().with_backend("compiled")
    q = np.full(115, 0.01)
    written = large.with_backend("reference")
    assert np.allclose(large.gravity_force(q), written.gravity_force(q), rtol=1e-9)
    assert np.isclose(large.potential_energy(q), written.potential_energy(q))
    length = np.linalg.norm(written.pose(q, "b114")[:3, 3])
    rope = 0.5 * 10.0 * (length - 5.0) ** 2
    weight = 9.81 * large.mass * written.center_of_mass(q)[2]
    assert np.isclose(large.potential_energy(q), rope + weight)


def test_a_robot_without_actuators_says_so():
    with pytest.raises(kt.KinetreeError, match="has no actuators that signals could drive"):
        kt.control.Actuators(1.0)(lever().build(), 0.0, [0.0], [0.0])


def test_a_cylinder_drives_a_joint_without_a_motor():
    b = lever(actuated=False).tendon("cylinder", points=[("base", (0.3, 0, -0.4)), ("arm", (0.3, 0, 0))])
    robot = b.actuator("pump", tendon="cylinder").build()
    record = kt.simulate(robot, [0.0], time=0.01, controller=kt.control.Actuators(10.0))
    assert np.isclose(record.tau[0, 0], -10.0 * 0.3)
    assert np.isclose(record.v[-1, 0], -3.0 / 0.35 * 0.01, rtol=1e-3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda b: b.tendon("t"), "give either joints, or points"),
        (lambda b: b.tendon("t", {"arm_joint": 1.0}, stiffness=1.0), "a spring needs its length"),
        (lambda b: b.tendon("t", {"arm_joint": 1.0}, stiffness=1.0, rest=(2, 1)), "from the shorter length"),
        (lambda b: b.tendon("t", {"arm_joint": math.nan}), "is not a number"),
        (lambda b: b.tendon("t", points=["arm"]), "two points"),
        (lambda b: b.tendon("t", points=["arm", ("arm", (1, 0, 0))]).build(), "its length never changes"),
        (lambda b: b.tendon("t", points=["arm", "nowhere"]).build(), "'nowhere'"),
        (lambda b: b.tendon("t", {"arm_join": 1.0}).build(), "did you mean 'arm_joint'"),
        (lambda b: b.tendon("t", {"ball": 1.0}).build(), "joint 'ball' has 3 degrees of freedom"),
        (lambda b: b.actuator("a"), "give either a joint or a tendon"),
        (lambda b: b.actuator("a", tendon="t").build(), "no tendon"),
        (lambda b: b.actuator("a", "arm_joint", control_range=(1, 0)), "from the smaller number"),
        (lambda b: b.actuator("a", "arm_joint", gear=math.inf), "must be finite"),
        (lambda b: b.actuator("a", "arm_joint").actuator("a", "arm_joint"), "two actuators are named 'a'"),
    ],
)
def test_bad_tendons_and_actuators(make, says):
    b = lever().body("bob", "arm", kt.Spherical(), joint_name="ball", mass=1.0)
    with pytest.raises(kt.KinetreeError, match=says):
        make(b)


GRIPPER = """
<mujoco>
  <option gravity="0 0 -9.81"><flag contact="disable"/></option>
  <default><joint axis="0 1 0" armature="0.001"/></default>
  <worldbody>
    <body name="left" pos="-0.03 0 0">
      <joint name="left_driver" damping="0.1"/>
      <inertial pos="0 0 0.03" mass="0.05" diaginertia="1e-4 1e-4 1e-4"/>
      <body name="left_tip" pos="0 0 0.06">
        <joint name="left_coupler"/>
        <inertial pos="0.01 0 0.02" mass="0.03" diaginertia="1e-4 1e-4 1e-4"/>
      </body>
    </body>
    <body name="left_bar" pos="-0.01 0 0">
      <joint name="left_follower" stiffness="0.05" springref="30" damping="0.01"/>
      <inertial pos="0 0 0.03" mass="0.02" diaginertia="1e-4 1e-4 1e-4"/>
    </body>
    <body name="right" pos="0.03 0 0">
      <joint name="right_driver" axis="0 -1 0" damping="0.1"/>
      <inertial pos="0 0 0.03" mass="0.05" diaginertia="1e-4 1e-4 1e-4"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both"><joint joint="left_driver" coef="0.5"/><joint joint="right_driver" coef="0.5"/></fixed>
  </tendon>
  <equality>
    <connect body1="left_bar" body2="left_tip" anchor="0 0 0.06"/>
    <joint joint1="right_driver" joint2="left_driver" polycoef="0 1 0 0 0"/>
  </equality>
  <actuator>
    <general name="fingers" tendon="both" biastype="affine" gainprm="0.3" biasprm="0 -100 -10" ctrlrange="0 255"
             forcerange="-5 5"/>
  </actuator>
</mujoco>
"""


def test_a_gripper_moves_as_in_mujoco_as_its_constraints_are_stiffened(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "gripper.xml"
    path.write_text(GRIPPER)
    robot = kt.load(path).with_backend("compiled")
    q = robot.close(np.zeros(robot.nq))
    record = kt.simulate(
        robot, q, time=0.05, controller=kt.control.Actuators({"fingers": 150.0}), integrator="rk4", step=2e-5, samples=2
    )
    assert robot.closure_error(record.q[-1]) < 1e-9
    errors = []
    for h in (2e-4, 2e-5):
        m = mujoco.MjModel.from_xml_path(str(path))
        m.opt.timestep = h
        m.eq_solref[:], m.eq_solimp[:, :3] = (2 * h, 1.0), (0.9999, 0.9999, 0.001)
        d = mujoco.MjData(m)
        d.ctrl[:] = 150.0
        while d.time < 0.05 - 1e-9:
            mujoco.mj_step(m, d)
        places = [m.jnt_qposadr[mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_JOINT, name)] for name in robot.q_names]
        errors.append(np.abs(d.qpos[places] - record.q[-1]).max())
    assert np.abs(record.q[-1] - q).max() > 0.05
    assert errors[1] < 2e-4
    assert errors[1] < 0.25 * errors[0]
