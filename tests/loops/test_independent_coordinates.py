"""Quantities in independent coordinates: cluster by cluster the same as from singular values of all constraints."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from helpers.compare import assert_close
from kinetree.loops.loops_class.independent_choice import CoordinateChoice


def rubbing_cells():
    """Cells in a row on a slide: several clusters, carried by one another, with rotors, springs and friction."""
    b = kt.Builder("rubbing", gravity=(0, -9.81, 0)).body("cart", "base", kt.Prismatic("x"), mass=2.0)
    parent, turn = "cart", kt.Revolute("z")
    for k in range(3):
        at = 0.0 if k == 0 else 0.9
        bar = {"mass": 0.4, "com": (0.05, 0.12, 0.02), "inertia": (0.01, 0.02, 0.02)}
        b.body(f"crank{k}", parent, turn, position=(at - 0.6, 0, 0), rotor_inertia=0.1, friction=0.3, **bar)
        b.body(f"link{k}", parent, turn, position=(at, 0, 0), actuated=False, damping=0.2, stiffness=3.0, **bar)
        b.body(f"rod{k}", f"crank{k}", turn, position=(0, 0.3, 0), actuated=False, friction_offset=0.1, **bar)
        b.loop(f"pin{k}", f"link{k}", f"rod{k}", turn, placement=(0, 0.3, 0), seat=(0.6, 0, 0))
        parent = f"link{k}"
    robot = b.build()
    q = np.zeros(robot.nq)
    q[1:] = np.tile([0.3, 0.3, -0.3], 3)
    return robot, q


CASES = {
    "four-bar": lambda: (models.four_bar(), [0.3, 1.0, 4.3]),
    "rubbing": rubbing_cells,
    "row": lambda: (kt.gallery.four_bar_chain(9), kt.gallery.four_bar_chain_leaning(9, 0.3)),
    "geared": lambda: (models.geared_five_bar(), None),
    "stewart": lambda: (kt.gallery.load("stewart-platform"), None),
    "too many motors": lambda: (models.five_bar(redundant=True), None),
}

ASKED = {
    "basis": lambda r, s: r.basis(s.q),
    "velocities": lambda r, s: r.velocities(s.q, s.y),
    "accelerations": lambda r, s: r.accelerations(s.q, s.v, s.y),
    "mass matrix": lambda r, s: r.reduced_mass_matrix(s.q),
    "momentum": lambda r, s: r.reduced_momentum(s.q, s.v),
    "bias": lambda r, s: r.reduced_bias_force(s.q, s.v, s.loads),
    "inverse": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, s.loads),
    "inverse with friction": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, s.loads, friction=True),
    "inverse with weights": lambda r, s: r.inverse_dynamics(s.q, s.v, s.a, weights=np.arange(1.0, r.nv + 1.0)),
    "multipliers": lambda r, s: r.multipliers(s.q, s.v, s.tau, s.loads),
    "multipliers with friction": lambda r, s: r.multipliers(s.q, s.v, s.tau, friction=True),
    "loop forces": lambda r, s: r.constraint_forces(s.q, s.v, s.a, s.loads).loop_wrenches_world,
    "joint wrenches": lambda r, s: r.joint_wrenches(s.q, s.v, s.a, s.loads),
    "inverse mass matrix": lambda r, s: r.inverse_mass_matrix(s.q),
    "regressor": lambda r, s: r.reduced_regressor(s.q, s.v, s.a),
}


class State:
    """Two closed states, with what acts there."""

    def __init__(self, robot, q):
        rng = np.random.default_rng(3)
        q = robot.assembled() if q is None else robot.close(q)
        v = robot.velocities(q, rng.standard_normal(len(robot.independent())))
        self.q = robot.close(np.stack([q, robot.integrate(q, 0.02 * v)]))
        self.y = rng.standard_normal((2, len(robot.independent())))
        self.v = robot.velocities(self.q, self.y)
        self.a = robot.accelerations(self.q, self.v, self.y[::-1])
        self.loads = rng.standard_normal((len(robot.model.bodies), 6))
        self.tau = rng.standard_normal(robot.nv)


@pytest.mark.parametrize(
    ("case", "backend"),
    [
        pytest.param(case, kind, marks=[pytest.mark.slow] if kind == "compiled" or case in ("row", "stewart") else [])
        for case in CASES
        for kind in ("reference", "compiled")
    ],
)
def test_by_clusters_as_by_ranks(case, backend, monkeypatch):
    robot, q = CASES[case]()
    robot = robot.with_backend(backend)
    state = State(robot, q)
    found = {name: ask(robot, state) for name, ask in ASKED.items()}
    with monkeypatch.context() as patched:
        patched.setattr(CoordinateChoice, "at_once", lambda *given, **more: None)
        patched.setattr("kinetree.algorithms.loop_clusters.LEAST_QUALITY_OF_CLUSTERS", 2.0)
        patched.setattr("kinetree.algorithms.constrained_dynamics.LEAST_QUALITY", 2.0)
        by_ranks = {name: ask(robot.with_backend("reference"), state) for name, ask in ASKED.items()}
    for name, expected in by_ranks.items():
        assert_close(found[name], expected, 1e-8)


@pytest.mark.parametrize(
    "known", [(), ("crank1_joint",), ("cart_joint", "crank0_joint", "crank1_joint", "crank2_joint")]
)
def test_hybrid_dynamics_is_forward_dynamics_under_the_forces_it_finds(known):
    robot, q = rubbing_cells()
    state = State(robot, q)
    given = {name: np.array([0.4, -0.7]) + k for k, name in enumerate(known)}
    free = {j: 0.3 for j in ("cart_joint", "crank0_joint", "crank1_joint", "crank2_joint") if j not in known}
    a, tau = robot.hybrid_dynamics(state.q, state.v, a=given, tau=free, wrenches=state.loads)
    assert_close(robot.forward_dynamics(state.q, state.v, tau, state.loads, method="block"), a, 1e-9)
    for name, wanted in given.items():
        np.testing.assert_allclose(a[:, robot.model.joint(name).v_slice.start], wanted, atol=1e-12)
    for name, wanted in free.items():
        np.testing.assert_allclose(tau[:, robot.model.joint(name).v_slice.start], wanted, atol=1e-12)


def test_batches_that_do_not_fit_are_refused_in_words():
    robot = kt.gallery.load("four-bar")
    q = np.stack([kt.gallery.start("four-bar")] * 3)
    with pytest.raises(kt.ShapeError, match="v_independent"):
        robot.velocities(q, np.zeros((2, 1)))
    with pytest.raises(kt.ShapeError, match="a_independent"):
        robot.accelerations(q, np.zeros(3), np.zeros((2, 1)))


@pytest.mark.thorough
def test_motions_of_many_loops_are_compiled(recwarn):
    """Larger than trees that become straight-line code."""
    robot = kt.gallery.four_bar_chain(56).with_backend("compiled")
    q = kt.gallery.four_bar_chain_leaning(56, 0.3)
    v = robot.velocities(q, [0.4])
    a = robot.accelerations(q, v, [0.1])
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), a, atol=1e-9)
    made = {key[0] for key in robot.evaluator.entry_points}
    assert {"closed_velocities", "closed_accelerations", "clustered_inverse_dynamics"} <= made
    assert not [w for w in recwarn.list if issubclass(w.category, kt.KinetreeWarning)]
