"""The three DeNOC matrices of a parallel manipulator: t = N_l N_c N_d theta' (Saha section 3).

A platform is carried by legs.  Each leg is a chain of joints from the base to the platform,
including the cut joint, and its last link is the platform itself.  The rates of
the passive joints are eliminated leg by leg, from the platform down, with the projector
of Saha eq. 25; the legs together then give the platform's twist from the rates of the
actuated joints alone (Saha eq. 29), and with it the twists of all links.

The source has one actuator per leg, at its foot.  Here any joints of a leg may be
actuated, joints may have several freedoms, and legs may differ.

Twists are angular velocity and velocity of a link's origin, along world axes, so that the
twist propagation matrix is ``A = [1 0; a x 1]``.  A link's origin is a point of its joint
with the link before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kinetree.algorithms import kinematics, loop_constraints
from kinetree.errors import ExplainsArguments, SingularError, UnsupportedError
from kinetree.model.tree import BASE, Model
from kinetree.spatial.arrays import Array, pack

from .denoc import twist_shift

DEPENDENT = 1e-10
"""Passive joints of a leg count as dependent if a projected axis is shorter than this fraction of it."""

SINGULAR_LEG = 1e-11
"""The sum of the legs' projectors counts as singular below this eigenvalue (the largest is the number of legs)."""


def projector(c: Array) -> Array:
    """Return ``Phi_c = 1 - c (c^T c)^-1 c^T``, which removes the part along the columns of ``c`` (Saha eq. 25b)."""
    matrix = np.atleast_2d(np.asarray(c, dtype=float).T).T
    return np.asarray(np.eye(len(matrix)) - matrix @ np.linalg.solve(matrix.T @ matrix, matrix.T))


class LegLink(NamedTuple):
    """One link of a leg and the joint before it, at a configuration; all in world axes."""

    body: int
    joint: str
    origin: Array
    columns: Array
    """P: twist relative to the link before, per unit of each rate."""
    actuated: tuple[int, ...]
    """Indices of the joint's rates in ``v`` if it is actuated; empty if it is passive."""


class LegElimination(NamedTuple):
    """A leg after the elimination of its passive rates."""

    psi: list[Array]
    """Psi_i of Saha eq. 31; the identity at actuated joints."""
    share: list[Array]
    """The share of the platform's twist in that of each link: p p~^T / delta (Saha eq. 30)."""
    inverse: list[Array]
    """Pseudo-inverse of the projected columns c of each passive joint; no rows at actuated joints."""
    phi: Array
    """The projector after the last passive joint (Saha eq. 28)."""


class Edge(NamedTuple):
    """A joint as an edge of the graph of bodies."""

    start: int
    end: int
    number: int
    cut: bool


def _edges(model: Model) -> list[Edge]:
    tree = [Edge(joint.parent, i, i, False) for i, joint in enumerate(model.joints)]
    return tree + [Edge(loop.predecessor, loop.successor, i, True) for i, loop in enumerate(model.loops)]


def legs(model: Model, platform: int) -> list[list[tuple[Edge, bool]]]:
    """Return the chains of joints from the base to a body; for each joint, whether it is passed from start to end."""
    edges = _edges(model)
    at: dict[int, list[Edge]] = {}
    for edge in edges:
        at.setdefault(edge.start, []).append(edge)
        at.setdefault(edge.end, []).append(edge)
    found, used = [], set[Edge]()
    for foot in at[BASE]:
        chain, body, edge = [], BASE, foot
        while True:
            used.add(edge)
            forward = edge.start == body
            chain.append((edge, forward))
            body = edge.end if forward else edge.start
            if body == platform:
                break
            onward = [e for e in at[body] if e is not edge]
            if len(onward) != 1 or body == BASE:
                raise _no_leg(model, body, platform)
            edge = onward[0]
        found.append(chain)
    for edge in edges:
        if edge not in used:
            raise _no_leg(model, edge.end, platform)
    return found


def _no_leg(model: Model, body: int, platform: int) -> UnsupportedError:
    name = model.base.name if body == BASE else model.bodies[body].name
    return UnsupportedError(
        f"{model.name!r} is not a platform {model.bodies[platform].name!r} on serial legs: the chain of joints "
        f"branches, ends or joins another at {name!r}. The three DeNOC matrices are defined for serial legs only; "
        "Platform.jacobian and the other methods work for any mechanism"
    )


class ParallelDeNOC(ExplainsArguments):
    """The matrices of Saha section 3 at one closed configuration.

    q: A closed configuration.
    frame: The platform frame, whose twist is ``t_e``.
    driven: (nv,). Which degrees of freedom are actuated.
    """

    def __init__(self, model: Model, q: Sequence[float], frame: str, driven: Array) -> None:
        if model.couplings:
            named = ", ".join(repr(coupling.name) for coupling in model.couplings)
            raise UnsupportedError(
                f"{model.name!r} has couplings of joints ({named}), which the three DeNOC matrices leave out: they "
                "are for serial legs. Platform.jacobian, Mechanism.inverse_dynamics and the like include them: use "
                "those, or describe the mechanism without couplings"
            )
        self.model = model
        self.q = [float(x) for x in q]
        self._posed = kinematics.poses(model, self.q)
        place = self.place = model.frame(frame)
        if place.body == BASE:
            raise UnsupportedError(f"frame {frame!r} is fixed to the ground: a platform must move")
        self._driven = driven
        self.origin: Array = self.world(place.body)[:3, :3] @ place.pose.position + self.world(place.body)[:3, 3]
        self.chains = legs(model, place.body)
        self.legs = [[self._link(edge, forward) for edge, forward in chain] for chain in self.chains]
        # Saha eq. 32b stacks twists by their place in the leg first, then by leg
        self.places = sorted(
            ((i, leg) for leg, links in enumerate(self.legs) for i in range(len(links))), key=lambda row: row
        )
        self.inputs = [(i, leg) for i, leg in self.places if self.legs[leg][i].actuated]

    @property
    def rows(self) -> list[tuple[int, str, str]]:
        """The link of each block of six rows of ``t``: number of the leg, body, joint before it."""
        links = [(leg, self.legs[leg][i]) for i, leg in self.places]
        return [(leg, self.model.bodies[link.body].name, link.joint) for leg, link in links]

    @property
    def dofs(self) -> tuple[int, ...]:
        """Indices in ``v`` of the actuated rates, in the order of the columns."""
        return tuple(k for i, leg in self.inputs for k in self.legs[leg][i].actuated)

    # ---------------------------------------------------------------- geometry

    def world(self, body: int) -> Array:
        """Return a body's pose in the world, 4 x 4."""
        return np.eye(4) if body == BASE else pack(self._posed[body].pose, ())

    def _link(self, edge: Edge, forward: bool) -> LegLink:
        return self._cut_link(edge, forward) if edge.cut else self._tree_link(edge, forward)

    def _tree_link(self, edge: Edge, forward: bool) -> LegLink:
        joint = self.model.joints[edge.number]
        if joint.mimic:
            raise UnsupportedError(f"joint {joint.name!r} mimics another: legs of followers have no DeNOC matrices")
        where = joint.v_slice
        own = tuple(range(where.start, where.stop))
        flags = [bool(self._driven[k]) for k in own]
        if any(flags) and not all(flags):
            raise UnsupportedError(f"joint {joint.name!r} is actuated in part; split it into joints of one freedom")
        child = self.world(edge.number)
        columns = turned(child, np.array([list(s) for s in self._posed[edge.number].subspace]).reshape(-1, 6).T)
        actuated = own if any(flags) else ()
        if forward:
            return LegLink(edge.end, joint.name, child[:3, 3], columns, actuated)
        # passed against the tree: the parent moves relative to the child
        origin = (self.world(edge.start) @ joint.placement.matrix)[:3, 3]
        return LegLink(edge.start, joint.name, origin, -twist_shift(child[:3, 3] - origin) @ columns, actuated)

    def _cut_link(self, edge: Edge, forward: bool) -> LegLink:
        loop = self.model.loops[edge.number]
        closing = loop_constraints.closings(self.model, self.q)[edge.number]
        forces = np.array([list(c.force) for c in closing.constraints]).reshape(-1, 6)
        b = self.world(loop.successor) @ loop.seat.matrix
        columns = turned(b, freedom_of(forces))
        if forward:
            return LegLink(edge.end, loop.name, b[:3, 3], columns, ())
        origin = (self.world(loop.predecessor) @ loop.placement.matrix)[:3, 3]
        return LegLink(edge.start, loop.name, origin, -twist_shift(b[:3, 3] - origin) @ columns, ())

    # ---------------------------------------------------------------- elimination

    def from_platform(self, link: LegLink) -> Array:
        """Return A_ei, which maps a link's twist to the platform frame's."""
        return twist_shift(link.origin - self.origin)

    @cached_property
    def eliminations(self) -> list[LegElimination]:
        """The eliminations of all legs, from the platform down (Saha eq. 26-28 and 31)."""
        return [self._eliminate(number, links) for number, links in enumerate(self.legs)]

    def _eliminate(self, number: int, links: Sequence[LegLink]) -> LegElimination:
        psi, share = [np.eye(6) for _ in links], [np.zeros((6, 6)) for _ in links]
        inverse = [np.zeros((0, 6)) for _ in links]
        phi = np.eye(6)
        for i in reversed(range(len(links))):
            link = links[i]
            if link.actuated or not link.columns.shape[1]:
                continue
            whole = self.from_platform(link) @ link.columns
            # p~ of Saha eq. 26, projected by the previous eliminations: the source writes that for the last joint only
            c = phi @ whole
            u, s, vt = np.linalg.svd(c, full_matrices=False)
            if s[-1] <= DEPENDENT * np.linalg.norm(whole):
                raise SingularError(
                    f"leg {number + 1} of {self.model.name!r} is singular: the motion of its passive joint "
                    f"{link.joint!r} is one of the passive joints after it, so their rates are not determined"
                )
            phi = phi - u @ u.T
            inverse[i] = (vt.T / s) @ u.T
            share[i] = link.columns @ inverse[i]
            psi[i] = np.eye(6) - share[i] @ self.from_platform(link)
        return LegElimination(psi, share, inverse, phi)

    @cached_property
    def phi(self) -> Array:
        """Sum of the legs' projectors; singular if the actuators do not hold the platform (Saha eq. 29a)."""
        return np.asarray(sum(e.phi for e in self.eliminations))

    @cached_property
    def inputs_to_twist(self) -> list[Array]:
        """Per actuated joint: twist of the platform per twist of that joint, Phi^-1 Phi_2 A_e1."""
        values, vectors = np.linalg.eigh(self.phi)
        if values[0] < SINGULAR_LEG:
            free = ", ".join(f"{x:.4g}" for x in vectors[:, 0])
            raise SingularError(
                f"{self.model.name!r} is in a singular configuration of type 2: with the actuators held its platform "
                f"can still move along the twist ({free}). See Platform.singularities"
            )
        return [
            np.linalg.solve(self.phi, self.eliminations[leg].phi @ self.from_platform(self.legs[leg][i]))
            for i, leg in self.inputs
        ]

    @cached_property
    def jacobian(self) -> Array:
        """The 6 x n matrix J with ``t_e = J theta'`` (Saha eq. 29b)."""
        columns = [m @ self.legs[leg][i].columns for m, (i, leg) in zip(self.inputs_to_twist, self.inputs, strict=True)]
        return np.concatenate([np.zeros((6, 0)), *columns], axis=1)

    # ---------------------------------------------------------------- the three matrices

    @cached_property
    def n_l(self) -> Array:
        """Lower block triangular matrix: propagation of twists along each leg (Saha eq. 32c-d)."""
        whole = np.zeros((6 * len(self.places), 6 * len(self.places)))
        place = {row: 6 * k for k, row in enumerate(self.places)}
        for leg, links in enumerate(self.legs):
            for j in range(len(links)):
                block = np.eye(6)
                for i in range(j, len(links)):
                    if i > j:
                        step = twist_shift(links[i - 1].origin - links[i].origin)
                        block = self.eliminations[leg].psi[i] @ step @ block
                    r, c = place[i, leg], place[j, leg]
                    whole[r : r + 6, c : c + 6] = block
        return whole

    @cached_property
    def n_c(self) -> Array:
        """Effect of actuated joints on the other legs, through the platform (Saha eq. 32c)."""
        whole = np.zeros((6 * len(self.places), 6 * len(self.inputs)))
        for r, (i, leg) in enumerate(self.places):
            share = self.eliminations[leg].share[i]
            for c, (k, other) in enumerate(self.inputs):
                block = share @ self.inputs_to_twist[c]
                if leg == other and k > i:
                    # not in the source: an actuated joint further up the same leg moves the platform itself
                    block = block - share @ self.from_platform(self.legs[leg][k])
                if (i, leg) == (k, other):
                    block = np.eye(6)
                whole[6 * r : 6 * r + 6, 6 * c : 6 * c + 6] = block
        return whole

    @cached_property
    def n_d(self) -> Array:
        """Block diagonal matrix of the axes of the actuated joints (Saha eq. 32c)."""
        whole = np.zeros((6 * len(self.inputs), len(self.dofs)))
        used = 0
        for c, (i, leg) in enumerate(self.inputs):
            columns = self.legs[leg][i].columns
            whole[6 * c : 6 * c + 6, used : used + columns.shape[1]] = columns
            used += columns.shape[1]
        return whole

    @cached_property
    def mass_matrix(self) -> Array:
        """N^T M N with N = N_l N_c N_d: the inertia at the actuators (Saha section 3.4), without rotors.

        Every leg ends with the platform, whose mass counts once.
        """
        n = self.n_l @ self.n_c @ self.n_d
        total = np.zeros((len(self.dofs), len(self.dofs)))
        for r, mass in enumerate(self.masses):
            own = n[6 * r : 6 * r + 6]
            total += own.T @ mass @ own
        return total

    @cached_property
    def masses(self) -> list[Array]:
        """The 6 x 6 mass matrix of each link of each leg; every leg ends with the platform, whose mass counts once."""
        found, counted = [], set[int]()
        for i, leg in self.places:
            link = self.legs[leg][i]
            found.append(np.zeros((6, 6)) if link.body in counted else self._mass(link))
            counted.add(link.body)
        return found

    def _mass(self, link: LegLink) -> Array:
        """Return a link's 6 x 6 mass matrix about its origin, in world axes."""
        pose = self.world(link.body)
        body = pack(self.model.links[link.body].inertia.articulated().to_rows(), ())
        turn = np.kron(np.eye(2), pose[:3, :3])
        shift = twist_shift(link.origin - pose[:3, 3])
        return np.asarray(shift.T @ turn @ body @ turn.T @ shift)


def freedom_of(forces: Array) -> Array:
    """Return motions on which a loop joint's constraint forces, one per row, do no work; one per column."""
    return np.asarray(np.linalg.svd(forces, full_matrices=True)[2][len(forces) :].T)


def turned(pose: Array, columns: Array) -> Array:
    """Convert motions from a frame's axes to the world's."""
    r = pose[:3, :3]
    return np.concatenate([r @ columns[:3], r @ columns[3:]])
