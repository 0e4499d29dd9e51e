"""Derivatives of inverse and forward dynamics in batches, against Pinocchio's analytical ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from .robots import FILES, Contest
from .timing import Table, alternate

COUNT, SOME = 4096, 512


def derivatives(rounds: int) -> Iterator[Table]:
    """All three matrices per state; Pinocchio in a Python loop (there is no batched call), call overhead included."""
    table = Table(
        f"Derivatives, batches of {COUNT}, one thread, ns per state. Pinocchio: a Python loop (no batched call exists)",
        ("", "kinetree", "Pinocchio", "ratio", "asked"),
    )
    for name in FILES:
        c = Contest.make(name, COUNT)
        data, n = c.model.createData(), c.robot.nv
        out = np.empty((COUNT, 3, n, n))
        states = list(zip(c.pin_q[:SOME], c.pin_v[:SOME], c.pin_a[:SOME], strict=True))
        for what, theirs in (
            ("inverse_dynamics_derivatives", pin.computeRNEADerivatives),
            ("forward_dynamics_derivatives", pin.computeABADerivatives),
        ):
            kernel = c.robot._compiler.kernel(what)

            def loop(theirs=theirs, model=c.model, data=data, states=states) -> None:
                for state in states:
                    theirs(model, data, *state)

            best = alternate({"ours": lambda k=kernel: k(c.q, c.v, c.a, out=out), "theirs": loop}, rounds)
            ours, other = best["ours"] / COUNT * 1e9, best["theirs"] / SOME * 1e9
            table.add(f"{name}: {what.removesuffix('_derivatives')}", ours, other, f"{other / ours:.1f}x", "10x")
    yield table
