"""Positions of mechanisms: closing, paths, motions under given drives, platforms; beside pylinkage where it can.

pylinkage knows linkages in the plane, of which each pin is where two circles meet.  It goes step by step in
code by numba, and is in the ``bench`` extra.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import kinetree as kt

from .timing import Table, alternate, repeated

BATCH = 4096
MODELS = Path(os.environ.get("KINETREE_MODELS", Path(__file__).parents[2] / "shared" / "models"))
"""Where robot files lie that are not ours to pass on."""

ASKED = {
    "four-bar, one guess for a turn": 0.10, "four-bar, along a turn": 0.20, "four-bar, motion and torque": 0.40,
    "one four-bar": 2.0, "Stewart, legs from pose": 0.3, "Stewart, pose from legs": 1.0, "Cassie": 2.0,
    "Kangaroo": 20.0,
}  # fmt: skip


OLDER = "x86-64-v3"
"""Code for processors without AVX-512 may take so many times as long as what is asked."""

OLDER_MAY = 2.2


def mechanisms(rounds: int) -> list[Table]:
    """Microseconds a state, of code for this processor and for older ones."""
    table = Table(
        f"Positions of mechanisms, us a state, batches of {BATCH} but for one state",
        ("", "kinetree", "asked", OLDER, f"asked ({OLDER_MAY} times)", "pylinkage"),
    )
    for made in (four_bar, stewart, every_way, *(partial(of_file, n) for n in ("cassie", "kangaroo"))):
        older = made(cpu=OLDER)
        for name, (call, states, theirs) in made().items():
            contenders = {"ours": call, "older": older[name][0]} | ({} if theirs is None else {"theirs": theirs})
            best = alternate(contenders, rounds)
            ours, slow, other = (best[key] / states * 1e6 if key in best else "" for key in ("ours", "older", "theirs"))
            asked = ASKED.get(name, "")
            table.add(name, ours, asked, slow, asked and OLDER_MAY * asked, other)
    return [table]


Rows = dict[str, tuple[Callable[[], object], int, Callable[[], object] | None]]


def four_bar(cpu: str | None = None) -> Rows:
    robot = kt.Mechanism(kt.load("four-bar").model, cpu=cpu)
    start = robot.assembled()
    turn = start[0] + np.linspace(0.0, 2.0 * np.pi, BATCH)
    guesses = np.repeat(start[None], BATCH, axis=0)
    guesses[:, 0] = turn
    rates, still = {"crank_joint": np.full(BATCH, 3.0)}, {"crank_joint": np.zeros(BATCH)}
    path = {"crank_joint": turn}
    return {
        "four-bar, one guess for a turn": (lambda: robot.close(guesses, ["crank_joint"]), BATCH, None),
        "four-bar, along a turn": (lambda: robot.follow(path, start), BATCH, _pylinkage(robot)),
        "four-bar, motion and torque": (lambda: robot.driven_motion(path, rates, still, q_guess=start), BATCH, None),
        "one four-bar": (repeated(lambda: robot.close(guesses[7], ["crank_joint"]), 50), 50, None),
    }


def _pylinkage(robot: kt.Robot) -> Callable[[], object] | None:
    """The same four-bar through the same turn; None where pylinkage is not installed."""
    try:
        from pylinkage.actuators import Crank
        from pylinkage.components import Ground
        from pylinkage.dyads import RRRDyad
        from pylinkage.simulation import Linkage
    except ImportError:
        return None
    crank, rocker, coupler = 0.038, 0.1152, 0.1152
    origin, pivot = Ground(0.0, 0.0), Ground(-0.0895, 0.0)
    turning = Crank(anchor=origin, radius=crank, angular_velocity=2.0 * np.pi / BATCH)
    pin = RRRDyad(anchor1=turning.output, anchor2=pivot, distance1=coupler, distance2=rocker)
    linkage = Linkage([origin, pivot, turning, pin])
    return lambda: linkage.step_fast(BATCH)


def every_way(cpu: str | None = None) -> Rows:
    """All assemblies, per start, and all configurations of an arm, per pose."""
    robot, starts = kt.Mechanism(kt.load("stewart-platform").model, cpu=cpu), 1024
    top = robot.platform("platform")
    legs = top.positions(robot.close(kt.gallery.motion("stewart-platform").states(0.0)[0]))
    arm = kt.Robot(kt.load("puma").model, cpu=cpu)
    poses = arm.pose(np.random.default_rng(0).uniform(-2, 2, (256, 6)), "link_6")
    return {
        "Stewart, all assemblies, a start": (lambda: top.assemblies(legs, starts=starts, limits=False), starts, None),
        "Puma, all configurations, a pose": (
            lambda: kt.all_inverse_kinematics(arm, "link_6", poses, limits=False), len(poses), None
        ),
    }  # fmt: skip


def stewart(cpu: str | None = None) -> Rows:
    robot = kt.Mechanism(kt.load("stewart-platform").model, cpu=cpu)
    start = robot.close(kt.gallery.motion("stewart-platform").states(0.0)[0])
    moved = 0.05 * np.random.default_rng(0).standard_normal((BATCH, robot.nv))
    guesses = robot.integrate(np.repeat(start[None], BATCH, axis=0), moved)
    q = robot.close(guesses, limits=False)
    top = robot.platform("platform")
    poses, legs = top.pose(q), top.positions(q)
    return {
        "Stewart, legs from pose": (lambda: top.inverse(poses, start, limits=False), BATCH, None),
        "Stewart, pose from legs": (lambda: top.forward(legs, start, limits=False), BATCH, None),
        "Stewart, from any guess": (lambda: robot.close(guesses, limits=False), BATCH, None),
    }


def of_file(name: str, cpu: str | None = None) -> Rows:
    """Real robots, where their files are."""
    file = MODELS / name / f"{name}.xml"
    if not file.is_file():
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.KinetreeWarning)  # which pictures are missing, what is rounded
        robot = kt.Mechanism(kt.load(file).model, cpu=cpu)
        start = robot.assembled(limits=False)
        _ = robot.coordinates
        states = BATCH // 4
        moved = 0.05 * np.random.default_rng(0).standard_normal((states, robot.nv))
        guesses = robot.integrate(np.repeat(start[None], states, axis=0), moved)
    return {name.capitalize(): (lambda: robot.close(guesses, limits=False, must_close=False), states, None)}
