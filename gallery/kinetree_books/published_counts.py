"""Operation counts that the sources publish, as data and as functions of the number of joint variables.

The numbers are in ``published_counts.yaml``, which is read when it is first needed.

M counts multiplications and divisions, A additions and subtractions; sines and cosines are not counted.
``docs/references.md`` lists the texts. Misprints are corrected, and each correction is noted; "erratum 27" is number 27
of the digest of Shah's chapters 2 to 7, "erratum 40 (A)" number 40 of that of its appendices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml

from kinetree.errors import explain_public

__all__ = ["MA", "Formula", "Published", "RecursionStep", "StepTable", "Storage", "rows", "total"]

Number = int | Fraction


class MA(NamedTuple):
    """Multiplications (with divisions) and additions (with subtractions)."""

    multiplications: Number
    additions: Number

    def __str__(self) -> str:
        return f"{_plain(self.multiplications)}M {_plain(self.additions)}A"


def _plain(x: Number) -> str:
    """Return an integer, or an integer and a fraction."""
    x = Fraction(x)
    if x.denominator == 1:
        return str(x.numerator)
    whole, rest = divmod(abs(x), 1)
    sign = "-" if x < 0 else ""
    return f"{sign}{whole} {rest}" if whole else f"{sign}{rest}"


@dataclass(frozen=True)
class Formula:
    """A polynomial in n = n1 + n2 + n3, plus separate terms in the variables of 1-, 2- and 3-DOF joints."""

    powers: tuple[Number, ...] = ()
    """Coefficients of 1, n, n^2, ..."""
    by_freedom: tuple[Number, Number, Number] = (0, 0, 0)
    """Coefficients of n1, n2, n3."""

    def __call__(self, n1: int, n2: int = 0, n3: int = 0) -> Number:
        """Return the value, as an int if it is an integer."""
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


@dataclass(frozen=True)
class Published:
    """One row of a table."""

    algorithm: str
    """``inverse_dynamics``, ``forward_dynamics``, ``mass_matrix`` or ``floating_base_inverse_dynamics``."""
    author: str
    source: str
    """Where it is printed."""
    multiplications: Formula
    additions: Formula
    floating: bool = False
    """Whether it is for a floating base, whose six variables are not counted in n."""
    without_bias: bool = False
    """Whether forward dynamics is counted with the bias force (one inverse dynamics) already known."""
    note: str = ""
    """Corrections."""

    def __call__(self, n1: int, n2: int = 0, n3: int = 0) -> MA:
        """Return the count for these numbers of variables of 1-, 2- and 3-DOF joints."""
        return MA(self.multiplications(n1, n2, n3), self.additions(n1, n2, n3))

    def __str__(self) -> str:
        what = self.algorithm.replace("_", " ") + (", floating base" if self.floating else "")
        bias = ", the bias force being known" if self.without_bias else ""
        return f"{self.author}, {what}: ({self.multiplications}) M, ({self.additions}) A{bias} ({self.source})"


NOTHING = MA(0, 0)


@dataclass(frozen=True)
class RecursionStep:
    """A step of a recursion, for the first freedom of a joint and for each further one (None if not printed)."""

    what: str
    first: MA
    further: MA | None = NOTHING


@dataclass(frozen=True)
class StepTable:
    """The steps of a recursion, link by link, with the printed totals."""

    source: str
    steps: tuple[RecursionStep, ...]
    first: MA
    further: MA
    base: MA = NOTHING
    note: str = ""

    def per_joint(self, freedoms: int) -> MA:
        """Return the count for a link on a joint with this number of freedoms (tables 6.10 and 7.5 of Shah)."""
        (m, a), (dm, da) = self.first, self.further
        return MA(m + dm * (freedoms - 1), a + da * (freedoms - 1))


class Storage(NamedTuple):
    """How many numbers a spatial quantity takes as a matrix and in compact form."""

    matrix: int
    compact: int


def total(counts: Sequence[MA]) -> MA:
    """Return the sum."""
    return MA(sum(c.multiplications for c in counts), sum(c.additions for c in counts))


def rows(floating: bool = False) -> list[Published]:
    """Return the published rows for a fixed or a floating base."""
    return [row for row in _tables()["ALL"] if row.floating == floating]


# ------------------------------------------------------------------ the tables, read on first use

INVERSE: tuple[Published, ...]
"""Fixed base, inverse dynamics: tables 6.11 of Shah, 1 of Saha, 8-6 of Featherstone."""
FORWARD: tuple[Published, ...]
"""Fixed base, forward dynamics: tables 6.12 of Shah, 2 of Saha, 8-6 of Featherstone."""
MASS_MATRIX: tuple[Published, ...]
"""The joint-space inertia matrix by composite bodies."""
FLOATING_INVERSE: tuple[Published, ...]
"""Floating base, inverse dynamics: table 7.6 of Shah."""
FLOATING_FORWARD: tuple[Published, ...]
"""Floating base, forward dynamics: table 7.7 of Shah."""
ALL: tuple[Published, ...]
"""All of these rows."""

TABLE_6_8: StepTable
TABLE_6_9: StepTable
TABLE_7_3: StepTable
TABLE_7_4: StepTable

BUILDING_BLOCKS: dict[str, MA]
"""Appendix A of Shah, for a revolute joint and general DH parameters (the last: erratum 40 (A), 60M 77A is printed)."""
TABLE_8_2: dict[str, Storage]
"""Featherstone table 8-2: storage of spatial quantities."""
TABLE_8_3: dict[str, MA]
"""Featherstone table 8-3: general transforms in compact form."""
TABLE_8_4: dict[str, MA]
"""Featherstone table 8-4: the same, symmetry used."""
TABLE_8_5: dict[str, MA]
"""Featherstone table 8-5, and section 8.3.4: screws along a coordinate axis, of which a DH transform has two."""
TABLE_10_3: dict[str, MA]
"""Khalil table 10.3: inverse dynamics of the Acma SR400."""


def __getattr__(name: str) -> Any:
    """Return a table of the file ``published_counts.yaml``."""
    if not name.isupper() or name not in _tables():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _tables()[name]


def __dir__() -> list[str]:
    """Return the public names, including those of the tables."""
    return sorted({*__all__, *_tables()})


@cache
def _tables() -> dict[str, Any]:
    """Return the published counts, read from their file."""
    text = resources.files(__package__).joinpath("published_counts.yaml").read_text(encoding="utf-8")
    read = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # the parser in C is ten times faster
    formulas = {name: tuple(_row(row) for row in rows) for name, rows in read["formulas"].items()}
    return {
        **formulas,
        "ALL": tuple(row for rows in formulas.values() for row in rows),
        **{name: _steps(table) for name, table in read["steps"].items()},
        **{name: {what: MA(*count) for what, count in table.items()} for name, table in read["counts"].items()},
        **{name: {what: Storage(*size) for what, size in table.items()} for name, table in read["storage"].items()},
    }


def _row(read: dict[str, Any]) -> Published:
    formulas = {key: _formula(read[key]) for key in ("multiplications", "additions")}
    return Published(**(read | formulas))


def _formula(read: list[int | str] | dict[str, int | str]) -> Formula:
    """Return a polynomial, or terms by freedom and a constant; fractions are given as text."""
    if isinstance(read, list):
        return Formula(tuple(Fraction(c) for c in reversed(read)))
    n1, n2, n3 = (Fraction(read[key]) for key in ("n1", "n2", "n3"))
    return Formula((int(read["constant"]),), (n1, n2, n3))


def _steps(read: dict[str, Any]) -> StepTable:
    steps = tuple(RecursionStep(what, MA(*first), further and MA(*further)) for what, first, further in read["steps"])
    first, further, base = (MA(*read.get(key, NOTHING)) for key in ("first", "further", "base"))
    return StepTable(read["source"], steps, first, further, base, read.get("note", ""))


explain_public(__name__)
