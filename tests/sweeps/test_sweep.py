"""Sweeps: every row computed once, failures beside the others, and the same bits however it was interrupted."""

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.io.pickled_calls import pickled
from kinetree.sweeps import SweepResult
from kinetree_sweeps.designs import DesignRows
from kinetree_sweeps.folder import SweepFolder
from kinetree_sweeps.function_study import FunctionStudy
from kinetree_sweeps.running import remote_part

pytest.importorskip("pyarrow")


def wave(p):
    return {"sine": np.sin(p["x"]), "pair": np.stack([p["x"], -p["x"]], axis=-1)}


def refuses_large(p):
    if (p["x"] > 0.9).any():
        raise ValueError("too large")
    return {"sine": np.sin(p["x"])}


@pytest.fixture(scope="module")
def pendulum():
    b = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), damping=0.1)
    return b.build()


# ------------------------------------------------------------------ rows


def test_grid_has_every_combination_in_order():
    found = kt.sweep(lambda p: {"sum": p["a"] + p["b"]}, {"a": [1.0, 2.0], "b": [10.0, 20.0, 30.0]})
    assert found["sum"].tolist() == [11, 21, 31, 12, 22, 32]
    assert found.names == ["row", "a", "b", "sum", "failure"]
    assert found.complete


def test_rows_do_not_depend_on_how_they_are_divided():
    given = {"x": kt.Uniform(0.0, 3.0), "y": kt.Normal(0.0, 1.0), "z": [1.0, 2.0, 5.0]}
    for design in ("random", "latin-hypercube"):
        some = [
            kt.sweep(lambda p: {"s": p["x"] * p["y"] + p["z"]}, given, design=design, draws=300, seed=3, workers=0,
                     rows_per_part=size).arrays()
            for size in (300, 77)
        ]  # fmt: skip
        for other in some[1:]:
            assert all(np.array_equal(some[0][name], other[name]) for name in ("row", "x", "y", "z", "s"))


def test_large_parts_are_computed_a_few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr("kinetree_sweeps.function_study.AT_ONCE", 64)
    sizes = []

    def counted(p):
        sizes.append(len(p["x"]))
        return wave(p)

    found = kt.sweep(counted, {"x": kt.Uniform(0, 1)}, draws=150, workers=0, rows_per_part=150)
    assert sizes == [1, 64, 64, 22]
    assert len(found.files) == 1
    assert np.array_equal(found["sine"], np.sin(found["x"]))


def test_latin_hypercube_meets_every_interval_once():
    found = kt.sweep(wave, {"x": kt.Uniform(2.0, 4.0)}, design="latin-hypercube", draws=50)["x"]
    assert sorted(((found - 2.0) / 2.0 * 50).astype(int)) == list(range(50))


def test_table_of_rows_and_what_is_no_number_in_it():
    found = kt.sweep(wave, {"x": [0.1, np.nan, 0.3, np.inf]}, design="table")
    assert np.array_equal(found["sine"], np.sin([0.1, np.nan, 0.3, np.nan]), equal_nan=True)
    assert found.failures()["row"].tolist() == [1, 3]
    assert "not a finite number" in found.failures()["failure"][0]


# ------------------------------------------------------------------ what goes wrong


def test_rows_that_fail_say_why_and_the_others_are_there():
    found = kt.sweep(refuses_large, {"x": kt.Uniform(0.0, 1.0)}, draws=500, workers=0, rows_per_part=100)
    x, sine, lost = found["x"], found["sine"], found.failures()
    assert np.array_equal(np.isnan(sine), x > 0.9)
    assert np.array_equal(sine[x <= 0.9], np.sin(x[x <= 0.9]))
    assert np.array_equal(lost["x"], x[x > 0.9])
    assert set(lost["failure"]) == {"ValueError: too large"}


def test_study_in_which_nothing_works_is_refused_at_once(tmp_path):
    with pytest.raises(kt.KinetreeError, match="all fail: KeyError: 'y'"):
        kt.sweep(lambda p: {"z": p["y"]}, {"x": [1.0, 2.0]}, tmp_path / "s")
    with pytest.raises(kt.KinetreeError, match="one per row"):
        kt.sweep(lambda p: {"z": 1.0}, {"x": [1.0, 2.0]})


def test_bad_input(tmp_path, pendulum):
    for given, words in (({}, "no parameter"), ({"x": []}, "no values"), ({"x": [np.nan]}, "not finite")):
        with pytest.raises(kt.OptionError, match=words):
            kt.sweep(wave, given)
    with pytest.raises(kt.OptionError, match="no rows"):
        kt.sweep(wave, {"x": []}, design="table")
    with pytest.raises(kt.OptionError, match="needs draws"):
        kt.sweep(wave, {"x": kt.Uniform(0, 1)})
    with pytest.raises(kt.UnknownNameError, match=r"did you mean 'bob_joint\.damping'"):
        kt.sweep(pendulum, {"bob_joint.dampin": [1.0]}, time=1.0)
    with pytest.raises(kt.OptionError, match=r"tendons\.s\.points\.0: points .*frames\.eye\.position"):
        kt.sweep(pendulum, {"tendons.s.points.0": [1.0]}, time=1.0)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'peak_force'"):
        kt.sweep(pendulum, {"bob_joint.damping": [1.0]}, time=1.0, outputs="peak_froce")
    with pytest.raises(kt.KinetreeError, match="given twice"):
        kt.sweep(pendulum, {"bob_joint.damping": [1.0], "joints.bob_joint.damping": [1.0]}, time=1.0)
    controller = kt.control.PD(kt.trajectories.Constant([0.3], 1.0), kp=5.0, kd=0.5)
    twice = {"controller.kp": [1.0], "controller.kp.bob_joint": [1.0]}
    with pytest.raises(kt.OptionError, match="of the same number"):
        kt.sweep(pendulum, twice, time=1.0, controller=controller)
    (tmp_path / "other").write_text("no sweep")
    with pytest.raises(kt.OutputError, match="holds no sweep"):
        kt.sweep(wave, {"x": [1.0]}, tmp_path)


def test_cluster_that_is_not_there():
    pytest.importorskip("distributed")
    with pytest.raises(kt.KinetreeError, match=r"cannot be reached within 0\.3 s"):
        kt.sweep(wave, {"x": [1.0, 2.0]}, cluster="tcp://127.0.0.1:1", timeout=0.3)


# ------------------------------------------------------------------ going on


def test_finished_parts_are_not_done_again(tmp_path):
    done = []

    def counted(p):
        done.append(len(p["x"]))
        return wave(p)

    where = tmp_path / "s"
    options = {"draws": 100, "workers": 0, "rows_per_part": 10}
    whole = kt.sweep(counted, {"x": kt.Uniform(0, 1)}, where, **options).arrays()
    for path in list(SweepFolder(where).finished().values())[3:7]:
        path.unlink()
    (where / ".half-written.parquet").write_bytes(b"PAR1")
    done.clear()
    again = kt.sweep(counted, {"x": kt.Uniform(0, 1)}, where, **options)
    assert done == [1, *[10] * 4]  # one row is tried first
    assert all(np.array_equal(whole[name], again[name]) for name in ("row", "x", "sine", "pair[1]"))
    assert not (where / ".half-written.parquet").exists()


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_an_interrupted_simulation_is_no_row(tmp_path, integrator):
    """A run that Ctrl-C stops is a shorter record elsewhere; in a sweep its numbers would pass for those of a whole."""
    robot = kt.Builder("p").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), inertia=(1, 1, 1)).build()
    asked = {"until": 0.05}

    def torque(t, q, v):
        if np.max(t) > asked["until"]:
            raise KeyboardInterrupt
        return 0.0 * v

    options = {
        "controller": kt.control.from_function(torque), "time": 0.1, "integrator": integrator,
        "outputs": {"end": lambda record: record.q[-1, :, 0]}, "rows_per_part": 2, "workers": 0,
    } | ({"step": 0.01} if integrator == "rk4" else {})  # fmt: skip
    design = {"q0.bob_joint": np.linspace(0.1, 0.4, 4)}
    with pytest.raises(KeyboardInterrupt):
        kt.sweep(robot, design, tmp_path / "s", **options)
    assert not list(tmp_path.glob("s/part-*"))
    asked["until"] = 1.0
    found = kt.sweep(robot, design, tmp_path / "s", **options)
    assert found["end"].shape == (4,)
    asked["until"] = 0.05
    with pytest.warns(kt.KinetreeWarning, match="interrupted: the record ends at"):
        assert kt.simulate(robot, [0.1], controller=options["controller"], time=0.1).status == "interrupted"


def test_joints_that_leave_their_ranges_are_named():
    b = kt.Builder("p")
    b.body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), inertia=(1, 1, 1), lower=-0.5, upper=0.5)
    options = {"parameters": {"v0.bob_joint": [0.1, 2.0]}, "time": 1.0, "outputs": ["final.q.bob_joint"], "workers": 0}
    for integrator in ({"integrator": "rk4", "step": 0.01}, {"integrator": "dop853"}):
        with pytest.warns(
            kt.KinetreeWarning, match=r"leave their ranges, 'bob_joint': .* ground=kt\.forces\.JointStops\(\)"
        ):
            kt.sweep(b.build(), **options, **integrator)


def test_stops_are_no_ground_that_feet_touch():
    b = kt.Builder("p").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), lower=-0.5, upper=0.5)
    options = {"time": 0.1, "integrator": "rk4", "step": 0.01, "outputs": ["peak_ground_force"], "workers": 0}
    with pytest.raises(kt.KinetreeError, match="spots that touch a ground, and there are none"):
        kt.sweep(b.build(), {"v0.bob_joint": [0.1, 2.0]}, ground=kt.forces.JointStops(), **options)


def test_pandas_reads_a_folder_as_one_table(tmp_path):
    import pandas  # only here: it takes half a second

    found = kt.sweep(wave, {"x": kt.Uniform(0, 1)}, tmp_path / "s", draws=30, rows_per_part=10, workers=0)
    for frame in (pandas.read_parquet(tmp_path / "s"), found.pandas()):
        assert all(np.array_equal(frame[name], found[name]) for name in ("row", "x", "sine", "pair[1]"))


def test_other_design_or_study_is_refused(tmp_path):
    kt.sweep(wave, {"x": [1.0, 2.0]}, tmp_path / "s")
    with pytest.raises(kt.OptionError, match=r"another design .* with other values"):
        kt.sweep(wave, {"x": [1.0, 3.0]}, tmp_path / "s")
    with pytest.raises(kt.OptionError, match="another study"):
        kt.sweep(refuses_large, {"x": [1.0, 2.0]}, tmp_path / "s")
    with pytest.raises(kt.OptionError, match="holds a sweep already"):
        kt.sweep(wave, {"x": [1.0, 2.0]}, tmp_path / "s", resume=False)


def test_a_study_that_does_not_work_leaves_the_folder_free(tmp_path):
    def of_nothing(p):
        return {"y": p["z"]}

    with pytest.raises(kt.KinetreeError, match="all fail: KeyError"):
        kt.sweep(of_nothing, {"x": [1.0, 2.0]}, tmp_path / "s")
    assert not (tmp_path / "s").exists()
    mended = kt.sweep(wave, {"x": [1.0, 2.0]}, tmp_path / "s")
    assert (mended.rows, mended.computed) == (2, 2)
    assert kt.sweep(wave, {"x": [1.0, 2.0]}, tmp_path / "s").computed == 0


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (lambda p: {"x": p["x"] ** 2}, "no output can be called 'x'.*a parameter"),
        (lambda p: {"row": p["x"] ** 2}, "no output can be called 'row'"),
        (lambda p: {"y": p["x"], "failure": p["x"]}, "says in words"),
        (lambda p: p["x"] ** 2, "a mapping of names to arrays.*not ndarray"),
        (lambda p: {}, "not an empty one"),
        (lambda p: {"y": 1.0}, r"one per row.*shape \(\)"),
    ],
)
def test_answers_that_are_no_columns_are_refused(study, words):
    """What took the place of a parameter in the results was not seen, nor a study that returned no mapping."""
    with pytest.raises(kt.KinetreeError, match=words):
        kt.sweep(study, {"x": [1.0, 2.0, 3.0]})


def test_full_disk_keeps_what_is_finished(tmp_path):
    """A limit on the size of files stands for the disk: the last part is too large for it."""
    resource = pytest.importorskip("resource")
    sizes = {"now": 0}

    def grows(p):
        sizes["now"] += 1
        return {"y": np.random.default_rng(0).standard_normal((len(p["x"]), 1 if sizes["now"] < 5 else 5000))}

    options = {"draws": 100, "workers": 0, "rows_per_part": 20}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(kt.OutputError, match="3 of 5 parts are finished and stay"):
            kt.sweep(grows, {"x": kt.Uniform(0, 1)}, tmp_path / "s", **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == [
        "_sweep.json", "part-000000.parquet", "part-000001.parquet", "part-000002.parquet",
    ]  # fmt: skip
    assert SweepResult(tmp_path / "s").rows == 60


SCRIPT = """
import os, signal, sys, time
import numpy as np
import kinetree as kt

where, flag, here = sys.argv[1], sys.argv[2], os.getpid()

def slow(p):
    if os.getpid() != here and p["x"][0] > 0.5 and not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)  # a worker is lost
    time.sleep(0.02)
    return {"y": np.sin(p["x"])}

kt.sweep(slow, {"x": kt.Uniform(0, 1)}, where, draws=400, rows_per_part=10, workers=int(sys.argv[3]))
"""


def test_function_of_a_module_that_only_this_process_finds_is_sent_along(tmp_path, monkeypatch):
    """Whoever unpickles it has neither the module nor its folder."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "only_here_of_sweeps.py").write_text("FACTOR = 3.0\ndef f(p):\n    return {'y': FACTOR * p['x']}\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = importlib.import_module("only_here_of_sweeps").f
    blob = pickled(FunctionStudy(function), "the study", [function])
    monkeypatch.delitem(sys.modules, "only_here_of_sweeps")
    sys.path.remove(str(tmp_path))
    assert remote_part(blob, DesignRows(0, {"x": np.array([1.0, 2.0])}))["y"].tolist() == [3.0, 6.0]


@pytest.mark.slow
def test_killed_in_the_middle_and_a_worker_lost(tmp_path):
    """The whole program is killed, goes on with two processes, loses one: the same rows as undisturbed."""
    script, where, flag = tmp_path / "s.py", tmp_path / "s", tmp_path / "flag"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(where), str(flag)]
    with subprocess.Popen([*command, "0"]) as first:
        while first.poll() is None and len(list(where.glob("part-*.parquet"))) < 5:
            time.sleep(0.02)
        first.kill()
    flag.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in where.glob("part-*.parquet")}
    assert 5 <= len(before) < 40
    subprocess.run([*command, "2"], check=True)
    assert flag.exists()
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    alone = kt.sweep(lambda p: {"y": np.sin(p["x"])}, {"x": kt.Uniform(0, 1)}, draws=400, workers=0).arrays()
    found = SweepResult(where).arrays()
    assert all(np.array_equal(found[name], alone[name]) for name in ("row", "x", "y"))
    assert os.listdir(where).count("_sweep.json") == 1


# ------------------------------------------------------------------ of robots


def test_samples_that_are_too_few_for_what_outputs_look_at(pendulum):
    """A pendulum that goes round and round: v^2 differs by 4 g l between bottom and top."""
    robot = pendulum.with_backend("compiled")
    spin = {"v0": [40.0], "time": 4.0, "integrator": "rk4", "step": 1e-3, "workers": 0}
    given, outputs = {"bob_joint.damping": [0.0]}, {"between": lambda record: np.ptp(record.v[..., 0] ** 2, axis=0)}
    with pytest.warns(kt.KinetreeWarning, match=r"101 samples, 0\.04 s apart, .* 'bob_joint' turns by 1\.6 rad"):
        kt.sweep(robot, given, outputs=outputs, **spin)
    kt.sweep(robot, given, outputs="final.q.bob_joint", **spin)  # which is one sample
    found = kt.sweep(robot, given, outputs=outputs, samples=2001, **spin)
    assert found["between"] == pytest.approx(4 * 9.81, rel=1e-2)
    with pytest.raises(kt.OptionError, match=r"output of a sweep is a folder.* not int; how many samples .* samples="):
        kt.sweep(robot, given, 4001, outputs=outputs, **spin)


def test_simulations_are_those_of_simulate(pendulum):
    """With a fixed step in one batch, with an adaptive one row by row: both are what simulate says."""
    hold = kt.trajectories.Constant([0.3], 10.0)
    controller = kt.control.PD(hold, kp=5.0, kd=0.5)
    spring = kt.forces.JointSpring("bob_joint", 2.0)
    given = {
        "bob_joint.damping": [0.0, 0.2], "controller.kp": [1.0, 10.0], "q0.bob_joint": [0.1, 0.5],
        "gravity.z": [-9.81], "bodies.bob.mass": [2.0], "forces[0].stiffness": [0.5, 3.0],
    }  # fmt: skip
    options = {"time": 0.3, "controller": controller, "forces": [spring], "workers": 0}
    outputs = {"end": "final.q.bob_joint", "highest": lambda record: record.q[..., 0].max(axis=0)}
    fixed = kt.sweep(pendulum, given, integrator="rk4", step=0.01, outputs=outputs, **options).arrays()
    k = 11
    row = {name: fixed[name][k] for name in given}
    alone = kt.simulate(
        pendulum, [row["q0.bob_joint"]], time=0.3, integrator="rk4", step=0.01, samples=101,
        controller=kt.control.PD(hold, kp=row["controller.kp"], kd=0.5),
        forces=[kt.forces.JointSpring("bob_joint", row["forces[0].stiffness"])],
        parameters={"bob_joint.damping": row["bob_joint.damping"], "gravity": [0, 0, row["gravity.z"]],
                    "bodies": {"bob": {"mass": 2.0}}},
    )  # fmt: skip
    assert fixed["end"][k] == pytest.approx(alone.q[-1, 0], abs=1e-12)
    assert fixed["highest"][k] == pytest.approx(alone.q.max(), abs=1e-12)
    rows = {name: fixed[name][[3, k]] for name in given}
    adaptive = kt.sweep(pendulum, rows, design="table", outputs=outputs, **options)
    assert np.allclose(adaptive["end"], fixed["end"][[3, k]], atol=1e-6)


def test_forces_of_the_gallery_are_those_of_inverse_dynamics():
    robot, motion = kt.load("kuka-kr5"), kt.gallery.motion("kuka-kr5")
    found = kt.sweep("kuka-kr5", {"bodies.link_2.mass": kt.Uniform(0.8, 1.2, relative=True)}, draws=5, workers=0)
    states = motion.states(motion.grid(101))
    for mass, peak in zip(found["bodies.link_2.mass"], found["peak_force"], strict=True):
        tau = robot.inverse_dynamics(*states, parameters={"bodies": {"link_2": {"mass": mass}}})
        assert peak == pytest.approx(np.abs(tau).max(), rel=1e-12)


def test_dimensions_of_a_mechanism_vary_and_what_cannot_turn_says_so():
    study = kt.sweeps.gallery_forces("four-bar", samples=13, outputs=["peak_force", "work"])
    found = kt.sweep(study, {"loops.crank_pin.position.x": [0.038, 0.5]})
    motion = kt.gallery.motion("four-bar")
    tau = kt.load("four-bar").inverse_dynamics(*motion.states(motion.grid(13)))
    assert found["peak_force"][0] == pytest.approx(np.abs(tau).max(), rel=1e-9)
    assert found.failures()["row"].tolist() == [1]
    assert np.isnan(found["peak_force"][1])


# ------------------------------------------------------------------ what is said of all rows


def test_reductions_are_those_of_all_rows_at_once():
    found = kt.sweep(
        lambda p: {"y": np.where(p["x"] > 0.99, np.nan, np.round(p["x"] ** 3, 3))}, {"x": kt.Uniform(0, 1)},
        draws=3000, workers=0, rows_per_part=256,
    )  # fmt: skip
    y = found["y"]
    good = y[~np.isnan(y)]
    assert found.count("y") == len(good)
    assert found.mean("y") == pytest.approx(good.mean(), rel=1e-13)
    assert found.deviation("y") == pytest.approx(good.std(ddof=1), rel=1e-13)
    shares = [0.0, 0.001, 0.25, 0.5, 0.731, 1.0]
    assert found.quantile("y", shares).tolist() == pytest.approx(np.quantile(good, shares), rel=1e-14)
    counts, edges = found.histogram("y", 20)
    assert np.array_equal(counts, np.histogram(good, edges)[0])
    best = found.best("y", 4, largest=True)
    assert best["y"].tolist() == sorted(good)[::-1][:4]
    assert np.array_equal(found["x"][best["row"]], best["x"])
    assert found.reduce(0, lambda n, part: n + len(part["x"]), ["x"]) == 3000


def test_quantiles_by_passes_when_many_share_an_interval(monkeypatch):
    monkeypatch.setattr("kinetree_sweeps.result.FEW", 10)
    monkeypatch.setattr("kinetree_sweeps.result.BINS", 4)
    x = np.concatenate([np.full(60, 0.25), np.random.default_rng(0).lognormal(0, 3, 200), [-1e300, 1e300]])
    found = kt.sweep(lambda p: {"y": p["x"]}, {"x": x}, design="table", workers=0, rows_per_part=50)
    shares = np.linspace(0, 1, 9)
    assert np.array_equal(found.quantile("y", shares), np.quantile(x, shares))


def test_quantiles_of_numbers_whose_range_is_no_float(monkeypatch):
    monkeypatch.setattr("kinetree_sweeps.result.FEW", 3)
    monkeypatch.setattr("kinetree_sweeps.result.BINS", 4)
    x = np.concatenate([np.linspace(-1.0, 1.0, 30) * 1.7e308, [-1.7e308, 1.7e308, 2.0, 3.0]])
    found = kt.sweep(lambda p: {"y": p["x"]}, {"x": x}, design="table", workers=0, rows_per_part=7)
    assert np.array_equal(found.quantile("y", np.arange(34) / 33), np.sort(x))  # its very numbers
    two = kt.sweep(lambda p: {"y": p["x"]}, {"x": [-1.6e308, 1.6e308]}, workers=0)
    found = two.quantile("y", [0.0, 0.25, 0.5, 1.0]).tolist()
    assert found == pytest.approx([-1.6e308, -0.8e308, 0.0, 1.6e308], rel=1e-15)


@pytest.mark.parametrize(("first", "others", "processes"), [(4.0, 0.01, False), (0.1, 2.0, True), (6.0, 0.01, True)])
def test_making_machine_code_is_not_taken_for_much_work(monkeypatch, first, others, processes):
    now, asked = [0.0], []

    def takes(p):
        now[0] += others if asked else first * (len(p["x"]) > 1)  # a single row is tried before
        asked.extend([0] * (len(p["x"]) > 1))
        return {"y": p["x"]}

    def no_processes(*_):
        raise NotImplementedError("processes")

    monkeypatch.setattr("kinetree_sweeps.running.clock", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr("kinetree_sweeps.running.executor_of", no_processes)
    monkeypatch.setattr("kinetree_sweeps.running.os.cpu_count", lambda: 4)
    study = {"study": takes, "parameters": {"x": np.arange(40.0)}, "rows_per_part": 4, "progress": False}
    with pytest.raises(NotImplementedError) if processes else contextlib.nullcontext():
        kt.sweep(**study)
    assert len(asked) == (10 if not processes else 1 if first > 5 else 2)


def test_other_programs_read_the_folder(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    kt.sweep(lambda p: {"y": p["x"]}, {"x": np.arange(10.0)}, tmp_path / "s", workers=0, rows_per_part=4)
    kt.sweeps.over_table("kuka-kr5", "inverse_dynamics", _motion(tmp_path / "m.parquet"), tmp_path / "t")
    for folder, rows in (("s", 10), ("t", 3)):
        assert dataset.dataset(tmp_path / folder, format="parquet").to_table().num_rows == rows


def _motion(path):
    import pyarrow
    import pyarrow.parquet

    names = [f"{key}_{name}" for key in "qva" for name in kt.load("kuka-kr5").v_names]
    pyarrow.parquet.write_table(pyarrow.table({name: np.zeros(3) for name in names}), path)
    return path


def test_infinite_rows_are_counted_at_the_ends():
    x = np.concatenate([np.random.default_rng(0).normal(size=200), [np.inf, np.inf, -np.inf, np.nan]])
    found = kt.sweep(lambda p: {"y": x[p["k"].astype(int)]}, {"k": np.arange(len(x))}, workers=0, rows_per_part=70)
    numbers = np.sort(x[:-1])
    assert found.quantile("y", np.arange(203) / 202).tolist() == pytest.approx(numbers.tolist())
    assert np.array_equal(found.histogram("y", 7)[0], np.histogram(x[:200], 7)[0])
    assert np.isnan(found.mean("y"))  # both infinities
    above = kt.sweep(
        lambda p: {"y": np.where(p["x"] == 9, np.inf, p["x"])}, {"x": np.arange(300.0)}, workers=0, rows_per_part=70
    )
    assert above.mean("y") == np.inf


def test_an_interrupted_sweep_says_what_stays(tmp_path):
    calls = []

    def doubled(p):
        calls.append(len(p["x"]))
        if len(calls) == 4:  # one row is tried before the parts
            raise KeyboardInterrupt
        return {"y": 2.0 * p["x"]}

    with pytest.raises(KeyboardInterrupt) as stopped:
        kt.sweep(doubled, {"x": np.arange(50.0)}, tmp_path / "kept", rows_per_part=10, workers=0)
    assert "2 of 5 parts are finished and stay in" in stopped.value.__notes__[0]
    assert len(list((tmp_path / "kept").glob("*.parquet"))) == 2


def test_a_sweep_without_a_folder_is_kept_in_memory_until_files_are_asked_for(tmp_path):
    def odd(p):
        if p["x"][0] == 3.0:
            raise ValueError("no")
        return {"y": p["x"] ** 2, "both": np.stack([p["x"], -p["x"]], axis=-1)}

    design = {"x": [1.0, 2.0, 3.0, 4.0]}
    kept = kt.sweep(odd, design, rows_per_part=1, progress=False)
    written = kt.sweep(odd, design, output=tmp_path / "out", rows_per_part=1, progress=False)
    assert not list(kept._folder.path.iterdir())
    assert kept.names == written.names
    for name in kept.names:
        np.testing.assert_array_equal(kept[name], written[name])
    assert kept.best("y", 1)["failure"][0] is None
    assert len(kept.failures()["row"]) == 1
    assert len(kept.files) == len(list(kept.path.glob("*.parquet"))) == 4
    assert kept.arrow().to_table().num_rows == 4
    np.testing.assert_array_equal(kt.sweeps.SweepResult(kept.path)["y"], written["y"])


def test_forces_without_friction_do_not_vary_it(pendulum):
    motion = kt.trajectories.Cycloid([0.0], [1.0], 1.0)
    varied = {"bob_joint.damping": [0.0, 0.5]}
    with pytest.raises(kt.OptionError, match=r"'bob_joint.damping' changes nothing, since these forces leave friction"):
        kt.sweep(kt.sweeps.Forces(pendulum, motion), varied)
    found = kt.sweep(kt.sweeps.Forces(pendulum, motion, friction=True, outputs="rms_force"), varied)
    assert np.ptp(found["rms_force"]) > 0.1
