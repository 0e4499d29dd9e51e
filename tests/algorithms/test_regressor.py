"""Regressors: joint forces as a linear function of the parameters."""

import numpy as np
import pytest
import sympy as sp

import kinetree as kt
from helpers.robots import KINDS, random_state, random_tree

TREES = {
    "every kind of joint": lambda rng: random_tree(rng, len(KINDS), list(KINDS), in_turn=True),
    "floating": lambda rng: random_tree(rng, 6, ["revolute", "universal", "prismatic"], floating=True),
    "followers": lambda rng: random_tree(rng, 8, ["revolute", "prismatic"], followers=True),
}


# machine code of every kind of joint is tested with all algorithms, in tests/evaluation/test_forms.py
WAYS = [(tree, "reference") for tree in TREES] + [(tree, "compiled") for tree in ("floating", "followers")]


def grouped(robot, rng):
    """The robot with parameters that no body has, and friction."""
    return robot.with_parameters(rng.standard_normal(len(robot.parameters())), physical=False)


@pytest.mark.parametrize(("tree", "backend"), WAYS)
@pytest.mark.parametrize("friction", [False, True])
def test_times_the_parameters_it_is_inverse_dynamics(tree, backend, friction):
    rng = np.random.default_rng(8)
    robot = TREES[tree](rng).with_backend(backend)
    q, v, a = random_state(robot, rng, 7)
    v[2] = 0.0  # at rest Coulomb friction is zero
    for one in (robot, grouped(robot, rng)):
        wanted = one.inverse_dynamics(q, v, a, friction=friction)
        found = one.regressor(q, v, a, friction=friction) @ one.parameters().values
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-11)
        assert np.abs(wanted).max() > 0.1


def test_columns_are_derivatives_by_parameters():
    rng = np.random.default_rng(9)
    robot = TREES["followers"](rng)
    q, v, a = random_state(robot, rng, 3)
    table = robot.parameters()
    whole = robot.regressor(q, v, a, friction=True)
    for k in rng.choice(len(table), 12, replace=False):
        more = robot.with_parameters({table.names[k]: table.values[k] + 1.0}, physical=False)
        change = more.inverse_dynamics(q, v, a, friction=True) - robot.inverse_dynamics(q, v, a, friction=True)
        assert np.allclose(whole[..., k], change, rtol=1e-10, atol=1e-11), table.names[k]


def test_only_the_columns_asked_for_in_that_order():
    rng = np.random.default_rng(10)
    robot = TREES["floating"](rng)
    q, v, a = random_state(robot, rng, 5)
    names = robot.parameters().names
    places = [40, 3, len(names) - 1]
    some = robot.regressor(q, v, a, parameters=[names[k] for k in places], friction=True)
    assert np.array_equal(some, robot.regressor(q, v, a, friction=True)[..., places])


def test_unknown_or_repeated_columns_are_refused():
    robot = kt.gallery.load("kuka-kr5")
    q = np.zeros(robot.nv)
    name = robot.parameters().names[0]
    with pytest.raises(kt.KinetreeError, match="parameter"):
        robot.regressor(q, q, q, parameters=["nobody.M"])
    with pytest.raises(kt.KinetreeError, match="twice"):
        robot.regressor(q, q, q, parameters=[name, name])
    with pytest.raises(kt.KinetreeError, match="no parameter"):
        robot.regressor(q, q, q, parameters=[])


@pytest.mark.parametrize(("tree", "backend"), WAYS)
def test_energies_and_momenta(tree, backend):
    rng = np.random.default_rng(11)
    robot = grouped(TREES[tree](rng), rng).with_backend(backend)
    q, v, a = random_state(robot, rng, 5)
    values = robot.parameters().values
    momenta = (robot.mass_matrix(q) @ v[..., None])[..., 0]
    forces = robot.inverse_dynamics(q, v, a, friction=True)
    for found, wanted in (
        (robot.kinetic_energy_regressor(q, v), robot.kinetic_energy(q, v)),
        (robot.potential_energy_regressor(q), robot.potential_energy(q)),
        (robot.momentum_regressor(q, v), robot.momentum(q, v, about="origin")),
        (robot.joint_momentum_regressor(q, v), momenta),
        (robot.power_regressor(q, v, a, friction=True), np.sum(forces * v, axis=-1)),
    ):
        assert np.allclose(found @ values, wanted, rtol=1e-11, atol=1e-10)
    some = robot.parameters().names[7:30:5]
    assert np.array_equal(robot.momentum_regressor(q, v, parameters=some), robot.momentum_regressor(q, v)[..., 7:30:5])


def test_power_is_the_rate_of_energy():
    rng = np.random.default_rng(12)
    robot = TREES["floating"](rng)
    q, v, a = random_state(robot, rng)
    step = 1e-5

    def energy(h):
        there, speed = robot.integrate(q, h * v), v + h * a
        return robot.kinetic_energy_regressor(there, speed) + robot.potential_energy_regressor(there)

    rate = (energy(step) - energy(-step)) / (2.0 * step)
    assert np.allclose(robot.power_regressor(q, v, a), rate, rtol=1e-6, atol=1e-6)


def test_as_symbols():
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    names = ("bob.YY", "bob.MX", "bob.MZ")
    row = kt.symbolic.expression(robot, "regressor", parameters=names).value
    given = kt.symbolic.with_parameters(robot, parameters=dict(zip(names, sp.symbols("J h k"), strict=True)))
    tau = kt.symbolic.equations(given).tau[0]
    assert sp.simplify(tau - sum(x * y for x, y in zip(row, sp.symbols("J h k"), strict=True))) == 0
    assert kt.symbolic.expression(robot, "regressor", friction=True).value.shape == (1, len(robot.parameters()))


# ------------------------------------------------------------------ closed loops


def closed_motion(mechanism, rng, count):
    q = np.stack([mechanism.assembled() for _ in range(count)])
    free = mechanism.coordinates.freedoms
    v = mechanism.velocities(q, rng.standard_normal((count, free)))
    return q, v, mechanism.accelerations(q, v, rng.standard_normal((count, free)))


@pytest.mark.parametrize("name", ["four-bar", "delta", "sr400"])
def test_closed_loops(name):
    rng = np.random.default_rng(13)
    mechanism = kt.gallery.load(name)
    q, v, a = closed_motion(mechanism, rng, 3)
    values = mechanism.parameters().values
    for friction in (False, True):
        forces = mechanism.inverse_dynamics(q, v, a, friction=friction)
        found = mechanism.regressor(q, v, a, friction=friction)
        assert np.allclose(found @ values, forces, rtol=1e-9, atol=1e-9 * np.abs(forces).max())
        reduced = mechanism.reduced_regressor(q, v, a, friction=friction) @ values
        along = (np.swapaxes(mechanism.basis(q), -1, -2) @ forces[..., None])[..., 0]
        assert np.allclose(reduced, along, rtol=1e-9, atol=1e-9 * np.abs(along).max())
    with pytest.raises(kt.KinetreeError, match="do not allow this"):
        mechanism.regressor(q, v + rng.standard_normal(v.shape), a)
