"""Line drawings of mechanisms: what is on the paper is where the robot says it is."""

import numpy as np
import pytest

import kinetree as kt

pytest.importorskip("matplotlib")


@pytest.fixture
def four_bar():
    """A square of rods, each drawn in world coordinates."""
    corners = {"A": (0.0, 0.0, 0.0), "B": (0.0, 0.1, 0.0), "C": (0.1, 0.1, 0.0), "D": (0.1, 0.0, 0.0)}
    b = kt.Builder("square", gravity=(0, -9.81, 0))
    for name in ("crank", "coupler", "rocker"):
        b.add_body(name, kt.MassProperties(0.1, (0.05, 0.05, 0.0), np.diag([1e-4, 1e-4, 2e-4])))
    links = [("A", "base", "crank"), ("B", "crank", "coupler"), ("C", "coupler", "rocker"), ("D", "base", "rocker")]
    for name, parent, child in links:
        b.joint(
            name, parent, child, kt.Revolute("z"), corners[name], seat=corners[name], actuated=name == "A"
        )  # fmt: skip
    return b.build()


def lines(figure):
    return [np.array(line.get_xydata()) for line in figure.axes[0].get_lines()]


def test_links_drawn_in_world_coordinates_are_where_they_were_drawn(four_bar):
    figure = kt.plot_mechanism(four_bar, four_bar.neutral())
    drawn = {tuple(sorted(map(tuple, line.round(9).tolist()))) for line in lines(figure) if len(line) == 2}
    for ends in (((0.0, 0.0), (0.0, 0.1)), ((0.0, 0.1), (0.1, 0.1)), ((0.1, 0.0), (0.1, 0.1))):
        assert ends in drawn
    on_paper = np.concatenate(lines(figure))
    assert on_paper.min() > -1e-9
    assert on_paper.max() < 0.1 + 1e-9


def test_a_motion_has_phantoms_and_paths_in_the_units_asked_for(four_bar, tmp_path):
    turn = four_bar.follow({"A": np.linspace(0.0, 0.5, 11)}, four_bar.neutral())
    figure = kt.plot_mechanism(
        four_bar, turn, path={"pen": ("coupler", (0.05, 0.12, 0.0))}, phantoms=3, units="mm", file=tmp_path / "a.svg"
    )
    assert (tmp_path / "a.svg").stat().st_size > 1000
    (path,) = [line for line in lines(figure) if len(line) == 11]
    assert np.allclose(path, four_bar.point_position(turn, "coupler", (0.05, 0.12, 0.0))[:, :2])
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [mm]", "y [mm]")
    assert axes.xaxis.get_major_formatter()(0.05, 0) == "50"
    alone = kt.plot_mechanism(four_bar, turn, phantoms=0)
    assert len(lines(figure)) - 1 > len(lines(alone))
    assert kt.plot_mechanism(kt.load("kuka-kr5"), view="xz").axes[0].get_ylabel() == "z [m]"


def test_what_cannot_be_drawn_is_said(four_bar):
    with pytest.raises(kt.KinetreeError, match="motion"):
        kt.plot_mechanism(four_bar, [0.0, 0.0])
    with pytest.raises(kt.KinetreeError, match="unit of length"):
        kt.plot_mechanism(four_bar, units="deg")
    with pytest.raises(kt.KinetreeError, match="view is a plane"):
        kt.plot_mechanism(four_bar, view="front")
    with pytest.raises(kt.KinetreeError, match="body or frame"):
        kt.plot_mechanism(four_bar, path="pen")
