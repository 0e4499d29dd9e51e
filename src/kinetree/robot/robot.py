"""What a user holds: a robot. Each method is one call into an algorithm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import centroidal, jacobian
from ..algorithms.table import ALGORITHMS, FORWARD_METHODS
from ..errors import (
    ModelError,
    NoLoopsError,
    OptionError,
    ShapeError,
    SingularError,
    StateError,
    UnknownNameError,
)
from ..model import configurations, denoc_modules, hinges
from ..model import describe as description
from ..model.builder import ModelBuilder
from ..model.mass import MassProperties, require_mass_properties
from ..model.pose import Pose
from ..model.tree import BASE, Body, Frame, Joint, Model, check_gravity
from ..run.compiler import check_cpu
from ..run.direct import direct
from ..run.evaluator import Evaluator
from ..run.options import requests
from ..run.wrench_derivatives import world_stiffness
from ..run.wrenches import Wrench, Wrenches, each_wrench
from ..spatial.arrays import as_array, batch_shape

if TYPE_CHECKING:
    from ..export.c_code import Exported
    from ..export.cost import Count
    from ..export.symbolic.on_sympy import Equations
    from ..loops.signatures import LoopMethods
else:
    LoopMethods = object

Array = np.ndarray

BACKENDS = ("compiled", "reference")


class Robot(LoopMethods):
    """A tree of bodies whose motion and forces can be computed, for one state or a batch.

    Make one with :func:`kinetree.load`, :class:`kinetree.Builder` or
    :func:`kinetree.from_dh`.  All arrays have the batch in front: ``q`` is ``(..., nq)``,
    ``v`` is ``(..., nv)``, and batches broadcast as in NumPy.

    Parameters
    ----------
    model : Model
        The mechanism as plain data.
    backend : {"compiled", "reference"}
        Machine code made on first use (default), or the algorithms run as they are written,
        on NumPy arrays; ``KINETREE_BACKEND`` in the environment sets the default.
    precision : {"double", "single"}
        Single precision computes in float32 and returns it (the reference computes in double and rounds).
    cpu : str, optional
        What machine code is made for: ``"native"``, ``"x86-64-v3"``, ...; ``KINETREE_CPU`` in the environment sets
        the default, else it is the processor at hand.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    >>> robot.gravity_force([0.0])
    array([0.])
    """

    def __new__(cls, model: Any = None, **options: Any) -> Robot:
        """A model with closed loops becomes a :class:`kinetree.Mechanism`."""
        if cls is Robot and isinstance(model, Model) and model.loops:
            from .mechanism import Mechanism

            return super().__new__(Mechanism)
        return super().__new__(cls)

    def __init__(
        self, model: Model, *, backend: str | None = None, precision: str = "double", cpu: str | None = None
    ) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"a Robot is made from a Model, not {type(model).__name__}; see kinetree.load and Builder")
        self.model = model
        self.backend = backend or os.environ.get("KINETREE_BACKEND") or "compiled"
        self.precision = precision
        if self.backend not in BACKENDS:
            origin = "" if backend else " (KINETREE_BACKEND in the environment)"
            raise UnknownNameError(f"backend{origin}", self.backend, BACKENDS)
        if precision not in ("double", "single"):
            raise UnknownNameError("precision", precision, ("double", "single"))
        self.cpu = check_cpu(cpu)
        self.evaluator = Evaluator(model, self.backend, precision, self.cpu)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only asked for what is not there: methods of mechanisms say what they miss."""
            from .mechanism import Mechanism

            if not name.startswith("_") and hasattr(Mechanism, name):
                raise NoLoopsError(self.name, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    # ---------------------------------------------------------------- what it is

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.model.nv

    @property
    def joint_names(self) -> list[str]:
        """Moving joints, parents before children; ``q`` and ``v`` are laid out in this order.

        A joint that mimics another is listed but has no entry of its own; see
        :attr:`q_names` and :attr:`v_names` for one name per entry.
        """
        return [j.name for j in self.model.joints]

    @property
    def q_names(self) -> list[str]:
        """One name per entry of ``q``.

        The joint's; with a number behind it if it has several, as ``"wrist[0]"``; with a word, if they are those of a
        quaternion and a position: ``"floating_base.qw"``, ``"floating_base.z"``.
        """
        return list(self.model.q_names)

    @property
    def v_names(self) -> list[str]:
        """One name per entry of ``v`` and ``tau``, as in :attr:`q_names`; of a free joint ``"base.wx"``, ..."""
        return list(self.model.v_names)

    @property
    def q_units(self) -> list[str]:
        """Unit of each entry of ``q``: ``"rad"``, ``"m"``, or ``"1"`` for a quaternion's."""
        return list(self.model.q_units)

    @property
    def v_units(self) -> list[str]:
        """Unit of each entry of ``v``, times a second: ``"rad"`` or ``"m"``."""
        return list(self.model.v_units)

    @property
    def tau_units(self) -> list[str]:
        """Unit of each entry of ``tau``: ``"N m"`` or ``"N"``."""
        return list(self.model.tau_units)

    def entry_index(self, name: str, which: str = "v") -> int:
        """Return where an entry of ``q`` or ``v`` is, by its name or joint and number: ``"floating_base[6]"``."""
        names, first = (self.q_names if which == "q" else self.v_names), 0
        if name in names:
            return names.index(name)
        for joint in self.model.joints:
            own = 0 if joint.mimic else joint.nq if which == "q" else joint.nv
            counted = [f"{joint.name}[{k}]" for k in range(own)]
            if own > 1 and name in counted:
                return first + counted.index(name)
            first += own
        raise UnknownNameError("coordinate" if which == "q" else "freedom", name, names)

    @property
    def lower_limits(self) -> Array:
        """Position limits, laid out like ``q``; infinite where there are none."""
        return self.model.joint_vector("lower")

    @property
    def upper_limits(self) -> Array:
        """Position limits, laid out like ``q``; infinite where there are none."""
        return self.model.joint_vector("upper")

    @property
    def velocity_limits(self) -> Array:
        """Velocity limits, laid out like ``v``."""
        return self.model.joint_vector("velocity_limit")

    @property
    def effort_limits(self) -> Array:
        """Force and torque limits, laid out like ``v``."""
        return self.model.joint_vector("effort_limit")

    @property
    def body_names(self) -> list[str]:
        """Moving bodies; body i is carried by joint i."""
        return [b.name for b in self.model.bodies]

    @property
    def frame_names(self) -> list[str]:
        """Every name :meth:`pose` understands."""
        return list(self.model.frame_table)

    @property
    def base_name(self) -> str:
        """Name of the fixed base."""
        return self.model.base.name

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall in the world frame."""
        return np.array(self.model.gravity)

    @property
    def mass(self) -> float:
        """Mass of all moving bodies."""
        return centroidal.total_mass(self.model)

    @property
    def is_floating(self) -> bool:
        """Whether a single body with six degrees of freedom carries all others."""
        return self.model.is_floating

    def joint(self, name: str) -> Joint:
        """A joint by name, with ``q_slice`` and ``v_slice`` saying where its coordinates sit."""
        return self.model.joint(name)

    def body(self, name: str) -> Body:
        """A body by name, with its mass properties (everything welded to it included)."""
        index = self.model.body_index.get(name) if isinstance(name, str) else None
        if index is None:
            raise UnknownNameError("body", name, self.model.body_index)
        return self.model.base if index == BASE else self.model.bodies[index]

    def frame(self, name: str) -> Frame:
        """A frame by name: the body that carries it and its pose there."""
        return self.model.frame(name)

    def describe(self) -> str:
        """The tree with joints, masses and limits, as text."""
        return description.describe(self.model)

    def __repr__(self) -> str:
        bodies = description.counted(len(self.model.bodies), "body", "bodies")
        return f"<Robot {self.name!r}: {bodies}, nq={self.nq}, nv={self.nv}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.model.name, tuple(self.joint_names[:1]), self.nv))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.model, self.backend, self.precision, self.cpu)

    def _with(self, model: Model) -> Robot:
        return self._rebuilt(model, self.backend, self.precision, self.cpu)

    def _rebuilt(self, model: Model, backend: str, precision: str, cpu: str) -> Robot:
        return Robot(model, backend=backend, precision=precision, cpu=cpu)

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """The same robot in another gravity field."""
        return self._with(replace(self.model, gravity=check_gravity(gravity)))

    def with_frame(self, name: str, body: str, pose: Pose | ArrayLike) -> Robot:
        """The same robot with one more named frame: a tool tip, a sensor, a contact point.

        Parameters
        ----------
        name : str
            Of the new frame.
        body : str
            Body or frame it is placed on.
        pose : Pose, (3,) position or 4x4 matrix
            Of the new frame in that body or frame.
        """
        if name in self.model.frame_table:
            raise ModelError(f"there is a frame named {name!r} already")
        carrier = self.model.frame(body)
        frame = Frame(name, carrier.body, carrier.pose @ Pose.like(pose))
        return self._with(replace(self.model, frames=(*self.model.frames, frame)))

    def with_payload(self, body: str, payload: MassProperties) -> Robot:
        """The same robot with more mass welded to a body or frame, whose axes the payload is given in."""
        frame = self.model.frame(body)
        require_mass_properties(payload, f"the payload on {body!r}")
        for problem in payload.problems():
            raise ModelError(f"the payload on {body!r}: {problem}")
        if frame.body == BASE:
            raise ModelError(f"{body!r} is fixed to the ground: a payload there changes nothing")
        bodies = list(self.model.bodies)
        present = bodies[frame.body]
        bodies[frame.body] = Body(present.name, present.mass_properties + payload.moved(frame.pose))
        return self._with(replace(self.model, bodies=tuple(bodies)))

    def with_backend(self, backend: str, cpu: str | None = None) -> Robot:
        """The same robot run in another way.

        Parameters
        ----------
        backend : {"compiled", "reference"}
        cpu : str, optional
            What machine code is made for, such as ``"x86-64-v3"``; as before when left out.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.gallery.load("gripper").with_backend("compiled", cpu="native")
        """
        return self._rebuilt(self.model, backend, self.precision, self.cpu if cpu is None else cpu)

    def with_precision(self, precision: str) -> Robot:
        """The same robot computing in ``"double"`` or ``"single"`` precision."""
        return self._rebuilt(self.model, self.backend, precision, self.cpu)

    def with_single_joints(self) -> Robot:
        """The same robot with every compound joint as a chain of one-DOF joints and massless links.

        This is the sources' Euler-angle-joint form; coordinates keep their order and
        meaning, so states carry over unchanged where coordinates come in the order of
        the chain, see :func:`kinetree.model.hinges.expand`.
        """
        return self._with(hinges.expand(self.model))

    def modules(self, partition: Sequence[Sequence[str]] | None = None) -> denoc_modules.Modules:
        """Kinematic modules: serial chains that each start at the last link of their parent module.

        Parameters
        ----------
        partition : sequence of sequences of body names, optional
            Checked against the two rules; automatic when left out.
        """
        return denoc_modules.partition(self.model, partition)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the robot to a ``.yaml`` or ``.urdf`` file, wholly or not at all."""
        from ..model import formats

        formats.save(self.model, Path(path))

    def cost(self, name: str, **options: Any) -> Count:
        """Multiplications, additions, divisions, sines of an algorithm for this robot.

        Parameters
        ----------
        name : str
            A method, such as ``"inverse_dynamics"``.
        **options
            As that method takes them: ``frame="tool"``, ``method="composite_body"``, ...

        Returns
        -------
        Count
            With ``multiplications``, ``additions``, ``divisions``, ``sines``, ``total``; printed, ``302M 278A, ...``.

        Examples
        --------
        ``print(robot.cost("inverse_dynamics"))``
        """
        from ..export import cost

        return cost.cost(self, name, **options)

    def codegen(
        self,
        directory: str | os.PathLike[str] = ".",
        algorithms: Sequence[Any] = ("inverse_dynamics", "forward_dynamics"),
        **options: Any,
    ) -> Exported:
        """Write algorithms as C99, one ``.c`` and one ``.h``, with a small test program.

        Parameters
        ----------
        directory : path-like
            Folder for the files; made if missing.
        algorithms : sequence
            Names of methods, with their options where needed: ``["mass_matrix", ("jacobian", {"frame": "tool"})]``.
        **options
            ``prefix``, ``precision="single"``, ``own_math=True``, ``fma=True``, ``wrenches=True``, ``reentrant=True``,
            ``states``: see :func:`kinetree.codegen.codegen`.

        Returns
        -------
        Exported
            With paths ``source``, ``header``, ``test``, and ``functions``, what each costs.
        """
        from ..export import c_code

        return c_code.codegen(self, directory, algorithms, **options)

    def equations(self, **options: Any) -> Equations:
        """The equations of motion as SymPy expressions, simplified, and as LaTeX.

        See :func:`kinetree.symbolic.equations` for the options.

        Examples
        --------
        ``print(robot.equations().latex())``
        """
        from ..export import symbolic

        return symbolic.equations(self, **options)

    # ---------------------------------------------------------------- configurations

    def neutral(self) -> Array:
        """The configuration in which every joint is at its zero."""
        return configurations.neutral(self.model)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()
    ) -> Array:
        """Random configurations within the position limits.

        Parameters
        ----------
        rng : Generator, int or None
            Source of randomness, or a seed.
        shape : int or tuple of ints
            Batch shape.

        Returns
        -------
        ndarray, shape (*shape, nq)
        """
        generator = np.random.default_rng(rng)
        batch = tuple(shape) if np.ndim(shape) else (int(shape),)  # type: ignore[arg-type]
        return configurations.random(self.model, generator, batch)

    @direct
    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Configuration reached from ``q`` in unit time with constant velocity ``v``."""
        return self.evaluator.run("integrate", q=q, v=v)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The constant velocity that leads from ``q0`` to ``q1`` in unit time."""
        return self.evaluator.run("difference", q0=q0, q1=q1)

    @direct
    def configuration_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Time derivative of ``q`` when moving with ``v`` (equal to ``v`` but for quaternion joints)."""
        return self.evaluator.run("configuration_rate", q=q, v=v)

    def normalize(self, q: ArrayLike) -> Array:
        """A copy of ``q`` with every quaternion scaled to unit length."""
        return self.evaluator.states.normalized(q)

    # ---------------------------------------------------------------- kinematics

    def pose(self, q: ArrayLike, frame: str, *, out: Array | None = None, threads: int = 1) -> Array:
        """Pose of a body or frame in the world.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        frame : str
            A body, frame or joint name.
        out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., 4, 4)
            Homogeneous matrices.
        """
        self.model.frame(frame)
        return self.evaluator.run("pose", {"frame": frame}, out=out, threads=threads, q=q)

    def velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str,
        axes: str = "body",
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Velocity of a frame, angular part first.

        ``axes`` is ``"body"``, ``"world"`` or ``"aligned"`` as in :meth:`jacobian`.
        """
        _check_axes(axes)
        self.model.frame(frame)
        return self.evaluator.run("velocity", {"frame": frame, "axes": axes}, out=out, threads=threads, q=q, v=v)

    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        frame: str,
        axes: str = "body",
        *,
        classical: bool = False,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Acceleration of a frame, angular part first, without gravity.

        Spatial by default (the rate of the spatial velocity); ``classical=True`` gives the
        ordinary acceleration of the frame's origin, as an accelerometer path would.
        """
        _check_axes(axes)
        self.model.frame(frame)
        if axes == "world" and classical:
            raise OptionError("a classical acceleration belongs to the frame's own origin: use 'body' or 'aligned'")
        options = {"frame": frame, "axes": axes, "classical": classical}
        return self.evaluator.run("acceleration", options, out=out, threads=threads, q=q, v=v, a=a)

    def point_position(self, q: ArrayLike, frame: str, point: ArrayLike) -> Array:
        """World coordinates of a point given in a frame's coordinates."""
        return self._point(q, frame, point)[0]

    def point_velocity(self, q: ArrayLike, v: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0)) -> Array:
        """Velocity of a point fixed in a frame, along world axes."""
        _, arm = self._point(q, frame, point)
        motion = self.velocity(q, v, frame, "aligned")
        return motion[..., 3:] + np.cross(motion[..., :3], arm)

    def point_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0)
    ) -> Array:
        """Ordinary acceleration of a point fixed in a frame, along world axes, without gravity."""
        _, arm = self._point(q, frame, point)
        w = self.velocity(q, v, frame, "aligned")[..., :3]
        motion = self.acceleration(q, v, a, frame, "aligned", classical=True)
        return motion[..., 3:] + np.cross(motion[..., :3], arm) + np.cross(w, np.cross(w, arm))

    def _point(self, q: ArrayLike, frame: str, point: ArrayLike) -> tuple[Array, Array]:
        local = as_array(point, (3,), "point")
        batch_shape(point=(local, 1), q=(as_array(q, (self.nq,), "q"), 1))
        pose = self.pose(q, frame)
        arm = np.einsum("...ij,...j->...i", pose[..., :3, :3], local)
        return pose[..., :3, 3] + arm, arm

    def jacobian(
        self, q: ArrayLike, frame: str, axes: str = "body", *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """The matrix that maps ``v`` to the velocity of a frame, angular rows first.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        frame : str
            A body, frame or joint name.
        axes : {"body", "world", "aligned"}
            Spatial velocity in the frame's own axes; in world axes at the world's origin;
            or angular velocity and velocity of the frame's origin along world axes.
        out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., 6, nv)
        """
        _check_axes(axes)
        self.model.frame(frame)
        return self.evaluator.run("jacobian", {"frame": frame, "axes": axes}, out=out, threads=threads, q=q)

    def jacobian_rate(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str,
        axes: str = "body",
        *,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Time derivative of :meth:`jacobian` along ``v``."""
        _check_axes(axes)
        self.model.frame(frame)
        return self.evaluator.run("jacobian_rate", {"frame": frame, "axes": axes}, out=out, threads=threads, q=q, v=v)

    def point_jacobian(self, q: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0)) -> Array:
        """The 3 x nv matrix that maps ``v`` to the velocity of a point fixed in a frame, along world axes."""
        _, arm = self._point(q, frame, point)
        matrix = self.jacobian(q, frame, "aligned")
        return matrix[..., 3:, :] + np.cross(matrix[..., :3, :], arm[..., :, None], axisa=-2, axisb=-2, axisc=-2)

    @direct
    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """World coordinates of the center of mass of all moving bodies."""
        self._need_mass()
        return self.evaluator.run("center_of_mass", out=out, threads=threads, q=q)

    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Velocity of the center of mass in world axes."""
        self._need_mass()
        return self.evaluator.run("center_of_mass_velocity", q=q, v=v)

    def momentum(
        self, q: ArrayLike, v: ArrayLike, about: str = "com", *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Angular and linear momentum in world axes, about the center of mass or the world's origin.

        Parameters
        ----------
        about : {"com", "origin"}
            A robot without mass has no center of mass; its momentum about the origin is zero.

        Returns
        -------
        ndarray, shape (..., 6)
        """
        if about not in ("com", "origin"):
            raise OptionError(f"about must be 'com' or 'origin', not {about!r}")
        if about == "com":
            self._need_mass("; momentum(q, v, about='origin') needs none")
        return self.evaluator.run("momentum", {"about": about}, out=out, threads=threads, q=q, v=v)

    def momentum_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Rate of the momentum about the center of mass: the external force and moment it takes, gravity included."""
        self._need_mass()
        return self.evaluator.run("momentum_rate", q=q, v=v, a=a)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """The 6 x nv matrix A with momentum = A v, about the center of mass."""
        self._need_mass()
        return self.evaluator.run("centroidal_momentum_matrix", {}, out=out, threads=threads, q=q)

    def centroidal_momentum_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Time derivative of :meth:`centroidal_momentum_matrix` along ``v``."""
        self._need_mass()
        return self.evaluator.run("centroidal_momentum_matrix_rate", q=q, v=v)

    def centroidal_momentum_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Rate of the momentum about the center of mass when all accelerations are zero: A' v."""
        self._need_mass()
        return self.evaluator.run("centroidal_momentum_drift", q=q, v=v)

    # ---------------------------------------------------------------- inverse dynamics

    @direct
    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Joint forces that produce the accelerations ``a``.

        Parameters
        ----------
        q, v, a : array_like, shapes (..., nq), (..., nv), (..., nv)
        wrenches : mapping, optional
            External loads: ``{frame: (..., 6) moment and force in the frame's axes at its
            origin}`` or ``{frame: Wrench(...)}``; or an array (..., bodies, 6) for all bodies.
        friction : bool
            Add the joints' viscous and Coulomb friction.
        out : ndarray, optional
            Where to put the result.
        threads : int
            Split a batch over this many threads; the result does not depend on it.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        lost = self.friction_force(v) if friction else None  # first: the output may be written over v
        tau = self.evaluator.run("inverse_dynamics", wrenches=wrenches, out=out, threads=threads, q=q, v=v, a=a)
        if lost is not None:
            tau += lost
        return tau

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, wrenches: Wrenches = None, *, bearings_only: bool = False
    ) -> Array:
        """What each joint transmits to its body: moment and force in body axes at the body's origin.

        Parameters
        ----------
        q, v, a, wrenches
            As in :meth:`inverse_dynamics`.
        bearings_only : bool
            Leave out what the motor supplies along the joint's freedom, so that what the
            bearings carry remains (002 eq. 7.15, with the motor's force along the freedom).

        Returns
        -------
        ndarray, shape (..., bodies, 6)
        """
        total = self.evaluator.run("joint_wrenches", wrenches=wrenches, q=q, v=v, a=a)
        if not bearings_only:
            return total
        bearing = np.array(total)
        subspaces = self.evaluator.run("joint_subspaces", q=q)
        freedoms = np.array([link.kind.nv for link in self.model.links])
        first = np.cumsum(freedoms) - freedoms
        for n in set(freedoms.tolist()):  # joints with as many freedoms together
            bodies = np.nonzero(freedoms == n)[0]
            columns = subspaces[..., first[bodies, None] + np.arange(n), :]
            bearing[..., bodies, :] -= _part_along(np.swapaxes(columns, -1, -2), total[..., bodies, :])
        return bearing

    def floating_base_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a_joints: ArrayLike, wrenches: Wrenches = None
    ) -> tuple[Array, Array]:
        """Base acceleration and joint forces when only the joints' accelerations are given.

        Nothing drives the base: its acceleration follows from the balance of the whole
        robot, then the joint forces (000 chapter 7).

        Parameters
        ----------
        q, v : array_like
        a_joints : array_like, shape (..., nv - 6)
            Accelerations of the joints after the base.

        Returns
        -------
        base_acceleration : ndarray, shape (..., 6)
            Rate of the base joint's velocities.
        tau : ndarray, shape (..., nv - 6)
        """
        if not self.is_floating:
            raise ModelError(f"robot {self.name!r} has no floating base; load it with floating_base=True")
        n = self.nv - 6
        accelerations = as_array(a_joints, (n,), "a_joints", f"{n} joint accelerations, the base's six left out")
        padded = np.concatenate([np.zeros((*accelerations.shape[:-1], 6)), accelerations], axis=-1)

        self.evaluator.check_pivots(held=range(1, len(self.model.joints)))
        both = self.evaluator.run("floating_base_inverse_dynamics", wrenches=wrenches, q=q, v=v, a=padded)
        return both[..., :6], both[..., 6:]

    @direct
    def bias_force(
        self, q: ArrayLike, v: ArrayLike, wrenches: Wrenches = None, *, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Joint forces at zero acceleration: velocity terms, gravity and external wrenches."""
        return self.evaluator.run("bias_force", wrenches=wrenches, out=out, threads=threads, q=q, v=v)

    @direct
    def gravity_force(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """Joint forces that hold the robot still."""
        return self.evaluator.run("gravity_force", out=out, threads=threads, q=q)

    def friction_force(self, v: ArrayLike) -> Array:
        """Joint forces spent on friction: ``damping * v + friction * sign(v)`` (004 eq. 10.12).

        The friction of a joint that mimics another is carried by its leader.  There is no
        stiction: at rest Coulomb friction is zero.

        Parameters
        ----------
        v : array_like, shape (..., nv)

        Returns
        -------
        ndarray, shape (..., nv)
        """
        rate = as_array(v, (self.nv,), "v", f"{self.nv} = nv")
        damping, friction = self.model.effective_friction
        with np.errstate(all="ignore"):
            return damping * rate + friction * np.sign(rate)

    # ---------------------------------------------------------------- forward dynamics

    @direct
    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        method: str = "articulated_body",
        out: Array | None = None,
        threads: int = 1,
    ) -> Array:
        """Accelerations that joint forces ``tau`` cause.

        Parameters
        ----------
        q, v, tau : array_like, shapes (..., nq), (..., nv), (..., nv)
        wrenches : mapping, optional
            As in :meth:`inverse_dynamics`.
        friction : bool
            Subtract the joints' viscous and Coulomb friction from ``tau``.
        method : str
            ``"articulated_body"`` (default, O(n)), ``"composite_body"`` (mass matrix and
            branch-sparse factors), ``"udu"`` (the sources' three sweeps), or
            ``"walker_orin_1"``, ``"_2"``, ``"_4"`` (through inverse dynamics).
        out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., nv)
        """
        if method not in FORWARD_METHODS:
            raise UnknownNameError("method of forward dynamics", method, FORWARD_METHODS)
        self.evaluator.check_pivots()
        if friction:
            forces, rate = as_array(tau, (self.nv,), "tau"), as_array(v, (self.nv,), "v")
            batch_shape(tau=(forces, 1), v=(rate, 1))
            tau = forces - self.friction_force(rate)
        options = {"method": self.evaluator.forward_method(method)}
        return self.evaluator.run(
            "forward_dynamics", options, wrenches=wrenches, out=out, threads=threads, q=q, v=v, tau=tau
        )

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        a: Mapping[str, ArrayLike] | None = None,
        tau: Mapping[str, ArrayLike] | None = None,
        wrenches: Wrenches = None,
    ) -> tuple[Array, Array]:
        """Some joints are given accelerations, the others forces; returns all of both.

        Parameters
        ----------
        q, v : array_like
        a : mapping of joint name to acceleration
            Joints whose motion is prescribed.
        tau : mapping of joint name to force
            Forces of the other joints; those left out are zero.

        Returns
        -------
        a, tau : ndarray, shape (..., nv)

        Examples
        --------
        ``a, tau = robot.hybrid_dynamics(q, v, a={"shoulder": 1.0}, tau={"elbow": 0.2})``
        """
        for word, mapping in (("a", a), ("tau", tau)):
            if mapping is not None and not isinstance(mapping, Mapping):
                raise OptionError(f"{word} must map joint names to values, such as {{{self.joint_names[0]!r}: 1.0}}")
        given = dict(tau or {})
        prescribed = dict(a or {})
        both = set(given) & set(prescribed)
        if both:
            raise OptionError(f"joint {sorted(both)[0]!r} is given both an acceleration and a force")
        values: list[Any] = [0.0] * self.nv
        known = [False] * len(self.model.joints)
        batches: dict[str, tuple[Array, int]] = {}
        for source, is_motion in ((prescribed, True), (given, False)):
            for name, value in source.items():
                joint = self.joint(name)
                if joint.mimic:
                    raise ModelError(f"joint {name!r} follows {joint.mimic.leader!r}: prescribe that one")
                what = f"the value of joint {name!r}"
                array = as_array(value, (), what)
                if joint.nv == 1 and (array.ndim == 0 or array.shape[-1] != 1):
                    array = array[..., None]
                array = as_array(array, (joint.nv,), what)
                batches[what] = (array, 1)
                for k in range(joint.nv):
                    values[joint.v_slice.start + k] = array[..., k]
                known[self.model.joint_index[name]] = is_motion
        batch = batch_shape(**batches)
        stacked = np.stack([np.broadcast_to(x, batch) for x in values], axis=-1)
        self.evaluator.check_pivots(held=[i for i, is_motion in enumerate(known) if is_motion])
        result = self.evaluator.run(
            "hybrid_dynamics", {"known": tuple(known)}, wrenches=wrenches, q=q, v=v, tau=stacked
        )
        return result[..., 0, :], result[..., 1, :]

    # ---------------------------------------------------------------- derivatives

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        out: Array | None = None,
        threads: int = 1,
    ) -> tuple[Array, Array, Array]:
        """How the joint forces of a motion change with q, v and a.

        Where q is not a vector space (quaternions), the derivative with respect to q is
        along the motion of one unit of each v: ``d/de tau(integrate(q, e * unit))``, so that it
        has nv columns.  Wrenches along body axes at points of the body are constant there; a
        :class:`Wrench` along world axes, or at a point of the world, is constant in the world.

        Parameters
        ----------
        q, v, a, wrenches
            As in :meth:`inverse_dynamics`.
        friction : bool
            Include the joints' friction; refused where a joint with Coulomb friction is at rest, since
            its force jumps there.
        out : ndarray, shape (..., 3, nv, nv), optional
            Where to put the three matrices.
        threads : int
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : ndarray, shape (..., nv, nv)
            The last one is the mass matrix.
        """
        slope = self._friction_slope(v) if friction else None
        held = self._held_by_the_world(wrenches)
        turning = world_stiffness(self, q, held) if held else None  # first: the output may be written over q
        by_q, by_v, by_a = self._three("inverse_dynamics_derivatives", wrenches, out, threads, q=q, v=v, a=a)
        if slope is not None:
            by_v[..., range(self.nv), range(self.nv)] += slope
        if turning is not None:
            with np.errstate(all="ignore"):
                by_q -= turning
        return by_q, by_v, by_a

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches = None,
        *,
        friction: bool = False,
        out: Array | None = None,
        threads: int = 1,
    ) -> tuple[Array, Array, Array]:
        """How the accelerations that joint forces cause change with q, v and tau.

        See :meth:`inverse_dynamics_derivatives` for the options, for wrenches and for what the derivative
        with respect to q means.

        Returns
        -------
        da_dq, da_dv, da_dtau : ndarray, shape (..., nv, nv)
            The last one is the inverse of the mass matrix.
        """
        self.evaluator.check_pivots()
        slope = self._friction_slope(v) if friction else None
        if friction:
            forces, rate = as_array(tau, (self.nv,), "tau"), as_array(v, (self.nv,), "v")
            batch_shape(tau=(forces, 1), v=(rate, 1))
            tau = forces - self.friction_force(rate)
        held = self._held_by_the_world(wrenches)
        turning = world_stiffness(self, q, held) if held else None  # first: the output may be written over q
        by_q, by_v, by_tau = self._three("forward_dynamics_derivatives", wrenches, out, threads, q=q, v=v, tau=tau)
        with np.errstate(all="ignore"):
            if slope is not None:
                by_v -= by_tau * slope
            if turning is not None:
                by_q += by_tau @ turning
        return by_q, by_v, by_tau

    def _three(self, name: str, wrenches: Wrenches, out: Array | None, threads: int, **state: Any) -> list[Array]:
        """Three matrices that are computed together, in one array."""
        three = self.evaluator.run(name, wrenches=wrenches, out=out, threads=threads, **state)
        return [three[..., k, :, :] for k in range(3)]

    def _friction_slope(self, v: ArrayLike) -> Array:
        """Derivative of :meth:`friction_force`, one number per velocity: the damping, away from rest."""
        rate = as_array(v, (self.nv,), "v", f"{self.nv} = nv")
        damping, coulomb = self.model.effective_friction
        jumps = (rate == 0.0) & (coulomb > 0.0)
        if np.any(jumps):
            *state, k = (int(i) for i in np.argwhere(jumps)[0])
            place = "" if not state else f" (batch index {state[0] if len(state) == 1 else tuple(state)})"
            raise StateError(
                f"{self.v_names[k]!r} is at rest{place} and has Coulomb friction, whose force jumps there: it has no "
                "derivative. Leave friction=False, or set that joint's friction to zero"
            )
        return damping

    def _held_by_the_world(self, wrenches: Any) -> list[tuple[str, Wrench]]:
        """Wrenches that change, seen from their bodies, when the bodies move."""
        every = each_wrench(self.model, wrenches) if isinstance(wrenches, Mapping) else []
        return [(name, item) for name, item in every if isinstance(item, Wrench) and item.is_held_by_the_world]

    # ---------------------------------------------------------------- matrices

    @direct
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """The joint-space inertia matrix, rotor inertias included.

        Returns
        -------
        ndarray, shape (..., nv, nv)
        """
        return self.evaluator.run("mass_matrix", out=out, threads=threads, q=q)

    @direct
    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """The inverse of :meth:`mass_matrix`, found in O(n^2) without inverting it."""
        self.evaluator.check_pivots()
        return self.evaluator.run("inverse_mass_matrix", out=out, threads=threads, q=q)

    def mass_matrix_factors(self, q: ArrayLike, form: str = "LTDL") -> tuple[Array, ...]:
        """Factors of the mass matrix that keep the zeros between branches.

        Parameters
        ----------
        form : {"LTDL", "LTL"}

        Returns
        -------
        (L, d) with ``M = L.T @ diag(d) @ L``, or (L,) with ``M = L.T @ L``.
        """
        self.evaluator.check_pivots()
        if form not in ("LTDL", "LTL"):
            raise UnknownNameError("factorisation", form, ("LTDL", "LTL"))
        rows = self.evaluator.run("mass_matrix_factors", {"form": form}, q=q)
        return (rows,) if form == "LTL" else (rows[..., :-1, :], rows[..., -1, :])

    @direct
    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """The matrix C with ``C v`` the velocity forces and ``M' - 2 C`` skew-symmetric."""
        return self.evaluator.run("coriolis_matrix", out=out, threads=threads, q=q, v=v)

    def operational_space_inertia(
        self, q: ArrayLike, frames: str | Sequence[str], axes: str = "body", *, inverse: bool = False
    ) -> Array:
        """Inertia felt at one or several frames together.

        Parameters
        ----------
        frames : str or sequence of str
        axes : {"body", "world", "aligned"}
            As in :meth:`jacobian`.
        inverse : bool
            Return ``J M^-1 J^T``, which exists even where its inverse does not.

        Returns
        -------
        ndarray, shape (..., 6k, 6k)
        """
        _check_axes(axes)
        self.evaluator.check_pivots()
        names = (frames,) if isinstance(frames, str) else tuple(frames)
        for name in names:
            self.model.frame(name)
        options = {"frames": names, "axes": axes}
        compliance = self.evaluator.run("operational_space_inertia", {**options, "inverse": True}, q=q)
        if inverse:
            return compliance
        finite = compliance[np.isfinite(compliance).all(axis=(-1, -2))]
        if finite.size and np.any(np.linalg.cond(finite) > 1e13):
            raise SingularError(
                f"frames {', '.join(names)} cannot move freely in all {6 * len(names)} directions here, so their "
                "inertia is infinite in some; use inverse=True, or fewer frames"
            )
        return self.evaluator.run("operational_space_inertia", {**options, "inverse": False}, q=q)

    # ---------------------------------------------------------------- energy

    @direct
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic energy in joules, rotors included."""
        return self.evaluator.run("kinetic_energy", q=q, v=v)

    @direct
    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy of gravity in joules, zero at the world's origin."""
        return self.evaluator.run("potential_energy", q=q)

    def power(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, wrenches: Wrenches = None) -> Array:
        """Power of joint forces and external wrenches: the rate of kinetic plus potential energy."""
        return self.evaluator.run("power", wrenches=wrenches, q=q, v=v, tau=tau)

    # ---------------------------------------------------------------- DeNOC

    def denoc(
        self, q: ArrayLike, v: ArrayLike | None = None, modules: Sequence[Sequence[str]] | str | None = None
    ) -> Any:
        """The decoupled natural orthogonal complement matrices, labelled, for reading and teaching.

        Parameters
        ----------
        q, v : array_like
            One state.
        modules : None, "auto", "links" or a partition
            None works link by link; otherwise module by module, see :meth:`modules`.

        Returns
        -------
        kinetree.algorithms.denoc.Denoc
        """
        from ..algorithms import denoc

        state = self.evaluator.states.configuration(q)
        rate = np.zeros(self.nv) if v is None else as_array(v, (self.nv,), "v")
        if state.ndim != 1 or rate.ndim != 1:
            raise ShapeError("the DeNOC matrices are for one state at a time, not for a batch")
        parts = None if modules is None else self.modules(modules)
        return denoc.build(self.model, state, rate, parts)

    # ---------------------------------------------------------------- running

    def compile(
        self,
        *algorithms: str | tuple[str, Mapping[str, Any]],
        single: bool = True,
        batch: bool = True,
        progress: bool = True,
    ) -> None:
        """Make machine code ahead of the first call.

        Parameters
        ----------
        *algorithms : str or (str, dict)
            Names of methods, with their options where needed: ``("jacobian", {"frame": "tool"})``.  By default
            inverse and forward dynamics, mass matrix, bias and gravity forces.  What large trees leave to the
            reference is skipped.
        single, batch : bool
            For one state, for batches.
        progress : bool
            Show a bar once it has taken longer than a second.

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

    def _compiled_form(self, request: Any) -> tuple[str, dict[str, Any]]:
        """The algorithm that a method runs, with all its options."""
        return requests(self.model, [request])[0]

    def _need_mass(self, advice: str = "") -> None:
        if self.mass == 0.0:
            raise SingularError(f"robot {self.name!r} has no mass, so it has no center of mass{advice}")


class Builder(ModelBuilder):
    """Makes a :class:`Robot` link by link; see :meth:`body` and :meth:`frame`.

    Examples
    --------
    >>> import kinetree as kt
    >>> b = kt.Builder("two-link", gravity=(0, -9.81, 0))
    >>> _ = b.body("upper", "base", kt.Revolute("z"), mass=1.0, com=(0.5, 0, 0))
    >>> _ = b.body("lower", "upper", kt.Revolute("z"), position=(1, 0, 0), mass=1.0, com=(0.5, 0, 0))
    >>> b.build().nv
    2
    """

    def build(
        self, *, floating_base: bool = False, cuts: Sequence[str] | None = None, rule: str | None = None
    ) -> Robot:
        """Check and freeze.

        Parameters
        ----------
        floating_base : bool
            Put the root body on a free joint instead of holding it fixed.
        cuts : sequence of str, optional
            Joints to cut where joints form loops; the loops these leave are cut by the rule.
        rule : {"minimum_dof", "shortest"}, optional
            How to choose cuts. Without cuts and rule, joints declared by :meth:`loop` are the cuts.
        """
        return Robot(self.model(floating_base=floating_base, cuts=cuts, rule=rule))

    def __repr__(self) -> str:
        parts = (self._bodies, "body", "bodies"), (self._joints, "joint", "joints"), (self._loops, "loop", "loops")
        told = [description.counted(len(own), one, many) for own, one, many in parts if own]
        return f"<Builder {self.name!r}: {', '.join(told) or 'nothing yet'}>"


def _part_along(s: Array, f: Array) -> Array:
    """The part of a force along a joint's freedom: S (S^T S)^-1 S^T f, with F = S for the motor's forces.

    In gimbal lock two columns of S coincide; the pseudo-inverse then counts them once.
    """
    st = np.swapaxes(s, -1, -2)
    gram = st @ s
    finite = np.isfinite(gram).all(axis=(-1, -2), keepdims=True)
    inverse = np.linalg.pinv(np.where(finite, gram, 0.0), rcond=1e-12, hermitian=True)
    return np.asarray((s @ (inverse @ (st @ f[..., None])))[..., 0])


def _restore(model: Model, backend: str, precision: str, cpu: str) -> Robot:
    return Robot(model, backend=backend, precision=precision, cpu=cpu)


def _check_axes(axes: str) -> None:
    if axes not in jacobian.FRAMES:
        raise UnknownNameError("way to express a velocity (axes)", axes, jacobian.FRAMES)
