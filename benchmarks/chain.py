"""Chains of many links: time per link, first call, against Pinocchio where its memory allows."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pinocchio as pin

import kinetree as kt

from .timing import Table, alternate

LARGEST_FOR_PINOCCHIO = 300
"""Pinocchio 4.1 reserves tensors of n^3 numbers: 16 GB at 600 links."""


def make(n: int) -> tuple[kt.Robot, pin.Model | None]:
    """A chain of links that differ in size, on hinges about x, y, z in turn."""
    rng = np.random.default_rng(0)
    builder, model, last = kt.Builder(f"chain of {n}"), pin.Model() if n <= LARGEST_FOR_PINOCCHIO else None, 0
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i in range(n):
        size = rng.uniform(0.9, 1.1)
        body = kt.MassProperties.of(0.5 * size, (0.05, 0.01, 0), (0.001, 0.002, 0.002))
        parent = f"l{i - 1}" if i else "base"
        builder.body(f"l{i}", parent, kt.Revolute("xyz"[i % 3]), position=(0.1 * size, 0, 0), mass_properties=body)
        if model is not None:
            place = pin.SE3(np.eye(3), np.array([0.1 * size, 0, 0]))
            last = model.addJoint(last, kinds[i % 3](), place, f"j{i}")
            inertia = pin.Inertia(body.mass, np.array(body.com), body.inertia_matrix)
            model.appendBodyToJoint(last, inertia, pin.SE3.Identity())
    return builder.build(), model


def chain(rounds: int) -> Iterator[Table]:
    """Time per link and per state."""
    table = Table(
        "Chains, batches, one thread, ns per link and state",
        ("", "first call s", "kinetree", "Pinocchio", "ratio", "against 100 links"),
    )
    reference: dict[str, float] = {}
    theirs_per_link: dict[str, float] = {}
    for n in (100, 300, 1000, 10_000):
        robot, model = make(n)
        count = max(16, min(512, 400_000 // n))
        q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, count, n))
        out = np.empty((count, n))
        for what, theirs in (("inverse_dynamics", pin.rneaInParallel), ("forward_dynamics", pin.abaInParallel)):
            call = getattr(robot, what)
            begin = time.perf_counter()
            call(q, v, a)
            first = time.perf_counter() - begin
            contenders = {"kinetree": lambda call=call: call(q, v, a, out=out)}
            if model is not None:
                pool = pin.ModelPool(model, 1)
                columns = [np.asfortranarray(x.T) for x in (q, v, a)]
                result = np.asfortranarray(np.zeros((n, count)))
                contenders["Pinocchio"] = lambda theirs=theirs, p=pool, c=columns, r=result: theirs(1, p, *c, r)
            best = {k: t / count / n * 1e9 for k, t in alternate(contenders, rounds).items()}
            ours = best["kinetree"]
            reference.setdefault(what, ours)
            if "Pinocchio" in best:
                theirs_per_link[what] = best["Pinocchio"]
            shown = f"{best['Pinocchio']:.3g}" if "Pinocchio" in best else f"({theirs_per_link[what]:.3g} at 300)"
            ratio = f"{theirs_per_link[what] / ours:.1f}x"
            table.add(f"{n} links: {what}", f"{first:.2f}", ours, shown, ratio, f"{ours / reference[what]:.2f}")
    yield table
