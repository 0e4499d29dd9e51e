"""Rigid contact from event to event: every case against its closed form."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.robots import balls
from kinetree import control as laws
from kinetree.contact.rigid_contacts import Contact, RigidContacts, contacts_at
from kinetree.contact.surfaces import Ball, Plane, Spot, box
from kinetree.motion import trajectories
from kinetree.simulation.rigid_run import simulate_rigid

G = 9.81
CORNERS = [Spot("block", (x, y, -0.2)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]


def named(record, word):
    return [e for e in record.events if e.name.startswith(word)]


def falling_ball():
    return kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=0.7).build()


def block(**said):
    robot = kt.Builder("block").body("block", "base", kt.Free(), mass=2.0, inertia=(0.1, 0.2, 0.25), **said).build()
    return robot.with_backend("compiled")


def on_slope(angle):
    turn = Rotation.from_euler("y", angle)
    return np.concatenate([turn.as_quat(), turn.apply([0, 0, 0.2])])


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_bouncing_ball(e):
    """Blows at t0 (1 + 2 e + 2 e^2 + ...), rest at t0 (1 + e) / (1 - e)."""
    first, rest_speed = math.sqrt(2 / G), 1e-4
    record = simulate_rigid(falling_ball(), [Contact("ball", restitution=e)], [1.0], time=6.0, rest_speed=rest_speed)
    times = np.array([x.time for x in named(record, "impact")])
    n = len(times)
    expected = first * np.array([1 + 2 * sum(e**k for k in range(1, i + 1)) for i in range(n)])
    assert n >= math.log(rest_speed / (G * first)) / math.log(e) - 1
    assert np.allclose(times, expected, rtol=0, atol=1e-12)
    assert named(record, "closed")[0].time == pytest.approx(first * (1 + e) / (1 - e), abs=1e-4)
    assert record.q[-1, 0] == pytest.approx(0.0, abs=1e-12)
    assert record.contact_forces[-1, 0, 2] == pytest.approx(0.7 * G)
    assert record.energy.relative_error < 1e-10
    assert record.status == "complete"


def test_elastic_ball_bounces_for_ever_without_loss():
    record = simulate_rigid(falling_ball(), [Contact("ball", restitution=1.0)], [0.2], time=5.0, samples=101)
    assert np.allclose(record.energy.mechanical, record.energy.mechanical[0], atol=1e-11)
    assert record.q.min() >= -1e-12
    period = 2 * math.sqrt(0.4 / G)
    assert len(named(record, "impact")) == int((5.0 - period / 2) / period) + 1


def test_newtons_cradle_of_pendulums():
    """The first ball comes to rest where the last one leaves, half a swing later the other way round."""
    builder, n, r = kt.Builder("cradle"), 4, 0.05
    for i in range(n):
        builder.body(f"b{i}", "base", kt.Revolute("y"), position=(2 * r * i, 0, 0), mass=0.2, com=(0, 0, -1.0))
    robot = builder.build()
    pairs = [
        Contact(f"b{i + 1}", (0, 0, -1.0), r, surface=Ball(r, (0, 0, -1.0)), on=f"b{i}", restitution=1.0)
        for i in range(n - 1)
    ]
    start = 0.3  # the first ball hangs to the side, away from the others
    record = simulate_rigid(robot, pairs, [start, 0, 0, 0], time=2.5, rule="sequential", samples=251)
    k = math.sin(start / 2)
    quarter = quad(lambda x: 1 / math.sqrt(1 - (k * math.sin(x)) ** 2), 0, math.pi / 2)[0] / math.sqrt(G)
    blows = sorted({round(e.time, 9) for e in named(record, "impact")})
    assert blows[0] == pytest.approx(quarter, abs=1e-8)
    assert blows[1] == pytest.approx(3 * quarter, abs=1e-6)
    between = (record.time > quarter + 0.01) & (record.time < 3 * quarter - 0.01)
    assert np.abs(record.q[between][:, :-1]).max() < 1e-5
    assert np.abs(record.q[between][:, -1]).max() == pytest.approx(start, abs=1e-3)
    assert record.energy.relative_error < 1e-7


def test_block_slides_down_stops_and_stays():
    """Thrown down a slope that holds it: stops after v / (g (mu cos - sin)), having gone half of v times that."""
    angle, mu, speed = 0.35, 0.5, 2.0
    contacts = contacts_at(CORNERS, surface=Plane.inclined(angle), friction=mu)
    record = simulate_rigid(block(), contacts, on_slope(angle), [0, 0, 0, speed, 0, 0], time=2.5, samples=26)
    stop = speed / (G * (mu * math.cos(angle) - math.sin(angle)))
    assert len(named(record, "sticking")) == 4
    assert np.allclose([e.time for e in named(record, "sticking")], stop, atol=1e-8)
    assert np.linalg.norm(record.q[-1, 4:] - record.q[0, 4:]) == pytest.approx(0.5 * speed * stop, abs=1e-9)
    assert np.abs(record.v[-1]).max() < 1e-12
    total = record.contact_forces.sum(axis=1)
    assert np.allclose(total[-1], (0, 0, 2 * G), atol=1e-8)
    assert np.all(record.contact_forces @ np.array(contacts[0].surface.normal) >= -1e-9)
    assert record.energy.relative_error < 1e-10


def test_block_thrown_up_comes_back():
    """Up with sin + mu cos, down with sin - mu cos."""
    angle, mu, speed, end = 0.35, 0.2, 2.0, 1.5
    contacts = contacts_at(CORNERS, surface=Plane.inclined(angle), friction=mu)
    record = simulate_rigid(block(), contacts, on_slope(angle), [0, 0, 0, -speed, 0, 0], time=end)
    turn = speed / (G * (math.sin(angle) + mu * math.cos(angle)))
    down = np.array([math.cos(angle), 0, -math.sin(angle)])
    way = -0.5 * speed * turn + 0.5 * G * (math.sin(angle) - mu * math.cos(angle)) * (end - turn) ** 2
    assert (record.q[-1, 4:] - record.q[0, 4:]) @ down == pytest.approx(way, abs=1e-9)


@pytest.mark.parametrize(("less", "moves"), [(-1e-6, False), (1e-2, True)])
def test_edge_of_sliding(less, moves):
    angle = 0.4
    mu = math.tan(angle) * (1 - less)
    contacts = contacts_at(CORNERS, surface=Plane.inclined(angle), friction=mu)
    record = simulate_rigid(block(), contacts, on_slope(angle), time=1.0, samples=11)
    way = np.linalg.norm(record.q[-1, 4:] - record.q[0, 4:])
    assert way == pytest.approx(0.5 * G * (math.sin(angle) - mu * math.cos(angle)) if moves else 0.0, abs=1e-9)


@pytest.mark.parametrize("less", [2e-9, 1e-8, 3e-8])
def test_a_hair_beyond_the_edge_of_sliding_goes_on(less):
    """Slips too slow for the integrator to follow do not begin and end for ever."""
    mu = math.tan(0.3) * (1 - less)
    contacts = contacts_at(CORNERS, friction=mu, surface=Plane.inclined(0.3))
    record = simulate_rigid(block(), contacts, on_slope(0.3), time=0.05, samples=3)
    assert record.status == "complete"
    assert len(record.events) == 4
    assert np.max(np.abs(record.v)) < 2e-8  # closed form: 0.05 g sin(0.3) less
    assert np.all(np.linalg.norm(record.contact_forces, axis=2) > 0.0)


def test_a_push_that_grows_makes_it_slip_when_it_must():
    """Force 4 t on 2 kg with mu = 0.3: slips at mu m g / 4, after that x'' = (4 t - mu m g) / m."""
    mu, mass = 0.3, 2.0

    def push(t, q, v):
        # at the height of the ground: a moment keeps it from tipping
        return np.array([0, -0.2 * 4.0 * t, 0, 4.0 * t, 0, 0])

    q = np.array([0, 0, 0, 1, 0, 0, 0.2])
    robot = block(actuated=True)
    record = simulate_rigid(robot, contacts_at(CORNERS, friction=mu), q, time=3.0, controller=push, samples=31)
    slip = mu * mass * G / 4
    assert named(record, "sticking")[0].time == 0.0
    assert named(record, "sliding")[0].time == pytest.approx(slip, abs=1e-7)
    s = np.maximum(record.time - slip, 0.0)
    assert np.allclose(record.q[:, 4], 4 * s**3 / (6 * mass), atol=1e-7)
    assert record.energy.relative_error < 1e-8


def rocking(width, height, mu=3.0):
    mass = 1.5
    inertia = mass * (width**2 + height**2) / 12
    robot = (
        kt.Builder("rocker").body("block", "base", kt.Planar("y"), mass=mass, inertia=(inertia, inertia, 0.0)).build()
    )
    contacts = [
        Contact("block", (s * width / 2, 0, -height / 2), friction=mu, name=n) for s, n in ((-1, "left"), (1, "right"))
    ]
    up = 1 if abs(robot.pose([0, 1, 0], "block")[2, 3]) > 0.5 else 2

    def tilted(angle):
        """On its right corner, which stays at x = width / 2."""
        turn = Rotation.from_euler("y", angle).as_matrix()
        middle = np.array([width / 2, 0, 0]) - turn @ [width / 2, 0, -height / 2]
        q = np.array([angle, 0.0, 0.0])
        q[up], q[3 - up] = middle[2], middle[0]
        return q

    return robot, contacts, tilted


def test_rocking_block():
    """Housner: the time to fall back by an integral; at every blow the speed falls by 1 - 3/2 sin^2 alpha."""
    width, height = 0.2, 1.0
    robot, contacts, tilted = rocking(width, height)
    alpha, radius = math.atan2(width, height), 0.5 * math.hypot(width, height)
    start = 0.4 * alpha
    record = simulate_rigid(robot, contacts, tilted(start), time=2.5)
    blows = named(record, "impact")
    p2 = 3 * G / (4 * radius)

    def slowness(s):  # with angle = start - s^2, which takes the root's singularity away
        rate2 = 2 * p2 * (math.cos(alpha - start) - math.cos(alpha - start + s * s))
        return 2 * s / math.sqrt(rate2)

    fall = quad(slowness, 0, math.sqrt(start))[0]
    assert blows[0].time == pytest.approx(fall, abs=1e-7)
    speeds = np.abs([e.v[0] for e in blows])
    # between blows the energy is kept, so the next blow comes at the speed this one left
    assert np.allclose(speeds[1:] / speeds[:-1], 1 - 1.5 * math.sin(alpha) ** 2, atol=1e-7)
    assert len(speeds) >= 5
    assert [e.name for e in blows[:4]] == ["impact left", "impact right", "impact left", "impact right"]
    # the time between blows from the same integral, with the amplitude each blow leaves
    first = speeds[1]
    top = alpha - math.acos(math.cos(alpha) + first**2 / (2 * p2))
    there = quad(
        lambda s: 2 * s / math.sqrt(2 * p2 * (math.cos(alpha - top) - math.cos(alpha - top + s * s))), 0, math.sqrt(top)
    )[0]
    assert blows[1].time - blows[0].time == pytest.approx(2 * there, abs=1e-6)
    assert record.energy.relative_error < 1e-7


def test_bead_leaves_the_ball_where_cosine_is_two_thirds():
    robot = kt.Builder("bead").body("bead", "base", kt.Translation(), mass=0.5).build()
    tilt = 0.01
    q = [math.sin(tilt), 0.0, math.cos(tilt)]
    record = simulate_rigid(robot, [Contact("bead", surface=Ball(1.0))], q, time=3.0)
    leaves = named(record, "open")[0]
    # from rest at the tilt: cos = 2/3 cos(tilt)
    assert leaves.q[2] / np.linalg.norm(leaves.q) == pytest.approx(2 / 3 * math.cos(tilt), abs=1e-7)
    assert record.energy.relative_error < 1e-8


def test_a_loop_lands_on_a_wall():
    """A parallelogram swings as a pendulum and rebounds off a wall; loops stay closed."""
    builder = kt.Builder("parallelogram")
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    builder.body("rod0", "base", kt.Revolute("y"), **rod)
    builder.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    builder.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), actuated=False, **bar)
    builder.loop("pin", "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    robot = builder.build()
    foot = Contact("coupler", (0, 0, 0), surface=Plane((0, 0, 0), (-1, 0, 0)), restitution=0.5)
    q = np.array([0.5, 0.5, -0.5])
    assert robot.point_position(q, "coupler", (0, 0, 0))[0] < 0.0
    record = simulate_rigid(robot, [foot], q, time=1.6, samples=25)
    blows = named(record, "impact")
    # M s'' = -V'(s): inertia 2 (0.1 + 1/4) + 1 (the coupler moves without turning), V = -2 g cos s
    inertia = 2 * (0.1 + 0.25) + 1.0
    quarter = quad(
        lambda x: 2 * x / math.sqrt(4 * G / inertia * (math.cos(0.5 - x * x) - math.cos(0.5))), 0, math.sqrt(0.5)
    )[0]
    assert blows[0].time == pytest.approx(quarter, abs=1e-7)
    speed = math.sqrt(4 * G / inertia * (1 - math.cos(0.5)))
    assert abs(blows[0].v[0]) == pytest.approx(speed, abs=1e-7)
    assert abs(blows[1].v[0]) == pytest.approx(0.5 * speed, abs=1e-7)
    assert np.max(robot.closure_error(record.q)) < 1e-8
    assert record.energy.relative_error < 1e-7


def test_machine_code_gives_the_same_run():
    contacts = contacts_at(CORNERS, friction=0.4, restitution=0.3)
    q = np.array([0.1, 0, 0, math.sqrt(1 - 0.01), 0, 0, 0.5])
    v = [0.5, 0.2, 0.0, 1.0, 0.0, 0.0]
    runs = [
        simulate_rigid(block().with_backend(b), contacts, q, v, time=0.3, samples=7) for b in ("reference", "compiled")
    ]
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-6)
    assert runs[0].energy.relative_error < 1e-6
    assert np.all(np.diff(runs[0].energy.ground) < 1e-9)  # contacts only take
    gaps = [RigidContacts(block(), contacts).look(q, v).gap.min() for q, v in zip(runs[0].q, runs[0].v, strict=True)]
    assert min(gaps) > -1e-8


def test_a_tumbling_block_keeps_the_balance_of_energy_and_stays_out():
    """Eight corners, friction, blows on edges and faces: a run with all kinds of events."""
    robot = block()
    contacts = contacts_at(box("block", (1.0, 0.6, 0.4)), friction=0.8, restitution=0.3)
    turn = Rotation.from_euler("xyz", (0.4, 0.7, -0.2)).as_quat()
    q, v = np.concatenate([turn, (0, 0, 0.9)]), np.array([1.0, -0.5, 0.3, 0.5, 0.0, 0.0])
    record = simulate_rigid(robot, contacts, q, v, time=1.0, samples=21, rtol=1e-7, atol=1e-9)
    kinds = {e.name.partition(" ")[0] for e in record.events}
    assert {"impact", "sliding", "open"} <= kinds
    assert record.energy.relative_error < 1e-5
    assert np.all(np.diff(record.energy.ground) < 1e-7)
    rigid = RigidContacts(robot, contacts)
    assert min(rigid.look(a, b).gap.min() for a, b in zip(record.q, record.v, strict=True)) > -1e-5
    assert record.contact_forces[..., 2].min() > -1e-7


def test_a_biped_lifts_its_heels_and_stands_on_its_toes():
    """Four corners per foot under a trunk that falls forward: the heels lift at once, the toes stay (it used to hang).

    Between the events redundant corners share the forces, always within their cones.
    """
    builder = kt.Builder("biped").body("trunk", "base", kt.Free(), mass=20.0, com=(0.02, 0, 0), inertia=(0.5, 1.0, 1.2))
    spots = []
    for i, side in enumerate((-1, 1)):
        leg = {"position": (0, 0.15 * side, 0), "com": (0, 0, -0.2), "inertia": (0.02, 0.02, 5e-3)}
        builder.body(f"leg{i}", "trunk", kt.Revolute("y"), mass=2.0, **leg)
        builder.body(f"foot{i}", f"leg{i}", kt.Revolute("y"), position=(0, 0, -0.5), mass=0.5, inertia=(2e-3,) * 3)
        spots += [Spot(f"foot{i}", (x, y, -0.05)) for x in (-0.05, 0.05) for y in (-0.04, 0.04)]
    robot = builder.build().with_backend("compiled")
    q = np.zeros(robot.nq)
    q[3], q[6] = 1.0, 0.55

    def stiff(t, q, v):
        return np.concatenate([np.zeros(6), -400.0 * q[7:] - 20.0 * v[6:] - [0, 300.0 * t, 0, 300.0 * t]])

    contacts = contacts_at(spots, friction=0.7)
    record = simulate_rigid(robot, contacts, q, time=0.1, controller=stiff, samples=21, rtol=1e-7, atol=1e-9)
    lifted = named(record, "open")
    assert {e.index for e in lifted} in ({0, 1, 4, 5}, {2, 3, 6, 7})
    assert np.ptp([e.time for e in lifted]) < 1e-9  # both feet alike
    assert record.energy.relative_error < 1e-7
    f = record.contact_forces
    assert f[..., 2].min() >= -1e-9
    assert np.all(np.linalg.norm(f[..., :2], axis=-1) <= 0.7 * f[..., 2] + 1e-6)
    assert np.allclose(f[:, :4, 2], f[:, [5, 4, 7, 6], 2], atol=1e-5)  # left and right


def test_a_jam_stops_with_its_time_and_contact():
    """Painleve's rod: as it turns while it slides, friction comes to jam it; the error says when and where."""
    length, mass = 2.0, 1.0
    inertia = (0.0, mass * length**2 / 12, mass * length**2 / 12)
    robot = kt.Builder("rod").body("rod", "base", kt.Planar("y"), mass=mass, inertia=inertia).build()
    up = 1 if abs(robot.pose([0, 1, 0], "rod")[2, 3]) > 0.5 else 2
    q, v = np.array([1.3, 0.0, 0.0]), np.zeros(3)
    q[up], v[3 - up] = 0.5 * length * math.sin(1.3), 8.0
    with pytest.raises(kt.SimulationError, match=r"rod\(1, 0, 0\)") as stopped:
        simulate_rigid(robot, [Contact("rod", (length / 2, 0, 0), friction=3.0)], q, v, time=0.3)
    assert 0.0 <= stopped.value.time < 0.3


def test_bad_input_is_named():
    ball = falling_ball()
    with pytest.raises(kt.SimulationError, match=r"0\.5 m inside") as stopped:
        simulate_rigid(ball, [Contact("ball")], [-0.5], time=1.0)
    assert stopped.value.time == 0.0
    with pytest.raises(kt.UnknownNameError, match="dop853"):
        simulate_rigid(ball, [Contact("ball")], [1.0], time=1.0, integrator="euler")
    with pytest.raises(kt.OptionError, match="rest_speed"):
        simulate_rigid(ball, [Contact("ball")], [1.0], time=1.0, rest_speed=0.0)
    with pytest.raises(kt.SimulationError, match="too many events") as stopped:
        simulate_rigid(ball, [Contact("ball", restitution=0.9)], [1.0], time=9.0, rest_speed=1e-12, most_events=20)
    assert stopped.value.record.time[-1] > 1.0  # what there was is kept
    with pytest.raises(kt.OptionError, match="one robot at a time"):
        simulate_rigid(ball, [Contact("ball")], [[1.0], [2.0]], time=1.0)


def test_one_rigid_contact_needs_no_list_and_is_named_in_the_record():
    robot = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=2.0).build()
    record = kt.simulate_rigid(robot, kt.contact.Contact("ball"), [0.0], time=0.1)
    assert record.contact_forces[-1, 0, 2] == pytest.approx(2.0 * 9.81)
    assert record.info["contact_spots"] == [["ball", [0.0, 0.0, 0.0]]]
    with pytest.raises(kt.OptionError, match="force elements"):
        kt.simulate_rigid(robot, kt.contact.Contact("ball"), [0.0], time=0.1, ground="ball")


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_rigid_contact_says_what_a_controller_lacks(no_hang, backend):
    robot, contacts = balls(backend=backend), [Contact("ball0", restitution=0.5)]
    short = laws.PD(trajectories.Cycloid([0.2], [1.0], 0.3), 50.0, 10.0)
    with pytest.raises(kt.SimulationError, match="trajectory ends here") as caught:
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=short)
    assert (caught.value.time, caught.value.joint) == (0.3, None)  # the trajectory is to blame, no joint
    assert caught.value.record.time[-1] == 0.3
    late = laws.PD(trajectories.Cycloid([0.2], [1.0], 0.3, begin=0.5), 50.0, 10.0)
    with pytest.raises(kt.OptionError, match=r"starts at 0\.5 s"):
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=late)
    for since in (-1.0, 0.1):
        law = laws.Law(lambda t, q, v, since=since: [kt.where(t > since, np.nan, 1.0) * q[0]])
        with pytest.raises(kt.SimulationError, match="the controller returned nan for joint 'ball0_joint'"):
            kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=law)
    many = laws.PD(trajectories.Constant([0.2]), [[5.0], [6.0]], 1.0)
    with pytest.raises(kt.OptionError, match="one robot at a time"):
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, controller=many)
    with pytest.raises(kt.OptionError, match="friction_speed"):
        kt.simulate_rigid(robot, contacts, [0.2], time=1.0, friction_speed=-1.0)
