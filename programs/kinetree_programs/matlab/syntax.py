"""The content of a MATLAB file as plain data: expressions, statements, functions.

:mod:`.parse` makes these from the grammar's tree, :mod:`.evaluate` walks through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MatlabExpression:
    """Base of everything that has a value; ``line`` is its line in the file."""

    line: int


@dataclass(frozen=True)
class Number(MatlabExpression):
    """A literal number."""

    value: float


@dataclass(frozen=True)
class Quoted(MatlabExpression):
    """A literal text."""

    value: str


@dataclass(frozen=True)
class Parenthesized(MatlabExpression):
    """A value in parentheses: one, never a list."""

    operand: MatlabExpression


@dataclass(frozen=True)
class Colon(MatlabExpression):
    """A ``:`` that stands for all of an axis."""


@dataclass(frozen=True)
class End(MatlabExpression):
    """The ``end`` within an index."""


@dataclass(frozen=True)
class Unary(MatlabExpression):
    """``-x``, ``+x`` or ``~x``."""

    operator: str
    operand: MatlabExpression


@dataclass(frozen=True)
class Binary(MatlabExpression):
    """Two values and the operator between them."""

    operator: str
    left: MatlabExpression
    right: MatlabExpression


@dataclass(frozen=True)
class Transposed(MatlabExpression):
    """``x'`` or ``x.'``, which are the same for real numbers."""

    operand: MatlabExpression


@dataclass(frozen=True)
class ColonRange(MatlabExpression):
    """``first:last`` or ``first:step:last``."""

    first: MatlabExpression
    step: MatlabExpression | None
    last: MatlabExpression


@dataclass(frozen=True)
class Bracketed(MatlabExpression):
    """A matrix in brackets, or a cell in braces."""

    rows: Sequence[Sequence[MatlabExpression]]
    is_cell: bool


@dataclass(frozen=True)
class NameLink:
    """What follows a name: ``(...)``, ``{...}`` or a field; ``kind`` is its first character."""

    kind: str
    arguments: Sequence[MatlabExpression] = ()
    field: str = ""


@dataclass(frozen=True)
class Reference(MatlabExpression):
    """A variable or a function, with what follows its name."""

    name: str
    links: Sequence[NameLink] = ()


@dataclass(frozen=True)
class Handle(MatlabExpression):
    """``@name``."""

    name: str


@dataclass(frozen=True)
class Anonymous(MatlabExpression):
    """``@(x, y) expression``."""

    parameters: Sequence[str]
    body: MatlabExpression


@dataclass(frozen=True)
class Unknown(MatlabExpression):
    """Valid MATLAB that is not supported: an error when a program reaches it."""

    what: str


@dataclass(frozen=True)
class Statement:
    """Base of all statements; ``line`` is where it begins."""

    line: int


@dataclass(frozen=True)
class Assign(Statement):
    """``a = ...`` or ``[a, ~, b.c(2)] = ...``; None stands for an output that is not kept."""

    targets: Sequence[Reference | None]
    value: MatlabExpression


@dataclass(frozen=True)
class Evaluate(Statement):
    """An expression whose value is displayed or discarded."""

    value: MatlabExpression


@dataclass(frozen=True)
class CommandSyntax(Statement):
    """``clear x``: a name followed by words."""

    name: str
    words: Sequence[str]


@dataclass(frozen=True)
class If(Statement):
    """Conditions with their blocks, and the block to run if none holds; the first that holds is run."""

    branches: Sequence[tuple[MatlabExpression, Block]]
    otherwise: Block


@dataclass(frozen=True)
class For(Statement):
    """A loop over the columns of a matrix."""

    variable: str
    values: MatlabExpression
    body: Block


@dataclass(frozen=True)
class While(Statement):
    """A loop that runs while a condition holds."""

    condition: MatlabExpression
    body: Block


@dataclass(frozen=True)
class Switch(Statement):
    """Cases, of which the first that equals a value is run, and the block to run otherwise."""

    value: MatlabExpression
    cases: Sequence[tuple[MatlabExpression, Block]]
    otherwise: Block


@dataclass(frozen=True)
class Try(Statement):
    """A ``try`` block; its ``catch`` block is never run."""

    body: Block


@dataclass(frozen=True)
class Jump(Statement):
    """``return``, ``break`` or ``continue``."""

    word: str


@dataclass(frozen=True)
class Refused(Statement):
    """A statement that is not supported: an error when a program reaches it."""

    what: str


Block = Sequence[Statement]


@dataclass(frozen=True)
class MatlabFunction:
    """A function of a file; ``parameters`` may end with ``varargin``, ``outputs`` with ``varargout``."""

    name: str
    parameters: Sequence[str | None]
    outputs: Sequence[str]
    body: Block
    file: str
    line: int


@dataclass(frozen=True)
class MatlabFile:
    """A file: a script, or functions, the first of which has the file's name."""

    file: str
    script: Block
    functions: Sequence[MatlabFunction]
