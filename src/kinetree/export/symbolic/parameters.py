"""Robots with other scalars for some of their constants: symbols, or numbers to differentiate with respect to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ...model.changes.over_any_scalar import Values
from ...model.changes.values import valued
from ...model.substitution import Convert, Given, Substitution, substitution
from ...model.tree import Model
from ..model_of import Modeled

if TYPE_CHECKING:
    from .on_sympy import Equations


class Computing(Modeled, Protocol):
    """The interface of robots for functions of other libraries."""

    @property
    def precision(self) -> str:
        """``"double"`` or ``"single"``."""


@runtime_checkable
class ClosingLoops(Protocol):
    """A robot with closed loops, which selects algorithms that include them."""

    def closed_form(self, name: str, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Return the algorithm that computes the same with closed loops, and its options."""


@dataclass(frozen=True)
class Parametric:
    """A robot, and the scalars that replace some of its numbers; see :func:`with_parameters`."""

    robot: Computing
    substitution: Substitution = field(default_factory=Substitution)

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.robot.model.name

    @property
    def scalars(self) -> list[Any]:
        """All parameters that are not plain numbers, each once, in the order given."""
        return self.substitution.scalars

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of the robot that have no value."""
        return tuple(name for name in self.robot.model.symbols if name not in self.substitution.symbols)

    @cached_property
    def stand_in(self) -> Model:
        """A purely numeric model to check options against; inertias that are parameters have arbitrary values."""
        return self.substitution.stand_in(self.robot.model)

    def tree(self, convert: Convert, *, everything: bool = False, symbols: Values | None = None) -> Model:
        """Return the model with substituted parameters, each passed to ``convert``; with ``everything``, all numbers.

        Exact zeros stay zeros, so that they are skipped as in any model.  ``symbols`` has scalars for the robot's own
        symbols.
        """
        return self.substitution.tree(valued(self.robot.model, symbols or {}), convert, everything=everything)

    def equations(self, **options: Any) -> Equations:
        """Return the equations of motion as SymPy expressions; see :func:`kinetree.symbolic.equations`."""
        from . import equations  # which takes what is defined here

        return equations(self, **options)


def with_parameters(
    robot: Computing, *, bodies: Mapping[str, Given] | None = None, joints: Mapping[str, Given] | None = None,
    frames: Mapping[str, Given] | None = None, gravity: Any = None, parameters: Given | None = None,
    loops: Mapping[str, Given] | None = None, tendons: Mapping[str, Given] | None = None, symbols: Given | None = None,
) -> Parametric:  # fmt: skip
    """Return a robot with other scalars in place of some of its numbers.

    Parameters
    ----------
    robot : Robot
    bodies : mapping of body name to mapping
        ``mass``, ``com`` (3) and ``inertia`` about the center of mass: 3 (xx, yy, zz) or 6
        (xx, yy, zz, xy, xz, yz).  Everything that is welded to a body is part of it.
    joints : mapping of joint name to mapping
        The joint's pose on its parent: ``position`` (3) and ``rpy`` (3, as in URDF); its motor: ``rotor_inertia`` and
        ``gear_ratio``; ``damping``, ``friction`` and ``friction_offset``; ``stiffness`` and ``spring_rest``, if it has
        a spring.
    frames : mapping of frame name to mapping
        ``position`` and ``rpy`` of named frames.
    gravity : sequence of 3
        Acceleration of free fall.
    parameters : mapping of name to scalar
        Names of the table of :meth:`kinetree.Robot.parameters`, such as ``"link_3.MX"``; the other parameters of that
        body are kept.
    loops : mapping of loop joint name to mapping
        Where a loop joint is: ``position`` and ``rpy`` on its predecessor, and its position ``seat`` on its successor.
    tendons : mapping of tendon name to mapping
        ``stiffness`` and ``rest`` of the spring along it; if it is slack between two lengths, ``rest`` is the longer
        one, unless that is infinite.
    symbols : mapping of name to scalar
        Values for symbols of the robot that have none (:attr:`kinetree.Robot.symbols`): numbers, arrays of JAX, symbols
        of CasADi or SymPy. Those left out remain symbols of SymPy, or become further arguments of functions.

    Returns
    -------
    Parametric
        An argument for :func:`kinetree.symbolic.function`, :func:`kinetree.symbolic.expression` and
        :func:`kinetree.symbolic.equations`.

    Raises
    ------
    UnknownNameError
        If there is no such body, joint, frame, property or parameter.
    ModelError
        If a property has the wrong number of numbers.

    Examples
    --------
    ``with_parameters(arm, bodies={"upper": {"mass": m1}}, joints={"elbow": {"position": (l1, 0, 0)}})``
    """
    return Parametric(
        robot,
        substitution(
            robot.model,
            bodies=bodies,
            joints=joints,
            frames=frames,
            gravity=gravity,
            parameters=parameters,
            loops=loops,
            tendons=tendons,
            symbols=symbols,
        ),
    )
