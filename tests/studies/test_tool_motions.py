"""Lines, arcs and turns of a tool in study files."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.formats.source import Source
from kinetree.studies.user_study import StudyReader

STUDY = """
kinetree-study: 1
robot: kuka-kr5
start: {q: {joint_1: 0.3, joint_2: 35 deg, joint_3: -0.4, joint_4: 0.2, joint_5: 0.8, joint_6: 0.1}}
motion: {MOTION}
"""


def planned(tmp_path, motion):
    return StudyReader(Source(tmp_path / "study.yaml", STUDY.replace("MOTION", motion).encode())).plan()


@pytest.mark.parametrize(("motion", "make"), [
    ("kind: line, frame: link_6, to: [900 mm, 0.4, 0.2], speed: 200 mm/s, acceleration: 1, orientation: kept",
     lambda at: kt.trajectories.Line(at, [0.9, 0.4, 0.2], speed=0.2, acceleration=1.0)),
    ("kind: arc, frame: link_6, via: [0.9, 0.3, 0.2], to: [0.85, 0.4, 0.2], duration: 1.5",
     lambda at: kt.trajectories.Arc(at[:3, 3], [0.9, 0.3, 0.2], [0.85, 0.4, 0.2], duration=1.5)),
    ("kind: turn, frame: link_6, axis: [0, 0, 1], angle: 20 deg, speed: 0.5",
     lambda at: kt.trajectories.Turn(at, [0, 0, 1], np.radians(20), speed=0.5)),
    ("kind: turn, frame: link_6, axis: [0, 0, 1], angle: 1, center: [0.8, 0.3, 0.2], speed: 0.5",
     lambda at: kt.trajectories.Turn(at[:3, 3], [0, 0, 1], 1.0, [0.8, 0.3, 0.2], speed=0.5)),
])  # fmt: skip
def test_a_frame_follows_what_the_file_says(tmp_path, motion, make):
    plan = planned(tmp_path, motion)
    path = make(plan.robot.pose(plan.q, "link_6"))
    assert plan.span == pytest.approx(path.end)
    t = np.linspace(0.0, path.end, 7)
    found = plan.robot.pose(plan.states(t).q, "link_6")
    wanted = path(t)[0][:, -3:]
    np.testing.assert_allclose(found[:, :3, 3], wanted, atol=1e-10)


@pytest.mark.parametrize(("motion", "words"), [
    ("kind: line, frame: link_6, speed: 1", "kind 'line' needs 'to'"),
    ("kind: line, to: [1, 0, 0], speed: 1", "kind 'line' needs 'frame'"),
    ("kind: line, frame: link_6, to: [0.9, 0.4, 0.2]", "needs a speed"),
    ("kind: line, frame: link_6, to: [0.9, 0.4, 0.2], speed: 3 rad/s", "does not fit"),
    ("kind: line, frame: link_6, to: [0.9, 0.4, 0.2], speed: 1, orientation: fixed", "no orientation named 'fixed'"),
    ("kind: line, frame: link_6, to: [9, 0, 0], speed: 1", "out of reach"),
])  # fmt: skip
def test_what_is_missing_or_wrong_is_said(tmp_path, motion, words):
    with pytest.raises(kt.KinetreeError, match=words):
        planned(tmp_path, motion)
