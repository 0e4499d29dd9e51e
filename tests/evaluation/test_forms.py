"""Every algorithm of the table in every form, on robots of every kind, against the algorithm as it is written.

Cases come from the table: a new row is tested without an edit here.  Inputs, options, wrenches, and whether there are
loops over bodies, are facts of the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg

import kinetree as kt
from helpers.compare import assert_close
from helpers.loop_models import five_bar
from helpers.robots import KINDS, random_state, random_tree
from kinetree.algorithms.table import ALGORITHMS, LOOP_ALGORITHMS, Algorithm, Option, find
from kinetree.engine.llvm import host
from kinetree.evaluation import compiler
from kinetree.evaluation.evaluator import Evaluator
from kinetree.loops.coordinates import Coordinates

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code for this processor")

GROUPS = {
    "hinges and sliders": ("revolute", "prismatic", "helical", "continuous"),
    "balls": ("spherical", "spherical_euler", "universal"),
    "planes": ("cylindrical", "planar", "translation"),
    "own joints": ("custom", "free_euler"),
    "floating base": ("free", "revolute", "universal", "prismatic"),
}
"""Joints of small trees for straight-line code; together all kinds there are."""

COUNT = 9
"""States of a batch: a whole vector of the widest processors, and one more."""

POISONED = 4
"""The state of a batch that gets a NaN."""


class Case(NamedTuple):
    """One algorithm with its options on one robot."""

    algorithm: str
    variant: str
    robot: str


@cache
def robot_of(name: str) -> kt.Robot:
    """Return the robot of a name; one with loops is taken with its tree open, as the algorithms do."""
    rng = np.random.default_rng(3)
    if name in GROUPS:
        return random_tree(rng, len(GROUPS[name]), GROUPS[name], name == "floating base", in_turn=True)
    if name == "followers":
        return random_tree(rng, 7, ["revolute", "prismatic"], followers=True)
    if name == "all kinds":
        return random_tree(rng, len(KINDS), list(KINDS), in_turn=True)
    if name == "floating tree":
        return random_tree(rng, 10, ["revolute", "spherical", "cylindrical"], floating=True)
    assert name == "five-bar"
    return five_bar()


STRAIGHT = ("followers", *GROUPS)
LOOPED = ("all kinds", "floating tree")


@cache
def evaluator(robot: str, backend: str = "compiled", precision: str = "double", looped: bool = False) -> Evaluator:
    """Return what computes a robot's algorithms in one form; kept, so that its code is made once."""
    return Evaluator(robot_of(robot).model, backend, precision)


@cache
def state_of(robot: str) -> dict[str, np.ndarray]:
    """Return whatever an algorithm asks for, by name."""
    rng = np.random.default_rng(5)
    q, v, a = random_state(robot_of(robot), rng, COUNT)
    return {"q": q, "v": v, "a": a, "tau": a, "q0": q, "q1": random_state(robot_of(robot), rng, COUNT)[0]}


# ------------------------------------------------------------------ cases, from the rows of the table


def values_of(option: Option, robot: str) -> list[Any]:
    """Return values of an option that are worth a test, the usual one first."""
    model = robot_of(robot).model
    if option.choices:
        return [option.default, *(c for c in option.choices if c != option.default)]
    if option.name == "inverse":  # the inertia itself is only felt where a frame can move in all ways
        return [True, False] if model.is_floating else [True]
    if isinstance(option.default, bool):
        return [option.default, not option.default]
    if option.name == "known":
        some = tuple(k % 2 == 1 for k in range(len(model.joints)))
        return [option.example(model), some]
    if option.name == "frame":
        return [far_out(robot)]
    if option.name == "frames":
        return [(far_out(robot),), (model.bodies[0].name, model.frames[-1].name)]
    if option.chosen_by_loops:
        return [chosen_by_loops(robot)[option.name]]
    return [option.example(model) if option.needed else option.default]


def far_out(robot: str) -> str:
    """Return a frame that many joints carry: its own frame on a body of the longest path."""
    model = robot_of(robot).model
    body = max(range(len(model.bodies)), key=lambda i: len(model.support(i)))
    return next(frame.name for frame in reversed(model.frames) if frame.body == body)


@cache
def chosen_by_loops(robot: str) -> dict[str, Any]:
    """Return independent rows of the constraints and coordinates that follow from the others."""
    matrices = evaluator(robot, "reference").run("loop_jacobian", q=state_of(robot)["q"])
    matrix = matrices[0]
    rank = np.linalg.matrix_rank(matrix)
    rows = scipy.linalg.qr(matrix.T, pivoting=True)[2][:rank]
    dependent = scipy.linalg.qr(matrix[rows], pivoting=True)[2][:rank]
    chosen, follow = tuple(sorted(map(int, rows))), tuple(sorted(map(int, dependent)))
    known = Coordinates(int(rank), chosen, (), follow, matrix[list(chosen)])
    first = next(j for j in range(matrix.shape[1]) if j not in follow)
    return {
        "rows": chosen, "dependent": follow, "stabilization": (3.0, 2.0), "pivots": known.pivots,
        "known_freedoms": (first,),
    }  # fmt: skip


def variants(algorithm: Algorithm, robot: str) -> dict[str, dict[str, Any]]:
    """Return options by name: the usual ones, and those with one changed."""
    values = {option.name: values_of(option, robot) for option in algorithm.options}
    usual = {name: given[0] for name, given in values.items()}
    others = {
        f"{name} {k}" if isinstance(value, tuple) else f"{name} {value}": usual | {name: value}
        for name, given in values.items()
        for k, value in enumerate(given)
        if k
    }
    return {"usual": usual} | others


def suits(algorithm: Algorithm, robot: str) -> bool:
    """Return whether an algorithm has an answer on a robot."""
    return not algorithm.needs_floating_base or robot_of(robot).model.is_floating


def cases(robots: tuple[str, ...], table: Mapping[str, Algorithm]) -> Iterator[Case]:
    """Yield the usual options on all robots, and all other options on the last that suits."""
    for name, algorithm in table.items():
        suited = [robot for robot in robots if suits(algorithm, robot)]
        assert suited, name
        for robot in suited:
            yield from (Case(name, v, robot) for v in variants(algorithm, robot) if v == "usual" or robot == suited[-1])


def loops_over_bodies(case: Case) -> bool:
    """Return whether a case has loops on large trees."""
    algorithm = find(case.algorithm)
    return algorithm.loops_over(variants(algorithm, case.robot)[case.variant])


STRAIGHT_CASES = [*cases(STRAIGHT, ALGORITHMS), *cases(("five-bar",), LOOP_ALGORITHMS)]
LOOPED_CASES = [case for case in cases(LOOPED, ALGORITHMS) if loops_over_bodies(case)]


def named(case: Case) -> str:
    """Return the name of a case in reports."""
    return f"{case.algorithm}, {case.variant}, {case.robot}"


def for_each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Parametrize a test by cases, such that one process makes the code of a robot."""
    marked = (pytest.param(c, id=named(c), marks=pytest.mark.xdist_group(f"forms of {c.robot}")) for c in cases)
    return pytest.mark.parametrize("case", list(marked))


@pytest.fixture
def in_loops(monkeypatch):
    """Take every tree for a large one."""
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)


# ------------------------------------------------------------------ what every form must do


def inputs_of(case: Case, state: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    given = state or state_of(case.robot)
    return {name: given[name] for name in find(case.algorithm).inputs}


def options_of(case: Case) -> dict[str, Any]:
    return variants(find(case.algorithm), case.robot)[case.variant]


@cache
def expected(case: Case) -> np.ndarray:
    """Return what the algorithm gives as it is written."""
    return evaluator(case.robot, "reference").run(case.algorithm, options_of(case), **inputs_of(case))


def tolerance(case: Case) -> float:
    """Return how far results may be off: more where inertias are divided by."""
    return 1e-10 if find(case.algorithm).needs_inertia else 1e-11


def compare(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    finite = np.abs(wanted[np.isfinite(wanted)])
    assert_close(found, wanted, tolerance, scale=max(float(finite.max()) if finite.size else 0.0, 1e-2))


def check_numbers(case: Case, form: Evaluator) -> None:
    """Batches, once more without Python, single states, several threads and room given by the caller: the same bits."""
    options, given = options_of(case), inputs_of(case)
    batch = form.run(case.algorithm, options, **given)
    compare(batch, expected(case), tolerance(case))
    assert np.array_equal(form.run(case.algorithm, options, **given), batch)
    assert np.array_equal(form.run(case.algorithm, options, threads=2, **given), batch)
    for _ in range(2):
        single = form.run(case.algorithm, options, **{name: x[3] for name, x in given.items()})
        assert single.shape == batch.shape[1:]
        # sums over all bodies may be in another order
        assert_close(single, batch[3], 0.0 if batch.ndim > 1 else 1e-15)
    room = np.full((*batch.shape, 2), np.nan)
    assert np.shares_memory(form.run(case.algorithm, options, out=room[..., 0], **given), room)
    assert np.array_equal(room[..., 0], batch)
    assert np.isnan(room[..., 1]).all()


def check_wrenches(case: Case, form: Evaluator) -> None:
    """Wrenches on two bodies, along the axes of one of them and along the world's."""
    names = [body.name for body in robot_of(case.robot).model.bodies]
    rng = np.random.default_rng(7)
    push = {names[-1]: rng.standard_normal((COUNT, 6)), names[0]: kt.Wrench((1, 2, 3), (0.1, 0, 0), axes="world")}
    options, given = options_of(case), inputs_of(case)
    wanted = evaluator(case.robot, "reference").run(case.algorithm, options, wrenches=push, **given)
    found = form.run(case.algorithm, options, wrenches=push, **given)
    compare(found, wanted, tolerance(case))
    assert np.abs(found - expected(case)).max() > 1e-6
    one = {names[-1]: push[names[-1]][3], names[0]: push[names[0]]}
    single = form.run(case.algorithm, options, wrenches=one, **{name: x[3] for name, x in given.items()})
    assert_close(single, found[3], 1e-15)


def check_poison(case: Case, form: Evaluator) -> None:
    """A NaN spoils what depends on it, and no other state."""
    options, given = options_of(case), inputs_of(case)
    clean = form.run(case.algorithm, options, **given)
    for name in given:
        bad = {key: x.copy() for key, x in given.items()}
        bad[name][POISONED, -1] = np.nan
        found = form.run(case.algorithm, options, **bad)
        wanted = evaluator(case.robot, "reference").run(case.algorithm, options, **bad)
        assert np.isnan(found[POISONED]).any() or not np.isnan(wanted[POISONED]).any()
        assert np.array_equal(np.delete(found, POISONED, 0), np.delete(clean, POISONED, 0))


def check_single_precision(case: Case, form: Evaluator) -> None:
    """Numbers of 32 bits, near those of 64."""
    found = form.run(case.algorithm, options_of(case), **inputs_of(case))
    assert found.dtype == np.float32
    solves = find(case.algorithm).needs_inertia or case.algorithm == "multipliers"
    compare(found, expected(case), 2e-2 if solves else 1e-3)


# ------------------------------------------------------------------ straight-line code


def test_all_kinds_of_joints_are_there():
    assert {kind for group in GROUPS.values() for kind in group} == set(KINDS)


def test_all_rows_of_the_table_are_there():
    assert {case.algorithm for case in STRAIGHT_CASES} == {*ALGORITHMS, *LOOP_ALGORITHMS}
    assert {case.algorithm for case in LOOPED_CASES} == {a.name for a in ALGORITHMS.values() if a.loops_over({})}


@for_each(STRAIGHT_CASES)
def test_numbers(case):
    check_numbers(case, evaluator(case.robot))


@for_each(c for c in STRAIGHT_CASES if find(c.algorithm).loads)
def test_wrenches(case):
    check_wrenches(case, evaluator(case.robot))


@for_each(STRAIGHT_CASES)
def test_nan_stays_in_its_state(case):
    check_poison(case, evaluator(case.robot))


@for_each(c for c in STRAIGHT_CASES if c.robot in ("floating base", "five-bar"))
def test_single_precision(case):
    check_single_precision(case, evaluator(case.robot, precision="single"))


# ------------------------------------------------------------------ loops over bodies


@for_each(LOOPED_CASES)
def test_numbers_by_loops(case, in_loops):
    form = evaluator(case.robot, looped=True)
    assert form.compiler.handles(case.algorithm, options_of(case))
    check_numbers(case, form)


@for_each(c for c in LOOPED_CASES if find(c.algorithm).loads)
def test_wrenches_by_loops(case, in_loops):
    check_wrenches(case, evaluator(case.robot, looped=True))


@for_each(LOOPED_CASES)
def test_nan_stays_in_its_state_by_loops(case, in_loops):
    check_poison(case, evaluator(case.robot, looped=True))


@for_each(c for c in LOOPED_CASES if c.robot == "floating tree")
def test_single_precision_by_loops(case, in_loops):
    check_single_precision(case, evaluator(case.robot, precision="single", looped=True))
