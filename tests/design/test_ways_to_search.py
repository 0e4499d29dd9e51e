"""Searches without gradients, several at once, told to a callback, and ended on the way."""

import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree_design.problem import DesignProblem

design = kt.design


def crank():
    """Return a parallelogram whose crank carries a weight and a counterweight."""
    robot = kt.linkage(
        {"O": (0, 0), "C": (1, 0), "A": (0, 0.5), "B": (1, 0.5), "W": (0, -0.4)},
        {"one": "O A W", "link": "A B", "two": "C B"}, ground="O C", motor="O", masses={"A": 2.0, "W": 0.5},
        gravity=(0, 0),
    )  # fmt: skip
    return kt.Mechanism(robot.model, backend="compiled")


WAY = np.linspace(0.1, 0.6, 5)
MOTION = WAY, np.full(5, 2.0), np.full(5, 3.0)


def weight(robot):
    """Return what the bodies weigh."""
    return sum(body.mass for body in robot.model.bodies)


def steps_aside(robot):
    """Return how far the counterweight is from 0.73 kg, in whole steps of 0.01 kg: nowhere is there a slope."""
    return float(np.round(abs(weight(robot) - 2.73) / 0.01))


def test_a_goal_without_slopes_is_met_by_cma():
    found = design(crank(), {"W.mass": (0, 1)}, design.Own(steps_aside), progress=False)
    assert found.goals[0].after == 0.0
    assert found.numbers["W.mass"] == pytest.approx(0.73, abs=0.0051)
    assert "searched by CMA-ES, since steps_aside has no gradients" in found.notes


@pytest.mark.slow
def test_cma_finds_what_gradients_find_and_keeps_limits():
    """Of the goals' closed form: torque grows with the counterweight, shaking falls."""
    limit = design.ShakingForce("peak") <= 4.0
    found = [
        design(crank(), {"W.mass": (0, 1), "W.y": 0.1}, design.Torque(), limit, motion=MOTION, method=how, starts=1)
        for how in ("gradients", "cma")
    ]
    for one in found:
        assert one.solved
        assert one.numbers["W.mass"] * one.numbers["W.y"] == pytest.approx(0.8 - 1.0, rel=5e-3)
    assert found[1].goals[0].after == pytest.approx(found[0].goals[0].after, rel=2e-3)
    heavier = design(crank(), {"W.mass": (0, 1)}, design.Torque(), design.Own(weight, unit="kg") >= 2.3, motion=MOTION)
    assert heavier.numbers["W.mass"] == pytest.approx(0.3, rel=1e-5)
    assert heavier.goals[1].is_met


def test_what_cma_cannot_do_is_said(monkeypatch):
    robot, path = crank(), design.Path("A", [(0, 0.5), (0.1, 0.48)])
    with pytest.raises(kt.UnsupportedError, match=r"path of A: points are met by gradients, and weight has no"):
        design(robot, ["W"], [path, design.Own(weight)])
    with pytest.raises(kt.UnsupportedError, match="weight has no gradients"):
        design(robot, ["W"], design.Own(weight), method="gradients")
    with pytest.raises(kt.UnknownNameError, match="gradients, cma"):
        design(robot, ["W"], design.Torque(), method="swarm")
    with pytest.raises(kt.OptionError, match="a goal is one number"):
        design(robot, ["W"], design.Own(lambda robot: np.zeros(2)))
    with pytest.raises(kt.OptionError, match="progress is True, False or what to call"):
        design(robot, ["W"], design.Torque(), progress=3)
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(kt.KinetreeError, match=r"pip install 'kinetree\[design\]'"):
        design(robot, {"W.mass": (0, 1)}, design.Own(weight))


def test_numbers_that_no_function_depends_on_are_named():
    found = design(crank(), {"W.mass": (0, 1), "W": 0.1}, design.Own(weight), progress=False)
    assert any("nothing that is wanted depends on W.x, W.y" in note for note in found.notes)
    assert found.numbers["W.mass"] == pytest.approx(0.0, abs=1e-6)


def test_a_function_that_works_for_no_design_is_said():
    def broken(robot):
        raise kt.ClosureError("no")

    found = design(crank(), {"W.mass": (0, 1)}, design.Own(broken), progress=False)
    assert not found.solved
    assert any("of use" in note for note in found.notes)


@pytest.mark.parametrize("how", ["gradients", "cma"])
def test_each_better_design_is_told_and_raising_there_keeps_the_best(how):
    told = []

    def keep(so_far):
        told.append(so_far)
        if len(told) == 4:
            raise KeyboardInterrupt

    found = design(
        crank(), {"W.mass": (0, 1), "W.y": 0.1}, design.ShakingForce("peak"), motion=MOTION, starts=1, method=how,
        progress=keep,
    )  # fmt: skip
    assert len(told) == 4
    assert (np.diff([one.value for one in told]) < 0.0).all()
    assert set(told[0].numbers) == {"W.mass", "W.y"}
    assert found.notes[-1] == "interrupted: this is the best so far"
    assert found.goals[0].after == pytest.approx(told[-1].value * found.goals[0].before, rel=0.06)
    assert found.goals[0].after < found.goals[0].before


def test_a_front_that_is_interrupted_keeps_what_there_is(monkeypatch):
    """Ctrl-C in the first search leaves no front, and later a part of it."""
    calls, whole, stop = [], DesignProblem.evaluate, {}

    def interrupted(self, u, goals, sharp):
        calls.append(len(u))
        if len(calls) == stop.get("at"):
            raise KeyboardInterrupt
        return whole(self, u, goals, sharp)

    def found():
        calls.clear()
        goals = [design.Torque(), design.ShakingForce("peak")]
        return design(crank(), {"W.mass": (0, 1)}, goals, pareto=6, motion=MOTION, starts=1)

    monkeypatch.setattr(DesignProblem, "evaluate", interrupted)
    assert len(found().front) == 6
    for at, least, most in ((8, 0, 0), (3 * len(calls) // 4, 2, 5)):
        stop["at"] = at
        one = found()
        assert least <= len(one.front) <= most
        assert any(note.startswith("interrupted: this is the best so far") for note in one.notes)


POINTS = [(0.4, 1.2), (0.1, 1.1), (-0.1, 0.9), (-0.15, 0.7), (-0.1, 0.4), (0.3, 0.3)]


def four_bar():
    robot = kt.linkage(
        {"O": (0, 0), "C": (1, 0), "A": (0, 0.3), "B": (0.9, 0.8), "P": (0.4, 1.2)},
        {"crank": "O A", "coupler": "A B P", "rocker": "B C"}, ground="O C", motor="O",
    )  # fmt: skip
    return kt.Mechanism(robot.model, backend="compiled")


@pytest.mark.slow
def test_several_searches_give_the_best_wherever_they_run():
    robot, goal = four_bar(), design.Path("P", POINTS)
    options = {"starts": 12, "progress": False}
    alone = [design(robot, ["A", "B", "P"], goal, seed=k, **options) for k in (5, 6, 7)]
    least = min(alone, key=lambda one: (not one.solved, one.goals[0].after))
    here = design(robot, ["A", "B", "P"], goal, seed=5, searches=3, workers=0, **options)
    np.testing.assert_array_equal(here.unknowns, least.unknowns)
    told = []
    there = design(robot, ["A", "B", "P"], goal, seed=5, searches=3, workers=2, starts=12, progress=told.append)
    np.testing.assert_array_equal(there.unknowns, here.unknowns)
    assert there.notes == here.notes
    assert told[-1].total == 3


@pytest.mark.slow
def test_searches_run_on_a_dask_cluster_with_functions_of_users():
    distributed = pytest.importorskip("distributed")

    def light(robot):
        return sum(body.mass for body in robot.model.bodies)

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        found = design(crank(), {"W.mass": (0.2, 1)}, design.Own(light), searches=2, cluster=cluster, progress=False)
    assert found.numbers["W.mass"] == pytest.approx(0.2, abs=1e-6)
    assert any("the best of 2 searches" in note for note in found.notes)


def test_a_front_is_made_by_one_search():
    with pytest.raises(kt.OptionError, match="a front is made by one search"):
        design(crank(), {"W.mass": (0, 1)}, [design.Torque(), design.ShakingForce()], pareto=3, searches=2)
    with pytest.raises(kt.OptionError, match="searches"):
        design(crank(), {"W.mass": (0, 1)}, design.Torque(), searches=0)
