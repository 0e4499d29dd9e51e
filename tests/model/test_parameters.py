"""The table of parameters: out of a robot and back into one."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_state, random_tree
from kinetree.model.mass import GroupedMass
from kinetree.model.parameters import OF_BODIES, OF_FREEDOMS


@pytest.fixture
def robot():
    return random_tree(np.random.default_rng(1), 6, ["revolute", "prismatic", "universal"], followers=True)


def test_order_names_and_units():
    builder = kt.Builder("arm")
    builder.body(
        "upper", "base", kt.Revolute("y"), joint_name="shoulder", mass=2.0, com=(0.1, 0, -0.5),
        inertia=(0.1, 0.2, 0.25, 0.01, -0.02, 0.03), rotor_inertia=1e-3, gear_ratio=10.0, damping=0.5,
    )  # fmt: skip
    builder.body("lower", "upper", kt.Cylindrical("z"), joint_name="slide", mass=1.0, friction=(0.1, 0.2))
    robot = builder.build()
    table = robot.parameters()
    bodies = [f"{body}.{symbol}" for body in ("upper", "lower") for symbol in OF_BODIES]
    joints = [f"{freedom}.{symbol}" for symbol in OF_FREEDOMS for freedom in robot.v_names]
    assert list(table.names) == bodies + joints
    assert len(table) == len(table.values) == len(table.units) == 32
    assert table["upper.M"] == 2.0
    assert table["upper.MZ"] == -1.0
    assert table["upper.XX"] == pytest.approx(0.1 + 2.0 * 0.25)  # about the origin of the body's frame
    assert table["upper.XZ"] == pytest.approx(-0.02 - 2.0 * 0.1 * -0.5)  # with the sign of the tensor
    assert table["shoulder.rotor_inertia"] == pytest.approx(0.1)  # as it is felt at the joint
    assert table["slide[1].friction"] == 0.2
    units = dict(zip(table.names, table.units, strict=True))
    assert units["upper.XX"] == "kg m^2"
    assert units["upper.MX"] == "kg m"
    assert units["slide[0].damping"] == "N m s/rad"
    assert units["slide[1].damping"] == "N s/m"
    assert units["slide[1].rotor_inertia"] == "kg"
    assert units["shoulder.offset"] == "N m"
    text = str(table)
    assert all(word in text for word in ("upper", "slide[1]", "MX", "rotor_inertia"))
    assert "shoulder.damping" in table
    with pytest.raises(kt.UnknownNameError, match=r"upper\.M"):
        table["uper.M"]


def test_a_table_is_a_copy(robot):
    table = robot.parameters()
    table.values[:] = 0.0
    assert robot.parameters().values.any()


def test_back_and_forth(robot):
    assert robot.with_parameters(robot.parameters()) == robot
    values = robot.parameters().values
    rng = np.random.default_rng(3)
    for scale in (1.0, 1e-3, 1e3):
        other = robot.with_parameters(scale * values)
        assert np.allclose(other.parameters().values, scale * values, rtol=1e-14, atol=0)
        assert not any(isinstance(b.mass_properties, GroupedMass) for b in other.model.bodies)
    anything = rng.standard_normal(len(values))
    found = robot.with_parameters(anything, physical=False).parameters().values
    assert np.allclose(found, anything, rtol=1e-15, atol=0)


def test_some_by_name_leave_the_others(robot):
    name = "j1"
    other = robot.with_parameters({f"{name}.damping": 0.7, f"{name}.offset": -0.3})
    before, after = robot.parameters(), other.parameters()
    changed = [n for n in before.names if before[n] != after[n]]
    assert changed == [f"{name}.damping", f"{name}.offset"]
    assert other.with_parameters({f"{name}.offset": 0.0, f"{name}.damping": before[f"{name}.damping"]}) == robot


def test_a_table_of_another_robot_is_matched_by_name():
    arm = kt.gallery.load("kuka-kr5")
    heavier = arm.with_payload(arm.body_names[-1], kt.MassProperties.sphere(1.0, 0.1))
    assert arm.with_parameters(heavier.parameters()).mass == pytest.approx(heavier.mass)
    with pytest.raises(kt.UnknownNameError):
        arm.with_parameters(kt.gallery.load("gripper").parameters())


# ------------------------------------------------------------------ grouped parameters


def regrouped(robot, rng):
    """The robot with other parameters that have the same effect: those of no bodies."""
    q, v, a = random_state(robot, rng, 200)
    inertial = [n for n in robot.parameters().names if n.rpartition(".")[2] in OF_BODIES]
    matrix = robot.regressor(q, v, a, parameters=inertial).reshape(-1, len(inertial))
    _, s, vt = np.linalg.svd(matrix)
    idle = vt[np.sum(s > 1e-10 * s[0]) :]
    values = robot.parameters().values
    values[: len(inertial)] += rng.standard_normal(len(idle)) @ idle
    return robot.with_parameters(values, physical=False)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_every_algorithm_works_on_grouped_parameters(backend):
    rng = np.random.default_rng(4)
    robot = random_tree(rng, 5, ["revolute"]).with_backend(backend)
    other = regrouped(robot, rng)
    assert any(isinstance(b.mass_properties, GroupedMass) for b in other.model.bodies)
    q, v, a = random_state(robot, rng, 3)
    for name, state in (
        ("inverse_dynamics", (q, v, a)), ("forward_dynamics", (q, v, a)), ("mass_matrix", (q,)),
        ("inverse_mass_matrix", (q,)), ("bias_force", (q, v)), ("gravity_force", (q,)),
    ):  # fmt: skip
        wanted, found = getattr(robot, name)(*state), getattr(other, name)(*state)
        assert np.allclose(found, wanted, rtol=1e-7, atol=1e-8 * np.abs(wanted).max()), name
    motion = kt.simulate(other, q[0], v[0], time=0.1, integrator="rk4", step=0.01)
    assert np.allclose(motion.q, kt.simulate(robot, q[0], v[0], time=0.1, integrator="rk4", step=0.01).q, atol=1e-8)


def test_first_moment_without_mass():
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    values = dict.fromkeys(pendulum.parameters().names[:10], 0.0) | {"bob.MZ": -1.0, "bob.YY": 1.0}
    with pytest.raises(kt.ModelError, match="first moment"):
        pendulum.with_parameters(values)
    grouped = pendulum.with_parameters(values, physical=False)
    q, v, a = np.random.default_rng(0).standard_normal((3, 5, 1))
    assert np.allclose(grouped.inverse_dynamics(q, v, a), pendulum.inverse_dynamics(q, v, a), rtol=1e-13)
    assert np.allclose(grouped.forward_dynamics(q, v, a), pendulum.forward_dynamics(q, v, a), rtol=1e-13)
    assert np.allclose(grouped.kinetic_energy(q, v), pendulum.kinetic_energy(q, v), rtol=1e-13)
    moved = grouped.body("bob").mass_properties.moved(kt.Pose.of((1, 2, 3)))
    assert np.allclose(moved.parameters[:4], (0, 0, 0, -1))  # no mass, so the first moment does not change
    assert np.allclose(moved.inertia_about_origin, moved.inertia_about_origin.T)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bob.M": -1.0}, "negative"),
        ({"bob.XX": -1.0}, "positive"),
        ({"bob.YY": 50.0}, "triangle"),
        ({"bob_joint.damping": -0.1}, "damping"),
        ({"bob_joint.rotor_inertia": -0.1}, "rotor_inertia"),
        ({"bob.M": np.nan}, "finite"),
    ],
)
def test_parameters_of_no_robot_are_refused_unless_asked_for(change, words):
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    with pytest.raises(kt.ModelError, match=words):
        pendulum.with_parameters(change)
    if words != "finite":
        found = pendulum.with_parameters(change, physical=False).parameters()
        assert all(found[name] == value for name, value in change.items())


def test_names_with_dots_are_those_of_nested_mappings():
    b = kt.Builder("two").body("upper", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1))
    b.body("joints.lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0, 0, -1))
    robot = b.build()
    dotted = {"bodies.upper.mass": 2.0, "joints.joints.lower_joint.position": (0, 0, -2.0), "joints.lower.M": 3.0}
    places = {"joints.lower_joint": {"position": (0, 0, -2.0)}}
    whole = {"bodies": {"upper": {"mass": 2.0}}, "joints": places, "joints.lower.M": 3.0}
    assert robot.with_parameters(dotted) == robot.with_parameters(whole) != robot
    q = np.array([0.3, 0.4])
    found, expected = (robot.inverse_dynamics(q, q, q, parameters=given) for given in (dotted, whole))
    np.testing.assert_array_equal(found, expected)
    mixed = {"bodies.upper.mass": 2.0, "bodies": {"upper": {"com": (0, 0, -0.5)}}}
    assert robot.with_parameters(mixed).body("upper").mass_properties.com == (0, 0, -0.5)
    assert robot.with_parameters(mixed).body("upper").mass == 2.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bodies.bop.mass": 1.0}, "no body named 'bop'; did you mean 'bob'"),
        ({"bodies.bob.mas": 1.0}, "no parameter of body 'bob' named 'mas'; did you mean 'mass'"),
        ({"bodies.bob.mass": 1.0, "bodies": {"bob": {"mass": 2.0}}}, "'bodies.bob.mass' beside .* each number once"),
        ({"bodies.bob.mass": 1.0, "bodies": 3}, "'bodies.bob.mass' beside 'bodies': 3"),
        ({"body.bob.mass": 1.0}, "no parameter named 'body.bob.mass'"),
    ],
)
def test_slips_in_names_with_dots_are_explained(given, words):
    bob = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    with pytest.raises(kt.KinetreeError, match=words):
        bob.with_parameters(given)
    with pytest.raises(kt.KinetreeError, match=words):
        bob.inverse_dynamics([0.0], [0.0], [0.0], parameters=given)


def test_bad_tables_are_refused(robot):
    with pytest.raises(kt.ShapeError, match=str(len(robot.parameters()))):
        robot.with_parameters(np.ones(3))
    with pytest.raises(kt.ShapeError, match="mapping"):
        robot.with_parameters("heavier")
    with pytest.raises(kt.ShapeError, match="one number"):
        robot.with_parameters({robot.parameters().names[0]: [1.0, 2.0]})


# ------------------------------------------------------------------ files


def test_files_hold_offsets_or_say_that_they_do_not(tmp_path):
    pendulum = kt.Builder("pendulum").body(
        "bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), damping=0.1, friction_offset=-0.25
    ).build()  # fmt: skip
    assert pendulum.parameters()["bob_joint.offset"] == -0.25
    assert pendulum.friction_force([2.0]) == pytest.approx(0.2 - 0.25)
    pendulum.save(tmp_path / "pendulum.yaml")
    assert kt.load(tmp_path / "pendulum.yaml") == pendulum
    with pytest.warns(kt.ModelWarning, match="offset"):
        pendulum.save(tmp_path / "pendulum.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pendulum.with_parameters({"bob_joint.offset": 0.0}).save(tmp_path / "pendulum.urdf")


@pytest.mark.parametrize("ending", [".yaml", ".urdf"])
def test_files_refuse_grouped_parameters(tmp_path, ending):
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    grouped = pendulum.with_parameters({"bob.M": 0.0}, physical=False)
    with pytest.raises(kt.UnsupportedError, match="grouped"):
        grouped.save(tmp_path / f"pendulum{ending}")


def test_offsets_act_in_simulations():
    pendulum = kt.Builder("pendulum", gravity=(0, 0, 0)).body(
        "bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), friction_offset=0.5
    ).build()  # fmt: skip
    record = kt.simulate(pendulum, [0.0], time=1.0)
    assert record.q[-1] == pytest.approx(-0.25, rel=1e-6)  # a = -0.5 / (1 kg m^2)
    assert record.energy.relative_error < 1e-7


def test_what_is_not_changed_keeps_its_bits():
    rotor, gear = 0.7, 11.3
    assert rotor * gear * gear / gear**2 != rotor  # so that a rotor taken back through its gear would be another one
    made = kt.Builder("geared").body(
        "a", "base", kt.Revolute("z"), mass=1.0, rotor_inertia=rotor, gear_ratio=gear, friction_offset=0.2
    )
    joint = made.build().with_parameters({"a_joint.damping": 0.3, "a_joint.offset": 0.0}).model.joints[0]
    assert (joint.damping, joint.rotor_inertia, joint.gear_ratio) == ((0.3,), (rotor,), (gear,))
    assert joint.friction_offset == ()
