"""What a mechanism with loops says and computes, whatever its parts are called."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import THREE_RRR_START, three_rrr, two_way_parallelogram
from helpers.robots import rods
from kinetree.algorithms.table import find
from kinetree.errors import ClosureError
from kinetree.export import result_names


def test_a_mechanism_is_not_said_to_have_the_freedoms_of_its_tree():
    robot = kt.gallery.load("four-bar")
    assert "3 degrees of freedom before the loops are closed" in robot.describe()
    assert rods(1).describe().startswith("pendulum: 1 body, 1 degree of freedom (nq = 1")


def test_the_rank_is_that_of_closed_loops():
    """Beside closure Bricard's constraints are all independent, and the first state used to decide for good."""
    first, second = kt.gallery.load("bricard"), kt.gallery.load("bricard")
    q = first.close(first.neutral() + np.array([0.1, 0.08, 0.1, -0.1, -0.1]))
    off, zero = q + 1e-3 * np.array([1, -1, 0.5, 1, 0]), np.zeros(5)
    first.forward_dynamics(off, zero, zero, stabilization=True)
    second.mobility(q)
    assert first.mobility(q).freedoms == 1
    np.testing.assert_allclose(first.forward_dynamics(q, zero, zero), second.forward_dynamics(q, zero, zero), rtol=1e-9)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_single_precision(backend):
    """No configuration could be closed to 1e-10 in float32."""
    exact = three_rrr()
    robot = exact.with_backend(backend).with_precision("single")
    q = robot.close(THREE_RRR_START)
    v = robot.velocities(q, [0.3, -0.2, 0.4])
    a = robot.accelerations(q, v, [1.0, 2.0, -1.0])
    tau = robot.inverse_dynamics(q.astype(np.float32), v.astype(np.float32), a.astype(np.float32))
    assert tau.dtype == np.float32
    np.testing.assert_allclose(tau, exact.inverse_dynamics(q, v, a), rtol=1e-4, atol=1e-3)
    back = robot.forward_dynamics(q, v, tau)
    assert back.dtype == np.float32
    np.testing.assert_allclose(back, a, rtol=1e-3, atol=1e-3)


def test_out_must_fit():
    robot = two_way_parallelogram()
    q, zero = np.array([0.3, 0.3, -0.3]), np.zeros(3)
    with pytest.raises(kt.ShapeError, match="out must have shape"):
        robot.forward_dynamics(q, zero, zero, out=np.empty((2, 3)))
    with pytest.raises(kt.ShapeError, match="out must have shape"):
        robot.inverse_dynamics(q, zero, zero, out=np.empty((2, 3)))


def test_nothing_is_said_about_no_configuration():
    """NaN came first: the mechanism was thought to have no constraints."""
    nan, zero = np.full(3, np.nan), np.zeros(3)
    assert np.isnan(two_way_parallelogram().inverse_dynamics(nan, zero, zero)[0])
    assert np.isnan(two_way_parallelogram().forward_dynamics(nan, zero, zero)).all()
    assert np.isnan(two_way_parallelogram().velocities(nan, [1.0])[1:]).all()
    assert two_way_parallelogram().velocities(np.zeros((0, 3)), [1.0]).shape == (0, 3)
    with pytest.raises(kt.StateError, match="NaN"):
        two_way_parallelogram().mobility(nan)


def test_weights_are_the_same_for_all_states():
    q, zero = np.array([0.3, 0.3, -0.3]), np.zeros(3)
    for weights, error in ((np.ones((2, 3)), kt.ShapeError), ([np.inf, 1, 1], kt.OptionError)):
        with pytest.raises(error, match="weights must"):
            two_way_parallelogram().inverse_dynamics(q, zero, zero, weights=weights)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_wrenches_at_a_cut_joint(backend):
    """Its name was understood by some methods and unknown to others."""
    robot = two_way_parallelogram().with_backend(backend)
    rng = np.random.default_rng(3)
    q, v = np.array([0.3, 0.3, -0.3]), np.array([1.0, 1.0, -1.0])
    tau, a = rng.standard_normal(3), robot.accelerations(q, v, [0.7])
    six, force = rng.standard_normal(6), rng.standard_normal(3)
    for push, work in (
        (six, robot.jacobian(q, "pin", "body").T @ six),
        (kt.Wrench(force, axes="world"), robot.jacobian(q, "pin", "aligned")[3:].T @ force),
    ):
        for method in ("elimination", "block", "reduced"):
            found = robot.forward_dynamics(q, v, tau, {"pin": push}, method=method)
            np.testing.assert_allclose(found, robot.forward_dynamics(q, v, tau + work), atol=1e-11)
        motion = np.array([1.0, 1.0, -1.0])  # that all its rods make together
        expected = robot.inverse_dynamics(q, v, a)[0] - motion @ work
        for options in ({}, {"friction": True}, {"weights": np.ones(3)}, {"method": "f_matrix"}):
            assert abs(robot.inverse_dynamics(q, v, a, {"pin": push}, **options)[0] - expected) < 1e-11
        assert abs(robot.constraint_forces(q, v, a, {"pin": push}).tau[0] - expected) < 1e-11
        bias = robot.reduced_bias_force(q, v) - motion @ work
        np.testing.assert_allclose(robot.reduced_bias_force(q, v, {"pin": push}), bias, atol=1e-11)
    assert robot.tree.frame("pin") == robot.frame("pin")


def four_bar(pin: str) -> kt.Mechanism:
    """A parallelogram with a motor, closed by a pin of the given name."""
    b = kt.Builder("bars")
    rod = {"mass": 1, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    b.body("rod0", "base", kt.Revolute("y"), **rod)
    b.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    b.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), actuated=False)
    b.loop(pin, "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    return b.build()


@pytest.mark.parametrize("pin", ["pin", "moment_pin"])
def test_a_gap_of_lengths_is_reported_in_meters(pin: str) -> None:
    """Whatever the joint is called."""
    mechanism = four_bar(pin)
    with pytest.raises(ClosureError, match=r"0\.\d+ m remain"):
        mechanism.close(mechanism.neutral(), fixed={"rod0_joint": 1.0, "rod1_joint": 2.0})


def test_units_of_results_do_not_depend_on_names() -> None:
    """Comments of exported code, but for the name itself."""
    plain, tricky = four_bar("pin"), four_bar("moment_pin")
    assert plain.constraint_units == tricky.constraint_units == ("rad", "rad", "m", "m", "m")
    for name in ("loop_gaps", "loop_drift", "closed_forward_dynamics"):
        options = {"rows": (2, 4)}
        meanings = [
            [e.meaning.replace("moment_pin", "pin") for e in result_names.entries(m.model, find(name), options, 1e-8)]
            for m in (plain, tricky)
        ]
        assert meanings[0] == meanings[1]
        assert any("(N)" in m or "(m)" in m or "(m/s^2)" in m for m in meanings[0])


def test_numbers_of_a_platform_do_not_depend_on_names() -> None:
    """Rows of angles are scaled by a length, rows of lengths are not."""
    q = np.array([0.3, 0.3, -0.3])
    plain, tricky = (four_bar(pin).platform("coupler", orientation=False) for pin in ("pin", "moment_pin"))
    first, second = plain.margins(q), tricky.margins(q)
    assert first.keys() == second.keys()
    for kind, margin in first.items():
        np.testing.assert_array_equal(margin, second[kind])


def loose_four_bar() -> kt.Mechanism:
    """A four-bar without motors, so that nothing but the model says what depends on what."""
    b = kt.Builder("loose")
    rod = {"mass": 1, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01), "actuated": False}
    b.body("rod0", "base", kt.Revolute("y"), **rod)
    b.body("rod1", "base", kt.Revolute("y"), position=(1.1, 0, 0), **rod)
    b.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), actuated=False)
    b.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(0.9, 0, 0), seat=(0, 0, -1))
    return b.build()


def test_coordinates_do_not_depend_on_what_was_asked_first() -> None:
    """Objects of one model that see different configurations first agree in everything."""
    model = loose_four_bar().model
    spread = kt.Mechanism(model).close(np.linspace([-2.0, 0, 0], [2.0, 0, 0], 24), must_close=False)
    seen = spread[np.isfinite(spread).all(axis=-1)]
    assert len(seen) > 6
    fresh = [kt.Mechanism(model) for _ in seen]
    for mechanism, first in zip(fresh, seen, strict=True):
        mechanism.basis(first)
        mechanism.mobility(first)
        mechanism.forward_dynamics(first, np.zeros(3), np.zeros(3))
    judge = kt.Mechanism(model)
    names, at = judge.independent(), seen[len(seen) // 2]
    v = judge.velocities(at, [0.7])
    expected = [judge.basis(seen), judge.reduced_mass_matrix(seen), judge.accelerations(at, v, [0.2]), v,
                judge.forward_dynamics(seen, np.zeros(3), np.ones(3))]  # fmt: skip
    for mechanism in fresh:
        assert mechanism.independent() == mechanism.independent(at) == names
        assert mechanism.mobility(at).independent == tuple(names)
        assert mechanism.coordinates == judge.coordinates
        found = [mechanism.basis(seen), mechanism.reduced_mass_matrix(seen), mechanism.accelerations(at, v, [0.2]),
                 mechanism.velocities(at, [0.7]),
                 mechanism.forward_dynamics(seen, np.zeros(3), np.ones(3))]  # fmt: skip
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_controllers_agree_whatever_they_saw_first() -> None:
    """Nothing is written into the model, which several robots may share."""
    robot = four_bar("pin")
    law = kt.control.GravityCompensation()
    here, there = robot.close([0.3, 0.3, -0.3]), robot.close([-0.9, -0.9, 0.9])
    one, other = kt.Mechanism(robot.model), kt.Mechanism(robot.model)
    law(one, 0.0, here, np.zeros(3))
    law(other, 0.0, there, np.zeros(3))
    np.testing.assert_array_equal(law(one, 0.0, there, np.zeros(3)), law(other, 0.0, there, np.zeros(3)))
    assert not {"known_loops", "coordinates"} & set(robot.model.__dict__)


def test_coordinates_are_chosen_where_the_user_says() -> None:
    """The place is kept by copies and by pickling, and refused where nothing can be closed."""
    model = four_bar("pin").model
    near = kt.Mechanism(model, q_guess=[0.3, 0.3, -0.3])
    assert near.independent() == ["rod0_joint"]
    for again in (near.with_gravity((0, 0, 0)), near.with_backend("reference"), pickle.loads(pickle.dumps(near))):
        assert again.coordinates == near.coordinates
    with pytest.raises(kt.ShapeError, match="q_guess"):
        kt.Mechanism(model, q_guess=[0.3, 0.3])
    with pytest.raises(kt.ShapeError, match="one configuration"):
        kt.Mechanism(model, q_guess=np.zeros((2, 3)))


def test_a_poor_choice_is_an_error_and_not_another_meaning() -> None:
    """Where coupler and second rod are in line, the first rod stands still, and nothing follows from it."""
    mechanism = loose_four_bar()
    q0 = np.arcsin((1.9**2 - 1.0 - 1.1**2) / 2.2)
    along = (np.array([-np.sin(q0), -np.cos(q0)]) - [1.1, 0.0]) / 1.9  # from the second pivot to the first rod's end
    stretched = np.array([q0, np.arctan2(-along[0], -along[1]), np.arctan2(along[1], -along[0]) - q0])
    assert mechanism.closure_error(stretched) < 1e-12
    chosen = mechanism.with_independent(["rod0_joint"])
    assert chosen.independent(stretched) == ["rod0_joint"]
    with pytest.raises(kt.SingularError, match=r"does not follow from rod0_joint here.*with_independent"):
        chosen.velocities(stretched, [1.0])
    v = mechanism.with_independent(["rod1_joint"]).velocities(stretched, [1.0])
    np.testing.assert_allclose(v[:2], [0.0, 1.0], atol=1e-12)
    # dynamics has no coordinates of its own, so it is the same for every choice
    for other in (mechanism, mechanism.with_independent(["rod1_joint"])):
        a, b = (m.forward_dynamics(stretched, v, np.ones(3)) for m in (chosen, other))
        np.testing.assert_allclose(a, b, atol=1e-10)
