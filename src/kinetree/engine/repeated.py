"""A kernel that is applied to its own results many times over before they leave the registers' neighbourhood.

For stepping through time: inputs are ``t``, ``h`` and ``n`` (one number each), the state,
and parameters; the graph maps them to the state one step on.  The machine code takes n
such steps, t growing by h each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .emit import lanes_module
from .kernel import Kernel, Shape

TIME, STEP, COUNT, STATE = 0, 1, 2, 3
"""Places of t, h, n and the first state among the inputs."""


@dataclass
class RepeatedKernel(Kernel):
    """See the head of this file; the output is as long as the state."""

    def _assembly(self, form: str) -> str:
        t = self._fused
        watched = sum(self.lengths) if self.spread_nan else 0
        once = lanes_module(t.graph, t.outputs, self.lanes, self.single_precision, watched)
        return repeated_module(once, t.outputs, self.lanes, self.single_precision)

    @property
    def single_address(self) -> int:  # type: ignore[override]
        """One state goes through the same loop."""
        return self.lanes_address

    def _run_single(self, arrays: Sequence[np.ndarray], result: np.ndarray) -> None:
        self._run_batch([np.atleast_2d(a) for a in arrays], _ONE, result, 1)


_ONE: Shape = (1,)


def repeated_module(once: str, outputs: Sequence[int], lanes: int, single_precision: bool) -> str:
    """LLVM assembly of the loop around a module of one step."""
    real = "float" if single_precision else "double"
    vector = f"<{lanes} x {real}>" if lanes > 1 else real
    size = (4 if single_precision else 8) * lanes
    results = {node: k for k, node in enumerate(dict.fromkeys(outputs))}  # equal outputs are one result
    whole = f"<{lanes} x i64>" if lanes > 1 else "i64"
    lines = [
        "define void @kernel(ptr %in, ptr %out, ptr %context) {",
        "entry:",
        *_load("t0", "in", TIME, vector, size),
        *_load("h", "in", STEP, vector, size),
        *_load("n_all", "in", COUNT, vector, size),
        f"  %n_first = extractelement {vector} %n_all, i32 0" if lanes > 1 else f"  %n_first = fadd {real} %n_all, 0.0",
        f"  %n = fptosi {real} %n_first to i64",
        "  br label %again",
        "again:",
        "  %i = phi i64 [ 0, %entry ], [ %i_next, %copy ]",
        "  call void @once(ptr %in, ptr %out)",
        "  %i_next = add i64 %i, 1",
        "  %more = icmp slt i64 %i_next, %n",
        "  br i1 %more, label %copy, label %end",
        "copy:",
    ]
    for k, node in enumerate(outputs):
        lines += _load(f"s{k}", "out", results[node], vector, size)
        lines += [
            f"  %s{k}_to = getelementptr inbounds {vector}, ptr %in, i64 {STATE + k}",
            f"  store {vector} %s{k}, ptr %s{k}_to, align {size}",
        ]
    if lanes > 1:
        lines += [
            f"  %i_one = insertelement {whole} poison, i64 %i_next, i64 0",
            f"  %i_all = shufflevector {whole} %i_one, {whole} poison, <{lanes} x i32> zeroinitializer",
        ]
    count = "%i_all" if lanes > 1 else "%i_next"
    lines += [
        f"  %i_real = sitofp {whole} {count} to {vector}",
        f"  %gone = fmul {vector} %i_real, %h",
        f"  %t = fadd {vector} %t0, %gone",  # not summed up: the time of step k is t0 + k h
        f"  %t_to = getelementptr inbounds {vector}, ptr %in, i64 {TIME}",
        f"  store {vector} %t, ptr %t_to, align {size}",
        "  br label %again",
        "end:",
        "  ret void",
        "}",
        "",
    ]
    return once.replace("@kernel(", "@once(") + "\n".join(lines)


def _load(name: str, area: str, k: int, vector: str, size: int) -> list[str]:
    return [
        f"  %{name}_from = getelementptr inbounds {vector}, ptr %{area}, i64 {k}",
        f"  %{name} = load {vector}, ptr %{name}_from, align {size}",
    ]
