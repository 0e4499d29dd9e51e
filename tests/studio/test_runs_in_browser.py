"""Motions and simulations as users click them in the studio, in a real Chromium without a window."""

import json
import time as clock

import numpy as np
import pytest

import kinetree as kt
from helpers.chromium import IN_BROWSER
from helpers.studio_desk import Desk

pytestmark = IN_BROWSER

DRAG = """((row, joint, dx, dy) => {
  const handle = document.querySelector(`svg.editor [data-row="${row}"][data-joint="${joint}"]`);
  handle.scrollIntoView({ block: "center" });
  const box = handle.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
})"""

SET = """((label, text) => {
  const field = document.querySelector(`#dock [aria-label="${label}"]`);
  field.value = text;
  field.dispatchEvent(new Event("change"));
  return true;
})"""


class Runs(Desk):
    """The studio with its dock of runs."""

    def result(self, tab):
        """Wait until nothing is being computed, and there is a result."""
        self.wait(f"kinetree.desk.runs.job === '' && kinetree.desk.runs.results.{tab} !== undefined")

    def of(self, tab, key):
        """Return an array of the result."""
        return np.array(self(f"[...kinetree.desk.runs.results.{tab}.{key}]"))

    def set(self, label, text):
        """Set a field or choose from a list."""
        assert self(f"{SET}({label!r}, {text!r})")

    def curve(self, tab, title, name):
        """Return a curve."""
        found = f"kinetree.desk.runs.results.{tab}.groups.find((g) => g.title === {title!r})"
        count = self(f"kinetree.desk.runs.results.{tab}.count")
        k = self(f"{found}.names.indexOf({name!r})")
        return np.array(self(f"[...{found}.data]")[k * count : (k + 1) * count])


@pytest.fixture
def opened(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")  # as users have it
    made = []

    def start(robot=None):
        made.append(kt.studio(robot, folder=tmp_path, port=0))
        page = Runs(browser, made[0].url)
        page.settled()
        return made[0], page

    yield start
    browser.evaluate("if (window.kinetree && kinetree.desk) kinetree.desk.told = null; 0")  # nothing to be kept
    for studio in made:
        studio.close()


def repeated(studio):
    done = {}
    exec(studio.document.script(), done)
    return done


def test_a_motion_is_planned_dragged_and_its_torque_seen(opened):
    studio, page = opened("four-bar")
    page.click("Motion")
    page.result("motion")
    page.wait("kinetree.app.mode === 'shown' && kinetree.app.time > 0.05")  # it plays
    page.set("crank_joint at point 2", "90 deg")
    page.set("time of point 2", "1.5")
    page.wait("kinetree.desk.runs.results.motion.end === 1.5")
    page.result("motion")
    first = page.curve("motion", "Torque of motors", "crank_joint")
    path = kt.trajectories.spline([0, 1.5], [[page.of("motion", "q")[0]], [np.pi / 2]], degree=5)
    robot = studio.document.robot
    q, v, a = path(page.of("motion", "time"))
    moved = robot.driven_motion(q, v, a, q_guess=page.of("motion", "q")[: robot.nq])
    assert np.abs(first - moved.tau[:, 0]).max() < 1e-12
    # a point is dragged in the picture: the curves follow
    x, y = page(f"{DRAG}(1, 0)")
    page.mouse("mousePressed", x, y)
    for step in (10, 20, 30):
        page.mouse("mouseMoved", x, y + step)
    page.mouse("mouseReleased", x, y + 30, held=False)
    page.wait("kinetree.desk.runs.forms.motion.rows[1].x[0] < 1.5")
    page.wait("kinetree.desk.runs.job === '' && !kinetree.desk.runs.again")
    last = page("kinetree.desk.runs.forms.motion.rows[1].x[0]")
    page.wait(f"Math.abs(kinetree.desk.runs.results.motion.of('q', 180)[0] - {last}) < 1e-9")
    # the pose that is shown becomes a point
    page("kinetree.app.moveJoint(kinetree.app.facts.joints[0], 2.0); 0")
    page.click("+ Point at the pose shown")
    page.wait("kinetree.desk.runs.forms.motion.rows.length === 3")
    page.result("motion")
    page.wait("Math.abs(kinetree.desk.runs.results.motion.of('q', 180)[0] - 2) < 1e-9")
    # the Python repeats it, to the last bit, and a saved project has it
    page.wait("kinetree.desk.runs.job === ''")
    shown = page.of("motion", "tau")
    assert [run.KIND for run in studio.document.runs][-1] == "motion"
    assert np.array_equal(repeated(studio)["tau"].ravel(), shown)
    studio.heard({"do": "save", "file": "mine.yaml"})
    studio.heard({"do": "open", "file": "mine.yaml"})
    assert studio.heard({"do": "offers", "pose": None})["last"]["motion"]["points"][2][0] == pytest.approx(2.0)
    # other units are those of the table and the curves
    page("kinetree.app.units.select.value = 0; kinetree.app.units.select.onchange(); 0")
    shown = page("""document.querySelector('#dock [aria-label="crank_joint at point 3"]').value""")
    assert float(shown) == pytest.approx(2.0)
    assert "[rad]" in page("document.querySelector('#dock table.points').textContent")
    page("kinetree.app.units.select.value = 1; kinetree.app.units.select.onchange(); 0")
    # a mistake is told where it is made
    page.set("time of point 2", "9")
    page.wait("document.querySelector('#dock .problem').textContent.includes('times must increase')")
    page.set("crank_joint at point 2", "much")
    assert "is not a number" in page("document.querySelector('#dock .problem').textContent")
    page.clean()


def test_a_simulation_with_a_controller_follows_its_sliders(opened):
    studio, page = opened("kuka-kr5")
    page.click("Simulation")
    page.result("simulation")
    page.set("What is wanted", "motion")
    page.set("motors give", "computed torque")
    page.wait("kinetree.desk.runs.forms.simulation.gains.kp.length === 1")
    page.result("simulation")
    page.set("motors give", "PD")
    page.result("simulation")
    page.wait("kinetree.desk.runs.results.simulation.groups.some((g) => g.title.startsWith('Behind'))")
    before = page.curve("simulation", "Behind the desired position by", "joint_2")
    # a mass is tried: curves are gray, then computed again
    k = page("kinetree.app.facts.sliders.findIndex((s) => s.name === 'mass of link_3')")
    page("window.first = kinetree.desk.runs.results.simulation; 0")
    page(f"kinetree.app.setNumber({k}, 30); kinetree.desk.runs.curves.plots[0].isOld")
    page.wait("kinetree.desk.runs.results.simulation && kinetree.desk.runs.results.simulation !== window.first")
    after = page.curve("simulation", "Behind the desired position by", "joint_2")
    assert np.abs(after).max() > 1.1 * np.abs(before).max()
    assert not page("kinetree.desk.runs.curves.plots[0].isOld")
    done = repeated(studio)
    assert np.array_equal(done["record"].q.ravel(), page.of("simulation", "q"))
    # a press on a curve goes to that moment
    page("kinetree.app.play(false); 0")
    seen = "kinetree.desk.runs.curves.plots[0].canvas.getBoundingClientRect()"
    box = page(f"(({{ left, top, width, height }}) => [left, top, width, height])({seen})")
    page.at(box[0] + 46 + 0.5 * (box[2] - 54), box[1] + 0.5 * box[3])
    assert abs(page("kinetree.app.time") - 1.0) < 0.02
    page.clean()


def test_a_long_simulation_shows_how_far_it_is_and_is_stopped(opened):
    _, page = opened("four-bar")
    page.click("Simulation")
    page.result("simulation")
    page.set("steps", "Runge-Kutta")
    page.result("simulation")
    page.set("step", "0.0002")
    page.result("simulation")
    page("Object.assign(kinetree.desk.runs.took, { simulation: 9 }); 0")  # as if it had taken long
    page.set("duration", "400")
    assert page("kinetree.desk.runs.curves.plots[0].isOld")  # gray until it is wanted
    page.click("Simulate")
    page.wait("!kinetree.desk.runs.stop.hidden && kinetree.desk.runs.bar.value > 0")
    page.click("Stop")
    page.wait("kinetree.desk.runs.job === ''")
    assert 0 < page("kinetree.desk.runs.results.simulation.end") < 400
    assert "Stopped" in page("document.querySelector('#dock .notes').textContent")
    page.clean()


def test_two_designs_make_the_same_motion_side_by_side(opened):
    studio, page = opened("four-bar")
    page.click("Motion")
    page.result("motion")
    page("kinetree.desk.keepBeside().then(() => 0)")
    page("kinetree.desk.change({do: 'set', at: ['bodies', 'crank', 'mass'], to: '3 kg'}).then(() => 0)")
    page.settled()
    page.wait("kinetree.desk.runs.results.motion && kinetree.desk.runs.results.motion.beside")
    page.result("motion")
    own = page.curve("motion", "Torque of motors", "crank_joint")
    group = "kinetree.desk.runs.curves.plots[0].group"
    beside = np.array(page(f"[...{group}.beside]"))
    motion = json.loads(page("JSON.stringify(kinetree.desk.runs.forms.motion.content())"))
    light = kt.load("four-bar")
    q, v, a = kt.trajectories.spline(motion["times"], motion["points"], degree=5)(page.of("motion", "time"))
    tau = light.driven_motion(q, v, a, q_guess=motion["q"]).tau[:, 0]
    assert np.abs(beside - tau).max() < 1e-6  # single precision
    assert np.abs(own - tau).max() > 0.1
    assert page("kinetree.app.scene.robots.length") == 2
    assert page("document.querySelectorAll('#dock .stack table.compared').length") >= 1
    assert studio.document.undo()
    page.clean()


def test_a_sweep_is_a_curve_and_a_map_whose_points_can_be_taken(opened):
    studio, page = opened("four-bar")
    page.click("Sweep")
    page.wait("kinetree.desk.runs.forms.sweep.set !== null")
    page.set("What varies", "mass of crank")
    page.result("sweep")
    page.set("from [kg] of mass of crank", "1")
    page.set("to of mass of crank", "3")
    page.set("values of mass of crank", "21")
    ready = "kinetree.desk.runs.job === '' && kinetree.desk.runs.forms.sweep.picture.result"
    page.wait(f"{ready} && {ready}.axes[0].values.length === 21")
    values = np.array(page(f"[...({ready}).value]"))
    motion = json.loads(page("JSON.stringify(kinetree.desk.runs.forms.motion.content())"))
    robot = studio.document.robot
    q, v, a = kt.trajectories.spline(motion["times"], motion["points"], degree=5)(np.linspace(0, 2, 181))
    crank = robot.body("crank").mass_properties
    mass = np.linspace(1, 3, 21)
    inertia = (mass / crank.mass)[:, None] * np.array(crank.inertia)
    changed = {"bodies": {"crank": {"mass": mass, "inertia": inertia}}}
    tau = robot.driven_motion(q, v, a, changed, q_guess=motion["q"]).tau
    assert np.abs(values - np.abs(tau[..., 0]).max(axis=-1)).max() < 1e-12
    # a press takes the number: the slider has it, and the robot can keep it
    seen = "kinetree.desk.runs.forms.sweep.picture"
    left, top = page(f"(({{ left, top }}) => [left, top])({seen}.canvas.getBoundingClientRect())")
    box = page(f"{seen}.box")
    page.at(left + box["left"] + 0.5 * (box["right"] - box["left"]), top + 0.5 * (box["top"] + box["bottom"]))
    page.wait("kinetree.app.tries")
    assert page("kinetree.desk.runs.values()") == {"mass of crank": 2.0}
    # another number makes it a map
    page.set("And what else varies", "length of crank")
    page.wait(f"{ready} && {ready}.axes.length === 2")
    assert page(f"({ready}).value.length") == 21 * 21
    assert np.array_equal(repeated(studio)["value"], page(f"[...({ready}).value]"))
    page.set("to of mass of crank", "0.5")
    page.wait("document.querySelector('#dock .settings .problem').textContent.includes('to a larger one')")
    page.clean()


def test_dimensions_are_found_as_one_edit_beside_the_design_before(opened):
    studio, page = opened("four-bar")
    before = studio.document.text
    page.click("Design")
    page.wait("kinetree.desk.runs.forms.design.set !== null")
    page("""document.querySelector('[aria-label="rocker_joint.position.x may change"]').click(); 0""")
    page.click("+ Limit")
    page.set("bound of limit 1 [deg]", "30")
    page.click("Find")
    page.wait("kinetree.desk.runs.results.design === true && kinetree.desk.runs.job === ''")
    page.settled()
    assert studio.document.version.edit == "design for torque"
    assert page("kinetree.desk.beside !== null")
    assert "All that was asked is met" in page("document.querySelector('.design-view').textContent")
    done = repeated(studio)
    limits = kt.design.TransmissionAngle() >= np.pi / 6
    free = {"rocker_joint.position.x": ("-0.1074 m", "-0.0716 m")}
    alone = kt.design(
        kt.load("four-bar"), free, kt.design.Torque(), limits, speed=2 * np.pi, samples=36, starts=4, progress=False
    )
    assert abs(done["found"].goals[0].after - alone.goals[0].after) < 1e-9
    page("kinetree.desk.step('undo').then(() => 0)")
    page.wait("kinetree.desk.told.undo === ''")
    assert studio.document.text == before
    page.set("least rocker_joint.position.x", "0")
    page.click("Find")
    page.wait("document.querySelector('#dock .settings .problem').textContent.includes('from a smaller number')")
    page.clean()


def test_the_dock_fits_a_phone(opened):
    _, page = opened("four-bar")
    page.browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    for tab in ("motion", "simulation"):
        page(f"kinetree.desk.runs.tabs.{tab}.click()")
        page.result(tab)
    for tab in ("sweep", "design"):
        page(f"kinetree.desk.runs.tabs.{tab}.click()")
        page.wait("document.querySelector('#dock .form').children.length > 2")
        clock.sleep(0.1)
        assert page("document.documentElement.scrollWidth") <= 390
    clock.sleep(0.2)
    assert page("document.documentElement.scrollWidth") <= 390
    page.browser.call("Emulation.clearDeviceMetricsOverride")
    page.clean()
