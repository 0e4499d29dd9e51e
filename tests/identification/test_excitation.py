import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import two_links
from kinetree.engine.blas_threads import one_blas_thread
from kinetree.identification import excitation, random_motion
from kinetree.identification.excitation import OF_BODIES, Structure, _basis, _ExcitationSearch, _limits

LIMITS = {"velocity": 2.0, "acceleration": 8.0, "lower": -1.5, "upper": 1.5}


@pytest.mark.parametrize("form", ["fourier", "spline"])
@pytest.mark.parametrize("criterion", ["condition", "determinant"])
def test_motions_keep_to_their_limits_and_tell_more_than_random_ones(form, criterion):
    robot = two_links().with_backend("compiled")
    effort = 1.2 * np.abs(robot.gravity_force([0.0, 0.0])) + 2.0
    options = {**LIMITS, "form": form, "effort": effort, "clearance": {"lower": -0.5}}
    found = kt.exciting_motion(robot, 6.0, criterion=criterion, starts=2, steps=30, samples=40, **options)
    plain = np.median([random_motion(robot, 6.0, seed=k, samples=40, **options).condition for k in range(5)])
    assert found.condition < plain
    assert repr(found).startswith("<Excitation of 2 joints: 6 s in")
    assert np.abs(found.q).max() <= 1.5
    assert np.abs(found.v).max() <= 2.0
    assert np.abs(found.a).max() <= 8.0
    assert np.all(np.abs(found.tau).max(axis=0) <= effort)
    assert robot.pose(found.q, "lower")[:, 2, 3].min() >= -0.5
    assert np.abs(found.v[0]).max() < 1e-12
    assert np.abs(found.a[0]).max() < 1e-10
    assert np.allclose(np.gradient(found.q, found.t, axis=0)[1:-1], found.v[1:-1], atol=1e-2)
    assert np.allclose(np.gradient(found.v, found.t, axis=0)[1:-1], found.a[1:-1], atol=5e-2)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("criterion", ["condition", "determinant"])
def test_the_slope_of_what_is_minimized_is_that_of_differences(criterion, backend):
    robot, rng, eps = two_links().with_backend(backend), np.random.default_rng(0), 1e-6
    limits = _limits(robot, 2.0, 8.0, 5.0, -1.5, 1.5, {"lower": -0.5})
    names = tuple(name for name in robot.parameters().names if name.rpartition(".")[2] in OF_BODIES)
    search = _ExcitationSearch(robot, limits, np.zeros(2), Structure(robot).groups(names).independent, True, criterion)
    basis = _basis("fourier", 6.0, 4, np.linspace(0.0, 6.0, 12, endpoint=False))
    x = rng.standard_normal((basis[0].shape[1], 2))  # beyond all limits
    value, slope = search.value_and_slope(x, basis)
    d = rng.standard_normal(x.shape)
    ends = [search.value_and_slope(x + sign * d, basis)[0] for sign in (eps, -eps)]
    assert np.isclose(slope @ d.reshape(-1), (ends[0] - ends[1]) / (2.0 * eps), rtol=1e-6)
    assert value > search.criterion_of(x, basis)


@pytest.mark.slow
def test_the_kuka_is_excited_five_times_better_than_at_random():
    robot = kt.gallery.load("kuka-kr5").with_backend("compiled")
    limits = {**LIMITS, "lower": -2.0, "upper": 2.0, "acceleration": 10.0, "friction": False}
    plain = [random_motion(robot, 10.0, seed=k, **limits).condition for k in range(10)]
    found = kt.exciting_motion(robot, 10.0, starts=2, **limits)
    assert found.condition < np.median(plain) / 5.0


def test_tables_are_replayed(tmp_path):
    found = kt.exciting_motion(two_links(), 4.0, starts=1, steps=2, samples=10, **LIMITS)
    for name in ("e.csv", "e.npz", "e.parquet"):
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        found.save(tmp_path / name)
    header = (tmp_path / "e.csv").read_text().splitlines()[0]
    assert header.split(",") == ["time", *(f"{k}_{n}" for k in "qva" for n in found.names)]
    q, _, a = found.trajectory(found.t)
    assert np.allclose(q, found.q)
    assert np.allclose(a, found.a, atol=1e-9)


def test_what_cannot_be_is_refused():
    robot = two_links()
    with pytest.raises(kt.UnknownNameError, match="fourier"):
        kt.exciting_motion(robot, form="furier")
    with pytest.raises(kt.OptionError, match="high at the center"):
        kt.exciting_motion(robot, clearance={"lower": 0.5})
    with pytest.raises(kt.OptionError, match="cannot hold"):
        kt.exciting_motion(robot, effort=0.1)
    with pytest.raises(kt.OptionError, match="no room"):
        kt.exciting_motion(robot, lower=1.0, upper=-1.0)
    with pytest.raises(
        kt.UnsupportedError, match=r"would not close its loops: .*joints \(crank_joint\).* and follow it"
    ):
        kt.exciting_motion(kt.gallery.load("four-bar"))
    ball = kt.Builder("ball").body("bob", "base", kt.Spherical(), mass=1.0, inertia=(0.1, 0.1, 0.1)).build()
    with pytest.raises(kt.UnsupportedError, match="one coordinate each, unlike 'bob_joint'"):
        kt.exciting_motion(ball)
    with pytest.raises(kt.ArgumentError, match="needs robot"):
        kt.exciting_motion()
    with pytest.raises(kt.ArgumentError, match="needs data"):
        kt.identify(robot)


def test_searches_and_estimates_use_one_thread_of_blas(monkeypatch):
    """Threads that wait for one another made both ten times slower on a busy machine."""
    holders, search = [], excitation.minimize

    def watched(*given, **named):
        holders.append(one_blas_thread._holders)
        return search(*given, **named)

    monkeypatch.setattr(excitation, "minimize", watched)
    kt.exciting_motion(two_links(), 4.0, starts=1, steps=1, samples=10, **LIMITS)
    assert holders
    assert min(holders) > 0
    assert kt.identify.__wrapped__
