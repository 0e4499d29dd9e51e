"""Kinematics of a robot: configurations, poses, velocities, Jacobians, momentum.

Each method is one call into an algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import jacobian
from ..errors import OptionError, SingularError, refuse_unknown
from ..evaluation.checks import check_threads
from ..evaluation.direct_methods import direct
from ..evaluation.evaluator import Evaluator
from ..model import configurations
from ..spatial.arrays import Array, as_array, batch_shape
from ..spatial.numbers import random_source, real_number, whole_number
from .description import Description

if TYPE_CHECKING:
    from .clearance import Clearance, ClearancePrograms, SampledContacts


class Kinematics(Description):
    """The part of :class:`kinetree.Robot` that moves without forces."""

    evaluator: Evaluator

    # ---------------------------------------------------------------- configurations

    def neutral(self) -> Array:
        """Return the configuration in which every joint is at its zero, (nq,)."""
        return configurations.neutral(self.model)

    def configuration(self, name: str) -> Array:
        """Return a configuration, (nq,), that the file names, such as a keyframe: see :attr:`configuration_names`."""
        return configurations.named(self.model, name)

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = ()
    ) -> Array:
        """Return random configurations within the position limits.

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
        generator = random_source(rng, "rng")
        batch = tuple(whole_number(n, "shape", 0, 2**31) for n in np.array(shape, dtype=object).flat)
        return configurations.random(self.model, generator, batch)

    def within_limits(self, q: ArrayLike, tolerance: float = 0.0) -> Any:
        """Return whether configurations are within the position limits of all joints, including followers.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        tolerance : float
            Tolerance of limits, in radians or meters.

        Returns
        -------
        bool, or ndarray of bool, shape (...)
            NaN is not within limits.

        Examples
        --------
        >>> import kinetree as kt
        >>> robot = kt.Builder("door").body("leaf", "base", kt.Revolute("z"), mass=1, lower=0, upper=1.5).build()
        >>> robot.within_limits([[0.3], [2.0]]).tolist()
        [True, False]
        """
        state = self.evaluator.states.configuration(q)
        slack = real_number(tolerance, "tolerance")
        found = configurations.within_limits(self.model, state, slack)
        return bool(found) if found.ndim == 0 else found

    @direct
    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the configuration reached from ``q`` in unit time with constant velocity ``v``."""
        return self.evaluator.run("integrate", q=q, v=v)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """Return the constant velocity, (..., nv), that leads from ``q0`` to ``q1`` in unit time."""
        return self.evaluator.run("difference", q0=q0, q1=q1)

    @direct
    def configuration_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the time derivative of ``q`` when moving with ``v`` (equal to ``v`` but for quaternion joints)."""
        return self.evaluator.run("configuration_rate", q=q, v=v)

    def normalize(self, q: ArrayLike) -> Array:
        """Return a copy of ``q``, (..., nq), with every quaternion scaled to unit length."""
        return self.evaluator.states.normalized(q)

    # ---------------------------------------------------------------- kinematics

    def pose(
        self, q: ArrayLike, frame: str, *, parameters: Any = None, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return the pose of a body or frame in the world.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        frame : str
            A body, frame or joint name.
        parameters, out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., 4, 4)
            Homogeneous matrices.
        """
        self.model.frame(frame)
        return self.evaluator.run("pose", {"frame": frame}, parameters=parameters, out=out, threads=threads, q=q)

    def velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body", *, parameters: Any = None,
        out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the velocity of a frame, (..., 6), angular part first.

        ``axes`` is ``"body"``, ``"world"`` or ``"aligned"`` as in :meth:`jacobian`; ``parameters`` as in :meth:`pose`.
        """
        check_axes(axes)
        self.model.frame(frame)
        options = {"frame": frame, "axes": axes}
        return self.evaluator.run("velocity", options, parameters=parameters, out=out, threads=threads, q=q, v=v)

    def acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, axes: str = "body", *, classical: bool = False,
        parameters: Any = None, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the acceleration of a frame, (..., 6), angular part first, without gravity.

        Spatial by default (the rate of the spatial velocity); ``classical=True`` gives the
        ordinary acceleration of the frame's origin, the second derivative of its position.
        """
        check_axes(axes)
        self.model.frame(frame)
        if axes == "world" and classical:
            raise OptionError("a classical acceleration belongs to the frame's own origin: use 'body' or 'aligned'")
        options = {"frame": frame, "axes": axes, "classical": classical}
        return self.evaluator.run(
            "acceleration", options, parameters=parameters, out=out, threads=threads, q=q, v=v, a=a
        )

    def point_position(
        self, q: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0), *, parameters: Any = None
    ) -> Array:
        """Return the world coordinates of a point given in a frame's coordinates, shape (..., 3).

        ``parameters``, here and for velocities and accelerations, are as in :meth:`pose`, for instance dimensions of
        many designs.
        """
        return self._point(q, frame, point, parameters)[0]

    def point_velocity(
        self, q: ArrayLike, v: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0), *, parameters: Any = None
    ) -> Array:
        """Return the velocity of a point fixed in a frame, along world axes, shape (..., 3)."""
        _, arm = self._point(q, frame, point, parameters)
        motion = self.velocity(q, v, frame, "aligned", parameters=parameters)
        return motion[..., 3:] + np.cross(motion[..., :3], arm)

    def point_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0), *,
        parameters: Any = None,
    ) -> Array:  # fmt: skip
        """Return the ordinary acceleration of a point fixed in a frame, along world axes, without gravity: (..., 3)."""
        _, arm = self._point(q, frame, point, parameters)
        w = self.velocity(q, v, frame, "aligned", parameters=parameters)[..., :3]
        motion = self.acceleration(q, v, a, frame, "aligned", classical=True, parameters=parameters)
        return motion[..., 3:] + np.cross(motion[..., :3], arm) + np.cross(w, np.cross(w, arm))

    def _point(self, q: ArrayLike, frame: str, point: ArrayLike, parameters: Any = None) -> tuple[Array, Array]:
        local = as_array(point, (3,), "point")
        batch_shape(point=(local, 1), q=(as_array(q, (self.nq,), "q"), 1))
        pose = self.pose(q, frame, parameters=parameters)
        arm = np.einsum("...ij,...j->...i", pose[..., :3, :3], local)
        return pose[..., :3, 3] + arm, arm

    def jacobian(
        self, q: ArrayLike, frame: str, axes: str = "body", *, parameters: Any = None, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the matrix that maps ``v`` to the velocity of a frame, angular rows first.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        frame : str
            A body, frame or joint name.
        axes : {"body", "world", "aligned"}
            Spatial velocity in the frame's own axes, in world axes at the world's origin,
            or angular velocity and velocity of the frame's origin along world axes.
        parameters, out, threads
            As in :meth:`inverse_dynamics`.

        Returns
        -------
        ndarray, shape (..., 6, nv)
        """
        check_axes(axes)
        self.model.frame(frame)
        options = {"frame": frame, "axes": axes}
        return self.evaluator.run("jacobian", options, parameters=parameters, out=out, threads=threads, q=q)

    def jacobian_rate(
        self, q: ArrayLike, v: ArrayLike, frame: str, axes: str = "body", *, out: Array | None = None, threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the time derivative of :meth:`jacobian` along ``v``, (..., 6, nv)."""
        check_axes(axes)
        self.model.frame(frame)
        return self.evaluator.run("jacobian_rate", {"frame": frame, "axes": axes}, out=out, threads=threads, q=q, v=v)

    def point_jacobian(self, q: ArrayLike, frame: str, point: ArrayLike = (0, 0, 0)) -> Array:
        """Return (..., 3, nv), which maps ``v`` to the velocity of a point fixed in a frame, along world axes."""
        _, arm = self._point(q, frame, point)
        matrix = self.jacobian(q, frame, "aligned")
        return matrix[..., 3:, :] + np.cross(matrix[..., :3, :], arm[..., :, None], axisa=-2, axisb=-2, axisc=-2)

    # ---------------------------------------------------------------- shapes

    @cached_property
    def _clearance_programs(self) -> dict[Any, ClearancePrograms]:
        return {}

    def clearance(self, q: ArrayLike, *, pairs: Sequence[tuple[str, str]] | None = None, threads: int = 1) -> Clearance:
        """Return how far shapes are apart that may touch: signed distances, negative for those that overlap.

        Parameters
        ----------
        q : array_like, shape (..., nq)
        pairs : sequence of pairs of str, optional
            Names of shapes, or of bodies for all of their shapes; by default all pairs that may touch.
        threads : int
            Threads that share the batch.

        Returns
        -------
        Clearance
            ``distances`` (..., pairs), and on request ``smallest``, nearest points, normals and gradients.

        Examples
        --------
        >>> import kinetree as kt
        >>> b = kt.Builder("ball").shape("base", kt.shapes.HalfSpace())
        >>> b = b.body("ball", "base", kt.Prismatic("z"), mass=1.0).shape("ball", kt.shapes.Sphere(0.1))
        >>> found = b.build().clearance([[0.5], [0.05]])
        >>> found.distances[:, 0].round(3).tolist(), found.gradients[0].tolist()
        ([0.4, -0.05], [[1.0]])
        """
        from .clearance import Clearance, ClearancePrograms, chosen_pairs

        check_threads(threads)
        state = self.evaluator.states.configuration(q)
        chosen = chosen_pairs(self.model, pairs)
        programs = self._clearance_programs.get(chosen)
        if programs is None:
            programs = self._clearance_programs[chosen] = ClearancePrograms(self, chosen)
        return Clearance(programs.names, programs.distances(state, threads), programs, state, threads)

    def sampled_contacts(
        self, samples: int = 10_000, *, rng: np.random.Generator | int | None = 0, threads: int = 1
    ) -> SampledContacts:
        """Return which pairs of shapes that may touch overlap never, sometimes or always in random configurations.

        Pairs that always overlap are usually drawn into one another, and those that never do only cost time:
        :meth:`Robot.without_contacts` leaves them out.  Configurations are as those of :meth:`random_configuration`; a
        pair that can just touch in a corner of the joint limits may be missed, more samples find more of them.

        Examples
        --------
        ``met = robot.sampled_contacts(); robot = robot.without_contacts(met.never + met.always)``
        """
        from .clearance import sampled

        check_threads(threads)
        q = self.random_configuration(rng, whole_number(samples, "samples", 1))
        return sampled(self, q, threads)

    @direct
    def center_of_mass(
        self, q: ArrayLike, *, parameters: Any = None, out: Array | None = None, threads: int = 1
    ) -> Array:
        """Return the world coordinates of the center of mass of all moving bodies."""
        if parameters is None:
            self._need_mass()
        return self.evaluator.run("center_of_mass", parameters=parameters, out=out, threads=threads, q=q)

    def center_of_mass_velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the velocity of the center of mass in world axes, (..., 3)."""
        self._need_mass()
        return self.evaluator.run("center_of_mass_velocity", q=q, v=v)

    def momentum(
        self, q: ArrayLike, v: ArrayLike, about: str = "com", *, parameters: Any = None, out: Array | None = None,
        threads: int = 1,
    ) -> Array:  # fmt: skip
        """Return the angular and linear momentum in world axes, about the center of mass or the world's origin.

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
        if about == "com" and parameters is None:
            self._need_mass("; momentum(q, v, about='origin') needs none")
        options = {"about": about}
        return self.evaluator.run("momentum", options, parameters=parameters, out=out, threads=threads, q=q, v=v)

    def momentum_rate(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the rate of the momentum about the center of mass, (..., 6): the external wrench, gravity included."""
        self._need_mass()
        return self.evaluator.run("momentum_rate", q=q, v=v, a=a)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
        """Return the matrix A with momentum = A v, about the center of mass, (..., 6, nv)."""
        self._need_mass()
        return self.evaluator.run("centroidal_momentum_matrix", {}, out=out, threads=threads, q=q)

    def centroidal_momentum_matrix_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the time derivative of :meth:`centroidal_momentum_matrix` along ``v``, (..., 6, nv)."""
        self._need_mass()
        return self.evaluator.run("centroidal_momentum_matrix_rate", q=q, v=v)

    def centroidal_momentum_drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the rate of the momentum about the center of mass when all accelerations are zero, (..., 6): A' v."""
        self._need_mass()
        return self.evaluator.run("centroidal_momentum_drift", q=q, v=v)

    def _need_mass(self, advice: str = "") -> None:
        if self.mass == 0.0:
            raise SingularError(f"robot {self.name!r} has no mass, so it has no center of mass{advice}")


def check_axes(axes: str) -> None:
    """Refuse unknown kinds of axes."""
    refuse_unknown("way to express a velocity (axes)", axes, jacobian.FRAMES)
