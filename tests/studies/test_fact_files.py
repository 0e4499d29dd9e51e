"""Files of facts: what is stated in YAML, beside what an analysis measures; mistakes with file and line."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
import kinetree_gallery
from kinetree import gallery
from kinetree.studies import user_study
from kinetree.studies.fact_files import FactFile, facts_of, stated
from kinetree_gallery.analyses.common_facts import common
from kinetree_gallery.comparisons import cassie

HEAD = "kinetree-facts: 1\ninverse:\n"
FACT = "  - fact: torque at {where}\n    measured: torque\n    is: [1.5, -2]\n    within: 1e-3\n    unit: N m\n"


def written(folder, text):
    (folder / "facts.yaml").write_text(text, encoding="utf-8")
    return FactFile(folder / "facts.yaml")


def test_a_fact_is_what_the_file_states_beside_what_is_measured(tmp_path):
    (fact,) = written(tmp_path, HEAD + FACT + "    source: Shah section 8.3\n")(
        "inverse", torque=[1.5004, -2.0], where="0 s"
    )
    assert str(fact) == "torque at 0 s: stated (1.5, -2) N m (Shah section 8.3), measured (1.5004, -2) N m, holds"
    (fact,) = written(tmp_path, HEAD + FACT + "    reason: a misprint\n")("inverse", {"torque": [1.6, -2.0]}, where=3)
    assert (fact.holds, fact.known, fact.reason, fact.source) == (False, True, "a misprint", "ours")


@pytest.mark.parametrize(
    ("reading", "seen"),
    [("largest", 3.0), ("most", 2.0), ("least", -3.0), ("range", 5.0), ("first", 1.0), ("last", 2.0)],
)
def test_what_is_read_of_many_numbers(tmp_path, reading, seen):
    file = written(tmp_path, f"{HEAD}  - {{fact: x, {reading}: error, below: 4}}\n")
    assert file("inverse", error=np.array([1.0, -3.0, 2.0]))[0].measured == seen
    assert not file("inverse", error=np.array([1.0, np.nan, np.nan]))[0].holds or reading == "first"


def test_names_in_braces_stand_for_what_is_computed(tmp_path):
    row = "  - {fact: 'after {time:.1f} s of {1}', measured: place, is: '{planned}', within: '{slack}', unit: '{u}'}\n"
    (fact,) = written(tmp_path, HEAD + row)("inverse", time=2.04, place=3.0, planned=3.1, slack=0.2, u="m")
    assert (fact.text, fact.stated, fact.tolerance, fact.unit, fact.holds) == (
        "after 2.0 s of {1}",
        3.1,
        0.2,
        "m",
        True,
    )


def test_what_no_fact_asks_for_is_not_computed(tmp_path):
    file = written(tmp_path, HEAD + "  - {fact: x, measured: cheap, is: 1}\n")
    (fact,) = file("inverse", cheap=lambda: 1, dear=lambda: 1 / 0)
    assert fact.holds
    assert isinstance(fact.stated, int)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("  - {fact: x, measured: a}\n", r"facts.yaml, line 3: a fact says what is stated by one of"),
        ("  - fact: x\n    is: 1\n", r"line 3: a fact says what is measured by one of the keys measured, largest"),
        ("  - {fact: x, measured: a, most: a, is: 1}\n", r"line 3: a fact says what is measured.*not 2"),
        ("  - fact: x\n    measured: a\n    is: 1\n    tolerence: 2\n", r"line 6: a fact: no key named 'tolerence'"),
        ("  - {fact: x, measured: a, below: 1,\n     within: 0.1}\n", r"line 4: 'within' is for 'is', not for 'below'"),
        ("  - {measured: a, is: 1}\n", r"line 3: a fact needs the key 'fact'"),
        ("  - {fact: x, measured: speeed, is: 1}\n", r"line 3: no measure named 'speeed'; did you mean 'speed'"),
        ("  - {fact: 'x {sped}', measured: speed, is: 1}\n", r"line 3: no measure named 'sped'"),
        ("  fact: x\n", r"line 3: inverse must be a list"),
        ("  - {fact: x, measured: a, is: {b: 1}}\n", r"line 3: what is stated must be a single value"),
        ("  - {fact: x, measured: a, is: null}\n", r"line 3: what is stated must be a number, not 'null'"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path, rows, told):
    with pytest.raises(kt.FileFormatError, match=told):
        written(tmp_path, HEAD + rows)("inverse", speed=1.0)


def test_other_files_and_sections_are_refused(tmp_path):
    with pytest.raises(kt.FileFormatError, match="not a file of facts: it must begin with 'kinetree-facts: 1'"):
        written(tmp_path, "inverse: []\n")("inverse")
    with pytest.raises(kt.FileFormatError, match="line 1: only version 1"):
        written(tmp_path, "kinetree-facts: 2\n")("inverse")
    with pytest.raises(kt.FileFormatError, match="no section named 'invers'; did you mean 'inverse'"):
        written(tmp_path, HEAD + FACT)("invers")
    with pytest.raises(kt.FileFormatError, match=r"five_bar.facts\.yaml, line .*: no measure named 'ends'"):
        stated("five-bar", "inverse", sizes=(4, 5, 1), groups=(4,))


@pytest.mark.parametrize("name", gallery.names())
def test_facts_of_the_gallery_belong_to_analyses_that_there_are(name):
    """A section that no analysis asks for would never be shown."""
    file = facts_of(name)
    if file.path.exists():
        assert {section.partition(".")[0] for section in file.sections} <= set(gallery.study(name).analyses)


@pytest.mark.parametrize("file", [common, cassie.FACTS], ids=["analyses", "comparisons"])
def test_shared_facts_are_asked_for(file):
    code = "".join(path.read_text(encoding="utf-8") for path in Path(kinetree_gallery.__file__).parent.rglob("*.py"))
    sections = [s for s in file.sections if not s.startswith(("walking, feedforward b", "walking, equally"))]
    assert [s for s in sections if f'"{s}"' not in code] == []


STUDY = """kinetree-study: 1
robot: kuka-kr5
motion: {kind: cycloid, to: {joint_1: 1.0, joint_3: 0.4}, duration: 1}
controller: {kind: computed-torque, kp: 100, kd: 20}
simulation: {time: 1.0, samples: 21}
expect: {energy_error: 1e-6}
facts:
  inverse:
    - {fact: ends where it should, last: q.joint_1, is: 1.0, within: 1e-9, unit: rad}
  simulation:
    - {fact: 'largest of {samples} torques', largest: tau.joint_3, below: 1, unit: N m, source: data sheet}
    - {fact: the same by name, measured: peak_force.joint_3, below: 1000}
    - {fact: follows, largest: final_error, below: 1e-3}
    - {fact: energy, measured: energy_error, below: 1e-6}
"""


def study_of(folder, text):
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    return user_study.read(folder / "mine.yaml")


def test_a_study_of_ones_own_states_facts_in_the_same_way(tmp_path):
    result = study_of(tmp_path, STUDY).run()
    end = result.outcomes["inverse"].facts[-1]
    assert (end.text, end.holds, end.source) == ("ends where it should", True, "this file")
    expected, torque, same, follows, energy = result.outcomes["simulation"].facts
    assert (expected.measured, expected.stated) == (energy.measured, energy.stated)
    assert (torque.text, torque.holds, torque.source) == ("largest of 21 torques", False, "data sheet")
    assert torque.measured == same.measured > 1.0
    assert same.holds
    assert follows.holds
    assert result.faults == [torque]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  simulation:\n    -", "  simulations:\n    -", "mine.yaml, line 10: no analysis of this study named"),
        ("tau.joint_3", "tau.joint_9", "line 11: no measure named 'tau.joint_9'; did you mean"),
        ("last: q.joint_1", "lost: q.joint_1", "line 9: a fact: no key named 'lost'; did you mean 'last'"),
        ("largest: final_error", "is: 3", "line 13: "),
    ],
)
def test_mistakes_in_facts_of_ones_own_are_told_with_their_line(tmp_path, old, new, told):
    assert old in STUDY
    with pytest.raises(kt.FileFormatError, match=told):
        study_of(tmp_path, STUDY.replace(old, new)).run("simulation")
