"""The class that users work with: a robot.

Its methods are in five classes by subject, each derived from the previous one: its description (description.py), its
motion (kinematics.py), forces (dynamics.py), inertia and forces at frames (handles.py), and its parameters
(parameters.py).  This module defines how it is made, changed, exported and compiled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.table import ALGORITHMS
from ..errors import (
    ModelError,
    NoLoopsError,
    OptionError,
    SingularError,
    UnknownNameError,
    UnsupportedError,
    refuse_unknown,
)
from ..evaluation.algorithm_options import complete_options, requests
from ..evaluation.evaluator import Evaluator
from ..evaluation.processor import check_cpu
from ..evaluation.wrenches import Wrenches
from ..former_names import former_arguments
from ..model import describe as description
from ..model import parameters as parameter_tables
from ..model.changes import other_numbers, single_joints
from ..model.changes.values import with_table, with_values
from ..model.drive_builder import with_spring
from ..model.joint_fields import PerFreedom, numbers_of
from ..model.mass import MassProperties, require_mass_properties
from ..model.pose import Pose
from ..model.substitution import nested
from ..model.tree import BASE, Body, Frame, Model, check_gravity
from ..spatial.arrays import Array, as_array, batch_shape
from ..spatial.numbers import real_number, shown
from .base_parameters import BaseParameterMethods
from .linear_model import (
    ForceSlopes,
    LinearModel,
    MotionSlopes,
    checked_elements,
    element_slopes,
    friction_slopes,
    turning,
)
from .loop_methods import LoopMethods

if TYPE_CHECKING:
    from ..export.c_code import Exported
    from ..export.operation_counts import Count
    from ..export.symbolic.on_sympy import Equations
    from ..export.webassembly import WebAssembly
    from ..loops.actuation import Actuation
    from ..loops.loops import Loops

BACKENDS = ("compiled", "reference")

CLOSED_AT_ONCE = ("inverse_dynamics", "forward_dynamics")
"""Algorithms that are a fixed sequence of operations even with closed loops."""


OF_LOOPS = frozenset(name for name in vars(LoopMethods) if not name.startswith("_"))
"""Names that only robots with closed loops have."""

if TYPE_CHECKING:

    class Shown(BaseParameterMethods, LoopMethods):
        """For editors and type checkers every robot may have loops, since these are known only when a file is read."""

else:
    Shown = BaseParameterMethods


class Robot(Shown):
    """Bodies and joints whose motion and forces can be computed, for one state or a batch.

    Make one with :func:`kinetree.load`, :class:`kinetree.Builder` or
    :func:`kinetree.from_dh`.  All arrays have the batch in front: ``q`` is ``(..., nq)``,
    ``v`` is ``(..., nv)``, and batches broadcast as in NumPy.

    Parameters
    ----------
    model : Model
        The mechanism as plain data.
    backend : {"compiled", "reference"}
        Machine code made on first use (default), or the algorithms as written, run
        on NumPy arrays; ``KINETREE_BACKEND`` in the environment sets the default.
    precision : {"double", "single"}
        Single precision computes in float32 and returns it (the reference computes in double and rounds).
    cpu : str, optional
        Processor that machine code is made for: ``"native"``, ``"x86-64-v3"``, ...; ``KINETREE_CPU`` in the
        environment sets the default, which is otherwise this processor.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> robot.gravity_force([0.0])
    array([0.])
    """

    closes_loops: ClassVar[bool] = False
    """Whether closed loops stay closed: those of a :class:`kinetree.Mechanism` do."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Explain a missing attribute to users of other libraries."""
            if hasattr(type(self), name):  # a property raised this error itself
                return object.__getattribute__(self, name)
            if name in OF_LOOPS and self.loops is None:
                raise NoLoopsError(self.model.name, name)
            from .names_elsewhere import method_called

            here = method_called(name)
            if here == "nv" and self.closes_loops:
                here = "nv with the loops open, and mobility(q).freedoms with them closed"
            hint = f"; here it is {here}" if here else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    def __init__(
        self, model: Model, *, backend: str | None = None, precision: str = "double", cpu: str | None = None
    ) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"a Robot is made from a Model, not {type(model).__name__}; see kinetree.load and Builder")
        if model.is_constrained and not self.closes_loops:
            raise ModelError(
                f"{model.name!r} has closed loops or couplings, and a Robot has none: make a kinetree.Mechanism(model) "
                "or let kinetree.robot.make(model) choose; without them it is model.opened()"
            )
        self.model = model
        self.backend = backend or os.environ.get("KINETREE_BACKEND") or "compiled"
        self.precision = precision
        if self.backend not in BACKENDS:
            origin = "" if backend else " (KINETREE_BACKEND in the environment)"
            raise UnknownNameError(f"backend{origin}", self.backend, BACKENDS)
        refuse_unknown("precision", precision, ("double", "single"))
        self.cpu = check_cpu(cpu)
        self.evaluator = Evaluator(model, self.backend, precision, self.cpu)

    def __repr__(self) -> str:
        bodies = description.counted(len(self.model.bodies), "body", "bodies")
        return f"<Robot {self.name!r}: {bodies}, nq={self.nq}, nv={self.nv}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self._options == other._options and self.model == other.model

    def __hash__(self) -> int:
        return hash((tuple(self._options.values()), self.model.name, tuple(self.joint_names[:1]), self.nv))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.model, self._options)

    @property
    def _options(self) -> dict[str, Any]:
        """Options, besides the model, that affect results, if only in their last digits."""
        return {"backend": self.backend, "precision": self.precision, "cpu": self.cpu}

    def _again(self, model: Model, **others: Any) -> Self:
        """Make another robot with the same options, as far as they apply to the model."""
        return type(self)(model, **(self._options | others))

    def _without_loops(self, model: Model) -> Robot:
        """Make a robot with the same options from a model without loops."""
        return Robot(model, backend=self.backend, precision=self.precision, cpu=self.cpu)

    @property
    def tree(self) -> Robot:
        """The spanning tree: the same robot with all loops open; cut joints become frames.

        A robot without loops is its own tree.
        """
        return self if self.loops is None else self._opened

    @cached_property
    def _opened(self) -> Robot:
        opened = self.model.opened()
        names = [loop.name for loop in self.model.loops if loop.name not in opened.frame_table]
        frames = (*opened.frames, *(self.model.frame(name) for name in names))
        return self._without_loops(replace(opened, frames=frames))

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """Return the same robot in another gravity field."""
        return self._again(replace(self.model, gravity=check_gravity(gravity)))

    def with_frame(self, name: str, body: str, pose: Pose | ArrayLike) -> Robot:
        """Return the same robot with one more named frame: a tool tip, a sensor, a contact point.

        Parameters
        ----------
        name : str
            Name of the new frame.
        body : str
            Body or frame it is placed on.
        pose : Pose, (3,) position or 4x4 matrix
            Pose of the new frame in that body or frame.
        """
        if name in self.model.frame_table:
            raise ModelError(f"there is a frame named {name!r} already")
        carrier = self.model.frame(body)
        frame = Frame(name, carrier.body, carrier.pose @ Pose.like(pose))
        return self._again(replace(self.model, frames=(*self.model.frames, frame)))

    def without_contacts(self, pairs: Sequence[tuple[str, str]]) -> Robot:
        """Return the same robot in which some pairs of shapes, or all shapes of some pairs of bodies, never touch.

        Parameters
        ----------
        pairs : sequence of pairs of str
            Names of shapes or of bodies, such as :meth:`sampled_contacts` finds.
        """
        return self._again(self.model.without_contacts(pairs))

    def with_payload(self, body: str, payload: MassProperties) -> Robot:
        """Return the same robot with a payload welded to a body or frame, in whose axes it is given."""
        frame = self.model.frame(body)
        require_mass_properties(payload, f"the payload on {body!r}")
        for problem in payload.problems():
            raise ModelError(f"the payload on {body!r}: {problem}")
        if frame.body == BASE:
            raise ModelError(f"{body!r} is fixed to the ground: a payload there changes nothing")
        bodies = list(self.model.bodies)
        present = bodies[frame.body]
        bodies[frame.body] = Body(present.name, present.mass_properties + payload.moved(frame.pose))
        return self._again(replace(self.model, bodies=tuple(bodies)))

    def with_springs(self, stiffness: Mapping[str, PerFreedom], rest: Mapping[str, PerFreedom] | None = None) -> Robot:
        """Return the same robot with springs at some of its joints and tendons, replacing those that they had.

        Parameters
        ----------
        stiffness : mapping from joint or tendon to number, or to one per freedom
            Zero removes a spring.
        rest : mapping from joint to number, or to one per coordinate, or from tendon to its length, optional
            Rest positions: by default the neutral position for joints, and the previous length for tendons.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> robot.with_springs({"bob_joint": 20.0}, {"bob_joint": 0.1}).parameters()["bob_joint.stiffness"]
        20.0
        """
        rests = {} if rest is None else rest
        for name in rests:
            if name not in stiffness:
                raise ModelError(f"rest says where a spring of {name!r} rests, but its stiffness is not given")
        lines = {t.name for t in self.model.tendons} - {j.name for j in self.model.joints}
        tendons = [
            with_spring(t, stiffness[t.name], rests.get(t.name)) if t.name in lines and t.name in stiffness else t
            for t in self.model.tendons
        ]
        chosen = {name: value for name, value in stiffness.items() if name not in lines}
        model = replace(self.model, tendons=tuple(tendons))
        return self._again(_with_numbers(model, stiffness=chosen, spring_rest=rests))

    def with_friction_travel(self, travel: Mapping[str, PerFreedom]) -> Robot:
        """Return the same robot with Coulomb friction that builds up over some travel after a reversal (Dahl's model).

        Parameters
        ----------
        travel : mapping from joint to number, or to one per freedom
            Travel in rad or m; with zero, friction builds up at once.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, friction=0.2).build()
        >>> robot.with_friction_travel({"bob_joint": 2e-3}).model.joint("bob_joint").friction_travel
        (0.002,)
        """
        return self._again(_with_numbers(self.model, friction_travel=travel))

    def with_damping_time(self, time: Mapping[str, PerFreedom]) -> Robot:
        """Return the same robot with viscous friction that follows the velocity with a delay (Maxwell's model).

        Parameters
        ----------
        time : mapping from joint to number, or to one per freedom
            Time constant in s; with zero, friction follows at once.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, damping=0.2).build()
        >>> robot.with_damping_time({"bob_joint": 0.3}).model.joint("bob_joint").damping_time
        (0.3,)
        """
        return self._again(_with_numbers(self.model, damping_time=time))

    def with_stribeck(self, stribeck: Mapping[str, PerFreedom], speed: Mapping[str, PerFreedom]) -> Robot:
        """Return the same robot with more friction at low speed: ``stribeck sign(v) exp(-(v / speed)^2)``.

        Parameters
        ----------
        stribeck : mapping from joint to number, or to one per freedom
            Friction in N m or N; zero removes it.
        speed : mapping from joint to number, or to one per freedom
            Speed over which it fades, in rad/s or m/s.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, friction=0.2).build()
        >>> robot.with_stribeck({"bob_joint": 0.1}, {"bob_joint": 0.05}).parameters()["bob_joint.stribeck"]
        0.1
        """
        return self._again(_with_numbers(self.model, stribeck=stribeck, stribeck_speed=speed))

    def with_parameters(self, parameters: Any, *, physical: bool = True) -> Robot:
        """Return the same robot with other parameters.

        Parameters
        ----------
        parameters : ParameterTable, array_like or mapping
            A table as from :meth:`parameters`, an array of all its values, or ``{name: value}``; parameters that a
            mapping leaves out stay.  A mapping may also use the words of a robot's file, like ``parameters=`` of every
            method: ``{"bodies": {"bob": {"mass": 2.0}}, "joints": {"elbow": {"position": (0.4, 0, 0)}}}``, or
            ``{"bodies.bob.mass": 2.0}`` for short; then the inertia about the center of mass stays.
        physical : bool
            Whether to refuse parameters that no body or joint can have.  If False, a body may have a first moment but
            no mass, or an impossible inertia, as in grouped parameters; every algorithm works with them.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> robot.with_parameters({"bob.M": 2.0, "bob.MZ": -2.0, "bob.XX": 2.0, "bob.YY": 2.0}).body("bob").mass
        2.0
        >>> robot.with_parameters({"bodies.bob.mass": 2.0}).body("bob").mass
        2.0
        """
        if isinstance(parameters, Mapping):
            parameters = nested(self.model, parameters)
        if isinstance(parameters, Mapping) and any(word in parameters for word in other_numbers.WORDS):
            return self._again(other_numbers.with_numbers(self.model, parameters, physical=physical))
        return self._again(parameter_tables.with_parameters(self.model, parameters, physical=physical))

    def with_values(self, values: Mapping[str, float] | str | os.PathLike[str]) -> Robot:
        """Return the same robot with values for some of its symbols, or for all.

        Parameters
        ----------
        values : mapping of name to number, or path-like
            See :attr:`symbols`; a file as in :func:`kinetree.load`.

        Examples
        --------
        ``kt.load("arm.par").with_values({"D3": 0.45, "RL4": 0.45})`` is the robot of
        ``kt.load("arm.par", values={...})``.
        """
        if not isinstance(values, Mapping):
            from ..model.formats.values_file import (
                symbol_values,  # reads files, which a robot built in code does not need
            )

            values = symbol_values(values)
        return self._again(with_values(self.model, values))

    @former_arguments(near="q_guess")
    def grouped(self, form: str = "fewest", *, q_guess: ArrayLike | None = None) -> Robot:
        """Return the robot with its parameters regrouped: the same torques with fewer operations.

        Its bodies are not physical: they have first moments without mass.  Joint forces, accelerations and simulated
        motions are those of this robot; energies differ by a constant, and quantities of single bodies, such as the
        center of mass or the wrenches in bearings, have no meaning.  Machine code does most of this regrouping itself.

        Parameters
        ----------
        form : {"fewest", "table", "symbols"}
            ``"table"``: everything but :meth:`base_parameters` is zero (Khalil Table 10.2); for a robot with symbols,
            formulas in these.  ``"symbols"``: the same with a symbol without a value for each group, ``XXR2``;
            ``base_parameters().formulas()`` says what it stands for.  ``"fewest"`` (default): parameters that hinges
            cannot distinguish are placed where they cost least.
        q_guess : array_like, shape (nq,), optional
            As in :meth:`base_parameters`.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.gallery.load("kuka-kr5")
        >>> robot.grouped().cost("inverse_dynamics").total < robot.cost("inverse_dynamics").total
        True
        """
        table = self._grouped_parameters(form, q_guess)
        if self.model.symbols or form == "symbols":
            return self._again(with_table(self.model, table.values.tolist()))
        return self.with_parameters(table, physical=False)

    def with_backend(self, backend: str, cpu: str | None = None) -> Robot:
        """Return the same robot with another backend.

        Parameters
        ----------
        backend : {"compiled", "reference"}
        cpu : str, optional
            Processor that machine code is made for, such as ``"x86-64-v3"``; unchanged by default.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.gallery.load("gripper").with_backend("compiled", cpu="native")
        """
        return self._again(self.model, backend=backend, cpu=self.cpu if cpu is None else cpu)

    def with_precision(self, precision: str) -> Robot:
        """Return the same robot computing in ``"double"`` or ``"single"`` precision."""
        return self._again(self.model, precision=precision)

    def reduced(self, locked: Mapping[str, ArrayLike] | Sequence[str]) -> Robot:
        """Return the same robot with some joints locked.

        Bodies connected by these joints become one, under the name of the one that carries the others; all names remain
        as names of frames.  Followers of a locked joint are locked with it, and its motor, spring, friction and rotor
        no longer act.

        Parameters
        ----------
        locked : mapping of joint name to position, or sequence of names
            Positions as in ``q``; joints that are only named are locked at zero.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.gallery.load("kuka-kr5")
        >>> robot.reduced(locked={"joint_4": 0.0, "joint_5": 0.3, "joint_6": 0.0}).joint_names
        ['joint_1', 'joint_2', 'joint_3']
        """
        from ..model.changes.locking import lock

        model = lock(self.model, locked)
        return self._again(model) if model.n_constraints or self.loops is None else self._without_loops(model)

    def with_single_joints(self) -> Robot:
        """Return the same robot with every compound joint as a chain of one-DOF joints and massless links.

        This is the sources' Euler-angle-joint form; coordinates keep their order and
        meaning, so states carry over unchanged where coordinates come in the order of
        the chain, see :func:`kinetree.model.changes.single_joints.expand`.
        """
        return self._again(single_joints.expand(self.model))

    def cost(self, name: str, **options: Any) -> Count:
        """Return the numbers of multiplications, additions, divisions and sines of an algorithm for this robot.

        For a mechanism, inverse and forward dynamics are counted with closed loops, including multipliers, in the
        coordinates of :meth:`kinetree.Mechanism.independent`; other algorithms are counted for the tree, if loops do
        not affect them.

        Parameters
        ----------
        name : str
            A method, such as ``"inverse_dynamics"``.
        **options
            Options of that method: ``frame="tool"``, ``method="composite_body"``, ...

        Returns
        -------
        Count
            With ``multiplications``, ``additions``, ``divisions``, ``sines``, ``total``; printed, ``302M 278A, ...``.

        Examples
        --------
        ``print(robot.cost("inverse_dynamics"))``
        """
        from ..export import operation_counts

        if self.loops is None:
            return operation_counts.cost(self, name, **options)
        self._need_tree(name)
        if name not in CLOSED_AT_ONCE:
            return self.tree.cost(name, **options)
        if options:
            raise OptionError(f"{name} of a mechanism is counted without options, got {', '.join(options)}")
        whole, prepared = self.loops.whole_algorithm(name)
        return operation_counts.count_algorithm(self.model, whole, prepared, self.nv + len(prepared["rows"]))

    def _need_tree(self, name: str) -> None:
        """Refuse algorithms whose meaning changes with closed loops."""
        if name in ALGORITHMS and ALGORITHMS[name].tree_only:
            raise UnsupportedError(
                f"{name} of a mechanism with closed loops is not that of its tree, and is not available; "
                f"{self.name}.tree.{name} is that of the opened tree"
            )

    def codegen(
        self, directory: str | os.PathLike[str] = ".",
        algorithms: Sequence[Any] = ("inverse_dynamics", "forward_dynamics"), **options: Any,
    ) -> Exported:  # fmt: skip
        """Write algorithms as C99, one ``.c`` and one ``.h``, with a small test program.

        Inverse and forward dynamics of mechanisms include their closed loops.  Their result is then a vector: forces
        (or accelerations), multipliers of the independent constraints, a quality between 0 and 1 (below 1e-8 the
        configuration is too close to singular for the chosen coordinates), and the squared residuals of positions,
        velocities and accelerations.

        Parameters
        ----------
        directory : path-like
            Folder for the files; created if missing.
        algorithms : sequence
            Names of methods, with their options where needed: ``["mass_matrix", ("jacobian", {"frame": "tool"})]``.
        **options
            ``prefix``, ``precision="single"``, ``own_math=True``, ``fma=True``, ``wrenches=True``, ``reentrant=True``,
            ``states``, and ``controllers={"servo": controller}`` for whole control laws: see
            :func:`kinetree.c_code.codegen`.

        Returns
        -------
        Exported
            With paths ``source``, ``header``, ``test``, and ``functions``, what each costs.
        """
        from ..export import c_code

        return c_code.codegen(self, directory, self._exported(algorithms), **options)

    def webassembly(
        self, algorithms: Sequence[Any] = ("inverse_dynamics", "forward_dynamics"), **options: Any
    ) -> WebAssembly:
        """Compile algorithms to WebAssembly, for pages and programs that compute without Python.

        Inverse and forward dynamics of mechanisms include their closed loops; :meth:`codegen` describes what they
        return then.

        Parameters
        ----------
        algorithms : sequence
            Names of methods, with their options where needed: ``["mass_matrix", ("jacobian", {"frame": "tool"})]``.
        **options
            ``parameters``, ``wrenches``, ``many``: see :func:`kinetree.export.webassembly.webassembly`.

        Returns
        -------
        WebAssembly
            With ``code`` and ``description``; ``save("arm.wasm")`` writes both.

        Examples
        --------
        >>> import kinetree as kt
        >>> made = kt.load("kuka-kr5").webassembly(["gravity_force"])
        >>> made.description["functions"]["gravity_force"]["inputs"]
        [['q', 6]]
        """
        from ..export.webassembly import webassembly

        return webassembly(self, self._exported(algorithms), **options)

    def _exported(self, algorithms: Any) -> list[Any]:
        """Return the algorithms to export; with loops, those that keep them closed."""
        wanted = [algorithms] if isinstance(algorithms, str) else list(algorithms)
        if self.loops is None:
            return wanted
        return [self._closed_at_once(item, self.loops) for item in wanted or CLOSED_AT_ONCE]

    def _closed_at_once(self, item: Any, loops: Loops) -> Any:
        """Return the algorithm that is exported in place of another to keep loops closed."""
        if not isinstance(item, str) and not (isinstance(item, tuple) and len(item) == 2):
            return item  # this is refused where all requests are read
        name, own = (item, {}) if isinstance(item, str) else item
        if name not in CLOSED_AT_ONCE:
            if loops.has_closed_form(name):
                return loops.closed_form(name, complete_options(self.model, name, own) if own else {})
            self._need_tree(name)
            return item
        if own:
            raise OptionError(f"{name} of a mechanism is written without options, got {', '.join(own)}")
        return loops.whole_algorithm(name)

    def equations(self, **options: Any) -> Equations:
        """Return the equations of motion as SymPy expressions, simplified, and as LaTeX.

        See :func:`kinetree.symbolic.equations` for the options.

        Examples
        --------
        ``print(robot.equations().latex())``
        """
        from ..export import symbolic

        return symbolic.equations(self, **options)

    # ---------------------------------------------------------------- linear models

    def linearize(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, step: float | None = None, *, wrenches: Wrenches = None,
        friction: bool = True, friction_speed: float | None = 1e-2, forces: Any = (), time: float = 0.0,
    ) -> LinearModel:  # fmt: skip
        """Return the linear model of the robot about a state: x' = A x + B u, or x[k+1] = A x[k] + B u[k].

        x contains small deviations of positions, then of velocities; u those of joint forces.  Deviations of ball and
        free joints are along their velocities, as everywhere.  For a mechanism with loops, positions and velocities are
        the independent ones, in the order of :meth:`kinetree.Mechanism.independent`, and everything else follows.

        Parameters
        ----------
        q, v, tau : array_like
            The state and the joint forces that act there.
        step : float, optional
            Step in seconds of a discrete model with constant forces in each step (zero-order hold).  Away from an
            equilibrium, A and B belong to the beginning of a step.
        wrenches : mapping, optional
            As in :meth:`forward_dynamics`.
        friction : bool
            Whether to include the joints' damping and friction; springs are always included.
        friction_speed : float or None
            Coulomb friction is smoothed as in :func:`kinetree.simulate`: at rest its slope is its size over this speed,
            which looks like a huge damper.  With None it has no slope: it is zero at rest, and a constant force against
            the motion elsewhere.
        forces : force element, function or sequence of them
            Other forces, as in :func:`kinetree.simulate`: springs, drag, ground, functions ``f(t, q, v)``.
        time : float
            Time at which to evaluate forces that change with time.

        Returns
        -------
        LinearModel
            With ``A`` (..., 2 n, 2 n), ``B`` (..., 2 n, nv), ``rate`` and names.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> A, B = robot.linearize([0.0], [0.0], [0.0])
        >>> A
        array([[ 0.  ,  1.  ],
               [-9.81,  0.  ]])
        """
        for name, number in (("step", step), ("friction_speed", friction_speed)):
            if number is not None:
                real_number(number, name, positive=True, unit="seconds" if name == "step" else "radians or meters/s")
        exact = self.with_precision("double") if self.precision == "single" else self
        state = exact.evaluator.states.configuration(q)
        rate, force = (as_array(x, (self.nv,), name, f"{self.nv} = nv") for name, x in (("v", v), ("tau", tau)))
        batch = batch_shape(q=(state, 1), v=(rate, 1), tau=(force, 1))
        elements = checked_elements(forces)
        acting = friction_slopes(self.model, state, rate, friction_speed) if friction else None
        if elements:
            pushing = element_slopes(self.model, state, rate, elements, real_number(time, "time"))
            acting = pushing if acting is None else acting.with_others(pushing)
        whole = force if acting is None else force + acting.force
        found = exact._motion_slopes(state, rate, whole, wrenches, acting)
        names = [self.v_names[j] for j in found.independent]
        inputs = tuple(self.v_names)
        model = found.model(batch, turning(self.model, state, rate), rate, (*names, *(f"{n}'" for n in names)), inputs)
        return model if step is None else model.discrete(step)

    def _motion_slopes(
        self, q: Array, v: Array, tau: Array, wrenches: Wrenches, forces: ForceSlopes | None
    ) -> MotionSlopes:
        """Return the derivatives of a state's evolution, along the motions that loops allow; for a tree all motions."""
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches)
        a = self.forward_dynamics(q, v, tau, wrenches)
        independent, g, swept = tuple(range(self.nv)), np.eye(self.nv), np.zeros((self.nv, self.nv))
        if self.loops is not None:
            independent, g, swept = self.loops.derivatives.moving_basis(q, v)
        found = MotionSlopes(independent, a, g, swept, by_q, by_v, by_tau)
        return found if forces is None else found.pushed(forces)

    # ---------------------------------------------------------------- running

    def compile(
        self, *algorithms: str | tuple[str, Mapping[str, Any]], single: bool = True, batch: bool = True,
        progress: bool = True,
    ) -> None:  # fmt: skip
        """Make machine code ahead of the first call.

        Parameters
        ----------
        *algorithms : str or (str, dict)
            Names of methods, with their options where needed: ``("jacobian", {"frame": "tool"})``.  By default
            inverse and forward dynamics, mass matrix, bias and gravity forces.  Algorithms that run on the reference
            backend for large trees are skipped.
        single, batch : bool
            Whether to compile for one state, and for batches.
        progress : bool
            Whether to show a bar once it takes longer than a second.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        >>> robot.compile("forward_dynamics", ("jacobian", {"frame": "bob", "axes": "world"}))
        """
        wanted = [self._compiled_form(request) for request in algorithms]
        for usual in () if algorithms else (a for a in ALGORITHMS.values() if a.ahead):
            with suppress(ModelError, SingularError):  # a robot without masses has no forward dynamics to compile
                wanted.append(self._compiled_form(usual.name))
        self.evaluator.compile(wanted, single, batch, progress)

    def actuation(self, q: ArrayLike, actuators: Sequence[str] | str | None = None) -> Actuation:
        """Return how actuators act at a configuration: whether they can drive all motions, and their forces.

        Parameters
        ----------
        q : array_like, shape (..., nq)
            Configurations, closed for a mechanism.
        actuators : sequence of str or "joints", optional
            Names of actuators, of joints or of single freedoms; ``"joints"`` for a motor at every freedom.  By default
            the robot's own actuators, or else its joints with motors.

        Examples
        --------
        ``motors = robot.actuation(q).forces(tau)`` (Featherstone eq. 7.14)
        """
        from ..loops.actuation import actuation_at

        state = self.evaluator.states.configuration(q)
        every = np.eye(self.nv), np.ones(self.nv, dtype=bool)
        motions = every if self.loops is None else self.loops.choice.motions(state)
        return actuation_at(self.name, self.model, state, motions, actuators)

    def closed_form(self, name: str, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Return the algorithm that a method runs as a fixed sequence of operations, and its options.

        For a mechanism it is the algorithm that computes the same with closed loops; it is valid in all configurations
        except those that are singular for its choice of coordinates.
        """
        return self._compiled_form(name) if self.loops is None else self.loops.closed_form(name, options or {})

    def _compiled_form(self, request: Any) -> tuple[str, dict[str, Any]]:
        """Return the algorithm that a method runs, with all its options."""
        closed = None if self.loops is None else self.loops.compiled_form(request)
        return requests(self.model, [request])[0] if closed is None else closed


def _restore(kind: type[Robot], model: Model, options: dict[str, Any]) -> Robot:
    return kind(model, **options)


def require_robot(given: Any) -> None:
    """Refuse anything but a robot, and say how to get one."""
    if isinstance(given, Robot):
        return
    advice = "see kinetree.load, Builder and from_dh"
    if isinstance(given, (str, os.PathLike)):
        advice = "a file, or a system of the gallery, is loaded with kinetree.load(path or name)"
    elif hasattr(given, "build"):
        advice = "call build() of a Builder"
    elif isinstance(given, Model):
        advice = "make one from a Model with kinetree.Robot(model)"
    elif isinstance(given, type):
        advice = f"this is the class {given.__name__} itself; {advice}"
    raise OptionError(f"robot must be a kinetree robot, not {shown(given)}: {advice}")


def _with_numbers(model: Model, **given: Mapping[str, PerFreedom]) -> Model:
    """Return a model with new numbers for the joints named in the first mapping; each mapping is one property."""
    joints = list(model.joints)
    for name in next(iter(given.values())):
        joint = model.joint(name)
        own = {key: of_joints.get(name) for key, of_joints in given.items()}
        found: dict[str, Any] = numbers_of(joint.kind, f"joint {name!r}: ", own, follows=joint.mimic is not None)
        joints[model.joint_index[name]] = replace(joint, **found)
    return replace(model, joints=tuple(joints))
