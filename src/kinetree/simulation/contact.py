"""Rigid contact: spots that cannot enter surfaces, with forces found from complementarity (002 sections 9.6-9.8).

Each contact adds one condition, gap >= 0, and one unknown, the normal force >= 0; where the gap
is closed and stays closed the force is free, where it opens the force is zero.  With the
generalised normals as columns of F, the accelerations of the gaps are ``C f + d`` with
``C = F^T M^-1 F`` (002 eq. 9.52) and d their values without contact forces (002 eq. 9.53).
Loops enter through further constraints ``K a + k = 0``, which are eliminated first (002 L2861):
M^-1 is replaced by what it is for motions that respect them.

Friction, which 002 leaves out, is Coulomb's: a contact that slides is pulled against its sliding
by mu times the normal force; one that does not is held by as much as needed, up to that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.jacobian import frame_columns
from ..algorithms.kinematics import configuration_rate, poses, twists
from ..arrays import as_array, flatten, pack, split
from ..engine.kernel import Kernel, trace
from ..errors import ModelError, OptionError, ShapeError, StateError, UnknownNameError
from ..mechanism import Mechanism
from ..model.tree import BASE, Model
from ..robot import Robot
from ..spatial import Motion, Scalar, Vec3
from ..spatial.dual import Dual
from .complementarity import SETTLING, NoSolutionError, Solution, Unsettled, cone_gauss_seidel, solve
from .surfaces import Ball, Grid, HeightField, Plane, Spot, Triple, touch

__all__ = [
    "Ball", "Contact", "ContactForces", "ContactState", "Grid", "HeightField", "Mobility", "Plane", "PyramidProblem",
    "RigidContacts", "Spot", "contact_rows", "contacts_at",
]  # fmt: skip

Array = np.ndarray
Constraints = Callable[[Array, Array], tuple[ArrayLike, ArrayLike]]

FRICTION_SHAPES = ("cone", "pyramid")


@dataclass(frozen=True, eq=False)
class Contact:
    """A spot of the robot that may touch a surface.

    Parameters
    ----------
    frame : str
        Body or frame the spot is fixed to.
    point : three floats
        In that frame.
    radius : float
        Of a ball around the point; 0 for the point itself.
    surface : Plane, HeightField, Grid or Ball
        The plane z = 0 by default.
    on : str, optional
        Frame that carries the surface; fixed in the world by default.  ``Contact("a", radius=0.1,
        surface=Ball(0.2), on="b")`` is ball a against ball b.
    friction : float
        Coulomb's mu.
    restitution : float
        From 0 (no rebound) to 1 (no loss); only impacts use it.
    name : str, optional
        For messages; made from the frame by default.
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
                f"contact {self.name!r}: a ball on uneven ground is at a distance that is only approximate; use "
                "points, or compliant ground (Ground)"
            )
        if not hasattr(self.surface, "gap"):
            raise OptionError(f"surface must be a Plane, HeightField, Grid or Ball, not {self.surface!r}")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            raise ModelError(f"contact {self.name!r}: friction must be zero or positive, not {self.friction!r}")
        if not 0.0 <= self.restitution <= 1.0:
            raise ModelError(f"contact {self.name!r}: restitution must be from 0 to 1, not {self.restitution!r}")

    @property
    def spot(self) -> Spot:
        """Where it is on the robot."""
        return Spot(self.frame, self.point, self.radius)


def contacts_at(spots: Sequence[Any], **options: Any) -> list[Contact]:
    """Contacts at several spots with the same properties."""
    return [
        Contact(s.frame, s.point, s.radius, **options) if isinstance(s, Spot) else Contact(s, **options) for s in spots
    ]


# ------------------------------------------------------------------ kinematics


def contact_rows(tree: Model, contacts: Sequence[Contact], q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Any]:
    """Everything the equations need of each contact, over any scalar.

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
    """Velocity of the material point of a frame's body at a place in the world, per unit of each v."""
    columns, pose = frame_columns(tree, q, frame, posed)
    arm = pose.unrotate(point - pose.translation)

    def at_point(m: Motion) -> Vec3:
        return pose.rotate(m.linear + m.angular.cross(arm))

    return [at_point(column) for column in columns]


@dataclass(frozen=True)
class ContactState:
    """Where the contacts are and how they move, for one state of the robot; index 0 is the contact.

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
class Mobility:
    """How the robot answers forces at one state: ``a = free + inverse @ Q`` for further joint forces Q.

    ``inverse`` is M^-1, or what is left of it where loops restrict the motion.
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


class RigidContacts:
    """The contacts of one robot, ready to be asked about any state.

    Parameters
    ----------
    robot : Robot
    contacts : sequence of Contact
    constraints : callable, optional
        ``constraints(q, v)`` returning ``(K, k)`` with ``K a + k = 0`` for every motion that is
        possible; the loops of a :class:`kinetree.mechanism.Mechanism` are taken by default.
    shape : {"cone", "pyramid"}
        Of the friction limit of contacts at rest.  The pyramid is solved by pivoting, which also tells
        when there is no solution; the cone is round and solved by sweeps from the pyramid's solution.
    sides : int
        Of the pyramid.
    method : str
        Solver of the complementarity problem, see :func:`kinetree.simulation.complementarity.solve`.
    gap_tolerance, speed_tolerance : float
        Gaps (m) and speeds (m/s) below which a contact counts as closed, and as not sliding.

    Examples
    --------
    ``RigidContacts(robot, [Contact("foot", friction=0.6)]).forces(q, v, tau).force``
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Contact | Sequence[Contact],
        *,
        constraints: Constraints | None = None,
        shape: str = "cone",
        sides: int = 4,
        method: str = "auto",
        gap_tolerance: float = 1e-6,
        speed_tolerance: float = 1e-6,
    ) -> None:
        self.robot, self.contacts = robot, tuple([contacts] if isinstance(contacts, Contact) else contacts)
        self.tree: Robot = robot.tree if isinstance(robot, Mechanism) else robot
        if constraints is None and isinstance(robot, Mechanism):

            def constraints(q: Array, v: Array) -> tuple[Array, Array]:
                return robot.loop_jacobian(q), robot.loop_drift(q, v)

        if not self.contacts or not all(isinstance(c, Contact) for c in self.contacts):
            raise OptionError("contacts must be a list of kinetree contacts (Contact), at least one")
        for c in self.contacts:
            body = robot.model.frame(c.frame).body
            host = BASE if c.on is None else robot.model.frame(c.on).body
            if body == host:
                raise ModelError(f"contact {c.name!r} is between two places that never move against each other")
        if shape not in FRICTION_SHAPES:
            raise UnknownNameError("shape of the friction limit", shape, FRICTION_SHAPES)
        if sides < 4 or sides % 2:
            raise OptionError(f"a friction pyramid has an even number of sides from 4, not {sides}")
        self.constraints, self.shape, self.sides, self.method = constraints, shape, sides, method
        self.gap_tolerance, self.speed_tolerance = gap_tolerance, speed_tolerance
        self.mu = np.array([c.friction for c in self.contacts])
        self._kernel = self._compiled() if robot.backend == "compiled" else None

    def _compiled(self) -> Kernel | None:
        tree, contacts = self.robot.model, self.contacts
        if self.tree._compiler is None or self.tree._compiler.rolled:
            return None
        lengths = (tree.nq, tree.nv)
        shape = (len(contacts), 19 + 3 * tree.nv)
        return Kernel(
            f"contacts of {tree.name!r}",
            lambda: trace(lambda q, v: contact_rows(tree, contacts, q, v), lengths, flatten),
            lengths,
            shape,
            None,
            ("q", "v"),
            False,
        )

    def look(self, q: ArrayLike, v: ArrayLike) -> ContactState:
        """Gaps, directions, velocities and Jacobians at one state."""
        tree = self.robot.model
        position, rate = as_array(q, (tree.nq,), "q"), as_array(v, (tree.nv,), "v")
        if position.ndim != 1 or rate.ndim != 1:
            raise ShapeError("rigid contact is solved for one state at a time, not for a batch")
        if self._kernel is not None:
            rows = np.asarray(self._kernel(position, rate))
        else:
            with np.errstate(all="ignore"):
                rows = pack(contact_rows(tree, self.contacts, split(position), split(rate)), ())
        n = len(self.contacts)
        return ContactState(
            rows[:, 0],
            rows[:, 1:10].reshape(n, 3, 3),
            rows[:, 10:13],
            rows[:, 13:16],
            rows[:, 16:19],
            rows[:, 19:].reshape(n, 3, tree.nv),
        )

    def mobility(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None, wrenches: Any = None) -> Mobility:
        """Accelerations without contact forces, and how joint forces change them."""
        robot = self.tree
        inverse = robot.inverse_mass_matrix(q)
        forces = np.zeros(robot.nv) if tau is None else as_array(tau, (robot.nv,), "tau")
        free = inverse @ (forces - robot.bias_force(q, v, wrenches))
        if self.constraints is None:
            return Mobility(inverse, free)
        rows, bias = self.constraint_rows(np.asarray(q, dtype=float), np.asarray(v, dtype=float))
        answer = inverse @ rows.T
        grip = answer @ np.linalg.pinv(rows @ answer, rcond=1e-11, hermitian=True)
        return Mobility(inverse - grip @ answer.T, free - grip @ (rows @ free + bias))

    def constraint_rows(self, q: Array, v: Array) -> tuple[Array, Array]:
        """K and k of the loops, checked; no rows where there are none."""
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
        """Accelerations and contact forces at one state.

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
            If a closed contact is approaching: the impact comes first.
        NoSolutionError
            If there are no contact forces that satisfy all conditions.
        """
        state = self.look(q, v)
        touching = self.touching(state)
        hit = touching & (state.velocity[:, 0] < -self.speed_tolerance)
        if np.any(hit):
            k = int(np.flatnonzero(hit)[0])
            raise StateError(
                f"contact {self.contacts[k].name!r} is closed and approaching at {-state.velocity[k, 0]:.3g} m/s: an "
                "impact has to be resolved first, see kinetree.simulation.impact"
            )
        closed = np.flatnonzero(touching & (state.velocity[:, 0] <= self.speed_tolerance))
        return self.solve(state, self.mobility(q, v, tau, wrenches), closed)

    def touching(self, state: ContactState) -> Array:
        """Which gaps are closed."""
        return np.asarray(state.gap <= self.gap_tolerance)

    def solve(self, state: ContactState, mobility: Mobility, closed: Array) -> ContactForces:
        """Forces of the contacts in ``closed``, some of which may break."""
        sliding = self.sliding_directions(state, closed)
        local = np.zeros((len(self.contacts), 3))
        if closed.size:
            local[closed] = self._complementary(state, mobility, closed, sliding)
        return self.result(state, mobility, closed, sliding, local)

    def sliding_directions(self, state: ContactState, closed: Array) -> Array:
        """Unit vectors along the tangents for contacts that slide, NaN for the others."""
        along = state.velocity[closed, 1:]
        speed = np.linalg.norm(along, axis=1, keepdims=True)
        slides = (speed > self.speed_tolerance) & (self.mu[closed, None] > 0.0)
        return np.where(slides, along / np.where(slides, speed, 1.0), np.nan)

    def result(
        self, state: ContactState, mobility: Mobility, closed: Array, sliding: Array, local: Array
    ) -> ContactForces:
        """Accelerations and modes that belong to given forces along normals and tangents."""
        joint_forces = np.einsum("ki,kij->j", local, state.jacobian)
        acceleration = mobility.free + mobility.inverse @ joint_forces
        n = len(self.contacts)
        opening = np.full(n, np.nan)
        rates = state.jacobian @ acceleration + state.bias
        size = 1e-8 * max(
            1.0, float(np.max(np.abs(state.bias), initial=0.0)), float(np.max(np.abs(mobility.free), initial=0.0))
        )
        mode = ["open"] * n
        pushing = local[:, 0] > 1e-6 * float(
            np.max(local[:, 0], initial=0.0)
        )  # rates of those are zero but for rounding
        held = np.linalg.norm(local[:, 1:], axis=1) if self.shape == "cone" else np.abs(local[:, 1:]).sum(axis=1)
        inside = held < (1.0 - 1e-6) * self.mu * local[:, 0]
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

    def _complementary(self, state: ContactState, mobility: Mobility, closed: Array, sliding: Array) -> Array:
        """Forces along normal and tangents of the closed contacts."""
        rows = state.jacobian[closed]
        rates = rows @ mobility.free + state.bias[closed]
        problem = PyramidProblem.build(rows, mobility.inverse, rates, self.mu[closed], sliding, self.sides)
        return self.resolve(problem, closed)

    def resolve(self, problem: PyramidProblem, closed: Array) -> Array:
        """Solve one problem of some contacts with the chosen solver and shape of friction limits."""
        try:
            local = problem.forces(solve(problem.matrix, problem.offset, self.method))
            return problem.cone(local) if self.shape == "cone" and problem.at_rest.size else local
        except NoSolutionError as reason:
            names = ", ".join(self.contacts[i].name for i in closed)
            raise NoSolutionError(f"contacts {names}: {reason}") from reason


@dataclass(frozen=True)
class PyramidProblem:
    """Contacts with friction as one linear complementarity problem.

    Unknowns: the normal forces; for each contact at rest with friction, the forces along the sides of
    its pyramid; and its sliding acceleration (or speed, for impacts), which is zero unless the friction
    is at its limit.  A contact that slides has its friction tied to the normal force.

    Attributes
    ----------
    matrix, offset : ndarray
        Of the complementarity problem.
    at_rest : ndarray of int
        Contacts whose friction is unknown.
    """

    matrix: Array
    offset: Array
    at_rest: Array
    directions: Array
    mu: Array
    sliding: Array
    full: Array
    rates: Array
    pressure: Array | None = None

    @classmethod
    def build(
        cls, jacobian: Array, inverse: Array, rates: Array, mu: Array, sliding: Array, sides: int
    ) -> PyramidProblem:
        """From Jacobians (m, 3, nv), the inverse inertia, and the rates (m, 3) without contact forces."""
        m = len(mu)
        flat = jacobian.reshape(3 * m, -1)
        full = flat @ inverse @ flat.T
        at_rest = np.flatnonzero((mu > 0.0) & np.isnan(sliding[:, 0]))
        angles = 2.0 * np.pi * np.arange(sides) / sides
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
        directions[np.abs(directions) < 1e-15] = 0.0
        r = at_rest.size
        # pressed maps unknown forces to forces along normal and tangents; felt picks the conditions' rates
        pressed = np.zeros((3 * m, m + r * sides))
        felt = np.zeros((m + r * sides, 3 * m))
        for i in range(m):
            pressed[3 * i, i] = felt[i, 3 * i] = 1.0
            if mu[i] > 0.0 and not np.isnan(sliding[i, 0]):
                pressed[3 * i + 1 : 3 * i + 3, i] = -mu[i] * sliding[i]
        for k, i in enumerate(at_rest.tolist()):
            own = slice(m + k * sides, m + (k + 1) * sides)
            pressed[3 * i + 1 : 3 * i + 3, own] = directions.T
            felt[own, 3 * i + 1 : 3 * i + 3] = directions
        size = m + r * sides + r
        matrix, offset = np.zeros((size, size)), np.zeros(size)
        top = m + r * sides
        matrix[:top, :top] = felt @ full @ pressed
        offset[:top] = felt @ rates.ravel()
        for k, i in enumerate(at_rest.tolist()):
            own = slice(m + k * sides, m + (k + 1) * sides)
            matrix[own, top + k] = 1.0
            matrix[top + k, own] = -1.0
            matrix[top + k, i] = mu[i]
        return cls(matrix, offset, at_rest, directions, mu, sliding, full, rates)

    def forces(self, solution: Solution) -> Array:
        """Forces (m, 3) along normal and tangents."""
        m, sides = self.mu.size, len(self.directions)
        local = np.zeros((m, 3))
        local[:, 0] = solution.force[:m]
        slides = ~np.isnan(self.sliding[:, 0]) & (self.mu > 0.0)
        local[slides, 1:] = -self.mu[slides, None] * local[slides, :1] * self.sliding[slides]
        for k, i in enumerate(self.at_rest.tolist()):
            local[i, 1:] = solution.force[m + k * sides : m + (k + 1) * sides] @ self.directions
        return local

    def with_pressure(self, pressure: Array) -> PyramidProblem:
        """The same where normal forces (or impulses) act already: they count for the friction limit."""
        offset = self.offset.copy()
        offset[offset.size - self.at_rest.size :] += self.mu[self.at_rest] * pressure[self.at_rest]
        return replace(self, offset=offset, pressure=pressure)

    def cone(self, start: Array) -> Array:
        """The same with round cones, from the pyramids' forces.

        Sweeps find out what each contact does; with that known the forces follow from linear equations,
        which are kept if they satisfy all conditions.  Only where they do not (redundant contacts) must
        the sweeps go on until they settle.
        """
        known = np.where((self.mu > 0.0)[:, None], self.sliding, np.nan)
        for sweeps in (100, 1000):
            try:
                return self._swept(known, start, sweeps)
            except Unsettled as reached:
                start = reached.force.reshape(-1, 3)
                better = self._polished(known, start)
                if better is not None:
                    return better
        return self._swept(known, start, SETTLING)

    def _swept(self, known: Array, start: Array, sweeps: int) -> Array:
        found = cone_gauss_seidel(
            self.full, self.rates.ravel(), self.mu, known, given=self.pressure, start=start.ravel(), sweeps=sweeps
        )
        return found.force.reshape(-1, 3)

    def _polished(self, known: Array, rough: Array) -> Array | None:
        """Exact forces with the modes of approximate ones, or None where those modes do not hold."""
        m = self.mu.size
        given = np.zeros(m) if self.pressure is None else self.pressure
        pressing = rough[:, 0] > 1e-9 * max(float(np.max(rough[:, 0])), 1e-300)
        limit, size = self.mu * (rough[:, 0] + given), np.linalg.norm(rough[:, 1:], axis=1)
        slides = (self.mu > 0.0) & (~np.isnan(known[:, 0]) | (size >= limit * (1.0 - 1e-6)))
        sticks = (self.mu > 0.0) & ~slides
        along = np.where(np.isnan(known), -rough[:, 1:] / np.maximum(size, 1e-300)[:, None], known)
        scale = float(np.max(np.abs(self.rates))) + 1e-300
        for _ in range(20):
            force = self._with_modes(pressing, sticks, slides, along, given)
            rates = (self.full @ force.ravel()).reshape(m, 3) + self.rates
            speed = np.linalg.norm(rates[:, 1:], axis=1)
            turned = np.where((slides & np.isnan(known[:, 0]) & (speed > 1e-9 * scale))[:, None],
                              rates[:, 1:] / np.maximum(speed, 1e-300)[:, None], along)  # fmt: skip
            change, along = float(np.max(np.abs(turned - along))), turned
            if change < 1e-12:
                break
        limit = self.mu * (force[:, 0] + given)
        bound = 1e-9 * max(float(np.max(np.abs(force))), 1e-300)
        holds = (
            np.all(force[:, 0] >= -bound)
            and np.all(rates[:, 0] >= -1e-9 * scale)
            and np.all(np.abs(rates[pressing, 0]) <= 1e-9 * scale)
            and np.all(np.linalg.norm(force[:, 1:], axis=1) <= limit + bound)
            and np.all(speed[sticks & (pressing | (given > 0.0))] <= 1e-9 * scale)
            and change < 1e-9
        )
        return np.where(np.arange(3) == 0, np.maximum(force, 0.0), force) if holds else None

    def _with_modes(self, pressing: Array, sticks: Array, slides: Array, along: Array, given: Array) -> Array:
        """Forces when each contact is told what to do."""
        m = self.mu.size
        columns = np.zeros((3 * m, 0))
        rows: list[int] = []
        fixed = np.zeros((m, 3))
        fixed[slides, 1:] = -self.mu[slides, None] * given[slides, None] * along[slides]
        for k in range(m):
            for i in range(3):
                if not ((i == 0 and pressing[k]) or (i > 0 and sticks[k] and (pressing[k] or given[k] > 0.0))):
                    continue
                unit = np.zeros((m, 3))
                unit[k, i] = 1.0
                if i == 0 and slides[k]:
                    unit[k, 1:] = -self.mu[k] * along[k]
                columns = np.column_stack([columns, unit.ravel()])
                rows.append(3 * k + i)
        rest = (self.full @ fixed.ravel() + self.rates.ravel())[rows]
        x = np.linalg.lstsq(self.full[rows] @ columns, -rest, rcond=1e-11)[0]
        return fixed + (columns @ x).reshape(m, 3)
