"""What the package says of itself, where it is said twice."""

import tomllib
from pathlib import Path

import yaml

import kinetree as kt

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"docs", "test", "bench", "dev"}


def test_citation_names_this_version_license_and_place():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == kt.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]


def test_changelog_has_this_release_with_its_date():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changelog.count(f"\n## {kt.__version__} ({citation['date-released']})\n") == 1


def test_all_means_every_extra_for_users():
    extras = dict(PROJECT["optional-dependencies"])
    (line,) = extras.pop("all")
    assert set(line.removeprefix("kinetree[").removesuffix("]").split(",")) == set(extras) - FOR_DEVELOPERS


def test_readme_lists_every_extra():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install = text[text.index("## Install") :].split("\n## ")[0]
    missing = [e for e in PROJECT["optional-dependencies"] if e not in FOR_DEVELOPERS and e not in install]
    assert not missing
