"""Chains of any length."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kinetree.export.operation_counts import cost
from kinetree.robot.robot import Robot
from kinetree.simulation.simulator import simulate
from kinetree.studies.drawings import PLANE
from kinetree.studies.fact_files import stated
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ...analyses.free_fall import free_fall_of_tree
from ...analyses.inverse_dynamics import inverse
from ...analyses.smoothness import smoothness
from .system import chain

KINDS = {1: "hinges", 2: "universal joints", 3: "ball joints"}

COUNTED = (3, 4, 5, 6)

TIMED = (8, 16, 32, 64, 128)

BATCH = 512


def falls_of_all_kinds(quick: bool) -> Outcome:
    """Simulate falls of chains with one, two and three freedoms per joint; in planar motions they agree."""
    links = 4
    records = {}
    for freedoms in KINDS:
        robot = chain(links, freedoms).with_backend("compiled")
        records[freedoms] = simulate(
            robot, np.zeros(robot.nq), time=0.3, samples=61, rtol=1e-10, atol=1e-12, progress=False
        )
    planar = {freedoms: record.q[:, ::freedoms] for freedoms, record in records.items()}
    aside = max(float(np.abs(np.delete(r.q, np.s_[::f], axis=1)).max()) for f, r in records.items() if f > 1)
    drift = max(float(np.abs(record.energy.error).max()) for record in records.values())
    facts = stated(
        "chain", "all-kinds", planar=max(float(np.abs(planar[k] - planar[1]).max()) for k in (2, 3)), aside=aside,
        drift=drift,
    )  # fmt: skip
    curves = [Curve(f"link {k + 1}", planar[1][:, k]) for k in range(links)]
    figures = {
        "motion": Curves(records[1].time, [PlotPanel("angle [rad]", curves)], "Four links with hinges, let go level.")
    }
    return Outcome(facts, {}, {KINDS[k].replace(" ", "-"): record for k, record in records.items()}, figures)


def cost_against_n(quick: bool) -> Outcome:
    """Measure operations and time against the number of links."""
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
                 source="Shah section 6.1.2 (order n)", reason="depends on the machine and on what else it does")
        )  # fmt: skip
    timed = {"links [1]": list(lengths)} | {f"{k} [s]": v for k, v in seconds.items()}
    panels = [PlotPanel("operations [1]", curves)]
    times = [PlotPanel("seconds per call [s]", [Curve(k, v) for k, v in seconds.items()], log=True)]
    figures = {
        "operations": Curves(COUNTED, panels, "Multiplications and additions of one evaluation.", "links [1]"),
        "time": Curves(lengths, times, f"Time of one state out of {BATCH}, on one thread.", "links [1]", log_x=True),
    }
    remark = "Operations are counted with all that is constant folded."
    operations = {"links [1]": list(COUNTED)} | table
    return Outcome(facts, {"operations": operations, "time": timed}, {}, figures, [remark])


def _seconds(robot: Robot, label: str) -> float:
    """Return the time per state of a batch in seconds, the best of several runs."""
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


STUDY = Study.of(
    "chain",
    {
        "inverse": inverse("chain", view=PLANE),
        "free-fall": free_fall_of_tree("chain", 1.0, within=1e-7, rtol=1e-10),
        "all-kinds": falls_of_all_kinds,
        "cost": cost_against_n,
        "smoothness": smoothness(chain, (4, 8, 16, 32)),
    },
)
