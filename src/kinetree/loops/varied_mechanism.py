"""Mechanisms whose dimensions vary: thousands of designs move at once, each with its loops closed.

Where joints sit decides how loops close, so every design moves otherwise under the same drives.  Two laws are traced
with the dimensions as inputs: a Newton step along the constraints that count, and the motion with its forces,

    v = G y',    a = G y'' + g,    tau = G^T tau_tree        (Khalil eq. 10.36, 10.40, 10.48)

All designs are led to the beginning of the motion from the one that is drawn, by dimensions that change little by
little, so that each stays on its branch; then from sample to sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms import constrained, constraints
from ..algorithms.closing import ClosingTask
from ..errors import UnsupportedError
from ..model.tree import Model
from ..run.law_kernels import LawProgram, Runnable, can_compile
from ..run.parameters import Place, own_numbers, put_in
from ..spatial import Scalar, sqrt
from ..spatial.arrays import Array
from .closing import CLOSED
from .coordinates import Coordinates
from .following import FEWEST_AT_ONCE
from .newton import NewtonClosing

Scalars = list[Scalar]

LITTLE_BY_LITTLE = 8
"""Steps in which dimensions change from those drawn to those of the designs."""

DEAD_CENTER = 1e-10
"""Where the independent freedoms decide the others worse than this (a squared sine), the design is at a dead center."""


@dataclass(frozen=True)
class MovedDesigns:
    """How designs move, and what it takes; NaN from where on a design cannot follow.

    Attributes
    ----------
    q, v, a, tau : ndarray, shapes (..., T, nq), (..., T, nv)
        The batch of designs comes first, then the samples; forces are those of the independent freedoms.
    """

    q: Array
    v: Array
    a: Array
    tau: Array

    @property
    def closed(self) -> Array:
        """Which designs follow the whole motion, (...)."""
        return np.asarray(np.isfinite(self.tau).all(axis=(-1, -2)))

    def __str__(self) -> str:
        good = int(self.closed.sum())
        alone = "it follows" if good else "it cannot follow"
        whole = f"{good} of {self.closed.size} designs follow" if self.closed.ndim else alone
        return f"motion of {self.q.shape[-2]} samples: {whole} all of it; q {self.q.shape}, v, a and tau {self.v.shape}"


class VariedMechanism:
    """The two laws of a mechanism of which these parameters vary.

    Parameters
    ----------
    mechanism : Runnable
        Its model, and how laws around it are run.
    known : Coordinates
        Which constraints count, and which freedoms are independent.
    places : tuple of Place
        What varies.
    cpu : str
        What machine code is made for.
    """

    def __init__(self, mechanism: Runnable, known: Coordinates, places: tuple[Place, ...], cpu: str) -> None:
        if mechanism.model.velocity_constraints:
            raise UnsupportedError(
                f"{mechanism.model.name!r} rolls, so its configuration does not follow from its drives"
            )
        self.mechanism, self.model, self.places, self.cpu = mechanism, mechanism.model, places, cpu
        self.rows, self.independent, self.dependent = known.rows, known.independent, known.dependent
        self.size = constraints.usual_size(self.model)
        self.entries = self._entries()

    def _entries(self) -> list[int]:
        """Return where in q the independent freedoms are."""
        found = []
        for freedom in self.independent:
            joint = next(j for j in self.model.joints if not j.mimic and freedom in range(*j.v_slice.indices(10**9)))
            if joint.nq != joint.nv:
                raise UnsupportedError(
                    f"joint {joint.name!r} drives {self.model.name!r} and has a quaternion, whose motion is no list of "
                    "numbers: choose other independent freedoms with with_independent([...]), or, where this one is an "
                    "idle spin, a universal joint that takes it away"
                )
            found.append(joint.q_slice.start + freedom - joint.v_slice.start)
        return found

    def _tree(self, numbers: Scalars) -> Model:
        return put_in(self.model, self.places, numbers)

    @cached_property
    def _closing(self) -> NewtonClosing:
        """Closes the loops with the independent freedoms held."""
        weights, reach = (1.0,) * self.model.n_constraints, (1.0,) * len(self.dependent)
        task = ClosingTask(self.rows, self.dependent, weights, reach, self.size)
        return NewtonClosing(self.model, task, self.cpu, self.places, can_compile(self.mechanism))

    @cached_property
    def _moving(self) -> LawProgram:
        """Velocities, accelerations, forces, how far open and how well it serves, from the independent rates."""

        def law(q: Scalars, rate: Scalars, second: Scalars, numbers: Scalars) -> Scalars:
            tree = self._tree(numbers)
            k = constraints.constraint_matrix(tree, q)
            v, _ = constrained.allowed(k, rate, [0.0] * len(k), self.rows, self.dependent, self.size)
            a, _ = constrained.allowed(k, second, constraints.drift(tree, q, v), self.rows, self.dependent, self.size)
            tau, _, quality, left = constrained.inverse_dynamics(
                tree, q, v, a, tree.gravity, [None] * len(tree.bodies), self.rows, self.dependent
            )
            return [*v, *a, *tau, sqrt(left.gap), quality]

        n = len(self.independent)
        return self._program("a varied mechanism", law, {"q": self.model.nq, "rate": n, "second": n})

    def _program(self, name: str, law: Any, lengths: Mapping[str, int]) -> LawProgram:
        count = sum(place.size for place in self.places)
        compiled = can_compile(self.mechanism)
        return LawProgram(f"{name}, {self.model.name!r}", law, {**lengths, "numbers": count}, compiled, cpu=self.cpu)

    # ---------------------------------------------------------------- running

    def start(self, q: Array, drawn: Array, numbers: Array, threads: int) -> Array:
        """Lead all designs (N, p) to a configuration with the independent freedoms of ``q``, from the one drawn."""
        lanes = np.tile(q, (len(numbers), 1))
        for share in np.linspace(0.0, 1.0, LITTLE_BY_LITTLE + 1)[1:]:
            lanes = self.close(lanes, drawn + share * (numbers - drawn), threads)
        return lanes

    def close(self, q: Array, numbers: Array, threads: int) -> Array:
        """Close configurations (N, nq) with the independent freedoms held; NaN where they do not."""
        found, done = self._closing(q, numbers, CLOSED * self.size, threads)
        return np.where(done[:, None], found, np.nan)

    def run(self, given: Array, numbers: Array, start: Array, threads: int) -> MovedDesigns:
        """Move all designs (..., p) along samples of the independent freedoms, (T, 3, n), from a closed configuration.

        That one is of the mechanism as it is drawn.
        """
        batch, numbers = numbers.shape[:-1], numbers.reshape(-1, numbers.shape[-1])
        drawn = np.concatenate([own_numbers(self.model, place) for place in self.places])
        nv, samples = self.model.nv, len(given)
        first = self.start(self._placed(start[None], given[0, 0])[0], drawn, numbers, threads)
        q = self._followed_path(first, given[:, 0], numbers, threads).reshape(-1, self.model.nq)
        rate, second = (np.tile(given[:, i], (len(numbers), 1)) for i in (1, 2))
        every = {"q": q, "rate": rate, "second": second, "numbers": np.repeat(numbers, samples, axis=0)}
        found = self._moving(every, threads)
        usable = (found[:, -2] <= CLOSED * self.size) & (found[:, -1] > DEAD_CENTER)
        usable = np.logical_and.accumulate(usable.reshape(-1, samples), axis=-1).reshape(-1, 1)  # there is no way back
        parts = (q, *(found[:, k * nv : (k + 1) * nv] for k in range(3)))
        return MovedDesigns(*(np.where(usable, x, np.nan).reshape(*batch, samples, x.shape[-1]) for x in parts))

    def _followed_path(self, q: Array, path: Array, numbers: Array, threads: int) -> Array:
        """Return configurations (N, T, nq) of designs along a path (T, n) of the independent freedoms, from its first.

        Samples are found from one configuration of each design, as many at once as lead from one to the next.
        """
        designs, nq = len(numbers), self.model.nq
        out = np.full((designs, len(path), nq), np.nan)
        out[:, 0], k, ahead = q, 1, len(path)
        while k < len(path):
            goals = path[k : k + ahead]
            count = len(goals)
            lanes, own = np.repeat(out[:, k - 1], count, axis=0), np.repeat(numbers, count, axis=0)
            found = self.close(self._placed(lanes, np.tile(goals, (designs, 1))), own, threads).reshape(-1, count, nq)
            before = np.concatenate([out[:, k - 1, None], found[:, :-1]], axis=1).reshape(-1, nq)
            way = np.tile(np.diff(path[k - 1 : k + count], axis=0), (designs, 1))
            good = self._closing.follows(before, found.reshape(-1, nq), way[:, self._order], own)
            good = np.logical_and.accumulate(good.reshape(designs, count), axis=1)
            lost = ~np.isfinite(out[:, k - 1]).all(axis=-1)
            reached = int(good[~lost].sum(axis=1).min(initial=count))
            if reached == 0:  # the sample is far, or some designs end here: it is taken as it is found
                reached = 1
            out[:, k : k + reached] = found[:, :reached]
            k, ahead = k + reached, max(FEWEST_AT_ONCE, 2 * reached)
        return out

    @cached_property
    def _order(self) -> list[int]:
        """Of the independent freedoms, by their places in v."""
        return [int(i) for i in np.argsort(self.independent)]

    def _placed(self, q: Array, position: Array) -> Array:
        q = q.copy()
        q[:, self.entries] = position
        return q
