"""The motion of a robot with rigid contacts between two events, while every contact keeps its mode.

A contact is open, closed without friction, sticking or sliding.  Closed contacts are equations, which give their forces
and the robot's accelerations.  A phase also says when it ends: a gap closes, a contact force would pull, a sticking
contact exceeds its friction limit, a sliding contact comes to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..contact.rigid_contacts import ContactForces, ContactState, ForceResponse, RigidContacts
from ..contact.rigid_friction import FAST, direction_of_sliding
from ..errors import KinetreeError, NoSolutionError, message_of
from ..evaluation.law_failures import Fault
from ..spatial.arrays import Array
from .equation import Equation
from .system import GROUND

DRIFT = 1e-9
"""Largest errors of gaps (m), speeds (m/s) and quaternion lengths before they are corrected."""

NUDGE = 1e-8
"""Difference of positions (rad, m) and velocities (rad/s, m/s) for derivatives; relative for large values."""

SAMPLES = 4
"""Number of parts of a step in which gaps are checked."""


@dataclass(frozen=True)
class Mode:
    """The mode of every contact between two events.

    Attributes
    ----------
    closed : tuple of int
        Contacts that stay closed.
    sticking : frozenset of int
        Those that do not slide either.
    sliding : dict
        Direction (world) of contacts that slide against friction.
    """

    closed: tuple[int, ...] = ()
    sticking: frozenset[int] = frozenset()
    sliding: dict[int, Array] = field(default_factory=dict)

    def name(self, k: int) -> str:
        """Return the name of the mode of contact ``k``."""
        if k not in self.closed:
            return "open"
        return "sticking" if k in self.sticking else "sliding" if k in self.sliding else "closed"


ROUNDING = 8 * 2.2e-16
"""Relative rounding error of a sum of forces, after all operations."""

LULL = 0.05
"""Length in seconds of a step during which nothing happens."""


@dataclass(frozen=True)
class Instant:
    """Everything known about one instant."""

    time: float
    q: Array
    v: Array
    z: Array
    state: ContactState
    mobility: ForceResponse
    z_rate: Array
    tau: Array
    loads: Array | None


class RigidPhase:
    """The equations of motion while the modes of the contacts last.

    Parameters
    ----------
    equation : Equation
    contacts : RigidContacts

    Attributes
    ----------
    mode : Mode
        Set again at every event.
    """

    def __init__(self, equation: Equation, contacts: RigidContacts) -> None:
        self.equation, self.contacts, self.robot = equation, contacts, equation.robot
        self.mode = Mode()

    @cached_property
    def _freely(self) -> Callable[[float, Array], Array] | None:
        """The rates while all contacts are open, in one call of machine code; None if more has to be done."""
        return self.equation.rates_of_whole()

    def split(self, y: Array) -> tuple[Array, Array, Array]:
        """Return positions (with quaternions of unit length), velocities, other states."""
        nq, nv = self.robot.nq, self.robot.nv
        return self.robot.normalize(y[..., :nq]), y[..., nq : nq + nv], y[..., nq + nv :]

    def instant(self, t: float, y: Array) -> Instant:
        """Return the state of the contacts, and the robot's motion without them."""
        q, v, z, tau, loads, z_rate = self._without_contacts(t, y)
        mobility = self.contacts.mobility(q, v, tau, loads)
        return Instant(t, q, v, z, self.contacts.look(q, v), mobility, z_rate, tau, loads)

    def _without_contacts(self, t: float, y: Array) -> tuple[Array, Array, Array, Array, Array | None, Array]:
        """Return a state in parts, and what else acts on it: joint forces, loads, and rates of other states."""
        q, v, z = self.split(y)
        self.equation.n_calls += 1
        return q, v, z, *self.equation.forces(self.equation.named(t, q, v, z))

    def rates(self, t: float, y: Array) -> Array:
        """Return the rate of the whole state while the modes last."""
        if not self.mode.closed:  # contacts do not matter
            if self._freely is not None:
                return self._freely(t, y)
            q, v, _, tau, loads, z_rate = self._without_contacts(t, y)
            return np.concatenate(
                [self.robot.configuration_rate(q, v), self.contacts.mobility(q, v, tau, loads).free, z_rate]
            )
        now = self.instant(t, y)
        local, a, _ = self.acting(now)
        z_rate = now.z_rate.copy()
        z_rate[self.equation.system.place_of(GROUND)] += float(
            np.sum(local * now.state.velocity)
        )  # work of the contacts
        return np.concatenate([self.robot.configuration_rate(now.q, now.v), a, z_rate])

    def rounding(self, t: float, y: Array) -> Array:
        """Return the effect of rounding on a state within :data:`LULL`: forces of heavy bodies act on light ones.

        An integrator that required more accuracy would find no step short enough.
        """
        now = self.instant(t, y)
        force = np.linalg.norm(self.acting(now)[0], axis=1)  # the rounding error has any direction
        a = ROUNDING * np.abs(now.mobility.inverse) @ np.einsum("k,kij->j", force, np.abs(now.state.jacobian))
        work = ROUNDING * float(np.sum(force)) * LULL  # at a meter per second
        moved = np.full(now.q.size, float(np.max(a, initial=0.0)) * LULL**2)
        found = np.concatenate([moved, a * LULL, np.full(now.z.size, work)])
        return np.where(np.isfinite(found), found, 0.0)

    def slopes(self, t: float, y: Array) -> Array:
        """Return the derivatives of :meth:`rates`, for an implicit integrator that the user has chosen."""
        rates, slopes = self.rates(t, y), np.zeros((y.size, y.size))
        for i in range(y.size):
            ahead = y.copy()
            ahead[i] += NUDGE * max(1.0, abs(y[i]))
            slopes[:, i] = (self.rates(t, ahead) - rates) / (ahead[i] - y[i])
        return slopes

    def friction_slopes(self, t: float, y: Array) -> Array:
        """Return the part of :meth:`slopes` that grows without bound as sliding gets slow.

        Friction turns with its direction.

        Friction ``-mu N d(u)`` changes by ``-mu N d'(u) du`` with the velocity u along the tangents; the forces
        that keep contacts closed respond to that.
        """
        now, nq, nv = self.instant(t, y), self.robot.nq, self.robot.nv
        slopes, turned = np.zeros((y.size, y.size)), np.zeros((nv, nv))
        if self.mode.sliding:
            local = self.acting(now)[0]
            for k in self.mode.sliding:
                rows = now.state.jacobian[k, 1:]
                turned -= self.contacts.mu[k] * local[k, 0] * rows.T @ self.slides(now.state, k)[1] @ rows
            felt, _, _, _, answer = self.equations(now)
            pulled = now.mobility.inverse @ turned
            held = np.linalg.lstsq(felt @ answer, felt @ pulled, rcond=1e-11)[0]
            slopes[nq : nq + nv, nq : nq + nv] = pulled - answer @ held
        return slopes

    def slides(self, state: ContactState, k: int) -> tuple[Array, Array]:
        """Return the direction opposite to friction, along the tangents, and its derivatives by velocity."""
        sides = self.contacts.sides if self.contacts.shape == "pyramid" else 0
        return direction_of_sliding(state.velocity[k, 1:], state.axes[k, 1:] @ self.mode.sliding[k], sides)

    def held(self, now: Instant) -> tuple[Array, Array]:
        """Find forces along the contacts' axes that keep closed ones closed and sticking ones at rest.

        If contacts are redundant, these are the forces of equal contacts that yield very slightly (as in
        :mod:`kinetree.contact.cones`): they are proportional to how far each spot would sink in, which must be a
        possible motion of the robot.
        """
        local = np.zeros((len(self.contacts.contacts), 3))
        if not self.mode.closed:
            return local, now.mobility.free
        felt, spot, axis, pressed, answer = self.equations(now)
        sinks = felt @ now.mobility.inverse
        if not (np.all(np.isfinite(sinks)) and np.all(np.isfinite(answer))):
            return np.full_like(local, np.nan), np.full_like(now.mobility.free, np.nan)
        sides, sizes, _ = np.linalg.svd(sinks, full_matrices=False)
        sides = sides[:, sizes > 1e-11 * sizes[0]]
        rest = felt @ now.mobility.free + now.state.bias[spot, axis]
        matrix = sides.T @ felt @ answer @ sides
        x = sides @ np.linalg.lstsq(matrix, -sides.T @ rest, rcond=1e-11)[0]
        np.add.at(local, spot, x[:, None] * pressed)
        return local, now.mobility.free + answer @ x

    def equations(self, now: Instant) -> tuple[Array, Array, Array, Array, Array]:
        """Return the conditions of the modes, one row each, and the forces that satisfy them.

        Rows of the accelerations that must be zero; contact and axis of each; the force along that contact's axes
        per unit of what is unknown (with the friction of sliding); and the accelerations per unit (as columns).
        """
        state, mode = now.state, self.mode
        places = [(k, i) for k in mode.closed for i in ((0, 1, 2) if k in mode.sticking else (0,))]
        spot, axis = np.array(places).T
        felt, pressed = state.jacobian[spot, axis], np.eye(3)[axis]
        for k in mode.sliding:
            pressed[(spot == k) & (axis == 0), 1:] = -self.contacts.mu[k] * self.slides(state, k)[0]
        answer = now.mobility.inverse @ np.einsum("pi,pij->jp", pressed, state.jacobian[spot])
        return felt, spot, axis, pressed, answer

    def acting(self, now: Instant) -> tuple[Array, Array, bool]:
        """Return the forces and accelerations while the modes last, and whether they do.

        Usually these are the forces from the equations.  If one of them would pull or exceeds its friction limit, other
        contacts may be able to take over, which the complementarity problem decides; the modes last as long as nothing
        opens and no sticking contact begins to slide.
        """
        local, a = self.held(now)
        closed, mu = np.array(self.mode.closed, dtype=int), self.contacts.mu
        size = -1e-9 * max(float(np.max(np.abs(local))), 1e-9)
        sticking = np.array(sorted(self.mode.sticking), dtype=int)
        spare = mu[sticking] * local[sticking, 0] - self.contacts.reach(local[sticking, 1:])
        feasible = np.all(local[closed, 0] >= size) and np.all(spare >= size)
        if feasible or not np.all(np.isfinite(a)):  # the integrator detects what is not finite
            return local, a, True
        sliding = np.full((closed.size, 2), np.nan)
        for i, k in enumerate(self.mode.closed):
            if k in self.mode.sliding:
                sliding[i] = self.slides(now.state, k)[0]
        try:
            found = self.contacts.solve(now.state, now.mobility, closed, sliding)
        except NoSolutionError as problem:
            raise Fault(message_of(problem), now.time) from problem
        rates = now.state.jacobian @ found.acceleration + now.state.bias
        still = self.still(now, closed)
        lasts = np.all(np.abs(rates[closed, 0]) <= still) and np.all(np.abs(rates[sticking, 1:]) <= still)
        return (found.local, found.acceleration, True) if lasts else (local, a, False)

    def still(self, now: Instant, closed: Array) -> float:
        """Return the accelerations of spots (m/s^2) with which they still count as closed, and as sticking.

        The same values apply when modes are chosen and while they last: otherwise a slip that begins this slowly would
        be lost in the integrator's errors, and begin and end forever.
        """
        return 10.0 * self.contacts.resolution(now.state, now.mobility, closed)

    def lasts(self, now: Instant) -> bool:
        """Return whether the modes are consistent: nothing pulls, and friction is within its limit."""
        return not self.mode.closed or self.acting(now)[2]

    def remember_directions(self, y: Array) -> None:
        """Remember the directions of contacts that slide fast enough for these to be well defined."""
        if not self.mode.sliding:
            return
        q, v, _ = self.split(y)
        state = self.contacts.look(q, v)
        for k in list(self.mode.sliding):
            along = state.velocity[k, 1:]
            if np.linalg.norm(along) > FAST:
                self.mode.sliding[k] = along @ state.axes[k, 1:] / np.linalg.norm(along)

    # ------------------------------------------------------------------ how it ends

    def first_event(self, dense: Any, t0: float, t1: float) -> float | None:
        """Return the earliest event: a gap that closes, a mode that ends, or a contact that comes to rest."""
        found = [self._first_closing(dense, t0, t1)]
        late = min((t for t in found if t is not None), default=t1)

        def lasts(t: float) -> bool:
            return self.lasts(self.instant(t, dense(t)))

        try:
            if not lasts(late):
                found.append(_bisect(lasts, t0, late))
        except KinetreeError as problem:
            raise Fault(message_of(problem), late) from problem
        for k in self.mode.sliding:

            def speed(t: float, k: int = k) -> float:
                q, v, _ = self.split(dense(t))
                state = self.contacts.look(q, v)
                return float(state.velocity[k, 1:] @ (state.axes[k, 1:] @ self.mode.sliding[k]))

            if speed(late) < -DRIFT:  # less is the integrator's error, from which a starting slip recovers
                found.append(t0 if speed(t0) <= 0.0 else float(brentq(speed, t0, late, xtol=1e-15, rtol=1e-15)))
        happened = [t for t in found if t is not None]
        return min(happened) if happened else None

    def _first_closing(self, dense: Any, t0: float, t1: float) -> float | None:
        """Return the first time at which an open contact's gap goes through zero."""
        watched = [k for k in range(len(self.contacts.contacts)) if k not in self.mode.closed]
        if not watched:
            return None

        def look(t: Any) -> tuple[Array, Array]:
            q, v, _ = self.split(dense(t).T)
            return self.contacts.gaps(q, v)

        times = np.linspace(t0, t1, SAMPLES + 1)
        seen = list(zip(*look(times), strict=True))
        for i in range(SAMPLES):
            found = [_closing(look, k, times[i : i + 2], seen[i : i + 2]) for k in watched]
            if any(t is not None for t in found):
                return min(t for t in found if t is not None)
        return None

    # ------------------------------------------------------------------ how it begins

    def modes(self, now: Instant, found: ContactForces, near: Array) -> Mode:
        """Return the modes of contacts ``near`` their surfaces that belong to forces found for them."""
        closed, sticking, sliding = [], set(), {}
        rates = now.state.jacobian @ found.acceleration + now.state.bias
        still = self.still(now, near)
        for k in near.tolist():
            if found.mode[k] == "breaking":
                continue
            closed.append(k)
            if found.mode[k] == "closed":
                continue
            along, moves = now.state.velocity[k, 1:], True
            if np.linalg.norm(along) <= self.contacts.speed_tolerance:
                along = rates[k, 1:]
                moves = bool(np.max(np.abs(along)) > still)
            if found.mode[k] == "sticking" or not moves:
                sticking.add(k)
            else:
                sliding[k] = along @ now.state.axes[k, 1:] / np.linalg.norm(along)
        return Mode(tuple(closed), frozenset(sticking), sliding)

    def find_directions(self, t: float, y: Array, starting: Sequence[int]) -> None:
        """Find a direction for each slip that begins, such that its contact then accelerates in this direction.

        If contacts are redundant, forces (and, with friction, accelerations) are not unique, and those of the
        complementarity problem may differ from those with which this phase is integrated.
        """
        for tries in range(60 if starting else 0):
            now = self.instant(t, y)
            rates = now.state.jacobian @ self.acting(now)[1] + now.state.bias
            size = 1e-6 * (1.0 + float(np.max(np.abs(now.mobility.free))))
            ahead = [float(rates[k, 1:] @ now.state.axes[k, 1:] @ self.mode.sliding[k]) for k in starting]
            if tries == 0 and min(ahead) > -size:
                return  # as in the complementarity problem
            change = 0.0
            for k in starting:
                along, old = rates[k, 1:] @ now.state.axes[k, 1:], self.mode.sliding[k]
                size = float(np.linalg.norm(along))
                mixed = old + along / size if size > 0.0 else old
                new = mixed / np.linalg.norm(mixed) if np.linalg.norm(mixed) > 1e-6 else along / size
                change = max(change, float(np.max(np.abs(new - old))))
                self.mode.sliding[k] = new
            if change < 1e-11:
                return
        if starting:  # no direction sustains itself: with these forces the contacts stay at rest, if they can
            sliding, trial = self.mode, replace(self.mode, sticking=self.mode.sticking | set(starting))
            self.mode = replace(trial, sliding={k: d for k, d in sliding.sliding.items() if k not in starting})
            if not self.lasts(self.instant(t, y)):
                self.mode = sliding

    def set_right(self, y: Array, resting: Sequence[int] = (), leaving: Sequence[int] = ()) -> Array:
        """Put closed contacts (and loops) exactly where they belong, moving as little mass as possible.

        Sticking contacts and those in ``resting`` come to rest.  Those in ``leaving`` may only open: any penetration or
        approach due to rounding is removed.
        """
        q, v, z = self.split(y)
        mode, rigid = self.mode, self.contacts
        if not mode.closed and self.robot.loops is None:
            return np.concatenate([q, v, z])
        if self.robot.loops is not None:
            q, v = self.robot.project(q, v)
        inverse = rigid.mobility(q, v).inverse
        for _ in range(3 if mode.closed else 0):
            state = rigid.look(q, v)
            chosen = [*mode.closed, *(k for k in leaving if state.gap[k] < 0.0)]
            if float(np.max(np.abs(state.gap[chosen]))) <= 1e-14:
                break
            normals = state.jacobian[chosen, 0]
            q = self.robot.normalize(self.robot.integrate(q, -_least(normals, inverse, state.gap[chosen])))
        state, still = rigid.look(q, v), [*mode.sticking, *resting]
        normal, approaching = list(mode.closed), list(leaving)
        while normal:  # stopping one spot may make another approach
            rows = [state.jacobian[k, 0] for k in normal] + [state.jacobian[k, i] for k in still for i in (1, 2)]
            v = v - _least(np.array(rows), inverse, np.array(rows) @ v)
            hit = [k for k in approaching if state.jacobian[k, 0] @ v < 0.0]
            if not hit:
                break
            normal, approaching = [*normal, *hit], [k for k in approaching if k not in hit]
        return np.concatenate([q, v, z])


def _least(rows: Array, inverse: Array, rest: Array) -> Array:
    """Return the change of v with the least kinetic energy that changes ``rows @ v`` by ``rest``."""
    answer = inverse @ rows.T
    return np.asarray(answer @ np.linalg.lstsq(rows @ answer, rest, rcond=1e-11)[0])


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the last time at which a condition holds; it does not at ``high``."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def _closing(
    look: Callable[[float], tuple[Array, Array]], k: int, times: Array, seen: Sequence[tuple[Array, Array]]
) -> float | None:
    """Return when a gap passes through zero between two times, also if it opens and closes again or dips."""

    def root(which: int, low: float, high: float) -> float:
        return float(brentq(lambda t: float(look(t)[which][k]), low, high, xtol=1e-15, rtol=1e-15))

    a, b = float(times[0]), float(times[1])
    (gap_a, rate_a), (gap_b, rate_b) = ((float(gap[k]), float(rate[k])) for gap, rate in seen)
    if gap_b < -1e-13:
        if gap_a > 1e-13:
            return root(0, a, b)
        if rate_a <= 0.0:
            return a  # the gap closes again at once
        if rate_b >= 0.0:
            return None  # the gap is opening, from within the tolerance
        top = root(1, a, b)
        return root(0, top, b) if look(top)[0][k] > 0.0 else top
    if rate_a < 0.0 < rate_b and gap_a > 0.0:
        bottom = root(1, a, b)
        if look(bottom)[0][k] < -1e-13:
            return root(0, a, bottom)
    return None
