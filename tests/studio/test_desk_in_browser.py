"""The studio as its users click it, in a real Chromium without a window; clicks are counted."""

import time as clock

import numpy as np
import pytest

import kinetree as kt
from helpers.chromium import IN_BROWSER
from helpers.studio_desk import FIND, Desk

pytestmark = IN_BROWSER

FIELDS = """
window.field = (name) => [...document.querySelectorAll("#build .field")].find((x) => x.textContent.startsWith(name));
window.enter = (name, text) => {
  const x = field(name).querySelector("input");
  x.value = text;
  x.dispatchEvent(new Event("change"));
};
0
"""


@pytest.fixture
def opened(browser, tmp_path):
    made = []

    def start(robot=None):
        made.append(kt.studio(robot, folder=tmp_path, port=0))
        return made[0], Desk(browser, made[0].url)

    yield start
    browser.evaluate("if (window.kinetree && kinetree.desk) kinetree.desk.told = null; 0")  # nothing to be kept
    for studio in made:
        studio.close()


def test_a_blank_page_becomes_a_running_four_bar_in_twelve_clicks(opened):
    begin = clock.monotonic()
    studio, desk = opened()
    desk.click("Linkage by points")
    places = [(250, 560), (250, 500), (560, 300), (650, 560)]
    for place in places:
        desk.at(*place)
    desk.click("Ground pin")
    desk.at(*places[0])
    desk.at(*places[-1])
    desk.click("Motor")
    desk.at(*places[0])
    desk.click("Run it")
    desk.settled()
    desk.wait("kinetree.app.mode === 'turn' && kinetree.app.time > 0.2")
    assert desk("kinetree.app.plot.group.title") == "Torque of motors"
    assert desk("kinetree.app.turn.whole")  # the crank turns round
    assert desk.clicks <= 12
    assert clock.monotonic() - begin < 60
    # the curve is that of Python
    robot = studio.document.robot
    states = desk("kinetree.app.turn.states.map((s) => [[...s.q], [...s.v]])")
    torque = desk("kinetree.app.turned.map((m) => m.tau[0])")
    for k in (20, 77, 140):
        q, v = (np.array(x) for x in states[k])
        v = robot.velocities(q, [v[0]])
        a = robot.accelerations(q, v, [0.0])
        assert abs(robot.inverse_dynamics(q, v, a)[0] - torque[k]) < 1e-9
    # back in the plane, a point is dragged, and the robot is the changed drawing, until that is undone
    desk.click("Change the drawing")
    u, v = desk("kinetree.desk.drawing.seen(kinetree.desk.drawing.now.points.C)")
    left, top = desk("(({ left, top }) => [left, top])(kinetree.desk.drawing.svg.getBoundingClientRect())")
    x, y = left + u, top + v
    desk.mouse("mousePressed", x, y)
    desk.mouse("mouseMoved", x + 40, y - 20)
    desk.mouse("mouseReleased", x + 40, y - 20, held=False)
    moved = desk("kinetree.desk.drawing.now.points.C")
    desk.click("Run it")
    desk.wait("kinetree.desk.told.undo !== ''")
    assert np.allclose(studio.document.robot.model.drawing.drawn["C"], np.array(moved) / 1000)
    studio.document.undo()
    assert studio.document.robot == robot
    desk.clean()


def test_an_arm_from_a_table_has_its_torques_plotted_in_fifteen_clicks(opened):
    _, desk = opened()
    desk.click("DH table: Craig (modified)")
    desk.settled()
    desk.type("a of row 2", "0.8")
    desk.wait("kinetree.desk.told.content.table.rows[1].a === '0.8' && kinetree.app && kinetree.app.drawn")
    desk.type("mass of row 2", "2")
    desk.wait("kinetree.desk.told.content.table.rows[1].mass === '2' && kinetree.app && kinetree.app.drawn")
    desk.click("Turn")
    desk.wait("kinetree.app.mode === 'turn' && kinetree.app.time > 0.1")
    assert desk("kinetree.app.plot.group.title") == "Torque of motors"
    assert desk("kinetree.app.plot.group.names.length") == 2
    assert desk.clicks <= 15
    robot = kt.from_dh(
        [{"mass": 1, "com": (0.5, 0, 0), "inertia": (0.001, 0.0833, 0.0833)},
         {"a": 0.8, "mass": 2, "com": (0.5, 0, 0), "inertia": (0.001, 0.0833, 0.0833)}], gravity=(0, -9.81, 0),
    )  # fmt: skip
    q, v = np.array(desk("[[...kinetree.app.turn.states[33].q], [...kinetree.app.turn.states[33].v]]"))
    assert np.allclose(desk("[...kinetree.app.turned[33].tau]"), robot.inverse_dynamics(q, v, [0, 0]), atol=1e-9)
    desk.clean()


def test_numbers_are_changed_refused_at_their_field_and_taken_back(opened):
    studio, desk = opened("four-bar")
    desk.settled()
    desk(FIELDS)
    before = desk("[...kinetree.app.q]")
    desk("enter('mass', '2 kg')")
    desk.wait("kinetree.desk.told.masses.crank === 2")
    desk.wait("kinetree.app && kinetree.app.drawn")
    assert np.allclose(desk("[...kinetree.app.q]"), before, atol=1e-9)  # the pose stays
    desk("enter('mass', 'heavy')")
    desk.wait("field('mass').querySelector('.problem').textContent !== ''")
    assert desk("field('mass').querySelector('.problem').textContent") == "mass must be a number, not 'heavy'"
    assert studio.document.robot.body("crank").mass == 2
    desk("kinetree.desk.step('undo')")
    desk.wait("kinetree.desk.told.masses.crank === 1.5")
    desk("kinetree.desk.step('redo').then(() => 0)")
    # a design beside it: its ghost, its curve, both peaks
    desk("kinetree.desk.keepBeside().then(() => 0)")
    lengthened = "{do: 'set', at: ['loops', 'crank_pin', 'seat', 'position'], to: ['130 mm', 0, 0]}"
    desk(f"kinetree.desk.change({lengthened}).then(() => 0)")
    desk.settled()
    assert desk("kinetree.app.scene.robots.length") == 2
    beside = desk("[...kinetree.app.plot.groups[0].beside]")
    heavier = kt.load("four-bar").with_parameters({"bodies": {"crank": {"mass": 2.0}}})
    states = desk("[[...kinetree.desk.beside.q]]")
    assert heavier.closure_error(np.array(states[0])) < 1e-9
    assert np.isfinite(beside).all()
    assert desk("document.querySelectorAll('table.compared tr').length") == 2
    desk.clean()


def test_a_changed_structure_is_seen_at_once_and_moves_when_its_code_is_there(opened, monkeypatch):
    studio, desk = opened("four-bar")
    desk.settled()
    # numbers change without other code
    desk("kinetree.desk.change({ do: 'set', at: ['bodies', 'crank', 'mass'], to: 2 })")
    assert desk("LAWS.size") == 1
    assert desk("kinetree.app.mode") == "turn"
    q, v, tau = desk(
        "[[...kinetree.app.turn.states[40].q], kinetree.app.turn.states[40].v[0], kinetree.app.turned[40].tau[0]]"
    )
    robot = studio.document.robot
    rates = robot.velocities(q, [v])
    assert abs(tau - robot.inverse_dynamics(q, rates, robot.accelerations(q, rates, [0.0]))[0]) < 1e-9

    # a changed structure is drawn before it can move, where it was
    monkeypatch.setattr("kinetree_studio.desk.desk.AT_ONCE", 0.0)
    desk("window.begun = kinetree.app.turn.period; kinetree.app.seek(0.3)")
    before = desk("[...kinetree.app.q]")
    made = studio._laws.code
    monkeypatch.setattr(
        studio._laws, "code", lambda name, seconds=None: clock.sleep(0.5 * (seconds is None)) or made(name, seconds)
    )
    desk("kinetree.desk.change({ do: 'set', at: ['bodies', 'rocker', 'joint', 'friction'], to: 0.3 })")
    assert desk("kinetree.app.waits && kinetree.app.drawn")
    assert np.allclose(desk("[...kinetree.app.q]"), before, atol=1e-6)
    assert "being worked out" in desk("document.getElementById('panel').innerText")
    desk.wait("!kinetree.app.waits")
    assert desk("kinetree.app.mode") == "turn"
    assert abs(desk("kinetree.app.time") - 0.3) < 0.02
    assert "being worked out" not in desk("document.getElementById('panel').innerText")
    desk.clean()


def test_runs_of_the_page_become_python_with_the_same_numbers(opened, monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")  # as users have it: the reference closes loops less tightly
    studio, desk = opened("four-bar")
    desk.settled()
    desk.wait("kinetree.app.mode === 'turn'")
    clock.sleep(1.0)
    assert [run.KIND for run in studio.document.runs] == ["turn"]
    torque = desk("kinetree.app.turned.map((m) => m.tau[0])")
    desk.click("Let go")
    desk.wait("kinetree.app.mode === 'run' && kinetree.app.time > 0.3")
    desk.click("Pause")
    end = desk("[...kinetree.app.letGo.state.slice(0, 3)]")
    clock.sleep(0.5)
    assert [run.KIND for run in studio.document.runs] == ["turn", "let go"]
    done = {}
    exec(studio.document.script(), done)
    assert np.abs(done["tau"][:, 0] - torque).max() < 1e-7
    assert np.abs(done["record"].q[-1] - end).max() < 1e-9
    desk.clean()


HANDLE = """((kind, axis) => {
  const handles = kinetree.app.handlesNow, box = kinetree.app.scene.canvas.getBoundingClientRect();
  const own = handles.list().find((x) => x.kind === kind && (axis === undefined || x.axis === axis || x.name === axis));
  if (!own) return null;
  const at = own.kind === "move" ? own.to : own.kind === "turn" ? own.ring[5] : own.at;
  const [x, y] = handles.seen(at), way = scaled(own.along || [1, 0, 0], 0.1);
  const towards = own.kind === "turn" ? own.ring[11] : add(at, way);
  const [u, v] = handles.seen(towards);
  return [box.left + x, box.top + y, u - x, v - y];
})"""


def pull(desk, kind, axis, share=1.0):
    """Take a handle and move it: an arrow or a ball by 0.1 m along it, a ring by six of its sides."""
    x, y, dx, dy = desk(f"{HANDLE}({kind!r}, {axis})")
    desk.mouse("mousePressed", x, y)
    for k in (1, 2, 3):
        desk.mouse("mouseMoved", x + share * dx * k / 3, y + share * dy * k / 3)
        desk("new Promise((done) => requestAnimationFrame(done))")
    desk.mouse("mouseReleased", x + share * dx, y + share * dy, held=False)
    desk.wait("!kinetree.app.waits && !kinetree.app.handlesNow.held")


def test_handles_move_and_turn_what_is_chosen(opened):
    studio, desk = opened("two-link")
    desk.settled()
    assert desk(f"{HANDLE}('move', 0)") is None
    desk("[...document.querySelectorAll('#views label')].find((x) => x.textContent === 'Handles').click()")
    desk.click("link_2revolute")
    before = studio.document.text

    # an arrow: the body moves along the axis of its parent, in steps of the unit that is shown
    pull(desk, "move", 1)
    place = studio.document.robot.model.joint("joint_2").placement
    first = kt.load("two-link").model.joint("joint_2").placement.position
    moved = place.position - first
    assert abs(moved[1] - 0.1) < 0.012
    assert moved[0] == moved[2] == 0
    assert abs(place.position[1] * 1000 - round(place.position[1] * 1000)) < 1e-9

    # a ring: it turns about that axis by steps of 5 degrees
    pull(desk, "turn", 2)
    rotation = studio.document.robot.model.joint("joint_2").placement.rotation
    angle = np.degrees(np.arctan2(rotation[1, 0], rotation[0, 0]))
    assert abs(angle / 5 - round(angle / 5)) < 1e-9
    assert 40 <= abs(angle) <= 50  # six of 48 sides

    # the ball of the center of mass
    com = studio.document.robot.body("link_2").mass_properties.com
    pull(desk, "com", "undefined")
    assert np.linalg.norm(np.subtract(studio.document.robot.body("link_2").mass_properties.com, com)) > 0.03
    for _ in range(3):
        desk("kinetree.desk.step('undo').then(() => 0)")
    assert studio.document.text == before

    # a frame that is turned, and a shape
    studio.document.add(
        "frames",
        {"name": "tool", "body": "link_2", "placement": {"position": [0.2, 0, 0], "quaternion": [0, 0, 0.6, 0.8]}},
    )
    studio.document.add("shapes", {"name": "pad", "body": "tool", "kind": "sphere", "radius": 0.02})
    desk("ask('edit', { edit: { do: 'set', at: ['name'], to: 'arm' } }).then((told) => kinetree.desk.show(told))")
    desk.click("toollink_2")
    pull(desk, "turn", 2)
    tool = studio.document.robot.model.frame_table["tool"].pose
    assert np.allclose(tool.position, (0.2, 0, 0))
    angle = np.degrees(np.arctan2(tool.rotation[1, 0], tool.rotation[0, 0])) - np.degrees(2 * np.arctan2(0.6, 0.8))
    assert abs(angle / 5 - round(angle / 5)) < 1e-6
    desk.click("padsphere")
    pull(desk, "move", 0)
    pad = studio.document.robot.shapes[0].pose.position
    assert 0.088 < pad[0] < 0.112  # along the axes of the frame that it is on
    assert pad[1] == pad[2] == 0
    desk.clean()


def test_points_of_a_linkage_are_dragged_where_it_is_drawn(opened):
    studio, desk = opened("wiper")
    desk.settled()
    desk("kinetree.desk.handles = true; kinetree.app.play(false); kinetree.app.seek(0)")
    desk.click("Front")
    assert desk(f"{HANDLE}('point', 'A')") is None  # it is given by distances
    first = kt.load("wiper").model.drawing.drawn
    pull(desk, "point", "'left_tip'", 0.3)
    drawn = studio.document.robot.model.drawing.drawn
    moved = np.subtract(drawn["left_tip"], first["left_tip"])
    assert 0.02 < moved[0] < 0.04
    assert abs(moved[1]) < 0.004
    assert all(np.allclose(drawn[name], first[name]) for name in first if name != "left_tip")
    desk.clean()


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_frames_of_a_table_are_built_step_by_step(opened, convention):
    studio, desk = opened("puma")
    desk.settled()
    desk("kinetree.app.moveJoint(kinetree.app.facts.joints[1], 0.5)")
    desk("kinetree.app.moveJoint(kinetree.app.facts.joints[3], -0.8)")
    desk(f"kinetree.desk.frames.begin({convention!r})")
    robot, q = studio.document.robot, desk("[...kinetree.app.q]")
    table = robot.dh_table(convention)
    desk("kinetree.app.still = true")  # steps without gliding
    told = []
    for _ in range(24):
        desk("kinetree.desk.frames.go(1)")
        told.append(desk("document.querySelector('#frames p').textContent"))
    assert "turn by θ = " in told[4 + (2 if convention == "modified" else 0)]
    assert "Row 6 of 6" in told[-1]
    found = np.array(desk("kinetree.desk.frames.reached().frames.map((f) => f.flat())"))
    assert len(found) == 7
    made = kt.from_dh(list(table.rows), convention=convention)
    for k in range(6):
        pose = made.pose(q, made.body_names[k])
        np.testing.assert_allclose(found[k + 1].reshape(4, 3), pose[:3].T, atol=1e-12)
    assert desk("document.querySelectorAll('#frames mtable').length") == 2
    assert desk("document.querySelector('#frames mtd').getBoundingClientRect().width") > 0
    desk("kinetree.app.still = false")
    desk.clean()


def test_equations_are_typeset(opened):
    _, desk = opened("two-link")
    desk.settled()
    desk.click("Equations")
    desk.wait("document.querySelectorAll('.formulas math').length > 3")
    told = desk(
        "[...document.querySelectorAll('.formulas math')].map((x) => x.textContent.replace(/[\\s\u2062\u2061]/g, ''))"
    )
    assert told[0] == "M(q)a+c(q,v)+g(q)=τ"
    [first] = [x for x in told if x.startswith("M11=")]
    for word in ("0.05933", "0.03", "cos"):  # as in the text: 3 cos(q2)/100 + 0.0593
        assert word in first
    assert any(x.startswith("g2=") and "0.4905" in x for x in told)
    assert desk("document.querySelector('.formulas math msub').getBoundingClientRect().height") > 5
    assert "M[1,1] = 3*cos(q2)/100" in desk("document.querySelector('dialog pre').textContent")
    desk.clean()


def test_a_mechanism_is_put_together_in_another_way(opened):
    studio, desk = opened("four-bar")
    desk.settled()
    desk("kinetree.app.toPose(); kinetree.app.moveJoint(kinetree.app.facts.joints[0], 0.6)")
    before = np.array(desk("[...kinetree.app.q]"))
    desk.click("Other assembly")
    desk.wait("document.getElementById('notice').textContent.startsWith('Assembly')")
    after = np.array(desk("[...kinetree.app.q]"))
    both = studio.document.robot.assemblies({"crank_joint": 0.6}).q
    for own in (before, after):
        assert min(np.abs(np.exp(1j * own) - np.exp(1j * other)).max() for other in both) < 1e-6
    assert np.abs(np.exp(1j * after) - np.exp(1j * before)).max() > 0.1
    assert "of 2 with crank_joint where it is; there are no others" in desk(
        "document.getElementById('notice').textContent"
    )
    desk.clean()


def test_names_from_files_are_text_and_a_phone_sees_all(opened):
    studio, desk = opened()
    bad = "<img src=x onerror=alert(1)>"
    body = f"{{name: '{bad}', parent: base, joint: revolute, mass: 1, com: [1, 0, 0]}}"
    studio.heard({"do": "open", "text": f"kinetree: 1\nname: '{bad}'\nbodies:\n  - {body}\n"})
    desk("location.reload()")
    clock.sleep(0.5)
    desk.wait("window.kinetree && kinetree.app && kinetree.app.drawn")
    assert desk("document.querySelectorAll('img').length") == 0
    assert bad in desk("document.querySelector('.tree').textContent")
    desk.browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    clock.sleep(0.3)
    assert desk("document.documentElement.scrollWidth") <= 390
    assert desk("document.getElementById('stage').clientHeight") > 250
    desk.browser.call("Emulation.clearDeviceMetricsOverride")


def test_answers_of_a_lesson_are_checked(opened):
    _, desk = opened()
    desk.click("The torque of a four-bar")
    desk.settled()
    desk.wait("document.querySelector('#lesson input') !== null")
    label = "What is the largest torque over one turn, without its sign?"
    for typed, said in (("3.1", "Right"), ("5", "Not yet"), ("much", "Type a number.")):
        desk.type(label, typed)
        assert desk("document.querySelector('#lesson .told').textContent") == said
    desk.click("Next")
    desk.click("Next")
    desk.click("Check")
    assert desk("document.querySelector('#lesson .told').textContent") == "It is 3.08 N m."
    desk("kinetree.desk.change({do: 'set', at: ['bodies', 'coupler', 'mass'], to: 2}).then(() => 0)")
    desk.settled()
    desk.click("Check")
    assert desk("document.querySelector('#lesson .told').textContent") == "Done"
    desk.clean()


FALL = """# Fall
system: two-link

## Go
? Speed [rpm] = peak velocity of joint_2 ± 5 %
? Weight [g] = mass of link_2 ± 1 %
! Slow: peak velocity of joint_2 < 0.001
! Fast: peak force of joint_2 > 1000 kN
"""


def test_what_a_lesson_asks_is_measured_whatever_curve_is_seen(opened, tmp_path):
    (tmp_path / "fall.lesson.md").write_text(FALL, encoding="utf-8")
    (tmp_path / "wrong.lesson.md").write_text(FALL + "? No\n", encoding="utf-8")
    _, desk = opened()
    assert desk(f"{FIND}('Fall') !== null && {FIND}('⚠ Fall') !== null")
    desk.click("Fall")
    desk.settled()
    desk.wait("document.querySelector('#lesson input') !== null")
    told = "[...document.querySelectorAll('#lesson .told')].map((x) => x.textContent)"
    check_all = (
        "document.querySelectorAll('#lesson button').forEach((x) => { if (x.textContent === 'Check') x.click(); })"
    )
    desk(check_all)
    desk.type("Speed", "9999")
    none = "Not measured yet: turn the motor, or let it go."
    assert desk(told) == [none, "Type a number.", none, none]
    desk.click("Let go")
    desk.wait("kinetree.app.letGo.samples.length > 40")
    desk("kinetree.app.play(false)")
    assert desk("kinetree.app.plot.group.title") == "Position"
    fastest = desk("Math.max(...kinetree.app.letGo.samples.map((s) => Math.abs(s.told.v[1])))") * 30 / np.pi
    for typed, said in (("9999", "Not yet"), ("0", "Not yet"), ("-3", "Not yet"), (f"{fastest:.6f}", "Right"),
                        (f"{6 * fastest:.6f} deg/s", "Right"), ("3 kg", "Type a number in rpm.")):  # fmt: skip
        desk.type("Speed", typed)
        assert desk(told)[0] == said, typed
    desk(check_all)
    slow, fast = desk(told)[2:]
    assert slow.startswith("It is ")
    assert slow.endswith(" rad/s.")
    assert fast.startswith("It is ")
    assert fast.endswith(" kN.")
    mass = kt.gallery.load("two-link").body("link_2").mass
    for typed in (f"{1000 * mass}", f"{mass} kg"):
        desk.type("Weight", typed)
        assert desk(told)[1] == "Right"
    desk("kinetree.app.letGo.samples.forEach((s) => { s.told.v.fill(NaN); })")  # nothing of it is known
    desk.type("Speed", "1")
    assert desk(told)[0] == "Not measured yet: let it go on."
    desk.clean()
