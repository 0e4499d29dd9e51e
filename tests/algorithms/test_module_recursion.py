"""Recursions over modules, against those over links, against the dense matrices of the book, and as text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import gripper, random_state, random_tree
from kinetree.algorithms import module_recursion
from kinetree.model.denoc_modules import partition
from kinetree.spatial.arrays import split

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=50)
@given(seed=seeds, n=st.integers(1, 8), followers=st.booleans(), branching=st.booleans())
def test_inverse_dynamics_over_modules_is_that_over_links(seed, n, followers, branching):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n, followers=followers)
    q, v, a = random_state(robot, rng, 3)
    wrenches = {robot.body_names[0]: rng.standard_normal(6)} if branching else None
    expected = robot.inverse_dynamics(q, v, a, wrenches)
    assert_close(robot.inverse_dynamics(q, v, a, wrenches, method="modules"), expected, 1e-11)


@settings(max_examples=50)
@given(seed=seeds, n=st.integers(1, 8))
def test_every_valid_partition_gives_the_same(seed, n):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, n)
    q, v, a = random_state(robot, rng, 1)
    tau = robot.inverse_dynamics(q[0], v[0], a[0])
    state = [split(x[0]) for x in (q, v)]
    condition = float(np.linalg.cond(robot.mass_matrix(q[0])))
    for parts in (partition(robot.model), partition(robot.model, "links")):
        forces = module_recursion.inverse_dynamics(robot.model, *state, split(a[0]), robot.model.gravity, parts=parts)
        assert_close(np.array(forces, dtype=float), tau, 1e-11)
        found = module_recursion.forward_dynamics(robot.model, *state, split(tau), robot.model.gravity, parts=parts)
        assert_close(np.array(found, dtype=float), a[0], max(1e-11, 4e-14 * condition), scale=100.0)


def test_what_modules_find_is_what_the_matrices_of_the_book_say():
    robot, rng = gripper(), np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, (3, robot.nv))
    names = [list(part) for part in robot.modules()]
    found = robot.module_quantities(q, v, tau=tau, modules=names)
    denoc = robot.denoc(q, v, modules=names)
    phi = tau - robot.bias_force(q, v)
    phi_hat = np.linalg.solve(denoc.U.array, phi[denoc.order])  # U phi^ = phi, Shah eq. 6.9
    assert_close(np.concatenate([m.phi_hat for m in found]), phi_hat, 1e-12)
    assert_close(np.concatenate([m.phi_tilde for m in found]), np.linalg.solve(denoc.D.array, phi_hat), 1e-12)
    for m in found:
        assert_close(m.pivot, denoc.pivot(m.name), 1e-12)
        assert_close(m.u @ np.diag(m.d) @ m.u.T, m.pivot, 1e-12)
        assert np.array_equal(m.u, np.triu(m.u))
    a = robot.forward_dynamics(q, v, tau)
    assert_close(np.concatenate([m.a for m in found]), a[denoc.order], 1e-12)


def test_wrenches_of_modules_are_those_that_joints_transmit():
    robot, rng = gripper(), np.random.default_rng(1)
    q, v, a = rng.uniform(-1, 1, (3, robot.nv))
    found = robot.module_quantities(q, v, a=a)
    transmitted = robot.joint_wrenches(q, v, a)
    for m in found:
        for name, total in zip(m.links, m.total, strict=True):
            assert_close(total, transmitted[robot.body_names.index(name)], 1e-12)
    assert_close(sum(float(m.tau @ m.a) for m in found), float(robot.inverse_dynamics(q, v, a) @ a), 1e-12)


def test_modules_hold_springs():
    b = kt.Builder("sprung")
    bar = {"mass": 1.0, "com": (0, 0, -0.3), "inertia": (0.1, 0.1, 0.1)}
    b.body("upper", "base", kt.Revolute("y"), stiffness=7.0, spring_rest=0.3, **bar)
    robot = b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -1), **bar).build()
    q, v, a = np.array([[0.4, 0.2], [0.1, 0.3], [0.5, 0.6]])
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(np.concatenate([m.tau for m in robot.module_quantities(q, v, a=a)]), tau, 1e-12)
    assert_close(np.concatenate([m.a for m in robot.module_quantities(q, v, tau=tau)]), a, 1e-12)


def test_the_order_of_execution_is_that_of_the_books_gripper():
    """Palm, a finger of two links, a thumb: tables 6.3 and 6.4 of Shah, in our letters."""
    robot = kt.gallery.load("gripper")
    lines = robot.execution_order().splitlines()
    assert "M1: t_1 = N_1 q'_1" in lines
    assert "    t'_1 = N'_1 q'_1 + N_1 q''_1 + rho" in lines
    assert "M2: t_2 = A_2,1 t_1 + N_2 q'_2" in lines
    assert "M1: w~_1 = w*_1 + A_2,1^T w~_2 + A_3,1^T w~_3; tau_1 = N_1^T w~_1" in lines
    solving = robot.execution_order("forward_dynamics").splitlines()
    assert "M3: phi^_3 = phi_3; phi~_3 = I^_3^-1 phi^_3" in solving
    assert "M1: phi^_1 = phi_1 - N_1^T eta~_1; phi~_1 = I^_1^-1 phi^_1" in solving
    assert "    eta~_1 = A_2,1^T eta_2 + A_3,1^T eta_3" in solving
    assert "M2: q''_2 = phi~_2 - Psi_2^T mu~_2; mu~_2 = A_2,1 mu_1" in solving
    modules = [line.split(":")[0] for line in lines if line.startswith("M")]
    assert modules == ["M1", "M2", "M3", "M3", "M2", "M1"]


def walker(legs, change=0.0):
    """Return a trunk with legs, each heavier than the one before by ``change``."""
    b = kt.Builder("walker")
    b.body("trunk", "base", kt.Free(), mass=4.3, inertia=(0.09, 0.34, 0.42))
    for k in range(legs):
        rod = {"mass": 1.3 + change * k, "com": (0, 0, -0.15), "inertia": (0.0075, 0.0075, 0.001)}
        corner = (0.5 * (-1) ** k, 0.25 * (-1) ** (k // 2), 0.0)
        b.body(f"thigh{k}", "trunk", kt.Universal("XY"), position=corner, **rod)
        b.body(f"shank{k}", f"thigh{k}", kt.Revolute("y"), position=(0, 0, -0.3), **rod)
    return b.build()


def test_modules_that_are_equal():
    assert walker(4).equal_modules() == (("M2", "M3", "M4", "M5"),)
    assert walker(4, 0.11).equal_modules() == ()
    assert walker(4, 0.11).equal_modules(by="architecture") == (("M2", "M3", "M4", "M5"),)
    assert gripper().equal_modules(partition=[[n] for n in gripper().body_names], by="architecture")
    humanoid = kt.gallery.load("humanoid")  # mirrored arms, equal legs
    assert humanoid.equal_modules() == (("M6", "M7"),)
    assert humanoid.equal_modules(by="architecture") == (("M2", "M3"), ("M4", "M5"), ("M6", "M7"))
    last = walker(3).execution_order().splitlines()[-1]
    assert last == "Equal modules: M3, M4 as M2, except for their states and where they are mounted"
    with pytest.raises(kt.UnknownNameError, match="numbers"):
        humanoid.equal_modules(by="number")


def test_equal_modules_in_equal_positions_have_equal_pivots():
    """What a leaf module is by itself, seen from its own joints, is its numbers and its angles."""
    for change, alike in ((0.0, True), (0.11, False)):
        robot = walker(2, change)
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[7:] = np.tile([0.3, -0.4, 0.7], 2)
        left, right = robot.module_quantities(q, v, tau=v)[1:]
        assert np.allclose(left.pivot, right.pivot, rtol=1e-13) == alike


def test_equal_modules_save_no_operations():
    """Their states differ, so every further leg costs as much as the last; equal or not."""
    for name in ("inverse_dynamics", "forward_dynamics"):
        for method in ({}, {"method": "modules"}):
            two, three, four = (walker(k).cost(name, **method).multiplications for k in (2, 3, 4))
            assert four - three == three - two > 50
            assert walker(4, 0.11).cost(name, **method).multiplications == four


def test_bad_requests_say_what_to_give():
    robot = gripper()
    q = np.zeros(robot.nv)
    with pytest.raises(kt.KinetreeError, match="either accelerations"):
        robot.module_quantities(q, q)
    with pytest.raises(kt.KinetreeError, match="one state"):
        robot.module_quantities(np.zeros((2, robot.nv)), q, a=q)
    with pytest.raises(kt.KinetreeError, match="forward_dynamics"):
        robot.execution_order("froward_dynamics")
    with pytest.raises(kt.KinetreeError, match="newton_euler"):
        robot.inverse_dynamics(q, q, q, method="newton")
