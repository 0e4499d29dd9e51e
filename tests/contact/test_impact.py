"""Impact: closed forms, energy that never grows, loops and contacts that transmit blows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.contact.impact import impact
from kinetree.contact.rigid_contacts import Contact, RigidContacts
from kinetree.contact.surfaces import Ball, Plane


def cradle(n=5, masses=None):
    builder = kt.Builder("cradle", gravity=(0, 0, 0))
    for i in range(n):
        builder.body(f"b{i}", "base", kt.Prismatic("x"), mass=1.0 if masses is None else float(masses[i]))
    robot = builder.build()
    pairs = [Contact(f"b{i + 1}", radius=0.05, surface=Ball(0.05), on=f"b{i}") for i in range(n - 1)]
    return RigidContacts(robot, pairs), 0.1 * np.arange(n)


def block(mu, e, shape="cone"):
    robot = kt.Builder("block").body("block", "base", kt.Free(), mass=2.0, inertia=(0.1, 0.2, 0.25)).build()
    corners = [(x, y, -0.2) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    contacts = [Contact("block", p, friction=m, restitution=r) for p, m, r in zip(corners, mu, e, strict=True)]
    return RigidContacts(robot, contacts, shape=shape), np.array([0, 0, 0, 1, 0, 0, 0.2])


def test_head_on():
    """Featherstone eq. 9.67-9.69, notes G3: 2 kg and 3 kg at 4 m/s with e = 1/2 exchange 7.2 N s."""
    rigid, q = cradle(2, (2.0, 3.0))
    blow = impact(rigid, q, [4.0, 0.0], restitution=0.5)
    assert np.linalg.norm(blow.impulse[0]) == pytest.approx(7.2)
    assert np.allclose(blow.velocity, [4.0 - 3.6, 2.4])
    assert blow.velocity[1] - blow.velocity[0] == pytest.approx(0.5 * 4.0)


def test_newtons_cradle():
    """As many balls leave as came, when the blows follow one another."""
    rigid, q = cradle(5)
    for coming in (1, 2, 3):
        v = np.zeros(5)
        v[:coming] = 1.3
        after = impact(rigid, q, v, restitution=1.0, rule="sequential")
        assert np.allclose(after.velocity, v[::-1], atol=1e-12)
        assert after.energy_lost == pytest.approx(0.0, abs=1e-12)


def test_simultaneous_cradle_is_002s():
    """All compress together: a common speed v/n, then the same impulses again (Featherstone section 9.9.2)."""
    rigid, q = cradle(5)
    v = np.array([1.0, 0, 0, 0, 0])
    assert np.allclose(impact(rigid, q, v, restitution=0.0).velocity, 0.2)
    elastic = impact(rigid, q, v, restitution=1.0)
    assert np.allclose(elastic.velocity, [-0.6, 0.4, 0.4, 0.4, 0.4])
    assert elastic.energy_lost == pytest.approx(0.0, abs=1e-12)


def test_momentum_is_kept():
    rigid, q = cradle(4, (1.0, 2.0, 0.5, 3.0))
    masses, v = np.array([1.0, 2.0, 0.5, 3.0]), np.array([2.0, 1.0, 0.5, -1.0])
    for rule in ("simultaneous", "sequential"):
        after = impact(rigid, q, v, restitution=[0.2, 0.9, 0.5], rule=rule).velocity
        assert masses @ after == pytest.approx(masses @ v)
        assert np.all(np.diff(after) > -1e-12)  # nobody approaches any more


@given(
    v=st.lists(st.floats(-3, 3), min_size=6, max_size=6),
    mu=st.lists(st.floats(0, 1.5), min_size=4, max_size=4),
    e=st.lists(st.floats(0, 1), min_size=4, max_size=4),
    rule=st.sampled_from(["simultaneous", "sequential"]),
    shape=st.sampled_from(["cone", "pyramid"]),
    rough=st.booleans(),
)
@settings(max_examples=60)
def test_energy_never_grows_and_nothing_goes_on_entering(v, mu, e, rule, shape, rough):
    rigid, q = block(mu if rough else [0.0] * 4, e, shape)
    blow = impact(rigid, q, np.round(v, 6), rule=rule)
    size = 1.0 + float(np.dot(v, v))
    assert blow.energy_lost >= -1e-9 * size
    assert rigid.look(q, blow.velocity).velocity[:, 0].min() >= -1e-6 * size
    assert blow.local[:, 0].min() >= 0.0
    if shape == "cone" and rule == "simultaneous":
        assert np.all(np.linalg.norm(blow.local[:, 1:], axis=1) <= rigid.mu * blow.local[:, 0] + 1e-7 * size)
    if not rough:
        assert blow.restitution_scale == 1.0  # the proof needs no help


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25)
def test_equal_restitutions_are_newtons_where_all_approach(seed):
    """Featherstone section 9.9.2: then no extra impulses, and contacts leave with e times their approach."""
    rng = np.random.default_rng(seed)
    robot = kt.Builder("block").body("block", "base", kt.Free(), mass=2.0, inertia=(0.1, 0.2, 0.25)).build()
    rigid = RigidContacts(robot, [Contact("block", p) for p in ((-0.5, 0, -0.2), (0.5, 0.3, -0.2), (0.4, -0.3, -0.2))])
    q = np.array([0, 0, 0, 1, 0, 0, 0.2])
    v = rng.normal(size=6) * [0.3, 0.3, 1, 1, 1, 0.2] - [0, 0, 0, 0, 0, 3.0]
    before = rigid.look(q, v).velocity[:, 0]
    blow = impact(rigid, q, v, restitution=0.6)
    after = rigid.look(q, blow.velocity).velocity[:, 0]
    struck = blow.local[:, 0] > 1e-12
    if np.all(before < 0) and np.all(struck):
        assert np.allclose(after, -0.6 * before, atol=1e-9)


def test_sticking_blow_on_an_edge_has_its_closed_form():
    """A rod that strikes the ground with one end, which neither slides nor rebounds: it turns about that end.

    Angular momentum about the point of impact is kept.
    """
    length, mass = 1.2, 3.0
    builder = kt.Builder("rod")
    builder.body("rod", "base", kt.Planar("y"), mass=mass, inertia=(0.0, mass * length**2 / 12, mass * length**2 / 12))
    robot = builder.build()
    rigid = RigidContacts(robot, [Contact("rod", (-length / 2, 0, 0), friction=50.0)])
    angle = -0.6  # turned about y: the left end is lower for negative angles
    pose = robot.pose([angle, 0, 0], "rod")
    low = pose[:3, :3] @ [-length / 2, 0, 0]
    z_axis = robot.pose([0, 1, 0], "rod")[:3, 3]
    q = np.array([angle, 0.0, 0.0])
    q[1 if z_axis[2] else 2] = -low[2]
    v = np.zeros(3)
    v[1 if z_axis[2] else 2] = -2.0
    omega = 0.3
    v[0] = omega
    blow = impact(rigid, q, v)
    com = robot.center_of_mass(q) - robot.point_position(q, "rod", (-length / 2, 0, 0))
    velocity = robot.center_of_mass_velocity(q, v)
    about = mass * np.cross(com, velocity)[1] + mass * length**2 / 12 * omega
    assert blow.velocity[0] == pytest.approx(about / (mass * length**2 / 3), rel=1e-9)
    assert np.allclose(robot.point_velocity(q, blow.velocity, "rod", (-length / 2, 0, 0)), 0.0, atol=1e-9)


def four_bar():
    """A parallelogram that stands on its base, with a foot under the coupler."""
    builder = kt.Builder("parallelogram")
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    builder.body("rod0", "base", kt.Revolute("y"), **rod)
    builder.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    builder.body(
        "coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1),
        actuated=False,
    )  # fmt: skip
    builder.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    return builder.build()


def test_blow_on_a_loop_is_that_of_its_independent_coordinate():
    """With one freedom s the loop is a body of inertia G^T M G: its velocity after is -e times the one before."""
    robot = four_bar()
    q = np.array([0.4, 0.4, -0.4])
    wall = Plane((float(robot.point_position(q, "coupler", (0.2, 0, 0))[0]), 0, 0), (1.0, 0.0, 0.0))
    rigid = RigidContacts(robot, [Contact("coupler", (0.2, 0, 0), surface=wall, restitution=0.7)])
    v = np.array([1.5, 1.5, -1.5])  # moves towards smaller x
    approach = rigid.look(q, v).velocity[0, 0]
    assert approach < 0.0
    blow = impact(rigid, q, v)
    assert np.allclose(blow.velocity, -0.7 * v, atol=1e-10)
    assert np.allclose(robot.loop_jacobian(q) @ blow.velocity, 0.0, atol=1e-10)
    assert blow.energy_lost == pytest.approx((1 - 0.49) * robot.tree.kinetic_energy(q, v))
    g = robot.basis(q)[:, 0] * (1.5 / robot.basis(q)[0, 0])
    inertia = g @ robot.tree.mass_matrix(q) @ g
    assert blow.local[0, 0] == pytest.approx(1.7 * inertia / abs(approach))
    # the same through constraints that the user gives for the opened tree
    rows = robot.loop_jacobian(q)
    own = RigidContacts(robot.tree, rigid.contacts, constraints=lambda q, v: (rows, np.zeros(len(rows))))
    assert np.allclose(impact(own, q, v).velocity, blow.velocity, atol=1e-10)


def test_existing_contacts_transmit_the_blow():
    """A ball at rest on the ground is struck from above by another one: together they stop."""
    builder = kt.Builder("stack")
    for i in range(2):
        builder.body(f"b{i}", "base", kt.Prismatic("z"), mass=1.0 + i)
    robot = builder.build()
    contacts = [Contact("b0", radius=0.1), Contact("b1", radius=0.1, surface=Ball(0.1), on="b0")]
    rigid, q = RigidContacts(robot, contacts), np.array([0.1, 0.3])
    blow = impact(rigid, q, [0.0, -3.0], restitution=0.0)
    assert np.allclose(blow.velocity, 0.0, atol=1e-12)
    assert np.allclose(blow.local[:, 0], [6.0, 6.0])
    rebound = impact(rigid, q, [0.0, -3.0], restitution=1.0)
    assert rebound.velocity[0] >= -1e-12
    assert rebound.energy_lost == pytest.approx(0.0, abs=1e-12)


def test_leaving_contacts_are_left_alone():
    rigid, q = cradle(2)
    blow = impact(rigid, q, [0.0, 1.0], restitution=1.0)
    assert np.array_equal(blow.velocity, [0.0, 1.0])
    assert blow.energy_lost == 0.0


def test_a_blow_from_nowhere_is_refused():
    """A gap that is NaN is not open: the velocity must not come out as if nothing had been struck."""
    rigid, q = cradle(2)
    with pytest.raises(kt.StateError, match="finite"):
        impact(rigid, [q[0], np.nan], [1.0, 0.0])
    with pytest.raises(kt.StateError, match="finite"):
        impact(rigid, q, [np.nan, 0.0])


def test_bad_input_is_named():
    rigid, q = cradle(3)
    with pytest.raises(kt.OptionError, match="from 0 to 1"):
        impact(rigid, q, [1.0, 0, 0], restitution=1.5)
    with pytest.raises(kt.ShapeError, match="one per contact"):
        impact(rigid, q, [1.0, 0, 0], restitution=[1.0, 1.0, 1.0])
    with pytest.raises(kt.UnknownNameError, match="sequential"):
        impact(rigid, q, [1.0, 0, 0], rule="sequentially")
