"""The formulas of an inverse geometric model in SymPy symbols."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ...export.symbolic.exact import Exact, exact, symbol_values
from ...export.symbolic.parameters import Parametric
from ...export.symbolic.simplify import tidy
from ...robot.robot import Robot
from ...spatial import Matrix3, MatrixRotation, Scalar, Transform, Vec3
from .chain import GeometricChain, JointValue
from .steps import Arithmetic, SolvingStep


def formulas(
    robot: Robot, frame: str, orientation: bool, joints: tuple[str, ...], steps: tuple[SolvingStep, ...]
) -> dict[str, Any]:
    """Return intermediate results and joints as expressions, in the order in which they are evaluated."""
    subject = Parametric(robot)
    tree = subject.tree(exact, everything=True, symbols=symbol_values(subject.symbols))
    chain = GeometricChain.of(tree, frame, orientation)
    noted: dict[str, Any] = {}

    def note(joint: int, name: str, x: Scalar) -> Scalar:
        short = tidy(exact(x).expression)
        if short.is_Atom or (short.could_extract_minus_sign() and (-short).is_Atom):
            return Exact(short)
        noted[f"{name}_q{joint + 1}"] = short
        return Exact(sp.Symbol(f"{name}_q{joint + 1}", real=True))

    def found(joint: int, x: Scalar) -> Scalar:
        noted[f"q{joint + 1}"] = exact(x).expression
        return Exact(sp.Symbol(f"q{joint + 1}", real=True))

    by = Arithmetic(lambda x, _: Exact(sp.sqrt(exact(x).expression)), note, found)
    known = {k: _value(chain, k, 0.0) for k in range(len(joints))}
    signs = 0
    body = chain.body_pose(_pose())
    for step in steps:
        sign = None
        if step.has_two:
            signs += 1
            sign = Exact(sp.Symbol(f"eps{signs}", real=True))
        q = by.found(step.joint, step.solve(chain, body, known, sign, by))
        known[step.joint] = _value(chain, step.joint, q)
    return noted


def _value(chain: GeometricChain, k: int, q: Scalar) -> JointValue:
    x = exact(q)
    return JointValue(Exact(sp.cos(x.expression)), Exact(sp.sin(x.expression))) if chain.turns(k) else JointValue(x, x)


def _pose() -> Transform:
    """Return the desired pose, in symbols."""
    columns = [[Exact(sp.Symbol(f"{letter}{axis}", real=True)) for letter in "snap"] for axis in "xyz"]
    turned = Matrix3.of([row[:3] for row in columns])
    return Transform((MatrixRotation(turned),), Vec3(*(row[3] for row in columns)))
