"""A humanoid in both of the book's forms: with ball joints, and with three hinges for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algorithms.table import find
from kinetree.evaluation.algorithm_options import complete_options
from kinetree.export.operation_counts import Count, cost, count_function
from kinetree.robot.robot import Robot
from kinetree.simulation.simulator import simulate
from kinetree.spatial.arrays import flatten
from kinetree.studies.fact_files import stated
from kinetree.studies.facts import Fact
from kinetree.studies.named_systems import load, motion, start
from kinetree.studies.plots import Bars
from kinetree.studies.study import Outcome, Study
from kinetree_books.cost_formulas import joint_variables
from kinetree_books.published_counts import FLOATING_FORWARD, FLOATING_INVERSE, MA

from ...analyses.free_fall import fall_figures
from ...analyses.inverse_dynamics import inverse

NAME, BOOK = "humanoid", "Shah section 7.5"

SPIN = (0.6, 4.0, 0.3)
"""Angular velocity of the pelvis at the start of the fall, rad/s: a somersault."""

COUNTED = {
    "inverse dynamics": ("floating_base_inverse_dynamics", FLOATING_INVERSE[0]),
    "forward dynamics": ("forward_dynamics", FLOATING_FORWARD[0]),
}
"""Algorithms beside the book's formulas for them."""


def forms(quick: bool) -> Outcome:
    """Compare the robot with ball joints to the one with hinges: sizes, and dynamics by different methods."""
    robot = load(NAME).with_backend("reference")
    hinged = robot.with_single_joints()
    q, v, a = motion(NAME).states(np.linspace(0.2, 1.8, 5 if quick else 17))
    tau = hinged.inverse_dynamics(q, v, a)
    there = [float(np.abs(way - tau).max() / np.abs(tau).max()) for way in _torques(robot, q, v, a)]
    back = [float(np.abs(way - a).max()) for way in _accelerations(robot, hinged, q, v, tau)]
    kinds = [joint.nv for joint in robot.model.joints]
    facts = stated(
        "humanoid", "forms", kinds=(kinds.count(3), kinds.count(1)), freedoms=robot.nv - 6,
        links=(len(robot.body_names), len(hinged.body_names)),
        massless=sum(body.mass == 0.0 for body in hinged.model.bodies), torques=there, accelerations=back,
    )  # fmt: skip
    return Outcome(facts, {}, {}, {})


def _torques(robot: Robot, *state: Any) -> list[np.ndarray]:
    return [robot.inverse_dynamics(*state), robot.inverse_dynamics(*state, method="modules")]


def _accelerations(robot: Robot, hinged: Robot, *state: Any) -> list[np.ndarray]:
    ways = [robot.forward_dynamics(*state, method=way) for way in ("articulated_body", "composite_body", "modules")]
    return [*ways, hinged.forward_dynamics(*state)]


def counts(quick: bool) -> Outcome:
    """Compare the operation counts of both forms with the book's formulas."""
    robot = load(NAME)
    hinged = robot.with_single_joints()
    columns: dict[str, dict[str, MA]] = {
        "17, the book": {what: row(*joint_variables(robot)) for what, (_, row) in COUNTED.items()},
        "41, the book": {what: row(*joint_variables(hinged)) for what, (_, row) in COUNTED.items()},
        "17, traced": {what: _traced(robot, name) for what, (name, _) in COUNTED.items()},
        "41, traced": {what: _traced(hinged, name) for what, (name, _) in COUNTED.items()},
        "what runs": {what: _paid(cost(robot, name)) for what, (name, _) in COUNTED.items()},
    }
    facts = [fact for what in COUNTED for fact in _compared(what, {k: x[what] for k, x in columns.items()})]
    table: dict[str, Any] = {
        "dynamics": [what for what in COUNTED for _ in "MA"],
        "operation": ["M", "A"] * len(COUNTED),
    }
    table |= {title: [float(x) for what in COUNTED for x in column[what]] for title, column in columns.items()}
    shown = [title for title in columns if title != "what runs"]
    grouped = {title: [1e-3 * float(sum(columns[title][what])) for what in COUNTED] for title in shown}
    listed = "; ".join(f"{title}: " + ", ".join(f"{column[what]} ({what})" for what in COUNTED)
                       for title, column in columns.items())  # fmt: skip
    remarks = [
        f"M counts divisions too; 17 and 41 are links. {listed}.",
        "The book saves by leaving out the 24 links without mass. A trace leaves them out by itself: what is zero is "
        "skipped. So hinges in a row are the cheaper text for it, cheaper than a ball joint eliminated as a whole, and "
        "the compiler writes ball joints with Euler angles so. What runs stays below the formulas, which are for "
        "placements and inertias in which nothing is zero.",
    ]
    caption = "Multiplications and additions with 17 and with 41 links: by the book's formulas, and traced by kinetree."
    return Outcome(
        facts,
        {"operations": table},
        {},
        {"operations": Bars(list(COUNTED), grouped, "thousand M + A", caption)},
        remarks,
    )


def _compared(what: str, by: dict[str, MA]) -> list[Fact]:
    """Return the facts from the counts of one algorithm."""
    few, many, whole, rowed, runs = (float(sum(x)) for x in by.values())
    return stated(
        "humanoid", "cost", links_ratio=few / many, what=what, hinges_ratio=rowed / whole, runs_ratio=runs / few
    )


def _paid(counted: Count) -> MA:
    return MA(counted.multiplications + counted.divisions, counted.additions)


def _traced(robot: Robot, name: str) -> MA:
    """Count an algorithm on the joints as they are: the compiler itself would write ball joints as hinges."""
    model, algorithm = robot.model, find(name)
    options = complete_options(model, name, {})
    loads = [[None] * len(model.bodies)] if algorithm.loads else []
    return _paid(count_function(
        lambda *state: flatten(algorithm.function(model, *state, *loads, **options)), *algorithm.lengths(model)
    ))  # fmt: skip


def fall(quick: bool) -> Outcome:
    """Simulate a fall, somersaulting with loose joints: only gravity acts."""
    robot = load(NAME).with_backend("compiled")
    v = np.zeros(robot.nv)
    v[:3] = SPIN
    record = simulate(
        robot, start(NAME, "free-fall"), v, time=0.4, samples=41 if quick else 161, rtol=1e-10, atol=1e-12,
        progress=False,
    )  # fmt: skip
    t, place, momentum = record.time, robot.center_of_mass(record.q), robot.momentum(record.q, record.v)
    mass = sum(body.mass for body in robot.model.bodies)
    begin = momentum[0, 3:] / mass
    thrown = place[0] + begin * t[:, None] - 0.5 * 9.81 * t[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
    facts = stated(
        "humanoid", "free-fall", energy_error=record.energy.relative_error, place=place - thrown,
        momentum=momentum[:, :3] - momentum[0, :3], turned=record.q[:, 7:] - record.q[0, 7:],
    )  # fmt: skip
    remark = "No motor acts and nothing rubs (dop853, rtol 1e-10, atol 1e-12)."
    return Outcome(facts, {}, {"fall": record}, fall_figures(robot, record), [remark])


STUDY = Study.of(NAME, {"forms": forms, "cost": counts, "inverse": inverse(NAME), "free-fall": fall})
