"""Base parameters: which of a robot's parameters act together, and the regrouped robot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from ..errors import OptionError
from ..former_names import former_arguments
from ..model.changes.values import generic, symbols_of_geometry
from ..model.parameters import ParameterTable
from ..model.tree import Model
from .parameters import Parametrized

if TYPE_CHECKING:
    from ..export.symbolic.parameters import Parametric
    from ..parameters.base_parameters import BaseParameters
    from ..parameters.find_base import Assembled

GEOMETRY_AS_IT_IS = 1e-12
"""Tolerance that removes only rounding such as that of cos(pi/2)."""


class BaseParameterMethods(Parametrized):
    """The part of :class:`kinetree.Robot` that groups parameters."""

    if TYPE_CHECKING:

        def _again(self, model: Model, **others: Any) -> Self: ...

    @former_arguments(near="q_guess")
    def base_parameters(
        self, method: str = "auto", *, friction: bool = False, tolerance: float = 1e-5,
        q_guess: ArrayLike | None = None, symbols: Parametric | None = None, in_between: str = "refuse",
        rotors: bool = True,
    ) -> BaseParameters:  # fmt: skip
        """Return the fewest parameters that determine the robot's torques, and what is grouped into each.

        Parameters
        ----------
        method : {"auto", "rules", "null_space", "qr"}
            ``"rules"``: those of Khalil, for hinges, slides and parallelograms.  ``"null_space"``: joint by joint, for
            every kind of joint, with numerical parts for followers and loops.  ``"qr"``: purely numerical, from torques
            of random states.  ``"auto"`` (default) propagates null spaces and says whether the rules agree.
        friction : bool
            Whether to group damping, Coulomb friction and offsets, too; in a tree each is usually a separate base
            parameter.
        tolerance : float
            Angles (rad) and distances (in lengths of the robot) below this count as zero, since files have 1.5708 for
            a right angle.  The result says if that changed something.
        q_guess : array_like, shape (nq,) or (n, nq), optional
            For a mechanism with closed loops, a configuration close to a closed one in the desired assembly mode; if
            several are given, the least singular one is used.
        symbols : Parametric, optional
            From :func:`kinetree.symbolic.with_parameters`: the robot with symbols for some of its dimensions.
            Coefficients are then expressions in these symbols, found by the rules.  The same holds if the robot itself
            has symbols without a value.
        in_between : {"refuse", "ignore"}
            What to do with effects, found numerically, that are too large for rounding and too small to count, between
            1e-12 and 1e-6 of the largest.  ``"ignore"`` neglects them; groups then reproduce torques to about that.
        rotors : bool
            Whether the rotors of joints with a motor are parameters, also where the model has none (a rotor that is not
            known may still be there); False counts links alone, as textbooks without motors do.

        Returns
        -------
        BaseParameters
            Print it; ``len``, ``names``, ``values``, ``columns``, ``matrix``, ``group(name)``, ``expressions()``.

        Raises
        ------
        UnsupportedError
            If the rules are requested and do not cover this robot.
        SingularError
            If numbers do not clearly decide which parameters count.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> robot.base_parameters().names
        ('bob.YY', 'bob.MX', 'bob.MZ')
        """
        from ..export.symbolic.parameters import Parametric
        from ..parameters import find_base

        model, notes = find_base.tidied(self.model, tolerance)
        if symbols is not None:
            symbols = replace(symbols, robot=find_base.Tidied(model))
        elif symbols_of_geometry(model):
            symbols = Parametric(find_base.Tidied(model))
        assembled = self._assembly(generic(model), q_guess)
        return find_base.base_parameters(
            model, method, friction=friction, assembled=assembled, symbols=symbols, notes=notes,
            in_between=in_between, rotors=rotors,
        )  # fmt: skip

    def _assembly(self, model: Model, q_guess: ArrayLike | None) -> Assembled | None:
        """Return an assembled configuration of a mechanism: near a given one, or with parallelograms if possible."""
        if self.loops is None:
            if q_guess is not None:
                raise OptionError(
                    f"robot {self.model.name!r} has no closed loops: q_guess says how a mechanism is assembled"
                )
            return None
        from ..parameters.closed_motions import assembled

        meant = self._again(model, precision="double").loops
        assert meant is not None
        return assembled(meant, meant.closing.ways_to_assemble(q_guess), meant.choice.coordinates.rank)

    def _grouped_parameters(self, form: str = "fewest", q_guess: ArrayLike | None = None) -> ParameterTable:
        """Return parameters with the same torques and as many zeros as possible; see :meth:`Robot.grouped`."""
        from ..parameters import regrouped

        if self.model.symbols and form == "fewest":
            raise OptionError(
                f"which form of {self.model.name!r} takes the fewest operations is counted with numbers: with symbols "
                "it is grouped(form='table') or grouped(form='symbols')"
            )
        base = self.base_parameters(tolerance=GEOMETRY_AS_IT_IS, q_guess=q_guess)
        return regrouped.regrouped(self.model, base, form)
