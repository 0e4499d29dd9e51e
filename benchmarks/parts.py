"""Inverse and forward dynamics, mass matrix, derivatives: batches, single states, threads, compile times."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import numpy as np
import pinocchio as pin

from .asked import asked
from .robots import FILES, Contest, folder
from .roofline import Twin, merely_write, rate
from .timing import Table, alternate, repeated

COUNT = 4096


def batch(rounds: int) -> Iterator[Table]:
    """Batches of plain (N, n) arrays on one thread."""
    table = Table(
        f"Batches of {COUNT}, one thread, ns per state. Pinocchio: rneaInParallel, abaInParallel with one thread",
        ("", "kinetree", "Pinocchio", "ratio", "asked"),
    )
    for name in FILES:
        c = Contest.make(name, COUNT)
        pool = pin.ModelPool(c.model, 1)
        columns = [np.asfortranarray(x.T) for x in (c.pin_q, c.pin_v, c.pin_a)]
        result = np.asfortranarray(np.zeros((c.model.nv, COUNT)))
        out = np.empty((COUNT, c.robot.nv))
        for what, ours, theirs in (
            ("inverse dynamics", c.robot.inverse_dynamics, pin.rneaInParallel),
            ("forward dynamics", c.robot.forward_dynamics, pin.abaInParallel),
        ):
            ours(c.q, c.v, c.a)
            call = getattr(c.robot, what.replace(" ", "_"))
            best = alternate(
                {
                    "kinetree": lambda call=call: call(c.q, c.v, c.a, out=out),
                    "Pinocchio": lambda theirs=theirs: theirs(1, pool, *columns, result),
                },
                rounds,
            )
            ratio, goal = best["Pinocchio"] / best["kinetree"], asked(what.replace(" ", "_"), name)
            table.add(f"{name}: {what}", *(t / COUNT * 1e9 for t in best.values()), f"{ratio:.1f}x", goal)
    yield table


def matrix(rounds: int) -> Iterator[Table]:
    """Mass matrices. Pinocchio has no batched call: a Python loop over crba, each matrix stored in the batch's array.

    Its Python binding returns the full symmetric matrix, as ours; the C++ function fills only one triangle.
    """
    table = Table(
        f"Mass matrices, full and symmetric into an array ({COUNT}, n, n), one thread, ns per state. Pinocchio: crba "
        "in a Python loop, results stored.\nWriting: lines of such results into the same array and nothing else: the "
        "cap of one thread",
        ("", "kinetree", "writing", "Pinocchio", "not stored", "ratio", "cap", "asked", "our GB/s"),
    )
    for name in FILES:
        c = Contest.make(name, COUNT)
        data, n, some = c.model.createData(), c.robot.nv, 512
        out, kept = np.empty((COUNT, n, n)), np.empty((some, n, n))
        c.robot.mass_matrix(c.q)
        call = c.robot.mass_matrix
        states = list(c.pin_q[:some])
        assert np.allclose(pin.crba(c.model, data, states[0]), pin.crba(c.model, data, states[0]).T)

        def bare(model=c.model, data=data, states=states) -> None:
            for q in states:
                pin.crba(model, data, q)

        def keep(model=c.model, data=data, states=states, kept=kept) -> None:
            for k, q in enumerate(states):
                kept[k] = pin.crba(model, data, q)

        contenders = {"ours": lambda: call(c.q, out=out), "write": merely_write(out), "bare": bare, "keep": keep}
        best = alternate(contenders, rounds)
        ours, write = best["ours"] / COUNT, best["write"] / COUNT
        loop, stored = best["bare"] / some, best["keep"] / some
        table.add(
            name, ours * 1e9, write * 1e9, stored * 1e9, loop * 1e9, f"{stored / ours:.1f}x", f"{stored / write:.1f}x",
            asked("mass_matrix", name), n * n * 8e-9 / ours,
        )  # fmt: skip
    yield table


def single(rounds: int) -> Iterator[Table]:
    """One state per call from Python, everything included."""
    table = Table(
        "One state per call from Python, microseconds",
        ("", "with out=", "without", "Pinocchio", "out/Pinocchio", "without/Pinocchio"),
    )
    times = 2000
    for name in FILES:
        c = Contest.make(name, 2)
        data = c.model.createData()
        q, v, a = c.q[0].copy(), c.v[0].copy(), c.a[0].copy()
        pq, pv, pa = c.pin_q[0].copy(), c.pin_v[0].copy(), c.pin_a[0].copy()
        for what, theirs in (("inverse_dynamics", pin.rnea), ("forward_dynamics", pin.aba)):
            getattr(c.robot, what)(q, v, a)
            call, out = getattr(c.robot, what), np.empty(c.robot.nv)
            best = alternate(
                {
                    "out": repeated(lambda call=call: call(q, v, a, out=out), times),
                    "new": repeated(lambda call=call: call(q, v, a), times),
                    "Pinocchio": repeated(lambda theirs=theirs: theirs(c.model, data, pq, pv, pa), times),
                },
                rounds,
            )
            o, n, p = (t / times * 1e6 for t in best.values())
            table.add(f"{name}: {what}", o, n, p, f"{o / p:.2f}", f"{n / p:.2f}")
    yield table


def every(rounds: int) -> Iterator[Table]:
    """One state per call on every robot of the package: never slower than Pinocchio."""
    import warnings

    import kinetree as kt

    table = Table(
        "Every robot of example-robot-data, one state per call with out=, kinetree's time / Pinocchio's",
        ("", "nv", "inverse", "forward"),
    )
    worst = 0.0
    for file in sorted(folder().rglob("*.urdf")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                robot = kt.load(file, mimic="independent")
            model = pin.buildModelFromUrdf(str(file))
        except (kt.KinetreeError, ValueError, RuntimeError):
            continue
        if robot.nv == 0 or robot.nv != model.nv:
            continue
        data, ratios = model.createData(), []
        q, (v, a) = robot.random_configuration(0), np.random.default_rng(0).standard_normal((2, robot.nv))
        pq, out = pin.neutral(model), np.empty(robot.nv)
        for what, theirs in (("inverse_dynamics", pin.rnea), ("forward_dynamics", pin.aba)):
            try:
                getattr(robot, what)(q, v, a)
            except kt.SingularError:
                ratios.append(float("nan"))
                continue
            call = getattr(robot, what)
            best = alternate(
                {
                    "ours": repeated(lambda call=call: call(q, v, a, out=out), 300),
                    "theirs": repeated(lambda theirs=theirs: theirs(model, data, pq, v, a), 300),
                },
                min(rounds, 5),
            )
            ratios.append(best["ours"] / best["theirs"])
        worst = max(worst, np.nanmax(ratios))
        table.add(file.stem, f"{robot.nv}", *(f"{r:.2f}" for r in ratios))
    table.add("worst", "", f"{worst:.2f}", "")
    yield table


WINDOW = 1e-3
"""Seconds of work at a time when rates are compared: shorter than the turns that other processes take."""


def _batch_call(name: str, what: str, count: int) -> Callable[[], object]:
    c = Contest.make(name, count)
    out = np.empty((count, c.robot.nv))
    getattr(c.robot, what)(c.q, c.v, c.a)
    call = getattr(c.robot, what)
    return lambda: call(c.q, c.v, c.a, out=out)


def threads(rounds: int) -> Iterator[Table]:
    """Two threads against one, and against two processes side by side: what the machine gives at best."""
    table = Table(
        "Two threads with out=, ns per state, best window of many; and the ratio when every call makes a new array.\n"
        "Limit: two processes at the same time, one thread each; other load on the machine lowers both",
        ("", "one", "two", "ratio", "limit", "share of the limit", "asked", "new arrays"),
    )
    for name in ("Panda", "Talos (floating)"):
        for count in (4096, 32768):
            c = Contest.make(name, count)
            out = np.empty((count, c.robot.nv))
            for what in ("inverse_dynamics", "forward_dynamics"):
                getattr(c.robot, what)(c.q, c.v, c.a, threads=2)
                call = getattr(c.robot, what)
                twin = Twin(_batch_call, name, what, count)

                def made(call=call, c=c, **options: object) -> Callable[[], object]:
                    return lambda: call(c.q, c.v, c.a, **options)

                one, two = made(out=out), made(out=out, threads=2)
                contenders = (one, two, made(), made(threads=2))
                rates = [
                    (*(rate(f, WINDOW) for f in contenders), twin.together(one, WINDOW)) for _ in range(10 * rounds)
                ]
                twin.close()
                best_one, best_two, new_one, new_two, limit = (max(r) for r in zip(*rates, strict=True))
                ns = 1e9 / count
                table.add(
                    f"{name}: {what}, {count}", ns / best_one, ns / best_two, f"{best_two / best_one:.2f}x",
                    f"{limit / best_one:.2f}x", f"{best_two / limit:.0%}", "1.7x", f"{new_two / new_one:.2f}x",
                )  # fmt: skip
    yield table


_START = """
import time, warnings, numpy as np
warnings.simplefilter("ignore")
import kinetree as kt
robot = kt.load({file!r}, floating_base=True, mimic="independent")
q, v = robot.neutral(), np.zeros(robot.nv)
begin = time.perf_counter()
robot.{what}(q[None], v[None], v[None])
print(time.perf_counter() - begin)
"""


def compiling(rounds: int) -> Iterator[Table]:
    """First call of the humanoid in a new process: without and with the cache."""
    table = Table(
        "Humanoid (Talos, floating), first batch call in a new process, seconds", ("", "new", "cached", "asked")
    )
    file = str(folder() / FILES["Talos (floating)"][0])
    for what in ("inverse_dynamics", "forward_dynamics"):
        new, cached = [], []
        for _ in range(min(rounds, 3)):
            with tempfile.TemporaryDirectory() as home:
                for times in (new, cached):
                    program = _START.format(file=file, what=what)
                    environment = {**os.environ, "KINETREE_CACHE": home, "KINETREE_BACKEND": "compiled"}
                    done = subprocess.run(
                        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
                    )
                    times.append(float(done.stdout))
        table.add(what, min(new), min(cached), "1.5 / 0.05")
    yield table


SOCKET = 200.0
"""GB/s that the memory of a server's socket with 64 cores takes: eight channels of DDR4-3200."""


def bandwidth(rounds: int) -> Iterator[Table]:
    """What each algorithm moves per state, and how many cores the memory of a socket keeps busy with that."""
    table = Table(
        "What batches that fit no cache move, one thread: bytes per state (inputs read, results written past the "
        f"caches), ns per state,\nGB/s, and how many cores a memory of {SOCKET:g} GB/s keeps busy at that rate",
        ("", "read", "written", "ns", "GB/s", "cores"),
    )
    for name in FILES:
        n = 4096 if name.startswith("Talos") else 16384
        c = Contest.make(name, n)
        inputs = {"mass_matrix": (c.q,)}
        for what in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives"):
            arrays, call = inputs.get(what, (c.q, c.v, c.a)), getattr(c.robot, what)
            matrices = {"mass_matrix": (c.robot.nv,), "inverse_dynamics_derivatives": (3, c.robot.nv)}.get(what, ())
            out = np.empty((n, *matrices, c.robot.nv))
            call(*arrays, out=out)
            call = getattr(c.robot, what)
            best = alternate({"ours": lambda call=call, arrays=arrays, out=out: call(*arrays, out=out)}, rounds)
            read, written = sum(a.nbytes for a in arrays) // n, out.nbytes // n
            rate = (read + written) / (best["ours"] / n * 1e9)
            table.add(f"{name}: {what}", f"{read}", f"{written}", best["ours"] / n * 1e9, rate, f"{SOCKET / rate:.0f}")
    yield table


PARTS: dict[str, Callable[[int], Iterator[Table]]] = {
    "batch": batch,
    "matrix": matrix,
    "single": single,
    "threads": threads,
    "compiling": compiling,
    "bandwidth": bandwidth,
    "every": every,
}
