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
ALGORITHMS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives")
MOST_NUMBERS = 20_000_000
"""Of results of a batch."""

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


def sizes(rounds: int) -> Iterator[Table]:
    """Time per state over the number of bodies, with the exponent to the size before."""
    for kind in ("chain", "tree", "follower"):
        table = Table(
            f"Growth with the number of bodies: {kind}, microseconds of processor time per state",
            ("", "one state", "batch", "exponent, one", "exponent, batch", "jump"),
        )
        for name in ALGORITHMS if kind != "follower" else ALGORITHMS[:2]:
            power = 1.0 if name.endswith("dynamics") else 2.0 if kind == "chain" else 1.5
            before: tuple[int, float, float] | None = None
            for n in SIZES:
                robot = tree(kind, n)
                inputs = 1 if name == "mass_matrix" else 3
                count = max(8, min(1024, MOST_NUMBERS // (3 * n * n if power > 1.0 else n)) // 8 * 8)
                rng = np.random.default_rng(1)
                state = (robot.random_configuration(rng, count), *rng.standard_normal((2, count, robot.nv)))[:inputs]
                call, first = getattr(robot, name), [x[0].copy() for x in state]
                one = processor_time(lambda call=call, x=first: call(*x), 0.1 * rounds) * 1e6
                batch = processor_time(lambda call=call, x=state: call(*x), 0.1 * rounds) / count * 1e6
                shown = ("", "", "")
                if before is not None:
                    grown = math.log(n / before[0])
                    worst = max(one / before[1], batch / before[2]) / (n / before[0]) ** power
                    exponents = (
                        f"{math.log(new / old) / grown:.1f}" for new, old in ((one, before[1]), (batch, before[2]))
                    )
                    shown = (*exponents, f"{worst:.1f}x" + (" !" if worst > WORST else ""))
                table.add(f"{name}, {n}", one, batch, *shown)
                before = n, one, batch
        yield table


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
            one = processor_time(lambda f=compute, x=first: f(*x), 0.1 * rounds) * 1e9
            batch = processor_time(lambda f=compute, x=arrays: f(*x), 0.1 * rounds) / 4096 * 1e9
            reference = reference or (one, batch)
            table.add(f"{name}: {kind}", one, f"{one / reference[0]:.1f}x", batch, f"{batch / reference[1]:.1f}x")
    yield table


def growth(rounds: int) -> Iterator[Table]:
    """All of it."""
    yield from sizes(rounds)
    yield from layouts(rounds)
