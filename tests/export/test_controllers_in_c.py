"""Whole controllers as C: compiled by cc, with gains that can be changed, equal to the Python law."""

import re
import subprocess

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from helpers.gcc import Library, compile_c

C = kt.control


def two_links():
    b = kt.Builder("two links", gravity=(0, -9.81, 0))
    rod = kt.MassProperties.rod(1.0, (0, 0, 0), (0.5, 0, 0))
    b.body("upper", "base", kt.Revolute("z"), mass_properties=rod, damping=0.1, friction=0.2)
    b.body("lower", "upper", kt.Revolute("z"), position=(0.5, 0, 0), mass_properties=rod, damping=0.2)
    return b.build()


def goal(n):
    return kt.trajectories.Quintic(np.linspace(0.1, 0.3, n), np.linspace(0.6, -0.4, n), 1.0)


def laws(robot):
    motors = len([j for j in robot.model.joints if j.actuated])
    to = goal(motors)
    kp, kd = np.linspace(30, 50, motors), np.linspace(8, 12, motors)
    found = {
        "computed_torque": C.ComputedTorque(to, kp, kd), "pd_gravity": C.PD(to, kp, kd) + C.GravityCompensation(),
        "feedforward": C.Feedforward(to, kp, kd), "two": C.PD(to, kp, kd) + C.PD(to, 2.0, 1.0),
        "limited": C.Saturated(C.ComputedTorque(to, kp, kd) + C.FrictionCompensation(), 9.0),
    }  # fmt: skip
    return found if robot.loops is None else {k: found[k] for k in ("computed_torque", "pd_gravity")}


def built(robot, folder, controllers, **options):
    exported = robot.codegen(folder, [], prefix="r", controllers=controllers, **options)
    return exported, Library(exported.source)


@pytest.mark.parametrize("name", ["two-links", "kuka-kr5", "five-bar"])
def test_laws_in_c_give_the_forces_of_the_python_controller(tmp_path, name):
    robot = two_links() if name == "two-links" else kt.load(name)
    controllers = laws(robot)
    _, library = built(robot, tmp_path, controllers)
    rng = np.random.default_rng(0)
    q = rng.uniform(-1, 1, robot.nq) if robot.loops is None else kt.gallery.start(name)
    v = rng.uniform(-1, 1, robot.nv) if robot.loops is None else robot.nearest_velocity(q, rng.uniform(-1, 1, 4))
    for own, law in controllers.items():
        gains = np.concatenate([x.ravel() for x in law.parameters(robot.model).values()])
        for t in (0.0, 0.3, 0.9):
            found = library(f"r_{own}", robot.nv, gains, q, v, *goal(law_size(law))(t))
            wanted = law(robot, t, q, v)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * max(1.0, np.abs(wanted).max()))


def law_size(law):
    inner = law
    while not hasattr(inner, "trajectory"):
        inner = inner.inner()[0]
    return inner.trajectory.n


def test_gains_are_changed_without_new_code(tmp_path):
    robot = two_links()
    _, library = built(robot, tmp_path, {"servo": C.ComputedTorque(goal(2), 30.0, 8.0)})
    q, v = np.array([0.2, -0.4]), np.array([0.5, 0.1])
    other = C.ComputedTorque(goal(2), [70.0, 90.0], [3.0, 4.0])
    found = library("r_servo", 2, [70.0, 90.0, 3.0, 4.0], q, v, *goal(2)(0.4))
    np.testing.assert_allclose(found, other(robot, 0.4, q, v), rtol=1e-12)


def test_integrals_are_handed_from_call_to_call(tmp_path):
    robot = two_links()
    law = C.PID(goal(2), 30.0, 8.0, 5.0, limit=12.0)
    exported, library = built(robot, tmp_path, {"pid": law})
    assert "#define R_PID_STATES 2" in exported.header.read_text()
    states, own = np.zeros(2), np.zeros(2)
    q, v, gains = np.array([0.2, -0.4]), np.array([0.5, 0.1]), [30.0] * 2 + [8.0] * 2 + [5.0] * 2 + [0.01]
    for k in range(5):
        found = library("r_pid", 4, gains, q, v, *goal(2)(0.01 * k), states)
        tau, after = law.update(robot.model, 0.01 * k, q.tolist(), v.tolist(), own.tolist(), 0.01)
        np.testing.assert_allclose(found, [*tau, *after], rtol=1e-12)
        states, own = found[2:], np.array(after)


def test_a_regulator_has_its_matrix_among_the_gains(tmp_path):
    robot = two_links()
    law = C.lqr(robot, [0.3, -0.2])
    _, library = built(robot, tmp_path, {"lqr": law})
    q, v = np.array([0.35, -0.1]), np.array([0.2, 0.3])
    numbers = [np.ravel(x) for x in (law.gain, law.q, law.v, law.tau)]
    np.testing.assert_allclose(library("r_lqr", 2, np.concatenate(numbers), q, v), law(robot, 0.0, q, v), rtol=1e-12)
    numbers[0] = 2 * numbers[0]
    twice = library("r_lqr", 2, np.concatenate(numbers), q, v)
    np.testing.assert_allclose(twice - law.tau, 2 * (law(robot, 0.0, q, v) - law.tau), rtol=1e-12)


def test_a_law_that_asks_for_the_time_gets_it(tmp_path):
    robot = two_links()
    own = C.Law(lambda t, q, v: [kt.sin(3.0 * t) - v[0], -q[1]])
    exported, library = built(robot, tmp_path, {"own": own})
    assert "const double *t," in exported.header.read_text()
    found = library("r_own", 2, [0.1, 0.2], [0.3, 0.4], [0.7])
    np.testing.assert_allclose(found, [np.sin(2.1) - 0.3, -0.2], rtol=1e-12)


def test_the_header_says_what_a_call_costs_and_the_test_program_passes(tmp_path):
    robot = two_links()
    exported = robot.codegen(tmp_path, prefix="r", controllers=laws(robot), reentrant=True)
    text = exported.header.read_text()
    said = re.findall(r"Costs (.*) in every call, and (\d+) bytes of temporaries \(on the stack\)", text)
    assert [cost for cost, _ in said] == [str(count) for count in exported.functions.values()]
    for own, (_, room) in zip(exported.functions, said, strict=True):
        body = exported.source.read_text().split(f"void {own}(")[1].split("\n}")[0]
        assert int(room) == 8 * len(set(re.findall(r"\bt\d+\b", body)))
    assert "typedef struct { double kp[2]; double kd[2]; } r_computed_torque_gains;" in text
    assert "double kp_0[2];" in text  # two laws with a kp
    assert "double kp_1[2];" in text
    program = tmp_path / "test"
    compile_c("-o", program, exported.source, exported.test, "-lm")
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert said.count("ok") == len(exported.functions)


@pytest.mark.parametrize("gain", ["kp", "kd", "ki"])
def test_the_test_program_notices_every_gain(tmp_path, gain):
    """With the desired position where the robot is, a wrong kp would not be seen."""
    exported = two_links().codegen(tmp_path, [], prefix="r", controllers={"pid": C.PID(goal(2), 30.0, 8.0, 5.0)})
    text = exported.source.read_text()
    wrong = re.sub(rf"gains->{gain}\[(\d)\]", r"(gains->" + gain + r"[\1] + 1.0)", text)
    assert wrong != text
    exported.source.write_text(wrong)
    compile_c("-o", tmp_path / "test", exported.source, exported.test, "-lm")
    done = subprocess.run([str(tmp_path / "test")], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "WRONG" in done.stdout


def test_what_cannot_be_written_is_refused(tmp_path):
    robot = two_links()
    with pytest.raises(kt.KinetreeError, match="plain Python function cannot be written in C"):
        robot.codegen(tmp_path, [], controllers={"own": C.from_function(lambda t, q, v: -v)})
    with pytest.raises(kt.KinetreeError, match=r"controllers are those of kinetree\.control"):
        robot.codegen(tmp_path, [], controllers={"own": 3})
    with pytest.raises(kt.KinetreeError, match="batch in front"):
        robot.codegen(tmp_path, [], controllers={"own": C.PD(goal(2), np.ones((5, 2)), 1.0)})


def test_the_command_line_writes_controllers(tmp_path):
    answer = invoke(
        "codegen", "kuka-kr5", "-o", tmp_path, "--controller", "computed-torque", "--kp", "100", "--kd", "20"
    )
    assert "kuka_kr5_computed_torque: 269M 252A" in answer.output
    header = (tmp_path / "kuka_kr5.h").read_text()
    assert "#define KUKA_KR5_COMPUTED_TORQUE_GAINS {{100.0, 100.0," in header
    assert "inverse_dynamics" not in header
    wrong = invoke("codegen", "kuka-kr5", "-o", tmp_path, "--kp", "3", code=1)
    assert "is of no use without --controller" in wrong.output
    assert "did you mean 'pid'" in invoke("codegen", "kuka-kr5", "--controller", "pidd", code=1).output


def test_controllers_in_discrete_time_are_refused(tmp_path):
    """Their limits, encoders and delays would be missing."""
    b = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.3))
    arm = b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -0.6), mass=0.5, com=(0, 0, -0.2)).build()
    servo = kt.control.PD(kt.trajectories.Constant([0.0, 0.0]), kp=50.0, kd=5.0)
    sampled = kt.control.Sampled(servo, 1e-3, limit=[25.0, 9.0])
    for law in (sampled, sampled + kt.control.GravityCompensation()):
        with pytest.raises(kt.UnsupportedError, match="controller inside it"):
            arm.codegen(tmp_path, [], controllers={"servo": law})
    assert not list(tmp_path.iterdir())
    arm.codegen(tmp_path, [], controllers={"servo": servo})
