"""Force elements: closed forms, energy kept without integrating works, MuJoCo, batches, loops, rigid contact."""

import math

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import PchipInterpolator

import kinetree as kt
from helpers.loop_models import LEG_START, leg
from helpers.robots import rods
from kinetree import forces as F
from kinetree.studies.user_study import read as read_study

SHARP = {"rtol": 1e-11, "atol": 1e-13, "progress": False}


def slider(mass=2.0, backend="compiled", gravity=(0, 0, 0), axis="x"):
    made = kt.Builder("slider", gravity=gravity).body("cart", "base", kt.Prismatic(axis), mass=mass, joint_name="rail")
    return made.build().with_backend(backend)


def pair():
    """Two carts on one rail."""
    b = kt.Builder("pair", gravity=(0, 0, 0))
    b.body("one", "base", kt.Prismatic("x"), mass=1.5, joint_name="first")
    b.body("two", "base", kt.Prismatic("x"), mass=1.5, joint_name="second")
    return b.build().with_backend("compiled")


def flyer():
    made = kt.Builder("flyer", gravity=(0, 0, 0)).body(
        "body", "base", kt.Free(), mass=2.0, com=(0.1, 0.0, -0.05), inertia=np.diag([0.05, 0.08, 0.1])
    )
    return made.build().with_backend("compiled")


def closed_to(record, tolerance=1e-9):
    """The books balance; and what springs store is not made up."""
    assert record.energy.relative_error < tolerance
    return record


# ---------------------------------------------------------------- closed forms


def test_a_mass_on_a_damped_spring():
    forces = [F.JointSpring("rail", stiffness=50.0, rest=0.2), F.JointSpring("rail", damping=1.5)]
    r = closed_to(kt.simulate(slider(), [0.5], [0.1], time=2.0, forces=forces, **SHARP))
    w, z = 5.0, 1.5 / (2 * 2.0 * 5.0)
    s, t = w * math.sqrt(1 - z * z), r.time
    x = 0.2 + np.exp(-z * w * t) * (0.3 * np.cos(s * t) + (0.1 + z * w * 0.3) / s * np.sin(s * t))
    np.testing.assert_allclose(r.q[:, 0], x, atol=1e-10)
    np.testing.assert_allclose(r.energy.stored, 25.0 * (x - 0.2) ** 2, atol=1e-9)
    lost = forces[1].books(r)["power"]
    np.testing.assert_allclose(lost, -1.5 * r.v[:, 0] ** 2, atol=1e-12)
    assert r.info["forces"] == ["JointSpring", "JointSpring"]


def test_two_masses_coupled_by_a_spring_between_points():
    k, c, length = 40.0, 30.0, 0.5
    forces = [
        F.JointSpring("first", stiffness=k),
        F.JointSpring("second", stiffness=k, rest=length),
        F.PointSpring("one", "two", stiffness=c, length=length),
    ]
    r = closed_to(kt.simulate(pair(), [0.1, length], time=2.0, forces=forces, **SHARP))
    together, apart = math.sqrt(k / 1.5), math.sqrt((k + 2 * c) / 1.5)
    u, w = 0.05 * np.cos(together * r.time), 0.05 * np.cos(apart * r.time)
    np.testing.assert_allclose(r.q, np.stack([u + w, length + u - w], axis=-1), atol=1e-10)


def test_a_pendulum_with_drag_and_a_body_that_falls_through_air():
    bob = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=0.5, com=(0, 0, -0.8)).build()
    bob = bob.with_backend("compiled")
    drag = F.Drag(("bob", (0.0, 0.0, -0.8)), linear=0.1, quadratic=0.3)
    r = closed_to(kt.simulate(bob, [1.5], time=3.0, forces=drag, samples=7, **SHARP))

    def rates(t, y):
        u = 0.8 * y[1]
        return [y[1], -9.81 / 0.8 * math.sin(y[0]) - (0.1 + 0.3 * abs(u)) * u / (0.5 * 0.8)]

    judge = solve_ivp(rates, (0.0, 3.0), [1.5, 0.0], "DOP853", r.time, rtol=1e-11, atol=1e-13).y[0]
    np.testing.assert_allclose(r.q[:, 0], judge, atol=1e-8)

    falls = slider(gravity=(0, 0, -9.81), axis="z")
    r = closed_to(kt.simulate(falls, time=2.0, forces=[F.Drag("cart", quadratic=0.4)], samples=5, **SHARP))
    last = math.sqrt(2.0 * 9.81 / 0.4)
    np.testing.assert_allclose(r.v[:, 0], -last * np.tanh(9.81 * r.time / last), atol=1e-8)


def test_pushes_over_time_out_of_a_long_table_along_turning_axes_and_in_functions():
    times = np.linspace(0.0, 1.0, 3001)
    table = kt.trajectories.sampled(times, (6.0 * times)[:, None], np.full((3001, 1), 6.0))
    forces = [F.JointPush("rail", table), F.Push("cart", force=lambda t: [2.0 * kt.cos(t), 0.0, 0.0])]
    r = closed_to(kt.simulate(slider(), time=1.0, forces=forces, samples=5, **SHARP))
    np.testing.assert_allclose(r.q[:, 0], 0.5 * r.time**3 + 1.0 - np.cos(r.time), atol=1e-9)
    with pytest.raises(kt.SimulationError, match="the trajectory of JointPush ends here"):
        kt.simulate(slider(), time=2.0, forces=forces)

    crank = kt.Builder("crank").body("arm", "base", kt.Revolute("z"), mass=1.0, inertia=np.diag([1, 1, 0.5])).build()
    r = closed_to(kt.simulate(crank, time=1.0, forces=F.Push(("arm", (0.3, 0, 0)), (0, 2.0, 0), axes="body"), **SHARP))
    np.testing.assert_allclose(r.v[-1], [0.3 * 2.0 / 0.5], rtol=1e-9)


@pytest.mark.parametrize("integrator", ["dop853", "rk45", "radau", "bdf", "sundials"])
def test_a_short_push_is_not_stepped_over(integrator, tmp_path):
    """An impulse of 1 N s within 2 ms of a long rest: straight rows of a file, jumps, and curves again and again."""
    cart, sharp = slider(mass=1.0), {"integrator": integrator, "progress": False}
    path = tmp_path / "forces.yaml"
    rows = "times: [0, 1, 1.001, 1.002], values: [0, 0, 1000, 0], hold: true"
    path.write_text(f"forces:\n  - {{kind: joint-push, joint: rail, force: {{{rows}}}}}\n")
    r = kt.simulate(cart, time=3.0, forces=F.load(path), **sharp)
    np.testing.assert_allclose([r.v[-1, 0], r.q[-1, 0]], [1.0, 1.999], rtol=1e-6)
    assert r.energy.relative_error < 1e-6
    table = kt.control.TorqueTable([0, 1, 1.001, 1.002], [[0], [0], [1000.0], [0]], kind="step", hold=True)
    r = kt.simulate(cart, time=3.0, controller=table, **sharp)
    assert r.v[-1, 0] == pytest.approx(1.0, rel=1e-6)
    bump = kt.trajectories.sampled(
        [0.0, 0.9, 0.901, 0.902, 1.1], [[0.0], [0.0], [1000.0], [0.0], [0.0]], np.zeros((5, 1))
    )
    r = kt.simulate(cart, time=3.0, forces=F.JointPush("rail", kt.trajectories.Repeated(bump)), **sharp)
    assert r.v[-1, 0] == pytest.approx(2.0, rel=1e-6)  # at 0.9 and 2.0; the third is later


def test_kinks_of_trajectories_put_together():
    tent = kt.trajectories.Piecewise([0.0, 1.0, 2.0], [[[0.0], [1.0]], [[1.0], [-1.0]]])
    np.testing.assert_allclose(tent.kinks(-1.0, 9.0), [0.0, 1.0, 2.0])
    np.testing.assert_allclose(kt.trajectories.Repeated(tent).kinks(2.5, 5.5), [3.0, 4.0, 5.0])
    rest = kt.trajectories.Constant([0.0], 0.5)
    np.testing.assert_allclose(rest.then(tent).kinks(0.2, 9.0), [0.5, 1.5, 2.5])
    np.testing.assert_allclose(kt.trajectories.Stacked([tent, tent]).kinks(0.5, 9.0), [1.0, 2.0])
    dense = np.linspace(0.0, 1.0, 1001)
    assert len(kt.trajectories.sampled(dense, np.sin(6.0 * dense)[:, None]).kinks(-1.0, 2.0)) == 2


def test_a_rope_never_pushes():
    """Taut and shortening fast, its damping would push: it is slack; so are its slopes for implicit steps."""
    cart = slider(mass=1.0, backend="reference")
    rope = F.PointSpring("base", "cart", stiffness=10.0, damping=5.0, length=1.0, pulls_only=True)
    for x, v, want in ((1.5, 0.0, -5.0), (1.5, 2.0, -15.0), (1.5, -0.5, -2.5), (1.5, -3.0, 0.0), (0.5, 3.0, 0.0)):
        loads, _, _ = rope.loads(cart.model, 0.0, [x], [v])
        assert float(loads[0].force.x) == pytest.approx(want, abs=1e-12)
        ((_, stiffness, damping),) = rope.impedance(cart.model, 0.0, [x], [v])[2]
        assert (float(stiffness), float(damping)) == ((10.0, 5.0) if want else (0.0, 0.0))


def test_a_motor_runs_up_along_its_line_and_its_curve():
    wheel = kt.Builder("wheel").body("disk", "base", kt.Revolute("z"), mass=1.0, inertia=np.diag([1, 1, 0.2])).build()
    joint = wheel.model.joints[0].name
    line = F.Motor(joint, signal=0.5, stall_torque=0.1, no_load_speed=300.0, ratio=20.0)
    r = closed_to(kt.simulate(wheel, time=1.0, forces=line, samples=9, **SHARP))
    decay = 0.1 * 20.0**2 / 300.0 / 0.2
    np.testing.assert_allclose(r.v[:, 0], 0.5 * 300.0 / 20.0 * (1.0 - np.exp(-decay * r.time)), rtol=1e-8, atol=1e-9)
    curve = F.Characteristic([0.0, 100.0, 300.0], [0.1, 0.1, 0.0])
    rubbing = {"ratio": 20.0, "efficiency": 0.8, "rubbing": 0.3, "damping": 0.02}
    motor = F.Motor(joint, signal=lambda t, q, v: 3.0 - q, curve=curve, **rubbing)
    speeds = np.array([200.0, 300.0])
    many = F.Motor(joint, signal=0.5, stall_torque=0.1, no_load_speed=speeds, ratio=20.0)
    ends = kt.simulate(wheel, time=3.0, forces=many, integrator="rk4", step=5e-3, samples=2).v[-1, :, 0]
    np.testing.assert_allclose(ends, 0.5 * speeds / 20.0 * (1.0 - np.exp(-600.0 / speeds)), rtol=1e-6)
    (tau,) = motor.loads(wheel.model, 0.0, [1.0], [10.0])[1]  # 200 rad/s: half the torque, signal at its limit
    assert tau == pytest.approx(0.8 * 20.0 * 0.05 - 0.3 - 0.2, rel=1e-5)
    (tau,) = motor.loads(wheel.model, 0.0, [2.5], [-10.0])[1]  # braked with all of it, and by the teeth
    assert tau == pytest.approx(0.5 * 20.0 * 0.1 * 1.2 + 0.3 + 0.2, rel=1e-5)


# ---------------------------------------------------------------- energy that is kept, without integrating works


def test_a_satellite_keeps_its_orbit():
    body = kt.Builder("satellite", gravity=(0, 0, 0)).body("body", "base", kt.Translation(), mass=3.0).build()
    body = body.with_backend("compiled")
    mu, radius = 2.0, 1.5
    speed, period = math.sqrt(mu / radius), 2 * math.pi * math.sqrt(radius**3 / mu)
    field = F.GravityField.central(mu)
    r = closed_to(kt.simulate(body, [radius, 0, 0], [0, speed, 0], time=period, forces=field, samples=9, **SHARP))
    np.testing.assert_allclose(np.linalg.norm(r.q, axis=-1), radius, rtol=1e-8)
    np.testing.assert_allclose(r.q[-1], r.q[0], atol=1e-7)
    np.testing.assert_allclose(r.energy.stored, -mu * 3.0 / radius, rtol=1e-8)


def test_a_bushing_gives_back_all_it_takes_however_far_it_turns():
    mount = F.Bushing("base", "body", (300.0, 500.0, 200.0), turning_stiffness=(3.0, 8.0, 5.0))
    q = flyer().neutral()
    v = np.array([7.0, -6.0, 5.0, 0.5, -1.0, 2.0])
    r = closed_to(kt.simulate(flyer(), q, v, time=1.0, forces=mount, **SHARP))
    whole = r.energy.kinetic + r.energy.stored
    np.testing.assert_allclose(whole, whole[0], rtol=1e-9)
    assert r.energy.stored.max() > 0.3 * whole[0]
    still = F.Bushing("base", "body", 0.0, 20.0, 0.0, 0.4)
    losing = kt.simulate(flyer(), q, v, time=1.0, forces=[mount, still], **SHARP)
    closed_to(losing)
    assert (still.books(losing)["power"] <= 0.0).all()


@pytest.mark.slow
def test_a_linkage_with_a_spring_between_two_points():
    robot = leg().with_backend("compiled")  # seven links, as in Andrews' mechanism, which has such a spring
    q, _ = robot.project(LEG_START, np.zeros(7))
    spring = F.PointSpring(("base", (0.014, 0.072, 0.0)), ("l3", (0.02, 0.018, 0.0)), stiffness=453.0, length=0.07785)
    r = closed_to(kt.simulate(robot, q, time=0.2, forces=spring, **SHARP))
    whole = r.energy.mechanical + r.energy.stored
    np.testing.assert_allclose(whole, whole[0], atol=1e-8)
    assert np.ptp(r.energy.stored) > 0.01
    damper = F.PointSpring("base", "l6", damping=3.0)
    closed_to(kt.simulate(robot, q, time=0.1, forces=[spring, damper], **SHARP))
    steps = kt.simulate(robot, q, time=0.2, forces=spring, integrator="rk4", step=1.25e-4, samples=2)
    np.testing.assert_allclose(steps.q[-1], r.q[-1], atol=1e-6)


def test_forces_beside_rigid_contact():
    ball = slider(gravity=(0, 0, -9.81), axis="z")
    spring, foot = F.JointSpring("rail", stiffness=30.0, rest=1.0), kt.contact.Contact("cart", restitution=0.5)
    r = kt.simulate_rigid(ball, [foot], [1.0], time=1.5, forces=[spring], progress=False)
    closed_to(r)
    assert any("impact" in event.name for event in r.events)
    assert r.energy.ground[-1] < -0.1
    lost = r.energy.mechanical + r.energy.stored - r.energy.ground
    np.testing.assert_allclose(lost, lost[0], rtol=1e-8)


# ---------------------------------------------------------------- characteristics, batches, steps


def test_characteristics_as_tables_and_functions_are_the_same_force():
    x = np.linspace(-0.5, 0.5, 401)
    hard = F.Characteristic(x, 80.0 * x + 900.0 * x**3)
    table = F.JointSpring("rail", stiffness=hard)
    own = F.JointSpring("rail", stiffness=lambda s: 80.0 * s + 900.0 * s**3, law=lambda s, rate: 0.0 * rate)
    a, b = (kt.simulate(slider(), [0.3], time=0.5, forces=f, samples=9, rtol=1e-6) for f in (table, own))
    np.testing.assert_allclose(a.q, b.q, atol=1e-4)
    s = a.q[:, 0]
    np.testing.assert_allclose(a.energy.stored, 40.0 * s**2 + 225.0 * s**4, atol=1e-3)
    assert float(hard(0.6)) > 80.0 * 0.5 + 900.0 * 0.125  # goes on straight
    closed_to(a, 1e-5)


def test_a_table_over_the_angle_of_a_crank(tmp_path):
    """Like SciPy's of three periods in the middle, seam included; a wheel that it turns has its area as energy."""
    turn = 2.0 * np.pi
    angle, force = np.array([0.5, 1.0, 2.0, 3.5, 4.5, 6.0]), np.array([3.0, 8.0, 6.0, -1.0, -2.0, 1.0])
    gas = F.Characteristic(angle, force, period=turn, smooth=True)
    three = PchipInterpolator(np.concatenate([angle + k * turn for k in (-1, 0, 1)]), np.tile(force, 3))
    x = np.linspace(0.0, turn, 200)
    for turns in (0, -3, 40):
        np.testing.assert_allclose(gas(x + turns * turn), three(x), atol=1e-11)
    np.testing.assert_allclose(gas.energy(x), three.antiderivative()(x) - three.antiderivative()(0.0), atol=1e-12)
    whole = three.integrate(0.0, turn)
    np.testing.assert_allclose(gas.energy(x - 3 * turn), gas.energy(x) - 3 * whole, atol=1e-11)
    straight = F.Characteristic([*angle, 0.5 + turn], [*force, 3.0], period=turn)
    np.testing.assert_allclose(straight(x - turn), np.interp(x, angle, force, period=turn), atol=1e-12)
    bent = F.Characteristic(angle, force, smooth=True)  # without a period it goes on straight
    np.testing.assert_allclose([bent(-3.0), bent(8.0)], [3.0 - 3.5 * 10.0, 1.0 + 2.0 * 2.0], atol=1e-12)

    wheel = kt.Builder("wheel").body("wheel", "base", kt.Revolute("z"), mass=1.0, inertia=(0.4, 0.4, 0.4))
    (tmp_path / "gas.yaml").write_text(
        f"forces: [{{kind: joint-push, joint: wheel_joint, over: wheel_joint, force: {{x: {angle.tolist()}, "
        f"y: {force.tolist()}, period: {turn!r}, smooth: true}}}}]"
    )
    how = {"integrator": "rk4", "step": 1e-3, "samples": 9}
    r = kt.simulate(
        wheel.build().with_backend("compiled"), [0.3], [2.0], time=2.0, forces=F.load(tmp_path / "gas.yaml"), **how
    )
    assert r.q[-1, 0] > 2 * turn
    gained = gas.energy(r.q[:, 0]) - gas.energy(0.3)
    np.testing.assert_allclose(0.2 * r.v[:, 0] ** 2, 0.2 * 4.0 + gained, rtol=1e-6)
    with pytest.raises(kt.OptionError, match="more than the period"):
        F.Characteristic([0.0, 7.0], [1.0, 1.0], period=turn)
    with pytest.raises(kt.OptionError, match="has a different force: 2, not 1"):
        F.Characteristic([0.0, 1.0, turn], [1.0, 3.0, 2.0], period=turn)
    with pytest.raises(kt.OptionError, match="a function of its coordinate"):
        F.JointPush("piston_joint", 3.0, over="crank_joint")


@pytest.mark.parametrize("integrator", ["rk4", "implicit_euler"])
def test_a_batch_with_numbers_of_its_own(integrator):
    k = np.array([20.0, 50.0, 80.0, 5.0])
    push = np.stack([k, 0 * k, 0 * k], axis=-1)
    forces = [F.JointSpring("rail", stiffness=k, damping=0.5), F.Push("cart", push)]
    how = {"time": 0.1, "integrator": integrator, "step": 5e-3, "samples": 3}
    many = kt.simulate(slider(), [0.3], forces=forces, **how)
    for lane in (0, 3):
        own = [F.JointSpring("rail", stiffness=k[lane], damping=0.5), F.Push("cart", push[lane])]
        one = kt.simulate(slider(backend="reference"), [0.3], forces=own, **how)
        np.testing.assert_allclose(many.q[:, lane], one.q, atol=1e-12)
    assert np.isnan(many.energy.forces).all()
    stiff = F.JointSpring("rail", stiffness=1e9, damping=1e3)
    held = kt.simulate(slider(), [0.1], time=0.2, forces=stiff, integrator="implicit_euler", step=1e-2)
    assert abs(held.q[-1, 0]) < 1e-3


# ---------------------------------------------------------------- against MuJoCo

ARM = """
<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" {shoulder}/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/><site name="mid" pos="0.05 0 -0.2"/>
    <body name="fore" pos="0 0 -0.4"><joint name="elbow" axis="0 1 0" {elbow}/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/><site name="tip" pos="0 0 -0.3"/></body>
  </body><site name="hook" pos="0.3 0.1 0.8"/></worldbody>{rest}</mujoco>
"""
TENDON = """<tendon><spatial name="rope" stiffness="70" damping="3" springlength="0.2"><site site="hook"/>
<site site="tip"/></spatial></tendon><actuator><position joint="elbow" kp="12" kv="0.7"/></actuator>"""


def test_springs_dampers_and_servos_against_mujoco(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(ARM.format(shoulder="", elbow="", rest=""))
    theirs = mujoco.MjModel.from_xml_string(
        ARM.format(shoulder='stiffness="8" springref="20" damping="0.6"', elbow='damping="0.2"', rest=TENDON)
    )
    ours = kt.load(path).with_backend("compiled")
    forces = [
        F.JointSpring("shoulder", stiffness=8.0, rest=math.radians(20), damping=0.6),
        F.JointSpring("elbow", damping=0.2),
        F.PointSpring(("base", (0.3, 0.1, 0.8)), ("fore", (0.0, 0.0, -0.3)), stiffness=70.0, damping=3.0, length=0.2),
        F.JointSpring("elbow", stiffness=12.0, rest=0.4, damping=0.7),
    ]
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:], data.ctrl[:] = [0.4, -0.9], [1.5, -2.5], [0.4]
    mujoco.mj_forward(theirs, data)
    r = kt.simulate(ours, data.qpos, data.qvel, time=1e-3, forces=forces, samples=2)
    np.testing.assert_allclose(r.a[0], data.qacc, rtol=1e-9)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: F.JointSpring("rail", stiffness=-1.0), "stiffness must be finite and not below 0"),
        (lambda: F.JointSpring("rail", stiffness="hard"), "a number, a kinetree.forces.Characteristic or a function"),
        (lambda: F.PointSpring("cart", ("base", (1, 2))), "a point is the name of a body or frame"),
        (lambda: F.Push("cart", force=(1.0, 2.0)), "force must be 3 numbers"),
        (lambda: F.Push("cart", axes="moon"), "no kind of axes named 'moon'"),
        (lambda: F.Motor("rail", 1.0), "needs its stall_torque and no_load_speed"),
        (lambda: F.Motor("rail", 1.0, no_load_speed=9.0), "needs its stall_torque and no_load_speed"),
        (lambda: F.Motor("rail", 12.0, 1.0, 9.0), "signal is a fraction of the full voltage, between -1 and 1, not 12"),
        (lambda: F.Motor("rail", 1.0, 1.0, 9.0, efficiency=85), "between 0 and 1, not 85.0: 0.85 for 85 %"),
        (lambda: F.Motor("rail", 1.0, 1.0, 9.0, ratio=0), "ratio is how often"),
        (lambda: F.Motor("rail", 1.0, 1.0, 9.0, friction_speed=0), "friction_speed must be above 0"),
        (lambda: F.Motor("rail", 1.0, 1.0, curve=F.Characteristic([0, 1], [1, 0])), "give one of them"),
        (lambda: F.GravityField.central(1.0, (0.0, 0.0)), "three numbers"),
        (lambda: F.GravityField.central("heavy"), "mu is a finite number"),
        (lambda: F.Characteristic([0.0, 0.0], [1.0, 2.0]), "must rise"),
        (lambda: kt.simulate(slider(), time=1.0, forces=["spring"]), "forces must be force elements, such as a PointS"),
        (lambda: kt.simulate(slider(), time=1.0, forces=F.JointSpring("rial")), "no joint named 'rial'"),
        (lambda: kt.simulate(slider(), time=1.0, forces=F.Drag("cat")), "'cat'"),
        (lambda: kt.simulate(slider(), time=1.0, forces=lambda t, q, v: [1.0, 2.0]), "returned 2 forces"),
        (lambda: kt.simulate(slider(), time=1.0, forces=lambda t, q, v: -q[0]), "must return a list of forces"),
        (lambda: kt.simulate(flyer(), time=1.0, forces=F.JointSpring(flyer().model.joints[0].name)), "quaternion"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()


# ---------------------------------------------------------------- in files

FILE = """
forces:
  - {kind: joint-spring, joint: rail, stiffness: {x: [-1, 0, 1], y: [-30, 0, 30]}, damping: 0.4, name: mount}
  - {kind: point-spring, a: {frame: base, point: [1, 0, 0]}, b: cart, stiffness: 20.0, length: 0.5}
  - {kind: bushing, a: base, b: cart, stiffness: [5, 0, 0]}
  - {kind: push, at: cart, force: {times: [0, 1], values: [[0, 0, 0], [3, 0, 0]], hold: true}}
  - {kind: joint-push, joint: rail, force: 0.5}
  - {kind: drag, at: cart, linear: 0.1, wind: [1, 0, 0]}
  - {kind: motor, joint: rail, signal: 0.2, stall_torque: 1.0, no_load_speed: 10.0}
  - {kind: central-gravity, mu: 0.1, center: [0, 5, 0]}
"""


def test_forces_in_a_file_are_those_in_python(tmp_path):
    path = tmp_path / "forces.yaml"
    path.write_text(FILE)
    read, robot = F.load(path), slider(backend="reference")
    x, v, t = 0.3, 0.7, 0.25
    total = sum(f.loads(robot.model, t, [x], [v])[1][0] for f in read)
    total += sum(w.force.x for f in read for w in f.loads(robot.model, t, [x], [v])[0] if w is not None)
    away = math.hypot(x, 5.0)
    want = -30 * x - 0.4 * v + 20 * (0.2) - 5 * x + 0.75 + 0.5 - 0.1 * (v - 1) + 0.2 - v / 10 - 0.1 * 2 * x / away**3
    assert float(total) == pytest.approx(want, rel=1e-12)
    assert read[0].label == "mount"
    for old, new, message in (
        ("kind: drag", "kind: draft", "8.*no kind of force named 'draft'"),
        ("linear: 0.1", "linear: -1", "8.*not below 0"),
        ("joint: rail, force", "joint: rail, farce", "7.*'farce'"),
        ("values: [[0, 0, 0], [3, 0, 0]]", "values: [[0, 0], [3, 0]]", "6.*list of 3 numbers"),
    ):
        path.write_text(FILE.replace(old, new))
        with pytest.raises(kt.FileFormatError, match=message):
            F.load(path)


def test_a_study_with_forces_says_which_line_names_what_is_not_there(tmp_path):
    text = "kinetree-study: 1\nrobot: robot.yaml\nsimulation: {time: 0.1}\nforces:\n"
    text += "  - {kind: drag, at: cart, linear: 1}\n"
    slider().save(tmp_path / "robot.yaml")
    path = tmp_path / "study.yaml"
    path.write_text(text.replace("at: cart", "at: card"))
    with pytest.raises(kt.FileFormatError, match=r"study.yaml.*5.*'card'"):
        read_study(path)
    path.write_text(text)
    outcome = read_study(path).analyses["simulation"](False)
    assert outcome.records["record"].info["forces"] == ["Drag"]


def test_an_element_tells_its_forces_along_the_world():
    """Of a spring between two points both ends, of a push on a batch each robot's; and what drives a joint directly."""
    robot = rods(2)
    spring = kt.forces.PointSpring(("base", (0.5, 0, 0)), ("b1", (0, 0, -1)), stiffness=30.0, length=0.8)
    record = kt.simulate(robot, [0.3, 0.2], time=0.2, forces=spring, samples=5)
    away = robot.pose(record.q, "b1") @ [0, 0, -1, 1] - [0.5, 0, 0, 1]
    length = np.linalg.norm(away[:, :3], axis=-1, keepdims=True)
    pull = 30.0 * (length - 0.8) * away[:, :3] / length
    assert np.allclose(spring.books(record)["force"], np.stack([pull, -pull], axis=1), atol=1e-12)
    wall = kt.forces.PointForce("b1", lambda t, x, v: [-50.0 * x[0], 0.0, 0.0])
    many = kt.simulate(
        robot, [[0.3, 0.2], [0.1, 0.0]], time=0.1, forces=wall, integrator="rk4", step=0.05, samples=3
    )  # fmt: skip
    told = wall.books(many)
    assert told["force"].shape == (3, 2, 1, 3)
    assert np.allclose(told["force"][..., 0, 0], -50.0 * robot.pose(many.q, "b1")[..., 0, 3])
    assert told["joint_force"].shape == (3, 2, 2)
    assert not told["joint_force"].any()


HIT = [0, 0.5, 0.5001, 0.6, 0.6001, 5], [[0, 0, 0], [0, 0, 0], [2.5, 0, 0], [2.5, 0, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "force", [HIT, kt.trajectories.sampled(*HIT, kind="linear"), kt.control.TorqueTable(*HIT)],
    ids=["table", "sampled", "torque table"],
)  # fmt: skip
def test_a_table_of_a_push_is_straight_as_in_study_files(force):
    """The impulse of a trapezoid, 0.25 N s, whatever made the table; a spline through it reaches 760 kN."""
    run = kt.simulate(slider(), [0.0], time=1.0, forces=F.Push("cart", force), **SHARP)
    assert run.v[-1, 0] == pytest.approx(2.5 * 0.1 / 2.0, rel=1e-9)
    column = HIT[0], [row[0] for row in HIT[1]]
    along = kt.simulate(slider(), [0.0], time=1.0, forces=F.JointPush("rail", column), **SHARP)
    assert along.v[-1, 0] == pytest.approx(run.v[-1, 0], rel=1e-9)


def test_a_controller_is_not_a_force_over_time():
    with pytest.raises(kt.OptionError, match=r"Push: force must be .* a Law drives joints: give it to controller="):
        F.Push("cart", kt.control.Law(lambda t, q, v: [0.0]))
    with pytest.raises(kt.ShapeError, match="one row per time, 6 of them"):
        F.Push("cart", (HIT[0], HIT[1][:-1]))
