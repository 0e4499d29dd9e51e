"""Steps too long for ground and stops are reported before they are taken, with what helps."""

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeWarning

g = kt.ground


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", KinetreeWarning)
        function()
    return [str(w.message) for w in found]


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_an_explicit_step_too_long_for_friction_is_reported_with_what_helps(integrator):
    """The limit is the true one: below it a block that slides comes to rest, above it chatters for ever."""
    robot = (
        kt.Builder("block")
        .body("block", "base", kt.Free(), mass=1.0, inertia=(1e-2,) * 3)
        .build()
        .with_backend("compiled")
    )
    corners = [g.Spot("block", (x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    ground = g.Ground(corners, g.HuntCrossley(2e4, 5.0, exponent=1), g.PseudoCoulomb(0.5, 500.0))
    start = [0, 0, 0, 1, 0, 0, 0.1], [0, 0, 0, 0.2, 0, 0]

    def run(step, **other):
        samples = step * (round(0.4 / step) - np.arange(3)[::-1])
        settings = {"integrator": integrator, "step": step, "works": False, "samples": samples} | other
        return kt.simulate(robot, *start, time=samples[-1], ground=ground, **settings)

    (words,) = told(lambda: run(1e-3))
    assert "sliding_damping of the ground below block is " in words
    assert "integrator='implicit_euler'" in words
    assert told(lambda: kt.World(robot, ground=ground, integrator=integrator, q0=start[0], v0=start[1])) == [words]
    assert not told(lambda: run(1e-3, integrator="implicit_euler"))
    step = float(words.partition("step=")[2].partition(" ")[0])
    assert np.abs(run(0.9 * step).v).max() < 1e-3
    with pytest.warns(KinetreeWarning, match="too long"):
        record = run(1.2 * step)
    if integrator != "rk4":  # which creeps beyond its limit
        assert np.abs(np.diff(record.v, axis=0)).max() > 1e-2


def test_an_explicit_step_too_long_for_a_stop_is_reported():
    robot = (
        kt.Builder("slider")
        .body("m", "base", kt.Prismatic("z"), mass=1.0, lower=0.0, upper=9.0)
        .build()
        .with_backend("compiled")
    )
    stops = kt.forces.JointStops(g.HuntCrossley(1e7, 0.0, exponent=1))
    (words,) = told(lambda: kt.World(robot, ground=stops))
    assert "the stiffness of the stops of joints is 2.5 times what it can take" in words
    assert not told(lambda: kt.World(robot, ground=stops, step=6e-4))


def test_a_large_tree_says_that_its_implicit_step_does_not_know_the_ground():
    b = kt.Builder("rope")
    for k in range(115):
        b.body(f"b{k}", "base" if k == 0 else f"b{k - 1}", kt.Revolute("y"), position=(0.1, 0, 0), mass=0.1,
               com=(0.05, 0, 0), inertia=(1e-4,) * 3)  # fmt: skip
    ground = g.Ground(["b114"], g.HuntCrossley(1e4, 0.5), g.PseudoCoulomb(0.5, 1e4))
    robot, bent = b.build().with_backend("compiled"), np.full(115, -0.02)
    (words,) = told(lambda: kt.simulate(robot, bent, time=1e-3, ground=ground, integrator="implicit_euler", step=1e-3))
    assert "'implicit_euler'" in words
    assert "which looks ahead" not in words


def test_an_implicit_step_says_what_it_does_not_know():
    """Trees moved by loops over bodies are implicit in their own joints only."""
    b = kt.Builder("chain", gravity=(0, 0, 0))
    for k in range(120):
        b.body(f"l{k}", f"l{k - 1}" if k else "base", kt.Revolute("y"), mass=0.1, com=(0.05, 0, 0), joint_name=f"j{k}")
    chain = b.build()

    def run(**acting):
        kt.simulate(chain, time=1e-3, integrator="implicit_euler", step=1e-3, works=False, progress=False, **acting)

    (words,) = told(lambda: run(forces=kt.forces.JointSpring("j119", stiffness=1e5, name="a stiff one")))
    assert "the stiffness of a stiff one is " in words
    goal = kt.trajectories.Constant(np.zeros(120))
    (words,) = told(lambda: run(controller=kt.control.PD(goal, 0.0, 1e3)))
    assert "damping of PD is " in words
    assert not told(lambda: run(forces=kt.forces.JointSpring("j119", stiffness=1e-3)))


@pytest.mark.parametrize("drift", ["projection", "baumgarte", "partitioned", "none"])
def test_an_implicit_step_of_loops_knows_what_acts_however_they_are_held(drift):
    robot = kt.gallery.load("four-bar").with_backend("compiled")
    q = kt.gallery.start("four-bar")
    spring = kt.forces.JointSpring(robot.joint_names[0], stiffness=1e6, damping=1e3)
    options = {"integrator": "implicit_euler", "step": 1e-3, "progress": False, "drift": drift}
    record = kt.simulate(robot, q, time=0.05, forces=spring, **options)
    assert np.abs(record.v[-1]).max() < 1.0
    assert not told(lambda: kt.simulate(robot, q, time=2e-3, forces=spring, **options))
