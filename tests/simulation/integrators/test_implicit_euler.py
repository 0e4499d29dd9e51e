"""Steps that are implicit in springs, dampers and servos: against MuJoCo's, backward Euler, and finer steps."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.equation import Equation
from kinetree.simulation.system import DynamicSystem

ARM = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast"><flag contact="disable"/></option>
  <worldbody>
    <body pos="0 0 1">
      <joint name="a" axis="0 1 0" damping="30"/>
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
      <body pos="0.4 0 0">
        <joint name="b" axis="0.3 1 0.2" damping="2"/>
        <inertial pos="0.15 0 0" mass="0.1" diaginertia="0.001 0.001 0.001"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <velocity name="speed" joint="b" kv="50"/>
    <motor name="motor" joint="a"/>
  </actuator>
</mujoco>
"""


def test_steps_are_those_of_mujoco(tmp_path):
    """MuJoCo's implicitfast is implicit in dampers and velocity servos, and so are we without springs."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[:] = [0.3, -0.4], [1.0, 3.0], [0.7, 2.0]
    begin = d.qpos.copy(), d.qvel.copy()
    for _ in range(20):
        mujoco.mj_step(m, d)
    record = kt.simulate(
        kt.load(path), *begin, time=0.04, controller=kt.control.Actuators([0.7, 2.0]), integrator="implicit_euler",
        step=0.002, samples=2,
    )  # fmt: skip
    assert np.allclose(record.q[-1], d.qpos, rtol=1e-9, atol=1e-10)
    assert np.allclose(record.v[-1], d.qvel, rtol=1e-9, atol=1e-9)


def swing(stiffness, damping, **options):
    b = kt.Builder("swing", gravity=(0, 0, 0))
    b.body("mass", "base", kt.Prismatic("x"), mass=2.0, stiffness=stiffness, spring_rest=0.3, damping=damping)
    robot = b.build()
    return kt.simulate(robot, [0.8], [1.0], time=0.1, integrator="implicit_euler", step=0.01, samples=11, **options)


def test_a_linear_spring_is_stepped_by_backward_euler():
    h, k, b, m = 0.01, 5e5, 40.0, 2.0
    record = swing(k, b)
    matrix = np.linalg.inv(np.eye(2) - h * np.array([[0.0, 1.0], [-k / m, -b / m]]))
    state = np.array([0.5, 1.0])
    for q, v in zip(record.q[:, 0], record.v[:, 0], strict=True):
        assert np.allclose([q - 0.3, v], state, rtol=1e-9, atol=1e-12)
        state = matrix @ state


def test_a_servo_is_a_spring():
    b = kt.Builder("swing", gravity=(0, 0, 0)).body("mass", "base", kt.Prismatic("x"), mass=2.0)
    b.actuator("servo", "mass_joint", gain=5e5, bias=(0.0, -5e5, -40.0))
    goal = kt.trajectories.Constant([0.3])
    for controller in (kt.control.Actuators(0.3), kt.control.PD(goal, 5e5, 40.0),
                       kt.control.PD(goal, 4e5, 40.0) + kt.control.PD(goal, 1e5, 0.0)):  # fmt: skip
        record = kt.simulate(
            b.build(), [0.8], [1.0], time=0.1, integrator="implicit_euler", step=0.01, samples=11, controller=controller
        )
        assert np.allclose(record.q, swing(5e5, 40.0).q, rtol=1e-9, atol=1e-12)


def chain(n, backend="compiled"):
    b = kt.Builder("chain")
    for k in range(n):
        b.body(
            f"b{k}", "base" if k == 0 else f"b{k - 1}", kt.Revolute("y" if k % 2 else "x"), position=(0, 0, -0.1),
            mass=0.1, com=(0, 0, -0.05), inertia=(1e-4, 1e-4, 1e-5), stiffness=20.0, spring_rest=0.1, damping=0.5,
        )  # fmt: skip
    return b.build().with_backend(backend)


def test_batches_and_the_reference_take_the_same_steps():
    settings = {"time": 0.02, "integrator": "implicit_euler", "step": 1e-3, "samples": 2}
    batch = np.random.default_rng(5).uniform(-0.3, 0.3, (3, 4))
    many = kt.simulate(chain(4), batch, **settings)
    for k in range(3):
        assert np.allclose(many.q[-1, k], kt.simulate(chain(4), batch[k], **settings).q[-1], atol=1e-12)
        as_written = kt.simulate(chain(4, "reference"), batch[k], **settings)
        assert np.allclose(many.q[-1, k], as_written.q[-1], atol=1e-10)


def test_large_trees_take_them():
    large = chain(115)
    record = kt.simulate(large, np.full(115, 0.05), time=0.01, integrator="implicit_euler", step=1e-3, samples=2)
    fine = kt.simulate(large, np.full(115, 0.05), time=0.01, integrator="implicit_euler", step=1e-4, samples=2)
    finest = kt.simulate(large, np.full(115, 0.05), time=0.01, integrator="implicit_euler", step=2e-5, samples=2)
    errors = [np.abs(r.q[-1] - finest.q[-1]).max() for r in (record, fine)]
    assert errors[0] < 1e-2
    assert errors[1] < 0.2 * errors[0]


def test_mechanisms_take_them():
    """A four-bar with light, strongly damped and sprung joints, where explicit steps are lost."""
    b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
    for name, length in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.8)):
        b.add_body(name, kt.MassProperties.rod(0.02, (0, 0, 0), (length, 0, 0)))
    z = kt.Revolute("z")
    b.joint("j1", "base", "crank", z, damping=0.5)
    b.joint("j2", "crank", "coupler", z, (0.3, 0, 0), actuated=False, damping=5.0, stiffness=200.0, spring_rest=-0.5)
    b.joint("j3", "coupler", "rocker", z, (1.0, 0, 0), seat=(0.8, 0, 0), actuated=False)
    b.joint("j4", "base", "rocker", z, (1.1, 0, 0), actuated=False, damping=0.1)
    robot = b.build().with_backend("compiled")
    q = robot.close(np.full(robot.nq, 0.7), fixed=["j1"])
    with pytest.raises(kt.SimulationError):
        kt.simulate(robot, q, time=0.1, integrator="rk4", step=1e-3)
    ends = []
    for step in (1e-3, 1e-4, 1e-5):
        record = kt.simulate(robot, q, time=0.05, integrator="implicit_euler", step=step, samples=2)
        ends.append(record.q[-1])
        assert robot.closure_error(record.q[-1]) < 1e-12
    servo = kt.control.PD(kt.trajectories.Constant([0.2]), 50.0, 3.0)
    equation = Equation(DynamicSystem(robot, servo))
    equation = equation.prepared(q)
    state = (0.0, q, robot.velocities(q, [2.0]), np.zeros(equation.system.nz))
    by_rank = equation.accelerations(*state, ahead=1e-3)[0]
    as_compiled = equation.system.closed_rate(0.0, *(x.tolist() for x in state[1:]), equation.loops, ahead=1e-3)[0]
    assert np.allclose(by_rank, as_compiled, rtol=1e-9, atol=1e-9)
    exact = kt.simulate(robot, q, time=0.05, integrator="rk4", step=1e-6, samples=2).q[-1]
    errors = [np.abs(end - exact).max() for end in ends]
    assert errors[0] < 0.02
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.2 * errors[1]


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit_euler"])
@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_a_body_that_spins_flies_like_one_that_does_not(integrator, backend):
    ball = kt.Builder("ball").body("ball", "base", kt.Free(), mass=2.0, inertia=(0.1, 0.1, 0.1)).build()
    ball, start = kt.Robot(ball.model, backend=backend), ball.neutral()
    spinning = kt.simulate(ball, start, [3, 20, 10, 3, 1, 0], time=0.2, integrator=integrator, step=1e-3, samples=2)
    still = kt.simulate(ball, start, [0, 0, 0, 3, 1, 0], time=0.2, integrator=integrator, step=1e-3, samples=2)
    assert spinning.q[-1, 4:] == pytest.approx(still.q[-1, 4:], abs=1e-11)
    assert np.linalg.norm(spinning.v[-1, 3:]) == pytest.approx(np.linalg.norm(still.v[-1, 3:]), rel=1e-11)
