"""``kt.simulate``: the motion of a robot, kept in a record."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..control.base import as_controller
from ..errors import OptionError, UnsupportedError, explains_arguments
from ..former_names import former_arguments
from ..robot.kept_programs import answers_of
from ..robot.load import as_robot
from ..robot.robot import Robot
from .arguments import (
    check_integrator,
    check_method,
    common_batch,
    force_elements,
    is_too_long,
    known_kinks,
    known_span,
    law_and_function,
    refuse_beside_prescribed,
    sample_times,
    time_span,
    varied_parameters,
    warn_of_unknown_ground,
)
from .constrained.constraint_setup import chosen_holding, initial_state_held
from .constrained.driven_robot import DrivenRobot
from .equation import Equation
from .events import as_events
from .integrators.fixed_step_methods import ADAPTIVE, FIXED
from .options import STEPS_AT_MOST, SimulationOptions
from .prescribed import BoundMotion, Prescribed
from .records.record import Record
from .run import SmoothRun
from .run_warnings.unheld import warn_of_fall, warn_of_ranges
from .system import DynamicSystem

if TYPE_CHECKING:
    from .sampling import Sampling

AS_IT_SHOULD = "as it should be"
"""The mark of a start without anything suspicious."""

BATCH_SAMPLES = 101
"""Default number of samples of a batch of simulations."""


@explains_arguments
@former_arguments(output="samples")
def simulate(
    robot: Robot | str | os.PathLike[str],
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    time: float | tuple[float, float],
    controller: Any = None,
    ground: Any = (),
    forces: Any = (),
    integrator: str = "dop853",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    step: float | None = None,
    largest_step: float = np.inf,
    samples: int | ArrayLike | None = None,
    events: Any = (),
    friction: bool = True,
    friction_speed: float = 1e-2,
    works: bool | None = None,
    parameters: Mapping[str, Any] | None = None,
    prescribed: Any = None,
    method: str = "articulated_body",
    progress: bool | Callable[[float], Any] = True,
    threads: int = 1,
    tolerance: float | None = None,
    steps_at_most: int = STEPS_AT_MOST,
    drift: Any = "projection",
    spectral_radius: float | None = None,
) -> Record:
    """Simulate the motion of a robot.

    Parameters
    ----------
    robot : Robot, or path-like
        A robot, its file, or its name in the gallery: a tree, on a fixed or floating base, with or without loops.
    q0, v0 : array_like, shapes (..., nq) and (..., nv)
        Initial state; the neutral configuration, at rest, by default.  With a batch in front (or a batch of gains in
        the controller) all are simulated at once, with a fixed step.
    time : float or pair of floats
        End of the simulation, which begins at zero; or beginning and end.
    controller : controller or callable, optional
        A controller of :mod:`kinetree.control`, or any function ``f(t, q, v) -> tau`` on arrays, which must depend on
        nothing else.
    ground : force element or sequence of them
        What the robot stands on or strikes: ground, stops.
    forces : force element, function or sequence of them
        Other forces on the robot, see :mod:`kinetree.forces`: springs, dampers, pushes over time, drag, motors; or
        functions ``f(t, q, v)`` over any scalar, which return nv forces.
    integrator : str
        ``"dop853"`` or ``"rk45"`` (adaptive); ``"radau"``, ``"bdf"`` or ``"sundials"`` (adaptive,
        for stiff problems); ``"euler"``, ``"semi_implicit_euler"``, ``"rk4"``, ``"dopri5"`` (fixed
        step of first, first, fourth and fifth order); ``"implicit_euler"`` (fixed step, first order, implicit in
        springs, dampers, servos, ground and stops); ``"variational"`` (fixed step, second order, keeps the energy
        bounded however long it runs); ``"generalized_alpha"`` (fixed step, second order, implicit in everything; it
        damps motions too fast for a step, and solves for closed loops together with the motion).
    rtol, atol : float
        Relative and absolute tolerance of adaptive integrators.
    step : float
        Step of fixed-step integrators, in seconds.
    largest_step : float
        Largest step of adaptive integrators; events shorter than a quarter of a step may be missed.
    samples : int or array_like, optional
        Number of evenly spaced samples, or their times; by default every step is a sample (in a batch of simulations,
        there are 101 samples).
    events : Event, callable or sequence of them
        Functions ``f(t, q, v)`` whose zeros are events, see :class:`kinetree.Event`; as in SciPy they may have
        attributes ``terminal`` and ``direction``.
    friction : bool
        Whether the joints' damping and friction act.
    friction_speed : float
        Coulomb friction is smoothed to ``v / sqrt(v^2 + friction_speed^2)``.
    works : bool, optional
        Whether the works of actuators, friction and ground are integrated too, so that the energy
        balance can be checked; by default for single simulations and on uneven ground, but not for other batches.
    parameters : mapping, optional
        Numbers of the robot itself that replace those of the model, with a batch in front if they vary: by the names
        of :meth:`kinetree.Robot.parameters`, ``{"upper.MX": moments}``, or
        ``{"bodies": {"upper": {"mass": masses}}, "joints": {"elbow": {"position": places}}, "gravity": ...}``,
        as in :func:`kinetree.symbolic.with_parameters`.
    prescribed : Trajectory, Prescribed, mapping or DrivenRobot, optional
        Motion that the joints with motors follow exactly (or others that :class:`kinetree.Prescribed` names); forces
        at these joints are found, the other joints move by the dynamics.  It takes the place of a controller;
        :func:`kinetree.simulate_prescribed` starts on the motion.  A mapping from names of joints to trajectories, or
        to functions of time written with ``kinetree.sin`` and the like, also drives mechanisms with loops, along with a
        controller; distance, point-on-line and point-on-plane loops are driven by lengths that are added to theirs.
        The forces that this takes are among those of the actuators in the record (``tau``), and so is their work.
    method : str
        How accelerations of trees are computed, as in :meth:`kinetree.Robot.forward_dynamics`: ``"articulated_body"``,
        ``"composite_body"``, ``"udu"``, ``"modules"``, ...  All give the same motion except for rounding.
    progress : bool or callable
        Whether to show a bar on the terminal once the run has taken longer than a second; or a function that gets the
        simulated time, ten times a second.  A KeyboardInterrupt that it raises ends the run, as Ctrl-C does.
    threads : int
        Number of threads that share a batch.
    tolerance : float, optional
        How far open the loops of a start may be, in meters and radians, and their rates relative to the speed; if
        given, they are closed before the motion begins.  By default 1e-6, or what rounding of the file's numbers
        leaves.
    steps_at_most : int
        The most steps, and samples kept.  A run that would take more steps is refused before it begins, or stopped on
        its way with an error that contains the record.
    drift : str or one of the classes below
        How constraints are maintained while stepping: ``"projection"`` (after every step, to the nearest state),
        ``"baumgarte"`` (pulled back by a damped spring, see :class:`kinetree.Baumgarte`), ``"partitioned"``
        (independent coordinates are integrated, the others solved for), ``"none"`` (no correction).
    spectral_radius : float, optional
        Spectral radius of the integrator ``"generalized_alpha"``, between 0 and 1: the fraction of oscillations too
        fast for a step that is left after it; 0.8 by default.

    Returns
    -------
    Record
        If the run is interrupted from the keyboard, the record holds what was computed until then.

    Raises
    ------
    SimulationError
        If the motion cannot be followed any further; ``error.record`` is the record until then, ``error.time`` and
        ``error.joint`` say when and where.  An exception raised in a controller, an event or a force element of your
        own arrives in the same way: it is the error's ``__cause__``, with its own type and traceback.  ``SystemExit``
        is passed on, with the record as its attribute ``record``.

    Examples
    --------
    >>> import kinetree as kt
    >>> pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> record = kt.simulate(pendulum, [0.5], time=2.0)
    >>> bool(record.energy.relative_error < 1e-7)
    True
    """
    simulator = Simulator(
        robot, controller=controller, ground=ground, forces=forces, integrator=integrator, rtol=rtol, atol=atol,
        step=step, largest_step=largest_step, friction=friction, friction_speed=friction_speed, works=works,
        parameters=parameters, prescribed=prescribed, method=method, threads=threads, tolerance=tolerance,
        steps_at_most=steps_at_most, drift=drift, spectral_radius=spectral_radius,
    )  # fmt: skip
    return simulator.run(q0, v0, time=time, samples=samples, events=events, progress=progress)


@explains_arguments
@former_arguments(base="q0", base_velocity="v0", output="samples")
def simulate_prescribed(
    robot: Robot | str | os.PathLike[str],
    trajectory: Any,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    time: float | tuple[float, float],
    joints: Sequence[str] | None = None,
    **options: Any,
) -> Record:
    """Simulate a robot whose joints follow a given motion while its base moves freely; return the forces, too.

    This is inverse dynamics of a robot on a floating base over time (Shah section 7.1.1): the motion of a walking
    machine whose legs follow the trajectory exactly, and the motor forces that this takes.

    Parameters
    ----------
    robot : Robot, or name or path of one
        On a fixed base this is inverse dynamics along the motion.  A mechanism starts in an assembled configuration
        that fits; to choose it, use ``simulate(..., prescribed=...)`` with a nearby start.
    trajectory : Trajectory
        Motion of all joints with motors, or of ``joints``; or of all joints of the robot.
    q0, v0 : array_like, shapes (..., n) and (..., m), optional
        Initial positions and velocities of the other joints, in the robot's order: a free joint has seven coordinates
        and six velocities.  By default the neutral positions, at rest.  A batch in front requires a fixed step.
    time : float or pair of floats
        End of the simulation, which begins at zero; or beginning and end.
    joints : sequence of str, optional
        Joints that follow the motion, if not all that have a motor.
    **options
        Options of :func:`simulate`: ``ground``, ``integrator``, ``samples``, ``step``, ``events``, ...

    Returns
    -------
    Record
        ``tau`` are the forces of the motors, ``contact_forces`` those of the ground, ``energy`` is the balance of both.

    Examples
    --------
    A swinging arm in space turns the body that carries it the other way; both together have no momentum.

    >>> import numpy as np
    >>> import kinetree as kt
    >>> probe = kt.Builder("probe", gravity=(0, 0, 0)).body("hull", "base", kt.Free(), mass=5, inertia=(1, 1, 1))
    >>> probe = probe.body("arm", "hull", kt.Revolute("y"), mass=1, com=(0.5, 0, 0)).build()
    >>> record = kt.simulate_prescribed(probe, kt.trajectories.Quintic([0.0], [1.0], 2.0), time=2.0)
    >>> bool(np.abs(probe.momentum(record.q, record.v)).max() < 1e-8)
    True
    """
    robot = as_robot(robot)
    given = Prescribed(trajectory, joints)
    motion = BoundMotion(robot, given)
    begin, _ = time_span(time)
    if robot.model.is_constrained:
        if q0 is not None or v0 is not None:
            raise UnsupportedError(
                f"robot {robot.name!r} has closed loops, so the motion determines its other joints: leave "
                "q0 and v0 out, or give kinetree.simulate(..., prescribed=...) a whole state"
            )
        return simulate(robot, time=time, prescribed=given, **options)
    q, v = motion.whole_start(robot, begin, q0, v0)
    return simulate(robot, q, v, time=time, prescribed=given, **options)


@dataclass(kw_only=True, eq=False)
class Simulator(SimulationOptions):
    """A robot with everything around it, set up once and run many times.

    Setting up traces and compiles the laws, which takes a fraction of a second.  Setups that differ only in parameters
    share their programs, so a loop of :func:`simulate` compiles only once as well, unless a law contains a function of
    your own, which is traced every time.  Parameters are those of :func:`simulate`.

    Examples
    --------
    >>> import kinetree as kt
    >>> pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> simulator = kt.Simulator(pendulum, integrator="rk4", step=0.01)
    >>> [len(simulator.run([q], time=0.5)) for q in (0.1, 0.2)]
    [51, 51]
    """

    robot: Any = field(kw_only=False)
    """The robot; a simulator can also be made with its file or its name in the gallery."""

    def _set_up(self) -> None:
        robot = self.robot = as_robot(self.robot)
        check_integrator(robot, self.integrator)
        check_method(robot, self.method, self.prescribed)
        given = self.prescribed.given if isinstance(self.prescribed, DrivenRobot) else self.prescribed
        motion = BoundMotion(robot, given)
        as_constraints = motion.by_name or robot.model.is_constrained
        self.motion = None if as_constraints else motion
        if self.motion is not None:
            refuse_beside_prescribed(self.integrator, self.controller)
        law, self.function = law_and_function(self.controller, robot)
        self.law = law
        if law is not None and is_too_long(robot, law):
            # an integrator tries states with open loops, which must raise errors only for users
            self.law, self.function = None, partial(law, robot, tolerance=np.inf)
        self.acting = force_elements(self.ground), force_elements(self.forces, "forces")
        self.elements = self.acting[0] + self.acting[1]
        warn_of_unknown_ground(robot, law, self.elements)
        self.varied = varied_parameters(robot, self.parameters, self.integrator)
        self.holding = chosen_holding(robot, self, motion if as_constraints else BoundMotion(robot), self.varied)
        self.span = known_span((as_controller(self.controller), self.motion, self.holding.prescribed, *self.acting[1]))
        self._equations: dict[bool, Equation] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to be sent to another process.

        It contains the arguments; laws are traced there again, and found compiled on disk.
        """
        return self.__dict__ | {"_equations": {}}

    def equation(self, works: bool) -> Equation:
        """Return the equation of motion on arrays, with or without integrated works."""
        if works not in self._equations:
            system = DynamicSystem(
                self.robot, self.law, *self.acting, self.friction, self.friction_speed, works, self.varied,
                self.motion, self.method,
            )  # fmt: skip
            self._equations[works] = Equation(system, self.function, self.threads, self.holding)
        return self._equations[works]

    @former_arguments(output="samples")
    def run(
        self,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        *,
        time: float | tuple[float, float],
        samples: int | ArrayLike | None = None,
        events: Any = (),
        progress: bool | Callable[[float], Any] = True,
    ) -> Record:
        """Simulate the robot's motion; see :func:`simulate`."""
        begin, end = time_span(time)
        self.refuse_endless(begin, end)
        watched = as_events(events)
        q, v = initial_state_held(self.robot, self.holding, q0, v0, begin, self.tolerance)
        if self.motion is not None:
            q, v = self.motion.start(self.robot, begin, q, v, (q0 is not None, v0 is not None))
        batch = common_batch(self.equation(bool(self.works)).system, q, v)
        equation = self.equation(self._knows_works(batch) if self.works is None else self.works).prepared(q)
        self._look_at_start(equation, q)
        if batch and watched:
            raise UnsupportedError("events are for one simulation at a time, not for a batch")
        if batch and self.integrator in ADAPTIVE:
            fixed = ", ".join(FIXED)
            raise OptionError(
                f"a batch is simulated with a fixed step, and {self.integrator!r} chooses "
                f"its own: use integrator='rk4', step=1e-3, or another of {fixed}"
            )
        state = tuple(np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, v, equation.system.initial_z()))
        wanted = BATCH_SAMPLES if batch and samples is None else samples
        run = SmoothRun(
            watched, equation, self, batch, begin, end, sample_times(wanted, begin, end, self.steps_at_most),
            self.span, self._sampling(equation, begin, end, batch), known_kinks(equation.system, begin, end),
        )  # fmt: skip
        record = run(state, progress)  # type: ignore[arg-type]
        if not any(event.reset is not None for event in watched):  # which move the robot by other means
            self._look_at(record, equation)
        return record

    def _sampling(self, equation: Equation, begin: float, end: float, batch: tuple[int, ...]) -> Sampling | None:
        """Return what a sampled controller does in a run; None if there is none."""
        if self.law is None:
            return None
        from .sampling import sampling_of, warn_of_one_look

        found = sampling_of(equation, begin, batch, self.step)
        warn_of_one_look(found, begin, end)
        return found

    def _knows_works(self, batch: tuple[int, ...]) -> bool:
        """Return whether works are computed by default: for single runs, and where the ground may create energy."""
        if not batch or not self.elements:
            return not batch
        from .run_warnings.ground_work import is_uneven

        return is_uneven(self.elements)

    def _look_at_start(self, equation: Equation, q: np.ndarray) -> None:
        """Warn of a suspicious start: deep in the ground, or with steps too long for it."""
        if not equation.system.around:
            return
        knows, around = equation.knows_what_gives_way, equation.system.around
        known = answers_of(self.robot, around, self.integrator, self.step, knows, q)
        if known.get(AS_IT_SHOULD):
            return
        from ..contact.start_check import warn_sunken
        from .run_warnings.long_steps import warn_of_long_steps

        sunken = warn_sunken(self.robot, self.elements, q)
        too_long = warn_of_long_steps(self.robot, around, q, self.integrator, self.step, knows)
        known[AS_IT_SHOULD] = not (sunken or too_long)

    def _look_at(self, record: Record, equation: Equation) -> None:
        """Warn of anything suspicious in a run."""
        if equation.system.ground:
            from .run_warnings.ground_work import warn_of_gain
            from .run_warnings.standing import note_of_standing

            warn_of_gain(record, equation.system.ground)
            note_of_standing(self.robot, self.elements, record)
        warn_of_fall(self.robot, self.elements, record)
        warn_of_ranges(self.elements, record)
