"""``kinetree bench``: timings on this machine, compared with Pinocchio if it is installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ..errors import OptionError
from ..spatial.arrays import Array
from .completion import complete_robot
from .pinocchio_comparison import NAMES, Beside, beside
from .shared import FloatingBase, GivenRobot, Json, make_console, messages, new_table, note, print_json

if TYPE_CHECKING:
    from ..robot.robot import Robot

Call = Callable[[], object]

SINGLE = 200
"""Number of calls on one state that are timed together."""
COMPARED = 64
"""States on which both libraries must agree."""


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per state; ``difference`` of the results relative to the largest one."""

    algorithm: str
    how: str
    kinetree: float
    pinocchio: float | None
    difference: float | None = None


def bench(
    robot_name: Annotated[
        str, typer.Argument(metavar="ROBOT", help="Robot file or system in the gallery.", autocompletion=complete_robot)
    ] = "kuka-kr5",
    states: Annotated[int, typer.Option(help="States in a batch.")] = 4096,
    rounds: Annotated[int, typer.Option(help="Rounds of timing; the best counts.")] = 7,
    floating_base: FloatingBase = False,
    as_json: Json = False,
) -> None:
    """Time inverse and forward dynamics on this machine, compared with Pinocchio if it is installed.

    Everything runs in one thread and is called from Python. Processor time is measured, so that other load matters
    little; the libraries take turns, and the best round of each counts. A batch is one call; for Pinocchio, it is its
    own call for batches, with one thread.

    For example:

        kinetree bench
        kinetree bench robot.urdf --states 100000
    """
    if states < 1 or rounds < 1:
        raise OptionError("--states and --rounds must be at least 1")
    robot = GivenRobot(robot_name, floating_base).load()
    if robot.backend == "reference":
        note("this is the reference in Python, chosen by KINETREE_BACKEND: machine code is much faster")
    other = beside(robot, states)
    reason = other if isinstance(other, str) else ""
    with messages().status("compiling and timing"):
        timings = measure(robot, states, rounds, None if isinstance(other, str) else other)
    if as_json:
        rows = [asdict(t) for t in timings]
        print_json({"robot": robot.name, "nv": robot.nv, "states": states, "unit": "ns per state", "timings": rows,
                    "without_pinocchio": reason or None})  # fmt: skip
        return
    console = make_console()
    console.print(_table(robot, states, timings))
    if reason:
        console.print(f"[dim]without Pinocchio: {escape(reason)}[/]", soft_wrap=True)


def measure(robot: Robot, states: int, rounds: int, other: Beside | None = None) -> list[Timing]:
    """Return the times of every algorithm, on a batch and on one state."""
    state = sample(robot, states)
    first = tuple(x[0] for x in state)
    found = []
    for name in NAMES:
        getattr(robot, name)(*state), getattr(robot, name)(*first)  # compiles
        batch: dict[str, Call] = {"kinetree": _once(robot, name, state)}
        single: dict[str, Call] = {"kinetree": _often(robot, name, first)}
        difference = None
        if other is not None:
            batch["pinocchio"], answer = other.batch(name, *state)
            single["pinocchio"] = other.single(name, SINGLE, *first)
            batch["pinocchio"]()
            difference = _difference(getattr(robot, name)(*(x[:COMPARED] for x in state)), other, answer)
        for how, calls, count in (("batch", batch, states), ("one state", single, SINGLE)):
            best = {who: seconds / count * 1e9 for who, seconds in _best(calls, rounds).items()}
            found.append(Timing(name, how, best["kinetree"], best.get("pinocchio"), difference))
    return found


def _once(robot: Robot, name: str, state: tuple[Array, ...]) -> Call:
    call, out = getattr(robot, name), np.empty_like(state[1])
    return lambda: call(*state, out=out)


def _often(robot: Robot, name: str, state: tuple[Array, ...]) -> Call:
    call = getattr(robot, name)

    def repeated() -> None:
        for _ in range(SINGLE):
            call(*state)

    return repeated


def _difference(ours: Array, other: Beside, answer: Array) -> float:
    theirs = answer.T[:COMPARED]
    return float(np.abs(ours[:, other.order] - theirs).max() / max(np.abs(theirs).max(), np.finfo(float).tiny))


def _best(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Measure processor time in seconds; the calls take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(2):  # the first finds the caches full of the other's data
                begin = time.thread_time()
                call()
                best[name] = min(best[name], time.thread_time() - begin)
    return best


def sample(robot: Robot, states: int) -> tuple[Array, Array, Array]:
    """Return random states; for a mechanism, copies of one state at rest that its loops allow."""
    if robot.loops is not None:
        q, v = np.tile(robot.assembled(), (states, 1)), np.zeros((states, robot.nv))
        return q, v, robot.accelerations(q, v, np.zeros((states, len(robot.independent()))))
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, states)
    return q, rng.standard_normal((states, robot.nv)), rng.standard_normal((states, robot.nv))


def _table(robot: Robot, states: int, timings: list[Timing]) -> Table:
    title = f"{escape(robot.name)}, {robot.nv} degrees of freedom: nanoseconds per state, one thread"
    table = new_table(title, "algorithm", "states", ">kinetree", ">Pinocchio", ">ratio", ">difference")
    for t in timings:
        count = f"batch of {states:,}" if t.how == "batch" else t.how
        theirs = ["-", "-", "-"]
        if t.pinocchio is not None:
            theirs = [f"{t.pinocchio:,.0f}", f"{t.pinocchio / t.kinetree:.1f}x", f"{t.difference:.0e}"]
        table.add_row(t.algorithm, count, f"{t.kinetree:,.0f}", *theirs)
    return table
