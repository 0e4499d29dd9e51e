"""Base parameters of a model by one of three methods, or by those methods that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import OptionError, refuse_unknown
from ..evaluation.small_matrices import one_blas_thread
from ..export.symbolic.parameters import Parametric
from ..model.changes.values import generic, symbols_of_geometry
from ..model.parameters import parameters
from ..model.tree import Model
from ..spatial.arrays import Array
from . import base_by_null_space, base_by_qr, base_by_rules
from .base_by_qr import Draw
from .base_by_rules import upper_bound
from .base_parameters import BaseParameters, formula_matrix, table_matrix
from .grouping import dense, group, span
from .parallelograms import Parallelogram
from .parameters_to_group import Considered
from .round_geometry import rounded

EXACT = 1e-10
"""Coefficients from rules and small decompositions that are below this are rounding errors."""

SAMPLED = 1e-7
"""The same limit for coefficients from sampled torques."""

SAME = 1e-6
"""Two methods agree if no change of one is further than this from those of the other, in the robot's own units."""

LAST_DIGITS = 1e-13
"""If the relative deviation of a coefficient from a number with twelve digits is below this, it is a rounding error."""

IN_BETWEEN = ("refuse", "ignore")


@dataclass(frozen=True)
class Tidied:
    """A robot with rounded geometry, in the form that functions with symbols need."""

    model: Model
    precision: str = "double"

    def closed_form(self, name: str, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Return the algorithm unchanged, since parameters are grouped on the tree."""
        return name, {}


class Assembled(NamedTuple):
    """A mechanism in one assembly mode: random closed motions, and its parallelograms."""

    draw: Draw
    parallelograms: Sequence[Parallelogram]
    way: str
    """The assembly mode in words."""


class Unnoticed(NamedTuple):
    """Unnoticed changes as columns, their level of rounding errors, and how they were found."""

    unnoticed: Array
    noise: float
    method: str
    notes: tuple[str, ...] = ()


def tidied(model: Model, tolerance: float) -> tuple[Model, tuple[str, ...]]:
    """Return the model with its geometry rounded, and a note if that changed anything."""
    if not (isinstance(tolerance, (int, float)) and 0.0 <= tolerance < 0.1):
        raise OptionError(
            f"tolerance must be a number between 0 and 0.1 (radians, or parts of a length), not {tolerance!r}"
        )
    result = rounded(model, tolerance, Considered(generic(model)).length)
    if result.largest < 1e-12:
        return result.model, ()
    return result.model, (
        f"angles and positions were rounded by up to {result.largest:.1g} (tolerance={tolerance:g}); the groups "
        "reproduce torques to about that",
    )


@one_blas_thread()
def base_parameters(
    model: Model, method: str, *, friction: bool = False, assembled: Assembled | None = None,
    symbols: Parametric | None = None, notes: tuple[str, ...] = (), in_between: str = "refuse", rotors: bool = True,
) -> BaseParameters:  # fmt: skip
    """Return the base parameters of a model.

    Parameters
    ----------
    model : Model
        The model with rounded geometry, see :func:`tidied`.  It may have symbols without a value; if these are among
        its dimensions, ``symbols`` must be given.
    method : {"auto", "rules", "null_space", "qr"}
    friction : bool
        Whether to also group damping, Coulomb friction and offsets.
    assembled : Assembled, optional
        Assembly of a model with closed loops.
    symbols : Parametric, optional
        The same robot with symbols for some of its dimensions: coefficients are expressions in them.
    notes : tuple of str
        Further remarks on the result.
    in_between : {"refuse", "ignore"}
        What to do with numerical effects that are too large to be rounding errors and too small to be significant.
    rotors : bool
        Whether to also group the rotors of motors.
    """
    refuse_unknown("method of finding base parameters", method, METHODS)
    if symbols is not None and method not in ("auto", "rules"):
        raise OptionError(f"symbols among dimensions need method='rules'; {method!r} computes with numbers")
    refuse_unknown("way with effects in between", in_between, IN_BETWEEN)
    considered = Considered(generic(model), friction, rotors)
    search = _ThreeMethods(considered, assembled, in_between)
    result = search.by_rules() if symbols is not None else getattr(search, METHODS[method])()
    found = group(result.unnoticed, considered, result.noise)
    coefficients = None
    if symbols is not None:
        from .symbolic_groups import coefficient_expressions

        shapes = () if assembled is None else assembled.parallelograms
        coefficients = coefficient_expressions(considered, shapes, found, symbols)
    table, count = parameters(model), 0 if assembled is None else len(assembled.parallelograms)
    way = () if assembled is None else (f"for the mechanism as it is assembled at q = {assembled.way}",)
    matrix = table_matrix(found.kept, found.given_up, found.coefficients, len(table))
    if coefficients is not None and symbols_of_geometry(model):
        matrix = formula_matrix(matrix, table.names, found.kept, coefficients)
    elif table.values.dtype == object:
        matrix = _as_meant(matrix)
    return BaseParameters(
        model.name, table, found.kept, matrix, considered.columns,
        result.method, (*notes, *way, *result.notes), upper_bound(considered.model, count),
        coefficients, considered,
    )  # fmt: skip


class _ThreeMethods:
    """One model, and three methods to find which parameters act together."""

    def __init__(self, considered: Considered, assembled: Assembled | None, in_between: str) -> None:
        self.considered, self.assembled, self.in_between = considered, assembled, in_between
        self.coupled = considered.model.has_followers or assembled is not None

    @property
    def draw(self) -> Draw:
        """The function that draws the states at which torques are sampled."""
        return base_by_qr.random_motions(self.considered) if self.assembled is None else self.assembled.draw

    def by_rules(self) -> Unnoticed:
        """Apply the rules of Khalil."""
        shapes = () if self.assembled is None else self.assembled.parallelograms
        vectors = base_by_rules.unnoticed(self.considered, shapes)
        return Unnoticed(dense(vectors, self.considered), EXACT, "the rules of Khalil")

    def by_null_space(self) -> Unnoticed:
        """Propagate null spaces along the tree; find the additional changes due to followers and loops numerically."""
        own = span(dense(base_by_null_space.unnoticed(self.considered), self.considered))
        if not self.coupled:
            return Unnoticed(own, EXACT, "null-space propagation")
        kept = group(own, self.considered, EXACT).kept
        more = base_by_qr.unnoticed(self.considered, self.draw, kept, self.in_between)
        why = "followers" if self.assembled is None else "loops"
        return Unnoticed(
            np.concatenate([own, more.unnoticed], axis=1), SAMPLED,
            f"null-space propagation, and QR for what {why} add ({more.unnoticed.shape[1]} more)",
        )  # fmt: skip

    def by_qr(self) -> Unnoticed:
        """Decompose sampled torques."""
        found = base_by_qr.unnoticed(self.considered, self.draw, in_between=self.in_between)
        gap = "" if found.gap == np.inf else f", with a gap of {found.gap:.0e}"
        return Unnoticed(found.unnoticed, SAMPLED, f"QR with pivoting of sampled torques{gap}")

    def by_agreement(self) -> Unnoticed:
        """Propagate null spaces, and use the rules if they agree, since rules have no rounding errors."""
        whole = self.by_null_space()
        reason = base_by_rules.reached(self.considered.model)
        if reason:
            return whole
        ruled = self.by_rules()
        missed = span(whole.unnoticed).shape[1] - span(ruled.unnoticed).shape[1]
        if not missed and _within(ruled.unnoticed, whole.unnoticed):
            return ruled._replace(method=f"{ruled.method}; {whole.method} finds the same")
        return whole._replace(notes=(f"the rules of Khalil miss {missed} of these groupings",))


METHODS = {"auto": "by_agreement", "rules": "by_rules", "null_space": "by_null_space", "qr": "by_qr"}


def _as_meant(matrix: Array) -> Array:
    """Remove rounding errors from the last digits of coefficients shown in formulas: 80 for 80.00000000000004."""
    short = np.array([float(f"{x:.12g}") for x in matrix.ravel()]).reshape(matrix.shape)
    return np.where(np.abs(matrix - short) <= LAST_DIGITS * np.maximum(1.0, np.abs(matrix)), short, matrix)


def _within(changes: Array, others: Array) -> bool:
    """Return whether changes are in the span of others."""
    basis, own = span(others), span(changes)
    return bool(np.abs(own - basis @ (basis.T @ own)).max(initial=0.0) < SAME)
