"""Parallel manipulators: closed forms, differences, line geometry and the tree's Jacobians as judges."""

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from helpers.compare import assert_close
from helpers.loop_models import THREE_RRR_START, three_rrr
from kinetree.robot.platform.platform import Platform
from kinetree_books.denoc import twist_shift
from kinetree_books.parallel_denoc import projector

DELTA_START = np.array([0.3, 1.2, 0, 0, -1.5, 0.3, 1.2, 0, 0.3, 1.2, 0])
HIGH = kt.Pose.of((0.1, 0.05, 1.2), rpy=(0.1, -0.05, 0.2)).matrix


def make_three_rrr():
    mechanism = models.three_rrr()
    return Platform(mechanism, "center"), mechanism.close(models.THREE_RRR_START)


def make_five_bar():
    mechanism = models.five_bar()
    return Platform(mechanism, "tip", orientation=False), mechanism.close(models.FIVE_BAR_START)


def make_stewart():
    mechanism = models.stewart()
    return Platform(mechanism, "top"), models.stewart_at(mechanism, HIGH)


def make_delta():
    mechanism = models.delta()
    return Platform(mechanism, "center"), mechanism.close(DELTA_START)


MAKERS = {"3-RRR": make_three_rrr, "five-bar": make_five_bar, "stewart": make_stewart, "delta": make_delta}


@pytest.fixture(scope="module", params=MAKERS)
def case(request):
    return MAKERS[request.param]()


def circles(a, ra, b, rb):
    """Both points at given distances from two others in the plane."""
    d = np.linalg.norm(b - a)
    along = (ra**2 - rb**2 + d**2) / (2 * d)
    across = np.sqrt(ra**2 - along**2)
    u = (b - a) / d
    return [a + along * u + s * across * np.array([-u[1], u[0]]) for s in (1, -1)]


def polar(length, angle):
    return length * np.array([np.cos(angle), np.sin(angle)])


# ------------------------------------------------------------------ positions


def test_five_bar_forward_kinematics():
    platform, q = make_five_bar()
    th1, th2 = platform.positions(q)
    expected = circles(polar(0.6, th1), 1.1, np.array([1, 0]) + polar(0.7, th2), 1.2)
    found = platform.assemblies(positions=[th1, th2])
    tips = platform.pose(found)[:, :2, 3]
    assert len(found) == 2
    for tip in expected:
        assert np.abs(tips - tip).max(axis=1).min() < 1e-9
    assert_close(platform.forward([th1, th2], q), q, 1e-9)


def test_five_bar_inverse_kinematics():
    platform, _ = make_five_bar()
    tip = np.array([0.4, 1.2])
    elbows = [circles(np.zeros(2), 0.6, tip, 1.1), circles(np.array([1.0, 0]), 0.7, tip, 1.2)]
    feet = [np.zeros(2), np.array([1.0, 0])]
    angles = [[np.arctan2(*(e - foot)[::-1]) for e in pair] for pair, foot in zip(elbows, feet, strict=True)]
    expected = np.array([[a, b] for a in angles[0] for b in angles[1]])
    found = platform.positions(platform.assemblies(target=[*tip, 0.0]))
    assert len(found) == 4
    for pair in expected:
        assert np.abs(found - pair).max(axis=1).min() < 1e-9


def test_three_rrr_inverse_kinematics():
    """Each leg has two elbows: eight in all, by circles."""
    platform, q = make_three_rrr()
    pose = platform.pose(q)
    corners = [(0, 0), (0.4, 0), (0.2, 0.2 * np.sqrt(3))]
    feet = [(0, 0), (1, 0), (0.5, np.sqrt(3) / 2)]
    middle = np.array([0.2, 0.2 / np.sqrt(3)])
    choices = []
    for corner, foot in zip(np.array(corners), np.array(feet), strict=True):
        top = pose[:2, 3] + pose[:2, :2] @ (corner - middle)
        choices.append([np.arctan2(*(e - foot)[::-1]) for e in circles(foot, 0.4, top, 0.6)])
    expected = np.array([[a, b, c] for a in choices[0] for b in choices[1] for c in choices[2]])
    found = platform.positions(platform.assemblies(target=pose))
    order = [platform.actuated.index(n) for n in ("a1_joint", "b1_joint", "c1_joint")]
    assert len(found) == 8
    for angles in expected:
        assert np.abs(found[:, order] - angles).max(axis=1).min() < 1e-9


def test_three_rrr_forward_kinematics_finds_several_assemblies():
    platform, q = make_three_rrr()
    found = platform.assemblies(positions=platform.positions(q))
    assert 2 <= len(found) <= 6
    assert np.abs(platform.pose(found) - platform.pose(q)).max(axis=(1, 2)).min() < 1e-9
    assert_close(platform.positions(found), np.tile(platform.positions(q), (len(found), 1)), 1e-12)
    assert platform.mechanism.closure_error(found).max() < 1e-10


def test_stewart_inverse_kinematics():
    """Leg lengths are distances of points."""
    platform, q = make_stewart()
    goal = kt.Pose.of((-0.05, 0.1, 1.1), rpy=(-0.1, 0.15, -0.2)).matrix
    found = platform.inverse(goal, q)
    assert_close(platform.pose(found), goal, 1e-9)
    assert_close(platform.positions(found), platform.positions(models.stewart_at(platform.mechanism, goal)), 1e-9)


def test_stewart_forward_kinematics():
    """Every assembly has the leg lengths that were asked for."""
    platform, q = make_stewart()
    found = platform.assemblies(positions=platform.positions(q), starts=30)
    poses = platform.pose(found)
    assert np.abs(poses - platform.pose(q)).max(axis=(1, 2)).min() < 1e-8
    assert len(found) > 2
    assert platform.mechanism.closure_error(found).max() < 1e-10
    for pose in poses:
        lengths = models.stewart_at(platform.mechanism, pose)
        assert_close(np.abs(platform.positions(lengths)), platform.positions(q), 1e-8)
    assert_close(platform.forward(platform.positions(q), models.stewart_at(platform.mechanism, HIGH)), q, 1e-9)


def test_delta_forward_kinematics():
    """The platform hangs where three spheres about the elbows meet."""
    platform, q = make_delta()
    angles = platform.positions(q)
    assert_close(platform.pose(q)[:3, :3], np.eye(3), 1e-9)
    p = platform.pose(q)[:3, 3]
    for angle, turn in zip(angles, np.deg2rad([0, 120, 240]), strict=True):
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        elbow = (0.2 + 0.3 * np.cos(angle)) * out - 0.3 * np.sin(angle) * np.array([0, 0, 1.0])
        assert np.linalg.norm(p + 0.05 * out - elbow) == pytest.approx(0.8, abs=1e-9)


def test_delta_inverse_kinematics_by_position():
    platform, q = make_delta()
    goals = np.array([[0.05, -0.1, -0.8], [0.0, 0.1, -0.75]])
    found = platform.inverse(goals, q)
    assert found.shape == (2, 11)
    assert_close(platform.pose(found)[:, :3, 3], goals, 1e-9)
    assert_close(platform.pose(found)[:, :3, :3], np.broadcast_to(np.eye(3), (2, 3, 3)), 1e-9)


def test_following_a_path():
    """Shah section 8.5: the platform of the 3-RRR on a circle."""
    platform, q = make_three_rrr()
    pose = platform.pose(q)
    poses = np.tile(pose, (8, 1, 1))
    angles = np.linspace(0, 2 * np.pi, 8)
    poses[:, :2, 3] += 0.05 * np.stack([np.cos(angles) - 1, np.sin(angles)], axis=1)
    path = platform.follow(poses, q)
    assert_close(platform.pose(path), poses, 1e-9)
    assert_close(path[-1], path[0], 1e-8)  # same branch all the way round
    with pytest.raises(kt.ClosureError, match=r"at point 1 of the path: the platform 'center' .* m and .* rad off"):
        platform.follow([pose, pose + np.array([[0, 0, 0, 5.0]] + [[0] * 4] * 3)], q)


def test_the_guess_has_one_name_everywhere_and_a_former_one():
    platform, q = make_delta()
    target, positions = platform.pose(q)[:3, 3], platform.positions(q)
    calls = ((platform.inverse, target), (platform.forward, positions), (platform.follow, target[None]))
    for method, given in calls:
        assert np.array_equal(method(given, q_guess=q), method(given, q))
        with pytest.warns(DeprecationWarning, match="now q_guess="):
            former = method(given, guess=q)
        assert np.array_equal(former, method(given, q))
        with pytest.raises(kt.OptionError, match=r"q_guess, .* is needed"):
            method(given)
        with pytest.raises(kt.ArgumentError, match="no argument 'guess'"):
            method(given, q_guess=q, guess=q)
        with pytest.raises(kt.ShapeError, match="q_guess"):
            method(given, q_guess=q[:-1])
    assert np.array_equal(platform.mechanism.close(q_guess=q), platform.mechanism.close(q))


# ------------------------------------------------------------------ velocities and DeNOC matrices


def test_jacobian_is_the_derivative_of_forward_kinematics(case):
    platform, q = case
    h = 1e-5
    at = platform.positions(q)
    columns = []
    for step in h * np.eye(len(at)):
        plus, minus = (platform.pose(platform.forward(at + s * step, q)) for s in (1, -1))
        turn = (plus[:3, :3] - minus[:3, :3]) @ platform.pose(q)[:3, :3].T / (2 * h)
        columns.append([turn[2, 1], turn[0, 2], turn[1, 0], *(plus[:3, 3] - minus[:3, 3]) / (2 * h)])
    expected = np.array(columns).T[0 if platform.orientation else 3 :]
    assert_close(platform.jacobian(q), expected, 1e-8)


def test_denoc_matrices_give_the_twists_of_all_links(case):
    """N_l N_c N_d against Jacobians of the tree and its constraint matrix."""
    platform, q = case
    m, denoc = platform.mechanism, platform.denoc(q)
    k = m.loop_jacobian(q)
    free = np.linalg.svd(k)[2][np.linalg.matrix_rank(k, 1e-9) :].T
    all_rates = free @ np.linalg.inv(free[list(denoc.dofs)])
    whole = denoc.n_l @ denoc.n_c @ denoc.n_d
    assert whole.shape == (6 * len(denoc.rows), len(denoc.dofs))
    for r, (i, leg) in enumerate(denoc.places):
        link = denoc.legs[leg][i]
        body = m.body_names[link.body]
        assert denoc.rows[r] == (leg, body, link.joint)
        twist = m.jacobian(q, body, "aligned") @ all_rates
        at_origin = twist_shift(m.pose(q, body)[:3, 3] - link.origin) @ twist
        assert_close(whole[6 * r : 6 * r + 6], at_origin, 1e-10, 1.0 + np.abs(twist).max())
    assert_close(denoc.jacobian, m.jacobian(q, platform.frame, "aligned") @ all_rates, 1e-10)
    assert_close(denoc.jacobian[0 if platform.orientation else 3 :], platform.jacobian(q), 1e-10)


def test_shape_of_the_denoc_matrices(case):
    """Saha eq. 32c: N_l lower triangular with unit blocks, N_d block diagonal, N_c with unit blocks at actuators."""
    platform, q = case
    denoc = platform.denoc(q)
    assert not np.triu(denoc.n_l, 6).any()
    for r in range(0, len(denoc.n_l), 6):
        assert_close(denoc.n_l[r : r + 6, r : r + 6], np.eye(6), 1e-15)
    inputs = [r for r, (_, _, joint) in enumerate(denoc.rows) if joint in platform.actuated]
    for c, r in enumerate(inputs):
        block = denoc.n_c[6 * r : 6 * r + 6]
        expected = np.zeros_like(block)
        expected[:, 6 * c : 6 * c + 6] = np.eye(6)
        assert_close(block, expected, 1e-15)
        assert np.count_nonzero(denoc.n_d[6 * c : 6 * c + 6].any(axis=0)) == 1
    for leg in denoc.eliminations:
        assert_close(leg.phi @ leg.phi, leg.phi, 1e-12)  # Saha eq. 25c
        assert_close(leg.phi, leg.phi.T, 1e-12)
    assert_close(denoc.phi, sum(leg.phi for leg in denoc.eliminations), 1e-14)


def test_denoc_mass_matrix_is_the_reduced_one(case):
    platform, q = case
    m, denoc = platform.mechanism, platform.denoc(q)
    order = [m.v_names[k] for k in denoc.dofs]
    reduced = m.reduced_mass_matrix(q)
    where = [m.independent(q).index(n) for n in order]
    assert_close(denoc.mass_matrix, reduced[np.ix_(where, where)], 1e-10)


def test_dynamics_of_the_three_factors_is_that_of_the_mechanism(case):
    """C, bias, inverse and forward dynamics; the rate of the mass matrix less 2 C does no work."""
    platform, q = case
    m, rng = platform.mechanism, np.random.default_rng(3)
    denoc = platform.denoc(q)
    rates, wanted = rng.uniform(-1.0, 1.0, (2, len(denoc.dofs)))
    found = platform.dynamics(q, rates)
    v = platform.velocities(q, rates[[denoc.dofs.index(k) for k in platform._dofs]])
    independent = m.with_independent([m.v_names[k] for k in denoc.dofs])
    bias = independent.reduced_bias_force(q, v)
    size = max(1.0, np.abs(bias).max())
    assert_close(found.n @ rates, found.twists, 1e-14)
    assert np.abs(found.bias_force - bias).max() < 1e-10 * size
    assert np.abs(found.coriolis_matrix @ rates + found.gravity_force - bias).max() < 1e-10 * size
    still = platform.dynamics(q, 0.0 * rates)
    assert np.abs(still.bias_force - independent.reduced_bias_force(q, 0.0 * v)).max() < 1e-10 * size
    a = independent.accelerations(q, v, wanted)
    forces = m.inverse_dynamics(q, v, a)[list(denoc.dofs)]
    assert np.abs(found.inverse_dynamics(wanted) - forces).max() < 1e-10 * max(1.0, np.abs(forces).max())
    assert np.abs(found.forward_dynamics(forces) - wanted).max() < 1e-10
    h = 1e-4
    ahead, back = (platform.denoc(m.close(m.integrate(q, s * h * v), fixed=platform.actuated)) for s in (1, -1))
    by_differences = (ahead.mass_matrix - back.mass_matrix) / (2 * h)
    assert rates @ (by_differences - 2 * found.coriolis_matrix) @ rates == pytest.approx(0.0, abs=1e-6 * size)


def assert_rates_are_those_of_the_factors(platform, q):
    """N_l', N_c' and N_d' against differences of fourth order along the closed motion."""
    m, denoc = platform.mechanism, platform.denoc(q)
    rates = np.random.default_rng(5).uniform(-1.0, 1.0, len(denoc.dofs))
    found = platform.dynamics(q, rates)
    v = platform.velocities(q, rates[[denoc.dofs.index(k) for k in platform._dofs]])
    h = 1e-3 / max(1.0, np.abs(v).max())
    at = {k: platform.denoc(m.close(m.integrate(q, k * h * v), fixed=platform.actuated)) for k in (-2, -1, 1, 2)}
    for name in ("n_l", "n_c", "n_d"):
        value = {k: getattr(d, name) for k, d in at.items()}
        expected = (8 * (value[1] - value[-1]) - (value[2] - value[-2])) / (12 * h)
        assert_close(getattr(found, f"{name}_rate"), expected, 1e-9, 1.0 + np.abs(expected).max())


def test_rates_of_the_three_factors(case):
    assert_rates_are_those_of_the_factors(*case)


def test_rates_where_an_elbow_is_driven_and_where_a_leg_is_passed_against_the_tree():
    platform, q = make_five_bar()
    assert_rates_are_those_of_the_factors(Platform(platform.mechanism, "tip", ["a1_joint", "b2_joint"]), q)
    other = models.five_bar_cut_at_the_ground()
    again = other.close([q[0], q[1], q[2] + q[3] - q[0] - q[1], -q[3]])
    assert_rates_are_those_of_the_factors(Platform(other, "tip", ["a1_joint", "b1_joint"]), again)
    slider = models.slider_under_the_tip()  # its joint slides and turns: the arm within it changes
    assert_rates_are_those_of_the_factors(Platform(slider, "tip"), slider.close([2.0, -1.0, 0.3, 0.2, -2.0]))


def test_the_cut_does_not_matter():
    """A leg that hangs from the platform is passed against the tree, an actuated joint among its passive ones."""
    platform, q = make_five_bar()
    other = models.five_bar_cut_at_the_ground()
    th = np.array([q[0], q[0] + q[1], q[2] + q[3], q[2]])  # absolute angles of a1, a2, b2, b1
    again = other.close([th[0], th[1] - th[0], th[2] - th[1], th[3] - th[2]])
    assert_close(other.pose(again, "tip"), platform.pose(q), 1e-9)
    # here the elbow of leg 2 is driven, so the first mechanism is driven there as well
    first = Platform(platform.mechanism, "tip", ["a1_joint", "b2_joint"])
    second = Platform(other, "tip", ["a1_joint", "b1_joint"])
    sign = np.array([1.0, -1.0])
    assert_close(second.jacobian(again), first.jacobian(q) * sign, 1e-9)
    assert_close(second.denoc(again).jacobian, first.denoc(q).jacobian * sign, 1e-9)
    assert_close(first.denoc(q).jacobian, first.jacobian(q), 1e-10)
    for kind in ("inverse", "forward"):
        assert second.singularities(again).margins[kind] == pytest.approx(
            first.singularities(q).margins[kind], rel=1e-6
        )


def test_projector():
    c = np.array([1.0, 2.0, 2.0])
    phi = projector(c)
    assert_close(phi @ c, np.zeros(3), 1e-15, 1.0)
    assert_close(phi @ phi, phi, 1e-14)
    assert_close(phi @ [2.0, -1.0, 0.0], [2.0, -1.0, 0.0], 1e-14)


def test_velocities_both_ways(case):
    platform, q = case
    m = platform.mechanism
    rng = np.random.default_rng(1)
    batch = np.stack([q, platform.forward(platform.positions(q) + 0.01, q)])
    rates = rng.normal(size=(2, len(platform.positions(q))))
    v = platform.velocities(batch, rates)
    assert_close(np.einsum("bci,bi->bc", m.loop_jacobian(batch), v), np.zeros((2, m.n_constraints)), 1e-10, 1.0)
    twist = np.einsum("bij,bj->bi", platform.jacobian(batch), rates)
    whole = m.velocity(batch, v, platform.frame, "aligned")
    assert_close(twist, whole if platform.orientation else whole[:, 3:], 1e-10)
    assert_close(platform.rates(batch, twist), rates, 1e-9)
    assert_close(platform.velocities_for(batch, twist), v, 1e-9)


# ------------------------------------------------------------------ singularities


def test_ordinary_configurations_are_not_singular(case):
    platform, q = case
    report = platform.singularities(q)
    assert report.kinds == ()
    assert report.type == 0
    assert 0.01 < report.distance <= 1.0
    assert not len(report.lost)
    assert not len(report.gained)
    assert report.platform_freedoms == len(platform.positions(q))
    assert str(report).startswith("not singular")


def test_margins_of_a_batch(case):
    platform, q = case
    at = platform.positions(q)
    batch = np.stack([platform.forward(at + d, q) for d in (0.0, 0.02, -0.02)] + [np.full_like(q, np.nan)])
    margins = platform.margins(batch.reshape(2, 2, -1))
    report = platform.singularities(batch[1])
    for kind, values in margins.items():
        assert values.shape == (2, 2)
        assert values[0, 1] == pytest.approx(report.margins[kind], rel=1e-8)
        assert values[0, 0] != values[0, 1]
        assert np.isnan(values[1, 1])


def test_margins_fall_towards_a_singularity():
    """The five-bar's sine between distal links, approached from one side."""
    platform, _ = make_five_bar()
    folded = models.five_bar_folded()
    off = np.array([0.1, 0.03, 0.01, 1e-3])
    beside = platform.mechanism.close(
        np.tile(folded, (4, 1)), {"a1_joint": np.full(4, folded[0]), "a2_joint": folded[1] + off}
    )
    values = platform.margins(beside)["forward"]
    assert (np.diff(values) < 0).all()
    # it vanishes in proportion to the sine of the angle between the two links
    sines = np.abs(np.sin(beside[:, 0] + beside[:, 1] - beside[:, 2] - beside[:, 3]))
    assert values[-1] / sines[-1] == pytest.approx(values[-2] / sines[-2], rel=0.1)


def test_type_1_five_bar_with_a_stretched_leg():
    platform, q = make_five_bar()
    q = platform.mechanism.close([1.0, 0.0, *q[2:]], fixed={"a1_joint": 1.0, "a2_joint": 0.0})
    report = platform.singularities(q)
    assert report.kinds == ("inverse",)
    assert report.type == 1
    (lost,) = report.lost
    assert abs(lost[3:5] @ [np.cos(1), np.sin(1)]) == pytest.approx(1.0, abs=1e-6)  # along the leg
    (idle,) = report.idle_motions
    assert_close(platform.mechanism.velocity(q, idle, "tip", "aligned")[3:], np.zeros(3), 1e-12, 1.0)
    assert abs(idle[0]) > 0.1
    assert "type 1" in str(report)
    assert "lost: the platform cannot move along" in str(report)
    assert report.margins["inverse"] < 1e-12 < report.margins["forward"]
    assert_close(platform.jacobian(q)[:2].T @ lost[3:5], np.zeros(2), 1e-6, 1.0)
    with pytest.raises(kt.SingularError, match="lost a freedom"):
        platform.rates(q, [1.0, 0.0, 0.0])


def test_type_2_five_bar_with_distal_links_in_line():
    platform, q = make_five_bar()
    good = q
    q = models.five_bar_folded()
    report = platform.singularities(q)
    assert report.kinds == ("forward",)
    assert report.type == 2
    (gained,) = report.gained
    along = q[0] + q[1]
    assert abs(gained[3:5] @ [-np.sin(along), np.cos(along)]) == pytest.approx(1.0, abs=1e-9)  # across the links
    (motion,) = report.gained_motions
    assert_close(motion[[0, 2]], np.zeros(2), 1e-9, 1.0)
    assert_close(platform.mechanism.loop_jacobian(q) @ motion, np.zeros(5), 1e-12, 1.0)
    with pytest.raises(kt.SingularError, match=r"in state \(1,\): its actuators do not hold the platform.*type 2"):
        platform.jacobian([good, q])
    with pytest.raises(kt.SingularError, match="type 2"):
        _ = Platform(platform.mechanism, "tip").denoc(q).jacobian


def test_type_3_five_bar():
    """First leg stretched, and both distal links on its line."""
    platform, _ = make_five_bar()
    alpha = np.arccos(0.76)
    q = models.five_bar_folded(alpha, 1.0)
    assert abs(q[1]) < 1e-9
    report = platform.singularities(q)
    assert report.type == 3
    assert set(report.kinds) >= {"inverse", "forward"}


def test_three_rrr_with_concurrent_distal_links():
    """All three distal links point at the platform's center: it can turn about it with the actuators held."""
    middle = np.array([0.2, 0.2 / np.sqrt(3)])
    corners = np.array([[0, 0], [0.4, 0], [0.2, 0.2 * np.sqrt(3)]]) - middle
    outward = np.arctan2(corners[:, 1], corners[:, 0])
    elbows = corners + np.array([polar(0.6, x) for x in outward])
    cranks = outward + np.array([1.9, 1.3, 1.6])
    feet = elbows - np.array([polar(0.4, x) for x in cranks])
    platform = Platform(models.three_rrr(feet), "center")
    q = np.array([
        cranks[0], outward[0] + np.pi - cranks[0], -outward[0] - np.pi, outward[1], outward[2], cranks[1], cranks[2],
    ])  # fmt: skip
    assert platform.mechanism.closure_error(q) < 1e-12
    report = platform.singularities(q)
    assert report.kinds == ("forward",)
    (gained,) = report.gained
    assert_close(gained / gained[2], [0, 0, 1, 0, 0, 0], 1e-9)
    assert "rotation (0, 0, " in str(report)


def test_delta_with_a_stretched_leg():
    """Arm and rod of the first leg in one line: the platform cannot move along it."""
    platform, q = make_delta()
    near = platform.inverse([0.15 + 1.08 * np.cos(1.9), 0.0, -1.08 * np.sin(1.9)], q)
    stretched = platform.mechanism.close(near, {"arm0_joint": 1.9, "rod0_joint": np.zeros(2)})
    report = platform.singularities(stretched)
    assert report.kinds == ("inverse",)
    (lost,) = report.lost
    along = platform.mechanism.pose(stretched, "rod0")[:3, 0]
    assert abs(lost[3:] @ along) == pytest.approx(1.0, abs=1e-5)


def test_stewart_turned_by_a_quarter():
    """Fichter's singularity: the gained twist does no work on the six lines of the legs."""
    platform, _ = make_stewart()
    pose = kt.Pose.of((0.0, 0.0, 1.2), rpy=(0, 0, np.pi / 2)).matrix
    q = models.stewart_at(platform.mechanism, pose)
    report = platform.singularities(q)
    assert report.type == 2
    (gained,) = report.gained
    for i in range(6):
        foot = platform.mechanism.pose(q, f"lower{i}")[:3, 3]
        line = platform.mechanism.pose(q, f"upper{i}")[:3, 3] - foot
        arm = foot - pose[:3, 3]
        assert gained[3:] @ line + gained[:3] @ np.cross(arm, line) == pytest.approx(0.0, abs=1e-9)
    near = platform.singularities(
        models.stewart_at(platform.mechanism, kt.Pose.of((0, 0, 1.2), rpy=(0, 0, np.pi / 2 - 0.02)).matrix)
    )
    assert near.type == 0
    assert 1e-6 < near.margins["forward"] < 0.05


def parallelogram():
    b = kt.Builder("parallelogram", gravity=models.DOWN)
    b.body("bar0", "base", models.TURN, **models.rod(1.0, 1.0))
    models.passive(b, "coupler", "bar0", (1, 0, 0), models.rod(2.0, 1.0))
    models.passive(b, "bar1", "base", (2, 0, 0), models.rod(1.0, 1.0))
    b.loop("pin", "coupler", "bar1", models.TURN, placement=(2, 0, 0), seat=(1, 0, 0))
    return b.build()


def test_constraint_singularity_of_a_flat_parallelogram():
    platform = Platform(parallelogram(), "coupler")
    report = platform.singularities([0.0, 0.0, 0.0])
    assert "constraint" in report.kinds
    assert "forward" in report.kinds
    assert (report.freedoms, report.usual_freedoms) == (2, 1)
    assert "the loops allow 2 motions here and 1 nearby" in str(report)
    assert platform.singularities([0.5, -0.5, 0.5]).kinds == ()
    with pytest.raises(kt.SingularError, match="loops allow more motions"):
        platform.jacobian([0.0, 0.0, 0.0])


def test_spinning_rods_are_not_singular():
    """Legs S-P-S can spin about themselves: twelve freedoms, but the platform is held as before."""
    universal, _ = make_stewart()
    platform = Platform(models.stewart(kt.Spherical()), "top")
    q = models.stewart_at(platform.mechanism, HIGH)
    report = platform.singularities(q)
    assert report.kinds == ()
    assert report.freedoms == 12
    assert report.platform_freedoms == 6
    assert len(report.passive_motions) == 6
    expected = universal.jacobian(models.stewart_at(universal.mechanism, HIGH))
    assert_close(platform.jacobian(q), expected, 1e-9)
    reference = universal.singularities(models.stewart_at(universal.mechanism, HIGH))
    assert report.margins["forward"] == pytest.approx(reference.margins["forward"], rel=1e-9)


# ------------------------------------------------------------------ bad input


def test_out_of_reach():
    platform, q = make_five_bar()
    with pytest.raises(
        kt.ClosureError, match=r"'tip' of 'five-bar' does not reach its target: it stays .* m off.* nearer"
    ):
        platform.inverse([5.0, 0.0, 0.0], q)
    with pytest.raises(kt.ClosureError, match="is the target in millimeters"):
        platform.inverse([500.0, 0.0, 0.0], q)
    wide = Platform(models.five_bar(ground=1.3), "tip", orientation=False)
    with pytest.raises(kt.ClosureError, match="cannot be closed with a1_joint, b1_joint held"):
        wide.forward([np.pi, 0.0], wide.mechanism.close(models.FIVE_BAR_START))
    delta, start = make_delta()
    with pytest.raises(kt.ClosureError, match="orientation the platform cannot take"):
        delta.inverse(kt.Pose.of((0, 0, -0.8), rpy=(0.3, 0, 0)).matrix, start)


def test_twists_and_rates_that_cannot_be():
    delta, q = make_delta()
    with pytest.raises(kt.StateError, match="has 3 freedoms and cannot move along this twist"):
        delta.rates(q, [1.0, 0, 0, 0, 0, 0])
    platform = Platform(models.five_bar(redundant=True), "tip", orientation=False)
    q = platform.mechanism.close(models.FIVE_BAR_START)
    v = platform.velocities(q, make_five_bar()[0].velocities(q, [0.3, -0.2])[:3])
    assert_close(v[[0, 2]], [0.3, -0.2], 1e-10)
    with pytest.raises(kt.StateError, match="rates do not fit together"):
        platform.velocities(q, [1.0, 0.0, 0.0])


def test_refusals():
    mechanism = models.five_bar()
    platform, q = make_five_bar()
    with pytest.raises(kt.SingularError, match="do not determine the platform's motion"):
        Platform(mechanism, "tip", ["a1_joint"]).jacobian(q)
    with pytest.raises(kt.UnknownNameError, match="a1_joint"):
        Platform(mechanism, "tip", ["a1_joynt"])
    with pytest.raises(kt.UnknownNameError):
        Platform(mechanism, "tap")
    with pytest.raises(kt.UnsupportedError, match="fixed to the ground"):
        Platform(mechanism, "base")
    with pytest.raises(kt.UnsupportedError, match="closed loops"):
        Platform(mechanism.tree, "tip")
    with pytest.raises(kt.OptionError, match="no actuated joint"):
        Platform(mechanism, "tip", [])
    with pytest.raises(kt.OptionError, match="length"):
        Platform(mechanism, "tip", length=-1.0)
    with pytest.raises(kt.OptionError, match="give positions"):
        platform.assemblies()
    with pytest.raises(kt.UnknownNameError, match="bodies"):
        platform.assemblies(positions=[1.0, 1.0], distinct="bodys")
    with pytest.raises(kt.ShapeError, match="one per actuator: a1_joint, b1_joint"):
        platform.forward([1.0, 2.0, 3.0], q)
    with pytest.raises(kt.ShapeError, match="target"):
        platform.inverse([1.0, 2.0], q)
    with pytest.raises(kt.StateError, match="do not allow this configuration"):
        platform.jacobian(q + 0.1)
    with pytest.raises(kt.OptionError, match="one configuration at a time"):
        platform.singularities([q, q])
    with pytest.raises(kt.StateError, match="NaN"):
        platform.singularities(np.full(4, np.nan))


def test_denoc_needs_serial_legs():
    leg = models.leg()
    q = leg.close(models.LEG_START)
    with pytest.raises(kt.UnsupportedError, match="is not a platform 'l7' on serial legs"):
        Platform(leg, "l7").denoc(q)
    assert_close(Platform(leg, "l7").jacobian(q), leg.jacobian(q, "l7", "aligned") @ leg.basis(q), 1e-10)


def test_denoc_refuses_couplings():
    """A gear between the cranks would be left out of the matrices without a word."""
    mechanism = models.five_bar(coupled=True)
    q = mechanism.close(models.FIVE_BAR_START)
    platform = Platform(mechanism, "tip", ["a1_joint"], orientation=False)
    for ask in (platform.denoc, lambda at: platform.dynamics(at, [1.0])):
        with pytest.raises(kt.UnsupportedError, match=r"has couplings of joints \('gear'\).*leave out"):
            ask(q)
    assert platform.jacobian(q).shape == (3, 1)


def test_nan_stays_in_its_lane():
    platform, q = make_five_bar()
    batch = np.stack([q, np.full(4, np.nan), q])
    jacobian = platform.jacobian(batch)
    assert np.isnan(jacobian[1]).all()
    assert_close(jacobian[[0, 2]], np.stack([platform.jacobian(q)] * 2), 1e-12)
    found = platform.inverse([[0.4, 1.2, 0], [np.nan, 1, 0]], q)
    assert np.isnan(found[1]).all()
    assert_close(platform.pose(found[0])[:2, 3], [0.4, 1.2], 1e-9)


def test_a_platform_half_a_turn_from_its_target():
    """It used to say that it was there."""
    platform = Platform(three_rrr(), "center")
    q = platform.mechanism.close(THREE_RRR_START)
    target = platform.pose(q)
    target[:3, :3] = np.diag([-1.0, -1.0, 1.0]) @ target[:3, :3]
    np.testing.assert_allclose(platform.pose(platform.inverse(target, q)), target, atol=1e-9)


def test_as_many_twists_as_a_twist_has_numbers():
    """Six twists for one configuration were taken for a matrix."""
    platform = Platform(three_rrr(), "center")
    q = platform.mechanism.close(THREE_RRR_START)
    rates = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(platform.rates(q, rates @ platform.jacobian(q).T), rates, atol=1e-10)


# ------------------------------------------------------------------ from a path to the actuators


def test_a_path_of_the_platform_gives_forces_that_change_its_energy():
    """Rates and accelerations by differences, forces by the balance of power; splines through samples come near."""
    platform, q = make_stewart()
    m, h = platform.mechanism, 1e-4
    path = kt.trajectories.Cycloid([0, 0, 0, 0, 0, 1.1], [0.2, -0.3, 0.4, 0.1, -0.05, 1.25], 2.0)
    need = platform.requirements(path, [0.7 - h, 0.7, 0.7 + h], q)
    roll, pitch, yaw, *place = path(0.7)[0]
    assert_close(platform.pose(need.q[1]), kt.Pose.of(place, rpy=(roll, pitch, yaw)).matrix, 1e-9)
    assert_close((need.positions[2] - need.positions[0]) / (2 * h), need.rates[1], 1e-6)
    assert_close((need.rates[2] - need.rates[0]) / (2 * h), need.accelerations[1], 1e-5)
    energy = m.kinetic_energy(need.q, need.v) + m.potential_energy(need.q)
    assert_close((energy[2] - energy[0]) / (2 * h), need.power[1].sum(), 1e-5)

    t = np.linspace(0.5, 1.5, 41)
    exact = platform.requirements(path, t, q)
    by_samples = platform.requirements(platform.pose(exact.q), t, q)
    assert_close(by_samples.rates[3:-3], exact.rates[3:-3], 1e-3)
    assert_close(by_samples.forces[3:-3], exact.forces[3:-3], 1e-2)
    level = platform.requirements(platform.pose(exact.q)[:, :3, 3], t, q)  # positions: turned as the guess is
    assert_close(platform.pose(level.q)[:, :3, :3], np.tile(platform.pose(q)[:3, :3], (41, 1, 1)), 1e-8)
    assert np.trapezoid(exact.forces[:, 0] ** 2, t) == pytest.approx(exact.rms_forces[0] ** 2 * 1.0)


def test_requirements_are_a_table_with_names(tmp_path):
    platform, q = make_delta()
    here = platform.pose(q)[:3, 3]
    need = kt.Mechanism.platform(platform.mechanism, "center", orientation=False).requirements(
        kt.trajectories.Cycloid(here, here + np.array([0.02, 0.0, 0.03]), 0.5), np.linspace(0, 0.5, 21), q
    )
    lines = str(need).splitlines()
    assert len(lines) == 5
    assert all(name in line for name, line in zip(platform.actuated, lines[2:], strict=True))
    assert need._repr_html_().count("<tr>") == 4
    need.save(tmp_path / "need.csv")
    names = (tmp_path / "need.csv").read_text().splitlines()[0].split(",")
    assert names[0] == "time"
    assert f"tau_{platform.actuated[0]}" in names
    assert len(names) == 13
    with pytest.raises(kt.ShapeError, match=r"roll, pitch, yaw, x, y, z"):
        platform.requirements(kt.trajectories.Cycloid([0.0], [1.0], 1.0), [0.0, 0.5], q)
    with pytest.raises(kt.OptionError, match="increasing times"):
        platform.requirements([here, here], [1.0, 0.5], q)
    with pytest.raises(kt.OptionError, match=r"point 2 of the path, at t = 0.2 s, is not finite"):
        platform.requirements([here, here, here * np.nan, here], [0.0, 0.1, 0.2, 0.3], q)
    assert repr(platform).endswith(f"moved by {', '.join(platform.actuated)}>")
    with pytest.raises(kt.OptionError, match=r"are not those of the model .* actuated=True"):
        kt.Mechanism.platform(platform.mechanism, "center", actuated=platform.actuated[:2]).requirements(
            [here], [0.0], q
        )


def small_delta(platform_radius, scale=1.0):
    """A delta whose platform has coordinates of its own, as designers draw it; only differences of radii move it."""
    b = kt.Builder("delta")
    b.body("plate", "base", kt.Translation(), mass=0.1, actuated=False)
    for k, angle in enumerate(np.radians([0, 120, 240]), start=1):
        out = np.array([np.cos(angle), np.sin(angle), 0])
        b.body(f"arm_{k}", "base", kt.Revolute("y"), position=scale * (0.1 + platform_radius) * out,
               rpy=(0, 0, angle), mass=0.2, inertia=(0.01, 0.01, 0.01))  # fmt: skip
        rod = kt.Distance(scale * 0.7)
        b.loop(f"rod_{k}", f"arm_{k}", "plate", rod, placement=(scale * 0.3, 0, 0), seat=scale * platform_radius * out)
    mechanism = b.build()
    q = mechanism.close([0, 0, -0.6 * scale, 0.1, 0.2, 0.3], fixed=["arm_1_joint", "arm_2_joint", "arm_3_joint"])
    return mechanism.platform("plate", orientation=False), q


def test_margins_depend_neither_on_the_size_of_a_machine_nor_on_its_small_platform():
    platform, q = small_delta(0.05)
    assert platform.length == pytest.approx(0.3)
    margins = platform.margins(q)
    assert 0.5 < margins["forward"] < 0.8
    # the share of the motors in the motion that moves them least, by the platform's Jacobian alone
    stretch = np.linalg.svd(platform.jacobian(q) / platform.length, compute_uv=False)
    assert margins["forward"] == pytest.approx(1 / np.hypot(1, stretch[0]))
    larger, there = small_delta(0.15, 4.0)
    assert larger.length == pytest.approx(4 * 0.3)
    for kind in ("forward", "inverse"):
        assert larger.margins(there)[kind] == pytest.approx(margins[kind], rel=1e-6), kind
    with pytest.raises(kt.ArgumentError, match="orientation"):
        platform.mechanism.platform("plate", orientaton=False)
