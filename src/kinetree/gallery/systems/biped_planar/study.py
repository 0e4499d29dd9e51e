"""The planar biped of 000, chapters 7 and 9."""

from __future__ import annotations

import numpy as np

from ...analyses.walking import (
    OnGround,
    Statements,
    dusty_ground,
    initial_speed,
    walking_study,
)
from ...study import Fact

SAID = Statements(
    0.3, 3.0, 0.83, 8.48e-4, 1.0, 4.0,
    {"distance": "000 section 7.2.1", "angle": "000 section 7.2.1", "touchdown": "000 section 7.2.1",
     "energy": "000 appendix C.3", "follows": "000 sections 9.2.1, 9.2.1.1",
     "control": "000 sections 9.2.1.1, 9.2.1.2"},
)  # fmt: skip

REACTIONS = (
    "away from touchdown it does: the median while a foot stands is {median:.0f} N. Landing on overdamped firm ground "
    "gives a peak of {peak:.0f} N, over within {width:.0f} ms, which a figure sampled at 10 ms need not show"
)


def _largest_jump(along: OnGround) -> float:
    """Return the largest jump of a torque between neighbouring samples, from when it stands firm to touchdown."""
    quiet = (along.time > 0.1) & (along.time < along.touchdown() - 0.01)
    return float(np.abs(np.diff(along.tau[quiet], axis=0)).max())


def _stated(along: OnGround) -> list[Fact]:
    up, ahead = along.foot_forces[..., 2], along.foot_forces[..., 0]
    standing = up[:, 0]
    peak = float(up[:, 1].max())
    wide = 1e3 * float(np.sum(up[:, 1] > 0.5 * peak)) * float(along.time[1])
    reason = REACTIONS.format(median=np.median(standing), peak=peak, width=np.ceil(wide) + 1)
    denoc = along.machine.robot.denoc(along.q[0])
    return [
        Fact("sizes of N_l and N_d: rows, columns", (42, 42, 42, 12),
             (*np.asarray(denoc.N_l).shape, *np.asarray(denoc.N_d).shape), source="000 section 4.4.2"),
        initial_speed(along, 0.520395, "notes, 8.4"),
        Fact("vertical reaction of the standing foot, largest", 100.0, float(standing.max()), "N", 10.0,
             reason="the book's figure ends at 100 N; the weight is 92.2 N", source="000 section 7.2.1"),
        Fact("vertical reaction of the landing foot, largest", 100.0, peak, "N", 10.0, reason=reason,
             source="000 section 7.2.1"),
        Fact("horizontal reaction of the landing foot, smallest", -50.0, float(ahead[:, 1].min()), "N", 5.0,
             reason=f"at the peak of touchdown, as for the vertical one; the median afterwards is "
             f"{np.median(ahead[up[:, 1] > 1.0, 1]):.0f} N", source="000 section 7.2.1"),
        Fact("torques are continuous until touchdown: largest jump between samples of 2.5 ms before it", 1.0,
             _largest_jump(along), "N m", relation="<", source="000 section 7.2.1"),
    ]  # fmt: skip


# dusty ground: 000 section 7.2.1
STUDY = walking_study("biped-planar", SAID, _stated, 2.2, 5.0, {"dusty-ground": dusty_ground("biped-planar", SAID)})
