"""Articulated bodies with several handles against Jacobians, Featherstone's inertias, and loops solved otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.loop_models import four_bar, stewart, three_rrr
from helpers.robots import KINDS, random_state, random_tree
from kinetree.algorithms.articulated_body import articulated_inertias
from kinetree.algorithms.kinematics import poses
from kinetree.spatial import Motion


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed):
    """100 trees: Phi is J M^-1 J^T, b the frames' acceleration, and pushing at the handles does what both say."""
    rng = np.random.default_rng(seed)
    for k in range(25):
        robot = random_tree(rng, int(rng.integers(1, 5)), list(KINDS), floating=k % 2 == 0)
        q, v, tau = random_state(robot, rng)
        names = list(rng.choice(robot.frame_names, 2, replace=False))
        axes = ("body", "world", "aligned")[k % 3]
        loads = rng.standard_normal((len(robot.body_names), 6))
        phi, b = robot.handle_response(q, v, tau, names, loads, axes=axes)
        assert_close(phi, robot.operational_space_inertia(q, names, axes, inverse=True), 1e-10)
        a = robot.forward_dynamics(q, v, tau, loads)
        assert_close(b, np.concatenate([robot.acceleration(q, v, a, name, axes) for name in names]), 1e-10)
        if k % 3 == 0:
            f = rng.standard_normal(6 * len(names))
            push = sum(robot.jacobian(q, name).T @ f[6 * i : 6 * i + 6] for i, name in enumerate(names))
            pushed = robot.forward_dynamics(q, v, tau + push, loads)
            found = np.concatenate([robot.acceleration(q, v, pushed, name) for name in names])
            assert_close(found, phi @ f + b, 1e-10)


def test_inertias_of_every_link_of_a_free_body_as_002_finds_them():
    """Featherstone eq. 9.32: I^B from the root outward, written here on arrays, is the inverse of Phi_ii."""
    builder = kt.Builder("free")
    for i, kind in enumerate([kt.Free(), kt.Revolute("x"), kt.Spherical(), kt.Prismatic("y"), kt.Revolute("z")]):
        builder.body(f"b{i}", "base" if i == 0 else f"b{max(0, i - 2)}", kind, position=(0.1, 0.2, 0.3),
                     mass_properties=kt.MassProperties.box(1.0 + i, (0.3, 0.4, 0.5), (0.1, 0.05, -0.1)))  # fmt: skip
    robot = builder.build()
    q = robot.random_configuration(np.random.default_rng(5))
    posed = poses(robot.model, list(q))
    articulated = articulated_inertias(robot.model, [p.transform for p in posed], [p.subspace for p in posed])
    whole = {}
    for link, p, (inertia, _) in zip(robot.model.links, posed, articulated, strict=True):
        own = np.array(inertia.to_rows(), dtype=float)
        if link.index > 0:
            x = np.array([list(p.transform.motion_to_parent(Motion.of(e))) for e in np.eye(6)]).T
            s = np.array([list(column) for column in p.subspace]).T
            before = x.T @ whole[link.parent] @ x  # of the body before, in this body's frame
            yielding = own @ s @ np.linalg.solve(s.T @ own @ s, s.T @ own)
            own = before + yielding - before @ s @ np.linalg.solve(s.T @ before @ s, s.T @ before)
        whole[link.index] = own
        felt = robot.operational_space_inertia(q, f"b{link.index}", method="handles")
        assert_close(felt, own, 1e-10)


def test_two_bodies_of_figure_3_2_have_different_masses_along_and_across():
    """Featherstone figure 3-2: a sphere m1 carries a cylinder m2 that slides and turns along y in it, centers equal."""
    m1, m2, sphere, cylinder = 3.0, 1.2, (0.5, 0.5, 0.5), (0.1, 0.02, 0.1)
    builder = kt.Builder("figure 3-2")
    builder.body("sphere", "base", kt.Free(), mass_properties=kt.MassProperties.of(m1, (0, 0, 0), np.diag(sphere)))
    shaft = kt.MassProperties.of(m2, (0, 0, 0), np.diag(cylinder))
    builder.body("shaft", "sphere", kt.Cylindrical("y"), mass_properties=shaft)
    felt = builder.build().operational_space_inertia([0, 0, 0, 1, 0, 0, 0, 0.3, 0], "sphere", method="handles")
    assert_close(felt, np.diag([0.6, 0.5, 0.6, m1 + m2, m1, m1 + m2]), 1e-12)
    screw = kt.Builder("with a screw")
    screw.body("sphere", "base", kt.Free(), mass_properties=kt.MassProperties.of(m1, (0, 0, 0), np.diag(sphere)))
    screw.body("shaft", "sphere", kt.Helical("y", 0.15), mass_properties=shaft)
    felt = screw.build().operational_space_inertia([0, 0, 0, 1, 0, 0, 0, 0.0], "sphere", method="handles")
    one, two = np.diag([*sphere, m1, m1, m1]), np.diag([*cylinder, m2, m2, m2])
    s = np.array([0, 1, 0, 0, 0.15, 0])
    assert_close(felt, one + two - np.outer(two @ s, two @ s) / (s @ two @ s), 1e-12)  # Featherstone eq. 6.17
    assert felt[1, 4] < -0.07  # a force along y turns the sphere, too: no center of mass


MECHANISMS = {"four bars": four_bar, "3-RRR": three_rrr, "Stewart platform": stewart}


@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_as_handles(name):
    """Featherstone eq. 9.27-9.29 gives the accelerations of elimination by factors, with wrenches and off closure."""
    mechanism = MECHANISMS[name]()
    rng = np.random.default_rng(3)
    q = mechanism.assembled(rng=rng)
    v = mechanism.nearest_velocity(q, rng.standard_normal(mechanism.nv))
    tau, loads = rng.standard_normal(mechanism.nv), rng.standard_normal((len(mechanism.body_names), 6))
    for options in ({}, {"wrenches": loads}, {"stabilization": (3.0, 4.0)}):
        a = mechanism.forward_dynamics(q, v, tau, **options)
        assert_close(mechanism.forward_dynamics(q, v, tau, method="handles", **options), a, 1e-9)


def test_followers_go_the_other_way():
    rng = np.random.default_rng(0)
    robot = random_tree(rng, 5, ["revolute", "prismatic"], followers=True)
    q, v, tau = random_state(robot, rng)
    phi, b = robot.handle_response(q, v, tau, ["b4", "f2"])
    push = rng.standard_normal(12)
    a = robot.forward_dynamics(q, v, tau, {"b4": push[:6], "f2": push[6:]})
    assert_close(np.concatenate([robot.acceleration(q, v, a, f) for f in ("b4", "f2")]), phi @ push + b, 1e-10)


def test_errors():
    arm = random_tree(np.random.default_rng(0), 2, ["revolute"])
    with pytest.raises(kt.UnknownNameError, match="method of operational-space"):
        arm.operational_space_inertia([0, 0], "b1", method="handle")
    with pytest.raises(kt.OptionError, match="name at least one frame"):
        arm.handle_response([0, 0], [0, 0], [0, 0], [])
    with pytest.raises(kt.UnknownNameError, match="nowhere"):
        arm.handle_response([0, 0], [0, 0], [0, 0], "nowhere")
