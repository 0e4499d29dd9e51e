"""What is printed and saved of forces in loops and of mobility: names, units, at most a screen."""

import csv

import numpy as np
import pytest

import kinetree as kt
from kinetree.loops.mobility import Mobility

SCREEN = 30


@pytest.fixture(scope="module")
def forces():
    four_bar = kt.load("four-bar")
    q = four_bar.follow({"crank_joint": np.linspace(0, 1, 3)})
    v = four_bar.velocities(q, np.ones((3, 1)))
    return four_bar.constraint_forces(q, v, four_bar.accelerations(q, v, np.zeros((3, 1))))


def test_forces_are_printed_by_name(forces):
    lines = str(forces).splitlines()
    assert len(lines) <= SCREEN
    assert lines[0] == "forces in 3 states"
    (motor,) = [line for line in lines if line.startswith("motor")]
    assert motor.split()[1] == "crank_joint"
    assert float(motor.split()[2]) == pytest.approx(forces.tau[:, 0].min(), rel=1e-3)
    along = next(line for line in lines if "force along x" in line)
    assert float(along.split()[-2]) == pytest.approx(forces.multipliers[:, 2].max(), rel=1e-3)
    assert "<table>" in forces._repr_html_()
    assert "loop_wrenches_world has them along world axes" in lines[-2]


def test_the_push_on_a_free_base_is_not_a_motors():
    robot = kt.load("space-five-bar")
    still = np.zeros(robot.nv)
    words = [line.split()[:2] for line in str(robot.constraint_forces(robot.assembled(), still, still)).splitlines()]
    assert [where for what, *where in words if what == "motor"] == [["right_arm_joint"], ["left_arm_joint"]]
    assert sum(what == "base" for what, *_ in words) == 6


def test_forces_are_saved_by_name(forces, tmp_path):
    forces.save(tmp_path / "forces.csv", time=[0.0, 0.1, 0.2])
    with (tmp_path / "forces.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["time [s]"]) for row in rows] == [0.0, 0.1, 0.2]
    assert [float(row["tau_crank_joint [N m]"]) for row in rows] == forces.tau[:, 0].tolist()
    assert [float(row["crank_pin: force along x [N]"]) for row in rows] == forces.multipliers[:, 2].tolist()
    assert [float(row["rocker_joint.fy [N]"]) for row in rows] == forces.joint_wrenches[:, 1, 4].tolist()
    world = forces.loop_wrenches_world[:, 0, 3:]
    assert [float(row["crank_pin.world_fy [N]"]) for row in rows] == world[:, 1].tolist()
    assert np.allclose(np.linalg.norm(world, axis=-1), np.linalg.norm(forces.loop_wrenches[:, 0, 3:], axis=-1))
    with pytest.raises(kt.OptionError, match=r"saved as \.csv"):
        forces.save(tmp_path / "forces.xlsx")
    with pytest.raises(kt.OptionError, match="one entry for each of the 3 states"):
        forces.save(tmp_path / "forces.csv", time=[0.0])


def test_a_long_account_of_mobility_fits_a_screen():
    many = tuple(f"pin_{k}: moment about x" for k in range(300))
    found = Mobility(300, 0, 300, 0, many, many, False, np.zeros((0, 1)), many)
    assert len(str(found)) < SCREEN * 80
    assert str(found).count("... and 288 more") == 3
    assert found._repr_html_().startswith("<pre>")
    singular = Mobility(1, 1, 1, 1, (), ("a",), True, np.array([[0.2, 0.0, -0.5]]), (), freedom_names=("a", "b", "c"))
    assert str(singular).endswith("1 more direction opens up, such as c -1, a +0.4")


def test_a_record_is_printed_by_joint():
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    record = kt.simulate(pendulum, [0.5], time=0.5, samples=6)
    title, columns, row, balance = str(record).splitlines()
    assert "6 samples" in title
    assert balance.startswith(f"energy balance off by {record.energy.relative_error:.1g} of the energy exchanged")
    assert columns.split()[:2] == ["joint", "unit"]
    assert row.split()[:2] == ["bob_joint", "rad"]
    assert [float(x) for x in row.split()[2:6]] == pytest.approx(
        [record.q[0, 0], record.q[-1, 0], record.q.min(), record.q.max()], rel=1e-3
    )
    assert float(row.split()[6]) == pytest.approx(np.abs(record.v).max(), rel=1e-3)
    first, *_, last = str(record.energy).splitlines()
    assert first.startswith("energy [J], balance off by")
    assert float(last.split()[-3]) == pytest.approx(record.energy.total[0], rel=1e-3)
    both = kt.simulate(pendulum, [[0.5], [0.6]], time=0.5, samples=3, integrator="rk4", step=0.05)
    assert "0.6" in str(both)
    assert "<table>" in both._repr_html_()


def test_forces_that_the_motion_does_not_tell_are_marked():
    """Judge: wherever the loop is cut, what is determined stays, and of the rest the shortest multipliers differ."""
    bennett = kt.Builder("bennett")
    twist, sides = np.array([np.pi / 6, np.arcsin(0.75)]), (0.3, 0.45)  # sin(twist) as the sides are
    bar = [kt.MassProperties.rod(1.0, (0, 0, 0), (side, 0, 0)) for side in sides]
    z, placed = kt.Revolute("z"), {"position": (0.3, 0, 0), "rpy": (twist[0], 0, 0)}
    bennett.body("one", "base", z, mass_properties=bar[0])
    bennett.body("two", "one", z, **placed, actuated=False, mass_properties=bar[1])
    bennett.body("three", "two", z, position=(0.45, 0, 0), rpy=(twist[1], 0, 0), actuated=False, mass_properties=bar[0])
    c, s = np.cos(twist), np.sin(twist)
    end = np.array([[1, 0, 0, 0.3], [0, c[0], -s[0], 0], [0, s[0], c[0], 0], [0, 0, 0, 1]])
    ground = np.array([[1, 0, 0, -0.45], [0, c[1], s[1], 0], [0, -s[1], c[1], 0], [0, 0, 0, 1]])
    bennett.loop("last", "three", "base", z, placement=end, seat=ground)
    flat = kt.load("four-bar")
    for robot, q, open_parts in (
        (bennett.build(), [1.0, 2.9, -1.0], (0, 1, 3, 4, 5)), (flat, kt.gallery.start("four-bar"), (0, 1, 5)),
    ):  # fmt: skip
        drive = robot.independent()[0]
        q = robot.close(q, fixed=[drive])
        v = robot.velocities(q, {drive: 2.0})
        forces = robot.constraint_forces(q, v, robot.accelerations(q, v, [1.0]))
        free = forces.undetermined
        assert not free.tau.any()
        assert (free.joint_wrenches == np.isin(np.arange(6), open_parts)).all()
        assert (free.loop_wrenches == np.isin(np.arange(6), open_parts)).all()
        joint = robot.joint_names[1]
        other = robot.with_cuts([joint])
        there = np.zeros(other.nq)
        known = [name for name in other.q_names if name in robot.q_names]
        there[[other.q_names.index(n) for n in known]] = q[[robot.q_names.index(n) for n in known]]
        there = other.close(there, fixed=known)
        v = other.velocities(there, {drive: 2.0})
        again = other.constraint_forces(there, v, other.accelerations(there, v, [1.0]))
        mine, its = forces.joint_wrenches[0], again.joint_wrenches[list(other.joint_names).index(robot.joint_names[0])]
        assert np.allclose(mine[~free.joint_wrenches[0]], its[~free.joint_wrenches[0]], atol=1e-9)
        if robot is not flat:  # of a flat one they are all zero
            assert np.abs(mine - its)[free.joint_wrenches[0]].min() > 1e-3
        assert "undetermined" in str(forces).splitlines()[1]
    platform = kt.load("stewart-platform")  # nothing is redundant
    at, still = kt.gallery.start("stewart-platform"), np.zeros(platform.nv)
    assert "undetermined" not in str(platform.constraint_forces(at, still, still))


def test_motions_that_happen_by_themselves_need_no_motors():
    """A rod on two balls may spin as it likes: one motor for two freedoms (RSSR)."""
    b, rod = kt.Builder("rssr"), kt.MassProperties.rod
    b.body("crank", "base", kt.Revolute("z"), mass_properties=rod(0.5, (0, 0, 0), (0.06, 0, 0)))
    tube = kt.MassProperties.of(0.6, (0.2, 0, 0), (1e-4, 8e-3, 8e-3))
    b.body("tube", "crank", kt.Spherical(), position=(0.06, 0, 0), actuated=False, mass_properties=tube)
    swing = rod(0.7, (0, 0, 0), (0, 0.25, 0))
    b.body("rocker", "base", kt.Revolute("x"), position=(0.3, 0.2, 0), actuated=False, mass_properties=swing)
    b.loop("ball", "tube", "rocker", kt.Spherical(), placement=(0.4, 0, 0), seat=(0, 0.25, 0))
    robot = b.build()
    q = robot.close(robot.neutral(), fixed=["crank_joint"])
    v = robot.velocities(q, {"crank_joint": 6.0, "tube_joint.wx": 0.5})
    a, tau = robot.hybrid_dynamics(q, v, a={"crank_joint": 2.0})
    forces = robot.constraint_forces(q, v, a)
    np.testing.assert_allclose(forces.tau, tau, atol=1e-12)
    np.testing.assert_allclose(forces.multipliers, robot.multipliers(q, v, tau), atol=1e-10)
    assert not forces.undetermined.any
    up = np.array([0, 0, 9.81])
    momentum = 0.0  # Newton's law of all bodies together: what the base carries
    for name, mass, com in (("crank", 0.5, (0.03, 0, 0)), ("tube", 0.6, (0.2, 0, 0)), ("rocker", 0.7, (0, 0.125, 0))):
        momentum = momentum + mass * (robot.point_acceleration(q, v, a, name, com) + up)
    held = [robot.pose(q, name)[:3, :3] @ forces.joint_wrenches[k, 3:] for name, k in (("crank", 0), ("rocker", 2))]
    np.testing.assert_allclose(sum(held), momentum, atol=1e-10)
    np.testing.assert_allclose(forces.at("crank_joint")[3:] + forces.at("rocker_joint")[3:], momentum, atol=1e-10)
    np.testing.assert_array_equal(forces.at("ball"), forces.loop_wrenches_world[0])
    with pytest.raises(kt.UnknownNameError, match="'crank'; did you mean 'crank_joint'"):
        forces.at("crank")
    other = robot.accelerations(q, v, {"crank_joint": 2.0, "tube_joint.wx": a[1] + 1.0})
    with pytest.raises(
        kt.SingularError, match=r"this motion needs a force: 0\.0001 N m are missing at 'tube_joint.wx'"
    ):
        robot.constraint_forces(q, v, other)


def test_bearings_carry_the_pull_of_springs_between_points():
    b = kt.Builder("boom").body("boom", "base", kt.Revolute("y"), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.body("jib", "boom", kt.Revolute("y"), position=(1.0, 0, 0), mass=0.5, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.tendon("stay", points=[("base", (0, 0, 0.3)), ("boom", (0.5, 0, 0)), ("jib", (0.4, 0, 0.2))],
             stiffness=100.0, rest=0.2)  # fmt: skip
    robot, q, still = b.build(), np.zeros(2), np.zeros(2)
    found = robot.joint_wrenches(q, still, still, {"boom": [0, 0, 0, 1.0, 2.0, 3.0]})
    first, second = np.array([-0.5, 0, 0.3]), np.array([0.9, 0, 0.2])
    pull = 100.0 * (np.linalg.norm(first) + np.linalg.norm(second) - 0.2)
    first, second = pull * first / np.linalg.norm(first), pull * second / np.linalg.norm(second)
    up = np.array([0, 0, 9.81])
    jib = 0.5 * up + second
    np.testing.assert_allclose(found[1, 3:], jib)
    np.testing.assert_allclose(found[0, 3:], jib + up - first - second - [1.0, 2.0, 3.0])
    motors = robot.inverse_dynamics(q, still, still, {"boom": [0, 0, 0, 1.0, 2.0, 3.0]})
    np.testing.assert_allclose(found[:, 1], motors)  # along the joints nothing but the motors is left


def test_springs_between_points_are_forces_by_name():
    clamp = kt.linkage(
        points={"O": (0, 0), "A": (0, 30), "B": (0, 80), "C": (40, 80), "pad": (100, 80), "seat": (100, 40)},
        bars={"handle": "O A", "link": "A B", "arm": "C B pad"},
        springs={"pressed": {"between": "seat pad", "stiffness": "200 N/mm", "rest": 45}},
        ground="O C seat", motor="O", units="mm", gravity=(0, 0),
    )  # fmt: skip
    q = clamp.follow({"O": np.array([0.05, -0.1])})
    forces = clamp.constraint_forces(q, np.zeros((2, 3)), np.zeros((2, 3)))
    away = clamp.point_position(q, "pad") - [0.1, 0.04, 0.0]
    length = np.linalg.norm(away, axis=-1, keepdims=True)
    pushed = 2e5 * (0.045 - length) * away / length  # on the arm, whose point is the last one
    assert np.allclose(forces.at("pressed")[:, 3:], pushed)
    assert np.allclose(forces.columns()["pressed.world_fy [N]"], pushed[:, 1])
    on_arm = 1 if clamp.model.loops[0].successor == clamp.body_names.index("arm") else -1
    assert np.allclose(forces.at("C")[:, 3:] + pushed + on_arm * forces.at("B")[:, 3:], 0.0, atol=1e-9)  # it rests
    assert "pressed" in str(forces)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'pressed'"):
        forces.at("presed")
