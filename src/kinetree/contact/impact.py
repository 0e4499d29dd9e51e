"""Impact: instantaneous changes of velocity by impulses at contacts (Featherstone section 9.9).

This is Poisson's hypothesis in two phases.  *Compression*: impulses that stop every approach are found from the same
complementarity problem as contact forces with velocities in place of accelerations (Featherstone eq. 9.74-9.76).
*Decompression*: each contact returns its fraction e of the impulse of compression, and more where penetration would
remain (Featherstone eq. 9.77-9.83).

Kinetic energy never grows.  Without friction, decompression minimizes ``1/2 |g|^2_C + v_c . g`` over
g >= e g_c, and g = g_c is among the candidates, at which the value is what compression took; this
holds for any restitutions between 0 and 1.  With friction the argument fails, so the energy is
checked and all restitutions are lowered together as far as needed; the result says by how much.

All contacts compress and decompress together, an assumption that Featherstone himself calls doubtful: in a row of
touching balls, all balls behind the last one would move on together.  With ``rule="sequential"`` impacts follow one
another instead, the fastest approach first, as in Newton's cradle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError, ShapeError, UnknownNameError, explain_public
from ..spatial.arrays import Array, as_array
from .problem import ContactProblem
from .rigid_contacts import ContactState, RigidContacts

__all__ = ["RULES", "Impact", "impact"]

RULES = ("simultaneous", "sequential")

MOST_BLOWS = 1000
"""The most impacts per contact in a sequence; contacts that still approach are then stopped without rebound."""


@dataclass(frozen=True)
class Impact:
    """The result of an impact.

    Attributes
    ----------
    velocity : ndarray, shape (nv,)
        Velocities after the impact.
    local : ndarray, shape (n, 3)
        Impulses on the spots along normal and tangents, in N s.
    impulse : ndarray, shape (n, 3)
        The same along world axes.
    energy_lost : float
        Lost energy in joules, never negative (except for rounding).
    restitution_scale : float
        1 unless friction would have created energy; then all restitutions were
        multiplied by this.
    blows : int
        1 for the simultaneous rule, otherwise the number of single impacts.
    """

    velocity: Array
    local: Array
    impulse: Array
    energy_lost: float
    restitution_scale: float = 1.0
    blows: int = 1


def impact(
    contacts: RigidContacts, q: ArrayLike, v: ArrayLike, *, restitution: ArrayLike | None = None,
    rule: str = "simultaneous", closed: ArrayLike | None = None,
) -> Impact:  # fmt: skip
    """Return the velocities after an impact of all closed and approaching contacts.

    Contacts at rest and loops (``contacts.constraints``) take part: impulses are transmitted through
    them.

    Parameters
    ----------
    contacts : RigidContacts
    q, v : array_like
        State just before the impact.
    restitution : array_like, optional
        One per contact; by default those of the contacts.
    rule : {"simultaneous", "sequential"}
    closed : array of bool, optional
        Which contacts take part; by default those whose gap is within the tolerance.

    Returns
    -------
    Impact

    Raises
    ------
    StateError
        If the state is not finite, so that it is unknown which contacts collide.
    """
    if rule not in RULES:
        raise UnknownNameError("rule of impact", rule, RULES)
    rate = as_array(v, (contacts.robot.nv,), "v")
    state = contacts.look(q, rate)
    contacts.check_finite(state)
    e = _restitutions(contacts, restitution)
    taking_part = contacts.touching(state) if closed is None else np.asarray(closed, dtype=bool)
    inverse = contacts.mobility(q, rate).inverse
    inertia = contacts.tree.mass_matrix(q)
    struck = np.flatnonzero(taking_part)
    local = np.zeros((len(contacts.contacts), 3))
    if struck.size == 0 or np.all(state.velocity[struck, 0] >= 0.0):
        return Impact(rate.copy(), local, local.copy(), 0.0)
    if rule == "simultaneous":
        local[struck], scale = _together(contacts, state, inverse, inertia, rate, struck, e[struck])
        blows = 1
    else:
        local, scale, blows = _one_by_one(contacts, state, inverse, inertia, rate, struck, e)
    after = rate + inverse @ np.einsum("ki,kij->j", local, state.jacobian)
    lost = 0.5 * (rate @ inertia @ rate - after @ inertia @ after)
    return Impact(after, local, np.einsum("ki,kij->kj", local, state.axes), float(lost), scale, blows)


def _restitutions(contacts: RigidContacts, given: ArrayLike | None) -> Array:
    n = len(contacts.contacts)
    if given is None:
        return np.array([c.restitution for c in contacts.contacts])
    e = np.asarray(given, dtype=float)
    if e.shape not in ((), (n,)):
        raise ShapeError(f"restitution must be one number or {n}, one per contact, got shape {e.shape}")
    if not np.all((e >= 0.0) & (e <= 1.0)):
        raise OptionError(f"restitutions must be from 0 to 1, got {given!r}")
    return np.broadcast_to(e, (n,)).copy()


def _together(
    contacts: RigidContacts, state: ContactState, inverse: Array, inertia: Array, v: Array, struck: Array, e: Array
) -> tuple[Array, float]:
    """Return impulses (m, 3) of the colliding contacts, and the factor by which restitutions had to be lowered."""
    rows, mu = state.jacobian[struck], contacts.mu[struck]
    free = np.full((struck.size, 2), np.nan)

    def phase(velocity: Array, pressure: Array) -> Array:
        problem = ContactProblem.of(rows, inverse, rows @ velocity, mu, free)
        return contacts.resolve(problem.with_pressure(pressure), struck)

    def moved(velocity: Array, impulses: Array) -> Array:
        return np.asarray(velocity + inverse @ np.einsum("ki,kij->j", impulses, rows))

    compression = phase(v, np.zeros(struck.size))  # Featherstone eq. 9.75-9.76
    stopped = moved(v, compression)

    def rebound(scale: float) -> Array:
        back = np.zeros_like(compression)
        back[:, 0] = scale * e * compression[:, 0]  # Featherstone eq. 9.77
        return back + phase(moved(stopped, back), back[:, 0])  # Featherstone eq. 9.81-9.83

    before = 0.5 * v @ inertia @ v

    def gained(decompression: Array) -> float:
        after = moved(stopped, decompression)
        return float(0.5 * after @ inertia @ after - before)

    whole = rebound(1.0) if np.any(e > 0.0) else np.zeros_like(compression)
    allowed = 1e-12 * float(before)
    if gained(whole) <= allowed:
        return compression + whole, 1.0
    low, high = 0.0, 1.0
    best = np.zeros_like(compression)
    for _ in range(40):
        middle = 0.5 * (low + high)
        tried = rebound(middle)
        if gained(tried) <= allowed:
            low, best = middle, tried
        else:
            high = middle
    return compression + best, low


def _one_by_one(
    contacts: RigidContacts, state: ContactState, inverse: Array, inertia: Array, v: Array, struck: Array, e: Array
) -> tuple[Array, float, int]:
    """Resolve single impacts, the fastest approach first, until nothing approaches."""
    local = np.zeros((len(contacts.contacts), 3))
    now, scale = v.copy(), 1.0
    enough = 1e-12 * float(np.max(np.abs(state.velocity[struck, 0])))
    most = MOST_BLOWS * struck.size
    for blow in range(most + 1):
        approach = state.jacobian[struck, 0] @ now
        if np.min(approach) >= -enough:
            return local, scale, blow
        if blow == most:
            break
        one = struck[[int(np.argmin(approach))]]
        impulses, lowered = _together(contacts, state, inverse, inertia, now, one, e[one])
        scale = min(scale, lowered)
        local[one] += impulses
        now = now + inverse @ np.einsum("ki,kij->j", impulses, state.jacobian[one])
    rest, _ = _together(contacts, state, inverse, inertia, now, struck, np.zeros(struck.size))
    local[struck] += rest
    return local, scale, most + 1


__dir__ = explain_public(__name__)
