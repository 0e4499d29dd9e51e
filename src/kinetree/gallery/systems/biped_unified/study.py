"""The biped of 003: inverse dynamics, four seconds of walking, energy."""

from __future__ import annotations

import numpy as np

from ...analyses.walking import TOUCHING, OnGround, Statements, Trunk, fed_forward, feedforward, inverse, machine
from ...plots import Curve, Curves, PlotPanel
from ...study import Fact, Outcome, Study

NAME = "biped-unified"

SECONDS = 4.0

SAID = Statements(
    0.2, 3.0, None, 1e-3, 0.0, SECONDS,
    {"distance": "003 section 4", "angle": "003 figure 7 ('slight variation')", "energy": "003 figure 10",
     "control": "003 figures 6 to 9"}, angle_rounding=3.0,
)  # fmt: skip


def _facts(along: OnGround) -> list[Fact]:
    m, robot = along.machine, along.machine.robot
    ankles = [robot.joint(f"{side}_ankle").v_slice.start for side in ("left", "right")]
    up = along.foot_forces[..., 2]
    down = up[:, 0] > TOUCHING
    held, knee = (np.abs(along.tau[down, k]) for k in (ankles[0], ankles[0] - 1))
    swinging = float(np.abs(along.tau[:, ankles[1]])[up[:, 1] <= TOUCHING].max())
    return [
        Fact("height of the trunk's mass center at the start, y_c", 1.23, float(Trunk.of(m, along.q).height[0]), "m",
             1e-12, source="003 section 4"),
        Fact("stride", 0.2, m.walk.gait.stride, "m", 1e-12, source="003 section 4"),
        Fact("torque of the ankle while its foot is on the ground; largest", 0.0, float(held.max()), "N m", 0.1,
             source="003 section 4",
             reason="a foot that stands flat is pressed at its two ends as the motion demands, and the ankle holds the "
             f"difference, in the median {np.median(held):.2g} N m, where the knee has {np.median(knee):.2g}. It is "
             f"while a foot swings that its ankle has nothing to do: {swinging:.2g} N m"),
        Fact("torques jump at the end of the cycle, when the foot lands; largest change between samples of 2.5 ms", 5.0,
             float(np.abs(np.diff(along.tau, axis=0))[along.time[1:] > 0.5].max()), "N m", relation=">",
             source="003 figure 5"),
    ]  # fmt: skip


def energy(quick: bool) -> Outcome:
    """Show where the energy goes while it walks (003 figure 10)."""
    record = fed_forward(NAME, machine(NAME).walk.gait.period if quick else SECONDS)
    e = record.energy
    spent = float(np.abs(e.actuators).max())
    facts = [
        Fact("kinetic + potential + ground + actuator energy is constant; largest change", 1e-3,
             float(np.ptp(e.total)), "J", relation="<", source="003 figure 10"),
        Fact("which is a small part of the work of the motors", 1e-3, float(np.ptp(e.total)) / spent, "",
             relation="<"),
        Fact("the ground takes energy and never gives any back for good: its work at the end", 0.0,
             float(e.ground[-1]), "J", relation="<"),
    ]  # fmt: skip
    parts = [
        Curve("kinetic", e.kinetic), Curve("potential", e.potential - e.potential[0]), Curve("motors", -e.actuators),
        Curve("ground", -e.ground), Curve("total", e.total - e.potential[0]),
    ]  # fmt: skip
    table = {"time [s]": record.time} | {f"{c.name} [J]": np.asarray(c.y) for c in parts}
    figures = {"energy": Curves(record.time, [PlotPanel("energy [J]", parts)], "As in figure 10 of 003.")}
    return Outcome(facts, {"energy": table}, {}, figures)


STUDY = Study.of(
    NAME,
    {
        "inverse": inverse(NAME, SAID, _facts),
        "controlled-walk": feedforward(NAME, SAID, angle=12.0),
        "energy": energy,
    },
)
