"""Mechanisms whose dimensions vary: each design moves as the mechanism that is built with its dimensions."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.pose import Pose

PINS = [[0.038, 0.0, 0.0], [0.03, 0.0, 0.0], [0.5, 0.0, 0.0]]
SEATS = [[0.1152, 0.0, 0.0], [0.13, 0.0, 0.0], [0.1, 0.0, 0.0]]


@pytest.fixture(scope="module")
def four_bar():
    return kt.load("four-bar")


@pytest.fixture(scope="module")
def drives():
    return kt.gallery.motion("four-bar").states(np.linspace(0.0, 4.0 / 3.0, 40))


@pytest.fixture(scope="module")
def moved(four_bar, drives):
    q, v, a = (x[:, :1] for x in drives)
    loops = {"crank_pin": {"position": PINS, "seat": SEATS}}
    return four_bar.driven_motion(q, v, a, {"loops": loops}, q_guess=kt.gallery.start("four-bar"))


def test_design_as_drawn_moves_as_the_book_has_it(four_bar, drives, moved):
    for found, wanted in zip((moved.q, moved.v, moved.a), drives, strict=True):
        assert np.allclose(found[0], wanted, rtol=1e-9, atol=1e-9)
    assert np.allclose(moved.tau[0], four_bar.inverse_dynamics(*drives), atol=1e-10)


def test_other_design_is_the_mechanism_built_so(four_bar, moved):
    model = four_bar.model
    (loop,) = model.loops
    pin, seat = (Pose.of(position=x[1]) for x in (PINS, SEATS))
    built = kt.Mechanism(replace(model, loops=(replace(loop, placement=pin, seat=seat),)))
    q, v, a = moved.q[1], moved.v[1], moved.a[1]
    assert built.closure_error(q).max() < 1e-11
    assert np.allclose(built.velocities(q, v[:, :1]), v, atol=1e-10)
    assert np.allclose(built.accelerations(q, v, a[:, :1]), a, atol=1e-8)
    assert np.allclose(built.inverse_dynamics(q, v, a), moved.tau[1], atol=1e-10)
    assert np.abs(np.diff(q, axis=0)).max() < 0.3  # it stays on its branch


def test_points_of_designs(four_bar, drives, moved):
    q, v, a = (x[:, :1] for x in drives)
    given = {"loops": {"crank_pin": {"position": PINS, "seat": SEATS}}}
    start, pen = kt.gallery.start("four-bar"), ("coupler", (0.05, 0.02, 0.0))
    again = four_bar.driven_motion(q, v, a, given, q_guess=start, points={"pen": pen, "end": "coupler"})
    for name, (frame, offset) in {"pen": pen, "end": ("coupler", (0.0, 0.0, 0.0))}.items():
        assert np.allclose(again.points[name][:2], four_bar.point_position(moved.q[:2], frame, offset), atol=1e-12)
        assert np.isnan(again.points[name][2, -1]).all()
    assert set(four_bar.driven_motion(q, v, a, q_guess=start, points="coupler").points) == {"coupler"}
    with pytest.raises(kt.UnknownNameError, match="no body or frame named 'pencil'"):
        four_bar.driven_motion(q, v, a, q_guess=start, points=["pencil"])


def test_design_that_cannot_turn_is_nan_and_alone_so(moved):
    assert moved.closed.tolist() == [True, True, False]
    assert np.isnan(moved.tau[2, -1]).all()


def test_bad_input(four_bar, drives):
    crank = drives.q[:, :1]
    with pytest.raises(kt.ArgumentError, match="no argument 'near'"):
        four_bar.driven_motion(crank, crank, crank, q_guess=drives.q[0], near=drives.q[0])
    with pytest.warns(DeprecationWarning, match="now q_guess="):
        four_bar.driven_motion(crank, 0 * crank, 0 * crank, near=drives.q[0])
    with pytest.raises(kt.ShapeError, match="same T"):
        four_bar.driven_motion(crank, crank[1:], crank, {"loops": {"crank_pin": {"position": PINS}}})
    with pytest.raises(kt.UnknownNameError, match="crank_pin"):
        four_bar.driven_motion(crank, crank, crank, {"loops": {"crank_pim": {"position": PINS}}})
    with pytest.raises(kt.UnsupportedError, match="driven_motion"):
        four_bar.inverse_dynamics(*drives, parameters={"loops": {"crank_pin": {"seat": SEATS[0]}}})


def test_samples_far_apart_are_not_taken_from_another_branch():
    """An eighth of a turn and more between them: found from the sample before, the other branch may be as near."""
    crank = kt.load("four-bar")
    start = kt.gallery.start("four-bar")
    fine = start[0] + np.linspace(0.0, 4 * np.pi, 801)[:, None]
    still = np.zeros_like(fine)
    every = crank.driven_motion(fine, still, still, q_guess=start)
    few = crank.driven_motion(fine[::100], still[::100], still[::100], q_guess=start)
    assert few.closed
    np.testing.assert_allclose(few.q, every.q[::100], rtol=0, atol=1e-9)


def test_designs_end_where_they_cannot_go_on_and_say_so(four_bar):
    """A crank that is too long comes to a dead point; one that is far too long is no mechanism at all."""
    start = kt.gallery.start("four-bar")
    drive = np.linspace(np.pi, 3 * np.pi, 100)[:, None]
    pins = np.array([[0.038, 0, 0], [0.15, 0, 0], [0.5, 0, 0], [np.nan, 0, 0]])
    moved = four_bar.driven_motion(
        drive, 0 * drive, 0 * drive, {"loops": {"crank_pin": {"position": pins}}}, q_guess=start
    )
    assert moved.closed.tolist() == [True, False, False, False]
    assert moved.ends[0] == 100
    assert 0 < moved.ends[1] < 100
    assert moved.ends[2] == -1
    assert moved.ends[3] == 0
    assert np.isfinite(moved.tau[1, : moved.ends[1]]).all()
    assert np.isnan(moved.q[1, moved.ends[1] :]).all()
    assert moved.reasons[0] is None
    assert f"before sample {moved.ends[1]}" in moved.reasons[1]
    assert "cannot be led" in moved.reasons[2]
    # the dead point is where pin and coupler lie in one line
    reach = np.linalg.norm(0.15 * np.c_[np.cos(drive), np.sin(drive)] - [-0.0895, 0.0], axis=-1)
    assert moved.ends[1] == int(np.argmax(reach > 2 * 0.1152))


def test_a_guess_a_turn_or_half_of_it_away_leads_to_the_first_sample(four_bar):
    start = kt.gallery.start("four-bar")
    drive = start[0] + 4 * np.pi + np.linspace(2.0, 3.0, 20)[:, None]
    moved = four_bar.driven_motion(drive, 0 * drive, 0 * drive, q_guess=start)
    assert moved.closed
    wanted = four_bar.follow({"crank_joint": drive[:, 0] - 4 * np.pi}, start, lead_in=True)
    np.testing.assert_allclose(moved.q[:, 1:], wanted[:, 1:], atol=1e-9)
    np.testing.assert_array_equal(moved.q[:, 0], drive[:, 0])
