"""The joints of a tree grouped by kind, for integrators that are not machine code.

A step of an integrator is the same for all joints of a kind, so it need not be taken joint by joint: here one joint
represents all of its kind, and its scalars are arrays over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...model.joints import JointKind
from ...model.tree import Body, Joint, Model, lay_out
from ...spatial import Scalar
from ...spatial.arrays import Array


class ByKind:
    """One joint per kind in place of a tree's joints.

    Attributes
    ----------
    tree : Model
        The model given to integrators: joints without a tree.
    """

    def __init__(self, tree: Model) -> None:
        kinds: dict[JointKind, list[Joint]] = {}
        for joint in tree.joints:
            if not joint.mimic:
                kinds.setdefault(joint.kind, []).append(joint)
        joints = lay_out([Joint(f"all {k}", kind) for k, kind in enumerate(kinds)])
        self.tree = replace(tree, joints=joints, bodies=tuple(Body(j.name) for j in joints), frames=()).opened()
        self._q = [_places([j.q_slice for j in alike], k) for kind, alike in kinds.items() for k in range(kind.nq)]
        self._v = [_places([j.v_slice for j in alike], k) for kind, alike in kinds.items() for k in range(kind.nv)]

    def split_q(self, q: Array) -> list[Scalar]:
        """Return one array per coordinate of each kind."""
        return [q[..., where] for where in self._q]

    def split_v(self, v: Array) -> list[Scalar]:
        """Return one array per freedom of each kind."""
        return [v[..., where] for where in self._v]

    def join_q(self, parts: Sequence[Scalar], batch: tuple[int, ...]) -> Array:
        """Return the configuration from its parts."""
        return _joined(parts, self._q, batch)

    def join_v(self, parts: Sequence[Scalar], batch: tuple[int, ...]) -> Array:
        """Return the velocities from their parts."""
        return _joined(parts, self._v, batch)


def _places(slices: Sequence[slice], k: int) -> Array:
    return np.array([s.start + k for s in slices])


def _joined(parts: Sequence[Scalar], places: Sequence[Array], batch: tuple[int, ...]) -> Array:
    whole = np.empty((*batch, sum(map(len, places))))
    for part, where in zip(parts, places, strict=True):
        whole[..., where] = part
    return whole
