"""Graphs as C99: straight-line functions that allocate nothing and need no library but math.h, or none.

A node that is used once is written into the expression that uses it; every other node
gets a temporary.  Temporaries are shared by values that are not alive at the same time,
so a function needs as many as it has values alive at once, not as many as it has nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from importlib import resources
from string import Template

import numpy as np

from .functions import written_out
from .graph import ABS, ADD, ATAN2, CONST, COS, DIV, FMA, GATHER, INPUT, LESS, MUL, NEG, SELECT, SIN, SQRT, SUB, Graph
from .llvm.trigonometry import ATAN_COEFFICIENTS, COS_COEFFICIENTS, HALF_PI, SIN_COEFFICIENTS, TAN_EIGHTH, TWO_OVER_PI

LONGEST_EXPRESSION = 8
"""Operations in one expression; more would be unreadable and gain nothing."""

LARGEST_OWN_ANGLE = 1.6e9
"""Angles beyond this (in radians) give NaN where the sine of math.h is not used."""

KEYWORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
})  # fmt: skip

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_BINARY = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}


def is_identifier(name: str) -> bool:
    """Return whether C accepts a name as it is (leading underscores belong to the compiler)."""
    return bool(_IDENTIFIER.match(name)) and name not in KEYWORDS


def identifier(text: str, otherwise: str = "x") -> str:
    """Return the nearest name that C accepts: letters, digits and underscores, starting with a letter."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    if not name:
        name = otherwise
    if not name[0].isalpha():
        name = f"{otherwise}_{name}"
    return name + "_" if name in KEYWORDS else name


def comment(text: str) -> str:
    """Return the text in a form that may stand inside a comment: one line of printable ASCII, whatever it contained."""
    plain = text.encode("unicode_escape").decode("ascii")
    plain = plain.replace("*/", "* /").replace("/*", "/ *")
    return re.sub(r"\?(?=\?)", "? ", plain)  # the last three characters of "???/" would still be a trigraph


class ConstantError(ValueError):
    """A number that the chosen precision cannot hold."""


@dataclass(frozen=True)
class Dialect:
    """The conventions for writing C."""

    prefix: str
    """In front of every name with file scope."""
    single_precision: bool = False
    """``float`` instead of ``double``."""
    own_math: bool = False
    """Bring sine, cosine, square root and arctangent along instead of calling math.h."""

    @property
    def real(self) -> str:
        """The type of all numbers."""
        return "float" if self.single_precision else "double"

    @property
    def temporary(self) -> str:
        """The macro that declares where temporaries live."""
        return f"{self.prefix.upper()}_TEMPORARY"

    def number(self, x: float) -> str:
        """Return a literal that reads back exactly; in single precision, the number is rounded once."""
        if self.single_precision:
            if math.isfinite(x) and abs(x) > float(np.finfo(np.float32).max):
                raise ConstantError(f"the number {x!r} does not fit into single precision")
            x = float(np.float32(x))
        suffix = "f" if self.single_precision else ""
        if x != x:
            return f"(0.0{suffix} / 0.0{suffix})"
        if math.isinf(x):
            return f"({'-' if x < 0 else ''}1.0{suffix} / 0.0{suffix})"
        text = str(np.float32(x)) if self.single_precision else repr(x)
        if "." not in text and "e" not in text:
            text += ".0"
        return f"({text}{suffix})" if math.copysign(1.0, x) < 0 else text + suffix

    def function(self, name: str) -> str:
        """Return the C name of a function of one or two numbers."""
        if self.own_math:
            return f"{self.prefix}_own_{name}"
        return name + ("f" if self.single_precision else "")


@dataclass(frozen=True)
class CFunction:
    """A graph to be written as ``void name(const real *a, ..., real *result)``."""

    name: str
    graph: Graph
    outputs: Sequence[int]
    """Entries of the result."""
    arguments: tuple[tuple[str, int], ...]
    """Name and length of each input vector."""
    result: str = "result"
    """Name of the output vector."""

    def signature(self, real: str, restrict: str = "") -> str:
        """Return the declaration, without a semicolon; gains are members of a struct, as in ``gains->kp``."""
        owners = dict.fromkeys(name.partition("->")[:2] for name, _ in self.arguments)
        types = {"": real, "->": f"{self.name}_gains"}
        inputs = [f"const {types[kind]} *{restrict}{name}" for name, kind in owners]
        return f"void {self.name}({', '.join([*inputs, f'{real} *{restrict}{self.result}'])})"


class _BodyWriter:
    """Turns one graph into statements."""

    def __init__(self, dialect: Dialect, function: CFunction) -> None:
        function = replace(function, outputs=written_out(function.graph, function.outputs))
        self.dialect, self.f, self.graph = dialect, function, function.graph
        self.order = self.graph.reachable(function.outputs)
        self.wanted: dict[int, list[int]] = {}
        for k, o in enumerate(function.outputs):
            self.wanted.setdefault(o, []).append(k)
        self.places = [f"{name}[{k}]" for name, length in function.arguments for k in range(length)]
        self.partner: dict[tuple[int, str], int] = {
            (self.graph.args[i][0], self.graph.kinds[i]): i for i in self.order if self.graph.kinds[i] in (SIN, COS)
        }
        self._choose_temporaries()
        self._find_last_uses()
        self.slots: dict[int, int] = {}
        self.free: list[int] = []
        self.count = 0
        self.lines: list[str] = []
        self.used_inputs: set[int] = set()
        self.needs: set[str] = set()
        self.tables: set[int] = set()

    def _choose_temporaries(self) -> None:
        """Decide which nodes become separate statements."""
        g = self.graph
        uses = dict.fromkeys(self.order, 0)
        for i in self.order:
            for a in g.args[i]:
                uses[a] += 1
        for o, places in self.wanted.items():
            uses[o] += len(places)
        rows = {self.graph.args[i][0] for i in self.order if g.kinds[i] == GATHER}  # written several times
        size: dict[int, int] = {}
        self.kept: set[int] = set()
        for i in self.order:
            kind = g.kinds[i]
            if kind in (CONST, INPUT):
                size[i] = 0
                continue
            size[i] = 1 + sum(size[a] for a in g.args[i])
            together = self.dialect.own_math and kind in (SIN, COS)
            if kind == LESS and i not in self.wanted:
                continue  # a condition is written where it is used
            if uses[i] > 1 or together or i in rows or size[i] >= LONGEST_EXPRESSION:
                self.kept.add(i)
                size[i] = 0

    def _find_last_uses(self) -> None:
        """Find after which statement each temporary is free again."""
        self.last: dict[int, int] = {}
        statements = [i for i in self.order if i in self.kept or i in self.wanted]
        for position, i in enumerate(statements):
            for a in self._reads(i):
                self.last[a] = position
        self.statements = statements

    def _reads(self, i: int) -> list[int]:
        """Return the temporaries that the statement of a node reads."""
        found, stack = [], list(self.graph.args[i])
        while stack:
            a = stack.pop()
            if a in self.kept:
                found.append(a)
            else:
                stack.extend(self.graph.args[a])
        return found

    def _slot(self, i: int) -> str:
        if self.free:
            slot = heappop(self.free)
        else:
            slot, self.count = self.count, self.count + 1
        self.slots[i] = slot
        return f"t{slot}"

    def _release(self, position: int, nodes: Sequence[int]) -> None:
        for a in set(nodes):
            if self.last.get(a, -1) <= position and a in self.slots:
                heappush(self.free, self.slots.pop(a))

    def write(self) -> None:
        """Write all statements."""
        for position, i in enumerate(self.statements):
            if i in self.slots:  # a cosine that came with its sine
                self._store(i, f"t{self.slots[i]}")
                self._release(position, [i, *self._reads(i)])
                continue
            if self.dialect.own_math and self.graph.kinds[i] in (SIN, COS):
                self._write_circle(i, position)
                continue
            value = self._expression(i)
            reads = self._reads(i)
            if i in self.kept and i in self.last:
                self._release(position, reads)
                name = self._slot(i)
                self.lines.append(f"{name} = {value};")
                self._store(i, name)
            else:
                self._store(i, value)
                self._release(position, reads)

    def _store(self, i: int, value: str) -> None:
        if i in self.wanted:
            self.lines.append("".join(f"{self.f.result}[{k}] = " for k in self.wanted[i]) + f"{value};")

    def _write_circle(self, i: int, position: int) -> None:
        """Write sine and cosine of one angle in one call; an unused one goes into a spare variable."""
        angle = self.graph.args[i][0]
        self.needs.add("sincos")
        value = self._name(angle)
        both = {kind: self.partner.get((angle, kind)) for kind in (SIN, COS)}
        names = {kind: "spare" if node is None else self._slot(node) for kind, node in both.items()}
        if "spare" in names.values():
            self.needs.add("spare")
        self.lines.append(f"{self.dialect.function('sincos')}({value}, &{names[SIN]}, &{names[COS]});")
        self._store(i, names[self.graph.kinds[i]])
        self._release(position, self._reads(i))
        if i not in self.last:
            self._release(position, [i])

    def _name(self, i: int) -> str:
        """Return a node written as an operand."""
        kind = self.graph.kinds[i]
        if kind == CONST:
            return self.dialect.number(float(self.graph.values[i]))
        if kind == INPUT:
            self.used_inputs.add(int(self.graph.values[i]))
            return self.places[int(self.graph.values[i])]
        if i in self.slots:
            return f"t{self.slots[i]}"
        text = self._expression(i)
        is_call = kind in (SQRT, SIN, COS, ATAN2, FMA, ABS)
        return text if is_call else f"({text})"

    def _expression(self, i: int) -> str:
        g, kind = self.graph, self.graph.kinds[i]
        if kind in (CONST, INPUT):
            return self._name(i)
        if kind == GATHER:
            return self._looked_up(i)
        if kind == SELECT:
            condition, yes, no = g.args[i]
            return f"{self._condition(condition)} ? {self._name(yes)} : {self._name(no)}"
        if kind == LESS:
            return f"{self._condition(i)} ? {self.dialect.number(1.0)} : {self.dialect.number(0.0)}"
        a = [self._name(x) for x in g.args[i]]
        if kind in _BINARY:
            return f"{a[0]} {_BINARY[kind]} {a[1]}"
        if kind == NEG:
            return f"-{a[0]}"
        return self._call(kind, a)

    def _looked_up(self, i: int) -> str:
        """Return a number of a table; rows outside of it are its first or last one, as in :meth:`Graph.gather`."""
        which, columns, column = self.graph.gathered_from(i)
        self.tables.add(which)
        row, last = self._name(self.graph.args[i][0]), self.dialect.number(float(len(self.graph.tables[which]) - 1))
        zero, table = self.dialect.number(0.0), f"table{which}"
        inside = f"{table}[(long)({row} < {zero} ? {zero} : {row} > {last} ? {last} : {row}) * {columns} + {column}]"
        return f"{row} != {row} ? {row} : {inside}"

    def _condition(self, i: int) -> str:
        if self.graph.kinds[i] == LESS and i not in self.slots:
            a, b = (self._name(x) for x in self.graph.args[i])
            return f"({a} < {b})"
        return f"({self._name(i)} > {self.dialect.number(0.0)})"

    def _call(self, kind: str, arguments: Sequence[str]) -> str:
        if kind == FMA:
            name = "fmaf" if self.dialect.single_precision else "fma"
        else:
            name = self.dialect.function("fabs" if kind == ABS else kind)
            self.needs.add("fabs" if kind == ABS else kind)
        return f"{name}({', '.join(arguments)})"


def write_function(dialect: Dialect, function: CFunction) -> tuple[str, set[str], int]:
    """Return a function's definition, the own mathematical functions that it calls, and its number of temporaries.

    Raises
    ------
    ConstantError
        If a number does not fit into single precision.
    """
    w = _BodyWriter(dialect, function)
    w.write()
    body = []
    for which in sorted(w.tables):
        numbers = ", ".join(dialect.number(float(x)) for x in function.graph.tables[which].ravel())
        body.append(f"static const {dialect.real} table{which}[] = {{{numbers}}};")
    if w.count:
        for first in range(0, w.count, 12):
            names = ", ".join(f"t{k}" for k in range(first, min(first + 12, w.count)))
            body.append(f"{dialect.temporary} {dialect.real} {names};")
    if "spare" in w.needs:
        body.append(f"{dialect.real} spare;")
    start = 0
    unused: dict[str, bool] = {}
    for name, length in function.arguments:
        owner = name.partition("->")[0]
        unused[owner] = unused.get(owner, True) and not any(start <= k < start + length for k in w.used_inputs)
        start += length
    w.lines[:0] = [f"(void){name};" for name, idle in reversed(unused.items()) if idle]
    text = "\n".join(f"    {line}" for line in [*body, *w.lines])
    needs = (w.needs - {"spare"}) if dialect.own_math else set()
    return f"{function.signature(dialect.real, 'restrict ')}\n{{\n{text}\n}}\n", needs, w.count


# ------------------------------------------------------------------ mathematics without math.h


def _half_pi_parts(bits: int = 23, count: int = 4) -> list[float]:
    """Return pi/2 as a sum of short numbers, whose products with integers below 2^30 are exact, and a remainder."""
    rest = sum((Fraction(x) for x in HALF_PI), Fraction(0))
    parts, unit = [], Fraction(1, 2 ** (bits - 1))
    for _ in range(count):
        part = (rest // unit) * unit
        parts.append(float(part))
        rest -= part
        unit /= 2**bits
    return [*parts, float(rest)]


def _horner(coefficients: Sequence[float], variable: str) -> str:
    text = repr(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        text = f"({text} * {variable} + {c!r})".replace("+ -", "- ")
    return text


def _numbers() -> dict[str, str]:
    """Return the constants of ``own_mathematics.c``."""
    found = dict(zip(("p1", "p2", "p3", "p4", "p5"), _half_pi_parts(), strict=True))
    found |= {"largest": LARGEST_OWN_ANGLE, "two_over_pi": TWO_OVER_PI, "sixth": -SIN_COEFFICIENTS[0]}
    found |= {"tan_eighth": TAN_EIGHTH, "quarter_turn": HALF_PI[0], "quarter_rest": HALF_PI[1]}
    found |= {"quarter_turn_half": HALF_PI[0] / 2, "quarter_rest_half": HALF_PI[1] / 2}
    found |= {"half_turn": 2 * HALF_PI[0], "half_rest": 2 * HALF_PI[1]}
    series = {"cosine_series": COS_COEFFICIENTS, "sine_series": SIN_COEFFICIENTS[1:]}
    series |= {"arctangent_series": ATAN_COEFFICIENTS}
    return {k: repr(x) for k, x in found.items()} | {k: _horner(x, "z") for k, x in series.items()}


def own_mathematics(dialect: Dialect, needs: set[str]) -> str:
    """Return definitions of only those mathematical functions that were called."""
    text = resources.files(__package__).joinpath("own_mathematics.c").read_text(encoding="ascii")
    parts = dict(zip(("sincos", SQRT, "fabs", ATAN2), text.split("\n\n/* ---- */\n\n"), strict=True))
    chosen = "\n\n".join(part.strip("\n") for name, part in parts.items() if name in needs)
    named = chosen.replace("NAME_", f"{dialect.prefix}_own_").replace("REAL", dialect.real)
    return Template(named).substitute(_numbers()) + "\n" if chosen else ""
