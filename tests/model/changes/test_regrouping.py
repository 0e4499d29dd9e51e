"""Regrouped parameters: the same dynamics as the robot's own, whatever the joints, with zeros where numbers were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import KINDS, random_state, random_tree
from kinetree.algorithms.table import ALGORITHMS, find
from kinetree.engine.count import count
from kinetree.evaluation.compiler import Compiler
from kinetree.evaluation.evaluator import Evaluator
from kinetree.model.changes.regrouping import regrouped
from kinetree.model.joints import JointKind
from kinetree.spatial import RigidInertia, Symmetric3, Vec3
from kinetree.spatial.arrays import flatten

UNITS = np.eye(10)


def inertia(ten) -> RigidInertia:
    return RigidInertia(ten[9], Vec3(*ten[6:9]), Symmetric3(*ten[:6]))


def numbers(of: RigidInertia) -> np.ndarray:
    j = of.second
    return np.array([j.xx, j.xy, j.xz, j.yy, j.yz, j.zz, *of.first, of.mass], dtype=float)


def noticed(kind: JointKind, q: list[float], ten: np.ndarray) -> np.ndarray:
    """What a joint at q makes of an inertia: momentum along its freedoms, and a place other than the neutral one."""
    own = inertia(ten)
    momenta = [x for s in kind.subspace(q) for x in flatten(own @ s)]
    return np.array([*momenta, *(numbers(kind.transform(q).rigid_to_parent(own)) - ten)], dtype=float)


@pytest.mark.parametrize("name", KINDS)
def test_joints_know_all_that_they_cannot_tell(name):
    """No less than the null space of what they notice at random positions."""
    rng = np.random.default_rng(5)
    kind = KINDS[name](rng)
    free = [-np.inf] * kind.nq, [np.inf] * kind.nq
    places = [kind.random(rng, *free, ()).tolist() for _ in range(4)]
    all_noticed = np.concatenate([[noticed(kind, q, unit) for unit in UNITS] for q in places], axis=1)
    null = 10 - np.linalg.matrix_rank(all_noticed, tol=1e-9)
    parts = np.array([numbers(part) for part in kind.cannot_tell()]).reshape(-1, 10)
    assert_close(parts @ all_noticed, np.zeros((len(parts), all_noticed.shape[1])), 1e-12)
    assert len(parts) == np.linalg.matrix_rank(parts) == null


def test_fixed_joints_cannot_tell_anything():
    assert len(kt.Fixed().cannot_tell()) == 10


REGROUPING = [name for name, a in ALGORITHMS.items() if a.regroups and not a.needs_floating_base]


@given(seed=st.integers(0, 2**32 - 1), floating=st.booleans(), followers=st.booleans())
@settings(max_examples=6, deadline=None)
def test_all_kinds_of_trees_keep_their_dynamics(seed, floating, followers):
    """Gravity points anywhere, wrenches act, rotors turn; every algorithm that says so is the same as it is written."""
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 4, floating=floating, followers=followers, springs=True)
    q, v, a = random_state(robot, rng, 2)
    own, other = (Evaluator(model, "reference") for model in (robot.model, regrouped(robot.model)))
    pushed = {f"f{k}": rng.standard_normal((2, 6)) for k in (1, 3)}
    condition = np.linalg.cond(own.run("mass_matrix", find("mass_matrix").defaults, q=q)).max()
    for name in [*REGROUPING, "mass_matrix"]:
        row = find(name)
        state = dict(zip(row.inputs, (q, v, a), strict=False))
        options = row.defaults | ({"known": (True, False) * 2} if "known" in row.option_names else {})
        loads = {"wrenches": pushed} if row.loads else {}
        tolerance = 1e-14 * max(condition, 100.0) if row.needs_inertia else 1e-12
        expected = own.run(name, options, **loads, **state)
        assert_close(other.run(name, options, **loads, **state), expected, tolerance)


def test_zeros_stay_behind_along_axes():
    rng = np.random.default_rng(1)
    builder, parent = kt.Builder("arm"), "base"
    for k, axis in enumerate(("x", "-y", "z")):
        whole = kt.MassProperties.of(1.0, rng.uniform(0.1, 0.2, 3), [0.3, 0.31, 0.29, 0.01, 0.02, 0.03])
        placement = {"position": rng.uniform(0.1, 0.3, 3), "rpy": rng.uniform(0, 1, 3)}
        parent = builder.body(f"b{k}", parent, kt.Revolute(axis), mass_properties=whole, **placement) and f"b{k}"
    for k, link in enumerate(regrouped(builder.build().model).links):
        second, first = link.inertia.second, [*link.inertia.first]
        moments = np.array([second.xx, second.yy, second.zz])
        extents = 0.5 * (second.xx + second.yy + second.zz) - moments  # as the algorithms find them
        assert link.inertia.mass == first[k] == extents[k] == 0.0
        assert np.count_nonzero(first) == np.count_nonzero(extents) == 2


def test_what_is_heavy_far_out_stays_as_accurate():
    """Light links that carry a heavy tip, against 64-bit mantissas: a small factor, not orders of magnitude."""
    builder, parent = kt.Builder("crane"), "base"
    for k, mass in enumerate((0.01, 0.01, 0.01, 0.01, 10.0)):
        body = {"mass": mass, "com": (0.15, 0.01, 0.02), "inertia": np.array([0.3, 1, 1.1]) * mass * 0.0075}
        place = (0.3 if k else 0, 0, 0)
        builder.body(f"b{k}", parent, kt.Revolute("zy"[k % 2]), position=place, **body)
        parent = f"b{k}"
    model = builder.build().model
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((3, 5, 200))
    exact = [[x.astype(np.longdouble) for x in vector] for vector in vectors]
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long doubles are no longer than doubles here")
    for name, factor in {"inverse_dynamics": 2.0, "forward_dynamics": 8.0}.items():
        compute = find(name).function
        expected = np.array(compute(model, *exact, [None] * 5))
        errors = [
            np.median(np.abs(np.array(compute(tree, *vectors, [None] * 5)) - expected).max(0) / abs(expected).max(0))
            for tree in (model, regrouped(model))
        ]
        assert errors[1] < factor * errors[0]


# ------------------------------------------------------------------ in machine code


def test_machine_code_is_made_of_regrouped_parameters():
    """Where the table says so; counts of operations are those of the parameters as they are given."""
    robot = kt.gallery.load("kuka-kr5")
    for name in ("inverse_dynamics", "forward_dynamics", "gravity_force", "mass_matrix", "potential_energy"):
        row = find(name)
        made = Compiler(robot.model).kernel(name, row.defaults).source()
        operations = count(made.graph, made.outputs).total
        assert (operations < robot.cost(name).total) == row.regroups


def test_parameters_that_are_given_are_not_regrouped():
    """Gravity in any direction, and masses of the caller's, on a robot whose parameters are handed on otherwise."""
    robot = kt.gallery.load("kuka-kr5").with_backend("compiled")
    reference = robot.with_backend("reference")
    q, v, a = random_state(robot, np.random.default_rng(0), 4)
    given = {"gravity": np.array([1.0, -2.0, 3.0]), "link_3.M": np.array([1.0, 2.0, 3.0, 4.0])}
    expected = reference.inverse_dynamics(q, v, a, parameters=given)
    assert_close(robot.inverse_dynamics(q, v, a, parameters=given), expected, 1e-11)
    turned = reference.inverse_dynamics(q, v, a, parameters={"gravity": given["gravity"]})
    assert_close(robot.with_gravity(given["gravity"]).inverse_dynamics(q, v, a), turned, 1e-11)
