"""A system of the gallery along its prescribed motion, and how well power and energy agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kinetree.loops.constraint_forces import ConstraintForces
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.named_systems import load, motion
from kinetree.studies.system import PrescribedMotion, States


class Stencil(NamedTuple):
    """A rule for a first derivative: weights of samples to both sides, one step apart."""

    weights: Array

    @property
    def reach(self) -> int:
        """The number of samples on each side."""
        return len(self.weights) // 2

    @property
    def offsets(self) -> Array:
        """The positions of the samples, in steps."""
        return np.arange(-self.reach, self.reach + 1.0)


FIVE_POINTS = Stencil(np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0)
NINE_POINTS = Stencil(np.array([3.0, -32.0, 168.0, -672.0, 0.0, 672.0, -168.0, 32.0, -3.0]) / 840.0)


@dataclass(frozen=True)
class AlongMotion:
    """A system along its prescribed motion: positions and joint forces, sample by sample.

    Attributes
    ----------
    name : str
        Name of a system in the gallery.
    samples : int
        Number of instants, equally spaced over the motion.
    """

    name: str
    samples: int
    stencil: ClassVar[Stencil] = FIVE_POINTS
    """The rule by which the rate of the energy is computed."""

    @cached_property
    def robot(self) -> Robot:
        """The system."""
        return load(self.name)

    @cached_property
    def motion(self) -> PrescribedMotion:
        """Its motion."""
        return motion(self.name)

    @cached_property
    def time(self) -> Array:
        """Times of the samples."""
        return self.motion.grid(self.samples)

    @cached_property
    def states(self) -> States:
        """Positions, velocities and accelerations of all joints."""
        return self.motion.states(self.time)

    @cached_property
    def tau(self) -> Array:
        """Joint forces."""
        return self.robot.inverse_dynamics(*self.states)

    def torque_at(self, times: Any) -> Array:
        """Return joint forces at other times."""
        return self.robot.inverse_dynamics(*self.motion.states(times))

    @cached_property
    def power_error(self) -> float:
        """Largest difference between the power of the joint forces and the rate of energy, over the largest power."""
        first, last = self.motion.span
        h = 1e-3 * (last - first)
        t = np.linspace(first + self.stencil.reach * h, last - self.stencil.reach * h, 101)
        q, v, _ = self.motion.states(t[:, None] + h * self.stencil.offsets)
        energy = self.robot.kinetic_energy(q, v) + self.robot.potential_energy(q)
        change = (energy - energy[:, :1]) @ self.stencil.weights / h
        here = self.motion.states(t)
        power = (self.robot.inverse_dynamics(*here) * here.v).sum(axis=-1)
        return float(np.abs(power - change).max() / np.abs(power).max())


class PrescribedMechanism(AlongMotion):
    """A mechanism with closed loops along its prescribed motion: all forces in it, sample by sample."""

    stencil = NINE_POINTS

    @cached_property
    def mechanism(self) -> Robot:
        """The system."""
        return self.robot

    @cached_property
    def forces(self) -> ConstraintForces:
        """Actuator forces, multipliers and reactions."""
        return self.mechanism.constraint_forces(*self.states)

    @cached_property
    def driven(self) -> list[int]:
        """Which entries of v and tau are driven."""
        return [int(k) for k in np.flatnonzero(self.mechanism.driven)]

    @cached_property
    def torques(self) -> Callable[[float], Array]:
        """All joint forces as quintic splines through the samples."""
        from scipy.interpolate import make_interp_spline

        return make_interp_spline(self.time, self.forces.tau, k=5)  # type: ignore[no-any-return]

    def torque_at(self, times: Any) -> Array:
        """Return the forces of the driven joints at other times."""
        return np.asarray(super().torque_at(times)[..., self.driven])


def prescribed(name: str, samples: int) -> AlongMotion:
    """Return a system along its motion, as a mechanism if it has loops."""
    along = AlongMotion(name, samples)
    return along if along.robot.loops is None else PrescribedMechanism(name, samples)
