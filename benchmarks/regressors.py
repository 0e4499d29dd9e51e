"""Regressors in batches, against Pinocchio's; and the QR of very many samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pinocchio as pin
import scipy.linalg

import kinetree as kt
from kinetree.identification import Accumulator

from .robots import FILES, Contest
from .roofline import merely_write
from .timing import Table, alternate

COUNT, SOME = 1024, 256
SAMPLES = 100_000


def regressors(rounds: int) -> Iterator[Table]:
    """The torque regressor of all inertial parameters, and sums of 100,000 samples."""
    yield _against_pinocchio(rounds)
    yield _summed(rounds)


def _against_pinocchio(rounds: int) -> Table:
    table = Table(
        f"Torque regressor of the inertial parameters into an array ({COUNT}, n, 10 bodies), one thread, ns per state. "
        "Pinocchio: a Python loop (no batched call exists), results stored.\nWriting: lines of such results into the "
        "same array and nothing else: the cap of one thread",
        ("", "kinetree", "writing", "Pinocchio", "not stored", "ratio", "cap"),
    )
    for name in FILES:
        c = Contest.make(name, COUNT)
        inertial = c.robot.parameters().names[: 10 * len(c.robot.body_names)]
        data = c.model.createData()
        out = np.empty((COUNT, c.robot.nv, len(inertial)))
        kept = np.empty((SOME, c.model.nv, 10 * (c.model.njoints - 1)))
        states = list(zip(c.pin_q[:SOME], c.pin_v[:SOME], c.pin_a[:SOME], strict=True))

        def bare(model=c.model, data=data, states=states) -> None:
            for state in states:
                pin.computeJointTorqueRegressor(model, data, *state)

        def keep(model=c.model, data=data, states=states, kept=kept) -> None:
            for k, state in enumerate(states):
                kept[k] = pin.computeJointTorqueRegressor(model, data, *state)

        def ours(c=c, out=out, inertial=inertial) -> None:
            c.robot.regressor(c.q, c.v, c.a, parameters=inertial, out=out)

        best = alternate({"ours": ours, "write": merely_write(out), "bare": bare, "keep": keep}, rounds)
        own, write = best["ours"] / COUNT, best["write"] / COUNT
        loop, stored = best["bare"] / SOME, best["keep"] / SOME
        table.add(
            name, own * 1e9, write * 1e9, stored * 1e9, loop * 1e9, f"{stored / own:.1f}x", f"{stored / write:.1f}x"
        )
    return table


def _summed(rounds: int) -> Table:
    table = Table(
        f"Regressor and QR of {SAMPLES} samples, tile by tile, one thread, seconds. Base columns: those that are "
        "independent",
        ("", "columns", "all, QR", "all, products", "base columns", "base, QR", "base, products"),
    )
    for name in ("UR5", "Panda"):
        robot = Contest.make(name, 1).robot
        rng = np.random.default_rng(0)
        q = robot.random_configuration(rng, SAMPLES)
        v, a = rng.standard_normal((2, SAMPLES, robot.nv))
        tau = robot.inverse_dynamics(q, v, a)
        every = Accumulator(robot, friction=False).names
        base = _independent(robot, every)
        runs = {
            f"{which} {method}": lambda names=names, method=method: Accumulator(
                robot, names, friction=False, method=method
            ).add(q, v, a, tau)
            for which, names in (("all", every), ("base", base))
            for method in ("qr", "gram")
        }
        best = alternate(runs, max(3, rounds // 3))
        times = [f"{best[key]:.3f}" for key in ("all qr", "all gram", "base qr", "base gram")]
        table.add(name, len(every), times[0], times[1], len(base), times[2], times[3])
    return table


def _independent(robot: kt.Robot, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return columns that are independent, by pivoting on random states."""
    rng = np.random.default_rng(1)
    q = robot.random_configuration(rng, 200)
    v, a = rng.standard_normal((2, 200, robot.nv))
    tall = robot.regressor(q, v, a, parameters=names).reshape(-1, len(names))
    r, order = scipy.linalg.qr(tall, mode="r", pivoting=True)
    size = np.abs(np.diagonal(r))
    return tuple(names[k] for k in sorted(order[: int(np.sum(size > 1e-9 * size[0]))]))
