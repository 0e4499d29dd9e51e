"""Where a robot comes to rest under weight, springs and given forces, with some joints held.

At rest the force that weight and springs ask of the joints does nothing along the motions that are free: B^T h(q) = B^T
tau, B being a basis of what loops and held joints leave.  The way there is that of a body in honey: steps of
(S + mu M) y = -r, S the stiffness along B and M the mass, with mu falling as the residual r does.  It goes downhill
where it is far, and becomes Newton's method where it is near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from ..errors import OptionError, SingularError
from ..io.tables.text import TextTable
from ..robot.mechanism import Mechanism
from ..robot.robot import Robot, require_robot
from ..run.wrenches import Wrenches
from ..spatial.arrays import as_array

Array = np.ndarray

BALANCED = 1e-9
"""Residuals below this part of the forces that are there (at least 1 N or N m) are none."""

FIRST, LONGEST = 0.05, 0.3
"""How far the first step goes, and any, in radians or metres."""

ASIDE = 1e-4
"""How far stiffness is measured, in radians or metres."""

INDIFFERENT = 1e-7
"""Stiffnesses below this part of the largest are none."""

ON_STOP = 1e-9
"""How far beyond a limit is still on it, in radians or metres."""

STEPS = 300


@dataclass(frozen=True)
class Equilibrium:
    """A configuration at rest, and what holds it.

    Attributes
    ----------
    q : ndarray (nq,)
    tau : ndarray (nv,)
        Forces of all joints: of held ones what holds them, of others what was given.
    stiffness : ndarray (m, m)
        Along the columns of ``motions``.
    motions : ndarray (nv, m)
        What is free to move.
    stable : bool
        Whether nothing pushes it farther when it is moved a little; what is indifferent, such as a rod that spins
        between two balls, counts as stable.
    frequencies : ndarray (m,)
        Natural frequencies of small swings about it without friction, in Hz, the lowest first: zero of what is
        indifferent, NaN of what is not stable.
    shapes : ndarray (nv, m)
        How the joints swing with each, as columns; the largest entry is one.
    stops : dict of str to float
        Joints that rest on a limit of theirs, with the force of the stop, which is part of ``tau``.
    names : tuple of str
        Of the freedoms.
    """

    q: Array
    tau: Array
    stiffness: Array
    motions: Array
    stable: bool
    frequencies: Array = field(default_factory=lambda: np.zeros(0))
    shapes: Array = field(default_factory=lambda: np.zeros((0, 0)))
    stops: dict[str, float] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def table(self) -> TextTable:
        """What holds each freedom, and how it takes part in each natural frequency."""
        swings = [f"{f:.4g} Hz" if np.isfinite(f) else "unstable" for f in self.frequencies]
        rows = [
            (name, "stop" if name in self.stops else "", float(self.tau[k]), *map(float, self.shapes[k]))
            for k, name in enumerate(self.names)
        ]
        title = f"{'stable' if self.stable else 'unstable'} equilibrium; forces in N, N m, and shapes of natural swings"
        return TextTable(("joint", "on its", "force", *swings), rows, title, "equilibrium.tau and .shapes have all")

    def __str__(self) -> str:
        where = ", ".join(f"{x:.6g}" for x in self.q)
        return f"{self.table}\nq = [{where}]"

    def _repr_html_(self) -> str:
        return self.table.html()


def equilibrium(
    robot: Robot,
    q_guess: ArrayLike | None = None,
    *,
    held: Sequence[str] | Mapping[str, ArrayLike] | None = None,
    tau: Mapping[str, float] | None = None,
    wrenches: Wrenches = None,
    limits: bool = True,
) -> Equilibrium:
    """Return where a robot comes to rest: static equilibrium under weight, springs and forces.

    Parameters
    ----------
    robot : Robot or Mechanism
    q_guess : array_like, shape (nq,), optional
        From where it settles; a mechanism is closed there.  The neutral configuration or, with loops,
        ``robot.assembled()`` by default.
    held : sequence of joint names, or mapping from joint name to position
        Joints that keep their place; all that have a motor by default.
    tau : mapping from joint name to force
        That act at joints which are not held, along their freedoms; none by default.
    wrenches
        Loads, as for inverse dynamics.
    limits : bool
        Whether joints rest on their position limits (default), or go beyond.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("flap")
    >>> spring = dict(stiffness=20.0, spring_rest=0.0, actuated=False)
    >>> _ = b.body("flap", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), **spring)
    >>> found = kt.equilibrium(b.build())
    >>> round(float(found.q[0]), 4), found.stable
    (0.2383, True)
    """
    require_robot(robot)
    if isinstance(held, str):
        raise OptionError(f"held is a list of names of joints; for a single one write [{held!r}]")
    motors = [j.name for j in robot.model.joints if j.actuated and not j.mimic]
    names = motors if held is None else list(held)
    for name in names:
        robot.joint(name)
    given = np.zeros(robot.nv)
    for name, force in (tau or {}).items():
        if name in names:
            raise OptionError(f"joint {name!r} is held, so its force is an answer: leave it out of tau, or hold others")
        given[robot.joint(name).v_slice] = as_array(force, (), f"the force of {name!r}")
    start = robot.neutral() if not isinstance(robot, Mechanism) else robot.assembled()
    q = np.array(start if q_guess is None else as_array(q_guess, (robot.nq,), "q_guess"), dtype=float)
    if q.ndim != 1:
        raise OptionError(f"one configuration settles at a time: q_guess has shape {q.shape}")
    if isinstance(held, Mapping):
        for name, place in held.items():
            q[robot.joint(name).q_slice] = as_array(place, (), f"the position of {name!r}")
    stops: dict[str, tuple[float, int]] = {}
    for _ in range(2 * len(robot.model.joints) + 1):
        settled = _settled(robot, [*names, *stops], given, wrenches, q, limits)
        on_stops = {name: float((settled.tau - given)[robot.joint(name).v_slice][0]) for name in stops}
        beyond = _farthest_out(robot, settled.q, [*names, *stops]) if limits else None
        leaving = [name for name, (_, side) in stops.items() if on_stops[name] * side > 0.0]  # it would have to pull
        if beyond is not None:
            name, place, side = beyond
            stops[name] = place, side
            q = np.array(settled.q)
            q[robot.joint(name).q_slice] = place
        elif leaving:
            del stops[leaving[0]]
        else:
            return replace(settled, stops=on_stops)
    raise SingularError(
        f"{robot.name!r} does not come to rest on its limits from this guess: {', '.join(stops)} come and go; begin "
        "nearer, hold some joints (held=[...]), or pass over limits (limits=False)"
    )


def _farthest_out(robot: Robot, q: Array, passed_over: Sequence[str]) -> tuple[str, float, int] | None:
    """Return the joint of one freedom that is farthest beyond a limit, that limit, and on which side."""
    found: list[tuple[float, str, float, int]] = []
    for joint in robot.model.joints:
        if joint.mimic or joint.nq != 1 or joint.name in passed_over:
            continue
        at = float(q[joint.q_slice][0])
        found.append((joint.lower[0] - at, joint.name, joint.lower[0], -1))
        found.append((at - joint.upper[0], joint.name, joint.upper[0], 1))
    most = max(found, default=(0.0, "", 0.0, 0))
    return most[1:] if most[0] > ON_STOP else None


def _settled(
    robot: Robot, names: Sequence[str], given: Array, wrenches: Wrenches, q: Array, limits: bool
) -> Equilibrium:  # fmt: skip
    """Return where a robot comes to rest with these joints held where they are, or where it passes a limit before."""
    rows = np.array([k for name in names for k in range(*robot.joint(name).v_slice.indices(robot.nv))], dtype=int)
    settling = _Settling(robot, names, rows, given, wrenches, limits)
    q, motions, stiffness = settling.run(settling.closed(robot.normalize(q)))
    still = np.zeros(robot.nv)
    forces = {j.name: given[j.v_slice] for j in robot.model.joints if not j.mimic and j.name not in names}
    whole = robot.hybrid_dynamics(
        q, still, a={name: np.zeros(robot.joint(name).nv) for name in names}, tau=forces, wrenches=wrenches
    )[1]
    even = 0.5 * (stiffness + stiffness.T)
    least = INDIFFERENT * np.abs(np.linalg.eigvalsh(even)).max(initial=0.0)
    squares, ways = eigh(even, motions.T @ settling.tree.mass_matrix(q) @ motions) if len(even) else (np.zeros(0), even)
    along = np.einsum("ji,jk,ki->i", ways, even, ways) / np.maximum((ways * ways).sum(axis=0), 1e-300)
    squares = np.where(np.abs(along) <= least, 0.0, squares)
    shapes = motions @ ways
    shapes = shapes / shapes[np.abs(shapes).argmax(axis=0), np.arange(len(squares))]
    with np.errstate(invalid="ignore"):
        frequencies = np.sqrt(squares) / (2.0 * np.pi)
    stable = bool(np.linalg.eigvalsh(even).min(initial=0.0) >= -least)
    return Equilibrium(q, whole, stiffness, motions, stable, frequencies, shapes, {}, tuple(robot.v_names))


@dataclass(frozen=True)
class _Settling:
    """How a robot with some joints held moves until nothing pushes it any more."""

    robot: Robot
    held: Sequence[str]
    rows: Array
    given: Array
    wrenches: Wrenches
    limits: bool

    @property
    def tree(self) -> Robot:
        return self.robot.tree if isinstance(self.robot, Mechanism) else self.robot

    def closed(self, q: Array) -> Array:
        if not isinstance(self.robot, Mechanism):
            return q
        return self.robot.close(q, fixed=list(self.held), limits=False)

    def free(self, q: Array) -> Array:
        """Return the motions that loops and held joints leave, (..., nv, m)."""
        nv = self.robot.nv
        g = (
            self.robot.basis(q)
            if isinstance(self.robot, Mechanism)
            else np.broadcast_to(np.eye(nv), (*q.shape[:-1], nv, nv))
        )
        fixed = g[..., self.rows, :]
        _, sizes, vt = np.linalg.svd(fixed)
        rank = int((sizes > 1e-9).sum(axis=-1).max(initial=0))
        return np.asarray(g @ np.swapaxes(vt[..., rank:, :], -1, -2))

    def pushed(self, q: Array) -> Array:
        """Return what is missing for rest at every joint, (..., nv)."""
        still = np.zeros(self.robot.nv)
        return self.tree.inverse_dynamics(q, still, still, self.wrenches) - self.given

    def stiffness(self, q: Array, motions: Array) -> Array:
        """Return how the residual along the free motions changes with these, the turning of the motions included."""
        count = motions.shape[-1]
        ways = np.concatenate([motions.T, -motions.T]) * ASIDE
        beside = self.closed(self.robot.integrate(np.broadcast_to(q, (2 * count, len(q))), ways))
        there = self.free(beside)
        along = there @ np.linalg.inv(motions.T @ there) @ (motions.T @ motions)  # of the same length along the motions
        r = (np.swapaxes(along, -1, -2) @ self.pushed(beside)[..., None])[..., 0]
        return np.asarray((r[:count] - r[count:]).T / (2.0 * ASIDE))

    def run(self, q: Array) -> tuple[Array, Array, Array]:
        """Return the configuration at rest, the motions that are free there, and the stiffness along them.

        With limits it ends where one is passed, in a configuration that is not at rest.
        """
        mu, last = None, np.inf
        for _ in range(STEPS):
            motions, h = self.free(q), self.pushed(q)
            if not motions.shape[-1]:
                return q, motions, np.zeros((0, 0))
            r, stiffness = motions.T @ h, self.stiffness(q, motions)
            size = float(np.linalg.norm(r))
            beyond = self.limits and _farthest_out(self.robot, q, self.held) is not None
            if beyond or size <= BALANCED * max(1.0, float(np.abs(h).max())):
                return q, motions, stiffness
            mass = motions.T @ self.tree.mass_matrix(q) @ motions
            if mu is None:
                mu = float(np.linalg.norm(np.linalg.solve(mass, r))) / FIRST
            elif np.isfinite(last):
                mu *= min(2.0, size / last)
            last = size
            step = -np.linalg.solve(stiffness + mu * mass, r)
            step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
            q = self.closed(self.robot.normalize(self.robot.integrate(q, motions @ step)))
        worst = self.robot.v_names[int(np.argmax(np.abs(motions @ r)))]
        raise SingularError(
            f"{self.robot.name!r} does not come to rest from this guess: after {STEPS} steps {size:.3g} (N, N m) still "
            f"push, most at {worst!r}. It may fall without end, or turn freely: hold it (held=[...]), or begin nearer"
        )
