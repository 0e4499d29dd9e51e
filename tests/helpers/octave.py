"""Octave as a judge of files of MATLAB: functions called with given numbers, many in one process."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")


@dataclass
class Asked:
    """A function, what it is called with, and how many outputs it has."""

    function: str
    arguments: Sequence[np.ndarray]
    outputs: int = 1


def literal(x: np.ndarray) -> str:
    m = np.asarray(x, dtype=float)
    m = m.reshape(1, 1) if m.ndim == 0 else m.reshape(-1, 1) if m.ndim == 1 else m
    rows = [", ".join(f"{v:.17g}" for v in row) for row in m]
    return f"[{'; '.join(rows)}]".replace("nan", "NaN").replace("inf", "Inf")


def answers(
    folders: Sequence[Path], asked: Sequence[Asked], seconds: float = 120.0
) -> list[list[np.ndarray] | str | None]:
    """Return what Octave answers: arrays, the words of an error, or None where it did not come to it."""
    lines = ["1;", "warning('off', 'all');", "page_screen_output(0);", "more off;"]
    lines += [f"addpath('{folder}');" for folder in reversed(folders)]
    lines.append(f"cd('{folders[0]}');")
    for k, one in enumerate(asked):
        names = [f"o{i}" for i in range(one.outputs)]
        given = ", ".join(literal(x) for x in one.arguments)
        lines.append(
            f"try, [{', '.join(names)}] = {one.function}({given});\n"
            f"fprintf(stdout, '\\n@@ {k} ok\\n');"
            + "".join(
                f" if ~isnumeric({n}) && ~islogical({n}), error('kind'); end;"
                f" if ~isreal({n}), error('complex'); end;"
                f" fprintf(stdout, '@@shape'); fprintf(stdout, ' %d', size({n})); fprintf(stdout, '\\n@@data');"
                f" fprintf(stdout, ' %.17g', {n}); fprintf(stdout, '\\n');"
                for n in names
            )
            + f"\ncatch problem, fprintf(stdout, '\\n@@ {k} error %s\\n', strrep(problem.message, \"\\n\", ' ')); end"
        )
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "driver_of_tests.m"
        script.write_text("\n".join(lines) + "\n")
        try:
            assert OCTAVE is not None
            done = subprocess.run([OCTAVE, "--no-gui", "-qf", str(script)], capture_output=True, timeout=seconds,
                                  cwd=place, env={"HOME": place, "PATH": "/usr/bin:/bin"})  # fmt: skip
            text = done.stdout.decode("utf-8", "replace")
        except subprocess.TimeoutExpired as late:
            text = (late.stdout or b"").decode("utf-8", "replace")
    return _read(text, len(asked))


def _read(text: str, count: int) -> list[list[np.ndarray] | str | None]:
    found: list[list[np.ndarray] | str | None] = [None] * count
    for part in re.split(r"^@@ (?=\d+ (?:ok|error))", text, flags=re.MULTILINE)[1:]:
        head, _, rest = part.partition("\n")
        number, word, *message = head.split(" ", 2)
        if word == "error":
            found[int(number)] = " ".join(message) or "error"
            continue
        outputs = []
        for shape, data in re.findall(r"^@@shape([ \d]*)\n@@data(.*)$", rest, flags=re.MULTILINE):
            sizes = tuple(int(n) for n in shape.split())
            numbers = np.array([float(x) for x in data.split()]) if np.prod(sizes) else np.zeros(0)
            outputs.append(numbers.reshape(sizes, order="F"))
        found[int(number)] = outputs
    return found
