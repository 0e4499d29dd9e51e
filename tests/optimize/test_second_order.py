"""Second derivatives of dynamics and limits in plans, judged by differences, and by fewer iterations to one optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt
from kinetree.evaluation.law_kernels import LawProgram
from kinetree_optimize.nodes import NodeDynamics, PreparedNodes

o = kt.optimize


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def cart_pole():
    b = kt.Builder("cart-pole")
    b.body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="track", effort_limit=20.0)
    b.body("pole", "cart", kt.Revolute("y"), mass=0.3, com=(0, 0, -0.5), joint_name="hinge", actuated=False)
    return compiled(b)


def floating():
    b = kt.Builder("floating").body("hub", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.2, 0.3), com=(0.1, 0, 0))
    return compiled(b.body("arm", "hub", kt.Revolute("y"), mass=0.5, com=(0, 0, 0.3), inertia=(0.01, 0.02, 0.01)))


def ball():
    b = kt.Builder("ball").body("rod", "base", kt.Spherical(), mass=1.0, inertia=(0.1, 0.2, 0.3), com=(0.1, 0, 0.2))
    return compiled(b)


def mechanism():
    return kt.gallery.load("four-bar").with_backend("compiled")


def dynamics(robot, start, substeps=1):
    return NodeDynamics(robot, "torque", (), (), "semi_implicit_euler", 0.01, substeps, True, 1e-2, start, 1)


@pytest.mark.parametrize(
    "make", [cart_pole, pytest.param(ball, marks=pytest.mark.slow), pytest.param(floating, marks=pytest.mark.thorough)]
)
def test_second_derivatives_of_a_period_are_those_of_differences(make):
    robot = make()
    d, rng = dynamics(robot, robot.neutral(), 2), np.random.default_rng(0)
    x = np.concatenate([robot.random_configuration(rng), rng.standard_normal(d.nv)])
    u, weights = rng.standard_normal(d.nu), rng.standard_normal(d.nd)
    n, bend = d.nd + d.nu, d.bend
    program = LawProgram(
        "bend", lambda t, x, u, w: bend([*t, *x, *u], w), {"t": 1, "x": d.nx, "u": d.nu, "w": d.nd}, True
    )
    found = np.zeros((n, n))
    for (i, j), value in zip(bend.places, program({"t": np.zeros(1), "x": x, "u": u, "w": weights}), strict=True):
        found[i, j] = found[j, i] = value

    def along(changes):
        q = robot.integrate(x[: d.nq], changes[:, : d.nv])
        states = np.concatenate([q, x[d.nq :] + changes[:, d.nv : d.nd]], axis=-1)
        ends = d.ends(np.zeros(len(changes)), states, u + changes[:, d.nd :])[:, -1]
        q0, q1 = base[: d.nq], ends[:, : d.nq]
        return np.concatenate([robot.difference(q0, q1), ends[:, d.nq :] - base[d.nq :]], axis=-1) @ weights

    base = d.ends(np.zeros(1), x[None], u[None])[0, -1]
    e = 1e-4 * np.eye(n)
    i, j = np.meshgrid(range(n), range(n), indexing="ij")
    by_differences = sum(
        s * r * along((s * e[i] + r * e[j]).reshape(-1, n)).reshape(n, n) for s in (1, -1) for r in (1, -1)
    )
    assert_allclose(found, by_differences / 4e-8, atol=1e-6)
    assert np.abs(found).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cart-pole", "floating", "four-bar"])
def test_prepared_nodes_find_what_one_call_finds(name):
    robot = {"cart-pole": cart_pole, "floating": floating}.get(name, mechanism)()
    start = robot.neutral() if robot.loops is None else robot.assembled()
    d, rng = dynamics(robot, start, 3), np.random.default_rng(1)
    q = np.tile(start, (5, 1)) if robot.loops is not None else robot.random_configuration(rng, 5)
    v = robot.velocities(q, rng.standard_normal((5, 1))) if robot.loops is not None else rng.standard_normal((5, d.nv))
    x, u, t = np.concatenate([q, v], axis=-1), rng.standard_normal((5, d.nu)), np.zeros((5, 1))
    nodes = PreparedNodes(d, t, x, u)
    for _ in range(2):  # a second time with other numbers
        nodes()
        ends = d.ends(t[:, 0], x, u)
        assert_allclose(nodes.ends, ends[:, -1, : d.nx], rtol=1e-13)
        assert_allclose(nodes.steps.reshape(5, d.nd, -1), d.slopes(t[:, 0], x, ends, u), rtol=1e-12, atol=1e-14)
        u *= 0.5


@pytest.mark.slow
def test_swing_ups_take_a_third_of_the_iterations_to_the_same_optima():
    up = [0.0, np.pi]
    limits = ["torques", o.Positions(up, at="end"), o.Velocities(at="end")]
    costs = [o.Effort(weight=1e-2), o.Positions(up, weight=0.1)]
    starts = np.column_stack([np.zeros(24), np.linspace(-0.5, 0.5, 24)])
    plans = {
        second: o.MotionProblem(
            cart_pole(), horizon=2.0, step=0.04, costs=costs, limits=limits, tolerance=1e-5, second_order=second
        ).solve(starts)
        for second in (None, False)
    }
    assert plans[None].success.all()
    assert plans[None].iterations.max() < 80
    assert np.median(plans[None].iterations) < 0.6 * np.median(plans[False].iterations)
    same = np.abs(plans[None].cost - plans[False].cost) < 1e-5 * plans[None].cost
    assert same.mean() > 0.8  # others lie beside another optimum
    for problem in (p.problem for p in plans.values()):
        assert (problem.texts.bend is not None) == (problem.second_order is None)


@pytest.mark.slow
def test_a_limited_frame_converges_as_newtons_method_does():
    b = kt.Builder("two").body("a", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), effort_limit=20.0)
    b.body("b", "a", kt.Revolute("y"), position=(0, 0, -1), mass=1.0, com=(0, 0, -0.5), effort_limit=8.0)
    robot = compiled(b.frame("hand", "b", (0, 0, -1)))
    there = o.FramePosition("hand", [1.2, 0.0, 0.4], axes="xz", at="end")
    found = {}
    for second in (True, False):
        plan = kt.optimize(
            robot, [0.0, 0.3], horizon=1.0, step=0.02, costs=[o.Effort(weight=1e-3)], second_order=second,
            limits=["torques", there, o.Velocities(at="end")], tolerance=1e-8,
        )  # fmt: skip
        assert plan.success, plan
        found[second] = plan
    assert_allclose(found[True].cost, found[False].cost, rtol=1e-6)
    assert found[True].iterations < found[False].iterations


def test_second_derivatives_are_refused_where_there_are_none():
    four_bar = mechanism()
    with pytest.raises(kt.UnsupportedError, match="for trees: leave second_order out"):
        kt.optimize(four_bar, four_bar.assembled(), horizon=0.1, costs=[o.Effort()], second_order=True)
