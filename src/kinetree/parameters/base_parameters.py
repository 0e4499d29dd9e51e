"""The base parameters of a robot: the fewest numbers that determine its torques, and their groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ExplainsArguments, NoValueError, UnknownNameError
from ..export.symbolic.programs import library
from ..model.parameters import ParameterTable
from ..spatial.arrays import Array
from ..spatial.formula import ScalarFormula, symbols_among
from .book_formulas import book_formulas, parsed
from .grouping import group, null_space
from .parameters_to_group import Considered

LEAST = 1e-9
"""Effects and coefficients below this, in the robot's own units, are rounding errors."""


@dataclass(frozen=True, eq=False)
class BaseParameters(ExplainsArguments):
    """The fewest parameters that determine the torques of a robot.

    Every base parameter stands for a group: it is named after the one parameter that is kept, and includes others, each
    with a coefficient. ``matrix`` maps all parameters to the base parameters, and the regressor of the base parameters
    consists of the regressor's columns of the parameters that are kept:

        base.values == base.matrix @ robot.parameters().values
        robot.regressor(q, v, a)[..., base.columns] @ base.values == robot.inverse_dynamics(q, v, a)

    ``len``, iteration and ``base["link_3.XX"]`` go over the names.

    Attributes
    ----------
    robot : str
        Name of the robot.
    table : ParameterTable
        All parameters of the robot.
    columns : tuple of int
        Indices of the parameters that are kept, in the table and among the regressor's columns.
    matrix : ndarray, shape (len(base), p)
    considered : tuple of int
        Indices in the table of the parameters to be grouped; friction (unless requested) and rotors of joints without a
        motor are not among them.
    method : str
        How the base parameters were found, in words.
    notes : tuple of str
        Remarks on this result, for example on rounded geometry or on the assembly of the mechanism.
    upper_bound : int or None
        The most base parameters, without rotors, that a robot with such joints can have (Khalil eq. 10.24, 10.57).
    coefficients : mapping, optional
        ``{grouped: {kept: expression}}`` over symbols, for a robot with symbols among its dimensions.
    asked : Considered, optional
        The model, and its parameters to be grouped.

    For a robot with symbols that have no value, ``values`` contains formulas instead of numbers, and so does ``matrix``
    if some of the symbols are dimensions.
    """

    robot: str
    table: ParameterTable
    columns: tuple[int, ...]
    matrix: Array
    considered: tuple[int, ...]
    method: str
    notes: tuple[str, ...] = ()
    upper_bound: int | None = None
    coefficients: Mapping[str, Mapping[str, Any]] | None = None
    asked: Considered | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name per group: that of the parameter that is kept."""
        return tuple(self.table.names[c] for c in self.columns)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each group."""
        return tuple(self.table.units[c] for c in self.columns)

    @cached_property
    def values(self) -> Array:
        """Values of the groups for this robot, (n,): numbers, or formulas in its symbols."""
        return np.asarray(self.matrix @ self.table.values)

    @property
    def is_symbolic(self) -> bool:
        """Whether there are symbols without a value among the robot's own parameters or dimensions."""
        return self.matrix.dtype == object or self.table.values.dtype == object

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """Parameters that no torque depends on."""
        silent = ~np.any(self.matrix != 0.0, axis=0)
        return tuple(self.table.names[c] for c in self.considered if silent[c])

    @cached_property
    def grouped(self) -> tuple[str, ...]:
        """Parameters that act only together with others and are part of other groups."""
        gone = {*self.columns, *(self.table.index(name) for name in self.without_effect)}
        return tuple(self.table.names[c] for c in self.considered if c not in gone)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> Any:
        value = self.values[self.index(name)]
        return value if isinstance(value, ScalarFormula) else float(value)

    def index(self, name: str) -> int:
        """Return the index of a base parameter; the error for an unknown name suggests the nearest."""
        try:
            return self.names.index(name)
        except ValueError:
            raise UnknownNameError("base parameter", name, self.names) from None

    def group(self, name: str) -> dict[str, Any]:
        """Return the parameters in a group with their coefficients, beginning with the one that is kept.

        Coefficients are numbers, or formulas if dimensions of the robot are symbols without a value.

        Examples
        --------
        >>> import kinetree as kt
        >>> base = kt.gallery.load("gripper").base_parameters()
        >>> base.group(base.names[0])[base.names[0]]
        1.0
        """
        k = self.index(name)
        own = self.columns[k]
        others = [int(c) for c in np.flatnonzero(self.matrix[k] != 0.0) if c != own]
        found = {self.table.names[c]: self.matrix[k, c] for c in (own, *others)}
        return {name: x if isinstance(x, ScalarFormula) else float(x) for name, x in found.items()}

    def formulas(self) -> dict[str, str]:
        """Return every group as in the books: ``{"XXR2": "XX2 - YY2 - D3**2*(M3 + M4 + M5 + M6)", ...}``.

        As in Khalil's notation, the group in which the parameter XX of the second link is kept is called XXR2.
        Parameters that are symbols in the robot's file keep their names; others are named by their symbol and the
        number of their link. Parameters that are zero in a file with symbols are left out.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("z"), mass=1, com=(0, 0, -1)).build()
        >>> robot.base_parameters().formulas()
        {'ZZR1': 'ZZ1 + IA1'}
        """
        return book_formulas(self)

    def among(self, names: Iterable[str]) -> BaseParameters:
        """Return the base parameters of a robot if only some parameters are unknown.

        A parameter that acts only together with known ones can then be identified separately, so there are other and
        fewer groups.

        Parameters
        ----------
        names : iterable of str
            The unknown parameters; those that were not to be grouped are ignored.

        Examples
        --------
        >>> import kinetree as kt
        >>> base = kt.gallery.load("kuka-kr5").base_parameters()
        >>> base.among(["link_6.M", "link_6.MX", "link_6.MZ"]).names
        ('link_6.MX', 'link_6.MZ', 'link_6.M')
        """
        assert self.asked is not None
        unknown = symbols_among(self.matrix.ravel())
        if unknown:
            raise NoValueError(unknown)
        wanted = frozenset(names)
        for name in wanted:
            self.table.index(name)
        asked = replace(self.asked, only=wanted & {self.table.names[c] for c in self.considered})
        columns, sizes = list(asked.columns), asked.sizes
        scaled = self.matrix[:, columns] * sizes[columns] / sizes[list(self.columns)][:, None]
        unnoticed = np.zeros((len(self.table), 0))
        if columns:
            own = null_space(scaled, LEAST)
            unnoticed = np.zeros((len(self.table), own.shape[1]))
            unnoticed[columns] = own
        found = group(unnoticed, asked, LEAST)
        matrix = table_matrix(found.kept, found.given_up, found.coefficients, len(self.table))
        return replace(
            self, columns=found.kept, matrix=matrix, considered=asked.columns, upper_bound=None, coefficients=None,
            notes=(*self.notes, f"all but {len(columns)} parameters are known"), asked=asked,
        )  # fmt: skip

    def expressions(self) -> dict[str, Any]:
        """Return every group as a SymPy expression in symbols named like the parameters.

        Coefficients are expressions in the robot's symbols if it has any, and otherwise fractions that equal their
        decimals, as in :func:`kinetree.symbolic.expression`.
        """
        library("sympy")
        from .symbolic_groups import group_expressions

        return group_expressions(self.names, [self.group(name) for name in self.names], self.coefficients)

    def __repr__(self) -> str:
        return f"<{len(self)} base parameters of robot {self.robot!r}, by {self.method}>"

    def __str__(self) -> str:
        """Return a table: each base parameter with its value and everything grouped into it."""
        head = (
            f"{len(self)} base parameters of {self.robot!r} out of {len(self.considered)}: {len(self.grouped)} are "
            f"grouped with others, {len(self.without_effect)} have no effect"
        )
        lines = [head, f"found by {self.method}"]
        if self.upper_bound is not None:
            lines.append(f"at most {self.upper_bound} of links by Khalil eq. 10.24 and 10.57")
        lines += [f"note: {note}" for note in self.notes]
        width = max((len(name) for name in self.names), default=0)
        lines.append("")
        if self.is_symbolic:
            written = self.formulas()
            lines += [f"{name} = {text}" for name, text in written.items()]
            silent = ["without effect: " + ", ".join(self.without_effect)] if self.without_effect else []
            return "\n".join([*lines, "", *silent]).rstrip()
        numbers = [f"{x:.6g}" for x in self.values]
        digits = max((len(x) for x in numbers), default=0)
        for k, (name, number) in enumerate(zip(self.names, numbers, strict=True)):
            terms = self._terms(k)
            lines.append(f"{name:<{width}}  {number:>{digits}} {self.units[k]:<6}  = {terms}")
        if self.without_effect:
            lines += ["", f"without effect: {', '.join(self.without_effect)}"]
        return "\n".join(line.rstrip() for line in lines)

    def _terms(self, k: int) -> str:
        name = self.names[k]
        if self.coefficients is not None:
            others: dict[str, Any] = {o: into[name] for o, into in self.coefficients.items() if name in into}
        else:
            others = {o: x for o, x in self.group(name).items() if o != name}
        return name + "".join(_term(x, other) for other, x in others.items())


def _term(x: Any, name: str) -> str:
    """Return ``+ 2 link.M``, ``- link.M`` or ``+ (a**2 + b**2) link.M``."""
    if isinstance(x, float):
        negative, size = x < 0.0, f"{abs(x):.6g}"
    else:
        negative = bool(x.could_extract_minus_sign())
        size = str(-x if negative else x)
        size = f"({size})" if " " in size else size
    return f" {'-' if negative else '+'} {'' if size == '1' else size + ' '}{name}"


def formula_matrix(
    matrix: Array, names: Sequence[str], kept: Sequence[int], coefficients: Mapping[str, Mapping[str, Any]]
) -> Array:
    """Return the matrix that maps all parameters to the base ones, with formulas in the robot's own symbols."""
    place = {names[c]: k for k, c in enumerate(kept)}
    found = np.where(np.isin(np.arange(matrix.shape[1]), list(kept)), matrix, 0.0).astype(object)
    for grouped, into in coefficients.items():
        for name, expression in into.items():
            found[place[name], names.index(grouped)] = parsed(str(expression))
    return found


def table_matrix(kept: Sequence[int], given_up: Sequence[int], coefficients: Array, count: int) -> Array:
    """Return the matrix that maps all parameters to the base ones."""
    matrix = np.zeros((len(kept), count))
    matrix[np.arange(len(kept)), list(kept)] = 1.0
    if given_up:
        matrix[:, list(given_up)] = coefficients
    return matrix
