"""DeNOC matrices: shapes and numbers of the source, identities, agreement with the recursions; module rules."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import OFFSETS, STEP, WEIGHTS, assert_close
from helpers.robots import arm, gripper, random_mass, random_state, random_tree
from kinetree.algorithms import articulated_body
from kinetree.model import euler_angle_joints
from kinetree.robot import from_dh
from kinetree.spatial.arrays import cross_matrix, pack, split
from kinetree_books import denoc_blocks
from kinetree_books.denoc import Denoc, wrench_shift
from kinetree_books.denoc_blocks import Axis, BlockMatrix

GRIPPER_MODULES = [["1"], ["2", "3"], ["4"]]
TREES = [(seed, floating) for seed in range(4) for floating in (False, True)]
MIXED = [
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "spherical",
    "spherical_euler",
    "planar",
    "custom",
]


def printed(actual: Any, expected: Any, digits: int) -> None:
    """Equal to a table, to every digit printed there."""
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=0.5000001 * 10.0**-digits)


def partitions(robot: kt.Robot, rng: np.random.Generator) -> list[Any]:
    """Link level, the longest modules, one link each, and the longest ones cut at random."""
    cut: list[list[str]] = []
    for names in robot.modules():
        at = int(rng.integers(1, len(names) + 1))
        cut += [list(part) for part in (names[:at], names[at:]) if part]
    return [None, "auto", "links", cut]


def tree(seed: int, floating: bool) -> tuple[kt.Robot, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1000 + seed)
    robot = random_tree(rng, 7, MIXED, floating)
    return robot, *random_state(robot, rng)


def every_level(seed: int, floating: bool) -> list[Denoc]:
    robot, q, v, _ = tree(seed, floating)
    return [robot.denoc(q, v, modules=m) for m in partitions(robot, np.random.default_rng(seed))]


def biped(spatial: bool) -> kt.Robot:
    """Trunk and two legs of three links (Shah sections 4.4, 7.2), on a free base."""
    rng = np.random.default_rng(2)
    builder = kt.Builder("biped").body("trunk", "base", kt.Free(), mass_properties=random_mass(rng))
    hip, ankle = (kt.EulerSpherical("YXZ"), kt.Universal("YX")) if spatial else (kt.Revolute("y"), kt.Revolute("y"))
    for side, y in (("left", 0.1), ("right", -0.1)):
        for name, parent, kind, position in (
            (f"{side}_thigh", "trunk", hip, (0, y, 0)),
            (f"{side}_shank", f"{side}_thigh", kt.Revolute("y"), (0, 0, -0.5)),
            (f"{side}_foot", f"{side}_shank", ankle, (0, 0, -0.5)),
        ):
            builder.body(name, parent, kind, position=position, mass_properties=random_mass(rng))
    return builder.build()


# ------------------------------------------------------------------ shapes and zeros of section 4.4


def test_gripper_shapes_and_zeros():
    denoc = gripper().denoc([0.3, -0.2, 0.5, 1.0], modules=GRIPPER_MODULES)
    assert denoc.N_l.shape == (24, 24)
    assert denoc.N_d.shape == (24, 4)
    assert repr(denoc) == "<Denoc of 'gripper' at module level: N is 24 x 4>"
    with pytest.raises(AttributeError, match=r"'GIM'; here it is gim$"):
        denoc.GIM  # noqa: B018
    assert denoc.twist_propagation("M2", "M1").shape == (12, 6)
    assert denoc.twist_propagation("M3", "M1").shape == (6, 6)
    assert denoc.joint_propagation("M2").shape == (12, 2)
    assert not denoc.twist_propagation("M3", "M2").any()
    assert denoc.N_l.pattern().splitlines()[1:] == ["   M1 M2 M3", "M1 1  .  .", "M2 #  1  .", "M3 #  .  1"]
    assert denoc.N_d.pattern().splitlines()[1:] == ["   M1 M2 M3", "M1 #  .  .", "M2 .  #  .", "M3 .  .  #"]
    assert denoc.gim.pattern().splitlines()[1:] == ["   M1 M2 M3", "M1 #  #  #", "M2 #  #  .", "M3 #  .  #"]
    assert denoc.U.pattern().splitlines()[1:] == ["   M1 M2 M3", "M1 1  #  #", "M2 .  1  .", "M3 .  .  1"]


def test_planar_biped_shapes_and_zeros():
    robot = biped(spatial=False)
    rng = np.random.default_rng(0)
    q, v, _ = random_state(robot, rng)
    denoc = robot.denoc(q, v, modules="auto")
    assert denoc.labels == ["M1", "M2", "M3"]
    assert (denoc.N_l.shape, denoc.N_d.shape) == ((42, 42), (42, 12))
    assert denoc.joint_propagation("M1").shape == (6, 6)
    assert denoc.gim.shape == (12, 12)
    for leg in ("M2", "M3"):
        assert denoc.twist_propagation(leg, "M1").shape == (18, 6)
        assert denoc.joint_propagation(leg).shape == (18, 3)
    assert not denoc.twist_propagation("M3", "M2").any()
    assert not denoc.gim.block("M3", "M2").any()
    assert denoc.gim.block("M2", "M1").any()


def test_spatial_biped_in_the_books_stacked_form():
    robot = biped(spatial=True).with_single_joints()
    rng = np.random.default_rng(0)
    q, v, _ = random_state(robot, rng)
    denoc = robot.denoc(q, v, modules="auto")
    assert (denoc.N_l.shape, denoc.N_d.shape) == ((78, 78), (78, 18))
    assert [s.stop - s.start for s in denoc.N_l.rows.slices] == [6, 36, 36]
    assert denoc.N_l.pattern().splitlines()[2:] == ["M1 1  .  .", "M2 #  1  .", "M3 #  .  1"]
    # eq. 4.14: within a joint the rows are [p1 0 0; p1 p2 0; p1 p2 p3], and Lambda repeats A down its last column
    p = [denoc.joint_propagation(f"left_thigh{part}") for part in ("_1", "_2", "")]
    zero = np.zeros((6, 1))
    stacked = np.block([[p[0], zero, zero], [p[0], p[1], zero], [p[0], p[1], p[2]]])
    assert_close(denoc.joint_propagation("M2")[:18, :3], stacked, 1e-14)
    knee = denoc.twist_propagation("left_shank", "left_thigh")
    assert_close(denoc.twist_propagation("left_shank", "left_thigh_1"), knee, 1e-14)


def test_spatial_double_pendulum():
    """Shah section 4.2.2: spherical, then revolute: Lambda_21 = [O O A_21]."""
    builder = kt.Builder().body("one", "base", kt.EulerSpherical("YXZ"), mass=1.0, com=(0, 0, -1))
    robot = builder.body("two", "one", kt.Revolute("x"), position=(0, 0, -1), mass=1.0, com=(0, 0, -1)).build()
    denoc = robot.with_single_joints().denoc([0.1, 0.2, 0.3, 0.4], modules=[["one_1", "one_2", "one"], ["two"]])
    assert denoc.twist_propagation("M2", "M1").shape == (6, 18)
    assert not denoc.twist_propagation("M2", "M1")[:, :12].any()
    assert_close(denoc.twist_propagation("M2", "M1")[:, 12:], denoc.twist_propagation("two", "one"), 1e-15)
    assert denoc.joint_propagation("M1").shape == (18, 3)


# ------------------------------------------------------------------ numbers of section 5.5


def test_gripper_numbers_at_the_start():
    denoc = gripper().denoc(np.radians([0, 0, 0, 90]), modules=GRIPPER_MODULES)
    expected = [
        [0.01133333, 0.00333333, 0.00091667, 0.00016667], [0.00333333, 0.00133333, 0.00041667, 0],
        [0.00091667, 0.00041667, 0.00016667, 0], [0.00016667, 0, 0, 0.00016667],
    ]  # fmt: skip
    printed(denoc.gim, expected, 8)
    printed(denoc.U.array[0], [1, 3.57142857, -3.42857143, 1], 8)
    printed(denoc.pivot("M1"), [[0.00240476]], 8)


def test_gripper_numbers_at_the_end():
    denoc = gripper().denoc(np.radians([60, 80, 80, 120]), modules=GRIPPER_MODULES)
    printed(denoc.gim.array[0], [0.00625141, 0.00071078, -0.00025977, 0.00004167], 8)
    printed(denoc.gim.block("M2", "M2")[0], [0.00092016, 0.00021008], 8)
    printed(denoc.U.array[0], [1, 1.58419001, -3.55543317, 0.25], 8)
    printed(denoc.pivot("M1"), [[0.00419139]], 8)


# ------------------------------------------------------------------ kinematics


def test_propagation_matrices_look_as_in_the_book():
    robot = gripper()
    q = np.array([0.3, -0.2, 0.5, 1.0])
    denoc = robot.denoc(q)
    a = robot.pose(q, "1")[:3, 3] - robot.pose(q, "3")[:3, 3]
    expected = np.block([[np.eye(3), np.zeros((3, 3))], [cross_matrix(a), np.eye(3)]])
    assert_close(denoc.twist_propagation("3", "1"), expected, 1e-15)
    assert_close(denoc.joint_propagation("3"), [[0], [0], [1], [0], [0], [0]], 1e-15)


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_identities_of_propagation_between_links(seed, floating):
    robot, q, v, _ = tree(seed, floating)
    denoc, model = robot.denoc(q, v), robot.model
    for k, name in enumerate(robot.body_names):
        path = [robot.body_names[i] for i in model.support(k)]
        assert np.array_equal(denoc.twist_propagation(name, name), np.eye(6))
        for middle in path:
            for first in path[: path.index(middle) + 1]:  # eq. 4.5
                chained = denoc.twist_propagation(name, middle) @ denoc.twist_propagation(middle, first)
                assert_close(chained, denoc.twist_propagation(name, first), 1e-14)
        for other in set(robot.body_names) - set(path):
            assert not denoc.twist_propagation(name, other).any()


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_identities_of_propagation_between_modules(seed, floating):
    for denoc in every_level(seed, floating):
        n = denoc.N_l.shape[0]
        assert_close(denoc.N_l.array @ (np.eye(n) - denoc.A.array), np.eye(n), 1e-13)  # eq. 4.28
        for k in denoc.labels:
            for j in denoc.labels:
                for i in denoc.labels:  # eq. 4.23
                    if denoc.N_l.block(k, j).any() and denoc.N_l.block(j, i).any():
                        chained = denoc.twist_propagation(k, j) @ denoc.twist_propagation(j, i)
                        assert_close(chained, denoc.twist_propagation(k, i), 1e-13)
        if denoc.parts is not None:  # eq. 4.22: only the last six columns are filled
            for j, parent in enumerate(denoc.parts.parents):
                if parent >= 0:
                    block = denoc.A.block(f"M{j + 1}", f"M{parent + 1}")
                    assert not block[:, :-6].any()
                    assert_close(block[:, -3:], np.tile(np.vstack([np.zeros((3, 3)), np.eye(3)]), (len(block) // 6, 1)))


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_rows_of_n_are_the_jacobians(seed, floating):
    robot, q, v, _ = tree(seed, floating)
    for denoc in every_level(seed, floating):
        for name in robot.body_names:
            rows = denoc.N.array[denoc.N.rows[name]]
            assert_close(rows, robot.jacobian(q, name, "aligned")[:, denoc.order], 1e-13)
            rates = denoc.N_rate.array[denoc.N.rows[name]]
            expected = robot.jacobian_rate(q, v, name, "aligned")[:, denoc.order]
            assert_close(rates, expected, 1e-12, scale=1.0)
            twist = denoc.twists[denoc.N.rows[name]]
            assert_close(twist, robot.velocity(q, v, name, "aligned"), 1e-13)


@pytest.mark.parametrize(("seed", "floating"), TREES[:4])
def test_rates_are_derivatives(seed, floating):
    """Each factor's rate against central differences along the motion."""
    robot, q, v, _ = tree(seed, floating)
    for modules in partitions(robot, np.random.default_rng(seed)):
        denoc = robot.denoc(q, v, modules=modules)
        moved = [robot.denoc(robot.integrate(q, t * STEP * v), v, modules=modules) for t in OFFSETS]
        for name in ("N_l", "N_d", "N"):
            steps = [getattr(d, name).array for d in moved]
            difference = sum(w * s for w, s in zip(WEIGHTS, steps, strict=True)) / STEP
            assert_close(getattr(denoc, f"{name}_rate").array, difference, 1e-8, scale=10.0)


# ------------------------------------------------------------------ dynamics


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_generalized_inertia_agrees_for_every_partition(seed, floating):
    robot, q, _, _ = tree(seed, floating)
    assert any(any(j.armature) for j in robot.model.joints)
    mass, inverse = robot.mass_matrix(q), robot.inverse_mass_matrix(q)
    for denoc in every_level(seed, floating):
        where = np.ix_(denoc.order, denoc.order)
        assert_close(denoc.gim.array, mass[where], 1e-13)
        assert_close(denoc.gim_from_composites.array, mass[where], 1e-13)
        assert_close(denoc.gim_inverse.array, inverse[where], 1e-10)
        for label in denoc.labels:  # eq. 5.16 and 5.19
            assert_close(denoc.composite_inertia(label), denoc.M_tilde.block(label, label), 1e-13)


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_factors_and_their_inverses(seed, floating):
    for denoc in every_level(seed, floating):
        u, d = denoc.U.array, denoc.D.array
        n = len(u)
        assert_close(u @ d @ u.T, denoc.gim.array, 1e-13)
        assert_close(u @ denoc.U_inverse.array, np.eye(n), 1e-11)
        assert_close(d @ denoc.D_inverse.array, np.eye(n), 1e-11)
        for i, row in enumerate(denoc.labels):
            for j, column in enumerate(denoc.labels):
                block = u[denoc.U.rows.slices[i], denoc.U.rows.slices[j]]
                if i == j:
                    assert np.array_equal(block, np.eye(len(block)))
                elif not denoc.N_l.block(column, row).any():  # U keeps the zeros of I, and the lower triangle is empty
                    assert not block.any()


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_inverse_factor_column_by_column(seed, floating):
    """Eq. 5.41 and 5.42, corrected: U^_i = -(U_i + sum over h < i of U^_h U_hi), starting from -U_1."""
    for denoc in every_level(seed, floating):
        u, blocks = denoc.U.array, denoc.U.rows.slices
        strict, inverse = u - np.eye(len(u)), np.zeros_like(u)
        for i in blocks:
            column = strict[:, i].copy()
            for h in blocks[: blocks.index(i)]:
                column += inverse[:, h] @ u[h, i]
            inverse[:, i] = -column
        assert_close(inverse + np.eye(len(u)), denoc.U_inverse.array, 1e-12)


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_convective_inertia_and_dynamics(seed, floating):
    robot, q, v, a = tree(seed, floating)
    weightless = robot.with_gravity((0, 0, 0))
    velocity_force = weightless.bias_force(q, v)
    torque, motion = robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a)
    for denoc in every_level(seed, floating):
        stacked = denoc.convective_inertia @ v[denoc.order]
        assert_close(stacked, velocity_force[denoc.order], 1e-12)
        assert_close(stacked, (robot.coriolis_matrix(q, v) @ v)[denoc.order], 1e-12)
        assert_close(denoc.inverse_dynamics(a), torque, 1e-12)
        assert_close(denoc.forward_dynamics(a), motion, 1e-10)
        weights = denoc.gravity_wrenches()
        assert_close(-denoc.generalized_force(weights), robot.gravity_force(q), 1e-12)


def test_convective_inertia_term_by_term():
    """C = N^T (M N' + Omega M E N), against the recursion of Newton and Euler for single links (eq. 5.5)."""
    robot, q, v, _ = tree(1, True)
    denoc = robot.denoc(q, v)
    still = np.zeros(robot.nv)
    for name in robot.body_names:
        rows = denoc.N.rows[name]
        t, m = denoc.twists[rows], denoc.M.array[rows, rows]
        acceleration = denoc.N_rate.array[rows] @ v
        assert_close(acceleration, robot.acceleration(q, v, still, name, "aligned", classical=True), 1e-12)
        required = m @ acceleration + denoc.Omega.array[rows, rows] @ m @ denoc.E.array[rows, rows] @ t
        turn, body = robot.pose(q, name)[:3, :3], robot.body(name)
        arm = turn @ np.array(body.mass_properties.com)
        w, w_dot, o_ddot = t[:3], acceleration[:3], acceleration[3:]
        force = body.mass * (o_ddot + np.cross(w_dot, arm) + np.cross(w, np.cross(w, arm)))
        inertia = turn @ body.mass_properties.inertia_matrix @ turn.T
        moment = inertia @ w_dot + np.cross(w, inertia @ w) + np.cross(arm, force)
        assert_close(required, np.concatenate([moment, force]), 1e-12)


def test_external_wrenches_at_points():
    robot, q, v, a = tree(2, True)
    force, moment, point = np.array([3.0, -2.0, 5.0]), np.array([0.5, 1.0, -0.2]), np.array([0.1, 0.2, -0.3])
    given = kt.Wrench(force=force, moment=moment, point=point, axes="world")
    s = robot.pose(q, "b4")[:3, :3] @ point
    loads = np.zeros((7, 6))
    loads[robot.body_names.index("b4")] = wrench_shift(s) @ np.concatenate([moment, force])
    for denoc in every_level(2, True):
        expected = robot.inverse_dynamics(q, v, a, wrenches={"b4": given})
        assert_close(denoc.inverse_dynamics(a, loads), expected, 1e-12)
        assert_close(denoc.forward_dynamics(expected, loads), a, 1e-9)


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_articulated_inertias_by_name(seed, floating):
    robot, q, _, _ = tree(seed, floating)
    model, scalars = robot.model, split(q)
    own = [link.position(scalars) for link in model.links]
    steps = articulated_body.articulated_inertias(
        model,
        [link.transform(x) for link, x in zip(model.links, own, strict=True)],
        [link.subspace(x) for link, x in zip(model.links, own, strict=True)],
    )
    for denoc in every_level(seed, floating):
        for name, (inertia, _) in zip(robot.body_names, steps, strict=True):
            turn = np.kron(np.eye(2), robot.pose(q, name)[:3, :3])
            body_axes = pack(inertia.to_rows(), ())
            assert_close(denoc.articulated_inertia(name), turn @ body_axes @ turn.T, 1e-12)


@pytest.mark.parametrize(("seed", "floating"), TREES)
def test_articulated_inertia_is_what_is_left_when_the_joints_beyond_give_way(seed, floating):
    """Against a Schur complement: a link moves freely, the joints of what it carries follow without force."""
    robot = tree(seed, floating)[0]
    for denoc in every_level(seed, floating):
        rotors = robot.model.joint_vector("armature")[denoc.order]
        for label in denoc.labels:
            rows, columns = denoc.N_l.rows[label], denoc.gim.rows.slices[denoc.labels.index(label)]
            carried = denoc.N_l.array[:, rows]  # twists of everything per twist of this link or module
            beyond = [k for k, name in enumerate(denoc.labels) if name != label and denoc.N_l.block(name, label).any()]
            joints = [x for k in beyond for x in range(len(rotors))[denoc.gim.rows.slices[k]]]
            n, m = denoc.N.array[:, joints], denoc.M.array
            coupling = carried.T @ m @ n
            schur = carried.T @ m @ carried
            if beyond:
                schur = schur - coupling @ np.linalg.solve(n.T @ m @ n + np.diag(rotors[joints]), coupling.T)
            inertia = denoc.articulated_inertia(label)
            assert_close(inertia, schur, 1e-12)
            # names of the factorization (eq. 5.34-5.37)
            n_bar = denoc.joint_propagation(label)
            assert_close(denoc.psi_hat(label), inertia @ n_bar, 1e-13)
            assert_close(denoc.pivot(label), n_bar.T @ inertia @ n_bar + np.diag(rotors[columns]), 1e-13)
            assert_close(denoc.psi(label) @ denoc.pivot(label), denoc.psi_hat(label), 1e-12)
            assert_close(denoc.phi(label), np.eye(len(n_bar)) - denoc.psi(label) @ n_bar.T, 1e-13)


def test_floating_base_feels_the_operational_space_inertia():
    robot, q, _, _ = tree(3, True)
    base = robot.body_names[0]
    felt = robot.operational_space_inertia(q, base, "aligned")
    assert_close(robot.denoc(q).articulated_inertia(base), felt, 1e-11)
    assert_close(robot.denoc(q, modules="auto").articulated_inertia("M1"), felt, 1e-11)


def test_order_of_rates_when_branches_interleave():
    builder, rng = kt.Builder(), np.random.default_rng(8)
    builder.body("root", "base", kt.Universal("XZ"), mass_properties=random_mass(rng))
    for k, kind in ((1, kt.Prismatic("x")), (2, kt.Spherical())):
        for side in ("left", "right"):
            parent = "root" if k == 1 else f"{side}{k - 1}"
            builder.body(f"{side}{k}", parent, kind, position=(0.1 * k, 0.2, 0.3), mass_properties=random_mass(rng))
    robot = builder.build()
    q, v, a = random_state(robot, rng)
    denoc = robot.denoc(q, v, modules=[["root"], ["right1", "right2"], ["left1", "left2"]])
    assert denoc.order.tolist() == [0, 1, 3, 7, 8, 9, 2, 4, 5, 6]
    assert denoc.gim.block("left2", "root").shape == (3, 2)
    assert_close(denoc.gim.block("left2", "left1_joint"), robot.mass_matrix(q)[4:7, 2:3], 1e-13)
    assert_close(denoc.inverse_dynamics(a), robot.inverse_dynamics(q, v, a), 1e-12)
    assert_close(denoc.forward_dynamics(a), robot.forward_dynamics(q, v, a), 1e-11)
    assert_close(denoc.U.array @ denoc.D.array @ denoc.U.array.T, denoc.gim.array, 1e-13)


# ------------------------------------------------------------------ reading them


def test_labels_and_parts_of_blocks():
    robot = gripper()
    q = [0.3, -0.2, 0.5, 1.0]
    links, modules = robot.denoc(q), robot.denoc(q, modules="auto")
    assert links.N_l.row_labels == ["1", "2", "3", "4"]
    assert links.N_d.column_labels == ["1_joint", "2_joint", "3_joint", "4_joint"]
    assert modules.N_d.column_labels == ["M1", "M2", "M3"]
    assert_close(modules.N.block("3", "2_joint"), links.N.block("3", "2"), 1e-14)
    assert_close(modules.N.block("M2", "M2")[6:, :1], links.N.block("3", "2"), 1e-14)
    assert_close(modules.articulated_inertia("2"), links.articulated_inertia("2"), 1e-14)
    assert_close(modules.composite_inertia("2"), links.composite_inertia("2"), 1e-14)
    assert_close(modules.twist_propagation("3", "1"), links.twist_propagation("3", "1"), 1e-14)
    assert modules.composite_inertia("M2").shape == (12, 12)
    product = modules.N_l @ modules.N_d
    assert isinstance(product, BlockMatrix)
    assert_close(product.block("M3", "M1"), modules.N.block("M3", "M1"), 1e-14)
    assert_close(modules.N.T.block("M1", "M3"), modules.N.block("M3", "M1").T, 0.0)
    assert np.asarray(modules.gim) is modules.gim.array


def test_module_labels_win_over_bodies_of_the_same_name():
    builder = kt.Builder().body("M2", "base", kt.Revolute("z"), joint_name="M3", mass=1.0, com=(1, 0, 0))
    builder.body("M1", "M2", kt.Revolute("z"), joint_name="M2", position=(1, 0, 0), mass=1.0, com=(1, 0, 0))
    builder.body("end", "M2", kt.Revolute("z"), joint_name="M1", position=(1, 0, 0), mass=1.0, com=(1, 0, 0))
    robot = builder.build()
    q, v, a = np.array([0.1, 0.5, 0.3]), np.array([1.0, 2.0, -1.0]), np.array([0.4, 0.1, -2.0])
    for modules in (None, "auto"):
        denoc = robot.denoc(q, v, modules=modules)
        assert_close(denoc.inverse_dynamics(a), robot.inverse_dynamics(q, v, a), 1e-13)
        assert_close(denoc.gim_inverse.array, robot.inverse_mass_matrix(q), 1e-12)
    assert_close(denoc.gim.block("M1", "M2"), robot.mass_matrix(q)[:1, 1:2], 1e-13)


def test_text():
    denoc = gripper().denoc([0.0, 0.0, 0.0, 0.5], modules=GRIPPER_MODULES)
    assert str(denoc).startswith(
        "DeNOC of gripper at module level: N = N_l N_d is 24 x 4\nM1 on base: 1\nM2 on M1: 2 - 3"
    )
    assert str(denoc.N_l) == denoc.N_l.pattern()
    lines = str(denoc.D).splitlines()
    assert lines[0] == "D (4 x 4)"
    assert lines[5].split() == ["M2", "|", ".", "|", "0.0013333", "0.00041667", "|", "."]
    assert len({len(line) for line in lines[1:]}) == 1
    assert repr(denoc.D) == "<BlockMatrix D (4 x 4), rows ['M1', 'M2', 'M3'], columns ['M1', 'M2', 'M3']>"


def test_the_page_about_it_is_true():
    page = Path(__file__).resolve().parents[2] / "docs" / "denoc.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0
    for module in (denoc_blocks, from_dh, euler_angle_joints):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


def test_a_block_matrix_refuses_labels_that_do_not_fit():
    side = Axis([("a", 2), ("b", 1)])
    with pytest.raises(kt.ShapeError, match=r"N has shape \(3, 2\), but its labels say \(3, 3\)"):
        BlockMatrix(np.zeros((3, 2)), side, side, "N")


# ------------------------------------------------------------------ what cannot be


def test_unknown_names_suggest_the_nearest():
    denoc = arm().denoc([0.1, 0.2, 0.3])
    with pytest.raises(kt.UnknownNameError, match="no link named 'uper'; did you mean 'upper'"):
        denoc.articulated_inertia("uper")
    with pytest.raises(kt.UnknownNameError, match="no block named 'elbw'; did you mean 'elbow'"):
        denoc.gim.block("elbw", "wrist")
    with pytest.raises(kt.UnknownNameError, match="no link named 'M9'"):
        arm().denoc([0.1, 0.2, 0.3], modules="auto").phi("M9")


def test_one_state_at_a_time():
    robot = arm()
    with pytest.raises(kt.ShapeError, match="one state at a time"):
        robot.denoc(np.zeros((2, 3)))
    denoc = robot.denoc(np.zeros(3))
    with pytest.raises(kt.ShapeError, match=r"a must have shape \(3,\).*one state"):
        denoc.inverse_dynamics(np.zeros((2, 3)))
    with pytest.raises(kt.ShapeError, match="wrenches must have shape"):
        denoc.inverse_dynamics(np.zeros(3), np.zeros(6))


def test_the_state_is_kept():
    q, v, a = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.6, 0.7])
    expected = arm().inverse_dynamics(q, v, a)
    link = arm().denoc(q).composite_inertia("upper")
    denoc = arm().denoc(q, v, modules="auto")
    q[:], v[:] = 9.0, 9.0
    assert_close(denoc.inverse_dynamics(a), expected, 1e-13)
    assert_close(denoc.composite_inertia("upper"), link, 1e-13)


def test_followers_are_refused():
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, com=(1, 0, 0))
    robot = builder.body("b", "base", kt.Revolute("z"), mass=1.0, com=(1, 0, 0), mimic=kt.Mimic("a_joint")).build()
    with pytest.raises(kt.UnsupportedError, match=r"joint 'b_joint' follows another.*mimic='independent'"):
        robot.denoc([0.1])


def test_singular_pivots_are_named():
    builder = kt.Builder().body("a", "base", kt.Revolute("z"), mass=1.0, com=(1, 0, 0))
    robot = builder.body("b", "a", kt.Revolute("x")).build()
    denoc = robot.denoc([0.1, 0.2])
    assert_close(denoc.inverse_dynamics([1.0, 1.0]), robot.inverse_dynamics([0.1, 0.2], [0, 0], [1, 1]), 1e-13)
    with pytest.raises(kt.SingularError, match="the pivot of 'b_joint' is singular"):
        denoc.gim_inverse  # noqa: B018
    ball = kt.Builder().body("ball", "base", kt.EulerSpherical("YXZ"), mass=1, com=(1, 2, 3), inertia=(1, 1, 1)).build()
    with pytest.warns(kt.SingularityWarning):
        locked = ball.denoc([0.3, np.pi / 2, 0.2])
    with pytest.raises(kt.SingularError, match="gimbal lock"):
        locked.forward_dynamics(np.zeros(3))


@pytest.mark.parametrize(
    ("modules", "error", "message"),
    [
        ([["1", "3"], ["2"], ["4"]], kt.ModelError, "module 1 is not a serial chain: '3' is not carried by '1'"),
        ([["1", "2", "3"], ["4"]], kt.ModelError, "module 2 starts at '1', which is not the last link of module 1"),
        ([["1"], ["2", "3"]], kt.ModelError, "bodies '4' are in no module"),
        ([["1"], ["2", "3"], ["3"], ["4"]], kt.ModelError, "body '3' is in modules 2 and 3"),
        ([["1"], [], ["2", "3"], ["4"]], kt.ModelError, "module 2 is empty"),
        ([["2", "3"], ["1"], ["4"]], kt.ModelError, "module 1 comes before its parent, module 2"),
        ([["base"], ["1"], ["2", "3"], ["4"]], kt.UnknownNameError, "no moving body named 'base'"),
        ([["1"], ["2", "3"], ["5"]], kt.UnknownNameError, "no moving body named '5'"),
        ("automatic", kt.UnknownNameError, "no partition named 'automatic'; did you mean 'auto'"),
    ],
)
def test_modules_that_break_the_rules(modules, error, message):
    with pytest.raises(error, match=message):
        gripper().modules(modules)
    with pytest.raises(error, match=message):
        gripper().denoc(np.zeros(4), modules=modules)


def test_automatic_modules_are_the_longest_chains():
    assert list(gripper().modules()) == [("1",), ("2", "3"), ("4",)]
    assert str(gripper().modules()).splitlines() == ["M1 on base: 1", "M2 on M1: 2 - 3", "M3 on M1: 4"]
    legs = biped(spatial=False).modules()
    assert [len(names) for names in legs] == [1, 3, 3]
    assert legs.parents == (-1, 0, 0)
    assert list(gripper().modules("links")) == [("1",), ("2",), ("3",), ("4",)]
    for seed, floating in TREES:
        robot = tree(seed, floating)[0]
        found = robot.modules()
        assert sorted(name for names in found for name in names) == sorted(robot.body_names)
        assert robot.modules(list(found)) == found  # it passes its own check
