import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.measured import as_measured, require_gains

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


@pytest.mark.parametrize("word", ["current", "i", "motor current"])
def test_currents_are_forces_only_with_gains(tmp_path, word):
    t, q, _, _, tau = samples()
    columns = named(t, q=q, **{word: 1e3 * tau})
    path = write_csv(tmp_path / "m.csv", {n + (" [mA]" if n.startswith(word) else ""): x for n, x in columns.items()})
    data = kt.Measured.read(path, ROBOT).rows(slice(0, 80))
    assert data.currents
    assert np.allclose(data.tau, tau[:80], rtol=1e-12)
    for gains in (None, "auto"):
        with pytest.raises(kt.IdentificationError, match=f"torque constant times the gear.*{NAMES[0]}.*gains="):
            kt.identify(ROBOT, data, gains=gains)
    require_gains([data], [2.0, 3.0], ROBOT)
    with pytest.raises(kt.IdentificationError, match="holds currents and the data forces"):
        require_gains([data, kt.Measured(t, q, tau)], [2.0, 3.0], ROBOT)


def test_forces_in_amperes_are_told(tmp_path):
    t, q, _, _, tau = samples()
    columns = {n + (" [A]" if n.startswith("tau") else ""): x for n, x in named(t, q=q, tau=tau).items()}
    with pytest.raises(kt.FileFormatError, match=r"'A' is of a current.*'current_\.\.\.'"):
        kt.Measured.read(write_csv(tmp_path / "m.csv", columns), ROBOT)


def test_rows_that_came_twice_are_left_out(tmp_path):
    t, q, v, _, tau = samples()
    rows = np.sort([*range(len(t)), 7, 7, 50])
    data = kt.Measured.read(write_csv(tmp_path / "m.csv", named(t[rows], q=q[rows], v=v[rows], tau=tau[rows])), ROBOT)
    assert np.array_equal(data.t, t)
    assert np.array_equal(data.tau, tau)
    assert "3 rows are the one before once more" in repr(data)
    tau_too = tau[rows]
    tau_too[9] += 1.0
    with pytest.raises(kt.IdentificationError, match=r"stands still between rows 8 .* and 10 "):
        kt.Measured(t[rows], q[rows], tau_too)


def test_times_whose_digits_were_lost_are_told():
    t, q, _, _, tau = samples()
    lost = np.array([float(f"{x:.9g}") for x in 1.7e9 + t])
    with pytest.raises(kt.IdentificationError, match=r"since 1970.*lost their last digits: 99 of 100 rows.*t - t\[0\]"):
        kt.Measured(lost, q, tau)


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
