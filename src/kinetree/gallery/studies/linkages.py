"""Small linkages: the slider-crank, Hoeken's straight line, Bricard's six hinges."""

from __future__ import annotations

import numpy as np

from ..loop_analyses import Prescribed, free_fall, groups, inverse, point, replay, sizes
from ..study import Fact, Study

DEGREE = np.pi / 180.0


def _slider_crank(along: Prescribed) -> list[Fact]:
    mechanism, (q, v, _) = along.mechanism, along.states
    angle = q[:, 0]
    root = np.sqrt(0.3**2 - (0.1 * np.sin(angle)) ** 2)
    place = 0.1 * np.cos(angle) + root
    rate = -0.1 * np.sin(angle) * v[:, 0] * (1.0 + 0.1 * np.cos(angle) / root)
    weight = 9.81 * (1.0 * 0.05 + 1.5 * 0.05)  # of crank and rod, half of which the crank's pin carries
    middle = along.torque_at(np.array([0.0, 0.5]))[:, 0]
    return [
        Fact("moving links, joints, loops", (3, 4, 1), sizes(mechanism)),
        Fact("the slider's stroke is twice the crank", 0.2, float(np.ptp(q[:, 2])), "m", 1e-9),
        Fact("place and rate of the slider in closed form; largest difference", 1e-12,
             float(max(np.abs(q[:, 2] - place).max(), np.abs(v[:, 2] - rate).max())), "m, m/s", relation="<"),
        Fact("in the dead centres nothing but the weight of crank and half the rod turns the crank, at constant speed",
             (weight, -weight), middle, "N m", 1e-9),
    ]  # fmt: skip


def _hoeken(along: Prescribed) -> list[Fact]:
    mechanism, motion = along.mechanism, along.motion
    crank = np.linspace(90.0, 270.0, 181) * DEGREE
    pen = point(mechanism, motion.states(crank / np.pi).q, "pen")
    return [
        Fact("moving links, joints, loops", (3, 4, 1), sizes(mechanism)),
        Fact("through half a turn of the crank the pen goes four cranks far", 0.4, float(np.ptp(pen[:, 0])), "m",
             1e-9, source="Hoeken's proportions"),
        Fact("and its height varies by this part of that way", 2.5e-3, float(np.ptp(pen[:, 1]) / np.ptp(pen[:, 0])),
             relation="<", source="Hoeken's proportions"),
        Fact("subsystem II is determinate, then I: sizes of the systems solved", (2, 1), groups(along)),
    ]  # fmt: skip


def _bricard(along: Prescribed) -> list[Fact]:
    mechanism = along.mechanism
    report = mechanism.mobility(along.states.q[len(along.states.q) // 3])
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 0, -1], [1, -1, -1], [0, -1, -1]], dtype=float)
    at_zero = np.array([mechanism.pose(np.zeros(5), f"bar_{k}")[:3, 3] for k in range(1, 6)])
    off = 0.0
    for angle in (0.2, 0.7, -0.4):
        q = np.zeros(5)
        for step in np.linspace(0.0, angle, 8)[1:]:
            q = mechanism.close(q, fixed={"bar_1_joint": step})
        off = max(off, abs(float(np.sin(q[1]) - np.sin(angle) / (1.0 + np.sin(angle)))))
    return [
        Fact("freedoms that Gruebler's count gives", 0, report.gruebler, source="IFToMM benchmark A04"),
        Fact("freedoms there are", 1, report.freedoms, source="IFToMM benchmark A04"),
        Fact("redundant constraints", 1, len(report.redundant), source="IFToMM benchmark A04"),
        Fact("at zero the bars start at corners of a unit cube; largest difference", 1e-12,
             float(np.abs(at_zero - corners).max()), "m", relation="<", source="IFToMM benchmark A04"),
        Fact("found by closing the loop, sin q2 = sin q1 / (1 + sin q1); largest difference", 1e-8, off,
             relation="<", source="the trihedral linkage's closed form"),
    ]  # fmt: skip


def _study(name: str, claims: object, seconds: float = 2.0) -> Study:
    return Study.of(
        name,
        {"inverse": inverse(name, claims), "replay": replay(name), "free-fall": free_fall(name, seconds)},  # type: ignore[arg-type]
    )


STUDIES = (_study("slider-crank", _slider_crank), _study("hoeken", _hoeken), _study("bricard", _bricard, 10.0))
