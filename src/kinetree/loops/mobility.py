"""The mobility of a mechanism: counted by rank, along with the formula that counts joints."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from ..model.describe import counted
from ..model.joints import Continuous, Prismatic, Reversed, Revolute
from ..model.tree import BASE, Model
from ..spatial import IDENTITY, Transform, Vec3
from ..spatial.arrays import Array
from . import long_chains, rank
from .clusters import Clusters
from .coordinates import Decision, decide
from .long_chains import singular_values
from .tolerances import LEAST

MOST_NAMED = 12
"""The most names in a line of text; the attributes have all of them."""

PARALLEL = 1e-6
"""Axes are parallel, or perpendicular to one another, within this angle."""

MOST_SHARES, LEAST_SHARE = 6, 1e-3
"""The most freedoms that are listed for a direction, and the fraction of the largest share that they need."""


@dataclass(frozen=True)
class Mobility:
    """The freedoms that the loops leave, and how they were counted.

    Attributes
    ----------
    freedoms : int
        Degrees of freedom of the mechanism, counted for velocities.
    gruebler : int
        The count of joints and constraints (Gruebler, Kutzbach).
    constraints, rank : int
        Constraints of the loop joints, and how many of them are independent.
    redundant : tuple of str
        Constraints that the others imply; their forces are not determined by the motion.
    independent : tuple of str
        Freedoms that determine the others.
    singular : bool
        Whether the given configuration is singular.
    opening : ndarray, shape (k, nv)
        Velocities that are possible in a singular configuration only.
    locked : tuple of str
        Freedoms that cannot move at this configuration.
    decisions : tuple of Decision
        How the rank was found, for each cluster of loops.
    slack : float
        How far redundant constraints may be violated because numbers in the file are rounded; zero if they are not.
    velocity_constraints : tuple of str
        Constraints on velocities but not on positions, such as rolling without slipping.
    position_freedoms : int
        Degrees of freedom without these: a ball that rolls on a plane has 3 freedoms of velocity and 5 of position.
    freedom_names : tuple of str
        Names of the columns of ``opening``.
    planar : int or None
        The count for planar mechanisms, 3 (n - 1) - 2 j with n links, including the ground, and j joints; None if it
        does not move in a plane.
    """

    freedoms: int
    gruebler: int
    constraints: int
    rank: int
    redundant: tuple[str, ...]
    independent: tuple[str, ...]
    singular: bool
    opening: Array
    locked: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()
    slack: float = 0.0
    velocity_constraints: tuple[str, ...] = ()
    position_freedoms: int = -1
    freedom_names: tuple[str, ...] = ()
    planar: int | None = None

    def __post_init__(self) -> None:
        if self.position_freedoms < 0:
            object.__setattr__(self, "position_freedoms", self.freedoms)

    @property
    def gap(self) -> tuple[float, float]:
        """The weakest constraint that counts and the strongest that does not; the strongest of all is at least one."""
        least = min((d.least for d in self.decisions), default=1.0)
        return least, max((d.dropped for d in self.decisions), default=0.0)

    @property
    def rounding(self) -> tuple[Decision, ...]:
        """Decisions by which constraints were dropped because they are only rounding of the numbers in the file."""
        return tuple(d for d in self.decisions if d.by_rounding)

    @property
    def overconstrained(self) -> int:
        """Number of redundant constraints."""
        return self.constraints - self.rank

    def __str__(self) -> str:
        lines = [
            f"{counted(self.freedoms, 'degree', 'degrees')} of freedom: {_some(self.independent, ', ') or 'none'} "
            f"(counting joints and constraints gives {self.gruebler}{self._in_plane()})",
            f"{counted(self.constraints, 'loop constraint', 'loop constraints')}, {self.rank} independent"
            f"{self._decided_by()}",
        ]
        if self.velocity_constraints:
            lines.append(
                f"{counted(self.position_freedoms, 'freedom', 'freedoms')} of position: "
                f"{_some(self.velocity_constraints, '; ')} hold velocities only"
            )
        if self.redundant:
            lines.append(f"redundant ({self.overconstrained}): " + _some(self.redundant, "; "))
        lines += [f"dropped as rounding of the file's numbers: {decision}" for decision in self.rounding[:MOST_NAMED]]
        if len(self.rounding) > MOST_NAMED:
            lines.append(f"... and {len(self.rounding) - MOST_NAMED} more clusters of loops: .rounding has all")
        if self.singular:
            ways = counted(len(self.opening), "more direction opens", "more directions open")
            lines.append(f"singular configuration: {ways} up{self._opening_in_words()}")
        if self.locked:
            lines.append("cannot move here: " + _some(self.locked, ", "))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _in_plane(self) -> str:
        return "" if self.planar is None else f"; in the plane, 3 (n - 1) - 2 j, {self.planar}"

    def _opening_in_words(self) -> str:
        """Return in words how freedoms move along the first direction that opens up, relative to the largest."""
        if not len(self.opening) or len(self.freedom_names) != self.opening.shape[-1]:
            return ""
        way = self.opening[0] / np.abs(self.opening[0]).max()
        order = np.argsort(-np.abs(way), kind="stable")[:MOST_SHARES]
        shares = [f"{self.freedom_names[j]} {way[j]:+.2g}" for j in order if abs(way[j]) > LEAST_SHARE]
        return f", such as {', '.join(shares)}"

    def _decided_by(self) -> str:
        least, dropped = self.gap
        if self.rank == self.constraints or not self.decisions:
            return ""
        return f" (the weakest that counts is {least:.2g}, the strongest that does not {dropped:.1g})"


def _some(names: tuple[str, ...], between: str) -> str:
    """Return a list of names, as many as a line or two hold."""
    rest = len(names) - MOST_NAMED
    return between.join(names[:MOST_NAMED]) + (f"{between}... and {rest} more" if rest > 0 else "")


def planar_count(model: Model, q: Array) -> int | None:
    """Return 3 (n - 1) - 2 j if all hinges have parallel axes and all slides are perpendicular to them; else None."""
    poses: dict[int, Transform] = {BASE: IDENTITY}
    for i, link in enumerate(model.links):
        poses[i] = poses[link.parent] @ link.transform(link.position(list(q)))
    turning, sliding = list[Array](), list[Array]()
    seats = [(j.kind, poses[j.parent] @ j.placement.spatial()) for j in model.joints]
    seats += [(x.kind, poses[x.predecessor] @ x.placement.spatial()) for x in model.loops]
    for kind, pose in seats:
        own = kind.kind if isinstance(kind, Reversed) else kind
        if not isinstance(own, (Revolute, Continuous, Prismatic)):
            return None
        axis = np.array([float(x) for x in pose.rotate(Vec3(*own.axis))])
        (sliding if isinstance(own, Prismatic) else turning).append(axis)
    if not turning or any(np.linalg.norm(np.cross(turning[0], x)) > PARALLEL for x in turning):
        return None
    if any(abs(turning[0] @ x) > PARALLEL for x in sliding):
        return None
    followers = sum(j.mimic is not None for j in model.joints)
    return 3 * len(model.bodies) - 2 * len(seats) - len(model.couplings) - followers


def position_rank(clusters: Clusters, samples: Array, gaps: Array, rounding: float | None) -> int:
    """Return how many constraints on positions are independent, from their matrices (S, nc, nv) at S samples."""
    found = 0
    for cluster in clusters.all:
        values = singular_values(cluster.block(samples))
        found += decide(cluster, values, gaps, rounding).rank
    return found


def singular_directions(
    k: Array, general_rank: int, scale: float = 0.0, least: float = LEAST
) -> tuple[int, Array, tuple[int, ...]]:
    """Return the rank at one configuration, velocities that open up there, and freedoms that cannot move."""
    here = int(rank.numerical_rank(k, scale, least))
    if least > LEAST:
        here = min(here, general_rank)
    basis = long_chains.null_space(k, here) if here == general_rank else None
    if basis is None:
        basis = rank.null_space(k, here)
    # directions nearly forbidden right beside the singular configuration come first in V
    opening = basis.T[: general_rank - here] if here < general_rank else np.zeros((0, k.shape[-1]))
    still = tuple(int(j) for j in np.flatnonzero(np.linalg.norm(basis, axis=1) < max(1e-9, 0.2 * least)))
    return here, opening, still
