"""Whole steps of trees beyond 110 bodies: straight-line code that calls a loop over bodies, as they are written."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.equation import Equation
from kinetree.simulation.integrators import steps_on_arrays

SIZE = 112
EXPLICIT = ("euler", "semi_implicit_euler", "rk4", "dopri5")


def tree(cpu=None, **last):
    b, rng = kt.Builder("large"), np.random.default_rng(1)
    b.body("hull", "base", kt.Free(), mass=3.0, inertia=(0.3, 0.2, 0.1))
    for k in range(SIZE - 1):
        kind = kt.Spherical() if k % 17 == 5 else kt.Prismatic("x") if k % 11 == 3 else kt.Revolute("xyz"[k % 3])
        more = {"damping": 0.1 * (k % 2), "friction": 0.05 if k % 3 == 0 and kind.nv == 1 else 0.0}
        more |= {"stiffness": 5.0} if k % 11 == 3 else {}
        b.body(
            f"b{k}", "hull" if k == 0 else f"b{int(rng.integers(max(0, k - 12), k))}", kind,
            position=rng.normal(size=3) / 5, mass=1.0 + rng.random(), com=rng.normal(size=3) / 10,
            inertia=tuple(0.2 + 0.1 * rng.random(3)), **more, **(last if k == SIZE - 2 else {}),
        )  # fmt: skip
    return kt.Robot(b.build().model, backend="compiled", cpu=cpu)


@pytest.fixture(scope="module")
def robot():
    return tree()


@pytest.fixture(scope="module")
def start(robot):
    rng = np.random.default_rng(3)
    return robot.random_configuration(rng), 0.3 * rng.normal(size=robot.nv)


AROUND = {
    "alone": {},
    "ground": {"ground": kt.ground.Ground(["b5", "b50"], kt.ground.HuntCrossley(1e3, 0.5))},
    "a controller that knows the time": {
        "controller": kt.control.Law(lambda t, q, v: [0.0] * 6 + [-0.1 * x * kt.cos(t) for x in v[6:]])
    },
}


def as_written(monkeypatch, run):
    with monkeypatch.context() as patched:
        patched.setattr(Equation, "moves_in_loops", False)
        return run()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("integrator", "around"), sorted({*((name, "alone") for name in EXPLICIT), *(("rk4", name) for name in AROUND)})
)
def test_machine_code_steps_as_it_is_written(monkeypatch, robot, start, integrator, around):
    options = {"time": 0.02, "step": 1e-3, "integrator": integrator} | AROUND[around]
    run = lambda: kt.simulate(robot, *start, **options)  # noqa: E731
    quick, written = run(), as_written(monkeypatch, run)
    for name in ("q", "v", "a", "tau", "friction"):
        np.testing.assert_allclose(getattr(quick, name), getattr(written, name), rtol=1e-9, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(quick.energy.total, written.energy.total, rtol=1e-12)
    np.testing.assert_allclose(quick.energy.friction, written.energy.friction, rtol=1e-9, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("cpu", [None, "x86-64-v3"])
def test_the_same_bits_alone_and_in_any_batch(start, cpu):
    """One state has code of its own, as the loop over bodies has; a lost lane leaves the others alone."""
    robot, (q, v) = tree(cpu), start
    options = {"time": 0.06, "step": 1e-3, "integrator": "rk4", "works": True}
    alone = kt.simulate(robot, q, v, samples=61, **options)
    few = kt.simulate(robot, q, v, samples=7, **options)
    np.testing.assert_array_equal(alone.q[::10], few.q)
    speeds = np.linspace(0.0, 1.0, 19)[:, None] * v
    speeds[4, 3] = np.nan
    batch = kt.simulate(robot, np.tile(q, (19, 1)), speeds, samples=61, threads=2, **options)
    np.testing.assert_array_equal(batch.q[:, -1], alone.q)
    np.testing.assert_array_equal(batch.energy.total[:, -1], alone.energy.total)
    assert np.flatnonzero(batch.lost).tolist() == [4]


def in_machine_code(robot, integrator="rk4", **options):
    equation = kt.Simulator(robot, integrator=integrator, step=1e-3, **options).equation(True)
    return equation.prepared(robot.neutral()).steps.in_machine_code(integrator)


def test_what_becomes_machine_code(monkeypatch, robot):
    assert in_machine_code(robot)
    assert not in_machine_code(robot, "implicit_euler")
    assert not in_machine_code(robot, controller=lambda t, q, v: 0.0 * v)
    assert not in_machine_code(robot, parameters={"bodies": {"b5": {"mass": 2.0}}})
    assert not in_machine_code(robot, method="composite_body")
    assert not in_machine_code(robot.with_backend("reference"))
    assert not in_machine_code(tree(mimic=kt.Mimic(f"b{SIZE - 4}_joint", 0.5)))
    monkeypatch.setattr(steps_on_arrays, "LONGEST_AROUND_LOOPS", 100)
    assert not in_machine_code(robot, friction_speed=0.02)


def test_events_of_a_large_tree(robot, start):
    """Single steps, and parts of steps, are those of machine code, too."""
    record = kt.simulate(
        robot, *start, time=0.03, step=1e-3, integrator="semi_implicit_euler", events=lambda t, q, v: t - 0.0123
    )
    assert record.events[0].time == pytest.approx(0.0123, abs=1e-12)
    assert len(record) == 32
