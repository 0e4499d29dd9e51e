"""Base parameters by rule with symbols: those of numbers at any values, printed as the books have them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sympy as sp

import kinetree as kt
from helpers.par_files import ARM, RX90, SR400, TREE, TWO_LOOPS, par, write
from kinetree.parameters.base_parameters import BaseParameters
from kinetree.spatial.formula import ScalarFormula

FILES = {"arm": ARM, "rx90": RX90, "sr400": SR400, "two loops": TWO_LOOPS}

SLIDES = par(
    "slides",
    """ant = {0,1,2,3}
sigma = {1,0,1,0}
d = {0,a,b,0}
r = {r1,0,r3,c}
alpha = {pi/2,0,x,-pi/2}
theta = {0,th2,0,th4}""",
    links=4,
)
"""Slides and hinges, one at an angle that is a symbol."""


def evaluated(base: BaseParameters, values: dict[str, float]) -> np.ndarray:
    return np.array([x.evaluate(values) if isinstance(x, ScalarFormula) else float(x) for x in base.values])


def compare(robot: kt.Robot, seeds: range) -> None:
    """At random values of all symbols names and values are those that the rules find for the numbers."""
    base = robot.base_parameters()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        values = {name: float(rng.uniform(0.3, 1.5)) for name in robot.symbols}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kt.ModelWarning)  # such bodies cannot be, which does not matter here
            numeric = robot.with_values(values).base_parameters("rules")
        assert numeric.names == base.names
        np.testing.assert_allclose(evaluated(base, values), numeric.values, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["arm", "rx90"])
def test_trees_at_20_random_values(tmp_path, name):
    compare(kt.load(write(tmp_path, FILES[name])), range(20))


def test_slides_at_20_random_values(tmp_path):
    compare(kt.load(write(tmp_path, SLIDES)), range(20))


@pytest.mark.parametrize("name", ["sr400", "two loops"])
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 20), marks=pytest.mark.slow)])
def test_loops_at_20_random_values(tmp_path, name, seeds):
    compare(kt.load(write(tmp_path, FILES[name])), seeds)


def test_rx90_prints_as_khalil_and_dombre_have_it(tmp_path):
    """Chapter 9, example 9.4 of their book: the groups of the Staubli RX-90, with IA where they write Ia."""
    found = kt.load(write(tmp_path, RX90)).base_parameters().formulas()
    assert len(found) == 40
    assert (
        found
        | {
            "ZZR1": "ZZ1 + YY2 + YY3 + IA1 + D3**2*(M3 + M4 + M5 + M6)",
            "XXR2": "XX2 - YY2 - D3**2*(M3 + M4 + M5 + M6)",
            "XZR2": "XZ2 - D3*MZ3",
            "ZZR2": "ZZ2 + IA2 + D3**2*(M3 + M4 + M5 + M6)",
            "MXR2": "MX2 + D3*(M3 + M4 + M5 + M6)",
            "XXR3": "XX3 - YY3 + YY4 + 2*RL4*MZ4 + RL4**2*(M4 + M5 + M6)",
            "ZZR3": "ZZ3 + YY4 + 2*RL4*MZ4 + RL4**2*(M4 + M5 + M6)",
            "MYR3": "MY3 + MZ4 + RL4*(M4 + M5 + M6)",
            "XXR4": "XX4 - YY4 + YY5",
            "ZZR4": "ZZ4 + YY5",
            "MYR4": "MY4 - MZ5",
            "XXR5": "XX5 - YY5 + YY6",
            "ZZR5": "ZZ5 + YY6",
            "MYR5": "MY5 + MZ6",
            "XXR6": "XX6 - YY6",
        }
        == found
    )
    assert all(text == name.replace("R", "") for name, text in found.items() if " " not in text)


def test_sr400_prints_as_khalil_has_it(tmp_path):
    """Table 10.2 with the two misprints of its summary put right, as the gallery's study does."""
    base = kt.load(write(tmp_path, SR400)).base_parameters()
    found = base.formulas()
    assert (len(base), len(base.without_effect), len(base.grouped)) == (42, 11, 33)
    wrist, forearm = "(M4 + M5 + M6)", "(M3 + M4 + M5 + M6)"
    assert found["ZZR1"] == (
        "ZZ1 + YY2 + YY3 + XX7 + YY8 + IA1 + D2**2*(M2 + M3 + M4 + M5 + M6 + M7 + M8)"
        f" + D3**2*{forearm} + D4**2*{wrist}"
    )
    assert found["XXR2"] == f"XX2 - YY2 + XX8 - YY8 - D3**2*{forearm}"
    assert found["XYR3"] == f"XY3 - XY7 - D4*MZ4 - D4*RL4*{wrist}"
    assert found["MYR3"] == f"MY3 + MZ4 + RL4*{wrist} - D8/D3*MX8"
    assert found["MXR7"] == "MX7 - D8/D3*MX8 + D8*M8"
    assert "MYR8 = MY8" in str(base)
    assert "0.75" not in str(base)  # no number of those that stand for symbols meanwhile


def test_motors_on_every_joint_of_the_sr400(tmp_path):
    """As SYMORO's own file has them: two of the parallelogram turn at the same speed."""
    robot = kt.load(write(tmp_path, SR400.replace("IA2,0,IA4,IA5,IA6,IA7,0", "IA2,IA3,IA4,IA5,IA6,IA7,IA8")))
    base = robot.base_parameters()
    assert len(base) == 43
    assert base.formulas()["IAR3"] == "IA3 + IA8"
    rng = np.random.default_rng(0)
    values = {name: float(rng.uniform(0.3, 1.5)) for name in robot.symbols}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        numeric = robot.with_values(values).base_parameters("null_space")
    assert numeric.names == base.names
    np.testing.assert_allclose(evaluated(base, values), numeric.values, rtol=1e-8, atol=1e-8)


def test_numbers_that_stand_for_symbols_are_never_shown(tmp_path):
    base = kt.load(write(tmp_path, RX90)).base_parameters()
    assert base.matrix.dtype == object
    assert str(base.group("link2.MX")["link3.M"]) == "D3"
    assert base["link3.MY"] == base.values[base.index("link3.MY")]
    assert isinstance(base["link3.MY"], ScalarFormula)
    assert sp.sympify(base["link2.XZ"]) == sp.Symbol("XZ2", real=True) - sp.Symbol("D3", real=True) * sp.Symbol(
        "MZ3", real=True
    )
    assert base.expressions()["link2.MX"].has(sp.Symbol("D3", real=True))
    with pytest.raises(kt.OptionError, match="need method='rules'"):
        kt.load(write(tmp_path, RX90)).base_parameters("qr")


def test_symbols_of_inertias_alone_are_grouped_by_any_method(tmp_path):
    robot = kt.load(write(tmp_path, RX90), values={"D3": 0.45, "RL4": 0.4})
    found = {method: robot.base_parameters(method).formulas() for method in ("rules", "null_space", "qr")}
    assert found["rules"]["MXR2"] == "MX2 + 0.45*(M3 + M4 + M5 + M6)"
    assert found["rules"] == found["null_space"] == found["qr"]


def test_grouped_robot_has_the_same_torques(tmp_path):
    """With formulas for the groups, and with a symbol for each."""
    robot = kt.load(write(tmp_path, RX90))
    rng = np.random.default_rng(1)
    values = {name: float(rng.uniform(0.3, 1.5)) for name in robot.symbols}
    q, v, a = rng.standard_normal((3, 4, 6))
    base, named = robot.base_parameters(), robot.grouped("symbols")
    given = {name: x.evaluate(values) for name, x in zip(base.formulas(), base.values, strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        expected = robot.with_values(values).inverse_dynamics(q, v, a)
        table = robot.grouped("table")
        assert set(table.symbols) <= set(robot.symbols)
        one = table.with_values({name: values[name] for name in table.symbols})
        other = named.with_values({name: (values | given)[name] for name in named.symbols})
    np.testing.assert_allclose(one.inverse_dynamics(q, v, a), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other.inverse_dynamics(q, v, a), expected, rtol=1e-10, atol=1e-10)
    assert "XXR2" in named.symbols
    table.save(tmp_path / "base.par")
    assert kt.load(tmp_path / "base.par").model == table.model
    with pytest.raises(kt.OptionError, match="counted with numbers"):
        robot.grouped()


def test_numeric_robot_with_symbols_for_its_groups(tmp_path):
    robot = kt.gallery.load("kuka-kr5")
    named, base = robot.grouped("symbols"), robot.base_parameters()
    q, v, a = np.random.default_rng(0).standard_normal((3, 6))
    values = dict(zip(base.formulas(), base.values, strict=True))
    found = named.inverse_dynamics(q, v, a, parameters={name: values[name] for name in named.symbols})
    np.testing.assert_allclose(found, robot.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-10)


def test_rounded_angles_beside_symbols(tmp_path):
    """1.5708 is a right angle for the rules, in front of a symbol, too; the result says so."""
    text = RX90.replace("alpha = {0,pi/2,0,-pi/2,pi/2,-pi/2}", "alpha = {0,1.5708,0,-1.5708,1.5708,-1.5708}")
    exact, rounded = (kt.load(write(tmp_path, t)).base_parameters() for t in (RX90, text))
    assert rounded.formulas() == exact.formulas()
    assert "rounded by up to 4e-06" in rounded.notes[0]


def test_formulas_of_a_numeric_robot(tmp_path):
    robot = kt.load(write(tmp_path, TREE))
    found = robot.base_parameters().formulas()
    assert found["ZZR1"].startswith("ZZ1 + ")
