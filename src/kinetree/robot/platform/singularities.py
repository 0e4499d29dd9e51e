"""Singular configurations of parallel manipulators, by Gosselin and Angeles' types.

All motions that the loops allow at a configuration are ``v = N y``.  They move the
actuators by ``A y`` and the platform by ``E y``.  The null spaces of A, of E and of both
show the kind of singularity:

*inverse* (type 1)
    actuators move while the platform does not, and the platform loses a freedom;
*forward* (type 2)
    the platform moves while the actuators are held: it gains an uncontrolled freedom;
*constraint*
    the loops themselves allow more motions than they do nearby;
*passive*
    neither actuators nor platform move, but a leg does.

Type 3 is an inverse and a forward singularity at once.  Everything is compared with
nearby configurations, so that a rod that is free to spin about itself does not count as singular.

Ranks need a common unit: angles are multiplied by a length, the size of the platform.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...loops import rank
from ...spatial.arrays import Array


class Maps(NamedTuple):
    """A mechanism's first-order motions at a configuration, all in meters (see the module's text)."""

    constraints: Array
    """K, (nc, nv)."""
    actuators: Array
    """Selector of the actuated rates, (na, nv)."""
    platform: Array
    """Jacobian of the platform frame, (6, nv); only its last three rows if orientation does not matter."""


class Counts(NamedTuple):
    """Numbers of motions of each kind."""

    freedoms: int
    """Motions that the loops allow."""
    held: int
    """Motions that the loops allow while the actuators are held."""
    still: int
    """Motions that the loops allow while the platform stands still."""
    idle: int
    """Motions that the loops allow while both stand still."""

    @property
    def platform(self) -> int:
        """Freedoms of the platform."""
        return self.freedoms - self.still


class Analysis(NamedTuple):
    """The motions at one configuration: counts, singular values and bases in v (columns)."""

    counts: Counts
    values: dict[str, Array]
    allowed: Array
    held: Array
    still: Array
    idle: Array


def analyze(maps: Maps, tolerance: float) -> Analysis:
    """Count motions of each kind; singular values below ``tolerance`` are zero."""
    size = float(np.linalg.norm(maps.constraints, 2)) if maps.constraints.size else 1.0
    loops = _values(maps.constraints) / (size or 1.0)
    n = _null(maps.constraints, tolerance * size)
    a, e = maps.actuators @ n, maps.platform @ n
    held, still, idle = (n @ _null(m, tolerance) for m in (a, e, np.concatenate([a, e])))
    counts = Counts(n.shape[1], held.shape[1], still.shape[1], idle.shape[1])
    values = {"constraint": loops, **_sines(a, e)}
    return Analysis(counts, values, n, held, still, idle)


def _sines(a: Array, e: Array) -> dict[str, Array]:
    """Return the shares of actuators and platform in each motion, as sines and cosines.

    Motions that move neither are left out; the others are scaled so that both parts together
    have unit length.
    """
    u, s, _ = np.linalg.svd(np.concatenate([a, e]), full_matrices=False)
    u = u[:, s > 1e-12 * s[:1]] if len(s) else u
    return {"forward": _values(u[: len(a)]), "inverse": _values(u[len(a) :])}


def _values(matrix: Array) -> Array:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False)) if matrix.size else np.zeros(0)


def _null(matrix: Array, tolerance: float) -> Array:
    """Return an orthonormal basis of the null space of a matrix."""
    if not matrix.size:
        return np.eye(matrix.shape[1])
    _, s, vt = np.linalg.svd(matrix, full_matrices=True)
    return np.asarray(vt[int((s > tolerance).sum()) :].T)


def common(nearby: list[Counts]) -> Counts:
    """Return the smallest counts found nearby, which are the usual ones."""
    return Counts(*(min(getattr(c, name) for c in nearby) for name in Counts._fields))


@dataclass(frozen=True)
class Singularity:
    """The singularities of a configuration; prints as a report.

    Attributes
    ----------
    kinds : tuple of str
        Some of ``"inverse"``, ``"forward"``, ``"constraint"`` and ``"passive"``; empty if it is not singular.
    lost : ndarray, shape (k, 6)
        Twists that the platform has nearby but not here.
    gained : ndarray, shape (k, 6)
        Twists of the platform with the actuators held.
    gained_motions : ndarray, shape (k, nv)
        The motions of all joints that go with them.
    idle_motions : ndarray, shape (k, nv)
        Motions of actuators that do not move the platform.
    passive_motions : ndarray, shape (k, nv)
        Motions that move neither actuators nor platform.
    margins : dict
        Distance from each kind, from 0 at a singularity to 1.  ``inverse`` and ``forward`` are sines: the least share
        of the platform, or of the actuators, in any motion of both.  ``constraint`` is the least singular
        value of the loop constraints that should not vanish, relative to the largest.
    freedoms, usual_freedoms : int
        Motions the loops allow here and nearby.
    platform_freedoms, usual_platform_freedoms : int
        Freedoms of the platform here and nearby.
    length : float
        Factor of angles.

    Twists are angular velocity, then velocity of the platform frame's origin, along world axes; of
    unit length when the angular part is multiplied by ``length``.
    """

    kinds: tuple[str, ...]
    lost: Array
    gained: Array
    gained_motions: Array
    idle_motions: Array
    passive_motions: Array
    margins: dict[str, float]
    freedoms: int
    usual_freedoms: int
    platform_freedoms: int
    usual_platform_freedoms: int
    length: float

    @property
    def singular(self) -> bool:
        """Whether the configuration is singular in any way."""
        return bool(self.kinds)

    @property
    def type(self) -> int:
        """Gosselin and Angeles' type: 1, 2 or 3; 0 for none of them."""
        return ("inverse" in self.kinds) + 2 * ("forward" in self.kinds)

    @property
    def distance(self) -> float:
        """The smallest of the margins: the distance to the nearest singularity, from 0 to 1."""
        return min(self.margins.values())

    def __str__(self) -> str:
        margins = ", ".join(f"{kind} {value:.3g}" for kind, value in self.margins.items())
        if not self.singular:
            loose = f", {len(self.gained)} of them not held by the actuators" if len(self.gained) else ""
            return f"not singular: {_freedoms(self.platform_freedoms)} of the platform{loose}; margins: {margins}"
        lines = [f"singular ({', '.join(self.kinds)})" + (f", type {self.type}" if self.type else "")]
        if "constraint" in self.kinds:
            lines.append(f"the loops allow {self.freedoms} motions here and {self.usual_freedoms} nearby")
        lines += [f"lost: the platform cannot move along {_twist(t)}" for t in self.lost]
        lines += [f"gained: with the actuators held the platform can move along {_twist(t)}" for t in self.gained]
        if len(self.idle_motions):
            lines.append("actuators can move while the platform stands still")
        if "passive" in self.kinds:
            lines.append("a leg can move while actuators and platform stand still")
        return "\n".join([*lines, f"margins: {margins}"])


def _freedoms(count: int) -> str:
    return f"{count} freedom" + "s" * (count != 1)


def _twist(t: Array) -> str:
    w, v = (", ".join(f"{x + 0.0:.4g}" for x in np.where(np.abs(p) < 1e-9, 0.0, p)) for p in (t[:3], t[3:]))
    return f"rotation ({w}), translation ({v})"


def classify(here: Analysis, usual: Counts, maps: Maps, nearby: list[Analysis], near_maps: list[Maps]) -> Report:
    """Compare a configuration with its neighbors."""
    c = here.counts
    kinds = {
        "inverse": c.still - c.idle > usual.still - usual.idle,
        "forward": c.held - c.idle > usual.held - usual.idle,
        "constraint": c.freedoms > usual.freedoms,
        "passive": c.idle > usual.idle,
    }
    gained = _beside(here.held, here.idle)
    idle = _beside(here.still, here.idle)
    missing = usual.platform - c.platform
    outputs = len(maps.platform)
    lost = _lost(maps, here, nearby, near_maps, usual.platform, missing) if missing > 0 else np.zeros((0, outputs))
    distances = {
        "inverse": float(_at(here.values["inverse"], usual.platform)),
        "forward": float(_at(here.values["forward"], usual.freedoms - usual.held)),
        "constraint": float(_at(here.values["constraint"], maps.constraints.shape[1] - usual.freedoms)),
    }
    return Report(tuple(k for k, found in kinds.items() if found), lost, gained, idle, here.idle, distances)


class Report(NamedTuple):
    """The outcome, still in meters."""

    kinds: tuple[str, ...]
    lost: Array
    gained: Array
    still: Array
    idle: Array
    margins: dict[str, float]


def margins(maps: Maps, usual: Counts) -> dict[str, Array]:
    """Return distances from the kinds of singularity for a batch of configurations; see :class:`Singularity`."""
    r = maps.constraints.shape[-1] - usual.freedoms
    _, s, vt, _ = rank.decompose(maps.constraints)
    n = np.swapaxes(vt[..., r:, :], -1, -2)
    both = np.concatenate([maps.actuators @ n, maps.platform @ n], axis=-2)
    u = rank.decompose(both)[0][..., : usual.freedoms - usual.idle]
    count = maps.actuators.shape[-2]
    hole = np.where(np.isfinite(both).all(axis=(-1, -2)), 0.0, np.nan)
    whole = np.broadcast_to(s[..., :1], s.shape) if r else s
    return {
        "inverse": _at(rank.decompose(u[..., count:, :])[1], usual.platform) + hole,
        "forward": _at(rank.decompose(u[..., :count, :])[1], usual.freedoms - usual.held) + hole,
        "constraint": _at(s / np.where(whole == 0.0, 1.0, whole), r) + hole,
    }


def sides(maps: Maps, usual: Counts) -> Array:
    """Return on which side of forward singularities configurations (N, ...) are: -1, 1, 0 on one; NaN if undefined.

    It is the sign of the determinant of the map from the platform's motion to the actuators', for mechanisms with as
    many actuators as freedoms, all of which move the platform.  It also changes at inverse singularities.
    """
    count, freedoms = maps.actuators.shape[-2], usual.freedoms
    if not (freedoms == count == usual.platform) or usual.held or usual.idle:
        return np.full(maps.constraints.shape[:-2], np.nan)
    _, _, vt, _ = rank.decompose(maps.constraints)
    n = np.swapaxes(vt[..., maps.constraints.shape[-1] - freedoms :, :], -1, -2)
    moved = maps.platform @ n
    largest = np.abs(moved).max(axis=tuple(i for i in range(moved.ndim) if i != moved.ndim - 2), initial=0.0)
    rows = np.sort(np.argsort(-largest, kind="stable")[:freedoms])
    if (largest > 1e-9 * largest.max(initial=0.0)).sum() != freedoms:  # it moves in directions that change
        return np.full(maps.constraints.shape[:-2], np.nan)
    return np.asarray(np.sign(np.linalg.det(maps.actuators @ n) * np.linalg.det(moved[..., rows, :])))


def _at(values: Array, place: int) -> Array:
    """Return the singular value that would vanish at a singularity; 1 if there is none."""
    if place <= 0:
        return np.ones(values.shape[:-1])
    return np.asarray(values[..., place - 1] if place <= values.shape[-1] else np.zeros(values.shape[:-1]))


def _beside(space: Array, inner: Array) -> Array:
    """Return an orthonormal basis of the part of a space perpendicular to a subspace."""
    left = space - inner @ (inner.T @ space)
    u, s, _ = np.linalg.svd(left, full_matrices=False)
    return np.asarray(u[:, s > 0.5])  # these singular values are 0 or 1


def _lost(maps: Maps, here: Analysis, nearby: list[Analysis], near_maps: list[Maps], usual: int, count: int) -> Array:
    """Return twists that the platform has nearby but not here."""
    outputs = len(maps.platform)
    around = np.zeros((outputs, outputs))
    for analysis, near in zip(nearby, near_maps, strict=True):
        u = np.linalg.svd(near.platform @ analysis.allowed)[0][:, :usual]
        around += u @ u.T
    present = np.linalg.svd(maps.platform @ here.allowed)[0][:, : here.counts.platform]
    outside = np.eye(outputs) - present @ present.T
    _, vectors = np.linalg.eigh(outside @ around @ outside)
    return np.asarray(vectors[:, ::-1][:, :count].T)
