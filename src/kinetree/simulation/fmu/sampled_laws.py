"""A controller in discrete time as C: its decision as a law, its converters and delays as numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...algorithms import kinematics
from ...algorithms.acting_element import Scalars
from ...control.sampled import DIFFERENCES, SampledPart
from ...errors import UnsupportedError
from ...export.c_laws import law_in_c
from ..equation import Equation

NO_LIMIT = np.inf


class SampledLaws:
    """The sampled part of a controller, for C.

    Parameters
    ----------
    equation : Equation
    found : SampledPart
    """

    def __init__(self, equation: Equation, found: SampledPart) -> None:
        self.equation, self.found, self.part, self.tree = equation, found, found.part, equation.tree
        if self.part.function is not None:
            raise UnsupportedError("a plain Python function cannot be written as C: sample a law of kinetree.control")
        if any(np.any(x) for x in self.part.noise(self.tree)):
            raise UnsupportedError(
                "an FMU draws no random numbers: leave position_noise and velocity_noise of the sampled controller "
                "out, or let the other program add noise"
            )
        some = [0.0] * self.tree.nq, [0.0] * self.tree.nv
        self.n_memory = len(self.part.first_memory(self.tree, *some))

    def functions(self) -> str:
        """Return the laws: a decision, the first memory, and the difference of two configurations."""
        tree, equation = self.tree, self.equation
        state = ("q", tree.nq), ("v", tree.nv)

        def decision(
            t: Scalars, q: Scalars, v: Scalars, numbers: Scalars, memory: Scalars, force: Scalars
        ) -> list[Any]:
            system = equation.with_numbers(numbers)
            assert system.controller is not None
            decided = self.found.within(system.controller).decide(system.tree, t[0], q, v, force, memory)
            return [*decided.tau, *decided.memory]

        sizes = ("numbers", len(equation.numbers)), ("memory", self.n_memory), ("force", tree.nv)
        parts = [
            law_in_c("decision", decision, (("t", 1), *state, *sizes)),
            law_in_c("first_memory", lambda q, v: list(self.part.first_memory(tree, q, v)), state),
        ]
        if self.part.velocity == DIFFERENCES:
            ends = ("before", tree.nq), ("after", tree.nq)
            parts.append(law_in_c("moved_from", lambda a, b: kinematics.difference(tree, a, b), ends))
        else:
            parts.append("#define moved_from(before, after, result)\n")
        return "\n".join(parts)

    def numbers(self) -> dict[str, Any]:
        """Return the numbers of the program, by the names of macros."""
        part, controller = self.part, self.equation.system.controller
        assert controller is not None
        first = self.tree.nq + self.tree.nv + self.equation.system.slices[0].start
        return {
            "NQ": self.tree.nq, "NV": self.tree.nv, "MEMORY": self.n_memory, "DRIVEN": len(part.driven(self.tree)),
            "HELD": first + self.found.first_state(controller, self.tree),
            "QUEUE": math.ceil(part.delay / part.period) + 2, "PERIOD": f"({part.period!r})",
            "DELAY": f"({float(part.delay)!r})", "DIFFERENCES": int(part.velocity == DIFFERENCES),
            "FILTER": f"({part.filtered()!r})", "ENCODERS": len(self._encoders()[0]),
        }  # fmt: skip

    def _encoders(self) -> tuple[list[int], np.ndarray]:
        found = self.part.encoders(self.tree)
        return ([], np.zeros(0)) if found is None else found

    def tables(self) -> dict[str, tuple[str, np.ndarray]]:
        """Return the tables of the program: their type and numbers, by name."""
        driven, limits = self.part.driven(self.tree), self.part.limits(self.tree)
        places, lengths = self._encoders()
        largest = np.full(len(driven), NO_LIMIT) if limits is None else np.asarray(limits, dtype=float)[driven]
        levels = np.zeros(len(driven))
        if self.part.bits is not None:
            levels = largest / (2 ** (self.part.bits - 1) - 1)
        return {
            "driven_place": ("int", np.array(driven, dtype=int)), "encoder_place": ("int", np.array(places, dtype=int)),
            "encoder_length": ("double", np.asarray(lengths)), "largest_force": ("double", largest),
            "force_level": ("double", levels),
        }  # fmt: skip
