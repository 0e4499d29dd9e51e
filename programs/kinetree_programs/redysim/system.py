"""A ReDySim folder that can be run: its robot, motion and torques, and the results that ReDySim computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algorithms import articulated_body
from kinetree.errors import FileFormatError, Message, OptionError, Setting, SimulationError, UnknownNameError
from kinetree.io.paths import as_path
from kinetree.motion.splines import sampled
from kinetree.motion.trajectory_interface import Trajectory
from kinetree.robot.load import load
from kinetree.robot.robot import Robot
from kinetree.simulation.records.record import Record
from kinetree.simulation.simulator import simulate, simulate_prescribed
from kinetree.spatial import linear_systems
from kinetree.spatial.arrays import Array
from kinetree.spatial.scalar import Scalar

from ..matlab import Matrix
from .folder import FORWARD, INVERSE, Initials, RedysimFolder, inputs_of
from .ground import ground_of
from .laws import RedysimLaws
from .loops import loops_of
from .motion import RedysimMotion
from .stored import Stored, stored_beside, why_not
from .torque import RedysimTorque

BASE = 6


@dataclass(frozen=True)
class RedysimRun:
    """The result of a run, in ReDySim's order of columns.

    Attributes
    ----------
    time : ndarray, shape (K,)
    state : ndarray, shape (K, columns)
        As in ``statevar.dat``.
    torques : ndarray, shape (K, n)
        Joint torques, without those of a floating base.
    energy : ndarray, shape (K, 4) or None
        As in ``envar.dat``: potential, kinetic, actuators, total; for legged systems also the ground.
    momentum : ndarray, shape (K, 6) or None
        As in ``mtvar.dat`` of floating bases: linear and angular.
    multipliers : ndarray or None
        Multipliers of closed loops in inverse dynamics, one for each row of J.
    record : Record or None
        Record of a simulation.
    remarks : sequence of str
    """

    time: Array
    state: Array
    torques: Array
    energy: Array | None = None
    momentum: Array | None = None
    multipliers: Array | None = None
    record: Record | None = None
    remarks: Sequence[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = ", ".join(f"{name} ({x.shape[1]} columns)" for name, x in self.columns().items())
        span = f"t = {self.time[0]:g} to {self.time[-1]:g} s in " if len(self.time) else ""
        lines = [f"ReDySim run: {span}{len(self.time)} rows", f"  {parts}"]
        if self.torques.size:
            most = np.abs(self.torques).max(axis=0)
            lines.append("  largest torques, without sign: " + ", ".join(f"{x:.4g}" for x in most))
        if self.record is not None:
            lines += ["  its record:", *(f"    {line}" for line in str(self.record).splitlines())]
        return "\n".join([*lines, *(f"  {remark}" for remark in self.remarks)])

    __repr__ = __str__

    def columns(self) -> dict[str, Array]:
        """Return arrays, (T, n) each, by the names of ReDySim's files."""
        tor = self.torques if self.multipliers is None else np.hstack([self.torques, self.multipliers])
        found = {"statevar": self.state, "tor": tor, "envar": self.energy, "mtvar": self.momentum}
        return {name: x for name, x in found.items() if x is not None}


class Redysim:
    """A ReDySim folder that runs: ``inputs.m``, ``initials.m``, ``trajectory.m``, ``torque.m``, ...

    Parameters
    ----------
    folder : path-like
    robot : Robot, optional
        Replaces the robot of the folder; must have the same joints.
    analysis : {"forward", "inverse"}, optional
        By default that of the solver in the folder.
    trajectory : path-like, optional
        A readable file in place of an encrypted trajectory.

    Examples
    --------
    ``kt.Redysim("InvDyn/KUKA Robot").run().torques``
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, robot: Robot | None = None, analysis: str | None = None,
        trajectory: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        path = inputs_of(as_path(folder, "a folder of ReDySim")).parent
        instead = {} if trajectory is None else {"trajectory": as_path(trajectory, "a trajectory of ReDySim")}
        self.folder = RedysimFolder(path, instead=instead)
        if analysis not in (None, FORWARD, INVERSE):
            raise UnknownNameError("analysis of ReDySim", str(analysis), (FORWARD, INVERSE))
        self.analysis = analysis or self.folder.analysis
        self.robot = load(path) if robot is None else robot
        self.laws = RedysimLaws(self.folder, self.robot.model)
        self.folder.kept["initials"] = lambda: self._initials

    def __repr__(self) -> str:
        kind = "legged" if self.folder.has_ground else "floating base" if self.folder.is_floating else "fixed base"
        loops = ", closed loops" if self.folder.is_closed else ""
        return f"<Redysim {self.robot.name!r}: {kind}{loops}, {self.analysis} dynamics>"

    # ------------------------------------------------------------------ contents of the files

    @property
    def has_motion(self) -> bool:
        """Whether there is a readable ``trajectory.m``."""
        return self.folder.code.has("trajectory")

    @cached_property
    def motion(self) -> Trajectory:
        """The motion of all joints except a floating base."""
        if self.has_motion:
            return RedysimMotion(self.laws)
        stored = self._stored_motion
        if stored is None:
            raise FileFormatError(self._without_motion, str(self.folder.path))
        count = len(self.laws.order.joints)
        ranks = np.argsort(self.laws.order.joints)
        place, rate = stored.state[:, BASE : BASE + count], stored.state[:, 2 * BASE + count : 2 * BASE + 2 * count]
        return sampled(stored.time, place[:, ranks], rate[:, ranks])

    @property
    def _without_motion(self) -> Message:
        """What to do if no file defines the motion of the joints."""
        if "trajectory" not in self.folder.encrypted():
            return Message("there is no trajectory.m: the motion of the joints is not defined")
        return Message(
            "no stored states of this system are there to take the place of the encrypted trajectory.p: give a "
            "trajectory.m that can be read, ",
            Setting("trajectory", ...),
        )

    @cached_property
    def _stored_motion(self) -> Stored | None:
        """Stored states of this system, recognized by the stored energies."""
        if not self.folder.is_floating or self.analysis != INVERSE:
            return None
        for one in stored_beside(list(self.folder.code.places)):
            if one.state.shape[1] < 2 * self.robot.nv or "envar" not in one.arrays:
                continue
            q, v = (self._ours(one.state[0, k : k + self.robot.nv]) for k in (0, self.robot.nv))
            own = float(self.robot.potential_energy(q)), float(self.robot.kinetic_energy(q, v))
            if np.allclose(own, one.arrays["envar"][0, :2], rtol=1e-4, atol=1e-5):
                return one
        return None

    @cached_property
    def controller(self) -> RedysimTorque | None:
        """The forces of ``torque.m``, if there is one."""
        if not self.folder.code.has("torque"):
            return None
        return RedysimTorque(self.laws, [] if self.ground is None else [self.ground])

    @cached_property
    def ground(self) -> Any:
        """The ground of a legged system."""
        return ground_of(self.folder) if self.folder.has_ground else None

    @cached_property
    def _initials(self) -> Initials:
        """The values in initials.m; the state is the stored one if computing it needs encrypted files."""
        if self.has_motion or not self.folder.code.has("initials"):
            return self.folder.initials()
        try:
            return self.folder.initials()
        except FileFormatError as problem:
            if self._stored_motion is None:
                raise FileFormatError(Message(f"{problem}; ", self._without_motion)) from None
        n = self.folder.count
        blank = [Matrix(np.zeros((n, 1))), Matrix(np.zeros((n, 1))), Matrix(np.zeros((n - 1, 1)))]
        blank += [Matrix(np.zeros((1, 1)))] * 6
        said = self.folder.initials({"trajectory": lambda given, outputs: blank[:outputs]})
        first = self._stored_motion.state[0]
        own = self.robot.nv
        state = np.concatenate([first[:BASE], first[own : own + BASE], np.zeros(2)])
        return Initials(state, said.begin, said.end, said.step, said.rtol, said.atol, said.integrator)

    @property
    def initials(self) -> Initials:
        """Initial state, times and tolerances."""
        return self.laws.initials

    @cached_property
    def times(self) -> Array:
        """Times of ReDySim's rows, (T,)."""
        if self.analysis == INVERSE and not self.folder.is_floating:
            begin, end, step = 0.0, float(self.laws.end), self.folder.period_step
        else:
            given = self.initials
            if given.end is None:
                raise FileFormatError("initials.m does not set the final time tf", str(self.folder.path))
            begin, end, step = given.begin or 0.0, given.end, given.step
        count = 201 if step is None else int(np.floor((end - begin) / step + 1e-9)) + 1
        return np.linspace(begin, end, count) if step is None else begin + step * np.arange(count)

    @cached_property
    def start(self) -> tuple[Array, Array]:
        """Initial positions (nq,) and velocities (nv,), in the robot's coordinates, with closed loops."""
        state, nv = self.initials.state, self.robot.nv
        if state is None or len(state) < 2 * nv:
            raise FileFormatError(
                f"initials.m gives a state of {0 if state is None else len(state)} numbers, and positions and "
                f"velocities are {2 * nv}", str(self.folder.path),
            )  # fmt: skip
        q, v = (self._ours(state[k : k + nv]) for k in (0, nv))
        if self.robot.loops is not None:
            q = self.robot.close(q)
            k = self.robot.loop_jacobian(q)
            v = v - np.linalg.pinv(k, rcond=1e-9) @ (k @ v)
        return q, v

    def _ours(self, given: Array) -> Array:
        return np.array(self.laws.order.ours(given.tolist()))

    def notes(self) -> list[str]:
        """Return notes on what was found, taken from elsewhere, and replaced."""
        found = []
        borrowed = self.folder.borrowed(self.analysis)
        if borrowed:
            found.append(f"from the working folder above: {', '.join(borrowed)}")
        if self.folder.is_closed:
            loops = loops_of(self.folder)
            if loops.pins:
                found.append(
                    f"{len(loops.pins)} joint{'s close' if len(loops.pins) > 1 else ' closes'} loops, {loops.words}"
                )
            else:
                found.append(f"jacobian.m itself gives the rows of loops, since {loops.words}")
            if loops.start_gap > 1e-9:
                found.append(
                    f"loops are open by {loops.start_gap:.1e} m in the folder's start: it is closed before a run"
                )
        for name, (held, instead) in self.folder.encrypted().items():
            if name == "trajectory" and self.has_motion:
                own = self.folder.instead.get("trajectory") or self.folder.code.find("trajectory.m")
                instead = f"{own}, which can be read; MATLAB would run the encrypted one"
            found.append(f"{name}.p is encrypted: {held}; in its place: {instead}")
        return found

    # ------------------------------------------------------------------ running

    def check(self) -> None:
        """Raise an error if it cannot run, because files are missing, encrypted or incomplete."""
        if self.analysis == FORWARD or self.folder.is_floating:
            self.initials  # noqa: B018
        if self.analysis == FORWARD:
            self.start  # noqa: B018
        else:
            self.motion(self.times[:1])

    def run(self, **options: Any) -> RedysimRun:
        """Compute what ReDySim computes.

        Parameters
        ----------
        **options
            Options of :func:`kinetree.simulate`, in place of those of ``initials.m``: ``integrator``, ``rtol``,
            ``atol``, ``time``, ``samples``.
        """
        if self.analysis == FORWARD:
            return self._forward(options)
        if self.folder.is_floating:
            return self._prescribed(options)
        if options:
            raise OptionError(
                f"inverse dynamics of a fixed base integrates nothing: {', '.join(options)} has no effect"
            )
        return self._inverse()

    def _inverse(self) -> RedysimRun:
        places, robot = list(self.laws.order.places), self.robot
        q, v, a = self.motion(self.times)
        state = np.hstack([x[:, places] for x in (q, v, a)])
        whole = robot.tree.inverse_dynamics(q, v, a)[:, places]
        if not self.folder.is_closed:
            return RedysimRun(self.times, state, whole)
        driven = [k for k, place in enumerate(places) if self.is_driven(place)]
        j = self.rows_along(q, v)
        across = j.swapaxes(1, 2)
        if robot.loops is not None:
            tau = robot.inverse_dynamics(q, v, a)[:, places]
        else:  # motors and constraint rows together hold the tree
            motors = np.broadcast_to(np.eye(len(places))[:, driven], (len(q), len(places), len(driven)))
            share = _least_squares(np.concatenate([motors, across], axis=2), whole)
            tau = np.zeros_like(whole)
            tau[:, driven] = share[:, : len(driven)]
        multipliers = _least_squares(across, whole - tau)
        return RedysimRun(self.times, state, tau[:, driven], multipliers=multipliers)

    def is_driven(self, place: int) -> bool:
        """Return whether a coordinate of the robot has a motor."""
        return any(j.actuated and j.v_slice.start <= place < j.v_slice.stop for j in self.robot.model.joints)

    def rows_along(self, q: Array, v: Array) -> Array:
        """Return J at all times, (T, rows, columns), in ReDySim's order: of ``inv_kine.m``, or of ``jacobian.m``."""
        j = self.laws.rows_of_motion(self.times)
        if j is None:
            j = self.laws.rows(list(q.T), list(v.T))[0]
        return np.array([[np.broadcast_to(x, len(q)) for x in row] for row in j], dtype=float).transpose(2, 0, 1)

    @property
    def _stiff(self) -> str:
        """The integrator for stiff systems; with loops not bdf, whose history does not allow closing between steps."""
        return "bdf" if self.robot.loops is None else "radau"

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        said = self.initials
        found: dict[str, Any] = {"integrator": said.integrator or "rk45", "samples": self.times}
        found |= {"time": (float(self.times[0]), float(self.times[-1]))}
        if found["integrator"] == "dopri5":
            found["step"] = said.step
        else:
            found |= {key: x for key, x in (("rtol", said.rtol), ("atol", said.atol)) if x is not None}
        return found | given

    def _forward(self, given: dict[str, Any]) -> RedysimRun:
        q, v = self.start
        forces: list[Any] = []
        if self.folder.is_closed and self.robot.loops is None:
            forces = [self._row_forces()]
        around: dict[str, Any] = {
            "controller": self.controller,
            "ground": self.ground or (),
            "forces": forces,
            "progress": False,
        }
        record, remarks = _stiff_or_not(
            lambda options: simulate(self.robot, q, v, **around, **options), self._options(given), self._stiff
        )
        return self._of_record(record, remarks)

    def _row_forces(self) -> Callable[[Scalar, list[Scalar], list[Scalar]], list[Scalar]]:
        """Return the forces of the rows of ``jacobian.m``, by ReDySim's own method without closing joints."""
        tree, laws, controller = self.robot.model, self.laws, self.controller

        def push(t: Scalar, q: list[Scalar], v: list[Scalar]) -> list[Scalar]:
            tau = [0.0] * tree.nv if controller is None else controller.law(tree, t, q, v, [])[0]
            j, rates = (laws.ours_by_row(x) for x in laws.rows(q, v))
            free = articulated_body.forward_dynamics(tree, q, v, tau, tree.gravity)
            still, none = [0.0] * tree.nv, [0.0] * 3
            moved = [articulated_body.forward_dynamics(tree, q, still, row, none) for row in j]
            matrix = [[linear_systems.dot(row, column) for column in moved] for row in j]
            side = [-linear_systems.dot(d, v) - linear_systems.dot(row, free) for d, row in zip(rates, j, strict=True)]
            pull = linear_systems.lu_solve(matrix, side)
            return [linear_systems.dot([row[k] for row in j], pull) for k in range(tree.nv)]

        return push

    def _prescribed(self, given: dict[str, Any]) -> RedysimRun:
        state = self.initials.state
        if state is None or len(state) < 2 * BASE:
            raise FileFormatError("initials.m has no state of the base", str(self.folder.path))
        base, rate = ([*state[k + 3 : k + 6], *state[k : k + 3]] for k in (0, BASE))
        joints = [j.name for j in self.robot.model.joints if j.nv == 1]
        around: dict[str, Any] = {"joints": joints, "q0": base, "v0": rate}
        around |= {"ground": self.ground or (), "progress": False}
        record, remarks = _stiff_or_not(
            lambda options: simulate_prescribed(self.robot, self.motion, **around, **options), self._options(given),
            self._stiff,
        )  # fmt: skip
        return self._of_record(record, remarks)

    def _of_record(self, record: Record, remarks: list[str]) -> RedysimRun:
        places = list(self.laws.order.places)
        joints = list(self.laws.order.joints)
        actuators = -record.energy.actuators
        columns = [record.q[:, places], record.v[:, places]]
        potential, kinetic = record.energy.potential, record.energy.kinetic
        total = potential + kinetic + actuators
        energy = [potential, kinetic, actuators, total]
        if self.folder.has_ground:
            ground = -record.energy.ground
            columns.append(ground[:, None])
            energy = [potential, kinetic, actuators, total + ground, ground]
        columns.append(actuators[:, None])
        if self.controller is not None and self.folder.has_ground and self.analysis == FORWARD:
            columns.append(np.full((len(record), 12), np.nan))  # the controller's own base, not recorded
        momentum = None
        if self.folder.is_floating:
            turning = self.robot.momentum(record.q, record.v, "origin")
            momentum = np.hstack([turning[:, 3:], turning[:, :3]])
        return RedysimRun(
            record.time, np.hstack(columns), record.tau[:, joints], np.column_stack(energy), momentum, None, record,
            remarks,
        )  # fmt: skip

    # ------------------------------------------------------------------ what is stored

    def stored(self, run: RedysimRun) -> tuple[Stored | None, list[str]]:
        """Return the outputs of ReDySim that belong to this run, and remarks on those that do not."""
        words = []
        for one in stored_beside(list(self.folder.code.places)):
            reason = why_not(one, run.time, run.state)
            if not reason:
                return one, []
            if one.place == self.folder.path:
                words.append(f"the outputs in the folder are of another run: {reason}")
        return None, words


def _least_squares(matrix: Array, side: Array) -> Array:
    """Return the least-norm least-squares solutions of many systems at once."""
    found: Array = (np.linalg.pinv(matrix, rcond=1e-12) @ side[:, :, None])[:, :, 0]
    return found


def _stiff_or_not(
    simulated: Callable[[dict[str, Any]], Record], options: dict[str, Any], stiff: str
) -> tuple[Record, list[str]]:  # fmt: skip
    """Return a record, by another integrator if ode45 fails on a stiff system, and remarks on that."""
    try:
        return simulated(options), []
    except SimulationError as problem:
        if options["integrator"] != "rk45":
            raise
        try:
            record = simulated(options | {"integrator": stiff})
        except SimulationError:
            raise problem from None
        return record, [f"ode45 would take too many steps, so that {stiff} is taken: {problem}"]
