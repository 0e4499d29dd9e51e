"""A robot's parameters: the table, regressors, derivatives.

Each method is one call into an algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from ..algorithms.algorithm import ALL, check_parameters
from ..errors import UnsupportedError
from ..evaluation.direct_methods import direct, direct_or_by_loops
from ..evaluation.wrenches import Wrenches
from ..model import parameters as parameter_tables
from ..model.parameters import ParameterTable
from ..spatial.arrays import Array
from .handles import HandleMethods

MOST_SELECTIONS = 64
"""The most checked choices of columns that are remembered."""


class Parametrized(HandleMethods):
    """The part of :class:`kinetree.Robot` about its parameters."""

    def parameters(self) -> ParameterTable:
        """Return the robot's parameters: names, values and units, in the order of the columns of :meth:`regressor`.

        First, for every body in the order of :attr:`body_names`, its inertia about the origin of its frame and along
        its axes (``link.XX``, ``XY``, ``XZ``, ``YY``, ``YZ``, ``ZZ``), first moments (``MX``, ``MY``, ``MZ``) and
        mass (``M``); then for all degrees of freedom ``joint.rotor_inertia`` as reflected at the joint, then
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

    @direct_or_by_loops
    def regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, parameters: Sequence[str] | str = ALL,
        friction: bool = False, weights: ArrayLike | None = None, tolerance: float | None = None,
        out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix Y that maps the parameters to the joint forces of a motion.

        ``Y @ robot.parameters().values`` is ``robot.inverse_dynamics(q, v, a)``, with or without ``friction``.  With
        closed loops, rows of passive joints are zero; to fit measured forces see
        :meth:`kinetree.Mechanism.reduced_regressor`, which does not depend on which joints have motors.

        Parameters
        ----------
        q, v, a : array_like, shapes (..., nq), (..., nv), (..., nv)
            With closed loops, a motion that they allow.
        parameters : sequence of str, optional
            Names of the columns to return, in this order; all by default.
        friction : bool
            Whether to fill the columns of damping, Coulomb friction and offset, which are zero otherwise.
        weights, tolerance, out, threads
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
        if self.loops is not None:
            columns = self._columns(parameters)
            return self.loops.inverse.regressor(q, v, a, columns, friction, weights, tolerance, out, threads)
        if weights is not None or tolerance is not None:
            self._only_with_loops(weights=weights, tolerance=tolerance)
        return self._linear("regressor", parameters, {"friction": bool(friction)}, out, threads, q=q, v=v, a=a)

    @direct
    def joint_momentum_regressor(
        self, q: ArrayLike, v: ArrayLike, *, parameters: Sequence[str] | str = ALL, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix that maps the parameters to the momenta of the joints, M v.

        Their rate is the joint forces minus the derivative of the energies, so that forces can be fitted over an
        interval without accelerations.  For a mechanism, M is that of its spanning tree, as in :meth:`mass_matrix`;
        ``basis(q).T @`` this maps the parameters to :meth:`~kinetree.Mechanism.reduced_momentum`.

        Returns
        -------
        ndarray, shape (..., nv, p)
        """
        return self._linear("joint_momentum_regressor", parameters, {}, out, threads, q=q, v=v)

    @direct
    def momentum_regressor(
        self, q: ArrayLike, v: ArrayLike, *, parameters: Sequence[str] | str = ALL, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix that maps the parameters to the momentum about the world's origin, in world axes.

        About the center of mass, which itself depends on the parameters, the momentum is not linear in them.

        Returns
        -------
        ndarray, shape (..., 6, p)
            Angular rows first, as in ``momentum(q, v, about="origin")``.
        """
        return self._linear("momentum_regressor", parameters, {}, out, threads, q=q, v=v)

    @direct
    def kinetic_energy_regressor(
        self, q: ArrayLike, v: ArrayLike, *, parameters: Sequence[str] | str = ALL, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
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
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, parameters: Sequence[str] | str = ALL,
        friction: bool = False, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the row that maps the parameters to the power of the joint forces of a motion.

        Without friction that is the rate of kinetic plus potential energy.

        Returns
        -------
        ndarray, shape (..., p)
            ``v @ robot.regressor(q, v, a)``, found without that matrix.
        """
        return self._linear("power_regressor", parameters, {"friction": bool(friction)}, out, threads, q=q, v=v, a=a)

    # ---------------------------------------------------------------- derivatives by parameters

    def inverse_dynamics_by_parameters(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, parameters: str | Sequence[str] = ALL, *,
        wrenches: Wrenches = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return derivatives of a motion's joint forces, without friction, with respect to parameters.

        For names of the table these are columns of :meth:`regressor`; a mapping may contain anything that
        :meth:`inverse_dynamics` takes as ``parameters``: placements of joints, gear ratios, gravity.  With closed
        loops, placements of joints are refused, since they decide where loops close.

        Parameters
        ----------
        q, v, a, wrenches, threads
            As in :meth:`inverse_dynamics`.
        parameters : sequence of str, or mapping
            Names of the table, at the robot's own values; or parameters with the values to differentiate at.

        Returns
        -------
        ndarray, shape (..., nv, n)
            A column per number of the parameters, in the order given.
        """
        if isinstance(parameters, Mapping):
            if self.loops is not None:
                return self.loops.inverse.by_parameters(q, v, a, parameters, wrenches, threads)
            derive = self.evaluator.derivatives_by_parameters
            return derive("inverse_dynamics", {}, wrenches, parameters, threads, q=q, v=v, a=a)
        return self.regressor(q, v, a, parameters=parameters, threads=threads)

    def forward_dynamics_by_parameters(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, parameters: str | Sequence[str] = ALL, *,
        wrenches: Wrenches = None, friction: bool = False, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return derivatives of the accelerations that joint forces cause, with respect to parameters.

        For parameters of the table that is -M^-1 Y, with the regressor Y at these accelerations.

        Parameters
        ----------
        q, v, tau, wrenches, friction, threads
            As in :meth:`forward_dynamics`.
        parameters : sequence of str, or mapping
            As in :meth:`inverse_dynamics_by_parameters`; with a mapping, friction is left out.

        Returns
        -------
        ndarray, shape (..., nv, n)
        """
        if self.loops is not None:
            chosen = parameters if isinstance(parameters, Mapping) else self._columns(parameters)
            derive_exactly = self.loops.exact.forward.by_parameters
            return self.loops.prepared.handed_out(derive_exactly(q, v, tau, chosen, wrenches, friction, threads))
        if isinstance(parameters, Mapping):
            if friction:
                raise UnsupportedError(
                    "accelerations with friction are differentiated by parameters of the table only: give their names"
                )
            self.evaluator.check_pivots(parameters=parameters)
            options = {"method": self.evaluator.forward_method("articulated_body")}
            derive = self.evaluator.derivatives_by_parameters
            return derive("forward_dynamics", options, wrenches, parameters, threads, q=q, v=v, tau=tau)
        a = self.forward_dynamics(q, v, tau, wrenches, friction=friction, threads=threads)
        columns = self.regressor(q, v, a, parameters=parameters, friction=friction, threads=threads)
        return -(self.inverse_mass_matrix(q, threads=threads) @ columns)

    def _linear(
        self, name: str, parameters: Any, options: dict[str, Any], out: Array | None, threads: int, **state: Any
    ) -> Array:
        """Evaluate a regressor."""
        chosen = {"parameters": self._columns(parameters), **options}
        return self.evaluator.run(name, chosen, out=out, threads=threads, **state)

    def _columns(self, parameters: Any) -> Any:
        """Return names of columns as the algorithms take them; names that were checked before are not checked again."""
        names = parameters if isinstance(parameters, str) else tuple(parameters)
        if names not in self._known_columns:
            checked = check_parameters(self.model, parameters)
            if len(self._known_columns) >= MOST_SELECTIONS:
                self._known_columns.clear()
            self._known_columns[names] = checked
        return self._known_columns[names]

    @cached_property
    def _known_columns(self) -> dict[Any, Any]:
        return {}
