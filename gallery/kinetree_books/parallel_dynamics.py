"""Dynamics of a parallel manipulator from its three DeNOC matrices (Saha section 3.4).

With t = N theta', N = N_l N_c N_d, all twists of all links follow from the actuated rates alone.  After N^T has
eliminated the constraint wrenches, the Newton-Euler equations involve only these rates:

    (N^T M N) theta'' + C theta' = tau + N^T w_g,        C = N^T (M N' + Omega M E N)

as for trees (Saha eq. 14-16), with one more factor.  The rates of the factors are those of :mod:`.factor_rates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import ExplainsArguments
from kinetree.spatial.arrays import Array, as_array

from .factor_rates import FactorRates
from .parallel_denoc import ParallelDeNOC


class ParallelDynamics(ExplainsArguments):
    """Equations of motion in the actuated coordinates, at one state.

    here: The matrices at the configuration.
    v: (nv,). Velocities of all joints, which the loops allow.
    rates: (n,). Rates of the actuated freedoms, in the order of ``here.dofs``.
    """

    def __init__(self, here: ParallelDeNOC, v: Sequence[float], rates: Array) -> None:
        self.denoc, self.rates = here, rates
        self._rates = FactorRates(here, v)

    # ---------------------------------------------------------------- matrices

    @cached_property
    def n(self) -> Array:
        """N = N_l N_c N_d, six rows per link of each leg."""
        return np.asarray(self.denoc.n_l @ self.denoc.n_c @ self.denoc.n_d)

    @property
    def n_l_rate(self) -> Array:
        """Rate of N_l along the motion."""
        return self._rates.n_l

    @property
    def n_c_rate(self) -> Array:
        """Rate of N_c along the motion."""
        return self._rates.n_c

    @property
    def n_d_rate(self) -> Array:
        """Rate of N_d along the motion."""
        return self._rates.n_d

    @cached_property
    def n_cd_rate(self) -> Array:
        """Rate of N_c N_d along the motion."""
        return np.asarray(self.n_c_rate @ self.denoc.n_d + self.denoc.n_c @ self.n_d_rate)

    @cached_property
    def n_rate(self) -> Array:
        """N' = N_l' N_c N_d + N_l (N_c N_d)'."""
        return self.n_l_rate @ self.denoc.n_c @ self.denoc.n_d + self.denoc.n_l @ self.n_cd_rate

    @cached_property
    def twists(self) -> Array:
        """t = N theta': angular velocity and velocity of every link's origin, one after the other."""
        return np.asarray(self.n @ self.rates)

    @cached_property
    def t_prime(self) -> Array:
        """t' = N' theta': rates of the twists at zero acceleration of the actuators (Saha eq. 16c)."""
        return np.asarray(self.n_rate @ self.rates)

    @cached_property
    def m(self) -> Array:
        """M, block diagonal; zero for a platform that another leg has counted already."""
        return _blocks(self.denoc.masses)

    @cached_property
    def _gyroscopic(self) -> Array:
        """Omega M E."""
        found = []
        for k, mass in enumerate(self.denoc.masses):
            turn = np.kron(np.eye(2), _cross(self.twists[6 * k : 6 * k + 3]))
            found.append(turn @ mass @ np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        return _blocks(found)

    @cached_property
    def w_prime(self) -> Array:
        """w' = M t' + Omega M E t: wrenches that links need at zero acceleration of the actuators (Saha eq. 16c)."""
        return np.asarray(self.m @ self.t_prime + self._gyroscopic @ self.twists)

    # ---------------------------------------------------------------- equations

    @property
    def mass_matrix(self) -> Array:
        """N^T M N."""
        return self.denoc.mass_matrix

    @cached_property
    def m_l(self) -> Array:
        """The part of C from the propagation of twists along the legs: N^T M N_l' N_c N_d (Saha eq. 16b)."""
        return np.asarray(self.n.T @ self.m @ self.n_l_rate @ self.denoc.n_c @ self.denoc.n_d)

    @cached_property
    def m_w(self) -> Array:
        """The part of C from turning axes, N^T M N_l (N_c N_d)'; for a chain M~ W, as N_d' = W N_d (Saha eq. 16b)."""
        return np.asarray(self.n.T @ self.m @ self.denoc.n_l @ self.n_cd_rate)

    @cached_property
    def m_e(self) -> Array:
        """The part of C from turning links, N^T Omega M E N (Saha eq. 16b)."""
        return np.asarray(self.n.T @ self._gyroscopic @ self.n)

    @property
    def coriolis_matrix(self) -> Array:
        """C = M_l + M_w + M_e (Saha eq. 16b)."""
        return np.asarray(self.m_l + self.m_w + self.m_e)

    @cached_property
    def gravity_force(self) -> Array:
        """Forces of the actuators against gravity, -N^T w_g."""
        fall = np.concatenate([np.zeros(3), -np.asarray(self.denoc.model.gravity, dtype=float)])
        return np.asarray(self.n.T @ self.m @ np.tile(fall, len(self.denoc.rows)))

    @cached_property
    def bias_force(self) -> Array:
        """C theta' and gravity: N^T w' - N^T w_g."""
        return np.asarray(self.n.T @ self.w_prime + self.gravity_force)

    def inverse_dynamics(self, accelerations: ArrayLike) -> Array:
        """Return forces of the actuators for their accelerations, without friction and rotors."""
        given = as_array(accelerations, (len(self.rates),), "accelerations", "one per actuated freedom")
        return np.asarray(given @ self.mass_matrix.T + self.bias_force)

    def forward_dynamics(self, forces: ArrayLike) -> Array:
        """Return accelerations of the actuators for their forces."""
        given = as_array(forces, (len(self.rates),), "forces", "one per actuated freedom")
        return np.asarray(np.linalg.solve(self.mass_matrix, (given - self.bias_force).T).T)


def _cross(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _blocks(matrices: list[Array]) -> Array:
    whole = np.zeros((6 * len(matrices), 6 * len(matrices)))
    for k, matrix in enumerate(matrices):
        whole[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = matrix
    return whole
