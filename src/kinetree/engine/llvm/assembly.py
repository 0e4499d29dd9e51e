"""LLVM assembly by structure: typed values, loops, choices, and memory whose places have names.

    module = Module()
    with module.function("count_above", {"numbers": "ptr", "n": "i64", "least": "i64"}, "i64") as f:
        numbers, n, least = f.args
        found = f.variable(0, "found")
        with f.loop(0, n, changing=(found,)) as k:
            with f.when(numbers.at(k, "i64").load("i64") >= least):
                found.set(found.value + 1)
        f.ret(found.value)
    text = module.text()

A :class:`Variable` is not memory but a name for values: where branches on which it has different ones meet, a phi node
is written.  Integers are signed unless stated otherwise.  Straight-line code over lanes is written by
:class:`~.emitter.Emitter`, which may write on a function begun here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count

SIZES = {"i8": 1, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
"""Sizes in bytes of what memory holds."""


_ENTRY = "entry.0"
"""The first block of a function, a name that no parameter has."""


class AssemblyError(Exception):
    """The code that writes assembly is wrong."""


def _operation(name: str) -> Callable[[Value, Operand], Value]:
    return lambda a, b: a.f.op(f"{name} {a.type} {a.name}, {a.beside(b)}", a.type)


def _comparison(how: str) -> Callable[[Value, Operand], Value]:
    return lambda a, b: a.f.op(f"icmp {how} {a.type} {a.name}, {a.beside(b)}", a.like("i1"), "is")


class Value:
    """A value in a function: operators on it append instructions.  Integers combined with it take its type."""

    __slots__ = ("f", "name", "type")

    def __init__(self, f: MachineFunction, type: str, name: str) -> None:
        self.f, self.type, self.name = f, type, name

    def beside(self, other: Operand) -> str:
        """Return the name of another operand of the same type."""
        if isinstance(other, int):
            return str(other)
        if other.type != self.type:
            raise AssemblyError(f"{self.type} {self.name} beside {other.type} {other.name}")
        return other.name

    def like(self, element: str) -> str:
        """Return the type of a vector with as many elements of another type."""
        lanes, _, rest = self.type.partition(" x ")
        return f"{lanes} x {element}>" if rest else element

    __sub__, __mul__, __floordiv__ = map(_operation, ("sub", "mul", "sdiv"))
    __and__, __or__, __xor__, __rshift__ = map(_operation, ("and", "or", "xor", "lshr"))
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("slt", "sle", "sgt", "sge"))
    equals, differs, is_below = map(_comparison, ("eq", "ne", "ult"))

    def __add__(self, other: Operand) -> Value:
        """Add; to a pointer, add bytes."""
        if self.type == "ptr":
            return self.at(other)
        return self.f.op(f"add {self.type} {self.name}, {self.beside(other)}", self.type)

    def __neg__(self) -> Value:
        return self.f.valued(0, self.type) - self

    def __invert__(self) -> Value:
        return self ^ -1

    def min(self, other: Operand) -> Value:
        """Return the smaller one."""
        return self.f.call(f"llvm.smin.{self.type}", self, other, result=self.type)

    def max(self, other: Operand) -> Value:
        """Return the larger one."""
        return self.f.call(f"llvm.smax.{self.type}", self, other, result=self.type)

    def choose(self, yes: Value, no: Operand) -> Value:
        """Return one value or the other; both are computed."""
        return self.f.op(
            f"select {self.type} {self.name}, {yes.type} {yes.name}, {yes.type} {yes.beside(no)}", yes.type
        )

    def to(self, type: str) -> Value:
        """Convert to a shorter or longer integer (unsigned), or a pointer to an integer."""
        bits, wanted = (64 if kind == "ptr" else int(kind[1:]) for kind in (self.type, type))
        how = "ptrtoint" if self.type == "ptr" else "zext" if wanted > bits else "trunc"
        return self.f.op(f"{how} {self.type} {self.name} to {type}", type)

    def at(self, index: Operand, type: str = "i8", hint: str = "at") -> Value:
        """Return the address of an item in a sequence of items of a type."""
        return self.f.op(f"getelementptr {type}, ptr {self.name}, {typed(index)}", "ptr", hint)

    def load(self, type: str, align: int = 0, hint: str = "t") -> Value:
        """Read what is stored there."""
        return self.f.op(f"load {type}, ptr {self.name}" + (f", align {align}" if align else ""), type, hint)

    def store(self, value: Operand, align: int = 0, past_caches: bool = False) -> None:
        """Write a value there."""
        if past_caches:
            self.f.module.add("!0", "!0 = !{i32 1}")
        hints = (f", align {align}" if align else "") + (", !nontemporal !0" if past_caches else "")
        self.f.do(f"store {typed(value)}, ptr {self.name}{hints}")

    def load_shared(self) -> Value:
        """Read a number that other threads write."""
        return self.f.op(f"load atomic i64, ptr {self.name} seq_cst, align 8", "i64", "seen")

    def store_shared(self, value: Operand) -> None:
        """Write a number that other threads read."""
        self.f.do(f"store atomic {typed(value)}, ptr {self.name} seq_cst, align 8")

    def update(self, how: str, value: Operand) -> Value:
        """Change a number atomically by ``add``, ``sub``, ``and``, ``or`` or ``xchg``; return its old value."""
        return self.f.op(f"atomicrmw {how} ptr {self.name}, {typed(value)} seq_cst", "i64", "was")

    def exchange(self, expected: Operand, new: Operand) -> tuple[Value, Value]:
        """Replace a number if it has the expected value; return its old value, and whether it was replaced."""
        text = f"cmpxchg ptr {self.name}, {typed(expected)}, {typed(new)} seq_cst seq_cst"
        pair = f"extractvalue {{ i64, i1 }} {self.f.op(text, '{ i64, i1 }').name}, "
        return self.f.op(pair + "0", "i64", "was"), self.f.op(pair + "1", "i1", "is")


Operand = Value | int


def typed(value: Operand) -> str:
    """Return an operand with its type; an integer is an i64."""
    return f"i64 {value}" if isinstance(value, int) else f"{value.type} {value.name}"


class Variable:
    """A name that stands for different values at different times."""

    def __init__(self, f: MachineFunction, hint: str) -> None:
        self.f, self.hint = f, hint

    @property
    def value(self) -> Value:
        """The current value."""
        return self.f.known[self]

    def set(self, value: Operand) -> None:
        """Change the value from here on."""
        known = self.f.known
        self.f.known = {**known, self: self.f.valued(value, known[self].type)}


class Label:
    """A place in a function; ``ways`` lead there, each with its block and the values of variables."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ways: list[tuple[str, dict[Variable, Value]]] = []


class StructLayout:
    """Names of places in memory.

    fields: What is there, by name; each after the one before, or at a given offset in bytes.

    Attributes
    ----------
    kinds, at : dict
        The type and the offset in bytes of each.
    size : int
        Where the last one ends.
    """

    def __init__(self, **fields: str | tuple[str, int]) -> None:
        self.kinds: dict[str, str] = {}
        self.at: dict[str, int] = {}
        self.size = 0
        for name, field in fields.items():
            kind, place = field if isinstance(field, tuple) else (field, self.size)
            self.kinds[name], self.at[name], self.size = kind, place, place + SIZES[kind]

    def of(self, pointer: Value) -> Fields:
        """Return the fields that a pointer points to."""
        return Fields(self, pointer)

    def write(self, address: int, **words: int) -> None:
        """Write 8-byte words now, in this order, to memory of this process."""
        for name, value in words.items():
            ctypes.c_int64.from_address(address + self.at[name]).value = value


class Fields:
    """The fields that a pointer points to: ``fields["count"]`` reads, ``fields["count"] = n`` writes."""

    def __init__(self, layout: StructLayout, pointer: Value) -> None:
        self.layout, self.pointer = layout, pointer

    def place(self, name: str) -> Value:
        """Return the address of a field."""
        return self.pointer.at(self.layout.at[name], hint=f"{name}_at")

    def __getitem__(self, name: str) -> Value:
        return self.place(name).load(self.layout.kinds[name], hint=name)

    def __setitem__(self, name: str, value: Operand) -> None:
        self.place(name).store(self.pointer.f.valued(value, self.layout.kinds[name]))

    def fill(self, **values: Operand) -> None:
        """Write several values."""
        for name, value in values.items():
            self[name] = value


class MachineFunction:
    """A function that is being written, from top to bottom."""

    def __init__(self, module: Module, parameters: Mapping[str, str]) -> None:
        self.module, self.counter = module, count(1)
        self.args = [
            Value(self, "ptr" if kind.startswith("ptr") else kind, f"%{name}") for name, kind in parameters.items()
        ]
        self.null = Value(self, "ptr", "null")
        self.rooms: list[str] = []
        self._lines: list[str] = []
        self._block = _ENTRY  # None where the code is unreachable
        self._known: dict[Variable, Value] = {}
        self._ends: list[Label] = []
        self._behind: Label | None = None  # of a choice that may still get its other half

    @property
    def lines(self) -> list[str]:
        """The lines written so far; others may append instructions to them."""
        self._close_choice()
        return self._lines

    @property
    def known(self) -> dict[Variable, Value]:
        """The current values of variables."""
        self._close_choice()
        return self._known

    @known.setter
    def known(self, known: dict[Variable, Value]) -> None:
        self._known = known

    @property
    def is_reached(self) -> bool:
        """Whether the current place can be reached."""
        self._close_choice()
        return bool(self._block)

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        if self._behind is not None or not self._block:
            self._go_on(text)
        self._lines.append(f"  {text}")

    def _go_on(self, text: str) -> None:
        self._close_choice()
        if not self._block:
            raise AssemblyError(f"no path leads to {text!r}")

    def op(self, text: str, type: str, hint: str = "t") -> Value:
        """Append an instruction and return its result."""
        if self._behind is not None or not self._block:
            self._go_on(text)
        name = f"%{hint}.{next(self.counter)}"
        self._lines.append(f"  {name} = {text}")
        return Value(self, type, name)

    def comment(self, text: str) -> None:
        """Write a comment into the assembly."""
        self.lines.append(f"  ; {text}")

    def symbol(self, name: str) -> Value:
        """Return the address of a function or of data of the module."""
        return Value(self, "ptr", f"@{name}")

    def valued(self, value: Operand, type: str = "i64") -> Value:
        """Return a value as it is, or an integer as a value of a type."""
        return Value(self, type, str(value)) if isinstance(value, int) else value

    def variable(self, value: Operand, hint: str) -> Variable:
        """Return a variable with an initial value."""
        made = Variable(self, hint)
        self.known = {**self.known, made: self.valued(value)}
        return made

    def room(self, type: str, number: int = 1, align: int = 8, hint: str = "room") -> Value:
        """Return memory on the stack that lasts as long as the function runs."""
        name = f"%{hint}.{next(self.counter)}"
        self.rooms.append(f"  {name} = alloca {type}, i64 {number}, align {align}")
        return Value(self, "ptr", name)

    def call(self, what: str | Value, *args: Operand, result: str = "void", convention: str = "") -> Value:
        """Call a function by its address or name; it is declared if the module does not define it."""
        name = f"@{what}" if isinstance(what, str) else what.name
        if isinstance(what, str):
            kinds = ", ".join(typed(a).rpartition(" ")[0] for a in args)
            self.module.called[what] = f"declare {result} {name}({kinds})"
        text = f"call {convention}{' ' if convention else ''}{result} {name}({', '.join(map(typed, args))})"
        if result != "void":
            return self.op(text, result, "got")
        self.do(text)
        return self.null

    def ret(self, value: Operand | None = None) -> None:
        """Return from the function."""
        self.do("ret void" if value is None else f"ret {typed(value)}")
        self._block = ""

    def label(self, name: str) -> Label:
        """Return a label that code may jump to; :meth:`place` puts it into the function."""
        return Label(f"{name}.{next(self.counter)}")

    def jump(self, to: Label, when: Value | None = None, unless: Value | None = None) -> None:
        """Continue elsewhere: always, if a condition holds, or unless it does."""
        condition, here = when or unless, self.label("go_on")
        yes, no = (to, here) if when else (here, to)
        self.do(f"br i1 {condition.name}, label %{yes.name}, label %{no.name}" if condition else f"br label %{to.name}")
        to.ways.append((self._block, self._known))
        here.ways += [(self._block, self._known)] if condition else []
        self._block = ""
        self.place(here)

    def place(self, label: Label) -> None:
        """Continue here after all jumps to a label, and from the code above."""
        if self.is_reached:
            self.jump(label)
        if not label.ways:
            return
        self._lines.append(f"{label.name}:")
        blocks, states = zip(*label.ways, strict=True)
        self._block, self._known = label.name, states[0]
        if len(states) == 1:
            return
        self._known = {}
        for variable, value in states[0].items():
            if all(variable in state for state in states):
                values = [state[variable] for state in states]
                differ = any(each is not value for each in values)
                self._known[variable] = self.op(_phi(values, blocks), value.type, variable.hint) if differ else value

    @contextmanager
    def way_out(self, name: str) -> Iterator[Label]:
        """Give the block a label that is placed after it."""
        label = self.label(name)
        yield label
        self.place(label)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Run the block if a condition holds; :meth:`otherwise` may follow immediately."""
        behind = self.label("behind")
        self.jump(behind, unless=condition)
        yield
        self._close_choice()
        self._behind = behind

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Run the block if the preceding condition does not hold."""
        behind, self._behind = self._behind, None
        if behind is None:
            raise AssemblyError("otherwise() does not follow a when()")
        end = self.label("joined")
        if self._block:
            self.jump(end)
        self.place(behind)
        yield
        self.place(end)

    def _close_choice(self) -> None:
        if self._behind is not None:
            behind, self._behind = self._behind, None
            self.place(behind)

    @contextmanager
    def forever(self, *changing: Variable) -> Iterator[None]:
        """Repeat the block until it leaves; the variables that it changes must be named."""
        begin, end = self.label("again"), self.label("left")
        self.jump(begin)
        before = begin.ways[0][1]
        self._lines.append(f"{begin.name}:")
        first = len(self._lines)
        self._lines += ["" for _ in changing]  # filled in when all incoming branches are known
        inside = {v: Value(self, before[v].type, f"%{v.hint}.{next(self.counter)}") for v in changing}
        self._block, self._known = begin.name, {**before, **inside}
        self._ends.append(end)
        yield
        if self.is_reached:
            self.jump(begin)
        self._ends.pop()
        blocks, states = zip(*begin.ways, strict=True)
        for k, (variable, value) in enumerate(inside.items()):
            self._lines[first + k] = f"  {value.name} = {_phi([state[variable] for state in states], blocks)}"
        for variable, value in before.items():
            if variable not in changing and any(state[variable] is not value for state in states):
                raise AssemblyError(f"a loop does not declare that it changes {variable.hint!r}")
        self.place(end)

    def leave(self, when: Value | None = None, unless: Value | None = None) -> None:
        """Continue after the innermost loop."""
        self.jump(self._ends[-1], when, unless)

    @contextmanager
    def loop(
        self, start: Operand, stop: Operand, step: Operand = 1, changing: Sequence[Variable] = (), hint: str = "k"
    ) -> Iterator[Value]:
        """Run the block for numbers from ``start`` on, as long as they are below ``stop``."""
        k = self.variable(start, hint)
        with self.forever(k, *changing):
            now = k.value
            self.leave(unless=now < stop)
            yield now
            k.set(now + step)


def _phi(values: Sequence[Value], blocks: Sequence[str]) -> str:
    ways = ", ".join(f"[ {value.name}, %{block} ]" for value, block in zip(values, blocks, strict=True))
    return f"phi {values[0].type} {ways}"


class Module:
    """Functions that are compiled together."""

    def __init__(self) -> None:
        self.called: dict[str, str] = {}
        self._parts: dict[str, list[str]] = {}

    @contextmanager
    def function(
        self, name: str, parameters: Mapping[str, str], result: str = "void", linkage: str = "", attributes: str = ""
    ) -> Iterator[MachineFunction]:
        """Write a function; ``linkage`` may end with a calling convention, the type of a pointer with attributes."""
        f = MachineFunction(self, parameters)
        yield f
        if f.is_reached and result == "void":
            f.ret()
        if f.is_reached:
            raise AssemblyError(f"{name} ends without a result")
        given = ", ".join(f"{kind} %{argument}" for argument, kind in parameters.items())
        head = " ".join(filter(None, ("define", linkage, result, f"@{name}({given})", attributes, "{")))
        self._parts[name] = [head, f"{_ENTRY}:", *f.rooms, *f.lines, "}"]

    def add(self, name: str, text: str) -> None:
        """Add something other than a function, once."""
        self._parts[name] = [text]

    def text(self) -> str:
        """Return the module as LLVM assembly."""
        declared = [line for name, line in self.called.items() if name not in self._parts]
        return "\n".join([*declared, *chain.from_iterable(self._parts.values()), ""])
