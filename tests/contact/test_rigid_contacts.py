"""Rigid contact forces: closed forms, the notes' block, a convex program, other friction shapes, loops."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.contact.complementarity import NoSolutionError
from kinetree.contact.rigid_contacts import Contact, RigidContacts, contacts_at
from kinetree.contact.surfaces import Ball, Grid, HeightField, Plane, Spot

CORNERS = [Spot("block", (x, y, -0.2)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
LEVEL = np.array([0, 0, 0, 1, 0, 0, 0.2])


def block():
    """The block of Featherstone figure 9-7."""
    return kt.Builder("block").body("block", "base", kt.Free(), mass=2.0, inertia=(0.1, 0.2, 0.25)).build()


def on_slope(angle):
    turn = Rotation.from_euler("y", angle)
    return np.concatenate([turn.as_quat(), turn.apply([0, 0, 0.2])])


def pair():
    builder = kt.Builder("pair")
    for name in ("a", "b"):
        builder.body(name, "base", kt.Free(), mass=1.5, inertia=(0.1, 0.2, 0.25))
    return builder.build()


# ------------------------------------------------------------------ kinematics


@pytest.mark.parametrize(
    "surface",
    [
        Ball(0.2, (0.1, 0.2, 0.3)),
        Plane((0.1, 0.2, 0.3), (1, 2, 3)),
        HeightField(lambda x, y: x * x - 0.3 * x * y + kt.sin(y)),
        Grid(np.linspace(-3, 3, 9), np.linspace(-3, 3, 7), np.random.default_rng(0).normal(size=(9, 7))),
    ],
    ids=lambda s: type(s).__name__,
)
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_velocities_and_their_rates(surface, backend):
    robot, rng = pair().with_backend(backend), np.random.default_rng(1)
    smooth = isinstance(surface, (Ball, Plane))
    rigid = RigidContacts(robot, [Contact("a", (0.1, 0.2, 0.3), 0.15 if smooth else 0.0, surface=surface, on="b")])
    for _ in range(3):
        q, v = robot.random_configuration(rng), rng.normal(size=12)
        here, h = rigid.look(q, v), 1e-6
        ahead, behind = (rigid.look(robot.integrate(q, s * h * v), v) for s in (1, -1))
        assert np.allclose(here.jacobian @ v, here.velocity, atol=1e-12)
        assert np.allclose((ahead.velocity - behind.velocity) / (2 * h), here.bias, rtol=1e-6, atol=1e-6)
        assert np.allclose(here.axes[0] @ here.axes[0].T, np.eye(3), atol=1e-12)
        gaps, rates = rigid.gaps(np.stack([q, q]), np.stack([v, 2.0 * v]))
        assert np.array_equal(gaps[0], here.gap)
        assert np.allclose(rates, [here.velocity[:, 0], 2.0 * here.velocity[:, 0]], atol=1e-12)
        if smooth:
            assert (ahead.gap - behind.gap) / (2 * h) == pytest.approx(here.velocity[:, 0], abs=1e-7)


# ------------------------------------------------------------------ without friction


def test_block_of_the_notes():
    """Notes G2: contact matrix, standing and tipping under 20 N at the top."""
    robot = block()
    rigid = RigidContacts(robot, contacts_at(CORNERS))
    v = np.zeros(6)

    def pushed(x, y):
        return {"block": kt.Wrench(force=(0, 0, -20), point=(x, y, 0.2))}

    state, answer = rigid.look(LEVEL, v), rigid.mobility(LEVEL, v, wrenches=pushed(0.3, 0.1))
    normals = state.jacobian[:, 0]
    c = normals @ answer.inverse @ normals.T
    expected = [
        [2.65, 0.85, 0.15, -1.65],
        [0.85, 2.65, -1.65, 0.15],
        [0.15, -1.65, 2.65, 0.85],
        [-1.65, 0.15, 0.85, 2.65],
    ]
    assert np.allclose(c, expected)
    assert np.allclose(normals @ answer.free, [1.19, -10.81, -28.81, -40.81])
    standing = rigid.forces(LEVEL, v, wrenches=pushed(0.3, 0.1))
    assert np.allclose(standing.acceleration, 0.0, atol=1e-9)
    assert set(standing.mode) == {"closed"}
    assert standing.force[:, 2].sum() == pytest.approx(2 * 9.81 + 20)
    tipping = rigid.forces(LEVEL, v, wrenches=pushed(1.2, 0.0))
    assert np.allclose(tipping.force[:, 2], (0, 0, 22.802857, 22.802857), atol=1e-6)
    assert np.allclose(tipping.opening, (5.985714, 5.985714, 0, 0), atol=1e-6)
    assert tipping.acceleration[[1, 5]] == pytest.approx((5.985714, 2.992857), abs=1e-6)
    assert tipping.mode == ("breaking", "breaking", "closed", "closed")


@pytest.mark.parametrize("method", ["enumerate", "lemke", "gauss_seidel"])
def test_accelerations_obey_gauss_principle(method):
    """Of all accelerations that the contacts allow, those of least constraint; found by a general optimizer."""
    robot, rng = block(), np.random.default_rng(2)
    rigid, at_rest = RigidContacts(robot, contacts_at(CORNERS), method=method), np.zeros(6)
    m, rows = robot.mass_matrix(LEVEL), rigid.look(LEVEL, at_rest).jacobian[:, 0]
    allowed = {"type": "ineq", "fun": lambda a: rows @ a, "jac": lambda a: rows}
    for _ in range(3):
        tau = rng.normal(size=6) * 8.0
        found = rigid.forces(LEVEL, at_rest, tau)
        free = robot.forward_dynamics(LEVEL, at_rest, tau)

        def constraint(a, free=free):
            return 0.5 * (a - free) @ m @ (a - free), m @ (a - free)

        best = minimize(constraint, at_rest, jac=True, constraints=allowed, method="SLSQP", options={"ftol": 1e-14})
        assert np.allclose(found.acceleration, best.x, atol=1e-5)


def test_centripetal_force_on_a_ball():
    """A bead that slides over a ball leaves it where cos = 2/3, coming from rest at the top (closed form)."""
    robot = kt.Builder("bead").body("bead", "base", kt.Translation(), mass=0.5).build()
    rigid = RigidContacts(robot, [Contact("bead", surface=Ball(1.0))])
    for angle, mode in ((math.acos(2 / 3) - 1e-4, "closed"), (math.acos(2 / 3) + 1e-4, "breaking")):
        q = np.array([math.sin(angle), 0, math.cos(angle)])
        v = math.sqrt(2 * 9.81 * (1 - math.cos(angle))) * np.array([math.cos(angle), 0, -math.sin(angle)])
        found = rigid.forces(q, v)
        assert found.mode == (mode,)
        if mode == "closed":
            assert found.local[0, 0] == pytest.approx(0.5 * 9.81 * (3 * math.cos(angle) - 2), rel=1e-9)


def test_bead_on_a_height_field_has_the_same_forces_as_on_the_ball_it_describes():
    robot = kt.Builder("bead").body("bead", "base", kt.Translation(), mass=0.5).build()
    q = np.array([0.3, 0.2, math.sqrt(1 - 0.13)])
    v = np.cross(q, [0.3, -0.4, 0.2])
    hill = HeightField(lambda x, y: kt.sqrt(1.0 - x * x - y * y))
    a, b = (RigidContacts(robot, [Contact("bead", surface=s)]).forces(q, v) for s in (Ball(1.0), hill))
    assert np.allclose(a.acceleration, b.acceleration, atol=1e-10)
    assert a.local[0, 0] == pytest.approx(b.local[0, 0])


# ------------------------------------------------------------------ friction


@pytest.mark.parametrize("shape", ["cone", "pyramid"])
@pytest.mark.parametrize("angle", [0.1, 0.35, 0.7])
def test_block_on_an_incline_at_the_edge_of_sliding(shape, angle):
    """It holds for mu > tan and slides with g (sin - mu cos) for less, on either side of the edge."""
    robot = block()
    g = 9.81

    def found(mu):
        contacts = contacts_at(CORNERS, surface=Plane.inclined(angle), friction=mu)
        return RigidContacts(robot, contacts, shape=shape).forces(on_slope(angle), np.zeros(6))

    held = found(math.tan(angle) * (1 + 1e-7))
    assert np.allclose(held.acceleration, 0.0, atol=1e-9)
    assert set(held.mode) == {"sticking"}
    assert np.allclose(held.force.sum(axis=0), (0, 0, 2 * g), atol=1e-8)
    for less in (1e-6, 0.1):
        mu = math.tan(angle) * (1 - less)
        slides = found(mu)
        assert slides.acceleration[3] == pytest.approx(g * (math.sin(angle) - mu * math.cos(angle)), abs=1e-9)
        assert set(slides.mode) == {"sliding"}


def test_cone_is_round_and_pyramid_has_corners():
    """A push along the diagonal: the cone slips at mu m g, the square pyramid holds it to mu m g / sqrt 2 per side."""
    robot, mu, weight = block(), 0.5, 2 * 9.81
    for shape, limit in (("cone", 1.0), ("pyramid", 1 / math.sqrt(2))):
        rigid = RigidContacts(robot, contacts_at(CORNERS, friction=mu), shape=shape)
        for factor, mode in ((0.99, "sticking"), (1.01, "sliding")):
            push = factor * limit * mu * weight / math.sqrt(2)
            # at the height of the ground, so that it does not tip
            load = {"block": kt.Wrench(force=(push, push, 0), point=(0, 0, -0.2))}
            assert set(rigid.forces(LEVEL, np.zeros(6), wrenches=load).mode) == {mode}, (shape, factor)
    many = RigidContacts(robot, contacts_at(CORNERS, friction=mu), shape="pyramid", sides=32)
    push = 0.99 * mu * weight / math.sqrt(2)
    load = {"block": kt.Wrench(force=(push, push, 0), point=(0, 0, -0.2))}
    assert set(many.forces(LEVEL, np.zeros(6), wrenches=load).mode) == {"sticking"}


def test_sliding_is_pulled_straight_against_its_velocity():
    robot, mu = block(), 0.4
    v = np.array([0, 0, 0, 0.3, -0.4, 0])
    found = RigidContacts(robot, contacts_at(CORNERS, friction=mu)).forces(LEVEL, v)
    assert np.allclose(found.acceleration[3:], -mu * 9.81 * v[3:] / 0.5, atol=1e-8)
    assert set(found.mode) == {"sliding"}


def test_rolling_ball_on_a_slope():
    """A solid ball rolls with 5/7 g sin while 2/7 tan <= mu, else it slides (closed form)."""
    radius, mass, angle = 0.1, 0.7, 0.3
    inertia = 0.4 * mass * radius**2
    robot = kt.Builder("ball").body("ball", "base", kt.Free(), mass=mass, inertia=(inertia,) * 3).build()
    slope = Plane.inclined(angle)
    q = np.concatenate([[0, 0, 0, 1], radius * np.array(slope.normal)])
    down = np.array([math.cos(angle), 0, -math.sin(angle)])
    edge = 2 / 7 * math.tan(angle)
    for mu, a, mode in (
        (1.05 * edge, 5 / 7 * 9.81 * math.sin(angle), "sticking"),
        (0.5 * edge, 9.81 * (math.sin(angle) - 0.5 * edge * math.cos(angle)), "sliding"),
    ):
        found = RigidContacts(robot, [Contact("ball", radius=radius, surface=slope, friction=mu)]).forces(
            q, np.zeros(6)
        )
        assert found.mode == (mode,)
        assert np.allclose(found.acceleration[3:], a * down, atol=1e-9)


@given(
    tau=st.lists(st.floats(-30, 30), min_size=6, max_size=6),
    mu=st.floats(0.05, 1.2),
    shape=st.sampled_from(["cone", "pyramid"]),
)
@settings(max_examples=40)
def test_coulombs_conditions_hold(tau, mu, shape):
    robot = block()
    rigid = RigidContacts(robot, contacts_at(CORNERS, friction=mu), shape=shape)
    found = rigid.forces(LEVEL, np.zeros(6), np.round(tau, 6))
    state = rigid.look(LEVEL, np.zeros(6))
    rates = state.jacobian @ found.acceleration + state.bias
    size = 1.0 + np.abs(tau).max()
    f = found.local
    assert f[:, 0].min() >= 0.0
    assert rates[:, 0].min() >= -1e-6 * size
    assert np.abs(f[:, 0] * rates[:, 0]).max() <= 1e-5 * size**2
    sizes = np.linalg.norm(f[:, 1:], axis=1) if shape == "cone" else np.abs(f[:, 1:]).sum(axis=1)
    assert np.all(sizes <= mu * f[:, 0] + 1e-6 * size)
    assert np.all(np.einsum("ki,ki->k", f[:, 1:], rates[:, 1:]) <= 1e-5 * size**2)
    inside = sizes < mu * f[:, 0] - 1e-5 * size
    assert np.all(np.linalg.norm(rates[inside][:, 1:], axis=1) <= 1e-5 * size)
    # Newton's law with these forces
    joint = np.einsum("ki,kij->j", f, state.jacobian)
    assert np.allclose(
        robot.forward_dynamics(LEVEL, np.zeros(6), np.round(tau, 6) + joint), found.acceleration, atol=1e-7 * size
    )


# ------------------------------------------------------------------ many redundant contacts


def walker(pairs):
    """A trunk on legs with a hip, a thigh, a shank and a foot with four corners each, feet flat on the ground."""
    builder = kt.Builder(f"{2 * pairs} legs").body("trunk", "base", kt.Free(), mass=20.0, inertia=(0.5, 1.0, 1.2))
    spots = []
    for i in range(2 * pairs):
        side = 1 if i % 2 else -1
        place = (0.4 * (i // 2 - (pairs - 1) / 2), 0.2 * side, 0)
        builder.body(f"hip{i}", "trunk", kt.Revolute("x"), position=place, mass=1.0, inertia=(5e-3,) * 3)
        builder.body(f"thigh{i}", f"hip{i}", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.15), inertia=(0.01, 0.01, 2e-3))
        low = {"position": (0, 0, -0.3), "com": (0, 0, -0.1), "inertia": (5e-3, 5e-3, 1e-3)}
        builder.body(f"shank{i}", f"thigh{i}", kt.Revolute("y"), mass=0.5, **low)
        builder.body(f"foot{i}", f"shank{i}", kt.Revolute("y"), position=(0, 0, -0.3), mass=0.3, inertia=(1e-3,) * 3)
        spots += [Spot(f"foot{i}", (x, y, -0.04)) for x in (-0.04, 0.04) for y in (-0.03, 0.03)]
    robot = builder.build()
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0.6 * math.cos(0.5) + 0.04], np.tile([0, -0.5, 1.0, -0.5], 2 * pairs)])
    return robot, spots, q


def check_coulomb(rigid, q, v, tau, found, tolerance=1e-10):
    """The conditions one by one, and Newton's law; accelerations of spots to ``tolerance``, relatively."""
    state = rigid.look(q, v)
    free = state.jacobian @ rigid.mobility(q, v, tau).free + state.bias
    rates, f = state.jacobian @ found.acceleration + state.bias, found.local
    size, push = tolerance * max(1.0, np.abs(free).max()), max(np.abs(f).max(), 1.0)
    held, limit = np.linalg.norm(f[:, 1:], axis=1), rigid.mu * f[:, 0]
    assert f[:, 0].min() >= 0.0
    assert rates[:, 0].min() >= -size
    assert np.abs(f[:, 0] * rates[:, 0]).max() <= size * push
    assert np.all(held <= limit + 1e-12 * push)
    slip = np.linalg.norm(rates[:, 1:], axis=1)
    assert np.all(np.abs(np.einsum("ki,ki->k", f[:, 1:], rates[:, 1:]) + limit * slip) <= size * push)
    joint = tau + np.einsum("ki,kij->j", f, state.jacobian)
    moved = rigid.robot.forward_dynamics(q, v, joint)
    assert np.allclose(moved, found.acceleration, atol=1e-10 * max(1.0, np.abs(moved).max()))


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_walkers_with_four_corners_per_foot(pairs):
    """8, 16 and 24 redundant contacts: standing limp, pushed, stepping; feet stick, slide, tip and lift."""
    robot, spots, q = walker(pairs)
    rng, v, modes = np.random.default_rng(pairs), np.zeros(robot.nv), set()
    for mu in (0.4, 0.8):
        rigid = RigidContacts(robot, contacts_at(spots, friction=mu))
        for strength in (0.0, 0.3, 1.0, 1.0, 3.0):
            tau = strength * rng.normal(size=robot.nv) * np.r_[np.full(6, 20.0), np.full(robot.nv - 6, 8.0)]
            found = rigid.forces(q, v, tau)
            check_coulomb(rigid, q, v, tau, found)
            modes |= set(found.mode)
    assert {"sticking", "breaking"} <= modes


def test_standing_on_many_corners_is_shared_evenly():
    """Four feet under a symmetric trunk, held up by their joints: left and right alike, and little sideways force."""
    robot, spots, q = walker(2)
    rigid = RigidContacts(robot, contacts_at(spots, friction=0.7))
    state = rigid.look(q, np.zeros(robot.nv))
    weight = robot.gravity_force(q)
    share = np.linalg.lstsq(state.jacobian[:, 0, :6].T, weight[:6], rcond=None)[0]
    tau = weight - share @ state.jacobian[:, 0]
    tau[:6] = 0.0
    found = rigid.forces(q, np.zeros(robot.nv), tau)
    assert np.allclose(found.acceleration, 0.0, atol=1e-9)
    assert set(found.mode) == {"sticking"}
    assert np.allclose(found.force[:, 2], share, atol=1e-8)  # the shortest forces are all upright
    assert np.allclose(found.force[:, :2], 0.0, atol=1e-8)


def test_a_stack_of_blocks():
    """Each face carries what lies above it, evenly; pushed at the top with less than the limit nothing moves."""
    builder, contacts, n = kt.Builder("stack"), [], 4
    for i in range(n):
        builder.body(f"b{i}", "base", kt.Free(), mass=1.0, inertia=(0.01,) * 3)
        for x in (-0.1, 0.1):
            for y in (-0.1, 0.1):
                under = {"surface": Plane((0, 0, 0.1)), "on": f"b{i - 1}"} if i else {}
                contacts.append(Contact(f"b{i}", (x, y, -0.1), friction=0.5, **under))
    robot = builder.build()
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0.1 + 0.2 * i] for i in range(n)])
    rigid = RigidContacts(robot, contacts)
    found = rigid.forces(q, np.zeros(6 * n))
    assert np.allclose(found.acceleration, 0.0, atol=1e-10)
    assert np.allclose(found.local[:, 0], np.repeat([4, 3, 2, 1], 4) * 9.81 / 4, atol=1e-9)
    for push, still in ((1.0, True), (6.0, False)):  # tips at m g b / h = 4.9 N or slips at 4.9 N
        tau = np.zeros(6 * n)
        tau[-3] = push
        tau[-5] = -0.1 * push  # at the height of the face below
        found = rigid.forces(q, np.zeros(6 * n), tau)
        check_coulomb(rigid, q, np.zeros(6 * n), tau, found)
        assert (np.abs(found.acceleration).max() < 1e-9) == still
        if not still:
            assert found.acceleration[-3] == pytest.approx(6.0 - 0.5 * 9.81, abs=1e-9)


@pytest.mark.parametrize("spots", [4, 8, 16])
def test_block_tips_or_slides_whatever_the_number_of_spots(spots):
    """Pushed at height h above the ground: tips about an edge for F h > m g b, slides for F > mu m g."""
    robot, g, mass, b, low = block(), 9.81, 2.0, 0.5, 0.2
    rim = [(x, y, -low) for x in (-b, b) for y in (-0.3, 0.3)]
    rim += [(x, y, -low) for x in (-0.25, 0.0, 0.25) for y in (-0.3, 0.0, 0.3, 0.1)]
    contacts = contacts_at([Spot("block", p) for p in rim[:spots]], friction=0.6)
    for force, height in ((11.0, 0.2), (16.0, 0.2), (11.0, 1.0)):
        load = {"block": kt.Wrench(force=(force, 0, 0), point=(0, 0, height - low))}
        found = RigidContacts(robot, contacts).forces(LEVEL, np.zeros(6), wrenches=load)
        slides, tips = force > 0.6 * mass * g, force * height > mass * g * b
        assert (found.acceleration[3] > 1e-6) == (slides or tips)
        if slides:
            assert found.acceleration[3] == pytest.approx(force / mass - 0.6 * g, abs=1e-9)
        if tips:  # about the edge at +b: moment over inertia about it
            turn = (force * height - mass * g * b) / (0.2 + mass * (b**2 + low**2))
            assert found.acceleration[1] == pytest.approx(turn, abs=1e-9)
            assert found.acceleration[3] == pytest.approx(low * turn, abs=1e-9)
            assert [m == "sticking" for m in found.mode] == [p[0] == b for p in rim[:spots]]


def test_mujoco_sticks_and_tips_alike_and_lifts_what_slides():
    """MuJoCo (elliptic cones, stiff) agrees where nothing slides; its convex law lifts what slides by mu times slip.

    Coulomb's law does not: with the same push the block stays down and friction is mu times its weight.
    """
    mujoco = pytest.importorskip("mujoco")
    places = [(x, y) for x in (-0.5, 0.0, 0.5) for y in (-0.3, 0.0, 0.3) if x or y]
    rigid = RigidContacts(block(), contacts_at([Spot("block", (*p, -0.2)) for p in places], friction=0.4))
    balls = "".join(f'<geom type="sphere" size="0.02" pos="{x} {y} -0.18" mass="0"/>' for x, y in places)
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option cone="elliptic" impratio="1000" solver="Newton" iterations="200" tolerance="1e-14"/>
        <default><geom friction="0.4 0 0" condim="3" solref="0.01 1" solimp="0.9999 0.9999 0.001 0.5 2"/></default>
        <worldbody><geom type="plane" size="5 5 1"/><body><freejoint/>
        <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.25"/>{balls}</body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    answers = []
    for push, moment in (((3.0, 1.0, 0), (0, 0, 0)), ((0, 0, 0), (0, 20.0, 0)), ((12.0, 3.0, 0), (0, 0, 0))):
        data.qpos[:], data.qvel[:] = [0, 0, 0.2 - 1e-8, 1, 0, 0, 0], 0.0
        data.xfrc_applied[1] = [*push, *moment]
        mujoco.mj_forward(model, data)
        ours = rigid.forces(LEVEL, np.zeros(6), np.array([*moment, *push])).acceleration
        answers.append((np.concatenate([data.qacc[3:], data.qacc[:3]]), ours))
    for theirs, ours in answers[:2]:
        assert np.allclose(theirs, ours, atol=2e-3)
    theirs, ours = answers[2]
    assert theirs[5] == pytest.approx(0.4 * np.hypot(*theirs[3:5]), rel=1e-2)
    assert ours[5] == pytest.approx(0.0, abs=1e-9)
    assert np.hypot(*ours[3:5]) == pytest.approx(np.hypot(12, 3) / 2 - 0.4 * 9.81, abs=1e-9)


def test_spinning_start_is_that_of_equal_soft_contacts():
    """Where the share of the normal forces decides about the motion, the shares are those of equal springs.

    A block slides and turns on eight spots; friction pulls at the height of the ground, so the normal
    forces must be linear in x and y: equal springs under a stiff block.
    """
    spots = [(x, y, -0.2) for x in (-0.5, 0.0, 0.5) for y in (-0.3, 0.0, 0.3) if x or y]
    rigid = RigidContacts(block(), contacts_at([Spot("block", p) for p in spots], friction=0.4))
    found = rigid.forces(LEVEL, np.array([0, 0, 0.7, 0.5, 0.2, 0]))
    places = np.column_stack([np.ones(8), np.array(spots)[:, :2]])
    fitted, rest, *_ = np.linalg.lstsq(places, found.local[:, 0], rcond=None)
    assert rest[0] < 1e-14
    assert fitted[0] == pytest.approx(2 * 9.81 / 8, abs=0.01)
    assert set(found.mode) == {"sliding"}


def test_what_is_not_found_names_the_contacts_and_a_way_out(monkeypatch):
    from kinetree.contact import cones, problem

    monkeypatch.setattr(cones, "MOST_STEPS", 1)
    monkeypatch.setattr(cones, "MOST_RIGID", 0)
    monkeypatch.setattr(problem, "FALLBACK_SIDES", ())
    load = {"block": kt.Wrench(force=(30.0, 9.0, 0), point=(0.1, 0.2, 0))}
    rigid = RigidContacts(block(), contacts_at(CORNERS, friction=0.3))
    with pytest.raises(NoSolutionError, match=r"block\(-0\.5, -0\.3, -0\.2\).*not found.*try shape='pyramid'") as error:
        rigid.forces(LEVEL, np.zeros(6), wrenches=load)
    assert re.search(r"in [1-9]\d* steps .* by \d", str(error.value))  # what was done counts, though it led nowhere


def test_pyramids_help_where_soft_contacts_do_not_lead_to_the_cones(monkeypatch):
    from kinetree.contact.cones import _Problem

    load = {"block": kt.Wrench(force=(8.0, 9.0, 0), point=(0.1, 0.2, 0))}
    rigid = RigidContacts(block(), contacts_at(CORNERS[:3], friction=0.3))
    direct = rigid.forces(LEVEL, np.zeros(6), wrenches=load)
    monkeypatch.setattr(_Problem, "hardening", lambda self, patience: iter(()))
    other = rigid.forces(LEVEL, np.zeros(6), wrenches=load)
    assert np.allclose(other.acceleration, direct.acceleration, atol=1e-9)


# ------------------------------------------------------------------ loops, trees


def test_contact_on_a_loop_is_that_of_its_independent_coordinate():
    """A parallelogram leans on a wall: the wall carries what its one freedom asks for, loops and all."""
    builder = kt.Builder("parallelogram")
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    builder.body("rod0", "base", kt.Revolute("y"), **rod)
    builder.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    builder.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), actuated=False, **bar)
    builder.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    robot = builder.build()
    angle = -0.4
    q, v = np.array([angle, angle, -angle]), np.zeros(3)
    reach = float(robot.point_position(q, "coupler", (0.2, 0, 0))[0])
    away = math.copysign(1.0, reach)  # the wall is on the side it wants to fall back to: x = 0
    wall = Plane((reach, 0, 0), (away, 0, 0))
    held = RigidContacts(robot, [Contact("coupler", (0.2, 0, 0), surface=wall)]).forces(q, v)
    assert held.mode == ("closed",)
    assert np.allclose(held.acceleration, 0.0, atol=1e-9)
    # virtual work: N dx = dV for a turn of all rods; V = -(1/2 + 1/2 + 1) g cos
    assert held.local[0, 0] == pytest.approx(2 * 9.81 * abs(math.sin(angle)) / math.cos(angle), rel=1e-9)
    other = RigidContacts(robot, [Contact("coupler", (0.2, 0, 0), surface=Plane((reach, 0, 0), (-away, 0, 0)))]).forces(
        q, v
    )
    assert other.mode == ("breaking",)
    assert np.allclose(other.acceleration, robot.forward_dynamics(q, v, np.zeros(3)), atol=1e-9)


def test_arm_presses_on_a_table():
    """The contact force is what statics says: J^T f balances the joint forces."""
    builder = kt.Builder("arm")
    for i in range(3):
        builder.body(f"l{i}", "base" if i == 0 else f"l{i - 1}", kt.Revolute("y"), position=(0.4 if i else 0, 0, 0),
                     mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))  # fmt: skip
    robot = builder.frame("tip", "l2", (0.4, 0, 0)).build()
    q = np.array([0.3, 0.5, -0.2])
    table = Plane((0, 0, float(robot.pose(q, "tip")[2, 3])))
    rigid = RigidContacts(robot, [Contact("tip", surface=table, friction=0.9)])
    held = robot.gravity_force(q) + robot.point_jacobian(q, "tip").T @ np.array([2.0, 0.0, -10.0])
    found = rigid.forces(q, np.zeros(3), held)
    assert found.mode == ("sticking",)
    assert np.allclose(found.force[0], (-2.0, 0.0, 10.0), atol=1e-9)
    assert np.allclose(found.acceleration, 0.0, atol=1e-9)


def test_painleve_has_no_solution():
    """A rod that slides on its lower end so steeply and roughly that no force keeps it from entering (Painleve).

    With n . M^-1 (n - mu t) < 0 and the end accelerating inwards the conditions contradict one another.
    """
    length, mass, angle, mu = 2.0, 1.0, 0.9, 3.0
    robot = (
        kt.Builder("rod")
        .body("rod", "base", kt.Planar("y"), mass=mass, inertia=(0.0, mass * length**2 / 12, mass * length**2 / 12))
        .build()
    )
    q = np.array([angle, 0.0, 0.0])  # the end at +x is below the middle
    up = 1 if abs(robot.pose([0, 1, 0], "rod")[2, 3]) > 0.5 else 2
    q[up] = 0.5 * length * math.sin(angle)
    results = []
    for speed in (5.0, -5.0):
        v = np.zeros(3)
        v[3 - up] = speed
        rigid = RigidContacts(robot, [Contact("rod", (length / 2, 0, 0), friction=mu)])
        state, answer = rigid.look(q, v), rigid.mobility(q, v)
        assert state.gap[0] == pytest.approx(0.0, abs=1e-12)
        along = state.velocity[0, 1:] / np.linalg.norm(state.velocity[0, 1:])
        press = state.jacobian[0, 0] - mu * along @ state.jacobian[0, 1:]
        results.append(state.jacobian[0, 0] @ answer.inverse @ press)
        if results[-1] < 0.0:
            with pytest.raises(NoSolutionError, match=r"rod\(1, 0, 0\)"):
                rigid.forces(q, v)
        else:
            assert rigid.forces(q, v).local[0, 0] > 0.0
    assert min(results) < 0.0 < max(results)


def test_approaching_contacts_need_an_impact_first():
    rigid = RigidContacts(block(), contacts_at(CORNERS))
    with pytest.raises(kt.StateError, match="approaching at 1 m/s"):
        rigid.forces(LEVEL, np.array([0, 0, 0, 0, 0, -1.0]))
    leaving = rigid.forces(LEVEL, np.array([0, 0, 0, 0, 0, 1.0]))
    assert set(leaving.mode) == {"open"}
    assert leaving.acceleration[5] == pytest.approx(-9.81)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_states_that_are_not_finite_are_not_taken_for_open_contacts(backend):
    rigid = RigidContacts(block().with_backend(backend), contacts_at(CORNERS, friction=0.4))
    for number in (np.nan, np.inf):
        with pytest.raises(kt.StateError, match=r"block\(-0\.5, -0\.3, -0\.2\).*finite"):
            rigid.forces(np.append(LEVEL[:6], number), np.zeros(6))
        with pytest.raises(kt.StateError, match="finite"):
            rigid.forces(LEVEL, np.append(np.zeros(5), number))
        with pytest.raises(kt.StateError, match="tau"):
            rigid.forces(LEVEL, np.zeros(6), np.append(np.zeros(5), number))


def test_bad_input_is_named():
    robot = block()
    with pytest.raises(kt.OptionError, match="at least one"):
        RigidContacts(robot, [])
    with pytest.raises(kt.UnknownNameError, match="block"):
        RigidContacts(robot, [Contact("blok")])
    with pytest.raises(kt.ModelError, match="do not move relative"):
        RigidContacts(robot, [Contact("base")])
    with pytest.raises(kt.ModelError, match="restitution"):
        Contact("block", restitution=1.2)
    with pytest.raises(kt.ModelError, match="friction"):
        Contact("block", friction=-0.1)
    with pytest.raises(kt.ModelError, match="uneven"):
        Contact("block", radius=0.1, surface=HeightField(lambda x, y: 0.1 * x))
    with pytest.raises(kt.UnknownNameError, match="cone"):
        RigidContacts(robot, [Contact("block")], shape="round")
    with pytest.raises(kt.OptionError, match="even"):
        RigidContacts(robot, [Contact("block")], sides=5)
    with pytest.raises(kt.OptionError, match="even"):
        RigidContacts(robot, [Contact("block")], sides=4.0)
    with pytest.raises(kt.UnknownNameError, match="lemke"):
        RigidContacts(robot, [Contact("block", friction=0.5)], method="simplex")
    for option in ("gap_tolerance", "speed_tolerance"):
        for size in (-1e-6, math.nan):  # with these every contact would silently be open
            with pytest.raises(kt.OptionError, match=option):
                RigidContacts(robot, [Contact("block")], **{option: size})
    with pytest.raises(kt.ShapeError, match="one state"):
        RigidContacts(robot, [Contact("block")]).look(np.tile(LEVEL, (2, 1)), np.zeros((2, 6)))
    bad = RigidContacts(robot, [Contact("block")], constraints=lambda q, v: (np.zeros((1, 3)), np.zeros(1)))
    with pytest.raises(kt.ShapeError, match=r"\(m, 6\)"):
        bad.forces(LEVEL, np.zeros(6))


@pytest.mark.parametrize("given", ["x", None, (0, 0, 1), 1j, float("nan"), float("inf")])
def test_radii_and_coefficients_that_are_no_numbers_are_refused(given):
    for make in (
        lambda: kt.ground.Ball(given),
        lambda: kt.contact.Contact("b", radius=given),
        lambda: kt.contact.Contact("b", friction=given),
        lambda: kt.contact.Contact("b", restitution=given),
    ):
        with pytest.raises(kt.ModelError, match="must be a finite number"):
            make()
