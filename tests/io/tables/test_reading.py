"""Tables as laboratories write them, and damage that is found behind their heads."""

import io

import numpy as np
import pytest

import kinetree as kt
from kinetree.io.tables.reading import open_table

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet as parquet  # noqa: E402

WANTED = {"q": ["a"]}


def read(path):
    return [part.read() for part in open_table(path, WANTED).parts()]


def test_pages_of_parquet_that_are_damaged(tmp_path):
    parquet.write_table(pyarrow.table({"q_a": np.arange(1000.0)}), tmp_path / "t.parquet", compression="none")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    data[4:40] = bytes(range(200, 236))
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(kt.FileFormatError, match="cannot be read beyond row 0"):
        read(tmp_path / "t.parquet")


def test_names_of_parquet_that_are_no_text(tmp_path):
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"q_a": np.arange(3.0), "zzzz": np.arange(3.0)}), stream, store_schema=False)
    (tmp_path / "t.parquet").write_bytes(stream.getvalue().replace(b"zzzz", b"\xff\xfe\xff\xfe"))
    with pytest.raises(kt.FileFormatError, match="no Parquet file"):
        read(tmp_path / "t.parquet")


@pytest.mark.parametrize("time", [np.arange(3) + 1j, np.array(["a", "b", "c"]), np.arange(2.0), np.array(1.0)])
def test_times_of_arrays_that_are_no_times(tmp_path, time):
    np.savez(tmp_path / "t.npz", q=np.zeros((3, 1)), time=time)
    with pytest.raises(kt.FileFormatError, match="array 'time' must be numbers of shape"):
        read(tmp_path / "t.npz")


# ------------------------------------------------------------------ as laboratories write them

T = np.arange(8) / 100.0
Q, TAU = (np.random.default_rng(k).standard_normal((8, 2)) for k in (0, 1))
ARM = {"q": ["hip", "knee"], "tau": ["hip", "knee"]}
SI = {"q": dict.fromkeys(ARM["q"], "rad"), "tau": dict.fromkeys(ARM["q"], "N m")}
ROWS = np.column_stack([T, Q, TAU])


def text(header, rows=ROWS, delimiter=",", decimal="."):
    lines = [delimiter.join(repr(float(x)).replace(".", decimal) for x in row) for row in rows]
    return "\n".join([*header, *lines, ""])


def arm(path, content, **options):
    """Read a table of the arm, and hold it against the numbers that were written."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = open_table(path, ARM, None, SI, **options)
    times, arrays = found.whole()
    assert np.allclose(np.diff(times), 0.01, atol=1e-6)
    assert np.allclose(arrays["q"], Q, rtol=1e-12)
    assert np.allclose(arrays["tau"], TAU, rtol=1e-12)
    return found


DEGREES = np.column_stack([1e3 * T, np.rad2deg(Q), TAU])
EPOCH = np.column_stack([1.7e18 + 1e9 * T, Q, TAU])
TEXTS = {
    "semicolons and decimal commas": (text(["t;q_hip;q_knee;tau_hip;tau_knee"], delimiter=";", decimal=","), "commas"),
    "no names": (text([], delimiter=";", decimal=","), "decimal commas"),
    "tabs": (text(["t\tq1\tq2\ttau1\ttau2"], delimiter="\t", decimal=","), "decimal commas"),
    "spaces": (text(["# arm 7", "# t  q1  q2  tau1  tau2"], delimiter="   "), ""),
    "for Excel": (text(["sep=;", "t;q1;q2;tau1;tau2"], delimiter=";"), ""),
    "units below": (text(["t,q1,q2,tau1,tau2", "ms,deg,deg,Nm,Nm"], DEGREES), ""),
    "units in names": (text(["t_ms,q1_deg,q2_deg,torque_1_Nm,torque_2_Nm"], DEGREES), "times are read from t_ms"),
    "index": (text(["__time,/js/position[0],/js/position[1],/js/effort[0],/js/effort[1]"]), "from /js/position[0]"),
    "names": (text(["Time,/js/hip/position,/js/knee/position,hip.effort,knee.effort"]), "q of hip, knee is read"),
    "words": (text(["timestamp,Joint 1 Position,Joint 2 Position,torque1,torque2"]), "times are read from timestamp"),
    "since 1970": (text(["%time,field.pos0,field.pos1,field.trq0,field.trq1"], EPOCH), "nanoseconds since 1970"),
    "whose robot": (
        text(
            ["t,actual_q_0,actual_q_1,actual_torque_0,actual_torque_1,target_q_0,target_q_1"],
            np.column_stack([ROWS, -Q]),
        ),
        "not used: target_q_0",
    ),
    "names in rows": (
        "\n".join(
            ["%time,field.name0,field.name1,field.position0,field.position1,field.effort0,field.effort1"]
            + [f"{t},knee,hip,{a[1]},{a[0]},{b[1]},{b[0]}" for t, a, b in zip(T, Q, TAU, strict=True)]
        ),
        "position/hip",
    ),
    "two columns of time": (
        "\n".join(
            ["header.stamp.sec,header.stamp.nanosec,pos1,pos2,tau1,tau2"]
            + [
                f"{1700000000 + k // 4},{10_000_000 * (k % 4) + 40_000_000 * (k // 4) - 10**9 * (k // 4)},"
                + ",".join(map(repr, row[1:].tolist()))
                for k, row in enumerate(ROWS)
            ]
        ),
        "nanosec",
    ),
}


@pytest.mark.parametrize("form", TEXTS)
def test_texts_of_other_programs(tmp_path, form):
    content, said = TEXTS[form]
    found = arm(tmp_path / "m.txt", content)
    assert said in found.remark
    assert bool(found.rules) == bool(said) or "not used" in said


def test_what_leaves_a_doubt_is_refused_with_what_to_do(tmp_path):
    cases = {
        "t,/left/pos[0],/left/pos[1],/right/pos[0],/right/pos[1]": "'/left/pos[0]' and '/right/pos[0]' can both be 'q'",
        "t,shoulder_angle,elbow_angle,tau1,tau2": "shoulder_angle, elbow_angle may be q: rename them to 'q_hip'",
        "t,motor_pos1,motor_pos2,tau1,tau2": "not at the motor",
        "t,q1,q2,i_1,i_2": "i_1, i_2 may be currents",
        "t,target_q_0,target_q_1,tau1,tau2": "missing: q_hip, q_knee",
        "stamp,timestamp,q1,q2,tau1,tau2": "may be the times: name the one that is 't'",
        "arm 7\n\nt,q1,q2,tau1,tau2": "stand in line 3",
    }
    for header, said in cases.items():
        with pytest.raises(kt.FileFormatError) as problem:
            arm(tmp_path / "m.csv", text([header]))
        assert said in str(problem.value), header
    with pytest.raises(kt.FileFormatError, match="write semicolons between"):
        arm(tmp_path / "m.csv", text(["t,q1,q2,tau1,tau2"], decimal=","))
    with pytest.raises(kt.FileFormatError, match=r"total_seconds\(\)"):
        arm(tmp_path / "m.csv", "t,q1,q2,tau1,tau2\n2024-05-03 12:00:00,1,2,3,4\n")
    with pytest.raises(kt.FileFormatError, match="write all in one way"):
        arm(tmp_path / "m.csv", "t;q1;q2;tau1;tau2\n0,5;1;2;3;4\n0.6;1;2;3;4\n")


def test_joints_that_count_from_zero_are_not_those_of_the_same_name(tmp_path):
    wanted = {"q": ["joint_1", "joint_2"]}
    (tmp_path / "m.csv").write_text("joint_0/position,joint_1/position\n1,2\n")
    with pytest.raises(kt.FileFormatError, match="missing: q_joint_1"):
        open_table(tmp_path / "m.csv", wanted)


def test_arrays_of_matlab_and_numpy(tmp_path):
    from scipy.io import savemat

    forms = {
        "by name": {"t": T, "q": Q, "tau": TAU},
        "turned": {"log": {"time": T, "joint_positions": Q.T, "torque": TAU.T}},
        "degrees": {"t": T, "q_deg": np.rad2deg(Q), "tau": TAU},
        "by joint": {"t": T, "q1": Q[:, 0], "q2": Q[:, 1], "tau1": TAU[:, 0], "tau2": TAU[:, 1]},
        "one": {"data": ROWS},
    }
    for form, held in forms.items():
        savemat(tmp_path / "m.mat", held)
        found = arm(tmp_path / "m.mat", (tmp_path / "m.mat").read_bytes())
        assert ("has a row for each joint" in found.rules) == (form == "turned")
        if form != "turned":
            np.savez(tmp_path / "m.npz", **held)
            arm(tmp_path / "m.npz", (tmp_path / "m.npz").read_bytes())
    (tmp_path / "m.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(kt.FileFormatError, match=r"version 7\.3.*'-v7'"):
        read(tmp_path / "m.mat")
    savemat(tmp_path / "m.mat", {"words": "none"})
    with pytest.raises(kt.FileFormatError, match="no arrays of numbers"):
        read(tmp_path / "m.mat")
    savemat(tmp_path / "m.mat", {"t": T, "q": Q, "effort": TAU, "torque": TAU})
    with pytest.raises(kt.FileFormatError, match="'effort' and 'torque' can both be 'tau'"):
        arm(tmp_path / "m.mat", (tmp_path / "m.mat").read_bytes())


def test_times_of_parquet_may_be_moments(tmp_path):
    moments = (1_700_000_000_000_000 + np.round(1e6 * T).astype(int)).astype("datetime64[us]")
    columns = {"t": moments} | {f"{key}{k}": x[:, k] for key, x in (("q", Q), ("tau", TAU)) for k in (0, 1)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "m.parquet")
    arm(tmp_path / "m.parquet", (tmp_path / "m.parquet").read_bytes())
