"""Controllers as laws for C: gains in a struct, the desired motion as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..algorithms.acting_element import ActingElement
from ..errors import ClosureError, UnsupportedError
from ..export.c_law import CLaw
from ..motion.trajectory_interface import Motion, Trajectory
from ..spatial import Scalar
from ..spatial.arrays import Array


@dataclass(frozen=True, eq=False)
class GivenMotion(Trajectory):
    """A motion whose numbers are given from outside at every call."""

    numbers: Motion

    def at(self, t: Scalar) -> Motion:
        """Return the numbers."""
        return self.numbers


def law_for_c(controller: Any, robot: Any) -> CLaw:
    """Return a controller as a law for C.

    Desired positions, velocities and accelerations are arguments in place of each trajectory.  If the controller has
    states, they are one more argument, the sample time is among the gains, and the next states follow the forces in the
    result.
    """
    if _is_sampled(controller):
        raise UnsupportedError(
            "a Sampled controller cannot be written in C as it is: its limits, encoders, filters, delays and observers "
            "would be missing. Write the controller inside it, which the target calls at every sample, with "
            "control.Saturated for limits; kinetree.fmu writes all of it"
        )
    tree, bound = robot.model, controller.bound(robot)
    if bound.plain_function() is not None:
        raise UnsupportedError("a plain Python function cannot be written in C: use control.Law, over any scalar")
    found: dict[int, Trajectory] = {}
    _with_trajectories(bound, lambda path: found.setdefault(id(path), path))
    count = len(bound.initial_states(tree))
    numbers = bound.adjustable(tree)
    if any(x.ndim > 1 for x in numbers.values()):
        raise UnsupportedError("gains with a batch in front cannot be written in C: give one of them")
    names = _short(list(numbers))
    gains = dict(zip(names, numbers.values(), strict=True)) | ({"period": np.array([1e-3])} if count else {})
    arguments = [("q", tree.nq), ("v", tree.nv)]
    for k, path in enumerate(found.values()):
        last = "" if k == 0 else f"_{k + 1}"
        arguments += [(f"{x}_desired{last}", n) for x, n in (("q", path.nq), ("v", path.n), ("a", path.n))]
    arguments += ([("states", count)] if count else []) + [("t", 1)]

    def function(*vectors: list[Scalar]) -> list[Scalar]:
        chosen = dict(zip(gains, vectors[: len(gains)], strict=True))
        given = dict(zip((name for name, _ in arguments), vectors[len(gains) :], strict=True))
        rest = iter(vectors[len(gains) + 2 :])
        told = {key: GivenMotion((list(next(rest)), list(next(rest)), list(next(rest)))) for key in found}
        law = _with_trajectories(bound, lambda path: told[id(path)])
        law = law.with_parameters({old: chosen[new] for old, new in zip(numbers, names, strict=True)})
        z, period = given.get("states", []), chosen.get("period", [0.0])[0]
        tau, after = law.update(tree, given["t"][0], given["q"], given["v"], z, period)
        return [0.0 * given["q"][0] + x for x in (*tau, *after)]

    def sample(rng: np.random.Generator) -> list[Array]:
        q, v = _random_state(robot, rng)
        drawn = [q, v]
        for path in found.values():
            place = robot.integrate(q, rng.uniform(-0.3, 0.3, robot.nv))  # an error, which gains of positions act on
            if path.nq != tree.nq:
                place = np.concatenate([place[j.q_slice] for j in controller.joints(tree)])
            drawn += [place if len(place) == path.nq else rng.uniform(-1.0, 1.0, path.nq)]
            drawn += list(rng.uniform(-2.0, 2.0, (2, path.n)))
        return [*drawn, *([rng.uniform(-1.0, 1.0, count)] if count else []), rng.uniform(0.0, 1.0, 1)]

    parts = {"TAU": 0} | ({"STATES": tree.nv} if count else {})
    return CLaw(_said(controller, bool(found), count), gains, tuple(arguments), function, parts, sample)


def _is_sampled(controller: Any) -> bool:
    """Return whether a controller works in discrete time, or one inside it does."""
    return bool(controller.IN_DISCRETE_TIME or any(_is_sampled(part) for part in controller.inner()))


def _random_state(robot: Any, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return a random state at which to try a law; loops are closed near an assembled configuration."""
    v = rng.uniform(-2.0, 2.0, robot.nv)
    if robot.loops is None:
        return robot.random_configuration(rng), v
    q = robot.assembled()
    with suppress(ClosureError):
        q = robot.close(robot.integrate(q, rng.uniform(-0.1, 0.1, robot.nv)))
    return q, robot.nearest_velocity(q, v)


def _said(controller: Any, led: bool, states: int) -> list[str]:
    lines = [f"Joint forces of the controller {_called(controller)}."]
    if led:
        lines.append("q_desired, v_desired, a_desired: the desired motion at this moment.")
    if states:
        lines.append("states: from the last call, zeros at first; those of the next call come behind the forces.")
        lines.append("period: seconds from call to call.")
    return lines


def _called(controller: Any) -> str:
    """Return what a controller is, with those inside it: ``Saturated(PD + GravityCompensation)``."""
    inside = [_called(one) for one in getattr(controller, "inner", tuple)()]
    return f"{controller.kind}({' + '.join(inside)})" if inside else str(controller.kind)


def _with_trajectories(controller: Any, put: Callable[[Trajectory], Trajectory]) -> Any:
    """Return a controller with its trajectories replaced, including those of the controllers inside it."""
    changed: dict[str, Any] = {}
    for name in (f.name for f in fields(controller) if f.init):
        value = getattr(controller, name)
        if isinstance(value, Trajectory):
            changed[name] = put(value)
        elif isinstance(value, ActingElement):
            changed[name] = _with_trajectories(value, put)
        elif isinstance(value, tuple) and value and all(isinstance(x, ActingElement) for x in value):
            changed[name] = tuple(_with_trajectories(x, put) for x in value)
    return replace(controller, **changed) if changed else controller


def _short(names: Sequence[str]) -> list[str]:
    """Return names for C, without the number of a part as in ``0.kp`` if no other part has the same name."""
    last = [name.rpartition(".")[2] for name in names]
    return [x if last.count(x) == 1 else f"{x}_{name.partition('.')[0]}" for x, name in zip(last, names, strict=True)]
