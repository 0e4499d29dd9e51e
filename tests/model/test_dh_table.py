"""Denavit-Hartenberg tables of robots: those they were made from, and those that describe any."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_tree
from judges.real_robots import FIXED, load_quietly, robot_file

ROWS = [
    {"d": 0.4, "mass": 16.0, "com": (0.1, 0, 0.06), "inertia": (0.18, 0.27, 0.26)},
    {
        "alpha": 90,
        "a": 0.18,
        "theta": 30,
        "mass": 8.0,
        "com": (0.27, 0, 0),
        "inertia": (0.27, 0.28, 0.02),
        "damping": 0.3,
    },
    {"alpha": -90, "a": 0.1, "joint": "prismatic", "mass": 2.0, "lower": -0.2, "upper": 0.5},
]


def assert_same_robot(first, second, seed=1):
    """Judge by dynamics: the same forces for the same motion."""
    rng = np.random.default_rng(seed)
    q = first.random_configuration(rng, 5)
    v, a = rng.standard_normal((2, 5, first.nv))
    assert_close(second.inverse_dynamics(q, v, a), first.inverse_dynamics(q, v, a), 1e-11)


def again(robot, convention=None):
    table = robot.dh_table(convention)
    base = robot.model.bodies[robot.model.roots[0]].mass_properties if robot.is_floating else None
    return kt.from_dh(table, name=robot.name, gravity=robot.gravity, strict=False, base_mass_properties=base)


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_a_robot_keeps_the_table_that_it_was_made_from(tmp_path, convention):
    arm = kt.from_dh(ROWS, convention, degrees=True, name="arm").with_frame("tool", "link3", (0, 0, 0.1))
    table = arm.dh_table()
    assert (table.convention, table.degrees, len(table)) == (convention, True, 3)
    assert [(row.alpha, row.a, row.theta) for row in table] == [(0, 0, 0), (90, 0.18, 30), (-90, 0.1, 0)]
    arm.save(tmp_path / "arm.yaml")
    text = (tmp_path / "arm.yaml").read_text()
    assert "- {alpha: 90, a: 0.18, theta: 30, " in text
    assert "bodies" not in text
    read = kt.load(tmp_path / "arm.yaml")
    assert read.model == arm.model
    assert str(read.dh_table()) == str(table)
    assert kt.from_dh(table, name="arm").model.joints == arm.model.joints


def test_tables_are_printed_as_in_books():
    arm = kt.from_dh(ROWS, "modified", degrees=True, name="arm")
    assert str(arm.dh_table()).splitlines() == [
        "modified Denavit-Hartenberg table",
        "link   alpha [deg]  a [m]  d [m]  theta [deg]",
        "link1  0            0      0.4    q",
        "link2  90           0.18   0      q + 30",
        "link3  -90          0.1    q      0",
    ]
    assert "<table>" in arm.dh_table()._repr_html_()


def test_a_changed_robot_has_its_geometry_and_its_own_masses(tmp_path):
    arm = kt.from_dh(ROWS, "modified", degrees=True, name="arm")
    heavier = arm.with_parameters({"bodies": {"link2": {"mass": 11.0}}})
    table = heavier.dh_table()
    assert [row.theta for row in table] == [0, 30, 0]
    assert table[1].mass_properties.mass == 11.0
    assert_same_robot(heavier, kt.from_dh(table))
    heavier.save(tmp_path / "heavier.yaml")  # as bodies: the table would say other masses
    assert kt.load(tmp_path / "heavier.yaml").model == heavier.model
    locked = arm.reduced({"joint2": 0.4})
    assert_same_robot(locked, again(locked))


def test_a_satellite_and_a_table_with_loops_are_saved_as_tables(tmp_path):
    hull = kt.MassProperties.box(100.0, (1.0, 1.0, 1.0))
    probe = kt.from_dh(ROWS, degrees=True, name="probe", floating_base=True, base_mass_properties=hull)
    sides = [
        {"a": 0, "mu": 1, "mass": 1.0},
        {"a": 1, "mu": 0, "d": 1.0, "mass": 1.0},
        {"a": 0, "mu": 0, "d": 1.0, "mass": 1.0},
    ]
    sides += [{"a": 2, "mu": 0, "d": 1.0}, {"a": 3, "mu": 0, "sigma": 2, "d": 1.0}]
    rhombus = kt.from_dh(sides, "khalil", links=3, name="rhombus")
    for robot in (probe, rhombus):
        robot.save(tmp_path / "r.yaml")
        assert "table:" in (tmp_path / "r.yaml").read_text()
        assert kt.load(tmp_path / "r.yaml").model == robot.model
    assert_same_robot(probe, again(probe))


@pytest.mark.parametrize("seed", range(6))
def test_any_tree_of_hinges_and_slides_has_a_table(seed):
    """Axes anywhere, branches included: six parameters per frame, and the forces of the robot itself."""
    robot = random_tree(np.random.default_rng(seed), 6, ["revolute", "prismatic"])
    assert_same_robot(robot, again(robot))


PANDA = [(0, 0, 0.333), (-90, 0, 0), (90, 0, 0.316), (90, 0.0825, 0), (-90, -0.0825, 0.384), (90, 0, 0), (90, 0.088, 0)]
"""alpha, a and d of Craig's convention, as its maker publishes them."""


def test_the_table_of_a_panda_is_its_makers():
    robot = load_quietly(robot_file(FIXED["panda"])).reduced(["panda_finger_joint1"])
    found = [(np.degrees(row.alpha), row.a, row.d) for row in robot.dh_table("modified")]
    assert np.allclose(found, PANDA, atol=1e-9)
    assert all(row.theta == 0.0 for row in robot.dh_table())
    for convention in ("modified", "standard", "khalil"):
        assert_same_robot(robot, again(robot, convention))


@pytest.mark.parametrize("name", ["ur5", "kinova", "xarm7"])
def test_tables_of_real_arms(name):
    robot = load_quietly(robot_file(FIXED[name]))
    assert robot.dh_table().convention == "modified"
    assert_same_robot(robot, again(robot))


@pytest.mark.parametrize("name", ["four-bar", "sr400", "bricard"])
def test_tables_of_mechanisms(name):
    robot = kt.load(name)
    other = again(robot)
    assert_same_robot(robot.tree, other.tree)
    q = robot.assembled()
    assert other.closure_error(q) < 1e-9
    assert other.mobility(q).freedoms == robot.mobility(q).freedoms


def test_what_no_table_says():
    with pytest.raises(kt.UnsupportedError, match=r"'foot_1' is universal: .*with_single_joints"):
        kt.load("stewart-platform").dh_table()
    b = kt.Builder("fingers")
    b.body("left", "base", kt.Prismatic("y"), mass=0.1)
    b.body("right", "base", kt.Prismatic("y"), mass=0.1, mimic=kt.Mimic("left_joint", -1.0))
    with pytest.raises(kt.UnsupportedError, match="'right_joint' mimics 'left_joint'"):
        b.build().dh_table()
    with pytest.raises(kt.UnsupportedError, match="a standard table describes a chain"):
        kt.load("gripper").dh_table("standard")
    with pytest.raises(kt.UnsupportedError, match=r"needs six parameters.*dh_table\('khalil'\)"):
        random_tree(np.random.default_rng(0), 3, ["revolute"]).dh_table("modified")
    with pytest.raises(kt.UnknownNameError, match="no convention named 'craig'"):
        kt.load("puma").dh_table("craig")


def test_a_robot_without_joints_has_no_table():
    builder = kt.Builder("box")
    builder.add_body("box", kt.MassProperties.box(1.0, (1, 1, 1)))
    robot = builder.build(floating_base=True)
    for convention in (None, "modified", "standard", "khalil"):
        with pytest.raises(kt.UnsupportedError, match="no joints"):
            robot.dh_table(convention)


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_a_saved_table_has_changed_masses(tmp_path, convention):
    rows = [{"mass": 1, "com": (0.5, 0, 0), "theta": 10}, {"a": 1.0, "alpha": 90, "mass": 1, "com": (0.5, 0, 0)}]
    arm = kt.from_dh(rows, convention, degrees=True)
    changed = arm.with_parameters({"bodies": {"link2": {"mass": 3.5}}, "joints": {"joint1": {"damping": 0.7}}})
    changed.save(tmp_path / "arm.yaml")
    back, text = kt.load(tmp_path / "arm.yaml"), (tmp_path / "arm.yaml").read_text()
    assert (back.model.joints, back.model.bodies) == (changed.model.joints, changed.model.bodies)
    if convention == "modified":
        assert [(row.alpha, row.a, row.theta) for row in back.dh_table()] == [(0, 0, 10), (90, 1, 0)]
        assert "table:" in text
    else:  # whose masses are seen from the far ends of links
        assert "written body by body" in text
    moved = arm.with_parameters({"joints": {"joint2": {"position": (1.2, 0, 0)}}})
    moved.save(tmp_path / "arm.yaml")
    assert "written body by body" in (tmp_path / "arm.yaml").read_text()
    assert kt.load(tmp_path / "arm.yaml").model.joints == moved.model.joints
