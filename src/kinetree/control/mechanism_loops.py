"""The geometry and forces of closed loops that controllers need, over any scalar.

As many joints as a mechanism has freedoms are its coordinates c, in which its motion is given;
everything else, d, follows from the loops,

    gap(q) = 0,    K_d v_d = -K_c v_c,    K_d a_d = -K_c a_c - drift.

Forces tau that the joints of the tree would need are transferred to the motors m; passive joints p have no force:

    K_p^T lambda = tau_p,    u = tau_m - K_m^T lambda        (Shah eq. 8.4).

More motors than freedoms share the forces so that the sum of their squares is least; with fewer, the
joints of the motors are constrained to their desired motion, as loops are to closure, and the other joints move freely.
Which constraints are independent is known beforehand (:class:`~kinetree.loops.coordinates.Coordinates`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import constrained_dynamics, kinematics, loop_constraints, newton_euler
from ..algorithms.constrained_dynamics import LEAST_QUALITY, EnergyWay, Targets, inner
from ..algorithms.loop_constraints import UNCLOSED
from ..errors import ClosureError, OptionError, SingularError, UnknownNameError, UnsupportedError
from ..loops import rank
from ..loops.coordinates import Coordinates, preferred
from ..model.describe import counted
from ..model.tree import Joint, Model
from ..robot.make import make
from ..robot.robot import Robot
from ..spatial import Force, Scalar, ldl, ldl_solve, where
from .driven_joints import Desired, Scalars, gathered, spread

Matrix = list[list[Scalar]]

SHARES = (0.25, 1.0 / 3.0, 0.5, 1.0)
"""Shares of the remaining distance to a desired position: four equal steps, to stay on the branch."""

ROUNDS = 4
"""Newton steps at the end, each of which doubles the number of digits."""


OPEN = 0.01
"""Loops that are open by more than this (rad, and m or the mechanism's size) are refused."""


def known_loops(robot: Robot) -> Coordinates:
    """Return what a controller needs to know about a robot's loops: independent constraints and the number of freedoms.

    It is found at a closed configuration; if none is known, an error says what to do.
    """
    try:
        return robot.coordinates
    except ClosureError as problem:
        raise ClosureError(f"a controller needs to know how {robot.name!r} moves, but {problem}") from None


def loops_of(tree: Model) -> Coordinates:
    """Find the loops of a model; a bound controller has them already."""
    return known_loops(make(tree, backend="reference"))


def refuse_open(robot: Robot, q: ArrayLike, tolerance: float | None) -> None:
    """Raise an error if loops are open; forces would be those of another mechanism."""
    robot.check_closed(q, OPEN * loop_constraints.usual_size(robot.model) if tolerance is None else tolerance)


# ---------------------------------------------------------------- which joints


def followed_joints(tree: Model, names: Sequence[str] | None, loops: Coordinates | None) -> list[Joint]:
    """Return the joints whose motion a trajectory gives.

    They are those named, or those with motors; an error is raised if that is impossible.
    """
    driven = tree.driven_joints
    if not tree.is_constrained:
        if names is not None:
            raise OptionError(f"robot {tree.name!r} has no closed loops: leave coordinates out, motors follow the goal")
        return driven
    loops = loops or loops_of(tree)
    freedoms, motors = loops.freedoms, sum(j.nv for j in driven)
    if names is None:
        if motors > freedoms:
            enough = set(_enough(tree, loops, _freedoms(driven)))
            some = ", ".join(repr(j.name) for j in driven if enough & set(_freedoms([j])))
            raise UnsupportedError(
                f"{_size_of(tree, loops)}, so that its motors cannot move independently: say which "
                f"joints the trajectory is for, such as coordinates=[{some}]; all motors share the forces"
            )
        _check_coordinates(tree, loops, driven, motors)
        return driven
    if motors < freedoms:
        raise UnsupportedError(
            f"{_size_of(tree, loops)}, which cannot make it follow in chosen coordinates: leave coordinates out, then "
            "the driven joints follow the trajectory and the others give way; or mark more joints as actuated"
        )
    chosen = _named(tree, names)
    _check_coordinates(tree, loops, chosen, freedoms)
    _check_motors(tree, loops, driven)
    return chosen


def _size_of(tree: Model, loops: Coordinates) -> str:
    motors = sum(j.nv for j in tree.driven_joints)
    freedoms = counted(loops.freedoms, "freedom", "freedoms")
    return f"robot {tree.name!r} with closed loops has {freedoms} and {counted(motors, 'motor', 'motors')}"


def _named(tree: Model, names: Sequence[str]) -> list[Joint]:
    if isinstance(names, str):
        raise OptionError(f"coordinates is a list of names of joints; for a single one write [{names!r}]")
    if not isinstance(names, Sequence):
        raise OptionError(f"coordinates is a list of names of joints, not {names!r}")
    own = {j.name: j for j in tree.joints if not j.mimic}
    for name in names:
        if name not in own:
            raise UnknownNameError("joint", name, list(own))
    if len(set(names)) < len(names):
        raise OptionError(f"coordinates name a joint twice: {', '.join(names)}")
    return [own[name] for name in names]


def _check_coordinates(tree: Model, loops: Coordinates, joints: Sequence[Joint], wanted: int) -> None:
    """Refuse coordinates that are too few, too many, or not independent."""
    listed = ", ".join(j.name for j in joints) or "none"
    count = sum(j.nv for j in joints)
    if count != wanted:
        raise OptionError(
            f"{_size_of(tree, loops)}: its coordinates must be as many as its freedoms, not {count} ({listed})"
        )
    others = _freedoms_but(tree, _freedoms(joints))
    if rank.numerical_rank(loops.sample[:, others]) < len(loops.rows):
        raise SingularError(
            f"{listed} of {tree.name!r} cannot move independently: the loops couple them, or "
            "nothing else moves with them; name others with coordinates=[...], or move the motors"
        )


def _check_motors(tree: Model, loops: Coordinates, driven: Sequence[Joint]) -> None:
    passive = _freedoms_but(tree, _freedoms(driven))
    if rank.numerical_rank(loops.sample[:, passive]) < len(passive):
        listed = ", ".join(j.name for j in driven) or "none"
        raise SingularError(
            f"the motors of {tree.name!r} ({listed}) do not control one of its motions: it moves while they are locked"
        )


def _enough(tree: Model, loops: Coordinates, freedoms: Sequence[int]) -> list[int]:
    """Return freedoms that determine all motion, the first ones if possible."""
    left = list(freedoms)
    for freedom in reversed(freedoms):
        others = [k for k in range(tree.nv) if k not in left or k == freedom]
        if rank.numerical_rank(loops.sample[:, others]) == len(others):
            left.remove(freedom)
    return left


def _surest(tree: Model, loops: Coordinates, freedoms: Sequence[int]) -> list[int]:
    """Return freedoms that determine all motion, the best ones by pivoting."""
    own = np.isin(np.arange(tree.nv), freedoms)
    return list(preferred(loops, own).independent)


def _freedoms(joints: Sequence[Joint]) -> list[int]:
    return [k for j in joints for k in j.freedoms]


def _freedoms_but(tree: Model, some: Sequence[int]) -> list[int]:
    return [k for k in range(tree.nv) if k not in some]


# ---------------------------------------------------------------- forces


def forces_for(
    tree: Model, loops: Coordinates, q: Scalars, v: Scalars, joints: Sequence[Joint], a: Scalars,
    loads: Sequence[Force | None] | None,
) -> list[Scalar]:  # fmt: skip
    """Return the motor forces that give some joints the desired accelerations, at a closed state.

    The joints are coordinates that determine all motion, or the driven ones if those are fewer.
    """
    own = _freedoms(joints)
    if len(own) < loops.freedoms:
        return _giving_way(tree, loops, q, v, joints, a, loads)
    drift = loop_constraints.drift(tree, q, v)
    whole, quality = _following(tree, _matrix(tree, loops, q), own, a, [-drift[r] for r in loops.rows])
    tau, _ = newton_euler.inverse_dynamics(tree, q, v, trusted(whole, quality), tree.gravity, loads)
    return left_to_motors(tree, loops, q, tau, "a law through inverse dynamics")


def left_to_motors(tree: Model, loops: Coordinates, q: Scalars, tau: Scalars, law: str) -> list[Scalar]:
    """Return motor forces equivalent to forces ``tau`` on all joints; a floating base is held by others."""
    driven, k = tree.driven_joints, _matrix(tree, loops, q)
    floating = [tree.joints[k] for k in tree.roots if tree.is_floating and not tree.joints[k].actuated]
    held = [*driven, *floating]
    count = len(_freedoms(held))
    if count < loops.freedoms or (count > loops.freedoms and floating):
        base, other = (", six of the freedoms those of its base", " other") if floating else ("", "")
        raise UnsupportedError(
            f"{_size_of(tree, loops)}{base}: {law} needs one motor for each{other} freedom; mark other "
            "joints as actuated, or write the law as a function"
        )
    _check_motors(tree, loops, held)
    if count > loops.freedoms:
        return _shared(tree, loops, k, tau)
    passive = _freedoms_but(tree, _freedoms(held))
    columns = [[row[j] for j in passive] for row in k]  # columns of K_p^T
    multipliers, quality = _solved(tree, columns, [tau[j] for j in passive])
    forces = [tau[j] - inner([row[j] for row in k], multipliers) for j in _freedoms(driven)]
    return spread(tree, driven, trusted(forces, quality))


def _shared(tree: Model, loops: Coordinates, k: Matrix, tau: Scalars) -> list[Scalar]:
    """Share forces among redundant motors: the least sum of squares under D^T u = G^T tau is u = D (D^T D)^-1 G^T tau.

    v = G v_c, and D are the rows of G that belong to motors; some of these are the coordinates c, so D has full rank.
    """
    driven = tree.driven_joints
    chosen = _surest(tree, loops, _freedoms(driven))
    worst: Scalar = 1.0
    motions: Matrix = []
    for i in chosen:
        column, quality = _following(tree, k, chosen, [float(i == j) for j in chosen], [0.0] * len(k))
        worst = where(quality < worst, quality, worst)
        motions.append(column)
    seen = [gathered(driven, column) for column in motions]
    weights = ldl_solve(ldl([[inner(a, b) for b in seen] for a in seen]), [inner(column, tau) for column in motions])
    return spread(tree, driven, trusted([inner(row, weights) for row in zip(*seen, strict=True)], worst))


def _giving_way(
    tree: Model, loops: Coordinates, q: Scalars, v: Scalars, driven: Sequence[Joint], a: Scalars,
    loads: Sequence[Force | None] | None,
) -> list[Scalar]:  # fmt: skip
    """Return the forces of motors fewer than the freedoms; the desired motions of their joints are constraints."""
    places = [(j.q_slice.start + i, j.v_slice.start + i) for j in driven for i in range(j.nv)]
    still = [0.0] * len(places)
    asked = Targets(tuple(places), (), still, still, a)
    found = constrained_dynamics.forward_dynamics(tree, q, v, [0.0] * tree.nv, tree.gravity, loads, loops.rows, asked)
    return spread(tree, driven, trusted(found.driving, found.quality))


class Yielding:
    """The response of a mechanism with closed loops to joint forces: (M^-1 - Y (K Y)^-1 Y^T) tau, Y = M^-1 K^T."""

    def __init__(self, tree: Model, loops: Coordinates, q: Scalars) -> None:
        self.tree, self.loops = tree, loops
        self.coupling = EnergyWay(tree, q, _matrix(tree, loops, q))
        self.quality = self.coupling.quality()

    def held(self, a: Scalars, sums: Scalars) -> list[Scalar]:
        """Return the accelerations nearest to ``a``, in energy, with K a = sums."""
        off = [inner(row, a) - s for row, s in zip(self.coupling.k, sums, strict=True)]
        return [x + y for x, y in zip(a, self.coupling.back(off), strict=True)]

    def to(self, tau: Scalars) -> list[Scalar]:
        """Return the accelerations due to joint forces."""
        return self.held(self.coupling.free(tau), [0.0] * len(self.coupling.k))

    def at_rest(self, q: Scalars, v: Scalars) -> list[Scalar]:
        """Return the least accelerations, in energy, that keep the loops closed at these velocities."""
        drift = loop_constraints.drift(self.tree, q, v)
        return self.held([0.0] * self.tree.nv, [-drift[r] for r in self.loops.rows])


# ---------------------------------------------------------------- motions


def completed(
    tree: Model, loops: Coordinates, q: Scalars, joints: Sequence[Joint], desired: Desired
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Return all positions, velocities and accelerations of a desired motion of the coordinates.

    The search for positions starts from ``q``, so they are on its branch; they are NaN if no closed ones are found.
    """
    own = _freedoms(joints)
    goal = list(q)
    left: Scalar = 0.0
    for share in SHARES + (1.0,) * ROUNDS:
        way = [x for j, p in zip(joints, desired.per_joint, strict=True) for x in j.kind.difference(goal[j.q_slice], p)]
        gaps = loop_constraints.gaps(tree, goal)
        off = [gaps[r] for r in loops.rows]
        left = inner(off, off)
        step, _ = _following(tree, _matrix(tree, loops, goal), own, [share * x for x in way], [-x for x in off])
        goal = kinematics.integrate(tree, goal, step)
        if share == 1.0:
            for joint, position in zip(joints, desired.per_joint, strict=True):
                goal[joint.q_slice] = position
    goal = [where(left > UNCLOSED * UNCLOSED, math.nan, x) for x in goal]
    k = _matrix(tree, loops, goal)
    v, _ = _following(tree, k, own, desired.velocity, [0.0] * len(k))
    drift = loop_constraints.drift(tree, goal, v)
    a, quality = _following(tree, k, own, desired.acceleration, [-drift[r] for r in loops.rows])
    return goal, v, trusted(a, quality)


def _following(
    tree: Model, k: Matrix, own: Sequence[int], given: Scalars, sums: Scalars
) -> tuple[list[Scalar], Scalar]:
    """Return the x with K x = sums and given coordinates, and how well these determine it."""
    others = _freedoms_but(tree, own)
    rest = [s - inner([row[j] for j in own], given) for s, row in zip(sums, k, strict=True)]
    x, quality = _solved(tree, [[row[j] for row in k] for j in others], rest)
    whole: list[Scalar] = [0.0] * tree.nv
    for j, value in (*zip(own, given, strict=True), *zip(others, x, strict=True)):
        whole[j] = value
    return whole, quality


def _matrix(tree: Model, loops: Coordinates, q: Scalars) -> Matrix:
    return constrained_dynamics.matrix(tree, q, loops.rows)


def _solved(tree: Model, columns: Sequence[Scalars], rhs: Scalars) -> tuple[list[Scalar], Scalar]:
    try:
        return constrained_dynamics.orthogonal_solve(columns, rhs, loop_constraints.usual_size(tree))
    except ZeroDivisionError:  # exact zeros, at which plain numbers would raise an error
        return [math.nan] * len(columns), 0.0


def trusted(values: Scalars, quality: Scalar) -> list[Scalar]:
    """Return NaN where a configuration is too close to singular for the chosen coordinates, constraints and motors."""
    poor = quality < LEAST_QUALITY
    return [where(poor, math.nan, x) for x in values]
