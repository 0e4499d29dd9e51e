"""Everything that a page shows, robots and their motions, as plain values and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import StateError
from kinetree.io.units import ShownUnits
from kinetree.model.describe import counted
from kinetree.model.tree import BASE, Model
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array

from .displayed_robot import Figure
from .motion import Poses, Track, quaternions
from .scene import FIELD_OF_VIEW, Sight, round_number
from .skeleton import equivalent_box
from .sliders import coordinates, slider_values

USUAL_ARROW, LONGEST_ARROW = 0.25, 0.6
"""Length of the arrow of a typical force, and the longest arrow, as fractions of the robot's size."""

SHADOW = 1.35
"""Shadows are cast within this multiple of the drawing's radius."""


def robot_data(figure: Figure) -> dict[str, Any]:
    """Describe one robot: its shapes, the poses of its bodies at each sample, and what can be marked on it."""
    model, scene, track = figure.robot.model, figure.scene, figure.track
    parts = [
        {
            "body": part.body, "role": part.role, "color": list(part.color), "flat": part.flat, "closed": part.closed,
            "vertices": _singles(part.vertices), "faces": np.asarray(part.faces, dtype=np.uint32).ravel(),
        }
        for part in scene.parts
    ]  # fmt: skip
    return {
        "name": figure.robot.name,
        "ghost": figure.ghost,
        "bodies": list(figure.robot.body_names),
        "parts": parts,
        "thickness": scene.thickness,
        "time": np.asarray(track.time, dtype=np.float64),
        "poses": pose_numbers(track.poses),
        "connectors": [
            {"from": _place(a.body, a.point), "to": _place(b.body, b.point), "color": list(color)}
            for a, b, color in scene.connectors
        ],
        "points": {
            name: _place(at.body, at.pose.position) for name, at in model.frame_table.items() if at.body != BASE
        },
        "frames": [
            _place(at.body, at.pose.position) | {"quaternion": quaternions(at.pose.rotation).tolist()}
            for at in model.frame_table.values()
        ],
        "axes": [axis for i in range(len(model.joints)) for axis in _joint_axes(model, i)],
        "ellipsoids": [found for i in range(len(model.bodies)) if (found := _ellipsoid(model, i)) is not None],
        "masses": [
            _place(i, np.array(body.mass_properties.com)) | {"mass": body.mass}
            for i, body in enumerate(model.bodies)
            if body.mass > 0.0
        ],
        "spots": [_place(spot.body, spot.point) for spot in track.spots],
        "forces": _arrows(track.forces, len(track.spots), scene.size),
        "moments": _arrows(track.moments, len(track.spots), scene.size),
    }


def show_data(
    figures: list[Figure], sight: Sight, ground: tuple[float, bool], follow: Array | None, shown: dict[str, bool],
    trails: list[str], *, live: bool, playing: bool = True, speed: float = 1.0, rest: dict[str, Any] | None = None,
    units: ShownUnits | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Describe everything on a page; the first figure is the robot, the others are ghosts.

    Without a motion, ``rest`` describes the pose at rest.
    """
    main = figures[0]
    robot, scene, track = main.robot, main.scene, main.track
    sliders = [
        {"joint": joint.name, "label": c.label, "low": c.low, "high": c.high, "unit": c.unit}
        for joint in robot.model.joints
        if joint.nq
        for c in coordinates(robot, joint, scene.size)
    ]
    values = slider_values(robot, track.q)
    for slider, value in zip(sliders, values[0].tolist(), strict=True):
        slider["value"] = value if np.isfinite(value) else None
    height, _ = ground
    return {
        "title": robot.name,
        "about": about(robot, track.q[0]),
        "live": live,
        "playing": playing,
        "speed": speed,
        "begin": float(track.time[0]),
        "end": float(track.time[-1]),
        "up": scene.up.tolist(),
        "size": scene.size,
        "sun": scene.sun(sight.away).tolist(),
        "shadowRadius": SHADOW * sight.radius,
        "camera": {
            "target": sight.target.tolist(), "away": sight.away.tolist(), "vertical": sight.vertical,
            "horizontal": sight.horizontal, "fov": FIELD_OF_VIEW,
        },
        "ground": {"height": height, "half": 5.0 * sight.radius, "cell": round_number(sight.radius / 4.0)},
        "robots": [robot_data(figure) for figure in figures],
        "follow": None if follow is None else _singles(follow),
        "curves": curves(robot, track),
        "curveTime": np.asarray(track.time, dtype=np.float64),
        "sliders": sliders,
        "sliderValues": _singles(values) if len(track) > 1 else None,
        "rest": rest,
        "trails": list(trails),
        "shown": dict(shown),
        "units": {} if units is None else {unit: list(other) for unit, other in units.others.items()},
    }  # fmt: skip


def about(robot: Robot, q: Array) -> str:
    """Describe a robot in one line; with loops, including the freedoms that they leave at a configuration."""
    parts = [counted(len(robot.body_names), "body", "bodies"), _freedoms(robot, q)]
    if robot.model.loops:
        parts.append(counted(len(robot.model.loops), "loop", "loops"))
    return " · ".join([*parts, f"{robot.mass:.4g} kg"])


def _freedoms(robot: Robot, q: Array) -> str:
    if not robot.model.loops:
        return counted(robot.nv, "degree of freedom", "degrees of freedom")
    try:
        return counted(robot.mobility(q).freedoms, "degree of freedom", "degrees of freedom")
    except StateError:  # an open mechanism, for example from a table, is also shown
        return counted(robot.nv, "freedom of joints", "freedoms of joints")


def curves(robot: Robot, track: Track) -> list[dict[str, Any]]:
    """List what can be plotted of a motion: groups of curves in one unit, by name."""
    if len(track) < 2:
        return []
    groups = []
    if track.energy:
        groups.append(_group("Energy", "J", list(track.energy), np.array(list(track.energy.values()))))
    of_joints: list[tuple[str, Array | None, list[str], list[str]]] = [
        ("Position q", track.q, robot.q_names, robot.q_units),
        ("Velocity v", track.v, robot.v_names, [f"{unit}/s" for unit in robot.v_units]),
        ("Joint force τ", track.tau, robot.v_names, robot.tau_units),
    ]
    for title, samples, names, units in of_joints:
        for unit in dict.fromkeys(units) if samples is not None else ():
            chosen = [k for k, own in enumerate(units) if own == unit]
            assert samples is not None
            groups.append(_group(title, unit, [names[k] for k in chosen], samples[:, chosen].T))
    if len(track.spots):
        owners = [spot.name or f"point {k + 1}" for k, spot in enumerate(track.spots)]
        names = [name if owners.count(name) == 1 else f"{name} {k + 1}" for k, name in enumerate(owners)]
        groups.append(_group("External force", "N", names, np.linalg.norm(track.forces, axis=-1).T))
        if len(track.moments):
            groups.append(_group("External moment", "N m", names, np.linalg.norm(track.moments, axis=-1).T))
    return groups


def pose_numbers(poses: Poses) -> Array:
    """Write poses as the page reads them: position and quaternion of each body, one after the other."""
    return _singles(np.concatenate([poses.position, poses.wxyz], axis=-1))


def _arrows(vectors: Array, count: int, size: float) -> dict[str, Any]:
    """Describe vectors at the spots, and the length of an arrow in meters per unit.

    Typical values get a suitable length; arrows of short peaks, such as impacts, are at most a few times as long.
    """
    lengths = np.linalg.norm(vectors, axis=-1) if count and len(vectors) else np.zeros(0)
    acting = lengths[np.isfinite(lengths) & (lengths > 0.0)]
    if not len(acting):
        return {"vectors": _singles(np.zeros(0)), "scale": 0.0, "least": 0.0, "longest": 0.0}
    least = 1e-3 * float(acting.max())
    scale = USUAL_ARROW * size / float(np.quantile(acting[acting > least], 0.8))
    return {"vectors": _singles(vectors), "scale": scale, "least": least, "longest": LONGEST_ARROW * size}


def _group(title: str, unit: str, names: list[str], data: Array) -> dict[str, Any]:
    return {"title": title, "unit": unit, "names": names, "data": _singles(data)}


def _joint_axes(model: Model, i: int) -> list[dict[str, Any]]:
    """List the directions in which a joint turns or slides."""
    kind = model.joints[i].kind
    if kind.nv == 6:
        return []
    found = []
    for column in kind.subspace(kind.neutral()):
        turning, sliding = (np.array([float(x) for x in part]) for part in (column.angular, column.linear))
        direction = turning if np.any(turning) else sliding
        if np.any(direction):
            found.append(_place(i, np.zeros(3)) | {"direction": (direction / np.linalg.norm(direction)).tolist()})
    return found


def _ellipsoid(model: Model, i: int) -> dict[str, Any] | None:
    """Describe the uniform ellipsoid with a body's mass and inertia.

    Its moments are ``m (b^2 + c^2) / 5``, those of a box with edges A, B, C ``m (B^2 + C^2) / 12``: hence
    ``a = A sqrt(5 / 12)``.
    """
    mass = model.bodies[i].mass_properties
    edges, axes = equivalent_box(mass)
    if not (np.isfinite(edges).all() and edges.max() > 0.0):
        return None
    radii = np.maximum(np.sqrt(5.0 / 12.0) * edges, 0.01 * edges.max())
    return _place(i, np.array(mass.com)) | {"quaternion": quaternions(axes).tolist(), "radii": radii.tolist()}


def _place(body: int, point: Array) -> dict[str, Any]:
    return {"body": int(body), "point": [float(x) for x in point]}


def _singles(array: Array) -> Array:
    return np.asarray(array, dtype=np.float32).ravel()
