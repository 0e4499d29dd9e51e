"""``kinetree id`` and ``fd``: tables in, tables out, and what happens to bad ones."""

import csv
import io
import json
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid

import kinetree as kt
from helpers.cli import invoke
from kinetree.errors import StateError
from kinetree.identification.doubts.about_samples import doubtful_angles
from kinetree.io.tables import reading, writing
from kinetree.io.tables.converting import convert, first_fault

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.csv as arrow_csv  # noqa: E402
import pyarrow.parquet as parquet  # noqa: E402

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kuka_kr5.urdf"
ROWS = 50
WORDS = {"q": "position", "v": "velocity", "a": "acceleration"}
UNITS = {"q": "rad", "v": "rad/s", "a": "rad/s^2"}


@pytest.fixture(scope="module")
def arm():
    return kt.gallery.load("kuka-kr5")


@pytest.fixture(scope="module")
def motion(arm):
    rng = np.random.default_rng(5)
    q, (v, a) = arm.random_configuration(rng, ROWS), rng.standard_normal((2, ROWS, arm.nv))
    return np.linspace(0.0, 1.0, ROWS), q, v, a


def named(robot, **arrays):
    """Header and rows."""
    columns = {}
    for key, values in arrays.items():
        if values.ndim == 1:
            columns[key] = values
            continue
        names = robot.q_names if key == "q" else robot.v_names
        columns |= {f"{key}_{name}": column for name, column in zip(names, values.T, strict=True)}
    return columns


def write_csv(path, columns, delimiter=","):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))


def read_csv(path):
    header, *rows = csv.reader(io.StringIO(path.read_text()))
    return header, np.array(rows, dtype=float)


@pytest.fixture
def table(tmp_path, arm, motion):
    t, q, v, a = motion
    path = tmp_path / "motion.csv"
    write_csv(path, named(arm, time=t, q=q, v=v, a=a))
    return path


def faulty(path, line, change):
    """The same table with another line."""
    lines = path.read_text().split("\n")
    lines[line - 1] = change(lines[line - 1])
    path.write_text("\n".join(lines))
    return path


def cell(k, text):
    def change(line):
        cells = line.split(",")
        cells[k] = text
        return ",".join(cells)

    return change


@pytest.fixture(params=["pyarrow", "without"])
def reader(request, monkeypatch):
    """With the fast reader and writer, and without."""
    if request.param == "without":
        monkeypatch.setattr(reading, "pyarrow", lambda: None)
        monkeypatch.setattr(writing, "pyarrow", lambda: None)
    return request.param


# ---------------------------------------------------------------- right answers


def test_every_number_is_that_of_the_library(tmp_path, arm, motion, table, reader):
    invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv")
    header, rows = read_csv(tmp_path / "tau.csv")
    t, q, v, a = motion
    assert header == ["time", *(f"tau_{name}" for name in arm.v_names)]
    assert np.array_equal(rows[:, 0], t)
    assert np.array_equal(rows[:, 1:], arm.inverse_dynamics(q, v, a))


def test_entries_of_free_joints_may_be_named_or_numbered(tmp_path):
    robot = kt.load(EXAMPLE, floating_base=True)
    rng = np.random.default_rng(3)
    q, (v, a) = robot.random_configuration(rng, 3), rng.standard_normal((2, 3, robot.nv))
    columns = named(robot, q=q, v=v, a=a)
    assert {"q_floating_base.qw", "v_floating_base.wx", "a_floating_base.vz"} <= columns.keys()
    counted = {}
    for key, values in (("q", q), ("v", v), ("a", a)):
        free = values.shape[1] - 6
        labels = [f"floating_base[{k}]" for k in range(free)] + robot.v_names[6:]
        counted |= {f"{key}_{label}": column for label, column in zip(labels, values.T, strict=True)}
    for table in (columns, dict(reversed(counted.items()))):
        write_csv(tmp_path / "m.csv", table)
        invoke("id", EXAMPLE, "--floating-base", tmp_path / "m.csv", "-o", tmp_path / "tau.csv")
        header, rows = read_csv(tmp_path / "tau.csv")
        assert header == [f"tau_{name}" for name in robot.v_names]
        assert np.array_equal(rows, robot.inverse_dynamics(q, v, a))


def test_the_answer_is_drawn_and_degrees_without_a_name_are_noticed(tmp_path, arm, motion, table):
    t, q, v, a = motion
    told = invoke("inverse", "kuka-kr5", table, "-o", tmp_path / "tau.csv", "--plot", tmp_path / "tau.svg")
    assert "degrees" not in told.stderr
    picture = (tmp_path / "tau.svg").read_text()
    assert all(f"<!-- {text} -->" in picture for text in ("torque [N m]", "time [s]", *arm.v_names))
    assert picture.count("<!-- torque [N m] -->") == 1
    invoke("inverse", "kuka-kr5", table, "-o", tmp_path / "tau.csv", "--plot", tmp_path / "tau.svg", "--separate")
    picture = (tmp_path / "tau.svg").read_text()
    assert picture.count("<!-- torque [N m] -->") == arm.nv
    assert all(f"<!-- {name} -->" in picture for name in arm.v_names)
    told = invoke("inverse", "kuka-kr5", table, "-o", tmp_path / "tau.csv", "--separate", code=1)
    assert "--separate needs --plot" in told.stderr
    write_csv(tmp_path / "turned.csv", named(arm, time=t, q=90.0 + q, v=v, a=a))
    told = invoke("inverse", "kuka-kr5", tmp_path / "turned.csv", "-o", tmp_path / "tau.csv")
    assert "positions look like degrees" in told.stderr
    assert "q_elbow [deg]" in told.stderr
    told = invoke("inverse", "kuka-kr5", table, "-o", tmp_path / "parts", "--plot", tmp_path / "tau.svg", code=1)
    assert "give a file to write" in told.stderr


def test_forward_dynamics_undoes_it(tmp_path, arm, motion):
    _, q, v, a = motion
    tau = arm.inverse_dynamics(q, v, a)
    write_csv(tmp_path / "s.csv", named(arm, tau=tau, v=v, q=q))  # columns are found by name, in any order
    invoke("fd", "kuka-kr5", tmp_path / "s.csv", "-o", tmp_path / "a.csv")
    header, rows = read_csv(tmp_path / "a.csv")
    assert header == [f"a_{name}" for name in arm.v_names]
    assert np.abs(rows - a).max() < 1e-8 * np.abs(a).max()


def test_parts_join_without_a_seam(tmp_path, arm, motion, table, reader, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 1000)
    invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv", "--threads", "3")
    assert np.array_equal(read_csv(tmp_path / "tau.csv")[1][:, 1:], arm.inverse_dynamics(*motion[1:]))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
@pytest.mark.parametrize("source", [".csv", ".parquet", ".npz"])
def test_all_formats(tmp_path, arm, motion, table, source, ending):
    t, q, v, a = motion
    given = tmp_path / f"motion{source}"
    if source == ".npz":
        np.savez(given, q=q, v=v, a=a, time=t)
    if source == ".parquet":
        parquet.write_table(pyarrow.table(named(arm, time=t, q=q, v=v, a=a)), given)
    output = tmp_path / f"out{ending}"
    invoke("id", "kuka-kr5", given, "-o", output)
    if ending == ".npz":
        found = np.load(output)
        time_found, tau = found["time"], found["tau"]
    elif ending == ".parquet":
        rows = parquet.read_table(output)
        time_found, tau = rows["time"].to_numpy(), np.column_stack([rows[f"tau_{n}"].to_numpy() for n in arm.v_names])
    else:
        rows = read_csv(output)[1]
        time_found, tau = rows[:, 0], rows[:, 1:]
    assert np.array_equal(time_found, t)
    assert np.array_equal(tau, arm.inverse_dynamics(q, v, a))


@pytest.mark.parametrize(
    "header",
    [
        lambda key, k, name: f"{key}{k}",
        lambda key, k, name: f"{key}_{k + 1}",
        lambda key, k, name: f"{key}:{name}",
        lambda key, k, name: f"{key} {name} [{UNITS[key]}]",
        lambda key, k, name: f" {WORDS[key]} {name} [{UNITS[key]}]",
    ],
)
def test_columns_by_other_names(tmp_path, arm, motion, header):
    _, q, v, a = motion
    columns = {header(key, k, name): x[:, k] for key, x in (("v", v), ("a", a), ("q", q))
               for k, name in enumerate(arm.v_names)}  # fmt: skip
    write_csv(tmp_path / "m.csv", columns, delimiter=";")
    invoke("id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "tau.csv")
    assert np.array_equal(read_csv(tmp_path / "tau.csv")[1], arm.inverse_dynamics(q, v, a))


@pytest.mark.parametrize("with_time", [False, True])
def test_plain_order_without_names(tmp_path, arm, motion, with_time):
    t, q, v, a = motion
    np.savetxt(tmp_path / "m.csv", np.column_stack([*([t] if with_time else []), q, v, a]), fmt="%.17g", delimiter=",")
    result = invoke("id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "tau.csv")
    assert "taken in order" in result.stderr
    rows = read_csv(tmp_path / "tau.csv")[1]
    assert np.array_equal(rows[:, -arm.nv :], arm.inverse_dynamics(q, v, a))
    assert rows.shape[1] == arm.nv + with_time


@pytest.mark.parametrize("name", [lambda n: f"signal-{n}", lambda n: n.replace("joint", "joynt")])
def test_names_that_are_not_understood_are_never_taken_in_their_order(tmp_path, arm, motion, name):
    """Otherwise accelerations, velocities and positions could be taken for one another in silence."""
    _, q, v, a = motion
    write_csv(tmp_path / "m.csv", {name(n): x for n, x in named(arm, a=a, v=v, q=q).items()})
    problem = invoke("id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "tau.csv", code=1).stderr
    assert "18 columns are missing: q_joint_1, " in problem
    assert ("'q_joynt_1' may be 'q_joint_1'" in problem) == ("joynt" in name("joint"))
    assert not (tmp_path / "tau.csv").exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_units_in_the_header_are_converted(tmp_path, arm, motion, ending):
    t, q, v, a = motion
    given = {"time [ms]": 1e3 * t} | {
        f"{name} [{unit}]": x / scale
        for (name, x), (unit, scale) in zip(
            named(arm, q=q, v=v, a=a).items(),
            [*[("deg", np.pi / 180)] * 6, *[("rpm", np.pi / 30)] * 6, *[("°/s²", np.pi / 180)] * 6],
            strict=True,
        )
    }
    path = tmp_path / f"m{ending}"
    write_csv(path, given) if ending == ".csv" else parquet.write_table(pyarrow.table(given), path)
    invoke("id", "kuka-kr5", path, "-o", tmp_path / "tau.csv")
    rows = read_csv(tmp_path / "tau.csv")[1]
    assert np.allclose(rows[:, 0], t, rtol=1e-14)
    tau = arm.inverse_dynamics(q, v, a)
    assert np.allclose(rows[:, 1:], tau, rtol=1e-11, atol=1e-11 * np.abs(tau).max())


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        ("mm", "the unit 'mm' does not fit; it must be a unit of the kind of 'rad'"),
        ("deg/s", "does not fit"),
        ("furlong", "is not understood"),
        ("degs", "did you mean 'deg"),
    ],
)
def test_units_that_cannot_be_are_refused(tmp_path, arm, motion, unit, told):
    _, q, v, a = motion
    columns = {n.replace("q_joint_3", f"q_joint_3 [{unit}]"): x for n, x in named(arm, q=q, v=v, a=a).items()}
    write_csv(tmp_path / "m.csv", columns)
    problem = invoke("id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "tau.csv", code=1).stderr
    assert f"column 'q_joint_3 [{unit}]'" in problem
    assert told in problem


@pytest.mark.parametrize("twin", ["q:joint_2", "q_joint_2 [deg]"])
def test_two_columns_of_the_same_thing_are_refused(tmp_path, arm, motion, twin):
    _, q, v, a = motion
    write_csv(tmp_path / "m.csv", named(arm, q=q, v=v, a=a) | {twin: q[:, 0]})
    problem = invoke("id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "tau.csv", code=1).stderr
    assert f"columns 'q_joint_2' and '{twin}' are of the same thing" in problem


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("\n", "\r"), "line 1: a lone carriage return"),
        (lambda text: text[:5000] + text[5000:].replace("\n", "\r", 1), "a lone carriage return"),
        (lambda text: f'"{"x" * 140_000}",{text}', "line 1: the line cannot be split into columns (field larger"),
        (lambda text: f'"{text}', "line 1: the line cannot be split into columns (unexpected end"),
        (lambda text: text + "1" * 140_000, "line 52: the line cannot be read (field larger"),
    ],
)
def test_lines_that_cannot_be_split(tmp_path, table, reader, change, told):
    table.write_text(change(table.read_text()), newline="")
    problem = invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv", code=1).stderr
    assert told in problem


def test_columns_that_are_not_used_are_named(tmp_path, arm, motion, table):
    _, q, v, a = motion
    write_csv(tmp_path / "m.csv", named(arm, q=q, v=v, a=a) | {"temperature": q[:, 0]})
    assert "not used: temperature" in invoke("id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "t.csv").stderr


def test_not_a_number_stays_in_its_row(tmp_path, arm, motion, table, reader):
    faulty(table, 7, cell(2, "nan"))
    invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv")
    lost = np.isnan(read_csv(tmp_path / "tau.csv")[1][:, 1:])
    assert lost[5].any()
    assert not np.delete(lost, 5, axis=0).any()


def test_mechanisms_with_loops(tmp_path):
    robot, motion = kt.gallery.load("four-bar"), kt.gallery.motion("four-bar")
    times = motion.grid(30)
    q, v, a = motion.states(times)
    np.savez(tmp_path / "m.npz", q=q, v=v, a=a)
    invoke("id", "four-bar", tmp_path / "m.npz", "-o", tmp_path / "tau.npz")
    tau = np.load(tmp_path / "tau.npz")["tau"]
    assert tau[0, 0] == pytest.approx(2.009999, abs=5e-7)  # Shah table 10.5
    assert np.array_equal(tau, robot.inverse_dynamics(q, v, a))
    q[17, 1] += 0.1
    np.savez(tmp_path / "m.npz", q=q, v=v, a=a)
    problem = invoke("id", "four-bar", tmp_path / "m.npz", "-o", tmp_path / "no.npz", code=1).stderr
    assert "row 18" in problem
    assert "do not allow this configuration" in problem
    assert not (tmp_path / "no.npz").exists()


def motors_only(robot, q, v, a, **times):
    """A table of the independent joints."""
    names = robot.independent()
    at = [robot.v_names.index(name) for name in names]
    on = [robot.q_names.index(name) for name in names]
    columns = {"time": times["time"]} if times else {}
    for key, values in (("q", q[:, on]), ("v", v[:, at]), ("a", a[:, at])):
        columns |= {f"{key}_{name}": values[:, k] for k, name in enumerate(names)}
    return columns


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "3-rrr", "stewart-platform"])
@pytest.mark.parametrize("block", [500, 10**6])
def test_from_the_independent_joints_of_a_mechanism_the_others_follow(tmp_path, monkeypatch, name, block):
    """Against the sources' own motion of all joints, however the table is cut into parts."""
    monkeypatch.setattr(reading, "BLOCK", block)
    robot, motion = kt.gallery.load(name), kt.gallery.motion(name)
    times = motion.grid(60)
    q, v, a = motion.states(times)
    write_csv(tmp_path / "m.csv", motors_only(robot, q, v, a, time=times))
    invoke("id", name, tmp_path / "m.csv", "-o", tmp_path / "tau.csv")
    header, table = read_csv(tmp_path / "tau.csv")
    assert header == ["time", *(f"tau_{label}" for label in robot.v_names)]
    tau = robot.inverse_dynamics(q, v, a)
    assert np.allclose(table[:, 1:], tau, rtol=1e-7, atol=1e-7 * np.abs(tau).max())


def test_from_the_independent_joints_in_other_forms(tmp_path):
    robot, motion = kt.gallery.load("five-bar"), kt.gallery.motion("five-bar")
    q, v, a = motion.states(motion.grid(20))
    columns = motors_only(robot, q, v, a)
    plain = np.column_stack(list(columns.values()))
    tau = robot.inverse_dynamics(q, v, a)
    np.savetxt(tmp_path / "plain.csv", plain, delimiter=",")
    np.savez(tmp_path / "m.npz", q=plain[:, :2], v=plain[:, 2:4], a=plain[:, 4:])
    parquet.write_table(pyarrow.table(columns), tmp_path / "m.parquet")
    for name in ("plain.csv", "m.npz", "m.parquet"):
        invoke("id", "five-bar", tmp_path / name, "-o", tmp_path / "tau.npz")
        assert np.allclose(np.load(tmp_path / "tau.npz")["tau"], tau, rtol=1e-7, atol=1e-7 * np.abs(tau).max())


def test_forward_dynamics_from_the_independent_joints(tmp_path):
    robot, motion = kt.gallery.load("3-rrr"), kt.gallery.motion("3-rrr")
    q, v, a = motion.states(motion.grid(20))
    tau = robot.inverse_dynamics(q, v, a)
    columns = motors_only(robot, q, v, tau)
    write_csv(tmp_path / "m.csv", {name.replace("a_arm", "tau_arm"): x for name, x in columns.items()})
    invoke("fd", "3-rrr", tmp_path / "m.csv", "-o", tmp_path / "a.npz")
    assert np.allclose(np.load(tmp_path / "a.npz")["a"], a, rtol=1e-6, atol=1e-6 * np.abs(a).max())


def test_the_branch_is_that_of_the_initial_configuration(tmp_path):
    """A four-bar has two assemblies with its crank at one angle: each is found from a configuration on it."""
    robot = kt.gallery.load("four-bar")
    q = robot.close(kt.gallery.start("four-bar"), fixed=["crank_joint"])
    pin = robot.pose(q, "coupler")[:3, 3]  # where rocker and coupler meet; the other assembly has it mirrored
    others = [
        robot.close(robot.random_configuration(k), fixed={"crank_joint": q[0]}, must_close=False) for k in range(20)
    ]
    other = next(
        x for x in others if np.isfinite(x).all() and np.abs(robot.pose(x, "coupler")[:3, 3] - pin).max() > 1e-3
    )
    t = np.linspace(0.0, 0.3, 31)
    write_csv(tmp_path / "m.csv", {"q_crank_joint": q[0] + t, "v_crank_joint": 1.0 + 0 * t, "a_crank_joint": 0 * t})
    found = {}
    for name, start in (("drawn", q), ("other", other)):
        initial = ",".join(repr(float(x)) for x in start)
        invoke("id", "four-bar", tmp_path / "m.csv", "-o", tmp_path / "tau.npz", "--q-guess", initial)
        found[name] = np.load(tmp_path / "tau.npz")["tau"][:, 0]
        now, forces = start, []
        for x in t:
            now = robot.close(now, fixed={"crank_joint": q[0] + x})
            rates = robot.velocities(now, [1.0])
            forces.append(robot.inverse_dynamics(now, rates, robot.accelerations(now, rates, [0.0]))[0])
        assert np.allclose(found[name], forces, rtol=1e-8, atol=1e-8)
    assert np.abs(found["drawn"] - found["other"]).max() > 1e-2
    invoke("id", "four-bar", tmp_path / "m.csv", "-o", tmp_path / "tau.npz")
    assert np.allclose(np.load(tmp_path / "tau.npz")["tau"][:, 0], found["drawn"], rtol=1e-8, atol=1e-8)


def test_rows_of_the_independent_joints_that_are_lost_or_far_apart(tmp_path):
    """Two turns of the crank in eight rows, one of them NaN: the rocker has swung to and fro, not turned."""
    robot = kt.gallery.load("four-bar")
    angles = kt.gallery.start("four-bar")[0] + np.linspace(0.0, 4 * np.pi, 9)
    rest = np.zeros(9)
    lost = angles.copy()
    lost[3] = np.nan
    write_csv(tmp_path / "m.csv", {"q_crank_joint": lost, "v_crank_joint": rest, "a_crank_joint": rest})
    invoke("id", "four-bar", tmp_path / "m.csv", "-o", tmp_path / "tau.npz")
    tau = np.load(tmp_path / "tau.npz")["tau"]
    assert np.isnan(tau[3, 0])
    assert np.isfinite(np.delete(tau, 3, axis=0)).all()
    assert tau[0] == pytest.approx(tau[4], abs=1e-9)  # a whole turn later
    assert tau[0] == pytest.approx(tau[8], abs=1e-9)
    weight = robot.reduced_bias_force(robot.close(kt.gallery.start("four-bar"), fixed=["crank_joint"]), np.zeros(3))
    assert tau[0, 0] == pytest.approx(weight[0])


def test_what_is_said_about_tables_of_some_joints(tmp_path):
    robot, motion = kt.gallery.load("five-bar"), kt.gallery.motion("five-bar")
    q, v, a = motion.states(motion.grid(10))
    columns = motors_only(robot, q, v, a)
    only = "or give only q_arm_1_joint, q_arm_2_joint, v_arm_1_joint, v_arm_2_joint, a_arm_1_joint, a_arm_2_joint"
    other = next(name for name in robot.q_names if name not in robot.independent())
    write_csv(tmp_path / "m.csv", columns | {f"q_{other}": q[:, robot.q_names.index(other)]})
    refused(tmp_path, tmp_path / "m.csv", "m.csv, line 1", "columns are missing", only, "follow", robot="five-bar")
    del columns["a_arm_2_joint"]
    write_csv(tmp_path / "m.csv", columns)
    refused(tmp_path, tmp_path / "m.csv", "m.csv, line 1", "columns are missing", only, robot="five-bar")
    np.savetxt(tmp_path / "m.csv", np.zeros((3, 5)), delimiter=",")
    refused(tmp_path, tmp_path / "m.csv", "5 columns, but 12 are needed", only, robot="five-bar")
    write_csv(tmp_path / "m.csv", named(robot, q=q, v=v, a=a))
    said = invoke(
        "id", "five-bar", tmp_path / "m.csv", "-o", tmp_path / "t.csv", "--q-guess", "free-fall", code=1
    ).stderr
    assert "--q-guess is for mechanisms of which only" in said


def test_a_row_that_no_configuration_belongs_to_is_named(tmp_path, monkeypatch):
    """One leg of a Stewart platform meters longer than the others reach."""
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")
    robot, motion = kt.gallery.load("stewart-platform"), kt.gallery.motion("stewart-platform")
    columns = motors_only(robot, *motion.states(motion.grid(10)))
    columns["q_stroke_2"][6:] += 5.0
    write_csv(tmp_path / "m.csv", columns)
    refused(tmp_path, tmp_path / "m.csv", "m.csv, line 8", "cannot be closed", robot="stewart-platform")


def test_the_record_of_a_simulation_is_such_a_table(tmp_path):
    robot = kt.gallery.load("gripper")
    record = kt.simulate(robot, kt.gallery.start("gripper", "free-fall"), time=0.2, samples=21, friction=False)
    for name in ("r.csv", "r.npz", "r.parquet"):
        record.save(tmp_path / name)
        invoke("id", "gripper", tmp_path / name, "-o", tmp_path / "tau.npz")
        assert np.abs(np.load(tmp_path / "tau.npz")["tau"]).max() < 1e-9  # it fell freely


# ---------------------------------------------------------------- bad tables


def refused(tmp_path, table, *words, robot="kuka-kr5", output="tau.csv"):
    before = sorted(tmp_path.iterdir())
    problem = invoke("id", robot, table, "-o", tmp_path / output, code=1).stderr
    for word in words:
        assert word in problem, problem
    assert sorted(tmp_path.iterdir()) == before  # nothing is left behind


@pytest.mark.parametrize("output", ["tau.csv", "tau.npz", "tau.parquet"])
def test_a_column_too_few(tmp_path, table, reader, output):
    if output.endswith("parquet") and reader == "without":
        pytest.skip("Parquet needs pyarrow")
    faulty(table, 30, lambda line: line.rpartition(",")[0])
    refused(tmp_path, table, "motion.csv, line 30", "18 columns", "first line has 19", output=output)


def test_a_column_too_many(tmp_path, table, reader):
    refused(tmp_path, faulty(table, 3, lambda line: line + ",1"), "motion.csv, line 3", "20 columns")


def test_text_in_a_number_column(tmp_path, table, reader):
    refused(tmp_path, faulty(table, 21, cell(5, "five")), "motion.csv, line 21", "'q_joint_5'", "'five'")


def test_a_missing_value(tmp_path, table, reader):
    refused(tmp_path, faulty(table, 51, cell(9, " ")), "motion.csv, line 51", "'v_joint_3' is missing")


def test_faults_in_later_parts(tmp_path, table, reader, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", 2000)
    refused(tmp_path, faulty(table, 40, cell(5, "five")), "motion.csv, line 40", "'five'")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("gap", ["\n", "\n\n\n", "  \n"])
@pytest.mark.parametrize("block", [1, 2000, 10**6])
def test_an_empty_line_between_rows(tmp_path, table, reader, monkeypatch, block, gap, newline):
    """Rows of a lost sample were passed over in silence."""
    monkeypatch.setattr(reading, "BLOCK", block)
    whole = table.read_bytes()
    for line in (2, 40):
        faulty(table, line, lambda text: gap + text)
        table.write_bytes(table.read_bytes().replace(b"\n", newline.encode()))
        refused(tmp_path, table, f"motion.csv, line {line}:", "line is empty")
        table.write_bytes(whole)


def test_an_empty_line_among_rows_of_one_number(tmp_path, reader):
    wanted = {"q": ["angle"]}
    path = tmp_path / "one.csv"
    path.write_text("q_angle\n1.0\n\n2.0\n")
    with pytest.raises(kt.FileFormatError, match=r"one.csv, line 3: the line is empty"):
        [part.read() for part in reading.open_table(path, wanted).parts()]
    path.write_text("q_angle\n1.0\n2.0\n\n")
    (part,) = reading.open_table(path, wanted).parts()
    assert part.read().arrays[0].tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("block", [1000, 10**6])
def test_time_that_does_not_increase(tmp_path, table, motion, block, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK", block)
    before = repr(float(motion[0][27]))
    refused(tmp_path, faulty(table, 30, cell(0, before)), "motion.csv, line 30", "time does not increase")


def test_time_at_the_seam_of_two_parts(tmp_path, table, monkeypatch):
    first = table.read_text().split("\n")
    monkeypatch.setattr(reading, "BLOCK", len(first[1]))  # a part per line
    faulty(table, 5, cell(0, "0.0"))
    refused(tmp_path, table, "motion.csv, line 5", "time does not increase")


@pytest.mark.parametrize("block", [300, 10**6])
def test_rows_that_came_twice_are_left_out(tmp_path, table, motion, arm, block, monkeypatch):
    lines = table.read_text().split("\n")
    table.write_text("\n".join([*lines[:9], lines[8], lines[8], *lines[9:20], lines[19], *lines[20:]]))
    monkeypatch.setattr(reading, "BLOCK", block)  # 300: a part per line
    said = invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv").stderr
    assert "3 of 53 rows repeat the previous one, including the time; they are left out" in said
    rows = read_csv(tmp_path / "tau.csv")[1]
    assert np.array_equal(rows[:, 0], motion[0])
    assert np.array_equal(rows[:, 1:], arm.inverse_dynamics(*motion[1:]))


def test_missing_columns(tmp_path, arm, motion):
    _, q, v, a = motion
    columns = named(arm, q=q, v=v, a=a)
    del columns["a_joint_4"]
    write_csv(tmp_path / "m.csv", columns)
    refused(tmp_path, tmp_path / "m.csv", "m.csv, line 1", "missing: a_joint_4")


def test_wrong_number_of_columns_in_plain_order(tmp_path):
    np.savetxt(tmp_path / "m.csv", np.zeros((4, 17)), delimiter=",")
    refused(tmp_path, tmp_path / "m.csv", "m.csv, line 1", "17 columns, but 18 are needed", "q_joint_1")


def test_a_first_line_of_names_and_numbers(tmp_path, table):
    lines = table.read_text().split("\n")
    table.write_text("\n".join(lines[1:]))
    refused(tmp_path, faulty(table, 1, cell(3, "x")), "line 1", "'x' is not a number")


def test_two_columns_of_one_name(tmp_path, table):
    refused(tmp_path, faulty(table, 1, cell(1, "q_joint_2")), "two columns are named 'q_joint_2'")


def test_empty_tables(tmp_path, table):
    table.write_text(table.read_text().split("\n")[0] + "\n")
    refused(tmp_path, table, "no rows")
    table.write_text("")
    refused(tmp_path, table, "empty")


def test_files_that_are_none(tmp_path, table):
    refused(tmp_path, tmp_path / "not-there.csv", "there is no file", "not-there.csv")
    refused(tmp_path, tmp_path / "motoin.csv", "there is no file", "did you mean 'motion.csv'?")
    for name in ("m.npz", "m.parquet"):
        (tmp_path / name).write_bytes(b"\x00\x01nonsense")
        refused(tmp_path, tmp_path / name, name)
    (tmp_path / "m.csv").write_bytes(b"q\xff\xfe,\n")
    refused(tmp_path, tmp_path / "m.csv", "UTF-8", "line 1")
    refused(tmp_path, tmp_path / "m.xlsx", "'.xlsx'", "pd.read_excel('m.xlsx').to_csv('m.csv', index=False)")


def test_arrays_of_the_wrong_shape(tmp_path):
    zeros = {key: np.zeros((3, 6)) for key in "qva"}
    for change, words in (
        ({"q": np.zeros((3, 5))}, "'q' must be numbers of shape (rows, 6)"),
        ({"v": np.zeros((2, 6))}, "'v' has 2 rows"),
        ({"a": np.array([["x"] * 6] * 3)}, "'a' must be numbers"),
        ({"time": np.zeros(4)}, "'time' must be numbers of shape (3,), not float64 (4,)"),
    ):
        np.savez(tmp_path / "m.npz", **(zeros | change))
        refused(tmp_path, tmp_path / "m.npz", words)
    np.savez(tmp_path / "m.npz", q=np.zeros((3, 6)))
    refused(tmp_path, tmp_path / "m.npz", "no array 'v'")


def test_nulls_and_text_in_parquet(tmp_path, arm, motion):
    _, q, v, a = motion
    columns = {name: x.tolist() for name, x in named(arm, q=q, v=v, a=a).items()}
    columns["v_joint_2"][11] = None
    parquet.write_table(pyarrow.table(columns), tmp_path / "m.parquet")
    refused(tmp_path, tmp_path / "m.parquet", "row 12", "'v_joint_2' is missing")
    columns["v_joint_2"] = ["x"] * ROWS
    parquet.write_table(pyarrow.table(columns), tmp_path / "m.parquet")
    refused(tmp_path, tmp_path / "m.parquet", "'v_joint_2' holds string")


def test_a_state_that_is_none_is_found(tmp_path):
    robot = kt.gallery.load("kuka-kr5", floating_base=True)
    q, zero = np.tile(robot.neutral(), (40, 1)), np.zeros((40, robot.nv))
    q[[23, 31], 3] = 1.5
    write_csv(tmp_path / "m.csv", named(robot, q=q, v=zero, a=zero))
    problem = invoke(
        "id", "kuka-kr5", tmp_path / "m.csv", "-o", tmp_path / "tau.csv", "--floating-base", code=1
    ).stderr  # fmt: skip
    assert "line 25" in problem
    assert "quaternion" in problem
    assert not (tmp_path / "tau.csv").exists()


def test_an_old_answer_survives_a_fault(tmp_path, table):
    (tmp_path / "tau.csv").write_text("precious")
    faulty(table, 21, cell(5, "five"))
    invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv", code=1)
    assert (tmp_path / "tau.csv").read_text() == "precious"


def test_a_place_that_cannot_be_written(tmp_path, table):
    assert "cannot be written" in invoke("id", "kuka-kr5", table, "-o", tmp_path / "no" / "t.csv", code=1).stderr


def test_usage(tmp_path, table):
    without = invoke("id", "kuka-kr5", "--locked", "joint_6", code=1)  # the gallery has no motion for it
    assert "give a table of states as MOTION, or --speed" in without.stderr
    assert "--turns needs --speed" in invoke("id", "kuka-kr5", "--turns", "2", code=1).stderr
    assert "--samples needs --speed" in invoke("id", "kuka-kr5", "--samples", "20", code=1).stderr
    assert "leave out the table" in invoke("id", "kuka-kr5", table, "--speed", "joint_1=60rpm", code=1).stderr
    assert "'60mm' does not fit" in invoke("id", "kuka-kr5", "--speed", "joint_1=60mm", code=1).stderr
    for wrong in ("joint_1=0", "60rpm", "joint_1=1,joint_2=2"):
        assert "--speed" in invoke("id", "kuka-kr5", "--speed", wrong, code=1).stderr
    assert "--threads" in invoke("id", "kuka-kr5", table, "-o", tmp_path / "t.csv", "--threads", "-1", code=1).stderr


def test_without_an_output_each_joint_has_a_line(tmp_path, table, arm, motion):
    t, q, v, a = motion
    tau = arm.inverse_dynamics(q, v, a)
    lines = json.loads(invoke("id", "kuka-kr5", table, "--json").stdout)["joints"]
    assert [line["joint"] for line in lines] == arm.joint_names
    for line, column in zip(lines, tau.T, strict=True):
        assert line["peak"] == pytest.approx(column[np.abs(column).argmax()], rel=1e-9)
        assert line["rms"] == pytest.approx(np.sqrt(trapezoid(column**2, t) / np.ptp(t)), rel=1e-9)
        assert line["mean"] == pytest.approx(trapezoid(column, t) / np.ptp(t), rel=1e-6, abs=1e-9)
    shown = invoke("id", "kuka-kr5", table).stdout
    assert "rms" in shown
    assert f"{lines[1]['peak']:.5g}" in shown
    assert "-o FILE saves them" in shown


def test_a_turn_at_constant_speed_takes_no_torque_in_the_mean():
    """Both ends of the turn are the same moment, and without friction nothing is lost."""
    lines = json.loads(invoke("id", "four-bar", "--speed", "crank_joint=60rpm", "--json").stdout)["joints"]
    assert abs(lines[0]["mean"]) < 1e-9 * abs(lines[0]["peak"])


def test_rows_of_a_turn_can_be_few(tmp_path):
    """Rows for every 30 degrees are those of the whole turn, on the same branch."""
    turn = ("inverse", "four-bar", "--speed", "crank_joint=60rpm", "--over", "crank_joint", "--units", "deg")
    invoke(*turn, "-o", tmp_path / "all.csv")
    invoke(*turn, "--samples", "13", "-o", tmp_path / "few.csv")
    whole, few = (np.loadtxt(tmp_path / f"{name}.csv", delimiter=",", skiprows=1) for name in ("all", "few"))
    assert len(few) == 13
    np.testing.assert_allclose(few[:, 0], np.arange(0, 361, 30) + few[0, 0], atol=1e-9)
    np.testing.assert_allclose(few, whole[::30], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "joint"), [("four-bar", "crank_joint"), ("kuka-kr5", "joint_2")])
def test_a_joint_that_turns_needs_no_table(name, joint, tmp_path):
    invoke("inverse", name, "--speed", f"{joint}=-60rpm", "--turns", "0.5", "-o", tmp_path / "tau.npz")
    with np.load(tmp_path / "tau.npz") as found:
        time, tau = found["time"], found["tau"]
    assert len(time) == 181
    assert time[-1] == pytest.approx(0.5)
    robot, q = kt.load(name), kt.gallery.start(name)
    place = robot.joint_names.index(joint)
    speed = np.zeros(robot.nv) if robot.loops is None else robot.velocities(q, {joint: -2 * np.pi})
    speed[place] = -2 * np.pi
    rate = np.zeros(robot.nv) if robot.loops is None else robot.accelerations(q, speed, {joint: 0.0})
    assert np.allclose(tau[0], robot.inverse_dynamics(q, speed, rate), atol=1e-9)


@pytest.mark.parametrize("bad", [0, 1, 6, 7, 12])
def test_the_first_fault_is_found_by_halving(bad):
    def law(rows):
        if (rows >= bad).any():
            raise StateError("bad")

    assert first_fault((np.arange(13),), law) == bad


# ---------------------------------------------------------------- over a joint, and in other units


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_torque_over_the_angle_of_a_crank(tmp_path, ending):
    output, picture = tmp_path / f"tau{ending}", tmp_path / "tau.svg"
    typed = ["inverse", "four-bar", "--speed", "crank_joint=60rpm", "--over", "crank_joint", "--units", "deg,N mm"]
    said = invoke(*typed, "-o", output, "--plot", picture)
    robot = kt.load("four-bar")
    crank, rest = np.radians(np.arange(361.0))[:, None], np.zeros((361, 1))
    judge = robot.driven_motion(crank, rest + 2 * np.pi, rest, q_guess=kt.gallery.start("four-bar")).tau[:, 0]
    if ending == ".npz":  # whose arrays cannot name a unit
        assert "is in SI" in said.stderr
        with np.load(output) as found:
            assert np.allclose(found["q_crank_joint"], np.radians(np.arange(361.0)))
            assert found["tau"].shape == (361, 3)
            assert np.allclose(found["tau"][:, 0], judge, atol=1e-9)
    else:
        columns = (
            parquet.read_table(output).to_pydict() if ending == ".parquet"
            else dict(zip(read_csv(output)[0], read_csv(output)[1].T, strict=True))
        )  # fmt: skip
        assert list(columns)[:3] == ["q_crank_joint [deg]", "time", "tau_crank_joint [N mm]"]
        assert np.allclose(columns["q_crank_joint [deg]"], np.arange(361.0))
        assert np.allclose(columns["tau_crank_joint [N mm]"], 1000 * judge, atol=1e-6)
    assert "crank_joint [deg]" in picture.read_text()
    shown = json.loads(invoke(*typed, "--json").stdout)["joints"][0]
    assert shown["at"] == pytest.approx(np.radians(np.argmax(np.abs(judge))))
    assert f"{1000 * judge[np.argmax(np.abs(judge))]:.5g}" in invoke(*typed).stdout


def test_a_joint_that_is_not_there_and_units_that_arrays_cannot_name(tmp_path, arm, table):
    said = invoke("inverse", "kuka-kr5", table, "--over", "joint_9", code=1)
    assert "no coordinate named 'joint_9'" in said.stderr
    with pytest.raises(kt.OptionError, match="cannot name a unit: leave out units"):
        kt.sweeps.over_table(arm, "inverse_dynamics", table, tmp_path / "t.npz", units="deg")


# ---------------------------------------------------------------- speed


def test_a_hundred_thousand_rows_take_little_processor_time(tmp_path):
    """Text is most of it; ten times as many rows take a second or two on two free processors."""
    robot = kt.gallery.load("kuka-kr5").with_backend("compiled")
    rng = np.random.default_rng(0)
    q, (v, a) = robot.random_configuration(rng, 100_000), rng.standard_normal((2, 100_000, robot.nv))
    arrow_csv.write_csv(pyarrow.table(named(robot, q=q, v=v, a=a)), tmp_path / "m.csv")
    source = reading.open_table(tmp_path / "m.csv", {"q": robot.q_names, "v": robot.v_names, "a": robot.v_names})
    robot.inverse_dynamics(q[:2], v[:2], a[:2])
    begin = time.process_time()
    with writing.new_table(tmp_path / "t.csv", "tau", robot.v_names, False) as sink:
        assert convert(source.parts(), robot.inverse_dynamics, sink, 2) == 100_000
    assert time.process_time() - begin < 1.5
    assert np.allclose(read_csv(tmp_path / "t.csv")[1], robot.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- how files may look


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace(",", " , "),
        lambda text: text + "\n\n\n",
        lambda text: text + "\r\n",
        lambda text: text.rstrip("\n"),
        lambda text: text.replace(",0.", ",+0."),
        lambda text: "\n".join([text.split("\n")[0], *(",".join(f'"{x}"' for x in line.split(","))
                                                      for line in text.split("\n")[1:] if line)]),
    ],
    ids=["windows", "byte order mark", "spaces", "lines at the end", "one line at the end",
         "no last newline", "plus signs", "quotes"],
)  # fmt: skip
def test_dresses_of_the_same_table(tmp_path, arm, motion, table, reader, dress):
    table.write_bytes(dress(table.read_text()).encode())
    invoke("id", "kuka-kr5", table, "-o", tmp_path / "tau.csv")
    assert np.array_equal(read_csv(tmp_path / "tau.csv")[1][:, 1:], arm.inverse_dynamics(*motion[1:]))


def test_the_motion_is_not_written_over(table):
    before = table.read_bytes()
    assert "is the motion itself" in invoke("id", "kuka-kr5", table, "-o", table, code=1).stderr
    assert table.read_bytes() == before


def test_positions_alone_are_differentiated(tmp_path, arm):
    """Against the forces of the motion itself, of which the table has only positions."""
    t = np.linspace(0.0, 4.0, 801)
    w = np.linspace(1.0, 3.0, arm.nv)
    q, v, a = (
        np.sin(np.multiply.outer(t, w)),
        w * np.cos(np.multiply.outer(t, w)),
        -w * w * np.sin(np.multiply.outer(t, w)),
    )
    path = tmp_path / "positions.csv"
    write_csv(path, named(arm, time=t, q=q))
    refused = invoke("inverse", "kuka-kr5", path, "-o", tmp_path / "tau.csv", code=1)
    assert "give --differentiate" in refused.stderr
    done = invoke("inverse", "kuka-kr5", path, "-o", tmp_path / "tau.csv", "--differentiate")
    assert "and differentiated; accelerations have standard deviations of up to" in done.stderr
    tau, exact = read_csv(tmp_path / "tau.csv")[1][:, 1:], arm.inverse_dynamics(q, v, a)
    assert np.abs(tau - exact).max() < 1e-4 * np.abs(exact).max()
    invoke("inverse", "kuka-kr5", path, "-o", tmp_path / "tau.csv", "--cutoff", 5, code=1)
    write_csv(tmp_path / "no_time.csv", named(arm, q=q))
    lost = invoke(
        "inverse", "kuka-kr5", tmp_path / "no_time.csv", "-o", tmp_path / "tau.csv", "--differentiate", code=1
    )
    assert "no column of times" in lost.stderr


def test_angles_are_held_against_limits_and_full_turns():
    b = kt.Builder("arm").body("a", "base", kt.Revolute("z"), mass=1, lower=-1.5, upper=2.0)
    limited = b.body("b", "a", kt.Revolute("z"), mass=1).body("c", "b", kt.Prismatic("z"), mass=1).build()

    def doubt(*reach):
        return doubtful_angles(limited, np.array(reach))

    assert doubt(10.0, np.nan, 0.0) == "positions look like degrees: a_joint goes to 10 rad, its limit is 2"
    assert not doubt(2.1, 100.0, 500.0)  # a joint within its limits, a wheel and a long way
    assert doubt(0.0, 100.0, 0.0) == "positions look like degrees: they go up to 100 rad"
    assert not doubt(np.nan, np.nan, np.nan)


def test_the_speed_of_a_turn_is_told_as_it_was_understood():
    told = invoke("id", "four-bar", "--speed", "crank_joint=60", "--set", "coupler.mass=1,2").stderr
    assert told.count("crank_joint turns at 60 rad/s (573 rpm), 1 turn\n") == 1
    told = invoke("id", "four-bar", "--speed", "crank_joint=-60rpm", "--turns", "2.5").stderr
    assert "crank_joint turns at -6.28319 rad/s (-60 rpm), 2.5 turns" in told
    told = invoke("id", "four-bar", "--speed", "crank_joint=60rpm", "--units", "deg").stderr
    assert "crank_joint turns at 360 deg/s (60 rpm), 1 turn" in told


def test_bars_without_mass_are_noticed(tmp_path):
    rocker = tmp_path / "rocker.yaml"
    rocker.write_text(
        "kinetree: 1\nname: rocker\nlinkage:\n  units: mm\n"
        "  points: {O: [0, 0], C: [160, 0], A: [40, 0], B: [130, 100]}\n"
        "  bars: {crank: O A, coupler: A B, rocker: C B}\n  ground: O C\n  motor: O\n"
    )
    assert "'rocker' has no mass, so forces of weight" in invoke("inverse", rocker, "--speed", "O=45rpm").stderr
    assert "has no mass" not in invoke("inverse", "four-bar", "--speed", "crank_joint=45rpm").stderr
    two = invoke("inverse", "four-bar", rocker, "--speed", "O=45rpm", code=1).stderr
    assert "The command takes one robot: --set compares" in two
