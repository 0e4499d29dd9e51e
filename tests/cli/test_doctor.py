"""What the doctor says of this machine, and when it finds something wrong."""

import importlib.metadata
import json
import re
from pathlib import Path

import pytest

from helpers.cli import invoke
from kinetree.cli import doctor
from kinetree.evaluation.machine_code import CodeCache, MachineCode, code_cache, machine_code

FOR_DEVELOPERS = {"docs", "test", "bench", "dev", "all"}


@pytest.fixture
def told(monkeypatch):
    """What it says of a machine on which nothing is wrong, as JSON."""
    monkeypatch.delenv("KINETREE_BACKEND")
    return json.loads(invoke("doctor", "--json").stdout)


def test_it_names_what_code_is_made_for_and_checks_it(told):
    assert told["problems"] == []
    assert told["machine_code"]["lanes"] in (2, 4, 8)
    assert "native" in told["machine_code"]["targets"]
    assert told["examination"]["difference"] < 1e-12
    assert {t["algorithm"] for t in told["examination"]["timings"]} == {"inverse_dynamics", "forward_dynamics"}
    core = {p["package"].lower(): p["version"] for p in told["packages"] if p["extra"] == ""}
    assert core["numpy"] == importlib.metadata.version("numpy")
    assert told["cache"]["folder"] is None or Path(told["cache"]["folder"]).is_absolute()


def test_the_reference_is_called_a_problem_and_the_exit_code_says_so():
    answer = invoke("doctor", code=1)  # tests run the reference
    assert "KINETREE_BACKEND=reference" in answer.stdout
    assert "pip install 'kinetree[" in answer.stdout or "missing" in answer.stdout


def test_problems_say_what_to_do(tmp_path):
    wrong = doctor.complaints(MachineCode(problem="no memory"), CodeCache(tmp_path, can_be_written=False))
    assert any("no memory" in line for line in wrong)
    assert any("set KINETREE_CACHE" in line for line in wrong)


def test_every_extra_for_users_is_shown():
    asked = importlib.metadata.metadata("kinetree").get_all("Provides-Extra") or []
    if "all" not in asked:
        pytest.skip("the installed package is older than the source")
    assert set(asked) - FOR_DEVELOPERS == set(doctor.PURPOSES) - {""}


def test_an_unknown_processor_is_no_crash(monkeypatch):
    monkeypatch.setenv("KINETREE_CPU", "z80")
    assert re.search("'z80' is not known", machine_code().problem)


def test_a_cache_is_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    (tmp_path / "a.code").write_bytes(b"123")
    assert code_cache() == CodeCache(tmp_path, 1, 3, True)
    monkeypatch.setenv("KINETREE_CACHE", "off")
    assert code_cache() == CodeCache(None)
