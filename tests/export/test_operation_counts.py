"""What algorithms cost on robots, and what the sources say they cost."""

import re
from fractions import Fraction

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, floating_pair
from kinetree.algorithms.newton_euler import turning_matrix, turning_moment
from kinetree.engine.count import Count, count
from kinetree.engine.trace import trace
from kinetree.spatial import AxisRotation, Force, Motion, RigidInertia, Symmetric3, Transform, Vec3, cos, sin
from kinetree.spatial.arrays import flatten
from kinetree.studies import sources
from kinetree_books import cost_formulas
from kinetree_books import published_counts as p
from kinetree_books.cost_formulas import CHAINS, FITTED, all_costs, cost, fit, general_chain, joint_variables
from kinetree_books.published_counts import MA, Formula

# ---------------------------------------------------------------- robots small enough to count by hand


def test_pendulum():
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, -1.5)).build()
    # tau = I a + (m l) (g sin q): three products and a sum, since nothing is reassociated
    assert cost(robot, "inverse_dynamics") == Count(multiplications=3, additions=1, sines=1)
    # the inertia is a number
    assert cost(robot, "mass_matrix") == Count()


def test_lone_slide():
    robot = kt.Builder("slide").body("block", "base", kt.Prismatic("x"), mass=2.0).build()
    assert cost(robot, "inverse_dynamics") == Count(multiplications=1)
    assert cost(robot, "integrate") == Count(additions=1)


def test_free_body_has_no_sines():
    got = cost(floating_pair(), "configuration_rate")
    assert got.sines == got.square_roots == got.divisions == 0


def test_options_matter():
    robot = arm()
    assert cost(robot, "jacobian", frame="upper").total < cost(robot, "jacobian", frame="tool", axes="world").total
    methods = {cost(robot, "forward_dynamics", method=m) for m in ("articulated_body", "composite_body")}
    assert len(methods) == 2


def test_unknown_things():
    with pytest.raises(kt.UnknownNameError, match="did you mean 'mass_matrix'"):
        cost(arm(), "mas_matrix")
    with pytest.raises(kt.OptionError, match="needs the frame"):
        cost(arm(), "pose")
    with pytest.raises(kt.UnknownNameError, match="did you mean 'tool'"):
        cost(arm(), "pose", frame="tooll")
    with pytest.raises(kt.UnknownNameError, match="general chain"):
        general_chain("hinge", 3)
    with pytest.raises(kt.OptionError, match="joints must be a whole number from 1"):
        general_chain("revolute", 0)
    with pytest.raises(kt.UnknownNameError, match="fitted"):
        fit("jacobian")


def test_all_costs_of_a_robot():
    rows = all_costs(floating_pair())
    assert all(row.operations is not None for row in rows)
    by_name = {(row.name, row.options.get("method")): row.operations for row in rows}
    assert by_name["inverse_dynamics", None] == cost(floating_pair(), "inverse_dynamics")
    assert by_name["forward_dynamics", "composite_body"] == cost(
        floating_pair(), "forward_dynamics", method="composite_body"
    )


def test_mechanisms_are_not_counted_by_what_they_refuse():
    mechanism = kt.gallery.load("four-bar")
    listed = {c.name for c in all_costs(mechanism)}
    assert {"inverse_dynamics", "forward_dynamics", "mass_matrix"} <= listed
    for name in ("regressor", "forward_dynamics_derivatives"):
        assert name not in listed
        with pytest.raises(kt.UnsupportedError, match=r"four-bar\.tree"):
            mechanism.cost(name)
        assert mechanism.tree.cost(name).total > 0


def test_every_source_of_a_published_row_is_spelled_out():
    assert all(sources.cited(row.source) for row in p.ALL)
    assert set(sources.cited(*(row.source for row in p.ALL))) == {"Shah", "Saha", "Featherstone"}
    assert not any(re.search(r"\bL\d", row.source) for row in p.ALL)


def test_what_has_no_answer_says_why():
    rows = {row.name: row for row in all_costs(arm())}
    missing = rows["floating_base_inverse_dynamics"]
    assert missing.operations is None
    assert "no floating base" in missing.reason
    assert sum(row.operations is None for row in rows.values()) == 1


# ---------------------------------------------------------------- general chains


def general_arm(rng, n, convention):
    """A 6R arm from a table of random numbers, none of them zero."""
    rows = []
    for _ in range(n):
        spread = rng.uniform(0.01, 0.03, (3, 3)) * rng.choice([-1, 1], (3, 3))
        rows.append(
            {
                "alpha": rng.uniform(0.2, 1.3), "a": rng.uniform(0.1, 0.5), "d": rng.uniform(0.1, 0.5),
                "mass": rng.uniform(1, 3), "com": rng.uniform(0.05, 0.2, 3) * rng.choice([-1, 1], 3),
                "inertia": np.diag(rng.uniform(0.3, 0.4, 3)) + spread + spread.T,
            }
        )  # fmt: skip
    return kt.from_dh(rows, convention, gravity=rng.uniform(1.0, 9.0, 3))


@pytest.mark.parametrize("seed", range(4))
def test_general_arm_beats_the_best_published_count(seed):
    """Fewer than 483M and 417A, the best row of the tables for n = 6 (Shah tables 6.8 and 6.11)."""
    got = cost(general_arm(np.random.default_rng(seed), 6, "modified"), "inverse_dynamics")
    best = p.INVERSE[0](6)
    assert "94 n1 + 58 n2 + 46 n3 - 81) M" in str(p.INVERSE[0])
    with pytest.raises(kt.UnknownNameError, match="'rnea'; did you mean 'inverse_dynamics'"):
        kt.gallery.load("gripper").cost("rnea")
    assert best == MA(483, 417)
    assert got.multiplications + got.divisions < best.multiplications
    assert got.additions < best.additions
    assert got.sines == 6


def test_general_chain_is_as_general_as_a_random_arm():
    chain = cost(general_chain("revolute", 6), "inverse_dynamics")
    random_arm = cost(general_arm(np.random.default_rng(0), 6, "modified"), "inverse_dynamics")
    assert (chain.multiplications, chain.additions) == (random_arm.multiplications, random_arm.additions)


def test_general_chain_has_no_zeros():
    robot = general_chain("universal", 3)
    assert robot.nv == 6
    for joint, body in zip(robot.model.joints, robot.model.bodies, strict=True):
        props = body.mass_properties
        assert all(x != 0 for x in (props.mass, *props.com, *props.inertia))
        assert len(set(np.round(props.inertia, 12))) == 6
        assert np.count_nonzero(joint.placement.translation) == 3
        assert joint.kind == CHAINS["universal"]
    assert np.all(robot.gravity != 0)
    assert general_chain("universal", 3, single=True).joint_names != robot.joint_names


@pytest.mark.parametrize("algorithm", FITTED)
@pytest.mark.parametrize(("joint", "single"), [("revolute", False), ("universal", True), ("spherical", False)])
def test_formulas_hold_beyond_where_they_were_found(algorithm, joint, single):
    formula = fit(algorithm, joint, single=single)
    name, options, _ = FITTED[algorithm]
    freedoms = CHAINS[joint].nv
    for joints in (formula.valid_from // freedoms, 10):
        got = cost(general_chain(joint, joints, single=single), name, **options)
        n = freedoms * joints
        assert formula.multiplications(n) == got.multiplications
        assert formula.additions(n) == got.additions
        assert formula.divisions(n) == got.divisions
        assert formula(n) == MA(got.multiplications + got.divisions, got.additions)
    assert formula.checked_to < 10 * freedoms


def test_formulas_have_the_expected_degree():
    assert len(fit("inverse_dynamics").multiplications.powers) == 2
    assert len(fit("forward_dynamics, articulated body").multiplications.powers) == 2
    assert len(fit("mass_matrix").multiplications.powers) == 3
    cubic = fit("forward_dynamics, composite body").multiplications.powers
    assert len(cubic) == 4
    assert cubic[3] == Fraction(1, 6)  # as every factorization of a symmetric matrix


def test_forward_dynamics_beats_002():
    """Both ways cost less than table 8-6 of Featherstone, which counts everything, too."""
    composite, articulated = (row for row in p.FORWARD if not row.without_bias)
    for n in (6, 9, 12):
        ours = fit("forward_dynamics, composite body")(n), fit("forward_dynamics, articulated body")(n)
        for got, row in zip(ours, (composite, articulated), strict=True):
            assert got.multiplications < row(n).multiplications
            assert got.additions < row(n).additions


def test_counts_that_are_no_polynomial_are_refused(monkeypatch):
    monkeypatch.setitem(FITTED, "mass_matrix, wrongly", ("mass_matrix", {}, 1))
    with pytest.raises(ArithmeticError, match="not a polynomial of degree 1"):
        fit("mass_matrix, wrongly")


def test_interpolation_is_exact():
    f = cost_formulas._interpolate({n: n**3 - 7 * n + 2 for n in (2, 4, 5, 9)})
    assert f.powers == (2, -7, 0, 1)
    assert [f(n) for n in range(12)] == [n**3 - 7 * n + 2 for n in range(12)]


# ---------------------------------------------------------------- the published tables


def find(author, rows):
    (row,) = [r for r in rows if r.author.startswith(author)]
    return row


@pytest.mark.parametrize(
    ("author", "four", "six", "biped"),
    [
        ("Shah, Saha, Dutt", (295, 253), (483, 417), (615, 501)),
        ("Balafoutis", (303, 259), (489, 421), (1047, 907)),
        ("Angeles", (311, 255), (521, 435), (1151, 975)),
        ("Saha", (436, 333), (676, 527), (1396, 1109)),
        ("Featherstone", (452, 348), (712, 550), (1492, 1156)),
    ],
)
def test_table_6_11(author, four, six, biped):
    row = find(author, p.INVERSE)
    assert row(4) == four
    assert row(6) == six
    assert row(2, 4, 6) == biped


@pytest.mark.parametrize(
    ("author", "six"),
    [
        ("Hollerbach", (2195, 1719)), ("Luh", (852, 834)), ("Walker", (800, 595)), ("Saha", (676, 527)),
        ("Khalil", (538, 478)), ("Angeles", (521, 435)), ("Balafoutis", (489, 421)),
    ],
)  # fmt: skip
def test_table_1_of_001(author, six):
    assert find(author, p.INVERSE)(6) == six


@pytest.mark.parametrize(
    ("author", "four", "six", "biped"),
    [
        ("Shah, Saha, Dutt", (424, 401), (694, 663), (1072, 981)),
        ("Mohan", (564, 467), (910, 767), (1948, 1667)),
        ("Saha", (480, 423), (862, 797), (2008, 1919)),
        ("Featherstone 1983", (598, 523), (996, 871), (2190, 1915)),
        ("Lilly", (305, 275), (641, 542), (2377, 1855)),
    ],
)
def test_table_6_12(author, four, six, biped):
    row = find(author, p.FORWARD)
    assert row(4) == four
    assert row(6) == six
    assert row(2, 4, 6) == biped
    assert row.without_bias


@pytest.mark.parametrize(
    ("author", "n_star", "multiplications", "n_plus", "both"),
    [
        ("Mohan", 10, 1602, 12, (1948, 1667)), ("Saha", 10, 1626, 14, (2390, 2293)),
        ("Featherstone 1983", 12, 2190, 14, (2588, 2263)), ("Valasek", 13, 2595, 15, (3047, 2745)),
        ("Brandl", 14, 3278, 16, (3778, 3322)), ("Walker", 10, 1653, 12, (2357, 1716)),
    ],
)  # fmt: skip
def test_table_2_of_001(author, n_star, multiplications, n_plus, both):
    row = find(author, p.FORWARD)
    assert row(n_star).multiplications == multiplications
    assert row(n_plus) == both


def test_table_8_6():
    assert find("Featherstone", p.INVERSE)(6) == (712, 550)
    assert find("Featherstone", p.MASS_MATRIX)(6) == (505, 410)
    assert find("composite body", p.FORWARD)(6) == (1303, 1019)
    assert find("articulated body", p.FORWARD)(6) == (1533, 1415)


@pytest.mark.parametrize("n", [1, 4, 6, 12, 30])
def test_table_8_6_is_consistent(n):
    """Forward dynamics is inverse dynamics, mass matrix and an LDL^T solution, less n additions (notes, 2.7)."""
    rne, crba = find("Featherstone", p.INVERSE)(n), find("Featherstone", p.MASS_MATRIX)(n)
    solve = MA(
        Fraction(n**3, 6) + Fraction(3 * n**2, 2) - Fraction(2 * n, 3), Fraction(n**3, 6) + n**2 - Fraction(7 * n, 6)
    )
    assert find("composite body", p.FORWARD)(n) == (rne[0] + crba[0] + solve[0], rne[1] + crba[1] + solve[1] - n)


@pytest.mark.parametrize(
    ("rows", "biped", "quadruped", "hexapod"),
    [
        (p.FLOATING_INVERSE, (1416, 1278), (1620, 1498), (2028, 1938)),
        (p.FLOATING_FORWARD, (1734, 1632), (2012, 1916), (2568, 2484)),
    ],
)
def test_tables_7_6_and_7_7(rows, biped, quadruped, hexapod):
    row = find("Shah, Saha, Dutt", rows)
    assert row(2, 4, 6) == biped
    assert row(4, 8, 0) == quadruped
    assert row(12) == hexapod


def test_rest_of_tables_7_6_and_7_7():
    for author, value in (("Balafoutis", (2853, 2101)), ("Featherstone", (3323, 2520)), ("Saha", (3526, 2658))):
        assert find(author, p.FLOATING_INVERSE)(12) == value  # by the formula; the printed totals do not follow from it
    assert find("McMillan and Orin 1998, O(n)", p.FLOATING_FORWARD[:2])(12) == (2846, 2591)
    assert find("Stejskal", p.FLOATING_FORWARD)(12) == (2870, 2603)
    assert find("McMillan and Orin 1998, O(n^3)", p.FLOATING_FORWARD)(12) == (5049, 4181)


def test_every_correction_is_cited():
    corrected = {row.author: row.note for row in p.FLOATING_INVERSE + p.FORWARD if "erratum" in row.note}
    assert "erratum 32" in corrected["Shah, Saha, Dutt 2013"] or "erratum 27" in corrected["Shah, Saha, Dutt 2013"]
    assert sorted(int(n) for row in p.ALL for n in re.findall(r"erratum (\d+)", row.note)) == [
        27, 28, 29, 30, 31, 32, 33, 34, 37, 37, 37, 37,
    ]  # fmt: skip


def test_published_costs_of_systems():
    assert p.TABLE_10_3["base parameters"] == (304, 326)
    assert all(c.matrix >= c.compact for c in p.TABLE_8_2.values())
    assert p.TABLE_8_5["screw and rigid-body inertia, partial results used"] == (19, 18)


# ---------------------------------------------------------------- the steps the formulas are made of


@pytest.mark.parametrize("table", [p.TABLE_6_8, p.TABLE_6_9, p.TABLE_7_3])
def test_steps_sum_to_the_totals(table):
    assert p.total([s.first for s in table.steps]) == table.first
    further = [s.further for s in table.steps]
    if None not in further:
        assert p.total(further) == table.further


def test_steps_of_table_7_4_do_not_sum_to_its_total():
    assert p.total([s.first for s in p.TABLE_7_4.steps]) == (212, 213)
    assert "erratum 36" in p.TABLE_7_4.note


@pytest.mark.parametrize(
    ("table", "row", "per_joint"),
    [
        (p.TABLE_6_8, p.INVERSE[0], [(94, 82), (116, 96), (138, 110)]),
        (p.TABLE_6_9, p.FORWARD[0], [(135, 131), (198, 184), (261, 237)]),
        (p.TABLE_7_3, p.FLOATING_INVERSE[0], [(164, 156), (226, 202), (288, 248)]),
        (p.TABLE_7_4, p.FLOATING_FORWARD[0], [(209, 201), (279, 260), (349, 319)]),
    ],
)
def test_tables_6_10_and_7_5(table, row, per_joint):
    assert [table.per_joint(e) for e in (1, 2, 3)] == per_joint
    for freedoms, expected in enumerate(per_joint, 1):
        numbers = [0, 0, 0]
        numbers[freedoms - 1] = freedoms
        constants = row(0, 0, 0)
        value = row(*numbers)
        assert (value[0] - constants[0], value[1] - constants[1]) == expected


def counted(function, *lengths):
    traced = trace(function, lengths, flatten)
    got = count(traced.graph, traced.outputs)
    return MA(got.multiplications, got.additions)


def dh(theta):
    """A general DH transform: a turn and a shift about x, then about z."""
    turns = AxisRotation(0, 0.6, 0.8), AxisRotation(2, cos(theta), sin(theta))
    return Transform(turns, Vec3(0.3, 0.4, 0.7))


@pytest.mark.parametrize(
    ("what", "function", "lengths"),
    [
        ("rotate a vector between neighbors", lambda q, v: dh(q[0]).rotate(Vec3(*v)), (1, 3)),
        ("W", lambda w, wd: turning_matrix(Vec3(*w), Vec3(*wd)), (3, 3)),
        ("wrench to the parent", lambda q, f: dh(q[0]).force_to_parent(Force.of(f)), (1, 6)),
        ("twist to the child", lambda q, m: dh(q[0]).motion_to_child(Motion.of(m)), (1, 6)),
        (
            "Euler's part of the moment, W known",
            lambda w, wd: turning_moment(turning_matrix(Vec3(*w), Vec3(*wd)), Symmetric3(3.0, 0.1, 0.2, 4.0, 0.3, 5.0)),
            (3, 3),
        ),
    ],
)
def test_our_building_blocks_beside_appendix_a(what, function, lengths):
    """Close to the book's counts, which use a screw about each axis where we shift once."""
    got, book = counted(function, *lengths), p.BUILDING_BLOCKS[what]
    if what.startswith("Euler"):
        got = MA(got[0] - p.BUILDING_BLOCKS["W"][0], got[1] - p.BUILDING_BLOCKS["W"][1])
    assert got.multiplications <= book.multiplications + 2
    assert got.additions <= book.additions + 3
    assert got.multiplications >= book.multiplications // 2


def test_composite_inertia_to_the_parent():
    def function(q, x):
        inertia = RigidInertia(x[0], Vec3(*x[1:4]), Symmetric3(*x[4:]))
        moved = dh(q[0]).rigid_to_parent(inertia)
        s = moved.second
        return [moved.mass, moved.first, [s.xx, s.xy, s.xz, s.yy, s.yz, s.zz]]

    book = p.BUILDING_BLOCKS["composite inertia to the parent"]
    traced = trace(lambda q, x: _flat(function(q, x)), (1, 10), flatten)
    got = count(traced.graph, traced.outputs)
    assert got.multiplications <= book.multiplications + 12
    assert got.additions <= book.additions + 12


def _flat(parts):
    mass, first, second = parts
    return [mass, *first, *second]


# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (Formula((-69, 93)), "93n - 69"),
        (Formula((0, 0, Fraction(23, 2))), "11 1/2 n^2"),
        (Formula((-81,), (94, 58, 46)), "94 n1 + 58 n2 + 46 n3 - 81"),
        (Formula((1, -1)), "-n + 1"),
        (Formula(), "0"),
        (Formula((Fraction(-1, 3),)), "-1/3"),
        (Formula((0, Fraction(-7, 2), 1)), "n^2 - 3 1/2 n"),
    ],
)
def test_formulas_are_readable(formula, text):
    assert str(formula) == text


def test_formula_arithmetic():
    f = Formula((1, 2, 3)) + Formula((10,), (1, 0, Fraction(1, 3)))
    assert f(2) == 1 + 4 + 12 + 10 + 2
    assert f(0, 0, 1) == 1 + 2 + 3 + 10 + Fraction(1, 3)
    assert isinstance(f(2), int)
    assert str(MA(Fraction(3, 2), 4)) == "1 1/2M 4A"


# ---------------------------------------------------------------- beside a robot


def test_joint_variables():
    assert joint_variables(arm()) == (3, 0, 0)
    assert joint_variables(floating_pair()) == (1, 0, 3)  # the base's six are not counted
    builder = kt.Builder("mix")
    builder.body("a", "base", kt.Universal("XY"), mass=1).body("b", "a", kt.Free(), mass=1)
    builder.body("c", "b", kt.Revolute("x"), mass=1).body("d", "b", kt.Revolute("x"), mimic=kt.Mimic("c_joint"))
    assert joint_variables(builder.build()) == (1, 2, 6)


def test_published_for_a_robot():
    fixed = {(row.algorithm, row.author): value for row, value in cost_formulas.published(general_chain("revolute", 6))}
    assert fixed["inverse_dynamics", "Shah, Saha, Dutt 2013"] == (483, 417)
    assert fixed["mass_matrix", "Featherstone 1987"] == (505, 410)
    floating = cost_formulas.published(floating_pair())
    assert all(row.floating for row, _ in floating)
    row = p.FLOATING_FORWARD[0]
    assert (row, row(1, 0, 3)) in floating


def test_rows_of_a_floating_base_are_sums_of_those_they_are_made_of():
    by_author = {(row.algorithm, row.author): row for row in p.INVERSE + p.MASS_MATRIX}
    base = Formula((60,)), Formula((66,))
    for row in p.FLOATING_INVERSE[1:]:
        inverse, _, matrix = row.author.partition(", ")
        parts = by_author["inverse_dynamics", inverse], by_author["mass_matrix", matrix or inverse]
        for n in (1, 6, 30):
            assert row.multiplications(n) == sum(x.multiplications(n) for x in parts) + base[0](n)
            assert row.additions(n) == sum(x.additions(n) for x in parts) + base[1](n)


def test_the_tables_are_read_when_asked_for_and_no_others_exist():
    assert {"INVERSE", "TABLE_10_3", "MA"} <= set(dir(p))
    with pytest.raises(AttributeError, match="TABLE_9_9"):
        _ = p.TABLE_9_9
