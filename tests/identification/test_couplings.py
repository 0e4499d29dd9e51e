"""Joints that are coupled: what is fitted are the base parameters, friction and offsets included."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from helpers.coupled_robots import COUPLED, driven, forces, gear, measured, sums
from helpers.measured_motions import fourier
from kinetree.identification.closed_motion import follow
from kinetree.identification.estimators.physically_consistent import ConsistentFit, consistent

NO_ROBOT = pytest.mark.filterwarnings("ignore:the parameters are physically impossible", "ignore:.* of more than 30 %")


def rank_of_random_states(robot, names):
    """Return how many of some parameters forces tell apart, by random states alone."""
    rng = np.random.default_rng(5)
    if robot.closes_loops:
        center, count = robot.assembled(), 300
        q = robot.close(center + 0.4 * rng.standard_normal((count, robot.nq)), must_close=False)
        q = q[np.isfinite(q).all(axis=1)]
        freedoms = len(robot.coordinates.independent)
        v = robot.velocities(q, rng.standard_normal((len(q), freedoms)))
        a = robot.accelerations(q, v, rng.standard_normal((len(q), freedoms)))
        y = np.swapaxes(robot.basis(q), 1, 2) @ robot.tree.regressor(q, v, a, parameters=names, friction=True)
    else:
        q, v, a = rng.standard_normal((3, 300, robot.nv))
        y = robot.regressor(q, v, a, parameters=names, friction=True)
    tall = y.reshape(-1, len(names))
    size = np.linalg.norm(tall, axis=0)
    felt = size > 1e-9 * size.max()
    return int(np.linalg.matrix_rank(tall[:, felt] / size[felt], tol=1e-7))


@NO_ROBOT
@pytest.mark.slow
@pytest.mark.parametrize("kind", COUPLED)
def test_what_is_fitted_are_base_parameters(kind):
    """As many as forces tell apart, each with its value; no rounding decides."""
    rng = np.random.default_rng(3)
    robot = COUPLED[kind](rng)
    data = measured(robot, rng, duration=12.0, rate=40.0)
    found = kt.identify(robot, data, rotor_inertia=False, friction="coulomb", springs=False, consistent=None)
    own = [robot.v_names[k] for k in driven(robot)]
    unknown = [n for n in robot.parameters().names if n.rpartition(".")[2].isupper()]
    unknown += [f"{name}.{term}" for name in own for term in ("damping", "friction", "offset")]
    assert len(found) == rank_of_random_states(robot, unknown)
    assert set(found.parameters) == set(unknown)
    every = robot.base_parameters(friction=True).among(unknown)
    assert found.columns == tuple(n for n in found.columns if n in every.names)
    assert len(every) == len(found)
    assert np.abs(found.compare(robot).z).max() < 4.5
    assert not found.untold
    possible = kt.identify(robot, data, rotor_inertia=False, friction="coulomb", springs=False)
    assert possible.physical
    assert np.abs(possible.compare(robot).z).max() < 4.5
    assert np.allclose(possible.errors(data), possible.training_errors, rtol=1e-9)


@NO_ROBOT
@pytest.mark.parametrize("seed", range(8))
def test_offsets_of_geared_joints_are_one_number(seed):
    rng = np.random.default_rng(seed)
    robot = gear(rng)
    found = kt.identify(robot, measured(robot, rng, rate=50.0), rotor_inertia=False, springs=False)
    offsets = [k for k, name in enumerate(found.names) if ".offset" in name]
    assert len(offsets) == 1
    assert " two_joint.offset" in found.names[offsets[0]]
    assert abs(found.values[offsets[0]]) < 4.0 * found.deviations[offsets[0]]
    own = found.robot.parameters()
    assert abs(own["one_joint.offset"]) + abs(own["two_joint.offset"]) < 2.0 * abs(found.values[offsets[0]]) + 1e-9
    assert "friction of two_joint is only known together with that of other joints" in found.notes


def test_an_offset_that_is_a_sum_of_others_has_no_column():
    rng = np.random.default_rng(1)
    robot = sums(rng)
    found = kt.identify(robot, measured(robot, rng), friction="coulomb", springs=False, rotor_inertia=False)
    assert sum(".offset" in name for name in found.columns) == 2
    assert sum(".friction" in name for name in found.columns) == 3


@pytest.mark.filterwarnings("ignore::kinetree.IdentificationWarning")
def test_friction_of_geared_joints_keeps_the_file_where_nothing_tells():
    """Both dampers of the file explain the motion: neither takes over the other's part."""
    rng = np.random.default_rng(2)
    robot = gear(rng)
    found = kt.identify(robot, measured(robot, rng, noise=0.01), friction="coulomb", springs=False)
    before, after = robot.parameters(), found.robot.parameters()
    for name in ("one_joint.damping", "two_joint.damping", "one_joint.friction", "two_joint.friction"):
        assert after[name] == pytest.approx(before[name], rel=0.1)


def test_what_is_faint_is_decided_by_the_file_and_what_is_told_is_not():
    """Two columns that are the same, and one without an effect: closed form of the nearest numbers."""
    rng = np.random.default_rng(0)
    column = rng.standard_normal(200)
    a = 1e4 * np.stack([column, 2.0 * column, np.zeros(200), rng.standard_normal(200)], axis=1)  # over their noise
    truth = np.array([0.7, 0.4, 5.0, -0.3])
    reference = np.array([0.5, 0.1, 0.25, 0.0])
    for way in ("barrier", "log_cholesky"):
        x = consistent(ConsistentFit(a, a @ truth, [], np.array([0, 1, 2]), reference), way)
        assert x[0] + 2.0 * x[1] == pytest.approx(1.5, rel=1e-5)
        assert x[2] == 0.25
        assert x[3] == pytest.approx(-0.3, rel=1e-5)
        assert 0.6 < x[0] < 1.2  # 0.9 and 0.3 are nearest, in units of the columns' size
        assert 0.15 < x[1] < 0.45


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gear", "sums", "parallelogram"])
def test_threads_of_blas_do_not_decide(kind, tmp_path):
    """The same verdict with one thread and with several, and the same numbers."""
    script = (
        "import sys, warnings; import numpy as np; import kinetree as kt\n"
        "from helpers.coupled_robots import COUPLED, measured\n"
        "rng = np.random.default_rng(4); robot = COUPLED[sys.argv[1]](rng); data = measured(robot, rng, rate=40.0)\n"
        "warnings.simplefilter('ignore')\n"
        "found = kt.identify(robot, data)\n"
        "np.savez(sys.argv[2], values=found.values, deviations=found.deviations,"
        " words=np.array([*found.columns, *found.notes, *found.warned, *found.untold]))\n"
    )
    results = []
    for threads in (1, 2):
        place = tmp_path / f"{threads}.npz"
        environment = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads),
                       "PYTHONPATH": ":".join([str(Path(kt.__file__).parents[1]), str(Path(__file__).parents[1])]),
                       "KINETREE_BACKEND": "reference", "KINETREE_CACHE": str(tmp_path / "cache")}  # fmt: skip
        subprocess.run([sys.executable, "-c", script, kind, str(place)], check=True, env=environment)
        with np.load(place) as file:
            results.append({name: file[name] for name in file.files})
    for other in results[1:]:
        assert other["words"].tolist() == results[0]["words"].tolist()
        assert np.allclose(other["values"], results[0]["values"], rtol=1e-6, atol=1e-6 * results[0]["deviations"].max())


# ------------------------------------------------------------------ joints at rest


def three_links():
    b = kt.Builder("three links")
    own = {"mass": 2.0, "com": (0.2, 0, 0.02), "inertia": (0.02, 0.05, 0.05), "rotor_inertia": 0.1, "damping": 0.2,
           "friction": 0.3}  # fmt: skip
    for k, axis in enumerate("yyz"):
        b.body(f"l{k}", f"l{k - 1}" if k else "base", kt.Revolute(axis), position=(0.5 if k else 0, 0, 0), **own)
    return b.build()


@pytest.mark.filterwarnings("ignore::kinetree.IdentificationWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-5])
@pytest.mark.parametrize("rests", range(3))
def test_the_rotor_of_a_joint_at_rest_stays_as_it_was(rests, noise):
    robot, rng = three_links(), np.random.default_rng(rests)
    t, q, v, a = fourier(3, rng, 20.0, rate=200.0)
    q[:, rests], v[:, rests], a[:, rests] = 0.3, 0.0, 0.0
    tau = robot.inverse_dynamics(q, v, a, friction=True) + 0.05 * rng.standard_normal(q.shape)
    tau[:, rests] += 0.2  # friction at rest is whatever holds
    seen = kt.Measured(t, q + noise * rng.standard_normal(q.shape), tau, None if noise else v)
    found = kt.identify(robot, seen, rotor_inertia=True, springs=False)
    assert any(f"l{rests}_joint hardly moves" in word for word in found.warned)
    after = found.robot.parameters()
    assert found.physical
    assert after[f"l{rests}_joint.rotor_inertia"] == 0.1
    for k in range(3):
        assert 0.02 < after[f"l{k}_joint.rotor_inertia"] < 0.3
        assert after[f"l{k}_joint.friction"] == pytest.approx(0.3, rel=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kinetree.IdentificationWarning")
def test_rows_of_joints_at_rest_do_not_count_with_couplings():
    """A joint stands still for a while, held by friction that nobody knows: the fit does not see it."""
    rng = np.random.default_rng(6)
    robot = sums(rng)
    names = [robot.v_names[k] for k in robot.coordinates.independent]
    clean = measured(robot, rng, noise=0.0, duration=30.0)
    t, q = clean.t, clean.q[:, [robot.q_names.index(name) for name in names]]
    pause = (t > 10.0) & (t < 20.0)
    path = q.copy()
    path[t >= 20.0, 0] += path[pause, 0][0] - path[t >= 20.0, 0][0]
    path[pause, 0] = path[pause, 0][0]
    whole = follow(robot, path, None)
    v = robot.velocities(whole, np.gradient(path, t, axis=0))
    a = robot.accelerations(whole, v, np.gradient(np.gradient(path, t, axis=0), t, axis=0))
    tau = forces(robot, whole, v, a)
    held = robot.v_names.index(names[0])
    tau[pause, held] += 3.0
    data = kt.Measured(t, whole, tau + 0.02 * rng.standard_normal(tau.shape), v)
    found = kt.identify(robot, data, friction="coulomb", springs=False, rotor_inertia=False)
    inside = (found.equations.t > 11.0) & (found.equations.t < 19.0)
    assert not found.equations.counted[inside, 0].any()
    assert found.equations.counted[inside, 1].all()
    assert found.robot.parameters()[f"{names[0]}.friction"] == pytest.approx(0.2, rel=0.2)
