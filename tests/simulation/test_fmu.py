"""Functional Mock-up Units: validated and simulated by FMPy, equal to kt.simulate."""

import shutil

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.fmu import binaries

fmpy = pytest.importorskip("fmpy")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")]


def positions(robot, result):
    return np.array([[row[f"{name}.position"] for name in robot.q_names] for row in result])


def simulated(made, time, samples, kind="CoSimulation", **more):
    return fmpy.simulate_fmu(
        str(made.path), fmi_type=kind, stop_time=time, output_interval=time / (samples - 1), record_events=False,
        output=made.named("output"), **more,
    )  # fmt: skip


def problems(made):
    from fmpy.validation import validate_fmu

    return validate_fmu(str(made.path))


@pytest.fixture
def pendulum():
    b = kt.Builder("pendulum")
    b.body("rod", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0), joint_name="hinge",
           damping=0.1, effort_limit=50)  # fmt: skip
    return b.build().with_backend("compiled")


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_arm_as_simulated(tmp_path, version):
    robot, q0 = kt.load("kuka-kr5").with_backend("compiled"), [0.1, -0.4, 0.3, 0.2, 0.5, -0.1]
    made = kt.fmu(robot, tmp_path / "arm.fmu", version=version, q0=q0, outputs={"wrist": lambda m: m.place("link_6")})
    assert problems(made) == []
    record = kt.simulate(robot, q0, time=0.2, integrator="rk4", step=1e-3, samples=5)
    found = simulated(made, 0.2, 5)
    assert np.abs(positions(robot, found) - record.q).max() < 1e-12
    wrist = np.array([[row[f"wrist[{k}]"] for k in range(3)] for row in found])
    assert np.abs(wrist - robot.pose(record.q, "link_6")[:, :3, 3]).max() < 1e-12
    energy = found["energy.kinetic"] + found["energy.potential"]
    assert np.abs(energy - (robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q))).max() < 1e-11
    outside = simulated(made, 0.2, 5, "ModelExchange", relative_tolerance=1e-11)
    assert np.abs(positions(robot, outside) - record.q).max() < 1e-7
    assert made.path.stat().st_size < 1_000_000


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_mechanism_with_a_spring(tmp_path, version):
    robot = kt.load("four-bar").with_backend("compiled")
    q = robot.close([0.0, 1.0, 4.3], fixed=["crank_joint"])
    v, spring = robot.velocities(q, [4.7]), [kt.forces.JointSpring("rocker_joint", 20.0, rest=1.0)]
    made = kt.fmu(robot, tmp_path / "bars.fmu", version=version, q0=q, v0=v, forces=spring)
    assert problems(made) == []
    record = kt.simulate(robot, q, v, time=0.3, integrator="rk4", step=1e-3, samples=4, forces=spring)
    found = simulated(made, 0.3, 4)
    assert np.abs(positions(robot, found) - record.q).max() < 1e-12
    assert found["closure_error"].max() < 1e-12
    exact = kt.simulate(robot, q, v, time=0.3, rtol=1e-11, atol=1e-12, samples=4, forces=spring)
    outside = simulated(made, 0.3, 4, "ModelExchange", relative_tolerance=1e-10)
    assert np.abs(positions(robot, outside) - exact.q).max() < 1e-6
    assert outside["closure_error"].max() < 1e-7
    other = simulated(made, 0.3, 4, start_values={"forces.stiffness": 5.0})
    softer = kt.simulate(
        robot, q, v, time=0.3, integrator="rk4", step=1e-3, samples=4,
        forces=[kt.forces.JointSpring("rocker_joint", 5.0, rest=1.0)],
    )  # fmt: skip
    assert np.abs(positions(robot, other) - softer.q).max() < 1e-12


def test_walking_machine_with_controller_and_ground(tmp_path):
    machine = kt.gallery.walk("quadruped")
    robot, (q, v), law = machine.robot.with_backend("compiled"), machine.start(), machine.computed_torque()
    acting = {"controller": law, "ground": machine.ground, "q0": q, "v0": v}
    made = kt.fmu(robot, tmp_path / "walk.fmu", action=None, step=2e-4, **acting)
    assert problems(made) == []
    assert made.named("input") == []
    record = kt.simulate(robot, time=0.1, integrator="rk4", step=2e-4, samples=6, **acting)
    found = simulated(made, 0.1, 6)
    assert np.abs(positions(robot, found) - record.q).max() < 1e-10
    assert abs(found["ground.z"][-1]) > 10.0


def test_inputs_move_it(tmp_path, pendulum):
    made = kt.fmu(pendulum, tmp_path / "p.fmu", q0=[0.3])
    assert made.named("input") == ["hinge.torque"]
    times = np.linspace(0.0, 1.0, 11)
    given = np.zeros(2, dtype=[("time", float), ("hinge.torque", float)])
    given["time"], given["hinge.torque"] = [0.0, 2.0], 1.5
    found = simulated(made, 1.0, 11, input=given)
    record = kt.simulate(
        pendulum,
        [0.3],
        time=1.0,
        integrator="rk4",
        step=1e-3,
        samples=times,
        controller=lambda t, q, v: np.array([1.5]),
    )
    assert np.abs(positions(pendulum, found) - record.q).max() < 1e-12
    assert np.abs(found["hinge.force"] - 1.5).max() < 1e-15


def test_servo_and_start_from_outside(tmp_path, pendulum):
    servo = kt.control.Commanded("position", kp=40.0, kd=4.0)
    made = kt.fmu(pendulum, tmp_path / "s.fmu", action=servo, kind="co-simulation", version="3.0")
    assert {"hinge.target"} == set(made.named("input"))
    assert {"kp", "kd"} <= set(made.named("parameter"))
    found = simulated(made, 0.5, 6, start_values={"hinge.position": 0.2, "kp": 60.0})
    world = kt.World(
        pendulum, action=kt.control.Commanded("position", kp=60.0, kd=4.0), integrator="rk4", step=1e-3, substeps=500,
        q0=[0.2],
    )  # fmt: skip
    world.step([[0.0]])
    assert abs(found["hinge.position"][-1] - world.q[0, 0]) < 1e-12


def test_communication_points_between_steps(tmp_path, pendulum):
    made = kt.fmu(pendulum, tmp_path / "p.fmu", q0=[0.3], step=1e-2)
    found = fmpy.simulate_fmu(
        str(made.path), fmi_type="CoSimulation", stop_time=0.06, output_interval=0.015, output=["hinge.position"]
    )
    exact = kt.simulate(pendulum, [0.3], time=0.06, rtol=1e-12, atol=1e-13, samples=5).q[:, 0]
    assert np.abs(found["hinge.position"] - exact).max() < 1e-9


def test_state_can_be_kept_and_put_back(tmp_path, pendulum):
    made = kt.fmu(pendulum, tmp_path / "p.fmu", q0=[0.3], kind="co-simulation")
    described = fmpy.read_model_description(str(made.path))
    folder = fmpy.extract(str(made.path), unzipdir=str(tmp_path / "p"))
    unit = fmpy.fmi2.FMU2Slave(
        guid=described.guid, unzipDirectory=folder, modelIdentifier=described.coSimulation.modelIdentifier
    )
    unit.instantiate()
    unit.setupExperiment(startTime=0.0)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    reference = [v.valueReference for v in described.modelVariables if v.name == "hinge.position"]
    unit.doStep(0.0, 0.1)
    kept, there = unit.getFMUState(), unit.getReal(reference)
    unit.doStep(0.1, 0.1)
    ahead = unit.getReal(reference)
    unit.setFMUState(kept)
    assert unit.getReal(reference) == there != ahead
    unit.doStep(0.1, 0.1)
    assert unit.getReal(reference) == ahead
    again = unit.deserializeFMUState(unit.serializeFMUState(kept))
    unit.setFMUState(again)
    assert unit.getReal(reference) == there
    for state in (kept, again):
        unit.freeFMUState(state)
    unit.reset()
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    assert unit.getReal(reference) == [0.3]
    unit.terminate()
    unit.freeInstance()


def test_what_touches_is_an_event(tmp_path):
    b = kt.Builder("ball")
    b.body("ball", "base", kt.Prismatic("z"), mass=1.0, inertia=(0.004, 0.004, 0.004), joint_name="height")
    robot = b.frame("bottom", "ball", (0, 0, -0.1)).build().with_backend("compiled")
    ground = kt.ground.Ground(["bottom"], kt.ground.HuntCrossley(1e5, 0.2))
    for version in ("2.0", "3.0"):
        made = kt.fmu(robot, tmp_path / "ball.fmu", version=version, q0=[0.3], ground=ground, action=None)
        assert problems(made) == []
        assert any(v.name == "switch[0]" for v in made.variables)
        found = simulated(made, 0.6, 61, "ModelExchange", relative_tolerance=1e-9)
        exact = kt.simulate(robot, [0.3], time=0.6, ground=ground, rtol=1e-11, atol=1e-12, samples=61)
        assert np.abs(found["height.position"] - exact.q[:, 0]).max() < 1e-5
        assert found["ground.z"].max() > 5.0


def test_quaternions_and_a_table_in_the_motion(tmp_path):
    rng = np.random.default_rng(3)
    b = kt.Builder("arm on a ball")
    b.body("upper", "base", kt.Spherical(), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    b.body(
        "lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass=0.5, com=(0, 0, -0.3),
        inertia=(0.02, 0.02, 0.001), joint_name="elbow",
    )  # fmt: skip
    robot = b.build().with_backend("compiled")
    q0, v0 = robot.random_configuration(rng), rng.uniform(-1.0, 1.0, robot.nv)
    times = np.linspace(0.0, 1.0, 41)
    moments = kt.control.TorqueTable(times, np.column_stack([np.sin(9.0 * times + k) for k in range(4)]))
    made = kt.fmu(robot, tmp_path / "a.fmu", q0=q0, v0=v0, controller=moments, action=None)
    found = simulated(made, 0.5, 6)
    record = kt.simulate(robot, q0, v0, time=0.5, integrator="rk4", step=1e-3, samples=6, controller=moments)
    assert np.abs(positions(robot, found) - record.q).max() < 1e-12


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"delay": 3e-3},
        {"delay": 2.6e-2, "encoder": 4096, "velocity": "differences", "cutoff": 30.0},
        {"limit": 4.0, "bits": 8},
    ],
    ids=["plain", "late", "encoder", "converter"],
)
def test_controller_in_discrete_time(tmp_path, pendulum, more):
    way = kt.trajectories.Quintic([0.0], [1.0], 0.4).held()
    law = kt.control.Sampled(kt.control.PID(way, kp=60.0, ki=40.0, kd=6.0), period=1e-2, **more)
    made = kt.fmu(pendulum, tmp_path / "p.fmu", controller=law, action=None)
    assert problems(made) == []
    record = kt.simulate(pendulum, time=0.5, integrator="rk4", step=1e-3, samples=11, controller=law)
    found = simulated(made, 0.5, 11)
    assert np.ptp(record.q) > 0.3
    assert np.abs(positions(pendulum, found) - record.q).max() < 1e-11
    outside = simulated(made, 0.5, 11, "ModelExchange", relative_tolerance=1e-10)
    assert np.abs(positions(pendulum, outside) - record.q).max() < (
        0.1 if "bits" in more or "encoder" in more else 1e-6
    )


def test_controller_in_discrete_time_turns_a_ball_joint(tmp_path):
    b = kt.Builder("satellite", gravity=(0, 0, 0))
    b.body("hull", "base", kt.Spherical(), mass=3.0, inertia=(0.3, 0.2, 0.4))
    b.body("wheel", "hull", kt.Revolute("z"), mass=0.5, inertia=(0.01, 0.01, 0.02))
    robot = b.build().with_backend("compiled")
    goal = kt.trajectories.Between(robot, robot.neutral(), robot.neutral(), 0.1).held()
    law = kt.control.Sampled(kt.control.PD(goal, kp=5.0, kd=2.0), period=5e-3, velocity="differences")
    q0 = robot.integrate(robot.neutral(), [0.4, -0.3, 0.2, 0.5])
    made = kt.fmu(robot, tmp_path / "s.fmu", q0=q0, controller=law, action=None, version="3.0")
    record = kt.simulate(robot, q0, time=0.5, integrator="rk4", step=1e-3, samples=6, controller=law)
    assert np.abs(positions(robot, simulated(made, 0.5, 6)) - record.q).max() < 1e-11


def test_it_ends_where_its_trajectory_ends(tmp_path, pendulum):
    law = kt.control.PD(kt.trajectories.Quintic([0.0], [1.0], 0.2), kp=40.0, kd=4.0)
    made = kt.fmu(pendulum, tmp_path / "p.fmu", controller=law, action=None)
    assert simulated(made, 0.2, 5)["hinge.position"][-1] > 0.3
    with pytest.raises(fmpy.fmi1.FMICallException, match="Step"):
        simulated(made, 0.4, 5)


def test_a_start_with_open_loops_is_closed_or_refused(tmp_path):
    robot = kt.load("four-bar").with_backend("compiled")
    q = robot.close([0.0, 1.0, 4.3], fixed=["crank_joint"])
    made = kt.fmu(robot, tmp_path / "bars.fmu", q0=q, kind="co-simulation")
    found = simulated(made, 0.01, 2, start_values={"rocker_joint.position": q[1] + 0.02})
    assert found["closure_error"].max() < 1e-10
    with pytest.raises(fmpy.fmi1.FMICallException, match="ExitInitializationMode"):
        simulated(made, 0.01, 2, start_values={"crank_joint.position": 900.0, "rocker_joint.position": np.nan})


def test_what_cannot_be_written(tmp_path, pendulum, monkeypatch):
    target = tmp_path / "p.fmu"
    with pytest.raises(kt.UnsupportedError, match="plain Python function"):
        kt.fmu(pendulum, target, controller=lambda t, q, v: np.zeros(1))
    still = kt.control.PD(kt.trajectories.Constant([0.0]), kp=1.0, kd=1.0)
    with pytest.raises(kt.UnsupportedError, match="no random numbers"):
        kt.fmu(pendulum, target, controller=kt.control.Sampled(still, period=0.01, position_noise=1e-3))
    with pytest.raises(kt.UnknownNameError, match="platform"):
        kt.fmu(pendulum, target, platforms=["linux"])
    with pytest.raises(kt.UnknownNameError, match="version"):
        kt.fmu(pendulum, target, version="1.0")
    with pytest.raises(kt.OptionError, match=r"ends in \.fmu"):
        kt.fmu(pendulum, tmp_path / "p.zip")
    with pytest.raises(kt.OptionError, match="no folder"):
        kt.fmu(pendulum, tmp_path / "not" / "there.fmu")
    with pytest.raises(kt.OptionError, match=r"called 'hinge\.position'"):
        kt.fmu(pendulum, target, outputs={"hinge.position": lambda m: m.q[0]})
    with pytest.raises(kt.StateError, match="one start"):
        kt.fmu(pendulum, target, q0=np.zeros((2, 1)))
    monkeypatch.setattr(binaries.shutil, "which", lambda name: None)
    monkeypatch.setattr(binaries, "find_spec", lambda name: None)
    with pytest.raises(kt.UnsupportedError, match=r"kinetree\[fmu\]"):
        kt.fmu(pendulum, target)
    assert not target.exists()


def test_a_compiler_that_refuses_leaves_no_file(tmp_path, pendulum, monkeypatch):
    monkeypatch.setattr(binaries, "_compiler", lambda name: ["cc", "-no-such-option"])
    with pytest.raises(kt.OutputError, match="does not make a library"):
        kt.fmu(pendulum, tmp_path / "p.fmu")
    assert list(tmp_path.iterdir()) == []
