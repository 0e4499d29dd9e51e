"""Cost studies: printed numbers beside formulas, and exactly the known misprints do not hold."""

from __future__ import annotations

import pytest

from helpers.studies import by_study, quick_result
from kinetree import gallery
from kinetree_books.cost_formulas import fit
from kinetree_books.published_counts import FORWARD, INVERSE
from kinetree_gallery.analyses.operation_counts import counted, crossing, mixed_chain, variables, worst_ratio

SIX = ("Shah, Saha, Dutt 2013", "Balafoutis and Patel 1991", "Angeles et al. 1989", "Saha 1999", "Featherstone 1987")
EXCEPTIONS = {
    ("cost-fixed-base", "inverse"): {
        **{f"{author}, industrial robot": "repeats the biped's" for author in SIX},
        "Shah, Saha, Dutt 2013, biped": "erratum 28",
        "Angeles et al. 1989, biped": "erratum 29",
    },
    ("cost-fixed-base", "forward"): {
        **{
            f"{author}, industrial robot": "repeats the biped's"
            for author in (
                "Shah, Saha, Dutt 2013", "Mohan and Saha 2007", "Saha 2003", "Featherstone 1983",
                "Lilly and Orin 1991",
            )
        },
        "Shah, Saha, Dutt 2013, gripper": "erratum 30",
        "Valasek: number of links from which it takes fewer multiplications and additions than the O(n^3) algorithm":
            "2674A",
        "Brandl et al.: number of links from which it takes fewer multiplications than the O(n^3) algorithm": "3201M",
        "Brandl et al.: number of links from which it takes fewer multiplications and additions than the O(n^3) "
        "algorithm": "3050A",
        "1-DOF joints: cheaper than any algorithm; largest ratio of M + A, n from 4": "305M 275A",
    },
    ("cost-floating-base", "inverse"): {
        "Shah, Saha, Dutt 2013, biped": "erratum 32",
        "Shah, Saha, Dutt 2013, quadruped": "erratum 32",
        "Balafoutis and Patel 1991, all three": "a base of 216M 190A",
        "Featherstone 1987, all three": "a base of 216M 190A",
        "Saha 1999, Bhangale et al. 2004, all three": "a base of 216M 190A",
        "Balafoutis and Patel 1991, all three, if the base took 216M 190A": "2M and 3A",
        "cheaper than what is available: (a) 1-DOF joints; largest ratio of M + A to the least of the others, n from 6":
            "from n = 8 on",
    },
    ("cost-floating-base", "forward"): {
        "the steps of Shah table 7.4: forward dynamics, floating base sum to": "212M 213A",
        "Shah, Saha, Dutt 2013, biped": "erratum 33",
        "Shah, Saha, Dutt 2013, quadruped": "erratum 34",
        "Shah, Saha, Dutt 2013, hexapod": "erratum 34",
        "Shah, Saha, Dutt 2013, biped, if the base took 66A": "and 2A",
        "McMillan and Orin 1998, O(n^3), all three": "178 n",
    },
}  # fmt: skip

SHIFTED_ONCE = [
    "wrench to the parent", "twist to the child",
    "composite inertia to the parent", "composite inertia to the parent, with the sum",
    "articulated inertia to the parent", "articulated inertia to the parent, with the sum",
]  # fmt: skip
STEPS = {
    "recurrences": {},
    "transforms": {
        "transform and articulated-body inertia: kinetree takes no more": "6 additions",
        "screw and transform: kinetree takes no more": "the parent's axes",
    },
    "parts": {
        "rotate a symmetric matrix between neighbors: kinetree takes no more": "four multiplications less",
        **{f"{what}: kinetree takes no more": "shifts once" for what in SHIFTED_ONCE},
    },
    "algorithms": {
        "articulated bodies: percent of M and A per joint that link coordinates save": "300M 279A",
        "the same by kinetree's counts": "instead of 300M",
    },
}


@by_study(["cost-spatial-arithmetic"])
@pytest.mark.parametrize("analysis", STEPS)
def test_steps_cost_what_the_tables_say_but_for_known_reasons(name, analysis):
    facts = quick_result(name)[0].outcomes[analysis].facts
    assert [str(fact) for fact in facts if not fact.known] == []
    found = {fact.text: fact.reason for fact in facts if not fact.holds}
    assert set(found) == set(STEPS[analysis])
    assert all(STEPS[analysis][text] in reason for text, reason in found.items())


@by_study(sorted({name for name, _ in EXCEPTIONS}))
@pytest.mark.parametrize("analysis", ["inverse", "forward"])
def test_facts_hold_but_for_the_known_exceptions(name, analysis):
    facts = quick_result(name)[0].outcomes[analysis].facts
    assert [str(fact) for fact in facts if not fact.known] == []
    found = {fact.text: fact.reason for fact in facts if not fact.holds}
    expected = EXCEPTIONS[name, analysis]
    assert set(found) == set(expected)
    for text, part in expected.items():
        assert part in found[text]


def test_every_analysis_is_tested():
    for name in ("cost-fixed-base", "cost-floating-base"):
        assert list(gallery.study(name).analyses) == [a for n, a in EXCEPTIONS if n == name]


def test_figures_have_the_numbers_of_the_formulas():
    outcome = quick_result("cost-fixed-base")[0].outcomes["inverse"]
    table = outcome.tables["operations"]
    at = [k for k, (joints, n) in enumerate(zip(table["joints"], table["n"], strict=True))
          if joints == "1-DOF joints" and n == 12]  # fmt: skip
    assert len(at) == 1
    assert table["Shah, Saha, Dutt 2013"][at[0]] == 1047 + 909
    assert table["Balafoutis and Patel 1991"][at[0]] == 1047 + 907
    figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    outcome.figures["operations"](figure)
    assert len(figure.axes) == 4
    line = figure.axes[0].lines[0]
    assert line.get_ydata()[list(line.get_xdata()).index(12)] == pytest.approx(1.956)
    assert figure.legends[0].get_texts()[0].get_text() == "Shah, Saha, Dutt 2013"


def test_our_counts_are_those_of_the_fitted_formulas():
    for joint, freedoms in (("revolute", 1), ("universal", 2), ("spherical", 3)):
        kinds = [joint] * (12 // freedoms)
        assert counted("inverse_dynamics", kinds, False) == fit("inverse_dynamics", joint)(12)
        assert counted("forward_dynamics", kinds, False) == fit("forward_dynamics, articulated body", joint)(12)


def test_chains_are_what_they_say():
    robot = mixed_chain(["revolute", "universal", "spherical"] * 2, floating=True)
    assert robot.nv == 6 + 12
    assert robot.is_floating
    assert variables(["revolute", "universal", "spherical"] * 2) == (2, 4, 6)


def test_crossings_and_ratios():
    walker = next(row for row in FORWARD if row.author.startswith("Walker"))
    mohan = next(row for row in FORWARD if row.author.startswith("Mohan"))
    n = crossing(mohan, walker, False)
    assert mohan(n)[0] < walker(n)[0]
    assert mohan(n - 1)[0] >= walker(n - 1)[0]
    with pytest.raises(ArithmeticError, match="never cheaper"):
        crossing(walker, walker, False)
    assert worst_ratio(INVERSE[0], [INVERSE[0]], ("revolute",), 6) == 1.0
