"""The six-legged machine of Shah, chapters 7 and 9."""

from __future__ import annotations

from functools import cache

from kinetree.contact.ground import from_source
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.study import Outcome

from ...analyses.walking import (
    OnGround,
    Statements,
    Trunk,
    machine,
    on_other_ground,
    prescribed,
    stepped,
    walking_study,
)

NAME, STEP = "hexapod", 0.5

AUTHORS_TRUNK = 2.0
"""Mass of the trunk in the authors' stored run, in kilograms; the book says 4."""


@cache
def _angles() -> dict[str, float]:
    """Return the largest angle of the trunk in a step, in degrees, also with other values of uncertain data."""
    m = machine(NAME)
    known = m.robot.parameters()
    heavier = {
        f"trunk.{key}": 2.0 * float(known.values[known.names.index(f"trunk.{key}")]) for key in ("XX", "YY", "ZZ")
    }
    light = from_source(m.ground_set, m.spots, m.robot.mass - 4.0 + AUTHORS_TRUNK)
    runs = {
        "as the book says": prescribed(NAME, STEP),
        "delta_max of 0.02 m": on_other_ground(NAME, STEP, depth=0.02),
        "twice the trunk's inertia": OnGround(NAME, stepped(m, STEP, parameters=heavier)),
        "a trunk of 2 kg": OnGround(
            NAME, stepped(m, STEP, parameters={"bodies": {"trunk": {"mass": AUTHORS_TRUNK}}}, ground=light)
        ),
    }
    return {key: Trunk.of(m, along.q).largest_angle for key, along in runs.items()}


def _reason() -> str:
    found = _angles()
    return (
        "the book says that the trunk weighs 4 kg, and the authors' stored run has 2 kg: with 2 kg it is "
        f"{found['a trunk of 2 kg']:.2f} degrees. With twice the trunk's inertia, or another depth at which the "
        f"ground's damper acts fully, it stays {found['as the book says']:.2f} degrees (analysis trunk)"
    )


def trunk(quick: bool) -> Outcome:
    """Investigate what the angle of the trunk depends on."""
    found = _angles()
    base = found.pop("as the book says")
    heavy = found.pop("a trunk of 2 kg")
    facts = stated(NAME, "trunk", heavy=heavy)
    for words, angle in found.items():
        facts += stated(NAME, "trunk.others", words=words, base=base, angle=angle)
    return Outcome(facts, {}, {}, {}, ["Each is one step of inverse dynamics on firm ground, as in 'inverse'."])


SAID = Statements(
    0.4, 0.3, 0.45, 3.31e-2, 0.9, 2.0,
    {"distance": "Shah section 7.4", "angle": "Shah section 7.4", "touchdown": "Shah section 7.4",
     "energy": "Shah appendix C.3", "follows": "Shah section 9.4", "control": "Shah section 9.4"},
    angle_rounding=0.05, of_angle=_reason,
)  # fmt: skip


def _measured(along: OnGround) -> Values:
    robot = along.machine.robot
    return {"potential": float(robot.potential_energy(along.q[0])) - AUTHORS_TRUNK * 9.81 * 0.55}


STUDY = walking_study(NAME, SAID, _measured, 2.0, 5.0, {"trunk": trunk})
