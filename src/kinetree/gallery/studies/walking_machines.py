"""The walking machines of 000, chapters 7 and 9."""

from __future__ import annotations

import numpy as np

from ...motion.walking.legs import leg_angles
from ..study import Fact, Study
from ..walk_analyses import (
    OnGround,
    Statements,
    computed_torque,
    disturbed,
    dusty_ground,
    fed_forward,
    feedforward,
    inverse,
    open_loop,
)

BIPED_PLANAR = Statements(
    0.3, 3.0, 0.83, 8.48e-4, 1.0, 4.0,
    {"distance": "000 L2440", "angle": "000 L2440", "touchdown": "000 L2440", "energy": "000 L4343",
     "follows": "000 L3072, L3087", "control": "000 L3076-3095"},
)  # fmt: skip
BIPED_SPATIAL = Statements(
    0.3, 2.0, None, 3.6e-3, 0.1, 2.0,
    {"distance": "000 L2477", "angle": "000 L2477", "energy": "000 L4347", "follows": "000 L2494, L3104",
     "control": "000 L3099-3104"}, feedforward_better=True,
)  # fmt: skip
QUADRUPED = Statements(
    0.3, 2.0, 0.8, 6.28e-5, 0.8, 4.0,
    {"distance": "000 L2517", "angle": "000 L2521", "touchdown": "000 L2527", "energy": "000 L4351",
     "follows": "000 L2537, L3113", "control": "000 L3108-3113"}, feedforward_better=True,
)  # fmt: skip
HEXAPOD = Statements(
    0.4, 0.3, 0.45, 3.31e-2, 0.9, 2.0,
    {"distance": "000 L2570", "angle": "000 L2570", "touchdown": "000 L2570", "energy": "000 L4355",
     "follows": "000 L3122", "control": "000 L3117-3122"}, angle_rounding=0.05,
)  # fmt: skip

REACTIONS = (
    "away from touchdown it does: the median while a foot stands is {median:.0f} N. Landing on overdamped firm ground "
    "gives a peak of {peak:.0f} N, over within {width:.0f} ms, which a figure sampled at 10 ms need not show"
)


def _speed(along: OnGround, stated: float, place: str) -> Fact:
    speed = float(along.machine.walk.gait.initial_speed[0])
    return Fact("initial speed of the trunk by the inverted pendulum", stated, speed, "m/s", 5.01e-7, source=place)


def _planar(along: OnGround) -> list[Fact]:
    up, ahead = along.foot_forces[..., 2], along.foot_forces[..., 0]
    standing = up[:, 0]
    peak = float(up[:, 1].max())
    wide = 1e3 * float(np.sum(up[:, 1] > 0.5 * peak)) * float(along.time[1])
    reason = REACTIONS.format(median=np.median(standing), peak=peak, width=np.ceil(wide) + 1)
    denoc = along.machine.robot.denoc(along.q[0])
    return [
        Fact("sizes of N_l and N_d: rows, columns", (42, 42, 42, 12),
             (*np.asarray(denoc.N_l).shape, *np.asarray(denoc.N_d).shape), source="000 L1255-1265"),
        _speed(along, 0.520395, "notes, 8.4"),
        Fact("vertical reaction of the standing foot, largest", 100.0, float(standing.max()), "N", 10.0,
             reason="the book's figure ends at 100 N; the weight is 92.2 N", source="000 L2440"),
        Fact("vertical reaction of the landing foot, largest", 100.0, peak, "N", 10.0, reason=reason,
             source="000 L2440"),
        Fact("horizontal reaction of the landing foot, smallest", -50.0, float(ahead[:, 1].min()), "N", 5.0,
             reason=f"at the peak of touchdown, as for the vertical one; the median afterwards is "
             f"{np.median(ahead[up[:, 1] > 1.0, 1]):.0f} N", source="000 L2440"),
        Fact("torques are continuous until touchdown: largest jump between samples of 2.5 ms before it", 1.0,
             _largest_jump(along), "N m", relation="<", source="000 L2440"),
    ]  # fmt: skip


def _largest_jump(along: OnGround) -> float:
    """Of a torque between neighbouring samples, after the machine has settled on the ground and before touchdown."""
    quiet = (along.time > 0.1) & (along.time < along.touchdown() - 0.01)
    return float(np.abs(np.diff(along.tau[quiet], axis=0)).max())


def _landing_jump(along: OnGround) -> float:
    """The largest change of a torque between neighbouring samples about touchdown."""
    near = np.abs(along.time - along.touchdown()) < 0.02
    return float(np.abs(np.diff(along.tau, axis=0))[near[1:]].max())


def _spatial(along: OnGround) -> list[Fact]:
    gait = along.machine.walk.gait
    forward, side = gait.initial_speed
    upright = leg_angles(gait.start, 0.0, gait.height, 0.5, 0.5)
    planar = OnGround("biped-planar", fed_forward("biped-planar", 1.0))
    return [
        Fact("initial speeds by the inverted pendulum, forward and towards the standing foot", (0.727719, 0.175832),
             (forward, side), "m/s", 5.01e-7, source="notes, 8.5"),
        Fact("mean speed", 0.6, gait.speed, "m/s", 1e-12, source="000 L2473"),
        Fact("theta_3, theta_4, theta_6 of a standing leg at the start, upright as seen from the front",
             (0.532117, 0.740991, 0.208874), (upright.hip, upright.knee, upright.ankle), "rad", 5.01e-7,
             source="notes on chapters 8-10, 6",
             reason="in the authors' program the hip starts above the foot; here, by L2473, the foot is 0.08 m aside "
             "of the trunk's middle and 0.03 m aside of the hip, which changes the angles by 0.003 rad"),
        Fact("at touchdown the torques are smoother than the planar biped's: largest jump between samples of 2.5 ms, "
             "over its", 1.0, _landing_jump(along) / _landing_jump(planar), "", relation="<", source="000 L2482",
             reason="the book prints no ground data for this machine. With the planar biped's at four spots per foot "
             "instead of two, and a step in half the time, landing is harder, not softer"),
    ]  # fmt: skip


def _quadruped(along: OnGround) -> list[Fact]:
    gait = along.machine.walk.gait
    return [
        _speed(along, 0.680449, "notes, 8.6"),
        Fact("mean speed", 0.4, gait.speed, "m/s", 1e-12, source="000 L2517",
             reason="the book's own numbers, a stride of 0.3 m in 1 s (Table B.2), make 0.3 m/s"),
    ]  # fmt: skip


def _hexapod(along: OnGround) -> list[Fact]:
    gait = along.machine.walk.gait
    return [
        _speed(along, 1.077291, "notes, 8.7"),
        Fact("mean speed", 0.8, gait.speed, "m/s", 1e-12, source="000 L2560"),
        Fact("potential energy at the start with the authors' trunk of 2 kg", 43.164,
             float(along.machine.robot.potential_energy(along.q[0])) - 2.0 * 9.81 * 0.55, "J", 5e-4,
             source="notes, 8.7"),
    ]  # fmt: skip


def _study(name: str, said: Statements, claims: object, steps: float, angle: float) -> Study:
    assert callable(claims)
    analyses = {
        "inverse": inverse(name, said, claims),
        "open-loop": open_loop(name, said, steps),
        "feedforward": feedforward(name, said, angle=angle),
        "computed-torque": computed_torque(name, said, angle=angle),
        "disturbed": disturbed(name, said),
    }
    if name == "biped-planar":  # 000 L2440
        analyses["dusty-ground"] = dusty_ground(name, said)
    return Study.of(name, analyses)


STUDIES = (
    _study("biped-planar", BIPED_PLANAR, _planar, 2.2, 5.0),
    _study("biped-spatial", BIPED_SPATIAL, _spatial, 1.8, 5.0),
    _study("quadruped", QUADRUPED, _quadruped, 1.8, 5.0),
    _study("hexapod", HEXAPOD, _hexapod, 2.0, 5.0),
)
