"""Whatever changes the answers of a study changes what it is known by, and nothing else does."""

from functools import partial

import numpy as np
import pytest

import kinetree as kt
from kinetree_sweeps.fingerprints import content_of


def capturing_a_function(k):
    def scaled(x):
        return k * x

    return lambda p: {"cost": scaled(p["x"])}


def with_a_default(k):
    return lambda p, k=k: {"cost": k * p["x"]}


class Callable:
    def __init__(self, k):
        self.k = k

    def __call__(self, p):
        return {"cost": self.k * p["x"]}


def capturing_a_robot(mass):
    b = kt.Builder("pendulum")
    b.body("bob", "base", kt.Revolute("y"), mass=mass, com=(0, 0, -1))
    robot = b.build()
    return lambda p: {"cost": robot.inverse_dynamics(p["x"][:, None], [0.0], [0.0])[:, 0]}


@pytest.mark.parametrize(
    "make",
    [
        capturing_a_function, with_a_default, Callable, capturing_a_robot, lambda k: Callable(k).__call__,
        lambda k: partial(with_a_default(1.0), k=k), lambda k: {"long": np.full(5000, k)},
        lambda k: kt.control.PD(kt.trajectories.Constant([k]), 1.0, 1.0),
    ],
)  # fmt: skip
def test_numbers_count_wherever_they_are(make):
    assert content_of(make(1.0)) == content_of(make(1.0))
    assert content_of(make(1.0)) != content_of(make(1.0 + 1e-15))


def test_a_function_may_capture_itself():
    def down(n):
        return n and down(n - 1)

    assert "down" in content_of(down)


def test_a_changed_study_is_not_gone_on_with(tmp_path):
    kt.sweep(Callable(1.0), {"x": [1.0, 2.0]}, tmp_path / "out", workers=0, progress=False)
    again = kt.sweep(Callable(1.0), {"x": [1.0, 2.0]}, tmp_path / "out", workers=0, progress=False)
    assert again.computed == 0
    with pytest.raises(kt.OptionError, match="another study"):
        kt.sweep(Callable(2.0), {"x": [1.0, 2.0]}, tmp_path / "out", workers=0, progress=False)
