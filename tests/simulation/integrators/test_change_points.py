"""Motions of closed loops through configurations in which these lose a constraint."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree import control as laws
from kinetree.simulation.constrained.holding import nearest_state
from kinetree.simulation.integrators.adaptive_of_loops import LoopStepper
from kinetree.simulation.integrators.change_points import STATES, agree, smooth_path, times_before, ways_over

ACTIVE = [0, 1, 3, 4, 5, 6]


def sr400(backend="compiled"):
    return kt.gallery.load("sr400").with_backend(backend), kt.gallery.start("sr400")


def without_loops_basis():
    """How joints move with the independent ones."""
    g = np.zeros((8, 6))
    g[ACTIVE, range(6)] = 1.0
    g[2, [1, 5]], g[7, [1, 5]] = (-1.0, 1.0), (1.0, -1.0)
    return g


def without_loops(robot, start, times, kick=(np.inf, 0.0)):
    """The parallelogram as what it is, t3 = pi/2 - t2 + t7 and t8 = t2 - t7: no constraint, no change point."""
    robot = robot.with_backend("compiled")
    g = without_loops_basis()
    tree = robot.tree

    def rate(t, y, tau):
        q, v = start + g @ y[:6], g @ y[6:]
        pushed = g.T @ (tau * np.eye(8)[1] - tree.bias_force(q, v))
        return np.concatenate([y[6:], np.linalg.solve(g.T @ tree.mass_matrix(q) @ g, pushed)])

    exact = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13}
    when = min(kick[0], times[-1])
    asked = np.append(times[times < when], when)
    found = solve_ivp(rate, (0.0, when), np.zeros(12), t_eval=asked, args=(0.0,), **exact)
    y = found.y
    if when < times[-1]:
        later = times[times >= when]
        after = solve_ivp(rate, (when, times[-1]), y[:, -1], t_eval=later, args=(kick[1],), **exact)
        y = np.hstack([y[:, :-1], after.y])
    return start + y[:6].T @ g.T, y[6:].T @ g.T


@pytest.mark.parametrize(
    ("integrator", "rtol", "atol", "error"),
    [
        ("radau", 1e-8, 1e-10, 1e-7),
        ("dop853", 1e-8, 1e-10, 1e-7),
        ("dop853", 1e-10, 1e-12, 1e-8),
        ("rk45", 1e-8, 1e-10, 1e-6),
    ],
)
def test_a_falling_arm_goes_through_its_change_point(integrator, rtol, atol, error):
    """Let go, the SR400 stretches its parallelogram out at 0.764 s, where no independent joints are to be had."""
    robot, start = sr400()
    # denser about the change point, which lies within a step of interpolation
    times = np.unique(np.concatenate([np.linspace(0.0, 1.0, 21), np.linspace(0.755, 0.775, 21)]))
    record = kt.simulate(
        robot, start, time=1.0, integrator=integrator, rtol=rtol, atol=atol, samples=times, works=False, progress=False
    )
    q, v = without_loops(robot, start, times)
    stretched = q[:, 7]
    assert stretched[0] > 1.0
    assert stretched[-1] < -0.1
    np.testing.assert_allclose(record.q, q, atol=error)
    np.testing.assert_allclose(record.v, v, atol=50 * error)
    assert robot.closure_error(record.q).max() < 1e-12
    energy = robot.kinetic_energy(record.q, record.v) + robot.potential_energy(record.q)
    assert np.ptp(energy) < 1e-5


STRETCHED = 0.764110194
"""When it does."""


def fell_as_it_should(record, robot, start, error):
    """Whether the SR400 has fallen as the one without loops does."""
    q, v = without_loops(robot, start, record.time)
    np.testing.assert_allclose(record.q, q, atol=error)
    np.testing.assert_allclose(record.v, v, atol=50 * error)
    return True


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("integrator", "rtol"), [("radau", 1e-7), ("radau", 1e-8), ("dop853", 1e-11), ("rk45", 1e-10)])
def test_last_bits_do_not_decide_about_the_way_over(monkeypatch, integrator, rtol, seed):
    """Rates that are off in their last bits are those of another processor."""
    robot, start = sr400()
    rng = np.random.default_rng(seed)
    exact, over = LoopStepper._rate, LoopStepper._gone_from
    ways = []

    def another(self, t, y):
        rate = exact(self, t, y)
        return rate * (1.0 + 4e-16 * rng.standard_normal(rate.shape))

    def seen(self, *given):
        ways.append(over(self, *given))
        return ways[-1]

    monkeypatch.setattr(LoopStepper, "_rate", another)
    monkeypatch.setattr(LoopStepper, "_gone_from", seen)
    record = kt.simulate(
        robot,
        start,
        time=0.8,
        integrator=integrator,
        rtol=rtol,
        atol=0.01 * rtol,
        samples=5,
        works=False,
        progress=False,
    )
    assert fell_as_it_should(record, robot, start, max(1e-7, 30 * rtol))
    assert not ways or ways[-1]  # ways that were not good enough are taken back, and the next steps try again


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "integrator"),
    [("compiled", "radau"), ("compiled", "dop853"), ("compiled", "rk45"), ("reference", "dop853")],
)
def test_no_small_change_decides_about_the_way_over(backend, integrator):
    robot, start = sr400(backend)
    rng = np.random.default_rng(1)
    times = np.linspace(0.0, 0.8, 5)
    for rtol in 10.0 ** rng.uniform(-11, -6, 8 if backend == "compiled" else 2):
        moved = start + 10.0 ** rng.uniform(-15, -9) * without_loops_basis() @ rng.standard_normal(6)
        record = kt.simulate(
            robot, moved, time=0.8, integrator=integrator, rtol=rtol, atol=0.01 * rtol, samples=times, works=False,
            progress=False,
        )  # fmt: skip
        assert fell_as_it_should(record, robot, start, max(1e-7, 30 * rtol))


@pytest.mark.filterwarnings("ignore::kinetree.errors.SingularityWarning")
@pytest.mark.parametrize(("integrator", "rtol"), [("radau", 1e-8), ("dop853", 1e-8), ("rk45", 1e-6), ("dop853", 1e-11)])
def test_samples_in_the_change_point_have_the_velocity_of_their_branch(integrator, rtol):
    """Loops hardly hold velocities there: those of the nearest closed configuration may be another branch's."""
    robot, start = sr400()
    off = np.array([0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
    record = kt.simulate(
        robot, start, time=0.8, integrator=integrator, rtol=rtol, atol=0.01 * rtol, works=False, progress=False,
        samples=np.unique(np.concatenate([[0.0], STRETCHED + off, STRETCHED - off])),
    )  # fmt: skip
    assert np.abs(record.q[:, 7]).min() < 1e-7
    assert fell_as_it_should(record, robot, start, max(1e-7, 100 * rtol))
    assert robot.closure_error(record.q).max() < 1e-9


@pytest.mark.filterwarnings("ignore::kinetree.errors.SingularityWarning")
@pytest.mark.parametrize("integrator", ["radau", "dop853", "rk45"])
@pytest.mark.parametrize("after", [-1e-4, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-4])
def test_a_run_may_end_in_the_change_point(integrator, after):
    robot, start = sr400()
    record = kt.simulate(
        robot, start, time=STRETCHED + after, integrator=integrator, rtol=1e-8, atol=1e-10, samples=3, works=False,
        progress=False,
    )  # fmt: skip
    assert fell_as_it_should(record, robot, start, 1e-6)


@pytest.mark.parametrize("integrator", ["radau", "dop853"])
@pytest.mark.parametrize("before", [0.05, 0.01, 0.004])
def test_a_run_may_begin_just_before_the_change_point(integrator, before):
    """Few states tell the way then, or states that are close together."""
    robot, start = sr400()
    times = np.array([0.0, STRETCHED - before, STRETCHED + 0.03])
    q, v = without_loops(robot, start, times)
    record = kt.simulate(
        robot, *robot.project(q[1], v[1]), time=before + 0.03, integrator=integrator, rtol=1e-10, atol=1e-12, samples=2,
        works=False, progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(record.q[-1], q[2], atol=1e-7)
    np.testing.assert_allclose(record.v[-1], v[2], atol=5e-6)


@pytest.mark.parametrize("largest_step", [1e-2, 1e-3, pytest.param(2e-4, marks=pytest.mark.slow)])
def test_short_steps_get_over(largest_step):
    robot, start = sr400()
    record = kt.simulate(
        robot, start, time=0.8, integrator="radau", rtol=1e-8, atol=1e-10, samples=3, works=False, progress=False,
        largest_step=largest_step,
    )  # fmt: skip
    assert fell_as_it_should(record, robot, start, 1e-6)


def test_all_minors_vanish_at_the_change_point():
    """Why other independent joints do not help: K loses its rank, whichever of its columns are looked at."""
    robot, start = sr400()
    q = start.copy()
    q[[1, 6]] = 0.3
    q[[2, 7]] = np.pi / 2.0, 0.0  # t3 = pi/2 - t2 + t7, t8 = t2 - t7
    assert robot.closure_error(q) < 1e-12
    sizes = np.linalg.svd(robot.loop_jacobian(q), compute_uv=False)
    assert sizes[1] < 1e-12 * sizes[0]
    assert robot.mobility(q).singular


@pytest.mark.parametrize("off", [1e-12, 1e-9, 1e-7, 1e-6])
def test_velocities_stay_on_their_branch_beside_the_change_point(off):
    """The nearest closed configuration is one of the other branch, where another velocity is the nearest."""
    robot, start = sr400()
    q, v = start.copy(), without_loops_basis() @ np.array([0.1, 1.0, 0.2, 0.3, 0.4, -1.0])
    q[[1, 6]] = 0.3
    q[[2, 7]] = np.pi / 2.0, 0.0
    rng = np.random.default_rng(0)
    other = []
    for _ in range(20):
        near = q + off * rng.standard_normal(8)
        closed, rate = nearest_state(robot, near, v)
        assert robot.closure_error(closed) < 1e-10
        assert np.abs(closed - near).max() < 10 * off + 1e-7
        np.testing.assert_allclose(rate, v, atol=100 * off + 1e-12)
        other.append(np.abs(robot.project(near, v)[1] - v).max())
    if off > 1e-8:
        assert max(other) > 0.1  # this is what it is about


# ------------------------------------------------------------------ the way over


CHANGE = 1.016


def past_of(motion, nearest=0.016, since=-9.0):
    return [(float(t), motion(t)) for t in times_before(CHANGE, nearest, since)]


def motion(t):
    return np.stack([np.sin(np.asarray(t)), np.asarray(t) - CHANGE], axis=-1)


def distance(y):
    return abs(float(y[1]))


def way_over(*given, **options):
    return next(ways_over(*given, **options), None)


def within(size):
    return {"regularity": distance, "allowed": lambda y: np.full(2, size)}


def test_times_before_a_change_point_grow_apart():
    times = times_before(CHANGE, 0.016, -9.0)
    assert len(times) == STATES
    assert times[-1] == pytest.approx(1.0)
    far = CHANGE - times
    assert np.allclose(far[:-1] / far[1:], 1.15)
    short = times_before(CHANGE, 0.016, 0.9)  # a run that has begun there
    assert len(short) == STATES
    assert short[0] == 0.9
    assert short[-1] == pytest.approx(1.0)
    assert len(times_before(CHANGE, 0.016, 1.01)) == 0


def test_the_way_over_is_the_motion_itself():
    found = way_over(past_of(motion), CHANGE, 9.0, **within(1e-9))
    assert found is not None
    assert found.end == pytest.approx(1.032)  # as far behind as 1.0 was before
    for at in (1.0, 1.013, found.end):
        np.testing.assert_allclose(found.path(np.array(at)), motion(at), atol=1e-11)
    assert np.all(np.abs(found.path(np.array(found.end)) - motion(found.end)) <= found.error)
    assert found.error.max() < 1e-10
    assert found.path(np.array([1.0, 1.01, 1.02])).shape == (3, 2)


@pytest.mark.parametrize("noise", [1e-14, 1e-12, 1e-10])
def test_noise_of_states_is_multiplied_by_little(noise):
    """Not by thousands; and what it may do is known."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        past = past_of(lambda t: motion(t) + noise * rng.standard_normal(2))
        found = way_over(past, CHANGE, 9.0, **within(1e-6))
        assert found is not None
        off = np.abs(found.path(np.array(found.end)) - motion(found.end))
        assert np.all(off <= found.error)
        assert off.max() < max(150 * noise, 1e-11)
        assert found.error.max() < max(500 * noise, 1e-10)


def test_no_way_over_where_it_is_not_known():
    assert way_over(past_of(motion)[1:], CHANGE, 9.0, **within(1e-9)) is None  # too few states
    rough = np.random.default_rng(0)
    noisy = past_of(lambda t: motion(t) + 1e-6 * rough.standard_normal(2))
    assert way_over(noisy, CHANGE, 9.0, **within(1e-9)) is None
    bent = past_of(lambda t: motion(t) + np.array([max(t - 0.99, 0.0), 0.0]))  # something begins to act
    assert way_over(bent, CHANGE, 9.0, **within(1e-6)) is None
    # the other side is never reached
    ahead = within(1e-9) | {"regularity": lambda y: -float(y[1])}
    assert way_over(past_of(motion), CHANGE, 9.0, **ahead) is None
    # a run that ends on the way ends there
    found = way_over(past_of(motion), CHANGE, 1.012, **within(1e-9))
    assert found is not None
    assert found.end == 1.012


def test_a_path_of_few_states_goes_through_them():
    past = past_of(motion)[-6:]
    fit = smooth_path(past, 5)
    for t, y in past:
        np.testing.assert_allclose(fit.path(np.array(t)), y, atol=1e-14)


def test_forces_that_begin_on_the_way_are_noticed():
    found = way_over(past_of(motion), CHANGE, 9.0, **within(1e-9))
    there = np.array([np.cos(found.end), 1.0])
    given = found.path, found.end, 0.016
    off = np.array([0.0, 1e-3])
    assert agree(*given, there, found.error, 1e-2)
    assert not agree(*given, there + off, found.error, 1e-2)
    assert agree(*given, there + off, np.full(2, 1e-4), 1e-2)  # a path that is off has other slopes
    assert agree(*given, there + off, found.error, 1e-5)  # so near a change point rounding makes others, too


def kicked(when):
    return laws.Law(lambda t, q, v: [0.0, kt.where(t > when, 400.0, 0.0), *[0.0] * 6])


@pytest.mark.parametrize("when", [STRETCHED, 0.7642])
@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk45"])
def test_a_motor_switched_on_in_the_change_point_is_not_passed_over(integrator, when):
    """The way over would leave its torque out; the run says instead that the loops are the reason for its end."""
    robot, start = sr400()
    with pytest.raises(kt.SimulationError, match="change point") as caught:
        kt.simulate(
            robot, start, time=0.8, integrator=integrator, controller=kicked(when), samples=2, works=False,
            progress=False,
        )  # fmt: skip
    assert caught.value.time == pytest.approx(STRETCHED, abs=1e-4)


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk45"])
def test_a_motor_switched_on_just_behind_the_change_point_acts(integrator):
    robot, start = sr400()
    when = STRETCHED + 5e-4
    record = kt.simulate(
        robot, start, time=0.8, integrator=integrator, controller=kicked(when), samples=2, works=False, progress=False,
        rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    q, v = without_loops(robot, start, np.array([0.0, 0.8]), kick=(when, 400.0))
    np.testing.assert_allclose(record.q[-1], q[-1], atol=1e-6)
    np.testing.assert_allclose(record.v[-1], v[-1], atol=5e-5)
    assert np.abs(v[-1] - without_loops(robot, start, np.array([0.0, 0.8]))[1][-1]).max() > 0.5


# ------------------------------------------------------------------ both branches of a parallelogram, in closed form

CRANK, GROUND = 0.5, 1.3


def parallelogram(gravity):
    b = kt.Builder("parallelogram", gravity=gravity)
    b.body("crank", "base", kt.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=np.diag([0.01, 0.03, 0.03]))
    b.body("coupler", "crank", kt.Revolute("y"), position=(CRANK, 0, 0), mass=2.0, com=(0.5, 0, 0),
           inertia=np.diag([0.01, 0.2, 0.2]))  # fmt: skip
    b.body("rocker", "base", kt.Revolute("y"), position=(GROUND, 0, 0), mass=1.5, com=(0.25, 0, 0),
           inertia=np.diag([0.01, 0.05, 0.05]))  # fmt: skip
    b.loop("pin", "coupler", "rocker", kt.Revolute("y"), placement=(GROUND, 0, 0), seat=(CRANK, 0, 0))
    return b.build().with_backend("compiled")


def coordinates(a, crossed):
    """q of a crank angle, with first and second derivatives; crossed links: tan(rocker / 2) = k tan(crank / 2)."""
    if not crossed:
        return np.array([a, -a, a]), np.array([1.0, -1.0, 1.0]), np.zeros(3)
    k, s, c = -(GROUND + CRANK) / (GROUND - CRANK), np.sin(0.5 * a), np.cos(0.5 * a)
    n = c * c + k * k * s * s
    r, r1, r2 = 2.0 * np.arctan2(k * s, c), k / n, -k * (k * k - 1.0) * s * c / n**2
    x, y = closing(a, r)
    x1, y1 = CRANK * (np.sin(a) - np.sin(r) * r1), CRANK * (np.cos(r) * r1 - np.cos(a))
    x2 = CRANK * (np.cos(a) - np.cos(r) * r1**2 - np.sin(r) * r2)
    y2 = CRANK * (np.sin(a) - np.sin(r) * r1**2 + np.cos(r) * r2)
    first, second = (x * y1 - y * x1) / GROUND**2, (x * y2 - y * x2) / GROUND**2
    return np.array([a, np.arctan2(y, x) - a, r]), np.array([1.0, first - 1.0, r1]), np.array([0.0, second, r2])


def closing(a, r):
    """From the crank's pin to the rocker's."""
    return GROUND + CRANK * (np.cos(r) - np.cos(a)), CRANK * (np.sin(r) - np.sin(a))


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize(
    ("integrator", "rtol", "error"),
    [
        ("dop853", 1e-8, 1e-6),
        ("dop853", 1e-11, 1e-7),
        ("radau", 1e-8, 1e-6),
        ("radau", 1e-5, 1e-3),
        ("rk45", 1e-6, 1e-3),
    ],
)
def test_a_parallelogram_stays_on_its_branch(crossed, gravity, integrator, rtol, error):
    """Turning links pass their change points again and again; rounding must not decide where they go on."""
    robot, times = parallelogram(gravity), np.linspace(0.0, 1.2, 61)
    tree = robot.tree

    def rate(t, y):
        q, g, bend = coordinates(y[0], crossed)
        mass, bias = tree.mass_matrix(q), tree.bias_force(q, g * y[1])
        return [y[1], -(g @ (bias + mass @ bend * y[1] ** 2)) / (g @ mass @ g)]

    q0, g, _ = coordinates(0.9, crossed)
    found = solve_ivp(rate, (0.0, times[-1]), [0.9, -8.0], method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    q = np.array([coordinates(a, crossed)[0] for a in found.y[0]])
    v = np.array([coordinates(a, crossed)[1] * w for a, w in found.y.T])
    record = kt.simulate(
        robot, q0, -8.0 * g, time=1.2, integrator=integrator, rtol=rtol, atol=0.01 * rtol, samples=times, progress=False
    )
    assert np.ptp(np.sign(np.sin(q[:, 0]))) == 2.0  # it does pass them
    assert np.abs(np.angle(np.exp(1j * (record.q - q)))).max() < error
    np.testing.assert_allclose(record.v, v, atol=50 * error)
    assert robot.closure_error(record.q).max() < 1e-12
    assert record.energy.relative_error < error


def test_a_way_that_is_not_known_ends_the_run():
    """A motor that is switched on in the change point hides the way: an error, and not a run that loses its energy."""
    robot = parallelogram((0.0, 0.0, 0.0))
    q0, g, _ = coordinates(0.9, True)
    kick = laws.Law(lambda t, q, v: [kt.where(t > 0.391073, 60.0, 0.0), 0.0, 0.0])
    with pytest.raises(kt.SimulationError, match="change point") as caught:
        kt.simulate(robot, q0, 4.0 * g, time=0.45, controller=kick, progress=False)
    assert caught.value.time == pytest.approx(0.391073, abs=1e-5)
    assert caught.value.record.energy.relative_error < 1e-6
