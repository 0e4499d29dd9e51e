"""Equations of a pendulum by SymPy, against what everybody knows."""

import numpy as np
import sympy as sp

import kinetree as kt
from kinetree.export import symbolic


def test_the_equations_of_a_pendulum():
    builder = kt.Builder("pendulum", gravity=(0.0, -10.0, 0.0))
    builder.body("bob", "base", kt.Revolute("z"), mass=2.0, com=(0.5, 0.0, 0.0), inertia=(0.0, 0.25, 0.25))
    robot = builder.build()
    equations = symbolic.equations(robot)
    assert sp.simplify(equations.mass_matrix[0, 0] - sp.Rational(3, 4)) == 0  # 1/4 + 2 (1/2)^2
    (angle,) = sp.Matrix(equations.gravity).free_symbols
    assert sp.simplify(equations.gravity[0] - 10 * sp.cos(angle)) == 0  # 2 * 10 * 1/2
    assert np.isclose(robot.gravity_force([0.3])[0], float(equations.gravity[0].subs(angle, 0.3)))
    assert "cos" in equations.latex()


def test_a_robot_with_symbols_has_its_equations():
    m, g = sp.symbols("m g", positive=True)
    robot = kt.Builder("p").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    named = kt.symbolic.with_parameters(robot, bodies={"bob": {"mass": m}}, gravity=(0, 0, -g))
    assert named.equations(simplify=False).latex() == kt.symbolic.equations(named, simplify=False).latex()
    (gravity,) = named.equations().gravity
    assert sp.simplify(gravity - m * g * sp.sin(named.equations().q[0])) == 0
