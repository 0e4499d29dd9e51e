"""The geometry of loops: how far they are open at a configuration, and how fast they open."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms import loop_constraints
from ...algorithms.table import find
from ...evaluation.evaluator import Evaluator
from ...spatial.arrays import Array
from ..checks import Checks
from ..limits import PositionLimits


class LoopGeometry:
    """Gaps, their rates and the matrix K of the loops of one model.

    Parameters
    ----------
    evaluator : Evaluator
        Evaluator of the model, in the precision of the robot.  Loops are closed, and ranks determined, in double
        precision, since both need more digits than float32 has.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.model = evaluator, evaluator.model
        self.name, self.nq, self.nv = self.model.name, self.model.nq, self.model.nv
        self.n_constraints, self.v_names = self.model.n_constraints, list(self.model.v_names)
        self.is_single = evaluator.precision == "single"

    @cached_property
    def exact(self) -> Evaluator:
        """The evaluator that computes in double precision."""
        if not self.is_single:
            return self.evaluator
        return Evaluator(self.model, self.evaluator.backend, "double", self.evaluator.cpu)

    def configuration(self, q: Any, name: str = "q", of_places: bool = False) -> Array:
        """Return configurations as a checked array."""
        return self.evaluator.states.configuration(q, name, of_places=of_places)

    def gaps(self, q: ArrayLike) -> Array:
        """Return how far each constraint is from being satisfied, (..., constraints)."""
        return self.exact.run("loop_gaps", q=q)

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the matrix K of ``K v = 0``, (..., constraints, nv)."""
        entries = self.exact.run("loop_jacobian_entries", q=q)
        k = np.zeros((*entries.shape[:-1], self.n_constraints * self.nv), dtype=entries.dtype)
        k[..., self._places] = entries
        return k.reshape(*entries.shape[:-1], self.n_constraints, self.nv)

    @cached_property
    def _places(self) -> Array:
        """Indices of the entries of K that are not always zero."""
        return np.array([i * self.nv + j for i, j in loop_constraints.pattern(self.model)], dtype=int)

    def position_jacobian(self, q: ArrayLike) -> Array:
        """Return K without constraints on velocities only: rolling does not hinder closing a configuration."""
        k = self.jacobian(q)
        k[..., list(self.model.velocity_constraints), :] = 0.0
        return k

    def frame_jacobian(self, q: ArrayLike, frame: str) -> Array:
        """Return angular velocity and velocity of a frame's origin along world axes, per unit of each v."""
        return self.exact.run("jacobian", {"frame": frame, "axes": "aligned"}, q=q)

    def drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return ``dK/dt v``."""
        return self.exact.run("loop_drift", q=q, v=v)

    def closure_error(self, q: ArrayLike) -> Array:
        """Return the largest gap of each state."""
        return np.abs(self.gaps(q)).max(axis=-1, initial=0.0)

    def moved(self, q: Array, v: Array) -> Array:
        """Return configurations moved along velocities for unit time, whether the loops allow these or not."""
        return self.evaluator.states.normalized(self.exact.run("integrate", q=q, v=v))

    def mass_matrix(self, q: ArrayLike, parameters: Any = None) -> Array:
        """Return the mass matrix of the spanning tree."""
        return self.exact.run("mass_matrix", find("mass_matrix").defaults, parameters=parameters, q=q)

    @cached_property
    def size(self) -> float:
        """The usual size of the singular values of K."""
        return loop_constraints.usual_size(self.model)

    @cached_property
    def checks(self) -> Checks:
        """The checks that refuse states, in words."""
        return Checks(self.model, self.gaps, self.is_single)

    @cached_property
    def limits(self) -> PositionLimits:
        """Position limits of the joints."""
        return PositionLimits(self.model)
