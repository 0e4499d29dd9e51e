"""The command line: what it prints, what it writes, how it fails."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kinetree as kt
from helpers.cli import invoke
from helpers.gcc import compile_c
from kinetree.cli.app import COMMANDS, imported
from kinetree.export.operation_counts import cost

ROOT = Path(__file__).resolve().parents[2]

URDF = """\
<robot name="two-link">
  <link name="ground"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0.02 0.3"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.12" izz="0.05" ixy="0.01" ixz="0.002" iyz="0.003"/>
    </inertial>
  </link>
  <link name="lower">
    <inertial>
      <origin xyz="0.1 0 0.2"/><mass value="1"/>
      <inertia ixx="0.05" iyy="0.06" izz="0.03" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <parent link="ground"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 0.5" rpy="0.3 0 0"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="mount" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0 0 0.4"/></joint>
</robot>
"""


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "two-link.urdf"
    path.write_text(URDF)
    return path


# ---------------------------------------------------------------- info


def test_info_shows_the_tree(urdf):
    text = invoke("info", urdf).stdout
    assert text == kt.load(urdf).describe() + "\n"


def test_info_does_not_wrap_long_lines(tmp_path):
    name = "x" * 300
    path = tmp_path / "long.urdf"
    path.write_text(URDF.replace("upper", name))
    assert any(name in line for line in invoke("info", path).stdout.splitlines())


def test_info_as_json(urdf):
    data = json.loads(invoke("info", urdf, "--json").stdout)
    robot = kt.load(urdf)
    assert (data["name"], data["nq"], data["nv"], data["mass"]) == ("two-link", 2, 2, robot.mass)
    assert [j["name"] for j in data["joints"]] == robot.joint_names
    shoulder, elbow = data["joints"]
    assert (shoulder["parent"], shoulder["body"]) == ("ground", "upper")
    assert (elbow["parent"], elbow["q"]) == ("upper", [1, 2])
    assert shoulder["upper"] == [2.0]
    assert elbow["upper"] == [None]  # JSON has no infinity
    assert [b["mass"] for b in data["bodies"]] == [2.0, 1.0]
    assert "tool" in data["frames"]


def test_floating_base(urdf):
    data = json.loads(invoke("info", urdf, "--floating-base", "--json").stdout)
    assert (data["nq"], data["nv"], data["floating_base"]) == (9, 8, True)


def test_names_are_not_taken_for_markup(tmp_path):
    path = tmp_path / "odd.urdf"
    path.write_text(URDF.replace('"upper"', '"[red]upper[/]"'))
    assert "[red]upper[/]" in invoke("info", path).stdout


# ---------------------------------------------------------------- cost


def test_cost_as_json(urdf):
    data = json.loads(invoke("cost", urdf, "--json").stdout)
    robot = kt.load(urdf)
    counted = {row["name"]: row for row in data["algorithms"] if not row["options"]}
    own = cost(robot, "inverse_dynamics")
    assert counted["inverse_dynamics"]["multiplications"] == own.multiplications
    assert counted["inverse_dynamics"]["total"] == own.total
    assert "no floating base" in counted["floating_base_inverse_dynamics"]["unavailable"]
    assert data["joint_variables"] == {"n1": 2, "n2": 0, "n3": 0}
    best = data["published"][0]
    assert (best["M"], best["A"]) == (94 * 2 - 81, 82 * 2 - 75)
    assert best["formulas"]["M"] == "94 n1 + 58 n2 + 46 n3 - 81"
    assert {row["joint"] for row in data["fitted"]} == {"revolute", "universal", "spherical"}
    assert all(row["checked_to"] > row["valid_from"] for row in data["fitted"])


def test_cost_as_tables(urdf):
    text = invoke("cost", urdf, "--no-formulas").stdout
    lines = text.splitlines()
    own = cost(kt.load(urdf), "inverse_dynamics")
    (row,) = [x for x in lines if x.startswith("│ inverse_dynamics ") and str(own.total) in x and "M" not in x]
    assert [int(x) for x in row.replace("│", " ").split()[1:]] == [
        own.multiplications, own.additions, own.divisions, own.sines, own.square_roots, own.others, own.total,
    ]  # fmt: skip
    assert any("Balafoutis" in x and "93n - 69" in x and "117M 97A" in x for x in lines)
    assert any("kinetree" in x and f"{own.multiplications}M {own.additions}A" in x for x in lines)
    assert "has no floating base" in text
    assert "general chains" not in text


def test_cost_of_a_floating_robot(urdf):
    with_mass = URDF.replace(
        '<link name="ground"/>', URDF[URDF.index('<link name="upper">') : URDF.index("</link>") + 7]
    )
    urdf.write_text(with_mass.replace('"upper"', '"ground"', 1))
    text = invoke("cost", urdf, "--floating-base", "--no-formulas").stdout
    assert "floating base, n = 2" in text
    assert "McMillan and Orin 1998, O(n)" in text
    assert "Balafoutis and Patel 1991" in text


# ---------------------------------------------------------------- codegen


def test_codegen_writes_what_compiles_and_agrees(urdf, tmp_path):
    out = tmp_path / "build"
    result = invoke(
        "codegen", urdf, "-o", out, "-a", "inverse_dynamics", "-a", "jacobian",
        "-f", "tool", "-f", "upper", "--axes", "world", "--own-math", "--float", "--prefix", "leg", "--states", "2",
    )  # fmt: skip
    assert sorted(p.name for p in out.iterdir()) == ["leg.c", "leg.h", "leg_test.c"]
    for name in ("leg_inverse_dynamics", "leg_jacobian_tool_world", "leg_jacobian_upper_world"):
        assert name in result.stdout
        assert f"void {name}(const float *q" in (out / "leg.h").read_text()
    compile_c(out / "leg.c", out / "leg_test.c", "-o", out / "leg_test", optimize="-O0")
    assert subprocess.run([out / "leg_test"], capture_output=True, check=False).returncode == 0


def test_codegen_writes_webassembly(urdf, tmp_path):
    out = tmp_path / "made" / "here"
    told = invoke("codegen", urdf, "-o", out, "--webassembly", "-a", "mass_matrix", "--prefix", "arm").stdout
    assert sorted(path.name for path in out.iterdir()) == ["arm.json", "arm.wasm"]
    assert told.count("wrote") == 2
    data = json.loads(invoke("codegen", urdf, "-o", tmp_path, "--webassembly", "--json").stdout)
    assert set(data["functions"]) == {"inverse_dynamics", "forward_dynamics"}
    assert "for C" in error_line(invoke("codegen", urdf, "-o", out, "--webassembly", "--float", code=1))


@pytest.mark.slow
def test_fmu_with_controller_and_inputs(urdf, tmp_path):
    out = tmp_path / "arm.fmu"
    told = invoke("fmu", urdf, "-o", out, "--controller", "pd+gravity", "--fmi", "3.0").stdout
    assert out.is_file()
    assert "0 inputs: none" in told
    made = json.loads(invoke("fmu", urdf, "-o", out, "--action", "position", "--servo-kp", "50", "--json").stdout)
    assert made["inputs"]
    assert all(name.endswith(".target") for name in made["inputs"])
    assert "kp[0]" in made["parameters"] or "kp" in made["parameters"]
    assert "belong to --action" in error_line(
        invoke("fmu", urdf, "-o", out, "--servo-kp", "5", "--action", "torque", code=1)
    )
    assert "platform" in error_line(invoke("fmu", urdf, "-o", out, "--platform", "amiga", code=1))


def test_codegen_as_json(urdf, tmp_path):
    data = json.loads(invoke("codegen", urdf, "-o", tmp_path, "--json", "--method", "composite_body").stdout)
    assert [Path(f).name for f in data["files"]] == ["two_link.c", "two_link.h", "two_link_test.c"]
    assert all(Path(f).exists() for f in data["files"])
    assert set(data["functions"]) == {"two_link_inverse_dynamics", "two_link_forward_dynamics_composite_body"}
    # C is made of regrouped parameters, as machine code is, whatever the direction of gravity
    told, robot = data["functions"]["two_link_inverse_dynamics"], kt.load(urdf)
    plain, least = (cost(r, "inverse_dynamics").to_dict() for r in (robot, robot.grouped()))
    assert told.keys() == plain.keys()
    assert least["total"] <= told["total"] < plain["total"]


# ---------------------------------------------------------------- how it fails


def error_line(result):
    """The one line on standard error."""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.output
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize("command", ["info", "cost", "codegen"])
def test_missing_file(urdf, command):
    result = invoke(command, urdf.with_name("two-lnk.urdf"), code=1)
    assert "did you mean 'two-link.urdf'" in error_line(result)
    assert result.stdout == ""


def test_broken_file(tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text("<robot name='a'>\n<link")
    assert "broken.urdf" in error_line(invoke("info", path, code=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-a", "inverse_dynamcs"], "did you mean 'inverse_dynamics'"),
        (["-a", "jacobian"], "needs the frame"),
        (["-a", "jacobian", "-f", "toool"], "did you mean 'tool'"),
        (["-a", "mass_matrix", "-f", "tool"], "--frame has no effect on mass_matrix"),
        (["-a", "jacobian", "-f", "tool", "--axes", "moon"], "no axes (of jacobian) named 'moon'"),
        (["--axes", "world"], "--axes has no effect on inverse_dynamics, forward_dynamics"),
        (["-a", "gravity_force", "--method", "udu"], "--method has no effect on gravity_force"),
        (["-a", "mass_matrix", "-a", "mass_matrix"], "mass_matrix is requested twice, with the same options"),
        (["--prefix", "9"], "not a valid name in C"),
        (["--prefix", "double"], "avoid C keywords"),
        (["--method", "magic"], "no method (of forward_dynamics) named 'magic'"),
        (["--fma", "--own-math"], "choose one"),
        (["--states", "0"], "at least one state"),
    ],
)
def test_requests_that_cannot_be(urdf, tmp_path, arguments, message):
    out = tmp_path / "out"
    assert message in error_line(invoke("codegen", urdf, "-o", out, *arguments, code=1))
    assert not out.exists()


def test_folder_that_cannot_be_written(urdf):
    assert "cannot write C into" in error_line(invoke("codegen", urdf, "-o", urdf / "inside", code=1))


def test_strict(urdf):
    urdf.write_text(URDF.replace('ixx="0.05" iyy="0.06" izz="0.03"', 'ixx="0.05" iyy="0.9" izz="0.03"'))
    result = invoke("info", urdf)
    assert "warning: " in result.stderr
    assert "lower" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "lower" in error_line(invoke("info", urdf, "--strict", code=1))


@pytest.mark.parametrize(
    "arguments", [["info"], ["fly"], ["info", "--nonsense", "x"], ["codegen", "x", "--states", "many"]]
)
def test_usage_errors(arguments):
    result = invoke(*arguments, code=2)
    assert "Traceback" not in result.output


# ---------------------------------------------------------------- help


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["info", "cost", "codegen", "--version"]),
        (["info", "--help"], ["--floating-base", "--json", "--strict", "--mimic"]),
        (["cost", "--help"], ["--json", "--no-formulas"]),
        (
            ["codegen", "--help"],
            ["--output", "--algorithm", "--frame", "--float", "--own-math", "kinetree codegen arm.urdf"],
        ),
    ],
)
def test_help(arguments, words):
    text = invoke(*arguments).stdout
    for word in words:
        assert word in text


def test_version():
    assert invoke("--version").stdout == f"kinetree {kt.__version__}\n"


def test_entry_point():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"kinetree": "kinetree.cli.app:app"}


def test_errors_are_red_and_have_no_traceback_in_a_process_of_their_own(tmp_path):
    command = [sys.executable, "-m", "kinetree.cli.app", "info", str(tmp_path / "nothing.urdf")]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    )
    assert result.returncode == 1
    assert "\x1b[1;31merror:" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.hidden], ids=lambda c: c.name)
def test_the_line_of_help_is_that_of_the_command(command):
    assert imported(command).help.partition("\n\n")[0].replace("\n", " ") == command.summary
