"""The cost of algorithms on general chains, as formulas in the number of joint variables, beside published ones.

With the counts of :mod:`kinetree.export.operation_counts` this is ``kinetree.costs``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from kinetree.errors import explain_public, refuse_unknown
from kinetree.export.model_of import Modeled, model_of
from kinetree.export.operation_counts import Costed, Count, all_costs, cost, count_function
from kinetree.model.joints import EulerSpherical, JointKind, Revolute, Universal
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.model.tree import Model
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.spatial.numbers import whole_number

from .published_counts import MA, Formula, Published, rows

__all__ = [
    "ABSOLUTE", "CHAINS", "FITTED", "Compared", "Costed", "Count", "Fitted", "Variables", "all_costs", "all_fits",
    "cost", "count_function", "fit", "general_chain", "joint_variables", "published",
]  # fmt: skip

CHAINS: dict[str, JointKind] = {
    "revolute": Revolute("z"),
    "universal": Universal("ZX"),
    "spherical": EulerSpherical("ZYX"),
}
"""Joints of general chains: one, two and three degrees of freedom."""

FITTED: dict[str, tuple[str, dict[str, Any], int]] = {
    "inverse_dynamics": ("inverse_dynamics", {}, 1),
    "forward_dynamics, articulated body": ("forward_dynamics", {"method": "articulated_body"}, 1),
    "forward_dynamics, composite body": ("forward_dynamics", {"method": "composite_body"}, 3),
    "mass_matrix": ("mass_matrix", {}, 2),
}
"""Fitted counts: algorithm, options, and degree in n."""

ABSOLUTE: dict[str, tuple[str, dict[str, Any], int]] = {
    "inverse_dynamics, absolute": ("inverse_dynamics", {"method": "absolute_newton_euler"}, 1),
    "forward_dynamics, articulated body, absolute": ("forward_dynamics", {"method": "absolute_articulated_body"}, 1),
    "forward_dynamics, composite body, absolute": ("forward_dynamics", {"method": "absolute_composite_body"}, 3),
    "mass_matrix, absolute": ("mass_matrix", {"method": "absolute_composite_body"}, 2),
}
"""The same with all quantities in world coordinates, for comparison: not part of :func:`all_fits`."""

MOST_JOINTS = 10_000
"""The most joints of a general chain."""

_FIRST, _EXTRA = 3, 2


def general_chain(joint: str, joints: int, *, single: bool = False) -> Robot:
    """Return a general chain, in which no number is zero unless it must be.

    All DH parameters, all ten inertial parameters of every link and all components of
    gravity are general.  The numbers have few binary digits, so that what cancels in real
    arithmetic cancels in the last link's constants, too.

    joint: {"revolute", "universal", "spherical"}
    joints: Number of joints.
    single: Whether to write each joint as a chain of hinges with massless links between them.
    """
    refuse_unknown("kind of general chain", joint, CHAINS)
    whole_number(joints, "joints", 1, MOST_JOINTS)
    builder = Builder(f"general chain of {joints} {joint} joints", gravity=(1.5, 2.25, -9.75))
    inertia = (0.8125, 0.9375, 0.6875, 0.03125, 0.046875, 0.078125)
    link = MassProperties.of(2.0, (0.0625, 0.15625, 0.21875), inertia, about="origin")
    place = Pose.of(rpy=(0.75, 0.0, 0.0)) @ Pose.of((0.4375, 0.0, 0.59375))  # Rx(alpha) Tx(a) Tz(d)
    for k in range(joints):
        parent = "base" if k == 0 else f"link{k}"
        builder.body(
            f"link{k + 1}", parent, CHAINS[joint], joint_name=f"joint{k + 1}", placement=place, mass_properties=link
        )
    robot = builder.build()
    return robot.with_single_joints() if single else robot


@dataclass(frozen=True)
class Fitted:
    """Counts of an algorithm on general chains, as polynomials in the number of joint variables n."""

    algorithm: str
    """A key of :data:`FITTED` or :data:`ABSOLUTE`."""
    joint: str
    """A key of :data:`CHAINS`."""
    single: bool
    """Whether joints were written as chains of hinges."""
    multiplications: Formula
    additions: Formula
    divisions: Formula
    valid_from: int
    """The smallest n for which they hold."""
    checked_to: int
    """The largest n that was counted and compared."""

    def __call__(self, n: int) -> MA:
        """Return multiplications with divisions, and additions, as the sources count."""
        return MA(self.multiplications(n) + self.divisions(n), self.additions(n))

    def __str__(self) -> str:
        divided = f", ({self.divisions}) D" if str(self.divisions) != "0" else ""
        what = f"{self.algorithm.replace('_', ' ')} of {self.joint} chains"
        return f"{what}: ({self.multiplications}) M, ({self.additions}) A{divided}, for n from {self.valid_from}"


@lru_cache(maxsize=64)
def fit(algorithm: str, joint: str = "revolute", *, single: bool = False) -> Fitted:
    """Return formulas in n, found by counting and checked on additional chains.

    Parameters
    ----------
    algorithm : str
        A key of :data:`FITTED` or :data:`ABSOLUTE`: ``"inverse_dynamics"``, ``"mass_matrix, absolute"``, ...
    joint : {"revolute", "universal", "spherical"}
    single : bool
        Whether to write each joint as a chain of hinges with massless links between them.

    Returns
    -------
    Fitted

    Raises
    ------
    ArithmeticError
        If the counts are not a polynomial of the expected degree.
    """
    known = FITTED | ABSOLUTE
    refuse_unknown("fitted algorithm", algorithm, known)
    refuse_unknown("kind of general chain", joint, CHAINS)
    name, options, degree = known[algorithm]
    last = _FIRST + degree + _EXTRA
    counts = {k: cost(general_chain(joint, k, single=single), name, **options) for k in range(1, last + 1)}
    freedoms = CHAINS[joint].nv
    found = []
    for what in ("multiplications", "additions", "divisions"):
        values = {k: getattr(c, what) for k, c in counts.items()}
        found.append(_interpolate({freedoms * k: v for k, v in values.items() if _FIRST <= k <= _FIRST + degree}))
        for k in range(_FIRST, last + 1):
            if found[-1](freedoms * k) != values[k]:
                raise ArithmeticError(
                    f"{what} of {algorithm} on {joint} chains are not a polynomial of degree {degree} in n"
                )
    m, a, d = found
    valid = _FIRST
    while valid > 1 and _agree((m, a, d), freedoms * (valid - 1), counts[valid - 1]):
        valid -= 1
    return Fitted(algorithm, joint, single, m, a, d, freedoms * valid, freedoms * last)


def _agree(formulas: Sequence[Formula], n: int, counted: Count) -> bool:
    return [f(n) for f in formulas] == [counted.multiplications, counted.additions, counted.divisions]


def _interpolate(points: Mapping[int, int]) -> Formula:
    """Return the polynomial through points, exactly (Newton's divided differences)."""
    x = list(points)
    table = [Fraction(y) for y in points.values()]
    for order in range(1, len(x)):
        for i in range(len(x) - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (x[i] - x[i - order])
    powers = [Fraction(0)] * len(x)
    for k in range(len(x) - 1, -1, -1):  # powers = powers * (n - x[k]) + table[k]
        powers = [
            (table[k] if p == 0 else Fraction(0)) - x[k] * powers[p] + (powers[p - 1] if p else 0)
            for p in range(len(powers))
        ]
    while powers and powers[-1] == 0:
        powers.pop()
    return Formula(tuple(powers))


def all_fits() -> list[Fitted]:
    """Return every formula: each algorithm on each kind of chain; the last two kinds also as chains of hinges."""
    forms = [("revolute", False), ("universal", False), ("universal", True), ("spherical", False), ("spherical", True)]
    return [fit(algorithm, joint, single=single) for algorithm in FITTED for joint, single in forms]


# ------------------------------------------------------------------ compared with published counts


class Variables(NamedTuple):
    """Joint variables in joints of 1, 2 and 3 degrees of freedom, without a floating base."""

    n1: int = 0
    n2: int = 0
    n3: int = 0

    @property
    def n(self) -> int:
        """Number of all joint variables."""
        return sum(self)


def joint_variables(robot: Modeled | Model) -> Variables:
    """Return the numbers of joint variables, on which the published formulas depend.

    A joint with more than three degrees of freedom counts as several joints of three or fewer.
    """
    model, numbers = model_of(robot), [0, 0, 0]
    skipped = model.roots[0] if model.is_floating else None
    for i, joint in enumerate(model.joints):
        if i == skipped:
            continue
        freedoms = joint.nv
        while freedoms > 0:
            part = min(freedoms, 3)
            numbers[part - 1] += part
            freedoms -= part
    return Variables(*numbers)


class Compared(NamedTuple):
    """A published row evaluated for a robot."""

    row: Published
    value: MA


def published(robot: Modeled | Model) -> list[Compared]:
    """Return all published formulas for this kind of base, evaluated for this robot's numbers of joint variables."""
    variables = joint_variables(robot)
    return [Compared(row, row(*variables)) for row in rows(model_of(robot).is_floating)]


__dir__ = explain_public(__name__)
