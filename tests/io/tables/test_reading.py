"""Tables as laboratories write them, and damage that is found behind their heads."""

import io
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import loadmat, savemat

import kinetree as kt
from kinetree.io.tables.mat_file import read_mat, read_variables
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
    with pytest.raises(kt.FileFormatError, match="not a Parquet file"):
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
        "arm 7\n\nt,q1,q2,tau1,tau2": "seem to be in line 3",
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
    for compressed in (False, True):
        arrays = {
            "a": np.arange(6.0).reshape(2, 3),
            "b": np.arange(300, dtype="i8").reshape(20, 15),
            "c": Q.astype("f4"),
        }
        savemat(tmp_path / "m.mat", arrays | {"s": {"d": T, "w": "words"}, "e": []}, do_compression=compressed)
        judge = loadmat(tmp_path / "m.mat", simplify_cells=True)
        read_back = read_mat(tmp_path / "m.mat")
        assert all(np.array_equal(read_back[name], judge[name]) for name in arrays)
        assert np.array_equal(read_back["s.d"], judge["s"]["d"])
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


# ------------------------------------------------------------------ rows that name joints


def ros(rows):
    """Return a log as ROS writes it, from rows of two joints, positions and efforts."""
    names = ["%time", "name0", "name1", "position0", "position1", "effort0", "effort1"]
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows), ""])


def logged(*order):
    """Return rows of the arm; those from the fourth on are of the joints in the given order."""
    place = {"hip": 0, "knee": 1, "gripper": 0}
    orders = [("knee", "hip")] * 3 + [order] * 5
    return [
        (t, *own, *(a[place[x]] for x in own), *(b[place[x]] for x in own))
        for t, a, b, own in zip(T, Q, TAU, orders, strict=True)
    ]


@pytest.mark.parametrize("without_arrow", [False, True])
@pytest.mark.parametrize("order", [("hip", "knee"), ("knee", "gripper")])
def test_rows_of_other_joints_than_the_first_are_refused(tmp_path, monkeypatch, order, without_arrow):
    if without_arrow:
        monkeypatch.setattr("kinetree.io.tables.reading.csv_numbers", lambda *_: None)
    arm(tmp_path / "m.csv", ros(logged("knee", "hip")))
    with pytest.raises(kt.FileFormatError, match=r"m\.csv, line 5: 'name\d' is '\w+', but in the first row it is"):
        arm(tmp_path / "m.csv", ros(logged(*order)))


def test_rows_of_parquet_and_arrays_name_joints_too(tmp_path):
    names = ["t", "name0", "name1", "position0", "position1", "effort0", "effort1"]

    def table(rows):
        parquet.write_table(
            pyarrow.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "m.parquet"
        )
        return arm(tmp_path / "m.parquet", (tmp_path / "m.parquet").read_bytes())

    def arrays(rows, joints):
        values = np.array([row[3:] for row in rows], dtype=float)
        np.savez(tmp_path / "m.npz", t=T, name=joints, position=values[:, :2], effort=values[:, 2:])
        return arm(tmp_path / "m.npz", (tmp_path / "m.npz").read_bytes())

    good, bad = logged("knee", "hip"), logged("hip", "knee")
    assert "position/hip" in table(good).remark
    arrays(good, np.array(["knee", "hip"]))
    arrays(good, np.array([row[1:3] for row in good]))
    with pytest.raises(kt.FileFormatError, match="row 4: 'name0' is 'hip', but in the first row it is 'knee'"):
        table(bad)
    with pytest.raises(kt.FileFormatError, match=r"row 4: 'name\[0\]' is 'hip'"):
        arrays(bad, np.array([row[1:3] for row in bad]))
    with pytest.raises(kt.FileFormatError, match="missing: q_hip"):
        arrays(good, np.array(["knee", "gripper"]))


# ------------------------------------------------------------------ arrays with units, and of truth values


@pytest.mark.parametrize("kind", ["npz", "mat"])
@pytest.mark.parametrize(
    ("name", "unit"), [("t_ms", 1e-3), ("time_us", 1e-6), ("t_ns", 1e-9), ("t_s", 1.0), ("log.t_ms", 1e-3)]
)
def test_units_in_names_of_times_hold_for_arrays(tmp_path, kind, name, unit):
    times = np.round(T / unit).astype("i8") if unit < 1.0 else T
    if kind == "npz":
        np.savez(tmp_path / "m.npz", **{name: times}, q=Q, tau=TAU)
    else:
        outer, _, inner = name.partition(".")
        savemat(tmp_path / "m.mat", {outer: {inner: times} if inner else times, "q": Q, "tau": TAU})
    found = arm(tmp_path / f"m.{kind}", (tmp_path / f"m.{kind}").read_bytes())
    assert f"times are read from array {name!r}" in found.rules


def test_variables_of_matlab_by_their_whole_names(tmp_path):
    """Tables take arrays that are no parts of cells; a model of spatial_v2 is made of cells and text."""
    items = np.empty((1, 3), dtype=object)
    items[0] = ["Rx", np.eye(2), {"code": "Grüße", "pars": {"pitch": 0.5}}]
    file = tmp_path / "m.mat"
    savemat(file, {"t": T, "model": {"jtype": items, "odd": 1j * T, "both": np.array([["ab"], ["cd"]], dtype="U")}})
    found = read_variables(file.read_bytes(), "m.mat")
    assert found["model.jtype{1}"] == "Rx"
    np.testing.assert_array_equal(found["model.jtype{2}"], np.eye(2))
    assert found["model.jtype{3}.code"] == "Grüße"
    assert found["model.jtype{3}.pars.pitch"] == 0.5
    assert found["model.odd"] is None
    assert found["model.both"] is None
    assert found["t"].shape == (1, len(T))
    assert list(read_mat(file)) == ["t"]


def test_text_of_matlab_in_every_encoding(tmp_path):
    """By order of bytes and type of data: Octave writes type 17, MATLAB 4 or 16."""
    for order, mark in (("<", b"IM"), (">", b"MI")):
        utf16 = "utf-16-le" if order == "<" else "utf-16-be"
        for kind, coding in ((1, "latin-1"), (2, "latin-1"), (4, utf16), (16, "utf-8"), (17, utf16)):

            def part(kind, data, order=order):
                return struct.pack(f"{order}II", kind, len(data)) + data + bytes(-len(data) % 8)

            whole = part(6, struct.pack(f"{order}II", 4, 0)) + part(5, struct.pack(f"{order}ii", 1, 3)) + part(1, b"s")
            version = b"\x00\x01" if order == "<" else b"\x01\x00"
            head = b"MATLAB 5.0 MAT-file".ljust(124) + version + mark
            data = head + part(14, whole + part(kind, "Rü-".encode(coding)))
            assert read_variables(data, "m.mat") == {"s": "Rü-"}


def test_truth_values_of_matlab_are_no_angles(tmp_path):
    savemat(tmp_path / "m.mat", {"t": T, "q": Q > 0.0, "tau": TAU})
    with pytest.raises(kt.FileFormatError, match=r"array 'q' must be numbers of shape \(rows, 2\), not bool"):
        arm(tmp_path / "m.mat", (tmp_path / "m.mat").read_bytes())
    assert read_mat(tmp_path / "m.mat")["q"].dtype == bool
    savemat(tmp_path / "m.mat", {"t": T, "q1": Q[:, 0], "q2": Q[:, 1] > 0.0, "tau": TAU})
    with pytest.raises(kt.FileFormatError, match=r"q2 \(8,\) of bool"):
        arm(tmp_path / "m.mat", (tmp_path / "m.mat").read_bytes())


# ------------------------------------------------------------------ files that must not take for ever


def test_the_time_for_names_of_columns_grows_with_their_length(tmp_path, no_hang):
    arm(tmp_path / "m.csv", text([f"t,q1,q2,tau1,tau2,{'a' * 130_000}"], np.column_stack([ROWS, T])))


def compressed(content):
    """Return a file of MATLAB with one compressed element."""
    packed = zlib.compress(content)
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


@pytest.mark.parametrize(
    "content",
    [bytes(800_000), element(14, element(6, struct.pack("<II", 6, 0)) + bytes(800_000)), element(14, b"") * 100_000],
    ids=["zeros", "zeros in an array", "empty arrays"],
)
def test_a_small_file_of_matlab_that_unfolds_is_not_read_eight_bytes_at_a_time(tmp_path, monkeypatch, content):
    looked = []

    def unpack(*arguments):
        looked.append(arguments[-1])
        return struct.unpack_from(*arguments)

    own = SimpleNamespace(unpack_from=unpack, error=struct.error)
    monkeypatch.setattr("kinetree.io.tables.mat_file.struct", own)
    (tmp_path / "m.mat").write_bytes(compressed(content))
    with pytest.raises(kt.FileFormatError, match=r"damaged|no arrays of numbers"):
        read_mat(tmp_path / "m.mat")
    assert 0 < len(looked) < 20


def test_arrays_of_matlab_with_too_many_axes_or_fields_are_refused(tmp_path):
    flags, one = (element(6, struct.pack("<II", kind, 0)) for kind in (6, 2)), element(5, struct.pack("<ii", 1, 1))
    number, structure = flags
    axes = number + element(5, struct.pack("<i", 2) * 1000) + element(1, b"q") + element(9, b"")
    fields = structure + one + element(1, b"s") + element(5, struct.pack("<i", 1)) + element(1, b"a" * 20_000)
    for content, said in ((axes, "array 'q' has 1000 axes"), (fields, "structure 's' has 20000 fields")):
        (tmp_path / "m.mat").write_bytes(compressed(element(14, content)))
        with pytest.raises(kt.FileFormatError, match=said):
            read_mat(tmp_path / "m.mat")
