"""Costs of the steps of the recursions: Featherstone tables 4-1 and 8-2 to 8-6, Shah appendix A, and our own counts.

Our counts are of kinetree's own classes, traced over variables that are constant only where they must be.  M counts
multiplications and divisions, A additions and subtractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinetree.algorithms.newton_euler import turning_matrix, turning_moment
from kinetree.export.operation_counts import count_function
from kinetree.spatial import (
    ArticulatedInertia,
    AxisRotation,
    Force,
    Matrix3,
    MatrixRotation,
    Motion,
    RigidInertia,
    Symmetric3,
    Transform,
    Vec3,
    cos,
    sin,
)
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, PlotGrid
from kinetree.studies.study import Outcome
from kinetree_books.cost_formulas import fit
from kinetree_books.published_counts import (
    BUILDING_BLOCKS,
    FORWARD,
    INVERSE,
    MA,
    MASS_MATRIX,
    TABLE_8_2,
    TABLE_8_3,
    TABLE_8_4,
    TABLE_8_5,
    Published,
)

from .common_facts import common

MULTIPLICATION = 4
"""Number of additions that take as long as a multiplication in Featherstone's weights (a footnote of section 8.3.2)."""


def weight(count: Sequence[Any]) -> float:
    """Return the total cost of operations with Featherstone's weights."""
    return float(MULTIPLICATION * count[0] + count[1])


def counted(function: Callable[..., Iterable[Any]], *lengths: int) -> MA:
    """Count the operations of a function of vectors."""
    got = count_function(function, *lengths)
    return MA(got.multiplications + got.divisions, got.additions)


# ------------------------------------------------------------------ quantities from plain numbers, and back


def _matrix(x: Sequence[Any]) -> Matrix3:
    return Matrix3.of([x[0:3], x[3:6], x[6:9]])


def _general(x: Sequence[Any]) -> Transform:
    return Transform((MatrixRotation(_matrix(x)),), Vec3(*x[9:12]))


def _along_axis(x: Sequence[Any], axis: int = 2) -> Transform:
    """Return a screw along a coordinate axis, from cosine, sine and displacement."""
    shift = [0.0, 0.0, 0.0]
    shift[axis] = x[2]
    return Transform((AxisRotation(axis, x[0], x[1]),), Vec3(*shift))


def _dh(theta: Any) -> Transform:
    """Return a general DH transform of a revolute joint: a turn and a shift along x, then along z."""
    return Transform((AxisRotation(0, 0.6, 0.8), AxisRotation(2, cos(theta), sin(theta))), Vec3(0.3, 0.4, 0.7))


def _articulated(x: Sequence[Any]) -> ArticulatedInertia:
    return ArticulatedInertia(Symmetric3(*x[0:6]), _matrix(x[6:15]), Symmetric3(*x[15:21]))


def _freed(x: Sequence[Any]) -> ArticulatedInertia:
    """Return an inertia after the elimination of a revolute joint along z: no moment about z (Shah eq. A.47)."""
    coupling = Matrix3.of([[x[3], x[4], x[5]], [x[6], x[7], x[8]], [0.0, 0.0, 0.0]])
    return ArticulatedInertia(Symmetric3(x[0], x[1], 0.0, x[2], 0.0, 0.0), coupling, Symmetric3(*x[9:15]))


def _rigid(x: Sequence[Any]) -> RigidInertia:
    return RigidInertia(x[0], Vec3(*x[1:4]), Symmetric3(*x[4:10]))


def numbers(value: Any) -> list[Any]:
    """Return the numbers of a quantity."""
    if isinstance(value, (Vec3, Motion, Force)):
        return list(value)
    if isinstance(value, Matrix3):
        return [x for row in value.to_rows() for x in row]
    if isinstance(value, Symmetric3):
        return [value.xx, value.xy, value.xz, value.yy, value.yz, value.zz]
    if isinstance(value, Transform):
        return [*numbers(value.matrix()), *value.translation]
    if isinstance(value, RigidInertia):
        return [value.mass, *value.first, *numbers(value.second)]
    assert isinstance(value, ArticulatedInertia)
    return [*numbers(value.angular), *numbers(value.coupling), *numbers(value.linear)]


# ------------------------------------------------------------------ table 4-1


class _CountedMatrix:
    """A matrix that counts its multiplications only."""

    def __init__(self, tally: list[int]) -> None:
        self.tally = tally

    def __matmul__(self, other: _CountedMatrix) -> _CountedMatrix:
        self.tally[0] += 1
        return _CountedMatrix(self.tally)

    def __add__(self, other: _CountedMatrix) -> _CountedMatrix:
        return _CountedMatrix(self.tally)


def products_of_derivative(n: int, recurrence: bool) -> int:
    """Count the matrix products that the rate of A_1 ... A_n takes (Featherstone eq. 4.3, or 4.4 and 4.5)."""
    tally = [0]
    factors, rates = [_CountedMatrix(tally) for _ in range(n)], [_CountedMatrix(tally) for _ in range(n)]
    if recurrence:
        whole, rate = factors[0], rates[0]
        for k in range(1, n):
            rate = rate @ factors[k] + whole @ rates[k]
            if k < n - 1:  # the last product itself is not needed
                whole = whole @ factors[k]
        return tally[0]
    for i in range(n):
        row = [*factors[:i], rates[i], *factors[i + 1 :]]
        product = row[0]
        for factor in row[1:]:
            product = product @ factor
    return tally[0]


def recurrences(quick: bool) -> Outcome:
    """Count products of matrices: table 4-1 of Featherstone."""
    sizes = (1, 2, 3, 5, 10, 20)
    printed = {False: (0, 2, 6, 20, 90, 380), True: (0, 2, 5, 11, 26, 56)}
    names = {False: "by the sum of all products", True: "by recurrence"}
    facts = [
        Fact(
            f"matrix products for the rate of a product of n matrices, {names[way]}, n = 1, 2, 3, 5, 10, 20", row,
            [products_of_derivative(n, way) for n in sizes], source="Featherstone Table 4-1",
        )
        for way, row in printed.items()
    ]  # fmt: skip
    return Outcome(facts)


# ------------------------------------------------------------------ tables 8-2 to 8-5


def _without_symmetry(t: Transform, inertia: tuple[Matrix3, Matrix3, Matrix3]) -> list[Any]:
    """Return a transformed articulated inertia, with blocks of nine numbers as in table 8-3."""
    m, h, i = inertia
    (e,) = t.rotations
    r = Matrix3.cross_of(t.translation)
    rest = h - r.times(m)
    return [*numbers(e.conjugate(m)), *numbers(e.conjugate(rest)),
            *numbers(e.conjugate(i - r.times(h.T) + rest.times(r)))]  # fmt: skip


def _rigid_without_symmetry(t: Transform, m: Any, h: Vec3, i: Matrix3) -> list[Any]:
    (e,) = t.rotations
    r = t.translation
    rest = h - r * m
    return [m, *e.apply(rest), *numbers(e.conjugate(i + _two_crosses(r, h) + _two_crosses(rest, r)))]


def _two_crosses(a: Vec3, b: Vec3) -> Matrix3:
    """Return a x b x in nine products and three sums: b a^T - (a.b) 1."""
    x, y, z = a.x * b.x, a.y * b.y, a.z * b.z
    return Matrix3(
        Vec3(-(y + z), b.x * a.y, b.x * a.z), Vec3(b.y * a.x, -(x + z), b.y * a.z), Vec3(b.z * a.x, b.z * a.y, -(x + y))
    )


def _blocks_of(x: Sequence[Any]) -> tuple[Matrix3, Matrix3, Matrix3]:
    return _matrix(x[:9]), _matrix(x[9:18]), _matrix(x[18:27])


def general_transforms() -> dict[str, MA]:
    """Count the operations of table 8-3, as its formulas are written."""
    return {
        "transform and transform": counted(lambda a, b: numbers((_general(a) @ _general(b)).collapsed()), 12, 12),
        "transform and vector": counted(lambda a, b: numbers(_general(a).motion_to_child(Motion.of(b))), 12, 6),
        "transform and articulated-body inertia": counted(
            lambda a, b: _without_symmetry(_general(a), _blocks_of(b)), 12, 27
        ),
        "transform and rigid-body inertia": counted(
            lambda a, b: _rigid_without_symmetry(_general(a), b[0], Vec3(*b[1:4]), _matrix(b[4:13])), 12, 13
        ),
    }


def with_symmetry() -> dict[str, MA]:
    """Count the operations of table 8-4 as kinetree does them."""
    return {
        "transform and articulated-body inertia": counted(
            lambda a, b: numbers(_general(a).articulated_to_parent(_articulated(b))), 12, 21
        ),
        "transform and rigid-body inertia": counted(
            lambda a, b: numbers(_general(a).rigid_to_parent(_rigid(b))), 12, 10
        ),
    }


def axis_screws() -> dict[str, MA]:
    """Count the operations of table 8-5 as kinetree does them."""
    rigid = counted(lambda a, b: numbers(_along_axis(a).rigid_to_parent(_rigid(b))), 3, 10)
    return {
        "screw and transform": counted(lambda a, b: numbers((_along_axis(a) @ _general(b)).collapsed()), 3, 12),
        "screw and vector": counted(lambda a, b: numbers(_along_axis(a).motion_to_child(Motion.of(b))), 3, 6),
        "screw and articulated-body inertia, symmetry used": counted(
            lambda a, b: numbers(_along_axis(a).articulated_to_parent(_articulated(b))), 3, 21
        ),
        "screw and rigid-body inertia, symmetry used": rigid,
        "screw and rigid-body inertia, partial results used": rigid,
    }


WHY = {
    "transform and articulated-body inertia": "as many multiplications; 6 additions go into sums that save as many "
    "multiplications on the diagonal",
    "screw and transform": "kinetree keeps the translation in the parent's axes, so it is turned (4M) where "
    "Featherstone turns the screw's own shift (3M)",
}


def _no_dearer(book: dict[str, MA], ours: dict[str, MA], source: str) -> list[Fact]:
    return [
        Fact(f"{what}: kinetree takes no more", str(book[what]), str(got),
             holds=got[0] <= book[what][0] and got[1] <= book[what][1], reason=WHY.get(what, ""), source=source)
        for what, got in ours.items()
    ]  # fmt: skip


def transforms(quick: bool) -> Outcome:
    """Count transforms of spatial quantities: tables 8-2 to 8-5 of Featherstone."""
    held = {
        "vector": Motion.of(range(6)), "transform": _general(list(range(12))),
        "articulated-body inertia": _articulated(range(21)), "rigid-body inertia": _rigid(range(10)),
    }  # fmt: skip
    six = {
        "transform and transform": MA(216, 180), "transform and vector": MA(36, 30),
        "transform and articulated-body inertia": MA(432, 360), "transform and rigid-body inertia": MA(432, 360),
    }  # fmt: skip
    general, factors = general_transforms(), (6, 1.5, 2, 5)
    screws = {
        "screw and transform": ("transform and transform", general, 1.25),
        "screw and vector": ("transform and vector", general, 1.25),
        "screw and articulated-body inertia": ("transform and articulated-body inertia", general, 1.5),
        "screw and articulated-body inertia, symmetry used": (
            "transform and articulated-body inertia", TABLE_8_4, 1.6,
        ),
        "screw and rigid-body inertia": ("transform and rigid-body inertia", general, 1.35),
        "screw and rigid-body inertia, symmetry used": ("transform and rigid-body inertia", TABLE_8_4, 1.5),
    }  # fmt: skip
    facts = [
        *(Fact(f"{what}: kinetree keeps no more numbers", size.compact, len(numbers(held[what])),
               holds=len(numbers(held[what])) <= size.compact, source="Featherstone Table 8-2")
          for what, size in TABLE_8_2.items()),
        *(Fact(f"{what}, formulas as printed", str(TABLE_8_3[what]), str(got), source="Featherstone Table 8-3")
          for what, got in general.items()),
        *(Fact(f"{what}: gain over 6x6 matrices", gain, round(weight(six[what]) / weight(general[what]), 2),
               tolerance=0.2, source="Featherstone Table 8-3") for what, gain in zip(general, factors, strict=True)),
        *_no_dearer(TABLE_8_4, with_symmetry(), "Featherstone Table 8-4"),
        *(Fact(f"{what}: gain by symmetry, of the book's counts", 1.2,
               round(weight(general[what]) / weight(count), 2), tolerance=0.05, source="Featherstone Table 8-4")
          for what, count in TABLE_8_4.items()),
        *_no_dearer(TABLE_8_5, axis_screws(), "Featherstone Table 8-5"),
        *(Fact(f"{what}: gain of two of them over one general transform, of the book's counts", gain,
               round(weight(table[whole]) / weight(TABLE_8_5[what]) / 2, 2), tolerance=0.06,
               source="Featherstone Table 8-5")
          for what, (whole, table, gain) in screws.items()),
    ]  # fmt: skip
    remark = (
        "Screws along an axis cost less in kinetree than in Featherstone: a 2x2 block across the axis, symmetric or "
        "not, turns in four multiplications (k = c(a - d) - s(b + e), then d + ck, b + sk, e + sk, a - ck), "
        "for which neither s^2 nor sc is needed."
    )
    return Outcome(facts, remarks=[remark])


# ------------------------------------------------------------------ Shah appendix A


def building_blocks() -> dict[str, MA]:
    """Count the parts of appendix A of Shah as kinetree does them, for a revolute joint and general DH parameters."""
    inertia = Symmetric3(3.0, 0.1, 0.2, 4.0, 0.3, 5.0)
    turning = counted(lambda w, wd: numbers(turning_matrix(Vec3(*w), Vec3(*wd))), 3, 3)

    def beside_turning(function: Callable[..., Iterable[Any]], *lengths: int) -> MA:
        got = counted(function, *lengths)
        return MA(got[0] - turning[0], got[1] - turning[1])

    def moment(w: Any, wd: Any) -> Vec3:
        return turning_moment(turning_matrix(Vec3(*w), Vec3(*wd)), inertia)

    def origin(q: Any, o: Any, turns: Matrix3) -> Vec3:
        return _dh(q[0]).unrotate(Vec3(*o) + turns @ _dh(q[0]).translation)

    def composite(q: Any, x: Any) -> RigidInertia:
        return _dh(q[0]).rigid_to_parent(RigidInertia(2.5, Vec3(*x[0:3]), Symmetric3(*x[3:9])))

    def articulated(q: Any, x: Any) -> ArticulatedInertia:
        return _dh(q[0]).articulated_to_parent(_freed(x))

    own = RigidInertia(2.5, Vec3(0.1, 0.2, 0.3), inertia)
    return {
        "rotate a vector between neighbors": counted(lambda q, v: _dh(q[0]).rotate(Vec3(*v)), 1, 3),
        "rotate a vector about one axis": counted(lambda q, v: AxisRotation.by_angle(2, q[0]).apply(Vec3(*v)), 1, 3),
        "rotate a general matrix between neighbors": counted(
            lambda q, x: numbers(_turned(_dh(q[0]), _matrix(x))), 1, 9
        ),
        "rotate a symmetric matrix between neighbors": counted(
            lambda q, x: numbers(_turned_symmetric(_dh(q[0]), Symmetric3(*x))), 1, 6
        ),
        "wrench to the parent": counted(lambda q, f: _dh(q[0]).force_to_parent(Force.of(f)), 1, 6),
        "twist to the child": counted(lambda q, m: _dh(q[0]).motion_to_child(Motion.of(m)), 1, 6),
        "W": turning,
        "acceleration of the origin, W known": beside_turning(
            lambda q, o, w, wd: [*origin(q, o, turning_matrix(Vec3(*w), Vec3(*wd))),
                                 *numbers(turning_matrix(Vec3(*w), Vec3(*wd)))],
            1, 3, 3, 3,
        ),
        "Euler's part of the moment, W known": beside_turning(
            lambda w, wd: [*moment(w, wd), *numbers(turning_matrix(Vec3(*w), Vec3(*wd)))], 3, 3
        ),
        "moment": beside_turning(
            lambda w, wd, o: [*(moment(w, wd) + own.first.cross(Vec3(*o))),
                              *numbers(turning_matrix(Vec3(*w), Vec3(*wd)))],
            3, 3, 3,
        ),
        "composite inertia to the parent": counted(lambda q, x: numbers(composite(q, x)), 1, 9),
        "composite inertia to the parent, with the sum": counted(lambda q, x: numbers(composite(q, x) + own), 1, 9),
        "articulated inertia to the parent": counted(lambda q, x: numbers(articulated(q, x)), 1, 15),
        "articulated inertia to the parent, with the sum": counted(
            lambda q, x: numbers(articulated(q, x) + own.articulated()), 1, 15
        ),
    }  # fmt: skip


def _turned(t: Transform, m: Matrix3) -> Matrix3:
    for rotation in reversed(t.rotations):
        m = rotation.conjugate(m)
    return m


def _turned_symmetric(t: Transform, m: Symmetric3) -> Symmetric3:
    for rotation in reversed(t.rotations):
        m = rotation.conjugate_symmetric(m)
    return m


def by_two_screws() -> dict[str, MA]:
    """Count, with kinetree's parts, what appendix A does along z and then along x instead of in one step."""

    def steps(q: Any) -> tuple[Transform, Transform]:
        return _along_axis((0.6, 0.8, 0.3), 0), _along_axis((cos(q[0]), sin(q[0]), 0.7), 2)

    def moved(q: Any, name: str, value: Any) -> Any:
        for step in reversed(steps(q)):
            value = getattr(step, name)(value)
        return value

    def rigid(x: Sequence[Any]) -> RigidInertia:
        return RigidInertia(2.5, Vec3(*x[0:3]), Symmetric3(*x[3:9]))

    return {
        "wrench to the parent": counted(lambda q, f: moved(q, "force_to_parent", Force.of(f)), 1, 6),
        "composite inertia to the parent": counted(lambda q, x: numbers(moved(q, "rigid_to_parent", rigid(x))), 1, 9),
        "articulated inertia to the parent": counted(
            lambda q, x: numbers(moved(q, "articulated_to_parent", _freed(x))), 1, 15
        ),
    }


AT_ONCE = "kinetree shifts once, by three components, where the book goes along z and then along x"


def parts(quick: bool) -> Outcome:
    """Count the building blocks of appendix A of Shah."""
    ours, split = building_blocks(), by_two_screws()
    reasons = {
        "rotate a symmetric matrix between neighbors": "four multiplications less, one addition more",
        **dict.fromkeys(("wrench to the parent", "twist to the child"), AT_ONCE),
        **{
            f"{whole} inertia to the parent{more}": AT_ONCE
            for whole in ("composite", "articulated")
            for more in ("", ", with the sum")
        },
    }
    facts = [
        *(Fact(f"{what}: kinetree takes no more", str(book), str(ours[what]),
               holds=ours[what][0] <= book[0] and ours[what][1] <= book[1], reason=reasons.get(what, ""),
               source="Shah appendix A") for what, book in BUILDING_BLOCKS.items()),
        *(Fact(f"{what}, along z and then along x: kinetree's parts cost no more than the book's, an addition being a "
               "quarter of a multiplication", weight(BUILDING_BLOCKS[what]), weight(got),
               holds=weight(got) <= weight(BUILDING_BLOCKS[what]), source="Shah appendix A")
          for what, got in split.items()),
    ]  # fmt: skip
    return Outcome(facts)


# ------------------------------------------------------------------ table 8-6 and what follows from it

Cost = Callable[[int], MA]


def first_cheaper(one: Cost, other: Cost, measure: Callable[[Sequence[Any]], Any], last: int = 200) -> int:
    """Return the smallest number of joints at which one algorithm costs less than another; 0 if it never does."""
    dearer = [n for n in range(3, last) if measure(one(n)) >= measure(other(n))]
    return 0 if dearer and dearer[-1] == last - 1 else (dearer[-1] + 1 if dearer else 3)


def seconds(count: MA, angles: int) -> float:
    """Return the time by Featherstone section 8.4.2: 10 us for M, 2 us for A, 200 us for a sine, 1 us more for each."""
    return 1e-6 * (11.0 * float(count[0]) + 3.0 * float(count[1]) + 201.0 * angles)


def _row(rows: Sequence[Published], author: str) -> Published:
    (found,) = [row for row in rows if row.author.startswith(author) and "Featherstone" in row.source]
    return found


def algorithms(quick: bool) -> Outcome:
    """Count the three recursions in link and in absolute coordinates (Featherstone section 8.4, table 8-6)."""
    inverse, matrix = _row(INVERSE, "Featherstone"), _row(MASS_MATRIX, "Featherstone")
    composite, articulated = _row(FORWARD, "composite body"), _row(FORWARD, "articulated body")
    own = {
        "Newton-Euler": (inverse, fit("inverse_dynamics")), "mass matrix": (matrix, fit("mass_matrix")),
        "forward dynamics by composite bodies": (composite, fit("forward_dynamics, composite body")),
        "articulated bodies": (articulated, fit("forward_dynamics, articulated body")),
    }  # fmt: skip
    by_mass_matrix, by_articulated = "forward_dynamics, composite body", "forward_dynamics, articulated body"
    names = ("inverse_dynamics", "mass_matrix", by_articulated, by_mass_matrix)
    absolute = {name: fit(f"{name}, absolute") for name in names}
    link, body = fit(by_articulated), fit(by_mass_matrix)
    far = 10_000
    per_joint = [
        MA(*(b - a for a, b in zip(f(far), f(far + 1), strict=True))) for f in (link, absolute[by_articulated])
    ]
    dearer = sum(absolute["inverse_dynamics"](far)) / sum(fit("inverse_dynamics")(far))
    least = min(float(sum(absolute[by_mass_matrix](n)) / sum(link(n))) for n in range(3, 101))
    facts = [
        *(Fact(f"{name}, n = 6: kinetree takes no more", str(book(6)), str(ours(6)),
               holds=ours(6)[0] <= book(6)[0] and ours(6)[1] <= book(6)[1], source="Featherstone Table 8-6")
          for name, (book, ours) in own.items()),
        *common(
            "spatial arithmetic, algorithms",
            cheaper_matrix=first_cheaper(absolute["mass_matrix"], fit("mass_matrix"), sum),
            dearer_inverse=round(float(dearer), 2), absolute=per_joint[1], dearer_forward=round(least, 2),
            saved=round(100.0 * float(1 - sum(per_joint[0]) / sum(per_joint[1])), 1),
            cheaper_articulated=first_cheaper(articulated, composite, lambda c: c[0]),
            cheaper_articulated_ours=first_cheaper(link, body, lambda c: c[0]),
            forward_over_inverse=round(float(articulated(far)[0] / inverse(far)[0]), 2),
            forward_over_inverse_ours=round(float(link(far)[0] / fit("inverse_dynamics")(far)[0]), 2),
            time=seconds(inverse(6), 10), time_ours=seconds(fit("inverse_dynamics")(6), 12),
        ),
    ]  # fmt: skip
    sizes = list(range(3, 31))
    shown = {
        "(a) inverse dynamics": ("inverse_dynamics", inverse),
        "(b) mass matrix": ("mass_matrix", matrix),
        "(c) forward dynamics, articulated body": ("forward_dynamics, articulated body", articulated),
        "(d) forward dynamics, composite body": ("forward_dynamics, composite body", composite),
    }
    drawings: list[list[Curve]] = []
    table: dict[str, Any] = {"n": [*sizes] * len(shown), "algorithm": [t[4:] for t in shown for _ in sizes]}
    headings = ("Featherstone, Table 8-6", "link coordinates", "absolute coordinates")
    columns: dict[str, list[float]] = {heading: [] for heading in headings}
    for name, book in shown.values():
        curves = []
        ways: tuple[Cost, ...] = (book, fit(name), absolute[name])
        for column, of in zip(columns, ways, strict=True):
            values = [float(sum(of(n))) for n in sizes]
            columns[column] += values
            curves.append(Curve(column, [1e-3 * y for y in values], sizes))
        drawings.append(curves)
    caption = (
        "Operations in link and in absolute coordinates, counted on general chains, and by Featherstone's Table 8-6."
    )
    grid = PlotGrid(list(shown), drawings, "joints n", "thousand M + A", caption)
    return Outcome(facts, {"operations": table | columns}, {}, {"operations": grid})


ASSUMED = (
    "Counts are of kinetree's own code over variables; constants of a chain count as such in the algorithms and in "
    "appendix A, not in tables 8-3 to 8-5.",
    "An addition is a quarter of a multiplication where one number stands for both, as in Featherstone.",
)
