"""Pages that compute, in a real Chromium without a window: opened from a disk, dragged, turned, let go, changed."""

import numpy as np
import pytest

import kinetree as kt
from helpers.chromium import IN_BROWSER, Page

pytestmark = IN_BROWSER

OVER_A_BODY = """(() => {
  const a = kinetree.app, box = a.scene.canvas.getBoundingClientRect();
  for (let y = 30; y < box.height - 30; y += 5) for (let x = 30; x < box.width - 30; x += 5) {
    const found = a.grip.under({ clientX: box.left + x, clientY: box.top + y });
    if (found && found.body === BODY) return [box.left + x, box.top + y];
  }
  return null;
})()"""


class ComputingPage(Page):
    """A page that computes, in the browser."""

    def __init__(self, browser, path):
        super().__init__(browser, path.resolve().as_uri(), "kinetree.app && kinetree.app.drawn")

    def drag(self, body, dx, dy, steps=6):
        """Take hold of a body and pull it, still holding."""
        found = self(OVER_A_BODY.replace("BODY", str(body)))
        assert found is not None
        x, y = found
        self.mouse("mousePressed", x, y)
        for k in range(1, steps + 1):
            self.mouse("mouseMoved", x + dx * k / steps, y + dy * k / steps)
            self("new Promise((done) => setTimeout(done, 40))")
        return x + dx, y + dy


@pytest.fixture
def opened(browser, tmp_path):
    def made(robot, **options):
        kt.page(robot, tmp_path / "page.html", **options)
        return ComputingPage(browser, tmp_path / "page.html")

    return made


def test_a_four_bar_turns_is_dragged_let_go_and_changed(opened):
    page = opened("four-bar")
    text = page("document.body.innerText")
    for word in (
        "four-bar",
        "Masses",
        "Lengths",
        "Gravity",
        "torque of crank_joint",
        "Forces in the joints",
        "Curves",
        "Let go",
    ):
        assert word in text, word
    # it opens on one turn of its motor, with the torque that Python computes
    torque = page("kinetree.app.turned.map((m) => m.tau[0])")
    states = page("kinetree.app.turn.states.map((s) => [[...s.q], [...s.v]])")
    robot = kt.load("four-bar")
    q, v = states[50]
    v = robot.velocities(q, [v[0]])
    assert abs(torque[50] - robot.inverse_dynamics(q, v, robot.accelerations(q, v, [0.0]))[0]) < 1e-9

    # peak and root mean square stand below the curves, and every scale has three marks at least
    rows = page("[...document.querySelectorAll('.peaks tr')].map((r) => [...r.children].map((c) => c.textContent))")
    assert rows[0] == ["", "peak [N m]", "rms [N m]"]
    assert rows[1][0] == "crank_joint"
    assert float(rows[1][1]) == pytest.approx(max(torque, key=abs), rel=1e-3)
    assert float(rows[1][2]) == pytest.approx(np.sqrt(np.mean(np.square(torque[1:]))), rel=1e-3)
    for low, high in ((-0.0448, 0.0448), (0.0, 1.0), (-3.1, 2.9), (99.0, 103.0)):
        step = page(f"stepOfAxis({low}, {high})")
        assert 3 <= np.floor(high / step) - np.ceil(low / step) + 1 <= 8, (low, high)
    # velocities have units of velocities, and the table those that are shown
    assert "Velocity [rpm]" in page("document.querySelector('#panel select, select').parentNode.parentNode.innerHTML")
    table = page("kinetree.app.curves.table()").split("\n")
    column = table[0].split(",").index("Position: crank_joint [deg]")
    assert float(table[51].split(",")[column]) == pytest.approx(np.degrees(states[50][0][0]), rel=1e-5)
    assert "Velocity: crank_joint [rpm]" in table[0]

    # a body is dragged, the loop stays closed, and the numbers are those of the pose
    before = page("[...kinetree.app.q]")
    end = page.drag(1, 40, 25)
    page.wait("kinetree.app.mode === 'pose'")
    assert page("kinetree.app.mechanism.constraints(kinetree.app.q).worst") < 1e-10
    now = page("[...kinetree.app.q]")
    assert max(abs(a - b) for a, b in zip(before, now, strict=True)) > 0.01
    page.mouse("mouseReleased", *end, held=False)
    held = robot.inverse_dynamics(now, [0] * 3, [0] * 3)[0]
    assert abs(page("kinetree.app.told.tau[0]") - held) < 1e-9

    # a slider of a joint stops where the loop ends, and says so
    page("window.slide = (row, value) => { row.range.value = value; row.range.oninput(); }; 0")
    page("slide(kinetree.app.design.joints.get(kinetree.app.facts.joints[1]), 3.1)")
    said = page("document.getElementById('notice').textContent")
    assert said.startswith("rocker_joint ends at 9")
    assert said.endswith(" deg")
    page("kinetree.app.units.select.value = 0; kinetree.app.units.select.onchange()")
    assert "rad" in page("document.getElementById('design').innerText")

    # twice the gravity is twice the potential energy
    page("kinetree.app.restart()")
    before = page("kinetree.app.told.potential")
    page("slide(kinetree.app.design.sliders[0], 2 * kinetree.app.design.sliders[0].first)")
    assert abs(page("kinetree.app.told.potential") - 2 * before) < 1e-9

    # let go, it moves, and energy is balanced; pause, reset
    page("[...document.querySelectorAll('.modes button')].find((b) => b.textContent === 'Let go').click()")
    page.wait("kinetree.app.time > 0.3")
    page("kinetree.app.play(false)")
    most = page("Math.max(...kinetree.app.letGo.samples.map((s) => s.told.kinetic))")
    assert abs(page("kinetree.app.letGo.balance()")) < 1e-5 * most
    assert page("kinetree.app.curves.table().split('\\n').length") == page("kinetree.app.letGo.samples.length") + 1
    page("[...document.querySelectorAll('#bar button')].find((b) => b.textContent === 'Reset').click()")
    assert page("kinetree.app.time") == 0
    assert page("kinetree.app.mode") == "run"
    assert page("problems") == []


def cart_pole():
    b = kt.Builder("cart-pole")
    b.body("cart", "base", kt.Prismatic("x"), mass=1.0)
    b.body("pole", "cart", kt.Revolute("y"), mass=0.1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001), actuated=False)
    return b.build()


@pytest.mark.parametrize(
    "robot", [kt.load("four-bar").with_backend("compiled"), cart_pole()], ids=lambda robot: robot.name
)
def test_a_simulation_in_the_browser_is_that_of_simulate(opened, robot):
    page, step, n = opened(robot), 1e-3, 400
    page("kinetree.app.toPose()")
    q = np.array(page("[...kinetree.app.first]"))
    free = robot.independent() if robot.loops else robot.v_names
    v = robot.velocities(q, [0.7] * len(free)) if robot.loops else np.full(robot.nv, 0.7)
    begun = f"""[...{q.tolist()}, ...{v.tolist()}, ...new Array(kinetree.app.facts.nz).fill(0),
        ...(kinetree.app.mechanism.m ? [Infinity] : [])]"""
    reached = page(f"[...kinetree.app.mechanism.steps(0, Float64Array.from({begun}), {step}, {n})]")
    record = kt.simulate(robot, q, v, time=n * step, step=step, integrator="rk4", progress=False, works=True)
    assert np.abs(record.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(reached[: robot.nq + robot.nv], [*record.q[-1], *record.v[-1]], rtol=0, atol=1e-10)
    assert page("problems") == []


def test_limits_and_platforms_in_the_page(opened):
    page = opened("stewart-platform", sliders=["masses"])
    end = page.drag(page("kinetree.app.facts.path.length - 1"), 30, -20)
    assert page("kinetree.app.mechanism.constraints(kinetree.app.q).worst") < 1e-10
    page.mouse("mouseReleased", *end, held=False)
    assert page("kinetree.app.told.quality") > 1
    assert page("problems") == []


def test_a_click_on_a_body_draws_the_whole_path_of_its_point(opened):
    page = opened("four-bar")
    coupler = page("kinetree.app.show.robots[0].bodies.indexOf('coupler')")
    x, y = page(OVER_A_BODY.replace("BODY", str(coupler)))
    page.mouse("mousePressed", x, y)
    page.mouse("mouseReleased", x, y, held=False)
    assert page("kinetree.app.mode") == "turn"  # a click does not take it out of its turn
    assert page("document.getElementById('notice').textContent").startswith("Path of the point at ")
    page("kinetree.app.frame(performance.now())")
    turning = page("[...kinetree.app.path]")
    page("kinetree.app.toPose(); kinetree.app.seePose(); kinetree.app.frame(performance.now())")
    still = np.reshape(page("[...kinetree.app.path]"), (-1, 3))
    point = page("kinetree.app.scene.main.points['point held last'].point")
    robot = kt.load("four-bar")
    for q in page("kinetree.app.whole.states.filter((_, k) => k % 30 === 0).map((s) => [...s.q])"):
        where = robot.pose(q, "coupler") @ [*point, 1.0]
        assert np.linalg.norm(still - where[:3], axis=1).min() < 1e-7
    assert len(turning) == still.size
    assert np.linalg.norm(still[0] - still[-1]) < 1e-6  # the curve is closed
    assert page("problems") == []


def test_freedoms_that_are_left_are_said(opened):
    page = opened("four-bar")
    said = "document.querySelector('#panel .hint').textContent"
    assert page(said) == "1 freedom"
    b = kt.Builder("arm")
    b.body("upper", "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5), inertia=(0.1,) * 3, lower=-1, upper=1)
    b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0, 0, -0.5), inertia=(0.1,) * 3)
    page = opened(b.build())
    assert page(said) == "2 freedoms"
    page("kinetree.app.moveJoint(kinetree.app.facts.joints[0], 3)")
    assert page(said) == "1 of 2 freedoms left: upper_joint is at a limit"
    assert page("document.getElementById('notice').textContent") == "upper_joint ends at 57.3 deg, its limit"
    page = opened("stewart-platform")
    assert page(said) == "6 freedoms"


def test_names_are_text_and_it_works_on_a_phone(opened, browser):
    name = "<img src=x onerror=alert(1)>"
    b = kt.Builder(name)
    b.body(name, "base", kt.Revolute("y"), mass=1, com=(0, 0, -0.5), inertia=(0.02,) * 3)
    page = opened(b.build())
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    try:
        page("new Promise((done) => setTimeout(done, 100))")
        assert page("document.querySelectorAll('img').length") == 0
        assert page("document.querySelector('h1').textContent") == name
        assert page("document.documentElement.scrollWidth") <= 390
        assert page("kinetree.app.scene.canvas.clientHeight") > 200
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")
    assert page("problems") == []
