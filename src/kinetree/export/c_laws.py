"""Laws, and whole steps of a simulation, as functions in C for a program that is put together elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..engine import c_source
from ..engine.kernels.step_kernel import trace_stages
from ..engine.trace import trace

ON_THE_STACK = "KINETREE_TEMPORARY"
"""The macro in front of temporaries, which the program defines; empty, so that several instances may run at once."""

_DIALECT = c_source.Dialect("kinetree")


def c_name(text: str, otherwise: str) -> str:
    """Return the nearest name that C accepts; ``otherwise`` if nothing is left."""
    return c_source.identifier(text, otherwise)


def law_in_c(name: str, law: Callable[..., Sequence[Any]], arguments: Sequence[tuple[str, int]]) -> str:
    """Return a law as a static function of C, ``void name(const double *..., double *result)``.

    Parameters
    ----------
    name : str
    law : callable
        Takes one list of scalars for each argument, returns a list of scalars.
    arguments : sequence of (str, int)
        Name and length of each vector.

    Examples
    --------
    >>> print(law_in_c("spring", lambda x, k: [-k[0] * x[0]], [("x", 1), ("k", 1)]))
    static void spring(const double *restrict x, const double *restrict k, double *restrict result)
    {
        result[0] = -(k[0] * x[0]);
    }
    <BLANKLINE>
    """
    traced = trace(law, [n for _, n in arguments], lambda x: x)
    return _static(c_source.CFunction(name, traced.graph, traced.outputs, tuple(arguments)))


def step_in_c(name: str, advance: Callable[..., Any], rate: Callable[..., Any], sizes: Sequence[int]) -> str:
    """Return a step of an integrator as a static function ``void name(t, h, state, numbers, result)``.

    The rate, which is long, is a function of its own, called by each stage.

    Parameters
    ----------
    name : str
    advance, rate, sizes
        As for :class:`kinetree.evaluation.law_kernels.StepProgram`.
    """
    n_state, n_question, n_numbers, n_answer = sizes
    stages = trace_stages(advance, rate, n_state, n_question, n_numbers, n_answer)
    count = len(stages.questions)
    known = (("t", 1), ("h", 1), ("n", 1), ("state", n_state), ("numbers", n_numbers), ("answers", count * n_answer))
    asked = c_source.CFunction(
        f"{name}_rate", stages.rate, stages.answer, (("question", n_question), ("numbers", n_numbers)), "answer"
    )
    parts = [_static(asked)]
    for k, outputs in enumerate([*stages.questions, stages.final]):
        parts.append(_static(c_source.CFunction(f"{name}_part_{k}", stages.graph, outputs, known)))
    lines = [
        f"static void {name}(double t, double h, const double *state, const double *numbers, double *result)",
        "{",
        "    const double n = 1.0;",
        f"    double question[{n_question}], answers[{max(1, count * n_answer)}];",
    ]
    for k in range(count):
        lines += [
            f"    {name}_part_{k}(&t, &h, &n, state, numbers, answers, question);",
            f"    {name}_rate(question, numbers, answers + {k * n_answer});",
        ]
    lines += [f"    {name}_part_{count}(&t, &h, &n, state, numbers, answers, result);", "}", ""]
    return "\n".join([*parts, "\n".join(lines)])


def _static(function: c_source.CFunction) -> str:
    text, _, _ = c_source.write_function(_DIALECT, function)
    return f"static {text}"
