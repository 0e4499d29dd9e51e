"""All configurations of arms: formulas, an arm with sixteen, and paths as judges."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.loops.assemblies.search_all import Assemblies

MANSEUR_DOTY = np.array(
    [[-0.760117, -0.641689, 0.102262, -1.140175], [0.133333, 0.0, 0.991071, 0.0], [-0.635959, 0.766965, 0.085558, 0.0]]
)
"""Where the arm of Manseur and Doty (1989) has sixteen real configurations; six digits."""


@pytest.fixture(scope="module")
def puma():
    return kt.Robot(kt.load("puma").model, backend="compiled")


def same_rows(found, expected, tolerance):
    """Every row of one is a row of the other, but for whole turns."""
    assert len(found) == len(expected)
    for row in expected:
        off = np.abs(np.exp(1j * found) - np.exp(1j * row)).max(axis=-1)
        assert off.min() < tolerance


def test_starts_find_what_formulas_say(puma):
    q = np.random.default_rng(1).uniform(-2, 2, (40, 6))
    poses = puma.pose(q, "link_6")
    by_formulas = kt.inverse_geometry(puma).solutions(poses)
    both = kt.all_inverse_kinematics(puma, "link_6", poses, limits=False)
    alone = kt.all_inverse_kinematics(puma, "link_6", poses, limits=False, formulas=False)
    assert both.proven.all()
    assert not alone.proven.any()
    assert both.q.shape == (40, 8, 6)
    for found in (both, alone):
        assert np.isfinite(found.q).all()
        assert np.abs(puma.pose(found.q, "link_6") - poses[:, None]).max() < 1e-10
        for own, rows in zip(found.q, by_formulas, strict=True):
            same_rows(own, rows, 1e-6)
    assert (alone.met.sum(axis=-1) == alone.closed).all()
    assert "8 of 40; proven for 40 of 40 states" in str(both)


def test_an_answer_does_not_depend_on_its_place_in_a_batch(puma):
    poses = puma.pose(np.random.default_rng(2).uniform(-2, 2, (9, 6)), "link_6")
    whole = kt.all_inverse_kinematics(puma, "link_6", poses, formulas=False, limits=False, threads=2)
    for k in (0, 4, 8):
        alone = kt.all_inverse_kinematics(puma, "link_6", poses[k], formulas=False, limits=False)
        assert isinstance(alone, Assemblies)
        assert np.array_equal(whole.q[k][: len(alone)], alone.q)
        assert np.array_equal(whole.met[k][: len(alone)], alone.met)


def test_the_arm_of_manseur_and_doty_has_sixteen():
    a, d, alpha = (0.3, 1.0, 0.0, 1.5, 0.0, 0.0), (0.0, 0.0, 0.2, 0.0, 0.0, 0.0), (90.0, 1.0) * 3
    rows = [{"theta": 0.0, "d": d[i], "a": a[i], "alpha": alpha[i]} for i in range(6)]
    robot = kt.Robot(kt.from_dh(rows, "standard", degrees=True).model, backend="compiled")
    pose = np.vstack([MANSEUR_DOTY, [0, 0, 0, 1]])
    u, _, vt = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = u @ vt
    found = kt.all_inverse_kinematics(robot, "link6", pose)
    assert len(found) == 16
    assert found.proven
    assert np.abs(robot.pose(found.q, "link6") - pose).max() < 1e-12
    assert "six hinges have at most 16" in str(found)
    far = np.exp(1j * found.q)
    apart = np.abs(far[:, None] - far[None]).max(axis=-1) + 9 * np.eye(16)
    assert apart.min() > 0.01


def test_branches_are_kept_along_a_path(puma):
    way = np.array([0.3, -0.5, 0.4, 0.2, 0.6, -0.1]) + np.linspace(0, 1, 60)[:, None] * [5.0, 0.5, 0.3, 0.8, 0.2, 6.0]
    for step in (1, 10):
        poses = puma.pose(way[::step], "link_6")
        found = kt.all_inverse_kinematics(puma, "link_6", poses, path=True, limits=False)
        assert found.q.shape[1] == 8
        own = int(np.abs(found.q[0] - way[0]).max(axis=-1).argmin())
        assert np.abs(found.q[:, own] - way[::step]).max() < 1e-9
        assert np.abs(puma.pose(found.q, "link_6") - poses[:, None]).max() < 1e-10
    elbow = np.linspace(0.5, -0.5, 20)[:, None] * [0, 0, 1, 0, 0, 0] + [0.1, 0.2, np.pi / 2, 0.2, 0.7, 0.1]
    poses = puma.pose(elbow, "link_6")
    outward = poses.copy()
    outward[:, :3, 3] += np.linspace(0, 2.0, 20)[:, None] * [1.0, 0, 0]  # out of reach in the end
    found = kt.all_inverse_kinematics(puma, "link_6", outward, path=True, limits=False)
    assert np.isnan(found.q[-1]).all()
    steps = np.abs(np.diff(found.q, axis=0))
    assert np.nanmax(steps) < 2.0


def test_what_has_no_answer(puma):
    q = np.array([0.3, -0.5, 0.4, 0.2, 0.6, -0.1])
    pose = puma.pose(q, "link_6")
    far = pose + np.eye(4)[:, :1] * [0, 0, 0, 50.0]
    found = kt.all_inverse_kinematics(puma, "link_6", [pose, pose * np.nan, far])
    assert found.count[1:].tolist() == [0, 0]
    assert found.proven.tolist() == [True, False, True]
    straight = q * [1, 1, 1, 1, 0, 1]  # the wrist's outer axes are in line: as many configurations as one likes
    found = kt.all_inverse_kinematics(puma, "link_6", puma.pose(straight, "link_6"))
    assert not found.proven
    assert "singular for some, which are left out" in str(found)
    with pytest.raises(kt.OptionError, match=r"6 freedoms move 'link_6' and its goal has 3 conditions"):
        kt.all_inverse_kinematics(puma, "link_6", [0.4, 0.1, 0.3], what="position")
    wrist = kt.all_inverse_kinematics(
        puma, "link_6", puma.pose(q * [1, 1, 1, 0, 0, 0], "link_6")[:3, 3], what="position",
        joints=puma.joint_names[:3], limits=False,
    )  # fmt: skip
    assert len(wrist) == 4
    with pytest.raises(kt.UnsupportedError, match=r"closed loops: robot.platform\('coupler'\).assemblies"):
        kt.all_inverse_kinematics(kt.load("four-bar"), "coupler", np.eye(4))
    with pytest.raises(kt.ShapeError, match="a path is poses"):
        kt.all_inverse_kinematics(puma, "link_6", pose, path=True)


def test_limits_leave_out_what_is_beyond_them(puma):
    b = kt.Builder("arm")
    b.body("upper", "base", kt.Revolute("y"), mass=1.0)
    b.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), mass=1.0, lower=0.0, upper=2.5)
    arm = b.frame("tip", "lower", (0.4, 0, 0)).build()
    targets = [[0.6, 0.0, 0.2], [5.0, 0.0, 0.0]]
    bent = np.arccos((0.4 - 0.25 - 0.16) / (2 * 0.5 * 0.4))
    found = kt.all_inverse_kinematics(arm, "tip", targets, what="position")
    assert found.q.shape == (2, 1, 2)
    assert found.q[0, 0, 1] == pytest.approx(bent)
    assert np.isnan(found.q[1]).all()
    every = kt.all_inverse_kinematics(arm, "tip", targets[0], what="position", limits=False)
    assert np.allclose(np.sort(every.q[:, 1]), [-bent, bent])
