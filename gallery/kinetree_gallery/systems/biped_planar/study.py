"""The planar biped of Shah, chapters 7 and 9."""

from __future__ import annotations

from functools import cache

import numpy as np

from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome

from ...analyses.walking import (
    OnGround,
    Statements,
    Trunk,
    dusty_ground,
    falling,
    machine,
    on_other_ground,
    prescribed,
    walking_study,
)

SAID = Statements(
    0.3, 3.0, 0.83, 8.48e-4, 1.0, 4.0,
    {"distance": "Shah section 7.2.1", "angle": "Shah section 7.2.1", "touchdown": "Shah section 7.2.1",
     "energy": "Shah appendix C.3", "follows": "Shah sections 9.2.1, 9.2.1.1",
     "control": "Shah sections 9.2.1.1, 9.2.1.2"},
)  # fmt: skip

NAME, STEP = "biped-planar", 1.0

SOFT = 1.0
"""An over-damping factor with which landing is about as soft as the book's figure shows."""

FINE, EVERY = 4001, 40
"""Samples of a step, 0.25 ms apart, and how many of them are between two samples of the book's."""


@cache
def _landing() -> dict[str, float]:
    """Return the forces on the landing foot, sampled finely, and with less damping."""
    fine, soft = prescribed(NAME, STEP, FINE), on_other_ground(NAME, STEP, factor=SOFT)
    up, ahead = fine.foot_forces[:, 1, 2], fine.foot_forces[:, 1, 0]
    peak = int(np.argmax(up))
    m = machine(NAME)
    spring = float(m.ground.normal.stiffness) * np.maximum(-_depths(fine, peak), 0.0).sum()
    grids = [float(up[phase::EVERY].max()) for phase in range(EVERY)]
    return {
        "peak": float(up[peak]), "ahead": float(ahead.min()), "damper": 1.0 - spring / float(up[peak]),
        "least": min(grids), "most": max(grids), "wide": 0.25 * float(np.sum(up > 0.5 * up[peak])),
        "soft peak": float(soft.foot_forces[:, 1, 2].max()), "soft ahead": float(soft.foot_forces[:, 1, 0].min()),
        "soft angle": Trunk.of(m, soft.q).largest_angle, "soft touchdown": soft.touchdown(),
    }  # fmt: skip


def _depths(along: OnGround, k: int) -> Array:
    """Return the heights of the landing foot's spots above the ground at a sample."""
    m = along.machine
    touching = m.ground.touches(m.robot.model, list(along.q[k]), list(along.v[k]))
    return np.array([float(t.gap) for t in touching])[len(touching) // 2 :]


def _reason() -> str:
    found = _landing()
    return (
        f"the printed constants give it: the damper, {machine(NAME).ground.normal.damping:.0f} N s/m at each spot, "
        f"stops the foot with {found['peak']:.0f} N in {found['wide']:.0f} ms; read off every 10 ms as in the book the "
        f"largest would be {found['least']:.0f} to {found['most']:.0f} N, as these samples fall. With an over-damping "
        f"factor of {SOFT:g} in the place of 10 it would be {found['soft peak']:.0f} N upwards and "
        f"{found['soft ahead']:.0f} N forward, but then the trunk would turn by {found['soft angle']:.1f} degrees and "
        f"the foot land at {found['soft touchdown']:.2f} s, against the book's 3 degrees and 0.83 s: no constants that "
        "we know of give all of them (analysis landing)"
    )


def landing(quick: bool) -> Outcome:
    """Investigate what the reactions at landing depend on."""
    found, along = _landing(), prescribed(NAME, STEP)
    shallow, m = on_other_ground(NAME, STEP, depth=0.02), along.machine
    facts = stated(
        "biped-planar", "landing", damper=found["damper"], least=found["least"], soft_peak=found["soft peak"],
        soft_angle=found["soft angle"], soft_touchdown=found["soft touchdown"], shallow_touchdown=shallow.touchdown(),
        touchdown=along.touchdown(), shallow_angle=Trunk.of(m, shallow.q).largest_angle,
        angle=Trunk.of(m, along.q).largest_angle,
    )  # fmt: skip
    fine = prescribed(NAME, STEP, FINE)
    near = np.abs(fine.time - fine.touchdown()) < 0.03
    curve = Curve("landing foot", fine.foot_forces[near, 1, 2])
    figures = {"landing": Curves(fine.time[near], [PlotPanel("upwards [N]", [curve])], "Landing, every 0.25 ms.")}
    return Outcome(facts, {}, {}, figures, ["Each is one step of inverse dynamics, as in 'inverse'."])


def _largest_jump(along: OnGround) -> float:
    """Return the largest jump of a torque between neighboring samples, from when it stands firm to touchdown."""
    quiet = (along.time > 0.1) & (along.time < along.touchdown() - 0.01)
    return float(np.abs(np.diff(along.tau[quiet], axis=0)).max())


def _stated(along: OnGround) -> Values:
    up, ahead = along.foot_forces[..., 2], along.foot_forces[..., 0]
    denoc = along.machine.robot.denoc(along.q[0])
    return {
        "denoc": (*np.asarray(denoc.N_l).shape, *np.asarray(denoc.N_d).shape), "standing": up[:, 0],
        "landing": up[:, 1], "landing_ahead": ahead[:, 1], "jump": _largest_jump(along), "why": _reason(),
    }  # fmt: skip


# dusty ground: Shah section 7.2.1
MORE = {"dusty-ground": dusty_ground(NAME, SAID), "landing": landing, "falling": falling(NAME, 2.5)}
STUDY = walking_study(NAME, SAID, _stated, 2.2, 5.0, MORE)
