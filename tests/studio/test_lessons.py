"""Lessons of the studio: read from Markdown, with mistakes named by file and line."""

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from kinetree.errors import FileFormatError, MissingFileError
from kinetree_studio.desk.lessons import checked, lesson, listed

LESSON = """# My lesson
system: four-bar

## First step
Look at it.
? How large? [N m] = peak torque of crank_joint ± 3 %
! Make it lighter: mass of coupler < 4.5
"""


def test_the_lessons_of_the_studio_name_joints_and_systems_that_exist(tmp_path):
    for entry in listed(tmp_path):
        found = lesson(tmp_path, entry["name"])
        assert found["title"] == entry["title"]
        robot = kt.load(found["system"])
        names = {*robot.joint_names, *robot.body_names, *(loop.name for loop in robot.model.loops)}
        asked = [part["of"] for step in found["steps"] for part in step["parts"] if part["kind"] != "text"]
        assert asked
        assert all(text.rpartition(" of ")[2] in names for text in asked)


def test_a_teachers_own_lesson_is_listed_and_opens_its_system(tmp_path):
    (tmp_path / "mine.lesson.md").write_text(LESSON, encoding="utf-8")
    assert listed(tmp_path)[-1] == {"name": "mine.lesson.md", "title": "My lesson", "problem": ""}
    with kt.studio(folder=tmp_path, port=0) as studio:
        told = studio.heard({"do": "lesson", "name": "mine.lesson.md"})
        assert told["name"] == "four-bar"
        (step,) = told["lesson"]["steps"]
        assert [part["kind"] for part in step["parts"]] == ["text", "question", "task"]
        assert step["parts"][1]["within"] == "3"
        assert (step["parts"][2]["sign"], step["parts"][2]["value"], step["parts"][2]["unit"]) == ("<", 4.5, "kg")
        with pytest.raises(MissingFileError):
            studio.heard({"do": "lesson", "name": "../mine.lesson.md"})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("? How large? [N m] = peak torque ± 3 %", "line 6: 'peak torque' is none of"),
        ("? How large? = 3 ± 3 %", "line 6: this is not of the form"),
        ("? How large? [lb] = 3 ± 3 %", "line 6: the unit 'lb' is not understood"),
        ("! Make it lighter: mass of coupler < 4.5 stone", "line 6: the limit '4.5 stone' is not a number"),
        ("! Make it lighter", "line 6: this is not of the form"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, line, said):
    text = LESSON.replace("? How large? [N m] = peak torque of crank_joint ± 3 %", line)
    (tmp_path / "mine.lesson.md").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=said):
        lesson(tmp_path, "mine.lesson.md")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("? How large? [N m] = peak torque of crank_jont ± 3 %", "'crank_jont'; did you mean 'crank_joint'"),
        ("? How large? [kg] = peak torque of crank_joint ± 3 %", "is in N m or a unit of that kind"),
        ("! Make it lighter: mass of coupler < 4.5 mm", "is in kg or a unit of that kind, not in 'mm'"),
    ],
)  # fmt: skip
def test_a_lesson_is_held_against_its_robot_before_anybody_takes_it(tmp_path, line, said):
    (tmp_path / "mine.lesson.md").write_text(LESSON + line + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=said) as refused:
        checked(tmp_path / "mine.lesson.md")
    assert "mine.lesson.md, line 8: " in str(refused.value)
    with kt.studio("two-link", folder=tmp_path, port=0) as studio:
        with pytest.raises(FileFormatError, match=said):
            studio.heard({"do": "lesson", "name": "mine.lesson.md"})
        assert studio.document.robot.name == "two-link"  # and nothing else has been opened


def test_a_lesson_opens_a_file_beside_it_and_answers_have_units(tmp_path):
    kt.gallery.load("four-bar").save(tmp_path / "own.yaml")
    text = LESSON.replace("system: four-bar", "system: own.yaml") + "? How long? [cm] = 30 ± 1 %\n"
    text += "? Mass? [g] = mass of coupler ± 1 %\n! Slow: peak velocity of crank_joint < 90 deg/s\n"
    (tmp_path / "mine.lesson.md").write_text(text, encoding="utf-8")
    found = checked(tmp_path / "mine.lesson.md")
    _, torque, _, length, mass, slow = found["steps"][0]["parts"]
    assert (torque["si"], torque["factor"], torque["number"]) == ("Nm", 1.0, None)
    assert length["number"] == pytest.approx(0.3)
    assert (mass["si"], mass["factor"]) == ("kg", 1e-3)
    assert (slow["value"], slow["unit"]) == (pytest.approx(np.pi / 2), "deg/s")
    assert slow["factor"] == pytest.approx(np.pi / 180)


def test_lessons_that_cannot_be_read_are_listed_with_what_is_wrong(tmp_path):
    (tmp_path / "mine.lesson.md").write_text(LESSON + "! Faster\n", encoding="utf-8")
    assert "line 8: this is not of the form" in listed(tmp_path)[-1]["problem"]


def test_the_command_line_checks_lessons(tmp_path):
    path = tmp_path / "mine.lesson.md"
    path.write_text(LESSON, encoding="utf-8")
    assert invoke("studio", "--check", path).stdout == "My lesson: four-bar\n  First step: 1 question, 1 task\n"
    path.write_text(LESSON.replace("mass of coupler", "mass of copler"), encoding="utf-8")
    refused = invoke("studio", "--check", path, code=1)
    assert "did you mean 'coupler'?" in " ".join(refused.stderr.split())
