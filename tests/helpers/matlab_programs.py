"""Small files of MATLAB that tests run, numbers to call them with, and what Octave answered.

``python tests/helpers/matlab_programs.py`` asks Octave again and writes the answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).parents[1] / "programs" / "matlab" / "programs"
RECORDED = PROGRAMS / "octave.json"

OUTPUTS = {
    "matrices": 5, "flow": 3, "wave": 3, "closing": 3, "usual": 4, "cells_and_handles": 2, "pages": 2,
    "gait_numbers": 5, "any_scalar": 2,
}  # fmt: skip
"""How many each program returns."""

TIMES = 5
"""With how many arguments each is recorded."""


def arguments(name: str, k: int) -> list[float | list[float]]:
    """Return the arguments of call ``k`` of a program."""
    dice = np.random.default_rng([k, *name.encode()])
    x, y = (round(float(v), 6) for v in dice.uniform(-2, 2, 2))
    v = [round(float(v), 6) for v in dice.uniform(-2, 2, 3)]
    given: dict[str, list[float | list[float]]] = {
        "matrices": [x, y], "flow": [x, float(k + 2)], "wave": [float(k) * 0.45, 3.0, 0.9], "closing": [x, y],
        "usual": [x, v], "cells_and_handles": [x, y][: 1 + k % 2], "pages": [v, 3.0], "gait_numbers": [],
        "any_scalar": [x, v],
    }  # fmt: skip
    return given[name]


def recorded() -> dict[str, list[list[list[list[float]]]]]:
    """Return what Octave answered: by program, call and output, rows."""
    found: dict[str, list[list[list[list[float]]]]] = json.loads(RECORDED.read_text())
    return found


def main() -> None:
    """Ask Octave, and write what it says."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from helpers.octave import Asked, answers

    asked = [
        Asked(name, [np.asarray(x) for x in arguments(name, k)], n) for name, n in OUTPUTS.items() for k in range(TIMES)
    ]
    found = answers([PROGRAMS], asked)
    kept: dict[str, list[object]] = {name: [] for name in OUTPUTS}
    for one, answer in zip(asked, found, strict=True):
        assert isinstance(answer, list), (one, answer)
        kept[one.function].append([x.tolist() for x in answer])
    RECORDED.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
