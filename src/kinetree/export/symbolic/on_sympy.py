"""Algorithms as SymPy expressions, and a robot's equations of motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import sympy as sp
from sympy.core.parameters import distribute

from ...algorithms.joint_friction import rubbing_names
from ...errors import OptionError, UnknownNameError, refuse_unknown
from ...evaluation.algorithm_options import complete_options
from ...model.describe import counted
from ...model.tree import Model
from ...spatial.arrays import leaves
from .exact import Exact, Number, as_written, exact, symbol_values
from .parameters import ClosingLoops, Parametric
from .programs import Call
from .simplify import postorder, tidy

NUMBERS = ("exact", "float")

Symbols = Mapping[str, Sequence[Any]]


# ------------------------------------------------------------------ how numbers are read and written


@dataclass(frozen=True)
class Style:
    """How numbers are read and written, and how results are simplified."""

    number: Number
    decimals: bool
    simplify: Callable[[Any], Any] | None

    @classmethod
    def of(cls, numbers: Any, simplify: Any) -> Style:
        """Return a style from checked options."""
        if not callable(numbers) and numbers not in NUMBERS:
            raise UnknownNameError("way to write numbers", numbers, NUMBERS)
        number = (lambda x: sp.sympify(numbers(x))) if callable(numbers) else as_written
        return cls(number, numbers == "float", simplify if callable(simplify) else tidy if simplify else None)

    def scalar(self, x: Any) -> Exact:
        """Return anything as a scalar for the recursions."""
        return exact(x, self.number)

    def finished(self, x: Any) -> Any:
        """Return a result in its final form."""
        e = x.expression if isinstance(x, Exact) else self.number(float(x))
        if self.simplify is not None:
            e = self.simplify(e)
        shown: dict[Any, Any] = {}
        for part in postorder(e, lambda x: x.args):
            if part in (sp.zoo, sp.nan):
                raise ZeroDivisionError
            if self.decimals and part.is_Rational and part.q > 2:  # halves are also exponents of roots
                shown[part] = sp.Float(part)
            elif any(shown[x] is not x for x in part.args):
                shown[part] = part.func(*(shown[x] for x in part.args))
            else:
                shown[part] = part
        return shown[e]


def plain(e: Any) -> str:
    """Return an expression as text, decimals without zeros at their end."""
    return str(sp.sstr(e, full_prec=False)).replace("**", "^")


# ------------------------------------------------------------------ symbols


def default_symbols(letter: str, count: int) -> tuple[Any, ...]:
    """Return real symbols q1, q2, ..."""
    return tuple(sp.Symbol(f"{letter}{k + 1}", real=True) for k in range(count))


def chosen_symbols(name: str, count: int, symbols: Symbols | None) -> tuple[Any, ...]:
    """Return the user's symbols for one input, or the default ones."""
    if symbols is None or name not in symbols:
        return default_symbols({"wrenches": "w", "multipliers": "lambda"}.get(name, name), count)
    own = tuple(sp.sympify(x) for x in symbols[name])
    if len(own) != count:
        raise OptionError(f"{count} symbols are needed for {name}, got {len(own)}")
    return own


def check_symbols(symbols: Symbols | None, names: Iterable[str]) -> None:
    """Refuse symbols for inputs that do not exist."""
    if symbols is not None and not isinstance(symbols, Mapping):
        raise OptionError("symbols must map input names to sequences of symbols, such as {'q': (alpha, beta)}")
    for name in symbols or ():
        refuse_unknown("input to have symbols", name, names)


def latex_names(model: Model, symbols: Mapping[str, Sequence[Any]]) -> dict[Any, str]:
    """Return the LaTeX names of coordinates and rates: v as a dotted q if it is the rate of q."""
    names: dict[Any, str] = {}
    for joint in model.joints if "q" in symbols else ():
        if joint.mimic or joint.kind.quaternion is not None:
            continue
        for k in range(joint.nv):
            q = symbols["q"][joint.q_slice.start + k]
            letter, _, index = sp.latex(q).partition("_")
            for name, accent in (("v", r"\dot"), ("a", r"\ddot")):
                if name in symbols:
                    names[symbols[name][joint.v_slice.start + k]] = f"{accent}{{{letter}}}" + (
                        "_" + index if index else ""
                    )
    return {symbol: text for symbol, text in names.items() if isinstance(symbol, sp.Symbol)}


# ------------------------------------------------------------------ one algorithm


@dataclass(frozen=True)
class Expression:
    """The result of an algorithm as SymPy expressions."""

    name: str
    """Name of the algorithm."""
    inputs: dict[str, tuple[Any, ...]]
    value: Any  # (vectors are columns)
    names: Mapping[Any, str]
    """LaTeX names of symbols."""

    def __call__(self, *vectors: Sequence[Any]) -> Any:
        """Return the value with other numbers or symbols substituted, one sequence per input."""
        table: dict[Any, Any] = {}
        for (name, symbols), vector in zip(self.inputs.items(), vectors, strict=True):
            if len(vector) != len(symbols):
                raise OptionError(f"{name} needs {len(symbols)} entries, got {len(vector)}")
            table.update(zip(symbols, map(sp.sympify, vector), strict=True))
        return self.value.subs(table, simultaneous=True)

    def latex(self) -> str:
        """Return the value in LaTeX."""
        return str(sp.latex(self.value, symbol_names=dict(self.names)))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def expression(call: Call, symbols: Symbols | None, style: Style) -> Expression:
    """Return the results of an algorithm on symbols."""
    check_symbols(symbols, call.inputs)
    inputs = {name: chosen_symbols(name, math.prod(shape), symbols) for name, shape in call.inputs.items()}
    own = call.subject.symbols
    _check_names(call, inputs, own)
    tree = call.subject.tree(style.scalar, everything=True, symbols=symbol_values(own, style.number))
    with distribute(False):  # 2 (x + y) stays a product, so that sums do not grow
        nested = call.run(tree, [[style.scalar(x) for x in own] for own in inputs.values()])
    try:
        value = _shaped(nested, call.shape, style)
    except ZeroDivisionError:
        raise call.singular() from None
    return Expression(call.name, inputs, value, latex_names(call.subject.robot.model, inputs))


def _check_names(call: Call, inputs: Symbols, own: Sequence[str]) -> None:
    """Refuse symbols of the robot that have the name of a coordinate, a rate or a force."""
    for name, symbols in inputs.items():
        for symbol in symbols:
            if str(symbol) in own:
                raise OptionError(
                    f"robot {call.subject.name!r} has a symbol {str(symbol)!r}, which is also the name of an entry of "
                    f"{name}: choose others, symbols={{{name!r}: ...}}"
                )


def _shaped(nested: Any, shape: tuple[int, ...], style: Style) -> Any:
    """Return a scalar, a column, a matrix or an array."""
    if not shape:
        return style.finished(nested)
    entries = [style.finished(x) for x in leaves(nested)]
    if len(shape) <= 2:
        return sp.ImmutableMatrix(*(*shape, 1)[:2], entries)
    return sp.ImmutableDenseNDimArray(entries, shape)


# ------------------------------------------------------------------ equations of motion


class PrintedLine(NamedTuple):
    """A line of the equations, in LaTeX and as plain text; without a value it is the whole equation."""

    latex: str
    plain: str
    value: Any = None


class Equations:
    """The equations of motion M(q) a + c(q, v) + g(q) = tau; each part is derived when it is first used.  ``print`` it.

    M includes the inertia of rotors, and g includes the springs of joints and tendons. Friction is left out: tau is the
    force that remains after friction has been overcome.

    Attributes
    ----------
    q, v, a : tuple of symbols
    """

    def __init__(self, subject: Parametric, symbols: Symbols | None, style: Style) -> None:
        model = subject.robot.model
        check_symbols(symbols, ("q", "v", "a"))
        self.subject, self._style = subject, style
        self.q = chosen_symbols("q", model.nq, symbols)
        self.v = chosen_symbols("v", model.nv, symbols)
        self.a = chosen_symbols("a", model.nv, symbols)

    def _derive(self, name: str) -> Any:
        own = {"q": self.q, "v": self.v, "a": self.a}
        call = Call.of(self.subject, name, {}, False)
        return expression(call, {n: own[n] for n in call.inputs}, self._style).value

    @cached_property
    def mass_matrix(self) -> Any:
        """M(q), nv x nv."""
        return self._derive("mass_matrix")

    @cached_property
    def coriolis(self) -> Any:
        """c(q, v): forces due to velocities at zero acceleration, without gravity and springs, a column."""
        return self._derive("velocity_force")

    @cached_property
    def coriolis_matrix(self) -> Any:
        """C(q, v) with C v = c and M' - 2 C skew-symmetric."""
        return self._derive("coriolis_matrix")

    @cached_property
    def gravity(self) -> Any:
        """g(q): forces that hold the robot still against gravity and springs, a column."""
        return self._derive("gravity_force")

    @cached_property
    def bias(self) -> Any:
        """c(q, v) + g(q), a column."""
        return self._derive("bias_force")

    @cached_property
    def tau(self) -> Any:
        """Joint forces for the motion, a column."""
        return self._derive("inverse_dynamics")

    @cached_property
    def kinetic_energy(self) -> Any:
        """Kinetic energy."""
        return self._derive("kinetic_energy")

    @cached_property
    def potential_energy(self) -> Any:
        """Potential energy of gravity, zero at the world's origin, and of springs."""
        return self._derive("potential_energy")

    def latex(self) -> str:
        """Return the equations as an ``align*`` environment, entry by entry; needs the package amsmath."""
        lines = [left if e is None else f"{left} &= {self._text(e)}" for left, _, e in self._lines()]
        if self._without:
            escaped = self._without.replace("_", r"\_")
            lines.append(rf"& \text{{{escaped}}}")
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"

    def __str__(self) -> str:
        """Return the equations as plain text, entry by entry: what ``print`` shows."""
        model = self.subject.robot.model
        alike = (
            [f"{q}, {v}, {a}" for q, v, a in zip(self.q, self.v, self.a, strict=True)] if model.nq == model.nv else None
        )
        named = zip(alike or [f"{v}, {a}" for v, a in zip(self.v, self.a, strict=True)], model.v_names, strict=True)
        lines = [f"equations of motion of {self.subject.name!r}", *(f"  {symbols}: {name}" for symbols, name in named)]
        lines += [left if e is None else f"{left} = {plain(e)}" for _, left, e in self._lines()]
        return "\n".join([*lines, self._without] if self._without else lines)

    @property
    def _without(self) -> str:
        """What is left out, in words; empty if nothing is."""
        names = rubbing_names(self.subject.tree(lambda x: x))
        return f"friction of {', '.join(names)} is left out" if names else ""

    def _text(self, e: Any) -> str:
        names = latex_names(self.subject.robot.model, {"q": self.q, "v": self.v, "a": self.a})
        return str(sp.latex(e, symbol_names=names))

    def _lines(self) -> list[PrintedLine]:
        n = len(self.v)
        comma = "," if n > 9 else ""
        lines = [PrintedLine(r"M(q)\, \ddot{q} + c(q, \dot{q}) + g(q) &= " + self._right[0],
                      "M(q) a + c(q, v) + g(q) = " + self._right[1])]  # fmt: skip
        for i in range(1, n + 1):
            for j in range(i, n + 1):
                places = ((i, j), (j, i)) if i != j else ((i, i),)
                left = " = ".join(f"M_{{{row}{comma}{column}}}" for row, column in places)
                plain = " = ".join(f"M[{row},{column}]" for row, column in places)
                lines.append(PrintedLine(left, plain, self.mass_matrix[i - 1, j - 1]))
        for letter, column in (("c", self.coriolis), ("g", self.gravity)):
            lines += [PrintedLine(f"{letter}_{{{i + 1}}}", f"{letter}[{i + 1}]", x) for i, x in enumerate(column)]
        return lines

    _right = (r"\tau", "tau")

    def _repr_latex_(self) -> str:
        return self.latex()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.subject.name!r}: {len(self.v)} degrees of freedom{self._more()}>"

    def _more(self) -> str:
        return ""


class ConstrainedEquations(Equations):
    """The equations of motion of a mechanism with closed loops, including constraint forces.

        M(q) a + c(q, v) + g(q) = tau + K(q)^T lambda,    phi(q) = 0,  K v = 0,  K a + k(q, v) = 0

    M, c and g are those of the spanning tree.  Redundant constraints are left out.  K is the derivative of phi where
    phi is zero.

    Attributes
    ----------
    q, v, a, multipliers : tuple of symbols
    constraint_names : tuple of str
        One per entry of phi.
    """

    def __init__(self, subject: Parametric, symbols: Symbols | None, style: Style) -> None:
        own = symbols if not isinstance(symbols, Mapping) else {n: x for n, x in symbols.items() if n != "multipliers"}
        super().__init__(subject, own, style)
        robot, names = subject.robot, subject.robot.model.constraint_names
        self._rows = tuple(range(len(names)))
        if isinstance(robot, ClosingLoops):
            self._rows = tuple(sorted(row for row, _ in robot.closed_form("forward_dynamics")[1]["pivots"]))
        self.constraint_names = tuple(names[i] for i in self._rows)
        self.multipliers = chosen_symbols("multipliers", len(self._rows), symbols)

    def _kept(self, whole: Any) -> Any:
        return sp.ImmutableMatrix(whole.extract(list(self._rows), list(range(whole.shape[1]))))

    @cached_property
    def constraints(self) -> Any:
        """phi(q): the gaps of the loops, a column; zero for constraints on velocities."""
        return self._kept(self._derive("loop_gaps"))

    @cached_property
    def jacobian(self) -> Any:
        """K(q), a row per constraint."""
        return self._kept(self._derive("loop_jacobian"))

    @cached_property
    def drift(self) -> Any:
        """k(q, v) = K' v, a column."""
        return self._kept(self._derive("loop_drift"))

    @cached_property
    def tree_tau(self) -> Any:
        """M a + c + g: joint forces with all loops open, a column."""
        model = self.subject.stand_in if self.subject.scalars else self.subject.robot.model
        call = Call(self.subject, "inverse_dynamics", complete_options(model, "inverse_dynamics", {}), False)
        return expression(call, {"q": self.q, "v": self.v, "a": self.a}, self._style).value

    @cached_property
    def tau(self) -> Any:
        """Joint forces for the motion while the loops carry the multipliers, M a + c + g - K^T lambda, a column."""
        return self.tree_tau - self.jacobian.T * sp.ImmutableMatrix(self.multipliers)

    _right = (r"\tau + K(q)^T \lambda", "tau + K(q)^T lambda")

    def _lines(self) -> list[PrintedLine]:
        lines = [*super()._lines(), PrintedLine(r"\varphi(q) &= 0", "phi(q) = 0")]
        lines.append(PrintedLine(r"K(q)\, \ddot{q} + k(q, \dot{q}) &= 0", "K(q) a + k(q, v) = 0"))
        lines += [
            PrintedLine(rf"\varphi_{{{i + 1}}}", f"phi[{i + 1}]", self.constraints[i]) for i in range(len(self._rows))
        ]
        for i, j in product(range(len(self._rows)), range(len(self.v))):
            if self.jacobian[i, j] != 0:
                lines.append(PrintedLine(f"K_{{{i + 1},{j + 1}}}", f"K[{i + 1},{j + 1}]", self.jacobian[i, j]))
        return lines + [PrintedLine(f"k_{{{i + 1}}}", f"k[{i + 1}]", x) for i, x in enumerate(self.drift)]

    def _more(self) -> str:
        return f", {counted(len(self._rows), 'constraint', 'constraints')}"
