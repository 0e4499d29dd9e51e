"""One table of what joints have: every row goes through builder, tables, files, descriptions and changes."""

import dataclasses
import importlib.util
import inspect
import json
import sys
import warnings
from pathlib import Path

import pytest
import yaml

import kinetree as kt
from kinetree.model.formats.losses import of_joint as lost
from kinetree.model.formats.yaml import schema
from kinetree.model.joint_fields import FIELDS, PER_FREEDOM, JointData, words_of
from kinetree.model.tree import Joint

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = pytest.mark.parametrize("row", FIELDS.values(), ids=list(FIELDS))


def said(row, value=0.7):
    """Keywords that give a joint a number, and what that needs."""
    needs = {row.of: 2.0} if row.of else {}
    needs |= {other.name: 0.1 for other in FIELDS.values() if other.of == row.name and other.needed}
    return {row.name: -value if row.name == "lower" else value, **needs}


def robot(kind=None, **data):
    made = kt.Builder("one").body(
        "a", "base", kind or kt.Revolute("z"), mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1), **data
    )
    return made.build()


def there_and_back(made, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.ModelWarning)
        made.save(path)
        return kt.load(path)


def from_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_keywords_for_editors_are_the_rows():
    assert set(JointData.__annotations__) == {*FIELDS, "actuated", "mimic"}
    for method in (kt.Builder.add_joint, kt.Builder.body, kt.Builder.joint, kt.Builder.loop):
        assert set(JointData.__annotations__) <= set(inspect.signature(method).parameters)


def test_the_schema_is_what_the_table_says():
    assert from_file(ROOT / "tools/schema.py").rewritten(schema()) == schema(), "run python tools/schema.py"


def test_a_page_lists_every_row(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    hooks = from_file(ROOT / "docs/hooks.py")
    page = hooks.on_page_markdown((ROOT / "docs/file-formats.md").read_text(encoding="utf-8"))
    sys.modules.pop("hooks", None)
    for row in FIELDS.values():
        assert f"| `{row.name}` | {row.units[0]}" in page


@ROWS
def test_rows_are_whole(row):
    assert row.help.endswith(".")
    assert all(row.units)
    assert not row.of or list(FIELDS).index(row.of) < list(FIELDS).index(row.name)
    assert row.noun or row.of or (row.urdf and row.sdf and row.mjcf), "how is it said that a format has no word for it?"
    assert not row.urdf.startswith("kinetree:") or row.noun or row.of


@ROWS
def test_a_builder_takes_it_and_refuses_what_it_cannot_be(row):
    joint = robot(**said(row)).model.joints[0]
    assert getattr(joint, row.name) == (said(row)[row.name],)
    plain = robot().model.joints[0]
    assert row.is_usual(plain.kind, getattr(plain, row.name))
    assert getattr(Joint("j", kt.Revolute()), row.name) == ()
    bad = [float("nan"), [1.0, 2.0], "x"] + [-1.0] * row.nonnegative + [float("inf")] * row.finite
    for value in bad:
        with pytest.raises(kt.ModelError, match=f"joint 'a_joint': {row.said or row.name}"):
            robot(**(said(row) | {row.name: value}))


@ROWS
def test_joints_of_several_freedoms_and_their_parts_have_it(row):
    values = [0.1 * k for k in range(1, 3)]
    needed = {key: x for key, x in said(row).items() if key != row.name}
    two = robot(kt.Universal("XY"), **{row.name: values}, **needed)
    assert [getattr(j, row.name) for j in two.with_single_joints().model.joints] == [(0.1,), (0.2,)]


@ROWS
def test_a_row_of_a_table_has_it(row):
    made = kt.from_dh([kt.DHRow(mass=1.0, **said(row))], "modified")
    assert getattr(made.model.joints[0], row.name) == (said(row)[row.name],)
    assert kt.from_dh([{"mass": 1.0, row.name: None}], "modified").model == kt.from_dh([{"mass": 1.0}]).model


@ROWS
def test_files_keep_it_or_say_that_they_do_not(row, tmp_path):
    made = robot(**said(row) | ({} if row.per != "q" or row.of else {"lower": -0.7, "upper": 0.7}))
    there_and_back(made, tmp_path / "a.yaml")
    assert kt.load(tmp_path / "a.yaml").model == made.model
    assert row.name in yaml.safe_load((tmp_path / "a.yaml").read_text())["bodies"][0]["joint"]
    assert row.name in json.dumps(json.loads(schema())["$defs"])
    for language, ending in (("urdf", ".urdf"), ("sdf", ".sdf"), ("mjcf", ".xml")):
        if ending == ".xml":
            pytest.importorskip("mujoco")
        if getattr(row, language):
            again = there_and_back(made, tmp_path / f"a{ending}")
            assert row.felt(again.model.joints[0]) == pytest.approx(row.felt(made.model.joints[0]), rel=1e-15)
        elif lost(made.model.joints[0], language) and (row.name, language) != ("rotor_inertia", "sdf"):
            with pytest.warns(kt.ModelWarning, match=f"no word for it: .*{row.noun} of joint 'a_joint'"):
                made.save(tmp_path / f"a{ending}")


@ROWS
def test_descriptions_show_it_where_it_has_a_label(row):
    text = robot(**said(row)).describe()
    assert not row.label or f"  {row.label} 0.7" in text or row.felt_as


@ROWS
def test_it_can_be_a_parameter_where_the_row_says_so(row):
    made = robot(**said(row))
    change = {"joints": {"a_joint": {row.name: 0.5}}}
    if row.name not in PER_FREEDOM:
        with pytest.raises(kt.UnknownNameError, match=row.name):
            made.with_parameters(change)
        return
    assert getattr(made.with_parameters(change).model.joints[0], row.name) == (0.5,)
    if row.nonnegative:
        with pytest.raises(kt.ModelError, match=f"{row.name} of joint 'a_joint' is -0.5: it cannot be negative"):
            made.with_parameters({"joints": {"a_joint": {row.name: -0.5}}})


@ROWS
def test_a_joint_that_has_more_than_limits_keeps_its_coordinate_when_a_loop_is_cut_there(row):
    b = kt.Builder("ring", gravity=(0, 0, 0))
    for name, parent in (("a", "base"), ("b", "a")):
        b.body(name, parent, kt.Revolute("z"), mass=1.0, inertia=(1, 1, 1), position=(0.2, 0, 0), actuated=False)
    b.loop("pin", "b", "base", kt.Revolute("z"), seat=(0.3, 0.1, 0), **said(row))
    model = b.build().model
    kept = bool(row.has or row.of)
    assert ("pin" in model.joint_index) == kept
    if not kept and row.infinite:
        assert getattr(model.loops[0], row.name) == (said(row)[row.name],)


def test_words_of_a_format_belong_to_one_row_but_for_what_a_gear_joins():
    for language in ("urdf", "sdf"):
        for limits in (False, True):
            rows = [r for r in FIELDS.values() if getattr(r, language) and r.infinite == limits]
            assert len(words_of(language, limits=limits)) == len(rows)


def test_what_nobody_knows_is_refused():
    b = kt.Builder("x")
    b.add_body("a")
    with pytest.raises(
        kt.UnknownNameError, match=r"joint property .given for joint 'j'. named 'dampng'; did you mean 'damping'"
    ):
        b.add_joint("j", "base", "a", kt.Revolute(), dampng=0.1)


def test_joints_are_shown_with_their_names_first():
    assert repr(Joint("elbow", kt.Revolute())).startswith("Joint(name='elbow', kind=Revolute(")
    assert [f.name for f in dataclasses.fields(Joint)][:5] == ["name", "kind", "parent", "placement", "lower"]
