"""The linkage of two windscreen wipers."""

from __future__ import annotations

import numpy as np

from kinetree.design import report, transmission_angle
from kinetree.robot.mechanism import Mechanism
from kinetree.studies.fact_files import Values
from kinetree.studies.study import Study

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from .system import AXLE, BLADE, CRANK, DRAWN, GROUND, LEVER, LINKAGE, ROD, SWEEP

DEGREE = np.pi / 180.0


def _stated(along: PrescribedMechanism) -> Values:
    mechanism = along.mechanism
    assert isinstance(mechanism, Mechanism)
    said, turned = report(mechanism, []), np.linspace(0.0, 2.0 * np.pi, 721)
    q = mechanism.follow({"O": turned})
    heel, tip = (mechanism.point_position(q, f"left_{which}")[:, :2] for which in ("heel", "tip"))
    in_line = mechanism.follow({"O": np.arctan2(-AXLE.y, -AXLE.x) - DRAWN + np.array([0.0, np.pi])})  # crank and ground
    worst = np.arccos(GROUND * CRANK / (ROD * LEVER))
    return {
        "left": np.array(said.swings["C"][:2]) / DEGREE, "right": np.array(said.swings["D"][:2]) / DEGREE,
        "sweep": np.array([-0.5, 0.5]) * SWEEP / DEGREE, "time_ratio": said.swings["C"][2],
        "transmission": transmission_angle(mechanism, in_line, "B") / DEGREE,
        "tie": np.array(said.transmission["L"]) / DEGREE,
        "textbook": np.array([worst, np.pi - worst]) / DEGREE, "swept": _swept(heel, tip),
        "by_formula": 0.5 * SWEEP * (BLADE[1] ** 2 - BLADE[0] ** 2),
        "tips": np.concatenate([
            mechanism.point_position(q, name)[:, :2] - np.stack(LINKAGE.places(turned)[name], axis=-1)
            for name in ("left_tip", "right_tip")
        ]),
    }  # fmt: skip


def _swept(heel: np.ndarray, tip: np.ndarray) -> float:
    """Return the area between the paths of both ends of a blade, over one way from end to end."""
    ends = sorted((int(np.argmin(tip[:, 0])), int(np.argmax(tip[:, 0]))))
    one_way = slice(ends[0], ends[1] + 1)
    x, y = np.concatenate([tip[one_way], heel[one_way][::-1]]).T
    return 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


STUDY = Study.of(
    "wiper", {"inverse": inverse("wiper", _stated), "replay": replay("wiper"), "free-fall": free_fall("wiper", 1.0)}
)
