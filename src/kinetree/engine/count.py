"""How many operations a graph takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .functions import written_out
from .graph import ABS, ADD, ATAN2, COS, DIV, FMA, GATHER, LESS, MUL, NEG, SELECT, SIN, SQRT, SUB, Graph


@dataclass(frozen=True)
class Count:
    """Arithmetic operations, counted as the literature does.

    Attributes
    ----------
    multiplications, divisions : int
    additions : int
        Subtractions included.
    sines : int
        Angles of which the sine, the cosine or both are needed.
    square_roots : int
    others : int
        Arctangents, magnitudes, comparisons, choices between two values, numbers looked up in tables.
    negations : int
        Changes of sign, which the literature does not count and neither does :attr:`total`.
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    sines: int = 0
    square_roots: int = 0
    others: int = 0
    negations: int = 0

    @property
    def total(self) -> int:
        """All operations except changes of sign; a sine with its cosine counts once."""
        arithmetic = self.multiplications + self.additions + self.divisions
        return arithmetic + self.sines + self.square_roots + self.others

    def __add__(self, other: Count) -> Count:
        return Count(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __str__(self) -> str:
        parts = [f"{self.multiplications}M {self.additions}A"]
        for number, one, many in (
            (self.divisions, "division", "divisions"), (self.sines, "sine and cosine", "sines and cosines"),
            (self.square_roots, "square root", "square roots"), (self.others, "other", "others"),
        ):  # fmt: skip
            if number:
                parts.append(f"{number} {one if number == 1 else many}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, int]:
        """Return plain data, the total included."""
        return asdict(self) | {"total": self.total}


def count(graph: Graph, outputs: Sequence[int]) -> Count:
    """Count the operations that the outputs need; constants are already folded and equal nodes are one node."""
    order = graph.reachable(written_out(graph, outputs))
    kinds = Counter(graph.kinds[i] for i in order)
    angles = {graph.args[i][0] for i in order if graph.kinds[i] in (SIN, COS)}
    return Count(
        multiplications=kinds[MUL] + kinds[FMA], additions=kinds[ADD] + kinds[SUB] + kinds[FMA], divisions=kinds[DIV],
        sines=len(angles), square_roots=kinds[SQRT], others=kinds[ATAN2] + kinds[ABS] + kinds[LESS] + kinds[SELECT] +
        kinds[GATHER], negations=kinds[NEG],
    )  # fmt: skip
