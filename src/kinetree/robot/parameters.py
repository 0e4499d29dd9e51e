"""What a robot's parameters are, and what they do: the table, regressors.

Each method is one call into an algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from ..algorithms.algorithm import ALL, check_parameters
from ..model import parameters as parameter_tables
from ..model.parameters import ParameterTable
from ..run.direct import direct
from .description import Array
from .dynamics import Dynamics


class Parametrized(Dynamics):
    """The part of :class:`kinetree.Robot` that knows its parameters."""

    def parameters(self) -> ParameterTable:
        """Return the robot's parameters: names, values and units, in the order of the columns of :meth:`regressor`.

        First, for every body in the order of :attr:`body_names`, its inertia about the origin of its frame and along
        its axes (``link.XX``, ``XY``, ``XZ``, ``YY``, ``YZ``, ``ZZ``), first moments (``MX``, ``MY``, ``MZ``) and
        mass (``M``); then for all degrees of freedom ``joint.rotor_inertia`` as it is felt at the joint, then
        ``damping`` (viscous friction), ``friction`` (Coulomb) and ``offset`` (a constant force).  A joint that mimics
        another has its own.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> robot.parameters()["bob.MZ"]
        -1.0
        """
        return parameter_tables.parameters(self.model)

    @direct
    def regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        friction: bool = False,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the matrix Y that maps the parameters to the joint forces of a motion.

        ``Y @ robot.parameters().values`` is ``robot.inverse_dynamics(q, v, a)``, with ``friction`` or without.

        Parameters
        ----------
        q, v, a : array_like, shapes (..., nq), (..., nv), (..., nv)
        parameters : sequence of str, optional
            Names of the columns that are wanted, in the order wanted; all by default.
        friction : bool
            Fill the columns of damping, Coulomb friction and offset, which are zero otherwise.
        out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., nv, p)

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> robot.regressor([0.0], [0.0], [1.0], parameters=["bob.YY", "bob.MX"])
        array([[1.  , 9.81]])
        """
        self._need_tree("regressor")
        return self._linear("regressor", parameters, {"friction": bool(friction)}, out, threads, q=q, v=v, a=a)

    def _linear(
        self, name: str, parameters: Any, options: dict[str, Any], out: Array | None, threads: int, **state: Any
    ) -> Array:
        """Evaluate a regressor."""
        chosen = {"parameters": check_parameters(self.model, parameters), **options}
        return self.evaluator.run(name, chosen, out=out, threads=threads, **state)
