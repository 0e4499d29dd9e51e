"""The motion that a robot with given parameters would have made with the controller of the measured one.

The method of direct and inverse dynamic identification models (DIDIM; Gautier, Janot and Vandanjon, 2013) takes the
columns of its equations from such motions. They have no noise, so only the noise of the measured forces matters, and no
filter has to be chosen. The fitted parameters give another motion, and so on until nothing changes anymore.

Runs are cut into windows that are simulated side by side, by classical Runge-Kutta steps.  Each window begins with the
measured state, somewhat before the part that is used, by which time the controller has removed the error of that state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...algorithms.table import find
from ...control.base import Controller
from ...errors import IdentificationError, OptionError, UnsupportedError
from ...evaluation.law_kernels import LawProgram, can_compile
from ...evaluation.parameters import FLAT, Place, put_in
from ...model.parameters import FRICTION, rows
from ...spatial import Scalar, where
from ...spatial.arrays import Array
from .. import tuned_constants as tuned
from ..filtering import FilteredMotion

if TYPE_CHECKING:
    from ...robot.robot import Robot

Rates = tuple[Array, Array, Array]
Scalars = Sequence[Scalar]


@dataclass(frozen=True)
class ControlledRun:
    """A measured run: its states, its times, and its controller."""

    robot: Robot
    """The robot as the controller knows it, and whose friction and bodies are to be identified."""
    controller: Controller
    """The controller; its trajectory must cover the times of the data."""
    motions: Sequence[FilteredMotion]
    """Motions as measured."""
    skeleton: Robot
    """The robot with the springs that were found; it is used for all parameters that are tried, so that its code is
    compiled once."""

    def __post_init__(self) -> None:
        robot, controller = self.robot, self.controller
        if not isinstance(controller, Controller):
            raise OptionError(
                "estimator='didim' simulates the robot under the controller that it had: give controller=, such as "
                f"kt.control.PD(trajectory, kp, kd), not {controller!r}"
            )
        if robot.loops is not None or robot.nq != robot.nv or robot.is_floating:
            raise UnsupportedError(
                "estimator='didim' is for trees on a fixed base, of joints with one coordinate each; the others "
                "identify closed loops and floating bases, too"
            )
        first, last = controller.span
        begin, end = min(m.t[0] for m in self.motions), max(m.t[-1] for m in self.motions)
        if begin < first - 1e-9 or end > last + 1e-9:
            raise OptionError(
                f"the controller's trajectory is from {first:g} to {last:g} s and the data from {begin:g} to {end:g} "
                "s: both must use the same clock"
            )

    @cached_property
    def width(self) -> Array:
        """Speeds below which Coulomb friction is linear, per joint."""
        speeds = np.concatenate([m.v for m in self.motions])
        return tuned.SLOW * np.sqrt(np.mean(speeds**2, axis=0)) + 1e-9

    def simulated(self, truth: Robot) -> list[FilteredMotion]:
        """Return the motions of a robot under the controller, with the forces that were measured.

        truth: The robot with the parameters that are tried.
        """
        found = []
        for m in self.motions:
            q, v, a = np.empty_like(m.q), np.empty_like(m.v), np.empty_like(m.a)
            for windows in self._windows(m):
                states = self._rollout(truth, m, windows)
                for begin, first, last, *of_window in zip(*windows.T, *states, strict=True):
                    part = slice(int(first - begin), int(last - begin))
                    for whole, own in zip((q, v, a), of_window, strict=True):
                        whole[first:last] = own[part]
            if not np.isfinite(a).all():
                raise IdentificationError(
                    "the simulated robot runs away under the controller: are its gains, its trajectory and the times "
                    "of the data those of the measurement? See what estimator='weighted' finds"
                )
            found.append(FilteredMotion(m.t, q, v, a, m.tau, m.wrenches, self.width / tuned.NOISE))
        return found

    def _windows(self, m: FilteredMotion) -> Iterator[Array]:
        """Yield windows of equal length: where each begins, and the first and last sample that counts."""
        count, step = len(m.t), float(m.t[1] - m.t[0])
        if len(self.controller.initial_states(self.robot.model)):  # its states in the middle are unknown
            yield np.array([[0, 0, count]])
            return
        length, lead = max(2, round(tuned.WINDOW_LENGTH / step)), round(tuned.LEAD / step)
        starts = np.arange(0, count, length)
        rows = np.stack([np.maximum(starts - lead, 0), starts, np.minimum(starts + length, count)], axis=1)
        yield rows[:1]
        if len(rows) > 1:
            yield rows[1:]

    def _rollout(self, truth: Robot, m: FilteredMotion, windows: Array) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations, (windows, samples, nv), perhaps with extra samples."""
        begins, samples = windows[:, 0], int(np.max(windows[:, 2] - windows[:, 0]))
        times, step = m.t[begins], float(m.t[1] - m.t[0])
        q, v = m.q[begins], m.v[begins]
        begin = self.controller.initial_states(self.robot.model)
        z = np.broadcast_to(begin, (len(begins), len(begin)))
        own = _of_joints(truth)
        substeps = self._substeps(truth, own, times, q, v, step)
        h = step / substeps
        numbers = np.array([x for p, x in zip(rows(truth.model), truth.parameters().values, strict=True)
                            if p.symbol not in FRICTION])  # fmt: skip
        brakes = np.concatenate([own["damping"], own["friction"], own["offset"], 1.0 / self.width])

        def rates(t: Array, q: Array, v: Array, z: Array) -> Rates:
            both = self._rates({"t": t[:, None], "q": q, "v": v, "z": z, "p": numbers, "brakes": brakes})
            return v, both[:, : v.shape[1]], both[:, v.shape[1] :]

        record = []
        for _ in range(samples):
            first = rates(times, q, v, z)
            record.append((q, v, first[1]))
            for k in range(substeps):
                q, v, z = _runge_kutta(rates, times, (q, v, z), h, first if k == 0 else None)
                times = times + h
        return tuple(np.stack(part, axis=1) for part in zip(*record, strict=True))  # type: ignore[return-value]

    @cached_property
    def _control(self) -> LawProgram:
        """The controller's forces, then the rates of its states, as machine code."""
        return self._program("controller", lambda t, q, v, z: self._law(t[0], q, v, z))

    @cached_property
    def _rates(self) -> LawProgram:
        """Accelerations, then the rates of the controller's states; parameters are inputs, so this is compiled once."""
        tree, n = self.skeleton.model, self.robot.nv
        names = [p.name for p in rows(tree) if p.symbol not in FRICTION]
        places = [Place(FLAT, key=name) for name in names]

        def law(t: Scalars, q: Scalars, v: Scalars, z: Scalars, p: Scalars, brakes: Scalars) -> list[Scalar]:
            both = self._law(t[0], q, v, z)
            damping, friction, offset, slope = (brakes[k * n : (k + 1) * n] for k in range(4))
            tau = [both[k] - damping[k] * v[k] - friction[k] * _limited(slope[k] * v[k]) - offset[k] for k in range(n)]
            return [*find("forward_dynamics").function(put_in(tree, places, p), q, v, tau), *both[n:]]

        return self._program("controlled motion", law, p=len(names), brakes=4 * n)

    def _law(self, t: Scalar, q: Scalars, v: Scalars, z: Scalars) -> list[Scalar]:
        tau, rates = self.controller.law(self.robot.model, t, q, v, z)
        return [*tau, *rates]

    def _program(self, name: str, law: Callable[..., list[Scalar]], **lengths: int) -> LawProgram:
        tree = self.robot.model
        usual = {"t": 1, "q": tree.nq, "v": tree.nv, "z": len(self.controller.initial_states(tree))}
        title = f"{name} of {self.robot.name!r}"
        return LawProgram(title, law, usual | lengths, can_compile(self.robot), cpu=self.robot.cpu)

    def _substeps(self, truth: Robot, own: dict[str, Array], t: Array, q: Array, v: Array, step: float) -> int:
        """Return the number of substeps, from the fastest rate of the robot with its controller."""
        n = self.robot.nv
        begin = self.controller.initial_states(self.robot.model)
        z = np.broadcast_to(begin, (n + 1, len(begin)))
        small = 1e-4 * np.concatenate([np.zeros((1, n)), np.eye(n)])
        moment = np.full(n + 1, t[0])
        same_q, same_v = np.tile(q[0], (n + 1, 1)), np.tile(v[0], (n + 1, 1))
        by_q, by_v = (self._control({"t": moment[:, None], "q": x, "v": y, "z": z})[:, :n]
                      for x, y in ((same_q + small, same_v), (same_q, same_v + small)))  # fmt: skip
        inverse = truth.inverse_mass_matrix(q[0])
        stiff, drag = ((x[1:] - x[0]).T / -1e-4 for x in (by_q, by_v))
        drag = drag + np.diag(own["damping"] + own["friction"] / self.width)
        whole = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ stiff, -inverse @ drag]])
        fastest = float(np.max(np.abs(np.linalg.eigvals(whole)))) if np.isfinite(whole).all() else np.inf
        count = np.ceil(step * fastest / tuned.STABLE)
        if not count <= tuned.MOST_SUBSTEPS:
            raise IdentificationError(
                f"the simulated robot with its controller is too stiff for the data's step of {1e3 * step:.3g} ms (its "
                f"fastest rate is {fastest:.3g} per second): are the controller's gains those at the joints? A "
                "light last body also causes this: resample the data, or give fixed= for it"
            )
        return max(1, int(count))


def _of_joints(robot: Robot) -> dict[str, Array]:
    """Return viscous and Coulomb friction and the offset of all joints."""
    table = robot.parameters()
    return {what: np.array([table[f"{name}.{what}"] for name in robot.v_names]) for what in FRICTION}


def _limited(x: Scalar) -> Scalar:
    """Return the number, or the nearer of -1 and 1."""
    return where(x > 1.0, 1.0, where(x < -1.0, -1.0, x))


def _runge_kutta(
    rates: Callable[..., Rates], t: Array, state: Rates, h: float, first: Rates | None = None
) -> Rates:  # fmt: skip
    """Return the state a step ahead, by the classical method of fourth order."""

    def ahead(by: float, slope: Rates) -> Rates:
        q, v, z = (x + by * rate for x, rate in zip(state, slope, strict=True))
        return q, v, z

    k1 = rates(t, *state) if first is None else first
    k2 = rates(t + 0.5 * h, *ahead(0.5 * h, k1))
    k3 = rates(t + 0.5 * h, *ahead(0.5 * h, k2))
    k4 = rates(t + h, *ahead(h, k3))
    q, v, z = (a + 2.0 * b + 2.0 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
    return ahead(h / 6.0, (q, v, z))
