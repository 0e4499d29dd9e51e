"""Runs MATLAB functions on values over any scalar.

Only the files of one folder are read, nothing is written, and a budget of steps stops endless programs.  A condition
may be unknown while it is evaluated, because it depends on a time or state that is known only when machine code runs,
or because it differs over a batch. Then both branches are run, and results are chosen entry by entry, as with the
library's own ``where``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Protocol

import numpy as np

from kinetree.errors import FileFormatError, UnknownNameError
from kinetree.spatial.scalar import logical_and, logical_or

from . import functions, operators, syntax, values
from .call_variables import CallFrame, merged, told
from .syntax import Block, MatlabExpression, MatlabFile, MatlabFunction, Reference
from .values import Cell, FunctionHandle, Indices, MatlabError, MatlabStruct, Matrix, NotSet

MOST_STEPS = 300_000
"""The most expressions that one call from outside may evaluate."""

DEEPEST_CALL = 40

HostFunction = Callable[[Sequence[Any], int], Sequence[Any]]
"""A function in Python that MATLAB code may call: takes values and the number of outputs, returns outputs."""

REFUSED = {
    "eval": "write what it would run", "evalc": "write what it would run", "evalin": "write what it would run",
    "assignin": "assign by name", "system": "nothing outside the folder is run", "unix": "nothing outside is run",
    "dos": "nothing outside is run", "shell": "nothing outside is run", "addpath": "put the files into one folder",
    "cd": "put the files into one folder", "save": "nothing is written", "fopen": "nothing is written",
    "input": "write the value", "rand": "give the numbers", "randn": "give the numbers", "randi": "give the numbers",
    "ode45": "kinetree integrates: give the law that it calls", "fsolve": "write its solution",
    "fzero": "write its solution", "global": "pass it as an argument", "clock": "time is an argument",
    "now": "time is an argument", "toc": "time is an argument", "exist": "say what there is",
}  # fmt: skip
"""Names that will never be supported, with advice on what to do instead."""


class Folder(Protocol):
    """Finds the functions and data of a program."""

    def program(self, name: str) -> MatlabFile | None:
        """Return the file ``name.m``, or None."""

    def data(self, name: str) -> dict[str, Any]:
        """Return the variables of a data file, or raise a :class:`MatlabError`."""

    def missing(self, name: str) -> str:
        """Return what is known about a function that does not exist."""


class _Leaving(Exception):
    """A pending ``return``, ``break`` or ``continue``."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class MatlabRunner:
    """Runs functions of a folder.

    Parameters
    ----------
    folder : Folder
    hosts : mapping of str to callable, optional
        Functions in place of files that cannot be read.
    """

    def __init__(self, folder: Folder, hosts: Mapping[str, HostFunction] | None = None) -> None:
        self.folder, self.hosts = folder, dict(hosts or {})
        self.steps, self.depth, self.undecided = 0, 0, 0
        self.ends: list[tuple[Any, int, int]] = []

    def workspace(self, name: str) -> CallFrame:
        """Return the variables that a function without arguments, or a script, leaves behind."""
        self.steps, self.depth, self.undecided, self.ends = 0, 0, 0, []
        program = self.folder.program(name)
        if program is None:
            raise FileFormatError(f"{name}.m is not there{self.folder.missing(name)}")
        is_script = bool(program.script) or not program.functions
        frame = CallFrame(program.file, name, 0, 0 if is_script else len(program.functions[0].outputs))
        frame.local = {f.name: f for f in program.functions}
        with np.errstate(all="ignore"), suppress(_Leaving):
            self.run(frame, program.script if is_script else program.functions[0].body)
        return frame

    def call(self, name: str, arguments: Sequence[Any], outputs: int = 1) -> list[Any]:
        """Return the outputs of a function of the folder."""
        self.steps, self.depth, self.undecided, self.ends = 0, 0, 0, []
        program = self.folder.program(name)
        if program is None or program.script or not program.functions:
            what = "is a script, not a function" if program is not None else f"is not there{self.folder.missing(name)}"
            raise FileFormatError(f"{name}.m {what}", None if program is None else program.file)
        with np.errstate(all="ignore"):
            return self.run_function(program, program.functions[0], arguments, outputs)

    # ------------------------------------------------------------------ errors and budget

    @contextmanager
    def at(self, frame: CallFrame, line: int) -> Iterator[None]:
        """Add file and line to errors that are raised within."""
        try:
            yield
        except MatlabError as problem:
            raise FileFormatError(str(problem), frame.file, line) from None
        except RecursionError:
            raise FileFormatError("it is nested too deeply", frame.file, line) from None

    def step(self) -> None:
        """Count one step."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise MatlabError(f"more than {MOST_STEPS} steps: this does not end, or does too much for a robot's file")

    def go_deeper(self) -> None:
        """Count one more nested call."""
        self.depth += 1
        if self.depth > DEEPEST_CALL:
            raise MatlabError(f"more than {DEEPEST_CALL} nested calls")

    # ------------------------------------------------------------------ calls

    def run_function(
        self, program: MatlabFile, function: MatlabFunction, given: Sequence[Any], outputs: int
    ) -> list[Any]:
        """Run a function of a file."""
        frame = CallFrame(function.file, function.name, len(given), outputs)
        frame.local = {f.name: f for f in program.functions}
        names = list(function.parameters)
        with self.at(frame, function.line):
            self.go_deeper()
            rest = names[-1:] == ["varargin"]
            if rest:
                names.pop()
            if len(given) > len(names) and not rest:
                raise MatlabError(f"{function.name}() takes {len(names)} arguments, but {len(given)} are given")
            for name, value in zip(names, given, strict=False):
                if name is not None:
                    frame.variables[name] = value
            if rest:
                frame.variables["varargin"] = _cell_row(given[len(names) :])
        with suppress(_Leaving):  # a return: the parser allows no other jump outside of loops
            self.run(frame, function.body)
        self.depth -= 1
        with self.at(frame, function.line):
            return self._outputs(frame, function, outputs)

    def _outputs(self, frame: CallFrame, function: MatlabFunction, count: int) -> list[Any]:
        names = list(function.outputs)
        more: list[Any] = []
        if names[-1:] == ["varargout"]:
            names.pop()
            kept = frame.variables.get("varargout")
            more = list(kept.data.ravel(order="F")) if isinstance(kept, Cell) else []
        if count > len(names) + len(more):
            raise MatlabError(f"{function.name}() has {len(names) + len(more)} outputs, but {count} are requested")
        found: list[Any] = []
        for name in names[: max(count, 1)]:
            if name not in frame.variables and not found and count == 0:
                return []
            if name not in frame.variables:
                raise MatlabError(f"output {name!r} of {function.name}() is not set")
            found.append(told(frame.variables[name], name))
        return (found + more)[: max(count, min(1, len(found)))]

    def named(self, frame: CallFrame, name: str, given: Sequence[Any], outputs: int) -> list[Any]:
        """Return the outputs of a function by its name, found as in MATLAB: in the file, in the folder, built in."""
        if name in frame.local:
            program = MatlabFile(frame.file, (), list(frame.local.values()))
            return self.run_function(program, frame.local[name], given, outputs)
        if name in self.hosts:
            return list(self.hosts[name](given, outputs))
        program_ = self.folder.program(name)
        if program_ is not None:
            if program_.script or not program_.functions:
                return self._script(frame, program_, given, outputs)
            return self.run_function(program_, program_.functions[0], given, outputs)
        return self.built_in(frame, name, given, outputs)

    def _script(self, frame: CallFrame, program: MatlabFile, given: Sequence[Any], outputs: int) -> list[Any]:
        if given or outputs:
            raise MatlabError(f"{program.file} is a script: it takes no arguments and returns nothing")
        self.go_deeper()
        file, frame.file = frame.file, program.file
        local, frame.local = frame.local, {f.name: f for f in program.functions}
        with suppress(_Leaving):
            self.run(frame, program.script)
        frame.file, frame.local = file, local
        self.depth -= 1
        return []

    def built_in(self, frame: CallFrame, name: str, given: Sequence[Any], outputs: int) -> list[Any]:
        """Return the outputs of a built-in function."""
        if name in ("nargin", "nargout") and not given:
            return [values.of(float(frame.inputs if name == "nargin" else frame.outputs))]
        if name in functions.SILENT and outputs == 0:
            if name in ("fprintf", "printf") and given and isinstance(given[0], Matrix):
                raise MatlabError("writing to files is not supported")
            return []
        if name == "error":
            return self._error(frame, given)
        if name == "load":
            return self._load(frame, given, outputs)
        if name == "feval" and given:
            return self.apply(frame, _handle(given[0]), given[1:], outputs)
        if name == "str2func" and len(given) == 1:
            return [_handle(given[0])]
        if name == "size" and outputs > 1 and len(given) == 1:
            return list(functions.sizes_for(given[0], outputs))
        if name not in functions.FUNCTIONS:
            raise MatlabError(self._unknown(name))
        try:
            found = functions.FUNCTIONS[name](*given)
        except MatlabError as problem:
            raise MatlabError(f"{name}(): {problem}") from None
        except TypeError as problem:
            if "argument" not in str(problem):
                raise
            raise MatlabError(f"{name}() is not supported with {len(given)} arguments") from None
        several = list(found) if isinstance(found, tuple) else [found]
        if outputs > len(several):
            raise MatlabError(f"{name}() has {len(several)} outputs here, but {outputs} are requested")
        return several[: max(1, outputs)]

    def _unknown(self, name: str) -> str:
        if name in REFUSED:
            return f"{name!r} is not run here: {REFUSED[name]}"
        if name in ("i", "j", "I", "J"):
            return f"{name!r} is not set: the imaginary unit is not supported"
        more = self.folder.missing(name)
        if more:
            return f"there is no {name!r}{more}"
        return str(UnknownNameError("variable or function", name, functions.FUNCTIONS)).strip("'\"")

    def _error(self, frame: CallFrame, given: Sequence[Any]) -> list[Any]:
        text = given[0] if given and isinstance(given[0], str) else ""
        if self.undecided:
            raise MatlabError(
                f"error({text!r}) under a condition on the time or the state, which machine code cannot raise"
            )
        raise MatlabError(f"the file's own error: {text}")

    def _load(self, frame: CallFrame, given: Sequence[Any], outputs: int) -> list[Any]:
        if len(given) != 1 or not isinstance(given[0], str):
            raise MatlabError("load() takes the name of a file in the same folder")
        found = self.folder.data(given[0])
        if outputs:
            if list(found) == [""]:
                return [found[""]]
            return [MatlabStruct(found)]
        if list(found) == [""]:
            found = {_variable_of(given[0]): found[""]}
        frame.variables.update(found)
        return []

    def apply(self, frame: CallFrame, handle: FunctionHandle, given: Sequence[Any], outputs: int) -> list[Any]:
        """Call a function handle."""
        made_in = frame.local if handle.local is None else handle.local
        if handle.anonymous is None:
            there = CallFrame(handle.file or frame.file, "", len(given), outputs)
            there.local = made_in
            return self.named(there, handle.name, given, outputs)
        names = list(handle.anonymous.parameters)
        if len(given) > len(names):
            raise MatlabError(f"the function takes {len(names)} arguments, but {len(given)} are given")
        self.go_deeper()
        inner = CallFrame(handle.file, "", len(given), outputs)
        inner.local = made_in
        inner.variables = {**handle.captured, **dict(zip(names, given, strict=False))}
        found = self.several(inner, handle.anonymous.body, outputs)
        self.depth -= 1
        return found

    # ------------------------------------------------------------------ statements

    def run(self, frame: CallFrame, block: Block) -> None:
        """Run statements, one after the other."""
        for statement in block:
            with self.at(frame, statement.line):
                self.step()
                self._do[type(statement)](self, frame, statement)

    def _assign(self, frame: CallFrame, statement: syntax.Assign) -> None:
        targets, source = statement.targets, statement.value
        if len(targets) == 1 and targets[0] is not None:
            target = targets[0]
            if isinstance(source, syntax.Bracketed) and not source.rows and not source.is_cell and target.links:
                self.store(frame, target, None)
                return
            found = self.several(frame, source, 1)
            if not found:
                raise MatlabError(f"there is no value for {target.name!r}: the called function returns nothing")
            self.store(frame, target, found[0])
            return
        if not isinstance(source, Reference):
            raise MatlabError("one value cannot be assigned to several variables: only functions have several outputs")
        found = self.several(frame, source, len(targets))
        if len(found) < len(targets):
            raise MatlabError(f"{source.name}() has {len(found)} outputs, but {len(targets)} are requested")
        for one, value in zip(targets, found, strict=False):
            if one is not None:
                self.store(frame, one, value)

    def _evaluate(self, frame: CallFrame, statement: syntax.Evaluate) -> None:
        found = self.several(frame, statement.value, 0)
        if found and not (isinstance(statement.value, Reference) and statement.value.name in frame.variables):
            frame.variables["ans"] = found[0]

    def _command(self, frame: CallFrame, statement: syntax.CommandSyntax) -> None:
        name, words = statement.name, list(statement.words)
        if name in frame.variables:
            if words:
                raise MatlabError(f"{name!r} is a variable, and words follow it: put operators or a line end between")
            told(frame.variables[name], name)
        elif name == "clear":
            self._clear(frame, words)
        elif words and name not in functions.SILENT and name != "load":
            what = REFUSED.get(name, "write what it does as an assignment")
            raise MatlabError(f"the command {' '.join([name, *words])!r} is not supported: {what}")
        else:
            found = self.named(frame, name, [_unquoted(w) for w in words], 0)
            if found:
                frame.variables["ans"] = found[0]

    def _clear(self, frame: CallFrame, words: Sequence[str]) -> None:
        if any("*" in word or word.startswith("-") for word in words):
            raise MatlabError(f"clear {' '.join(words)!r} is not supported: name the variables")
        if not words or "all" in words:
            frame.variables.clear()
        for word in words:
            frame.variables.pop(word, None)

    def _jump(self, frame: CallFrame, statement: syntax.Jump) -> None:
        if frame.undecided if statement.word == "return" else frame.undecided_in_loop:
            raise MatlabError(
                f"{statement.word!r} under a condition on the time or the state: write both ways with if and else"
            )
        raise _Leaving(statement.word)

    def _refuse(self, frame: CallFrame, statement: syntax.Refused) -> None:
        raise MatlabError(statement.what)

    def _try(self, frame: CallFrame, statement: syntax.Try) -> None:
        try:
            self.run(frame, statement.body)
        except FileFormatError as problem:
            raise MatlabError(f"'catch' is not supported, and this error occurred: {problem}") from None

    def _for(self, frame: CallFrame, statement: syntax.For) -> None:
        given = self.value(frame, statement.values)
        if not isinstance(given, Matrix):
            raise MatlabError(f"a loop over {values.kind_of(given)}")
        if given.data.ndim > 2:
            raise MatlabError("loops over a matrix of more than two axes are not supported")
        if not given.size:
            frame.variables[statement.variable] = NotSet(f"the loop of line {statement.line} has no steps")
            return
        for k in range(given.shape[1]):
            self.step()
            frame.variables[statement.variable] = values.settled(given.data[:, k : k + 1], given.logical)
            if self._once(frame, statement.body):
                break

    def _while(self, frame: CallFrame, statement: syntax.While) -> None:
        while True:
            self.step()
            holds = values.condition(self.value(frame, statement.condition), "the condition")
            if not isinstance(holds, bool):
                raise MatlabError("a while loop whose end depends on the time or the state cannot be compiled")
            if not holds or self._once(frame, statement.body):
                return

    def _once(self, frame: CallFrame, body: Block) -> bool:
        """Run the body of a loop once; return whether it leaves the loop."""
        outside, frame.undecided_in_loop = frame.undecided_in_loop, 0
        try:
            self.run(frame, body)
        except _Leaving as jump:
            if jump.word == "return":
                raise
            return jump.word == "break"
        finally:
            frame.undecided_in_loop = outside
        return False

    def _if(self, frame: CallFrame, statement: syntax.If) -> None:
        conditions = [
            lambda e=e: values.condition(self.value(frame, e), "the condition") for e, _ in statement.branches
        ]
        self._branch(frame, list(zip(conditions, [b for _, b in statement.branches], strict=True)), statement.otherwise,
                     statement.line)  # fmt: skip

    def _switch(self, frame: CallFrame, statement: syntax.Switch) -> None:
        value = self.value(frame, statement.value)
        conditions = [lambda e=e: self._matches(frame, value, e) for e, _ in statement.cases]
        self._branch(frame, list(zip(conditions, [b for _, b in statement.cases], strict=True)), statement.otherwise,
                     statement.line)  # fmt: skip

    def _matches(self, frame: CallFrame, value: Any, case: MatlabExpression) -> Any:
        wanted = self.value(frame, case)
        choices = list(wanted.data.ravel()) if isinstance(wanted, Cell) else [wanted]
        return logical_or(*(_same_case(value, choice) for choice in choices))

    def _branch(
        self, frame: CallFrame, branches: Sequence[tuple[Callable[[], Any], Block]], otherwise: Block, line: int
    ) -> None:  # fmt: skip
        """Run the branch whose condition holds; for unknown conditions run all branches and choose between results."""
        for k, (condition, block) in enumerate(branches):
            holds = condition()
            if isinstance(holds, (bool, np.bool_)):
                if holds:
                    self.run(frame, block)
                    return
                continue
            before, rest = dict(frame.variables), branches[k + 1 :]
            self._deeper(frame, 1)
            self.run(frame, block)
            yes, frame.variables = frame.variables, before
            self._branch(frame, rest, otherwise, line)
            self._deeper(frame, -1)
            frame.variables = merged(holds, yes, frame.variables, line)
            return
        self.run(frame, otherwise)

    def _deeper(self, frame: CallFrame, by: int) -> None:
        """Count the conditions around a statement that are unknown."""
        self.undecided += by
        frame.undecided += by
        frame.undecided_in_loop += by

    _do: ClassVar[dict[type, Callable[[MatlabRunner, CallFrame, Any], None]]] = {
        syntax.Assign: _assign, syntax.Evaluate: _evaluate, syntax.CommandSyntax: _command, syntax.If: _if,
        syntax.For: _for, syntax.While: _while, syntax.Switch: _switch, syntax.Try: _try, syntax.Jump: _jump,
        syntax.Refused: _refuse,
    }  # fmt: skip

    # ------------------------------------------------------------------ storing

    def store(self, frame: CallFrame, target: Reference, value: Any) -> None:
        """Assign to a variable, or to a part of one; None removes entries."""
        old = frame.variables.get(target.name)
        if target.links and isinstance(old, NotSet):
            raise MatlabError(f"{target.name!r} is unknown: {old.why}")
        frame.variables[target.name] = self._stored(frame, old, target.links, value, target.name)
        frame.lines[target.name] = target.line

    def _stored(self, frame: CallFrame, old: Any, links: Sequence[syntax.NameLink], value: Any, name: str) -> Any:
        if not links:
            return value
        link, rest = links[0], links[1:]
        if link.kind == ".":
            if isinstance(old, Matrix) and old.shape == (0, 0):
                old = None
            if old is not None and not isinstance(old, MatlabStruct):
                raise MatlabError(f"{name!r} is {values.kind_of(old)}, which has no fields")
            made = MatlabStruct(old or {})
            made[link.field] = self._stored(frame, made.get(link.field), rest, value, f"{name}.{link.field}")
            return made
        indices = Indices.of(self.arguments(frame, link.arguments, old))
        if link.kind == "{":
            return self._stored_in_cell(frame, old, indices, rest, value, name)
        if rest:
            raise MatlabError(f"{name}(...) followed by more cannot be set here: there are no arrays of structures")
        if old is not None and not isinstance(old, Matrix):
            raise MatlabError(f"entries of {name!r} cannot be set: it is {values.kind_of(old)}")
        if value is None:
            if old is None:
                raise MatlabError(f"{name!r} is not set, so nothing can be removed from it")
            return values.without(old, indices, name)
        if not isinstance(value, Matrix):
            raise MatlabError(f"{values.kind_of(value)} cannot be an entry of {name!r}")
        return values.assigned(old, indices, value, name)

    def _stored_in_cell(
        self, frame: CallFrame, old: Any, indices: Indices, rest: Sequence[syntax.NameLink], value: Any, name: str
    ) -> Cell:  # fmt: skip
        if isinstance(old, Matrix) and old.shape == (0, 0):
            old = None
        if old is not None and not isinstance(old, Cell):
            raise MatlabError(f"{name!r} is {values.kind_of(old)}, but {name}{{...}} is for cells")
        if value is None:
            value = values.empty()
        data = np.empty((0, 0), dtype=object) if old is None else old.data
        places = list(indices.places)
        if any(p is None or len(p) != 1 for p in places) or len(places) > 2 or (rest and old is None):
            raise MatlabError(f"one entry of the cell {name!r} is set at a time here")
        if len(places) == 1:
            k = places[0][0]  # type: ignore[index]
            if data.size <= k and data.shape[0] > 1:
                raise MatlabError(f"{name}{{{k + 1}}} is outside a {data.shape[0]}x{data.shape[1]} cell")
            row, column = (0, k) if data.shape[0] <= 1 else (k % data.shape[0], k // data.shape[0])
        else:
            row, column = places[0][0], places[1][0]  # type: ignore[index]
        values.limited((row + 1) * (column + 1))
        grown = np.empty((max(data.shape[0], row + 1), max(data.shape[1], column + 1)), dtype=object)
        for place in np.ndindex(grown.shape):
            inside = place[0] < data.shape[0] and place[1] < data.shape[1]
            grown[place] = data[place] if inside else values.empty()
        grown[row, column] = self._stored(frame, grown[row, column], rest, value, name)
        return Cell(grown)

    # ------------------------------------------------------------------ expressions

    def value(self, frame: CallFrame, expression: MatlabExpression) -> Any:
        """Return the value of an expression, which must have exactly one."""
        found = self.several(frame, expression, 1)
        if not found:
            raise MatlabError("a value is missing: the called function returns nothing")
        return found[0]

    def several(self, frame: CallFrame, expression: MatlabExpression, outputs: int) -> list[Any]:
        """Return the values of an expression: exactly one, except for functions and cells."""
        self.step()
        if isinstance(expression, Reference):
            return self._reference(frame, expression, outputs)
        if outputs > 1:
            raise MatlabError("several values are requested where there is one")
        with self.at(frame, expression.line):
            return [self._one(frame, expression)]

    def _one(self, frame: CallFrame, e: MatlabExpression) -> Any:
        if isinstance(e, syntax.Number):
            return values.of(e.value)
        if isinstance(e, syntax.Quoted):
            return e.value
        if isinstance(e, syntax.Parenthesized):
            return self.value(frame, e.operand)
        if isinstance(e, syntax.Unary):
            return operators.unary(e.operator, self.value(frame, e.operand))
        if isinstance(e, syntax.Binary):
            if e.operator in ("&&", "||"):
                return self._short(frame, e)
            return operators.binary(e.operator, self.value(frame, e.left), self.value(frame, e.right))
        if isinstance(e, syntax.Transposed):
            found = self.value(frame, e.operand)
            return values.transposed(found if isinstance(found, Matrix) else values.number_matrix(found))
        if isinstance(e, syntax.ColonRange):
            step = values.of(1.0) if e.step is None else self.value(frame, e.step)
            return operators.range_of(self.value(frame, e.first), step, self.value(frame, e.last))
        if isinstance(e, syntax.Bracketed):
            return self._rows(frame, e)
        if isinstance(e, syntax.End):
            return self._end()
        if isinstance(e, syntax.Handle):
            return FunctionHandle(e.name, file=frame.file, local=frame.local)
        if isinstance(e, syntax.Anonymous):
            return FunctionHandle("", e, dict(frame.variables), frame.file, frame.local)
        if isinstance(e, syntax.Unknown):
            raise MatlabError(e.what)
        raise MatlabError("a colon alone stands for a whole axis, only within an index")

    def _short(self, frame: CallFrame, e: syntax.Binary) -> Matrix:
        """Return ``a && b`` or ``a || b``; the right side is not evaluated if the left one decides."""
        left = _one_truth(self.value(frame, e.left))
        if isinstance(left, bool) and left == (e.operator == "||"):
            return values.truth(left)
        right = _one_truth(self.value(frame, e.right))
        return values.truth((logical_and if e.operator == "&&" else logical_or)(left, right))

    def _rows(self, frame: CallFrame, e: syntax.Bracketed) -> Any:
        rows = [[v for x in row for v in self.several(frame, x, 1)] for row in e.rows]
        if e.is_cell:
            if len({len(row) for row in rows}) > 1:
                raise MatlabError("rows of a cell have different lengths")
            data = np.empty((len(rows), len(rows[0])) if rows else (0, 0), dtype=object)
            for place in np.ndindex(data.shape):
                data[place] = rows[place[0]][place[1]]
            return Cell(data)
        for value in (v for row in rows for v in row):
            if not isinstance(value, Matrix):
                raise MatlabError(f"{values.kind_of(value)} inside the brackets of a matrix is not supported")
        if len(rows) == 1 and len(rows[0]) == 1:
            return rows[0][0]
        return values.joined([values.joined(row, 1) for row in rows if row], 0)

    def _end(self) -> Matrix:
        if not self.ends:
            raise MatlabError("'end' outside an index")
        value, axis, count = self.ends[-1]
        shape = value.shape if isinstance(value, Matrix) else value.data.shape
        if count == 1:
            return values.of(float(int(np.prod(shape))))
        padded = [*shape, *(1,) * count]
        return values.of(float(padded[axis] if axis < count - 1 else int(np.prod(padded[axis:]))))

    def arguments(self, frame: CallFrame, given: Sequence[MatlabExpression], indexed: Any = None) -> list[Any]:
        """Return arguments; a colon is None, and ``end`` refers to the indexed value."""
        found: list[Any] = []
        for axis, expression in enumerate(given):
            if isinstance(expression, syntax.Colon):
                found.append(None)
                continue
            if isinstance(indexed, (Matrix, Cell)):
                self.ends.append((indexed, axis, len(given)))
                try:
                    found += self.several(frame, expression, 1)
                finally:
                    self.ends.pop()
            else:
                found += self.several(frame, expression, 1)
        return found

    def _reference(self, frame: CallFrame, e: Reference, outputs: int) -> list[Any]:
        with self.at(frame, e.line):
            links = list(e.links)
            if e.name in frame.variables:
                found = [told(frame.variables[e.name], e.name)]
            else:
                given: list[Any] = []
                if links and links[0].kind == "(":
                    given = self.arguments(frame, links.pop(0).arguments)
                    if any(x is None for x in given):
                        raise MatlabError(f"{e.name!r} is not set, and a function does not take a colon")
                found = self.named(frame, e.name, given, max(1, outputs) if links else outputs)
            for k, link in enumerate(links):
                if len(found) != 1:
                    raise MatlabError(f"{e.name!r} is a list of {len(found)} values where one is needed")
                found = self._linked(frame, found[0], link, e.name, outputs if k == len(links) - 1 else 1)
            return found

    def _linked(self, frame: CallFrame, value: Any, link: syntax.NameLink, name: str, outputs: int) -> list[Any]:
        if link.kind == ".":
            if not isinstance(value, MatlabStruct):
                raise MatlabError(f"{name!r} is {values.kind_of(value)}, which has no field {link.field!r}")
            if link.field not in value:
                raise MatlabError(f"{name!r} has no field {link.field!r}; it has {', '.join(value) or 'none'}")
            return [told(value[link.field], f"{name}.{link.field}")]
        if isinstance(value, FunctionHandle):
            if link.kind != "(":
                raise MatlabError(f"{name!r} is a function: it is called with ()")
            given = self.arguments(frame, link.arguments)
            if any(x is None for x in given):
                raise MatlabError("a function does not take a colon")
            return self.apply(frame, value, given, outputs)
        if not isinstance(value, (Matrix, Cell)):
            raise MatlabError(f"{name!r} is {values.kind_of(value)}, which is not indexed here")
        if not link.arguments and link.kind == "(":
            return [value]
        indices = Indices.of(self.arguments(frame, link.arguments, value))
        if isinstance(value, Matrix):
            if link.kind == "{":
                raise MatlabError(f"{name!r} is a matrix, but {name}{{...}} is for cells")
            return [values.indexed(value, indices, name)]
        if link.kind == "(":
            raise MatlabError(f"{name!r} is a cell: take an entry with {name}{{...}}")
        places = values.indexed(_places(value), indices, name)
        flat = value.data.ravel(order="F")
        return [flat[int(k)] for k in places.entries()]


# ---------------------------------------------------------------- small things


def _places(cell: Cell) -> Matrix:
    return Matrix(np.arange(float(cell.data.size)).reshape(cell.data.shape, order="F"))


def _cell_row(given: Sequence[Any]) -> Cell:
    data = np.empty((1, len(given)) if given else (0, 0), dtype=object)
    for k, value in enumerate(given):
        data[0, k] = value
    return Cell(data)


def _handle(given: Any) -> FunctionHandle:
    if isinstance(given, FunctionHandle):
        return given
    if isinstance(given, str) and given.isidentifier():
        return FunctionHandle(given)
    raise MatlabError("a function handle or the name of a function is needed")


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == "'" else word


def _variable_of(file: str) -> str:
    return file.rsplit("/", 1)[-1].split(".")[0]


def _one_truth(value: Any) -> Any:
    m = value if isinstance(value, Matrix) else values.number_matrix(value, "what && and || join")
    if m.size != 1:
        raise MatlabError(f"&& and || join single logicals, not a {values.shown(m)} matrix: write all(...) or any(...)")
    return values.condition(m, "what && and || join")


def _same_case(value: Any, choice: Any) -> Any:
    if isinstance(value, str) or isinstance(choice, str):
        return isinstance(value, str) and isinstance(choice, str) and value == choice
    a, b = values.number_matrix(value, "the value of a switch"), values.number_matrix(choice, "a case")
    if a.size != 1 or b.size != 1:
        raise MatlabError("a switch takes a single number or text here")
    return values.condition(operators.binary("==", a, b), "a case")
