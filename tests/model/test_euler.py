"""Euler angles, quaternions and chains of single joints: three descriptions of the same motion."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close, times, transpose
from helpers.robots import KINDS, random_mass, random_pose, random_state, random_tree
from kinetree.algorithms.table import FORWARD_METHODS
from kinetree.errors import ModelError, SingularityWarning
from kinetree.io.tables.columns import layout
from kinetree.model.joints import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES
from kinetree.simulation.records.plot import joint_of

EYE = np.eye(3)


def same_robot(seed: int, sequence: str, free: bool) -> tuple[kt.Robot, kt.Robot]:
    """A hinge, then the joint in question, then a hinge and a slide; once with angles, once with a quaternion."""
    robots = []
    for kind in (kt.EulerFree(sequence), kt.Free()) if free else (kt.EulerSpherical(sequence), kt.Spherical()):
        rng = np.random.default_rng(seed)
        builder = kt.Builder(gravity=(1.0, -2.0, -9.0))
        builder.body("a", "base", kt.Revolute((1, 2, 3)), placement=random_pose(rng), mass_properties=random_mass(rng))
        builder.body("b", "a", kind, placement=random_pose(rng), mass_properties=random_mass(rng))
        builder.body("c", "b", kt.Revolute("x"), placement=random_pose(rng), mass_properties=random_mass(rng))
        builder.body("d", "b", kt.Prismatic("y"), placement=random_pose(rng), mass_properties=random_mass(rng))
        robots.append(builder.build())
    return robots[0], robots[1]


def angle_rates_to_velocity(sequence: str, angles: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E with body angular velocity w = E rates, and E': each axis turned back by the turns after it."""
    axes = [EYE["XYZ".index(a)] for a in sequence]
    columns, changes = [], []
    for k in range(3):
        seen = np.broadcast_to(axes[k], angles.shape)
        change = np.zeros_like(angles)
        for later in range(k + 1, 3):
            back = Rotation.from_rotvec(-axes[later] * angles[..., later, None]).as_matrix()
            # d/dt (R^T u) = R^T u' - rate e x R^T u
            seen = times(back, seen)
            change = times(back, change) - rates[..., later, None] * np.cross(axes[later], seen)
        columns.append(seen)
        changes.append(change)
    return np.stack(columns, axis=-1), np.stack(changes, axis=-1)


@pytest.mark.parametrize("sequence", THREE_AXIS_SEQUENCES)
@pytest.mark.parametrize("free", [False, True], ids=["spherical", "free"])
def test_euler_and_quaternion_joints_move_alike(sequence, free):
    euler, quaternion = same_robot(20, sequence, free)
    rng = np.random.default_rng(21)
    q, v, a = random_state(euler, rng, 12)
    size = 6 if free else 3
    angles = slice(1, 4)
    rotation = Rotation.from_euler(sequence, q[:, angles])
    turn = rotation.as_matrix()
    e, e_rate = angle_rates_to_velocity(sequence, q[:, angles], v[:, angles])
    # the map from Euler rates to the quaternion joint's velocity, as a block of the whole
    to, to_rate = np.zeros((12, size, size)), np.zeros((12, size, size))
    to[:, :3, :3], to_rate[:, :3, :3] = e, e_rate
    if free:  # velocity of the origin: fixed axes to body axes, which turn with w
        w = times(e, v[:, angles])
        to[:, 3:, 3:] = transpose(turn)
        to_rate[:, 3:, 3:] = -np.cross(w[:, None, :], turn).swapaxes(-1, -2)
    whole, whole_rate = np.tile(np.eye(euler.nv), (12, 1, 1)), np.zeros((12, euler.nv, euler.nv))
    whole[:, 1 : 1 + size, 1 : 1 + size], whole_rate[:, 1 : 1 + size, 1 : 1 + size] = to, to_rate
    q2 = np.concatenate([q[:, :1], rotation.as_quat(), q[:, 4:]], axis=-1)
    v2 = times(whole, v)
    a2 = times(whole, a) + times(whole_rate, v)

    for frame in "abcd":
        assert_close(quaternion.pose(q2, frame), euler.pose(q, frame), 1e-13)
        assert_close(quaternion.velocity(q2, v2, frame), euler.velocity(q, v, frame), 1e-12)
        assert_close(quaternion.acceleration(q2, v2, a2, frame), euler.acceleration(q, v, a, frame), 1e-11)
    load = {"c": kt.Wrench((1, 2, 3), (4, 5, 6), (0.1, 0.2, 0.3), axes="world")}
    tau2 = quaternion.inverse_dynamics(q2, v2, a2, load)
    tau = euler.inverse_dynamics(q, v, a, load)
    assert_close(tau, times(transpose(whole), tau2), 1e-11)  # the same virtual work
    assert_close(euler.mass_matrix(q), transpose(whole) @ quaternion.mass_matrix(q2) @ whole, 1e-12)
    assert_close(euler.kinetic_energy(q, v), quaternion.kinetic_energy(q2, v2), 1e-12)
    found = euler.forward_dynamics(q, v, tau, load)
    found2 = quaternion.forward_dynamics(q2, v2, tau2, load)
    for frame in "abcd":
        assert_close(quaternion.acceleration(q2, v2, found2, frame), euler.acceleration(q, v, found, frame), 1e-9)


# One joint, or a chain of single joints with massless links


COMPOUND = [
    *(kt.Universal(s) for s in TWO_AXIS_SEQUENCES),
    *(kt.EulerSpherical(s) for s in THREE_AXIS_SEQUENCES),
    *(kt.EulerFree(s) for s in THREE_AXIS_SEQUENCES),
    kt.Planar("z"),
    kt.Planar((1, 2, -1)),
    kt.Translation(),
    kt.Cylindrical("x"),
    kt.Cylindrical((1, -2, 1)),
]


def places(compound: kt.Robot, chain: kt.Robot) -> np.ndarray:
    """Where each coordinate of the compound robot sits in the chain; parts are named by coordinate."""
    order = []
    for joint in compound.model.joints:
        if joint.mimic:
            continue
        if joint.name in chain.joint_names:
            where = chain.joint(joint.name).v_slice
            order.extend(range(where.start, where.stop))
        else:
            order.extend(chain.joint(f"{joint.name}_{k + 1}").v_slice.start for k in range(joint.nv))
    return np.array(order)


@pytest.mark.parametrize("kind", COMPOUND, ids=lambda k: f"{k.name}-{next(iter(k.parameters().values()), '')}")
def test_chain_of_single_joints_moves_alike(kind):
    rng = np.random.default_rng(22)
    builder = kt.Builder(gravity=(3.0, -1.0, -9.0))
    builder.body("a", "base", kt.Revolute("y"), placement=random_pose(rng), mass_properties=random_mass(rng))
    builder.body(
        "b", "a", kind, placement=random_pose(rng), mass_properties=random_mass(rng),
        rotor_inertia=rng.uniform(0.01, 0.1, kind.nv),
    )  # fmt: skip
    builder.body("c", "b", kt.Revolute("x"), placement=random_pose(rng), mass_properties=random_mass(rng))
    compound = builder.frame("tip", "c", (0.1, 0.2, 0.3)).build()
    chain = compound.with_single_joints()
    assert len(chain.model.joints) == 2 + kind.nv
    assert all(joint.nv == 1 for joint in chain.model.joints)
    assert chain.mass == compound.mass
    where = places(compound, chain)
    q, v, a = random_state(compound, rng, 12)
    q2, v2, a2 = (np.empty_like(x) for x in (q, v, a))
    q2[:, where], v2[:, where], a2[:, where] = q, v, a
    load = {"tip": kt.Wrench((1, 2, 3), (4, 5, 6))}
    tau = compound.inverse_dynamics(q, v, a, load)
    assert_close(chain.inverse_dynamics(q2, v2, a2, load)[:, where], tau, 1e-12)
    assert_close(chain.mass_matrix(q2)[:, where][:, :, where], compound.mass_matrix(q), 1e-12)
    assert_close(chain.pose(q2, "tip"), compound.pose(q, "tip"), 1e-13)
    tau2 = np.empty_like(tau)
    tau2[:, where] = tau
    for method in FORWARD_METHODS:
        assert_close(chain.forward_dynamics(q2, v2, tau2, load, method=method)[:, where], a, 1e-9)


@pytest.mark.parametrize("kind", [k for k in COMPOUND if not isinstance(k, (kt.EulerFree, kt.Planar))], ids=str)
def test_chain_keeps_the_order_of_coordinates_unless_slides_come_first(kind):
    robot = kt.Builder().body("b", "base", kind, mass=1.0, inertia=(1, 1, 1)).build()
    np.testing.assert_array_equal(places(robot, robot.with_single_joints()), np.arange(kind.nv))


def test_chain_inherits_data_and_joints_that_are_single_stay():
    builder = kt.Builder()
    builder.body(
        "a", "base", kt.Universal("XY"), mass=1.0, inertia=(1, 1, 1), lower=(-1, -2), upper=(1, 2), damping=(0.1, 0.2),
        friction=(0.3, 0.4), velocity_limit=(5, 6), effort_limit=(7, 8), rotor_inertia=(0.01, 0.02), gear_ratio=(2, 3),
    )  # fmt: skip
    builder.body("b", "a", kt.Revolute("z"), mass=1.0, inertia=(1, 1, 1))
    robot = builder.build()
    chain = robot.with_single_joints()
    assert chain.joint_names == ["a_joint_1", "a_joint_2", "b_joint"]
    assert chain.body_names == ["a_1", "a", "b"]
    for name in ("lower", "upper", "damping", "friction", "velocity_limit", "effort_limit", "armature"):
        assert list(chain.model.joint_vector(name)) == list(robot.model.joint_vector(name))
    assert chain.joint("b_joint").kind == robot.joint("b_joint").kind


def test_chain_of_a_random_tree_moves_alike():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 6, followers=True)
        chain = robot.with_single_joints()
        where = places(robot, chain)
        q, v, a = random_state(robot, rng, 4)
        v2, a2 = np.empty_like(v), np.empty_like(a)
        v2[:, where], a2[:, where] = v, a
        q2 = np.empty_like(q)
        for joint in robot.model.joints:  # coordinates by name, quaternions as they are
            if joint.mimic:
                continue
            own = q[:, joint.q_slice]
            if joint.name in chain.joint_names:
                q2[:, chain.joint(joint.name).q_slice] = own
            else:
                for k in range(joint.nq):
                    q2[:, chain.joint(f"{joint.name}_{k + 1}").q_slice] = own[:, k : k + 1]
        assert_close(chain.inverse_dynamics(q2, v2, a2)[:, where], robot.inverse_dynamics(q, v, a), 1e-12)


def test_clashing_names_of_parts_are_refused():
    robot = kt.Builder().body("b", "base", kt.Universal("XY"), joint_name="j", mass=1.0, inertia=(1, 1, 1))
    robot.body("b_1", "b", kt.Revolute("x"), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="clash"):
        robot.build().with_single_joints()


# Gimbal lock


LOCKED = {True: 0.0, False: np.pi / 2}  # by whether first and third axis are the same


@pytest.mark.parametrize("sequence", THREE_AXIS_SEQUENCES)
@pytest.mark.parametrize("make", [kt.EulerSpherical, kt.EulerFree])
def test_gimbal_lock_warns_and_leaves_other_states_alone(sequence, make):
    rng = np.random.default_rng(23)
    builder = kt.Builder().body("a", "base", make(sequence), joint_name="ball", mass_properties=random_mass(rng))
    robot = builder.body("b", "a", kt.Revolute("x"), position=(0.1, 0, 0), mass_properties=random_mass(rng)).build()
    q, v, a = random_state(robot, rng, 5)
    tau = robot.inverse_dynamics(q, v, a)  # no warning here: warnings are errors in these tests
    clean = robot.forward_dynamics(q, v, tau)
    locked = q.copy()
    locked[3, 1] = LOCKED[sequence[0] == sequence[2]] + np.pi * rng.integers(-1, 2)
    keep = [0, 1, 2, 4]
    for method in FORWARD_METHODS:
        with pytest.warns(SingularityWarning, match=r"'ball'.*batch index 3"):
            found = robot.forward_dynamics(locked, v, tau, method=method)
        assert_close(found[keep], clean[keep], 1e-7)
    with pytest.warns(SingularityWarning, match="'ball'"):
        bearing = robot.joint_wrenches(locked, v, a, bearings_only=True)
    assert np.all(np.isfinite(bearing))  # inverse dynamics has an answer in gimbal lock
    with pytest.warns(SingularityWarning, match="'ball'"):
        inverse = robot.inverse_dynamics(locked, v, a)
    assert_close(inverse[keep], tau[keep], 1e-13)
    assert np.all(np.isfinite(inverse))


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_warning_points_at_the_users_line(backend):
    builder = kt.Builder().body("a", "base", kt.EulerSpherical("ZYZ"), mass=1.0, inertia=(1, 1, 1))
    robot = builder.build().with_backend(backend)
    robot.inverse_dynamics(np.ones(3), np.ones(3), np.ones(3))  # the next calls go straight to machine code
    q, zero = np.array([0.4, 0.0, 0.2]), np.zeros(3)
    for call in (
        lambda: robot.inverse_dynamics(q, zero, zero),
        lambda: robot.difference(q, q + 1.0),
        lambda: robot.joint_wrenches(q, zero, zero, bearings_only=True),
        lambda: robot.point_velocity(q, zero, "a"),
    ):
        with pytest.warns(SingularityWarning, match="gimbal lock") as caught:
            call()
        assert {(w.filename, w.lineno) for w in caught} == {(__file__, call.__code__.co_firstlineno)}


def swinging_loop(seed, sequence):
    """Two bars between balls in Euler angles; symmetric sequences are locked in the neutral configuration."""
    rng = np.random.default_rng(seed)
    b = kt.Builder("bars", gravity=rng.normal(size=3))
    b.body("a", "base", kt.EulerSpherical(sequence), mass_properties=random_mass(rng))
    b.body("b", "a", kt.EulerSpherical(sequence), position=(0.5, 0, 0), mass_properties=random_mass(rng))
    b.loop("end", "base", "b", kt.Spherical(), placement=(0.6, 0.2, 0.1), seat=(0.5, 0, 0))
    robot = b.build().with_backend("reference")
    q = robot.close(rng.uniform(0.6, 1.0, 6))
    distance = np.sin(q) if sequence[0] == sequence[2] else np.cos(q)
    assert np.abs(distance[[1, 4]]).min() > 0.05
    return b.build().with_backend("reference"), q


@pytest.mark.parametrize("sequence", ["ZXZ", "YXZ"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_warning_about_configurations_that_nobody_gave(seed, sequence):
    """Loops are closed from the neutral configuration, which may be locked: that gave 14 warnings and more a call."""
    zero = np.zeros(6)
    for call in (
        lambda robot, q: robot.close(q + 0.01),
        lambda robot, q: robot.mobility(q),
        lambda robot, q: robot.mobility(),
        lambda robot, q: robot.assembled(),
        lambda robot, q: robot.project(q, np.ones(6)),
        lambda robot, q: robot.forward_dynamics(q, zero, zero),
        lambda robot, q: robot.base_parameters(method="null_space"),
    ):
        robot, q = swinging_loop(seed, sequence)  # a new one: what was chosen once is not chosen again
        call(robot, q)  # warnings are errors


def test_no_warning_about_places():
    """A pose in gimbal lock is as good as any, and searches begin there."""
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (1, 1, 1)}
    ball = kt.Builder().body("ball", "base", kt.EulerSpherical("ZXZ"), **body)
    robot = ball.frame("tip", "ball", position=(0, 0, 1)).build()
    locked = np.array([0.3, 0.0, 0.2])
    robot.pose(locked, "tip")
    robot.jacobian(locked, "tip")
    robot.integrate(locked, np.ones(3))
    robot.gravity_force(locked)
    robot.center_of_mass(locked)
    kt.inverse_kinematics(robot, "tip", (0.6, 0, 0.8), what="position", q_guess=locked)
    with pytest.warns(SingularityWarning, match="ball"):
        robot.mass_matrix(locked)


@pytest.mark.parametrize("distance", [0.9e-3, 1.1e-3, -0.9e-3, -1.1e-3])
@pytest.mark.parametrize("sequence", ["YXZ", "ZYZ"])
def test_warning_starts_at_the_tolerance(sequence, distance, recwarn):
    robot = kt.Builder().body("a", "base", kt.EulerSpherical(sequence), mass=1.0, inertia=(1, 1, 1)).build()
    robot.neutral()
    q = [0.4, LOCKED[sequence == "ZYZ"] + distance, 0.2]
    if abs(distance) < 1e-3:
        with pytest.warns(SingularityWarning, match="gimbal lock"):
            robot.mass_matrix(q)
    else:
        robot.mass_matrix(q)
    assert len(recwarn) == 0


def test_no_other_joint_warns(recwarn):
    rng = np.random.default_rng(24)
    kinds = [k for k in KINDS if "euler" not in k]
    robot = random_tree(rng, 13, kinds)
    robot.mass_matrix(robot.neutral())
    robot.mass_matrix(robot.random_configuration(rng, 50))
    assert len(recwarn) == 0


def test_entries_of_a_free_joint_with_angles_have_words():
    names = {
        "YXZ": [".about_y", ".about_x", ".about_z", ".x", ".y", ".z"],
        "ZXZ": [".about_z", ".about_x", ".about_z2", ".x", ".y", ".z"],
    }
    for sequence, words in names.items():
        robot = kt.Builder().body("b", "base", kt.EulerFree(sequence), mass=1.0, inertia=(1, 1, 1)).build()
        assert robot.q_names == robot.v_names == [f"b_joint{word}" for word in words]
        assert [robot.entry_index(f"b_joint[{k}]", "q") for k in range(6)] == list(range(6))
        q = np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0])  # no gimbal lock
        q[robot.entry_index("b_joint.z", "q")] = 2.0
        assert np.array_equal(robot.pose(q, "b")[:3, 3], [0, 0, 2.0])
    assert [joint_of(name) for name in robot.q_names] == ["b_joint"] * 6
    counted = layout("t.csv", [f"q_b_joint[{k}]" for k in range(6)], 6, {"q": robot.q_names})
    assert counted.quantities == {"q": (0, 1, 2, 3, 4, 5)}
