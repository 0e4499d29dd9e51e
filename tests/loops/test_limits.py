"""Limits of joints in closed loops, judged by the law of cosines; paths without jumps."""

import numpy as np
import pytest

import kinetree as kt

LOWER, UPPER = 0.8, 2.0


def strut_and_crank(**foot):
    """A crank of 1 m, and a strut from a foot 1.5 m away to its tip: as long as the law of cosines says."""
    b = kt.Builder("jib", gravity=(0, -9.81, 0))
    b.body("crank", "base", kt.Revolute("z"), mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1), actuated=False)
    b.body("barrel", "base", kt.Revolute("z"), position=(1.5, 0, 0), mass=0.5, actuated=False, **foot)
    b.body("rod", "barrel", kt.Prismatic("x"), mass=0.5, lower=LOWER, upper=UPPER)
    b.loop("pin", "crank", "rod", kt.Revolute("z"), placement=(1, 0, 0))
    b.frame("tip", "crank", (1, 0, 0))
    return b.build()


@pytest.fixture(scope="module")
def jib():
    return strut_and_crank(lower=0.0, upper=2.0 * np.pi)


def length(angle):
    return np.sqrt(1.0 + 1.5**2 - 3.0 * np.cos(angle))


def circle(angle):
    return np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)


def test_limits_hold_wherever_a_mechanism_is_put_together(jib):
    backwards = jib.close([1.0, -0.8, -1.2], fixed=["crank_joint"], limits=False)
    assert backwards[2] == pytest.approx(-length(1.0))  # what there was before limits were looked at
    closed = jib.close([1.0, -0.8, -1.2], fixed=["crank_joint"])
    assert closed[2] == pytest.approx(length(1.0))
    assert jib.within_limits(closed)
    for seed in range(5):
        assert jib.within_limits(jib.assembled(seed), 1e-9)
    found = jib.platform("tip").assemblies(target=circle(1.0), distinct="bodies")
    assert len(found) == 1
    assert jib.within_limits(found).all()
    assert len(jib.platform("tip").assemblies(target=circle(1.0), distinct="bodies", limits=False)) == 2


def test_targets_of_a_batch_are_reached_where_the_strut_is_long_enough(jib):
    angles = np.linspace(-3.0, 3.0, 61)
    tip = jib.platform("tip", orientation=False)
    q, reached = tip.inverse(circle(angles), jib.assembled(), must_reach=False)
    expected = (length(angles) >= LOWER) & (length(angles) <= UPPER)
    assert np.array_equal(reached, expected)
    assert np.isnan(q[~expected]).all()
    assert np.allclose(tip.positions(q[reached])[:, 0], length(angles[expected]), atol=1e-9)
    assert jib.within_limits(q[reached], 1e-9).all()
    ignored = tip.inverse(circle(angles), jib.assembled(), limits=False)
    assert np.allclose(np.abs(ignored[:, 2]), length(angles), atol=1e-9)


def test_what_lies_beyond_limits_is_named(jib):
    start = jib.assembled()
    longest = length(3.0)
    said = rf"beyond limits: joint 'rod_joint' would be at {longest:.6g} m, its limits are 0.8 to 2. limits=False"
    with pytest.raises(kt.ClosureError, match=said):
        jib.platform("tip", orientation=False).inverse(circle(3.0), start)
    with pytest.raises(kt.ClosureError, match="with crank_joint held only " + said):
        jib.close(start, fixed={"crank_joint": 3.0})
    with pytest.raises(kt.ClosureError, match=r"'rod_joint' would be at 0.5 m"):
        jib.platform("tip", orientation=False).forward([0.5], start)
    q, reached = jib.platform("tip", orientation=False).forward([[0.5], [1.0]], start, must_reach=False)
    assert reached.tolist() == [False, True]
    assert np.isnan(q[0]).all()
    b = kt.Builder("none")
    b.body("crank", "base", kt.Revolute("z"), lower=2.5, upper=3.0)
    b.body("barrel", "base", kt.Revolute("z"), position=(1.5, 0, 0), actuated=False)
    b.body("rod", "barrel", kt.Prismatic("x"), lower=0.6, upper=0.7)
    b.loop("pin", "crank", "rod", kt.Revolute("z"), placement=(1, 0, 0))
    with pytest.raises(kt.ClosureError, match=r"none of them within the limits of all joints: joint '.*' would be at"):
        b.build().assembled(tries=20)
    assert b.build().mobility().freedoms == 1  # what does not depend on limits is still there


def test_each_lane_of_a_batch_says_why_it_has_no_configuration(jib):
    """As long as the law of cosines says, or 3 m off, or unknown."""
    start, angles = jib.assembled(), np.array([[1.0, 3.0], [np.nan, 1.2]])
    beyond = f"joint 'rod_joint' would be at {length(3.0):.6g} m, its limits are 0.8 to 2"
    said = jib.closing_reasons(start, {"crank_joint": angles})
    q = jib.close(start, {"crank_joint": angles}, must_close=False)
    assert np.array_equal(said == None, np.isfinite(q).all(axis=-1))  # noqa: E711, elementwise
    assert beyond in said[0, 1]
    assert "not finite" in said[1, 0]
    (open_loop, fine) = jib.closing_reasons(start, {"rod_joint": [5.0, 1.0]}, limits=False)
    assert "cannot be closed with rod_joint held: " in open_loop
    assert fine is None
    assert jib.closing_reasons(start)[()] is None

    tip = jib.platform("tip", orientation=False)
    found = tip.inverse(circle(angles), start, must_reach=False)
    assert [[bool(x) for x in row] for row in found.reasons] == [[False, True], [True, False]]
    assert beyond in found.reasons[0, 1]
    far = tip.inverse(3.0 * circle(1.0), start, must_reach=False)
    assert "it stays 2 m off" in far.reasons[()]
    found = tip.forward([[0.5], [1.0]], start, must_reach=False)
    assert "'rod_joint' would be at 0.5 m" in found.reasons[0]
    assert found.reasons[1] is None


def test_each_point_of_a_path_says_why_it_is_not_reached(jib):
    start = jib.close([1.0, 2.0, 1.0], fixed=["crank_joint"])
    found = jib.follow({"crank_joint": [1.0, 3.0, np.nan, 1.2]}, start, must_reach=False)
    q, reached = found
    assert reached.tolist() == [True, False, False, True] == [one is None for one in found.reasons]
    assert f"'rod_joint' would be at {length(3.0):.6g} m" in found.reasons[1]
    assert "not finite" in found.reasons[2]
    path = jib.platform("tip", orientation=False).follow(circle(np.array([1.0, 3.0])), q[0], must_reach=False)
    assert f"'rod_joint' would be at {length(3.0):.6g} m" in path.reasons[1]
    lengths = np.array([1.0, 2.6])  # beyond 2.5 m crank and ground are in one line
    led = jib.follow({"rod_joint": lengths}, start, must_reach=False, limits=False, lead_in=True)
    assert "cannot be closed" in led.reasons[1]


def test_a_path_has_no_jumps_by_whole_turns_or_branches(jib):
    angles = np.linspace(0.6, 0.6 + 4.0 * np.pi, 46)
    start = jib.close([0.6, 2.6, 0.9], fixed=["crank_joint"], limits=False)
    q = jib.follow({"crank_joint": angles}, start, limits=False)
    foot = np.unwrap(np.arctan2(np.sin(angles), np.cos(angles) - 1.5))
    assert np.allclose(q[:, 1] - q[0, 1], foot - foot[0], atol=1e-9)
    assert np.allclose(q[:, 2], length(angles), atol=1e-9)
    few = jib.follow({"crank_joint": angles[::15]}, start, limits=False)  # points may be far apart
    assert np.allclose(few, q[::15], atol=1e-8)
    fine = np.linspace(angles[15], angles[27], 37)  # where the strut is shortest, and swings from side to side
    by_tip = jib.platform("tip", orientation=False).follow(circle(fine), q[15], limits=False)
    assert np.allclose(by_tip[::3, 1:], q[15:28, 1:], atol=1e-8)

    beyond = int(np.argmax(length(angles) > UPPER))
    with pytest.raises(kt.ClosureError, match=rf"at point {beyond} of the path .* 'rod_joint' would be at"):
        jib.follow({"crank_joint": angles}, start)
    marked, reached = jib.follow({"crank_joint": angles}, start, must_reach=False)
    within = (length(angles) <= UPPER) & (length(angles) >= LOWER)
    assert np.array_equal(reached, within)
    assert np.allclose(marked[within], q[within], atol=1e-8)


def test_a_parallelogram_stays_one_beyond_where_it_lies_flat():
    b = kt.Builder("parallelogram")
    for name, x, motor in (("front", 0.0, True), ("rear", 1.0, False)):
        b.body(name, "base", kt.Revolute("z"), position=(x, 0, 0), mass=1.0, actuated=motor)
    b.body("coupler", "front", kt.Revolute("z"), position=(0.5, 0, 0), mass=1.0, actuated=False)
    b.loop("pin", "coupler", "rear", kt.Revolute("z"), placement=(1, 0, 0), seat=(0.5, 0, 0))
    bars = b.build()
    angles = np.linspace(0.3, 6.0, 8)
    q = bars.follow({"front_joint": angles}, [0.3, 0.3, -0.3])
    assert np.allclose(q, angles[:, None] * [1, 1, -1], atol=1e-8)
    broken = np.array([*angles[:3], np.nan, *angles[4:]])
    q, reached = bars.follow({"front_joint": broken}, [0.3, 0.3, -0.3], must_reach=False)
    assert np.array_equal(reached, np.isfinite(broken))
    assert np.allclose(q[-1], angles[-1] * np.array([1, 1, -1]))


def test_paths_that_cannot_be_are_refused(jib):
    start = jib.assembled()
    with pytest.raises(kt.ShapeError, match="the same number of positions for each"):
        jib.follow({"crank_joint": [0.1, 0.2], "rod_joint": [1.0]}, start)
    with pytest.raises(kt.UnknownNameError, match="crank_joint"):
        jib.follow({"crank": [0.1]}, start)
    tip = jib.platform("tip", orientation=False)
    with pytest.raises(kt.ClosureError, match=r"at point 1 of the path: the platform 'tip' .* does not reach"):
        tip.follow([circle(1.0), 3.0 * circle(1.0)], start)
