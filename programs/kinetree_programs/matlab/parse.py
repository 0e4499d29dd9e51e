"""From the text of a file to :mod:`.syntax`, by the grammar of tree-sitter-matlab.

The grammar defines where words, strings, matrix entries and blocks begin and end.  The precedence of operators is
decided here, by MATLAB's table: the grammar reads ``-2^2`` as ``(-2)^2``.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from kinetree.errors import FileFormatError, OptionError

from . import syntax
from .syntax import Block, MatlabExpression, MatlabFile, MatlabFunction, Reference, Statement

MOST_BYTES = 1_000_000
"""The most bytes of one file."""

DEEPEST_BLOCKS = 200
"""The deepest nesting of brackets and blocks."""

_OPERATIONS = frozenset(
    ("binary_operator", "unary_operator", "postfix_operator", "comparison_operator", "boolean_operator",
     "not_operator", "range")
)  # fmt: skip
_IGNORED = frozenset(("comment", "line_continuation"))
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("&",), ("<", "<=", ">", ">=", "==", "~=", "!="), (":",), ("+", "-"),
    ("*", "/", "\\", ".*", "./", ".\\"),
)  # fmt: skip
"""Binary operators, from the lowest precedence to the highest."""

_PREFIXES, _POWERS, _TRANSPOSES = ("-", "+", "~", "!"), ("^", ".^"), ("'", ".'")
_DECIMAL = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?")

COMMANDS = frozenset(
    ("clear", "close", "hold", "load", "format", "figure", "grid", "axis", "more", "warning", "fclose", "save", "cd",
     "disp", "pause", "colormap", "shading", "drawnow")
)  # fmt: skip
"""Names that words may follow; after any other name, an operator has been forgotten."""

OCTAVE = {
    "+=": "x = x + y", "-=": "x = x - y", "*=": "x = x * y", "/=": "x = x / y", "^=": "x = x ^ y",
    "++": "x = x + 1", "--": "x = x - 1", "!=": "~=", "**": "^", "!": "~", "#": "% for comments",
}  # fmt: skip
"""Spellings that only Octave has, and what to write in MATLAB."""

OCTAVE_WORDS = frozenset(
    ("do", "until", "unwind_protect", "unwind_protect_cleanup", "end_unwind_protect", "end_try_catch", "endif",
     "endfor", "endwhile", "endswitch", "endfunction", "endparfor", "__FILE__", "__LINE__")
)  # fmt: skip
"""Names in MATLAB that are keywords in Octave."""


@cache
def _parser() -> Any:
    try:
        grammar, library = importlib.import_module("tree_sitter_matlab"), importlib.import_module("tree_sitter")
    except ImportError:
        raise OptionError(
            "MATLAB files are read with the packages tree-sitter and tree-sitter-matlab: pip install 'kinetree[matlab]'"
        ) from None
    return library.Parser(library.Language(grammar.language()))


def decoded(data: bytes) -> str:
    """Return the text of a file with uniform line ends."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # as MATLAB wrote files before 2020
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(data: bytes, file: str) -> MatlabFile:
    """Parse a MATLAB file; what the grammar does not understand raises an error with its line."""
    if len(data) > MOST_BYTES:
        raise FileFormatError(f"a MATLAB file of {len(data)} bytes, more than {MOST_BYTES}", file)
    text = decoded(data)
    if "\0" in text:
        raise FileFormatError("this is not text: it contains a NUL", file)
    root = _parser().parse((text + "\n").encode("utf-8", "replace")).root_node
    if root.has_error:
        raise _not_understood(root, text, file)
    return _SyntaxReader(file).program(root)


def _not_understood(root: Any, text: str, file: str) -> FileFormatError:
    node = root
    while True:  # the innermost error, the first in the text
        inner = next((c for c in node.children if c.has_error or c.is_error or c.is_missing), None)
        if inner is None:
            break
        node = inner
    line = node.start_point[0] + 1
    shown = text.split("\n")[line - 1].strip()[:60] if line <= text.count("\n") + 1 else ""
    words = next((f"; {own!r} is Octave's, write {mine}" for own, mine in OCTAVE.items() if own in shown), "")
    return FileFormatError(f"this is not understood as MATLAB: {shown!r}{words}", file, line)


class _SyntaxReader:
    """Converts the grammar's tree."""

    def __init__(self, file: str) -> None:
        self.file, self.depth = file, 0

    def program(self, root: Any) -> MatlabFile:
        nodes = [node for node in root.named_children if node.type == "function_definition"]
        ended = [any(c.type == "end" for c in node.children) for node in nodes]
        if len(set(ended)) > 1:
            raise self.error("either all functions of a file end with 'end', or none", nodes[ended.index(False)])
        _refuse_other_readings(root, self.error)
        others = [n for n in root.named_children if n.type not in ("function_definition", *_IGNORED)]
        if nodes and others and others[-1].start_byte > nodes[0].start_byte:
            last = next(n for n in others if n.start_byte > nodes[0].start_byte)
            raise self.error("statements after the functions of a file: those of a script must come first", last)
        functions = [self.function(node) for node in nodes]
        if len({f.name for f in functions}) < len(functions):
            raise self.error("two functions of a file have the same name", nodes[-1])
        script = self.block(others)
        self.refuse_commands(script, ())
        return MatlabFile(self.file, script, functions)

    def error(self, what: str, node: Any) -> FileFormatError:
        return FileFormatError(what, self.file, _line(node))

    def function(self, node: Any) -> MatlabFunction:
        parameters: list[str | None] = []
        outputs: list[str] = []
        body: Block = ()
        for child in node.named_children:
            if child.type == "function_arguments":
                parameters = [self.parameter(c) for c in child.named_children if c.type not in _IGNORED]
            elif child.type == "function_output":
                inner = child.named_children[0]
                named = inner.named_children if inner.type == "multioutput_variable" else [inner]
                if any(c.type == "ignored_argument" for c in named):
                    raise self.error("an output of a function needs a name; '~' is not one", child)
                outputs = [_text(c) for c in named if c.type == "identifier"]
            elif child.type == "block":
                body = self.block(child.named_children)
            elif child.type not in ("identifier", *_IGNORED):
                raise self.error(f"a function with {child.type.replace('_', ' ')} is not supported", child)
        for names in (outputs, [p for p in parameters if p is not None]):
            if len(set(names)) < len(names):
                raise self.error(f"a name occurs twice in {', '.join(names)}", node)
        self.refuse_commands(body, [*outputs, *(p for p in parameters if p)])
        return MatlabFunction(
            _text(node.child_by_field_name("name")), parameters, outputs, body, self.file, _line(node)
        )

    def refuse_commands(self, body: Block, names: Sequence[str]) -> None:
        """Refuse words after a name that is a variable elsewhere in the function: an operator is missing."""
        inside = list(_within(body))
        self.refuse_jumps(body)
        variables = {*names, *(s.variable for s in inside if isinstance(s, syntax.For))}
        variables |= {t.name for s in inside if isinstance(s, syntax.Assign) for t in s.targets if t is not None}
        for one in inside:
            if isinstance(one, syntax.CommandSyntax) and one.words and one.name in variables:
                more = f"; {one.words[0]!r} is Octave's, write {OCTAVE[one.words[0]]}" if one.words[0] in OCTAVE else ""
                what = f"{one.name!r} is a variable, and words follow it: an operator or a line end is missing{more}"
                raise FileFormatError(what, self.file, one.line)
            if isinstance(one, syntax.CommandSyntax) and one.words and one.name not in COMMANDS:
                what = f"the command {' '.join([one.name, *one.words])[:60]!r} is not supported"
                raise FileFormatError(what, self.file, one.line)

    def refuse_jumps(self, body: Block) -> None:
        """Refuse ``break`` and ``continue`` outside of loops."""
        for one in body:
            if isinstance(one, syntax.Jump) and one.word != "return":
                raise FileFormatError(f"{one.word!r} outside of a loop", self.file, one.line)
            if not isinstance(one, (syntax.For, syntax.While)):
                for inner in _inner(one):
                    self.refuse_jumps(inner)

    def parameter(self, node: Any) -> str | None:
        if node.type == "ignored_argument":
            return None
        if node.type != "identifier":
            raise self.error(f"the parameter {_text(node)!r} of a function is not supported", node)
        return _text(node)

    # ------------------------------------------------------------------ statements

    def block(self, nodes: Sequence[Any]) -> Block:
        self.depth += 1
        if self.depth > DEEPEST_BLOCKS and nodes:
            raise self.error(f"blocks are nested more than {DEEPEST_BLOCKS} deep", nodes[0])
        found = [self.statement(node) for node in nodes if node.type not in _IGNORED]
        self.depth -= 1
        return found

    def blocks_of(self, node: Any) -> Block:
        """Return the statements of all blocks directly in a node."""
        return [s for child in node.named_children if child.type == "block" for s in self.block(child.named_children)]

    def statement(self, node: Any) -> Statement:
        make = getattr(self, f"_{node.type}", None)
        if make is not None:
            made: Statement = make(node)
            return made
        if node.type == "function_definition":
            raise self.error("a function within another, or within a block, is not supported", node)
        if node.type in ("class_definition", "global_operator", "persistent_operator",
                         "spmd_statement", "arguments_statement"):  # fmt: skip
            return syntax.Refused(_line(node), f"{_text(node).split()[0]!r} is not supported")
        return syntax.Evaluate(_line(node), self.expression(node))

    def _assignment(self, node: Any) -> Statement:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        targets: list[Reference | None] = []
        for one in left.named_children if left.type == "multioutput_variable" else [left]:
            if one.type in _IGNORED:
                continue
            if one.type == "ignored_argument":
                targets.append(None)
                continue
            target = self.expression(one)
            if not isinstance(target, Reference):
                raise self.error(f"{_text(one)!r} cannot be assigned to", one)
            targets.append(target)
        if not targets:
            raise self.error("there is nothing on the left side of '='", node)
        return syntax.Assign(_line(node), targets, self.expression(right))

    def _command(self, node: Any) -> Statement:
        words = [_text(c) for c in node.named_children if c.type not in _IGNORED]
        return syntax.CommandSyntax(_line(node), words[0], words[1:])

    def _if_statement(self, node: Any) -> Statement:
        branches = [(self.expression(node.child_by_field_name("condition")), self.blocks_of(node))]
        otherwise: Block = ()
        for child in node.named_children:
            if child.type == "elseif_clause":
                branches.append((self.expression(child.child_by_field_name("condition")), self.blocks_of(child)))
            elif child.type == "else_clause":
                otherwise = self.blocks_of(child)
        return syntax.If(_line(node), branches, otherwise)

    def _for_statement(self, node: Any) -> Statement:
        parts = [c for c in node.named_children if c.type not in _IGNORED]
        name, values = [c for c in parts[0].named_children if c.type not in _IGNORED]
        if parts[0].type != "iterator" or name.type != "identifier" or node.children[0].type != "for":
            return syntax.Refused(_line(node), f"this kind of loop is not supported: {_text(node)[:40]!r}")
        return syntax.For(_line(node), _text(name), self.expression(values), self.blocks_of(node))

    def _while_statement(self, node: Any) -> Statement:
        condition = self.expression(node.child_by_field_name("condition"))
        return syntax.While(_line(node), condition, self.blocks_of(node))

    def _switch_statement(self, node: Any) -> Statement:
        cases: list[tuple[MatlabExpression, Block]] = []
        otherwise: Block = ()
        for child in node.named_children:
            if child.type == "case_clause":
                cases.append((self.expression(child.child_by_field_name("condition")), self.blocks_of(child)))
            elif child.type == "otherwise_clause":
                otherwise = self.blocks_of(child)
        return syntax.Switch(_line(node), self.expression(node.child_by_field_name("condition")), cases, otherwise)

    def _try_statement(self, node: Any) -> Statement:
        return syntax.Try(_line(node), self.blocks_of(node))

    def _jump(self, node: Any) -> Statement:
        return syntax.Jump(_line(node), _text(node))

    _return_statement = _break_statement = _continue_statement = _jump

    # ------------------------------------------------------------------ expressions

    def expression(self, node: Any) -> MatlabExpression:
        """Convert an expression."""
        node = _unwrapped(node)
        self.depth += 1
        if self.depth > DEEPEST_BLOCKS:
            raise self.error(f"brackets are nested more than {DEEPEST_BLOCKS} deep", node)
        found = _Operations(self.flat(node), self.error, node).whole() if node.type in _OPERATIONS else self.atom(node)
        self.depth -= 1
        return found

    def flat(self, node: Any) -> list[Any]:
        """Return values and operators in the order of the text, regardless of how the grammar grouped them."""
        found: list[Any] = []
        waiting, before = [node], None
        while waiting:
            one = _unwrapped(waiting.pop())
            if one.type in _OPERATIONS:
                waiting += reversed([c for c in one.children if c.type not in _IGNORED])
                continue
            found.append(self.expression(one) if one.is_named else (_operator(before, one), one))
            before = one
        for one, other in pairwise(found):
            signs = isinstance(one, tuple) and isinstance(other, tuple) and one[0] == other[0] in ("+", "-")
            if signs and one[1].end_byte == other[1].start_byte:
                raise self.error(f"'{one[0]}{other[0]}' differs in Octave: put a space between them", one[1])
        return found

    def atom(self, node: Any) -> MatlabExpression:
        """Convert an expression without an operator."""
        line, kind = _line(node), node.type
        if kind == "number":
            return self.number(node)
        if kind == "identifier":
            return Reference(line, _text(node))
        if kind == "parenthesis":
            inner = [c for c in node.named_children if c.type not in _IGNORED]
            if len(inner) != 1:
                raise self.error("parentheses hold one value", node)
            return syntax.Parenthesized(line, self.expression(inner[0]))
        if kind in ("function_call", "field_expression"):
            return self.reference(node)
        if kind in ("matrix", "cell"):
            rows = [[c for c in row.named_children if c.type not in _IGNORED]
                    for row in node.named_children if row.type == "row"]  # fmt: skip
            for one, other in (pair for row in rows for pair in pairwise(row)):
                if one.end_byte == other.start_byte:
                    raise self.error(f"{_text(one)[:20]!r} and {_text(other)[:20]!r} touch: put a comma there", other)
            return syntax.Bracketed(line, [[self.expression(c) for c in row] for row in rows], kind == "cell")
        if kind == "string":
            return self.string(node)
        if kind == "spread_operator":
            return syntax.Colon(line)
        if kind == "end_keyword":
            return syntax.End(line)
        if kind == "boolean":
            return Reference(line, _text(node))
        if kind == "handle_operator":
            return syntax.Handle(line, _text(node.named_children[-1]))
        if kind == "lambda":
            return self.anonymous(node)
        return syntax.Unknown(line, f"{_text(node)[:40]!r} is not supported")

    def number(self, node: Any) -> MatlabExpression:
        text = _text(node)
        if not _DECIMAL.fullmatch(text):
            what = "complex numbers are" if text[-1] in "ij" else "numbers in this form are"
            return syntax.Unknown(_line(node), f"{text!r}: {what} not supported")
        return syntax.Number(_line(node), float(re.sub("[dD]", "e", text)))

    def string(self, node: Any) -> MatlabExpression:
        text = _text(node)
        inside = text[1:-1]
        if text[0] == '"' and ("\\" in inside or '"' in inside):
            return syntax.Unknown(_line(node), f"{text[:40]}: use single quotes, which mean the same everywhere")
        return syntax.Quoted(_line(node), inside.replace("''", "'") if text[0] == "'" else inside)

    def anonymous(self, node: Any) -> MatlabExpression:
        parameters = [_text(c) for c in node.children if c.type == "arguments" for c in c.named_children]
        return syntax.Anonymous(_line(node), parameters, self.expression(node.child_by_field_name("expression")))

    def reference(self, node: Any) -> MatlabExpression:
        links = list(self.links(node))
        head = node
        while head.type in ("function_call", "field_expression"):
            head = head.child_by_field_name("name" if head.type == "function_call" else "object")
        if head.type != "identifier":
            return syntax.Unknown(_line(node), f"{_text(node)[:40]!r}: give {_text(head)[:20]!r} a name first")
        return Reference(_line(node), _text(head), links)

    def links(self, node: Any) -> Iterator[syntax.NameLink]:
        """Yield what follows a name, in order."""
        if node.type == "function_call":
            yield from self.links(node.child_by_field_name("name"))
            yield self.call(node)
        elif node.type == "field_expression":
            yield from self.links(node.child_by_field_name("object"))
            for field in node.children_by_field_name("field"):
                inner = field
                calls: list[Any] = []
                while inner.type == "function_call":
                    calls.append(inner)
                    inner = inner.child_by_field_name("name")
                if inner.type != "identifier":
                    raise self.error(f"the field {_text(field)[:40]!r} is not supported: write its name", field)
                yield syntax.NameLink(".", (), _text(inner))
                for one in reversed(calls):
                    yield self.call(one)

    def call(self, node: Any) -> syntax.NameLink:
        kind = next(c.type for c in node.children if c.type in ("(", "{", "@"))
        if kind == "@":
            raise self.error(f"{_text(node)[:40]!r} is not supported", node)
        given = [a for c in node.children if c.type == "arguments" for a in c.children_by_field_name("argument")]
        for child in (c for a in node.children if a.type == "arguments" for c in a.named_children):
            if child not in given and child.type not in _IGNORED:
                raise self.error(f"{_text(child)[:40]!r} is not supported as an argument", child)
        return syntax.NameLink(kind, [self.expression(a) for a in given])


_SEVERAL_LINES = frozenset(
    ("source_file", "function_definition", "block", "matrix", "cell", "if_statement", "elseif_clause", "else_clause",
     "for_statement", "while_statement", "switch_statement", "case_clause", "otherwise_clause", "try_statement",
     "catch_clause", "comment", "line_continuation")
)  # fmt: skip
_OPENING = frozenset(("if", "elseif", "while", "switch", "case", "for"))


def _refuse_other_readings(root: Any, error: Any) -> None:
    """Refuse line ends within expressions, which the grammar takes for white space, and what Octave reads differently.

    A comment in the middle of a continued line ends it in MATLAB but not in Octave.
    """
    waiting, going_on, comments = [root], set(), []
    while waiting:
        node = waiting.pop()
        children = node.children
        waiting += children
        if node.type == "line_continuation":
            going_on.add(node.start_point[0])
        elif node.type == "comment":
            comments.append(node)
        elif node.type == "identifier" and _text(node) in OCTAVE_WORDS:
            raise error(f"{_text(node)!r} is a keyword of Octave: use another name", node)
        elif node.type == "field_expression" and any(a.end_byte < b.start_byte for a, b in pairwise(children)):
            raise error("a space beside the '.' of a field: within brackets that means something else", node)
        for one, other in pairwise(children):
            broken = other.start_point[0] > one.end_point[0] and "comment" not in (one.type, other.type)
            if broken and (node.type not in _SEVERAL_LINES or one.type in _OPENING):
                raise error("a line ends within an expression: write ... where it continues", one)
    for node in comments:
        if node.start_point[0] - 1 in going_on:
            raise error("a comment where the previous line continues: put it elsewhere", node)


def _within(block: Block) -> Iterator[Statement]:
    """Yield all statements of a block, including nested ones."""
    for one in block:
        yield one
        for body in _inner(one):
            yield from _within(body)


def _inner(one: Statement) -> list[Block]:
    """Return the blocks of a statement."""
    if isinstance(one, syntax.If):
        return [*(b for _, b in one.branches), one.otherwise]
    if isinstance(one, syntax.Switch):
        return [*(b for _, b in one.cases), one.otherwise]
    return [one.body] if isinstance(one, (syntax.For, syntax.While, syntax.Try)) else []


class _Operations:
    """Combines values and operators by MATLAB's precedence."""

    def __init__(self, tokens: list[Any], error: Any, node: Any) -> None:
        self.tokens, self.error, self.node, self.at = tokens, error, node, 0

    def whole(self) -> MatlabExpression:
        found = self.level(0)
        if self.at != len(self.tokens):
            raise self.error(f"the operators of {_text(self.node)[:60]!r} are not understood", self.node)
        return found

    def operator(self, *those: str) -> str | None:
        """Take the next token if it is one of the given operators."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if not isinstance(token, tuple) or token[0] not in those:
            return None
        self.at += 1
        found: str = token[0]
        return found

    def level(self, k: int) -> MatlabExpression:
        if k == len(_LEVELS):
            return self.signed()
        if _LEVELS[k] == (":",):
            return self.range(k)
        found = self.level(k + 1)
        while operator := self.operator(*_LEVELS[k]):
            right = self.level(k + 1)
            found = syntax.Binary(found.line, "~=" if operator == "!=" else operator, found, right)
        return found

    def range(self, k: int) -> MatlabExpression:
        found = [self.level(k + 1)]
        while self.operator(":"):
            found.append(self.level(k + 1))
        if len(found) == 1:
            return found[0]
        if len(found) > 3:
            raise self.error("a range has at most three numbers", self.node)
        return syntax.ColonRange(found[0].line, found[0], found[1] if len(found) == 3 else None, found[-1])

    def signed(self) -> MatlabExpression:
        if operator := self.operator(*_PREFIXES):
            operand = self.signed()
            return syntax.Unary(operand.line, "~" if operator == "!" else operator, operand)
        found = self.operand()
        while operator := self.operator(*_POWERS, *_TRANSPOSES):
            if operator in _TRANSPOSES:
                found = syntax.Transposed(found.line, found)
            else:
                found = syntax.Binary(found.line, operator, found, self.exponent())
        return found

    def exponent(self) -> MatlabExpression:
        """Read an exponent: a value, possibly with signs before it."""
        if operator := self.operator(*_PREFIXES):
            operand = self.exponent()
            return syntax.Unary(operand.line, "~" if operator == "!" else operator, operand)
        return self.operand()

    def operand(self) -> MatlabExpression:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if not isinstance(token, MatlabExpression):
            raise self.error(f"a value is missing in {_text(self.node)[:60]!r}", self.node)
        self.at += 1
        return token


def _operator(before: Any, token: Any) -> str:
    """Return an operator; in ``1./x`` the dot belongs to the operator, though the grammar gives it to the number."""
    touches = before is not None and before.type == "number" and before.end_byte == token.start_byte
    if touches and _text(before).endswith(".") and token.type in ("*", "/", "\\", "^", "'"):
        return f".{token.type}"
    return str(token.type)


def _unwrapped(node: Any) -> Any:
    """Return a node without the unnamed nodes that the grammar wraps around it."""
    while node.is_named and node.type.startswith("_") and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def _line(node: Any) -> int:
    found: int = node.start_point[0] + 1
    return found


def _text(node: Any) -> str:
    found: str = node.text.decode("utf-8")
    return found
