"""Expression graphs: what an algorithm leaves behind when it is run on nodes instead of numbers.

A graph is a list of nodes in the order they were made, each one an operation on earlier
nodes; equal nodes are one node.  Constants are folded, exact zeros, ones and signs are
propagated as nodes are made, and x - x, x / x and x (1/x) are what they are in real
arithmetic; nothing is rounded and nothing reassociated.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import exponentials, functions

CONST, INPUT = "const", "input"
ADD, SUB, MUL, DIV, NEG, FMA = "add", "sub", "mul", "div", "neg", "fma"
SQRT, SIN, COS, ATAN2, ABS = "sqrt", "sin", "cos", "atan2", "abs"
LESS, SELECT, GATHER, CALL = "less", "select", "gather", "call"

KINDS = (CONST, INPUT, ADD, SUB, MUL, DIV, NEG, FMA, SQRT, SIN, COS, ATAN2, ABS, LESS, SELECT, GATHER, CALL)
"""All node kinds. ``fma(a, b, c)`` is a*b + c, rounded once; it appears only after :func:`fuse`.
``gather(i)`` is a number of row i of a table, which is data: see :meth:`Graph.gather`; ``call``: :mod:`.functions`."""

_COLUMN_BITS = 24
"""Bits for the column in the number that encodes a table, how many columns it has, and one of them."""

LARGEST_TABLE = 2**31 - 1
"""The most numbers a table may have: machine code counts them in 32 bits."""


class TooLong(Exception):
    """A graph has more nodes than allowed."""


class Graph:
    """Nodes as parallel lists: kind, arguments (indices), and a value for constants and inputs.

    Making more than ``most`` nodes raises :class:`TooLong`.  ``tables`` are the data that nodes look up, each (rows,
    columns); graphs that become one piece of code share the list.
    """

    def __init__(self, most: float = math.inf, tables: list[np.ndarray] | None = None) -> None:
        self._most = most
        self.tables: list[np.ndarray] = [] if tables is None else tables
        self.kinds: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.values: list[Any] = []
        self.functions: dict[Any, functions.CalledFunction] = {}
        self.in_short_waits = False  # see .order
        self._known: dict[tuple[Any, ...], int] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    # Making nodes. Arguments and results are indices.

    def node(self, kind: str, *args: int) -> int:
        """Make an operation without simplifying it; equal operations are the same node."""
        key = (kind, args)
        index = self._known.get(key)
        if index is None:
            index = len(self.kinds)
            if index >= self._most:
                raise TooLong
            self.kinds.append(kind)
            self.args.append(args)
            self.values.append(0.0)
            self._known[key] = index
        return index

    def copied(self, other: Graph, i: int, place: Mapping[int, int]) -> int:
        """Make node ``i`` of another graph, whose arguments are at ``place`` here, without simplifying it."""
        kind = other.kinds[i]
        if kind == CONST:
            return self.const(other.values[i])
        if kind == INPUT:
            return self.input(int(other.values[i]))
        if kind in (GATHER, CALL):  # both graphs know the table by the same number
            return self.valued(kind, other.values[i], tuple(place[a] for a in other.args[i]))
        return self.node(kind, *(place[a] for a in other.args[i]))

    def remade(self, other: Graph, i: int, place: Mapping[int, int]) -> int:
        """Make node ``i`` of another graph, whose arguments are at ``place`` here, and simplify it."""
        if other.kinds[i] in (CONST, INPUT, GATHER, CALL):
            return self.copied(other, i, place)
        return getattr(self, other.kinds[i])(*(place[a] for a in other.args[i]))  # type: ignore[no-any-return]

    def inlined(self, other: Graph, outputs: Sequence[int], inputs: Sequence[int]) -> list[int]:
        """Copy some nodes of another graph, which shares its tables with this one, with these nodes as its inputs."""
        place: dict[int, int] = {}
        for i in other.reachable(outputs):
            place[i] = inputs[int(other.values[i])] if other.kinds[i] == INPUT else self.remade(other, i, place)
        return [place[o] for o in outputs]

    def const(self, value: float) -> int:
        """Make a constant. Minus zero and zero differ; all NaNs are one node."""
        value = float(value)
        key = (CONST, value, math.copysign(1.0, value)) if value == value else (CONST, "nan")
        index = self._known.get(key)
        if index is None:
            index = len(self.kinds)
            self.kinds.append(CONST)
            self.args.append(())
            self.values.append(value)
            self._known[key] = index
        return index

    def input(self, position: int) -> int:
        """Make the input at ``position`` of the flattened inputs."""
        index = self._known.get((INPUT, position))
        if index is None:
            index = len(self.kinds)
            self.kinds.append(INPUT)
            self.args.append(())
            self.values.append(position)
            self._known[INPUT, position] = index
        return index

    def is_const(self, a: int) -> bool:
        """Return whether a node is a constant."""
        return self.kinds[a] == CONST

    def add(self, a: int, b: int) -> int:
        """Make a + b."""
        kinds = self.kinds
        if kinds[a] == CONST:
            x = self.values[a]
            if x == 0.0:
                return b
            if kinds[b] == CONST:
                return self.const(x + self.values[b])
        elif kinds[b] == CONST and self.values[b] == 0.0:
            return a
        if kinds[b] == NEG:
            return self.sub(a, self.args[b][0])
        if kinds[a] == NEG:
            return self.sub(b, self.args[a][0])
        return self.node(ADD, a, b) if a <= b else self.node(ADD, b, a)

    def sub(self, a: int, b: int) -> int:
        """Make a - b."""
        kinds = self.kinds
        if kinds[b] == CONST:
            y = self.values[b]
            if y == 0.0:
                return a
            if kinds[a] == CONST:
                return self.const(self.values[a] - y)
        if kinds[a] == CONST and self.values[a] == 0.0:
            return self.neg(b)
        if kinds[b] == NEG:
            return self.add(a, self.args[b][0])
        if kinds[a] == NEG:
            return self.neg(self.add(self.args[a][0], b))
        if a == b:
            return self.const(0.0)
        return self.node(SUB, a, b)

    def mul(self, a: int, b: int) -> int:
        """Make a * b. A factor that is exactly zero gives zero, whatever the other one is."""
        kinds = self.kinds
        if kinds[a] == CONST:
            a, b = b, a
        if kinds[b] == CONST:
            y = self.values[b]
            if kinds[a] == CONST:
                return self.const(self.values[a] * y)
            if y == 0.0:
                return self.const(0.0)
            if y == 1.0:
                return a
            if y == -1.0:
                return self.neg(a)
            if y < 0.0:
                return self.neg(self.mul(a, self.const(-y)))
        if kinds[a] == NEG:
            return self.neg(self.mul(self.args[a][0], b))
        if kinds[b] == NEG:
            return self.neg(self.mul(a, self.args[b][0]))
        for x, y in ((a, b), (b, a)):
            if kinds[y] == DIV and self._is_reciprocal(y, x):
                return self.const(1.0)
            if kinds[y] == MUL:  # x * (u * (1/x)) is u
                u, w = self.args[y]
                if self._is_reciprocal(w, x):
                    return u
                if self._is_reciprocal(u, x):
                    return w
        return self.node(MUL, a, b) if a <= b else self.node(MUL, b, a)

    def _is_reciprocal(self, a: int, b: int) -> bool:
        """Return whether a was made as 1/b."""
        if self.kinds[a] != DIV:
            return False
        top, bottom = self.args[a]
        return bottom == b and self.kinds[top] == CONST and self.values[top] == 1.0

    def div(self, a: int, b: int) -> int:
        """Make a / b."""
        kinds = self.kinds
        if kinds[b] == CONST:
            y = self.values[b]
            if y == 1.0:
                return a
            if y == -1.0:
                return self.neg(a)
            if kinds[a] == CONST and y != 0.0:
                return self.const(self.values[a] / y)
            if y != 0.0 and math.frexp(y)[0] in (0.5, -0.5) and math.isfinite(1.0 / y):
                return self.mul(a, self.const(1.0 / y))  # exact: a power of two
        if kinds[a] == CONST and self.values[a] == 0.0:
            return a
        if kinds[a] == NEG:
            return self.neg(self.div(self.args[a][0], b))
        if kinds[b] == NEG:
            return self.neg(self.div(a, self.args[b][0]))
        if a == b:
            return self.const(1.0)
        return self.node(DIV, a, b)

    def neg(self, a: int) -> int:
        """Make -a."""
        kind = self.kinds[a]
        if kind == CONST:
            return self.const(-self.values[a])
        if kind == NEG:
            return self.args[a][0]
        if kind == SUB:
            x, y = self.args[a]
            return self.sub(y, x)
        return self.node(NEG, a)

    def sqrt(self, a: int) -> int:
        """Make a square root."""
        if self.kinds[a] == CONST and self.values[a] >= 0.0:
            return self.const(math.sqrt(self.values[a]))
        return self.node(SQRT, a)

    def sin(self, a: int) -> int:
        """Make a sine."""
        if self.kinds[a] == CONST and math.isfinite(self.values[a]):
            return self.const(math.sin(self.values[a]))
        if self.kinds[a] == NEG:
            return self.neg(self.sin(self.args[a][0]))
        return self.node(SIN, a)

    def cos(self, a: int) -> int:
        """Make a cosine."""
        if self.kinds[a] == CONST and math.isfinite(self.values[a]):
            return self.const(math.cos(self.values[a]))
        if self.kinds[a] == NEG:
            return self.cos(self.args[a][0])
        return self.node(COS, a)

    def atan2(self, y: int, x: int) -> int:
        """Make the angle of the point (x, y)."""
        if self.is_const(y) and self.is_const(x):
            return self.const(math.atan2(self.values[y], self.values[x]))
        return self.node(ATAN2, y, x)

    def abs(self, a: int) -> int:
        """Make a magnitude."""
        if self.kinds[a] == CONST:
            return self.const(abs(self.values[a]))
        if self.kinds[a] == NEG:
            return self.abs(self.args[a][0])
        return self.node(ABS, a)

    def less(self, a: int, b: int) -> int:
        """Compare a < b; false if either is NaN. Useful only in :meth:`select`."""
        if self.is_const(a) and self.is_const(b):
            return self.const(1.0 if self.values[a] < self.values[b] else 0.0)
        return self.node(LESS, a, b)

    def select(self, condition: int, yes: int, no: int) -> int:
        """Choose one of two values, lane by lane."""
        if self.is_const(condition):
            return yes if self.values[condition] else no
        return yes if yes == no else self.node(SELECT, condition, yes, no)

    def gather(self, table: np.ndarray, column: int, row: int) -> int:
        """Look up a number of a table, in the row that a node gives.

        Rows are counted from 0; a fraction is cut off, a row outside the table becomes its first or last one, and NaN
        gives NaN.  The numbers are not part of the graph: machine code reads them where they are when it runs.
        """
        if table.ndim != 2 or not table.size or table.size > LARGEST_TABLE or table.shape[1] >= 1 << _COLUMN_BITS:
            raise ValueError(f"a table has rows and columns, {LARGEST_TABLE} numbers at most, not {table.shape}")
        which = next((k for k, known in enumerate(self.tables) if known is table), len(self.tables))
        if which == len(self.tables):
            self.tables.append(table)
        return self.valued(GATHER, (which << _COLUMN_BITS | table.shape[1]) << _COLUMN_BITS | column, (row,))

    def valued(self, kind: str, value: Any, args: tuple[int, ...]) -> int:
        """Make an operation that depends on a value besides its arguments."""
        index = self._known.get((kind, args, value))
        if index is None:
            index = self._known[kind, args, value] = len(self.kinds)
            self.kinds.append(kind)
            self.args.append(args)
            self.values.append(value)
        return index

    def gathered_from(self, i: int) -> tuple[int, int, int]:
        """Return which table a node looks something up in, how many columns it has, and which of them is read."""
        rest, column = divmod(int(self.values[i]), 1 << _COLUMN_BITS)
        which, columns = divmod(rest, 1 << _COLUMN_BITS)
        return which, columns, column

    # Looking at graphs

    def describe(self, outputs: Sequence[int] = ()) -> str:
        """Return one line per node that the outputs need (all nodes if none are named)."""
        needed = self.reachable(outputs) if outputs else range(len(self))
        lines = []
        for i in needed:
            kind = self.kinds[i]
            if kind == CONST:
                lines.append(f"%{i} = {self.values[i]!r}")
            elif kind == INPUT:
                lines.append(f"%{i} = input[{self.values[i]}]")
            elif kind == GATHER:
                which, _, column = self.gathered_from(i)
                lines.append(f"%{i} = table{which}[%{self.args[i][0]}, {column}]")
            elif kind == CALL:
                function, number = self.values[i]
                lines.append(f"%{i} = {function}({', '.join(f'%{a}' for a in self.args[i])})[{number}]")
            else:
                lines.append(f"%{i} = {kind}({', '.join(f'%{a}' for a in self.args[i])})")
        if outputs:
            lines.append("return " + ", ".join(f"%{o}" for o in outputs))
        return "\n".join(lines)

    def reachable(self, outputs: Iterable[int]) -> list[int]:
        """Return the nodes that the outputs depend on, in the order they were made."""
        needed = bytearray(len(self))
        for o in outputs:
            needed[o] = 1
        args = self.args
        for i in range(len(self) - 1, -1, -1):
            if needed[i]:
                for a in args[i]:
                    needed[a] = 1
        return [i for i in range(len(self)) if needed[i]]


class Undecided:
    """The result of ``==`` or ``!=`` on traced values: ``if`` takes it as a guess, but it cannot be a traced condition.

    Recursions ask ``if ratio == 1.0`` to skip work, with numbers that may be traced: these are then assumed to differ.
    A law that chooses by equality would silently get that guess for every state.
    """

    __slots__ = ("guess",)

    def __init__(self, guess: bool) -> None:
        self.guess = guess

    def __bool__(self) -> bool:
        return self.guess

    def _refused(self, *_: Any) -> Any:
        raise TypeError(
            "whether traced values are equal cannot be a condition: compare with < and >, such as abs(a - b) < 1e-9"
        )

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = __float__ = __lt__ = __gt__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _refused

    class scalar_functions:
        """The functions that are found by dispatch on the scalar's type."""

        @staticmethod
        def where(condition: Undecided, yes: Any, no: Any) -> Any:
            """Refuse to choose."""
            return condition._refused(yes, no)


PARTS = "chosen_by"
"""The method that marks composite numbers, such as dual numbers: in operations with a node, they do the arithmetic."""


class Node:
    """A handle on a graph's node that behaves like a number."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph, self.index = graph, index

    def index_of(self, other: Any) -> int:
        """Return the index of a node, or of a number that becomes one."""
        if type(other) is Node:
            return other.number
        if isinstance(other, (int, float)):
            return self.graph.const(other)
        return self.graph.const(float(other))

    @property
    def number(self) -> int:
        """The index of the node if it is a number; a comparison is refused."""
        if self.graph.kinds[self.index] == LESS:
            raise TypeError(
                "a comparison is not a number: choose with kinetree's where(condition, 1.0, 0.0), and join conditions "
                "with &, | and ~"
            )
        return self.index

    @property
    def condition(self) -> int:
        """The index of the node if it is a comparison; a number is refused."""
        if self.graph.kinds[self.index] not in (LESS, CONST):
            raise TypeError("where() chooses by a comparison, such as x > 0.0, not by a number")
        return self.index

    def __and__(self, other: Any) -> Node:
        """Return whether both conditions hold."""
        return self.scalar_functions.where(self, _chosen(other, 1.0, 0.0), 0.0) > 0.5

    __rand__ = __and__

    def __or__(self, other: Any) -> Node:
        """Return whether at least one of two conditions holds."""
        return self.scalar_functions.where(self, 1.0, _chosen(other, 1.0, 0.0)) > 0.5

    __ror__ = __or__

    def __invert__(self) -> Node:
        """Return whether a condition does not hold."""
        return self.scalar_functions.where(self, 0.0, 1.0) > 0.5

    def __add__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.add(self.number, self.index_of(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.sub(self.number, self.index_of(other)))

    def __rsub__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.sub(self.index_of(other), self.number))

    def __mul__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.mul(self.number, self.index_of(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.div(self.number, self.index_of(other)))

    def __rtruediv__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.div(self.index_of(other), self.number))

    def __neg__(self) -> Node:
        return Node(self.graph, self.graph.neg(self.number))

    def __abs__(self) -> Node:
        return Node(self.graph, self.graph.abs(self.number))

    def __eq__(self, other: object) -> Any:
        return True if other is self else Undecided(False)

    def __ne__(self, other: object) -> Any:
        return False if other is self else Undecided(True)

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.less(self.number, self.index_of(other)))

    def __gt__(self, other: Any) -> Node:
        if type(other) is not Node and hasattr(other, PARTS):
            return NotImplemented
        return Node(self.graph, self.graph.less(self.index_of(other), self.number))

    def __le__(self, other: Any) -> Node:
        less, more = self < other, self > other
        choose = self.scalar_functions.where  # the difference is zero, or NaN if either of them is: then this is false
        return choose(less, 1.0, choose(more, 0.0, 1.0 - (self - other))) > 0.5

    def __ge__(self, other: Any) -> Node:
        return -self <= -other

    def __mod__(self, other: Any) -> Node:
        raise TypeError(
            "no machine code rounds or takes remainders: kinetree's arctan2(sin(x), cos(x)) brings an angle back into "
            "one turn; else choose pieces with where(), or give a table of samples, trajectories.sampled()"
        )

    __rmod__ = __floordiv__ = __rfloordiv__ = __floor__ = __ceil__ = __round__ = __mod__

    def clip(self, lower: Any, upper: Any, out: None = None) -> Node:
        """Return the number, or the bound that it exceeds: ``np.clip`` calls this."""
        choose = self.scalar_functions.where
        raised = choose(self < lower, lower, self)
        return choose(raised > upper, upper, raised)

    def __pow__(self, exponent: Any) -> Node:
        """Raise to integer powers by multiplying, to half powers by the square root, to others by e^(y log x).

        These others are NaN below zero, as NumPy's are.
        """
        if type(exponent) is not Node and hasattr(exponent, PARTS):
            return NotImplemented
        if not isinstance(exponent, (int, float)) or not float(2.0 * exponent).is_integer():
            return exponentials.power(self, exponent)  # type: ignore[no-any-return]
        whole = int(abs(exponent))
        result = Node(self.graph, self.graph.const(1.0))
        for _ in range(whole):
            result = result * self
        if whole != abs(exponent):
            result = result * Node(self.graph, self.graph.sqrt(self.index))
        return 1.0 / result if exponent < 0 else result

    def __rpow__(self, base: Any) -> Node:
        """Raise a number, which must not be negative, to this power."""
        if type(base) is not Node and hasattr(base, PARTS):
            return NotImplemented
        return exponentials.power_of(base, self)  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        raise TypeError(
            "a traced value is not known yet: use kinetree's where() instead of if and of NumPy's where on arrays, & "
            "and | instead of and and or, minimum(), maximum(), clip() and sign() instead of min(), max() and NumPy's "
            "on arrays"
        )

    def __float__(self) -> float:
        raise TypeError(
            "a traced value is not known yet: use kinetree's sin(), cos(), exp() and the like instead of math's, and "
            "no float() of it"
        )

    def __repr__(self) -> str:
        return f"<node %{self.index} {self.graph.kinds[self.index]}>"

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """Let ``np.float64(2) * node`` and ``np.sin(node)`` work."""
        function = _UFUNCS.get(ufunc)
        if ufunc in _LEFT_TO_OPERATORS and method == "__call__" and not options:
            return _LEFT_TO_OPERATORS[ufunc](*(x if isinstance(x, Node) else float(x) for x in args))
        if function is None and ufunc not in _LEFT_TO_OPERATORS:
            known = ", ".join(f.__name__ for f in _UFUNCS if f.__name__ not in _OPERATIONS)
            raise TypeError(f"np.{ufunc.__name__} has no machine code: of a traced value there are {known} and np.clip")
        if function is None or method != "__call__" or options:
            return NotImplemented
        return function(*(x if isinstance(x, Node) else Node(self.graph, self.index_of(x)) for x in args))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Let ``np.where(node > 0, ...)`` choose; other functions treat a node like any object."""
        if function is np.where and len(args) == 3 and isinstance(args[0], Node):
            return self.scalar_functions.where(*args)
        return function._implementation(*args, **options)

    class scalar_functions:
        """Elementary functions, found by dispatch on the scalar's type."""

        @staticmethod
        def sin(x: Node) -> Node:
            """Return the sine."""
            return Node(x.graph, x.graph.sin(x.index))

        @staticmethod
        def cos(x: Node) -> Node:
            """Return the cosine."""
            return Node(x.graph, x.graph.cos(x.index))

        @staticmethod
        def sqrt(x: Node) -> Node:
            """Return the square root."""
            return Node(x.graph, x.graph.sqrt(x.index))

        @staticmethod
        def arctan2(y: Any, x: Any) -> Node:
            """Return the angle of the point (x, y)."""
            anchor = y if isinstance(y, Node) else x
            g = anchor.graph
            return Node(g, g.atan2(anchor.index_of(y), anchor.index_of(x)))

        @staticmethod
        def where(condition: Node, yes: Any, no: Any) -> Node:
            """Choose one of two values."""
            g = condition.graph
            return Node(g, g.select(condition.condition, condition.index_of(yes), condition.index_of(no)))

        @staticmethod
        def exp(x: Node) -> Node:
            """Return the exponential."""
            return exponentials.exp(x)  # type: ignore[no-any-return]

        @staticmethod
        def log(x: Node) -> Node:
            """Return the natural logarithm."""
            return exponentials.log(x)  # type: ignore[no-any-return]

        @staticmethod
        def tanh(x: Node) -> Node:
            """Return the hyperbolic tangent."""
            return exponentials.tanh(x)  # type: ignore[no-any-return]

        @staticmethod
        def gather(table: np.ndarray, column: int, row: Node) -> Node:
            """Return a number of a table."""
            return Node(row.graph, row.graph.gather(table, column, row.index))

        call = staticmethod(functions.call)


def _chosen(condition: Any, yes: float, no: float) -> Any:
    """Return one of two numbers by a condition that is traced or known."""
    if isinstance(condition, Undecided):
        return condition.scalar_functions.where(condition, yes, no)
    return Node.scalar_functions.where(condition, yes, no) if isinstance(condition, Node) else yes if condition else no


def _larger(a: Node, b: Node) -> Node:
    choose = Node.scalar_functions.where
    return choose(b > a, b, choose(b <= a, a, a + b))  # NaN if one of them is, as in NumPy


def _smaller(a: Node, b: Node) -> Node:
    choose = Node.scalar_functions.where
    return choose(b < a, b, choose(b >= a, a, a + b))


def _sign(x: Node) -> Node:
    choose = Node.scalar_functions.where
    return choose(x > 0.0, 1.0, choose(x < 0.0, -1.0, x))


_LEFT_TO_OPERATORS = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.power: operator.pow, np.remainder: operator.mod,
    np.fmod: operator.mod, np.floor_divide: operator.floordiv,
}  # fmt: skip
"""Functions that the node itself implements, or refuses with a specific message."""

_OPERATIONS = ("add", "subtract", "multiply", "divide", "negative", "less", "greater", "less_equal", "greater_equal",
               "bitwise_and", "bitwise_or", "invert")  # fmt: skip
"""Functions that are written as operators, not by name."""

_UFUNCS: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
    np.absolute: operator.abs,
    np.less: operator.lt,
    np.greater: operator.gt,
    np.less_equal: operator.le,
    np.greater_equal: operator.ge,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.invert: operator.invert,
    np.logical_and: operator.and_,
    np.logical_or: operator.or_,
    np.logical_not: operator.invert,
    np.maximum: _larger,
    np.minimum: _smaller,
    np.sign: _sign,
    np.square: lambda x: x * x,
    np.hypot: lambda x, y: Node.scalar_functions.sqrt(x * x + y * y),
    np.exp: Node.scalar_functions.exp,
    np.log: Node.scalar_functions.log,
    np.tanh: Node.scalar_functions.tanh,
    np.sin: Node.scalar_functions.sin,
    np.cos: Node.scalar_functions.cos,
    np.sqrt: Node.scalar_functions.sqrt,
    np.arctan2: Node.scalar_functions.arctan2,
}


def inputs(graph: Graph, count: int, first: int = 0) -> list[Node]:
    """Make nodes for ``count`` inputs."""
    return [Node(graph, graph.input(first + k)) for k in range(count)]


def outputs(graph: Graph, values: Iterable[Any]) -> list[int]:
    """Return the indices of results, including those that are plain numbers."""
    return [v.index if isinstance(v, Node) else graph.const(float(v)) for v in values]
