"""The framework of studies: facts decide, results write themselves whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import xml.etree.ElementTree

import numpy as np
import pytest
from rich.console import Console

import kinetree as kt
from kinetree.gallery import Fact, Outcome, Study, studies, study
from kinetree.io.tables.writing import csv_text
from kinetree.studies.plots import Curve, Curves, PlotGrid, PlotPanel


@pytest.fixture(autouse=True)
def _machine_code(monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")


# ---------------------------------------------------------------- facts


@pytest.mark.parametrize(
    ("fact", "holds"),
    [
        (Fact("a", 1.0, 1.0), True),
        (Fact("a", 1.0, 1.0 + 1e-15), False),
        (Fact("a", 2.01, 2.0096, tolerance=5e-3), True),
        (Fact("a", 2.01, 2.0160, tolerance=5e-3), False),
        (Fact("a", (1.0, 2.0), np.array([1.1, 1.9]), tolerance=0.11), True),
        (Fact("a", (1.0, 2.0), np.array([1.1, 1.8]), tolerance=0.11), False),
        (Fact("a", (1.0, 2.0), (1.0, 2.0, 3.0), tolerance=10.0), False),  # another shape is another thing
        (Fact("a", 1e-9, 1e-12, relation="<"), True),
        (Fact("a", 1e-9, 1e-9, relation="<"), False),
        (Fact("a", 1e-9, (1e-12, 1e-8), relation="<"), False),
        (Fact("a", 0.5, 0.6, relation=">"), True),
        (Fact("a", 0.5, 0.4, relation=">"), False),
        (Fact("a", "type 2", "type 2"), True),
        (Fact("a", "type 2", "type 1"), False),
        (Fact("a", 1.0, np.nan, tolerance=1e9), False),
        (Fact("a", 1.0, np.nan, relation="<"), False),
        (Fact("a", 1.0, 1.0, holds=False), False),
    ],
)
def test_facts_decide(fact, holds):
    assert fact.holds is holds
    assert fact.known is holds
    assert ("does not hold" in str(fact)) is not holds


def test_facts_show_themselves():
    fact = Fact("a thing", (1.0, 2e-6), (1.25, 3e-6), "m", reason="because", source="Shah section 1")
    assert (
        str(fact) == "a thing: stated (1, 2e-06) m (Shah section 1), measured (1.25, 3e-06) m, does not hold (because)"
    )
    assert fact.known
    assert Fact("a", 1e-9, 0.0, "N", relation="<").shown("stated") == "below 1e-09 N"
    with pytest.raises(kt.UnknownNameError, match="relation of a fact"):
        Fact("a", 1, 1, relation="≤")


def test_facts_go_to_json():
    fact = Fact("a", np.array([1.0, np.inf]), np.float64(np.nan))
    assert json.loads(json.dumps(fact.as_dict(), allow_nan=False))["stated"] == [1.0, None]
    assert fact.as_dict()["measured"] is None


# ---------------------------------------------------------------- studies and results

TIME = np.linspace(0.0, 1.0, 5)


def outcome(quick: bool) -> Outcome:
    return Outcome(
        [
            Fact("one", 1, 1, source="Shah Table 6.6"),
            Fact("two", 2, 3, "m", reason="a misprint | there"),
            Fact("three", 3, 4),
        ],
        {"numbers": {"time [s]": TIME, "x [m]": TIME**2 / 3, "name": list("abcde")}},
        {},
        {"square": Curves(TIME, [PlotPanel("x [m]", [Curve("x", TIME**2), Curve("y", TIME)])], "A square.")},
        [f"Quick: {quick}."],
    )


def small(draw=None, **more) -> Study:
    def analysis(quick):
        made = outcome(quick)
        return Outcome(made.facts, made.tables, {}, {"square": draw}, made.remarks) if draw else made

    return Study("small", "a small study", "nobody", {"first": analysis, "second": lambda quick: Outcome()}, **more)


def test_runs_what_is_asked_for():
    told = []
    result = small().run(["second", "first"], tell=told.append)
    assert told == list(result.outcomes) == ["second", "first"]
    assert list(small().run().outcomes) == ["first", "second"]
    assert list(small().run("second").outcomes) == ["second"]
    assert set(result.seconds) == {"first", "second"}
    assert small().run("first", quick=True).outcomes["first"].remarks == ["Quick: True."]
    with pytest.raises(kt.UnknownNameError, match=r"analysis of 'small' named 'frist'; did you mean 'first'"):
        small().run("frist")
    with pytest.raises(kt.OptionError, match="no analysis was chosen"):
        small().run([])


def test_results_are_shown_in_lines_not_in_arrays():
    study = small()
    result = study.run()
    assert repr(study).startswith(f"<Study {study.name!r}: ")
    assert f"{len(result.facts)} facts" in repr(result)
    assert len(repr(next(iter(result.outcomes.values())))) < 200
    text = str(result)
    assert all(str(fact) in text for fact in result.facts)
    assert f"result.write({study.name!r})" in text
    assert len(text.splitlines()) < 10 + len(result.facts)


def test_sorts_its_facts():
    result = small().run()
    assert [f.text for f in result.facts] == ["one", "two", "three"]
    assert [f.text for f in result.exceptions] == ["two"]
    assert [f.text for f in result.faults] == ["three"]


def test_table_for_terminals():
    console = Console(width=140, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(small().run().table())
    text = console.export_text()
    for part in ("small: a small study", "holds", "does not", "FAILS", "a misprint", "3 m"):
        assert part in text
    console.print(kt.gallery.study("gripper").run("matrices").table())
    text = console.export_text()
    for part in (
        "Shah section 4.4.1",
        "S. K. Saha",
        "computed from the book's formulas: not printed",
        "ours: what must be true",
    ):
        assert part in text


def test_writes_everything(tmp_path):
    folder = small(assumptions=["it is small"]).run().write(tmp_path / "deep" / "out")
    assert folder == tmp_path / "deep" / "out"
    names = {f.name for f in folder.iterdir()}
    assert names == {
        "first-numbers.csv", "first-numbers.parquet", "first-square.png", "first-square.svg", "summary.json",
        "summary.md",
    }  # fmt: skip
    assert [f.name for f in folder.parent.iterdir()] == ["out"]
    with (folder / "first-numbers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["x [m]"]) for row in rows] == (TIME**2 / 3).tolist()  # every digit
    assert rows[2]["name"] == "c"
    parquet = pytest.importorskip("pyarrow.parquet").read_table(folder / "first-numbers.parquet")
    assert parquet.column("x [m]").to_pylist() == (TIME**2 / 3).tolist()
    told = json.loads((folder / "summary.json").read_text())
    assert set(told["files"]) == names
    assert (told["facts_that_hold"], told["exceptions"], told["faults"]) == (1, 1, 1)
    assert told["analyses"]["first"]["facts"][1]["reason"] == "a misprint | there"
    assert (folder / "first-square.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert xml.etree.ElementTree.parse(folder / "first-square.svg").getroot().tag.endswith("svg")


def test_summary_reads_on_its_own(tmp_path):
    text = (small(assumptions=["it is small"]).run().write(tmp_path / "out") / "summary.md").read_text()
    for part in (
        "# A small study", "Source: nobody", "1 of 3 statements hold", "1 does not, for reasons given below",
        "**1 without a known reason**", "- it is small", "a misprint \\| there", "**does not hold**",
        "![square](first-square.png)", "*A square.*", "first-numbers.csv", "- Shah: S. V. Shah",
    ):  # fmt: skip
        assert part in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1  # every row has as many cells


def test_nothing_is_drawn_unless_asked_for(tmp_path):
    def never(figure):
        raise AssertionError("drawn")

    result = small(never).run()
    folder = result.write(tmp_path / "out", pictures=False)
    assert not list(folder.glob("*.png"))
    assert "first-numbers.csv" in {f.name for f in folder.iterdir()}


def test_half_a_result_is_never_seen(tmp_path):
    def breaks(figure):
        raise RuntimeError("no ink")

    with pytest.raises(RuntimeError, match="no ink"):
        small(breaks).run().write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    old = small().run().write(tmp_path / "out")
    before = {f.name: f.read_bytes() for f in old.iterdir()}
    with pytest.raises(RuntimeError, match="no ink"):
        small(breaks).run().write(tmp_path / "out")
    assert {f.name: f.read_bytes() for f in old.iterdir()} == before
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_an_interrupted_replacement_is_undone(tmp_path, monkeypatch):
    folder = small().run().write(tmp_path / "out")
    before = {f.name: f.read_bytes() for f in folder.iterdir()}
    usual, calls = os.replace, []

    def interrupted(source, target):
        calls.append(target)
        if len(calls) == 2:  # the old folder is out of the way, the new one not yet in place
            raise KeyboardInterrupt
        usual(source, target)

    result = small().run("second")
    monkeypatch.setattr("kinetree.studies.report.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        result.write(folder)
    assert {f.name: f.read_bytes() for f in folder.iterdir()} == before
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_replaces_earlier_results_and_nothing_else(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    small().run().write(folder)  # an empty folder is taken
    small().run("second").write(folder)
    assert {f.name for f in folder.iterdir()} == {"summary.json", "summary.md"}
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(kt.OutputError, match="holds other files"):
        small().run().write(folder)
    assert (folder / "thesis.txt").read_text() == "years of work"
    with pytest.raises(kt.OutputError, match="is a file"):
        small().run().write(folder / "thesis.txt")
    with pytest.raises(kt.OutputError, match="cannot be written"):
        small().run().write(folder / "thesis.txt" / "below")


def test_without_matplotlib_the_data_are_written_and_a_warning_says_what_pictures_need(tmp_path, monkeypatch):
    import importlib.util

    usual = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else usual(name))
    with pytest.warns(kt.KinetreeWarning, match=r"kinetree\[plot\].*pictures=False"):
        folder = small().run().write(tmp_path / "out")
    assert (folder / "summary.md").is_file()
    assert not list(folder.glob("*.png"))
    assert (small().run().write(tmp_path / "out", pictures=False) / "summary.md").is_file()


def test_tables_must_be_even():
    with pytest.raises(ValueError, match=r"shorter|longer"):
        csv_text({"a": [1, 2], "b": [1]})


# ---------------------------------------------------------------- drawings


def test_axes_have_labels_and_legends():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    curves = [Curve("a", TIME), Curve("b", 1e-12 + TIME, stated=True)]
    Curves(TIME, [PlotPanel("x [m]", curves), PlotPanel("error [m]", curves, log=True)])(figure)
    upper, lower = figure.axes
    assert (upper.get_ylabel(), lower.get_ylabel(), lower.get_xlabel()) == ("x [m]", "error [m]", "time [s]")
    assert lower.get_yscale() == "log"
    assert [t.get_text() for t in upper.get_legend().get_texts()] == ["a", "b"]
    figure.canvas.draw()
    assert "10⁻⁸" in [t.get_text() for t in lower.get_yticklabels()]


def test_many_names_stand_below():
    figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    Curves(TIME, [PlotPanel("x [m]", [Curve(f"curve {k}", TIME) for k in range(9)])])(figure)
    assert figure.axes[0].get_legend() is None
    assert len(figure.legends[0].get_texts()) == 9
    few = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    curves = [Curve("a", TIME), Curve("b", TIME), Curve("_hidden", TIME, stated=True)]
    Curves(TIME, [PlotPanel("x [m]", curves)])(few)
    assert [t.get_text() for t in few.axes[0].get_legend().get_texts()] == ["a", "b"]
    assert few.get_size_inches()[1] < figure.get_size_inches()[1]


def test_grids_share_a_legend():
    figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    each = [Curve("a", TIME, TIME), Curve("b", TIME, TIME, stated=True)]
    PlotGrid(list("abcd"), [each] * 4, "n", "operations", highest=2.0)(figure)
    assert [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes] == list("abcd")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b"]
    assert figure.axes[3].get_ylim() == (0.0, 2.0)


# ---------------------------------------------------------------- by name


def test_studies_by_name():
    names = studies()
    assert names[0] == "four-bar"
    assert len(set(names)) == len(names)
    assert {"robotic-leg", "3-rrr", "five-bar", "cost-fixed-base", "cost-floating-base"} <= set(names)
    for name in names:
        found = study(name)
        assert found.name == name
        assert found.title
        assert found.source
        assert found.analyses
        if found.system is not None:
            assert found.system in kt.gallery.names()
            assert found.assumptions
    with pytest.raises(kt.UnknownNameError, match=r"no study named 'four_bar'; did you mean 'four-bar'"):
        study("four_bar")
    with pytest.raises(kt.UnknownNameError, match="no study"):
        study(3)


def test_a_whole_study_on_disk(tmp_path):
    folder = study("four-bar").run(quick=True).write(tmp_path / "four-bar")
    again = kt.load(folder / "model.yaml")
    assert again.joint_names == kt.gallery.load("four-bar").joint_names
    for analysis, data in (("inverse", ("motion", "torques", "multipliers", "reactions")), ("replay", ("record",))):
        for name in data:
            assert (folder / f"{analysis}-{name}.csv").is_file()
            assert (folder / f"{analysis}-{name}.parquet").is_file()
    assert len({f.stat().st_mode for f in folder.iterdir()}) == 1  # whoever may read one may read all
    record = kt.Record.load(folder / "free-fall-record.csv", again)
    assert record.energy.relative_error < 1e-6
    with (folder / "inverse-torques.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert float(first["actuator crank_joint [N m]"]) == pytest.approx(2.009999, abs=5e-7)
    with (folder / "inverse-multipliers.csv").open(newline="") as file:
        held = next(csv.DictReader(file))
    world = [float(held[f"crank_pin force {axis} along world axes [N]"]) for axis in "xy"]
    own = [float(held[f"multiplier crank_pin: force along its own {axis} [N]"]) for axis in "xy"]
    assert world == pytest.approx([-15.71413, 45.53722], abs=5.01e-6)  # the same numbers as in the facts
    assert np.hypot(*own) == pytest.approx(np.hypot(*world), rel=1e-12)
    assert own != pytest.approx(world, rel=0.1)
    text = (folder / "summary.md").read_text()
    for assumed in kt.gallery.about("four-bar").assumed:
        assert assumed in text
    pictures = {f.stem for f in folder.glob("*.png")}
    assert pictures == {f.stem for f in folder.glob("*.svg")}
    assert all(f"({name}.png)" in text for name in pictures)
    assert {"inverse-mechanism", "inverse-torques", "replay-motion", "free-fall-energy"} <= pictures
