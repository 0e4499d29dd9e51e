"""Every algorithm, of every size and kind of robot: compiled, or the user is told that it is not.

Which code there is for a size is asked without making it: kernels stop at their graph, or at the schedule of their
loop.  What the code computes is judged where it is quickly made: on few bodies, as straight-line code and as loops.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state
from kinetree.algorithms.table import ALGORITHMS, LOOP_ALGORITHMS
from kinetree.engine.graph import TooLong
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.evaluation import evaluator
from kinetree.evaluation.compiler import Compiler, prepare

ALL = bool(os.environ.get("KINETREE_ALL_SIZES"))
"""All sizes of all kinds up to the real limit take three minutes to trace, and a quarter of an hour to compile: ask for
them where code length or loops over bodies change."""

SHORT_CODE = 10_000
"""Operations from which code counts as too long here, for all but the smallest size: thirty times fewer than in use.
What is shorter is straight-line code with either limit; what is longer must have a loop, or a word that it has none."""

KINDS = ("tree", "chain", "followers", "floating")
SIZES = (20, 50, 109, 111, 200)
FURTHER = [pytest.param(n, marks=pytest.mark.thorough) for n in (50, 109, 200)]
EVERY_SIZE = [20, pytest.param(111, marks=pytest.mark.slow), *FURTHER]
"""CI asks a size with straight-line code and one with loops; ``make test-all`` asks all."""

LONG_OF_LOOPS = {
    "closed_inverse_dynamics_derivatives", "closed_forward_dynamics_derivatives", "closed_force_slopes", "basis_slopes",
}  # fmt: skip
"""Algorithms of mechanisms that take some seconds each to trace at 111 bodies, and are left to ``make test-all``."""


class Made:
    """What becomes of an algorithm: straight-line code, a loop over bodies, or the reference, and what is said."""

    def __init__(self, compiler, name, options):
        self.compiler, self.name, self.options = compiler, name, options
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.one, self.batch = self._form(False), self._form(True)
        self.said = [w for w in told if "the slower reference is used" in str(w.message)]

    def _form(self, batch):
        while self.compiler.handles(self.name, self.options):
            try:
                prepare(self.compiler.kernel(self.name, self.options), not batch, batch)
            except TooLong:
                self.compiler.give_up(self.name, self.options)
            else:
                return "loop" if self.compiler.loops(self.name, self.options) else "straight"
        return "reference"


@pytest.fixture
def nothing_compiled(monkeypatch):
    """Let kernels be traced or scheduled, as for machine code, of which none is made."""
    traced = {}
    monkeypatch.setattr(Kernel, "_address", lambda self, form: traced.setdefault(id(self), (self, self.source())) and 0)
    for name in ("single_address", "lanes_address"):
        monkeypatch.setattr(RolledKernel, name, property(lambda self: int(self._plan is None)))


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", EVERY_SIZE)
def test_every_algorithm_of_every_size_is_compiled_or_says_that_it_is_not(kind, count, nothing_compiled, monkeypatch):
    if count > SIZES[0] and not ALL:
        monkeypatch.setattr("kinetree.evaluation.compiler.LONGEST_CODE", SHORT_CODE)
    compiler = Compiler(tree(kind, count).model)
    for algorithm in ALGORITHMS.values():
        if algorithm.needs_floating_base and kind != "floating":
            continue
        options = algorithm.defaults | {o.name: o.example(compiler.tree) for o in algorithm.options if o.needed}
        made = Made(compiler, algorithm.name, options)
        assert made.one == made.batch, algorithm.name
        assert len(made.said) == (made.one == "reference"), algorithm.name
        large = algorithm.large  # which says in words what has no loop
        assert made.one != "reference" or large is None or (kind == "followers" and not large.followers), algorithm.name
        assert (
            made.one != "straight" or count <= 110 or kind == "followers" or not compiler.loops(algorithm.name, options)
        )


@pytest.mark.slow
@pytest.mark.parametrize("count", EVERY_SIZE)
def test_every_algorithm_of_mechanisms_of_every_size_is_compiled_or_says_that_it_is_not(count, request):
    robot = kt.gallery.four_bar_chain(count // 2).with_backend("reference")
    known = robot.coordinates
    request.getfixturevalue("nothing_compiled")
    chosen = {"pivots": known.pivots, "known_freedoms": (known.independent[0],)}
    compiler = Compiler(robot.model)
    for algorithm in LOOP_ALGORITHMS.values():
        if any(o.name == "rows" for o in algorithm.options):
            continue  # of few loops, which are eliminated together
        if count == 111 and algorithm.name in LONG_OF_LOOPS:
            continue
        options = algorithm.defaults | {o.name: chosen[o.name] for o in algorithm.options if o.name in chosen}
        made = Made(compiler, algorithm.name, options)
        assert (made.one, made.batch) == ("straight", "straight"), algorithm.name
        assert not made.said, algorithm.name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "limit", [pytest.param(110, id="straight", marks=pytest.mark.thorough), pytest.param(4, id="loops")]
)
@pytest.mark.parametrize("count", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in SIZES if ALL)])
def test_every_algorithm_computes_the_same_for_one_state_and_a_batch(kind, count, limit, monkeypatch):
    monkeypatch.setattr("kinetree.evaluation.compiler.LARGEST_UNROLLED", limit)
    robot = tree(kind, count).with_backend("compiled")
    for algorithm in ALGORITHMS.values():
        if algorithm.needs_floating_base and kind != "floating":
            continue
        with monkeypatch.context() as patched:
            runs_compiled(robot, algorithm, patched)


@pytest.mark.parametrize("name", ["power", "floating_base_inverse_dynamics"])
def test_what_has_no_loop_is_straight_code_of_large_trees(name, monkeypatch):
    monkeypatch.setattr("kinetree.evaluation.compiler.LARGEST_UNROLLED", 4)
    robot = tree("floating", 7).with_backend("compiled")
    runs_compiled(robot, ALGORITHMS[name], monkeypatch)
    assert robot.evaluator.compiler.handles(name)


def test_code_that_is_too_long_is_said_once(monkeypatch):
    monkeypatch.setattr("kinetree.evaluation.compiler.LONGEST_CODE", 50)
    robot = tree("followers", 8).with_backend("compiled")  # of which no other test keeps code
    runs_compiled(robot, ALGORITHMS["hybrid_dynamics"], monkeypatch)
    assert not robot.evaluator.compiler.handles("hybrid_dynamics")
