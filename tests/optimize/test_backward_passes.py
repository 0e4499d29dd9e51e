"""Backward passes as loops over matrices and as straight-line code, against the text on arrays of numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import kinetree as kt
from kinetree_optimize import riccati
from kinetree_optimize.riccati import NodeLayout, RiccatiProgram

o = kt.optimize


def nodes_of(nd, nu, nodes, plans):
    """Return a layout, and random vectors, some actions of which are at their limits."""
    rng, m = np.random.default_rng(nd), nd + nu
    entries = (*((i, i) for i in range(m)), (0, 1), (0, nd), (1, m - 1))
    layout = NodeLayout(nd, nu, entries, ((0, 0), (0, 2), (nd, nd)))
    whole = np.zeros((nodes * plans + 1, nd * m))
    steps = whole[:-1].reshape(nodes, plans, nd, m)
    steps[:] = 0.1 * rng.standard_normal(steps.shape)
    steps[..., :nd] += np.eye(nd)
    curved = np.broadcast_to([*([1.0] * m), 0.1, 0.1, 0.1, 0.2, 0.1, 0.1], (nodes, plans, m + 6))
    value, (rows, columns) = np.zeros((plans, layout.n_value)), np.triu_indices(nd)
    for own in value:
        root = rng.standard_normal((nd, nd))
        own[:nd], own[nd : -riccati.NUMBERS] = rng.standard_normal(nd), (root @ root.T / nd + np.eye(nd))[rows, columns]
    value[:, -1] = np.inf
    by_node = {
        "steps": steps.reshape(nodes, plans, -1), "gap": 0.1 * rng.standard_normal((nodes, plans, nd)),
        "slopes": np.concatenate([rng.standard_normal((nodes, plans, m)), curved], axis=-1),
        "u": np.clip(rng.standard_normal((nodes, plans, nu + 3)), -1.0, 1.0)[..., :nu],
        "t": np.zeros((nodes, plans, 1)), "x": np.zeros((nodes, plans, 1)),
    }  # fmt: skip
    by_plan = {
        "value": value, "bounds": np.tile(np.repeat([-1.0, 1.0], nu), (plans, 1)), "damping": np.full((plans, 1), 0.01),
        "share": np.full((plans, 1), 0.5),
    }  # fmt: skip
    return layout, by_node, by_plan


SIZES = [
    (4, 1), pytest.param(5, 5, marks=pytest.mark.slow), pytest.param(9, 2, marks=pytest.mark.slow),
    pytest.param(14, 7, marks=pytest.mark.thorough), pytest.param(37, 12, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize("limited", [True, False])
@pytest.mark.parametrize("cpu", ["", pytest.param("x86-64-v3", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("nd", "nu"), SIZES)
def test_loops_and_straight_line_code_do_what_the_text_does(nd, nu, cpu, limited, monkeypatch):
    layout, by_node, by_plan = nodes_of(nd, nu, 4, 3)
    program, found = RiccatiProgram(layout, limited, cpu), []
    for few in (1, 100):  # straight-line code where it is short, loops
        monkeypatch.setattr(riccati, "FEW", few)
        own = np.zeros((4, 3, layout.n_result))
        calls = program.prepared(by_node, by_plan, own, 1)
        for call in (*calls, *calls):  # a second time, too
            call()
        found.append(own)
    expected, value = np.zeros_like(found[0]), by_plan["value"]
    for k in reversed(range(4)):
        expected[k] = program({**{name: x[k] for name, x in by_node.items()}, **by_plan, "value": value})
        value = expected[k][:, : layout.n_value]
    lead, sums = slice(0, nd), slice(layout.n_value - riccati.NUMBERS, layout.n_value - 1)
    for own in found:
        for part in (lead, sums, layout.forward, layout.gains):
            assert_allclose(own[..., part], expected[..., part], rtol=1e-10, atol=1e-11)
        assert np.isfinite(own[..., sums.stop]).all()
    assert_allclose(found[0][..., sums.stop], found[1][..., sums.stop], rtol=1e-10)
    if limited:
        ends = by_node["u"] + expected[..., layout.forward]
        assert np.abs(ends).max() <= 1.0 + 1e-12
        assert (np.abs(ends) > 1.0 - 1e-12).any()


@pytest.mark.thorough
def test_large_robots_and_their_batches_are_planned_alike():
    b = kt.Builder("walker").body("trunk", "base", kt.Free(), mass=5.0, inertia=(0.1, 0.2, 0.2))
    for k in range(4):
        place = (0.2 - 0.4 * (k // 2), 0.1 - 0.2 * (k % 2), 0)
        b.body(f"hip{k}", "trunk", kt.Revolute("x"), position=place, mass=0.5, com=(0, 0, -0.05), effort_limit=4.0)
        b.body(f"leg{k}", f"hip{k}", kt.Revolute("y"), mass=0.4, com=(0, 0, -0.1), effort_limit=4.0)
        b.body(
            f"foot{k}", f"leg{k}", kt.Revolute("y"), position=(0, 0, -0.2), mass=0.3, com=(0, 0, -0.1), effort_limit=4.0
        )
    robot = kt.Robot(b.build().model, backend="compiled").with_gravity((0.0, 0.0, 0.0))
    folded = robot.neutral()
    folded[7:] += 0.5
    problem = o.MotionProblem(
        robot, horizon=0.3, step=0.02, costs=[o.Effort(weight=1e-3), o.Positions(folded, weight=10.0, at="end")],
        limits=["torques"],
    )  # fmt: skip
    log: list[float] = []
    one = problem.solve(iterations=100, callback=lambda now: log.extend(now.cost))
    assert one.cost < 1e-3 * log[0]
    starts = np.tile(robot.neutral(), (5, 1))
    starts[:, 8] = np.linspace(0.0, 0.2, 5)
    many = problem.solve(starts, iterations=100)
    assert_allclose(many.cost[0], one.cost, rtol=0.05)
    assert one.found.x.shape[-1] == 37
    world = kt.World(robot, step=0.02, q0=robot.neutral())
    for u in one.u:
        world.step(u)
    assert_allclose(world.q[0], one.q[-1], atol=1e-9)
