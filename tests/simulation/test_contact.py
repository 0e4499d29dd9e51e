"""Rigid contact forces: closed forms, the notes' block, a convex program, other friction shapes, loops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree.simulation.complementarity import NoSolutionError
from kinetree.simulation.contact import Contact, RigidContacts, contacts_at
from kinetree.simulation.surfaces import Ball, Grid, HeightField, Plane, Spot

CORNERS = [Spot("block", (x, y, -0.2)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
LEVEL = np.array([0, 0, 0, 1, 0, 0, 0.2])


def block():
    """The block of the notes, G2."""
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
    """Of all accelerations that the contacts allow, those of least constraint; found by a general optimiser."""
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


def test_bad_input_is_named():
    robot = block()
    with pytest.raises(kt.OptionError, match="at least one"):
        RigidContacts(robot, [])
    with pytest.raises(kt.UnknownNameError, match="block"):
        RigidContacts(robot, [Contact("blok")])
    with pytest.raises(kt.ModelError, match="never move"):
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
    with pytest.raises(kt.ShapeError, match="one state"):
        RigidContacts(robot, [Contact("block")]).look(np.tile(LEVEL, (2, 1)), np.zeros((2, 6)))
    bad = RigidContacts(robot, [Contact("block")], constraints=lambda q, v: (np.zeros((1, 3)), np.zeros(1)))
    with pytest.raises(kt.ShapeError, match=r"\(m, 6\)"):
        bad.forces(LEVEL, np.zeros(6))
