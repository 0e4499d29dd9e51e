"""Pairs of shapes that overlap: distances, and the points where they press, with MuJoCo's collision in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import mujoco
import numpy as np

from kinetree import shapes
from kinetree.algorithms.clearance.of_robot import data_of
from kinetree.algorithms.clearance.placed_solids import PlacedSolid
from kinetree.algorithms.clearance.touching_points import touching_area
from kinetree.evaluation.law_kernels import LawProgram
from kinetree.robot.clearance import PairProgram, parts_of, pose_of

from .timing import Table, alternate, repeated

COUNT = 4096
THEIRS = 100
"""Pairs in MuJoCo's world."""


def hull(count: int) -> shapes.ConvexHull:
    """Vertices that cover an ellipsoid evenly."""
    k = np.arange(count)
    z, turn = 1.0 - (2 * k + 1) / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    ball = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
    return shapes.ConvexHull((ball * (0.1, 0.08, 0.09)).tolist())


KINDS: dict[str, tuple[Any, str, tuple[float, ...]]] = {
    "sphere": (shapes.Sphere(0.1), "sphere", (0.1,)),
    "capsule": (shapes.Capsule(0.05, 0.2), "capsule", (0.05, 0.1)),
    "box": (shapes.Box((0.2, 0.16, 0.12)), "box", (0.1, 0.08, 0.06)),
    "cylinder": (shapes.Cylinder(0.08, 0.2), "cylinder", (0.08, 0.1)),
    "ellipsoid": (shapes.Ellipsoid((0.1, 0.08, 0.06)), "ellipsoid", (0.1, 0.08, 0.06)),
    "hull-32": (hull(32), "mesh", ()),
    "plane": (shapes.HalfSpace(), "plane", (1.0, 1.0, 0.1)),
}
GOALS = {
    ("sphere", "sphere"): 10, ("capsule", "capsule"): 15, ("box", "box"): 60, ("box", "cylinder"): 120,
    ("hull-32", "hull-32"): 400,
}  # fmt: skip
"""What is asked for, in ns."""

CONVEX = [kind for kind in KINDS if kind != "plane"]
PAIRS = [("plane", kind) for kind in CONVEX] + list(combinations_with_replacement(CONVEX, 2))


def shapes_of(rounds: int) -> Iterator[Table]:
    """A pair at a time, one thread: poses, sizes and kinds to distances and to contact points."""
    table = Table(
        f"Overlapping pairs of shapes, one thread, ns a pair: batches of {COUNT}; MuJoCo {mujoco.__version__}: "
        f"mj_collision of {THEIRS} pairs far apart.\nDistance: with nearest points and normal. Contact: all points "
        "with depths, and the normal",
        ("", "distance", "contact", "MuJoCo", "MuJoCo's points", "ratio", "asked"),
    )
    for first, second in PAIRS:
        goal = GOALS.get((first, second))
        solids = KINDS[first][0], KINDS[second][0]
        poses = overlapping(first, second)
        sizes = [np.array(solid.numbers(), dtype=float) for solid in solids]
        key = tuple((solid.name, len(solid.numbers())) for solid in solids)
        apart = PairProgram(key, True, "")
        contenders: dict[str, Any] = {"distance": lambda a=apart, s=sizes, p=poses: a(s[0], p[0], s[1], p[1])}
        contact = contact_program(solids)
        pair = np.concatenate(
            [np.broadcast_to(sizes[0], (COUNT, len(sizes[0]))), poses[0],
             np.broadcast_to(sizes[1], (COUNT, len(sizes[1]))), poses[1]], axis=-1,
        )  # fmt: skip
        contenders["contact"] = lambda c=contact, p=pair: c({"pair": p}, 1)
        world = mujoco_pairs(first, second, poses)
        contenders["MuJoCo"] = repeated(lambda w=world: mujoco.mj_collision(*w), 10)
        best = alternate(contenders, rounds)
        theirs = best["MuJoCo"] / (10 * THEIRS) * 1e9
        ours = {name: best[name] / COUNT * 1e9 for name in best if name != "MuJoCo"}
        points = world[1].ncon / THEIRS
        table.add(
            f"{first}-{second}", ours["distance"], ours["contact"], theirs, points, f"{theirs / ours['contact']:.0f}x",
            "-" if goal is None else f"{goal} ns",
        )  # fmt: skip
    yield table


def contact_program(solids: tuple[Any, Any]) -> LawProgram:
    """A compiled program from sizes and poses of pairs to their contact points."""
    first, second = solids
    lengths = (len(first.numbers()), 12, len(second.numbers()), 12)

    def law(pair: Any) -> list[Any]:
        a, pose_a, b, pose_b = parts_of(lengths, pair)
        one = PlacedSolid(first.name, a, pose_of(pose_a), data_of(first))
        area = touching_area(one, PlacedSolid(second.name, b, pose_of(pose_b), data_of(second)))
        return [*area.normal, *(x for point in area.points for x in (point.depth, *point.place))]

    return LawProgram(f"contact of {first.name} and {second.name}", law, {"pair": sum(lengths)}, True)


def overlapping(first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
    """Random poses of pairs that overlap a little, (count, 12) each: rotations by rows and places."""
    rng = np.random.default_rng(1)
    turns = np.linalg.qr(rng.standard_normal((2 * COUNT, 3, 3)))[0]
    turns *= np.sign(np.linalg.det(turns))[:, None, None]
    if first == "plane":
        turns[:COUNT] = np.eye(3)
    solids = KINDS[first][0], KINDS[second][0]
    sizes = [np.array(solid.numbers(), dtype=float) for solid in solids]
    program = PairProgram(tuple((solid.name, len(solid.numbers())) for solid in solids), True, "")
    way = rng.standard_normal((COUNT, 3))
    way = np.tile([0.0, 0.0, 1.0], (COUNT, 1)) if first == "plane" else way / np.linalg.norm(way, axis=1)[:, None]
    zero = np.zeros((COUNT, 3))
    one = np.concatenate([turns[:COUNT].reshape(COUNT, 9), zero], axis=1)
    far = 0.5 * way
    for _ in range(6):  # toward one another along the line between their middles
        other = np.concatenate([turns[COUNT:].reshape(COUNT, 9), far], axis=1)
        gap = program(sizes[0], one, sizes[1], other)[:, :1]
        far = far - way * (gap + 2e-3)
    return one, np.concatenate([turns[COUNT:].reshape(COUNT, 9), far], axis=1)


def mujoco_pairs(first: str, second: str, poses: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
    """MuJoCo's world of the first pairs; a plane lies below all of them."""
    spec = mujoco.MjSpec()
    for kind in {first, second}:
        if KINDS[kind][1] == "mesh":
            spec.add_mesh(name=kind, uservert=np.ravel(KINDS[kind][0].vertices), maxhullvert=64)
    for k in range(THEIRS):
        off = np.array([10.0 * (k % 10), 10.0 * (k // 10), 0.0])
        for side, (kind, pose) in enumerate(zip((first, second), poses, strict=True)):
            if kind == "plane" and k:
                continue
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(pose[k, :9]))
            parent = spec.worldbody
            if side:
                parent = spec.worldbody.add_body(pos=pose[k, 9:] + off, quat=quaternion)
                parent.add_freejoint()
            size = np.zeros(3)
            size[: len(KINDS[kind][2])] = KINDS[kind][2]
            place = {} if side else {"pos": pose[k, 9:] + off * (kind != "plane"), "quat": quaternion}
            type_ = KINDS[kind][1]
            named = {"meshname": kind} if type_ == "mesh" else {"size": size}
            parent.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{type_.upper()}"), **named, **place)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    return model, data
