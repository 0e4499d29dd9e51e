"""Sampled controllers: exact responses of discrete time, limits of stability, counts, noise, observers, memory."""

import math

import numpy as np
import pytest
from scipy.linalg import solve_continuous_are
from scipy.signal import cont2discrete

import kinetree as kt
from kinetree import control, trajectories
from kinetree.contact.rigid_contacts import Contact
from kinetree.errors import OptionError, ShapeError, SimulationError, UnknownNameError, UnsupportedError

T = 0.05
KP, KD, MASS = 30.0, 8.0, 2.0


@pytest.fixture(scope="module")
def cart():
    """A mass on a rail: a double integrator."""
    made = kt.Builder("cart", gravity=(0, 0, 0)).body("m", "base", kt.Prismatic("x"), mass=MASS).build()
    return kt.Robot(made.model, backend="compiled")


@pytest.fixture(scope="module")
def pendulum():
    b = kt.Builder("pendulum")
    b.body("bob", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -1.0), effort_limit=50.0)
    return kt.Robot(b.build().model, backend="compiled")


def servo(goal=1.0, kp=KP, kd=KD):
    return control.PD(trajectories.Constant([goal]), kp=kp, kd=kd)


def closed_form(count, parts, late=0, start=(0.0, 0.0)):
    """A double integrator under a sampled PD whose forces come ``late`` whole periods and the first of ``parts``."""
    q, v = start
    forces, rows = [0.0] * (late + 1), []
    for _ in range(count + 1):
        rows.append((q, v))
        forces.append(KP * (1.0 - q) - KD * v)
        acting = zip(parts, (forces[-2 - late], forces[-1 - late]), strict=True)
        for length, force in acting:
            q, v = q + length * v + 0.5 * length**2 * force / MASS, v + length * force / MASS
    return np.array(rows)


RK4 = {"integrator": "rk4", "step": T / 10}


@pytest.mark.parametrize(
    ("delay", "options"), [(0.0, {}), (0.3, {}), (1.6, {}), (1.0, RK4), (1.6, RK4), (0.3, {"integrator": "radau"})]
)
def test_a_double_integrator_moves_as_in_closed_form(cart, delay, options):
    law = control.Sampled(servo(), T, delay=delay * T)
    record = kt.simulate(cart, [0.0], time=2.0, controller=law, samples=41, **options)
    first = (delay % 1.0) * T
    wanted = closed_form(40, (first, T - first), late=int(delay))
    assert np.abs(np.column_stack([record.q, record.v]) - wanted).max() < 2e-14
    assert record.energy.relative_error < 1e-13
    seen = record.sampled
    assert np.array_equal(seen.time, T * np.arange(40))
    assert np.allclose(seen.arrival - seen.time, delay * T, atol=1e-15)
    assert np.allclose(seen.q, record.q[:-1], atol=1e-15)
    assert np.allclose(seen.tau[:, 0], KP * (1.0 - wanted[:-1, 0]) - KD * wanted[:-1, 1], atol=1e-12)


def test_records_hold_what_acts_from_their_times_on(cart):
    record = kt.simulate(cart, [0.0], time=1.0, controller=control.Sampled(servo(), 0.25), samples=101)
    held = np.repeat(record.sampled.tau[:, 0], 25)
    assert np.array_equal(record.tau[:-1, 0], held)
    assert np.allclose(record.a[:, 0], record.tau[:, 0] / MASS)


def test_a_small_swing_is_that_of_the_discrete_linear_model(pendulum):
    a, b = pendulum.linearize([0.0], [0.0], [0.0])
    ad, bd, *_ = cont2discrete((a, b, np.eye(2), np.zeros((2, 1))), 0.1)
    assert np.allclose(pendulum.linearize([0.0], [0.0], [0.0], 0.1).A, ad, rtol=1e-13)
    k = np.array([[6.0, 1.5]])
    x = np.array([1e-4, 0.0])
    wanted = [x := (ad - bd @ k) @ x for _ in range(20)]
    law = control.Sampled(servo(0.0, 6.0, 1.5), 0.1)
    record = kt.simulate(pendulum, [1e-4], time=2.0, controller=law, samples=21, rtol=1e-12, atol=1e-16)
    moved = np.column_stack([record.q, record.v])[1:]
    assert np.abs(moved - wanted).max() < 1e-12  # the cube of the angle


def test_stability_ends_where_the_eigenvalues_say(cart):
    """With a delay of one period the state is (q, v, force on its way)."""

    def radius(kp):
        step = np.array([[1, T, T * T / 2 / MASS], [0, 1, T / MASS], [-kp, -KD, 0]])
        return np.abs(np.linalg.eigvals(step)).max()

    low, high = 10.0, 1000.0
    for _ in range(60):
        low, high = (low, 0.5 * (low + high)) if radius(0.5 * (low + high)) > 1.0 else (0.5 * (low + high), high)
    kp = np.array([[0.97 * low], [1.03 * low]])
    law = control.Sampled(servo(0.0, kp), T, delay=T)
    record = kt.simulate(
        cart, [[1.0]] * 2, time=60.0, controller=law, integrator="rk4", step=T, samples=[0.0, 30.0, 60.0]
    )
    size = np.hypot(record.q, record.v)[:, :, 0]
    assert size[2, 0] < 0.7 * size[1, 0]
    assert size[2, 1] > 1.4 * size[1, 1]


def test_counts_of_an_encoder_leave_a_motion_within_its_bound(cart):
    """What rounding adds is no more than half a count, and goes through the closed loop from there."""
    count = 1e-3
    law = control.Sampled(servo(0.3333, 60.0, 10.0), T, encoder=1.0 / count, velocity="differences")
    record = kt.simulate(cart, [0.0], time=60.0, controller=law, integrator="rk4", step=T, samples=1201)
    # x = (q, v, q before); the force answers counted positions
    a = np.array([[1, T, 0], [0, 1, 0], [1, 0, 0.0]])
    b = np.array([T * T / 2 / MASS, T / MASS, 0.0])
    now, before = -60.0 - 10.0 / T, 10.0 / T
    closed = a + np.outer(b, [now, 0.0, before])
    assert np.abs(np.linalg.eigvals(closed)).max() < 1.0
    bound, powers, previous = 0.0, np.eye(3), np.zeros((3, 3))
    gain = [b * now, b * before]  # by the errors of this look and of the last one
    for _ in range(400):
        bound += abs(powers[0] @ gain[0] + previous[0] @ gain[1])
        previous, powers = powers, closed @ powers
    late = np.abs(record.q[800:, 0] - 0.3333).max()
    assert 1e-6 < late <= bound * count / 2
    counts = record.sampled.q / count
    assert np.abs(counts - np.round(counts)).max() < 1e-9
    assert np.abs(record.sampled.q[:, 0] - record.q[:-1, 0]).max() <= count / 2 * (1 + 1e-9)


def test_converters_limit_and_round_forces(cart):
    law = control.Sampled(servo(), T, limit=12.0, bits=5)
    tau = kt.simulate(cart, [0.0], time=3.0, controller=law, samples=61).sampled.tau
    level = 12.0 / 15
    assert tau.max() == 12.0
    assert np.abs(tau / level - np.round(tau / level)).max() < 1e-12
    assert len(np.unique(tau)) > 5


def test_noise_has_its_deviation_and_the_same_bits_in_every_batch(cart):
    law = control.Sampled(servo(0.0), T, position_noise=0.01, velocity_noise=0.2, seed=7, keep=True)
    options = {"time": 10.0, "controller": law, "integrator": "rk4", "step": T, "samples": 3}
    many = kt.simulate(cart, np.zeros((40, 1)), **options)
    few = kt.simulate(cart, np.zeros((3, 1)), threads=2, **options)
    assert np.array_equal(many.q[:, :3], few.q)
    assert np.array_equal(many.sampled.v[:, :3], few.sampled.v)
    alone = kt.simulate(cart, [0.0], **options)
    assert np.allclose(alone.sampled.q, many.sampled.q[:, 0], atol=1e-12)
    again = kt.simulate(cart, [0.0], **options)
    assert np.array_equal(alone.q, again.q)
    still = kt.simulate(cart, np.zeros((40, 1)), **(options | {"controller": control.Sampled(
        servo(0.0, 0.0, 0.0), T, position_noise=0.01, velocity_noise=0.2, seed=8, keep=True)}))  # fmt: skip
    for noise, deviation in ((still.sampled.q, 0.01), (still.sampled.v, 0.2)):
        x = noise[..., 0] / deviation  # 200 looks of 40 robots at rest
        n = x.size
        assert abs(x.mean()) < 4.0 / math.sqrt(n)
        assert abs((x * x).mean() - 1.0) < 4.0 * math.sqrt(2.0 / n)
        assert abs((x[1:] * x[:-1]).mean()) < 4.0 / math.sqrt(n)
        assert abs((x[:, 1:] * x[:, :-1]).mean()) < 4.0 / math.sqrt(n)
        assert abs((np.abs(x) > 2.0).mean() - 0.0455) < 4.0 * math.sqrt(0.0455 / n)
    assert not np.array_equal(still.sampled.q, many.sampled.q)


def test_short_periods_approach_the_continuous_controller_at_first_order(pendulum):
    law = control.PID(trajectories.Cycloid([0.0], [0.8], 1.0), 30.0, 4.0, 10.0)
    wanted = kt.simulate(pendulum, [0.0], time=1.0, controller=law, rtol=1e-10).q[-1, 0]

    def off(period, **options):
        sampled = control.Sampled(law, period, **options)
        return (
            kt.simulate(pendulum, [0.0], time=1.0, controller=sampled, integrator="rk4", step=2.5e-3).q[-1, 0] - wanted
        )

    for options in ({}, {"velocity": "differences"}):
        errors = [off(period, **options) for period in (0.02, 0.01, 0.005)]
        assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.25)
        assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.12)


def test_filtered_differences_follow_their_formula(pendulum):
    law = control.Sampled(servo(0.5), 0.01, velocity="differences", cutoff=10.0)
    seen = kt.simulate(pendulum, [0.0], time=0.5, controller=law, samples=2).sampled
    share, v = math.exp(-2 * math.pi * 10.0 * 0.01), np.zeros(1)
    for k in range(1, len(seen)):
        v = share * v + (1.0 - share) * (seen.q[k] - seen.q[k - 1]) / 0.01
        assert np.allclose(seen.v[k], v, atol=1e-12)


# ------------------------------------------------------------------ observers


def test_the_kalman_filter_of_a_double_integrator_is_the_alpha_beta_filter(cart):
    """Gains of Kalata's tracking index, lambda = deviation of acceleration T^2 / deviation of positions."""
    made = control.kalman(cart, [0.0], period=T, force_noise=3.0 * MASS, position_noise=0.02)
    index = 3.0 * T * T / 0.02
    r = (4.0 + index - math.sqrt(8.0 * index + index**2)) / 4.0
    alpha = 1.0 - r * r
    beta = 2.0 * (2.0 - alpha) - 4.0 * math.sqrt(1.0 - alpha)
    assert np.allclose(made.gain[:, 0], [alpha, beta / T], rtol=1e-9)


def test_observers_see_through_noise_and_counts(cart):
    """The estimate is the recursion over what was measured, and better than differences of it."""
    errors = {}
    for name, observer in (
        ("differences", None),
        ("luenberger", control.luenberger(cart, [0.0], period=T, bandwidth=0.7)),
        ("kalman", control.kalman(cart, [0.0], period=T, force_noise=0.05, position_noise=0.02)),
    ):
        law = control.Sampled(
            servo(0.0, 3.0, 4.0), T, position_noise=0.02, velocity="differences", observer=observer, seed=3
        )
        options = {"controller": law, "integrator": "rk4", "step": T, "samples": 1001}
        record = kt.simulate(cart, [0.5], time=50.0, **options)
        seen = record.sampled
        errors[name] = np.std(seen.estimated_v[200:, 0] - record.v[200:-1, 0])
        if observer is None:
            assert np.array_equal(seen.estimated_v, seen.v)
            continue
        x = np.array([seen.q[0, 0], seen.v[0, 0]])
        for k in range(1, 20):
            x = observer.model.A @ x + observer.model.B[:, 0] * seen.tau[k - 1, 0]
            x = x + observer.gain[:, 0] * (seen.q[k, 0] - x[0])
            assert np.allclose([seen.estimated_q[k, 0], seen.estimated_v[k, 0]], x, atol=1e-12)
    assert errors["kalman"] < errors["luenberger"] < 0.2 * errors["differences"]
    inside = (np.eye(2) - np.outer(observer.gain[:, 0], [1.0, 0.0])) @ observer.model.A
    assert np.abs(np.linalg.eigvals(inside)).max() < 1.0


def test_a_momentum_observer_finds_the_push_of_a_stranger(pendulum):
    joint = pendulum.model.joints[0].name
    push = kt.forces.JointPush(joint, lambda t: kt.where(t > 0.5, 3.0 + 0.0 * t, 0.0 * t))
    watch = control.MomentumObserver(gain=40.0)
    options = {"time": 1.0, "forces": push, "largest_step": 1e-3, "samples": 2}
    law = control.Sampled(servo(0.4), 1e-3, observer=watch)
    seen = kt.simulate(pendulum, [0.3], [1.0], controller=law, **options).sampled
    after = np.maximum(seen.time - 0.5, 0.0)
    assert np.abs(seen.load[:, 0] - 3.0 * (1.0 - np.exp(-40.0 * after))).max() < 0.07  # half a period of its slope
    stiff = control.Sampled(servo(0.0), 1e-3, observer=control.MomentumObserver(gain=40.0, compensate=True))
    there = kt.simulate(pendulum, [0.0], controller=stiff, **options).q[-1, 0]
    assert abs(there) < 0.3 * abs(kt.simulate(pendulum, [0.0], controller=servo(0.0), **options).q[-1, 0])


# ------------------------------------------------------------------ laws


def test_the_regulator_is_the_best_feedback(pendulum):
    """No other gain beside it has a smaller cost, found by summing what a motion costs."""
    best = control.lqr(pendulum, [math.pi], period=0.05, positions=4.0, velocities=0.5, efforts=0.1)
    a, b = pendulum.linearize([math.pi], [0.0], best.tau, 0.05)

    def cost(k):
        total, x, loop = np.zeros((2, 2)), np.eye(2), a - b @ k
        for _ in range(400):
            total += x.T @ (np.diag([4.0, 0.5]) + 0.1 * k.T @ k) @ x
            x = loop @ x
        return np.trace(total)

    k = best.gain
    for change in np.array([[[0.02, 0.0]], [[0.0, 0.02]]]):
        ahead, here, behind = cost(k + change), cost(k), cost(k - change)
        assert min(ahead, behind) > here
        assert abs(ahead - behind) < 0.05 * (ahead + behind - 2.0 * here)
    law = control.Sampled(best, 0.05, delay=0.0)
    record = kt.simulate(pendulum, [math.pi - 0.3], time=4.0, controller=law, samples=2)
    assert abs(record.q[-1, 0] - math.pi) < 1e-4


def test_an_integral_does_not_wind_up(cart):
    gains = {"kp": 10.0, "kd": 6.0, "ki": 8.0}
    goal = trajectories.Constant([5.0])
    over = {}
    for limit in (None, 6.0):
        law = control.Sampled(control.PID(goal, **gains, limit=limit), 0.02, limit=6.0)
        record = kt.simulate(cart, [0.0], time=15.0, controller=law, integrator="rk4", step=0.02)
        over[limit] = record.q.max() - 5.0
        assert np.abs(record.sampled.tau).max() <= 6.0
    assert abs(record.q[-1, 0] - 5.0) < 0.05
    assert over[6.0] < 0.5 * over[None]


def test_a_function_of_ones_own_is_asked_once_per_sample_and_may_remember(cart):
    class Remembering:
        def __init__(self):
            self.asked, self.resets = [], 0

        def reset(self):
            self.asked, self.last, self.resets = [], 0.0, self.resets + 1

        def __call__(self, t, q, v):
            self.asked.append(t)
            rate, self.last = (q[0] - self.last) / T, q[0]
            return [KP * (1.0 - q[0]) - KD * rate]

    own = Remembering()
    record = kt.simulate(cart, [0.0], time=1.0, controller=control.Sampled(own, T, delay=0.3 * T), samples=21)
    assert own.asked == [k * T for k in range(20)]
    traced = control.DiscreteLaw(lambda t, q, v, m: ([KP * (1.0 - q[0]) - KD * (q[0] - m[0]) / T], [q[0]]), [0.0])
    same = kt.simulate(cart, [0.0], time=1.0, controller=control.Sampled(traced, T, delay=0.3 * T), samples=21)
    assert np.allclose(record.q, same.q, atol=1e-13)
    kt.simulate(cart, [0.0], time=0.1, controller=control.Sampled(own, T))
    assert own.resets == 2


def test_sampled_and_continuous_laws_act_together(pendulum):
    gravity = control.GravityCompensation()
    together = control.Saturated(gravity + control.Sampled(servo(0.5), 0.02), 20.0)
    record = kt.simulate(pendulum, [0.1], time=0.5, controller=together, samples=26)
    weight = pendulum.inverse_dynamics(record.q, 0 * record.v, 0 * record.v)
    assert np.allclose(record.tau[:-1] - weight[:-1], record.sampled.tau, atol=1e-10)
    assert np.abs(record.tau).max() < 20.0


def test_mechanisms_and_rigid_contact_are_sampled(cart):
    robot = kt.load("four-bar")
    q = kt.gallery.start("four-bar")
    law = control.PD(trajectories.Constant([0.0]), 0.0, 0.4)
    runs = [
        kt.simulate(robot, q, time=0.04, controller=control.Sampled(law, 0.01), samples=5, **options)
        for options in ({}, {"integrator": "rk4", "step": 2e-3})
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-7
    assert np.array_equal(runs[0].sampled.time, 0.01 * np.arange(4))
    assert np.allclose(runs[0].sampled.tau[:, 0], -0.4 * runs[0].sampled.v[:, 0])
    ball = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=1.0).build()
    up = control.Sampled(control.Law(lambda t, q, v: [kt.where(t > 0.45, 15.0, 0.0)]), 0.1)
    record = kt.simulate_rigid(ball, [Contact("ball", restitution=0.0)], [0.0], time=1.0, controller=up, samples=11)
    lift = np.maximum(record.time - 0.5, 0.0)
    assert np.allclose(record.q[:, 0], 0.5 * (15.0 - 9.81) * lift**2, atol=1e-9)
    assert record.events[-1].name == "open ball"
    assert record.events[-1].time == pytest.approx(0.5)


def test_events_that_reset_do_not_move_the_instants(cart):
    bounce = kt.Event(lambda t, q, v: q[0] - 0.3, reset=lambda t, q, v: (q, -v), direction=1)
    law = control.Sampled(servo(), T)
    for options in ({}, {"integrator": "rk4", "step": T / 5}):
        record = kt.simulate(cart, [0.0], time=1.0, controller=law, events=bounce, **options)
        assert record.events
        assert np.array_equal(record.sampled.time, T * np.arange(20))
        assert record.energy.forces.max() == 0.0


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_records_keep_samples_on_disk(cart, tmp_path, ending):
    law = control.Sampled(servo(), T, observer=control.MomentumObserver(5.0))
    record = kt.simulate(cart, [0.0], time=0.5, controller=law, samples=6)
    record.save(tmp_path / f"x.{ending}")
    back = kt.Record.load(tmp_path / f"x.{ending}")
    for name in ("time", "q", "v", "estimated_q", "estimated_v", "load", "tau", "arrival"):
        assert np.array_equal(getattr(back.sampled, name), getattr(record.sampled, name)), name
    assert len(record[2:4].sampled) == 3
    assert kt.simulate(cart, [0.0], time=0.1, samples=3).sampled is None


def test_a_batch_keeps_no_samples_unless_asked(cart):
    options = {"time": 0.2, "integrator": "rk4", "step": T, "samples": 3}
    record = kt.simulate(cart, np.zeros((2, 1)), controller=control.Sampled(servo(), T), **options)
    assert record.sampled is None
    kept = kt.simulate(cart, np.zeros((2, 1)), controller=control.Sampled(servo(), T, keep=True), **options)
    assert kept.lane(1).sampled.q.shape == (4, 1)


# ------------------------------------------------------------------ what cannot be


def test_what_cannot_be_sampled_is_refused(cart, pendulum):
    for options, problem, said in (
        ({"period": 0.0}, OptionError, "positive number of seconds"),
        ({"period": T, "delay": -1.0}, OptionError, "delay of a Sampled controller must not be negative"),
        ({"period": T, "velocity": "guess"}, UnknownNameError, "measured"),
        ({"period": T, "velocity": "differences", "velocity_noise": 0.1}, OptionError, "velocity_noise"),
        ({"period": T, "bits": 1}, OptionError, "bits"),
        ({"period": T, "observer": 3}, OptionError, "observer"),
    ):
        with pytest.raises(problem, match=said):
            control.Sampled(servo(), **options)
    with pytest.raises(OptionError, match="sampled already"):
        control.Sampled(control.Sampled(servo(), T) + servo(), T)
    with pytest.raises(UnsupportedError, match="one, control"):
        kt.simulate(cart, time=1.0, controller=control.Sampled(servo(), T) + control.Sampled(servo(), 2 * T))
    for options, said in (
        ({"encoder": -1.0}, "encoder must be positive"),
        ({"position_noise": [0.1, 0.2]}, "position_noise"),
        ({"bits": 8}, "needs its largest force"),
        ({"observer": control.kalman(cart, [0.0], period=0.1, force_noise=1, position_noise=1)}, "period of 0.1 s"),
        ({"observer": control.MomentumObserver(50.0)}, "too fast"),
    ):
        with pytest.raises((OptionError, ShapeError), match=said):
            kt.simulate(cart, time=1.0, controller=control.Sampled(servo(), T, **options))
    with pytest.raises(OptionError, match=r"not a whole number of steps of 0\.03 s: take step=0\.025"):
        kt.simulate(cart, time=1.0, controller=control.Sampled(servo(), T), integrator="rk4", step=0.03)
    with pytest.raises(OptionError, match=r"delay .* take step=0\.01"):
        kt.simulate(cart, time=1.0, controller=control.Sampled(servo(), T, delay=0.02), integrator="rk4", step=0.05)
    with pytest.raises(OptionError, match="World is sampled already"):
        kt.World(pendulum, controller=control.Sampled(servo(), T))
    with pytest.raises(SimulationError, match="discrete time"):
        kt.simulate(cart, time=1.0, controller=control.DiscreteLaw(lambda t, q, v, m: ([0.0], [])))
    with pytest.raises(SimulationError, match="two lists"):
        kt.simulate(cart, time=1.0, controller=control.Sampled(control.DiscreteLaw(lambda t, q, v, m: [0.0, 1.0]), T))
    lost = control.Sampled(lambda t, q, v: [np.nan if t > 0.5 else 0.0], T)
    with pytest.raises(SimulationError, match="returned nan for joint") as caught:
        kt.simulate(cart, time=1.0, controller=lost)
    assert caught.value.time == pytest.approx(0.55)
    assert len(caught.value.record.sampled) == 11


def test_regulators_hold_against_a_constant_friction():
    robot = (
        kt.Builder("pendulum")
        .body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), friction_offset=2.0)
        .build()
    )
    upright = control.lqr(robot, [2.9], period=0.01, positions=10.0)
    assert upright.tau == pytest.approx(9.81 * np.sin(2.9) + 2.0)
    record = kt.simulate(robot, [2.85], [0.0], time=6.0, controller=control.Sampled(upright, period=0.01))
    assert record.q[-1, 0] == pytest.approx(2.9, abs=1e-6)


def _yaw(**options):
    return kt.Builder("yaw").body("table", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1), **options).build()


@pytest.mark.parametrize("period", [None, 0.01])
def test_coulomb_friction_is_no_damper_for_a_regulator(period):
    """Smoothed, 2 N m are a damper of 200 N m s/rad at rest; Riccati's equation of 1 kg m^2 knows better."""
    weights = {"positions": 100.0, "velocities": 1.0, "efforts": 1.0, "period": period}
    free, rough = (control.lqr(_yaw(damping=0.5, friction=f), [0.0], **weights) for f in (0.0, 2.0))
    assert np.array_equal(free.gain, rough.gain)
    if period is None:
        damped = np.sqrt(0.5**2 + 1.0 + 2.0 * 10.0) - 0.5
        assert np.allclose(free.gain, [[10.0, damped]], rtol=1e-12)
    smoothed = control.lqr(_yaw(damping=0.5, friction=2.0), [0.0], friction_speed=0.01, **weights)
    same = control.lqr(_yaw(damping=0.5 + 2.0 / 0.01), [0.0], **weights)
    assert np.allclose(smoothed.gain, same.gain, rtol=1e-12)


def test_observers_and_motors_have_no_huge_dampers_either():
    rough = _yaw(damping=0.5, friction=2.0, stribeck=1.0, stribeck_speed=0.1)
    options = {"period": 0.01, "force_noise": 1.0, "position_noise": 1e-3}
    assert np.array_equal(
        control.kalman(rough, [0.0], **options).gain, control.kalman(_yaw(damping=0.5), [0.0], **options).gain
    )
    at_speed = control.luenberger(rough, [0.0], [1.5], period=0.01, bandwidth=5.0)
    assert at_speed.tau == pytest.approx(0.5 * 1.5 + 2.0)  # where it slides, Coulomb friction is a constant force
    assert np.allclose(at_speed.model.rate, [1.5 * 0.01, 0.0], atol=1e-12)
    joint = rough.model.joints[0].name
    gears = (
        kt.forces.Motor(joint, signal=0.0, stall_torque=1.0, no_load_speed=10.0, rubbing=r, efficiency=e)
        for r, e in ((0.0, 1.0), (3.0, 0.8))
    )
    clean, rubbing = (control.lqr(rough, [0.0], positions=10.0, forces=gear).gain for gear in gears)
    assert np.array_equal(clean, rubbing)


def test_a_linear_model_without_a_speed_of_friction_has_viscous_friction_only():
    """At rest, while sliding with Stribeck friction, and for a batch with a lane that has no numbers."""
    rough = _yaw(damping=0.5, friction=2.0, stribeck=1.0, stribeck_speed=0.1)
    model = rough.linearize([0.0], [[0.0], [0.05], [-0.05], [np.nan]], [0.0], friction_speed=None)
    falls = 2.0 * 0.05 / 0.1**2 * np.exp(-0.25)
    assert np.allclose(model.A[:3, 1, 1], [-0.5, falls - 0.5, falls - 0.5], rtol=1e-12)
    assert np.allclose(model.rate[:3, 1], np.array([0.0, -1.0, 1.0]) * (2.0 + np.exp(-0.25) + 0.025), rtol=1e-12)
    assert np.isnan(model.A[3, 1, 1])
    assert model[0] is model.A
    assert model[-1] is model.B
    assert len(model) == 2
    with pytest.raises(IndexError):
        model[2]


@pytest.fixture(scope="module")
def arm():
    b = kt.Builder("arm")
    for k, parent in enumerate(("base", "l0", "l1")):
        b.body(f"l{k}", parent, kt.Revolute("y"), position=(0, 0, -0.4 if k else 0), mass=3.0 - k, com=(0, 0, -0.2),
               inertia=(0.02, 0.02, 0.001), damping=0.1 * k)  # fmt: skip
    return b.build()


def test_errors_of_a_luenberger_observer_die_out_as_asked(arm, recwarn):
    observer = control.luenberger(arm, [0.3, -0.8, 0.4], period=1e-3, bandwidth=20.0)
    c = np.eye(6)[:3]
    found = np.linalg.eigvals((np.eye(6) - observer.gain @ c) @ observer.model.A)
    wanted = np.repeat(np.exp(-2.0 * np.pi * 20.0 * 1e-3 * np.array([1.1, 0.9])), 3)
    assert np.allclose(np.sort(found.real), wanted, atol=1e-9)
    assert np.abs(found.imag).max() < 1e-9
    assert not recwarn.list


def test_weights_of_the_regulator_may_be_matrices(arm):
    q, rng = np.array([0.3, -0.8, 0.4]), np.random.default_rng(4)
    at, rate, price = (x @ x.T + np.eye(3) for x in rng.standard_normal((3, 3, 3)))
    best = control.lqr(arm, q, positions=at, velocities=rate, efforts=price)
    a, b = arm.linearize(q, np.zeros(3), arm.gravity_force(q))
    cost = np.zeros((6, 6))
    cost[:3, :3], cost[3:, 3:] = at, rate
    wanted = np.linalg.solve(price, b.T @ solve_continuous_are(a, b, cost, price))
    assert np.allclose(best.gain, wanted, rtol=1e-9, atol=1e-9)
    same = [control.lqr(arm, q, positions=w).gain for w in (2.0, [2.0, 2.0, 2.0], 2.0 * np.eye(3))]
    assert np.allclose(same, same[0], rtol=1e-12)
    for wrong, said in (
        ({"positions": at + np.triu(at)}, "symmetric matrix"),
        ({"positions": -at}, "not negative in every direction"),
        ({"efforts": np.diag([1.0, 1.0, 0.0])}, "positive in every direction"),
        ({"positions": [1.0, 2.0]}, "one number or 3"),
        ({"efforts": 0.0}, "weights of efforts must be positive"),
        ({"v": [1.0, 0.0, 0.0]}, "not an equilibrium"),
        ({"tau": [0.0, 0.0, 0.0]}, "not an equilibrium"),
    ):
        with pytest.raises(kt.KinetreeError, match=said):
            control.lqr(arm, q, **wrong)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"encoder": -4096}, "encoder must be positive, one number of counts per turn"),
        ({"encoder": "12 bits"}, "encoder must be one number"),
        ({"encoder": np.nan}, "encoder must be positive"),
        ({"position_noise": -1.0}, "position_noise must be zero or more and finite"),
        ({"velocity_noise": [[1.0]]}, "velocity_noise must be one number or a row"),
        ({"limit": -4.0}, "limit must be zero or more"),
    ],
)
def test_bad_converters_are_refused_where_they_are_made(made, said):
    with pytest.raises(kt.KinetreeError, match=said):
        control.Sampled(servo(0.0), T, **made)


def test_bad_laws_are_refused_where_they_are_made(arm):
    with pytest.raises(kt.OptionError, match=r"such as Constant\(\[0.5, 0.2\]\) for a goal, not \[1, 2, 3\]"):
        control.PD([1, 2, 3], 1.0, 1.0)
    with pytest.raises(kt.OptionError, match="limit must be zero or more"):
        control.Saturated(control.GravityCompensation(), -5.0)
    with pytest.raises(kt.OptionError, match=r"'arm' has no effort limits to stop at: give limit=\.\.\."):
        control.Saturated(control.GravityCompensation())(arm, 0.0, np.zeros(3), np.zeros(3))


def test_samples_show_what_there_is_in_a_line(cart):
    record = kt.simulate(cart, [0.0], time=1.0, controller=control.Sampled(servo(0.5), 0.1))
    shown = repr(record.sampled)
    assert shown.startswith("10 samples, 0 to 0.9 s every 0.1 s: time, q, v,")
    assert f"{np.abs(record.sampled.tau).max():.4g}" in shown
    assert len(shown) < 120


def test_a_loop_that_its_period_makes_unstable_is_told_as_such(cart):
    """Kd = 3 m / T is beyond 2 m / T, where a held force on a mass begins to swing up."""
    law = control.Sampled(servo(kp=0.0, kd=3.0 * MASS / 1e-2), 1e-2)
    for options in ({}, {"integrator": "rk4", "step": 1e-2}):
        with pytest.raises(SimulationError, match=r"(?s)joint 'm_joint': .*period well below 2 m / kd") as caught:
            kt.simulate(cart, [0.0], [1.0], time=3.0, controller=law, samples=2, **options)
        assert caught.value.joint == "m_joint"
    wrong_sign = control.Law(lambda t, q, v: [20.0 * MASS * v[0]])
    with pytest.raises(SimulationError, match=r"its velocity is \S+ m/s; the controller makes the robot unstable"):
        kt.simulate(cart, [0.0], [1.0], time=100.0, controller=wrong_sign, steps_at_most=40)


def test_hertz_and_resolutions_are_not_taken_for_seconds_and_counts(cart):
    with pytest.warns(kt.KinetreeWarning, match=r"the run takes 0\.1 s; if the period is in hertz: period=0\.001"):
        kt.simulate(cart, [0.0], time=0.1, controller=control.Sampled(servo(), 1000))
    with pytest.raises(OptionError, match=r"a resolution of 0.0001 rad is 62831.9 counts per turn"):
        control.Sampled(servo(), 1e-3, encoder=1e-4)


def test_weights_that_leave_a_motion_alone_are_refused():
    cart_pole = kt.Builder("cart-pole").body("cart", "base", kt.Prismatic("x"), mass=1.0, joint_name="slide")
    cart_pole.body("pole", "cart", kt.Revolute("y"), mass=0.2, com=(0, 0, 0.5), actuated=False)
    robot = cart_pole.build()
    for period in (None, 0.01):
        with pytest.raises(OptionError, match="these weights do not control 'slide'"):
            control.lqr(robot, [0.0, 0.0], positions=[0.0, 10.0], efforts=0.1, period=period)
        assert control.lqr(robot, [0.0, 0.0], positions=[1e-3, 10.0], efforts=0.1, period=period).gain[0, 0] < 0.0
    with pytest.raises(ShapeError, match="weights, noises and the period go by name"):
        control.lqr(robot, [0.0, 0.0], np.eye(4), 0.1)
