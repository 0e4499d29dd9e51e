"""How cost grows with the size of a robot, and what kinds of input cost: nothing should jump between neighbors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np

import kinetree as kt

from .robots import Contest
from .timing import Table

SIZES = (20, 50, 109, 111, 200, 500)
ALGORITHMS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives", "regressor",
)  # fmt: skip
SHORT = ("forward_dynamics_derivatives", "regressor")
"""Those that are left out of the largest size."""

CELLS = (1, 5, 10, 20, 50, 100)
MOST_NUMBERS = 20_000_000
"""Of results of a batch."""

SECONDS = 0.03
"""Of measuring each figure, times the number of rounds: some 250 figures, and what they take to compile, are to come to
an end within minutes."""

NEAR = 1.1
"""Sizes that differ by less have no exponent: it would be noise divided by nearly nothing."""

WORST = 3.0
"""How much more than in proportion to size a neighbor may cost."""


def tree(kind: str, count: int) -> kt.Robot:
    """A chain, or a random tree; the last of its links may follow another one."""
    builder, rng = kt.Builder(f"{kind} of {count}"), np.random.default_rng(count)
    for k in range(count):
        parent = "base" if k == 0 else f"b{k - 1 if kind == 'chain' else int(rng.integers(max(0, k - 12), k))}"
        led = kt.Mimic(f"b{k - 2}_joint", 0.5) if kind == "follower" and k == count - 1 else None
        builder.body(
            f"b{k}", parent, kt.Revolute("xyz"[k % 3]), position=rng.normal(size=3) / 5, mass=1.0 + rng.random(),
            com=rng.normal(size=3) / 10, inertia=tuple(0.02 + 0.01 * rng.random(3)), mimic=led,
        )  # fmt: skip
    return builder.build()


def processor_time(call: Callable[[], object], seconds: float = 0.2) -> float:
    """Return the least processor time of a call, in seconds: others may keep the machine busy."""
    call()
    begin = time.perf_counter()
    call()
    inner = max(1, int(0.004 / max(time.perf_counter() - begin, 1e-7)))
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 3:
        start = time.process_time()
        for _ in range(inner):
            call()
        found.append((time.process_time() - start) / inner)
    return min(found)


class Growth:
    """A table of times over sizes, with exponents to the size before, and the worst jump between neighbors.

    Parameters
    ----------
    title : str
    figures : sequence of str
        What is measured of each size.
    """

    def __init__(self, title: str, *figures: str) -> None:
        self.table = Table(title, ("", *figures, *(f"exponent, {x}" for x in figures), "jump"))
        self.worst = 0.0, ""
        self._before: tuple[str, int, tuple[float, ...]] | None = None

    def add(self, name: str, size: int, power: float, *found: float) -> None:
        """Add a row; a jump is what is more than in proportion to a power of the size."""
        shown = [""] * (len(found) + 1)
        if self._before is not None and self._before[0] == name:
            _, old, before = self._before
            grown, ratios = size / old, [new / was for new, was in zip(found, before, strict=True)]
            jump = max(ratios) / grown**power
            self.worst = max(self.worst, (jump, f"{name}, {old} to {size}"))
            shown = [f"{math.log(x) / math.log(grown):.1f}" if grown > NEAR else "" for x in ratios]
            shown.append(f"{jump:.1f}x" + (" !" if jump > WORST else ""))
        self.table.add(f"{name}, {size}", *found, *shown)
        self._before = name, size, found

    def finished(self) -> Table:
        """Return the table with the worst jump below it."""
        jump, where = self.worst
        self.table.add(f"worst: {where}", *[""] * (len(self.table.columns) - 2), f"{jump:.1f}x")
        return self.table


def sizes(rounds: int) -> Iterator[Table]:
    """Time per state over the number of bodies."""
    for kind in ("chain", "tree", "follower"):
        title = f"Growth with the number of bodies: {kind}, microseconds of processor time per state"
        growth = Growth(title, "one state", "batch")
        for name in ALGORITHMS if kind != "follower" else ALGORITHMS[:2]:
            power = 1.0 if name.endswith("dynamics") else 2.0 if kind == "chain" else 1.5
            for n in SIZES if name not in SHORT else SIZES[:-1]:
                robot = tree(kind, n)
                inputs = 1 if name == "mass_matrix" else 3
                count = max(8, min(1024, MOST_NUMBERS // (10 * n * n if power > 1.0 else n)) // 8 * 8)
                rng = np.random.default_rng(1)
                state = (robot.random_configuration(rng, count), *rng.standard_normal((2, count, robot.nv)))[:inputs]
                call, first = getattr(robot, name), [x[0].copy() for x in state]
                one = processor_time(lambda call=call, x=first: call(*x), SECONDS * rounds) * 1e6
                batch = processor_time(lambda call=call, x=state: call(*x), SECONDS * rounds) / count * 1e6
                growth.add(name, n, power, one, batch)
        yield growth.finished()


def cells(rounds: int) -> Iterator[Table]:
    """Time per state over the number of loops: four-bars in a row."""
    growth = Growth("Growth with the number of four-bars in a row, microseconds per state", "one state", "batch")
    for name in ("inverse_dynamics", "forward_dynamics", "close"):
        for n in CELLS:
            robot = kt.gallery.four_bar_chain(n)
            q, v = robot.assembled(), np.zeros(robot.nv)
            state = (q + 1e-3 * np.sin(7.0 * np.arange(robot.nq)),) if name == "close" else (q, v, v)
            many, call = [np.tile(x, (256, 1)) for x in state], getattr(robot, name)
            one = processor_time(lambda call=call, x=state: call(*x), SECONDS * rounds) * 1e6
            batch = processor_time(lambda call=call, x=many: call(*x), SECONDS * rounds) / 256 * 1e6
            growth.add(name, n, 1.0, one, batch)
    yield growth.finished()


def steps(rounds: int) -> Iterator[Table]:
    """Time per step of simulations over the number of bodies, and of a second equal call."""
    growth = Growth(
        "Growth of simulations by rk4, microseconds per step: without samples, with one per step, and watching for an "
        "event", "ends only", "every step", "event",
    )  # fmt: skip
    for n in (2, 6, 20, 50, 109, 111, 200):
        robot = tree("chain", n)
        q, event = np.full(robot.nq, 0.1), kt.Event(lambda t, q, v: q[0] - 50.0)
        kinds = {"samples": 2}, {}, {"samples": 2, "events": [event]}

        def per_step(options: dict[str, object], robot: kt.Robot = robot, q: np.ndarray = q) -> float:
            short, long = (
                processor_time(
                    lambda t=t: kt.simulate(robot, q, time=t, integrator="rk4", step=1e-5, **options), SECONDS * rounds
                )
                for t in (1e-3, 6e-3)
            )
            return (long - short) / 500 * 1e6

        growth.add("chain", n, 1.0, *(per_step(options) for options in kinds))
    yield growth.finished()


def layouts(rounds: int) -> Iterator[Table]:
    """The same numbers in other layouts and precisions."""
    table = Table(
        "Inputs of inverse dynamics: one state in ns, 4096 in ns per state, and times as much as plain arrays",
        ("", "one state", "", "4096", ""),
    )
    for name in ("UR5", "Talos (floating)"):
        c = Contest.make(name, 4096)
        plain, call = (c.q, c.v, c.a), c.robot.inverse_dynamics
        single = c.robot.with_precision("single").inverse_dynamics
        narrow = tuple(x.astype(np.float32) for x in plain)
        mass = {c.robot.parameters().names[0]: 1.2}
        kinds: dict[str, tuple[Callable[..., object], tuple[np.ndarray, ...]]] = {
            "plain": (call, plain),
            "float32": (call, narrow),
            "Fortran order": (call, tuple(map(np.asfortranarray, plain))),
            "every other number": (call, tuple(np.repeat(x, 2, axis=1)[:, ::2] for x in plain)),
            "parameters=": (lambda *x, call=call, mass=mass: call(*x, parameters=mass), plain),
            "single precision": (single, narrow),
        }
        reference: tuple[float, float] | None = None
        for kind, (compute, arrays) in kinds.items():
            first = [x[0] for x in arrays]
            one = processor_time(lambda f=compute, x=first: f(*x), SECONDS * rounds) * 1e9
            batch = processor_time(lambda f=compute, x=arrays: f(*x), SECONDS * rounds) / 4096 * 1e9
            reference = reference or (one, batch)
            table.add(f"{name}: {kind}", one, f"{one / reference[0]:.1f}x", batch, f"{batch / reference[1]:.1f}x")
    yield table


def growth(rounds: int) -> Iterator[Table]:
    """All of it."""
    yield from sizes(rounds)
    yield from cells(rounds)
    yield from steps(rounds)
    yield from layouts(rounds)
