"""The document of the studio: edits that change the text where they must, undo, refusals, files, and the Python."""

import random

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree_studio.project.document import Document

SYSTEMS = ("four-bar", "kuka-kr5", "stewart-platform", "jansen", "hexapod", "quadruped")


def change_at_random(document, dice):
    """Make one edit chosen by chance; return whether it was possible."""
    robot = document.robot.model
    body, joint = dice.choice(robot.bodies).name, dice.choice(robot.joints).name
    name = f"new {dice.randrange(10**6)}"
    edits = [
        lambda: document.set("gravity", to=[0, round(dice.uniform(-20, 0), 3), 0]),
        lambda: document.set("bodies", body, "mass", to=f"{dice.randint(1, 5000)} g"),
        lambda: document.set("bodies", body, "joint", "damping", to=round(dice.random(), 4)),
        lambda: document.set("bodies", body, "joint", "damping", to=None),
        lambda: document.set("bodies", body, "placement", "position", to=["1 mm", dice.random(), "2 cm"]),
        lambda: document.rename("bodies", body, name),
        lambda: document.rename("joints", joint, name),
        lambda: document.add("frames", {"name": name, "body": body, "placement": {"rpy": ["30 deg", 0, 0]}}),
        lambda: document.add("bodies", {"name": name, "parent": body, "joint": "revolute", "mass": 1}),
        lambda: document.remove("bodies", body),
        lambda: document.add("bodies", {"name": body, "parent": body, "joint": "revolute"}),  # refused
    ]
    try:
        dice.choice(edits)()
    except KinetreeError:
        return False
    return True


@pytest.mark.parametrize("system", ["four-bar", "stewart-platform"])
def test_two_hundred_edits_undone_give_the_first_file(system):
    document, dice = Document.open(system), random.Random(7)
    first, made, texts = document.text, 0, [document.text]
    for _ in range(200):
        before = document.text
        if not change_at_random(document, dice):
            assert document.text == before
        elif document.text != before:
            made += 1
            texts.append(document.text)
    assert made > 50
    last = document.text
    for text in reversed(texts[:-1]):
        assert document.undo()
        assert document.text == text
    assert not document.undo()
    assert document.text == first
    while document.redo():
        pass
    assert document.text == last


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_edit_changes_what_it_says_and_nothing_else(system):
    document = Document.open(system)
    before, first = document.robot, document.text
    body = before.model.bodies[-1].name
    if document.value("bodies") is None:
        return  # a drawing or a table
    document.set("bodies", body, "mass", to="250 g")
    assert document.robot.body(body).mass == 0.25
    changed = [(a, b) for a, b in zip(first.splitlines(), document.text.splitlines(), strict=True) if a != b]
    assert len(changed) == 1
    document.set("bodies", body, "joint", "damping", to=0.25)
    assert document.robot.model.joints[-1].damping[0] == 0.25
    others = [(a, b) for a, b in zip(before.model.bodies, document.robot.model.bodies, strict=True) if a.name != body]
    assert all(a == b for a, b in others)
    document.rename("bodies", body, "other")
    assert document.robot.joint_names == before.joint_names
    assert body not in document.robot.body_names
    q = kt.gallery.start(system)
    changed = before.with_parameters({"bodies": {body: {"mass": 0.25}}})
    assert np.array_equal(document.robot.potential_energy(q), changed.potential_energy(q))


def test_comments_stay_and_units_are_kept_as_they_were_written():
    document = Document.open("four-bar")
    document.set("loops", "crank_pin", "placement", "position", to=["40 mm", 0, 0])
    document.set("bodies", "crank", "joint", "upper", to="45 deg")
    assert "# the book's link 1^1" in document.text
    assert "[40 mm, 0, 0]" in document.text
    assert document.robot.model.joint("crank_joint").upper == (np.radians(45),)
    assert document.value("bodies", "crank", "joint", "upper") == "45 deg"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: d.set("bodies", "crank", "mass", to="heavy"), "mass must be a number, not 'heavy'"),
        (lambda d: d.set("bodies", "crank", "mass", to=-1), "mass is negative"),
        (lambda d: d.set("bodies", "crank", "mass", to="3 m"), "give a number in kg"),
        (lambda d: d.set("bodies", "crunk", "mass", to=1), "did you mean 'crank'"),
        (lambda d: d.set("bodies", "crank", "joint", "kind", to="revolut"), "did you mean 'revolute'"),
        (lambda d: d.set("bodies", "crank", "weight", to=1), "no key named 'weight'"),
        (lambda d: d.add("frames", {"name": "pen", "body": "copler"}), "did you mean 'coupler'"),
        (lambda d: d.rename("bodies", "crank", "rocker"), "'rocker'"),
        (lambda d: d.replace("kinetree: 1\nbodies: ["), "malformed YAML"),
        (lambda d: d.apply({"do": "paint"}), "not an edit"),
    ],
)
def test_what_cannot_be_is_refused_in_the_words_of_the_library(edit, said):
    document = Document.open("four-bar")
    before = document.text
    with pytest.raises(KinetreeError, match=said):
        edit(document)
    assert document.text == before
    assert not document.undo()


def test_removing_a_body_takes_what_hangs_on_it():
    document = Document.open("four-bar")
    document.add("frames", {"name": "pen", "body": "coupler"})
    assert set(document.remove("bodies", "rocker")) == {"rocker", "coupler", "pen", "crank_pin"}
    assert document.robot.body_names == ["crank"]
    document.undo()
    assert document.remove("loops", "crank_pin") == ["crank_pin"]
    assert not document.robot.model.loops


def test_a_drawing_is_replaced_line_by_line():
    document = Document.open("wiper")
    drawing = document.value("linkage")
    document.set(
        "linkage",
        to={**drawing, "points": document.robot.model.drawing.drawn, "units": "m", "width": 0.015, "thickness": 0.003},
    )
    assert "# The linkage of two windscreen wipers" in document.text
    assert "\n    C: [0, 0]\n" in document.text
    q, first = document.robot.neutral(), kt.load("wiper")
    assert document.robot.joint_names == first.joint_names
    assert abs(document.robot.potential_energy(q) - first.potential_energy(q)) < 1e-12


def test_springs_motors_and_loops_are_added(tmp_path):
    document = Document.open("four-bar")
    ends = [{"body": "crank", "position": [0, 0, 0]}, {"body": "coupler", "position": [0, 0, 0]}]
    document.add("tendons", {"name": "spring", "points": ends, "stiffness": 50, "rest": 0.1, "damping": 0.5})
    document.set("bodies", "rocker", "joint", "actuated", to=True)
    document.rename("bodies", "crank", "arm")
    (spring,) = document.robot.model.tendons
    assert (spring.stiffness, spring.damping) == (50, 0.5)
    assert document.robot.model.joint("rocker_joint").actuated
    assert document.robot.joint_names[0] == "crank_joint"


def test_an_alias_is_written_out_before_one_of_its_places_changes():
    text = (
        "kinetree: 1\nbodies:\n  - {name: a, parent: base, joint: revolute, mass: &m 2}\n"
        "  - {name: b, parent: a, joint: revolute, mass: *m}\n"
    )
    document = Document(text)
    document.set("bodies", "a", "mass", to=3)
    assert [body.mass for body in document.robot.model.bodies] == [3, 2]


def test_it_is_saved_with_its_runs_and_opened_again(tmp_path):
    document = Document.open("four-bar")
    document.set("bodies", "crank", "mass", to=2)
    q = [float(x) for x in kt.gallery.start("four-bar")]
    turn = {"kind": "turn", "q": q, "joint": "crank_joint", "speed": 5, "low": q[0], "high": q[0] + 6.3, "whole": True}
    document.add_run(turn)
    path = document.save(tmp_path / "mine.yaml")
    assert document.is_saved
    opened = Document.open(path)
    assert opened.text == document.text
    assert opened.runs == document.runs
    assert kt.load(path).body("crank").mass == 2
    opened.undo()
    opened.set("gravity", to=[0, 0, 0])
    assert not opened.is_saved
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(KinetreeError, match=r"\.yaml"):
        document.save(tmp_path / "mine.urdf")


def test_other_formats_are_opened_as_the_same_robot(tmp_path):
    robot = kt.load("kuka-kr5")
    robot.save(tmp_path / "arm.urdf")
    document = Document.open(tmp_path / "arm.urdf")
    assert document.path is None
    assert document.robot.model == kt.load(tmp_path / "arm.urdf").model
    assert Document.open(robot).robot.model == robot.model


@pytest.mark.slow
def test_the_python_runs_and_gives_the_same_numbers(tmp_path):
    document, robot = Document.open("four-bar"), kt.load("four-bar")
    q = kt.gallery.start("four-bar")
    speed = 6.0
    turn = {"kind": "turn", "q": list(q), "joint": "crank_joint", "speed": speed, "low": q[0], "high": 9, "whole": True}
    document.add_run(turn)
    done = {}
    exec(document.script(), done)
    crank = q[0] + np.linspace(0, 2 * np.pi, 181)
    closed = robot.follow({"crank_joint": crank}, q)
    v = robot.velocities(closed, np.full((181, 1), speed))
    tau = robot.inverse_dynamics(closed, v, robot.accelerations(closed, v, np.zeros((181, 1))))
    assert np.abs(done["tau"] - tau).max() < 1e-9
    assert "kt.load('four-bar')" in document.script()

    document.set("bodies", "crank", "mass", to="2 kg")
    drive = {"torque": [0.1], "kp": [2.0], "kd": [0.1], "goal": [0.5]}
    document.add_run({"kind": "let go", "q": list(q), "v": [0] * 3, "seconds": 0.2, "step": 0.001, **drive})
    exec(document.script(), done)
    heavier = robot.with_parameters({"bodies": {"crank": {"mass": 2.0}}})
    force = lambda t, q, v: np.array([0.1 + 2.0 * (0.5 - q[0]) - 0.1 * v[0], 0, 0])  # noqa: E731
    record = kt.simulate(heavier, q, np.zeros(3), time=0.2, integrator="rk4", step=0.001, controller=force)
    assert np.array_equal(done["record"].q[-1], record.q[-1])
    assert np.abs(done["tau"] - tau).max() < 1e-9  # the turn was made with the lighter crank
    assert done["robot"].body("crank").mass == 2

    path = document.save(tmp_path / "mine.yaml")
    assert repr(str(path.resolve())) in document.script()
