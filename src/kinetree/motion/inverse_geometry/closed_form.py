"""Inverse geometric models: all configurations that bring a frame to a pose, by formulas."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import UnsupportedError
from ...export.symbolic.programs import library
from ...model.changes.values import generic
from ...robot.robot import Robot, require_robot
from ...spatial import Matrix3, MatrixRotation, Scalar, Transform, Vec3
from ...spatial.arrays import Array, as_array, split
from .chain import GeometricChain
from .plan import find_plan, value_of
from .steps import Arithmetic, SolvingStep

SQUARE_SLACK = 1e-10
"""Relative amount by which the radicand of a root may be negative from rounding alone."""

REACHED = 1e-6
"""How far a solution may be from the pose, in lengths of the robot and radians."""

CHECKED = 8
"""Number of random configurations that a new model must recover."""


@dataclass(frozen=True)
class InverseGeometry:
    """The inverse geometric model of an arm; make one with :func:`kinetree.inverse_geometry`.

    Attributes
    ----------
    robot : Robot
    frame : str
    joints : tuple of str
        The joints that move the frame, in the order of solutions.
    steps : tuple of SolvingStep
        The order in which joints are found, and by which equations.
    """

    robot: Robot
    frame: str
    orientation: bool
    joints: tuple[str, ...]
    steps: tuple[SolvingStep, ...]

    @property
    def branches(self) -> int:
        """The most solutions that a pose can have."""
        return int(2 ** sum(step.has_two for step in self.steps))

    def solutions(self, pose: ArrayLike) -> Array:
        """Return all configurations of the joints that bring the frame to a pose.

        Parameters
        ----------
        pose : array_like, shape (..., 4, 4)
            Homogeneous matrices; without orientation also positions (..., 3).

        Returns
        -------
        ndarray, shape (..., branches, joints)
            Angles from -pi to pi, one row for each choice of signs; NaN where there is no solution, because the pose is
            out of reach or singular.  Joint limits are ignored.

        Raises
        ------
        NoValueError
            If dimensions of the robot are symbols without a value.
        """
        chain = GeometricChain.of(self.robot.model, self.frame, self.orientation)
        wanted = self._transform(pose)
        body = chain.body_pose(wanted)
        batch = np.shape(wanted.translation.x)
        rows = []
        with np.errstate(all="ignore"):
            for signs in self._signs():
                found = _solved(chain, self.steps, body, signs, NUMBERS)
                q = [np.broadcast_to(found[k], batch) for k in range(len(self.joints))]
                off = self._distance(chain, wanted, q)
                rows.append(np.where(off < REACHED, np.array(q), np.nan))
        return np.moveaxis(np.array(rows), (0, 1), (-2, -1))

    def _transform(self, pose: ArrayLike) -> Transform:
        if not self.orientation and np.shape(pose)[-1:] == (3,):
            return Transform((), Vec3(*split(as_array(pose, (3,), "pose"))))
        m = as_array(pose, (4, 4), "pose")
        rows = [[m[..., i, k] for k in range(3)] for i in range(3)]
        return Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*(m[..., i, 3] for i in range(3))))

    def _signs(self) -> list[tuple[float, ...]]:
        return list(product((1.0, -1.0), repeat=sum(step.has_two for step in self.steps)))

    def _distance(self, chain: GeometricChain, wanted: Transform, q: list[Array]) -> Array:
        """Return how far a configuration is from the pose, in lengths of the robot and radians."""
        there = chain.pose({k: value_of(chain, k, x) for k, x in enumerate(q)})
        arms = [abs(float(x)) for place in (*chain.places, chain.behind) for x in place.translation]
        way = there.translation - wanted.translation
        off = np.sqrt(way.dot(way)) / (max(arms) or 1.0)
        if not self.orientation:
            return np.asarray(off)
        rows = zip(there.matrix().to_rows(), wanted.matrix().to_rows(), strict=True)
        return np.maximum(off, sum(np.abs(a - b) for one, other in rows for a, b in zip(one, other, strict=True)))

    # ---------------------------------------------------------------- formulas

    def formulas(self) -> dict[str, Any]:
        """Return the formulas, in the order in which they are evaluated, as SymPy expressions.

        The pose has the columns ``s``, ``n``, ``a`` and ``p``: ``sx`` to ``pz`` (Khalil's snap).  Each joint is an
        expression in intermediate results, in joints found before, ``q1``, ``q2``, ..., and in signs ``eps1``, ...,
        that choose among solutions.  Dimensions that have no value are symbols.

        Returns
        -------
        dict of str to sympy.Expr
            Intermediate results are named after their joint, ``X_q3``; joints are ``q3``.
        """
        library("sympy")
        from .symbolic_steps import formulas

        return formulas(self.robot, self.frame, self.orientation, self.joints, self.steps)

    def __str__(self) -> str:
        """Return the steps, one per line."""
        head = f"{self.frame!r} of {self.robot.name!r}: {self.branches} solutions at most"
        names = {k: f"q{k + 1}" for k in range(len(self.joints))}
        lines = [f"{self.joints[s.joint]}: {s.describe(names[s.joint])}" for s in self.steps]
        return "\n".join([head, *(f"  {line}" for line in lines)])

    def __repr__(self) -> str:
        return f"<inverse geometry of {self.frame!r} of {self.robot.name!r}: {self.branches} solutions at most>"


def _root(x: Any, size: Any) -> Any:
    return np.sqrt(np.where((x < 0.0) & (x > -SQUARE_SLACK * np.abs(size)), 0.0, x))


NUMBERS = Arithmetic(_root, lambda _, __, x: x, lambda _, q: q)


def _solved(
    chain: GeometricChain, steps: tuple[SolvingStep, ...], body: Transform, signs: tuple[float, ...], by: Arithmetic
) -> dict[int, Scalar]:
    """Return the coordinates of all joints, one after the other."""
    # joints not found yet do not affect the equations of those before them: zero is good enough
    known = {k: value_of(chain, k, 0.0) for k in range(len(chain.kinds))}
    chosen, found = iter(signs), {}
    for step in steps:
        q = step.solve(chain, body, known, next(chosen) if step.has_two else None, by)
        found[step.joint] = q
        known[step.joint] = value_of(chain, step.joint, q)
    return found


def inverse_geometry(robot: Robot, frame: str | None = None, *, orientation: bool = True) -> InverseGeometry:
    """Return the inverse geometric model of an arm: all joint positions for a pose, by formulas.

    This is Paul's method with the squared distances of Pieper's method: joints are found one after the other from
    entries of the matrix equations between the frames (Khalil and Dombre, chapter 4).  This works for arms of up to six
    hinges and slides whose equations can be separated in this way: those with a spherical wrist, three parallel axes,
    or fewer joints.  It does not work for shoulders that need an equation of fourth degree, nor for arms of seven
    joints.

    Parameters
    ----------
    robot : Robot
        Its dimensions may be symbols.
    frame : str, optional
        The frame to move; the last body by default.
    orientation : bool
        Whether its orientation is given, or only its position.

    Returns
    -------
    InverseGeometry
        With ``solutions(pose)`` and ``formulas()``.

    Raises
    ------
    UnsupportedError
        If some joint cannot be found in this way; :func:`kinetree.inverse_kinematics` works for any robot.

    Examples
    --------
    >>> import kinetree as kt
    >>> robot = kt.gallery.load("puma")
    >>> model = kt.inverse_geometry(robot)
    >>> q = [0.3, -0.5, 0.4, 0.2, 0.6, -0.1]
    >>> found = model.solutions(robot.pose(q, "link_6"))
    >>> found.shape, bool(abs(found - q).max(axis=-1).min() < 1e-9)
    ((8, 6), True)
    """
    require_robot(robot)
    name = robot.body_names[-1] if frame is None else frame
    numbers = generic(robot.model)
    chain = GeometricChain.of(numbers, name, orientation)
    most = 6 if orientation else 3
    if len(chain.kinds) > most:
        raise UnsupportedError(
            f"{len(chain.kinds)} joints move {name!r}: more than {most} do not determine how to reach a "
            f"{'pose' if orientation else 'position'}; kinetree.inverse_kinematics finds one way"
        )
    made = InverseGeometry(robot, name, orientation, chain.names, find_plan(chain))
    _check(made, Robot(numbers.opened()), chain)
    return made


def _check(made: InverseGeometry, numeric: Robot, chain: GeometricChain) -> None:
    """Refuse a model that does not recover random configurations."""
    q = np.random.default_rng(1).uniform(-2.5, 2.5, (CHECKED, len(chain.kinds)))
    values = {k: value_of(chain, k, q[:, k]) for k in range(len(chain.kinds))}
    pose = chain.pose(values)
    rows = [np.broadcast_arrays(*row, np.zeros(CHECKED))[:4] for row in pose.homogeneous()]
    matrix = np.moveaxis(np.array(rows), -1, 0)
    found = InverseGeometry(numeric, made.frame, made.orientation, made.joints, made.steps).solutions(matrix)
    turns = np.array([chain.turns(k) for k in range(len(chain.kinds))])
    off = found - q[:, None]
    off = np.abs(np.where(turns, np.remainder(off + np.pi, 2.0 * np.pi) - np.pi, off)).max(axis=-1)
    if not (np.nanmin(np.where(np.isnan(off), np.inf, off), axis=-1) < 1e-5).all():
        raise UnsupportedError(
            f"the equations found for {made.frame!r} of {numeric.name!r} do not recover configurations that it "
            "was in; kinetree.inverse_kinematics finds them numerically"
        )
