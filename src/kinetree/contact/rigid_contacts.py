"""Rigid contact: spots that cannot enter surfaces, with forces from complementarity (Featherstone sections 9.6-9.8).

Each contact adds one condition, gap >= 0, and one unknown, the normal force >= 0; where the gap
is closed and stays closed the force is free, where it opens the force is zero.  With the
generalized normals as columns of F, the accelerations of the gaps are ``C f + d`` with
``C = F^T M^-1 F`` (Featherstone eq. 9.52) and d their values without contact forces (Featherstone eq. 9.53).
Loops enter through further constraints ``K a + k = 0``, which are eliminated first (Featherstone section 9.7):
M^-1 is replaced by its restriction to motions that satisfy them.

Friction, which Featherstone leaves out, is Coulomb's: on a sliding contact it is mu times the normal force, opposite
to the sliding; otherwise it is as large as needed to hold the contact, up to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.jacobian import frame_columns
from ..algorithms.kinematics import configuration_rate, poses, twists
from ..errors import ModelError, NoSolutionError, OptionError, ShapeError, StateError, UnknownNameError
from ..evaluation.law_kernels import LawProgram, can_compile
from ..model.tree import BASE, Model
from ..robot.kept_programs import programs_of
from ..robot.robot import Robot, require_robot
from ..spatial import Motion, Scalar, Vec3
from ..spatial.arrays import Array, as_array
from ..spatial.dual import Dual
from ..spatial.numbers import real_number
from .complementarity import METHODS
from .problem import ContactProblem, named
from .rigid_friction import direction_of_sliding, polygon_reach
from .surfaces import Ball, Grid, HeightField, Plane, Spot, Triple, touch

__all__ = [
    "Ball", "Contact", "ContactForces", "ContactState", "ForceResponse", "Grid", "HeightField", "Plane",
    "RigidContacts", "Spot", "contact_rows", "contacts_at",
]  # fmt: skip

Constraints = Callable[[Array, Array], tuple[ArrayLike, ArrayLike]]

FRICTION_SHAPES = ("cone", "pyramid")

RESOLUTION = {"cone": 1e-9, "pyramid": 1e-8}
"""Accelerations that count as zero, relative to those of the spots without contact forces."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A spot of the robot that may touch a surface.

    Parameters
    ----------
    frame : str
        Body or frame the spot is fixed to.
    point : three floats
        Point in that frame.
    radius : float
        Radius of a ball around the point; 0 for the point itself.
    surface : Plane, HeightField, Grid or Ball
        The plane z = 0 by default.
    on : str, optional
        Frame that carries the surface; fixed in the world by default.  ``Contact("a", radius=0.1,
        surface=Ball(0.2), on="b")`` is ball a against ball b.
    friction : float
        Coulomb's mu.
    restitution : float
        From 0 (no rebound) to 1 (no loss); used only in impacts.
    name : str, optional
        Name in messages; by default made from the frame.
    """

    frame: str
    point: Triple = (0.0, 0.0, 0.0)
    radius: float = 0.0
    surface: Any = field(default_factory=Plane)
    on: str | None = None
    friction: float = 0.0
    restitution: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        at = Spot(self.frame, self.point, self.radius)
        object.__setattr__(self, "point", at.point)
        object.__setattr__(self, "name", self.name or (at.label if self.on is None else f"{at.label} on {self.on}"))
        if self.radius and isinstance(self.surface, (HeightField, Grid)):
            raise ModelError(
                f"contact {self.name!r}: the distance of a ball from uneven ground is only approximate; use "
                "points, or compliant ground (Ground)"
            )
        if not hasattr(self.surface, "gap"):
            raise OptionError(f"surface must be a Plane, HeightField, Grid or Ball, not {self.surface!r}")
        if real_number(self.friction, f"the friction of contact {self.name!r}", error=ModelError) < 0.0:
            raise ModelError(f"contact {self.name!r}: friction must be zero or positive, not {self.friction!r}")
        if not 0.0 <= real_number(self.restitution, f"the restitution of {self.name!r}", error=ModelError) <= 1.0:
            raise ModelError(f"contact {self.name!r}: restitution must be from 0 to 1, not {self.restitution!r}")

    @property
    def spot(self) -> Spot:
        """Its place on the robot."""
        return Spot(self.frame, self.point, self.radius)


def contacts_at(spots: Sequence[Any], **options: Any) -> list[Contact]:
    """Return contacts at several spots with the same properties."""
    return [
        Contact(s.frame, s.point, s.radius, **options) if isinstance(s, Spot) else Contact(s, **options) for s in spots
    ]


# ------------------------------------------------------------------ kinematics


def contact_rows(tree: Model, contacts: Sequence[Contact], q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Any]:
    """Return everything that the equations need for each contact, over any scalar.

    One row per contact: gap; normal, first and second tangent, point (world); relative velocity along
    these three directions; its rate when all accelerations are zero; the three rows of the Jacobian.
    The rate is exact: velocities are evaluated on dual numbers whose rates are those of q.
    """
    moved = [Dual(x, r) for x, r in zip(q, configuration_rate(tree, q, v), strict=True)]
    rates = [Dual(x, 0.0) for x in v]
    dual_posed = poses(tree, moved)
    dual_moving = twists(tree, moved, rates, None, dual_posed)
    posed = poses(tree, q)
    rows: list[Any] = []
    for c in contacts:
        met = touch(tree, dual_posed, dual_moving, c.spot, c.surface, c.on)
        axes = (met.normal, *met.tangents)
        along = [axis.dot(met.velocity) for axis in axes]
        point, directions = _values(met.point), [_values(axis) for axis in axes]
        columns = _point_columns(tree, q, c.frame, posed, point)
        if c.on is not None:
            columns = [a - b for a, b in zip(columns, _point_columns(tree, q, c.on, posed, point), strict=True)]
        row: list[Scalar] = [_part(met.gap)[0]]
        for vector in (*directions, point):
            row.extend(vector)
        row.extend(_part(x)[0] for x in along)
        row.extend(_part(x)[1] for x in along)
        for axis in directions:
            row.extend(axis.dot(column) for column in columns)
        rows.append(row)
    return rows


def _part(x: Any) -> tuple[Scalar, Scalar]:
    return (x.value, x.rate) if isinstance(x, Dual) else (x, 0.0)


def _values(vector: Vec3) -> Vec3:
    return Vec3(*(_part(x)[0] for x in vector))


def _point_columns(tree: Model, q: Sequence[Scalar], frame: str, posed: Any, point: Vec3) -> list[Vec3]:
    """Return the velocity of the material point of a frame's body at a place in the world, per unit of each v."""
    columns, pose = frame_columns(tree, q, frame, posed)
    arm = pose.unrotate(point - pose.translation)

    def at_point(m: Motion) -> Vec3:
        return pose.rotate(m.linear + m.angular.cross(arm))

    return [at_point(column) for column in columns]


@dataclass(frozen=True)
class ContactState:
    """Positions and velocities of the contacts at one state of the robot; the first index is the contact.

    Attributes
    ----------
    gap : ndarray, shape (n,)
    axes : ndarray, shape (n, 3, 3)
        Normal and two tangents as rows, along world axes.
    point : ndarray, shape (n, 3)
    velocity : ndarray, shape (n, 3)
        Along the normal (the rate of the gap) and the tangents.
    bias : ndarray, shape (n, 3)
        Rate of ``velocity`` when the accelerations of the robot are zero.
    jacobian : ndarray, shape (n, 3, nv)
        ``velocity = jacobian @ v``.
    """

    gap: Array
    axes: Array
    point: Array
    velocity: Array
    bias: Array
    jacobian: Array


@dataclass(frozen=True)
class ForceResponse:
    """The response of the robot to forces at one state: ``a = free + inverse @ Q`` for additional joint forces Q.

    ``inverse`` is M^-1, or its restriction to the motions that loops allow.
    """

    inverse: Array
    free: Array


@dataclass(frozen=True)
class ContactForces:
    """Accelerations and contact forces.

    Attributes
    ----------
    acceleration : ndarray, shape (nv,)
    local : ndarray, shape (n, 3)
        Force on the spot along the normal and the two tangents; zero where there is no contact.
    force : ndarray, shape (n, 3)
        The same along world axes.
    opening : ndarray, shape (n,)
        Acceleration of each gap; zero where the contact stays closed, NaN where there is none.
    mode : tuple of str
        ``"open"``, ``"breaking"``, ``"sticking"``, ``"sliding"`` or, without friction, ``"closed"``.
    """

    acceleration: Array
    local: Array
    force: Array
    opening: Array
    mode: tuple[str, ...]


ROWS = "rows of contacts"
"""The key of the rows kept for contacts that were evaluated before."""


class RigidContacts:
    """The contacts of one robot, to be evaluated at any state.

    Parameters
    ----------
    robot : Robot
    contacts : sequence of Contact
    constraints : callable, optional
        ``constraints(q, v)`` returning ``(K, k)`` with ``K a + k = 0`` for every possible motion; by default the loops
        of a :class:`kinetree.Mechanism`.
    shape : {"cone", "pyramid"}
        Shape of the friction limit.  The cone is round and solved by Newton's method (:mod:`kinetree.contact.cones`),
        the pyramid by pivoting.  Sliding friction is the force within the limit with the most
        dissipation: directly opposite to the sliding, or the corner of the pyramid most opposed to it.
    sides : int
        Number of sides of the pyramid.
    method : str
        Solver of the linear complementarity problem, for pyramids and contacts without friction,
        see :func:`kinetree.contact.complementarity.solve`; ``"auto"`` uses cones where possible.
    gap_tolerance, speed_tolerance : float
        Gaps (m) and speeds (m/s) below which a contact counts as closed, and as not sliding.

    Examples
    --------
    ``RigidContacts(robot, [Contact("foot", friction=0.6)]).forces(q, v, tau).force``
    """

    def __init__(
        self, robot: Robot, contacts: Contact | Sequence[Contact], *, constraints: Constraints | None = None,
        shape: str = "cone", sides: int = 4, method: str = "auto", gap_tolerance: float = 1e-6,
        speed_tolerance: float = 1e-6,
    ) -> None:  # fmt: skip
        require_robot(robot)
        listed = [contacts] if isinstance(contacts, Contact) or not isinstance(contacts, Iterable) else contacts
        self.robot, self.contacts = robot, tuple(listed)
        self.tree: Robot = robot.tree
        if constraints is None and robot.loops is not None:

            def constraints(q: Array, v: Array) -> tuple[Array, Array]:
                return robot.loop_jacobian(q), robot.loop_drift(q, v)

        if not self.contacts or not all(isinstance(c, Contact) for c in self.contacts):
            raise OptionError("contacts must be a list of kinetree contacts (Contact), at least one")
        for c in self.contacts:
            body = robot.model.frame(c.frame).body
            host = BASE if c.on is None else robot.model.frame(c.on).body
            if body == host:
                raise ModelError(f"contact {c.name!r} is between two places that do not move relative to each other")
        if shape not in FRICTION_SHAPES:
            raise UnknownNameError("shape of the friction limit", shape, FRICTION_SHAPES)
        if isinstance(sides, bool) or not isinstance(sides, (int, np.integer)) or sides < 4 or sides % 2:
            raise OptionError(f"a friction pyramid has an even number of sides from 4, not {sides!r}")
        if method not in METHODS:
            raise UnknownNameError("method of complementarity", method, METHODS)
        for tolerance, size in (("gap_tolerance", gap_tolerance), ("speed_tolerance", speed_tolerance)):
            if real_number(size, tolerance) < 0.0:
                raise OptionError(f"{tolerance} must be zero or positive, not {size!r}")
        self.constraints, self.shape, self.sides, self.method = constraints, shape, sides, method
        self.gap_tolerance, self.speed_tolerance = gap_tolerance, speed_tolerance
        self.mu = np.array([c.friction for c in self.contacts])

    @cached_property
    def _rows(self) -> LawProgram:
        """The rows of all contacts, see :func:`contact_rows`."""
        tree, contacts = self.robot.model, self.contacts

        def law(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
            return [x for row in contact_rows(tree, contacts, q, v) for x in row]

        name, lengths = f"contacts of {tree.name!r}", {"q": tree.nq, "v": tree.nv}
        known = programs_of(self.robot, (), ROWS, contacts)
        if ROWS not in known:
            known[ROWS] = LawProgram(name, law, lengths, can_compile(self.robot), cpu=self.robot.cpu)
        found: LawProgram = known[ROWS]
        return found

    def look(self, q: ArrayLike, v: ArrayLike) -> ContactState:
        """Return the gaps, directions, velocities and Jacobians at one state."""
        tree = self.robot.model
        position, rate = as_array(q, (tree.nq,), "q"), as_array(v, (tree.nv,), "v")
        if position.ndim != 1 or rate.ndim != 1:
            raise ShapeError("rigid contact is solved for one state at a time, not for a batch")
        n = len(self.contacts)
        rows = self._rows({"q": position, "v": rate}).reshape(n, -1)
        return ContactState(
            rows[:, 0],
            rows[:, 1:10].reshape(n, 3, 3),
            rows[:, 10:13],
            rows[:, 13:16],
            rows[:, 16:19],
            rows[:, 19:].reshape(n, 3, tree.nv),
        )

    def gaps(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return the gaps of one state or a batch, and their rates, (..., n)."""
        robot = self.tree
        rows = self._rows({"q": as_array(q, (robot.nq,), "q"), "v": as_array(v, (robot.nv,), "v")})
        rows = rows.reshape(*rows.shape[:-1], len(self.contacts), -1)
        return rows[..., 0], rows[..., 13]

    def mobility(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, wrenches: Any = None) -> ForceResponse:
        """Return the accelerations without contact forces, and their response to joint forces."""
        robot = self.tree
        inverse = robot.inverse_mass_matrix(q)
        forces = np.zeros(robot.nv) if tau is None else as_array(tau, (robot.nv,), "tau")
        free = inverse @ (forces - robot.bias_force(q, v, wrenches))
        if self.constraints is None:
            return ForceResponse(inverse, free)
        rows, bias = self.constraint_rows(np.asarray(q, dtype=float), np.asarray(v, dtype=float))
        answer = inverse @ rows.T
        grip = answer @ np.linalg.pinv(rows @ answer, rcond=1e-11, hermitian=True)
        return ForceResponse(inverse - grip @ answer.T, free - grip @ (rows @ free + bias))

    def constraint_rows(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return K and k of the loops, checked; without rows if there are no loops."""
        nv = self.robot.nv
        if self.constraints is None:
            return np.zeros((0, nv)), np.zeros(0)
        rows, bias = (np.asarray(x, dtype=float) for x in self.constraints(q, v))
        if rows.ndim != 2 or rows.shape[1] != nv or bias.shape != (rows.shape[0],):
            raise ShapeError(
                f"constraints must return K of shape (m, {nv}) and k of m numbers, got {rows.shape}, {bias.shape}"
            )
        return rows, bias

    def forces(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, wrenches: Any = None) -> ContactForces:
        """Return the accelerations and contact forces at one state.

        Parameters
        ----------
        q, v : array_like
        tau : array_like, optional
            Joint forces; zero by default.
        wrenches : optional
            Further external loads as in :meth:`kinetree.Robot.forward_dynamics`.

        Returns
        -------
        ContactForces

        Raises
        ------
        StateError
            If a closed contact is approaching, so that the impact comes first, or if the state or the
            forces are not finite, so that it is unknown which contacts are closed.
        NoSolutionError
            If there are no contact forces that satisfy all conditions.
        """
        state = self.look(q, v)
        self.check_finite(state)
        touching = self.touching(state)
        hit = touching & (state.velocity[:, 0] < -self.speed_tolerance)
        if np.any(hit):
            k = int(np.flatnonzero(hit)[0])
            raise StateError(
                f"contact {self.contacts[k].name!r} is closed and approaching at {-state.velocity[k, 0]:.3g} m/s: an "
                "impact has to be resolved first, see kinetree.contact.impact"
            )
        closed = np.flatnonzero(touching & (state.velocity[:, 0] <= self.speed_tolerance))
        with np.errstate(invalid="ignore"):  # reported below
            mobility = self.mobility(q, v, tau, wrenches)
        if not np.all(np.isfinite(mobility.free)):
            raise StateError("the accelerations without contact are not finite; check v, tau and wrenches")
        return self.solve(state, mobility, closed)

    def check_finite(self, state: ContactState) -> None:
        """Refuse states that are not finite, in which a contact is neither open nor closed."""
        lost = ~(np.isfinite(state.gap) & np.all(np.isfinite(state.velocity), axis=1))
        if np.any(lost):
            k = int(np.flatnonzero(lost)[0])
            raise StateError(
                f"contact {self.contacts[k].name!r} has a gap of {state.gap[k]:.3g} m, its spot velocities "
                f"{state.velocity[k]}: q and v must be finite"
            )

    def touching(self, state: ContactState) -> Array:
        """Return which gaps are closed."""
        return np.asarray(state.gap <= self.gap_tolerance)

    def solve(
        self, state: ContactState, mobility: ForceResponse, closed: Array, sliding: Array | None = None
    ) -> ContactForces:
        """Return the forces of the contacts in ``closed``, some of which may open; ``sliding`` is that of the state."""
        sliding = self.sliding_directions(state, closed) if sliding is None else sliding
        local = np.zeros((len(self.contacts), 3))
        if closed.size:
            local[closed] = self._complementary(state, mobility, closed, sliding)
        return self.result(state, mobility, closed, sliding, local)

    def sliding_directions(self, state: ContactState, closed: Array) -> Array:
        """Return the directions opposite to the friction of sliding contacts, along the tangents; NaN for the others.

        They are unit vectors, or points of the pyramid's polygon.
        """
        along = state.velocity[closed, 1:]
        speed = np.linalg.norm(along, axis=1, keepdims=True)
        slides = (speed > self.speed_tolerance) & (self.mu[closed, None] > 0.0)
        straight = np.where(slides, along / np.where(slides, speed, 1.0), np.nan)
        if self.shape == "pyramid":
            for k in np.flatnonzero(slides[:, 0]).tolist():
                straight[k] = direction_of_sliding(along[k], straight[k], self.sides)[0]
        return straight

    def reach(self, along: Array) -> Array:
        """Return the ``mu N`` that friction forces (n, 2) along the tangents need."""
        along = as_array(along, (2,), "along")
        return np.linalg.norm(along, axis=-1) if self.shape == "cone" else polygon_reach(along, self.sides)

    def resolution(self, state: ContactState, mobility: ForceResponse, closed: Array) -> float:
        """Return the acceleration of spots (m/s^2) that counts as zero: the solver's accuracy, with a margin."""
        without = state.jacobian[closed] @ mobility.free + state.bias[closed]
        return RESOLUTION[self.shape] * max(1.0, float(np.max(np.abs(without), initial=0.0)))

    def result(
        self, state: ContactState, mobility: ForceResponse, closed: Array, sliding: Array, local: Array
    ) -> ContactForces:
        """Return the accelerations and modes that belong to given forces along normals and tangents."""
        joint_forces = np.einsum("ki,kij->j", local, state.jacobian)
        acceleration = mobility.free + mobility.inverse @ joint_forces
        n = len(self.contacts)
        opening = np.full(n, np.nan)
        rates = state.jacobian @ acceleration + state.bias
        size = self.resolution(state, mobility, closed)
        mode = ["open"] * n
        pushing = local[:, 0] > 1e-6 * float(np.max(local[:, 0], initial=0.0))  # their rates are zero up to rounding
        inside = pushing & (self.reach(local[:, 1:]) < (1.0 - 1e-6) * self.mu * local[:, 0])  # no load, no friction
        for k, i in enumerate(closed):
            opening[i] = 0.0 if pushing[i] or abs(rates[i, 0]) <= size else rates[i, 0]
            if opening[i] > 0.0:
                mode[i] = "breaking"
            elif self.mu[i] == 0.0:
                mode[i] = "closed"
            elif not np.isnan(sliding[k, 0]) or (not inside[i] and np.linalg.norm(rates[i, 1:]) > size):
                mode[i] = "sliding"
            else:
                mode[i] = "sticking"
        force = np.einsum("ki,kij->kj", local, state.axes)
        return ContactForces(acceleration, local, force, opening, tuple(mode))

    # The complementarity problem

    def _complementary(self, state: ContactState, mobility: ForceResponse, closed: Array, sliding: Array) -> Array:
        """Return the forces along normal and tangents of the closed contacts."""
        rows = state.jacobian[closed]
        rates = rows @ mobility.free + state.bias[closed]
        problem = ContactProblem.of(rows, mobility.inverse, rates, self.mu[closed], sliding)
        return self.resolve(problem, closed)

    def resolve(self, problem: ContactProblem, closed: Array) -> Array:
        """Solve a problem with the chosen solver and shape of friction limits."""
        try:
            if self.shape == "cone" and (self.method == "auto" or np.any(problem.at_rest)):
                return problem.cone_forces()
            return problem.pyramid_forces(self.sides, self.method)
        except NoSolutionError as reason:
            raise named(reason, [self.contacts[i].name for i in closed]) from reason
