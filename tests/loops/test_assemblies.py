"""All assemblies: closed forms and polynomials as judges where there are some, parity and seeds elsewhere."""

import numpy as np
import pytest

import kinetree as kt
from helpers import loop_models as models
from kinetree.loops.assemblies.planar_eigenvalues import dixon

TURN = kt.Revolute("z")


def compiled(robot):
    return kt.Mechanism(robot.model, backend="compiled")


def circles(a, ra, b, rb):
    """Points at given distances from two others in the plane, as complex numbers; none or two."""
    d = abs(b - a)
    along = (ra**2 - rb**2 + d**2) / (2 * d)
    across = ra**2 - along**2
    return [] if across < 0 else [a + (along + s * 1j * np.sqrt(across)) * (b - a) / d for s in (1, -1)]


def flat(positions):
    return positions[..., 0] + 1j * positions[..., 1]


def same_points(found, expected, tolerance=1e-9):
    assert len(found) == len(expected)
    for point in expected:
        assert min(np.abs(np.subtract(own, point)).max() for own in found) < tolerance


def four_bar(ground, crank, coupler, rocker):
    b = kt.Builder("four-bar")
    b.body("crank", "base", TURN, mass=1.0)
    b.body("coupler", "crank", TURN, position=(crank, 0, 0), mass=1.0, actuated=False)
    b.body("rocker", "base", TURN, position=(ground, 0, 0), mass=1.0, actuated=False)
    b.loop("pin", "coupler", "rocker", TURN, placement=(coupler, 0, 0), seat=(rocker, 0, 0))
    return compiled(b.frame("B", "coupler", (coupler, 0, 0)).build())


def test_four_bars_have_the_assemblies_of_two_circles():
    rng = np.random.default_rng(0)
    counts = []
    ground, crank, coupler, rocker = 1.0, 0.8, 1.1, 0.4
    robot = four_bar(ground, crank, coupler, rocker)
    for angle in rng.uniform(-3, 3, 8):
        found = robot.assemblies({"crank_joint": angle})
        expected = circles(crank * np.exp(1j * angle), coupler, ground, rocker)
        same_points(flat(robot.pose(found.q, "B")[:, :3, 3]), expected)
        assert found.proven
        assert len(found) == 0 or robot.closure_error(found.q).max() < 1e-12
        counts.append(len(found))
    assert {0, 2} == set(counts)


def test_a_sentence_says_what_is_known():
    robot = four_bar(1.0, 0.3, 0.9, 0.8)
    found = robot.assemblies({"crank_joint": 0.4})
    assert str(found).startswith("2 configurations, proven to be all: 2 of at most 2 solutions")
    assert found.met.sum() == found.closed <= found.starts == 256
    assert found.unseen == 0.0
    assert np.asarray(found).shape == (2, 3) == found[:].shape
    q = robot.close(found[0] + 0.01, fixed={"crank_joint": 0.4})
    again = robot.assemblies(["crank_joint"], q)
    assert np.allclose(again.q, found.q, atol=1e-10)
    none = robot.assemblies({"crank_joint": 0.4}, starts=20, rng=3)
    assert none.starts == 20
    assert np.allclose(none.q, found.q, atol=1e-10)


# ------------------------------------------------------------------ three legs: a polynomial of sixth degree


def poses_of_three_legs(elbows, corners, lengths):
    """Return z = exp(i phi) and p of all plates with |p + z corner - elbow| = length: complex numbers.

    Differences of two such equations are linear in p; what they leave of the third, times the square of their
    determinant, is a polynomial of z, found by interpolation.
    """

    def solved(z):
        r = [z * b - e for b, e in zip(corners, elbows, strict=True)]
        s = [np.conj(b) / z - np.conj(e) for b, e in zip(corners, elbows, strict=True)]
        c = [x * y - length**2 for x, y, length in zip(r, s, lengths, strict=True)]
        # p conj(p) + p s + conj(p) r + c = 0
        a11, a12, b1 = s[1] - s[0], r[1] - r[0], c[0] - c[1]
        a21, a22, b2 = s[2] - s[0], r[2] - r[0], c[0] - c[2]
        det = a11 * a22 - a12 * a21
        x, y = b1 * a22 - b2 * a12, a11 * b2 - a21 * b1  # p det, conj(p) det
        return x * y + det * (x * s[0] + y * r[0]) + c[0] * det**2, x / det

    n = 33
    z = np.exp(2j * np.pi * np.arange(n) / n)
    coefficients = np.fft.fftshift(np.fft.fft(solved(z)[0]) / n)
    coefficients[np.abs(coefficients) < 1e-12 * np.abs(coefficients).max()] = 0.0
    roots = np.roots(coefficients[::-1])
    roots = roots[np.abs(np.abs(roots) - 1.0) < 1e-6]
    good = [(solved(z)[1], z) for z in roots]
    return [
        (p, z)
        for p, z in good
        if max(abs(abs(p + z * b - e) - L) for b, e, L in zip(corners, elbows, lengths, strict=True)) < 1e-6
    ]


def test_three_legs_have_the_assemblies_of_their_sextic():
    rng = np.random.default_rng(4)
    counts = set()
    for _ in range(2):
        feet = rng.uniform(-1, 1, (3, 2))
        lengths, arms = rng.uniform(0.5, 1.4, 3), rng.uniform(0.2, 0.6, 3)
        corners = rng.uniform(-0.8, 0.8, (3, 2))
        b = kt.Builder("3-RRR")
        for i in range(3):
            b.body(f"arm{i}", "base", TURN, position=(*feet[i], 0), mass=1.0)
            b.body(f"rod{i}", f"arm{i}", TURN, position=(arms[i], 0, 0), mass=1.0, actuated=False)
        b.body("plate", "rod0", TURN, position=(lengths[0], 0, 0), mass=1.0, actuated=False)
        for i in (1, 2):
            seat = (*(corners[i] - corners[0]), 0)
            b.loop(f"pin{i}", f"rod{i}", "plate", TURN, placement=(lengths[i], 0, 0), seat=seat)
        robot = compiled(b.frame("origin", "plate", (*-corners[0], 0)).build())
        for angles in rng.uniform(-3, 3, (7, 3)):
            elbows = flat(feet) + arms * np.exp(1j * angles)
            expected = poses_of_three_legs(elbows, flat(corners), lengths)
            found = robot.platform("origin", ["arm0_joint", "arm1_joint", "arm2_joint"]).assemblies(angles)
            pose = robot.pose(found.q, "origin")
            own = np.stack([flat(pose[:, :3, 3]), pose[:, 0, 0] + 1j * pose[:, 1, 0]], axis=-1)
            assert found.proven
            same_points(own, expected, 1e-6)
            counts.add(len(found))
    assert counts >= {0, 2}


def test_a_six_bar_and_one_of_dyads():
    """A plate on three bars, of which one hangs on the crank, has up to six; dyad upon dyad two by two."""
    points = {
        "O": (0, 0),
        "A": (0.4, 0),
        "P": (0.6, 0.9),
        "Q": (1.3, 1.0),
        "R": (0.9, 1.5),
        "G": (1.6, 0.1),
        "H": (0.2, 1.8),
    }
    bars = {"crank": "O A", "first": "A P", "plate": "P Q R", "second": "G Q", "third": "H R"}
    six = compiled(kt.linkage(points, bars, ground="O G H", motor="O"))
    place = {name: complex(*xy) for name, xy in points.items()}
    for angle in np.linspace(-0.5, 0.5, 5):
        elbows = [place["A"] * np.exp(1j * angle), place["G"], place["H"]]
        corners = [place[name] - place["P"] for name in "PQR"]
        lengths = [abs(place[a] - place[b]) for a, b in ("AP", "GQ", "HR")]
        expected = poses_of_three_legs(elbows, corners, lengths)
        found = six.assemblies({"O": angle})
        same_points(flat(six.pose(found.q, "P")[:, :3, 3]), [p for p, _ in expected], 1e-6)
        assert found.proven
        assert "of at most 6" in found.reason
    points = {
        "O": (0, 0),
        "A": (0.3, 0),
        "B": (1.0, 0.8),
        "C": (1.2, 0),
        "D": (0.8, 1.3),
        "E": (1.9, 1.0),
        "F": (2.0, 0),
    }
    bars = {"crank": "O A", "plate": "A B D", "rocker": "B C", "rod": "D E", "last": "E F"}
    two = compiled(kt.linkage(points, bars, ground="O C F", motor="O"))
    found = two.assemblies({"O": 0.2})
    place = {name: complex(*xy) for name, xy in points.items()}
    ends = []
    for b in circles(place["A"] * np.exp(0.2j), abs(place["A"] - place["B"]), place["C"], abs(place["B"] - place["C"])):
        a = place["A"] * np.exp(0.2j)
        d = a + (b - a) / (place["B"] - place["A"]) * (place["D"] - place["A"])
        ends += [(b, e) for e in circles(d, abs(place["D"] - place["E"]), place["F"], abs(place["E"] - place["F"]))]
    assert found.proven
    same_points(np.stack([flat(two.pose(found.q, name)[:, :3, 3]) for name in "BE"], axis=-1), ends)


@pytest.mark.parametrize("m", [2, 3])
def test_eigenvalues_are_all_that_many_starts_find(m):
    """Newton's steps on the angles, from thousands of places, as judge."""
    rng = np.random.default_rng(m)
    for _ in range(4):
        c = rng.standard_normal((m, 2 * m + 1)) + 1j * rng.standard_normal((m, 2 * m + 1))
        c[:, 0] = -c[:, 1:] @ np.exp(1j * rng.uniform(-3, 3, 2 * m))
        angles = rng.uniform(-np.pi, np.pi, (3000, 2 * m))
        for _ in range(60):
            z = np.exp(1j * angles)
            off = c[:, 0] + z @ c[:, 1:].T
            slope = c[:, 1:] * (1j * z)[:, None]
            both = np.concatenate([slope.real, slope.imag], axis=1)
            move = np.linalg.solve(
                both + 1e-14 * np.eye(2 * m), np.concatenate([off.real, off.imag], axis=1)[..., None]
            )[..., 0]
            angles -= move / np.maximum(1.0, 2.0 * np.abs(move).max(axis=1, keepdims=True))
        z = np.exp(1j * angles[np.abs(c[:, 0] + np.exp(1j * angles) @ c[:, 1:].T).max(axis=1) < 1e-10])
        expected = []
        for one in z:
            if not any(np.abs(one - other).max() < 1e-6 for other in expected):
                expected.append(one)
        same_points(dixon(c), expected, 1e-7)


def test_slides_in_loops_of_their_own():
    crank = kt.linkage(
        {"O": (0, 0), "A": (30, 0), "B": (120, 10)}, {"crank": "O A", "rod": "A B"}, ground="O", motor="O",
        sliders={"B": "x"}, units="mm",
    )  # fmt: skip
    found = crank.assemblies({"O": 0.7})
    a, rod = 0.03 * np.exp(0.7j), abs(0.09 + 0.01j)
    expected = [a.real + s * np.sqrt(rod**2 - (0.01 - a.imag) ** 2) + 0.01j for s in (1, -1)]
    assert found.proven
    same_points(flat(crank.pose(found.q, "B")[:, :3, 3]), expected)
    jib = kt.Builder("jib")  # a strut whose barrel turns
    jib.body("crank", "base", TURN, mass=1.0)
    jib.body("barrel", "base", TURN, position=(1.5, 0, 0), mass=1.0, actuated=False)
    jib.body("rod", "barrel", kt.Prismatic("x"), position=(0, 0.2, 0), mass=1.0)
    jib.loop("pin", "crank", "rod", TURN, placement=(1, 0, 0))
    found = jib.build().assemblies({"crank_joint": 1.0})
    length = np.sqrt(abs(np.exp(1j) - 1.5) ** 2 - 0.04)
    assert found.proven
    assert np.allclose(np.sort(found.q[:, 2]), [-length, length], atol=1e-12)


# ------------------------------------------------------------------ platforms in space


def random_stewart(rng):
    feet, heads = rng.uniform(-1, 1, (2, 6, 3))
    return stewart(feet, heads), feet, heads


def stewart(feet, heads):
    b = kt.Builder("hexapod")
    for i in range(6):
        b.body(f"lower{i}", "base", kt.Universal("XY"), position=feet[i], actuated=False, mass=1.0)
        b.body(f"upper{i}", f"lower{i}", kt.Prismatic("z"), mass=1.0, lower=0.0)
    b.body("platform", "upper0", kt.Spherical(), actuated=False, mass=1.0)
    for i in range(1, 6):
        b.loop(f"ball{i}", f"upper{i}", "platform", kt.Spherical(), seat=heads[i] - heads[0])
    return compiled(b.frame("top", "platform", -heads[0]).build())


DIETMAIER = np.array([  # feet, heads and lengths of legs
    [0, 0, 0, 0, 0, 0, 1],
    [1.107915, 0, 0, 0.542805, 0, 0, 0.645275],
    [0.549094, 0.756063, 0, 0.956919, -0.528915, 0, 1.086284],
    [0.735077, -0.223935, 0.525991, 0.665885, -0.353482, 1.402538, 1.503439],
    [0.514188, -0.526063, -0.368418, 0.478359, 1.158742, 0.107672, 1.281933],
    [0.590473, 0.094733, -0.205018, -0.137087, -0.235121, 0.353913, 0.771071],
])  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_all_forty_postures_of_dietmaiers_platform(seed):
    """P. Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures, 1998."""
    feet, heads, lengths = DIETMAIER[:, :3], DIETMAIER[:, 3:6], DIETMAIER[:, 6]
    top = stewart(feet, heads).platform("top")
    found = top.assemblies(lengths, rng=seed)
    assert len(found) == 40
    assert found.proven
    assert "proven to be all: a platform on six legs has at most 40" in str(found)
    there = top.pose(found)
    own = np.linalg.norm(np.einsum("kij,nj->kni", there[:, :3, :3], heads) + there[:, None, :3, 3] - feet, axis=-1)
    assert np.abs(own - lengths).max() < 1e-12
    apart = np.abs(there[:, None] - there).max(axis=(-1, -2)) + np.eye(40)
    assert apart.min() > 1e-3


def test_fewer_postures_than_possible_prove_nothing():
    feet, heads, lengths = DIETMAIER[:, :3], DIETMAIER[:, 3:6], DIETMAIER[:, 6]
    top = stewart(feet, heads).platform("top")
    few = top.assemblies(lengths, starts=256)
    assert len(few) < 40
    assert not few.proven
    assert "not proven: a platform on six legs has at most 40" in str(few)
    legs_too = top.assemblies(lengths, starts=256, distinct="bodies")  # a pose with legs turned by half a turn
    assert "at most 40" not in str(legs_too)


def test_stewart_platforms_have_an_even_number_whatever_the_seed():
    rng = np.random.default_rng(7)
    for _ in range(1):
        robot, feet, heads = random_stewart(rng)
        pose = kt.Pose.of(rng.uniform(-1, 1, 3), rpy=rng.uniform(-2, 2, 3)).matrix
        lengths = np.linalg.norm(heads @ pose[:3, :3].T + pose[:3, 3] - feet, axis=1)
        top = robot.platform("top")
        one, other = (top.assemblies(lengths, rng=seed) for seed in (0, 1))
        assert 2 <= len(one) == len(other) <= 40
        assert len(one) % 2 == 0
        same_points(top.pose(one), top.pose(other), 1e-7)
        there = top.pose(one)
        own = np.linalg.norm(np.einsum("kij,nj->kni", there[:, :3, :3], heads) + there[:, None, :3, 3] - feet, axis=-1)
        assert np.abs(own - lengths).max() < 1e-10
        assert np.abs(there - pose).max(axis=(1, 2)).min() < 1e-8


def test_what_can_still_move_is_refused_and_what_spins_idly_is_not():
    with pytest.raises(kt.OptionError, match=r"can still move \(.*\): there are infinitely many assemblies"):
        compiled(models.five_bar()).assemblies({"a1_joint": 0.3})
    with pytest.raises(kt.OptionError, match="positions"):
        compiled(models.five_bar()).assemblies(["a1_joint", "b1_joint"])
    with pytest.raises(kt.ShapeError, match="one set of positions at a time"):
        four_bar(1.0, 0.3, 0.9, 0.8).assemblies({"crank_joint": [0.1, 0.2]})
    with pytest.raises(kt.UnknownNameError):
        four_bar(1.0, 0.3, 0.9, 0.8).assemblies({"crank_joint": 0.1}, distinct="nothing")
    b = kt.Builder("spin")  # a rod between two balls turns about itself
    b.body("crank", "base", TURN, mass=1.0)
    b.body("rod", "crank", kt.Spherical(), position=(0.5, 0, 0), mass=1.0, actuated=False)
    b.body("rocker", "base", kt.Revolute("y"), position=(1.0, 0, 0), mass=1.0, actuated=False)
    b.loop("ball", "rod", "rocker", kt.Spherical(), placement=(0.9, 0, 0), seat=(0, 0, 0.6))
    robot = compiled(b.build())
    with pytest.raises(kt.OptionError, match="can still move"):
        robot.assemblies({"crank_joint": 0.3})
    found = robot.assemblies({"crank_joint": 0.3}, distinct="rocker")
    assert len(found) == 2
    elbow = 0.5 * np.array([np.cos(0.3), np.sin(0.3), 0.0])
    heads = np.array([1.0 + 0.6 * np.sin(found.q[:, -1]), 0 * found.q[:, -1], 0.6 * np.cos(found.q[:, -1])]).T
    assert np.abs(np.linalg.norm(heads - elbow, axis=1) - 0.9).max() < 1e-10


def test_limits_leave_out_what_is_beyond_them():
    b = kt.Builder("elbow up")
    b.body("crank", "base", TURN, mass=1.0)
    b.body("coupler", "crank", TURN, position=(0.3, 0, 0), mass=1.0, actuated=False, lower=2 * np.pi, upper=3 * np.pi)
    b.body("rocker", "base", TURN, position=(1.0, 0, 0), mass=1.0, actuated=False)
    b.loop("pin", "coupler", "rocker", TURN, placement=(0.9, 0, 0), seat=(0.8, 0, 0))
    robot = b.build()
    found = robot.assemblies({"crank_joint": 0.4})
    assert len(found) == 1
    assert robot.within_limits(found.q).all()
    assert found.proven
    assert "1 of them beyond limits" in str(found)
    assert len(robot.assemblies({"crank_joint": 0.4}, limits=False)) == 2
