"""Every algorithm of trees, of every size and kind of tree: compiled, or the user is told that it is not."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state
from kinetree.algorithms.table import ALGORITHMS
from kinetree.run import evaluator

SIZES = (20, 50, 109, 111, 200) if os.environ.get("KINETREE_ALL_SIZES") else (20, 111)
"""All of them take a quarter of an hour of compiling: ask for them where code length or loops over bodies change."""

SLOWLY_COMPILED = {"regressor", "joint_momentum_regressor", "forward_dynamics_derivatives", "inverse_mass_matrix"}
"""Straight-line code of matrices that takes long to make: of these only sizes that do not."""

MATRICES = {
    "mass_matrix", "mass_matrix_factors", "coriolis_matrix", "inverse_dynamics_derivatives",
    "operational_space_inertia",
}  # fmt: skip
"""The same with followers, of which no loop knows."""


def tree(kind, count):
    builder, rng, names = kt.Builder(kind), np.random.default_rng(count), ["base"]
    for k in range(count):
        parent = names[-1] if kind == "chain" else names[int(rng.integers(max(k > 0, len(names) - 9), len(names)))]
        joint = kt.Free() if kind == "floating" and k == 0 else kt.Revolute("xyz"[k % 3])
        led = kind == "followers" and k == count - 1
        builder.body(
            f"b{k}", "base" if k == 0 else parent, joint, position=(0.1, 0.02 * (k % 5), 0.0), mass=1.0 + 0.1 * (k % 7),
            com=(0.05, 0.0, 0.01), inertia=(0.01, 0.02, 0.02), mimic=kt.Mimic(f"b{k - 2}_joint", 0.5) if led else None,
        )  # fmt: skip
        names.append(f"b{k}")
    return builder.build()


def runs_compiled(robot, algorithm, monkeypatch):
    """Run one state and a batch; fail if the reference computes either without a word."""
    options = algorithm.defaults | {o.name: o.example(robot.model) for o in algorithm.options if o.needed}
    state = dict(zip(algorithm.inputs, random_state(robot, np.random.default_rng(0), 3), strict=False))
    if algorithm.inputs == ("q0", "q1"):
        state = {"q0": state["q0"], "q1": state["q0"][::-1]}
    by_reference, pack = [], evaluator.pack
    monkeypatch.setattr(evaluator, "pack", lambda *given: by_reference.append(1) or pack(*given))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        several = robot.evaluator.run(algorithm.name, options, **state)
        one = robot.evaluator.run(algorithm.name, options, **{name: x[1] for name, x in state.items()})
    said = [w for w in told if "the slower reference is used" in str(w.message)]
    assert bool(by_reference) == bool(said), algorithm.name
    assert len(said) <= 1
    assert_close(one, several[1], 1e-11)


@pytest.mark.parametrize("kind", ["tree", "chain", "followers", "floating"])
@pytest.mark.parametrize("count", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in SIZES)])
def test_every_algorithm_is_compiled_or_says_that_it_is_not(kind, count, monkeypatch):
    robot = tree(kind, count).with_backend("compiled")
    for algorithm in ALGORITHMS.values():
        if algorithm.needs_floating_base and kind != "floating":
            continue
        if count > 20 and (algorithm.name in SLOWLY_COMPILED or (kind == "followers" and algorithm.name in MATRICES)):
            continue
        with monkeypatch.context() as patched:
            runs_compiled(robot, algorithm, patched)


@pytest.mark.parametrize("name", ["power", "floating_base_inverse_dynamics"])
def test_what_has_no_loop_is_straight_code_of_large_trees(name, monkeypatch):
    monkeypatch.setattr("kinetree.run.compiler.LARGEST_UNROLLED", 4)
    robot = tree("floating", 7).with_backend("compiled")
    runs_compiled(robot, ALGORITHMS[name], monkeypatch)
    assert robot.evaluator.compiler.handles(name)


def test_code_that_is_too_long_is_said_once(monkeypatch):
    monkeypatch.setattr("kinetree.run.compiler.LONGEST_CODE", 50)
    robot = tree("followers", 8).with_backend("compiled")  # of which no other test keeps code
    runs_compiled(robot, ALGORITHMS["hybrid_dynamics"], monkeypatch)
    assert not robot.evaluator.compiler.handles("hybrid_dynamics")
