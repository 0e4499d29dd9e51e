"""Operation counts that the sources publish, as data and as functions of the number of joint variables.

M counts multiplications and divisions, A additions and subtractions; sines and cosines
are not counted.  000 is "Dynamics of Tree-Type Robotic Systems", 001 the paper on the
DeNOC matrices, 002 "Robot Dynamics Algorithms", 004 Khalil and Dombre's chapter 10.
Misprints are corrected, and each correction says so; "erratum 27" is number 27 of the
digest of 000's chapters 2 to 7, "erratum 40 (A)" number 40 of that of its appendices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

Number = int | Fraction


class MA(NamedTuple):
    """Multiplications (with divisions) and additions (with subtractions)."""

    multiplications: Number
    additions: Number

    def __str__(self) -> str:
        return f"{_plain(self.multiplications)}M {_plain(self.additions)}A"


def _plain(x: Number) -> str:
    """A whole number, or a whole number and a fraction."""
    x = Fraction(x)
    if x.denominator == 1:
        return str(x.numerator)
    whole, rest = divmod(abs(x), 1)
    sign = "-" if x < 0 else ""
    return f"{sign}{whole} {rest}" if whole else f"{sign}{rest}"


@dataclass(frozen=True)
class Formula:
    """A polynomial in n = n1 + n2 + n3, plus terms in the variables of 1-, 2- and 3-DOF joints by themselves.

    Attributes
    ----------
    powers : tuple
        Coefficients of 1, n, n^2, ...
    by_freedom : tuple
        Coefficients of n1, n2, n3.
    """

    powers: tuple[Number, ...] = ()
    by_freedom: tuple[Number, Number, Number] = (0, 0, 0)

    def __call__(self, n1: int, n2: int = 0, n3: int = 0) -> Number:
        """The value, whole wherever it is."""
        n = n1 + n2 + n3
        value = sum((Fraction(p) * n**k for k, p in enumerate(self.powers)), Fraction(0))
        value += sum(Fraction(p) * x for p, x in zip(self.by_freedom, (n1, n2, n3), strict=True))
        return value.numerator if value.denominator == 1 else value

    def __add__(self, other: Formula) -> Formula:
        length = max(len(self.powers), len(other.powers))
        a, b = (list(f.powers) + [0] * (length - len(f.powers)) for f in (self, other))
        x, y, z = (p + q for p, q in zip(self.by_freedom, other.by_freedom, strict=True))
        return Formula(tuple(p + q for p, q in zip(a, b, strict=True)), (x, y, z))

    def __str__(self) -> str:
        terms = [(p, f"n^{k}" if k > 1 else "n") for k, p in reversed(list(enumerate(self.powers))) if k and p]
        terms += [(p, f"n{k}") for k, p in enumerate(self.by_freedom, 1) if p]
        if self.powers and self.powers[0]:
            terms.append((self.powers[0], ""))
        text = ""
        for p, name in terms:
            sign = "-" if p < 0 else "+"
            size = _plain(abs(Fraction(p)))
            if name:
                size = "" if size == "1" else (f"{size} " if "/" in size or len(name) > 1 else size)
            text += f" {sign} {size}{name}" if text else f"{'-' if p < 0 else ''}{size}{name}"
        return text or "0"


def _powers(*coefficients: Number | str) -> Formula:
    """From the highest power down, as formulas are written."""
    return Formula(tuple(Fraction(c) for c in reversed(coefficients)))


def _by_freedom(n1: Number | str, n2: Number | str, n3: Number | str, constant: int) -> Formula:
    return Formula((constant,), (Fraction(n1), Fraction(n2), Fraction(n3)))


@dataclass(frozen=True)
class Published:
    """One row of a table.

    Attributes
    ----------
    algorithm : str
        ``inverse_dynamics``, ``forward_dynamics``, ``mass_matrix`` or ``floating_base_inverse_dynamics``.
    floating : bool
        Whether for a floating base, whose six variables are not part of n.
    author : str
    source : str
        Where it is printed.
    multiplications, additions : Formula
    without_bias : bool
        Whether forward dynamics is counted with the bias force (one inverse dynamics) already known.
    note : str
        Corrections.
    """

    algorithm: str
    author: str
    source: str
    multiplications: Formula
    additions: Formula
    floating: bool = False
    without_bias: bool = False
    note: str = ""

    def __call__(self, n1: int, n2: int = 0, n3: int = 0) -> MA:
        """The count for so many variables of 1-, 2- and 3-DOF joints."""
        return MA(self.multiplications(n1, n2, n3), self.additions(n1, n2, n3))


def _row(algorithm: str, author: str, source: str, m: Formula, a: Formula, **more: object) -> Published:
    return Published(algorithm, author, source, m, a, **more)  # type: ignore[arg-type]


_BALAFOUTIS = (_powers(93, -69), _powers(81, -65))
_SAHA = (_powers(120, -44), _powers(97, -55))
_FEATHERSTONE = (_powers(130, -68), _powers(101, -56))
_CRBA_FEATHERSTONE = (_powers(10, 31, -41), _powers(6, 40, -46))
_CRBA_BALAFOUTIS = (_powers("23/2", 11, -42), _powers("11/2", "65/2", -54))
_CRBA_BHANGALE = (_powers(11, 42, -18), _powers(7, 44, -53))
_BASE = (_powers(60), _powers(66))
_ERRATUM_37 = "n^2 where n^3 is printed, and 11 1/2 for '10 3/2' (erratum 37)"

INVERSE = (
    _row(
        "inverse_dynamics", "tree-type systems (000)", "000 section 6.3, table 6.11",
        _by_freedom(94, 58, 46, -81), _by_freedom(82, 48, "110/3", -75),
        note="table 6.11 has 497A for the biped, the formula 501A (erratum 28); its column of the industrial robot "
        "repeats the biped's (erratum 31)",
    ),
    _row("inverse_dynamics", "Balafoutis and Patel 1991", "000 table 6.11, 001 table 1 (as of 1988)", *_BALAFOUTIS,
         note="001 table 1 prints 421M for 421A"),
    _row("inverse_dynamics", "Angeles et al. 1989", "000 table 6.11, 001 table 1", _powers(105, -109),
         _powers(90, -105), note="table 6.11 has 957A for the biped, the formula 975A (erratum 29)"),
    _row("inverse_dynamics", "Khalil et al. 1986", "001 table 1", _powers(105, -92), _powers(94, -86)),
    _row("inverse_dynamics", "Saha 1999", "000 table 6.11, 001 table 1", *_SAHA),
    _row("inverse_dynamics", "Featherstone 1987", "002 table 8-6, 000 table 6.11", *_FEATHERSTONE),
    _row("inverse_dynamics", "Walker and Orin 1982", "001 table 1", _powers(137, -22), _powers(101, -11)),
    _row("inverse_dynamics", "Luh et al. 1980", "001 table 1", _powers(150, -48), _powers(131, 48)),
    _row("inverse_dynamics", "Hollerbach 1980", "001 table 1", _powers(412, -277), _powers(320, -201)),
)  # fmt: skip
"""Fixed base, inverse dynamics: tables 6.11 of 000, 1 of 001, 8-6 of 002."""

FORWARD = (
    _row(
        "forward_dynamics", "tree-type systems (000)", "000 section 6.3, table 6.12",
        _by_freedom(135, 99, 87, -116), _by_freedom(131, 92, 79, -123), without_bias=True,
        note="79 n3 where 79 2/3 is printed: 237/3, as in the printed 981A (erratum 27); 424M for 444M (erratum 30)",
    ),
    _row("forward_dynamics", "Mohan and Saha 2007", "000 table 6.12, 001 table 2", _powers(173, -128),
         _powers(150, -133), without_bias=True),
    _row("forward_dynamics", "Saha 2003", "000 table 6.12, 001 table 2", _powers(191, -284), _powers(187, -325),
         without_bias=True),
    _row("forward_dynamics", "Featherstone 1983", "000 table 6.12, 001 table 2", _powers(199, -198), _powers(174, -173),
         without_bias=True),
    _row("forward_dynamics", "Valasek", "001 table 2", _powers(226, -343), _powers(206, -345), without_bias=True),
    _row("forward_dynamics", "Brandl et al.", "001 table 2", _powers(250, -222), _powers(220, -198), without_bias=True),
    _row("forward_dynamics", "Lilly and Orin 1991", "000 table 6.12", _powers("1/6", "23/2", "121/3", -51),
         _powers("1/6", 7, "305/6", -51), without_bias=True, note=_ERRATUM_37),
    _row("forward_dynamics", "Walker and Orin, by Featherstone", "001 table 2", _powers("1/6", "23/2", "115/3", -47),
         _powers("1/6", 7, "233/6", -46), without_bias=True),
    _row("forward_dynamics", "composite body, Featherstone 1987", "002 table 8-6",
         _powers("1/6", "23/2", "481/3", -109), _powers("1/6", 7, "833/6", -102)),
    _row("forward_dynamics", "articulated body, Featherstone 1987", "002 table 8-6", _powers(300, -267),
         _powers(279, -259)),
)  # fmt: skip
"""Fixed base, forward dynamics: tables 6.12 of 000, 2 of 001, 8-6 of 002."""

MASS_MATRIX = (
    _row("mass_matrix", "Featherstone 1987", "002 table 8-6, 000 table 7.6", *_CRBA_FEATHERSTONE),
    _row("mass_matrix", "Balafoutis and Patel 1991", "000 table 7.6", *_CRBA_BALAFOUTIS, note=_ERRATUM_37),
    _row("mass_matrix", "Bhangale et al. 2004", "000 table 7.6", *_CRBA_BHANGALE),
)  # fmt: skip
"""The joint-space inertia matrix by composite bodies."""

_PLUS = "inverse dynamics, mass matrix and base together; the printed totals of this row do not follow from its formula"

FLOATING_INVERSE = (
    _row(
        "floating_base_inverse_dynamics", "tree-type systems (000)", "000 section 7.5, table 7.6",
        _by_freedom(164, 113, 96, 60), _by_freedom(156, 101, "248/3", 66), floating=True,
        note="101 n2 where 113 n2 is printed: 202/2, table 7.5 (erratum 32)",
    ),
    *(
        _row("floating_base_inverse_dynamics", author, "000 table 7.6", m[0] + crba[0] + _BASE[0],
             m[1] + crba[1] + _BASE[1], floating=True, note=note)
        for author, m, crba, note in (
            ("Balafoutis and Patel 1991", _BALAFOUTIS, _CRBA_BALAFOUTIS, f"{_PLUS}; {_ERRATUM_37}"),
            ("Featherstone 1987", _FEATHERSTONE, _CRBA_FEATHERSTONE, _PLUS),
            ("Saha 1999, Bhangale et al. 2004", _SAHA, _CRBA_BHANGALE, _PLUS),
        )
    ),
)  # fmt: skip
"""Floating base, inverse dynamics: table 7.6 of 000."""

FLOATING_FORWARD = (
    _row(
        "forward_dynamics", "tree-type systems (000)", "000 section 7.5, table 7.7",
        _by_freedom(209, "279/2", "349/3", 60), _by_freedom(201, 130, "319/3", 72), floating=True,
        note="72A of the base where table 7.7 has 66A (erratum 34); 1734M where it has 1430M (erratum 33)",
    ),
    _row("forward_dynamics", "McMillan and Orin 1998, O(n)", "000 table 7.7", _powers(224, 158), _powers(205, 131),
         floating=True),
    _row("forward_dynamics", "Stejskal and Valasek 1996", "000 table 7.7", _powers(226, 158), _powers(206, 131),
         floating=True, note="the base's count is assumed to be McMillan and Orin's"),
    _row("forward_dynamics", "McMillan and Orin 1998, O(n^3)", "000 table 7.7", _powers("1/6", "35/2", "526/3", 137),
         _powers("1/6", 13, "965/6", 91), floating=True,
         note=f"{_ERRATUM_37}; 5081M is printed for n = 12, the formula gives 5049M"),
)  # fmt: skip
"""Floating base, forward dynamics: table 7.7 of 000."""

ALL = INVERSE + FORWARD + MASS_MATRIX + FLOATING_INVERSE + FLOATING_FORWARD


def rows(floating: bool = False) -> list[Published]:
    """What is published for a fixed or a floating base."""
    return [r for r in ALL if r.floating == floating]


# ------------------------------------------------------------------ what the formulas are made of


NOTHING = MA(0, 0)


@dataclass(frozen=True)
class Step:
    """A step of a recursion, for the first freedom of a joint and for each further one (None if not printed)."""

    what: str
    first: MA
    further: MA | None = NOTHING


@dataclass(frozen=True)
class StepTable:
    """The steps of a recursion, link by link, with the printed totals."""

    source: str
    steps: tuple[Step, ...]
    first: MA
    further: MA
    base: MA = NOTHING
    note: str = ""

    def per_joint(self, freedoms: int) -> MA:
        """Count of a link on a joint with so many freedoms (tables 6.10 and 7.5 of 000)."""
        (m, a), (dm, da) = self.first, self.further
        return MA(m + dm * (freedoms - 1), a + da * (freedoms - 1))


def total(counts: Sequence[MA]) -> MA:
    """The sum."""
    return MA(sum(c.multiplications for c in counts), sum(c.additions for c in counts))


TABLE_6_8 = StepTable(
    "000 table 6.8: inverse dynamics, fixed base",
    (
        Step("velocities", MA(8, 5), MA(4, 3)),
        Step("angular accelerations", MA(10, 7), MA(6, 5)),
        Step("accelerations of origins", MA(17, 13), MA(4, 2)),
        Step("the matrix W", MA(6, 9)),
        Step("Euler's part of the moment", MA(15, 15)),
        Step("moment", MA(6, 6)),
        Step("force", MA(12, 9)),
        Step("moment to the parent", MA(20, 12), MA(4, 2)),
        Step("sum on the parent; force to the parent", MA(0, 6), MA(4, 2)),
    ),
    MA(94, 82), MA(22, 14), note="a link on the fixed base needs 13M 7A only (L2014)",
)  # fmt: skip

TABLE_6_9 = StepTable(
    "000 table 6.9: forward dynamics, fixed base, without the bias force",
    (
        Step("Psi, top", MA(2, 0), MA(1, 0)),
        Step("Psi, bottom", MA(3, 0), MA(3, 0)),
        Step("phi hat", MA(0, 1), MA(0, 1)),
        Step("phi tilde", MA(1, 0), MA(1, 0)),
        Step("articulated inertia less the joint, I", MA(3, 3), MA(1, 1)),
        Step("the same, G", MA(6, 6), MA(6, 6)),
        Step("the same, F", MA(6, 6), MA(3, 3)),
        Step("eta, top", MA(2, 3), MA(1, 2)),
        Step("eta, bottom", MA(3, 3), MA(3, 3)),
        Step("articulated inertia to the parent", MA(64, 63), MA(24, 23)),
        Step("sum on the parent", MA(0, 15)),
        Step("eta to the parent", MA(20, 12), MA(8, 4)),
        Step("mu to the child", MA(20, 12), MA(8, 4)),
        Step("joint acceleration", MA(5, 6), MA(4, 5)),
        Step("mu", MA(0, 1), MA(0, 1)),
    ),
    MA(135, 131), MA(63, 53), note="the last link needs 19M 8A only (L2065)",
)  # fmt: skip

TABLE_7_3 = StepTable(
    "000 table 7.3: inverse dynamics, floating base",
    (
        Step("twists", MA(8, 5), MA(4, 3)),
        Step("their rates", MA(27, 20), MA(10, 7)),
        Step("way to the base", MA(8, 7), None),
        Step("inertia wrenches, W included", MA(39, 45)),
        Step("kappa tilde", MA(6, 6), None),
        Step("wrenches to the parent", MA(20, 18), None),
        Step("composite inertia to the parent", MA(34, 40), None),
        Step("base acceleration to the child", MA(16, 8), None),
        Step("joint force", MA(6, 7), None),
    ),
    MA(164, 156), MA(62, 46), MA(60, 66),
    note="the printed row of W, 6M 9A, is already in the 39M 45A of the next one (erratum 35)",
)  # fmt: skip

TABLE_7_4 = StepTable(
    "000 table 7.4: forward dynamics, floating base",
    (
        Step("twists, their rates, inertia wrenches", MA(74, 66), MA(14, 10)),
        Step("Psi", MA(5, 0), None),
        Step("phi hat", MA(0, 2), None),
        Step("phi tilde", MA(1, 0), None),
        Step("articulated inertia less the joint", MA(18, 18), None),
        Step("eta", MA(5, 18), None),
        Step("articulated inertia to the parent", MA(64, 78), None),
        Step("eta to the parent", MA(20, 12), None),
        Step("mu to the child", MA(20, 12), None),
        Step("joint acceleration", MA(5, 6), None),
        Step("mu", MA(0, 1), None),
    ),
    MA(209, 201), MA(70, 59), MA(60, 72),
    note="the printed rows sum to 212M 213A, not to the printed 209M 201A; the fifth should be 15M 15A, as in "
    "table 6.9, the rest is unclear (erratum 36)",
)  # fmt: skip

BUILDING_BLOCKS = {
    "rotate a vector between neighbours": MA(8, 4),
    "rotate a vector about one axis": MA(4, 2),
    "rotate a general matrix between neighbours": MA(26, 24),
    "rotate a symmetric matrix between neighbours": MA(20, 15),
    "wrench to the parent": MA(20, 12),
    "twist to the child": MA(20, 12),
    "W": MA(6, 9),
    "acceleration of the origin, W known": MA(17, 13),
    "Euler's part of the moment, W known": MA(15, 15),
    "moment": MA(21, 21),
    "composite inertia to the parent": MA(34, 31),
    "composite inertia to the parent, with the sum": MA(34, 40),
    "articulated inertia to the parent": MA(64, 63),
    "articulated inertia to the parent, with the sum": MA(64, 78),
}
"""Appendix A of 000, for a revolute joint and general DH parameters (the last: erratum 40 (A), 60M 77A is printed)."""


class Storage(NamedTuple):
    """Numbers that a spatial quantity takes as a matrix and in compact form."""

    matrix: int
    compact: int


TABLE_8_2 = {
    "vector": Storage(6, 6),
    "transform": Storage(36, 12),
    "articulated-body inertia": Storage(36, 27),
    "rigid-body inertia": Storage(36, 13),
}
"""002 table 8-2: storage of spatial quantities."""

TABLE_8_3 = {
    "transform and transform": MA(36, 27),
    "transform and vector": MA(24, 18),
    "transform and articulated-body inertia": MA(216, 162),
    "transform and rigid-body inertia": MA(84, 69),
}
"""002 table 8-3: general transforms in compact form."""

TABLE_8_4 = {
    "transform and articulated-body inertia": MA(177, 132),
    "transform and rigid-body inertia": MA(69, 57),
}
"""002 table 8-4: the same, symmetry used."""

TABLE_8_5 = {
    "screw and transform": MA(15, 9),
    "screw and vector": MA(10, 6),
    "screw and articulated-body inertia": MA(70, 64),
    "screw and articulated-body inertia, symmetry used": MA(54, 50),
    "screw and rigid-body inertia": MA(31, 25),
    "screw and rigid-body inertia, symmetry used": MA(23, 20),
    "screw and rigid-body inertia, partial results used": MA(19, 18),
}
"""002 table 8-5, and L2369: screws along a coordinate axis, of which a DH transform has two."""

TABLE_10_3 = {
    "standard parameters": MA(430, 420),
    "base parameters": MA(304, 326),
    "standard parameters, symmetric links": MA(295, 245),
    "base parameters, symmetric links": MA(243, 118),
}
"""004 table 10.3: inverse dynamics of the Acma SR400."""
