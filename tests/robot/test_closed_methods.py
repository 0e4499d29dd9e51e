"""Methods that every robot has, on mechanisms: each judged by forward dynamics, which is judged elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import five_bar, three_bars
from helpers.mechanisms import closed_state, spatial

START = np.array([[2.0, -1.0, 1.0, 1.0], [1.8, -1.1, 1.2, 0.8]])


def leg(kind, actuated=False):
    """A leg with a rod, on a base that nothing drives."""
    b = kt.Builder("leg")
    solid = {"mass": 1.0, "com": (0.02, 0.01, -0.2), "inertia": (0.02, 0.02, 0.01), "stiffness": 2.0}
    b.body("trunk", "base", kind, mass=3.0, com=(0.05, 0, 0.1), inertia=(0.1, 0.1, 0.1), actuated=actuated)
    turn = kt.Revolute("y")
    b.body("thigh", "trunk", turn, **solid)
    b.body("shin", "thigh", turn, position=(0, 0, -0.4), actuated=False, **solid)
    b.body("crank", "trunk", turn, position=(0.08, 0, 0), **solid)
    b.body("rod", "crank", turn, position=(0.06, 0, 0), actuated=False, **solid)
    b.loop("ankle", "rod", "shin", kt.Revolute("y"), placement=(-0.06, 0, -0.45), seat=(0.08, 0, -0.05))
    return b.build()


def leg_motion(robot, seed=0):
    rng = np.random.default_rng(seed)
    start = rng.normal(size=robot.nq) * 0.2
    start[-4:] = [0.4, -0.3, 0.3, 0.2]
    q = robot.close(robot.normalize(start), fixed=["thigh_joint", "crank_joint"])
    v = robot.velocities(q, rng.normal(size=robot.coordinates.freedoms))
    return q, v, robot.accelerations(q, v, rng.normal(size=robot.coordinates.freedoms))


def test_some_motions_given_and_some_forces():
    robot = five_bar()
    q = robot.close(START, fixed=["a1_joint", "b1_joint"])
    v = robot.velocities(q, [[0.3, -0.5], [1.0, 2.0]])
    for moved, pushed in (
        (["a1_joint"], ["b1_joint"]), (["a2_joint"], ["a1_joint"]), (["a2_joint", "b2_joint"], []), ([], ["b1_joint"]),
    ):  # fmt: skip
        given = {name: np.array([1.5, -2.0]) for name in moved}
        forces = dict.fromkeys(pushed, 3.0)
        for way in (robot, robot.with_backend("compiled")):
            a, tau = way.hybrid_dynamics(q, v, a=given, tau=forces)
            np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-9)
            for name in robot.joint_names:
                at = robot.joint(name).v_slice.start
                if name in moved:
                    np.testing.assert_allclose(a[:, at], given[name], atol=1e-11)
                else:
                    np.testing.assert_array_equal(tau[:, at], 3.0 if name in pushed else 0.0)
    spread = spatial(kt.Universal("XZ"))
    q, v = closed_state(spread)
    a, tau = spread.hybrid_dynamics(q, v, a={"limb1_joint": [1, 2, 3]}, tau={"trunk1_joint": 2.0})
    np.testing.assert_allclose(spread.forward_dynamics(q, v, tau), a, atol=1e-9)
    np.testing.assert_allclose(a[spread.joint("limb1_joint").v_slice], [1, 2, 3], atol=1e-11)


def test_hybrid_dynamics_where_it_is_wanted():
    robot = five_bar().with_backend("compiled")
    q = robot.close(START, fixed=["a1_joint", "b1_joint"])
    v = robot.velocities(q, [[0.3, -0.5], [1.0, 2.0]])
    expected = robot.hybrid_dynamics(q, v, a={"a1_joint": 1.0})
    room = np.full((2, 2, robot.nv), np.nan)
    found = robot.hybrid_dynamics(q, v, a={"a1_joint": 1.0}, out=room, threads=2)
    assert all(np.shares_memory(x, room) for x in found)
    np.testing.assert_array_equal(room, np.stack(expected, axis=-2))
    with pytest.raises(kt.ShapeError, match=r"out must have shape \(2, 2, 4\)"):
        robot.hybrid_dynamics(q, v, a={"a1_joint": 1.0}, out=np.zeros((2, 4)))
    tree = robot.tree
    room = np.zeros((2, 2, robot.nv))
    expected = tree.hybrid_dynamics(q, v, a={"a1_joint": 1.0})
    tree.hybrid_dynamics(q, v, a={"a1_joint": 1.0}, out=room, threads=2)
    np.testing.assert_array_equal(room, np.stack(expected, axis=-2))


def test_modules_of_the_spanning_tree_carry_the_forces_of_loops():
    """Their joint forces are the actuators', their accelerations those of forward dynamics: by other recursions."""
    robot = leg(kt.Planar("y"))
    q, v, a = leg_motion(robot)
    tau = robot.inverse_dynamics(q, v, a)
    found = robot.module_quantities(q, v, a=a)
    names = [robot.model.bodies.index(robot.body(n)) for m in found for n in m.links]
    order = [k for i in names for k in range(*robot.model.joints[i].v_slice.indices(robot.nv))]
    np.testing.assert_allclose(np.concatenate([m.tau for m in found]), tau[order], atol=1e-11)
    moved = robot.module_quantities(q, v, tau=tau)
    np.testing.assert_allclose(np.concatenate([m.a for m in moved]), a[order], atol=1e-9)
    bound = kt.Builder("wheels").body("left", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1))
    bound.body("right", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1)).gear(
        "mesh", "left_joint", "right_joint", [2, 1]
    )
    with pytest.raises(kt.UnsupportedError, match="coupling 'mesh'"):
        bound.build().module_quantities([0, 0], [0, 0], tau=[1, 0])


def test_momenta_are_linear_in_the_parameters():
    robot = leg(kt.Planar("y"))
    q, v, _ = leg_motion(robot)
    columns = robot.joint_momentum_regressor(q, v)
    np.testing.assert_allclose(columns @ robot.parameters().values, robot.mass_matrix(q) @ v, atol=1e-12)
    reduced = robot.basis(q).T @ columns @ robot.parameters().values
    np.testing.assert_allclose(reduced, robot.reduced_momentum(q, v), atol=1e-12)


def test_motions_that_cannot_be_given():
    robot = five_bar()
    q = robot.close(START[0], fixed=["a1_joint", "b1_joint"])
    rest = np.zeros(4)
    with pytest.raises(kt.SingularError, match="has 2 freedoms, but the motion of 3 is given"):
        robot.hybrid_dynamics(q, rest, a={"a1_joint": 1.0, "a2_joint": 1.0, "b1_joint": 0.0})
    with pytest.raises(kt.OptionError, match="both an acceleration and a force"):
        robot.hybrid_dynamics(q, rest, a={"a1_joint": 1.0}, tau={"a1_joint": 1.0})
    with pytest.raises(kt.StateError, match="do not allow this velocity"):
        robot.hybrid_dynamics(q, rest + 1.0, a={"a1_joint": 1.0})
    chain = kt.Builder("bars on a cart", gravity=(0, -9.81, 0)).body("cart", "base", kt.Prismatic("x"), mass=1.0)
    model = three_bars().model
    for i, (joint, body) in enumerate(zip(model.joints, model.bodies, strict=True)):
        parent = "cart" if joint.parent < 0 else model.bodies[joint.parent].name
        chain.body(body.name, parent, joint.kind, placement=joint.placement, mass_properties=body.mass_properties,
                   actuated=i == 0)  # fmt: skip
    for loop in model.loops:
        ends = (model.bodies[loop.predecessor].name, model.bodies[loop.successor].name)
        chain.loop(loop.name, *ends, loop.kind, placement=loop.placement, seat=loop.seat)
    robot = chain.build()
    q = robot.close([0.0, 0.6, -0.6, 0.6, 0.6], fixed=["bar0_joint"])
    with pytest.raises(kt.SingularError, match="cannot be given together"):
        robot.hybrid_dynamics(q, np.zeros(5), a={"bar0_joint": 1.0, "bar1_joint": 1.0})


@pytest.mark.parametrize("kind", [kt.Free(), kt.Planar("y"), kt.EulerFree("YXZ")], ids=lambda k: k.name)
def test_a_base_that_nothing_drives(kind):
    robot = leg(kind)
    n = kind.nv
    q, v, a = leg_motion(robot)
    push = {"shin": np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])}
    base, tau = robot.floating_base_inverse_dynamics(q, v, a[n:], push)
    assert not tau[[1, 3]].any()  # knee and rod have no motor
    whole = np.concatenate([base, a[n:]])
    np.testing.assert_allclose(robot.forward_dynamics(q, v, np.concatenate([np.zeros(n), tau]), push), whole, atol=1e-9)
    # asked for another motion of the base, inverse dynamics says what would have to push it, as of trees
    forces = robot.inverse_dynamics(q, v, a, push)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, forces, push), a, atol=1e-9)
    np.testing.assert_allclose(forces[:n], robot.tree.inverse_dynamics(q, v, a, push)[:n], atol=1e-10)
    for method in ("f_matrix", "subsystems"):
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, push, method=method), forces, atol=1e-9)
    with pytest.raises(kt.StateError, match="do not allow this acceleration"):
        robot.floating_base_inverse_dynamics(q, v, a[n:] + 1.0)


def test_a_tree_on_any_passive_joint():
    robot = kt.Builder("sled").body("trunk", "base", kt.Planar("y"), mass=3.0, inertia=(0.1, 0.1, 0.1), actuated=False)
    robot = robot.body("leg", "trunk", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1)).build()
    q, v = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, -1.0, 0.5, 2.0])
    base, tau = robot.floating_base_inverse_dynamics(q, v, [0.7])
    wanted = np.concatenate([base, [0.7]])
    np.testing.assert_allclose(robot.forward_dynamics(q, v, np.concatenate([np.zeros(3), tau])), wanted, atol=1e-11)
    with pytest.raises(kt.ModelError, match="to the world by a passive joint"):
        five_bar().floating_base_inverse_dynamics(np.zeros(4), np.zeros(4), np.zeros(4))
    driven = leg(kt.Planar("y"), actuated=True)
    with pytest.raises(kt.ModelError, match="no floating base"):
        driven.floating_base_inverse_dynamics(driven.neutral(), np.zeros(7), np.zeros(4))


def test_inertia_felt_at_a_frame():
    robot = leg(kt.Free())
    q, v, _ = leg_motion(robot)
    unit = np.eye(6)
    pushed = robot.forward_dynamics(q, 0 * v, np.zeros(robot.nv), {"shin": unit})
    change = pushed - robot.forward_dynamics(q, 0 * v, np.zeros(robot.nv))
    moved = change @ robot.jacobian(q, "shin").T
    found = robot.operational_space_inertia(np.stack([q, q]), "shin", inverse=True)
    np.testing.assert_allclose(found[1], moved.T, atol=1e-9)
    np.testing.assert_allclose(robot.operational_space_inertia(q, "shin") @ found[0], unit, atol=1e-7)
    four_bar = three_bars()
    q = four_bar.close([0.6, -0.6, 0.6, 0.6], fixed=["bar0_joint"])
    with pytest.raises(kt.SingularError, match="cannot move freely"):
        four_bar.operational_space_inertia(q, "coupler")


@pytest.mark.slow
def test_change_with_parameters():
    robot = leg(kt.Planar("y"))
    q, v, a = leg_motion(robot)
    tau, names = np.arange(robot.nv) * 0.5, ["shin.M", "rod.MX", "crank.YY"]
    values = np.array([robot.parameters()[name] for name in names])

    def differences(compute):
        columns = []
        for k, name in enumerate(names):
            h = 1e-5
            two = [compute(robot.with_parameters({name: values[k] + s * h}, physical=False)) for s in (1, -1)]
            columns.append((two[0] - two[1]) / (2 * h))
        return np.stack(columns, axis=-1)

    mapping = dict(zip(names, values, strict=True))
    wanted = differences(lambda r: r.inverse_dynamics(q, v, a))
    for given in (names, mapping):
        np.testing.assert_allclose(robot.inverse_dynamics_by_parameters(q, v, a, given), wanted, atol=1e-7)
    wanted = differences(lambda r: r.forward_dynamics(q, v, tau))
    for given in (names, mapping):
        np.testing.assert_allclose(robot.forward_dynamics_by_parameters(q, v, tau, given), wanted, atol=1e-6)
    with pytest.raises(kt.UnsupportedError, match="determines where its loops close"):
        robot.forward_dynamics_by_parameters(q, v, tau, {"joints": {"shin_joint": {"position": (0, 0, -0.4)}}})


def test_rates_by_name_and_rates_that_loops_forbid():
    robot = five_bar()
    q = robot.close(START[0], fixed=["a1_joint", "b1_joint"])
    v = robot.velocities(q, {"b1_joint": [0.2, 0.4], "a1_joint": 0.5})
    np.testing.assert_array_equal(v, robot.velocities(q, [[0.5, 0.2], [0.5, 0.4]]))
    with pytest.raises(kt.UnknownNameError, match="no independent freedom named 'a1'; did you mean 'a1_joint'"):
        robot.velocities(q, {"a1": 1.0})
    with pytest.raises(kt.ShapeError, match="b1_joint missing"):
        robot.accelerations(q, v, {"a1_joint": 1.0})
    with pytest.raises(kt.StateError, match=r"do not allow this velocity in state \(1,\)"):
        robot.accelerations(q, v + np.array([[0.0] * 4, [0.0, 0.01, 0.0, 0.0]]), [0.0, 0.0])
    with pytest.raises(kt.ShapeError, match="it is a mapping"):
        robot.pose({"a1_joint": 1.0}, "tip")


def test_a_guess_by_joint():
    robot = five_bar()
    told = {"a1_joint": START[:, 0], "a2_joint": START[:, 1:2], "b1_joint": START[:, 2], "b2_joint": START[:, 3]}
    held = ["a1_joint", "b1_joint"]
    np.testing.assert_array_equal(robot.close(told, held), robot.close(START, held))
    bent = robot.close({"a2_joint": -1.0, "b2_joint": 1.0}, {"a1_joint": 2.0, "b1_joint": 1.0})
    np.testing.assert_array_equal(bent, robot.close([0.0, -1.0, 0.0, 1.0], {"a1_joint": 2.0, "b1_joint": 1.0}))
    with pytest.raises(kt.UnknownNameError, match="did you mean 'a1_joint'"):
        robot.close({"a1": 1.0})
    with pytest.raises(kt.ShapeError, match="batches"):
        robot.close({"a1_joint": [1.0, 2.0], "b1_joint": [1.0, 2.0, 3.0]})


def test_a_path_is_led_into_on_the_branch_of_the_guess():
    """Far from the first point the nearest configuration is on the other branch; the crank's turn is known."""
    bars = kt.load("four-bar")
    start, far = kt.gallery.start("four-bar"), 4.0 * np.pi
    led = bars.follow({"crank_joint": [far, far + 0.1]}, start, lead_in=True)
    np.testing.assert_allclose(np.cos(led), np.cos(bars.follow({"crank_joint": [0.0, 0.1]}, start)), atol=1e-9)
    with pytest.raises(kt.OptionError, match=r"path is a mapping from joints to positions, \{'crank_joint'"):
        bars.follow([0.0, 1.0], start)
    with pytest.raises(kt.PathError, match="cannot follow the path to point 0") as caught:
        bars.follow({"rocker_joint": [5.0]}, start, lead_in=True)
    assert caught.value.point == 0


def test_a_path_beyond_a_dead_point_says_how_far_it_comes():
    """Crank and rod of a slider, 0.3 m and 0.5 m, come to lie in one line."""
    b, z = kt.Builder("slider"), kt.Revolute("z")
    b.body("crank", "base", z, mass=1.0)
    b.body("rod", "crank", z, position=(0.3, 0, 0), actuated=False, mass=1.0)
    b.body("block", "base", kt.Prismatic("x"), actuated=False, mass=1.0)
    b.loop("pin", "rod", "block", z, placement=(0.5, 0, 0))
    robot = b.build()
    q = robot.close([1.0, -1.5, 0.6], fixed=["crank_joint"])
    with pytest.raises(kt.PathError, match=r"It gets as far as block_joint = 0\.79999.*: a dead point"):
        robot.follow({"block_joint": [q[2], 0.78, 0.82]}, q)


def test_a_mechanism_as_it_is_moves_in_one_call():
    bars, start = kt.load("four-bar"), kt.gallery.start("four-bar")
    angles = np.linspace(0.0, 1.0, 11)[:, None]
    moved = bars.driven_motion(angles, 0 * angles + 2.0, 0 * angles, q_guess=start)
    named = bars.driven_motion({"crank_joint": angles[:, 0]}, {"crank_joint": 2.0}, {"crank_joint": 0.0}, q_guess=start)
    np.testing.assert_array_equal(named.tau, moved.tau)
    assert str(named) == "motion of 11 samples: it follows all of it; q (11, 3), v, a and tau (11, 3)"
    q = bars.follow({"crank_joint": angles}, start)
    v = bars.velocities(q, 0 * angles + 2.0)
    np.testing.assert_allclose(moved.q, q, atol=1e-9)
    np.testing.assert_allclose(moved.tau, bars.inverse_dynamics(q, v, bars.accelerations(q, v, 0 * angles)), atol=1e-8)


def rssr():
    """A spatial four-bar whose coupler may spin between its two balls."""
    b = kt.Builder("RSSR", gravity=(0.5, -1.0, -9.81))
    b.body("crank", "base", kt.Revolute("z"), mass=0.2, com=(0.05, 0, 0), inertia=(1e-5, 2e-4, 2e-4))
    b.body("coupler", "crank", kt.Spherical(), position=(0.1, 0, 0), actuated=False,
           mass=0.3, com=(0.21, 0, 0), inertia=(2e-3, 4e-3, 4e-3))  # fmt: skip
    b.body("rocker", "base", kt.Revolute("x"), position=(0.3, 0.2, 0), actuated=False,
           mass=0.3, com=(0, 0, 0.12), inertia=(2e-3, 2e-3, 1e-5))  # fmt: skip
    b.loop("ball", "coupler", "rocker", kt.Spherical(), placement=(0.42, 0, 0), seat=(0, 0, 0.25))
    return b.build()


def test_a_rod_that_spins_idly_is_told_of_and_takes_no_power():
    robot = rssr().with_backend("reference")
    q = robot.close(robot.neutral(), fixed={"crank_joint": 0.3})
    with pytest.raises(kt.ShapeError, match=r"coupler_joint\.wx missing.*Idle.*'coupler_joint\.wx': 0"):
        robot.velocities(q, {"crank_joint": 10.0})
    v = robot.velocities(q, {"crank_joint": 10.0, "coupler_joint.wx": [0.0, 3.0]})
    a, tau = robot.hybrid_dynamics(np.stack([q, q]), v, a={"crank_joint": 2.0})
    np.testing.assert_array_equal(tau[:, 1:], 0.0)
    h = 1e-4
    before, after = (
        robot.kinetic_energy(there, v + s * a) + robot.potential_energy(there)
        for s, there in ((s, robot.moved(np.stack([q, q]), s * v + s**2 / 2 * a)) for s in (-h, h))
    )
    np.testing.assert_allclose((after - before) / (2 * h), tau[:, 0] * 10.0, rtol=1e-4)  # all power is the crank's
    with pytest.raises(kt.UnsupportedError, match="idle spin, use a universal joint"):
        robot.driven_motion(np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)), q_guess=q)


def test_a_driven_state_does_not_spin_idly():
    robot = rssr().with_backend("reference")
    q, v = kt.DrivenRobot(robot, {"crank_joint": lambda t: 0.3 + 10 * t}).state(0.0, robot.neutral())
    spin = robot.velocity(q, v, "coupler")[0]  # about the rod, along the axes of the body
    assert abs(spin) < 1e-9 < abs(v[1])  # beside the crank it does turn
