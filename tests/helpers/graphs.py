"""Random mechanisms with loops that are closed at a known configuration."""

from __future__ import annotations

import numpy as np

import kinetree as kt
from kinetree.robot import make

from .robots import KINDS, random_mass, random_pose

CLOSING = [name for name in KINDS if name != "custom"]
"""Kinds of joints that can close a loop."""


def coordinates(kind, rng) -> np.ndarray:
    q = kind.random(rng, (-np.inf,) * kind.nq, (np.inf,) * kind.nq, ())
    if len(getattr(kind, "sequence", "")) == 3:
        q[1] = rng.uniform(0.5, 1.0)  # away from gimbal lock
    return q


def pose_of(kind, q) -> np.ndarray:
    return np.array(kind.transform(list(q)).homogeneous(), dtype=float)


class Graph:
    """A random mechanism that is closed at ``q``, with the coordinates of every joint, cut or not."""

    def __init__(self, seed: int, bodies: int = 5, loops: int = 2) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.at: dict[str, np.ndarray] = {}
        b = kt.Builder("random graph", gravity=rng.uniform(-10, 10, 3))
        for i in range(bodies):
            b.add_body(f"b{i}", random_mass(rng))
        names = ["base", *(f"b{i}" for i in range(bodies))]
        for i in range(bodies):
            kind = KINDS[str(rng.choice(CLOSING))](rng)
            parent = names[int(rng.integers(0, i + 1))]
            lower = -2.0 if kind.quaternion is None else None
            b.joint(f"j{i}", parent, f"b{i}", kind, random_pose(rng), random_pose(rng), actuated=False, lower=lower)
            b.frame(f"f{i}", f"b{i}", pose=random_pose(rng))
            self.at[f"j{i}"] = coordinates(kind, rng)
        tree = make(b.model())
        q = np.concatenate([self.at[j.name] for j in tree.model.joints])
        self.poses = {name: tree.pose(q, name) for name in tree.model.frame_table}
        for k in range(loops):
            kind = KINDS[str(rng.choice(CLOSING))](rng)
            first, second = rng.choice(names, 2, replace=False)
            placement, own = random_pose(rng), coordinates(kind, rng)
            there = self.poses[first] @ placement.matrix @ pose_of(kind, own)
            seat = kt.Pose.from_matrix(np.linalg.inv(self.poses[second]) @ there)
            b.loop(f"c{k}", str(first), str(second), kind, placement=placement, seat=seat)
            self.at[f"c{k}"], self.poses[f"c{k}"] = own, there
        self.model = b.model()

    def q(self, model: kt.Model) -> np.ndarray:
        return np.concatenate([self.at[j.name] for j in model.joints])

    def random_cuts(self) -> list[str]:
        """The complement of a random tree."""
        m = self.model
        edges = [(j.name, j.parent, i) for i, j in enumerate(m.joints)]
        edges += [(c.name, c.predecessor, c.successor) for c in m.loops]
        group = {i: i for i in range(-1, len(m.bodies))}
        cuts = []
        for k in self.rng.permutation(len(edges)):
            name, a, b = edges[k]
            if group[a] == group[b]:
                cuts.append(name)
            else:
                old, new = group[a], group[b]
                group = {i: new if g == old else g for i, g in group.items()}
        return cuts
