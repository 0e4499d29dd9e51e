"""Maps of workspaces, judged by geometry: rings, circles, the polygon of forces."""

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import FIVE_BAR_START, five_bar

L1, L2 = 0.6, 0.4


@pytest.fixture(scope="module")
def arm():
    b = kt.Builder("two links", gravity=(0, -9.81, 0))
    b.body("upper", "base", kt.Revolute("z"), mass=2.0, com=(0.3, 0, 0), effort_limit=30.0)
    b.body("lower", "upper", kt.Revolute("z"), position=(L1, 0, 0), mass=1.0, com=(0.2, 0, 0), effort_limit=15.0)
    return b.frame("tip", "lower", (L2, 0, 0)).build()


def test_an_arm_reaches_a_ring(arm):
    x, y = np.linspace(-1.1, 1.1, 24), np.linspace(-1.1, 1.1, 24)
    found = kt.workspace(arm, "tip", x=x, y=y, q_guess=[0.3, 0.5], stiffness=[4e3, 1e3])
    r = np.hypot(*np.meshgrid(x, y, indexing="ij"))[..., None]
    assert np.array_equal(found.reached, (r < L1 + L2) & (r > L1 - L2))
    assert found.size == pytest.approx(np.pi * ((L1 + L2) ** 2 - (L1 - L2) ** 2), rel=0.05)
    q = found.q[found.reached]
    jacobian = arm.jacobian(q, "tip", "aligned")[:, 3:5]
    values = np.linalg.svd(jacobian, compute_uv=False)
    plane = np.linalg.inv(jacobian @ np.diag([1 / 4e3, 1 / 1e3]) @ np.swapaxes(jacobian, 1, 2))
    assert np.allclose(found.maps["stiffness"][found.reached], np.linalg.eigvalsh(plane)[:, 0])
    assert np.allclose(found.maps["margin"][found.reached], values[:, 1] / values[:, 0])  # in its plane
    # forces in many directions: what the worst of them allows
    angles = np.linspace(0, 2 * np.pi, 721)
    pushes = np.stack([np.cos(angles), np.sin(angles)])
    weight, limit = arm.gravity_force(q), np.array([30.0, 15.0])
    with np.errstate(divide="ignore"):
        per_newton = np.swapaxes(jacobian, 1, 2) @ pushes
        most = np.where(per_newton > 0, limit[:, None] - weight[..., None], limit[:, None] + weight[..., None])
        worst = (most / np.abs(per_newton)).min(axis=(1, 2))
    assert np.allclose(found.maps["force"][found.reached], worst, rtol=1e-4)


def test_a_five_bar_reaches_where_both_of_its_legs_do():
    mechanism = five_bar()
    home = mechanism.close(FIVE_BAR_START)
    tip = mechanism.platform("tip", orientation=False)
    x, y = np.linspace(-0.8, 1.8, 9), np.linspace(0.2, 2.0, 7)
    found = kt.workspace(tip, x=x, y=y, z=0.0, q_guess=home, efforts=10.0)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    a, b = np.linalg.norm(grid, axis=-1), np.linalg.norm(grid - [1, 0], axis=-1)
    within = (a > 0.5) & (a < 1.7) & (b > 0.5) & (b < 1.9)
    assert np.array_equal(found.reached[..., 0], within)
    assert np.allclose(tip.pose(found.q[found.reached])[:, :2, 3], grid[within], atol=1e-9)
    margins = tip.margins(found.q[found.reached])
    assert np.allclose(found.maps["margin"][found.reached], np.minimum.reduce(list(margins.values())))
    assert np.isnan(found.maps["force"][~found.reached]).all()


def test_maps_are_printed_drawn_and_saved(arm, tmp_path):
    found = kt.workspace(arm, "tip", x=[0.5, 0.9, 1.3], y=[0.0, 0.1], q_guess=[0.3, 0.5])
    text = str(found)
    assert "reaches 4 of 6 points, 0.16 m^2 at z = 0 m\n" in text
    assert "force" in text
    assert "<table>" in found._repr_html_()
    found.plot("force", tmp_path / "force.png")
    kt.workspace(arm, "tip", x=[0.5, 0.9], y=[0.0, 0.1], z=[-0.1, 0.0], q_guess=[0.3, 0.5]).plot("reach")
    found.save(tmp_path / "map.csv")
    rows = np.genfromtxt(tmp_path / "map.csv", delimiter=",", names=True)
    assert rows.dtype.names[:4] == ("x", "y", "z", "reached")
    assert rows["reached"].sum() == 4
    assert (tmp_path / "force.png").stat().st_size > 5000
    with pytest.raises(kt.OptionError, match="no map of the stiffness: give workspace"):
        found.plot("stiffness")
    with pytest.raises(kt.UnknownNameError, match="margin"):
        found.plot("margins")


def test_what_a_map_cannot_be_made_of_is_said(arm):
    with pytest.raises(kt.OptionError, match="frame, the body or frame of 'two links'"):
        kt.workspace(arm, x=[0.0, 1.0])
    with pytest.raises(kt.ShapeError, match="x must be a number, or increasing"):
        kt.workspace(arm, "tip", x=[1.0, 0.0])
    with pytest.raises(kt.OptionError, match="efforts must be positive: one number, or one for each of the 2 motors"):
        kt.workspace(arm, "tip", x=[0.5], efforts=[1.0, 2.0, 3.0])


def test_a_motor_without_lever_that_cannot_carry_the_arm_leaves_no_force():
    """The frame sits on the axis of the second motor, which holds a link behind it."""
    arm = (
        kt.Builder("arm")
        .body("upper", "base", kt.Revolute("y"), mass=1, com=(0.3, 0, 0))
        .body("lower", "upper", kt.Revolute("y"), position=(0.6, 0, 0), mass=1, com=(0.2, 0, 0))
        .build()
        .with_frame("elbow", "lower", np.eye(4))
    )
    weak, strong = (
        kt.workspace(arm, "elbow", x=0.6, z=0.0, q_guess=[0.0, 0.0], efforts=efforts)
        for efforts in ([50.0, 0.1], [50.0, 9.0])
    )
    assert weak.reached.all()
    assert weak.maps["force"].item() == -np.inf
    assert 0.0 < strong.maps["force"].item() < 100.0


def test_a_delta_stays_on_its_branch_at_the_limits():
    """Beside its limits rods on balls would let the platform turn, on another branch: that is not reached."""
    base, arm, rod, plate, low, high = 0.2, 0.32, 0.75, 0.06, -0.9, 1.5
    b = kt.Builder("delta")
    b.body("plate", "base", kt.Free(), mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    angles = np.arange(3) * 2 * np.pi / 3
    for k, angle in enumerate(angles):
        out, along = np.array([np.cos(angle), np.sin(angle), 0]), np.array([-np.sin(angle), np.cos(angle), 0])
        b.body(f"arm{k}", "base", kt.Revolute("y"), position=tuple(base * out), rpy=(0, 0, angle), lower=low,
               upper=high, mass=1.0, com=(0.1, 0, 0))  # fmt: skip
        for side in (0.05, -0.05):
            b.loop(f"rod{k}{side}", f"arm{k}", "plate", kt.Distance(rod), placement=(arm, side, 0),
                   seat=tuple(plate * out + side * along))  # fmt: skip
    robot = b.build()
    home = robot.close([0, 0, 0, 1, 0, 0, -0.65, 0.2, 0.2, 0.2])
    x, z = np.linspace(-0.5, 0.5, 11), np.linspace(-0.5, -0.4, 3)
    found = kt.workspace(robot.platform("plate", orientation=False), x=x, y=x, z=z, q_guess=home)
    px, py, pz = np.meshgrid(x, x, z, indexing="ij")
    within = np.ones(px.shape, dtype=bool)
    for angle in angles:  # (u - arm cos q)^2 + w^2 + (z + arm sin q)^2 = rod^2
        u = np.cos(angle) * px + np.sin(angle) * py + plate - base
        w = np.cos(angle) * py - np.sin(angle) * px
        with np.errstate(invalid="ignore"):
            q = -np.arccos((u**2 + w**2 + pz**2 + arm**2 - rod**2) / (2 * arm * np.hypot(u, pz))) - np.arctan2(pz, u)
        q = (q + np.pi) % (2 * np.pi) - np.pi
        within &= (q >= low) & (q <= high)
    assert 100 < within.sum() < 250
    np.testing.assert_array_equal(found.reached, within)
    np.testing.assert_allclose(
        found.q[within, :4] * np.sign(found.q[within, 3:4]), [[0, 0, 0, 1]] * within.sum(), atol=1e-7
    )


def short_five_bar():
    """Two legs of 0.2 m and 0.3 m: both are folded where the tip is between the motors."""
    b = kt.Builder("short five-bar")
    for leg, x in (("l", -0.1), ("r", 0.1)):
        b.body(f"{leg}1", "base", kt.Revolute("z"), position=(x, 0, 0), mass=1.0)
        b.body(f"{leg}2", f"{leg}1", kt.Revolute("z"), position=(0.2, 0, 0), mass=1.0, actuated=False)
    b.loop("pin", "l2", "r2", kt.Revolute("z"), placement=(0.3, 0, 0), seat=(0.3, 0, 0))
    robot = b.frame("tip", "l2", (0.3, 0, 0)).build()
    tip = robot.platform("tip", orientation=False)
    return tip, tip.inverse([0.02, 0.35, 0], q_guess=[2.2, -1.2, 0.9, 1.2])


def test_elbows_stay_on_their_side_where_the_grid_meets_a_fold():
    tip, home = short_five_bar()
    x = np.linspace(-0.45, 0.45, 11)
    found = kt.workspace(tip, x=x, y=x, q_guess=home)
    px, py = np.meshgrid(x, x, indexing="ij")
    within = np.ones(px.shape, dtype=bool)
    for base in (-0.1, 0.1):
        r = np.hypot(px - base, py)
        within &= (r <= 0.5 + 1e-9) & (r >= 0.1 - 1e-9)
    np.testing.assert_array_equal(found.reached[..., 0], within)
    q, clear = found.q[found.reached], tip.margins(found.q[found.reached])["inverse"] > 1e-6
    assert (np.sin(q[clear, 1]) < 0).all()
    assert (np.sin(q[clear, 3]) > 0).all()


def test_what_lies_behind_a_singular_point_is_counted_and_left_out():
    tip, home = short_five_bar()
    y = np.linspace(-0.3, 0.3, 7)  # the only way down leads through (0, 0)
    with pytest.warns(kt.SingularityWarning, match=r"3 points .*such as \(0, -0.3, 0\).*through singular"):
        found = kt.workspace(tip, x=0.0, y=y, q_guess=home)
    assert found.reached[0, :, 0].tolist() == [False] * 3 + [True] * 4
    folded = kt.workspace(tip, x=0.0, y=[0.0], q_guess=home).q[0, 0, 0]
    with pytest.warns(kt.SingularityWarning, match="starts in a singular configuration"):
        kt.workspace(tip, x=0.0, y=[0.0, 0.1], q_guess=folded)


def test_points_beyond_forward_singularities_are_told():
    """Against the sine of the angle between the distal links of a five-bar, which changes its sign where they align."""
    base, near, far = 0.25, (0.22, 0.24), (0.31, 0.29)
    b = kt.Builder("five-bar")
    for side, x in enumerate((0.0, base)):
        rods = [kt.MassProperties.rod(0.3, (0, 0, 0), (size[side], 0, 0)) for size in (near, far)]
        b.body(f"crank{side}", "base", kt.Revolute("z"), position=(x, 0, 0), mass_properties=rods[0])
        b.body(f"rod{side}", f"crank{side}", kt.Revolute("z"), position=(near[side], 0, 0), actuated=False,
               mass_properties=rods[1])  # fmt: skip
    b.loop("pin", "rod0", "rod1", kt.Revolute("z"), placement=(far[0], 0, 0), seat=(far[1], 0, 0))
    tip = b.frame("tip", "rod0", (far[0], 0, 0)).build().platform("tip", orientation=False)
    start = tip.inverse([0.125, 0.4, 0], q_guess=[2.2, -1.2, 0.9, 1.2])
    found = kt.workspace(tip, x=np.linspace(-0.3, 0.55, 22), y=np.linspace(-0.1, 0.55, 17), q_guess=start)
    q = found.q[found.reached]
    sines = np.sin(q[:, 0] + q[:, 1] - q[:, 2] - q[:, 3])
    here = np.sin(start[0] + start[1] - start[2] - start[3])
    sure = np.abs(sines) > 1e-6
    assert (found.crossed[found.reached] == (sines * here < 0))[sure].all()
    assert 5 < found.crossed.sum() < found.reached.sum() / 2
    assert f"({found.crossed.sum()} of them only through forward singularities)" in str(found)
    assert not found.crossed[~found.reached].any()
    assert found.columns()["crossed"].sum() == found.crossed.sum()
