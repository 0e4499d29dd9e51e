"""Exchanged columns, wrong signs and wrong zeros, which are detected because forces fit much better after a change."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...model.joints import Revolute
from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..equations import Prepared
from ..estimators.products import left, solved
from ..model_choice import Columns


class Change(NamedTuple):
    """A change of the given columns: which motion, sign and offset each joint gets, and which forces."""

    order: Array
    sign: Array
    turn: Array
    force: Array


class MeanColumns(NamedTuple):
    """Columns of a motion, averaged in groups of samples."""

    inertial: Array
    """(groups, joints, parameters)"""
    rubbing: Array
    """Viscous and Coulomb friction and an offset of every joint, (groups, joints, 3 joints)."""
    fast: Array
    """Which rows count, (groups, joints); the friction of a joint that is about to reverse is unknown."""


def of_columns(columns: Columns, errors: Array) -> list[str]:
    """Return a warning if forces fit much better with columns exchanged, a sign changed, or another zero of a joint.

    If a joint's zero does not affect the fit, because its body may be turned with it, the masses of the file are used
    for comparison.

    columns: Columns of the fit.
    errors: Relative errors of the fit, per row.
    """
    prepared, robot = columns.prepared, columns.prepared.robot
    simple = all(joint.nv == joint.nq == 1 and joint.actuated and not joint.mimic for joint in robot.model.joints)
    if not simple or robot.loops is not None or prepared.contacts:
        return []
    judge = _Judge(prepared, columns.groups)
    changes: dict[str, Change] = {}
    if np.any(errors > tuned.MIXED_UP):
        changes |= judge.exchanges() | judge.signs()
    if np.any(errors > tuned.TURNED):
        changes |= judge.zeros()
    found = _best(judge.by_fit(judge.same), {words: judge.by_fit(change) for words, change in changes.items()})
    if found:
        words, share, before = found
        return [
            f"with {words} the model leaves {100 * share:.2g} % of the forces unexplained instead of "
            f"{100 * before:.2g} %: columns are probably mixed up, or joints have another sign or zero than in the file"
        ]
    before = judge.by_file(judge.same)
    if not before > tuned.MIXED_UP:
        return []
    found = _best(before, {words: judge.by_file(change) for words, change in judge.zeros().items()})
    if not found:
        return []
    words, share, _ = found
    return [
        f"with {words} the file's masses leave {100 * share:.2g} % of the forces unexplained instead of "
        f"{100 * before:.2g} %, and the fit cannot tell: the joint's zero probably differs from the file's"
    ]


def _best(before: float, judged: dict[str, float]) -> tuple[str, float, float] | None:
    """Return the change with the smallest error, with the errors after and before, if it helps much."""
    words = min(judged, key=judged.__getitem__, default="")
    return (words, judged[words], before) if judged and judged[words] < tuned.UNMIXED * before else None


class _Judge:
    """Some of the samples, and the residuals of their forces after changes of columns.

    groups: Parameters whose columns describe all effects of bodies and rotors.
    """

    def __init__(self, prepared: Prepared, groups: Sequence[str]) -> None:
        self.robot, self.inertial = prepared.robot, prepared.inertial
        self.independent = [k for k, name in enumerate(self.inertial) if name in set(groups)]
        parts = [(m, slice(d.centers[0], d.centers[-1] + 1))  # accelerations are inaccurate at the ends
                 for m, d in zip(prepared.motions, prepared.decimations, strict=True)]  # fmt: skip
        rows = sum(inside.stop - inside.start for _, inside in parts)
        begins = np.linspace(
            0, max(rows - tuned.AVERAGED, 0), min(tuned.TRIED_ROWS, max(rows // tuned.AVERAGED, 1))
        ).astype(int)
        picked = (begins[:, None] + np.arange(min(tuned.AVERAGED, rows))).reshape(-1)
        q, v, a, tau = (
            np.concatenate([getattr(m, key)[inside] for m, inside in parts])[picked] for key in ("q", "v", "a", "tau")
        )
        self.groups, self.motion = len(begins), (q, v, a)
        table = self.robot.parameters()
        self.file = np.array([table[name] for name in self.inertial])
        count = self.robot.nv
        self.same = Change(np.arange(count), np.ones(count), np.zeros(count), tau)
        self._columns: dict[tuple[bytes, ...], MeanColumns] = {}

    def exchanges(self) -> dict[str, Change]:
        """Return all exchanges to try: of positions, forces, or both, between two joints."""
        found: dict[str, Change] = {}
        same, tau = self.same, self.same.force
        for i, j in combinations(range(self.robot.nv), 2):
            swapped = same.order.copy()
            swapped[[i, j]] = j, i
            names = f"{self.robot.v_names[i]} and {self.robot.v_names[j]}"
            found[f"the positions of {names} exchanged"] = same._replace(order=swapped)
            found[f"the forces of {names} exchanged"] = same._replace(force=tau[:, swapped])
            found[f"the columns of {names} exchanged"] = same._replace(order=swapped, force=tau[:, swapped])
        return found

    def signs(self) -> dict[str, Change]:
        """Return all changes of sign to try, of positions and forces."""
        found: dict[str, Change] = {}
        for i, name in enumerate(self.robot.v_names):
            other = np.where(self.same.order == i, -1.0, 1.0)
            found[f"positions of {name} with the opposite sign"] = self.same._replace(sign=other)
            found[f"forces of {name} with the opposite sign"] = self.same._replace(force=self.same.force * other)
        return found

    def zeros(self) -> dict[str, Change]:
        """Return all changes of a hinge's zero to try."""
        found: dict[str, Change] = {}
        for i, (name, joint) in enumerate(zip(self.robot.v_names, self.robot.model.joints, strict=True)):
            for degrees in tuned.ZEROS if isinstance(joint.kind, Revolute) else ():
                turn = np.where(self.same.order == i, np.deg2rad(degrees), 0.0)
                found[f"positions of {name} turned by {degrees} degrees"] = self.same._replace(turn=turn)
        return found

    def columns(self, change: Change) -> MeanColumns:
        """Return the columns of a changed motion; changes that differ only in forces share them."""
        key = tuple(x.tobytes() for x in change[:3])
        if key not in self._columns:
            q, v, a = (change.sign * x[:, change.order] for x in self.motion)
            y = self.robot.regressor(q + change.turn, v, a, parameters=self.inertial)
            rubbing = self._mean(np.stack([v, np.sign(v), np.ones_like(v)], axis=1))
            own = rubbing[:, None] * np.eye(self.robot.nv)[:, None]  # each parameter in the row of its own joint
            fast = np.abs(v) > tuned.FASTER * np.abs(v).max(axis=0)
            counted = fast.reshape(self.groups, -1, self.robot.nv).all(axis=1)
            self._columns[key] = MeanColumns(self._mean(y), own.reshape(*counted.shape, -1), counted)
        return self._columns[key]

    def _mean(self, x: Array) -> Array:
        return np.asarray(x.reshape(self.groups, len(x) // self.groups, -1).mean(axis=1)).reshape(-1, *x.shape[1:])

    def by_fit(self, change: Change) -> float:
        """Return the share of forces that a fit leaves unexplained."""
        found = self.columns(change)
        return self._left_of([found.inertial[..., self.independent], found.rubbing], self._mean(change.force), change)

    def by_file(self, change: Change) -> float:
        """Return the share of forces that the file's masses and fitted friction leave unexplained; 0 without masses."""
        if not np.any(self.file):
            return 0.0
        found = self.columns(change)
        return self._left_of([found.rubbing], self._mean(change.force) - found.inertial @ self.file, change)

    def _left_of(self, columns: Sequence[Array], force: Array, change: Change) -> float:
        """Return the root mean square of a fit's residuals, relative to the size of the forces."""
        size = np.maximum(np.sqrt(np.mean(change.force**2, axis=0)), 1e-300)
        both = np.concatenate([*columns, force[..., None]], axis=-1) / size[:, None]
        tall = both[self.columns(change).fast]
        products = tall.T @ tall
        return float(np.sqrt(left(products, solved(products)) / len(tall)))
