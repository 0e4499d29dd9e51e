"""Pinocchio in a loop of C++, built from its wheel's headers, beside its Python calls and kinetree."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin

from .robots import FILES, Contest
from .timing import Table, alternate

COUNT = 4096
FEW = 256
"""States of a loop in Python, and of single calls."""

OPTIONS = (
    "-std=c++17", "-O3", "-DNDEBUG", "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip
"""What the wheel itself was compiled with, as far as its headers ask for it."""

OURS = {
    "rnea": "inverse_dynamics", "aba": "forward_dynamics", "crba": "mass_matrix",
    "computeRNEADerivatives": "inverse_dynamics_derivatives", "computeABADerivatives": "forward_dynamics_derivatives",
}  # fmt: skip


def prefix() -> Path:
    """Where the wheel keeps its headers and libraries."""
    found = importlib.util.find_spec("pinocchio")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parents[4]


def built(folder: Path, native: bool) -> Path | str:
    """Compile the loop; return the program, or why there is none."""
    compiler, wheel = shutil.which("g++"), prefix()
    if compiler is None:
        return "there is no g++"
    if not (wheel / "include" / "eigen3").is_dir():
        return "there are no headers of Eigen: pip install cmeel-eigen"
    program = folder / "pinocchio_loop"
    source = Path(__file__).with_name("pinocchio_loop.cpp")
    command = [
        compiler, *OPTIONS, *(["-march=native"] if native else []), f"-I{wheel}/include", f"-I{wheel}/include/eigen3",
        str(source), f"-L{wheel}/lib", "-lpinocchio_default", "-lboost_serialization", f"-Wl,-rpath,{wheel}/lib",
        "-o", str(program),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return next((line for line in done.stderr.splitlines() if "error" in line), "the compiler failed")[:200]
    return program


def compiled_peers(rounds: int) -> Iterator[Table]:
    """Each algorithm by C++ alone, by its Python call, and by kinetree for one state and in batches."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = built(folder, native=False)
        if isinstance(program, str):
            print(f"No loop of C++: {program}")
            return
        for robot in FILES:
            yield _table(robot, folder, program, rounds)


def _table(name: str, folder: Path, program: Path, rounds: int) -> Table:
    table = Table(
        f"{name}: ns per state. Pinocchio {pin.__version__} in a loop of C++ (its wheel's headers, -O3), and by its "
        "Python call; kinetree for one state and in a batch",
        ("", "C++", "Python", "kinetree, one", "batch", "C++ / one", "C++ / batch", "Python / batch"),
    )
    c = Contest.make(name, COUNT)
    model, states = folder / "model.txt", folder / "states.bin"
    c.model.saveToText(str(model))
    np.ascontiguousarray(np.concatenate([c.pin_q, c.pin_v, c.pin_a], axis=1)).tofile(states)
    theirs = _run(program, model, states, rounds)
    data, last = c.model.createData(), COUNT - 1
    for call, own in OURS.items():
        taken, total = theirs[call]
        wanted = _sum(call, c, data, last)
        assert abs(total - wanted) <= 1e-9 * max(1.0, abs(wanted)), f"{call}: {total} is not {wanted}"
        in_python = getattr(pin, call)
        method = getattr(c.robot, own)
        given = (c.q,) if call == "crba" else (c.q, c.v, c.a)
        one = tuple(x[0] for x in given)
        some = list(
            zip(*(x[:FEW] for x in ((c.pin_q,) if call == "crba" else (c.pin_q, c.pin_v, c.pin_a))), strict=True)
        )
        first = method(*given)
        out = {"out": first} if isinstance(first, np.ndarray) else {}

        def loop(in_python=in_python, some=some) -> None:
            for state in some:
                in_python(c.model, data, *state)

        def singly(method=method, one=one) -> None:
            for _ in range(FEW):
                method(*one)

        best = alternate({"batch": lambda m=method, g=given, o=out: m(*g, **o), "one": singly, "python": loop}, rounds)
        again = _run(program, model, states, 1)[call][0]  # before and after: the better one counts
        plus = min(taken, again)
        batch, single, python = (best[key] / n * 1e9 for key, n in (("batch", COUNT), ("one", FEW), ("python", FEW)))
        table.add(
            call, plus, python, single, batch, *(f"{x:.2f}x" for x in (plus / single, plus / batch, python / batch))
        )
    return table


def _run(program: Path, model: Path, states: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """Run the loop; return nanoseconds per call and the sum of the last result, by algorithm."""
    command = [str(program), str(model), str(states), str(COUNT), str(rounds)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (float(taken), float(total)) for name, taken, total in (line.split() for line in lines)}


def _sum(call: str, c: Contest, data: pin.Data, k: int) -> float:
    """Return what the loop prints of its last result, by Pinocchio's Python."""
    state = (c.pin_q[k],) if call == "crba" else (c.pin_q[k], c.pin_v[k], c.pin_a[k])
    found = getattr(pin, call)(c.model, data, *state)
    if call in ("rnea", "aba"):
        return float(found.sum())
    if call == "crba":
        return float(found[0, 0])
    return float((data.dtau_dq if "RNEA" in call else data.ddq_dq)[0, 0])
