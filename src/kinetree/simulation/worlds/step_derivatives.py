"""How where a step of a world ends changes with where it begins, and with the action: exact, all directions at once."""

from __future__ import annotations

import numpy as np

from ...errors import UnsupportedError
from ...run.law_kernels import TangentProgram
from ...spatial.arrays import Array
from ..equation import Equation


class StepDerivatives:
    """Derivatives of whole steps of a tree.

    Directions go through the very steps that the states take, differentiated operation by operation: every freedom,
    every velocity and every motor is one direction, and all of a batch go side by side through vector machine code.
    Positions move along the freedoms: a quaternion has three directions, at the beginning and at the end.

    Parameters
    ----------
    equation : Equation
    integrator : str
    step : float
        Seconds of one step of the integrator.
    substeps : int
    command : slice
        Where among the numbers of a world its action is.
    threads : int
    """

    def __init__(
        self, equation: Equation, integrator: str, step: float, substeps: int, command: slice, threads: int
    ) -> None:
        if equation.tree.is_constrained:
            raise UnsupportedError(
                "steps of mechanisms with loops are not differentiated: take linearize(q, v, tau, step=...)"
            )
        if not equation.traceable:
            raise UnsupportedError(
                f"steps of {equation.robot.name!r} are not machine code, and only that is differentiated"
            )
        tree, self._robot = equation.tree, equation.robot
        self._nq, self._nv, self._nz = tree.nq, tree.nv, equation.system.nz
        self._turns = tree.nq != tree.nv  # has quaternions; all other coordinates change as their velocities say
        self._step, self._substeps, self._threads = step, substeps, threads
        count, numbers = self._nq + self._nv + self._nz, equation.numbers.shape[-1]
        self._motors = command.stop - command.start
        moved = [*range(2, 2 + count), *(2 + count + k for k in range(command.start, command.stop))]
        self._program = TangentProgram(
            f"differentiated {integrator} steps of {self._robot.name!r}", equation.steps.law(integrator),
            (1, 1, count, numbers), moved, self._robot.cpu,
        )  # fmt: skip

    def __call__(self, time: Array, state: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the derivatives of where a period from here ends, by state and by action.

        Parameters
        ----------
        time : ndarray (batch,)
        state : ndarray (batch, nq + nv + nz)
        numbers : ndarray (batch, n)

        Returns
        -------
        ndarray (batch, 2 nv + nz, 2 nv + nz), ndarray (batch, 2 nv + nz, motors)
        """
        nq, count = self._nq, 2 * self._nv + self._nz
        whole, h = state[:, None], np.full((1, 1, 1), self._step)
        change = self._directions(state)
        for k in range(self._substeps):
            t = (time + k * self._step)[:, None, None]
            new, moved = self._program(t, h, whole, numbers[:, None], direction=change, threads=self._threads)
            whole, change = new[:, :1], np.concatenate([moved, change[..., moved.shape[-1] :]], axis=-1)
        freedoms = np.swapaxes(change[..., :nq], -1, -2)
        if self._turns:  # q changes by along times the freedoms', which span every change that there is
            along = self._tangents(whole[:, 0, :nq])
            across = np.swapaxes(along, -1, -2)
            freedoms = np.linalg.solve(across @ along, across @ freedoms)
        rest = np.swapaxes(change[..., nq : nq + self._nv + self._nz], -1, -2)
        found = np.concatenate([freedoms, rest], axis=-2)
        return found[..., :count], found[..., count:]

    def _tangents(self, q: Array) -> Array:
        """Return how q changes with each freedom, (batch, nq, nv)."""
        moving = self._robot.configuration_rate(q[:, None], np.eye(self._nv))
        return np.swapaxes(moving, -1, -2)

    def _directions(self, state: Array) -> Array:
        """Return the directions in which states and actions begin to move, one after the other."""
        nq, nv, rest = self._nq, self._nv, self._nv + self._nz
        found = np.zeros((len(state), nv + rest + self._motors, nq + rest + self._motors))
        found[:, :nv, :nq] = np.swapaxes(self._tangents(state[:, :nq]), -1, -2) if self._turns else np.eye(nv)
        found[:, nv:, nq:] = np.eye(rest + self._motors)
        return found
