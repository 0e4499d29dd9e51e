"""The variables of one call, and their values after a condition that is unknown."""

from __future__ import annotations

from typing import Any

from . import operators
from .syntax import MatlabFunction
from .values import MatlabError, MatlabStruct, Matrix, NotSet


class CallFrame:
    """The variables of one call."""

    def __init__(self, file: str, function: str, inputs: int = 0, outputs: int = 0) -> None:
        self.file, self.function, self.inputs, self.outputs = file, function, inputs, outputs
        self.variables: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        """The line where each variable was last assigned."""
        self.local: dict[str, MatlabFunction] = {}
        self.undecided, self.undecided_in_loop = 0, 0
        """How many conditions around the statement are unknown, in this function and in its innermost loop."""


def told(value: Any, name: str) -> Any:
    """Return a value, or raise an error that says why it is unknown."""
    if isinstance(value, NotSet):
        raise MatlabError(f"{name!r} is unknown: {value.why}")
    return value


def merged(holds: Any, yes: dict[str, Any], no: dict[str, Any], line: int) -> dict[str, Any]:
    """Return the variables after an ``if`` with an unknown condition, chosen where both branches set a value."""
    left: dict[str, Any] = {}
    for name in [*yes, *(n for n in no if n not in yes)]:
        a, b = yes.get(name), no.get(name)
        if a is b:
            left[name] = a
        elif a is None or b is None:
            left[name] = NotSet(f"only one branch of the condition on line {line} sets it")
        elif isinstance(a, NotSet) or isinstance(b, NotSet):
            left[name] = a if isinstance(a, NotSet) else b
        elif isinstance(a, Matrix) and isinstance(b, Matrix) and a.shape == b.shape:
            left[name] = operators.chosen(holds, a, b)
        elif isinstance(a, MatlabStruct) and isinstance(b, MatlabStruct):
            left[name] = MatlabStruct(merged(holds, a, b, line))
        elif isinstance(a, str) and a == b:
            left[name] = a
        else:
            left[name] = NotSet(f"the branches of the condition on line {line} give it different sizes or kinds")
    return left
