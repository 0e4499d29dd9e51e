"""Subsystem-level recursion (Saha section 4, Shah section 8.2) against tables, the F matrix and energy."""

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from helpers.compare import assert_close, rate
from kinetree.loops.subsystems import recursion

TIMES = np.array([0, 1 / 3, 2 / 3, 1])
TORQUE = {"half": [2.009999, -0.018579, -1.679998, -0.069872], "whole": [1.544024, -0.032275, -1.214023, -0.056177]}
ANGLES = [[0.984373, 4.314439], [1.536642, 4.012933], [1.345368, 3.592450], [0.733610, 4.012933]]
FORCE = [(-15.71413, 45.53722), (0.48893, 22.82715), (-1.36068, 36.85296), (-1.83874, 67.79770)]


def solve(mechanism, q, v, a, weights=None):
    tau_tree = mechanism.tree.inverse_dynamics(q, v, a)
    k = mechanism.loop_jacobian(q)
    solution = recursion.solve(mechanism.model, tau_tree, k, mechanism.driven, weights)
    left = tau_tree - solution.tau - np.einsum("...ci,...c->...i", k, solution.multipliers)
    assert_close(left, np.zeros_like(left), 1e-10, float(np.abs(tau_tree).max()))
    assert not solution.tau[..., ~mechanism.driven].any()
    return solution


def f_matrix(mechanism, q, v, a):
    """All torques at once, Shah eq. 8.4, one state at a time."""
    found = []
    for tau, k in zip(mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q), strict=True):
        select = np.eye(mechanism.nv)[:, mechanism.driven]
        f = np.concatenate([select, k.T], axis=1)
        torques = np.linalg.lstsq(f, tau, rcond=1e-11)[0][: select.shape[1]]
        found.append(select @ torques)
    return np.array(found)


def motion(mechanism, start, span=0.5, count=12, seed=0):
    """Closed states along a motion of the driven joints, with rates and accelerations of all sizes."""
    start = mechanism.close(start)
    names = mechanism.independent(start)
    moves = np.linspace(0, 1, count)[:, None] * span * np.cos(1 + np.arange(len(names)))
    first = np.array([start[mechanism.joint(n).q_slice][0] for n in names])
    q = models.sweep(mechanism, start, names, first + moves)
    rng = np.random.default_rng(seed)
    v = mechanism.velocities(q, rng.normal(size=(count, len(names))))
    return q, v, mechanism.accelerations(q, v, rng.normal(size=(count, len(names))))


def stewart_motion(mechanism, count=6):
    rng = np.random.default_rng(3)
    found = []
    for _ in range(count):
        pose = kt.Pose.of((*rng.normal(0, 0.1, 2), 1.1), rpy=rng.normal(0, 0.15, 3)).matrix
        found.append(models.stewart_at(mechanism, pose))
    q = np.array(found)
    v = mechanism.velocities(q, rng.normal(size=(count, 6)))
    return q, v, mechanism.accelerations(q, v, rng.normal(size=(count, 6)))


ARM_START = np.array([0.3, 0.2, -1.2, 1.4, -1.2, 0.4, 0.5])
DELTA_START = np.array([0.3, 1.2, 0, 0, -1.5, 0.3, 1.2, 0, 0.3, 1.2, 0])

SYSTEMS = {
    "scraper": (lambda: models.scraper()[0], models.scraper()[1], 6.2, 24),
    "leg": (models.leg, models.LEG_START, 6.2, 24),
    "3-RRR": (models.three_rrr, models.THREE_RRR_START, 0.3, 8),
    "five-bar": (models.five_bar, models.FIVE_BAR_START, 0.6, 12),
    "row of cranks": (lambda: models.row_of_cranks()[0], models.row_of_cranks()[1], 0.1, 4),
    "geared five-bar": (models.geared_five_bar, np.array([2.0, -1.0, 1.0]), 0.6, 8),
    "parallelogram arm": (models.parallelogram_arm, ARM_START, 0.4, 8),
    "three bars": (models.three_bars, np.array([1.0, -1.0, 1.0, 1.0]), 0.5, 8),
    "cells": (lambda: models.cells(4), np.tile(models.CELL_START, 4), 0.3, 6),
    "delta": (models.delta, DELTA_START, 0.3, 6),
}


@pytest.fixture(scope="module", params=[*SYSTEMS, "stewart"])
def case(request):
    if request.param == "stewart":
        mechanism = models.stewart()
        return mechanism, *stewart_motion(mechanism)
    make, start, span, count = SYSTEMS[request.param]
    mechanism = make()
    return mechanism, *motion(mechanism, start, span, count)


# ------------------------------------------------------------------ the sources


@pytest.mark.parametrize("coupler", ["half", "whole"])
@pytest.mark.parametrize("cut", [3, 4])
@pytest.mark.parametrize("tilt", [None, (0.3, 0.5, -0.2)])
def test_four_bar_table(coupler, cut, tilt):
    mechanism = models.four_bar(cut, coupler, tilt)
    q, v, a = models.four_bar_state(TIMES, mechanism, cut)
    solution = solve(mechanism, q, v, a)
    assert_close(solution.tau[:, 0], TORQUE[coupler], 5.1e-7, 1.0)


def test_four_bar_multipliers():
    """The force on link 3 along the ground's axes, as ReDySim writes it (Shah table 10.5)."""
    mechanism = models.four_bar()
    q, v, a = models.four_bar_state(TIMES, mechanism)
    assert_close(q[:, 1:], ANGLES, 5.1e-7, 1.0)
    multipliers = solve(mechanism, q, v, a).multipliers
    force = np.einsum("tij,tj->ti", mechanism.pose(q, "link3")[:, :3, :3], multipliers[:, 2:])
    assert_close(force[:, :2], FORCE, 5.1e-6, 1.0)
    assert not multipliers[:, :2].any()
    assert not force[:, 2].any()


def test_four_bar_order_depends_on_the_cut():
    """Shah section 8.3: cut at joint 4 subsystem II is determinate, cut at joint 3 none is."""
    orders = {}
    for cut in (3, 4):
        mechanism = models.four_bar(cut)
        orders[cut] = solve(mechanism, *models.four_bar_state(TIMES, mechanism, cut)).order
    assert str(orders[4]) == (
        "II (2 equations, 2 unknowns: multipliers of cut), then I (1 equation, 1 unknown: torque of crank_joint)"
    )
    assert str(orders[3]) == "I + II (3 equations, 3 unknowns: multipliers of cut and torque of crank_joint)"
    assert orders[4].cost == pytest.approx((2**3 + 1) / 3)
    assert orders[3].cost == orders[4].cost_at_once == 9.0


def test_leg_order():
    """Shah section 8.4: III with four unknowns, then II, then I."""
    mechanism = models.leg()
    order = solve(mechanism, *motion(mechanism, models.LEG_START, count=2)).order
    assert [s.joints for s in order.subsystems] == [
        ("l1_joint",),
        ("l2_joint", "l3_joint"),
        ("l4_joint", "l5_joint", "l6_joint", "l7_joint"),
    ]
    assert str(order) == (
        "III (4 equations, 4 unknowns: multipliers of cut9, cut10), "
        "then II (2 equations, 2 unknowns: multipliers of cut8), "
        "then I (1 equation, 1 unknown: torque of l1_joint)"
    )
    assert order.cost == pytest.approx((4**3 + 2**3 + 1) / 3)


def test_scraper_order():
    """Saha section 4.4: III with four unknowns, then I with two, then the driving torque."""
    mechanism, start = models.scraper()
    assert mechanism.closure_error(start) < 1e-12
    order = solve(mechanism, *motion(mechanism, start, count=2)).order
    assert [(s.subsystems, s.equations, s.unknowns, s.cuts) for s in order.steps] == [
        (("III",), 4, 4, ("coupler-11", "coupler-30")), (("I",), 2, 2, ("crank-coupler",)), (("II",), 1, 1, ()),
    ]  # fmt: skip
    assert order.steps[-1].actuators == ("crank_joint",)
    assert order.cost_at_once == pytest.approx(7**3 / 3)


def test_three_rrr_order():
    """Shah section 8.5: I with five equations and unknowns, then II and III."""
    mechanism = models.three_rrr()
    order = solve(mechanism, *motion(mechanism, models.THREE_RRR_START, 0.1, 2)).order
    assert [(s.subsystems, s.equations, s.unknowns) for s in order.steps] == [
        (("I",), 5, 5), (("II",), 1, 1), (("III",), 1, 1),
    ]  # fmt: skip
    assert order.steps[0].cuts == ("cut7", "cut8")
    assert [s.actuators for s in order.steps] == [("a1_joint",), ("b1_joint",), ("c1_joint",)]


def test_a_body_that_carries_a_whole_loop_is_outside():
    """SR400: the turntable and the wrist are on no loop; the branches on the turntable are subsystems."""
    mechanism = models.parallelogram_arm()
    order = solve(mechanism, *motion(mechanism, ARM_START, 0.2, 2)).order
    assert order.steps[0].joints == ("turntable_joint", "wrist1_joint", "wrist2_joint")
    assert str(order).startswith("outside the loops (3 equations, 3 unknowns: torques of turntable_joint, wrist1_joint")
    assert [s.joints for s in order.subsystems] == [("l2_joint", "l3_joint"), ("l7_joint", "l8_joint")]
    assert order.steps[1].unknowns == 4  # both branches together: each has 2 equations, 3 unknowns


def test_followers_belong_to_their_leader():
    """A geared five-bar has one crank angle: both legs are one subsystem."""
    mechanism = models.geared_five_bar()
    order = solve(mechanism, *motion(mechanism, np.array([2.0, -1.0, 1.0]), count=2)).order
    assert str(order) == "I (3 equations, 3 unknowns: multipliers of tip-joint and torque of a1_joint)"


def test_three_branches_that_need_one_another():
    """No one and no two of them are determinate; the fourth, which hangs together with them, is left for later."""
    mechanism, start = models.row_of_cranks()
    order = solve(mechanism, *motion(mechanism, start, 0.1, 3)).order
    assert [(s.subsystems, s.equations, s.unknowns) for s in order.steps] == [
        (("I", "II", "III"), 7, 7),
        (("IV",), 1, 1),
    ]


def test_cells_on_couplers_stay_small():
    """Each four-bar of a stack is solved by itself, however many there are."""
    mechanism = models.cells(4)
    order = solve(mechanism, *motion(mechanism, np.tile(models.CELL_START, 4), 0.1, 2)).order
    assert len(order.subsystems) == 8
    assert [s.equations for s in order.steps] == [3] * 4
    assert order.cost == 4 * 9.0


# ------------------------------------------------------------------ judges


def test_equals_the_f_matrix(case):
    mechanism, q, v, a = case
    solution = solve(mechanism, q, v, a)
    assert_close(solution.tau, f_matrix(mechanism, q, v, a), 1e-9)


def test_power_is_the_rate_of_energy(case):
    mechanism, q, v, a = case
    tau = solve(mechanism, q, v, a).tau

    def energy(q, v):
        return mechanism.tree.kinetic_energy(q, v) + mechanism.tree.potential_energy(q)

    for i in range(0, len(q), 3):
        expected = rate(energy, mechanism.tree, q[i], v[i], a[i])
        assert tau[i] @ v[i] == pytest.approx(float(expected), abs=1e-8 * max(1.0, float(np.abs(tau[i] * v[i]).sum())))


def test_multipliers_are_the_smallest(case):
    mechanism, q, v, a = case
    solution = solve(mechanism, q, v, a)
    left = mechanism.tree.inverse_dynamics(q, v, a) - solution.tau
    for k, rest, multipliers in zip(mechanism.loop_jacobian(q), left, solution.multipliers, strict=True):
        assert_close(multipliers, np.linalg.pinv(k.T, rcond=1e-9) @ rest, 1e-8)


def test_the_mechanism_uses_it():
    mechanism = models.leg()
    q, v, a = motion(mechanism, models.LEG_START, count=3)
    tau = mechanism.inverse_dynamics(q, v, a, method="subsystems")
    assert_close(tau, mechanism.inverse_dynamics(q, v, a), 1e-10)
    order = mechanism.constraint_forces(q, v, a, method="subsystems").order
    assert str(order).startswith("III (4 equations")


# ------------------------------------------------------------------ redundancy


@pytest.mark.parametrize("weights", [None, [1.0, 5.0, 2.0, 1.0]])
def test_redundant_actuators_share_the_load(weights):
    """Three motors, two freedoms: no other torques for the same motion are smaller."""
    mechanism = models.five_bar(redundant=True)
    q, v, a = motion(models.five_bar(), models.FIVE_BAR_START)
    solution = solve(mechanism, q, v, a, weights)
    assert not solution.order.steps[0].determinate
    assert "not unique" in str(solution.order)
    w = np.ones(4) if weights is None else np.array(weights)
    for tau, k in zip(solution.tau, mechanism.loop_jacobian(q), strict=True):
        # torques that move nothing: S tau in the range of K^T; the found ones are orthogonal to all of them
        inner = np.linalg.svd(k[:, [3]], full_matrices=True)[0][
            :, 1:
        ]  # multipliers without torque at the passive joint
        other = k.T @ inner
        assert np.abs(other).max() > 0.1
        assert_close(other.T @ (w * tau), np.zeros(other.shape[1]), 1e-9, float(np.abs(tau).max()))


def test_redundant_bars_are_counted_and_shared():
    mechanism = models.three_bars()
    q, v, a = motion(mechanism, np.array([1.0, -1.0, 1.0, 1.0]))
    solution = solve(mechanism, q, v, a)
    (step,) = solution.order.steps
    assert (step.equations, step.unknowns, step.determinate) == (4, 5, False)


# ------------------------------------------------------------------ batches and bad input


def test_batches_and_broadcasting():
    mechanism = models.leg()
    q, v, a = motion(mechanism, models.LEG_START, count=6)
    tau_tree, k = mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q)
    whole = recursion.solve(mechanism.model, tau_tree, k, mechanism.driven)
    again = recursion.solve(mechanism.model, tau_tree.reshape(2, 3, 7), k.reshape(2, 3, 15, 7), mechanism.driven)
    assert again.tau.shape == (2, 3, 7)
    assert again.multipliers.shape == (2, 3, 15)
    assert_close(again.tau.reshape(6, 7), whole.tau, 1e-14)
    one = recursion.solve(mechanism.model, tau_tree[:3], k[0], mechanism.driven)
    assert_close(one.tau[0], whole.tau[0], 1e-12)
    assert one.tau.shape == (3, 7)
    none = recursion.solve(mechanism.model, tau_tree[:0], k[:0], mechanism.driven)
    assert none.tau.shape == (0, 7)
    single = recursion.solve(mechanism.model, tau_tree[4], k[4], mechanism.driven)
    assert_close(single.tau, whole.tau[4], 1e-12)


def test_nan_stays_in_its_lane():
    mechanism = models.leg()
    q, v, a = motion(mechanism, models.LEG_START, count=4)
    tau_tree, k = mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q)
    good = recursion.solve(mechanism.model, tau_tree, k, mechanism.driven)
    tau_tree[1, 0], k[2, 3, 2] = np.nan, np.nan
    solution = recursion.solve(mechanism.model, tau_tree, k, mechanism.driven)
    assert np.isnan(solution.tau[1:3]).all()
    assert np.isnan(solution.multipliers[1:3]).all()
    assert_close(solution.tau[[0, 3]], good.tau[[0, 3]], 1e-12)
    assert np.isnan(recursion.solve(mechanism.model, tau_tree[1], np.nan * k[1], mechanism.driven).tau).all()


def test_a_plan_serves_many_calls():
    mechanism = models.leg()
    q, v, a = motion(mechanism, models.LEG_START, count=4)
    tau_tree, k = mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q)
    plan = recursion.SolutionPlan(mechanism.model, k[0], mechanism.driven)
    assert_close(
        plan.solve(tau_tree, k).tau, recursion.solve(mechanism.model, tau_tree, k, mechanism.driven).tau, 1e-12
    )
    empty = recursion.SolutionPlan(mechanism.model, np.nan * k[0], mechanism.driven)
    with pytest.raises(kt.OptionError, match="without a single finite K"):
        empty.solve(tau_tree, k)


def test_too_few_actuators():
    mechanism = models.five_bar()
    q, v, a = motion(mechanism, models.FIVE_BAR_START, count=2)
    tau_tree, k = mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q)
    with pytest.raises(kt.SingularError, match=r"2 freedoms among the joints a1_joint.*but 1 actuator there"):
        recursion.solve(mechanism.model, tau_tree, k, np.array([True, False, False, False]))
    with pytest.raises(kt.SingularError, match="no actuator there"):
        recursion.solve(mechanism.model, tau_tree, k, np.zeros(4, dtype=bool))
    arm = models.parallelogram_arm()
    q, v, a = motion(arm, ARM_START, 0.1, 2)
    driven = arm.driven.copy()
    driven[0] = False
    with pytest.raises(kt.SingularError, match="turntable_joint of 'parallelogram arm' is on no loop and not actuated"):
        recursion.solve(arm.model, arm.tree.inverse_dynamics(q, v, a), arm.loop_jacobian(q), driven)


def test_singular_state_is_named():
    """Five-bar with both distal links in line: the motors cannot hold the tip."""
    mechanism = models.five_bar()
    q = np.stack([*motion(mechanism, models.FIVE_BAR_START, count=3)[0], models.five_bar_folded()])
    assert mechanism.closure_error(q).max() < 1e-12
    with pytest.raises(kt.SingularError, match=r"subsystem I \+ II .* are singular at state 3 of the batch"):
        recursion.solve(mechanism.model, np.ones((4, 4)), mechanism.loop_jacobian(q), mechanism.driven)
    k = mechanism.loop_jacobian(q).reshape(2, 2, 5, 4)
    with pytest.raises(
        kt.SingularError, match=r"singular at state \(1, 1\) of the batch: the multipliers of tip-joint"
    ):
        recursion.solve(mechanism.model, np.ones((2, 2, 4)), k, mechanism.driven)


def test_refused_arguments():
    mechanism = models.four_bar()
    q, v, a = models.four_bar_state(TIMES, mechanism)
    tau_tree, k = mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q)
    with pytest.raises(kt.ShapeError, match="actuated must be 3 booleans"):
        recursion.solve(mechanism.model, tau_tree, k, [1, 0, 0])
    with pytest.raises(kt.ShapeError, match="tau_tree"):
        recursion.solve(mechanism.model, tau_tree[:, :2], k, mechanism.driven)
    with pytest.raises(kt.OptionError, match="weights must be positive"):
        recursion.solve(mechanism.model, tau_tree, k, mechanism.driven, [0.0, 1.0, 1.0])
    with pytest.raises(kt.ShapeError, match="weights"):
        recursion.solve(mechanism.model, tau_tree, k, mechanism.driven, [1.0, 1.0])


def test_an_order_that_does_not_hold_is_noticed():
    """A plan made from a constraint matrix in which a coupling happens to vanish."""
    mechanism = models.leg()
    q, v, a = motion(mechanism, models.LEG_START, count=3)
    tau_tree, k = mechanism.tree.inverse_dynamics(q, v, a), mechanism.loop_jacobian(q)
    uncoupled = k[0].copy()
    uncoupled[5:10, 1:3] = 0.0  # cut9 without its hold on subsystem II
    plan = recursion.SolutionPlan(mechanism.model, uncoupled, mechanism.driven)
    assert str(plan.order).startswith("II (")
    plan.solve(tau_tree[0], uncoupled)
    with pytest.raises(kt.SingularError, match="hold differently at state 1 of the batch"):
        plan.solve(tau_tree, np.stack([uncoupled, k[1], k[2]]))


def random_mechanism(rng):
    """A random tree with random loop joints that fit at a random configuration."""
    b = kt.Builder("random")
    names = ["base"]
    kinds = [kt.Revolute, kt.Prismatic]
    for i in range(int(rng.integers(8, 13))):
        parent = "base" if rng.random() < 0.3 else names[rng.integers(len(names))]
        axis = rng.normal(size=3)
        b.body(f"body{i}", parent, kinds[rng.integers(2)](axis), position=rng.normal(size=3), rpy=rng.normal(size=3),
               mass=rng.uniform(0.5, 2), com=rng.normal(size=3), inertia=rng.uniform(1, 1.5, 3))  # fmt: skip
        names.append(f"body{i}")
    tree = b.build()
    q = rng.normal(size=tree.nq)
    rods = [kt.Distance(1.0)] * 4  # these leave most freedoms, so that there is something to drive
    closers = [*rods, kt.Spherical(), kt.Universal("XY"), kt.Cylindrical("y"), kt.Planar("x")]
    for i in range(int(rng.integers(1, 4))):
        first, second = rng.choice(names, 2, replace=False)
        kind = closers[rng.integers(len(closers))]
        point = kt.Pose.of(rng.normal(size=3), rpy=rng.normal(size=3)).matrix
        shift = kt.Pose.of((1.0, 0, 0) if isinstance(kind, kt.Distance) else (0, 0, 0)).matrix
        placement = np.linalg.inv(tree.pose(q, first)) @ point
        seat = np.linalg.inv(tree.pose(q, second)) @ point @ shift
        b.loop(f"loop{i}", first, second, kind, placement=placement, seat=seat)
    return b.build(), q


@pytest.mark.parametrize("seed", range(40))
def test_random_mechanisms(seed):
    """Torques by the motions that the loops allow (Khalil), whatever the tree, the loops and the actuators."""
    rng = np.random.default_rng(seed)
    mechanism, q = random_mechanism(rng)
    k = mechanism.loop_jacobian(q)
    _, s, vt = np.linalg.svd(k)
    n = vt[int((s > 1e-9 * s[0]).sum()) :]
    driven = np.zeros(mechanism.nv, dtype=bool)
    chosen = rng.permutation(mechanism.nv)
    for j in chosen:  # actuators one by one until they hold every motion, and sometimes one more
        short = np.linalg.matrix_rank(n[:, driven], 1e-6) < len(n)
        driven[j] = short or (seed % 2 and rng.random() < 0.1)
    v = n.T @ rng.normal(size=len(n))
    a = np.linalg.lstsq(k, -mechanism.loop_drift(q, v), rcond=1e-9)[0] + n.T @ rng.normal(size=len(n))
    tau_tree = mechanism.tree.inverse_dynamics(q, v, a)
    weights = rng.uniform(0.5, 2.0, mechanism.nv)
    solution = recursion.solve(mechanism.model, tau_tree, k, driven, weights)
    scale = 1.0 / np.sqrt(weights[driven])
    expected = np.zeros(mechanism.nv)
    if len(n):
        expected[driven] = scale * (np.linalg.pinv(n[:, driven] * scale, rcond=1e-10) @ (n @ tau_tree))
    size = float(np.abs(tau_tree).max() + np.abs(expected).max())
    assert_close(solution.tau, expected, 1e-7, size)
    assert_close(tau_tree - solution.tau, k.T @ solution.multipliers, 1e-8, size + np.abs(solution.multipliers).max())
    assert_close(
        solution.multipliers, np.linalg.pinv(k.T, rcond=1e-9) @ (tau_tree - solution.tau), 1e-6,
        float(np.abs(solution.multipliers).max()) or 1.0,
    )  # fmt: skip
    together = [s for step in solution.order.steps for s in step.subsystems]
    assert sorted(together) == sorted(s.name for s in solution.order.subsystems)


def test_the_order_in_constraint_forces_has_sizes_and_prints_as_a_sentence():
    four_bar = kt.gallery.load("four-bar")
    state = kt.gallery.motion("four-bar").states(0.1)
    order = four_bar.constraint_forces(*state, method="subsystems").order
    assert order.sizes == (2, 1)
    assert "2 equations" in str(order)
    assert ", then " in str(order)
    assert four_bar.constraint_forces(*state).order is None
