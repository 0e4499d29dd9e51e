"""Arguments of a simulation, checked before it starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..algorithms.acting_element import ActingElement, as_element
from ..algorithms.table import FORWARD_METHODS
from ..control.base import Controller, as_controller
from ..control.driven_joints import idle_joints
from ..errors import (
    KinetreeWarning,
    Message,
    ModelError,
    OptionError,
    Setting,
    ShapeError,
    SpeedWarning,
    StateError,
    UnsupportedError,
    callers_level,
)
from ..evaluation.law_kernels import can_compile, count_operations, unrolls
from ..evaluation.parameters import GivenParameters
from ..loops.tolerances import ACCEPTED
from ..model.configurations import start
from ..model.tree import Model
from ..robot.kept_programs import programs_of
from ..robot.robot import Robot
from ..spatial.arrays import Array, as_array, batch_shape
from ..spatial.numbers import real_number, shown
from .integrators.fixed_step_methods import GENERALIZED_ALPHA, IMPLICIT, VARIATIONAL
from .system import DynamicSystem

LONGEST_LAW = 20_000
"""Operations of a controller's law beyond which compiling it takes longer than it saves."""

OPERATIONS = "operations of the law"
"""The key under which the length of a law is kept."""


def time_span(time: Any) -> tuple[float, float]:
    """Return the time span of a simulation: beginning and end."""
    is_pair = isinstance(time, (tuple, list, np.ndarray)) and np.ndim(time) == 1 and len(time) == 2
    wrong = Message(Setting("time"), f" must be how long to simulate, or (from, until), in seconds; not {shown(time)}")
    try:
        begin, end = (real_number(t, "time") for t in (time if is_pair else (0.0, time)))
    except OptionError:
        raise OptionError(wrong) from None
    if end < begin:
        raise OptionError(wrong)
    return begin, end


BY_LOOPS_ALONE = ("implicit_euler", "variational")
"""Integrators that move large trees by loops over bodies, which take no other parameters."""


def varied_parameters(robot: Robot, given: Any, integrator: str) -> GivenParameters:
    """Return the numbers that replace the robot's own; refuse those that no robot has."""
    found = robot.evaluator.read_parameters(given)
    if found.places and integrator in BY_LOOPS_ALONE and not (unrolls(robot) or robot.model.is_constrained):
        raise UnsupportedError(
            f"{integrator!r} does not vary parameters of a tree with {len(robot.model.bodies)} bodies: take an "
            "integrator such as 'rk4', or a robot for each"
        )
    if found.of_geometry and robot.model.is_constrained:
        raise UnsupportedError(
            f"{found.of_geometry[0]} decides which configurations are closed, so it cannot be varied in a simulation "
            "of a mechanism: make a robot for each"
        )
    for place in found.places:
        numbers = found.of(place)
        if not np.isfinite(numbers).all():
            raise ShapeError(f"parameter {place} must be finite")
        if place.key.rpartition(".")[2] in ("mass", "M") and np.any(numbers < 0.0):
            raise ModelError(f"a mass of {numbers.min()} in the parameters: masses must not be negative")
    return found


def check_integrator(robot: Robot, integrator: str) -> None:
    """Refuse robots that an integrator cannot handle."""
    model = robot.model
    if integrator == VARIATIONAL and (model.is_constrained or model.has_followers):
        trees = "the variational integrator is for trees without loops, couplings and mimicking joints: use "
        raise UnsupportedError(Message(trees, Setting("integrator", "rk4")))
    if integrator == VARIATIONAL:
        robot.evaluator.check_pivots()


def check_method(robot: Robot, method: str, prescribed: Any) -> None:
    """Refuse a method of finding accelerations that would not be used."""
    if method == FORWARD_METHODS[0]:
        return
    if robot.model.loops:
        raise UnsupportedError(
            f"robot {robot.name!r} has closed loops, whose accelerations are found by their own method; leave out "
            f"method={method!r}"
        )
    if prescribed is not None:
        raise OptionError(f"hybrid dynamics finds accelerations with a prescribed motion: leave out {method=!r}")


def refuse_beside_prescribed(integrator: str, controller: Any) -> None:
    """Refuse options that would be ignored, or wrong, if joints follow a prescribed motion."""
    if controller is not None:
        raise OptionError(
            "a controller cannot act together with a prescribed motion, whose forces are found: leave one of them out, "
            "or follow the motion with control.ComputedTorque"
        )
    if integrator in (IMPLICIT, VARIATIONAL, GENERALIZED_ALPHA):
        steps = f"a prescribed motion cannot be stepped by {integrator!r}: use "
        raise UnsupportedError(Message(steps, Setting("integrator", "rk4", "bdf")))


def law_and_function(given: Any, robot: Robot) -> tuple[Controller | None, Callable[..., Any] | None]:
    """Return a law bound to the robot's loops; for a Python function, a placeholder law and the function."""
    if given is None:
        return None, None
    if isinstance(given, type):
        raise OptionError(f"the controller is the class {given.__name__} itself: make one, {given.__name__}(...)")
    law = as_controller(given)
    if law is not None:
        function = law.plain_function()
        return (law.bound(robot), None) if function is None else (None, function)
    if callable(given):
        return None, given
    fixed = "; constant forces are lambda t, q, v: tau" if isinstance(given, (list, tuple, np.ndarray)) else ""
    raise OptionError(f"a controller has a law, or is a function of (t, q, v), not {shown(given)}{fixed}")


def warn_of_unknown_ground(robot: Robot, law: Controller | None, elements: Sequence[ActingElement]) -> None:
    """Warn of a law that computes a floating-base robot's dynamics without the forces that carry the base."""
    stands = any(element.STANDS_ON for element in elements)
    if law is None or not stands or not idle_joints(robot.model):
        return
    if law.takes_to_fall():
        warnings.warn(
            f"{law.kind} does not know the ground that {robot.name!r} stands on, and assumes "
            f"that it is falling: {law.kind}(..., senses=[ground])",
            KinetreeWarning,
            stacklevel=callers_level(),
        )
    for inner in law.inner():
        warn_of_unknown_ground(robot, inner, elements)


def known_span(parts: Sequence[Any]) -> tuple[float, float]:
    """Return the common time span of controller, prescribed motion and forces; None has no limits."""
    spans = [part.span for part in parts if part is not None]
    return max((begin for begin, _ in spans), default=-np.inf), min((end for _, end in spans), default=np.inf)


def whose(forces: Sequence[ActingElement], span: tuple[float, float], begin: float) -> str:
    """Return whose trajectory starts too late or ends first: that of a force by its name, or the controller's."""
    for force in forces:
        first, last = force.span
        if (first == span[0] and first > begin) or (last == span[1] < np.inf and span[0] <= begin):
            return f"the trajectory of {force.label}"
    return "the controller's trajectory"


def known_kinks(system: DynamicSystem, begin: float, end: float) -> Array:
    """Return the times between two others at which something that acts has a kink or jump."""
    found = [part.element.kinks(begin, end) for part in system.parts]
    times = np.unique(np.concatenate([np.zeros(0), *found]))
    return times[(times > begin) & (times < end)]


def force_elements(given: Any, name: str = "ground") -> tuple[ActingElement, ...]:
    """Return the force elements as a tuple; a plain function among forces is a user's own force."""
    found = []
    for one in () if given is None else given if isinstance(given, (list, tuple)) else (given,):
        element = as_element(one)
        if element is None and name == "forces" and callable(one) and not isinstance(one, type):
            from ..forces.pushes import OwnForce

            element = OwnForce(one)
        if element is None:
            from ..contact.rigid_contacts import Contact

            rigid = "; rigid contacts are for kinetree.simulate_rigid" if isinstance(one, Contact) else ""
            such = (
                "kinetree.ground.Ground(['foot'], kinetree.ground.HuntCrossley(1e5, 0.5)) or JointStops"
                if name == "ground"
                else "a PointSpring or a function f(t, q, v)"
            )
            raise OptionError(f"{name} must be force elements, such as {such}, not {shown(one)}{rigid}")
        found.append(element)
    return tuple(found)


def is_too_long(robot: Robot, law: Controller) -> bool:
    """Return whether a law is too long to be compiled, with a warning."""
    tree = robot.model
    if not can_compile(robot) or len(law.initial_states(tree)):
        return False
    known = programs_of(robot, [law])
    try:
        count = known.get(OPERATIONS) or known.setdefault(OPERATIONS, _operations_of(law, tree))
    except Exception:  # whatever is wrong with the law shows when it is used
        return False
    if count <= LONGEST_LAW:
        return False
    warnings.warn(
        f"the law of {law.kind} takes {count} operations, more than the {LONGEST_LAW} that are worth "
        "compiling: it runs in Python, outside of the machine code. Numbers of a table are data and cost nothing: "
        "give them as trajectories.sampled, trajectories.spline or control.TorqueTable, not as a formula",
        SpeedWarning,
        stacklevel=callers_level(),
    )
    return True


def _operations_of(law: Controller, tree: Model) -> int:
    """Count the operations of a law whose gains are inputs."""
    sizes = {name: np.atleast_1d(x).shape[-1] for name, x in law.parameters(tree).items()}

    def taken(t: Any, q: Any, v: Any, *gains: Any) -> Any:
        return law.with_parameters(dict(zip(sizes, gains, strict=True))).law(tree, t[0], q, v, [])

    return count_operations(taken, (1, tree.nq, tree.nv, *sizes.values()))


def initial_state(
    robot: Robot, q0: Any, v0: Any, called: tuple[str, str] = ("q0", "v0"), tolerance: float | None = None
) -> tuple[Array, Array]:
    """Check where the motion starts; ``called`` are its names in messages.

    ``tolerance`` is how far open the loops may be; they are then closed.
    """
    if tolerance is not None and not tolerance > 0.0:
        raise OptionError(f"tolerance must be positive, not {tolerance!r}")
    first, second = called
    q = start(robot.model) if q0 is None else robot.evaluator.states.configuration(q0, first)
    v = np.zeros(robot.nv) if v0 is None else as_array(v0, (robot.nv,), second, f"{robot.nv} = nv")
    batch_shape(**{first: (q, 1), second: (v, 1)})
    for array, what, names in ((q, first, robot.q_names), (v, second, robot.v_names)):
        if np.iscomplexobj(array):
            raise StateError(f"{what} is complex")
        bad = ~np.isfinite(array)
        if array.ndim == 1 and bad.any():
            name = names[int(np.argmax(bad))]
            raise StateError(f"{what} is {array[np.argmax(bad)]} at joint {name!r}: a motion cannot start there")
    if not robot.model.is_constrained:
        return q, v
    if q0 is None and tolerance is None:
        _check_closed_as_drawn(robot, q, first)
    _check_closed(robot, q, v, called, tolerance)
    return (q, v) if tolerance is None else robot.project(q, v)


def _check_closed_as_drawn(robot: Any, q: Array, called: str) -> None:
    """Raise an error that asks for a start if loops are open in the configuration that simulations begin with."""
    gap = float(np.max(np.abs(robot.loop_gaps(q)), initial=0.0))
    if gap > ACCEPTED:
        given = f"{called}=robot.assembled()" if called.isidentifier() else "robot.assembled()"
        raise StateError(
            f"{called} is needed: the neutral configuration of {robot.name!r} leaves its loops open by {gap:.3g} (m, "
            f"rad). Start from {given}, or, of a system of the gallery, from "
            "kinetree.gallery.start(name)"
        )


def _check_closed(robot: Any, q: Array, v: Array, called: tuple[str, str], tolerance: float | None) -> None:
    """Refuse states in which loops are open or opening; lanes with NaN are ignored."""
    gaps = np.nan_to_num(np.abs(robot.loop_gaps(q)), nan=0.0)
    gap = float(np.max(gaps, initial=0.0))
    allowed = ACCEPTED if tolerance is None else tolerance
    if tolerance is None and gap > ACCEPTED:  # gaps due to rounding in the robot's file are no reason to refuse
        allowed = max(ACCEPTED, robot.coordinates_at(q).slack)
    if gap > allowed:
        lane, worst = _largest(gaps)
        name = robot.constraint_names[worst]
        raise StateError(
            f"{called[0]} leaves loops open by {gap:.3g} (m, rad){lane} at joint {name!r}: start from "
            f"robot.project({', '.join(called)}), or, if that is too far off, from robot.assembled()"
        )
    shape = (*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), -1)
    states, rates = (np.broadcast_to(x, (*shape[:-1], x.shape[-1])) for x in (q, v))
    known = np.isfinite(states).all(axis=-1) & np.isfinite(rates).all(axis=-1)
    off = np.zeros(rates.shape)
    if known.any():
        off[known] = np.abs(robot.project(states[known], rates[known])[1] - rates[known])
    size = np.max(np.where(known[..., None], np.abs(rates), 0.0), axis=-1, initial=0.0)
    if np.any(off.max(axis=-1, initial=0.0) > allowed * (1.0 + size)):
        lane, worst = _largest(off / (1.0 + size)[..., None])
        raise StateError(
            f"{called[1]} tears loops open, at joint {robot.v_names[worst]!r} by {off.max():.3g}{lane}: start from "
            f"robot.project({', '.join(called)})"
        )


def _largest(values: Array) -> tuple[str, int]:
    """Return the index of the largest of (..., n) numbers.

    The result is the state of the batch, in words, and the index on the last axis.
    """
    *lane, place = map(int, np.unravel_index(int(np.argmax(values)), values.shape))
    return (f" in state {tuple(lane)}" if lane else ""), place


def common_batch(system: DynamicSystem, q: Array, v: Array) -> tuple[int, ...]:
    """Return the shape of the batch of states and parameters; empty for one simulation."""
    shapes = [("q0", q.shape[:-1]), ("v0", v.shape[:-1])]
    shapes += [(_owned(system, name), x.shape[:-1]) for name, x in system.parameters.items()]
    try:
        return np.broadcast_shapes(*(shape for _, shape in shapes))
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes if shape)
        raise OptionError(
            f"the batches of simulations differ: {listed}. A batch comes first; after it q0, v0 and gains have an "
            "axis for the joints, numbers of a ground have none"
        ) from None


def _owned(system: DynamicSystem, parameter: str) -> str:
    """Return the name of a parameter with what it belongs to: ``kp of PD``, ``mass of 'upper'``."""
    number, _, name = parameter.partition(".")
    if not number.isdigit():
        return " and ".join(map(str, system.varied.places[:3])) + (" ..." if len(system.varied.places) > 3 else "")
    return f"{name.rpartition('.')[2]} of {system.parts[int(number)].element.kind}"


def sample_times(samples: Any, begin: float, end: float, at_most: int) -> Array | None:
    """Return the times of the samples, at most ``at_most`` of them; None for every step."""
    if samples is None:
        return None
    if isinstance(samples, str):
        raise OptionError(
            f"samples must be a number or increasing times, not {samples!r}: for one at each step of the integrator, "
            "leave it out"
        )
    if isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        if samples < 2:
            raise OptionError(f"samples must be at least two, or times; not {shown(samples)}")
        if samples > at_most:
            raise OptionError(
                Message(
                    f"{shown(samples)} samples are more than a run may keep, {at_most}: take fewer, or "
                    "let it keep more with ",
                    Setting("steps_at_most", ...),
                )
            )
        return np.linspace(begin, end, int(samples))
    try:
        times = np.asarray(samples)
        if times.dtype.kind not in "fiu":
            raise TypeError
        times = times.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"samples must be a number or increasing times, not {shown(samples)}") from None
    if times.ndim != 1 or not np.isfinite(times).all() or np.any(np.diff(times) <= 0.0):
        raise OptionError("samples must be a number or increasing times")
    if times.size and (times[0] < begin or times[-1] > end):
        raise OptionError(f"times of samples must lie between {begin:g} and {end:g} s, the time that is simulated")
    return times
