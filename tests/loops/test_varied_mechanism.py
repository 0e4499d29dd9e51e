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
