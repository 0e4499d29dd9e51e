"""What is refused for a reason that is known at once is refused before machine code is made for it."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import TURN, rod

SMALL = {"loop_gaps", "loop_jacobian_entries", "loop_drift", "loop_residuals", "integrate"}
"""What loops are closed and looked at with."""


def five_bar(motors=1):
    """Two freedoms, and one motor or two."""
    b = kt.Builder("five-bar", gravity=(0, -9.81, 0))
    b.body("left", "base", TURN, **rod(1.0, 0.4))
    b.body("right", "base", TURN, position=(0.5, 0, 0), actuated=motors > 1, **rod(1.0, 0.4))
    b.body("up", "left", TURN, position=(0.4, 0, 0), actuated=False, **rod(1.0, 0.6))
    b.body("down", "right", TURN, position=(0.4, 0, 0), actuated=False, **rod(1.0, 0.6))
    b.loop("pin", "up", "down", TURN, placement=(0.6, 0, 0), seat=(0.6, 0, 0))
    return b.build().with_backend("compiled")


def made(robot):
    """Return the algorithms that there is machine code of."""
    return {key[0] for of in (robot, robot.tree) for key in of.evaluator.compiler._kernels}


def closed(robot):
    q = robot.close([2.0, 1.2, -1.0, 1.0])
    return q, np.zeros(4), np.zeros(4)


TOO_FEW = {
    "inverse_dynamics": lambda r, s: r.inverse_dynamics(*s),
    "by the f matrix": lambda r, s: r.inverse_dynamics(*s, method="f_matrix"),
    "inverse_dynamics_derivatives": lambda r, s: r.inverse_dynamics_derivatives(*s),
    "by_parameters": lambda r, s: r.inverse_dynamics_by_parameters(*s, {"bodies": {"up": {"mass": 2.0}}}),
    "regressor": lambda r, s: r.regressor(*s),
    "compile": lambda r, s: r.compile("inverse_dynamics_derivatives"),
}


@pytest.mark.parametrize("name", TOO_FEW)
def test_too_few_actuators(name):
    """Derivatives of Cassie's inverse dynamics were compiled for 8 s and then refused."""
    robot = five_bar()
    state = closed(robot)
    with pytest.raises(kt.SingularError, match="2 freedoms but 1 actuator"):
        TOO_FEW[name](robot, state)
    assert made(robot) <= SMALL


def test_too_few_actuators_of_a_floating_robot():
    b = kt.Builder("floating")
    b.body("hull", "base", kt.Free(), mass=3.0, inertia=(1, 1, 1))
    for name, place in (("a", 0.0), ("b", 0.5)):
        b.body(name, "hull", TURN, position=(place, 0, 0), actuated=False, **rod(1.0, 0.4))
    b.body("c", "a", TURN, position=(0.4, 0, 0), actuated=False, **rod(1.0, 0.5))
    robot = b.loop("pin", "c", "b", TURN, placement=(0.5, 0, 0), seat=(0.4, 0, 0)).build().with_backend("compiled")
    q = robot.assembled()
    with pytest.raises(kt.SingularError, match="7 freedoms but 0 actuators beside the 6 of its base"):
        robot.floating_base_inverse_dynamics(q, np.zeros(9), np.zeros(3))
    assert made(robot) <= SMALL


@pytest.mark.parametrize("method", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda s: {"q": s[0] + 0.1}, kt.StateError, "do not allow this configuration"),
        (lambda s: {"v": s[1] + 1.0}, kt.StateError, "do not allow this velocity"),
        (lambda s: {"tolerance": -1.0}, kt.OptionError, "tolerance must not be negative"),
        (lambda s: {"out": np.zeros(3)}, kt.OptionError, "three arrays"),
        (lambda s: {"out": [np.zeros((4, 3))] * 3}, kt.ShapeError, r"out must have shape \(4, 2\)"),
    ],
    ids=["open", "opening", "tolerance", "out", "shape"],
)
def test_derivatives(method, change, error, words):
    robot = five_bar(2)
    q, v, last = closed(robot)
    given = {"q": q, "v": v, "tau" if method.startswith("forward") else "a": last} | change((q, v))
    with pytest.raises(error, match=words):
        getattr(robot, method)(**given)
    assert made(robot) <= SMALL


def test_derivatives_of_motions_that_loops_do_not_allow():
    robot = five_bar(2)
    q, v, a = closed(robot)
    with pytest.raises(kt.StateError, match="do not allow this acceleration"):
        robot.inverse_dynamics_derivatives(q, v, a + 1.0)
    with pytest.raises(kt.OptionError, match="weights must be positive"):
        robot.inverse_dynamics_derivatives(q, v, a, weights=np.zeros(4))
    assert made(robot) <= SMALL


def test_derivatives_in_a_singular_configuration():
    """All bars in one line, as drawn."""
    b = kt.Builder("parallelogram").body("crank", "base", TURN, **rod(1.0, 0.5))
    b.body("rocker", "base", TURN, position=(1, 0, 0), actuated=False, **rod(1.0, 0.5))
    b.body("coupler", "crank", TURN, position=(0.5, 0, 0), actuated=False, **rod(1.0, 1.0))
    b.loop("pin", "coupler", "rocker", TURN, placement=(1, 0, 0), seat=(0.5, 0, 0))
    flat = b.build().with_backend("compiled")
    still = np.zeros(3)
    with pytest.raises(kt.SingularError, match="does not follow from crank_joint here"):
        flat.forward_dynamics_derivatives(still, still, still)
    assert made(flat) <= SMALL


@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics"])
def test_rooms_that_results_do_not_fit_into(method):
    robot = five_bar(2)
    with pytest.raises(kt.ShapeError, match=r"out must have shape \(4,\), got \(5,\)"):
        getattr(robot, method)(*closed(robot), out=np.zeros(5))
    assert made(robot) <= SMALL


def test_inertia_of_frames_that_cannot_move_freely():
    robot = five_bar(2)
    for one in (robot, robot.tree):
        with pytest.raises(kt.SingularError, match="cannot move freely in all 6 directions"):
            one.operational_space_inertia(closed(robot)[0], "up")
    assert made(robot) <= SMALL
