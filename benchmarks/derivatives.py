"""Derivatives of inverse and forward dynamics in batches, against Pinocchio's analytical ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin

from .asked import asked
from .robots import FILES, Contest
from .roofline import merely_write
from .timing import Table, alternate

COUNT, SOME = 4096, 256


def derivatives(rounds: int) -> Iterator[Table]:
    """All three matrices per state into one array; Pinocchio in a Python loop (there is no batched call), stored."""
    table = Table(
        f"Derivatives, three matrices into an array ({COUNT}, 3, n, n), one thread, ns per state. Pinocchio: a Python "
        "loop (no batched call exists), results stored.\nWriting: lines of such results into the same array and "
        "nothing else: the cap of one thread",
        ("", "kinetree", "writing", "Pinocchio", "not stored", "ratio", "cap", "asked"),
    )
    for name in FILES:
        c = Contest.make(name, COUNT)
        data, n = c.model.createData(), c.robot.nv
        out, kept = np.empty((COUNT, 3, n, n)), np.empty((SOME, 3, n, n))
        states = list(zip(c.pin_q[:SOME], c.pin_v[:SOME], c.pin_a[:SOME], strict=True))
        for what, theirs in (
            ("inverse_dynamics_derivatives", pin.computeRNEADerivatives),
            ("forward_dynamics_derivatives", pin.computeABADerivatives),
        ):
            call = getattr(c.robot, what)

            def bare(theirs=theirs, model=c.model, data=data, states=states) -> None:
                for state in states:
                    theirs(model, data, *state)

            def keep(theirs=theirs, model=c.model, data=data, states=states, kept=kept) -> None:
                for k, state in enumerate(states):
                    kept[k, 0], kept[k, 1], kept[k, 2] = theirs(model, data, *state)

            def ours(call=call, c=c, out=out) -> None:
                call(c.q, c.v, c.a, out=out)

            best = alternate({"ours": ours, "write": merely_write(out), "bare": bare, "keep": keep}, rounds)
            own, write = best["ours"] / COUNT, best["write"] / COUNT
            loop, stored = best["bare"] / SOME, best["keep"] / SOME
            table.add(
                f"{name}: {what.removesuffix('_derivatives')}", own * 1e9, write * 1e9, stored * 1e9, loop * 1e9,
                f"{stored / own:.1f}x", f"{stored / write:.1f}x", asked(what, name),
            )  # fmt: skip
    yield table
