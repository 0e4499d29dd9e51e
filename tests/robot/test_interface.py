"""What users may rely on: names and signatures of robots, and how little Python a second call enters."""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

INTERFACE = Path(__file__).with_name("interface.txt")
"""One line per public name; those of Mechanism that it shares with Robot stand with Robot.  Whoever changes a line
changes what users may rely on: that belongs into the changelog."""


def shown(kind, name):
    """Return a member as a line: what it is called with, without types."""
    member = inspect.getattr_static(kind, name, None)
    found = getattr(kind, name, None)
    if not callable(found) or isinstance(member, property):
        return name
    signature = inspect.signature(found)
    kept = [p.replace(annotation=p.empty) for p in list(signature.parameters.values())[1:]]
    return f"{name}{signature.replace(parameters=kept, return_annotation=inspect.Signature.empty)}"


def interface():
    """Return the lines of the file, for the classes as they are."""
    robots = {shown(kt.Robot, name) for name in dir(kt.gallery.load("gripper")) if not name.startswith("_")}
    loops = {shown(kt.Mechanism, name) for name in dir(kt.gallery.load("four-bar")) if not name.startswith("_")}
    assert {line.partition("(")[0] for line in robots} <= {line.partition("(")[0] for line in loops}
    return [f"Robot.{x}" for x in sorted(robots)] + [f"Mechanism.{x}" for x in sorted(loops - robots)]


def test_public_names_and_signatures_are_those_that_were_agreed_on():
    agreed = INTERFACE.read_text(encoding="utf-8").splitlines()
    now = interface()
    assert now == agreed, {"gone": sorted({*agreed} - {*now}), "new": sorted({*now} - {*agreed})}


def frames(call):
    """Return how many Python functions a call enters."""
    entered = []

    def count(frame, event, argument):
        if event == "call":
            entered.append(frame.f_code)

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [code.co_qualname for code in entered[1:] if "numpy" not in code.co_filename]  # without the call itself


def states(robot, batch=()):
    q = robot.assembled() if isinstance(robot, kt.Mechanism) else robot.neutral()
    return [np.tile(x, (*batch, 1)).reshape(*batch, -1) for x in (q, np.zeros(robot.nv), np.zeros(robot.nv))]


@pytest.mark.parametrize("batch", [(), (5,)], ids=["one state", "batch"])
@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize(("name", "most"), [("gripper", 0), ("four-bar", 3)])
def test_second_calls_enter_next_to_no_python(name, most, method, batch):
    robot = kt.gallery.load(name).with_backend("compiled")
    given = states(robot, batch)
    first = getattr(robot, method)(*given)
    entered = frames(lambda: getattr(robot, method)(*given))
    assert len(entered) <= most, entered
    assert np.array_equal(getattr(robot, method)(*given), first)


def test_a_step_of_a_world_enters_next_to_no_python():
    world = kt.World(kt.gallery.load("gripper").with_backend("compiled"), step=1e-3, batch=4)
    action = np.zeros((4, 4))
    world.step(action)
    world.step(action)
    entered = frames(lambda: world.step(action))
    assert len(set(entered)) <= 12, entered


def test_a_robot_without_loops_is_its_own_tree_and_refuses_options_of_loops_in_words():
    robot = kt.gallery.load("gripper")
    assert robot.loops is None
    assert robot.tree is robot
    q, v, a = states(robot)
    for method, options in (
        (robot.inverse_dynamics, ("weights", "tolerance")),
        (robot.regressor, ("weights", "tolerance")),
        (robot.inverse_dynamics_derivatives, ("weights", "tolerance")),
        (robot.forward_dynamics, ("stabilization", "project", "tolerance")),
        (robot.forward_dynamics_derivatives, ("tolerance",)),
    ):
        for name in options:
            with pytest.raises(kt.OptionError, match=f"{name}= is for mechanisms, and robot 'gripper' has no closed"):
                method(q, v, a, **{name: True})
    with pytest.raises(kt.OptionError, match="tolerance= is for mechanisms"):
        robot.hybrid_dynamics(q, v, tolerance=1e-3)


def test_accelerations_per_force_of_a_mechanism_follow_its_parameters():
    robot = kt.gallery.load("four-bar")
    q = robot.assembled()
    heavy = {"bodies": {robot.body_names[1]: {"mass": 30.0}}}
    judge = robot.with_parameters(heavy).inverse_mass_matrix(q)
    np.testing.assert_allclose(robot.inverse_mass_matrix(q, parameters=heavy), judge, rtol=1e-12)
    assert not np.allclose(robot.inverse_mass_matrix(q), judge, rtol=1e-3)
    moved = {"loops": {robot.loop_names[0]: {"position": (0.1, 0.0, 0.0)}}}
    with pytest.raises(kt.UnsupportedError, match="determines where its loops close"):
        robot.inverse_mass_matrix(q, parameters=moved)


def test_vectors_by_their_names_are_as_quick():
    robot = kt.gallery.load("four-bar").with_backend("compiled")
    q, v, a = states(robot)
    first = robot.inverse_dynamics(q, v, a)
    assert len(frames(lambda: robot.inverse_dynamics(q, a=a, v=v))) <= 3
    assert np.array_equal(robot.inverse_dynamics(q, a=a, v=v), first)
    with pytest.raises(kt.ArgumentError, match=r"inverse_dynamics\(\) has no argument 'tau'"):
        robot.inverse_dynamics(q, v, tau=a)
    assert list(inspect.signature(robot.inverse_dynamics).parameters)[:3] == ["q", "v", "a"]
