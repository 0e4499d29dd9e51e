"""Records: slices, interpolation, pictures, files."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import arm, balls, floating_pair, rods
from kinetree import control as laws
from kinetree.contact.ground import Ground, HuntCrossley
from kinetree.io.tables.reading import open_table
from kinetree.motion import trajectories
from kinetree.simulation.records import files
from kinetree.simulation.records.energy_balance import NAMES
from kinetree.simulation.records.record import FIELDS
from kinetree_sweeps.motion_tables.dynamics_by_rows import units_of


@pytest.fixture(scope="module")
def record() -> kt.Record:
    """A body with a head and a tail that falls onto the ground, driven a little."""
    robot = floating_pair().with_backend("compiled")
    start = robot.neutral()
    start[6] = 0.35
    ground = Ground(["trunk", "tail"], HuntCrossley(2e4, 0.5))
    twist = laws.Law(lambda t, q, v: [0.0] * 6 + [0.1 * kt.sin(9 * t), 0.0, 0.2, 0.3])
    return kt.simulate(
        robot, start, time=0.5, controller=twist, ground=ground, samples=101, rtol=1e-9,
        events=kt.Event(lambda t, q, v: q[6] - 0.2, name="low"),
    )  # fmt: skip


def assert_equal(a: kt.Record, b: kt.Record) -> None:
    assert np.array_equal(a.time, b.time)
    for name in FIELDS:
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
        assert getattr(a, name).shape == getattr(b, name).shape, name
    for name in NAMES:
        assert np.array_equal(getattr(a.energy, name), getattr(b.energy, name), equal_nan=True), name
    assert a.status == b.status
    assert a.info == b.info
    assert len(a.events) == len(b.events)
    for x, y in zip(a.events, b.events, strict=True):
        assert (x.time, x.name, x.index) == (y.time, y.name, y.index)
        assert np.array_equal(x.q, y.q)
        assert np.array_equal(x.v, y.v)


def test_everything_in_it_fits_together(record):
    robot = record.robot
    assert len(record) == 101
    assert record.contact_forces.shape == (101, 2, 3)
    assert record.contact_forces[:, :, 2].max() > 1.0  # it did hit
    assert record.contact_forces[:, :, 2].min() >= 0.0
    assert record.events
    assert record.events[0].name == "low"
    assert record.events[0].q[6] == pytest.approx(0.2, abs=1e-10)
    # Newton's law for the whole: the momentum's rate is weight and contact forces
    outside = robot.momentum_rate(record.q, record.v, record.a)[:, 3:]
    expected = record.contact_forces.sum(axis=1) + robot.mass * robot.gravity
    assert outside == pytest.approx(expected, abs=1e-6)
    assert record.energy.kinetic == pytest.approx(robot.kinetic_energy(record.q, record.v))
    assert record.energy.potential == pytest.approx(robot.potential_energy(record.q))


def test_slices(record):
    part = record[10:20]
    assert len(part) == 10
    assert np.array_equal(part.q, record.q[10:20])
    assert np.array_equal(part.energy.total, record.energy.total[10:20])
    assert all(part.time[0] <= e.time <= part.time[-1] for e in part.events)
    assert len(record[-1]) == 1
    assert record[-1].time[0] == record.time[-1]
    assert len(record[record.time > 0.25]) == int((record.time > 0.25).sum())
    assert "101 samples" in repr(record)


def test_between_samples_it_follows_the_motion():
    """Halfway between samples, against a run that has samples there; quaternions stay unit."""
    robot = floating_pair().with_backend("compiled")
    v0 = np.linspace(-2, 2, robot.nv)
    options = {"time": 0.4, "rtol": 1e-11, "atol": 1e-12}
    coarse = kt.simulate(robot, None, v0, samples=41, **options)
    times = coarse.time[:-1] + 0.005
    fine = kt.simulate(robot, None, v0, samples=times, **options)
    between = coarse.at(times)
    assert np.abs(robot.difference(between.q, fine.q)).max() < 1e-7
    assert np.abs(between.v - fine.v).max() < 1e-5
    assert np.linalg.norm(between.q[:, :4], axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(robot.difference(coarse.at(coarse.time).q, coarse.q)).max() < 1e-14
    assert coarse.at(coarse.time[7]).q[0] == pytest.approx(coarse.q[7], abs=1e-14)
    with pytest.raises(kt.OptionError, match="outside"):
        coarse.at(0.5)
    with pytest.raises(kt.OptionError, match="outside"):
        coarse.at([0.1, np.nan])


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_files_give_back_what_was_saved_to_the_last_bit(record, tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"motion{ending}"
    record.save(path)
    described = [f"{path.name}.json"] if ending == ".csv" else []
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, *described]  # nothing half-written beside it
    again = kt.Record.load(path)
    assert_equal(record, again)
    assert again.robot is None
    with pytest.raises(kt.OptionError, match="robot="):
        again.at(0.1)
    known = kt.Record.load(path, robot=record.robot)
    assert np.array_equal(known.at(0.1234).q, record.at(0.1234).q)


def test_csv_is_an_ordinary_table(record, tmp_path):
    record.save(tmp_path / "motion.csv")
    lines = (tmp_path / "motion.csv").read_text().splitlines()
    names = lines[0].split(",")
    assert names[0] == "time"
    assert "tau_hinge" in names
    assert "energy_kinetic" in names
    assert len(lines) == 1 + len(record)
    table = np.genfromtxt(tmp_path / "motion.csv", delimiter=",", names=True)  # as other programs read it
    assert np.array_equal(table["time"], record.time)


def test_csv_without_its_description_is_read_by_its_columns(record, tmp_path):
    record.save(tmp_path / "motion.csv")
    (tmp_path / "motion.csv.json").unlink()
    again = kt.Record.load(tmp_path / "motion.csv")
    assert again.status == "of unknown end"
    assert again.q_names == record.q_names
    assert np.array_equal(again.tau, record.tau)
    (tmp_path / "old.csv").write_text(  # as release 0.1 wrote it
        "# kinetree record " + files._about(record) + "\n" + (tmp_path / "motion.csv").read_text()
    )
    assert_equal(record, kt.Record.load(tmp_path / "old.csv"))
    head, _, rest = (tmp_path / "motion.csv").read_text().partition("\n")
    colons = ",".join(name.replace("_", ":", 1) for name in head.split(","))  # as release 0.2 wrote it
    (tmp_path / "motion.csv").write_text(colons + "\n" + rest)
    assert np.array_equal(kt.Record.load(tmp_path / "motion.csv").tau, record.tau)


def test_csv_names_forces_by_what_they_act_on(tmp_path):
    four_bar = kt.load("four-bar")
    q = four_bar.close([0.0, 1.0, 4.3], fixed=["crank_joint"])
    record = kt.simulate(four_bar, q, time=0.02, samples=3)
    record.save(tmp_path / "motion.csv")
    names = (tmp_path / "motion.csv").read_text().splitlines()[0].split(",")
    found = [name.removeprefix("constraint_forces_") for name in names if name.startswith("constraint_forces_")]
    assert found == list(four_bar.constraint_names)
    assert np.array_equal(kt.Record.load(tmp_path / "motion.csv").constraint_forces, record.constraint_forces)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_tables_in_other_units_say_so_and_are_read_back(record, tmp_path, ending):
    path = tmp_path / f"run{ending}"
    record.save(path, units="deg mm rpm kN")
    back = kt.Record.load(path, record.robot)
    for name in FIELDS:
        assert np.allclose(getattr(back, name), getattr(record, name), rtol=1e-14, atol=1e-14), name
    if ending == ".csv":
        names, first = (line.split(",") for line in path.read_text().splitlines()[:2])
        cells = dict(zip(names, first, strict=True))
        assert float(cells["q_root.z [mm]"]) == pytest.approx(350.0)
        assert {"v_root.wx [rpm]", "a_root.vz [mm/s^2]", "contact_forces_tail.z [kN]"} <= set(names)
        table = open_table(path, {"q": record.robot.q_names}, None, units_of(record.robot))  # and by other commands
        assert np.allclose(np.concatenate([part.read().arrays[0] for part in table.parts()]), record.q, atol=1e-14)
        (tmp_path / "run.csv.json").unlink()  # the table alone is enough
        assert np.allclose(kt.Record.load(path).tau, record.tau, atol=1e-14)
    with pytest.raises(kt.OptionError, match="cannot name a unit"):
        record.save(tmp_path / "run.npz", units="deg")


def test_pictures_over_the_position_of_a_joint(record):
    figure = record.plot(("motion", "torques"), over="root.z", units="mm")
    assert figure.axes[-1].get_xlabel() == "root.z [mm]"
    for axis in figure.axes:
        x = next(curve for curve in axis.lines if len(curve.get_xdata()) == len(record)).get_xdata()
        assert np.allclose(x, 1000 * record.q[:, 6])
        assert any(np.allclose(curve.get_xdata(), 200.0, atol=1e-6) for curve in axis.lines)  # where the event was
    with pytest.raises(kt.UnknownNameError, match="coordinate of the record named 'trunk'"):
        record.plot(over="trunk")


def test_files_that_cannot_be(record, tmp_path):
    with pytest.raises(kt.OptionError, match=r"\.npz, \.csv, \.parquet"):
        record.save(tmp_path / "motion.mat")
    with pytest.raises(kt.OutputError, match="cannot be written"):
        record.save(tmp_path / "nowhere" / "motion.npz")
    with pytest.raises(kt.MissingFileError, match="there is no record"):
        kt.Record.load(tmp_path / "motion.npz")
    for name, text in (("a.csv", "time,q\n1,2\n"), ("a.npz", "no archive"), ("a.parquet", "PAR")):
        (tmp_path / name).write_text(text)
        with pytest.raises(kt.FileFormatError, match=name):
            kt.Record.load(tmp_path / name)
    (tmp_path / "cut.csv").write_text("# kinetree record {\n")
    with pytest.raises(kt.FileFormatError, match="not a record"):
        kt.Record.load(tmp_path / "cut.csv")


def test_pictures_have_labels_with_units(record, tmp_path):
    pytest.importorskip("matplotlib")
    figure = record.plot(path=tmp_path / "motion.png")
    assert (tmp_path / "motion.png").stat().st_size > 10_000
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert "position [rad]" in labels
    assert "position [m]" in labels
    assert "velocity [rad/s]" in labels
    assert "actuator [N m]" in labels
    assert "energy [J]" in labels
    assert "contact force z [N]" in labels
    assert figure.axes[-1].get_xlabel() == "time [s]"
    hinge = next(a for a in figure.axes if a.get_ylabel() == "position [rad]").lines[0]
    assert np.array_equal(hinge.get_ydata(), record.q[:, record.robot.joint("hinge").q_slice.start])
    assert [a.get_ylabel() for a in record.plot("energy").axes] == ["energy [J]"]
    with pytest.raises(kt.UnknownNameError, match="did you mean 'energy'"):
        record.plot("enrgy")


def test_pictures_of_some_joints(record):
    """Each curve has its joint's name, and is that joint's."""
    pytest.importorskip("matplotlib")
    axes = record.plot(("motion", "velocities"), joints="hinge").axes
    assert [(a.get_ylabel(), [t.get_text() for t in a.get_legend().get_texts()]) for a in axes] == [
        ("position [rad]", ["hinge"]),
        ("velocity [rad/s]", ["hinge"]),
    ]
    assert np.array_equal(axes[1].lines[0].get_ydata(), record.v[:, record.robot.joint("hinge").v_slice.start])
    with pytest.raises(kt.UnknownNameError, match="did you mean 'hinge'"):
        record.plot("motion", joints=["hing"])


def test_pictures_with_a_panel_for_each_joint(record, tmp_path):
    pytest.importorskip("matplotlib")
    names = list(dict.fromkeys(name.partition(".")[0] for name in record.v_names))
    axes = record.plot(("velocities", "energy"), separate=True).axes
    assert [a.get_ylabel() for a in axes].count("energy [J]") == 1
    shown = [{t.get_text().partition(".")[0] for t in a.get_legend().get_texts()} for a in axes[:-1]]
    assert all(len(joint) == 1 for joint in shown)
    assert {joint for panel in shown for joint in panel} == set(names)
    drawn = {line.get_label(): line.get_ydata() for a in axes[:-1] for line in a.lines}
    for k, name in enumerate(record.v_names):
        assert np.array_equal(drawn[name], record.v[:, k])
    hinge = record.v_names.index("hinge")
    noise = record.v.copy()
    noise[:, hinge] *= 1e-30
    drawn = replace(record, v=noise).plot("velocities", separate=True).axes
    axis = next(a for a in drawn if a.get_legend().get_texts()[0].get_text() == "hinge")
    assert axis.get_ylim()[1] > 1e-12  # what is zero but for rounding is drawn as zero
    many = kt.Record.load(_still([f"joint_{k}" for k in range(81)], tmp_path / "still.npz"))
    with pytest.raises(kt.OptionError, match="makes 81 of them"):
        many.plot("velocities", separate=True)


def test_legends_of_many_curves_are_whole(tmp_path):
    """Forty names stand beside the curves, all within the picture and none upon another."""
    pytest.importorskip("matplotlib")
    names = [f"joint_{k}" for k in range(40)]
    still = kt.Record.load(_still(names, tmp_path / "still.npz"))
    figure = still.plot("velocities")
    figure.draw_without_rendering()
    texts = figure.axes[0].get_legend().get_texts()
    assert [text.get_text() for text in texts] == names
    boxes = [text.get_window_extent() for text in texts]
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    styles = {(line.get_color(), str(line.get_linestyle())) for line in figure.axes[0].lines[:32]}
    assert len(styles) > 8  # colors and, when they are used up, dashes


def _still(names, path):
    b = kt.Builder("many")
    for name in names:
        b.body(f"{name}_link", "base", kt.Prismatic("z"), joint_name=name, mass=1.0)
    kt.simulate(b.build(), time=0.0).save(path)
    return path


def test_no_samples_and_one_sample():
    robot = arm()
    nothing = kt.simulate(robot, time=0.1, samples=[])
    assert len(nothing) == 0
    still = kt.simulate(robot, time=0.0)
    assert len(still) == 1
    assert still.status == "complete"
    assert len(still.at(0.0)) == 1
    assert "nothing" in repr(nothing)


def test_a_batch_of_records(tmp_path):
    robot = arm().with_backend("compiled")
    goal = laws.PD(trajectories.Constant([0.0, 0.0, 0.0]), 1.0, 0.1)
    record = kt.simulate(
        robot, np.zeros((4, 3)), np.eye(4, 3), time=0.1, controller=goal, integrator="rk4", step=0.002, samples=3
    )
    assert record.q.shape == (3, 4, 3)
    one = record.lane(2)
    assert np.array_equal(one.q, record.q[:, 2])
    assert one.plot() is not None
    record.save(tmp_path / "batch.npz")
    assert_equal(kt.Record.load(tmp_path / "batch.npz"), record)
    with pytest.raises(kt.UnsupportedError, match="lane"):
        record.save(tmp_path / "batch.csv")
    with pytest.raises(kt.UnsupportedError, match="lane"):
        record.plot()
    with pytest.raises(kt.OptionError, match="no batch"):
        one.lane(0)


def test_saved_records_can_be_read_by_others(record, tmp_path):
    """As any new file of the user's: not the mode 0600 of temporary files."""
    plain = tmp_path / "plain"
    plain.touch()
    path = tmp_path / "run.npz"
    record.save(path)
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_record_is_only_loaded_with_its_robot(two_arms):
    folder, robots = two_arms
    for name, robot in robots.items():
        assert kt.Record.load(folder / f"{name}.npz", robot=robot).at(0.05).q.shape == (1, robot.nq)
    refused = {
        ("fixed", "floating"): "it was simulated on a fixed base; load the robot without floating_base=True",
        ("floating", "fixed"): "it was simulated on a floating base, joint 'floating_base'; load the robot with "
        "floating_base=True",
        ("fixed", "other"): "coordinate 0 is of joint 'shoulder' in the record, and of 'hip' in robot 'arm'",
    }
    for (record, robot), words in refused.items():
        with pytest.raises(kt.OptionError, match=re.escape(words)):
            kt.Record.load(folder / f"{record}.npz", robot=robots[robot])
    stranger = kt.gallery.load("kuka-kr5")
    with pytest.raises(kt.OptionError, match=r"2 coordinates and robot .* has 6: it is of another robot \('arm'\)"):
        kt.Record.load(folder / "fixed.npz", robot=stranger)


def test_joints_that_follow_are_named(tmp_path):
    def gripper(mimic):
        b = kt.Builder("gripper").body("left", "base", kt.Prismatic("x"), mass=1)
        return b.body("right", "base", kt.Prismatic("x"), mass=1, mimic=mimic).build()

    kt.simulate(gripper(None), time=0.1, samples=3).save(tmp_path / "free.npz")
    with pytest.raises(kt.OptionError, match=r"'right_joint' only in the record; .*mimic="):
        kt.Record.load(tmp_path / "free.npz", robot=gripper(kt.Mimic("left_joint", -1.0)))


GOAL = kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


def test_lanes_that_were_lost_are_counted():
    kd = np.array([1.0, 1e6, 2.0])[:, None]  # the middle one is far too stiff for the step
    law = kt.control.PD(GOAL, 10.0, kd)
    record = kt.simulate(rods(), [0.3, 0.1], time=0.5, controller=law, integrator="rk4", step=0.01, samples=3)
    assert record.lost.tolist() == [False, True, False]
    assert "batch (3,) of which 1 lost (NaN)" in repr(record)
    assert "lost" not in repr(record.lane(0))
    assert not record.lane(2).lost


def test_a_record_of_nonsense_says_so_when_it_is_printed():
    b = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=1.0)
    ground = kt.ground.Ground(["ball"], kt.ground.HuntCrossley(1e5, 0.5))
    options = {"time": 1.0, "ground": ground, "integrator": "rk4"}
    with pytest.warns(kt.KinetreeWarning, match=r"a step of 0\.05 s is too long"):
        coarse = kt.simulate(b.build(), [0.1], step=0.05, **options)
    assert coarse.energy.relative_error > 0.01
    assert f"energy off by {100 * coarse.energy.relative_error:.3g} %" in repr(coarse)
    assert "energy" not in repr(kt.simulate(b.build(), [0.1], step=1e-3, **options))


def test_curves_of_contacts_and_loops_are_named(tmp_path):
    pytest.importorskip("matplotlib")
    b = kt.Builder("block").body("block", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.frame("toe", "block", (0.1, 0, 0)).build()
    spots = ["toe", *kt.ground.line("block", 0.2)]
    ground = kt.ground.Ground(spots, kt.ground.HuntCrossley(1e4, 0.5))
    record = kt.simulate(robot, time=0.02, ground=[ground, kt.forces.JointStops()], samples=3)
    assert record.info["contact_spots"] == [["toe", [0, 0, 0]], ["block", [-0.1, 0, 0]], ["block", [0.1, 0, 0]]]
    record.save(tmp_path / "r.npz")
    for known in (record, kt.Record.load(tmp_path / "r.npz")):
        axes = known.plot("reactions").axes
        assert axes[0].get_ylabel() == "contact force z [N]"
        assert len(axes) < 3  # nothing pushes sideways, along y
        assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["toe", "block 1", "block 2"]
    robot = kt.gallery.load("four-bar")
    q, v, _ = kt.gallery.motion("four-bar").states(0.0)
    held = kt.simulate(robot, q, v, time=0.01, controller=kt.control.GravityCompensation(), samples=2)
    drawn = held.plot("reactions").axes[0]
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == list(robot.constraint_names)
    motors = held.plot("torques").axes[0]
    assert [text.get_text() for text in motors.get_legend().get_texts()] == ["crank_joint"]  # the others have no motor


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_a_record_of_nothing_is_saved_and_loaded(tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    nothing = kt.simulate(balls(), [1.0], time=0.1, samples=3)[:0]
    nothing.save(tmp_path / f"nothing{ending}")
    again = kt.Record.load(tmp_path / f"nothing{ending}")
    assert (again.q.shape, again.energy.kinetic.shape) == ((0, 1), (0,))


def test_a_sample_that_is_not_there_is_refused():
    record = kt.simulate(balls(), [1.0], time=0.1, samples=3)
    assert [record[k].time[0] for k in (0, -1, -3)] == pytest.approx([0.0, 0.1, 0.0])
    for k in (3, -4):
        with pytest.raises(IndexError, match="3 samples"):
            record[k]


# ------------------------------------------------------------------ files whose parts do not fit together


def with_array(path, changed):
    """The same file of arrays with some of them, or its description, replaced."""
    with np.load(path) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    changed(arrays, about)
    np.savez(path, **(arrays | {"about": np.array(json.dumps(about))}))


def shorten(name):
    return lambda arrays, about: arrays.update({name: arrays[name][:-1]})


def named(key, value):
    return lambda arrays, about: about["info"].update({key: value})


MISFITS = {
    "fewer times": (shorten("time"), "'q' has shape"),
    "fewer velocities": (shorten("v"), "'v' has shape"),
    "fewer energies": (shorten("energy:ground"), "'energy:ground' has shape"),
    "forces in the plane": (lambda a, _: a.update(contact_forces=a["contact_forces"][..., :2]), "'contact_forces'"),
    "one number": (lambda a, _: a.update(q=np.array(1.0)), "'q' has shape"),
    "velocities without freedoms": (lambda a, _: a.update(v=a["time"]), "'v' has shape"),
    "text": (lambda a, _: a.update(q=a["q"].astype(str)), "not real numbers"),
    "complex": (lambda a, _: a.update(tau=a["tau"] + 1j), "not real numbers"),
    "no time at all": (lambda a, _: a.pop("time"), "has no 'time'"),
    "lost times": (lambda a, _: a.update(time=a["time"] * np.nan), "finite"),
    "a name too few": (named("q_names", ["hinge"]), "'q_names' has 1 entries"),
    "a name twice": (
        lambda _, about: about["info"].update(q_names=["x"] * len(about["info"]["q_names"])),
        "a name twice",
    ),
    "names that are numbers": (named("v_names", [1, 2]), "must be a list of names"),
    "units that are a text": (named("q_units", "rad"), "must be a list of names"),
    "a robot that is a number": (named("robot", 3), "must be text"),
    "spots that are none": (named("contact_spots", [["a", 1]]), "contact_spots"),
    "info that is a list": (lambda _, about: about.update(info=[]), "a mapping"),
    "status that is a number": (lambda _, about: about.update(status=1), "a text"),
    "an event without a state": (
        lambda _, about: about.update(events=[{"time": 0, "name": "e", "index": 0, "q": [], "v": []}]),
        "not a state of the robot",
    ),
    "an event that is a word": (lambda _, about: about.update(events=["bounce"]), "not a record"),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_files_whose_parts_do_not_fit_are_refused(record, tmp_path, misfit):
    change, told = MISFITS[misfit]
    record.save(tmp_path / "r.npz")
    with_array(tmp_path / "r.npz", lambda arrays, about: None)
    assert_equal(record, kt.Record.load(tmp_path / "r.npz", record.robot))
    with_array(tmp_path / "r.npz", change)
    for robot in (None, record.robot):
        with pytest.raises(kt.FileFormatError, match=told):
            kt.Record.load(tmp_path / "r.npz", robot)


def test_columns_that_are_lost_from_tables_are_told(record, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    record.save(tmp_path / "r.parquet")
    whole = parquet.read_table(tmp_path / "r.parquet")
    parquet.write_table(whole.drop_columns(["v_hinge"]), tmp_path / "r.parquet")
    with pytest.raises(kt.FileFormatError, match="not a record"):
        kt.Record.load(tmp_path / "r.parquet")


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
@pytest.mark.parametrize("name", ["two\nlines", "a\rb", 'a,"b"', "\x1b[31mred", "\ud800", "Δ", "_hidden", "$x$", "\0"])
def test_any_name_of_a_joint_survives(tmp_path, ending, name):
    b = kt.Builder("odd").body("bob", "base", kt.Revolute("y"), joint_name=name, mass=1, com=(0, 0, -1))
    robot = b.build()
    record = kt.simulate(robot, [0.1], time=0.1, samples=5)
    record.save(tmp_path / f"r{ending}")
    again = kt.Record.load(tmp_path / f"r{ending}", robot)
    assert_equal(record, again)
    assert again.q_names == [name]
    wanted = {"q": robot.q_names, "v": robot.v_names}
    (part,) = open_table(tmp_path / f"r{ending}", wanted).parts()
    assert np.array_equal(part.read().arrays[0], record.q)
    figure = again.plot("motion", tmp_path / "picture.svg")
    assert len(figure.axes[0].get_legend().get_texts()) == 1


BAD_PATHS = [None, 3, 1.5, b"record.npz", "a\0b.npz", "\ud800.npz", "", ["a.npz"], object()]


@pytest.mark.parametrize("path", BAD_PATHS, ids=lambda path: type(path).__name__)
def test_paths_that_are_none(record, path):
    with pytest.raises(kt.OptionError, match="the file of a record"):
        record.save(path)
    with pytest.raises(kt.OptionError, match="the file of a record"):
        kt.Record.load(path)
    if path is not None:
        with pytest.raises(kt.OptionError, match="a picture"):
            record.plot("motion", path)


def test_places_where_nothing_can_be_written(record, tmp_path):
    (tmp_path / "folder.npz").mkdir()
    for place in (tmp_path / "folder.npz", tmp_path / f"{'x' * 300}.npz", tmp_path / "no" / "r.csv"):
        with pytest.raises(kt.OutputError, match="cannot be written"):
            record.save(place)
        with pytest.raises(kt.KinetreeError):
            kt.Record.load(place)
    with pytest.raises(kt.OptionError, match="without ending"):
        record.plot("motion", tmp_path / "picture")
    with pytest.raises(kt.OutputError, match="cannot be written"):
        record.plot("motion", tmp_path / "no" / "picture.png")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.npz"]


def test_what_a_file_cannot_hold_is_refused(record, tmp_path):
    with pytest.raises(kt.UnsupportedError, match="'info' holds what files cannot"):
        replace(record, info=record.info | {"mine": {1, 2}}).save(tmp_path / "r.npz")
    assert not list(tmp_path.iterdir())


def test_between_samples_that_are_not_in_order(record):
    with pytest.raises(kt.OptionError, match="not in the order of their times"):
        record[np.array([0, 5, 3, 9])].at(record.time[3])
    with pytest.raises(kt.OptionError, match=r"robot must be a kinetree\.Robot, not str"):
        kt.Record.load("r.npz", robot="pendulum")


def test_a_mechanism_is_closed_between_samples():
    """Which interpolation alone leaves open by 1e-5; samples stay as they are, and so do loops that were let go."""
    robot = kt.gallery.load("four-bar").with_backend("reference")
    start = np.stack([kt.gallery.start("four-bar"), np.full(robot.nq, np.nan)])
    setup = {"time": 0.1, "integrator": "rk4", "step": 1e-2, "samples": 6}
    record = kt.simulate(robot, start, **setup)
    times = np.array([0.02, 0.031, 0.057, 0.1])
    found = record.at(times)
    assert np.abs(found.q[[0, 3], 0] - record.q[[1, 5], 0]).max() < 1e-15
    assert robot.closure_error(found.q[:, 0]).max() < 1e-14
    assert np.abs(robot.loop_jacobian(found.q[:, 0]) @ found.v[:, 0, :, None]).max() < 1e-14
    assert np.isnan(found.q[:, 1]).all()
    adrift = replace(record, info=record.info | {"drift": "none"}).at(times)
    assert robot.closure_error(adrift.q[:, 0]).max() > 1e-7
    assert np.abs(adrift.q[:, 0] - found.q[:, 0]).max() < 1e-3
    law = {"crank_joint": lambda t: start[0, 0] + 4.0 * t}
    driven = kt.simulate(robot, start[0], prescribed=law, **setup).at(times)
    assert robot.closure_error(driven.q).max() < 1e-14
    assert np.allclose(driven.q[:, 0], start[0, 0] + 4.0 * times, atol=1e-14)


def test_between_samples_limits_are_no_matter():
    """A crank that swings beyond its limits, which nothing holds up, is shown where it was."""
    free = kt.load("four-bar")
    q = kt.gallery.start("four-bar")
    at = q[free.joint("crank_joint").q_slice]
    joints = [
        replace(j, lower=tuple(at - 0.2), upper=tuple(at + 0.2)) if j.name == "crank_joint" else j
        for j in free.model.joints
    ]
    limited = kt.Mechanism(free.model.with_joints(joints))
    with pytest.warns(kt.KinetreeWarning, match="out of range"):
        record = kt.simulate(limited, q, limited.velocities(q, [8.0]), time=0.1, samples=20)
    times = 0.5 * (record.time[1:] + record.time[:-1])
    assert abs(record.q[-1, 0] - at).max() > 0.4
    assert np.array_equal(record.at(times).q, replace(record, robot=free).at(times).q)


def test_errors_against_a_desired_motion_are_those_of_the_law(tmp_path):
    """Under computed torque with kp = 100 and kd = 20 an error dies out as (1 + 10 t) exp(-10 t)."""
    b = kt.Builder("arm")
    b.body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.body("slide", "upper", kt.Prismatic("z"), mass=0.5, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.1))
    robot = b.build()
    goal = kt.trajectories.Quintic([0.0, 0.0], [1.0, 0.3], 0.5).held()
    law = kt.control.ComputedTorque(goal, 100.0, 20.0)
    record = kt.simulate(robot, [-0.05, 0.02], time=0.6, controller=law, samples=13)
    names, position, velocity = record.errors(goal)
    t = record.time[:, None]
    assert names == robot.v_names
    assert np.allclose(position, np.array([0.05, -0.02]) * (1 + 10 * t) * np.exp(-10 * t), atol=1e-7)
    assert np.allclose(velocity, np.array([-5.0, 2.0]) * t * np.exp(-10 * t), atol=1e-6)
    axes = record.plot("errors", desired=goal).axes
    assert [a.get_ylabel() for a in axes] == ["error [rad]", "error [m]"]
    assert np.allclose(axes[1].lines[0].get_ydata(), position[:, 1])
    with pytest.raises(kt.OptionError, match="desired=trajectory"):
        record.plot("errors")
    record.save(tmp_path / "r.npz")
    with pytest.raises(kt.OptionError, match="load the record with load"):
        kt.Record.load(tmp_path / "r.npz").errors(goal)


def test_a_record_tells_which_joints_leave_their_ranges():
    b = kt.Builder("swing")
    b.body("a", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), joint_name="near", lower=-0.5, upper=0.5)
    b.body("b", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1), joint_name="wide", lower=-3.0, upper=3.0)
    robot = b.build()
    with pytest.warns(
        kt.KinetreeWarning,
        match=r"^out of range: near goes to 1\.\d+ rad \([\d.]+ deg\), past 0\.5 rad \(28.65 deg\)\. .*JointStops",
    ) as told:
        free = kt.simulate(robot, [0.4, 0.4], [3.0, 1.0], time=1.0, samples=201)
    assert len(told) == 1
    assert free.beyond_limits == {"near": (free.q[:, 0].max(), 0.5)}
    said = r"near goes to 1\.\d+ rad \([\d.]+ deg\), past 0\.5 rad \(28.65 deg\)\. "
    assert re.search(f"out of range: {said}.*ground=kt" + r"\.forces\.JointStops\(\)", str(free))
    assert "out of range" in free._repr_html_()
    with pytest.warns(kt.KinetreeWarning, match="out of range"):
        backwards = kt.simulate(robot, [0.4, 0.4], [[3.0, 1.0], [-5.0, 1.0]], time=1.0, integrator="rk4", step=1e-2)
    assert backwards.beyond_limits == {"near": (backwards.q[..., 0].min(), -0.5)}  # the farther of both sides
    held = kt.simulate(robot, [0.4, 0.4], [3.0, 1.0], time=1.0, ground=kt.forces.JointStops())
    assert held.q[:, 0].max() > 0.5
    assert held.beyond_limits == {}
    assert "out of range" not in str(held)
    limited = b.body("c", "base", kt.Prismatic("z"), mass=1, joint_name="drop", velocity_limit=5.0).build()
    fall = kt.simulate(limited, time=1.0, samples=11)
    assert fall.too_fast == {"drop": (pytest.approx(9.81), 5.0)}
    assert "\nfaster than allowed: drop 9.81, limit 5" in str(fall)
    with pytest.raises(kt.OptionError, match="integrator='rk4', step=1e-3"):
        kt.simulate(robot, np.zeros((2, 2)), time=1.0)


def test_a_record_tells_which_motors_push_harder_than_they_can():
    b = kt.Builder("lifts")
    for name, limit in (("weak", 15.0), ("strong", 40.0)):
        b.body(name, "base", kt.Prismatic("z"), mass=2, joint_name=f"{name}_lift", effort_limit=limit)
    robot = b.build()
    hold = kt.control.GravityCompensation()
    record = kt.simulate(robot, time=0.1, controller=hold, integrator="rk4", step=1e-2)
    assert record.too_strong == {"weak_lift": (pytest.approx(2 * 9.81), 15.0)}
    said = "stronger than allowed: weak_lift 19.62, limit 15. kt.control.Saturated(controller) keeps forces to the"
    assert said in str(record)
    batch = kt.simulate(robot, np.zeros((3, 2)), time=0.1, controller=hold, integrator="rk4", step=1e-2)
    assert batch.too_strong == record.too_strong
    kept = kt.simulate(robot, time=0.1, controller=kt.control.Saturated(hold), integrator="rk4", step=1e-2)
    assert kept.too_strong == {}
    assert "stronger" not in str(kept)


def test_peaks_at_touchdown_are_told_where_samples_miss_them():
    ball = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=2.0).build()
    floor = kt.ground.Ground([kt.ground.Spot("ball", (0, 0, 0), 0.1)], kt.ground.Firm(2e3, 200.0, 0.02))
    peak = 200.0 * np.sqrt(2 * 9.81 * 0.4)  # c v, where it lands
    every = kt.simulate(ball, [0.5], time=0.5, ground=floor)
    assert every.contact_forces.max() > 0.9 * peak
    assert every.peaks_missed is None
    landed = int(np.argmax(np.abs(every.contact_forces).sum(axis=(1, 2)) > 0))
    few = every[[0, landed - 1, -1]]
    assert few.contact_forces.max() < 0.5 * peak
    printed = " ".join(str(few).split())
    assert "those of the 3 samples: at touchdown forces may be larger" in printed
    assert f"at each of the {len(every) - 1} steps" in printed
    assert every[:landed].peaks_missed is None  # in the air
