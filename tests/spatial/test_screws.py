"""Lines, free vectors, screws, subspaces and the notation of 1987, against their definitions and the classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetree as kt
from helpers.compare import assert_close, skew
from helpers.robots import random_pose
from kinetree import spatial as sp

SEEDS = st.integers(0, 2**32 - 1)


def body(rng, batch=()):
    """Return mass, center of mass and inertia about it of real bodies."""
    root = rng.standard_normal((*batch, 3, 3))
    return rng.uniform(1, 3, batch), rng.uniform(-1, 1, (*batch, 3)), root @ np.swapaxes(root, -1, -2) + np.eye(3)


def pose(rng):
    return np.array(random_pose(rng).matrix, dtype=float)


# ---------------------------------------------------------------- lines and screws


@given(SEEDS)
def test_a_screw_is_found_again_wherever_the_origin_is(seed):
    """Axis, pitch and magnitude are invariant: from any frame the axis is the same line (Featherstone section 2.3)."""
    rng = np.random.default_rng(seed)
    direction, point, pitch = rng.standard_normal(3) + 0.1, rng.uniform(-2, 2, 3), rng.uniform(-1, 1)
    for kind in ("motion", "force"):
        vector = sp.screw_vector(direction, point, pitch, kind)
        x = pose(rng)
        here, there = sp.screw(vector, kind), sp.screw(sp.transform_matrix(x, kind) @ vector, kind)
        for found in (here, there):
            assert found.pitch == pytest.approx(pitch, abs=1e-9)
            assert found.magnitude == pytest.approx(np.linalg.norm(direction))
        assert_close(here.direction, direction / np.linalg.norm(direction), 1e-12)
        assert_close(np.cross(point - here.point, direction), np.zeros(3), 1e-9)
        assert here.point @ direction == pytest.approx(0.0, abs=1e-9)  # the nearest one to the origin
        assert_close(there.direction, x[:3, :3] @ here.direction, 1e-12)
        moved = x[:3, :3] @ point + x[:3, 3]
        assert_close(np.cross(moved - there.point, there.direction), np.zeros(3), 1e-8)


def test_lines_have_no_pitch_free_vectors_no_axis_and_nan_stays_in_its_row():
    rows = np.array(
        [sp.line_vector([0, 3, 0], [1, 2, 3]), sp.free_vector([0, 0, 4.0]), np.zeros(6), np.full(6, np.nan)]
    )
    found = sp.screw(rows)
    assert found.pitch[0] == 0
    assert np.isinf(found.pitch[1])
    assert np.isnan(found.pitch[2:]).all()
    assert_close(found.magnitude[:3], [3, 4, 0], 1e-15)
    assert_close(found.direction[:3], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], 1e-15)
    assert_close(found.point[:3], [[1, 0, 3], [0, 0, 0], [0, 0, 0]], 1e-15)
    assert np.isnan(found.direction[3]).all()


def test_a_velocity_split_at_a_point_is_a_turn_about_it_and_its_velocity():
    robot = kt.gallery.load("kuka-kr5")
    rng = np.random.default_rng(0)
    q, v = robot.random_configuration(rng), rng.standard_normal(robot.nv)
    velocity = robot.velocity(q, v, robot.body_names[-1], "world")
    point = robot.point_position(q, robot.body_names[-1], (0.1, 0.2, 0.3))
    line, free = sp.split_at(velocity, point)
    assert_close(line + free, velocity, 1e-14)
    assert_close(free[3:], robot.point_velocity(q, v, robot.body_names[-1], (0.1, 0.2, 0.3)), 1e-12)
    assert sp.screw(line).pitch == pytest.approx(0.0, abs=1e-12)
    assert not free[:3].any()


def test_joints_are_the_screws_that_their_names_say():
    """Featherstone section 2.3: revolute a line, prismatic a free vector, screw a line with a free vector along it."""
    for kind, pitch in ((kt.Revolute("z"), 0.0), (kt.Prismatic("z"), np.inf), (kt.Helical("z", 0.3), 0.3)):
        robot = kt.Builder("one").body("b", "base", kind, position=(1, 2, 3), mass=1).build()
        axis = sp.screw(robot.jacobian([0.0], "b", "world")[:, 0])
        assert axis.pitch == pytest.approx(pitch)
        assert_close(axis.direction, [0, 0, 1], 1e-14)
        if np.isfinite(pitch):
            assert_close(axis.point, [1, 2, 0], 1e-14)


# ---------------------------------------------------------------- matrices


@given(SEEDS)
def test_matrices_are_those_of_the_classes(seed):
    rng = np.random.default_rng(seed)
    v, w, f = rng.standard_normal((3, 6))
    motion, other, force = sp.Motion.of(v), sp.Motion.of(w), sp.Force.of(f)
    assert_close(sp.cross_matrix(v) @ w, list(motion.cross(other)), 1e-12)
    assert_close(sp.cross_matrix(v, "force") @ f, list(motion.cross_force(force)), 1e-12)
    assert_close(sp.cross_matrix(v, "force"), -sp.cross_matrix(v).T, 0)
    placed = random_pose(rng)
    x, own = np.array(placed.matrix, dtype=float), placed.spatial()
    assert_close(sp.transform_matrix(x) @ v, list(own.motion_to_parent(motion)), 1e-12)
    assert_close(sp.transform_matrix(x, "force") @ f, list(own.force_to_parent(force)), 1e-12)
    m, c, i = body(rng)
    about = i - m * skew(c) @ skew(c)
    h = sp.RigidInertia(m, sp.Vec3(*(m * c)), sp.Symmetric3(*about[np.triu_indices(3)]))
    assert_close(sp.rigid_inertia(m, c, i) @ v, list(h @ motion), 1e-12)
    assert_close(sp.inverse_rigid_inertia(m, c, i) @ sp.rigid_inertia(m, c, i), np.eye(6), 1e-9)  # eq. 3.14


def test_bodies_made_one_have_the_harmonic_sum_of_their_inverse_inertias():
    rng = np.random.default_rng(1)
    several = [body(rng, (4,)) for _ in range(3)]
    whole = sp.harmonic_sum(*(sp.inverse_rigid_inertia(*b) for b in several))
    assert whole.shape == (4, 6, 6)
    assert_close(whole @ sum(sp.rigid_inertia(*b) for b in several), np.broadcast_to(np.eye(6), (4, 6, 6)), 1e-9)


def test_a_body_on_a_joint_is_felt_as_the_robot_says():
    """Featherstone section 3.10, example 3: S (S^T I S)^-1 S^T, of rank r, and bearings carry its null space."""
    robot = (
        kt.Builder("one")
        .body("b", "base", kt.Cylindrical("z"), mass=2, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.2, 0.4))
        .build()
    )
    s = robot.jacobian([0.4, 0.1], "b")
    i = sp.rigid_inertia(2.0, [0.1, 0.2, 0.3], np.diag([0.3, 0.2, 0.4]))
    phi = sp.constrained_inverse_inertia(i, s)
    assert_close(phi, robot.operational_space_inertia([0.4, 0.1], "b", inverse=True), 1e-12)
    assert np.linalg.matrix_rank(phi) == 2
    assert_close(phi @ sp.complement(s), np.zeros((6, 4)), 1e-12)
    by_dyads = sum(sp.dyad(e, e) for e in sp.orthogonal_basis(s, i).T)  # example 4
    assert_close(by_dyads, phi, 1e-12)


# ---------------------------------------------------------------- subspaces


@given(SEEDS, st.integers(1, 5))
def test_subspaces(seed, r):
    rng = np.random.default_rng(seed)
    s, t, a = rng.standard_normal((6, r)), rng.standard_normal((6, r)), rng.standard_normal(6)
    across = sp.complement(s)
    assert across.shape == (6, 6 - r)
    assert_close(s.T @ across, np.zeros((r, 6 - r)), 1e-12)  # Featherstone eq. 3.25
    rest = a - s @ sp.resolve(a, s, t)
    assert np.abs(t.T @ rest).max() < 1e-8 * max(1.0, np.abs(rest).max())  # Featherstone eq. 3.27
    f = sp.reciprocal_basis(s)
    assert_close(s.T @ f, np.eye(r), 1e-8)  # Featherstone eq. 3.28
    coordinates = rng.standard_normal(r)
    assert_close(f.T @ (s @ coordinates), coordinates, 1e-8)  # Featherstone eq. 3.29
    i = sp.rigid_inertia(*body(rng))
    e = sp.orthogonal_basis(s, i)
    assert_close(e.T @ i @ e, np.eye(r), 1e-9)
    assert_close(e @ np.linalg.lstsq(e, s, rcond=None)[0], s, 1e-8)  # spans the same
    dyads = sp.inertia_dyads(i)
    assert_close(dyads.sum(axis=0), i, 1e-9)  # Featherstone eq. 3.31
    assert all(np.linalg.matrix_rank(d, tol=1e-9 * np.abs(i).max()) == 1 for d in dyads)


def test_batches_of_subspaces():
    rng = np.random.default_rng(2)
    s = rng.standard_normal((3, 6, 2))
    s[1, 0, 0] = np.nan
    across = sp.complement(s)
    assert np.isnan(across[1]).all()
    assert_close(np.swapaxes(s[[0, 2]], -1, -2) @ across[[0, 2]], np.zeros((2, 2, 4)), 1e-12)


# ---------------------------------------------------------------- 1987


def test_equations_of_1987_hold_in_their_own_notation():
    """X^S X = 1, (v x)^S = -v x, I^S = I, f . v = f^S v, one transform for both kinds (Featherstone section 3.9)."""
    rng = np.random.default_rng(3)
    x08, f08, v = pose(rng), rng.standard_normal(6), rng.standard_normal(6)
    x = sp.to_1987(sp.transform_matrix(x08), "motion_transform")
    f, i08 = sp.to_1987(f08, "force"), sp.rigid_inertia(*body(rng))
    i, phi = sp.to_1987(i08, "inertia"), sp.to_1987(np.linalg.inv(i08), "inverse_inertia")
    s = sp.spatial_transpose
    assert_close(s(x) @ x, np.eye(6), 1e-12)
    assert_close(sp.to_1987(sp.transform_matrix(x08, "force"), "force_transform"), x, 1e-15)
    assert_close(s(sp.cross_matrix(v)), -sp.cross_matrix(v), 0)
    assert_close(s(i), i, 1e-14)
    assert_close(i @ phi, np.eye(6), 1e-9)
    assert s(f) @ v == pytest.approx(f08 @ v)
    assert s(v) @ f == pytest.approx(f08 @ v)
    assert_close(sp.from_1987(i @ v, "force"), i08 @ v, 1e-14)
    moved = x @ i @ s(x)
    expected = sp.transform_matrix(x08, "force") @ i08 @ np.linalg.inv(sp.transform_matrix(x08))
    assert_close(sp.from_1987(moved, "inertia"), expected, 1e-12)
    motions = rng.standard_normal((6, 2))
    assert_close(s(motions) @ f, motions.T @ f08, 1e-14)
    assert_close(sp.to_1987(np.stack([f08, 2 * f08]), "force"), np.stack([f, 2 * f]), 0)
    assert_close(i[:3, 3:], i08[3, 3] * np.eye(3), 1e-14)  # the mass stands upper right, as in Featherstone eq. 3.3


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sp.line_vector([1, 2], [0, 0, 0]), kt.ShapeError, "direction"),
        (lambda: sp.screw(np.zeros(6), "twist"), kt.UnknownNameError, "kind of spatial vector"),
        (lambda: sp.cross_matrix(np.zeros(6), "wrench"), kt.UnknownNameError, "kind"),
        (lambda: sp.transform_matrix(np.eye(4), "forces"), kt.UnknownNameError, "did you mean 'force'"),
        (lambda: sp.inverse_rigid_inertia(0.0, [0, 0, 0], np.eye(3)), kt.ModelError, "with mass"),
        (lambda: sp.inverse_rigid_inertia(1.0, [0, 0, 0], np.zeros((3, 3))), kt.ModelError, "singular"),
        (lambda: sp.harmonic_sum(np.diag([1, 1, 1, 1, 1, 0.0])), kt.SingularError, "cannot move in all ways"),
        (sp.harmonic_sum, kt.SingularError, "of nothing"),
        (lambda: sp.complement(np.ones((6, 2))), kt.SingularError, "depend on one another"),
        (lambda: sp.complement(np.ones(5)), kt.ShapeError, "columns"),
        (lambda: sp.resolve(np.ones(6), np.ones((6, 1)), np.ones((6, 2))), kt.ShapeError, "both need the same number"),
        (lambda: sp.resolve(np.ones(6), np.eye(6)[:, :1], np.eye(6)[:, 1:2]), kt.SingularError, "singular"),
        (lambda: sp.orthogonal_basis(np.eye(6), np.zeros((6, 6))), kt.SingularError, "no inertia"),
        (lambda: sp.constrained_inverse_inertia(np.eye(6), np.ones((6, 2))), kt.SingularError, "depend"),
        (lambda: sp.to_1987(np.zeros(6), "wrench"), kt.UnknownNameError, "spatial quantity"),
        (lambda: sp.to_1987(np.zeros(5), "force"), kt.ShapeError, "six components"),
        (lambda: sp.to_1987(np.zeros((5, 6)), "inertia"), kt.ShapeError, "inertia must have"),
        (lambda: sp.spatial_transpose(np.zeros((2, 6))), kt.ShapeError, "six rows"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
