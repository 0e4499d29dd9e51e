"""Robots with symbols that have no value: equations, counts, C and functions of other libraries keep them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import sympy as sp

import kinetree as kt
from helpers.gcc import Library
from helpers.par_files import ARM, RX90, SR400, TWO_LOOPS, par, write
from kinetree import symbolic

SPATIAL = par(
    "spatial",
    """ant = {0,1}
sigma = {0,1}
b = {0,b2}
d = {d1,d2}
r = {h,r2}
gamma = {0,g2}
alpha = {a1x,a2x}
theta = {th1,x2}""",
    links=2,
    dynamics="IA = {IA1,0}",
    gravity="0,GY,GZ",
)
"""A hinge and a slide with all of Khalil's parameters in symbols."""


PARALLELOGRAMS = np.array([[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]])
"""Velocities of all joints of two loops for those of the motors."""


def values_of(robot: kt.Robot, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {name: float(rng.uniform(0.3, 1.5)) for name in robot.symbols}


def with_values(robot: kt.Robot, values: dict[str, float]) -> kt.Robot:
    """Random parameters are those of no body, which is warned of and does not matter here."""
    with pytest.warns(kt.ModelWarning):
        return robot.with_values(values)


def step(row, q):
    """Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r) as a homogeneous matrix, with the variable in it."""
    _, sigma, gamma, b, alpha, d, theta, r = row
    theta, r = (theta + q, r) if sigma == 0 else (theta, r + q)

    def screw(i, j, along, angle, shift):
        m = np.eye(4, dtype=complex)
        m[i, i] = m[j, j] = np.cos(angle)
        m[j, i] = np.sin(angle)
        m[i, j] = -m[j, i]
        m[along, 3] = shift
        return m

    return screw(0, 1, 2, gamma, b) @ screw(1, 2, 0, alpha, d) @ screw(0, 1, 2, theta, r)


def lagrange(rows, tens, rotors, gravity, q, v, a):
    """Joint forces by Lagrange's equations from energies, whose slopes are found by complex steps."""
    axes = [np.zeros((4, 4)), np.zeros((4, 4))]
    axes[0][[0, 1], [1, 0]], axes[1][2, 3] = (-1, 1), 1

    def energies(q):
        poses, mass, potential = [np.eye(4, dtype=complex)], np.diag(np.array(rotors, dtype=complex)), 0.0
        for k, row in enumerate(rows):
            pose = poses[row[0]] @ step(row, q[k])
            poses.append(pose)
            # columns of the velocity of this frame, in its own axes
            twists = np.zeros((6, len(rows)), dtype=complex)
            link = k + 1
            while link:
                own = np.linalg.inv(pose) @ poses[link] @ axes[rows[link - 1][1]] @ np.linalg.inv(poses[link]) @ pose
                twists[:, link - 1] = own[2, 1], own[0, 2], own[1, 0], *own[:3, 3]
                link = rows[link - 1][0]
            xx, xy, xz, yy, yz, zz, mx, my, mz, m = tens[k]
            cross = np.array([[0, -mz, my], [mz, 0, -mx], [-my, mx, 0]])
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            mass = mass + twists.T @ np.block([[inertia, cross], [cross.T, m * np.eye(3)]]) @ twists
            potential = potential - np.array(gravity) @ (m * pose[:3, 3] + pose[:3, :3] @ np.array([mx, my, mz]))
        return mass, potential

    mass = energies(q)[0].real
    moved = [energies(q + 1e-30j * unit) for unit in np.eye(len(rows))]
    by_q = np.array([m.imag / 1e-30 for m, _ in moved])
    weight = np.array([p.imag / 1e-30 for _, p in moved])
    return mass @ a + np.einsum("ikj,i,j->k", by_q, v, v) - 0.5 * np.einsum("kij,i,j->k", by_q, v, v) + weight


def test_equations_are_those_of_lagrange(tmp_path):
    robot = kt.load(write(tmp_path, SPATIAL))
    found = symbolic.expression(robot, "inverse_dynamics", simplify=False)
    own = sp.lambdify([*found.inputs.values(), [sp.Symbol(s, real=True) for s in robot.symbols]], found.value)
    rng = np.random.default_rng(4)
    for seed in range(20):
        x = values_of(robot, seed)
        tens = [[x[f"{s}{j}"] for s in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")] for j in (1, 2)]
        rows = [(0, 0, 0, 0, x["a1x"], x["d1"], 0, x["h"]), (1, 1, x["g2"], x["b2"], x["a2x"], x["d2"], x["x2"], 0)]
        state = rng.uniform(-1, 1, (3, 2))
        expected = lagrange(rows, tens, (x["IA1"], 0), (0, x["GY"], x["GZ"]), *state)
        mine = own(*state, [x[s] for s in robot.symbols]).ravel()
        np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-10)


def test_the_planar_arm_prints_as_in_textbooks(tmp_path):
    equations = kt.load(write(tmp_path, ARM)).equations()
    assert str(equations.mass_matrix[0, 0]) == "L1**2*M2 + 2*L1*MX2*cos(q2) + ZZ1 + ZZ2"
    assert str(equations.coriolis[1]) == "L1*MX2*v1**2*sin(q2)"
    assert str(equations.gravity[0]) == "G*(MX2*cos(q1 + q2) + (L1*M2 + MX1)*cos(q1))"


def test_direct_geometric_model_has_the_symbols(tmp_path):
    pose = symbolic.expression(kt.load(write(tmp_path, RX90)), "pose", frame="link6").value
    assert str(pose[2, 3]) == "D3*sin(q2) + RL4*cos(q2 + q3)"


@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix", "jacobian", "regressor"])
def test_expressions_at_random_values_are_those_of_the_numeric_robot(tmp_path, name):
    robot = kt.load(write(tmp_path, SPATIAL))
    options = {"frame": "link2"} if name == "jacobian" else {}
    found = symbolic.expression(robot, name, simplify=False, **options)
    symbols = [sp.Symbol(s, real=True) for s in robot.symbols]
    function = sp.lambdify([*found.inputs.values(), symbols], found.value, "numpy")
    rng = np.random.default_rng(2)
    for seed in range(20):
        values = values_of(robot, seed)
        state = rng.standard_normal((len(found.inputs), 2))
        numeric = with_values(robot, values)
        expected = getattr(numeric, name)(*state, **options)
        result = np.asarray(function(*state, [values[s] for s in robot.symbols])).reshape(expected.shape)
        np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-11)


def test_symbols_may_not_be_called_like_coordinates(tmp_path):
    robot = kt.load(write(tmp_path, par("r", "ant = {0,1}\nd = {0,a1}", links=2)))
    with pytest.raises(kt.OptionError, match=r"has a symbol 'a1'.*symbols={'a': "):
        symbolic.expression(robot, "inverse_dynamics")
    symbolic.expression(robot, "inverse_dynamics", symbols={"a": sp.symbols("x y")})


def test_wrenches_of_the_file_in_equations(tmp_path):
    text = par("r", "ant = {0}\nd = {L}", links=1, dynamics="FX = {0}\nCZ = {CZ1}")
    robot = kt.load(write(tmp_path, text))
    six = list(robot.loads["link1"])
    found = symbolic.expression(robot, "inverse_dynamics", wrenches=True, symbols={"wrenches": six})
    assert sp.Symbol("CZ1", real=True) in found.value.free_symbols
    assert found.value[0].diff(sp.Symbol("CZ1", real=True)) == 1  # what the link exerts, its motor must give


# ------------------------------------------------------------------ numbers with each call


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_values_with_each_call(tmp_path, backend):
    """A kernel is made once and takes the numbers; a batch may have other values in each state."""
    robot = kt.load(write(tmp_path, SPATIAL)).with_backend(backend)
    many = [values_of(robot, seed) for seed in range(3)]
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 3, 2))
    batch = {name: np.array([values[name] for values in many]) for name in robot.symbols}
    together = robot.inverse_dynamics(q, v, a, parameters=batch)
    forward = robot.forward_dynamics(q, v, a, parameters=batch)
    for k, values in enumerate(many):
        numeric = with_values(robot, values)
        np.testing.assert_allclose(together[k], numeric.inverse_dynamics(q[k], v[k], a[k]), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(forward[k], numeric.forward_dynamics(q[k], v[k], a[k]), rtol=1e-10, atol=1e-10)
    some = {name: x for name, x in many[0].items() if name != "d2"}
    with pytest.raises(kt.NoValueError, match="d2 has no value"):
        robot.inverse_dynamics(q, v, a, parameters=some)


def test_dimensions_of_loops_do_not_vary_from_call_to_call(tmp_path):
    robot = kt.load(write(tmp_path, TWO_LOOPS))
    with pytest.raises(kt.UnsupportedError, match="determines where its loops close"):
        robot.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), parameters={"L1": 1.0})


def test_inertias_of_a_mechanism_with_each_call(tmp_path):
    geometry = {"B1": 0.5, "B2": 0.3, "L1": 0.4, "L2": 0.35}
    robot = kt.load(write(tmp_path, TWO_LOOPS), values=geometry)
    values = values_of(robot, 1)
    q, v, a = (x @ PARALLELOGRAMS for x in np.random.default_rng(0).standard_normal((3, 4, 2)))
    found = robot.inverse_dynamics(q, v, a, parameters=values)
    np.testing.assert_allclose(found, with_values(robot, values).inverse_dynamics(q, v, a), rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------ other libraries


def test_casadi_and_jax_take_the_symbols_as_arguments(tmp_path):
    pytest.importorskip("casadi")
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    robot = kt.load(write(tmp_path, ARM))
    values = values_of(robot, 3)
    numeric = with_values(robot, values)
    q, v, a = np.random.default_rng(0).standard_normal((3, 2))
    expected = numeric.inverse_dynamics(q, v, a)
    f = symbolic.function(robot, "inverse_dynamics", "casadi")
    assert f.name_in() == ["q", "v", "a", *robot.symbols]
    found = f(q=q, v=v, a=a, **values)["tau"]
    np.testing.assert_allclose(found.full()[:, 0], expected, rtol=1e-12)
    g = symbolic.function(robot, "inverse_dynamics", "jax")
    np.testing.assert_allclose(g(q, v, a, **values), expected, rtol=1e-12)
    fixed = symbolic.with_parameters(robot, symbols={name: x for name, x in values.items() if name != "L1"})
    h = symbolic.function(fixed, "inverse_dynamics", "jax")
    np.testing.assert_allclose(h(q, v, a, L1=values["L1"]), expected, rtol=1e-12)
    with pytest.raises(kt.UnknownNameError, match="no symbol named 'L7'"):
        symbolic.with_parameters(robot, symbols={"L7": 1.0})


# ------------------------------------------------------------------ counts and C


def test_counts_are_those_of_any_numbers(tmp_path):
    """What a robot of symbols costs is what one of general numbers does, if these are inputs, too."""
    robot = kt.load(write(tmp_path, RX90))
    count, grouped = robot.cost("inverse_dynamics"), robot.grouped("symbols").cost("inverse_dynamics")
    assert grouped.multiplications < count.multiplications
    assert grouped.additions < count.additions
    # Khalil has 294M 283A for a general arm of six hinges with base parameters
    assert grouped.multiplications < 294
    assert grouped.additions < 283
    assert robot.cost("pose", frame="link6").total > 0


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_c_takes_the_numbers_as_an_argument(tmp_path):
    robot = kt.load(write(tmp_path, SPATIAL))
    exported = robot.codegen(tmp_path, ["inverse_dynamics", ("pose", {"frame": "link2"})], prefix="spatial")
    header = exported.header.read_text()
    assert f"#define SPATIAL_SYMBOLS {len(robot.symbols)}" in header
    assert f"#define SPATIAL_S_d2 {robot.symbols.index('d2')}" in header
    assert "const double *a, const double *symbols, double *tau" in header
    library = Library(exported.source)
    rng = np.random.default_rng(5)
    for seed in range(5):
        values = values_of(robot, seed)
        numeric, numbers = with_values(robot, values), np.array([values[s] for s in robot.symbols])
        q, v, a = rng.standard_normal((3, 2))
        tau = library("spatial_inverse_dynamics", 2, q, v, a, numbers)
        np.testing.assert_allclose(tau, numeric.inverse_dynamics(q, v, a), rtol=1e-11, atol=1e-11)
        pose = library("spatial_pose_link2", 16, q, numbers)
        np.testing.assert_allclose(pose.reshape(4, 4), numeric.pose(q, "link2"), atol=1e-14)


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_c_of_a_mechanism_with_symbols_in_its_dimensions(tmp_path):
    robot = kt.load(write(tmp_path, TWO_LOOPS))
    exported = robot.codegen(tmp_path, ["inverse_dynamics"], prefix="loops")
    values = values_of(robot, 1)
    q, v, a = np.random.default_rng(1).standard_normal((3, 2)) @ PARALLELOGRAMS
    numbers = np.array([values[s] for s in robot.symbols])
    size = 6 + robot.coordinates.rank + 4
    whole = Library(exported.source)("loops_closed_inverse_dynamics", size, q, v, a, numbers)
    np.testing.assert_allclose(whole[:6], with_values(robot, values).inverse_dynamics(q, v, a), rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize("form", ["table", "symbols"])
def test_c_of_a_grouped_mechanism(tmp_path, form):
    """Grouped bodies of the passive joints have no inertia of their own: only the closed loop has some."""
    geometry = {"D2": 0.4, "D3": 0.8, "D4": -0.2, "D8": 1.0, "RL4": 1.0}
    robot = kt.load(write(tmp_path, SR400), values=geometry)
    values = values_of(robot, 1)
    numeric, grouped = with_values(robot, values), robot.grouped(form)
    library = Library(grouped.codegen(tmp_path, prefix="c").source)
    table = dict(zip(robot.base_parameters().names, numeric.base_parameters().values, strict=True))
    for name, x in table.items() if form == "symbols" else ():
        owner, kind = name.replace("rotor_inertia", "IA").split(".")
        values |= {f"{kind}{owner[-1]}": x, f"{kind}R{owner[-1]}": x}
    numbers = np.array([values[s] for s in grouped.symbols])
    size = 8 + robot.coordinates.rank + 4
    for seed in range(3):
        t1, t2, t7, *wrist = np.random.default_rng(seed).uniform(-0.6, 0.6, 6)
        q = numeric.close(np.array([t1, t2, np.pi / 2 - t2 + t7, *wrist, t7, t2 - t7]))
        v = numeric.velocities(q, np.random.default_rng(seed).standard_normal(6))
        tau = np.array([1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 6.0, 0.0])
        expected = numeric.forward_dynamics(q, v, tau)
        found = library("c_reduced_forward_dynamics", size, q, v, tau, numbers)
        np.testing.assert_allclose(found[:8], expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
        assert found[-4] > 1e-3
        given = {name: values[name] for name in grouped.symbols}
        again = grouped.forward_dynamics(q, v, tau, parameters=given)
        np.testing.assert_allclose(again, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


# ------------------------------------------------------------------ loops


def test_constraints_of_the_parallelogram_in_symbols(tmp_path):
    """Khalil example 7.1: closed where theta3 = pi/2 - theta2 + theta7 and theta8 = theta2 - theta7."""
    robot = kt.load(write(tmp_path, SR400))
    equations = robot.equations()
    assert len(equations.constraint_names) == 2
    q = equations.q
    closed = {q[2]: sp.pi / 2 - q[1] + q[6], q[7]: q[1] - q[6]}
    for gap in equations.constraints:
        assert sp.simplify(sp.expand_trig(gap.subs(closed))) == 0


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)])
def test_inverse_dynamics_with_loops_and_symbols_is_that_of_numbers(tmp_path, seeds):
    """The elimination is chosen once, for any values; at 20 of them it gives what the numeric robot does."""
    robot = kt.load(write(tmp_path, TWO_LOOPS))
    found = symbolic.function(robot, "inverse_dynamics", "casadi")
    for seed in seeds:
        values = values_of(robot, seed)
        numeric = with_values(robot, values)
        q, v, a = np.random.default_rng(seed).standard_normal((3, 2)) @ PARALLELOGRAMS
        result = found(q=q, v=v, a=a, **values)["tau"].full()[:, 0]
        np.testing.assert_allclose(result, numeric.inverse_dynamics(q, v, a), rtol=1e-8, atol=1e-8)
