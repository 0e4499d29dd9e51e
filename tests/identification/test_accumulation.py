"""Sums of very many samples: the same least squares as that of the tall matrix."""

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_state, random_tree
from kinetree.identification import Accumulator, accumulate_files
from kinetree.identification.tuned_constants import TILE_BYTES

METHODS = ["qr", "gram"]


def samples(robot, count, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    q, v, a = random_state(robot, rng, count)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    return q, v, a, tau + noise * rng.standard_normal(tau.shape)


def tall(robot, sums, q, v, a, tau):
    y = robot.regressor(q, v, a, parameters=sums.names, friction=sums.friction)
    return y.reshape(-1, y.shape[-1]), tau.ravel()


@pytest.fixture(scope="module")
def robot():
    return random_tree(np.random.default_rng(6), 5, ["revolute", "prismatic", "universal"], floating=True)


@pytest.mark.parametrize("method", METHODS)
def test_products_are_those_of_the_tall_matrix(robot, method):
    data = samples(robot, 500, noise=0.1)  # several tiles, the last not full
    sums = Accumulator(robot, method=method).add(*data)
    assert sums._tile < 500
    y, tau = tall(robot, sums, *data)
    for found, wanted in zip(sums.gram(), (y.T @ y, y.T @ tau, tau @ tau), strict=True):
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_triangle_is_that_of_the_tall_matrix(robot):
    data = samples(robot, 300, noise=0.1)
    sums = Accumulator(robot).add(*data)
    y, tau = tall(robot, sums, *data)
    r, projected = sums.triangle()
    assert np.array_equal(r, np.triu(r))
    assert np.allclose(r.T @ r, y.T @ y, rtol=1e-10, atol=1e-10 * np.abs(y.T @ y).max())
    assert np.allclose(r.T @ projected, y.T @ tau, rtol=1e-9, atol=1e-9 * np.abs(y.T @ tau).max())
    best, small = (np.linalg.lstsq(m, x, rcond=1e-10)[0] for m, x in ((y, tau), (r, projected)))
    assert np.allclose(y @ best, y @ small, atol=1e-8 * np.abs(tau).max())


@pytest.mark.parametrize("method", METHODS)
def test_solution_is_the_best_fit_with_weights(robot, method):
    data = samples(robot, 300, noise=0.2)
    sums = Accumulator(robot, method=method).add(*data)
    weights = np.random.default_rng(1).uniform(0.1, 10.0, robot.nv)
    found = sums.solve(weights)
    y, tau = tall(robot, sums, *data)
    roots = np.tile(np.sqrt(weights), 300)
    best = np.linalg.lstsq(roots[:, None] * y, roots * tau, rcond=1e-10)[0]
    tolerance = 1e-8 if method == "qr" else 1e-5
    assert np.allclose(y @ found.values, y @ best, rtol=0, atol=tolerance * np.abs(tau).max())
    left = (tau - y @ found.values).reshape(300, -1)
    assert np.allclose(found.noise, np.sqrt(np.mean(left**2, axis=0)), rtol=1e-5)
    assert found.rank == np.linalg.matrix_rank(y / np.where(np.any(y, axis=0), np.linalg.norm(y, axis=0), 1.0), 1e-9)


def test_what_is_not_told_stays(robot):
    """A robot that only hangs tells no inertia."""
    q, v, *_ = samples(robot, 300)
    still = np.zeros_like(v)
    found = Accumulator(robot, friction=False).add(q, still, still, robot.gravity_force(q)).solve()
    table = robot.parameters()
    for name, value in zip(found.names, found.values, strict=True):
        if name.endswith((".XX", ".ZZ", ".rotor_inertia")):
            assert value == table[name]
    assert np.allclose(found.values, [table[name] for name in found.names], atol=1e-9)
    assert found.rank < 30


@pytest.mark.parametrize("method", METHODS)
def test_parts_can_be_put_together(robot, method):
    q, v, a, tau = samples(robot, 600, noise=0.1)
    whole = Accumulator(robot, method=method).add(q, v, a, tau)
    parts = [Accumulator(robot, method=method).add(*(x[k::3] for x in (q, v, a, tau))) for k in range(3)]
    together = parts[0].merge(parts[1]).merge(parts[2])
    assert together.samples == 600
    for one, other in zip(together.gram(), whole.gram(), strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())
    with pytest.raises(kt.OptionError, match="same robot"):
        together.merge(Accumulator(robot, friction=False, method=method))


def test_closed_loops_are_fitted_along_their_freedoms():
    mechanism = kt.gallery.load("four-bar")
    rng = np.random.default_rng(2)
    q = np.tile(mechanism.assembled(), (40, 1))
    v = mechanism.velocities(q, rng.standard_normal((40, 1)))
    a = mechanism.accelerations(q, v, rng.standard_normal((40, 1)))
    forces = mechanism.inverse_dynamics(q, v, a)
    found = Accumulator(mechanism, friction=False).add(q, v, a, forces).solve(p0=np.zeros(33))
    assert found.noise.shape == (1,)
    assert found.noise[0] < 1e-9 * np.abs(forces).max()


def test_memory_does_not_grow_with_samples(robot):
    sums = Accumulator(robot)
    assert sums._tile * sums.rows * len(sums._kept) * 8 <= 2 * TILE_BYTES
    before = sum(x.nbytes for x in sums.factors)
    for seed in range(3):
        sums.add(*samples(robot, 400, seed))
    assert sum(x.nbytes for x in sums.factors) == before


# ------------------------------------------------------------------ files


def write_table(path, robot, data):
    names = [
        f"{key}_{x}" for key, own in zip("qva", (robot.q_names, robot.v_names, robot.v_names), strict=True) for x in own
    ]
    names += [f"tau_{x}" for x in robot.v_names]
    rows = np.concatenate(data, axis=-1)
    if path.suffix == ".csv":
        np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        return
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({name: rows[:, k] for k, name in enumerate(names)}), path)


@pytest.fixture
def files(tmp_path):
    """A small arm, its samples, and tables that they are spread over."""
    arm = random_tree(np.random.default_rng(9), 3, ["revolute"])
    data = samples(arm, 300, noise=0.1)
    paths = [tmp_path / f"part{k}{ending}" for k, ending in enumerate((".csv", ".parquet") * 5)]
    for k, path in enumerate(paths):
        write_table(path, arm, [x[30 * k : 30 * k + 30] for x in data])
    return arm, data, paths


def test_files_one_after_the_other(files):
    arm, data, paths = files
    whole, found = Accumulator(arm).add(*data), accumulate_files(arm, paths, workers=1)
    assert found.samples == 300
    assert np.allclose(found.gram()[0], whole.gram()[0], rtol=1e-10, atol=1e-9)


def test_files_on_a_cluster(files):
    distributed = pytest.importorskip("distributed")
    arm, data, paths = files
    whole = Accumulator(arm).add(*data)
    with distributed.Client(processes=False, dashboard_address=None, n_workers=1, threads_per_worker=1) as client:
        found = accumulate_files(arm, paths, client=client)
    assert found.samples == 300
    assert np.allclose(found.gram()[0], whole.gram()[0], rtol=1e-10, atol=1e-9)


@pytest.mark.slow
def test_files_in_several_processes(files):
    arm, data, paths = files
    found = accumulate_files(arm, paths, workers=2)
    assert found.samples == 300
    assert np.allclose(found.gram()[0], Accumulator(arm).add(*data).gram()[0], rtol=1e-10, atol=1e-9)


# ------------------------------------------------------------------ what cannot be


def test_bad_samples_are_refused(robot, files, tmp_path):
    q, v, a, tau = samples(robot, 5)
    with pytest.raises(kt.StateError, match="no samples"):
        Accumulator(robot).solve()
    with pytest.raises(kt.ShapeError, match="same n"):
        Accumulator(robot).add(q, v[:3], a, tau)
    holed = tau.copy()
    holed[3, 0] = np.nan
    with pytest.raises(kt.StateError, match="sample 3"):
        Accumulator(robot).add(q, v, a, holed)
    with pytest.raises(kt.UnknownNameError, match="qr"):
        Accumulator(robot, method="cholesky")
    with pytest.raises(kt.OptionError, match="triangular factor"):
        Accumulator(robot, method="gram").add(q, v, a, tau).triangle()
    with pytest.raises(kt.ShapeError, match="weights"):
        Accumulator(robot).add(q, v, a, tau).solve(-np.ones(robot.nv))
    arm, data, _ = files
    data[3][7, 1] = np.inf
    write_table(tmp_path / "bad.csv", arm, data)
    with pytest.raises(kt.KinetreeError, match=r"bad\.csv"):
        accumulate_files(arm, tmp_path / "bad.csv")
    with pytest.raises(kt.OptionError, match="no file"):
        accumulate_files(arm, [])
    with pytest.raises(kt.OptionError, match="workers"):
        accumulate_files(arm, tmp_path / "bad.csv", workers=0)
