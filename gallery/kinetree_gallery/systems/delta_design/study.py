"""A delta robot whose dimensions are designed for a pick cycle: less torque, with its reach kept."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kinetree.design import Torque, design
from kinetree.robot.robot import Robot
from kinetree.spatial import Vec3
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.named_systems import load, motion
from kinetree.studies.plots import Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study
from kinetree.studies.system import PrescribedMotion

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from ..delta.pick_and_place import along_the_arch, with_product
from ..delta.system import CORNERS, DELTA, DeltaSizes
from .system import DURATION, arch, at_place, over_the_arch

RING, LEVELS, CORNERS_OF_RING = 0.2, (-0.5, -0.68), 6
"""Positions that must remain in reach: on circles of this radius at these heights, in meters, and their number per
circle."""


def _stated(along: PrescribedMechanism) -> Values:
    robot, t = along.mechanism, along.time
    whole = load("delta")
    states = PrescribedMotion(_shoulders(whole), (0.0, DURATION), "over an arch", whole.model, along_the_arch).states(t)
    torque = with_product(whole).inverse_dynamics(*states)[:, _rows(whole)]
    wanted = np.stack([np.broadcast_to(x, t.shape) for x in arch(t)], axis=-1)
    place = robot.point_position(along.states.q, "platform")
    return {"beside_delta": torque - along.forces.tau[:, _rows(robot)], "place": place - wanted}


def _shoulders(robot: Robot) -> tuple[str, ...]:
    return tuple(f"shoulder_{k}" for k in (1, 2, 3))


def _rows(robot: Robot) -> list[int]:
    return [robot.joint(name).v_slice.start for name in _shoulders(robot)]


def free_numbers() -> dict[str, Any]:
    """Return three dimensions that may change, and all that follows from them: places, masses, inertias."""
    found: dict[str, Any] = {"base": (0.10, 0.35), "arm": (0.15, 0.40), "rod": (0.45, 0.80)}
    for k, corner in enumerate(CORNERS, 1):
        found |= {f"shoulder_{k}.position.x": f"= {math.cos(corner)!r} * base"}
        found |= {f"shoulder_{k}.position.y": f"= {math.sin(corner)!r} * base"} if k > 1 else {}
        found |= {
            f"elbow_{k}.position.x": "= arm", f"arm_{k}.mass": "= 3.2 * arm", f"arm_{k}.com.x": "= 0.44 * arm",
            f"arm_{k}.inertia[1]": "= 0.32 * arm * arm * arm", f"arm_{k}.inertia[2]": "= 0.32 * arm * arm * arm",
            f"ball_{k}.position.z": "= -rod", f"rod_{k}.mass": "= rod / 3", f"rod_{k}.com.z": "= -0.5 * rod",
            f"rod_{k}.inertia[0]": "= rod * rod * rod / 36", f"rod_{k}.inertia[1]": "= rod * rod * rod / 36",
        }  # fmt: skip
    return found


def cycle(samples: int) -> tuple[Array, Array, Array, Array]:
    """Return times, and place, velocity and acceleration of the platform: over the arch, then at rest on the ring."""
    t = np.linspace(0.0, DURATION, samples)
    q, v, a = (x[:, :3] for x in motion("delta-design").states(t))
    angles = np.arange(CORNERS_OF_RING) * (2.0 * np.pi / CORNERS_OF_RING)
    ring = np.array([(RING * np.cos(x), RING * np.sin(x), z) for z in LEVELS for x in angles])
    still = np.zeros_like(ring)
    when = DURATION + np.arange(1, len(ring) + 1)
    return np.append(t, when), np.vstack([q, ring]), np.vstack([v, still]), np.vstack([a, still])


def _designed(quick: bool) -> Outcome:
    """Lower the largest torque of the arch."""
    robot = load("delta-design").with_independent(["x", "y", "z"])
    asked = cycle(19 if quick else 37)
    found = design(robot, free_numbers(), Torque(), motion=asked, starts=1, progress=False)
    sizes = DeltaSizes(found.numbers["base"], DELTA.platform, found.numbers["arm"], found.numbers["rod"])
    robots, count = ((robot, DELTA), (found.robot, sizes)), len(asked[0]) - len(LEVELS) * CORNERS_OF_RING
    coarse = [np.abs(_along(one, asked[0][:count], of).torque).max() for one, of in robots]
    t = np.linspace(0.0, DURATION, 151)
    before, after = (_along(one, t, of) for one, of in robots)
    ring = np.array([at_place(Vec3(*place), sizes) for place in asked[1][count:]])
    facts = stated(
        "delta-design", "design", before=found.goals[0].before, after=found.goals[0].after, by_hand_before=coarse[0],
        by_hand_after=coarse[1], saved=1.0 - np.abs(after.torque).max() / np.abs(before.torque).max(),
        reach=found.robot.closure_error(ring), faster=np.abs(after.speed).max() / np.abs(before.speed).max(),
    )  # fmt: skip
    curves = [
        Curve(f"arm {k + 1} {word}", one.torque[:, k], compared=word == "after")
        for k in range(2)
        for word, one in (("before", before), ("after", after))
    ]
    panels = [PlotPanel("torque [N m]", curves)]
    caption = (
        "Torques of the shoulders along the arch, with the dimensions before (lines) and after (dashed); arm 3 does "
        "what arm 2 does."
    )
    remark = (
        f"Base {DELTA.base:.3f} to {sizes.base:.3f} m, arms {DELTA.arm:.3f} to {sizes.arm:.3f} m, rods "
        f"{DELTA.rod:.3f} to {sizes.rod:.3f} m. The platform's place is what is driven, so that every design makes "
        "the same cycle; twelve places of the work space are visited at rest, and a design that does not reach one "
        "of them cannot follow."
    )
    return Outcome(facts, {}, {}, {"designed": Curves(t, panels, caption)}, [remark])


class Shoulders(NamedTuple):
    """Speeds and torques of the shoulders, one column each."""

    speed: Array
    torque: Array


def _along(robot: Robot, t: Array, sizes: DeltaSizes) -> Shoulders:
    """Return speeds and torques of the shoulders of a delta of some size along the arch, in closed form."""
    names, rows = _shoulders(robot), _rows(robot)
    states = PrescribedMotion(names, (0.0, DURATION), "over an arch", robot.model, over_the_arch(sizes)).states(t)
    return Shoulders(states.v[:, rows], robot.inverse_dynamics(*states)[:, rows])


STUDY = Study.of(
    "delta-design",
    {
        "inverse": inverse("delta-design", _stated),
        "replay": replay("delta-design"),
        "free-fall": free_fall("delta-design", 0.2),
        "design": _designed,
    },
)
