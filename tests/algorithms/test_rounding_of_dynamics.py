"""Whether rounding spoils accelerations: judged by the same recursion with more digits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import articulated_body
from kinetree.algorithms.composite_body import mass_matrix
from kinetree.algorithms.rounding_of_dynamics import POOR, conditioning, plainly_fine

MORE_DIGITS = np.finfo(np.longdouble).eps < 1e-18


def chain(count, growth, stretch=1.0):
    """Rods, each ``growth`` times as heavy and ``stretch`` times as long as the one it hangs from."""
    b, parent, length = kt.Builder("chain"), "base", 0.0
    for k in range(count):
        mass, own = growth**k, stretch**k
        b.body(
            f"b{k}", parent, kt.Revolute("xy"[k % 2]), position=(0, 0, -length), mass=mass, com=(0, 0, -own / 2),
            inertia=[mass * own**2 / 12] * 3,
        )  # fmt: skip
        parent, length = f"b{k}", own
    return b.build()


def scaled_condition(robot, q):
    m = np.array(mass_matrix(robot.model, list(q)), dtype=float)
    d = np.sqrt(np.diag(m))
    return np.linalg.cond(m / d / d[:, None])


@pytest.mark.skipif(not MORE_DIGITS, reason="long doubles are doubles here")
@pytest.mark.parametrize(
    ("count", "growth", "stretch"), [(10, 0.03, 1.0), (14, 0.1, 1.0), (8, 100.0, 1.0), (12, 100.0, 1.0), (6, 1.0, 30.0)]
)
def test_the_scaled_condition_number_bounds_what_rounding_does(count, growth, stretch):
    robot, rng = chain(count, growth, stretch), np.random.default_rng(0)
    for _ in range(3):
        state = rng.uniform(-2, 2, count), rng.normal(size=count), rng.normal(size=count)
        plain, exact = (
            articulated_body.forward_dynamics(robot.model, *([to(x) for x in part] for part in state), (0, 0, -9.81))
            for to in (float, np.longdouble)
        )
        off = np.max(np.abs(np.array(plain, dtype=float) - np.array(exact, dtype=float)))
        assert off <= 20 * 2.2e-16 * scaled_condition(robot, state[0]) * np.max(np.abs(np.array(exact, dtype=float)))


@pytest.mark.parametrize(("count", "growth"), [(10, 0.03), (14, 0.1), (6, 10.0), (3, 1e12), (60, 1.0)])
def test_light_tips_and_usual_chains_are_fine(count, growth):
    """The condition number itself is 1e13 for the first two, whose accelerations are good to the last bit."""
    assert conditioning(chain(count, growth).model) is None


def test_what_is_plainly_fine_is_fine():
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(60):
        robot = chain(int(rng.integers(1, 7)), 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-0.3, 0.3))
        if plainly_fine(robot.model):
            seen += 1
            assert scaled_condition(robot, rng.uniform(-2, 2, robot.nv)) < POOR
    assert seen > 10


def test_a_robot_that_rounding_spoils_is_warned_of_once():
    robot = chain(12, 100.0)
    found = conditioning(robot.model)
    assert found.number > POOR
    state = np.full((3, 12), 0.3)
    with pytest.warns(kt.SingularityWarning, match=r"light bodies carry heavy ones.*near joint 'b\d+_joint'"):
        robot.forward_dynamics(*state)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.forward_dynamics(*state)
        robot.inverse_mass_matrix(state[0])
    with pytest.warns(kt.SingularityWarning, match="light bodies carry heavy ones"):
        kt.simulate(chain(12, 100.0), time=1e-6)
