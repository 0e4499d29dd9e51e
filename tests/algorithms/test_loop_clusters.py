"""Articulated bodies through clusters of loops: the same accelerations as from all constraints at once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from helpers.compare import assert_close
from helpers.mechanisms import CLOSING, spatial
from kinetree.algorithms import loop_clusters, loop_constraints


def four_bar():
    robot = models.four_bar()
    return robot, robot.close([0.3, 1.0, 4.3], fixed=["crank_joint"])


def cells():
    robot = models.cells(4)
    return robot, robot.close(np.tile(models.CELL_START, 4))


def floating_cells():
    """Two four-bars on a floating body, each with a load on its coupler, a rotor and a spring."""
    b = kt.Builder("floating")
    b.body("trunk", "base", kt.Free(), mass=5, inertia=(0.5, 0.4, 0.3), com=(0.1, 0, 0.2))
    for side in ("left", "right"):
        turn = kt.Revolute("x" if side == "left" else "y")
        at = (0, 0.3, 0) if side == "left" else (0.3, 0, 0)
        along = np.array([0, 0.4, 0]) if side == "left" else np.array([0.4, 0, 0])
        body = {"mass": 0.7, "com": (0.05, 0.1, -0.1), "inertia": (0.02, 0.03, 0.025)}
        b.body(f"{side}_a", "trunk", turn, position=at, rotor_inertia=0.3, gear_ratio=2.0, **body)
        b.body(f"{side}_b", "trunk", turn, position=at + along, actuated=False, stiffness=7.0, spring_rest=0.2, **body)
        b.body(f"{side}_c", f"{side}_a", turn, position=(0, 0, -0.5), actuated=False, **body)
        b.body(f"{side}_load", f"{side}_c", kt.Spherical(), position=along / 2, **body)
        b.loop(f"{side}_pin", f"{side}_c", f"{side}_b", turn, placement=tuple(along), seat=(0, 0, -0.5))
    robot = b.build()
    return robot, robot.close(robot.neutral() + 0.0)


CASES = {
    "four-bar": four_bar,
    "cells": cells,
    "floating": floating_cells,
    "leg": lambda: (models.leg(), models.leg().assembled()),
    "stewart-platform": lambda: (kt.gallery.load("stewart-platform"), kt.gallery.load("stewart-platform").assembled()),
    "delta": lambda: (kt.gallery.load("delta"), kt.gallery.load("delta").assembled()),
}


@pytest.mark.parametrize("case", CASES)
def test_accelerations_are_those_of_all_constraints_at_once(case):
    robot, q = CASES[case]()
    judge_against_block(kt.Mechanism(robot.model, backend="reference", q_guess=q), q)


@pytest.mark.parametrize("kind", CLOSING, ids=lambda kind: kind.name)
def test_every_joint_that_closes_a_loop(kind):
    robot = spatial(kind)
    robot = kt.Mechanism(robot.model, backend="reference")
    judge_against_block(robot, robot.assembled())


def judge_against_block(robot, q):
    rng = np.random.default_rng(1)
    known = robot.coordinates
    v, tau = robot.nearest_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    wrenches = rng.normal(size=(len(robot.model.bodies), 6))
    expected = robot.forward_dynamics(q, v, tau, wrenches, method="block")
    whole = robot.evaluator.run(
        "clustered_forward_dynamics", {"pivots": known.pivots}, wrenches=wrenches, q=q, v=v, tau=tau
    )
    assert 0.0 < whole[-4] <= 1.0
    np.testing.assert_allclose(
        whole[: robot.nv], expected, rtol=0, atol=1e-12 * (1.0 + np.abs(expected).max()) / whole[-4]
    )
    assert (whole[-3:] < 1e-18).all()


def test_groups_are_the_clusters_and_every_other_body():
    robot, _ = floating_cells()
    order = loop_clusters.groups(robot.model, robot.coordinates.independent)
    names = [[robot.model.bodies[i].name for i in group.bodies] for group in order]
    assert names[0] == ["trunk"]
    assert ["left_a", "left_b", "left_c"] in [sorted(group) for group in names]
    assert ["left_load"] in names
    placed = [i for group in order for i in group.bodies]
    assert sorted(placed) == list(range(len(robot.model.bodies)))
    for place, group in enumerate(order):  # carriers come first
        assert group.carrier == -1 or any(group.carrier in other.bodies for other in order[:place])
    assert len(loop_constraints.connected(robot.model)) == 2


def test_a_pivot_that_vanishes_has_no_quality():
    """With the crank at a dead point nothing follows from it; the general way takes over, with the same answer."""
    robot = models.cells(2)
    q = robot.close(np.tile(models.CELL_START, 2))
    v, tau = robot.velocities(q, [0.3, -0.2]), np.linspace(-1, 1, robot.nv)
    expected = robot.forward_dynamics(q, v, tau, method="block")
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-10)
    poor = robot.with_independent(["coupler0_joint", "rocker1_joint"])
    np.testing.assert_allclose(poor.forward_dynamics(q, v, tau), expected, rtol=1e-10)


def test_what_is_unusual_is_still_looked_at_after_the_first_call():
    """Calls go straight to machine code from then on, but not with their eyes closed."""
    robot = kt.gallery.load("four-bar")
    q = kt.gallery.start("four-bar")
    v = robot.velocities(q, [1.0])
    first = robot.forward_dynamics(q, v, np.zeros(3))
    np.testing.assert_array_equal(robot.forward_dynamics(q, v, np.zeros(3)), first)
    np.testing.assert_array_equal(robot.forward_dynamics(np.stack([q, q]), v, [0, 0, 0]), [first, first])
    with pytest.raises(kt.StateError, match="do not allow this configuration"):
        robot.forward_dynamics(q + 0.1, v, np.zeros(3))
    with pytest.raises(kt.StateError, match=r"do not allow this velocity in state \(1,\)"):
        robot.forward_dynamics(np.stack([q, q]), np.stack([v, v + 1.0]), np.zeros(3))
    assert np.isnan(robot.forward_dynamics(q * np.nan, v, np.zeros(3))).all()
    with pytest.raises(kt.ShapeError):
        robot.forward_dynamics(q[:2], v, np.zeros(3))
    a = robot.accelerations(q, v, [0.5])
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(robot.inverse_dynamics(q, v, a), tau)
    with pytest.raises(kt.StateError, match="do not allow this acceleration"):
        robot.inverse_dynamics(q, v, a + 1.0)


@pytest.mark.parametrize(("cells", "longest"), [(6, 300_000), (7, 2000)])
def test_very_many_loops(monkeypatch, cells, longest):
    """Mechanisms with more bodies than a tree may have for straight-line code have it all the same, if not too long."""
    monkeypatch.setattr("kinetree.evaluation.compiler.LARGEST_UNROLLED", 5)
    monkeypatch.setattr("kinetree.evaluation.compiler.LONGEST_CODE", longest)
    robot = kt.gallery.four_bar_chain(cells).with_backend("compiled")
    q = kt.gallery.four_bar_chain_leaning(cells, np.full(1, 0.3))[0]
    v, tau = robot.velocities(q, [0.4]), np.linspace(-1, 1, robot.nv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)  # that it is too long, there
        expected = robot.forward_dynamics(q, v, tau, method="block")
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-9)
    straight = robot.evaluator.compiler.handles("clustered_forward_dynamics", {"pivots": robot.coordinates.pivots})
    assert straight == (longest > 2000)


@pytest.mark.parametrize("cells", [3, 9])
def test_inverse_dynamics_cluster_by_cluster(cells):
    robot = kt.gallery.four_bar_chain(cells)
    rng = np.random.default_rng(cells)
    q = robot.assembled(0)
    freedoms = len(robot.independent())
    v = robot.velocities(q, rng.standard_normal(freedoms))
    a = robot.accelerations(q, v, rng.standard_normal(freedoms))
    known = robot.loops.choice.at(q)
    run = robot.with_backend("reference").evaluator.run
    loads = {robot.body_names[-1]: rng.standard_normal(6)}
    closed = run(
        "closed_inverse_dynamics", {"rows": known.rows, "dependent": known.dependent}, wrenches=loads, q=q, v=v, a=a
    )
    found = run(
        "clustered_inverse_dynamics", {"pivots": known.pivots, "friction": False}, wrenches=loads, q=q, v=v, a=a
    )
    assert_close(found[: robot.nv], closed[: robot.nv], 1e-10)
    assert 0.0 < found[-4] <= 1.0
    assert_close(found[-3:], closed[-3:], 1e-10)


def test_inverse_dynamics_of_many_loops_is_compiled_cluster_by_cluster(recwarn):
    robot = kt.gallery.four_bar_chain(12).with_backend("compiled")
    q = robot.assembled(0)
    v = robot.velocities(q, np.full(len(robot.independent()), 0.3))
    a = robot.accelerations(q, v, np.zeros(len(robot.independent())))
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-9)
    assert "clustered_inverse_dynamics" in {key[0] for key in robot.evaluator.entry_points}
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, v, a, method="f_matrix"), atol=1e-12)
    assert not recwarn.list
