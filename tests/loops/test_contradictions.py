"""Loops that contradict one another, are there twice, or cannot be closed at all: named, with how far off they stay."""

import warnings

import pytest

import kinetree as kt
from kinetree.model.graph import GraphError

Z = kt.Revolute("z")


def rod(length: float) -> dict:
    return {"mass": 1.0, "com": (length / 2, 0, 0), "inertia": (0.01, 0.1, 0.1)}


def bars() -> kt.Builder:
    b = kt.Builder("bars", gravity=(0, -9.81, 0))
    b.body("crank", "base", Z, **rod(0.3))
    b.body("coupler", "crank", Z, position=(0.3, 0, 0), actuated=False, **rod(1.0))
    b.body("rocker", "base", Z, position=(1, 0, 0), actuated=False, **rod(0.8))
    return b.loop("pin", "coupler", "rocker", Z, placement=(1.0, 0, 0), seat=(0.8, 0, 0))


def test_a_loop_that_contradicts_another_is_found_by_leaving_each_out():
    robot = bars().loop("rod", "coupler", "rocker", kt.Distance(0.2), placement=(1, 0, 0), seat=(0.8, 0, 0)).build()
    with pytest.raises(kt.ClosureError) as caught:
        robot.assembled(tries=20)
    said = str(caught.value)
    assert "from the neutral configuration and 20 random configurations" in said
    assert "remains off by 0.1 m at joint" in said
    assert "It closes without 'pin' or without 'rod': these contradict one another." in said


def test_a_loop_that_is_too_short():
    b = kt.Builder("short")
    b.body("a", "base", Z, **rod(0.3)).body("c", "base", Z, position=(2, 0, 0), **rod(0.3))
    robot = b.loop("pin", "a", "c", Z, placement=(0.3, 0, 0), seat=(0.3, 0, 0)).build()
    with pytest.raises(
        kt.ClosureError, match=r"20 random configurations, the nearest remains off by 1\.4 m at joint 'pin"
    ):
        robot.assembled(tries=20)


def test_the_same_joint_twice_is_said_and_counts_once():
    with pytest.warns(kt.ModelWarning, match="'pin' and 'pin2' are the same joint twice"):
        robot = bars().loop("pin2", "coupler", "rocker", Z, placement=(1.0, 0, 0), seat=(0.8, 0, 0)).build()
    assert robot.mobility().freedoms == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bars().loop("other", "coupler", "rocker", kt.Planar("z"), placement=(1.0, 0, 0), seat=(0.8, 0, 0)).build()


@pytest.mark.parametrize("crossed", [False, True])
def test_rods_of_two_lengths_between_the_same_points(crossed):
    b = bars().loop("one", "base", "coupler", kt.Distance(0.5), placement=(0.1, 0, 0), seat=(0.5, 0, 0))
    ends = ("coupler", "base") if crossed else ("base", "coupler")
    places = (
        {"placement": (0.5, 0, 0), "seat": (0.1, 0, 0)} if crossed else {"placement": (0.1, 0, 0), "seat": (0.5, 0, 0)}
    )
    b.loop("two", *ends, kt.Distance(0.6), **places)
    with pytest.raises(GraphError, match=r"'one' and 'two' contradict one another: .*0\.5 m and 0\.6 m long"):
        b.build()
