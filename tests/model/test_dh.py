"""Robots from Denavit-Hartenberg tables, against products of 4x4 matrices and the numbers of the sources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_mass

# ------------------------------------------------------------------ as other programs write it

OWN = [
    {"alpha": 0.3, "a": 0.1, "d": 0.4, "theta": 0.2, "mass": 2.0, "com": (0.1, 0.2, 0.3),
     "inertia": (0.4, 0.5, 0.6, 0.01, 0.02, 0.03), "lower": -1.0, "upper": 2.0, "rotor_inertia": 1e-4,
     "gear_ratio": -50.0, "damping": 2e-3 * 2500, "friction": 50 * 0.3, "friction_offset": 50 * 0.1},
    {"alpha": -0.5, "a": 0.2, "d": 0.3, "theta": 0.1, "mass": 1.0, "joint": "prismatic", "parent": 1},
]  # fmt: skip


def test_names_of_the_robotics_toolbox():
    rows = [
        {"alpha": 0.3, "a": 0.1, "d": 0.4, "offset": 0.2, "sigma": 0, "m": 2.0, "r": [0.1, 0.2, 0.3],
         "I": [0.4, 0.5, 0.6, 0.01, 0.03, 0.02], "qlim": [-1.0, 2.0], "Jm": 1e-4, "G": -50.0, "B": 2e-3,
         "Tc": [0.4, -0.2]},
        {"alpha": -0.5, "a": 0.2, "theta": 0.1, "d": 0.1, "offset": 0.2, "sigma": 1, "m": 1.0},
    ]  # fmt: skip
    for convention in ("standard", "modified"):
        own, theirs = (kt.from_dh(table, convention) for table in (OWN, rows))
        q, v, a = np.random.default_rng(0).standard_normal((3, 5, 2))
        assert_close(theirs.inverse_dynamics(q, v, a), own.inverse_dynamics(q, v, a), 1e-12)
        assert_close(theirs.friction_force(v), own.friction_force(v), 1e-12)
        assert theirs.lower_limits.tolist() == own.lower_limits.tolist()
        assert_close(theirs.pose(q, "link2"), own.pose(q, "link2"), 1e-12)


def test_names_of_redysim_and_of_matlab():
    kept = ("alpha", "a", "d", "theta", "mass", "com", "inertia", "joint")
    plain = [{key: row[key] for key in row if key in kept} for row in OWN]
    redysim = [
        {"alp": 0.3, "a": 0.1, "b": 0.4, "th": 0.2, "bt": 0, "r": 1, "m": 2.0, "dx": 0.1, "dy": 0.2, "dz": 0.3,
         "Icxx": 0.4, "Icyy": 0.5, "Iczz": 0.6, "Icxy": 0.01, "Iczx": 0.02, "Icyz": 0.03},
        {"alp": -0.5, "a": 0.2, "b": 0.3, "th": 0.1, "bt": 1, "r": 0, "m": 1.0},
    ]  # fmt: skip
    c = np.array(OWN[0]["com"])
    matrix = np.array([[0.4, 0.01, 0.02], [0.01, 0.5, 0.03], [0.02, 0.03, 0.6]])
    matrix += 2.0 * (c @ c * np.eye(3) - np.outer(c, c))
    six = [matrix[0, 0], matrix[1, 1], matrix[2, 2], matrix[1, 2], matrix[0, 2], matrix[0, 1]]
    matlab = [
        {"alpha": 0.3, "a": 0.1, "d": 0.4, "theta": 0.2, "JointType": "revolute", "Mass": 2.0, "CenterOfMass": c,
         "Inertia": six},
        {"alpha": -0.5, "a": 0.2, "d": 0.3, "theta": 0.1, "type": "P", "m": 1.0},
    ]  # fmt: skip
    q, v, a = np.random.default_rng(0).standard_normal((3, 5, 2))
    expected = kt.from_dh(plain, "modified").inverse_dynamics(q, v, a)
    by_columns = {key: [row.get(key, 0.0) for row in redysim] for key in redysim[0]}  # as inputs.m has them
    by_columns["m"] = np.array([[2.0], [1.0]])
    for table in (redysim, matlab, by_columns):
        assert_close(kt.from_dh(table, "modified").inverse_dynamics(q, v, a), expected, 1e-12)


def test_tables_of_numbers():
    q = np.array([0.3, 0.1])
    rows = [{key: row[key] for key in ("alpha", "a", "d", "theta")} for row in OWN]
    kinds = ("revolute", "prismatic")
    for convention, pose in (("standard", standard), ("modified", modified)):
        expected = pose(rows[0], q[0], kinds[0]) @ pose(rows[1], q[1], kinds[1])
        rtb = np.array([[r["theta"], r["d"], r["a"], r["alpha"], k] for k, r in enumerate(rows)])
        assert_close(kt.from_dh(rtb, convention, columns="rtb").pose(q, "link2"), expected, 1e-12)
        hinges = pose(rows[0], q[0], kinds[0]) @ pose(rows[1], q[1], kinds[0])
        matlab = [[r["a"], r["alpha"], r["d"], r["theta"]] for r in rows]
        assert_close(kt.from_dh(matlab, convention, columns="matlab").pose(q, "link2"), hinges, 1e-12)
        book = [[r["alpha"], r["a"], r["d"], r["theta"]] for r in rows]
        for columns in ("redysim", ("alp", "a", "b", "th")):
            assert_close(kt.from_dh(book, convention, columns=columns).pose(q, "link2"), hinges, 1e-12)


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        ([[0, 0, 1, 0]], {"convention": "standard"}, r"what its 4 columns are: columns='rtb' is theta, d, a, alpha"),
        ([[0, 0, 1, 0]], {"columns": "rtb"}, r"state the convention .*'standard'.* or 'modified'"),
        ([{"alp": 1.0}], {}, r"state the convention"),
        ([[0, 0, 1, 0], [0, 0, None, 0]], {"columns": "rtb", "convention": "standard"}, r"row 2, column 3 \(a\): None"),
        (
            [[0, 0, 1]],
            {"columns": "rtb", "convention": "standard"},
            r"row 1 has 3 numbers; the columns are theta, d, a",
        ),
        ([[0, 0, 1, 0]], {"columns": ("tetha",), "convention": "standard"}, r"no column 'tetha'; did you mean 'theta'"),
        ([[0, 0, 1, 0]], {"columns": ("a", "d", "d", "th"), "convention": "standard"}, r"two columns are named 'd'"),
        ([{"a": 1.0}], {"columns": "rtb"}, r"has rows with names"),
        ([{"theta": 0, "th": 1}], {"convention": "modified"}, r"row 1: 'th' and 'theta' are two names"),
        ([{"sigma": 2}], {"convention": "modified"}, r"row 1: sigma must be 0 \(revolute\) or 1"),
        ([{"r": 0.3}], {"convention": "modified"}, r"row 1: r is 1 .* ReDySim, or the center of mass"),
        ([{"qlim": 3.0}], {"convention": "standard"}, r"row 1: qlim must be two finite numbers, not 3.0"),
        ([{"mdh": 0}], {"convention": "modified"}, r"row 1: its mdh says that the table is standard"),
        ([{"Alpha": 0.1}], {}, r"row 1: no entry 'Alpha' .* did you mean 'alpha'"),
        ([{"CenterofMass": 0.1}], {}, r"did you mean 'CenterOfMass'"),
    ],
)
def test_what_other_programs_mean_is_asked_for(table, options, said):
    with pytest.raises(kt.ModelError, match=said):
        kt.from_dh(table, **options)


def test_degrees_that_are_taken_for_radians_are_noticed():
    with pytest.warns(kt.ModelWarning, match=r"row 2: alpha = -90 rad is more than two turns; .* degrees=True"):
        kt.from_dh([[0, 0.3, 0, 0], [0, 0, 0.4, -90]], "standard", columns="rtb")


@pytest.mark.parametrize(
    ("row", "degrees", "said"),
    [
        ({"theta": 45.0}, False, "row 1: theta = 45 rad is more than two turns; .* degrees=True"),
        ({"offset": -90.0}, False, "row 1: theta = -90 rad"),
        ({"qlim": (-160, 160)}, False, r"row 1: lower = -160 rad .* np\.radians"),
        ({"qlim": (-1, 160)}, True, "row 1: upper = 160 rad .* degrees='all' takes them in degrees, too"),
        ({"a": 300.0}, False, "row 1: a = 300 m: lengths are in meters"),
    ],
)
def test_units_that_nobody_means_are_noticed(row, degrees, said):
    with pytest.warns(kt.ModelWarning, match=said):
        kt.from_dh([row], "standard", degrees=degrees)


def test_a_whole_table_may_be_in_degrees():
    hinge, slide = {"alpha": 90, "theta": 30, "qlim": (-160, 170)}, {"sigma": 1, "qlim": (-0.1, 0.3)}
    robot = kt.from_dh([hinge, slide], "standard", degrees="all")
    assert_close(robot.lower_limits, [np.radians(-160), -0.1], 1e-15)
    assert_close(robot.upper_limits, [np.radians(170), 0.3], 1e-15)
    plain = kt.from_dh([hinge | {"qlim": (-2, 2)}, slide], "standard", degrees=True)
    assert np.array_equal(plain.pose([0.2, 0.1], "link2"), robot.pose([0.2, 0.1], "link2"))


def test_limits_of_files_are_doubted_with_their_line(tmp_path):
    path = tmp_path / "arm.yaml"
    text = """kinetree: 1
table: {convention: modified, degrees: DEGREES, rows: [{alpha: 90, lower: -170, upper: 160, mass: 1}]}
"""
    path.write_text(text.replace("DEGREES", "true"))
    with pytest.warns(kt.ModelWarning, match=r"line 2: row 1: lower = -170 rad .* degrees='all'"):
        kt.load(path)
    path.write_text(text.replace("DEGREES", "all"))
    assert_close(kt.load(path).upper_limits, [np.radians(160)], 1e-15)
    body = "bodies: [{name: a, parent: base, joint: {kind: revolute, lower: -170}, mass: 1}]"
    path.write_text(f"kinetree: 1\n{body}\n")
    with pytest.warns(kt.ModelWarning, match=r"line 2: joint 'a_joint': limit -170 rad"):
        kt.load(path)


def test_a_base_that_floats_may_have_mass():
    links = [{"mass": 10.0, "com": (0.5, 0, 0), "inertia": (0, 1, 1)}, {"a": 1.0, "mass": 3.0, "com": (0.4, 0, 0)}]
    hull = kt.MassProperties.box(100.0, (1, 1, 1))
    robot = kt.from_dh(links, gravity=(0, 0, 0), floating_base=True, base_mass_properties=hull)
    builder = kt.Builder("2R", gravity=(0, 0, 0))
    builder.add_body("base", hull)
    builder.body("link1", "base", kt.Revolute("z"), joint_name="joint1", **links[0])
    builder.body("link2", "link1", kt.Revolute("z"), joint_name="joint2", position=(1, 0, 0), mass=3.0, com=(0.4, 0, 0))
    assert robot == builder.build(floating_base=True)


def test_conventions_by_other_names_and_a_name_for_the_robot():
    for theirs, ours in (("classical", "standard"), ("MDH", "modified"), ("Craig", "modified")):
        with pytest.raises(kt.ModelError, match=f"not '{theirs}'; here it is '{ours}'"):
            kt.from_dh([{}], theirs)
    rows = [{}, {}, {"joint": "prismatic"}, {"joint": "fixed"}, {}]
    assert kt.from_dh(rows).name == "2RPR"
    assert kt.from_dh(rows, name="stanford").name == "stanford"


# ------------------------------------------------------------------ an independent judge: 4x4 matrices


def rot_x(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def rot_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def shift(x=0.0, z=0.0):
    return np.array([[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, z], [0, 0, 0, 1]])


def modified(row, q, kind):
    theta, d = row["theta"] + (q if kind == "revolute" else 0), row["d"] + (q if kind == "prismatic" else 0)
    return rot_x(row["alpha"]) @ shift(x=row["a"]) @ rot_z(theta) @ shift(z=d)


def standard(row, q, kind):
    theta, d = row["theta"] + (q if kind == "revolute" else 0), row["d"] + (q if kind == "prismatic" else 0)
    return rot_z(theta) @ shift(z=d) @ shift(x=row["a"]) @ rot_x(row["alpha"])


def khalil(row, q, kind):
    theta, r = row["theta"] + (q if kind == "revolute" else 0), row["r"] + (q if kind == "prismatic" else 0)
    front = rot_z(row["gamma"]) @ shift(z=row["b"])
    return front @ rot_x(row["alpha"]) @ shift(x=row["d"]) @ rot_z(theta) @ shift(z=r)


JUDGES = {"modified": modified, "standard": standard, "khalil": khalil}
KIND_OF_SIGMA = {0: "revolute", 1: "prismatic", 2: "fixed"}


class Table:
    """A random tree, its rows, and its frames by matrix products."""

    def __init__(self, convention: str, seed: int, rows: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.convention, self.rows, self.parents, self.kinds, self.masses = convention, [], [], [], []
        for j in range(rows):
            kind = "revolute" if j == 0 else str(rng.choice(["revolute", "prismatic", "fixed"], p=[0.5, 0.3, 0.2]))
            parent = 0 if j == 0 else int(rng.integers(max(0, j - 2), j + 1))
            mass = random_mass(rng)
            row: dict[str, Any] = {"mass": mass.mass, "com": mass.com, "inertia": mass.inertia}
            keys = (
                ("gamma", "b", "alpha", "d", "theta", "r") if convention == "khalil" else ("alpha", "a", "d", "theta")
            )
            row |= {key: float(rng.uniform(-1.5, 1.5)) for key in keys}
            if convention == "khalil":
                row |= {"antecedent": parent, "sigma": ["revolute", "prismatic", "fixed"].index(kind)}
            else:
                row |= {"parent": parent, "joint": kind}
            self.rows.append(row)
            self.parents.append(parent)
            self.kinds.append(kind)
            self.masses.append(mass)
        self.gravity = rng.uniform(-10, 10, 3)
        self.robot = kt.from_dh(self.rows, convention, gravity=self.gravity)
        self.q, self.v = self.robot.random_configuration(rng), rng.uniform(-2, 2, self.robot.nv)

    def frames(self, q) -> list[np.ndarray]:
        """World pose of every row's frame."""
        found, coordinates = [np.eye(4)], iter(q)
        for row, parent, kind in zip(self.rows, self.parents, self.kinds, strict=True):
            own = 0.0 if kind == "fixed" else next(coordinates)
            found.append(found[parent] @ JUDGES[self.convention](row, own, kind))
        return found[1:]

    def carried(self, j: int) -> bool:
        """Whether anything moves row j at all."""
        while True:
            if self.kinds[j] != "fixed":
                return True
            if self.parents[j] == 0:
                return False
            j = self.parents[j] - 1

    def mass_matrix(self, q) -> np.ndarray:
        """Sum over bodies of m Jc^T Jc + Jw^T I Jw, with exact (complex-step) derivatives of the 4x4 products."""
        h, n = 1e-30, len(q)
        frames = self.frames(q)
        steps = [self.frames(q + 1j * h * np.eye(n)[k]) for k in range(n)]
        total = np.zeros((n, n))
        for j, mass in enumerate(self.masses):
            turn, com = frames[j][:3, :3], np.append(mass.com, 1.0)
            jc = np.stack([(s[j] @ com).imag[:3] / h for s in steps], axis=1)
            spins = [s[j][:3, :3].imag / h @ turn.T for s in steps]
            jw = np.stack([[w[2, 1], w[0, 2], w[1, 0]] for w in spins], axis=1)
            total += mass.mass * jc.T @ jc + jw.T @ turn @ mass.inertia_matrix @ turn.T @ jw
        return total

    def potential(self, q) -> float:
        moving = [j for j in range(len(self.rows)) if self.carried(j)]
        frames = self.frames(q)
        return -sum(self.masses[j].mass * self.gravity @ (frames[j] @ [*self.masses[j].com, 1.0])[:3] for j in moving)


@pytest.mark.parametrize("convention", ["modified", "standard", "khalil"])
@pytest.mark.parametrize("seed", range(6))
def test_frames_and_masses_of_random_trees(convention, seed):
    table = Table(convention, seed)
    for j, pose in enumerate(table.frames(table.q)):
        assert_close(table.robot.pose(table.q, f"link{j + 1}"), pose, 1e-14, scale=1.0)
    assert_close(table.robot.mass_matrix(table.q), table.mass_matrix(table.q), 1e-13)
    assert_close(table.robot.potential_energy(table.q), table.potential(table.q), 1e-13, scale=100.0)


@pytest.mark.parametrize("convention", ["modified", "standard", "khalil"])
def test_degrees_are_the_same_angles(convention):
    table = Table(convention, 20)
    in_degrees = [dict(row) for row in table.rows]
    for row in in_degrees:
        for key in ("alpha", "theta", "gamma"):
            if key in row:
                row[key] = float(np.degrees(row[key]))
    robot = kt.from_dh(in_degrees, convention, degrees=True, gravity=table.gravity)
    for j, pose in enumerate(table.frames(table.q)):
        assert_close(robot.pose(table.q, f"link{j + 1}"), pose, 1e-14, scale=1.0)


@pytest.mark.parametrize("degrees", [-450.0, -180.0, -90.0, 90.0, 180.0, 270.0, 360.0])
def test_quarter_turns_are_exact_in_degrees_and_in_radians(degrees):
    rows = [{"alpha": degrees, "mass": 1.0}]
    exact = kt.from_dh(rows, degrees=True).pose([0.0], "link1")
    assert set(np.abs(exact).ravel()) == {0.0, 1.0}
    assert_close(exact, rot_x(np.radians(degrees)), 1e-14)
    angle = math.radians(degrees)
    for near in (angle, math.nextafter(angle, 0.0), math.nextafter(math.nextafter(angle, 9.0), 9.0)):
        np.testing.assert_array_equal(kt.from_dh([{"alpha": near, "mass": 1.0}]).pose([0.0], "link1"), exact)
        np.testing.assert_array_equal(kt.Pose.of(rpy=(near, 0, 0)).rotation, exact[:3, :3])
    for written in (round(angle, 4), round(angle, 11), angle * (1.0 + 1e-15)):  # as the file has them
        rounded = kt.from_dh([{"alpha": written, "mass": 1.0}]).pose([0.0], "link1")
        assert rounded[2, 1] == np.sin(written)
        assert rounded[1, 1] == np.cos(written)


# ------------------------------------------------------------------ one arm, two tables


PUMA = {  # a PUMA 560: theta offset 0; a, d, alpha of the standard table; mass, center, inertia in the standard frames
    "a": (0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0),
    "d": (0.0, 0.0, 0.15005, 0.4318, 0.0, 0.0),
    "alpha": (90.0, 0.0, -90.0, 90.0, -90.0, 0.0),
    "mass": (4.0, 17.4, 4.8, 0.82, 0.34, 0.09),
    "com": ((0, 0, 0), (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.07), (0, 0.019, 0), (0, 0, 0), (0, 0, 0.032)),
    "inertia": (
        (0.3, 0.35, 0.3), (0.13, 0.524, 0.539), (0.066, 0.086, 0.0125),
        (1.8e-3, 1.3e-3, 1.8e-3), (3e-4, 4e-4, 3e-4), (1.5e-4, 1.5e-4, 4e-5),
    ),
}  # fmt: skip


def puma(convention: str) -> kt.Robot:
    rows = []
    for i in range(6):
        turn = Rotation.from_euler("x", PUMA["alpha"][i], degrees=True).as_matrix()
        com, inertia = np.array(PUMA["com"][i]), np.diag(PUMA["inertia"][i])
        row = {"d": PUMA["d"][i], "mass": PUMA["mass"][i], "name": f"l{i + 1}"}
        if convention == "standard":
            row |= {"a": PUMA["a"][i], "alpha": PUMA["alpha"][i], "com": com, "inertia": inertia}
        else:  # the modified frame sits at the joint: take the far-end frame's data back along the link
            moved = turn @ inertia @ turn.T
            row |= {"com": turn @ com + [PUMA["a"][i], 0, 0], "inertia": 0.5 * (moved + moved.T)}
            row |= {"a": PUMA["a"][i - 1] if i else 0.0, "alpha": PUMA["alpha"][i - 1] if i else 0.0}
        rows.append(row)
    rows.append({"joint": "fixed", "name": "tool", "d": 0.2})
    with pytest.warns(kt.ModelWarning, match=r"'l3': .*0\.086\) break the triangle inequality"):
        return kt.from_dh(rows, convention, degrees=True, name="puma", strict=False)


def test_standard_and_modified_tables_of_one_arm_agree():
    rng = np.random.default_rng(5)
    far, near = puma("standard"), puma("modified")
    q, v, a = rng.uniform(-3, 3, (3, 20, 6))
    assert_close(far.pose(q, "tool"), near.pose(q, "tool"), 1e-14)
    assert_close(far.inverse_dynamics(q, v, a), near.inverse_dynamics(q, v, a), 1e-13)
    assert_close(far.mass_matrix(q), near.mass_matrix(q), 1e-13)
    tau = rng.uniform(-50, 50, (20, 6))
    assert_close(far.forward_dynamics(q, v, tau), near.forward_dynamics(q, v, tau), 1e-9)
    # and the frames differ, as they should: the standard one is at the far end of the link
    assert np.abs(far.pose(q, "l2") - near.pose(q, "l2")).max() > 0.1


# ------------------------------------------------------------------ numbers of the sources


def printed(actual: np.ndarray, expected: Any, digits: int) -> None:
    """Equal to a table, to every digit printed there."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=0.5000001 * 10.0**-digits)


def cycloid(start: np.ndarray, end: np.ndarray, period: float, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """The sources' trajectory (Shah section 6.2.1) with its two derivatives."""
    t = np.asarray(t, dtype=float)[..., None]
    w, rate = 2 * np.pi / period, (np.asarray(end) - np.asarray(start)) / period
    return start + rate * (t - np.sin(w * t) / w), rate * (1 - np.cos(w * t)), rate * w * np.sin(w * t)


def gripper() -> kt.Robot:
    lengths, masses = (0.10, 0.05, 0.05, 0.05), (0.4, 0.2, 0.2, 0.2)
    rows = [
        {
            "a": a, "parent": parent, "mass": m, "com": (length / 2, 0, 0),
            "inertia": (0, m * length**2 / 12, m * length**2 / 12),
        }
        for a, parent, m, length in zip((0.0, 0.10, 0.05, 0.05), (0, 1, 2, 1), masses, lengths, strict=True)
    ]  # fmt: skip
    return kt.from_dh(rows, "modified", name="gripper", gravity=(0, -9.81, 0))


def test_gripper_torques():
    q, v, a = cycloid(np.radians([0, 0, 0, 90]), np.radians([60, 80, 80, 120]), 1.0, [0, 0.25, 0.5, 0.75, 1])
    torques = [
        [0.882900, 0.196200, 0.049050, 0], [0.974371, 0.226725, 0.057435, -0.005135],
        [0.540929, 0.034302, -0.010778, -0.033624], [0.148820, -0.152840, -0.046802, -0.049199],
        [0.144002, -0.150298, -0.037574, -0.049050],
    ]  # fmt: skip
    printed(gripper().inverse_dynamics(q, v, a), torques, 6)


def test_gripper_falls():
    q = np.radians([-60, 0, 0, 0])
    expected = [-68.180938, 117.374780, -65.591789, 23.302346]
    printed(gripper().forward_dynamics(q, np.zeros(4), np.zeros(4)), expected, 6)
    assert_close(gripper().potential_energy(q), -0.80709238, 1e-8)


def kuka() -> kt.Robot:
    """KUKA KR5 Arc: table 6.6 with the mass centers and digits that the book leaves out (notes, section 8.2)."""
    a, alpha, b = (0, 0.18, 0.6, 0.12, 0, 0), (0, 90, 0, 90, -90, 90), (0.4, 0, 0, 0.62, 0, 0)
    mass = (16.038, 7.988, 12.973, 2.051, 0.811, 0.008)
    x = (0.104667, 0.267012, 0.087677, -0.000033, 0, 0)
    y = (0.005077, 0, -0.034263, 0.007634, 0.032618, 0)
    z = (0.059035, 0, 0.007779, -0.109372, -0.009789, 0.111885)
    inertia = 1e-6 * np.array(
        [
            [176938.765, 266532.371, 262222.375], [271640.468, 276878.849, 21894.253],
            [388988.085, 376583.684, 104146.290], [4767.354, 10122.217, 12108.860],
            [760.688, 1783.961, 1801.078], [3.113, 1.512, 1.652],
        ]
    )  # fmt: skip
    rows = [
        kt.DHRow(a=a[i], alpha=alpha[i], d=b[i], mass=mass[i], com=(x[i], y[i], z[i]), inertia=inertia[i])
        for i in range(6)
    ]
    return kt.from_dh(rows, degrees=True, name="kuka")


def test_kuka_cycloid():
    robot = kuka()
    q, v, a = cycloid(np.zeros(6), np.full(6, np.pi / 3), 1.0, np.linspace(0, 1, 201))
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(tau[[0, -1], 0], [0.0, 0.0], 1e-12, scale=1.0)
    assert np.abs(tau[:, 0]).max() > 1.0
    largest = np.abs(tau).max(axis=0)
    assert largest.argmax() == 1
    # power balance along the motion: work of the torques is the gain of energy
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    work = np.sum(tau * v) / 200  # the trapezoidal rule: at rest at both ends
    assert_close(work, energy[-1] - energy[0], 1e-4)


def test_three_joint_arm_with_a_screw():
    """A revolute, a prismatic and a screw joint: H, C, Q and kinetic energy to all digits."""
    alpha, a, s, theta = (0.3, -0.7, 1.1), (0.2, 0.4, -0.1), (0.5, 0.1, 0.3), (0.2, -0.4, 0.6)
    com = ((0.1, 0.2, -0.1), (0.05, -0.1, 0.2), (0, 0.1, 0.15))
    inertia = ((0.3, 0.4, 0.5), [[0.2, 0.01, 0], [0.01, 0.25, 0.02], [0, 0.02, 0.15]], (0.05, 0.06, 0.04))
    joints = ("revolute", "prismatic", kt.Helical("z", 0.1))
    rows = [
        {"alpha": alpha[i], "a": a[i], "d": s[i], "theta": theta[i], "joint": joints[i]}
        | {"mass": 3 - i, "com": com[i], "inertia": inertia[i]}
        for i in range(3)
    ]
    by_hand = kt.Builder("g1")
    for i, kind in enumerate((kt.Revolute("z"), kt.Prismatic("z"), kt.Helical("z", 0.1))):
        pose = kt.Pose.from_matrix(rot_x(alpha[i]) @ shift(x=a[i]) @ rot_z(theta[i]) @ shift(z=s[i]))
        parent = f"link{i}" if i else "base"
        by_hand.body(f"link{i + 1}", parent, kind, placement=pose, mass=3 - i, com=com[i], inertia=inertia[i])
    q, v, acceleration = (0.4, 0.25, -0.3), (1, -0.5, 2), (0.3, 0.7, -1.2)
    for robot in (kt.from_dh(rows), by_hand.build()):
        h = [[1.40326354, 0.62232073, 0.05691421], [0.62232073, 3, 0.01902263], [0.05691421, 0.01902263, 0.06]]
        printed(robot.mass_matrix(q), h, 8)
        printed(robot.bias_force(q, v), [0.16988601, 24.97714374, 0.1418132], 8)
        printed(robot.inverse_dynamics(q, v, acceleration), [0.95819254, 27.2410128, 0.10020331], 8)
        printed(robot.kinetic_energy(q, v), 0.98027719, 8)


def sr400(d2=0.3, d3=0.8, d4=0.15, r4=0.9, d8=0.35) -> kt.Robot:
    """Acma SR400 (Khalil section 10.3): the tree after its parallelogram has been cut at frames 9 and 10."""
    quarter = 90.0
    table = [  # antecedent, sigma, mu, gamma, alpha, d, r
        (0, 0, 1, 0, 0, 0, 0), (1, 0, 1, 0, -quarter, d2, 0), (2, 0, 0, 0, 0, d3, 0), (3, 0, 1, 0, -quarter, d4, r4),
        (4, 0, 1, 0, quarter, 0, 0), (5, 0, 1, 0, -quarter, 0, 0), (1, 0, 1, 0, -quarter, d2, 0),
        (7, 0, 0, 0, 0, d8, 0), (8, 2, 0, 0, 0, d3, 0), (3, 2, 0, quarter, 0, -d8, 0),
    ]  # fmt: skip
    keys = ("antecedent", "sigma", "mu", "gamma", "alpha", "d", "r")
    rows = [dict(zip(keys, values, strict=True)) | {"name": f"f{j + 1}"} for j, values in enumerate(table)]
    for row in rows[:8]:
        row |= {"mass": 1.0, "com": (0.1, 0.05, 0.02), "inertia": (0.1, 0.1, 0.1)}
    return kt.from_dh([kt.KhalilRow(**row) for row in rows], "khalil", degrees=True, name="sr400")


def test_sr400_loop_closes():
    robot = sr400()
    assert [j.name for j in robot.model.joints if not j.actuated] == ["joint3", "joint8"]
    rng = np.random.default_rng(1)
    q = rng.uniform(-np.pi, np.pi, (50, 8))  # joints 1 to 8 in the order of the table
    q[:, 2] = np.pi / 2 - q[:, 1] + q[:, 6]
    q[:, 7] = q[:, 1] - q[:, 6]
    # 9 and 10 are the two sides of the cut hinge: the same axis at the same place, turned only about it
    nine, ten = robot.pose(q, "f9"), robot.pose(q, "f10")
    assert_close(nine[..., :3, 2:], ten[..., :3, 2:], 1e-14)
    open_q = q + np.eye(8)[2] * 0.1
    assert np.abs(robot.pose(open_q, "f9")[..., :3, 3] - robot.pose(open_q, "f10")[..., :3, 3]).max() > 0.01


KHALIL_SR400 = """kinetree: 1
name: sr400
base: ground
table:      # Khalil section 10.3: eight links, the cut joint 9 on link 8, and frame 10 on link 3
  convention: khalil
  degrees: true
  links: 8
  rows:
    - {j: 1, a: 0, mu: 1, sigma: 0, name: turret, joint_name: joint_1, mass: 60, com: [0.05, 0, -0.2],
       inertia: [2.0, 2.2, 1.2]}
    - {j: 2, a: 1, mu: 1, sigma: 0, alpha: -90, d: 0.15, name: upper_arm, joint_name: joint_2, mass: 25,
       com: [0.4, 0, 0], inertia: [0.1, 1.4, 1.4]}
    - {j: 3, a: 2, mu: 0, sigma: 0, d: 0.8, name: forearm, joint_name: joint_3, mass: 20, com: [0.05, 0.1, 0],
       inertia: [0.8, 0.15, 0.85]}
    - {j: 4, a: 3, mu: 1, sigma: 0, alpha: -90, d: 0.1, r: 1.0, name: wrist_roll, joint_name: joint_4, mass: 8,
       com: [0, 0, -0.3], inertia: [0.25, 0.25, 0.02]}
    - {j: 5, a: 4, mu: 1, sigma: 0, alpha: 90, name: wrist_bend, joint_name: joint_5, mass: 4, com: [0, 0.04, 0.01],
       inertia: [0.02, 0.012, 0.02]}
    - {j: 6, a: 5, mu: 1, sigma: 0, alpha: -90, name: flange, joint_name: joint_6, mass: 1.5, com: [0, 0.005, 0.12],
       inertia: [0.003, 0.003, 0.002]}
    - {j: 7, a: 1, mu: 1, sigma: 0, alpha: -90, d: 0.15, name: lever, joint_name: joint_7, mass: 7, com: [0.2, 0, 0],
       inertia: [0.02, 0.1, 0.1]}
    - {j: 8, a: 7, mu: 0, sigma: 0, d: 0.4, name: pull_rod, joint_name: joint_8, mass: 5, com: [0.4, 0, 0],
       inertia: [0.005, 0.27, 0.27]}
    - {j: 9, a: 8, mu: 0, sigma: 0, d: 0.8, joint_name: joint_9}
    - {j: 10, a: 3, mu: 0, sigma: 2, gamma: 90, d: -0.4}
"""


def test_the_sr400_by_its_own_table_is_that_of_the_gallery(tmp_path):
    """Rows 9 and 10 are the two sides of the cut hinge."""
    (tmp_path / "sr400.yaml").write_text(KHALIL_SR400)
    table, gallery = kt.load(tmp_path / "sr400.yaml"), kt.gallery.load("sr400")
    assert (table.joint_names, table.loop_names) == (gallery.joint_names, gallery.loop_names)
    assert [j.actuated for j in table.model.joints] == [j.actuated for j in gallery.model.joints]
    rng = np.random.default_rng(4)
    q = rng.uniform(-1, 1, 8)
    q[2], q[7] = np.pi / 2 - q[1] + q[6], q[1] - q[6]
    assert table.closure_error(q) < 1e-14
    assert table.mobility(q).freedoms == 6
    v, tau = gallery.project(q, rng.normal(size=8))[1], rng.normal(size=8)
    assert_close(table.tree.mass_matrix(q), gallery.tree.mass_matrix(q), 1e-13)
    assert_close(table.forward_dynamics(q, v, tau), gallery.forward_dynamics(q, v, tau), 1e-9)
    assert_close(table.inverse_dynamics(q, v, table.forward_dynamics(q, v, tau)),
                 gallery.inverse_dynamics(q, v, gallery.forward_dynamics(q, v, tau)), 1e-9)  # fmt: skip
    table.save(tmp_path / "again.yaml")
    assert kt.load(tmp_path / "again.yaml").model == table.model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("links: 8", "links: 7"), "must come in pairs"),
        (("links: 8", "links: 30"), "1 to 10"),
        (("j: 10, a: 3", "j: 11, a: 3"), "column j is another number"),
        (("j: 10, a: 3", "a: 9"), "antecedent 9 is not among"),
        (("gamma: 90, d: -0.4", "mass: 1"), "cannot have mass"),
        (("mu: 0, sigma: 2, gamma", "mu: 1, sigma: 2, gamma"), "has no joint; row"),
        (("convention: khalil", "convention: modified"), "convention"),
    ],
)
def test_wrong_tables_of_loops_are_refused(tmp_path, change, words):
    """With the row in question."""
    (tmp_path / "sr400.yaml").write_text(KHALIL_SR400.replace(*change))
    with pytest.raises(kt.KinetreeError, match=words):
        kt.load(tmp_path / "sr400.yaml")


# ------------------------------------------------------------------ what else a row can say


def test_joint_data_goes_through():
    rows = [
        {"mass": 1.0, "com": (0.2, 0, 0), "damping": 0.5, "friction": 0.3, "rotor_inertia": 2e-4, "gear_ratio": 100.0},
        {"joint": "prismatic", "alpha": 0.4, "mass": 2.0, "joint_name": "slide", "name": "sledge", "actuated": False}
        | {"lower": -0.1, "upper": 0.2, "velocity_limit": 1.5, "effort_limit": 30.0},
    ]
    robot = kt.from_dh(rows, name="pair", base="ground", gravity=(0, -1, -9))
    assert (robot.name, robot.base_name, robot.body_names) == ("pair", "ground", ["link1", "sledge"])
    assert robot.joint_names == ["joint1", "slide"]
    slide = robot.joint("slide")
    assert (slide.lower, slide.upper, slide.velocity_limit, slide.effort_limit) == ((-0.1,), (0.2,), (1.5,), (30.0,))
    assert (robot.joint("joint1").actuated, slide.actuated) == (True, False)
    bare = kt.from_dh(
        [{"mass": 1.0, "com": (0.2, 0, 0)}, {"joint": "prismatic", "alpha": 0.4, "mass": 2.0}], gravity=(0, -1, -9)
    )
    q, v, a = np.array([0.3, 0.05]), np.array([-1.2, 0.4]), np.array([2.0, 1.0])
    extra = robot.inverse_dynamics(q, v, a, friction=True) - bare.inverse_dynamics(q, v, a)
    assert_close(extra, [2e-4 * 100.0**2 * 2.0 + 0.5 * -1.2 - 0.3, 0.0], 1e-13)  # Khalil eq. 10.12


def test_inertia_about_the_origin_and_mass_properties():
    com, inertia = np.array([0.1, -0.2, 0.3]), np.diag([0.2, 0.3, 0.25])
    about_origin = inertia + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    at_com = kt.from_dh([{"mass": 2.0, "com": com, "inertia": inertia}])
    at_origin = kt.from_dh([{"mass": 2.0, "com": com, "inertia": about_origin, "about": "origin"}])
    given = kt.from_dh([kt.DHRow(mass_properties=kt.MassProperties.of(2.0, com, inertia))])
    assert_close(at_origin.mass_matrix([0.2]), at_com.mass_matrix([0.2]), 1e-14)
    assert given == at_com


def test_floating_base_carries_what_is_welded_to_it():
    rows = [
        {"joint": "fixed", "name": "trunk", "mass": 5.0, "inertia": (0.1, 0.1, 0.1)},
        {"parent": "trunk", "mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.01, 0.01)},
    ]
    robot = kt.from_dh(rows, floating_base=True)
    assert robot.is_floating
    assert robot.nv == 7
    assert robot.mass == 6.0
    free_row = kt.from_dh([{**rows[0], "joint": kt.Free()}, rows[1]])
    q = np.array([0, 0, 0, 1, 0.3, 0.2, 0.1, 0.4])
    assert_close(free_row.mass_matrix(q), robot.mass_matrix(q), 1e-15)


@pytest.mark.parametrize(
    ("table", "convention", "message"),
    [
        ([], "modified", "the DH table is empty"),
        ("alpha a d theta", "modified", "a sequence of rows, not str"),
        ({"alpha": 0}, "modified", "a single row goes into a list"),
        ({"alpha": [0, 1], "a": [1, 2, 3]}, "modified", "one number per link: these have alpha 2, a 3"),
        ([{"alpha": 0}], "denavit", "convention must be one of modified, standard, khalil, not 'denavit'"),
        ([{}, (0, 0, 0, 0)], "modified", "row 2: a row of the modified convention is a DHRow .* not tuple"),
        ([kt.KhalilRow(antecedent=0)], "standard", "row 1: a row of the standard convention is a DHRow"),
        ([{"alfa": 0}], "modified", "row 1: no entry 'alfa' .* did you mean 'alpha'"),
        ([{"b": 1.0, "d": 1.0}], "modified", "row 1: 'b' and 'd' are two names"),
        ([{"gamma": 1.0}], "khalil", "row 1: antecedent must be given"),
        ([{"mass": 1.0}, {"alpha": np.nan}], "modified", r"row 2 \('link2'\): alpha must be a finite number, not nan"),
        ([{"a": "far"}], "modified", r"row 1 \('link1'\): a must be a finite number, not 'far'"),
        ([{"joint": "screw"}], "modified", r"row 1 .*'revolute', 'prismatic', 'fixed' or a joint .* not 'screw'"),
        ([{"antecedent": 0, "sigma": 3}], "khalil", r"row 1 .*sigma must be 0 \(revolute\).*not 3"),
        ([{"antecedent": 0, "mu": 2}], "khalil", r"row 1 .*mu must be 0 or 1, not 2"),
        ([{"antecedent": 0, "sigma": 2, "mu": 1}], "khalil", "row 1 .*fixed, so it cannot be actuated"),
        ([{"antecedent": 0}, {"antecedent": 2}], "khalil", "row 2 .*antecedent 2 is not among the rows before it"),
        ([{"parent": -1}], "modified", "row 1 .*parent -1 is not among"),
        ([{"mass": 1.0}, {"parent": "link3"}], "modified", "row 2 .*parent 'link3' is not among .*base, link1"),
        ([{"joint": "fixed", "damping": 1.0}], "modified", "row 1 .*fixed, so it cannot have damping"),
        ([{"mass": 1.0}, {"mass": -1.0}], "modified", r"row 2 \('link2'\): .*negative"),
        ([{"com": (1, 0, 0)}], "modified", "row 1 .*com without a mass"),
        ([{"mass": "heavy"}], "modified", r"row 1 \('link1'\): .*heavy"),
        ([{"mass": 1.0, "damping": "some"}], "modified", r"row 1 \('link1'\): .*some"),
        ([{"mass": 1.0, "mass_properties": kt.MassProperties.of(1.0)}], "modified", "row 1 .*mass_properties or mass"),
        ([{"mass": 1.0, "name": "arm"}, {"mass": 1.0, "name": "arm"}], "modified", r"row 2 \('arm'\): two bodies"),
        ([{"mass": 1.0, "lower": 1.0, "upper": 0.0}], "modified", "row 1 .*lower limit"),
        ([{"joint": "fixed", "mass": 1.0}], "modified", "no moving joints"),
    ],
)  # fmt: skip
def test_errors_name_the_row(table, convention, message):
    with pytest.raises(kt.ModelError, match=message):
        kt.from_dh(table, convention)


def test_both_names_of_the_offset_along_z():
    assert kt.from_dh([{"b": 0.4, "mass": 1.0}]) == kt.from_dh([kt.DHRow(d=0.4, mass=1.0)])


ARRAY = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ([{"a": 10**400}], {}, "a must be a finite number"),
        ([{"theta": ARRAY}], {}, "theta must be a finite number"),
        ([{"damping": 10**400}], {}, "row 1"),
        ([{"mass": 10**400}], {}, "row 1"),
        ([{"name": ARRAY}], {}, "row 1: name must be text"),
        ([{"joint_name": 3}], {}, "row 1: joint_name must be text"),
        ([{}, {"parent": ARRAY}], {}, "parent array"),
        ([{}, {"parent": 10**400}], {}, "is not among the rows before it"),
        ([{"actuated": ARRAY}], {}, "actuated must be 0 or 1"),
        ([{"about": ARRAY, "mass": 1}], {}, "about must be 'com' or 'origin'"),
        ([{"com": (1j, 0, 0), "mass": 1}], {}, "center of mass must be numbers"),
        ([{"com": np.array([1j, 0, 0]), "mass": 1}], {}, "center of mass must be numbers"),
        ([{"mass": np.datetime64("2020-01-01")}], {}, "mass must be numbers"),
        ([{}], {"convention": ARRAY}, "convention must be one of"),
        ([{}], {"name": 1.5}, "name must be text"),
        ([{}], {"base": ""}, "base must be text"),
        ([{}], {"gravity": [10**400, 0, 0]}, "gravity must be numbers"),
        ([{}], {"degrees": ARRAY}, "degrees must be 0 or 1"),
        ([{}], {"strict": "no"}, "strict must be 0 or 1"),
    ],
)
def test_values_that_are_none_of_the_kind(rows, options, told):
    with pytest.raises(kt.ModelError, match=told):
        kt.from_dh(rows, **options)


def test_a_right_angle_in_radians_costs_what_it_costs_in_degrees():
    def arm(angle, **options):
        link = {"a": 0.1, "d": 0.2, "mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.2, 0.2, 0.3, 0.01, 0.02, 0.03)}
        return kt.from_dh([{"alpha": x * angle, **link} for x in (1.0, 0.0, -1.0)], **options)

    radians, degrees = arm(np.pi / 2).cost("inverse_dynamics"), arm(90.0, degrees=True).cost("inverse_dynamics")
    assert (radians.multiplications, radians.additions) == (degrees.multiplications, degrees.additions)
