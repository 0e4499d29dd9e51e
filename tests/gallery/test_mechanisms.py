"""The gallery's mechanisms: the sources' numbers and facts, closure, mobility, power."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from helpers.compare import OFFSETS, WEIGHTS, assert_close, times
from judges import five_bar_plane
from kinetree import gallery
from kinetree.studies import named_systems
from kinetree_gallery import systems
from kinetree_gallery.systems.three_rrr import system as three_rrr

FOUR_BARS = ("four-bar", "four-bar-table-8-1")
DEGREE = np.pi / 180

# freedoms by rank, and 6 (bodies - joints) + freedoms of all joints
FREEDOMS = {
    "four-bar": (1, -2),
    "four-bar-table-8-1": (1, -2),
    "robotic-leg": (1, -8),
    "3-rrr": (3, -3),
    "five-bar": (2, -1),
    "carpet-scraper": (1, -8),
    "sr400": (6, 3),
    "slider-crank": (1, -2),
    "hoeken": (1, -2),
    "stewart-platform": (6, 6),
    "delta": (3, 3),
    "bricard": (1, 0),
    "jansen": (1, -8),
    "klann": (1, -5),
    "wiper": (1, -5),
    "toggle-clamp": (1, -2),
    "slider-crank-balance": (1, -2),
    "path-9-points": (1, -2),
    "delta-design": (3, 3),
}
NAMES = list(FREEDOMS)
FLOATING = ["space-four-bar", "space-five-bar", "space-six-bar"]


def printed(value: np.ndarray, expected: np.ndarray | list, digits: int) -> None:
    """Equal after rounding to the printed digits: off by at most half a unit of the last."""
    np.testing.assert_allclose(value, expected, rtol=0, atol=0.5000001 * 10.0**-digits)


def inner_times(name: str, count: int) -> np.ndarray:
    """Times inside the span, at no special place."""
    first, last = gallery.motion(name).span
    return first + (last - first) * (np.arange(count) + 0.37) / count


# ---------------------------------------------------------------- the book's numbers

TIMES = np.array([0.0, 1.0, 2.0, 3.0]) / 3.0
ANGLES = [[0.984373, 4.314439], [1.536642, 4.012933], [1.345368, 3.592450], [0.733610, 4.012933]]
TORQUES = {
    "four-bar": [2.009999, -0.018579, -1.679998, -0.069872],
    "four-bar-table-8-1": [1.544024, -0.032275, -1.214023, -0.056177],
}
EXTREMES = {"four-bar": (2.0100, -2.8363), "four-bar-table-8-1": (1.5440, -3.4918)}
MULTIPLIERS = [[-15.71413, 45.53722], [0.48893, 22.82715], [-1.36068, 36.85296], [-1.83874, 67.79770]]


@pytest.mark.parametrize("name", FOUR_BARS)
def test_four_bar_angles_and_rates(name):
    q, v, a = gallery.motion(name).states(TIMES)
    printed(q[:, 1:], ANGLES, 6)
    printed(v[0, 1:], [1.404477, 0.0], 6)
    printed(a[0, 1:], [3.086670, -6.173340], 6)
    np.testing.assert_allclose(q[:, 0], 1.5 * np.pi * TIMES, atol=1e-15)


@pytest.mark.parametrize("name", FOUR_BARS)
@pytest.mark.parametrize("method", ["reduced", "f_matrix", "subsystems"])
def test_four_bar_torques(name, method):
    tau = gallery.load(name).inverse_dynamics(*gallery.motion(name).states(TIMES), method=method)
    printed(tau[:, 0], TORQUES[name], 6)
    assert not tau[:, 1:].any()


@pytest.mark.parametrize("name", FOUR_BARS)
def test_four_bar_extreme_torques(name):
    motion = gallery.motion(name)
    tau = gallery.load(name).inverse_dynamics(*motion.states(motion.grid(4001)))[:, 0]
    printed(np.array([tau.max(), tau.min()]), list(EXTREMES[name]), 4)


def test_four_bar_multipliers_in_world_axes():
    forces = gallery.load("four-bar").constraint_forces(*gallery.motion("four-bar").states(TIMES))
    printed(forces.loop_wrenches_world[:, 0, 3:5], MULTIPLIERS, 5)
    printed(forces.tau[:, 0], TORQUES["four-bar"], 6)
    # nothing in the plane asks for forces out of it
    np.testing.assert_allclose(forces.loop_wrenches_world[:, 0, [0, 1, 5]], 0.0, atol=1e-10)


@pytest.mark.parametrize("name", FOUR_BARS)
@pytest.mark.parametrize("cut", ["coupler_joint", "rocker_joint"])
def test_four_bar_torques_do_not_depend_on_the_cut(name, cut):
    mechanism = gallery.load(name)
    motion = gallery.motion(name)
    times_ = motion.grid(41)
    q, v, a = motion.states(times_)
    expected = mechanism.inverse_dynamics(q, v, a)[:, 0]
    again = mechanism.with_cuts([cut])
    assert again.loop_names == [cut]
    assert set(again.joint_names) == {"crank_joint", "rocker_joint", "coupler_joint", "crank_pin"} - {cut}
    angles = dict(zip(mechanism.joint_names, q.T, strict=True)) | {"crank_pin": q[:, 1] + q[:, 2] - q[:, 0]}
    guess = np.stack([angles[joint] for joint in again.joint_names], axis=-1)
    closed = again.close(guess, fixed=["crank_joint"])
    assert_close(closed, guess, 1e-9)  # turns are counted alike: the same angles close the other tree, too
    crank = again.joint("crank_joint").v_slice.start
    v_again = again.velocities(closed, v[:, :1])
    a_again = again.accelerations(closed, v_again, a[:, :1])
    tau = again.inverse_dynamics(closed, v_again, a_again)
    assert_close(tau[:, crank], expected, 1e-9)
    assert_close(again.constraint_forces(closed, v_again, a_again).tau[:, crank], expected, 1e-9)


# ---------------------------------------------------------------- every system


@pytest.mark.parametrize("name", NAMES + FLOATING)
def test_starts_are_closed(name):
    mechanism = gallery.load(name)
    for which in ("motion", *({"3-rrr": ("free-fall",), "five-bar": ("free-fall",)}.get(name, ()))):
        q = gallery.start(name, which)
        assert q.shape == (mechanism.nq,)
        assert mechanism.closure_error(q) < 1e-12
    np.testing.assert_array_equal(gallery.start(name), gallery.motion(name).states(0.0).q)


@pytest.mark.parametrize("name", NAMES + FLOATING)
def test_motions_keep_the_loops_closed(name):
    mechanism, motion = gallery.load(name), gallery.motion(name)
    q, v, a = motion.states(motion.grid(301))
    k = mechanism.loop_jacobian(q)
    assert mechanism.closure_error(q).max() < 1e-12
    assert np.abs(times(k, v)).max() < 1e-12 * (1 + np.abs(v).max())
    assert np.abs(times(k, a) + mechanism.loop_drift(q, v)).max() < 1e-12 * (1 + np.abs(a).max())
    # no jump from one branch, or one turn, to another
    assert np.abs(mechanism.difference(q[:-1], q[1:])).max() < 3 * np.abs(v).max() * np.ptp(motion.span) / 300


@pytest.mark.parametrize("name", NAMES + FLOATING)
def test_velocities_and_accelerations_are_derivatives_of_the_positions(name):
    mechanism, motion = gallery.load(name), gallery.motion(name)
    step = 1e-3 * np.ptp(motion.span)
    for t in inner_times(name, 3):
        q, v, a = motion.states(t)
        around = motion.states(t + step * OFFSETS)
        moved = np.tensordot(WEIGHTS, mechanism.difference(np.broadcast_to(q, around.q.shape), around.q), 1) / step
        assert_close(moved, v, 1e-8, scale=1 + np.abs(v).max())
        assert_close(np.tensordot(WEIGHTS, around.v, 1) / step, a, 1e-8, scale=1 + np.abs(a).max())


@pytest.mark.parametrize("name", NAMES)
def test_the_driven_joints_decide_the_rest(name):
    motion = gallery.motion(name)
    mechanism = gallery.load(name).with_independent(motion.joints)
    t = inner_times(name, 5)
    q, v, a = motion.states(t)
    q_driven, v_driven, a_driven = motion(t)
    assert_close(mechanism.velocities(q, v_driven), v, 1e-9, scale=1 + np.abs(v).max())
    assert_close(mechanism.accelerations(q, v, a_driven), a, 1e-9, scale=1 + np.abs(a).max())
    rng = np.random.default_rng(5)
    guess = mechanism.integrate(q, 0.02 * rng.standard_normal(v.shape))
    closed = mechanism.close(guess, fixed=dict(zip(motion.joints, q_driven.T, strict=True)))
    assert np.abs(mechanism.difference(q, closed)).max() < 1e-8


@pytest.mark.parametrize("name", NAMES)
def test_mobility(name):
    mechanism, motion = gallery.load(name), gallery.motion(name)
    freedoms, counted = FREEDOMS[name]
    assert len(motion.joints) == freedoms
    for t in inner_times(name, 2):
        report = mechanism.mobility(motion.states(t).q)
        assert report.freedoms == freedoms
        assert report.gruebler == counted
        assert len(report.redundant) == freedoms - counted
    driven = {joint.name for joint in mechanism.model.joints if joint.actuated}
    assert driven == set(motion.joints)


@pytest.mark.parametrize("name", NAMES)
def test_actuator_power_is_the_change_of_energy(name):
    mechanism, motion = gallery.load(name), gallery.motion(name)
    step = 4e-4 * np.ptp(motion.span)
    t = inner_times(name, 40)
    around = motion.states(t[:, None] + step * OFFSETS)
    energy = mechanism.kinetic_energy(around.q, around.v) + mechanism.potential_energy(around.q)
    energy -= energy[:, :1]
    change = energy @ WEIGHTS / step
    q, v, a = motion.states(t)
    power = (mechanism.inverse_dynamics(q, v, a) * v).sum(axis=-1)
    assert_close(power, change, 1e-8, scale=max(1.0, np.abs(change).max()))


@pytest.mark.parametrize("name", NAMES)
def test_three_ways_to_the_actuator_forces(name):
    mechanism, motion = gallery.load(name), gallery.motion(name)
    q, v, a = motion.states(inner_times(name, 25))
    tau = mechanism.inverse_dynamics(q, v, a)
    for method in ("f_matrix", "subsystems"):
        assert_close(mechanism.inverse_dynamics(q, v, a, method=method), tau, 1e-9)
    assert_close(mechanism.forward_dynamics(q, v, tau), a, 1e-8, scale=1 + np.abs(a).max())


def test_compiled_as_the_reference():
    for name in ("3-rrr", "delta"):
        mechanism, state = gallery.load(name), gallery.motion(name).states(inner_times(name, 7))
        compiled = mechanism.with_backend("compiled")
        assert_close(compiled.inverse_dynamics(*state), mechanism.inverse_dynamics(*state), 1e-11)


# ---------------------------------------------------------------- facts of the sources


def test_robotic_leg_as_the_notes_have_it():
    stated = [0.0, 4.51103, -2.73888, -0.87644, -1.46037, -1.46037, -1.68122]
    printed(gallery.start("robotic-leg"), stated, 5)
    motion = gallery.motion("robotic-leg")
    mechanism = gallery.load("robotic-leg")
    # theta_1^4 = theta_1^5 all along, found by closing the loops, not by the closed form
    q = motion.states(motion.grid(21)).q
    rng = np.random.default_rng(3)
    closed = mechanism.close(q + 0.05 * rng.standard_normal(q.shape), fixed={"crank_joint": q[:, 0]})
    upper, shank = (mechanism.joint(f"{body}_joint").q_slice.start for body in ("upper_bar", "shank"))
    assert_close(closed[:, upper], closed[:, shank], 1e-9)
    # the pantograph magnifies four times: 200 / 50 mm
    pivot = np.array([0.07, -0.03, 0.0])
    pen = mechanism.pose(closed, "coupler")[:, :3] @ np.array([-0.0625, 0.0, 0.0, 1.0])
    foot = mechanism.pose(closed, "foot")[:, :3, 3]
    assert_close(foot - pivot, 4 * (pen - pivot), 1e-9)


def test_three_rrr_starts_where_redysim_does():
    # arms, first forearm and platform as ReDySim prints them for t = 0; its other forearms hang on the arms
    q = gallery.start("3-rrr")
    printed(q[[0, 1, 2, 5, 6]], [1.9814, -2.3099, 0.3284, -1.6050, 0.5403], 4)
    heading = q[:3].sum()
    printed(np.array([q[3] + heading - q[5] - np.pi, q[4] + heading + np.pi / 3 - q[6] + np.pi]) % (2 * np.pi),
            np.array([-2.8061, -2.5131]) % (2 * np.pi), 4)  # fmt: skip


def test_three_rrr_platform_goes_round():
    motion, mechanism = gallery.motion("3-rrr"), gallery.load("3-rrr")
    t = motion.grid(17)
    pose = mechanism.pose(motion.states(t).q, "middle")
    circle = [0.5 + np.sqrt(3) / 16 * np.cos(4 * t), np.sqrt(3) / 6 + np.sqrt(3) / 16 * np.sin(4 * t), 0 * t]
    assert_close(pose[:, :3, 3], np.stack(circle, axis=-1), 1e-12)
    assert_close(pose[:, :3, :3], np.broadcast_to(np.eye(3), (17, 3, 3)), 1e-12)


def test_three_rrr_table_8_4():
    mechanism = gallery.load("3-rrr")
    table = np.array([1.0472, -0.8727, 3.7525, 1.3090, 2.9322, 4.1888, 5.7596])
    np.testing.assert_allclose(table / DEGREE, np.round(table / DEGREE), atol=6e-3)  # whole degrees
    assert abs(table[:3].sum() - 225 * DEGREE) < 1e-4  # the platform's heading
    tips = [mechanism.pose(table, body)[:3] @ np.array([0.6, 0, 0, 1]) for body in ("forearm_2", "forearm_3")]
    pivots = [tip[:2] - 0.4 * np.array([np.cos(x), np.sin(x)]) for tip, x in zip(tips, table[5:], strict=True)]
    printed(np.array(pivots), [[1.008, -0.005], [0.517, 0.863]], 3)
    misses = np.linalg.norm(np.array(pivots) - [[1, 0], [0.5, np.sqrt(3) / 2]], axis=-1)
    assert misses.max() == pytest.approx(0.017, abs=5e-4)
    # the assembled start keeps leg 1 and the platform and is nowhere more than two degrees off
    start = gallery.start("3-rrr", "free-fall")
    np.testing.assert_allclose(start[:3], table[:3], rtol=1e-15)
    assert np.abs(start - table).max() < 2 * DEGREE
    assert table.tolist() == list(three_rrr.FREE_FALL)


def test_sr400_closure_relations():
    mechanism = gallery.load("sr400")
    rng = np.random.default_rng(8)
    q, v, a = gallery.motion("sr400").states(np.linspace(0, 2, 9))
    guess = q + 0.1 * rng.standard_normal(q.shape)
    closed = mechanism.close(guess, fixed=[f"joint_{k}" for k in (1, 2, 4, 5, 6, 7)])
    t2, t3, t7, t8 = closed[:, 1], closed[:, 2], closed[:, 6], closed[:, 7]
    assert_close(t3, np.pi / 2 - t2 + t7, 1e-10)
    assert_close(t8, t2 - t7, 1e-10)
    # Khalil example 10.1: the actuated torques from those of the tree
    tree = mechanism.tree.inverse_dynamics(q, v, a)
    tau = mechanism.inverse_dynamics(q, v, a)
    expected = tree.copy()
    expected[:, 1] += tree[:, 7] - tree[:, 2]
    expected[:, 6] += tree[:, 2] - tree[:, 7]
    expected[:, [2, 7]] = 0.0
    assert_close(tau, expected, 1e-10)


def test_carpet_scraper_data_and_stroke():
    mechanism, motion = gallery.load("carpet-scraper"), gallery.motion("carpet-scraper")
    # Table 5's inertias about link origins are those of uniform bars, to the printed digits
    lengths = {"crank": 0.038, "rocker": 0.115, "boom": 0.335, "upper_bar": 0.239, "arm": 3.5 * 0.239}
    for name, length in lengths.items():
        body = mechanism.body(name).mass_properties
        about_origin = body.inertia[2] + body.mass * body.com[0] ** 2
        assert about_origin == pytest.approx(body.mass * length**2 / 3, rel=6e-3)
    assert mechanism.body("coupler").mass_properties.inertia[2] == pytest.approx(5 * 0.23**2 / 12, rel=6e-3)
    q = motion.states(motion.grid(61)).q
    drawn = mechanism.pose(q, "coupler")[:, :3] @ np.array([-0.115, 0, 0, 1])
    scraper = mechanism.pose(q, "scraper")[:, :3, 3]
    pivot = np.array([0.038, 0.410, 0])
    assert np.abs(scraper - pivot - 3.5 * (drawn - pivot)).max() < 1.01e-3  # 3.5 * 0.096 is 0.336, not 0.335
    # over half of each turn the scraper keeps its height
    near = np.abs(scraper[:, 1] - np.median(scraper[:, 1])) < 0.02 * np.ptp(scraper[:, 0])
    assert near.sum() > 30


def test_hoeken_draws_a_straight_line():
    mechanism = gallery.load("hoeken")
    motion = gallery.motion("hoeken")
    crank = np.linspace(90, 270, 91) * DEGREE
    pen = mechanism.pose(motion.states(crank / np.pi).q, "pen")[:, :3, 3]
    assert np.ptp(pen[:, 0]) == pytest.approx(0.4, abs=1e-12)
    assert np.ptp(pen[:, 1]) < 1e-3


def test_slider_crank_in_closed_form():
    mechanism = gallery.load("slider-crank")
    t = np.linspace(0, 1, 13)
    q, v, _ = gallery.motion("slider-crank").states(t)
    angle = 2 * np.pi * t
    root = np.sqrt(0.09 - 0.01 * np.sin(angle) ** 2)
    assert_close(q[:, 2], 0.1 * np.cos(angle) + root, 1e-12)
    assert_close(v[:, 2], -2 * np.pi * 0.1 * np.sin(angle) * (1 + 0.1 * np.cos(angle) / root), 1e-12)
    assert_close(mechanism.pose(q, "slider")[:, 0, 3], q[:, 2], 1e-12)


def test_platforms_go_where_they_are_sent():
    t = np.linspace(0, 2, 9)
    wave, rise = np.sin(np.pi * t), 0.5 * (1 - np.cos(np.pi * t))
    stewart = gallery.load("stewart-platform").pose(gallery.motion("stewart-platform").states(t).q, "middle")
    assert_close(stewart[:, :3, 3], np.stack([0.08 * wave, -0.05 * wave, 0.7 + 0.1 * rise], axis=-1), 1e-12)
    turned = 1 + 2 * np.cos(0.2 * wave)  # at half time there is no tilt: the trace is that of the turn alone
    assert np.trace(stewart[4, :3, :3]) == pytest.approx(1 + 2 * np.cos(0.3), abs=1e-12)
    assert turned[4] == pytest.approx(3.0)
    delta = gallery.load("delta").pose(gallery.motion("delta").states(t).q, "middle")
    circle = [0.12 * np.cos(np.pi * t), 0.12 * np.sin(np.pi * t), -0.55 - 0.08 * rise]
    assert_close(delta[:, :3, 3], np.stack(circle, axis=-1), 1e-12)
    assert_close(delta[:, :3, :3], np.broadcast_to(np.eye(3), (9, 3, 3)), 1e-12)


def test_bricard_moves_although_gruebler_counts_nothing():
    mechanism = gallery.load("bricard")
    report = mechanism.mobility(gallery.start("bricard"))
    assert (report.freedoms, report.gruebler, len(report.redundant)) == (1, 0, 1)
    # found by closing the loop, not by the closed form: it goes on to move
    for angle in (0.2, 0.7, 1.4, -0.4):
        steps = np.linspace(0.0, angle, 8)[1:]
        q = np.zeros(5)
        for step in steps:
            q = mechanism.close(q, fixed={"bar_1_joint": step})
        assert np.sin(q[1]) == pytest.approx(np.sin(angle) / (1 + np.sin(angle)), abs=1e-8)
        assert mechanism.mobility(q).freedoms == 1
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 0, -1], [1, -1, -1], [0, -1, -1]], dtype=float)
    zero = np.zeros(5)
    assert_close(np.array([mechanism.pose(zero, f"bar_{k}")[:3, 3] for k in range(1, 6)]), corners, 1e-15)
    assert_close(mechanism.pose(zero, "P3")[:3, 3], corners[3], 1e-15)


# ---------------------------------------------------------------- the five-bar's lost figure


def readings() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every reading of the lost figure whose trajectory assembles all the way: base, leg 2 mirrored, side."""
    grids = np.meshgrid(np.arange(1, 28) / 10, [False, True], [1, -1], indexing="ij")
    base, mirrored, side = (grid.ravel() for grid in grids)
    fits = np.ones(base.size, dtype=bool)
    for share in np.linspace(0, 1, 201):
        first, second = (30 + 60 * share) * DEGREE, (30 + 40.3 * share) * DEGREE
        fits &= ~np.isnan(five_bar_plane.assembled(base, mirrored, side, first, second)).any(axis=-1)
    return base[fits], mirrored[fits], side[fits]


def test_only_one_reading_of_the_figure_falls_as_stated():
    base, mirrored, side = readings()
    assert base.size == 68
    start = five_bar_plane.assembled(base, mirrored, side, 80 * DEGREE, 70 * DEGREE)
    when = five_bar_plane.time_to_singularity(start, 1.5, step=1e-3)
    chosen = np.flatnonzero((when >= 1.35) & (when < 1.45))
    assert [(base[k], mirrored[k], side[k]) for k in chosen] == [(1.2, False, -1)]


def test_five_bar_falls_into_its_singularity():
    mechanism = gallery.load("five-bar").with_backend("compiled")
    base = np.array([1.2])
    start = five_bar_plane.assembled(base, np.array([False]), np.array([-1]), 80 * DEGREE, 70 * DEGREE)
    q0 = gallery.start("five-bar", "free-fall")
    absolute = np.array([q0[0], q0[0] + q0[1], q0[2], q0[2] + q0[3]])
    assert_close(np.exp(1j * absolute), np.exp(1j * start[0]), 1e-12)

    def fall(_, state):
        return np.concatenate(
            [state[4:], mechanism.forward_dynamics(state[:4], state[4:], np.zeros(4), tolerance=1e-3)]
        )

    def in_line(_, state):
        return abs(np.sin(state[0] + state[1] - state[2] - state[3])) - 0.01

    in_line.terminal = True
    motion = solve_ivp(fall, (0, 3), np.concatenate([q0, np.zeros(4)]), events=in_line, rtol=1e-8, atol=1e-10)
    assert motion.status == 1
    expected = five_bar_plane.time_to_singularity(start, 1.5)[0]
    assert motion.t[-1] == pytest.approx(expected, abs=2e-3)
    assert round(expected, 1) == 1.4
    assert mechanism.closure_error(motion.y[:4, -1]) < 1e-5
    energy = mechanism.kinetic_energy(motion.y[:4].T, motion.y[4:].T) + mechanism.potential_energy(motion.y[:4].T)
    assert np.ptp(energy) < 1e-4


# ---------------------------------------------------------------- the chain of four-bar cells


@pytest.mark.parametrize("cells", [1, 2, 5])
def test_chain_of_four_bar_cells(cells):
    chain = gallery.four_bar_chain(cells)
    assert len(chain.body_names) == 2 * cells + 1
    lean = np.array([-0.9, -0.2, 0.3, 1.1])
    q = gallery.four_bar_chain_leaning(cells, lean)
    assert chain.closure_error(q).max() < 1e-12
    report = chain.mobility(q[1])
    assert (report.freedoms, report.gruebler) == (1, 1 - 3 * cells)
    # one freedom: rods turn about their feet, couplers go along without turning
    rate = np.array([0.4, -1.0, 2.0, 0.1])
    v = rate[:, None] * np.sign(gallery.four_bar_chain_leaning(cells, 1.0))
    inertia = (cells + 1) / 3 + cells
    pull = 9.81 * ((cells + 1) / 2 + cells) * np.sin(lean)
    a = chain.forward_dynamics(q, v, np.zeros(chain.nv))
    assert_close(a[:, 0], pull / inertia, 1e-9)
    assert_close(chain.kinetic_energy(q, v), 0.5 * inertia * rate**2, 1e-12)
    a = (2.0 * v) / rate[:, None]
    assert_close(chain.inverse_dynamics(q, v, a)[:, 0], 2.0 * inertia - pull, 1e-9)
    assert_close(chain.pose(q, "coupler_0")[:, :3, :3], np.broadcast_to(np.eye(3), (4, 3, 3)), 1e-12)


def test_chains_that_cannot_be():
    for cells in (0, -3):
        with pytest.raises(kt.OptionError, match="cells must be a whole number from 1"):
            gallery.four_bar_chain(cells)
    with pytest.raises(kt.OptionError, match="whole number"):
        gallery.four_bar_chain(2.5)


# ---------------------------------------------------------------- the gallery itself


def test_every_system_says_where_it_comes_from():
    closed = [name for name in gallery.names() if gallery.load(name).model.loops]
    assert [name for name in closed if not gallery.load(name).model.velocity_constraints] == NAMES + FLOATING
    for name in NAMES + FLOATING:
        about = gallery.about(name)
        assert about.name == name
        assert about.source
        assert about.assumed
        assert about.title in str(about)
        text = gallery.model_text(name)
        assert text.startswith("#")
        assert f"name: {name}\n" in text
        assert gallery.load(name).name == name
        assert isinstance(gallery.load(name, strict=True), kt.Mechanism)  # nothing odd in the file
    files = Path(systems.__file__).parent.glob("*/model.yaml")
    assert sorted(file.parent.name for file in files) == sorted(named_systems.folder(name) for name in gallery.names())


def test_loading_takes_the_options_of_load():
    assert not gallery.load("four-bar", gravity=(0, 0, 0)).potential_energy(gallery.start("four-bar")).any()


def test_unknown_names_suggest_the_nearest():
    for function in (gallery.load, gallery.about, gallery.motion, gallery.start, gallery.model_text):
        with pytest.raises(kt.UnknownNameError, match="did you mean 'four-bar'"):
            function("four_bar")
    with pytest.raises(kt.UnknownNameError, match="free-fall"):
        gallery.start("five-bar", "freefall")
    with pytest.raises(kt.OptionError, match="named by a text"):
        gallery.start("five-bar", np.zeros(2))
    with pytest.raises(kt.UnknownNameError, match="system in the gallery"):
        gallery.load(3)


def test_motions_at_one_time_and_at_many():
    motion = gallery.motion("delta")
    one, many = motion.states(0.3), motion.states([[0.1, 0.3], [0.5, 0.7]])
    assert one.q.shape == (19,)
    assert many.v.shape == (2, 2, 18)
    np.testing.assert_allclose(many.a[0, 1], one.a, rtol=1e-13, atol=1e-13)
    q, v, a = motion(0.3)
    assert q.shape == v.shape == a.shape == (3,)
    assert motion.grid(3).tolist() == [0.0, 1.0, 2.0]
