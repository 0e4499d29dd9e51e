"""The algorithms on other scalars: JAX arrays, CasADi symbols, SymPy symbols.

Each of the three libraries is an extra of kinetree and is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import explain_public, refuse_unknown
from .parameters import Computing, Parametric, with_parameters
from .programs import Call, as_parametric, library

if TYPE_CHECKING:
    from .on_sympy import Equations, Expression

__all__ = ["BACKENDS", "Parametric", "equations", "expression", "function", "with_parameters"]

BACKENDS = ("jax", "casadi", "sympy")


def function(robot: Computing | Parametric, name: str, backend: str, *, wrenches: bool = False, **options: Any) -> Any:
    """Return an algorithm as a function of another library's arrays or symbols.

    Parameters
    ----------
    robot : Robot or Parametric
        A robot, or one with parameters from :func:`with_parameters`.
    name : str
        A name in ``kinetree.algorithms.table.ALGORITHMS``; these are also methods of :class:`kinetree.Robot`.
    backend : {"jax", "casadi", "sympy"}
    wrenches : bool
        Whether dynamics takes external forces: one more input of shape (bodies, 6), moment and
        force on every body in its own axes at its own origin.
    **options
        Options of the algorithm, such as ``frame="tool"``.  With ``"sympy"`` also those of
        :func:`expression`.

    Returns
    -------
    callable
        ``"jax"``: a function of arrays ``f(q, v, a)`` under ``jax.jit``; leading axes are the
        batch and broadcast; it can be mapped, differentiated and compiled into larger
        functions.  It computes in double precision, for which JAX's 64-bit mode must be on,
        or in single precision for a robot of single precision.  Symbols of the robot without a value are further
        arguments: ``f(q, v, a, d3=0.45)``.
    casadi.Function
        ``"casadi"``: with named inputs (q, v, a) and outputs (tau), made of SX.  Symbols
        among the parameters, and those of the robot without a value, are further inputs under their own names.
    Expression
        ``"sympy"``: see :func:`expression`.

    Raises
    ------
    UnsupportedError
        If the library is not installed, or if a joint's own function cannot be run on symbols.
    UnknownNameError, OptionError
        If there is no such algorithm, backend or option.

    Notes
    -----
    States are not checked; for example, without numbers it is not known whether a quaternion has unit length.
    """
    if backend == "sympy":
        return expression(robot, name, wrenches=wrenches, **options)
    refuse_unknown("backend", backend, BACKENDS)
    library(backend)
    call = Call.of(robot, name, options, wrenches)
    if backend == "jax":
        from .on_jax import jax_function

        return jax_function(call)
    from .on_casadi import casadi_function

    return casadi_function(call)


def expression(
    robot: Computing | Parametric, name: str, *, symbols: Any = None, numbers: str | Callable[[Any], Any] = "exact",
    simplify: bool | Callable[[Any], Any] = True, wrenches: bool = False, **options: Any,
) -> Expression:  # fmt: skip
    """Return the result of an algorithm as SymPy expressions.

    Parameters
    ----------
    robot : Robot or Parametric
    name : str
        As in :func:`function`.
    symbols : mapping of input name to sequence of symbols
        By default q1, q2, ... for ``q``, and so on, all real.
    numbers : "exact", "float" or callable
        Whether to write numbers as fractions that equal their decimals (0.1 is 1/10, however long these are; a float
        next to a fraction such as 1/3 is that fraction), as decimals, or converted by a function such as
        ``sympy.nsimplify``.
    simplify : bool or callable
        Whether to bring every entry into a short form (except those with many thousands of terms), to leave it as it
        is, or to apply a function such as ``sympy.simplify``.
    wrenches, **options
        As in :func:`function`.

    Returns
    -------
    Expression
        With ``value``, ``inputs`` and ``latex()``; calling it with sequences substitutes them.
    """
    library("sympy")
    from . import on_sympy

    style = on_sympy.Style.of(numbers, simplify)
    return on_sympy.expression(Call.of(robot, name, options, wrenches), symbols, style)


def equations(
    robot: Computing | Parametric, *, symbols: Any = None, numbers: str | Callable[[Any], Any] = "exact",
    simplify: bool | Callable[[Any], Any] = True,
) -> Equations:  # fmt: skip
    """Return a robot's equations of motion as SymPy expressions, simplified, and as LaTeX.

    Parameters
    ----------
    robot, symbols, numbers, simplify
        As in :func:`expression`.

    Returns
    -------
    Equations
        With ``mass_matrix``, ``coriolis``, ``gravity``, ``tau`` and more, and ``latex()``.  For a
        mechanism, ConstrainedEquations, with ``constraints``, their ``jacobian`` and ``drift``, and ``multipliers``.

    Examples
    --------
    >>> import kinetree as kt
    >>> from kinetree import symbolic
    >>> robot = kt.Builder().body("bob", "base", kt.Revolute("y"), mass=2, com=(0, 0, -0.5)).build()
    >>> symbolic.equations(robot).gravity
    Matrix([[981*sin(q1)/100]])
    """
    library("sympy")
    from . import on_sympy

    subject = as_parametric(robot)
    form = on_sympy.ConstrainedEquations if subject.robot.model.is_constrained else on_sympy.Equations
    return form(subject, symbols, on_sympy.Style.of(numbers, simplify))


__dir__ = explain_public(__name__)
