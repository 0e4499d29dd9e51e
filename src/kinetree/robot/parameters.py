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

    @direct
    def joint_momentum_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the matrix that maps the parameters to the momenta of the joints, M v.

        Their rate is the joint forces less the slope of the energies, so that forces can be fitted over an interval
        without accelerations.

        Returns
        -------
        ndarray, shape (..., nv, p)
        """
        self._need_tree("joint_momentum_regressor")
        return self._linear("joint_momentum_regressor", parameters, {}, out, threads, q=q, v=v)

    @direct
    def momentum_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the matrix that maps the parameters to the momentum about the world's origin, in world axes.

        About the center of mass, which depends on the parameters itself, the momentum is no linear function of them.

        Returns
        -------
        ndarray, shape (..., 6, p)
            Angular rows first, as in ``momentum(q, v, about="origin")``.
        """
        return self._linear("momentum_regressor", parameters, {}, out, threads, q=q, v=v)

    @direct
    def kinetic_energy_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        parameters: Sequence[str] | str = ALL,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Return the row that maps the parameters to the kinetic energy.

        Returns
        -------
        ndarray, shape (..., p)
        """
        return self._linear("kinetic_energy_regressor", parameters, {}, out, threads, q=q, v=v)

    @direct
    def potential_energy_regressor(
        self, q: ArrayLike, *, parameters: Sequence[str] | str = ALL, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return the row that maps the parameters to the potential energy.

        Returns
        -------
        ndarray, shape (..., p)
        """
        return self._linear("potential_energy_regressor", parameters, {}, out, threads, q=q)

    @direct
    def power_regressor(
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
        """Return the row that maps the parameters to the power of the joint forces of a motion.

        Without friction that is the rate of kinetic plus potential energy.

        Returns
        -------
        ndarray, shape (..., p)
            ``v @ robot.regressor(q, v, a)``, found without that matrix.
        """
        return self._linear("power_regressor", parameters, {"friction": bool(friction)}, out, threads, q=q, v=v, a=a)

    def _linear(
        self, name: str, parameters: Any, options: dict[str, Any], out: Array | None, threads: int, **state: Any
    ) -> Array:
        """Evaluate a regressor."""
        chosen = {"parameters": check_parameters(self.model, parameters), **options}
        return self.evaluator.run(name, chosen, out=out, threads=threads, **state)
