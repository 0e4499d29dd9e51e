"""Models as spatial_v2 has them, and its recursion in Plücker coordinates as a judge (Featherstone, Table 5.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

Array = np.ndarray


def cell(items: list[Any]) -> Array:
    found = np.empty((1, len(items)), dtype=object)
    for k, item in enumerate(items):
        found[0, k] = item
    return found


def skew(r: Any) -> Array:
    x, y, z = r
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def turn(axis: int, angle: float) -> Array:
    """Coordinate transform of a turn about an axis: rx, ry, rz of spatial_v2."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    e = np.eye(3)
    e[i, i] = e[j, j] = c
    e[i, j], e[j, i] = s, -s
    return e


def plux(e: Array, r: Any) -> Array:
    return np.block([[e, np.zeros((3, 3))], [-e @ skew(r), e]])


def plnr(angle: float, r: Any) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [s * r[0] - c * r[1], c, s], [c * r[0] + s * r[1], -s, c]])


def inertia(m: float, c: Any, about: Any) -> Array:
    """mcI, planar where c has two numbers."""
    if len(c) == 2:
        (x, y), flat = c, about + m * np.dot(c, c)
        return np.array([[flat, -m * y, m * x], [-m * y, m, 0], [m * x, 0, m]])
    s = skew(c)
    return np.block([[about + m * s @ s.T, m * s], [m * s.T, m * np.eye(3)]])


def quaternion_turn(q: Array) -> Array:
    """rq: q is (w, x, y, z)."""
    w, v = q[0], q[1:]
    return ((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew(v)).T


def jcalc(joint: Any, q: Array) -> tuple[Array, Array]:
    code, unit = joint if isinstance(joint, str) else joint["code"], np.eye(6)
    if code.endswith("-"):
        x, s = jcalc(code[:-1], -q)
        return x, -s
    axis = "xyz".index(code[-1]) if code[-1] in "xyz" else 2
    if code[0] == "R":
        return plux(turn(axis, q[0]), (0, 0, 0)), unit[:, axis : axis + 1]
    if code[0] == "P":
        return plux(np.eye(3), q[0] * np.eye(3)[axis]), unit[:, 3 + axis : 4 + axis]
    if code == "H":
        pitch = joint["pars"]["pitch"]
        return plux(turn(2, q[0]), (0, 0, pitch * q[0])), unit[:, 2:3] + pitch * unit[:, 5:6]
    if code == "S":
        return plux(quaternion_turn(q), (0, 0, 0)), unit[:, :3]
    if code == "Fb":
        return plux(quaternion_turn(q[:4]), q[4:]), unit
    flat = np.eye(3)
    if code == "r":
        return plnr(q[0], (0, 0)), flat[:, :1]
    return plnr(0.0, q[0] * np.eye(2)[axis]), flat[:, 1 + axis : 2 + axis]


def crm(v: Array) -> Array:
    if len(v) == 3:
        return np.array([[0, 0, 0], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def inverse_dynamics(model: dict[str, Any], q: list[Array], v: list[Array], a: list[Array]) -> Array:
    """ID: joints have their coordinates in lists; quaternions are (w, x, y, z)."""
    parents = [int(x) for x in np.ravel(model["parent"])]
    trees, inertias, joints = (list(model[key].ravel()) for key in ("Xtree", "I", "jtype"))
    size = len(trees[0])
    default = (0, 0, -9.81) if size == 6 else (0, 0)
    fall = np.concatenate([np.zeros(3 if size == 6 else 1), np.ravel(model.get("gravity", default))])
    up, own, twist, acc, force = [], [], [], [], []
    for i, parent in enumerate(parents):
        x, s = jcalc(joints[i], q[i])
        up.append(x @ trees[i])
        own.append(s)
        before = (np.zeros(size), -fall) if parent == 0 else (twist[parent - 1], acc[parent - 1])
        rate = s @ v[i]
        twist.append(up[i] @ before[0] + rate)
        acc.append(up[i] @ before[1] + s @ a[i] + crm(twist[i]) @ rate)
        force.append(inertias[i] @ acc[i] - crm(twist[i]).T @ (inertias[i] @ twist[i]))
    tau: list[Array] = [np.zeros(0)] * len(parents)
    for i in reversed(range(len(parents))):
        tau[i] = own[i].T @ force[i]
        if parents[i]:
            force[parents[i] - 1] = force[parents[i] - 1] + up[i].T @ force[i]
    return np.concatenate(tau)


def tree(joints: list[Any], parents: list[int], seed: int = 0, **more: Any) -> dict[str, Any]:
    """A spatial model with random transforms and inertias."""
    rng = np.random.default_rng(seed)
    trees, inertias = [], []
    for _ in joints:
        e = turn(0, rng.uniform(-1, 1)) @ turn(1, rng.uniform(-1, 1)) @ turn(2, rng.uniform(-1, 1))
        trees.append(plux(e, rng.uniform(-0.5, 0.5, 3)))
        box = rng.uniform(0.2, 0.5, 3)
        about = e @ np.diag(box.sum() - box) @ e.T
        inertias.append(inertia(rng.uniform(1, 3), rng.uniform(-0.2, 0.2, 3), about))
    return {"NB": float(len(joints)), "parent": np.array(parents, dtype=float), "jtype": cell(joints),
            "Xtree": cell(trees), "I": cell(inertias), **more}  # fmt: skip


def planar(joints: list[str], seed: int = 0, **more: Any) -> dict[str, Any]:
    """A planar chain."""
    rng = np.random.default_rng(seed)
    count = len(joints)
    trees = [plnr(rng.uniform(-1, 1), rng.uniform(-0.5, 0.5, 2)) for _ in joints]
    inertias = [inertia(rng.uniform(1, 3), rng.uniform(-0.2, 0.2, 2), rng.uniform(0.1, 0.3)) for _ in joints]
    return {"NB": float(count), "parent": np.arange(count, dtype=float), "jtype": cell(joints),
            "Xtree": cell(trees), "I": cell(inertias), **more}  # fmt: skip


def write(folder: Path, model: dict[str, Any], **others: Any) -> Path:
    path = folder / "robot.mat"
    savemat(path, {"model": model, **others})
    return path
