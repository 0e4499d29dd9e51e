import numpy as np
import pytest
from scipy.io import savemat

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.measured import as_measured

ROBOT = two_links()
NAMES = ROBOT.v_names


def samples(rows=100):
    t, q, v, a = fourier(2, np.random.default_rng(0), rows / 100.0)
    return t, q, v, a, np.cos(q)


def write_csv(path, columns):
    names = list(columns)
    table = np.column_stack(list(columns.values()))
    path.write_text(",".join(names) + "\n" + "\n".join(",".join(map(repr, map(float, row))) for row in table) + "\n")
    return path


def named(t, **arrays):
    found = {"t": t}
    for key, x in arrays.items():
        found |= {f"{key}_{name}": x[:, k] for k, name in enumerate(NAMES)}
    return found


def test_tables_hold_positions_alone_or_more(tmp_path):
    t, q, v, a, tau = samples()
    for extra in ({}, {"v": v}, {"v": v, "a": a}):
        data = kt.Measured.read(write_csv(tmp_path / "m.csv", named(t, q=q, tau=tau, **extra)), ROBOT)
        assert np.array_equal(data.t, t)
        assert np.array_equal(data.q, q)
        assert np.array_equal(data.tau, tau)
        assert (data.v is None, data.a is None) == ("v" not in extra, "a" not in extra)


def test_columns_may_be_numbered_and_have_units(tmp_path):
    t, q, v, _, tau = samples()
    columns = {
        "time": t,
        "q1": q[:, 0],
        "q2": q[:, 1],
        "v1": v[:, 0],
        "v2": v[:, 1],
        "tau1": tau[:, 0],
        "tau2": tau[:, 1],
    }
    data = kt.Measured.read(write_csv(tmp_path / "m.csv", columns), ROBOT)
    assert np.array_equal(data.v, v)
    degrees = named(t, q=np.rad2deg(q), tau=tau)
    degrees = {name + (" [deg]" if name.startswith("q_") else ""): x for name, x in degrees.items()}
    data = kt.Measured.read(write_csv(tmp_path / "degrees.csv", degrees), ROBOT)
    assert np.allclose(data.q, q, rtol=1e-14)


def test_npz_and_parquet_are_read_like_csv(tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    import pyarrow as arrow

    t, q, v, _, tau = samples()
    np.savez(tmp_path / "m.npz", time=t, q=q, v=v, tau=tau)
    pyarrow.write_table(arrow.table(named(t, q=q, v=v, tau=tau)), tmp_path / "m.parquet")
    for name in ("m.npz", "m.parquet"):
        data = kt.Measured.read(tmp_path / name, ROBOT)
        assert np.array_equal(data.v, v)
        assert np.array_equal(data.tau, tau)


def test_columns_that_match_no_joint_are_named(tmp_path):
    t, q, _, _, tau = samples()
    columns = {"t": t, "q_elbow": q[:, 0], f"q_{NAMES[1]}": q[:, 1], **{f"tau_{n}": tau[:, 0] for n in NAMES}}
    with pytest.raises(kt.FileFormatError, match=f"q_{NAMES[0]}"):
        kt.Measured.read(write_csv(tmp_path / "m.csv", columns), ROBOT)
    columns = named(t, q=q, tau=tau)
    del columns["t"]
    path = write_csv(tmp_path / "m.csv", columns)
    with pytest.raises(kt.IdentificationError, match="no column of times"):
        kt.Measured.read(path, ROBOT)


@pytest.mark.parametrize("word", ["current", "i", "tau"])
def test_currents_are_read_and_need_gains(tmp_path, word):
    t, q, _, _, tau = samples()
    columns = {f"{name} [mA]" if name.startswith(word) else name: x for name, x in named(t, q=q, **{word: tau}).items()}
    data = kt.Measured.read(write_csv(tmp_path / "m.csv", columns), ROBOT)
    assert data.currents
    assert np.allclose(data.split(0.5)[0].tau, 1e-3 * tau[:50], rtol=1e-12)
    assert data.split(0.5)[0].currents
    for gains in (None, "auto"):
        with pytest.raises(kt.IdentificationError, match=f"currents, and forces are needed.*{NAMES[0]}"):
            kt.identify(ROBOT, data, gains=gains)
    with pytest.raises(kt.IdentificationError, match="has currents and the data forces"):
        kt.identify(ROBOT, [data, kt.Measured(t, q, tau)], gains=[2.0, 3.0])


def test_files_as_other_programs_write_them(tmp_path):
    t, q, v, _, tau = samples()
    one, two = NAMES
    heads = {
        "plotjuggler": ["__time", *(f"/joint_states/{n}/{w}" for w in ("position", "effort") for n in NAMES)],
        "columns": ["timestamp", *(f"{n}_{w}" for w in ("pos", "torque") for n in NAMES)],
        "numbered": ["Time (s)", "pos1", "pos2", "torque1", "torque2"],
    }
    for name, head in heads.items():
        table = dict(zip(head, [t, *q.T, *tau.T], strict=True))
        data = kt.Measured.read(write_csv(tmp_path / f"{name}.csv", table), ROBOT)
        assert np.array_equal(data.q, q)
        assert np.array_equal(data.tau, tau)
    messages = ["time", *(f"/joint_states/{w}[{k}]" for w in ("position", "effort") for k in (0, 1))]
    path = write_csv(tmp_path / "ros.csv", dict(zip(messages, [t, *q.T, *tau.T], strict=True)))
    with pytest.warns(kt.IdentificationWarning, match=f"assumed to be the joints {one}, {two}, in this order"):
        assert np.array_equal(kt.Measured.read(path, ROBOT).q, q)
    text = write_csv(tmp_path / "m.csv", named(t, q=q, v=v, tau=tau)).read_text()
    (tmp_path / "europe.csv").write_text(text.replace(",", ";").replace(".", ","))
    assert np.array_equal(kt.Measured.read(tmp_path / "europe.csv", ROBOT).v, v)
    (tmp_path / "bare.csv").write_text("\n".join((tmp_path / "europe.csv").read_text().splitlines()[1:]))
    assert np.array_equal(kt.Measured.read(tmp_path / "bare.csv", ROBOT).tau, tau)
    np.savez(tmp_path / "t.npz", t=t, q=q, tau=tau)
    assert np.array_equal(kt.Measured.read(tmp_path / "t.npz", ROBOT).t, t)
    arrays = {"t": t[:, None], "q": q.T, "qd": v.T, "tau": tau.T}
    for name, content in (("plain", arrays), ("structure", {"log": arrays})):
        savemat(tmp_path / f"{name}.mat", content)
        data = kt.Measured.read(tmp_path / f"{name}.mat", ROBOT)
        assert np.array_equal(data.v, v)
        assert np.array_equal(data.tau, tau)
    savemat(tmp_path / "other.mat", {"t": t, "x": q, "y": tau})
    with pytest.raises(kt.FileFormatError, match=r"no array 'q'.*there are t \(100,\), x \(100, 2\), y"):
        kt.Measured.read(tmp_path / "other.mat", ROBOT)


def test_rows_that_came_twice_are_left_out_and_times_with_too_few_digits_refused():
    t, q, _, _, tau = samples()
    rows = np.sort(np.r_[np.arange(100), [3, 40, 40]])
    with pytest.warns(kt.IdentificationWarning, match="3 of 103 rows repeat the previous one, including the time"):
        data = kt.Measured(t[rows], q[rows], tau[rows])
    assert np.array_equal(data.q, q)
    with pytest.raises(kt.IdentificationError, match=r"80 of 100 rows have the previous row's time.*more digits"):
        kt.Measured(np.floor(t / 0.05 + 1e-9), q, tau)


def test_rows_with_one_time_that_differ_are_named_as_in_the_file():
    t, q, _, _, tau = samples()
    rows = np.sort([*range(len(t)), 7, 7])
    tau_too = tau[rows]
    tau_too[9] += 1.0
    with pytest.raises(kt.IdentificationError, match=r"stands still between rows 8 .* and 10 "):
        kt.Measured(t[rows], q[rows], tau_too)
    lost = np.array([float(f"{x:.9g}") for x in 1.7e9 + t])
    with pytest.raises(kt.IdentificationError, match=r"since 1970.*lost their last digits: 99 of 100 rows.*t - t\[0\]"):
        kt.Measured(lost, q, tau)


def test_what_was_understood_is_shown(tmp_path):
    t, q, _, _, tau = samples()
    head = ["t", "pos1", "pos2", "torque1", "torque2"]
    data = kt.Measured.read(write_csv(tmp_path / "m.csv", dict(zip(head, [t, *q.T, *tau.T], strict=True))), ROBOT)
    assert f"q of {NAMES[0]}, {NAMES[1]} is read from pos1, pos2" in repr(data.split(0.5)[1])


def test_times_must_go_on():
    t, q, _, _, tau = samples()
    for row, word in ((50, "runs backwards"), (20, "stands still")):
        bad = t.copy()
        bad[row] = bad[row - 1] - (1e-3 if word == "runs backwards" else 0.0)
        with pytest.raises(kt.IdentificationError, match=f"{word} between rows {row} .* and {row + 1}"):
            kt.Measured(bad, q, tau)
    bad = t.copy()
    bad[3] = np.nan
    with pytest.raises(kt.IdentificationError, match="row 4"):
        kt.Measured(bad, q, tau)


def test_too_few_rows_and_odd_shapes_are_refused():
    t, q, _, _, tau = samples()
    with pytest.raises(kt.IdentificationError, match="too few"):
        kt.Measured(t[:20], q[:20], tau[:20])
    with pytest.raises(kt.ShapeError, match="tau has 99 rows"):
        kt.Measured(t, q, tau[1:])
    with pytest.raises(kt.ShapeError, match="q has 3 columns"):
        as_measured(kt.Measured(t, np.column_stack([q, q[:, 0]]), tau), ROBOT)
    with pytest.raises(kt.ShapeError, match="three"):
        kt.Measured(t, q, tau, wrenches={"lower": np.zeros((len(t), 2))})
    with pytest.raises(kt.OptionError, match="Measured"):
        as_measured(7, ROBOT)
    with pytest.raises(kt.UnknownNameError, match="lower"):
        as_measured(kt.Measured(t, q, tau, wrenches={"lowr": np.zeros((len(t), 3))}), ROBOT)


def test_data_can_be_split():
    t, q, _, _, tau = samples(200)
    first, rest = kt.Measured(t, q, tau).split(0.6)
    assert (len(first), len(rest)) == (120, 80)
    assert rest.t[0] == t[120]
    with pytest.raises(kt.OptionError, match="share"):
        kt.Measured(t, q, tau).split(1.5)
