"""Where a robot comes to rest under weight, springs and given forces, with some joints held.

At rest the force that weight and springs ask of the joints does nothing along the motions that are free: B^T h(q) = B^T
tau, B being a basis of what loops and held joints leave.  The way there is that of a body in honey: steps of
(S + mu M) y = -r, S the stiffness along B and M the mass, with mu falling as the residual r does.  It goes downhill
where it is far, and becomes Newton's method where it is near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, SingularError
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
    """

    q: Array
    tau: Array
    stiffness: Array
    motions: Array
    stable: bool


def equilibrium(
    robot: Robot,
    q_guess: ArrayLike | None = None,
    *,
    held: Sequence[str] | Mapping[str, ArrayLike] | None = None,
    tau: Mapping[str, float] | None = None,
    wrenches: Wrenches = None,
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
    rows = np.array([k for name in names for k in range(*robot.joint(name).v_slice.indices(robot.nv))], dtype=int)
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
    settling = _Settling(robot, names, rows, given, wrenches)
    q = settling.closed(robot.normalize(q))
    q, motions, stiffness = settling.run(q)
    still = np.zeros(robot.nv)
    forces = {j.name: given[j.v_slice] for j in robot.model.joints if not j.mimic and j.name not in names}
    whole = robot.hybrid_dynamics(
        q, still, a={name: np.zeros(robot.joint(name).nv) for name in names}, tau=forces, wrenches=wrenches
    )[1]
    sizes = np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T))
    stable = sizes.min(initial=0.0) >= -INDIFFERENT * np.abs(sizes).max(initial=0.0)
    return Equilibrium(q, whole, stiffness, motions, bool(stable))


@dataclass(frozen=True)
class _Settling:
    """How a robot with some joints held moves until nothing pushes it any more."""

    robot: Robot
    held: Sequence[str]
    rows: Array
    given: Array
    wrenches: Wrenches

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
        """Return the configuration at rest, the motions that are free there, and the stiffness along them."""
        mu, last = None, np.inf
        for _ in range(STEPS):
            motions, h = self.free(q), self.pushed(q)
            if not motions.shape[-1]:
                return q, motions, np.zeros((0, 0))
            r, stiffness = motions.T @ h, self.stiffness(q, motions)
            size = float(np.linalg.norm(r))
            if size <= BALANCED * max(1.0, float(np.abs(h).max())):
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
