"""Pages that compute: their numbers in Node against the robot's own methods, and what the file is."""

import html
import json
import re

import numpy as np
import pytest

import kinetree as kt
from helpers.cli import invoke
from helpers.node import needs_node
from helpers.page_in_node import computed
from kinetree.evaluation.parameters import own_numbers
from kinetree_studio.page.chosen_numbers import ChosenNumbers
from kinetree_studio.page.drives import PoseDrives
from kinetree_studio.view.page import unpacked

LENGTHS = {"crank": 0.038, "rocker": 0.1152, "coupler": 0.1152, "ground": 0.0895}


def four_bar(masses=(1.5, 3.0, 5.0), name="four-bar", **lengths):
    """The four-bar of Shah with slender rods of other masses and lengths."""
    size = LENGTHS | lengths
    z, b = kt.Revolute("z"), kt.Builder(name, gravity=(0, -9.81, 0))
    rods = {
        n: {"mass": m, "com": (size[n] / 2, 0, 0), "inertia": (0, m * size[n] ** 2 / 12, m * size[n] ** 2 / 12)}
        for n, m in zip(("crank", "rocker", "coupler"), masses, strict=True)
    }
    b.body("crank", "base", z, **rods["crank"])
    b.body("rocker", "base", z, position=(-size["ground"], 0, 0), actuated=False, **rods["rocker"])
    b.body("coupler", "rocker", z, position=(size["rocker"], 0, 0), actuated=False, **rods["coupler"])
    b.loop("pin", "crank", "coupler", z, placement=(size["crank"], 0, 0), seat=(size["coupler"], 0, 0))
    return b.build()


def cart_pole():
    b = kt.Builder("cart-pole")
    b.body("cart", "base", kt.Prismatic("x"), mass=1.0, lower=-1.5, upper=1.5)
    b.body("pole", "cart", kt.Revolute("y"), mass=0.1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001), actuated=False)
    return b.build()


def ball_arm():
    """A ball joint, then a hinge with a follower, on a body that slides."""
    b = kt.Builder("ball-arm")
    b.body("slide", "base", kt.Prismatic("z"), mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.body("upper", "slide", kt.Spherical(), mass=1.2, com=(0.1, 0, -0.2), inertia=(0.02, 0.03, 0.01))
    b.body("lower", "upper", kt.Revolute("x"), position=(0, 0, -0.4), mass=0.7, com=(0, 0, -0.2), inertia=(0.01,) * 3)
    tip = {"mass": 0.3, "com": (0, 0, -0.1), "inertia": (0.002,) * 3, "mimic": kt.Mimic("lower_joint", 0.5, 0.2)}
    b.body("tip", "lower", kt.Revolute("y"), position=(0, 0, -0.3), joint_name="tip_joint", **tip)
    return b.build()


TURNING = "const s = given => mechanism.told(engine.call('motion', {...given, p}));"


def stepped(page, q, v, h, n, **numbers):
    """The states after n steps of a page's simulation."""
    body = f"""
        const watched = mechanism.m ? [Infinity] : [];
        const still = new Array(facts.nz).fill(0);
        const state = array([...{json.dumps(list(q))}, ...{json.dumps(list(v))}, ...still, ...watched]);
        return mechanism.steps(0, state, {h}, {n});
    """
    return np.array(computed(page, body, **numbers))


# ---------------------------------------------------------------- numbers


@needs_node
@pytest.mark.parametrize("name", ["four-bar", "kuka-kr5", "cart-pole"])
def test_a_simulation_in_the_page_is_that_of_simulate(name):
    robot = {"four-bar": four_bar, "cart-pole": cart_pole}.get(name, lambda: kt.load(name))().with_backend("compiled")
    page = kt.page(robot)
    q = np.array(page.facts["q"])
    free, rng = page.facts["independent"], np.random.default_rng(0)
    v = (
        robot.velocities(q, 0.3 * rng.standard_normal(len(free)))
        if robot.loops
        else 0.3 * rng.standard_normal(robot.nv)
    )
    step, n = 1e-3, 300
    found = stepped(page, q, v, step, n)
    record = kt.simulate(robot, q, v, time=n * step, integrator="rk4", step=step, controller=PoseDrives(), works=True)
    np.testing.assert_allclose(found[: robot.nq + robot.nv], [*record.q[-1], *record.v[-1]], rtol=0, atol=1e-10)


@needs_node
def test_lengths_and_masses_changed_in_the_page_are_those_of_another_robot():
    page = kt.page(four_bar())
    other = four_bar(masses=(2.5, 3.0, 4.0), crank=0.03, coupler=0.14, ground=0.1).with_backend("compiled")
    lengths = {"length of crank": 0.03, "length of coupler": 0.14, "length of ground": 0.1}
    given = {"mass of crank": 2.5, "mass of coupler": 4.0} | lengths
    q = other.close([0.7, 1.0, 4.3], fixed=["crank_joint"])
    v = other.velocities(q, [3.0])
    record = kt.simulate(other, q, v, time=0.3, integrator="rk4", step=1e-3)
    found = stepped(page, q, v, 1e-3, 300, **given)
    np.testing.assert_allclose(found[:6], [*record.q[-1], *record.v[-1]], rtol=0, atol=1e-10)
    body = TURNING + f"return s({{q: array({q.tolist()}), v: array({v.tolist()}), a: array([1.5, 0, 0])}});"
    a = other.accelerations(q, v, [1.5])
    forces = other.constraint_forces(q, v, a)
    motion = computed(page, body, **given)
    np.testing.assert_allclose(motion["v"], v, atol=1e-12)
    np.testing.assert_allclose(motion["a"], a, atol=1e-9)
    np.testing.assert_allclose(motion["tau"], other.inverse_dynamics(q, v, a), atol=1e-10)
    np.testing.assert_allclose(motion["kinetic"], other.kinetic_energy(q, v), rtol=1e-12)
    np.testing.assert_allclose(motion["potential"], other.potential_energy(q), rtol=1e-12)
    wrenches = np.array(motion["wrenches"]).reshape(-1, 6)  # forces first, since these are shown
    told = np.concatenate([forces.joint_wrenches_world, forces.loop_wrenches_world])
    np.testing.assert_allclose(wrenches, told[:, [3, 4, 5, 0, 1, 2]], atol=1e-9)


@needs_node
def test_drives_hold_push_and_damp_as_in_python():
    robot = cart_pole()
    page = kt.page(robot, sliders=["gravity"])
    torque, kp, kd, goal = 0.7, 12.0, 3.0, 0.4
    body = f"""
        p.set([{torque}, {kp}, {kd}, {goal}], facts.numbers.length);
        return mechanism.steps(0, array([0.1, 2.8, 0.5, -1, 0, 0, 0]), 2e-3, 250);
    """
    found = np.array(computed(page, body, gravity=3.7))
    lighter = robot.with_gravity((0, 0, -3.7))
    drives = PoseDrives(torque=torque, kp=kp, kd=kd, goal=goal)
    record = kt.simulate(lighter, [0.1, 2.8], [0.5, -1], time=0.5, integrator="rk4", step=2e-3, controller=drives)
    np.testing.assert_allclose(found[:4], [*record.q[-1], *record.v[-1]], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[4], record.energy.actuators[-1], rtol=0, atol=1e-10)


@needs_node
@pytest.mark.parametrize("name", ["ball-arm", "kuka-kr5", "gripper"])
def test_motions_poses_and_points_are_the_robots_own(name):
    robot = ball_arm() if name == "ball-arm" else kt.load(name)
    page = kt.page(robot)
    rng = np.random.default_rng(3)
    q, v, a = robot.random_configuration(rng), *rng.standard_normal((2, robot.nv))
    body_index, point = len(robot.body_names) - 1, [0.03, -0.02, 0.05]
    body = (
        TURNING
        + f"""
        const q = array({q.tolist()}), v = array({v.tolist()}), a = array({a.tolist()});
        const kept = (x) => (ArrayBuffer.isView(x) ? x.slice() : x);
        const told = Object.fromEntries(Object.entries(s({{q, v, a}})).map(([k, x]) => [k, kept(x)]));
        const seen = mechanism.look(q);
        const at = mechanism.pointRows(seen, {body_index}, {point});
        const many = mechanism.motions([{{q, v, a}}, {{q, v: a, a: v}}, {{q, v, a}}]).map((m) => m.tau.slice());
        return [told, seen.poses.slice(), at, many, mechanism.move(q, v)];
    """
    )
    told, poses, at, many, moved = computed(page, body)
    np.testing.assert_allclose(told["tau"], robot.inverse_dynamics(q, v, a), atol=1e-9)
    np.testing.assert_allclose(told["kinetic"], robot.kinetic_energy(q, v), rtol=1e-10)
    np.testing.assert_allclose(many[2], many[0], rtol=1e-13)
    np.testing.assert_allclose(many[1], robot.inverse_dynamics(q, a, v), atol=1e-9)
    np.testing.assert_allclose(moved, robot.integrate(q, v), atol=1e-12)
    for k, name in enumerate(robot.body_names):
        np.testing.assert_allclose(poses[7 * k : 7 * k + 3], robot.pose(q, name)[:3, 3], atol=1e-12)
    pose = robot.pose(q, robot.body_names[-1])
    np.testing.assert_allclose(at["x"], pose[:3, :3] @ point + pose[:3, 3], atol=1e-12)
    jacobian = robot.jacobian(q, robot.body_names[-1], axes="aligned")
    arm = pose[:3, :3] @ point
    rows = jacobian[3:] - np.cross(arm, jacobian[:3].T).T
    np.testing.assert_allclose(np.reshape(at["rows"], (3, robot.nv)), rows, atol=1e-12)


@needs_node
def test_a_turn_takes_the_damping_of_joints_along():
    """Torques include it, and so do the forces in the pins, of which passive joints also have some."""
    page = kt.page(four_bar(), sliders=["damping"])
    given = {"damping of crank_joint": 0.4, "damping of coupler_joint": 0.25}
    rough = page.robot.with_parameters({f"joints.{name[11:]}.damping": x for name, x in given.items()})
    q = np.array(page.facts["q"])
    v = rough.velocities(q, [3.0])
    a = rough.accelerations(q, v, [1.5])
    body = TURNING + f"return s({{q: array({q.tolist()}), v: array({v.tolist()}), a: array([1.5, 0, 0])}});"
    told = computed(page, body, **given)
    np.testing.assert_allclose(told["tau"], rough.inverse_dynamics(q, v, a, friction=True), atol=1e-10)
    assert abs(told["tau"][0] - rough.inverse_dynamics(q, v, a)[0]) > 1.0
    forces = rough.constraint_forces(q, v, a, friction=True)
    wrenches = np.array(told["wrenches"]).reshape(-1, 6)
    judge = np.concatenate([forces.joint_wrenches_world, forces.loop_wrenches_world])
    np.testing.assert_allclose(wrenches, judge[:, [3, 4, 5, 0, 1, 2]], atol=1e-9)


def test_speeds_of_pages_have_units():
    assert kt.page("four-bar", speed="60 rpm").facts["speed"] == pytest.approx(2 * np.pi)
    with pytest.raises(kt.KinetreeError, match=r"'0.2 m/s' does not fit: give a number in rad/s"):
        kt.page("four-bar", speed="0.2 m/s")
    with pytest.raises(kt.KinetreeError, match="speed must be"):
        kt.page("four-bar", speed="fast")


def test_the_command_for_pages_takes_units_and_other_numbers(tmp_path, monkeypatch):
    made = []
    own = kt.page
    monkeypatch.setattr(kt, "page", lambda *robot, **options: made.append(own(*robot, **options)) or made[-1])
    typed = ("--speed", "60rpm", "--set", "coupler.mass=4")
    invoke("page", "four-bar", "-o", tmp_path / "page.html", *typed)
    (page,) = made
    assert page.facts["speed"] == pytest.approx(2 * np.pi)
    assert {s.name: s.value for s in page.numbers.sliders}["mass of coupler"] == pytest.approx(4.0)
    wrong = invoke("page", "four-bar", "-o", tmp_path / "no.html", "--speed", "crank_joint=3", code=1).stderr
    assert "--speed: one speed, such as 60rpm" in wrong


# ---------------------------------------------------------------- by hand


@needs_node
def test_legs_of_a_platform_move_one_by_one_with_the_loops_closed():
    robot = kt.load("stewart-platform")
    page = kt.page(robot, sliders=["gravity"])
    stroke = robot.joint("stroke_2").q_slice.start
    value = page.facts["q"][stroke] + 0.08
    body = f"""
        const joint = facts.joints.find((j) => j.name === "stroke_2");
        const {{ q, said }} = mechanism.moveJoint(array(facts.q), joint, {value});
        const held = {{ body: facts.path.length - 1, point: [0.1, 0.2, 0.0] }};
        const x = mechanism.pointAt(q, held.body, held.point);
        const target = [x[0] + 0.05, x[1] - 0.04, x[2] + 0.03], pulled = mechanism.drag(q, held, target);
        return [q, said, pulled.q, target, mechanism.pointAt(pulled.q, held.body, held.point), pulled.said];
    """
    q, said, dragged, target, reached, _ = computed(page, body)
    assert said == ""
    motors = [f"stroke_{k}" for k in range(1, 7)]
    guess = np.array(page.facts["q"])
    guess[stroke] = value
    np.testing.assert_allclose(q, robot.close(guess, fixed=motors), atol=1e-10)
    assert robot.closure_error(dragged) < 1e-9
    np.testing.assert_allclose(reached, target, atol=2e-3)


@needs_node
def test_a_rocker_ends_where_crank_and_coupler_are_in_line():
    page = kt.page(four_bar(), q=four_bar().close([0.5, 1.0, 4.3], fixed=["crank_joint"]))
    crank, rocker, coupler, ground = LENGTHS.values()
    reach = {
        end: np.arccos((ground**2 + rocker**2 - (coupler + sign * crank) ** 2) / (2 * ground * rocker))
        for end, sign in (("far", 1), ("near", -1))
    }
    body = """
        const joint = facts.joints.find((j) => j.name === "rocker_joint");
        const far = mechanism.moveJoint(array(facts.q), joint, 3), near = mechanism.moveJoint(far.q, joint, 0);
        const turn = mechanism.turn(near.q, joint, 2, 40), crank = facts.joints.find((j) => j.name === "crank_joint");
        const whole = mechanism.turn(array(facts.q), crank, 2, 40);
        const states = whole.states.map((s) => s.q);
        return [far.q[joint.q], far.said, near.q[joint.q], turn.whole, turn.low, turn.high, whole.whole, states,
          mechanism.isAtEnd(far.q, joint.v), mechanism.isAtEnd(array(facts.q), joint.v)];
    """
    far, said, near, whole, low, high, turns, states, ended, between = computed(page, body)
    np.testing.assert_allclose([far, near], [reach["far"], reach["near"]], atol=1e-6)
    assert re.fullmatch(r"rocker_joint ends at \{1\.67\d+\}", said)
    assert ended
    assert not between
    assert not whole
    assert reach["near"] < low < high < reach["far"]
    assert turns
    assert page.robot.closure_error(np.array(states)).max() < 1e-9
    np.testing.assert_allclose(np.array(states)[-1], np.array(states)[0] + [2 * np.pi, 0, 0], atol=1e-7)


@needs_node
@pytest.mark.parametrize("name", ["five-bar", "3-rrr"])
def test_other_motors_stand_still_while_one_turns(name):
    """Where they cannot, the joint goes to and fro: its torques are those of moving alone."""
    page = kt.page(name)
    body = """
        const turn = mechanism.turn(array(facts.q), facts.joints.find((j) => j.v === facts.independent[0]), 2, 40);
        return [turn.whole, turn.states.map((s) => s.q)];
    """
    whole, states = computed(page, body)
    joints = [page.robot.model.joint(page.robot.v_names[k]).q_slice.start for k in page.facts["independent"]]
    assert not whole
    assert np.ptp(np.array(states)[:, joints[0]]) > 0.5
    np.testing.assert_allclose(np.ptp(np.array(states)[:, joints[1:]], axis=0), 0, atol=1e-9)
    assert page.robot.closure_error(np.array(states)).max() < 1e-9


@needs_node
def test_limits_are_held_and_said():
    page = kt.page(cart_pole())
    body = """
        const cart = facts.joints[0], q = array([0, 0]);
        const { q: at, said } = mechanism.moveJoint(q, cart, 7);
        let pulled = { q };
        for (let k = 0; k < 20; k++) pulled = mechanism.drag(pulled.q, { body: 0, point: [0, 0, 0] }, [9, 0, 0]);
        return [at, said, pulled.q, pulled.said];
    """
    at, said, pulled, stopped = computed(page, body)
    assert at == [1.5, 0.0]
    assert said == "cart_joint ends at {1.5}, its limit"
    np.testing.assert_allclose(pulled[0], 1.5, atol=1e-9)
    assert stopped.startswith("cart_joint is at its limit")


@needs_node
def test_the_step_is_chosen_by_the_balance_of_energy():
    body = """
        const state = array([...facts.q, ...new Array(facts.nv + facts.nz).fill(0), Infinity]);
        const energy = (s) => {
          const { kinetic, potential } = mechanism.state(0, s.slice(0, 3), s.slice(3, 6), s.slice(6, 9));
          return kinetic + potential;
        };
        const h = mechanism.goodStep(state);
        return [h, energy(state), energy(mechanism.steps(0, state, h, Math.round(0.2 / h)))];
    """
    step, before, after = computed(kt.page(four_bar()), body)
    assert step in (5e-3, 2e-3, 1e-3, 5e-4)
    assert abs(after - before) < 1e-5


# ---------------------------------------------------------------- the file


def test_sliders_change_what_belongs_together():
    chosen = ChosenNumbers(four_bar().model)
    assert [s.name for s in chosen.sliders][:4] == ["gravity", "mass of crank", "mass of rocker", "mass of coupler"]
    given = chosen.parameters({"mass of coupler": 10.0, "length of coupler": 0.2304, "gravity": 1.6})
    coupler = given["bodies"]["coupler"]
    np.testing.assert_allclose(coupler["mass"], 10.0)
    np.testing.assert_allclose(coupler["com"], [0.1152, 0, 0])
    np.testing.assert_allclose(coupler["inertia"][1], 10.0 * 0.2304**2 / 12)
    np.testing.assert_allclose(given["loops"]["pin"]["seat"], [0.2304, 0, 0])
    np.testing.assert_allclose(given["gravity"], [0, -1.6, 0])
    np.testing.assert_allclose(given["joints"]["coupler_joint"]["position"], [0.1152, 0, 0])
    read = chosen.read()
    own = np.concatenate([own_numbers(four_bar().model, place) for place in read.places])
    np.testing.assert_allclose(read.numbers, own, rtol=1e-14)
    assert len(chosen.listed()) == len(own)
    few = ChosenNumbers(four_bar().model, ["crank"])
    assert [s.name for s in few.sliders] == ["mass of crank", "length of crank"]
    alike = [s.name for s in ChosenNumbers(kt.load("stewart-platform").model, ["masses"]).sliders]
    assert alike == ["mass of cylinder_1 and 5 alike", "mass of rod_1 and 5 alike", "mass of platform"]


def pendulum(length=0.65, tip=None):
    """A pendulum, which carries no other body."""
    b = kt.Builder("pendulum")
    b.body("bob", "base", kt.Revolute("y"), mass=1.4, com=(0, 0, -length), inertia=(0.01 * (length / 0.65) ** 2,) * 3)
    if tip is not None:
        b.frame("tip", "bob", position=(0, 0, -tip))
    return b.build()


@needs_node
def test_the_length_of_a_last_body_moves_its_center_of_mass():
    page = kt.page(pendulum(), sliders=["lengths"])
    assert [(s.name, s.value) for s in page.numbers.sliders] == [("length of bob", 0.65)]
    other = pendulum(0.4)
    told = computed(page, TURNING + "return s({q: array([0.7]), v: array([2]), a: array([3])});", length_of_bob=0.4)
    np.testing.assert_allclose(told["tau"], other.inverse_dynamics([0.7], [2.0], [3.0]), rtol=1e-12)
    np.testing.assert_allclose(told["kinetic"], other.kinetic_energy([0.7], [2.0]), rtol=1e-12)
    # with a frame, the frame is its end
    assert [s.value for s in ChosenNumbers(pendulum(tip=1.0).model, ["bob"]).sliders] == [1.4, 1.0]
    with pytest.raises(kt.OptionError, match="no sliders for lengths: no body has another body"):
        ChosenNumbers(pendulum(0.0).model, ["masses", "lengths"])
    assert [s.group for s in ChosenNumbers(pendulum(0.0).model).sliders] == ["gravity", "masses", "damping"]


def test_rates_have_units_of_their_own():
    facts = kt.page(cart_pole()).facts
    assert facts["rateUnits"] == ["m/s", "rad/s"]


def test_one_file_that_runs_nothing_but_its_own_script(tmp_path):
    name = "</script><script>alert(1)</script>{{script}}"
    page = kt.page(four_bar(name=name), tmp_path / "page.html", sliders=["masses"])
    text = (tmp_path / "page.html").read_text()
    assert text == page.html
    assert len(text.encode()) == page.sizes["page"] < 900_000
    assert "alert(1)</script>" not in text
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    assert policy.count("sha256-") == 2
    assert not re.search(r"""(?:src|href)=["'](?!data:)|https?://(?!www\.w3\.org)|\sstyle=|\son\w+=["']""", text)
    inside = unpacked(re.search(r'id="data">([^<]*)<', text)[1])
    assert inside["title"] == name
    assert bytes(inside["compute"]["code"][:4]) == b"\0asm"


def test_what_a_page_cannot_be_made_of_is_refused(tmp_path):
    with pytest.raises(kt.UnknownNameError, match="mases"):
        kt.page(four_bar(), sliders=["mases"])
    with pytest.raises(kt.OptionError, match="turn"):
        kt.page(four_bar(), turn="coupler_joint")
    with pytest.raises(kt.OptionError, match="step"):
        kt.page(cart_pole(), step=0.0)
    with pytest.raises(kt.OptionError, match="html"):
        kt.page(cart_pole(), tmp_path / "page.txt")
    with pytest.raises(kt.UnsupportedError, match="110"):
        kt.page(long_chain())
    with pytest.raises(kt.UnsupportedError, match="no mass"):
        kt.page(kt.Builder("weightless").body("link", "base", kt.Revolute("z")).build())


def long_chain():
    b = kt.Builder("long")
    for k in range(111):
        b.body(f"link_{k}", "base" if k == 0 else f"link_{k - 1}", kt.Revolute("y"), mass=1, position=(0.1, 0, 0))
    return b.build()


def test_the_command_line_writes_a_page(tmp_path):
    invoke(
        "page", "two-link", "-o", tmp_path / "arm.html", "--slider", "masses", "--title", "An arm", "--step", "0.002"
    )
    text = (tmp_path / "arm.html").read_text()
    assert "<title>An arm</title>" in text
    inside = unpacked(re.search(r'id="data">([^<]*)<', text)[1])
    assert inside["compute"]["step"] == 0.002
    assert {s["group"] for s in inside["compute"]["sliders"]} == {"masses"}
    invoke("page", "two-link", "-o", tmp_path / "arm.html", "--slider", "masses,gravity", "--slider", "damping")
    inside = unpacked(re.search(r'id="data">([^<]*)<', (tmp_path / "arm.html").read_text())[1])
    assert {s["group"] for s in inside["compute"]["sliders"]} == {"masses", "gravity", "damping"}
