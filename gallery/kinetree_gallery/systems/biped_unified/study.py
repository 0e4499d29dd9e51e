"""The biped of the unified approach: inverse dynamics, four seconds of walking, energy."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from kinetree.contact.ground import SOURCE_SETS, Ground, Spot
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study

from ...analyses.walking import (
    TOUCHING,
    OnGround,
    Statements,
    Trunk,
    fed_forward,
    feedforward,
    inverse,
    machine,
    on_other_ground,
    stepped,
)

NAME = "biped-unified"

SECONDS = 4.0

OWN = SOURCE_SETS["unified-biped"]["stiffness"]
"""Stiffness of the ground that we chose, in N/m."""

SAID = Statements(
    0.2, 3.0, None, 1e-3, 0.0, SECONDS,
    {"distance": "Biped section 4", "angle": "Biped figure 7 ('slight variation')", "energy": "Biped figure 10",
     "control": "Biped figures 6 to 9"}, angle_rounding=3.0, near=0.25,
)  # fmt: skip


class PointFeet(NamedTuple):
    """The walk when each foot touches the ground at one spot, below its ankle."""

    torque: float
    """Largest torque of the ankle while the foot stands in the first step, in N m."""

    angles: list[float]
    """Largest angle of the trunk in each step, in degrees."""


@cache
def _point_feet() -> PointFeet:
    m = machine(NAME)
    ground = Ground([Spot(f"{side}_foot") for side in ("left", "right")], m.ground.normal, m.ground.friction)
    record = stepped(m, 3.0, ground=ground)
    ankle = m.robot.joint("left_ankle").v_slice.start
    down = (record.contact_forces[:, 0, 2] > TOUCHING) & (record.time < 0.9)
    angles = Trunk.of(m, record.q).angle_by_step(record.time, m.walk.gait.period)
    return PointFeet(float(np.abs(record.tau[down, ankle]).max()), angles)


def ground(quick: bool) -> Outcome:
    """Investigate on which ground the walk is periodic, as the paper states."""
    period, seconds = machine(NAME).walk.gait.period, 4.0 if quick else 10.0
    runs = {k: on_other_ground(NAME, seconds if k == OWN else SECONDS, stiffness=k) for k in (2000.0, OWN, 10000.0)}
    angles = {k: Trunk.of(along.machine, along.q).angle_by_step(along.time, period) for k, along in runs.items()}
    shown = ", ".join(f"{angle:.1f}" for angle in angles[2000.0])
    firm = angles[OWN]
    facts = stated(
        "biped-unified", "ground", period_ratio=firm[-1] / firm[1], seconds=seconds, stride=_per_step(runs[OWN]),
        stiff_ratio=angles[10000.0][-1] / angles[10000.0][1], soft_ratio=angles[2000.0][-1] / angles[2000.0][0],
        ankle=_point_feet().torque, fallen=_point_feet().angles[-1],
    )  # fmt: skip
    remark = (
        f"On ground of 2000 N/m the trunk turns by {shown} degrees in steps one to four, and it falls in the fifth."
    )
    curves = [Curve(f"{k:g} N/m", Trunk.of(a.machine, a.q).angles[:, 0], a.time) for k, a in runs.items()]
    panel = PlotPanel("angle of the trunk [degrees]", curves)
    figures = {"angle": Curves(runs[OWN].time, [panel], "Inverse dynamics on ground of different stiffness.")}
    return Outcome(facts, {}, {}, figures, [remark])


def _per_step(along: OnGround) -> float:
    """Return the distance per step, averaged over all steps."""
    return Trunk.of(along.machine, along.q).distance / (float(along.time[-1]) / along.machine.walk.gait.period)


def _facts(along: OnGround) -> Values:
    m, robot = along.machine, along.machine.robot
    ankles = [robot.joint(f"{side}_ankle").v_slice.start for side in ("left", "right")]
    up = along.foot_forces[..., 2]
    down = up[:, 0] > TOUCHING
    held, knee = (np.abs(along.tau[down, k]) for k in (ankles[0], ankles[0] - 1))
    swinging = float(np.abs(along.tau[:, ankles[1]])[up[:, 1] <= TOUCHING].max())
    return {
        "height": Trunk.of(m, along.q).height[0], "stride": m.walk.gait.stride, "ankle": held,
        "ankle_median": np.median(held), "knee_median": np.median(knee), "swinging": swinging,
        "point_torque": _point_feet().torque, "fallen": _point_feet().angles[-1],
        "jump": np.abs(np.diff(along.tau, axis=0))[along.time[1:] > 0.5],
    }  # fmt: skip


def energy(quick: bool) -> Outcome:
    """Show where the energy goes while it walks (Biped figure 10)."""
    record = fed_forward(NAME, machine(NAME).walk.gait.period if quick else SECONDS)
    e = record.energy
    spent = float(np.abs(e.actuators).max())
    facts = stated("biped-unified", "energy", total=e.total, part=float(np.ptp(e.total)) / spent, ground=e.ground[-1])
    parts = [
        Curve("kinetic", e.kinetic), Curve("potential", e.potential - e.potential[0]), Curve("motors", -e.actuators),
        Curve("ground", -e.ground), Curve("total", e.total - e.potential[0]),
    ]  # fmt: skip
    table = {"time [s]": record.time} | {f"{c.name} [J]": np.asarray(c.y) for c in parts}
    figures = {"energy": Curves(record.time, [PlotPanel("energy [J]", parts)], "As in figure 10 of the biped paper.")}
    return Outcome(facts, {"energy": table}, {}, figures)


STUDY = Study.of(
    NAME,
    {
        "inverse": inverse(NAME, SAID, _facts),
        "controlled-walk": feedforward(NAME, SAID, angle=3.0),
        "energy": energy,
        "ground": ground,
    },
)
