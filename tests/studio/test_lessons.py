"""Lessons of the studio: read from Markdown, with mistakes named by file and line."""

import pytest

import kinetree as kt
from kinetree.errors import FileFormatError, MissingFileError
from kinetree_studio.desk.lessons import lesson, listed

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
    assert listed(tmp_path)[-1] == {"name": "mine.lesson.md", "title": "My lesson"}
    with kt.studio(folder=tmp_path, port=0) as studio:
        told = studio.heard({"do": "lesson", "name": "mine.lesson.md"})
        assert told["name"] == "four-bar"
        (step,) = told["lesson"]["steps"]
        assert [part["kind"] for part in step["parts"]] == ["text", "question", "task"]
        assert step["parts"][1]["within"] == "3"
        assert (step["parts"][2]["sign"], step["parts"][2]["value"]) == ("<", "4.5")
        with pytest.raises(MissingFileError):
            studio.heard({"do": "lesson", "name": "../mine.lesson.md"})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("? How large? [N m] = peak torque ± 3 %", "line 6: 'peak torque' is none of"),
        ("? How large? = 3 ± 3 %", "line 6: this is not of the form"),
        ("? How large? [lb] = 3 ± 3 %", "not in 'lb'"),
        ("! Make it lighter", "line 6: this is not of the form"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path, line, said):
    text = LESSON.replace("? How large? [N m] = peak torque of crank_joint ± 3 %", line)
    (tmp_path / "mine.lesson.md").write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=said):
        lesson(tmp_path, "mine.lesson.md")
