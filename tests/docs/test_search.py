"""The search of the site: who types a word gets the page on it first."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

QUESTIONS = yaml.safe_load((ROOT / "tests/docs/search_questions.yaml").read_text(encoding="utf-8"))
SHARE_THAT_COMES_FIRST = 0.95

WORKER = ROOT / "docs/javascripts/search_worker.js"


def answers(index, questions):
    """The addresses that the site's search finds for each question, best first."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node")
    search = [node, str(ROOT / "tests/docs/search.cjs"), str(WORKER), str(index)]
    told = subprocess.run(
        search, input="\n".join(questions), capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout
    return [json.loads(line) for line in told.splitlines()]


SMALL = {
    "contact/": (
        "Ground and contact",
        "What touches the ground is pushed back.",
        ["robot falls through floor", "collision"],
    ),
    "contact/#grids": ("Uneven ground", "Stairs, slopes & <code>a&lt;b</code>.", []),
    "springs/": ("Springs and friction", "A spring pulls with its stiffness; viscous friction brakes.", []),
    "control/": (
        "Control",
        "inverse_dynamics and friction, friction, friction, friction are fed forward.",
        ["gain tuning"],
    ),
    "motors/": ("LinearMotor", "A motor that saturates. MuJoCo has it, too.", ["motor torque curve"]),
}


@pytest.fixture
def small_index(tmp_path):
    docs = [
        {"location": place, "title": title, "text": f"<p>{text}</p>", "words": words}
        for place, (title, text, words) in SMALL.items()
    ]
    separator = next(
        line for line in (ROOT / "mkdocs.yml").read_text().splitlines() if line.strip().startswith("separator:")
    )
    file = tmp_path / "index.json"
    file.write_text(json.dumps({"config": {"separator": yaml.safe_load(separator)["separator"]}, "docs": docs}))
    return file


AS_TYPED = {
    "friction": "springs/",  # a title counts more than four mentions
    "falling through the floor": "contact/",  # the words of a page, by their stems
    "why does my robot fall?": "contact/",  # little words do not count
    "tune gains": "control/",  # in any order
    "stiffness of springs": "springs/",
    "sprnig": "springs/",  # letters that changed places
    "stifness": "springs/",  # a letter that is missing
    "colli": "contact/",  # a word that is being typed
    "inversedynamics": "control/",  # two words written as one
    "linear motor": "motors/",  # parts of a name
    "mujoco": "motors/",
    "springs2": "springs/",
}


def test_the_search_takes_words_as_people_type_them(small_index):
    first = {question: places[:1] for question, places in zip(AS_TYPED, answers(small_index, AS_TYPED), strict=True)}
    assert first == {question: [right] for question, right in AS_TYPED.items()}


def test_the_search_shows_the_section_that_is_meant_and_nothing_for_nonsense(small_index):
    stairs, nonsense = answers(small_index, ["stairs", "xyzzy"])
    assert stairs == ["contact/#grids"]
    assert nonsense == []


SOURCES = ("mkdocs.yml", "docs", "src", "gallery", "programs", "studio", "learning", "optimize", "design", "sweeps")
MADE_BY_TOOLS = re.compile(r"__pycache__|\.egg-info")


def is_current(index):
    """Whether a site that ``make docs`` has left here is newer than every file it is made from."""
    files = (file for name in SOURCES for file in [ROOT / name, *(ROOT / name).rglob("*")] if file.is_file())
    newest = max(file.stat().st_mtime for file in files if not MADE_BY_TOOLS.search(str(file)))
    return index.is_file() and index.stat().st_mtime > newest


@pytest.mark.slow
def test_the_search_finds_the_right_page_first(tmp_path):
    built = ROOT / "site"
    if not is_current(built / "search" / "search_index.json"):
        built = tmp_path / "site"
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(built)]
        subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    questions = {question: tuple(right) for asked in QUESTIONS.values() for question, right in asked.items()}
    found = answers(built / "search" / "search_index.json", questions)
    first = {question: next(iter(places), "") for question, places in zip(questions, found, strict=True)}
    missed = {
        question: first[question] for question, right in questions.items() if not first[question].startswith(right)
    }
    assert len(missed) <= (1 - SHARE_THAT_COMES_FIRST) * len(questions), missed


def test_words_for_a_page_that_is_not_there_end_the_build(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import site_search

    with pytest.raises(LookupError, match=r"pages that are not there: .*building\.md"):
        site_search.add_words(tmp_path, {"loops.md": "loops/"})
