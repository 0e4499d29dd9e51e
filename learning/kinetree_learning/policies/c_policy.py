"""Policies as C99: tables of weights and loops over them, without a heap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import OptionError, UnknownNameError
from kinetree.export.c_laws import c_name
from kinetree.io.atomic_files import all_beside
from kinetree.version import VERSION

from .onnx_files import Network

if TYPE_CHECKING:
    from .policy import Policy

PRECISIONS = {"single": "float", "double": "double"}
TOLERANCE = {"single": 2e-5, "double": 1e-12}
"""Tolerance of the test program, relative to the largest number of an action, at least one."""

STATES = 4
"""Random observations in the test program."""

_MATHEMATICS = {"EXP": "exp", "EXPM1": "expm1", "LOG1P": "log1p", "TANH": "tanh"}


@dataclass(frozen=True)
class ExportedPolicy:
    """The result of :meth:`kinetree.Policy.codegen`.

    Attributes
    ----------
    source, header, test : Path
    multiplications, additions, functions : int
        Cost of a call, which is always the same; functions are exp, tanh and the like.
    stack : int
        Bytes of vectors on the stack.
    """

    source: Path
    header: Path
    test: Path
    multiplications: int
    additions: int
    functions: int
    stack: int


def write_c(policy: Policy, network: Network, folder: Path, prefix: str, precision: str) -> ExportedPolicy:
    """Write a network as C, all files or none; the test program compares it with the policy itself."""
    if precision not in PRECISIONS:
        raise UnknownNameError("precision", precision, PRECISIONS)
    if c_name(prefix, "policy") != prefix:
        raise OptionError(f"prefix {prefix!r} is not a valid name in C: use letters, digits and underscores")
    real = PRECISIONS[precision]
    made = [op for op in network.operations if op.output != network.output]
    stack = sum(policy.sizes[op.output] for op in made) * (4 if real == "float" else 8)
    costs = np.array([op.cost(policy.sizes[op.output]) for op in network.operations]).sum(axis=0).tolist()
    texts = {
        f"{prefix}.c": _source(policy, network, prefix, real),
        f"{prefix}.h": _header(policy, prefix, real, costs, stack),
        f"{prefix}_test.c": _test(policy, prefix, real, TOLERANCE[precision]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    source, header, test = files = [folder / name for name in texts]
    with all_beside(files, f"cannot write C into {str(folder)!r}") as places:
        for place, text in zip(places, texts.values(), strict=True):
            place.write_text(text, encoding="ascii", newline="\n")
    products, sums, functions = costs
    return ExportedPolicy(source, header, test, products, sums, functions, stack)


def _number(x: float, real: str) -> str:
    text = str(np.float32(x)) if real == "float" else repr(float(x))
    return text + ("f" if real == "float" else "") if "." in text or "e" in text else f"{text}.0"


def _table(name: str, numbers: Iterable[float], real: str) -> str:
    listed = [_number(float(x), real) for x in numbers]
    rows = [", ".join(listed[k : k + 8]) for k in range(0, len(listed), 8)]
    return f"static const REAL {name}[{len(listed)}] = {{\n    " + ",\n    ".join(rows) + "\n};"


def _source(policy: Policy, network: Network, prefix: str, real: str) -> str:
    place = {network.input: "observation", network.output: "action"}
    tables = []
    for k, (name, x) in enumerate(network.constants.items()):
        place[name] = f"constant_{k}"
        tables.append(_table(place[name], x, real))
    vectors, lines = [], list[str]()
    for k, op in enumerate(network.operations):
        if op.output not in place:
            place[op.output] = f"v{k}"
            vectors.append(f"v{k}[{policy.sizes[op.output]}]")
        if op.kind == "dense":
            tables += [_table(f"weights_{k}", op.weights.ravel(), real), _table(f"bias_{k}", op.bias, real)]
        lines += op.in_c(place, policy.sizes, k)
    body = "\n".join(f"    {line}" for line in lines)
    ending = "f" if real == "float" else ""
    used = [f"#define {name}(x) {own}{ending}(x)" for name, own in _MATHEMATICS.items() if f"{name}(" in body]
    counters = [name for name in ("i", "k") if f"({name} = 0" in body]
    declared = [
        *([f"REAL {', '.join(vectors)};"] if vectors else []),
        *([f"int {', '.join(counters)};"] if counters else []),
    ]
    parts = [
        f"/* A policy, written by kinetree {VERSION}. See {prefix}.h. */",
        f'#include "{prefix}.h"',
        *(["#include <math.h>"] if used else []),
        f"\ntypedef {real} REAL;",
        *used,
        "",
        *tables,
        f"\nvoid {prefix}(const {real} *observation, {real} *action)\n{{",
        *(f"    {line}" for line in declared),
        body,
        "}\n",
    ]
    return "\n".join(parts)


def _header(policy: Policy, prefix: str, real: str, costs: list[Any], stack: int) -> str:
    upper, (products, sums, functions) = prefix.upper(), costs
    return f"""/* A policy, written by kinetree {VERSION}: from an observation to an action.

   Each call costs {products} multiplications, {sums} additions and {functions} calls of exp, tanh and the like; that
   is also its worst case. It uses {stack} bytes of the stack, no heap, and remembers nothing. */
#ifndef {upper}_H
#define {upper}_H

#define {upper}_OBSERVATIONS {policy.observation_size}
#define {upper}_ACTIONS {policy.action_size}

#ifdef __cplusplus
extern "C" {{
#endif

void {prefix}(const {real} *observation, {real} *action);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _test(policy: Policy, prefix: str, real: str, tolerance: float) -> str:
    rng = np.random.default_rng(1)
    given = rng.uniform(-1.0, 1.0, (STATES, policy.observation_size)).astype(np.float32).astype(float)
    wanted = policy(given)
    rows = [", ".join(_number(float(x), real) for x in row) for row in given]
    right = [", ".join(repr(float(x)) for x in row) for row in wanted]
    upper = prefix.upper()
    listed = ",\n    ".join(f"{{{row}}}" for row in rows)
    expected = ",\n    ".join(f"{{{row}}}" for row in right)
    return f"""/* Compares {prefix} with results of kinetree {VERSION}:  cc -std=c99 {prefix}.c {prefix}_test.c -lm */
#include <math.h>
#include <stdio.h>

#include "{prefix}.h"

static const {real} given[{STATES}][{upper}_OBSERVATIONS] = {{
    {listed}
}};
static const double expected[{STATES}][{upper}_ACTIONS] = {{
    {expected}
}};

int main(void)
{{
    double worst = 0.0;
    int s, k;
    for (s = 0; s < {STATES}; ++s) {{
        {real} action[{upper}_ACTIONS];
        {prefix}(given[s], action);
        for (k = 0; k < {upper}_ACTIONS; ++k) {{
            const double size = fabs(expected[s][k]) > 1.0 ? fabs(expected[s][k]) : 1.0;
            const double error = fabs(action[k] - expected[s][k]) / size;
            if (!(error <= worst)) worst = error;
        }}
    }}
    printf("{prefix}: worst error %.1e\\n", worst);
    return !(worst <= {tolerance!r});
}}
"""
