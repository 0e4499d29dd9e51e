"""Height fields: true distances, jumps and hollows that are refused, and ground that gives no energy without a word."""

import math
import warnings

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeWarning, OptionError
from kinetree.spatial import Vec3

g = kt.ground


def ball():
    made = kt.Builder("ball").body("ball", "base", kt.Free(), mass=1.0, inertia=(4e-3,) * 3)
    return made.build().with_backend("compiled")


def told(function):
    """What a run warns of, and what it gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", KinetreeWarning)
        result = function()
    return result, [str(w.message) for w in found]


# ------------------------------------------------------------------ distance


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_distance_is_that_to_the_nearest_point(sense):
    """Of a hill and a bowl of radius 1, in closed form; straight below the error was 30 times as large."""
    round_ = g.HeightField(lambda x, y: sense * (kt.sqrt(1.0 - x * x - y * y) - 1.0))
    rng = np.random.default_rng(0)
    for _ in range(50):
        away, turn, up = rng.uniform(-0.15, 0.15), rng.uniform(0, 2 * math.pi), rng.uniform(0.0, 0.6)
        out = np.array([math.sin(up) * math.cos(turn), math.sin(up) * math.sin(turn), sense * math.cos(up)])
        point = out * (1.0 + sense * away) - [0.0, 0.0, sense]
        gap, normal = round_.gap(Vec3(*point))
        assert float(gap) == pytest.approx(away, abs=3e-4)
        assert np.allclose([float(x) for x in normal], sense * out, atol=2e-3)


def test_far_above_rough_ground_nothing_is_touched():
    """However the search for the nearest point strays: no gap is smaller than the way to the highest peak."""
    rough = g.HeightField(lambda x, y: 0.05 * kt.sin(30.0 * x) * kt.cos(40.0 * y))
    x, y, z = np.random.default_rng(1).uniform([-2, -2, 0.1], [2, 2, 3], (5000, 3)).T
    gap, normal = rough.gap(Vec3(x, y, z))
    # a plane of the steepest slope, 2, is at least this far
    assert np.all(np.asarray(gap) > 0.99 * (z - 0.05) / math.sqrt(1.0 + 1.5**2 + 2.0**2))
    assert np.allclose(sum(np.asarray(c) ** 2 for c in normal), 1.0)
    inside = np.asarray(rough.gap(Vec3(x, y, -z))[0])
    assert np.all(inside < 0.0)


# ------------------------------------------------------------------ jumps and hollows


@pytest.mark.parametrize(
    ("height", "size"),
    [
        (lambda x, y: kt.where(x > 0.5, 0.15, 0.0 * x), "0.15 m at (0.5,"),
        (lambda x, y: 0.1 * kt.sin(3.0 * x) + kt.where(x + 0.3 * y > 0.77, 0.05, 0.0 * x), "0.05 m"),
        (lambda x, y: kt.where(x * x + y * y < 4.0, 0.0 * x, -0.3), "0.3 m"),
        (lambda x, y: kt.where(y > -7.3, x * y, x * y - 1.0), "1 m"),
    ],
)
def test_a_height_that_jumps_is_refused_with_what_to_do(height, size):
    with pytest.raises(OptionError, match="Let the height rise over some distance") as refused:
        g.HeightField(height)
    assert f"jumps by {size}" in str(refused.value)


@pytest.mark.parametrize(
    "height",
    [
        lambda x, y: kt.where(x > 0.2, x - 0.2, 0.0 * x),  # a kink
        lambda x, y: 0.05 * kt.sin(30.0 * x) * kt.cos(40.0 * y),
        lambda x, y: 7.0 * x - 3.0 * y,
        lambda x, y: 0.075 * kt.tanh(200.0 * (x - 1.0)),  # steep, and yet a ramp
        lambda x, y: kt.sqrt(1.0 - x * x - y * y),  # not defined everywhere
        lambda x, y: 0.0,
    ],
)
def test_heights_without_a_jump_are_taken(height):
    g.HeightField(height)


def test_a_ball_that_does_not_fit_is_refused_and_a_point_is_not():
    ramp = g.HeightField(lambda x, y: 0.075 * kt.tanh(200.0 * (x - 1.0)))
    waves = g.HeightField(lambda x, y: 0.05 * kt.sin(12.0 * x))  # hollows of 0.14 m
    grid = g.Grid(np.linspace(0, 1, 11), np.linspace(0, 1, 11), 0.1 * (np.arange(121).reshape(11, 11) % 2))
    law = g.HuntCrossley(1e4, 0.5)
    for surface, radius in ((ramp, 0.05), (waves, 0.2), (grid, 0.1)):
        with pytest.raises(OptionError, match="does not fit into this ground"):
            g.Ground([g.Spot("ball", radius=radius)], law, surface=surface)
        g.Ground(["ball"], law, surface=surface)
    g.Ground([g.Spot("ball", radius=0.1)], law, surface=waves)


# ------------------------------------------------------------------ net work


STEP_FAR_AWAY = g.HeightField(lambda x, y: kt.where(x > 12.5, 0.15, 0.0 * x))
"""Farther than the ground is looked at."""


def into_the_step(x=12.0, **options):
    ground = g.Ground(
        [g.Spot("ball", radius=0.05)], g.HuntCrossley(1e4, 0.5), g.PseudoCoulomb(0.5, 100.0), STEP_FAR_AWAY
    )
    start = np.array([0, 0, 0, 1.0, 0, 0, 0.05])
    q = np.array([[*start[:4], a, *start[5:]] for a in np.atleast_1d(x)])
    return kt.simulate(ball(), q if len(q) > 1 else q[0], [0, 0, 0, 1.0, 0, 0], time=1.5, ground=ground, **options)


def test_ground_that_gives_energy_is_reported():
    """A ball of 0.5 J meets a riser of 15 cm and is thrown out with 3 J more; the balance is right to 1e-8 even so."""
    record, words = told(lambda: into_the_step(samples=301))
    assert record.energy.relative_error < 1e-6
    energy = record.energy.mechanical
    assert energy[-1] - energy[0] > 2.0
    gain = energy - np.minimum.accumulate(energy + record.energy.in_ground)
    assert record.energy.ground_gain.max() == pytest.approx(gain.max(), rel=1e-5)
    (said,) = words
    assert f"the ground has done {record.energy.ground_gain.max():.3g} J of net work on 'ball'" in said
    assert said.partition(". ")[0] in str(record)


def test_of_a_batch_the_one_that_gained_is_named(tmp_path):
    record, (said,) = told(
        lambda: into_the_step([0.0, 12.0, 12.2], samples=101, integrator="semi_implicit_euler", step=1e-3)
    )
    assert "in simulation" in said
    assert "in simulation 0" not in said
    assert np.all(record.energy.ground_gain[:, 0] < 1e-3)
    assert np.all(record.energy.ground_gain.max(axis=0)[1:] > 0.5)
    record.save(tmp_path / "run.npz")
    loaded = kt.Record.load(tmp_path / "run.npz")
    assert loaded.ground_gained == record.ground_gained
    assert record.lane(0).ground_gained is None


def test_stored_energy_is_given_back_without_a_word():
    """A start inside soft ground, which lifts the ball, is no gain; nor is a bounce, on any surface."""
    for surface in (g.Plane(), g.Plane.inclined(0.4), g.Ball(2.0, (0, 0, -2.0))):
        ground = g.Ground([g.Spot("ball", radius=0.05)], g.HuntCrossley(1e4, 0.0), None, surface)
        record, words = told(
            lambda ground=ground: kt.simulate(ball(), [0, 0, 0, 1, 0, 0, 0.03], time=0.4, ground=ground)
        )
        assert not words
        assert record.energy.in_ground[0] > 0.1
        assert record.energy.ground_gain.max() < 1e-6
        total = record.energy.mechanical + record.energy.in_ground
        assert np.allclose(total, total[0], rtol=1e-6)


def random_surface(rng, kind):
    if kind == "waves":
        terms = [(rng.uniform(0.01, 0.05), *rng.normal(0, 4, 2), rng.uniform(0, 6)) for _ in range(3)]
        return g.HeightField(lambda x, y: sum(a * kt.sin(k * x + m * y + p) for a, k, m, p in terms))
    if kind == "slope":
        return g.Plane(tuple(rng.normal(0, 0.1, 3)), (*rng.normal(0, 0.5, 2), 1.0))
    if kind == "sphere":
        radius = rng.uniform(0.5, 3.0)
        return g.Ball(radius, (0.0, 0.0, -radius))
    if kind == "grid":
        return g.Grid(np.linspace(-2, 2, 9), np.linspace(-2, 2, 9), rng.normal(0, 0.05, (9, 9)))
    width, rise, edge = 10.0 ** rng.uniform(-3, -1), rng.uniform(0.02, 0.2), rng.uniform(0.2, 0.5)

    def ramp(x, y):
        s = (x - edge) / width
        return rise * kt.where(s < 0.0, 0.0 * s, kt.where(s > 1.0, 1.0 + 0.0 * s, s * s * (3.0 - 2.0 * s)))

    return g.HeightField(ramp)


@pytest.mark.parametrize("kind", ["waves", "slope", "sphere", "grid", "step"])
@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.slow] if k > 1 else []) for k in range(8)])
def test_random_ground_never_gives_energy_without_a_word(kind, seed):
    """By the energy of the robot alone, which no work that was integrated can flatter."""
    rng = np.random.default_rng([seed, len(kind)])
    surface, radius = random_surface(rng, kind), rng.choice([0.0, 0.03, 0.1])
    law = g.HuntCrossley(10.0 ** rng.uniform(3.5, 5), rng.choice([0.0, 0.5]), exponent=rng.choice([1.0, 1.5]))
    friction = None if rng.random() < 0.5 else g.PseudoCoulomb(rng.uniform(0.1, 1.0), 10.0 ** rng.uniform(1, 2.5))
    try:
        ground = g.Ground([g.Spot("ball", radius=radius)], law, friction, surface)
    except OptionError:  # a ball that does not fit
        return
    robot, q = ball(), np.array([0, 0, 0, 1.0, *rng.uniform(-0.1, 0.1, 2), 0.0])
    q[6] = 0.02 + radius - float(surface.gap(Vec3(q[4], q[5], 0.0))[0]) * 1.5
    speeds = [*rng.normal(0, 3, 3), rng.uniform(0.5, 2.0), *rng.normal(0, 0.5, 2)]
    start, samples = [q, speeds], np.linspace(0.0, 1.0, 201)
    if seed % 2:  # every other one as a batch, by fixed steps
        start = [q + np.outer([0.0, 0.01], np.eye(7)[4]), speeds]
        options = {"integrator": "rk4", "step": 1e-4}
    else:
        options = {"rtol": 1e-9, "atol": 1e-11}
    record, words = told(lambda: kt.simulate(robot, *start, time=1.0, ground=ground, samples=samples, **options))
    touched = np.abs(record.contact_forces).max() > 0.0
    total = record.energy.mechanical + record.energy.in_ground
    least = np.minimum.accumulate(total, axis=0)
    gain = (record.energy.mechanical - least).max(axis=0)
    size = record.energy.kinetic.max(axis=0)
    assert touched or kind in ("sphere", "slope")
    if not any("net work" in x for x in words):
        assert np.all(gain < 0.05 * size)
