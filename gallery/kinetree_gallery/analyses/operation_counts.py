"""Operation counts against the number of joint variables: figures 6.15, 6.16, 7.30 and 7.31 of Shah.

M counts multiplications and divisions, A additions and subtractions.  Curves are the published
formulas (misprints corrected, see :mod:`kinetree_books.published_counts`); circles are counts of kinetree's own
code on chains in which no number is zero unless it must be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kinetree.model.joints import Free
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.robot.builder import Builder
from kinetree.robot.robot import Robot
from kinetree.studies.facts import Fact
from kinetree.studies.plots import Curve, PlotGrid
from kinetree.studies.study import Outcome
from kinetree_books.cost_formulas import CHAINS, Variables, cost
from kinetree_books.published_counts import (
    FLOATING_FORWARD,
    FLOATING_INVERSE,
    FORWARD,
    INVERSE,
    MA,
    TABLE_6_8,
    TABLE_6_9,
    TABLE_7_3,
    TABLE_7_4,
    Published,
    StepTable,
    total,
)

BOOK = "Shah, Saha, Dutt 2013"

FORMS: dict[str, tuple[str, ...]] = {
    "(a) 1-DOF joints": ("revolute",),
    "(b) 2-DOF joints": ("universal",),
    "(c) 3-DOF joints": ("spherical",),
    "(d) as many of each": ("revolute", "universal", "spherical"),
}

LARGEST = 36

HIGHEST = 24.0
"""Upper end of the pictures, in thousands; curves with higher costs leave them at the top."""

GRIPPER, INDUSTRIAL, BIPED = Variables(4), Variables(6), Variables(2, 4, 6)

QUADRUPED, HEXAPOD = Variables(4, 8), Variables(12)


class Printed(NamedTuple):
    """A number in a table: its author, its subject, the printed value, and the reason if it is wrong."""

    author: str
    system: str
    variables: Variables
    text: str
    reason: str = ""


def _row(author: str, texts: Sequence[str], reasons: Sequence[str] = ("", "", "")) -> list[Printed]:
    systems = (("gripper", GRIPPER), ("industrial robot", INDUSTRIAL), ("biped", BIPED))
    return [Printed(author, *system, text, why) for system, text, why in zip(systems, texts, reasons, strict=True)]


REPEATED = "the whole column repeats the biped's (erratum 31)"

TABLE_6_11 = [
    *_row(BOOK, ("295M 253A", "615M 497A", "615M 497A"),
          ("", REPEATED, "36 2/3 times 6 is 220, which makes 501A (erratum 28)")),
    *_row("Balafoutis and Patel 1991", ("303M 259A", "1047M 907A", "1047M 907A"), ("", REPEATED, "")),
    *_row("Angeles et al. 1989", ("311M 255A", "1151M 957A", "1151M 957A"),
          ("", REPEATED, "digits exchanged (erratum 29)")),
    *_row("Saha 1999", ("436M 333A", "1396M 1109A", "1396M 1109A"), ("", REPEATED, "")),
    *_row("Featherstone 1987", ("452M 348A", "1492M 1156A", "1492M 1156A"), ("", REPEATED, "")),
]  # fmt: skip

TABLE_6_12 = [
    *_row(BOOK, ("444M 401A", "1072M 981A", "1072M 981A"), ("135 times 4 less 116 is 424 (erratum 30)", REPEATED, "")),
    *_row("Mohan and Saha 2007", ("564M 467A", "1948M 1667A", "1948M 1667A"), ("", REPEATED, "")),
    *_row("Saha 2003", ("480M 423A", "2008M 1919A", "2008M 1919A"), ("", REPEATED, "")),
    *_row("Featherstone 1983", ("598M 523A", "2190M 1915A", "2190M 1915A"), ("", REPEATED, "")),
    *_row("Lilly and Orin 1991", ("305M 275A", "2377M 1855A", "2377M 1855A"), ("", REPEATED, "")),
]

TABLE_1_OF_SAHA = [
    Printed(author, "six joints", INDUSTRIAL, text)
    for author, text in {
        "Hollerbach 1980": "2195M 1719A", "Luh et al. 1980": "852M 834A", "Walker and Orin 1982": "800M 595A",
        "Saha 1999": "676M 527A", "Khalil et al. 1986": "538M 478A", "Angeles et al. 1989": "521M 435A",
        "Balafoutis and Patel 1991": "489M 421A",
    }.items()
]  # fmt: skip


class Emended(NamedTuple):
    """A printed number that follows from a formula with one number changed: what changes, and by how many operations.

    This is the experiment behind a reason that says where a misprint comes from.
    """

    author: str
    system: str
    what: str
    change: tuple[int, int]
    """Additional multiplications and additions, compared with the correct formula."""
    left: str = ""
    """The part that remains unexplained."""


BASE_216 = "the base took 216M 190A"

OTHER_BASE = "the formula beside it with a base of 216M 190A instead of 60M 66A, see below"

TWICE = "113 n2 additions are printed where 202/2 = 101 belong (erratum 32)"

TABLE_7_6 = [
    Printed(BOOK, "biped", BIPED, "1416M 1322A", f"{TWICE}; the number itself is that of 112 n2, see below"),
    Printed(BOOK, "quadruped", QUADRUPED, "1620M 1594A", f"{TWICE}; the number is that of 113 n2, see below"),
    Printed(BOOK, "hexapod", HEXAPOD, "2028M 1938A"),
    Printed("Balafoutis and Patel 1991", "all three", HEXAPOD, "3011M 2222A", f"but for 2M and 3A it is {OTHER_BASE}"),
    Printed("Featherstone 1987", "all three", HEXAPOD, "3479M 2644A", f"it is {OTHER_BASE}"),
    Printed("Saha 1999, Bhangale et al. 2004", "all three", HEXAPOD, "3682M 2782A", f"it is {OTHER_BASE}"),
]

OF_BASE = (216 - 60, 190 - 66)

EMENDED_7_6 = [
    Emended(BOOK, "biped", "there were 112 n2 additions", (0, (112 - 101) * 4)),
    Emended(BOOK, "quadruped", "there were 113 n2 additions", (0, (113 - 101) * 8)),
    Emended("Featherstone 1987", "all three", BASE_216, OF_BASE),
    Emended("Saha 1999, Bhangale et al. 2004", "all three", BASE_216, OF_BASE),
    Emended("Balafoutis and Patel 1991", "all three", BASE_216, OF_BASE,
            "2M and 3A of 3011M and 2222A remain, which no change of one number of the formula explains"),
]  # fmt: skip

BASE_66 = "the table has 66A for the base, the steps of Table 7.4 and the formula 72A (erratum 34)"

TABLE_7_7 = [
    Printed(BOOK, "biped", BIPED, "1430M 1624A", f"1430 stands for 1734 (erratum 33); {BASE_66}; 2A remain, see below"),
    Printed(BOOK, "quadruped", QUADRUPED, "2008M 1910A", f"208 n1 for 209 n1 makes 4M less, see below; {BASE_66}"),
    Printed(BOOK, "hexapod", HEXAPOD, "2568M 2478A", BASE_66),
    Printed("McMillan and Orin 1998, O(n)", "all three", HEXAPOD, "2846M 2591A"),
    Printed("Stejskal and Valasek 1996", "all three", HEXAPOD, "2870M 2603A"),
    Printed("McMillan and Orin 1998, O(n^3)", "all three", HEXAPOD, "5081M 4181A",
            "the formula gives 5049M; 5081M is what it gives with 178 n for 175 1/3 n, see below"),
]  # fmt: skip

EMENDED_7_7 = [
    Emended(BOOK, "biped", "the base took 66A", (0, -6), "304M remain, the misprint of erratum 33, and 2A: 1 n1 less "
            "would be those 2A, but the quadruped and the hexapod, with more of n1, have the formula's"),
    Emended(BOOK, "quadruped", "there were 208 n1 multiplications and a base of 66A", (-4, -6)),
    Emended(BOOK, "hexapod", "the base took 66A", (0, -6)),
    Emended("McMillan and Orin 1998, O(n^3)", "all three", "there were 178 n multiplications", (32, 0)),
]  # fmt: skip


def mixed_chain(kinds: Sequence[str], floating: bool = False) -> Robot:
    """Make a chain of these joints in which no number is zero unless it must be, on the ground or on a free body."""
    inertia = (0.8125, 0.9375, 0.6875, 0.03125, 0.046875, 0.078125)
    link = MassProperties.of(2.0, (0.0625, 0.15625, 0.21875), inertia, about="origin")
    place = Pose.of(rpy=(0.75, 0.0, 0.0)) @ Pose.of((0.4375, 0.0, 0.59375))
    builder, parent = Builder("general chain", gravity=(1.5, 2.25, -9.75)), "base"
    if floating:
        builder.body("trunk", parent, Free(), mass_properties=link)
        parent = "trunk"
    for k, kind in enumerate(kinds, 1):
        builder.body(f"link{k}", parent, CHAINS[kind], placement=place, mass_properties=link)
        parent = f"link{k}"
    return builder.build()


def counted(algorithm: str, kinds: Sequence[str], floating: bool) -> MA:
    """Count the operations of an algorithm on such a chain."""
    options = {"method": "articulated_body"} if algorithm == "forward_dynamics" else {}
    got = cost(mixed_chain(kinds, floating), algorithm, **options)
    return MA(got.multiplications + got.divisions, got.additions)


def variables(kinds: Sequence[str]) -> Variables:
    """Return the number of joint variables in joints of several kinds."""
    numbers = [0, 0, 0]
    for kind in kinds:
        freedoms = CHAINS[kind].nv
        numbers[freedoms - 1] += freedoms
    return Variables(*numbers)


def _of_tables(printed: Sequence[Printed], rows: Sequence[Published], source: str) -> list[Fact]:
    by_author = {row.author: row for row in rows}
    return [
        Fact(f"{p.author}, {p.system}", p.text, str(by_author[p.author](*p.variables)), reason=p.reason, source=source)
        for p in printed
    ]


def _emended(emended: Sequence[Emended], printed: Sequence[Printed], rows: Sequence[Published]) -> list[Fact]:
    """Recompute printed numbers with the values that must have been used."""
    by_author = {row.author: row for row in rows}
    facts = []
    for e in emended:
        p = next(p for p in printed if (p.author, p.system) == (e.author, e.system))
        changed = MA(*(a + b for a, b in zip(by_author[p.author](*p.variables), e.change, strict=True)))
        text = f"{p.author}, {p.system}, if {e.what}"
        facts.append(Fact(text, p.text, str(changed), reason=e.left, source="our experiment"))
    return facts


def _steps(table: StepTable, per_joint: Sequence[str], source: str, reason: str = "") -> list[Fact]:
    names = ("1-DOF joint", "2-DOF joint", "3-DOF joint")
    summed = total([step.first for step in table.steps])
    return [
        Fact(f"the steps of {table.source} sum to", str(table.first), str(summed), reason=reason, source="Shah"),
        *(Fact(f"operations of a {name}", text, str(table.per_joint(k)), source=source)
        for k, (name, text) in enumerate(zip(names, per_joint, strict=True), 1)),
    ]  # fmt: skip


def _sizes(form: Sequence[str], first: int, last: int = LARGEST) -> list[list[str]]:
    """Return chains of a form with between ``first`` and ``last`` joint variables."""
    per_round = sum(CHAINS[kind].nv for kind in form)
    return [list(form) * k for k in range(-(-first // per_round), last // per_round + 1)]


def worst_ratio(book: Published, others: Sequence[Published], form: Sequence[str], first: int) -> float:
    """Return the largest ratio of the book's operations to the least of the others'."""
    ratios = []
    for kinds in _sizes(form, first):
        n = variables(kinds)
        ratios.append(float(sum(book(*n)) / min(sum(row(*n)) for row in others)))
    return max(ratios)


def _claims(
    book: Published,
    others: Sequence[Published],
    text: str,
    source: str,
    first: int = 6,
    reasons: dict[str, str] | None = None,
) -> list[Fact]:
    return [
        Fact(f"{text}: {title}; largest ratio of M + A to the least of the others, n from {first}", 1.0,
             worst_ratio(book, others, form, first), relation="<", source=source, reason=(reasons or {}).get(title, ""))
        for title, form in FORMS.items()
    ]  # fmt: skip


def _ours(algorithm: str, floating: bool, published: Callable[[Variables], int], bound: float, n: int) -> list[Fact]:
    facts = []
    for title, form in FORMS.items():
        kinds = _sizes(form, n, n)[0]
        ratio = sum(counted(algorithm, kinds, floating)) / published(variables(kinds))
        facts.append(
            Fact(f"kinetree's code, {title}: ratio of M + A to the book's, n = {n}", bound, float(ratio), relation="<")
        )
    return facts


def _slopes(book: Published, source: str) -> Fact:
    """Return operations per joint variable, which decrease with the freedoms of a joint."""
    each = [float(sum(book(*n)) - sum(book(0, 0, 0))) / 60 for n in ((60, 0, 0), (0, 60, 0), (0, 0, 60))]
    falling = "falling" if each[0] > each[1] > each[2] else "not falling"
    return Fact("the more joints have several freedoms, the larger the gain: M + A per variable of 1-, 2- and 3-DOF "
                "joints", "falling", falling, source=source)  # fmt: skip


def _figure(
    rows: Sequence[Published], algorithm: str, floating: bool, caption: str, quick: bool,
    value: Callable[[Published, Variables], float],
) -> tuple[PlotGrid, dict[str, list[object]]]:  # fmt: skip
    """Return the four drawings, and the numbers in them."""
    drawings = []
    table: dict[str, list[object]] = {"joints": [], "n": [], **{row.author: [] for row in rows}}
    for title, form in FORMS.items():
        chains = _sizes(form, 3)
        numbers = [variables(kinds) for kinds in chains]
        x = [sum(n) for n in numbers]
        curves = []
        for row in rows:
            values = [value(row, n) for n in numbers]
            table[row.author] += values
            curves.append(Curve(row.author, [1e-3 * y for y in values], x))
        table["joints"] += [title[4:]] * len(x)
        table["n"] += x
        some = [kinds for kinds in chains if sum(variables(kinds)) in ((12, 24) if quick else (12, 24, 36))]
        own = [1e-3 * float(sum(counted(algorithm, kinds, floating))) for kinds in some]
        curves.append(Curve("kinetree, counted", own, [sum(variables(k)) for k in some], stated=True))
        drawings.append(curves)
    grid = PlotGrid(list(FORMS), drawings, "joint variables n", "thousand M + A", caption, HIGHEST)
    return grid, table


def _total(row: Published, n: Variables) -> float:
    return float(sum(row(*n)))


def fixed_inverse(quick: bool) -> Outcome:
    """Count inverse dynamics on a fixed base: figure 6.15 and its tables."""
    shown = [row for row in INVERSE if row.author != "Hollerbach 1980"]
    book, others = INVERSE[0], INVERSE[1:]
    facts = [
        *_steps(TABLE_6_8, ("94M 82A", "116M 96A", "138M 110A"), "Shah Table 6.10"),
        *_of_tables(TABLE_6_11, INVERSE, "Shah Table 6.11"),
        *_of_tables(TABLE_1_OF_SAHA, INVERSE, "Saha Table 1"),
        Fact("1-DOF joints only: as fast as the fastest known; largest ratio of M + A", 1.0,
             worst_ratio(book, others, FORMS["(a) 1-DOF joints"], 6), tolerance=0.01,
             source="Shah section 6.3, Fig. 6.15a"),
        *_claims(book, others, "outperforms the others", "Shah section 6.3, Fig. 6.15b-d")[1:],
        _slopes(book, "Shah section 6.3"),
        *_ours("inverse_dynamics", False, lambda n: int(sum(book(*n))), 1.05, 12),
    ]  # fmt: skip
    caption = "Inverse dynamics on a fixed base (figure 6.15 of Shah); Hollerbach's 1980 algorithm is far above."
    grid, table = _figure(shown, "inverse_dynamics", False, caption, quick, _total)
    return Outcome(facts, {"operations": table}, {}, {"operations": grid})


def _with_bias(row: Published, n: Variables) -> float:
    """Return the count of forward dynamics with the bias force, which is added from the book if not included."""
    return _total(row, n) + (_total(INVERSE[0], n) if row.without_bias else 0.0)


N_STAR = {
    "Mohan and Saha 2007": (10, 12), "Saha 2003": (10, 14), "Featherstone 1983": (12, 14), "Valasek": (13, 15),
    "Brandl et al.": (14, 16),
}  # fmt: skip

LATER = {
    "Valasek": ("", "at 15 it takes 2745A and the O(n^3) algorithm 2674A"),
    "Brandl et al.": (
        "at 14 it takes 3278M and the O(n^3) algorithm 3201M",
        "at 16 it takes 3322A and the O(n^3) algorithm 3050A",
    ),
}


def crossing(row: Published, cubic: Published, additions: bool) -> int:
    """Return the smallest number of joints from which an O(n) algorithm takes less than an O(n^3) one."""
    for n in range(3, 200):
        ours, theirs = row(n), cubic(n)
        if ours[0] < theirs[0] and (not additions or ours[1] < theirs[1]):
            return n
    raise ArithmeticError(f"{row.author} is never cheaper than {cubic.author}")


def fixed_forward(quick: bool) -> Outcome:
    """Count forward dynamics on a fixed base: figure 6.16 and its tables."""
    book = FORWARD[0]
    by_author = {row.author: row for row in FORWARD}
    linear = [row for row in FORWARD[1:] if row.without_bias and len(row.multiplications.powers) == 2]
    cubic, lilly = by_author["Walker and Orin, by Featherstone"], by_author["Lilly and Orin 1991"]
    facts = [
        *_steps(TABLE_6_9, ("135M 131A", "198M 184A", "261M 237A"), "Shah Table 6.10"),
        *_of_tables(TABLE_6_12, FORWARD, "Shah Table 6.12"),
        *_crossings(by_author, cubic),
        *_claims(book, linear, "cheaper than all O(n) algorithms", "Shah section 6.3, Fig. 6.16", first=4),
        Fact("1-DOF joints: cheaper than any algorithm; largest ratio of M + A, n from 4", 1.0,
             worst_ratio(book, [*linear, lilly], FORMS["(a) 1-DOF joints"], 4), relation="<",
             source="Shah section 6.3, Fig. 6.16",
             reason="for few joints O(n^3) algorithms take less: Lilly and Orin's 305M "
             "275A for the gripper, in the book's own Table 6.12, are fewer than its 424M 401A; in M and A alike the "
             f"book's is cheaper from n = {crossing(book, lilly, True)} on"),
        _slopes(book, "Shah section 6.3"),
        *_ours("forward_dynamics", False, lambda n: int(_with_bias(book, n)), 1.05, 12),
    ]  # fmt: skip
    caption = (
        "Forward dynamics on a fixed base (figure 6.16 of Shah). To formulas published without the bias force the "
        "book's inverse dynamics is added, so that all curves count the same."
    )
    grid, table = _figure(FORWARD, "forward_dynamics", False, caption, quick, _with_bias)
    return Outcome(facts, {"operations": table}, {}, {"operations": grid})


def _crossings(by_author: dict[str, Published], cubic: Published) -> list[Fact]:
    facts = []
    for author, stated in N_STAR.items():
        for which, (n, additions) in enumerate(zip(stated, (False, True), strict=True)):
            measured = crossing(by_author[author], cubic, additions)
            what = "multiplications and additions" if additions else "multiplications"
            facts.append(
                Fact(f"{author}: number of links from which it takes fewer {what} than the O(n^3) algorithm", n,
                     measured, reason=LATER.get(author, ("", ""))[which], source="Saha Table 2")
            )  # fmt: skip
    return facts


def floating_inverse(quick: bool) -> Outcome:
    """Count inverse dynamics on a floating base: figure 7.30 and its tables."""
    book, others = FLOATING_INVERSE[0], FLOATING_INVERSE[1:]
    enough = next(n for n in range(3, 60) if sum(book(n)) < min(sum(row(n)) for row in others))
    reason = "for few 1-DOF joints inverse dynamics and composite bodies, which are O(n^2), take less; the book's is "
    few = {"(a) 1-DOF joints": f"{reason}cheaper from n = {enough} on"}
    facts = [
        *_steps(TABLE_7_3, ("164M 156A", "226M 202A", "288M 248A"), "Shah Table 7.5"),
        *_of_tables(TABLE_7_6, FLOATING_INVERSE, "Shah Table 7.6"),
        *_emended(EMENDED_7_6, TABLE_7_6, FLOATING_INVERSE),
        *_claims(book, others, "cheaper than what is available", "Shah section 7.5, Fig. 7.30", reasons=few),
        _ordered(book, "inverse"),
        *_ours("floating_base_inverse_dynamics", True, lambda n: int(sum(book(*n))), 1.0, 12),
    ]
    caption = "Inverse dynamics on a floating base (figure 7.30 of Shah); the base's six variables are not part of n."
    grid, table = _figure(FLOATING_INVERSE, "floating_base_inverse_dynamics", True, caption, quick, _total)
    return Outcome(facts, {"operations": table}, {}, {"operations": grid})


def _ordered(book: Published, what: str) -> Fact:
    totals = [float(sum(book(*n))) for n in (BIPED, QUADRUPED, HEXAPOD)]
    fewer = totals[0] < totals[1] < totals[2]
    return Fact(f"with twelve variables each, the biped takes less {what} dynamics than the quadruped, and that less "
                "than the hexapod", "rising", "rising" if fewer else "not rising",
                source="Shah section 7.5")  # fmt: skip


def floating_forward(quick: bool) -> Outcome:
    """Count forward dynamics on a floating base: figure 7.31 and its tables."""
    book, others = FLOATING_FORWARD[0], FLOATING_FORWARD[1:]
    humanoid = mixed_chain(["spherical"] * 12 + ["revolute"] * 4)
    links = (len(humanoid.body_names) + 1, len(humanoid.with_single_joints().body_names) + 1)
    facts = [
        *_steps(TABLE_7_4, ("209M 201A", "279M 260A", "349M 319A"), "Shah Table 7.5", TABLE_7_4.note),
        *_of_tables(TABLE_7_7, FLOATING_FORWARD, "Shah Table 7.7"),
        *_emended(EMENDED_7_7, TABLE_7_7, FLOATING_FORWARD),
        *_claims(book, others, "cheaper than what is available", "Shah section 7.5, Fig. 7.31"),
        _ordered(book, "forward"),
        Fact("a humanoid with 12 spherical and 4 revolute joints: links, and links if every joint were a hinge",
             (17, 41), links, source="Shah section 7.5"),
        *_ours("forward_dynamics", True, lambda n: int(sum(book(*n))), 1.3, 12),
    ]  # fmt: skip
    remark = (
        "kinetree's forward dynamics takes some 15 percent more than the book's formula here: it moves articulated "
        "inertias by whole transforms where the book uses two screws along the axes."
    )
    caption = "Forward dynamics on a floating base (figure 7.31 of Shah); the base's six variables are not part of n."
    grid, table = _figure(FLOATING_FORWARD, "forward_dynamics", True, caption, quick, _total)
    return Outcome(facts, {"operations": table}, {}, {"operations": grid}, [remark])


ASSUMED = (
    "The figures themselves are lost; they are drawn again from the formulas of the tables. M and A are added.",
    "Where a printed number contradicts the formula beside it, the formula is taken; each such number is listed below.",
)
