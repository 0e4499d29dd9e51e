"""Chains of any length, and the spatial double pendulum."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ...export.cost import cost
from ...robot.robot import Robot
from ...simulation.records.record import Record
from ...simulation.simulate import simulate
from .. import load, motion
from ..study import Fact, Outcome, Study
from ..style import Curve, Curves, Panel
from ..tree_analyses import PLANE, free_fall, inverse
from ..trees import chain

KINDS = {1: "hinges", 2: "universal joints", 3: "ball joints"}
COUNTED = (3, 4, 5, 6)
TIMED = (8, 16, 32, 64, 128)
BATCH = 512


def falls_of_all_kinds(quick: bool) -> Outcome:
    """Chains with one, two and three freedoms per joint fall; those that can only swing in the plane agree."""
    links = 4
    records = {}
    for freedoms in KINDS:
        robot = chain(links, freedoms).with_backend("compiled")
        records[freedoms] = simulate(
            robot, np.zeros(robot.nq), time=0.3, output=61, rtol=1e-10, atol=1e-12, progress=False
        )
    planar = {freedoms: record.q[:, ::freedoms] for freedoms, record in records.items()}
    aside = max(float(np.abs(np.delete(r.q, np.s_[::f], axis=1)).max()) for f, r in records.items() if f > 1)
    drift = max(float(np.abs(record.energy.error).max()) for record in records.values())
    facts = [
        Fact("started in the plane, chains of universal and ball joints fall like one of hinges; largest difference",
             1e-8, max(float(np.abs(planar[k] - planar[1]).max()) for k in (2, 3)), "rad", relation="<"),
        Fact("and do not leave the plane; largest angle out of it", 1e-12, aside, "rad", relation="<"),
        Fact("energy is kept; largest drift", 1e-9, drift, "J", relation="<"),
    ]  # fmt: skip
    curves = [Curve(f"link {k + 1}", planar[1][:, k]) for k in range(links)]
    figures = {
        "motion": Curves(records[1].time, [Panel("angle [rad]", curves)], "Four links with hinges, let go level.")
    }
    return Outcome(facts, {}, {KINDS[k].replace(" ", "-"): record for k, record in records.items()}, figures)


def cost_against_n(quick: bool) -> Outcome:
    """Operations and time against the number of links."""
    facts, table, curves = [], {}, []
    for name, label in (("inverse_dynamics", "inverse"), ("forward_dynamics", "forward")):
        for freedoms, words in KINDS.items():
            counts = [cost(chain(n, freedoms), name) for n in COUNTED]
            total = np.array([c.multiplications + c.additions for c in counts])
            steps = np.diff(total)
            facts.append(
                Fact(f"{label} dynamics of chains of {words} costs as much for every further link: operations for "
                     "the next, each time", [int(steps[0])] * len(steps), steps)
            )  # fmt: skip
            table[f"{label}, {words} [multiplications]"] = [c.multiplications for c in counts]
            table[f"{label}, {words} [additions]"] = [c.additions for c in counts]
            curves.append(Curve(f"{label}, {words}", total))
    lengths = TIMED[:3] if quick else TIMED
    seconds = {label: [_seconds(chain(n), label) for n in lengths] for label in ("inverse", "forward")}
    for label, taken in seconds.items():
        growth = float(np.polyfit(np.log(lengths), np.log(taken), 1)[0])
        facts.append(
            Fact(f"time of {label} dynamics grows like n to the power of, not above", 1.4, growth, "", relation="<",
                 source="000 L1699 (order n)", reason="depends on the machine and on what else it does")
        )  # fmt: skip
    timed = {"links [1]": list(lengths)} | {f"{k} [s]": v for k, v in seconds.items()}
    panels = [Panel("operations [1]", curves)]
    times = [Panel("seconds per call [s]", [Curve(k, v) for k, v in seconds.items()], log=True)]
    figures = {
        "operations": Curves(COUNTED, panels, "Multiplications and additions of one evaluation.", "links [1]"),
        "time": Curves(lengths, times, f"Time of one state out of {BATCH}, on one thread.", "links [1]", log_x=True),
    }
    remark = "Operations are those of the code that runs, with all that is constant folded."
    operations = {"links [1]": list(COUNTED)} | table
    return Outcome(facts, {"operations": operations, "time": timed}, {}, figures, [remark])


def _seconds(robot: Robot, label: str) -> float:
    """Of one state in a batch, the best of some."""
    fast = robot.with_backend("compiled")
    q, v, x = np.random.default_rng(1).uniform(-1.0, 1.0, (3, BATCH, robot.nv))
    call: Callable[..., np.ndarray] = fast.inverse_dynamics if label == "inverse" else fast.forward_dynamics
    call(q, v, x)  # compiles
    best = np.inf
    for _ in range(10):
        begin = time.perf_counter()
        call(q, v, x)
        best = min(best, time.perf_counter() - begin)
    return float(best / BATCH)


# ------------------------------------------------------------------ spatial double pendulum


def _keeps(robot: Robot, record: Record) -> list[Fact]:
    """Gravity has no moment about the vertical through the shoulder."""
    upright = robot.momentum(record.q, record.v, about="origin")[:, 2]
    return [
        Fact("angular momentum about the vertical through the shoulder stays zero; largest", 1e-9,
             float(np.abs(upright).max()), "N m s", relation="<"),
    ]  # fmt: skip


def structure(quick: bool) -> Outcome:
    """Sizes of the DeNOC matrices: a ball joint is three turns, two of them with massless links (000 section 4.1)."""
    robot = load("spatial-double-pendulum")
    single = robot.with_single_joints()
    q, v, a = motion("spatial-double-pendulum").states(0.7)
    denoc = single.denoc(q, v)
    n = np.asarray(denoc.N)
    expanded = single.inverse_dynamics(q, v, a)
    facts = [
        Fact("twists of the links, virtual ones included: rows of N", 24, n.shape[0], source="000 L1165-1173"),
        Fact("joint rates: columns of N", 4, n.shape[1], source="000 L1165-1173"),
        Fact("rates that move the two virtual links, the upper and the lower link: P_1 is lower triangular",
             (1, 2, 3, 4), [int(np.any(n[6 * k : 6 * k + 6] != 0.0, axis=0).sum()) for k in range(4)],
             source="000 L1171"),
        Fact("torques with the ball joint as one joint and as three hinges with massless links; largest difference",
             1e-12, float(np.abs(expanded - robot.inverse_dynamics(q, v, a)).max()), "N m", relation="<",
             source="000 L992"),
    ]  # fmt: skip
    table = {f"rate {k + 1} [1]": n[:, k] for k in range(4)}
    return Outcome(facts, {"natural-orthogonal-complement": table}, {}, {})


STUDIES = (
    Study.of(
        "chain",
        {
            "inverse": inverse("chain", view=PLANE),
            "free-fall": free_fall("chain", 1.0, within=1e-7, rtol=1e-10),
            "all-kinds": falls_of_all_kinds,
            "cost": cost_against_n,
        },
    ),
    Study.of(
        "spatial-double-pendulum",
        {
            "inverse": inverse("spatial-double-pendulum"),
            "free-fall": free_fall("spatial-double-pendulum", 3.0, claims=_keeps),
            "structure": structure,
        },
    ),
)
